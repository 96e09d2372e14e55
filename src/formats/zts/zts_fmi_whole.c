/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes over a whole FMI: unpacking it into a WAL, and checking all of it. Neither trusts the
 * ranks in the file: they follow from the characters.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "codec/lz4_block.h"
#include "formats/zts/zts_fmi_private.h"
#include "formats/zts/zts_wal.h"

/* The characters of any block, without keeping them; NULL: damaged. */
static const uint8_t *characters(const struct zts_fmi *fmi, const struct fmi_block *block,
				 uint8_t scratch[ZTS_FMI_BLOCK_SIZE])
{
	const uint8_t *stored = fmi_block_stored(fmi, block);
	size_t size = fmi_block_size(block);

	if (!(block->flags & ZTS_FMI_LZ4))
		return stored;
	if (!sonde_lz4_block_unpack(stored, fmi_block_stored_size(block), scratch, size))
		return NULL;
	return scratch;
}

/*
 * For every position the next one in the low 32 bits and the character above them, 5 bytes each: a
 * walk needs one place in memory a step. 3 bytes more than that are allocated.
 */
#define STEP_SIZE 5u

static bool put_steps(const struct zts_fmi *fmi, uint8_t *steps)
{
	uint8_t scratch[ZTS_FMI_BLOCK_SIZE];
	uint32_t next[256];

	memcpy(next, fmi->before, sizeof(next));
	for (uint32_t i = 0; i < fmi->block_count; i++) {
		const struct fmi_block *block = &fmi->blocks[i];
		bool has_data = block->flags & ZTS_FMI_DATA;
		const uint8_t *bytes = has_data ? characters(fmi, block, scratch) : NULL;
		uint32_t size = fmi_block_size(block);

		if (has_data && !bytes)
			return false;
		for (uint32_t k = 0; k < size; k++, steps += STEP_SIZE) {
			uint8_t character = bytes ? bytes[k] : block->rank_count;

			sonde_store_u64le(steps, next[character]++ | (uint64_t)character << 32);
		}
	}
	/*
	 * Every character as often as the header says: then steps are a permutation, and no walk
	 * is endless.
	 */
	return !memcmp(next, fmi->before + 1, sizeof(next));
}

/*
 * Entries are read from their end: each walk begins at an end mark and goes to the one before it.
 * Many at once, so that the waiting for memory overlaps.
 */
#define WALK_COUNT 16

struct walk {
	uint32_t position;
	struct sonde_buffer bytes; /* what was read: reversed */
};

struct unpacking {
	const struct zts_fmi *fmi;
	const uint8_t *steps;
	uint32_t next_end;	     /* the next end mark to begin at */
	struct sonde_buffer entries; /* in the order they were found */
	size_t *places;		     /* by id: of an entry, plus 1 */
	struct walk walks[WALK_COUNT];
	bool damaged;
};

static bool begin_walk(struct unpacking *unpacking, struct walk *walk)
{
	if (unpacking->next_end == unpacking->fmi->before[ZTS_WAL_END_MARK + 1])
		return false;
	walk->position = unpacking->next_end++;
	sonde_buffer_clear(&walk->bytes);
	return true;
}

static void end_walk(struct unpacking *unpacking, struct walk *walk)
{
	struct sonde_buffer *entries = &unpacking->entries;
	const struct zts_fmi *fmi = unpacking->fmi;
	size_t start = entries->size, size = walk->bytes.size;
	struct zts_wal_entry entry;
	char *place;

	if (!size)
		return; /* the start of the text */
	place = sonde_buffer_reserve(entries, size + 1);
	if (!place || walk->bytes.failed) {
		entries->failed = true;
		return;
	}
	for (size_t i = 0; i < size; i++)
		place[i] = walk->bytes.data[size - 1 - i];
	place[size] = ZTS_WAL_END_MARK;
	if (zts_wal_at((const uint8_t *)place, size + 1, 0, &entry, NULL) != SONDE_OK ||
	    entry.id < fmi->first_id || entry.id - fmi->first_id >= fmi->words ||
	    unpacking->places[entry.id - fmi->first_id]) {
		unpacking->damaged = true;
		return;
	}
	entries->size += size + 1;
	unpacking->places[entry.id - fmi->first_id] = start + 1;
}

static void walk_all(struct unpacking *unpacking)
{
	size_t count = 0;

	while (count < WALK_COUNT && begin_walk(unpacking, &unpacking->walks[count]))
		count++;
	while (count) {
		for (size_t i = 0; i < count; i++) {
			struct walk *walk = &unpacking->walks[i];
			uint64_t step = sonde_load_u64le(unpacking->steps +
							 (size_t)walk->position * STEP_SIZE);
			uint8_t character = (uint8_t)(step >> 32);

			walk->position = (uint32_t)step;
			if (character != ZTS_WAL_END_MARK && character != 0) {
				sonde_buffer_put_char(&walk->bytes, (char)character);
				continue;
			}
			end_walk(unpacking, walk);
			if (begin_walk(unpacking, walk))
				continue;
			/*
			 * No more to begin: the last one takes its place, and its turn next time.
			 */
			struct walk ended = *walk;

			*walk = unpacking->walks[--count];
			unpacking->walks[count] = ended;
		}
	}
}

static void put_entries(const struct unpacking *unpacking, struct sonde_buffer *wal)
{
	const struct zts_fmi *fmi = unpacking->fmi;

	sonde_buffer_reserve(wal, unpacking->entries.size + 4);
	sonde_buffer_put(wal, ZTS_WAL_MAGIC, 4);
	for (uint32_t i = 0; i < fmi->words; i++) {
		size_t place = unpacking->places[i];
		const char *entry, *end;

		if (!place)
			continue;
		entry = unpacking->entries.data + (place - 1);
		end = memchr(entry, ZTS_WAL_END_MARK, unpacking->entries.size - (place - 1));
		sonde_buffer_put(wal, entry, (size_t)(end - entry) + 1);
	}
}

enum sonde_status zts_fmi_unpack(const struct zts_fmi *fmi, struct sonde_buffer *wal,
				 struct sonde_error *err)
{
	struct unpacking unpacking = { .fmi = fmi };
	uint8_t *steps = malloc((size_t)fmi->text_size * STEP_SIZE + 8);
	enum sonde_status status = SONDE_OK;

	unpacking.places = calloc((size_t)fmi->words + 1, sizeof(*unpacking.places));
	unpacking.steps = steps;
	if (!steps || !unpacking.places) {
		status = sonde_fail_nomem(err);
	} else if (!put_steps(fmi, steps)) {
		status = fmi_damaged(fmi, err);
	} else {
		unpacking.next_end = fmi->before[ZTS_WAL_END_MARK];
		walk_all(&unpacking);
		if (unpacking.entries.failed)
			status = sonde_fail_nomem(err);
		else if (unpacking.damaged)
			status = fmi_damaged(fmi, err);
		else
			put_entries(&unpacking, wal);
		if (status == SONDE_OK && wal->failed)
			status = sonde_fail_nomem(err);
	}
	for (size_t i = 0; i < WALK_COUNT; i++)
		sonde_buffer_release(&unpacking.walks[i].bytes);
	sonde_buffer_release(&unpacking.entries);
	free(unpacking.places);
	free(steps);
	return status;
}

static bool block_crc_fits(const struct zts_fmi *fmi, const struct fmi_block *block,
			   const uint8_t *bytes)
{
	/*
	 * Existing programs sum up what is stored; the characters, should they differ, are fine
	 * too.
	 */
	return sonde_crc32(0, fmi_block_stored(fmi, block), fmi_block_stored_size(block)) ==
		       block->value ||
	       sonde_crc32(0, bytes, fmi_block_size(block)) == block->value;
}

/* Whether the ranks of a block fit with the characters before it, and its counts with its own. */
static bool ranks_fit(const struct zts_fmi *fmi, const struct fmi_block *block,
		      const uint32_t ranks[256], const uint32_t counts[256])
{
	const uint8_t *chars = fmi_block_chars(fmi, block);
	bool seen[256] = { false };
	uint32_t all = 0;

	for (size_t i = 0; i < block->rank_count; i++) {
		uint8_t character = chars[i];
		uint32_t rank = sonde_load_u32le(chars + block->rank_count + 4 * i);
		uint32_t count = sonde_load_u16le(chars + block->rank_count * 5u + 2 * i);
		uint32_t expected = ranks[character];

		if (!counts[character])
			expected = 0u - expected;
		if (rank != expected || count != counts[character] || seen[character])
			return false;
		seen[character] = true;
		all += count;
	}
	return all == fmi_block_size(block);
}

static enum sonde_status bad_block(const struct zts_fmi *fmi, uint32_t number, const char *what,
				   struct sonde_error *err)
{
	sonde_fail(err, SONDE_CORRUPT, fmi->blocks[number].place,
		   "block %u of %u: %s; texts that lead through it are lost", number,
		   fmi->block_count, what);
	if (err)
		sonde_error_set_file(err, fmi->path);
	return SONDE_CORRUPT;
}

static enum sonde_status verify_block(const struct zts_fmi *fmi, uint32_t number,
				      uint32_t ranks[256], struct sonde_error *err)
{
	const struct fmi_block *block = &fmi->blocks[number];
	uint32_t size = fmi_block_size(block), counts[256] = { 0 };
	uint8_t scratch[ZTS_FMI_BLOCK_SIZE];
	const uint8_t *bytes;

	if (!(block->flags & ZTS_FMI_DATA)) {
		if (block->value != ranks[block->rank_count])
			return bad_block(fmi, number, "the rank of its character is wrong", err);
		ranks[block->rank_count] += size;
		return SONDE_OK;
	}
	bytes = characters(fmi, block, scratch);
	if (!bytes)
		return bad_block(fmi, number, "it cannot be decompressed", err);
	if (!block_crc_fits(fmi, block, bytes))
		return bad_block(fmi, number, "its checksum differs", err);
	for (uint32_t i = 0; i < size; i++)
		counts[bytes[i]]++;
	if (!ranks_fit(fmi, block, ranks, counts))
		return bad_block(fmi, number, "its ranks are wrong", err);
	for (size_t i = 0; i < 256; i++)
		ranks[i] += counts[i];
	return SONDE_OK;
}

enum sonde_status zts_fmi_verify(const struct zts_fmi *fmi, struct sonde_error *err)
{
	uint32_t ranks[256] = { 0 };

	if (fmi->header_crc != fmi->found_crc) {
		sonde_fail(err, SONDE_CORRUPT, 24,
			   "expected the checksum %08x of header and descriptors, found %08x",
			   fmi->header_crc, fmi->found_crc);
		if (err)
			sonde_error_set_file(err, fmi->path);
		return SONDE_CORRUPT;
	}
	for (uint32_t i = 0; i < fmi->block_count; i++) {
		enum sonde_status status = verify_block(fmi, i, ranks, err);

		if (status < 0)
			return status;
	}
	for (size_t i = 0; i < 256; i++)
		if (ranks[i] != fmi->before[i + 1] - fmi->before[i])
			return fmi_damaged(fmi, err);
	return SONDE_OK;
}
