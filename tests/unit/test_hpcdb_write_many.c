/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of databases with many tracks: the same bytes whatever the threads and the size of the
 * team, and, where groups of contexts are cut, values that are still where they belong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hpcdb_world.h"
#include "pipe_team.h"
#include "scratch.h"

enum { CONTEXTS = 6000, TRACKS = 90, POINTS = 5000, SAMPLES = 50 };

/* A tree at random: any earlier context may be the parent. */
struct forest {
	struct sonde_context contexts[CONTEXTS];
	struct sonde_definitions *definitions;
	struct hpcdb_metric metrics[2];
	struct hpcdb_track tracks[TRACKS];
	struct hpcdb_world world;
	struct hpcdb_source source;
	const char *name;
	struct hpcdb_write_options options;
	uint32_t broken; /* this track fails */
};

static uint32_t next_random(uint64_t *random, uint32_t below)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*random >> 33) % below);
}

struct state {
	struct forest *forest;
	uint64_t random;
	uint32_t track, left;
};

static enum sonde_status open_track(void *data, uint32_t track, void **state,
				    struct sonde_error *err)
{
	struct forest *forest = data;
	struct state *own;

	if (track == forest->broken)
		return sonde_fail(err, SONDE_CORRUPT, 7, "track %u is broken", track);
	own = malloc(sizeof(*own));
	if (!own)
		return sonde_fail_nomem(err);
	*own = (struct state){ forest, track + 1, track, SAMPLES };
	*state = own;
	return SONDE_OK;
}

static enum sonde_status track_values(void *state, struct hpcdb_points *points,
				      struct sonde_error *err)
{
	struct state *own = state;

	if (!sonde_vec_reserve(&points->items, POINTS))
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < POINTS; i++)
		points->items.items[points->items.count++] = (struct hpcdb_point){
			.context = next_random(&own->random, CONTEXTS),
			.metric = next_random(&own->random, 2),
			.value = (next_random(&own->random, 1000) + 1) / 7.0,
		};
	return SONDE_OK;
}

static enum sonde_status track_samples(void *state, struct sonde_sample *samples, size_t room,
				       size_t *count, struct sonde_error *err)
{
	struct state *own = state;

	(void)err;
	for (*count = 0; *count < room && own->left; own->left--)
		samples[(*count)++] = (struct sonde_sample){
			.time_ns = next_random(&own->random, 100) + 100u * own->track,
			.context = next_random(&own->random, CONTEXTS / 4),
		};
	return SONDE_OK;
}

static void make_context(struct forest *forest, uint32_t number, uint64_t *random)
{
	static const uint8_t kinds[] = { SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_LOOP,
					 SONDE_CONTEXT_LINE, SONDE_CONTEXT_INSTRUCTION };
	struct sonde_context *context = &forest->contexts[number];

	*context = (struct sonde_context){
		.parent = 1 + next_random(random, number - 1),
		.kind = kinds[next_random(random, 4)],
		.function = SONDE_NONE,
		.module = SONDE_NONE,
	};
	if (context->kind == SONDE_CONTEXT_FUNCTION)
		context->relation = SONDE_CONTEXT_CALLED;
	context->unlisted = context->kind == SONDE_CONTEXT_INSTRUCTION;
}

static struct forest *forest_new(void)
{
	struct forest *forest = calloc(1, sizeof(*forest));
	uint64_t random = 5;

	assert_non_null(forest);
	forest->broken = UINT32_MAX;
	forest->definitions = sonde_definitions_new();
	forest->contexts[0].parent = SONDE_NONE;
	forest->contexts[1].kind = SONDE_CONTEXT_ENTRY;
	for (uint32_t i = 2; i < CONTEXTS; i++)
		make_context(forest, i, &random);
	forest->metrics[0].name = "A";
	forest->metrics[1].name = "B";
	for (uint32_t i = 0; i < TRACKS; i++)
		forest->tracks[i].sample_limit = SAMPLES;
	forest->world = (struct hpcdb_world){
		.definitions = forest->definitions,
		.contexts = forest->contexts,
		.context_count = CONTEXTS,
		.metrics = forest->metrics,
		.metric_count = 2,
		.tracks = forest->tracks,
		.track_count = TRACKS,
	};
	forest->source =
		(struct hpcdb_source){ forest, open_track, track_values, track_samples, free };
	forest->options.statistics = HPCDB_STATISTIC_SUM | HPCDB_STATISTIC_DEVIATION;
	return forest;
}

static void forest_free(struct forest *forest)
{
	sonde_definitions_free(forest->definitions);
	free(forest);
}

static void forest_write(struct forest *forest, const char *name, unsigned int threads)
{
	struct hpcdb_written written;
	struct sonde_error err;

	forest->options.threads = threads;
	if (hpcdb_write(scratch_path(name), &forest->world, &forest->source, &forest->options,
			&written, &err) != SONDE_OK)
		fail_msg("%s", err.message);
	assert_true(written.values > 1200000); /* more than one group */
}

/* What a track has in one context, added up the slow way. */
static double slow_execution(struct forest *forest, uint32_t track, uint32_t context)
{
	struct state state = { forest, track + 1, track, 0 };
	struct hpcdb_points points = { 0 };
	double sum = 0;

	assert_int_equal(track_values(&state, &points, NULL), SONDE_OK);
	for (size_t i = 0; i < points.items.count; i++) {
		uint32_t at = points.items.items[i].context;

		while (at > context)
			at = forest->contexts[at].parent;
		if (at == context && !points.items.items[i].metric)
			sum += points.items.items[i].value;
	}
	sonde_vec_release(&points.items);
	return sum;
}

static bool is_near(double a, double b)
{
	double difference = a > b ? a - b : b - a;

	return difference <= 1e-9 * (a > 0 ? a : -a);
}

static void test_threads(void **state)
{
	struct forest *forest = forest_new();
	struct world_file profile, cct;

	(void)state;
	forest_write(forest, "one.d", 1);
	forest_write(forest, "two.d", 2);
	forest_write(forest, "five.d", 5);
	assert_same_database("one.d", "two.d");
	assert_same_database("one.d", "five.d");
	profile = world_open("one.d", "profile.db");
	cct = world_open("one.d", "cct.db");
	for (uint32_t track = 0; track < TRACKS; track += 19) {
		for (uint32_t i = 1; i < CONTEXTS; i = i * 2 + 1) {
			double expected = slow_execution(forest, track, i);

			/* 3 statistics in 4 scopes: execution of the first metric is 3 */
			assert_true(is_near(world_value(&profile, track + 1, i, 3), expected));
			assert_true(is_near(world_cct_value(&cct, track + 1, i, 3), expected));
		}
	}
	for (uint32_t i = 1; i < CONTEXTS; i = i * 2 + 1) {
		double expected = 0;

		for (uint32_t track = 0; track < TRACKS; track++)
			expected += slow_execution(forest, track, i);
		assert_true(is_near(world_value(&profile, 0, i, 3), expected));
	}
	world_close(&profile);
	world_close(&cct);
	forest_free(forest);
}

/* Every value of cct.db is in profile.db, and there are as many. */
static void test_transposition(void **state)
{
	struct forest *forest = forest_new();
	struct world_file profile, cct;
	uint64_t planes = 0, blocks = 0;

	(void)state;
	forest_write(forest, "turned.d", 2);
	profile = world_open("turned.d", "profile.db");
	cct = world_open("turned.d", "cct.db");
	for (uint32_t i = 1; i <= TRACKS; i++)
		planes += world_value_count(&profile, i);
	for (uint32_t i = 0; i < CONTEXTS; i++) {
		uint64_t info = 0x40 + (uint64_t)i * 0x20, pairs = world_u64(&cct, info + 8);

		blocks += world_u64(&cct, info);
		if (i % 97 == 0 && world_u64(&cct, info)) {
			uint32_t number = world_u32(&cct, pairs);
			uint16_t id = world_u16(&cct, world_u64(&cct, info + 0x18));

			assert_true(world_value(&profile, number, i, id) ==
				    world_cct_value(&cct, number, i, id));
		}
	}
	assert_int_equal(planes, blocks);
	world_close(&profile);
	world_close(&cct);
	forest_free(forest);
}

static int write_in_team(struct sonde_team *team, void *context)
{
	struct forest *forest = context;
	struct hpcdb_written written;
	struct sonde_error err = { .offset = SONDE_NO_OFFSET };
	enum sonde_status status;

	forest->options.team = team;
	forest->options.threads = 1 + sonde_team_rank(team); /* may differ */
	status = hpcdb_write(scratch_path(forest->name), &forest->world, &forest->source,
			     &forest->options, &written, &err);
	if (status < 0 && forest->broken != UINT32_MAX)
		return strstr(err.message, "is broken") ? 3 : 4;
	return status == SONDE_OK ? 0 : 5;
}

static void test_teams(void **state)
{
	struct forest *forest = forest_new();
	int codes[PIPE_TEAM_MOST];

	(void)state;
	forest_write(forest, "alone.d", 1);
	for (unsigned int size = 2; size <= 5; size += 3) {
		forest->name = "team.d";
		pipe_team_run(size, write_in_team, forest, codes);
		for (unsigned int i = 0; i < size; i++)
			assert_int_equal(codes[i], 0);
		assert_same_database("alone.d", "team.d");
		remove_tree(scratch_path("team.d"));
	}
	forest_free(forest);
}

/* One rank fails: all of them say so, in the same words, and nothing is left. */
static void test_failing_team(void **state)
{
	struct forest *forest = forest_new();
	int codes[PIPE_TEAM_MOST];

	(void)state;
	forest->broken = TRACKS - 2;
	forest->name = "failed.d";
	pipe_team_run(3, write_in_team, forest, codes);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(codes[i], 3);
	assert_int_not_equal(access(scratch_path("failed.d"), F_OK), 0);
	forest_free(forest);
}

static bool stop_in_the_middle(void *user, uint64_t done, uint64_t total)
{
	uint64_t *seen = user;

	*seen = done;
	return done < total / 2;
}

static void test_progress(void **state)
{
	struct forest *forest = forest_new();
	struct hpcdb_written written;
	struct sonde_error err;
	uint64_t seen = 0;
	const struct sonde_progress progress = { stop_in_the_middle, &seen };

	(void)state;
	forest->options.progress = &progress;
	forest->options.threads = 1;
	/* reports come by time: where the middle passes in between, it is stopped at the end */
	assert_int_equal(hpcdb_write(scratch_path("stopped.d"), &forest->world, &forest->source,
				     &forest->options, &written, &err),
			 SONDE_CANCELLED);
	assert_true(seen >= TRACKS);
	assert_int_not_equal(access(scratch_path("stopped.d"), F_OK), 0);
	forest_free(forest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),	 cmocka_unit_test(test_transposition),
		cmocka_unit_test(test_teams),	 cmocka_unit_test(test_failing_team),
		cmocka_unit_test(test_progress),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
