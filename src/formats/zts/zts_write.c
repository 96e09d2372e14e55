/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a store: the sink of the format. The base folder appears under its name when all is in it;
 * a new part begins between traces when one has grown large.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "formats/zts/zts_builder.h"
#include "formats/zts/zts_read.h"

/* A part is finished beyond one of these. */
#define PART_DATA_MAX (UINT64_C(1) << 30)
#define PART_MEMORY_MAX (UINT64_C(256) << 20)

struct zts_sink {
	struct zts_builder builder; /* first */
	struct sonde_staged staged;
	enum sonde_codec codec;
	struct zts_writer *writer;
	uint32_t parts;
};

static enum sonde_status close_part(struct zts_sink *sink, struct sonde_error *err)
{
	struct zts_writer *writer = sink->writer;

	sink->writer = NULL;
	return writer ? zts_writer_close(writer, err) : SONDE_OK;
}

static enum sonde_status begin_part(struct zts_sink *sink, struct sonde_error *err)
{
	struct zts_writer_options options = { .codec = sink->codec };
	enum sonde_status status;
	char name[16];
	char *folder;

	snprintf(name, sizeof(name), "%06x", sink->parts);
	folder = sonde_path_join(sink->staged.work, name);
	if (!folder)
		return sonde_fail_nomem(err);
	status = zts_writer_create(folder, &options, &sink->writer, err);
	free(folder);
	if (status == SONDE_OK)
		sink->parts++;
	else
		sink->writer = NULL;
	return status;
}

static enum sonde_status begin_trace(void *context, struct zts_writer **writer, uint64_t *epoch,
				     struct sonde_error *err)
{
	struct zts_sink *sink = context;
	struct zts_writer_size size = zts_writer_size(sink->writer);
	enum sonde_status status = SONDE_OK;

	if (size.is_full || size.data_bytes > PART_DATA_MAX ||
	    size.memory_bytes > PART_MEMORY_MAX) {
		status = close_part(sink, err);
		if (status == SONDE_OK)
			status = begin_part(sink, err);
	}
	*writer = sink->writer;
	*epoch = sink->parts;
	return status;
}

static enum sonde_status end_trace(void *context, bool is_kept, struct sonde_error *err)
{
	(void)context;
	(void)is_kept;
	(void)err;
	return SONDE_OK;
}

static enum sonde_status zts_sink_complete(struct sonde_sink *base, struct sonde_error *err)
{
	struct zts_sink *sink = (struct zts_sink *)base;
	enum sonde_status status = zts_writer_failed(sink->writer, err);

	return status < 0 ? status : close_part(sink, err);
}

static enum sonde_status zts_sink_finish(struct sonde_sink *base, struct sonde_error *err)
{
	return sonde_staged_commit(&((struct zts_sink *)base)->staged, err);
}

static void zts_sink_free(struct sonde_sink *base)
{
	struct zts_sink *sink = (struct zts_sink *)base;

	zts_builder_release(&sink->builder);
	zts_writer_free(sink->writer);
	sonde_staged_release(&sink->staged);
	free(sink);
}

static const struct sonde_sink_ops zts_sink_ops = {
	.lanes = SONDE_LANE_EVENTS | SONDE_LANE_DETAILS,
	.begin = zts_builder_begin,
	.events = zts_builder_events,
	.track_end = zts_builder_track_end,
	.complete = zts_sink_complete,
	.finish = zts_sink_finish,
	.free = zts_sink_free,
};

enum sonde_status zts_create(const char *path, const struct sonde_create_options *options,
			     struct sonde_sink **sink, struct sonde_error *err)
{
	struct zts_sink *made = calloc(1, sizeof(*made));
	const char *style = options ? options->style : NULL;
	enum sonde_status status;

	*sink = NULL;
	if (!made)
		return sonde_fail_nomem(err);
	made->builder.base.ops = &zts_sink_ops;
	made->builder.target = (struct zts_builder_target){ begin_trace, end_trace, made };
	made->builder.loss = options ? options->loss : NULL;
	made->codec = SONDE_CODEC_LZ4;
	if (sonde_format_has_style(style, "zlib"))
		made->codec = SONDE_CODEC_DEFLATE;
	if (sonde_format_has_style(style, "none"))
		made->codec = SONDE_CODEC_NONE;
	status = sonde_staged_begin(&made->staged, path, true, options && options->replace, err);
	if (status == SONDE_OK)
		status = begin_part(made, err);
	if (status < 0) {
		zts_sink_free(&made->builder.base);
		return status;
	}
	*sink = &made->builder.base;
	return SONDE_OK;
}
