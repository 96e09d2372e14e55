/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the user asked of `sonde record`, and the plan for the recorder that is made of it once
 * everything was checked.
 */
#ifndef SONDE_CLI_RECORD_PLAN_H
#define SONDE_CLI_RECORD_PLAN_H

#include "base/vec.h"
#include "cli/command.h"
#include "cli/target.h"
#include "record/record.h"

/* The default of numbers whose 0 means something. */
#define RECORD_NOT_GIVEN UINT64_MAX

enum record_detail { RECORD_DETAIL_ALL, RECORD_DETAIL_NONE, RECORD_DETAIL_NOT_GIVEN };

/* Filled by the parser. */
struct record_arguments {
	struct cli_common common;
	struct cli_target target;
	const char *format;  /* NULL: as the name of the output says, or ATF */
	unsigned int detail; /* enum record_detail */
	uint64_t stack_bytes;
	struct cli_list functions, exclude, modules;
	uint64_t depth;
	uint64_t min_time_ns;
	bool notrace;
	struct cli_list triggers;
	uint64_t flight_ns, flight_size, pre_roll_ns, post_roll_ns, duration_ns;
	unsigned int on_full; /* enum shared_on_full */
	uint64_t ring_size;
	bool follow;
	struct cli_list environment;
	const char *folder;
	bool or_run;
};

/* Owns what `options` points to; zeroed is empty. */
struct record_plan {
	struct record_options options;
	SONDE_VEC(struct record_trigger) triggers;
	SONDE_VEC(char *) texts; /* of the triggers, taken apart */
	const char **lists[4];	 /* functions, exclude, modules, environment */
	char *output;		 /* where the name was chosen here */
	/* Of a format that is made of the session when the program has ended; NULL: it is ATF. */
	const char *format;
	const char *target;
	char *session; /* where it is recorded into meanwhile */
	bool replace_target;
	char *runtime;
};

/* Returns an exit code, after telling the user what is wrong. */
int record_plan_make(struct cli *cli, const struct record_arguments *arguments,
		     struct record_plan *plan);
void record_plan_release(struct record_plan *plan);

/* The triggers of the plan; part of the above. */
int record_plan_triggers(struct cli *cli, const struct record_arguments *arguments,
			 struct record_plan *plan);
bool record_plan_has_action(const struct record_plan *plan, enum record_trigger_action action);

/* "SIGSEGV" or "signal 34". */
#define RECORD_SIGNAL_SIZE 32
const char *record_signal_name(int number, char space[RECORD_SIGNAL_SIZE]);

#endif
