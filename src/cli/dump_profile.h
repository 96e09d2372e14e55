/* SPDX-License-Identifier: Apache-2.0 */
/* What `sonde dump` prints of a profile: the tree of contexts, values, or samples. */
#ifndef SONDE_CLI_DUMP_PROFILE_H
#define SONDE_CLI_DUMP_PROFILE_H

#include <sonde/pipeline.h>

#include "cli/dump.h"

enum dump_profile_form { DUMP_PROFILE_TEXT, DUMP_PROFILE_JSON, DUMP_PROFILE_CSV };

struct dump_profile {
	struct cli *cli;
	struct sonde_recording *recording;
	const struct sonde_definitions *definitions;
	const struct sonde_context *contexts;
	uint32_t context_count;
	const struct sonde_selection_spec *spec; /* tracks, and times for samples */
	const char *metric; /* name of the one to show; NULL: the first, or all */
	enum dump_profile_form form;
	enum dump_time time;
	uint64_t start_ns; /* of the recording */
	uint64_t to_skip;  /* lines */
	uint64_t left;
	uint64_t printed;
};

/* Each prints all it is asked for, or less after `left` lines. SONDE_OK or a failure. */
enum sonde_status dump_contexts(struct dump_profile *dump, struct sonde_error *err);
enum sonde_status dump_values(struct dump_profile *dump, struct sonde_error *err);
enum sonde_status dump_samples(struct dump_profile *dump, struct sonde_error *err);

/* What the three share. */

/* Whether the next line is to be printed; counts. *ends: it is the last one. */
bool dump_profile_line(struct dump_profile *dump, bool *ends);

/* A text from outside in the way of the form; in JSON with quotes. */
void dump_profile_text(struct dump_profile *dump, const char *text);

/* A value with all its digits; what is not finite is null in JSON. */
void dump_profile_number(struct dump_profile *dump, double value);

/* The name of a context, or "". */
void dump_profile_label(struct dump_profile *dump, uint32_t context);

/* The tracks that are meant, counted from 0; SONDE_NONE past the last. */
uint32_t dump_profile_track(const struct dump_profile *dump, uint32_t number);

/* The name, scope and statistic of a metric; "" where there is none. */
const char *dump_metric_name(const struct dump_profile *dump, uint32_t metric);
const char *dump_metric_scope(const struct dump_profile *dump, uint32_t metric);
const char *dump_metric_statistic(const struct dump_profile *dump, uint32_t metric);

#endif
