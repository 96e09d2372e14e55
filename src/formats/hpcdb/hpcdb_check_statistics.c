/* SPDX-License-Identifier: Apache-2.0 */
/*
 * That the summary is what follows from the profiles: its contexts in pieces, and for each piece the part
 * of every plane that belongs to it, so that memory grows with the summary only.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_check.h"

/* Of a metric in a scope; real ones have five. More are left alone. */
#define STATISTICS_LIMIT 64
/* Pairs of a metric's scopes and statistics that are looked at. */
#define PAIRS_LIMIT (16 * HPCDB_IDS_OF_METRICS)

double hpcdb_statistic_apply(const struct hpcdb_statistic *statistic, double value)
{
	const struct sonde_expression_node *node = statistic->formula.nodes.items;
	struct sonde_expression_values values = { .value = value };
	double result;

	if (statistic->formula.nodes.count == 1)
		return node->operation == SONDE_OPERATION_VALUE ? value : node->number;
	if (statistic->is_squares)
		return value * value;
	return sonde_expression_evaluate(&statistic->formula, &values, &result) ? result : NAN;
}

double hpcdb_statistic_combine(const struct hpcdb_statistic *statistic, double a, double b)
{
	if (statistic->combine == HPCDB_COMBINE_SUM)
		return a + b;
	return statistic->combine == HPCDB_COMBINE_MIN ? fmin(a, b) : fmax(a, b);
}

static bool is_squares(const struct sonde_expression *formula)
{
	const struct sonde_expression_node *nodes = formula->nodes.items;

	return formula->nodes.count == 3 && nodes[2].operation == SONDE_OPERATION_POWER &&
	       nodes[0].operation == SONDE_OPERATION_VALUE &&
	       nodes[1].operation == SONDE_OPERATION_NUMBER && nodes[1].number == 2;
}

/* A formula of $$ and numbers alone. */
static bool is_unary(const struct sonde_expression *formula)
{
	for (size_t i = 0; i < formula->nodes.count; i++) {
		if (formula->nodes.items[i].operation == SONDE_OPERATION_REFERENCE)
			return false;
	}
	return true;
}

static enum sonde_status plan_statistic(struct hpcdb_check *check,
					const struct hpcdb_summary *summary, bool is_lex_aware,
					struct sonde_error *err)
{
	struct hpcdb_statistic *statistic;
	struct sonde_expression formula = { 0 };
	enum sonde_status status;

	if (summary->combine > HPCDB_COMBINE_MAX)
		return SONDE_OK;
	status = sonde_expression_parse(&formula, summary->formula.text, summary->formula.length,
					NULL);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status < 0 || !is_unary(&formula)) {
		sonde_expression_release(&formula);
		return SONDE_OK;
	}
	statistic = sonde_vec_push(&check->statistics);
	if (!statistic) {
		sonde_expression_release(&formula);
		return sonde_fail_nomem(err);
	}
	*statistic = (struct hpcdb_statistic){ formula, summary->id, summary->combine,
					       is_squares(&formula), is_lex_aware };
	return SONDE_OK;
}

enum sonde_status hpcdb_check_plan_statistics(struct hpcdb_check *check, struct sonde_error *err)
{
	const struct hpcdb_meta *meta = &check->meta;
	uint32_t pairs = 0;

	check->first_statistics =
		calloc(HPCDB_IDS_OF_METRICS + 1, sizeof(*check->first_statistics));
	if (!check->first_statistics)
		return sonde_fail_nomem(err);
	for (uint32_t id = 0; id < HPCDB_IDS_OF_METRICS; id++) {
		uint32_t number = check->prop_instances[id];
		const struct hpcdb_instance *instance =
			number == HPCDB_NO_RECORD ? NULL : &meta->instances.items[number];
		const struct hpcdb_metric_info *metric =
			instance ? &meta->metrics.items[instance->metric] : NULL;
		enum sonde_status status = SONDE_OK;

		check->first_statistics[id] = (uint32_t)check->statistics.count;
		for (uint32_t i = 0; instance && i < metric->summary_count && status == SONDE_OK;
		     i++) {
			const struct hpcdb_summary *summary =
				&meta->summaries.items[metric->first_summary + i];
			size_t planned = check->statistics.count - check->first_statistics[id];

			if (planned >= STATISTICS_LIMIT || pairs++ >= PAIRS_LIMIT)
				break;
			if (summary->scope == instance->scope)
				status = plan_statistic(
					check, summary,
					check->scopes[instance->metric].lex_aware == id, err);
		}
		if (status < 0)
			return status;
	}
	check->first_statistics[HPCDB_IDS_OF_METRICS] = (uint32_t)check->statistics.count;
	return SONDE_OK;
}

/* A piece of the summary. */
struct gathering {
	struct hpcdb_check *check;
	struct sonde_diagnostics *found;
	struct hpcdb_plane summary;
	uint64_t first, end; /* values of the summary in this piece */
	double *expected;
	const struct hpcdb_statistic **statistics; /* NULL: no profile has anything for it */
};

/* Where the summary has a statistic of a context, or `end`; they are in the order of numbers. */
static uint64_t find_place(const struct gathering *gathering, uint64_t first, uint64_t end,
			   uint16_t id)
{
	uint64_t low = first, high = end;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (hpcdb_plane_metric(&gathering->summary, middle) < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end && hpcdb_plane_metric(&gathering->summary, low) == id ? low : end;
}

/*
 * In the profiles of the existing program's threads a loop has the values of loops within it, in its
 * summary it has not: nothing follows from the one for the other.
 */
static bool is_tolerated(const struct hpcdb_check *check, const struct hpcdb_statistic *statistic,
			 uint32_t context)
{
	uint32_t place;

	if (!statistic->is_lex_aware || !check->loops_not_apart)
		return false;
	place = hpcdb_ids_find(&check->ids, context);
	return place != HPCDB_NO_RECORD &&
	       check->tree.contexts.items[place].lexical_type == HPCDB_LOOP;
}

static void gather_value(struct gathering *gathering, uint32_t number, uint32_t context,
			 uint16_t metric, double value)
{
	struct hpcdb_check *check = gathering->check;
	uint64_t first = 0, end = 0;

	if (number < gathering->summary.context_count &&
	    hpcdb_plane_context(&gathering->summary, number) == context)
		hpcdb_plane_range(&gathering->summary, number, &first, &end);
	for (uint32_t i = check->first_statistics[metric]; i < check->first_statistics[metric + 1];
	     i++) {
		const struct hpcdb_statistic *statistic = &check->statistics.items[i];
		uint64_t place = find_place(gathering, first, end, statistic->id);
		double applied = hpcdb_statistic_apply(statistic, value);
		const struct hpcdb_statistic **known;
		double *expected;

		if (is_tolerated(check, statistic, context))
			applied = NAN;
		if (place == end && isnan(applied))
			continue;
		if (place == end) {
			hpcdb_found(gathering->found, STATISTICS, check->profile.file.path,
				    gathering->summary.values_offset,
				    "statistic %u of context %" PRIu32 "\tnone", statistic->id,
				    context);
			continue;
		}
		known = &gathering->statistics[place - gathering->first];
		expected = &gathering->expected[place - gathering->first];
		*expected = *known && !isnan(applied) ?
				    hpcdb_statistic_combine(statistic, *expected, applied) :
				    applied;
		*known = statistic;
	}
}

/* What a profile has of the contexts from number `first` of the summary to before `end`. */
static void gather_plane(struct gathering *gathering, const struct hpcdb_plane *plane,
			 uint32_t first, uint32_t end)
{
	const struct hpcdb_plane *summary = &gathering->summary;
	uint64_t value, last;
	uint32_t number = first;
	/* the first piece takes what is before it, each one what is up to the next */
	uint32_t i = first ? hpcdb_plane_seek(plane, hpcdb_plane_context(summary, first)) : 0;

	for (; i < plane->context_count; i++) {
		uint32_t context = hpcdb_plane_context(plane, i);

		if (end < summary->context_count && context >= hpcdb_plane_context(summary, end))
			return;
		while (number < end && hpcdb_plane_context(summary, number) < context)
			number++;
		hpcdb_plane_range(plane, i, &value, &last);
		for (; value < last; value++)
			gather_value(gathering, number, context, hpcdb_plane_metric(plane, value),
				     hpcdb_plane_number(plane, value));
	}
}

static void compare(struct gathering *gathering)
{
	const char *path = gathering->check->profile.file.path;

	for (uint64_t i = gathering->first; i < gathering->end; i++) {
		const struct hpcdb_statistic *statistic =
			gathering->statistics[i - gathering->first];
		double expected = gathering->expected[i - gathering->first];
		double is = hpcdb_plane_number(&gathering->summary, i);
		uint64_t offset = gathering->summary.values_offset + i * HPCDB_PROFILE_VALUE_SIZE;

		if (statistic && (hpcdb_is_close(expected, is, is) || isnan(expected)))
			continue;
		if (statistic && statistic->is_squares)
			hpcdb_found(gathering->found, SQUARES, path, offset, "%.17g\t%.17g",
				    expected, is);
		else if (statistic)
			hpcdb_found(gathering->found, STATISTICS, path, offset, "%.17g\t%.17g",
				    expected, is);
		else if (gathering->check
				 ->stat_summaries[hpcdb_plane_metric(&gathering->summary, i)] !=
			 HPCDB_NO_RECORD)
			hpcdb_found(gathering->found, STATISTICS, path, offset,
				    "a statistic of something\t%.17g, and no profile has any", is);
	}
}

static enum sonde_status check_piece(struct hpcdb_check *check, uint32_t first, uint32_t end,
				     struct sonde_diagnostics *found, struct sonde_error *err)
{
	struct gathering gathering = { .check = check, .found = found };
	enum sonde_status status = SONDE_OK;
	uint64_t unused, count;

	gathering.summary = hpcdb_profile_at(&check->profile, 0).plane;
	hpcdb_plane_range(&gathering.summary, first, &gathering.first, &unused);
	hpcdb_plane_range(&gathering.summary, end - 1, &unused, &gathering.end);
	count = gathering.end - gathering.first + 1;
	gathering.expected = calloc(count, sizeof(*gathering.expected));
	gathering.statistics = calloc(count, sizeof(*gathering.statistics));
	if (!gathering.expected || !gathering.statistics) {
		free(gathering.expected);
		free(gathering.statistics);
		return sonde_fail_nomem(err);
	}
	for (uint32_t i = 1; i < hpcdb_profile_count(&check->profile) && status == SONDE_OK; i++) {
		struct hpcdb_profile_info info = hpcdb_profile_at(&check->profile, i);

		if (!info.is_summary)
			gather_plane(&gathering, &info.plane, first, end);
		status = sonde_meter_add(&check->meter, 0, err);
	}
	if (status == SONDE_OK)
		compare(&gathering);
	free(gathering.expected);
	free(gathering.statistics);
	return status;
}

enum sonde_status hpcdb_check_statistics(struct hpcdb_check *check, struct sonde_error *err)
{
	struct hpcdb_profile_info summary;

	/* a database may have the summary alone: then there is nothing to compare with */
	if (!check->has_good_planes || !check->meta.file.data || !check->plane_values)
		return SONDE_OK;
	summary = hpcdb_profile_at(&check->profile, 0);
	if (!summary.is_summary || !check->statistics.count)
		return SONDE_OK;
	if (summary.plane.context_count)
		return hpcdb_check_run(check, summary.plane.context_count, check_piece, err);
	hpcdb_found(check->found, STATISTICS, check->profile.file.path, SONDE_NO_OFFSET,
		    "statistics in the first profile\tnone");
	return SONDE_OK;
}
