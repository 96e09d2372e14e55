/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of events as the model has them: numbers of 64 bits in one, texts for ordinals. */
#include "formats/cff/cff_arguments.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/cff/cff_put.h"
#include "model/arguments.h"

static const struct {
	const char *suffix; /* "_i64" */
	enum sonde_argument_type type;
} wides[] = {
	{ "_i64", SONDE_ARGUMENT_INT64 },
	{ "_u64", SONDE_ARGUMENT_UINT64 },
	{ "_f64", SONDE_ARGUMENT_FLOAT64 },
};

#define WIDE_COUNT (sizeof(wides) / sizeof(wides[0]))

/* Whether `spec` is a plain u32 named `name` and what follows, "_high" and "_i64". */
static bool is_companion(const struct sonde_argument_spec *spec, const char *name,
			 const char *middle, const char *suffix)
{
	size_t length = strlen(name), middle_length = strlen(middle);

	return spec && spec->type == SONDE_ARGUMENT_UINT32 && !spec->is_array &&
	       !strncmp(spec->name, name, length) &&
	       !strncmp(spec->name + length, middle, middle_length) &&
	       !strcmp(spec->name + length + middle_length, suffix);
}

/* The name without "_pairs_i64" where it ends so. */
static bool is_pairs(const struct sonde_argument_spec *spec, struct cff_field *field,
		     size_t *name_length)
{
	static const char pairs[] = "_pairs";
	size_t length = strlen(spec->name), tail = sizeof(pairs) - 1 + 4;

	if (spec->type != SONDE_ARGUMENT_UINT32 || !spec->is_array || length <= tail ||
	    strncmp(spec->name + length - tail, pairs, sizeof(pairs) - 1) != 0)
		return false;
	for (size_t i = 0; i < WIDE_COUNT; i++) {
		if (strcmp(spec->name + length - 4, wides[i].suffix) != 0)
			continue;
		*field = (struct cff_field){ CFF_TAKE_PAIRS, true, wides[i].type };
		*name_length = length - tail;
		return true;
	}
	return false;
}

/* The field that starts with argument `index`; gives how many arguments it takes. */
static size_t find_field(const struct sonde_signature *signature, size_t index,
			 struct cff_field *field, size_t *name_length)
{
	const struct sonde_argument_spec *spec = sonde_signature_at(signature, index);
	const struct sonde_argument_spec *next = sonde_signature_at(signature, index + 1);

	*name_length = strlen(spec->name);
	*field = (struct cff_field){ CFF_TAKE_PLAIN, spec->is_array, spec->type };
	if (is_pairs(spec, field, name_length) || spec->is_array)
		return 1;
	if (spec->type == SONDE_ARGUMENT_FLOAT32 &&
	    is_companion(next, spec->name, "_low", "_f64") &&
	    is_companion(sonde_signature_at(signature, index + 2), spec->name, "_high", "_f64")) {
		*field = (struct cff_field){ CFF_TAKE_DOUBLE, false, SONDE_ARGUMENT_FLOAT64 };
		return 3;
	}
	for (size_t i = 0; spec->type == SONDE_ARGUMENT_UINT32 && i < 2; i++) {
		if (!is_companion(next, spec->name, "_high", wides[i].suffix))
			continue;
		*field = (struct cff_field){ CFF_TAKE_WIDE, false, wides[i].type };
		return 2;
	}
	return 1;
}

enum sonde_status cff_fields_make(const struct sonde_signature *signature, const char *text,
				  struct cff_field **fields, size_t *count, char **arguments,
				  struct sonde_error *err)
{
	size_t arguments_count = sonde_signature_count(signature);
	struct sonde_buffer words = { 0 };
	bool is_plain = true;

	*count = 0;
	*arguments = NULL;
	*fields = calloc(arguments_count + 1, sizeof(**fields));
	for (size_t i = 0, taken; *fields && i < arguments_count; i += taken) {
		const struct sonde_argument_spec *spec = sonde_signature_at(signature, i);
		struct cff_field *field = &(*fields)[(*count)++];
		size_t name_length;

		taken = find_field(signature, i, field, &name_length);
		is_plain = is_plain && field->take == CFF_TAKE_PLAIN;
		sonde_buffer_put_text(&words, i ? ", " : "");
		sonde_buffer_put_text(&words, sonde_argument_type_name(field->type));
		sonde_buffer_put_text(&words, field->is_array ? "[] " : " ");
		sonde_buffer_put(&words, spec->name, name_length);
	}
	if (*fields && !words.failed && sonde_buffer_text(&words))
		*arguments = strdup(is_plain ? text : words.data);
	sonde_buffer_release(&words);
	/* what was made is released with the form, whole or not */
	return *arguments ? SONDE_OK : sonde_fail_nomem(err);
}

static void put_slot(struct sonde_buffer *out, enum sonde_argument_type type, const uint8_t *slot)
{
	uint8_t bytes[4] = { 0 };

	memcpy(bytes, slot, sonde_argument_type_size(type));
	sonde_buffer_put(out, bytes, sizeof(bytes));
}

/* An array; gives the bytes it takes in the event. */
static size_t put_array(struct sonde_buffer *out, const struct cff_field *field,
			const uint8_t *slot)
{
	uint32_t count = sonde_load_u32le(slot);
	size_t item_size = field->take == CFF_TAKE_PAIRS ? 4 :
							   sonde_argument_type_size(field->type);
	size_t items = field->take == CFF_TAKE_PAIRS ? count / 2 : count;

	if (count == CFF_ARRAY_NULL) {
		sonde_arguments_put_array(out, field->type, NULL, 0);
		return 4;
	}
	sonde_arguments_put_array(out, field->type, slot + 4, items);
	return 4 + cff_padded(count * item_size);
}

enum sonde_status cff_arguments_pack(const struct cff_type *type, const uint8_t *event,
				     struct cff_strings *strings, struct sonde_buffer *out,
				     struct sonde_error *err)
{
	const uint8_t *slot = event + CFF_EVENT_SIZE;

	for (size_t i = 0; i < type->field_count; i++) {
		const struct cff_field *field = &type->fields[i];
		enum sonde_status status;
		const char *text;
		size_t length;

		if (field->is_array) {
			slot += put_array(out, field, slot);
		} else if (field->take == CFF_TAKE_PLAIN &&
			   sonde_argument_type_is_text(field->type)) {
			status = cff_strings_get(strings, sonde_load_u32le(slot), &text, &length,
						 err);
			if (status < 0)
				return status;
			sonde_arguments_put_text(out, text, length);
			slot += 4;
		} else if (field->take == CFF_TAKE_PLAIN) {
			put_slot(out, field->type, slot);
			slot += 4;
		} else {
			slot += field->take == CFF_TAKE_DOUBLE ? 4 : 0;
			sonde_buffer_put(out, slot, 8);
			slot += 8;
		}
	}
	return out->failed ? sonde_fail_nomem(err) : SONDE_OK;
}

double cff_arguments_value(const struct cff_type *type, const uint8_t *event)
{
	const struct cff_field *field = &type->fields[0];
	const struct sonde_argument_spec spec = { .name = "", .type = field->type };
	uint8_t bytes[8] = { 0 };
	struct sonde_argument argument = { .spec = &spec, .bytes = bytes, .count = 1 };
	union sonde_argument_value value;

	memcpy(bytes, event + CFF_EVENT_SIZE + (field->take == CFF_TAKE_DOUBLE ? 4 : 0),
	       sonde_argument_type_size(field->type));
	value = sonde_argument_item(&argument, 0);
	if (sonde_argument_type_is_float(field->type))
		return value.f64;
	return sonde_argument_type_is_signed(field->type) ? (double)value.i64 : (double)value.u64;
}
