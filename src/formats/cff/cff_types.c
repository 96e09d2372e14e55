/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event types: carrying out definitions, and how long an event of each type is. Types are found by
 * name, so that a name that is defined again keeps its first meaning.
 */
#include "formats/cff/cff_types.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/cff/cff_arguments.h"
#include "formats/cff/cff_put.h"

const struct cff_builtin_type cff_builtin_types[CFF_USER] = {
#define X(name, text, class, flags, signature) { text, CFF_CLASS_##class, flags, signature },
	CFF_BUILTIN_LIST(X)
#undef X
};

enum sonde_status cff_types_init(struct cff_types *types, struct sonde_error *err)
{
	const struct cff_builtin_type *define = &cff_builtin_types[CFF_DEFINE];
	enum cff_defined defined;

	*types = (struct cff_types){ 0 };
	return cff_types_define(types, CFF_WIRE_DEFINE, define->class, define->flags, define->name,
				define->arguments, &defined, err);
}

/* A list of arguments, which many types may share. */
struct cff_form {
	char *text;
	struct sonde_signature *signature;
	char *model_arguments;
	struct cff_field *fields;
	size_t field_count;
	uint32_t fixed_size; /* as in struct cff_type */
};

static void free_form(struct cff_form *form)
{
	free(form->text);
	free(form->model_arguments);
	free(form->fields);
	sonde_signature_free(form->signature);
	free(form);
}

void cff_types_release(struct cff_types *types)
{
	for (size_t i = 0; i < types->all.count; i++) {
		free(types->all.items[i]->name);
		free(types->all.items[i]);
	}
	for (size_t i = 0; i < types->forms.count; i++)
		free_form(types->forms.items[i]);
	sonde_vec_release(&types->all);
	sonde_vec_release(&types->wires);
	sonde_vec_release(&types->forms);
	sonde_text_map_release(&types->names);
	sonde_text_map_release(&types->forms_by_text);
}

enum cff_builtin cff_builtin_find(const char *name)
{
	for (size_t i = 0; i < CFF_USER; i++) {
		if (!strcmp(cff_builtin_types[i].name, name))
			return (enum cff_builtin)i;
	}
	return CFF_USER;
}

/* Types that only the model knows, and arrays that existing readers do not know, are faults. */
static enum sonde_status check_spec(const struct sonde_argument_spec *spec, struct sonde_error *err)
{
	bool is_wide = !sonde_argument_type_is_text(spec->type) &&
		       sonde_argument_type_size(spec->type) == 8;
	bool is_no_item = spec->is_array &&
			  (spec->type == SONDE_ARGUMENT_BOOL || spec->type == SONDE_ARGUMENT_FLOW ||
			   spec->type == SONDE_ARGUMENT_TIME32);

	if (!is_wide && !is_no_item)
		return SONDE_OK;
	return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
			  "there is no argument type \"%s%s\" in this format",
			  sonde_argument_type_name(spec->type), spec->is_array ? "[]" : "");
}

/* Parses the signature, and finds the size of events where all have the same. */
static enum sonde_status measure(struct cff_form *form, struct sonde_error *err)
{
	enum sonde_status status = sonde_signature_parse(form->text, &form->signature, err);
	size_t count = status < 0 ? 0 : sonde_signature_count(form->signature);
	bool has_arrays = false;

	for (size_t i = 0; i < count && status == SONDE_OK; i++) {
		const struct sonde_argument_spec *spec = sonde_signature_at(form->signature, i);

		status = check_spec(spec, err);
		has_arrays = has_arrays || spec->is_array;
	}
	if (!has_arrays)
		form->fixed_size = CFF_EVENT_SIZE + 4 * (uint32_t)count;
	if (status < 0)
		return status;
	return cff_fields_make(form->signature, form->text, &form->fields, &form->field_count,
			       &form->model_arguments, err);
}

static enum sonde_status find_form(struct cff_types *types, const char *text,
				   const struct cff_form **found, struct sonde_error *err)
{
	size_t length = strlen(text);
	uint32_t number = sonde_text_map_find(&types->forms_by_text, text, length);
	enum sonde_status status;
	struct cff_form *form;

	if (number != UINT32_MAX) {
		*found = types->forms.items[number];
		return SONDE_OK;
	}
	form = calloc(1, sizeof(*form));
	if (!form)
		return sonde_fail_nomem(err);
	form->text = strdup(text);
	status = form->text ? measure(form, err) : sonde_fail_nomem(err);
	if (status == SONDE_OK && (!sonde_vec_reserve(&types->forms, 1) ||
				   !sonde_text_map_add(&types->forms_by_text, form->text, length,
						       (uint32_t)types->forms.count)))
		status = sonde_fail_nomem(err);
	if (status < 0) {
		free_form(form);
		return status;
	}
	types->forms.items[types->forms.count++] = form;
	*found = form;
	return SONDE_OK;
}

static enum sonde_status make_type(struct cff_types *types, const struct cff_type *value,
				   const char *name, const char *arguments, struct cff_type **made,
				   struct sonde_error *err)
{
	const struct cff_form *form = NULL;
	enum sonde_status status = find_form(types, arguments, &form, err);
	struct cff_type *type;

	if (!form)
		return status;
	type = malloc(sizeof(*type));
	if (!type)
		return sonde_fail_nomem(err);
	*type = *value;
	type->name = strdup(name);
	type->arguments = form->text;
	type->signature = form->signature;
	type->model_arguments = form->model_arguments;
	type->fields = form->fields;
	type->field_count = form->field_count;
	type->fixed_size = form->fixed_size;
	type->builtin = cff_builtin_find(name);
	type->number = (uint32_t)types->all.count;
	if (!type->name || !sonde_vec_reserve(&types->all, 1) ||
	    !sonde_text_map_add(&types->names, type->name, strlen(name), type->number)) {
		free(type->name);
		free(type);
		return sonde_fail_nomem(err);
	}
	types->all.items[types->all.count++] = *made = type;
	return SONDE_OK;
}

static bool set_wire(struct cff_types *types, uint32_t wire, struct cff_type *type)
{
	if (wire >= types->wires.count) {
		size_t more = wire + 1 - types->wires.count;

		if (!type)
			return true;
		if (!sonde_vec_reserve(&types->wires, more))
			return false;
		memset(types->wires.items + types->wires.count, 0, more * sizeof(type));
		types->wires.count += more;
	}
	types->wires.items[wire] = type;
	return true;
}

enum sonde_status cff_types_define(struct cff_types *types, uint32_t wire, uint32_t class,
				   uint32_t flags, const char *name, const char *arguments,
				   enum cff_defined *defined, struct sonde_error *err)
{
	struct cff_type value = {
		.class = class == CFF_CLASS_SCOPE ? CFF_CLASS_SCOPE : CFF_CLASS_INSTANCE,
		.flags = flags,
	};
	enum sonde_status status = SONDE_OK;
	struct cff_type *type = NULL;
	uint32_t number;

	name = name ? name : "";
	arguments = arguments ? arguments : "";
	*defined = CFF_DEFINED_NEW;
	if (wire > UINT16_MAX)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "wire ids go up to 65535, found %u", wire);
	number = sonde_text_map_find(&types->names, name, strlen(name));
	if (number != UINT32_MAX) {
		type = types->all.items[number];
		*defined = type->class == value.class && !strcmp(type->arguments, arguments) ?
				   CFF_DEFINED_AGAIN :
				   CFF_DEFINED_OTHERS;
	} else {
		status = make_type(types, &value, name, arguments, &type, err);
	}
	/* what cannot be understood has no meaning, whatever the wire id meant before */
	if (status >= 0 || status == SONDE_CORRUPT) {
		if (!set_wire(types, wire, type))
			return sonde_fail_nomem(err);
	}
	return status;
}

static enum sonde_status copy_text(struct cff_strings *strings, const uint8_t *slot, char **copy,
				   struct sonde_error *err)
{
	const char *text;
	size_t length;
	enum sonde_status status =
		cff_strings_get(strings, sonde_load_u32le(slot), &text, &length, err);

	*copy = NULL;
	if (status < 0)
		return status;
	if (length > CFF_NAME_LIMIT)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "a text of a definition is %zu bytes long, %d are enough", length,
				  CFF_NAME_LIMIT);
	*copy = strndup(text ? text : "", length);
	return *copy ? SONDE_OK : sonde_fail_nomem(err);
}

enum sonde_status cff_types_define_event(struct cff_types *types, const uint8_t *event,
					 struct cff_strings *strings, enum cff_defined *defined,
					 struct sonde_error *err)
{
	const uint8_t *slots = event + CFF_EVENT_SIZE;
	char *name, *arguments = NULL;
	enum sonde_status status = copy_text(strings, slots + 12, &name, err);

	if (status == SONDE_OK)
		status = copy_text(strings, slots + 16, &arguments, err);
	*defined = CFF_DEFINED_NEW;
	if (status == SONDE_CORRUPT)
		set_wire(types, sonde_load_u16le(slots), NULL);
	if (status == SONDE_OK)
		status = cff_types_define(types, sonde_load_u16le(slots),
					  sonde_load_u16le(slots + 4), sonde_load_u32le(slots + 8),
					  name, arguments, defined, err);
	free(name);
	free(arguments);
	return status;
}

size_t cff_type_size_slow(const struct cff_type *type, const uint8_t *event, size_t left)
{
	size_t count = sonde_signature_count(type->signature), size = CFF_EVENT_SIZE;

	for (size_t i = 0; i < count; i++) {
		const struct sonde_argument_spec *spec = sonde_signature_at(type->signature, i);
		uint64_t items;

		if (left - size < 4)
			return 0;
		items = spec->is_array ? sonde_load_u32le(event + size) : CFF_ARRAY_NULL;
		size += 4;
		if (items == CFF_ARRAY_NULL)
			continue;
		items = cff_padded(items * sonde_argument_type_size(spec->type));
		if (items > left - size)
			return 0;
		size += items;
	}
	return size;
}
