/* SPDX-License-Identifier: Apache-2.0 */
/* Groups by name and time: gathered in each part by itself, then merged. */
#include "store/groups.h"

#include <stdlib.h>
#include <string.h>

#include "store/groups_private.h"

void sonde_groups_release(struct sonde_groups *groups)
{
	size_t i;

	for (i = 0; i < groups->list.count; i++)
		sonde_sketch_release(&groups->list.items[i].durations);
	sonde_vec_release(&groups->list);
	sonde_arena_release(&groups->names);
}

void sonde_gathering_release(struct sonde_gathering *gathering)
{
	sonde_groups_release(&gathering->groups);
	sonde_text_map_release(&gathering->known);
	sonde_buffer_release(&gathering->key);
	sonde_key_map_release(&gathering->by_id);
}

/* Names are found by their bytes with the time before them. */
struct sonde_group *sonde_gather(struct sonde_gathering *gathering, uint64_t time_ns,
				 const char *name, size_t size)
{
	struct sonde_groups *groups = &gathering->groups;
	struct sonde_group *group;
	uint32_t number;
	char *key;

	sonde_buffer_clear(&gathering->key);
	sonde_buffer_put(&gathering->key, &time_ns, sizeof(time_ns));
	sonde_buffer_put(&gathering->key, name, size);
	if (gathering->key.failed)
		return NULL;
	number = sonde_text_map_find(&gathering->known, gathering->key.data, gathering->key.size);
	if (number != SONDE_NONE)
		return &groups->list.items[number];
	key = sonde_arena_copy_text(&groups->names, gathering->key.data, gathering->key.size);
	if (!key || !sonde_vec_reserve(&groups->list, 1) ||
	    !sonde_text_map_add(&gathering->known, key, gathering->key.size,
				(uint32_t)groups->list.count))
		return NULL;
	group = &groups->list.items[groups->list.count++];
	*group = (struct sonde_group){ .time_ns = time_ns,
				       .name = key + sizeof(time_ns),
				       .name_size = size };
	return group;
}

static bool merge(struct sonde_gathering *all, const struct sonde_groups *groups)
{
	size_t i;

	for (i = 0; i < groups->list.count; i++) {
		const struct sonde_group *from = &groups->list.items[i];
		struct sonde_group *to =
			sonde_gather(all, from->time_ns, from->name, from->name_size);

		if (!to || !sonde_sketch_merge(&to->durations, &from->durations))
			return false;
		to->errors += from->errors;
	}
	all->groups.unreadable += groups->unreadable;
	return true;
}

/* What runs for the parts. */
struct parts_work {
	struct zts_base *base;
	struct sonde_gathering *gatherings; /* one a part */
	sonde_gather_part *gather;
	const void *request;
};

static enum sonde_status gather_part(void *user, size_t number, struct sonde_error *err)
{
	struct parts_work *work = user;

	return work->gather(work->base->parts.items[number], work->request,
			    &work->gatherings[number], err);
}

/* In the order of parts, so that sums are the same every time. */
static enum sonde_status merge_all(struct parts_work *work, struct sonde_groups *groups,
				   struct sonde_error *err)
{
	struct sonde_gathering all = { 0 };
	enum sonde_status status = SONDE_OK;
	size_t i;

	for (i = 0; i < work->base->parts.count && status == SONDE_OK; i++)
		if (!merge(&all, &work->gatherings[i].groups))
			status = sonde_fail_nomem(err);
	if (status == SONDE_OK) {
		*groups = all.groups;
		all.groups = (struct sonde_groups){ 0 };
	}
	sonde_gathering_release(&all);
	return status;
}

enum sonde_status sonde_gather_parts(struct zts_base *base, sonde_gather_part *gather,
				     const void *request, struct sonde_groups *groups,
				     struct sonde_error *err)
{
	struct parts_work work = { .base = base, .gather = gather, .request = request };
	enum sonde_status status;
	size_t i;

	*groups = (struct sonde_groups){ 0 };
	work.gatherings = calloc(base->parts.count + 1, sizeof(*work.gatherings));
	if (!work.gatherings)
		return sonde_fail_nomem(err);
	status = sonde_pool_run(base->parts.count, 0, gather_part, &work, err);
	if (status == SONDE_OK)
		status = merge_all(&work, groups, err);
	for (i = 0; i < base->parts.count; i++)
		sonde_gathering_release(&work.gatherings[i]);
	free(work.gatherings);
	return status;
}
