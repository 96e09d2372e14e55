/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes profiles of the Firefox Profiler: the sink, samples and markers. Where there are calls,
 * there is a sample wherever the innermost one changes, with the time until the next change as its
 * weight; everything else that happens is a marker.
 */
#include "formats/firefox/firefox_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "model/loss.h"

static const char *const column_starts[] = {
#define X(name, before) before,
	FIREFOX_COLUMN_LIST(X)
#undef X
};

static struct firefox_writer *writer_of(struct sonde_sink *sink)
{
	return (struct firefox_writer *)sink;
}

static void lane_free(struct firefox_lane *lane)
{
	for (size_t i = 0; i < FIREFOX_COLUMNS; i++)
		sonde_buffer_release(&lane->text[i]);
	exchange_values_release(&lane->values);
	sonde_vec_release(&lane->open);
	sonde_buffer_release(&lane->packed);
	sonde_gzip_packer_free(lane->packer);
	firefox_tables_release(&lane->tables);
	free(lane);
}

static enum sonde_status lane_new(const struct firefox_writer *writer, uint32_t track,
				  struct firefox_lane **lane, struct sonde_error *err)
{
	struct firefox_lane *made = calloc(1, sizeof(*made));
	enum sonde_status status = SONDE_OK;

	if (!made)
		return sonde_fail_nomem(err);
	if (writer->is_packed)
		status = sonde_gzip_packer_new(&made->packer, err);
	if (status) {
		free(made);
		return status;
	}
	made->stack = SONDE_NONE;
	firefox_write_thread_head(writer, &made->text[FIREFOX_COLUMN_STACK], track, NULL);
	sonde_buffer_put_text(&made->text[FIREFOX_COLUMN_STACK],
			      "\"weightType\":\"tracing-ms\",\"stack\":[");
	for (size_t i = 0; i < FIREFOX_COLUMNS; i++)
		sonde_buffer_put_text(&made->text[i], column_starts[i]);
	*lane = made;
	return SONDE_OK;
}

static enum sonde_status take_lane(struct firefox_writer *writer, uint32_t track,
				   struct firefox_lane **lane, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (track >= writer->track_count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "something is of track %" PRIu32 ", which is not defined", track);
	if (!writer->lanes[track])
		status = lane_new(writer, track, &writer->lanes[track], err);
	*lane = writer->lanes[track];
	return status;
}

enum sonde_status firefox_flush(struct firefox_writer *writer, struct firefox_lane *lane,
				uint32_t track, enum firefox_column column, bool always,
				struct sonde_error *err)
{
	size_t part = (size_t)track * FIREFOX_COLUMNS + column;
	struct sonde_buffer *text = &lane->text[column], *out = text;
	enum sonde_status status = SONDE_OK;

	if (text->failed)
		return sonde_fail_nomem(err);
	if (!text->size || (!always && text->size < FIREFOX_WRITE_BYTES))
		return SONDE_OK;
	if (writer->is_packed) {
		out = &lane->packed;
		sonde_buffer_clear(out);
		status = sonde_gzip_piece(lane->packer, text->data, text->size, out,
					  &writer->sums[part], err);
	}
	if (!status)
		status = sonde_parts_write(writer->parts, part, out->data, out->size, err);
	text->size = 0;
	return status;
}

/* Samples */

/* Puts down the sample before, which lasts until now. */
static void put_sample(const struct firefox_writer *writer, struct firefox_lane *lane,
		       uint64_t until_ns)
{
	struct sonde_buffer *stack = &lane->text[FIREFOX_COLUMN_STACK];
	struct sonde_buffer *time = &lane->text[FIREFOX_COLUMN_TIME];
	struct sonde_buffer *weight = &lane->text[FIREFOX_COLUMN_WEIGHT];

	if (!lane->has_sample)
		return;
	if (lane->samples++) {
		sonde_buffer_put_char(stack, ',');
		sonde_buffer_put_char(time, ',');
		sonde_buffer_put_char(weight, ',');
	}
	if (lane->stack == SONDE_NONE)
		sonde_buffer_put_text(stack, "null");
	else
		sonde_buffer_put_u64(stack, lane->stack);
	firefox_put_time(writer, time, lane->time_ns);
	firefox_put_length(weight, until_ns - lane->time_ns);
}

/* From now on the track is in that stack. */
static void change(const struct firefox_writer *writer, struct firefox_lane *lane, uint32_t stack)
{
	put_sample(writer, lane, lane->last_ns);
	lane->has_sample = true;
	lane->stack = stack;
	lane->time_ns = lane->last_ns;
}

static void take_time(struct firefox_lane *lane, uint64_t time_ns)
{
	if (time_ns < lane->last_ns)
		lane->losses[FIREFOX_LOSS_WENT_BACK]++;
	else
		lane->last_ns = time_ns;
}

static enum sonde_status take_call(struct firefox_writer *writer, struct firefox_lane *lane,
				   const struct sonde_event *event, struct sonde_error *err)
{
	uint32_t prefix = lane->open.count ? lane->open.items[lane->open.count - 1].mark :
					     SONDE_NONE;
	enum sonde_status status;
	uint32_t stack;

	status = firefox_step(&lane->tables, prefix,
			      exchange_stacks_frame(&writer->stacks, event->function), &stack, err);
	if (status)
		return status;
	if (!sonde_call_stack_push(&lane->open, event, stack))
		return sonde_fail_nomem(err);
	lane->losses[FIREFOX_LOSS_CALLS]++;
	change(writer, lane, stack);
	return SONDE_OK;
}

static void take_leave(struct firefox_writer *writer, struct firefox_lane *lane,
		       const struct sonde_event *event)
{
	size_t place = sonde_call_stack_find_left(&lane->open, event);

	if (place == SONDE_NO_CALL) {
		lane->losses[FIREFOX_LOSS_LONE_RETURN]++;
		return;
	}
	lane->losses[FIREFOX_LOSS_MISSING_RETURN] += lane->open.count - place - 1;
	lane->open.count = place;
	change(writer, lane, place ? lane->open.items[place - 1].mark : SONDE_NONE);
}

/* Markers */

static void put_marker_data(struct sonde_buffer *out, const struct sonde_event *event)
{
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, out, false);
	sonde_json_object_begin(&json);
	switch (event->kind) {
	case SONDE_EVENT_FLOW_BEGIN:
	case SONDE_EVENT_FLOW_STEP:
	case SONDE_EVENT_FLOW_END:
		sonde_json_member_string(&json, "type", "Flow");
		sonde_json_member_string(&json, "step", sonde_event_kind_name(event->kind));
		sonde_json_member_u64(&json, "number", event->extra);
		break;
	case SONDE_EVENT_RANGE_BEGIN:
	case SONDE_EVENT_RANGE_END:
		sonde_json_member_string(&json, "type", "Range");
		sonde_json_member_u64(&json, "number", event->extra);
		break;
	case SONDE_EVENT_COUNTER:
		sonde_json_member_string(&json, "type", "Counter");
		sonde_json_member_double(&json, "value", sonde_event_value(event));
		break;
	default:
		sonde_json_member_string(&json, "type", "Event");
		sonde_json_member_string(&json, "kind", sonde_event_kind_name(event->kind));
		break;
	}
	sonde_json_object_end(&json);
}

static enum sonde_status put_marker(struct firefox_writer *writer, struct firefox_lane *lane,
				    const struct sonde_event *event, struct sonde_error *err)
{
	const struct sonde_event_type *type =
		sonde_definitions_event_type(writer->definitions, event->function);
	struct sonde_buffer *text = lane->text;
	char label[SONDE_LABEL_SIZE];
	const char *name = type ? sonde_definitions_string(writer->definitions, type->name) : "";
	bool begins = event->kind == SONDE_EVENT_RANGE_BEGIN;
	bool ends = event->kind == SONDE_EVENT_RANGE_END;
	enum sonde_status status;
	uint32_t row;

	if (sonde_event_has_function(event))
		name = sonde_definitions_function_label(writer->definitions, event->function,
							label);
	status = firefox_string(&lane->tables, name, &row, err);
	if (status)
		return status;
	if (lane->markers++) {
		for (unsigned int i = FIREFOX_COLUMN_MARKER_NAME; i <= FIREFOX_COLUMN_MARKER_DATA;
		     i++)
			sonde_buffer_put_char(&text[i], ',');
	}
	sonde_buffer_put_u64(&text[FIREFOX_COLUMN_MARKER_NAME], row);
	if (ends)
		sonde_buffer_put_text(&text[FIREFOX_COLUMN_MARKER_START], "null");
	else
		firefox_put_time(writer, &text[FIREFOX_COLUMN_MARKER_START], event->time_ns);
	if (ends)
		firefox_put_time(writer, &text[FIREFOX_COLUMN_MARKER_END], event->time_ns);
	else
		sonde_buffer_put_text(&text[FIREFOX_COLUMN_MARKER_END], "null");
	sonde_buffer_put_u64(&text[FIREFOX_COLUMN_MARKER_PHASE], begins ? FIREFOX_PHASE_BEGIN :
								 ends	? FIREFOX_PHASE_END :
									  FIREFOX_PHASE_INSTANT);
	sonde_buffer_put_char(&text[FIREFOX_COLUMN_MARKER_CATEGORY], '0');
	put_marker_data(&text[FIREFOX_COLUMN_MARKER_DATA], event);
	return SONDE_OK;
}

static enum sonde_status take_event(struct firefox_writer *writer, struct firefox_lane *lane,
				    const struct sonde_event *event, struct sonde_error *err)
{
	take_time(lane, event->time_ns);
	if (event->flags & SONDE_EVENT_SYNTHETIC)
		lane->losses[FIREFOX_LOSS_SYNTHETIC]++;
	switch (event->kind) {
	case SONDE_EVENT_CALL:
		return take_call(writer, lane, event, err);
	case SONDE_EVENT_RETURN:
		take_leave(writer, lane, event);
		return SONDE_OK;
	case SONDE_EVENT_EXCEPTION:
		take_leave(writer, lane, event);
		return put_marker(writer, lane, event, err);
	case SONDE_EVENT_OTHER:
		lane->losses[FIREFOX_LOSS_OTHER]++;
		return SONDE_OK;
	default:
		return put_marker(writer, lane, event, err);
	}
}

/* The sink */

static enum sonde_status flush_columns(struct firefox_writer *writer, struct firefox_lane *lane,
				       uint32_t track, bool always, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (unsigned int i = 0; !status && i < FIREFOX_COLUMNS; i++)
		status = firefox_flush(writer, lane, track, (enum firefox_column)i, always, err);
	return status;
}

static enum sonde_status firefox_writer_events(struct sonde_sink *sink, uint32_t track,
					       const struct sonde_batch *batch,
					       struct sonde_error *err)
{
	struct firefox_writer *writer = writer_of(sink);
	struct firefox_lane *lane = NULL;
	enum sonde_status status = take_lane(writer, track, &lane, err);

	if (!lane)
		return status;
	for (size_t i = 0; !status && i < batch->count; i++) {
		status = take_event(writer, lane, &batch->events[i], err);
		/* now and then: a batch may be large */
		if (!status && i % 256 == 255)
			status = flush_columns(writer, lane, track, false, err);
	}
	return status ? status : flush_columns(writer, lane, track, false, err);
}

static enum sonde_status firefox_writer_samples(struct sonde_sink *sink, uint32_t track,
						const struct sonde_sample *samples, size_t count,
						struct sonde_error *err)
{
	struct firefox_writer *writer = writer_of(sink);
	struct firefox_lane *lane = NULL;
	enum sonde_status status = take_lane(writer, track, &lane, err);

	if (!lane)
		return status;
	for (size_t i = 0; !status && i < count; i++) {
		uint32_t stack;

		status = firefox_context(&lane->tables, &writer->stacks, samples[i].context, &stack,
					 err);
		take_time(lane, samples[i].time_ns);
		change(writer, lane, stack);
	}
	return status ? status : flush_columns(writer, lane, track, false, err);
}

static enum sonde_status firefox_writer_values(struct sonde_sink *sink, uint32_t track,
					       const struct sonde_value *values, size_t count,
					       struct sonde_error *err)
{
	struct firefox_lane *lane = NULL;
	enum sonde_status status = take_lane(writer_of(sink), track, &lane, err);

	return lane ? firefox_take_values(writer_of(sink), lane, values, count, err) : status;
}

static enum sonde_status firefox_writer_contexts(struct sonde_sink *sink,
						 const struct sonde_context *contexts,
						 uint32_t count, struct sonde_error *err)
{
	struct firefox_writer *writer = writer_of(sink);
	enum sonde_status status;

	exchange_stacks_release(&writer->stacks);
	status = exchange_stacks_init(&writer->stacks, writer->definitions, contexts, count,
				      UINT32_MAX, err);
	writer->losses[FIREFOX_LOSS_FOLDED] = writer->stacks.folded;
	return status;
}

static enum sonde_status report_losses(const struct firefox_writer *writer, uint64_t *counts,
				       struct sonde_error *err)
{
	static const struct sonde_loss_kind kinds[] = {
#define X(name, what, reason, elsewhere) { what, reason, elsewhere },
		FIREFOX_LOSS_LIST(X)
#undef X
	};

	return sonde_loss_add_kinds(writer->loss, kinds, counts, FIREFOX_LOSS_COUNT, err);
}

/* The thread of a track's times, and those of its metrics. */
static enum sonde_status end_lane(struct firefox_writer *writer, struct firefox_lane *lane,
				  uint32_t track, struct sonde_error *err)
{
	enum sonde_status status;

	lane->losses[FIREFOX_LOSS_MISSING_RETURN] += lane->open.count;
	put_sample(writer, lane, lane->last_ns);
	sonde_buffer_put_format(&lane->text[FIREFOX_COLUMN_WEIGHT],
				"],\n\"length\":%" PRIu64 "},\n\"markers\":{\"name\":[",
				lane->samples);
	sonde_buffer_put_format(&lane->text[FIREFOX_COLUMN_MARKER_DATA],
				"],\n\"length\":%" PRIu64 "},\n", lane->markers);
	status = firefox_write_tables(writer, lane, &lane->text[FIREFOX_COLUMN_TABLES], err);
	if (!status)
		status = firefox_write_values(writer, lane, track, err);
	if (!status)
		status = flush_columns(writer, lane, track, true, err);
	return status ? status : report_losses(writer, lane->losses, err);
}

static enum sonde_status firefox_writer_track_end(struct sonde_sink *sink, uint32_t track,
						  struct sonde_error *err)
{
	struct firefox_writer *writer = writer_of(sink);
	struct firefox_lane *lane = NULL;
	enum sonde_status status = take_lane(writer, track, &lane, err);

	if (!lane)
		return status;
	status = end_lane(writer, lane, track, err);
	for (unsigned int i = 0; !status && i < FIREFOX_COLUMNS; i++)
		status = sonde_parts_end(writer->parts, (size_t)track * FIREFOX_COLUMNS + i, err);
	lane_free(lane);
	writer->lanes[track] = NULL;
	return status;
}

/* Text before or behind the threads, packed where the file is. */
static enum sonde_status put_text(struct firefox_writer *writer, const struct sonde_buffer *text,
				  struct sonde_gzip_sum *sum, struct sonde_buffer *out,
				  struct sonde_error *err)
{
	struct sonde_gzip_packer *packer = NULL;
	enum sonde_status status;

	if (text->failed)
		return sonde_fail_nomem(err);
	if (!writer->is_packed) {
		sonde_buffer_put(out, text->data, text->size);
		return SONDE_OK;
	}
	status = sonde_gzip_packer_new(&packer, err);
	if (!status)
		status = sonde_gzip_piece(packer, text->data, text->size, out, sum, err);
	sonde_gzip_packer_free(packer);
	return status;
}

static enum sonde_status write_out(struct firefox_writer *writer, struct sonde_buffer *out,
				   struct sonde_error *err)
{
	if (out->failed)
		return sonde_fail_nomem(err);
	return sonde_output_write(&writer->file.output, out->data, out->size, err);
}

static enum sonde_status write_head(struct firefox_writer *writer, struct sonde_error *err)
{
	struct sonde_buffer text = { 0 }, out = { 0 };
	enum sonde_status status;

	firefox_write_head(writer, &text);
	if (writer->is_packed)
		sonde_gzip_begin(&out);
	status = put_text(writer, &text, &writer->head_sum, &out, err);
	if (!status)
		status = write_out(writer, &out, err);
	sonde_buffer_release(&text);
	sonde_buffer_release(&out);
	return status;
}

static enum sonde_status write_tail(struct firefox_writer *writer, struct sonde_error *err)
{
	struct sonde_gzip_sum sum = writer->head_sum, last = { 0 };
	size_t parts = (size_t)writer->track_count * FIREFOX_COLUMNS;
	struct sonde_buffer text = { 0 }, out = { 0 };
	enum sonde_status status;

	firefox_write_tail(writer, &text);
	status = put_text(writer, &text, &last, &out, err);
	if (!status && writer->is_packed) {
		for (size_t i = 0; i < parts; i++)
			sonde_gzip_join(&sum, writer->sums[i]);
		sonde_gzip_join(&sum, last);
		sonde_gzip_end(&out, sum);
	}
	if (!status)
		status = write_out(writer, &out, err);
	sonde_buffer_release(&text);
	sonde_buffer_release(&out);
	return status;
}

/* The first time of all tracks, as the source says. */
static uint64_t find_start(const struct sonde_definitions *definitions)
{
	uint32_t count = sonde_definitions_track_count(definitions);
	uint64_t start_ns = UINT64_MAX;

	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_track *track = sonde_definitions_track(definitions, i);

		if ((track->event_count || track->sample_count) && track->time_first_ns < start_ns)
			start_ns = track->time_first_ns;
	}
	return start_ns == UINT64_MAX ? 0 : start_ns;
}

static enum sonde_status firefox_writer_begin(struct sonde_sink *sink,
					      const struct sonde_definitions *definitions,
					      struct sonde_error *err)
{
	struct firefox_writer *writer = writer_of(sink);
	enum sonde_status status;
	size_t parts;

	writer->definitions = definitions;
	writer->track_count = sonde_definitions_track_count(definitions);
	writer->metric_count = sonde_definitions_metric_count(definitions);
	writer->start_ns = find_start(definitions);
	writer->losses[FIREFOX_LOSS_ATTRIBUTES] = sonde_definitions_attribute_count(definitions);
	parts = (size_t)writer->track_count * FIREFOX_COLUMNS;
	writer->lanes = calloc((size_t)writer->track_count + 1, sizeof(struct firefox_lane *));
	writer->is_metric_used = calloc((size_t)writer->metric_count + 1, sizeof(_Atomic bool));
	writer->sums = calloc(parts + 1, sizeof(*writer->sums));
	if (!writer->lanes || !writer->is_metric_used || !writer->sums)
		return sonde_fail_nomem(err);
	status = exchange_stacks_init(&writer->stacks, definitions, NULL, 0, UINT32_MAX, err);
	if (!status)
		status = firefox_make_pids(writer, err);
	if (!status)
		status = write_head(writer, err);
	return status ? status : sonde_parts_new(&writer->file.output, parts, &writer->parts, err);
}

static enum sonde_status firefox_writer_complete(struct sonde_sink *sink, struct sonde_error *err)
{
	struct firefox_writer *writer = writer_of(sink);
	enum sonde_status status = write_tail(writer, err);

	writer->losses[FIREFOX_LOSS_METRICS] = exchange_count_unused(
		writer->definitions, writer->is_metric_used, writer->metric_count);
	if (!status)
		status = report_losses(writer, writer->losses, err);
	return status ? status : sonde_output_close(&writer->file.output, err);
}

static enum sonde_status firefox_writer_finish(struct sonde_sink *sink, struct sonde_error *err)
{
	return sonde_new_file_commit(&writer_of(sink)->file, err);
}

static void firefox_writer_free(struct sonde_sink *sink)
{
	struct firefox_writer *writer = writer_of(sink);

	for (uint32_t i = 0; writer->lanes && i < writer->track_count; i++) {
		if (writer->lanes[i])
			lane_free(writer->lanes[i]);
	}
	for (uint32_t i = 0; i < writer->process_count; i++)
		free(writer->pids[i]);
	sonde_parts_free(writer->parts);
	sonde_new_file_release(&writer->file);
	exchange_stacks_release(&writer->stacks);
	free(writer->pids);
	free(writer->lanes);
	free(writer->is_metric_used);
	free(writer->sums);
	free(writer);
}

static const struct sonde_sink_ops firefox_writer_ops = {
	.lanes = SONDE_LANE_EVENTS | SONDE_LANE_SAMPLES | SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES,
	.parallel_tracks = true,
	.begin = firefox_writer_begin,
	.events = firefox_writer_events,
	.contexts = firefox_writer_contexts,
	.values = firefox_writer_values,
	.samples = firefox_writer_samples,
	.track_end = firefox_writer_track_end,
	.complete = firefox_writer_complete,
	.finish = firefox_writer_finish,
	.free = firefox_writer_free,
};

enum sonde_status firefox_create(const char *path, const struct sonde_create_options *options,
				 struct sonde_sink **sink, struct sonde_error *err)
{
	struct firefox_writer *writer = calloc(1, sizeof(*writer));
	enum sonde_status status;

	*sink = NULL;
	if (!writer)
		return sonde_fail_nomem(err);
	writer->base.ops = &firefox_writer_ops;
	writer->loss = options ? options->loss : NULL;
	writer->is_packed = sonde_format_suffix_length(path, strlen(path), ".gz") ||
			    (options && sonde_format_has_style(options->style, "gzip"));
	status = sonde_new_file_begin(&writer->file, path, options && options->replace, err);
	if (status) {
		firefox_writer_free(&writer->base);
		return status;
	}
	*sink = &writer->base;
	return SONDE_OK;
}
