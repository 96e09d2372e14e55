/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes events out of the units of one ring: follows the calls that are open on each stack of a
 * thread, gives every call and return its depth, and closes with an exception what was left by
 * longjmp, a C++ exception, pthread_exit or cancellation. Knows nothing of files and rings.
 *
 * Signal handlers, also those on a stack of their own, are calls inside whatever they
 * interrupted. A coroutine's stack has calls of its own, which end independently: each such stack
 * is a lane, a track of its own in the recording. Lane 0 is the thread's stack. What happens in a
 * zone of the program's annotations has a lane of its own, too.
 */
#ifndef SONDE_RECORD_CALLS_H
#define SONDE_RECORD_CALLS_H

#include <sonde/status.h>
#include <stdbool.h>

#include "formats/atf/atf_layout.h"
#include "record/clock.h"
#include "record/load_map.h"
#include "runtime/shared.h"

/* An open call. */
struct open_call {
	uint64_t stack; /* as in its unit */
	uint64_t place;
	uint64_t function; /* address */
	uint64_t function_id;
	uint64_t time_ns; /* when it began */
	uint64_t tail;	  /* the last word of its events: its depth, and no detail */
	uint32_t flags;	  /* private to calls.c: kind, written out or not (--min-time) */
};

struct calls_options {
	/*
	 * Room for events that wait for calls_flush(), borrowed; one for all threads will do, as
	 * long as each is flushed before another is converted. NULL: each has a little of its own.
	 */
	struct atf_index_event *events;
	size_t event_capacity;
	uint32_t max_depth;   /* calls deeper than this are left out; 0: no limit */
	uint64_t min_time_ns; /* calls shorter than this are left out, with all inside them */
};

/* A place in the program that annotates something. */
struct annotation_site {
	uint64_t address;
	uint64_t since;	      /* ticks: when it was told of */
	uint64_t function_id; /* of its event type, and of the function of a scope */
	uint32_t kind;	      /* enum sonde_annotate_kind */
	bool has_arguments;
	char *name;
	struct annotation_site *older; /* another one that was at this address before */
};

/* What an annotation has beyond its event. */
struct call_arguments {
	uint64_t extra;
	const uint8_t *bytes; /* packed as <sonde/arguments.h> says */
	size_t size;
};

/* Where events go. All hooks take the lane; an error ends the conversion and is handed back. */
struct calls_output {
	void *context;
	/* `count` events of one lane, in order. thread_id is what thread_id() gave, or 0, and
	 * detail_seq as details() left it. */
	enum sonde_status (*events)(void *context, uint32_t lane, struct atf_index_event *events,
				    size_t count, struct sonde_error *err);
	/* What stands in the next events of a lane; may be NULL. */
	uint32_t (*thread_id)(void *context, uint32_t lane);
	/*
	 * The details of `count` events, one each; the first of the events comes `ahead` events
	 * after the last that events() was given of this lane. They stand in the records that begin
	 * with `units`, all of one way to record and with as much of the stack. Sets
	 * detail_seq of the events, or leaves it at ATF_NO_LINK.
	 */
	enum sonde_status (*details)(void *context, uint32_t lane, struct atf_index_event *events,
				     const struct shared_unit *const *units, size_t count,
				     size_t ahead, struct sonde_error *err);
	/* A new lane, for a stack [low, high). Lane 0 exists from the start. */
	enum sonde_status (*lane)(void *context, uint32_t lane, uint64_t low, uint64_t high,
				  struct sonde_error *err);
	/* Likewise the arguments of one event. */
	enum sonde_status (*arguments)(void *context, uint32_t lane, struct atf_index_event *event,
				       const struct call_arguments *arguments, size_t ahead,
				       struct sonde_error *err);
	/* The site at an address at a moment, or NULL; address 0: of sonde_record_mark(). */
	const struct annotation_site *(*site)(void *context, uint64_t address, uint64_t ticks);
	/* The lane that lane() just told of is that of a zone. */
	enum sonde_status (*zone)(void *context, uint32_t lane, const char *name,
				  struct sonde_error *err);
	/* Bytes to be kept; gives the number of the resource. */
	enum sonde_status (*resource)(void *context, const char *name, const uint8_t *bytes,
				      size_t size, uint32_t *number, struct sonde_error *err);
	/* UNIT_MARK, UNIT_REQUEST, UNIT_FORK: told in the order of the ring. */
	enum sonde_status (*note)(void *context, enum unit_kind kind, uint64_t time_ns,
				  const struct shared_unit *unit, const char *text, size_t size,
				  struct sonde_error *err);
};

struct calls; /* of one thread */

/* What was left out or made up, for the summary. */
struct calls_counts {
	uint64_t calls, returns, exceptions; /* events given to the output */
	uint64_t short_calls;		     /* left out by min_time_ns */
	uint64_t deep_calls;		     /* left out by max_depth */
	uint64_t returns_without_call;	     /* left out: their call was not recorded */
	uint64_t returns_unseen;	     /* of `returns`: made up for what ended in a gap */
	uint64_t dropped;		     /* told by UNIT_GAP */
	uint64_t annotations;		     /* scopes that began, and events */
	uint64_t annotations_lost;	     /* of an unknown site, or not all of it came */
};

enum sonde_status calls_new(struct calls **calls, const struct calls_options *options,
			    const struct record_clock *clock, struct load_map *map,
			    uint64_t stack_low, uint64_t stack_high,
			    const struct calls_output *output, struct sonde_error *err);
void calls_free(struct calls *calls);

/*
 * Converts whole valid units (the caller has checked their laps; records with details are
 * complete). Events are handed out when there are many, and by calls_flush(), which must follow
 * before another thread is converted.
 */
enum sonde_status calls_convert(struct calls *calls, const struct shared_unit *units, size_t count,
				struct sonde_error *err);

/*
 * Converts what there is in a chunk, straight where a program is writing: units of this lap, up to
 * the first of another, after the time `until`, or UNIT_SKIP. `done` counts what was converted.
 */
enum sonde_status calls_convert_lap(struct calls *calls, const struct shared_unit *units,
				    size_t count, uint64_t lap, uint64_t until, size_t *done,
				    struct sonde_error *err);

/* The time of the last unit. */
uint64_t calls_last_ticks(const struct calls *calls);

/* Hands out all events of all lanes. */
enum sonde_status calls_flush(struct calls *calls, struct sonde_error *err);

/*
 * The thread of a forked child goes on inside the calls that were open in its parent: opens them
 * at `time_ns` and returns how many events that made. `parent` is as it was at UNIT_FORK:
 * take a copy there.
 */
enum sonde_status calls_copy_open(const struct calls *calls, struct open_call **open, size_t *count,
				  struct sonde_error *err);
enum sonde_status calls_reopen(struct calls *calls, const struct open_call *open, size_t count,
			       uint64_t time_ns, struct sonde_error *err);

/* The calls open on a lane, outermost first; borrowed until the next call. For snapshots. */
const struct open_call *calls_open(const struct calls *calls, uint32_t lane, size_t *count);

/*
 * The thread is gone. `left`: it ended while the process lived on (pthread_exit, cancellation), so
 * what is open was left by exception; else open calls stay open, as when a process exits.
 */
enum sonde_status calls_end(struct calls *calls, bool left, struct sonde_error *err);

const struct calls_counts *calls_counts(const struct calls *calls);

#endif
