/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the recorded program. Everything here is called from hooks, so from any thread, any
 * signal handler and at any time; it uses libc only where that is safe, and never allocates.
 * errno is left as it was by all of it.
 */
#ifndef SONDE_RUNTIME_RUNTIME_H
#define SONDE_RUNTIME_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/shared.h"

#define UNIT sizeof(struct shared_unit)

#define RT_HIDDEN __attribute__((visibility("hidden")))
#define RT_PUBLIC __attribute__((visibility("default")))
#define RT_COLD __attribute__((noinline, cold))
#define RT_LIKELY(x) __builtin_expect(!!(x), 1)
#define RT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/*
 * Of one thread. `next` moves by one instruction, so that a signal handler never shares a unit.
 * It may run past the end of the present chunk: who took a place there owns it, and sees to it
 * that the next chunk is begun (rt_place_slow). Only at the end of the ring is nothing owned.
 */
struct rt_thread {
	char *next;    /* where the next record goes */
	char *start;   /* of the present chunk */
	uint64_t room; /* size of a chunk; 0: there is no ring */
	uint64_t lap;  /* lap << UNIT_LAP_SHIFT of the present chunk */
	/*
	 * Where stack bytes can be read without a further look: from that many addresses, from this
	 * one on. With them a record of a hook has this size, and its detail this last word; in a
	 * chunk it can begin at so many offsets, at none where there is no ring.
	 */
	uint64_t stack_low, stack_room;
	uint64_t detail_size, detail_shape, detail_room;
	struct shared_ring *ring;
	char *memory;		 /* of the ring */
	uint64_t chunk;		 /* number of the present one */
	uint64_t events;	 /* before it, where the ring overwrites */
	uint32_t busy;		 /* taking a ring: hooks in there are dropped and counted */
	uint32_t ringless;	 /* hooks to go before the next look for a free ring */
	uint64_t dropped;	 /* since the last UNIT_GAP */
	uint64_t jumped;	 /* byte of the ring, counted without end, at the last longjmp() */
	uint64_t pauses;	 /* rt_process.pauses when this thread last noted a pause */
	uint64_t fork_number;	 /* of the UNIT_FORK of a fork that is going on */
	uint64_t loading;	 /* stack pointer at a dlopen() that is going on, and */
	uint64_t loading_return; /* where it returns to */
	uint64_t pieces;	 /* annotations so far that came in pieces */
	uint32_t lost;		 /* counted in control->lost_threads */
	uint32_t ending;	 /* rounds of the thread's destructors so far */
	uint32_t stack_turn;
	uint64_t stacks[8]; /* low ends of coroutine stacks told lately */
};

extern RT_HIDDEN __thread __attribute__((tls_model("initial-exec"))) struct rt_thread rt_thread;

enum rt_paused { RT_AS_MODE, RT_PAUSED, RT_RESUMED };
enum rt_details { RT_AS_CONTROL, RT_DETAIL_ON, RT_DETAIL_OFF };

/*
 * Of the process, in a page that a fork wipes: in a child everything is 0 again, and the first
 * hook goes the slow way and sets up the child.
 */
struct rt_process {
	_Atomic uint32_t
		ready; /* MODE_PLAIN while hooks may write at once; compared with control->mode */
	_Atomic uint32_t paused;     /* enum rt_paused */
	_Atomic uint32_t generation; /* never 0 when set up */
	uint32_t slot;
	_Atomic uint32_t detail;  /* enum rt_details */
	_Atomic uint32_t loading; /* threads inside dlopen() */
	_Atomic uint64_t pauses;  /* how often it was paused */
};

extern RT_HIDDEN struct rt_process *rt_process;	    /* never NULL */
extern RT_HIDDEN _Atomic bool rt_was_put_off;	    /* by rt_off(), in a parent too */
extern RT_HIDDEN struct shared_control *rt_control; /* never NULL */

/* What a detail is made of. */
struct rt_detail {
	uint64_t values[3];	   /* as in struct shared_detail */
	const uint64_t *registers; /* the four of an entry that stand behind it; or NULL */
	uint64_t stack_pointer;	   /* stack bytes are read from here */
};

/* A place in a ring. */
struct rt_place {
	char *unit;
	uint64_t lap;		      /* of its chunk, already shifted */
	uint32_t time_low, time_high; /* two halves save putting the TSC together */
};

/* Moves on by one instruction; where it was before. */
static inline uint64_t rt_advance(uint64_t size)
{
	__asm__ volatile("xaddq %0, %1" : "+r"(size), "+m"(rt_thread.next) : : "memory");
	return size;
}

/*
 * Reads the clock and takes a place for a record of `size` bytes, a multiple of 32. False: hand
 * the place to rt_place_slow(), whatever it is, or a hole is left in the ring. A signal handler can
 * record, and so change the chunk, between any two instructions here, so the order matters: the
 * clock first, so that only one time stamp is late for its place and the time during which a
 * handler's longjmp() leaves a hole is short; the lap after the place is taken and before
 * the place is compared with the chunk.
 */
static inline bool rt_place_take(struct rt_place *place, size_t size)
{
	uint64_t unit, offset;

	__asm__ volatile("rdtsc" : "=a"(place->time_low), "=d"(place->time_high) : : "memory");
	unit = rt_advance(size);
	place->unit = (char *)unit;
	place->lap = rt_thread.lap;
	__asm__ volatile("" : "+r"(place->lap) : : "memory");
	offset = unit - (uint64_t)rt_thread.start;
	/* Places and chunks are whole units. */
	if (__builtin_constant_p(size) && size == UNIT)
		return RT_LIKELY(offset < rt_thread.room);
	return RT_LIKELY(offset < rt_thread.room && offset + size <= rt_thread.room);
}

/*
 * Goes on where rt_place_take() failed: begins the next chunk, waits for it, takes a ring. `unit`
 * is what was taken, NULL for nothing; the time stays. False: the record is dropped (and counted).
 */
RT_HIDDEN bool rt_place_slow(struct rt_place *place, char *unit, size_t size);
/* The same, and signals stay blocked where it is true: those that came meanwhile are better
 * handled when the record is written. The caller restores `mask`. */
RT_HIDDEN bool rt_place_blocked(struct rt_place *place, char *unit, size_t size, uint64_t *mask);

/*
 * Stores to a ring, past the caches: the launcher has read what was here, so the line is in its cache,
 * which may be far from ours. Whoever stores the usual way waits until it has come over. These stores can
 * become visible in any order: see rt_put_word().
 */
/* NOLINTNEXTLINE(readability-non-const-parameter): it is written to */
static inline void rt_store(volatile uint64_t *to, uint64_t value)
{
	__asm__ volatile("movnti %1, %0" : "=m"(*to) : "r"(value));
}

/* NOLINTNEXTLINE(readability-non-const-parameter) */
static inline void rt_store_half(volatile uint32_t *to, uint32_t value)
{
	__asm__ volatile("movnti %1, %0" : "=m"(*to) : "r"(value));
}

/* All that was stored so far is visible before what comes next. */
static inline void rt_store_fence(void)
{
	__asm__ volatile("sfence" : : : "memory");
}

/*
 * Stores the word of a unit, which makes its record valid. The unit lies in one cache line and becomes visible
 * as a whole, but what stands behind it may be later. When a thread goes on to another chunk, all that it
 * wrote is visible before; in the chunk that it is writing the launcher makes sure of that
 * (SHARED_BARRIER). What is left is a hook that was interrupted by a signal handler which went on.
 */
static inline void rt_put_word(uint64_t unit, uint64_t word)
{
	if (word >> UNIT_KIND_SHIFT & UNIT_DETAIL &&
	    RT_UNLIKELY((word ^ rt_thread.lap) >> UNIT_LAP_SHIFT & 0xff))
		rt_store_fence();
	rt_store(&((volatile struct shared_unit *)unit)->word, word);
}

/* Stores a unit, its word last. */
static inline void rt_put(const struct rt_place *place, unsigned kind, uint64_t function,
			  uint64_t stack, uint64_t code)
{
	volatile struct shared_unit *unit = (volatile struct shared_unit *)place->unit;
	volatile uint32_t *time = (volatile uint32_t *)place->unit;

	rt_store_half(&time[0], place->time_low);
	rt_store_half(&time[1], place->time_high);
	rt_store(&unit->stack, stack);
	rt_store(&unit->place, code);
	rt_put_word((uint64_t)unit, function | place->lap | (uint64_t)kind << UNIT_KIND_SHIFT);
}

/* Hooks may write at once, with rt_place_take() and rt_put(). */
static inline bool rt_is_plain(void)
{
	return RT_LIKELY(*(volatile uint32_t *)&rt_process->ready ==
			 *(volatile uint32_t *)&rt_control->mode);
}

/*
 * The other way to record, for everything but MODE_PLAIN with room in the chunk: sets up process
 * and thread, waits for room or drops, looks at filters and triggers, adds details. `detail` is
 * NULL where the caller has none to give.
 */
RT_HIDDEN void rt_record(enum unit_kind kind, uint64_t function, uint64_t stack, uint64_t code,
			 const struct rt_detail *detail);

/* The second half of a plain record whose place did not fit (rt_place_take() was false): with
 * the time that was read there, or with a new one. */
RT_HIDDEN void rt_record_timed(char *unit, enum unit_kind kind, uint64_t function, uint64_t stack,
			       uint64_t code, uint64_t time);
RT_HIDDEN void rt_record_at(char *unit, enum unit_kind kind, uint64_t function, uint64_t stack,
			    uint64_t code);

/*
 * All of recording but for details, for those who have none to give: the hot path, and whatever
 * else it needs. Uses no vector registers unless it goes the slow way.
 */
static inline void rt_write(enum unit_kind kind, uint64_t function, uint64_t stack, uint64_t code)
{
	struct rt_place place;

	if (!rt_is_plain())
		rt_record(kind, function, stack, code, NULL);
	else if (rt_place_take(&place, UNIT))
		rt_put(&place, kind, function, stack, code);
	else
		rt_record_at(place.unit, kind, function, stack, code);
}

/* Could these bytes of a detail, where a unit's word would be, be taken for one in a later lap? Then
 * rt_thread.ring->details must be set. */
static inline bool rt_looks_like_unit(uint64_t word)
{
	uint64_t tag = word >> UNIT_LAP_SHIFT, kind = tag >> 8 & ~UNIT_DETAIL;

	/* addresses and small numbers have none */
	return RT_UNLIKELY(tag) && kind - 1 < UNIT_KIND_COUNT - 1 && tag & 0xff;
}

/* Actions for a function (enum filter_action) after this process's filter. */
RT_HIDDEN uint32_t rt_filter(uint64_t function);

/* Details are wanted now: who has them gathers them and calls rt_record(). */
static inline bool rt_wants_detail(void)
{
	uint32_t detail = rt_process->detail;

	return detail == RT_AS_CONTROL ? rt_control->detail : detail == RT_DETAIL_ON;
}

/* This process is recorded: set up, and the launcher has not switched it off. */
static inline bool rt_is_on(void)
{
	return rt_process->generation && rt_control->mode > MODE_OFF;
}

/* Nothing is recorded any more, for good. Not so where this process is not set up yet. */
static inline bool rt_is_over(void)
{
	return rt_control->mode <= MODE_OFF || rt_was_put_off;
}

/* Nothing is recorded for now: the program or a trigger paused it. */
static inline bool rt_is_paused(void)
{
	uint32_t paused = rt_process->paused;

	return paused == RT_AS_MODE ? rt_control->mode == MODE_PAUSED : paused == RT_PAUSED;
}

/* The time of an event now, by the recording's clock. */
RT_HIDDEN uint64_t rt_clock(void);

/*
 * process.c. start: at the first hook or in the constructor, whatever is first; true when this
 * process is recorded. A forked child is set up by the same call. off: for good.
 */
RT_HIDDEN bool rt_start(void);

/* standalone.c. Becomes `sonde record` of this program where the environment asks for that. */
RT_HIDDEN void rt_record_itself(int argc, char **argv);
RT_HIDDEN void rt_off(void);
RT_HIDDEN void rt_set_ready(void);
extern RT_HIDDEN char *rt_memory; /* shared; NULL: not mapped */
extern RT_HIDDEN struct shared_process
	rt_answer; /* a copy of our slot, with the launcher's answer */

/* Of the calling thread, as the launcher sees it, if that can be seen from here. */
RT_HIDDEN uint32_t rt_thread_id(void);

/* Makes the filter that an answer names readable. */
RT_HIDDEN bool rt_open_filter(const struct shared_process *answer);

static inline struct shared_process *rt_slot(void)
{
	return &rt_answer;
}

static inline void *rt_shared(uint64_t offset)
{
	return rt_memory + offset;
}

/* Number `number` is taken: makes sure that it lies below `high`. */
static inline void rt_raise(_Atomic uint32_t *high, uint32_t number)
{
	uint32_t before = *high;

	while (before <= number && !atomic_compare_exchange_weak(high, &before, number + 1))
		;
}

RT_HIDDEN void rt_wake_launcher(void);
/* False: the launcher is dead or has switched off; nothing is recorded any more. */
RT_HIDDEN bool rt_launcher_lives(void);
/* Waits on a word of shared memory while it has this value, at most so long; then the above. */
enum { SHORT_WAIT_NS = 10000000, LONG_WAIT_NS = 100000000 };
RT_HIDDEN bool rt_wait(_Atomic uint32_t *word, uint32_t value, long most_ns);
RT_HIDDEN void rt_thread_ends(void *unused);
RT_HIDDEN void rt_watch_thread_end(void);
/* Around fork(): writes UNIT_FORK; forgets it in the parent, sets up the child. */
RT_HIDDEN void rt_fork_before(void);
RT_HIDDEN void rt_fork_after(bool child);

/* ring.c */
RT_HIDDEN void rt_ring_end(void);
RT_HIDDEN void rt_fill_holes(void);
RT_HIDDEN void rt_ring_jumped(void);
RT_HIDDEN void rt_pause(bool paused);
/* Writes a text or other bytes as the detail of a unit. */
RT_HIDDEN void rt_record_bytes(enum unit_kind kind, uint64_t code, const void *bytes, size_t size);
RT_HIDDEN bool rt_flush(void);

/*
 * load.c. scan: logs what was loaded and unloaded since the last time. dlopen() cannot be called
 * from a wrapper, since it looks at its caller: begun() notes the call, all hooks then go the
 * general way, and check() scans when it finds that the call is over. unpatched: tells how many
 * wanted functions of a module stay as they are.
 */
RT_HIDDEN void rt_load_scan(void);
RT_HIDDEN void rt_load_begun(uint64_t stack, uint64_t return_address);
RT_HIDDEN void rt_load_check(uint64_t stack, uint64_t function);
RT_HIDDEN void rt_load_forked(void);
/* An entry of the log, for annotate_log.c too. NULL: the launcher is gone. */
RT_HIDDEN struct shared_module *rt_log_begin(uint64_t *number);
RT_HIDDEN void rt_log_end(struct shared_module *entry, uint64_t number);
RT_HIDDEN void rt_log_unpatched(uint64_t base, uint32_t too_short, uint32_t not_writable);

/* stack.c: [low, high) of the calling thread's stack, as far as it can be told. */
RT_HIDDEN void rt_stack_bounds(uint64_t *low, uint64_t *high);
/* How many of the bytes wanted above an address of the stack can be read without leaving it. */
RT_HIDDEN size_t rt_stack_readable_slow(uint64_t from);

/* All of them, whole units. */
static inline bool rt_is_stack_readable(uint64_t from)
{
	return RT_LIKELY(from - rt_thread.stack_low < rt_thread.stack_room);
}

static inline size_t rt_stack_readable(uint64_t from)
{
	return rt_is_stack_readable(from) ? rt_control->stack_bytes : rt_stack_readable_slow(from);
}

RT_HIDDEN void rt_stack_remember_main(void);
RT_HIDDEN extern _Atomic uint64_t rt_stack_size;

/*
 * Patchable entries (patch.c). start: after the launcher answered, before main() and after dlopen();
 * set: patch or unpatch all that is selected, on resume and pause. Off: what is selected leads
 * nowhere, but for triggers.
 */
RT_HIDDEN void rt_patch_start(void);
RT_HIDDEN void rt_patch_set(bool on);
extern RT_HIDDEN _Atomic bool rt_patch_is_off;

#endif
