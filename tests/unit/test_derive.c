/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls as contexts, values and samples, and samples as calls: small cases by hand, sums over random
 * traces, and the way there and back.
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
#include "model/call_tree.h"
#include "model/derive.h"
#include "model/recording.h"

static void add_names(struct sonde_recording *recording, uint32_t process)
{
	static const char *const names[] = { "alpha", "beta", "gamma", "delta" };

	for (size_t i = 0; i < 4; i++)
		memory_add_function(recording, process, names[i]);
}

static void call(struct sonde_recording *recording, uint32_t track, uint64_t time_ns,
		 uint32_t function, uint32_t depth)
{
	memory_add_event(recording, track,
			 memory_event(SONDE_EVENT_CALL, time_ns, function, depth));
}

static void leave(struct sonde_recording *recording, uint32_t track, uint64_t time_ns,
		  uint32_t function, uint32_t depth)
{
	memory_add_event(recording, track,
			 memory_event(SONDE_EVENT_RETURN, time_ns, function, depth));
}

/* What a collector got, as text, while the definitions are there. */
struct told {
	char contexts[2048], data[4096];
};

static size_t path_of(const struct collector *collector, uint32_t context, char *text, size_t size)
{
	const struct sonde_context *node = &collector->contexts[context];
	char label[64];
	size_t used = 0;

	if (node->parent != SONDE_NONE && node->parent)
		used = path_of(collector, node->parent, text, size);
	return used + (size_t)snprintf(text + used, size - used, "/%s",
				       sonde_context_label(collector->definitions, node, label,
							   sizeof(label)));
}

static size_t tell_track(const struct collector *collector, uint32_t number, char *text,
			 size_t size)
{
	const struct collected_track *track = &collector->tracks[number];
	size_t used = (size_t)snprintf(text, size, "track %u:", number);
	char label[SONDE_LABEL_SIZE];

	for (size_t i = 0; i < track->count; i++)
		used += (size_t)snprintf(
			text + used, size - used, " %u%c%s@%u", track->events[i].depth,
			track->events[i].kind == SONDE_EVENT_CALL ? '+' : '-',
			sonde_definitions_function_label(collector->definitions,
							 track->events[i].function, label),
			(unsigned int)track->events[i].time_ns);
	for (size_t i = 0; i < track->sample_count; i++)
		used += (size_t)snprintf(text + used, size - used, " %u@%u",
					 track->samples[i].context,
					 (unsigned int)track->samples[i].time_ns);
	for (size_t i = 0; i < track->value_count; i++) {
		const struct sonde_metric *metric =
			sonde_definitions_metric(collector->definitions, track->values[i].metric);

		used += (size_t)snprintf(
			text + used, size - used, " %u:%s=%g", track->values[i].context,
			sonde_definitions_string(collector->definitions, metric->name),
			track->values[i].value);
	}
	return used + (size_t)snprintf(text + used, size - used, "\n");
}

static void tell(struct collector *collector)
{
	struct told *told = collector->user;
	size_t used = 0;

	for (uint32_t i = 1; i < collector->context_count; i++) {
		used += path_of(collector, i, told->contexts + used, sizeof(told->contexts) - used);
		used += (size_t)snprintf(told->contexts + used, sizeof(told->contexts) - used,
					 "\n");
	}
	used = 0;
	for (uint32_t i = 0; i < collector->track_count; i++)
		used += tell_track(collector, i, told->data + used, sizeof(told->data) - used);
}

static struct told *run(struct sonde_recording *const *sources, size_t count,
			struct collector *collector, const struct sonde_run_options *options,
			struct sonde_run_result *result)
{
	static struct told told;
	struct sonde_error err = { 0 };

	told = (struct told){ 0 };
	collector->user = &told;
	collector->at_finish = tell;
	if (sonde_pipeline_run(sources, count, &collector->base, options, result, &err))
		fail_msg("%s", err.message);
	return &told;
}

/* For what is too long to be told. */
static void run_quietly(struct sonde_recording *const *sources, size_t count,
			struct collector *collector, const struct sonde_run_options *options)
{
	assert_int_equal(sonde_pipeline_run(sources, count, &collector->base, options, NULL, NULL),
			 SONDE_OK);
}

static uint64_t lost(const struct sonde_loss *loss, const char *what)
{
	const struct sonde_loss_entry *entry;
	uint64_t count = 0;

	for (size_t i = 0; (entry = sonde_loss_at(loss, i)); i++)
		count += strcmp(entry->what, what) ? 0 : entry->count;
	return count;
}

static struct sonde_recording *two_threads(void)
{
	struct sonde_recording *recording = memory_recording_new(3);
	uint32_t process = memory_add_process(recording, "p");

	add_names(recording, process);
	memory_add_track(recording, process, "t0");
	memory_add_track(recording, process, "t1");
	memory_add_track(recording, process, "nothing");
	call(recording, 0, 1000, 1, 1);
	call(recording, 0, 2000, 0, 2);
	leave(recording, 0, 5000, 0, 2);
	leave(recording, 0, 6000, 1, 1);
	call(recording, 0, 9000, 1, 1);
	leave(recording, 0, 9000, 1, 1);
	call(recording, 1, 500, 2, 1);
	memory_add_event(recording, 1, memory_event(SONDE_EVENT_INSTANT, 600, 0, 1));
	memory_add_event(recording, 1, memory_event(SONDE_EVENT_EXCEPTION, 700, 2, 1));
	return recording;
}

static void test_calls_become_a_profile(void **state)
{
	struct sonde_recording *recording = two_threads();
	struct sonde_run_options options = { .loss = sonde_loss_new() };
	struct sonde_run_result result;
	struct collector collector;
	struct told *told;

	(void)state;
	collector_init_profile(&collector);
	told = run(&recording, 1, &collector, &options, &result);
	assert_string_equal(told->contexts, "/application thread\n"
					    "/application thread/gamma\n"
					    "/main thread\n"
					    "/main thread/beta\n"
					    "/main thread/beta/alpha\n");
	assert_string_equal(
		told->data,
		"track 0: 4@1000 5@2000 4@5000 0@6000 4@9000 0@9000 4:REALTIME (sec)=2e-06 "
		"4:CALLS=2 5:REALTIME (sec)=3e-06 5:CALLS=1\n"
		"track 1: 2@500 0@700 2:REALTIME (sec)=2e-07 2:CALLS=1\n"
		"track 2:\n");
	assert_int_equal(collector.contexts[1].kind, SONDE_CONTEXT_ENTRY);
	assert_int_equal(collector.contexts[1].entry, SONDE_ENTRY_APPLICATION_THREAD);
	assert_int_equal(collector.contexts[3].entry, SONDE_ENTRY_MAIN_THREAD);
	assert_int_equal(collector.contexts[4].relation, SONDE_CONTEXT_CALLED);
	assert_int_equal(result.events_read, 9);
	assert_int_equal(result.events_written, 0);
	assert_int_equal(result.contexts_written, 6);
	assert_int_equal(result.samples_written, 8);
	assert_int_equal(result.values_written, 6);
	assert_int_equal(lost(options.loss, "events that are not calls"), 1);
	assert_int_equal(lost(options.loss, "exceptions"), 1);
	assert_int_equal(lost(options.loss, "events"), 0);
	sonde_loss_free(options.loss);
	collector_release(&collector);
	sonde_recording_close(recording);
}

/* Selections apply to the events before anything is made of them. */
static void test_what_is_selected_is_derived(void **state)
{
	const uint32_t tracks[] = { 0 };
	const char *const functions[] = { "al*" };
	struct sonde_recording *recording = two_threads();
	struct sonde_run_options options = { 0 };
	struct collector collector;
	struct told *told;

	(void)state;
	options.selection = (struct sonde_selection_spec){
		.tracks = tracks,
		.track_count = 1,
		.from_ns = 3000,
		.to_ns = 5500,
	};
	collector_init_profile(&collector);
	told = run(&recording, 1, &collector, &options, NULL);
	assert_string_equal(told->contexts, "/main thread\n/main thread/beta\n"
					    "/main thread/beta/alpha\n");
	assert_string_equal(told->data,
			    "track 0: 2@3000 3@3000 2@5000 0@5500 2:REALTIME (sec)=5e-07 2:CALLS=1 "
			    "3:REALTIME (sec)=2e-06 3:CALLS=1\n");
	collector_release(&collector);

	options.selection = (struct sonde_selection_spec){
		.functions = functions,
		.function_count = 1,
	};
	collector_init_profile(&collector);
	told = run(&recording, 1, &collector, &options, NULL);
	assert_string_equal(told->contexts, "/main thread\n/main thread/alpha\n");
	collector_release(&collector);
	sonde_recording_close(recording);
}

static double sum_of(const struct collected_track *track, uint32_t metric)
{
	double sum = 0;

	for (size_t i = 0; i < track->value_count; i++) {
		if (track->values[i].metric == metric)
			sum += track->values[i].value;
	}
	return sum;
}

static uint64_t time_in_calls(const struct sonde_event *events, size_t count, uint64_t *calls)
{
	uint64_t inside = 0;
	size_t depth = 0;

	for (size_t i = 0; i < count; i++) {
		if (depth)
			inside += events[i].time_ns - events[i - 1].time_ns;
		*calls += events[i].kind == SONDE_EVENT_CALL;
		depth += events[i].kind == SONDE_EVENT_CALL ? 1 : (size_t)-1;
	}
	return inside;
}

/* Random tracks of two recordings: sums, and the same from any number of threads. */
static void test_sums_and_threads(void **state)
{
	struct sonde_recording *recordings[2];
	struct sonde_run_options options = { 0 };
	struct collector one, many;
	uint64_t random = 9;

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		recordings[k] = memory_recording_new(50);
		add_names(recordings[k], memory_add_process(recordings[k], "p"));
		for (uint32_t i = 0; i < 6; i++) {
			memory_add_track(recordings[k], 0, "t");
			memory_add_calls(recordings[k], i, 3000, 0, 4, true, &random);
		}
	}
	options.threads = 1;
	collector_init_profile(&one);
	run_quietly(recordings, 2, &one, &options);
	options.threads = 5;
	collector_init_profile(&many);
	run_quietly(recordings, 2, &many, &options);
	assert_int_equal(one.track_count, 12);
	assert_int_equal(one.context_count, many.context_count);
	assert_memory_equal(one.contexts, many.contexts, one.context_count * sizeof(*one.contexts));
	for (uint32_t i = 0; i < 12; i++) {
		uint64_t calls = 0, inside;
		size_t count;
		const struct sonde_event *events = memory_events(recordings[i / 6], i % 6, &count);

		inside = time_in_calls(events, count, &calls);
		assert_int_equal((uint64_t)sum_of(&one.tracks[i], 1), calls);
		assert_true(fabs(sum_of(&one.tracks[i], 0) * 1e9 - (double)inside) < 0.5);
		assert_int_equal(one.tracks[i].sample_count, count);
		assert_int_equal(many.tracks[i].sample_count, count);
		assert_memory_equal(one.tracks[i].samples, many.tracks[i].samples,
				    count * sizeof(struct sonde_sample));
		assert_int_equal(one.tracks[i].value_count, many.tracks[i].value_count);
	}
	/* functions of both say the same: one tree, of the first source's */
	for (uint32_t i = 0; i < one.context_count; i++)
		assert_true(one.contexts[i].function < 4 || one.contexts[i].function == SONDE_NONE);
	collector_release(&one);
	collector_release(&many);
	sonde_recording_close(recordings[0]);
	sonde_recording_close(recordings[1]);
}

/* root / main thread / alpha / a.c:3 / beta (inlined) / instruction, and paths without functions. */
static struct sonde_recording *sampled(uint32_t process_of_functions)
{
	struct sonde_recording *recording = memory_recording_new(2);
	uint32_t process = memory_add_process(recording, "p"), entry, alpha, line, beta, id;
	struct sonde_module module = { .process = process_of_functions };

	module.path = memory_add_string(recording->definitions, "/lib/libm.so");
	assert_int_equal(sonde_definitions_add_module(recording->definitions, &module, &id, NULL),
			 SONDE_OK);
	add_names(recording, process_of_functions);
	memory_add_track(recording, process, "t");
	entry = memory_add_context(recording, 0, SONDE_CONTEXT_ENTRY, SONDE_CONTEXT_CALLED,
				   SONDE_NONE); /* 1 */
	alpha = memory_add_context(recording, entry, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED,
				   0); /* 2 */
	line = memory_add_context(recording, alpha, SONDE_CONTEXT_LINE, SONDE_CONTEXT_ENCLOSED,
				  SONDE_NONE); /* 3 */
	beta = memory_add_context(recording, line, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_INLINED,
				  1); /* 4 */
	memory_add_context(recording, beta, SONDE_CONTEXT_INSTRUCTION, SONDE_CONTEXT_ENCLOSED,
			   SONDE_NONE); /* 5 */
	id = memory_add_context(recording, entry, SONDE_CONTEXT_INSTRUCTION, SONDE_CONTEXT_CALLED,
				SONDE_NONE); /* 6: a call of nobody knows what */
	memory_context(recording, id)->module = 0;
	memory_context(recording, id)->address = 0x1f0;
	memory_add_context(recording, id, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED,
			   SONDE_NONE); /* 7 */
	return recording;
}

static void test_samples_become_calls(void **state)
{
	struct sonde_recording *recording = sampled(0);
	struct sonde_run_options options = { .loss = sonde_loss_new() };
	struct sonde_run_result result;
	struct collector collector;
	struct told *told;

	(void)state;
	memory_add_sample(recording, 0, 10, 1);
	memory_add_sample(recording, 0, 20, 2);
	memory_add_sample(recording, 0, 30, 5);
	memory_add_sample(recording, 0, 40, 4);
	memory_add_sample(recording, 0, 50, 3);
	memory_add_sample(recording, 0, 45, 2);
	memory_add_sample(recording, 0, 60, 7);
	memory_add_sample(recording, 0, 70, 0);
	memory_add_sample(recording, 0, 80, 5);
	collector_init(&collector);
	told = run(&recording, 1, &collector, &options, &result);
	assert_string_equal(told->data,
			    "track 0: 1+alpha@20 2+beta@30 2-beta@50 1-alpha@60 1+libm.so+0x1f0@60 "
			    "2+<unknown function>@60 2-<unknown function>@70 1-libm.so+0x1f0@70 "
			    "1+alpha@80 2+beta@80 2-beta@80 1-alpha@80\n");
	assert_int_equal(result.samples_read, 9);
	assert_int_equal(result.events_read, 0);
	assert_int_equal(result.events_written, 12);
	assert_int_equal(lost(options.loss, "samples"), 9);
	assert_int_equal(lost(options.loss, "contexts"), 2);
	sonde_loss_free(options.loss);
	collector_release(&collector);

	/* events that are derived are selected like others */
	options = (struct sonde_run_options){ .selection = { .from_ns = 35, .to_ns = 65 } };
	collector_init(&collector);
	told = run(&recording, 1, &collector, &options, &result);
	assert_string_equal(told->data,
			    "track 0: 1+alpha@35 2+beta@35 2-beta@50 1-alpha@60 1+libm.so+0x1f0@60 "
			    "2+<unknown function>@60 2-<unknown function>@65 1-libm.so+0x1f0@65\n");
	collector_release(&collector);
	sonde_recording_close(recording);
}

static void check_process(struct collector *collector)
{
	for (uint32_t i = 0; i < collector->track_count; i++) {
		uint32_t process = sonde_definitions_track(collector->definitions, i)->process;

		for (size_t k = 0; k < collector->tracks[i].count; k++) {
			uint32_t id = collector->tracks[i].events[k].function;
			const struct sonde_function *function =
				sonde_definitions_function(collector->definitions, id);
			const struct sonde_module *module =
				sonde_definitions_module(collector->definitions, function->module);

			assert_int_equal(function->process, process);
			if (function->address)
				assert_int_equal(module->process, process);
		}
	}
	collector->finished = 100;
}

/* Functions of a database belong to no process: they are defined in that of each track. */
static void test_functions_belong_to_their_process(void **state)
{
	struct sonde_recording *recording = sampled(SONDE_NONE);
	const uint32_t tracks[] = { 1 };
	struct sonde_run_options options = { 0 };
	uint32_t other = memory_add_process(recording, "q");
	struct collector collector;

	(void)state;
	memory_add_track(recording, other, "u");
	for (uint32_t i = 0; i < 2; i++) {
		memory_add_sample(recording, i, 1, 5);
		memory_add_sample(recording, i, 2, 7);
		memory_add_sample(recording, i, 3, 5);
	}
	for (int all = 0; all < 2; all++) {
		if (!all)
			options.selection =
				(struct sonde_selection_spec){ .tracks = tracks, .track_count = 1 };
		else
			options.selection = (struct sonde_selection_spec){ 0 };
		collector_init(&collector);
		collector.at_finish = check_process;
		assert_int_equal(
			sonde_pipeline_run(&recording, 1, &collector.base, &options, NULL, NULL),
			SONDE_OK);
		assert_int_equal(collector.finished, 100);
		assert_int_equal(collector.tracks[0].count, 12);
		collector_release(&collector);
	}
	sonde_recording_close(recording);
}

/* A path far deeper than calls are derived; times stay bounded. */
static void test_very_deep_paths(void **state)
{
	struct sonde_recording *recording = memory_recording_new(100);
	struct sonde_run_options options = { .loss = sonde_loss_new() };
	uint32_t process = memory_add_process(recording, "p"), context = 0;
	struct collector collector;

	(void)state;
	add_names(recording, process);
	memory_add_track(recording, process, "t");
	for (uint32_t i = 0; i < SONDE_DERIVED_DEPTH + 10; i++)
		context = memory_add_context(recording, context, SONDE_CONTEXT_FUNCTION,
					     SONDE_CONTEXT_CALLED, i % 4);
	memory_add_sample(recording, 0, 1, context);
	memory_add_sample(recording, 0, 2, context - 5);
	collector_init(&collector);
	assert_int_equal(sonde_pipeline_run(&recording, 1, &collector.base, &options, NULL, NULL),
			 SONDE_OK);
	assert_int_equal(collector.tracks[0].count, 2 * SONDE_DERIVED_DEPTH);
	assert_int_equal(lost(options.loss, "contexts"), 10);
	sonde_loss_free(options.loss);
	collector_release(&collector);
	sonde_recording_close(recording);
}

/* Events -> profile -> events is what it was, where no call was left by an exception. */
static void test_there_and_back(void **state)
{
	struct sonde_recording *recording = memory_recording_new(7), *profile;
	uint64_t random = 12345;
	struct collector there, back;
	size_t count;
	const struct sonde_event *events;

	(void)state;
	add_names(recording, memory_add_process(recording, "p"));
	memory_add_track(recording, 0, "t");
	memory_add_calls(recording, 0, 2000, 0, 4, true, &random);
	collector_init_profile(&there);
	run_quietly(&recording, 1, &there, NULL);
	profile = memory_recording_new(11);
	add_names(profile, memory_add_process(profile, "p"));
	memory_add_track(profile, 0, "t");
	for (uint32_t i = 1; i < there.context_count; i++)
		memory_add_context(profile, there.contexts[i].parent,
				   (enum sonde_context_kind)there.contexts[i].kind,
				   (enum sonde_context_relation)there.contexts[i].relation,
				   there.contexts[i].function);
	for (size_t i = 0; i < there.tracks[0].sample_count; i++)
		memory_add_sample(profile, 0, there.tracks[0].samples[i].time_ns,
				  there.tracks[0].samples[i].context);
	collector_init(&back);
	run_quietly(&profile, 1, &back, NULL);
	events = memory_events(recording, 0, &count);
	assert_int_equal(back.tracks[0].count, count);
	for (size_t i = 0; i < count; i++) {
		const struct sonde_event *made = &back.tracks[0].events[i];

		assert_int_equal(made->time_ns, events[i].time_ns);
		assert_int_equal(made->function, events[i].function);
		assert_int_equal(made->depth, events[i].depth);
		assert_int_equal(made->kind == SONDE_EVENT_CALL,
				 events[i].kind == SONDE_EVENT_CALL);
	}
	collector_release(&there);
	collector_release(&back);
	sonde_recording_close(profile);
	sonde_recording_close(recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls_become_a_profile),
		cmocka_unit_test(test_what_is_selected_is_derived),
		cmocka_unit_test(test_sums_and_threads),
		cmocka_unit_test(test_samples_become_calls),
		cmocka_unit_test(test_functions_belong_to_their_process),
		cmocka_unit_test(test_very_deep_paths),
		cmocka_unit_test(test_there_and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
