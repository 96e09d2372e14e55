/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the stack of a thread lies, without asking anyone: reading /proc/self/maps would take
 * longer with every thread there is, and pthread_getattr_np() allocates. The main thread's stack
 * ends where the process began. glibc keeps a thread's control block, which the thread pointer
 * shows, at the upper end of its stack; the size is the largest that pthread_create() was ever
 * asked for (wrappers.c notes it), so the lower bound is a safe one rather than an exact one.
 */
#include <stdint.h>
#include <sys/resource.h>

#include "runtime/runtime.h"
#include "runtime/system.h"

#define UNLIMITED_SIZE (UINT64_C(1) << 30) /* what we take an unlimited main stack for */
#define THREAD_SIZE (UINT64_C(8) << 20)
#define PAGE 4096u

extern void *__libc_stack_end;

_Atomic uint64_t rt_stack_size;

static uint64_t main_thread_pointer;

static uint64_t thread_pointer(void)
{
	uint64_t pointer;

	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

static uint64_t stack_limit(void)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

	RT_CALL4(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit);
	return limit.rlim_cur == RLIM_INFINITY ? 0 : limit.rlim_cur;
}

/* Normally the constructor runs in the main thread; else all threads are taken for others. */
void rt_stack_remember_main(void)
{
	if (RT_CALL0(SYS_gettid) == RT_CALL0(SYS_getpid))
		main_thread_pointer = thread_pointer();
}

void rt_stack_bounds(uint64_t *low, uint64_t *high)
{
	uint64_t size;

	if (thread_pointer() == main_thread_pointer) {
		/* Above it are only arguments and environment. */
		*high = ((uint64_t)__libc_stack_end + 15) / 16 * 16;
		size = stack_limit();
		if (!size || size > UNLIMITED_SIZE)
			size = UNLIMITED_SIZE;
	} else {
		*high = thread_pointer();
		size = rt_stack_size ? rt_stack_size : THREAD_SIZE;
	}
	*low = *high > size ? *high - size : 0;
}

size_t rt_stack_readable_slow(uint64_t from)
{
	size_t size = rt_control->stack_bytes, left = PAGE - from % PAGE;
	uint64_t low, high;

	if (rt_thread.room) {
		low = rt_thread.ring->stack_low;
		high = rt_thread.ring->stack_high;
	} else {
		rt_stack_bounds(&low, &high); /* the first event of a thread takes the ring */
	}
	if (from >= low && from < high)
		left = high - from;
	return size < left ? size : left;
}
