/* SPDX-License-Identifier: Apache-2.0 */
/* What report, flame and diff have in common: recordings in, options that say what of them, one tree out. */
#ifndef SONDE_CLI_ANALYSIS_H
#define SONDE_CLI_ANALYSIS_H

#include "analyse/cct.h"
#include "cli/input.h"
#include "cli/select.h"

struct cli_analysis {
	const char *metric;	/* NULL: the first */
	struct cli_list derive; /* formulas of --derive */
	uint64_t threads;
	bool no_cache;
};

/* --metric, --derive, -j, --no-cache */
extern const struct cli_option cli_analysis_options[];

#define CLI_ANALYSIS_GROUP(type)                                                                   \
	{                                                                                          \
		.title = "Analysis", .options = cli_analysis_options,                              \
		.base = offsetof(type, analysis)                                                   \
	}

struct cli_analysis_request {
	const struct cli_input *input;
	const struct cli_range *range;	 /* or NULL */
	const struct cli_filter *filter; /* or NULL */
	const struct cli_analysis *analysis;
	bool spread;
	/* Called for each recording as soon as it is open; may be NULL. */
	void (*opened)(void *user, const struct sonde_recording *recording);
	void *user;
};

/*
 * Opens one recording and makes its tree, with a progress bar; derived metrics are in it. What fails is told.
 * Returns an exit code. `recording` (may be NULL) gets it open, else it is closed again.
 */
int cli_analyse(struct cli *cli, const char *path, const struct cli_analysis_request *request,
		struct cct **cct, struct sonde_recording **recording);

/* The same for several, as one tree. */
int cli_analyse_all(struct cli *cli, char *const *paths, size_t count,
		    const struct cli_analysis_request *request, struct cct **cct);

/* The metric that --metric says, or the first with any value; where there is none of that name it is told. */
int cli_find_metric(struct cli *cli, const struct cct *cct, const char *name, uint32_t *metric);

/* A value of a metric as people read it: "1.234 ms" of a time, "12,345", "1.5e+12". */
void cli_put_metric_value(struct sonde_buffer *out, const struct cct_metric *metric, double value);

#endif
