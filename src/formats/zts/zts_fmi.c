/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches in an FMI. Suffixes of the text are known by their position in sorted order; from one
 * the character before it and the suffix with that in front are a step away, so that texts are
 * read, and patterns extended, from their end to their start.
 */
#include "base/bytes.h"
#include "formats/zts/zts_fmi_private.h"
#include "formats/zts/zts_wal.h"

enum sonde_status fmi_damaged(const struct zts_fmi *fmi, struct sonde_error *err)
{
	sonde_fail(
		err, SONDE_CORRUPT, SONDE_NO_OFFSET,
		"the index leads nowhere: a block of it is damaged; sonde store check says where");
	if (err)
		sonde_error_set_file(err, fmi->path);
	return SONDE_CORRUPT;
}

struct fmi_block *fmi_block_of(const struct zts_fmi *fmi, uint32_t position)
{
	size_t part = position / ZTS_FMI_BLOCK_SIZE;
	uint32_t low = fmi->block_at[part], high = fmi->block_at[part + 1];

	while (low < high) {
		uint32_t middle = high - (high - low) / 2;

		if (fmi->blocks[middle].first <= position)
			low = middle;
		else
			high = middle - 1;
	}
	return &fmi->blocks[low];
}

typedef uint8_t lanes __attribute__((vector_size(16)));

static inline uint32_t add_lanes(lanes sums)
{
	const uint64_t pairs = 0x00ff00ff00ff00ffu;
	uint64_t halves[2], sum;

	memcpy(halves, &sums, sizeof(halves));
	sum = (halves[0] & pairs) + (halves[0] >> 8 & pairs) + (halves[1] & pairs) +
	      (halves[1] >> 8 & pairs);
	return (uint32_t)(sum * 0x0001000100010001u >> 48);
}

/* How often a character is among at most 1024: 64 steps of 16 do not overflow a lane. */
static uint32_t count_character(const uint8_t *bytes, uint32_t size, uint8_t character)
{
	lanes sums = { 0 }, wanted = { 0 }, found;
	uint32_t count, i = 0;

	wanted += character;
	for (; i + sizeof(found) <= size; i += sizeof(found)) {
		memcpy(&found, bytes + i, sizeof(found));
		sums -= (lanes)(found == wanted);
	}
	count = add_lanes(sums);
	for (; i < size; i++)
		count += bytes[i] == character;
	return count;
}

/*
 * How often a character is before a block, and in it; looked for in earlier blocks where need be.
 */
static uint32_t rank_before(const struct zts_fmi *fmi, const struct fmi_block *block,
			    uint8_t character)
{
	for (const struct fmi_block *other = block;; other--) {
		const uint8_t *chars = fmi_block_chars(fmi, other), *found;
		size_t number = (size_t)(other - fmi->blocks);

		if (!(other->flags & ZTS_FMI_DATA)) {
			if (other->rank_count == character)
				return other->value + (other == block ? 0 : fmi_block_size(other));
		} else if (other->rank_count &&
			   (found = memchr(chars, character, other->rank_count))) {
			const uint8_t *ranks = chars + other->rank_count;
			int32_t rank =
				(int32_t)sonde_load_u32le(ranks + 4 * (size_t)(found - chars));
			const uint8_t *counts = chars + other->rank_count * 5u;

			/* Negative: not in the block itself. */
			if (rank < 0)
				return 0u - (uint32_t)rank;
			if (other == block)
				return (uint32_t)rank;
			return (uint32_t)rank +
			       sonde_load_u16le(counts + 2 * (size_t)(found - chars));
		} else if (other->flags & ZTS_FMI_FULL_RANKS && other->rank_count < UINT8_MAX) {
			return 0;
		}
		if (number == 0)
			return 0;
		/* Between our own maps there is at most one of each block. */
		if (fmi->ranks_at && number % ZTS_FMI_FULL_RANKS_EVERY == 0)
			return fmi->ranks_at[number / ZTS_FMI_FULL_RANKS_EVERY][character];
	}
}

/* How often a character is before a position; FMI_DAMAGED. */
static uint32_t rank_at(const struct zts_fmi *fmi, uint8_t character, uint32_t position)
{
	uint8_t scratch[ZTS_FMI_BLOCK_SIZE];
	struct fmi_block *block;
	const uint8_t *bytes;

	if (position >= fmi->text_size)
		return fmi->before[character + 1] - fmi->before[character];
	block = fmi_block_of(fmi, position);
	if (!(block->flags & ZTS_FMI_DATA))
		return rank_before(fmi, block, character) +
		       (block->rank_count == character ? position - block->first : 0);
	bytes = fmi_block_bytes(fmi, block, scratch);
	if (!bytes)
		return FMI_DAMAGED;
	return rank_before(fmi, block, character) +
	       count_character(bytes, position - block->first, character);
}

uint32_t fmi_step(const struct zts_fmi *fmi, uint32_t position, uint8_t *character)
{
	struct fmi_block *block = fmi_block_of(fmi, position);
	uint8_t scratch[ZTS_FMI_BLOCK_SIZE];
	uint32_t offset = position - block->first, rank;

	if (block->flags & ZTS_FMI_DATA) {
		const uint8_t *bytes = fmi_block_bytes(fmi, block, scratch);

		if (!bytes)
			return FMI_DAMAGED;
		*character = bytes[offset];
		rank = rank_before(fmi, block, *character) +
		       count_character(bytes, offset, *character);
	} else {
		*character = block->rank_count;
		rank = block->value + offset;
	}
	rank += fmi->before[*character];
	return rank < fmi->before[*character + 1] ? rank : FMI_DAMAGED;
}

bool fmi_find_range(const struct zts_fmi *fmi, const uint8_t *pattern, size_t size,
		    struct fmi_range *range)
{
	*range = (struct fmi_range){ 0, fmi->text_size };
	while (size-- && range->low < range->high) {
		uint8_t character = pattern[size];
		uint32_t low = rank_at(fmi, character, range->low);
		uint32_t high = rank_at(fmi, character, range->high);
		uint32_t all = fmi->before[character + 1] - fmi->before[character];

		if (low > high || high > all)
			return false;
		range->low = fmi->before[character] + low;
		range->high = fmi->before[character] + high;
	}
	return true;
}

uint64_t zts_fmi_count(const struct zts_fmi *fmi, const uint8_t *pattern, size_t size)
{
	struct fmi_range range;

	return fmi_find_range(fmi, pattern, size, &range) ? range.high - range.low : 0;
}

/* Turns the bytes from `start` on round: they were read from their end. */
static void reverse(struct sonde_buffer *out, size_t start)
{
	for (size_t low = start, high = out->size; low + 1 < high; low++) {
		char byte = out->data[low];

		out->data[low] = out->data[--high];
		out->data[high] = byte;
	}
}

/*
 * Hostile ranks may send a walk in circles: after so many of the whole text's length in vain no
 * more texts are read.
 */
#define VAIN_TEXTS 16

enum sonde_status zts_fmi_text(const struct zts_fmi *fmi, uint32_t id, struct sonde_buffer *out,
			       struct sonde_error *err)
{
	uint8_t pattern[ZTS_ID_DIGITS + 2] = { ZTS_WAL_ID_MARK }, character;
	size_t digits = zts_id_put(id, pattern + 1), start = out->size;
	struct fmi_range range;
	uint32_t position, steps;

	pattern[1 + digits] = ZTS_WAL_END_MARK;
	if (fmi->vain_steps / VAIN_TEXTS > fmi->text_size)
		return fmi_damaged(fmi, err);
	if (!fmi_find_range(fmi, pattern, digits + 2, &range))
		return fmi_damaged(fmi, err);
	if (range.low == range.high)
		return SONDE_END;
	position = range.low;
	for (steps = 0; steps < fmi->text_size; steps++) {
		position = fmi_step(fmi, position, &character);
		if (position == FMI_DAMAGED || character == 0 || character == ZTS_WAL_ID_MARK ||
		    character == ZTS_WAL_END_MARK)
			break;
		if (character == ZTS_WAL_TEXT_MARK) {
			reverse(out, start);
			return out->failed ? sonde_fail_nomem(err) : SONDE_OK;
		}
		sonde_buffer_put_char(out, (char)character);
	}
	out->size = start;
	/* A count that readers share, in what is constant otherwise. */
	atomic_fetch_add_explicit(&((struct zts_fmi *)fmi)->vain_steps, steps,
				  memory_order_relaxed);
	return fmi_damaged(fmi, err);
}

/* Reads backwards from inside a text to the entry's id. */
struct id_search {
	const struct zts_fmi *fmi;
	uint64_t steps_left;
	bool in_id; /* the pattern begins with the mark between id and text */
	uint32_t id;
	uint8_t first; /* byte of the text; 0: it is not known */
};

/* SONDE_END: it is not within a text. SONDE_LIMIT: too many steps. */
static enum sonde_status find_id(struct id_search *search, uint32_t position)
{
	uint8_t digits[ZTS_ID_DIGITS], character = 0;
	size_t count = 0;
	bool in_id = search->in_id;

	for (;;) {
		uint8_t last = character;

		if (!search->steps_left--)
			return SONDE_LIMIT;
		position = fmi_step(search->fmi, position, &character);
		if (position == FMI_DAMAGED)
			return SONDE_CORRUPT;
		if (!in_id && character > ZTS_WAL_END_MARK)
			continue;
		if (!in_id && character == ZTS_WAL_TEXT_MARK) {
			in_id = true;
			search->first = last;
			continue;
		}
		if (!in_id)
			return SONDE_END; /* in the digits of an id */
		if (character == ZTS_WAL_END_MARK || character == 0)
			break;
		if (count == ZTS_ID_DIGITS)
			return SONDE_CORRUPT;
		digits[ZTS_ID_DIGITS - ++count] = character;
	}
	return zts_id_parse(digits + ZTS_ID_DIGITS - count, count, &search->id) ? SONDE_OK :
										  SONDE_CORRUPT;
}

enum sonde_status zts_fmi_find_within(const struct zts_fmi *fmi, const uint8_t *pattern,
				      size_t size, uint64_t steps,
				      bool (*found)(void *context, uint32_t id, uint8_t first),
				      void *context, struct sonde_error *err)
{
	struct id_search search = { .fmi = fmi, .steps_left = steps };
	struct fmi_range range;
	bool damaged = false;

	if (!size)
		return SONDE_OK;
	if (!fmi_find_range(fmi, pattern, size, &range))
		return fmi_damaged(fmi, err);
	search.in_id = pattern[0] == ZTS_WAL_TEXT_MARK;
	for (uint32_t position = range.low; position < range.high; position++) {
		enum sonde_status status;

		/*
		 * The text's first byte, where the pattern begins with it or with the mark before.
		 */
		search.first = search.in_id ? (size > 1 ? pattern[1] : 0) : 0;
		status = find_id(&search, position);
		if (status == SONDE_LIMIT)
			return SONDE_LIMIT;
		damaged |= status == SONDE_CORRUPT;
		if (!search.first)
			search.first = pattern[0];
		if (status == SONDE_OK && !found(context, search.id, search.first))
			return SONDE_OK;
	}
	return damaged ? fmi_damaged(fmi, err) : SONDE_OK;
}
