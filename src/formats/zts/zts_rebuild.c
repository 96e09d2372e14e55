/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata of a part made anew: traces.dat is walked from chunk to chunk, past damage, and
 * chunks that continue an open trace are joined to it. What is made of a trace is in
 * zts_rebuild_trace.c.
 */
#include "formats/zts/zts_rebuild.h"

#include <stdlib.h>

#include "base/crc.h"
#include "base/sort.h"
#include "formats/zts/zts_findings.h"

/* What the chunks of one trace may come to. */
#define MAX_JOINED (256u << 20)

static void release(struct zts_rebuild *rebuild)
{
	sonde_codec_state_release(&rebuild->codec);
	sonde_buffer_release(&rebuild->content);
	sonde_buffer_release(&rebuild->next);
	zts_tree_release(&rebuild->tree);
	zts_index_release(&rebuild->index);
	zts_pairs_release(&rebuild->pairs);
	sonde_vec_release(&rebuild->joined);
	sonde_vec_release(&rebuild->known);
	sonde_vec_release(&rebuild->known_order);
	sonde_vec_release(&rebuild->residues);
}

static bool is_timestamp(struct sonde_bytes bytes)
{
	struct sonde_cbor_item item;

	return sonde_cbor_next(&bytes, &item, NULL) == SONDE_OK && item.type == SONDE_CBOR_MAP &&
	       sonde_cbor_next(&bytes, &item, NULL) == SONDE_OK && item.type == SONDE_CBOR_UINT &&
	       item.value == ZTS_INFO_TIMESTAMP;
}

struct zts_balance zts_weigh(const struct sonde_buffer *content)
{
	struct sonde_bytes bytes = sonde_bytes_of(content->data, content->size);
	struct sonde_cbor_item item;
	struct zts_balance balance = { 0 };
	uint64_t records = 0;

	while (sonde_cbor_next(&bytes, &item, NULL) == SONDE_OK) {
		if (item.type == SONDE_CBOR_BREAK)
			balance.end--;
		else if (item.indefinite)
			balance.end++;
		if (balance.end < balance.lowest)
			balance.lowest = balance.end;
		if (item.type != SONDE_CBOR_TAG)
			continue;
		records += item.value == ZTS_TAG_RECORD;
		if (records == 1 && balance.end <= 1 && content->data[0] == (char)0xc8 &&
		    (item.value == ZTS_TAG_INFO || item.value == ZTS_TAG_INFO_DOCUMENT))
			balance.begins_trace |= is_timestamp(bytes);
	}
	return balance;
}

static enum sonde_status add_joined(struct zts_rebuild *rebuild, uint64_t data_offset,
				    struct sonde_error *err)
{
	struct zts_joined *joined = sonde_vec_push(&rebuild->joined);

	if (!joined)
		return sonde_fail_nomem(err);
	*joined = (struct zts_joined){ .data_offset = data_offset,
				       .content_offset = rebuild->content.size };
	sonde_buffer_put(&rebuild->content, rebuild->next.data, rebuild->next.size);
	return rebuild->content.failed ? sonde_fail_nomem(err) : SONDE_OK;
}

/* Ends what was joined so far, whether its last record was closed or not. */
static enum sonde_status finish(struct zts_rebuild *rebuild, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (rebuild->joined.count)
		status = zts_rebuild_trace(rebuild, false, err);
	rebuild->joined.count = 0;
	sonde_buffer_clear(&rebuild->content);
	rebuild->open = 0;
	return status;
}

/* A whole trace of its own between the chunks of the open one, which waits. */
static enum sonde_status pass_between(struct zts_rebuild *rebuild, uint64_t data_offset,
				      struct sonde_error *err)
{
	struct sonde_buffer content = rebuild->content;
	struct zts_joined one = { .data_offset = data_offset };
	struct zts_joined *items = rebuild->joined.items;
	size_t count = rebuild->joined.count;
	enum sonde_status status;

	rebuild->content = rebuild->next;
	rebuild->joined.items = &one;
	rebuild->joined.count = 1;
	status = zts_rebuild_trace(rebuild, false, err);
	rebuild->joined.items = items;
	rebuild->joined.count = count;
	rebuild->next = rebuild->content;
	rebuild->content = content;
	return status;
}

/* The first chunk of a trace, which most often is its only one. */
static enum sonde_status begin_chunk(struct zts_rebuild *rebuild, uint64_t data_offset,
				     struct sonde_error *err)
{
	enum sonde_status status = add_joined(rebuild, data_offset, err);

	if (status < 0)
		return status;
	status = zts_rebuild_trace(rebuild, true, err);
	if (status == SONDE_END) {
		rebuild->open = zts_weigh(&rebuild->next).end;
		return rebuild->open > 0 ? SONDE_OK : finish(rebuild, err);
	}
	rebuild->joined.count = 0;
	sonde_buffer_clear(&rebuild->content);
	return status;
}

/*
 * Takes the content of a chunk, which is in `next`. While a trace is open it continues that one,
 * unless it begins a trace and closes nothing that was open before.
 */
static enum sonde_status take_chunk(struct zts_rebuild *rebuild, uint64_t data_offset,
				    struct sonde_error *err)
{
	struct zts_balance balance;
	enum sonde_status status;

	if (!rebuild->open)
		return begin_chunk(rebuild, data_offset, err);
	balance = zts_weigh(&rebuild->next);
	if (balance.begins_trace && balance.lowest == 0 && balance.end == 0)
		return pass_between(rebuild, data_offset, err);
	if ((balance.begins_trace && balance.lowest == 0) ||
	    rebuild->next.size > MAX_JOINED - rebuild->content.size) {
		status = finish(rebuild, err);
		return status < 0 ? status : begin_chunk(rebuild, data_offset, err);
	}
	status = add_joined(rebuild, data_offset, err);
	if (status < 0)
		return status;
	rebuild->open += balance.end;
	return rebuild->open > 0 ? SONDE_OK : finish(rebuild, err);
}

/* What is wrong with a chunk that cannot be read. */
static void report_chunk(const struct zts_rebuild *rebuild, const struct zts_chunk *chunk,
			 const struct sonde_error *err)
{
	const struct zts_chunks *chunks = rebuild->chunks;
	const uint8_t *stored = chunks->file.data + chunk->offset + ZTS_CHUNK_HEADER_SIZE;
	uint32_t crc = sonde_crc32(0, stored, chunk->stored_size);

	if (chunks->has_crc && crc != chunk->crc)
		zts_found(rebuild->diagnostics, CHUNK_CRC, chunks->path, chunk->offset,
			  "checksum %08x\t%08x", chunk->crc, crc);
	else
		zts_found(rebuild->diagnostics, CHUNK_CODEC, chunks->path, chunk->offset,
			  "%u bytes\t%s", chunk->size, err->message);
}

/* The chunk at an offset, or the next one behind damage. SONDE_END after the last. */
static enum sonde_status find_chunk(struct zts_rebuild *rebuild, uint64_t offset,
				    struct zts_chunk *chunk, struct sonde_error *err)
{
	const struct zts_chunks *chunks = rebuild->chunks;
	enum sonde_status status = zts_chunks_at(chunks, offset, chunk, err);

	if (status == SONDE_OK || status == SONDE_END || status == SONDE_NOMEM)
		return status;
	if (status == SONDE_TRUNCATED)
		zts_found(rebuild->diagnostics, CHUNK_CUT, chunks->path, offset,
			  "a whole chunk\tthe end of the file at %zu", chunks->file.size);
	else
		zts_found(rebuild->diagnostics, CHUNK_MAGIC, chunks->path, offset,
			  "a chunk\tother bytes");
	return zts_chunks_resync(chunks, &rebuild->codec, offset + 1, chunk, err);
}

static enum sonde_status walk(struct zts_rebuild *rebuild, struct sonde_error *err)
{
	uint64_t offset = ZTS_DATA_HEADER_SIZE;
	struct zts_chunk chunk;
	enum sonde_status status;
	struct sonde_error fault;

	while ((status = find_chunk(rebuild, offset, &chunk, err)) == SONDE_OK) {
		if (chunk.offset != offset && (status = finish(rebuild, err)) < 0)
			return status;
		offset = zts_chunk_next(&chunk);
		sonde_buffer_clear(&rebuild->next);
		status = zts_chunks_read(rebuild->chunks, &rebuild->codec, &chunk, &rebuild->next,
					 &fault);
		if (status == SONDE_NOMEM)
			return sonde_fail_nomem(err);
		if (status < 0) {
			report_chunk(rebuild, &chunk, &fault);
			status = finish(rebuild, err);
		} else {
			status = take_chunk(rebuild, chunk.offset, err);
		}
		if (status < 0)
			return status;
	}
	if (status == SONDE_NOMEM)
		return status;
	return finish(rebuild, err);
}

/* Old slots in the order of their places, so that what only they know can be taken over. */
static enum sonde_status order_known(struct zts_rebuild *rebuild, struct sonde_error *err)
{
	size_t count = rebuild->known.count;

	if (!count)
		return SONDE_OK;
	if (!sonde_vec_reserve(&rebuild->known_order, count))
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		rebuild->known_order.items[i] =
			(struct sonde_sort_item){ .key = rebuild->known.items[i].start_offset,
						  .number = i };
	rebuild->known_order.count = count;
	if (!sonde_sort(rebuild->known_order.items, count))
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		struct sonde_sort_item *item = &rebuild->known_order.items[i];

		item->key = rebuild->known.items[item->number].data_offset;
	}
	return sonde_sort(rebuild->known_order.items, count) ? SONDE_OK : sonde_fail_nomem(err);
}

const struct zts_slot *zts_rebuild_known(const struct zts_rebuild *rebuild, uint64_t data_offset,
					 uint32_t start_offset)
{
	size_t low = 0, high = rebuild->known_order.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct sonde_sort_item *item = &rebuild->known_order.items[middle];
		const struct zts_slot *slot = &rebuild->known.items[item->number];

		if (slot->data_offset == data_offset && slot->start_offset == start_offset)
			return slot;
		if (slot->data_offset < data_offset ||
		    (slot->data_offset == data_offset && slot->start_offset < start_offset))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* The id of ZTS_NS_ATTRIBUTE; UINT32_MAX where the store does not have it. */
enum sonde_status zts_find_ns_key(struct zts_texts *texts, uint32_t *key, struct sonde_error *err)
{
	struct zts_set ids = { 0 };
	enum sonde_status status;
	size_t found;

	*key = UINT32_MAX;
	if (!zts_set_init(&ids, zts_texts_end(texts)))
		return sonde_fail_nomem(err);
	status = zts_texts_find(texts, 1u << ZTS_TEXT_STRING, ZTS_MATCH_EXACT, ZTS_NS_ATTRIBUTE,
				sizeof(ZTS_NS_ATTRIBUTE) - 1, &ids, err);
	found = zts_set_next(&ids, 1);
	if (status >= 0 && found < UINT32_MAX)
		*key = (uint32_t)found;
	zts_set_release(&ids);
	return status;
}

enum sonde_status zts_rebuild(const struct zts_chunks *chunks, struct zts_texts *texts,
			      struct zts_slots *slots, struct sonde_buffer *meta_wal,
			      struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct zts_rebuild rebuild = { .chunks = chunks,
				       .texts = texts,
				       .slots = slots,
				       .meta_wal = meta_wal,
				       .diagnostics = diagnostics,
				       .ns_key = UINT32_MAX,
				       .next_entry = 1 };
	enum sonde_status status;

	rebuild.known.items = slots->list.items;
	rebuild.known.count = slots->list.count;
	rebuild.known.capacity = slots->list.capacity;
	slots->list.items = NULL;
	slots->list.count = slots->list.capacity = 0;
	slots->generation = 1;
	slots->first_tstart = slots->last_tstop = 0;
	sonde_buffer_clear(meta_wal);
	sonde_buffer_put(meta_wal, ZTS_WAL_MAGIC, 4);
	status = order_known(&rebuild, err);
	if (status >= 0)
		status = zts_pairs_collect(&rebuild.pairs, texts, err);
	if (status >= 0 && slots->has_names)
		status = zts_find_ns_key(texts, &rebuild.ns_key, err);
	if (status >= 0)
		status = walk(&rebuild, err);
	if (status >= 0 && (meta_wal->failed || zts_texts_failed(texts)))
		status = sonde_fail_nomem(err);
	release(&rebuild);
	return status < 0 ? status : SONDE_OK;
}
