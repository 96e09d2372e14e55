/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What -finstrument-functions calls. Only the hot paths are here: is recording plain, take a place,
 * read the clock, store 32 bytes; and the same where every hook writes its detail too. Everything
 * else is a jump to record.c. Compiled without vector registers and without a frame; look at the
 * assembly when changing it.
 */
#include "runtime/record.h"

RT_PUBLIC void __cyg_profile_func_enter(void *function, void *site);
RT_PUBLIC void __cyg_profile_func_exit(void *function, void *site);

/* The frame pointer of the instrumented function: the hooks do not touch the register. */
static inline uint64_t frame_pointer(void)
{
	uint64_t frame;

	__asm__("movq %%rbp, %0" : "=r"(frame));
	return frame;
}

/* As rt_is_plain(), where every hook writes its detail too; the clock is the TSC. */
static inline bool is_plain_detail(void)
{
	return RT_LIKELY(rt_process->ready == MODE_PLAIN && rt_control->mode == MODE_DETAIL);
}

/* A hook that is not plain. Takes its place as rt_place_take() does, but in fewer registers. */
static inline __attribute__((always_inline)) void hook_detailed(const enum unit_kind kind,
								uint64_t function, uint64_t stack,
								uint64_t code, uint64_t site,
								uint64_t frame)
{
	volatile uint64_t *to;
	uint64_t time, unit;

	if (!is_plain_detail() || !rt_is_stack_readable(stack)) {
		rt_hook(kind, function, stack, code, site, frame);
		return;
	}
	time = __builtin_ia32_rdtsc();
	unit = rt_advance(rt_thread.detail_size);
	function |= rt_thread.lap;
	__asm__ volatile("" : "+r"(function) : : "memory");
	if (RT_UNLIKELY(unit - (uint64_t)rt_thread.start >= rt_thread.detail_room)) {
		rt_hook_at((char *)unit, kind, function & UNIT_FUNCTION_MASK, stack, code, site,
			   frame);
		return;
	}
	to = (volatile uint64_t *)unit;
	rt_store(&to[0], time);
	rt_store(&to[1], stack);
	rt_store(&to[2], code);
	rt_put_hook_detail(unit, stack, site, frame);
	rt_put_word(unit, function | (uint64_t)(kind | UNIT_DETAIL) << UNIT_KIND_SHIFT);
}

static __attribute__((noinline)) void call_detailed(uint64_t function, uint64_t stack,
						    uint64_t code, uint64_t site, uint64_t frame)
{
	hook_detailed(UNIT_CALL, function, stack, code, site, frame);
}

static __attribute__((noinline)) void return_detailed(uint64_t function, uint64_t stack,
						      uint64_t code, uint64_t site, uint64_t frame)
{
	hook_detailed(UNIT_RETURN, function, stack, code, site, frame);
}

#define HOOK(kind, detailed, function, site)                                                       \
	uint64_t stack = (uint64_t)__builtin_dwarf_cfa();                                          \
	uint64_t code = (uint64_t)__builtin_return_address(0);                                     \
	struct rt_place place;                                                                     \
                                                                                                   \
	if (!rt_is_plain()) {                                                                      \
		detailed((uint64_t)(function), stack, code, (uint64_t)(site), frame_pointer());    \
		return;                                                                            \
	}                                                                                          \
	if (!rt_place_take(&place, UNIT)) {                                                        \
		rt_record_timed(place.unit, kind, (uint64_t)(function), stack, code,               \
				(uint64_t)place.time_high << 32 | place.time_low);                 \
		return;                                                                            \
	}                                                                                          \
	rt_put(&place, kind, (uint64_t)(function), stack, code)

void __cyg_profile_func_enter(void *function, void *site)
{
	HOOK(UNIT_CALL, call_detailed, function, site);
}

void __cyg_profile_func_exit(void *function, void *site)
{
	HOOK(UNIT_RETURN, return_detailed, function, site);
}
