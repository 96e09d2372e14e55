/* SPDX-License-Identifier: Apache-2.0 */
/* By thread and by process: how much each did, when, and what was lost there. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/report.h"

/* What one line of the table adds up: a track, or the tracks of a process. */
struct place_sums {
	uint32_t tracks;
	uint64_t events, samples, dropped;
	uint64_t busy_ns, alive_ns;
	uint64_t first_ns, last_ns;
	double *totals; /* by metric */
};

static bool is_empty(const struct place_sums *sums, uint32_t metric_count)
{
	for (uint32_t i = 0; i < metric_count; i++)
		if (sums->totals[i] != 0)
			return false;
	return !sums->events && !sums->samples && !sums->dropped;
}

static void add_track(struct place_sums *sums, const struct cct_track *track, uint32_t metric_count)
{
	sums->tracks++;
	sums->events += track->event_count;
	sums->samples += track->sample_count;
	sums->dropped += track->dropped_events;
	sums->busy_ns += track->busy_ns;
	if (track->event_count || track->sample_count) {
		bool is_first = !sums->first_ns && !sums->last_ns;

		sums->alive_ns += track->last_ns - track->first_ns;
		if (is_first || track->first_ns < sums->first_ns)
			sums->first_ns = track->first_ns;
		if (is_first || track->last_ns > sums->last_ns)
			sums->last_ns = track->last_ns;
	}
	for (uint32_t i = 0; i < metric_count; i++)
		sums->totals[i] += track->totals[i];
}

static void add_columns(struct report_build *build, const char *id, bool processes)
{
	enum report_rank programs = REPORT_FOR_PROGRAMS;
	/* the time of calls is how long a track was busy: once on a screen is enough */
	bool is_busy = build->cct->calls && !build->metric;
	const struct report_column columns[] = {
		{ id, "ID", REPORT_ID, REPORT_ALWAYS, false, true },
		{ "threads", "THREADS", REPORT_COUNT, processes ? REPORT_USUAL : programs, false,
		  false },
		{ "total_share", "SHARE", REPORT_SHARE, REPORT_ALWAYS, true, false },
		report_total_column(build, is_busy ? programs : REPORT_ALWAYS),
		{ "busy_ns", "BUSY", REPORT_TIME, REPORT_USUAL, false, false },
		{ "idle_ns", "IDLE", REPORT_TIME, REPORT_USUAL, false, false },
		{ "events", "EVENTS", REPORT_COUNT, REPORT_USUAL, false, false },
		{ "samples", "SAMPLES", REPORT_COUNT, REPORT_USUAL, false, false },
		{ "dropped", "DROPPED", REPORT_COUNT, REPORT_USUAL, false, false },
		{ "first_ns", "FIRST", REPORT_TIME, programs, false, true },
		{ "last_ns", "LAST", REPORT_TIME, programs, false, true },
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		report_add_column(build->view, columns[i]);
	report_add_extra_columns(build);
	if (!processes) {
		bool one = sonde_definitions_process_count(build->cct->definitions) < 2;

		report_add_column(build->view, (struct report_column){ "os_id", "OS ID", REPORT_ID,
								       REPORT_USUAL, false, true });
		report_add_column(build->view,
				  (struct report_column){ "process", "PROCESS", REPORT_TEXT,
							  one ? programs : REPORT_USUAL, false,
							  true });
	}
	report_add_column(build->view,
			  (struct report_column){ "name", processes ? "PROCESS" : "TRACK",
						  REPORT_TEXT, REPORT_ALWAYS, false, true });
}

static void put_time_or_nothing(struct report_view *view, uint64_t ns, bool is_there)
{
	if (is_there)
		report_put_time(view, ns);
	else
		report_put_nothing(view);
}

/* A mere profile does not know when a track was busy. */
static void put_sums(struct report_build *build, uint32_t id, const struct place_sums *sums)
{
	struct report_view *view = build->view;
	const double *totals = sums->totals;
	bool has_times = sums->events || sums->samples;
	uint64_t idle_ns = sums->alive_ns > sums->busy_ns ? sums->alive_ns - sums->busy_ns : 0;

	report_begin_row(view, 0, SONDE_NONE, report_weight(build, totals[build->metric]));
	report_put_id(view, id);
	report_put_count(view, sums->tracks);
	report_put_share(view, totals[build->metric], build->whole);
	report_put_value(view, report_metric(build), totals[build->metric]);
	put_time_or_nothing(view, sums->busy_ns, has_times);
	put_time_or_nothing(view, idle_ns, has_times);
	report_put_count(view, sums->events);
	report_put_count(view, sums->samples);
	report_put_count(view, sums->dropped);
	put_time_or_nothing(view, sums->first_ns, has_times);
	put_time_or_nothing(view, sums->last_ns, has_times);
	for (uint32_t i = 0; i < build->cct->metric_count; i++)
		if (report_is_extra(build, i))
			report_put_extra(view, &build->cct->metrics[i], totals[i], totals[i]);
}

static const char *process_label(const struct sonde_definitions *definitions, uint32_t id,
				 char *space, size_t size)
{
	const struct sonde_process *process = sonde_definitions_process(definitions, id);
	const char *name = process ? sonde_definitions_string(definitions, process->name) : "";

	if (process && process->os_id != SONDE_NONE)
		snprintf(space, size, "%s #%u", *name ? name : "process", process->os_id);
	else if (*name)
		snprintf(space, size, "%s", name);
	else
		snprintf(space, size, "process %u", id);
	return space;
}

static bool is_enough(struct report_build *build, const struct place_sums *sums)
{
	if (is_empty(sums, build->cct->metric_count))
		return false;
	if (report_weight(build, sums->totals[build->metric]) >= build->least)
		return true;
	build->view->left_out++;
	return false;
}

static void put_track(struct report_build *build, uint32_t id, const struct sonde_track *track,
		      double *totals)
{
	const struct cct *cct = build->cct;
	struct place_sums sums = { .totals = totals };
	char space[REPORT_LABEL_SIZE], label[SONDE_LABEL_SIZE];

	for (uint32_t i = 0; i < cct->metric_count; i++)
		totals[i] = 0;
	add_track(&sums, &cct->tracks[id], cct->metric_count);
	if (!is_enough(build, &sums))
		return;
	put_sums(build, id, &sums);
	if (track->os_id != UINT64_MAX)
		report_put_id(build->view, track->os_id);
	else
		report_put_nothing(build->view);
	report_put_text(build->view,
			process_label(cct->definitions, track->process, space, sizeof(space)));
	report_put_text(build->view, sonde_definitions_track_label(cct->definitions, id, label));
}

bool report_make_tracks(struct report_build *build)
{
	const struct cct *cct = build->cct;
	double *totals = calloc((size_t)cct->metric_count + 1, sizeof(*totals));
	const struct sonde_track *track;
	uint32_t i;

	if (!totals) {
		sonde_fail_nomem(&build->err);
		return false;
	}
	build->view->name = "tracks";
	build->view->noun = "track";
	add_columns(build, "track", false);
	for (i = 0; (track = sonde_definitions_track(cct->definitions, i)); i++)
		put_track(build, i, track, totals);
	free(totals);
	if (build->options->group_by == GROUP_TRACK)
		report_sort(build->view, report_find_column(build->view, "TOTAL"));
	return true;
}

static void release_sums(struct place_sums *sums, uint32_t count)
{
	for (uint32_t i = 0; sums && i < count; i++)
		free(sums[i].totals);
	free(sums);
}

/* Sums by process; NULL where memory failed. */
static struct place_sums *sum_processes(const struct cct *cct, uint32_t count)
{
	struct place_sums *sums = calloc((size_t)count + 1, sizeof(*sums));
	const struct sonde_track *track;
	uint32_t i;

	for (i = 0; sums && i < count; i++) {
		sums[i].totals = calloc((size_t)cct->metric_count + 1, sizeof(double));
		if (!sums[i].totals) {
			release_sums(sums, count);
			return NULL;
		}
	}
	for (i = 0; sums && (track = sonde_definitions_track(cct->definitions, i)); i++)
		if (track->process < count)
			add_track(&sums[track->process], &cct->tracks[i], cct->metric_count);
	return sums;
}

bool report_make_processes(struct report_build *build)
{
	const struct cct *cct = build->cct;
	uint32_t count = sonde_definitions_process_count(cct->definitions), i;
	struct place_sums *sums = sum_processes(cct, count);
	char space[REPORT_LABEL_SIZE];

	if (!sums) {
		sonde_fail_nomem(&build->err);
		return false;
	}
	build->view->name = "processes";
	build->view->noun = "process";
	add_columns(build, "process", true);
	for (i = 0; i < count; i++) {
		if (!is_enough(build, &sums[i]))
			continue;
		put_sums(build, i, &sums[i]);
		report_put_text(build->view,
				process_label(cct->definitions, i, space, sizeof(space)));
	}
	release_sums(sums, count);
	report_sort(build->view, report_find_column(build->view, "TOTAL"));
	return true;
}
