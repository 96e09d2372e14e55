/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts, values and samples through the pipeline as they are: one source and several, ids given
 * anew, selections, what is lost or refused, and the ways to values that a format has no hook for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#include "memory_recording.h"
#include "model/context_union.h"
#include "model/recording.h"
#include "scratch.h"

/*
 * 0 all / 1 entry / 2 first function / 3 line / 4 second function, 5 unknown function. The names of
 * the functions are given, so that sources may say the same in another order. Values: as many of the
 * metric "TIME" as the context's number, for track 0; samples at 10, 20, 30, 40, 50.
 */
static struct sonde_recording *profile(const char *first, const char *second, uint32_t line)
{
	struct sonde_recording *recording = memory_recording_new(2);
	uint32_t process = memory_add_process(recording, "p"), point, sum, context;
	uint32_t a = memory_add_function(recording, process, first);
	uint32_t b = memory_add_function(recording, process, second);
	const uint32_t path[] = { 2, 3, 0, 5, 4 };

	memory_add_track(recording, process, "t0");
	memory_add_track(recording, process, "t1");
	memory_add_metric(recording, "TIME", "execution", "");
	point = memory_add_metric(recording, "TIME", "point", "");
	sum = memory_add_metric(recording, "TIME", "point", "sum");
	context = memory_add_context(recording, 0, SONDE_CONTEXT_ENTRY, SONDE_CONTEXT_CALLED,
				     SONDE_NONE);
	memory_context(recording, context)->name =
		memory_add_string(recording->definitions, "main thread");
	context = memory_add_context(recording, context, SONDE_CONTEXT_FUNCTION,
				     SONDE_CONTEXT_CALLED, a);
	context = memory_add_context(recording, context, SONDE_CONTEXT_LINE, SONDE_CONTEXT_ENCLOSED,
				     SONDE_NONE);
	memory_context(recording, context)->file = memory_add_string(recording->definitions, "a.c");
	memory_context(recording, context)->line = line;
	memory_add_context(recording, context, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_INLINED, b);
	memory_add_context(recording, 1, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED, SONDE_NONE);
	for (uint32_t i = 1; i < 6; i++) {
		memory_add_value(recording, 0, i, 0, 100);
		memory_add_value(recording, 0, i, point, i);
		memory_add_sample(recording, 0, 10 * i, path[i - 1]);
	}
	memory_add_value(recording, 1, 4, point, 0.5);
	memory_add_value(recording, SONDE_NONE, 4, sum, 4.5);
	return recording;
}

struct told {
	char contexts[1024], data[2048];
};

static void tell(struct collector *collector)
{
	struct told *told = collector->user;
	size_t used = 0;

	for (uint32_t i = 0; i < collector->context_count; i++) {
		const struct sonde_context *context = &collector->contexts[i];
		char label[64];

		used += (size_t)snprintf(
			told->contexts + used, sizeof(told->contexts) - used, "%u<%d %s, ", i,
			(int)context->parent,
			sonde_context_label(collector->definitions, context, label, sizeof(label)));
	}
	used = 0;
	for (uint32_t i = 0; i < collector->track_count; i++) {
		const struct collected_track *track = &collector->tracks[i];

		used += (size_t)snprintf(told->data + used, sizeof(told->data) - used,
					 "%s%u:", i ? " | " : "", i);
		for (size_t k = 0; k < track->sample_count; k++)
			used += (size_t)snprintf(told->data + used, sizeof(told->data) - used,
						 " %u@%u", track->samples[k].context,
						 (unsigned int)track->samples[k].time_ns);
		for (size_t k = 0; k < track->value_count; k++)
			used += (size_t)snprintf(told->data + used, sizeof(told->data) - used,
						 " %u.%u=%g", track->values[k].context,
						 track->values[k].metric, track->values[k].value);
	}
}

static enum sonde_status run(struct sonde_recording *const *sources, size_t count,
			     const struct sonde_run_options *options, struct told *told,
			     struct sonde_run_result *result)
{
	struct collector collector;
	enum sonde_status status;

	*told = (struct told){ 0 };
	collector_init_profile(&collector);
	collector.user = told;
	collector.at_finish = tell;
	status = sonde_pipeline_run(sources, count, &collector.base, options, result, NULL);
	collector_release(&collector);
	return status;
}

static uint64_t lost(const struct sonde_loss *loss, const char *what)
{
	const struct sonde_loss_entry *entry;
	uint64_t count = 0;

	for (size_t i = 0; (entry = sonde_loss_at(loss, i)); i++)
		count += strcmp(entry->what, what) ? 0 : entry->count;
	return count;
}

#define ONE_TREE                                                                                   \
	"0<-1 all, 1<0 main thread, 2<1 alpha, 3<2 a.c:7, 4<3 beta, 5<1 <unknown function>, "

static void test_one_source(void **state)
{
	struct sonde_recording *recording = profile("alpha", "beta", 7);
	struct sonde_run_options options = { .loss = sonde_loss_new(), .strict = true };
	const uint32_t second[] = { 1 };
	struct sonde_run_result result;
	struct told told;

	(void)state;
	assert_int_equal(run(&recording, 1, &options, &told, &result), SONDE_OK);
	assert_string_equal(told.contexts, ONE_TREE);
	assert_string_equal(told.data, "0: 2@10 3@20 0@30 5@40 4@50 1.1=1 2.1=2 3.1=3 4.1=4 5.1=5 "
				       "| 1: 4.1=0.5");
	assert_int_equal(result.samples_read, 5);
	assert_int_equal(result.samples_written, 5);
	assert_int_equal(result.values_written, 6);
	assert_int_equal(result.contexts_written, 6);
	/* one of its tracks: everything is numbered anew, the tree is the same */
	options.selection.tracks = second;
	options.selection.track_count = 1;
	assert_int_equal(run(&recording, 1, &options, &told, &result), SONDE_OK);
	assert_string_equal(told.contexts, ONE_TREE);
	assert_string_equal(told.data, "0: 4.1=0.5");
	sonde_loss_free(options.loss);
	sonde_recording_close(recording);
}

/* The same program twice, its functions in another order, with a line that only one knows. */
static void test_several_sources(void **state)
{
	struct sonde_recording *recordings[] = { profile("alpha", "beta", 7),
						 profile("beta", "alpha", 7),
						 profile("alpha", "beta", 9) };
	struct told told, reverse, again;
	struct sonde_run_options options = { .threads = 3 };

	(void)state;
	assert_int_equal(run(recordings, 3, NULL, &told, NULL), SONDE_OK);
	assert_string_equal(told.contexts,
			    "0<-1 all, 1<0 main thread, 2<1 <unknown function>, 3<1 alpha, "
			    "4<3 a.c:7, 5<4 beta, 6<3 a.c:9, 7<6 beta, 8<1 beta, 9<8 a.c:7, "
			    "10<9 alpha, ");
	assert_string_equal(
		told.data,
		"0: 3@10 4@20 0@30 2@40 5@50 1.1=1 2.1=5 3.1=2 4.1=3 5.1=4 | 1: 5.1=0.5 | "
		"2: 8@10 9@20 0@30 2@40 10@50 1.1=1 2.1=5 8.1=2 9.1=3 10.1=4 | 3: 10.1=0.5 | "
		"4: 3@10 6@20 0@30 2@40 7@50 1.1=1 2.1=5 3.1=2 6.1=3 7.1=4 | 5: 7.1=0.5");
	assert_int_equal(run(recordings, 3, &options, &again, NULL), SONDE_OK);
	assert_memory_equal(&again, &told, sizeof(told));
	{
		struct sonde_recording *turned[] = { recordings[2], recordings[1], recordings[0] };

		assert_int_equal(run(turned, 3, NULL, &reverse, NULL), SONDE_OK);
		assert_string_equal(reverse.contexts, told.contexts);
	}
	for (size_t i = 0; i < 3; i++)
		sonde_recording_close(recordings[i]);
}

/* Contexts of one source that say the same are one in a union, and their values add up. */
static void test_values_add_up(void **state)
{
	struct sonde_recording *recordings[] = { profile("alpha", "beta", 7),
						 memory_recording_new(3) };
	uint32_t process = memory_add_process(recordings[1], "q"), metric;
	uint32_t function = memory_add_function(recordings[1], process, "gamma");
	const double values[] = { 1, 2, 7, -10 };
	struct told told;

	(void)state;
	memory_add_track(recordings[1], process, "u");
	metric = memory_add_metric(recordings[1], "OTHER", "point", "");
	for (uint32_t i = 1; i <= 4; i++) {
		memory_add_context(recordings[1], 0, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED,
				   function);
		memory_add_value(recordings[1], 0, i, metric, values[i - 1]);
	}
	assert_int_equal(run(recordings, 2, NULL, &told, NULL), SONDE_OK);
	assert_non_null(strstr(told.contexts, "6<0 gamma"));
	assert_non_null(strstr(told.data, "| 2:"));
	assert_null(strstr(told.data, "6.3")); /* 1 + 2 + 7 - 10: what is 0 is absent */
	sonde_recording_close(recordings[0]);
	sonde_recording_close(recordings[1]);
}

static void test_time_cuts_samples(void **state)
{
	struct sonde_recording *recording = profile("alpha", "beta", 7);
	struct sonde_run_options options = { .loss = sonde_loss_new() };
	static const struct {
		uint64_t from_ns, to_ns;
		const char *expected;
	} cases[] = {
		{ 15, 45, "0: 2@15 3@20 0@30 5@40 0@45 | 1:" },
		{ 20, 0, "0: 3@20 0@30 5@40 4@50 | 1:" },
		{ 0, 10, "0: | 1:" },
		{ 0, 31, "0: 2@10 3@20 0@30 | 1:" },
		{ 22, 25, "0: 3@22 0@25 | 1:" },
		{ 33, 35, "0: | 1:" },
		{ 51, 0, "0: | 1:" },
	};
	struct told told;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		options.selection.from_ns = cases[i].from_ns;
		options.selection.to_ns = cases[i].to_ns;
		assert_int_equal(run(&recording, 1, &options, &told, NULL), SONDE_OK);
		assert_string_equal(told.data, cases[i].expected);
		assert_int_equal(lost(options.loss, "values"), 11 * (i + 1));
	}
	sonde_loss_free(options.loss);
	sonde_recording_close(recording);
}

static void test_what_selects_events_is_refused(void **state)
{
	struct sonde_recording *recording = profile("alpha", "beta", 7);
	const char *const functions[] = { "alpha" };
	struct sonde_run_options options = { 0 };
	struct sonde_error err = { 0 };
	struct collector collector;
	struct told told;

	(void)state;
	options.selection.functions = functions;
	options.selection.function_count = 1;
	assert_int_equal(run(&recording, 1, &options, &told, NULL), SONDE_ARGUMENT);
	options.selection = (struct sonde_selection_spec){ .max_depth = 2 };
	assert_int_equal(run(&recording, 1, &options, &told, NULL), SONDE_ARGUMENT);
	/* where they become events it is fine */
	options.selection =
		(struct sonde_selection_spec){ .functions = functions, .function_count = 1 };
	collector_init(&collector);
	assert_int_equal(sonde_pipeline_run(&recording, 1, &collector.base, &options, NULL, &err),
			 SONDE_OK);
	assert_int_equal(collector.tracks[0].count, 4);
	collector_release(&collector);
	sonde_recording_close(recording);
}

/* A target without events and samples: values only; one with events: values are lost. */
static void test_lanes_that_are_not_held(void **state)
{
	struct sonde_recording *recording = profile("alpha", "beta", 7);
	struct sonde_run_options options = { .loss = sonde_loss_new() };
	struct sonde_run_result result;
	struct collector collector;

	(void)state;
	collector_init_profile(&collector);
	collector.ops.samples = NULL;
	assert_int_equal(
		sonde_pipeline_run(&recording, 1, &collector.base, &options, &result, NULL),
		SONDE_OK);
	assert_int_equal(result.samples_written, 0);
	assert_int_equal(result.values_written, 6);
	assert_int_equal(lost(options.loss, "samples"), 5);
	assert_int_equal(lost(options.loss, "values"), 0);
	collector_release(&collector);
	sonde_loss_free(options.loss);

	options.loss = sonde_loss_new();
	collector_init(&collector);
	assert_int_equal(
		sonde_pipeline_run(&recording, 1, &collector.base, &options, &result, NULL),
		SONDE_OK);
	assert_int_equal(result.contexts_written, 0);
	assert_int_equal(lost(options.loss, "values"), 11);
	assert_int_equal(lost(options.loss, "samples"), 5);
	assert_int_equal(lost(options.loss, "contexts"), 1);
	options.strict = true;
	collector_release(&collector);
	collector_init(&collector);
	assert_int_equal(
		sonde_pipeline_run(&recording, 1, &collector.base, &options, &result, NULL),
		SONDE_LIMIT);
	assert_int_equal(collector.finished, 0);
	collector_release(&collector);
	sonde_loss_free(options.loss);
	sonde_recording_close(recording);
}

/* A recording of calls beside a profile: one tree of both. */
static void test_calls_beside_a_profile(void **state)
{
	struct sonde_recording *recordings[] = { profile("alpha", "beta", 7),
						 memory_recording_new(3) };
	uint32_t process = memory_add_process(recordings[1], "q");
	struct told told;

	(void)state;
	memory_add_function(recordings[1], process, "beta");
	memory_add_function(recordings[1], process, "alpha");
	memory_add_track(recordings[1], process, "u");
	memory_add_event(recordings[1], 0, memory_event(SONDE_EVENT_CALL, 3, 1, 1));
	memory_add_event(recordings[1], 0, memory_event(SONDE_EVENT_RETURN, 8, 1, 1));
	assert_int_equal(run(recordings, 2, NULL, &told, NULL), SONDE_OK);
	/* entries of different kinds stay apart, though they have one name */
	assert_non_null(strstr(told.contexts, "<0 main thread, "));
	assert_non_null(strstr(told.data, "| 2: "));
	assert_non_null(strstr(told.data, "@3 0@8 "));
	sonde_recording_close(recordings[0]);
	sonde_recording_close(recordings[1]);
}

/* A sink that fails in any call stops everything, and nothing is finished. */
static void test_a_failing_sink(void **state)
{
	struct sonde_recording *recordings[] = { profile("alpha", "beta", 7),
						 profile("beta", "alpha", 7) };

	(void)state;
	for (int calls = 0;; calls++) {
		struct collector collector;
		enum sonde_status status;

		collector_init_profile(&collector);
		collector.calls_until_failure = calls;
		status = sonde_pipeline_run(recordings, 2, &collector.base, NULL, NULL, NULL);
		if (status)
			assert_int_equal(status, SONDE_IO);
		assert_int_equal(collector.finished, !status);
		collector_release(&collector);
		if (!status) {
			assert_true(calls > 6);
			break;
		}
	}
	sonde_recording_close(recordings[0]);
	sonde_recording_close(recordings[1]);
}

/* A sample that cannot be read ends the run, carried over or derived from. */
static void test_damaged_samples(void **state)
{
	struct sonde_recording *recording = profile("alpha", "beta", 7);
	struct collector collector;
	struct told told;

	(void)state;
	memory_fail_at(recording, 0, 3);
	assert_int_equal(run(&recording, 1, NULL, &told, NULL), SONDE_CORRUPT);
	collector_init(&collector);
	assert_int_equal(sonde_pipeline_run(&recording, 1, &collector.base, NULL, NULL, NULL),
			 SONDE_CORRUPT);
	collector_release(&collector);
	sonde_recording_close(recording);
}

/* The memory recording has no hooks for these: the values are looked for. */
static void test_values_by_context(void **state)
{
	struct sonde_recording *recording = profile("alpha", "beta", 7);
	struct sonde_value_cursor *cursor;
	const struct sonde_value *values;
	double value;
	size_t count;

	(void)state;
	assert_int_equal(sonde_value_cursor_open_context(recording, 4, &cursor, NULL), SONDE_OK);
	assert_int_equal(sonde_value_cursor_next(cursor, &values, &count, NULL), SONDE_OK);
	assert_int_equal(count, 3);
	assert_true(values[0].metric == 0 && values[0].track == 0 && values[0].value == 100);
	assert_true(values[1].metric == 1 && values[1].track == 0 && values[1].value == 4);
	assert_true(values[2].metric == 1 && values[2].track == 1 && values[2].value == 0.5);
	assert_int_equal(sonde_value_cursor_next(cursor, &values, &count, NULL), SONDE_END);
	sonde_value_cursor_free(cursor);
	assert_int_equal(sonde_value_cursor_open_context(recording, 0, &cursor, NULL), SONDE_OK);
	assert_int_equal(sonde_value_cursor_next(cursor, &values, &count, NULL), SONDE_END);
	sonde_value_cursor_free(cursor);
	assert_int_equal(sonde_value_cursor_open_context(recording, 6, &cursor, NULL),
			 SONDE_ARGUMENT);
	assert_int_equal(sonde_recording_value(recording, 0, 3, 1, &value, NULL), SONDE_OK);
	assert_true(value == 3);
	assert_int_equal(sonde_recording_value(recording, 1, 3, 1, &value, NULL), SONDE_END);
	assert_int_equal(sonde_recording_value(recording, SONDE_NONE, 4, 2, &value, NULL),
			 SONDE_OK);
	assert_true(value == 4.5);
	assert_int_equal(sonde_recording_value(recording, 0, 0, 0, &value, NULL), SONDE_END);
	assert_int_equal(sonde_recording_value(recording, 0, 0, 3, &value, NULL), SONDE_ARGUMENT);
	assert_int_equal(sonde_recording_value(recording, 2, 0, 0, &value, NULL), SONDE_ARGUMENT);
	assert_int_equal(sonde_recording_value(recording, 0, 6, 0, &value, NULL), SONDE_ARGUMENT);
	sonde_recording_close(recording);
}

/* Statistics that a format does not have are none, and so is everything of a mere trace. */
static void test_nothing_there(void **state)
{
	struct sonde_recording *recording = memory_recording_new(2);
	const struct sonde_context *contexts;
	struct sonde_value_cursor *cursor;
	const struct sonde_value *values;
	uint32_t context_count;
	size_t count;
	struct told told;

	(void)state;
	memory_add_track(recording, memory_add_process(recording, "p"), "t");
	assert_int_equal(sonde_value_cursor_open(recording, SONDE_NONE, &cursor, NULL), SONDE_OK);
	assert_int_equal(sonde_value_cursor_next(cursor, &values, &count, NULL), SONDE_END);
	sonde_value_cursor_free(cursor);
	assert_int_equal(sonde_recording_contexts(recording, &contexts, &context_count, NULL),
			 SONDE_OK);
	assert_int_equal(context_count, 0);
	/* a sink gets a root all the same */
	assert_int_equal(run(&recording, 1, NULL, &told, NULL), SONDE_OK);
	assert_string_equal(told.contexts, "0<-1 all, ");
	assert_string_equal(told.data, "0:");
	sonde_recording_close(recording);
}

/* Many contexts in a random order: numbers follow from what they say. */
static void test_union_does_not_depend_on_order(void **state)
{
	enum { MANY = 3000 };
	struct sonde_definitions *definitions = sonde_definitions_new();
	struct sonde_context *first = NULL;
	uint64_t random = 5;

	(void)state;
	for (int turn = 0; turn < 3; turn++) {
		struct sonde_context_union *tree = sonde_context_union_new(definitions, turn == 1);
		const struct sonde_context *contexts;
		uint32_t count, node;

		assert_non_null(tree);
		for (uint32_t i = 0; i < 20 * MANY; i++) {
			uint32_t number = i < 19 * MANY ?
						  (uint32_t)(memory_random(&random) % MANY) :
						  i - 19 * MANY;
			uint32_t parent = SONDE_UNION_ROOT;

			/* 1234 is line 1 below nothing, 2 below that, ... */
			for (uint32_t part = number + 1; part; part /= 10) {
				struct sonde_context context = {
					.function = SONDE_NONE,
					.module = SONDE_NONE,
					.kind = SONDE_CONTEXT_LINE,
					.line = part % 10,
				};

				assert_int_equal(sonde_context_union_add(tree, parent, &context,
									 &node, NULL),
						 SONDE_OK);
				parent = node;
			}
		}
		assert_int_equal(sonde_context_union_finish(tree, NULL), SONDE_OK);
		contexts = sonde_context_union_contexts(tree, &count);
		for (uint32_t i = 1; i < count; i++) {
			assert_int_equal(
				sonde_context_union_find(tree, contexts[i].parent, &contexts[i]),
				i);
			assert_true(contexts[i].parent < i);
			assert_true(contexts[i].end <= contexts[contexts[i].parent].end);
		}
		if (!first) {
			first = malloc(count * sizeof(*first));
			assert_non_null(first);
			memcpy(first, contexts, count * sizeof(*first));
		}
		assert_memory_equal(first, contexts, count * sizeof(*first));
		sonde_context_union_free(tree);
	}
	free(first);
	sonde_definitions_free(definitions);
}

/* A format whose weights are numbers, or none below 0, says how many values it leaves out. */
static void test_values_that_do_not_fit(void **state)
{
	static const struct {
		const char *format, *what;
		uint64_t count;
	} cases[] = { { "speedscope", "values that are negative or no number", 3 },
		      { "firefox", "values that are no number", 2 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sonde_recording *recording = profile("a", "b", 1);
		struct sonde_loss *loss = sonde_loss_new();
		struct sonde_create_options create = { .format = cases[i].format, .loss = loss };
		struct sonde_run_options options = { .loss = loss };
		struct sonde_sink *sink;

		memory_add_value(recording, 1, 2, 1, (double)NAN);
		memory_add_value(recording, 1, 3, 1, (double)-INFINITY);
		memory_add_value(recording, 1, 5, 1, -1);
		assert_int_equal(
			sonde_sink_create(scratch_path(cases[i].format), &create, &sink, NULL),
			SONDE_OK);
		assert_int_equal(sonde_pipeline_run(&recording, 1, sink, &options, NULL, NULL),
				 SONDE_OK);
		assert_int_equal(lost(loss, cases[i].what), cases[i].count);
		sonde_sink_free(sink);
		sonde_recording_close(recording);
		sonde_loss_free(loss);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_source),
		cmocka_unit_test(test_several_sources),
		cmocka_unit_test(test_values_add_up),
		cmocka_unit_test(test_time_cuts_samples),
		cmocka_unit_test(test_what_selects_events_is_refused),
		cmocka_unit_test(test_lanes_that_are_not_held),
		cmocka_unit_test(test_calls_beside_a_profile),
		cmocka_unit_test(test_a_failing_sink),
		cmocka_unit_test(test_damaged_samples),
		cmocka_unit_test(test_values_by_context),
		cmocka_unit_test(test_nothing_there),
		cmocka_unit_test(test_values_that_do_not_fit),
		cmocka_unit_test(test_union_does_not_depend_on_order),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
