/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the values of a comparison tell. Logarithms are compared, since noise is a share of what it disturbs:
 * first how fast each run was as a whole (the median over its functions), which is taken out; then each row by the
 * moderated t-test, and all p-values together after Benjamini and Hochberg.
 */
#include <math.h>
#include <stdlib.h>

#include "analyse/compare_private.h"

/* The median of fewer functions is not the speed of a machine but of one of them. */
#define LEAST_FOR_SPEED 20

/* The whole and the rows are two questions: each gets half of the level. */
#define QUESTIONS 2

/* What differs less was only rounded differently. */
#define PRECISION 1e-9

static struct compare_means means_of(const struct comparison *comparison, const double *values)
{
	struct compare_means means;

	means.before = statistics_sample(values, comparison->before_count).mean;
	means.after = statistics_sample(values + comparison->before_count,
					comparison->run_count - comparison->before_count)
			      .mean;
	if (fabs(means.after - means.before) <= PRECISION * fabs(means.before))
		means.after = means.before;
	return means;
}

/* The test of values that are in the order of runs. */
static struct statistics_test test_values(const struct comparison *comparison, const double *values,
					  const struct statistics_prior *prior)
{
	struct statistics_sample before = statistics_sample(values, comparison->before_count);
	struct statistics_sample after =
		statistics_sample(values + comparison->before_count,
				  comparison->run_count - comparison->before_count);

	return statistics_moderated(&before, &after, prior);
}

/* For values that nothing else was measured like. */
static const struct statistics_prior no_prior;

static bool all_positive(const double *values, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!(values[i] > 0) || isinf(values[i]))
			return false;
	return true;
}

/* What the runs spent together. */
static double sum_of(const double *values, size_t count)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < count; i++)
		sum += fabs(values[i]);
	return sum;
}

static double sum_of_rows(const struct compare_table *table, size_t runs)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < table->rows.count; i++)
		sum += sum_of(table->values.items + table->rows.items[i].self_runs, runs);
	return sum;
}

/* Rows that are in all runs and not small, by number; how many. */
static size_t steady_rows(const struct compare_table *table, size_t runs, double least_share,
			  size_t *numbers)
{
	double least = sum_of_rows(table, runs) * least_share;
	size_t count = 0, i;

	for (i = 0; i < table->rows.count; i++) {
		const double *values = table->values.items + table->rows.items[i].self_runs;

		if (all_positive(values, runs) && sum_of(values, runs) >= least)
			numbers[count++] = i;
	}
	return count;
}

static void measure_run(struct comparison *comparison, const struct compare_table *table,
			const size_t *rows, size_t count, size_t run, double *deviations)
{
	size_t runs = comparison->run_count, i, other;

	for (i = 0; i < count; i++) {
		const double *values = table->values.items + table->rows.items[rows[i]].self_runs;
		double mean = 0;

		for (other = 0; other < runs; other++)
			mean += log(values[other]) / (double)runs;
		deviations[i] = log(values[run]) - mean;
	}
	comparison->speed.logs[run] = statistics_median(deviations, count);
}

static void finish_speed(struct comparison *comparison)
{
	struct compare_speed *speed = &comparison->speed;
	struct compare_means means = means_of(comparison, speed->logs);
	size_t run;

	for (run = 0; run < comparison->run_count; run++)
		speed->logs[run] -= means.before;
	speed->change = expm1(means.after - means.before);
	speed->p = test_values(comparison, speed->logs, &no_prior).p;
	speed->known = true;
}

bool compare_measure_speed(struct comparison *comparison, const struct compare_table *functions,
			   const struct compare_options *options)
{
	size_t rows = functions->rows.count, run, count;
	size_t *numbers = calloc(rows + 1, sizeof(*numbers));
	double *deviations = calloc(rows + 1, sizeof(*deviations));
	bool good;

	comparison->speed.p = 1;
	comparison->speed.logs = calloc(comparison->run_count + 1, sizeof(double));
	good = numbers && deviations && comparison->speed.logs;
	if (good && comparison->can_test && !options->raw && comparison->metric->ns > 0) {
		count = steady_rows(functions, comparison->run_count, options->least_share,
				    numbers);
		for (run = 0; count >= LEAST_FOR_SPEED && run < comparison->run_count; run++)
			measure_run(comparison, functions, numbers, count, run, deviations);
		if (count >= LEAST_FOR_SPEED)
			finish_speed(comparison);
	}
	free(numbers);
	free(deviations);
	return good;
}

/* A row's values of all runs as they would be at the same speed; as logarithms where all are positive. */
static bool even_out(const struct comparison *comparison, size_t place, bool logarithms,
		     double *values)
{
	const double *runs = compare_runs(comparison, place);
	size_t run;

	logarithms = logarithms && all_positive(runs, comparison->run_count);
	for (run = 0; run < comparison->run_count; run++) {
		double speed = comparison->speed.known ? comparison->speed.logs[run] : 0;

		values[run] = logarithms ? log(runs[run]) - speed : runs[run] * exp(-speed);
	}
	return logarithms;
}

static void take_means(const struct comparison *comparison, struct compare_row *row, double least,
		       double *space)
{
	even_out(comparison, row->self_runs, false, space);
	row->self = means_of(comparison, space);
	even_out(comparison, row->total_runs, false, space);
	row->total = means_of(comparison, space);
	row->calls = means_of(comparison, compare_runs(comparison, row->call_runs));
	if (row->total.before == 0 && row->calls.before == 0)
		row->presence = COMPARE_APPEARED;
	else if (row->total.after == 0 && row->calls.after == 0)
		row->presence = COMPARE_VANISHED;
	row->small = fabs(row->self.before) < least && fabs(row->self.after) < least;
	/* what is new or gone is news also where it only calls others */
	if (row->presence != COMPARE_BOTH && fabs(row->total.after - row->total.before) >= least)
		row->small = false;
}

/* What all rows tell about the noise of each. */
static void fit_prior(struct comparison *comparison, double *by_row, double *by_run)
{
	size_t before = comparison->before_count, after = comparison->run_count - before;
	size_t count = 0, i;

	for (i = 0; i < comparison->rows.count; i++) {
		const struct compare_row *row = &comparison->rows.items[i];
		struct statistics_sample first, second;

		if (row->small || !even_out(comparison, row->self_runs, true, by_run))
			continue;
		first = statistics_sample(by_run, before);
		second = statistics_sample(by_run + before, after);
		by_row[count++] = statistics_pooled_variance(&first, &second);
	}
	comparison->prior = statistics_prior_fit(by_row, count, (double)(before + after) - 2);
}

static bool is_significant(const struct compare_row *row, const struct compare_options *options)
{
	return row->adjusted_p <= options->level &&
	       fabs(compare_change(&row->self)) >= options->least_change;
}

/* p-values of all rows that are not small, then adjusted together. `by_row` has room for all rows. */
static void test_rows(struct comparison *comparison, const struct compare_options *options,
		      double *by_row, size_t *order, double *by_run)
{
	size_t count = 0, i;

	for (i = 0; i < comparison->rows.count; i++) {
		struct compare_row *row = &comparison->rows.items[i];
		bool logarithms;

		if (row->small)
			continue;
		/* the prior is about logarithms */
		logarithms = even_out(comparison, row->self_runs, true, by_run);
		row->p =
			test_values(comparison, by_run, logarithms ? &comparison->prior : &no_prior)
				.p;
		row->tested = true;
		by_row[count++] = row->p;
	}
	comparison->tested_count = count;
	statistics_adjust(by_row, count, order);
	for (i = 0, count = 0; i < comparison->rows.count; i++) {
		struct compare_row *row = &comparison->rows.items[i];

		if (!row->tested)
			continue;
		row->adjusted_p = fmin(1, by_row[count++] * QUESTIONS);
		row->significant = is_significant(row, options);
		comparison->significant_count += row->significant;
	}
}

/* The whole is not evened out: that a machine is slower is part of its noise. */
static void test_whole(struct comparison *comparison, const struct compare_options *options,
		       double *values)
{
	struct compare_row *all = &comparison->all;
	const double *runs = compare_runs(comparison, all->self_runs);
	bool logarithms = all_positive(runs, comparison->run_count);
	size_t run;

	all->self = means_of(comparison, runs);
	all->total = all->self;
	all->calls = means_of(comparison, compare_runs(comparison, all->call_runs));
	if (!comparison->can_test)
		return;
	for (run = 0; run < comparison->run_count; run++)
		values[run] = logarithms ? log(runs[run]) : runs[run];
	all->p = test_values(comparison, values, &no_prior).p;
	all->tested = true;
	all->adjusted_p = fmin(1, all->p * QUESTIONS);
	all->significant = is_significant(all, options);
}

bool compare_test(struct comparison *comparison, const struct compare_options *options)
{
	size_t rows = comparison->rows.count, i;
	double *by_row = calloc(rows + 1, sizeof(*by_row));
	size_t *order = calloc(rows + 1, sizeof(*order));
	double *by_run = calloc(comparison->run_count + 1, sizeof(*by_run));
	bool good = by_row && order && by_run;

	if (good) {
		double least;

		test_whole(comparison, options, by_run);
		least = options->least_share *
			fmax(fabs(comparison->all.self.before), fabs(comparison->all.self.after));
		for (i = 0; i < rows; i++) {
			take_means(comparison, &comparison->rows.items[i], least, by_run);
			comparison->small_count += comparison->rows.items[i].small;
		}
	}
	if (good && comparison->can_test) {
		fit_prior(comparison, by_row, by_run);
		test_rows(comparison, options, by_row, order, by_run);
	}
	free(by_row);
	free(order);
	free(by_run);
	return good;
}
