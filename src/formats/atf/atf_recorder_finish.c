/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How threads and sessions of the recorder end: footers, final headers, manifests. On a full disk
 * the last events of a thread are taken back until there is room for what must stand behind them.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/atf/atf_recorder_private.h"

/* So many events, a block of most file systems, are taken back at first; then twice as many. */
#define TAKEN_BACK 128

/* So many bytes of events are taken back at first where a manifest does not fit. */
#define MANIFEST_ROOM ((uint64_t)64 << 10)

static bool is_full(enum sonde_status status)
{
	return status == SONDE_IO && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG);
}

/* The detail that is first to go, and what is left before it. */
struct detail_cut {
	uint64_t offset;
	uint64_t count;
	uint64_t last_ns;
	uint32_t linked_last;
};

/* Steps over the details of events before `limit`. False where the file is not as it was written. */
static bool find_cut(const struct sonde_mapped_file *map, const struct atf_frame *frame,
		     uint64_t limit, struct detail_cut *cut)
{
	uint64_t end = ATF_HEADER_SIZE + frame->detail_footer.bytes_length;
	struct atf_detail_record record;

	*cut = (struct detail_cut){ .offset = ATF_HEADER_SIZE };
	if (!map->data || map->size < end)
		return false;
	while (cut->offset < end) {
		if (end - cut->offset < ATF_DETAIL_RECORD_SIZE)
			return false;
		atf_detail_record_decode(&record, map->data + cut->offset);
		if (record.total_length < ATF_DETAIL_RECORD_SIZE ||
		    record.total_length > end - cut->offset)
			return false;
		if (record.index_seq >= limit)
			break;
		cut->offset += record.total_length;
		cut->count++;
		cut->last_ns = record.timestamp;
		cut->linked_last = record.index_seq;
	}
	return true;
}

static enum sonde_status fail_changed(struct recorder_file *file, struct sonde_error *err)
{
	char *path = recorder_file_path(file);

	sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
		   "somebody else has changed this file while it was written");
	if (path)
		sonde_error_set_file(err, path);
	free(path);
	return SONDE_CORRUPT;
}

/*
 * Strikes out the details of events from number `limit` on, which there are not. As below, the
 * file itself is shortened when the part is finished.
 */
static enum sonde_status cut_details(struct atf_recorder_thread *thread, uint64_t limit,
				     struct sonde_error *err)
{
	struct atf_frame *frame = &thread->frame;
	struct atf_detail_footer *footer = &frame->detail_footer;
	struct sonde_mapped_file map = { 0 };
	struct detail_cut cut;
	enum sonde_status status;

	if (!footer->event_count || frame->linked_last < limit)
		return SONDE_OK;
	status = recorder_file_map(&thread->detail, &map, err);
	if (status < 0)
		return status;
	if (find_cut(&map, frame, limit, &cut)) {
		footer->checksum =
			sonde_crc32_undo(footer->checksum, map.data + cut.offset,
					 ATF_HEADER_SIZE + footer->bytes_length - cut.offset);
		footer->bytes_length = cut.offset - ATF_HEADER_SIZE;
		footer->event_count = cut.count;
		footer->time_end_ns = cut.last_ns;
		frame->linked_last = cut.linked_last;
		if (!cut.count) {
			footer->time_start_ns = 0;
			frame->linked_first = UINT32_MAX;
		}
	} else {
		status = fail_changed(&thread->detail, err);
	}
	sonde_mapped_file_release(&map);
	return status;
}

enum sonde_status recorder_take_back(struct atf_recorder_thread *thread, uint64_t count,
				     struct sonde_error *err)
{
	struct atf_index_footer *footer = &thread->frame.footer;
	struct sonde_mapped_file map = { 0 };
	enum sonde_status status;
	const uint8_t *removed;

	if (count > footer->event_count)
		count = footer->event_count;
	status = recorder_file_map(&thread->index, &map, err);
	if (status < 0)
		return status;
	if (!map.data || map.size < ATF_HEADER_SIZE + footer->bytes_written) {
		sonde_mapped_file_release(&map);
		return fail_changed(&thread->index, err);
	}
	footer->event_count -= count;
	footer->bytes_written -= count * ATF_EVENT_SIZE;
	removed = map.data + ATF_HEADER_SIZE + footer->bytes_written;
	footer->checksum = sonde_crc32_undo(footer->checksum, removed, count * ATF_EVENT_SIZE);
	if (footer->event_count)
		footer->time_end_ns = sonde_load_u64le(removed - ATF_EVENT_SIZE + ATF_EVENT_TIME);
	else
		footer->time_start_ns = footer->time_end_ns = 0;
	sonde_mapped_file_release(&map);
	thread->written.event_count -= count;
	thread->lost += count;
	return cut_details(thread, footer->event_count, err);
}

/* Leaves in a file what the frame says. */
static enum sonde_status trim_file(struct recorder_file *file, uint64_t end,
				   struct sonde_error *err)
{
	if (file->size == end && !file->thread->failure)
		return SONDE_OK;
	return recorder_file_cut(file, end, err);
}

/* Puts the footer behind the records, then the final header over the placeholder. */
static enum sonde_status finish_file(struct recorder_file *file, uint64_t end,
				     const uint8_t *header, const uint8_t *footer,
				     struct sonde_error *err)
{
	enum sonde_status status = recorder_file_write(file, end, footer, ATF_FOOTER_SIZE, err);

	if (status == SONDE_OK)
		status = recorder_file_write(file, 0, header, ATF_HEADER_SIZE, err);
	return status < 0 ? status : recorder_file_close(file, err);
}

static enum sonde_status finish_files(struct atf_recorder_thread *thread, struct sonde_error *err)
{
	const struct atf_frame *frame = &thread->frame;
	uint64_t index_end = ATF_HEADER_SIZE + frame->footer.bytes_written;
	uint64_t detail_end = ATF_HEADER_SIZE + frame->detail_footer.bytes_length;
	uint8_t header[ATF_HEADER_SIZE], footer[ATF_FOOTER_SIZE];
	enum sonde_status status = trim_file(&thread->index, index_end, err);

	if (status == SONDE_OK && frame->has_detail)
		status = trim_file(&thread->detail, detail_end, err);
	if (status == SONDE_OK && frame->has_detail) {
		atf_frame_detail_end(frame, header, footer);
		status = finish_file(&thread->detail, detail_end, header, footer, err);
	}
	if (status == SONDE_OK) {
		atf_frame_index_end(frame, header, footer);
		status = finish_file(&thread->index, index_end, header, footer, err);
	}
	return status;
}

enum sonde_status recorder_finish_part(struct atf_recorder_thread *thread, struct sonde_error *err)
{
	enum sonde_status status;

	if (thread->finished)
		return SONDE_OK;
	recorder_drop_details(thread);
	recorder_unstage(thread, NULL); /* failing, it leaves what can be finished */
	status = cut_details(thread, thread->frame.footer.event_count, err);
	if (status == SONDE_OK)
		status = finish_files(thread, err);
	if (status < 0)
		return status;
	thread->written.parts.items[thread->written.parts.count - 1].has_detail =
		thread->frame.has_detail;
	thread->finished = true;
	thread->recorder->unfinished_count--;
	return SONDE_OK;
}

enum sonde_status recorder_reopen_part(struct atf_recorder_thread *thread, struct sonde_error *err)
{
	const struct atf_frame *frame = &thread->frame;
	uint8_t header[ATF_HEADER_SIZE];
	enum sonde_status status = SONDE_OK;

	thread->finished = false;
	thread->recorder->unfinished_count++;
	atf_frame_index_placeholder(frame, header);
	status = recorder_file_write(&thread->index, 0, header, ATF_HEADER_SIZE, err);
	if (status == SONDE_OK)
		status = trim_file(&thread->index, ATF_HEADER_SIZE + frame->footer.bytes_written,
				   err);
	if (status < 0 || !frame->has_detail)
		return status;
	atf_frame_detail_placeholder(frame, header);
	status = recorder_file_write(&thread->detail, 0, header, ATF_HEADER_SIZE, err);
	if (status == SONDE_OK)
		status = trim_file(&thread->detail,
				   ATF_HEADER_SIZE + frame->detail_footer.bytes_length, err);
	return status;
}

enum sonde_status atf_recorder_end_thread(struct atf_recorder_thread *thread,
					  struct sonde_error *err)
{
	bool had_failed = thread->failure;
	enum sonde_status status = recorder_finish_part(thread, err);

	if (status < 0)
		return recorder_give_up(thread, status);
	if (!thread->failure || had_failed)
		return SONDE_OK;
	errno = thread->failure;
	return recorder_file_fail(&thread->index, "cannot be written", err);
}

/* Finishes a thread, with fewer events where the disk is full. */
static enum sonde_status finish_thread(struct atf_recorder_thread *thread, struct sonde_error *err)
{
	enum sonde_status status = recorder_finish_part(thread, err);

	for (uint64_t count = TAKEN_BACK; is_full(status) && thread->frame.footer.event_count;
	     count *= 2) {
		status = recorder_take_back(thread, count, err);
		if (status == SONDE_OK)
			status = recorder_finish_part(thread, err);
	}
	return status;
}

static uint64_t part_bytes(const struct atf_recorder_thread *thread)
{
	if (!thread->frame.footer.event_count)
		return 0;
	return thread->frame.footer.bytes_written + thread->frame.detail_footer.bytes_length;
}

/* Takes events back from the thread that has most of them. SONDE_END where there are none. */
static enum sonde_status make_room(struct atf_recorder *recorder, uint64_t bytes,
				   struct sonde_error *err)
{
	struct atf_recorder_thread *largest = NULL;
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < recorder->threads.count; i++) {
		struct atf_recorder_thread *thread = recorder->threads.items[i];

		if (part_bytes(thread) > (largest ? part_bytes(largest) : 0))
			largest = thread;
	}
	if (!largest)
		return SONDE_END;
	if (largest->finished)
		status = recorder_reopen_part(largest, err);
	if (status == SONDE_OK)
		status = recorder_take_back(largest, bytes / ATF_EVENT_SIZE, err);
	return status < 0 ? status : finish_thread(largest, err);
}

/* What was made up at the end of a thread is not there where events are missing from it. */
static void settle_synthetic(struct atf_recorder_thread *thread)
{
	struct atf_written_track *written = &thread->written;
	uint64_t tail = thread->failure ? 0 : thread->synthetic_tail;

	tail = tail > thread->lost ? tail - thread->lost : 0;
	written->synthetic_head = thread->synthetic_head;
	if (written->synthetic_head > written->event_count)
		written->synthetic_head = written->event_count;
	if (tail > written->event_count - written->synthetic_head)
		tail = written->event_count - written->synthetic_head;
	written->synthetic_tail = tail;
}

/* The definitions must be of the processes and threads that were added. */
static enum sonde_status check_definitions(const struct atf_recorder *recorder,
					   const struct sonde_definitions *definitions,
					   struct sonde_error *err)
{
	uint32_t processes = sonde_definitions_process_count(definitions);
	uint32_t tracks = sonde_definitions_track_count(definitions);

	if (processes != recorder->processes.count || tracks != recorder->threads.count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "%u processes and %u tracks are defined, but %zu processes and "
				  "%zu threads were recorded",
				  processes, tracks, recorder->processes.count,
				  recorder->threads.count);
	for (uint32_t i = 0; i < tracks; i++) {
		uint32_t process = recorder->threads.items[i]->written.process;
		const struct sonde_track *track = sonde_definitions_track(definitions, i);
		uint8_t clock = atf_clock_type(definitions,
					       sonde_definitions_process(definitions, process));

		if (track->process != process)
			return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
					  "track %u is defined in process %u, but was recorded in "
					  "process %u",
					  i, track->process, process);
		if (clock != SONDE_CLOCK_BOOTTIME)
			return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
					  "process %u is defined with another clock than the "
					  "%s clock that is recorded",
					  process, sonde_clock_kind_name(SONDE_CLOCK_BOOTTIME));
	}
	return SONDE_OK;
}

static const struct atf_written_track *manifest_track(void *context, uint32_t track)
{
	const struct atf_recorder *recorder = context;

	return &recorder->threads.items[track]->written;
}

/* The manifests of all processes that have threads. */
static enum sonde_status write_manifests(struct atf_recorder *recorder,
					 struct atf_manifest_writer *manifests,
					 struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < recorder->threads.count; i++)
		settle_synthetic(recorder->threads.items[i]);
	for (uint32_t i = 0; i < recorder->processes.count && status == SONDE_OK; i++)
		if (recorder->processes.items[i].folder)
			status = atf_manifests_write(manifests, i,
						     recorder->processes.items[i].folder, err);
	return status;
}

/* `finish`: nothing is recorded any more, so events may go to make room. */
static enum sonde_status define_manifests(struct atf_recorder *recorder,
					  const struct sonde_definitions *definitions, bool finish,
					  struct sonde_error *err)
{
	struct atf_manifest_writer manifests = {
		.definitions = definitions,
		.context = recorder,
		.track_count = (uint32_t)recorder->threads.count,
		.track = manifest_track,
		.resources = &recorder->resources,
	};
	enum sonde_status status = atf_manifest_writer_init(&manifests, err);

	if (status == SONDE_OK)
		status = write_manifests(recorder, &manifests, err);
	for (uint64_t bytes = MANIFEST_ROOM; finish && is_full(status) && errno != EFBIG;
	     bytes *= 2) {
		if (make_room(recorder, bytes, NULL) != SONDE_OK)
			break;
		status = write_manifests(recorder, &manifests, err);
	}
	atf_manifest_writer_release(&manifests);
	return status;
}

enum sonde_status atf_recorder_define(struct atf_recorder *recorder,
				      const struct sonde_definitions *definitions,
				      struct sonde_error *err)
{
	enum sonde_status status = check_definitions(recorder, definitions, err);

	for (size_t i = 0; i < recorder->threads.count; i++) {
		struct atf_recorder_thread *thread = recorder->threads.items[i];

		thread->written.parts.items[thread->written.parts.count - 1].has_detail =
			thread->frame.has_detail;
	}
	return status < 0 ? status : define_manifests(recorder, definitions, false, err);
}

enum sonde_status atf_recorder_finish(struct atf_recorder *recorder,
				      const struct sonde_definitions *definitions, uint64_t *lost,
				      struct sonde_error *err)
{
	enum sonde_status status, first;

	*lost = 0;
	if (recorder->finished)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "the session is finished already");
	first = check_definitions(recorder, definitions, err);
	if (first < 0)
		return first;
	recorder_release_reserve(recorder);
	/* whatever fails, the rest is worth finishing; the first error is the one to tell */
	for (size_t i = 0; i < recorder->threads.count; i++) {
		status = finish_thread(recorder->threads.items[i], first < 0 ? NULL : err);
		first = first < 0 ? first : status;
	}
	status = define_manifests(recorder, definitions, true, first < 0 ? NULL : err);
	first = first < 0 ? first : status;
	for (size_t i = 0; i < recorder->threads.count; i++)
		*lost += recorder->threads.items[i]->lost;
	recorder->finished = first == SONDE_OK;
	return first;
}
