/* SPDX-License-Identifier: Apache-2.0 */
/* A hash map of byte strings, each copied once. */
#include "formats/chrome/chrome_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define FIRST_CAPACITY 1024

void chrome_names_release(struct chrome_names *names)
{
	free(names->entries);
	sonde_arena_release(&names->texts);
	*names = (struct chrome_names){ 0 };
}

/* The address of the map, which nobody outside knows, is the seed. */
static uint64_t hash_name(const struct chrome_names *names, uint32_t group, const char *text,
			  uint32_t length)
{
	uint64_t hash = (uintptr_t)names ^ ((uint64_t)group << 32 | length);
	uint64_t word = 0;
	uint32_t i = 0;

	hash *= SONDE_HASH_FACTOR_1;
	for (; i + 8 < length; i += 8) {
		memcpy(&word, text + i, 8);
		hash = sonde_hash_fold(hash ^ word, SONDE_HASH_FACTOR_2);
	}
	/* the last eight bytes, some of them again, or all there are */
	if (length >= 8) {
		memcpy(&word, text + length - 8, 8);
	} else {
		for (word = 0; i < length; i++)
			word = word << 8 | (unsigned char)text[i];
	}
	return sonde_hash_fold(hash ^ word, SONDE_HASH_FACTOR_1);
}

static bool grow(struct chrome_names *names)
{
	size_t capacity = names->capacity ? names->capacity * 2 : FIRST_CAPACITY;
	struct chrome_name_entry *entries = calloc(capacity, sizeof(*entries));

	if (!entries)
		return false;
	for (size_t i = 0; i < names->capacity; i++) {
		size_t place = names->entries[i].hash & (capacity - 1);

		if (!names->entries[i].text)
			continue;
		while (entries[place].text)
			place = (place + 1) & (capacity - 1);
		entries[place] = names->entries[i];
	}
	free(names->entries);
	names->entries = entries;
	names->capacity = capacity;
	return true;
}

struct chrome_name_entry *chrome_names_find(struct chrome_names *names, uint32_t group,
					    const char *text, uint32_t length, bool *is_new)
{
	uint64_t hash;
	struct chrome_name_entry *entry;

	if (!length)
		text = "";
	hash = hash_name(names, group, text, length);
	if (is_new)
		*is_new = false;
	if (names->used >= names->capacity / 2 && !grow(names))
		return NULL;
	for (size_t place = hash;; place++) {
		entry = &names->entries[place & (names->capacity - 1)];
		if (!entry->text)
			break;
		if (entry->hash == hash && entry->length == length && entry->group == group &&
		    !memcmp(entry->text, text, length))
			return entry;
	}
	if (!is_new)
		return NULL;
	*entry = (struct chrome_name_entry){
		.text = sonde_arena_copy_text(&names->texts, text, length),
		.hash = hash,
		.length = length,
		.group = group,
		.value = UINT32_MAX,
	};
	if (!entry->text)
		return NULL;
	names->used++;
	*is_new = true;
	return entry;
}
