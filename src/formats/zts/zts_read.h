/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store as a recording: traces laid on tracks ("lanes") on which they do not overlap, events made
 * from decoded trees when they are asked for. What is kept in memory is a piece a trace.
 */
#ifndef SONDE_FORMATS_ZTS_READ_H
#define SONDE_FORMATS_ZTS_READ_H

#include <pthread.h>

#include "base/map.h"
#include "formats/format.h"
#include "formats/zts/zts_store.h"
#include "formats/zts/zts_strands.h"
#include "model/span_details.h"

/* Attributes of the recording, and of its processes: JSON. */
#define ZTS_ATTRIBUTE_GENERATION "zts_generation"
#define ZTS_ATTRIBUTE_PARTS "zts_parts"
#define ZTS_ATTRIBUTE_ENV "env"
#define ZTS_ATTRIBUTE_HOST "host"

/* A trace (or the part of it that could not be nested) on its track. */
struct zts_piece {
	uint64_t start_ns;
	union {
		uint64_t end_ns; /* while traces are laid out */
		uint64_t first;	 /* index of its first event in the track, afterwards */
	} at;
	uint32_t slot;
	uint32_t calls; /* twice as many events */
	uint32_t exceptions;
	uint16_t part; /* position in base->parts */
	uint16_t lane; /* which lane of the trace: see zts_strands.h */
};

/* The slot of a trace inside another one's chunk. */
struct zts_inner_slot {
	uint64_t data_offset;
	uint32_t start_offset;
	uint32_t slot;
};

/* One part, and what of its texts is needed often. */
struct zts_reading {
	struct zts_part *part;
	uint32_t ns_key;			/* text id of ZTS_NS_ATTRIBUTE; 0: not there */
	uint32_t service_key;			/* of "service.name" */
	struct sonde_key_map functions;		/* method's text id -> function */
	SONDE_VEC(struct zts_inner_slot) inner; /* by place */
};

struct zts_lane {
	size_t first_piece, piece_count;
	uint64_t events, details;
	uint64_t end_ns;
	uint32_t group;
};

struct zts_recording {
	struct zts_base *base;
	struct zts_reading *parts;
	SONDE_VEC(struct zts_piece) pieces;	    /* by track, then time */
	SONDE_VEC(struct zts_lane) lanes;	    /* by track */
	uint32_t call_type, exception_type;	    /* event types */
	pthread_mutex_t lock;			    /* of texts and of codecs */
	SONDE_VEC(struct sonde_codec_state) codecs; /* not in use now: cursors share them */
};

/* One trace of a base folder, by the number of its part. */
struct zts_slot_ref {
	uint32_t part;
	uint32_t slot;
};

int zts_probe(const char *path);
enum sonde_status zts_open(struct sonde_recording *recording, struct sonde_error *err);
enum sonde_status zts_cursor_open(struct sonde_recording *recording, uint32_t track,
				  struct sonde_cursor **cursor, struct sonde_error *err);

/* A recording of some traces only. */
enum sonde_status zts_recording_of_slots(const char *base, const struct zts_slot_ref *slots,
					 size_t count, struct sonde_recording **recording,
					 struct sonde_error *err);

/* zts_lanes.c: puts pieces on lanes. `groups` has the group of each piece. */
enum sonde_status zts_lay_out(struct zts_recording *data, const uint32_t *groups,
			      struct sonde_error *err);

/* Loads a trace with a codec state of the recording's. */
enum sonde_status zts_recording_load(struct zts_recording *data, uint32_t part, uint32_t slot,
				     struct zts_loaded *loaded, struct sonde_error *err);

/* zts_detail.c: the packed arguments of a record, appended. Takes the lock. */
enum sonde_status zts_detail_call(struct zts_recording *data, uint32_t part, uint32_t slot,
				  const struct zts_loaded *loaded, uint32_t record,
				  struct sonde_buffer *out, struct sonde_error *err);
enum sonde_status zts_detail_exception(struct zts_recording *data, uint32_t part,
				       const struct zts_loaded *loaded, uint32_t record,
				       struct sonde_buffer *out, struct sonde_error *err);

/* The rest of the format. */
enum sonde_status zts_create(const char *path, const struct sonde_create_options *options,
			     struct sonde_sink **sink, struct sonde_error *err);
enum sonde_status zts_check(const char *path, const struct sonde_check_options *options,
			    struct sonde_diagnostics *diagnostics, struct sonde_error *err);
enum sonde_status zts_recover(const char *path, const char *output,
			      const struct sonde_recover_options *options,
			      struct sonde_diagnostics *diagnostics,
			      struct sonde_recover_result *result, struct sonde_error *err);

#endif
