/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads manifest.json, versions 2.0 and 2.1. Each kind of object in it is a table of fields; one
 * function reads any of them. Writing is in atf_manifest_write.c.
 */
#include "formats/atf/atf_manifest.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "formats/atf/atf_findings.h"

struct manifest_reader {
	struct atf_manifest *manifest;
	struct sonde_json_reader json;
	struct sonde_definitions *definitions;
	struct sonde_diagnostics *diagnostics;
	struct sonde_key_map *functions;
	struct sonde_key_map modules; /* module_id -> module id */
	uint32_t process;
	bool threads_only;
	bool modules_seen;
	bool symbols_late; /* they stand before the modules: passed over, for a second round */
	struct sonde_buffer text;
};

enum field_type {
	FIELD_NUMBER,
	FIELD_TEXT, /* value: string id */
	FIELD_BOOL,
	FIELD_HEX,     /* "0x1f" or a number */
	FIELD_OBJECTS, /* an array of objects, each read by `each` */
};

struct field {
	const char *name;
	enum field_type type;
	bool needs_modules;
	enum sonde_status (*each)(struct manifest_reader *reader, struct sonde_error *err);
};

#define FIELDS_MAX 12

/* One object as read: values by the number of their field, and the keys nobody knows. */
struct object {
	uint64_t value[FIELDS_MAX];
	uint32_t present; /* bit per field */
	struct atf_extras extras;
};

static bool object_has(const struct object *object, unsigned int field)
{
	return object->present >> field & 1;
}

static uint64_t object_get(const struct object *object, unsigned int field, uint64_t otherwise)
{
	return object_has(object, field) ? object->value[field] : otherwise;
}

static enum sonde_status intern(struct manifest_reader *reader, const char *text, size_t length,
				uint32_t *id, struct sonde_error *err)
{
	return sonde_definitions_add_string(reader->definitions, text, length, id, err);
}

/* The hexadecimal text of a token as a number; false where it is none. */
static bool parse_hex(const struct sonde_json_reader *json, uint64_t *value)
{
	char *end;

	if (json->token == SONDE_JSON_NUMBER)
		return sonde_json_u64(json, value);
	if (json->token != SONDE_JSON_STRING || json->length < 3 || json->length > 18 ||
	    json->text[0] != '0' || (json->text[1] | 0x20) != 'x')
		return false;
	*value = strtoull(json->text + 2, &end, 16);
	return *end == '\0' && json->text[2] != '-' && json->text[2] != '+' && json->text[2] != ' ';
}

/* A value of the wrong type or out of range: a finding, and the value is passed over. */
static enum sonde_status reject_value(struct manifest_reader *reader, const char *name,
				      const char *expected, struct sonde_error *err)
{
	struct sonde_json_reader *json = &reader->json;

	ATF_FIND(reader->diagnostics, MANIFEST_VALUE, reader->manifest->path, json->offset,
		 "\"%s\": %s\tsomething else", name, expected);
	return sonde_json_skip(json, err);
}

static enum sonde_status read_thread(struct manifest_reader *reader, struct sonde_error *err);

static enum sonde_status read_objects(struct manifest_reader *reader, const struct field *field,
				      struct sonde_error *err)
{
	struct sonde_json_reader *json = &reader->json;
	enum sonde_status status;

	if (json->token != SONDE_JSON_ARRAY_BEGIN)
		return reject_value(reader, field->name, "an array", err);
	if (reader->threads_only && field->each != read_thread)
		return sonde_json_skip(json, err);
	if (field->needs_modules && !reader->modules_seen) {
		reader->symbols_late = true;
		return sonde_json_skip(json, err);
	}
	for (;;) {
		status = sonde_json_next(json, err);
		if (status < 0)
			return status;
		if (json->token == SONDE_JSON_ARRAY_END)
			return SONDE_OK;
		if (json->token == SONDE_JSON_OBJECT_BEGIN)
			status = field->each(reader, err);
		else
			status = reject_value(reader, field->name, "an array of objects", err);
		if (status < 0)
			return status;
	}
}

/* The value of a known field, at its first token, into `object`. */
static enum sonde_status read_field(struct manifest_reader *reader, const struct field *table,
				    unsigned int number, struct object *object,
				    struct sonde_error *err)
{
	static const char *const expected[] = { "a number", "a string", "true or false",
						"a hexadecimal string" };
	const struct field *field = &table[number];
	struct sonde_json_reader *json = &reader->json;
	uint64_t *value = &object->value[number];
	bool good = false;

	switch (field->type) {
	case FIELD_OBJECTS:
		return read_objects(reader, field, err);
	case FIELD_NUMBER:
		good = json->token == SONDE_JSON_NUMBER && sonde_json_u64(json, value);
		break;
	case FIELD_HEX:
		good = parse_hex(json, value);
		break;
	case FIELD_BOOL:
		good = json->token == SONDE_JSON_TRUE || json->token == SONDE_JSON_FALSE;
		*value = json->token == SONDE_JSON_TRUE;
		break;
	case FIELD_TEXT:
		good = json->token == SONDE_JSON_STRING;
		if (good) {
			uint32_t id;
			enum sonde_status status =
				intern(reader, json->text, json->length, &id, err);

			if (status < 0)
				return status;
			*value = id;
		}
		break;
	}
	if (!good)
		return reject_value(reader, field->name, expected[field->type], err);
	object->present |= 1u << number;
	return SONDE_OK;
}

/* A key nobody knows: kept with its value as JSON text. The reader stands at the value. */
static enum sonde_status read_extra(struct manifest_reader *reader, uint32_t name,
				    struct object *object, struct sonde_error *err)
{
	struct atf_extra *extra;
	enum sonde_status status;
	const char *text;

	sonde_buffer_clear(&reader->text);
	status = sonde_json_copy(&reader->json, &reader->text, err);
	if (status < 0)
		return status;
	text = sonde_buffer_text(&reader->text);
	extra = sonde_vec_push(&object->extras);
	if (!text || !extra)
		return sonde_fail_nomem(err);
	extra->name = name;
	extra->value = 0;
	return intern(reader, text, reader->text.size, &extra->value, err);
}

/* Reads an object, from behind its opening brace, by a table of fields that ends in a NULL name. */
static enum sonde_status read_object(struct manifest_reader *reader, const struct field *table,
				     struct object *object, struct sonde_error *err)
{
	struct sonde_json_reader *json = &reader->json;
	enum sonde_status status;
	unsigned int number;
	uint32_t name;

	for (;;) {
		status = sonde_json_next(json, err);
		if (status < 0 || json->token == SONDE_JSON_OBJECT_END)
			return status;
		for (number = 0; table[number].name; number++)
			if (strcmp(table[number].name, json->text) == 0)
				break;
		if (!table[number].name) {
			status = intern(reader, json->text, json->length, &name, err);
			if (status == SONDE_OK)
				status = read_extra(reader, name, object, err);
		} else {
			status = sonde_json_next(json, err);
			if (status == SONDE_OK)
				status = read_field(reader, table, number, object, err);
		}
		if (status < 0)
			return status;
	}
}

enum sonde_status atf_extras_define(const struct atf_extras *extras,
				    struct sonde_definitions *definitions, enum sonde_owner owner,
				    uint32_t owner_id, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < extras->count && status == SONDE_OK; i++) {
		struct sonde_attribute attribute = {
			.owner = owner,
			.owner_id = owner_id,
			.name = extras->items[i].name,
			.value = extras->items[i].value,
		};

		status = sonde_definitions_add_attribute(definitions, &attribute, &(uint32_t){ 0 },
							 err);
	}
	return status;
}

enum {
	THREAD_ID,
	THREAD_HAS_DETAIL,
	THREAD_NAME,
	THREAD_OS_ID,
	THREAD_DROPPED,
	THREAD_HEAD,
	THREAD_TAIL
};

static const struct field thread_fields[] = {
	[THREAD_ID] = { .name = "id", .type = FIELD_NUMBER },
	[THREAD_HAS_DETAIL] = { .name = "has_detail", .type = FIELD_BOOL },
	[THREAD_NAME] = { .name = "name", .type = FIELD_TEXT },
	[THREAD_OS_ID] = { .name = "os_id", .type = FIELD_NUMBER },
	[THREAD_DROPPED] = { .name = "dropped_events", .type = FIELD_NUMBER },
	[THREAD_HEAD] = { .name = "synthetic_head", .type = FIELD_NUMBER },
	[THREAD_TAIL] = { .name = "synthetic_tail", .type = FIELD_NUMBER },
	{ 0 },
};

static enum sonde_status read_thread(struct manifest_reader *reader, struct sonde_error *err)
{
	struct atf_manifest *manifest = reader->manifest;
	struct atf_manifest_thread *thread;
	struct object object = { 0 };
	uint64_t offset = reader->json.offset, id;
	enum sonde_status status = read_object(reader, thread_fields, &object, err);

	if (status < 0)
		goto done;
	id = object_get(&object, THREAD_ID, UINT64_MAX);
	if (id >= SONDE_NONE || sonde_key_map_find(&manifest->thread_ids, id) != SONDE_NONE) {
		ATF_FIND(reader->diagnostics, MANIFEST_VALUE, manifest->path, offset,
			 "a thread with an \"id\" of its own\ta thread without");
		goto done;
	}
	thread = sonde_vec_push(&manifest->threads);
	if (!thread) {
		status = sonde_fail_nomem(err);
		goto done;
	}
	*thread = (struct atf_manifest_thread){
		.id = (uint32_t)id,
		.has_detail = object_get(&object, THREAD_HAS_DETAIL, 0),
		.name = (uint32_t)object_get(&object, THREAD_NAME, 0),
		.os_id = object_get(&object, THREAD_OS_ID, UINT64_MAX),
		.dropped_events = object_get(&object, THREAD_DROPPED, 0),
		.synthetic_head = object_get(&object, THREAD_HEAD, 0),
		.synthetic_tail = object_get(&object, THREAD_TAIL, 0),
		.extras = object.extras,
	};
	if (sonde_key_map_add(&manifest->thread_ids, thread->id,
			      (uint32_t)manifest->threads.count - 1))
		return SONDE_OK;
	manifest->threads.count--;
	status = sonde_fail_nomem(err);
done:
	sonde_vec_release(&object.extras);
	return status;
}

enum { MODULE_ID, MODULE_PATH, MODULE_BASE, MODULE_SIZE, MODULE_UUID };

static const struct field module_fields[] = {
	[MODULE_ID] = { .name = "module_id", .type = FIELD_NUMBER },
	[MODULE_PATH] = { .name = "path", .type = FIELD_TEXT },
	[MODULE_BASE] = { .name = "base_address", .type = FIELD_HEX },
	[MODULE_SIZE] = { .name = "size", .type = FIELD_NUMBER },
	[MODULE_UUID] = { .name = "uuid", .type = FIELD_TEXT },
	{ 0 },
};

static enum sonde_status read_module(struct manifest_reader *reader, struct sonde_error *err)
{
	struct object object = { 0 };
	struct sonde_module module;
	uint32_t id;
	enum sonde_status status = read_object(reader, module_fields, &object, err);

	reader->modules_seen = true;
	module = (struct sonde_module){
		.process = reader->process,
		.has_key = object_has(&object, MODULE_ID),
		.key = object_get(&object, MODULE_ID, 0),
		.path = (uint32_t)object_get(&object, MODULE_PATH, 0),
		.base_address = object_get(&object, MODULE_BASE, 0),
		.size = object_get(&object, MODULE_SIZE, 0),
		.uuid = (uint32_t)object_get(&object, MODULE_UUID, 0),
	};
	if (status < 0 || sonde_key_map_find(&reader->modules, module.key) != SONDE_NONE)
		goto done;
	status = sonde_definitions_add_module(reader->definitions, &module, &id, err);
	if (status == SONDE_OK && !sonde_key_map_add(&reader->modules, module.key, id))
		status = sonde_fail_nomem(err);
	if (status == SONDE_OK)
		status = atf_extras_define(&object.extras, reader->definitions, SONDE_OWNER_MODULE,
					   id, err);
done:
	sonde_vec_release(&object.extras);
	return status;
}

enum {
	SYMBOL_FUNCTION_ID,
	SYMBOL_MODULE_ID,
	SYMBOL_INDEX,
	SYMBOL_NAME,
	SYMBOL_RAW_NAME,
	SYMBOL_FILE,
	SYMBOL_LINE,
};

static const struct field symbol_fields[] = {
	[SYMBOL_FUNCTION_ID] = { .name = "function_id", .type = FIELD_HEX },
	[SYMBOL_MODULE_ID] = { .name = "module_id", .type = FIELD_NUMBER },
	[SYMBOL_INDEX] = { .name = "symbol_index", .type = FIELD_NUMBER },
	[SYMBOL_NAME] = { .name = "name", .type = FIELD_TEXT },
	[SYMBOL_RAW_NAME] = { .name = "raw_name", .type = FIELD_TEXT },
	[SYMBOL_FILE] = { .name = "file", .type = FIELD_TEXT },
	[SYMBOL_LINE] = { .name = "line", .type = FIELD_NUMBER },
	{ 0 },
};

/* The function_id of a symbol, by itself or made of its two halves; false where there is none. */
static bool symbol_key(const struct object *object, uint64_t *key)
{
	*key = object_get(object, SYMBOL_FUNCTION_ID,
			  object->value[SYMBOL_MODULE_ID] << 32 |
				  (uint32_t)object->value[SYMBOL_INDEX]);
	return object_has(object, SYMBOL_FUNCTION_ID) ||
	       (object_has(object, SYMBOL_MODULE_ID) && object_has(object, SYMBOL_INDEX));
}

static enum sonde_status add_symbol(struct manifest_reader *reader, const struct object *object,
				    uint64_t key, uint64_t offset, struct sonde_error *err)
{
	uint64_t module_key = object_get(object, SYMBOL_MODULE_ID, key >> 32);
	struct sonde_function function = {
		.process = reader->process,
		.module = sonde_key_map_find(&reader->modules, module_key),
		.name = (uint32_t)object_get(object, SYMBOL_NAME, 0),
		.raw_name = (uint32_t)object_get(object, SYMBOL_RAW_NAME, 0),
		.file = (uint32_t)object_get(object, SYMBOL_FILE, 0),
		.line = (uint32_t)object_get(object, SYMBOL_LINE, 0),
		.has_key = true,
		.key = key,
	};
	enum sonde_status status;
	uint32_t id;

	if (function.module == SONDE_NONE)
		ATF_FIND(reader->diagnostics, SYMBOL_MODULE, reader->manifest->path, offset,
			 "a listed module\tmodule_id %llu", (unsigned long long)module_key);
	status = sonde_definitions_add_function(reader->definitions, &function, &id, err);
	if (status < 0)
		return status;
	if (!sonde_key_map_add(reader->functions, key, id))
		return sonde_fail_nomem(err);
	reader->manifest->symbol_count++;
	return atf_extras_define(&object->extras, reader->definitions, SONDE_OWNER_FUNCTION, id,
				 err);
}

static enum sonde_status read_symbol(struct manifest_reader *reader, struct sonde_error *err)
{
	struct object object = { 0 };
	uint64_t offset = reader->json.offset, key;
	enum sonde_status status = read_object(reader, symbol_fields, &object, err);

	if (status < 0)
		goto done;
	if (!symbol_key(&object, &key))
		ATF_FIND(reader->diagnostics, MANIFEST_VALUE, reader->manifest->path, offset,
			 "a symbol with a \"function_id\"\ta symbol without");
	else if (sonde_key_map_find(reader->functions, key) != SONDE_NONE)
		ATF_FIND(reader->diagnostics, SYMBOL_DUPLICATE, reader->manifest->path, offset,
			 "one symbol for 0x%016llx\tanother one", (unsigned long long)key);
	else
		status = add_symbol(reader, &object, key, offset, err);
done:
	sonde_vec_release(&object.extras);
	return status;
}

enum { ANCHOR_CLOCK, ANCHOR_REALTIME };

static const struct field anchor_fields[] = {
	[ANCHOR_CLOCK] = { .name = "clock_ns", .type = FIELD_NUMBER },
	[ANCHOR_REALTIME] = { .name = "realtime_ns", .type = FIELD_NUMBER },
	{ 0 },
};

static enum sonde_status read_anchor(struct manifest_reader *reader, struct sonde_error *err)
{
	struct object object = { 0 };
	enum sonde_status status = read_object(reader, anchor_fields, &object, err);

	if (status == SONDE_OK && object.present == 3) {
		struct atf_manifest_anchor *anchor = sonde_vec_push(&reader->manifest->anchors);

		if (anchor)
			*anchor = (struct atf_manifest_anchor){
				.clock_ns = object.value[ANCHOR_CLOCK],
				.realtime_ns = object.value[ANCHOR_REALTIME],
			};
		else
			status = sonde_fail_nomem(err);
	}
	sonde_vec_release(&object.extras);
	return status;
}

enum {
	TOP_THREADS,
	TOP_MODULES,
	TOP_SYMBOLS,
	TOP_ANCHORS,
	TOP_TIME_START,
	TOP_TIME_END,
	TOP_CLOCK,
	TOP_VERSION,
	TOP_PID,
	TOP_NAME,
};

static const struct field top_fields[] = {
	[TOP_THREADS] = { .name = "threads", .type = FIELD_OBJECTS, .each = read_thread },
	[TOP_MODULES] = { .name = "modules", .type = FIELD_OBJECTS, .each = read_module },
	[TOP_SYMBOLS] = { .name = "symbols",
			  .type = FIELD_OBJECTS,
			  .needs_modules = true,
			  .each = read_symbol },
	[TOP_ANCHORS] = { .name = "clock_anchors", .type = FIELD_OBJECTS, .each = read_anchor },
	[TOP_TIME_START] = { .name = "time_start_ns", .type = FIELD_NUMBER },
	[TOP_TIME_END] = { .name = "time_end_ns", .type = FIELD_NUMBER },
	[TOP_CLOCK] = { .name = "clock_type", .type = FIELD_NUMBER },
	[TOP_VERSION] = { .name = "format_version", .type = FIELD_TEXT },
	[TOP_PID] = { .name = "pid", .type = FIELD_NUMBER },
	[TOP_NAME] = { .name = "process_name", .type = FIELD_TEXT },
	{ 0 },
};

/* What the scalars at the top say, into the manifest. */
static void take_top(struct manifest_reader *reader, struct object *object)
{
	struct atf_manifest *manifest = reader->manifest;
	const char *version = sonde_definitions_string(
		reader->definitions, (uint32_t)object_get(object, TOP_VERSION, 0));

	manifest->has_times = object_has(object, TOP_TIME_START) &&
			      object_has(object, TOP_TIME_END);
	manifest->time_start_ns = object->value[TOP_TIME_START];
	manifest->time_end_ns = object->value[TOP_TIME_END];
	manifest->has_clock = object_has(object, TOP_CLOCK);
	manifest->clock_type = (uint32_t)object->value[TOP_CLOCK];
	if (object_get(object, TOP_PID, UINT64_MAX) < SONDE_NONE)
		manifest->pid = (uint32_t)object->value[TOP_PID];
	manifest->process_name = (uint32_t)object_get(object, TOP_NAME, 0);
	if (strcmp(version, "2.0") != 0 && strcmp(version, "2.1") != 0)
		ATF_FIND(reader->diagnostics, MANIFEST_VERSION, manifest->path, SONDE_NO_OFFSET,
			 "format_version \"2.0\" or \"2.1\"\t\"%s\"", version);
	manifest->extras = object->extras;
	object->extras = (struct atf_extras){ 0 };
}

/* One object and nothing behind it. */
static enum sonde_status read_document(struct manifest_reader *reader, struct object *object,
				       struct sonde_error *err)
{
	struct sonde_json_reader *json = &reader->json;
	enum sonde_status status = sonde_json_next(json, err);

	if (status < 0)
		return status;
	if (json->token != SONDE_JSON_OBJECT_BEGIN)
		return sonde_fail(err, SONDE_CORRUPT, json->offset,
				  "expected an object, found another value");
	status = read_object(reader, top_fields, object, err);
	if (status < 0)
		return status;
	return sonde_json_next(json, err);
}

/* The second round, for symbols that stand before the modules. */
static enum sonde_status read_late_symbols(struct manifest_reader *reader,
					   const struct sonde_mapped_file *file,
					   struct sonde_error *err)
{
	static const struct field symbols_only[] = {
		{ .name = "symbols", .type = FIELD_OBJECTS, .each = read_symbol },
		{ 0 },
	};
	struct object object = { 0 };
	enum sonde_status status;

	sonde_json_reader_release(&reader->json);
	sonde_json_reader_init(&reader->json, (const char *)file->data, file->size, NULL, NULL);
	status = sonde_json_next(&reader->json, err);
	if (status == SONDE_OK)
		status = read_object(reader, symbols_only, &object, err);
	sonde_vec_release(&object.extras);
	return status;
}

/* Whether a failure lies in the text (a finding) rather than in memory or the file system. */
static bool is_text_fault(enum sonde_status status)
{
	return status == SONDE_CORRUPT || status == SONDE_TRUNCATED || status == SONDE_LIMIT;
}

static enum sonde_status read_text(struct manifest_reader *reader,
				   const struct sonde_mapped_file *file, struct sonde_error *err)
{
	struct sonde_error reason = { 0 };
	struct object top = { 0 };
	enum sonde_status status;

	sonde_json_reader_init(&reader->json, (const char *)file->data, file->size, NULL, NULL);
	status = read_document(reader, &top, &reason);
	if (is_text_fault(status)) {
		ATF_FIND(reader->diagnostics, MANIFEST_JSON, reader->manifest->path, reason.offset,
			 "JSON\t%s", reason.message);
		status = SONDE_OK;
	}
	if (status == SONDE_OK) {
		take_top(reader, &top);
		if (reader->symbols_late) {
			status = read_late_symbols(reader, file, &reason);
			if (is_text_fault(status))
				status = SONDE_OK;
		}
	}
	if (status < 0 && err)
		*err = reason;
	sonde_vec_release(&top.extras);
	sonde_json_reader_release(&reader->json);
	return status;
}

enum sonde_status atf_manifest_read(struct atf_manifest *manifest, const char *folder,
				    bool threads_only, uint32_t process,
				    struct sonde_definitions *definitions,
				    struct sonde_key_map *functions,
				    struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct manifest_reader reader = {
		.manifest = manifest,
		.definitions = definitions,
		.diagnostics = diagnostics,
		.functions = functions,
		.threads_only = threads_only,
		.process = process,
	};
	struct sonde_mapped_file file;
	struct sonde_error reason;
	enum sonde_status status;

	*manifest = (struct atf_manifest){ .pid = SONDE_NONE };
	manifest->path = sonde_path_join(folder, ATF_MANIFEST_NAME);
	if (!manifest->path)
		return sonde_fail_nomem(err);
	if (sonde_path_kind(manifest->path) == SONDE_PATH_ABSENT) {
		ATF_FIND(diagnostics, MANIFEST_MISSING, manifest->path, SONDE_NO_OFFSET,
			 "a file\tnothing");
		return SONDE_OK;
	}
	status = sonde_mapped_file_open(&file, manifest->path, &reason);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status < 0) {
		ATF_FIND(diagnostics, MANIFEST_JSON, manifest->path, SONDE_NO_OFFSET,
			 "a readable file\t%s", reason.message);
		return SONDE_OK;
	}
	manifest->present = true;
	status = read_text(&reader, &file, err);
	sonde_key_map_release(&reader.modules);
	sonde_buffer_release(&reader.text);
	sonde_mapped_file_release(&file);
	return status;
}

void atf_manifest_release(struct atf_manifest *manifest)
{
	for (size_t i = 0; i < manifest->threads.count; i++)
		sonde_vec_release(&manifest->threads.items[i].extras);
	sonde_vec_release(&manifest->threads);
	sonde_key_map_release(&manifest->thread_ids);
	sonde_vec_release(&manifest->anchors);
	sonde_vec_release(&manifest->extras);
	free(manifest->path);
	*manifest = (struct atf_manifest){ 0 };
}

static bool is_field(const struct field *table, const char *name)
{
	for (; table->name; table++)
		if (strcmp(table->name, name) == 0)
			return true;
	return false;
}

bool atf_manifest_has_key(enum sonde_owner owner, const char *name)
{
	switch (owner) {
	case SONDE_OWNER_RECORDING:
	case SONDE_OWNER_PROCESS:
		return is_field(top_fields, name);
	case SONDE_OWNER_TRACK:
		return is_field(thread_fields, name);
	case SONDE_OWNER_MODULE:
		return is_field(module_fields, name);
	case SONDE_OWNER_FUNCTION:
		return is_field(symbol_fields, name);
	}
	return false;
}

const struct atf_manifest_thread *atf_manifest_thread(const struct atf_manifest *manifest,
						      uint32_t id)
{
	uint32_t number = sonde_key_map_find(&manifest->thread_ids, id);

	return number == SONDE_NONE ? NULL : &manifest->threads.items[number];
}
