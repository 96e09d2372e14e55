/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipeline: one source and several, ids that stay and ids given anew, functions defined while
 * reading, threads, losses, progress and failures. The filters have tests of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#include "memory_recording.h"
#include "model/recording.h"

/* A process with functions and tracks full of calls; names start with `prefix`. */
static void fill(struct sonde_recording *recording, const char *prefix, uint32_t functions,
		 uint32_t tracks, size_t events, uint64_t seed)
{
	uint32_t first_function = sonde_definitions_function_count(recording->definitions);
	uint32_t first = sonde_definitions_track_count(recording->definitions);
	uint32_t process = memory_add_process(recording, prefix);
	uint64_t random = seed;
	char name[64];

	for (uint32_t i = 0; i < functions; i++) {
		snprintf(name, sizeof(name), "%s-function-%u", prefix, i);
		memory_add_function(recording, process, name);
	}
	for (uint32_t i = 0; i < tracks; i++) {
		snprintf(name, sizeof(name), "%s-track-%u", prefix, i);
		memory_add_track(recording, process, name);
		memory_add_calls(recording, first + i, events, first_function, functions, true,
				 &random);
	}
}

static enum sonde_status run(struct sonde_recording *const *sources, size_t count,
			     struct collector *collector, const struct sonde_run_options *options)
{
	return sonde_pipeline_run(sources, count, &collector->base, options, NULL, NULL);
}

static void check_same_events(const struct collector *collector, uint32_t target,
			      const struct sonde_recording *recording, uint32_t track)
{
	size_t count;
	const struct sonde_event *events = memory_events(recording, track, &count);

	assert_int_equal(collector->tracks[target].count, count);
	assert_int_equal(collector->tracks[target].ends, 1);
	assert_memory_equal(collector->tracks[target].events, events, count * sizeof(*events));
}

static void test_one_source_keeps_its_ids(void **state)
{
	struct sonde_recording *recording = memory_recording_new(5);
	struct sonde_run_result result;
	struct collector collector;

	(void)state;
	fill(recording, "p", 4, 3, 500, 1);
	memory_add_track(recording, 0, "empty");
	collector_init(&collector);
	assert_int_equal(sonde_pipeline_run(&recording, 1, &collector.base, NULL, &result, NULL),
			 SONDE_OK);
	assert_ptr_equal(collector.definitions, recording->definitions);
	assert_int_equal(collector.begun, 1);
	assert_int_equal(collector.finished, 1);
	for (uint32_t i = 0; i < 4; i++)
		check_same_events(&collector, i, recording, i);
	assert_int_equal(result.events_read, sonde_recording_event_count(recording));
	assert_int_equal(result.events_written, result.events_read);
	assert_int_equal(result.calls_opened + result.calls_closed + result.details_written, 0);
	collector_release(&collector);
	sonde_recording_close(recording);
}

static void check_finished(struct collector *collector)
{
	assert_false(sonde_definitions_track(collector->definitions, 0)->unfinished);
	assert_int_equal(sonde_definitions_track(collector->definitions, 1)->dropped_events, 9);
}

static void test_the_target_is_finished(void **state)
{
	struct sonde_recording *recording = memory_recording_new(5);
	struct sonde_track *tracks;
	struct collector collector;

	(void)state;
	fill(recording, "p", 4, 2, 100, 1);
	tracks = (struct sonde_track *)sonde_definitions_track(recording->definitions, 0);
	tracks[0].unfinished = true;
	tracks[1].dropped_events = 9;
	collector_init(&collector);
	collector.at_finish = check_finished;
	assert_int_equal(run(&recording, 1, &collector, NULL), SONDE_OK);
	assert_int_equal(collector.finished, 1);
	for (uint32_t i = 0; i < 2; i++)
		check_same_events(&collector, i, recording, i);
	collector_release(&collector);
	sonde_recording_close(recording);
}

/* What belongs to each function and track of the target, by name. */
struct names {
	char functions[64][64];
	char tracks[64][64];
	char processes[64][64];
	uint32_t function_count;
	uint32_t process_count;
};

static void copy_names(struct collector *collector)
{
	const struct sonde_definitions *definitions = collector->definitions;
	struct names *names = collector->user;
	char space[SONDE_LABEL_SIZE];

	names->function_count = sonde_definitions_function_count(definitions);
	names->process_count = sonde_definitions_process_count(definitions);
	assert_true(names->function_count <= 64 && collector->track_count <= 64);
	for (uint32_t i = 0; i < names->function_count; i++)
		snprintf(names->functions[i], 64, "%s",
			 sonde_definitions_function_label(definitions, i, space));
	for (uint32_t i = 0; i < collector->track_count; i++) {
		const struct sonde_track *track = sonde_definitions_track(definitions, i);
		const struct sonde_process *process =
			sonde_definitions_process(definitions, track->process);

		snprintf(names->tracks[i], 64, "%s",
			 sonde_definitions_track_label(definitions, i, space));
		snprintf(names->processes[i], 64, "%s",
			 sonde_definitions_string(definitions, process->name));
	}
}

/* The same events, their functions and tracks the same by name. */
static void check_same_by_name(const struct collector *collector, uint32_t target,
			       const struct sonde_recording *recording, uint32_t track)
{
	const struct names *names = collector->user;
	const struct sonde_definitions *definitions = recording->definitions;
	const struct collected_track *collected = &collector->tracks[target];
	char space[SONDE_LABEL_SIZE];
	size_t count;
	const struct sonde_event *events = memory_events(recording, track, &count);

	assert_int_equal(collected->count, count);
	assert_int_equal(collected->ends, 1);
	assert_string_equal(names->tracks[target],
			    sonde_definitions_track_label(definitions, track, space));
	for (size_t i = 0; i < count; i++) {
		struct sonde_event event = collected->events[i];

		assert_int_equal(event.track, target);
		assert_string_equal(
			names->functions[event.function],
			sonde_definitions_function_label(definitions, events[i].function, space));
		event.track = track;
		event.function = events[i].function;
		assert_memory_equal(&event, &events[i], sizeof(event));
	}
}

static void test_two_sources_are_numbered_anew(void **state)
{
	struct sonde_recording *sources[] = { memory_recording_new(5), memory_recording_new(3) };
	static struct names names;
	struct collector collector;

	(void)state;
	fill(sources[0], "a", 5, 2, 300, 1);
	fill(sources[1], "b", 7, 3, 200, 2);
	fill(sources[1], "c", 2, 1, 200, 2);
	collector_init(&collector);
	collector.at_finish = copy_names;
	collector.user = &names;
	assert_int_equal(run(sources, 2, &collector, NULL), SONDE_OK);
	assert_int_equal(collector.track_count, 6);
	assert_int_equal(names.process_count, 3);
	assert_int_equal(names.function_count, 14);
	check_same_by_name(&collector, 0, sources[0], 0);
	check_same_by_name(&collector, 1, sources[0], 1);
	for (uint32_t i = 0; i < 4; i++)
		check_same_by_name(&collector, 2 + i, sources[1], i);
	assert_string_equal(names.processes[1], "a");
	assert_string_equal(names.processes[2], "b");
	assert_string_equal(names.processes[5], "c");
	collector_release(&collector);
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
}

static void test_tracks_that_are_not_selected_are_absent(void **state)
{
	const uint32_t tracks[] = { 4, 1, 4 }, absent[] = { 6 };
	struct sonde_recording *sources[] = { memory_recording_new(5), memory_recording_new(3) };
	struct sonde_run_options options = {
		.selection = { .tracks = tracks, .track_count = 3 },
	};
	static struct names names;
	struct collector collector;

	(void)state;
	fill(sources[0], "a", 5, 2, 300, 1);
	fill(sources[1], "b", 7, 2, 200, 2);
	fill(sources[1], "c", 2, 2, 200, 2);
	collector_init(&collector);
	collector.at_finish = copy_names;
	collector.user = &names;
	assert_int_equal(run(sources, 2, &collector, &options), SONDE_OK);
	assert_int_equal(collector.track_count, 2);
	assert_int_equal(names.process_count, 2);
	assert_int_equal(names.function_count, 7);
	check_same_by_name(&collector, 0, sources[0], 1);
	check_same_by_name(&collector, 1, sources[1], 2);
	collector_release(&collector);
	options.selection.tracks = absent;
	options.selection.track_count = 1;
	collector_init(&collector);
	assert_int_equal(run(sources, 2, &collector, &options), SONDE_ARGUMENT);
	assert_int_equal(collector.begun, 0);
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
}

static void test_a_function_of_an_absent_process_comes_along(void **state)
{
	const uint32_t tracks[] = { 1 };
	struct sonde_recording *recording = memory_recording_new(5);
	struct sonde_run_options options = {
		.selection = { .tracks = tracks, .track_count = 1 },
	};
	static struct names names;
	struct collector collector;

	(void)state;
	fill(recording, "a", 5, 1, 10, 1);
	fill(recording, "b", 5, 1, 0, 1);
	memory_add_event(recording, 1, memory_event(SONDE_EVENT_CALL, 1, 2, 1));
	memory_add_event(recording, 1, memory_event(SONDE_EVENT_CALL, 2, 7, 2));
	memory_add_event(recording, 1, memory_event(SONDE_EVENT_CALL, 3, 2, 3));
	memory_add_event(recording, 1, memory_event(SONDE_EVENT_INSTANT, 4, 99, 3));
	collector_init(&collector);
	collector.at_finish = copy_names;
	collector.user = &names;
	assert_int_equal(run(&recording, 1, &collector, &options), SONDE_OK);
	assert_int_equal(names.function_count, 6);
	assert_string_equal(names.functions[collector.tracks[0].events[0].function],
			    "a-function-2");
	assert_string_equal(names.functions[collector.tracks[0].events[1].function],
			    "b-function-2");
	assert_int_equal(collector.tracks[0].events[2].function,
			 collector.tracks[0].events[0].function);
	assert_int_equal(collector.tracks[0].events[3].function, SONDE_NONE);
	collector_release(&collector);
	sonde_recording_close(recording);
}

/* One of everything, said of process and track `n`. */
static void define_rest(struct sonde_recording *recording, uint32_t process, uint32_t track,
			const char *text)
{
	struct sonde_definitions *definitions = recording->definitions;
	uint32_t name = memory_add_string(definitions, text), id;
	struct sonde_clock clock = { .name = name, .kind = SONDE_CLOCK_BOOTTIME };
	struct sonde_anchor anchor = { .clock_ns = 5, .realtime_ns = 6 };
	struct sonde_module module = { .process = process, .path = name, .uuid = name, .size = 3 };
	struct sonde_function function = { .process = process, .name = name, .file = name };
	struct sonde_event_type type = { .name = name, .arguments = name, .is_scope = true };
	struct sonde_metric metric = { .name = name, .unit = name, .scope = name };
	struct sonde_attribute attribute = { .name = name, .value = name };

	assert_int_equal(sonde_definitions_add_clock(definitions, &clock, &anchor.clock, NULL), 0);
	assert_int_equal(sonde_definitions_add_anchor(definitions, &anchor, &id, NULL), 0);
	((struct sonde_process *)sonde_definitions_process(definitions, process))->clock =
		anchor.clock;
	assert_int_equal(sonde_definitions_add_event_type(definitions, &type, &id, NULL), 0);
	assert_int_equal(sonde_definitions_add_metric(definitions, &metric, &id, NULL), 0);
	assert_int_equal(sonde_definitions_add_module(definitions, &module, &function.module, NULL),
			 0);
	attribute.owner = SONDE_OWNER_MODULE;
	attribute.owner_id = function.module;
	assert_int_equal(sonde_definitions_add_attribute(definitions, &attribute, &id, NULL), 0);
	attribute.owner = SONDE_OWNER_FUNCTION;
	assert_int_equal(
		sonde_definitions_add_function(definitions, &function, &attribute.owner_id, NULL),
		0);
	assert_int_equal(sonde_definitions_add_attribute(definitions, &attribute, &id, NULL), 0);
	attribute.owner = SONDE_OWNER_PROCESS;
	attribute.owner_id = process;
	assert_int_equal(sonde_definitions_add_attribute(definitions, &attribute, &id, NULL), 0);
	attribute.owner = SONDE_OWNER_TRACK;
	attribute.owner_id = track;
	assert_int_equal(sonde_definitions_add_attribute(definitions, &attribute, &id, NULL), 0);
	attribute.owner = SONDE_OWNER_RECORDING;
	attribute.owner_id = 0;
	attribute.name = memory_add_string(definitions, "tool");
	assert_int_equal(sonde_definitions_add_attribute(definitions, &attribute, &id, NULL), 0);
}

static void check_function(const struct sonde_definitions *definitions, uint32_t id,
			   uint32_t process, const char *text)
{
	const struct sonde_function *function = sonde_definitions_function(definitions, id);
	const struct sonde_module *module = sonde_definitions_module(definitions, function->module);

	assert_int_equal(function->process, process);
	assert_string_equal(sonde_definitions_string(definitions, function->name), text);
	assert_string_equal(sonde_definitions_string(definitions, function->file), text);
	assert_int_equal(module->process, process);
	assert_int_equal(module->size, 3);
	assert_string_equal(sonde_definitions_string(definitions, module->path), text);
	assert_string_equal(sonde_definitions_string(definitions, module->uuid), text);
	assert_string_equal(
		sonde_definitions_find_attribute(definitions, SONDE_OWNER_FUNCTION, id, text),
		text);
	assert_string_equal(sonde_definitions_find_attribute(definitions, SONDE_OWNER_MODULE,
							     function->module, text),
			    text);
}

/* Everything of that process and track is there under `text`. */
static void check_rest(const struct sonde_definitions *definitions, uint32_t process,
		       uint32_t track, const char *text)
{
	uint32_t clock_id = sonde_definitions_process(definitions, process)->clock;
	const struct sonde_clock *clock = sonde_definitions_clock(definitions, clock_id);
	const struct sonde_anchor *anchor = sonde_definitions_anchor(definitions, process);
	const struct sonde_event_type *type = sonde_definitions_event_type(definitions, process);
	const struct sonde_metric *metric = sonde_definitions_metric(definitions, process);

	assert_string_equal(sonde_definitions_string(definitions, clock->name), text);
	assert_int_equal(clock->kind, SONDE_CLOCK_BOOTTIME);
	assert_int_equal(anchor->clock, clock_id);
	assert_int_equal(anchor->realtime_ns, 6);
	assert_string_equal(sonde_definitions_string(definitions, type->name), text);
	assert_string_equal(sonde_definitions_string(definitions, type->arguments), text);
	assert_true(type->is_scope);
	assert_string_equal(sonde_definitions_string(definitions, metric->scope), text);
	assert_string_equal(
		sonde_definitions_find_attribute(definitions, SONDE_OWNER_PROCESS, process, text),
		text);
	assert_string_equal(
		sonde_definitions_find_attribute(definitions, SONDE_OWNER_TRACK, track, text),
		text);
}

static void check_all_kinds(struct collector *collector)
{
	const struct sonde_definitions *definitions = collector->definitions;

	check_rest(definitions, 0, 0, "first");
	check_rest(definitions, 1, 2, "second");
	check_function(definitions, 3, 0, "first");
	check_function(definitions, 8, 1, "second");
	assert_string_equal(
		sonde_definitions_find_attribute(definitions, SONDE_OWNER_RECORDING, 0, "tool"),
		"first");
	assert_int_equal(sonde_definitions_attribute_count(definitions), 9);
	assert_int_equal(sonde_definitions_event_type_count(definitions), 2);
}

static void test_every_kind_of_definition_is_carried(void **state)
{
	struct sonde_recording *sources[] = { memory_recording_new(5), memory_recording_new(3) };
	struct sonde_run_options options = { .loss = sonde_loss_new() };
	struct collector collector;

	(void)state;
	fill(sources[0], "a", 3, 2, 100, 1);
	fill(sources[1], "b", 4, 1, 100, 2);
	define_rest(sources[0], 0, 0, "first");
	define_rest(sources[1], 0, 0, "second");
	memory_add_event(sources[0], 1, memory_event(SONDE_EVENT_MARK, 1000, 0, 0));
	memory_add_event(sources[1], 0, memory_event(SONDE_EVENT_MARK, 1000, 0, 0));
	collector_init(&collector);
	collector.at_finish = check_all_kinds;
	assert_int_equal(run(sources, 2, &collector, &options), SONDE_OK);
	assert_int_equal(collector.finished, 1);
	assert_int_equal(collector.tracks[1].events[collector.tracks[1].count - 1].function, 0);
	assert_int_equal(collector.tracks[2].events[collector.tracks[2].count - 1].function, 1);
	assert_string_equal(sonde_loss_at(options.loss, 0)->what, "attributes of a recording");
	assert_int_equal(sonde_loss_at(options.loss, 0)->count, 1);
	assert_null(sonde_loss_at(options.loss, 1));
	collector_release(&collector);
	sonde_loss_free(options.loss);
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
}

static void check_times(struct collector *collector)
{
	const struct sonde_process *process = sonde_definitions_process(collector->definitions, 0);
	const struct sonde_process *silent = sonde_definitions_process(collector->definitions, 1);

	assert_int_equal(process->start_ns, 50);
	assert_int_equal(process->end_ns, 60);
	assert_int_equal(silent->start_ns + silent->end_ns, 0);
}

static void test_a_cut_shortens_what_processes_say(void **state)
{
	struct sonde_recording *recording = memory_recording_new(5);
	struct sonde_run_options options = { .selection = { .from_ns = 50, .to_ns = 60 } };
	struct sonde_process *process;
	struct collector collector;

	(void)state;
	fill(recording, "a", 3, 1, 100, 1);
	fill(recording, "b", 3, 1, 100, 1);
	process = (struct sonde_process *)sonde_definitions_process(recording->definitions, 0);
	process->start_ns = 1;
	process->end_ns = 1000;
	collector_init(&collector);
	collector.at_finish = check_times;
	assert_int_equal(run(&recording, 1, &collector, &options), SONDE_OK);
	assert_int_equal(collector.finished, 1);
	collector_release(&collector);
	sonde_recording_close(recording);
}

/* Tracks that use functions which are defined only when they are read, some only in details. */
static struct sonde_recording *lazy_recording(const char *prefix)
{
	struct sonde_recording *recording = memory_recording_new(3);

	fill(recording, prefix, 3, 8, 0, 1);
	for (uint32_t track = 0; track < 8; track++) {
		for (uint32_t i = 0; i < 400; i++) {
			uint32_t key = MEMORY_UNDEFINED + (track * 50 + i) % 600;
			struct sonde_event event =
				memory_event(SONDE_EVENT_CALL, i, i % 3 ? key : i % 2, i + 1);

			if (i % 5 == 0)
				event.detail = memory_add_detail(recording, track, key + 1000);
			memory_add_event(recording, track, event);
		}
	}
	return recording;
}

static void check_lazy(struct collector *collector)
{
	const struct sonde_definitions *definitions = collector->definitions;

	for (uint32_t track = 0; track < collector->track_count; track++) {
		const struct collected_track *collected = &collector->tracks[track];

		assert_int_equal(collected->count, 400);
		for (uint32_t i = 0; i < 400; i++) {
			uint32_t key = MEMORY_UNDEFINED + (track % 8 * 50 + i) % 600;
			const struct sonde_function *function = sonde_definitions_function(
				definitions, collected->events[i].function);
			uint32_t detail = collected->detail_functions[i];

			assert_int_equal(function->process, track / 8);
			assert_int_equal(function->key, i % 3 ? key : i % 2);
			if (i % 5) {
				assert_int_equal(detail, SONDE_NONE);
				continue;
			}
			function = sonde_definitions_function(definitions, detail);
			assert_int_equal(function->key, key + 1000);
			assert_int_equal(function->process, track / 8);
		}
	}
}

static void test_functions_defined_while_reading(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < 12; round++) {
		struct sonde_recording *sources[] = { lazy_recording("a"), lazy_recording("b") };
		struct sonde_run_options options = { .threads = 1 + round % 6 };
		struct sonde_run_result result;
		struct collector collector;

		collector_init(&collector);
		collector.at_finish = check_lazy;
		assert_int_equal(sonde_pipeline_run(sources, 1 + round % 2, &collector.base,
						    &options, &result, NULL),
				 SONDE_OK);
		assert_int_equal(collector.finished, 1);
		assert_int_equal(result.details_written, 640 * (1 + round % 2));
		collector_release(&collector);
		sonde_recording_close(sources[0]);
		sonde_recording_close(sources[1]);
	}
}

static void check_same_tracks(const struct collector *a, const struct collector *b)
{
	assert_int_equal(a->track_count, b->track_count);
	for (uint32_t i = 0; i < a->track_count; i++) {
		assert_int_equal(a->tracks[i].count, b->tracks[i].count);
		assert_int_equal(a->tracks[i].ends, 1);
		assert_int_equal(b->tracks[i].ends, 1);
		if (a->tracks[i].count)
			assert_memory_equal(a->tracks[i].events, b->tracks[i].events,
					    a->tracks[i].count * sizeof(struct sonde_event));
	}
}

static void test_threads_change_nothing(void **state)
{
	static const char *const patterns[] = { "*-[135]" };
	struct sonde_recording *sources[] = { memory_recording_new(64), memory_recording_new(7) };
	struct sonde_run_options options = {
		.selection = { .from_ns = 100,
			       .to_ns = 1500,
			       .functions = patterns,
			       .function_count = 1 },
	};
	struct sonde_run_result first, second;
	struct collector alone, together;

	(void)state;
	fill(sources[0], "a", 9, 20, 2000, 3);
	fill(sources[1], "b", 9, 11, 3000, 4);
	for (unsigned int round = 0; round < 3; round++) {
		collector_init(&alone);
		collector_init(&together);
		options.threads = 1;
		assert_int_equal(
			sonde_pipeline_run(sources, 2, &alone.base, &options, &first, NULL),
			SONDE_OK);
		options.threads = 2 + round * 3;
		assert_int_equal(
			sonde_pipeline_run(sources, 2, &together.base, &options, &second, NULL),
			SONDE_OK);
		check_same_tracks(&alone, &together);
		assert_memory_equal(&first, &second, sizeof(first));
		assert_true(first.calls_opened + first.calls_closed > 0);
		collector_release(&alone);
		collector_release(&together);
	}
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
}

static void check_loss(const struct sonde_loss *loss, const char *what, uint64_t count)
{
	const struct sonde_loss_entry *entry;

	for (size_t i = 0; (entry = sonde_loss_at(loss, i)); i++) {
		if (!strcmp(entry->what, what)) {
			assert_true(entry->reason[0]);
			assert_int_equal(entry->count, count);
			return;
		}
	}
	fail_msg("there is no loss of %s", what);
}

static size_t loss_entries(const struct sonde_loss *loss)
{
	size_t count = 0;

	while (sonde_loss_at(loss, count))
		count++;
	return count;
}

/* 20 details with an event, 3 without. */
static struct sonde_recording *detailed_recording(void)
{
	struct sonde_recording *recording = memory_recording_new(3);

	fill(recording, "p", 3, 2, 0, 1);
	for (uint32_t i = 0; i < 40; i++) {
		struct sonde_event event = memory_event(SONDE_EVENT_CALL, i, i % 3, i + 1);

		if (i % 2)
			event.detail = memory_add_detail(recording, i / 20, i % 3);
		memory_add_event(recording, i / 20, event);
	}
	for (uint32_t i = 0; i < 3; i++)
		memory_add_detail(recording, 1, i);
	return recording;
}

static void test_what_the_sink_cannot_hold_is_counted(void **state)
{
	struct sonde_recording *recording = detailed_recording();
	struct sonde_run_options options = { 0 };
	struct sonde_run_result result;
	struct collector collector;

	(void)state;
	recording->lanes |= SONDE_LANE_SAMPLES;
	memory_add_blob(recording, "a.c", true, "int a;", 6);
	memory_add_blob(recording, "b.c", true, "int b;", 6);

	options.loss = sonde_loss_new();
	collector_init(&collector);
	collector.ops.lanes |= SONDE_LANE_BLOBS;
	collector.ops.blob = collect_blob;
	assert_int_equal(
		sonde_pipeline_run(&recording, 1, &collector.base, &options, &result, NULL),
		SONDE_OK);
	assert_int_equal(loss_entries(options.loss), 2);
	check_loss(options.loss, "samples", 1);
	check_loss(options.loss, "details without an event", 3);
	assert_int_equal(result.details_written, 20);
	collector_release(&collector);
	sonde_loss_free(options.loss);

	options.loss = sonde_loss_new();
	collector_init(&collector);
	collector.ops.lanes = SONDE_LANE_EVENTS;
	assert_int_equal(
		sonde_pipeline_run(&recording, 1, &collector.base, &options, &result, NULL),
		SONDE_OK);
	assert_int_equal(loss_entries(options.loss), 4);
	check_loss(options.loss, "details", 20);
	check_loss(options.loss, "details without an event", 3);
	check_loss(options.loss, "resources", 2);
	assert_int_equal(result.details_written, 0);
	assert_int_equal(result.events_written, 40);
	collector_release(&collector);
	sonde_loss_free(options.loss);

	options.loss = sonde_loss_new();
	options.selection.from_ns = 10;
	collector_init(&collector);
	collector.ops.lanes = SONDE_LANE_CONTEXTS;
	assert_int_equal(
		sonde_pipeline_run(&recording, 1, &collector.base, &options, &result, NULL),
		SONDE_OK);
	check_loss(options.loss, "events", 40);
	check_loss(options.loss, "details", 15);
	assert_int_equal(result.events_written, 0);
	assert_int_equal(collector.tracks[0].count, 0);
	assert_int_equal(collector.tracks[0].ends, 1);
	collector_release(&collector);
	sonde_loss_free(options.loss);
	sonde_recording_close(recording);
}

static void test_loss_entries_are_added_up_and_sorted(void **state)
{
	struct sonde_loss *loss = sonde_loss_new();
	const char *names[] = { "m", "z", "a", "m", "b" };

	(void)state;
	assert_null(sonde_loss_at(loss, 0));
	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(
			sonde_loss_add(loss, names[i % 5], i % 5 == 3 ? "q" : "r", 2, NULL),
			SONDE_OK);
	assert_int_equal(sonde_loss_add(loss, "nothing", "r", 0, NULL), SONDE_OK);
	assert_int_equal(sonde_loss_add(NULL, "nothing", "r", 1, NULL), SONDE_OK);
	assert_int_equal(loss_entries(loss), 5);
	assert_string_equal(sonde_loss_at(loss, 0)->what, "a");
	assert_string_equal(sonde_loss_at(loss, 1)->what, "b");
	assert_string_equal(sonde_loss_at(loss, 2)->reason, "q");
	assert_string_equal(sonde_loss_at(loss, 3)->reason, "r");
	assert_string_equal(sonde_loss_at(loss, 4)->what, "z");
	assert_int_equal(sonde_loss_at(loss, 4)->count, 40);
	sonde_loss_free(loss);
	sonde_loss_free(NULL);
}

static enum sonde_status lose_at_the_end(struct sonde_sink *sink, struct sonde_error *err)
{
	struct collector *collector = (struct collector *)sink;

	assert_int_equal(collector->tracks[0].ends, 1);
	assert_int_equal(collector->finished, 0);
	return sonde_loss_add(collector->user, "names", "they are too odd", 1, err);
}

static void test_what_is_lost_at_the_end_counts_too(void **state)
{
	struct sonde_recording *recording = memory_recording_new(5);
	struct sonde_run_options options = { .loss = sonde_loss_new() };
	struct collector collector;

	(void)state;
	fill(recording, "p", 1, 3, 50, 1);
	for (unsigned int i = 0; i < 2; i++) {
		options.strict = i;
		collector_init(&collector);
		collector.user = options.loss;
		collector.ops.complete = lose_at_the_end;
		assert_int_equal(run(&recording, 1, &collector, &options),
				 options.strict ? SONDE_LIMIT : SONDE_OK);
		assert_int_equal(collector.finished, !options.strict);
		collector_release(&collector);
	}
	assert_int_equal(sonde_loss_at(options.loss, 0)->count, 2);
	sonde_loss_free(options.loss);
	sonde_recording_close(recording);
}

static void test_a_failing_sink_stops_everything(void **state)
{
	struct sonde_recording *recording = memory_recording_new(16);
	int calls = 0;

	(void)state;
	fill(recording, "p", 3, 6, 100, 1);
	for (;; calls++) {
		struct sonde_run_options options = { .threads = calls % 2 ? 4 : 1 };
		struct sonde_error err = { 0 };
		struct collector collector;
		enum sonde_status status;

		collector_init(&collector);
		collector.calls_until_failure = calls;
		status = sonde_pipeline_run(&recording, 1, &collector.base, &options, NULL, &err);
		assert_int_equal(collector.finished, status == SONDE_OK);
		collector_release(&collector);
		if (status == SONDE_OK)
			break;
		assert_int_equal(status, SONDE_IO);
		assert_string_equal(err.message, "the sink was made to fail");
		if (options.threads == 1)
			assert_int_equal(collector.calls_after_failure, 0);
	}
	assert_true(calls > 6 * 7);
	sonde_recording_close(recording);
}

static void test_a_failing_source_stops_everything(void **state)
{
	struct sonde_recording *recording = memory_recording_new(16);
	struct sonde_error err = { 0 };
	struct collector collector;

	(void)state;
	fill(recording, "p", 3, 6, 100, 1);
	memory_fail_at(recording, 4, 50);
	collector_init(&collector);
	assert_int_equal(sonde_pipeline_run(&recording, 1, &collector.base, NULL, NULL, &err),
			 SONDE_CORRUPT);
	assert_int_equal(err.offset, 50);
	assert_int_equal(collector.finished, 0);
	collector_release(&collector);
	sonde_recording_close(recording);
}

struct reports {
	unsigned int count;
	uint64_t done, total;
	bool stop;
};

static bool report(void *user, uint64_t done, uint64_t total)
{
	struct reports *reports = user;

	reports->count++;
	reports->done = done;
	reports->total = total;
	return !reports->stop;
}

static void test_progress_counts_events_read(void **state)
{
	const uint32_t tracks[] = { 0, 2 };
	struct sonde_recording *recording = memory_recording_new(16);
	struct reports reports = { 0 };
	struct sonde_progress progress = { .report = report, .user = &reports };
	struct sonde_run_options options = {
		.selection = { .tracks = tracks, .track_count = 2, .from_ns = 20 },
		.progress = &progress,
	};
	struct collector collector;
	uint64_t total;

	(void)state;
	fill(recording, "p", 3, 3, 1000, 1);
	total = sonde_definitions_track(recording->definitions, 0)->event_count +
		sonde_definitions_track(recording->definitions, 2)->event_count;
	collector_init(&collector);
	assert_int_equal(run(&recording, 1, &collector, &options), SONDE_OK);
	assert_int_equal(reports.total, total);
	assert_int_equal(reports.done, total);
	collector_release(&collector);
	reports.stop = true;
	collector_init(&collector);
	assert_int_equal(run(&recording, 1, &collector, &options), SONDE_CANCELLED);
	assert_int_equal(collector.finished, 0);
	collector_release(&collector);
	sonde_recording_close(recording);
}

static void test_nonsense_and_nothing(void **state)
{
	struct sonde_recording *recording = memory_recording_new(16);
	struct sonde_run_options options = { .selection = { .from_ns = 9, .to_ns = 3 } };
	struct collector collector;

	(void)state;
	collector_init(&collector);
	assert_int_equal(run(&recording, 1, &collector, &options), SONDE_ARGUMENT);
	assert_int_equal(collector.begun, 0);
	assert_int_equal(run(&recording, 1, &collector, NULL), SONDE_OK);
	assert_int_equal(collector.finished, 1);
	collector_release(&collector);
	collector_init(&collector);
	assert_int_equal(run(NULL, 0, &collector, NULL), SONDE_OK);
	assert_int_equal(collector.finished, 1);
	collector_release(&collector);
	sonde_sink_free(NULL);
	sonde_recording_close(recording);
}

static void test_names_of_formats(void **state)
{
	struct sonde_create_options create = { .format = "atari" };
	struct sonde_recording *recording;
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_error err = { 0 };
	struct sonde_sink *sink;

	(void)state;
	for (size_t i = 0; i < sonde_format_count(); i++) {
		const struct sonde_format *format = sonde_format_at(i);

		assert_ptr_equal(sonde_format_by_name(sonde_format_info(format)->name), format);
	}
	assert_null(sonde_format_at(sonde_format_count()));
	assert_null(sonde_format_by_name("atari"));
	assert_int_equal(sonde_sink_create("x", &create, &sink, &err), SONDE_ARGUMENT);
	assert_non_null(strstr(err.message, "atf"));
	assert_int_equal(sonde_sink_create("x", NULL, &sink, &err), SONDE_ARGUMENT);
	assert_int_equal(sonde_recording_open(".", "atari", &recording, &err), SONDE_ARGUMENT);
	assert_null(recording);
	assert_int_equal(sonde_recording_open("/does/not/exist", NULL, &recording, &err), SONDE_IO);
	assert_string_equal(err.file, "/does/not/exist");
	assert_int_equal(sonde_recording_open("/dev", NULL, &recording, &err), SONDE_FORMAT);
	assert_non_null(strstr(err.message, "atf"));
	assert_int_equal(sonde_check("/dev", NULL, diagnostics, &err), SONDE_FORMAT);
	assert_int_equal(sonde_recover("/dev", "/out", NULL, diagnostics, NULL, &err),
			 SONDE_FORMAT);
	sonde_diagnostics_free(diagnostics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_source_keeps_its_ids),
		cmocka_unit_test(test_the_target_is_finished),
		cmocka_unit_test(test_two_sources_are_numbered_anew),
		cmocka_unit_test(test_tracks_that_are_not_selected_are_absent),
		cmocka_unit_test(test_a_function_of_an_absent_process_comes_along),
		cmocka_unit_test(test_every_kind_of_definition_is_carried),
		cmocka_unit_test(test_a_cut_shortens_what_processes_say),
		cmocka_unit_test(test_functions_defined_while_reading),
		cmocka_unit_test(test_threads_change_nothing),
		cmocka_unit_test(test_what_the_sink_cannot_hold_is_counted),
		cmocka_unit_test(test_loss_entries_are_added_up_and_sorted),
		cmocka_unit_test(test_what_is_lost_at_the_end_counts_too),
		cmocka_unit_test(test_a_failing_sink_stops_everything),
		cmocka_unit_test(test_a_failing_source_stops_everything),
		cmocka_unit_test(test_progress_counts_events_read),
		cmocka_unit_test(test_nonsense_and_nothing),
		cmocka_unit_test(test_names_of_formats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
