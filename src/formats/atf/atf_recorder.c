/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes in what is recorded: processes, threads, their events and details. The little ones are
 * written to the files of the session as they come (atf_recorder_files.c), the others in large
 * pieces (atf_recorder_stage.c). Files are finished in atf_recorder_finish.c.
 */
#include "formats/atf/atf_recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "formats/atf/atf_paths.h"
#include "formats/atf/atf_recorder_private.h"
#include "formats/atf/atf_session.h"
#include "formats/format.h"

#define OPEN_FILES 256
#define RESERVE_NAME ".sonde-reserve"
/* So many go to a stage at a time: while they are still on their way there, their sum is made. */
#define PIECE_EVENTS 128

/* Events are written as they lie in memory. */
#define IS_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
_Static_assert(sizeof(struct atf_index_event) == ATF_EVENT_SIZE, "as in the file");
_Static_assert(offsetof(struct atf_index_event, timestamp_ns) == ATF_EVENT_TIME, "as in the file");
_Static_assert(offsetof(struct atf_index_event, function_id) == ATF_EVENT_FUNCTION, "likewise");
_Static_assert(offsetof(struct atf_index_event, thread_id) == ATF_EVENT_THREAD, "likewise");
_Static_assert(offsetof(struct atf_index_event, event_kind) == ATF_EVENT_KIND, "likewise");
_Static_assert(offsetof(struct atf_index_event, call_depth) == ATF_EVENT_DEPTH, "likewise");
_Static_assert(offsetof(struct atf_index_event, detail_seq) == ATF_EVENT_DETAIL, "likewise");

/* Whether there is nothing in a folder, or only what a recorder left that was killed at once. */
static bool is_unused(const char *path)
{
	struct sonde_folder folder;
	bool unused = true;

	if (sonde_path_kind(path) != SONDE_PATH_FOLDER ||
	    sonde_folder_read(&folder, path, NULL) < 0)
		return false;
	for (size_t i = 0; i < folder.count; i++)
		unused = unused && strcmp(folder.names[i], RESERVE_NAME) == 0;
	sonde_folder_release(&folder);
	return unused;
}

/* Makes the session's folder, in place of an old session with `replace`. */
static enum sonde_status make_folder(struct atf_recorder *recorder, const char *path, bool replace,
				     struct sonde_error *err)
{
	struct sonde_staged staged;
	enum sonde_status status = SONDE_OK;

	if (is_unused(path)) {
		recorder->folder = strdup(path);
		return recorder->folder ? SONDE_OK : sonde_fail_nomem(err);
	}
	if (replace)
		status = sonde_format_check_replaced(path, err);
	if (status == SONDE_OK)
		status = sonde_staged_begin(&staged, path, true, replace, err);
	if (status < 0)
		return status;
	status = sonde_staged_commit(&staged, err);
	if (status == SONDE_OK) {
		recorder->folder = staged.target;
		staged.target = NULL;
		recorder->made_folder = true;
	}
	sonde_staged_release(&staged);
	return status;
}

static enum sonde_status begin_reserve(struct atf_recorder *recorder, struct sonde_error *err)
{
	recorder->reserve_path = sonde_path_join(recorder->folder, RESERVE_NAME);
	if (!recorder->reserve_path)
		return sonde_fail_nomem(err);
	recorder->reserve_fd =
		open(recorder->reserve_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (recorder->reserve_fd < 0)
		return sonde_fail_errno(err, recorder->folder,
					"the folder cannot be written to; choose another place");
	return recorder_reserve(recorder, err);
}

enum sonde_status atf_recorder_create_limited(const char *folder, bool replace,
					      const struct atf_recorder_limits *limits,
					      struct atf_recorder **recorder,
					      struct sonde_error *err)
{
	struct atf_recorder *made = calloc(1, sizeof(*made));
	enum sonde_status status;

	*recorder = NULL;
	if (!made)
		return sonde_fail_nomem(err);
	made->reserve_fd = -1;
	made->events_per_file = limits->events_per_file ? limits->events_per_file : ATF_EVENTS_MAX;
	made->open_limit = limits->open_files ? limits->open_files : OPEN_FILES;
	made->open = calloc(made->open_limit, sizeof(struct recorder_file *));
	if (recorder_staging_init(&made->staging, limits) && made->open)
		status = make_folder(made, folder, replace, err);
	else
		status = sonde_fail_nomem(err);
	if (status == SONDE_OK)
		status = begin_reserve(made, err);
	if (status < 0) {
		atf_recorder_free(made);
		return status;
	}
	*recorder = made;
	return SONDE_OK;
}

enum sonde_status atf_recorder_create(const char *folder, bool replace,
				      struct atf_recorder **recorder, struct sonde_error *err)
{
	static const struct atf_recorder_limits usual;

	return atf_recorder_create_limited(folder, replace, &usual, recorder, err);
}

void atf_recorder_reserve(struct atf_recorder *recorder, uint64_t manifest_bytes)
{
	recorder->manifest_bytes = manifest_bytes;
	recorder_reserve(recorder, NULL);
}

static enum sonde_status fail_finished(struct sonde_error *err)
{
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "the session is finished, nothing can be added to it");
}

enum sonde_status atf_recorder_add_process(struct atf_recorder *recorder, uint32_t pid,
					   uint32_t *process, struct sonde_error *err)
{
	struct recorder_process *added;

	if (recorder->finished)
		return fail_finished(err);
	added = sonde_vec_push(&recorder->processes);
	if (!added)
		return sonde_fail_nomem(err);
	*added = (struct recorder_process){ .pid = pid };
	*process = (uint32_t)recorder->processes.count - 1;
	return SONDE_OK;
}

/* Makes pid_N at the first thread of a process. */
static enum sonde_status make_process_folder(struct atf_recorder *recorder,
					     struct recorder_process *process,
					     struct sonde_error *err)
{
	uint32_t number = 1;
	enum sonde_status status;

	for (size_t i = 0; i < recorder->processes.count; i++)
		number += recorder->processes.items[i].folder &&
			  recorder->processes.items[i].pid == process->pid;
	process->folder = atf_process_folder(recorder->folder, process->pid, number);
	if (!process->folder)
		return sonde_fail_nomem(err);
	status = sonde_folder_create(process->folder, err);
	if (status < 0) {
		free(process->folder);
		process->folder = NULL;
	}
	return status;
}

/* Makes the folders of a part and of a thread in it; the names are the caller's to free. */
static enum sonde_status make_thread_folder(struct atf_recorder_thread *thread, char **part_folder,
					    char **folder, struct sonde_error *err)
{
	const struct atf_written_track *written = &thread->written;
	const char *process = thread->recorder->processes.items[written->process].folder;
	enum sonde_status status = SONDE_OK;

	*part_folder = atf_part_folder(process, (uint32_t)written->parts.count - 1);
	*folder = *part_folder ? atf_thread_folder(*part_folder, written->slot) : NULL;
	if (!*folder)
		return sonde_fail_nomem(err);
	if (sonde_path_kind(*part_folder) == SONDE_PATH_ABSENT)
		status = sonde_folder_create(*part_folder, err);
	return status < 0 ? status : sonde_folder_create(*folder, err);
}

/* Starts the next part of a thread: the first one, or another when a file is full. */
static enum sonde_status begin_part(struct atf_recorder_thread *thread, struct sonde_error *err)
{
	struct atf_written *part = sonde_vec_push(&thread->written.parts);
	char *part_folder = NULL, *folder = NULL;
	uint8_t header[ATF_HEADER_SIZE];
	struct atf_frame frame;
	enum sonde_status status;
	int number;

	if (!part)
		return sonde_fail_nomem(err);
	*part = (struct atf_written){ 0 };
	atf_frame_init(&frame, SONDE_ARCH_X86_64, SONDE_OS_LINUX, SONDE_CLOCK_BOOTTIME,
		       thread->written.slot);
	atf_frame_index_placeholder(&frame, header);
	status = make_thread_folder(thread, &part_folder, &folder, err);
	if (status == SONDE_OK)
		status = recorder_file_create(&thread->index, header, err);
	if (status == SONDE_OK) {
		thread->frame = frame;
		thread->detail.size = 0;
		thread->part_first = thread->written.event_count;
		thread->finished = false;
		thread->recorder->unfinished_count++;
	} else {
		number = errno;
		if (folder)
			rmdir(folder);
		if (folder && thread->written.parts.count > 1)
			rmdir(part_folder);
		thread->written.parts.count--;
		errno = number;
	}
	free(part_folder);
	free(folder);
	return status;
}

enum sonde_status atf_recorder_add_thread(struct atf_recorder *recorder, uint32_t process_id,
					  struct atf_recorder_thread **thread,
					  struct sonde_error *err)
{
	struct recorder_process *process;
	struct atf_recorder_thread *added;
	enum sonde_status status = SONDE_OK;

	*thread = NULL;
	if (recorder->finished)
		return fail_finished(err);
	if (process_id >= recorder->processes.count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "process %u was not added before its thread", process_id);
	process = &recorder->processes.items[process_id];
	added = calloc(1, sizeof(*added));
	if (!added || !sonde_vec_reserve(&recorder->threads, 1)) {
		free(added);
		return sonde_fail_nomem(err);
	}
	added->recorder = recorder;
	added->written.process = process_id;
	added->written.slot = process->thread_count;
	added->index = (struct recorder_file){
		.thread = added, .name = ATF_INDEX_NAME, .fd = -1, .io_fd = -1
	};
	added->detail = (struct recorder_file){
		.thread = added, .name = ATF_DETAIL_NAME, .fd = -1, .io_fd = -1
	};
	if (!process->folder)
		status = make_process_folder(recorder, process, err);
	if (status == SONDE_OK)
		status = begin_part(added, err);
	if (status < 0) {
		if (process->folder && !process->thread_count) {
			rmdir(process->folder);
			free(process->folder);
			process->folder = NULL;
		}
		sonde_vec_release(&added->written.parts);
		free(added);
		return status;
	}
	process->thread_count++;
	recorder->threads.items[recorder->threads.count++] = added;
	recorder_reserve(recorder, NULL);
	*thread = added;
	return SONDE_OK;
}

enum sonde_status atf_recorder_add_resource(struct atf_recorder *recorder, uint32_t process,
					    const char *name, bool is_text, const void *bytes,
					    size_t size, struct sonde_error *err)
{
	struct sonde_blob blob = { .is_text = is_text, .bytes = bytes, .size = size };
	enum sonde_status status;

	if (recorder->finished)
		return fail_finished(err);
	if (process >= recorder->processes.count || !recorder->processes.items[process].folder)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "process %u has no thread yet, so no place for a resource",
				  process);
	status = atf_resource_write(&recorder->resources, process,
				    recorder->processes.items[process].folder, name, &blob, err);
	if (status == SONDE_OK)
		recorder->bytes += size;
	return status;
}

uint32_t atf_recorder_thread_slot(const struct atf_recorder_thread *thread)
{
	return thread->written.slot;
}

uint32_t atf_recorder_room(const struct atf_recorder_thread *thread)
{
	return (uint32_t)(thread->recorder->events_per_file - thread->frame.footer.event_count);
}

uint32_t atf_recorder_next_index(const struct atf_recorder_thread *thread)
{
	return (uint32_t)thread->frame.footer.event_count;
}

enum sonde_status recorder_give_up(struct atf_recorder_thread *thread, enum sonde_status status)
{
	if (!thread->failure)
		thread->failure = status == SONDE_NOMEM ? ENOMEM : errno ? errno : EIO;
	return status;
}

/* Whether records can be added; reopens files that were finished. */
static enum sonde_status prepare(struct atf_recorder_thread *thread, struct sonde_error *err)
{
	enum sonde_status status;

	if (thread->recorder->finished)
		return fail_finished(err);
	if (thread->failure) {
		errno = thread->failure;
		return sonde_fail_errno(
			err, thread->recorder->folder,
			"thread %u of process %u is not recorded any more since a write failed",
			thread->written.slot,
			thread->recorder->processes.items[thread->written.process].pid);
	}
	if (atomic_load(&thread->io_error))
		return recorder_unstage(thread, err);
	if (!thread->finished)
		return SONDE_OK;
	status = recorder_reopen_part(thread, err);
	return status < 0 ? recorder_give_up(thread, status) : status;
}

static inline bool needs_care(const struct atf_recorder_thread *thread)
{
	return thread->failure || thread->finished || thread->recorder->finished ||
	       atomic_load_explicit(&thread->io_error, memory_order_relaxed);
}

enum sonde_status atf_recorder_next_part(struct atf_recorder_thread *thread,
					 struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (thread->recorder->finished || thread->failure)
		return prepare(thread, err);
	status = recorder_finish_part(thread, err);
	if (thread->failure) /* of the last pieces */
		return prepare(thread, err);
	if (status == SONDE_OK)
		status = begin_part(thread, err);
	return status < 0 ? recorder_give_up(thread, status) : status;
}

void recorder_drop_details(struct atf_recorder_thread *thread)
{
	struct detail_buffer *buffer = thread->buffer;

	if (!buffer)
		return;
	thread->buffer = NULL;
	buffer->thread = NULL;
	buffer->used = 0;
	buffer->count = 0;
}

static enum sonde_status begin_detail(struct atf_recorder_thread *thread, struct sonde_error *err)
{
	uint8_t header[ATF_HEADER_SIZE];
	enum sonde_status status;

	atf_frame_detail_placeholder(&thread->frame, header);
	status = recorder_file_create(&thread->detail, header, err);
	thread->frame.has_detail = status == SONDE_OK;
	return status;
}

/*
 * Into their stage, or stages, or their file. Of those that were not all taken in, what is in the
 * file is cut off when the part is finished.
 */
static enum sonde_status append_details(struct atf_recorder_thread *thread,
					const struct detail_buffer *buffer, struct sonde_error *err)
{
	uint64_t offset = ATF_HEADER_SIZE + thread->frame.detail_footer.bytes_length;
	size_t done = 0;

	while (done < buffer->used) {
		size_t room, part = buffer->used - done;
		enum sonde_status status = recorder_stage_room(&thread->detail, 1, &room, err);

		if (status == SONDE_OK && !room)
			status = recorder_file_write(&thread->detail, offset + done,
						     buffer->data + done, part, err);
		if (status < 0)
			return status;
		if (room && part > room)
			part = room;
		if (room)
			recorder_stage_put(&thread->detail, buffer->data + done, part);
		done += part;
	}
	return SONDE_OK;
}

/* Hands on the details that are waiting. */
static enum sonde_status flush_details(struct atf_recorder_thread *thread, struct sonde_error *err)
{
	struct detail_buffer *buffer = thread->buffer;
	struct atf_frame *frame = &thread->frame;
	enum sonde_status status = SONDE_OK;

	if (!buffer)
		return SONDE_OK;
	if (!frame->has_detail)
		status = begin_detail(thread, err);
	if (status == SONDE_OK)
		status = append_details(thread, buffer, err);
	if (status == SONDE_OK) {
		atf_frame_sum_details(frame, buffer->data, buffer->used);
		atf_frame_count_details(frame, buffer->count, buffer->first_ns, buffer->last_ns);
		atf_frame_link(frame, buffer->linked_first, buffer->linked_last);
	} else {
		recorder_give_up(thread, status);
	}
	recorder_drop_details(thread);
	return status;
}

/* A buffer that is free, or the one that another thread has longest. */
static struct detail_buffer *take_buffer(struct atf_recorder_thread *thread)
{
	struct atf_recorder *recorder = thread->recorder;
	struct detail_buffer *buffer = NULL;

	for (size_t i = 0; i < DETAIL_BUFFERS && !buffer; i++)
		if (!recorder->buffers[i].thread)
			buffer = &recorder->buffers[i];
	if (!buffer) {
		buffer = &recorder->buffers[recorder->next_buffer++ % DETAIL_BUFFERS];
		flush_details(buffer->thread, NULL); /* that thread is told later */
	}
	if (!buffer->data)
		buffer->data = malloc(DETAIL_BUFFER_SIZE);
	if (!buffer->data)
		return NULL;
	buffer->thread = thread;
	thread->buffer = buffer;
	return buffer;
}

enum sonde_status atf_recorder_detail_place(struct atf_recorder_thread *thread, size_t size,
					    uint8_t **place, uint32_t *detail_seq,
					    struct sonde_error *err)
{
	struct detail_buffer *buffer;
	enum sonde_status status = SONDE_OK;

	if (needs_care(thread))
		status = prepare(thread, err);
	if (status == SONDE_OK && thread->buffer &&
	    (thread->detail.stage || thread->buffer->used + size > DETAIL_BUFFER_SIZE))
		status = flush_details(thread, err);
	if (status < 0)
		return status;
	buffer = thread->buffer ? thread->buffer : take_buffer(thread);
	if (!buffer)
		return recorder_give_up(thread, sonde_fail_nomem(err));
	*place = buffer->data + buffer->used;
	*detail_seq = (uint32_t)thread->frame.detail_footer.event_count + buffer->count;
	return SONDE_OK;
}

void atf_recorder_detail_put(struct atf_recorder_thread *thread, size_t size, size_t count,
			     const uint8_t *last)
{
	struct detail_buffer *buffer = thread->buffer;
	struct atf_detail_record record;

	if (!count)
		return;
	if (!buffer->count) {
		atf_detail_record_decode(&record, buffer->data);
		buffer->first_ns = record.timestamp;
		buffer->linked_first = record.index_seq;
	}
	atf_detail_record_decode(&record, last);
	buffer->last_ns = record.timestamp;
	buffer->linked_last = record.index_seq;
	buffer->used += size;
	buffer->count += (uint32_t)count;
}

/* The bytes of events as in the file; borrowed. NULL where memory failed. */
static const void *file_bytes(struct atf_recorder *recorder, const struct atf_index_event *events,
			      size_t count)
{
	char *bytes;

	if (IS_LITTLE_ENDIAN)
		return events;
	sonde_buffer_clear(&recorder->encoded);
	bytes = sonde_buffer_reserve(&recorder->encoded, count * ATF_EVENT_SIZE);
	for (size_t i = 0; bytes && i < count; i++)
		atf_index_event_encode(&events[i], (uint8_t *)bytes + i * ATF_EVENT_SIZE);
	return bytes;
}

/* Counts in the frame events that are in the file or in its stage. */
static void count_events(struct atf_recorder_thread *thread, const struct atf_index_event *events,
			 size_t count, const void *bytes)
{
	atf_frame_sum_events(&thread->frame, bytes, count * ATF_EVENT_SIZE);
	atf_frame_count_events(&thread->frame, count, events[0].timestamp_ns,
			       events[count - 1].timestamp_ns);
}

static enum sonde_status append_events(struct atf_recorder_thread *thread,
				       const struct atf_index_event *events, size_t count,
				       const uint8_t *bytes, struct sonde_error *err)
{
	struct recorder_file *file = &thread->index;
	enum sonde_status status;

	while (count) {
		size_t room, part;

		status = recorder_stage_room(file, ATF_EVENT_SIZE, &room, err);
		if (status < 0)
			return status;
		part = room ? room / ATF_EVENT_SIZE : count;
		if (room && part > PIECE_EVENTS)
			part = PIECE_EVENTS;
		if (part > count)
			part = count;
		if (room)
			recorder_stage_put(file, bytes, part * ATF_EVENT_SIZE);
		else
			status = recorder_file_write(
				file, ATF_HEADER_SIZE + thread->frame.footer.bytes_written, bytes,
				part * ATF_EVENT_SIZE, err);
		if (status < 0)
			return status;
		count_events(thread, events, part, bytes);
		events += part;
		bytes += part * ATF_EVENT_SIZE;
		count -= part;
	}
	return SONDE_OK;
}

/* Of events that were not all taken in, none is; the first of them may have got into the file. */
static enum sonde_status refuse_events(struct atf_recorder_thread *thread, enum sonde_status status)
{
	uint64_t had = thread->written.event_count;
	uint64_t has = thread->part_first + thread->frame.footer.event_count;
	uint64_t lost = thread->lost;

	recorder_give_up(thread, status);
	if (has <= had)
		return status;
	thread->written.event_count = has;
	if (recorder_take_back(thread, has - had, NULL) == SONDE_OK)
		thread->lost = lost;
	return status;
}

enum sonde_status atf_recorder_events(struct atf_recorder_thread *thread,
				      const struct atf_index_event *events, size_t count,
				      struct sonde_error *err)
{
	struct atf_written_track *written = &thread->written;
	enum sonde_status status = SONDE_OK;
	const void *bytes;

	if (needs_care(thread))
		status = prepare(thread, err);
	if (status == SONDE_OK && count > atf_recorder_room(thread))
		status = sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				    "%zu events, but there is room for %u in this part", count,
				    atf_recorder_room(thread));
	if (status == SONDE_OK && thread->buffer)
		status = flush_details(thread, err);
	if (status < 0 || !count)
		return status;
	bytes = file_bytes(thread->recorder, events, count);
	if (!bytes)
		return recorder_give_up(thread, sonde_fail_nomem(err));
	status = append_events(thread, events, count, bytes, err);
	if (status < 0)
		return refuse_events(thread, status);
	if (!written->event_count)
		written->time_min_ns = events[0].timestamp_ns;
	written->time_max_ns = events[count - 1].timestamp_ns;
	written->event_count += count;
	return SONDE_OK;
}

void atf_recorder_set_synthetic(struct atf_recorder_thread *thread, uint64_t head, uint64_t tail)
{
	thread->synthetic_head = head;
	thread->synthetic_tail = tail;
}

uint64_t atf_recorder_bytes(const struct atf_recorder *recorder)
{
	return recorder->bytes;
}

void atf_recorder_free(struct atf_recorder *recorder)
{
	if (!recorder)
		return;
	recorder_release_reserve(recorder);
	for (size_t i = 0; i < recorder->threads.count; i++) {
		struct atf_recorder_thread *thread = recorder->threads.items[i];

		recorder_unstage(thread, NULL);
		recorder_file_close(&thread->index, NULL);
		recorder_file_close(&thread->detail, NULL);
		sonde_vec_release(&thread->written.parts);
		free(thread);
	}
	if (recorder->made_folder && !recorder->threads.count)
		rmdir(recorder->folder);
	sonde_vec_release(&recorder->threads);
	for (size_t i = 0; i < recorder->processes.count; i++)
		free(recorder->processes.items[i].folder);
	sonde_vec_release(&recorder->processes);
	atf_written_resources_release(&recorder->resources);
	for (size_t i = 0; i < DETAIL_BUFFERS; i++)
		free(recorder->buffers[i].data);
	recorder_staging_release(&recorder->staging);
	sonde_buffer_release(&recorder->encoded);
	free(recorder->open);
	free(recorder->reserve_path);
	free(recorder->folder);
	free(recorder);
}
