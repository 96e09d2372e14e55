/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Radix sort from the lowest digit up. One pass counts all digits; a digit that is equal in all
 * keys costs no pass of its own, and what is sorted already is left alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

#define DIGIT_BITS 11
#define DIGITS 6
#define VALUES (1u << DIGIT_BITS)
#define SHORT 48 /* up to here insertion is faster, and needs no memory */

static void insertion_sort(struct sonde_sort_item *items, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct sonde_sort_item item = items[i];
		size_t place = i;

		for (; place && items[place - 1].key > item.key; place--)
			items[place] = items[place - 1];
		items[place] = item;
	}
}

static unsigned int digit_of(uint64_t key, unsigned int digit)
{
	return (unsigned int)(key >> digit * DIGIT_BITS) & (VALUES - 1);
}

/* Counts the digits of all keys; true where the keys are in order already. */
static bool count_digits(const struct sonde_sort_item *items, size_t count,
			 size_t counts[DIGITS][VALUES])
{
	uint64_t before = 0;
	bool sorted = true;

	for (size_t i = 0; i < count; i++) {
		uint64_t key = items[i].key;

		sorted &= before <= key;
		before = key;
		for (unsigned int digit = 0; digit < DIGITS; digit++)
			counts[digit][digit_of(key, digit)]++;
	}
	return sorted;
}

static void scatter(const struct sonde_sort_item *source, struct sonde_sort_item *target,
		    size_t count, unsigned int digit, size_t places[VALUES])
{
	size_t next = 0;

	for (unsigned int value = 0; value < VALUES; value++) {
		size_t here = places[value];

		places[value] = next;
		next += here;
	}
	for (size_t i = 0; i < count; i++)
		target[places[digit_of(source[i].key, digit)]++] = source[i];
}

bool sonde_sort(struct sonde_sort_item *items, size_t count)
{
	size_t(*counts)[VALUES];
	struct sonde_sort_item *second = NULL, *source = items, *target;
	bool sorted;

	if (count <= SHORT) {
		insertion_sort(items, count);
		return true;
	}
	counts = calloc(DIGITS, sizeof(*counts));
	if (!counts)
		return false;
	sorted = count_digits(items, count, counts);
	if (!sorted)
		second = calloc(count, sizeof(*second));
	if (!second)
		goto done;
	target = second;
	for (unsigned int digit = 0; digit < DIGITS; digit++) {
		struct sonde_sort_item *filled = target;

		if (counts[digit][digit_of(items[0].key, digit)] == count)
			continue;
		scatter(source, target, count, digit, counts[digit]);
		target = source;
		source = filled;
	}
	if (source != items)
		memcpy(items, source, count * sizeof(*items));
	sorted = true;
done:
	free(counts);
	free(second);
	return sorted;
}
