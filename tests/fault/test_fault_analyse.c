/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is worked out of recordings and of trees of contexts, with each allocation failing in turn: errors, the
 * critical path, lists, flame graphs and comparisons.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unit/memory_recording.h"
#include "analyse/compare.h"
#include "analyse/critical_path.h"
#include "analyse/errors.h"
#include "analyse/flame.h"
#include "analyse/flat.h"
#include "fault.h"

#define RUNS 4

struct world {
	struct sonde_recording *recording;
	struct cct *runs[RUNS];
	unsigned int threads;
};

static void add_flow(struct sonde_recording *recording, uint32_t track, uint64_t time,
		     enum sonde_event_kind kind)
{
	struct sonde_event event = memory_event(kind, time, 0, 1);

	event.extra = 1;
	memory_add_event(recording, track, event);
}

/* Two tracks of calls with exceptions, a message from one to the other, and spans. */
static struct sonde_recording *new_calls(uint64_t random)
{
	struct sonde_recording *recording = memory_recording_new(16);
	uint32_t process = memory_add_process(recording, "p");
	uint64_t span[] = { 1, 0 }, child[] = { 2, 1 };
	struct sonde_event event;

	memory_add_function(recording, process, "a");
	memory_add_function(recording, process, "pthread_join");
	memory_add_event_type(recording, "a.span", "uint64 span, uint64 parent");
	memory_add_event_type(recording, "an.error", "ascii type, ascii message");
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t track = memory_add_track(recording, process, "t");

		event = memory_event(SONDE_EVENT_CALL, 1 + i, 0, 1);
		event.detail =
			memory_add_arguments(recording, track, 0, i ? child : span, sizeof(span));
		memory_add_event(recording, track, event);
		memory_add_event(recording, track, memory_event(SONDE_EVENT_CALL, 3 + i, 1, 2));
		event = memory_event(SONDE_EVENT_EXCEPTION, 10, 1, 2);
		event.detail = memory_add_arguments(recording, track, 1, "Type\0Message", 13);
		memory_add_event(recording, track, event);
		add_flow(recording, track, 20 + i, SONDE_EVENT_FLOW_BEGIN + 2 * i);
		memory_add_event(recording, track, memory_event(SONDE_EVENT_EXCEPTION, 30, 0, 1));
		memory_add_calls(recording, track, 40, 0, 2, 0, &random);
	}
	return recording;
}

static void make_world(struct world *world)
{
	const struct cct_options options = { .spread = true, .no_cache = true };

	*world = (struct world){ .recording = new_calls(1), .threads = 1 };
	for (uint64_t i = 0; i < RUNS; i++) {
		struct sonde_recording *recording = new_calls(i);

		assert_int_equal(cct_build(recording, &options, &world->runs[i], NULL), SONDE_OK);
		sonde_recording_close(recording);
	}
}

static void release_world(struct world *world)
{
	for (int i = 0; i < RUNS; i++)
		cct_free(world->runs[i]);
	sonde_recording_close(world->recording);
}

static enum sonde_status run_errors(void *user, struct sonde_error *err)
{
	struct world *world = user;
	const struct sonde_run_options options = { .threads = world->threads };
	struct errors errors;
	enum sonde_status status = errors_find(&errors, world->recording, &options, err);

	errors_release(&errors);
	return status;
}

static enum sonde_status run_critical_path(void *user, struct sonde_error *err)
{
	static const struct sonde_selection_spec everything;
	struct world *world = user;
	struct critical_path path;
	enum sonde_status status =
		critical_path_find(&path, world->recording, &everything, NULL, err);

	critical_path_release(&path);
	return status;
}

static enum sonde_status run_flat(void *user, struct sonde_error *err)
{
	struct world *world = user;
	struct flat flat = { 0 };
	enum sonde_status status = flat_make_all(&flat, world->runs[0], FLAT_FUNCTION, 0, err);

	flat_release(&flat);
	return status;
}

static enum sonde_status run_flame(void *user, struct sonde_error *err)
{
	struct world *world = user;
	struct flame flame;
	enum sonde_status status =
		flame_make(&flame, world->runs[0], &(struct flame_options){ 0 }, err);

	flame_release(&flame);
	return status;
}

static enum sonde_status run_compare(void *user, struct sonde_error *err)
{
	const struct compare_options options = { .level = 0.01 };
	struct world *world = user;
	struct comparison comparison;
	struct compare_exactly exactly;
	const struct cct *runs[RUNS];
	enum sonde_status status;

	for (int i = 0; i < RUNS; i++)
		runs[i] = world->runs[i];
	status = compare_make(&comparison, runs, RUNS, RUNS / 2, &options, err);
	compare_release(&comparison);
	if (status)
		return status;
	status = compare_exactly(&exactly, runs, 10, err);
	compare_exactly_release(&exactly);
	return status;
}

static void each_of_them(void **state)
{
	static const struct {
		enum sonde_status (*run)(void *user, struct sonde_error *err);
		unsigned int least;
	} cases[] = {
		{ run_errors, 20 }, { run_critical_path, 15 }, { run_flat, 5 },
		{ run_flame, 5 },   { run_compare, 40 },
	};
	struct world world;

	(void)state;
	make_world(&world);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct fault_case fault_case = { .run = cases[i].run, .user = &world };
		unsigned int count = fault_run_all(FAULT_ALLOCATION, &fault_case);

		if (count < cases[i].least)
			fail_msg("case %zu has only %u allocations", i, count);
	}
	release_world(&world);
}

/* One thread goes on while the other has no memory. */
static void with_threads(void **state)
{
	const struct fault_case fault_case = { .run = run_errors,
					       .user = &(struct world){ .recording = new_calls(1),
									.threads = 2 } };

	(void)state;
	fault_run_all(FAULT_THREAD, &fault_case);
	sonde_recording_close(((struct world *)fault_case.user)->recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_of_them),
		cmocka_unit_test(with_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
