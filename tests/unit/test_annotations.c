/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes with annotations, through cursors, filters and the pipeline: typed arguments, ranges
 * and flows, embedded resources; sinks that take a source as a whole; losses elsewhere.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#include "formats/format.h"
#include "memory_recording.h"
#include "model/arguments.h"
#include "model/recording.h"

/* Types of the annotated recording. */
enum { TYPE_UNUSED, TYPE_SCOPE, TYPE_TICK, TYPE_RANGE, TYPE_FLOW };

static uint32_t add_number(struct sonde_recording *recording, uint32_t track, uint32_t type,
			   uint64_t number)
{
	struct sonde_buffer packed = { 0 };
	uint32_t detail;

	sonde_arguments_put_number(&packed, SONDE_ARGUMENT_UINT32,
				   (union sonde_argument_value){ .u64 = number });
	detail = memory_add_arguments(recording, track, type, packed.data, packed.size);
	sonde_buffer_release(&packed);
	return detail;
}

static void add(struct sonde_recording *recording, uint32_t track, enum sonde_event_kind kind,
		uint64_t time_ns, uint32_t function, uint32_t depth, uint32_t number)
{
	struct sonde_event event = memory_event(kind, time_ns, function, depth);

	if (kind == SONDE_EVENT_CALL)
		event.detail = add_number(recording, track, TYPE_SCOPE, number);
	else if (kind == SONDE_EVENT_INSTANT)
		event.detail = add_number(recording, track, TYPE_TICK, number);
	else
		event.extra = number;
	memory_add_event(recording, track, event);
}

/* A call, with an instant, a range and a flow in it and around it. The arguments sum up to 6. */
static struct sonde_recording *annotated(const char *prefix)
{
	struct sonde_recording *recording = memory_recording_new(3);
	uint32_t process = memory_add_process(recording, prefix);
	uint32_t track;

	memory_add_function(recording, process, "work");
	memory_add_event_type(recording, "unused", "");
	memory_add_event_type(recording, "work", "uint32 n");
	memory_add_event_type(recording, "tick", "uint32 n");
	memory_add_event_type(recording, "range", "");
	memory_add_event_type(recording, "flow", "");
	track = memory_add_track(recording, process, "zone");
	add(recording, track, SONDE_EVENT_RANGE_BEGIN, 10, TYPE_RANGE, 0, 77);
	add(recording, track, SONDE_EVENT_CALL, 20, 0, 1, 1);
	add(recording, track, SONDE_EVENT_INSTANT, 30, TYPE_TICK, 1, 2);
	add(recording, track, SONDE_EVENT_FLOW_BEGIN, 40, TYPE_FLOW, 1, 5);
	add(recording, track, SONDE_EVENT_RETURN, 50, 0, 1, 0);
	add(recording, track, SONDE_EVENT_RANGE_END, 60, TYPE_RANGE, 0, 77);
	add(recording, track, SONDE_EVENT_INSTANT, 70, TYPE_TICK, 0, 3);
	add(recording, track, SONDE_EVENT_FLOW_END, 80, TYPE_FLOW, 0, 5);
	return recording;
}

static void run(struct sonde_recording *recording, struct sonde_selection_spec spec,
		struct collector *collector)
{
	struct sonde_run_options options = { .selection = spec };

	collector_init(collector);
	assert_int_equal(sonde_pipeline_run(&recording, 1, &collector->base, &options, NULL, NULL),
			 SONDE_OK);
	assert_int_equal(collector->finished, 1);
}

static void check_kinds(const struct collector *collector, const uint8_t *kinds, size_t count)
{
	assert_int_equal(collector->tracks[0].count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(collector->tracks[0].events[i].kind, kinds[i]);
}

static void test_arguments_keep_their_type(void **state)
{
	struct sonde_recording *recording = annotated("p");
	struct collector collector;

	(void)state;
	run(recording, (struct sonde_selection_spec){ 0 }, &collector);
	assert_ptr_equal(collector.definitions, recording->definitions);
	assert_int_equal(collector.tracks[0].detail_functions[1], TYPE_SCOPE);
	assert_int_equal(collector.tracks[0].detail_functions[2], TYPE_TICK);
	assert_int_equal(collector.argument_bytes, 6);
	collector_release(&collector);
	sonde_recording_close(recording);
}

/* The numbers of details are larger than there are details: none of them is lost for that. */
static void test_details_numbered_by_their_events(void **state)
{
	struct sonde_recording *recording = annotated("p");
	struct sonde_run_options options = { .loss = sonde_loss_new() };
	struct sonde_run_result result;
	struct collector collector;

	(void)state;
	memory_number_by_event(recording);
	collector_init(&collector);
	assert_int_equal(
		sonde_pipeline_run(&recording, 1, &collector.base, &options, &result, NULL),
		SONDE_OK);
	assert_null(sonde_loss_at(options.loss, 0));
	assert_int_equal(result.details_written, 3);
	assert_int_equal(collector.argument_bytes, 6);
	collector_release(&collector);
	collector_init(&collector);
	collector.ops.lanes = SONDE_LANE_EVENTS;
	assert_int_equal(
		sonde_pipeline_run(&recording, 1, &collector.base, &options, &result, NULL),
		SONDE_OK);
	assert_string_equal(sonde_loss_at(options.loss, 0)->what, "details");
	assert_int_equal(sonde_loss_at(options.loss, 0)->count, 3);
	assert_null(sonde_loss_at(options.loss, 1));
	collector_release(&collector);
	sonde_loss_free(options.loss);
	sonde_recording_close(recording);
}

/* Of both sources: what the types of events and arguments are called in the target. */
static void check_types(struct collector *collector)
{
	for (uint32_t track = 0; track < 2; track++) {
		const struct collected_track *collected = &collector->tracks[track];

		for (size_t i = 0; i < collected->count; i++) {
			uint32_t id = collected->detail_functions[i];
			const struct sonde_event *event = &collected->events[i];
			const struct sonde_event_type *type =
				sonde_definitions_event_type(collector->definitions, id);

			if (!sonde_event_has_detail(event)) {
				assert_int_equal(id, SONDE_NONE);
				continue;
			}
			assert_non_null(type);
			assert_int_equal(id / 5, track); /* each source has five */
			assert_string_equal(
				sonde_definitions_string(collector->definitions, type->name),
				event->kind == SONDE_EVENT_CALL ? "work" : "tick");
			if (event->kind == SONDE_EVENT_INSTANT)
				assert_int_equal(id, event->function);
		}
	}
	assert_int_equal(sonde_definitions_event_type_count(collector->definitions), 10);
}

static void test_arguments_of_two_sources_are_renumbered(void **state)
{
	struct sonde_recording *sources[] = { annotated("p"), annotated("q") };
	struct collector collector;

	(void)state;
	collector_init(&collector);
	collector.at_finish = check_types;
	assert_int_equal(sonde_pipeline_run(sources, 2, &collector.base, NULL, NULL, NULL),
			 SONDE_OK);
	assert_int_equal(collector.finished, 1);
	assert_int_equal(collector.argument_bytes, 12);
	collector_release(&collector);
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
}

/* What is inside stays, what is outside goes; only calls are opened and closed. */
static void test_a_cut_passes_ranges_and_flows(void **state)
{
	static const uint8_t kinds[] = { SONDE_EVENT_CALL, SONDE_EVENT_INSTANT,
					 SONDE_EVENT_FLOW_BEGIN, SONDE_EVENT_RETURN,
					 SONDE_EVENT_RANGE_END };
	struct sonde_recording *recording = annotated("p");
	struct collector collector;
	const struct sonde_event *events;

	(void)state;
	run(recording, (struct sonde_selection_spec){ .from_ns = 25, .to_ns = 65 }, &collector);
	check_kinds(&collector, kinds, sizeof(kinds));
	events = collector.tracks[0].events;
	assert_int_equal(events[0].flags, SONDE_EVENT_SYNTHETIC);
	assert_int_equal(collector.tracks[0].detail_functions[0], SONDE_NONE);
	assert_int_equal(collector.tracks[0].detail_functions[1], TYPE_TICK);
	assert_int_equal(collector.argument_bytes, 2);
	assert_int_equal(events[2].extra, 5);
	assert_int_equal(events[4].extra, 77);
	assert_int_equal(events[4].flags, 0);
	collector_release(&collector);
	/* within a range, with nothing of its own: no range is made up */
	run(recording, (struct sonde_selection_spec){ .from_ns = 55, .to_ns = 58 }, &collector);
	check_kinds(&collector, NULL, 0);
	collector_release(&collector);
	sonde_recording_close(recording);
}

static void test_ranges_are_selected(void **state)
{
	static const uint8_t ranges[] = { SONDE_EVENT_RANGE_BEGIN, SONDE_EVENT_RANGE_END };
	static const uint8_t named[] = { SONDE_EVENT_RANGE_BEGIN, SONDE_EVENT_INSTANT,
					 SONDE_EVENT_RANGE_END, SONDE_EVENT_INSTANT };
	static const char *const patterns[] = { "ra*", "tick" };
	struct sonde_recording *recording = annotated("p");
	struct collector collector;

	(void)state;
	run(recording,
	    (struct sonde_selection_spec){ .kinds = 1u << SONDE_EVENT_RANGE_BEGIN |
						    1u << SONDE_EVENT_RANGE_END },
	    &collector);
	check_kinds(&collector, ranges, sizeof(ranges));
	assert_int_equal(collector.tracks[0].events[1].extra, 77);
	collector_release(&collector);
	run(recording, (struct sonde_selection_spec){ .functions = patterns, .function_count = 2 },
	    &collector);
	check_kinds(&collector, named, sizeof(named));
	assert_int_equal(collector.argument_bytes, 5);
	collector_release(&collector);
	assert_int_equal(sonde_event_kind_from_name("range-begin"), SONDE_EVENT_RANGE_BEGIN);
	assert_string_equal(sonde_event_kind_name(SONDE_EVENT_RANGE_END), "range-end");
	sonde_recording_close(recording);
}

static void test_the_merged_cursor_gives_arguments(void **state)
{
	struct sonde_recording *recording = annotated("p");
	struct sonde_merged_cursor *cursor;
	struct sonde_batch batch;
	uint64_t sum = 0;

	(void)state;
	/* a second track, whose details have the same numbers */
	memory_add_track(recording, 0, "other");
	add(recording, 1, SONDE_EVENT_INSTANT, 35, TYPE_TICK, 0, 100);
	assert_int_equal(sonde_merged_cursor_open(recording, NULL, 0, &cursor, NULL), SONDE_OK);
	while (!sonde_merged_cursor_next(cursor, &batch, NULL)) {
		for (size_t i = 0; i < batch.count; i++) {
			struct sonde_detail detail;

			if (sonde_merged_cursor_detail(cursor, &batch.events[i], &detail, NULL))
				continue;
			assert_int_equal(detail.kind, SONDE_DETAIL_ARGUMENTS);
			assert_int_equal(detail.size, 4);
			assert_int_equal(detail.bytes[0] == 100, batch.events[i].track == 1);
			sum += detail.bytes[0];
		}
	}
	assert_int_equal(sum, 106);
	sonde_merged_cursor_free(cursor);
	sonde_recording_close(recording);
}

static void test_resources_of_all_sources_come_first(void **state)
{
	struct sonde_recording *sources[] = { annotated("p"), annotated("q") };
	struct sonde_run_options options = { .loss = sonde_loss_new() };
	struct sonde_run_result result;
	struct collector collector;

	(void)state;
	memory_add_string(sources[1]->definitions, "so that ids differ");
	memory_add_blob(sources[0], "a.c", true, "int a;", 6);
	memory_add_blob(sources[1], "b.bin", false, "\0\1", 2);
	memory_add_blob(sources[1], "damaged", false, NULL, 9);
	memory_add_blob(sources[1], "", true, "", 0);
	collector_init(&collector);
	collector.ops.lanes |= SONDE_LANE_BLOBS;
	collector.ops.blob = collect_blob;
	assert_int_equal(sonde_pipeline_run(sources, 2, &collector.base, &options, &result, NULL),
			 SONDE_OK);
	assert_int_equal(collector.blob_count, 3);
	assert_int_equal(result.blobs_written, 3);
	assert_string_equal(collector.blob_names[0], "a.c");
	assert_string_equal(collector.blob_names[1], "b.bin");
	assert_string_equal(collector.blob_names[2], "");
	assert_true(collector.blobs[0].is_text);
	assert_memory_equal(collector.blobs[1].bytes, "\0\1", 2);
	assert_string_equal(sonde_loss_at(options.loss, 0)->what, "resources");
	assert_int_equal(sonde_loss_at(options.loss, 0)->count, 1);
	assert_null(sonde_loss_at(options.loss, 1));
	collector_release(&collector);
	sonde_loss_free(options.loss);
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
}

/* It needs the hook and the lane; with one of them it does not hold resources. */
static void test_resources_that_the_sink_does_not_hold(void **state)
{
	struct sonde_recording *recording = annotated("p");

	(void)state;
	memory_add_blob(recording, "a.c", true, "int a;", 6);
	memory_add_blob(recording, "b.c", true, "int b;", 6);
	for (int round = 0; round < 2; round++) {
		struct sonde_run_options options = { .loss = sonde_loss_new() };
		struct sonde_run_result result;
		struct collector collector;

		collector_init(&collector);
		if (round)
			collector.ops.blob = collect_blob;
		else
			collector.ops.lanes |= SONDE_LANE_BLOBS;
		assert_int_equal(
			sonde_pipeline_run(&recording, 1, &collector.base, &options, &result, NULL),
			SONDE_OK);
		assert_int_equal(collector.blob_count + result.blobs_written, 0);
		assert_string_equal(sonde_loss_at(options.loss, 0)->what, "resources");
		assert_int_equal(sonde_loss_at(options.loss, 0)->count, 2);
		assert_null(sonde_loss_at(options.loss, 1));
		collector_release(&collector);
		options.strict = true;
		collector_init(&collector);
		assert_int_equal(
			sonde_pipeline_run(&recording, 1, &collector.base, &options, NULL, NULL),
			SONDE_LIMIT);
		assert_int_equal(collector.finished, 0);
		collector_release(&collector);
		sonde_loss_free(options.loss);
	}
	sonde_recording_close(recording);
}

static void test_resources_of_a_recording(void **state)
{
	struct sonde_recording *recording = annotated("p");
	struct sonde_error err = { 0 };
	struct sonde_blob blob;

	(void)state;
	assert_int_equal(sonde_recording_blob_count(recording), 0);
	assert_int_equal(sonde_recording_blob(recording, 0, &blob, &err), SONDE_ARGUMENT);
	memory_add_blob(recording, "a.c", true, "int a;", 6);
	assert_int_equal(sonde_recording_blob_count(recording), 1);
	assert_int_equal(sonde_recording_blob(recording, 0, &blob, &err), SONDE_OK);
	assert_memory_equal(blob.bytes, "int a;", blob.size);
	assert_int_equal(sonde_recording_blob(recording, 1, &blob, &err), SONDE_ARGUMENT);
	assert_non_null(strstr(err.message, "numbered from 0"));
	sonde_recording_close(recording);
}

/* How often a sink was asked to take a source as a whole, and what it answers. */
static struct {
	unsigned int asked;
	enum sonde_status answer;
} whole;

static enum sonde_status take_whole(struct sonde_sink *sink, struct sonde_recording *source,
				    struct sonde_run_result *result, struct sonde_error *err)
{
	struct collector *collector = (struct collector *)sink;

	assert_int_equal(collector->begun, 0);
	assert_non_null(source);
	whole.asked++;
	result->events_written = 1000;
	if (whole.answer < 0)
		return sonde_fail(err, whole.answer, SONDE_NO_OFFSET, "made to fail");
	return whole.answer;
}

static enum sonde_status run_whole(struct sonde_recording *const *sources, size_t count,
				   struct sonde_run_options options, enum sonde_status answer,
				   struct collector *collector, struct sonde_run_result *result)
{
	collector_init(collector);
	collector->ops.whole = take_whole;
	whole.asked = 0;
	whole.answer = answer;
	return sonde_pipeline_run(sources, count, &collector->base, &options, result, NULL);
}

static void test_a_sink_may_take_a_source_as_a_whole(void **state)
{
	struct sonde_recording *recording = annotated("p");
	struct sonde_run_options options = { .loss = sonde_loss_new() };
	struct sonde_run_result result;
	struct collector collector;

	(void)state;
	recording->tracks_lost = 2;
	memory_add_blob(recording, "a.c", true, "int a;", 6);
	assert_int_equal(run_whole(&recording, 1, options, SONDE_OK, &collector, &result),
			 SONDE_OK);
	assert_int_equal(whole.asked, 1);
	assert_int_equal(collector.begun, 0);
	assert_int_equal(collector.finished, 1);
	assert_int_equal(result.events_written, 1000);
	assert_int_equal(result.blobs_written, 1);
	assert_string_equal(sonde_loss_at(options.loss, 0)->what, "tracks");
	assert_null(sonde_loss_at(options.loss, 1));
	collector_release(&collector);

	options.strict = true;
	assert_int_equal(run_whole(&recording, 1, options, SONDE_OK, &collector, &result),
			 SONDE_LIMIT);
	assert_int_equal(collector.finished, 0);
	collector_release(&collector);
	options.strict = false;

	/* it would rather not: as if it could not */
	assert_int_equal(run_whole(&recording, 1, options, SONDE_END, &collector, &result),
			 SONDE_OK);
	assert_int_equal(whole.asked, 1);
	assert_int_equal(collector.begun, 1);
	assert_int_equal(result.events_written, 8);
	assert_int_equal(collector.tracks[0].count, 8);
	collector_release(&collector);

	assert_int_equal(run_whole(&recording, 1, options, SONDE_IO, &collector, &result),
			 SONDE_IO);
	assert_int_equal(collector.begun + collector.finished, 0);
	collector_release(&collector);
	sonde_loss_free(options.loss);
	sonde_recording_close(recording);
}

static void test_a_selection_is_never_a_whole(void **state)
{
	static const char *const patterns[] = { "work" };
	static const uint32_t tracks[] = { 0 };
	const struct sonde_selection_spec specs[] = {
		{ .from_ns = 1 },
		{ .to_ns = 90 },
		{ .tracks = tracks, .track_count = 1 },
		{ .functions = patterns, .function_count = 1 },
		{ .kinds = 1u << SONDE_EVENT_CALL },
		{ .min_depth = 1 },
		{ .max_depth = 1 },
	};
	struct sonde_recording *sources[] = { annotated("p"), annotated("q") };
	struct sonde_run_options options = { 0 };
	struct sonde_run_result result;
	struct collector collector;

	(void)state;
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		options.selection = specs[i];
		assert_int_equal(run_whole(sources, 1, options, SONDE_OK, &collector, &result),
				 SONDE_OK);
		assert_int_equal(whole.asked, 0);
		assert_int_equal(collector.begun, 1);
		collector_release(&collector);
	}
	options.selection = (struct sonde_selection_spec){ 0 };
	assert_int_equal(run_whole(sources, 2, options, SONDE_OK, &collector, &result), SONDE_OK);
	assert_int_equal(whole.asked, 0);
	collector_release(&collector);
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
}

static void test_strict_does_not_mind_other_readers(void **state)
{
	struct sonde_recording *recording = annotated("p");
	struct sonde_run_options options = { .loss = sonde_loss_new(), .strict = true };
	struct collector collector;

	(void)state;
	assert_int_equal(sonde_loss_add_elsewhere(options.loss, "a", "r", 3, NULL), SONDE_OK);
	assert_int_equal(sonde_loss_add_elsewhere(options.loss, "a", "r", 4, NULL), SONDE_OK);
	assert_int_equal(sonde_loss_add_elsewhere(options.loss, "none", "r", 0, NULL), SONDE_OK);
	assert_true(sonde_loss_at(options.loss, 0)->only_elsewhere);
	assert_int_equal(sonde_loss_at(options.loss, 0)->count, 7);
	assert_null(sonde_loss_at(options.loss, 1));
	collector_init(&collector);
	assert_int_equal(sonde_pipeline_run(&recording, 1, &collector.base, &options, NULL, NULL),
			 SONDE_OK);
	assert_int_equal(collector.finished, 1);
	collector_release(&collector);
	/* what is lost for everybody too is lost */
	assert_int_equal(sonde_loss_add(options.loss, "a", "r", 1, NULL), SONDE_OK);
	assert_false(sonde_loss_at(options.loss, 0)->only_elsewhere);
	collector_init(&collector);
	assert_int_equal(sonde_pipeline_run(&recording, 1, &collector.base, &options, NULL, NULL),
			 SONDE_LIMIT);
	assert_int_equal(collector.finished, 0);
	collector_release(&collector);
	sonde_loss_free(options.loss);
	sonde_recording_close(recording);
}

static void check_style(const struct sonde_format *format, const char *style, const char *word,
			const char *other)
{
	struct sonde_error err = { 0 };
	enum sonde_status status = sonde_format_check_style(format, style, &err);

	if (!word) {
		assert_int_equal(status, SONDE_OK);
		return;
	}
	assert_int_equal(status, SONDE_ARGUMENT);
	assert_non_null(strstr(err.message, word));
	assert_non_null(strstr(err.message, other));
}

static void test_styles_are_words_of_the_format(void **state)
{
	static const struct sonde_format_style styles[] = { { "spec", "as the document spells it" },
							    { "partial", "a line a chunk" },
							    { 0 } };
	static const struct sonde_format styled = { .info = { .name = "styled",
							      .styles = styles } };
	static const struct sonde_format plain = { .info = { .name = "plain" } };
	struct sonde_create_options create = { .format = "atf", .style = "fancy" };
	struct sonde_error err = { 0 };
	struct sonde_sink *sink;

	(void)state;
	check_style(&styled, NULL, NULL, NULL);
	check_style(&styled, "", NULL, NULL);
	check_style(&styled, "spec", NULL, NULL);
	check_style(&styled, "partial,spec", NULL, NULL);
	check_style(&styled, "spe", "\"spe\"", "spec, partial");
	check_style(&styled, "spec,", "\"\"", "spec, partial");
	check_style(&styled, "spec,specs", "\"specs\"", "spec, partial");
	check_style(&plain, "spec", "plain", "one way");
	check_style(&plain, NULL, NULL, NULL);
	assert_true(sonde_format_has_style("spec,partial", "partial"));
	assert_false(sonde_format_has_style("spec,partial", "part"));
	assert_false(sonde_format_has_style(NULL, "part"));
	assert_int_equal(sonde_sink_create("/nowhere", &create, &sink, &err), SONDE_ARGUMENT);
	assert_null(sink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments_keep_their_type),
		cmocka_unit_test(test_details_numbered_by_their_events),
		cmocka_unit_test(test_arguments_of_two_sources_are_renumbered),
		cmocka_unit_test(test_a_cut_passes_ranges_and_flows),
		cmocka_unit_test(test_ranges_are_selected),
		cmocka_unit_test(test_the_merged_cursor_gives_arguments),
		cmocka_unit_test(test_resources_of_all_sources_come_first),
		cmocka_unit_test(test_resources_that_the_sink_does_not_hold),
		cmocka_unit_test(test_resources_of_a_recording),
		cmocka_unit_test(test_a_sink_may_take_a_source_as_a_whole),
		cmocka_unit_test(test_a_selection_is_never_a_whole),
		cmocka_unit_test(test_strict_does_not_mind_other_readers),
		cmocka_unit_test(test_styles_are_words_of_the_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
