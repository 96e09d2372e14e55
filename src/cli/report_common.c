/* SPDX-License-Identifier: Apache-2.0 */
/* What the views of `sonde report` have in common: shares, names, columns of metrics. */
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
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

		if (!report_is_extra(build, i))
			continue;
		report_add_column(
			view,
			(struct report_column){
				.key = join(view, metric->name, time ? ".total_ns" : ".total"),
				.title = join(view, metric->name, ""),
				.kind = kind_of(metric),
				.rank = metric->formula ? REPORT_USUAL : REPORT_WIDE });
		report_add_column(
			view, (struct report_column){
				      .key = join(view, metric->name, time ? ".self_ns" : ".self"),
				      .title = join(view, metric->name, " self"),
				      .kind = kind_of(metric),
				      .rank = REPORT_FOR_PROGRAMS });
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
