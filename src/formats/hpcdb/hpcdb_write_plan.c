/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is settled before anything is written of a database: the numbers of metrics, and the tree.
 */
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_write_plan.h"

#define ID_LIMIT 65536

const struct hpcdb_stored_kind hpcdb_stored_kinds[HPCDB_STORED_KINDS] = {
	[HPCDB_STORED_SUM] = { "sum", "$$", HPCDB_COMBINE_SUM },
	[HPCDB_STORED_COUNT] = { "count", "1", HPCDB_COMBINE_SUM },
	[HPCDB_STORED_SQUARES] = { "squares", "($$^2)", HPCDB_COMBINE_SUM },
	[HPCDB_STORED_MIN] = { "min", "$$", HPCDB_COMBINE_MIN },
	[HPCDB_STORED_MAX] = { "max", "$$", HPCDB_COMBINE_MAX },
};

/* Which statistics, as asked for, need each of those that are stored. */
static const unsigned int needed_by[HPCDB_STORED_KINDS] = {
	[HPCDB_STORED_SUM] = HPCDB_STATISTIC_SUM | HPCDB_STATISTIC_MEAN | HPCDB_STATISTIC_DEVIATION,
	[HPCDB_STORED_COUNT] = HPCDB_STATISTIC_MEAN | HPCDB_STATISTIC_DEVIATION |
			       HPCDB_STATISTIC_COUNT,
	[HPCDB_STORED_SQUARES] = HPCDB_STATISTIC_DEVIATION,
	[HPCDB_STORED_MIN] = HPCDB_STATISTIC_EXTREMA,
	[HPCDB_STORED_MAX] = HPCDB_STATISTIC_EXTREMA,
};

static bool is_measured(const struct hpcdb_metric *metric)
{
	return !metric->formula || !*metric->formula;
}

static void number_scopes(struct hpcdb_numbers *numbers, unsigned int scopes)
{
	for (unsigned int i = 0; i < HPCDB_SCOPE_COUNT; i++)
		if (!scopes || scopes & 1u << i)
			numbers->scopes[numbers->scope_count++] = (uint8_t)i;
}

/* The numbers that the metrics take. */
static enum sonde_status number_metrics(struct hpcdb_plan *plan, const struct hpcdb_world *world,
					struct sonde_error *err)
{
	unsigned int statistics = plan->stored_count ? plan->stored_count : 1;
	uint32_t next = 0;

	for (uint32_t i = 0; i < world->metric_count; i++) {
		struct hpcdb_numbers *numbers = &plan->metrics[i];

		if (!is_measured(&world->metrics[i]))
			continue;
		number_scopes(numbers, world->metrics[i].scopes);
		numbers->base = next;
		numbers->first_slot = plan->slot_count;
		next += statistics * numbers->scope_count;
		if (next > ID_LIMIT)
			return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
					  "%u metrics with %u statistics need more than the %u "
					  "numbers that a database has; ask for fewer statistics",
					  world->metric_count, statistics, ID_LIMIT);
		for (unsigned int k = 0; k < numbers->scope_count; k++) {
			plan->slot_of_id[numbers->base + k] = (uint16_t)plan->slot_count;
			plan->id_of_slot[plan->slot_count++] = hpcdb_scope_id(numbers, k);
		}
	}
	return SONDE_OK;
}

enum sonde_status hpcdb_plan_metrics(struct hpcdb_plan *plan, const struct hpcdb_world *world,
				     unsigned int statistics, struct sonde_error *err)
{
	for (unsigned int i = 0; i < HPCDB_STORED_KINDS; i++)
		if (statistics & needed_by[i])
			plan->stored[plan->stored_count++] = (uint8_t)i;
	plan->metrics = calloc(world->metric_count + 1, sizeof(*plan->metrics));
	plan->slot_of_id = calloc(ID_LIMIT, sizeof(*plan->slot_of_id));
	plan->id_of_slot = calloc(ID_LIMIT, sizeof(*plan->id_of_slot));
	if (!plan->metrics || !plan->slot_of_id || !plan->id_of_slot)
		return sonde_fail_nomem(err);
	return number_metrics(plan, world, err);
}

void hpcdb_plan_release(struct hpcdb_plan *plan)
{
	free(plan->metrics);
	free(plan->slot_of_id);
	free(plan->id_of_slot);
	*plan = (struct hpcdb_plan){ 0 };
}

static enum sonde_status refuse_context(uint32_t context, const char *what, struct sonde_error *err)
{
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET, "context %u %s", context, what);
}

/* The tree must be as <sonde/profile.h> says, since propagation and meta.db rely on it. */
static enum sonde_status check_context(const struct hpcdb_world *world, uint32_t number,
				       struct sonde_error *err)
{
	const struct sonde_context *context = &world->contexts[number];

	if (!number)
		return context->kind == SONDE_CONTEXT_ROOT ?
			       SONDE_OK :
			       refuse_context(number, "must be the root", err);
	if (context->kind == SONDE_CONTEXT_ROOT)
		return refuse_context(number, "is a second root", err);
	if (context->parent >= number)
		return refuse_context(number, "comes before its parent", err);
	if ((context->kind == SONDE_CONTEXT_ENTRY) != !context->parent)
		return refuse_context(
			number, "must be an entry if, and only if, it is below the root", err);
	if (context->unlisted && context->kind == SONDE_CONTEXT_ENTRY)
		return refuse_context(number, "is an entry and must be listed", err);
	return SONDE_OK;
}

enum sonde_status hpcdb_plan_tree(struct hpcdb_job *job, struct sonde_error *err)
{
	const struct hpcdb_world *world = job->world;
	enum sonde_status status = SONDE_OK;

	job->nodes = malloc(world->context_count * sizeof(*job->nodes));
	job->listed = malloc(world->context_count * sizeof(*job->listed));
	if (!job->nodes || !job->listed)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < world->context_count && status >= 0; i++) {
		const struct sonde_context *context = &world->contexts[i];

		status = check_context(world, i, err);
		if (status < 0)
			break;
		job->nodes[i] = (struct hpcdb_node){
			.parent = i ? context->parent : 0,
			.is_enclosed = context->relation == SONDE_CONTEXT_ENCLOSED &&
				       context->kind != SONDE_CONTEXT_ENTRY,
			.is_loop = context->kind == SONDE_CONTEXT_LOOP,
		};
		job->listed[i] = context->unlisted ? job->listed[context->parent] : i;
	}
	return status;
}
