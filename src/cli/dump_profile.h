/* SPDX-License-Identifier: Apache-2.0 */
/* What `sonde dump` prints of a profile: the tree of contexts, values, or samples. */
#ifndef SONDE_CLI_DUMP_PROFILE_H
#define SONDE_CLI_DUMP_PROFILE_H

#include <sonde/pipeline.h>

#include "cli/dump.h"

struct dump_profile {
	struct cli *cli;
	struct sonde_recording *recording;
	const struct sonde_definitions *definitions;
	const struct sonde_context *contexts;
	uint32_t context_count;
	const struct sonde_selection_spec *spec; /* tracks, and times for samples */
	const char *metric;	/* name of the one to show; NULL: the first, or all */
	struct row_writer rows; /* with form NULL: text */
	enum dump_time time;
	uint64_t to_skip; /* lines */
	uint64_t left;
	uint64_t printed;
};

/* When the contexts are known; `form` NULL: text. */
void dump_profile_init(struct dump_profile *dump, const struct row_form *form, uint64_t start_ns);
void dump_profile_release(struct dump_profile *dump);

/* Each prints all it is asked for, or less after `left` lines. SONDE_OK or a failure. */
enum sonde_status dump_contexts(struct dump_profile *dump, struct sonde_error *err);
enum sonde_status dump_values(struct dump_profile *dump, struct sonde_error *err);
enum sonde_status dump_samples(struct dump_profile *dump, struct sonde_error *err);

/* What the three share. */

/* Whether the next line is to be printed; counts. *ends: it is the last one. */
bool dump_profile_line(struct dump_profile *dump, bool *ends);

/* A text from outside, made harmless; the name of a context likewise, or "". */
void dump_profile_text(struct dump_profile *dump, const char *text);
void dump_profile_label(struct dump_profile *dump, uint32_t context);

/* The tracks that are meant, counted from 0; SONDE_NONE past the last. */
uint32_t dump_profile_track(const struct dump_profile *dump, uint32_t number);

#endif
