/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patchable entries, kind (b), shared by patch.c (writes jumps into the program), patch_find.c
 * (where to), entry_x86_64.S and returns.c (what runs at entry and exit) and backtrace.c.
 *
 * A patched function begins with a jump to a thunk of its own, which leads to rt_entry. That
 * records the entry and then calls the rest of the function, so that it returns to rt_exit: the
 * call puts the address of rt_exit just where the caller's return address was, and the
 * processor's return predictor stays right. The original is kept in rt_returns.
 */
#ifndef SONDE_RUNTIME_PATCH_H
#define SONDE_RUNTIME_PATCH_H

#include "runtime/runtime.h"

/* What the trampolines push; its end is the slot, where the return address of the function is. */
struct rt_frame {
	uint64_t rdi, rsi, rdx, rcx, r8, r9, rax, r10, r11, rbp;
	uint64_t word; /* entry: word of the thunk, then where to go on; exit: not used */
	uint64_t return_address;
};

/* Word of a thunk: function | how far behind it to go on << 48 | TRIGGER. */
#define THUNK_BEHIND_SHIFT 48
#define THUNK_BEHIND_MASK 0xffu
#define THUNK_TRIGGER (UINT64_C(1) << 63) /* the filter asks for more than recording */

/*
 * Return addresses that were replaced: a tree over all addresses a stack can have, with one leaf
 * for each 64 KB of stack and there one entry for each 8 bytes. So coroutines may move between
 * threads, whatever leaves without returning needs no care, and an entry belongs to whoever
 * runs on that stack: no lock. The unwinding information of rt_exit walks the same tree.
 */
struct rt_return {
	uint64_t original;
	uint64_t function; /* as in struct shared_unit, THUNK_TRIGGER added */
};

#define RETURNS_TOP (1 << 15)	 /* by bits 32 to 46 of the address */
#define RETURNS_MIDDLE (1 << 16) /* by bits 16 to 31 */
#define RETURNS_LEAF (1 << 13)	 /* by bits 3 to 15 */

struct rt_returns_leaf {
	struct rt_return at[RETURNS_LEAF];
};

struct rt_returns_middle {
	struct rt_returns_leaf *_Atomic at[RETURNS_MIDDLE];
};

extern RT_HIDDEN struct rt_returns_middle *_Atomic rt_returns[RETURNS_TOP];

/* NULL: nothing was ever kept near this slot. */
static inline struct rt_return *rt_return_find(uint64_t slot)
{
	struct rt_returns_middle *middle;
	struct rt_returns_leaf *leaf;

	middle = atomic_load_explicit(&rt_returns[slot >> 32 & (RETURNS_TOP - 1)],
				      memory_order_acquire);
	if (RT_UNLIKELY(!middle))
		return NULL;
	leaf = atomic_load_explicit(&middle->at[slot >> 16 & (RETURNS_MIDDLE - 1)],
				    memory_order_acquire);
	if (RT_UNLIKELY(!leaf))
		return NULL;
	return &leaf->at[slot >> 3 & (RETURNS_LEAF - 1)];
}

/* entry_x86_64.S */
extern RT_HIDDEN char rt_entry[], rt_exit[];
/* The functions of runtime.h without _kept, with all vector registers kept. */
RT_HIDDEN void rt_record_kept(enum unit_kind kind, uint64_t function, uint64_t stack, uint64_t code,
			      const struct rt_detail *detail);
RT_HIDDEN void rt_record_at_kept(char *unit, enum unit_kind kind, uint64_t function, uint64_t stack,
				 uint64_t code);
RT_HIDDEN bool rt_place_slow_kept(struct rt_place *place, char *unit, size_t size);
RT_HIDDEN void rt_patch_leave_kept(void);

/* returns.c: true: the trampoline calls the function, so that rt_exit follows; else jumps to it. */
RT_HIDDEN bool rt_entry_hook(struct rt_frame *frame);
RT_HIDDEN void rt_exit_hook(struct rt_frame *frame);
/* Finds out what there is to keep. */
RT_HIDDEN void rt_vectors_start(void);

/*
 * Of what is patched only triggers have a part in what comes next: recording is over, or pauses
 * since it began. Not where a trigger paused it, since triggers may do that often.
 */
static inline bool rt_patch_is_needless(void)
{
	return rt_is_over() ||
	       (rt_process->paused == RT_AS_MODE && rt_is_paused() && !rt_control->resumes);
}

/* Unpatches where that is so. Whoever ends a pause says so first, and then patches where that is off. */
RT_HIDDEN void rt_patch_leave(void);

/* patch_find.c */
#define PATCH_SIZE 5 /* bytes of a jump, in place of NOPs */

struct patch_segment {
	uint64_t low, high; /* executable */
	int protection;
};

struct patch_module {
	uint64_t base;	       /* what is added to addresses of its file */
	uint64_t low, high;    /* of its list of entries */
	const uint8_t *frames; /* its .eh_frame_hdr, with `frame_count` functions */
	uint32_t frame_count;
	struct patch_segment segments[4];
	struct patch_site *sites; /* from here on by patch.c, but for segment_count */
	size_t site_count;
	char *thunks;
	size_t thunks_size;
	uint32_t too_short; /* entries that are wanted, with too few NOPs */
	uint32_t segment_count;
	bool on;
};

struct patch_site {
	uint64_t address; /* of the 5 bytes */
	uint64_t word;	  /* of its thunk */
	uint64_t thunk;
	uint32_t nops; /* bytes of NOPs to make one of, at the first time; patched if 5 or more */
	bool fixed;    /* lies across a cache line */
	bool trigger;  /* patched while paused, too */
};

/* False: no module of the program has these entries. */
RT_HIDDEN bool patch_find_module(struct patch_module *module, uint64_t low, uint64_t high);
/* Where to patch for an address of the list. False: it is not a function. */
RT_HIDDEN bool patch_find_site(const struct patch_module *module, uint64_t listed,
			       struct patch_site *site);
/*
 * Functions by their unwinding information, from the first in memory to the last. Such a one may be
 * patchable and not in the list: g++ before 13 makes one list of all functions of a file, and the
 * linker drops that if it has the first of them, a template say, from another file.
 */
RT_HIDDEN uint64_t patch_find_function(const struct patch_module *module, size_t number);
/* Where to patch it. False: it does not begin with the NOPs of gcc, and enough of them. */
RT_HIDDEN bool patch_find_framed(const struct patch_module *module, uint64_t function,
				 struct patch_site *site);
/* Where the list says so, too: it is one of those that are found so. */
RT_HIDDEN bool patch_is_framed(const struct patch_module *module, const struct patch_site *site);
RT_HIDDEN const struct patch_segment *patch_find_segment(const struct patch_module *module,
							 uint64_t address);

#endif
