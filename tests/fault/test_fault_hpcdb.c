/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database with each allocation and each call to the system failing in turn: opened and read, checked,
 * recovered. What cannot be done fails cleanly, and a recovered database is whole or not there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../unit/scratch.h"
#include "base/file.h"
#include "fault.h"
#include "formats/format.h"
#include "formats/hpcdb/hpcdb_taxonomy.h"

static char golden[512];

static enum sonde_status read_values(struct sonde_recording *recording, uint32_t track,
				     struct sonde_error *err)
{
	struct sonde_value_cursor *cursor;
	const struct sonde_value *values;
	size_t count;
	enum sonde_status status = sonde_value_cursor_open(recording, track, &cursor, err);

	while (status == SONDE_OK)
		status = sonde_value_cursor_next(cursor, &values, &count, err);
	sonde_value_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status read_context(struct sonde_recording *recording, struct sonde_error *err)
{
	struct sonde_value_cursor *cursor;
	const struct sonde_value *values;
	size_t count;
	enum sonde_status status = sonde_value_cursor_open_context(recording, 2, &cursor, err);

	while (status == SONDE_OK)
		status = sonde_value_cursor_next(cursor, &values, &count, err);
	sonde_value_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status run_read(void *user, struct sonde_error *err)
{
	struct sonde_recording *recording = NULL;
	struct sonde_sample_cursor *samples = NULL;
	struct sonde_blob blob;
	enum sonde_status status = sonde_recording_open(user, "hpcdb", &recording, err);

	if (status == SONDE_OK)
		status = read_values(recording, 0, err);
	if (status == SONDE_OK)
		status = read_values(recording, SONDE_NONE, err);
	if (status == SONDE_OK)
		status = read_context(recording, err);
	if (status == SONDE_OK)
		status = sonde_sample_cursor_open(recording, 0, &samples, err);
	if (status == SONDE_OK && sonde_recording_blob_count(recording))
		status = sonde_recording_blob(recording, 0, &blob, err);
	sonde_sample_cursor_free(samples);
	sonde_recording_close(recording);
	return status;
}

static enum sonde_status run_taxonomy(void *user, struct sonde_error *err)
{
	struct hpcdb_taxonomy taxonomy;
	enum sonde_status status = hpcdb_taxonomy_open(&taxonomy, user, err);

	hpcdb_taxonomy_release(&taxonomy);
	return status;
}

static enum sonde_status run_check(void *user, struct sonde_error *err)
{
	struct sonde_check_options options = { .format = "hpcdb", .threads = 1 };
	struct sonde_diagnostics *found = sonde_diagnostics_new();
	enum sonde_status status = found ? sonde_check(user, &options, found, err) :
					   sonde_fail_nomem(err);

	sonde_diagnostics_free(found);
	return status;
}

static enum sonde_status run_recover(void *user, struct sonde_error *err)
{
	struct sonde_recover_options options = { .format = "hpcdb" };
	struct sonde_diagnostics *found = sonde_diagnostics_new();
	enum sonde_status status =
		found ? sonde_recover(user, scratch_path("good"), &options, found, NULL, err) :
			sonde_fail_nomem(err);

	sonde_diagnostics_free(found);
	return status;
}

static void remove_output(void *user)
{
	(void)user;
	remove_tree(scratch_path("good"));
}

static void check_output(void *user, enum sonde_status status, const struct sonde_error *err)
{
	(void)user;
	(void)err;
	if (status < 0)
		assert_int_equal(sonde_path_kind(scratch_path("good")), SONDE_PATH_ABSENT);
	else
		assert_int_equal(sonde_path_kind(scratch_path("good/profile.db")), SONDE_PATH_FILE);
}

static void test_read(void **state)
{
	const struct fault_case fault = { .run = run_read, .user = golden };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault) > 20);
	assert_true(fault_run_all(FAULT_INPUT, &fault) > 4);
}

static void test_taxonomy(void **state)
{
	const struct fault_case fault = { .run = run_taxonomy, .user = golden };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault) > 20);
	assert_true(fault_run_all(FAULT_INPUT, &fault) > 0);
}

static void test_check(void **state)
{
	const struct fault_case fault = { .run = run_check, .user = golden };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault) > 20);
	fault_run_all(FAULT_INPUT, &fault);
	fault_run_all(FAULT_THREAD, &fault);
}

static void test_recover(void **state)
{
	const struct fault_case fault = {
		.run = run_recover,
		.before = remove_output,
		.after = check_output,
		.user = golden,
		.output_must_fail = true,
	};

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault) > 40);
	fault_run_all(FAULT_INPUT, &fault);
	assert_true(fault_run_all(FAULT_OUTPUT, &fault) > 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_taxonomy),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_recover),
	};

	snprintf(golden, sizeof(golden), "%s/hpcdb/small", getenv("GOLDEN"));
	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
