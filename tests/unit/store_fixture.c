/* SPDX-License-Identifier: Apache-2.0 */
/* Traces into a store and out of it; see store_fixture.h. */
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "store_fixture.h"

enum sonde_status store_put(struct sonde_store *store, uint64_t number,
			    const struct script_options *options, struct sonde_error *err)
{
	struct zts_writer *writer;
	enum sonde_status status = sonde_store_begin(store, &writer, err), waited;
	struct sonde_error later;
	uint64_t ticket;

	if (status < 0)
		return status;
	status = script_write(writer, number, options, err);
	sonde_store_end(store, &ticket);
	waited = sonde_store_wait(store, ticket, &later);
	if (status >= 0 && waited < 0) {
		*err = later;
		status = waited;
	}
	return status;
}

static char message[600];

static const char *find_in_part(struct zts_part *part, uint8_t *found, uint64_t count,
				uint64_t compared, const struct script_options *options)
{
	for (uint32_t slot = 0; slot < part->slots.list.count; slot++) {
		uint64_t number;
		const char *difference;

		if (!zts_part_is_trace(part, slot) ||
		    !script_number(part->slots.list.items[slot].uuid, &number))
			continue;
		if (number >= count || found[number]) {
			snprintf(message, sizeof(message), "trace %llu %s",
				 (unsigned long long)number,
				 number >= count ? "was never put in" : "is there twice");
			return message;
		}
		found[number] = 1;
		difference = number < compared ? NULL : script_compare(part, slot, options);
		if (difference) {
			snprintf(message, sizeof(message), "trace %llu: %s",
				 (unsigned long long)number, difference);
			return message;
		}
	}
	return NULL;
}

const char *store_find(const char *base, uint32_t first_part, uint8_t *found, uint64_t count,
		       uint64_t compared, const struct script_options *options)
{
	struct zts_base *opened;
	struct sonde_error err;
	const char *difference = NULL;
	char *first = sonde_path_join(base, "000000");
	bool is_empty = first && sonde_path_kind(first) == SONDE_PATH_ABSENT;

	free(first);
	if (is_empty)
		return NULL;
	if (zts_base_open(base, NULL, &opened, &err) != SONDE_OK) {
		snprintf(message, sizeof(message), "%s", err.message);
		return message;
	}
	for (size_t i = 0; i < opened->parts.count && !difference; i++) {
		struct zts_part *part = opened->parts.items[i];

		if (part->number < first_part)
			continue;
		if (part->is_rebuilt)
			difference = "a part had to be rebuilt";
		else
			difference = find_in_part(part, found, count, compared, options);
	}
	zts_base_free(opened);
	return difference;
}

const char *store_compare(const char *base, uint64_t count, const struct script_options *options)
{
	uint8_t *found = calloc(1, count + 1);
	const char *difference;

	if (!found)
		return "no memory";
	difference = store_find(base, 0, found, count, 0, options);
	for (uint64_t i = 0; i < count && !difference; i++) {
		if (!found[i]) {
			snprintf(message, sizeof(message), "trace %llu is missing",
				 (unsigned long long)i);
			difference = message;
		}
	}
	free(found);
	return difference;
}
