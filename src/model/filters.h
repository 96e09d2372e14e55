/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filters of a pipeline. Each is a sink that feeds a sink, works on one track of one source,
 * and gets any number of `events` and one `track_end`; `begin` and `finish` are the business of
 * the pipeline. A filter does not own the sink that it feeds. The order is cut, select, shift,
 * renumber: the first two know the source's ids and times, and cut must see all calls to know which are
 * open. Samples
 * and values that are carried over as they are do not pass through filters: pipeline_profile.c.
 */
#ifndef SONDE_MODEL_FILTERS_H
#define SONDE_MODEL_FILTERS_H

#include <sonde/pipeline.h>

#include "model/remap.h"
#include "model/resume.h"

/* The first_index of a batch of events that no source has: cut made them. */
#define SONDE_NO_INDEX UINT64_MAX

/* Events that a filter writes anew are handed on in batches of this many. */
#define SONDE_FILTER_BATCH 1024

/*
 * Passes the events from from_ns up to, not including, to_ns (0: no end). The calls open at
 * from_ns are opened again there, outermost first; those open at to_ns are closed there, innermost
 * first, unless the track ended before; both marked SONDE_EVENT_SYNTHETIC and without details.
 */
enum sonde_status sonde_cut_new(uint64_t from_ns, uint64_t to_ns, struct sonde_sink *next,
				struct sonde_sink **sink, struct sonde_error *err);

/*
 * Makes a cut go on from where the piece before it ended, and say in *end where it ends itself: the
 * cursor starts at the index of *start. Both are borrowed, and lie apart. Events from before the piece
 * that come now are out of order; they are left out and counted, unless there is no place for it.
 */
enum sonde_status sonde_cut_resume(struct sonde_sink *sink, const struct sonde_resume_point *start,
				   struct sonde_resume_point *end, _Atomic uint64_t *out_of_order,
				   struct sonde_error *err);

/* The track went beyond the piece, and *end is filled in: nothing more need come. */
bool sonde_cut_is_over(const struct sonde_sink *sink);

/*
 * Passes the events whose kind, function and depth are wanted. A call and what leaves it stay or
 * go together. Where calls go by function or depth and the kinds wanted include all of call,
 * return and exception, depths are counted anew over the calls that stay. Times and tracks of the
 * specification are not looked at.
 */
enum sonde_status sonde_select_new(const struct sonde_selection_spec *spec,
				   const struct sonde_definitions *definitions,
				   struct sonde_sink *next, struct sonde_sink **sink,
				   struct sonde_error *err);

/* The specification asks for what sonde_select_new() does. */
bool sonde_select_is_needed(const struct sonde_selection_spec *spec);

/* The specification asks for what sonde_cut_new() does. */
static inline bool sonde_cut_is_needed(const struct sonde_selection_spec *spec)
{
	return spec->from_ns || spec->to_ns;
}

/* Nothing but tracks is selected: their events pass as they are. */
static inline bool sonde_passes_every_event(const struct sonde_selection_spec *spec)
{
	return !sonde_cut_is_needed(spec) && !sonde_select_is_needed(spec);
}

/* Moves the times of a track, also those in details. The map is copied. */
enum sonde_status sonde_shift_new(const struct sonde_time_map *map, struct sonde_sink *next,
				  struct sonde_sink **sink, struct sonde_error *err);

/* Gives one track of a source its ids in the target, also in details. */
enum sonde_status sonde_renumber_new(struct sonde_remap *remap, uint32_t track,
				     struct sonde_sink *next, struct sonde_sink **sink,
				     struct sonde_error *err);

#endif
