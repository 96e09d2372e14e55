/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of events in a file that is written: names that are distinct, arguments that other
 * readers know, and wire ids, which are given out again when a file has more types than ids.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/utf8.h"
#include "formats/cff/cff_names.h"
#include "formats/cff/cff_ours.h"
#include "formats/cff/cff_types.h"
#include "formats/cff/cff_write.h"

#define DEFINE_SLOTS 5

/* A name with what is added to it is as long as cff_types.h allows. */
#define ADDED_LIMIT 512
#define NAME_LIMIT (CFF_NAME_LIMIT - 2 * ADDED_LIMIT)

/* Ours: see doc/formats/cff.md. They come after those of the format. */
static const struct cff_builtin_type own_types[] = {
	{ CFF_MARKER_EXCEPTION, CFF_CLASS_INSTANCE, CFF_FLAG_INTERNAL | CFF_FLAG_APPEND_SCOPE,
	  "bool exception" },
	{ CFF_MARKER_EXACT, CFF_CLASS_INSTANCE, CFF_FLAG_INTERNAL,
	  "uint32 kind, uint32 function, uint32 depth, uint32 extra" },
	{ CFF_NUMBERED_CALL, CFF_CLASS_SCOPE, 0, "uint32 function, ascii name" },
};

#define BUILTIN_COUNT (CFF_USER + sizeof(own_types) / sizeof(own_types[0]))

/* Those that keep their wire ids, which are their places here, from 1 on. */
static const uint32_t permanent[] = {
	CFF_DEFINE,
	CFF_ZONE_CREATE,
	CFF_ZONE_SET,
	CFF_SCOPE_LEAVE,
	CFF_USER,
	/* exception */ CFF_USER + 1,
	/* exact */ CFF_USER + 2, /* call */
};

#define PERMANENT_COUNT (sizeof(permanent) / sizeof(permanent[0]))

/* The definition of a type: before the chunk that is filled, or in it once ids are used again. */
static enum sonde_status define(struct cff_writer *writer, const struct cff_written_type *type,
				struct sonde_error *err)
{
	bool is_inline = writer->types.is_recycling;
	struct cff_chunk_writer *chunk = is_inline ? &writer->filling : &writer->defining;
	uint64_t time = is_inline ? (writer->filling.epoch << 32 | writer->filling.end) * 1000 : 0;
	const char *arguments = type->arguments;
	uint8_t slots[DEFINE_SLOTS * 4];

	if (!cff_chunk_reserve(chunk, 1, CFF_EVENT_SIZE + sizeof(slots)))
		return sonde_fail_nomem(err);
	sonde_store_u32le(slots, type->wire);
	sonde_store_u32le(slots + 4, type->class);
	sonde_store_u32le(slots + 8, type->flags);
	sonde_store_u32le(slots + 12, cff_chunk_text(chunk, type->name, strlen(type->name)));
	sonde_store_u32le(slots + 16, *arguments ?
					      cff_chunk_text(chunk, arguments, strlen(arguments)) :
					      CFF_STRING_NULL);
	cff_chunk_put(chunk, CFF_WIRE_DEFINE, time, slots, sizeof(slots));
	if (!is_inline && cff_chunk_is_full(chunk))
		return cff_writer_flush_definitions(writer, err);
	return SONDE_OK;
}

/* Takes a wire id away from a type, which gets another one when it is used again. */
static void take_wire(struct cff_type_writer *types, uint32_t wire)
{
	struct cff_written_type *owner = &types->all.items[types->owners.items[wire]];

	owner->wire = 0;
	if (owner->function < types->function_wires.count &&
	    types->function_types.items[owner->function] == types->owners.items[wire])
		types->function_wires.items[owner->function] = 0;
}

static enum sonde_status give_wire(struct cff_writer *writer, uint32_t number,
				   struct sonde_error *err)
{
	struct cff_type_writer *types = &writer->types;
	uint32_t wire = types->next_wire;
	enum sonde_status status;

	if (types->is_recycling) {
		take_wire(types, wire);
	} else {
		if (!sonde_vec_reserve(&types->owners, 1))
			return sonde_fail_nomem(err);
		types->owners.count++;
	}
	types->owners.items[wire] = number;
	types->all.items[number].wire = wire;
	writer->has_no_index |= types->is_recycling;
	status = define(writer, &types->all.items[number], err);
	if (status < 0)
		return status;
	if (++types->next_wire > CFF_WRITE_WIRES) {
		types->is_recycling = true;
		types->next_wire = PERMANENT_COUNT + 1;
	}
	return SONDE_OK;
}

/* Adds a type whose name nobody has; the texts must stay. */
static enum sonde_status add_type(struct cff_type_writer *types,
				  const struct cff_written_type *type, uint32_t *number,
				  struct sonde_error *err)
{
	*number = (uint32_t)types->all.count;
	if (!sonde_vec_reserve(&types->all, 1) ||
	    !sonde_text_map_add(&types->names, type->name, strlen(type->name), *number))
		return sonde_fail_nomem(err);
	types->all.items[types->all.count++] = *type;
	return SONDE_OK;
}

enum sonde_status cff_write_permanent(struct cff_writer *writer, uint32_t wire,
				      struct sonde_error *err)
{
	struct cff_written_type *type = &writer->types.all.items[permanent[wire - 1]];

	if (type->wire)
		return SONDE_OK;
	type->wire = wire;
	return define(writer, type, err);
}

static enum sonde_status add_builtins(struct cff_type_writer *types, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < BUILTIN_COUNT && status == SONDE_OK; i++) {
		const struct cff_builtin_type *known = i < CFF_USER ? &cff_builtin_types[i] :
								      &own_types[i - CFF_USER];
		const struct cff_written_type type = {
			.name = known->name,
			.arguments = known->arguments,
			.flags = known->flags,
			.class = known->class,
			.builtin = i < CFF_USER ? (enum cff_builtin)i : CFF_USER,
			.function = SONDE_NONE,
			.event_type = SONDE_NONE,
			.is_ours = i >= CFF_USER,
		};
		uint32_t number;

		status = add_type(types, &type, &number, err);
	}
	return status;
}

enum sonde_status cff_type_writer_init(struct cff_writer *writer, struct sonde_error *err)
{
	struct cff_type_writer *types = &writer->types;
	enum sonde_status status = add_builtins(types, err);

	if (status == SONDE_OK && !sonde_vec_reserve(&types->owners, PERMANENT_COUNT + 1))
		status = sonde_fail_nomem(err);
	if (status < 0)
		return status;
	types->next_wire = PERMANENT_COUNT + 1;
	while (types->owners.count < types->next_wire)
		types->owners.items[types->owners.count++] = 0;
	for (uint32_t wire = CFF_WIRE_DEFINE; wire <= CFF_WRITE_LEAVE && status == SONDE_OK; wire++)
		status = cff_write_permanent(writer, wire, err);
	return status;
}

void cff_type_writer_release(struct cff_type_writer *types)
{
	for (size_t i = 0; i < types->plans.count; i++)
		sonde_signature_free(types->plans.items[i].signature);
	sonde_vec_release(&types->plans);
	sonde_vec_release(&types->all);
	sonde_vec_release(&types->function_wires);
	sonde_vec_release(&types->function_types);
	sonde_vec_release(&types->owners);
	sonde_text_map_release(&types->names);
	sonde_key_map_release(&types->first_functions);
	sonde_arena_release(&types->texts);
	sonde_buffer_release(&types->scratch);
}

static uint32_t find_name(const struct cff_type_writer *types, const char *name)
{
	return sonde_text_map_find(&types->names, name, strlen(name));
}

/* Puts a name into the scratch buffer as text that is UTF-8. */
static void put_valid(struct cff_writer *writer, const char *name)
{
	struct sonde_buffer *out = &writer->types.scratch;
	size_t left = strlen(name);

	if (sonde_utf8_valid(name, left)) {
		sonde_buffer_put(out, name, left);
		return;
	}
	writer->losses[CFF_LOSS_BAD_TEXT]++;
	while (left) {
		size_t length = sonde_utf8_length(name, left);

		if (length)
			sonde_buffer_put(out, name, length);
		else
			sonde_buffer_put_text(out, "\xEF\xBF\xBD");
		length += !length;
		name += length;
		left -= length;
	}
}

/* Cuts the name in the scratch buffer between two characters where it is longer than readers like. */
static void shorten(struct cff_writer *writer)
{
	struct sonde_buffer *name = &writer->types.scratch;
	size_t length = NAME_LIMIT;

	if (name->size <= NAME_LIMIT)
		return;
	while (length && ((unsigned char)name->data[length] & 0xC0) == 0x80)
		length--;
	name->size = length;
	writer->losses[CFF_LOSS_NAMES]++;
}

/* The name in the scratch buffer, made distinct; in the arena. NULL where memory failed. */
static const char *distinct_name(struct cff_writer *writer, const char *module)
{
	struct cff_type_writer *types = &writer->types;
	struct sonde_buffer *name = &types->scratch;
	const char *text = sonde_buffer_text(name);
	size_t length = name->size;
	uint32_t owner;

	if (!text)
		return NULL;
	owner = find_name(types, text);
	if (owner == UINT32_MAX)
		return sonde_arena_copy_text(&types->texts, text, length);
	writer->losses[CFF_LOSS_NAMES]++;
	if (module && *module && strlen(module) < ADDED_LIMIT) {
		sonde_buffer_put_format(name, " (%s)", module);
		text = sonde_buffer_text(name);
		if (text && find_name(types, text) == UINT32_MAX)
			return sonde_arena_copy_text(&types->texts, text, name->size);
	}
	do {
		name->size = length;
		sonde_buffer_put_format(name, "#%u", ++types->all.items[owner].namesakes + 1);
		text = sonde_buffer_text(name);
	} while (text && find_name(types, text) != UINT32_MAX);
	return text ? sonde_arena_copy_text(&types->texts, text, name->size) : NULL;
}

/* The last part of the path of a function's module. */
static const char *module_of(const struct cff_writer *writer, const struct sonde_function *function)
{
	const struct sonde_module *module =
		sonde_definitions_module(writer->definitions, function->module);
	const char *path = module ? sonde_definitions_string(writer->definitions, module->path) :
				    "";
	const char *slash = strrchr(path, '/');

	path = slash ? slash + 1 : path;
	return sonde_utf8_valid(path, strlen(path)) ? path : "";
}

/* A type that may stand for one more function: a scope without arguments. */
static bool has_room_for_function(const struct cff_written_type *type)
{
	return type->class == CFF_CLASS_SCOPE && !*type->arguments &&
	       type->function == SONDE_NONE && !type->is_ours;
}

static enum sonde_status find_function_type(struct cff_writer *writer, uint32_t function,
					    uint32_t *number, struct sonde_error *err)
{
	struct cff_type_writer *types = &writer->types;
	const struct sonde_function *definition =
		sonde_definitions_function(writer->definitions, function);
	struct cff_written_type type = {
		.arguments = "",
		.class = CFF_CLASS_SCOPE,
		.builtin = CFF_USER,
		.function = function,
		.event_type = SONDE_NONE,
	};
	char space[SONDE_LABEL_SIZE];
	const char *name = sonde_definitions_function_label(writer->definitions, function, space);

	sonde_buffer_clear(&types->scratch);
	put_valid(writer, name);
	shorten(writer);
	name = sonde_buffer_text(&types->scratch);
	if (!name)
		return sonde_fail_nomem(err);
	*number = find_name(types, name);
	if (*number != UINT32_MAX && has_room_for_function(&types->all.items[*number])) {
		types->all.items[*number].function = function;
		return SONDE_OK;
	}
	if (types->all.count >= CFF_WRITE_FUNCTION_TYPES) {
		writer->losses[CFF_LOSS_FUNCTIONS]++;
		*number = permanent[CFF_WRITE_CALL - 1];
		return SONDE_OK;
	}
	type.name = distinct_name(writer, module_of(writer, definition));
	return type.name ? add_type(types, &type, number, err) : sonde_fail_nomem(err);
}

/* Extends the tables by function up to and including this one. */
static enum sonde_status know_function(struct cff_writer *writer, uint32_t function,
				       struct sonde_error *err)
{
	struct cff_type_writer *types = &writer->types;
	uint32_t count = sonde_definitions_function_count(writer->definitions);

	if (function >= count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "an event names function %u, which is not defined", function);
	if (!sonde_vec_reserve(&types->function_wires, count - types->function_wires.count) ||
	    !sonde_vec_reserve(&types->function_types, count - types->function_types.count))
		return sonde_fail_nomem(err);
	while (types->function_wires.count < count) {
		types->function_wires.items[types->function_wires.count++] = 0;
		types->function_types.items[types->function_types.count++] = SONDE_NONE;
	}
	return SONDE_OK;
}

enum sonde_status cff_write_function(struct cff_writer *writer, uint32_t function, uint32_t *wire,
				     struct sonde_error *err)
{
	struct cff_type_writer *types = &writer->types;
	enum sonde_status status = SONDE_OK;
	uint32_t *number;

	if (function >= types->function_wires.count)
		status = know_function(writer, function, err);
	if (status < 0)
		return status;
	number = &types->function_types.items[function];
	if (*number == SONDE_NONE) {
		uint32_t found = SONDE_NONE;

		status = find_function_type(writer, function, &found, err);
		if (status < 0)
			return status;
		*number = found;
	}
	if (*number == permanent[CFF_WRITE_CALL - 1]) {
		*wire = CFF_WRITE_CALL;
		return cff_write_permanent(writer, CFF_WRITE_CALL, err);
	}
	if (!types->all.items[*number].wire)
		status = give_wire(writer, *number, err);
	*wire = types->function_wires.items[function] = types->all.items[*number].wire;
	return status;
}

uint32_t cff_write_first_function(struct cff_writer *writer, uint32_t name)
{
	struct cff_type_writer *types = &writer->types;
	uint32_t count = sonde_definitions_function_count(writer->definitions);

	for (; types->first_functions_count < count; types->first_functions_count++) {
		uint32_t id = types->first_functions_count;
		const struct sonde_function *function =
			sonde_definitions_function(writer->definitions, id);

		if (sonde_key_map_find(&types->first_functions, function->name) == UINT32_MAX &&
		    !sonde_key_map_add(&types->first_functions, function->name, id))
			return SONDE_NONE;
	}
	return sonde_key_map_find(&types->first_functions, name);
}

static bool has_wide_arguments(const struct sonde_signature *signature)
{
	for (size_t i = 0; i < sonde_signature_count(signature); i++) {
		if (sonde_argument_type_size(sonde_signature_at(signature, i)->type) == 8)
			return true;
	}
	return false;
}

enum sonde_status cff_write_plan(struct cff_writer *writer, uint32_t event_type,
				 struct cff_event_plan **plan, struct sonde_error *err)
{
	const struct sonde_event_type *type =
		sonde_definitions_event_type(writer->definitions, event_type);
	struct cff_type_writer *types = &writer->types;
	enum sonde_status status;

	if (!type)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "an event is of type %u, which is not defined", event_type);
	if (event_type >= types->plans.count) {
		if (!sonde_vec_reserve(&types->plans, event_type + 1 - types->plans.count))
			return sonde_fail_nomem(err);
		while (types->plans.count <= event_type)
			types->plans.items[types->plans.count++] =
				(struct cff_event_plan){ .type = SONDE_NONE,
							 .counter = SONDE_NONE };
	}
	*plan = &types->plans.items[event_type];
	if ((*plan)->signature)
		return SONDE_OK;
	status = sonde_signature_parse(
		sonde_definitions_string(writer->definitions, type->arguments), &(*plan)->signature,
		err);
	if (status == SONDE_OK)
		(*plan)->is_wide = has_wide_arguments((*plan)->signature);
	return status;
}

/* The same types in the same order, whatever their names. */
static enum sonde_status compare(const char *first, const char *second, bool *same,
				 struct sonde_error *err)
{
	struct sonde_signature *a = NULL, *b = NULL;
	enum sonde_status status = sonde_signature_parse(first, &a, err);

	*same = false;
	if (status == SONDE_OK)
		status = sonde_signature_parse(second, &b, err);
	if (status == SONDE_OK)
		*same = sonde_signature_count(a) == sonde_signature_count(b);
	for (size_t i = 0; *same && i < sonde_signature_count(a); i++)
		*same = sonde_signature_at(a, i)->type == sonde_signature_at(b, i)->type &&
			sonde_signature_at(a, i)->is_array == sonde_signature_at(b, i)->is_array;
	sonde_signature_free(a);
	sonde_signature_free(b);
	return status;
}

/* Those that define things cannot be written as events. */
static bool is_structure(enum cff_builtin builtin)
{
	return builtin == CFF_DEFINE || (builtin >= CFF_ZONE_CREATE && builtin <= CFF_ZONE_SET);
}

/* The builtin of that name, class and arguments that look the same; CFF_USER: there is none. */
static enum sonde_status find_builtin(const struct sonde_definitions *definitions,
				      const struct sonde_event_type *type, enum cff_builtin *found,
				      struct sonde_error *err)
{
	const char *name = sonde_definitions_string(definitions, type->name);
	enum cff_builtin builtin = cff_builtin_find(name);
	enum sonde_status status;
	bool same;

	*found = CFF_USER;
	if (builtin == CFF_USER || is_structure(builtin) ||
	    type->is_scope != (cff_builtin_types[builtin].class == CFF_CLASS_SCOPE))
		return SONDE_OK;
	status = compare(sonde_definitions_string(definitions, type->arguments),
			 cff_builtin_types[builtin].arguments, &same, err);
	if (same)
		*found = builtin;
	return status;
}

/* A type that may stand for one more event type. */
static bool has_room_for_event_type(const struct cff_written_type *type, const char *arguments,
				    enum cff_event_class class)
{
	return type->builtin == CFF_USER && !type->is_ours && type->class == class &&
	       type->event_type == SONDE_NONE && !strcmp(type->arguments, arguments);
}

/* Puts the name of an event type or a counter into the scratch buffer. */
static void put_event_name(struct cff_writer *writer, const char *name, bool is_counter,
			   bool has_arguments)
{
	struct sonde_buffer *scratch = &writer->types.scratch;
	struct sonde_buffer changed = { 0 };

	sonde_buffer_clear(scratch);
	if (is_counter && strncmp(name, CFF_COUNTER_PREFIX, sizeof(CFF_COUNTER_PREFIX) - 1) != 0)
		sonde_buffer_put_text(scratch, CFF_COUNTER_PREFIX);
	put_valid(writer, name);
	shorten(writer);
	if (!has_arguments || !sonde_buffer_text(scratch))
		return;
	if (cff_name_put(&changed, sonde_buffer_text(scratch))) {
		writer->losses[CFF_LOSS_NAMES]++;
		sonde_buffer_clear(scratch);
		sonde_buffer_put(scratch, changed.data, changed.size);
		scratch->failed |= changed.failed;
	}
	sonde_buffer_release(&changed);
}

/* Finds or adds the type of that name and these arguments; `arguments` must stay. */
static enum sonde_status name_event_type(struct cff_writer *writer, struct cff_written_type *type,
					 uint32_t *number, struct sonde_error *err)
{
	struct cff_type_writer *types = &writer->types;
	const char *name = sonde_buffer_text(&types->scratch);

	if (!name)
		return sonde_fail_nomem(err);
	*number = find_name(types, name);
	if (*number != UINT32_MAX &&
	    has_room_for_event_type(&types->all.items[*number], type->arguments, type->class)) {
		types->all.items[*number].event_type = type->event_type;
		return SONDE_OK;
	}
	type->name = distinct_name(writer, NULL);
	return type->name ? add_type(types, type, number, err) : sonde_fail_nomem(err);
}

static enum sonde_status find_event_type(struct cff_writer *writer, uint32_t event_type,
					 bool is_counter, uint32_t *number, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_event_type *definition =
		sonde_definitions_event_type(definitions, event_type);
	enum cff_builtin builtin = CFF_USER;
	struct cff_written_type type = {
		.flags = definition->flags,
		.class = definition->is_scope && !is_counter ? CFF_CLASS_SCOPE : CFF_CLASS_INSTANCE,
		.builtin = CFF_USER,
		.function = SONDE_NONE,
		.event_type = event_type,
	};
	enum sonde_status status = SONDE_OK;
	char *arguments = NULL;

	if (!is_counter)
		status = find_builtin(definitions, definition, &builtin, err);
	if (status < 0)
		return status;
	if (builtin != CFF_USER) {
		*number = builtin;
		if (writer->types.all.items[builtin].event_type == SONDE_NONE)
			writer->types.all.items[builtin].event_type = event_type;
		return SONDE_OK;
	}
	status = cff_signature_split(
		is_counter ? "float64 value" :
			     sonde_definitions_string(definitions, definition->arguments),
		&arguments, NULL, err);
	if (status < 0)
		return status;
	type.arguments = sonde_arena_copy_text(&writer->types.texts, arguments, strlen(arguments));
	free(arguments);
	if (!type.arguments)
		return sonde_fail_nomem(err);
	put_event_name(writer, sonde_definitions_string(definitions, definition->name), is_counter,
		       *type.arguments != '\0');
	return name_event_type(writer, &type, number, err);
}

enum sonde_status cff_write_type(struct cff_writer *writer, uint32_t number, uint32_t *wire,
				 struct sonde_error *err)
{
	struct cff_written_type *type = &writer->types.all.items[number];
	enum sonde_status status = type->wire ? SONDE_OK : give_wire(writer, number, err);

	*wire = type->wire;
	return status;
}

enum sonde_status cff_write_event_type(struct cff_writer *writer, uint32_t event_type,
				       bool is_counter, struct cff_written_type **type,
				       struct sonde_error *err)
{
	struct cff_event_plan *plan = NULL;
	enum sonde_status status = cff_write_plan(writer, event_type, &plan, err);
	uint32_t *number;

	if (status < 0 || !plan)
		return status;
	number = is_counter ? &plan->counter : &plan->type;
	if (*number == SONDE_NONE) {
		uint32_t found = SONDE_NONE;

		status = find_event_type(writer, event_type, is_counter, &found, err);
		if (status < 0)
			return status;
		*number = found;
	}
	*type = &writer->types.all.items[*number];
	return (*type)->wire ? SONDE_OK : give_wire(writer, *number, err);
}
