/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bar on the terminal for work that takes long, and the way in which Ctrl-C ends such work:
 * the library is asked to stop, cleans up, and the command leaves with 128 + signal.
 */
#ifndef SONDE_CLI_PROGRESS_H
#define SONDE_CLI_PROGRESS_H

#include <sonde/progress.h>

#include "cli/cli.h"

struct cli_progress {
	struct sonde_progress progress; /* to hand to the library */
	const char *what;		/* "writing" */
	const char *unit;		/* "event"; NULL: bytes */
	bool visible;			/* there is somebody to look at it */
	bool drawn;
	uint64_t start_ns;
	uint64_t drawn_ns;
};

void cli_progress_begin(struct cli *cli, struct cli_progress *progress, const char *what,
			const char *unit);
/* Erases the bar; the signals do what they did before. */
void cli_progress_end(struct cli_progress *progress);

/* The signal that asked for an end, or 0. */
int cli_interrupted_by(void);

#endif
