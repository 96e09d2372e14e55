/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a trace means for the metadata: the texts it holds (the lines of the metadata index) and the
 * numbers of its slot. Fed record by record, by the writer and by zts_rebuild(), so that both
 * agree; what exactly counts follows the stores of existing programs.
 */
#ifndef SONDE_FORMATS_ZTS_INDEX_H
#define SONDE_FORMATS_ZTS_INDEX_H

#include <sonde/status.h>

#include "base/bytes.h"
#include "base/map.h"
#include "base/vec.h"
#include "formats/zts/zts_meta.h"

/*
 * Traces within traces: so many levels have a line of their own. Ids of a deeper one are in the
 * lines of those around it, and its slot has no deep entry: else lines would grow with the square
 * of the depth.
 */
#define ZTS_INDEX_LEVELS 8
/* An exception with its causes and frames gives no more ids than this. */
#define ZTS_INDEX_EXCEPTION_IDS 16384

/* A trace that ended; lists are borrowed until the next call. */
struct zts_index_trace {
	uint32_t tag; /* the caller's, of zts_index_begin_trace() */
	/* as existing programs count: an inner trace counts once more for its outer one */
	uint32_t records;
	uint32_t calls;
	uint32_t errors; /* records with an exception or ZTS_RECORD_ERROR */
	uint8_t flags;	 /* ZTS_RECORD_FIRST | LAST, and ERROR where the first record has one */
	bool is_inner;
	bool has_deep;
	const uint32_t *deep; /* every text in it: ascending, unique */
	size_t deep_count;
	const uint32_t *shallow; /* those of its first record; outer traces only */
	size_t shallow_count;
};

/* Inner traces first, as they end; false ends the feeding (sticky: see `stopped`). */
typedef bool zts_index_ended(void *context, const struct zts_index_trace *trace);
/* The bytes of a typed text, borrowed until the next call; false where there is none. */
typedef bool zts_index_text(void *context, uint32_t id, const char **text, size_t *size);

struct zts_index_list {
	SONDE_VEC(uint32_t) ids;
	uint32_t *marks; /* by id: the epoch in which it was added last */
	size_t marked;	 /* how many marks there are */
	uint32_t epoch;
};

/* Of an open trace. */
struct zts_index_level {
	uint32_t tag, record_depth;
	uint32_t records, errors;
	uint64_t calls;
};

struct zts_index {
	/* The caller sets these once; all else zeroed. */
	zts_index_ended *ended;
	zts_index_text *text; /* for what exceptions are made of */
	void *context;
	/* ids from here on do not exist and give nothing; a writer raises it freely */
	uint32_t id_limit;

	bool counts_only; /* set at any time: ids are not collected any more */

	bool failed;	/* no memory: sticky until begun anew */
	bool stopped;	/* `ended` said so */
	uint32_t depth; /* open records */
	SONDE_VEC(struct zts_index_level) levels;
	struct zts_index_level so_far; /* of all levels together */
	struct zts_index_list deep[ZTS_INDEX_LEVELS];
	struct zts_index_list shallow;
	/* What exceptions are made of, by their id: ranges of `parts`. */
	struct sonde_key_map exceptions;
	SONDE_VEC(uint32_t) ranges;
	SONDE_VEC(uint32_t) parts;
	struct zts_index_list seen;  /* while one is taken apart */
	SONDE_VEC(uint32_t) scratch; /* for sorting */
};

void zts_index_release(struct zts_index *index);

/* Forgets what is open: before a new outer trace. Ids known of exceptions stay. */
void zts_index_reset(struct zts_index *index);

/*
 * A record begins; the first always begins a trace. What follows up to its end is its own or its
 * children's. `type` is a text id or 0: not the number that existing stores have in its place.
 */
void zts_index_begin_trace(struct zts_index *index, uint32_t tag, uint32_t method, uint32_t type);
void zts_index_begin_record(struct zts_index *index, uint32_t method);

/* A text of the record that is open: an attribute's key, its string, its pair. 0 is no text. */
void zts_index_id(struct zts_index *index, uint32_t id);
/* All texts in a value's CBOR (array, map or a single string), without pairs. */
void zts_index_value(struct zts_index *index, struct sonde_bytes value);

/*
 * Ends the open record; `exception` (text id; 0: none) counts with its class, stack, frames and
 * causes.
 */
void zts_index_end_record(struct zts_index *index, uint64_t calls, uint32_t exception,
			  uint32_t flags);

/*
 * What the outer trace holds so far, as for a chunk that is written before its end. Of existing
 * stores.
 */
void zts_index_so_far(struct zts_index *index, struct zts_index_trace *trace);

/*
 * The literal of a KEY_LITERAL text: a number in decimal; booleans are "true" and "false". null,
 * arrays and maps have no pair.
 */
#define ZTS_INDEX_LITERAL_SIZE 24
void zts_index_literal(int64_t number, char literal[ZTS_INDEX_LITERAL_SIZE], size_t *size);

/* The time numbers of a slot from ns since 1970. W1 of existing stores is when a trace ended. */
void zts_slot_set_times(struct zts_slot *slot, uint64_t start_ns, uint64_t duration_ns);
/* The other numbers. */
void zts_slot_set_counts(struct zts_slot *slot, const struct zts_index_trace *trace);

/*
 * Entries of the metadata WAL of a slot, appended: UUID line, deep line, shallow line; entry ids
 * are set in the slot and *next_entry goes on.
 */
void zts_index_put_entries(struct sonde_buffer *wal, struct zts_slot *slot, uint32_t slot_number,
			   const struct zts_index_trace *trace, uint32_t *next_entry);

#endif
