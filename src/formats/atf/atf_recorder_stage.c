/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gathers what busy threads record in stages: memory that is handed to the writing thread
 * (atf_recorder_io.c) when it is full. Here is who has a stage, and what becomes of a thread
 * whose piece could not be written: its frame goes back to what is in the files.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "formats/atf/atf_recorder_private.h"

#define STAGE_COUNT 16
#define STAGE_SIZE ((size_t)4 << 20)
#define STAGE_AFTER ((uint64_t)256 << 10)
#define HUGE_PAGE ((size_t)2 << 20)

bool recorder_staging_init(struct staging *staging, const struct atf_recorder_limits *limits)
{
	staging->limit = limits->stage_count ? limits->stage_count : STAGE_COUNT;
	staging->size = limits->stage_size ? limits->stage_size : STAGE_SIZE;
	staging->after = limits->stage_after ? limits->stage_after : STAGE_AFTER;
	staging->stages = calloc(staging->limit, sizeof(*staging->stages));
	pthread_mutex_init(&staging->lock, NULL);
	pthread_cond_init(&staging->queued, NULL);
	pthread_cond_init(&staging->done, NULL);
	return staging->stages != NULL;
}

void recorder_staging_release(struct staging *staging)
{
	recorder_io_stop(staging);
	if (staging->mapping)
		munmap(staging->mapping, staging->limit * staging->size + HUGE_PAGE);
	free(staging->stages);
	pthread_cond_destroy(&staging->done);
	pthread_cond_destroy(&staging->queued);
	pthread_mutex_destroy(&staging->lock);
}

/*
 * The memory of all stages, of which those that are not used take none. More than is needed, so
 * that huge pages fit.
 */
static bool map_stages(struct staging *staging)
{
	size_t size = staging->limit * staging->size;

	if (staging->mapping)
		return true;
	staging->mapping = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (staging->mapping == MAP_FAILED) {
		staging->mapping = NULL;
		return false;
	}
	staging->data =
		(uint8_t *)(((uintptr_t)staging->mapping + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
	madvise(staging->data, size, MADV_HUGEPAGE);
	return true;
}

/*
 * Under the lock. One for each file to fill, and one that is written. More would help a disk little,
 * and memory costs much where it was not used before.
 */
static struct stage *find_free(struct staging *staging)
{
	size_t most = 1 + staging->owner_count;

	for (size_t i = 0; i < staging->count; i++)
		if (staging->stages[i].state == STAGE_FREE)
			return &staging->stages[i];
	if (staging->count >= most || staging->count == staging->limit || !map_stages(staging))
		return NULL;
	staging->stages[staging->count].data = staging->data + staging->count * staging->size;
	return &staging->stages[staging->count++];
}

static void give_stage(struct recorder_file *file, struct stage *stage)
{
	const struct atf_frame *frame = &file->thread->frame;

	file->stage = stage;
	stage->file = file;
	stage->start = stage->end = stage->written = file->size;
	stage->base = file->size / STAGE_ALIGNMENT * STAGE_ALIGNMENT;
	stage->age = 0;
	stage->fd = file->io_fd;
	stage->footer = frame->footer;
	stage->detail_footer = frame->detail_footer;
	stage->linked_first = frame->linked_first;
	stage->linked_last = frame->linked_last;
}

/* Takes a stage; waits for one with `wait`, for which one of the thread must be on its way. */
static bool take_stage(struct recorder_file *file, bool wait)
{
	struct staging *staging = &file->thread->recorder->staging;
	struct stage *stage;

	pthread_mutex_lock(&staging->lock);
	while (!(stage = find_free(staging)) && wait && !atomic_load(&file->thread->io_error)) {
		staging->waited = true;
		pthread_cond_wait(&staging->done, &staging->lock);
	}
	if (stage)
		stage->state = STAGE_FILLING;
	pthread_mutex_unlock(&staging->lock);
	if (stage)
		give_stage(file, stage);
	return stage != NULL;
}

/* Puts what was kept apart into a stage that is to be read. */
static void complete(struct stage *stage)
{
	size_t rest = stage->end % CACHE_LINE;

	memcpy(stage->data + (stage->end - rest - stage->base), stage->line, rest);
}

static void hand_over(struct recorder_file *file)
{
	struct staging *staging = &file->thread->recorder->staging;

	complete(file->stage);
	pthread_mutex_lock(&staging->lock);
	file->stage->state = STAGE_QUEUED;
	file->stage->order = staging->next_order++;
	file->pending++;
	file->stage = NULL;
	pthread_cond_signal(&staging->queued);
	pthread_mutex_unlock(&staging->lock);
}

static bool open_io(struct recorder_file *file)
{
	struct staging *staging = &file->thread->recorder->staging;
	char *path = recorder_file_path(file);

	if (path)
		file->io_fd = open(path, O_WRONLY | O_CLOEXEC | O_DIRECT);
	if (path && file->io_fd < 0 && errno == EINVAL)
		atomic_store(&staging->off, true); /* this file system cannot */
	else if (file->io_fd < 0)
		file->thread->no_stage = true;
	else
		fcntl(file->io_fd, F_SETFL, 0);
	free(path);
	return file->io_fd >= 0;
}

/*
 * Details are only staged where events are, too: so those are never in the file before them. Some
 * stages are nobody's, so that there are others to fill while they are written.
 */
static bool wants_stage(const struct recorder_file *file)
{
	const struct atf_recorder_thread *thread = file->thread;
	const struct staging *staging = &thread->recorder->staging;

	if (thread->no_stage || staging->owner_count >= staging->limit - (staging->limit + 3) / 4)
		return false;
	if (file == &thread->detail)
		return thread->index.stage && file->size > staging->after;
	return file->size > staging->after || thread->detail.size > staging->after;
}

static void begin_stage(struct recorder_file *file)
{
	struct staging *staging = &file->thread->recorder->staging;

	if (!recorder_io_start(staging)) {
		atomic_store(&staging->off, true);
		return;
	}
	if (!open_io(file))
		return;
	staging->owner_count++;
	if (take_stage(file, false))
		return;
	staging->owner_count--;
	close(file->io_fd);
	file->io_fd = -1;
}

static size_t staged_size(const struct recorder_file *file)
{
	return file->stage ? file->stage->end - file->stage->start : 0;
}

/*
 * Hands a full stage over and takes the next; first of all the details that events link to. Events
 * go along with details when they have come far: otherwise they would soon take along a stage of
 * details that is not full.
 */
static enum sonde_status next_stage(struct recorder_file *file, struct sonde_error *err)
{
	struct atf_recorder_thread *thread = file->thread;
	struct staging *staging = &thread->recorder->staging;
	struct recorder_file *index = &thread->index, *detail = &thread->detail;
	bool details = file == detail || staged_size(detail);
	bool events = file == index || staged_size(index) >= staging->size / 4 * 3;

	if (atomic_load(&staging->off))
		return recorder_unstage(thread, err);
	if (details)
		hand_over(detail);
	if (events)
		hand_over(index);
	if ((details && !take_stage(detail, true)) || (events && !take_stage(index, true)))
		return recorder_unstage(thread, err);
	return SONDE_OK;
}

enum sonde_status recorder_stage_room(struct recorder_file *file, size_t needed, size_t *room,
				      struct sonde_error *err)
{
	struct staging *staging = &file->thread->recorder->staging;
	size_t fresh = staging->size - file->size % STAGE_ALIGNMENT; /* room in another stage */
	enum sonde_status status = SONDE_OK;

	if (file->stage && file->stage->base + staging->size - file->stage->end < needed)
		status = fresh < needed ? recorder_unstage(file->thread, err) :
					  next_stage(file, err);
	else if (!file->stage && fresh >= needed &&
		 !atomic_load_explicit(&staging->off, memory_order_relaxed) && wants_stage(file))
		begin_stage(file);
	*room = file->stage ? file->stage->base + staging->size - file->stage->end : 0;
	return status;
}

#ifdef __x86_64__
/* Whole cache lines, to where one begins. In halves of lines: quarters take longer. */
static __attribute__((target("avx"))) void stream_lines(uint8_t *to, const uint8_t *from,
							size_t size)
{
	for (size_t at = 0; at < size; at += CACHE_LINE) {
		__m256i low = _mm256_loadu_si256((const __m256i *)(from + at));
		__m256i high = _mm256_loadu_si256((const __m256i *)(from + at + 32));

		_mm256_stream_si256((__m256i *)(to + at), low);
		_mm256_stream_si256((__m256i *)(to + at + 32), high);
	}
}
#endif

/*
 * Past the caches: who wrote the stage to the disk the last time has its lines, maybe far away, and
 * nobody reads it here again. Where the host of a virtual machine writes from a processor far from
 * ours this takes a third of the time.
 */
static void copy_lines(uint8_t *to, const uint8_t *from, size_t size)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx")) {
		stream_lines(to, from, size);
		return;
	}
#endif
	memcpy(to, from, size);
}

/* What is not a whole line yet is kept apart, or the line would have to be read. */
void recorder_stage_put(struct recorder_file *file, const void *data, size_t size)
{
	struct stage *stage = file->stage;
	size_t used = stage->end % CACHE_LINE, part = CACHE_LINE - used, rest;
	uint8_t *to = stage->data + (stage->end - used - stage->base);
	const uint8_t *from = data;

	stage->end += size;
	file->size += size;
	file->thread->recorder->bytes += size;
	if (used) {
		memcpy(stage->line + used, from, part < size ? part : size);
		if (size < part)
			return;
		copy_lines(to, stage->line, CACHE_LINE);
		to += CACHE_LINE;
		from += part;
		size -= part;
	}
	rest = size % CACHE_LINE;
	copy_lines(to, from, size - rest);
	memcpy(stage->line, from + size - rest, rest);
}

/*
 * The details up to `end` that are wholly in the file. They are looked at there: the first of them
 * may have begun in a stage that has other bytes by now. Where they cannot be read they are lost.
 */
static void count_details(struct recorder_file *file, uint64_t end)
{
	struct atf_frame *frame = &file->thread->frame;
	uint64_t from = ATF_HEADER_SIZE + frame->detail_footer.bytes_length;
	struct sonde_mapped_file map = { 0 };
	struct atf_detail_record record;

	if (recorder_file_map(file, &map, NULL) < 0)
		return;
	if (end > map.size)
		end = map.size;
	while (from + ATF_DETAIL_RECORD_SIZE <= end) {
		atf_detail_record_decode(&record, map.data + from);
		if (record.total_length < ATF_DETAIL_RECORD_SIZE ||
		    record.total_length > end - from)
			break;
		atf_frame_sum_details(frame, map.data + from, record.total_length);
		atf_frame_count_details(frame, 1, record.timestamp, record.timestamp);
		atf_frame_link(frame, record.index_seq, record.index_seq);
		from += record.total_length;
	}
	sonde_mapped_file_release(&map);
}

static void count_events(struct atf_frame *frame, const struct stage *stage)
{
	const uint8_t *from = stage->data + (stage->start - stage->base);
	size_t count = (stage->written - stage->start) / ATF_EVENT_SIZE;

	if (!count)
		return;
	atf_frame_sum_events(frame, from, count * ATF_EVENT_SIZE);
	atf_frame_count_events(
		frame, count, sonde_load_u64le(from + ATF_EVENT_TIME),
		sonde_load_u64le(from + (count - 1) * ATF_EVENT_SIZE + ATF_EVENT_TIME));
}

static void release_stages(struct recorder_file *file)
{
	struct staging *staging = &file->thread->recorder->staging;

	pthread_mutex_lock(&staging->lock);
	for (size_t i = 0; i < staging->count; i++)
		if (staging->stages[i].file == file)
			staging->stages[i].state = STAGE_FREE;
	pthread_mutex_unlock(&staging->lock);
	file->stage = NULL;
	if (file->io_fd < 0)
		return;
	staging->owner_count--;
	/* a failure of what was written so is not kept for here: it was told by the writes */
	close(file->io_fd);
	file->io_fd = -1;
}

/* Writes what is in a stage, the first that is not in the file; leaves errno where that fails. */
static enum sonde_status write_rest(struct recorder_file *file, struct stage *stage,
				    struct sonde_error *err)
{
	enum sonde_status status;

	if (!stage || stage->start == stage->end)
		return SONDE_OK;
	/* as for any other write, the size does not have it yet */
	file->thread->recorder->bytes -= file->size - stage->start;
	file->size = stage->start;
	status = recorder_file_write(file, stage->start, stage->data + (stage->start - stage->base),
				     stage->end - stage->start, err);
	if (status == SONDE_OK)
		stage->written = stage->end;
	return status;
}

/* The first stage of a file from `start` on that is not wholly in it. */
static struct stage *first_stage(const struct recorder_file *file, uint64_t start)
{
	const struct staging *staging = &file->thread->recorder->staging;
	struct stage *first = NULL;

	for (size_t i = 0; i < staging->count; i++) {
		struct stage *stage = &staging->stages[i];

		if (stage->file == file && stage->state != STAGE_FREE && stage->start >= start &&
		    (!first || stage->start < first->start))
			first = stage;
	}
	return first;
}

/* Where events begin that link to details that there are not, or the end of the stage. */
static uint64_t find_unlinked(const struct atf_recorder_thread *thread, const struct stage *stage)
{
	const uint8_t *bytes = stage->data + (stage->start - stage->base);
	uint64_t size = stage->end - stage->start, at = 0;

	for (; at < size; at += ATF_EVENT_SIZE) {
		uint32_t link = sonde_load_u32le(bytes + at + ATF_EVENT_DETAIL);

		if (link != ATF_NO_LINK && link >= thread->frame.detail_footer.event_count)
			break;
	}
	return stage->start + at;
}

/*
 * Details of a thread could not be written: of its events that are not in the file, those still
 * go there whose details are.
 */
static void save_events(struct atf_recorder_thread *thread)
{
	struct recorder_file *file = &thread->index;
	struct stage *stage = first_stage(file, 0);

	while (stage) {
		uint64_t end = stage->end;

		stage->end = find_unlinked(thread, stage);
		if (write_rest(file, stage, NULL) < 0 || stage->end < end)
			return;
		stage = end > stage->start ? first_stage(file, end) : NULL;
	}
}

/* Takes a file back to what is in it. */
static void roll_back_file(struct recorder_file *file)
{
	struct atf_frame *frame = &file->thread->frame;
	struct stage *stage = first_stage(file, 0);
	bool is_index = file == &file->thread->index;
	uint64_t written, size;

	if (!stage)
		return;
	written = stage->start;
	if (is_index) {
		frame->footer = stage->footer;
	} else {
		frame->detail_footer = stage->detail_footer;
		frame->linked_first = stage->linked_first;
		frame->linked_last = stage->linked_last;
	}
	while (stage && stage->written > stage->start) {
		written = stage->written;
		if (is_index)
			count_events(frame, stage);
		stage = written == stage->end ? first_stage(file, written) : NULL;
	}
	if (!is_index)
		count_details(file, written);
	size = ATF_HEADER_SIZE +
	       (is_index ? frame->footer.bytes_written : frame->detail_footer.bytes_length);
	file->thread->recorder->bytes -= file->size - size;
	file->size = size;
	recorder_file_cut(file, size, NULL); /* it is tried again in the end */
}

/* Nothing of the thread is on its way any more, and one of its files failed. */
static enum sonde_status roll_back(struct recorder_file *failed, int error, struct sonde_error *err)
{
	struct atf_recorder_thread *thread = failed->thread;
	uint64_t has;

	recorder_drop_details(thread);
	roll_back_file(&thread->detail);
	if (failed == &thread->detail)
		save_events(thread);
	roll_back_file(&thread->index);
	release_stages(&thread->detail);
	release_stages(&thread->index);
	has = thread->part_first + thread->frame.footer.event_count;
	if (thread->written.event_count > has) {
		thread->lost += thread->written.event_count - has;
		thread->written.event_count = has;
	}
	atomic_store(&thread->io_error, 0);
	errno = error;
	return recorder_give_up(thread, recorder_file_fail(failed, "cannot be written", err));
}

/* Much goes the way of full stages, past the page cache; a little is sooner written plainly. */
static void hand_over_rest(struct atf_recorder_thread *thread)
{
	size_t much = thread->recorder->staging.size / 8;
	size_t details = staged_size(&thread->detail), events = staged_size(&thread->index);

	if (details < much && events < much)
		return;
	if (details)
		hand_over(&thread->detail);
	if (events)
		hand_over(&thread->index);
}

enum sonde_status recorder_unstage(struct atf_recorder_thread *thread, struct sonde_error *err)
{
	struct staging *staging = &thread->recorder->staging;
	int error;

	if (thread->index.io_fd < 0) /* then there are no staged details either */
		return SONDE_OK;
	if (thread->index.stage)
		complete(thread->index.stage);
	if (thread->detail.stage)
		complete(thread->detail.stage);
	hand_over_rest(thread);
	pthread_mutex_lock(&staging->lock);
	while (thread->index.pending || thread->detail.pending)
		pthread_cond_wait(&staging->done, &staging->lock);
	pthread_mutex_unlock(&staging->lock);
	error = atomic_load(&thread->io_error);
	if (error)
		return roll_back(thread->io_failed, error, err);
	if (write_rest(&thread->detail, thread->detail.stage, err) < 0)
		return roll_back(&thread->detail, errno, err);
	if (write_rest(&thread->index, thread->index.stage, err) < 0)
		return roll_back(&thread->index, errno, err);
	release_stages(&thread->detail);
	release_stages(&thread->index);
	return SONDE_OK;
}

/* Whether it is time to write what is in a stage. */
static bool is_due(struct staging *staging, struct stage *stage)
{
	const struct atf_recorder_thread *thread;
	enum stage_state state;
	bool busy = false;

	pthread_mutex_lock(&staging->lock);
	state = stage->state;
	if (state == STAGE_FILLING) {
		thread = stage->file->thread;
		busy = thread->index.pending || thread->detail.pending;
	}
	pthread_mutex_unlock(&staging->lock);
	if (state == STAGE_FILLING)
		stage->age++;
	/* while the disk is at work on this thread it has one more time */
	return state == STAGE_FAILED || (state == STAGE_FILLING && stage->age > (busy ? 2 : 1));
}

enum sonde_status atf_recorder_settle(struct atf_recorder *recorder, struct sonde_error *err)
{
	struct staging *staging = &recorder->staging;
	enum sonde_status first = SONDE_OK;

	for (size_t i = 0; i < staging->count; i++) {
		struct stage *stage = &staging->stages[i];
		struct atf_recorder_thread *thread;
		enum sonde_status status;
		bool had_failed;

		if (!is_due(staging, stage))
			continue;
		thread = stage->file->thread;
		had_failed = thread->failure;
		status = recorder_unstage(thread, first < 0 ? NULL : err);
		if (status < 0 && !had_failed && first == SONDE_OK)
			first = status;
	}
	return first;
}
