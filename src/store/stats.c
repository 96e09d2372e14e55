/* SPDX-License-Identifier: Apache-2.0 */
/* Durations by method, attribute, type, service, host or environment. */
#include <stdlib.h>
#include <string.h>

#include "store/attribute.h"
#include "store/groups_private.h"
#include "store/names.h"

/* What runs over a part. */
struct gatherer {
	const struct sonde_stats_request *request;
	struct sonde_gathering *gathering;
	struct zts_part *part;
	struct zts_loaded loaded;
	struct sonde_names names;
	struct sonde_buffer name;
	uint64_t start_ns, duration_ns; /* of what is added */
	bool failed_record;
	bool out_of_memory;
};

static uint64_t stretch_of(const struct gatherer *gatherer)
{
	uint64_t every_ns = gatherer->request->every_ns;

	return every_ns ? gatherer->start_ns - gatherer->start_ns % every_ns : 0;
}

static void add_to(struct gatherer *gatherer, struct sonde_group *group)
{
	if (!group || !sonde_sketch_add(&group->durations, gatherer->duration_ns)) {
		gatherer->out_of_memory = true;
		return;
	}
	group->errors += gatherer->failed_record;
}

static void add_named(struct gatherer *gatherer, const char *name, size_t size)
{
	gatherer->out_of_memory |= gatherer->name.failed;
	add_to(gatherer, sonde_gather(gatherer->gathering, stretch_of(gatherer), name, size));
}

/* Methods are met often: found by their id, without their name. */
static void add_method(struct gatherer *gatherer, uint32_t method)
{
	struct sonde_gathering *gathering = gatherer->gathering;
	uint64_t every_ns = gatherer->request->every_ns;
	uint64_t key = (every_ns ? gatherer->start_ns / every_ns : 0) << 32 | method;
	uint32_t number = sonde_key_map_find(&gathering->by_id, key);
	const char *name;
	size_t size;

	if (number == SONDE_NONE) {
		struct sonde_group *group;

		name = sonde_names_get(&gatherer->names, method, &size);
		group = sonde_gather(gathering, stretch_of(gatherer), name, size);
		if (!group) {
			gatherer->out_of_memory = true;
			return;
		}
		number = (uint32_t)(group - gathering->groups.list.items);
		if (!sonde_key_map_add(&gathering->by_id, key, number))
			gatherer->out_of_memory = true;
	}
	add_to(gatherer, &gathering->groups.list.items[number]);
}

static void add_attribute(struct gatherer *gatherer, uint32_t record)
{
	struct zts_attribute_cursor cursor = { .tree = &gatherer->loaded.tree, .record = record };
	const char *wanted = gatherer->request->attribute;
	size_t wanted_size = strlen(wanted), size;
	const char *key;

	while (zts_attribute_next(&cursor, NULL) == SONDE_OK) {
		key = (const char *)cursor.key_text;
		size = cursor.key_size;
		if (!cursor.key_text)
			key = sonde_names_get(&gatherer->names, cursor.key, &size);
		if (size != wanted_size || memcmp(key, wanted, size) != 0)
			continue;
		sonde_buffer_clear(&gatherer->name);
		sonde_value_put_text(gatherer->part->texts, cursor.value, &gatherer->name);
		add_named(gatherer, gatherer->name.data, gatherer->name.size);
	}
}

/* The attribute of the first record that says it, or the name in the slot. */
static void add_trace(struct gatherer *gatherer, uint32_t slot, enum sonde_query_field field)
{
	const char *const *attribute = sonde_field_attributes(field);
	struct zts_attribute_cursor cursor;
	size_t size;
	const char *key;

	sonde_buffer_clear(&gatherer->name);
	for (; *attribute && !gatherer->name.size; attribute++) {
		cursor = (struct zts_attribute_cursor){ .tree = &gatherer->loaded.tree,
							.record = gatherer->loaded.root };
		while (zts_attribute_next(&cursor, NULL) == SONDE_OK) {
			key = (const char *)cursor.key_text;
			size = cursor.key_size;
			if (!cursor.key_text)
				key = sonde_names_get(&gatherer->names, cursor.key, &size);
			if (size == strlen(*attribute) && !memcmp(key, *attribute, size))
				sonde_value_put_text(gatherer->part->texts, cursor.value,
						     &gatherer->name);
		}
	}
	if (!gatherer->name.size)
		sonde_slot_put_name(
			gatherer->part,
			sonde_field_of_slot(field, &gatherer->part->slots.list.items[slot]),
			&gatherer->name);
	gatherer->failed_record = sonde_trace_totals(gatherer->part, slot).has_error;
	add_named(gatherer, gatherer->name.data, gatherer->name.size);
}

static void add_records(struct gatherer *gatherer)
{
	const struct zts_record *records = gatherer->loaded.tree.records.items;
	uint32_t root = gatherer->loaded.root, end = root + records[root].records, i;

	for (i = root; i < end; i++) {
		if (gatherer->request->by == SONDE_STATS_ATTRIBUTE &&
		    records[i].attributes == SONDE_NONE)
			continue;
		zts_loaded_times(gatherer->part, &gatherer->loaded, i, &gatherer->start_ns,
				 &gatherer->duration_ns);
		gatherer->failed_record = records[i].exception ||
					  records[i].inline_exception != SONDE_NONE ||
					  (records[i].flags & ZTS_RECORD_ERROR);
		if (gatherer->request->by == SONDE_STATS_METHOD)
			add_method(gatherer, records[i].method);
		else
			add_attribute(gatherer, i);
	}
}

/* Names and times in slots of ours are exact: nothing needs to be decoded. */
static bool add_by_slot(struct gatherer *gatherer, uint32_t slot)
{
	struct sonde_bounds start = sonde_trace_start(gatherer->part, slot);
	struct sonde_bounds duration = sonde_trace_duration(gatherer->part, slot);

	if (gatherer->request->by != SONDE_STATS_TYPE || !sonde_bounds_are_exact(start) ||
	    !sonde_bounds_are_exact(duration))
		return false;
	gatherer->start_ns = start.low;
	gatherer->duration_ns = duration.low;
	add_trace(gatherer, slot, SONDE_FIELD_TYPE);
	return true;
}

static enum sonde_status add_slot(struct gatherer *gatherer, uint32_t slot, struct sonde_error *err)
{
	static const enum sonde_query_field fields[] = { [SONDE_STATS_TYPE] = SONDE_FIELD_TYPE,
							 [SONDE_STATS_SERVICE] =
								 SONDE_FIELD_SERVICE,
							 [SONDE_STATS_HOST] = SONDE_FIELD_HOST,
							 [SONDE_STATS_ENV] = SONDE_FIELD_ENV };
	enum sonde_status status;

	if (add_by_slot(gatherer, slot))
		return SONDE_OK;
	status = zts_part_load(gatherer->part, slot, &gatherer->loaded, err);
	if (status == SONDE_NOMEM || status == SONDE_CANCELLED)
		return status;
	if (status != SONDE_OK) {
		gatherer->gathering->groups.unreadable++;
		return SONDE_OK;
	}
	if (gatherer->request->by == SONDE_STATS_METHOD ||
	    gatherer->request->by == SONDE_STATS_ATTRIBUTE) {
		add_records(gatherer);
		return SONDE_OK;
	}
	zts_loaded_times(gatherer->part, &gatherer->loaded, gatherer->loaded.root,
			 &gatherer->start_ns, &gatherer->duration_ns);
	add_trace(gatherer, slot, fields[gatherer->request->by]);
	return SONDE_OK;
}

/* A trace inside another one is a part of it: records must not count twice. */
static bool counts_with_another(const struct zts_part *part, uint32_t slot,
				const struct sonde_key_map *chunks)
{
	const struct zts_slot *inner = &part->slots.list.items[slot];

	return inner->start_offset && sonde_key_map_find(chunks, inner->data_offset) != SONDE_NONE;
}

/* The chunks whose outer trace is among the slots. */
static bool note_chunks(const struct zts_part *part, const struct zts_set *slots,
			struct sonde_key_map *chunks)
{
	size_t i;
	uint32_t slot;

	for (i = zts_set_next(slots, 0); i != SIZE_MAX; i = zts_set_next(slots, i + 1)) {
		if (part->slots.list.items[i].start_offset)
			continue;
		for (slot = (uint32_t)i; slot != SONDE_NONE;
		     slot = part->next_chunk ? part->next_chunk[slot] : SONDE_NONE) {
			uint64_t offset = part->slots.list.items[slot].data_offset;

			if (sonde_key_map_find(chunks, offset) == SONDE_NONE &&
			    !sonde_key_map_add(chunks, offset, 0))
				return false;
		}
	}
	return true;
}

static enum sonde_status add_slots(struct gatherer *gatherer, const struct zts_set *slots,
				   struct sonde_error *err)
{
	bool by_record = gatherer->request->by == SONDE_STATS_METHOD ||
			 gatherer->request->by == SONDE_STATS_ATTRIBUTE;
	struct sonde_key_map chunks = { NULL };
	enum sonde_status status = SONDE_OK;
	size_t slot;

	if (by_record && !note_chunks(gatherer->part, slots, &chunks))
		status = sonde_fail_nomem(err);
	for (slot = zts_set_next(slots, 0); slot != SIZE_MAX && status == SONDE_OK;
	     slot = zts_set_next(slots, slot + 1)) {
		if (by_record && counts_with_another(gatherer->part, (uint32_t)slot, &chunks))
			continue;
		status = add_slot(gatherer, (uint32_t)slot, err);
		if (gatherer->out_of_memory || gatherer->name.failed)
			status = sonde_fail_nomem(err);
	}
	sonde_key_map_release(&chunks);
	return status;
}

static enum sonde_status gather(struct zts_part *part, const void *request,
				struct sonde_gathering *gathering, struct sonde_error *err)
{
	struct gatherer gatherer = { .request = request,
				     .gathering = gathering,
				     .part = part,
				     .names = { .texts = part->texts } };
	struct sonde_finder finder = { .look = { .part = part,
						 .shallow = gatherer.request->shallow } };
	struct zts_set slots = { 0 };
	enum sonde_status status = sonde_find(&finder, gatherer.request->query, &slots, err);

	if (status == SONDE_OK)
		status = add_slots(&gatherer, &slots, err);
	if (status == SONDE_OK && (gatherer.names.bytes.failed || zts_texts_failed(part->texts)))
		status = sonde_fail_nomem(err);
	gathering->groups.unreadable += finder.look.unreadable;
	zts_set_release(&slots);
	sonde_finder_release(&finder);
	zts_loaded_release(&gatherer.loaded);
	sonde_names_release(&gatherer.names);
	sonde_buffer_release(&gatherer.name);
	return status;
}

static int compare_groups(const void *a, const void *b)
{
	const struct sonde_group *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	if (left->durations.sum != right->durations.sum)
		return left->durations.sum > right->durations.sum ? -1 : 1;
	if (left->name_size != right->name_size)
		return left->name_size < right->name_size ? -1 : 1;
	return memcmp(left->name, right->name, left->name_size);
}

enum sonde_status sonde_stats(struct zts_base *base, const struct sonde_stats_request *request,
			      struct sonde_groups *groups, struct sonde_error *err)
{
	enum sonde_status status = sonde_gather_parts(base, gather, request, groups, err);

	if (status == SONDE_OK && groups->list.count)
		qsort(groups->list.items, groups->list.count, sizeof(*groups->list.items),
		      compare_groups);
	return status;
}
