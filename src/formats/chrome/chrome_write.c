/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes Chrome trace JSON: the sink. Plain calls and returns, which most events are, become text here in one
 * loop; everything else in chrome_write_events.c, one by one. Each track is a part of the file, so that several
 * threads write it side by side, and a piece of the gzip file where it is packed.
 */
#include "formats/chrome/chrome_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/loss.h"

static struct chrome_writer *chrome_writer_of(struct sonde_sink *sink)
{
	return (struct chrome_writer *)sink;
}

static void lane_free(struct chrome_lane *lane)
{
	for (size_t i = 0; i < lane->signatures.count; i++)
		sonde_signature_free(lane->signatures.items[i]);
	sonde_vec_release(&lane->signatures);
	sonde_vec_release(&lane->functions);
	sonde_vec_release(&lane->shown);
	sonde_key_map_release(&lane->by_name);
	sonde_arena_release(&lane->names);
	sonde_buffer_release(&lane->text);
	sonde_buffer_release(&lane->packed);
	sonde_gzip_packer_free(lane->packer);
	free(lane);
}

/* NULL where memory failed, which is all that can fail. */
static struct chrome_lane *lane_new(const struct chrome_writer *writer, struct sonde_error *err)
{
	struct chrome_lane *made = calloc(1, sizeof(*made));

	if (!made) {
		sonde_fail_nomem(err);
		return NULL;
	}
	if (sonde_buffer_reserve(&made->text, CHROME_WRITE_BYTES + CHROME_WRITE_BYTES / 8) &&
	    (!writer->is_packed || !sonde_gzip_packer_new(&made->packer, err)))
		return made;
	sonde_fail_nomem(err);
	lane_free(made);
	return NULL;
}

static void make_prefix(const struct chrome_writer *writer, uint32_t track, char phase,
			struct chrome_prefix *prefix)
{
	uint32_t process = sonde_definitions_track(writer->definitions, track)->process;
	int length = snprintf(prefix->text, sizeof(prefix->text),
			      ",\n{\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ph\":\"%c\",\"ts\":",
			      writer->pids[process], writer->tids[track], phase);

	prefix->length = (size_t)length;
}

/* The lane of a track that begins. */
static enum sonde_status take_lane(struct chrome_writer *writer, uint32_t track,
				   struct chrome_lane **lane, struct sonde_error *err)
{
	struct chrome_lane *taken;

	pthread_mutex_lock(&writer->lock);
	taken = writer->free_lanes;
	if (taken)
		writer->free_lanes = taken->next;
	pthread_mutex_unlock(&writer->lock);
	if (!taken)
		taken = lane_new(writer, err);
	if (!taken)
		return SONDE_NOMEM;
	taken->turn++;
	taken->track = track;
	make_prefix(writer, track, 'B', &taken->call);
	make_prefix(writer, track, 'E', &taken->leave);
	writer->lanes[track] = *lane = taken;
	return SONDE_OK;
}

static enum sonde_status flush(struct chrome_writer *writer, struct chrome_lane *lane,
			       struct sonde_error *err)
{
	struct sonde_buffer *out = &lane->text;
	enum sonde_status status = SONDE_OK;

	if (writer->is_packed) {
		out = &lane->packed;
		sonde_buffer_clear(out);
		status = sonde_gzip_piece(lane->packer, lane->text.data, lane->text.size, out,
					  &writer->sums[lane->track], err);
	}
	if (!status)
		status = sonde_parts_write(writer->parts, lane->track, out->data, out->size, err);
	lane->text.size = 0;
	return status;
}

/*
 * Puts down calls and returns up to the first event that is more than that, or until there is no room.
 * Gives how many it took.
 */
static size_t put_plain(struct chrome_lane *lane, const struct sonde_event *events, size_t count)
{
	const struct chrome_name *names = lane->functions.items;
	const size_t known = lane->functions.count;
	const uint32_t turn = lane->turn;
	char *place = lane->text.data + lane->text.size;
	const char *end = lane->text.data + lane->text.capacity;
	size_t i;

	for (i = 0; i < count; i++) {
		const struct sonde_event *event = &events[i];
		const struct chrome_prefix *prefix = &lane->call;
		const struct chrome_name *name;

		if (event->function >= known || event->detail != SONDE_NONE || event->flags)
			break;
		name = &names[event->function];
		if (event->kind == SONDE_EVENT_RETURN) {
			prefix = &lane->leave;
			if (!name->text)
				break;
		} else if (event->kind != SONDE_EVENT_CALL || name->shown != turn) {
			break;
		}
		if ((size_t)(end - place) < CHROME_EVENT_ROOM + (size_t)name->length)
			break;
		memcpy(place, prefix->text, CHROME_PREFIX_SIZE);
		place = chrome_put_time(&lane->time, event->time_ns, place + prefix->length);
		memcpy(place, name->text, name->length);
		place += name->length;
	}
	lane->text.size = (size_t)(place - lane->text.data);
	return i;
}

static enum sonde_status chrome_writer_events(struct sonde_sink *sink, uint32_t track,
					      const struct sonde_batch *batch,
					      struct sonde_error *err)
{
	struct chrome_writer *writer = chrome_writer_of(sink);
	struct chrome_lane *lane;
	enum sonde_status status = SONDE_OK;

	if (track >= writer->track_count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "events are of track %" PRIu32 ", which is not defined", track);
	lane = writer->lanes[track];
	if (!lane)
		status = take_lane(writer, track, &lane, err);
	for (size_t i = 0; !status && i < batch->count;) {
		i += put_plain(lane, batch->events + i, batch->count - i);
		if (lane->text.size >= CHROME_WRITE_BYTES)
			status = flush(writer, lane, err);
		else if (i < batch->count)
			status = chrome_write_event(writer, lane, batch, &batch->events[i++], err);
	}
	return status;
}

static enum sonde_status report_losses(const struct chrome_writer *writer, uint64_t *counts,
				       struct sonde_error *err)
{
	static const struct sonde_loss_kind kinds[] = {
#define X(name, what, reason, elsewhere) { what, reason, elsewhere },
		CHROME_LOSS_LIST(X)
#undef X
	};

	return sonde_loss_add_kinds(writer->loss, kinds, counts, CHROME_LOSS_COUNT, err);
}

static enum sonde_status chrome_writer_track_end(struct sonde_sink *sink, uint32_t track,
						 struct sonde_error *err)
{
	struct chrome_writer *writer = chrome_writer_of(sink);
	struct chrome_lane *lane = track < writer->track_count ? writer->lanes[track] : NULL;
	enum sonde_status status = SONDE_OK;

	if (lane) {
		status = flush(writer, lane, err);
		if (!status)
			status = report_losses(writer, lane->losses, err);
		writer->lanes[track] = NULL;
		pthread_mutex_lock(&writer->lock);
		lane->next = writer->free_lanes;
		writer->free_lanes = lane;
		pthread_mutex_unlock(&writer->lock);
	}
	return status ? status : sonde_parts_end(writer->parts, track, err);
}

/* Text before or after the parts, packed where the file is. */
static enum sonde_status put_text(struct chrome_writer *writer, const struct sonde_buffer *text,
				  struct sonde_gzip_sum *sum, struct sonde_buffer *out,
				  struct sonde_error *err)
{
	struct sonde_gzip_packer *packer = NULL;
	enum sonde_status status = SONDE_OK;

	if (!writer->is_packed) {
		sonde_buffer_put(out, text->data, text->size);
		return out->failed ? sonde_fail_nomem(err) : SONDE_OK;
	}
	status = sonde_gzip_packer_new(&packer, err);
	for (size_t at = 0; !status && at < text->size; at += CHROME_WRITE_BYTES) {
		size_t left = text->size - at;

		status = sonde_gzip_piece(packer, text->data + at,
					  left < CHROME_WRITE_BYTES ? left : CHROME_WRITE_BYTES,
					  out, sum, err);
	}
	sonde_gzip_packer_free(packer);
	return status;
}

static enum sonde_status write_head(struct chrome_writer *writer, struct sonde_error *err)
{
	struct sonde_buffer text = { 0 }, out = { 0 };
	enum sonde_status status = chrome_write_head(writer, &text, err);

	if (!status && writer->is_packed)
		sonde_gzip_begin(&out);
	if (!status)
		status = put_text(writer, &text, &writer->head_sum, &out, err);
	if (!status)
		status = sonde_output_write(&writer->file.output, out.data, out.size, err);
	sonde_buffer_release(&text);
	sonde_buffer_release(&out);
	return status;
}

static enum sonde_status chrome_writer_begin(struct sonde_sink *sink,
					     const struct sonde_definitions *definitions,
					     struct sonde_error *err)
{
	struct chrome_writer *writer = chrome_writer_of(sink);
	enum sonde_status status;

	writer->definitions = definitions;
	writer->track_count = sonde_definitions_track_count(definitions);
	writer->type_count = sonde_definitions_event_type_count(definitions);
	writer->module_count = sonde_definitions_module_count(definitions);
	writer->function_count = sonde_definitions_function_count(definitions);
	writer->lanes = calloc((size_t)writer->track_count + 1, sizeof(struct chrome_lane *));
	writer->sums = calloc((size_t)writer->track_count + 1, sizeof(*writer->sums));
	writer->categories =
		calloc((size_t)writer->function_count + 1, sizeof(*writer->categories));
	writer->is_called = calloc((size_t)writer->function_count + 1, sizeof(_Atomic bool));
	if (!writer->lanes || !writer->sums || !writer->categories || !writer->is_called)
		return sonde_fail_nomem(err);
	status = chrome_write_ids(writer, err);
	if (!status)
		status = write_head(writer, err);
	if (!status)
		status = sonde_parts_new(&writer->file.output, writer->track_count, &writer->parts,
					 err);
	return status;
}

static enum sonde_status write_tail(struct chrome_writer *writer, struct sonde_error *err)
{
	static char closing[] = "\n]}\n";
	const struct sonde_buffer text = { .data = closing, .size = sizeof(closing) - 1 };
	struct sonde_buffer out = { 0 };
	struct sonde_gzip_sum sum = writer->head_sum, last = { 0 };
	enum sonde_status status = put_text(writer, &text, &last, &out, err);

	for (uint32_t i = 0; writer->is_packed && i < writer->track_count; i++)
		sonde_gzip_join(&sum, writer->sums[i]);
	if (!status && writer->is_packed) {
		sonde_gzip_join(&sum, last);
		sonde_gzip_end(&out, sum);
	}
	if (!status)
		status = out.failed ?
				 sonde_fail_nomem(err) :
				 sonde_output_write(&writer->file.output, out.data, out.size, err);
	sonde_buffer_release(&out);
	return status;
}

static void count_uncalled(const struct chrome_writer *writer, uint64_t *losses)
{
	for (uint32_t i = 0; i < writer->function_count; i++) {
		const struct sonde_function *function =
			sonde_definitions_function(writer->definitions, i);

		if (atomic_load_explicit(&writer->is_called[i], memory_order_relaxed))
			continue;
		losses[CHROME_LOSS_UNCALLED]++;
		losses[CHROME_LOSS_UNCALLED_MODULES] += function->module != SONDE_NONE;
		losses[CHROME_LOSS_UNCALLED_PLACES] += function->file || function->line;
		losses[CHROME_LOSS_UNCALLED_RAW_NAMES] += function->raw_name != 0;
	}
}

static enum sonde_status chrome_writer_complete(struct sonde_sink *sink, struct sonde_error *err)
{
	struct chrome_writer *writer = chrome_writer_of(sink);
	enum sonde_status status = write_tail(writer, err);

	count_uncalled(writer, writer->losses);
	if (!status)
		status = report_losses(writer, writer->losses, err);
	return status ? status : sonde_output_close(&writer->file.output, err);
}

static enum sonde_status chrome_writer_finish(struct sonde_sink *sink, struct sonde_error *err)
{
	return sonde_new_file_commit(&chrome_writer_of(sink)->file, err);
}

static void chrome_writer_free(struct sonde_sink *sink)
{
	struct chrome_writer *writer = chrome_writer_of(sink);

	for (uint32_t i = 0; writer->lanes && i < writer->track_count; i++) {
		if (writer->lanes[i])
			lane_free(writer->lanes[i]);
	}
	while (writer->free_lanes) {
		struct chrome_lane *lane = writer->free_lanes;

		writer->free_lanes = lane->next;
		lane_free(lane);
	}
	sonde_parts_free(writer->parts);
	sonde_new_file_release(&writer->file);
	pthread_mutex_destroy(&writer->lock);
	free(writer->lanes);
	free(writer->sums);
	free(writer->categories);
	free(writer->is_called);
	free(writer->pids);
	free(writer->tids);
	free(writer);
}

static const struct sonde_sink_ops chrome_writer_ops = {
	.lanes = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS,
	.parallel_tracks = true,
	.begin = chrome_writer_begin,
	.events = chrome_writer_events,
	.track_end = chrome_writer_track_end,
	.complete = chrome_writer_complete,
	.finish = chrome_writer_finish,
	.free = chrome_writer_free,
};

enum sonde_status chrome_create(const char *path, const struct sonde_create_options *options,
				struct sonde_sink **sink, struct sonde_error *err)
{
	struct chrome_writer *writer = calloc(1, sizeof(*writer));
	enum sonde_status status;

	*sink = NULL;
	if (!writer)
		return sonde_fail_nomem(err);
	if (pthread_mutex_init(&writer->lock, NULL)) {
		free(writer);
		return sonde_fail_nomem(err);
	}
	writer->base.ops = &chrome_writer_ops;
	writer->loss = options ? options->loss : NULL;
	writer->is_packed = sonde_format_suffix_length(path, strlen(path), ".gz") ||
			    (options && sonde_format_has_style(options->style, "gzip"));
	status = sonde_new_file_begin(&writer->file, path, options && options->replace, err);
	if (status) {
		chrome_writer_free(&writer->base);
		return status;
	}
	*sink = &writer->base;
	return SONDE_OK;
}
