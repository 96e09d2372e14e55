/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces by their ids, and the trees of one distributed trace joined: a tree hangs under the record
 * whose span its first record has as parent.
 */
#ifndef SONDE_STORE_JOIN_H
#define SONDE_STORE_JOIN_H

#include "store/names.h"
#include "store/trace.h"

struct sonde_place {
	struct zts_part *part;
	uint32_t slot;
};

struct sonde_places {
	SONDE_VEC(struct sonde_place) list;
};

/*
 * Adds what an id means: "00001a:17" (part and slot), a UUID or the unique beginning of one, with
 * or without dashes, or the id of a distributed trace, which may be several trees. SONDE_ARGUMENT
 * where there is none, or more than one begins so.
 */
enum sonde_status sonde_places_find(struct zts_base *base, const char *id,
				    struct sonde_places *places, struct sonde_error *err);
/* Every trace of a store; in the order of parts and slots. */
enum sonde_status sonde_places_all(struct zts_base *base, struct sonde_places *places,
				   struct sonde_error *err);

/* A decoded trace. */
struct sonde_joined_tree {
	struct sonde_place place;
	struct zts_loaded loaded;
	uint64_t *self_ns; /* by record, from its root on */
	uint64_t *start_ns, *duration_ns;
	uint32_t count; /* of records */
	uint32_t under,
		under_record; /* the tree and record that it hangs under; SONDE_NONE: none */
	uint32_t next;	      /* that hangs under the same record; SONDE_NONE */
};

/* A record in the order in which it is shown. */
struct sonde_joined_record {
	uint32_t tree;
	uint32_t record; /* in loaded.tree */
	uint32_t depth;
};

struct sonde_joined {
	SONDE_VEC(struct sonde_joined_tree) trees;
	SONDE_VEC(struct sonde_joined_record) order;
};
void sonde_joined_release(struct sonde_joined *joined);

/*
 * Loads the traces and puts their records in order: roots by their start, what hangs under a record
 * behind its own calls. Traces that lie inside others of the list are not shown twice.
 */
enum sonde_status sonde_joined_make(struct sonde_joined *joined, const struct sonde_place *places,
				    size_t count, struct sonde_error *err);

static inline const struct zts_record *sonde_joined_record(const struct sonde_joined *joined,
							   const struct sonde_joined_record *shown)
{
	return &joined->trees.items[shown->tree].loaded.tree.records.items[shown->record];
}

#endif
