/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes wtf-trace files: the sink. Plain calls and returns, which most events are, are encoded
 * here in one loop; everything else in cff_write_events.c, one by one. The file appears under its
 * name when it is whole.
 */
#include "formats/cff/cff_write.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/cff/cff.h"
#include "model/loss.h"

#define NS_IN_US 1000u
#define PLAIN_SIZE CFF_EVENT_SIZE

static struct cff_writer *cff_writer_of(struct sonde_sink *sink)
{
	return (struct cff_writer *)sink;
}

enum sonde_status cff_writer_flush_definitions(struct cff_writer *writer, struct sonde_error *err)
{
	uint64_t *offset;

	if (!writer->defining.count)
		return SONDE_OK;
	offset = sonde_vec_push(&writer->definition_chunks);
	if (!offset)
		return sonde_fail_nomem(err);
	*offset = writer->output.written;
	return cff_chunk_write(writer, &writer->defining, NULL, 0, err);
}

static uint64_t count_nanoseconds(const struct cff_chunk_writer *chunk)
{
	uint64_t count = 0;

	for (size_t i = 0; chunk->any_ns && i < chunk->count; i++)
		count += chunk->times[i] != 0;
	return count;
}

enum sonde_status cff_writer_flush(struct cff_writer *writer, struct sonde_error *err)
{
	enum sonde_status status = cff_writer_flush_definitions(writer, err);
	struct cff_index_entry *entry;

	if (status < 0 || writer->filled_track == SONDE_NONE)
		return status;
	writer->losses[CFF_LOSS_NANOSECONDS] += count_nanoseconds(&writer->filling);
	if (writer->filling.epoch)
		writer->losses[CFF_LOSS_LATE] += writer->entry.events;
	writer->entry.offset = writer->output.written;
	writer->filled_track = SONDE_NONE;
	if (!writer->has_no_index) {
		entry = sonde_vec_push(&writer->index);
		if (!entry)
			return sonde_fail_nomem(err);
		*entry = writer->entry;
	}
	return cff_chunk_write(writer, &writer->filling, NULL, 0, err);
}

/* Notes which calls are open where a chunk starts. */
static enum sonde_status keep_stack(struct cff_writer *writer, const struct cff_track_writer *track,
				    struct sonde_error *err)
{
	size_t count = track->open.count;

	writer->has_no_index |= count > CFF_WRITE_STACK ||
				writer->stacks.count + count > UINT32_MAX;
	if (writer->has_no_index)
		return SONDE_OK;
	if (!sonde_vec_reserve(&writer->stacks, count))
		return sonde_fail_nomem(err);
	writer->entry.stack_first = (uint32_t)writer->stacks.count;
	writer->entry.stack_count = (uint32_t)count;
	if (count)
		memcpy(writer->stacks.items + writer->stacks.count, track->open.items,
		       count * sizeof(*track->open.items));
	writer->stacks.count += count;
	return SONDE_OK;
}

static enum sonde_status begin_chunk(struct cff_writer *writer, uint32_t track, uint64_t time_ns,
				     struct sonde_error *err)
{
	uint64_t time = cff_writer_time(writer, time_ns);
	uint8_t zone[4];
	enum sonde_status status = SONDE_OK;

	writer->entry = (struct cff_index_entry){
		.track = track,
		.first_index = writer->tracks[track].events,
		.first_ns = time_ns,
	};
	writer->filled_track = track;
	writer->filling.epoch = time / NS_IN_US >> 32;
	time -= time % NS_IN_US;
	if (writer->track_count > CFF_WRITE_ZONES)
		status = cff_write_zone(writer, &writer->filling, track, time, err);
	if (status < 0)
		return status;
	if (!cff_chunk_reserve(&writer->filling, 1, CFF_EVENT_SIZE + sizeof(zone)))
		return sonde_fail_nomem(err);
	sonde_store_u32le(zone, cff_zone_id(track));
	cff_chunk_put(&writer->filling, CFF_WRITE_ZONE_SET, time, zone, sizeof(zone));
	return keep_stack(writer, &writer->tracks[track], err);
}

enum sonde_status cff_writer_prepare(struct cff_writer *writer, uint32_t track, uint64_t time_ns,
				     struct sonde_error *err)
{
	uint64_t epoch = cff_writer_time(writer, time_ns) / NS_IN_US >> 32;
	enum sonde_status status;

	if (writer->filled_track == track && writer->filling.epoch == epoch &&
	    !cff_chunk_is_full(&writer->filling))
		return SONDE_OK;
	status = cff_writer_flush(writer, err);
	return status < 0 ? status : begin_chunk(writer, track, time_ns, err);
}

static void note_time(struct cff_writer *writer, struct cff_track_writer *track, uint64_t first_ns,
		      uint64_t last_ns, size_t count)
{
	if (!track->events)
		track->first_ns = first_ns;
	track->last_ns = writer->entry.last_ns = last_ns;
	track->events += count;
	writer->entry.events += (uint32_t)count;
}

/* How many of the next events, if all are plain, the chunk that is filled has room for. */
static size_t room(const struct cff_chunk_writer *chunk, size_t wanted)
{
	size_t events = chunk->count < CFF_WRITE_EVENTS ? CFF_WRITE_EVENTS - chunk->count : 0;
	size_t bytes =
		chunk->used < CFF_WRITE_BYTES ? (CFF_WRITE_BYTES - chunk->used) / PLAIN_SIZE : 0;

	wanted = wanted < events ? wanted : events;
	return wanted < bytes ? wanted : bytes;
}

/*
 * Encodes calls and returns that follow from what is open, up to the first event that is more than
 * that. There is room for `count` in the chunk and on the stack. Gives how many it took.
 */
static size_t encode_plain(struct cff_writer *writer, struct cff_track_writer *track,
			   const struct sonde_event *events, size_t count)
{
	struct cff_chunk_writer *chunk = &writer->filling;
	const uint32_t *wires = writer->types.function_wires.items;
	const size_t known = writer->types.function_wires.count;
	struct cff_open_call *open = track->open.items;
	const uint64_t origin = writer->origin_ns, epoch = chunk->epoch;
	uint8_t *place = chunk->bytes + chunk->used;
	uint16_t *times = chunk->times + chunk->count;
	size_t depth = track->open.count, i;
	uint32_t any_ns = 0;
	uint64_t us = 0;

	for (i = 0; i < count; i++) {
		const struct sonde_event *event = &events[i];
		uint64_t time = event->time_ns - origin;
		uint32_t ns, wire;

		us = time / NS_IN_US;
		ns = (uint32_t)(time - us * NS_IN_US);
		if (us >> 32 != epoch || event->detail != SONDE_NONE || event->flags)
			break;
		if (event->kind == SONDE_EVENT_CALL) {
			if (event->function >= known || !wires[event->function] ||
			    event->depth != (depth ? open[depth - 1].depth : 0) + 1)
				break;
			wire = wires[event->function];
			open[depth++] = (struct cff_open_call){ event->function, event->depth };
		} else if (event->kind == SONDE_EVENT_RETURN) {
			if (!depth || open[depth - 1].function != event->function ||
			    open[depth - 1].depth != event->depth)
				break;
			wire = CFF_WRITE_LEAVE;
			depth--;
		} else {
			break;
		}
		sonde_store_u64le(place, us << 32 | wire);
		place += PLAIN_SIZE;
		times[i] = (uint16_t)ns;
		any_ns |= ns;
	}
	track->open.count = depth;
	chunk->any_ns |= any_ns;
	chunk->count += i;
	chunk->used += i * PLAIN_SIZE;
	return i;
}

/* As many plain events as come next. */
static enum sonde_status write_plain(struct cff_writer *writer, uint32_t track_id,
				     const struct sonde_event *events, size_t *count,
				     struct sonde_error *err)
{
	struct cff_track_writer *track = &writer->tracks[track_id];
	size_t wanted = room(&writer->filling, *count);

	*count = 0;
	if (writer->filled_track != track_id || !wanted)
		return SONDE_OK;
	if (!cff_chunk_reserve(&writer->filling, wanted, wanted * PLAIN_SIZE) ||
	    !sonde_vec_reserve(&track->open, wanted))
		return sonde_fail_nomem(err);
	*count = encode_plain(writer, track, events, wanted);
	if (!*count)
		return SONDE_OK;
	if (track->synthetic_tail) {
		writer->losses[CFF_LOSS_SYNTHETIC] += track->synthetic_tail;
		track->synthetic_tail = 0;
	}
	writer->filling.end =
		(uint32_t)(cff_writer_time(writer, events[*count - 1].time_ns) / NS_IN_US);
	note_time(writer, track, events[0].time_ns, events[*count - 1].time_ns, *count);
	return SONDE_OK;
}

/* Counts synthetic events: those at the start, and those at the end so far. */
static void note_synthetic(struct cff_writer *writer, struct cff_track_writer *track,
			   const struct sonde_event *event)
{
	if (!(event->flags & SONDE_EVENT_SYNTHETIC)) {
		writer->losses[CFF_LOSS_SYNTHETIC] += track->synthetic_tail;
		track->synthetic_tail = 0;
	} else if (track->synthetic_head == track->events) {
		track->synthetic_head++;
	} else {
		track->synthetic_tail++;
	}
}

static enum sonde_status write_one(struct cff_writer *writer, uint32_t track_id,
				   const struct sonde_batch *batch, const struct sonde_event *event,
				   struct sonde_error *err)
{
	struct cff_track_writer *track = &writer->tracks[track_id];
	enum sonde_status status;

	if (event->kind == SONDE_EVENT_OTHER || event->kind >= SONDE_EVENT_KIND_COUNT) {
		writer->losses[CFF_LOSS_OTHER]++;
		return SONDE_OK;
	}
	status = cff_writer_prepare(writer, track_id, event->time_ns, err);
	if (status == SONDE_OK)
		status = cff_write_event(writer, track, batch, event, err);
	if (status < 0)
		return status;
	note_synthetic(writer, track, event);
	note_time(writer, track, event->time_ns, event->time_ns, 1);
	return SONDE_OK;
}

static enum sonde_status cff_writer_events(struct sonde_sink *sink, uint32_t track,
					   const struct sonde_batch *batch, struct sonde_error *err)
{
	struct cff_writer *writer = cff_writer_of(sink);

	if (track >= writer->track_count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "events are of track %" PRIu32 ", which is not defined", track);
	for (size_t i = 0; i < batch->count;) {
		size_t count = batch->count - i;
		enum sonde_status status =
			write_plain(writer, track, batch->events + i, &count, err);

		i += count;
		if (status == SONDE_OK && i < batch->count)
			status = write_one(writer, track, batch, &batch->events[i++], err);
		if (status < 0)
			return status;
	}
	return SONDE_OK;
}

/* What was counted since the last time goes to the report. */
static enum sonde_status report_losses(struct cff_writer *writer, struct sonde_error *err)
{
	static const struct sonde_loss_kind kinds[] = {
#define X(name, what, reason, elsewhere) { what, reason, elsewhere },
		CFF_LOSS_LIST(X)
#undef X
	};

	return sonde_loss_add_kinds(writer->loss, kinds, writer->losses, CFF_LOSS_COUNT, err);
}

static enum sonde_status cff_writer_track_end(struct sonde_sink *sink, uint32_t track,
					      struct sonde_error *err)
{
	struct cff_writer *writer = cff_writer_of(sink);
	enum sonde_status status = SONDE_OK;

	if (writer->filled_track == track)
		status = cff_writer_flush(writer, err);
	return status < 0 ? status : report_losses(writer, err);
}

static enum sonde_status cff_writer_begin(struct sonde_sink *sink,
					  const struct sonde_definitions *definitions,
					  struct sonde_error *err)
{
	struct cff_writer *writer = cff_writer_of(sink);
	enum sonde_status status;

	writer->definitions = definitions;
	writer->track_count = sonde_definitions_track_count(definitions);
	writer->has_no_index = writer->track_count > CFF_WRITE_ZONES;
	writer->tracks = calloc((size_t)writer->track_count + 1, sizeof(*writer->tracks));
	if (!writer->tracks)
		return sonde_fail_nomem(err);
	status = cff_write_header(writer, err);
	if (status == SONDE_OK)
		status = cff_type_writer_init(writer, err);
	if (status == SONDE_OK)
		status = cff_write_zones(writer, err);
	return status;
}

/* A resource has a chunk of its own, so that no chunk becomes too long by many of them. */
static enum sonde_status cff_writer_blob(struct sonde_sink *sink, const struct sonde_blob *blob,
					 struct sonde_error *err)
{
	struct cff_writer *writer = cff_writer_of(sink);
	const struct cff_resource resource = {
		.type = blob->is_text ? CFF_PART_STRING_RESOURCE : CFF_PART_BINARY_RESOURCE,
		.bytes = blob->bytes,
		.size = blob->size,
	};
	enum sonde_status status = cff_writer_flush_definitions(writer, err);
	uint64_t *offset = sonde_vec_push(&writer->definition_chunks);
	uint32_t *name = sonde_vec_push(&writer->blob_names);

	if (status < 0)
		return status;
	if (!offset || !name)
		return sonde_fail_nomem(err);
	*offset = writer->output.written;
	*name = blob->name;
	writer->has_blob_names |= blob->name != 0;
	return cff_chunk_write(writer, &writer->defining, &resource, 1, err);
}

/* Definitions and JSON may lose something too, so they are made before anything is finished. */
static enum sonde_status cff_writer_complete(struct sonde_sink *sink, struct sonde_error *err)
{
	struct cff_writer *writer = cff_writer_of(sink);
	enum sonde_status status;

	if (writer->is_whole)
		return SONDE_OK;
	status = cff_writer_flush(writer, err);
	if (status == SONDE_OK)
		status = cff_write_last_chunk(writer, err);
	if (status == SONDE_OK)
		status = report_losses(writer, err);
	if (status == SONDE_OK)
		status = sonde_output_close(&writer->output, err);
	if (status == SONDE_OK && writer->is_json)
		status = cff_writer_make_json(writer, err);
	return status;
}

static enum sonde_status cff_writer_finish(struct sonde_sink *sink, struct sonde_error *err)
{
	return sonde_staged_commit(&cff_writer_of(sink)->staged, err);
}

static void cff_writer_free(struct sonde_sink *sink)
{
	struct cff_writer *writer = cff_writer_of(sink);

	for (uint32_t i = 0; writer->tracks && i < writer->track_count; i++)
		sonde_vec_release(&writer->tracks[i].open);
	free(writer->tracks);
	free(writer->zones);
	sonde_arena_release(&writer->zone_texts);
	cff_chunk_writer_release(&writer->defining);
	cff_chunk_writer_release(&writer->filling);
	cff_type_writer_release(&writer->types);
	sonde_vec_release(&writer->index);
	sonde_vec_release(&writer->definition_chunks);
	sonde_vec_release(&writer->stacks);
	sonde_vec_release(&writer->blob_names);
	sonde_buffer_release(&writer->values);
	sonde_output_release(&writer->output);
	sonde_staged_release(&writer->staged);
	sonde_staged_release(&writer->bytes);
	free(writer);
}

static const struct sonde_sink_ops cff_writer_ops = {
	.lanes = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS | SONDE_LANE_BLOBS,
	.begin = cff_writer_begin,
	.whole = cff_writer_whole,
	.blob = cff_writer_blob,
	.events = cff_writer_events,
	.track_end = cff_writer_track_end,
	.complete = cff_writer_complete,
	.finish = cff_writer_finish,
	.free = cff_writer_free,
};

/* `is_json`: the binary form is made beside the file that is wanted. */
static enum sonde_status create(const char *path, const struct sonde_create_options *options,
				bool is_json, unsigned int style, struct sonde_sink **sink,
				struct sonde_error *err)
{
	struct cff_writer *writer = calloc(1, sizeof(*writer));
	const char *work;
	enum sonde_status status;

	*sink = NULL;
	if (!writer)
		return sonde_fail_nomem(err);
	writer->base.ops = &cff_writer_ops;
	writer->loss = options ? options->loss : NULL;
	writer->output.fd = -1;
	writer->filled_track = SONDE_NONE;
	writer->next_chunk = 1;
	writer->is_json = is_json;
	writer->style = style;
	status = sonde_staged_begin(&writer->staged, path, false, options && options->replace, err);
	if (status == SONDE_OK && is_json)
		status = sonde_staged_begin(&writer->bytes, path, false, true, err);
	work = is_json ? writer->bytes.work : writer->staged.work;
	if (status == SONDE_OK)
		status = sonde_output_open(&writer->output, work, err);
	if (status < 0) {
		cff_writer_free(&writer->base);
		return status;
	}
	*sink = &writer->base;
	return SONDE_OK;
}

enum sonde_status cff_create(const char *path, const struct sonde_create_options *options,
			     struct sonde_sink **sink, struct sonde_error *err)
{
	return create(path, options, false, 0, sink, err);
}

/* The words of a style, with commas between. */
static enum sonde_status parse_style(const char *text, unsigned int *style, struct sonde_error *err)
{
	static const struct {
		const char *word;
		unsigned int bit;
	} words[] = {
		{ "partial", CFF_JSON_PARTIAL },
		{ "spec", CFF_JSON_SPEC },
		{ "events", CFF_JSON_EVENTS },
	};

	*style = 0;
	while (text && *text) {
		size_t length = strcspn(text, ","), i = 0;

		while (i < 3 && (strlen(words[i].word) != length ||
				 memcmp(words[i].word, text, length) != 0))
			i++;
		if (i == 3)
			return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
					  "there is no style \"%.*s\" of JSON: expected partial, "
					  "spec or events",
					  (int)(length < 60 ? length : 60), text);
		*style |= words[i].bit;
		text += length + (text[length] == ',');
	}
	return SONDE_OK;
}

enum sonde_status cff_json_create(const char *path, const struct sonde_create_options *options,
				  struct sonde_sink **sink, struct sonde_error *err)
{
	unsigned int style;
	enum sonde_status status = parse_style(options ? options->style : NULL, &style, err);

	*sink = NULL;
	return status < 0 ? status : create(path, options, true, style, sink, err);
}
