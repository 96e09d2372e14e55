/* SPDX-License-Identifier: Apache-2.0 */
/* One trace of a part: its chunk or chunks read and decoded, its first record found, its times. */
#include "formats/zts/zts_part_private.h"
#include "formats/zts/zts_rebuild.h"

#define MS_NS 1000000u
/* What the chunks of one trace may come to. */
#define MAX_JOINED (1u << 30)

void zts_loaded_release(struct zts_loaded *loaded)
{
	sonde_codec_state_release(&loaded->codec);
	sonde_buffer_release(&loaded->content);
	zts_tree_release(&loaded->tree);
	sonde_vec_release(&loaded->joined);
	*loaded = (struct zts_loaded){ 0 };
}

/* Appends the chunk of a slot. */
static enum sonde_status join_chunk(struct zts_part *part, uint64_t data_offset,
				    struct zts_loaded *loaded, struct sonde_error *err)
{
	struct zts_joined *joined = sonde_vec_push(&loaded->joined);
	struct zts_chunk chunk;
	enum sonde_status status;

	if (!joined)
		return sonde_fail_nomem(err);
	*joined = (struct zts_joined){ .data_offset = data_offset,
				       .content_offset = loaded->content.size };
	status = zts_chunks_at(&part->chunks, data_offset, &chunk, err);
	if (status == SONDE_END)
		return sonde_fail(err, SONDE_CORRUPT, data_offset,
				  "expected the chunk of a trace, found the end of the data");
	if (status < 0)
		return status;
	if (chunk.size > MAX_JOINED - loaded->content.size)
		return sonde_fail(err, SONDE_LIMIT, data_offset,
				  "expected a trace of at most %u bytes, found more", MAX_JOINED);
	return zts_chunks_read(&part->chunks, &loaded->codec, &chunk, &loaded->content, err);
}

static enum sonde_status read_chunks(struct zts_part *part, uint32_t first,
				     struct zts_loaded *loaded, struct sonde_error *err)
{
	const struct zts_slot *slots = part->slots.list.items;
	enum sonde_status status;

	loaded->chunks = 0;
	loaded->joined.count = 0;
	loaded->chunk_offset = slots[first].data_offset;
	loaded->part_serial = part->serial;
	loaded->part_slots = part->slots.list.count;
	sonde_buffer_clear(&loaded->content);
	status = join_chunk(part, slots[first].data_offset, loaded, err);
	if (status < 0 || !part->next_chunk)
		return status;
	/* data offsets ascend along the links: this ends */
	for (uint32_t slot = part->next_chunk[first]; slot != SONDE_NONE && status >= 0;
	     slot = part->next_chunk[slot])
		status = join_chunk(part, slots[slot].data_offset, loaded, err);
	return status;
}

/* Where a chunk's content begins; SIZE_MAX where it is none of those joined. */
static size_t content_of(const struct zts_loaded *loaded, uint64_t data_offset)
{
	size_t low = 0, high = loaded->joined.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (loaded->joined.items[middle].data_offset == data_offset)
			return loaded->joined.items[middle].content_offset;
		if (loaded->joined.items[middle].data_offset < data_offset)
			low = middle + 1;
		else
			high = middle;
	}
	return SIZE_MAX;
}

static uint32_t record_at(const struct zts_tree *tree, size_t offset)
{
	size_t low = 0, high = tree->records.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tree->records.items[middle].offset == offset)
			return (uint32_t)middle;
		if (tree->records.items[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return SONDE_NONE;
}

/*
 * Where the trace of a slot begins: a chunked trace with its first chunk, whichever slot is asked
 * for.
 */
static uint32_t find_root(const struct zts_loaded *loaded, const struct zts_slot *slot)
{
	bool is_piece = (slot->flags & ZTS_RECORD_CHUNKED) &&
			!((slot->flags & ZTS_RECORD_FIRST) && (slot->flags & ZTS_RECORD_LAST));
	size_t content = is_piece ? 0 : content_of(loaded, slot->data_offset);

	if (content == SIZE_MAX)
		return SONDE_NONE;
	return record_at(&loaded->tree, content + (is_piece ? 0 : slot->start_offset));
}

static bool is_loaded(const struct zts_part *part, const struct zts_slot *first,
		      const struct zts_loaded *loaded)
{
	return loaded->chunks && loaded->part_serial == part->serial &&
	       loaded->part_slots == part->slots.list.count &&
	       loaded->chunk_offset == first->data_offset;
}

enum sonde_status zts_part_load(struct zts_part *part, uint32_t slot, struct zts_loaded *loaded,
				struct sonde_error *err)
{
	const struct zts_slot *item;
	enum sonde_status status = SONDE_OK;
	uint32_t first;

	loaded->root = SONDE_NONE;
	if (slot >= part->slots.list.count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "expected a slot below %zu, found %u", part->slots.list.count,
				  slot);
	item = &part->slots.list.items[slot];
	first = part->first_chunk ? part->first_chunk[slot] : slot;
	if (!is_loaded(part, &part->slots.list.items[first], loaded)) {
		loaded->tree.records.count = 0; /* of another chunk: no root is found in it */
		status = read_chunks(part, first, loaded, err);
		if (status >= 0)
			status = zts_tree_decode(&loaded->tree, (uint8_t *)loaded->content.data,
						 loaded->content.size, err);
		if (status == SONDE_CORRUPT || status == SONDE_TRUNCATED)
			loaded->root = find_root(loaded, item);
		if (status < 0) {
			sonde_error_because(
				err, "the trace of slot %u (data offset %llu) cannot be read", slot,
				(unsigned long long)item->data_offset);
			sonde_error_set_file(err, part->chunks.path);
			return status;
		}
		loaded->chunks = (uint32_t)loaded->joined.count;
	}
	loaded->root = find_root(loaded, item);
	if (loaded->root != SONDE_NONE)
		return SONDE_OK;
	sonde_fail(err, SONDE_CORRUPT, item->data_offset,
		   "expected the record of slot %u at %u in the chunk's content, found none", slot,
		   item->start_offset);
	sonde_error_set_file(err, part->chunks.path);
	return SONDE_CORRUPT;
}

/* Ours: what ticks cannot say. False where the record does not have it. */
static bool find_residues(struct zts_part *part, const struct zts_tree *tree, uint32_t record,
			  uint64_t *residues)
{
	struct zts_attribute_cursor cursor = { .tree = tree, .record = record };

	*residues = 0;
	if (!part->has_names || tree->records.items[record].attributes == SONDE_NONE)
		return false;
	if (!part->ns_key_known) {
		enum sonde_status status = zts_find_ns_key(part->texts, &part->ns_key, NULL);

		part->ns_key_known = status == SONDE_OK;
		if (!part->ns_key_known)
			part->ns_key = UINT32_MAX;
		if (status == SONDE_NOMEM)
			zts_texts_set_failed(part->texts);
	}
	if (part->ns_key == UINT32_MAX)
		return false;
	while (zts_attribute_next(&cursor, NULL) == SONDE_OK) {
		if (cursor.key != part->ns_key)
			continue;
		*residues = zts_ns_residues(cursor.value);
		return true;
	}
	return false;
}

/* When a record that begins a trace began, by its own clock. */
static uint64_t clock_of(const struct zts_tree *tree, uint32_t record, uint64_t residues)
{
	uint32_t trace = tree->records.items[record].trace;
	uint64_t ns;

	if (trace == SONDE_NONE ||
	    __builtin_mul_overflow(tree->traces.items[trace].timestamp_ms, MS_NS, &ns))
		return 0;
	return ns + (residues >> 16);
}

static uint64_t ticks_between(uint64_t from, uint64_t to)
{
	return to > from ? (to - from) * ZTS_TICK_NS : 0;
}

void zts_loaded_times(struct zts_part *part, const struct zts_loaded *loaded, uint32_t record,
		      uint64_t *start_ns, uint64_t *duration_ns)
{
	const struct zts_tree *tree = &loaded->tree;
	const struct zts_record *item = &tree->records.items[record], *base;
	uint32_t first = loaded->root;
	uint64_t residues, first_residues, base_ns, stop_ns;
	bool has_ns = find_residues(part, tree, record, &residues);
	bool first_has_ns = find_residues(part, tree, first, &first_residues);

	/* residues count from the ticks of the outermost trace, also inside an inner one */
	if (has_ns || first_has_ns)
		first = zts_outermost(tree, first);
	if (first != loaded->root)
		find_residues(part, tree, first, &first_residues);
	base = &tree->records.items[first];
	base_ns = clock_of(tree, first, first_residues);
	stop_ns = base_ns + ticks_between(base->start, item->stop) + (residues & 0xffff);
	if (record == loaded->root || (has_ns && item->trace != SONDE_NONE))
		*start_ns = clock_of(tree, record, residues);
	else
		*start_ns = base_ns + ticks_between(base->start, item->start) + (residues >> 16);
	*duration_ns = stop_ns > *start_ns ? stop_ns - *start_ns : 0;
}
