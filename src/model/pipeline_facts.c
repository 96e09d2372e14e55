/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What definitions say of those who took part, and the target has no place for: counted here for every
 * format alike, by what the format says it holds. Names that a reader made up are nobody's loss.
 */
#include <stdlib.h>

#include <sonde/format.h>

#include "model/pipeline_private.h"

/* How many of each fact there are, in the order of the list. */
#define FACT_COUNT (__builtin_popcount(SONDE_FACTS_ALL))

struct facts {
	uint64_t counts[FACT_COUNT];
};

static void add(struct facts *facts, enum sonde_fact fact, uint64_t count)
{
	facts->counts[__builtin_ctz(fact)] += count;
}

static void count_processes(struct facts *facts, const struct sonde_definitions *definitions,
			    const bool *has_anchor)
{
	for (uint32_t i = 0; i < sonde_definitions_process_count(definitions); i++) {
		const struct sonde_process *process = sonde_definitions_process(definitions, i);
		const struct sonde_clock *clock =
			sonde_definitions_clock(definitions, process->clock);

		add(facts, SONDE_FACT_PROCESS_IDS, process->os_id != SONDE_NONE);
		add(facts, SONDE_FACT_MACHINES, process->arch != SONDE_ARCH_UNKNOWN);
		add(facts, SONDE_FACT_CLOCKS,
		    clock && clock->kind != SONDE_CLOCK_UNKNOWN &&
			    clock->kind != SONDE_CLOCK_REALTIME && has_anchor[process->clock]);
	}
}

/* By clock: without an anchor a writer has no wall clock to go by, and says so itself. */
static bool *find_anchors(const struct sonde_definitions *definitions)
{
	uint32_t clocks = sonde_definitions_clock_count(definitions);
	bool *has_anchor = calloc((size_t)clocks + 1, sizeof(*has_anchor));

	for (uint32_t i = 0; has_anchor && i < sonde_definitions_anchor_count(definitions); i++) {
		uint32_t clock = sonde_definitions_anchor(definitions, i)->clock;

		if (clock < clocks)
			has_anchor[clock] = true;
	}
	return has_anchor;
}

static void count_tracks(struct facts *facts, const struct sonde_definitions *definitions)
{
	for (uint32_t i = 0; i < sonde_definitions_track_count(definitions); i++) {
		const struct sonde_track *track = sonde_definitions_track(definitions, i);

		add(facts, SONDE_FACT_TRACK_NAMES, track->name && !track->name_made_up);
		add(facts, SONDE_FACT_TRACK_IDS, track->os_id != UINT64_MAX);
		add(facts, SONDE_FACT_ZONES, track->kind == SONDE_TRACK_ZONE);
		add(facts, SONDE_FACT_STREAMS, track->kind == SONDE_TRACK_GPU_STREAM);
		add(facts, SONDE_FACT_DROPPED, track->dropped_events);
	}
}

static void count_code(struct facts *facts, const struct sonde_definitions *definitions)
{
	for (uint32_t i = 0; i < sonde_definitions_module_count(definitions); i++) {
		const struct sonde_module *module = sonde_definitions_module(definitions, i);

		add(facts, SONDE_FACT_MODULE_PLACES,
		    module->uuid || module->base_address || module->size);
	}
	for (uint32_t i = 0; i < sonde_definitions_function_count(definitions); i++) {
		const struct sonde_function *function = sonde_definitions_function(definitions, i);

		add(facts, SONDE_FACT_MODULES, function->module != SONDE_NONE);
		add(facts, SONDE_FACT_SOURCE_PLACES, function->file || function->line);
		add(facts, SONDE_FACT_RAW_NAMES, function->raw_name != 0);
	}
}

enum sonde_status sonde_run_count_facts(struct run *run, struct sonde_error *err)
{
	static const struct {
		unsigned int fact;
		const char *name;
	} all[] = {
#define X(name, bit, text) { SONDE_FACT_##name, text },
		SONDE_FACT_LIST(X)
#undef X
	};
	const struct sonde_format_info *format = run->sink->format;
	struct facts facts = { 0 };
	enum sonde_status status = SONDE_OK;
	bool *has_anchor;

	if (!format)
		return SONDE_OK;
	has_anchor = find_anchors(run->definitions);
	if (!has_anchor)
		return sonde_fail_nomem(err);
	count_processes(&facts, run->definitions, has_anchor);
	free(has_anchor);
	count_tracks(&facts, run->definitions);
	count_code(&facts, run->definitions);
	for (size_t i = 0; !status && i < sizeof(all) / sizeof(all[0]); i++) {
		if (!(format->facts & all[i].fact))
			status = sonde_loss_add(run->loss, all[i].name,
						all[i].fact == SONDE_FACT_CLOCKS ?
							"times in the target are those of the "
							"wall clock" :
							"the target does not hold them",
						facts.counts[i], err);
	}
	return status;
}
