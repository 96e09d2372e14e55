/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads manifest.json, versions 2.0 and 2.1. Each kind of object in it is a table of fields; one
 * function reads any of them. Writing is in atf_manifest_write.c.
 */
#include "formats/atf/atf_manifest.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "formats/atf/atf_arguments.h"
#include "formats/atf/atf_findings.h"
#include "formats/atf/atf_manifest_object.h"

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
	THREAD_MADE_UP,
	THREAD_HEAD,
	THREAD_TAIL,
	THREAD_KIND
};

static const struct manifest_field thread_fields[] = {
	[THREAD_ID] = { .name = "id", .type = FIELD_NUMBER },
	[THREAD_HAS_DETAIL] = { .name = "has_detail", .type = FIELD_BOOL },
	[THREAD_NAME] = { .name = "name", .type = FIELD_TEXT },
	[THREAD_OS_ID] = { .name = "os_id", .type = FIELD_NUMBER },
	[THREAD_MADE_UP] = { .name = "name_made_up", .type = FIELD_BOOL },
	[THREAD_DROPPED] = { .name = "dropped_events", .type = FIELD_NUMBER },
	[THREAD_HEAD] = { .name = "synthetic_head", .type = FIELD_NUMBER },
	[THREAD_TAIL] = { .name = "synthetic_tail", .type = FIELD_NUMBER },
	[THREAD_KIND] = { .name = "kind", .type = FIELD_TEXT },
	{ 0 },
};

/* Tracks that are no threads say so. */
static enum sonde_track_kind thread_kind(struct manifest_reader *reader,
					 const struct manifest_object *object, uint64_t offset)
{
	const char *text = sonde_definitions_string(reader->definitions,
						    (uint32_t)object_get(object, THREAD_KIND, 0));

	for (size_t i = 0; i < ATF_TRACK_KIND_COUNT; i++)
		if (strcmp(text, atf_track_kinds[i]) == 0)
			return (enum sonde_track_kind)i;
	if (object_has(object, THREAD_KIND))
		ATF_FIND(reader->diagnostics, MANIFEST_VALUE, reader->manifest->path, offset,
			 "\"kind\": thread, gpu_stream or zone\t\"%s\"", text);
	return SONDE_TRACK_THREAD;
}

static enum sonde_status read_thread(struct manifest_reader *reader, struct sonde_error *err)
{
	struct atf_manifest *manifest = reader->manifest;
	struct atf_manifest_thread *thread;
	struct manifest_object object = { 0 };
	uint64_t offset = reader->json.offset, id;
	enum sonde_status status = atf_manifest_object(reader, thread_fields, &object, err);

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
		.name_made_up = object_get(&object, THREAD_MADE_UP, 0),
		.kind = thread_kind(reader, &object, offset),
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

const char *const atf_track_kinds[ATF_TRACK_KIND_COUNT] = {
	[SONDE_TRACK_THREAD] = "thread",
	[SONDE_TRACK_GPU_STREAM] = "gpu_stream",
	[SONDE_TRACK_ZONE] = "zone",
};

enum { MODULE_ID, MODULE_PATH, MODULE_BASE, MODULE_SIZE, MODULE_UUID };

static const struct manifest_field module_fields[] = {
	[MODULE_ID] = { .name = "module_id", .type = FIELD_NUMBER },
	[MODULE_PATH] = { .name = "path", .type = FIELD_TEXT },
	[MODULE_BASE] = { .name = "base_address", .type = FIELD_HEX },
	[MODULE_SIZE] = { .name = "size", .type = FIELD_NUMBER },
	[MODULE_UUID] = { .name = "uuid", .type = FIELD_TEXT },
	{ 0 },
};

/* The module that stands for annotations is in the manifest only because symbols must have one. */
static bool module_is_made_up(const struct manifest_reader *reader,
			      const struct sonde_module *module)
{
	return module->key == ATF_ANNOTATIONS_MODULE && !module->base_address && !module->size &&
	       strcmp(sonde_definitions_string(reader->definitions, module->path),
		      ATF_ANNOTATIONS_PATH) == 0;
}

static enum sonde_status read_module(struct manifest_reader *reader, struct sonde_error *err)
{
	struct manifest_object object = { 0 };
	struct sonde_module module;
	uint32_t id;
	enum sonde_status status = atf_manifest_object(reader, module_fields, &object, err);

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
	if (status < 0 || sonde_key_map_find(&reader->modules, module.key) != SONDE_NONE ||
	    module_is_made_up(reader, &module))
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
	SYMBOL_EVENT_TYPE,
};

static const struct manifest_field symbol_fields[] = {
	[SYMBOL_FUNCTION_ID] = { .name = "function_id", .type = FIELD_HEX },
	[SYMBOL_MODULE_ID] = { .name = "module_id", .type = FIELD_NUMBER },
	[SYMBOL_INDEX] = { .name = "symbol_index", .type = FIELD_NUMBER },
	[SYMBOL_NAME] = { .name = "name", .type = FIELD_TEXT },
	[SYMBOL_RAW_NAME] = { .name = "raw_name", .type = FIELD_TEXT },
	[SYMBOL_FILE] = { .name = "file", .type = FIELD_TEXT },
	[SYMBOL_LINE] = { .name = "line", .type = FIELD_NUMBER },
	[SYMBOL_EVENT_TYPE] = { .name = "event_type",
				.type = FIELD_OBJECT,
				.each = atf_manifest_read_event_type },
	{ 0 },
};

/* The function_id of a symbol, by itself or made of its two halves; false where there is none. */
static bool symbol_key(const struct manifest_object *object, uint64_t *key)
{
	*key = object_get(object, SYMBOL_FUNCTION_ID,
			  object->value[SYMBOL_MODULE_ID] << 32 |
				  (uint32_t)object->value[SYMBOL_INDEX]);
	return object_has(object, SYMBOL_FUNCTION_ID) ||
	       (object_has(object, SYMBOL_MODULE_ID) && object_has(object, SYMBOL_INDEX));
}

static enum sonde_status add_symbol(struct manifest_reader *reader,
				    const struct manifest_object *object, uint64_t key,
				    uint64_t offset, struct sonde_error *err)
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

	if (function.module == SONDE_NONE && module_key != ATF_ANNOTATIONS_MODULE)
		ATF_FIND(reader->diagnostics, SYMBOL_MODULE, reader->manifest->path, offset,
			 "a listed module\tmodule_id %llu", (unsigned long long)module_key);
	status = sonde_definitions_add_function(reader->definitions, &function, &id, err);
	if (status < 0)
		return status;
	if (!sonde_key_map_add(reader->maps->functions, key, id))
		return sonde_fail_nomem(err);
	reader->manifest->symbol_count += !reader->event_type.present;
	return atf_extras_define(&object->extras, reader->definitions, SONDE_OWNER_FUNCTION, id,
				 err);
}

/* A function, an event type, or (an annotated scope) both. */
static enum sonde_status define_symbol(struct manifest_reader *reader,
				       const struct manifest_object *object, uint64_t key,
				       uint64_t offset, struct sonde_error *err)
{
	const struct manifest_event_type *type = &reader->event_type;
	enum sonde_status status = SONDE_OK;

	if (!type->present || type->is_function)
		status = add_symbol(reader, object, key, offset, err);
	if (status == SONDE_OK && type->present)
		status = atf_manifest_add_event_type(
			reader, (uint32_t)object_get(object, SYMBOL_NAME, 0), key, err);
	return status;
}

static enum sonde_status read_symbol(struct manifest_reader *reader, struct sonde_error *err)
{
	struct manifest_object object = { 0 };
	uint64_t offset = reader->json.offset, key;
	enum sonde_status status;

	reader->event_type = (struct manifest_event_type){ 0 };
	status = atf_manifest_object(reader, symbol_fields, &object, err);
	if (status < 0)
		goto done;
	if (!symbol_key(&object, &key))
		ATF_FIND(reader->diagnostics, MANIFEST_VALUE, reader->manifest->path, offset,
			 "a symbol with a \"function_id\"\ta symbol without");
	else if (sonde_key_map_find(reader->maps->functions, key) != SONDE_NONE ||
		 sonde_key_map_find(reader->maps->event_types, key) != SONDE_NONE)
		ATF_FIND(reader->diagnostics, SYMBOL_DUPLICATE, reader->manifest->path, offset,
			 "one symbol for 0x%016llx\tanother one", (unsigned long long)key);
	else
		status = define_symbol(reader, &object, key, offset, err);
done:
	sonde_vec_release(&object.extras);
	return status;
}

enum { ANCHOR_CLOCK, ANCHOR_REALTIME };

static const struct manifest_field anchor_fields[] = {
	[ANCHOR_CLOCK] = { .name = "clock_ns", .type = FIELD_NUMBER },
	[ANCHOR_REALTIME] = { .name = "realtime_ns", .type = FIELD_NUMBER },
	{ 0 },
};

static enum sonde_status read_anchor(struct manifest_reader *reader, struct sonde_error *err)
{
	struct manifest_object object = { 0 };
	enum sonde_status status = atf_manifest_object(reader, anchor_fields, &object, err);

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
	TOP_CLOCK_NAME,
	TOP_VERSION,
	TOP_PID,
	TOP_NAME,
	TOP_RESOURCES,
};

static const struct manifest_field top_fields[] = {
	[TOP_THREADS] = { .name = "threads",
			  .type = FIELD_OBJECTS,
			  .of_every_part = true,
			  .each = read_thread },
	[TOP_MODULES] = { .name = "modules", .type = FIELD_OBJECTS, .each = read_module },
	[TOP_SYMBOLS] = { .name = "symbols",
			  .type = FIELD_OBJECTS,
			  .needs_modules = true,
			  .each = read_symbol },
	[TOP_ANCHORS] = { .name = "clock_anchors", .type = FIELD_OBJECTS, .each = read_anchor },
	[TOP_TIME_START] = { .name = "time_start_ns", .type = FIELD_NUMBER },
	[TOP_TIME_END] = { .name = "time_end_ns", .type = FIELD_NUMBER },
	[TOP_CLOCK] = { .name = "clock_type", .type = FIELD_NUMBER },
	[TOP_CLOCK_NAME] = { .name = "clock_name", .type = FIELD_TEXT },
	[TOP_VERSION] = { .name = "format_version", .type = FIELD_TEXT },
	[TOP_PID] = { .name = "pid", .type = FIELD_NUMBER },
	[TOP_NAME] = { .name = "process_name", .type = FIELD_TEXT },
	[TOP_RESOURCES] = { .name = "resources",
			    .type = FIELD_OBJECTS,
			    .each = atf_manifest_read_resource },
	{ 0 },
};

/* What the scalars at the top say, into the manifest. */
static void take_top(struct manifest_reader *reader, struct manifest_object *object)
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
	manifest->clock_name = (uint32_t)object_get(object, TOP_CLOCK_NAME, 0);
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
static enum sonde_status read_document(struct manifest_reader *reader,
				       struct manifest_object *object, struct sonde_error *err)
{
	struct sonde_json_reader *json = &reader->json;
	enum sonde_status status = sonde_json_next(json, err);

	if (status < 0)
		return status;
	if (json->token != SONDE_JSON_OBJECT_BEGIN)
		return sonde_fail(err, SONDE_CORRUPT, json->offset,
				  "expected an object, found another value");
	status = atf_manifest_object(reader, top_fields, object, err);
	if (status < 0)
		return status;
	return sonde_json_next(json, err);
}

/* The second round, for symbols that stand before the modules. */
static enum sonde_status read_late_symbols(struct manifest_reader *reader,
					   const struct sonde_mapped_file *file,
					   struct sonde_error *err)
{
	static const struct manifest_field symbols_only[] = {
		{ .name = "symbols", .type = FIELD_OBJECTS, .each = read_symbol },
		{ 0 },
	};
	struct manifest_object object = { 0 };
	enum sonde_status status;

	sonde_json_reader_release(&reader->json);
	sonde_json_reader_init(&reader->json, (const char *)file->data, file->size, NULL, NULL);
	status = sonde_json_next(&reader->json, err);
	if (status == SONDE_OK)
		status = atf_manifest_object(reader, symbols_only, &object, err);
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
	struct manifest_object top = { 0 };
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
				    const struct atf_symbol_maps *maps,
				    struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct manifest_reader reader = {
		.manifest = manifest,
		.definitions = definitions,
		.diagnostics = diagnostics,
		.maps = maps,
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
	sonde_vec_release(&manifest->resources);
	sonde_vec_release(&manifest->extras);
	free(manifest->path);
	*manifest = (struct atf_manifest){ 0 };
}

static bool is_field(const struct manifest_field *table, const char *name)
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
