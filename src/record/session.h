/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a recording while it runs: its processes, threads and tracks. All of it
 * belongs to the thread that reads the rings; the few things at the end are shared with the thread
 * that waits for the program.
 */
#ifndef SONDE_RECORD_SESSION_H
#define SONDE_RECORD_SESSION_H

#include <stdatomic.h>
#include <string.h>

#include "base/vec.h"
#include "formats/atf/atf_recorder.h"
#include "record/calls.h"
#include "record/flight.h"
#include "record/record.h"
#include "record/select.h"
#include "record/shared_memory.h"
#include "record/sites.h"

#define SESSION_NAME_SIZE 17 /* of a process or a thread, as the kernel keeps it */

struct session_mark {
	uint64_t time_ns;
	uint32_t thread; /* tid */
	char *text;
};

/* A function that a process called. */
struct session_function {
	uint64_t id;
	uint64_t address; /* of one in no module */
	uint32_t module;  /* number in its process's map; SONDE_NONE: in none */
};

struct recorded_process {
	uint32_t slot, pid;
	int pidfd; /* -1: none */
	bool alive;
	bool answered;	  /* it runs with the filter that it was given */
	bool refused;	  /* not to be recorded: --no-follow */
	bool closed;	  /* gone, and all its rings are read */
	uint32_t number;  /* in the recorder; SONDE_NONE before its first event */
	uint32_t threads; /* rings that are being read */
	char name[SESSION_NAME_SIZE];
	char *command_line; /* program and arguments, each with its NUL; NULL: unknown */
	size_t command_line_size;
	uint64_t start_ns, end_ns;
	uint64_t events;
	uint64_t missed_calls; /* as in struct shared_process */
	bool patchable;
	uint64_t patch_bases[16]; /* of the modules that the slot's patches belong to */
	struct load_map map;	  /* its `met` are gone once `functions` are collected */
	bool collected;
	SONDE_VEC(struct session_function) functions;
	SONDE_VEC(struct session_mark) marks;
	struct sites sites;			   /* of its annotations */
	uint64_t cut_arguments, refused_resources; /* as in struct shared_process */
	struct filter_table *filter;		   /* NULL: none */
	/* Calls that the thread which forked it had open, for its first thread. */
	struct open_call *inherited;
	size_t inherited_count;
};

/* One stack of a thread: a track once it has events in the files. */
struct lane {
	struct recorded_process *process;
	struct atf_recorder_thread *writer; /* NULL: no events in the files yet */
	uint32_t number;		    /* of its thread; 0: the thread's own stack */
	uint32_t serial;		    /* the thread's */
	uint32_t slot;			    /* thread_id of its events */
	uint32_t thread;		    /* tid */
	char name[SESSION_NAME_SIZE];
	uint64_t low, high; /* the stack */
	char *zone;	    /* its name; NULL: it is none */
	uint64_t written;   /* events in the files */
	uint64_t last_ns;   /* of the last of them */
	uint64_t synthetic_head, synthetic_tail;
	uint64_t dropped;
	uint64_t returns_left_out,
		returns_made_up; /* beside calls that were not seen, or not to end */
	bool ended;		 /* its thread is gone */
	struct flight_lane flight;
};

/* A look at one chunk of a ring: where the valid units end, and why. */
struct chunk_look {
	size_t end;
	size_t last; /* first unit of the last record */
	uint64_t events;
	bool finished; /* nothing more in this chunk */
	bool more;     /* more came meanwhile */
};

/* The thread that writes a ring. */
struct recorded_thread {
	struct session *session;
	struct recorded_process *process;
	uint32_t ring;
	uint32_t thread; /* tid */
	char name[SESSION_NAME_SIZE];
	char first_name[SESSION_NAME_SIZE]; /* when it took its ring */
	uint32_t serial;		    /* threads are numbered as they come */
	struct calls *calls;
	SONDE_VEC(struct lane *) lanes;
	uint64_t chunk; /* the next unit to read */
	size_t unit;
	uint64_t last_ticks;  /* of the last unit that was read */
	uint64_t progress_ns; /* when there was something to read */
	uint64_t events;      /* read so far, or told to be missing; where rings overwrite */
	uint32_t freed_full;  /* chunks freed since its ring was full, and nobody was woken */
	bool busy;	      /* it went on to another chunk since the last round */
	bool seen;	      /* there is something in the chunk that it is writing: */
	struct chunk_look look;
};

/* What was open when a process forked. */
struct fork_note {
	uint32_t ring;
	uint64_t number;
	struct recorded_process *process;
	struct open_call *open;
	size_t count;
	bool met; /* the child came */
};

#define SESSION_FORK_NOTES 1024

struct session {
	const struct record_options *options;
	struct record_result *result;
	struct shared_memory memory;
	struct record_clock clock;
	struct atf_recorder *recorder;
	struct selection selection;
	struct site_types types;
	uint32_t resources;	   /* kept so far */
	uint64_t annotations_lost; /* see struct calls_counts */
	struct flight flight;
	struct calls_options calls_options; /* with the events of whatever thread is being read */
	uint32_t child;			    /* pid of the program */

	SONDE_VEC(struct recorded_process *) processes; /* all that ever were */
	struct recorded_process **slots;
	SONDE_VEC(uint32_t) slots_dead; /* oldest first: closed, but not given back yet */
	struct recorded_thread **rings;
	SONDE_VEC(struct recorded_thread *) threads;  /* being read */
	SONDE_VEC(struct recorded_process *) written; /* by their number in the recorder */
	SONDE_VEC(struct lane *) tracks;	      /* by the number of their thread there */
	SONDE_VEC(struct shared_module) early;	      /* log entries of processes not met yet */
	struct fork_note forks[SESSION_FORK_NOTES];
	uint64_t fork_count;
	uint64_t log_stuck_ns;
	struct shared_unit *copy; /* of a chunk, with --on-full overwrite */

	uint32_t wake;	      /* control->wake when this round began */
	bool asked;	      /* it was raised since chunks that are being written were read */
	bool news;	      /* processes or threads came in this round */
	uint64_t idle_rounds; /* so many in a row brought nothing */
	uint64_t now_ns;      /* of this round */
	uint64_t polled_ns, named_ns, flowed_ns, searched_ns;
	uint64_t settled_ns;	  /* when atf_recorder_settle() was called last */
	uint64_t begun_ns;	  /* when chunks that are being written were read last */
	bool changed;		  /* what finish_define() writes; which is done again */
	uint64_t define_after_ns; /* not before this */
	bool silent;		  /* what the last search of /proc found */
	uint32_t serials;	  /* given to threads */
	uint64_t dropped_before;  /* of threads that are gone */
	uint64_t lost;		  /* events that could not be written */
	bool failed;		  /* nothing is written any more */
	bool no_barrier;	  /* a process does not take part in SHARED_BARRIER */

	/* From the thread that waits for the program to the one that reads the rings, */
	_Atomic uint32_t child_ended; /* it was reaped */
	_Atomic uint32_t stop;	      /* finish now */
	_Atomic uint32_t dump;	      /* a trigger fired */
	_Atomic uint32_t leave;	      /* nothing is left to do at all */
	/* and back. */
	_Atomic uint64_t events, details, dropped, bytes;
	_Atomic uint32_t writing;
	_Atomic uint32_t done; /* the session is finished */
};

/* One more line for the user; there is room for a few, more of them are not kept. */
void session_problem(struct session *session, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A failure in the middle: recording stops, the program runs on. Only the first is told. */
void session_fail(struct session *session, const struct sonde_error *err);

/* A name from shared memory, which may not end. */
static inline void session_copy_name(char target[SESSION_NAME_SIZE], const char *source)
{
	size_t length = strnlen(source, SESSION_NAME_SIZE - 1);

	memcpy(target, source, length);
	target[length] = '\0';
}

/*
 * Adds to a count that only the thread that reads the rings writes. Without a lock, which would wait
 * until all that was stored past the caches has arrived in memory.
 */
static inline void session_count(_Atomic uint64_t *count, uint64_t more)
{
	uint64_t before = atomic_load_explicit(count, memory_order_relaxed);

	atomic_store_explicit(count, before + more, memory_order_relaxed);
}

#endif
