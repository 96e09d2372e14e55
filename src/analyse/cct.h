/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was spent where, over a whole recording: the tree of calling contexts with the sums of every
 * metric. Made of calls by one pass over each track, or of the values that a profile has; kept in the
 * user's cache. Report, flame, diff and query all look at this. Memory grows with contexts, never with events.
 */
#ifndef SONDE_ANALYSE_CCT_H
#define SONDE_ANALYSE_CCT_H

#include <sonde/pipeline.h>

struct cct_formula;

/* By context. `total` is what was spent in it and below, `self` what in it alone. */
struct cct_metric {
	const char *name; /* "REALTIME (sec)", "CALLS", "cycles" */
	const char *description;
	double ns;   /* nanoseconds in one: 1e9 of "(sec)"; 0: it is no time */
	bool hidden; /* not meant to be shown unless it is asked for */
	double *self, *total;
	/* Of a derived one: its values do not add up, see analyse/derive.h. NULL: it was measured. */
	struct cct_formula *formula;
};

/* What calls tell and samples do not; all durations are of single calls, those in recursion too. */
struct cct_calls {
	uint64_t count;
	uint64_t exceptions; /* of those: left by an exception */
	uint64_t unfinished; /* of those: the return is not there */
	uint64_t sum_ns;     /* of the durations: in recursion more than the time that passed */
	uint64_t min_ns, max_ns;
	double squares; /* sum of squared durations in ns */
};

/* How the total of one metric lies over the tracks (or the processes) that have some of it. */
struct cct_spread {
	uint32_t count; /* tracks with any; those without count as 0 in no number here */
	uint32_t
		max_place; /* the track (process) with the most; SONDE_NONE: tracks without process */
	double min, max, sum, squares;
};

struct cct_track {
	uint64_t event_count, sample_count, dropped_events;
	uint64_t first_ns, last_ns; /* both 0: no events and no samples */
	uint64_t busy_ns; /* within a call, or in samples that are not idle; 0 of a mere profile */
	double *totals;	  /* by metric: sums over the track */
};

/*
 * All ids in contexts are of `definitions`, which are the tree's own: functions and modules of all
 * processes that say the same are one there, processes and tracks are those of the recording, in its order.
 */
struct cct {
	const struct sonde_definitions *definitions;
	const struct sonde_context *contexts; /* [0] is the root, above the tracks */
	uint32_t context_count;
	/* By context: its function is on the path above it already, so its total is in another's. */
	const bool *recursive;
	/* [0] is what to show where nobody says what: of calls REALTIME, and [1] CALLS. */
	struct cct_metric *metrics;
	uint32_t metric_count;
	const struct cct_calls *calls; /* by context; NULL: a profile has no single calls */
	const struct cct_calls *function_calls; /* by function; NULL as well */
	const struct cct_track *tracks;		/* by track of definitions */
	/*
	 * Of metric `spread_metric`: by context and by function, over tracks, and over processes; NULL where
	 * it was not asked for. Totals of functions count recursion once.
	 */
	uint32_t spread_metric;
	const struct cct_spread *context_spread, *function_spread;
	const struct cct_spread *context_process_spread, *function_process_spread;
	uint64_t first_ns, last_ns; /* over all tracks */
	bool cached;		    /* it was not made now but found in the cache */
};

struct cct_options {
	const struct sonde_selection_spec *selection; /* NULL: everything */
	const char *metric;			      /* whose spread is wanted; NULL: the first */
	bool spread;	      /* of a profile it costs reading every value; of calls nothing */
	bool no_cache;	      /* neither look there nor keep it */
	unsigned int threads; /* 0: one a processor */
	const struct sonde_progress *progress; /* may be NULL; in events, or values */
};

/*
 * Calls are taken where there are any, else values, else (and with a time range) samples: the time from
 * each to the next. What a selection cannot mean for this recording is SONDE_ARGUMENT.
 */
enum sonde_status cct_build(struct sonde_recording *recording, const struct cct_options *options,
			    struct cct **cct, struct sonde_error *err);

/*
 * Several as one. Metrics of equal name are added, tracks and processes stay apart. `maps` (NULL, or
 * room for `count`) gets for each part the context of the whole for each of its contexts; free() them.
 * The parts are not changed and not needed any more. Functions match by name, base name of the module
 * and base name of the file, so that two builds of a program can be compared.
 */
enum sonde_status cct_merge(const struct cct *const *parts, size_t count, struct cct **whole,
			    uint32_t **maps, struct sonde_error *err);

/*
 * What modules and functions of one part are matched by, in place of their names: those of equal text are one,
 * and contexts that are functions say nothing else. NUL-terminated, by id in the part's definitions.
 */
struct cct_names {
	const char *const *modules, *const *functions;
};

/* The same with other names; `names` by part, or NULL. */
enum sonde_status cct_merge_as(const struct cct *const *parts, size_t count,
			       const struct cct_names *names, struct cct **whole, uint32_t **maps,
			       struct sonde_error *err);
void cct_free(struct cct *cct);

/* By name, or the part of it before a blank or a bracket, whatever the case; SONDE_NONE: none. */
uint32_t cct_find_metric(const struct cct *cct, const char *name);

/* The duration that a share (0 to 1) of a function's calls do not exceed, in ns, within 1 %. */
uint64_t cct_duration_quantile(const struct cct *cct, uint32_t function, double share);

/*
 * The context that a context belongs to when only functions count: itself where it is a function or an
 * entry, else the nearest above it that is one; 0 where there is none.
 */
uint32_t cct_function_context(const struct cct *cct, uint32_t context);

/*
 * A new metric by a formula over others: "ipc = instructions / cycles". Names with other characters than
 * letters, digits, '_' and '.' are in double quotes. It is worked out from self for self, and from total
 * for total. "@FILE": all of a YAML file as HPCToolkit's metrics are described in. In derive.c.
 */
enum sonde_status cct_derive(struct cct *cct, const char *formula, struct sonde_error *err);

#endif
