/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes manifest.json, version 2.1: the keys every reader knows, ours, and the attributes. The
 * same definitions give the same bytes. Reading is in atf_manifest.c.
 */
#include "formats/atf/atf_manifest_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/map.h"
#include "formats/atf/atf_arguments.h"
#include "formats/atf/atf_manifest.h"
#include "formats/atf/atf_paths.h"

#define UNFINISHED_NAME ATF_MANIFEST_NAME ".unfinished"

/* One manifest at work. */
struct manifest {
	struct atf_manifest_writer *writer;
	const struct sonde_definitions *definitions;
	struct sonde_json_writer json;
	/* of the process at hand */
	struct sonde_key_map types; /* function_id -> event type */
	bool has_annotations;	    /* symbols of no module */
};

uint32_t atf_module_key(const struct sonde_definitions *definitions,
			const struct sonde_module *module)
{
	if (module->has_key)
		return (uint32_t)module->key;
	return atf_path_hash(sonde_definitions_string(definitions, module->path));
}

uint8_t atf_clock_type(const struct sonde_definitions *definitions,
		       const struct sonde_process *process)
{
	const struct sonde_clock *clock = sonde_definitions_clock(definitions, process->clock);

	return clock && clock->kind <= SONDE_CLOCK_BOOTTIME ? (uint8_t)clock->kind : 0;
}

static uint64_t owner_key(enum sonde_owner owner, uint32_t owner_id)
{
	return (uint64_t)owner << 32 | owner_id;
}

static uint64_t attribute_owner(struct atf_manifest_writer *writer, uint32_t id)
{
	const struct sonde_attribute *attribute =
		sonde_definitions_attribute(writer->definitions, id);

	return owner_key(attribute->owner, attribute->owner_id);
}

static uint64_t track_owner(struct atf_manifest_writer *writer, uint32_t id)
{
	return writer->track(writer->context, id)->process;
}

static uint64_t module_owner(struct atf_manifest_writer *writer, uint32_t id)
{
	return sonde_definitions_module(writer->definitions, id)->process;
}

static uint64_t function_owner(struct atf_manifest_writer *writer, uint32_t id)
{
	return sonde_definitions_function(writer->definitions, id)->process;
}

/* Sorts ids by what they belong to, so that each owner finds its own at once. */
static bool owned_init(struct atf_owned *owned, struct atf_manifest_writer *writer, uint32_t count,
		       uint64_t (*owner)(struct atf_manifest_writer *writer, uint32_t id))
{
	owned->items = calloc((size_t)count + 1, sizeof(*owned->items));
	if (!owned->items)
		return false;
	for (uint32_t i = 0; i < count; i++)
		owned->items[i] = (struct sonde_sort_item){ .key = owner(writer, i), .number = i };
	owned->count = count;
	return sonde_sort(owned->items, count);
}

/* Where the items of an owner begin; those of the next begin where they end. */
static size_t owned_find(const struct atf_owned *owned, uint64_t owner)
{
	size_t low = 0, high = owned->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (owned->items[middle].key < owner)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The items of one owner; borrowed. */
static struct atf_owned owned_by(const struct atf_owned *owned, uint64_t owner)
{
	size_t first = owned_find(owned, owner);

	return (struct atf_owned){
		.items = owned->items + first,
		.count = owned_find(owned, owner + 1) - first,
	};
}

enum sonde_status atf_manifest_writer_init(struct atf_manifest_writer *writer,
					   struct sonde_error *err)
{
	const struct sonde_definitions *definitions = writer->definitions;

	if (owned_init(&writer->attributes, writer, sonde_definitions_attribute_count(definitions),
		       attribute_owner) &&
	    owned_init(&writer->tracks, writer, writer->track_count, track_owner) &&
	    owned_init(&writer->modules, writer, sonde_definitions_module_count(definitions),
		       module_owner) &&
	    owned_init(&writer->functions, writer, sonde_definitions_function_count(definitions),
		       function_owner))
		return SONDE_OK;
	return sonde_fail_nomem(err);
}

void atf_manifest_writer_release(struct atf_manifest_writer *writer)
{
	free(writer->attributes.items);
	free(writer->tracks.items);
	free(writer->modules.items);
	free(writer->functions.items);
}

/* The attributes of one owner as members of the object that is open. */
static void write_attributes(struct manifest *manifest, enum sonde_owner owner, uint32_t owner_id)
{
	struct atf_owned attributes =
		owned_by(&manifest->writer->attributes, owner_key(owner, owner_id));

	for (size_t i = 0; i < attributes.count; i++) {
		uint32_t id = (uint32_t)attributes.items[i].number;
		const struct sonde_attribute *attribute =
			sonde_definitions_attribute(manifest->definitions, id);
		const char *name = sonde_definitions_string(manifest->definitions, attribute->name);

		if (atf_manifest_has_key(owner, name))
			continue; /* counted as lost when the writing began */
		sonde_json_key(&manifest->json, name);
		sonde_json_raw(&manifest->json,
			       sonde_definitions_string(manifest->definitions, attribute->value));
	}
}

/* A member whose value is a string of the definitions; nothing for "". */
static void write_text(struct manifest *manifest, const char *key, uint32_t text)
{
	if (text)
		sonde_json_member_string(&manifest->json, key,
					 sonde_definitions_string(manifest->definitions, text));
}

static void write_count(struct manifest *manifest, const char *key, uint64_t count)
{
	if (count)
		sonde_json_member_u64(&manifest->json, key, count);
}

static void write_thread(struct manifest *manifest, uint32_t id, uint32_t part,
			 const struct atf_written_track *written)
{
	const struct sonde_track *track = sonde_definitions_track(manifest->definitions, id);
	struct sonde_json_writer *json = &manifest->json;

	sonde_json_object_begin_inline(json);
	sonde_json_member_u64(json, "id", written->slot);
	sonde_json_member_bool(json, "has_detail", written->parts.items[part].has_detail);
	write_text(manifest, "name", track->name);
	if (track->name && track->name_made_up)
		sonde_json_member_bool(json, "name_made_up", true);
	if (track->kind != SONDE_TRACK_THREAD && track->kind < ATF_TRACK_KIND_COUNT)
		sonde_json_member_string(json, "kind", atf_track_kinds[track->kind]);
	if (track->os_id != UINT64_MAX)
		sonde_json_member_u64(json, "os_id", track->os_id);
	if (part == 0) {
		write_count(manifest, "dropped_events", track->dropped_events);
		write_count(manifest, "synthetic_head", written->synthetic_head);
		write_count(manifest, "synthetic_tail", written->synthetic_tail);
	}
	write_attributes(manifest, SONDE_OWNER_TRACK, id);
	sonde_json_object_end(json);
}

static void write_threads(struct manifest *manifest, uint32_t process, uint32_t part)
{
	struct atf_manifest_writer *writer = manifest->writer;
	struct atf_owned tracks = owned_by(&writer->tracks, process);

	sonde_json_key(&manifest->json, "threads");
	sonde_json_array_begin(&manifest->json);
	for (size_t i = 0; i < tracks.count; i++) {
		uint32_t id = (uint32_t)tracks.items[i].number;
		const struct atf_written_track *track = writer->track(writer->context, id);

		if (part < track->parts.count)
			write_thread(manifest, id, part, track);
	}
	sonde_json_array_end(&manifest->json);
}

/* The time range: what the recorder said, widened where events lie outside. */
static void write_times(struct manifest *manifest, uint32_t process)
{
	const struct sonde_process *definition =
		sonde_definitions_process(manifest->definitions, process);
	struct atf_manifest_writer *writer = manifest->writer;
	bool known = definition->start_ns || definition->end_ns;
	uint64_t start = known ? definition->start_ns : UINT64_MAX, end = definition->end_ns;
	struct atf_owned tracks = owned_by(&writer->tracks, process);

	for (size_t i = 0; i < tracks.count; i++) {
		uint32_t id = (uint32_t)tracks.items[i].number;
		const struct atf_written_track *track = writer->track(writer->context, id);

		if (!track->event_count)
			continue;
		if (track->time_min_ns < start)
			start = track->time_min_ns;
		if (track->time_max_ns > end)
			end = track->time_max_ns;
	}
	sonde_json_member_u64(&manifest->json, "time_start_ns", start == UINT64_MAX ? 0 : start);
	sonde_json_member_u64(&manifest->json, "time_end_ns", end);
}

static void write_clock(struct manifest *manifest, const struct sonde_process *process)
{
	const struct sonde_clock *clock =
		sonde_definitions_clock(manifest->definitions, process->clock);
	uint32_t count = sonde_definitions_anchor_count(manifest->definitions);
	struct sonde_json_writer *json = &manifest->json;
	bool open = false;

	sonde_json_member_u64(json, "clock_type", atf_clock_type(manifest->definitions, process));
	if (clock && clock->kind > SONDE_CLOCK_BOOTTIME)
		sonde_json_member_string(json, "clock_name", sonde_clock_kind_name(clock->kind));
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_anchor *anchor =
			sonde_definitions_anchor(manifest->definitions, i);

		if (anchor->clock != process->clock)
			continue;
		if (!open) {
			sonde_json_key(json, "clock_anchors");
			sonde_json_array_begin(json);
			open = true;
		}
		sonde_json_object_begin_inline(json);
		sonde_json_member_u64(json, "clock_ns", anchor->clock_ns);
		sonde_json_member_u64(json, "realtime_ns", anchor->realtime_ns);
		sonde_json_object_end(json);
	}
	if (open)
		sonde_json_array_end(json);
}

/* Symbols must have a module: this one stands for those that are of none. */
static void write_annotations_module(struct manifest *manifest)
{
	struct sonde_json_writer *json = &manifest->json;

	sonde_json_object_begin(json);
	sonde_json_member_u64(json, "module_id", ATF_ANNOTATIONS_MODULE);
	sonde_json_member_string(json, "path", ATF_ANNOTATIONS_PATH);
	sonde_json_member_string(json, "base_address", "0x0");
	sonde_json_member_u64(json, "size", 0);
	sonde_json_member_string(json, "uuid", "");
	sonde_json_object_end(json);
}

static void write_modules(struct manifest *manifest, uint32_t process)
{
	struct sonde_json_writer *json = &manifest->json;
	struct atf_owned modules = owned_by(&manifest->writer->modules, process);
	bool needed = manifest->has_annotations;

	sonde_json_key(json, "modules");
	sonde_json_array_begin(json);
	for (size_t i = 0; i < modules.count; i++) {
		uint32_t id = (uint32_t)modules.items[i].number;
		const struct sonde_module *module =
			sonde_definitions_module(manifest->definitions, id);
		uint32_t key = atf_module_key(manifest->definitions, module);

		needed &= key != ATF_ANNOTATIONS_MODULE;
		sonde_json_object_begin(json);
		sonde_json_member_u64(json, "module_id", key);
		sonde_json_member_string(
			json, "path",
			sonde_definitions_string(manifest->definitions, module->path));
		sonde_json_key(json, "base_address");
		sonde_json_hex(json, module->base_address, 1);
		sonde_json_member_u64(json, "size", module->size);
		sonde_json_member_string(
			json, "uuid",
			sonde_definitions_string(manifest->definitions, module->uuid));
		write_attributes(manifest, SONDE_OWNER_MODULE, id);
		sonde_json_object_end(json);
	}
	if (needed)
		write_annotations_module(manifest);
	sonde_json_array_end(json);
}

static enum sonde_status function_key(struct atf_manifest_writer *writer, uint32_t id,
				      const struct sonde_function *function, uint64_t *key,
				      struct sonde_error *err)
{
	if (writer->function_key)
		return writer->function_key(writer->context, id, key, err);
	if (!function->has_key)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "function %u has no function_id", id);
	*key = function->key;
	return SONDE_OK;
}

/* The event types that the manifest of a process lists, by their function_ids. */
static enum sonde_status find_types(struct manifest *manifest, uint32_t process,
				    struct sonde_error *err)
{
	struct atf_manifest_writer *writer = manifest->writer;
	uint32_t count = sonde_definitions_event_type_count(manifest->definitions);

	for (uint32_t id = 0; id < count; id++) {
		uint64_t key = atf_event_type_key(id);
		enum sonde_status status = SONDE_OK;

		if (writer->event_type_key)
			status = writer->event_type_key(writer->context, process, id, &key, err);
		if (status < 0)
			return status;
		if (status == SONDE_OK && sonde_key_map_find(&manifest->types, key) == UINT32_MAX &&
		    !sonde_key_map_add(&manifest->types, key, id))
			return sonde_fail_nomem(err);
		manifest->has_annotations |= status == SONDE_OK &&
					     key >> 32 == ATF_ANNOTATIONS_MODULE;
	}
	return SONDE_OK;
}

/* Whether a function with a name is of no module: it has the function_id of an annotation. */
static enum sonde_status find_scopes(struct manifest *manifest, uint32_t process,
				     struct sonde_error *err)
{
	struct atf_owned functions = owned_by(&manifest->writer->functions, process);
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < functions.count && !manifest->has_annotations && !status; i++) {
		uint32_t id = (uint32_t)functions.items[i].number;
		const struct sonde_function *function =
			sonde_definitions_function(manifest->definitions, id);
		uint64_t key = 0;

		if (function->name)
			status = function_key(manifest->writer, id, function, &key, err);
		manifest->has_annotations = key >> 32 == ATF_ANNOTATIONS_MODULE;
	}
	return status;
}

static void begin_symbol(struct manifest *manifest, uint64_t key, uint32_t name)
{
	struct sonde_json_writer *json = &manifest->json;

	sonde_json_object_begin(json);
	sonde_json_key(json, "function_id");
	sonde_json_hex(json, key, 16);
	sonde_json_member_u64(json, "module_id", key >> 32);
	sonde_json_member_u64(json, "symbol_index", (uint32_t)key);
	write_text(manifest, "name", name);
}

/* `is_function`: the symbol is that of a function too, as scopes usually are. */
static void write_event_type(struct manifest *manifest, const struct sonde_event_type *type,
			     bool is_function)
{
	struct sonde_json_writer *json = &manifest->json;

	sonde_json_key(json, "event_type");
	sonde_json_object_begin_inline(json);
	sonde_json_member_string(json, "arguments",
				 sonde_definitions_string(manifest->definitions, type->arguments));
	sonde_json_member_u64(json, "flags", type->flags);
	sonde_json_member_bool(json, "scope", type->is_scope);
	if (is_function != type->is_scope)
		sonde_json_member_bool(json, "function", is_function);
	sonde_json_object_end(json);
}

/* One symbol for each function that has a name; the others are known by their number alone. */
static enum sonde_status write_functions(struct manifest *manifest, uint32_t process,
					 struct sonde_key_map *done, struct sonde_error *err)
{
	struct atf_owned functions = owned_by(&manifest->writer->functions, process);

	for (size_t i = 0; i < functions.count; i++) {
		uint32_t id = (uint32_t)functions.items[i].number, type;
		const struct sonde_function *function =
			sonde_definitions_function(manifest->definitions, id);
		enum sonde_status status;
		uint64_t key = 0;

		if (!function->name)
			continue;
		status = function_key(manifest->writer, id, function, &key, err);
		if (status < 0)
			return status;
		begin_symbol(manifest, key, function->name);
		write_text(manifest, "raw_name", function->raw_name);
		write_text(manifest, "file", function->file);
		write_count(manifest, "line", function->line);
		type = sonde_key_map_find(&manifest->types, key);
		if (type != UINT32_MAX && sonde_key_map_find(done, type) == UINT32_MAX) {
			write_event_type(manifest,
					 sonde_definitions_event_type(manifest->definitions, type),
					 true);
			if (!sonde_key_map_add(done, type, 0))
				return sonde_fail_nomem(err);
		}
		write_attributes(manifest, SONDE_OWNER_FUNCTION, id);
		sonde_json_object_end(&manifest->json);
	}
	return SONDE_OK;
}

/* The event types that are not those of functions. */
static enum sonde_status write_types(struct manifest *manifest, uint32_t process,
				     const struct sonde_key_map *done, struct sonde_error *err)
{
	struct atf_manifest_writer *writer = manifest->writer;
	uint32_t count = sonde_definitions_event_type_count(manifest->definitions);

	for (uint32_t id = 0; id < count; id++) {
		const struct sonde_event_type *type =
			sonde_definitions_event_type(manifest->definitions, id);
		uint64_t key = atf_event_type_key(id);
		enum sonde_status status = SONDE_OK;

		if (writer->event_type_key)
			status = writer->event_type_key(writer->context, process, id, &key, err);
		if (status < 0)
			return status;
		if (status == SONDE_END || sonde_key_map_find(&manifest->types, key) != id ||
		    sonde_key_map_find(done, id) != UINT32_MAX)
			continue;
		begin_symbol(manifest, key, type->name);
		write_event_type(manifest, type, false);
		sonde_json_object_end(&manifest->json);
	}
	return SONDE_OK;
}

static enum sonde_status write_symbols(struct manifest *manifest, uint32_t process,
				       struct sonde_error *err)
{
	struct sonde_key_map done = { NULL };
	enum sonde_status status;

	sonde_json_key(&manifest->json, "symbols");
	sonde_json_array_begin(&manifest->json);
	status = write_functions(manifest, process, &done, err);
	if (status == SONDE_OK)
		status = write_types(manifest, process, &done, err);
	sonde_json_array_end(&manifest->json);
	sonde_key_map_release(&done);
	return status;
}

static void write_resources(struct manifest *manifest, uint32_t process)
{
	const struct atf_written_resources *resources = manifest->writer->resources;
	struct sonde_json_writer *json = &manifest->json;
	bool open = false;

	for (size_t i = 0; resources && i < resources->count; i++) {
		const struct atf_written_resource *resource = &resources->items[i];
		char file[32];

		if (resource->process != process)
			continue;
		if (!open) {
			sonde_json_key(json, "resources");
			sonde_json_array_begin(json);
			open = true;
		}
		snprintf(file, sizeof(file), ATF_RESOURCES_NAME "/%u", resource->number);
		sonde_json_object_begin_inline(json);
		sonde_json_member_string(json, "file", file);
		sonde_json_member_string(json, "name", resource->name);
		sonde_json_member_bool(json, "text", resource->is_text);
		sonde_json_object_end(json);
	}
	if (open)
		sonde_json_array_end(json);
}

static enum sonde_status write_document(struct manifest *manifest, uint32_t process, uint32_t part,
					struct sonde_error *err)
{
	const struct sonde_process *definition =
		sonde_definitions_process(manifest->definitions, process);
	struct sonde_json_writer *json = &manifest->json;
	enum sonde_status status = find_types(manifest, process, err);

	if (status == SONDE_OK)
		status = find_scopes(manifest, process, err);
	if (status < 0)
		return status;
	sonde_json_object_begin(json);
	write_threads(manifest, process, part);
	write_times(manifest, process);
	write_clock(manifest, definition);
	if (definition->os_id != SONDE_NONE)
		sonde_json_member_u64(json, "pid", definition->os_id);
	write_text(manifest, "process_name", definition->name);
	write_attributes(manifest, SONDE_OWNER_RECORDING, 0);
	write_attributes(manifest, SONDE_OWNER_PROCESS, process);
	if (part == 0)
		write_resources(manifest, process);
	write_modules(manifest, process);
	status = write_symbols(manifest, process, err);
	if (status < 0)
		return status;
	sonde_json_member_string(json, "format_version", ATF_MANIFEST_VERSION);
	sonde_json_object_end(json);
	return SONDE_OK;
}

/* Under another name until it is complete: there may be one already, which is better than half. */
static enum sonde_status save(struct sonde_buffer *text, const char *folder,
			      struct sonde_error *err)
{
	struct sonde_output output = { .fd = -1 };
	char *path = sonde_path_join(folder, ATF_MANIFEST_NAME);
	char *unfinished = sonde_path_join(folder, UNFINISHED_NAME);
	enum sonde_status status;
	int number;

	sonde_buffer_put_char(text, '\n');
	if (!path || !unfinished || text->failed) {
		free(path);
		free(unfinished);
		return sonde_fail_nomem(err);
	}
	status = sonde_output_open(&output, unfinished, err);
	if (status == SONDE_OK)
		status = sonde_output_write(&output, text->data, text->size, err);
	if (status == SONDE_OK)
		status = sonde_output_close(&output, err);
	if (status == SONDE_OK && rename(unfinished, path))
		status = sonde_fail_errno(err, path, "cannot be written");
	number = errno;
	sonde_output_release(&output);
	if (status < 0)
		unlink(unfinished);
	free(path);
	free(unfinished);
	errno = number;
	return status;
}

/* Writes manifest.json into the folder of part `part` (from 0) of a process. */
static enum sonde_status write_manifest(struct atf_manifest_writer *writer, uint32_t process,
					uint32_t part, const char *process_folder,
					struct sonde_error *err)
{
	struct manifest manifest = { .writer = writer, .definitions = writer->definitions };
	char *folder = atf_part_folder(process_folder, part);
	struct sonde_buffer text = { 0 };
	enum sonde_status status;
	int number;

	if (!folder)
		return sonde_fail_nomem(err);
	sonde_json_writer_init(&manifest.json, &text, true);
	status = write_document(&manifest, process, part, err);
	if (status == SONDE_OK)
		status = save(&text, folder, err);
	number = errno;
	sonde_key_map_release(&manifest.types);
	sonde_buffer_release(&text);
	free(folder);
	errno = number;
	return status;
}

enum sonde_status atf_manifests_write(struct atf_manifest_writer *writer, uint32_t process,
				      const char *folder, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	size_t parts = 1;
	struct atf_owned tracks = owned_by(&writer->tracks, process);

	for (size_t i = 0; i < tracks.count; i++) {
		uint32_t id = (uint32_t)tracks.items[i].number;
		const struct atf_written_track *track = writer->track(writer->context, id);

		if (track->parts.count > parts)
			parts = track->parts.count;
	}
	for (uint32_t part = 0; part < parts && status == SONDE_OK; part++)
		status = write_manifest(writer, process, part, folder, err);
	return status;
}
