/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The general way to record: looks whether the process is set up, at filters, triggers and
 * pauses, and writes what is wanted with its details. The plain hot path never comes here.
 */
#include "runtime/record.h"

#include <time.h>

#include "runtime/system.h"

#define UNIT sizeof(struct shared_unit)

uint64_t rt_clock(void)
{
	struct timespec now;

	if (rt_control->clock == SHARED_CLOCK_TSC)
		return __builtin_ia32_rdtsc();
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint32_t rt_filter(uint64_t function)
{
	const struct shared_process *slot = rt_slot();
	const struct shared_filter *filters;
	uint64_t at;

	if (!slot->filter_mask)
		return slot->filter_default;
	filters = rt_shared(slot->filter);
	at = function_hash(function) & slot->filter_mask;
	while (filters[at].function) {
		if (filters[at].function == function)
			return (uint32_t)filters[at].action;
		at = (at + 1) & slot->filter_mask;
	}
	return slot->filter_default;
}

bool rt_wants_detail(void)
{
	uint32_t detail = rt_process->detail;

	return detail == RT_AS_CONTROL ? rt_control->detail : detail == RT_DETAIL_ON;
}

static void set_time(struct rt_place *place, uint64_t time)
{
	place->time_low = (uint32_t)time;
	place->time_high = (uint32_t)(time >> 32);
}

/* A place to write to, in whatever way it is found. */
struct taken {
	struct rt_place place;
	uint64_t mask; /* of signals */
	bool blocked;  /* until end_taken() */
};

static inline bool take(struct taken *taken, size_t size)
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
		set_time(&taken->place, time);
	return true;
}

static inline void end_taken(const struct taken *taken)
{
	if (taken->blocked)
		rt_restore_signals(taken->mask);
}

static void write_unit(enum unit_kind kind, uint64_t function, uint64_t stack, uint64_t code)
{
	struct taken taken;

	if (!take(&taken, UNIT))
		return;
	rt_put(&taken.place, kind, function, stack, code);
	end_taken(&taken);
}

/* Copies bytes behind a detail. Without libc, which uses vector registers. */
static inline void copy_bytes(volatile uint64_t *to, const void *bytes, size_t size)
{
	const volatile uint64_t *from = bytes;
	uint64_t word;

	for (; size >= UNIT; size -= UNIT, to += 4, from += 4) {
		to[0] = from[0];
		to[1] = from[1];
		to[2] = from[2];
		word = from[3];
		to[3] = word;
		if (rt_looks_like_unit(word))
			rt_thread.ring->details = 1;
	}
	if (size)
		to[3] = 0; /* what is left there from before */
	rt_copy((char *)to, (const char *)from, size);
}

/* Takes a place for a unit, its detail and `size` bytes, and copies the bytes; NULL: dropped. */
static inline volatile struct shared_detail *begin_detail(struct taken *taken, const void *bytes,
							  size_t size)
{
	size_t units = 1 + (sizeof(struct shared_detail) + size + UNIT - 1) / UNIT;
	volatile struct shared_detail *detail;

	if (!take(taken, units * UNIT))
		return NULL;
	detail = (volatile struct shared_detail *)(taken->place.unit + UNIT);
	detail->stack_size = (uint16_t)size;
	detail->units = (uint32_t)units;
	copy_bytes((volatile uint64_t *)(detail + 1), bytes, size);
	return detail;
}

/* Volatile stores, since the compiler's way to clear memory is slow for so little. */
static inline void fill_detail(volatile struct shared_detail *detail, uint64_t stack,
			       uint64_t frame, uint64_t site)
{
	detail->stack_pointer = stack;
	detail->frame_pointer = frame;
	detail->return_address = site;
	detail->flags = 0;
	for (size_t i = 0; i < sizeof(detail->registers) / sizeof(*detail->registers); i++)
		detail->registers[i] = 0;
}

static inline void copy_detail(volatile struct shared_detail *detail,
			       const struct shared_detail *from)
{
	fill_detail(detail, from->stack_pointer, from->frame_pointer, from->return_address);
	detail->flags = from->flags;
	for (size_t i = 0; i < sizeof(detail->registers) / sizeof(*detail->registers); i++)
		detail->registers[i] = from->registers[i];
	if (rt_looks_like_unit(from->registers[3]) || rt_looks_like_unit(from->registers[7]))
		rt_thread.ring->details = 1;
}

static inline void end_detail(const struct taken *taken, enum unit_kind kind, uint64_t function,
			      uint64_t stack, uint64_t code)
{
	rt_put(&taken->place, kind | UNIT_DETAIL, function, stack, code);
	end_taken(taken);
}

void rt_record_bytes(enum unit_kind kind, uint64_t code, const void *bytes, size_t size)
{
	struct taken taken;
	volatile struct shared_detail *detail = begin_detail(&taken, bytes, size);

	if (!detail)
		return;
	fill_detail(detail, 0, 0, 0);
	end_detail(&taken, kind, 0, 0, code);
}

void rt_pause(bool paused)
{
	uint32_t state = paused ? RT_PAUSED : RT_RESUMED;

	if (atomic_exchange(&rt_process->paused, state) == state)
		return;
	if (paused)
		rt_thread.pauses = atomic_fetch_add(&rt_process->pauses, 1) + 1;
	write_unit(paused ? UNIT_PAUSE : UNIT_RESUME, 0, 0, 0);
	rt_set_ready();
}

/* Another thread paused the process: notes in this ring from where on calls are not seen. */
static void note_pause(void)
{
	uint64_t pauses = rt_process->pauses;

	if (!rt_thread.room || rt_thread.pauses == pauses)
		return;
	rt_thread.pauses = pauses;
	write_unit(UNIT_PAUSE, 0, 0, 0);
	write_unit(UNIT_RESUME, 0, 0, 0); /* the hot path would not */
}

static RT_COLD void pull_triggers(uint32_t action)
{
	if (action & FILTER_DETAIL_ON)
		rt_process->detail = RT_DETAIL_ON;
	if (action & FILTER_DETAIL_OFF)
		rt_process->detail = RT_DETAIL_OFF;
	if (action & FILTER_TRIGGER_ON)
		rt_pause(false);
	if (action & FILTER_TRIGGER_OFF)
		rt_pause(true);
	if (action & FILTER_REQUEST_DUMP) {
		write_unit(UNIT_REQUEST, 0, 0, REQUEST_DUMP);
		rt_wake_launcher();
	}
}

static inline bool is_call(enum unit_kind kind)
{
	return kind == UNIT_CALL || kind == UNIT_ENTRY || kind == UNIT_ENTRY_TAIL;
}

/* Whether to write this; sets up what is not yet, and pulls triggers. */
static inline bool wanted(enum unit_kind kind, uint64_t function, uint64_t stack)
{
	uint32_t mode = rt_control->mode, action = FILTER_RECORD;

	if (RT_UNLIKELY(!rt_process->generation)) {
		if (!rt_start())
			return false;
		mode = rt_control->mode;
	}
	if (mode <= MODE_OFF)
		return false;
	if (RT_UNLIKELY(rt_thread.loading))
		rt_load_check(stack, function);
	if (kind > UNIT_EXIT)
		return true;
	if (mode != MODE_PLAIN)
		action = rt_filter(function);
	if (RT_UNLIKELY(action & ~(uint32_t)FILTER_RECORD) && is_call(kind))
		pull_triggers(action);
	if (rt_is_paused()) {
		note_pause();
		return false;
	}
	return action & FILTER_RECORD;
}

void rt_record(enum unit_kind kind, uint64_t function, uint64_t stack, uint64_t code,
	       const struct shared_detail *detail)
{
	volatile struct shared_detail *copy;
	struct taken taken;
	uint64_t from;

	if (!wanted(kind, function, stack))
		return;
	if (!detail || !rt_wants_detail()) {
		write_unit(kind, function, stack, code);
		return;
	}
	from = detail->stack_pointer;
	copy = begin_detail(&taken, (const void *)from, rt_stack_readable(from));
	if (!copy)
		return;
	copy_detail(copy, detail);
	end_detail(&taken, kind, function, stack, code);
}

void rt_record_timed(char *unit, enum unit_kind kind, uint64_t function, uint64_t stack,
		     uint64_t code, uint64_t time)
{
	struct rt_place place;
	uint64_t mask;

	if (!rt_place_blocked(&place, unit, UNIT, &mask))
		return;
	set_time(&place, time);
	rt_put(&place, kind, function, stack, code);
	rt_restore_signals(mask);
}

void rt_record_at(char *unit, enum unit_kind kind, uint64_t function, uint64_t stack, uint64_t code)
{
	rt_record_timed(unit, kind, function, stack, code, __builtin_ia32_rdtsc());
}

void rt_hook(enum unit_kind kind, uint64_t function, uint64_t stack, uint64_t code, uint64_t site,
	     uint64_t frame)
{
	volatile struct shared_detail *detail;
	struct taken taken;

	if (!wanted(kind, function, stack))
		return;
	if (!rt_wants_detail()) {
		write_unit(kind, function, stack, code);
		return;
	}
	detail = begin_detail(&taken, (const void *)stack, rt_stack_readable(stack));
	if (!detail)
		return;
	fill_detail(detail, stack, frame, site);
	end_detail(&taken, kind, function, stack, code);
}
