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

/* Copies the first three words of a unit behind a detail; gives the last one. */
static inline uint64_t rt_copy_most(volatile uint64_t *to, const volatile uint64_t *from)
{
	uint64_t word = from[3];

	rt_store(&to[0], from[0]);
	rt_store(&to[1], from[1]);
	rt_store(&to[2], from[2]);
	return word;
}

/* Copies all four. True: they look like a unit themselves. */
static inline bool rt_copy_unit(volatile uint64_t *to, const volatile uint64_t *from)
{
	uint64_t word = rt_copy_most(to, from);

	rt_store(&to[3], word);
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
 * next and makes it valid.
 */
static inline __attribute__((always_inline)) void rt_put_detail(const struct rt_place *place,
								const struct rt_detail *detail,
								const void *bytes, size_t size)
{
	volatile uint64_t *to = (volatile uint64_t *)(place->unit + UNIT);

	rt_store(&to[0], detail->values[0]);
	rt_store(&to[1], detail->values[1]);
	rt_store(&to[2], detail->values[2]);
	rt_store(&to[3],
		 shared_detail_shape(shared_detail_units(detail->registers != NULL, size), size));
	to += 4;
	if (detail->registers) {
		if (rt_copy_unit(to, detail->registers))
			rt_clear_chunks();
		to += 4;
	}
	rt_copy_behind(to, bytes, size);
}

/* Takes what makes a word of a stack look like a unit, `left` units before the end of its record, apart,
 * where there is room for that. */
static inline uint64_t rt_keep_tag(uint64_t *word, size_t left)
{
	uint64_t tag = *word >> UNIT_LAP_SHIFT;

	if (!rt_looks_like_unit(*word))
		return 0;
	if (left > SHARED_TAGS) {
		rt_clear_chunks();
		return 0;
	}
	*word &= UNIT_FUNCTION_MASK;
	return tag << (left - 1) * SHARED_TAG_BITS;
}

/* Copies what has such a word, and gives its tag. */
static __attribute__((noinline)) uint64_t rt_copy_tagged(volatile uint64_t *to,
							 const volatile uint64_t *from, size_t left)
{
	uint64_t word = rt_copy_most(to, from), tag = rt_keep_tag(&word, left);

	rt_store(&to[3], word);
	return tag;
}

/*
 * Copies a unit of a stack, unless something stands where its word has kind and lap. Two vector
 * registers: the compiler uses none here, and a hook is called like any function, so nobody has
 * anything in them.
 */
/* NOLINTNEXTLINE(readability-non-const-parameter) */
static inline bool rt_copy_stack_unit(volatile uint64_t *to, const volatile uint64_t *from)
{
	uint32_t tag;

	__asm__ volatile("movdqu %1, %%xmm0\n\tmovdqu %2, %%xmm1\n\tpextrw $7, %%xmm1, %0"
			 : "=r"(tag)
			 : "m"(*(const volatile uint64_t(*)[2])from),
			   "m"(*(const volatile uint64_t(*)[2])(from + 2)));
	if (RT_UNLIKELY(tag))
		return false;
	__asm__ volatile("movntdq %%xmm0, %0\n\tmovntdq %%xmm1, %1"
			 : "=m"(*(volatile uint64_t(*)[2])to),
			   "=m"(*(volatile uint64_t(*)[2])(to + 2)));
	return true;
}

/*
 * Puts a detail of a hook behind the unit of its record, with all the bytes of the stack that are
 * wanted; rt_put_word() comes next and makes it valid.
 */
static inline __attribute__((always_inline)) void rt_put_hook_detail(uint64_t unit, uint64_t stack,
								     uint64_t site, uint64_t frame)
{
	volatile uint64_t *to = (volatile uint64_t *)unit, *end;
	uint64_t away = stack - unit - 2 * UNIT, tags = 0;

	rt_store(&to[4], frame);
	rt_store(&to[5], site);
	rt_store(&to[7], rt_thread.detail_shape);
	end = (volatile uint64_t *)(unit + rt_thread.detail_size);
	for (to += 8; to < end; to += 4) {
		const volatile uint64_t *from = (const volatile uint64_t *)((uint64_t)to + away);

		if (!rt_copy_stack_unit(to, from))
			tags |= rt_copy_tagged(to, from, (size_t)(end - to) / 4);
	}
	rt_store(&((volatile uint64_t *)unit)[6], tags);
}

#endif
