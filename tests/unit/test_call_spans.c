/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of a track: how each ended, and the same sums as the tree of calls, on damaged tracks too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "memory_recording.h"
#include "model/call_spans.h"
#include "model/call_tree.h"

#define FUNCTIONS 8
#define EVENTS 4000

struct sums {
	uint64_t calls[FUNCTIONS], total_ns[FUNCTIONS], self_ns[FUNCTIONS];
	uint64_t outermost_ns[FUNCTIONS];
	struct sonde_call_span last;
	size_t count;
};

static enum sonde_status add_span(void *user, const struct sonde_call_span *span,
				  struct sonde_error *err)
{
	struct sums *sums = user;

	(void)err;
	sums->calls[span->function]++;
	sums->total_ns[span->function] += span->duration_ns;
	sums->self_ns[span->function] += span->self_ns;
	if (!span->is_recursive)
		sums->outermost_ns[span->function] += span->duration_ns;
	sums->last = *span;
	sums->count++;
	return SONDE_OK;
}

/* In no node above has the same function. */
static bool is_outermost(const struct sonde_call_node *nodes, uint32_t node)
{
	for (uint32_t up = nodes[node].parent; up; up = nodes[up].parent)
		if (nodes[up].function == nodes[node].function)
			return false;
	return true;
}

static void check_against_tree(const struct sonde_event *events, size_t count)
{
	struct sonde_call_tree *tree = sonde_call_tree_new();
	struct sonde_call_spans spans = { 0 };
	struct sums sums = { 0 }, expected = { 0 };
	const struct sonde_call_node *nodes;
	uint32_t node_count;

	/* in two pieces */
	assert_int_equal(sonde_call_spans_add(&spans, events, count / 2, add_span, &sums, NULL),
			 SONDE_OK);
	assert_int_equal(sonde_call_spans_add(&spans, events + count / 2, count - count / 2,
					      add_span, &sums, NULL),
			 SONDE_OK);
	assert_int_equal(sonde_call_spans_end(&spans, add_span, &sums, NULL), SONDE_OK);
	assert_int_equal(sonde_call_tree_add(tree, events, count, NULL, NULL, NULL), SONDE_OK);
	assert_int_equal(sonde_call_tree_end(tree, NULL, NULL, NULL), SONDE_OK);
	nodes = sonde_call_tree_nodes(tree, &node_count);
	for (uint32_t i = 1; i < node_count; i++) {
		expected.calls[nodes[i].function] += nodes[i].calls;
		expected.total_ns[nodes[i].function] += nodes[i].sum_ns;
		expected.self_ns[nodes[i].function] += nodes[i].self_ns;
		if (is_outermost(nodes, i))
			expected.outermost_ns[nodes[i].function] += nodes[i].sum_ns;
	}
	assert_memory_equal(sums.calls, expected.calls, sizeof(sums.calls));
	assert_memory_equal(sums.total_ns, expected.total_ns, sizeof(sums.total_ns));
	assert_memory_equal(sums.self_ns, expected.self_ns, sizeof(sums.self_ns));
	assert_memory_equal(sums.outermost_ns, expected.outermost_ns, sizeof(sums.outermost_ns));
	sonde_call_spans_release(&spans);
	sonde_call_tree_free(tree);
}

static void test_sums(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 30; seed++) {
		struct sonde_recording *recording = memory_recording_new(16);
		uint32_t process = memory_add_process(recording, "p");
		uint32_t track = memory_add_track(recording, process, "t");
		struct sonde_event damaged[EVENTS];
		const struct sonde_event *events;
		uint64_t random = seed;
		size_t count, kept = 0;

		for (int i = 0; i < FUNCTIONS; i++)
			memory_add_function(recording, process, "f");
		memory_add_calls(recording, track, EVENTS, 0, FUNCTIONS, seed % 2, &random);
		events = memory_events(recording, track, &count);
		check_against_tree(events, count);
		/* some events are lost, some come in disorder, some have no depth */
		for (size_t i = 0; i < count && kept < EVENTS; i++) {
			uint64_t draw = memory_random(&random) % 100;

			if (draw < seed % 7)
				continue;
			damaged[kept] = events[i];
			if (draw == 50)
				damaged[kept].time_ns -= 20;
			if (draw == 51)
				damaged[kept].depth = 0;
			kept++;
		}
		check_against_tree(damaged, kept);
		sonde_recording_close(recording);
	}
}

static void test_ends(void **state)
{
	const struct sonde_event events[] = {
		memory_event(SONDE_EVENT_RETURN, 5, 3, 1), /* of nothing */
		memory_event(SONDE_EVENT_CALL, 10, 0, 1),
		memory_event(SONDE_EVENT_CALL, 12, 1, 2),
		memory_event(SONDE_EVENT_INSTANT, 13, 7, 2),
		memory_event(SONDE_EVENT_CALL, 14, 2, 3), /* its return is lost */
		memory_event(SONDE_EVENT_EXCEPTION, 20, 1, 2),
		memory_event(SONDE_EVENT_CALL, 21, 0, 2), /* of the same function as around it */
	};
	struct sonde_call_spans spans = { 0 };
	struct sums sums = { 0 };

	(void)state;
	assert_int_equal(sonde_call_spans_add(&spans, events, 5, add_span, &sums, NULL), SONDE_OK);
	assert_int_equal(sums.count, 0);
	assert_int_equal(sonde_call_spans_add(&spans, events + 5, 1, add_span, &sums, NULL),
			 SONDE_OK);
	assert_int_equal(sums.count, 2);
	assert_int_equal(sums.total_ns[2], 6);
	assert_int_equal(sums.last.ended_by, SONDE_SPAN_END_EXCEPTION);
	assert_int_equal(sums.last.caller, 0);
	assert_int_equal(sums.last.self_ns, 2);
	assert_int_equal(sonde_call_spans_add(&spans, events + 6, 1, add_span, &sums, NULL),
			 SONDE_OK);
	assert_int_equal(sonde_call_spans_end(&spans, add_span, &sums, NULL), SONDE_OK);
	assert_int_equal(sums.count, 4);
	assert_int_equal(sums.last.ended_by, SONDE_SPAN_END_TRACK);
	assert_int_equal(sums.last.caller, SONDE_NONE);
	assert_int_equal(sums.outermost_ns[0], 11);
	assert_string_equal(sonde_span_end_name(SONDE_SPAN_END_LOST), "lost");
	/* a new track: times start anew */
	assert_int_equal(sonde_call_spans_add(&spans, events + 1, 1, add_span, &sums, NULL),
			 SONDE_OK);
	assert_int_equal(sonde_call_spans_end(&spans, add_span, &sums, NULL), SONDE_OK);
	assert_int_equal(sums.last.start_ns, 10);
	assert_int_equal(sums.last.duration_ns, 0);
	sonde_call_spans_release(&spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
