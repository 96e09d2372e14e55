/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Things that are costly to make and used by one thread at a time: who needs one takes a spare one, and
 * gives it back. There are never more than were in use at once.
 */
#ifndef SONDE_BASE_SPARES_H
#define SONDE_BASE_SPARES_H

#include <pthread.h>

#include "base/vec.h"

struct sonde_spares {
	pthread_mutex_t lock;
	SONDE_VEC(void *) items;
};

/* False where the system refuses. */
bool sonde_spares_init(struct sonde_spares *spares);
/* After the owner took all out and freed them. */
void sonde_spares_release(struct sonde_spares *spares);

/* NULL: there is none, make one. */
void *sonde_spares_take(struct sonde_spares *spares);
/* False where memory failed: it stays the caller's. */
bool sonde_spares_give(struct sonde_spares *spares, void *item);

#endif
