/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens at the entry and exit of a patched function, called from entry_x86_64.S. The
 * program's vector registers are live here: nothing in this file touches them nor calls libc;
 * what may do so goes through rt_record_kept().
 */
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("general-regs-only"))), apply_to = function)
#else
#pragma GCC target("general-regs-only")
#endif

#include <cpuid.h>

#include "runtime/patch.h"
#include "runtime/record.h"
#include "runtime/system.h"

struct rt_returns_middle *_Atomic rt_returns[RETURNS_TOP];

/* For rt_record_kept(). */
extern RT_HIDDEN uint64_t rt_vectors_size;
extern RT_HIDDEN uint32_t rt_vectors_mask, rt_vectors_how;
uint64_t rt_vectors_size = 512;
uint32_t rt_vectors_mask; /* bits of XCR0 */
uint32_t rt_vectors_how;  /* 0 fxsave, 1 xsave, 2 xsavec */

/* Hands back *node, made of `size` zeros if there was none; whoever comes second takes the first's. */
static void *node_get(void *_Atomic *node, size_t size)
{
	void *found = atomic_load_explicit(node, memory_order_acquire), *made;

	if (found)
		return found;
	made = rt_map(size);
	if (!made)
		return NULL;
	if (atomic_compare_exchange_strong(node, &found, made))
		return made;
	RT_CALL2(SYS_munmap, made, size);
	return found;
}

static RT_COLD struct rt_return *return_make(uint64_t slot)
{
	struct rt_returns_middle *middle;

	if (slot >> 47)
		return NULL;
	middle = node_get((void *_Atomic *)&rt_returns[slot >> 32], sizeof(*middle));
	if (!middle || !node_get((void *_Atomic *)&middle->at[slot >> 16 & (RETURNS_MIDDLE - 1)],
				 sizeof(struct rt_returns_leaf)))
		return NULL;
	return rt_return_find(slot);
}

static RT_COLD void count_missed(void)
{
	struct shared_process *slots = rt_shared(rt_control->processes);

	if (rt_process->generation)
		atomic_fetch_add(&slots[rt_process->slot].missed_calls, 1);
}

/* False: there is no memory, and the function is left alone. */
static inline bool return_keep(uint64_t slot, uint64_t original, uint64_t function)
{
	struct rt_return *kept = rt_return_find(slot);

	if (RT_UNLIKELY(!kept)) {
		kept = return_make(slot);
		if (!kept) {
			count_missed();
			return false;
		}
	}
	kept->original = original;
	kept->function = function;
	return true;
}

static inline struct rt_detail detail_of(enum unit_kind kind, const struct rt_frame *frame)
{
	uint64_t slot = (uint64_t)&frame->return_address;

	if (kind == UNIT_EXIT)
		return (struct rt_detail){
			.values = { frame->rbp, frame->rax, frame->rdx },
			.stack_pointer = slot + sizeof(frame->return_address),
		};
	return (struct rt_detail){
		.values = { frame->rbp, frame->rdi, frame->rsi },
		.registers = &frame->rdx,
		.stack_pointer = slot,
	};
}

/* The way that always works. */
static RT_COLD void record_slow(enum unit_kind kind, uint64_t function,
				const struct rt_frame *frame, uint64_t original)
{
	struct rt_detail detail = detail_of(kind, frame);

	rt_record_kept(kind, function, (uint64_t)&frame->return_address, original, &detail);
}

static inline void record_plain(enum unit_kind kind, uint64_t function,
				const struct rt_frame *frame, uint64_t original)
{
	uint64_t slot = (uint64_t)&frame->return_address;
	struct rt_place place;

	if (rt_place_take(&place, UNIT))
		rt_put(&place, kind, function, slot, original);
	else
		rt_record_at_kept(place.unit, kind, function, slot, original);
}

static inline void record_detail(enum unit_kind kind, uint64_t function,
				 const struct rt_frame *frame, uint64_t original)
{
	struct rt_detail detail = detail_of(kind, frame);
	size_t stack_size = rt_stack_readable(detail.stack_pointer);
	size_t size = shared_detail_units(unit_is_entry(kind), stack_size) * UNIT;
	struct rt_place place;

	if (!rt_place_take(&place, size) && !rt_place_slow_kept(&place, place.unit, size))
		return;
	rt_put_detail(&place, &detail, (const void *)detail.stack_pointer, stack_size);
	rt_put(&place, kind | UNIT_DETAIL, function, (uint64_t)&frame->return_address, original);
}

/* Recording is off or pausing; only a function that may end that is told to rt_record(). */
static inline bool is_paused(void)
{
	return rt_is_over() || rt_is_paused();
}

/* Another thread paused the process, and rt_record() has not yet noted that in this ring. */
static inline bool is_pause_to_note(void)
{
	return rt_thread.pauses != rt_process->pauses && !rt_is_over();
}

/*
 * Not MODE_PLAIN nor paused, and nothing to see to: what is patched has been selected, so the
 * filter need not be asked again unless it also wants other things (THUNK_TRIGGER).
 */
static inline bool is_simple(uint64_t word)
{
	return RT_LIKELY(rt_process->ready == MODE_PLAIN && !is_pause_to_note() &&
			 !(word & THUNK_TRIGGER));
}

static inline __attribute__((always_inline)) void
record_general(enum unit_kind kind, uint64_t word, const struct rt_frame *frame, uint64_t original)
{
	uint64_t function = word & UNIT_FUNCTION_MASK;
	bool plain = rt_is_plain();

	if (!plain && !is_simple(word))
		record_slow(kind, function, frame, original);
	else if (!plain && rt_wants_detail())
		record_detail(kind, function, frame, original);
	else
		record_plain(kind, function, frame, original);
}

static __attribute__((noinline)) bool entry_general(struct rt_frame *frame, uint64_t word)
{
	uint64_t slot = (uint64_t)&frame->return_address;
	uint64_t original = frame->return_address;
	uint64_t function = word & (UNIT_FUNCTION_MASK | THUNK_TRIGGER);
	bool is_tail = original == (uint64_t)rt_exit; /* the slot is in use already */

	if (is_paused()) {
		if (RT_UNLIKELY(!rt_patch_is_off && rt_patch_is_needless()))
			rt_patch_leave_kept();
		if (rt_is_over() || !(word & THUNK_TRIGGER || is_pause_to_note()))
			return false;
		record_slow(UNIT_ENTRY, word & UNIT_FUNCTION_MASK, frame, original);
		return !is_paused() && !is_tail && return_keep(slot, original, function);
	}
	if (is_tail)
		original = rt_return_find(slot)->original;
	else if (!return_keep(slot, original, function))
		return false;
	record_general(is_tail ? UNIT_ENTRY_TAIL : UNIT_ENTRY, word, frame, original);
	return !is_tail;
}

bool rt_entry_hook(struct rt_frame *frame)
{
	uint64_t word = frame->word;
	uint64_t original = frame->return_address;

	frame->word =
		(word & UNIT_FUNCTION_MASK) + (word >> THUNK_BEHIND_SHIFT & THUNK_BEHIND_MASK);
	if (RT_UNLIKELY(!rt_is_plain() || original == (uint64_t)rt_exit))
		return entry_general(frame, word);
	if (RT_UNLIKELY(!return_keep((uint64_t)&frame->return_address, original,
				     word & (UNIT_FUNCTION_MASK | THUNK_TRIGGER))))
		return false;
	record_plain(UNIT_ENTRY, word & UNIT_FUNCTION_MASK, frame, original);
	return true;
}

void rt_exit_hook(struct rt_frame *frame)
{
	const struct rt_return *kept = rt_return_find((uint64_t)&frame->return_address);
	uint64_t original, word;

	if (RT_UNLIKELY(!kept))
		__builtin_trap(); /* the stack was copied elsewhere: there is no way back */
	original = kept->original;
	word = kept->function;
	frame->return_address = original;
	if (RT_LIKELY(rt_is_plain()))
		record_plain(UNIT_EXIT, word & UNIT_FUNCTION_MASK, frame, original);
	else if (!is_paused() || is_pause_to_note())
		record_general(UNIT_EXIT, word, frame, original);
}

/* x87, SSE, AVX, and the three parts of AVX-512; nobody else touches the others. */
#define VECTOR_PARTS 0xe7u

void rt_vectors_start(void)
{
	uint32_t eax, ebx, ecx, edx, mask, size = 512 + 64;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & bit_OSXSAVE))
		return;
	__asm__ volatile("xgetbv" : "=a"(mask), "=d"(edx) : "c"(0));
	mask &= VECTOR_PARTS;
	for (uint32_t part = 2; part < 8; part++) {
		if (!(mask & 1u << part))
			continue;
		__cpuid_count(13, part, eax, ebx, ecx, edx);
		if (ebx + eax > size)
			size = ebx + eax;
	}
	__cpuid_count(13, 1, eax, ebx, ecx, edx);
	rt_vectors_size = size;
	rt_vectors_mask = mask;
	rt_vectors_how = eax & 2 ? 2 : 1;
}

#if defined(__clang__)
#pragma clang attribute pop
#endif
