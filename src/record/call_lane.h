/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside calls.c, call_annotations.c, call_lane.c, call_stacks.c and call_zones.c: the open calls of one stack and the events that come of them.
 * A lane knows depth, what is held back (--min-time) or left out (--depth), and how a call that
 * ends in an unusual way is closed; which unit does what to a lane is the business of calls.c.
 */
#ifndef SONDE_RECORD_CALL_LANE_H
#define SONDE_RECORD_CALL_LANE_H

#include <stddef.h>

#include "base/buffer.h"
#include "base/vec.h"
#include "record/calls.h"
#include "record/stacks.h"

/* Flags of an open call: a patched entry, or a scope, or else a compiler hook; and the gaps before. */
#define CALL_PATCHED (UINT32_C(1) << 31)
#define CALL_SCOPE (UINT32_C(1) << 30) /* an annotated scope: `place` is its object */
#define CALL_GAPS (CALL_SCOPE - 1)

#define LANE_EVENTS 256	      /* handed out at a time */
#define LANE_EVENTS_SMALL 64  /* of a coroutine, of which there can be thousands */
#define LANE_THROWS 8	      /* exceptions under way at a time; more count as the last one */
#define LANE_SIGNALS 4	      /* stacks of signal handlers inside one another */
#define LANE_HELD_DETAILS 128 /* details kept of calls that are held back */
#define LANE_DETAIL_UNITS 11  /* with 256 bytes of stack */
#define DETAILS_AT_ONCE 128

/* The words of an event in memory: time, function, thread and kind, depth and detail. */
_Static_assert(sizeof(struct atf_index_event) == 32 &&
		       offsetof(struct atf_index_event, function_id) == 8 &&
		       offsetof(struct atf_index_event, thread_id) == 16 &&
		       offsetof(struct atf_index_event, event_kind) == 20 &&
		       offsetof(struct atf_index_event, call_depth) == 24 &&
		       offsetof(struct atf_index_event, detail_seq) == 28,
	       "events are written as four words");

/* One of the last two. */
static inline uint64_t event_word(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

/* What stands in a detail: that of a record, or the arguments of an annotation. */
struct call_detail {
	const struct shared_unit *unit;		/* or NULL */
	const struct call_arguments *arguments; /* or NULL */
};

struct held_detail {
	size_t depth; /* of the call; 0: none */
	struct shared_unit units[LANE_DETAIL_UNITS];
	uint8_t *bytes; /* arguments, instead of units */
	struct call_arguments arguments;
};

struct call_lane;

/* A zone that a stack is in, inside those before it. */
struct call_zone {
	uint64_t stack;	 /* it is left where the stack pointer is higher */
	uint64_t object; /* of the program, which lives as long */
	struct call_lane *lane;
	size_t base;	/* calls deeper than this are in it */
	bool on_signal; /* it began on the stack of a signal handler */
};

struct call_lane {
	uint32_t number;
	char *zone;			     /* name; NULL: it is that of a stack */
	SONDE_VEC(struct call_zone) zones;   /* this stack is in them now */
	SONDE_VEC(struct call_lane *) zoned; /* lanes of all zones that it ever was in */
	/* open[1] is the outermost call, open[depth] the innermost; open[0] lies above all. */
	struct open_call *open;
	size_t depth, capacity;

	/* Returns of calls this deep or less are exceptions; the greatest of the four below. */
	size_t mark;
	size_t exit_mark; /* pthread_exit */
	size_t throws[LANE_THROWS];
	uint32_t throw_count;

	/* Calls deeper than `base` are on the stack of a signal handler. */
	uint32_t signal_count;
	struct {
		uint64_t low, high;
		size_t base;
	} signals[LANE_SIGNALS];

	size_t written; /* calls this deep or less are in the output; kept only where not all are */
	struct held_detail *held;

	struct atf_index_event *events;
	struct atf_index_event *own; /* NULL: they are those of the options */
	uint32_t thread_id;
	size_t event_count, event_capacity;
	uint64_t handed_ns; /* time of the last event handed out */
	bool waiting;	    /* in calls->waiting */
};

/* A place in the code where an inlined function calls its hook. */
#define INLINED_PLACES 256

struct calls {
	struct calls_options options;
	struct calls_output output;
	const struct record_clock *clock;
	struct load_map *map;
	struct calls_counts counts;

	/* Stack addresses in (window_low, window_low + window_size] are those of `current`: the
	 * lane of the stack `home`, or of the zone that this is in. */
	struct call_lane *current, *home;
	uint64_t window_low, window_size;
	bool plain; /* every call is written at once */

	uint64_t last_ns, last_ticks;
	uint64_t gap_ns; /* when the last gap ended */
	uint32_t gaps;

	struct stacks stacks;
	SONDE_VEC(struct call_lane *) lanes;
	SONDE_VEC(struct call_lane *) waiting; /* lanes with events to hand out, beside `current` */
	uint64_t inlined[INLINED_PLACES];
	const struct shared_unit
		*sources[DETAILS_AT_ONCE]; /* of details, until they are given out */
	struct call_pieces *pieces;	   /* of long annotations; NULL: there was none */
	struct sonde_buffer bytes, packed; /* of the present annotation: as they came, and as
					      its event has them */
};

/* A unit, as far as it was looked into. */
struct call_unit {
	const struct shared_unit *unit;
	const struct shared_detail *detail; /* or NULL */
	uint64_t function;
	uint64_t ns;
	uint64_t function_id;			/* of a scope; 0: look it up */
	const struct call_arguments *arguments; /* of a scope, or NULL */
};

struct call_lane *call_lane_new(uint32_t number, const struct calls_options *options);
void call_lane_free(struct call_lane *lane);

/* Before an event is added: there is room for it. */
enum sonde_status call_lane_place(struct calls *calls, struct call_lane *lane,
				  struct sonde_error *err);

/* Before a run of so many units, each of which can open a call. */
void call_lane_make_room(struct call_lane *lane, size_t units);

/* Hands out what there is. */
enum sonde_status call_lane_flush(struct calls *calls, struct call_lane *lane,
				  struct sonde_error *err);

/* Opens a call. */
enum sonde_status call_lane_push(struct calls *calls, struct call_lane *lane,
				 const struct call_unit *unit, uint32_t flags,
				 struct sonde_error *err);

/* Adds an event that is no call, inside what is open. What is held back around it is written. */
enum sonde_status call_lane_event(struct calls *calls, struct call_lane *lane, uint32_t kind,
				  uint64_t function_id, uint64_t ns,
				  const struct call_arguments *arguments, struct sonde_error *err);

/* Puts in a call of the parent of a forked process; it is written at once. */
enum sonde_status call_lane_reopen(struct calls *calls, struct call_lane *lane,
				   const struct open_call *open, uint64_t ns,
				   struct sonde_error *err);

/* Closes the innermost call as its return says. */
enum sonde_status call_lane_return(struct calls *calls, struct call_lane *lane,
				   const struct call_unit *unit, struct sonde_error *err);

/*
 * Closes calls deeper than `depth` that ended without a word, innermost first: by exception now, or
 * unseen in the last gap.
 */
enum sonde_status call_lane_leave(struct calls *calls, struct call_lane *lane, size_t depth,
				  uint64_t ns, struct sonde_error *err);

/* Writes calls held back that have lasted long enough; `all`: the others too. */
enum sonde_status call_lane_write_held(struct calls *calls, struct call_lane *lane, uint64_t ns,
				       bool all, struct sonde_error *err);

/* An exception is on its way through all calls open now, until it is caught. */
void call_lane_throw(struct call_lane *lane);
void call_lane_catch(struct call_lane *lane);
void call_lane_exit(struct call_lane *lane);

/* Calls at this depth or less are on another stack than the innermost one. */
static inline size_t call_lane_base(const struct call_lane *lane)
{
	return lane->signal_count ? lane->signals[lane->signal_count - 1].base : 0;
}

/* The depth down to which calls of the innermost stack are above a stack address. */
size_t call_lane_alive(const struct call_lane *lane, uint64_t stack);

/* call_annotations.c: UNIT_SCOPE to UNIT_PIECE; and the event that UNIT_MARK is. */
enum sonde_status calls_annotate(struct calls *calls, enum unit_kind kind,
				 const struct call_unit *unit, struct sonde_error *err);
enum sonde_status calls_mark(struct calls *calls, const struct call_unit *unit, const char *text,
			     size_t size, struct sonde_error *err);
void calls_free_pieces(struct calls *calls);

/*
 * call_zones.c. enter: the stack `home` is where the thread is, at an address that is in none of
 * its zones above that: leaves those, and makes the lane of the innermost the current one. Gives
 * the address up to which it is. `left`: also zones that began in a signal handler.
 */
enum sonde_status calls_enter_home(struct calls *calls, struct call_lane *home, uint64_t stack,
				   uint64_t ns, uint64_t *high, struct sonde_error *err);
enum sonde_status calls_leave_zones(struct calls *calls, struct call_lane *home, size_t keep,
				    uint64_t ns, struct sonde_error *err);
enum sonde_status calls_zone(struct calls *calls, const struct annotation_site *site,
			     const struct call_unit *unit, struct sonde_error *err);
enum sonde_status calls_zone_end(struct calls *calls, const struct call_unit *unit,
				 struct sonde_error *err);
/* Something that concerns all calls which are open where the thread is. */
void calls_all_open(struct calls *calls, void (*how)(struct call_lane *lane));

/* call_stacks.c */

/* Adds a lane: with `piece` NULL the first one, of the thread's stack. */
enum sonde_status calls_add_lane(struct calls *calls, struct stack_piece *piece,
				 struct sonde_error *err);

/* Remembers to hand out the events of a lane that is not the current one. */
void calls_let_wait(struct calls *calls, struct call_lane *lane);

/*
 * Makes the lane of a stack address the current one. `create`: also where it has none yet. Gives
 * NULL where it has none.
 */
enum sonde_status calls_locate(struct calls *calls, uint64_t stack, bool create, uint64_t ns,
			       struct call_lane **lane, struct sonde_error *err);

/* UNIT_STACK. */
enum sonde_status calls_announce(struct calls *calls, const struct call_unit *unit,
				 struct sonde_error *err);

#endif
