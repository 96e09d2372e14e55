/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of an intake. What comes is kept as records in streams, one for the events and one for the
 * samples of each track: the newest in memory, the rest as extents of a file without a name. In the end each
 * stream is read back in order, nested, and written to the files that cursors read.
 */
#ifndef SONDE_MODEL_INTAKE_PRIVATE_H
#define SONDE_MODEL_INTAKE_PRIVATE_H

#include "base/arena.h"
#include "base/file.h"
#include "base/loser_tree.h"
#include "base/map.h"
#include "base/sort.h"
#include "base/vec.h"
#include "model/context_union.h"
#include "model/intake.h"

/* An event or a sample as it came. */
struct intake_record {
	uint64_t time_ns;
	uint64_t end_ns;   /* of a span; the bits of a counter's value */
	uint32_t function; /* of a sample: its node */
	/* Of a span: 1 where it is left by an exception, plus 2 for each unit that the detail of that is
	 * behind the span's own; else as it came. */
	uint32_t extra;
	uint32_t detail; /* the low part of where its detail lies, see intake_detail_of() */
	uint8_t kind;
	uint8_t detail_high;
	uint16_t zero;
};

/* Details lie at multiples of 8 bytes; records count in these. */
#define INTAKE_DETAIL_UNIT 8
#define INTAKE_NO_DETAIL (((uint64_t)1 << 40) - 1)

static inline uint64_t intake_detail_of(const struct intake_record *record)
{
	return (uint64_t)record->detail_high << 32 | record->detail;
}

/* What is before the packed arguments of a detail. */
struct intake_detail_header {
	uint32_t event_type;
	uint32_t size;
};

/* Before each run of records in the file, in the order of time. */
struct intake_extent {
	uint64_t previous; /* where the extent before it in the stream begins, plus 1; 0: none */
	uint64_t count;
	uint64_t first_ns, last_ns;
};

/* An extent in the file. */
struct intake_place {
	uint64_t offset; /* of its records */
	uint64_t count;
	uint64_t first_ns, last_ns;
};

_Static_assert(sizeof(struct intake_record) == 32, "records are read back as they were written");
_Static_assert(sizeof(struct intake_extent) == 32, "extents keep records aligned");

struct intake_stream {
	struct intake_record *records; /* not written yet */
	uint32_t count, capacity;
	uint64_t last_extent; /* like intake_extent.previous */
	uint64_t latest_ns;   /* of all so far */
	bool any;	      /* there were any */
	bool block_mixed;     /* those in memory are not in the order of time */
};

/* The values of a track while they come: place of (node, metric) in `items`, whose contexts are nodes. */
struct intake_values {
	struct sonde_key_map places;
	SONDE_VEC(struct sonde_value) items;
};

struct intake_track {
	struct sonde_track definition;
	struct intake_stream events, samples;
	struct intake_values values;
	/* after finish: where its items begin in the files */
	uint64_t first_event, first_sample, first_detail;
};

struct intake_process {
	struct sonde_process definition;
	uint32_t next_slot;
};

/* A detail in the end: ordered by track and number. */
struct intake_detail {
	uint64_t place; /* of its header in the file of details */
	uint64_t event; /* index in the track */
};

struct sonde_intake {
	struct sonde_recording *recording;
	struct sonde_arena keys; /* of the maps */
	struct sonde_text_map strings, functions, event_types, process_keys, track_keys, numbers;
	uint32_t number_count;
	uint32_t function_count, event_type_count; /* defined so far */
	SONDE_VEC(struct intake_process) processes;
	SONDE_VEC(struct intake_track) tracks;
	struct sonde_context_union *tree;
	struct sonde_output spool;	/* of records; opened when first needed, as is the next */
	struct sonde_output detail_out; /* headers and arguments */
	size_t records_held;		/* room in memory, of all streams */
	uint32_t block_limit;		/* of records, for one stream */
	struct sonde_sort_item *order;	/* of a block that is put in order */
	struct sonde_intake_counts counts;
	uint64_t value_count;
	/* after finish */
	struct sonde_mapped_file events, samples, details, detail_bytes;
};

/* intake_spool.c */

/* Opens a file without a name where that was not done yet (fd -1). */
enum sonde_status intake_open_once(struct sonde_output *output, struct sonde_error *err);

/* Room for one more record of a stream that is full. */
enum sonde_status intake_stream_grow(struct sonde_intake *intake, struct intake_stream *stream,
				     struct sonde_error *err);
enum sonde_status intake_stream_flush(struct sonde_intake *intake, struct intake_stream *stream,
				      struct sonde_error *err);
void intake_stream_release(struct sonde_intake *intake, struct intake_stream *stream);

/* Frees what only adding needs: what was there before, by its key. */
void intake_release_keys(struct sonde_intake *intake);

static inline enum sonde_status intake_stream_add(struct sonde_intake *intake,
						  struct intake_stream *stream,
						  const struct intake_record *record,
						  struct sonde_error *err)
{
	if (stream->count == stream->capacity) {
		enum sonde_status status = intake_stream_grow(intake, stream, err);

		if (status)
			return status;
	}
	if (record->time_ns >= stream->latest_ns) {
		stream->latest_ns = record->time_ns;
	} else {
		stream->block_mixed |= stream->count &&
				       record->time_ns < stream->records[stream->count - 1].time_ns;
		intake->counts.went_back++;
	}
	stream->any = true;
	stream->records[stream->count++] = *record;
	return SONDE_OK;
}

/*
 * What was touched of a file that is read here and there: its pages are given back before they are many.
 * The system maps some around each one that is touched.
 */
#define INTAKE_WINDOW ((uint64_t)2 << 20)
#define INTAKE_PASS_SIZE ((size_t)64 << 20)

struct intake_pages {
	uint64_t window; /* the one touched last, plus 1 */
	size_t touched;	 /* bytes */
};

/* Bytes that are looked at now. Those of the calls before may be gone from memory after this. */
static inline void intake_touch(struct intake_pages *pages, const struct sonde_mapped_file *file,
				uint64_t place, size_t size)
{
	if (place / INTAKE_WINDOW + 1 != pages->window)
		pages->touched += INTAKE_WINDOW;
	pages->window = (place + size) / INTAKE_WINDOW + 1;
	pages->touched += size;
	if (pages->touched < INTAKE_PASS_SIZE)
		return;
	sonde_mapped_file_pass(file, 0, file->size);
	*pages = (struct intake_pages){ 0 };
}

/* A run of extents that follow each other in time, and what of it is in memory. */
struct intake_run {
	uint32_t extent, end; /* the present one, and the first that is not its own */
	uint64_t taken;	      /* records of the present one that were read from the file */
	struct intake_record *records;
	uint32_t position, count; /* in `records` */
};

/* All records of a stream in the order of time, those of one time as they came. */
struct intake_reader {
	int fd;
	SONDE_VEC(struct intake_place) extents;
	SONDE_VEC(struct intake_run) runs;
	struct intake_record *memory; /* of all runs */
	uint32_t room;		      /* records of a run in memory */
	struct sonde_loser_tree tree;
	bool handed_out; /* records of the winner, which the tree does not know yet */
};

/* The spool must be flushed, and left alone. */
enum sonde_status intake_reader_open(struct intake_reader *reader, const struct sonde_output *spool,
				     const struct intake_stream *stream, struct sonde_error *err);
void intake_reader_release(struct intake_reader *reader);
/* The next records, borrowed until the next call; SONDE_END after the last. */
enum sonde_status intake_reader_next(struct intake_reader *reader,
				     const struct intake_record **records, size_t *count,
				     struct sonde_error *err);

/* intake_nest.c */

struct intake_nest;

/* Writes events to `events` and details to `details`. */
struct intake_nest *intake_nest_new(struct sonde_intake *intake, struct sonde_output *events,
				    struct sonde_output *details);
void intake_nest_free(struct intake_nest *nest);
/* Reads the events of a track from a spool and writes them nested; what overlaps goes to further tracks. */
enum sonde_status intake_nest_track(struct intake_nest *nest, const struct sonde_output *spool,
				    uint32_t track, struct sonde_error *err);

/* intake_further.c */

/* The further tracks of a track while it is nested. */
struct intake_further;

struct intake_further *intake_further_new(struct sonde_intake *intake);
void intake_further_free(struct intake_further *further);
/* Begins with a track that has none yet. */
void intake_further_begin(struct intake_further *further, uint32_t track);
/* Adds a span to the first one where it nests. SONDE_END: there are too many. */
enum sonde_status intake_further_add(struct intake_further *further,
				     const struct intake_record *span, struct sonde_error *err);

/* intake.c */
enum sonde_status intake_add_track(struct sonde_intake *intake, const struct sonde_track *like,
				   uint32_t *track, struct sonde_error *err);

/* intake_read.c */
extern const struct sonde_recording_ops intake_recording_ops;

#endif
