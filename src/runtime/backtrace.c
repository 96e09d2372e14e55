/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backtrace() and _Unwind_Backtrace() of a program with patched functions. Unwinding passes through
 * rt_exit by itself (entry_x86_64.S), but it would be told as a frame of its own; here the original
 * return addresses are back in their slots while the program looks.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <unwind.h>

#include "runtime/patch.h"
#include "runtime/system.h"

RT_PUBLIC int backtrace(void **addresses, int size);

/* Some of the slots that lead to rt_exit; the first is in the caller's frame, others are mapped. */
struct hooked {
	struct hooked *next;
	size_t count;
	uint64_t slots[510];
};

struct walk {
	_Unwind_Trace_Fn function; /* the program's */
	void *argument;
	bool skipped; /* our own frame */
	struct hooked *hooked;
	_Unwind_Word (*stack)(struct _Unwind_Context *context);
	_Unwind_Ptr (*code)(struct _Unwind_Context *context);
};

static _Unwind_Reason_Code collect(struct _Unwind_Context *context, void *argument)
{
	struct walk *walk = argument;
	struct hooked *hooked = walk->hooked;

	if (walk->code(context) != (uint64_t)rt_exit)
		return _URC_NO_REASON;
	if (hooked->count == sizeof(hooked->slots) / sizeof(hooked->slots[0])) {
		hooked = rt_map(sizeof(*hooked));
		if (!hooked)
			return _URC_NORMAL_STOP;
		hooked->next = walk->hooked;
		walk->hooked = hooked;
	}
	hooked->slots[hooked->count++] = walk->stack(context) - sizeof(uint64_t);
	return _URC_NO_REASON;
}

static void unhook(const struct hooked *hooked)
{
	for (; hooked; hooked = hooked->next) {
		for (size_t i = 0; i < hooked->count; i++) {
			const struct rt_return *kept = rt_return_find(hooked->slots[i]);

			*(volatile uint64_t *)hooked->slots[i] = kept->original;
		}
	}
}

static void hook_again(struct hooked *hooked)
{
	struct hooked *next;

	for (; hooked; hooked = next) {
		next = hooked->next;
		for (size_t i = 0; i < hooked->count; i++)
			*(volatile uint64_t *)hooked->slots[i] = (uint64_t)rt_exit;
		if (next)
			RT_CALL2(SYS_munmap, hooked, sizeof(*hooked));
	}
}

static _Unwind_Reason_Code pass_on(struct _Unwind_Context *context, void *argument)
{
	struct walk *walk = argument;

	if (!walk->skipped) {
		walk->skipped = true;
		return _URC_NO_REASON;
	}
	return walk->function(context, walk->argument);
}

/* A program that calls this has its unwinder loaded. */
RT_PUBLIC _Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn function, void *argument)
{
	_Unwind_Reason_Code (*real)(_Unwind_Trace_Fn, void *) = (_Unwind_Reason_Code(*)(
		_Unwind_Trace_Fn, void *))dlsym(RTLD_NEXT, "_Unwind_Backtrace");
	struct hooked first = { .next = NULL };
	struct walk walk = { .function = function, .argument = argument, .hooked = &first };
	_Unwind_Reason_Code result;

	if (!real)
		return _URC_FATAL_PHASE1_ERROR;
	walk.stack =
		(_Unwind_Word(*)(struct _Unwind_Context *))dlsym(RTLD_DEFAULT, "_Unwind_GetCFA");
	walk.code = (_Unwind_Ptr(*)(struct _Unwind_Context *))dlsym(RTLD_DEFAULT, "_Unwind_GetIP");
	if (walk.stack && walk.code)
		real(collect, &walk);
	unhook(walk.hooked);
	result = real(pass_on, &walk);
	hook_again(walk.hooked);
	return result;
}

/* The first address is ours. Those of rt_exit are left out; what follows them is less by 1 (entry_x86_64.S). */
static int leave_out(void *const *all, int count, void **addresses, int size)
{
	int kept = 0;

	for (int i = 1; i < count && kept < size; i++) {
		if (all[i] == (void *)rt_exit)
			continue;
		addresses[kept++] = (char *)all[i] + (all[i - 1] == (void *)rt_exit);
	}
	return kept;
}

int backtrace(void **addresses, int size)
{
	static int (*_Atomic found)(void **, int);
	int (*real)(void **, int) = found;
	void *few[256], **all = few, **many = NULL;
	int room = sizeof(few) / sizeof(few[0]), result;
	size_t wanted = 2 * (size_t)(size > 0 ? size : 0) + 2; /* every second may be rt_exit */

	if (!real) {
		real = (int (*)(void **, int))dlsym(RTLD_NEXT, "backtrace");
		found = real;
	}
	if (!real || size <= 0)
		return 0;
	if (wanted <= (size_t)room) {
		room = (int)wanted;
	} else if (wanted <= INT32_MAX) {
		many = rt_map(wanted * sizeof(*many));
		if (many) {
			all = many;
			room = (int)wanted;
		}
	}
	result = leave_out(all, real(all, room), addresses, size);
	if (many)
		RT_CALL2(SYS_munmap, many, wanted * sizeof(*many));
	return result;
}
