/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only files of our own writer have: definitions of the model as a string resource of the last
 * chunk, events that say more of the next one, and an index (cff_index.h). Other readers see
 * resources and events that mean nothing to them.
 */
#ifndef SONDE_CFF_OURS_H
#define SONDE_CFF_OURS_H

#include <sonde/definitions.h>

#include "base/map.h"
#include "formats/cff/cff_image.h"

/* Event types of markers: the next event is an exception; or is exactly this. */
#define CFF_MARKER_EXCEPTION "sonde.scope#exception"
#define CFF_MARKER_EXACT "sonde.event#exact"

/* A call of a function by its number, where there are more functions than names for types. */
#define CFF_NUMBERED_CALL "sonde.scope#call"

/* How resources begin that are not blobs. */
#define CFF_OURS_DEFINITIONS "{\"sonde_definitions\":1"
#define CFF_OURS_INDEX "sondeIX1"

/* A track as the definitions have it; counts and times come from the events. */
struct cff_ours_track {
	struct sonde_track track;
	uint64_t synthetic_head, synthetic_tail;
};

/* What a type in the file stands for; SONDE_NONE: not said. */
struct cff_ours_type {
	uint32_t function, event_type;
};

struct cff_ours {
	SONDE_VEC(struct cff_ours_track) tracks;
	SONDE_VEC(struct cff_ours_type) types;
	SONDE_VEC(uint32_t) blob_names; /* strings */
	/* private */
	struct sonde_definitions *definitions;
	struct sonde_text_map types_by_name;
	struct sonde_text_map event_types_by_name;
};

/* A resource of the last chunk that begins so; false where there is none. */
bool cff_ours_resource(const struct cff_image *image, uint32_t type, const char *head,
		       struct cff_part *found);

/*
 * Adds the definitions that an image (whose header says that it is ours, so it has a chunk) carries,
 * all but tracks. Where there are none, or damaged ones, is a finding; then *ours is NULL, and
 * nothing was added.
 */
enum sonde_status cff_ours_read(const struct cff_image *image,
				struct sonde_definitions *definitions,
				struct sonde_diagnostics *findings, struct cff_ours **ours,
				struct sonde_error *err);
void cff_ours_free(struct cff_ours *ours);

/* What a type with these arguments stands for; SONDE_NONE where it is not said. */
void cff_ours_find(const struct cff_ours *ours, const char *name, const char *arguments,
		   uint32_t *function, uint32_t *event_type);

#endif
