/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a remap: remap.c, and remap_clocks.c where times move to another clock. */
#ifndef SONDE_MODEL_REMAP_PRIVATE_H
#define SONDE_MODEL_REMAP_PRIVATE_H

#include <pthread.h>

#include "base/map.h"
#include "model/remap.h"

struct sonde_remap {
	const struct sonde_definitions *source;
	struct sonde_definitions *target;
	const struct sonde_remap_request *request; /* while it is being made */
	pthread_mutex_t lock;			   /* of both growing maps */
	struct sonde_id_map functions;
	struct sonde_id_map event_types;
	/* By the source's id; SONDE_NONE for what is not in the target. */
	uint32_t *clocks;
	uint32_t *processes;
	uint32_t *tracks;
	uint32_t *modules;
	struct sonde_key_map late_modules; /* those defined after the start: under the lock */
	uint32_t *metrics;
	uint32_t clock_count, process_count, track_count, module_count, metric_count;
};

/* Copies the one clock that all times are moved to, and what ties it to the wall clock. */
enum sonde_status sonde_remap_unite_clocks(struct sonde_remap *remap, struct sonde_error *err);

#endif
