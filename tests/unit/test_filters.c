/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cut and select, against slow references: every piece of generated nested traces, with equal
 * times, open ends and other kinds of events, and what they do with damaged tracks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#include "memory_recording.h"
#include "model/recording.h"

#define FUNCTIONS 6
#define MOST 4000
#define NEVER SIZE_MAX

static struct sonde_recording *new_recording(size_t batch_size)
{
	struct sonde_recording *recording = memory_recording_new(batch_size);
	const char *names[FUNCTIONS] = { "alpha", "beta", "gamma", "delta", "alps", "zeta" };
	uint32_t process = memory_add_process(recording, "p");

	for (size_t i = 0; i < FUNCTIONS; i++)
		memory_add_function(recording, process, names[i]);
	memory_add_track(recording, process, "t");
	return recording;
}

static void run(struct sonde_recording *recording, struct sonde_selection_spec spec,
		struct collector *collector, struct sonde_run_result *result)
{
	struct sonde_run_options options = { .selection = spec };

	collector_init(collector);
	assert_int_equal(
		sonde_pipeline_run(&recording, 1, &collector->base, &options, result, NULL),
		SONDE_OK);
	assert_int_equal(collector->finished, 1);
	assert_int_equal(collector->tracks[0].ends, 1);
}

/* Which event leaves the call at each place, and which call an event leaves. */
struct pairs {
	size_t end_of[MOST];   /* of a call: index of what leaves it, or NEVER */
	size_t start_of[MOST]; /* of a return: index of its call, or NEVER */
};

static void pair(const struct sonde_event *events, size_t count, struct pairs *pairs)
{
	static size_t open[MOST];
	size_t depth = 0;

	for (size_t i = 0; i < count; i++) {
		pairs->end_of[i] = pairs->start_of[i] = NEVER;
		if (events[i].kind == SONDE_EVENT_CALL) {
			open[depth++] = i;
		} else if (sonde_event_leaves(&events[i]) && depth) {
			pairs->start_of[i] = open[--depth];
			pairs->end_of[open[depth]] = i;
		}
	}
}

static struct sonde_event synthetic(struct sonde_event call, enum sonde_event_kind kind,
				    uint64_t time_ns)
{
	struct sonde_event event = memory_event(kind, time_ns, call.function, call.depth);

	event.flags = SONDE_EVENT_SYNTHETIC;
	return event;
}

static bool ends_before(const struct sonde_event *events, const struct pairs *pairs, size_t call,
			uint64_t time_ns)
{
	size_t end = pairs->end_of[call];

	return end != NEVER && events[end].time_ns < time_ns;
}

/* The piece as its definition says; gives how many events. */
static size_t cut_slowly(const struct sonde_event *events, size_t count, const struct pairs *pairs,
			 uint64_t from, uint64_t to, struct sonde_event *out)
{
	uint64_t end = to ? to : UINT64_MAX;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (events[i].kind == SONDE_EVENT_CALL && events[i].time_ns < from &&
		    !ends_before(events, pairs, i, from))
			out[n++] = synthetic(events[i], SONDE_EVENT_CALL, from);
	}
	for (size_t i = 0; i < count; i++) {
		if (events[i].time_ns >= from && events[i].time_ns < end)
			out[n++] = events[i];
	}
	for (size_t i = count; to && events[count - 1].time_ns >= to && i--;) {
		if (events[i].kind == SONDE_EVENT_CALL && events[i].time_ns < to &&
		    !ends_before(events, pairs, i, to))
			out[n++] = synthetic(events[i], SONDE_EVENT_RETURN, to);
	}
	return n;
}

static void check_equal(const struct collector *collector, const struct sonde_event *expected,
			size_t count)
{
	assert_int_equal(collector->tracks[0].count, count);
	for (size_t i = 0; i < count; i++)
		assert_memory_equal(&collector->tracks[0].events[i], &expected[i],
				    sizeof(*expected));
}

/* Each return leaves the call before it, and depths count the open calls from `depth` up. */
static void check_nesting(const struct sonde_event *events, size_t count, bool closed)
{
	static uint32_t open[MOST];
	size_t depth = 0;

	for (size_t i = 0; i < count; i++) {
		if (events[i].kind == SONDE_EVENT_CALL) {
			open[depth++] = events[i].function;
			assert_int_equal(events[i].depth, depth);
		} else if (sonde_event_leaves(&events[i])) {
			assert_int_equal(events[i].depth, depth);
			assert_true(depth > 0);
			assert_int_equal(events[i].function, open[--depth]);
		}
		if (i)
			assert_true(events[i].time_ns >= events[i - 1].time_ns);
	}
	if (closed)
		assert_int_equal(depth, 0);
}

static void check_cut(struct sonde_recording *recording, uint64_t from, uint64_t to, bool closed)
{
	static struct sonde_event expected[2 * MOST];
	static struct pairs pairs;
	struct sonde_run_result result;
	struct collector collector;
	size_t count, wanted, made = 0;
	const struct sonde_event *events = memory_events(recording, 0, &count);

	pair(events, count, &pairs);
	wanted = cut_slowly(events, count, &pairs, from, to, expected);
	run(recording, (struct sonde_selection_spec){ .from_ns = from, .to_ns = to }, &collector,
	    &result);
	check_equal(&collector, expected, wanted);
	check_nesting(expected, wanted, closed);
	for (size_t i = 0; i < wanted; i++)
		made += expected[i].flags & SONDE_EVENT_SYNTHETIC;
	assert_int_equal(result.events_read, count);
	assert_int_equal(result.events_written, wanted);
	assert_int_equal(result.calls_opened + result.calls_closed, made);
	collector_release(&collector);
}

static void test_every_piece_of_nested_calls(void **state)
{
	uint64_t random = 11;

	(void)state;
	for (unsigned int round = 0; round < 12; round++) {
		struct sonde_recording *recording = new_recording(1 + round % 5);
		bool closed = round % 2;
		uint64_t last;

		memory_add_calls(recording, 0, 10 + 5 * round, 0, FUNCTIONS, closed, &random);
		last = sonde_definitions_track(recording->definitions, 0)->time_last_ns;
		for (uint64_t from = 0; from <= last + 2; from++) {
			check_cut(recording, from, 0, closed);
			for (uint64_t to = from ? from : 1; to <= last + 2; to++)
				check_cut(recording, from, to, closed);
		}
		sonde_recording_close(recording);
	}
}

static void test_cut_of_deep_calls(void **state)
{
	struct sonde_recording *recording = new_recording(7);

	(void)state;
	for (uint32_t i = 0; i < 300; i++)
		memory_add_event(recording, 0,
				 memory_event(SONDE_EVENT_CALL, i, i % FUNCTIONS, i + 1));
	for (uint32_t i = 300; i--;)
		memory_add_event(recording, 0,
				 memory_event(SONDE_EVENT_RETURN, 600 - i, i % FUNCTIONS, i + 1));
	check_cut(recording, 290, 310, true);
	check_cut(recording, 300, 300, true);
	check_cut(recording, 299, 400, true);
	check_cut(recording, 1, 2, true);
	sonde_recording_close(recording);
}

static void test_cut_keeps_other_kinds_and_details(void **state)
{
	struct sonde_recording *recording = new_recording(2);
	struct sonde_run_result result;
	struct collector collector;

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		struct sonde_event event =
			memory_event(SONDE_EVENT_CALL, 10 * i, i % FUNCTIONS, i + 1);

		event.detail = memory_add_detail(recording, 0, i % FUNCTIONS);
		memory_add_event(recording, 0, event);
		memory_add_event(recording, 0, memory_event(SONDE_EVENT_INSTANT, 10 * i + 5, 0, 0));
	}
	run(recording, (struct sonde_selection_spec){ .from_ns = 25, .to_ns = 45 }, &collector,
	    &result);
	assert_int_equal(collector.tracks[0].count, 3 + 4 + 5);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(collector.tracks[0].detail_functions[i], SONDE_NONE);
	assert_int_equal(collector.tracks[0].events[3].kind, SONDE_EVENT_INSTANT);
	assert_int_equal(collector.tracks[0].events[3].time_ns, 25);
	assert_int_equal(collector.tracks[0].detail_functions[4], 3);
	assert_int_equal(collector.tracks[0].detail_functions[6], 4);
	assert_int_equal(result.details_written, 2);
	collector_release(&collector);
	sonde_recording_close(recording);
}

static void test_only_what_the_run_made_counts_as_synthetic(void **state)
{
	struct sonde_recording *recording = new_recording(2);
	struct sonde_event event = memory_event(SONDE_EVENT_CALL, 10, 0, 1);
	struct sonde_run_result result;
	struct collector collector;

	(void)state;
	event.flags = SONDE_EVENT_SYNTHETIC;
	memory_add_event(recording, 0, event);
	memory_add_event(recording, 0, memory_event(SONDE_EVENT_CALL, 20, 0, 2));
	memory_add_event(recording, 0, memory_event(SONDE_EVENT_CALL, 30, 0, 3));
	run(recording, (struct sonde_selection_spec){ .from_ns = 5 }, &collector, &result);
	assert_int_equal(result.calls_opened + result.calls_closed, 0);
	assert_int_equal(collector.tracks[0].events[0].flags, SONDE_EVENT_SYNTHETIC);
	collector_release(&collector);
	run(recording, (struct sonde_selection_spec){ .from_ns = 25 }, &collector, &result);
	assert_int_equal(result.calls_opened + result.calls_closed, 2);
	assert_int_equal(collector.tracks[0].count, 3);
	collector_release(&collector);
	sonde_recording_close(recording);
}

static void test_cut_finds_back_after_lost_returns(void **state)
{
	struct sonde_recording *recording = new_recording(3);
	struct sonde_run_result result;
	struct collector collector;

	(void)state;
	memory_add_event(recording, 0, memory_event(SONDE_EVENT_CALL, 1, 0, 1));
	for (uint32_t i = 0; i < 50; i++)
		memory_add_event(recording, 0, memory_event(SONDE_EVENT_CALL, 2, 1 + i % 4, 2));
	memory_add_event(recording, 0, memory_event(SONDE_EVENT_RETURN, 3, 0, 1));
	memory_add_event(recording, 0, memory_event(SONDE_EVENT_RETURN, 3, 5, 1));
	memory_add_event(recording, 0, memory_event(SONDE_EVENT_CALL, 4, 5, 1));
	memory_add_event(recording, 0, memory_event(SONDE_EVENT_RETURN, 9, 5, 1));
	run(recording, (struct sonde_selection_spec){ .from_ns = 5 }, &collector, &result);
	assert_int_equal(collector.tracks[0].count, 2);
	assert_int_equal(collector.tracks[0].events[0].function, 5);
	assert_int_equal(result.calls_opened + result.calls_closed, 1);
	collector_release(&collector);
	sonde_recording_close(recording);
}

static void add_noise(struct sonde_recording *recording, size_t count, uint64_t *random)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t r = memory_random(random);
		struct sonde_event event =
			memory_event((enum sonde_event_kind)(r % SONDE_EVENT_KIND_COUNT),
				     r >> 8 & 127, r >> 16 & 7, r >> 24 & 15);

		if (r >> 32 & 1)
			event.function = SONDE_NONE;
		memory_add_event(recording, 0, event);
	}
}

static void test_damaged_tracks(void **state)
{
	static const char *const patterns[] = { "al*" };
	uint64_t random = 5;

	(void)state;
	for (unsigned int round = 0; round < 200; round++) {
		struct sonde_recording *recording = new_recording(1 + round % 9);
		struct sonde_selection_spec spec = { .from_ns = round % 64,
						     .to_ns = 64 + round % 32 };
		struct collector collector;
		size_t count, next = 0;
		const struct sonde_event *events;

		add_noise(recording, 400, &random);
		events = memory_events(recording, 0, &count);
		run(recording, spec, &collector, NULL);
		for (size_t i = 0; i < collector.tracks[0].count; i++) {
			if (collector.tracks[0].events[i].flags & SONDE_EVENT_SYNTHETIC)
				continue;
			while (events[next].time_ns < spec.from_ns ||
			       events[next].time_ns >= spec.to_ns)
				next++;
			assert_memory_equal(&collector.tracks[0].events[i], &events[next++],
					    sizeof(*events));
		}
		collector_release(&collector);
		spec.functions = patterns;
		spec.function_count = 1;
		spec.max_depth = 9;
		run(recording, spec, &collector, NULL);
		collector_release(&collector);
		sonde_recording_close(recording);
	}
}

struct wish {
	bool functions[FUNCTIONS];
	uint32_t min_depth, max_depth;
};

static bool is_wanted(const struct wish *wish, const struct sonde_event *event)
{
	return wish->functions[event->function] && event->depth >= wish->min_depth &&
	       event->depth <= wish->max_depth;
}

static size_t select_slowly(const struct sonde_event *events, size_t count,
			    const struct pairs *pairs, const struct wish *wish,
			    struct sonde_event *out)
{
	uint32_t depth = 0;
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		bool leaves = sonde_event_leaves(&events[i]);
		const struct sonde_event *call = leaves ? &events[pairs->start_of[i]] : &events[i];

		if (!is_wanted(wish, call))
			continue;
		out[n] = events[i];
		out[n++].depth = leaves ? depth-- : ++depth;
	}
	return n;
}

static void test_select_keeps_pairs_and_counts_depths(void **state)
{
	static struct sonde_event expected[MOST];
	static struct pairs pairs;
	uint64_t random = 23;

	(void)state;
	for (unsigned int round = 0; round < 100; round++) {
		static const char *const patterns[] = { "al*", "gamma" };
		struct sonde_recording *recording = new_recording(1 + round % 6);
		struct wish wish = { { true, false, true, false, true, false }, 0, UINT32_MAX };
		struct sonde_selection_spec spec = { .functions = patterns, .function_count = 2 };
		struct collector collector;
		size_t count, wanted;
		const struct sonde_event *events;

		if (round % 3 == 1) {
			spec.function_count = 0;
			memset(wish.functions, true, sizeof(wish.functions));
		}
		if (round % 3) {
			spec.min_depth = wish.min_depth = round % 4;
			spec.max_depth = wish.max_depth = 3 + round % 5;
		}
		memory_add_calls(recording, 0, 3000, 0, FUNCTIONS, round % 2, &random);
		events = memory_events(recording, 0, &count);
		assert_true(count <= MOST);
		pair(events, count, &pairs);
		wanted = select_slowly(events, count, &pairs, &wish, expected);
		run(recording, spec, &collector, NULL);
		check_equal(&collector, expected, wanted);
		check_nesting(expected, wanted, round % 2);
		collector_release(&collector);
		sonde_recording_close(recording);
	}
}

static void test_select_by_kind_leaves_depths_alone(void **state)
{
	static const char *const patterns[] = { "al*" };
	struct sonde_recording *recording = new_recording(4);
	uint64_t random = 29;
	struct collector collector;
	size_t count, next = 0;
	const struct sonde_event *events;

	(void)state;
	memory_add_calls(recording, 0, 1000, 0, FUNCTIONS, false, &random);
	events = memory_events(recording, 0, &count);
	run(recording,
	    (struct sonde_selection_spec){
		    .kinds = 1u << SONDE_EVENT_CALL, .functions = patterns, .function_count = 1 },
	    &collector, NULL);
	for (size_t i = 0; i < collector.tracks[0].count; i++, next++) {
		while (events[next].kind != SONDE_EVENT_CALL ||
		       (events[next].function != 0 && events[next].function != 4))
			next++;
		assert_memory_equal(&collector.tracks[0].events[i], &events[next], sizeof(*events));
	}
	assert_true(collector.tracks[0].count > 100);
	collector_release(&collector);
	sonde_recording_close(recording);
}

static void test_a_return_without_a_call_is_judged_by_itself(void **state)
{
	static const char *const patterns[] = { "al*" };
	struct sonde_recording *recording = new_recording(4);
	struct collector collector;

	(void)state;
	memory_add_event(recording, 0, memory_event(SONDE_EVENT_RETURN, 1, 0, 7));
	memory_add_event(recording, 0, memory_event(SONDE_EVENT_RETURN, 2, 1, 6));
	memory_add_event(recording, 0, memory_event(SONDE_EVENT_CALL, 3, 4, 6));
	run(recording, (struct sonde_selection_spec){ .functions = patterns, .function_count = 1 },
	    &collector, NULL);
	assert_int_equal(collector.tracks[0].count, 2);
	assert_int_equal(collector.tracks[0].events[0].time_ns, 1);
	assert_int_equal(collector.tracks[0].events[0].depth, 1);
	assert_int_equal(collector.tracks[0].events[1].time_ns, 3);
	assert_int_equal(collector.tracks[0].events[1].depth, 1);
	collector_release(&collector);
	sonde_recording_close(recording);
}

/* Calls that are opened and closed by the cut are selected like any other. */
static void test_cut_and_select_together(void **state)
{
	static const char *const patterns[] = { "al*", "zeta" };
	uint64_t random = 31;

	(void)state;
	for (uint64_t from = 1; from < 60; from++) {
		struct sonde_recording *recording = new_recording(3);
		struct sonde_run_result result;
		struct collector collector;

		memory_add_calls(recording, 0, 100, 0, FUNCTIONS, true, &random);
		run(recording,
		    (struct sonde_selection_spec){ .from_ns = from,
						   .to_ns = from + 30,
						   .functions = patterns,
						   .function_count = 2 },
		    &collector, &result);
		check_nesting(collector.tracks[0].events, collector.tracks[0].count, true);
		for (size_t i = 0; i < collector.tracks[0].count; i++) {
			uint32_t function = collector.tracks[0].events[i].function;

			assert_true(function == 0 || function == 4 || function == 5);
		}
		assert_int_equal(result.events_written, collector.tracks[0].count);
		collector_release(&collector);
		sonde_recording_close(recording);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_piece_of_nested_calls),
		cmocka_unit_test(test_cut_of_deep_calls),
		cmocka_unit_test(test_cut_keeps_other_kinds_and_details),
		cmocka_unit_test(test_only_what_the_run_made_counts_as_synthetic),
		cmocka_unit_test(test_cut_finds_back_after_lost_returns),
		cmocka_unit_test(test_damaged_tracks),
		cmocka_unit_test(test_select_keeps_pairs_and_counts_depths),
		cmocka_unit_test(test_select_by_kind_leaves_depths_alone),
		cmocka_unit_test(test_a_return_without_a_call_is_judged_by_itself),
		cmocka_unit_test(test_cut_and_select_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
