/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree that calls make: against a slow reference over random traces, and what becomes of tracks
 * that lost calls or returns, or whose time goes back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include <sonde/sonde.h>

#include "memory_recording.h"
#include "model/call_tree.h"
#include "model/recording.h"

#define C(time, function, depth) memory_event(SONDE_EVENT_CALL, time, function, depth)
#define R(time, function, depth) memory_event(SONDE_EVENT_RETURN, time, function, depth)
#define X(time, function, depth) memory_event(SONDE_EVENT_EXCEPTION, time, function, depth)
#define I(time) memory_event(SONDE_EVENT_INSTANT, time, 0, 0)

struct changes {
	char text[512];
	size_t used;
	uint64_t last_ns;
	unsigned int fail_after; /* 0: never */
	unsigned int count;
};

static enum sonde_status note_change(void *user, uint64_t time_ns, uint32_t node,
				     struct sonde_error *err)
{
	struct changes *changes = user;

	assert_true(time_ns >= changes->last_ns);
	changes->last_ns = time_ns;
	if (++changes->count == changes->fail_after)
		return sonde_fail(err, SONDE_IO, SONDE_NO_OFFSET, "made to fail");
	if (changes->used < sizeof(changes->text))
		changes->used += (size_t)snprintf(
			changes->text + changes->used, sizeof(changes->text) - changes->used,
			"%s%u@%u", changes->used ? " " : "", node, (unsigned int)time_ns);
	return SONDE_OK;
}

/* "path calls/self" of each node, paths of letters. */
static const char *tree_text(const struct sonde_call_tree *tree)
{
	static char text[1024];
	uint32_t count;
	const struct sonde_call_node *nodes = sonde_call_tree_nodes(tree, &count);
	size_t used = 0;

	for (uint32_t i = 0; i < count; i++) {
		char path[16] = "";
		size_t place = sizeof(path) - 1;

		for (uint32_t k = i; k && place; k = nodes[k].parent) {
			assert_true(nodes[k].parent < k);
			path[--place] = (char)('A' + nodes[k].function);
		}
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %u/%u",
					 i ? ", " : "", i ? path + place : "-",
					 (unsigned int)nodes[i].calls,
					 (unsigned int)nodes[i].self_ns);
	}
	return text;
}

static void check(const struct sonde_event *events, size_t count, const char *expected_tree,
		  const char *expected_changes)
{
	struct sonde_call_tree *tree = sonde_call_tree_new();

	assert_non_null(tree);
	/* in one piece and event by event, in the same tree after it was emptied */
	for (size_t step = count; step; step = step == 1 ? 0 : 1) {
		struct changes changes = { 0 };

		for (size_t i = 0; i < count; i += step)
			assert_int_equal(sonde_call_tree_add(tree, events + i, step, note_change,
							     &changes, NULL),
					 SONDE_OK);
		assert_int_equal(sonde_call_tree_end(tree, note_change, &changes, NULL), SONDE_OK);
		assert_string_equal(tree_text(tree), expected_tree);
		if (expected_changes)
			assert_string_equal(changes.text, expected_changes);
		sonde_call_tree_clear(tree);
		assert_string_equal(tree_text(tree), "- 0/0");
	}
	sonde_call_tree_free(tree);
}

#define CHECK(tree, changes, ...)                                                                  \
	do {                                                                                       \
		const struct sonde_event events_[] = { __VA_ARGS__ };                              \
		check(events_, sizeof(events_) / sizeof(events_[0]), tree, changes);               \
	} while (0)

static void test_paths(void **state)
{
	(void)state;
	CHECK("- 0/5, A 2/12, AB 3/7, B 1/1",
	      "1@10 2@12 1@15 2@16 1@18 2@20 1@22 0@23 3@25 0@26 "
	      "1@28 0@34",
	      C(10, 0, 1), C(12, 1, 2), R(15, 1, 2), C(16, 1, 2), R(18, 1, 2), C(20, 1, 2),
	      X(22, 1, 2), R(23, 0, 1), C(25, 1, 1), R(26, 1, 1), C(28, 0, 1), R(34, 0, 1), I(35));
}

/* The same function below itself is another node at each level. */
static void test_recursion(void **state)
{
	(void)state;
	CHECK("- 0/0, A 1/3, AA 1/2, AAA 1/4", NULL, C(0, 0, 1), C(1, 0, 2), C(2, 0, 3), R(6, 0, 3),
	      R(7, 0, 2), R(9, 0, 1));
}

static void test_open_calls_end_with_the_track(void **state)
{
	(void)state;
	CHECK("- 0/4, A 1/2, AB 1/6", "1@4 2@6 0@12", I(0), C(4, 0, 1), C(6, 1, 2), I(12));
}

static void test_returns_without_calls(void **state)
{
	(void)state;
	CHECK("- 0/7, A 1/3", "1@5 0@8", R(1, 0, 1), R(2, 3, 4), C(5, 0, 1), R(6, 2, 1), R(8, 0, 1),
	      X(11, 0, 1));
}

/* A return closes the calls above its own, whose returns are lost. */
static void test_lost_returns(void **state)
{
	(void)state;
	CHECK("- 0/2, A 2/5, AB 1/1, ABC 1/2", NULL, C(0, 0, 1), C(1, 1, 2), C(2, 2, 3), R(4, 0, 1),
	      C(6, 0, 1), R(10, 0, 1));
	/* and so does a call that is less deep than what is open */
	CHECK("- 0/0, A 1/5, AB 1/1, ABC 1/2, AD 1/4", NULL, C(0, 0, 1), C(1, 1, 2), C(2, 2, 3),
	      C(4, 3, 2), R(8, 3, 2), R(12, 0, 1));
	/* the depth tells which call of a recursion is left */
	CHECK("- 0/4, A 1/1, AA 1/1, AAA 1/2", NULL, C(0, 0, 1), C(1, 0, 2), C(2, 0, 3), R(4, 0, 1),
	      I(8));
}

static void test_lost_calls(void **state)
{
	(void)state;
	/* calls at depth 2 are missing: what is there hangs together */
	CHECK("- 0/0, A 1/3, AC 1/5", NULL, C(0, 0, 1), C(1, 2, 3), R(6, 2, 3), R(7, 1, 2),
	      R(8, 0, 1));
	/* the return of a lost call does not close a caller of the same function */
	CHECK("- 0/0, A 1/2, AB 1/8", NULL, C(0, 0, 1), C(1, 1, 2), R(4, 0, 3), R(9, 1, 2),
	      R(10, 0, 1));
}

/* Times never go back in what is made; what ran backwards took no time. */
static void test_time_goes_back(void **state)
{
	(void)state;
	CHECK("- 0/0, A 1/1, AB 1/5", "1@10 2@10 1@15 0@16", C(10, 0, 1), C(7, 1, 2), I(3),
	      R(15, 1, 2), R(16, 0, 1));
}

/* A source that knows no depths. */
static void test_no_depths(void **state)
{
	(void)state;
	CHECK("- 0/0, A 1/2, AB 2/4", NULL, C(0, 0, 0), C(1, 1, 0), R(3, 1, 0), C(3, 1, 0),
	      R(5, 1, 0), R(6, 0, 0));
}

static void test_a_failing_listener_stops(void **state)
{
	const struct sonde_event events[] = { C(0, 0, 1), C(1, 1, 2), R(2, 1, 2), R(3, 0, 1) };
	struct sonde_call_tree *tree = sonde_call_tree_new();
	struct changes changes = { .fail_after = 3 };

	(void)state;
	assert_int_equal(sonde_call_tree_add(tree, events, 4, note_change, &changes, NULL),
			 SONDE_IO);
	assert_int_equal(changes.count, 3);
	sonde_call_tree_free(tree);
}

/* Random traces: the sums by a stack of one's own. */
static void test_sums(void **state)
{
	struct sonde_recording *recording = memory_recording_new(64);
	uint32_t process = memory_add_process(recording, "p"), track, count;
	struct sonde_call_tree *tree = sonde_call_tree_new();
	uint64_t random = 77, calls = 0, inside = 0, self = 0, counted = 0;
	const struct sonde_call_node *nodes;
	const struct sonde_event *events;
	size_t event_count, depth = 0;

	(void)state;
	track = memory_add_track(recording, process, "t");
	memory_add_calls(recording, track, 20000, 0, 5, true, &random);
	events = memory_events(recording, track, &event_count);
	for (size_t i = 0; i < event_count; i++) {
		if (depth)
			inside += events[i].time_ns - events[i - 1].time_ns;
		calls += events[i].kind == SONDE_EVENT_CALL;
		depth += events[i].kind == SONDE_EVENT_CALL ? 1 : (size_t)-1;
	}
	assert_int_equal(sonde_call_tree_add(tree, events, event_count, NULL, NULL, NULL),
			 SONDE_OK);
	assert_int_equal(sonde_call_tree_end(tree, NULL, NULL, NULL), SONDE_OK);
	nodes = sonde_call_tree_nodes(tree, &count);
	for (uint32_t i = 1; i < count; i++) {
		assert_true(nodes[i].parent < i);
		self += nodes[i].self_ns;
		counted += nodes[i].calls;
		for (uint32_t k = 1; i < 300 && k < i; k++)
			assert_false(nodes[k].parent == nodes[i].parent &&
				     nodes[k].function == nodes[i].function);
	}
	assert_int_equal(counted, calls);
	assert_int_equal(self, inside);
	assert_int_equal(self + nodes[0].self_ns,
			 events[event_count - 1].time_ns - events[0].time_ns);
	sonde_call_tree_free(tree);
	sonde_recording_close(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_open_calls_end_with_the_track),
		cmocka_unit_test(test_returns_without_calls),
		cmocka_unit_test(test_lost_returns),
		cmocka_unit_test(test_lost_calls),
		cmocka_unit_test(test_time_goes_back),
		cmocka_unit_test(test_no_depths),
		cmocka_unit_test(test_a_failing_listener_stops),
		cmocka_unit_test(test_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
