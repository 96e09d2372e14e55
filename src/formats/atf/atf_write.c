/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes ATF sessions. Each track is two files with a placeholder header, the records, a footer,
 * and last of all the real header, so that a reader of a half-written session sees a crash and
 * not a lie. The session appears under its name when it is whole. Manifests are written in
 * atf_manifest_write.c.
 */
#include "formats/atf/atf_write.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "formats/atf/atf_annotations.h"
#include "formats/atf/atf_frame.h"
#include "formats/atf/atf_manifest.h"
#include "formats/atf/atf_paths.h"
#include "formats/atf/atf_session.h"

/* The files of one part of a thread while they are open. */
struct atf_part_writer {
	char *folder;
	struct sonde_output index, detail;
	struct atf_frame frame;
};

/* Encoded events before they go to the checksum and the file. */
#define CHUNK_EVENTS 1024

static struct atf_writer *atf_writer_of(struct sonde_sink *sink)
{
	return (struct atf_writer *)sink;
}

/* The first free function_id of a module, for a function that brought none. */
static uint64_t invent_key(struct atf_writer *writer, const struct sonde_function *function)
{
	const struct sonde_module *module =
		sonde_definitions_module(writer->definitions, function->module);
	uint64_t high = module ? atf_module_key(writer->definitions, module) : 0;
	uint64_t index = sonde_table_count(&writer->keys) + 1;

	/* a symbol must have a module; where there are annotations, those of none are scopes */
	if (!module && (function->name || sonde_definitions_event_type_count(writer->definitions)))
		high = ATF_ANNOTATIONS_MODULE;
	high <<= 32;
	while (sonde_key_map_find(&writer->used_keys, high | index) != UINT32_MAX)
		index++;
	return high | index;
}

/* Extends the table of keys up to and including `function`. Under the lock, or alone. */
static enum sonde_status extend_keys(struct atf_writer *writer, uint32_t function,
				     struct sonde_error *err)
{
	for (uint32_t id = sonde_table_count(&writer->keys); id <= function; id++) {
		const struct sonde_function *definition =
			sonde_definitions_function(writer->definitions, id);
		uint64_t key;

		if (!definition)
			return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
					  "an event names function %u, which is not defined", id);
		key = definition->has_key ? definition->key : invent_key(writer, definition);
		if (sonde_key_map_find(&writer->used_keys, key) == UINT32_MAX &&
		    !sonde_key_map_add(&writer->used_keys, key, id))
			return sonde_fail_nomem(err);
		if (sonde_table_add(&writer->keys, &key) == SONDE_NONE)
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

enum sonde_status atf_writer_function_key(struct atf_writer *writer, uint32_t function,
					  uint64_t *key, struct sonde_error *err)
{
	const uint64_t *known = sonde_table_at(&writer->keys, function);
	enum sonde_status status = SONDE_OK;

	if (!known) {
		pthread_mutex_lock(&writer->lock);
		status = extend_keys(writer, function, err);
		pthread_mutex_unlock(&writer->lock);
		if (status < 0)
			return status;
		known = sonde_table_at(&writer->keys, function);
	}
	*key = *known;
	return status;
}

/* A process alone is the session folder itself; others have folders of their own in it. */
static char *process_folder(struct atf_writer *writer, uint32_t id)
{
	uint32_t pid = sonde_definitions_process(writer->definitions, id)->os_id, number = 1;

	if (writer->process_count == 1)
		return strdup(writer->staged.work);
	for (uint32_t i = 0; i < id; i++)
		number += sonde_definitions_process(writer->definitions, i)->os_id == pid;
	return atf_process_folder(writer->staged.work, pid, number);
}

static enum sonde_status create_process_folders(struct atf_writer *writer, struct sonde_error *err)
{
	writer->process_count = sonde_definitions_process_count(writer->definitions);
	writer->folders = calloc(writer->process_count + 1, sizeof(*writer->folders));
	if (!writer->folders)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < writer->process_count; i++) {
		enum sonde_status status = SONDE_OK;

		writer->folders[i] = process_folder(writer, i);
		if (!writer->folders[i])
			return sonde_fail_nomem(err);
		if (writer->process_count > 1)
			status = sonde_folder_create(writer->folders[i], err);
		if (status < 0)
			return status;
	}
	return SONDE_OK;
}

/* Gives each track a thread folder of its own: its slot, or where that is taken the next free. */
static enum sonde_status assign_slots(struct atf_writer *writer, struct sonde_error *err)
{
	struct sonde_key_map taken = { NULL };
	enum sonde_status status = SONDE_OK;

	writer->track_count = sonde_definitions_track_count(writer->definitions);
	writer->tracks = calloc(writer->track_count + 1, sizeof(*writer->tracks));
	if (!writer->tracks)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < writer->track_count; i++) {
		const struct sonde_track *definition =
			sonde_definitions_track(writer->definitions, i);
		struct atf_written_track *track = &writer->tracks[i].written;
		uint64_t key;

		track->process = definition->process;
		track->slot = definition->slot;
		key = (uint64_t)track->process << 32 | track->slot;
		while (sonde_key_map_find(&taken, key) != UINT32_MAX)
			key = (uint64_t)track->process << 32 | ++track->slot;
		if (track->process >= writer->process_count)
			status = sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
					    "track %u is of process %u, which is not defined", i,
					    track->process);
		else if (!sonde_key_map_add(&taken, key, i))
			status = sonde_fail_nomem(err);
		if (status < 0)
			break;
	}
	sonde_key_map_release(&taken);
	return status;
}

/* Attributes whose name a manifest uses for something else cannot be written. */
static enum sonde_status count_lost_attributes(struct atf_writer *writer, struct sonde_error *err)
{
	uint32_t count = sonde_definitions_attribute_count(writer->definitions);
	uint64_t lost = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_attribute *attribute =
			sonde_definitions_attribute(writer->definitions, i);

		lost += atf_manifest_has_key(
			attribute->owner,
			sonde_definitions_string(writer->definitions, attribute->name));
	}
	return sonde_loss_add(writer->loss, "attributes",
			      "an ATF manifest uses their name for something else", lost, err);
}

/* The ids that functions bring along, before others are invented. */
static enum sonde_status note_used_keys(struct atf_writer *writer, uint32_t functions,
					struct sonde_error *err)
{
	for (uint32_t id = 0; id < functions; id++) {
		const struct sonde_function *function =
			sonde_definitions_function(writer->definitions, id);

		if (function->has_key &&
		    sonde_key_map_find(&writer->used_keys, function->key) == UINT32_MAX &&
		    !sonde_key_map_add(&writer->used_keys, function->key, id))
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

static enum sonde_status atf_writer_begin(struct sonde_sink *sink,
					  const struct sonde_definitions *definitions,
					  struct sonde_error *err)
{
	struct atf_writer *writer = atf_writer_of(sink);
	uint32_t functions = sonde_definitions_function_count(definitions);
	enum sonde_status status;

	writer->definitions = definitions;
	status = count_lost_attributes(writer, err);
	if (status == SONDE_OK)
		status = create_process_folders(writer, err);
	if (status == SONDE_OK)
		status = assign_slots(writer, err);
	if (status == SONDE_OK)
		status = note_used_keys(writer, functions, err);
	if (status == SONDE_OK && functions)
		status = extend_keys(writer, functions - 1, err);
	if (status == SONDE_OK)
		status = atf_writer_begin_types(writer, err);
	return status;
}

/* Makes the folder of a part unless another track did. */
static enum sonde_status create_part_folder(struct atf_writer *writer, const char *folder,
					    struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	pthread_mutex_lock(&writer->lock);
	if (sonde_path_kind(folder) == SONDE_PATH_ABSENT)
		status = sonde_folder_create(folder, err);
	pthread_mutex_unlock(&writer->lock);
	return status;
}

static enum sonde_status open_lane(struct sonde_output *output, const char *folder,
				   const char *name, const uint8_t *header, struct sonde_error *err)
{
	char *path = sonde_path_join(folder, name);
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	status = sonde_output_open(output, path, err);
	free(path);
	if (status == SONDE_OK)
		status = sonde_output_write(output, header, ATF_HEADER_SIZE, err);
	return status;
}

/* Opens index.atf of a part under its placeholder header. */
static enum sonde_status open_part_files(struct atf_writer *writer, struct atf_track_writer *track,
					 struct atf_part_writer *part, struct sonde_error *err)
{
	const struct sonde_process *process =
		sonde_definitions_process(writer->definitions, track->written.process);
	uint8_t bytes[ATF_HEADER_SIZE];
	enum sonde_status status;

	atf_frame_init(&part->frame, process->arch, process->os,
		       atf_clock_type(writer->definitions, process), track->written.slot);
	status = sonde_folder_create(part->folder, err);
	if (status < 0)
		return status;
	atf_frame_index_placeholder(&part->frame, bytes);
	return open_lane(&part->index, part->folder, ATF_INDEX_NAME, bytes, err);
}

static void part_writer_free(struct atf_part_writer *part)
{
	if (!part)
		return;
	sonde_output_release(&part->index);
	sonde_output_release(&part->detail);
	free(part->folder);
	free(part);
}

/* Starts the next part of a track: part 0 at first, another when a file is full. */
static enum sonde_status begin_part(struct atf_writer *writer, struct atf_track_writer *track,
				    struct sonde_error *err)
{
	struct atf_part_writer *part = calloc(1, sizeof(*part));
	struct atf_written *written = sonde_vec_push(&track->written.parts);
	char *folder = NULL;
	enum sonde_status status;

	if (part)
		part->index.fd = part->detail.fd = -1;
	if (!part || !written)
		goto nomem;
	*written = (struct atf_written){ 0 };
	folder = atf_part_folder(writer->folders[track->written.process],
				 (uint32_t)track->written.parts.count - 1);
	part->folder = folder ? atf_thread_folder(folder, track->written.slot) : NULL;
	if (!part->folder)
		goto nomem;
	track->open = part;
	status = create_part_folder(writer, folder, err);
	free(folder);
	return status < 0 ? status : open_part_files(writer, track, part, err);
nomem:
	free(folder);
	part_writer_free(part);
	return sonde_fail_nomem(err);
}

/* Opens detail.atf at the first detail of a part. */
static enum sonde_status begin_detail(struct atf_track_writer *track, struct sonde_error *err)
{
	struct atf_part_writer *part = track->open;
	uint8_t bytes[ATF_HEADER_SIZE];

	part->frame.has_detail = true;
	atf_frame_detail_placeholder(&part->frame, bytes);
	return open_lane(&part->detail, part->folder, ATF_DETAIL_NAME, bytes, err);
}

static enum sonde_status write_detail_bytes(struct atf_part_writer *part, const void *bytes,
					    size_t size, struct sonde_error *err)
{
	atf_frame_sum_details(&part->frame, bytes, size);
	return sonde_output_write(&part->detail, bytes, size, err);
}

/* The fixed part of a function payload. */
static enum sonde_status encode_payload(struct atf_writer *writer,
					const struct sonde_detail *detail,
					uint8_t bytes[ATF_PAYLOAD_SIZE], struct sonde_error *err)
{
	uint64_t key = 0;
	enum sonde_status status = SONDE_OK;

	if (detail->function != SONDE_NONE)
		status = atf_writer_function_key(writer, detail->function, &key, err);
	atf_payload_encode(bytes, key, detail->registers.values, (uint16_t)detail->stack_size,
			   detail->registers.flags);
	return status;
}

/* Everything of a record before its stack bytes, arguments or payload; gives its size. */
static enum sonde_status encode_detail(struct atf_writer *writer, struct atf_track_writer *track,
				       const struct sonde_detail *detail, uint64_t extra,
				       uint32_t index_seq, uint8_t *bytes, size_t *fixed,
				       struct sonde_error *err)
{
	bool registers = detail->kind == SONDE_DETAIL_REGISTERS;
	struct atf_detail_record record = {
		.event_type = detail->type,
		.flags = detail->flags,
		.index_seq = index_seq,
		.thread_id = track->written.slot,
		.timestamp = detail->time_ns,
	};
	enum sonde_status status = SONDE_OK;
	uint64_t key;

	if (detail->kind == SONDE_DETAIL_ARGUMENTS) {
		*fixed = ATF_ARGUMENTS_HEAD_SIZE;
		if (detail->type != ATF_DETAIL_TYPE_ARGUMENTS)
			record.flags = 0; /* of another format */
		status = atf_writer_type_key(writer, track->written.process, detail->event_type,
					     &key, err);
		if (status == SONDE_OK)
			atf_arguments_encode_head(bytes, &record, key, extra, detail->size);
		return status;
	}
	*fixed = ATF_DETAIL_RECORD_SIZE + (registers ? ATF_PAYLOAD_SIZE : 0);
	record.total_length =
		(uint32_t)(*fixed + (registers ? detail->stack_size : 0) + detail->size);
	atf_detail_record_encode(&record, bytes);
	if (registers)
		status = encode_payload(writer, detail, bytes + ATF_DETAIL_RECORD_SIZE, err);
	return status;
}

/* Writes one detail record with a link back to `index_seq`; `extra` goes beside arguments. */
static enum sonde_status write_detail(struct atf_writer *writer, struct atf_track_writer *track,
				      const struct sonde_detail *detail, uint64_t extra,
				      uint32_t index_seq, struct sonde_error *err)
{
	uint8_t bytes[ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_SIZE];
	size_t stack_size = detail->kind == SONDE_DETAIL_REGISTERS ? detail->stack_size : 0;
	struct atf_part_writer *part = track->open;
	enum sonde_status status = SONDE_OK;
	size_t fixed = 0;

	if (!part->frame.has_detail)
		status = begin_detail(track, err);
	if (status == SONDE_OK)
		status = encode_detail(writer, track, detail, extra, index_seq, bytes, &fixed, err);
	if (status < 0)
		return status;
	atf_frame_count_details(&part->frame, 1, detail->time_ns, detail->time_ns);
	status = write_detail_bytes(part, bytes, fixed, err);
	if (status == SONDE_OK && stack_size)
		status = write_detail_bytes(part, detail->stack, stack_size, err);
	if (status == SONDE_OK && detail->size)
		status = write_detail_bytes(part, detail->bytes, detail->size, err);
	return status;
}

enum sonde_status atf_writer_lose_detail(struct atf_writer *writer, struct sonde_error *err)
{
	return sonde_loss_add(writer->loss, "details",
			      "the source links to details it does not have, or that are damaged",
			      1, err);
}

/*
 * Writes the detail of an event where it has one, and gives its number. One that the source
 * cannot read any more is counted as lost, and the event stays.
 */
static enum sonde_status carry_detail(struct atf_writer *writer, struct atf_track_writer *track,
				      const struct sonde_batch *batch,
				      const struct sonde_event *event, uint32_t index_seq,
				      uint32_t *detail_seq, struct sonde_error *err)
{
	struct atf_frame *frame = &track->open->frame;
	bool annotation = atf_kind_is_annotation(event->kind);
	struct sonde_detail detail;
	enum sonde_status status;

	*detail_seq = ATF_NO_LINK;
	if (annotation)
		status = atf_writer_annotation(writer, batch, event, &detail, err);
	else
		status = sonde_batch_detail(batch, event, &detail, err);
	if (status == SONDE_END)
		return SONDE_OK;
	if (status == SONDE_CORRUPT || status == SONDE_TRUNCATED || status == SONDE_ARGUMENT)
		return atf_writer_lose_detail(writer, err);
	if (status < 0)
		return status;
	*detail_seq = (uint32_t)frame->detail_footer.event_count;
	atf_frame_link(frame, index_seq, index_seq);
	return write_detail(writer, track, &detail, annotation ? atf_annotation_extra(event) : 0,
			    index_seq, err);
}

/* The kinds that both know have the same numbers. */
_Static_assert((int)SONDE_EVENT_CALL == ATF_KIND_CALL &&
		       (int)SONDE_EVENT_EXCEPTION == ATF_KIND_EXCEPTION &&
		       (unsigned int)SONDE_EVENT_INSTANT == ATF_KIND_INSTANT &&
		       (unsigned int)SONDE_EVENT_RANGE_END == ATF_KIND_RANGE_END,
	       "kinds are written as they are");

/* The number an event's kind has in the file; 0 where it has none. */
static uint32_t file_kind(const struct sonde_event *event)
{
	if (event->kind != SONDE_EVENT_OTHER)
		return event->kind;
	return event->extra > ATF_KIND_RANGE_END ? event->extra : 0;
}

static enum sonde_status event_key(struct atf_writer *writer, const struct atf_track_writer *track,
				   const struct sonde_event *event, uint64_t *key,
				   struct sonde_error *err)
{
	if (sonde_event_has_function(event))
		return atf_writer_function_key(writer, event->function, key, err);
	return atf_writer_type_key(writer, track->written.process, event->function, key, err);
}

/*
 * Keeps count of synthetic events: those at the start, and those at the end so far. Others cannot
 * be told apart in the file.
 */
static enum sonde_status note_synthetic(struct atf_writer *writer, struct atf_written_track *track,
					const struct sonde_event *event, struct sonde_error *err)
{
	uint64_t lost = track->synthetic_tail;

	if (event->flags & SONDE_EVENT_SYNTHETIC) {
		if (track->synthetic_head == track->event_count)
			track->synthetic_head++;
		else
			track->synthetic_tail++;
		return SONDE_OK;
	}
	track->synthetic_tail = 0;
	return sonde_loss_add(writer->loss, "marks of synthetic events",
			      "an ATF manifest has room for those at the start and the end", lost,
			      err);
}

static void note_time(struct atf_written_track *track, uint64_t time_ns)
{
	if (track->event_count == 0 || time_ns < track->time_min_ns)
		track->time_min_ns = time_ns;
	if (time_ns > track->time_max_ns)
		track->time_max_ns = time_ns;
}

static enum sonde_status flush_chunk(struct atf_part_writer *part, const uint8_t *chunk,
				     size_t size, struct sonde_error *err)
{
	atf_frame_sum_events(&part->frame, chunk, size);
	return sonde_output_write(&part->index, chunk, size, err);
}

/* Encodes one event behind the others of a chunk. */
static enum sonde_status encode_event(struct atf_writer *writer, struct atf_track_writer *track,
				      const struct sonde_batch *batch,
				      const struct sonde_event *event, uint8_t *bytes,
				      struct sonde_error *err)
{
	struct atf_frame *frame = &track->open->frame;
	struct atf_index_event record = {
		.timestamp_ns = event->time_ns,
		.thread_id = track->written.slot,
		.event_kind = file_kind(event),
		.call_depth = event->depth,
		.detail_seq = ATF_NO_LINK,
	};
	enum sonde_status status = event_key(writer, track, event, &record.function_id, err);

	if (status == SONDE_OK &&
	    (event->detail != SONDE_NONE || event->kind > SONDE_EVENT_EXCEPTION))
		status = carry_detail(writer, track, batch, event,
				      (uint32_t)frame->footer.event_count, &record.detail_seq, err);
	if (status < 0)
		return status;
	atf_index_event_encode(&record, bytes);
	atf_frame_count_events(frame, 1, event->time_ns, event->time_ns);
	status = note_synthetic(writer, &track->written, event, err);
	note_time(&track->written, event->time_ns);
	track->written.event_count++;
	return status;
}

/* Puts the footer behind the records, then the real header over the placeholder. */
static enum sonde_status finish_file(struct sonde_output *output, const uint8_t *header,
				     const uint8_t *footer, struct sonde_error *err)
{
	enum sonde_status status = sonde_output_write(output, footer, ATF_FOOTER_SIZE, err);

	if (status == SONDE_OK)
		status = sonde_output_patch(output, 0, header, ATF_HEADER_SIZE, err);
	return status < 0 ? status : sonde_output_close(output, err);
}

static enum sonde_status finish_part(struct atf_track_writer *track, struct sonde_error *err)
{
	uint8_t header[ATF_HEADER_SIZE], footer[ATF_FOOTER_SIZE];
	struct atf_part_writer *part = track->open;
	bool has_detail = part->frame.has_detail;
	enum sonde_status status = SONDE_OK;

	track->written.parts.items[track->written.parts.count - 1].has_detail = has_detail;
	if (has_detail) {
		atf_frame_detail_end(&part->frame, header, footer);
		status = finish_file(&part->detail, header, footer, err);
	}
	if (status == SONDE_OK) {
		atf_frame_index_end(&part->frame, header, footer);
		status = finish_file(&part->index, header, footer, err);
	}
	track->open = NULL;
	part_writer_free(part);
	return status;
}

/* Kinds that an index has no number for are counted as lost. */
static enum sonde_status lose_event(struct atf_writer *writer, const struct sonde_event *event,
				    struct sonde_error *err)
{
	char what[64];

	snprintf(what, sizeof(what), "events of kind %s", sonde_event_kind_name(event->kind));
	return sonde_loss_add(writer->loss, what, "an ATF index has no number for it", 1, err);
}

/* Encodes and writes as many events from `start` on as fit one chunk and the present part. */
static enum sonde_status write_chunk(struct atf_writer *writer, struct atf_track_writer *track,
				     const struct sonde_batch *batch, size_t *start,
				     struct sonde_error *err)
{
	uint8_t chunk[CHUNK_EVENTS * ATF_EVENT_SIZE];
	size_t used = 0;
	enum sonde_status status = SONDE_OK;

	for (; *start < batch->count && used < sizeof(chunk); (*start)++) {
		const struct sonde_event *event = &batch->events[*start];

		if (event->kind >= SONDE_EVENT_KIND_COUNT) {
			status = lose_event(writer, event, err);
		} else {
			if (track->open->frame.footer.event_count >= writer->events_per_file)
				break;
			status = encode_event(writer, track, batch, event, chunk + used, err);
			used += ATF_EVENT_SIZE;
		}
		if (status < 0)
			return status;
	}
	return flush_chunk(track->open, chunk, used, err);
}

static enum sonde_status atf_writer_events(struct sonde_sink *sink, uint32_t track_id,
					   const struct sonde_batch *batch, struct sonde_error *err)
{
	struct atf_writer *writer = atf_writer_of(sink);
	struct atf_track_writer *track = &writer->tracks[track_id];
	enum sonde_status status = SONDE_OK;

	for (size_t start = 0; start < batch->count && status == SONDE_OK;) {
		if (track->open && track->open->frame.footer.event_count >= writer->events_per_file)
			status = finish_part(track, err);
		if (status == SONDE_OK && !track->open)
			status = begin_part(writer, track, err);
		if (status == SONDE_OK)
			status = write_chunk(writer, track, batch, &start, err);
	}
	return status;
}

enum sonde_status atf_writer_add_unlinked(struct sonde_sink *sink, uint32_t track_id,
					  const struct sonde_detail *detail, uint64_t extra,
					  struct sonde_error *err)
{
	struct atf_writer *writer = atf_writer_of(sink);
	struct atf_track_writer *track = &writer->tracks[track_id];
	enum sonde_status status = SONDE_OK;

	if (!track->open)
		status = begin_part(writer, track, err);
	if (status < 0)
		return status;
	return write_detail(writer, track, detail, extra, ATF_NO_LINK, err);
}

/* A track without events is written too, so that it is there again on reading. */
static enum sonde_status atf_writer_track_end(struct sonde_sink *sink, uint32_t track_id,
					      struct sonde_error *err)
{
	struct atf_writer *writer = atf_writer_of(sink);
	struct atf_track_writer *track = &writer->tracks[track_id];
	enum sonde_status status = SONDE_OK;

	if (!track->written.parts.count)
		status = begin_part(writer, track, err);
	if (status == SONDE_OK && track->open)
		status = finish_part(track, err);
	return status;
}

static enum sonde_status manifest_key(void *context, uint32_t function, uint64_t *key,
				      struct sonde_error *err)
{
	return atf_writer_function_key(context, function, key, err);
}

static const struct atf_written_track *manifest_track(void *context, uint32_t track)
{
	const struct atf_writer *writer = context;

	return &writer->tracks[track].written;
}

static enum sonde_status atf_writer_finish(struct sonde_sink *sink, struct sonde_error *err)
{
	struct atf_writer *writer = atf_writer_of(sink);
	struct atf_manifest_writer manifests = {
		.definitions = writer->definitions,
		.context = writer,
		.track_count = (uint32_t)writer->track_count,
		.track = manifest_track,
		.function_key = manifest_key,
		.event_type_key = atf_writer_listed_type,
		.resources = &writer->resources,
	};
	enum sonde_status status = atf_manifest_writer_init(&manifests, err);

	for (uint32_t i = 0; i < writer->process_count && status == SONDE_OK; i++)
		status = atf_manifests_write(&manifests, i, writer->folders[i], err);
	atf_manifest_writer_release(&manifests);
	return status < 0 ? status : sonde_staged_commit(&writer->staged, err);
}

static void atf_writer_free(struct sonde_sink *sink)
{
	struct atf_writer *writer = atf_writer_of(sink);

	for (size_t i = 0; writer->tracks && i < writer->track_count; i++) {
		part_writer_free(writer->tracks[i].open);
		sonde_vec_release(&writer->tracks[i].written.parts);
	}
	free(writer->tracks);
	for (size_t i = 0; writer->folders && i < writer->process_count; i++)
		free(writer->folders[i]);
	free(writer->folders);
	atf_writer_release_annotations(writer);
	sonde_table_release(&writer->keys);
	sonde_key_map_release(&writer->used_keys);
	sonde_staged_release(&writer->staged);
	pthread_mutex_destroy(&writer->lock);
	free(writer);
}

static const struct sonde_sink_ops atf_writer_ops = {
	.lanes = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS | SONDE_LANE_BLOBS,
	.parallel_tracks = true,
	.begin = atf_writer_begin,
	.blob = atf_writer_blob,
	.events = atf_writer_events,
	.track_end = atf_writer_track_end,
	.finish = atf_writer_finish,
	.free = atf_writer_free,
};

enum sonde_status atf_create_limited(const char *path, const struct sonde_create_options *options,
				     uint64_t events_per_file, struct sonde_sink **sink,
				     struct sonde_error *err)
{
	struct atf_writer *writer = calloc(1, sizeof(*writer));
	enum sonde_status status;

	if (!writer)
		return sonde_fail_nomem(err);
	writer->base.ops = &atf_writer_ops;
	writer->loss = options->loss;
	writer->events_per_file = events_per_file;
	pthread_mutex_init(&writer->lock, NULL);
	sonde_table_init(&writer->keys, sizeof(uint64_t));
	sonde_table_init(&writer->type_keys, sizeof(uint64_t));
	status = sonde_staged_begin(&writer->staged, path, true, options->replace, err);
	if (status < 0) {
		atf_writer_free(&writer->base);
		return status;
	}
	*sink = &writer->base;
	return SONDE_OK;
}

enum sonde_status atf_create(const char *path, const struct sonde_create_options *options,
			     struct sonde_sink **sink, struct sonde_error *err)
{
	return atf_create_limited(path, options, ATF_EVENTS_MAX, sink, err);
}
