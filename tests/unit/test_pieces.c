/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs over consecutive pieces of time, against cuts that read everything each time; times that move to
 * another clock, with all that goes with them; labels of processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#include "memory_recording.h"
#include "model/recording.h"
#include "model/time_map.h"

#define FUNCTIONS 5
#define TRACKS 3

static struct sonde_recording *new_calls(uint64_t seed, bool closed)
{
	struct sonde_recording *recording = memory_recording_new(7);
	uint32_t process = memory_add_process(recording, "p");
	uint64_t random = seed;

	for (size_t i = 0; i < FUNCTIONS; i++)
		memory_add_function(recording, process, "f");
	for (size_t i = 0; i < TRACKS; i++)
		memory_add_calls(recording, memory_add_track(recording, process, "t"),
				 400 + i * 100, 0, FUNCTIONS, closed, &random);
	return recording;
}

static void run_piece(struct sonde_recording *recording, uint64_t from_ns, uint64_t to_ns,
		      struct sonde_resume *resume, struct collector *collector,
		      struct sonde_run_result *result)
{
	struct sonde_run_options options = {
		.selection = { .from_ns = from_ns, .to_ns = to_ns },
		.resume = resume,
		.threads = 2,
	};

	assert_int_equal(
		sonde_pipeline_run(&recording, 1, &collector->base, &options, result, NULL),
		SONDE_OK);
}

static void expect_equal(const struct collector *a, const struct collector *b)
{
	assert_int_equal(a->track_count, b->track_count);
	for (uint32_t i = 0; i < a->track_count; i++) {
		assert_int_equal(a->tracks[i].ends, 1);
		assert_int_equal(a->tracks[i].count, b->tracks[i].count);
		assert_int_equal(a->tracks[i].sample_count, b->tracks[i].sample_count);
		if (a->tracks[i].count)
			assert_memory_equal(a->tracks[i].events, b->tracks[i].events,
					    a->tracks[i].count * sizeof(struct sonde_event));
		for (size_t k = 0; k < a->tracks[i].sample_count; k++) {
			assert_int_equal(a->tracks[i].samples[k].time_ns,
					 b->tracks[i].samples[k].time_ns);
			assert_int_equal(a->tracks[i].samples[k].context,
					 b->tracks[i].samples[k].context);
		}
	}
}

/* Every piece is what a cut gives, whatever it was tried with before. */
static void check_pieces(struct sonde_recording *recording, uint64_t length,
			 void (*init)(struct collector *collector), uint64_t *events_read)
{
	struct sonde_resume *resume = sonde_resume_new();
	struct sonde_run_result result;
	uint64_t first_ns, last_ns;

	assert_true(sonde_recording_time_range(recording, &first_ns, &last_ns));
	*events_read = 0;
	for (uint64_t from_ns = first_ns; from_ns <= last_ns; from_ns += length) {
		struct collector cut, tried, resumed;

		init(&cut);
		init(&tried);
		init(&resumed);
		run_piece(recording, from_ns, from_ns + length, NULL, &cut, &result);
		/* one that is too long, and not accepted */
		run_piece(recording, from_ns, from_ns + length * 2, resume, &tried, &result);
		run_piece(recording, from_ns, from_ns + length, resume, &resumed, &result);
		*events_read += result.events_read;
		sonde_resume_accept(resume);
		expect_equal(&resumed, &cut);
		collector_release(&cut);
		collector_release(&tried);
		collector_release(&resumed);
	}
	sonde_resume_free(resume);
}

static void test_pieces_are_cuts(void **state)
{
	static const uint64_t lengths[] = { 1, 3, 17, 100, 100000 };

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		for (unsigned int closed = 0; closed < 2; closed++) {
			struct sonde_recording *recording = new_calls(i + 1, closed);
			uint64_t read;

			check_pieces(recording, lengths[i], collector_init, &read);
			sonde_recording_close(recording);
		}
	}
}

/* Each event once, and at borders the rest of a batch. */
static void test_pieces_are_read_once(void **state)
{
	struct sonde_recording *recording = new_calls(9, true);
	uint64_t first_ns, last_ns, pieces, read;

	(void)state;
	sonde_recording_time_range(recording, &first_ns, &last_ns);
	pieces = (last_ns - first_ns) / 50 + 1;
	check_pieces(recording, 50, collector_init, &read);
	assert_true(read >= sonde_recording_event_count(recording));
	assert_true(read <= sonde_recording_event_count(recording) + pieces * TRACKS * 7);
	sonde_recording_close(recording);
}

static void test_samples_in_pieces(void **state)
{
	struct sonde_recording *recording = memory_recording_new(3);
	uint32_t process = memory_add_process(recording, "p"), context = 0;
	uint64_t random = 5, time_ns = 100, read;
	static const uint64_t lengths[] = { 1, 4, 33, 1000 };

	(void)state;
	memory_add_function(recording, process, "f");
	memory_add_track(recording, process, "t");
	for (size_t i = 0; i < 5; i++)
		context = memory_add_context(recording, context, SONDE_CONTEXT_FUNCTION,
					     SONDE_CONTEXT_CALLED, 0);
	for (size_t i = 0; i < 100; i++, time_ns += 1 + memory_random(&random) % 7)
		memory_add_sample(recording, 0, time_ns, (uint32_t)(memory_random(&random) % 6));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		check_pieces(recording, lengths[i], collector_init_profile, &read);
	sonde_recording_close(recording);
}

/* Runs must follow each other. */
static void test_pieces_need_their_order(void **state)
{
	struct sonde_recording *recording = new_calls(3, true);
	struct sonde_resume *resume = sonde_resume_new();
	struct sonde_run_options options = { .selection = { .from_ns = 50, .to_ns = 90 },
					     .resume = resume };
	struct sonde_run_result result;
	struct collector collector;

	(void)state;
	collector_init(&collector);
	run_piece(recording, 10, 40, resume, &collector, &result);
	collector_release(&collector);
	sonde_resume_accept(resume);
	collector_init(&collector);
	assert_int_equal(sonde_pipeline_run(&recording, 1, &collector.base, &options, NULL, NULL),
			 SONDE_ARGUMENT);
	collector_release(&collector);
	sonde_resume_free(resume);
	sonde_recording_close(recording);
}

/* An event behind the border whose time lies before it is in no piece, and is told of. */
static void test_disorder_is_counted(void **state)
{
	struct sonde_recording *recording = memory_recording_new(4);
	uint32_t process = memory_add_process(recording, "p");
	struct sonde_resume *resume = sonde_resume_new();
	struct sonde_loss *loss = sonde_loss_new();
	static const uint64_t times[] = { 10, 20, 35, 15, 36 };
	struct collector collector;

	(void)state;
	memory_add_function(recording, process, "f");
	memory_add_track(recording, process, "t");
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		memory_add_event(recording, 0,
				 memory_event(i % 2 ? SONDE_EVENT_RETURN : SONDE_EVENT_CALL,
					      times[i], 0, 1));
	for (uint64_t from_ns = 10; from_ns < 50; from_ns += 20) {
		struct sonde_run_options options = {
			.selection = { .from_ns = from_ns, .to_ns = from_ns + 20 },
			.resume = resume,
			.loss = loss,
		};

		collector_init(&collector);
		assert_int_equal(
			sonde_pipeline_run(&recording, 1, &collector.base, &options, NULL, NULL),
			SONDE_OK);
		collector_release(&collector);
		sonde_resume_accept(resume);
	}
	assert_non_null(sonde_loss_at(loss, 0));
	assert_string_equal(sonde_loss_at(loss, 0)->what, "events out of order");
	assert_int_equal(sonde_loss_at(loss, 0)->count, 1);
	assert_null(sonde_loss_at(loss, 1));
	sonde_loss_free(loss);
	sonde_resume_free(resume);
	sonde_recording_close(recording);
}

static void test_time_map(void **state)
{
	struct sonde_time_map map = { .source_ns = 100, .target_ns = 1000 };
	uint64_t before = 0;

	(void)state;
	assert_int_equal(sonde_time_map_apply(&map, 100), 1000);
	assert_int_equal(sonde_time_map_apply(&map, 0), 900);
	assert_int_equal(sonde_time_map_apply(&map, UINT64_MAX - 900), UINT64_MAX);
	assert_int_equal(sonde_time_map_apply(&map, UINT64_MAX), UINT64_MAX);
	map = (struct sonde_time_map){ .source_ns = 1000, .target_ns = 100 };
	assert_int_equal(sonde_time_map_apply(&map, 0), 0);
	assert_int_equal(sonde_time_map_apply(&map, 899), 0);
	assert_int_equal(sonde_time_map_apply(&map, UINT64_MAX), UINT64_MAX - 900);
	map = (struct sonde_time_map){ .source_ns = UINT64_MAX, .target_ns = UINT64_MAX };
	assert_int_equal(sonde_time_map_apply(&map, (uint64_t)1 << 53 | 1), (uint64_t)1 << 53 | 1);
	/* a quarter faster, and never back */
	map.drift = SONDE_DRIFT_LIMIT / 4;
	map.source_ns = map.target_ns = 1000;
	assert_int_equal(sonde_time_map_apply(&map, 2000), 2250);
	assert_int_equal(sonde_time_map_apply(&map, 600), 500);
	map.drift = -SONDE_DRIFT_LIMIT + 1;
	for (uint64_t i = 0; i < 3000; i++) {
		uint64_t time_ns = sonde_time_map_apply(&map, i);

		assert_true(time_ns >= before);
		before = time_ns;
	}
	map.drift = SONDE_DRIFT_LIMIT - 1;
	assert_int_equal(sonde_time_map_apply(&map, UINT64_MAX), UINT64_MAX);
}

/* A recording with a clock of its own: events at 10, 20, 30, an anchor, a start and an end. */
static struct sonde_recording *with_clock(const char *name, enum sonde_clock_kind kind,
					  uint64_t anchor_ns)
{
	struct sonde_recording *recording = memory_recording_new(2);
	struct sonde_clock clock = { .name = memory_add_string(recording->definitions, name),
				     .kind = kind };
	struct sonde_anchor anchor = { .clock_ns = anchor_ns, .realtime_ns = 5000 };
	struct sonde_process process = {
		.name = clock.name, .os_id = 7, .start_ns = 10, .end_ns = 30
	};
	uint32_t id;

	sonde_definitions_add_clock(recording->definitions, &clock, &id, NULL);
	process.clock = anchor.clock = id;
	if (anchor_ns)
		sonde_definitions_add_anchor(recording->definitions, &anchor, &id, NULL);
	sonde_definitions_add_process(recording->definitions, &process, &id, NULL);
	memory_add_function(recording, 0, "f");
	memory_add_track(recording, 0, "t");
	for (uint64_t i = 1; i <= 3; i++)
		memory_add_event(recording, 0, memory_event(SONDE_EVENT_CALL, 10 * i, 0, 1));
	return recording;
}

/* What the sink was told of clocks. */
struct told {
	uint32_t clocks, anchors;
	enum sonde_clock_kind kind;
	struct sonde_anchor anchor;
	struct sonde_process processes[2];
	struct sonde_track tracks[2];
	char names[2][32];
};

static void look(struct collector *collector)
{
	struct told *told = collector->user;
	const struct sonde_definitions *definitions = collector->definitions;

	told->clocks = sonde_definitions_clock_count(definitions);
	told->anchors = sonde_definitions_anchor_count(definitions);
	if (told->clocks)
		told->kind = sonde_definitions_clock(definitions, 0)->kind;
	if (told->anchors)
		told->anchor = *sonde_definitions_anchor(definitions, 0);
	for (uint32_t i = 0; i < 2; i++) {
		told->processes[i] = *sonde_definitions_process(definitions, i);
		told->tracks[i] = *sonde_definitions_track(definitions, i);
		strncpy(told->names[i],
			sonde_definitions_string(definitions, told->processes[i].name),
			sizeof(told->names[i]) - 1);
	}
}

static void move(uint64_t first_anchor, uint64_t second_anchor, struct collector *collector,
		 struct told *told)
{
	static const struct sonde_time_map maps[] = { { .source_ns = 0, .target_ns = 1000 },
						      { .source_ns = 20, .target_ns = 7000 } };
	struct sonde_recording *sources[] = {
		with_clock("a", SONDE_CLOCK_BOOTTIME, first_anchor),
		with_clock("b", SONDE_CLOCK_QPC, second_anchor),
	};
	struct sonde_run_options options = { .time_maps = maps };

	*told = (struct told){ 0 };
	collector_init(collector);
	collector->at_finish = look;
	collector->user = told;
	assert_int_equal(sonde_pipeline_run(sources, 2, &collector->base, &options, NULL, NULL),
			 SONDE_OK);
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
}

static void test_times_move(void **state)
{
	struct collector collector;
	struct told told;

	(void)state;
	move(100, 4, &collector, &told);
	assert_int_equal(collector.tracks[0].events[0].time_ns, 1010);
	assert_int_equal(collector.tracks[0].events[2].time_ns, 1030);
	assert_int_equal(collector.tracks[1].events[0].time_ns, 6990);
	assert_int_equal(collector.tracks[1].events[2].time_ns, 7010);
	assert_int_equal(told.processes[1].start_ns, 6990);
	assert_int_equal(told.processes[1].end_ns, 7010);
	assert_int_equal(told.tracks[1].time_first_ns, 6990);
	assert_int_equal(told.tracks[1].time_last_ns, 7010);
	/* one clock: that of the first source, with its own anchor */
	assert_int_equal(told.clocks, 1);
	assert_int_equal(told.kind, SONDE_CLOCK_BOOTTIME);
	assert_int_equal(told.processes[0].clock, 0);
	assert_int_equal(told.processes[1].clock, 0);
	assert_int_equal(told.anchors, 1);
	assert_int_equal(told.anchor.clock_ns, 1100);
	assert_int_equal(told.anchor.realtime_ns, 5000);
	collector_release(&collector);
}

/* The first source does not know the wall clock, but another does. */
static void test_anchors_of_others(void **state)
{
	struct collector collector;
	struct told told;

	(void)state;
	move(0, 4, &collector, &told);
	assert_int_equal(told.anchors, 1);
	assert_int_equal(told.anchor.clock, 0);
	assert_int_equal(told.anchor.clock_ns, 6984);
	collector_release(&collector);
	move(0, 0, &collector, &told);
	assert_int_equal(told.anchors, 0);
	collector_release(&collector);
}

static void test_samples_move(void **state)
{
	struct sonde_recording *recording = memory_recording_new(3);
	uint32_t process = memory_add_process(recording, "p");
	static const struct sonde_time_map map = { .source_ns = 1000, .target_ns = 10 };
	struct sonde_run_options options = { .time_maps = &map, .selection = { .from_ns = 1005 } };
	struct collector collector;

	(void)state;
	memory_add_function(recording, process, "f");
	memory_add_track(recording, process, "t");
	memory_add_context(recording, 0, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED, 0);
	memory_add_sample(recording, 0, 1000, 1);
	memory_add_sample(recording, 0, 1010, 0);
	collector_init_profile(&collector);
	assert_int_equal(sonde_pipeline_run(&recording, 1, &collector.base, &options, NULL, NULL),
			 SONDE_OK);
	/* cut by its own time, then moved */
	assert_int_equal(collector.tracks[0].sample_count, 2);
	assert_int_equal(collector.tracks[0].samples[0].time_ns, 15);
	assert_int_equal(collector.tracks[0].samples[0].context, 1);
	assert_int_equal(collector.tracks[0].samples[1].time_ns, 20);
	collector_release(&collector);
	sonde_recording_close(recording);
}

static void test_labels(void **state)
{
	struct sonde_recording *sources[] = { with_clock("a", SONDE_CLOCK_BOOTTIME, 0),
					      with_clock("", SONDE_CLOCK_BOOTTIME, 0) };
	static const char *const labels[] = { "run", "other" };
	struct sonde_run_options options = { .labels = labels };
	struct collector collector;
	struct told told = { 0 };

	(void)state;
	collector_init(&collector);
	collector.at_finish = look;
	collector.user = &told;
	assert_int_equal(sonde_pipeline_run(sources, 2, &collector.base, &options, NULL, NULL),
			 SONDE_OK);
	assert_string_equal(told.names[0], "run/a");
	assert_string_equal(told.names[1], "other");
	assert_int_equal(told.clocks, 2);
	collector_release(&collector);
	sonde_recording_close(sources[0]);
	sonde_recording_close(sources[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces_are_cuts),
		cmocka_unit_test(test_pieces_are_read_once),
		cmocka_unit_test(test_samples_in_pieces),
		cmocka_unit_test(test_pieces_need_their_order),
		cmocka_unit_test(test_disorder_is_counted),
		cmocka_unit_test(test_time_map),
		cmocka_unit_test(test_times_move),
		cmocka_unit_test(test_anchors_of_others),
		cmocka_unit_test(test_samples_move),
		cmocka_unit_test(test_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
