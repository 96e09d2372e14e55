/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sonde dump --contexts`: the tree of calling contexts with the values of one metric, added up over
 * the tracks: in each context with all below it, and in it alone.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/dump_profile.h"
#include "cli/human.h"
#include "cli/text.h"

#define DEEPEST_INDENT 60

/* The metric that is shown, by its scopes; SONDE_NONE where it has no such. */
struct shown_metric {
	const char *name; /* NULL: there is none */
	uint32_t point, execution;
	uint32_t point_sum, execution_sum; /* over all tracks */
};

/* The first that is meant to be shown; where all are hidden, the first of them. */
static const char *default_metric(const struct dump_profile *dump)
{
	const struct sonde_metric *metric;

	for (uint32_t i = 0; (metric = sonde_definitions_metric(dump->definitions, i)); i++) {
		if (!metric->hidden && !metric->statistic)
			return row_metric_name(dump->definitions, i);
	}
	return row_metric_name(dump->definitions, 0);
}

static struct shown_metric choose_metric(const struct dump_profile *dump)
{
	uint32_t count = sonde_definitions_metric_count(dump->definitions);
	struct shown_metric shown = { NULL, SONDE_NONE, SONDE_NONE, SONDE_NONE, SONDE_NONE };
	const char *wanted = dump->metric ? dump->metric : default_metric(dump);

	for (uint32_t i = 0; i < count; i++) {
		const char *name = row_metric_name(dump->definitions, i);
		const char *scope = row_metric_scope(dump->definitions, i);
		const char *statistic = row_metric_statistic(dump->definitions, i);
		bool is_sum = !strcmp(statistic, "sum");

		if ((*statistic && !is_sum) || strcmp(wanted, name))
			continue;
		if (!is_sum)
			shown.name = name;
		if (!*scope || !strcmp(scope, "point"))
			*(is_sum ? &shown.point_sum : &shown.point) = i;
		else if (!strcmp(scope, "execution"))
			*(is_sum ? &shown.execution_sum : &shown.execution) = i;
	}
	return shown;
}

static enum sonde_status add_track(struct dump_profile *dump, uint32_t track,
				   const struct shown_metric *shown, struct row_sums *sums,
				   struct sonde_error *err)
{
	struct sonde_value_cursor *cursor = NULL;
	const struct sonde_value *values;
	enum sonde_status status;
	size_t count;

	status = sonde_value_cursor_open(dump->recording, track, &cursor, err);
	if (status)
		return status;
	while (!(status = sonde_value_cursor_next(cursor, &values, &count, err))) {
		for (size_t i = 0; i < count; i++) {
			if (values[i].context >= dump->context_count)
				continue;
			if (values[i].metric == shown->point)
				sums->self[values[i].context] += values[i].value;
			else if (values[i].metric == shown->execution)
				sums->total[values[i].context] += values[i].value;
		}
	}
	sonde_value_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

/* Where the recording does not say what is below a context, that follows from the points. */
static enum sonde_status add_up(struct dump_profile *dump, const struct shown_metric *shown,
				struct row_sums *sums, struct sonde_error *err)
{
	const struct shown_metric all = { .point = shown->point_sum,
					  .execution = shown->execution_sum };
	enum sonde_status status = SONDE_OK;
	uint32_t track;

	/* the recording may have the sums already, in place of thousands of tracks */
	if (!dump->spec->track_count && all.point != SONDE_NONE && all.execution != SONDE_NONE)
		return add_track(dump, SONDE_NONE, &all, sums, err);
	for (uint32_t i = 0; !status && (track = dump_profile_track(dump, i)) != SONDE_NONE; i++)
		status = add_track(dump, track, shown, sums, err);
	if (status || shown->execution != SONDE_NONE)
		return status;
	for (uint32_t i = dump->context_count; i-- > 0;) {
		sums->total[i] += sums->self[i];
		if (i)
			sums->total[dump->contexts[i].parent] += sums->total[i];
	}
	return SONDE_OK;
}

/* A value in a column; nothing where nothing was measured. */
static void put_column(struct sonde_buffer *out, double value)
{
	if (value == 0)
		cli_put_spaces(out, 14);
	else
		sonde_buffer_put_format(out, "%12.6g  ", value);
}

static void put_context_text(struct dump_profile *dump, uint32_t number, uint32_t depth,
			     const struct row_sums *sums)
{
	const struct sonde_context *context = &dump->contexts[number];
	struct sonde_buffer *out = &dump->cli->out;

	if (sums) {
		put_column(out, sums->total[number]);
		put_column(out, sums->self[number]);
	}
	sonde_buffer_put_format(out, "%8u  ", number);
	cli_put_spaces(out, 2 * (size_t)(depth < DEEPEST_INDENT ? depth : DEEPEST_INDENT));
	dump_profile_label(dump, number);
	if (context->relation == SONDE_CONTEXT_INLINED)
		sonde_buffer_put_text(out, " (inlined)");
	sonde_buffer_put_char(out, '\n');
}

static void begin(struct dump_profile *dump, const struct shown_metric *shown)
{
	struct sonde_buffer *out = &dump->cli->out;

	if (dump->rows.form)
		dump->rows.form->head(&dump->rows, ROW_CONTEXTS);
	if (dump->rows.form || !dump->context_count)
		return;
	if (shown->name) {
		cli_put_escaped(out, shown->name);
		sonde_buffer_put_text(out, ": TOTAL is in a context and all below it, SELF in it "
					   "alone\n");
		sonde_buffer_put_text(out, "       TOTAL          SELF  ");
	}
	sonde_buffer_put_text(out, "      ID  CONTEXT\n");
}

/* In a tree without unlisted contexts their values are those of what is around them. */
static void fold_unlisted(const struct dump_profile *dump, struct row_sums *sums)
{
	for (uint32_t i = dump->context_count; i-- > 1;) {
		if (dump->contexts[i].unlisted)
			sums->self[dump->contexts[i].parent] += sums->self[i];
	}
}

/* How deep each context is among those that are listed. */
static void find_depths(const struct dump_profile *dump, uint32_t *depths)
{
	for (uint32_t i = 1; i < dump->context_count; i++) {
		const struct sonde_context *parent = &dump->contexts[dump->contexts[i].parent];

		depths[i] = depths[dump->contexts[i].parent] + !parent->unlisted;
	}
}

static void put_contexts(struct dump_profile *dump, const uint32_t *depths,
			 const struct row_sums *sums)
{
	bool ends = false;

	for (uint32_t i = 0; i < dump->context_count && !ends; i++) {
		if (!dump->rows.form && dump->contexts[i].unlisted)
			continue;
		if (!dump_profile_line(dump, &ends))
			continue;
		if (dump->rows.form)
			dump->rows.form->context(&dump->rows, i, sums);
		else
			put_context_text(dump, i, depths[i], sums);
		if (!cli_flush_when_full(dump->cli))
			return;
	}
}

/* What a formula of that name gives, in place of a metric. */
static enum sonde_status evaluate(struct dump_profile *dump, struct shown_metric *shown,
				  struct row_sums *sums, struct sonde_error *err)
{
	struct sonde_formula formula;
	uint32_t number = 0;

	while (sonde_recording_formula(dump->recording, number, &formula) &&
	       strcmp(formula.name, dump->metric))
		number++;
	if (!*formula.name)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "there is no metric '%s'; 'sonde info -v' lists them",
				  dump->metric);
	if (dump->spec->track_count)
		return sonde_fail(
			err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			"'%s' is worked out over all tracks; leave out the choice of tracks",
			dump->metric);
	for (uint32_t i = 0; i < dump->context_count; i++) {
		sonde_recording_formula_value(dump->recording, number, i, true, &sums->total[i]);
		sonde_recording_formula_value(dump->recording, number, i, false, &sums->self[i]);
	}
	shown->name = formula.name;
	return SONDE_OK;
}

static enum sonde_status put_tree(struct dump_profile *dump, struct row_sums *sums,
				  uint32_t *depths, struct sonde_error *err)
{
	struct shown_metric shown = choose_metric(dump);
	enum sonde_status status = SONDE_OK;

	if (shown.name)
		status = add_up(dump, &shown, sums, err);
	else if (dump->metric)
		status = evaluate(dump, &shown, sums, err);
	if (status)
		return status;
	if (!dump->rows.form)
		fold_unlisted(dump, sums);
	find_depths(dump, depths);
	begin(dump, &shown);
	put_contexts(dump, depths, shown.name ? sums : NULL);
	return SONDE_OK;
}

enum sonde_status dump_contexts(struct dump_profile *dump, struct sonde_error *err)
{
	size_t room = (size_t)dump->context_count + 1;
	struct row_sums sums = {
		.total = calloc(room, sizeof(double)),
		.self = calloc(room, sizeof(double)),
	};
	uint32_t *depths = calloc(room, sizeof(*depths));
	enum sonde_status status;

	if (sums.total && sums.self && depths)
		status = put_tree(dump, &sums, depths, err);
	else
		status = sonde_fail_nomem(err);
	free(sums.total);
	free(sums.self);
	free(depths);
	return status;
}
