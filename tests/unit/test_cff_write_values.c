/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of wtf-trace files: arguments, marks, flows, ranges, counters, definitions, and what
 * is in the loss report.
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

#include "base/file.h"
#include "cff_world.h"
#include "formats/cff/cff.h"
#include "formats/cff/cff_names.h"
#include "memory_recording.h"
#include "scratch.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),  cmocka_unit_test(test_texts),
		cmocka_unit_test(test_kinds),	   cmocka_unit_test(test_scope_enter),
		cmocka_unit_test(test_losses),	   cmocka_unit_test(test_definitions),
		cmocka_unit_test(test_own_header),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
