/* SPDX-License-Identifier: Apache-2.0 */
/* Selections: what fits, what is refused, and functions that are defined later. */
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

struct fixture {
	struct sonde_recording *recording;
	struct sonde_selection *selection;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint32_t process;

	assert_non_null(fixture);
	fixture->recording = memory_recording_new(2);
	process = memory_add_process(fixture->recording, "p");
	for (unsigned int i = 0; i < 3; i++)
		memory_add_track(fixture->recording, process, "t");
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	sonde_selection_free(fixture->selection);
	sonde_recording_close(fixture->recording);
	free(fixture);
	return 0;
}

static void make(struct fixture *fixture, struct sonde_selection_spec spec)
{
	assert_int_equal(sonde_selection_new(&spec, fixture->recording->definitions,
					     &fixture->selection, NULL),
			 SONDE_OK);
}

static bool has(struct fixture *fixture, struct sonde_event event)
{
	return sonde_selection_has(fixture->selection, &event);
}

static bool has_function(struct fixture *fixture, uint32_t function)
{
	return has(fixture, memory_event(SONDE_EVENT_CALL, 0, function, 1));
}

static void test_zeroed_takes_all(void **state)
{
	struct fixture *fixture = *state;
	struct sonde_event event = memory_event(SONDE_EVENT_COUNTER, UINT64_MAX, SONDE_NONE, 0);

	make(fixture, (struct sonde_selection_spec){ 0 });
	assert_true(has(fixture, event));
	event = memory_event(SONDE_EVENT_CALL, 0, 0, UINT32_MAX);
	event.track = 77;
	assert_true(has(fixture, event));
}

static void test_time_is_half_open(void **state)
{
	struct fixture *fixture = *state;

	make(fixture, (struct sonde_selection_spec){ .from_ns = 10, .to_ns = 20 });
	assert_false(has(fixture, memory_event(SONDE_EVENT_CALL, 9, 0, 1)));
	assert_true(has(fixture, memory_event(SONDE_EVENT_CALL, 10, 0, 1)));
	assert_true(has(fixture, memory_event(SONDE_EVENT_CALL, 19, 0, 1)));
	assert_false(has(fixture, memory_event(SONDE_EVENT_CALL, 20, 0, 1)));
}

static void test_tracks_kinds_and_depths(void **state)
{
	const uint32_t tracks[] = { 2, 0 };
	struct fixture *fixture = *state;
	struct sonde_event event = memory_event(SONDE_EVENT_RETURN, 0, 0, 3);

	make(fixture, (struct sonde_selection_spec){
			      .tracks = tracks,
			      .track_count = 2,
			      .kinds = 1u << SONDE_EVENT_RETURN | 1u << SONDE_EVENT_OTHER,
			      .min_depth = 2,
			      .max_depth = 3,
		      });
	assert_true(has(fixture, event));
	event.track = 1;
	assert_false(has(fixture, event));
	event.track = 3;
	assert_false(has(fixture, event));
	event.track = 2;
	assert_true(has(fixture, event));
	event.depth = 4;
	assert_false(has(fixture, event));
	event.depth = 1;
	assert_false(has(fixture, event));
	event.depth = 2;
	event.kind = SONDE_EVENT_CALL;
	assert_false(has(fixture, event));
	event.kind = 99;
	assert_true(has(fixture, event));
}

static void test_function_patterns(void **state)
{
	static const char *const patterns[] = { "read*", "operator[]", "_ZN*",
						"0x00000000000000?7" };
	struct fixture *fixture = *state;
	struct sonde_definitions *definitions = fixture->recording->definitions;
	struct sonde_function mangled = { .name = 0 }, nameless = { .has_key = true, .key = 7 };
	uint32_t read = memory_add_function(fixture->recording, 0, "read_all");
	uint32_t reader = memory_add_function(fixture->recording, 0, "thread");
	uint32_t index = memory_add_function(fixture->recording, 0, "operator[]");
	uint32_t id, later;

	make(fixture, (struct sonde_selection_spec){ .functions = patterns, .function_count = 4 });
	for (unsigned int round = 0; round < 2; round++) {
		assert_true(has_function(fixture, read));
		assert_false(has_function(fixture, reader));
		assert_true(has_function(fixture, index));
		assert_false(has_function(fixture, SONDE_NONE));
		assert_false(has_function(fixture, 1000));
	}
	later = memory_add_function(fixture->recording, 0, "reads_later");
	assert_true(has_function(fixture, later));
	mangled.name = memory_add_string(definitions, "a::b()");
	mangled.raw_name = memory_add_string(definitions, "_ZN1a1bEv");
	assert_int_equal(sonde_definitions_add_function(definitions, &mangled, &id, NULL), 0);
	assert_true(has_function(fixture, id));
	assert_int_equal(sonde_definitions_add_function(definitions, &nameless, &id, NULL), 0);
	assert_true(has_function(fixture, id));
	for (uint32_t i = 0; i < 500; i++)
		id = memory_add_function(fixture->recording, 0, i % 2 ? "read" : "write");
	for (uint32_t i = 0; i < 500; i++)
		assert_int_equal(has_function(fixture, id - i), i % 2 == 0);
}

static void test_other_kinds_go_by_event_type(void **state)
{
	static const char *const patterns[] = { "frame*" };
	struct fixture *fixture = *state;
	struct sonde_definitions *definitions = fixture->recording->definitions;
	struct sonde_event_type type = { .name = memory_add_string(definitions, "frame-start") };
	uint32_t id;

	memory_add_function(fixture->recording, 0, "main");
	assert_int_equal(sonde_definitions_add_event_type(definitions, &type, &id, NULL), 0);
	make(fixture, (struct sonde_selection_spec){ .functions = patterns, .function_count = 1 });
	assert_int_equal(id, 0);
	assert_true(has(fixture, memory_event(SONDE_EVENT_INSTANT, 0, 0, 0)));
	assert_false(has(fixture, memory_event(SONDE_EVENT_CALL, 0, 0, 0)));
	assert_false(has(fixture, memory_event(SONDE_EVENT_INSTANT, 0, 1, 0)));
}

static void check_refused(struct fixture *fixture, struct sonde_selection_spec spec,
			  const char *word)
{
	struct sonde_error err = { 0 };

	assert_int_equal(sonde_selection_new(&spec, fixture->recording->definitions,
					     &fixture->selection, &err),
			 SONDE_ARGUMENT);
	assert_null(fixture->selection);
	assert_non_null(strstr(err.message, word));
}

static void test_nonsense_is_refused(void **state)
{
	const uint32_t tracks[] = { 0, 3 };
	struct fixture *fixture = *state;

	check_refused(fixture, (struct sonde_selection_spec){ .from_ns = 5, .to_ns = 4 }, "before");
	check_refused(fixture, (struct sonde_selection_spec){ .min_depth = 5, .max_depth = 4 },
		      "depth");
	check_refused(fixture, (struct sonde_selection_spec){ .tracks = tracks, .track_count = 2 },
		      "no track 3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_zeroed_takes_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_time_is_half_open, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tracks_kinds_and_depths, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_function_patterns, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_kinds_go_by_event_type, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_nonsense_is_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
