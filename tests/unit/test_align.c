/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offsets and drifts that were planted are found, within the error that is told: by events with noise,
 * outliers and missing ones, by messages, by anchors. And how much happens when, for pieces of a size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include <sonde/sonde.h>

#include "analyse/align.h"
#include "analyse/density.h"
#include "memory_recording.h"
#include "model/recording.h"
#include "model/time_map.h"

#define EVENTS 500
#define START UINT64_C(1000000000000)

/* How the clock of a recording goes: what it shows at a moment. */
struct going {
	int64_t offset_ns;
	double drift;
	uint64_t noise_ns;
	size_t missing;	 /* events at the start */
	size_t outliers; /* one of so many is far off; 0: none */
};

static uint64_t moments[EVENTS];

static void plant_moments(void)
{
	uint64_t random = 77, time_ns = START;

	for (size_t i = 0; i < EVENTS; i++) {
		time_ns += 1000000 + memory_random(&random) % 20000000;
		moments[i] = time_ns;
	}
}

static uint64_t show(const struct going *going, uint64_t time_ns)
{
	return time_ns + (uint64_t)going->offset_ns +
	       (uint64_t)llround(going->drift * (double)(time_ns - START));
}

static struct sonde_recording *new_recording(enum sonde_clock_kind kind)
{
	struct sonde_recording *recording = memory_recording_new(64);
	struct sonde_clock clock = { .kind = kind };
	struct sonde_process process = { .os_id = SONDE_NONE };

	sonde_definitions_add_clock(recording->definitions, &clock, &process.clock, NULL);
	sonde_definitions_add_process(recording->definitions, &process, &(uint32_t){ 0 }, NULL);
	memory_add_function(recording, 0, "other");
	memory_add_function(recording, 0, "barrier");
	memory_add_track(recording, 0, "t");
	return recording;
}

static struct sonde_recording *record(const struct going *going, uint64_t seed)
{
	struct sonde_recording *recording = new_recording(SONDE_CLOCK_BOOTTIME);

	for (size_t i = going->missing; i < EVENTS; i++) {
		uint64_t time_ns = show(going, moments[i]);

		if (going->noise_ns)
			time_ns += memory_random(&seed) % (2 * going->noise_ns) - going->noise_ns;
		if (going->outliers && i % going->outliers == 1)
			time_ns += 400000;
		memory_add_event(recording, 0, memory_event(SONDE_EVENT_CALL, time_ns, 1, 1));
		memory_add_event(recording, 0,
				 memory_event(SONDE_EVENT_RETURN, time_ns + 10, 1, 1));
		memory_add_event(recording, 0, memory_event(SONDE_EVENT_CALL, time_ns + 20, 0, 1));
	}
	return recording;
}

/* The most that a moment of `other` is wrong by after its map. */
static uint64_t farthest(const struct align_clock *clock, const struct going *other)
{
	uint64_t most = 0;

	for (size_t i = 0; i < EVENTS; i++) {
		uint64_t mapped = sonde_time_map_apply(&clock->map, show(other, moments[i]));
		uint64_t distance = mapped > moments[i] ? mapped - moments[i] : moments[i] - mapped;

		most = distance > most ? distance : most;
	}
	return most;
}

static struct align_clock find(const struct going *other, bool drift)
{
	static const struct going plain;
	struct sonde_recording *sources[] = { record(&plain, 1), record(other, 99) };
	struct align_options options = {
		.method = ALIGN_EVENTS, .event = "barrier", .drift = drift, .threads = 2
	};
	struct align_clock found;
	struct align align;

	assert_int_equal(align_init(&align, sources, 2, NULL), SONDE_OK);
	assert_int_equal(align.clocks.count, 2);
	assert_int_equal(align_estimate(&align, &options, NULL), SONDE_OK);
	assert_int_equal(align_finish(&align, NULL), SONDE_OK);
	assert_int_equal(align.lift_ns, 0);
	found = align.clocks.items[1];
	align_release(&align);
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
	return found;
}

static void test_offset_by_events(void **state)
{
	static const int64_t offsets[] = { 0, 5000000, -7000123, -900000000000,
					   1700000000000000000 };

	(void)state;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		const struct going other = { .offset_ns = offsets[i] };
		struct align_clock found = find(&other, false);

		assert_int_equal(farthest(&found, &other), 0);
		assert_true(found.has_error);
		assert_int_equal(found.error_ns, 0);
		assert_int_equal(found.matched, EVENTS);
		assert_int_equal(found.skipped, 0);
	}
}

static void test_noise_is_told(void **state)
{
	static const struct going other = { .offset_ns = 123456, .noise_ns = 3000 };
	struct align_clock found = find(&other, false);

	(void)state;
	assert_true(farthest(&found, &other) <= found.error_ns);
	assert_in_range(found.error_ns, 1000, 3100);
	assert_true(found.unused_drift == 0);
}

static void test_drift_by_events(void **state)
{
	static const double drifts[] = { 2e-5, -3e-6, 1e-3, 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(drifts) / sizeof(drifts[0]); i++) {
		const struct going other = { .offset_ns = -500000,
					     .drift = drifts[i],
					     .noise_ns = 500 };
		struct align_clock found = find(&other, true);

		assert_true(farthest(&found, &other) <= found.error_ns);
		assert_in_range(found.error_ns, 100, 1000);
		assert_true(fabs(found.drift + drifts[i]) < 1e-6 * fabs(drifts[i]) * 1e3 + 1e-7);
		/* without it the error is larger, still honest where it was matched, and the cause said */
		if (fabs(drifts[i]) < 1e-5)
			continue;
		found = find(&other, false);
		assert_true(found.error_ns > 10000);
		assert_true(fabs(found.unused_drift) > fabs(drifts[i]) / 2);
	}
}

static void test_outliers_do_no_harm(void **state)
{
	static const struct going other = { .offset_ns = 42, .noise_ns = 200, .outliers = 5 };
	struct align_clock found = find(&other, true);

	(void)state;
	assert_true(farthest(&found, &other) <= found.error_ns);
	assert_true(found.error_ns < 1000);
	assert_in_range(found.outliers, EVENTS / 5, EVENTS / 5 + EVENTS / 50);
}

static void test_missing_at_the_start(void **state)
{
	static const struct going other = { .offset_ns = -990000000000,
					    .noise_ns = 50,
					    .missing = 41 };
	struct align_clock found = find(&other, false);

	(void)state;
	assert_int_equal(found.skipped, 41);
	assert_int_equal(found.matched, EVENTS - 41);
	assert_true(farthest(&found, &other) <= found.error_ns);
	assert_true(found.error_ns < 100);
}

static void test_what_cannot_be_matched(void **state)
{
	static const struct going plain, late = { .missing = EVENTS - 2 };
	struct sonde_recording *sources[] = { record(&plain, 1), record(&late, 1) };
	struct align_options options = { .method = ALIGN_EVENTS, .event = "nothing" };
	struct sonde_error err = { 0 };
	struct align align;

	(void)state;
	assert_int_equal(align_init(&align, sources, 2, NULL), SONDE_OK);
	assert_int_equal(align_estimate(&align, &options, &err), SONDE_ARGUMENT);
	assert_non_null(strstr(err.message, "nothing"));
	options.event = "barr*";
	assert_int_equal(align_estimate(&align, &options, &err), SONDE_OK);
	assert_int_equal(align.clocks.items[1].matched, 2);
	options.drift = true;
	assert_int_equal(align_estimate(&align, &options, &err), SONDE_ARGUMENT);
	options.method = ALIGN_MESSAGES;
	options.event = NULL;
	assert_int_equal(align_estimate(&align, &options, &err), SONDE_ARGUMENT);
	options.method = ALIGN_ANCHORS;
	assert_int_equal(align_estimate(&align, &options, &err), SONDE_ARGUMENT);
	align_release(&align);
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
}

static void add_flow(struct sonde_recording *recording, uint64_t time_ns, uint32_t number,
		     enum sonde_event_kind kind)
{
	struct sonde_event event = memory_event(kind, time_ns, 0, 0);

	event.extra = number;
	memory_add_event(recording, 0, event);
}

/* Messages to and fro: `least_ns` and more on their way. */
static struct align_clock find_by_messages(int64_t offset_ns, uint64_t least_there,
					   uint64_t least_back, bool both,
					   enum sonde_status expected)
{
	struct sonde_recording *sources[] = { new_recording(SONDE_CLOCK_BOOTTIME),
					      new_recording(SONDE_CLOCK_BOOTTIME) };
	struct align_options options = { .method = ALIGN_MESSAGES };
	struct align_clock found;
	struct align align;
	uint64_t random = 3;

	for (size_t i = 0; i < 2; i++)
		memory_add_event_type(sources[i], "message", "");
	for (uint32_t i = 0; i < 200; i++) {
		uint64_t sent = START + i * UINT64_C(1000000),
			 slow = memory_random(&random) % 50000;

		add_flow(sources[0], sent, i, SONDE_EVENT_FLOW_BEGIN);
		add_flow(sources[1], sent + least_there + (i ? slow : 0) + (uint64_t)offset_ns, i,
			 SONDE_EVENT_FLOW_END);
		if (!both)
			continue;
		add_flow(sources[1], sent + 500000 + (uint64_t)offset_ns, i + 1000,
			 SONDE_EVENT_FLOW_BEGIN);
		add_flow(sources[0], sent + 500000 + least_back + (i != 7 ? slow : 0), i + 1000,
			 i % 2 ? SONDE_EVENT_FLOW_STEP : SONDE_EVENT_FLOW_END);
	}
	assert_int_equal(align_init(&align, sources, 2, NULL), SONDE_OK);
	assert_int_equal(align_estimate(&align, &options, NULL), expected);
	found = align.clocks.items[1];
	align_release(&align);
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
	return found;
}

static void test_offset_by_messages(void **state)
{
	static const int64_t offsets[] = { 0, 123456789, -5000 };

	(void)state;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		const struct going other = { .offset_ns = offsets[i] };
		struct align_clock found = find_by_messages(offsets[i], 3000, 9000, true, SONDE_OK);

		/* the truth lies within the bounds, which are half of the way there and back */
		assert_true(found.has_error);
		assert_int_equal(found.error_ns, 6000);
		assert_true(farthest(&found, &other) <= found.error_ns);
		assert_int_equal(farthest(&found, &other), 3000);
		assert_int_equal(found.matched, 400);
		assert_false(found.one_way);
		found = find_by_messages(offsets[i], 3000, 0, false, SONDE_OK);
		assert_true(found.one_way);
		assert_false(found.has_error);
		assert_int_equal(farthest(&found, &other), 3000);
	}
	/* received before they were sent, in both directions */
	find_by_messages(0, (uint64_t)-5000, (uint64_t)-5000, true, SONDE_ARGUMENT);
}

static struct sonde_recording *anchored(uint64_t clock_ns, const uint64_t *gained, size_t count)
{
	static const struct going plain;
	struct sonde_recording *recording = record(&plain, 1);

	for (size_t i = 0; i < count; i++) {
		struct sonde_anchor anchor = {
			.clock_ns = clock_ns + i * UINT64_C(10000000000),
			.realtime_ns = UINT64_C(1700000000000000000) + i * UINT64_C(10000000000) +
				       gained[i],
		};

		sonde_definitions_add_anchor(recording->definitions, &anchor, &(uint32_t){ 0 },
					     NULL);
	}
	return recording;
}

static struct align_clock find_by_anchors(struct sonde_recording *first,
					  struct sonde_recording *second)
{
	struct sonde_recording *sources[] = { first, second };
	struct align_options options = { .method = ALIGN_ANCHORS };
	struct align_clock found;
	struct align align;

	assert_int_equal(align_init(&align, sources, 2, NULL), SONDE_OK);
	assert_int_equal(align_estimate(&align, &options, NULL), SONDE_OK);
	found = align.clocks.items[1];
	align_release(&align);
	sonde_recording_close(first);
	sonde_recording_close(second);
	return found;
}

static void test_anchors(void **state)
{
	static const uint64_t none[] = { 0, 0, 0 }, gains[] = { 0, 100000, 200000 },
			      shaky[] = { 0, 100300, 200000 };
	struct align_clock found;

	(void)state;
	found = find_by_anchors(anchored(START, none, 1), anchored(START + 5000, none, 1));
	assert_int_equal(sonde_time_map_apply(&found.map, START + 5000), START);
	assert_false(found.has_error);
	/* 10 ppm: 100 us in 10 s */
	found = find_by_anchors(anchored(START, none, 3), anchored(START + 5000, gains, 3));
	assert_int_equal(sonde_time_map_apply(&found.map, START + 5000), START);
	assert_in_range(sonde_time_map_apply(&found.map, START + 5000 + UINT64_C(20000000000)),
			START + UINT64_C(20000000000) + 200000 - 1,
			START + UINT64_C(20000000000) + 200000 + 1);
	assert_true(found.has_error);
	assert_true(found.error_ns <= 2);
	found = find_by_anchors(anchored(START, gains, 3), anchored(START + 5000, gains, 3));
	assert_int_equal(found.map.drift, 0);
	found = find_by_anchors(anchored(START, none, 3), anchored(START + 5000, shaky, 3));
	assert_in_range(found.error_ns, 200, 202);
	/* the wall clock itself needs no anchor */
	found = find_by_anchors(anchored(START, none, 1), new_recording(SONDE_CLOCK_REALTIME));
	assert_int_equal(sonde_time_map_apply(&found.map, UINT64_C(1700000000000000000)), START);
}

/* Processes of one machine share its clock, those of others do not. */
static void test_clocks_of_one_recording(void **state)
{
	static const uint64_t none[] = { 0 };
	struct sonde_recording *recording = anchored(START, none, 1);
	struct sonde_recording *sources[] = { recording, anchored(START, none, 1) };
	struct align align;

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		struct sonde_clock clock = { .kind = SONDE_CLOCK_BOOTTIME };
		struct sonde_process process = { .os_id = SONDE_NONE };
		struct sonde_anchor anchor = {
			.clock_ns = START + (i == 2 ? UINT64_C(5000000000) : i),
			.realtime_ns = UINT64_C(1700000000000000000),
		};

		sonde_definitions_add_clock(recording->definitions, &clock, &process.clock, NULL);
		anchor.clock = process.clock;
		sonde_definitions_add_anchor(recording->definitions, &anchor, &(uint32_t){ 0 },
					     NULL);
		sonde_definitions_add_process(recording->definitions, &process, &(uint32_t){ 0 },
					      NULL);
	}
	assert_int_equal(align_init(&align, sources, 2, NULL), SONDE_OK);
	assert_int_equal(align.clocks.count, 3);
	assert_int_equal(align.of_process.items[2], 0);
	assert_int_equal(align.of_process.items[3], 1);
	assert_int_equal(align.of_process.items[4], 2);
	align_release(&align);
	assert_int_equal(align_init(&align, sources, 1, NULL), SONDE_OK);
	assert_int_equal(align.clocks.count, 4);
	align_release(&align);
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
}

static void test_never_before_zero(void **state)
{
	static const struct going plain;
	struct sonde_recording *sources[] = { record(&plain, 1), record(&plain, 1) };
	struct sonde_time_map *maps;
	struct align align;

	(void)state;
	assert_int_equal(align_init(&align, sources, 2, NULL), SONDE_OK);
	align_set_offset(&align, 1, -(int64_t)(2 * START));
	assert_int_equal(align_finish(&align, NULL), SONDE_OK);
	assert_int_equal(align.lift_ns, 2 * START - moments[0]);
	assert_true(align_offset(&align, &align.clocks.items[1]) == -(int64_t)(2 * START));
	maps = align_maps(&align);
	assert_int_equal(sonde_time_map_apply(&maps[1], moments[0]), 0);
	assert_int_equal(sonde_time_map_apply(&maps[0], moments[0]), 2 * START);
	free(maps);
	align_set_offset(&align, 1, INT64_MAX);
	align.clocks.items[1].last_ns = UINT64_MAX;
	assert_int_equal(align_finish(&align, NULL), SONDE_LIMIT);
	align_release(&align);
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
}

static void test_density(void **state)
{
	static const struct going plain;
	struct sonde_recording *recording = record(&plain, 1);
	const struct sonde_run_options options = { .threads = 1 };
	struct density density;

	(void)state;
	assert_int_equal(density_find(&density, recording, &options, NULL), SONDE_OK);
	assert_true(density_before(&density, 0) == 0);
	assert_true(density_before(&density, UINT64_MAX) == 3 * EVENTS);
	assert_int_equal(density_time(&density, 3 * EVENTS), moments[EVENTS - 1] + 21);
	for (size_t i = 1; i < EVENTS; i += 13) {
		double before = density_before(&density, moments[i] - 1000000 / 2);
		uint64_t time_ns = density_time(&density, before);

		/* between events; slices are 8 us here */
		assert_true(fabs(before - 3.0 * (double)i) < 1e-6);
		assert_in_range(time_ns, moments[i - 1], moments[i]);
	}
	density_release(&density);
	sonde_recording_close(recording);
}

static int plant(void **state)
{
	(void)state;
	plant_moments();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offset_by_events),
		cmocka_unit_test(test_noise_is_told),
		cmocka_unit_test(test_drift_by_events),
		cmocka_unit_test(test_outliers_do_no_harm),
		cmocka_unit_test(test_missing_at_the_start),
		cmocka_unit_test(test_what_cannot_be_matched),
		cmocka_unit_test(test_offset_by_messages),
		cmocka_unit_test(test_anchors),
		cmocka_unit_test(test_clocks_of_one_recording),
		cmocka_unit_test(test_never_before_zero),
		cmocka_unit_test(test_density),
	};

	return cmocka_run_group_tests(tests, plant, NULL);
}
