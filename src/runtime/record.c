/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The general way to record: looks whether the process is set up, at filters, triggers and
 * pauses, and writes what is wanted with its details. The plain hot path never comes here.
 */
#include "runtime/record.h"

#include <time.h>

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

static void write_unit(enum unit_kind kind, uint64_t function, uint64_t stack, uint64_t code)
{
	struct rt_taken taken;

	if (!rt_take(&taken, UNIT))
		return;
	rt_put(&taken.place, kind, function, stack, code);
	rt_end_taken(&taken);
}

static inline void write_detail(enum unit_kind kind, uint64_t function, uint64_t stack,
				uint64_t code, const struct rt_detail *detail, const void *bytes,
				size_t size)
{
	struct rt_taken taken;

	if (!rt_take(&taken, shared_detail_units(detail->registers != NULL, size) * UNIT))
		return;
	rt_put_detail(&taken.place, detail, bytes, size);
	rt_put(&taken.place, kind | UNIT_DETAIL, function, stack, code);
	rt_end_taken(&taken);
}

void rt_record_bytes(enum unit_kind kind, uint64_t code, const void *bytes, size_t size)
{
	static const struct rt_detail nothing;

	write_detail(kind, 0, 0, code, &nothing, bytes, size);
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
void rt_note_pause(void)
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
	if (action & FILTER_TRIGGER_ON) {
		rt_pause(false);
		if (rt_patch_is_off)
			rt_patch_set(true);
	}
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
	if (mode > MODE_DETAIL)
		action = rt_filter(function);
	if (RT_UNLIKELY(action & ~(uint32_t)FILTER_RECORD) && is_call(kind))
		pull_triggers(action);
	if (rt_is_paused()) {
		rt_note_pause();
		return false;
	}
	return action & FILTER_RECORD;
}

void rt_record(enum unit_kind kind, uint64_t function, uint64_t stack, uint64_t code,
	       const struct rt_detail *detail)
{
	if (!wanted(kind, function, stack))
		return;
	if (detail && rt_wants_detail())
		write_detail(kind, function, stack, code, detail,
			     (const void *)detail->stack_pointer,
			     rt_stack_readable(detail->stack_pointer));
	else
		write_unit(kind, function, stack, code);
}

void rt_record_timed(char *unit, enum unit_kind kind, uint64_t function, uint64_t stack,
		     uint64_t code, uint64_t time)
{
	struct rt_place place;
	uint64_t mask;

	if (!rt_place_blocked(&place, unit, UNIT, &mask))
		return;
	rt_set_time(&place, time);
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
	struct rt_detail detail = { .values = { frame, site }, .stack_pointer = stack };

	rt_record(kind, function, stack, code, &detail);
}

void rt_hook_at(char *unit, enum unit_kind kind, uint64_t function, uint64_t stack, uint64_t code,
		uint64_t site, uint64_t frame)
{
	struct rt_place place;

	rt_set_time(&place, __builtin_ia32_rdtsc());
	if (!rt_place_slow(&place, unit, rt_thread.detail_size))
		return;
	rt_put_hook_detail((uint64_t)place.unit, stack, site, frame);
	rt_put(&place, kind | UNIT_DETAIL, function, stack, code);
}
