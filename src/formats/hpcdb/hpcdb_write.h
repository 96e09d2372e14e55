/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a whole database: meta.db, profile.db, cct.db, trace.db, metrics/default.yaml, src/. The
 * caller has the tree of contexts and the metrics; it is asked for the point values and samples of
 * each track, in any order and from several threads. Scopes, statistics and the transposition are
 * worked out here. Used by `prof` and by the sink of this format. Memory grows with contexts times
 * the metrics in use, not with tracks; the bytes depend on the input alone, not on threads or the
 * size of the team.
 */
#ifndef SONDE_HPCDB_WRITE_H
#define SONDE_HPCDB_WRITE_H

#include <sonde/progress.h>

#include <sonde/profile.h>

#include "base/team.h"
#include "base/vec.h"
#include "model/identity.h"

/* Scopes in the order of the files. */
enum hpcdb_scope {
	HPCDB_POINT,
	HPCDB_FUNCTION_SCOPE,
	HPCDB_LEX_AWARE,
	HPCDB_EXECUTION,
	HPCDB_SCOPE_COUNT,
};

/* Statistics over the tracks, as bits; SUM is what other programs show by default. */
enum {
	HPCDB_STATISTIC_SUM = 1 << 0,
	HPCDB_STATISTIC_MEAN = 1 << 1,	    /* needs sum and count */
	HPCDB_STATISTIC_DEVIATION = 1 << 2, /* and the sum of squares */
	HPCDB_STATISTIC_EXTREMA = 1 << 3,   /* min and max */
	HPCDB_STATISTIC_COUNT = 1 << 4,	    /* on how many tracks there is a value */
};

enum hpcdb_visibility { HPCDB_SHOWN, HPCDB_HIDDEN_BY_DEFAULT, HPCDB_INVISIBLE };

/* Something that was measured, or (with a formula) is worked out of such. */
struct hpcdb_metric {
	const char *name, *description;
	unsigned int scopes; /* bits 1 << enum hpcdb_scope; 0: all */
	enum hpcdb_visibility visibility;
	bool show_percent;
	const char *format;  /* as printf, "" for the usual */
	const char *formula; /* "" or NULL: measured. Else #n is metric n of this list */
};

struct hpcdb_track {
	const struct sonde_identity *identities;
	size_t identity_count;
	uint64_t sample_limit; /* it has no more samples than that; 0: not traced */
};

struct hpcdb_world {
	const char *title, *description;	     /* may be NULL */
	const struct sonde_definitions *definitions; /* of all ids in the contexts */
	const struct sonde_context *contexts;	     /* their number is their ctxId */
	uint32_t context_count;			     /* at least the root */
	const struct hpcdb_metric *metrics;
	uint32_t metric_count;
	const struct hpcdb_track *tracks; /* profile i + 1 */
	uint32_t track_count;
	const char *const *kind_names; /* of identities, NULL where a number has none */
	uint32_t kind_count;
};

/* What was measured in a context itself, by a metric without a formula. */
struct hpcdb_point {
	uint32_t context;
	uint32_t metric;
	double value;
};

struct hpcdb_points {
	SONDE_VEC(struct hpcdb_point) items; /* any order; equal context and metric add up */
};

/* Where the data of the tracks come from. Different tracks from different threads, each once. */
struct hpcdb_source {
	void *data;
	/* Begins with a track; *state is the source's own. */
	enum sonde_status (*open)(void *data, uint32_t track, void **state,
				  struct sonde_error *err);
	/* Its values; `points` comes empty, with room from earlier tracks. */
	enum sonde_status (*values)(void *state, struct hpcdb_points *points,
				    struct sonde_error *err);
	/*
	 * Its next samples, in the order of time; *count 0: no more. Contexts need not be listed.
	 */
	enum sonde_status (*samples)(void *state, struct sonde_sample *samples, size_t room,
				     size_t *count, struct sonde_error *err);
	void (*close)(void *state);
};

struct hpcdb_write_options {
	unsigned int statistics; /* bits of HPCDB_STATISTIC_*; 0: none at all */
	bool no_thread_values;	 /* the summary only: profile.db has no other profile with values */
	bool no_traces;
	bool copy_sources; /* what can be read of the source files goes to src/ */
	bool replace;
	unsigned int threads;
	struct sonde_team *team; /* all of it make this call with the same world */
	const struct sonde_progress *progress;
};

/* What was done, for the user's eyes. */
struct hpcdb_written {
	uint64_t values; /* in profile.db, the summary's among them */
	uint64_t samples;
	uint64_t sources_copied, sources_missing;
	uint64_t samples_out_of_order; /* that were put in their place */
	uint64_t names_mended;	       /* were not UTF-8: U+FFFD stands for each bad byte */
	uint64_t bytes;
};

/* Appears at `path` as a whole or not at all. */
enum sonde_status hpcdb_write(const char *path, const struct hpcdb_world *world,
			      const struct hpcdb_source *source,
			      const struct hpcdb_write_options *options,
			      struct hpcdb_written *written, struct sonde_error *err);

#endif
