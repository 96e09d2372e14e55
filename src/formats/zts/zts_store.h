/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store for reading: one numbered folder ("part") with its data, texts and metadata, and the base
 * folder with all its parts. Readers need no lock: a writer publishes a trace (its slot) last.
 */
#ifndef SONDE_FORMATS_ZTS_STORE_H
#define SONDE_FORMATS_ZTS_STORE_H

#include "formats/zts/zts_chunks.h"
#include "formats/zts/zts_meta.h"
#include "formats/zts/zts_texts.h"
#include "formats/zts/zts_tree.h"

struct sonde_summary;

struct zts_part {
	char *path;
	uint32_t number;
	unsigned int generation; /* 0, 1 or 2 */
	bool has_names;		 /* ZTS_PROPS_NAMES: app, env, type, host are text ids */
	/* slots and postings were made anew from traces.dat: generation 2, or damage */
	bool is_rebuilt;
	struct zts_props props;
	struct zts_chunks chunks;
	struct zts_texts *texts;
	struct zts_slots slots;
	struct zts_texts *meta;		  /* postings; NULL where there are none */
	struct sonde_buffer rebuilt_meta; /* what `meta` lies over, where rebuilt */
	/* The chunks of chunked traces: zts_part_load() joins them. */
	/* by slot: the slot of the trace's next chunk; SONDE_NONE; NULL: no chunked ones */
	uint32_t *next_chunk;
	/*
	 * By slot, NULL as above: the slot of the trace's first chunk, itself for others. Of a
	 * trace inside a chunked one: the first chunk of that. Totals of a chunked trace are in its
	 * last slot.
	 */
	uint32_t *first_chunk;
	/* For zts_part_load(), zts_loaded_times() and zts_base_refresh(). */
	uint64_t serial; /* no other part has it */
	uint32_t ns_key; /* text id of ZTS_NS_ATTRIBUTE; UINT32_MAX: none */
	bool ns_key_known;
	uint64_t names_hash; /* of the file names in its folder */
	/* Made and kept by those who search it (store/summary.h); freed with the part. */
	struct sonde_summary *summary;
	void (*summary_free)(struct sonde_summary *summary);
};

struct zts_base {
	char *path;
	SONDE_VEC(struct zts_part *) parts; /* by number */
	bool is_part;			    /* the path is that of its only part */
	bool is_empty; /* when it was opened it had no parts, not even such that cannot be read */
};

/*
 * Opens all parts of a base folder, or a single numbered folder as the only part. Damage goes to
 * `diagnostics` (may be NULL); a part that cannot be opened at all is left out with a finding.
 */
enum sonde_status zts_base_open(const char *path, struct sonde_diagnostics *diagnostics,
				struct zts_base **base, struct sonde_error *err);
void zts_base_free(struct zts_base *base);
/*
 * Takes what writers did since: new traces, new parts, parts gone or archived. Parts that are gone,
 * or had to be opened anew, are freed: no pointer to a part is kept over this.
 */
enum sonde_status zts_base_refresh(struct zts_base *base, struct sonde_error *err);

enum sonde_status zts_part_open(const char *path, struct sonde_diagnostics *diagnostics,
				struct zts_part **part, struct sonde_error *err);
void zts_part_free(struct zts_part *part);

/* Whether a slot is one that users see: the first of a chunked trace, or an unchunked one. */
bool zts_part_is_trace(const struct zts_part *part, uint32_t slot);

/* Where the content of a chunk lies among the joined ones. */
struct zts_joined {
	uint64_t data_offset;
	size_t content_offset;
};

/* Reusable memory of a decoded trace. Zeroed is new. */
struct zts_loaded {
	struct sonde_codec_state codec;
	struct sonde_buffer content; /* of the chunk or chunks */
	struct zts_tree tree;
	uint64_t chunk_offset; /* which chunk is in `content`: traces of one chunk decode it once */
	uint32_t chunks;       /* how many were joined */
	uint32_t root; /* the trace's first record in the tree; SONDE_NONE where loading failed */
	SONDE_VEC(struct zts_joined) joined;
	/* of which part, and how many slots it had: what is in `content` is reused */
	uint64_t part_serial;
	size_t part_slots;
};
void zts_loaded_release(struct zts_loaded *loaded);

/*
 * The tree of a slot's trace, all chunks joined; records `root` .. root + records - 1 are its own.
 * Where SONDE_CORRUPT comes with a root, the tree has what lies before the fault.
 */
enum sonde_status zts_part_load(struct zts_part *part, uint32_t slot, struct zts_loaded *loaded,
				struct sonde_error *err);

/*
 * When a loaded trace or one of its records began and how long it took, from TIMESTAMP, ticks and
 * ours.
 */
void zts_loaded_times(struct zts_part *part, const struct zts_loaded *loaded, uint32_t record,
		      uint64_t *start_ns, uint64_t *duration_ns);

/*
 * Slots and the bytes of a metadata WAL made anew from traces.dat and the texts, for parts of
 * generation 2 and for damaged ones. What only qmeta.idx knew (UUIDs, app, env, host) is made up:
 * UUIDs from the place in the file, the rest 0. Slots that are in the list already (of a damaged
 * qmeta.idx) are replaced, and give these things to the new ones of the same place. Pairs that the
 * texts lack have no postings.
 */
enum sonde_status zts_rebuild(const struct zts_chunks *chunks, struct zts_texts *texts,
			      struct zts_slots *slots, struct sonde_buffer *meta_wal,
			      struct sonde_diagnostics *diagnostics, struct sonde_error *err);

#endif
