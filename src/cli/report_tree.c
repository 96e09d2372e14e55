/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of contexts from the top down, and the hottest path in it. */
#include <stdlib.h>

#include "cli/human.h"
#include "cli/report.h"

/* A hot path goes on as long as this share of the whole is in it. */
#define HOT_SHARE 0.1

void report_add_context_columns(struct report_build *build)
{
	const struct report_column after[] = {
		{ "context", "ID", REPORT_ID, REPORT_FOR_PROGRAMS, false, true },
		{ "parent", "PARENT", REPORT_COUNT, REPORT_FOR_PROGRAMS, false, true },
		{ "kind", "KIND", REPORT_TEXT, REPORT_FOR_PROGRAMS, false, true },
		{ "file", "FILE", REPORT_TEXT, REPORT_FOR_PROGRAMS, false, true },
		{ "line", "LINE", REPORT_COUNT, REPORT_FOR_PROGRAMS, false, true },
		{ "name", "CONTEXT", REPORT_TEXT, REPORT_ALWAYS, false, true },
	};
	struct report_view *view = build->view;

	report_add_column(view, (struct report_column){ "total_share", "TOTAL%", REPORT_SHARE,
							REPORT_ALWAYS, true, false });
	report_add_column(view, report_total_column(build, REPORT_ALWAYS));
	report_add_column(view, report_self_column(build, REPORT_ALWAYS));
	report_add_column(view, (struct report_column){ "self_share", "SELF%", REPORT_SHARE,
							REPORT_WIDER, false, false });
	if (build->cct->calls) {
		report_add_column(view, (struct report_column){ "calls", "CALLS", REPORT_COUNT,
								REPORT_ALWAYS, false, false });
		report_add_column(view,
				  (struct report_column){ "exceptions", "ERRORS", REPORT_COUNT,
							  REPORT_USUAL, false, false });
		report_add_column(view, (struct report_column){ "mean_ns", "MEAN", REPORT_TIME,
								REPORT_WIDE, false, false });
		report_add_column(view, (struct report_column){ "max_ns", "MAX", REPORT_TIME,
								REPORT_WIDER, false, false });
	}
	report_add_extra_columns(build);
	for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++)
		report_add_column(view, after[i]);
}

static void put_calls(struct report_view *view, const struct cct_calls *calls)
{
	report_put_count(view, calls->count);
	report_put_count(view, calls->exceptions);
	if (calls->count) {
		report_put_time(view, (calls->sum_ns + calls->count / 2) / calls->count);
		report_put_time(view, calls->max_ns);
	} else {
		report_put_nothing(view);
		report_put_nothing(view);
	}
}

static void put_place(struct report_view *view, const struct cct *cct,
		      const struct sonde_context *context)
{
	const struct sonde_function *function =
		sonde_definitions_function(cct->definitions, context->function);
	uint32_t file = context->file, line = context->line;

	if (context->kind == SONDE_CONTEXT_FUNCTION && function) {
		file = function->file;
		line = function->line;
	}
	report_put_borrowed(view, sonde_definitions_string(cct->definitions, file));
	report_put_count(view, line);
}

void report_put_context(struct report_build *build, uint32_t number, uint32_t depth)
{
	const struct sonde_context *context = &build->cct->contexts[number];
	const struct cct_metric *metric = report_metric(build);
	struct report_view *view = build->view;
	char space[REPORT_LABEL_SIZE];

	report_begin_row(view, depth, number, report_weight(build, metric->total[number]));
	report_put_share(view, metric->total[number], build->whole);
	report_put_value(view, metric, metric->total[number]);
	report_put_value(view, metric, metric->self[number]);
	report_put_share(view, metric->self[number], build->whole);
	if (build->cct->calls)
		put_calls(view, &build->cct->calls[number]);
	report_put_extras_of_context(build, number);
	report_put_count(view, number);
	if (number)
		report_put_count(view, context->parent);
	else
		report_put_nothing(view);
	report_put_borrowed(view, sonde_context_kind_name(context->kind));
	put_place(view, build->cct, context);
	report_put_label(view, report_context_label(build->cct, number, space, sizeof(space)),
			 space);
}

/* By context: a path through a function that is wanted leads there. NULL: memory failed. */
static bool *find_wanted(struct report_build *build)
{
	const struct cct *cct = build->cct;
	bool *above = calloc((size_t)cct->context_count + 1, sizeof(*above));
	bool *wanted = calloc((size_t)cct->context_count + 1, sizeof(*wanted));
	char space[REPORT_LABEL_SIZE];
	uint32_t i;

	if (!above || !wanted) {
		free(above);
		free(wanted);
		sonde_fail_nomem(&build->err);
		return NULL;
	}
	for (i = 0; i < cct->context_count; i++) {
		bool is_function = cct->contexts[i].kind == SONDE_CONTEXT_FUNCTION;

		above[i] =
			(i && above[cct->contexts[i].parent]) ||
			!build->options->filter.functions.count ||
			(is_function &&
			 report_wants(build, report_context_label(cct, i, space, sizeof(space))));
		wanted[i] = above[i];
	}
	for (i = cct->context_count; i-- > 1;)
		if (wanted[i])
			wanted[cct->contexts[i].parent] = true;
	free(above);
	return wanted;
}

/* Nothing was measured there, or not enough. */
static bool is_too_little(struct report_build *build, uint32_t number)
{
	const struct cct_metric *metric = report_metric(build);

	if (build->least > 0)
		return report_weight(build, metric->total[number]) < build->least;
	if (metric->total[number] != 0 || (build->cct->calls && build->cct->calls[number].count))
		return false;
	for (uint32_t i = 0; i < build->cct->metric_count; i++)
		if (report_is_extra(build, i) && build->cct->metrics[i].total[number] != 0)
			return false;
	return true;
}

struct walk {
	struct report_build *build;
	const bool *wanted;
	SONDE_VEC(uint32_t) ends; /* of the rows that are open */
};

/* Puts one context; false where those below it are of no interest either. */
static bool put_in_tree(struct walk *walk, uint32_t number)
{
	struct report_build *build = walk->build;
	const struct sonde_context *context = &build->cct->contexts[number];
	uint64_t depth_most = build->options->max_depth;
	uint32_t *end;

	if (!walk->wanted[number])
		return false;
	if (context->unlisted)
		return true;
	if (is_too_little(build, number) || (depth_most && walk->ends.count >= depth_most)) {
		build->view->left_out += context->end - number;
		return false;
	}
	report_put_context(build, number, (uint32_t)walk->ends.count);
	end = sonde_vec_push(&walk->ends);
	if (end)
		*end = context->end;
	else
		build->view->failed = true;
	return true;
}

static void walk_tree(struct walk *walk)
{
	const struct cct *cct = walk->build->cct;
	uint32_t number = 1;

	/* what the root itself has is a row only where there is some */
	if (cct->context_count && report_metric(walk->build)->self[0] != 0)
		number = 0;
	while (number < cct->context_count && !walk->build->view->failed) {
		while (walk->ends.count && walk->ends.items[walk->ends.count - 1] <= number)
			walk->ends.count--;
		if (put_in_tree(walk, number))
			number++;
		else
			number = cct->contexts[number].end;
	}
}

bool report_make_tree(struct report_build *build)
{
	struct walk walk = { .build = build };
	bool *wanted = find_wanted(build);

	if (!wanted)
		return false;
	walk.wanted = wanted;
	build->view->name = "tree";
	build->view->noun = "context";
	build->view->tree = true;
	report_add_context_columns(build);
	walk_tree(&walk);
	sonde_vec_release(&walk.ends);
	free(wanted);
	report_sort(build->view, report_find_column(build->view, "TOTAL"));
	return true;
}

static uint32_t hottest_child(const struct report_build *build, uint32_t number, const bool *wanted)
{
	const struct sonde_context *contexts = build->cct->contexts;
	const double *totals = report_metric(build)->total;
	uint32_t best = SONDE_NONE;

	for (uint32_t child = number + 1; child < contexts[number].end; child = contexts[child].end)
		if (wanted[child] && totals[child] > 0 &&
		    (best == SONDE_NONE || totals[child] > totals[best]))
			best = child;
	return best;
}

bool report_make_hot_path(struct report_build *build)
{
	double least = build->options->min ? build->least : HOT_SHARE;
	uint64_t depth_most = build->options->max_depth;
	bool *wanted = find_wanted(build);
	uint32_t depth = 0, number = 0;

	if (!wanted)
		return false;
	build->view->name = "hot_path";
	build->view->noun = "context";
	build->view->tree = true;
	report_add_context_columns(build);
	while (build->cct->context_count && (!depth_most || depth < depth_most)) {
		number = hottest_child(build, number, wanted);
		if (number == SONDE_NONE ||
		    report_weight(build, report_metric(build)->total[number]) < least)
			break;
		if (!build->cct->contexts[number].unlisted)
			report_put_context(build, number, depth++);
	}
	free(wanted);
	return true;
}
