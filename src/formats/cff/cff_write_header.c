/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a file that is written. What the source has as attributes because it was such a
 * file itself is written as it is; else it is made of the process. Times of other sources are
 * counted from a whole millisecond before the first event.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "formats/cff/cff_write.h"
#include "model/command_line.h"

#define NS_IN_MS 1000000u

static const char *attribute(const struct cff_writer *writer, const char *name)
{
	return sonde_definitions_find_attribute(writer->definitions, SONDE_OWNER_RECORDING, 0,
						name);
}

/* What the source has because it was such a file; NULL where it was none. */
static const char *own_member(const struct cff_writer *writer, const char *name)
{
	return attribute(writer, "timebase") ? attribute(writer, name) : NULL;
}

/* The earliest time of all tracks. */
static uint64_t first_time(const struct sonde_definitions *definitions)
{
	uint32_t count = sonde_definitions_track_count(definitions);
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_track *track = sonde_definitions_track(definitions, i);

		if ((track->event_count || track->sample_count) && track->time_first_ns < first)
			first = track->time_first_ns;
	}
	return first == UINT64_MAX ? 0 : first;
}

/* The moment on the wall clock; where that is not known, the same. */
static uint64_t realtime(const struct sonde_definitions *definitions, uint64_t time_ns)
{
	const struct sonde_anchor *anchor = sonde_definitions_anchor(definitions, 0);

	if (!anchor ||
	    (anchor->clock_ns > time_ns && anchor->realtime_ns < anchor->clock_ns - time_ns))
		return time_ns;
	return anchor->realtime_ns + (time_ns - anchor->clock_ns);
}

/* Times are counted from the timebase, which is in milliseconds. */
static void put_timebase(struct cff_writer *writer, struct sonde_json_writer *json)
{
	const char *own = own_member(writer, "timebase");
	uint64_t first, real;

	sonde_json_key(json, "timebase");
	if (own) {
		sonde_json_raw(json, own);
		return;
	}
	first = first_time(writer->definitions);
	real = realtime(writer->definitions, first);
	writer->origin_ns = first - (real % NS_IN_MS <= first ? real % NS_IN_MS : 0);
	sonde_json_number_u64(json, real / NS_IN_MS);
}

static void put_made_context(const struct cff_writer *writer, struct sonde_json_writer *json)
{
	const struct sonde_process *process = sonde_definitions_process(writer->definitions, 0);
	const char *command = sonde_command_line(writer->definitions, 0);
	const char *name = process ? sonde_definitions_string(writer->definitions, process->name) :
				     "";

	sonde_json_object_begin(json);
	sonde_json_member_string(json, "contextType", "script");
	sonde_json_member_string(json, "uri", name);
	sonde_json_member_string(json, "title", name);
	if (process && process->os_id != SONDE_NONE) {
		char text[16];

		snprintf(text, sizeof(text), "%" PRIu32, process->os_id);
		sonde_json_member_string(json, "taskId", text);
	}
	if (command) {
		sonde_json_key(json, "args");
		sonde_json_raw(json, command);
	}
	sonde_json_object_end(json);
}

/* An attribute as it is, or what `otherwise` says. */
static void put_member(struct cff_writer *writer, struct sonde_json_writer *json, const char *name,
		       const char *otherwise)
{
	const char *own = own_member(writer, name);

	sonde_json_key(json, name);
	sonde_json_raw(json, own ? own : otherwise);
}

/* The members of an object but "sonde", which is ours. */
static enum sonde_status copy_members(struct sonde_json_writer *json,
				      struct sonde_json_reader *reader, struct sonde_buffer *value)
{
	enum sonde_status status = sonde_json_next(reader, NULL);

	if (status < 0 || reader->token != SONDE_JSON_OBJECT_BEGIN)
		return status;
	while (!(status = sonde_json_next(reader, NULL)) && reader->token == SONDE_JSON_KEY) {
		bool is_ours = !strcmp(reader->text, "sonde");

		if (!is_ours)
			sonde_json_key(json, reader->text);
		sonde_buffer_clear(value);
		status = sonde_json_copy(reader, value, NULL);
		if (status < 0 || !sonde_buffer_text(value))
			return status < 0 ? status : SONDE_NOMEM;
		if (!is_ours)
			sonde_json_raw(json, sonde_buffer_text(value));
	}
	return status;
}

/* The source's metadata with ours behind. */
static void put_metadata(struct cff_writer *writer, struct sonde_json_writer *json)
{
	const char *own = own_member(writer, "metadata");
	struct sonde_buffer value = { 0 };
	struct sonde_json_reader reader;

	sonde_json_key(json, "metadata");
	sonde_json_object_begin(json);
	if (own) {
		sonde_json_reader_init(&reader, own, strlen(own), NULL, NULL);
		if (copy_members(json, &reader, &value) == SONDE_NOMEM)
			json->out->failed = true;
		sonde_json_reader_release(&reader);
		sonde_buffer_release(&value);
	}
	sonde_json_key(json, "sonde");
	sonde_json_object_begin(json);
	sonde_json_member_u64(json, "version", 1);
	sonde_json_member_u64(json, "origin_ns", writer->origin_ns);
	sonde_json_object_end(json);
	sonde_json_object_end(json);
}

enum sonde_status cff_write_header(struct cff_writer *writer, struct sonde_error *err)
{
	struct sonde_buffer text = { 0 };
	struct sonde_json_writer json;
	enum sonde_status status;

	sonde_json_writer_init(&json, &text, false);
	sonde_json_object_begin(&json);
	put_member(writer, &json, "flags", "[\"has_high_resolution_times\"]");
	put_timebase(writer, &json);
	if (own_member(writer, "contextInfo")) {
		put_member(writer, &json, "contextInfo", "");
	} else {
		sonde_json_key(&json, "contextInfo");
		put_made_context(writer, &json);
	}
	put_metadata(writer, &json);
	sonde_json_object_end(&json);
	status = text.failed ? sonde_fail_nomem(err) :
			       cff_chunk_write_header(writer, text.data, text.size, err);
	sonde_buffer_release(&text);
	return status;
}
