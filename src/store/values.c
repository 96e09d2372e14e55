/* SPDX-License-Identifier: Apache-2.0 */
/* Values of an attribute, or names of attributes, with how many traces have them. */
#include <stdlib.h>
#include <string.h>

#include "store/attribute.h"
#include "store/find_ids.h"
#include "store/groups_private.h"
#include "store/names.h"

/* So many values are asked of the index one by one; more are counted by looking at the traces. */
#define MOST_PAIRS 256

struct values_request {
	const struct sonde_query *query;
	const char *attribute;
	bool shallow;
};

struct counter {
	const struct values_request *request;
	struct sonde_gathering *gathering;
	struct sonde_finder *finder;
	struct sonde_names names;
	struct sonde_buffer name;
	uint32_t slot;
	uint32_t *last_slot; /* by group: the last trace that was counted, plus one */
	size_t last_count;
	bool out_of_memory;
};

static void count_some(struct counter *counter, const char *name, size_t size, uint64_t more)
{
	struct sonde_group *group = sonde_gather(counter->gathering, 0, name, size);

	if (group)
		group->durations.count += more;
	else
		counter->out_of_memory = true;
}

/* Once a trace, however often it has the value. */
static void count_once(struct counter *counter, const char *name, size_t size)
{
	struct sonde_group *group = sonde_gather(counter->gathering, 0, name, size);
	size_t number;

	if (!group) {
		counter->out_of_memory = true;
		return;
	}
	number = (size_t)(group - counter->gathering->groups.list.items);
	if (number >= counter->last_count) {
		size_t room = (number + 1) * 2;
		uint32_t *last = realloc(counter->last_slot, room * sizeof(*last));

		if (!last) {
			counter->out_of_memory = true;
			return;
		}
		memset(last + counter->last_count, 0, (room - counter->last_count) * sizeof(*last));
		counter->last_slot = last;
		counter->last_count = room;
	}
	if (counter->last_slot[number] == counter->slot + 1)
		return;
	counter->last_slot[number] = counter->slot + 1;
	group->durations.count++;
}

static bool count_scalar(void *context, const struct sonde_scalar *scalar)
{
	if (scalar->kind != SONDE_SCALAR_KEY)
		count_once(context, scalar->text, scalar->size);
	return true;
}

static void count_record(struct counter *counter, const struct zts_loaded *loaded, uint32_t record)
{
	struct zts_attribute_cursor cursor = { .tree = &loaded->tree, .record = record };
	const char *wanted = counter->request->attribute;

	while (zts_attribute_next(&cursor, NULL) == SONDE_OK) {
		const char *key = (const char *)cursor.key_text;
		size_t size = cursor.key_size;

		if (!cursor.key_text)
			key = sonde_names_get(&counter->names, cursor.key, &size);
		if (!wanted &&
		    (size != strlen(ZTS_NS_ATTRIBUTE) || memcmp(key, ZTS_NS_ATTRIBUTE, size) != 0))
			count_once(counter, key, size);
		else if (wanted && size == strlen(wanted) && !memcmp(key, wanted, size))
			sonde_value_walk(counter->names.texts, cursor.value, count_scalar, counter);
	}
}

/* By looking at each of the traces. */
static enum sonde_status count_by_looking(struct counter *counter, const struct zts_set *slots,
					  struct sonde_error *err)
{
	struct sonde_look *look = &counter->finder->look;
	enum sonde_status status = SONDE_OK;
	size_t slot;
	uint32_t i, count;

	for (slot = zts_set_next(slots, 0); slot != SIZE_MAX && status == SONDE_OK;
	     slot = zts_set_next(slots, slot + 1)) {
		status = zts_part_load(look->part, (uint32_t)slot, &look->loaded, err);
		if (status == SONDE_NOMEM || status == SONDE_CANCELLED)
			return status;
		if (status != SONDE_OK) {
			look->unreadable++;
			status = SONDE_OK;
			continue;
		}
		counter->slot = (uint32_t)slot;
		count = counter->request->shallow ?
				1 :
				look->loaded.tree.records.items[look->loaded.root].records;
		for (i = 0; i < count; i++)
			count_record(counter, &look->loaded, look->loaded.root + i);
		if (counter->out_of_memory)
			status = sonde_fail_nomem(err);
	}
	return status;
}

/* The pairs of the keys, as far as they are few. */
struct pairs {
	struct zts_set ids;
	struct pair {
		uint32_t id, value;
		size_t literal, size; /* in `literals` */
	} list[MOST_PAIRS];
	size_t count;
	struct sonde_buffer literals;
};

static bool note_pair(void *context, uint32_t id, uint32_t value, const char *literal, size_t size)
{
	struct pairs *pairs = context;

	if (pairs->count < MOST_PAIRS) {
		pairs->list[pairs->count] = (struct pair){
			.id = id, .value = value, .literal = pairs->literals.size, .size = size
		};
		if (!value)
			sonde_buffer_put(&pairs->literals, literal, size);
	}
	zts_set_add(&pairs->ids, id);
	return pairs->count++ < MOST_PAIRS;
}

static enum sonde_status count_pair(struct counter *counter, const struct pairs *pairs,
				    const struct pair *pair, const struct zts_set *within,
				    struct sonde_error *err)
{
	struct zts_texts *texts = counter->finder->look.part->texts;
	struct zts_set id = { 0 }, slots = { 0 };
	const char *text = pair->size ? pairs->literals.data + pair->literal : "";
	size_t size = pair->size;
	enum sonde_status status = SONDE_NOMEM;

	if (zts_set_init(&id, zts_texts_end(texts)) && zts_set_init(&slots, within->size)) {
		zts_set_add(&id, pair->id);
		status = sonde_find_postings(counter->finder, &id, true, &slots, err);
		sonde_set_keep(&slots, within);
		if (pair->value)
			zts_texts_plain(texts, pair->value, &counter->name, &text, &size);
		if (status == SONDE_OK && !sonde_set_is_empty(&slots))
			count_some(counter, text, size, zts_set_count(&slots));
	}
	zts_set_release(&id);
	zts_set_release(&slots);
	return status == SONDE_NOMEM ? sonde_fail_nomem(err) : status;
}

/*
 * Values that have pairs are counted by postings; traces without any (but with the key) are left in
 * `slots`.
 */
static enum sonde_status count_by_index(struct counter *counter, const struct pairs *pairs,
					const struct zts_set *keys, struct zts_set *slots,
					struct sonde_error *err)
{
	struct zts_set with_key = { 0 }, with_pair = { 0 };
	enum sonde_status status = SONDE_OK;
	size_t i;

	if (!zts_set_init(&with_key, slots->size) || !zts_set_init(&with_pair, slots->size))
		status = sonde_fail_nomem(err);
	for (i = 0; i < pairs->count && status == SONDE_OK; i++)
		status = count_pair(counter, pairs, &pairs->list[i], slots, err);
	if (status == SONDE_OK)
		status = sonde_find_postings(counter->finder, keys, true, &with_key, err);
	if (status == SONDE_OK)
		status = sonde_find_postings(counter->finder, &pairs->ids, true, &with_pair, err);
	if (status == SONDE_OK) {
		sonde_set_keep(slots, &with_key);
		sonde_set_remove_all(slots, &with_pair);
	}
	zts_set_release(&with_key);
	zts_set_release(&with_pair);
	return status;
}

/* Whether the index of a part can be believed for this: it is ours, whole, and says all. */
static bool has_good_index(const struct counter *counter)
{
	const struct zts_part *part = counter->finder->look.part;

	return part->meta && part->has_names && !part->is_rebuilt && !counter->request->shallow &&
	       sonde_set_is_empty(&counter->finder->summary->unindexed);
}

/* The keys that an attribute has, and its pairs. */
static enum sonde_status find_pairs(struct zts_texts *texts, const char *attribute,
				    struct zts_set *keys, struct pairs *pairs,
				    struct sonde_error *err)
{
	enum sonde_status status = sonde_find_keys(texts, attribute, strlen(attribute), keys, err);
	size_t key;

	for (key = zts_set_next(keys, 0); key != SIZE_MAX && status == SONDE_OK;
	     key = zts_set_next(keys, key + 1))
		status = zts_texts_pairs(texts, (uint32_t)key, note_pair, pairs, err);
	if (status == SONDE_OK && pairs->literals.failed)
		status = sonde_fail_nomem(err);
	return status;
}

static enum sonde_status count_with_pairs(struct counter *counter, struct zts_set *slots,
					  struct pairs *pairs, struct zts_set *keys,
					  struct sonde_error *err)
{
	enum sonde_status status = find_pairs(counter->finder->look.part->texts,
					      counter->request->attribute, keys, pairs, err);

	if (status == SONDE_OK && sonde_set_is_empty(keys))
		return SONDE_OK;
	if (status == SONDE_OK && pairs->count <= MOST_PAIRS && has_good_index(counter))
		status = count_by_index(counter, pairs, keys, slots, err);
	return status == SONDE_OK ? count_by_looking(counter, slots, err) : status;
}

static enum sonde_status count_values(struct counter *counter, struct zts_set *slots,
				      struct sonde_error *err)
{
	size_t end = zts_texts_end(counter->finder->look.part->texts);
	struct pairs *pairs = calloc(1, sizeof(*pairs));
	struct zts_set keys = { 0 };
	enum sonde_status status = SONDE_NOMEM;

	if (!pairs)
		return sonde_fail_nomem(err);
	if (zts_set_init(&keys, end) && zts_set_init(&pairs->ids, end))
		status = count_with_pairs(counter, slots, pairs, &keys, err);
	else
		sonde_fail_nomem(err);
	zts_set_release(&pairs->ids);
	sonde_buffer_release(&pairs->literals);
	free(pairs);
	zts_set_release(&keys);
	return status;
}

static enum sonde_status gather(struct zts_part *part, const void *request,
				struct sonde_gathering *gathering, struct sonde_error *err)
{
	const struct values_request *values = request;
	struct sonde_finder finder = { .look = { .part = part, .shallow = values->shallow } };
	struct counter counter = { .request = values,
				   .gathering = gathering,
				   .finder = &finder,
				   .names = { .texts = part->texts } };
	struct zts_set slots = { 0 };
	enum sonde_status status = sonde_find(&finder, values->query, &slots, err);

	if (status == SONDE_OK)
		status = values->attribute ? count_values(&counter, &slots, err) :
					     count_by_looking(&counter, &slots, err);
	if (status == SONDE_OK && (counter.out_of_memory || counter.name.failed ||
				   counter.names.bytes.failed || zts_texts_failed(part->texts)))
		status = sonde_fail_nomem(err);
	gathering->groups.unreadable += finder.look.unreadable;
	zts_set_release(&slots);
	sonde_finder_release(&finder);
	sonde_names_release(&counter.names);
	sonde_buffer_release(&counter.name);
	free(counter.last_slot);
	return status;
}

static int compare_groups(const void *a, const void *b)
{
	const struct sonde_group *left = a, *right = b;
	size_t size = left->name_size < right->name_size ? left->name_size : right->name_size;
	int order;

	if (left->durations.count != right->durations.count)
		return left->durations.count > right->durations.count ? -1 : 1;
	order = memcmp(left->name, right->name, size);
	return order ? order : (left->name_size > size) - (right->name_size > size);
}

enum sonde_status sonde_values(struct zts_base *base, const struct sonde_query *query,
			       const char *attribute, bool shallow, struct sonde_groups *groups,
			       struct sonde_error *err)
{
	struct values_request request = { .query = query,
					  .attribute = attribute,
					  .shallow = shallow };
	enum sonde_status status = sonde_gather_parts(base, gather, &request, groups, err);

	if (status == SONDE_OK && groups->list.count)
		qsort(groups->list.items, groups->list.count, sizeof(*groups->list.items),
		      compare_groups);
	return status;
}
