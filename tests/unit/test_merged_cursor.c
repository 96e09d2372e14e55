/* SPDX-License-Identifier: Apache-2.0 */
/* The merged cursor against a plain stable sort, and what it does at the edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#include "memory_recording.h"

/* An event with its place in the order that is right. */
struct expected {
	struct sonde_event event;
	size_t stream;
	size_t index;
};

static int compare(const void *a, const void *b)
{
	const struct expected *left = a, *right = b;

	if (left->event.time_ns != right->event.time_ns)
		return left->event.time_ns < right->event.time_ns ? -1 : 1;
	if (left->stream != right->stream)
		return left->stream < right->stream ? -1 : 1;
	return left->index < right->index ? -1 : 1;
}

static struct expected *sorted(const struct sonde_recording *recording, const uint32_t *tracks,
			       size_t track_count, size_t *total)
{
	struct expected *all = malloc(100000 * sizeof(*all));

	assert_non_null(all);
	*total = 0;
	for (size_t i = 0; i < track_count; i++) {
		size_t count;
		const struct sonde_event *events = memory_events(recording, tracks[i], &count);

		for (size_t k = 0; k < count; k++)
			all[(*total)++] = (struct expected){ events[k], i, k };
	}
	qsort(all, *total, sizeof(*all), compare);
	return all;
}

/* The cursor gives exactly these from here on. */
static void check_rest(struct sonde_merged_cursor *cursor, const struct expected *expected,
		       size_t count)
{
	struct sonde_batch batch;
	size_t place = 0;

	while (!sonde_merged_cursor_next(cursor, &batch, NULL)) {
		assert_true(batch.count && batch.count <= count - place);
		for (size_t i = 0; i < batch.count; i++, place++)
			assert_memory_equal(&batch.events[i], &expected[place].event,
					    sizeof(struct sonde_event));
	}
	assert_int_equal(place, count);
	assert_int_equal(sonde_merged_cursor_next(cursor, &batch, NULL), SONDE_END);
}

static void fill(struct sonde_recording *recording, uint32_t track_count, size_t most,
		 uint64_t *random)
{
	uint32_t process = memory_add_process(recording, "p");

	for (uint32_t track = 0; track < track_count; track++) {
		size_t count = most ? memory_random(random) % most : 0;
		uint64_t time_ns = memory_random(random) % 50;

		memory_add_track(recording, process, "t");
		for (uint32_t i = 0; i < count; i++) {
			time_ns += memory_random(random) % 4;
			memory_add_event(recording, track,
					 memory_event(SONDE_EVENT_CALL, time_ns, i, 1));
		}
	}
}

static void test_merges_like_a_stable_sort(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (unsigned int round = 0; round < 200; round++) {
		struct sonde_recording *recording = memory_recording_new(1 + round % 7);
		uint32_t track_count = 1 + round % 9, tracks[9];
		struct sonde_merged_cursor *cursor;
		struct expected *expected;
		size_t total;

		fill(recording, track_count, round < 100 ? 40 : 3000, &random);
		for (uint32_t i = 0; i < track_count; i++)
			tracks[i] = (i + round) % track_count;
		expected = sorted(recording, tracks, track_count, &total);
		assert_int_equal(
			sonde_merged_cursor_open(recording, tracks, track_count, &cursor, NULL),
			SONDE_OK);
		check_rest(cursor, expected, total);
		sonde_merged_cursor_free(cursor);
		free(expected);
		sonde_recording_close(recording);
	}
}

static void test_seek_time(void **state)
{
	const uint32_t tracks[] = { 0, 1, 2, 3, 4 };
	struct sonde_recording *recording = memory_recording_new(3);
	struct sonde_merged_cursor *cursor;
	struct expected *expected;
	uint64_t random = 7;
	size_t total;

	(void)state;
	fill(recording, 5, 400, &random);
	expected = sorted(recording, tracks, 5, &total);
	assert_int_equal(sonde_merged_cursor_open(recording, NULL, 0, &cursor, NULL), SONDE_OK);
	for (unsigned int round = 0; round < 100; round++) {
		uint64_t time_ns = memory_random(&random) % 700;
		struct sonde_batch batch;
		size_t skipped = 0;

		while (skipped < total && expected[skipped].event.time_ns < time_ns)
			skipped++;
		if (round % 2)
			sonde_merged_cursor_next(cursor, &batch, NULL);
		sonde_merged_cursor_seek_time(cursor, time_ns);
		check_rest(cursor, expected + skipped, total - skipped);
	}
	sonde_merged_cursor_seek_time(cursor, 0);
	check_rest(cursor, expected, total);
	sonde_merged_cursor_free(cursor);
	free(expected);
	sonde_recording_close(recording);
}

static void test_times_up_to_the_largest(void **state)
{
	const uint32_t tracks[] = { 0, 1, 2 };
	struct sonde_recording *recording = memory_recording_new(2);
	struct sonde_merged_cursor *cursor;
	struct expected *expected;
	size_t total;

	(void)state;
	memory_add_process(recording, "p");
	for (uint32_t track = 0; track < 3; track++) {
		memory_add_track(recording, 0, "t");
		for (uint32_t i = 0; i < 3; i++)
			memory_add_event(recording, track,
					 memory_event(SONDE_EVENT_CALL, i ? UINT64_MAX : 0, i, 1));
	}
	expected = sorted(recording, tracks, 3, &total);
	assert_int_equal(sonde_merged_cursor_open(recording, NULL, 0, &cursor, NULL), SONDE_OK);
	check_rest(cursor, expected, total);
	sonde_merged_cursor_free(cursor);
	free(expected);
	sonde_recording_close(recording);
}

static void test_backward_times_keep_the_order_in_a_track(void **state)
{
	struct sonde_recording *recording = memory_recording_new(3);
	struct sonde_merged_cursor *cursor;
	struct sonde_batch batch;
	uint32_t next[4] = { 0 };
	uint64_t random = 3;

	(void)state;
	memory_add_process(recording, "p");
	for (uint32_t track = 0; track < 4; track++) {
		memory_add_track(recording, 0, "t");
		for (uint32_t i = 0; i < 500; i++)
			memory_add_event(
				recording, track,
				memory_event(SONDE_EVENT_CALL, memory_random(&random) % 100, i, 1));
	}
	assert_int_equal(sonde_merged_cursor_open(recording, NULL, 0, &cursor, NULL), SONDE_OK);
	while (!sonde_merged_cursor_next(cursor, &batch, NULL)) {
		for (size_t i = 0; i < batch.count; i++)
			assert_int_equal(batch.events[i].function, next[batch.events[i].track]++);
	}
	for (uint32_t track = 0; track < 4; track++)
		assert_int_equal(next[track], 500);
	sonde_merged_cursor_free(cursor);
	sonde_recording_close(recording);
}

static void test_empty_and_repeated_tracks(void **state)
{
	const uint32_t twice[] = { 1, 1, 0, 1 }, absent[] = { 0, 5 };
	struct sonde_recording *recording = memory_recording_new(2);
	struct sonde_merged_cursor *cursor;
	struct sonde_error err = { 0 };
	struct sonde_batch batch;

	(void)state;
	memory_add_process(recording, "p");
	memory_add_track(recording, 0, "empty");
	memory_add_track(recording, 0, "one");
	memory_add_event(recording, 1, memory_event(SONDE_EVENT_CALL, 5, 0, 1));
	assert_int_equal(sonde_merged_cursor_open(recording, twice, 4, &cursor, NULL), SONDE_OK);
	assert_int_equal(sonde_merged_cursor_next(cursor, &batch, NULL), SONDE_OK);
	assert_int_equal(batch.count, 1);
	assert_int_equal(sonde_merged_cursor_next(cursor, &batch, NULL), SONDE_END);
	sonde_merged_cursor_free(cursor);
	assert_int_equal(sonde_merged_cursor_open(recording, twice + 2, 1, &cursor, NULL),
			 SONDE_OK);
	assert_int_equal(sonde_merged_cursor_next(cursor, &batch, NULL), SONDE_END);
	sonde_merged_cursor_free(cursor);
	assert_int_equal(sonde_merged_cursor_open(recording, absent, 2, &cursor, &err),
			 SONDE_ARGUMENT);
	assert_null(cursor);
	assert_non_null(strstr(err.message, "track 5"));
	sonde_merged_cursor_free(NULL);
	sonde_recording_close(recording);
}

static void test_details(void **state)
{
	struct sonde_recording *recording = memory_recording_new(2);
	struct sonde_merged_cursor *cursor;
	struct sonde_detail detail;
	struct sonde_batch batch;
	struct sonde_event event;

	(void)state;
	memory_add_process(recording, "p");
	for (uint32_t track = 0; track < 3; track++) {
		memory_add_track(recording, 0, "t");
		for (uint32_t i = 0; i < 10; i++) {
			event = memory_event(SONDE_EVENT_CALL, i, 100 * track + i, 1);
			if (i % 2)
				event.detail = memory_add_detail(recording, track, event.function);
			memory_add_event(recording, track, event);
		}
	}
	assert_int_equal(sonde_merged_cursor_open(recording, NULL, 0, &cursor, NULL), SONDE_OK);
	assert_int_equal(sonde_merged_cursor_next(cursor, &batch, NULL), SONDE_OK);
	assert_int_equal(batch.count, 30);
	for (size_t i = 0; i < batch.count; i++) {
		enum sonde_status status =
			sonde_merged_cursor_detail(cursor, &batch.events[i], &detail, NULL);

		assert_int_equal(status, batch.events[i].time_ns % 2 ? SONDE_OK : SONDE_END);
		if (status == SONDE_OK)
			assert_int_equal(detail.function, batch.events[i].function);
	}
	event = memory_event(SONDE_EVENT_CALL, 0, 0, 0);
	event.track = 3;
	event.detail = 0;
	assert_int_equal(sonde_merged_cursor_detail(cursor, &event, &detail, NULL), SONDE_ARGUMENT);
	event.kind = SONDE_EVENT_COUNTER;
	assert_int_equal(sonde_merged_cursor_detail(cursor, &event, &detail, NULL), SONDE_END);
	assert_int_equal(sonde_batch_detail(&batch, &batch.events[29], &detail, NULL),
			 SONDE_ARGUMENT);
	sonde_merged_cursor_free(cursor);
	sonde_recording_close(recording);
}

static void test_a_failure_comes_after_what_was_read(void **state)
{
	struct sonde_recording *recording = memory_recording_new(2);
	struct sonde_merged_cursor *cursor;
	struct sonde_error err = { 0 };
	struct sonde_batch batch;
	uint64_t random = 5;
	size_t count = 0;

	(void)state;
	fill(recording, 3, 1000, &random);
	memory_fail_at(recording, 1, 100);
	assert_int_equal(sonde_merged_cursor_open(recording, NULL, 0, &cursor, NULL), SONDE_OK);
	while (!sonde_merged_cursor_next(cursor, &batch, &err))
		count += batch.count;
	assert_true(count >= 100);
	assert_int_equal(err.status, SONDE_CORRUPT);
	assert_int_equal(sonde_merged_cursor_next(cursor, &batch, NULL), SONDE_CORRUPT);
	assert_int_equal(batch.count, 0);
	sonde_merged_cursor_seek_time(cursor, 0);
	assert_int_equal(sonde_merged_cursor_next(cursor, &batch, NULL), SONDE_OK);
	sonde_merged_cursor_free(cursor);
	sonde_recording_close(recording);
}

static void test_recording_sums(void **state)
{
	struct sonde_recording *recording = memory_recording_new(2);
	struct sonde_cursor *cursor;
	uint64_t first, last;

	(void)state;
	memory_add_process(recording, "p");
	memory_add_track(recording, 0, "empty");
	assert_false(sonde_recording_time_range(recording, &first, &last));
	assert_int_equal(first + last, 0);
	memory_add_track(recording, 0, "a");
	memory_add_track(recording, 0, "b");
	memory_add_event(recording, 1, memory_event(SONDE_EVENT_CALL, 50, 0, 1));
	memory_add_event(recording, 2, memory_event(SONDE_EVENT_CALL, 20, 0, 1));
	memory_add_event(recording, 2, memory_event(SONDE_EVENT_RETURN, 40, 0, 1));
	assert_true(sonde_recording_time_range(recording, &first, &last));
	assert_int_equal(first, 20);
	assert_int_equal(last, 50);
	assert_int_equal(sonde_recording_event_count(recording), 3);
	assert_int_equal(sonde_cursor_open(recording, 3, &cursor, NULL), SONDE_ARGUMENT);
	assert_null(cursor);
	sonde_cursor_free(cursor);
	sonde_recording_close(recording);
	sonde_recording_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merges_like_a_stable_sort),
		cmocka_unit_test(test_seek_time),
		cmocka_unit_test(test_times_up_to_the_largest),
		cmocka_unit_test(test_backward_times_keep_the_order_in_a_track),
		cmocka_unit_test(test_empty_and_repeated_tracks),
		cmocka_unit_test(test_details),
		cmocka_unit_test(test_a_failure_comes_after_what_was_read),
		cmocka_unit_test(test_recording_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
