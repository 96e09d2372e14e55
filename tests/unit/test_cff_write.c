/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of wtf-trace files: whatever a recording has comes out of the file again, as an
 * independent decoder reads it, and what does not is in the loss report.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "base/bytes.h"
#include "cff_decoder.h"
#include "formats/cff/cff.h"
#include "formats/cff/cff_names.h"
#include "memory_recording.h"
#include "model/arguments.h"
#include "scratch.h"

#define NS_IN_MINUTE (60 * UINT64_C(1000000000))

/* What one test works with. */
struct world {
	struct sonde_recording *source;
	uint32_t process;
	struct sonde_loss *loss;
	struct decoded *decoded;
	const char *path;
};

static struct world *new_world(void)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->source = memory_recording_new(7);
	world->process = memory_add_process(world->source, "program");
	world->loss = sonde_loss_new();
	assert_non_null(world->loss);
	world->path = scratch_path("out.wtf-trace");
	return world;
}

static void world_free(struct world *world)
{
	if (world->decoded)
		decoded_free(world->decoded);
	sonde_loss_free(world->loss);
	sonde_recording_close(world->source);
	free(world);
}

static void write_to(struct world *world, const char *path,
		     enum sonde_status (*create)(const char *path,
						 const struct sonde_create_options *options,
						 struct sonde_sink **sink, struct sonde_error *err),
		     const char *style)
{
	const struct sonde_create_options create_options = {
		.replace = true,
		.loss = world->loss,
		.style = style,
	};
	const struct sonde_run_options options = { .loss = world->loss };
	struct sonde_error err = { 0 };
	struct sonde_sink *sink;

	assert_int_equal(create(path, &create_options, &sink, &err), SONDE_OK);
	if (sonde_pipeline_run(&world->source, 1, sink, &options, NULL, &err) != SONDE_OK)
		fail_msg("%s", err.message);
	sonde_sink_free(sink);
}

/* Arguments as the source has them are those of the file. */
static void assert_same_arguments(const struct decoded *decoded, const struct decoded_event *event,
				  const struct sonde_detail *detail)
{
	assert_int_equal(event->event_type, detail->event_type);
	assert_int_equal(event->size, detail->size);
	assert_memory_equal(decoded->arguments.data + event->arguments, detail->bytes,
			    detail->size);
}

static void assert_same_event(const struct decoded *decoded, const struct decoded_event *read,
			      const struct sonde_batch *batch, const struct sonde_event *event)
{
	struct sonde_detail detail = { 0 };
	enum sonde_status status = sonde_batch_detail(batch, event, &detail, NULL);

	assert_int_equal(read->event.time_ns, event->time_ns);
	assert_int_equal(read->event.kind, event->kind);
	if (sonde_event_leaves(event) && !event->depth && read->event.function == SONDE_NONE)
		return; /* the function that every reader knows */
	assert_int_equal(read->event.function, event->function);
	if (sonde_event_has_function(event))
		assert_int_equal(read->event.depth, event->depth);
	if (event->kind >= SONDE_EVENT_FLOW_BEGIN)
		assert_int_equal(read->event.extra, event->extra);
	if (event->kind == SONDE_EVENT_COUNTER)
		assert_int_equal(read->event.detail, event->detail);
	if (status == SONDE_OK && detail.kind == SONDE_DETAIL_ARGUMENTS)
		assert_same_arguments(decoded, read, &detail);
	else
		assert_int_equal(read->event_type, SONDE_NONE);
}

/* Every event of the source is in the file, in its order. */
static void assert_same_events(const struct world *world)
{
	const struct decoded *decoded = world->decoded;
	uint32_t tracks = sonde_definitions_track_count(world->source->definitions);

	assert_int_equal(decoded->tracks.count, tracks);
	for (uint32_t track = 0; track < tracks; track++) {
		const struct decoded_track *read = &decoded->tracks.items[track];
		struct sonde_cursor *cursor;
		struct sonde_batch batch;
		size_t at = 0;

		assert_int_equal(sonde_cursor_open(world->source, track, &cursor, NULL), SONDE_OK);
		while (!sonde_cursor_next(cursor, &batch, NULL)) {
			for (size_t i = 0; i < batch.count; i++) {
				assert_true(at < read->events.count);
				assert_same_event(decoded, &read->events.items[at++], &batch,
						  &batch.events[i]);
			}
		}
		assert_int_equal(at, read->events.count);
		sonde_cursor_free(cursor);
	}
}

/* Writes the source and reads it back; all events are there. */
static void write_and_compare(struct world *world)
{
	write_to(world, world->path, cff_create, NULL);
	world->decoded = decode_file(world->path);
	assert_same_events(world);
}

static uint64_t lost(const struct world *world, const char *what, bool elsewhere)
{
	const struct sonde_loss_entry *entry;

	for (size_t i = 0; (entry = sonde_loss_at(world->loss, i)); i++) {
		if (!strcmp(entry->what, what)) {
			assert_int_equal(entry->only_elsewhere, elsewhere);
			return entry->count;
		}
	}
	return 0;
}

/* Nothing that our own reader would miss. */
static void assert_nothing_lost(const struct world *world)
{
	const struct sonde_loss_entry *entry;

	for (size_t i = 0; (entry = sonde_loss_at(world->loss, i)); i++) {
		if (!entry->only_elsewhere)
			fail_msg("lost: %s", entry->what);
	}
}

static uint32_t add_type(struct world *world, const char *name, const char *arguments, bool scope)
{
	uint32_t id = memory_add_event_type(world->source, name, arguments);

	((struct sonde_event_type *)sonde_definitions_event_type(world->source->definitions, id))
		->is_scope = scope;
	return id;
}

/* An event with arguments that are packed already. */
static void add_with(struct world *world, struct sonde_event event, uint32_t type,
		     const struct sonde_buffer *values)
{
	assert_false(values->failed);
	event.detail = memory_add_arguments(world->source, 0, type, values->data, values->size);
	memory_add_event(world->source, 0, event);
}

static void put_number(struct sonde_buffer *values, enum sonde_argument_type type, uint64_t bits)
{
	union sonde_argument_value value = { .u64 = bits };

	sonde_arguments_put_number(values, type, value);
}

static void test_calls(void **state)
{
	struct world *world = new_world();
	uint64_t random = 5;
	char name[32];

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "f%d(int)", i);
		memory_add_function(world->source, world->process, name);
	}
	for (uint32_t track = 0; track < 4; track++)
		memory_add_track(world->source, world->process, track == 1 ? "" : "t");
	memory_add_calls(world->source, 0, 200000, 0, 100, true, &random);
	memory_add_calls(world->source, 2, 70000, 50, 50, false, &random);
	memory_add_calls(world->source, 3, 1, 0, 100, false, &random);
	write_and_compare(world);
	assert_nothing_lost(world);
	assert_index_agrees(world->decoded);
	assert_true(world->decoded->chunks.count >= 6);
	assert_string_equal(world->decoded->tracks.items[1].name, "thread 1");
	world_free(world);
}

/* Functions that are defined while they are read get their types in time. */
static void test_functions_met_late(void **state)
{
	struct world *world = new_world();
	uint32_t track = memory_add_track(world->source, world->process, "t");

	(void)state;
	for (uint32_t i = 0; i < 100000; i++)
		memory_add_event(world->source, track,
				 memory_event(i % 2 ? SONDE_EVENT_RETURN : SONDE_EVENT_CALL, i,
					      MEMORY_UNDEFINED + i / 2000, 1));
	write_and_compare(world);
	assert_index_agrees(world->decoded);
	assert_int_equal(lost(world, "names that are changed", true), 0);
	world_free(world);
}

/* Any kind, function and depth in any order. */
static void test_unbalanced(void **state)
{
	struct world *world = new_world();
	uint64_t random = 11, time_ns = 1234567;

	(void)state;
	for (int i = 0; i < 5; i++)
		memory_add_function(world->source, world->process, i ? "g" : "wtf.scope#leave");
	for (uint32_t track = 0; track < 2; track++) {
		memory_add_track(world->source, world->process, "t");
		for (int i = 0; i < 100000; i++) {
			enum sonde_event_kind kind = SONDE_EVENT_CALL + memory_random(&random) % 3;
			uint32_t function = (uint32_t)(memory_random(&random) % 5);
			uint32_t depth = (uint32_t)(memory_random(&random) % 6);

			time_ns += memory_random(&random) % 5000;
			memory_add_event(world->source, track,
					 memory_event(kind, time_ns, function, depth));
		}
	}
	write_and_compare(world);
	assert_nothing_lost(world);
	assert_index_agrees(world->decoded);
	world_free(world);
}

static void test_times(void **state)
{
	static const uint64_t times[] = {
		UINT64_C(77123456789), UINT64_C(77123456789), UINT64_C(77123457000),
		UINT64_C(77123457999), 71 * NS_IN_MINUTE,     73 * NS_IN_MINUTE,
		300 * NS_IN_MINUTE,    301 * NS_IN_MINUTE,    90 * NS_IN_MINUTE,
		UINT64_C(5000000001), /* before the first */
		UINT64_MAX - 7,
	};
	struct world *world = new_world();
	uint32_t track = memory_add_track(world->source, world->process, "t");

	(void)state;
	memory_add_function(world->source, world->process, "f");
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		memory_add_event(world->source, track,
				 memory_event(i % 2 ? SONDE_EVENT_RETURN : SONDE_EVENT_CALL,
					      times[i], 0, 1));
	write_and_compare(world);
	assert_nothing_lost(world);
	assert_index_agrees(world->decoded);
	assert_int_equal(world->decoded->origin_ns, UINT64_C(77123000000));
	assert_non_null(strstr(world->decoded->header, "\"timebase\":77123,"));
	assert_true(world->decoded->chunks.count > 4);
	assert_int_equal(world->decoded->chunks.items[0].start, 456);
	assert_int_equal(lost(world, "nanoseconds of times", true), 5);
	assert_int_equal(lost(world, "events past 71 min 35 s", true), 6);
	world_free(world);
}

/* Whole microseconds need nothing beside the format. */
static void test_plain_times(void **state)
{
	struct world *world = new_world();
	uint32_t track = memory_add_track(world->source, world->process, "t");

	(void)state;
	memory_add_function(world->source, world->process, "f");
	for (uint64_t i = 0; i < 1000; i++)
		memory_add_event(world->source, track,
				 memory_event(i % 2 ? SONDE_EVENT_RETURN : SONDE_EVENT_CALL,
					      i * 1000, 0, 1));
	write_and_compare(world);
	assert_null(sonde_loss_at(world->loss, 0));
	assert_int_equal(memmem(world->decoded->bytes, world->decoded->size, "sondeNS1", 8) == NULL,
			 1);
	world_free(world);
}

/* More functions than other readers have room for: the last ones are named in an argument. */
static void test_many_functions(void **state)
{
	enum { FUNCTIONS = 70000 };
	struct world *world = new_world();
	uint32_t track = memory_add_track(world->source, world->process, "t");
	uint64_t random = 3;
	char name[32];

	(void)state;
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		memory_add_function(world->source, world->process, name);
	}
	for (uint32_t i = 0; i < 2 * FUNCTIONS; i++) {
		uint32_t function = i < FUNCTIONS ? i :
						    (uint32_t)(memory_random(&random) % FUNCTIONS);

		memory_add_event(world->source, track,
				 memory_event(SONDE_EVENT_CALL, 10 * i, function, 1));
		memory_add_event(world->source, track,
				 memory_event(i % 9 ? SONDE_EVENT_RETURN : SONDE_EVENT_EXCEPTION,
					      10 * i + 5, function, 1));
	}
	write_and_compare(world);
	assert_nothing_lost(world);
	assert_index_agrees(world->decoded);
	assert_true(world->decoded->types.count <= 60001);
	assert_in_range(lost(world, "functions beyond the first 60,000", true), 10000, 10030);
	world_free(world);
}

/* More event types than there are wire ids, twice over: ids get new meanings. */
static void test_many_types(void **state)
{
	enum { TYPES = 66000 };
	struct world *world = new_world();
	struct sonde_buffer values = { 0 };
	char name[32];

	(void)state;
	memory_add_track(world->source, world->process, "t");
	memory_add_function(world->source, world->process, "f");
	put_number(&values, SONDE_ARGUMENT_UINT32, 7);
	for (uint32_t i = 0; i < TYPES; i++) {
		snprintf(name, sizeof(name), "e%u", i);
		memory_add_event_type(world->source, name, i % 2 ? "uint32 x" : "");
	}
	for (uint32_t i = 0; i < 3 * TYPES / 2; i++) {
		struct sonde_event event = memory_event(SONDE_EVENT_INSTANT, i, i % TYPES, 0);

		if (i % 1000 == 0)
			memory_add_event(
				world->source, 0,
				memory_event(i % 3000 ? SONDE_EVENT_EXCEPTION : SONDE_EVENT_CALL, i,
					     0, i % 7));
		if (i % 100 == 0)
			event.kind = SONDE_EVENT_MARK;
		if (i % TYPES % 2)
			add_with(world, event, i % TYPES, &values);
		else
			memory_add_event(world->source, 0, event);
	}
	write_and_compare(world);
	assert_nothing_lost(world);
	assert_null(world->decoded->index);
	assert_true(world->decoded->redefinitions > 100);
	sonde_buffer_release(&values);
	world_free(world);
}

static void test_many_zones(void **state)
{
	enum { TRACKS = 66000 };
	struct world *world = new_world();

	(void)state;
	memory_add_function(world->source, world->process, "f");
	for (uint32_t i = 0; i < TRACKS; i++) {
		memory_add_track(world->source, world->process, "same name");
		if (i % 500 == 0 || i > TRACKS - 3)
			memory_add_event(world->source, i, memory_event(SONDE_EVENT_CALL, i, 0, 1));
	}
	write_and_compare(world);
	assert_nothing_lost(world);
	assert_null(world->decoded->index);
	world_free(world);
}

static const char *written_name(const struct decoded *decoded, uint32_t function)
{
	for (size_t i = 0; i < decoded->meanings.count; i++) {
		if (decoded->meanings.items[i].function == function)
			return decoded->meanings.items[i].name;
	}
	return NULL;
}

static uint32_t add_module(struct world *world, const char *path)
{
	const struct sonde_module module = {
		.process = world->process,
		.path = memory_add_string(world->source->definitions, path),
	};
	uint32_t id;

	assert_int_equal(
		sonde_definitions_add_module(world->source->definitions, &module, &id, NULL),
		SONDE_OK);
	return id;
}

static void set_module(struct world *world, uint32_t function, uint32_t module)
{
	((struct sonde_function *)sonde_definitions_function(world->source->definitions, function))
		->module = module;
}

static void test_names(void **state)
{
	static char long_name[6000];
	const char *names[] = { "same", "same",	     "same",   "same",	 "delete",
				"",	"\xFF\x80x", "same#2", long_name };
	struct world *world = new_world();
	uint32_t track = memory_add_track(world->source, world->process, "t");
	const struct decoded *decoded;

	(void)state;
	memset(long_name, 'n', sizeof(long_name) - 1);
	memcpy(long_name + 3070, "\xC3\xA9\xC3\xA9\xC3\xA9", 6);
	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		memory_add_function(world->source, world->process, names[i]);
		memory_add_event(world->source, track,
				 memory_event(SONDE_EVENT_CALL, 1000 * i, i, i + 1));
	}
	set_module(world, 1, add_module(world, "/usr/lib/liba.so"));
	set_module(world, 2, add_module(world, "/usr/lib/liba.so"));
	write_and_compare(world);
	decoded = world->decoded;
	assert_string_equal(written_name(decoded, 0), "same");
	assert_string_equal(written_name(decoded, 1), "same (liba.so)");
	assert_string_equal(written_name(decoded, 2), "same#2");
	assert_string_equal(written_name(decoded, 3), "same#3");
	assert_string_equal(written_name(decoded, 4), "delete"); /* it has no arguments */
	assert_string_equal(written_name(decoded, 5), "0x0000000000000005");
	assert_string_equal(written_name(decoded, 6), "\xEF\xBF\xBD\xEF\xBF\xBDx");
	assert_string_equal(written_name(decoded, 7), "same#2#2");
	assert_int_equal(strlen(written_name(decoded, 8)), 3072);
	assert_non_null(strstr(decoded->definitions, "[0,0,\"same\",\"\",\"\",0,1]"));
	assert_non_null(strstr(decoded->definitions, long_name));
	assert_int_equal(lost(world, "names that are changed", true), 5);
	assert_true(lost(world, "names that are not UTF-8", false) > 0);
	world_free(world);
}

/* Every type of argument, with random bits; texts of every byte. */
static void test_arguments(void **state)
{
	static const char signature[] =
		"bool b, int8 i8, uint8 u8, char c, int16 i16, uint16 u16, wchar w, int32 i32, "
		"uint32 u32, int64 i64, uint64 u64, float32 f, float64 d, flowId fl, time32 t, "
		"ascii a, utf8 u, any y, int8[] a8, uint16[] a16, float32[] af, int64[] a64, "
		"float64[] ad, uint64[] au, bool[] ab, time32[] at, int32 last";
	static const uint8_t items[64] = { 1, 1, 0, 1, 0, 0, 1, 7 };
	struct world *world = new_world();
	struct sonde_buffer values = { 0 };
	uint64_t random = 99;
	uint32_t type;
	char text[256];

	(void)state;
	memory_add_track(world->source, world->process, "t");
	memory_add_function(world->source, world->process, "my.scope");
	type = add_type(world, "my.scope", signature, true);
	for (size_t i = 0; i < 255; i++)
		text[i] = (char)(i + 1);
	for (uint32_t i = 0; i < 300; i++) {
		size_t count = i % 4;

		sonde_buffer_clear(&values);
		put_number(&values, SONDE_ARGUMENT_BOOL, i % 2);
		put_number(&values, SONDE_ARGUMENT_INT8, (uint64_t) - (int64_t)(i % 100));
		put_number(&values, SONDE_ARGUMENT_UINT8, memory_random(&random) & 0xFF);
		put_number(&values, SONDE_ARGUMENT_CHAR, i % 256);
		put_number(&values, SONDE_ARGUMENT_INT16, (uint64_t) - (int64_t)i);
		put_number(&values, SONDE_ARGUMENT_UINT16, memory_random(&random) & 0xFFFF);
		put_number(&values, SONDE_ARGUMENT_WCHAR, 0xD800 + i);
		put_number(&values, SONDE_ARGUMENT_INT32, (uint64_t)INT64_MIN);
		put_number(&values, SONDE_ARGUMENT_UINT32, memory_random(&random) & UINT32_MAX);
		put_number(&values, SONDE_ARGUMENT_INT64, memory_random(&random));
		put_number(&values, SONDE_ARGUMENT_UINT64, memory_random(&random));
		put_number(&values, SONDE_ARGUMENT_FLOAT32, UINT64_C(0x3FF8000000000000));
		put_number(&values, SONDE_ARGUMENT_FLOAT64, memory_random(&random));
		put_number(&values, SONDE_ARGUMENT_FLOW, i);
		put_number(&values, SONDE_ARGUMENT_TIME32, i);
		sonde_arguments_put_text(&values, i % 3 ? text + i % 255 : NULL, 255 - i % 255);
		sonde_arguments_put_text(&values, "", 0);
		sonde_arguments_put_text(&values, "{\"x\":1}", 7);
		sonde_arguments_put_array(&values, SONDE_ARGUMENT_INT8, items, count);
		sonde_arguments_put_array(&values, SONDE_ARGUMENT_UINT16, items, count);
		sonde_arguments_put_array(&values, SONDE_ARGUMENT_FLOAT32, NULL, 0);
		sonde_arguments_put_array(&values, SONDE_ARGUMENT_INT64, items, count);
		sonde_arguments_put_array(&values, SONDE_ARGUMENT_FLOAT64, i % 2 ? items : NULL,
					  i % 2 ? count : 0);
		sonde_arguments_put_array(&values, SONDE_ARGUMENT_UINT64, items, 0);
		sonde_arguments_put_array(&values, SONDE_ARGUMENT_BOOL, items, count);
		sonde_arguments_put_array(&values, SONDE_ARGUMENT_TIME32, items, count);
		put_number(&values, SONDE_ARGUMENT_INT32, i);
		add_with(world, memory_event(SONDE_EVENT_CALL, 10 * i, 0, i + 1), type, &values);
	}
	write_and_compare(world);
	assert_nothing_lost(world);
	assert_index_agrees(world->decoded);
	assert_int_equal(lost(world, "arguments of 64 bits", true), 300);
	sonde_buffer_release(&values);
	world_free(world);
}

static void test_texts(void **state)
{
	enum { BIG = 3 << 20 };
	struct world *world = new_world();
	struct sonde_buffer values = { 0 };
	char *big = malloc(BIG);
	uint32_t type;

	(void)state;
	assert_non_null(big);
	memset(big, 'b', BIG);
	memory_add_track(world->source, world->process, "t");
	type = add_type(world, "texts", "utf8 a, any b", false);
	for (uint32_t i = 0; i < 3; i++) {
		sonde_buffer_clear(&values);
		sonde_arguments_put_text(&values, big, BIG - i);
		sonde_arguments_put_text(&values, i ? "1" : NULL, 1);
		add_with(world, memory_event(SONDE_EVENT_INSTANT, i, type, 0), type, &values);
	}
	write_and_compare(world);
	assert_nothing_lost(world);
	assert_int_equal(world->decoded->chunks.count, 3);
	decoded_free(world->decoded);
	world->decoded = NULL;
	sonde_buffer_clear(&values);
	sonde_arguments_put_text(&values, "a\0b", 3);
	sonde_arguments_put_text(&values, "", 0);
	add_with(world, memory_event(SONDE_EVENT_INSTANT, 9, type, 0), type, &values);
	write_to(world, world->path, cff_create, NULL);
	assert_int_equal(lost(world, "texts with a NUL inside", false), 1);
	assert_int_equal(lost(world, "empty values of type any", false), 1);
	free(big);
	sonde_buffer_release(&values);
	world_free(world);
}

/* Marks, flows, ranges and counters, as other formats have them and as this one has. */
static void test_kinds(void **state)
{
	struct world *world = new_world();
	struct sonde_buffer values = { 0 };
	uint32_t plain, typed, mark, frame;
	struct sonde_event event;

	(void)state;
	memory_add_track(world->source, world->process, "t");
	plain = add_type(world, "import.new", "", false);
	typed = add_type(world, "import.new", "uint32 x", false);
	mark = add_type(world, "wtf.trace#mark", "ascii name, any value", false);
	frame = add_type(world, "timing#frameStart", "uint32 number", false);
	put_number(&values, SONDE_ARGUMENT_UINT32, 41);
	for (uint32_t kind = SONDE_EVENT_INSTANT; kind <= SONDE_EVENT_RANGE_END; kind++) {
		event = memory_event(kind, kind, plain, 0);
		event.extra = kind + 100;
		if (kind <= SONDE_EVENT_MARK)
			event.extra = 0;
		memory_add_event(world->source, 0, event);
		if (kind == SONDE_EVENT_COUNTER)
			continue;
		event.function = typed;
		add_with(world, event, typed, &values);
		event.function = frame;
		event.extra = kind <= SONDE_EVENT_MARK ? 0 : 41;
		add_with(world, event, frame, &values);
	}
	sonde_buffer_clear(&values);
	sonde_arguments_put_text(&values, "here", 4);
	sonde_arguments_put_text(&values, NULL, 0);
	add_with(world, memory_event(SONDE_EVENT_MARK, 50, mark, 0), mark, &values);
	event = memory_event(SONDE_EVENT_COUNTER, 51, typed, 0);
	sonde_event_set_value(&event, 1.0 / 3);
	memory_add_event(world->source, 0, event);
	write_and_compare(world);
	assert_nothing_lost(world);
	assert_index_agrees(world->decoded);
	assert_int_equal(lost(world, "flows, marks and ranges with arguments of their own", true),
			 6);
	assert_non_null(decoded_find_type(world->decoded, "import.new"));
	assert_non_null(decoded_find_type(world->decoded, "import_.new_"));
	assert_non_null(decoded_find_type(world->decoded, "sonde.counter#import_.new_"));
	sonde_buffer_release(&values);
	world_free(world);
}

/* wtf.scope#enter says the name of the function in its argument. */
static void test_scope_enter(void **state)
{
	struct world *world = new_world();
	struct sonde_buffer values = { 0 };
	uint32_t type;

	(void)state;
	memory_add_track(world->source, world->process, "t");
	memory_add_function(world->source, world->process, "first");
	memory_add_function(world->source, world->process, "first");
	type = add_type(world, "wtf.scope#enter", "ascii name", true);
	sonde_arguments_put_text(&values, "first", 5);
	for (uint32_t i = 0; i < 2; i++)
		add_with(world, memory_event(SONDE_EVENT_CALL, i, i, i + 1), type, &values);
	write_to(world, world->path, cff_create, NULL);
	world->decoded = decode_file(world->path);
	assert_int_equal(world->decoded->tracks.items[0].events.items[1].event.function, 1);
	assert_int_equal(world->decoded->tracks.items[0].events.items[0].event.function,
			 SONDE_NONE);
	sonde_buffer_release(&values);
	world_free(world);
}

static void test_losses(void **state)
{
	struct world *world = new_world();
	struct sonde_buffer values = { 0 };
	uint32_t instance;
	struct sonde_event event;

	(void)state;
	memory_add_track(world->source, world->process, "t");
	memory_add_function(world->source, world->process, "f");
	instance = add_type(world, "instance", "uint32 x", false);
	put_number(&values, SONDE_ARGUMENT_UINT32, 1);
	event = memory_event(SONDE_EVENT_CALL, 1000, 0, 1);
	event.detail = memory_add_detail(world->source, 0, 0);
	memory_add_event(world->source, 0, event);
	add_with(world, memory_event(SONDE_EVENT_CALL, 2000, 0, 2), instance, &values);
	add_with(world, memory_event(SONDE_EVENT_RETURN, 3000, 0, 2), instance, &values);
	event.detail = 77;
	event.kind = SONDE_EVENT_RETURN;
	memory_add_event(world->source, 0, event);
	memory_add_event(world->source, 0, memory_event(SONDE_EVENT_OTHER, 4000, 0, 0));
	memory_add_event(world->source, 0, memory_event(SONDE_EVENT_INSTANT, 5000, instance, 0));
	event = memory_event(SONDE_EVENT_CALL, 6000, 0, 1);
	event.flags = SONDE_EVENT_SYNTHETIC;
	memory_add_event(world->source, 0, event);
	memory_add_event(world->source, 0, memory_event(SONDE_EVENT_RETURN, 7000, 0, 1));
	memory_add_event(world->source, 0, event);
	write_to(world, world->path, cff_create, NULL);
	world->decoded = decode_file(world->path);
	assert_int_equal(world->decoded->tracks.items[0].events.count, 8);
	assert_int_equal(lost(world, "details: registers and stack bytes", false), 1);
	assert_int_equal(lost(world, "details: arguments", false), 2);
	assert_int_equal(lost(world, "details", false), 1);
	assert_int_equal(lost(world, "events of kind other", false), 1);
	assert_int_equal(lost(world, "arguments that are missing", false), 1);
	assert_int_equal(lost(world, "marks of synthetic events", false), 1);
	assert_non_null(strstr(world->decoded->definitions, "\"synthetic_tail\":1"));
	sonde_buffer_release(&values);
	world_free(world);
}

static void add_attribute(struct world *world, enum sonde_owner owner, uint32_t id,
			  const char *name, const char *value)
{
	struct sonde_definitions *definitions = world->source->definitions;
	const struct sonde_attribute attribute = {
		.owner = owner,
		.owner_id = id,
		.name = memory_add_string(definitions, name),
		.value = memory_add_string(definitions, value),
	};
	uint32_t number;

	assert_int_equal(sonde_definitions_add_attribute(definitions, &attribute, &number, NULL),
			 SONDE_OK);
}

static void test_definitions(void **state)
{
	struct world *world = new_world();
	struct sonde_definitions *definitions = world->source->definitions;
	const struct sonde_clock clock = { .kind = SONDE_CLOCK_BOOTTIME };
	const struct sonde_anchor anchor = { 0, UINT64_C(500000000),
					     UINT64_C(1700000000123456789) };
	struct sonde_process *process =
		(struct sonde_process *)sonde_definitions_process(definitions, 0);
	const char *text;
	uint32_t id;

	(void)state;
	assert_int_equal(sonde_definitions_add_clock(definitions, &clock, &id, NULL), SONDE_OK);
	assert_int_equal(sonde_definitions_add_anchor(definitions, &anchor, &id, NULL), SONDE_OK);
	process->clock = 0;
	process->os_id = 4711;
	process->start_ns = UINT64_MAX - 1;
	process->arch = SONDE_ARCH_ARM64;
	memory_add_track(world->source, world->process, "t");
	memory_add_function(world->source, world->process, "f");
	add_module(world, "/bin/program");
	add_attribute(world, SONDE_OWNER_RECORDING, 0, "command_line", "[\"./a\",\"b c\"]");
	add_attribute(world, SONDE_OWNER_FUNCTION, 0, "inlined", "true");
	add_attribute(world, SONDE_OWNER_TRACK, 0, "zone_location", "\"left\"");
	add_attribute(world, SONDE_OWNER_TRACK, 0, "zone_type", "null");
	memory_add_event(world->source, 0,
			 memory_event(SONDE_EVENT_CALL, UINT64_C(600000000), 0, 1));
	memory_add_blob(world->source, "a name", true, "text", 4);
	memory_add_blob(world->source, "", false, "\0\1\2\3\4", 5);
	write_and_compare(world);
	assert_nothing_lost(world);
	assert_index_agrees(world->decoded);
	text = world->decoded->definitions;
	assert_non_null(strstr(text, "\"attributes\":{\"command_line\":[\"./a\",\"b c\"]}"));
	assert_non_null(strstr(text, "\"clocks\":[[\"\",3]]"));
	assert_non_null(strstr(text, "\"anchors\":[[0,500000000,1700000000123456789]]"));
	assert_non_null(strstr(text, "[{\"name\":\"program\",\"os_id\":4711,\"clock\":0,\"arch\":2,"
				     "\"start_ns\":18446744073709551614}]"));
	assert_non_null(strstr(text, "[[0,null,\"f\",\"\",\"\",0,0,{\"inlined\":true}]]"));
	assert_non_null(strstr(text, "\"blobs\":[\"a name\",\"\"]"));
	text = world->decoded->header;
	assert_non_null(strstr(text, "\"timebase\":1700000000223,"));
	assert_non_null(strstr(text, "\"taskId\":\"4711\",\"args\":[\"./a\",\"b c\"]}"));
	assert_int_equal(world->decoded->origin_ns, 600000000 - 456789);
	assert_null(world->decoded->tracks.items[0].type);
	assert_string_equal(world->decoded->tracks.items[0].location, "left");
	assert_int_equal(world->decoded->resources.count, 2);
	assert_memory_equal(world->decoded->resources.items[1].bytes, "\0\1\2\3\4", 5);
	world_free(world);
}

/* The header of a source that was such a file stays what it was. */
static void test_own_header(void **state)
{
	struct world *world = new_world();

	(void)state;
	memory_add_track(world->source, world->process, "t");
	memory_add_function(world->source, world->process, "f");
	memory_add_event(world->source, 0, memory_event(SONDE_EVENT_CALL, 5000, 0, 1));
	add_attribute(world, SONDE_OWNER_RECORDING, 0, "timebase", "881299.77");
	add_attribute(world, SONDE_OWNER_RECORDING, 0, "flags", "[]");
	add_attribute(world, SONDE_OWNER_RECORDING, 0, "metadata", "{\"a\":[1,2],\"b\":null}");
	add_attribute(world, SONDE_OWNER_RECORDING, 0, "contextInfo", "{\"contextType\":\"x\"}");
	write_and_compare(world);
	assert_string_equal(world->decoded->header,
			    "{\"flags\":[],\"timebase\":881299.77,\"contextInfo\":"
			    "{\"contextType\":\"x\"},\"metadata\":{\"a\":[1,2],\"b\":null,"
			    "\"sonde\":{\"version\":1,\"origin_ns\":0}}}");
	world_free(world);
}

static void test_deep_stack(void **state)
{
	enum { DEPTH = 70000 };
	struct world *world = new_world();

	(void)state;
	memory_add_track(world->source, world->process, "t");
	memory_add_function(world->source, world->process, "f");
	for (uint32_t i = 0; i < DEPTH; i++)
		memory_add_event(world->source, 0, memory_event(SONDE_EVENT_CALL, i, 0, i + 1));
	for (uint32_t i = DEPTH; i > 0; i--)
		memory_add_event(world->source, 0,
				 memory_event(SONDE_EVENT_RETURN, 2 * DEPTH - i, 0, i));
	write_and_compare(world);
	assert_null(world->decoded->index);
	assert_nothing_lost(world);
	world_free(world);
}

static void test_empty(void **state)
{
	struct world *world = new_world();

	(void)state;
	write_and_compare(world);
	assert_index_agrees(world->decoded);
	assert_null(sonde_loss_at(world->loss, 0));
	world_free(world);
}

/* JSON in any style is the same file as the binary one. */
static void test_json(void **state)
{
	static const char *const styles[] = { NULL, "partial", "spec,partial", "events" };
	struct world *world = new_world();
	uint64_t random = 8;

	(void)state;
	memory_add_function(world->source, world->process, "f");
	memory_add_track(world->source, world->process, "t");
	memory_add_calls(world->source, 0, 1000, 0, 1, false, &random);
	write_and_compare(world);
	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++) {
		const char *path = scratch_path("out.wtf-json");
		struct sonde_diagnostics *findings = sonde_diagnostics_new();
		struct cff_image image;

		assert_non_null(findings);
		write_to(world, path, cff_json_create, styles[i]);
		assert_int_equal(cff_image_open(&image, path, findings, NULL), SONDE_OK);
		assert_int_equal(image.size, world->decoded->size);
		assert_memory_equal(image.data, world->decoded->bytes, image.size);
		cff_image_release(&image);
		sonde_diagnostics_free(findings);
	}
	world_free(world);
}

static void test_styles(void **state)
{
	const struct sonde_create_options options = { .style = "partial,evnets" };
	struct sonde_error err = { 0 };
	struct sonde_sink *sink;

	(void)state;
	assert_int_equal(cff_json_create(scratch_path("x.wtf-json"), &options, &sink, &err),
			 SONDE_ARGUMENT);
	assert_null(sink);
	assert_non_null(strstr(err.message, "\"evnets\""));
}

/* Nothing appears under the name before the end, and nothing stays beside it. */
static void test_unfinished(void **state)
{
	const struct sonde_create_options options = { 0 };
	const char *path = scratch_path("alone/x");
	struct sonde_sink *sink;

	(void)state;
	assert_int_equal(sonde_folder_create(scratch_path("alone"), NULL), SONDE_OK);
	assert_int_equal(cff_create(path, &options, &sink, NULL), SONDE_OK);
	assert_int_not_equal(access(path, F_OK), 0);
	sonde_sink_free(sink);
	assert_int_equal(cff_json_create(path, &options, &sink, NULL), SONDE_OK);
	sonde_sink_free(sink);
	assert_int_equal(rmdir(scratch_path("alone")), 0);
}

static void test_signatures(void **state)
{
	static const char *const pairs[][2] = {
		{ "", "" },
		{ "int64 x", "uint32 x, uint32 x_high_i64" },
		{ "uint64 x, utf8 s", "uint32 x, uint32 x_high_u64, utf8 s" },
		{ "float64 x", "float32 x, uint32 x_low_f64, uint32 x_high_f64" },
		{ "int64[] x, uint64[] y, float64[] z",
		  "uint32[] x_pairs_i64, uint32[] y_pairs_u64, uint32[] z_pairs_f64" },
		{ "int64 x, uint32 x_high_i64", "uint32 x, uint32 x_high_i64, uint32 x_high_i64" },
		{ "uint32 x,  utf8 s", "uint32 x,  utf8 s" },
	};
	char *text;
	bool changed;

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		assert_int_equal(cff_signature_split(pairs[i][0], &text, &changed, NULL), SONDE_OK);
		assert_string_equal(text, pairs[i][1]);
		assert_int_equal(changed, strcmp(pairs[i][0], pairs[i][1]) != 0);
		free(text);
		assert_int_equal(cff_signature_join(pairs[i][1], &text, &changed, NULL), SONDE_OK);
		assert_string_equal(text, pairs[i][0]);
		free(text);
	}
	assert_int_equal(cff_signature_join("float32 x, uint32 x_high_f64", &text, &changed, NULL),
			 SONDE_OK);
	assert_false(changed);
	free(text);
	assert_int_equal(cff_signature_split("wrong", &text, NULL, NULL), SONDE_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),	    cmocka_unit_test(test_functions_met_late),
		cmocka_unit_test(test_unbalanced),  cmocka_unit_test(test_times),
		cmocka_unit_test(test_plain_times), cmocka_unit_test(test_many_functions),
		cmocka_unit_test(test_many_types),  cmocka_unit_test(test_many_zones),
		cmocka_unit_test(test_names),	    cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_texts),	    cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_scope_enter), cmocka_unit_test(test_losses),
		cmocka_unit_test(test_definitions), cmocka_unit_test(test_own_header),
		cmocka_unit_test(test_deep_stack),  cmocka_unit_test(test_empty),
		cmocka_unit_test(test_json),	    cmocka_unit_test(test_styles),
		cmocka_unit_test(test_unfinished),  cmocka_unit_test(test_signatures),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
