/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a track is in a machine of many nodes: a list of identities from the largest to the smallest
 * (node, rank, thread; or node, rank, GPU context, GPU stream). As a definition it is an attribute of
 * the track, JSON text; here are the struct and the way between the two.
 */
#ifndef SONDE_MODEL_IDENTITY_H
#define SONDE_MODEL_IDENTITY_H

#include <sonde/definitions.h>

/* Kinds as measurement tools number them; others may occur, with names of their own. */
enum sonde_identity_kind {
	SONDE_IDENTITY_SUMMARY,
	SONDE_IDENTITY_NODE,
	SONDE_IDENTITY_RANK,
	SONDE_IDENTITY_THREAD,
	SONDE_IDENTITY_GPU_DEVICE,
	SONDE_IDENTITY_GPU_CONTEXT,
	SONDE_IDENTITY_GPU_STREAM,
	SONDE_IDENTITY_CORE,
	SONDE_IDENTITY_KNOWN, /* how many of them */
};

struct sonde_identity {
	uint16_t kind;
	bool is_physical;  /* `physical` names a thing one can touch, `logical` only counts */
	uint64_t physical; /* the host id of a node; the same as `logical` where !is_physical */
	uint64_t logical;
};

/* "NODE", "RANK" ...; NULL for a kind not known here. */
const char *sonde_identity_kind_name(uint16_t kind);

#define SONDE_IDENTITY_ATTRIBUTE "hpc.identity"
/* More than that is cut: no machine has so many levels. */
#define SONDE_IDENTITY_LIMIT 32

/* Writes the identities of a track as its attribute; kinds by name where they have one. */
enum sonde_status sonde_identity_define(struct sonde_definitions *definitions, uint32_t track,
					const struct sonde_identity *identities, size_t count,
					struct sonde_error *err);

/*
 * Those of a track. Where it has no attribute they are made up of process and thread: RANK is the number
 * of the process, THREAD the slot (GPU_STREAM for such a track).
 */
enum sonde_status sonde_identity_of_track(const struct sonde_definitions *definitions,
					  uint32_t track,
					  struct sonde_identity identities[SONDE_IDENTITY_LIMIT],
					  size_t *count, struct sonde_error *err);

/* The order of tracks in what is written: by kind, physical, logical of each level. */
int sonde_identity_compare(const struct sonde_identity *a, size_t a_count,
			   const struct sonde_identity *b, size_t b_count);

/* "NODE 0x11ac0300 RANK 3 THREAD 0", cut where there is no room. */
const char *sonde_identity_text(const struct sonde_identity *identities, size_t count, char *space,
				size_t size);

#endif
