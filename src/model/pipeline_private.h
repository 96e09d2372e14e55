/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of one run of a pipeline: pipeline.c prepares and ends it, pipeline_feed.c takes the
 * tracks through their filters, pipeline_profile.c sees to contexts, values and samples, and
 * pipeline_loss.c tells what could not be carried over.
 */
#ifndef SONDE_MODEL_PIPELINE_PRIVATE_H
#define SONDE_MODEL_PIPELINE_PRIVATE_H

#include <stdatomic.h>

#include <sonde/pipeline.h>

#include "base/pool.h"
#include "base/vec.h"
#include "model/derive.h"
#include "model/filters.h"
#include "model/recording.h"

/* One track of one source. */
struct piece {
	size_t source;
	uint32_t track;
};

struct source {
	struct sonde_recording *recording;
	struct sonde_remap *remap;		/* NULL: its ids are the target's */
	uint32_t first;				/* what its track 0 is called in a selection */
	const struct sonde_time_map *time_maps; /* by process; NULL: times stay */
	const char *label;			/* for the names of processes, or NULL */
	uint32_t track_count;
	/* What becomes of its lanes, apart from events as they are. */
	bool passes_contexts;
	bool passes_values;
	bool passes_samples;
	bool derives_values;		      /* its samples become values */
	bool derives_profile;		      /* its events become contexts, values and samples */
	struct sonde_derived_events *derived; /* its samples become events; else NULL */
	/* Of its contexts: their numbers in the target's tree; NULL: the same. */
	uint32_t *context_map;
	uint32_t context_count;
	bool *is_point; /* by metric: values of it are carried over */
	uint32_t metric_count;
};

struct run {
	struct sonde_sink *sink;
	unsigned int held; /* lanes that the sink holds and has a function for */
	struct sonde_selection_spec spec;
	struct sonde_loss *loss;
	unsigned int threads;
	const struct sonde_run_options *options;
	struct sonde_resume *resume; /* or NULL */
	struct source *sources;
	size_t source_count;
	bool *wanted; /* by track, counted on from source to source */
	uint32_t track_count;
	struct sonde_definitions *target;	     /* made anew, or NULL */
	const struct sonde_definitions *definitions; /* for the sink: those, or the source's own */
	SONDE_VEC(struct piece) pieces;
	struct sonde_meter meter;
	/* the target's contexts */
	const struct sonde_context *contexts;
	uint32_t context_count;
	struct sonde_context *own_contexts; /* a copy with the target's ids, or NULL */
	struct sonde_context_union *tree;   /* of several trees, or of what is derived; or NULL */
	struct sonde_derived_profile derived_profile;
	struct sonde_sample_metrics sample_metrics; /* of values derived from samples */
	/* for the result */
	_Atomic uint64_t events_read, events_fed, events_written, calls_opened, calls_closed,
		details, details_written, details_unlinked;
	_Atomic uint64_t samples_read, samples_written, values_written;
	_Atomic uint64_t samples_derived;     /* samples that became events */
	_Atomic uint64_t events_derived_from; /* events that became samples and values */
	_Atomic uint64_t not_calls;	      /* events that no context or sample is made of */
	_Atomic uint64_t exceptions;	      /* of calls that became samples */
	_Atomic uint64_t out_of_order;	      /* left out of the piece that they came in */
	uint64_t blobs_written;
};

static inline bool sonde_run_cuts(const struct run *run)
{
	return sonde_cut_is_needed(&run->spec);
}

static inline bool sonde_run_takes_all(const struct run *run)
{
	return sonde_passes_every_event(&run->spec);
}

static inline bool sonde_run_holds(const struct run *run, enum sonde_lane lane)
{
	return run->held & lane;
}

/* Of a source with maps: that of a track. A track of no process goes with the first one. */
const struct sonde_time_map *sonde_source_time_map(const struct source *source, uint32_t track);

/* The end of a chain: counts, and hands over to the sink. */
struct tally {
	struct sonde_sink base;
	struct run *run;
	bool derives_profile;
	uint64_t detail_count; /* that the source's track has */
	uint64_t detail_end;   /* a link to this number or beyond leads nowhere */
	uint64_t written;
	uint64_t opened;
	uint64_t closed;
	uint64_t links;	   /* events that have a detail, or should */
	uint64_t details;  /* those whose detail exists */
	uint64_t counters; /* a detail may be where their value came from */
	uint64_t unread;   /* links whose detail the sink could not get */
	uint64_t samples, values;
	uint64_t not_calls, exceptions;
	unsigned int kinds;  /* of events that the target holds */
	uint64_t not_held;   /* events of other kinds, */
	uint64_t links_lost; /* and their details */
};

/* pipeline_feed.c: one track. The first run of a derivation, and the one that feeds the sink. */
enum sonde_status sonde_run_gather(void *user, size_t number, struct sonde_error *err);
enum sonde_status sonde_run_piece(void *user, size_t number, struct sonde_error *err);

/* pipeline_profile.c */
/* Decides what becomes of the lanes; before definitions are built, which may depend on it. */
enum sonde_status sonde_run_plan(struct run *run, struct sonde_error *err);
/* Defines in the target what is derived: metrics, and names of entries. */
enum sonde_status sonde_run_define_derived(struct run *run, struct sonde_error *err);
/* Makes the tree of the target and hands it over. */
enum sonde_status sonde_run_feed_contexts(struct run *run, struct sonde_error *err);
/* Samples and values of a track that are handed on as they are. */
enum sonde_status sonde_run_feed_profile(struct run *run, const struct piece *piece,
					 struct tally *tally, struct sonde_error *err);
void sonde_run_release_profile(struct run *run);

/* pipeline_loss.c: what all is lost, after everything was fed. */
enum sonde_status sonde_run_count_loss(struct run *run, struct sonde_error *err);

/* pipeline_facts.c: what the target does not hold of definitions. */
enum sonde_status sonde_run_count_facts(struct run *run, struct sonde_error *err);

/* How much there is in a lane of a source, as far as that can be told; at least 1. */
uint64_t sonde_run_count_lane(struct sonde_recording *recording, unsigned int lane);

#endif
