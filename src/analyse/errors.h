/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong in a recording: calls that were left by an exception, grouped by function, type and
 * message. One pass over what is selected; memory grows with groups, and those are limited.
 */
#ifndef SONDE_ANALYSE_ERRORS_H
#define SONDE_ANALYSE_ERRORS_H

#include <sonde/pipeline.h>

#define ERRORS_GROUP_LIMIT 20000 /* different messages; all others are counted by function */
#define ERRORS_TEXT_LIMIT 1000	 /* bytes of a type or a message that are kept, and compared */
#define ERRORS_STACK_LIMIT 1000	 /* bytes of a stack */
#define ERRORS_PATH_LIMIT 64	 /* callers, the innermost */

struct error_group {
	const char *function;	    /* its label */
	const char *type, *message; /* "": the recording does not say */
	bool is_rest;		    /* of all messages that were too many to be kept */
	uint64_t count;
	uint64_t passed_on;    /* of those: it came from a call within, and was not caught there */
	uint64_t calls;	       /* of the function, all of them */
	uint64_t failed_calls; /* of those: left by an exception, any */
	uint64_t first_ns, last_ns;
	/* Of the first one: where it happened, and how it came there, outermost first, itself last. */
	const char *track; /* label */
	const char *const *path;
	uint32_t path_count;
	uint32_t path_cut; /* outer callers that are not in it */
	const char *stack; /* as it was recorded, maybe JSON; "": none */
};

struct errors {
	struct error_group *groups; /* the most frequent first */
	uint32_t group_count;
	uint64_t exceptions; /* all of them */
	uint64_t calls, failed_calls;
	struct errors_texts *texts; /* owns what groups point to */
};

/* Zeroed *errors on failure. A recording without events gives no groups. */
enum sonde_status errors_find(struct errors *errors, struct sonde_recording *recording,
			      const struct sonde_run_options *options, struct sonde_error *err);
void errors_release(struct errors *errors);

#endif
