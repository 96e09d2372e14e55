/* SPDX-License-Identifier: Apache-2.0 */
/* Findings for people (in full, or a line a kind) and for programs. */
#ifndef SONDE_CLI_FINDINGS_H
#define SONDE_CLI_FINDINGS_H

#include <sonde/diagnostics.h>

#include "base/json.h"
#include "cli/cli.h"

/* How many findings of each severity. */
struct cli_tally {
	uint64_t errors, warnings, notes;
};

struct cli_tally cli_tally_of(const struct sonde_diagnostics *diagnostics);

/* "1 error, 2 warnings, 0 notes" */
void cli_put_tally(struct sonde_buffer *out, const struct cli_tally *tally);
/* The same as three members. */
void cli_put_tally_json(struct sonde_json_writer *json, const struct cli_tally *tally);

/* "error", "warning", "note" in its colour, filled up to one width. */
void cli_put_severity(struct cli *cli, enum sonde_severity severity);

/*
 * Each finding with place, what was expected and what was found, by file; the advice once a kind.
 * Files inside `path` are named without it.
 */
void cli_put_findings(struct cli *cli, const struct sonde_diagnostics *diagnostics,
		      const char *path);

/* One line a kind with the number of findings, at most `most` lines, worst first. */
void cli_put_findings_briefly(struct cli *cli, const struct sonde_diagnostics *diagnostics,
			      size_t indent, size_t most);

/* A member "findings": an array of objects. */
void cli_put_findings_json(struct sonde_json_writer *json,
			   const struct sonde_diagnostics *diagnostics);

#endif
