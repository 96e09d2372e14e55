/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls as contexts, values and samples: the two filters that do it, one for each run over the
 * events. How calls make a tree is in call_tree.c.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/vec.h"
#include "model/call_tree.h"
#include "model/derive.h"
#include "model/recording.h"
#include "model/remap.h"

#define SAMPLE_BATCH 1024
#define VALUE_BATCH 1024
#define NS_PER_SECOND 1e9

static enum sonde_status add_text(struct sonde_definitions *definitions, const char *text,
				  uint32_t *id, struct sonde_error *err)
{
	return sonde_definitions_add_string(definitions, text, strlen(text), id, err);
}

static enum sonde_status add_metric(struct sonde_definitions *target, const char *name,
				    const char *unit, const char *description, uint32_t *id,
				    struct sonde_error *err)
{
	struct sonde_metric metric = { 0 };
	enum sonde_status status = add_text(target, name, &metric.name, err);

	if (!status && *unit)
		status = add_text(target, unit, &metric.unit, err);
	if (!status)
		status = add_text(target, description, &metric.description, err);
	if (!status)
		status = add_text(target, "point", &metric.scope, err);
	if (!status)
		status = sonde_unite_metric(target, &metric, id, err);
	return status;
}

enum sonde_status sonde_derived_profile_init(struct sonde_derived_profile *profile,
					     struct sonde_definitions *target,
					     struct sonde_error *err)
{
	enum sonde_status status;

	*profile = (struct sonde_derived_profile){ .definitions = target };
	status = add_text(target, sonde_entry_name(SONDE_ENTRY_MAIN_THREAD), &profile->main_name,
			  err);
	if (!status)
		status = add_text(target, sonde_entry_name(SONDE_ENTRY_APPLICATION_THREAD),
				  &profile->thread_name, err);
	if (!status)
		status = add_metric(target, SONDE_METRIC_TIME, "", SONDE_METRIC_TIME_TEXT,
				    &profile->time, err);
	if (!status)
		status = add_metric(target, SONDE_METRIC_CALLS, "", SONDE_METRIC_CALLS_TEXT,
				    &profile->calls, err);
	if (status)
		return status;
	profile->has_lock = !pthread_mutex_init(&profile->lock, NULL);
	return profile->has_lock ? SONDE_OK : sonde_fail_nomem(err);
}

void sonde_derived_profile_release(struct sonde_derived_profile *profile)
{
	if (profile->has_lock)
		pthread_mutex_destroy(&profile->lock);
	profile->has_lock = false;
}

bool sonde_track_is_main(const struct sonde_definitions *definitions, uint32_t number)
{
	const struct sonde_track *track = sonde_definitions_track(definitions, number);
	const struct sonde_process *process =
		sonde_definitions_process(definitions, track->process);

	if (track->kind != SONDE_TRACK_THREAD)
		return false;
	if (track->os_id != UINT64_MAX && process && process->os_id != SONDE_NONE)
		return track->os_id == process->os_id;
	return track->slot == 0;
}

static struct sonde_context entry_of(const struct sonde_derived_profile *profile, uint32_t track)
{
	bool is_main = sonde_track_is_main(profile->definitions, track);

	return (struct sonde_context){
		.function = SONDE_NONE,
		.module = SONDE_NONE,
		.name = is_main ? profile->main_name : profile->thread_name,
		.kind = SONDE_CONTEXT_ENTRY,
		.relation = SONDE_CONTEXT_CALLED,
		.entry = is_main ? SONDE_ENTRY_MAIN_THREAD : SONDE_ENTRY_APPLICATION_THREAD,
	};
}

static struct sonde_context function_of(const struct sonde_call_node *node)
{
	return (struct sonde_context){
		.function = node->function,
		.module = SONDE_NONE,
		.kind = SONDE_CONTEXT_FUNCTION,
		.relation = SONDE_CONTEXT_CALLED,
	};
}

/* The filter of the first run. */
struct gather {
	struct sonde_sink base;
	struct sonde_derived_profile *profile;
	struct sonde_call_tree *tree;
};

static enum sonde_status gather_events(struct sonde_sink *sink, uint32_t track,
				       const struct sonde_batch *batch, struct sonde_error *err)
{
	struct gather *gather = (struct gather *)sink;

	(void)track;
	return sonde_call_tree_add(gather->tree, batch->events, batch->count, NULL, NULL, err);
}

/* `places`: by node of the calls, its node in the union; the lock is held. */
static enum sonde_status add_paths(struct gather *gather, uint32_t track, uint32_t *places,
				   struct sonde_error *err)
{
	struct sonde_context_union *tree = gather->profile->tree;
	struct sonde_context entry = entry_of(gather->profile, track);
	uint32_t count;
	const struct sonde_call_node *nodes = sonde_call_tree_nodes(gather->tree, &count);
	enum sonde_status status;

	status = sonde_context_union_add(tree, SONDE_UNION_ROOT, &entry, &places[0], err);
	for (uint32_t i = 1; !status && i < count; i++) {
		struct sonde_context context = function_of(&nodes[i]);

		status = sonde_context_union_add(tree, places[nodes[i].parent], &context,
						 &places[i], err);
	}
	return status;
}

static enum sonde_status gather_track_end(struct sonde_sink *sink, uint32_t track,
					  struct sonde_error *err)
{
	struct gather *gather = (struct gather *)sink;
	enum sonde_status status;
	uint32_t count, *places;

	sonde_call_tree_nodes(gather->tree, &count);
	if (count == 1)
		return SONDE_OK;
	places = malloc(count * sizeof(*places));
	if (!places)
		return sonde_fail_nomem(err);
	pthread_mutex_lock(&gather->profile->lock);
	status = add_paths(gather, track, places, err);
	pthread_mutex_unlock(&gather->profile->lock);
	free(places);
	return status;
}

static void gather_free(struct sonde_sink *sink)
{
	struct gather *gather = (struct gather *)sink;

	sonde_call_tree_free(gather->tree);
	free(gather);
}

enum sonde_status sonde_gather_paths_new(struct sonde_derived_profile *profile,
					 struct sonde_sink **sink, struct sonde_error *err)
{
	static const struct sonde_sink_ops ops = {
		.events = gather_events,
		.track_end = gather_track_end,
		.free = gather_free,
	};
	struct gather *gather = calloc(1, sizeof(*gather));

	if (!gather)
		return sonde_fail_nomem(err);
	gather->base.ops = &ops;
	gather->profile = profile;
	gather->tree = sonde_call_tree_new();
	if (!gather->tree) {
		free(gather);
		return sonde_fail_nomem(err);
	}
	*sink = &gather->base;
	return SONDE_OK;
}

/* The filter of the second run. */
struct derive {
	struct sonde_sink base;
	struct sonde_sink *next;
	struct sonde_derived_profile *profile;
	struct sonde_call_tree *tree;
	uint32_t track;
	SONDE_VEC(uint32_t) contexts; /* by node of the tree; the entry is that of node 0 */
	size_t sample_count;
	struct sonde_sample samples[SAMPLE_BATCH];
};

/* Finds the contexts of nodes that are met for the first time. */
static enum sonde_status find_contexts(struct derive *derive, struct sonde_error *err)
{
	const struct sonde_context_union *tree = derive->profile->tree;
	uint32_t count;
	const struct sonde_call_node *nodes = sonde_call_tree_nodes(derive->tree, &count);

	while (derive->contexts.count < count) {
		uint32_t node = (uint32_t)derive->contexts.count;
		uint32_t parent = node ? derive->contexts.items[nodes[node].parent] : 0;
		struct sonde_context context = node ? function_of(&nodes[node]) :
						      entry_of(derive->profile, derive->track);
		uint32_t *found = sonde_vec_push(&derive->contexts);

		if (!found)
			return sonde_fail_nomem(err);
		*found = sonde_context_union_find(tree, parent, &context);
		if (*found == SONDE_NONE)
			return sonde_fail(err, SONDE_IO, SONDE_NO_OFFSET,
					  "the recording changed while it was read: a call path "
					  "is there that was not there before; try again");
	}
	return SONDE_OK;
}

static enum sonde_status flush_samples(struct derive *derive, struct sonde_error *err)
{
	size_t count = derive->sample_count;

	derive->sample_count = 0;
	if (!count)
		return SONDE_OK;
	return derive->next->ops->samples(derive->next, derive->track, derive->samples, count, err);
}

static enum sonde_status note_change(void *user, uint64_t time_ns, uint32_t node,
				     struct sonde_error *err)
{
	struct derive *derive = user;

	if (node >= derive->contexts.count) {
		enum sonde_status status = find_contexts(derive, err);

		if (status)
			return status;
	}
	derive->samples[derive->sample_count++] = (struct sonde_sample){
		.time_ns = time_ns,
		.track = derive->track,
		.context = node ? derive->contexts.items[node] : 0,
	};
	return derive->sample_count < SAMPLE_BATCH ? SONDE_OK : flush_samples(derive, err);
}

static enum sonde_status derive_events(struct sonde_sink *sink, uint32_t track,
				       const struct sonde_batch *batch, struct sonde_error *err)
{
	struct derive *derive = (struct derive *)sink;
	enum sonde_status status;

	derive->track = track;
	status = sonde_call_tree_add(derive->tree, batch->events, batch->count, note_change, derive,
				     err);
	return status ? status : derive->next->ops->events(derive->next, track, batch, err);
}

/* The values of one node, in the order of the metrics' ids; gives how many. */
static size_t values_of(const struct derive *derive, uint32_t number, struct sonde_value values[2])
{
	const struct sonde_derived_profile *profile = derive->profile;
	uint32_t count;
	const struct sonde_call_node *node = &sonde_call_tree_nodes(derive->tree, &count)[number];
	struct sonde_value calls = {
		.track = derive->track,
		.context = derive->contexts.items[number],
		.metric = profile->calls,
		.value = (double)node->calls,
	};
	struct sonde_value time = calls;

	time.metric = profile->time;
	time.value = (double)node->self_ns / NS_PER_SECOND;
	values[0] = calls;
	values[1] = time;
	if (!node->self_ns)
		return 1;
	if (time.metric < calls.metric) {
		values[0] = time;
		values[1] = calls;
	}
	return 2;
}

static enum sonde_status put_values(struct derive *derive, const struct sonde_sort_item *order,
				    size_t count, struct sonde_error *err)
{
	struct sonde_value values[VALUE_BATCH + 2];
	enum sonde_status status = SONDE_OK;
	size_t used = 0;

	for (size_t i = 0; !status && i < count; i++) {
		used += values_of(derive, (uint32_t)order[i].number, values + used);
		if (used < VALUE_BATCH && i + 1 < count)
			continue;
		status = derive->next->ops->values(derive->next, derive->track, values, used, err);
		used = 0;
	}
	return status;
}

/* All nodes but the track itself, in the order of their contexts. */
static enum sonde_status derive_values(struct derive *derive, struct sonde_error *err)
{
	size_t count = derive->contexts.count ? derive->contexts.count - 1 : 0;
	struct sonde_sort_item *order = calloc(count + 1, sizeof(*order));
	enum sonde_status status = SONDE_OK;

	if (!order)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		order[i] = (struct sonde_sort_item){
			.key = derive->contexts.items[i + 1],
			.number = i + 1,
		};
	if (!sonde_sort(order, count))
		status = sonde_fail_nomem(err);
	else
		status = put_values(derive, order, count, err);
	free(order);
	return status;
}

static enum sonde_status derive_track_end(struct sonde_sink *sink, uint32_t track,
					  struct sonde_error *err)
{
	struct derive *derive = (struct derive *)sink;
	enum sonde_status status;

	derive->track = track;
	status = sonde_call_tree_end(derive->tree, note_change, derive, err);
	if (!status)
		status = flush_samples(derive, err);
	if (!status)
		status = derive_values(derive, err);
	return status ? status : derive->next->ops->track_end(derive->next, track, err);
}

static void derive_free(struct sonde_sink *sink)
{
	struct derive *derive = (struct derive *)sink;

	sonde_call_tree_free(derive->tree);
	sonde_vec_release(&derive->contexts);
	free(derive);
}

enum sonde_status sonde_derive_profile_new(struct sonde_derived_profile *profile,
					   struct sonde_sink *next, struct sonde_sink **sink,
					   struct sonde_error *err)
{
	static const struct sonde_sink_ops ops = {
		.events = derive_events,
		.track_end = derive_track_end,
		.free = derive_free,
	};
	struct derive *derive = calloc(1, sizeof(*derive));

	if (!derive)
		return sonde_fail_nomem(err);
	derive->base.ops = &ops;
	derive->next = next;
	derive->profile = profile;
	derive->tree = sonde_call_tree_new();
	if (!derive->tree) {
		free(derive);
		return sonde_fail_nomem(err);
	}
	*sink = &derive->base;
	return SONDE_OK;
}
