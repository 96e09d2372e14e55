/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is around the profiles of a speedscope file: first the member of ours with processes, tracks
 * and clocks, in the end the frames. Functions may become known while events are read, so they come
 * last.
 */
#include <sonde/sonde.h>

#include "base/utf8.h"
#include "formats/exchange.h"
#include "formats/speedscope/speedscope_write.h"
#include "model/metric.h"

/* Texts are not looked at twice: what is no UTF-8 is counted where it is written. */
static void member_text(struct speedscope_writer *writer, struct sonde_json_writer *json,
			const char *key, const char *text)
{
	writer->losses[SPEEDSCOPE_LOSS_BAD_TEXT] += !sonde_utf8_valid(text, strlen(text));
	sonde_json_member_string(json, key, text);
}

static void member_string(struct speedscope_writer *writer, struct sonde_json_writer *json,
			  const char *key, uint32_t string)
{
	if (string)
		member_text(writer, json, key,
			    sonde_definitions_string(writer->definitions, string));
}

static void member_number(struct sonde_json_writer *json, const char *key, uint64_t value)
{
	if (value)
		sonde_json_member_u64(json, key, value);
}

static void put_processes(struct speedscope_writer *writer, struct sonde_json_writer *json)
{
	uint32_t count = sonde_definitions_process_count(writer->definitions);

	sonde_json_key(json, "processes");
	sonde_json_array_begin(json);
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_process *process =
			sonde_definitions_process(writer->definitions, i);

		sonde_json_object_begin(json);
		member_string(writer, json, "name", process->name);
		if (process->os_id != SONDE_NONE)
			sonde_json_member_u64(json, "pid", process->os_id);
		sonde_json_member_u64(json, "clock", process->clock);
		member_number(json, "arch", process->arch);
		member_number(json, "os", process->os);
		member_number(json, "start_ns", process->start_ns);
		member_number(json, "end_ns", process->end_ns);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
}

static void put_tracks(struct speedscope_writer *writer, struct sonde_json_writer *json)
{
	sonde_json_key(json, "tracks");
	sonde_json_array_begin(json);
	for (uint32_t i = 0; i < writer->track_count; i++) {
		const struct sonde_track *track = sonde_definitions_track(writer->definitions, i);

		sonde_json_object_begin(json);
		sonde_json_member_u64(json, "process", track->process);
		member_string(writer, json, "name", track->name);
		if (track->os_id != UINT64_MAX)
			sonde_json_member_u64(json, "tid", track->os_id);
		member_number(json, "slot", track->slot);
		member_number(json, "kind", track->kind);
		member_number(json, "dropped", track->dropped_events);
		if (track->name && track->name_made_up)
			sonde_json_member_bool(json, "name_made_up", true);
		if (track->unfinished)
			sonde_json_member_bool(json, "unfinished", true);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
}

static void put_clocks(struct speedscope_writer *writer, struct sonde_json_writer *json)
{
	uint32_t clocks = sonde_definitions_clock_count(writer->definitions);

	sonde_json_key(json, "clocks");
	sonde_json_array_begin(json);
	for (uint32_t i = 0; i < clocks; i++) {
		const struct sonde_clock *clock = sonde_definitions_clock(writer->definitions, i);

		sonde_json_object_begin(json);
		member_string(writer, json, "name", clock->name);
		sonde_json_member_u64(json, "kind", clock->kind);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
	exchange_put_anchors(writer->definitions, json);
}

void speedscope_write_head(struct speedscope_writer *writer, struct sonde_buffer *out)
{
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, out, false);
	sonde_json_object_begin(&json);
	sonde_json_member_string(&json, "$schema", SPEEDSCOPE_SCHEMA);
	sonde_json_key(&json, "exporter");
	sonde_buffer_put_format(out, "\"sonde@%s\"", sonde_version());
	json.after_key = false;
	member_text(writer, &json, "name", writer->name);
	sonde_json_member_u64(&json, "activeProfileIndex", 0);
	sonde_json_key(&json, SPEEDSCOPE_OURS);
	sonde_json_object_begin(&json);
	sonde_json_member_u64(&json, "version", SPEEDSCOPE_OURS_VERSION);
	sonde_json_member_u64(&json, "start_ns", writer->start_ns);
	put_processes(writer, &json);
	put_tracks(writer, &json);
	put_clocks(writer, &json);
	sonde_json_object_end(&json);
	sonde_buffer_put_text(out, ",\n\"profiles\":[");
}

static void put_frame(struct speedscope_writer *writer, struct sonde_buffer *out, uint32_t number)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_function *function = sonde_definitions_function(definitions, number);
	const struct sonde_module *module = sonde_definitions_module(definitions, function->module);
	char label[SONDE_LABEL_SIZE];
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, out, false);
	sonde_json_object_begin(&json);
	member_text(writer, &json, "name",
		    sonde_definitions_function_label(definitions, number, label));
	member_string(writer, &json, "file", function->file);
	member_number(&json, "line", function->line);
	member_string(writer, &json, "raw_name", function->raw_name);
	member_number(&json, "address", function->address);
	if (module)
		member_string(writer, &json, "module", module->path);
	member_number(&json, "process", function->process);
	sonde_json_object_end(&json);
}

/* A frame that is no function, but a place in a program. */
static void put_named_frame(struct speedscope_writer *writer, struct sonde_buffer *out,
			    const struct exchange_named_frame *frame)
{
	const struct sonde_context *context =
		frame->context ? &writer->stacks.contexts[frame->context] : NULL;
	const struct sonde_module *module =
		context ? sonde_definitions_module(writer->definitions, context->module) : NULL;
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, out, false);
	sonde_json_object_begin(&json);
	member_text(writer, &json, "name", frame->name);
	if (context) {
		member_string(writer, &json, "file", context->file);
		member_number(&json, "line", context->line);
		member_number(&json, "address", context->address);
	}
	if (module)
		member_string(writer, &json, "module", module->path);
	sonde_json_object_end(&json);
}

void speedscope_write_frames(struct speedscope_writer *writer, struct sonde_buffer *out)
{
	uint32_t count = sonde_definitions_function_count(writer->definitions);

	sonde_buffer_put_text(out, "],\n\"shared\":{\"frames\":[");
	for (size_t i = 0; i < writer->stacks.names.count; i++) {
		sonde_buffer_put_text(out, i ? ",\n" : "\n");
		put_named_frame(writer, out, &writer->stacks.names.items[i]);
	}
	for (uint32_t i = 0; i < count; i++) {
		sonde_buffer_put_text(out, ",\n");
		put_frame(writer, out, i);
	}
	sonde_buffer_put_text(out, "]}}\n");
}

/* What a metric counts, in the words of the format. */
static const char *unit_of(const struct sonde_definitions *definitions,
			   const struct sonde_metric *metric)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "seconds" },
		      { 1e6, "milliseconds" },
		      { 1e3, "microseconds" },
		      { 1, "nanoseconds" } };
	const char *unit = sonde_definitions_string(definitions, metric->unit);
	const char *name = sonde_definitions_string(definitions, metric->name);
	double ns = sonde_metric_ns(name, unit);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (ns >= units[i].ns)
			return units[i].unit;
	}
	return sonde_metric_is_bytes(name, unit) ? "bytes" : "none";
}

/* "server / worker: CPUTIME (sec)" */
static void put_profile_name(const struct speedscope_writer *writer, struct sonde_json_writer *json,
			     uint32_t track, const struct sonde_metric *metric)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_process *process = sonde_definitions_process(
		definitions, sonde_definitions_track(definitions, track)->process);
	struct sonde_buffer name = { 0 };
	char label[SONDE_LABEL_SIZE];

	if (process && sonde_definitions_process_count(definitions) > 1) {
		const char *text = sonde_definitions_string(definitions, process->name);

		sonde_buffer_put_text(&name, *text ? text : "process");
		if (process->os_id != SONDE_NONE)
			sonde_buffer_put_format(&name, " %u", process->os_id);
		sonde_buffer_put_text(&name, " / ");
	}
	sonde_buffer_put_text(&name, sonde_definitions_track_label(definitions, track, label));
	if (metric) {
		sonde_buffer_put_text(&name, ": ");
		sonde_buffer_put_text(&name, sonde_definitions_string(definitions, metric->name));
	}
	json->out->failed |= name.failed;
	sonde_json_key(json, "name");
	sonde_json_string_sized(json, name.data ? name.data : "", name.size);
	sonde_buffer_release(&name);
}

void speedscope_write_profile_head(const struct speedscope_writer *writer, struct sonde_buffer *out,
				   const char *type, uint32_t track, uint32_t number)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_metric *metric = sonde_definitions_metric(definitions, number);
	struct sonde_json_writer json;

	sonde_buffer_put_text(out, ",\n");
	sonde_json_writer_init(&json, out, false);
	sonde_json_object_begin(&json);
	sonde_json_member_string(&json, "type", type);
	put_profile_name(writer, &json, track, metric);
	sonde_json_member_string(&json, "unit",
				 metric ? unit_of(definitions, metric) : "nanoseconds");
	sonde_json_key(&json, SPEEDSCOPE_OURS);
	sonde_json_object_begin(&json);
	sonde_json_member_u64(&json, "track", track);
	if (metric) {
		sonde_json_member_string(&json, "metric",
					 sonde_definitions_string(definitions, metric->name));
		sonde_json_member_string(&json, "unit",
					 sonde_definitions_string(definitions, metric->unit));
		sonde_json_member_string(
			&json, "description",
			sonde_definitions_string(definitions, metric->description));
		if (metric->hidden)
			sonde_json_member_bool(&json, "hidden", true);
	}
	sonde_json_object_end(&json);
}
