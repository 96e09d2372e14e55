/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the first pass learns of profiles: their contexts in one tree, and modules, metrics, tracks and
 * refusals. Every thread and every process of a team has a union of its own; they are merged in the end.
 * Numbers in a union depend on the order in which things were met: what is written must not.
 */
#ifndef SONDE_ANALYSE_PROF_UNION_H
#define SONDE_ANALYSE_PROF_UNION_H

#include "analyse/raw_tree.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/put.h"
#include "base/vec.h"
#include "model/identity.h"

/* Sets of byte strings, each string once. */
enum prof_set {
	PROF_MODULES,	/* paths, as replacements leave them */
	PROF_FUNCTIONS, /* of recordings: struct prof_function as bytes */
	PROF_TABLES,	/* of metrics: see prof_metrics.h */
	PROF_KINDS,	/* of identities: number in decimal, a space, name */
	PROF_PROGRAMS,	/* names */
	PROF_SET_COUNT,
};

struct prof_blob {
	const char *data; /* NUL-terminated beyond its size */
	uint32_t size;
	uint32_t first; /* the least number of an input that has it */
};

struct prof_blobs {
	SONDE_VEC(struct prof_blob) items;
	struct sonde_text_map numbers;
};

/* Modules of raw nodes that are none; those of PROF_MODULES come from RAW_MODULES on. */
enum {
	RAW_PLACEHOLDER,
	RAW_GPU_CONTEXT,
	RAW_GPU_RANGE,
	RAW_GPU_RANGE_ROOT,
	RAW_FUNCTIONS, /* ip is a number of PROF_FUNCTIONS */
	RAW_MODULES = 8,
};
#define RAW_NOT_UNWOUND ((uint32_t)1 << 31)

/* A profile that was read: a line of what is written. */
struct prof_track {
	uint32_t item; /* of the inputs */
	uint32_t epoch;
	uint32_t table; /* of PROF_TABLES */
	uint32_t identity_count;
	const struct sonde_identity *identities;
	uint64_t sample_limit;
};

struct prof_refused {
	uint32_t item; /* SONDE_NONE: of no item; what was refused before items were made */
	const char *path, *reason;
};

/* Zeroed means empty. */
struct prof_union {
	struct sonde_arena texts;
	struct prof_blobs sets[PROF_SET_COUNT];
	SONDE_VEC(struct prof_track) tracks;
	SONDE_VEC(struct prof_refused) refused;
	struct raw_tree tree;
};

void prof_union_release(struct prof_union *all);

/* The number of a string in its set, new or not; SONDE_NONE where memory failed. */
uint32_t prof_union_add(struct prof_union *all, enum prof_set set, const void *data, size_t size,
			uint32_t item);

/* Both texts are copied. */
bool prof_union_refuse(struct prof_union *all, uint32_t item, const char *path, const char *reason);

/* Copies the identities; false where memory failed. */
bool prof_union_add_track(struct prof_union *all, const struct prof_track *track);

/* Adds all of `other`, which stays as it is. */
enum sonde_status prof_union_merge(struct prof_union *all, const struct prof_union *other,
				   struct sonde_error *err);

/* For processes that have no memory in common. */
void prof_union_put(const struct prof_union *all, struct sonde_buffer *bytes);
/* *all must be empty; it is also to be released where this fails. */
enum sonde_status prof_union_take(struct prof_union *all, struct sonde_bytes *bytes,
				  struct sonde_error *err);

/* Numbers and texts, for those who put more than unions. */
/* With its NUL; a text has none inside. */
void prof_put_text(struct sonde_buffer *bytes, const char *text);
/* Borrowed from the bytes; "" and `overrun` where it does not end. */
const char *prof_take_text(struct sonde_bytes *bytes);

#endif
