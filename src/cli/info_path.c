/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hottest path of a profile: from the root, again and again the child that most was spent in and below,
 * as long as it has a tenth of the whole. By the first metric that is meant to be shown.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cli/human.h"
#include "cli/info.h"
#include "cli/text.h"

#define LEAST_SHARE 0.1
#define VALUES_MOST 20000000 /* so many are added up at most: it must not take long */
#define LABEL_SIZE 512
#define COLUMN 13
/* Of a long path the first rows and the last ones are shown. */
#define ROWS_SHOWN 12
#define ROWS_FIRST 3

struct step {
	uint32_t context;
	double value;
};

struct path {
	const struct info *info;
	const struct sonde_context *contexts;
	uint32_t count;
	uint32_t metric;		 /* what it is by; for its name */
	uint32_t sum, execution, points; /* the metric's scopes, SONDE_NONE: none of them */
	double *totals;			 /* by context; NULL: the recording has sums */
	double total;
	SONDE_VEC(struct step) steps;
};

static const char *text_of(const struct path *path, uint32_t string)
{
	return sonde_definitions_string(path->info->definitions, string);
}

static bool find_metric(struct path *path)
{
	const struct sonde_definitions *definitions = path->info->definitions;
	const struct sonde_metric *metric;
	uint32_t name, i;

	path->metric = path->sum = path->execution = path->points = SONDE_NONE;
	for (i = 0; (metric = sonde_definitions_metric(definitions, i)); i++) {
		if (metric->hidden || metric->statistic)
			continue;
		path->metric = i;
		break;
	}
	if (!metric)
		return false;
	name = metric->name;
	for (i = 0; (metric = sonde_definitions_metric(definitions, i)); i++) {
		const char *scope = text_of(path, metric->scope);
		bool is_execution = !strcmp(scope, "execution");

		if (metric->name != name)
			continue;
		if (metric->statistic && is_execution &&
		    !strcmp(text_of(path, metric->statistic), "sum"))
			path->sum = i;
		else if (!metric->statistic && is_execution)
			path->execution = i;
		else if (!metric->statistic && (!*scope || !strcmp(scope, "point")))
			path->points = i;
	}
	return true;
}

static double value_of(const struct path *path, uint32_t context)
{
	double value = 0;

	if (path->totals)
		return path->totals[context];
	if (sonde_recording_value(path->info->recording, SONDE_NONE, context, path->sum, &value,
				  NULL))
		return 0;
	return value;
}

static bool add_track(struct path *path, uint32_t track, uint32_t metric)
{
	struct sonde_value_cursor *cursor = NULL;
	const struct sonde_value *values;
	enum sonde_status status;
	size_t count;

	if (sonde_value_cursor_open(path->info->recording, track, &cursor, NULL))
		return false;
	while (!(status = sonde_value_cursor_next(cursor, &values, &count, NULL))) {
		for (size_t i = 0; i < count; i++)
			if (values[i].metric == metric && values[i].context < path->count)
				path->totals[values[i].context] += values[i].value;
	}
	sonde_value_cursor_free(cursor);
	return status == SONDE_END;
}

/* Where the recording has no sums over the tracks. */
static bool add_up(struct path *path)
{
	uint32_t tracks = sonde_definitions_track_count(path->info->definitions);
	uint32_t metric = path->execution != SONDE_NONE ? path->execution : path->points;

	if (metric == SONDE_NONE || path->info->value_count > VALUES_MOST)
		return false;
	path->totals = calloc(path->count, sizeof(*path->totals));
	if (!path->totals)
		return false;
	for (uint32_t i = 0; i < tracks; i++)
		if (!add_track(path, i, metric))
			return false;
	for (uint32_t i = path->count; metric == path->points && --i > 0;)
		path->totals[path->contexts[i].parent] += path->totals[i];
	return true;
}

static struct step hottest_child(const struct path *path, uint32_t context)
{
	struct step best = { SONDE_NONE, 0 };

	for (uint32_t child = context + 1; child < path->contexts[context].end;
	     child = path->contexts[child].end) {
		double value = value_of(path, child);

		if (value > best.value)
			best = (struct step){ child, value };
	}
	return best;
}

static void walk(struct path *path)
{
	struct step step = hottest_child(path, 0);

	while (step.context != SONDE_NONE && step.value >= path->total * LEAST_SHARE) {
		if (!path->contexts[step.context].unlisted) {
			struct step *place = sonde_vec_push(&path->steps);

			if (!place)
				return;
			*place = step;
		}
		step = hottest_child(path, step.context);
	}
}

/* Nothing is shown where anything cannot be read: the findings tell of it. */
static bool find_path(struct path *path, const struct info *info)
{
	*path = (struct path){ .info = info };
	if (!info->value_count && !sonde_definitions_metric_count(info->definitions))
		return false;
	if (sonde_recording_contexts(info->recording, &path->contexts, &path->count, NULL) ||
	    !path->count || !find_metric(path))
		return false;
	if (path->sum != SONDE_NONE)
		path->total = value_of(path, 0);
	if (!(path->total > 0)) {
		if (!add_up(path))
			return false;
		path->total = value_of(path, 0);
	}
	if (path->total > 0 && isfinite(path->total))
		walk(path);
	return path->steps.count;
}

static void release(struct path *path)
{
	free(path->totals);
	sonde_vec_release(&path->steps);
}

static void put_row(struct cli *cli, const struct path *path, size_t number, size_t indent)
{
	const struct step *step = &path->steps.items[number];
	size_t room = cli_width(cli, 100) - COLUMN;
	struct sonde_buffer text = { 0 };
	char label[LABEL_SIZE];

	sonde_buffer_put_format(&text, "%5.1f%% %12.6g  ", 100 * step->value / path->total,
				step->value);
	cli_put_spaces(&text, 2 * indent);
	cli_put_escaped(&text,
			sonde_context_label(path->info->definitions, &path->contexts[step->context],
					    label, sizeof(label)));
	cli_put_spaces(&cli->out, COLUMN);
	if (text.failed)
		cli->out.failed = true;
	else if (cli_text_width(text.data, text.size) > room)
		cli_put_column(&cli->out, text.data, text.size, room, false);
	else
		sonde_buffer_put(&cli->out, text.data, text.size);
	sonde_buffer_put_char(&cli->out, '\n');
	sonde_buffer_release(&text);
}

void info_put_path(struct cli *cli, const struct info *info)
{
	struct path path;
	size_t left_out, row = 0;

	if (find_path(&path, info)) {
		const struct sonde_metric *metric =
			sonde_definitions_metric(info->definitions, path.metric);

		sonde_buffer_put_text(&cli->out, "  ");
		cli_put_styled(cli, CLI_STYLE_DIM, "hottest");
		cli_put_spaces(&cli->out, COLUMN - 2 - strlen("hottest"));
		sonde_buffer_put_text(&cli->out, "path by ");
		cli_put_escaped(&cli->out, text_of(&path, metric->name));
		sonde_buffer_put_format(&cli->out, ", %.6g in all\n", path.total);
		left_out = path.steps.count > ROWS_SHOWN ? path.steps.count - ROWS_SHOWN + 1 : 0;
		for (size_t i = 0; i < path.steps.count; i++) {
			if (left_out && i == ROWS_FIRST) {
				cli_put_spaces(&cli->out, COLUMN);
				sonde_buffer_put_text(&cli->out, "... ");
				cli_put_count(&cli->out, left_out);
				sonde_buffer_put_text(&cli->out, " more\n");
				i += left_out;
			}
			put_row(cli, &path, i, row++);
		}
	}
	release(&path);
}

static void put_number(struct sonde_json_writer *json, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.17g", value);
	sonde_json_key(json, key);
	sonde_json_raw(json, text);
}

void info_put_path_json(const struct info *info, struct sonde_json_writer *json)
{
	struct path path;

	if (find_path(&path, info)) {
		const struct sonde_metric *metric =
			sonde_definitions_metric(info->definitions, path.metric);

		sonde_json_key(json, "hottest_path");
		sonde_json_object_begin(json);
		sonde_json_member_string(json, "metric", text_of(&path, metric->name));
		put_number(json, "total", path.total);
		sonde_json_key(json, "contexts");
		sonde_json_array_begin(json);
		for (size_t i = 0; i < path.steps.count; i++) {
			const struct step *step = &path.steps.items[i];
			const struct sonde_context *context = &path.contexts[step->context];
			char label[LABEL_SIZE];

			sonde_json_object_begin_inline(json);
			sonde_json_member_u64(json, "context", step->context);
			sonde_json_member_string(json, "kind",
						 sonde_context_kind_name(context->kind));
			sonde_json_member_string(json, "name",
						 sonde_context_label(info->definitions, context,
								     label, sizeof(label)));
			put_number(json, "value", step->value);
			sonde_json_object_end(json);
		}
		sonde_json_array_end(json);
		sonde_json_object_end(json);
	}
	release(&path);
}
