/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `sonde dump` prints of events. CSV and JSON are rows as formats write them (formats/rows/rows.h);
 * text for people is here.
 */
#ifndef SONDE_CLI_DUMP_H
#define SONDE_CLI_DUMP_H

#include <sonde/recording.h>

#include "cli/cli.h"
#include "formats/rows/rows.h"

enum dump_time { DUMP_TIME_RELATIVE, DUMP_TIME_ABSOLUTE, DUMP_TIME_HUMAN };

struct dump {
	struct cli *cli;
	struct row_writer rows; /* with form NULL: text */
	enum dump_time time;
	bool with_tracks; /* there is more than one */
	uint64_t end_ns;
	unsigned int time_width; /* digits before the point */
	unsigned int line_width; /* columns of the terminal; 0: any */
};

/* Text: before the first event, and one event with what comes with it. */
void dump_text_begin(struct dump *dump);
void dump_text_event(struct dump *dump, const struct sonde_event *event,
		     const struct row_extras *extras);

#endif
