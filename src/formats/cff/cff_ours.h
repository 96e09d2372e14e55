/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only files of our own writer have: definitions of the model as a string resource of the last
 * chunk, and events that say more of the next one. Other readers see resources and events that
 * mean nothing to them.
 */
#ifndef SONDE_CFF_OURS_H
#define SONDE_CFF_OURS_H

#include "formats/cff/cff_image.h"

struct sonde_definitions;

/* Event types of markers: the next event is an exception; or is exactly this. */
#define CFF_MARKER_EXCEPTION "sonde.scope#exception"
#define CFF_MARKER_EXACT "sonde.event#exact"

/* How resources begin that are not blobs. */
#define CFF_OURS_DEFINITIONS "{\"sonde_definitions\":1,"
#define CFF_OURS_INDEX "sondeIX1"

struct cff_ours;

void cff_ours_free(struct cff_ours *ours);

/* What a type in the file stands for; leaves alone what is not said. */
void cff_ours_find(const struct cff_ours *ours, const char *name, uint32_t *function,
		   uint32_t *event_type);

#endif
