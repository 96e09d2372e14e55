/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measurements with each allocation and each call to the system failing in turn: opened and read,
 * written, checked and recovered. What cannot be done fails cleanly, and a folder that is written is
 * whole or not there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <sonde/format.h>

#include "../unit/hpcrun_making.h"
#include "../unit/scratch.h"
#include "base/file.h"
#include "fault.h"

static char input[128], output[128], old_style[] = "02.00l";

/* A profile that cannot be read is left out by recover, which says so. */
static uint32_t least_tracks = 3;

static const char *const names[] = {
	"m/prog-000000-000-11ac0300-42-0",
	"m/prog-000000-001-11ac0300-42-0",
	"m/prog-000000-002-11ac0300-42-0",
};

static void write_made(const struct made_profile *made, size_t number, const char *ending)
{
	char name[96];

	snprintf(name, sizeof(name), "%s%s", names[number], ending);
	made_write(made, scratch_path(name));
}

/* One of today with a trace, one of many epochs, one that is damaged. */
static int make_input(void **state)
{
	struct made_profile made = { 0 };
	int failed = make_scratch_in_memory(state);

	if (failed)
		return failed;
	mkdir(scratch_path("m"), 0777);
	made_04(&made);
	write_made(&made, 0, ".hpcrun");
	made_trace(&made, 0, 9);
	write_made(&made, 0, ".hpctrace");
	made_02_document(&made, 2, true);
	write_made(&made, 1, ".hpcrun");
	made_04(&made);
	made_patch_u32(&made, MARK_NODE_LEAF, 0, 20);
	made_patch_u32(&made, MARK_NODE_LEAF, 8 - 19, 0x00770000);
	made.bytes.size = made.marks[MARK_FOOTER];
	write_made(&made, 2, ".hpcrun");
	made_trace(&made, 0, 3);
	made_put_u64(&made, 3);
	made_put_u32(&made, 99);
	made_put_u32(&made, 9);
	write_made(&made, 2, ".hpctrace");
	made_release(&made);
	snprintf(input, sizeof(input), "%s", scratch_path("m"));
	snprintf(output, sizeof(output), "%s", scratch_path("out"));
	return 0;
}

static enum sonde_status feed_track(struct sonde_recording *recording, struct sonde_sink *sink,
				    uint32_t track, struct sonde_error *err)
{
	struct sonde_sample_cursor *samples = NULL;
	struct sonde_value_cursor *values = NULL;
	const struct sonde_sample *sample;
	const struct sonde_value *value;
	size_t count;
	enum sonde_status status = sonde_sample_cursor_open(recording, track, &samples, err);

	if (status < 0)
		return status;
	while (!status && !(status = sonde_sample_cursor_next(samples, &sample, &count, err)))
		status = sink ? sink->ops->samples(sink, track, sample, count, err) : SONDE_OK;
	sonde_sample_cursor_free(samples);
	if (status < 0)
		return status;
	status = sonde_value_cursor_open(recording, track, &values, err);
	if (status < 0)
		return status;
	while (!status && !(status = sonde_value_cursor_next(values, &value, &count, err)))
		status = sink ? sink->ops->values(sink, track, value, count, err) : SONDE_OK;
	sonde_value_cursor_free(values);
	if (status >= 0 && sink)
		status = sink->ops->track_end(sink, track, err);
	return status < 0 ? status : SONDE_OK;
}

/* All of a recording, to a sink where there is one. */
static enum sonde_status feed(struct sonde_recording *recording, struct sonde_sink *sink,
			      struct sonde_error *err)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	const struct sonde_context *contexts;
	uint32_t count;
	enum sonde_status status = sonde_recording_contexts(recording, &contexts, &count, err);

	if (!status && sink)
		status = sink->ops->begin(sink, definitions, err);
	if (!status && sink)
		status = sink->ops->contexts(sink, contexts, count, err);
	for (uint32_t i = 0; i < sonde_definitions_track_count(definitions) && !status; i++)
		status = feed_track(recording, sink, i, err);
	if (!status && sink)
		status = sink->ops->finish(sink, err);
	return status;
}

static enum sonde_status run_read(void *user, struct sonde_error *err)
{
	struct sonde_recording *recording;
	enum sonde_status status = sonde_recording_open(user, "hpcrun", &recording, err);

	if (status)
		return status;
	status = feed(recording, NULL, err);
	sonde_recording_close(recording);
	return status;
}

static enum sonde_status run_write(void *user, struct sonde_error *err)
{
	struct sonde_create_options options = { .format = "hpcrun", .style = user };
	struct sonde_recording *recording;
	struct sonde_sink *sink;
	enum sonde_status status = sonde_recording_open(input, "hpcrun", &recording, err);

	if (status)
		return status;
	status = sonde_sink_create(output, &options, &sink, err);
	if (!status)
		status = feed(recording, sink, err);
	sonde_sink_free(sink);
	sonde_recording_close(recording);
	return status;
}

static enum sonde_status run_check(void *user, struct sonde_error *err)
{
	struct sonde_check_options options = { .format = "hpcrun" };
	struct sonde_diagnostics *found = sonde_diagnostics_new();
	enum sonde_status status = found ? sonde_check(user, &options, found, err) :
					   sonde_fail_nomem(err);

	sonde_diagnostics_free(found);
	return status;
}

static enum sonde_status run_recover(void *user, struct sonde_error *err)
{
	struct sonde_recover_options options = { .format = "hpcrun" };
	struct sonde_diagnostics *found = sonde_diagnostics_new();
	enum sonde_status status = found ? sonde_recover(user, output, &options, found, NULL, err) :
					   sonde_fail_nomem(err);

	sonde_diagnostics_free(found);
	return status;
}

static void remove_output(void *user)
{
	(void)user;
	remove_tree(output);
}

/* Whole, or nothing; a failure after the folder got its name leaves it there. */
static void look_at_output(void *user, enum sonde_status status, const struct sonde_error *err)
{
	struct sonde_recording *recording;

	(void)user;
	(void)err;
	if (status < 0 && sonde_path_kind(output) == SONDE_PATH_ABSENT)
		return;
	assert_int_equal(sonde_recording_open(output, NULL, &recording, NULL), SONDE_OK);
	assert_true(sonde_definitions_track_count(sonde_recording_definitions(recording)) >=
		    least_tracks);
	assert_int_equal(
		sonde_diagnostics_count(sonde_recording_diagnostics(recording), SONDE_WARNING), 0);
	sonde_recording_close(recording);
}

static void test_read(void **state)
{
	struct fault_case read = { .run = run_read, .user = input };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &read) > 30);
	assert_true(fault_run_all(FAULT_INPUT, &read) > 10);
}

static void test_write(void **state)
{
	struct fault_case write = { .run = run_write,
				    .before = remove_output,
				    .after = look_at_output };

	(void)state;
	for (int i = 0; i < 2; i++) {
		write.user = i ? old_style : NULL;
		assert_true(fault_run_all(FAULT_ALLOCATION, &write) > 60);
		write.output_must_fail = true;
		assert_true(fault_run_all(FAULT_OUTPUT, &write) > 8);
		write.output_must_fail = false;
	}
}

static void test_check(void **state)
{
	struct fault_case check = { .run = run_check, .user = input };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &check) > 20);
	assert_true(fault_run_all(FAULT_INPUT, &check) > 10);
}

static void test_recover(void **state)
{
	struct fault_case recover = {
		.run = run_recover, .before = remove_output, .after = look_at_output, .user = input
	};

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &recover) > 20);
	least_tracks = 1;
	assert_true(fault_run_all(FAULT_INPUT, &recover) > 10);
	least_tracks = 3;
	recover.output_must_fail = true;
	assert_true(fault_run_all(FAULT_OUTPUT, &recover) > 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_recover),
	};

	return cmocka_run_group_tests(tests, make_input, remove_scratch);
}
