/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes speedscope files: the sink, and calls as evented profiles. Whatever is closed was opened,
 * in order: returns without a call are left out, calls without a return are closed with the call
 * around them, or at the end.
 */
#include "formats/speedscope/speedscope_write.h"

#include <inttypes.h>
#include <stdlib.h>

#include "model/loss.h"

#define EXACT ((uint64_t)1 << 53)

static struct speedscope_writer *writer_of(struct sonde_sink *sink)
{
	return (struct speedscope_writer *)sink;
}

static void lane_free(struct speedscope_lane *lane)
{
	for (size_t i = 0; i < SPEEDSCOPE_PARTS; i++)
		sonde_buffer_release(&lane->text[i]);
	exchange_values_release(&lane->values);
	sonde_vec_release(&lane->open);
	free(lane);
}

static enum sonde_status take_lane(struct speedscope_writer *writer, uint32_t track,
				   struct speedscope_lane **lane, struct sonde_error *err)
{
	if (track >= writer->track_count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "something is of track %" PRIu32 ", which is not defined", track);
	if (!writer->lanes[track])
		writer->lanes[track] = calloc(1, sizeof(**lane));
	*lane = writer->lanes[track];
	return *lane ? SONDE_OK : sonde_fail_nomem(err);
}

enum sonde_status speedscope_flush(struct speedscope_writer *writer, struct speedscope_lane *lane,
				   uint32_t track, unsigned int part, bool always,
				   struct sonde_error *err)
{
	struct sonde_buffer *text = &lane->text[part];
	enum sonde_status status = SONDE_OK;

	if (text->failed)
		return sonde_fail_nomem(err);
	if (!text->size || (!always && text->size < SPEEDSCOPE_WRITE_BYTES))
		return SONDE_OK;
	status = sonde_parts_write(writer->parts, (size_t)track * SPEEDSCOPE_PARTS + part,
				   text->data, text->size, err);
	text->size = 0;
	return status;
}

void speedscope_put_time(const struct speedscope_writer *writer, struct sonde_buffer *out,
			 uint64_t time_ns)
{
	if (time_ns < writer->start_ns) {
		sonde_buffer_put_char(out, '-');
		sonde_buffer_put_u64(out, writer->start_ns - time_ns);
		return;
	}
	sonde_buffer_put_u64(out, time_ns - writer->start_ns);
}

/* Calls */

static void begin_events(const struct speedscope_writer *writer, struct speedscope_lane *lane,
			 uint32_t track, uint64_t time_ns)
{
	struct sonde_buffer *text = &lane->text[SPEEDSCOPE_PART_EVENTS];

	lane->has_events = true;
	lane->first_ns = lane->last_ns = time_ns;
	speedscope_write_profile_head(writer, text, "evented", track, SONDE_NONE);
	sonde_buffer_put_text(text, ",\"events\":[\n");
}

/* An event in order of time; `ours` NULL: as it was recorded. */
static void put_event(const struct speedscope_writer *writer, struct speedscope_lane *lane,
		      bool opens, uint32_t function, const char *ours)
{
	struct sonde_buffer *text = &lane->text[SPEEDSCOPE_PART_EVENTS];

	if (text->size && text->data[text->size - 1] == '\n')
		sonde_buffer_put_text(text, opens ? "{\"type\":\"O\",\"frame\":" :
						    "{\"type\":\"C\",\"frame\":");
	else
		sonde_buffer_put_text(text, opens ? ",\n{\"type\":\"O\",\"frame\":" :
						    ",\n{\"type\":\"C\",\"frame\":");
	sonde_buffer_put_u64(text, exchange_stacks_frame(&writer->stacks, function));
	sonde_buffer_put_text(text, ",\"at\":");
	speedscope_put_time(writer, text, lane->last_ns);
	if (ours) {
		sonde_buffer_put_text(text, ",\"" SPEEDSCOPE_OURS "\":\"");
		sonde_buffer_put_text(text, ours);
		sonde_buffer_put_char(text, '"');
	}
	sonde_buffer_put_char(text, '}');
}

/* Closes the calls above a place of the stack, which no return was recorded of. */
static enum sonde_status close_down_to(struct speedscope_writer *writer,
				       struct speedscope_lane *lane, uint32_t track, size_t place,
				       const char *ours, struct sonde_error *err)
{
	bool is_closed = !strcmp(ours, SPEEDSCOPE_END) && lane->last_ns > lane->told_ns;
	enum sonde_status status = SONDE_OK;

	while (!status && lane->open.count > place) {
		put_event(writer, lane, false, lane->open.items[--lane->open.count].function, ours);
		lane->losses[is_closed ? SPEEDSCOPE_LOSS_CLOSED : SPEEDSCOPE_LOSS_OPEN]++;
		status = speedscope_flush(writer, lane, track, SPEEDSCOPE_PART_EVENTS, false, err);
	}
	return status;
}

static enum speedscope_loss loss_of_kind(enum sonde_event_kind kind)
{
	switch (kind) {
	case SONDE_EVENT_INSTANT:
		return SPEEDSCOPE_LOSS_INSTANT;
	case SONDE_EVENT_MARK:
		return SPEEDSCOPE_LOSS_MARK;
	case SONDE_EVENT_FLOW_BEGIN:
		return SPEEDSCOPE_LOSS_FLOW_BEGIN;
	case SONDE_EVENT_FLOW_STEP:
		return SPEEDSCOPE_LOSS_FLOW_STEP;
	case SONDE_EVENT_FLOW_END:
		return SPEEDSCOPE_LOSS_FLOW_END;
	case SONDE_EVENT_COUNTER:
		return SPEEDSCOPE_LOSS_COUNTER;
	case SONDE_EVENT_RANGE_BEGIN:
		return SPEEDSCOPE_LOSS_RANGE_BEGIN;
	case SONDE_EVENT_RANGE_END:
		return SPEEDSCOPE_LOSS_RANGE_END;
	default:
		return SPEEDSCOPE_LOSS_OTHER;
	}
}

static void take_time(const struct speedscope_writer *writer, struct speedscope_lane *lane,
		      uint32_t track, const struct sonde_event *event)
{
	if (!lane->has_events)
		begin_events(writer, lane, track, event->time_ns);
	if (event->time_ns < lane->last_ns)
		lane->losses[SPEEDSCOPE_LOSS_WENT_BACK]++;
	else
		lane->last_ns = event->time_ns;
	lane->told_ns = lane->last_ns;
	if (event->time_ns > writer->start_ns && event->time_ns - writer->start_ns > EXACT)
		lane->losses[SPEEDSCOPE_LOSS_LONG]++;
	if (event->flags & SONDE_EVENT_SYNTHETIC)
		lane->losses[SPEEDSCOPE_LOSS_SYNTHETIC]++;
}

static enum sonde_status take_event(struct speedscope_writer *writer, struct speedscope_lane *lane,
				    uint32_t track, const struct sonde_event *event,
				    struct sonde_error *err)
{
	enum sonde_status status;
	size_t place;

	if (event->kind == SONDE_EVENT_CALL) {
		take_time(writer, lane, track, event);
		if (!sonde_call_stack_push(&lane->open, event, 0))
			return sonde_fail_nomem(err);
		put_event(writer, lane, true, event->function, NULL);
		return SONDE_OK;
	}
	if (!sonde_event_leaves(event)) {
		lane->losses[loss_of_kind(event->kind)]++;
		/* what is open lasts at least until here */
		if (lane->open.count && event->time_ns > lane->last_ns)
			lane->last_ns = event->time_ns;
		return SONDE_OK;
	}
	place = sonde_call_stack_find_left(&lane->open, event);
	if (place == SONDE_NO_CALL) {
		lane->losses[SPEEDSCOPE_LOSS_LONE_RETURN]++;
		return SONDE_OK;
	}
	take_time(writer, lane, track, event);
	status = close_down_to(writer, lane, track, place + 1, SPEEDSCOPE_MADE, err);
	if (status)
		return status;
	lane->open.count = place;
	lane->losses[SPEEDSCOPE_LOSS_EXCEPTION] += event->kind == SONDE_EVENT_EXCEPTION;
	put_event(writer, lane, false, lane->open.items[place].function,
		  event->kind == SONDE_EVENT_EXCEPTION ? SPEEDSCOPE_EXCEPTION : NULL);
	return SONDE_OK;
}

static enum sonde_status speedscope_writer_events(struct sonde_sink *sink, uint32_t track,
						  const struct sonde_batch *batch,
						  struct sonde_error *err)
{
	struct speedscope_writer *writer = writer_of(sink);
	struct speedscope_lane *lane = NULL;
	enum sonde_status status = take_lane(writer, track, &lane, err);

	if (!lane)
		return status;
	for (size_t i = 0; !status && i < batch->count; i++) {
		status = take_event(writer, lane, track, &batch->events[i], err);
		if (!status)
			status = speedscope_flush(writer, lane, track, SPEEDSCOPE_PART_EVENTS,
						  false, err);
	}
	return status;
}

static enum sonde_status end_events(struct speedscope_writer *writer, struct speedscope_lane *lane,
				    uint32_t track, struct sonde_error *err)
{
	struct sonde_buffer *text = &lane->text[SPEEDSCOPE_PART_EVENTS];
	enum sonde_status status;

	if (!lane->has_events)
		return SONDE_OK;
	status = close_down_to(writer, lane, track, 0, SPEEDSCOPE_END, err);
	sonde_buffer_put_text(text, "],\n\"startValue\":");
	speedscope_put_time(writer, text, lane->first_ns);
	sonde_buffer_put_text(text, ",\"endValue\":");
	speedscope_put_time(writer, text, lane->last_ns);
	sonde_buffer_put_char(text, '}');
	return status;
}

/* The rest of the sink */

static enum sonde_status report_losses(const struct speedscope_writer *writer, uint64_t *counts,
				       struct sonde_error *err)
{
	static const struct sonde_loss_kind kinds[] = {
#define X(name, what, reason, elsewhere) { what, reason, elsewhere },
		SPEEDSCOPE_LOSS_LIST(X)
#undef X
	};

	return sonde_loss_add_kinds(writer->loss, kinds, counts, SPEEDSCOPE_LOSS_COUNT, err);
}

static enum sonde_status speedscope_writer_samples(struct sonde_sink *sink, uint32_t track,
						   const struct sonde_sample *samples, size_t count,
						   struct sonde_error *err)
{
	struct speedscope_lane *lane = NULL;
	enum sonde_status status = take_lane(writer_of(sink), track, &lane, err);

	return lane ? speedscope_write_samples(writer_of(sink), lane, track, samples, count, err) :
		      status;
}

static enum sonde_status speedscope_writer_values(struct sonde_sink *sink, uint32_t track,
						  const struct sonde_value *values, size_t count,
						  struct sonde_error *err)
{
	struct speedscope_lane *lane = NULL;
	enum sonde_status status = take_lane(writer_of(sink), track, &lane, err);

	return lane ? speedscope_write_values(writer_of(sink), lane, values, count, err) : status;
}

static enum sonde_status speedscope_writer_contexts(struct sonde_sink *sink,
						    const struct sonde_context *contexts,
						    uint32_t count, struct sonde_error *err)
{
	struct speedscope_writer *writer = writer_of(sink);

	enum sonde_status status;

	exchange_stacks_release(&writer->stacks);
	status = exchange_stacks_init(&writer->stacks, writer->definitions, contexts, count,
				      SPEEDSCOPE_STACK_DEPTH, err);
	writer->losses[SPEEDSCOPE_LOSS_FOLDED] = writer->stacks.folded;
	writer->losses[SPEEDSCOPE_LOSS_DEEP] = writer->stacks.too_deep;
	return status;
}

static enum sonde_status speedscope_writer_track_end(struct sonde_sink *sink, uint32_t track,
						     struct sonde_error *err)
{
	struct speedscope_writer *writer = writer_of(sink);
	struct speedscope_lane *lane = NULL;
	enum sonde_status status = take_lane(writer, track, &lane, err);

	if (!lane)
		return status;
	status = end_events(writer, lane, track, err);
	if (!status)
		status = speedscope_write_stacks_end(writer, lane, track, err);
	if (!status)
		status = report_losses(writer, lane->losses, err);
	for (unsigned int part = 0; !status && part < SPEEDSCOPE_PARTS; part++) {
		status = speedscope_flush(writer, lane, track, part, true, err);
		if (!status)
			status = sonde_parts_end(writer->parts,
						 (size_t)track * SPEEDSCOPE_PARTS + part, err);
	}
	lane_free(lane);
	writer->lanes[track] = NULL;
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

static enum sonde_status put_text(struct speedscope_writer *writer,
				  void (*put)(struct speedscope_writer *, struct sonde_buffer *),
				  struct sonde_error *err)
{
	struct sonde_buffer text = { 0 };
	enum sonde_status status;

	put(writer, &text);
	status = text.failed ? sonde_fail_nomem(err) :
			       sonde_output_write(&writer->file.output, text.data, text.size, err);
	sonde_buffer_release(&text);
	return status;
}

static enum sonde_status speedscope_writer_begin(struct sonde_sink *sink,
						 const struct sonde_definitions *definitions,
						 struct sonde_error *err)
{
	struct speedscope_writer *writer = writer_of(sink);
	enum sonde_status status;

	writer->definitions = definitions;
	writer->track_count = sonde_definitions_track_count(definitions);
	writer->metric_count = sonde_definitions_metric_count(definitions);
	writer->start_ns = find_start(definitions);
	writer->losses[SPEEDSCOPE_LOSS_ATTRIBUTES] = sonde_definitions_attribute_count(definitions);
	writer->lanes = calloc((size_t)writer->track_count + 1, sizeof(struct speedscope_lane *));
	writer->is_metric_used = calloc((size_t)writer->metric_count + 1, sizeof(_Atomic bool));
	if (!writer->lanes || !writer->is_metric_used)
		return sonde_fail_nomem(err);
	status = exchange_stacks_init(&writer->stacks, definitions, NULL, 0, SPEEDSCOPE_STACK_DEPTH,
				      err);
	if (!status)
		status = put_text(writer, speedscope_write_head, err);
	if (!status)
		status = sonde_parts_new(&writer->file.output,
					 (size_t)writer->track_count * SPEEDSCOPE_PARTS,
					 &writer->parts, err);
	return status;
}

/* Every profile begins with a comma: that of the first one goes. */
static enum sonde_status drop_comma(struct speedscope_writer *writer, struct sonde_error *err)
{
	uint64_t start = writer->track_count ? sonde_parts_offset(writer->parts, 0) : UINT64_MAX;

	if (start >= writer->file.output.written)
		return SONDE_OK;
	return sonde_output_patch(&writer->file.output, start, " ", 1, err);
}

static enum sonde_status speedscope_writer_complete(struct sonde_sink *sink,
						    struct sonde_error *err)
{
	struct speedscope_writer *writer = writer_of(sink);
	enum sonde_status status = drop_comma(writer, err);

	if (!status)
		status = put_text(writer, speedscope_write_frames, err);
	writer->losses[SPEEDSCOPE_LOSS_METRICS] = exchange_count_unused(
		writer->definitions, writer->is_metric_used, writer->metric_count);
	if (!status)
		status = report_losses(writer, writer->losses, err);
	return status ? status : sonde_output_close(&writer->file.output, err);
}

static enum sonde_status speedscope_writer_finish(struct sonde_sink *sink, struct sonde_error *err)
{
	return sonde_new_file_commit(&writer_of(sink)->file, err);
}

static void speedscope_writer_free(struct sonde_sink *sink)
{
	struct speedscope_writer *writer = writer_of(sink);

	for (uint32_t i = 0; writer->lanes && i < writer->track_count; i++) {
		if (writer->lanes[i])
			lane_free(writer->lanes[i]);
	}
	sonde_parts_free(writer->parts);
	sonde_new_file_release(&writer->file);
	free(writer->lanes);
	free(writer->is_metric_used);
	exchange_stacks_release(&writer->stacks);
	free(writer->name);
	free(writer);
}

static const struct sonde_sink_ops speedscope_writer_ops = {
	.lanes = SONDE_LANE_EVENTS | SONDE_LANE_SAMPLES | SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES,
	.parallel_tracks = true,
	.begin = speedscope_writer_begin,
	.events = speedscope_writer_events,
	.contexts = speedscope_writer_contexts,
	.values = speedscope_writer_values,
	.samples = speedscope_writer_samples,
	.track_end = speedscope_writer_track_end,
	.complete = speedscope_writer_complete,
	.finish = speedscope_writer_finish,
	.free = speedscope_writer_free,
};

enum sonde_status speedscope_create(const char *path, const struct sonde_create_options *options,
				    struct sonde_sink **sink, struct sonde_error *err)
{
	struct speedscope_writer *writer = calloc(1, sizeof(*writer));
	const char *slash = strrchr(path, '/');
	enum sonde_status status;

	*sink = NULL;
	if (!writer)
		return sonde_fail_nomem(err);
	writer->base.ops = &speedscope_writer_ops;
	writer->loss = options ? options->loss : NULL;
	writer->name = strdup(slash ? slash + 1 : path);
	status = writer->name ? SONDE_OK : sonde_fail_nomem(err);
	if (!status)
		status =
			sonde_new_file_begin(&writer->file, path, options && options->replace, err);
	if (status) {
		speedscope_writer_free(&writer->base);
		return status;
	}
	*sink = &writer->base;
	return SONDE_OK;
}
