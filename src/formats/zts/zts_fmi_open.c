/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens an FMI: every offset and count in its descriptors is checked, so that nobody else need; its
 * content is looked at when it is needed.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "codec/lz4_block.h"
#include "formats/zts/zts_fmi_private.h"

#define TABLES_SIZE (ZTS_FMI_HEADER_SIZE + ZTS_FMI_RANKS * 4)
#define CRC_OFFSET 24
/* A text may be this long, or so many times as long as its file: far beyond what texts pack to. */
#define TEXT_SIZE_FREE (4u << 20)
#define TEXT_SIZE_FACTOR 1024u
/* More blocks than this without a full rank map, and looking back for a rank would take long. */
#define WITHOUT_RANKS_MAX 64

static enum sonde_status read_header(struct zts_fmi *fmi, struct sonde_error *err)
{
	struct sonde_bytes bytes = sonde_bytes_of(fmi->bytes, fmi->size);
	uint64_t sum = 0, first_id;

	if (sonde_bytes_u32le(&bytes) != ZTS_FMI_MAGIC || bytes.overrun)
		return sonde_fail(err, SONDE_FORMAT, 0,
				  "expected an FMI (0MFZ), found something else");
	if (fmi->size < TABLES_SIZE)
		return sonde_fail(err, SONDE_TRUNCATED, fmi->size,
				  "expected a header of %u bytes, found %zu", TABLES_SIZE,
				  fmi->size);
	fmi->block_count = sonde_bytes_u32le(&bytes);
	fmi->text_size = sonde_bytes_u32le(&bytes);
	fmi->words = sonde_bytes_u32le(&bytes);
	first_id = sonde_bytes_u64le(&bytes);
	fmi->header_crc = sonde_bytes_u32le(&bytes);
	fmi->whole_text = sonde_bytes_u32le(&bytes);
	if (fmi->text_size > TEXT_SIZE_FREE + (uint64_t)fmi->size * TEXT_SIZE_FACTOR)
		return sonde_fail(err, SONDE_CORRUPT, 8,
				  "%u bytes of text in a file of %zu are not possible",
				  fmi->text_size, fmi->size);
	if (first_id > UINT32_MAX || fmi->words > UINT32_MAX - first_id ||
	    fmi->words > fmi->text_size)
		return sonde_fail(err, SONDE_CORRUPT, 12,
				  "%u texts from id %llu in %u bytes are not possible", fmi->words,
				  (unsigned long long)first_id, fmi->text_size);
	fmi->first_id = (uint32_t)first_id;
	for (size_t i = 0; i < ZTS_FMI_RANKS; i++) {
		fmi->before[i] = (uint32_t)sum;
		sum += sonde_bytes_u32le(&bytes);
		if (sum > fmi->text_size)
			break;
	}
	fmi->before[256] = (uint32_t)sum;
	if (sum != fmi->text_size)
		return sonde_fail(err, SONDE_CORRUPT, ZTS_FMI_HEADER_SIZE,
				  "expected counts of %u characters, found %llu", fmi->text_size,
				  (unsigned long long)sum);
	if (fmi->block_count > (fmi->size - TABLES_SIZE) / ZTS_FMI_DESCRIPTOR_SIZE)
		return sonde_fail(err, SONDE_TRUNCATED, fmi->size, "%u blocks are not possible",
				  fmi->block_count);
	return SONDE_OK;
}

static void check_crc(struct zts_fmi *fmi)
{
	static const uint8_t zeros[4];
	size_t end = TABLES_SIZE + (size_t)fmi->block_count * ZTS_FMI_DESCRIPTOR_SIZE;
	uint32_t crc = sonde_crc32(0, fmi->bytes, CRC_OFFSET);

	crc = sonde_crc32(crc, zeros, sizeof(zeros));
	fmi->found_crc = sonde_crc32(crc, fmi->bytes + CRC_OFFSET + 4, end - CRC_OFFSET - 4);
}

/* Whether a block fits between its neighbours. */
static bool is_sound(const struct fmi_block *block)
{
	uint32_t size = fmi_block_size(block);

	if (block[1].place < block->place || block[1].first <= block->first)
		return false;
	if (!(block->flags & ZTS_FMI_DATA))
		return true;
	if (size > ZTS_FMI_BLOCK_SIZE || block[1].place - block->place < block->rank_count * 7u)
		return false;
	return block->flags & ZTS_FMI_LZ4 || fmi_block_stored_size(block) == size;
}

static enum sonde_status read_blocks(struct zts_fmi *fmi, struct sonde_error *err)
{
	struct sonde_bytes bytes = sonde_bytes_of(fmi->bytes, fmi->size);
	uint32_t without_ranks = 0, most_without = 0;

	fmi->blocks = calloc((size_t)fmi->block_count + 1, sizeof(*fmi->blocks));
	if (!fmi->blocks)
		return sonde_fail_nomem(err);
	bytes.position = TABLES_SIZE;
	for (uint32_t i = 0; i < fmi->block_count; i++) {
		struct fmi_block *block = &fmi->blocks[i];

		block->place = sonde_bytes_u32le(&bytes);
		block->first = sonde_bytes_u32le(&bytes);
		block->value = sonde_bytes_u32le(&bytes);
		block->rank_count = sonde_bytes_u8(&bytes);
		block->flags = sonde_bytes_u8(&bytes);
		/* A map of 255 may lack the 256th character. */
		without_ranks = block->flags & ZTS_FMI_DATA && block->flags & ZTS_FMI_FULL_RANKS &&
						block->rank_count < UINT8_MAX ?
					0 :
					without_ranks + 1;
		if (without_ranks > most_without)
			most_without = without_ranks;
	}
	fmi->blocks[fmi->block_count].place = (uint32_t)fmi->size;
	fmi->blocks[fmi->block_count].first = fmi->text_size;
	if (fmi->block_count ? fmi->blocks[0].first != 0 || fmi->blocks[0].place < bytes.position :
			       fmi->text_size != 0)
		return sonde_fail(err, SONDE_CORRUPT, TABLES_SIZE,
				  "the first block does not begin at the start of the text");
	for (uint32_t i = 0; i < fmi->block_count; i++)
		if (!is_sound(&fmi->blocks[i]))
			return sonde_fail(err, SONDE_CORRUPT,
					  TABLES_SIZE + (uint64_t)i * ZTS_FMI_DESCRIPTOR_SIZE,
					  "block %u does not fit between its neighbours", i);
	if (most_without > WITHOUT_RANKS_MAX) {
		fmi->ranks_at = calloc(fmi->block_count / ZTS_FMI_FULL_RANKS_EVERY + 1u,
				       sizeof(*fmi->ranks_at));
		if (!fmi->ranks_at)
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

/* Our own full rank maps, from the counts of the blocks. */
static void count_ranks(struct zts_fmi *fmi)
{
	uint32_t ranks[256] = { 0 };

	for (uint32_t i = 0; i < fmi->block_count; i++) {
		const struct fmi_block *block = &fmi->blocks[i];
		const uint8_t *chars = fmi_block_chars(fmi, block);
		const uint8_t *counts = chars + block->rank_count * 5u;

		if (i % ZTS_FMI_FULL_RANKS_EVERY == 0)
			memcpy(fmi->ranks_at[i / ZTS_FMI_FULL_RANKS_EVERY], ranks, sizeof(ranks));
		if (!(block->flags & ZTS_FMI_DATA)) {
			ranks[block->rank_count] += fmi_block_size(block);
			continue;
		}
		for (size_t k = 0; k < block->rank_count; k++)
			ranks[chars[k]] += sonde_load_u16le(counts + 2 * k);
	}
}

static enum sonde_status index_positions(struct zts_fmi *fmi, struct sonde_error *err)
{
	size_t count = fmi->text_size / ZTS_FMI_BLOCK_SIZE + 2;
	uint32_t block = 0;

	fmi->block_at = malloc(count * sizeof(*fmi->block_at));
	if (!fmi->block_at)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i + 1 < count; i++) {
		while (block + 1 < fmi->block_count &&
		       fmi->blocks[block + 1].first <= i * ZTS_FMI_BLOCK_SIZE)
			block++;
		fmi->block_at[i] = block;
	}
	fmi->block_at[count - 1] = fmi->block_count ? fmi->block_count - 1 : 0;
	return SONDE_OK;
}

static enum sonde_status open_bytes(struct zts_fmi *fmi, struct sonde_error *err)
{
	enum sonde_status status;

	if (fmi->size > UINT32_MAX)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "an FMI of more than 4 GiB cannot be");
	status = read_header(fmi, err);
	if (status < 0)
		return status;
	check_crc(fmi);
	status = read_blocks(fmi, err);
	if (status < 0)
		return status;
	if (fmi->ranks_at)
		count_ranks(fmi);
	return index_positions(fmi, err);
}

static enum sonde_status open_as(struct zts_fmi *fmi, const char *name, struct sonde_error *err)
{
	enum sonde_status status;

	fmi->path = strdup(name);
	if (!fmi->path)
		return sonde_fail_nomem(err);
	status = open_bytes(fmi, err);
	if (status < 0 && err)
		sonde_error_set_file(err, name);
	return status;
}

enum sonde_status zts_fmi_of(const uint8_t *bytes, size_t size, const char *name,
			     struct zts_fmi **fmi, struct sonde_error *err)
{
	struct zts_fmi *opened = calloc(1, sizeof(*opened));
	enum sonde_status status;

	*fmi = NULL;
	if (!opened)
		return sonde_fail_nomem(err);
	opened->bytes = bytes;
	opened->size = size;
	status = open_as(opened, name, err);
	if (status < 0)
		zts_fmi_free(opened);
	else
		*fmi = opened;
	return status;
}

enum sonde_status zts_fmi_open(const char *path, struct zts_fmi **fmi, struct sonde_error *err)
{
	struct zts_fmi *opened = calloc(1, sizeof(*opened));
	enum sonde_status status;

	*fmi = NULL;
	if (!opened)
		return sonde_fail_nomem(err);
	status = sonde_mapped_file_open(&opened->file, path, err);
	if (status == SONDE_OK) {
		opened->bytes = opened->file.data;
		opened->size = opened->file.size;
		status = open_as(opened, path, err);
	}
	if (status < 0)
		zts_fmi_free(opened);
	else
		*fmi = opened;
	return status;
}

void zts_fmi_free(struct zts_fmi *fmi)
{
	if (!fmi)
		return;
	if (fmi->blocks)
		for (uint32_t i = 0; i < fmi->block_count; i++)
			free(fmi->blocks[i].unpacked);
	free(fmi->blocks);
	free(fmi->block_at);
	free(fmi->ranks_at);
	free(fmi->path);
	sonde_mapped_file_release(&fmi->file);
	free(fmi);
}

bool zts_fmi_header_is_whole(const struct zts_fmi *fmi)
{
	return fmi->header_crc == fmi->found_crc;
}

uint32_t zts_fmi_first_id(const struct zts_fmi *fmi)
{
	return fmi->first_id;
}

uint32_t zts_fmi_words(const struct zts_fmi *fmi)
{
	return fmi->words;
}

size_t zts_fmi_text_size(const struct zts_fmi *fmi)
{
	return fmi->text_size;
}

const uint8_t *fmi_block_bytes(const struct zts_fmi *fmi, struct fmi_block *block,
			       uint8_t scratch[ZTS_FMI_BLOCK_SIZE])
{
	const uint8_t *stored = fmi_block_stored(fmi, block);
	size_t size = fmi_block_size(block);
	uint8_t *unpacked, *present = NULL;

	if (!(block->flags & ZTS_FMI_LZ4))
		return stored;
	unpacked = atomic_load_explicit(&block->unpacked, memory_order_acquire);
	if (unpacked)
		return unpacked;
	unpacked = malloc(size);
	if (!sonde_lz4_block_unpack(stored, fmi_block_stored_size(block),
				    unpacked ? unpacked : scratch, size)) {
		free(unpacked);
		return NULL;
	}
	if (!unpacked)
		return scratch;
	if (atomic_compare_exchange_strong(&block->unpacked, &present, unpacked))
		return unpacked;
	/* Another thread was faster. */
	free(unpacked);
	return present;
}
