/* SPDX-License-Identifier: Apache-2.0 */
/* Traces by what users call them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/join.h"

static enum sonde_status add_place(struct sonde_places *places, struct zts_part *part,
				   uint32_t slot, struct sonde_error *err)
{
	struct sonde_place *place = sonde_vec_push(&places->list);

	if (!place)
		return sonde_fail_nomem(err);
	*place = (struct sonde_place){ .part = part, .slot = slot };
	return SONDE_OK;
}

/* "00001a:17"; false where it is not written so. */
static bool parse_place(const char *id, uint32_t *part, uint32_t *slot)
{
	size_t hex = strspn(id, "0123456789abcdefABCDEF");
	size_t digits = id[hex] == ':' ? strspn(id + hex + 1, "0123456789") : 0;

	if (!hex || hex > 8 || !digits || digits > 9 || id[hex + 1 + digits])
		return false;
	*part = (uint32_t)strtoul(id, NULL, 16);
	*slot = (uint32_t)strtoul(id + hex + 1, NULL, 10);
	return true;
}

static enum sonde_status find_place(struct zts_base *base, const char *id, uint32_t number,
				    uint32_t slot, struct sonde_places *places,
				    struct sonde_error *err)
{
	size_t i;

	for (i = 0; i < base->parts.count; i++) {
		struct zts_part *part = base->parts.items[i];

		if (part->number != number)
			continue;
		if (slot < part->slots.list.count && zts_part_is_trace(part, slot))
			return add_place(places, part, slot, err);
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "no trace %s: part %06" PRIx32 " has no such trace", id, number);
	}
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			  "no trace %s: there is no part %06" PRIx32, id, number);
}

/* Whether a slot is meant by an id, by its own or by that of the distributed trace. */
static bool slot_is(const struct zts_part *part, uint32_t slot, const struct sonde_hex_id *id,
		    bool *distributed)
{
	struct sonde_hex_id own = sonde_hex_id_of(part->slots.list.items[slot].uuid);

	*distributed = id->count == 32 && sonde_trace_distributed_id(part, slot, &own) &&
		       sonde_hex_id_is_prefix(id, &own);
	if (*distributed)
		return true;
	own = sonde_hex_id_of(part->slots.list.items[slot].uuid);
	return sonde_hex_id_is_prefix(id, &own);
}

static enum sonde_status find_hex(struct zts_base *base, const struct sonde_hex_id *id,
				  struct sonde_places *places, bool *distributed,
				  struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	bool is_distributed;
	size_t i;
	uint32_t slot;

	for (i = 0; i < base->parts.count; i++) {
		struct zts_part *part = base->parts.items[i];

		for (slot = 0; slot < part->slots.list.count && status == SONDE_OK; slot++) {
			if (!slot_is(part, slot, id, &is_distributed) ||
			    !zts_part_is_trace(part, slot))
				continue;
			*distributed = *distributed || is_distributed;
			status = add_place(places, part, slot, err);
		}
	}
	return status;
}

enum sonde_status sonde_places_find(struct zts_base *base, const char *id,
				    struct sonde_places *places, struct sonde_error *err)
{
	size_t before = places->list.count;
	bool distributed = false;
	struct sonde_hex_id hex;
	enum sonde_status status;
	uint32_t part, slot;

	if (parse_place(id, &part, &slot))
		return find_place(base, id, part, slot, places, err);
	if (!sonde_hex_id_parse(id, strlen(id), &hex))
		return sonde_fail(
			err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			"'%s' is no id of a trace: expected PART:SLOT like 00001a:17, or up "
			"to 32 hexadecimal digits",
			id);
	status = find_hex(base, &hex, places, &distributed, err);
	if (status != SONDE_OK)
		return status;
	if (places->list.count == before)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET, "no trace %s in the store",
				  id);
	if (places->list.count - before > 1 && hex.count < 32)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "the ids of %zu traces begin with %s; write more of it",
				  places->list.count - before, id);
	return SONDE_OK;
}

enum sonde_status sonde_places_all(struct zts_base *base, struct sonde_places *places,
				   struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	size_t i;
	uint32_t slot;

	for (i = 0; i < base->parts.count; i++) {
		struct zts_part *part = base->parts.items[i];

		for (slot = 0; slot < part->slots.list.count && status == SONDE_OK; slot++)
			if (zts_part_is_trace(part, slot))
				status = add_place(places, part, slot, err);
	}
	return status;
}
