/* SPDX-License-Identifier: Apache-2.0 */
/* See recording.h. */
#include "recording.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <sonde/sonde.h>

#include "../unit/scratch.h"
#include "fault.h"

void remove_output(void *user)
{
	(void)user;
	unlink(scratch_path("out"));
	remove_tree(scratch_path("out"));
}

/* Every event of a track, with its arguments. */
static enum sonde_status walk_track(struct sonde_recording *recording, uint32_t track,
				    struct sonde_error *err)
{
	struct sonde_cursor *cursor;
	struct sonde_detail detail;
	struct sonde_batch batch;
	enum sonde_status status = sonde_cursor_open(recording, track, &cursor, err);

	if (status < 0)
		return status;
	sonde_cursor_seek_time(cursor, 1);
	sonde_cursor_seek_index(cursor, 0);
	while ((status = sonde_cursor_next(cursor, &batch, err)) == SONDE_OK) {
		enum sonde_status taken = SONDE_OK;

		for (size_t i = 0; i < batch.count && taken >= 0; i++)
			taken = sonde_batch_detail(&batch, &batch.events[i], &detail, err);
		if (taken < 0) {
			status = taken;
			break;
		}
	}
	sonde_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status walk(struct sonde_recording *recording, struct sonde_error *err)
{
	uint32_t tracks = sonde_definitions_track_count(sonde_recording_definitions(recording));
	uint32_t blobs = sonde_recording_blob_count(recording);
	enum sonde_status status = SONDE_OK;
	struct sonde_blob blob;

	for (uint32_t track = 0; track < tracks && status == SONDE_OK; track++)
		status = walk_track(recording, track, err);
	for (uint32_t number = 0; number < blobs && status == SONDE_OK; number++)
		status = sonde_recording_blob(recording, number, &blob, err);
	return status;
}

enum sonde_status run_walk(void *user, struct sonde_error *err)
{
	const struct fault_world *world = user;
	struct sonde_recording *recording;
	enum sonde_status status = sonde_recording_open(world->input, NULL, &recording, err);

	if (status < 0)
		return status;
	status = walk(recording, err);
	sonde_recording_close(recording);
	return status;
}

enum sonde_status run_check(void *user, struct sonde_error *err)
{
	const struct fault_world *world = user;
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_check_options options = { .threads = 1 };
	enum sonde_status status;

	if (!diagnostics)
		return sonde_fail_nomem(err);
	status = sonde_check(world->input, &options, diagnostics, err);
	sonde_diagnostics_free(diagnostics);
	return status;
}

enum sonde_status run_recover(void *user, struct sonde_error *err)
{
	const struct fault_world *world = user;
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_recover_options options = { 0 };
	struct sonde_recover_result result;
	enum sonde_status status;

	if (!diagnostics)
		return sonde_fail_nomem(err);
	status = sonde_recover(world->input, world->output, &options, diagnostics, &result, err);
	sonde_diagnostics_free(diagnostics);
	return status;
}

enum sonde_status run_convert(void *user, struct sonde_error *err)
{
	const struct fault_world *world = user;
	struct sonde_create_options create = { .format = world->format, .style = world->style };
	struct sonde_run_options options = { .threads = 1 };
	struct sonde_recording *recording;
	struct sonde_run_result result;
	struct sonde_sink *sink = NULL;
	enum sonde_status status = sonde_recording_open(world->input, NULL, &recording, err);

	if (status < 0)
		return status;
	create.loss = options.loss = sonde_loss_new();
	if (!options.loss)
		status = sonde_fail_nomem(err);
	if (status == SONDE_OK)
		status = sonde_sink_create(world->output, &create, &sink, err);
	if (status == SONDE_OK)
		status = sonde_pipeline_run(&recording, 1, sink, &options, &result, err);
	sonde_sink_free(sink);
	sonde_loss_free(options.loss);
	sonde_recording_close(recording);
	return status;
}

unsigned int count_outputs(void)
{
	DIR *folder = opendir(scratch);
	const struct dirent *entry;
	unsigned int count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)))
		count += strncmp(entry->d_name, "out", 3) == 0;
	closedir(folder);
	return count;
}

void expect_whole_or_nothing(void *user, enum sonde_status status, const struct sonde_error *err)
{
	const struct fault_world *world = user;
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_check_options options = { .threads = 1 };
	struct sonde_error check_error = { 0 };

	(void)err;
	assert_true(count_outputs() <= 1);
	if (access(world->output, F_OK) == 0) {
		assert_int_equal(sonde_check(world->output, &options, diagnostics, &check_error),
				 SONDE_OK);
		assert_int_equal(sonde_diagnostics_count(diagnostics, world->none_of), 0);
	} else {
		assert_true(status < 0);
	}
	sonde_diagnostics_free(diagnostics);
}

void try_writing(struct fault_world *world,
		 enum sonde_status (*run)(void *user, struct sonde_error *err),
		 unsigned int allocations, unsigned int inputs, unsigned int outputs)
{
	struct fault_case writing = {
		.run = run,
		.before = remove_output,
		.after = expect_whole_or_nothing,
		.user = world,
	};

	assert_true(fault_run_all(FAULT_ALLOCATION, &writing) > allocations);
	assert_true(fault_run_all(FAULT_INPUT, &writing) > inputs);
	assert_true(fault_run_all(FAULT_OUTPUT, &writing) > outputs);
}
