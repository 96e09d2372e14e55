/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs WALs into an FMI: their entries in reverse order as one text, its suffixes sorted by
 * libdivsufsort, the characters before them in blocks with ranks.
 */
#include <divsufsort.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "base/put.h"
#include "codec/lz4_block.h"
#include "formats/zts/zts_fmi.h"
#include "formats/zts/zts_layout.h"
#include "formats/zts/zts_wal.h"

/* A character repeated this often becomes a block without data, as existing programs have it. */
#define RUN_MIN 256u
/* libdivsufsort counts with 32 bits. */
#define TEXT_MAX INT32_MAX

struct packing {
	uint8_t *text; /* then, in its place, the transformed text */
	size_t size;
	uint32_t first_id, words;
	uint32_t whole_text;
	struct sonde_lz4_packer *packer;
	struct sonde_buffer descriptors, blocks;
	uint32_t block_count;
	uint32_t ranks[256]; /* before the block */
};

static enum sonde_status bad_id(uint32_t id, uint32_t expected, size_t offset,
				struct sonde_error *err)
{
	return sonde_fail(err, SONDE_CORRUPT, offset,
			  "expected an entry with id %u or more, found %u: ids must increase",
			  expected, id);
}

/* How many bytes the entries have together, and which ids. */
static enum sonde_status measure(struct packing *packing, const struct zts_wal_bytes *wal,
				 bool *any, struct sonde_error *err)
{
	struct zts_wal_entry entry = { .next = 4 };
	size_t offset = 4;

	for (;; offset = entry.next) {
		enum sonde_status status = zts_wal_at(wal->bytes, wal->size, offset, &entry, err);
		uint32_t expected = packing->first_id + packing->words;

		/* What a killed writer left unfinished is not in the index. */
		if (status == SONDE_END || status == SONDE_TRUNCATED)
			break;
		if (status < 0)
			return status;
		if (!*any)
			packing->first_id = expected = entry.id;
		if (entry.id < expected)
			return bad_id(entry.id, expected, offset, err);
		*any = true;
		packing->words = entry.id - packing->first_id + 1;
	}
	packing->size += offset > 4 ? offset - 4 : 0;
	return SONDE_OK;
}

/* The entries of a WAL, the last one first, up to `end`. */
static uint8_t *put_reversed(const struct zts_wal_bytes *wal, uint8_t *end)
{
	struct zts_wal_entry entry = { .next = 4 };

	/* They fill the place from its end, as they come. */
	while (zts_wal_at(wal->bytes, wal->size, entry.next, &entry, NULL) == SONDE_OK) {
		end -= entry.next - entry.offset;
		memcpy(end, wal->bytes + entry.offset, entry.next - entry.offset);
	}
	return end;
}

static enum sonde_status gather(struct packing *packing, const struct zts_wal_bytes *wals,
				size_t count, struct sonde_error *err)
{
	bool any = false;
	uint8_t *end;

	packing->size = 2;
	for (size_t i = 0; i < count; i++) {
		enum sonde_status status;

		if (wals[i].size < 4 || memcmp(wals[i].bytes, ZTS_WAL_MAGIC, 4) != 0)
			return sonde_fail(err, SONDE_FORMAT, 0,
					  "expected a WAL, found something else");
		status = measure(packing, &wals[i], &any, err);
		if (status < 0)
			return status;
	}
	if (packing->words > packing->size)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "ids from %u on for %zu bytes of entries: they must be dense",
				  packing->first_id, packing->size);
	if (packing->size > TEXT_MAX)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "%zu bytes of texts are too many for one index; pack fewer files",
				  packing->size);
	packing->text = malloc(packing->size);
	if (!packing->text)
		return sonde_fail_nomem(err);
	end = packing->text + packing->size;
	*--end = 0;
	for (size_t i = 0; i < count; i++)
		end = put_reversed(&wals[i], end);
	*--end = ZTS_WAL_END_MARK;
	return SONDE_OK;
}

/*
 * libdivsufsort leaves out the character before the whole text, which is its last one, and puts it
 * in front; here it is where it belongs.
 */
static enum sonde_status transform(struct packing *packing, struct sonde_error *err)
{
	saidx_t *suffixes = malloc((packing->size + 1) * sizeof(*suffixes));
	saidx_t place;
	uint8_t last;

	if (!suffixes || !packing->text) {
		free(suffixes);
		return sonde_fail_nomem(err);
	}
	last = packing->text[packing->size - 1];
	place = divbwt(packing->text, packing->text, suffixes, (saidx_t)packing->size);
	free(suffixes);
	if (place <= 0)
		return sonde_fail_nomem(err);
	packing->whole_text = (uint32_t)place - 1;
	memmove(packing->text, packing->text + 1, packing->whole_text);
	packing->text[packing->whole_text] = last;
	return SONDE_OK;
}

static uint32_t run_length(const struct packing *packing, size_t start)
{
	size_t end = start + 1;

	while (end < packing->size && packing->text[end] == packing->text[start])
		end++;
	return (uint32_t)(end - start);
}

/* Where a data block ends: before a long run, and before it would have all 256 characters. */
static size_t data_end(const struct packing *packing, size_t start)
{
	size_t limit = packing->size - start < ZTS_FMI_BLOCK_SIZE ? packing->size :
								    start + ZTS_FMI_BLOCK_SIZE;
	bool seen[256] = { false };
	unsigned int distinct = 0;

	for (size_t i = start; i < limit;) {
		uint32_t run = run_length(packing, i);

		if (i > start && run >= RUN_MIN)
			return i;
		if (!seen[packing->text[i]] && ++distinct == 256)
			return i;
		seen[packing->text[i]] = true;
		i += run;
	}
	return limit;
}

static void put_descriptor(struct packing *packing, size_t place, size_t first, uint32_t value,
			   unsigned int rank_count, unsigned int flags)
{
	sonde_put_u32le(&packing->descriptors, (uint32_t)place);
	sonde_put_u32le(&packing->descriptors, (uint32_t)first);
	sonde_put_u32le(&packing->descriptors, value);
	sonde_buffer_put_char(&packing->descriptors, (char)rank_count);
	sonde_buffer_put_char(&packing->descriptors, (char)flags);
	packing->block_count++;
}

/* Characters, their ranks and their counts; returns how many characters. */
static unsigned int put_ranks(struct packing *packing, const uint16_t counts[256], bool full)
{
	unsigned int count = 0;
	uint8_t bytes[256 * 7], chars[256];

	for (unsigned int i = 0; i < 256; i++)
		if (counts[i] || (full && packing->ranks[i]))
			chars[count++] = (uint8_t)i;
	if (count == 256) {
		/* There is room for 255: the first that is not in the block goes, 00 mostly. */
		unsigned int gone = 0;

		while (counts[gone])
			gone++;
		memmove(chars + gone, chars + gone + 1, 255 - gone);
		count = 255;
	}
	memcpy(bytes, chars, count);
	for (unsigned int i = 0; i < count; i++) {
		uint32_t rank = packing->ranks[chars[i]];

		sonde_store_u32le(bytes + count + 4 * i, counts[chars[i]] ? rank : 0u - rank);
		sonde_store_u16le(bytes + count * 5 + 2 * i, counts[chars[i]]);
	}
	sonde_buffer_put(&packing->blocks, bytes, count * 7u);
	return count;
}

static void put_data_block(struct packing *packing, size_t start, size_t size)
{
	const uint8_t *data = packing->text + start;
	bool full = packing->block_count % ZTS_FMI_FULL_RANKS_EVERY == 0;
	unsigned int flags = full ? ZTS_FMI_DATA | ZTS_FMI_FULL_RANKS : ZTS_FMI_DATA;
	size_t place = packing->blocks.size, stored_size;
	uint8_t stored[ZTS_FMI_BLOCK_SIZE];
	uint16_t counts[256] = { 0 };
	unsigned int rank_count;

	for (size_t i = 0; i < size; i++)
		counts[data[i]]++;
	rank_count = put_ranks(packing, counts, full);
	for (size_t i = 0; i < 256; i++)
		packing->ranks[i] += counts[i];
	stored_size = sonde_lz4_block_pack(packing->packer, data, size, stored, size - 1);
	if (stored_size) {
		flags |= ZTS_FMI_LZ4;
		data = stored;
	} else {
		stored_size = size;
	}
	sonde_buffer_put(&packing->blocks, data, stored_size);
	put_descriptor(packing, place, start, sonde_crc32(0, data, stored_size), rank_count, flags);
}

static void put_blocks(struct packing *packing)
{
	size_t position = 0;

	while (position < packing->size) {
		uint8_t character = packing->text[position];
		uint32_t run = run_length(packing, position);
		size_t end;

		/* Blocks that have a full map must have data. */
		if (run >= RUN_MIN && packing->block_count % ZTS_FMI_FULL_RANKS_EVERY != 0) {
			put_descriptor(packing, packing->blocks.size, position,
				       packing->ranks[character], character, 0);
			packing->ranks[character] += run;
			position += run;
			continue;
		}
		end = data_end(packing, position);
		put_data_block(packing, position, end - position);
		position = end;
	}
}

static enum sonde_status put_file(struct packing *packing, struct sonde_buffer *out,
				  struct sonde_error *err)
{
	size_t start = out->size;
	size_t tables = ZTS_FMI_HEADER_SIZE + ZTS_FMI_RANKS * 4 + packing->descriptors.size;
	uint8_t *header;

	if (packing->descriptors.failed || packing->blocks.failed)
		return sonde_fail_nomem(err);
	if (tables + packing->blocks.size > UINT32_MAX)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "the index would have more than 4 GiB; pack fewer files");
	for (uint32_t i = 0; i < packing->block_count; i++) {
		uint8_t *place =
			(uint8_t *)packing->descriptors.data + (size_t)i * ZTS_FMI_DESCRIPTOR_SIZE;

		sonde_store_u32le(place, sonde_load_u32le(place) + (uint32_t)tables);
	}
	sonde_put_u32le(out, ZTS_FMI_MAGIC);
	sonde_put_u32le(out, packing->block_count);
	sonde_put_u32le(out, (uint32_t)packing->size);
	sonde_put_u32le(out, packing->words);
	sonde_put_u32le(out, packing->first_id);
	sonde_put_u32le(out, 0);
	sonde_put_u32le(out, 0);
	sonde_put_u32le(out, packing->whole_text);
	for (size_t i = 0; i < ZTS_FMI_RANKS; i++)
		sonde_put_u32le(out, packing->ranks[i]);
	sonde_buffer_put(out, packing->descriptors.data, packing->descriptors.size);
	if (out->failed)
		return sonde_fail_nomem(err);
	header = (uint8_t *)out->data + start;
	sonde_store_u32le(header + 24, sonde_crc32(0, header, tables));
	sonde_buffer_put(out, packing->blocks.data, packing->blocks.size);
	return out->failed ? sonde_fail_nomem(err) : SONDE_OK;
}

enum sonde_status zts_fmi_pack(const struct zts_wal_bytes *wals, size_t count,
			       struct sonde_buffer *out, struct sonde_error *err)
{
	struct packing packing = { .packer = sonde_lz4_packer_new() };
	enum sonde_status status;

	status = packing.packer ? gather(&packing, wals, count, err) : sonde_fail_nomem(err);
	if (status == SONDE_OK)
		status = transform(&packing, err);
	if (status == SONDE_OK && packing.text) {
		put_blocks(&packing);
		status = put_file(&packing, out, err);
	}
	free(packing.text);
	sonde_lz4_packer_free(packing.packer);
	sonde_buffer_release(&packing.descriptors);
	sonde_buffer_release(&packing.blocks);
	return status;
}
