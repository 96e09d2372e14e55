/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of zts_rebuild(): the walk over chunks gives traces, of which slots and lines are made. */
#ifndef SONDE_FORMATS_ZTS_REBUILD_H
#define SONDE_FORMATS_ZTS_REBUILD_H

#include "base/sort.h"
#include "formats/zts/zts_index.h"
#include "formats/zts/zts_pairs.h"
#include "formats/zts/zts_store.h"

struct zts_rebuild {
	const struct zts_chunks *chunks;
	struct zts_texts *texts;
	struct zts_slots *slots;
	struct sonde_buffer *meta_wal;
	struct sonde_diagnostics *diagnostics;
	struct sonde_codec_state codec;
	struct zts_pairs pairs;
	struct zts_index index;
	struct zts_tree tree;
	uint32_t next_entry; /* of the metadata WAL */
	uint32_t ns_key;     /* UINT32_MAX: none */
	/* The trace that is being put together: its chunks and their content. */
	struct sonde_buffer content;
	SONDE_VEC(struct zts_joined) joined;
	int64_t open;		  /* records open at its end */
	struct sonde_buffer next; /* the chunk that is looked at */
	/* What is left of the old slots, and their order by place. */
	SONDE_VEC(struct zts_slot) known;
	SONDE_VEC(struct sonde_sort_item) known_order;
	/* For the trace that is fed to the index. */
	SONDE_VEC(uint64_t) residues; /* by position in tree.traces */
	size_t chunk;		      /* which of the joined ones is being fed */
	size_t chunk_slot;	      /* the slot kept for it */
};

/*
 * Makes slots and lines of what is in `content`. With `may_continue` a trace that is still open at
 * its end is left for the next chunk: SONDE_END.
 */
enum sonde_status zts_rebuild_trace(struct zts_rebuild *rebuild, bool may_continue,
				    struct sonde_error *err);

/* The old slot of a place, NULL where there is none. */
const struct zts_slot *zts_rebuild_known(const struct zts_rebuild *rebuild, uint64_t data_offset,
					 uint32_t start_offset);

/*
 * How the CBOR of a chunk changes the number of open records (indefinite arrays), without decoding
 * it.
 */
struct zts_balance {
	int64_t lowest, end;
	bool begins_trace; /* its first item is a record with a TIMESTAMP */
};
struct zts_balance zts_weigh(const struct sonde_buffer *content);

/* The id of ZTS_NS_ATTRIBUTE; UINT32_MAX where the texts do not have it. */
enum sonde_status zts_find_ns_key(struct zts_texts *texts, uint32_t *key, struct sonde_error *err);

/* The top-level record around a record. */
uint32_t zts_outermost(const struct zts_tree *tree, uint32_t record);

/* The residues of ZTS_NS_ATTRIBUTE in a value's CBOR; 0 where it is no number. */
uint64_t zts_ns_residues(struct sonde_bytes value);

#endif
