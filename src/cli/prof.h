/* SPDX-License-Identifier: Apache-2.0 */
/* What `sonde prof` was asked and what it tells: its options, its summary, its report. */
#ifndef SONDE_CLI_PROF_H
#define SONDE_CLI_PROF_H

#include "analyse/prof.h"
#include "cli/target.h"

struct cli_prof_options {
	struct cli_common common;
	struct cli_target target;
	bool dry_run;
	uint64_t threads;
	unsigned int statistics; /* bits of the choices */
	struct cli_list structs;
	bool ignore_structs, ignore_binaries;
	uint64_t dwarf_limit;
	struct cli_list replacements; /* "OLD=NEW" */
	const char *title;
	bool no_thread_values, no_traces, sources;
	struct cli_list only;
	const char *report;
};

/* The summary on standard output. */
void cli_prof_put_summary(struct cli *cli, const struct cli_prof_options *options,
			  const struct sonde_prof_report *report);

/* What was refused and why; also where nothing could be merged. */
void cli_prof_put_refusals(struct cli *cli, const struct sonde_prof_report *report);

/* All of it as JSON. */
void cli_prof_put_json(struct sonde_buffer *out, struct cli *cli,
		       const struct cli_prof_options *options,
		       const struct sonde_prof_report *report, bool written);

#endif
