/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a folder of Parquet tables: the sink. Tracks come side by side; each has its part in every table,
 * so that the files do not depend on which came first.
 */
#include "formats/parquet/parquet_write.h"

#include <inttypes.h>
#include <stdlib.h>

#include "formats/parquet/parquet.h"
#include "model/names.h"
#include "model/wall_clock.h"

const struct sonde_format_style parquet_styles[] = {
	{ "no-events", "without the table of events" },
	{ "no-spans", "without the table of calls with their durations" },
	{ "no-details", "without registers and stack bytes; arguments stay" },
	{ "timestamps", "with a column of the time of the wall clock, where it is known" },
	{ NULL, NULL },
};

static struct parquet_writer *writer_of(struct sonde_sink *sink)
{
	return (struct parquet_writer *)sink;
}

static enum sonde_status begin(struct sonde_sink *sink, const struct sonde_definitions *definitions,
			       struct sonde_error *err)
{
	struct parquet_writer *writer = writer_of(sink);
	enum sonde_status status = SONDE_OK;

	writer->definitions = definitions;
	writer->track_count = sonde_definitions_track_count(definitions);
	writer->tracks = calloc((size_t)writer->track_count + 1, sizeof(*writer->tracks));
	writer->ended = calloc((size_t)writer->track_count + 1, sizeof(*writer->ended));
	if (!writer->tracks || !writer->ended)
		return sonde_fail_nomem(err);
	for (size_t i = 0; !status && i < PARQUET_TRACK_TABLES; i++)
		status = parquet_file_open(&writer->files[i], &parquet_tables[i],
					   writer->staged.work, writer->track_count,
					   writer->with_time, err);
	return status;
}

static enum sonde_status contexts(struct sonde_sink *sink, const struct sonde_context *items,
				  uint32_t count, struct sonde_error *err)
{
	struct parquet_writer *writer = writer_of(sink);

	writer->contexts = items;
	writer->context_functions = calloc((size_t)count + 1, sizeof(uint32_t));
	writer->context_depths = calloc((size_t)count + 1, sizeof(uint32_t));
	if (!writer->context_functions || !writer->context_depths)
		return sonde_fail_nomem(err);
	writer->context_count = count;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t parent = items[i].parent;
		bool is_below = parent < i;

		writer->context_functions[i] = items[i].kind == SONDE_CONTEXT_FUNCTION ?
						       items[i].function :
					       is_below ? writer->context_functions[parent] :
							  SONDE_NONE;
		writer->context_depths[i] = is_below ? writer->context_depths[parent] + 1 : 0;
	}
	return SONDE_OK;
}

/* What is there of a track, or a new one. */
static enum sonde_status find_track(struct parquet_writer *writer, uint32_t number,
				    struct parquet_track **track, struct sonde_error *err)
{
	if (number >= writer->track_count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "rows are of track %" PRIu32 ", which is not defined", number);
	*track = writer->tracks[number];
	if (*track)
		return SONDE_OK;
	*track = sonde_spares_take(&writer->spares);
	if (!*track)
		*track = parquet_track_new(writer);
	if (!*track)
		return sonde_fail_nomem(err);
	writer->tracks[number] = *track;
	(*track)->number = number;
	(*track)->has_wall_clock =
		sonde_wall_clock_shift(writer->definitions, number, &(*track)->shift_ns);
	return SONDE_OK;
}

static enum sonde_status events(struct sonde_sink *sink, uint32_t number,
				const struct sonde_batch *batch, struct sonde_error *err)
{
	struct parquet_track *track = NULL;
	enum sonde_status status = find_track(writer_of(sink), number, &track, err);

	return track ? parquet_track_events(track, batch, err) : status;
}

static enum sonde_status samples(struct sonde_sink *sink, uint32_t number,
				 const struct sonde_sample *items, size_t count,
				 struct sonde_error *err)
{
	struct parquet_track *track = NULL;
	enum sonde_status status = find_track(writer_of(sink), number, &track, err);

	return track ? parquet_track_samples(track, items, count, err) : status;
}

static enum sonde_status values(struct sonde_sink *sink, uint32_t number,
				const struct sonde_value *items, size_t count,
				struct sonde_error *err)
{
	struct parquet_track *track = NULL;
	enum sonde_status status = find_track(writer_of(sink), number, &track, err);

	return track ? parquet_track_values(track, items, count, err) : status;
}

/* Ends the part of a track in the tables that it has no rows in. */
static enum sonde_status end_parts(struct parquet_writer *writer, uint32_t number,
				   const struct parquet_track *track, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	writer->ended[number] = true;
	for (size_t i = 0; !status && i < PARQUET_TRACK_TABLES; i++) {
		if (!track || !track->begun[i])
			status = sonde_parts_end(writer->files[i].parts, number, err);
	}
	return status;
}

static enum sonde_status report_losses(struct parquet_writer *writer, struct parquet_track *track,
				       struct sonde_error *err)
{
	enum sonde_status status = sonde_loss_add(
		writer->loss, "details", "the source cannot read them", track->unread_details, err);

	if (!status)
		status = sonde_loss_add(writer->loss, "details", "the style leaves them out",
					track->left_out_details, err);
	if (!status)
		status = sonde_loss_add(writer->loss, "events", "the style leaves out their table",
					track->left_out_events, err);
	track->unread_details = track->left_out_details = track->left_out_events = 0;
	return status;
}

static enum sonde_status track_end(struct sonde_sink *sink, uint32_t number,
				   struct sonde_error *err)
{
	struct parquet_writer *writer = writer_of(sink);
	struct parquet_track *track;
	enum sonde_status status;

	if (number >= writer->track_count)
		return SONDE_OK;
	track = writer->tracks[number];
	status = end_parts(writer, number, track, err);
	if (status || !track)
		return status;
	status = parquet_track_end(track, err);
	if (!status)
		status = report_losses(writer, track, err);
	if (status)
		return status;
	writer->tracks[number] = NULL;
	if (!sonde_spares_give(&writer->spares, track))
		parquet_track_free(track);
	return SONDE_OK;
}

/* Closes a table of tracks; without rows there is none. */
static enum sonde_status close_table(struct parquet_writer *writer, struct parquet_file *file,
				     struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (parquet_file_rows(file)) {
		status = parquet_writer_close(writer, file, err);
	} else {
		sonde_output_release(&file->output);
		if (!sonde_path_remove(file->path))
			status = sonde_fail_errno(err, file->path, "cannot be removed");
	}
	return status;
}

static enum sonde_status complete(struct sonde_sink *sink, struct sonde_error *err)
{
	struct parquet_writer *writer = writer_of(sink);
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; !status && i < writer->track_count; i++)
		if (!writer->ended[i])
			status = track_end(sink, i, err);
	for (size_t i = 0; !status && i < PARQUET_TRACK_TABLES; i++) {
		status = close_table(writer, &writer->files[i], err);
		parquet_file_release(&writer->files[i]);
	}
	if (!status)
		status = parquet_write_definitions(writer, err);
	if (!status)
		status = sonde_loss_add(writer->loss, "names that are not UTF-8",
					"U+FFFD stands for each bad byte",
					sonde_names_not_utf8(writer->definitions), err);
	return status;
}

static enum sonde_status finish(struct sonde_sink *sink, struct sonde_error *err)
{
	return sonde_staged_commit(&writer_of(sink)->staged, err);
}

static void writer_free(struct sonde_sink *sink)
{
	struct parquet_writer *writer = writer_of(sink);
	struct parquet_track *track;

	for (uint32_t i = 0; writer->tracks && i < writer->track_count; i++)
		parquet_track_free(writer->tracks[i]);
	while ((track = sonde_spares_take(&writer->spares)))
		parquet_track_free(track);
	for (size_t i = 0; i < PARQUET_TRACK_TABLES; i++)
		parquet_file_release(&writer->files[i]);
	sonde_spares_release(&writer->spares);
	free(writer->tracks);
	free(writer->ended);
	free(writer->context_functions);
	free(writer->context_depths);
	sonde_staged_release(&writer->staged);
	free(writer);
}

static const struct sonde_sink_ops writer_ops = {
	.lanes = PARQUET_LANES_WRITTEN,
	.parallel_tracks = true,
	.begin = begin,
	.events = events,
	.contexts = contexts,
	.values = values,
	.samples = samples,
	.track_end = track_end,
	.complete = complete,
	.finish = finish,
	.free = writer_free,
};

enum sonde_status parquet_create(const char *path, const struct sonde_create_options *options,
				 struct sonde_sink **sink, struct sonde_error *err)
{
	struct parquet_writer *writer = calloc(1, sizeof(*writer));
	enum sonde_status status;

	*sink = NULL;
	if (!writer || !sonde_spares_init(&writer->spares)) {
		free(writer);
		return sonde_fail_nomem(err);
	}
	writer->base.ops = &writer_ops;
	writer->loss = options->loss;
	writer->without[PARQUET_EVENT_TABLE] = sonde_format_has_style(options->style, "no-events");
	writer->without[PARQUET_SPAN_TABLE] = sonde_format_has_style(options->style, "no-spans");
	writer->without_details = sonde_format_has_style(options->style, "no-details");
	writer->with_time = sonde_format_has_style(options->style, "timestamps");
	for (size_t i = 0; i < PARQUET_TRACK_TABLES; i++)
		writer->files[i].output.fd = -1;
	status = sonde_staged_begin(&writer->staged, path, true, options->replace, err);
	if (status) {
		writer_free(&writer->base);
		return status;
	}
	*sink = &writer->base;
	return SONDE_OK;
}
