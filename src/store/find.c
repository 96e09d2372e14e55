/* SPDX-License-Identifier: Apache-2.0 */
/* A query over one part: sets of slots, put together with and, or, not. */
#include "store/find.h"

#include <stdlib.h>
#include <string.h>

#include "store/find_ids.h"

void sonde_set_add_all(struct zts_set *set, const struct zts_set *other)
{
	size_t i;

	for (i = 0; i < sonde_set_words(set); i++)
		set->words[i] |= other->words[i];
}

void sonde_set_keep(struct zts_set *set, const struct zts_set *other)
{
	size_t i;

	for (i = 0; i < sonde_set_words(set); i++)
		set->words[i] &= other->words[i];
}

void sonde_set_remove_all(struct zts_set *set, const struct zts_set *other)
{
	size_t i;

	for (i = 0; i < sonde_set_words(set); i++)
		set->words[i] &= ~other->words[i];
}

static void set_copy(struct zts_set *set, const struct zts_set *other)
{
	if (set->size)
		memcpy(set->words, other->words, sonde_set_words(set) * sizeof(*set->words));
}

void sonde_finder_release(struct sonde_finder *finder)
{
	sonde_look_release(&finder->look);
	finder->summary = NULL;
}

enum sonde_status sonde_find_postings(struct sonde_finder *finder, const struct zts_set *ids,
				      bool deep, struct zts_set *slots, struct sonde_error *err)
{
	struct zts_part *part = finder->look.part;
	enum sonde_status status = sonde_summary_of(part, &finder->summary, err);
	size_t slot;

	if (status != SONDE_OK || !part->meta || sonde_set_is_empty(ids))
		return status;
	status = zts_texts_postings(part->meta, ids, deep, slots, err);
	if (!finder->summary->first_chunk)
		return status;
	for (slot = zts_set_next(slots, 0); slot != SIZE_MAX; slot = zts_set_next(slots, slot + 1))
		zts_set_add(slots, finder->summary->first_chunk[slot]);
	return status;
}

/* Sets that are needed for a while, for the slots of a part. */
#define MOST_SETS 4
struct sets {
	struct zts_set set[MOST_SETS];
};

static bool sets_init(struct sets *sets, const struct sonde_finder *finder, size_t count)
{
	size_t i;

	*sets = (struct sets){ 0 };
	for (i = 0; i < count; i++)
		if (!zts_set_init(&sets->set[i], finder->summary->traces.size))
			return false;
	return true;
}

static void sets_release(struct sets *sets)
{
	size_t i;

	for (i = 0; i < MOST_SETS; i++)
		zts_set_release(&sets->set[i]);
}

/* Among few candidates nobody is sorted out by an index: looking at them is faster. */
#define FEW 100

/* Who has a matching text somewhere, and the key: perhaps the one in the other, in an array or map. */
static enum sonde_status ask_values(struct sonde_finder *finder, const struct sonde_find_ids *ids,
				    bool deep, const struct zts_set *open, struct zts_set *rest,
				    struct sonde_error *err)
{
	struct zts_set with_key = { 0 };
	enum sonde_status status = sonde_find_postings(finder, &ids->others, deep, rest, err);

	sonde_set_keep(rest, open);
	if (status != SONDE_OK || zts_set_count(rest) <= FEW)
		return status;
	if (!zts_set_init(&with_key, finder->summary->traces.size))
		return sonde_fail_nomem(err);
	status = sonde_find_postings(finder, &ids->keys, deep, &with_key, err);
	sonde_set_keep(rest, &with_key);
	zts_set_release(&with_key);
	return status;
}

/* Who has the key; all of them, or those without any pair of it. */
static enum sonde_status ask_keys(struct sonde_finder *finder, const struct sonde_find_ids *ids,
				  bool deep, const struct zts_set *open, struct zts_set *rest,
				  struct sonde_error *err)
{
	struct zts_set with_pair = { 0 };
	enum sonde_status status = sonde_find_postings(finder, &ids->keys, deep, rest, err);

	sonde_set_keep(rest, open);
	if (status != SONDE_OK || ids->rest == SONDE_REST_KEY || sonde_set_is_empty(rest))
		return status;
	if (!zts_set_init(&with_pair, finder->summary->traces.size))
		return sonde_fail_nomem(err);
	status = sonde_find_postings(finder, &ids->others, deep, &with_pair, err);
	sonde_set_remove_all(rest, &with_pair);
	zts_set_release(&with_pair);
	return status;
}

/* Of the slots `within`: who surely has it, and who must be looked at, by the lines of the metadata index. */
static enum sonde_status ask_index(struct sonde_finder *finder, const struct sonde_find_ids *ids,
				   bool deep, const struct zts_set *within, struct zts_set *sure,
				   struct zts_set *rest, struct sonde_error *err)
{
	enum sonde_status status = sonde_find_postings(finder, &ids->sure, deep, sure, err);
	struct zts_set open = { 0 };

	sonde_set_keep(sure, within);
	if (status != SONDE_OK || ids->rest == SONDE_REST_NONE)
		return status;
	if (!zts_set_init(&open, finder->summary->traces.size))
		return sonde_fail_nomem(err);
	set_copy(&open, within);
	sonde_set_remove_all(&open, sure);
	status = ids->rest == SONDE_REST_KEY_AND_VALUES ?
			 ask_values(finder, ids, deep, &open, rest, err) :
			 ask_keys(finder, ids, deep, &open, rest, err);
	zts_set_release(&open);
	return status;
}

/* Looks at each of the candidates and adds those that fulfil it. */
static enum sonde_status look_at_all(struct sonde_finder *finder,
				     const struct sonde_query_node *test,
				     const struct zts_set *candidates, struct zts_set *found,
				     struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	size_t slot;
	bool matches;

	for (slot = zts_set_next(candidates, 0); slot != SIZE_MAX && status == SONDE_OK;
	     slot = zts_set_next(candidates, slot + 1)) {
		status = sonde_look_test(&finder->look, test, (uint32_t)slot, &matches, err);
		if (status == SONDE_OK && matches)
			zts_set_add(found, slot);
	}
	return status;
}

/* Of a shallow search: slots without a shallow line (inner traces) can only be looked at. */
static void part_shallow(const struct sonde_finder *finder, const struct zts_set *within,
			 struct zts_set *with_line, struct zts_set *without)
{
	const struct zts_slot *slots = finder->look.part->slots.list.items;
	size_t slot;

	for (slot = zts_set_next(within, 0); slot != SIZE_MAX;
	     slot = zts_set_next(within, slot + 1))
		zts_set_add(slots[slot].shallow_entry == UINT32_MAX ? without : with_line, slot);
}

static enum sonde_status find_shallow(struct sonde_finder *finder,
				      const struct sonde_query_node *test,
				      const struct sonde_find_ids *ids,
				      const struct zts_set *within, struct zts_set *found,
				      struct sonde_error *err)
{
	struct sets sets;
	struct zts_set *sure = &sets.set[0], *rest = &sets.set[1], *with_line = &sets.set[2],
		       *without = &sets.set[3];
	enum sonde_status status;

	if (!sets_init(&sets, finder, 4)) {
		sets_release(&sets);
		return sonde_fail_nomem(err);
	}
	part_shallow(finder, within, with_line, without);
	status = ask_index(finder, ids, false, with_line, sure, rest, err);
	sonde_set_add_all(found, sure);
	if (status == SONDE_OK)
		status = look_at_all(finder, test, rest, found, err);
	if (status == SONDE_OK && !sonde_set_is_empty(without)) {
		memset(sure->words, 0, sonde_set_words(sure) * sizeof(*sure->words));
		memset(rest->words, 0, sonde_set_words(rest) * sizeof(*rest->words));
		status = ask_index(finder, ids, true, without, sure, rest, err);
		sonde_set_add_all(rest, sure);
		if (status == SONDE_OK)
			status = look_at_all(finder, test, rest, found, err);
	}
	sets_release(&sets);
	return status;
}

/*
 * Other programs give traces inside of others texts of what is around them: there the index says too much,
 * and who is found must be looked at.
 */
static void doubt_inner(const struct sonde_finder *finder, struct zts_set *sure,
			struct zts_set *rest)
{
	const struct zts_slots *slots = &finder->look.part->slots;
	size_t slot;

	if (finder->look.part->has_names)
		return;
	for (slot = zts_set_next(sure, 0); slot != SIZE_MAX; slot = zts_set_next(sure, slot + 1)) {
		if (!slots->list.items[slot].start_offset)
			continue;
		sure->words[slot / 64] &= ~(UINT64_C(1) << slot % 64);
		zts_set_add(rest, slot);
	}
}

static enum sonde_status find_deep(struct sonde_finder *finder, const struct sonde_query_node *test,
				   const struct sonde_find_ids *ids, const struct zts_set *within,
				   struct zts_set *found, struct sonde_error *err)
{
	struct sets sets;
	struct zts_set *sure = &sets.set[0], *rest = &sets.set[1];
	enum sonde_status status;

	if (!sets_init(&sets, finder, 2)) {
		sets_release(&sets);
		return sonde_fail_nomem(err);
	}
	status = ask_index(finder, ids, true, within, sure, rest, err);
	doubt_inner(finder, sure, rest);
	sonde_set_add_all(found, sure);
	if (status == SONDE_OK)
		status = look_at_all(finder, test, rest, found, err);
	sets_release(&sets);
	return status;
}

/* By the index, among slots that have lines in it. */
static enum sonde_status find_by_index(struct sonde_finder *finder,
				       const struct sonde_query_node *test, const char *key,
				       size_t key_size, const struct zts_set *within,
				       struct zts_set *found, struct sonde_error *err)
{
	struct sonde_find_ids ids;
	enum sonde_status status =
		sonde_find_ids(finder->look.part, test, key, key_size, &ids, err);

	if (status == SONDE_OK)
		status = finder->look.shallow ?
				 find_shallow(finder, test, &ids, within, found, err) :
				 find_deep(finder, test, &ids, within, found, err);
	sonde_find_ids_release(&ids);
	return status;
}

/* Adds the slots whose name is one of these. */
static void add_named(const struct sonde_finder *finder, enum sonde_query_field field,
		      const struct zts_set *names, const struct zts_set *within,
		      struct zts_set *found)
{
	const struct zts_slot *slots = finder->look.part->slots.list.items;
	size_t slot;

	for (slot = zts_set_next(within, 0); slot != SIZE_MAX;
	     slot = zts_set_next(within, slot + 1))
		if (zts_set_has(names, sonde_field_of_slot(field, &slots[slot])))
			zts_set_add(found, slot);
}

/* Names in slots are few: each is compared once. Mostly none of them is like that, or all are. */
static enum sonde_status find_names(struct sonde_finder *finder,
				    const struct sonde_query_node *test,
				    const struct zts_set *within, struct zts_set *found,
				    struct sonde_error *err)
{
	const struct zts_set *names = sonde_summary_names(finder->summary, test->field);
	struct zts_set matching = { 0 };
	size_t name, matches = 0;

	if (!zts_set_init(&matching, names->size))
		return sonde_fail_nomem(err);
	for (name = zts_set_next(names, 0); name != SIZE_MAX;
	     name = zts_set_next(names, name + 1)) {
		if (!sonde_slot_name_matches(finder->look.part, test, (uint32_t)name))
			continue;
		zts_set_add(&matching, name);
		matches++;
	}
	if (matches == zts_set_count(names))
		sonde_set_add_all(found, within);
	else if (matches)
		add_named(finder, test->field, &matching, within, found);
	zts_set_release(&matching);
	return SONDE_OK;
}

/* What slots say: who has it, and who must be asked further. */
static void ask_slots(const struct sonde_finder *finder, const struct sonde_query_node *test,
		      const struct zts_set *within, struct zts_set *found, struct zts_set *open)
{
	size_t slot;

	for (slot = zts_set_next(within, 0); slot != SIZE_MAX;
	     slot = zts_set_next(within, slot + 1)) {
		int answer = sonde_slot_matches(finder->look.part, test, (uint32_t)slot);

		if (answer)
			zts_set_add(answer > 0 ? found : open, slot);
	}
}

/* Any text may be that of a name in a slot. */
static enum sonde_status find_text_names(struct sonde_finder *finder,
					 const struct sonde_query_node *test,
					 const struct zts_set *within, struct zts_set *found,
					 struct sonde_error *err)
{
	static const enum sonde_query_field fields[] = { SONDE_FIELD_TYPE, SONDE_FIELD_APP,
							 SONDE_FIELD_HOST, SONDE_FIELD_ENV };
	enum sonde_status status = SONDE_OK;
	size_t i;

	if (!finder->look.part->has_names)
		return SONDE_OK;
	for (i = 0; i < sizeof(fields) / sizeof(fields[0]) && status == SONDE_OK; i++) {
		struct sonde_query_node of_name = *test;

		of_name.field = fields[i];
		status = find_names(finder, &of_name, within, found, err);
	}
	return status;
}

static enum sonde_status ask_indexes(struct sonde_finder *finder,
				     const struct sonde_query_node *test, struct zts_set *open,
				     struct zts_set *found, struct sonde_error *err)
{
	const char *const *name = sonde_field_attributes(test->field);
	enum sonde_status status = SONDE_OK;

	if (!*name)
		return find_by_index(finder, test, test->key, test->key_size, open, found, err);
	for (; *name && status == SONDE_OK; name++)
		status = find_by_index(finder, test, *name, strlen(*name), open, found, err);
	return status;
}

/* One condition among the slots `within`. */
static enum sonde_status find_test(struct sonde_finder *finder, const struct sonde_query_node *test,
				   const struct zts_set *within, struct zts_set *found,
				   struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	struct sets sets;
	struct zts_set *open = &sets.set[0], *unindexed = &sets.set[1];

	if (test->field == SONDE_FIELD_TYPE || test->field == SONDE_FIELD_APP)
		return find_names(finder, test, within, found, err);
	if (!sets_init(&sets, finder, 2)) {
		sets_release(&sets);
		return sonde_fail_nomem(err);
	}
	set_copy(open, within);
	switch (test->field) {
	case SONDE_FIELD_SERVICE:
	case SONDE_FIELD_HOST:
	case SONDE_FIELD_ENV:
		status = find_names(finder, test, within, found, err);
		break;
	case SONDE_FIELD_ANY_TEXT:
		status = find_text_names(finder, test, within, found, err);
		break;
	case SONDE_FIELD_ATTRIBUTE:
	case SONDE_FIELD_METHOD:
	case SONDE_FIELD_EXCEPTION:
		break;
	default: /* no index has it: slots, and the traces themselves */
		memset(open->words, 0, sonde_set_words(open) * sizeof(*open->words));
		ask_slots(finder, test, within, found, open);
		status = look_at_all(finder, test, open, found, err);
		sets_release(&sets);
		return status;
	}
	sonde_set_remove_all(open, found);
	set_copy(unindexed, open);
	sonde_set_keep(unindexed, &finder->summary->unindexed);
	sonde_set_remove_all(open, unindexed);
	if (status == SONDE_OK)
		status = look_at_all(finder, test, unindexed, found, err);
	if (status == SONDE_OK && !sonde_set_is_empty(open))
		status = ask_indexes(finder, test, open, found, err);
	sets_release(&sets);
	return status;
}

/* What costs little comes first, and leaves less for the rest. */
static unsigned int cost_of(const struct sonde_query *query, uint32_t number)
{
	const struct sonde_query_node *node = &query->nodes.items[number];
	unsigned int left, right;

	if (node->kind == SONDE_QUERY_TEST) {
		switch (node->field) {
		case SONDE_FIELD_SPAN:
			return 4;
		case SONDE_FIELD_TIME:
		case SONDE_FIELD_DURATION:
			return 3; /* where slots have seconds only */
		case SONDE_FIELD_ATTRIBUTE:
		case SONDE_FIELD_ANY_TEXT:
		case SONDE_FIELD_METHOD:
		case SONDE_FIELD_EXCEPTION:
			return 2;
		default:
			return 1;
		}
	}
	left = cost_of(query, node->left);
	right = node->kind == SONDE_QUERY_NOT ? 0 : cost_of(query, node->right);
	return left > right ? left : right;
}

static enum sonde_status find_node(struct sonde_finder *finder, const struct sonde_query *query,
				   uint32_t number, const struct zts_set *within,
				   struct zts_set *found, struct sonde_error *err);

/* and: the second among those of the first. or: the second among the others. */
static enum sonde_status find_pair(struct sonde_finder *finder, const struct sonde_query *query,
				   const struct sonde_query_node *node,
				   const struct zts_set *within, struct zts_set *found,
				   struct sonde_error *err)
{
	bool swap = cost_of(query, node->right) < cost_of(query, node->left);
	uint32_t first = swap ? node->right : node->left;
	uint32_t second = swap ? node->left : node->right;
	struct zts_set between = { 0 };
	enum sonde_status status;

	if (!zts_set_init(&between, finder->summary->traces.size))
		return sonde_fail_nomem(err);
	if (node->kind == SONDE_QUERY_AND) {
		status = find_node(finder, query, first, within, &between, err);
		if (status == SONDE_OK && !sonde_set_is_empty(&between))
			status = find_node(finder, query, second, &between, found, err);
	} else {
		status = find_node(finder, query, first, within, found, err);
		set_copy(&between, within);
		sonde_set_remove_all(&between, found);
		if (status == SONDE_OK && !sonde_set_is_empty(&between))
			status = find_node(finder, query, second, &between, found, err);
	}
	zts_set_release(&between);
	return status;
}

static enum sonde_status find_not(struct sonde_finder *finder, const struct sonde_query *query,
				  const struct sonde_query_node *node, const struct zts_set *within,
				  struct zts_set *found, struct sonde_error *err)
{
	struct zts_set without = { 0 };
	enum sonde_status status;

	if (!zts_set_init(&without, finder->summary->traces.size))
		return sonde_fail_nomem(err);
	status = find_node(finder, query, node->left, within, &without, err);
	sonde_set_add_all(found, within);
	sonde_set_remove_all(found, &without);
	zts_set_release(&without);
	return status;
}

/* Adds to `found`, which has none of `within` before. */
static enum sonde_status find_node(struct sonde_finder *finder, const struct sonde_query *query,
				   uint32_t number, const struct zts_set *within,
				   struct zts_set *found, struct sonde_error *err)
{
	const struct sonde_query_node *node = &query->nodes.items[number];

	switch (node->kind) {
	case SONDE_QUERY_TEST:
		return find_test(finder, node, within, found, err);
	case SONDE_QUERY_NOT:
		return find_not(finder, query, node, within, found, err);
	default:
		return find_pair(finder, query, node, within, found, err);
	}
}

enum sonde_status sonde_find(struct sonde_finder *finder, const struct sonde_query *query,
			     struct zts_set *slots, struct sonde_error *err)
{
	enum sonde_status status = sonde_summary_of(finder->look.part, &finder->summary, err);

	if (status != SONDE_OK)
		return status;
	if (!zts_set_init(slots, finder->summary->traces.size))
		return sonde_fail_nomem(err);
	if (!query->nodes.count) {
		set_copy(slots, &finder->summary->traces);
		return SONDE_OK;
	}
	status = find_node(finder, query, query->root, &finder->summary->traces, slots, err);
	return status == SONDE_OK ? sonde_look_failed(&finder->look, err) : status;
}
