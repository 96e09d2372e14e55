/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder must know of jumps, exceptions, stacks, loading and forks: functions of libc
 * and of the C++ runtime with a word to the ring before, or around, the real one. Where nothing is
 * recorded they only lead to it. Not part of the static library, which has no dlsym() to find
 * the real ones with.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/types.h>
#include <ucontext.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/system.h"

/* Must be there once the program can call ours; resolved when first needed. */
#define REAL_LIST(X)                                                                               \
	X(longjmp)                                                                                 \
	X(_longjmp)                                                                                \
	X(siglongjmp)                                                                              \
	X(__longjmp_chk)                                                                           \
	X(setcontext)                                                                              \
	X(swapcontext)                                                                             \
	X(pthread_create)                                                                          \
	X(pthread_exit)                                                                            \
	X(dlopen)                                                                                  \
	X(dlmopen)                                                                                 \
	X(__cxa_throw)                                                                             \
	X(__cxa_rethrow)                                                                           \
	X(__cxa_begin_catch)                                                                       \
	X(fork)                                                                                    \
	X(dlclose)

enum real {
#define X(name) REAL_##name,
	REAL_LIST(X)
#undef X
		REAL_COUNT
};

static const char *const real_names[] = {
#define X(name) #name,
	REAL_LIST(X)
#undef X
};

static void *_Atomic real_functions[REAL_COUNT];

/*
 * A library that was loaded for itself alone (RTLD_LOCAL) may have brought the C++ runtime along,
 * which is then not behind us in the global scope: it is found in the scope of the caller.
 */
static void *find_for_caller(const char *name, uint64_t caller)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (!dladdr1((void *)caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
		return NULL;
	return dlsym(map, name);
}

static void *find_real(enum real which, uint64_t caller)
{
	void *found = real_functions[which];

	if (RT_LIKELY(found))
		return found;
	found = dlsym(RTLD_NEXT, real_names[which]);
	if (found)
		real_functions[which] = found;
	else
		found = find_for_caller(real_names[which], caller);
	return found;
}

/* Before main(), so that none of this happens in a signal handler. */
__attribute__((constructor(102))) static void find_all(void)
{
	int saved_errno = errno;

	for (enum real which = 0; which < REAL_COUNT; which++)
		if (!real_functions[which])
			real_functions[which] = dlsym(RTLD_NEXT, real_names[which]);
	dlerror(); /* the program must not see that some are not there */
	errno = saved_errno;
}

static void note(enum unit_kind kind, uint64_t function, uint64_t stack, uint64_t code)
{
	int saved_errno = errno;

	if (rt_is_on())
		rt_record(kind, function, stack, code, NULL);
	errno = saved_errno;
}

/* Each helper of wrap_x86_64.S: does its part and gives the real function. */
#define HELPER(name, first, second, stack, code)                                                   \
	RT_HIDDEN void *rt_wrap_##name(uint64_t first, uint64_t second, uint64_t stack,            \
				       uint64_t code);                                             \
	void *rt_wrap_##name(uint64_t first __attribute__((unused)),                               \
			     uint64_t second __attribute__((unused)),                              \
			     uint64_t stack __attribute__((unused)), uint64_t code)

/* ---- longjmp ---- */

/* The stack pointer that a jump sets, which glibc keeps mangled. */
static uint64_t jump_target(uint64_t buffer)
{
	uint64_t target = (uint64_t)((struct __jmp_buf_tag *)buffer)->__jmpbuf[6];

	__asm__("rorq $17, %0\n\txorq %%fs:0x30, %0" : "+r"(target));
	return target;
}

static void note_jump(uint64_t buffer, uint64_t code)
{
	note(UNIT_UNWIND, 0, jump_target(buffer), code);
	rt_ring_jumped();
}

HELPER(longjmp, buffer, value, stack, code)
{
	note_jump(buffer, code);
	return find_real(REAL_longjmp, code);
}

HELPER(_longjmp, buffer, value, stack, code)
{
	note_jump(buffer, code);
	return find_real(REAL__longjmp, code);
}

HELPER(siglongjmp, buffer, value, stack, code)
{
	note_jump(buffer, code);
	return find_real(REAL_siglongjmp, code);
}

HELPER(__longjmp_chk, buffer, value, stack, code)
{
	note_jump(buffer, code);
	return find_real(REAL___longjmp_chk, code);
}

/* ---- stacks ---- */

/*
 * Tells of the stack that a context runs on, unless this thread was told lately. uc_stack is what
 * the program filled in for makecontext(); where it did not, the stack pointer lies elsewhere.
 */
static void note_context(const ucontext_t *context)
{
	struct rt_thread *thread = &rt_thread;
	uint64_t low = (uint64_t)context->uc_stack.ss_sp;
	uint64_t high = low + context->uc_stack.ss_size;
	uint64_t target = (uint64_t)context->uc_mcontext.gregs[REG_RSP];

	if (!low || !rt_is_on() || target <= low || target > high)
		return;
	for (size_t i = 0; i < sizeof(thread->stacks) / sizeof(*thread->stacks); i++)
		if (thread->stacks[i] == low)
			return;
	thread->stacks[thread->stack_turn++ % (sizeof(thread->stacks) / sizeof(*thread->stacks))] =
		low;
	note(UNIT_STACK, STACK_COROUTINE, low, high);
}

HELPER(setcontext, context, unused, stack, code)
{
	note_context((const ucontext_t *)context);
	return find_real(REAL_setcontext, code);
}

HELPER(swapcontext, old, context, stack, code)
{
	note_context((const ucontext_t *)context);
	return find_real(REAL_swapcontext, code);
}

RT_PUBLIC int sigaltstack(const stack_t *restrict ss, stack_t *restrict oss)
{
	stack_t before = { .ss_flags = SS_DISABLE }, after = before;
	long result;

	RT_CALL2(SYS_sigaltstack, NULL, &before);
	result = RT_CALL2(SYS_sigaltstack, ss, oss);
	if (result) {
		errno = (int)-result;
		return -1;
	}
	RT_CALL2(SYS_sigaltstack, NULL, &after);
	if (before.ss_sp == after.ss_sp && before.ss_size == after.ss_size)
		return 0;
	if (before.ss_size)
		note(UNIT_STACK, STACK_GONE, (uint64_t)before.ss_sp,
		     (uint64_t)before.ss_sp + before.ss_size);
	if (after.ss_size)
		note(UNIT_STACK, STACK_SIGNAL, (uint64_t)after.ss_sp,
		     (uint64_t)after.ss_sp + after.ss_size);
	return 0;
}

/* The largest size is what stack.c takes all threads to have. */
HELPER(pthread_create, thread, attributes, stack, code)
{
	pthread_attr_t defaults;
	size_t size = 0;
	int saved_errno = errno;

	if (attributes) {
		pthread_attr_getstacksize((const pthread_attr_t *)attributes, &size);
	} else if (!rt_stack_size && !pthread_getattr_default_np(&defaults)) {
		pthread_attr_getstacksize(&defaults, &size);
		pthread_attr_destroy(&defaults);
	}
	if (size > rt_stack_size)
		rt_stack_size = size;
	errno = saved_errno;
	return find_real(REAL_pthread_create, code);
}

HELPER(pthread_exit, value, unused, stack, code)
{
	note(UNIT_THREAD_EXIT, 0, stack, code);
	return find_real(REAL_pthread_exit, code);
}

/* ---- loading ---- */

HELPER(dlopen, name, mode, stack, code)
{
	if (name && rt_is_on())
		rt_load_begun(stack, code);
	return find_real(REAL_dlopen, code);
}

HELPER(dlmopen, space, name, stack, code)
{
	if (name && rt_is_on())
		rt_load_begun(stack, code);
	return find_real(REAL_dlmopen, code);
}

/*
 * What is looked up in a library that was just loaded is likely to be called next: its entries
 * must be patched by then. dlsym() cannot find the real dlsym(), of which this is the oldest name.
 */
HELPER(dlsym, handle, name, stack, code)
{
	static void *_Atomic real;
	int saved_errno = errno;

	if (RT_UNLIKELY(!real))
		real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	if (RT_UNLIKELY(rt_thread.loading && rt_is_on()))
		rt_load_check(stack, 0);
	errno = saved_errno;
	(void)code;
	return real;
}

RT_PUBLIC int dlclose(void *handle)
{
	int (*real)(void *) = (int (*)(void *))find_real(REAL_dlclose, 0);
	int result;

	if (!rt_is_on())
		return real(handle);
	rt_load_scan();
	result = real(handle);
	rt_load_scan();
	return result;
}

/* ---- C++ exceptions ---- */

HELPER(__cxa_throw, object, type, stack, code)
{
	note(UNIT_THROW, 0, stack, code);
	return find_real(REAL___cxa_throw, code);
}

HELPER(__cxa_rethrow, unused, unused_too, stack, code)
{
	note(UNIT_THROW, 0, stack, code);
	return find_real(REAL___cxa_rethrow, code);
}

HELPER(__cxa_begin_catch, exception, unused, stack, code)
{
	note(UNIT_CATCH, 0, stack, code);
	return find_real(REAL___cxa_begin_catch, code);
}

/* ---- fork ---- */

RT_PUBLIC pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t(*)(void))find_real(REAL_fork, 0);
	int saved_errno = errno;
	pid_t child;

	rt_fork_before();
	errno = saved_errno;
	child = real();
	saved_errno = errno;
	rt_fork_after(child == 0);
	errno = saved_errno;
	return child;
}

/* ---- AddressSanitizer ---- */

/*
 * Its library ends a program in which it is not the first one, and asks here for options. A program
 * with options of its own asks itself.
 */
RT_PUBLIC const char *__asan_default_options(void);
RT_PUBLIC const char *__asan_default_options(void)
{
	return "verify_asan_link_order=0";
}
