/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The intake: order, spans, nesting, further tracks, details, counters, values, samples, and that it
 * holds for many tracks, deep calls and records far out of order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#include "base/buffer.h"
#include "formats/format.h"
#include "model/intake.h"
#include "model/recording.h"

struct world {
	struct sonde_recording *recording;
	struct sonde_intake *intake;
	struct sonde_intake_counts counts;
	uint32_t process;
};

static struct world begin(void)
{
	struct world world = { .recording = sonde_recording_new(&sonde_format_chrome, "test") };

	assert_non_null(world.recording);
	assert_int_equal(sonde_intake_new(world.recording, &world.intake, NULL), SONDE_OK);
	assert_int_equal(sonde_intake_process(world.intake, 77, &world.process, NULL), SONDE_OK);
	return world;
}

static void finish(struct world *world)
{
	struct sonde_error err = { 0 };

	if (sonde_intake_finish(world->intake, &world->counts, &err))
		fail_msg("%s", err.message);
}

static uint32_t track(struct world *world, uint64_t key)
{
	uint32_t id = 0;

	assert_int_equal(sonde_intake_track(world->intake, world->process, key, &id, NULL),
			 SONDE_OK);
	return id;
}

static uint32_t function(struct world *world, const char *name)
{
	struct sonde_function like = { .process = world->process, .module = SONDE_NONE };
	uint32_t id = 0;

	assert_int_equal(sonde_intake_function(world->intake, &like, name, strlen(name), &id, NULL),
			 SONDE_OK);
	return id;
}

static uint32_t event_type(struct world *world, const char *name, const char *signature)
{
	uint32_t id = 0;

	assert_int_equal(
		sonde_intake_event_type(world->intake, name, strlen(name), signature, &id, NULL),
		SONDE_OK);
	return id;
}

static void add(struct world *world, const struct sonde_intake_event *event)
{
	struct sonde_error err = { 0 };

	if (sonde_intake_add(world->intake, event, &err))
		fail_msg("%s", err.message);
}

static void add_event(struct world *world, uint32_t on, unsigned int kind, uint64_t time_ns,
		      uint32_t about)
{
	add(world, &(struct sonde_intake_event){ .time_ns = time_ns,
						 .track = on,
						 .kind = (uint8_t)kind,
						 .function = about,
						 .event_type = SONDE_NONE });
}

static void add_call(struct world *world, uint32_t on, uint64_t time_ns, const char *name)
{
	add_event(world, on, SONDE_EVENT_CALL, time_ns, function(world, name));
}

static void add_return(struct world *world, uint32_t on, uint64_t time_ns, const char *name)
{
	add_event(world, on, SONDE_EVENT_RETURN, time_ns,
		  name ? function(world, name) : SONDE_NONE);
}

static void add_span(struct world *world, uint32_t on, uint64_t time_ns, uint64_t end_ns,
		     const char *name)
{
	add(world, &(struct sonde_intake_event){ .time_ns = time_ns,
						 .end_ns = end_ns,
						 .track = on,
						 .kind = SONDE_INTAKE_SPAN,
						 .function = function(world, name),
						 .event_type = SONDE_NONE });
}

static void put_event(struct world *world, struct sonde_buffer *text,
		      const struct sonde_event *event)
{
	const struct sonde_definitions *definitions = world->recording->definitions;
	const char *name = "?";
	char space[SONDE_LABEL_SIZE];

	if (sonde_event_has_function(event))
		name = sonde_definitions_function_label(definitions, event->function, space);
	else
		name = sonde_definitions_string(
			definitions,
			sonde_definitions_event_type(definitions, event->function)->name);
	sonde_buffer_put_format(text, "%" PRIu64 "%s%s%" PRIu32 " ", event->time_ns,
				event->kind == SONDE_EVENT_CALL	  ? "+" :
				event->kind == SONDE_EVENT_RETURN ? "-" :
								    "!",
				name, event->depth);
}

/* "10+a1 20-a1 ": the time, what happens, its name and depth. */
static void expect(struct world *world, uint32_t on, const char *expected)
{
	struct sonde_buffer text = { 0 };
	struct sonde_cursor *cursor = NULL;
	struct sonde_batch batch;

	assert_int_equal(sonde_cursor_open(world->recording, on, &cursor, NULL), SONDE_OK);
	while (!sonde_cursor_next(cursor, &batch, NULL)) {
		for (size_t i = 0; i < batch.count; i++) {
			assert_int_equal(batch.events[i].track, on);
			put_event(world, &text, &batch.events[i]);
		}
	}
	sonde_cursor_free(cursor);
	sonde_buffer_put_char(&text, '\0');
	assert_string_equal(text.data, expected);
	sonde_buffer_release(&text);
}

static void test_empty(void **state)
{
	struct world world = begin();

	(void)state;
	finish(&world);
	assert_int_equal(world.recording->lanes, 0);
	assert_int_equal(sonde_definitions_process_count(world.recording->definitions), 1);
	assert_int_equal(sonde_definitions_process(world.recording->definitions, 0)->os_id, 77);
	sonde_recording_close(world.recording);
	/* one that is given up in the middle */
	world = begin();
	add_call(&world, track(&world, 1), 5, "a");
	sonde_intake_free(world.intake);
	sonde_recording_close(world.recording);
}

static void test_order(void **state)
{
	struct world world = begin();
	uint32_t one = track(&world, 1), two = track(&world, 2);

	(void)state;
	add_return(&world, one, 40, "a");
	add_call(&world, two, 1, "x");
	add_call(&world, one, 10, "a");
	add_call(&world, one, 20, "b");
	add_return(&world, one, 30, "b");
	add_return(&world, two, 2, "x");
	finish(&world);
	expect(&world, one, "10+a1 20+b2 30-b2 40-a1 ");
	expect(&world, two, "1+x1 2-x1 ");
	assert_int_equal(world.counts.went_back, 3);
	assert_int_equal(world.counts.lone_returns, 0);
	assert_int_equal(sonde_definitions_track(world.recording->definitions, one)->time_first_ns,
			 10);
	assert_int_equal(sonde_definitions_track(world.recording->definitions, one)->time_last_ns,
			 40);
	sonde_recording_close(world.recording);
}

/* Records of one time stay as they came. */
static void test_equal_times(void **state)
{
	struct world world = begin();
	uint32_t one = track(&world, 1);

	(void)state;
	add_call(&world, one, 5, "a");
	add_call(&world, one, 5, "b");
	add_return(&world, one, 5, "b");
	add_return(&world, one, 5, "a");
	add_call(&world, one, 5, "c");
	add_return(&world, one, 5, NULL);
	add_call(&world, one, 3, "first");
	finish(&world);
	expect(&world, one, "3+first1 5+a2 5+b3 5-b3 5-a2 5+c2 5-c2 ");
	assert_int_equal(world.counts.open_calls, 1);
	sonde_recording_close(world.recording);
}

static void test_spans(void **state)
{
	struct world world = begin();
	uint32_t one = track(&world, 1);

	(void)state;
	/* as they end, so the innermost come first */
	add_span(&world, one, 12, 14, "inner");
	add_span(&world, one, 14, 16, "next");
	add_span(&world, one, 10, 20, "short");
	add_span(&world, one, 10, 30, "long");
	add_span(&world, one, 10, 20, "same");
	add_span(&world, one, 30, 30, "nothing");
	add_span(&world, one, 30, 31, "last");
	finish(&world);
	expect(&world, one,
	       "10+long1 10+short2 10+same3 12+inner4 14-inner4 14+next4 16-next4 20-same3 "
	       "20-short2 30-long1 30+last1 30+nothing2 30-nothing2 31-last1 ");
	assert_int_equal(world.counts.overlaps, 0);
	assert_int_equal(world.counts.missing_returns, 0);
	sonde_recording_close(world.recording);
}

static void test_spans_and_calls(void **state)
{
	struct world world = begin();
	uint32_t one = track(&world, 1), two = track(&world, 2), three = track(&world, 3);

	(void)state;
	/* a call inside of a span that ends at the same time */
	add_span(&world, one, 0, 10, "s");
	add_call(&world, one, 5, "c");
	add_return(&world, one, 10, "c");
	add_call(&world, one, 10, "d");
	add_span(&world, one, 11, 12, "t");
	add_return(&world, one, 12, NULL);
	/* a span that outlives the call around it, a call that its span does not wait for */
	add_call(&world, two, 0, "c");
	add_span(&world, two, 1, 9, "s");
	add_return(&world, two, 5, "c");
	add_span(&world, two, 20, 30, "s");
	add_call(&world, two, 25, "c");
	add_call(&world, two, 40, "d");
	/* a span that begins where one ends in which a call is still open */
	add_span(&world, three, 0, 10, "s");
	add_call(&world, three, 5, "c");
	add_span(&world, three, 10, 20, "t");
	finish(&world);
	expect(&world, one, "0+s1 5+c2 10-c2 10-s1 10+d1 11+t2 12-t2 12-d1 ");
	expect(&world, two, "0+c1 1+s2 5-s2 5-c1 20+s1 25+c2 30-c2 30-s1 40+d1 ");
	expect(&world, three, "0+s1 5+c2 10-c2 10-s1 10+t1 20-t1 ");
	assert_int_equal(world.counts.missing_returns, 3);
	assert_int_equal(world.counts.open_calls, 1);
	sonde_recording_close(world.recording);
}

static void test_overlap(void **state)
{
	struct world world = begin();
	uint32_t one = track(&world, 1), two = track(&world, 2);
	const struct sonde_track *further;
	uint32_t name = 0;

	(void)state;
	assert_int_equal(sonde_intake_string(world.intake, "worker", 6, &name, NULL), SONDE_OK);
	sonde_intake_track_at(world.intake, one)->name = name;
	add_span(&world, one, 0, 10, "a");
	add_span(&world, one, 5, 15, "b");
	add_span(&world, one, 6, 9, "inside");
	add_span(&world, one, 7, 20, "c");
	add_span(&world, one, 16, 18, "again");
	add_span(&world, two, 0, 1, "other");
	finish(&world);
	assert_int_equal(sonde_definitions_track_count(world.recording->definitions), 4);
	expect(&world, one, "0+a1 6+inside2 9-inside2 10-a1 16+again1 18-again1 ");
	expect(&world, two, "0+other1 1-other1 ");
	expect(&world, 2, "5+b1 15-b1 ");
	expect(&world, 3, "7+c1 20-c1 ");
	assert_int_equal(world.counts.overlaps, 2);
	further = sonde_definitions_track(world.recording->definitions, 2);
	assert_int_equal(further->name, name);
	assert_int_equal(further->os_id, 1);
	assert_int_equal(further->slot, 2);
	assert_int_equal(further->event_count, 2);
	assert_int_equal(sonde_definitions_track(world.recording->definitions, 3)->slot, 3);
	sonde_recording_close(world.recording);
}

static void test_unbalanced(void **state)
{
	struct world world = begin();
	uint32_t one = track(&world, 1);

	(void)state;
	add_return(&world, one, 1, "never");
	add_return(&world, one, 2, NULL);
	add_call(&world, one, 3, "a");
	add_call(&world, one, 4, "b");
	add_call(&world, one, 5, "a");
	add_call(&world, one, 6, "c");
	add_return(&world, one, 7, "b");
	add_event(&world, one, SONDE_EVENT_EXCEPTION, 8, SONDE_NONE);
	add_call(&world, one, 9, "open");
	add_call(&world, one, 9, "open");
	finish(&world);
	expect(&world, one, "3+a1 4+b2 5+a3 6+c4 7-c4 7-a3 7-b2 8!a1 9+open1 9+open2 ");
	assert_int_equal(world.counts.lone_returns, 2);
	assert_int_equal(world.counts.missing_returns, 2);
	assert_int_equal(world.counts.open_calls, 2);
	sonde_recording_close(world.recording);
}

static void test_details(void **state)
{
	struct world world = begin();
	uint32_t one = track(&world, 1), two = track(&world, 2);
	uint32_t type = event_type(&world, "t", "utf8 s"), empty = event_type(&world, "e", "");
	struct sonde_intake_event event = { .kind = SONDE_INTAKE_SPAN, .end_ns = 9 };
	struct sonde_cursor *cursor = NULL;
	struct sonde_detail detail;
	struct sonde_batch batch;

	(void)state;
	event.function = function(&world, "f");
	event.track = one;
	for (uint64_t i = 0; i < 3; i++) {
		uint8_t bytes[8] = { 2, 0, 0, 0, 'a', (uint8_t)('a' + i) };

		event.time_ns = 8 - i;
		event.event_type = i == 1 ? empty : type;
		event.arguments = bytes;
		event.size = i == 1 ? 0 : sizeof(bytes);
		add(&world, &event);
	}
	add_call(&world, two, 1, "g");
	finish(&world);
	assert_true(world.recording->lanes & SONDE_LANE_DETAILS);
	assert_int_equal(sonde_definitions_track(world.recording->definitions, one)->detail_count,
			 3);
	assert_int_equal(sonde_definitions_track(world.recording->definitions, two)->detail_count,
			 0);
	assert_int_equal(sonde_cursor_open(world.recording, one, &cursor, NULL), SONDE_OK);
	assert_int_equal(sonde_cursor_next(cursor, &batch, NULL), SONDE_OK);
	assert_int_equal(batch.count, 6);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(batch.events[i].detail, i);
		assert_int_equal(batch.events[5 - i].detail, SONDE_NONE);
		assert_int_equal(sonde_batch_detail(&batch, &batch.events[i], &detail, NULL),
				 SONDE_OK);
		assert_int_equal(detail.kind, SONDE_DETAIL_ARGUMENTS);
		assert_int_equal(detail.event, i);
		assert_int_equal(detail.time_ns, 6 + i);
		assert_int_equal(detail.event_type, i == 1 ? empty : type);
		assert_int_equal(detail.size, i == 1 ? 0 : 8);
		if (detail.size)
			assert_int_equal(detail.bytes[5], 'a' + 2 - (int)i);
	}
	assert_int_equal(sonde_cursor_detail(cursor, 3, &detail, NULL), SONDE_ARGUMENT);
	sonde_cursor_free(cursor);
	sonde_recording_close(world.recording);
}

static void test_other_kinds(void **state)
{
	struct world world = begin();
	uint32_t one = track(&world, 1), type = event_type(&world, "memory", "");
	struct sonde_intake_event event = { .kind = SONDE_EVENT_COUNTER,
					    .time_ns = 4,
					    .value = 0.1,
					    .function = type,
					    .event_type = SONDE_NONE };
	struct sonde_cursor *cursor = NULL;
	struct sonde_batch batch;
	uint32_t number = 0, again = 0;

	(void)state;
	add_call(&world, one, 3, "a");
	add(&world, &event);
	assert_int_equal(sonde_intake_number(world.intake, "0xabc", 5, &number, NULL), SONDE_OK);
	assert_int_equal(sonde_intake_number(world.intake, "0xabd", 5, &again, NULL), SONDE_OK);
	assert_int_equal(again, 2);
	assert_int_equal(sonde_intake_number(world.intake, "0xabc", 5, &again, NULL), SONDE_OK);
	assert_int_equal(number, 1);
	assert_int_equal(again, 1);
	event.kind = SONDE_EVENT_FLOW_BEGIN;
	event.extra = number;
	add(&world, &event);
	/* what is not defined is refused */
	event.function = 9;
	assert_int_equal(sonde_intake_add(world.intake, &event, NULL), SONDE_ARGUMENT);
	event.function = type;
	event.track = 9;
	assert_int_equal(sonde_intake_add(world.intake, &event, NULL), SONDE_ARGUMENT);
	finish(&world);
	expect(&world, one, "3+a1 4!memory1 4!memory1 ");
	assert_int_equal(sonde_cursor_open(world.recording, one, &cursor, NULL), SONDE_OK);
	assert_int_equal(sonde_cursor_next(cursor, &batch, NULL), SONDE_OK);
	assert_true(sonde_event_value(&batch.events[1]) == 0.1);
	assert_int_equal(batch.events[2].extra, 1);
	sonde_cursor_free(cursor);
	sonde_recording_close(world.recording);
}

static void test_names(void **state)
{
	struct world world = begin();
	struct sonde_function like = { .process = world.process, .module = SONDE_NONE };
	const struct sonde_definitions *definitions = world.recording->definitions;
	uint32_t a = 0, b = 0;

	(void)state;
	assert_int_equal(function(&world, "f"), function(&world, "f"));
	assert_int_not_equal(function(&world, "f"), function(&world, "g"));
	like.line = 3;
	assert_int_equal(sonde_intake_function(world.intake, &like, "f", 1, &a, NULL), SONDE_OK);
	assert_int_not_equal(a, function(&world, "f"));
	assert_int_equal(sonde_definitions_function(definitions, a)->line, 3);
	/* without a name the address tells */
	like.address = 1;
	assert_int_equal(sonde_intake_function(world.intake, &like, "", 0, &a, NULL), SONDE_OK);
	like.address = 2;
	assert_int_equal(sonde_intake_function(world.intake, &like, "", 0, &b, NULL), SONDE_OK);
	assert_int_not_equal(a, b);
	assert_int_equal(sonde_intake_string(world.intake, "x\0y\xff", 4, &a, NULL), SONDE_OK);
	assert_string_equal(sonde_definitions_string(definitions, a), "x\xEF\xBF\xBDy\xEF\xBF\xBD");
	assert_int_equal(sonde_intake_string(world.intake, "x\0y\xff", 4, &b, NULL), SONDE_OK);
	assert_int_equal(a, b);
	assert_int_equal(event_type(&world, "e", "uint8 x"), event_type(&world, "e", "uint8 x"));
	assert_int_not_equal(event_type(&world, "e", "uint8 x"), event_type(&world, "e", ""));
	finish(&world);
	sonde_recording_close(world.recording);
}

static uint32_t add_metric(struct world *world, const char *name)
{
	struct sonde_metric metric = { 0 };
	uint32_t id = 0;

	assert_int_equal(sonde_intake_string(world->intake, name, strlen(name), &metric.name, NULL),
			 SONDE_OK);
	assert_int_equal(sonde_intake_string(world->intake, "point", 5, &metric.scope, NULL),
			 SONDE_OK);
	assert_int_equal(
		sonde_definitions_add_metric(world->recording->definitions, &metric, &id, NULL),
		SONDE_OK);
	return id;
}

static uint32_t add_frame(struct world *world, uint32_t parent, const char *name)
{
	struct sonde_context frame = sonde_intake_frame(function(world, name));
	uint32_t node = 0;

	assert_int_equal(sonde_intake_context(world->intake, parent, &frame, &node, NULL),
			 SONDE_OK);
	return node;
}

static void test_profile(void **state)
{
	struct world world = begin();
	uint32_t one = track(&world, 1), two = track(&world, 2), count = 0;
	uint32_t time = add_metric(&world, "time"), hits = add_metric(&world, "hits");
	uint32_t leaf = add_frame(&world, add_frame(&world, 0, "main"), "leaf");
	uint32_t first = add_frame(&world, add_frame(&world, 0, "main"), "a leaf");
	const struct sonde_context *contexts = NULL;
	struct sonde_value_cursor *values = NULL;
	struct sonde_sample_cursor *samples = NULL;
	const struct sonde_value *found = NULL;
	const struct sonde_sample *sample = NULL;
	size_t found_count = 0;
	double value = 0;

	(void)state;
	assert_int_equal(leaf, add_frame(&world, add_frame(&world, 0, "main"), "leaf"));
	assert_int_equal(sonde_intake_value(world.intake, one, leaf, hits, 2, NULL), SONDE_OK);
	assert_int_equal(sonde_intake_value(world.intake, one, leaf, time, 1, NULL), SONDE_OK);
	assert_int_equal(sonde_intake_value(world.intake, one, leaf, hits, 3, NULL), SONDE_OK);
	assert_int_equal(sonde_intake_value(world.intake, one, first, hits, 7, NULL), SONDE_OK);
	assert_int_equal(sonde_intake_value(world.intake, two, first, hits, 0, NULL), SONDE_OK);
	assert_int_equal(sonde_intake_value(world.intake, 9, first, hits, 0, NULL), SONDE_ARGUMENT);
	assert_int_equal(sonde_intake_sample(world.intake, one, 20, leaf, NULL), SONDE_OK);
	assert_int_equal(sonde_intake_sample(world.intake, one, 10, first, NULL), SONDE_OK);
	assert_int_equal(sonde_intake_sample(world.intake, one, 30, 0, NULL), SONDE_OK);
	finish(&world);
	assert_int_equal(world.recording->lanes,
			 SONDE_LANE_SAMPLES | SONDE_LANE_CONTEXTS | SONDE_LANE_VALUES);
	assert_int_equal(sonde_recording_contexts(world.recording, &contexts, &count, NULL),
			 SONDE_OK);
	assert_int_equal(count, 4); /* root, main, a leaf, leaf */
	assert_int_equal(sonde_value_cursor_open(world.recording, one, &values, NULL), SONDE_OK);
	assert_int_equal(sonde_value_cursor_next(values, &found, &found_count, NULL), SONDE_OK);
	assert_int_equal(found_count, 3);
	assert_int_equal(found[0].context, 2);
	assert_true(found[0].value == 7);
	assert_int_equal(found[1].context, 3);
	assert_int_equal(found[1].metric, time);
	assert_true(found[2].value == 5);
	assert_int_equal(sonde_value_cursor_next(values, &found, &found_count, NULL), SONDE_END);
	sonde_value_cursor_free(values);
	assert_int_equal(sonde_recording_value(world.recording, one, 3, hits, &value, NULL),
			 SONDE_OK);
	assert_true(value == 5);
	assert_int_equal(sonde_recording_value(world.recording, one, 2, time, &value, NULL),
			 SONDE_END);
	assert_int_equal(sonde_recording_value(world.recording, two, 2, hits, &value, NULL),
			 SONDE_END);
	assert_int_equal(sonde_sample_cursor_open(world.recording, one, &samples, NULL), SONDE_OK);
	assert_int_equal(sonde_sample_cursor_next(samples, &sample, &found_count, NULL), SONDE_OK);
	assert_int_equal(found_count, 3);
	assert_int_equal(sample[0].time_ns, 10);
	assert_int_equal(sample[0].context, 2);
	assert_int_equal(sample[1].context, 3);
	assert_int_equal(sample[2].context, 0);
	sonde_sample_cursor_seek_time(samples, 11);
	assert_int_equal(sonde_sample_cursor_next(samples, &sample, &found_count, NULL), SONDE_OK);
	assert_int_equal(found_count, 2);
	sonde_sample_cursor_free(samples);
	sonde_recording_close(world.recording);
}

/* Checks calls of one function with a return each, at the times 0, 1, 2 ... */
static void expect_counted(struct world *world, uint32_t on, uint64_t count)
{
	struct sonde_cursor *cursor = NULL;
	struct sonde_batch batch;
	uint64_t next = 0;

	assert_int_equal(sonde_cursor_open(world->recording, on, &cursor, NULL), SONDE_OK);
	while (!sonde_cursor_next(cursor, &batch, NULL)) {
		assert_int_equal(batch.first_index, next);
		for (size_t i = 0; i < batch.count; i++, next++) {
			if (batch.events[i].time_ns != next || batch.events[i].depth != 1 ||
			    batch.events[i].kind != SONDE_EVENT_CALL + next % 2)
				fail_msg("event %" PRIu64, next);
		}
	}
	assert_int_equal(next, count);
	sonde_cursor_seek_index(cursor, count - 1);
	assert_int_equal(sonde_cursor_next(cursor, &batch, NULL), SONDE_OK);
	assert_int_equal(batch.events[0].time_ns, count - 1);
	sonde_cursor_seek_time(cursor, count / 2);
	assert_int_equal(sonde_cursor_position(cursor), count / 2);
	sonde_cursor_seek_index(cursor, count + 5);
	assert_int_equal(sonde_cursor_next(cursor, &batch, NULL), SONDE_END);
	sonde_cursor_free(cursor);
}

#define MANY 10000

static void test_many_tracks(void **state)
{
	struct world world = begin();
	uint32_t f = function(&world, "f");

	(void)state;
	for (uint64_t i = 0; i < 200; i++) {
		for (uint32_t t = 0; t < MANY; t++)
			add_event(&world, track(&world, t), SONDE_EVENT_CALL + (unsigned int)i % 2,
				  i, f);
	}
	finish(&world);
	assert_int_equal(sonde_definitions_track_count(world.recording->definitions), MANY);
	assert_int_equal(world.counts.went_back, 0);
	for (uint32_t t = 0; t < MANY; t++)
		expect_counted(&world, t, 200);
	sonde_recording_close(world.recording);
}

#define FAR 300000

/* Scattered all over: each block of records overlaps with all others. */
static void test_far_out_of_order(void **state)
{
	struct world world = begin();
	uint32_t one = track(&world, 1), f = function(&world, "f");

	(void)state;
	for (uint64_t i = 0; i < FAR; i++) {
		uint64_t time_ns = i * 7919 % FAR; /* a prime: each time once */

		add_event(&world, one, SONDE_EVENT_CALL + (unsigned int)time_ns % 2, time_ns, f);
	}
	finish(&world);
	assert_true(world.counts.went_back > 1000);
	assert_int_equal(world.counts.lone_returns, 0);
	expect_counted(&world, one, FAR);
	sonde_recording_close(world.recording);
}

/* Runs of one time over many blocks keep the order in which they came. */
static void test_order_over_blocks(void **state)
{
	struct world world = begin();
	uint32_t one = track(&world, 1), type = event_type(&world, "e", "");
	struct sonde_cursor *cursor = NULL;
	struct sonde_batch batch;
	uint32_t next = 0;

	(void)state;
	for (uint32_t i = 0; i < FAR; i++) {
		struct sonde_intake_event event = { .time_ns = i % 2 ? 5 : 7,
						    .kind = SONDE_EVENT_FLOW_STEP,
						    .function = type,
						    .extra = i,
						    .event_type = SONDE_NONE };

		event.track = one;
		add(&world, &event);
	}
	finish(&world);
	assert_int_equal(sonde_cursor_open(world.recording, one, &cursor, NULL), SONDE_OK);
	while (!sonde_cursor_next(cursor, &batch, NULL)) {
		for (size_t i = 0; i < batch.count; i++, next++) {
			if (batch.events[i].extra !=
			    (next < FAR / 2 ? 2 * next + 1 : 2 * (next - FAR / 2)))
				fail_msg("event %" PRIu32, next);
		}
	}
	assert_int_equal(next, FAR);
	sonde_cursor_free(cursor);
	sonde_recording_close(world.recording);
}

#define DEEP 100000

static void test_deep(void **state)
{
	struct world world = begin();
	uint32_t calls = track(&world, 1), spans = track(&world, 2), f = function(&world, "f");
	struct sonde_cursor *cursor = NULL;
	struct sonde_batch batch;

	(void)state;
	add_call(&world, calls, 0, "outermost");
	for (uint64_t i = 0; i < DEEP; i++) {
		add_event(&world, calls, SONDE_EVENT_CALL, i, f);
		add_span(&world, spans, i, 3 * (uint64_t)DEEP - i, "s");
	}
	add_return(&world, calls, DEEP, "outermost");
	finish(&world);
	assert_int_equal(world.counts.missing_returns, DEEP);
	for (uint32_t on = calls; on <= spans; on++) {
		assert_int_equal(sonde_cursor_open(world.recording, on, &cursor, NULL), SONDE_OK);
		sonde_cursor_seek_index(cursor, DEEP - 1);
		assert_int_equal(sonde_cursor_next(cursor, &batch, NULL), SONDE_OK);
		assert_int_equal(batch.events[0].depth, DEEP);
		assert_int_equal(
			sonde_definitions_track(world.recording->definitions, on)->event_count,
			2 * (DEEP + (on == calls)));
		sonde_cursor_free(cursor);
	}
	sonde_recording_close(world.recording);
}

/* As many spans at one time as no program has: none gets lost, and it does not take long. */
static void test_wide(void **state)
{
	struct world world = begin();
	uint32_t one = track(&world, 1);
	uint64_t events = 0;

	(void)state;
	for (uint64_t i = 0; i < 20000; i++)
		add_span(&world, one, i, i + 50000, "s");
	finish(&world);
	for (uint32_t i = 0; i < sonde_definitions_track_count(world.recording->definitions); i++)
		events += sonde_definitions_track(world.recording->definitions, i)->event_count;
	assert_int_equal(events, 40000);
	assert_int_equal(world.counts.overlaps + world.counts.missing_returns, 19999);
	sonde_recording_close(world.recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_equal_times),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_spans_and_calls),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_unbalanced),
		cmocka_unit_test(test_details),
		cmocka_unit_test(test_other_kinds),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_profile),
		cmocka_unit_test(test_many_tracks),
		cmocka_unit_test(test_far_out_of_order),
		cmocka_unit_test(test_order_over_blocks),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_wide),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
