/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records a program: starts it with the runtime preloaded, reads the rings of its threads while
 * it runs, and finishes an ATF session when it has ended. Prints nothing.
 */
#ifndef SONDE_RECORD_RECORD_H
#define SONDE_RECORD_RECORD_H

#include <sonde/status.h>
#include <stdbool.h>

#include "runtime/shared.h"

/* What makes a trigger fire, and what it does. */
enum record_trigger_kind { TRIGGER_SYMBOL, TRIGGER_CRASH, TRIGGER_SIGNAL, TRIGGER_TIME };
enum record_trigger_action {
	TRIGGER_RECORD_ON,
	TRIGGER_RECORD_OFF,
	TRIGGER_DETAIL_ON,
	TRIGGER_DETAIL_OFF,
	TRIGGER_DUMP,
};

struct record_trigger {
	enum record_trigger_kind kind;
	enum record_trigger_action action;
	const char *symbol; /* glob */
	int signal;	    /* sent to the launcher */
	uint64_t time_ns;   /* after the start */
};

struct record_options {
	const char *output;
	bool replace;
	const char *const *argv;	/* of the program; ends with NULL */
	const char *runtime;		/* path of libsonde-rt.so */
	const char *folder;		/* the program's working folder; NULL: ours */
	const char *const *environment; /* NAME=VALUE to set, NAME to unset; ends with NULL */
	unsigned int
		closed_files; /* bit n: standard file n was closed; it is closed in the program */

	bool detail;
	uint32_t stack_bytes;
	const char *const *functions, *const *exclude, *const *modules; /* globs; end with NULL */
	uint32_t max_depth;
	uint64_t min_time_ns;
	bool start_paused; /* --notrace: until a trigger or the program itself starts it */
	const struct record_trigger *triggers;
	size_t trigger_count;

	uint64_t flight_ns;   /* 0: no flight recorder by time */
	uint64_t flight_size; /* 0: none by size */
	uint64_t post_roll_ns;
	uint64_t duration_ns; /* 0: until the end */

	enum shared_on_full on_full;
	uint64_t ring_size; /* bytes; 0: what is usual */
	bool follow;
};

/* Told a few times a second while the program runs, from the thread that called record_run(). */
struct record_status {
	uint64_t elapsed_ns;
	uint64_t events, dropped, bytes;
	bool program_ended; /* only descendants are left */
	bool writing;	    /* false: flight recorder waiting, or paused */
};

struct record_observer {
	void *context;
	void (*status)(void *context, const struct record_status *status);
};

/* What can go wrong without stopping the program; each is one line for the user. */
struct record_problem {
	char text[512];
};

struct record_result {
	bool started;
	int wait_status; /* of the program, as from waitpid() */
	struct record_status total;
	uint32_t processes, threads; /* with events in the files */
	uint64_t details;
	uint64_t short_calls, deep_calls; /* left out as asked */
	uint64_t annotations;		  /* of the events: scopes that began, and all others */
	uint64_t cut_arguments;		  /* of annotations: texts and arrays that were too long */
	uint64_t functions;		  /* met */
	uint64_t unnamed_functions;	  /* of those, without a name */
	/* Functions with patchable entries that were wanted, and could not be patched. */
	uint64_t entries_too_short, entries_not_writable;
	uint64_t missed_calls; /* there was no memory to keep their return addresses */
	uint64_t waits;	       /* times a thread waited for room in its ring */
	uint32_t instrumented; /* processes that had hooks, patchable entries or annotations */
	uint32_t dumps;	       /* by the flight recorder */
	bool incomplete;       /* events are missing from the files that on_full does not explain */
	struct record_problem problems[8];
	size_t problem_count;
};

/*
 * Runs the program to its end. Fails before it is started where the output cannot be made, or the
 * program cannot be run or recorded (no such file, not executable, static without the runtime,
 * setuid); later trouble goes to result->problems, and the program runs on unrecorded. Signals
 * sent to us are handed on to the program.
 */
enum sonde_status record_run(const struct record_options *options,
			     const struct record_observer *observer, struct record_result *result,
			     struct sonde_error *err);

#endif
