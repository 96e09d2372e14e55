/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last chunk of a file that is written: all definitions of the recording as JSON, since zones
 * and types say little of them, and the index. Other readers see two resources.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "formats/cff/cff_put.h"
#include "formats/cff/cff_write.h"

#define INDEX_MAGIC "sondeIX1"
#define INDEX_HEAD 32
#define INDEX_TRACK 32
#define INDEX_CHUNK 48
#define INDEX_CALL 8

struct document {
	struct cff_writer *writer;
	const struct sonde_definitions *definitions;
	struct sonde_json_writer json;
	struct sonde_sort_item *attributes; /* by owner */
	size_t attribute_count;
};

static uint64_t owner_key(enum sonde_owner owner, uint32_t id)
{
	return (uint64_t)owner << 32 | id;
}

static bool sort_attributes(struct document *document)
{
	size_t count = sonde_definitions_attribute_count(document->definitions);

	document->attributes = calloc(count + 1, sizeof(*document->attributes));
	if (!document->attributes)
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct sonde_attribute *attribute =
			sonde_definitions_attribute(document->definitions, (uint32_t)i);

		document->attributes[i] = (struct sonde_sort_item){
			.key = owner_key(attribute->owner, attribute->owner_id),
			.number = i,
		};
	}
	document->attribute_count = count;
	return sonde_sort(document->attributes, count);
}

/* Where the attributes of an owner begin. */
static size_t find_attributes(const struct document *document, uint64_t owner)
{
	size_t low = 0, high = document->attribute_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (document->attributes[middle].key < owner)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has_attributes(const struct document *document, enum sonde_owner owner, uint32_t id)
{
	size_t first = find_attributes(document, owner_key(owner, id));

	return first < document->attribute_count &&
	       document->attributes[first].key == owner_key(owner, id);
}

static void put_string(struct document *document, const char *text)
{
	document->writer->losses[CFF_LOSS_BAD_TEXT] += !sonde_utf8_valid(text, strlen(text));
	sonde_json_string(&document->json, text);
}

static void put_text(struct document *document, uint32_t id)
{
	put_string(document, sonde_definitions_string(document->definitions, id));
}

/* The attributes of an owner as an object. */
static void put_attributes(struct document *document, enum sonde_owner owner, uint32_t id)
{
	uint64_t key = owner_key(owner, id);

	sonde_json_object_begin(&document->json);
	for (size_t i = find_attributes(document, key);
	     i < document->attribute_count && document->attributes[i].key == key; i++) {
		const struct sonde_attribute *attribute = sonde_definitions_attribute(
			document->definitions, (uint32_t)document->attributes[i].number);

		sonde_json_key(&document->json,
			       sonde_definitions_string(document->definitions, attribute->name));
		sonde_json_raw(&document->json,
			       sonde_definitions_string(document->definitions, attribute->value));
	}
	sonde_json_object_end(&document->json);
}

static void put_attribute_member(struct document *document, enum sonde_owner owner, uint32_t id)
{
	if (!has_attributes(document, owner, id))
		return;
	sonde_json_key(&document->json, "attributes");
	put_attributes(document, owner, id);
}

/* A member that is left out where it says nothing. */
static void put_number(struct document *document, const char *key, uint64_t value, uint64_t nothing)
{
	if (value != nothing)
		sonde_json_member_u64(&document->json, key, value);
}

static void put_clocks(struct document *document, uint32_t id)
{
	const struct sonde_clock *clock = sonde_definitions_clock(document->definitions, id);

	sonde_json_array_begin(&document->json);
	put_text(document, clock->name);
	sonde_json_number_u64(&document->json, clock->kind);
	sonde_json_array_end(&document->json);
}

static void put_anchor(struct document *document, uint32_t id)
{
	const struct sonde_anchor *anchor = sonde_definitions_anchor(document->definitions, id);

	sonde_json_array_begin(&document->json);
	sonde_json_number_u64(&document->json, anchor->clock);
	sonde_json_number_u64(&document->json, anchor->clock_ns);
	sonde_json_number_u64(&document->json, anchor->realtime_ns);
	sonde_json_array_end(&document->json);
}

static void put_process(struct document *document, uint32_t id)
{
	const struct sonde_process *process = sonde_definitions_process(document->definitions, id);

	sonde_json_object_begin(&document->json);
	sonde_json_key(&document->json, "name");
	put_text(document, process->name);
	put_number(document, "os_id", process->os_id, SONDE_NONE);
	put_number(document, "clock", process->clock, SONDE_NONE);
	put_number(document, "arch", process->arch, 0);
	put_number(document, "os", process->os, 0);
	put_number(document, "start_ns", process->start_ns, 0);
	put_number(document, "end_ns", process->end_ns, 0);
	put_attribute_member(document, SONDE_OWNER_PROCESS, id);
	sonde_json_object_end(&document->json);
}

static void put_module(struct document *document, uint32_t id)
{
	const struct sonde_module *module = sonde_definitions_module(document->definitions, id);

	sonde_json_object_begin(&document->json);
	sonde_json_member_u64(&document->json, "process", module->process);
	sonde_json_key(&document->json, "path");
	put_text(document, module->path);
	if (module->uuid) {
		sonde_json_key(&document->json, "uuid");
		put_text(document, module->uuid);
	}
	if (module->has_key)
		sonde_json_member_u64(&document->json, "key", module->key);
	put_number(document, "base", module->base_address, 0);
	put_number(document, "size", module->size, 0);
	put_attribute_member(document, SONDE_OWNER_MODULE, id);
	sonde_json_object_end(&document->json);
}

static void put_track(struct document *document, uint32_t id)
{
	const struct sonde_track *track = sonde_definitions_track(document->definitions, id);
	const struct cff_track_writer *written = &document->writer->tracks[id];

	sonde_json_object_begin(&document->json);
	sonde_json_member_u64(&document->json, "process", track->process);
	sonde_json_key(&document->json, "name");
	put_text(document, track->name);
	sonde_json_member_u64(&document->json, "slot", track->slot);
	put_number(document, "os_id", track->os_id, UINT64_MAX);
	put_number(document, "kind", track->kind, 0);
	put_number(document, "dropped", track->dropped_events, 0);
	put_number(document, "synthetic_head", written->synthetic_head, 0);
	put_number(document, "synthetic_tail", written->synthetic_tail, 0);
	put_number(document, "name_made_up", track->name && track->name_made_up, 0);
	put_attribute_member(document, SONDE_OWNER_TRACK, id);
	sonde_json_object_end(&document->json);
}

/* A number, or null. */
static void put_optional(struct document *document, bool is_there, uint64_t value)
{
	if (is_there)
		sonde_json_number_u64(&document->json, value);
	else
		sonde_json_null(&document->json);
}

/* [process, module, name, raw name, file, line, key, attributes], as far as there is something. */
static void put_function(struct document *document, uint32_t id)
{
	const struct sonde_function *function =
		sonde_definitions_function(document->definitions, id);
	bool has_more = has_attributes(document, SONDE_OWNER_FUNCTION, id);
	bool has_key = has_more || function->has_key;
	bool has_line = has_key || function->line;
	bool has_file = has_line || function->file;

	sonde_json_array_begin(&document->json);
	sonde_json_number_u64(&document->json, function->process);
	put_optional(document, function->module != SONDE_NONE, function->module);
	put_text(document, function->name);
	if (has_file || function->raw_name)
		put_text(document, function->raw_name);
	if (has_file)
		put_text(document, function->file);
	if (has_line)
		sonde_json_number_u64(&document->json, function->line);
	if (has_key)
		put_optional(document, function->has_key, function->key);
	if (has_more)
		put_attributes(document, SONDE_OWNER_FUNCTION, id);
	sonde_json_array_end(&document->json);
}

static void put_event_type(struct document *document, uint32_t id)
{
	const struct sonde_event_type *type =
		sonde_definitions_event_type(document->definitions, id);

	sonde_json_array_begin(&document->json);
	put_text(document, type->name);
	put_text(document, type->arguments);
	sonde_json_number_u64(&document->json, type->flags);
	sonde_json_number_u64(&document->json, type->is_scope);
	sonde_json_array_end(&document->json);
}

static void put_metric(struct document *document, uint32_t id)
{
	const struct sonde_metric *metric = sonde_definitions_metric(document->definitions, id);

	sonde_json_array_begin(&document->json);
	put_text(document, metric->name);
	put_text(document, metric->unit);
	put_text(document, metric->scope);
	sonde_json_array_end(&document->json);
}

static void put_id(struct document *document, uint32_t id)
{
	if (id == SONDE_NONE)
		sonde_json_raw(&document->json, "-1");
	else
		sonde_json_number_u64(&document->json, id);
}

static void put_type(struct document *document, uint32_t number)
{
	const struct cff_written_type *type = &document->writer->types.all.items[number];

	if (type->function == SONDE_NONE && type->event_type == SONDE_NONE)
		return;
	sonde_json_array_begin(&document->json);
	sonde_json_string(&document->json, type->name);
	put_id(document, type->function);
	put_id(document, type->event_type);
	sonde_json_array_end(&document->json);
}

static void put_blob_name(struct document *document, uint32_t number)
{
	put_text(document, document->writer->blob_names.items[number]);
}

/* A member with a list, one `put` for each number. Nothing at all where it would be empty. */
static void put_list(struct document *document, const char *key, size_t count,
		     void (*put)(struct document *document, uint32_t id))
{
	if (!count)
		return;
	sonde_json_key(&document->json, key);
	sonde_json_array_begin(&document->json);
	for (uint32_t i = 0; i < count; i++)
		put(document, i);
	sonde_json_array_end(&document->json);
}

static void put_document(struct document *document)
{
	const struct sonde_definitions *definitions = document->definitions;
	struct cff_writer *writer = document->writer;

	sonde_json_object_begin(&document->json);
	sonde_json_member_u64(&document->json, "sonde_definitions", 1);
	put_attribute_member(document, SONDE_OWNER_RECORDING, 0);
	put_list(document, "clocks", sonde_definitions_clock_count(definitions), put_clocks);
	put_list(document, "anchors", sonde_definitions_anchor_count(definitions), put_anchor);
	put_list(document, "processes", sonde_definitions_process_count(definitions), put_process);
	put_list(document, "modules", sonde_definitions_module_count(definitions), put_module);
	put_list(document, "tracks", writer->track_count, put_track);
	put_list(document, "functions", sonde_definitions_function_count(definitions),
		 put_function);
	put_list(document, "event_types", sonde_definitions_event_type_count(definitions),
		 put_event_type);
	put_list(document, "metrics", sonde_definitions_metric_count(definitions), put_metric);
	put_list(document, "types", writer->types.all.count, put_type);
	put_list(document, "blobs", writer->has_blob_names ? writer->blob_names.count : 0,
		 put_blob_name);
	sonde_json_object_end(&document->json);
}

static void put_index_entry(struct sonde_buffer *out, const struct cff_index_entry *entry)
{
	sonde_put_u64le(out, entry->offset);
	sonde_put_u64le(out, entry->first_index);
	sonde_put_u64le(out, entry->first_ns);
	sonde_put_u64le(out, entry->last_ns);
	sonde_put_u32le(out, entry->track);
	sonde_put_u32le(out, entry->events);
	sonde_put_u32le(out, entry->stack_first);
	sonde_put_u32le(out, entry->stack_count);
}

static void put_index(const struct cff_writer *writer, uint64_t file_size, struct sonde_buffer *out)
{
	sonde_buffer_put_text(out, INDEX_MAGIC);
	sonde_put_u64le(out, file_size);
	sonde_put_u32le(out, writer->track_count);
	sonde_put_u32le(out, (uint32_t)writer->index.count);
	sonde_put_u32le(out, (uint32_t)writer->definition_chunks.count);
	sonde_put_u32le(out, (uint32_t)writer->stacks.count);
	for (size_t i = 0; i < writer->definition_chunks.count; i++)
		sonde_put_u64le(out, writer->definition_chunks.items[i]);
	for (uint32_t i = 0; i < writer->track_count; i++) {
		const struct cff_track_writer *track = &writer->tracks[i];

		sonde_put_u64le(out, track->events);
		sonde_put_u64le(out, track->details);
		sonde_put_u64le(out, track->first_ns);
		sonde_put_u64le(out, track->last_ns);
	}
	for (size_t i = 0; i < writer->index.count; i++)
		put_index_entry(out, &writer->index.items[i]);
	for (size_t i = 0; i < writer->stacks.count; i++) {
		sonde_put_u32le(out, writer->stacks.items[i].function);
		sonde_put_u32le(out, writer->stacks.items[i].depth);
	}
}

static uint64_t index_size(const struct cff_writer *writer)
{
	return INDEX_HEAD + 8 * (uint64_t)writer->definition_chunks.count +
	       INDEX_TRACK * (uint64_t)writer->track_count +
	       INDEX_CHUNK * (uint64_t)writer->index.count +
	       INDEX_CALL * (uint64_t)writer->stacks.count;
}

/* The size of the file when the last chunk is in it: three parts, of which the events are empty. */
static uint64_t final_size(const struct cff_writer *writer, const struct sonde_buffer *text)
{
	return writer->output.written + CFF_CHUNK_SIZE + 3 * CFF_PART_SIZE +
	       cff_padded(text->size) + index_size(writer);
}

enum sonde_status cff_write_last_chunk(struct cff_writer *writer, struct sonde_error *err)
{
	struct document document = { .writer = writer, .definitions = writer->definitions };
	struct sonde_buffer text = { 0 }, index = { 0 };
	struct cff_resource resources[2];
	size_t count = 1;
	enum sonde_status status;

	sonde_json_writer_init(&document.json, &text, false);
	if (sort_attributes(&document))
		put_document(&document);
	else
		text.failed = true;
	free(document.attributes);
	resources[0] = (struct cff_resource){ CFF_PART_STRING_RESOURCE, text.data, text.size };
	if (!writer->has_no_index) {
		put_index(writer, final_size(writer, &text), &index);
		resources[count++] =
			(struct cff_resource){ CFF_PART_BINARY_RESOURCE, index.data, index.size };
	}
	if (text.failed || index.failed)
		status = sonde_fail_nomem(err);
	else
		status = cff_chunk_write(writer, &writer->defining, resources, count, err);
	sonde_buffer_release(&text);
	sonde_buffer_release(&index);
	return status;
}
