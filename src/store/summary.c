/* SPDX-License-Identifier: Apache-2.0 */
/* What every search wants to know of all slots of a part. */
#include "store/summary.h"

#include <stdlib.h>

#define NAMES_OF_SLOTS 65536

enum { NAME_TYPE, NAME_APP, NAME_HOST, NAME_ENV };

static void summary_free(struct sonde_summary *summary)
{
	size_t i;

	zts_set_release(&summary->traces);
	zts_set_release(&summary->unindexed);
	for (i = 0; i < SONDE_SLOT_NAMES; i++)
		zts_set_release(&summary->names[i]);
	free(summary->first_chunk);
	free(summary);
}

static struct sonde_bounds exactly(uint64_t value)
{
	return (struct sonde_bounds){ value, value };
}

struct sonde_bounds sonde_sort_key(const struct zts_part *part, uint32_t slot,
				   enum sonde_search_sort sort)
{
	switch (sort) {
	case SONDE_SORT_TIME:
		return sonde_trace_start(part, slot);
	case SONDE_SORT_DURATION:
		return sonde_trace_duration(part, slot);
	case SONDE_SORT_CALLS:
		return exactly(sonde_trace_totals(part, slot).calls);
	case SONDE_SORT_ERRORS:
		return exactly(sonde_trace_totals(part, slot).errors);
	default:
		return exactly(sonde_trace_totals(part, slot).records);
	}
}

const struct zts_set *sonde_summary_names(const struct sonde_summary *summary,
					  enum sonde_query_field field)
{
	switch (field) {
	case SONDE_FIELD_TYPE:
		return &summary->names[NAME_TYPE];
	case SONDE_FIELD_APP:
	case SONDE_FIELD_SERVICE:
		return &summary->names[NAME_APP];
	case SONDE_FIELD_HOST:
		return &summary->names[NAME_HOST];
	case SONDE_FIELD_ENV:
		return &summary->names[NAME_ENV];
	default:
		return NULL;
	}
}

static bool note_chunks(struct sonde_summary *summary, const struct zts_part *part)
{
	size_t i;

	if (!part->next_chunk)
		return true;
	summary->first_chunk = malloc(summary->slots * sizeof(*summary->first_chunk) + 1);
	if (!summary->first_chunk)
		return false;
	for (i = 0; i < summary->slots; i++)
		summary->first_chunk[i] = (uint32_t)i;
	for (i = zts_set_next(&summary->traces, 0); i != SIZE_MAX;
	     i = zts_set_next(&summary->traces, i + 1)) {
		uint32_t chunk = part->next_chunk[i];
		size_t steps = summary->slots;

		for (; chunk != SONDE_NONE && steps; chunk = part->next_chunk[chunk], steps--)
			summary->first_chunk[chunk] = (uint32_t)i;
	}
	return true;
}

static void note_slot(struct sonde_summary *summary, const struct zts_part *part, uint32_t number)
{
	const struct zts_slot *slot = &part->slots.list.items[number];

	zts_set_add(&summary->names[NAME_TYPE], slot->type);
	zts_set_add(&summary->names[NAME_APP], slot->app);
	zts_set_add(&summary->names[NAME_HOST], slot->host);
	zts_set_add(&summary->names[NAME_ENV], slot->env);
	if (!zts_part_is_trace(part, number))
		return;
	zts_set_add(&summary->traces, number);
	if (!part->meta || slot->deep_entry == UINT32_MAX)
		zts_set_add(&summary->unindexed, number);
}

static bool gather(struct sonde_summary *summary, const struct zts_part *part)
{
	size_t i;

	summary->slots = part->slots.list.count;
	if (!zts_set_init(&summary->traces, summary->slots) ||
	    !zts_set_init(&summary->unindexed, summary->slots))
		return false;
	for (i = 0; i < SONDE_SLOT_NAMES; i++)
		if (!zts_set_init(&summary->names[i], NAMES_OF_SLOTS))
			return false;
	for (i = 0; i < summary->slots; i++)
		note_slot(summary, part, (uint32_t)i);
	return note_chunks(summary, part);
}

enum sonde_status sonde_summary_of(struct zts_part *part, const struct sonde_summary **summary,
				   struct sonde_error *err)
{
	struct sonde_summary *made;

	*summary = part->summary;
	if (part->summary && part->summary->slots == part->slots.list.count)
		return SONDE_OK;
	made = calloc(1, sizeof(*made));
	if (!made || !gather(made, part)) {
		if (made)
			summary_free(made);
		return sonde_fail_nomem(err);
	}
	if (part->summary)
		part->summary_free(part->summary);
	part->summary = made;
	part->summary_free = summary_free;
	*summary = made;
	return SONDE_OK;
}

enum sonde_status sonde_sort_span(struct zts_part *part, enum sonde_search_sort sort,
				  struct sonde_bounds *span, struct sonde_error *err)
{
	const struct sonde_summary *summary;
	enum sonde_status status = sonde_summary_of(part, &summary, err);
	size_t i;

	if (status != SONDE_OK)
		return status;
	*span = summary->span[sort];
	if (summary->has_span[sort])
		return SONDE_OK;
	*span = (struct sonde_bounds){ UINT64_MAX, 0 };
	for (i = 0; i < summary->slots; i++) {
		struct sonde_bounds key = sonde_sort_key(part, (uint32_t)i, sort);

		if (key.low < span->low)
			span->low = key.low;
		if (key.high > span->high)
			span->high = key.high;
	}
	part->summary->span[sort] = *span;
	part->summary->has_span[sort] = true;
	return SONDE_OK;
}
