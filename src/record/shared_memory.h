/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's side of the memory that it shares with recorded programs: makes the file, lays it
 * out as src/runtime/shared.h says, and gives out space for filters. What is in the memory may be
 * damaged by a program that runs wild, so numbers from there are checked where they are used.
 */
#ifndef SONDE_RECORD_SHARED_MEMORY_H
#define SONDE_RECORD_SHARED_MEMORY_H

#include <sonde/status.h>
#include <sys/types.h>

#include "base/vec.h"
#include "runtime/shared.h"

struct shared_memory_range {
	uint64_t offset, size;
};

struct shared_memory {
	int fd;
	ino_t inode;
	uint8_t *base;
	size_t size;
	struct shared_control *control;
	struct shared_process *processes;
	struct shared_ring *rings;
	struct shared_module *modules;
	/* Filters: the end of what was ever given out, and what came back. */
	uint64_t filters_used;
	SONDE_VEC(struct shared_memory_range) filters_free;
};

/* What the launcher chooses; the rest of the layout follows. */
struct shared_memory_options {
	uint32_t clock, on_full, stack_bytes, mode;
	bool detail, follow, resumes;
	uint64_t ring_size;
};

/* The thread that makes it is taken for the launcher: while it lives, that does. It also releases it. */
enum sonde_status shared_memory_create(struct shared_memory *memory,
				       const struct shared_memory_options *options,
				       struct sonde_error *err);
void shared_memory_release(struct shared_memory *memory);

/* Zeroed space for `count` filters; its offset in the memory, 0 where there is no room left. */
uint64_t shared_memory_take_filters(struct shared_memory *memory, uint64_t count);
void shared_memory_give_filters(struct shared_memory *memory, uint64_t offset, uint64_t count);

static inline struct shared_filter *shared_memory_filters(const struct shared_memory *memory,
							  uint64_t offset)
{
	return (struct shared_filter *)(memory->base + offset);
}

static inline uint8_t *shared_memory_ring(const struct shared_memory *memory, uint32_t ring)
{
	return memory->base + memory->control->rings_memory + ring * memory->control->ring_size;
}

/* Of a ring that overwrites: the events that its thread wrote before a chunk that is there. */
static inline uint64_t shared_memory_events_before(const struct shared_memory *memory,
						   uint32_t ring, uint64_t chunk)
{
	const struct shared_control *control = memory->control;
	const _Atomic uint64_t *counts =
		(const _Atomic uint64_t *)(memory->base + control->events_before);

	return atomic_load(
		&counts[(uint64_t)ring * control->chunk_count + chunk % control->chunk_count]);
}

/* No ring and no process slot from here on was ever taken. */
uint32_t shared_memory_rings_high(const struct shared_memory *memory);
uint32_t shared_memory_processes_high(const struct shared_memory *memory);

/* The system call; a timeout of 0 waits without end. */
int futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);
int futex_wake(_Atomic uint32_t *word);

#endif
