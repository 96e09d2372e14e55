/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes every trace once, on several threads, and notes what is needed to lay it out. */
#include "formats/zts/zts_scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "formats/zts/zts_findings.h"

#define RANGE_SLOTS 1024

/* What a thread needs for one range. */
struct worker {
	struct zts_scan *scan;
	struct zts_range *range;
	struct zts_reading *reading;
	struct zts_loaded loaded;
	struct zts_strands strands;
};

void zts_scan_release(struct zts_scan *scan)
{
	for (size_t i = 0; i < scan->ranges.count; i++) {
		struct zts_range *range = &scan->ranges.items[i];

		sonde_vec_release(&range->pieces);
		sonde_vec_release(&range->piece_groups);
		sonde_vec_release(&range->groups);
		sonde_vec_release(&range->methods);
		sonde_key_map_release(&range->known);
		sonde_diagnostics_free(range->findings);
	}
	sonde_vec_release(&scan->ranges);
	free(scan->own_refs);
	scan->own_refs = NULL;
}

/* The text id of service.name, where the trace's first record has it. */
static uint32_t find_service(const struct worker *worker)
{
	struct zts_attribute_cursor cursor = { .tree = &worker->loaded.tree,
					       .record = worker->loaded.root };
	struct sonde_cbor_item item;

	if (!worker->reading->service_key)
		return 0;
	while (zts_attribute_next(&cursor, NULL) == SONDE_OK) {
		if (cursor.key != worker->reading->service_key)
			continue;
		if (sonde_cbor_next(&cursor.value, &item, NULL) != SONDE_OK ||
		    item.type != SONDE_CBOR_TAG || item.value != ZTS_TAG_STRING)
			return 0;
		if (sonde_cbor_next(&cursor.value, &item, NULL) != SONDE_OK ||
		    item.type != SONDE_CBOR_UINT || item.value > UINT32_MAX)
			return 0;
		return (uint32_t)item.value;
	}
	return 0;
}

static enum sonde_status find_group(struct worker *worker, const struct zts_slot *slot,
				    uint32_t *number, struct sonde_error *err)
{
	struct zts_range *range = worker->range;
	struct zts_group_key key = { .app = slot->app, .env = slot->env, .host = slot->host };
	struct zts_group_key *made;

	if (!key.app) {
		key.service = find_service(worker);
		if (key.service)
			key.env = key.host = 0;
	}
	for (size_t i = range->groups.count; i--;) {
		const struct zts_group_key *known = &range->groups.items[i];

		if (known->app == key.app && known->env == key.env && known->host == key.host &&
		    known->service == key.service) {
			*number = (uint32_t)i;
			return SONDE_OK;
		}
	}
	made = sonde_vec_push(&range->groups);
	if (!made)
		return sonde_fail_nomem(err);
	*made = key;
	*number = (uint32_t)(range->groups.count - 1);
	return SONDE_OK;
}

static enum sonde_status note_methods(struct worker *worker, uint32_t group,
				      struct sonde_error *err)
{
	const struct zts_strands *strands = &worker->strands;
	struct zts_range *range = worker->range;

	for (uint32_t i = 0; i < strands->count; i++) {
		uint64_t key = (uint64_t)group << 32 |
			       strands->tree->records.items[strands->root + i].method;
		uint64_t *made;

		if (sonde_key_map_find(&range->known, key) != UINT32_MAX)
			continue;
		made = sonde_vec_push(&range->methods);
		if (!made || !sonde_key_map_add(&range->known, key, 0))
			return sonde_fail_nomem(err);
		*made = key;
	}
	return SONDE_OK;
}

static enum sonde_status note_pieces(struct worker *worker, uint32_t slot, uint32_t group,
				     struct sonde_error *err)
{
	struct zts_range *range = worker->range;

	for (uint32_t i = 0; i < worker->strands.lane_count; i++) {
		const struct zts_strand_lane *lane = &worker->strands.lanes[i];
		struct zts_piece *piece = sonde_vec_push(&range->pieces);
		uint32_t *of = sonde_vec_push(&range->piece_groups);

		if (!piece || !of)
			return sonde_fail_nomem(err);
		*of = group;
		*piece = (struct zts_piece){
			.start_ns = lane->start_ns,
			.at.end_ns = lane->end_ns,
			.slot = slot,
			.calls = lane->calls,
			.exceptions = lane->exceptions,
			.part = range->part,
			.lane = (uint16_t)i,
		};
	}
	return SONDE_OK;
}

static enum sonde_status need_findings(struct zts_range *range, struct sonde_error *err)
{
	if (!range->findings)
		range->findings = sonde_diagnostics_new();
	return range->findings ? SONDE_OK : sonde_fail_nomem(err);
}

static enum sonde_status note_damage(struct worker *worker, uint32_t slot,
				     const struct sonde_error *reason, struct sonde_error *err)
{
	const struct zts_part *part = worker->reading->part;
	struct zts_range *range = worker->range;

	if (need_findings(range, err) < 0)
		return SONDE_NOMEM;
	if (worker->loaded.root == SONDE_NONE)
		zts_found(range->findings, SLOT_PLACE, part->chunks.path,
			  part->slots.list.items[slot].data_offset,
			  "the trace of slot %" PRIu32 "\t%s", slot, reason->message);
	else
		zts_found(range->findings, CBOR, part->chunks.path,
			  part->slots.list.items[slot].data_offset, "a trace\t%s", reason->message);
	return SONDE_OK;
}

/* Times that the recording shows are not those of the store. */
static enum sonde_status note_moved(struct worker *worker, uint32_t slot, struct sonde_error *err)
{
	const struct zts_part *part = worker->reading->part;
	struct zts_range *range = worker->range;

	if (!worker->strands.moved)
		return SONDE_OK;
	if (need_findings(range, err) < 0)
		return SONDE_NOMEM;
	zts_found(range->findings, TRACE_LANES, part->chunks.path,
		  part->slots.list.items[slot].data_offset,
		  "slot %" PRIu32 ": at most %u calls at the same time\t%" PRIu32
		  " more, moved in time",
		  slot, ZTS_TRACE_LANES, worker->strands.moved);
	return SONDE_OK;
}

static enum sonde_status take_slot(struct worker *worker, uint32_t slot, struct sonde_error *err)
{
	const struct zts_slots *slots = &worker->reading->part->slots;
	struct sonde_error reason = { 0 };
	enum sonde_status status;
	uint32_t group = 0;

	status = zts_part_load(worker->reading->part, slot, &worker->loaded, &reason);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status < 0) {
		bool is_usable = worker->loaded.root != SONDE_NONE;

		status = note_damage(worker, slot, &reason, err);
		if (status < 0 || !is_usable)
			return status;
	}
	status = zts_strands_make(&worker->strands, &worker->loaded.tree, worker->loaded.root,
				  worker->reading->ns_key, err);
	if (status == SONDE_OK)
		status = note_moved(worker, slot, err);
	if (status == SONDE_OK)
		status = find_group(worker, &slots->list.items[slot], &group, err);
	if (status == SONDE_OK)
		status = note_methods(worker, group, err);
	if (status == SONDE_OK)
		status = note_pieces(worker, slot, group, err);
	return status;
}

/* Those inside others are in the tree of the outer one; chunks of a chunked one are joined. */
static bool is_outermost(const struct zts_part *part, uint32_t slot)
{
	const struct zts_slot *of = &part->slots.list.items[slot];

	return !of->start_offset && !of->chunk_number && zts_part_is_trace(part, slot);
}

static enum sonde_status scan_range(void *user, size_t number, struct sonde_error *err)
{
	struct zts_scan *scan = user;
	struct zts_range *range = &scan->ranges.items[number];
	struct worker worker = {
		.scan = scan,
		.range = range,
		.reading = &scan->data->parts[range->part],
	};
	const struct zts_part *part = worker.reading->part;
	enum sonde_status status = SONDE_OK;

	for (size_t i = range->first; i < range->first + range->count && status == SONDE_OK; i++) {
		uint32_t slot = scan->refs ? scan->refs[i].slot : (uint32_t)i;

		if (scan->refs || is_outermost(part, slot))
			status = take_slot(&worker, slot, err);
	}
	sonde_key_map_release(&range->known);
	zts_loaded_release(&worker.loaded);
	zts_strands_release(&worker.strands);
	return status;
}

static enum sonde_status add_ranges(struct zts_scan *scan, uint16_t part, size_t first,
				    size_t count, struct sonde_error *err)
{
	while (count) {
		size_t taken = count < RANGE_SLOTS ? count : RANGE_SLOTS;
		struct zts_range *range = sonde_vec_push(&scan->ranges);

		if (!range)
			return sonde_fail_nomem(err);
		*range = (struct zts_range){ .part = part, .first = first, .count = taken };
		first += taken;
		count -= taken;
	}
	return SONDE_OK;
}

static int compare_refs(const void *a, const void *b)
{
	const struct zts_slot_ref *one = a, *other = b;

	if (one->part != other->part)
		return one->part < other->part ? -1 : 1;
	return one->slot < other->slot ? -1 : one->slot > other->slot;
}

/* The traces that are wanted, each once, by part. */
static enum sonde_status take_refs(struct zts_scan *scan, const struct zts_slot_ref *refs,
				   size_t *count, struct sonde_error *err)
{
	size_t kept = 0;

	scan->own_refs = malloc((*count + 1) * sizeof(*refs));
	if (!scan->own_refs)
		return sonde_fail_nomem(err);
	memcpy(scan->own_refs, refs, *count * sizeof(*refs));
	qsort(scan->own_refs, *count, sizeof(*refs), compare_refs);
	for (size_t i = 0; i < *count; i++) {
		if (!kept || compare_refs(&scan->own_refs[i], &scan->own_refs[kept - 1]))
			scan->own_refs[kept++] = scan->own_refs[i];
	}
	*count = kept;
	scan->refs = scan->own_refs;
	return SONDE_OK;
}

static enum sonde_status add_ref_ranges(struct zts_scan *scan, size_t count,
					struct sonde_error *err)
{
	const struct zts_base *base = scan->data->base;
	size_t i = 0, end;

	for (size_t part = 0; part < base->parts.count; part++) {
		const struct zts_part *of = base->parts.items[part];
		enum sonde_status status;

		while (i < count && scan->refs[i].part < of->number)
			i++;
		for (end = i; end < count && scan->refs[end].part == of->number; end++) {
			if (scan->refs[end].slot >= of->slots.list.count)
				break;
		}
		status = add_ranges(scan, (uint16_t)part, i, end - i, err);
		if (status < 0)
			return status;
		i = end;
	}
	return SONDE_OK;
}

enum sonde_status zts_scan_run(struct zts_scan *scan, const struct zts_slot_ref *refs, size_t count,
			       struct sonde_error *err)
{
	const struct zts_base *base = scan->data->base;
	enum sonde_status status = SONDE_OK;

	if (refs) {
		status = take_refs(scan, refs, &count, err);
		if (status == SONDE_OK)
			status = add_ref_ranges(scan, count, err);
	}
	for (size_t i = 0; !refs && i < base->parts.count && status == SONDE_OK; i++)
		status = add_ranges(scan, (uint16_t)i, 0, base->parts.items[i]->slots.list.count,
				    err);
	if (status < 0)
		return status;
	return sonde_pool_run(scan->ranges.count, 0, scan_range, scan, err);
}
