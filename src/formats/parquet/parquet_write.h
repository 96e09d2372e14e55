/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sink that writes Parquet tables, and what is known of a track while it is written: the sink and the
 * life of tracks are in parquet_write.c, their rows in parquet_track.c, definitions in parquet_define.c.
 */
#ifndef SONDE_FORMATS_PARQUET_WRITE_H
#define SONDE_FORMATS_PARQUET_WRITE_H

#include <sonde/pipeline.h>

#include "base/spares.h"
#include "formats/parquet/parquet_rows.h"
#include "formats/parquet/parquet_tables.h"
#include "model/call_spans.h"
#include "model/signatures.h"

struct parquet_writer {
	struct sonde_sink base;
	struct sonde_loss *loss;
	struct sonde_staged staged;
	bool without[PARQUET_TRACK_TABLES]; /* tables that are not wanted */
	bool without_details;
	bool with_time;
	const struct sonde_definitions *definitions;
	uint32_t track_count;
	const struct sonde_context *contexts;
	uint32_t context_count;
	uint32_t *context_functions; /* by context: the function that it is or lies in */
	uint32_t *context_depths;
	struct parquet_file files[PARQUET_TRACK_TABLES];
	struct parquet_track **tracks; /* by track; NULL unless rows of it came and it goes on */
	bool *ended;		       /* by track */
	struct sonde_spares spares;    /* of struct parquet_track */
};

/* One track that is being written. */
struct parquet_track {
	struct parquet_writer *writer;
	uint32_t number;
	bool has_wall_clock;
	uint64_t shift_ns; /* to the wall clock */
	struct sonde_codec_state codec;
	struct parquet_rows rows[PARQUET_TRACK_TABLES]; /* without columns: not used yet */
	bool begun[PARQUET_TRACK_TABLES];
	/* codes in dictionaries, by function, event type, context, metric */
	struct parquet_known_texts functions, types;
	struct parquet_known_texts span_functions, span_callers;
	struct parquet_known_texts sample_contexts, value_contexts, value_metrics;
	uint32_t kinds_epoch, kinds[SONDE_EVENT_KIND_COUNT + 1];
	uint32_t ends_epoch, ends[SONDE_SPAN_END_COUNT];
	struct sonde_call_spans spans;
	size_t pending_spans; /* rows that are in the page and not added yet */
	struct signatures signatures;
	struct sonde_buffer json;
	/* not reported yet */
	uint64_t unread_details, left_out_details, left_out_events;
};

struct parquet_track *parquet_track_new(struct parquet_writer *writer);
void parquet_track_free(struct parquet_track *track);

/* The rows of a table, ready for more. */
enum sonde_status parquet_track_rows(struct parquet_track *track, enum parquet_table_number table,
				     struct parquet_rows **rows, struct sonde_error *err);

enum sonde_status parquet_track_events(struct parquet_track *track, const struct sonde_batch *batch,
				       struct sonde_error *err);
enum sonde_status parquet_track_samples(struct parquet_track *track,
					const struct sonde_sample *samples, size_t count,
					struct sonde_error *err);
enum sonde_status parquet_track_values(struct parquet_track *track,
				       const struct sonde_value *values, size_t count,
				       struct sonde_error *err);
/* All that is left of a track. */
enum sonde_status parquet_track_end(struct parquet_track *track, struct sonde_error *err);

/* parquet_define.c: what is known when all tracks were written. */
enum sonde_status parquet_write_definitions(struct parquet_writer *writer, struct sonde_error *err);
/* The same pairs for every file, each closed by them. */
enum sonde_status parquet_writer_close(struct parquet_writer *writer, struct parquet_file *file,
				       struct sonde_error *err);

#endif
