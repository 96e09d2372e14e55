/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pprof profile tells of threads, functions and modules only where samples are of them. What is known of the others
 * is lost, and counted here under the names that all formats use for it.
 */
#include <stdlib.h>

#include "formats/pprof/pprof_write.h"

#define NOTHING_MEASURED "nothing was measured there, and a pprof profile holds samples only"

struct unused {
	uint64_t processes, names, ids, modules, places, files, raw_names;
};

static void count_functions(struct unused *unused, const struct pprof_writing *writing,
			    const bool *labels, bool *is_used)
{
	const struct profile_sink *sink = writing->sink;
	uint32_t count = sonde_definitions_function_count(sink->definitions);

	for (uint32_t i = 1; i < sink->context_count; i++) {
		const struct sonde_context *context = &sink->contexts[i];

		if (context->kind == SONDE_CONTEXT_FUNCTION && context->function < count &&
		    labels[writing->places.labels.of[i]])
			is_used[context->function] = true;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_function *function =
			sonde_definitions_function(sink->definitions, i);

		if (is_used[i])
			continue;
		unused->modules += function->module != SONDE_NONE;
		unused->files += function->file || function->line;
		unused->raw_names += function->raw_name != 0;
	}
}

static void count_tracks(struct unused *unused, const struct pprof_writing *writing, bool *is_used)
{
	const struct profile_sink *sink = writing->sink;
	uint32_t count = sonde_definitions_process_count(sink->definitions);

	for (uint32_t i = 0; i < sink->track_count; i++) {
		const struct sonde_track *track = sonde_definitions_track(sink->definitions, i);
		size_t points;

		profile_sink_points(sink, i, &points);
		if (points && !writing->is_summed) {
			if (track->process < count)
				is_used[track->process] = true;
			continue;
		}
		unused->names += track->name && !track->name_made_up;
		unused->ids += track->os_id != UINT64_MAX;
	}
	for (uint32_t i = 0; i < count; i++)
		unused->processes += !is_used[i] &&
				     sonde_definitions_process(sink->definitions, i)->os_id !=
					     SONDE_NONE;
}

static void count_modules(struct unused *unused, const struct sonde_definitions *definitions,
			  const uint8_t *modules)
{
	for (uint32_t i = 0; i < sonde_definitions_module_count(definitions); i++) {
		const struct sonde_module *module = sonde_definitions_module(definitions, i);

		unused->places += !modules[i] &&
				  (module->uuid || module->base_address || module->size);
	}
}

static enum sonde_status report(const struct pprof_writing *writing, const struct unused *unused,
				struct sonde_error *err)
{
	const char *why = writing->is_summed ?
				  "samples are summed up over all of them, as asked for" :
				  NOTHING_MEASURED;
	const struct {
		const char *what, *reason;
		uint64_t count;
	} lost[] = {
		{ "ids of processes", why, unused->processes },
		{ "names of tracks", why, unused->names },
		{ "ids of threads", why, unused->ids },
		{ "modules of functions", NOTHING_MEASURED, unused->modules },
		{ "build ids and places of modules", NOTHING_MEASURED, unused->places },
		{ "source places of functions", NOTHING_MEASURED, unused->files },
		{ "names before demangling", NOTHING_MEASURED, unused->raw_names },
	};
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]) && !status; i++)
		status = sonde_loss_add(writing->sink->loss, lost[i].what, lost[i].reason,
					lost[i].count, err);
	return status;
}

enum sonde_status pprof_count_unused(const struct pprof_writing *writing, const bool *labels,
				     const uint8_t *modules, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = writing->sink->definitions;
	bool *functions = calloc((size_t)sonde_definitions_function_count(definitions) + 1,
				 sizeof(*functions));
	bool *processes = calloc((size_t)sonde_definitions_process_count(definitions) + 1,
				 sizeof(*processes));
	struct unused unused = { 0 };
	enum sonde_status status = SONDE_NOMEM;

	if (functions && processes) {
		count_functions(&unused, writing, labels, functions);
		count_tracks(&unused, writing, processes);
		count_modules(&unused, definitions, modules);
		status = report(writing, &unused, err);
	} else {
		sonde_fail_nomem(err);
	}
	free(functions);
	free(processes);
	return status;
}
