/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a database is written: TRACKS tracks with LEAVES leaves each and METRICS metrics, over a
 * made-up tree of CONTEXTS contexts, into the new folder PATH. Prints one line of JSON; times are
 * of the processor, a value is one of profile.db.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/file.h"
#include "formats/hpcdb/hpcdb_write.h"
#include "need.h"

enum { SAMPLES = 1000 };

struct work {
	struct sonde_definitions *definitions;
	struct sonde_context *contexts;
	uint32_t context_count, leaves, metrics, tracks;
};

struct state {
	const struct work *work;
	uint64_t random;
	uint32_t samples_left;
};

static uint32_t next_random(uint64_t *random, uint32_t below)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*random >> 33) % below);
}

/* Functions with a loop, lines and unlisted instructions in them, which call further functions. */
static void make_tree(struct work *work)
{
	static const uint8_t kinds[] = { SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_LOOP,
					 SONDE_CONTEXT_LINE, SONDE_CONTEXT_INSTRUCTION };
	uint64_t random = 1;
	uint32_t depth = 0, path[64];

	work->contexts[0] =
		(struct sonde_context){ .parent = SONDE_NONE, .kind = SONDE_CONTEXT_ROOT };
	work->contexts[1] = (struct sonde_context){ .kind = SONDE_CONTEXT_ENTRY,
						    .relation = SONDE_CONTEXT_CALLED,
						    .entry = SONDE_ENTRY_MAIN_THREAD };
	path[0] = 1;
	for (uint32_t i = 2; i < work->context_count; i++) {
		uint32_t step = next_random(&random, 4);
		uint8_t kind;

		if (depth > 40 || (step == 0 && depth > 3))
			depth -= next_random(&random, depth < 20 ? depth : 20);
		kind = kinds[depth % 4];
		work->contexts[i] = (struct sonde_context){
			.parent = path[depth],
			.kind = kind,
			.relation = kind == SONDE_CONTEXT_FUNCTION ? SONDE_CONTEXT_CALLED :
								     SONDE_CONTEXT_ENCLOSED,
			.function = i % 500,
			.file = 1,
			.line = i % 1000,
			.module = 0,
			.address = i,
			.unlisted = kind == SONDE_CONTEXT_INSTRUCTION,
		};
		path[++depth] = i;
	}
	for (uint32_t i = work->context_count; i-- > 0;) {
		struct sonde_context *context = &work->contexts[i];

		if (context->end <= i)
			context->end = i + 1;
		if (i && work->contexts[context->parent].end < context->end)
			work->contexts[context->parent].end = context->end;
	}
}

static void make_definitions(struct work *work)
{
	struct sonde_error err;
	struct sonde_module module = { 0 };
	struct sonde_function function = { .module = 0 };
	uint32_t id;

	work->definitions = sonde_definitions_new();
	need(sonde_definitions_add_string(work->definitions, "/src/a.c", 8, &id, &err), &err);
	module.path = id;
	need(sonde_definitions_add_module(work->definitions, &module, &id, &err), &err);
	for (uint32_t i = 0; i < 500; i++) {
		char name[32];

		snprintf(name, sizeof(name), "function_%u", i);
		need(sonde_definitions_add_string(work->definitions, name, strlen(name),
						  &function.name, &err),
		     &err);
		need(sonde_definitions_add_function(work->definitions, &function, &id, &err), &err);
	}
}

static enum sonde_status open_track(void *data, uint32_t track, void **state,
				    struct sonde_error *err)
{
	struct state *own = malloc(sizeof(*own));

	if (!own)
		return sonde_fail_nomem(err);
	*own = (struct state){ .work = data, .random = track + 1, .samples_left = SAMPLES };
	*state = own;
	return SONDE_OK;
}

static enum sonde_status track_values(void *state, struct hpcdb_points *points,
				      struct sonde_error *err)
{
	struct state *own = state;
	const struct work *work = own->work;

	if (!sonde_vec_reserve(&points->items, (size_t)work->leaves * work->metrics))
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < work->leaves; i++) {
		uint32_t context = next_random(&own->random, work->context_count);

		for (uint32_t k = 0; k < work->metrics; k++)
			points->items.items[points->items.count++] =
				(struct hpcdb_point){ context, k, 0.5 + k };
	}
	return SONDE_OK;
}

static enum sonde_status track_samples(void *state, struct sonde_sample *samples, size_t room,
				       size_t *count, struct sonde_error *err)
{
	struct state *own = state;

	(void)err;
	for (*count = 0; *count < room && own->samples_left; ++*count)
		samples[*count] = (struct sonde_sample){
			.time_ns = 1000u * (SAMPLES - own->samples_left--),
			.context = next_random(&own->random, own->work->context_count),
		};
	return SONDE_OK;
}

int main(int argc, char **argv)
{
	struct work work = { .tracks = 256, .context_count = 50000, .leaves = 5000, .metrics = 3 };
	struct hpcdb_write_options options = { .statistics = HPCDB_STATISTIC_SUM, .threads = 1 };
	struct hpcdb_source source = { &work, open_track, track_values, track_samples, free };
	struct sonde_error err = { .offset = SONDE_NO_OFFSET };
	struct hpcdb_written written;
	struct hpcdb_world world = { .title = "bench" };
	struct hpcdb_metric *metrics;
	struct hpcdb_track *tracks;
	struct rusage usage;
	double before, after;

	if (argc < 2 || argc > 7) {
		fprintf(stderr, "usage: %s PATH [TRACKS [CONTEXTS [LEAVES [METRICS [THREADS]]]]]\n",
			argv[0]);
		return 2;
	}
	uint32_t *const numbers[] = { &work.tracks, &work.context_count, &work.leaves,
				      &work.metrics, &options.threads };
	for (int i = 2; i < argc; i++)
		*numbers[i - 2] = (uint32_t)strtoul(argv[i], NULL, 10);
	work.contexts = calloc(work.context_count, sizeof(*work.contexts));
	metrics = calloc(work.metrics, sizeof(*metrics));
	tracks = calloc(work.tracks, sizeof(*tracks));
	for (uint32_t i = 0; i < work.metrics; i++)
		metrics[i] = (struct hpcdb_metric){ .name = "TIME", .show_percent = true };
	for (uint32_t i = 0; i < work.tracks; i++)
		tracks[i].sample_limit = SAMPLES;
	make_definitions(&work);
	make_tree(&work);
	world.definitions = work.definitions;
	world.contexts = work.contexts;
	world.context_count = work.context_count;
	world.metrics = metrics;
	world.metric_count = work.metrics;
	world.tracks = tracks;
	world.track_count = work.tracks;
	before = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	need(hpcdb_write(argv[1], &world, &source, &options, &written, &err), &err);
	after = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	getrusage(RUSAGE_SELF, &usage);
	printf("{\"values\":%" PRIu64 ",\"bytes\":%" PRIu64
	       ",\"seconds\":%.3f,\"ns_per_value\":%.1f,\"rss_mb\":%ld}\n",
	       written.values, written.bytes, after - before,
	       (after - before) * 1e9 / (double)written.values, usage.ru_maxrss / 1024);
	sonde_definitions_free(work.definitions);
	free(work.contexts);
	free(metrics);
	free(tracks);
	return 0;
}
