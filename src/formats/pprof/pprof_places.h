/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts as locations of pprof: a location is where a frame of the machine is, with the line of its function and
 * those of the functions that were inlined there.
 */
#ifndef SONDE_FORMATS_PPROF_PLACES_H
#define SONDE_FORMATS_PPROF_PLACES_H

#include "formats/profile_labels.h"

/* Its number and 1 is its id. */
struct pprof_location {
	uint32_t label; /* the function; SONDE_NONE: an address without one */
	uint32_t line;
	uint32_t outer;	   /* location that it was inlined into; SONDE_NONE: none */
	uint32_t module;   /* SONDE_NONE: unknown */
	uint64_t address;  /* in the file of the module; 0: unknown */
	uint32_t inlining; /* how many others are around it */
	bool is_used;
};

/* By context. */
struct pprof_place {
	uint32_t location; /* SONDE_NONE: nowhere, which is so of roots and entries */
	uint32_t caller;   /* context that it was called from; SONDE_NONE: nobody */
	uint32_t holder;   /* context that its values are written for: mostly itself */
	uint32_t entry;	   /* context of the entry around it; SONDE_NONE: none */
	uint32_t depth;	   /* how many locations its stack has */
};

struct pprof_places {
	struct profile_labels labels;
	struct pprof_place *of;
	SONDE_VEC(struct pprof_location) locations;
	struct sonde_key_map keys;
	/* lost */
	uint32_t loops, unmeasured, other_files, inlining_cut;
	uint32_t moved; /* deep stacks, written as part of others */
};

/* `is_summed`: samples are written once, and not for each track. */
enum sonde_status pprof_places_make(struct pprof_places *places, const struct profile_sink *sink,
				    bool is_summed, struct sonde_error *err);
void pprof_places_release(struct pprof_places *places);

/* A location of its own for a context that is nowhere; SONDE_NONE where memory failed. */
uint32_t pprof_place_anyhow(struct pprof_places *places, uint32_t context);

#endif
