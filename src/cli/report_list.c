/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of functions, modules, files, lines and loops: what was spent in each, wherever it was called. */
#include <math.h>

#include "cli/report.h"

static const struct {
	enum flat_key key;
	const char *name, *noun, *title;
} groups[] = {
	[GROUP_FUNCTION] = { FLAT_FUNCTION, "functions", "function", "FUNCTION" },
	[GROUP_MODULE] = { FLAT_MODULE, "modules", "module", "MODULE" },
	[GROUP_FILE] = { FLAT_FILE, "files", "file", "FILE" },
	[GROUP_LINE] = { FLAT_LINE, "lines", "line", "LINE" },
	[GROUP_LOOP] = { FLAT_LOOP, "loops", "loop", "LOOP" },
};

enum report_group report_group_of(const struct report_options *options)
{
	if (options->lines)
		return GROUP_LINE;
	if (options->modules)
		return GROUP_MODULE;
	return options->group_by == GROUP_NOT_GIVEN ? GROUP_FUNCTION : options->group_by;
}

static const struct report_column call_columns[] = {
	{ "calls", "CALLS", REPORT_COUNT, REPORT_ALWAYS, false, false },
	{ "exceptions", "ERRORS", REPORT_COUNT, REPORT_USUAL, false, false },
	{ "unfinished", "OPEN", REPORT_COUNT, REPORT_WIDE, false, false },
	{ "mean_ns", "MEAN", REPORT_TIME, REPORT_USUAL, false, false },
	{ "min_ns", "MIN", REPORT_TIME, REPORT_WIDER, false, false },
	{ "max_ns", "MAX", REPORT_TIME, REPORT_WIDE, false, false },
	{ "deviation_ns", "DEVIATION", REPORT_TIME, REPORT_WIDER, false, false },
	{ 0 },
};

static const struct report_column quantile_columns[] = {
	{ "p50_ns", "P50", REPORT_TIME, REPORT_WIDE, false, false },
	{ "p90_ns", "P90", REPORT_TIME, REPORT_WIDER, false, false },
	{ "p99_ns", "P99", REPORT_TIME, REPORT_WIDE, false, false },
	{ 0 },
};

static void add_columns(struct report_view *view, const struct report_column *columns)
{
	for (; columns->key; columns++)
		report_add_column(view, *columns);
}

/* Over the threads that ran a function. */
static void add_spread_columns(struct report_build *build)
{
	bool time = report_metric(build)->ns > 0;
	enum report_kind kind = time ? REPORT_TIME : REPORT_NUMBER;
	enum report_rank rank = REPORT_FOR_PROGRAMS;
	enum report_rank shown = build->summary->tracks > 1 ? REPORT_WIDER : rank;
	const struct report_column columns[] = {
		{ "threads", "THREADS", REPORT_COUNT, shown, false, false },
		{ "thread_imbalance", "MAX/MEAN", REPORT_NUMBER, shown, false, false },
		{ time ? "thread_min_ns" : "thread_min", "LEAST", kind, rank, false, false },
		{ time ? "thread_max_ns" : "thread_max", "MOST", kind, rank, false, false },
		{ time ? "thread_mean_ns" : "thread_mean", "AVERAGE", kind, rank, false, false },
		{ "thread_most", "MOST IN", REPORT_TEXT, rank, false, true },
		{ 0 },
	};

	add_columns(build->view, columns);
}

static bool has_spread(const struct report_build *build, enum flat_key key)
{
	return key == FLAT_FUNCTION && build->cct->function_spread &&
	       build->cct->spread_metric == build->metric;
}

static void add_list_columns(struct report_build *build, enum report_group group)
{
	enum flat_key key = groups[group].key;
	struct report_view *view = build->view;
	enum report_rank programs = REPORT_FOR_PROGRAMS;

	report_add_self_columns(build);
	if (build->cct->calls)
		add_columns(view, call_columns);
	if (build->cct->calls && key == FLAT_FUNCTION)
		add_columns(view, quantile_columns);
	if (has_spread(build, key))
		add_spread_columns(build);
	report_add_extra_columns(build);
	if (key == FLAT_FUNCTION || key == FLAT_MODULE)
		report_add_column(view, (struct report_column){ "module", "MODULE", REPORT_TEXT,
								programs, false, true });
	if (key != FLAT_MODULE)
		report_add_column(view, (struct report_column){ "file", "FILE", REPORT_TEXT,
								programs, false, true });
	if (key != FLAT_MODULE && key != FLAT_FILE)
		report_add_column(view, (struct report_column){ "line", "LINE", REPORT_COUNT,
								programs, false, true });
	report_add_column(view, (struct report_column){ "name", groups[group].title, REPORT_TEXT,
							REPORT_ALWAYS, false, true });
}

static void put_calls(struct report_view *view, const struct cct_calls *calls)
{
	/* as values: what comes near 2^64 does not fit a time */
	static const struct cct_metric nanoseconds = { .ns = 1 };
	double mean, variance;

	report_put_count(view, calls->count);
	report_put_count(view, calls->exceptions);
	report_put_count(view, calls->unfinished);
	if (!calls->count) {
		for (int i = 0; i < 4; i++)
			report_put_nothing(view);
		return;
	}
	mean = (double)calls->sum_ns / (double)calls->count;
	variance = calls->squares / (double)calls->count - mean * mean;
	report_put_value(view, &nanoseconds, mean);
	report_put_time(view, calls->min_ns);
	report_put_time(view, calls->max_ns);
	report_put_value(view, &nanoseconds, variance > 0 ? sqrt(variance) : 0);
}

static void put_quantiles(struct report_build *build, const struct flat_row *row)
{
	static const double shares[] = { 0.5, 0.9, 0.99 };

	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		if (row->key == SONDE_NONE || !row->calls.count)
			report_put_nothing(build->view);
		else
			report_put_time(build->view,
					cct_duration_quantile(build->cct, row->key, shares[i]));
	}
}

static void put_spread(struct report_build *build, const struct flat_row *row)
{
	const struct cct_metric *metric = report_metric(build);
	const struct cct_spread *spread = NULL;
	double mean;

	if (row->key != SONDE_NONE)
		spread = &build->cct->function_spread[row->key];
	if (!spread || !spread->count) {
		for (int i = 0; i < 6; i++)
			report_put_nothing(build->view);
		return;
	}
	mean = spread->sum / spread->count;
	report_put_count(build->view, spread->count);
	report_put_number(build->view, mean > 0 ? spread->max / mean : NAN);
	report_put_value(build->view, metric, spread->min);
	report_put_value(build->view, metric, spread->max);
	report_put_value(build->view, metric, mean);
	report_put_track(build, spread->max_place);
}

/* Where a row is in the program. */
static void put_place(struct report_build *build, enum flat_key key, const struct flat_row *row)
{
	const struct sonde_definitions *definitions = build->cct->definitions;
	const struct sonde_context *context = &build->cct->contexts[row->context];
	const struct sonde_function *function = NULL;
	uint32_t module_id = context->module, file = row->key, line = row->line;
	const struct sonde_module *module;

	if (key == FLAT_FUNCTION) {
		function = sonde_definitions_function(definitions, row->key);
		file = function ? function->file : 0;
		line = function ? function->line : 0;
		module_id = function ? function->module : context->module;
	} else if (key == FLAT_MODULE) {
		module_id = row->key;
	}
	if (key == FLAT_FUNCTION || key == FLAT_MODULE) {
		module = sonde_definitions_module(definitions, module_id);
		report_put_borrowed(build->view, sonde_definitions_string(
							 definitions, module ? module->path : 0));
	}
	if (key != FLAT_MODULE)
		report_put_borrowed(build->view, sonde_definitions_string(definitions, file));
	if (key != FLAT_MODULE && key != FLAT_FILE)
		report_put_count(build->view, line);
}

static const char *row_label(const struct report_build *build, enum flat_key key,
			     const struct flat_row *row, char *space)
{
	if (key == FLAT_FUNCTION && row->key != SONDE_NONE)
		return report_context_label(build->cct, row->context, space, REPORT_LABEL_SIZE);
	return flat_label(build->cct, key, row, space, REPORT_LABEL_SIZE);
}

static bool is_wanted(const struct report_build *build, enum flat_key key,
		      const struct flat_row *row)
{
	char space[REPORT_LABEL_SIZE];
	uint32_t context;

	if (!build->options->filter.functions.count)
		return true;
	if (key == FLAT_FUNCTION)
		return report_wants(build, row_label(build, key, row, space));
	context = cct_function_context(build->cct, row->context);
	return report_wants(build, report_context_label(build->cct, context, space, sizeof(space)));
}

/* Contexts are there where a metric was measured in others. */
static bool is_empty(const struct report_build *build, const struct flat *flat,
		     const struct flat_row *row)
{
	if (row->calls.count || row->total != 0 || row->self != 0)
		return false;
	for (uint32_t i = 0; i < build->cct->metric_count; i++)
		if (report_is_extra(build, i) && flat_total(flat, row, i) != 0)
			return false;
	return true;
}

static void put_row(struct report_build *build, enum flat_key key, const struct flat *flat,
		    const struct flat_row *row)
{
	const struct cct_metric *metric = report_metric(build);
	struct report_view *view = build->view;
	char space[REPORT_LABEL_SIZE];

	report_begin_row(view, 0, row->context, report_weight(build, row->total));
	report_put_share(view, row->self, build->whole);
	report_put_value(view, metric, row->self);
	report_put_value(view, metric, row->total);
	report_put_share(view, row->total, build->whole);
	if (build->cct->calls)
		put_calls(view, &row->calls);
	if (build->cct->calls && key == FLAT_FUNCTION)
		put_quantiles(build, row);
	if (has_spread(build, key))
		put_spread(build, row);
	for (uint32_t i = 0; i < build->cct->metric_count; i++)
		if (report_is_extra(build, i))
			report_put_extra(view, &build->cct->metrics[i], flat_total(flat, row, i),
					 flat_self(flat, row, i));
	put_place(build, key, row);
	report_put_label(view, row_label(build, key, row, space), space);
}

static bool has_extras(const struct report_build *build)
{
	for (uint32_t i = 0; i < build->cct->metric_count; i++)
		if (report_is_extra(build, i))
			return true;
	return false;
}

bool report_make_list(struct report_build *build)
{
	enum report_group group = report_group_of(build->options);
	enum flat_key key = groups[group].key;
	struct flat flat = { 0 };
	enum sonde_status status;

	build->view->name = groups[group].name;
	build->view->noun = groups[group].noun;
	if (has_extras(build))
		status = flat_make_all(&flat, build->cct, key, build->metric, &build->err);
	else
		status = flat_make(&flat, build->cct, key, build->metric, &build->err);
	if (status)
		return false;
	add_list_columns(build, group);
	for (size_t i = 0; i < flat.rows.count; i++) {
		const struct flat_row *row = &flat.rows.items[i];

		if (is_empty(build, &flat, row) || !is_wanted(build, key, row))
			continue;
		if (build->least > 0 && report_weight(build, row->total) < build->least)
			build->view->left_out++;
		else
			put_row(build, key, &flat, row);
	}
	flat_release(&flat);
	report_sort(build->view, report_find_column(build->view, "SELF"));
	return true;
}
