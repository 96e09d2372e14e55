/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CBOR (RFC 8949), one item at a time over a bounded cursor: nothing is allocated, and nothing
 * recurses. Integers are written as existing trace stores write them.
 */
#ifndef SONDE_BASE_CBOR_H
#define SONDE_BASE_CBOR_H

#include <sonde/status.h>

#include "base/buffer.h"
#include "base/bytes.h"

enum sonde_cbor_type {
	SONDE_CBOR_UINT,
	SONDE_CBOR_NEGATIVE, /* the number is -1 - value */
	SONDE_CBOR_BYTES,
	SONDE_CBOR_TEXT,
	SONDE_CBOR_ARRAY,
	SONDE_CBOR_MAP,
	SONDE_CBOR_TAG,	   /* the tagged item follows */
	SONDE_CBOR_SIMPLE, /* false 20, true 21, null 22, undefined 23 */
	SONDE_CBOR_FLOAT,
	SONDE_CBOR_BREAK,
};

struct sonde_cbor_item {
	enum sonde_cbor_type type;
	/* BYTES, TEXT, ARRAY, MAP: until BREAK; of BYTES and TEXT the pieces follow as items */
	bool indefinite;
	uint64_t value;	      /* number; count of items or pairs; tag */
	double number;	      /* FLOAT */
	const uint8_t *bytes; /* BYTES and TEXT of known size: `value` bytes, borrowed */
};

/*
 * The head of the next item, and the content of a string. SONDE_END at the end of the bytes,
 * SONDE_TRUNCATED where they end inside the item, SONDE_CORRUPT for what CBOR does not have. A
 * count is never believed beyond the bytes left (each item takes one at least): SONDE_TRUNCATED.
 */
enum sonde_status sonde_cbor_next(struct sonde_bytes *bytes, struct sonde_cbor_item *item,
				  struct sonde_error *err);

/* More levels than this are never followed. */
#define SONDE_CBOR_MAX_DEPTH 256

/*
 * Steps over the next item with all that is in it; nesting beyond `max_depth` (or the limit above)
 * is SONDE_LIMIT. SONDE_END at the end of the bytes.
 */
enum sonde_status sonde_cbor_skip(struct sonde_bytes *bytes, unsigned int max_depth,
				  struct sonde_error *err);

/*
 * A head at `place`, where there is room for SONDE_CBOR_HEAD_SIZE bytes: type << 5 and the shortest
 * argument, but from 0x7fffffff on always 8 bytes of it, as in existing stores. Returns where the
 * next byte goes. Inline: writers of traces do little else.
 */
#define SONDE_CBOR_HEAD_SIZE 9
static inline uint8_t *sonde_cbor_head_at(uint8_t *place, enum sonde_cbor_type type, uint64_t value)
{
	uint8_t major = (uint8_t)((unsigned int)type << 5);

	if (value < 24) {
		*place++ = (uint8_t)(major | value);
		return place;
	}
	if (value < 0x100) {
		*place++ = major | 24;
		*place++ = (uint8_t)value;
		return place;
	}
	if (value < 0x10000) {
		*place++ = major | 25;
		*place++ = (uint8_t)(value >> 8);
		*place++ = (uint8_t)value;
		return place;
	}
	if (value < 0x7fffffff) {
		*place++ = major | 26;
		sonde_store_u32be(place, (uint32_t)value);
		return place + 4;
	}
	*place++ = major | 27;
	sonde_store_u64be(place, value);
	return place + 8;
}

/* The same, appended. */
void sonde_cbor_put_head(struct sonde_buffer *buffer, enum sonde_cbor_type type, uint64_t value);
void sonde_cbor_put_int(struct sonde_buffer *buffer, int64_t value);
void sonde_cbor_put_simple(struct sonde_buffer *buffer, unsigned int value);

#endif
