/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of formats that have none of their own: what reading finds. Readers of other tools' files look at
 * every byte when they open them; what comes later, if anything, is found by reading on.
 */
#include "formats/exchange.h"

/* How far it is, in tracks. */
static enum sonde_status report(const struct sonde_check_options *options, uint32_t done,
				uint32_t total, struct sonde_error *err)
{
	const struct sonde_progress *progress = options->progress;

	if (!progress || progress->report(progress->user, done, total))
		return SONDE_OK;
	return sonde_fail(err, SONDE_CANCELLED, SONDE_NO_OFFSET, "the check was stopped");
}

static enum sonde_status read_batch(const struct sonde_batch *batch, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	struct sonde_detail detail;

	for (size_t i = 0; batch->details && status >= 0 && i < batch->count; i++)
		status = sonde_batch_detail(batch, &batch->events[i], &detail, err);
	return status < 0 ? status : SONDE_OK;
}

static enum sonde_status read_events(struct sonde_recording *recording, uint32_t track,
				     struct sonde_error *err)
{
	struct sonde_cursor *cursor;
	struct sonde_batch batch;
	enum sonde_status status = sonde_cursor_open(recording, track, &cursor, err);

	while (!status) {
		status = sonde_cursor_next(cursor, &batch, err);
		if (!status)
			status = read_batch(&batch, err);
	}
	sonde_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status read_samples(struct sonde_recording *recording, uint32_t track,
				      struct sonde_error *err)
{
	struct sonde_sample_cursor *cursor;
	const struct sonde_sample *samples;
	enum sonde_status status = sonde_sample_cursor_open(recording, track, &cursor, err);
	size_t count;

	while (!status)
		status = sonde_sample_cursor_next(cursor, &samples, &count, err);
	sonde_sample_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status read_values(struct sonde_recording *recording, uint32_t track,
				     struct sonde_error *err)
{
	struct sonde_value_cursor *cursor;
	const struct sonde_value *values;
	enum sonde_status status = sonde_value_cursor_open(recording, track, &cursor, err);
	size_t count;

	while (!status)
		status = sonde_value_cursor_next(cursor, &values, &count, err);
	sonde_value_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status read_all(struct sonde_recording *recording,
				  const struct sonde_check_options *options,
				  struct sonde_error *err)
{
	uint32_t tracks = sonde_definitions_track_count(recording->definitions);
	const struct sonde_context *contexts;
	uint32_t context_count;
	enum sonde_status status =
		sonde_recording_contexts(recording, &contexts, &context_count, err);

	for (uint32_t i = 0; !status && i < tracks; i++) {
		status = read_events(recording, i, err);
		if (!status)
			status = read_samples(recording, i, err);
		if (!status)
			status = read_values(recording, i, err);
		if (!status)
			status = report(options, i + 1, tracks, err);
	}
	return status;
}

/* What says something about the file, and nothing about this machine. */
static bool is_about_content(enum sonde_status status)
{
	return status == SONDE_FORMAT || status == SONDE_CORRUPT || status == SONDE_UNSUPPORTED ||
	       status == SONDE_LIMIT;
}

enum sonde_status exchange_check(const struct sonde_format *format, const char *path,
				 const struct sonde_check_options *options,
				 struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct sonde_recording *recording = sonde_recording_new(format, path);
	struct sonde_error found = { 0 };
	enum sonde_status status;

	if (!recording)
		return sonde_fail_nomem(err);
	status = format->open(recording, &found);
	if (!status)
		status = read_all(recording, options, &found);
	sonde_diagnostics_append(diagnostics, recording->diagnostics);
	sonde_recording_close(recording);
	if (is_about_content(status)) {
		sonde_diagnostics_add(diagnostics,
				      &exchange_finding_types[EXCHANGE_FINDING_REFUSED], path,
				      found.offset, "a whole recording in format %s\t%s",
				      format->info.name, found.message);
		return SONDE_OK;
	}
	if (status && err)
		*err = found;
	return status;
}
