/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How records with details are written, for annotate.c, hooks.c, record.c and returns.c.
 */
#ifndef SONDE_RUNTIME_RECORD_H
#define SONDE_RUNTIME_RECORD_H

#include "runtime/runtime.h"
#include "runtime/system.h"

/* The general way of a compiler hook: as rt_record(), with what a detail of such a hook holds. */
RT_HIDDEN void rt_hook(enum unit_kind kind, uint64_t function, uint64_t stack, uint64_t code,
		       uint64_t site, uint64_t frame);
/* Likewise of a plain hook with its detail, whose place was taken and does not fit. */
RT_HIDDEN void rt_hook_at(char *unit, enum unit_kind kind, uint64_t function, uint64_t stack,
			  uint64_t code, uint64_t site, uint64_t frame);

static inline void rt_set_time(struct rt_place *place, uint64_t time)
{
	place->time_low = (uint32_t)time;
	place->time_high = (uint32_t)(time >> 32);
}

/* A place to write to, in whatever way it is found. */
struct rt_taken {
	struct rt_place place;
	uint64_t mask; /* of signals */
	bool blocked;  /* until rt_end_taken() */
};

static inline bool rt_take(struct rt_taken *taken, size_t size)
{
	bool tsc = RT_LIKELY(rt_control->clock == SHARED_CLOCK_TSC);
	uint64_t time = tsc ? 0 : rt_clock();

	taken->blocked = false;
	if (!rt_place_take(&taken->place, size)) {
		if (!rt_place_blocked(&taken->place, taken->place.unit, size, &taken->mask))
			return false;
		taken->blocked = true;
	}
	if (!tsc)
		rt_set_time(&taken->place, time);
	return true;
}

static inline void rt_end_taken(const struct rt_taken *taken)
{
	if (taken->blocked)
		rt_restore_signals(taken->mask);
}

/* Another thread paused the process: notes in this ring from where on nothing is seen. */
RT_HIDDEN void rt_note_pause(void);

/* Copies four words to a unit behind a detail. True: they look like a unit themselves. */
static inline bool rt_copy_unit(volatile uint64_t *to, const volatile uint64_t *from)
{
	uint64_t word = from[3];

	to[0] = from[0];
	to[1] = from[1];
	to[2] = from[2];
	to[3] = word;
	return rt_looks_like_unit(word);
}

/* Something in this ring looks like a unit: from now on chunks are cleared before they are begun. */
static inline void rt_clear_chunks(void)
{
	/* volatile, or it is in a register all the time */
	(*(struct shared_ring *volatile *)&rt_thread.ring)->details = 1;
}

/* Without libc, which uses vector registers. */
static inline void rt_copy_behind(volatile uint64_t *to, const void *bytes, size_t size)
{
	const volatile uint64_t *from = bytes;

	for (; size >= UNIT; size -= UNIT) {
		if (rt_copy_unit(to, from))
			rt_clear_chunks();
		to += 4;
		from += 4;
	}
	if (size) {
		to[3] = 0; /* what is left there from before */
		rt_copy((char *)to, (const char *)from, size);
	}
}

/*
 * Puts a detail, of `size` bytes that begin at `bytes`, behind the unit of a place; rt_put() comes
 * next and makes it valid. Volatile stores, since the compiler's ways with so little are slow.
 */
static inline __attribute__((always_inline)) void rt_put_detail(const struct rt_place *place,
								const struct rt_detail *detail,
								const void *bytes, size_t size)
{
	volatile uint64_t *to = (volatile uint64_t *)(place->unit + UNIT);

	to[0] = detail->values[0];
	to[1] = detail->values[1];
	to[2] = detail->values[2];
	to[3] = shared_detail_shape(shared_detail_units(detail->registers != NULL, size), size);
	to += 4;
	if (detail->registers) {
		if (rt_copy_unit(to, detail->registers))
			rt_clear_chunks();
		to += 4;
	}
	rt_copy_behind(to, bytes, size);
}

/*
 * Puts a detail of a hook behind the unit of its record, with all the bytes of the stack that are
 * wanted. In few registers: each one that must be saved costs two more accesses of memory, where the
 * stores of a record are all that counts. True: rt_end_hook() must make it valid.
 */
static inline __attribute__((always_inline)) bool rt_put_hook_detail(uint64_t unit, uint64_t stack,
								     uint64_t site, uint64_t frame)
{
	const volatile uint64_t *from = (const volatile uint64_t *)stack;
	volatile uint64_t *to = (volatile uint64_t *)unit, *end;

	to[4] = frame;
	to[5] = site;
	to[6] = 0;
	to[7] = rt_thread.detail_shape;
	end = (volatile uint64_t *)(unit + rt_thread.detail_size);
	for (to += 8; to < end; to += 4, from += 4)
		if (rt_copy_unit(to, from)) /* as ...[6] = 1, for which gcc sets a register aside */
			__asm__ volatile("movq $1, 48(%0)" : : "r"(unit) : "memory");
	return RT_UNLIKELY(((volatile uint64_t *)unit)[6]);
}

/* Makes a record of a hook valid after what looks like a unit in it does so no more. */
RT_HIDDEN void rt_end_hook(uint64_t unit, uint64_t word);

#endif
