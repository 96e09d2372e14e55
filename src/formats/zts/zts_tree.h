/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call trees in the bytes of a chunk (or of several that continue each other): records in the
 * order of their beginning, as one array. No text is looked up here: ids are those of the store.
 */
#ifndef SONDE_FORMATS_ZTS_TREE_H
#define SONDE_FORMATS_ZTS_TREE_H

#include <sonde/definitions.h>

#include "base/cbor.h"
#include "base/vec.h"

struct zts_record {
	uint64_t start, stop; /* ticks; stop 0 where the record was never closed */
	uint64_t calls;
	uint32_t method;  /* text id */
	uint32_t parent;  /* position of the record around it; SONDE_NONE: top level */
	uint32_t depth;	  /* top level: 0 */
	uint32_t records; /* in its tree, itself included */
	uint32_t flags;
	uint32_t exception;	   /* text id; 0: none */
	uint32_t inline_exception; /* position in tree->exceptions; SONDE_NONE */
	uint32_t attributes;	   /* position of its first in tree->attributes; SONDE_NONE */
	uint32_t trace;		   /* position in tree->traces: a trace begins here; SONDE_NONE */
	uint32_t offset;	   /* of its first byte in the bytes decoded */
	uint32_t identity;	   /* position in tree->identities; SONDE_NONE */
};

/* A record that begins a trace, also inside another one. */
struct zts_trace_start {
	uint32_t record;
	uint32_t type;
	uint64_t timestamp_ms;
	uint64_t span, parent; /* 0: none */
	bool has_type, has_span;
};

/*
 * Type, span and parent of a record: those that begin a trace have the same in their trace start.
 */
struct zts_identity {
	uint32_t record;
	uint32_t type;
	uint64_t span, parent; /* 0: none */
	bool has_type, has_span;
};

/* One map of attributes of a record; a record may have several. */
struct zts_attribute_map {
	uint32_t record;
	uint32_t next;	 /* of the same record; SONDE_NONE */
	uint32_t offset; /* of the map's CBOR in the bytes decoded */
	uint32_t size;
};

/* `D8 22`: as agents send it; offset and size of its array. */
struct zts_inline_exception {
	uint32_t offset, size;
};

struct zts_tree {
	SONDE_VEC(struct zts_record) records;
	SONDE_VEC(struct zts_trace_start) traces;
	SONDE_VEC(struct zts_identity) identities;
	SONDE_VEC(struct zts_attribute_map) attributes;
	SONDE_VEC(struct zts_inline_exception) exceptions;
	const uint8_t *bytes; /* borrowed: what was decoded */
	size_t size;
	uint32_t open;	   /* records not closed at the end: the next chunk continues them */
	uint32_t unopened; /* ends of records that did not begin here: a chunk before began them */
	uint32_t unknown;  /* items with tags not known here, passed over */
	bool document_spelling; /* the document's tags were met */
	/* For the decoder: the open records that begin a trace. */
	SONDE_VEC(uint32_t) stack;
};

/* Zeroed is new. */
void zts_tree_release(struct zts_tree *tree);

/*
 * Decodes from the start; memory is reused. Many trees in a row are fine. On SONDE_CORRUPT and
 * SONDE_TRUNCATED (offset in err is that in `bytes`) what was decoded before the fault stays in the
 * tree, open records get their end from their last child. Bytes that end with open records are no
 * fault. What belongs to a record that did not begin here (the bytes continue another chunk's) is
 * SONDE_CORRUPT at its offset too, but only after all the rest was decoded: it is passed over.
 */
enum sonde_status zts_tree_decode(struct zts_tree *tree, const uint8_t *bytes, size_t size,
				  struct sonde_error *err);

/*
 * The key and value pairs of a record's attributes, over all its maps. Zero it, set tree and
 * record. key is a text id (key_text NULL), or a text in the map itself (key_text, key 0). Pairs
 * with keys of other types are passed over.
 */
struct zts_attribute_cursor {
	const struct zts_tree *tree;
	uint32_t record;
	bool started;
	uint32_t map;
	uint64_t pairs_left;
	struct sonde_bytes bytes;
	/* the pair */
	uint32_t key;
	const uint8_t *key_text;
	size_t key_size;
	struct sonde_bytes value; /* its CBOR, whole */
};

/* SONDE_END after the last. */
enum sonde_status zts_attribute_next(struct zts_attribute_cursor *cursor, struct sonde_error *err);

#endif
