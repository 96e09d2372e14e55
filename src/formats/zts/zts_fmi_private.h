/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An FMI as its readers see it: descriptors checked at open, blocks unpacked when first needed.
 * The file zts_fmi.c has steps and searches, zts_fmi_whole.c what goes over all of it.
 */
#ifndef SONDE_FORMATS_ZTS_FMI_PRIVATE_H
#define SONDE_FORMATS_ZTS_FMI_PRIVATE_H

#include <stdatomic.h>

#include "formats/zts/zts_fmi.h"
#include "formats/zts/zts_layout.h"

struct fmi_block {
	uint32_t place;	    /* in the file */
	uint32_t first;	    /* position of its first character in the transformed text */
	uint32_t value;	    /* checksum; without data: the rank of its character before it */
	uint8_t rank_count; /* without data: the character */
	uint8_t flags;
	uint8_t *_Atomic unpacked; /* LZ4: NULL until needed; owned */
};

struct zts_fmi {
	struct sonde_mapped_file file; /* where it was opened */
	const uint8_t *bytes;
	size_t size;
	char *path;
	uint32_t block_count;
	uint32_t text_size;
	uint32_t words;
	uint32_t first_id;
	uint32_t whole_text; /* position of the whole text among its suffixes */
	uint32_t header_crc, found_crc;
	_Atomic uint64_t vain_steps; /* of walks that led nowhere */
	uint32_t before[257];	     /* characters of the text that are less than this one */
	struct fmi_block *blocks;    /* one more than there are: the end */
	uint32_t *block_at;	     /* the block of every 1024th position, and the last block */
	/* Where the file lacks full rank maps: ours, one for every 32 blocks; else NULL. */
	uint32_t (*ranks_at)[256];
};

static inline uint32_t fmi_block_size(const struct fmi_block *block)
{
	return block[1].first - block->first;
}

/* Of a data block: its characters, the ranks and counts of them, then what is stored. */
static inline const uint8_t *fmi_block_chars(const struct zts_fmi *fmi,
					     const struct fmi_block *block)
{
	return fmi->bytes + block->place;
}

static inline const uint8_t *fmi_block_stored(const struct zts_fmi *fmi,
					      const struct fmi_block *block)
{
	return fmi->bytes + block->place + block->rank_count * 7u;
}

static inline size_t fmi_block_stored_size(const struct fmi_block *block)
{
	return block[1].place - block->place - block->rank_count * 7u;
}

/* The characters of a data block; `scratch` is for where memory is short. NULL: damaged. */
const uint8_t *fmi_block_bytes(const struct zts_fmi *fmi, struct fmi_block *block,
			       uint8_t scratch[ZTS_FMI_BLOCK_SIZE]);

#define FMI_DAMAGED UINT32_MAX

/* The block that a position is in. */
struct fmi_block *fmi_block_of(const struct zts_fmi *fmi, uint32_t position);

struct fmi_range {
	uint32_t low, high; /* positions low .. high - 1 */
};

/* The suffixes that begin with a pattern; none where low == high. False: damaged. */
bool fmi_find_range(const struct zts_fmi *fmi, const uint8_t *pattern, size_t size,
		    struct fmi_range *range);

/* The character before the suffix at `position`, and the position of the suffix with it in front.
 * FMI_DAMAGED where the file makes no sense. */
uint32_t fmi_step(const struct zts_fmi *fmi, uint32_t position, uint8_t *character);

enum sonde_status fmi_damaged(const struct zts_fmi *fmi, struct sonde_error *err);

#endif
