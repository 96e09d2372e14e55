/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two halves of the decoder of call trees share: zts_tree.c goes over the bytes as they
 * nearly always are, zts_tree_items.c takes any other item.
 */
#ifndef SONDE_FORMATS_ZTS_TREE_PRIVATE_H
#define SONDE_FORMATS_ZTS_TREE_PRIVATE_H

#include "formats/zts/zts_layout.h"
#include "formats/zts/zts_tree.h"

struct zts_decoder {
	struct zts_tree *tree;
	struct sonde_error *err;
	size_t position;	   /* of the next item in tree->bytes */
	struct zts_record *record; /* the innermost open one; `outside` where there is none */
	uint32_t current;	   /* its position; SONDE_NONE */
	uint32_t root;		   /* the outermost open one */
	struct zts_record outside; /* takes what belongs to no record */
	size_t first_stray;	   /* where the first of that was found; SIZE_MAX */
};

/* The item at the position, whatever it is; steps over it. */
enum sonde_status zts_decode_item(struct zts_decoder *decoder);

/* Like zts_tree_decode(), every item by zts_decode_item(): for tests. */
enum sonde_status zts_tree_decode_slowly(struct zts_tree *tree, const uint8_t *bytes, size_t size,
					 struct sonde_error *err);

/* One pair of method call info for the innermost record. */
enum sonde_status zts_decode_info(struct zts_decoder *decoder, uint64_t key, uint64_t value);

/* A map of attributes of the innermost record, at `offset`. */
enum sonde_status zts_add_attributes(struct zts_decoder *decoder, uint32_t record, size_t offset,
				     size_t size);

/* Opens a record inside the innermost one; false where memory failed. */
static inline bool zts_open_record(struct zts_decoder *decoder, size_t offset, uint64_t start,
				   uint32_t method)
{
	struct zts_tree *tree = decoder->tree;
	uint32_t depth = decoder->record->depth + 1;
	struct zts_record *record = sonde_vec_push(&tree->records);
	uint32_t position;

	if (!record)
		return false;
	position = (uint32_t)(tree->records.count - 1);
	*record = (struct zts_record){
		.start = start,
		.method = method,
		.parent = decoder->current,
		.depth = depth,
		.records = 1,
		.inline_exception = SONDE_NONE,
		.attributes = SONDE_NONE,
		.trace = SONDE_NONE,
		.offset = (uint32_t)offset,
		.identity = SONDE_NONE,
	};
	if (decoder->current == SONDE_NONE)
		decoder->root = position;
	decoder->record = record;
	decoder->current = position;
	return true;
}

/* There is one. */
static inline void zts_close_record(struct zts_decoder *decoder)
{
	struct zts_tree *tree = decoder->tree;
	struct zts_record *record = decoder->record;

	record->records = (uint32_t)tree->records.count - decoder->current;
	if (record->trace != SONDE_NONE)
		tree->stack.count--;
	decoder->current = record->parent;
	decoder->record = decoder->current == SONDE_NONE ? &decoder->outside :
							   &tree->records.items[decoder->current];
}

#endif
