/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second pass: each profile is read again when its values are wanted, and its nodes are looked up in
 * the tree of all. Nothing of a profile is kept in between, however many there are.
 */
#ifndef SONDE_ANALYSE_PROF_SOURCE_H
#define SONDE_ANALYSE_PROF_SOURCE_H

#include <pthread.h>
#include <stdatomic.h>

#include "analyse/prof_contexts.h"
#include "analyse/prof_metrics.h"

struct prof_reader;

/* Fill in what is borrowed; the rest is zero. */
struct prof_source {
	const struct prof_inputs *inputs;
	const struct sonde_prof_options *options;
	const struct prof_union *all;
	const struct prof_contexts *contexts;
	const struct prof_metrics *metrics;
	const struct prof_track *tracks; /* in the order in which they are written */
	uint32_t track_count;
	_Atomic uint64_t samples_unknown;
	pthread_mutex_t lock;	  /* over `idle` */
	struct prof_reader *idle; /* readers that wait for a track, with their memory */
};

/* What hpcdb_write() asks; `source` must live as long. */
struct hpcdb_source prof_source_of(struct prof_source *source);
void prof_source_release(struct prof_source *source);

#endif
