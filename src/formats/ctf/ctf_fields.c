/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of libbabeltrace2 as arguments and as JSON. */
#include "formats/ctf/ctf_fields.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "model/arguments.h"

#define DEEPEST 32 /* of structures and arrays in each other; what is deeper is null */

enum shape { SHAPE_BOOL, SHAPE_UNSIGNED, SHAPE_SIGNED, SHAPE_REAL, SHAPE_TEXT, SHAPE_JSON };

static enum shape shape_of(bt_field_class_type type)
{
	switch (type) {
	case BT_FIELD_CLASS_TYPE_BOOL:
		return SHAPE_BOOL;
	case BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER:
	case BT_FIELD_CLASS_TYPE_BIT_ARRAY:
		return SHAPE_UNSIGNED;
	case BT_FIELD_CLASS_TYPE_SIGNED_INTEGER:
		return SHAPE_SIGNED;
	case BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL:
	case BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL:
		return SHAPE_REAL;
	case BT_FIELD_CLASS_TYPE_STRING:
	case BT_FIELD_CLASS_TYPE_UNSIGNED_ENUMERATION:
	case BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION:
		return SHAPE_TEXT;
	default:
		return SHAPE_JSON;
	}
}

/* A name that a signature can have. */
static void put_name(struct sonde_buffer *out, const char *name)
{
	if (!*name)
		sonde_buffer_put_char(out, '_');
	for (; *name; name++)
		sonde_buffer_put_char(
			out, (unsigned char)*name <= ' ' || strchr(",[]<>", *name) ? '_' : *name);
}

void ctf_fields_put_signature(const bt_field_class *structure, struct sonde_buffer *signature)
{
	static const char *const words[] = {
		[SHAPE_BOOL] = "bool",	  [SHAPE_UNSIGNED] = "uint64", [SHAPE_SIGNED] = "int64",
		[SHAPE_REAL] = "float64", [SHAPE_TEXT] = "utf8",       [SHAPE_JSON] = "any",
	};
	uint64_t count = structure ? bt.field_class_structure_get_member_count(structure) : 0;

	for (uint64_t i = 0; i < count; i++) {
		const bt_field_class_structure_member *member =
			bt.field_class_structure_borrow_member_by_index_const(structure, i);
		const bt_field_class *class =
			bt.field_class_structure_member_borrow_field_class_const(member);

		sonde_buffer_put_text(signature, signature->size ? ", " : "");
		sonde_buffer_put_text(signature, words[shape_of(bt.field_class_get_type(class))]);
		sonde_buffer_put_char(signature, ' ');
		put_name(signature, bt.field_class_structure_member_get_name(member));
	}
}

static uint64_t unsigned_of(const bt_field *field, bt_field_class_type type)
{
	if (type == BT_FIELD_CLASS_TYPE_BIT_ARRAY)
		return bt.field_bit_array_get_value_as_integer(field);
	return bt.field_integer_unsigned_get_value(field);
}

static double real_of(const bt_field *field, bt_field_class_type type)
{
	if (type == BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL)
		return (double)bt.field_real_single_precision_get_value(field);
	return bt.field_real_double_precision_get_value(field);
}

/* A text, the name of a number, or the number itself in `space`. */
static const char *text_of(const bt_field *field, bt_field_class_type type, char space[24])
{
	bt_field_class_enumeration_mapping_label_array labels = NULL;
	uint64_t count = 0;
	bool is_signed = type == BT_FIELD_CLASS_TYPE_SIGNED_ENUMERATION;
	bt_field_enumeration_get_mapping_labels_status status;

	if (type == BT_FIELD_CLASS_TYPE_STRING)
		return bt.field_string_get_value(field);
	status = is_signed ?
			 bt.field_enumeration_signed_get_mapping_labels(field, &labels, &count) :
			 bt.field_enumeration_unsigned_get_mapping_labels(field, &labels, &count);
	if (status == BT_FIELD_ENUMERATION_GET_MAPPING_LABELS_STATUS_OK && count)
		return labels[0];
	if (is_signed)
		snprintf(space, 24, "%lld", (long long)bt.field_integer_signed_get_value(field));
	else
		snprintf(space, 24, "%llu",
			 (unsigned long long)bt.field_integer_unsigned_get_value(field));
	return space;
}

static void put_json(struct sonde_json_writer *json, const bt_field *field, unsigned int depth);

static void put_structure(struct sonde_json_writer *json, const bt_field *field, unsigned int depth)
{
	const bt_field_class *class = bt.field_borrow_class_const(field);
	uint64_t count = bt.field_class_structure_get_member_count(class);

	sonde_json_object_begin(json);
	for (uint64_t i = 0; i < count; i++) {
		const bt_field_class_structure_member *member =
			bt.field_class_structure_borrow_member_by_index_const(class, i);

		sonde_json_key(json, bt.field_class_structure_member_get_name(member));
		put_json(json, bt.field_structure_borrow_member_field_by_index_const(field, i),
			 depth + 1);
	}
	sonde_json_object_end(json);
}

static void put_array(struct sonde_json_writer *json, const bt_field *field, unsigned int depth)
{
	uint64_t count = bt.field_array_get_length(field);

	sonde_json_array_begin(json);
	for (uint64_t i = 0; i < count; i++)
		put_json(json, bt.field_array_borrow_element_field_by_index_const(field, i),
			 depth + 1);
	sonde_json_array_end(json);
}

/* Structures, arrays, and what may be one of several or absent. */
static void put_compound(struct sonde_json_writer *json, const bt_field *field,
			 bt_field_class_type type, unsigned int depth)
{
	if (type == BT_FIELD_CLASS_TYPE_STRUCTURE)
		put_structure(json, field, depth);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_ARRAY))
		put_array(json, field, depth);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_VARIANT))
		put_json(json, bt.field_variant_borrow_selected_option_field_const(field),
			 depth + 1);
	else if (bt_field_class_type_is(type, BT_FIELD_CLASS_TYPE_OPTION))
		put_json(json, bt.field_option_borrow_field_const(field), depth + 1);
	else
		sonde_json_null(json);
}

static void put_json(struct sonde_json_writer *json, const bt_field *field, unsigned int depth)
{
	bt_field_class_type type;
	char space[24];

	if (!field || depth > DEEPEST) {
		sonde_json_null(json);
		return;
	}
	type = bt.field_get_class_type(field);
	switch (shape_of(type)) {
	case SHAPE_BOOL:
		sonde_json_bool(json, bt.field_bool_get_value(field));
		break;
	case SHAPE_UNSIGNED:
		sonde_json_number_u64(json, unsigned_of(field, type));
		break;
	case SHAPE_SIGNED:
		snprintf(space, sizeof(space), "%lld",
			 (long long)bt.field_integer_signed_get_value(field));
		sonde_json_raw(json, space);
		break;
	case SHAPE_REAL:
		sonde_json_number_double(json, real_of(field, type));
		break;
	case SHAPE_TEXT:
		sonde_json_string(json, text_of(field, type, space));
		break;
	case SHAPE_JSON:
		put_compound(json, field, type, depth);
		break;
	}
}

static void pack_json(const bt_field *field, struct sonde_buffer *scratch, struct sonde_buffer *out)
{
	struct sonde_json_writer json;

	sonde_buffer_clear(scratch);
	sonde_json_writer_init(&json, scratch, false);
	put_json(&json, field, 0);
	out->failed |= scratch->failed;
	sonde_arguments_put_text(out, scratch->size ? scratch->data : "", scratch->size);
}

static void pack_text(const char *text, struct sonde_buffer *scratch, struct sonde_buffer *out)
{
	sonde_buffer_clear(scratch);
	sonde_buffer_put_utf8(scratch, text, strlen(text));
	out->failed |= scratch->failed;
	sonde_arguments_put_text(out, scratch->size ? scratch->data : "", scratch->size);
}

static void pack(const bt_field *field, struct sonde_buffer *scratch, struct sonde_buffer *out)
{
	bt_field_class_type type = bt.field_get_class_type(field);
	union sonde_argument_value value = { 0 };
	char space[24];

	switch (shape_of(type)) {
	case SHAPE_BOOL:
		value.u64 = bt.field_bool_get_value(field) != 0;
		sonde_arguments_put_number(out, SONDE_ARGUMENT_BOOL, value);
		break;
	case SHAPE_UNSIGNED:
		value.u64 = unsigned_of(field, type);
		sonde_arguments_put_number(out, SONDE_ARGUMENT_UINT64, value);
		break;
	case SHAPE_SIGNED:
		value.i64 = bt.field_integer_signed_get_value(field);
		sonde_arguments_put_number(out, SONDE_ARGUMENT_INT64, value);
		break;
	case SHAPE_REAL:
		value.f64 = real_of(field, type);
		sonde_arguments_put_number(out, SONDE_ARGUMENT_FLOAT64, value);
		break;
	case SHAPE_TEXT:
		pack_text(text_of(field, type, space), scratch, out);
		break;
	case SHAPE_JSON:
		pack_json(field, scratch, out);
		break;
	}
}

void ctf_fields_pack(const bt_field *structure, struct sonde_buffer *scratch,
		     struct sonde_buffer *out)
{
	uint64_t count = !structure ? 0 :
				      bt.field_class_structure_get_member_count(
					      bt.field_borrow_class_const(structure));

	for (uint64_t i = 0; i < count; i++)
		pack(bt.field_structure_borrow_member_field_by_index_const(structure, i), scratch,
		     out);
}

const bt_field *ctf_fields_find(const bt_field *structure, const char *name)
{
	const bt_field *field =
		structure ? bt.field_structure_borrow_member_field_by_name_const(structure, name) :
			    NULL;
	char other[64];

	if (field || !structure)
		return field;
	snprintf(other, sizeof(other), "_%s", name);
	return bt.field_structure_borrow_member_field_by_name_const(structure, other);
}

bool ctf_field_u64(const bt_field *field, uint64_t *value)
{
	bt_field_class_type type;
	int64_t number;

	if (!field)
		return false;
	type = bt.field_get_class_type(field);
	if (type == BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER) {
		*value = bt.field_integer_unsigned_get_value(field);
		return true;
	}
	if (type != BT_FIELD_CLASS_TYPE_SIGNED_INTEGER)
		return false;
	number = bt.field_integer_signed_get_value(field);
	*value = (uint64_t)number;
	return number >= 0;
}

const char *ctf_field_text(const bt_field *field)
{
	if (!field || bt.field_get_class_type(field) != BT_FIELD_CLASS_TYPE_STRING)
		return "";
	return bt.field_string_get_value(field);
}
