/* SPDX-License-Identifier: Apache-2.0 */
/* What the views of `sonde report` have in common: shares, names, columns of metrics. */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"

double report_weight(const struct report_build *build, double value)
{
	double share = build->whole > 0 ? value / build->whole : 0;

	return isfinite(share) ? share : 0;
}

bool report_wants(const struct report_build *build, const char *name)
{
	const struct cli_list *patterns = &build->options->filter.functions;

	for (size_t i = 0; i < patterns->count; i++)
		if (!strcmp(patterns->items[i], name) || !fnmatch(patterns->items[i], name, 0))
			return true;
	return !patterns->count;
}

static enum report_kind kind_of(const struct cct_metric *metric)
{
	return metric->ns > 0 ? REPORT_TIME : REPORT_NUMBER;
}

struct report_column report_self_column(const struct report_build *build, enum report_rank rank)
{
	enum report_kind kind = kind_of(report_metric(build));

	return (struct report_column){ .key = kind == REPORT_TIME ? "self_ns" : "self",
				       .title = "SELF",
				       .kind = kind,
				       .rank = rank };
}

struct report_column report_total_column(const struct report_build *build, enum report_rank rank)
{
	enum report_kind kind = kind_of(report_metric(build));

	return (struct report_column){ .key = kind == REPORT_TIME ? "total_ns" : "total",
				       .title = "TOTAL",
				       .kind = kind,
				       .rank = rank };
}

void report_add_self_columns(struct report_build *build)
{
	struct report_view *view = build->view;

	report_add_column(view, (struct report_column){ "self_share", "SELF%", REPORT_SHARE,
							REPORT_ALWAYS, true, false });
	report_add_column(view, report_self_column(build, REPORT_ALWAYS));
	report_add_column(view, report_total_column(build, REPORT_ALWAYS));
	report_add_column(view, (struct report_column){ "total_share", "TOTAL%", REPORT_SHARE,
							REPORT_WIDE, false, false });
}

bool report_is_extra(const struct report_build *build, uint32_t metric)
{
	const struct cct_metric *about = &build->cct->metrics[metric];

	if (metric == build->metric)
		return false;
	return about->formula || (!build->cct->calls && !about->hidden);
}

/* A text of the view, made of two. */
static const char *join(struct report_view *view, const char *first, const char *second)
{
	struct sonde_buffer text = { 0 };
	const char *kept = NULL;

	sonde_buffer_put_utf8(&text, first, strlen(first));
	sonde_buffer_put_text(&text, second);
	if (!text.failed)
		kept = sonde_arena_copy_text(&view->texts, text.data, text.size);
	sonde_buffer_release(&text);
	if (!kept)
		view->failed = true;
	return kept ? kept : "";
}

void report_add_extra_columns(struct report_build *build)
{
	struct report_view *view = build->view;

	for (uint32_t i = 0; i < build->cct->metric_count; i++) {
		const struct cct_metric *metric = &build->cct->metrics[i];
		bool time = metric->ns > 0;
		/* how often something was called, not what it called */
		bool calls = !strcmp(metric->name, "CALLS");
		enum report_rank rank = metric->formula ? REPORT_USUAL : REPORT_WIDE;

		if (!report_is_extra(build, i))
			continue;
		report_add_column(
			view, (struct report_column){ .key = join(view, metric->name,
								  time ? ".total_ns" : ".total"),
						      .title = join(view, metric->name, ""),
						      .kind = kind_of(metric),
						      .rank = calls ? REPORT_FOR_PROGRAMS : rank });
		report_add_column(
			view, (struct report_column){
				      .key = join(view, metric->name, time ? ".self_ns" : ".self"),
				      .title = join(view, metric->name, calls ? "" : " self"),
				      .kind = kind_of(metric),
				      .rank = calls ? rank : REPORT_FOR_PROGRAMS });
	}
}

static void put_measured(struct report_view *view, const struct cct_metric *metric, double value)
{
	/* what is 0 was not measured there */
	if (value == 0 && !metric->formula)
		report_put_nothing(view);
	else
		report_put_value(view, metric, value);
}

void report_put_extra(struct report_view *view, const struct cct_metric *metric, double total,
		      double self)
{
	put_measured(view, metric, total);
	put_measured(view, metric, self);
}

void report_put_extras_of_context(struct report_build *build, uint32_t context)
{
	for (uint32_t i = 0; i < build->cct->metric_count; i++) {
		const struct cct_metric *metric = &build->cct->metrics[i];

		if (report_is_extra(build, i))
			report_put_extra(build->view, metric, metric->total[context],
					 metric->self[context]);
	}
}

const char *report_context_label(const struct cct *cct, uint32_t context, char *space, size_t size)
{
	const struct sonde_context *about = &cct->contexts[context];
	char label[SONDE_LABEL_SIZE];
	const char *name;

	if (about->kind == SONDE_CONTEXT_FUNCTION && about->function != SONDE_NONE) {
		name = sonde_definitions_function_label(cct->definitions, about->function, label);
		if (name != label)
			return name;
	}
	return sonde_context_label(cct->definitions, about, space, size);
}

void report_put_label(struct report_view *view, const char *label, const char *space)
{
	if (label == space)
		report_put_text(view, label);
	else
		report_put_borrowed(view, label);
}

/* What a track is called by, as a number. */
struct track_name {
	uint64_t name;
	uint32_t track;
};

static uint64_t name_of(const struct sonde_track *track)
{
	if (track->name)
		return track->name;
	return UINT64_C(1) << 63 | (uint64_t)track->kind << 32 | track->slot;
}

static int compare_names(const void *left, const void *right)
{
	const struct track_name *a = left, *b = right;

	return (a->name > b->name) - (a->name < b->name);
}

bool report_find_shared_names(struct report_build *build)
{
	const struct sonde_definitions *definitions = build->cct->definitions;
	uint32_t count = sonde_definitions_track_count(definitions), i;
	struct track_name *names = calloc((size_t)count + 1, sizeof(*names));

	build->shared_names = calloc((size_t)count + 1, sizeof(bool));
	if (!names || !build->shared_names) {
		free(names);
		return false;
	}
	for (i = 0; i < count; i++)
		names[i] =
			(struct track_name){ name_of(sonde_definitions_track(definitions, i)), i };
	qsort(names, count, sizeof(*names), compare_names);
	for (i = 1; i < count; i++)
		if (names[i].name == names[i - 1].name)
			build->shared_names[names[i].track] =
				build->shared_names[names[i - 1].track] = true;
	free(names);
	return true;
}

void report_put_track(struct report_build *build, uint32_t track)
{
	char space[SONDE_LABEL_SIZE], with_id[REPORT_LABEL_SIZE];
	const char *label = sonde_definitions_track_label(build->cct->definitions, track, space);
	bool shared = track < sonde_definitions_track_count(build->cct->definitions) &&
		      build->shared_names[track];

	if (shared)
		snprintf(with_id, sizeof(with_id), "%s (ID %u)", label, track);
	report_put_text(build->view, shared ? with_id : label);
}
