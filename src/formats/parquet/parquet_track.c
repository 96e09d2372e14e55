/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a track: events, spans, samples, values. Events come by the thousands, so each column is
 * filled by a loop of its own; names are looked up once a row group and by number then.
 */
#include <stdlib.h>

#include "formats/parquet/parquet_write.h"
#include "model/detail_json.h"
#include "model/wall_clock.h"

#define SPANS_AT_ONCE 1024
#define DETAILED_AT_ONCE 64 /* rows with details may be long */
#define LABEL_LONGEST 16384

struct parquet_track *parquet_track_new(struct parquet_writer *writer)
{
	struct parquet_track *track = calloc(1, sizeof(*track));

	if (track) {
		track->writer = writer;
		track->signatures.definitions = writer->definitions;
	}
	return track;
}

void parquet_track_free(struct parquet_track *track)
{
	if (!track)
		return;
	for (size_t i = 0; i < PARQUET_TRACK_TABLES; i++)
		parquet_rows_release(&track->rows[i]);
	sonde_codec_state_release(&track->codec);
	sonde_vec_release(&track->functions);
	sonde_vec_release(&track->types);
	sonde_vec_release(&track->span_functions);
	sonde_vec_release(&track->span_callers);
	sonde_vec_release(&track->sample_contexts);
	sonde_vec_release(&track->value_contexts);
	sonde_vec_release(&track->value_metrics);
	sonde_call_spans_release(&track->spans);
	signatures_release(&track->signatures);
	sonde_buffer_release(&track->json);
	free(track);
}

/* The number of the column for what all rows of a track share. */
static const struct {
	size_t track, thread, process;
} shared[PARQUET_TRACK_TABLES] = {
	[PARQUET_EVENT_TABLE] = { PARQUET_EVENT_TRACK, PARQUET_EVENT_THREAD,
				  PARQUET_EVENT_PROCESS },
	[PARQUET_SPAN_TABLE] = { PARQUET_SPAN_TRACK, PARQUET_SPAN_THREAD, PARQUET_SPAN_PROCESS },
	[PARQUET_SAMPLE_TABLE] = { PARQUET_SAMPLE_TRACK, PARQUET_SAMPLE_THREAD,
				   PARQUET_SAMPLE_PROCESS },
	[PARQUET_VALUE_TABLE] = { PARQUET_VALUE_TRACK, PARQUET_VALUE_THREAD,
				  PARQUET_VALUE_PROCESS },
};

enum sonde_status parquet_track_rows(struct parquet_track *track, enum parquet_table_number table,
				     struct parquet_rows **rows, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = track->writer->definitions;
	const struct sonde_track *definition = sonde_definitions_track(definitions, track->number);
	const struct sonde_process *process;
	char space[SONDE_LABEL_SIZE];
	enum sonde_status status;

	*rows = &track->rows[table];
	if (track->begun[table])
		return SONDE_OK;
	if (!(*rows)->columns) {
		status = parquet_rows_init(*rows, &track->writer->files[table], &track->codec, err);
		if (status)
			return status;
	}
	process = definition ? sonde_definitions_process(definitions, definition->process) : NULL;
	track->begun[table] = true;
	parquet_rows_begin(*rows, track->number);
	parquet_set_number(*rows, shared[table].track, track->number);
	parquet_set_text(*rows, shared[table].thread,
			 sonde_definitions_track_label(definitions, track->number, space));
	parquet_set_text(*rows, shared[table].process,
			 process && process->name ?
				 sonde_definitions_string(definitions, process->name) :
				 NULL);
	return SONDE_OK;
}

/* --- names --- */

/* The codes of a function and its module that a row group does not have yet. */
__attribute__((noinline)) static const struct parquet_known *
learn_function(struct parquet_track *track, struct parquet_rows *rows,
	       struct parquet_known_texts *known, uint32_t function, size_t column,
	       size_t module_column)
{
	static const struct parquet_known none = { 0, PARQUET_NULL_CODE, PARQUET_NULL_CODE };
	const struct sonde_definitions *definitions = track->writer->definitions;
	const struct sonde_function *definition = sonde_definitions_function(definitions, function);
	struct parquet_known *place;
	const struct sonde_module *module;
	char space[SONDE_LABEL_SIZE];

	if (!definition)
		return &none;
	place = parquet_known_place(known, function);
	if (!place) {
		rows->failed = true;
		return &none;
	}
	place->epoch = rows->epoch;
	place->code = parquet_text_code(
		rows, column, sonde_definitions_function_label(definitions, function, space));
	place->second = PARQUET_NULL_CODE;
	module = sonde_definitions_module(definitions, definition->module);
	if (module && module->path && module_column != SIZE_MAX)
		place->second = parquet_text_code(
			rows, module_column, sonde_definitions_string(definitions, module->path));
	return place;
}

static inline const struct parquet_known *know_function(struct parquet_track *track,
							struct parquet_rows *rows,
							struct parquet_known_texts *known,
							uint32_t function, size_t column,
							size_t module_column)
{
	if (__builtin_expect(function < known->count && known->items[function].epoch == rows->epoch,
			     1))
		return &known->items[function];
	return learn_function(track, rows, known, function, column, module_column);
}

static uint32_t know_type(struct parquet_track *track, struct parquet_rows *rows, uint32_t number)
{
	const struct sonde_definitions *definitions = track->writer->definitions;
	const struct sonde_event_type *type = sonde_definitions_event_type(definitions, number);
	struct parquet_known *place;

	if (number < track->types.count && track->types.items[number].epoch == rows->epoch)
		return track->types.items[number].code;
	place = type ? parquet_known_place(&track->types, number) : NULL;
	if (!place) {
		rows->failed |= type != NULL;
		return PARQUET_NULL_CODE;
	}
	place->epoch = rows->epoch;
	place->code = parquet_text_code(rows, PARQUET_EVENT_EVENT_TYPE,
					sonde_definitions_string(definitions, type->name));
	return place->code;
}

/* --- events --- */

static void learn_kinds(struct parquet_track *track, struct parquet_rows *rows)
{
	if (track->kinds_epoch == rows->epoch)
		return;
	track->kinds_epoch = rows->epoch;
	/* in an order that makes calls and returns one bit */
	for (unsigned int i = 1; i <= SONDE_EVENT_KIND_COUNT; i++)
		track->kinds[i] = PARQUET_NULL_CODE;
	track->kinds[SONDE_EVENT_CALL] = parquet_text_code(rows, PARQUET_EVENT_KIND,
							   sonde_event_kind_name(SONDE_EVENT_CALL));
	track->kinds[SONDE_EVENT_RETURN] = parquet_text_code(
		rows, PARQUET_EVENT_KIND, sonde_event_kind_name(SONDE_EVENT_RETURN));
	track->kinds[SONDE_EVENT_OTHER] = PARQUET_NULL_CODE;
}

static uint32_t know_kind(struct parquet_track *track, struct parquet_rows *rows, unsigned int kind)
{
	if (kind >= SONDE_EVENT_KIND_COUNT)
		kind = SONDE_EVENT_OTHER;
	if (track->kinds[kind] == PARQUET_NULL_CODE)
		track->kinds[kind] =
			parquet_text_code(rows, PARQUET_EVENT_KIND, sonde_event_kind_name(kind));
	return track->kinds[kind];
}

/* Times, depths, kinds and flags. Gives whether all are calls, returns or exceptions. */
static bool put_plain(struct parquet_track *track, struct parquet_rows *rows,
		      const struct sonde_event *events, size_t count)
{
	size_t row = rows->page_rows;
	uint64_t *times = (uint64_t *)rows->columns[PARQUET_EVENT_TIME_NS].values + row;
	uint32_t *depths = (uint32_t *)rows->columns[PARQUET_EVENT_DEPTH].values + row;
	uint32_t *kinds = (uint32_t *)rows->columns[PARQUET_EVENT_KIND].values + row;
	uint8_t *synthetic = (uint8_t *)rows->columns[PARQUET_EVENT_SYNTHETIC].values + row;
	bool are_calls = true;

	for (size_t i = 0; i < count; i++) {
		const struct sonde_event *event = &events[i];
		uint32_t kind = event->kind < SONDE_EVENT_KIND_COUNT ? track->kinds[event->kind] :
								       PARQUET_NULL_CODE;

		times[i] = event->time_ns;
		depths[i] = event->depth;
		synthetic[i] = event->flags & SONDE_EVENT_SYNTHETIC;
		are_calls &= event->kind - 1U < SONDE_EVENT_EXCEPTION;
		kinds[i] = kind != PARQUET_NULL_CODE ? kind : know_kind(track, rows, event->kind);
	}
	return are_calls;
}

/* What calls do not have. */
static void put_other(struct parquet_track *track, struct parquet_rows *rows,
		      const struct sonde_event *event, size_t row)
{
	struct parquet_column *value = &rows->columns[PARQUET_EVENT_VALUE];
	struct parquet_column *number = &rows->columns[PARQUET_EVENT_NUMBER];
	double counted;

	if (!sonde_event_has_function(event))
		((uint32_t *)rows->columns[PARQUET_EVENT_EVENT_TYPE].values)[row] =
			know_type(track, rows, event->function);
	if (event->kind == SONDE_EVENT_COUNTER) {
		counted = sonde_event_value(event);
		memcpy((uint64_t *)value->values + row, &counted, sizeof(counted));
		value->present[row] = 1;
	} else if (event->kind == SONDE_EVENT_OTHER || event->kind >= SONDE_EVENT_FLOW_BEGIN) {
		((uint32_t *)number->values)[row] = event->extra;
		number->present[row] = 1;
	}
}

static void put_names(struct parquet_track *track, struct parquet_rows *rows,
		      const struct sonde_event *events, size_t count, bool are_calls)
{
	size_t row = rows->page_rows;
	uint32_t *functions = (uint32_t *)rows->columns[PARQUET_EVENT_FUNCTION].values + row;
	uint32_t *modules = (uint32_t *)rows->columns[PARQUET_EVENT_MODULE].values + row;
	uint32_t *types = (uint32_t *)rows->columns[PARQUET_EVENT_EVENT_TYPE].values + row;

	memset(types, 0xff, count * sizeof(*types)); /* PARQUET_NULL_CODE */
	memset(rows->columns[PARQUET_EVENT_VALUE].present + row, 0, count);
	memset(rows->columns[PARQUET_EVENT_NUMBER].present + row, 0, count);
	memset(rows->columns[PARQUET_EVENT_ARGUMENTS].present + row, 0, count);
	memset(rows->columns[PARQUET_EVENT_DETAIL].present + row, 0, count);
	for (size_t i = 0; i < count; i++) {
		const struct parquet_known *known;

		functions[i] = modules[i] = PARQUET_NULL_CODE;
		if (!are_calls)
			put_other(track, rows, &events[i], row + i);
		if (!sonde_event_has_function(&events[i]))
			continue;
		known = know_function(track, rows, &track->functions, events[i].function,
				      PARQUET_EVENT_FUNCTION, PARQUET_EVENT_MODULE);
		functions[i] = known->code;
		modules[i] = known->second;
	}
}

/* Arguments and other details, as JSON. What cannot be read is null, and counted. */
static enum sonde_status put_detail(struct parquet_track *track, struct parquet_rows *rows,
				    const struct sonde_batch *batch,
				    const struct sonde_event *event, size_t row,
				    struct sonde_error *err)
{
	const struct sonde_signature *signature = NULL;
	struct sonde_json_writer json;
	struct sonde_detail detail;
	enum sonde_status status = sonde_batch_detail(batch, event, &detail, err);
	bool is_argument;

	if (status == SONDE_CORRUPT || status == SONDE_TRUNCATED || status == SONDE_ARGUMENT) {
		track->unread_details++;
		return SONDE_OK;
	}
	if (status)
		return status == SONDE_END ? SONDE_OK : status;
	is_argument = detail.kind == SONDE_DETAIL_ARGUMENTS;
	if (is_argument) {
		signature = signatures_get(&track->signatures, detail.event_type, err);
		if (track->signatures.failed)
			return SONDE_NOMEM;
		track->unread_details += !signature;
	} else {
		track->left_out_details += track->writer->without_details;
	}
	/* it is there, but not in the file */
	if ((is_argument && !signature) || (!is_argument && track->writer->without_details)) {
		if (batch->unread_details)
			++*batch->unread_details;
		return SONDE_OK;
	}
	sonde_buffer_clear(&track->json);
	sonde_json_writer_init(&json, &track->json, false);
	if (is_argument)
		sonde_arguments_put_json(&json, signature, detail.bytes, detail.size, NULL);
	else
		sonde_detail_put_json(&json, &detail);
	if (track->json.failed)
		return sonde_fail_nomem(err);
	parquet_put_long_text(rows, is_argument ? PARQUET_EVENT_ARGUMENTS : PARQUET_EVENT_DETAIL,
			      row, track->json.data, track->json.size);
	return SONDE_OK;
}

static enum sonde_status put_details(struct parquet_track *track, struct parquet_rows *rows,
				     const struct sonde_batch *batch,
				     const struct sonde_event *events, size_t count,
				     struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < count; i++) {
		if (sonde_event_has_detail(&events[i]))
			status = put_detail(track, rows, batch, &events[i], rows->page_rows + i,
					    err);
	}
	return status;
}

/* The wall clock, of as many rows as there are times. */
static void put_wall_times(const struct parquet_track *track, struct parquet_rows *rows,
			   size_t from, size_t to, size_t count)
{
	size_t row = rows->page_rows;
	const uint64_t *times = (const uint64_t *)rows->columns[from].values + row;
	uint64_t *wall = (uint64_t *)rows->columns[to].values + row;

	memset(rows->columns[to].present + row, track->has_wall_clock, count);
	for (size_t i = 0; i < count; i++)
		wall[i] = times[i] + track->shift_ns;
}

static enum sonde_status put_event_rows(struct parquet_track *track,
					const struct sonde_batch *batch, struct sonde_error *err)
{
	struct parquet_rows *rows;
	enum sonde_status status = parquet_track_rows(track, PARQUET_EVENT_TABLE, &rows, err);
	bool has_details = batch->details && !status;
	size_t done = 0;

	for (size_t i = 0; has_details && i < batch->count; i++)
		if (sonde_event_has_detail(&batch->events[i]))
			break;
		else if (i + 1 == batch->count)
			has_details = false;
	while (!status && done < batch->count) {
		const struct sonde_event *events = batch->events + done;
		size_t count = batch->count - done, room = parquet_rows_room(rows);
		bool are_calls;

		count = count < room ? count : room;
		if (has_details && count > DETAILED_AT_ONCE)
			count = DETAILED_AT_ONCE;
		learn_kinds(track, rows);
		are_calls = put_plain(track, rows, events, count);
		put_names(track, rows, events, count, are_calls);
		if (track->writer->with_time)
			put_wall_times(track, rows, PARQUET_EVENT_TIME_NS, PARQUET_EVENT_TIME,
				       count);
		if (has_details)
			status = put_details(track, rows, batch, events, count, err);
		if (!status)
			status = parquet_rows_add(rows, count, err);
		done += count;
	}
	return status;
}

/* --- spans --- */

static enum sonde_status add_spans(struct parquet_track *track, struct parquet_rows *rows,
				   struct sonde_error *err)
{
	size_t count = track->pending_spans;

	track->pending_spans = 0;
	if (track->writer->with_time)
		put_wall_times(track, rows, PARQUET_SPAN_START_NS, PARQUET_SPAN_TIME, count);
	return parquet_rows_add(rows, count, err);
}

static void learn_ends(struct parquet_track *track, struct parquet_rows *rows)
{
	track->ends_epoch = rows->epoch;
	for (unsigned int i = 0; i < SONDE_SPAN_END_COUNT; i++)
		track->ends[i] = PARQUET_NULL_CODE;
	track->ends[SONDE_SPAN_END_RETURN] = parquet_text_code(
		rows, PARQUET_SPAN_ENDED_BY, sonde_span_end_name(SONDE_SPAN_END_RETURN));
}

static enum sonde_status put_span(void *user, const struct sonde_call_span *span,
				  struct sonde_error *err)
{
	struct parquet_track *track = user;
	struct parquet_rows *rows = &track->rows[PARQUET_SPAN_TABLE];
	struct parquet_column *columns = rows->columns;
	size_t row = rows->page_rows + track->pending_spans;
	const struct parquet_known *known = know_function(track, rows, &track->span_functions,
							  span->function, PARQUET_SPAN_FUNCTION,
							  PARQUET_SPAN_MODULE);

	((uint32_t *)columns[PARQUET_SPAN_FUNCTION].values)[row] = known->code;
	((uint32_t *)columns[PARQUET_SPAN_MODULE].values)[row] = known->second;
	known = know_function(track, rows, &track->span_callers, span->caller, PARQUET_SPAN_CALLER,
			      SIZE_MAX);
	((uint32_t *)columns[PARQUET_SPAN_CALLER].values)[row] = known->code;
	if (track->ends_epoch != rows->epoch)
		learn_ends(track, rows);
	if (track->ends[span->ended_by] == PARQUET_NULL_CODE)
		track->ends[span->ended_by] = parquet_text_code(
			rows, PARQUET_SPAN_ENDED_BY, sonde_span_end_name(span->ended_by));
	((uint32_t *)columns[PARQUET_SPAN_ENDED_BY].values)[row] = track->ends[span->ended_by];
	((uint64_t *)columns[PARQUET_SPAN_START_NS].values)[row] = span->start_ns;
	((uint64_t *)columns[PARQUET_SPAN_DUR_NS].values)[row] = span->duration_ns;
	((uint64_t *)columns[PARQUET_SPAN_SELF_NS].values)[row] = span->self_ns;
	((uint32_t *)columns[PARQUET_SPAN_DEPTH].values)[row] = span->depth;
	((uint8_t *)columns[PARQUET_SPAN_RECURSIVE].values)[row] = span->is_recursive;
	if (++track->pending_spans < SPANS_AT_ONCE && row + 1 < PARQUET_PAGE_ROWS)
		return SONDE_OK;
	return add_spans(track, rows, err);
}

enum sonde_status parquet_track_events(struct parquet_track *track, const struct sonde_batch *batch,
				       struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	struct parquet_rows *spans;

	if (track->writer->without[PARQUET_EVENT_TABLE])
		track->left_out_events += batch->count;
	else
		status = put_event_rows(track, batch, err);
	if (status || track->writer->without[PARQUET_SPAN_TABLE])
		return status;
	status = parquet_track_rows(track, PARQUET_SPAN_TABLE, &spans, err);
	if (!status)
		status = sonde_call_spans_add(&track->spans, batch->events, batch->count, put_span,
					      track, err);
	return status;
}

/* --- samples and values --- */

/* The code of what a context is called, and of the function that it is or lies in. */
static const struct parquet_known *know_context(struct parquet_track *track,
						struct parquet_rows *rows,
						struct parquet_known_texts *known, uint32_t context,
						size_t name_column, size_t function_column)
{
	static const struct parquet_known none = { 0, 0, PARQUET_NULL_CODE };
	const struct parquet_writer *writer = track->writer;
	char label[LABEL_LONGEST], space[SONDE_LABEL_SIZE];
	struct parquet_known *place;
	uint32_t function;

	if (context < known->count && known->items[context].epoch == rows->epoch)
		return &known->items[context];
	place = context < writer->context_count ? parquet_known_place(known, context) : NULL;
	if (!place) {
		rows->failed = true;
		return &none;
	}
	place->epoch = rows->epoch;
	place->code = parquet_text_code(rows, name_column,
					sonde_context_label(writer->definitions,
							    &writer->contexts[context], label,
							    sizeof(label)));
	function = writer->context_functions[context];
	place->second = PARQUET_NULL_CODE;
	if (function != SONDE_NONE)
		place->second = parquet_text_code(
			rows, function_column,
			sonde_definitions_function_label(writer->definitions, function, space));
	return place;
}

enum sonde_status parquet_track_samples(struct parquet_track *track,
					const struct sonde_sample *samples, size_t count,
					struct sonde_error *err)
{
	struct parquet_rows *rows;
	enum sonde_status status = parquet_track_rows(track, PARQUET_SAMPLE_TABLE, &rows, err);

	for (size_t i = 0; !status && i < count; i++) {
		const struct parquet_known *known =
			know_context(track, rows, &track->sample_contexts, samples[i].context,
				     PARQUET_SAMPLE_NAME, PARQUET_SAMPLE_FUNCTION);
		size_t row = rows->page_rows;

		((uint32_t *)rows->columns[PARQUET_SAMPLE_NAME].values)[row] = known->code;
		((uint32_t *)rows->columns[PARQUET_SAMPLE_FUNCTION].values)[row] = known->second;
		parquet_put_number(rows, PARQUET_SAMPLE_TIME_NS, samples[i].time_ns);
		parquet_put_number(rows, PARQUET_SAMPLE_CONTEXT, samples[i].context);
		if (track->writer->with_time)
			put_wall_times(track, rows, PARQUET_SAMPLE_TIME_NS, PARQUET_SAMPLE_TIME, 1);
		status = parquet_rows_add(rows, 1, err);
	}
	return status;
}

static uint32_t know_metric(struct parquet_track *track, struct parquet_rows *rows, uint32_t number)
{
	const struct sonde_definitions *definitions = track->writer->definitions;
	const struct sonde_metric *metric = sonde_definitions_metric(definitions, number);
	struct parquet_known *place = metric ? parquet_known_place(&track->value_metrics, number) :
					       NULL;

	if (!place) {
		rows->failed |= metric != NULL;
		return parquet_text_code(rows, PARQUET_VALUE_METRIC, "");
	}
	if (place->epoch != rows->epoch) {
		place->epoch = rows->epoch;
		place->code =
			parquet_text_code(rows, PARQUET_VALUE_METRIC,
					  sonde_definitions_string(definitions, metric->name));
	}
	return place->code;
}

enum sonde_status parquet_track_values(struct parquet_track *track,
				       const struct sonde_value *values, size_t count,
				       struct sonde_error *err)
{
	struct parquet_rows *rows;
	enum sonde_status status = parquet_track_rows(track, PARQUET_VALUE_TABLE, &rows, err);

	for (size_t i = 0; !status && i < count; i++) {
		const struct parquet_known *known =
			know_context(track, rows, &track->value_contexts, values[i].context,
				     PARQUET_VALUE_NAME, PARQUET_VALUE_FUNCTION);
		size_t row = rows->page_rows;

		((uint32_t *)rows->columns[PARQUET_VALUE_NAME].values)[row] = known->code;
		((uint32_t *)rows->columns[PARQUET_VALUE_FUNCTION].values)[row] = known->second;
		((uint32_t *)rows->columns[PARQUET_VALUE_METRIC].values)[row] =
			know_metric(track, rows, values[i].metric);
		parquet_put_number(rows, PARQUET_VALUE_CONTEXT, values[i].context);
		parquet_put_double(rows, PARQUET_VALUE_VALUE, values[i].value);
		status = parquet_rows_add(rows, 1, err);
	}
	return status;
}

enum sonde_status parquet_track_end(struct parquet_track *track, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (track->begun[PARQUET_SPAN_TABLE]) {
		status = sonde_call_spans_end(&track->spans, put_span, track, err);
		if (!status && track->pending_spans)
			status = add_spans(track, &track->rows[PARQUET_SPAN_TABLE], err);
	}
	for (size_t i = 0; !status && i < PARQUET_TRACK_TABLES; i++) {
		if (track->begun[i])
			status = parquet_rows_end(&track->rows[i], err);
		track->begun[i] = false;
	}
	return status;
}
