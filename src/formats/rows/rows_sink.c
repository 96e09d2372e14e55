/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes one table of rows: the one that the style names, or what the source has most of: events, values,
 * samples, contexts. Tracks are written side by side and lie one after the other. What comes and is in other
 * tables is counted as lost.
 */
#include "formats/rows/rows_sink.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/parts.h"
#include "base/spares.h"

#define FLUSH_SIZE ((size_t)512 * 1024)

/* The table is not chosen yet. */
#define ROW_TABLE_OPEN ROW_TABLE_COUNT

const struct sonde_format_style rows_styles[] = {
	[ROW_EVENTS] = { "events", "a row for each event" },
	[ROW_SPANS] = { "spans", "a row for each call, with its duration" },
	[ROW_VALUES] = { "values", "a row for each value of a profile" },
	[ROW_SAMPLES] = { "samples", "a row for each sample of a profile" },
	[ROW_CONTEXTS] = { "contexts", "a row for each calling context, with its first metric" },
	[ROW_TABLE_COUNT] = { "details", "of events: registers, stack and bytes too" },
	{ NULL, NULL },
};

/* X(name, what, reason) */
#define ROWS_LOSS_LIST(X)                                                                          \
	X(UNREAD, "details", "the source cannot read them")                                        \
	X(REGISTERS, "details", "rows have arguments only; --style details writes all of them")    \
	X(NOT_CALLS, "events that are not calls", "spans are made of calls")                       \
	X(VALUES, "values", "the file holds one table; --style values writes this one")            \
	X(SAMPLES, "samples", "the file holds one table; --style samples writes this one")         \
	X(CONTEXTS, "contexts",                                                                    \
	  "rows have their number and name only; --style contexts writes the tree")                \
	X(OTHER_METRICS, "values", "contexts have those of one metric only")

enum rows_loss {
#define X(name, what, reason) ROWS_LOSS_##name,
	ROWS_LOSS_LIST(X)
#undef X
		ROWS_LOSS_COUNT
};

struct rows_sink {
	struct sonde_sink base;
	struct sonde_loss *loss;
	struct sonde_new_file file;
	struct sonde_parts *parts; /* made with the choice of the table */
	const struct row_form *form;
	enum row_table table;
	bool with_details;
	const struct sonde_definitions *definitions;
	uint32_t track_count;
	uint64_t start_ns;
	const struct sonde_context *contexts;
	uint32_t context_count;
	uint32_t metric;	    /* of contexts; SONDE_NONE: not chosen, or none */
	struct row_sums sums;	    /* of contexts */
	struct rows_track **tracks; /* by track; NULL unless rows of it came and it goes on */
	struct sonde_spares spares; /* of struct rows_track */
	_Atomic uint64_t losses[ROWS_LOSS_COUNT];
};

/* One track that is being written; its names serve for the next one too. */
struct rows_track {
	struct rows_sink *sink;
	uint32_t number;
	struct row_writer writer;
	struct sonde_buffer out;
	struct sonde_call_spans spans;
};

static struct rows_sink *sink_of(struct sonde_sink *sink)
{
	return (struct rows_sink *)sink;
}

static void lose(struct rows_sink *sink, enum rows_loss what, uint64_t count)
{
	if (count)
		atomic_fetch_add_explicit(&sink->losses[what], count, memory_order_relaxed);
}

/* --- tracks --- */

static void track_free(struct rows_track *track)
{
	if (!track)
		return;
	row_writer_release(&track->writer);
	sonde_buffer_release(&track->out);
	sonde_call_spans_release(&track->spans);
	free(track);
}

static struct rows_track *track_new(struct rows_sink *sink)
{
	struct rows_track *track = calloc(1, sizeof(*track));

	if (!track)
		return NULL;
	track->sink = sink;
	row_writer_init(&track->writer, sink->form, sink->definitions, NULL);
	track->writer.out = &track->out;
	track->writer.contexts = sink->contexts;
	track->writer.context_count = sink->context_count;
	track->writer.start_ns = sink->start_ns;
	track->writer.with_details = sink->with_details;
	return track;
}

static enum sonde_status find_track(struct rows_sink *sink, uint32_t number,
				    struct rows_track **track, struct sonde_error *err)
{
	if (number >= sink->track_count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "rows are of track %" PRIu32 ", which is not defined", number);
	*track = sink->tracks[number];
	if (*track)
		return SONDE_OK;
	*track = sonde_spares_take(&sink->spares);
	if (!*track)
		*track = track_new(sink);
	if (!*track)
		return sonde_fail_nomem(err);
	sink->tracks[number] = *track;
	(*track)->number = number;
	return SONDE_OK;
}

static enum sonde_status flush(struct rows_track *track, size_t at_least, struct sonde_error *err)
{
	enum sonde_status status;

	if (track->out.failed || row_writer_failed(&track->writer))
		return sonde_fail_nomem(err);
	if (track->out.size < at_least)
		return SONDE_OK;
	status = sonde_parts_write(track->sink->parts, track->number, track->out.data,
				   track->out.size, err);
	sonde_buffer_clear(&track->out);
	return status;
}

/* --- the table --- */

/* The header, and behind it room for the tracks. */
static enum sonde_status start(struct rows_sink *sink, enum row_table table,
			       struct sonde_error *err)
{
	struct sonde_buffer head = { 0 };
	struct row_writer writer;
	enum sonde_status status;

	sink->table = table;
	row_writer_init(&writer, sink->form, sink->definitions, NULL);
	writer.out = &head;
	writer.with_details = sink->with_details;
	sink->form->head(&writer, table);
	status = head.failed ? sonde_fail_nomem(err) :
			       sonde_output_write(&sink->file.output, head.data, head.size, err);
	row_writer_release(&writer);
	sonde_buffer_release(&head);
	if (!status)
		status = sonde_parts_new(&sink->file.output, sink->track_count, &sink->parts, err);
	return status;
}

static enum sonde_status begin(struct sonde_sink *base, const struct sonde_definitions *definitions,
			       struct sonde_error *err)
{
	struct rows_sink *sink = sink_of(base);
	bool has_events = false, has_time = false;

	sink->definitions = definitions;
	sink->track_count = sonde_definitions_track_count(definitions);
	sink->tracks = calloc((size_t)sink->track_count + 1, sizeof(*sink->tracks));
	if (!sink->tracks)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < sink->track_count; i++) {
		const struct sonde_track *track = sonde_definitions_track(definitions, i);

		has_events |= track->event_count != 0;
		if (!track->event_count && !track->sample_count)
			continue;
		if (!has_time || track->time_first_ns < sink->start_ns)
			sink->start_ns = track->time_first_ns;
		has_time = true;
	}
	if (sink->table != ROW_TABLE_OPEN)
		return start(sink, sink->table, err);
	return has_events ? start(sink, ROW_EVENTS, err) : SONDE_OK;
}

/* The metric that contexts are shown with: the first that is meant to be shown, else the first. */
static uint32_t choose_metric(const struct sonde_definitions *definitions)
{
	const struct sonde_metric *metric;
	uint32_t first = SONDE_NONE;

	for (uint32_t i = 0; (metric = sonde_definitions_metric(definitions, i)); i++) {
		const char *scope = sonde_definitions_string(definitions, metric->scope);

		if (metric->statistic || (*scope && strcmp(scope, "point")))
			continue;
		if (!metric->hidden)
			return i;
		first = first == SONDE_NONE ? i : first;
	}
	return first;
}

/* What a source without events has most to say by. */
static enum row_table choose_table(const struct rows_sink *sink)
{
	if (sink->context_count <= 1)
		return ROW_EVENTS;
	if (choose_metric(sink->definitions) != SONDE_NONE)
		return ROW_VALUES;
	for (uint32_t i = 0; i < sink->track_count; i++)
		if (sonde_definitions_track(sink->definitions, i)->sample_count)
			return ROW_SAMPLES;
	return ROW_CONTEXTS;
}

static enum sonde_status contexts(struct sonde_sink *base, const struct sonde_context *items,
				  uint32_t count, struct sonde_error *err)
{
	struct rows_sink *sink = sink_of(base);
	enum sonde_status status = SONDE_OK;

	sink->contexts = items;
	sink->context_count = count;
	if (sink->table == ROW_TABLE_OPEN)
		status = start(sink, choose_table(sink), err);
	if (sink->table != ROW_CONTEXTS) {
		lose(sink, ROWS_LOSS_CONTEXTS, count > 1 ? count : 0);
		return status;
	}
	sink->metric = choose_metric(sink->definitions);
	sink->sums.total = calloc((size_t)count + 1, sizeof(double));
	sink->sums.self = calloc((size_t)count + 1, sizeof(double));
	return sink->sums.total && sink->sums.self ? status : sonde_fail_nomem(err);
}

/* --- rows --- */

static enum sonde_status put_event(struct rows_track *track, const struct sonde_batch *batch,
				   const struct sonde_event *event, struct sonde_error *err)
{
	struct row_extras extras = { 0 };
	struct sonde_error fault = { 0 };
	struct sonde_detail detail;
	enum sonde_status status = SONDE_END;

	if (batch->details && sonde_event_has_detail(event))
		status = sonde_batch_detail(batch, event, &detail, &fault);
	if (status == SONDE_OK)
		row_take_detail(&track->writer, &detail, &extras, &fault);
	else if (status == SONDE_CORRUPT || status == SONDE_TRUNCATED || status == SONDE_ARGUMENT)
		extras.fault = fault.message;
	else if (status < 0)
		return sonde_fail(err, status, fault.offset, "%s", fault.message);
	if (extras.fault)
		lose(track->sink, ROWS_LOSS_UNREAD, 1);
	else if (status == SONDE_OK && !extras.arguments && !extras.detail)
		lose(track->sink, ROWS_LOSS_REGISTERS, 1);
	/* it is there, but not in the file */
	if (status == SONDE_OK && !extras.arguments && !extras.detail && batch->unread_details)
		++*batch->unread_details;
	track->writer.form->event(&track->writer, event, &extras);
	return flush(track, FLUSH_SIZE, err);
}

static enum sonde_status put_events(struct rows_track *track, const struct sonde_batch *batch,
				    struct sonde_error *err)
{
	static const struct row_extras none;
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < batch->count; i++) {
		const struct sonde_event *event = &batch->events[i];

		if (sonde_event_has_detail(event))
			status = put_event(track, batch, event, err);
		else
			track->writer.form->event(&track->writer, event, &none);
	}
	return status ? status : flush(track, FLUSH_SIZE, err);
}

static enum sonde_status put_span(void *user, const struct sonde_call_span *span,
				  struct sonde_error *err)
{
	struct rows_track *track = user;

	track->writer.form->span(&track->writer, track->number, span);
	return flush(track, FLUSH_SIZE, err);
}

static enum sonde_status events(struct sonde_sink *base, uint32_t number,
				const struct sonde_batch *batch, struct sonde_error *err)
{
	struct rows_sink *sink = sink_of(base);
	struct rows_track *track = NULL;
	enum sonde_status status = find_track(sink, number, &track, err);
	uint64_t not_calls = 0;

	if (!track)
		return status;
	if (sink->table == ROW_EVENTS)
		return put_events(track, batch, err);
	for (size_t i = 0; i < batch->count; i++)
		not_calls += batch->events[i].kind - 1U >= SONDE_EVENT_EXCEPTION;
	lose(sink, ROWS_LOSS_NOT_CALLS, not_calls);
	return sonde_call_spans_add(&track->spans, batch->events, batch->count, put_span, track,
				    err);
}

static enum sonde_status samples(struct sonde_sink *base, uint32_t number,
				 const struct sonde_sample *items, size_t count,
				 struct sonde_error *err)
{
	struct rows_sink *sink = sink_of(base);
	struct rows_track *track = NULL;
	enum sonde_status status;

	if (sink->table != ROW_SAMPLES) {
		lose(sink, ROWS_LOSS_SAMPLES, count);
		return SONDE_OK;
	}
	status = find_track(sink, number, &track, err);
	if (!track)
		return status;
	for (size_t i = 0; i < count; i++)
		track->writer.form->sample(&track->writer, &items[i]);
	return flush(track, FLUSH_SIZE, err);
}

/* Tracks come one after the other here, so that sums do not depend on who is first. */
static void add_to_contexts(struct rows_sink *sink, const struct sonde_value *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (items[i].metric == sink->metric && items[i].context < sink->context_count)
			sink->sums.self[items[i].context] += items[i].value;
		else
			lose(sink, ROWS_LOSS_OTHER_METRICS, 1);
	}
}

static enum sonde_status values(struct sonde_sink *base, uint32_t number,
				const struct sonde_value *items, size_t count,
				struct sonde_error *err)
{
	struct rows_sink *sink = sink_of(base);
	struct rows_track *track = NULL;
	enum sonde_status status;

	if (sink->table == ROW_CONTEXTS) {
		add_to_contexts(sink, items, count);
		return SONDE_OK;
	}
	if (sink->table != ROW_VALUES) {
		lose(sink, ROWS_LOSS_VALUES, count);
		return SONDE_OK;
	}
	status = find_track(sink, number, &track, err);
	if (!track)
		return status;
	for (size_t i = 0; i < count; i++)
		track->writer.form->value(&track->writer, &items[i]);
	return flush(track, FLUSH_SIZE, err);
}

static enum sonde_status track_end(struct sonde_sink *base, uint32_t number,
				   struct sonde_error *err)
{
	struct rows_sink *sink = sink_of(base);
	struct rows_track *track = number < sink->track_count ? sink->tracks[number] : NULL;
	enum sonde_status status = SONDE_OK;

	if (track && sink->table == ROW_SPANS)
		status = sonde_call_spans_end(&track->spans, put_span, track, err);
	if (track && !status)
		status = flush(track, 1, err);
	if (!status && number < sink->track_count)
		status = sonde_parts_end(sink->parts, number, err);
	if (status || !track)
		return status;
	sink->tracks[number] = NULL;
	if (!sonde_spares_give(&sink->spares, track))
		track_free(track);
	return SONDE_OK;
}

/* --- the end --- */

static enum sonde_status put_contexts(struct rows_sink *sink, struct sonde_error *err)
{
	struct rows_track *track = track_new(sink);
	struct row_sums *sums = &sink->sums;
	enum sonde_status status = SONDE_OK;

	if (!track)
		return sonde_fail_nomem(err);
	for (uint32_t i = sink->context_count; i-- > 0;) {
		sums->total[i] += sums->self[i];
		if (i && sink->contexts[i].parent < i)
			sums->total[sink->contexts[i].parent] += sums->total[i];
	}
	for (uint32_t i = 0; !status && i < sink->context_count; i++) {
		sink->form->context(&track->writer, i, sink->metric == SONDE_NONE ? NULL : sums);
		if (track->out.size < FLUSH_SIZE && i + 1 < sink->context_count)
			continue;
		status = track->out.failed || row_writer_failed(&track->writer) ?
				 sonde_fail_nomem(err) :
				 sonde_output_write(&sink->file.output, track->out.data,
						    track->out.size, err);
		sonde_buffer_clear(&track->out);
	}
	track_free(track);
	return status;
}

static enum sonde_status report_losses(struct rows_sink *sink, struct sonde_error *err)
{
	static const struct {
		const char *what, *reason;
	} losses[] = {
#define X(name, what, reason) { what, reason },
		ROWS_LOSS_LIST(X)
#undef X
	};
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < ROWS_LOSS_COUNT; i++)
		status = sonde_loss_add(sink->loss, losses[i].what, losses[i].reason,
					sink->losses[i], err);
	if (!status)
		status = sonde_loss_add(sink->loss, "names that are not UTF-8",
					"U+FFFD stands for each bad byte",
					sonde_names_not_utf8(sink->definitions), err);
	if (!status)
		status = sonde_loss_add(sink->loss, "attributes", "rows have no place for them",
					sonde_definitions_attribute_count(sink->definitions), err);
	return status;
}

static enum sonde_status complete(struct sonde_sink *base, struct sonde_error *err)
{
	struct rows_sink *sink = sink_of(base);
	enum sonde_status status = SONDE_OK;

	if (sink->table == ROW_CONTEXTS)
		status = put_contexts(sink, err);
	if (!status)
		status = report_losses(sink, err);
	return status ? status : sonde_output_close(&sink->file.output, err);
}

static enum sonde_status finish(struct sonde_sink *sink, struct sonde_error *err)
{
	return sonde_new_file_commit(&sink_of(sink)->file, err);
}

static void sink_free(struct sonde_sink *base)
{
	struct rows_sink *sink = sink_of(base);
	struct rows_track *track;

	for (uint32_t i = 0; sink->tracks && i < sink->track_count; i++)
		track_free(sink->tracks[i]);
	while ((track = sonde_spares_take(&sink->spares)))
		track_free(track);
	sonde_spares_release(&sink->spares);
	sonde_parts_free(sink->parts);
	sonde_new_file_release(&sink->file);
	free(sink->tracks);
	free(sink->sums.total);
	free(sink->sums.self);
	free(sink);
}

/* What a table is made of, and with that what a pipeline derives for it. */
#define ROWS_OPS(lanes_, is_parallel)                                                              \
	{                                                                                          \
		.lanes = (lanes_), .parallel_tracks = (is_parallel), .begin = begin,               \
		.events = events, .contexts = contexts, .values = values, .samples = samples,      \
		.track_end = track_end, .complete = complete, .finish = finish, .free = sink_free, \
	}

static const struct sonde_sink_ops sink_ops[] = {
	[ROW_EVENTS] = ROWS_OPS(SONDE_LANE_EVENTS | SONDE_LANE_DETAILS, true),
	[ROW_SPANS] = ROWS_OPS(SONDE_LANE_EVENTS, true),
	[ROW_VALUES] = ROWS_OPS(SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES, true),
	[ROW_SAMPLES] = ROWS_OPS(SONDE_LANE_CONTEXTS | SONDE_LANE_SAMPLES, true),
	[ROW_CONTEXTS] = ROWS_OPS(SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES, false),
	[ROW_TABLE_OPEN] = ROWS_OPS(ROWS_LANES_WRITTEN, true),
};

/* What the source has most to say by, where that is known already. */
static enum row_table table_for(unsigned int lanes)
{
	if (lanes & SONDE_LANE_EVENTS)
		return ROW_EVENTS;
	if (lanes & SONDE_LANE_VALUES)
		return ROW_VALUES;
	if (lanes & SONDE_LANE_SAMPLES)
		return ROW_SAMPLES;
	return lanes & SONDE_LANE_CONTEXTS ? ROW_CONTEXTS : ROW_TABLE_OPEN;
}

/* The table that a style names; SONDE_ARGUMENT where it names two. */
static enum sonde_status table_of(const char *style, enum row_table *table, struct sonde_error *err)
{
	*table = ROW_TABLE_OPEN;
	for (unsigned int i = 0; i < ROW_TABLE_COUNT; i++) {
		if (!sonde_format_has_style(style, rows_styles[i].word))
			continue;
		if (*table != ROW_TABLE_OPEN)
			return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
					  "a file holds one table: %s or %s, not both",
					  rows_styles[*table].word, rows_styles[i].word);
		*table = (enum row_table)i;
	}
	return SONDE_OK;
}

enum sonde_status rows_create(const char *path, const struct row_form *form,
			      const struct sonde_create_options *options, struct sonde_sink **made,
			      struct sonde_error *err)
{
	struct rows_sink *sink;
	enum row_table table;
	enum sonde_status status = table_of(options->style, &table, err);

	*made = NULL;
	if (status)
		return status;
	sink = calloc(1, sizeof(*sink));
	if (!sink || !sonde_spares_init(&sink->spares)) {
		free(sink);
		return sonde_fail_nomem(err);
	}
	if (table == ROW_TABLE_OPEN)
		table = table_for(options->source_lanes);
	sink->base.ops = &sink_ops[table];
	sink->loss = options->loss;
	sink->form = form;
	sink->table = table;
	sink->metric = SONDE_NONE;
	sink->with_details = sonde_format_has_style(options->style, "details");
	status = sonde_new_file_begin(&sink->file, path, options->replace, err);
	if (status) {
		sink_free(&sink->base);
		return status;
	}
	*made = &sink->base;
	return SONDE_OK;
}
