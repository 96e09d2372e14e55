/* SPDX-License-Identifier: Apache-2.0 */
/* Exceptions of a recording: groups, counts, times, paths, texts of details, and limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/errors.h"
#include "memory_recording.h"
#include "model/recording.h"

enum { MAIN, WORK, LOAD };

struct world {
	struct sonde_recording *recording;
	uint32_t type;
};

static void make(struct world *world, unsigned int tracks)
{
	struct sonde_recording *recording = memory_recording_new(3);
	uint32_t process = memory_add_process(recording, "p");

	memory_add_function(recording, process, "main");
	memory_add_function(recording, process, "work");
	memory_add_function(recording, process, "load");
	for (unsigned int i = 0; i < tracks; i++)
		memory_add_track(recording, process, i ? "second" : "first");
	world->recording = recording;
	world->type = memory_add_event_type(recording, "zts.exception",
					    "utf8 class, utf8 message, any stack, any cause");
}

static void put(struct world *world, uint32_t track, enum sonde_event_kind kind, uint64_t time,
		uint32_t function, uint32_t depth)
{
	memory_add_event(world->recording, track, memory_event(kind, time, function, depth));
}

static size_t pack_text(uint8_t *bytes, const char *text)
{
	uint32_t length = (uint32_t)strlen(text);
	size_t padded = (length + 3u) / 4 * 4;

	memcpy(bytes, &length, 4);
	memset(bytes + 4, 0, padded);
	memcpy(bytes + 4, text, length);
	return 4 + padded;
}

static void throw(struct world * world, uint32_t track, uint64_t time, uint32_t function,
		  uint32_t depth, const char *class, const char *message, const char *stack)
{
	struct sonde_event event = memory_event(SONDE_EVENT_EXCEPTION, time, function, depth);
	uint8_t bytes[4000];
	size_t size = pack_text(bytes, class);

	size += pack_text(bytes + size, message);
	size += pack_text(bytes + size, stack);
	size += pack_text(bytes + size, "null");
	event.detail = memory_add_arguments(world->recording, track, world->type, bytes, size);
	memory_add_event(world->recording, track, event);
}

static void find(struct errors *errors, struct world *world,
		 const struct sonde_run_options *options)
{
	struct sonde_error err = { 0 };

	if (errors_find(errors, world->recording, options, &err))
		fail_msg("%s", err.message);
}

static void test_groups(void **state)
{
	struct sonde_run_options options = { .threads = 2 };
	const struct error_group *group;
	struct errors errors;
	struct world world;

	(void)state;
	make(&world, 2);
	put(&world, 0, SONDE_EVENT_CALL, 10, MAIN, 1);
	for (uint64_t i = 0; i < 3; i++) {
		put(&world, 0, SONDE_EVENT_CALL, 100 * i + 20, WORK, 2);
		put(&world, 0, SONDE_EVENT_CALL, 100 * i + 30, LOAD, 3);
		throw(&world, 0, 100 * i + 40, LOAD, 3, "IOError", i == 1 ? "gone" : "no file",
		      "[\"load:1\"]");
		put(&world, 0, SONDE_EVENT_EXCEPTION, 100 * i + 40, WORK, 2);
	}
	put(&world, 0, SONDE_EVENT_CALL, 400, WORK, 2);
	put(&world, 0, SONDE_EVENT_RETURN, 410, WORK, 2);
	put(&world, 0, SONDE_EVENT_RETURN, 500, MAIN, 1);
	/* the same, earlier, without a caller, and a return that is missing */
	put(&world, 1, SONDE_EVENT_CALL, 5, LOAD, 1);
	put(&world, 1, SONDE_EVENT_CALL, 6, WORK, 2);
	throw(&world, 1, 7, LOAD, 1, "IOError", "no file", "null");
	find(&errors, &world, &options);
	assert_int_equal(errors.exceptions, 7);
	assert_int_equal(errors.calls, 10);
	assert_int_equal(errors.failed_calls, 7);
	assert_int_equal(errors.group_count, 3);
	group = &errors.groups[0];
	assert_string_equal(group->function, "load");
	assert_string_equal(group->type, "IOError");
	assert_string_equal(group->message, "no file");
	assert_int_equal(group->count, 3);
	assert_int_equal(group->passed_on, 0);
	assert_int_equal(group->calls, 4);
	assert_int_equal(group->failed_calls, 4);
	assert_int_equal(group->first_ns, 7);
	assert_int_equal(group->last_ns, 240);
	assert_string_equal(group->track, "second");
	assert_int_equal(group->path_count, 2);
	assert_string_equal(group->path[0], "load");
	assert_string_equal(group->stack, "");
	group = &errors.groups[1];
	assert_string_equal(group->function, "work");
	assert_string_equal(group->type, "");
	assert_int_equal(group->count, 3);
	assert_int_equal(group->passed_on, 3);
	assert_int_equal(group->calls, 5);
	group = &errors.groups[2];
	assert_string_equal(group->message, "gone");
	assert_int_equal(group->count, 1);
	assert_string_equal(group->track, "first");
	assert_string_equal(group->stack, "[\"load:1\"]");
	assert_int_equal(group->path_count, 3);
	assert_string_equal(group->path[0], "main");
	assert_string_equal(group->path[2], "load");
	errors_release(&errors);
	/* a part of the time */
	options.selection.from_ns = 100;
	options.selection.to_ns = 200;
	find(&errors, &world, &options);
	assert_int_equal(errors.exceptions, 2);
	assert_string_equal(errors.groups[0].message, "gone");
	errors_release(&errors);
	sonde_recording_close(world.recording);
}

static void test_limits(void **state)
{
	struct sonde_run_options options = { .threads = 1 };
	struct errors errors;
	struct world world;
	char message[3000];
	uint64_t count = 0;

	(void)state;
	make(&world, 1);
	for (uint32_t i = 0; i < ERRORS_PATH_LIMIT + 5; i++)
		put(&world, 0, SONDE_EVENT_CALL, i, i % 3, i + 1);
	memset(message, 'x', sizeof(message));
	message[sizeof(message) - 1] = '\0';
	for (uint32_t i = 0; i < ERRORS_GROUP_LIMIT + 10; i++) {
		put(&world, 0, SONDE_EVENT_CALL, 1000 + i, WORK, 100);
		throw(&world, 0, 1000 + i, WORK, 100, "\xff\xfe", message, "");
		snprintf(message, sizeof(message), "number %u", i);
	}
	find(&errors, &world, &options);
	assert_int_equal(errors.exceptions, ERRORS_GROUP_LIMIT + 10);
	assert_int_equal(errors.group_count, ERRORS_GROUP_LIMIT + 1);
	assert_true(errors.groups[0].is_rest);
	assert_int_equal(errors.groups[0].count, 10);
	assert_int_equal(errors.groups[0].path_count, ERRORS_PATH_LIMIT);
	assert_int_equal(errors.groups[0].path_cut, 6);
	for (uint32_t i = 0; i < errors.group_count; i++) {
		count += errors.groups[i].count;
		assert_true(strlen(errors.groups[i].message) <= ERRORS_TEXT_LIMIT);
	}
	assert_int_equal(count, errors.exceptions);
	assert_string_equal(errors.groups[1].type, "\xef\xbf\xbd\xef\xbf\xbd");
	errors_release(&errors);
	sonde_recording_close(world.recording);
}

static void test_none(void **state)
{
	struct sonde_run_options options = { 0 };
	struct errors errors;
	struct world world;

	(void)state;
	make(&world, 1);
	put(&world, 0, SONDE_EVENT_CALL, 1, MAIN, 1);
	find(&errors, &world, &options);
	assert_int_equal(errors.group_count, 0);
	assert_int_equal(errors.calls, 1);
	errors_release(&errors);
	world.recording->lanes = SONDE_LANE_VALUES;
	find(&errors, &world, &options);
	assert_int_equal(errors.calls, 0);
	errors_release(&errors);
	sonde_recording_close(world.recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
