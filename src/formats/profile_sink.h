/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What writers of profiles have in common: they are fed contexts and values, from any number of threads, and
 * can write only when all of it is there. Values wait in a file without a name, in the order of
 * tracks, so that what is written does not depend on who came first, and memory grows with contexts only.
 */
#ifndef SONDE_FORMATS_PROFILE_SINK_H
#define SONDE_FORMATS_PROFILE_SINK_H

#include <pthread.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/parts.h"
#include "formats/format.h"

/* One value of a track, as it waits. */
struct profile_point {
	uint32_t context;
	uint32_t metric; /* a number in `metrics` of the sink */
	double value;	 /* finite, and not 0 */
};

/* A metric of scope "point". Texts are borrowed from the definitions. */
struct profile_metric {
	const char *name, *unit, *description;
	double ns; /* nanoseconds in one; 0: it is no time */
	bool hidden;
	double sum;	/* over all contexts and tracks */
	uint64_t count; /* of values */
};

/* First member of every such sink. */
struct profile_sink {
	struct sonde_sink base;
	/* Writes all to `output`, and counts what is lost by that. */
	enum sonde_status (*write)(struct profile_sink *sink, struct sonde_error *err);
	struct sonde_loss *loss;
	char *style; /* or NULL */
	struct sonde_new_file file;
	const struct sonde_definitions *definitions;
	uint32_t track_count;
	const struct sonde_context *contexts; /* [0] is the root: there is at least that */
	uint32_t context_count;
	struct profile_metric *metrics;
	uint32_t metric_count;
	uint32_t *metric_numbers;  /* by metric of the definitions: of `metrics`, or SONDE_NONE */
	uint32_t definition_count; /* of those */
	uint64_t not_numbers;	   /* values that are not finite: left out */
	struct sonde_output spool;
	struct sonde_parts *parts;
	struct sonde_mapped_file spooled;
	pthread_mutex_t lock; /* of the metrics and not_numbers */
};

/* A sink that is `write` and otherwise the same for all. */
enum sonde_status profile_sink_create(const char *path, const struct sonde_create_options *options,
				      enum sonde_status (*write)(struct profile_sink *sink,
								 struct sonde_error *err),
				      struct sonde_sink **sink, struct sonde_error *err);

/* For a write: puts `text` into the output and empties it, where it has grown to `enough` bytes. */
enum sonde_status profile_sink_flush(struct profile_sink *sink, struct sonde_buffer *text,
				     size_t enough, struct sonde_error *err);

/* For a write: the values of a track, in the order of contexts. */
const struct profile_point *profile_sink_points(const struct profile_sink *sink, uint32_t track,
						size_t *count);

/* What all tracks have of a metric, or (track not SONDE_NONE) one has, by context; free() it. */
double *profile_sink_sums(const struct profile_sink *sink, uint32_t track, uint32_t metric,
			  struct sonde_error *err);

/*
 * The metric that a style asks for ("calls", "metric=NAME"), else the one that report and flame show first; SONDE_NONE
 * where there are none at all. SONDE_ARGUMENT, and which there are, where there is no such one.
 */
enum sonde_status profile_sink_choose(const struct profile_sink *sink, uint32_t *metric,
				      struct sonde_error *err);

/* The metric of calls; SONDE_NONE where nobody counted any. */
uint32_t profile_sink_calls(const struct profile_sink *sink);

#endif
