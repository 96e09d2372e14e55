/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `sonde report` share: its options, and what a view is made of. */
#ifndef SONDE_CLI_REPORT_H
#define SONDE_CLI_REPORT_H

#include "analyse/flat.h"
#include "cli/analysis.h"
#include "cli/report_view.h"

enum report_group {
	GROUP_FUNCTION,
	GROUP_MODULE,
	GROUP_FILE,
	GROUP_LINE,
	GROUP_LOOP,
	GROUP_TRACK,
	GROUP_PROCESS,
	GROUP_NOT_GIVEN,
};

struct report_options {
	struct cli_common common;
	struct cli_input input;
	struct cli_range range;
	struct cli_filter filter;
	struct cli_analysis analysis;
	/* views: at most one of these */
	bool tree, callers, hot_path, threads, imbalance, lines, modules, errors, critical_path;
	bool parts;	       /* of the critical path */
	unsigned int group_by; /* enum report_group */
	const char *sort;      /* NULL: as fits the view */
	const char *min;       /* a share or a value; NULL: as fits the view */
	uint64_t limit;	       /* 0: all; UINT64_MAX: as fits the view */
	uint64_t max_depth;    /* of rows in a tree; 0: all */
	const char *html;      /* a file, or NULL */
	bool json, csv;
};

/* One report on its way. */
struct report_build {
	struct cli *cli;
	const struct report_options *options;
	const struct cct *cct; /* NULL where recordings themselves are looked at */
	uint32_t metric;
	double whole; /* of the metric; 0: shares mean nothing */
	double least; /* share of the whole that a row must have */
	bool for_programs;
	const struct report *report; /* of which these are parts: */
	struct report_view *view;
	struct report_summary *summary;
	bool *shared_names; /* by track: another one is called the same */
	struct sonde_error err;
};

/* What was opened. */
struct report_sources {
	SONDE_VEC(struct report_source) list;
	bool failed; /* memory */
};

/* For cli_analysis_request.opened: the user is a struct report_sources. */
void report_add_source(void *user, const struct sonde_recording *recording);
/* Their paths are the operands; false where memory failed, which is told. */
bool report_name_sources(struct cli *cli, struct report_sources *sources);
/* What is known of a recording without reading events. */
void report_add_recording(struct report_summary *summary, const struct sonde_recording *recording);
/* All that the tree knows; false where memory failed. */
bool report_summarise(struct report_build *build, const struct report_sources *sources);

/* Each fills the view; false where it failed: `err` says why. */
typedef bool report_maker(struct report_build *build);
report_maker report_make_list; /* --group-by, but for tracks and processes */
report_maker report_make_tree;
report_maker report_make_hot_path;
report_maker report_make_callers;
report_maker report_make_tracks;
report_maker report_make_processes;
report_maker report_make_imbalance;

/* One that looks at a recording itself instead of its tree, and may put rows for several in turn. */
typedef bool report_searcher(struct report_build *build, struct sonde_recording *recording,
			     const struct sonde_run_options *options);
report_searcher report_find_errors;
report_searcher report_find_critical_path;

/*
 * Writes the page of --html: what was asked for, with `whole` the tree and the tracks too, and the flame graph.
 * Returns an exit code.
 */
int report_write_html(struct report_build *build, const struct report *report, bool whole);

/* The list that options ask for, --lines and --modules too. */
enum report_group report_group_of(const struct report_options *options);

static inline const struct cct_metric *report_metric(const struct report_build *build)
{
	return &build->cct->metrics[build->metric];
}

/* The share of the whole, 0 where that means nothing. */
double report_weight(const struct report_build *build, double value);

/* Whether a text fits one of --function; true where there are none. */
bool report_wants(const struct report_build *build, const char *name);

/* "self" and "total" of the metric: columns with keys that say whether it is a time. */
struct report_column report_self_column(const struct report_build *build, enum report_rank rank);
struct report_column report_total_column(const struct report_build *build, enum report_rank rank);

/* Both with their shares, of rows that are there for what they took themselves. */
void report_add_self_columns(struct report_build *build);

/*
 * Other metrics than the one that is measured by: of a profile all that are not hidden, of calls those that
 * were derived.
 */
bool report_is_extra(const struct report_build *build, uint32_t metric);
void report_add_extra_columns(struct report_build *build);
/* Of one context; absent where it has none. */
void report_put_extras_of_context(struct report_build *build, uint32_t context);
void report_put_extra(struct report_view *view, const struct cct_metric *metric, double total,
		      double self);

/* What to call a context, borrowed where that is possible, else put into `space`. */
const char *report_context_label(const struct cct *cct, uint32_t context, char *space, size_t size);
#define REPORT_LABEL_SIZE 4096
void report_put_label(struct report_view *view, const char *label, const char *space);

/* Fills shared_names; false where memory failed. */
bool report_find_shared_names(struct report_build *build);
/* What to call a track among others: where several have its name, with its id. */
void report_put_track(struct report_build *build, uint32_t track);

/* Columns and cells that a tree and a hot path have. */
void report_add_context_columns(struct report_build *build);
void report_put_context(struct report_build *build, uint32_t number, uint32_t depth);

#endif
