/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model with each allocation failing in turn: cursors, selections, and pipelines with all
 * filters. Definitions and diagnostics are in test_fault_base.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include <sonde/sonde.h>

#include "../unit/memory_recording.h"
#include "fault.h"
#include "model/arguments.h"
#include "model/recording.h"

struct world {
	struct sonde_recording *sources[2];
	struct sonde_run_options options;
	size_t source_count;
};

/* Functions of which some are defined only when they are read, details, arguments, resources. */
static struct sonde_recording *new_source(void)
{
	struct sonde_recording *recording = memory_recording_new(7);
	uint32_t process = memory_add_process(recording, "p");
	uint64_t random = 3;

	memory_add_event_type(recording, "odd type", "uint32 n");
	for (unsigned int i = 0; i < 4; i++)
		memory_add_function(recording, process, i % 2 ? "odd" : "even");
	for (uint32_t track = 0; track < 3; track++) {
		struct sonde_event event;

		memory_add_track(recording, process, "t");
		memory_add_calls(recording, track, 50, 0, 4, false, &random);
		event = memory_event(SONDE_EVENT_CALL, 500, MEMORY_UNDEFINED + track, 30);
		event.detail = memory_add_detail(recording, track, MEMORY_UNDEFINED + 9);
		memory_add_event(recording, track, event);
		event = memory_event(SONDE_EVENT_INSTANT, 501, 0, 30);
		event.detail = memory_add_arguments(recording, track, 0, "\x01\0\0\0", 4);
		memory_add_event(recording, track, event);
	}
	memory_add_blob(recording, "resource", true, "text", 4);
	return recording;
}

static void make_sources(void *user)
{
	struct world *world = user;

	world->sources[0] = new_source();
	world->sources[1] = new_source();
}

/* Belongs to what is tried: a source grows by the functions that are met in it. */
static enum sonde_status close_sources(struct world *world, enum sonde_status status)
{
	sonde_recording_close(world->sources[0]);
	sonde_recording_close(world->sources[1]);
	return status;
}

static unsigned int run_all(struct world *world,
			    enum sonde_status (*run)(void *user, struct sonde_error *err))
{
	const struct fault_case fault_case = {
		.before = make_sources,
		.run = run,
		.user = world,
	};

	return fault_run_all(FAULT_ALLOCATION, &fault_case);
}

static enum sonde_status run_merge(void *user, struct sonde_error *err)
{
	struct world *world = user;
	struct sonde_merged_cursor *cursor;
	struct sonde_batch batch;
	enum sonde_status status =
		sonde_merged_cursor_open(world->sources[0], NULL, 0, &cursor, err);

	if (status)
		return close_sources(world, status);
	while (!(status = sonde_merged_cursor_next(cursor, &batch, err)))
		;
	sonde_merged_cursor_free(cursor);
	return close_sources(world, status == SONDE_END ? SONDE_OK : status);
}

static void test_merged_cursor(void **state)
{
	struct world world = { 0 };

	(void)state;
	assert_true(run_all(&world, run_merge) > 10);
}

static enum sonde_status run_pipeline(void *user, struct sonde_error *err)
{
	struct world *world = user;
	struct collector collector;
	enum sonde_status status;

	collector_init(&collector);
	world->options.loss = sonde_loss_new();
	if (!world->options.loss)
		return close_sources(world, sonde_fail_nomem(err));
	collector.ops.lanes = SONDE_LANE_EVENTS;
	if (world->source_count > 1)
		collector.ops.lanes |= SONDE_LANE_DETAILS | SONDE_LANE_BLOBS;
	collector.ops.blob = collect_blob;
	status = sonde_pipeline_run(world->sources, world->source_count, &collector.base,
				    &world->options, NULL, err);
	sonde_loss_free(world->options.loss);
	collector_release(&collector);
	return close_sources(world, status);
}

static void test_one_source(void **state)
{
	struct world world = { .source_count = 1, .options = { .threads = 1 } };

	(void)state;
	assert_true(run_all(&world, run_pipeline) > 10);
}

static void test_all_filters(void **state)
{
	static const uint32_t tracks[] = { 0, 2, 4 };
	static const char *const patterns[] = { "od*", "0x*" };
	struct world world = {
		.source_count = 2,
		.options = {
			.threads = 1,
			.selection = {
				.from_ns = 20,
				.to_ns = 600,
				.tracks = tracks,
				.track_count = 3,
				.functions = patterns,
				.function_count = 2,
			},
		},
	};

	(void)state;
	assert_true(run_all(&world, run_pipeline) > 30);
	world.options.threads = 3;
	assert_true(run_all(&world, run_pipeline) > 30);
}

/* Contexts below each other, values and samples; functions that are made up for some. */
static struct sonde_recording *new_profile(void)
{
	struct sonde_recording *recording = memory_recording_new(7);
	uint32_t process = memory_add_process(recording, "p"), context = 0, metric;
	uint32_t function = memory_add_function(recording, SONDE_NONE, "f");

	metric = memory_add_metric(recording, "TIME", "point", "");
	for (uint32_t track = 0; track < 2; track++)
		memory_add_track(recording, process, "t");
	for (uint32_t i = 0; i < 100; i++) {
		context = memory_add_context(recording, i % 10 ? context : 0,
					     i % 3 ? SONDE_CONTEXT_FUNCTION :
						     SONDE_CONTEXT_INSTRUCTION,
					     SONDE_CONTEXT_CALLED, i % 3 ? function : SONDE_NONE);
		memory_context(recording, context)->line = i;
		for (uint32_t track = 0; track < 2; track++) {
			memory_add_value(recording, track, context, metric, i + 1);
			memory_add_sample(recording, track, i, context);
		}
	}
	return recording;
}

static void make_profiles(void *user)
{
	struct world *world = user;

	world->sources[0] = new_profile();
	world->sources[1] = world->source_count > 1 ? new_source() : new_profile();
}

/* To a target of contexts, values and samples; with two sources also of what calls make. */
static enum sonde_status run_to_profile(void *user, struct sonde_error *err)
{
	struct world *world = user;
	struct collector collector;
	enum sonde_status status;

	collector_init_profile(&collector);
	status = sonde_pipeline_run(world->sources, world->source_count, &collector.base,
				    &world->options, NULL, err);
	collector_release(&collector);
	return close_sources(world, status);
}

static enum sonde_status run_to_events(void *user, struct sonde_error *err)
{
	struct world *world = user;
	struct collector collector;
	enum sonde_status status;

	collector_init(&collector);
	status = sonde_pipeline_run(world->sources, world->source_count, &collector.base,
				    &world->options, NULL, err);
	collector_release(&collector);
	return close_sources(world, status);
}

static enum sonde_status run_context(void *user, struct sonde_error *err)
{
	struct world *world = user;
	struct sonde_value_cursor *cursor = NULL;
	enum sonde_status status;

	status = sonde_value_cursor_open_context(world->sources[0], 50, &cursor, err);
	if (!status)
		sonde_value_cursor_free(cursor);
	return close_sources(world, status);
}

static void test_profiles(void **state)
{
	static const uint32_t tracks[] = { 1 };
	struct world world = { .source_count = 2, .options = { .threads = 1 } };
	struct fault_case fault_case = { .before = make_profiles, .user = &world };

	(void)state;
	fault_case.run = run_to_profile;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 30);
	fault_case.run = run_to_events;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 20);
	world.source_count = 1;
	world.options.selection.tracks = tracks;
	world.options.selection.track_count = 1;
	fault_case.run = run_to_profile;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 10);
	fault_case.run = run_context;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 3);
}

static enum sonde_status run_selection(void *user, struct sonde_error *err)
{
	static const char *const patterns[] = { "od*", "0x*" };
	static const uint32_t tracks[] = { 0, 2 };
	const struct sonde_selection_spec spec = {
		.functions = patterns,
		.function_count = 2,
		.tracks = tracks,
		.track_count = 2,
	};
	struct world *world = user;
	struct sonde_selection *selection;
	enum sonde_status status =
		sonde_selection_new(&spec, world->sources[0]->definitions, &selection, err);

	if (status)
		return close_sources(world, status);
	for (uint32_t i = 0; i < 4; i++) {
		struct sonde_event event = memory_event(SONDE_EVENT_CALL, 0, i, 1);

		/* Without memory for remembering the answer is the same. */
		if (sonde_selection_has(selection, &event) != (i % 2))
			status = sonde_fail(err, SONDE_ARGUMENT, 0, "a wrong answer");
	}
	sonde_selection_free(selection);
	return close_sources(world, status);
}

static void check_answers(void *user, enum sonde_status status, const struct sonde_error *err)
{
	(void)user;
	(void)err;
	assert_int_not_equal(status, SONDE_ARGUMENT);
}

static void test_selection(void **state)
{
	struct world world = { 0 };
	const struct fault_case fault_case = {
		.before = make_sources,
		.run = run_selection,
		.after = check_answers,
		.user = &world,
	};

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 4);
}

static enum sonde_status run_arguments(void *user, struct sonde_error *err)
{
	static const char packed[] = "\x02\0\0\0[]\0\0\x02\0\0\0\x3D\xD8\0\xDE";
	struct sonde_signature *signature;
	struct sonde_buffer text = { 0 };
	struct sonde_json_writer json;
	enum sonde_status status =
		sonde_signature_parse("any value, wchar[] text", &signature, err);

	(void)user;
	if (status)
		return status;
	sonde_json_writer_init(&json, &text, false);
	status = sonde_arguments_put_json(&json, signature, (const uint8_t *)packed,
					  sizeof(packed) - 1, err);
	if (!status && text.failed)
		status = sonde_fail_nomem(err);
	sonde_buffer_release(&text);
	sonde_signature_free(signature);
	return status;
}

static void test_arguments(void **state)
{
	const struct fault_case fault_case = { .run = run_arguments };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merged_cursor), cmocka_unit_test(test_one_source),
		cmocka_unit_test(test_all_filters),   cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_selection),     cmocka_unit_test(test_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
