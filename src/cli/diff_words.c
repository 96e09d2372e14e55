/* SPDX-License-Identifier: Apache-2.0 */
/* What text and markdown say alike: values, names, and the sentences around the table. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/diff.h"
#include "cli/human.h"

/* Callers that are named behind a function. */
#define MOST_CALLERS 16

/* Names that are listed where a threshold is exceeded. */
#define MOST_EXCESSES 5

const char *diff_noun(const struct diff *diff)
{
	static const char *const nouns[] = {
		[COMPARE_FUNCTION] = "function", [COMPARE_MODULE] = "module",
		[COMPARE_FILE] = "file",	 [COMPARE_LINE] = "line",
		[COMPARE_LOOP] = "loop",	 [COMPARE_CONTEXT] = "context",
	};

	return nouns[diff->comparison.by];
}

bool diff_is_of_calls(const struct diff *diff)
{
	return strcmp(diff->comparison.metric_name, "CALLS") == 0;
}

void diff_put_percent(struct sonde_buffer *out, double change)
{
	if (!isfinite(change))
		sonde_buffer_put_text(out, "new");
	else if (change >= 9.9995)
		sonde_buffer_put_format(out, "x %.3g", change + 1);
	else if (fabs(change) < 0.00095 && change != 0)
		sonde_buffer_put_format(out, "%+.2f %%", change * 100);
	else
		sonde_buffer_put_format(out, "%+.1f %%", change * 100);
}

void diff_put_relative(struct sonde_buffer *out, const struct compare_row *row,
		       const struct compare_means *means)
{
	double change = compare_change(means);

	if (row->presence == COMPARE_APPEARED)
		sonde_buffer_put_text(out, "new");
	else if (row->presence == COMPARE_VANISHED)
		sonde_buffer_put_text(out, "gone");
	else if (change == 0)
		sonde_buffer_put_text(out, "=");
	else
		diff_put_percent(out, change);
}

/* Three digits and a unit of a time in ns. */
static void put_time(struct sonde_buffer *out, double ns)
{
	static const struct {
		double size;
		const char *name;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" }, { 1, "ns" } };
	size_t unit = 0;
	double value;

	while (unit < 3 && ns < units[unit].size * 0.9995)
		unit++;
	value = ns / units[unit].size;
	if (unit == 3)
		sonde_buffer_put_format(out, "%.0f ns", value);
	else
		sonde_buffer_put_format(out, "%.*f %s",
					value < 9.995 ? 2 :
					value < 99.95 ? 1 :
							0,
					value, units[unit].name);
}

void diff_put_value(struct sonde_buffer *out, const struct diff *diff, double value, bool sign)
{
	const struct cct_metric *metric = diff->comparison.metric;

	if (value == 0) {
		sonde_buffer_put_text(out, sign ? "=" : "0");
		return;
	}
	if (sign || value < 0)
		sonde_buffer_put_char(out, value < 0 ? '-' : '+');
	value = fabs(value);
	if (metric->ns > 0 && isfinite(value))
		put_time(out, value * metric->ns);
	else
		cli_put_metric_value(out, metric, value);
}

/* Means of counts have a fraction where runs differ. */
static void put_count(struct sonde_buffer *out, double count)
{
	if (count == floor(count) && count < 1e15)
		cli_put_count(out, (uint64_t)count);
	else if (count < 1000)
		sonde_buffer_put_format(out, "%.1f", count);
	else if (count < 1e15)
		cli_put_count(out, (uint64_t)(count + 0.5));
	else
		sonde_buffer_put_format(out, "%.3g", count);
}

void diff_put_calls(struct sonde_buffer *out, const struct compare_row *row, const char *arrow)
{
	if (row->calls.before == 0 && row->calls.after == 0)
		return;
	put_count(out, row->calls.before);
	if (row->calls.before == row->calls.after)
		return;
	sonde_buffer_put_text(out, arrow);
	put_count(out, row->calls.after);
}

void diff_put_p(struct sonde_buffer *out, double p)
{
	if (p < 1e-12)
		sonde_buffer_put_text(out, "<1e-12");
	else if (p < 0.001)
		sonde_buffer_put_format(out, "%.0e", p);
	else
		sonde_buffer_put_format(out, "%.2g", p);
}

uint32_t diff_caller(const struct comparison *comparison, uint32_t context)
{
	uint32_t parent = comparison->whole->contexts[context].parent;
	uint32_t row = parent == SONDE_NONE ? SONDE_NONE : comparison->row_of_context[parent];

	return row == SONDE_NONE ? 0 : comparison->rows.items[row].place.context;
}

const char *diff_name(const struct diff *diff, const struct compare_row *row, char *space,
		      size_t size)
{
	const struct comparison *comparison = &diff->comparison;
	const struct sonde_context *contexts = comparison->whole->contexts;
	char label[512];
	uint32_t context = row->place.context, callers = 0;
	size_t length;

	compare_label(comparison, row, space, size);
	if (comparison->by != COMPARE_CONTEXT)
		return space;
	while ((context = diff_caller(comparison, context))) {
		length = strlen(space);
		if (++callers > MOST_CALLERS || size - length < 8) {
			snprintf(space + length, size - length, " < ...");
			break;
		}
		snprintf(space + length, size - length, " < %s",
			 sonde_context_label(comparison->whole->definitions, &contexts[context],
					     label, sizeof(label)));
	}
	return space;
}

void diff_put_verdict(struct sonde_buffer *out, const struct diff *diff)
{
	const struct comparison *comparison = &diff->comparison;
	const struct compare_row *all = &comparison->all;

	cli_put_metric_value(out, comparison->metric, all->self.before);
	if (all->self.before == all->self.after) {
		sonde_buffer_put_text(out, ", as before");
		return;
	}
	sonde_buffer_put_text(out, " -> ");
	cli_put_metric_value(out, comparison->metric, all->self.after);
	sonde_buffer_put_text(out, ", ");
	diff_put_value(out, diff, all->self.after - all->self.before, true);
	sonde_buffer_put_text(out, " (");
	diff_put_percent(out, compare_change(&all->self));
	sonde_buffer_put_char(out, ')');
	if (!comparison->can_test)
		return;
	sonde_buffer_put_text(out, all->significant ? ", more than chance" :
				   all->adjusted_p <= diff->options->level ?
						      ", certain but too little to count" :
						      ", may be chance");
	sonde_buffer_put_text(out, " (p ");
	diff_put_p(out, all->adjusted_p);
	sonde_buffer_put_char(out, ')');
}

void diff_put_method(struct sonde_buffer *out, const struct diff *diff)
{
	const struct comparison *comparison = &diff->comparison;
	const struct diff_options *options = diff->options;

	if (!comparison->can_test)
		return;
	sonde_buffer_put_format(
		out,
		"Tested: %zu %ss, by the moderated t-test on logarithms, p adjusted "
		"after Benjamini and Hochberg; what counts has p <= %.3g and changed "
		"by %.3g %%.",
		comparison->tested_count, diff_noun(diff), options->level,
		options->least_change * 100);
}

static void put_excess(struct sonde_buffer *out, const struct diff *diff,
		       const struct compare_row *row,
		       void (*put_name)(struct sonde_buffer *, const char *))
{
	char space[DIFF_NAME_SIZE];

	if (row == &diff->comparison.all)
		sonde_buffer_put_text(out, "the whole");
	else
		put_name(out, diff_name(diff, row, space, sizeof(space)));
	sonde_buffer_put_char(out, ' ');
	diff_put_relative(out, row, &row->self);
}

void diff_put_threshold(struct sonde_buffer *out, const struct diff *diff,
			void (*put_name)(struct sonde_buffer *, const char *))
{
	size_t i, count = diff->excesses.count;
	const char *direction = diff->options->both ? "changed" : "slower";

	sonde_buffer_put_format(out, "threshold %.4g %%: ", diff->options->threshold * 100);
	if (!count) {
		sonde_buffer_put_format(out, "nothing %s by that much%s", direction,
					diff->comparison.can_test ? " beyond chance" : "");
		return;
	}
	sonde_buffer_put_format(out, "exceeded by ");
	for (i = 0; i < count && i < MOST_EXCESSES; i++) {
		if (i)
			sonde_buffer_put_text(out, ", ");
		put_excess(out, diff, diff->excesses.items[i].row, put_name);
	}
	if (count > MOST_EXCESSES)
		sonde_buffer_put_format(out, " and %zu more", count - MOST_EXCESSES);
}
