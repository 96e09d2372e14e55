/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands before the events: the member "sonde", with all that the format has no place for and our reader
 * takes back, then metadata events that say who is who. Functions are no part of it: they may be met later.
 */
#include <inttypes.h>

#include "base/json.h"
#include "formats/chrome/chrome_write.h"
#include "formats/exchange.h"

static void member_text(struct sonde_json_writer *json, const struct sonde_definitions *definitions,
			const char *key, uint32_t string)
{
	if (string)
		sonde_json_member_string(json, key, sonde_definitions_string(definitions, string));
}

static void member_number(struct sonde_json_writer *json, const char *key, uint64_t value)
{
	if (value)
		sonde_json_member_u64(json, key, value);
}

void chrome_put_json(struct sonde_buffer *out, const char *text)
{
	struct sonde_json_reader reader;
	struct sonde_json_writer writer;
	size_t start = out->size;
	enum sonde_status status;
	bool is_json;

	sonde_json_reader_init(&reader, text, strlen(text), NULL, NULL);
	status = sonde_json_copy(&reader, out, NULL);
	is_json = status == SONDE_OK && out->size > start;
	if (is_json)
		status = sonde_json_next(&reader, NULL);
	is_json = is_json && status == SONDE_OK && reader.token == SONDE_JSON_END;
	sonde_json_reader_release(&reader);
	if (status == SONDE_NOMEM)
		out->failed = true; /* this does not tell what the text is */
	if (is_json || out->failed)
		return;
	out->size = start;
	sonde_json_writer_init(&writer, out, false);
	sonde_json_string(&writer, text);
}

static void put_processes(struct chrome_writer *writer, struct sonde_json_writer *json)
{
	uint32_t count = sonde_definitions_process_count(writer->definitions);

	sonde_json_key(json, "processes");
	sonde_json_array_begin(json);
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_process *process =
			sonde_definitions_process(writer->definitions, i);

		sonde_json_object_begin(json);
		sonde_json_member_u64(json, "pid", writer->pids[i]);
		if (process->os_id != SONDE_NONE && process->os_id != writer->pids[i])
			sonde_json_member_u64(json, "os_id", process->os_id);
		if (process->os_id == SONDE_NONE)
			sonde_json_member_bool(json, "made_up", true);
		sonde_json_member_u64(json, "clock", process->clock);
		member_number(json, "arch", process->arch);
		member_number(json, "os", process->os);
		member_number(json, "start_ns", process->start_ns);
		member_number(json, "end_ns", process->end_ns);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
	writer->losses[CHROME_LOSS_TRACKS] += count;
}

static void put_tracks(struct chrome_writer *writer, struct sonde_json_writer *json)
{
	static const char *const kinds[] = CHROME_TRACK_NAMES;

	sonde_json_key(json, "tracks");
	sonde_json_array_begin(json);
	for (uint32_t i = 0; i < writer->track_count; i++) {
		const struct sonde_track *track = sonde_definitions_track(writer->definitions, i);

		sonde_json_object_begin(json);
		sonde_json_member_u64(json, "process", track->process);
		sonde_json_member_u64(json, "tid", writer->tids[i]);
		if (track->os_id != UINT64_MAX && track->os_id != writer->tids[i])
			sonde_json_member_u64(json, "os_id", track->os_id);
		if (track->os_id == UINT64_MAX)
			sonde_json_member_bool(json, "made_up", true);
		if (!track->name || track->name_made_up)
			sonde_json_member_bool(json, "unnamed", true);
		member_number(json, "slot", track->slot);
		if (track->kind != SONDE_TRACK_THREAD)
			sonde_json_member_string(json, "kind", kinds[track->kind]);
		if (track->unfinished)
			sonde_json_member_bool(json, "unfinished", true);
		member_number(json, "dropped", track->dropped_events);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
	writer->losses[CHROME_LOSS_TRACKS] += writer->track_count;
}

static void put_modules(struct chrome_writer *writer, struct sonde_json_writer *json)
{
	sonde_json_key(json, "modules");
	sonde_json_array_begin(json);
	for (uint32_t i = 0; i < writer->module_count; i++) {
		const struct sonde_module *module =
			sonde_definitions_module(writer->definitions, i);

		sonde_json_object_begin(json);
		sonde_json_member_u64(json, "process", module->process);
		member_text(json, writer->definitions, "path", module->path);
		member_text(json, writer->definitions, "uuid", module->uuid);
		if (module->has_key)
			sonde_json_member_u64(json, "key", module->key);
		member_number(json, "base", module->base_address);
		member_number(json, "size", module->size);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
}

static void put_clocks(struct chrome_writer *writer, struct sonde_json_writer *json)
{
	uint32_t clocks = sonde_definitions_clock_count(writer->definitions);

	sonde_json_key(json, "clocks");
	sonde_json_array_begin(json);
	for (uint32_t i = 0; i < clocks; i++) {
		const struct sonde_clock *clock = sonde_definitions_clock(writer->definitions, i);

		sonde_json_object_begin(json);
		member_text(json, writer->definitions, "name", clock->name);
		sonde_json_member_u64(json, "kind", clock->kind);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
	exchange_put_anchors(writer->definitions, json);
	writer->losses[CHROME_LOSS_CLOCKS] +=
		clocks + (uint64_t)sonde_definitions_anchor_count(writer->definitions);
}

static void put_types(struct chrome_writer *writer, struct sonde_json_writer *json)
{
	sonde_json_key(json, "types");
	sonde_json_array_begin(json);
	for (uint32_t i = 0; i < writer->type_count; i++) {
		const struct sonde_event_type *type =
			sonde_definitions_event_type(writer->definitions, i);

		sonde_json_object_begin(json);
		member_text(json, writer->definitions, "name", type->name);
		member_text(json, writer->definitions, "arguments", type->arguments);
		sonde_json_object_end(json);
		writer->losses[CHROME_LOSS_TYPES] += type->arguments != 0;
	}
	sonde_json_array_end(json);
}

/* A category is written with the events of its function; other attributes of functions have no place. */
static bool take_function_attribute(struct chrome_writer *writer,
				    const struct sonde_attribute *attribute)
{
	const char *name = sonde_definitions_string(writer->definitions, attribute->name);
	uint32_t *category;

	if (attribute->owner != SONDE_OWNER_FUNCTION)
		return false;
	if (strcmp(name, CHROME_CATEGORY) != 0 || attribute->owner_id >= writer->function_count) {
		writer->losses[CHROME_LOSS_FUNCTION_ATTRIBUTES]++;
		return true;
	}
	category = &writer->categories[attribute->owner_id];
	writer->losses[CHROME_LOSS_FUNCTION_ATTRIBUTES] += *category != 0;
	if (!*category)
		*category = attribute->value;
	return true;
}

static void put_attributes(struct chrome_writer *writer, struct sonde_json_writer *json)
{
	static const char *const owners[] = CHROME_OWNER_NAMES;
	uint32_t count = sonde_definitions_attribute_count(writer->definitions);

	sonde_json_key(json, "attributes");
	sonde_json_array_begin(json);
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_attribute *attribute =
			sonde_definitions_attribute(writer->definitions, i);

		if (take_function_attribute(writer, attribute))
			continue;
		writer->losses[CHROME_LOSS_ATTRIBUTES]++;
		sonde_json_object_begin(json);
		sonde_json_member_string(json, "owner", owners[attribute->owner]);
		sonde_json_member_u64(json, "id", attribute->owner_id);
		member_text(json, writer->definitions, "name", attribute->name);
		sonde_json_key(json, "value");
		sonde_json_raw(json, ""); /* what follows is made elsewhere */
		chrome_put_json(json->out,
				sonde_definitions_string(writer->definitions, attribute->value));
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
}

static void put_ours(struct chrome_writer *writer, struct sonde_buffer *out)
{
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, out, false);
	sonde_json_object_begin(&json);
	sonde_json_member_u64(&json, "version", 1);
	put_processes(writer, &json);
	put_tracks(writer, &json);
	put_modules(writer, &json);
	put_clocks(writer, &json);
	put_types(writer, &json);
	put_attributes(writer, &json);
	sonde_json_object_end(&json);
}

/* {"pid":1,"tid":2,"ph":"M","name":"thread_name","args":{"name":"main"}}; text NULL: a number. */
static void put_metadata(struct sonde_buffer *out, uint32_t pid, uint32_t tid, const char *name,
			 const char *text, uint64_t number)
{
	struct sonde_json_writer json;

	if (out->size && out->data[out->size - 1] == '}')
		sonde_buffer_put(out, ",\n", 2);
	sonde_json_writer_init(&json, out, false);
	sonde_json_object_begin(&json);
	sonde_json_member_u64(&json, "pid", pid);
	sonde_json_member_u64(&json, "tid", tid);
	sonde_json_member_string(&json, "ph", "M");
	sonde_json_member_string(&json, "name", name);
	sonde_json_key(&json, "args");
	sonde_json_object_begin(&json);
	if (text)
		sonde_json_member_string(&json, "name", text);
	else
		sonde_json_member_u64(&json, "sort_index", number);
	sonde_json_object_end(&json);
	sonde_json_object_end(&json);
}

/* Processes and tracks are shown in the order of their numbers. */
static void put_names(const struct chrome_writer *writer, struct sonde_buffer *out)
{
	const struct sonde_definitions *definitions = writer->definitions;
	uint32_t processes = sonde_definitions_process_count(definitions);
	char label[SONDE_LABEL_SIZE];

	for (uint32_t i = 0; i < processes; i++) {
		const struct sonde_process *process = sonde_definitions_process(definitions, i);
		const char *name = sonde_definitions_string(definitions, process->name);
		uint32_t pid = writer->pids[i];

		put_metadata(out, pid, pid, "process_sort_index", NULL, i);
		if (*name)
			put_metadata(out, pid, pid, "process_name", name, 0);
	}
	for (uint32_t i = 0; i < writer->track_count; i++) {
		const struct sonde_track *track = sonde_definitions_track(definitions, i);
		uint32_t pid = writer->pids[track->process], tid = writer->tids[i];

		put_metadata(out, pid, tid, "thread_sort_index", NULL, i);
		if (track->name || track->os_id == UINT64_MAX)
			put_metadata(out, pid, tid, "thread_name",
				     sonde_definitions_track_label(definitions, i, label), 0);
	}
}

enum sonde_status chrome_write_head(struct chrome_writer *writer, struct sonde_buffer *out,
				    struct sonde_error *err)
{
	sonde_buffer_put_text(out, "{\"displayTimeUnit\":\"ns\",\n\"" CHROME_OURS "\":");
	put_ours(writer, out);
	sonde_buffer_put_text(out, ",\n\"traceEvents\":[\n");
	put_names(writer, out);
	return out->failed ? sonde_fail_nomem(err) : SONDE_OK;
}
