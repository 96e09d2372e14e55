/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of all runs out of one tree that all runs share. Each run in turn lends the tree its values, and is made a
 * list of; so rows mean the same in every run. What the numbers tell is in compare_test.c.
 */
#include "analyse/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compare_private.h"
#include "base/hash.h"
#include "base/map.h"

#define NO_ROW UINT32_MAX

/* How often something was called, among the metrics of a profile. */
#define CALLS_METRIC "CALLS"

/* One run's values by context of the whole tree. */
struct run_values {
	double *self, *total;
	struct cct_calls *calls;
};

struct collector {
	struct comparison *comparison;
	const struct cct *const *trees;
	uint32_t **maps; /* by run: context of the whole for each of its own */
	enum compare_by by;
	struct compare_table *table;
	struct run_values run;
	struct sonde_key_map known;    /* rows by key and line */
	struct sonde_key_map nameless; /* rows by what the context says */
	uint32_t *row_of_context;
	uint32_t *
		functions; /* by context: the nearest above or itself that is a function or an entry */
};

static bool add_row(struct collector *collector, const struct flat_row *place, uint32_t *number)
{
	struct compare_table *table = collector->table;
	size_t runs = collector->comparison->run_count, first = table->values.count;
	struct compare_row *row = sonde_vec_push(&table->rows);

	if (!row || !sonde_vec_reserve(&table->values, 3 * runs))
		return false;
	memset(table->values.items + first, 0, 3 * runs * sizeof(double));
	table->values.count += 3 * runs;
	*row = (struct compare_row){
		.place = { .key = place->key, .line = place->line, .context = place->context },
		.p = 1,
		.adjusted_p = 1,
		.self_runs = first,
		.total_runs = first + runs,
		.call_runs = first + 2 * runs,
	};
	*number = (uint32_t)(table->rows.count - 1);
	return true;
}

/* A number for what has no key: the root, entries, and instructions of no known function. */
static uint64_t nameless_identity(const struct cct *whole, uint32_t context)
{
	const struct sonde_context *place = &whole->contexts[context];
	uint64_t identity = (uint64_t)place->kind << 32 | place->name;

	if (place->kind != SONDE_CONTEXT_INSTRUCTION)
		return identity;
	return (place->address ^ (uint64_t)place->module << 40) * SONDE_HASH_FACTOR_1 ^ identity;
}

/* The row of a list's row, made where no run had it before. */
static bool find_row(struct collector *collector, const struct flat_row *place, uint32_t *number)
{
	bool has_key = place->key != SONDE_NONE;
	struct sonde_key_map *map = has_key ? &collector->known : &collector->nameless;
	uint64_t identity = has_key ?
				    (uint64_t)place->key << 32 | place->line :
				    nameless_identity(collector->comparison->whole, place->context);

	*number = sonde_key_map_find(map, identity);
	if (*number != NO_ROW)
		return true;
	return add_row(collector, place, number) && sonde_key_map_add(map, identity, *number);
}

static void put_values(struct collector *collector, uint32_t row_number, size_t run,
		       const struct flat_row *values)
{
	const struct compare_row *row = &collector->table->rows.items[row_number];
	double *items = collector->table->values.items;

	items[row->self_runs + run] += values->self;
	items[row->total_runs + run] += values->total;
	items[row->call_runs + run] += (double)values->calls.count;
}

static enum sonde_status collect_list(struct collector *collector, size_t run,
				      struct sonde_error *err)
{
	struct comparison *comparison = collector->comparison;
	struct cct_metric metric = { .name = comparison->metric_name,
				     .self = collector->run.self,
				     .total = collector->run.total };
	struct cct view = *comparison->whole;
	struct flat flat;
	enum sonde_status status;
	bool good = true;
	size_t i;

	view.metrics = &metric;
	view.metric_count = 1;
	view.calls = collector->run.calls;
	status = flat_make(&flat, &view, (enum flat_key)collector->by, 0, err);
	if (status)
		return status;
	for (i = 0; i < flat.rows.count && good; i++) {
		uint32_t row;

		good = find_row(collector, &flat.rows.items[i], &row);
		if (good)
			put_values(collector, row, run, &flat.rows.items[i]);
	}
	flat_release(&flat);
	return good ? SONDE_OK : sonde_fail_nomem(err);
}

/*
 * By context: the row of its function and of who called that, made where it is new. Only functions count: where
 * a call moved to another line it is still the same call.
 */
static bool find_paths(struct collector *collector)
{
	const struct cct *whole = collector->comparison->whole;
	uint32_t *rows = collector->comparison->row_of_context, i;

	for (i = 0; i < whole->context_count; i++) {
		const struct sonde_context *context = &whole->contexts[i];
		uint32_t above = context->parent == SONDE_NONE ? NO_ROW : rows[context->parent];
		bool has_key = context->function != SONDE_NONE;
		uint64_t identity = (uint64_t)above << 32 | context->function;
		struct sonde_key_map *map = has_key ? &collector->known : &collector->nameless;
		const struct flat_row place = { .key = context->function, .context = i };

		rows[i] = above;
		if (!i || context->kind > SONDE_CONTEXT_FUNCTION)
			continue;
		if (!has_key)
			identity = sonde_hash_mix(nameless_identity(whole, i) ^
						  (uint64_t)above * SONDE_HASH_FACTOR_2);
		rows[i] = sonde_key_map_find(map, identity);
		if (rows[i] == NO_ROW && (!add_row(collector, &place, &rows[i]) ||
					  !sonde_key_map_add(map, identity, rows[i])))
			return false;
	}
	return true;
}

/* What is enclosed in a function adds to what that spent itself. */
static void collect_contexts(struct collector *collector, size_t run)
{
	const struct comparison *comparison = collector->comparison;
	uint32_t i;

	for (i = 1; i < comparison->whole->context_count; i++) {
		struct flat_row values = { .self = collector->run.self[i] };

		if (comparison->whole->contexts[i].kind <= SONDE_CONTEXT_FUNCTION) {
			values.total = collector->run.total[i];
			values.calls.count = collector->run.calls[i].count;
		}
		if (comparison->row_of_context[i] != NO_ROW)
			put_values(collector, comparison->row_of_context[i], run, &values);
	}
}

/* How often each context was entered: of a profile where it counted that. */
static uint64_t calls_of(const struct cct *tree, uint32_t metric, uint32_t context)
{
	double count;

	if (tree->calls)
		return tree->calls[context].count;
	count = metric == SONDE_NONE ? 0 : tree->metrics[metric].self[context];
	return count > 0 && count < 1e18 ? (uint64_t)count : 0;
}

static bool has_calls(const struct cct *tree)
{
	return tree->calls || !tree->metric_count ||
	       cct_find_metric(tree, CALLS_METRIC) != SONDE_NONE;
}

static void lend_values(struct collector *collector, size_t run)
{
	const struct cct *tree = collector->trees[run];
	const uint32_t *map = collector->maps[run];
	uint32_t count = collector->comparison->whole->context_count, metric, i;
	uint32_t calls = cct_find_metric(tree, CALLS_METRIC);
	const struct run_values *values = &collector->run;

	memset(values->self, 0, count * sizeof(*values->self));
	memset(values->total, 0, count * sizeof(*values->total));
	memset(values->calls, 0, count * sizeof(*values->calls));
	metric = cct_find_metric(tree, collector->comparison->metric_name);
	for (i = 0; i < tree->context_count; i++) {
		if (metric != SONDE_NONE) {
			values->self[map[i]] += tree->metrics[metric].self[i];
			values->total[map[i]] += tree->metrics[metric].total[i];
		}
		if (collector->comparison->has_calls)
			values->calls[map[i]].count += calls_of(tree, calls, i);
	}
}

static void collector_release(struct collector *collector)
{
	free(collector->run.self);
	free(collector->run.total);
	free(collector->run.calls);
	sonde_key_map_release(&collector->known);
	sonde_key_map_release(&collector->nameless);
}

static bool collector_begin(struct collector *collector)
{
	size_t count = collector->comparison->whole->context_count;

	collector->run = (struct run_values){
		.self = calloc(count + 1, sizeof(double)),
		.total = calloc(count + 1, sizeof(double)),
		.calls = calloc(count + 1, sizeof(struct cct_calls)),
	};
	return collector->run.self && collector->run.total && collector->run.calls;
}

static enum sonde_status collect(struct comparison *comparison, const struct cct *const *trees,
				 uint32_t **maps, enum compare_by by, struct compare_table *table,
				 struct sonde_error *err)
{
	struct collector collector = {
		.comparison = comparison, .trees = trees, .maps = maps, .by = by, .table = table
	};
	bool by_context = by == COMPARE_CONTEXT;
	enum sonde_status status = SONDE_OK;
	size_t run;

	if (!collector_begin(&collector) || (by_context && !find_paths(&collector))) {
		collector_release(&collector);
		return sonde_fail_nomem(err);
	}
	for (run = 0; run < comparison->run_count && !status; run++) {
		lend_values(&collector, run);
		if (by_context)
			collect_contexts(&collector, run);
		else
			status = collect_list(&collector, run, err);
	}
	collector_release(&collector);
	return status;
}

static bool all_have(const struct cct *const *trees, size_t count, const char *name)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (trees[i]->metric_count && cct_find_metric(trees[i], name) == SONDE_NONE)
			return false;
	return true;
}

/* The metric that was asked for, or the first that all have; trees without any are empty and have it too. */
static enum sonde_status choose_metric(struct comparison *comparison,
				       const struct cct *const *trees, size_t count,
				       const char *wanted, struct sonde_error *err)
{
	const struct cct *whole = comparison->whole;
	uint32_t i, found = wanted ? cct_find_metric(whole, wanted) : SONDE_NONE;

	if (wanted && whole->metric_count &&
	    (found == SONDE_NONE || !all_have(trees, count, wanted)))
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  found == SONDE_NONE ? "no metric '%s'" :
							"not all recordings have a metric '%s'",
				  wanted);
	for (i = 0; !wanted && i < whole->metric_count && found == SONDE_NONE; i++)
		if (all_have(trees, count, whole->metrics[i].name))
			found = i;
	if (found == SONDE_NONE && whole->metric_count)
		return sonde_fail(
			err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			"the recordings have no metric in common; 'sonde info' tells what "
			"each has");
	if (found == SONDE_NONE)
		return SONDE_OK;
	comparison->metric = &whole->metrics[found];
	comparison->metric_name = comparison->metric->name;
	return SONDE_OK;
}

static bool sum_up(struct comparison *comparison, const struct cct *const *trees)
{
	struct compare_row *all = &comparison->all;
	size_t runs = comparison->run_count, run;
	uint32_t i;

	*all = (struct compare_row){ .p = 1, .adjusted_p = 1 };
	all->self_runs = comparison->values.count;
	all->total_runs = all->self_runs;
	all->call_runs = all->self_runs + runs;
	if (!sonde_vec_reserve(&comparison->values, 2 * runs))
		return false;
	comparison->values.count += 2 * runs;
	for (run = 0; run < runs; run++) {
		double *value = comparison->values.items + all->self_runs + run;
		uint32_t metric = comparison->metric_name ?
					  cct_find_metric(trees[run], comparison->metric_name) :
					  SONDE_NONE;
		uint32_t call_metric = cct_find_metric(trees[run], CALLS_METRIC);
		uint64_t calls = 0;

		*value = metric != SONDE_NONE && trees[run]->context_count ?
				 trees[run]->metrics[metric].total[0] :
				 0;
		for (i = 0; comparison->has_calls && i < trees[run]->context_count; i++)
			calls += calls_of(trees[run], call_metric, i);
		value[runs] = (double)calls;
	}
	return true;
}

static void table_release(struct compare_table *table)
{
	sonde_vec_release(&table->rows);
	sonde_vec_release(&table->values);
}

/* Rows to show, and rows by function, which tell how fast a run was. */
static enum sonde_status make_rows(struct comparison *comparison, const struct cct *const *trees,
				   uint32_t **maps, const struct compare_options *options,
				   struct sonde_error *err)
{
	struct compare_table functions = { 0 }, shown = { 0 };
	const struct compare_table *measure = &shown;
	enum sonde_status status = SONDE_OK;

	if (options->by == COMPARE_CONTEXT) {
		comparison->row_of_context =
			calloc((size_t)comparison->whole->context_count + 1, sizeof(uint32_t));
		if (!comparison->row_of_context)
			return sonde_fail_nomem(err);
	}
	status = collect(comparison, trees, maps, options->by, &shown, err);
	if (!status && options->by != COMPARE_FUNCTION) {
		status = collect(comparison, trees, maps, COMPARE_FUNCTION, &functions, err);
		measure = &functions;
	}
	if (!status && !compare_measure_speed(comparison, measure, options))
		status = sonde_fail_nomem(err);
	table_release(&functions);
	if (status) {
		table_release(&shown);
		return status;
	}
	memcpy(&comparison->rows, &shown.rows, sizeof(comparison->rows));
	memcpy(&comparison->values, &shown.values, sizeof(comparison->values));
	return SONDE_OK;
}

enum sonde_status compare_make(struct comparison *comparison, const struct cct *const *trees,
			       size_t count, size_t before_count,
			       const struct compare_options *options, struct sonde_error *err)
{
	uint32_t **maps = calloc(count + 1, sizeof(*maps));
	enum sonde_status status;
	size_t i;

	*comparison = (struct comparison){
		.by = options->by,
		.run_count = count,
		.before_count = before_count,
		.least_share = options->least_share,
		.can_test = before_count >= 2 && count - before_count >= 2,
	};
	if (!maps)
		return sonde_fail_nomem(err);
	for (i = 0, comparison->has_calls = true; i < count; i++)
		comparison->has_calls &= has_calls(trees[i]);
	status = compare_merge(trees, count, before_count, &comparison->whole, maps, err);
	if (!status)
		status = choose_metric(comparison, trees, count, options->metric, err);
	if (!status && comparison->metric_name)
		status = make_rows(comparison, trees, maps, options, err);
	if (!status && (!sum_up(comparison, trees) || !compare_test(comparison, options)))
		status = sonde_fail_nomem(err);
	for (i = 0; i < count; i++)
		free(maps[i]);
	free(maps);
	if (status)
		compare_release(comparison);
	return status;
}

void compare_release(struct comparison *comparison)
{
	sonde_vec_release(&comparison->rows);
	sonde_vec_release(&comparison->values);
	free(comparison->speed.logs);
	free(comparison->row_of_context);
	cct_free(comparison->whole);
	*comparison = (struct comparison){ 0 };
}

double compare_change(const struct compare_means *means)
{
	if (means->before == means->after)
		return 0;
	return means->before != 0 ? (means->after - means->before) / fabs(means->before) :
				    copysign(INFINITY, means->after);
}

const char *compare_label(const struct comparison *comparison, const struct compare_row *row,
			  char *space, size_t size)
{
	enum flat_key key = comparison->by == COMPARE_CONTEXT ? FLAT_FUNCTION :
								(enum flat_key)comparison->by;

	return flat_label(comparison->whole, key, &row->place, space, size);
}

double compare_likeness(const struct comparison *comparison, size_t spender, size_t owner)
{
	double common = 0, all = 0;
	size_t i;

	for (i = 0; i < comparison->rows.count; i++) {
		const struct compare_row *row = &comparison->rows.items[i];
		double value = fabs(compare_runs(comparison, row->self_runs)[spender]);

		all += value;
		if (compare_runs(comparison, row->total_runs)[owner] != 0)
			common += value;
	}
	return all > 0 ? common / all : 1;
}
