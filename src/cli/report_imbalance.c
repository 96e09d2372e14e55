/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How unevenly work is spread over threads and processes, as a tree: going down from the whole, the contexts
 * in which some have more than others, with the one that has most.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/report.h"

/* Where nobody says what is worth a row: this share of what the busiest has. */
#define WORTH_A_ROW 0.01

static double mean_of(const struct cct_spread *spread)
{
	return spread->count ? spread->sum / spread->count : 0;
}

/* What the others wait for where they wait for the one that has most. */
static double excess_of(const struct cct_spread *spread)
{
	return spread->count ? spread->max - mean_of(spread) : 0;
}

static void add_columns(struct report_build *build)
{
	bool time = report_metric(build)->ns > 0;
	enum report_kind kind = time ? REPORT_TIME : REPORT_NUMBER;
	enum report_rank programs = REPORT_FOR_PROGRAMS;
	const struct report_column columns[] = {
		{ "lost_share", "LOST%", REPORT_SHARE, REPORT_ALWAYS, true, false },
		{ "thread_imbalance", "MAX/MEAN", REPORT_NUMBER, REPORT_ALWAYS, false, false },
		{ time ? "thread_max_ns" : "thread_max", "MAX", kind, REPORT_ALWAYS, false, false },
		{ time ? "thread_mean_ns" : "thread_mean", "MEAN", kind, REPORT_USUAL, false,
		  false },
		{ "threads", "THREADS", REPORT_COUNT, REPORT_USUAL, false, false },
		{ "thread_most", "MOST IN", REPORT_TEXT, REPORT_USUAL, false, true },
		{ "process_imbalance", "BY PROCESS", REPORT_NUMBER, REPORT_WIDE, false, false },
		{ time ? "process_max_ns" : "process_max", "MAX", kind, REPORT_WIDER, false,
		  false },
		{ time ? "process_mean_ns" : "process_mean", "MEAN", kind, programs, false, false },
		{ "processes", "OF", REPORT_COUNT, programs, false, false },
		{ "process_most", "MOST IN", REPORT_TEXT, REPORT_WIDE, false, true },
		{ "context", "ID", REPORT_ID, programs, false, true },
		{ "name", "CONTEXT", REPORT_TEXT, REPORT_ALWAYS, false, true },
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		report_add_column(build->view, columns[i]);
}

static void put_ratio(struct report_view *view, const struct cct_spread *spread)
{
	double mean = mean_of(spread);

	report_put_number(view, mean > 0 ? spread->max / mean : NAN);
}

static void put_threads(struct report_build *build, const struct cct_spread *spread)
{
	put_ratio(build->view, spread);
	report_put_value(build->view, report_metric(build), spread->max);
	report_put_value(build->view, report_metric(build), mean_of(spread));
	report_put_count(build->view, spread->count);
	if (spread->count)
		report_put_track(build, spread->max_place);
	else
		report_put_nothing(build->view);
}

static void put_processes(struct report_build *build, uint32_t number)
{
	const struct cct_spread *spreads = build->cct->context_process_spread;
	const struct cct_spread *spread = spreads ? &spreads[number] : NULL;
	char label[SONDE_LABEL_SIZE];

	if (!spread || !spread->count ||
	    sonde_definitions_process_count(build->cct->definitions) < 2) {
		for (int i = 0; i < 5; i++)
			report_put_nothing(build->view);
		return;
	}
	if (spread->max_place == SONDE_NONE)
		snprintf(label, sizeof(label), "no process");
	else
		snprintf(label, sizeof(label), "process %u", spread->max_place);
	put_ratio(build->view, spread);
	report_put_value(build->view, report_metric(build), spread->max);
	report_put_value(build->view, report_metric(build), mean_of(spread));
	report_put_count(build->view, spread->count);
	report_put_text(build->view, label);
}

static void put_context(struct report_build *build, uint32_t number, uint32_t depth, double worst)
{
	const struct cct *cct = build->cct;
	double busiest = cct->context_spread[0].max;
	char space[REPORT_LABEL_SIZE];

	report_begin_row(build->view, depth, number, busiest > 0 ? worst / busiest : 0);
	report_put_share(build->view, excess_of(&cct->context_spread[number]), busiest);
	put_threads(build, &cct->context_spread[number]);
	put_processes(build, number);
	report_put_id(build->view, number);
	report_put_label(build->view, report_context_label(cct, number, space, sizeof(space)),
			 space);
}

/* By context: the largest excess in it or below it; NULL where memory failed. */
static double *find_worst(const struct cct *cct)
{
	double *worst = calloc((size_t)cct->context_count + 1, sizeof(*worst));

	for (uint32_t i = cct->context_count; worst && i-- > 0;) {
		double excess = excess_of(&cct->context_spread[i]);

		if (cct->context_process_spread)
			excess = fmax(excess, excess_of(&cct->context_process_spread[i]));
		worst[i] = fmax(worst[i], excess);
		if (i)
			worst[cct->contexts[i].parent] =
				fmax(worst[cct->contexts[i].parent], worst[i]);
	}
	return worst;
}

static void walk(struct report_build *build, const double *worst, double least)
{
	const struct cct *cct = build->cct;
	SONDE_VEC(uint32_t) ends = { 0 };
	uint32_t number = 0;

	while (number < cct->context_count && !build->view->failed) {
		const struct sonde_context *context = &cct->contexts[number];
		uint32_t *end;

		while (ends.count && ends.items[ends.count - 1] <= number)
			ends.count--;
		if (number && (worst[number] < least || !(worst[number] > 0))) {
			number = context->end;
			continue;
		}
		if (!context->unlisted) {
			put_context(build, number, (uint32_t)ends.count, worst[number]);
			end = sonde_vec_push(&ends);
			if (end)
				*end = context->end;
			else
				build->view->failed = true;
		}
		number++;
	}
	sonde_vec_release(&ends);
}

bool report_make_imbalance(struct report_build *build)
{
	const struct cct *cct = build->cct;
	double least = build->options->min ? build->least : WORTH_A_ROW;
	double *worst;

	build->view->name = "imbalance";
	build->view->noun = "context";
	build->view->tree = true;
	build->view->title = "LOST%: MAX less MEAN, as a share of all that the busiest thread did: "
			     "what even sharing could save";
	add_columns(build);
	if (!cct->context_count)
		return true;
	/* no time passed, so the number of calls is shown in its place; threads share nothing then */
	if (!build->options->analysis.metric && cct->calls && cct->spread_metric != build->metric)
		return true;
	if (!cct->context_spread || cct->spread_metric != build->metric) {
		sonde_fail(&build->err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			   "what single threads have of %s is not known; name another with "
			   "--metric",
			   report_metric(build)->name);
		return false;
	}
	worst = find_worst(cct);
	if (!worst) {
		sonde_fail_nomem(&build->err);
		return false;
	}
	walk(build, worst, least * cct->context_spread[0].max);
	free(worst);
	report_sort(build->view, report_find_column(build->view, "LOST%"));
	return true;
}
