/* SPDX-License-Identifier: Apache-2.0 */
/* From paths and options to one tree of contexts, with messages and a progress bar. */
#include "cli/analysis.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyse/derive.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "cli/suggest.h"

/* Beyond this a count is better read as a power of ten. */
#define LARGEST_WHOLE 1e15

const struct cli_option cli_analysis_options[] = {
	{ .name = "metric",
	  .argument = "NAME",
	  .kind = CLI_TEXT,
	  .help = "what to measure by: REALTIME or CALLS of calls, any metric or formula of a "
		  "profile, or one that --derive makes; the name may be cut before a blank or bracket",
	  .offset = offsetof(struct cli_analysis, metric) },
	{ .name = "derive",
	  .argument = "FORMULA",
	  .kind = CLI_REPEAT,
	  .help = "a new metric out of others, like 'ipc = instructions / cycles', with + - * / ^, "
		  "sqrt, log, min, max, floor, ceil; names with blanks or brackets are in double "
		  "quotes; @FILE takes all of a METRICS.yaml; repeat for several",
	  .offset = offsetof(struct cli_analysis, derive) },
	{ .name = "jobs",
	  .short_name = 'j',
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "read with N threads; without it, one for each processor",
	  .offset = offsetof(struct cli_analysis, threads) },
	{ .name = "no-cache",
	  .kind = CLI_FLAG,
	  .help = "read the recording even if the outcome of the last time is kept, and keep none",
	  .offset = offsetof(struct cli_analysis, no_cache) },
	{ 0 },
};

static enum sonde_status build(struct cli *cli, struct sonde_recording *recording,
			       const struct cli_analysis_request *request,
			       const struct cli_selection *selection, struct cct **cct,
			       struct sonde_error *err)
{
	const struct cli_analysis *analysis = request->analysis;
	struct cct_options options = {
		.selection = &selection->spec,
		.metric = analysis->metric,
		.spread = request->spread,
		.no_cache = analysis->no_cache,
		.threads = (unsigned int)analysis->threads,
	};
	struct cli_progress progress;
	enum sonde_status status;

	cli_progress_begin(cli, &progress, "reading", "event");
	options.progress = &progress.progress;
	status = cct_build(recording, &options, cct, err);
	cli_progress_end(&progress);
	return status;
}

/* A metric that is not there may be a formula of the recording itself. */
static enum sonde_status add_formula(struct sonde_recording *recording, const char *metric,
				     const struct cli_selection *selection, struct cct *cct,
				     struct sonde_error *err)
{
	if (!metric || cct_find_metric(cct, metric) != SONDE_NONE)
		return SONDE_OK;
	return cct_add_recording_formulas(cct, recording, metric, !cli_selects(&selection->spec),
					  err);
}

static int analyse_open(struct cli *cli, struct sonde_recording *recording,
			const struct cli_analysis_request *request, struct cct **cct)
{
	struct cli_selection selection = { 0 };
	struct sonde_error err = { 0 };
	int code =
		cli_selection_resolve(cli, recording, request->range, request->filter, &selection);

	if (code == CLI_OK &&
	    (build(cli, recording, request, &selection, cct, &err) != SONDE_OK ||
	     add_formula(recording, request->analysis->metric, &selection, *cct, &err))) {
		cct_free(*cct);
		*cct = NULL;
		if (err.status != SONDE_CANCELLED && !err.file[0])
			sonde_error_set_file(&err, sonde_recording_path(recording));
		code = cli_fail(cli, &err);
	}
	cli_selection_release(&selection);
	return code;
}

/* Opens it and makes its tree, without what is derived. */
static int analyse_path(struct cli *cli, const char *path,
			const struct cli_analysis_request *request, struct cct **cct,
			struct sonde_recording **recording)
{
	int code;

	if (request->analysis->threads > UINT32_MAX)
		return cli_usage(cli, "-j takes at most %" PRIu32 " threads", UINT32_MAX);
	code = cli_open(cli, path, request->input, recording);
	if (code != CLI_OK)
		return code;
	cli_warn_of_faults(cli, *recording);
	if (request->opened)
		request->opened(request->user, *recording);
	code = analyse_open(cli, *recording, request, cct);
	if (code != CLI_OK) {
		sonde_recording_close(*recording);
		*recording = NULL;
	}
	return code;
}

static int derive(struct cli *cli, struct cct *cct, const struct cli_analysis *analysis)
{
	struct sonde_error err = { 0 };

	for (size_t i = 0; i < analysis->derive.count; i++) {
		const char *formula = analysis->derive.items[i];

		if (cct_derive(cct, formula, &err) == SONDE_OK)
			continue;
		if (*formula == '@' &&
		    (err.status == SONDE_FORMAT || err.status == SONDE_CORRUPT)) {
			cli_error(cli, "--derive: %s: %s", formula + 1, err.message);
			return CLI_FAILED;
		}
		if (err.status != SONDE_ARGUMENT)
			return cli_fail(cli, &err);
		cli_error(cli, "--derive: %s", err.message);
		if (err.offset != SONDE_NO_OFFSET)
			cli_show_place(cli, formula, (size_t)err.offset);
		return CLI_USAGE;
	}
	return CLI_OK;
}

int cli_analyse(struct cli *cli, const char *path, const struct cli_analysis_request *request,
		struct cct **cct, struct sonde_recording **recording)
{
	struct sonde_recording *opened = NULL;
	int code;

	*cct = NULL;
	if (recording)
		*recording = NULL;
	code = analyse_path(cli, path, request, cct, &opened);
	if (code != CLI_OK)
		return code;
	code = derive(cli, *cct, request->analysis);
	if (code != CLI_OK) {
		cct_free(*cct);
		*cct = NULL;
	}
	if (recording && code == CLI_OK)
		*recording = opened;
	else
		sonde_recording_close(opened);
	return code;
}

static int merge(struct cli *cli, struct cct **parts, size_t count,
		 const struct cli_analysis_request *request, struct cct **cct)
{
	struct sonde_error err = { 0 };
	int code;

	if (cct_merge((const struct cct *const *)parts, count, cct, NULL, &err))
		return cli_fail(cli, &err);
	code = derive(cli, *cct, request->analysis);
	if (code != CLI_OK) {
		cct_free(*cct);
		*cct = NULL;
	}
	return code;
}

int cli_analyse_all(struct cli *cli, char *const *paths, size_t count,
		    const struct cli_analysis_request *request, struct cct **cct)
{
	struct sonde_recording *recording = NULL;
	struct cct **parts;
	int code = CLI_OK;
	size_t i;

	*cct = NULL;
	if (count == 1)
		return cli_analyse(cli, paths[0], request, cct, NULL);
	parts = calloc(count + 1, sizeof(struct cct *));
	if (!parts)
		return cli_fail_nomem(cli);
	for (i = 0; i < count && code == CLI_OK; i++) {
		code = analyse_path(cli, paths[i], request, &parts[i], &recording);
		sonde_recording_close(recording);
		recording = NULL;
	}
	if (code == CLI_OK)
		code = merge(cli, parts, count, request, cct);
	for (i = 0; i < count; i++)
		cct_free(parts[i]);
	free(parts);
	return code;
}

static int no_such_metric(struct cli *cli, const struct cct *cct, const char *name)
{
	struct cli_suggestion suggestion = cli_suggestion_for(name);
	struct sonde_buffer names = { 0 };
	uint32_t i;

	for (i = 0; i < cct->metric_count; i++) {
		cli_suggestion_consider(&suggestion, cct->metrics[i].name);
		if (names.size < 200)
			sonde_buffer_put_format(&names, "%s%s", i ? ", " : "",
						cct->metrics[i].name);
	}
	if (suggestion.best)
		cli_error(cli, "no metric '%s'. Did you mean '%s'?", name, suggestion.best);
	else
		cli_error(cli, "no metric '%s'", name);
	if (names.size && sonde_buffer_text(&names))
		cli_hint(cli, "there is: %s%s", names.data, names.size < 200 ? "" : ", ...");
	sonde_buffer_release(&names);
	return CLI_USAGE;
}

/* The first that anything was measured of, times before others. */
static uint32_t first_measured(const struct cct *cct)
{
	uint32_t first = SONDE_NONE;

	for (uint32_t i = 0; i < cct->metric_count && cct->context_count; i++) {
		const struct cct_metric *metric = &cct->metrics[i];

		if (metric->hidden || metric->formula || !(metric->total[0] > 0))
			continue;
		if (!i || metric->ns > 0)
			return i;
		if (first == SONDE_NONE)
			first = i;
	}
	return first == SONDE_NONE ? 0 : first;
}

int cli_find_metric(struct cli *cli, const struct cct *cct, const char *name, uint32_t *metric)
{
	*metric = 0;
	if (!cct->metric_count)
		return CLI_OK;
	if (!name) {
		*metric = first_measured(cct);
		return CLI_OK;
	}
	*metric = cct_find_metric(cct, name);
	return *metric == SONDE_NONE ? no_such_metric(cli, cct, name) : CLI_OK;
}

void cli_put_metric_value(struct sonde_buffer *out, const struct cct_metric *metric, double value)
{
	double ns = value * metric->ns;

	if (!isfinite(value)) {
		sonde_buffer_put_text(out, isnan(value) ? "?" : value < 0 ? "-inf" : "inf");
		return;
	}
	if (value < 0) {
		sonde_buffer_put_char(out, '-');
		value = -value;
		ns = -ns;
	}
	if (metric->ns > 0 && ns < (double)UINT64_MAX / 2)
		cli_put_duration(out, (uint64_t)(ns + 0.5), " ");
	else if (value < LARGEST_WHOLE && value == floor(value))
		cli_put_count(out, (uint64_t)value);
	else
		sonde_buffer_put_format(out, "%.4g", value);
}
