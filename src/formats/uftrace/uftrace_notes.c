/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perf-cpuN.dat: when the system took a processor from a task and gave it back, and how tasks are called, as
 * perf_event_open(2) describes it. A file is in the order of time; a task goes from one processor to another.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "formats/uftrace/uftrace.h"

/* Records of one file that are no use here. */
struct left_out {
	uint64_t lost, unknown;
};

static enum uftrace_note_kind kind_of(unsigned int flags)
{
	if (!(flags & PERF_SWITCH_OUT))
		return UFTRACE_GOES_ON;
	return flags & PERF_SWITCH_PREEMPTED ? UFTRACE_PREEMPTED : UFTRACE_WAITS;
}

static enum sonde_status take_record(struct uftrace *data, const uint8_t *record, size_t size,
				     struct left_out *left, struct sonde_error *err)
{
	/* pid, tid and time stand at the end of each */
	const uint8_t *end = record + size;
	struct uftrace_note note = { .time_ns = sonde_load_u64le(end - 8),
				     .tid = sonde_load_u32le(end - PERF_ID_SIZE + 4) };
	struct uftrace_note *added;

	switch (sonde_load_u32le(record)) {
	case PERF_SWITCH:
		note.kind = kind_of(sonde_load_u16le(record + PERF_FLAGS));
		break;
	case PERF_COMM:
		if (size < PERF_COMM_NAME + PERF_ID_SIZE) {
			left->unknown++;
			return SONDE_OK;
		}
		note.kind = UFTRACE_NAMED;
		note.tid = sonde_load_u32le(record + PERF_COMM_TID);
		note.name = (const char *)record + PERF_COMM_NAME;
		note.length = (uint16_t)strnlen(note.name, size - PERF_COMM_NAME - PERF_ID_SIZE);
		break;
	case PERF_LOST:
		left->lost += size < PERF_LOST_COUNT + 8 + PERF_ID_SIZE ?
				      1 :
				      sonde_load_u64le(record + PERF_LOST_COUNT);
		return SONDE_OK;
	case PERF_FORK:
	case PERF_EXIT:
		return SONDE_OK; /* task.txt tells the same */
	default:
		left->unknown++;
		return SONDE_OK;
	}
	added = sonde_vec_push(&data->notes);
	if (!added)
		return sonde_fail_nomem(err);
	*added = note;
	return SONDE_OK;
}

static enum sonde_status read_file(struct uftrace *data, const char *name,
				   const struct sonde_mapped_file *file, struct sonde_error *err)
{
	struct left_out left = { 0 };
	enum sonde_status status = SONDE_OK;
	size_t at = 0;

	while (!status && file->size - at >= PERF_HEAD_SIZE) {
		size_t size = sonde_load_u16le(file->data + at + PERF_SIZE);

		if (size < PERF_HEAD_SIZE + PERF_ID_SIZE || size > file->size - at)
			break;
		status = take_record(data, file->data + at, size, &left, err);
		at += size;
	}
	if (at < file->size)
		EXCHANGE_FINDING(data->recording, TRUNCATED, at,
				 "whole records in %s\t%zu bytes that are passed over", name,
				 file->size - at);
	if (left.lost)
		EXCHANGE_FINDING(data->recording, LOST, SONDE_NO_OFFSET,
				 "all switches of tasks in %s\t%" PRIu64 " lost by the system",
				 name, left.lost);
	if (left.unknown)
		EXCHANGE_FINDING(data->recording, UNKNOWN, SONDE_NO_OFFSET,
				 "switches and names of tasks in %s\t%" PRIu64 " other records",
				 name, left.unknown);
	return status;
}

static int compare_notes(const void *a, const void *b)
{
	const struct uftrace_note *left = a, *right = b;

	if (left->tid != right->tid)
		return left->tid < right->tid ? -1 : 1;
	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return left->kind - right->kind;
}

enum sonde_status uftrace_read_notes(struct uftrace *data, const struct sonde_folder *folder,
				     struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < folder->count; i++) {
		struct sonde_mapped_file *file;

		if (strncmp(folder->names[i], "perf-cpu", 8) != 0)
			continue;
		file = sonde_vec_push(&data->maps);
		if (!file)
			return sonde_fail_nomem(err);
		*file = (struct sonde_mapped_file){ 0 };
		status = uftrace_map_file(data, folder->names[i], file, err);
		if (!status) {
			status = read_file(data, folder->names[i], file, err);
		} else if (status != SONDE_NOMEM) {
			EXCHANGE_FINDING(data->recording, RECORD, SONDE_NO_OFFSET,
					 "switches of tasks in %s\tit cannot be read",
					 folder->names[i]);
			status = SONDE_OK;
		}
	}
	if (data->notes.count)
		qsort(data->notes.items, data->notes.count, sizeof(*data->notes.items),
		      compare_notes);
	return status;
}

struct uftrace_notes uftrace_find_notes(const struct uftrace *data, uint32_t tid)
{
	size_t low = 0, high = data->notes.count;
	struct uftrace_notes notes = { 0 };

	if (!high)
		return notes;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (data->notes.items[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	notes.next = data->notes.items + low;
	while (low < data->notes.count && data->notes.items[low].tid == tid)
		low++;
	notes.end = data->notes.items + low;
	return notes;
}

bool uftrace_next_pause(struct uftrace_notes *notes, uint64_t before_ns,
			struct uftrace_pause *pause)
{
	while (notes->next < notes->end && notes->next->time_ns < before_ns) {
		const struct uftrace_note *note = notes->next++;

		if (note->kind == UFTRACE_NAMED) {
			notes->name = (struct uftrace_text){ note->name, note->length };
			continue;
		}
		if (note->kind == UFTRACE_GOES_ON || notes->next == notes->end ||
		    notes->next->kind != UFTRACE_GOES_ON)
			continue;
		*pause = (struct uftrace_pause){ .start_ns = note->time_ns,
						 .end_ns = notes->next++->time_ns,
						 .is_preempted = note->kind == UFTRACE_PREEMPTED };
		return true;
	}
	return false;
}
