/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of contexts as a thing: who builds it, what follows from its numbers, and questions about it.
 * How it is made is in cct_calls.c and cct_profile.c.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyse/cct_private.h"
#include "analyse/derive.h"
#include "model/filters.h"
#include "model/formula.h"
#include "model/recording.h"
#include "model/selection.h"

struct cct_body *cct_body_new(void)
{
	struct cct_body *body = calloc(1, sizeof(*body));

	if (!body)
		return NULL;
	body->definitions = sonde_definitions_new();
	if (!body->definitions) {
		free(body);
		return NULL;
	}
	body->cct.definitions = body->definitions;
	return body;
}

static void free_tracks(struct cct_body *body)
{
	uint32_t count = sonde_definitions_track_count(body->definitions);

	for (uint32_t i = 0; body->tracks && i < count; i++)
		free(body->tracks[i].totals);
	free(body->tracks);
}

static void free_durations(struct cct_body *body)
{
	uint32_t count = sonde_definitions_function_count(body->definitions);

	for (uint32_t i = 0; body->durations && i < count; i++)
		sonde_sketch_release(&body->durations[i]);
	free(body->durations);
}

void cct_free(struct cct *cct)
{
	struct cct_body *body = (struct cct_body *)cct;

	if (!cct)
		return;
	for (uint32_t i = 0; i < cct->metric_count; i++) {
		free(cct->metrics[i].self);
		free(cct->metrics[i].total);
		cct_formula_free(cct->metrics[i].formula);
	}
	free(cct->metrics);
	free_tracks(body);
	free_durations(body);
	free(body->contexts);
	free(body->recursive);
	free(body->calls);
	free(body->function_calls);
	free(body->context_spread);
	free(body->function_spread);
	free(body->context_process_spread);
	free(body->function_process_spread);
	sonde_definitions_free(body->definitions);
	free(body);
}

enum sonde_status cct_body_add_tracks(struct cct_body *body, struct sonde_error *err)
{
	uint32_t count = sonde_definitions_track_count(body->definitions);

	body->tracks = calloc((size_t)count + 1, sizeof(*body->tracks));
	if (!body->tracks)
		return sonde_fail_nomem(err);
	body->cct.tracks = body->tracks;
	return SONDE_OK;
}

/* The number of calls of each function that are open on the way down the tree. */
enum sonde_status cct_body_add_recursion(struct cct_body *body, struct sonde_error *err)
{
	uint32_t functions = sonde_definitions_function_count(body->definitions);
	uint32_t *open = calloc((size_t)functions + 1, sizeof(*open));
	uint32_t above = SONDE_NONE;

	body->recursive = calloc((size_t)body->context_count + 1, sizeof(*body->recursive));
	if (!open || !body->recursive) {
		free(open);
		return sonde_fail_nomem(err);
	}
	for (uint32_t i = 0; i < body->context_count; i++) {
		uint32_t function = body->contexts[i].function;

		/* what is left of the path to the context before */
		for (; above != body->contexts[i].parent; above = body->contexts[above].parent) {
			if (body->contexts[above].function < functions)
				open[body->contexts[above].function]--;
		}
		above = i;
		if (function >= functions)
			continue;
		body->recursive[i] = open[function];
		open[function]++;
	}
	free(open);
	return SONDE_OK;
}

static enum sonde_status keep_text(struct cct_body *body, const char *text, const char **kept,
				   struct sonde_error *err)
{
	uint32_t id;
	enum sonde_status status =
		sonde_definitions_add_string(body->definitions, text, strlen(text), &id, err);

	*kept = status ? "" : sonde_definitions_string(body->definitions, id);
	return status;
}

enum sonde_status cct_add_metric(struct cct *cct, const char *name, const char *description,
				 struct cct_metric **added, struct sonde_error *err)
{
	struct cct_body *body = (struct cct_body *)cct;
	uint32_t tracks = sonde_definitions_track_count(body->definitions);
	struct cct_metric metric = { 0 };
	struct cct_metric *metrics;
	enum sonde_status status = keep_text(body, name, &metric.name, err);

	if (!status)
		status = keep_text(body, description, &metric.description, err);
	if (status)
		return status;
	for (uint32_t i = 0; i < tracks; i++) {
		double *totals = realloc(body->tracks[i].totals,
					 ((size_t)cct->metric_count + 1) * sizeof(*totals));

		if (!totals)
			return sonde_fail_nomem(err);
		totals[cct->metric_count] = 0;
		body->tracks[i].totals = totals;
	}
	metrics = realloc(cct->metrics, ((size_t)cct->metric_count + 1) * sizeof(*metrics));
	if (!metrics)
		return sonde_fail_nomem(err);
	cct->metrics = metrics;
	metric.self = calloc((size_t)body->context_count + 1, sizeof(*metric.self));
	metric.total = calloc((size_t)body->context_count + 1, sizeof(*metric.total));
	metrics[cct->metric_count++] = metric;
	*added = &metrics[cct->metric_count - 1];
	return metric.self && metric.total ? SONDE_OK : sonde_fail_nomem(err);
}

void cct_sum_up(const struct cct *cct, struct cct_metric *metric)
{
	const struct cct_body *body = (const struct cct_body *)cct;

	for (uint32_t i = 0; i < body->context_count; i++)
		metric->total[i] = metric->self[i];
	for (uint32_t i = body->context_count; i-- > 1;)
		metric->total[body->contexts[i].parent] += metric->total[i];
}

void cct_calls_add(struct cct_calls *calls, const struct cct_calls *more)
{
	if (!more->count)
		return;
	if (!calls->count || more->min_ns < calls->min_ns)
		calls->min_ns = more->min_ns;
	if (more->max_ns > calls->max_ns)
		calls->max_ns = more->max_ns;
	calls->count += more->count;
	calls->exceptions += more->exceptions;
	calls->unfinished += more->unfinished;
	calls->sum_ns += more->sum_ns;
	calls->squares += more->squares;
}

void cct_spread_add(struct cct_spread *spread, uint32_t place, double value)
{
	if (!spread->count || value < spread->min)
		spread->min = value;
	if (!spread->count || value > spread->max ||
	    (value >= spread->max && place < spread->max_place)) {
		spread->max = value;
		spread->max_place = place;
	}
	spread->count++;
	spread->sum += value;
	spread->squares += value * value;
}

static enum sonde_status sum_functions(struct cct_body *body, struct sonde_error *err)
{
	uint32_t functions = sonde_definitions_function_count(body->definitions);

	if (!body->calls)
		return SONDE_OK;
	body->function_calls = calloc((size_t)functions + 1, sizeof(*body->function_calls));
	if (!body->function_calls)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < body->context_count; i++) {
		uint32_t function = body->contexts[i].function;

		if (function < functions)
			cct_calls_add(&body->function_calls[function], &body->calls[i]);
	}
	return SONDE_OK;
}

static void find_times(struct cct_body *body)
{
	uint32_t tracks = sonde_definitions_track_count(body->definitions);
	struct cct *cct = &body->cct;
	bool is_set = false;

	for (uint32_t i = 0; i < tracks; i++) {
		const struct cct_track *track = &body->tracks[i];

		if (!track->event_count && !track->sample_count)
			continue;
		if (!is_set || track->first_ns < cct->first_ns)
			cct->first_ns = track->first_ns;
		if (!is_set || track->last_ns > cct->last_ns)
			cct->last_ns = track->last_ns;
		is_set = true;
	}
}

enum sonde_status cct_body_finish(struct cct_body *body, struct sonde_error *err)
{
	struct cct *cct = &body->cct;
	enum sonde_status status = sum_functions(body, err);

	find_times(body);
	cct->contexts = body->contexts;
	cct->context_count = body->context_count;
	cct->recursive = body->recursive;
	cct->calls = body->calls;
	cct->function_calls = body->function_calls;
	cct->tracks = body->tracks;
	cct->context_spread = body->context_spread;
	cct->function_spread = body->function_spread;
	cct->context_process_spread = body->context_process_spread;
	cct->function_process_spread = body->function_process_spread;
	return status;
}

enum sonde_status cct_wanted_tracks(const struct sonde_definitions *definitions,
				    const struct sonde_selection_spec *spec, bool **wanted,
				    struct sonde_error *err)
{
	uint32_t count = sonde_definitions_track_count(definitions);

	*wanted = calloc((size_t)count + 1, sizeof(**wanted));
	if (!*wanted)
		return sonde_fail_nomem(err);
	if (!spec->track_count)
		memset(*wanted, true, count);
	for (size_t i = 0; i < spec->track_count; i++) {
		if (spec->tracks[i] < count) {
			(*wanted)[spec->tracks[i]] = true;
			continue;
		}
		free(*wanted);
		*wanted = NULL;
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "there is no track %u to select: there are %u, numbered from 0",
				  spec->tracks[i], count);
	}
	return SONDE_OK;
}

/* Made of calls; else of values or samples. */
static bool is_of_calls(const struct sonde_recording *recording)
{
	if (!(recording->lanes & (SONDE_LANE_VALUES | SONDE_LANE_SAMPLES)))
		return true;
	return recording->lanes & SONDE_LANE_EVENTS && sonde_recording_event_count(recording);
}

static enum sonde_status check_selection(const struct sonde_recording *recording,
					 const struct sonde_selection_spec *spec,
					 struct sonde_error *err)
{
	const unsigned int calls = 1u << SONDE_EVENT_CALL | 1u << SONDE_EVENT_RETURN |
				   1u << SONDE_EVENT_EXCEPTION;
	bool has_events = is_of_calls(recording);
	enum sonde_status status = sonde_selection_check(spec, err);

	if (status)
		return status;
	if (has_events && spec->kinds && (spec->kinds & calls) != calls)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "time is what lies between calls and what leaves them: leave the "
				  "kinds of events away, or name call, return and exception");
	if (has_events)
		return SONDE_OK;
	if (sonde_select_is_needed(spec))
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "functions, kinds and depths select calls, but %s has samples or "
				  "sums; select by track or time",
				  recording->path);
	if (sonde_cut_is_needed(spec) && !(recording->lanes & SONDE_LANE_SAMPLES))
		return sonde_fail(
			err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			"%s has sums over the whole time and no samples: a time cannot be "
			"selected",
			recording->path);
	return SONDE_OK;
}

static enum sonde_status build(struct sonde_recording *recording, const struct cct_options *options,
			       struct cct_body **built, struct sonde_error *err)
{
	struct cct_body *body = cct_body_new();
	enum sonde_status status;

	*built = NULL;
	if (!body)
		return sonde_fail_nomem(err);
	if (is_of_calls(recording))
		status = cct_build_calls(body, recording, options, err);
	else
		status = cct_build_profile(body, recording, options, err);
	if (!status)
		status = cct_body_finish(body, err);
	if (status)
		cct_free(&body->cct);
	else
		*built = body;
	return status;
}

enum sonde_status cct_build(struct sonde_recording *recording, const struct cct_options *options,
			    struct cct **cct, struct sonde_error *err)
{
	static const struct sonde_selection_spec everything;
	struct cct_options used = options ? *options : (struct cct_options){ 0 };
	bool of_calls = is_of_calls(recording);
	struct cct_body *body = NULL;
	enum sonde_status status;

	*cct = NULL;
	if (!used.selection)
		used.selection = &everything;
	status = check_selection(recording, used.selection, err);
	if (status)
		return status;
	if (!used.no_cache)
		body = cct_cache_load(recording, &used, of_calls);
	if (!body) {
		status = build(recording, &used, &body, err);
		if (!status && !used.no_cache)
			cct_cache_store(recording, &used, of_calls, body);
	}
	if (!status)
		*cct = &body->cct;
	return status;
}

uint32_t cct_find_metric(const struct cct *cct, const char *name)
{
	uint32_t found = SONDE_NONE;
	unsigned int best = 0;

	for (uint32_t i = 0; i < cct->metric_count; i++) {
		unsigned int closeness =
			sonde_metric_name_closeness(cct->metrics[i].name, name, strlen(name));

		if (closeness <= best)
			continue;
		best = closeness;
		found = i;
	}
	return found;
}

uint64_t cct_duration_quantile(const struct cct *cct, uint32_t function, double share)
{
	const struct cct_body *body = (const struct cct_body *)cct;

	if (!body->durations || function >= sonde_definitions_function_count(body->definitions))
		return 0;
	return sonde_sketch_quantile(&body->durations[function], share);
}

uint32_t cct_function_context(const struct cct *cct, uint32_t context)
{
	while (context && cct->contexts[context].kind != SONDE_CONTEXT_FUNCTION &&
	       cct->contexts[context].kind != SONDE_CONTEXT_ENTRY)
		context = cct->contexts[context].parent;
	return context;
}
