/* SPDX-License-Identifier: Apache-2.0 */
/* What was read, for the lines above the table: recordings, tracks, calls, and what is missing of them. */
#include <stdlib.h>

#include <sonde/format.h>

#include "cli/report.h"

static bool is_unfinished(const struct sonde_recording *recording)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	const struct sonde_track *track;

	for (uint32_t i = 0; (track = sonde_definitions_track(definitions, i)); i++)
		if (track->unfinished)
			return true;
	return false;
}

/* Paths are not kept: they are those of the operands, in the same order. */
void report_add_source(void *user, const struct sonde_recording *recording)
{
	struct report_sources *sources = user;
	struct report_source *source = sonde_vec_push(&sources->list);

	if (!source) {
		sources->failed = true;
		return;
	}
	*source = (struct report_source){
		.format = sonde_format_info(sonde_recording_format(recording))->name,
		.faults = sonde_diagnostics_count(sonde_recording_diagnostics(recording),
						  SONDE_WARNING),
		.unfinished = is_unfinished(recording),
	};
}

/* False where memory failed, which is told. */
bool report_name_sources(struct cli *cli, struct report_sources *sources)
{
	if (sources->failed) {
		cli_fail_nomem(cli);
		return false;
	}
	for (size_t i = 0; i < sources->list.count; i++)
		sources->list.items[i].path = cli_input_name(cli, cli->operands[i]);
	return true;
}

/* What is known without reading events. */
void report_add_recording(struct report_summary *summary, const struct sonde_recording *recording)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	const struct sonde_track *track;
	uint64_t first_ns, last_ns;

	summary->processes += sonde_definitions_process_count(definitions);
	for (uint32_t i = 0; (track = sonde_definitions_track(definitions, i)); i++) {
		summary->tracks++;
		summary->events += track->event_count;
		summary->samples += track->sample_count;
		summary->dropped += track->dropped_events;
		summary->only_threads &= track->kind == SONDE_TRACK_THREAD;
	}
	if (!sonde_recording_time_range(recording, &first_ns, &last_ns))
		return;
	if (!summary->last_ns || first_ns < summary->first_ns)
		summary->first_ns = first_ns;
	if (last_ns > summary->last_ns)
		summary->last_ns = last_ns;
}

static bool is_active(const struct cct *cct, uint32_t number)
{
	const struct cct_track *track = &cct->tracks[number];

	for (uint32_t i = 0; i < cct->metric_count; i++)
		if (track->totals[i] != 0)
			return true;
	return track->event_count || track->sample_count;
}

static bool *seen_processes(const struct cct *cct)
{
	return calloc((size_t)sonde_definitions_process_count(cct->definitions) + 1, sizeof(bool));
}

/* Tracks and processes that have anything in this report. */
static bool count_places(struct report_summary *summary, const struct cct *cct)
{
	bool *seen = seen_processes(cct);
	const struct sonde_track *track;

	if (!seen)
		return false;
	summary->only_threads = true;
	for (uint32_t i = 0; (track = sonde_definitions_track(cct->definitions, i)); i++) {
		summary->dropped += cct->tracks[i].dropped_events;
		if (!is_active(cct, i))
			continue;
		summary->tracks++;
		summary->events += cct->tracks[i].event_count;
		summary->samples += cct->tracks[i].sample_count;
		summary->busy_ns += cct->tracks[i].busy_ns;
		summary->only_threads &= track->kind == SONDE_TRACK_THREAD;
		if (track->process < sonde_definitions_process_count(cct->definitions))
			seen[track->process] = true;
	}
	for (uint32_t i = 0; i < sonde_definitions_process_count(cct->definitions); i++)
		summary->processes += seen[i];
	free(seen);
	return true;
}

bool report_summarise(struct report_build *build, const struct report_sources *sources)
{
	struct report_summary *summary = build->summary;
	const struct cct *cct = build->cct;

	*summary = (struct report_summary){
		.sources = sources->list.items,
		.source_count = sources->list.count,
		.metric = cct->metric_count ? report_metric(build)->name : "",
		.functions = sonde_definitions_function_count(cct->definitions),
		.contexts = cct->context_count,
		.first_ns = cct->first_ns,
		.last_ns = cct->last_ns,
	};
	if (cct->metric_count && cct->context_count)
		summary->whole =
			report_value_cell(report_metric(build), report_metric(build)->total[0]);
	for (uint32_t i = 0; cct->calls && i < cct->context_count; i++) {
		summary->calls += cct->calls[i].count;
		summary->exceptions += cct->calls[i].exceptions;
	}
	return count_places(summary, cct);
}
