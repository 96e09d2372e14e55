/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of what a recording defines: one row each, put value by value. Functions and tracks are always
 * there, the others where they have rows.
 */
#include <stdlib.h>

#include "base/json.h"
#include "formats/parquet/parquet_write.h"
#include "model/context_place.h"
#include "model/wall_clock.h"

#include <sonde/sonde.h>

#define LABEL_LONGEST 16384

/* NULL for what is not known. */
static const char *text_of(const struct sonde_definitions *definitions, uint32_t string)
{
	return string ? sonde_definitions_string(definitions, string) : NULL;
}

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

static void put_known(struct parquet_rows *rows, size_t column, uint64_t value, bool is_known)
{
	if (is_known)
		parquet_put_number(rows, column, value);
	else
		parquet_put_null(rows, column);
}

static const char *process_name(const struct sonde_definitions *definitions, uint32_t number)
{
	const struct sonde_process *process = sonde_definitions_process(definitions, number);

	return process ? text_of(definitions, process->name) : NULL;
}

static const char *module_path(const struct sonde_definitions *definitions, uint32_t number)
{
	const struct sonde_module *module = sonde_definitions_module(definitions, number);

	return module ? text_of(definitions, module->path) : NULL;
}

static void put_function(const struct parquet_writer *writer, struct parquet_rows *rows,
			 uint32_t number)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_function *function = sonde_definitions_function(definitions, number);
	char space[SONDE_LABEL_SIZE];

	parquet_put_number(rows, PARQUET_FUNCTION_FUNCTION_ID, number);
	parquet_put_text(rows, PARQUET_FUNCTION_FUNCTION,
			 sonde_definitions_function_label(definitions, number, space));
	parquet_put_text(rows, PARQUET_FUNCTION_RAW_NAME, text_of(definitions, function->raw_name));
	parquet_put_text(rows, PARQUET_FUNCTION_PROCESS,
			 process_name(definitions, function->process));
	parquet_put_text(rows, PARQUET_FUNCTION_MODULE, module_path(definitions, function->module));
	parquet_put_text(rows, PARQUET_FUNCTION_FILE, text_of(definitions, function->file));
	put_known(rows, PARQUET_FUNCTION_LINE, function->line, function->line);
	put_known(rows, PARQUET_FUNCTION_ADDRESS, function->address, function->address);
	put_known(rows, PARQUET_FUNCTION_KEY, function->key, function->has_key);
}

static const char *track_kind_name(enum sonde_track_kind kind)
{
	switch (kind) {
	case SONDE_TRACK_GPU_STREAM:
		return "gpu-stream";
	case SONDE_TRACK_ZONE:
		return "zone";
	case SONDE_TRACK_THREAD:
		break;
	}
	return "thread";
}

/* The process of a track, its machine and clock. */
static void put_track_process(const struct parquet_writer *writer, struct parquet_rows *rows,
			      uint32_t number)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_process *process = sonde_definitions_process(definitions, number);
	const struct sonde_clock *clock =
		process ? sonde_definitions_clock(definitions, process->clock) : NULL;
	bool has_times = process && (process->start_ns || process->end_ns);

	parquet_put_number(rows, PARQUET_TRACK_PROCESS_ID, number);
	parquet_put_text(rows, PARQUET_TRACK_PROCESS, process_name(definitions, number));
	put_known(rows, PARQUET_TRACK_PID, process ? process->os_id : 0,
		  process && process->os_id != SONDE_NONE);
	parquet_put_text(rows, PARQUET_TRACK_ARCH,
			 sonde_arch_name(process ? process->arch : SONDE_ARCH_UNKNOWN));
	parquet_put_text(rows, PARQUET_TRACK_OS,
			 sonde_os_name(process ? process->os : SONDE_OS_UNKNOWN));
	parquet_put_text(rows, PARQUET_TRACK_CLOCK,
			 sonde_clock_kind_name(clock ? clock->kind : SONDE_CLOCK_UNKNOWN));
	put_known(rows, PARQUET_TRACK_PROCESS_START_NS, process ? process->start_ns : 0, has_times);
	put_known(rows, PARQUET_TRACK_PROCESS_END_NS, process ? process->end_ns : 0, has_times);
}

static void put_track(const struct parquet_writer *writer, struct parquet_rows *rows,
		      uint32_t number)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_track *track = sonde_definitions_track(definitions, number);
	bool has_times = track->event_count || track->sample_count;
	char space[SONDE_LABEL_SIZE];
	uint64_t shift_ns;
	bool has_wall_clock = sonde_wall_clock_shift(definitions, number, &shift_ns) && has_times;

	parquet_put_number(rows, PARQUET_TRACK_TRACK, number);
	parquet_put_text(rows, PARQUET_TRACK_THREAD,
			 sonde_definitions_track_label(definitions, number, space));
	parquet_put_text(rows, PARQUET_TRACK_KIND, track_kind_name(track->kind));
	put_known(rows, PARQUET_TRACK_TID, track->os_id, track->os_id != UINT64_MAX);
	parquet_put_number(rows, PARQUET_TRACK_SLOT, track->slot);
	put_track_process(writer, rows, track->process);
	put_known(rows, PARQUET_TRACK_FIRST_NS, track->time_first_ns, has_times);
	put_known(rows, PARQUET_TRACK_LAST_NS, track->time_last_ns, has_times);
	put_known(rows, PARQUET_TRACK_FIRST_TIME, track->time_first_ns + shift_ns, has_wall_clock);
	put_known(rows, PARQUET_TRACK_LAST_TIME, track->time_last_ns + shift_ns, has_wall_clock);
	parquet_put_number(rows, PARQUET_TRACK_EVENTS, track->event_count);
	parquet_put_number(rows, PARQUET_TRACK_SAMPLES, track->sample_count);
	parquet_put_number(rows, PARQUET_TRACK_DETAILS, track->detail_count);
	parquet_put_number(rows, PARQUET_TRACK_DROPPED_EVENTS, track->dropped_events);
	parquet_put_number(rows, PARQUET_TRACK_UNFINISHED, track->unfinished);
}

static void put_module(const struct parquet_writer *writer, struct parquet_rows *rows,
		       uint32_t number)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_module *module = sonde_definitions_module(definitions, number);

	parquet_put_number(rows, PARQUET_MODULE_MODULE_ID, number);
	parquet_put_text(rows, PARQUET_MODULE_MODULE,
			 sonde_definitions_string(definitions, module->path));
	parquet_put_text(rows, PARQUET_MODULE_PROCESS, process_name(definitions, module->process));
	parquet_put_text(rows, PARQUET_MODULE_UUID, text_of(definitions, module->uuid));
	parquet_put_number(rows, PARQUET_MODULE_BASE_ADDRESS, module->base_address);
	parquet_put_number(rows, PARQUET_MODULE_SIZE, module->size);
	put_known(rows, PARQUET_MODULE_KEY, module->key, module->has_key);
}

static void put_event_type(const struct parquet_writer *writer, struct parquet_rows *rows,
			   uint32_t number)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_event_type *type = sonde_definitions_event_type(definitions, number);

	parquet_put_number(rows, PARQUET_TYPE_EVENT_TYPE_ID, number);
	parquet_put_text(rows, PARQUET_TYPE_EVENT_TYPE,
			 sonde_definitions_string(definitions, type->name));
	parquet_put_text(rows, PARQUET_TYPE_ARGUMENTS, text_of(definitions, type->arguments));
	parquet_put_number(rows, PARQUET_TYPE_FLAGS, type->flags);
	parquet_put_number(rows, PARQUET_TYPE_IS_SCOPE, type->is_scope);
}

static void put_metric(const struct parquet_writer *writer, struct parquet_rows *rows,
		       uint32_t number)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_metric *metric = sonde_definitions_metric(definitions, number);

	parquet_put_number(rows, PARQUET_METRIC_METRIC_ID, number);
	parquet_put_text(rows, PARQUET_METRIC_METRIC,
			 sonde_definitions_string(definitions, metric->name));
	parquet_put_text(rows, PARQUET_METRIC_UNIT, text_of(definitions, metric->unit));
	parquet_put_text(rows, PARQUET_METRIC_DESCRIPTION,
			 text_of(definitions, metric->description));
	parquet_put_text(rows, PARQUET_METRIC_SCOPE, text_of(definitions, metric->scope));
	parquet_put_text(rows, PARQUET_METRIC_STATISTIC, text_of(definitions, metric->statistic));
	parquet_put_number(rows, PARQUET_METRIC_HIDDEN, metric->hidden);
}

static void put_anchor(const struct parquet_writer *writer, struct parquet_rows *rows,
		       uint32_t number)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_anchor *anchor = sonde_definitions_anchor(definitions, number);
	const struct sonde_clock *clock = sonde_definitions_clock(definitions, anchor->clock);

	parquet_put_number(rows, PARQUET_ANCHOR_CLOCK_ID, anchor->clock);
	parquet_put_text(rows, PARQUET_ANCHOR_CLOCK,
			 sonde_clock_kind_name(clock ? clock->kind : SONDE_CLOCK_UNKNOWN));
	parquet_put_number(rows, PARQUET_ANCHOR_CLOCK_NS, anchor->clock_ns);
	parquet_put_number(rows, PARQUET_ANCHOR_TIME, anchor->realtime_ns);
}

static const char *owner_name(enum sonde_owner owner)
{
	static const char *const names[] = {
		[SONDE_OWNER_RECORDING] = "recording", [SONDE_OWNER_PROCESS] = "process",
		[SONDE_OWNER_TRACK] = "track",	       [SONDE_OWNER_MODULE] = "module",
		[SONDE_OWNER_FUNCTION] = "function",
	};

	return names[owner];
}

static void put_attribute(const struct parquet_writer *writer, struct parquet_rows *rows,
			  uint32_t number)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct sonde_attribute *attribute = sonde_definitions_attribute(definitions, number);

	parquet_put_text(rows, PARQUET_ATTRIBUTE_OWNER, owner_name(attribute->owner));
	parquet_put_number(rows, PARQUET_ATTRIBUTE_OWNER_ID, attribute->owner_id);
	parquet_put_text(rows, PARQUET_ATTRIBUTE_NAME,
			 sonde_definitions_string(definitions, attribute->name));
	parquet_put_text(rows, PARQUET_ATTRIBUTE_VALUE,
			 sonde_definitions_string(definitions, attribute->value));
}

static void put_context(const struct parquet_writer *writer, struct parquet_rows *rows,
			uint32_t number)
{
	const struct sonde_context *context = &writer->contexts[number];
	struct sonde_context_place place = sonde_context_place(writer->definitions, context);
	uint32_t function = writer->context_functions[number];
	char label[LABEL_LONGEST], space[SONDE_LABEL_SIZE];

	parquet_put_number(rows, PARQUET_CONTEXT_CONTEXT, number);
	put_known(rows, PARQUET_CONTEXT_PARENT, context->parent, context->parent != SONDE_NONE);
	parquet_put_number(rows, PARQUET_CONTEXT_SUBTREE_END, context->end);
	parquet_put_number(rows, PARQUET_CONTEXT_DEPTH, writer->context_depths[number]);
	parquet_put_text(rows, PARQUET_CONTEXT_KIND, sonde_context_kind_name(context->kind));
	parquet_put_text(rows, PARQUET_CONTEXT_RELATION,
			 sonde_context_relation_name(context->relation));
	parquet_put_text(rows, PARQUET_CONTEXT_NAME,
			 sonde_context_label(writer->definitions, context, label, sizeof(label)));
	parquet_put_text(rows, PARQUET_CONTEXT_FUNCTION,
			 function == SONDE_NONE ? NULL :
						  sonde_definitions_function_label(
							  writer->definitions, function, space));
	parquet_put_text(rows, PARQUET_CONTEXT_MODULE, or_null(place.module));
	parquet_put_text(rows, PARQUET_CONTEXT_FILE, or_null(place.file));
	put_known(rows, PARQUET_CONTEXT_LINE, place.line, *place.file);
	put_known(rows, PARQUET_CONTEXT_ADDRESS, place.address, *place.module);
	parquet_put_number(rows, PARQUET_CONTEXT_UNLISTED, context->unlisted);
}

/* One of the tables, if it has rows or is always there. */
static enum sonde_status write_table(struct parquet_writer *writer, enum parquet_table_number table,
				     uint32_t count,
				     void (*put)(const struct parquet_writer *writer,
						 struct parquet_rows *rows, uint32_t number),
				     struct sonde_error *err)
{
	struct parquet_file file = { .output.fd = -1 };
	struct parquet_rows rows = { 0 };
	struct sonde_codec_state codec = { 0 };
	enum sonde_status status;

	if (!count && table != PARQUET_FUNCTION_TABLE && table != PARQUET_TRACK_TABLE)
		return SONDE_OK;
	status =
		parquet_file_open(&file, &parquet_tables[table], writer->staged.work, 1, true, err);
	if (!status)
		status = parquet_rows_init(&rows, &file, &codec, err);
	if (!status)
		parquet_rows_begin(&rows, 0);
	for (uint32_t i = 0; !status && i < count; i++) {
		put(writer, &rows, i);
		status = parquet_rows_add(&rows, 1, err);
	}
	if (!status)
		status = parquet_rows_end(&rows, err);
	if (!status)
		status = parquet_writer_close(writer, &file, err);
	parquet_rows_release(&rows);
	sonde_codec_state_release(&codec);
	parquet_file_release(&file);
	return status;
}

enum sonde_status parquet_write_definitions(struct parquet_writer *writer, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = writer->definitions;
	const struct {
		enum parquet_table_number table;
		uint32_t count;
		void (*put)(const struct parquet_writer *, struct parquet_rows *, uint32_t);
	} tables[] = {
		{ PARQUET_FUNCTION_TABLE, sonde_definitions_function_count(definitions),
		  put_function },
		{ PARQUET_TRACK_TABLE, writer->track_count, put_track },
		{ PARQUET_MODULE_TABLE, sonde_definitions_module_count(definitions), put_module },
		{ PARQUET_EVENT_TYPE_TABLE, sonde_definitions_event_type_count(definitions),
		  put_event_type },
		{ PARQUET_METRIC_TABLE, sonde_definitions_metric_count(definitions), put_metric },
		{ PARQUET_ANCHOR_TABLE, sonde_definitions_anchor_count(definitions), put_anchor },
		{ PARQUET_ATTRIBUTE_TABLE, sonde_definitions_attribute_count(definitions),
		  put_attribute },
		/* the root alone says nothing */
		{ PARQUET_CONTEXT_TABLE, writer->context_count > 1 ? writer->context_count : 0,
		  put_context },
	};
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < sizeof(tables) / sizeof(tables[0]); i++)
		status = write_table(writer, tables[i].table, tables[i].count, tables[i].put, err);
	return status;
}

/* What is known of the recording itself, as a JSON object. */
static void put_attributes(const struct sonde_definitions *definitions, struct sonde_buffer *out)
{
	struct sonde_json_writer json;
	const struct sonde_attribute *attribute;

	sonde_json_writer_init(&json, out, false);
	sonde_json_object_begin(&json);
	for (uint32_t i = 0; (attribute = sonde_definitions_attribute(definitions, i)); i++) {
		if (attribute->owner != SONDE_OWNER_RECORDING)
			continue;
		sonde_json_key(&json, sonde_definitions_string(definitions, attribute->name));
		sonde_json_raw(&json, sonde_definitions_string(definitions, attribute->value));
	}
	sonde_json_object_end(&json);
}

enum sonde_status parquet_writer_close(struct parquet_writer *writer, struct parquet_file *file,
				       struct sonde_error *err)
{
	const struct sonde_clock *clock = sonde_definitions_clock(writer->definitions, 0);
	struct sonde_buffer attributes = { 0 };
	enum sonde_status status;

	put_attributes(writer->definitions, &attributes);
	if (sonde_buffer_text(&attributes)) {
		const struct parquet_key_value pairs[] = {
			{ "sonde.version", sonde_version() },
			{ "sonde.table", file->table->name },
			{ "sonde.clock",
			  sonde_clock_kind_name(clock ? clock->kind : SONDE_CLOCK_UNKNOWN) },
			{ "sonde.attributes", attributes.data },
		};

		status = parquet_file_close(file, pairs, sizeof(pairs) / sizeof(pairs[0]), err);
	} else {
		status = sonde_fail_nomem(err);
	}
	sonde_buffer_release(&attributes);
	return status;
}
