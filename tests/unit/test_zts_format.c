/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace store as a recording and as a sink: walking, seeking, details, some traces only,
 * recordings put into a store whole or in pieces, and what is lost on the way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <sonde/sonde.h>

#include "base/file.h"
#include "base/vec.h"
#include "formats/zts/zts_read.h"
#include "memory_recording.h"
#include "model/arguments.h"
#include "scratch.h"
#include "store/ingest.h"
#include "zts_script.h"

#define TRACES 200

/* One event, as far as it is the same in whatever it is written. */
struct row {
	uint64_t time_ns;
	uint32_t depth;
	uint32_t kind;
	char name[24];
};

struct rows {
	SONDE_VEC(struct row) list;
};

static int compare_rows(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct row));
}

static void take_rows(struct sonde_recording *recording, struct rows *rows)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	struct sonde_error err;

	for (uint32_t track = 0; track < sonde_definitions_track_count(definitions); track++) {
		struct sonde_cursor *cursor;
		struct sonde_batch batch;

		assert_int_equal(sonde_cursor_open(recording, track, &cursor, &err), SONDE_OK);
		while (sonde_cursor_next(cursor, &batch, &err) == SONDE_OK) {
			for (size_t i = 0; i < batch.count; i++) {
				struct row *row = sonde_vec_push(&rows->list);
				char space[SONDE_LABEL_SIZE];

				if (!row)
					abort();
				memset(row, 0, sizeof(*row));
				row->time_ns = batch.events[i].time_ns;
				row->depth = batch.events[i].depth;
				row->kind = batch.events[i].kind;
				snprintf(row->name, sizeof(row->name), "%s",
					 sonde_definitions_function_label(
						 definitions, batch.events[i].function, space));
			}
		}
		sonde_cursor_free(cursor);
	}
	if (rows->list.items)
		qsort(rows->list.items, rows->list.count, sizeof(*rows->list.items), compare_rows);
}

static void assert_same_rows(struct sonde_recording *one, struct sonde_recording *other)
{
	struct rows first = { 0 }, second = { 0 };

	take_rows(one, &first);
	take_rows(other, &second);
	assert_int_equal(first.list.count, second.list.count);
	for (size_t i = 0; i < first.list.count; i++)
		assert_memory_equal(&first.list.items[i], &second.list.items[i],
				    sizeof(struct row));
	sonde_vec_release(&first.list);
	sonde_vec_release(&second.list);
}

static struct sonde_recording *open_store(const char *path)
{
	struct sonde_recording *recording;
	struct sonde_error err;

	assert_int_equal(sonde_recording_open(path, NULL, &recording, &err), SONDE_OK);
	assert_string_equal(sonde_format_info(sonde_recording_format(recording))->name, "zts");
	return recording;
}

/* Random calls of three tracks in two processes. */
static struct sonde_recording *make_source(bool closed)
{
	struct sonde_recording *source = memory_recording_new(7);
	uint64_t random = 5;

	for (int i = 0; i < 2; i++) {
		uint32_t process = memory_add_process(source, i ? "beta" : "alpha"), function = 0;

		for (int j = 0; j < 5; j++) {
			char name[16];

			snprintf(name, sizeof(name), "f%d_%d", i, j);
			function = memory_add_function(source, process, name);
		}
		for (int j = 0; j <= i; j++)
			memory_add_calls(source, memory_add_track(source, process, "worker"), 500,
					 function - 4, 5, closed, &random);
	}
	return source;
}

static const char *write_store(struct sonde_recording *source, const char *name, const char *style,
			       struct sonde_loss *loss)
{
	struct sonde_create_options create = {
		.format = "zts", .style = style, .loss = loss, .replace = true
	};
	struct sonde_run_options run = { .loss = loss };
	struct sonde_run_result result;
	struct sonde_sink *sink;
	struct sonde_error err;
	const char *path = scratch_path(name);

	assert_int_equal(sonde_sink_create(path, &create, &sink, &err), SONDE_OK);
	if (sonde_pipeline_run(&source, 1, sink, &run, &result, &err) < 0)
		fail_msg("%s", err.message);
	sonde_sink_free(sink);
	return path;
}

static void assert_sound(const char *path)
{
	struct sonde_diagnostics *found = sonde_diagnostics_new();
	struct sonde_check_options options = { 0 };
	const struct sonde_finding *first;
	struct sonde_error err;

	assert_int_equal(sonde_check(path, &options, found, &err), SONDE_OK);
	first = sonde_diagnostics_at(found, 0);
	if (first)
		fail_msg("%s: expected %s, found %s", first->type->id, first->expected,
			 first->found);
	sonde_diagnostics_free(found);
}

static void test_there_and_back(void **state)
{
	static const char *const styles[] = { NULL, "zlib", "none" };
	struct sonde_recording *source = make_source(true);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const char *path = write_store(source, "store", styles[i], NULL);
		struct sonde_recording *store = open_store(path);

		assert_same_rows(source, store);
		assert_sound(path);
		assert_int_equal(
			sonde_definitions_process_count(sonde_recording_definitions(store)), 2);
		sonde_recording_close(store);
	}
	sonde_recording_close(source);
}

/* Traces of the script, inner ones among them, in a store of two parts. */
static const char *write_script(const char *name)
{
	struct script_options options = { .calls = 30 };
	struct zts_writer_options settings = { .codec = SONDE_CODEC_LZ4, .chunk_size = 2000 };
	const char *base = scratch_path(name);
	struct sonde_error err;

	remove_tree(base);
	assert_int_equal(sonde_folder_create(base, &err), SONDE_OK);
	for (int part = 0; part < 2; part++) {
		struct zts_writer *writer;
		char folder[128];

		snprintf(folder, sizeof(folder), "%s/%06x", base, part + 9);
		assert_int_equal(zts_writer_create(folder, &settings, &writer, &err), SONDE_OK);
		for (uint64_t i = 0; i < TRACES; i++)
			assert_int_equal(
				script_write(writer, i + (uint64_t)part * TRACES, &options, &err),
				SONDE_OK);
		assert_int_equal(zts_writer_close(writer, &err), SONDE_OK);
	}
	return base;
}

struct walked {
	SONDE_VEC(struct sonde_event) events;
};

static void walk_track(struct sonde_recording *recording, uint32_t track, struct walked *walked)
{
	struct sonde_cursor *cursor;
	struct sonde_batch batch;
	struct sonde_error err;
	uint64_t last = 0;

	walked->events.count = 0;
	assert_int_equal(sonde_cursor_open(recording, track, &cursor, &err), SONDE_OK);
	while (sonde_cursor_next(cursor, &batch, &err) == SONDE_OK) {
		assert_int_equal(batch.first_index, walked->events.count);
		for (size_t i = 0; i < batch.count; i++) {
			struct sonde_event *event = sonde_vec_push(&walked->events);

			if (!event)
				abort();
			*event = batch.events[i];
			assert_true(event->time_ns >= last);
			last = event->time_ns;
		}
	}
	sonde_cursor_free(cursor);
}

static void check_nesting(const struct walked *walked)
{
	SONDE_VEC(uint32_t) stack = { 0 };

	for (size_t i = 0; i < walked->events.count; i++) {
		const struct sonde_event *event = &walked->events.items[i];

		if (event->kind == SONDE_EVENT_CALL) {
			uint32_t *place = sonde_vec_push(&stack);

			if (!place)
				abort();
			*place = event->function;
			assert_int_equal(event->depth, stack.count);
		} else {
			if (!stack.count)
				abort();
			assert_int_equal(event->depth, stack.count);
			assert_int_equal(stack.items[--stack.count], event->function);
		}
		assert_true((event->kind == SONDE_EVENT_RETURN) == (event->detail == SONDE_NONE));
	}
	assert_int_equal(stack.count, 0);
	sonde_vec_release(&stack);
}

static void check_seeking(struct sonde_recording *recording, uint32_t track,
			  const struct walked *walked)
{
	size_t count = walked->events.count;
	uint64_t random = track + 1;
	struct sonde_cursor *cursor;
	struct sonde_detail detail;
	struct sonde_batch batch;
	struct sonde_error err;

	assert_int_equal(sonde_cursor_open(recording, track, &cursor, &err), SONDE_OK);
	for (int i = 0; count && i < 200; i++) {
		size_t at = (size_t)(memory_random(&random) % count), first = 0;
		uint64_t time = walked->events.items[at].time_ns + memory_random(&random) % 3 - 1;

		sonde_cursor_seek_index(cursor, at);
		assert_int_equal(sonde_cursor_next(cursor, &batch, &err), SONDE_OK);
		assert_int_equal(batch.first_index, at);
		assert_memory_equal(&batch.events[0], &walked->events.items[at],
				    sizeof(struct sonde_event));
		while (first < count && walked->events.items[first].time_ns < time)
			first++;
		sonde_cursor_seek_time(cursor, time);
		assert_int_equal(sonde_cursor_position(cursor), first);
		if (walked->events.items[at].detail == SONDE_NONE)
			continue;
		assert_int_equal(sonde_cursor_detail(cursor, at, &detail, &err), SONDE_OK);
		assert_int_equal(detail.event, at);
		assert_int_equal(detail.time_ns, walked->events.items[at].time_ns);
		assert_int_equal(detail.kind, SONDE_DETAIL_ARGUMENTS);
	}
	sonde_cursor_seek_index(cursor, count);
	assert_int_equal(sonde_cursor_next(cursor, &batch, &err), SONDE_END);
	assert_int_equal(sonde_cursor_detail(cursor, count, &detail, &err), SONDE_ARGUMENT);
	sonde_cursor_free(cursor);
}

static void test_cursors(void **state)
{
	struct sonde_recording *store = open_store(write_script("script"));
	const struct sonde_definitions *definitions = sonde_recording_definitions(store);
	struct walked walked = { 0 };
	uint64_t events = 0;

	(void)state;
	for (uint32_t track = 0; track < sonde_definitions_track_count(definitions); track++) {
		const struct sonde_track *definition = sonde_definitions_track(definitions, track);

		walk_track(store, track, &walked);
		assert_int_equal(walked.events.count, definition->event_count);
		if (!walked.events.items)
			abort();
		assert_int_equal(walked.events.items[0].time_ns, definition->time_first_ns);
		assert_int_equal(walked.events.items[walked.events.count - 1].time_ns,
				 definition->time_last_ns);
		check_nesting(&walked);
		check_seeking(store, track, &walked);
		events += walked.events.count;
	}
	assert_int_equal(events, sonde_recording_event_count(store));
	assert_true(events > (uint64_t)4 * TRACES);
	sonde_vec_release(&walked.events);
	sonde_recording_close(store);
}

static void test_of_slots(void **state)
{
	const char *base = write_script("script");
	struct zts_slot_ref refs[] = { { 10, 5 }, { 9, 3 }, { 10, 5 }, { 9, 1u << 20 }, { 3, 0 } };
	struct sonde_recording *some;
	struct zts_loaded loaded = { 0 };
	struct zts_base *opened;
	struct sonde_error err;
	uint64_t records = 0;

	(void)state;
	assert_int_equal(zts_base_open(base, NULL, &opened, &err), SONDE_OK);
	for (int i = 0; i < 2; i++) {
		struct zts_part *part = opened->parts.items[!i];

		assert_int_equal(part->number, refs[i].part);
		assert_int_equal(zts_part_load(part, refs[i].slot, &loaded, &err), SONDE_OK);
		records += loaded.tree.records.items[loaded.root].records;
	}
	assert_int_equal(zts_recording_of_slots(base, refs, 5, &some, &err), SONDE_OK);
	assert_int_equal(sonde_recording_event_count(some), 2 * records);
	sonde_recording_close(some);
	assert_int_equal(zts_recording_of_slots(base, NULL, 0, &some, &err), SONDE_OK);
	assert_int_equal(sonde_recording_event_count(some), 0);
	sonde_recording_close(some);
	zts_loaded_release(&loaded);
	zts_base_free(opened);
}

/* The count of an entry of a loss report. */
static uint64_t lost(const struct sonde_loss *loss, const char *what)
{
	const struct sonde_loss_entry *entry;
	uint64_t count = 0;

	for (size_t i = 0; (entry = sonde_loss_at(loss, i)); i++) {
		if (!strcmp(entry->what, what))
			count += entry->count;
	}
	return count;
}

static void test_losses(void **state)
{
	struct sonde_recording *source = make_source(false), *store;
	struct sonde_loss *loss = sonde_loss_new();
	uint64_t events = sonde_recording_event_count(source);
	const char *path;

	(void)state;
	memory_add_event(source, 0, memory_event(SONDE_EVENT_INSTANT, UINT32_MAX, 0, 0));
	memory_add_event(source, 0, memory_event(SONDE_EVENT_RETURN, UINT32_MAX, 9, 1));
	path = write_store(source, "lossy", NULL, loss);
	assert_int_equal(lost(loss, "events of kind instant"), 1);
	assert_int_equal(lost(loss, "names of tracks"), 3);
	assert_true(lost(loss, "returns") >= 1);
	store = open_store(path);
	/* calls that never ended have ended now */
	assert_true(sonde_recording_event_count(store) + 20 >= events);
	assert_sound(path);
	sonde_recording_close(store);
	sonde_recording_close(source);
	sonde_loss_free(loss);
}

/*
 * Calls without an end, and texts with a NUL: what a store makes of them is told, and nothing else
 * is.
 */
static void test_ends_and_nuls(void **state)
{
	struct sonde_recording *source = memory_recording_new(3);
	struct sonde_loss *loss = sonde_loss_new();
	uint32_t process = memory_add_process(source, "server");
	uint32_t outer = memory_add_function(source, process, "outer");
	uint32_t inner = memory_add_function(source, process, "inner");
	uint32_t type = memory_add_event_type(source, SONDE_SPAN_EXCEPTION_TYPE,
					      SONDE_SPAN_EXCEPTION_SIGNATURE);
	uint32_t track = memory_add_track(source, process, "");
	struct sonde_event event = memory_event(SONDE_EVENT_EXCEPTION, 4, outer, 1);
	struct sonde_buffer packed = { 0 };

	(void)state;
	sonde_arguments_put_text(&packed, "Bad", 3);
	sonde_arguments_put_text(&packed, "a\0b", 3);
	sonde_arguments_put_text(&packed, "[]", 2);
	sonde_arguments_put_text(&packed, "null", 4);
	memory_add_event(source, track, memory_event(SONDE_EVENT_CALL, 1, outer, 1));
	memory_add_event(source, track, memory_event(SONDE_EVENT_CALL, 2, inner, 2));
	event.detail = memory_add_arguments(source, track, type, packed.data, packed.size);
	memory_add_event(source, track, event);
	sonde_buffer_clear(&packed);
	sonde_arguments_put_text(&packed, "Bad", 3);
	sonde_arguments_put_text(&packed, "\\u0000", 6); /* six characters, no NUL */
	sonde_arguments_put_text(&packed, "[]", 2);
	sonde_arguments_put_text(&packed, "null", 4);
	memory_add_event(source, track, memory_event(SONDE_EVENT_CALL, 5, outer, 1));
	event.time_ns = 6;
	event.detail = memory_add_arguments(source, track, type, packed.data, packed.size);
	memory_add_event(source, track, event);
	memory_add_event(source, track, memory_event(SONDE_EVENT_CALL, 7, outer, 1));
	memory_add_event(source, track, memory_event(SONDE_EVENT_CALL, 8, inner, 2));
	assert_sound(write_store(source, "ends", NULL, loss));
	assert_int_equal(lost(loss, "calls that never ended"), 3);
	assert_int_equal(lost(loss, "texts with a NUL"), 1);
	assert_null(sonde_loss_at(loss, 2));
	sonde_buffer_release(&packed);
	sonde_recording_close(source);
	sonde_loss_free(loss);
}

/* A request with two steps, one of which fails; and what the program does beside. */
static struct sonde_recording *make_requests(void)
{
	struct sonde_recording *source = memory_recording_new(3);
	uint32_t process = memory_add_process(source, "server");
	uint32_t loop = memory_add_function(source, process, "loop");
	uint32_t request = memory_add_function(source, process, "request");
	uint32_t step = memory_add_function(source, process, "step");
	uint32_t type = memory_add_event_type(source, "request",
					      "uint32 size, utf8 name, float64 part, any more, "
					      "int32[] list, bool flag, int64 low");
	uint32_t track = memory_add_track(source, process, "");
	struct sonde_buffer packed = { 0 };
	static const int32_t list[] = { 1, -2 };

	sonde_arguments_put_number(&packed, SONDE_ARGUMENT_UINT32,
				   (union sonde_argument_value){ .u64 = 7 });
	sonde_arguments_put_text(&packed, "first", 5);
	sonde_arguments_put_number(&packed, SONDE_ARGUMENT_FLOAT64,
				   (union sonde_argument_value){ .f64 = 0.1 });
	sonde_arguments_put_text(&packed, "{\"a\":[1,{\"b\":null}]}", 20);
	sonde_arguments_put_array(&packed, SONDE_ARGUMENT_INT32, list, 2);
	sonde_arguments_put_number(&packed, SONDE_ARGUMENT_BOOL,
				   (union sonde_argument_value){ .u64 = 1 });
	sonde_arguments_put_number(&packed, SONDE_ARGUMENT_INT64,
				   (union sonde_argument_value){ .i64 = -5 });
	memory_add_event(source, track, memory_event(SONDE_EVENT_CALL, 1000, loop, 1));
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t time = 2000 + i * 1000000000;
		struct sonde_event event = memory_event(SONDE_EVENT_CALL, time, request, 2);

		event.detail = memory_add_arguments(source, track, type, packed.data, packed.size);
		memory_add_event(source, track, event);
		memory_add_event(source, track, memory_event(SONDE_EVENT_CALL, time + 7, step, 3));
		memory_add_event(source, track,
				 memory_event(SONDE_EVENT_EXCEPTION, time + 70001, step, 3));
		memory_add_event(source, track,
				 memory_event(SONDE_EVENT_RETURN, time + 99999999, request, 2));
	}
	memory_add_event(source, track, memory_event(SONDE_EVENT_RETURN, 9999999999, loop, 1));
	sonde_buffer_release(&packed);
	return source;
}

/* The attributes of the first call as JSON. */
static void first_attributes(struct sonde_recording *recording, char *text, size_t size)
{
	struct sonde_signature *signature;
	struct sonde_argument argument;
	struct sonde_arguments arguments;
	struct sonde_cursor *cursor;
	struct sonde_detail detail;
	struct sonde_error err;

	assert_int_equal(sonde_signature_parse(SONDE_SPAN_CALL_SIGNATURE, &signature, &err),
			 SONDE_OK);
	assert_int_equal(sonde_cursor_open(recording, 0, &cursor, &err), SONDE_OK);
	assert_int_equal(sonde_cursor_detail(cursor, 0, &detail, &err), SONDE_OK);
	arguments = (struct sonde_arguments){ .signature = signature,
					      .bytes = detail.bytes,
					      .size = detail.size };
	assert_int_equal(sonde_arguments_next(&arguments, &argument, &err), SONDE_OK);
	assert_true(argument.count < size);
	memcpy(text, argument.bytes, argument.count);
	text[argument.count] = '\0';
	sonde_signature_free(signature);
	sonde_cursor_free(cursor);
}

static void test_arguments_become_attributes(void **state)
{
	struct sonde_recording *source = make_requests(), *store;
	struct sonde_selection_spec spec = { .min_depth = 2 };
	struct sonde_run_options run = { .selection = spec };
	struct sonde_create_options create = { .format = "zts", .replace = true };
	const char *path = scratch_path("attributes");
	struct sonde_run_result result;
	struct sonde_sink *sink;
	struct sonde_error err;
	char text[256];

	(void)state;
	assert_int_equal(sonde_sink_create(path, &create, &sink, &err), SONDE_OK);
	assert_int_equal(sonde_pipeline_run(&source, 1, sink, &run, &result, &err), SONDE_OK);
	sonde_sink_free(sink);
	store = open_store(path);
	first_attributes(store, text, sizeof(text));
	assert_string_equal(text, "{\"size\":7,\"name\":\"first\",\"part\":0.1,"
				  "\"more\":{\"a\":[1,{\"b\":null}]},\"list\":[1,-2],"
				  "\"flag\":true,\"low\":-5}");
	sonde_recording_close(store);
	sonde_recording_close(source);
}

static void ingest(const struct sonde_ingest_options *options, struct sonde_ingest_result *result)
{
	struct sonde_recording *source = make_requests();
	const char *base = scratch_path("ingested");
	struct sonde_store_settings settings;
	struct sonde_store *store;
	struct sonde_error err;

	remove_tree(base);
	sonde_store_settings_init(&settings);
	assert_int_equal(sonde_store_init(base, &settings, &err), SONDE_OK);
	assert_int_equal(sonde_store_open(base, &store, NULL, &err), SONDE_OK);
	if (sonde_ingest_recording(store, source, options, result, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(sonde_store_close(store, &err), SONDE_OK);
	assert_sound(base);
	sonde_recording_close(source);
}

static void test_ingest(void **state)
{
	struct sonde_ingest_options options = { .loss = sonde_loss_new() };
	struct sonde_ingest_result result;
	struct sonde_recording *store, *source = make_requests();

	(void)state;
	ingest(&options, &result);
	assert_int_equal(result.traces, 1);
	assert_int_equal(result.records, 7);
	store = open_store(scratch_path("ingested"));
	assert_same_rows(source, store);
	sonde_recording_close(store);
	options.split_by = "req*";
	options.service = "shop";
	ingest(&options, &result);
	assert_int_equal(result.traces, 3);
	assert_int_equal(result.records, 6);
	assert_int_equal(lost(options.loss, "calls"), 1);
	store = open_store(scratch_path("ingested"));
	assert_int_equal(sonde_recording_event_count(store), 12);
	assert_string_equal(
		sonde_definitions_string(
			sonde_recording_definitions(store),
			sonde_definitions_process(sonde_recording_definitions(store), 0)->name),
		"shop");
	sonde_recording_close(store);
	sonde_recording_close(source);
	sonde_loss_free(options.loss);
}

/* Everything of a store of the script comes through another format as it was. */
static void test_script_through_atf(void **state)
{
	struct sonde_recording *store = open_store(write_script("script")), *session, *again;
	struct sonde_create_options create = { .format = "atf", .replace = true };
	struct sonde_run_options run = { 0 };
	struct sonde_run_result result;
	struct sonde_sink *sink;
	struct sonde_error err;
	const char *path = scratch_path("session");

	(void)state;
	assert_int_equal(sonde_sink_create(path, &create, &sink, &err), SONDE_OK);
	assert_int_equal(sonde_pipeline_run(&store, 1, sink, &run, &result, &err), SONDE_OK);
	sonde_sink_free(sink);
	assert_int_equal(sonde_recording_open(path, NULL, &session, &err), SONDE_OK);
	again = open_store(write_store(session, "again", NULL, NULL));
	assert_same_rows(store, again);
	assert_sound(scratch_path("again"));
	sonde_recording_close(again);
	sonde_recording_close(session);
	sonde_recording_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_cursors),
		cmocka_unit_test(test_of_slots),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_ends_and_nuls),
		cmocka_unit_test(test_arguments_become_attributes),
		cmocka_unit_test(test_ingest),
		cmocka_unit_test(test_script_through_atf),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
