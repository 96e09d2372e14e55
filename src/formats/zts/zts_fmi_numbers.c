/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers before a pattern, for many occurrences at once: all of them take one step after
 * another together. They are in the order of positions, and after a step they are again when
 * sorted by character, so that each block is looked at once for each step.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "formats/zts/zts_fmi_private.h"
#include "formats/zts/zts_wal.h"

/* Positions that are handled together: memory is bounded, whatever is found. */
#define BATCH_SIZE 65536u
/* So many positions in one block, and its characters are counted one after another. */
#define DENSE_MIN 12u
#define DIGIT_BITS 6u

struct runner {
	uint32_t position;
	uint32_t number; /* the digits read so far */
};

struct race {
	const struct zts_fmi *fmi;
	uint8_t stop;
	unsigned int digits_max;
	bool (*found)(void *context, uint32_t number);
	void *context;
	struct runner *runners, *next; /* BATCH_SIZE each */
	uint8_t *characters;
	uint32_t count;
	bool stopped, damaged;
};

/* Steps of all runners from `first` on that are in the block: one pass over its characters. */
static void step_densely(struct race *race, const struct fmi_block *block, const uint8_t *bytes,
			 uint32_t first, uint32_t end)
{
	const uint8_t *chars = fmi_block_chars(race->fmi, block);
	uint32_t next[256] = { 0 }, offset = 0;

	for (size_t i = 0; i < block->rank_count; i++)
		next[chars[i]] = sonde_load_u32le(chars + block->rank_count + 4 * i) +
				 race->fmi->before[chars[i]];
	for (uint32_t i = first; i < end; i++) {
		uint32_t wanted = race->runners[i].position - block->first;

		while (offset < wanted)
			next[bytes[offset++]]++;
		race->characters[i] = bytes[offset];
		race->runners[i].position = next[bytes[offset]];
		if (next[bytes[offset]] >= race->fmi->before[bytes[offset] + 1])
			race->runners[i].position = FMI_DAMAGED;
	}
}

/*
 * The runners from `first` on that are in the same block; damaged ranks may have put them out of
 * order.
 */
static uint32_t end_of_block(const struct race *race, uint32_t first, uint32_t block_end)
{
	const struct runner *runners = race->runners;
	uint32_t end = first + 1;

	while (end < race->count && runners[end].position > runners[end - 1].position &&
	       runners[end].position < block_end)
		end++;
	return end;
}

static void step_all(struct race *race)
{
	uint8_t scratch[ZTS_FMI_BLOCK_SIZE];

	for (uint32_t i = 0; i < race->count;) {
		struct fmi_block *block = fmi_block_of(race->fmi, race->runners[i].position);
		uint32_t end = end_of_block(race, i, block[1].first);
		const uint8_t *bytes = NULL;

		if (end - i >= DENSE_MIN && block->flags & ZTS_FMI_DATA)
			bytes = fmi_block_bytes(race->fmi, block, scratch);
		if (bytes)
			step_densely(race, block, bytes, i, end);
		for (; !bytes && i < end; i++)
			race->runners[i].position = fmi_step(race->fmi, race->runners[i].position,
							     &race->characters[i]);
		i = end;
	}
}

/* Hands out who has arrived; the others are sorted by their character. */
static void sort_all(struct race *race, unsigned int digits)
{
	uint32_t places[64] = { 0 }, sum = 0;
	struct runner *runners = race->runners;

	for (uint32_t i = 0; i < race->count; i++) {
		unsigned int digit = race->characters[i] - (unsigned int)ZTS_ID_DIGIT;

		if (digit < 64 && runners[i].position != FMI_DAMAGED)
			places[digit]++;
	}
	for (size_t i = 0; i < 64; i++) {
		uint32_t count = places[i];

		places[i] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < race->count; i++) {
		unsigned int digit = race->characters[i] - (unsigned int)ZTS_ID_DIGIT;
		uint64_t number = runners[i].number | (uint64_t)digit << digits * DIGIT_BITS;

		if (runners[i].position == FMI_DAMAGED)
			race->damaged = true;
		else if (digit < 64)
			race->next[places[digit]++] =
				(struct runner){ runners[i].position, (uint32_t)number };
		else if (digits && race->characters[i] == race->stop && !race->stopped)
			race->stopped = !race->found(race->context, runners[i].number);
	}
	race->count = sum;
	race->runners = race->next;
	race->next = runners;
}

static void run_batch(struct race *race, uint32_t low, uint32_t high)
{
	race->count = high - low;
	for (uint32_t i = 0; i < race->count; i++)
		race->runners[i] = (struct runner){ .position = low + i };
	for (unsigned int digits = 0; digits < race->digits_max && race->count; digits++) {
		step_all(race);
		sort_all(race, digits);
	}
	/* Those with all digits that a number may have: nothing but the stop can be before them. */
	for (uint32_t i = 0; i < race->count && !race->stopped; i++)
		race->stopped = !race->found(race->context, race->runners[i].number);
}

enum sonde_status zts_fmi_numbers_before(const struct zts_fmi *fmi, const uint8_t *pattern,
					 size_t size, uint8_t stop, uint32_t most,
					 bool (*found)(void *context, uint32_t number),
					 void *context, struct sonde_error *err)
{
	struct race race = { .fmi = fmi, .stop = stop, .found = found, .context = context };
	uint8_t digits[ZTS_ID_DIGITS];
	struct runner *runners;
	struct fmi_range range;
	uint32_t batch;

	if (!fmi_find_range(fmi, pattern, size, &range))
		return fmi_damaged(fmi, err);
	if (range.low == range.high)
		return SONDE_OK;
	batch = range.high - range.low < BATCH_SIZE ? range.high - range.low : BATCH_SIZE;
	race.digits_max = (unsigned int)zts_id_put(most, digits);
	race.runners = runners = malloc(batch * (2 * sizeof(*race.runners) + 1));
	if (!runners)
		return sonde_fail_nomem(err);
	race.next = runners + batch;
	race.characters = (uint8_t *)(runners + 2 * (size_t)batch);
	for (uint32_t low = range.low; low < range.high && !race.stopped;
	     low += batch < range.high - low ? batch : range.high - low)
		run_batch(&race, low, range.high - low < batch ? range.high : low + batch);
	free(runners);
	return race.damaged ? fmi_damaged(fmi, err) : SONDE_OK;
}
