/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What -finstrument-functions calls. Only the hot path is here: is recording plain, take a place,
 * read the clock, store 32 bytes. Everything else is a jump to record.c. Compiled without vector
 * registers and without a frame; look at the assembly when changing it.
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

#define HOOK(kind, function, site)                                                                 \
	uint64_t stack = (uint64_t)__builtin_dwarf_cfa();                                          \
	uint64_t code = (uint64_t)__builtin_return_address(0);                                     \
	struct rt_place place;                                                                     \
                                                                                                   \
	if (!rt_is_plain()) {                                                                      \
		rt_hook(kind, (uint64_t)(function), stack, code, (uint64_t)(site),                 \
			frame_pointer());                                                          \
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
	HOOK(UNIT_CALL, function, site);
}

void __cyg_profile_func_exit(void *function, void *site)
{
	HOOK(UNIT_RETURN, function, site);
}
