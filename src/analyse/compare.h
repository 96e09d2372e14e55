/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two sets of runs side by side: what was spent in each function (module, file, line, calling context) in every
 * run, the means of both sides, and whether they differ by more than chance. Shows nothing itself.
 */
#ifndef SONDE_ANALYSE_COMPARE_H
#define SONDE_ANALYSE_COMPARE_H

#include "analyse/flat.h"
#include "analyse/statistics.h"

enum compare_by {
	COMPARE_FUNCTION = FLAT_FUNCTION,
	COMPARE_MODULE = FLAT_MODULE,
	COMPARE_FILE = FLAT_FILE,
	COMPARE_LINE = FLAT_LINE,
	COMPARE_LOOP = FLAT_LOOP,
	COMPARE_CONTEXT, /* paths of functions: loops, lines and instructions are in theirs */
};

struct compare_options {
	enum compare_by by;
	const char *metric;  /* NULL: the first that all have */
	double level;	     /* how often chance may make a change where there is none: 0.01 */
	double least_share;  /* of the whole: below it a row is small: not tested */
	double least_change; /* relative: below it no change is significant, however certain */
	bool raw;	     /* leave the common speed of runs in */
};

/* Means over the runs of a side. */
struct compare_means {
	double before, after;
};

enum compare_presence { COMPARE_BOTH, COMPARE_APPEARED, COMPARE_VANISHED };

struct compare_row {
	struct flat_row place; /* key, line and context in the whole tree; the rest is 0 */
	struct compare_means self, total; /* at the speed of the runs before */
	struct compare_means calls;
	enum compare_presence presence;
	bool small;
	bool tested;
	bool significant;
	double p;	   /* of the values of `self`; 1 where not tested */
	double adjusted_p; /* for the number of tests */
	/* By run, as measured. In comparison.values. */
	size_t self_runs, total_runs, call_runs;
};

/* How runs differed in speed as a whole: a busy machine slows all functions alike. */
struct compare_speed {
	bool known; /* else all are 0: too few functions are in all runs, or no time is compared */
	double *logs;  /* by run; those before have a mean of 0 */
	double change; /* relative: 0.02 where the runs after were 2 % slower */
	double p;
};

struct comparison {
	struct cct *whole; /* all runs as one; owned */
	enum compare_by by;
	size_t run_count, before_count; /* the runs before come first */
	const char *metric_name;	/* in `whole`; NULL: nothing was recorded */
	const struct cct_metric *metric;
	SONDE_VEC(struct compare_row) rows; /* in no particular order */
	SONDE_VEC(double) values;
	/* Of rows by context: the row of each context of the whole; SONDE_NONE: above all calls. Owned. */
	uint32_t *row_of_context;
	struct compare_row all; /* the whole; self and total are the same, and not adjusted */
	struct compare_speed speed;
	struct statistics_prior prior;
	bool has_calls;	    /* all runs tell how often something was called; else all calls are 0 */
	bool can_test;	    /* there are two runs on each side */
	double least_share; /* as it was asked for */
	size_t tested_count, significant_count, small_count;
};

/*
 * `trees` has those before first. They are not changed and not needed any more. Where they have no metric in
 * common: SONDE_ARGUMENT.
 */
enum sonde_status compare_make(struct comparison *comparison, const struct cct *const *trees,
			       size_t count, size_t before_count,
			       const struct compare_options *options, struct sonde_error *err);
void compare_release(struct comparison *comparison);

/* By run. */
static inline const double *compare_runs(const struct comparison *comparison, size_t place)
{
	return comparison->values.items + place;
}

/* The relative change: 0.05 of 5 %; INFINITY of what was not there before. */
double compare_change(const struct compare_means *means);

/* What to call a row on a screen; of a context only its function. */
const char *compare_label(const struct comparison *comparison, const struct compare_row *row,
			  char *space, size_t size);

/*
 * The share of what a run spent that is in functions which another run has too: runs of one program have
 * most in common. Of rows by function; 1 where nothing was spent.
 */
double compare_likeness(const struct comparison *comparison, size_t spender, size_t owner);

/* What two trees that should be the same do not agree about. */
enum compare_difference_kind {
	COMPARE_CONTEXT_MISSING, /* `side` does not have it */
	COMPARE_METRIC_MISSING,
	COMPARE_CALLS_DIFFER, /* counts, exceptions, or calls that did not return */
	COMPARE_SELF_DIFFERS,
};

struct compare_difference {
	enum compare_difference_kind kind;
	unsigned int side;  /* that lacks it */
	uint32_t context;   /* in the whole */
	const char *metric; /* borrowed from the whole */
	double values[2];
};

struct compare_exactly {
	struct cct *whole; /* owned */
	uint64_t count;
	SONDE_VEC(struct compare_difference)
	first; /* at most `most` of them: kind by kind, in the order of contexts */
};

/* Same contexts, same calls, same values, but for the rounding of numbers with a fraction. */
enum sonde_status compare_exactly(struct compare_exactly *exactly, const struct cct *const trees[2],
				  size_t most, struct sonde_error *err);
void compare_exactly_release(struct compare_exactly *exactly);

#endif
