/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls made directly: they leave errno alone, are no points of cancellation, and work
 * wherever a hook can be called.
 */
#ifndef SONDE_RUNTIME_SYSTEM_H
#define SONDE_RUNTIME_SYSTEM_H

#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

/* Returns what the kernel does: -errno for errors. */
static inline long rt_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long fourth __asm__("r10") = d;
	register long fifth __asm__("r8") = e;
	register long sixth __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	return result;
}

#define RT_CALL0(number) rt_call(number, 0, 0, 0, 0, 0, 0)
#define RT_CALL1(number, a) rt_call(number, (long)(a), 0, 0, 0, 0, 0)
#define RT_CALL2(number, a, b) rt_call(number, (long)(a), (long)(b), 0, 0, 0, 0)
#define RT_CALL3(number, a, b, c) rt_call(number, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define RT_CALL4(number, a, b, c, d)                                                               \
	rt_call(number, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

/* Zeroed memory of our own; NULL where there is none. */
static inline void *rt_map(size_t size)
{
	long got = rt_call(SYS_mmap, 0, (long)size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return got < 0 && got > -4096 ? NULL : (void *)got;
}

/* All signals, for the calling thread; the mask that was set before is handed back. */
static inline uint64_t rt_block_signals(void)
{
	uint64_t all = ~UINT64_C(0), before = 0;

	RT_CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	return before;
}

static inline void rt_restore_signals(uint64_t before)
{
	RT_CALL4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof(before));
}

/* The memory is shared between processes, so these are not private futexes. */
static inline long rt_futex_wait(const void *word, uint32_t value, long timeout_ns)
{
	struct timespec timeout = { .tv_nsec = timeout_ns };

	return RT_CALL4(SYS_futex, word, FUTEX_WAIT, value, &timeout);
}

static inline void rt_futex_wake(const void *word)
{
	RT_CALL3(SYS_futex, word, FUTEX_WAKE, INT32_MAX);
}

/* Words only: memcpy() of libc uses vector registers. */
static inline void rt_copy(void *to, const void *from, size_t size)
{
	volatile uint64_t *words = to;
	const volatile uint64_t *source = from;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		words[i] = source[i];
	for (size_t i = size / sizeof(*words) * sizeof(*words); i < size; i++)
		((volatile char *)to)[i] = ((const volatile char *)from)[i];
}

#endif
