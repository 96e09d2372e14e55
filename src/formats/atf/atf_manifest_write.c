/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes manifest.json, version 2.1: the keys every reader knows, ours, and the attributes. The
 * same definitions give the same bytes. Reading is in atf_manifest.c.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/sort.h"
#include "formats/atf/atf_manifest.h"
#include "formats/atf/atf_write.h"

struct manifest_writer {
	struct atf_writer *writer;
	const struct sonde_definitions *definitions;
	struct sonde_json_writer json;
	struct sonde_sort_item *attributes; /* key: owner and its id; number: attribute id */
	size_t attribute_count;
};

static uint64_t owner_key(enum sonde_owner owner, uint32_t owner_id)
{
	return (uint64_t)owner << 32 | owner_id;
}

/* Sorts the attributes by what they belong to, so that each owner finds its own at once. */
static bool index_attributes(struct manifest_writer *manifest)
{
	uint32_t count = sonde_definitions_attribute_count(manifest->definitions);

	manifest->attributes = calloc(count + 1, sizeof(*manifest->attributes));
	if (!manifest->attributes)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_attribute *attribute =
			sonde_definitions_attribute(manifest->definitions, i);

		manifest->attributes[i] = (struct sonde_sort_item){
			.key = owner_key(attribute->owner, attribute->owner_id),
			.number = i,
		};
	}
	manifest->attribute_count = count;
	return sonde_sort(manifest->attributes, count);
}

/* The attributes of one owner as members of the object that is open. */
static void write_attributes(struct manifest_writer *manifest, enum sonde_owner owner,
			     uint32_t owner_id)
{
	uint64_t key = owner_key(owner, owner_id);
	size_t low = 0, high = manifest->attribute_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (manifest->attributes[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < manifest->attribute_count && manifest->attributes[low].key == key; low++) {
		const struct sonde_attribute *attribute = sonde_definitions_attribute(
			manifest->definitions, (uint32_t)manifest->attributes[low].number);
		const char *name = sonde_definitions_string(manifest->definitions, attribute->name);

		if (atf_manifest_has_key(owner, name))
			continue; /* counted as lost when the writing began */
		sonde_json_key(&manifest->json, name);
		sonde_json_raw(&manifest->json,
			       sonde_definitions_string(manifest->definitions, attribute->value));
	}
}

/* A member whose value is a string of the definitions; nothing for "". */
static void write_text(struct manifest_writer *manifest, const char *key, uint32_t text)
{
	if (text)
		sonde_json_member_string(&manifest->json, key,
					 sonde_definitions_string(manifest->definitions, text));
}

static void write_count(struct manifest_writer *manifest, const char *key, uint64_t count)
{
	if (count)
		sonde_json_member_u64(&manifest->json, key, count);
}

static void write_threads(struct manifest_writer *manifest, uint32_t process, uint32_t part)
{
	struct sonde_json_writer *json = &manifest->json;

	sonde_json_key(json, "threads");
	sonde_json_array_begin(json);
	for (uint32_t i = 0; i < manifest->writer->track_count; i++) {
		const struct atf_track_writer *track = &manifest->writer->tracks[i];

		if (track->process != process || part >= track->parts.count)
			continue;
		sonde_json_object_begin_inline(json);
		sonde_json_member_u64(json, "id", track->slot);
		sonde_json_member_bool(json, "has_detail", track->parts.items[part].has_detail);
		write_text(manifest, "name", track->track->name);
		if (track->track->os_id != UINT64_MAX)
			sonde_json_member_u64(json, "os_id", track->track->os_id);
		if (part == 0) {
			write_count(manifest, "dropped_events", track->track->dropped_events);
			write_count(manifest, "synthetic_head", track->synthetic_head);
			write_count(manifest, "synthetic_tail", track->synthetic_tail);
		}
		write_attributes(manifest, SONDE_OWNER_TRACK, i);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
}

/* The time range: what the recorder said, widened where events lie outside. */
static void write_times(struct manifest_writer *manifest, uint32_t process)
{
	const struct sonde_process *definition =
		sonde_definitions_process(manifest->definitions, process);
	bool known = definition->start_ns || definition->end_ns;
	uint64_t start = known ? definition->start_ns : UINT64_MAX, end = definition->end_ns;

	for (size_t i = 0; i < manifest->writer->track_count; i++) {
		const struct atf_track_writer *track = &manifest->writer->tracks[i];

		if (track->process != process || !track->event_count)
			continue;
		if (track->time_min_ns < start)
			start = track->time_min_ns;
		if (track->time_max_ns > end)
			end = track->time_max_ns;
	}
	sonde_json_member_u64(&manifest->json, "time_start_ns", start == UINT64_MAX ? 0 : start);
	sonde_json_member_u64(&manifest->json, "time_end_ns", end);
}

static void write_clock(struct manifest_writer *manifest, const struct sonde_process *process)
{
	uint32_t count = sonde_definitions_anchor_count(manifest->definitions);
	struct sonde_json_writer *json = &manifest->json;
	bool open = false;

	sonde_json_member_u64(json, "clock_type", atf_clock_type(manifest->definitions, process));
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

static void write_modules(struct manifest_writer *manifest, uint32_t process)
{
	uint32_t count = sonde_definitions_module_count(manifest->definitions);
	struct sonde_json_writer *json = &manifest->json;

	sonde_json_key(json, "modules");
	sonde_json_array_begin(json);
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_module *module =
			sonde_definitions_module(manifest->definitions, i);

		if (module->process != process)
			continue;
		sonde_json_object_begin(json);
		sonde_json_member_u64(json, "module_id",
				      atf_module_key(manifest->definitions, module));
		sonde_json_member_string(
			json, "path",
			sonde_definitions_string(manifest->definitions, module->path));
		sonde_json_key(json, "base_address");
		sonde_json_hex(json, module->base_address, 1);
		sonde_json_member_u64(json, "size", module->size);
		sonde_json_member_string(
			json, "uuid",
			sonde_definitions_string(manifest->definitions, module->uuid));
		write_attributes(manifest, SONDE_OWNER_MODULE, i);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
}

/* One symbol for each function that has a name; the others are known by their number alone. */
static enum sonde_status write_symbols(struct manifest_writer *manifest, uint32_t process,
				       struct sonde_error *err)
{
	uint32_t count = sonde_definitions_function_count(manifest->definitions);
	struct sonde_json_writer *json = &manifest->json;

	sonde_json_key(json, "symbols");
	sonde_json_array_begin(json);
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_function *function =
			sonde_definitions_function(manifest->definitions, i);
		enum sonde_status status;
		uint64_t key;

		if (function->process != process || !function->name)
			continue;
		status = atf_writer_function_key(manifest->writer, i, &key, err);
		if (status < 0)
			return status;
		sonde_json_object_begin(json);
		sonde_json_key(json, "function_id");
		sonde_json_hex(json, key, 16);
		sonde_json_member_u64(json, "module_id", key >> 32);
		sonde_json_member_u64(json, "symbol_index", (uint32_t)key);
		write_text(manifest, "name", function->name);
		write_text(manifest, "raw_name", function->raw_name);
		write_text(manifest, "file", function->file);
		write_count(manifest, "line", function->line);
		write_attributes(manifest, SONDE_OWNER_FUNCTION, i);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
	return SONDE_OK;
}

static enum sonde_status write_document(struct manifest_writer *manifest, uint32_t process,
					uint32_t part, struct sonde_error *err)
{
	const struct sonde_process *definition =
		sonde_definitions_process(manifest->definitions, process);
	struct sonde_json_writer *json = &manifest->json;
	enum sonde_status status;

	sonde_json_object_begin(json);
	write_threads(manifest, process, part);
	write_times(manifest, process);
	write_clock(manifest, definition);
	if (definition->os_id != SONDE_NONE)
		sonde_json_member_u64(json, "pid", definition->os_id);
	write_text(manifest, "process_name", definition->name);
	write_attributes(manifest, SONDE_OWNER_RECORDING, 0);
	write_attributes(manifest, SONDE_OWNER_PROCESS, process);
	write_modules(manifest, process);
	status = write_symbols(manifest, process, err);
	if (status < 0)
		return status;
	sonde_json_member_string(json, "format_version", ATF_MANIFEST_VERSION);
	sonde_json_object_end(json);
	return SONDE_OK;
}

static enum sonde_status save(struct sonde_buffer *text, const char *folder,
			      struct sonde_error *err)
{
	struct sonde_output output = { .fd = -1 };
	char *path = sonde_path_join(folder, ATF_MANIFEST_NAME);
	enum sonde_status status;

	sonde_buffer_put_char(text, '\n');
	if (!path || text->failed) {
		free(path);
		return sonde_fail_nomem(err);
	}
	status = sonde_output_open(&output, path, err);
	if (status == SONDE_OK)
		status = sonde_output_write(&output, text->data, text->size, err);
	if (status == SONDE_OK)
		status = sonde_output_close(&output, err);
	sonde_output_release(&output);
	free(path);
	return status;
}

enum sonde_status atf_manifest_write(struct atf_writer *writer, uint32_t process, uint32_t part,
				     const char *folder, struct sonde_error *err)
{
	struct manifest_writer manifest = {
		.writer = writer,
		.definitions = writer->definitions,
	};
	struct sonde_buffer text = { 0 };
	enum sonde_status status;

	sonde_json_writer_init(&manifest.json, &text, true);
	if (index_attributes(&manifest))
		status = write_document(&manifest, process, part, err);
	else
		status = sonde_fail_nomem(err);
	if (status == SONDE_OK)
		status = save(&text, folder, err);
	sonde_buffer_release(&text);
	free(manifest.attributes);
	return status;
}
