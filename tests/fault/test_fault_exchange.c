/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats of other tools with each allocation and each call to the system failing in turn: a small file of each
 * that is read is walked and checked, each that is written is written, and recordings are cut into pieces and
 * moved to another clock. What stands under the final name is always the same, to the byte, as without faults.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <sonde/sonde.h>

#include "../unit/scratch.h"
#include "fault.h"
#include "recording.h"

#define OUTPUT_MAX 65536

struct exchange_case {
	const char *input; /* below tests/ */
	const char *format;
	const char *style;
};

/* Files that are read; the format is that of the reader. */
static const struct exchange_case inputs[] = {
	{ "fuzz/corpus/folded/metric", "folded", NULL },
	{ "fuzz/corpus/folded/packed.gz", "folded", NULL },
	{ "fuzz/corpus/otlp_file/lines", "otlp-json", NULL },
	{ "fuzz/corpus/perfetto/compressed", "perfetto", NULL },
	{ "fuzz/corpus/perfetto/foreign", "perfetto", NULL },
	{ "fuzz/corpus/perfetto/small-d", "perfetto", NULL },
	{ "fuzz/corpus/pprof/addresses", "pprof", NULL },
	{ "fuzz/corpus/pprof/database.gz", "pprof", NULL },
	{ "fuzz/corpus/speedscope/evented.json", "speedscope", NULL },
	{ "fuzz/corpus/speedscope/packed.json.gz", "speedscope", NULL },
	{ "fuzz/corpus/speedscope/sampled.json", "speedscope", NULL },
	{ "golden/perf_script/fields.txt", "perf-script", NULL },
	{ "golden/uftrace/small", "uftrace", NULL },
};

/* Written from calls with details, and from a profile. */
static const struct exchange_case outputs[] = {
	{ "fuzz/corpus/chrome_json/ours.json", "callgrind", NULL },
	{ "fuzz/corpus/chrome_json/ours.json", "chrome", "gzip" },
	{ "fuzz/corpus/chrome_json/ours.json", "csv", "events,details" },
	{ "fuzz/corpus/chrome_json/ours.json", "dot", NULL },
	{ "fuzz/corpus/chrome_json/ours.json", "firefox", "gzip" },
	{ "fuzz/corpus/chrome_json/ours.json", "folded", "threads" },
	{ "fuzz/corpus/chrome_json/ours.json", "jsonl", "spans" },
	{ "fuzz/corpus/chrome_json/ours.json", "perfetto", NULL },
	{ "fuzz/corpus/chrome_json/ours.json", "pprof", NULL },
	{ "fuzz/corpus/chrome_json/ours.json", "speedscope", NULL },
	{ "golden/hpcdb/small", "callgrind", NULL },
	{ "golden/hpcdb/small", "csv", "contexts" },
	{ "golden/hpcdb/small", "firefox", NULL },
	{ "golden/hpcdb/small", "pprof", "sum" },
	{ "golden/hpcdb/small", "speedscope", NULL },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What is tried, and what a run without faults writes. */
struct exchange_world {
	struct fault_world base;
	size_t size;
	bool is_known;
	unsigned char expected[OUTPUT_MAX];
};

static void init_world(struct exchange_world *world, const struct exchange_case *exchange)
{
	memset(world, 0, sizeof(*world));
	world->base.format = exchange->format;
	world->base.style = exchange->style;
	snprintf(world->base.input, sizeof(world->base.input), "%s/tests/%s", getenv("SOURCE_ROOT"),
		 exchange->input);
	snprintf(world->base.output, sizeof(world->base.output), "%s/out", scratch);
}

static enum sonde_status walk_values(struct sonde_recording *recording, uint32_t track,
				     struct sonde_error *err)
{
	struct sonde_value_cursor *cursor;
	const struct sonde_value *values;
	size_t count;
	enum sonde_status status = sonde_value_cursor_open(recording, track, &cursor, err);

	if (status < 0)
		return status;
	do {
		status = sonde_value_cursor_next(cursor, &values, &count, err);
	} while (status == SONDE_OK);
	sonde_value_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status walk_samples(struct sonde_recording *recording, uint32_t track,
				      struct sonde_error *err)
{
	struct sonde_sample_cursor *cursor;
	const struct sonde_sample *samples;
	size_t count;
	enum sonde_status status = sonde_sample_cursor_open(recording, track, &cursor, err);

	if (status < 0)
		return status;
	do {
		status = sonde_sample_cursor_next(cursor, &samples, &count, err);
	} while (status == SONDE_OK);
	sonde_sample_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status walk_profile(struct sonde_recording *recording, struct sonde_error *err)
{
	uint32_t tracks = sonde_definitions_track_count(sonde_recording_definitions(recording));
	unsigned int lanes = sonde_recording_lanes(recording);
	const struct sonde_context *contexts;
	uint32_t context_count;
	enum sonde_status status = SONDE_OK;

	if (lanes & SONDE_LANE_CONTEXTS)
		status = sonde_recording_contexts(recording, &contexts, &context_count, err);
	for (uint32_t i = 0; i < tracks && status == SONDE_OK; i++) {
		if (lanes & SONDE_LANE_VALUES)
			status = walk_values(recording, i, err);
		if (status == SONDE_OK && lanes & SONDE_LANE_SAMPLES)
			status = walk_samples(recording, i, err);
	}
	return status;
}

/* Found out what it is, and all that a profile has; run_walk() is for events. */
static enum sonde_status run_profile(void *user, struct sonde_error *err)
{
	const struct fault_world *world = user;
	struct sonde_recording *recording;
	enum sonde_status status =
		sonde_recording_open(world->input, world->format, &recording, err);

	if (status < 0)
		return status;
	status = walk_profile(recording, err);
	sonde_recording_close(recording);
	return status;
}

static void test_read(void **state)
{
	static enum sonde_status (*const runs[])(void *user, struct sonde_error *err) = {
		run_walk,
		run_profile,
		run_check,
	};

	(void)state;
	for (size_t i = 0; i < COUNT(inputs) * COUNT(runs); i++) {
		struct exchange_world world;
		struct fault_case reading = { .run = runs[i % COUNT(runs)], .user = &world.base };

		init_world(&world, &inputs[i / COUNT(runs)]);
		print_message("# %s, run %zu\n", world.base.input, i % COUNT(runs));
		assert_true(fault_run_all(FAULT_ALLOCATION, &reading) > 20);
		assert_true(fault_run_all(FAULT_INPUT, &reading) > 1);
		fault_run_all(FAULT_OUTPUT, &reading);
		fault_run_all(FAULT_THREAD, &reading);
	}
}

/* The file that was written; 0 where there is none. */
static size_t output_bytes(const struct exchange_world *world, unsigned char *bytes)
{
	FILE *file = fopen(world->base.output, "rbe");
	size_t size;

	if (!file)
		return 0;
	size = fread(bytes, 1, OUTPUT_MAX, file);
	fclose(file);
	return size;
}

static void expect_same_or_nothing(void *user, enum sonde_status status,
				   const struct sonde_error *err)
{
	static unsigned char bytes[OUTPUT_MAX];
	const struct exchange_world *world = user;
	size_t size = output_bytes(world, bytes);

	(void)err;
	assert_true(count_outputs() <= 1);
	assert_true(status < 0 || size);
	if (!size)
		assert_int_equal(access(world->base.output, F_OK), -1);
	if (!size || !world->is_known)
		return;
	assert_int_equal(size, world->size);
	assert_memory_equal(bytes, world->expected, size);
}

/* All but the reading, which is tried with each format in test_read(). */
static void try_run(struct exchange_world *world,
		    enum sonde_status (*run)(void *user, struct sonde_error *err))
{
	const struct fault_case writing = {
		.run = run,
		.before = remove_output,
		.after = expect_same_or_nothing,
		.user = world,
	};
	struct sonde_error err = { 0 };

	remove_output(world);
	assert_int_equal(run(world, &err), SONDE_OK);
	world->size = output_bytes(world, world->expected);
	assert_in_range(world->size, 1, OUTPUT_MAX - 1);
	/* a database is read without the file that cannot be: something else may be written then */
	assert_true(fault_run_all(FAULT_INPUT, &writing) > 1);
	world->is_known = true;
	assert_true(fault_run_all(FAULT_ALLOCATION, &writing) > 20);
	assert_true(fault_run_all(FAULT_OUTPUT, &writing) > 2);
}

static void test_write(void **state)
{
	static struct exchange_world world;

	(void)state;
	for (size_t i = 0; i < COUNT(outputs); i++) {
		init_world(&world, &outputs[i]);
		print_message("# %s as %s\n", outputs[i].input, outputs[i].format);
		try_run(&world, run_convert);
	}
}

/* Consecutive pieces of time, the last of which stays; times are moved by a map. */
static enum sonde_status run_pieces(struct sonde_recording *recording, struct sonde_resume *resume,
				    const struct fault_world *world, struct sonde_error *err)
{
	const struct sonde_time_map map = { .target_ns = 1000, .drift = INT64_C(1) << 30 };
	struct sonde_create_options create = { .format = world->format, .replace = true };
	struct sonde_run_options options = { .threads = 1, .resume = resume, .time_maps = &map };
	uint64_t first_ns = 0, last_ns = 0;
	enum sonde_status status = SONDE_OK;

	sonde_recording_time_range(recording, &first_ns, &last_ns);
	for (uint64_t i = 0; i < 3 && status == SONDE_OK; i++) {
		struct sonde_run_result result;
		struct sonde_sink *sink = NULL;

		options.selection.from_ns = first_ns + (last_ns - first_ns) / 3 * i;
		options.selection.to_ns = first_ns + (last_ns - first_ns) / 3 * (i + 1);
		status = sonde_sink_create(world->output, &create, &sink, err);
		if (status == SONDE_OK)
			status = sonde_pipeline_run(&recording, 1, sink, &options, &result, err);
		sonde_sink_free(sink);
		sonde_resume_accept(resume);
	}
	return status;
}

static enum sonde_status run_split(void *user, struct sonde_error *err)
{
	const struct fault_world *world = user;
	struct sonde_recording *recording;
	struct sonde_resume *resume;
	enum sonde_status status = sonde_recording_open(world->input, NULL, &recording, err);

	if (status < 0)
		return status;
	resume = sonde_resume_new();
	status = resume ? run_pieces(recording, resume, world, err) : sonde_fail_nomem(err);
	sonde_resume_free(resume);
	sonde_recording_close(recording);
	return status;
}

/* With a fault in between, the piece before it stays: only the outcome is looked at. */
static void test_pieces(void **state)
{
	static const struct exchange_case split[] = {
		{ "fuzz/corpus/chrome_json/ours.json", "chrome", NULL },
		{ "golden/hpcdb/small", "perfetto", NULL },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(split); i++) {
		struct exchange_world world;
		const struct fault_case pieces = {
			.run = run_split,
			.before = remove_output,
			.after = expect_same_or_nothing,
			.user = &world,
		};

		init_world(&world, &split[i]);
		assert_true(fault_run_all(FAULT_ALLOCATION, &pieces) > 20);
		assert_true(fault_run_all(FAULT_INPUT, &pieces) > 1);
		assert_true(fault_run_all(FAULT_OUTPUT, &pieces) > 6);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
