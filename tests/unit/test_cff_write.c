/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of wtf-trace files: whatever a recording has comes out of the file again, as an
 * independent decoder reads it and as the library does. Arguments, kinds of events and definitions
 * are in test_cff_write_values.c.
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
#include "formats/cff/cff_arguments.h"
#include "formats/cff/cff_names.h"
#include "memory_recording.h"
#include "scratch.h"

#define NS_IN_MINUTE (60 * UINT64_C(1000000000))

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

/* A file of the family is copied as it is, unless something of it is left out. */
static void test_whole(void **state)
{
	struct world *world = new_world();
	uint64_t random = 8;
	struct decoded *copy;

	(void)state;
	memory_add_function(world->source, world->process, "f");
	memory_add_track(world->source, world->process, "t");
	memory_add_calls(world->source, 0, 1000, 0, 1, false, &random);
	write_and_compare(world);
	sonde_recording_close(world->source);
	assert_int_equal(sonde_recording_open(world->path, NULL, &world->source, NULL), SONDE_OK);
	write_to(world, scratch_path("copy.wtf-trace"), cff_create, NULL);
	copy = decode_file(scratch_path("copy.wtf-trace"));
	assert_int_equal(copy->size, world->decoded->size);
	assert_memory_equal(copy->bytes, world->decoded->bytes, copy->size);
	decoded_free(copy);
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

/* The signature of a file in the words of the model. */
static void assert_joins(const char *text, const char *expected)
{
	struct sonde_signature *signature;
	struct cff_field *fields;
	char *arguments;
	size_t count;

	assert_int_equal(sonde_signature_parse(text, &signature, NULL), SONDE_OK);
	assert_int_equal(cff_fields_make(signature, text, &fields, &count, &arguments, NULL),
			 SONDE_OK);
	assert_string_equal(arguments, expected);
	free(arguments);
	free(fields);
	sonde_signature_free(signature);
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
		assert_joins(pairs[i][1], pairs[i][0]);
	}
	assert_joins("float32 x, uint32 x_high_f64", "float32 x, uint32 x_high_f64");
	assert_int_equal(cff_signature_split("wrong", &text, NULL, NULL), SONDE_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),	    cmocka_unit_test(test_functions_met_late),
		cmocka_unit_test(test_unbalanced),  cmocka_unit_test(test_times),
		cmocka_unit_test(test_plain_times), cmocka_unit_test(test_many_functions),
		cmocka_unit_test(test_many_types),  cmocka_unit_test(test_many_zones),
		cmocka_unit_test(test_names),	    cmocka_unit_test(test_deep_stack),
		cmocka_unit_test(test_empty),	    cmocka_unit_test(test_json),
		cmocka_unit_test(test_whole),	    cmocka_unit_test(test_styles),
		cmocka_unit_test(test_unfinished),  cmocka_unit_test(test_signatures),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
