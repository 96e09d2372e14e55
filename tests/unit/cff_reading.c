/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and checking wtf-trace files in tests; see cff_reading.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <sonde/sonde.h>

#include "cff_reading.h"
#include "scratch.h"

struct sonde_error err;

const char *write_fixture(struct fixture *fixture, const char *name)
{
	const char *path = scratch_path(name);

	put_bytes(path, fixture->file, fixture->size);
	return path;
}

struct sonde_recording *open_path(const char *path)
{
	struct sonde_recording *recording = NULL;

	if (sonde_recording_open(path, NULL, &recording, &err) < 0)
		fail_msg("%s: %s", path, err.message);
	return recording;
}

struct sonde_recording *open_fixture(struct fixture *fixture)
{
	struct sonde_recording *recording = open_path(write_fixture(fixture, "a.wtf-trace"));

	fixture_release(fixture);
	return recording;
}

struct sonde_cursor *open_cursor(struct sonde_recording *recording, uint32_t track)
{
	struct sonde_cursor *cursor = NULL;

	assert_int_equal(sonde_cursor_open(recording, track, &cursor, &err), SONDE_OK);
	return cursor;
}

static void take_detail(struct seen *seen, const struct sonde_batch *batch)
{
	struct sonde_detail detail;
	enum sonde_status status = sonde_batch_detail(batch, &seen->event, &detail, &err);

	seen->detail_size = SIZE_MAX;
	if (status == SONDE_END)
		return;
	assert_int_equal(status, SONDE_OK);
	assert_int_equal(detail.kind, SONDE_DETAIL_ARGUMENTS);
	assert_int_equal(detail.event, seen->index);
	assert_true(detail.time_ns == seen->event.time_ns);
	seen->detail_size = detail.size;
	memset(seen->detail, 0, sizeof(seen->detail));
	memcpy(seen->detail, detail.bytes,
	       detail.size < sizeof(seen->detail) ? detail.size : sizeof(seen->detail));
}

struct track_events read_track(struct sonde_recording *recording, uint32_t track)
{
	const struct sonde_track *about =
		sonde_definitions_track(sonde_recording_definitions(recording), track);
	struct track_events events = { calloc(about->event_count + 1, sizeof(struct seen)), 0 };
	struct sonde_cursor *cursor = open_cursor(recording, track);
	struct sonde_batch batch;
	enum sonde_status status;

	while ((status = sonde_cursor_next(cursor, &batch, &err)) == SONDE_OK) {
		assert_int_equal(batch.first_index, events.count);
		for (size_t i = 0; i < batch.count; i++) {
			struct seen *seen = &events.items[events.count];

			assert_true(events.count < about->event_count);
			seen->event = batch.events[i];
			seen->index = events.count++;
			take_detail(seen, &batch);
		}
	}
	assert_int_equal(status, SONDE_END);
	assert_int_equal(events.count, about->event_count);
	sonde_cursor_free(cursor);
	return events;
}

const char *track_name(struct sonde_recording *recording, uint32_t track)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);

	return sonde_definitions_string(definitions,
					sonde_definitions_track(definitions, track)->name);
}

const char *function_name(struct sonde_recording *recording, uint32_t function)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);

	return sonde_definitions_string(definitions,
					sonde_definitions_function(definitions, function)->name);
}

const char *type_name(struct sonde_recording *recording, uint32_t type)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);

	return sonde_definitions_string(definitions,
					sonde_definitions_event_type(definitions, type)->name);
}

uint64_t count_findings(const struct sonde_diagnostics *diagnostics, enum cff_finding type)
{
	uint64_t count = 0;
	const struct sonde_finding *finding;

	for (size_t i = 0; (finding = sonde_diagnostics_at(diagnostics, i)); i++)
		count += finding->type == &cff_finding_types[type];
	return count;
}

/* Number of errors that a check finds; where `type` is one, it must be among them. */
uint64_t check_errors(const char *path, int type)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_check_options options = { .format = "cff" };
	uint64_t errors;

	assert_int_equal(sonde_check(path, &options, diagnostics, &err), SONDE_OK);
	errors = sonde_diagnostics_count(diagnostics, SONDE_ERROR);
	if (type >= 0)
		assert_true(count_findings(diagnostics, (enum cff_finding)type) > 0);
	sonde_diagnostics_free(diagnostics);
	return errors;
}

/* A check finds no error; says which where it does. */
void assert_no_errors(const char *path)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_check_options options = { .format = "cff" };
	const struct sonde_finding *finding;

	assert_int_equal(sonde_check(path, &options, diagnostics, &err), SONDE_OK);
	for (size_t i = 0; (finding = sonde_diagnostics_at(diagnostics, i)); i++) {
		if (finding->type->severity == SONDE_ERROR)
			fail_msg("%s: %s at %llu: expected %s, found %s", path, finding->type->id,
				 (unsigned long long)finding->offset, finding->expected,
				 finding->found);
	}
	sonde_diagnostics_free(diagnostics);
}

/* A file with three zones in turn, redefined wire ids, names, arrays, and more than one segment. */
void build_long(struct fixture *fixture, uint32_t events, uint32_t per_chunk)
{
	uint32_t seed = 1, depth[3] = { 0 };

	fixture_begin(fixture, NULL);
	fixture_builtins(fixture);
	for (uint32_t i = 0; i < 3; i++)
		fixture_zone(fixture, i, (const char *[]){ "a", "b", "c" }[i]);
	fixture_define(fixture, 20, 0, "x", "uint32 n");
	fixture_define(fixture, 21, 1, "y", "");
	fixture_define(fixture, 22, 0, "z", "uint8[] n");
	for (uint32_t i = 0, zone = 0; i < events; i++) {
		seed = seed * 1664525 + 1013904223;
		if (i && i % per_chunk == 0)
			fixture_end_chunk(fixture);
		if (seed >> 28 < 4) {
			zone = (seed >> 20) % 3;
			fixture_event(fixture, FIXTURE_ZONE_SET, 0, 1, zone);
		}
		if (i % 997 == 0)
			fixture_define(fixture, 20, 0, i % 2 ? "x" : "x2",
				       i % 2 ? "uint32 n" : "uint32 n, uint32 m");
		switch ((seed >> 16) % 5) {
		case 0:
			if ((i / 997) % 2)
				fixture_event(fixture, 20, i, 1, i);
			else
				fixture_event(fixture, 20, i, 2, i, i + 1);
			break;
		case 1:
			fixture_event(fixture, 21, i, 0);
			depth[zone]++;
			break;
		case 2:
			fixture_event(fixture, FIXTURE_ENTER, i, 1,
				      fixture_text(fixture, i % 2 ? "odd" : "even"));
			depth[zone]++;
			break;
		case 3:
			fixture_event(fixture, 22, i, 2, i % 5 ? i % 5 : FIXTURE_NULL, 0x04030201u);
			if (i % 5 == 0)
				fixture->events_size -= 4;
			break;
		default:
			fixture_event(fixture, FIXTURE_LEAVE, i, 0);
			depth[zone] -= depth[zone] > 0;
		}
	}
	fixture_end_chunk(fixture);
}

static void assert_same(const struct seen *a, const struct sonde_event *event)
{
	assert_memory_equal(&a->event, event, sizeof(*event));
}

/* Seeks to `index` and compares what comes with a full read. */
static void compare_at(struct sonde_cursor *cursor, const struct track_events *all, uint64_t index)
{
	struct sonde_batch batch;
	struct sonde_detail detail;

	sonde_cursor_seek_index(cursor, index);
	assert_int_equal(sonde_cursor_position(cursor), index);
	if (index == all->count) {
		assert_int_equal(sonde_cursor_next(cursor, &batch, &err), SONDE_END);
		return;
	}
	assert_int_equal(sonde_cursor_next(cursor, &batch, &err), SONDE_OK);
	assert_int_equal(batch.first_index, index);
	for (size_t i = 0; i < batch.count && i < 3; i++)
		assert_same(&all->items[index + i], &batch.events[i]);
	assert_same(&all->items[index + batch.count - 1], &batch.events[batch.count - 1]);
	/* a detail elsewhere, which must not disturb what comes next */
	uint64_t other = (index * 7919) % all->count, next = sonde_cursor_position(cursor);
	bool has_detail = all->items[other].detail_size != SIZE_MAX;

	assert_int_equal(sonde_cursor_detail(cursor, other, &detail, &err),
			 has_detail ? SONDE_OK : SONDE_ARGUMENT);
	if (has_detail) {
		assert_int_equal(detail.size, all->items[other].detail_size);
		assert_memory_equal(detail.bytes, all->items[other].detail, detail.size);
	}
	if (next == all->count)
		return;
	assert_int_equal(sonde_cursor_next(cursor, &batch, &err), SONDE_OK);
	assert_same(&all->items[next], &batch.events[0]);
}

static void compare_time(struct sonde_cursor *cursor, const struct track_events *all,
			 uint64_t time_ns)
{
	uint64_t expected = 0;

	while (expected < all->count && all->items[expected].event.time_ns < time_ns)
		expected++;
	sonde_cursor_seek_time(cursor, time_ns);
	assert_int_equal(sonde_cursor_position(cursor), expected);
}

void compare_seeks(struct sonde_recording *recording, uint32_t track, uint64_t step)
{
	struct track_events all = read_track(recording, track);
	struct sonde_cursor *cursor = open_cursor(recording, track);

	for (uint64_t i = 0; i <= all.count; i += step)
		compare_at(cursor, &all, i);
	for (uint64_t i = 0; i < all.count; i += 3 * step) {
		compare_time(cursor, &all, all.items[i].event.time_ns);
		compare_time(cursor, &all, all.items[i].event.time_ns + 1);
	}
	compare_time(cursor, &all, UINT64_MAX);
	sonde_cursor_free(cursor);
	free(all.items);
}
