/* SPDX-License-Identifier: Apache-2.0 */
/* What `sonde record` says: a line while the program runs, a summary when it has ended. */
#ifndef SONDE_CLI_RECORD_REPORT_H
#define SONDE_CLI_RECORD_REPORT_H

#include "cli/cli.h"
#include "record/record.h"

/* The line on the terminal; `observer` is for record_run(). */
struct record_line {
	struct record_observer observer;
	bool visible;
	bool drawn;
	bool colour;
	uint64_t drawn_ns;
	uint64_t drawn_events;
};

/*
 * The line is drawn where standard error is a terminal and standard output is none, so that it
 * does not mix with what the program shows; with --verbose also where both are.
 */
void record_line_begin(struct cli *cli, struct record_line *line);
void record_line_end(struct record_line *line);

/* On standard error; with --quiet only what is missing from the recording. */
void record_report(struct cli *cli, const struct record_options *options,
		   const struct record_result *result);

#endif
