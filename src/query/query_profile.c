/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts and values of any recording: its own, or those that its calls make. The latter are as a conversion
 * to a profile would have them (model/call_tree.c), in memory, by one pass over all tracks.
 */
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "model/call_tree.h"
#include "model/recording.h"
#include "model/remap.h"
#include "query/query_tables.h"

/* A build from calls while it goes on. */
struct build {
	struct query_recording *source;
	struct query_profile *profile;
};

/* --- metrics --- */

/* Tells metrics that are made here, maybe by an earlier query, from those that a recording has. */
#define MADE_TEXT "in a context and all below it, added up"

static enum sonde_status add_text(struct sonde_definitions *definitions, const char *text,
				  uint32_t *id, struct sonde_error *err)
{
	return sonde_definitions_add_string(definitions, text, strlen(text), id, err);
}

/* The metric of what another counts, in a context and all below it. */
static enum sonde_status define_execution_of(struct sonde_definitions *definitions, uint32_t like,
					     uint32_t *id, struct sonde_error *err)
{
	struct sonde_metric metric = *sonde_definitions_metric(definitions, like);
	enum sonde_status status = add_text(definitions, "execution", &metric.scope, err);

	if (!status)
		status = add_text(definitions, MADE_TEXT, &metric.description, err);
	return status ? status : sonde_unite_metric(definitions, &metric, id, err);
}

static enum sonde_status define_spent(struct query_recording *source, struct sonde_error *err)
{
	struct sonde_definitions *definitions = source->recording->definitions;
	uint32_t *metrics = source->spent_metrics;
	struct sonde_derived_profile names = { 0 };
	enum sonde_status status = sonde_derived_profile_init(&names, definitions, err);

	metrics[QUERY_TIME_POINT] = names.time;
	metrics[QUERY_CALLS_POINT] = names.calls;
	if (!status)
		status = define_execution_of(definitions, names.time,
					     &metrics[QUERY_TIME_EXECUTION], err);
	if (!status)
		status = define_execution_of(definitions, names.calls,
					     &metrics[QUERY_CALLS_EXECUTION], err);
	sonde_derived_profile_release(&names);
	return status;
}

/* One that the recording has itself. */
static bool is_of_scope(const struct sonde_definitions *definitions,
			const struct sonde_metric *metric, const char *scope)
{
	const char *description = sonde_definitions_string(definitions, metric->description);

	return !metric->statistic && strcmp(description, MADE_TEXT) != 0 &&
	       !strcmp(sonde_definitions_string(definitions, metric->scope), scope);
}

/* Whether tracks have values of this scope at all. */
static bool has_scope(const struct sonde_definitions *definitions, const char *scope)
{
	uint32_t count = sonde_definitions_metric_count(definitions);

	for (uint32_t i = 0; i < count; i++) {
		if (is_of_scope(definitions, sonde_definitions_metric(definitions, i), scope))
			return true;
	}
	return false;
}

/* A metric of what is below as well for each that has only what is in the context itself. */
static enum sonde_status define_execution(struct query_recording *source, struct sonde_error *err)
{
	struct sonde_definitions *definitions = source->recording->definitions;
	uint32_t count = sonde_definitions_metric_count(definitions);
	enum sonde_status status = SONDE_OK;

	if (has_scope(definitions, "execution") || !has_scope(definitions, "point"))
		return SONDE_OK;
	source->execution = malloc(count * sizeof(*source->execution));
	if (!source->execution)
		return sonde_fail_nomem(err);
	source->makes_values = true;
	for (uint32_t i = 0; !status && i < count; i++) {
		source->execution[i] = SONDE_NONE;
		if (is_of_scope(definitions, sonde_definitions_metric(definitions, i), "point"))
			status = define_execution_of(definitions, i, &source->execution[i], err);
	}
	return status;
}

enum sonde_status query_metrics_define(struct query_recording *source, struct sonde_error *err)
{
	enum sonde_status status;

	source->makes_values = source->derives_profile;
	source->metric_count = sonde_definitions_metric_count(source->definitions);
	status = source->derives_profile ? define_spent(source, err) :
					   define_execution(source, err);
	return status;
}

/* --- of calls --- */

static enum sonde_status add_events(const struct build *build, uint32_t track,
				    struct sonde_call_tree *calls, struct sonde_error *err)
{
	struct sonde_cursor *cursor = NULL;
	struct sonde_batch batch = { 0 };
	enum sonde_status status;

	status = query_events_open(build->source, track, &cursor, err);
	while (!status) {
		if (query_is_over(build->source->query))
			status = sonde_fail(err, SONDE_CANCELLED, SONDE_NO_OFFSET,
					    "the query was ended");
		else
			status = sonde_cursor_next(cursor, &batch, err);
		if (!status)
			status = sonde_call_tree_add(calls, batch.events, batch.count, NULL, NULL,
						     err);
	}
	sonde_cursor_free(cursor);
	return status == SONDE_END ? sonde_call_tree_end(calls, NULL, NULL, err) : status;
}

/* Puts what each node spent, and all below it, into the list; contexts are nodes of the union yet. */
static enum sonde_status take_nodes(const struct build *build, uint32_t track,
				    const struct sonde_call_tree *calls, struct sonde_error *err)
{
	struct query_profile *profile = build->profile;
	struct query_spents *spent = &profile->spent[track];
	uint32_t count;
	const struct sonde_call_node *nodes = sonde_call_tree_nodes(calls, &count);
	struct sonde_context context = sonde_derived_entry(&profile->names, track);
	enum sonde_status status;

	if (count == 1)
		return SONDE_OK;
	if (!sonde_vec_reserve(spent, count + (size_t)1))
		return sonde_fail_nomem(err);
	status = sonde_context_union_add(profile->tree, SONDE_UNION_ROOT, &context,
					 &spent->items[0].context, err);
	for (uint32_t i = 1; !status && i < count; i++) {
		context = sonde_derived_context(nodes[i].function);
		status = sonde_context_union_add(profile->tree,
						 spent->items[nodes[i].parent].context, &context,
						 &spent->items[i].context, err);
	}
	if (status)
		return status;
	spent->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct query_spent *item = &spent->items[i];

		item->calls = item->total_calls = nodes[i].calls;
		/* the time between calls was not spent in any */
		item->self_ns = item->total_ns = i ? nodes[i].self_ns : 0;
	}
	/* parents come before children */
	for (uint32_t i = count - 1; i > 0; i--) {
		struct query_spent *parent = &spent->items[nodes[i].parent];

		parent->total_calls += spent->items[i].total_calls;
		parent->total_ns += spent->items[i].total_ns;
	}
	spent->items[spent->count++] = (struct query_spent){
		.context = SONDE_UNION_ROOT,
		.total_calls = spent->items[0].total_calls,
		.total_ns = spent->items[0].total_ns,
	};
	return SONDE_OK;
}

/* For sonde_pool_run(). */
static enum sonde_status add_track(void *user, size_t number, struct sonde_error *err)
{
	const struct build *build = user;
	struct sonde_call_tree *calls = sonde_call_tree_new();
	enum sonde_status status;

	if (!calls)
		return sonde_fail_nomem(err);
	status = add_events(build, (uint32_t)number, calls, err);
	if (!status) {
		pthread_mutex_lock(&build->profile->names.lock);
		status = take_nodes(build, (uint32_t)number, calls, err);
		pthread_mutex_unlock(&build->profile->names.lock);
	}
	sonde_call_tree_free(calls);
	return status;
}

static int compare_contexts(const void *a, const void *b)
{
	const struct query_spent *left = a, *right = b;

	return (left->context > right->context) - (left->context < right->context);
}

/* Final numbers of contexts, in their order; nodes of functions that say the same are one there. */
static void settle_track(const struct query_profile *profile, struct query_spents *spent)
{
	size_t kept = 0;

	for (size_t i = 0; i < spent->count; i++)
		spent->items[i].context =
			sonde_context_union_number(profile->tree, spent->items[i].context);
	if (spent->count)
		qsort(spent->items, spent->count, sizeof(*spent->items), compare_contexts);
	for (size_t i = 0; i < spent->count; i++) {
		struct query_spent *last = kept ? &spent->items[kept - 1] : NULL;
		const struct query_spent *item = &spent->items[i];

		if (!last || last->context != item->context) {
			spent->items[kept++] = *item;
			continue;
		}
		last->calls += item->calls;
		last->total_calls += item->total_calls;
		last->self_ns += item->self_ns;
		last->total_ns += item->total_ns;
	}
	spent->count = kept;
}

static enum sonde_status make_of_calls(struct query_recording *source,
				       struct query_profile *profile, struct sonde_error *err)
{
	struct build build = { .source = source, .profile = profile };
	enum sonde_status status;

	profile->is_derived = true;
	profile->track_count = sonde_definitions_track_count(source->definitions);
	profile->spent = calloc((size_t)profile->track_count + 1, sizeof(*profile->spent));
	profile->tree = sonde_context_union_new(source->definitions, true);
	if (!profile->spent || !profile->tree)
		return sonde_fail_nomem(err);
	status = sonde_derived_profile_init(&profile->names, source->recording->definitions, err);
	if (!status)
		status = sonde_pool_run(profile->track_count, source->query->threads, add_track,
					&build, err);
	if (!status)
		status = sonde_context_union_finish(profile->tree, err);
	if (status)
		return status;
	for (uint32_t i = 0; i < profile->track_count; i++)
		settle_track(profile, &profile->spent[i]);
	profile->contexts = sonde_context_union_contexts(profile->tree, &profile->context_count);
	return SONDE_OK;
}

/* --- both --- */

void query_profile_free(struct query_profile *profile)
{
	if (!profile)
		return;
	for (uint32_t i = 0; profile->spent && i < profile->track_count; i++)
		sonde_vec_release(&profile->spent[i]);
	free(profile->spent);
	sonde_context_union_free(profile->tree);
	sonde_derived_profile_release(&profile->names);
	free(profile);
}

enum sonde_status query_profile_get(struct query_recording *source,
				    const struct query_profile **profile, struct sonde_error *err)
{
	struct query_profile *made;
	enum sonde_status status;

	*profile = source->profile;
	if (source->profile)
		return SONDE_OK;
	made = calloc(1, sizeof(*made));
	if (!made)
		return sonde_fail_nomem(err);
	if (source->derives_profile)
		status = make_of_calls(source, made, err);
	else
		status = sonde_recording_contexts(source->recording, &made->contexts,
						  &made->context_count, err);
	if (status) {
		query_profile_free(made);
		return status;
	}
	*profile = source->profile = made;
	return SONDE_OK;
}

static struct query_recording *find_source(struct query *query, const char *schema)
{
	if (!schema || !sqlite3_stricmp(schema, "main"))
		return &query->recordings[0];
	for (size_t i = 0; i < query->count; i++) {
		if (!sqlite3_stricmp(query->recordings[i].schema, schema))
			return &query->recordings[i];
	}
	return NULL;
}

enum sonde_status query_tree(struct query *query, const char *schema, struct query_tree *tree,
			     struct sonde_error *err)
{
	struct query_recording *source = find_source(query, schema);
	const struct query_profile *profile;
	enum sonde_status status;

	if (!source)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "there is no recording %s in this query", schema);
	status = query_profile_get(source, &profile, err);
	if (status)
		return status;
	*tree = (struct query_tree){
		.definitions = source->definitions,
		.contexts = profile->contexts,
		.count = profile->context_count,
	};
	return SONDE_OK;
}
