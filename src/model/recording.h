/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a recording and of cursors: what a format's reader fills in. */
#ifndef SONDE_MODEL_RECORDING_H
#define SONDE_MODEL_RECORDING_H

#include <sonde/profile.h>

/* What a reader provides. Optional hooks may be NULL. */
struct sonde_recording_ops {
	/* A cursor over one track that exists; `base` fields are filled in by the caller. NULL: the
	 * format has no events. */
	enum sonde_status (*cursor_open)(struct sonde_recording *recording, uint32_t track,
					 struct sonde_cursor **cursor, struct sonde_error *err);
	/* Resource `number`, which exists; NULL: there are none. */
	enum sonde_status (*blob)(struct sonde_recording *recording, uint32_t number,
				  struct sonde_blob *blob, struct sonde_error *err);
	/* Behind the functions of <sonde/profile.h>; NULL: the recording has no such lane. Called
	 * for a track that exists or SONDE_NONE, and a context and metric that exist. `contexts` must
	 * be safe from several threads and cheap from the second call on. */
	enum sonde_status (*contexts)(struct sonde_recording *recording,
				      const struct sonde_context **contexts, uint32_t *count,
				      struct sonde_error *err);
	enum sonde_status (*values_open)(struct sonde_recording *recording, uint32_t track,
					 struct sonde_value_cursor **cursor,
					 struct sonde_error *err);
	/* These two are called after `contexts`, with numbers that are there. */
	enum sonde_status (*context_values_open)(struct sonde_recording *recording,
						 uint32_t context,
						 struct sonde_value_cursor **cursor,
						 struct sonde_error *err);
	enum sonde_status (*value)(struct sonde_recording *recording, uint32_t track,
				   uint32_t context, uint32_t metric, double *value,
				   struct sonde_error *err);
	/* How many values tracks have, at once; NULL: they are counted one by one. */
	uint64_t (*value_count)(struct sonde_recording *recording);
	/* Both or none. */
	bool (*formula)(struct sonde_recording *recording, uint32_t number,
			struct sonde_formula *formula);
	bool (*formula_value)(struct sonde_recording *recording, uint32_t number, uint32_t context,
			      bool total, double *value);
	enum sonde_status (*samples_open)(struct sonde_recording *recording, uint32_t track,
					  struct sonde_sample_cursor **cursor,
					  struct sonde_error *err);
	/* Releases `data`. */
	void (*close)(struct sonde_recording *recording);
};

struct sonde_recording {
	const struct sonde_format *format;
	char *path;
	const char *title; /* what to call it where its path says nothing; else NULL. Borrowed */
	struct sonde_definitions *definitions;
	struct sonde_diagnostics *diagnostics;
	uint64_t opened_ns; /* when that began, since 1970 */
	unsigned int lanes;
	uint32_t blob_count;
	/* A detail's number is the index of its event; else they are counted from 0 in each track. */
	bool details_by_event;
	uint32_t tracks_lost; /* there, but so damaged that nothing of them could be read */
	const struct sonde_recording_ops *ops; /* set by the format's open */
	void *data;			       /* the format's own */
};

/*
 * Events as they lie in a file, for who needs only times, functions, kinds and depths of all of them, and fast:
 * 32 bytes each, little-endian. Kinds are those of the model as far as calls go; what a key means
 * (its function) is asked for when it is met.
 */
#define SONDE_RAW_EVENT_SIZE 32
#define SONDE_RAW_EVENT_TIME 0	 /* u64 */
#define SONDE_RAW_EVENT_KEY 8	 /* u64 */
#define SONDE_RAW_EVENT_KIND 20	 /* u32 */
#define SONDE_RAW_EVENT_DEPTH 24 /* u32 */

struct sonde_raw_events {
	const uint8_t *bytes; /* borrowed until the next call */
	size_t count;
};

/* The hooks behind the functions of the same name in <sonde/recording.h>. */
struct sonde_cursor_ops {
	enum sonde_status (*next)(struct sonde_cursor *cursor, struct sonde_batch *batch,
				  struct sonde_error *err);
	void (*seek_index)(struct sonde_cursor *cursor, uint64_t index);
	void (*seek_time)(struct sonde_cursor *cursor, uint64_t time_ns);
	uint64_t (*position)(const struct sonde_cursor *cursor);
	/* NULL: the format has no details. */
	enum sonde_status (*detail)(struct sonde_cursor *cursor, uint64_t number,
				    struct sonde_detail *detail, struct sonde_error *err);
	/* At most so many events a batch, said before the first; NULL: batches are small anyway. */
	void (*limit_batch)(struct sonde_cursor *cursor, size_t events);
	/* Both or none: the next events raw, in place of `next`, and the function of a key. */
	enum sonde_status (*next_raw)(struct sonde_cursor *cursor, struct sonde_raw_events *events,
				      struct sonde_error *err);
	enum sonde_status (*raw_function)(struct sonde_cursor *cursor, uint64_t key,
					  uint32_t *function, struct sonde_error *err);
	void (*free)(struct sonde_cursor *cursor);
};

/* First member of every format's cursor. */
struct sonde_cursor {
	const struct sonde_cursor_ops *ops;
	struct sonde_recording *recording;
	uint32_t track;
};

struct sonde_value_cursor_ops {
	enum sonde_status (*next)(struct sonde_value_cursor *cursor,
				  const struct sonde_value **values, size_t *count,
				  struct sonde_error *err);
	void (*free)(struct sonde_value_cursor *cursor);
};

/* First member of every format's cursor over values. */
struct sonde_value_cursor {
	const struct sonde_value_cursor_ops *ops;
};

struct sonde_sample_cursor_ops {
	enum sonde_status (*next)(struct sonde_sample_cursor *cursor,
				  const struct sonde_sample **samples, size_t *count,
				  struct sonde_error *err);
	void (*seek_time)(struct sonde_sample_cursor *cursor, uint64_t time_ns);
	void (*free)(struct sonde_sample_cursor *cursor);
};

struct sonde_sample_cursor {
	const struct sonde_sample_cursor_ops *ops;
};

/* An empty recording for a format's open to fill; NULL where memory failed. */
struct sonde_recording *sonde_recording_new(const struct sonde_format *format, const char *path);

/* What an entry is called that has no name of its own. */
const char *sonde_entry_name(unsigned int entry);

#endif
