/* SPDX-License-Identifier: Apache-2.0 */
/* A comparison for programs: JSON with everything that was worked out, and CSV of the rows. Times are in ns. */
#include <math.h>

#include "base/json.h"
#include "cli/diff.h"
#include "cli/text.h"

/* Callers that are named in a path; deeper paths are cut at their outer end. */
#define MOST_PATH 64

static const char *const presence_names[] = {
	[COMPARE_BOTH] = "both",
	[COMPARE_APPEARED] = "appeared",
	[COMPARE_VANISHED] = "vanished",
};

/* From the metric's own unit to what is printed. */
static double unit_of(const struct diff *diff)
{
	const struct cct_metric *metric = diff->comparison.metric;

	return metric && metric->ns > 0 ? metric->ns : 1;
}

static void put_json_sides(struct sonde_json_writer *json, const struct diff *diff)
{
	const struct comparison *comparison = &diff->comparison;
	size_t run;

	for (run = 0; run < comparison->run_count; run++) {
		if (run == 0 || run == comparison->before_count) {
			sonde_json_key(json, run ? "after" : "before");
			sonde_json_array_begin(json);
		}
		sonde_json_string(json, diff->paths[run]);
		if (run + 1 == comparison->before_count || run + 1 == comparison->run_count)
			sonde_json_array_end(json);
	}
}

static void put_json_runs(struct sonde_json_writer *json, const char *key, const double *values,
			  size_t count, double unit)
{
	size_t i;

	sonde_json_key(json, key);
	sonde_json_array_begin_inline(json);
	for (i = 0; i < count; i++)
		sonde_json_number_double(json, values[i] * unit);
	sonde_json_array_end(json);
}

static void put_json_means(struct sonde_json_writer *json, const char *key,
			   const struct compare_means *means, double unit)
{
	sonde_json_key(json, key);
	sonde_json_object_begin_inline(json);
	sonde_json_member_double(json, "before", means->before * unit);
	sonde_json_member_double(json, "after", means->after * unit);
	sonde_json_member_double(json, "change", (means->after - means->before) * unit);
	sonde_json_member_double(json, "relative", compare_change(means));
	sonde_json_object_end(json);
}

/* The members of a row that the whole has too. */
static void put_json_values(struct sonde_json_writer *json, const struct diff *diff,
			    const struct compare_row *row)
{
	const struct comparison *comparison = &diff->comparison;
	double unit = unit_of(diff);

	put_json_means(json, "self", &row->self, unit);
	put_json_means(json, "total", &row->total, unit);
	put_json_means(json, "calls", &row->calls, 1);
	if (row->tested) {
		sonde_json_member_double(json, "p", row->p);
		sonde_json_member_double(json, "p_adjusted", row->adjusted_p);
	}
	sonde_json_member_bool(json, "significant", row->significant);
	put_json_runs(json, "self_by_run", compare_runs(comparison, row->self_runs),
		      comparison->run_count, unit);
}

static void put_json_path(struct sonde_json_writer *json, const struct comparison *comparison,
			  uint32_t context)
{
	const struct sonde_context *contexts = comparison->whole->contexts;
	char space[DIFF_NAME_SIZE];
	size_t count = 0;

	sonde_json_key(json, "callers");
	sonde_json_array_begin_inline(json);
	while ((context = diff_caller(comparison, context)) && count++ < MOST_PATH)
		sonde_json_string(json,
				  sonde_context_label(comparison->whole->definitions,
						      &contexts[context], space, sizeof(space)));
	sonde_json_array_end(json);
}

/* What is known about the function of a row, for those that have one; "" where unknown. */
struct row_place {
	const char *module, *file;
	uint32_t line;
};

static struct row_place place_of(const struct comparison *comparison, const struct compare_row *row)
{
	const struct sonde_definitions *definitions = comparison->whole->definitions;
	const struct sonde_function *function = NULL;
	const struct sonde_module *module = NULL;
	struct row_place place = { .module = "", .file = "", .line = row->place.line };

	if (comparison->by == COMPARE_FUNCTION || comparison->by == COMPARE_CONTEXT)
		function = sonde_definitions_function(definitions, row->place.key);
	if (function)
		module = sonde_definitions_module(definitions, function->module);
	if (comparison->by == COMPARE_MODULE)
		module = sonde_definitions_module(definitions, row->place.key);
	if (module)
		place.module = sonde_definitions_string(definitions, module->path);
	if (function) {
		place.file = sonde_definitions_string(definitions, function->file);
		place.line = function->line;
	} else if (comparison->by >= COMPARE_FILE && comparison->by <= COMPARE_LOOP) {
		place.file = sonde_definitions_string(definitions, row->place.key);
	}
	return place;
}

static void put_json_row(struct sonde_json_writer *json, const struct diff *diff,
			 const struct compare_row *row)
{
	const struct comparison *comparison = &diff->comparison;
	struct row_place place = place_of(comparison, row);
	char space[DIFF_NAME_SIZE];

	sonde_json_object_begin(json);
	sonde_json_member_string(json, "name",
				 compare_label(comparison, row, space, sizeof(space)));
	if (*place.module)
		sonde_json_member_string(json, "module", place.module);
	if (*place.file)
		sonde_json_member_string(json, "file", place.file);
	if (place.line)
		sonde_json_member_u64(json, "line", place.line);
	if (comparison->by == COMPARE_CONTEXT)
		put_json_path(json, comparison, row->place.context);
	sonde_json_member_string(json, "presence", presence_names[row->presence]);
	put_json_values(json, diff, row);
	sonde_json_object_end(json);
}

static void put_json_method(struct sonde_json_writer *json, const struct diff *diff)
{
	const struct comparison *comparison = &diff->comparison;

	sonde_json_key(json, "test");
	if (!comparison->can_test) {
		sonde_json_null(json);
		return;
	}
	sonde_json_object_begin(json);
	sonde_json_member_string(json, "name", "moderated t-test on logarithms");
	sonde_json_member_string(json, "adjustment", "Benjamini-Hochberg");
	sonde_json_member_double(json, "level", diff->options->level);
	sonde_json_member_double(json, "min_change", diff->options->least_change);
	sonde_json_member_u64(json, "tested", comparison->tested_count);
	sonde_json_member_u64(json, "significant", comparison->significant_count);
	sonde_json_key(json, "speed");
	if (comparison->speed.known) {
		sonde_json_object_begin(json);
		sonde_json_member_double(json, "change", comparison->speed.change);
		sonde_json_member_double(json, "p", comparison->speed.p);
		put_json_runs(json, "log_by_run", comparison->speed.logs, comparison->run_count, 1);
		sonde_json_object_end(json);
	} else {
		sonde_json_null(json);
	}
	sonde_json_object_end(json);
}

static void put_json_threshold(struct sonde_json_writer *json, const struct diff *diff)
{
	char space[DIFF_NAME_SIZE];
	size_t i;

	sonde_json_key(json, "threshold");
	sonde_json_object_begin(json);
	sonde_json_member_double(json, "share", diff->options->threshold);
	sonde_json_key(json, "exceeded_by");
	sonde_json_array_begin(json);
	for (i = 0; i < diff->excesses.count; i++) {
		const struct compare_row *row = diff->excesses.items[i].row;
		bool is_whole = row == &diff->comparison.all;

		sonde_json_object_begin_inline(json);
		sonde_json_member_bool(json, "whole", is_whole);
		if (!is_whole)
			sonde_json_member_string(json, "name",
						 diff_name(diff, row, space, sizeof(space)));
		sonde_json_member_double(json, "relative", compare_change(&row->self));
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
	sonde_json_object_end(json);
}

void diff_put_json(struct cli *cli, const struct diff *diff)
{
	const struct comparison *comparison = &diff->comparison;
	struct sonde_json_writer json;
	size_t i;

	sonde_json_writer_init(&json, &cli->out, true);
	sonde_json_object_begin(&json);
	put_json_sides(&json, diff);
	sonde_json_member_string(&json, "by", diff_noun(diff));
	if (comparison->metric) {
		sonde_json_member_string(&json, "metric", comparison->metric_name);
		sonde_json_key(&json, "unit");
		if (comparison->metric->ns > 0)
			sonde_json_string(&json, "ns");
		else
			sonde_json_null(&json);
		put_json_method(&json, diff);
		sonde_json_key(&json, "whole");
		sonde_json_object_begin(&json);
		put_json_values(&json, diff, &comparison->all);
		sonde_json_object_end(&json);
	}
	if (diff->asks_threshold)
		put_json_threshold(&json, diff);
	sonde_json_member_u64(&json, "left_out", comparison->rows.count - diff->rows.count);
	sonde_json_key(&json, "rows");
	sonde_json_array_begin(&json);
	for (i = 0; i < diff->rows.count && i < diff->row_limit && cli_flush_when_full(cli); i++)
		put_json_row(&json, diff, diff->rows.items[i]);
	sonde_json_array_end(&json);
	sonde_json_object_end(&json);
	sonde_buffer_put_char(&cli->out, '\n');
}

static void put_csv_text(struct cli *cli, struct sonde_buffer *space, const char *text)
{
	cli_put_csv_text(cli, space, text);
	sonde_buffer_put_char(&cli->out, ',');
}

static void put_csv_number(struct sonde_buffer *out, double number)
{
	if (isfinite(number))
		sonde_buffer_put_double(out, number);
	sonde_buffer_put_char(out, ',');
}

static void put_csv_means(struct sonde_buffer *out, const struct compare_means *means, double unit)
{
	put_csv_number(out, means->before * unit);
	put_csv_number(out, means->after * unit);
}

static void put_csv_row(struct cli *cli, const struct diff *diff, const struct compare_row *row,
			struct sonde_buffer *space)
{
	struct sonde_buffer *out = &cli->out;
	struct row_place place = place_of(&diff->comparison, row);
	char name[DIFF_NAME_SIZE];

	put_csv_text(cli, space, diff_name(diff, row, name, sizeof(name)));
	put_csv_text(cli, space, place.module);
	put_csv_text(cli, space, place.file);
	if (place.line)
		sonde_buffer_put_u64(out, place.line);
	sonde_buffer_put_char(out, ',');
	put_csv_text(cli, space, presence_names[row->presence]);
	put_csv_means(out, &row->self, unit_of(diff));
	put_csv_number(out, (row->self.after - row->self.before) * unit_of(diff));
	put_csv_number(out, compare_change(&row->self));
	put_csv_means(out, &row->total, unit_of(diff));
	put_csv_means(out, &row->calls, 1);
	put_csv_number(out, row->tested ? row->p : NAN);
	put_csv_number(out, row->tested ? row->adjusted_p : NAN);
	sonde_buffer_put_text(out, row->significant ? "1\r\n" : "0\r\n");
}

void diff_put_csv(struct cli *cli, const struct diff *diff)
{
	struct sonde_buffer space = { 0 };
	size_t i;

	sonde_buffer_put_text(&cli->out,
			      "name,module,file,line,presence,self_before,self_after,self_change,"
			      "self_relative,total_before,total_after,calls_before,calls_after,p,"
			      "p_adjusted,significant\r\n");
	for (i = 0; i < diff->rows.count && i < diff->row_limit && cli_flush_when_full(cli); i++)
		put_csv_row(cli, diff, diff->rows.items[i], &space);
	sonde_buffer_release(&space);
}
