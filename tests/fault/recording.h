/* SPDX-License-Identifier: Apache-2.0 */
/* What is tried with recordings of any format while calls fail: hooks of a struct fault_case. */
#ifndef SONDE_TESTS_FAULT_RECORDING_H
#define SONDE_TESTS_FAULT_RECORDING_H

#include <sonde/sonde.h>

/* The user of the hooks. */
struct fault_world {
	char input[512];
	char output[80];    /* "out" in the scratch folder */
	const char *format; /* to convert to */
	const char *style;
	enum sonde_severity none_of; /* an output has no such findings, nor worse ones */
};

/* Every event, with its detail, and every blob. */
enum sonde_status run_walk(void *user, struct sonde_error *err);
enum sonde_status run_check(void *user, struct sonde_error *err);
enum sonde_status run_recover(void *user, struct sonde_error *err);
enum sonde_status run_convert(void *user, struct sonde_error *err);

/* The output, and whatever was begun beside it. */
unsigned int count_outputs(void);

/*
 * Before a run that writes, and after it: no output where it failed, and nothing half done beside
 * it.
 */
void remove_output(void *user);
void expect_whole_or_nothing(void *user, enum sonde_status status, const struct sonde_error *err);

/* A run that writes, with every kind of fault; each kind has more than so many places to fail at. */
void try_writing(struct fault_world *world,
		 enum sonde_status (*run)(void *user, struct sonde_error *err),
		 unsigned int allocations, unsigned int inputs, unsigned int outputs);

#endif
