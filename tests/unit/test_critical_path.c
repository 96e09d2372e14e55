/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path of small recordings by hand, and of random ones by what must hold of any. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/critical_path.h"
#include "memory_recording.h"
#include "model/recording.h"

enum {
	MAIN,
	PREPARE,
	FINISH,
	WORKER,
	HANDLE,
	COMPUTE,
	COND_WAIT,
	JOIN,
	CREATE,
	BARRIER,
	UNLOCK,
	LOCK,
	FUNCTIONS
};

static const char *const function_names[FUNCTIONS] = {
	"main",
	"prepare",
	"finish",
	"worker",
	"handle",
	"compute",
	"pthread_cond_wait",
	"pthread_join",
	"pthread_create",
	"MPI_Barrier(MPI_Comm)",
	"pthread_mutex_unlock",
	"pthread_mutex_lock",
};

struct world {
	struct sonde_recording *recording;
	struct critical_path path;
	uint32_t depths[8];
};

static void make(struct world *world, unsigned int tracks)
{
	uint32_t process;

	*world = (struct world){ .recording = memory_recording_new(7) };
	process = memory_add_process(world->recording, "p");
	for (int i = 0; i < FUNCTIONS; i++)
		memory_add_function(world->recording, process, function_names[i]);
	for (unsigned int i = 0; i < tracks; i++)
		memory_add_track(world->recording, process, "t");
	memory_add_event_type(world->recording, "message", "");
	memory_add_event_type(world->recording, "a.span", "uint64 span, uint64 parent");
}

static void call(struct world *world, uint32_t track, uint64_t time, uint32_t function)
{
	memory_add_event(world->recording, track,
			 memory_event(SONDE_EVENT_CALL, time, function, ++world->depths[track]));
}

static void leave(struct world *world, uint32_t track, uint64_t time, uint32_t function)
{
	memory_add_event(world->recording, track,
			 memory_event(SONDE_EVENT_RETURN, time, function, world->depths[track]--));
}

/* A call and its return. */
static void run(struct world *world, uint32_t track, uint64_t from, uint64_t to, uint32_t function)
{
	call(world, track, from, function);
	leave(world, track, to, function);
}

static void flow(struct world *world, uint32_t track, uint64_t time, enum sonde_event_kind kind,
		 uint32_t number)
{
	struct sonde_event event = memory_event(kind, time, 0, world->depths[track]);

	event.extra = number;
	memory_add_event(world->recording, track, event);
}

static void call_span(struct world *world, uint32_t track, uint64_t time, uint32_t function,
		      uint64_t span, uint64_t parent)
{
	struct sonde_event event =
		memory_event(SONDE_EVENT_CALL, time, function, ++world->depths[track]);
	uint64_t numbers[] = { span, parent };

	event.detail = memory_add_arguments(world->recording, track, 1, numbers, sizeof(numbers));
	memory_add_event(world->recording, track, event);
}

/* Finds it, and looks at what must be so whatever it is. */
static void find(struct world *world, const struct sonde_selection_spec *spec)
{
	static const struct sonde_selection_spec everything;
	const struct critical_path *path = &world->path;
	struct sonde_error err = { 0 };
	uint64_t at, sum = 0;

	if (critical_path_find(&world->path, world->recording, spec ? spec : &everything, NULL,
			       &err))
		fail_msg("%s", err.message);
	at = path->from_ns;
	for (size_t i = 0; i < path->segment_count; i++) {
		assert_int_equal(path->segments[i].from_ns, at);
		assert_true(path->segments[i].to_ns >= at);
		at = path->segments[i].to_ns;
	}
	assert_int_equal(at, path->to_ns);
	for (size_t i = 0; i < path->function_count; i++)
		sum += path->functions[i].path_ns;
	assert_int_equal(sum, path->to_ns - path->from_ns);
}

static void release(struct world *world)
{
	critical_path_release(&world->path);
	sonde_recording_close(world->recording);
}

static void assert_segment(const struct world *world, size_t number, uint32_t track, uint64_t from,
			   uint64_t to, enum critical_reason reason, uint32_t function)
{
	const struct critical_segment *segment = &world->path.segments[number];

	assert_true(number < world->path.segment_count);
	assert_int_equal(segment->track, track);
	assert_int_equal(segment->from_ns, from);
	assert_int_equal(segment->to_ns, to);
	assert_string_equal(critical_reason_word(segment->reason), critical_reason_word(reason));
	assert_int_equal(world->path.nodes[segment->node].function, function);
}

static const struct critical_function *function_of(const struct world *world, uint32_t function)
{
	static const struct critical_function none;

	for (size_t i = 0; i < world->path.function_count; i++) {
		if (world->path.functions[i].function == function)
			return &world->path.functions[i];
	}
	return &none;
}

/* Two threads that send each other one message. */
static void make_ping_pong(struct world *world)
{
	make(world, 2);
	call(world, 0, 0, MAIN);
	run(world, 0, 5, 20, PREPARE);
	flow(world, 0, 20, SONDE_EVENT_FLOW_BEGIN, 1);
	run(world, 0, 22, 72, COND_WAIT);
	flow(world, 0, 73, SONDE_EVENT_FLOW_END, 2);
	run(world, 0, 80, 95, FINISH);
	leave(world, 0, 100, MAIN);
	call(world, 1, 1, WORKER);
	run(world, 1, 2, 25, COND_WAIT);
	call(world, 1, 26, HANDLE);
	flow(world, 1, 26, SONDE_EVENT_FLOW_END, 1);
	run(world, 1, 30, 65, COMPUTE);
	flow(world, 1, 70, SONDE_EVENT_FLOW_BEGIN, 2);
	leave(world, 1, 71, HANDLE);
	run(world, 1, 75, 98, COND_WAIT);
	leave(world, 1, 99, WORKER);
}

static void test_ping_pong(void **state)
{
	struct sonde_selection_spec spec = { .from_ns = 40, .to_ns = 91 };
	struct sonde_buffer text = { 0 };
	struct world world;

	(void)state;
	make_ping_pong(&world);
	find(&world, NULL);
	assert_int_equal(world.path.from_ns, 0);
	assert_int_equal(world.path.to_ns, 100);
	assert_int_equal(world.path.segment_count, 3);
	assert_segment(&world, 0, 0, 0, 20, CRITICAL_START, PREPARE);
	assert_segment(&world, 1, 1, 20, 70, CRITICAL_FLOW, COMPUTE);
	assert_int_equal(world.path.segments[1].waited_ns, 18);
	assert_segment(&world, 2, 0, 70, 100, CRITICAL_FLOW, FINISH);
	assert_int_equal(world.path.segments[2].waited_ns, 48);
	assert_int_equal(world.path.flows, 2);
	assert_false(world.path.is_alone);
	assert_int_equal(function_of(&world, COMPUTE)->path_ns, 35);
	assert_int_equal(function_of(&world, COMPUTE)->self_ns, 35);
	assert_int_equal(function_of(&world, COND_WAIT)->path_ns, 7);
	assert_int_equal(function_of(&world, COND_WAIT)->self_ns, 96);
	assert_int_equal(function_of(&world, COND_WAIT)->waited_ns, 66);
	assert_int_equal(function_of(&world, MAIN)->path_ns, 18);
	critical_path_put_calls(&world.path, sonde_recording_definitions(world.recording),
				world.path.segments[1].node, 2, &text);
	assert_string_equal(sonde_buffer_text(&text), "... > handle > compute");
	sonde_buffer_release(&text);
	critical_path_release(&world.path);
	find(&world, &spec);
	assert_int_equal(world.path.from_ns, 40);
	assert_int_equal(world.path.to_ns, 80);
	assert_int_equal(world.path.segment_count, 2);
	assert_segment(&world, 0, 1, 40, 70, CRITICAL_START, COMPUTE);
	spec.max_depth = 1;
	critical_path_release(&world.path);
	assert_int_equal(critical_path_find(&world.path, world.recording, &spec, NULL, NULL),
			 SONDE_ARGUMENT);
	release(&world);
}

/* A message that was there before somebody asked for it does not make the path. */
static void test_late_receiver(void **state)
{
	struct world world;

	(void)state;
	make(&world, 2);
	call(&world, 0, 0, MAIN);
	flow(&world, 0, 5, SONDE_EVENT_FLOW_BEGIN, 9);
	leave(&world, 0, 10, MAIN);
	call(&world, 1, 0, WORKER);
	run(&world, 1, 1, 50, COMPUTE);
	call(&world, 1, 60, HANDLE);
	flow(&world, 1, 61, SONDE_EVENT_FLOW_END, 9);
	leave(&world, 1, 80, HANDLE);
	leave(&world, 1, 90, WORKER);
	find(&world, NULL);
	assert_true(world.path.is_alone);
	assert_int_equal(world.path.segment_count, 1);
	assert_segment(&world, 0, 1, 0, 90, CRITICAL_START, COMPUTE);
	release(&world);
}

/* A thread whose first call is what a flow began, and which did nothing before. */
static void test_started_by_flow(void **state)
{
	struct world world;

	(void)state;
	make(&world, 2);
	call(&world, 0, 0, MAIN);
	flow(&world, 0, 30, SONDE_EVENT_FLOW_BEGIN, 9);
	leave(&world, 0, 40, MAIN);
	call(&world, 1, 35, HANDLE);
	flow(&world, 1, 36, SONDE_EVENT_FLOW_END, 9);
	leave(&world, 1, 80, HANDLE);
	find(&world, NULL);
	assert_int_equal(world.path.segment_count, 2);
	assert_segment(&world, 0, 0, 0, 30, CRITICAL_START, MAIN);
	assert_segment(&world, 1, 1, 30, 80, CRITICAL_FLOW, HANDLE);
	release(&world);
}

static void test_join(void **state)
{
	struct world world;

	(void)state;
	make(&world, 2);
	call(&world, 0, 0, MAIN);
	run(&world, 0, 5, 6, CREATE);
	run(&world, 0, 10, 60, JOIN);
	leave(&world, 0, 70, MAIN);
	run(&world, 1, 7, 55, COMPUTE);
	find(&world, NULL);
	assert_int_equal(world.path.segment_count, 3);
	assert_segment(&world, 0, 0, 0, 5, CRITICAL_START, MAIN);
	assert_segment(&world, 1, 1, 5, 55, CRITICAL_CREATE, COMPUTE);
	assert_segment(&world, 2, 0, 55, 70, CRITICAL_JOIN, MAIN);
	assert_int_equal(world.path.segments[2].waited_ns, 45);
	assert_int_equal(world.path.segments[1].by, CREATE);
	release(&world);
}

static void test_barrier_and_lock(void **state)
{
	struct world world;

	(void)state;
	make(&world, 2);
	call(&world, 0, 0, MAIN);
	run(&world, 0, 10, 52, BARRIER);
	run(&world, 0, 60, 90, LOCK);
	leave(&world, 0, 100, MAIN);
	call(&world, 1, 0, WORKER);
	run(&world, 1, 50, 53, BARRIER);
	run(&world, 1, 55, 84, COMPUTE);
	run(&world, 1, 85, 86, UNLOCK);
	leave(&world, 1, 95, WORKER);
	find(&world, NULL);
	assert_int_equal(world.path.segment_count, 2);
	/* the worker came last to the barrier itself, so it did not wait there */
	assert_segment(&world, 0, 1, 0, 85, CRITICAL_START, WORKER);
	assert_segment(&world, 1, 0, 85, 100, CRITICAL_WAKE, MAIN);
	assert_int_equal(critical_reason_certainty(CRITICAL_WAKE), CRITICAL_GUESS);
	release(&world);
	make(&world, 2);
	run(&world, 0, 0, 40, PREPARE);
	run(&world, 0, 40, 52, BARRIER);
	run(&world, 0, 52, 60, FINISH);
	run(&world, 1, 0, 10, PREPARE);
	run(&world, 1, 10, 53, BARRIER);
	run(&world, 1, 53, 80, FINISH);
	find(&world, NULL);
	assert_int_equal(world.path.segment_count, 2);
	assert_segment(&world, 0, 0, 0, 40, CRITICAL_START, PREPARE);
	assert_segment(&world, 1, 1, 40, 80, CRITICAL_BARRIER, FINISH);
	release(&world);
}

static void test_spans(void **state)
{
	struct world world;

	(void)state;
	make(&world, 2);
	call_span(&world, 0, 0, MAIN, 1, 0);
	call_span(&world, 0, 10, PREPARE, 2, 1);
	leave(&world, 0, 50, PREPARE);
	leave(&world, 0, 100, MAIN);
	/* within the other as to time, on a lane of its own */
	call_span(&world, 1, 12, COMPUTE, 3, 1);
	leave(&world, 1, 80, COMPUTE);
	/* ended while the parent was in another child */
	find(&world, NULL);
	assert_int_equal(world.path.spans, 1);
	assert_int_equal(world.path.segment_count, 3);
	assert_segment(&world, 0, 0, 0, 12, CRITICAL_START, MAIN);
	assert_segment(&world, 1, 1, 12, 80, CRITICAL_SPAN_BEGIN, COMPUTE);
	assert_segment(&world, 2, 0, 80, 100, CRITICAL_SPAN_END, MAIN);
	release(&world);
}

static void test_alone(void **state)
{
	struct world world;

	(void)state;
	make(&world, 3);
	run(&world, 0, 50, 100, FINISH);
	call(&world, 1, 10, MAIN);
	run(&world, 1, 20, 80, COMPUTE);
	leave(&world, 1, 90, MAIN);
	find(&world, NULL);
	assert_true(world.path.is_alone);
	assert_int_equal(world.path.segment_count, 1);
	assert_segment(&world, 0, 1, 10, 90, CRITICAL_START, COMPUTE);
	release(&world);
	make(&world, 1);
	find(&world, NULL);
	assert_int_equal(world.path.segment_count, 0);
	world.recording->lanes = SONDE_LANE_VALUES;
	critical_path_release(&world.path);
	find(&world, NULL);
	release(&world);
}

/* More than one block of events between the messages, deep in calls. */
static void test_long(void **state)
{
	struct world world;
	uint64_t time = 100;

	(void)state;
	make(&world, 2);
	call(&world, 0, 0, MAIN);
	flow(&world, 0, 50, SONDE_EVENT_FLOW_BEGIN, 1);
	call(&world, 1, 10, WORKER);
	call(&world, 1, 60, HANDLE);
	flow(&world, 1, 61, SONDE_EVENT_FLOW_END, 1);
	for (unsigned int i = 0; i < 9000; i++, time += 2)
		call(&world, 1, time, COMPUTE);
	for (unsigned int i = 0; i < 9000; i++, time += 2)
		leave(&world, 1, time, COMPUTE);
	flow(&world, 1, time, SONDE_EVENT_FLOW_BEGIN, 2);
	leave(&world, 1, time + 5, HANDLE);
	leave(&world, 1, time + 6, WORKER);
	call(&world, 0, time + 20, HANDLE);
	flow(&world, 0, time + 20, SONDE_EVENT_FLOW_END, 2);
	leave(&world, 0, time + 30, HANDLE);
	leave(&world, 0, time + 50, MAIN);
	find(&world, NULL);
	assert_int_equal(world.path.segment_count, 3);
	assert_segment(&world, 0, 0, 0, 50, CRITICAL_START, MAIN);
	assert_int_equal(world.path.segments[1].from_ns, 50);
	assert_int_equal(world.path.segments[1].to_ns, time);
	assert_int_equal(function_of(&world, COMPUTE)->path_ns, 2 * 17999);
	assert_segment(&world, 2, 0, time, time + 50, CRITICAL_FLOW, MAIN);
	release(&world);
}

/* What comes after the selected time, in the same block of events, has no part in it. */
static void test_cut(void **state)
{
	struct sonde_selection_spec spec = { .to_ns = 50 };
	struct world world;

	(void)state;
	make(&world, 2);
	call(&world, 0, 0, MAIN);
	run(&world, 0, 10, 40, COMPUTE);
	for (uint32_t i = 0; i < 200; i++)
		call(&world, 0, 60 + i, HANDLE);
	run(&world, 1, 5, 20, WORKER);
	run(&world, 1, 70, 80, FINISH);
	find(&world, &spec);
	assert_int_equal(world.path.node_count, 4);
	assert_int_equal(world.path.function_count, 2);
	assert_segment(&world, 0, 0, 0, 40, CRITICAL_START, COMPUTE);
	release(&world);
}

/* Whatever is recorded: it ends, and covers the time without gaps. */
static void test_random(void **state)
{
	uint64_t random = 4;

	(void)state;
	for (unsigned int round = 0; round < 60; round++) {
		uint64_t step = round % 3 ? 5 : 1; /* many events of equal time */
		struct world world;

		make(&world, 4);
		for (uint32_t track = 0; track < 4; track++) {
			uint64_t time = memory_random(&random) % 50;
			uint32_t stack[64], depth = 0;

			for (unsigned int i = 0; i < 3000; i++) {
				uint64_t choice = memory_random(&random) % 8;

				time += memory_random(&random) % step;
				if (choice < 3 && depth < 60) {
					stack[depth++] =
						(uint32_t)(memory_random(&random) % FUNCTIONS);
					call(&world, track, time, stack[depth - 1]);
				} else if (choice < 6 && depth) {
					leave(&world, track, time, stack[--depth]);
				} else if (choice >= 6) {
					flow(&world, track, time,
					     SONDE_EVENT_FLOW_BEGIN + memory_random(&random) % 3,
					     (uint32_t)(memory_random(&random) % 300));
				}
			}
		}
		find(&world, NULL);
		release(&world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ping_pong),
		cmocka_unit_test(test_late_receiver),
		cmocka_unit_test(test_started_by_flow),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_barrier_and_lock),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
