/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Salvages the chunks of traces.dat. Whole ones are copied as they are stored. Of a trace whose
 * chunks are not all there what comes before the loss is closed and kept; of chunks whose beginning
 * is lost, the traces that lie inside them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/crc.h"
#include "formats/zts/zts_recover.h"

/* Records in records; far beyond what any program has. */
#define NESTING_MAX 1000000u
#define JOINED_MAX (256u << 20)

/* The chunks of a trace that is not closed yet. */
struct pending {
	SONDE_VEC(struct zts_chunk) chunks;
	struct sonde_buffer content;
	int64_t open; /* records */
};

struct salvage {
	struct zts_part_recovery *part;
	struct pending pending;
	struct sonde_buffer content, packed, trial;
	struct zts_tree tree;
};

static enum sonde_status note_moved(struct zts_part_recovery *part, uint64_t from,
				    struct sonde_error *err)
{
	struct zts_moved_chunk *moved = sonde_vec_push(&part->moved);

	if (!moved)
		return sonde_fail_nomem(err);
	*moved = (struct zts_moved_chunk){ from, part->data.written };
	return SONDE_OK;
}

/* References to texts that are not there. */
static enum sonde_status note_missing(struct zts_part_recovery *part, uint64_t id,
				      struct sonde_error *err)
{
	const char *text;
	uint32_t *place;
	size_t size;

	if (!id || id >= UINT32_MAX ||
	    zts_texts_get(part->texts, (uint32_t)id, &text, &size, NULL) == SONDE_OK)
		return SONDE_OK;
	place = sonde_vec_push(&part->missing);
	if (!place)
		return sonde_fail_nomem(err);
	*place = (uint32_t)id;
	return SONDE_OK;
}

static enum sonde_status note_info(struct zts_part_recovery *part, struct sonde_bytes *bytes,
				   struct sonde_error *err)
{
	struct sonde_cbor_item item, value;
	enum sonde_status status = SONDE_OK;
	uint64_t pairs;

	if (sonde_cbor_next(bytes, &item, NULL) != SONDE_OK || item.type != SONDE_CBOR_MAP)
		return SONDE_OK;
	pairs = item.value;
	for (uint64_t i = 0; i < pairs && status == SONDE_OK; i++) {
		if (sonde_cbor_next(bytes, &item, NULL) != SONDE_OK ||
		    sonde_cbor_next(bytes, &value, NULL) != SONDE_OK)
			break;
		if (item.value == ZTS_INFO_METHOD ||
		    (item.value == ZTS_INFO_TYPE && part->has_names))
			status = note_missing(part, value.value, err);
	}
	return status;
}

static enum sonde_status note_references(struct zts_part_recovery *part, const char *content,
					 size_t size, struct sonde_error *err)
{
	struct sonde_bytes bytes = sonde_bytes_of(content, size);
	struct sonde_cbor_item item;
	enum sonde_status status = SONDE_OK;

	while (status == SONDE_OK && sonde_cbor_next(&bytes, &item, NULL) == SONDE_OK) {
		struct sonde_bytes ahead = bytes;
		uint64_t tag = item.value;

		if (item.type != SONDE_CBOR_TAG)
			continue;
		if (tag == ZTS_TAG_INFO || tag == ZTS_TAG_INFO_DOCUMENT)
			status = note_info(part, &bytes, err);
		else if ((tag == ZTS_TAG_STRING || tag == ZTS_TAG_EXCEPTION_REF) &&
			 sonde_cbor_next(&ahead, &item, NULL) == SONDE_OK &&
			 item.type == SONDE_CBOR_UINT)
			status = note_missing(part, item.value, err);
	}
	return status;
}

/* A chunk with these stored bytes. */
static enum sonde_status put_stored(struct salvage *salvage, const void *stored, size_t stored_size,
				    size_t size, uint64_t from, struct sonde_error *err)
{
	struct zts_part_recovery *part = salvage->part;
	struct zts_chunk chunk = {
		.stored_size = (uint32_t)stored_size,
		.size = (uint32_t)size,
		.crc = sonde_crc32(0, stored, stored_size),
	};
	uint8_t header[ZTS_CHUNK_HEADER_SIZE];
	enum sonde_status status = note_moved(part, from, err);

	zts_put_chunk_header(header, &chunk);
	if (status == SONDE_OK)
		status = sonde_output_write(&part->data, header, sizeof(header), err);
	if (status == SONDE_OK)
		status = sonde_output_write(&part->data, stored, stored_size, err);
	return status;
}

/* A chunk with this content, packed as the file's header says. */
static enum sonde_status put_content(struct salvage *salvage, const char *content, size_t size,
				     uint64_t from, struct sonde_error *err)
{
	struct zts_part_recovery *part = salvage->part;
	enum sonde_status status = note_references(part, content, size, err);

	sonde_buffer_clear(&salvage->packed);
	if (status == SONDE_OK)
		status = sonde_codec_compress(&part->codec, part->chunks.codec, content, size,
					      &salvage->packed, err);
	if (status == SONDE_OK)
		status = put_stored(salvage, salvage->packed.data, salvage->packed.size, size, from,
				    err);
	part->traces++;
	return status;
}

/* A whole chunk as it is, unless it is packed in another way than the others. */
static enum sonde_status put_chunk(struct salvage *salvage, const struct zts_chunk *chunk,
				   const char *content, struct sonde_error *err)
{
	struct zts_part_recovery *part = salvage->part;
	const uint8_t *stored = part->chunks.file.data + chunk->offset + ZTS_CHUNK_HEADER_SIZE;
	enum sonde_status status;
	char *place;

	sonde_buffer_clear(&salvage->trial);
	place = sonde_buffer_reserve(&salvage->trial, chunk->size);
	if (!place)
		return sonde_fail_nomem(err);
	status = sonde_codec_decompress(&part->codec, part->chunks.codec, stored,
					chunk->stored_size, place, chunk->size, NULL);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status < 0)
		return put_content(salvage, content, chunk->size, chunk->offset, err);
	status = note_references(part, content, chunk->size, err);
	part->traces++;
	return status < 0 ? status :
			    put_stored(salvage, stored, chunk->stored_size, chunk->size,
				       chunk->offset, err);
}

/* The end of an open record: its stop, how many calls, and the break. */
static void close_record(struct sonde_buffer *out, const struct zts_record *record, uint64_t stop)
{
	sonde_cbor_put_head(out, SONDE_CBOR_TAG, ZTS_TAG_INFO);
	sonde_cbor_put_head(out, SONDE_CBOR_MAP, 1);
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, ZTS_INFO_STOP);
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, stop);
	sonde_cbor_put_head(out, SONDE_CBOR_TAG, ZTS_TAG_INFO);
	sonde_cbor_put_head(out, SONDE_CBOR_MAP, 1);
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, ZTS_INFO_CALLS);
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, record->records);
	sonde_buffer_put_char(out, (char)0xff);
}

/*
 * How many bytes of a content are whole items of whole or open records, from its start on. *open is
 * how many records are open there, *records how many have begun.
 */
static size_t measure(const struct sonde_buffer *content, uint32_t *open, uint32_t *records)
{
	struct sonde_bytes bytes = sonde_bytes_of(content->data, content->size);
	size_t safe = 0;

	*open = *records = 0;
	while (sonde_bytes_left(&bytes)) {
		uint8_t first = bytes.data[bytes.position];
		bool is_record = sonde_bytes_left(&bytes) > 1 && first == 0xc8 &&
				 bytes.data[bytes.position + 1] == 0x9f;

		if (is_record) {
			bytes.position += 2;
			++*open;
			++*records;
		} else if (first == 0xff && *open) {
			bytes.position++;
			--*open;
		} else if (!*open || sonde_cbor_skip(&bytes, 64, NULL) != SONDE_OK) {
			break;
		}
		safe = bytes.position;
	}
	return safe;
}

/* The latest time known of an open record: of its own start, of its calls, or `last`. */
static uint64_t last_time(const struct zts_tree *tree, uint32_t record, uint64_t last)
{
	const struct zts_record *records = tree->records.items;

	if (records[record].start > last)
		last = records[record].start;
	for (size_t i = (size_t)record + 1; i < tree->records.count; i += records[i].records)
		if (records[i].stop > last)
			last = records[i].stop;
	return last;
}

/* The records that are open at the end of what a tree was decoded from, innermost first. */
static void close_open(struct salvage *salvage, struct sonde_buffer *content, uint32_t open)
{
	const struct zts_record *records = salvage->tree.records.items;
	uint32_t record = (uint32_t)salvage->tree.records.count - 1;
	uint64_t stop = 0;

	while (record != SONDE_NONE && records[record].depth + 1 > open)
		record = records[record].parent;
	for (; record != SONDE_NONE; record = records[record].parent) {
		stop = last_time(&salvage->tree, record, stop);
		close_record(content, &records[record], stop);
	}
}

/* Keeps the beginning of a content that is damaged or goes on in a chunk that is lost. */
static enum sonde_status put_beginning(struct salvage *salvage, struct sonde_buffer *content,
				       uint64_t from, struct sonde_error *err)
{
	uint32_t open, records;
	size_t safe = measure(content, &open, &records);
	struct sonde_error fault;
	enum sonde_status status;

	salvage->part->dropped += content->size;
	if (!records)
		return SONDE_OK;
	status = zts_tree_decode(&salvage->tree, (const uint8_t *)content->data, safe, &fault);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status < 0 || salvage->tree.records.count != records || salvage->tree.open != open ||
	    salvage->tree.records.items[0].trace == SONDE_NONE)
		return SONDE_OK; /* nothing that begins a trace */
	salvage->part->dropped -= safe;
	content->size = safe;
	if (open)
		close_open(salvage, content, open);
	if (content->failed)
		return sonde_fail_nomem(err);
	return put_content(salvage, content->data, content->size, from, err);
}

/* Traces that lie whole inside a content whose beginning is lost. */
static enum sonde_status put_inner(struct salvage *salvage, const struct sonde_buffer *content,
				   uint64_t from, struct sonde_error *err)
{
	struct zts_tree *tree = &salvage->tree;
	size_t end = 0;
	enum sonde_status status =
		zts_tree_decode(tree, (const uint8_t *)content->data, content->size, err);

	if (status == SONDE_NOMEM)
		return status;
	status = SONDE_OK;
	salvage->part->dropped += content->size;
	for (size_t i = 0; i < tree->traces.count && status == SONDE_OK; i++) {
		const struct zts_record *record =
			&tree->records.items[tree->traces.items[i].record];
		struct sonde_bytes bytes = sonde_bytes_of(content->data, content->size);

		if (record->offset < end)
			continue; /* inside the one before */
		bytes.position = record->offset;
		if (sonde_cbor_skip(&bytes, NESTING_MAX, NULL) != SONDE_OK)
			continue;
		end = bytes.position;
		salvage->part->dropped -= end - record->offset;
		status = put_content(salvage, content->data + record->offset, end - record->offset,
				     from, err);
	}
	return status;
}

static void clear_pending(struct pending *pending)
{
	pending->chunks.count = 0;
	sonde_buffer_clear(&pending->content);
	pending->open = 0;
}

/* The trace at hand goes on in a chunk that is not there. */
static enum sonde_status break_pending(struct salvage *salvage, struct sonde_error *err)
{
	struct pending *pending = &salvage->pending;
	enum sonde_status status = SONDE_OK;

	if (pending->chunks.count)
		status = put_beginning(salvage, &pending->content, pending->chunks.items[0].offset,
				       err);
	clear_pending(pending);
	return status;
}

/* All chunks of a trace are there. */
static enum sonde_status finish_pending(struct salvage *salvage, struct sonde_error *err)
{
	struct pending *pending = &salvage->pending;
	enum sonde_status status = SONDE_OK;
	size_t at = 0;

	for (size_t i = 0; i < pending->chunks.count && status == SONDE_OK; i++) {
		status = put_chunk(salvage, &pending->chunks.items[i], pending->content.data + at,
				   err);
		at += pending->chunks.items[i].size;
	}
	clear_pending(pending);
	return status;
}

static enum sonde_status add_pending(struct salvage *salvage, const struct zts_chunk *chunk,
				     int64_t open, struct sonde_error *err)
{
	struct pending *pending = &salvage->pending;
	struct zts_chunk *place = sonde_vec_push(&pending->chunks);

	if (!place)
		return sonde_fail_nomem(err);
	*place = *chunk;
	pending->open += open;
	sonde_buffer_put(&pending->content, salvage->content.data, salvage->content.size);
	return pending->content.failed ? sonde_fail_nomem(err) : SONDE_OK;
}

/* A content that stands by itself: as it is where nothing is wrong in it. */
static enum sonde_status take_whole(struct salvage *salvage, const struct zts_chunk *chunk,
				    struct sonde_error *err)
{
	struct sonde_buffer *content = &salvage->content;
	struct sonde_error fault;
	enum sonde_status status = zts_tree_decode(&salvage->tree, (const uint8_t *)content->data,
						   content->size, &fault);

	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status == SONDE_OK && salvage->tree.open)
		return add_pending(salvage, chunk, salvage->tree.open, err);
	if (status == SONDE_OK && salvage->tree.records.count)
		return put_chunk(salvage, chunk, content->data, err);
	if (salvage->tree.unopened)
		return put_inner(salvage, content, chunk->offset, err);
	return put_beginning(salvage, content, chunk->offset, err);
}

/* As zts_rebuild() joins them: see there. */
static enum sonde_status take_chunk(struct salvage *salvage, const struct zts_chunk *chunk,
				    struct sonde_error *err)
{
	struct pending *pending = &salvage->pending;
	struct zts_balance balance;
	enum sonde_status status;

	if (!pending->chunks.count)
		return take_whole(salvage, chunk, err);
	balance = zts_weigh(&salvage->content);
	if (balance.begins_trace && balance.lowest == 0 && balance.end == 0)
		return take_whole(salvage, chunk, err);
	if ((balance.begins_trace && balance.lowest == 0) ||
	    salvage->content.size > JOINED_MAX - pending->content.size) {
		status = break_pending(salvage, err);
		return status < 0 ? status : take_whole(salvage, chunk, err);
	}
	status = add_pending(salvage, chunk, balance.end, err);
	if (status < 0 || pending->open > 0)
		return status;
	status = zts_tree_decode(&salvage->tree, (const uint8_t *)pending->content.data,
				 pending->content.size, err);
	if (status == SONDE_NOMEM)
		return status;
	return status < 0 ? break_pending(salvage, err) : finish_pending(salvage, err);
}

static enum sonde_status walk(struct salvage *salvage, struct sonde_error *err)
{
	struct zts_part_recovery *part = salvage->part;
	uint64_t offset = ZTS_DATA_HEADER_SIZE;
	struct zts_chunk chunk;
	enum sonde_status status;

	for (;;) {
		bool is_next;

		status = zts_chunks_at(&part->chunks, offset, &chunk, err);
		is_next = status == SONDE_OK;
		if (status < 0 && status != SONDE_NOMEM)
			status =
				zts_chunks_resync(&part->chunks, &part->codec, offset, &chunk, err);
		if (status)
			break;
		if (!is_next) {
			part->dropped += chunk.offset - offset;
			status = break_pending(salvage, err);
			if (status < 0)
				return status;
		}
		sonde_buffer_clear(&salvage->content);
		status = zts_chunks_read(&part->chunks, &part->codec, &chunk, &salvage->content,
					 err);
		if (status == SONDE_NOMEM)
			return status;
		if (status == SONDE_OK) {
			offset = zts_chunk_next(&chunk);
			status = take_chunk(salvage, &chunk, err);
		} else {
			/*
			 * its sizes may be what is damaged: the next one is looked for from here on
			 */
			status = break_pending(salvage, err);
			if (status == SONDE_OK)
				status = zts_chunks_resync(&part->chunks, &part->codec,
							   chunk.offset + 1, &chunk, err);
			if (status == SONDE_END)
				break;
			part->dropped += chunk.offset - offset;
			offset = chunk.offset;
		}
		if (status < 0)
			return status;
	}
	if (status == SONDE_NOMEM)
		return status;
	if (part->chunks.file.size > offset)
		part->dropped += part->chunks.file.size - offset;
	return break_pending(salvage, err);
}

enum sonde_status zts_recover_data(struct zts_part_recovery *part, struct sonde_error *err)
{
	struct salvage salvage = { .part = part };
	char *path = sonde_path_join(part->to, ZTS_DATA_NAME);
	uint8_t header[ZTS_DATA_HEADER_SIZE];
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	zts_put_data_header(header, ZTS_FLAG_CRC | (part->chunks.codec == SONDE_CODEC_LZ4 ?
							    ZTS_FLAG_CODEC_LZ4 :
						    part->chunks.codec == SONDE_CODEC_DEFLATE ?
							    ZTS_FLAG_CODEC_ZLIB :
							    0));
	status = sonde_output_open(&part->data, path, err);
	free(path);
	if (status == SONDE_OK)
		status = sonde_output_write(&part->data, header, sizeof(header), err);
	if (status == SONDE_OK)
		status = walk(&salvage, err);
	if (status == SONDE_OK)
		status = sonde_output_close(&part->data, err);
	clear_pending(&salvage.pending);
	sonde_vec_release(&salvage.pending.chunks);
	sonde_buffer_release(&salvage.pending.content);
	sonde_buffer_release(&salvage.content);
	sonde_buffer_release(&salvage.packed);
	sonde_buffer_release(&salvage.trial);
	zts_tree_release(&salvage.tree);
	return status;
}
