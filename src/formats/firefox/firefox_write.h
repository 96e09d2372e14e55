/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the writer of Firefox profiles. The format has columns, each of them an array:
 * every column of a track is a part of the file. Tables that are bounded by functions and call
 * paths wait in memory until the track ends.
 */
#ifndef SONDE_FIREFOX_WRITE_H
#define SONDE_FIREFOX_WRITE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/json.h"
#include "base/map.h"
#include "base/parts.h"
#include "base/vec.h"
#include "codec/gzip.h"
#include "formats/exchange_stacks.h"
#include "formats/exchange_values.h"
#include "formats/firefox/firefox.h"
#include "model/call_stack.h"

/* Text is handed on when there is so much of it. */
#define FIREFOX_WRITE_BYTES ((size_t)1 << 17)

/* What stands before each column; the tables come last. */
#define FIREFOX_COLUMN_LIST(X)                                                                     \
	X(STACK, "")                                                                               \
	X(TIME, "],\n\"time\":[")                                                                  \
	X(WEIGHT, "],\n\"weight\":[")                                                              \
	X(MARKER_NAME, "")                                                                         \
	X(MARKER_START, "],\n\"startTime\":[")                                                     \
	X(MARKER_END, "],\n\"endTime\":[")                                                         \
	X(MARKER_PHASE, "],\n\"phase\":[")                                                         \
	X(MARKER_CATEGORY, "],\n\"category\":[")                                                   \
	X(MARKER_DATA, "],\n\"data\":[")                                                           \
	X(TABLES, "")

enum firefox_column {
#define X(name, before) FIREFOX_COLUMN_##name,
	FIREFOX_COLUMN_LIST(X)
#undef X
		FIREFOX_COLUMNS
};

#define FIREFOX_LOSS_LIST(X)                                                                       \
	X(OTHER, "events of kind other", "their meaning is known to the source's format only",     \
	  false)                                                                                   \
	X(LONE_RETURN, "returns without a call", "a profile has stacks, which these are not in",   \
	  false)                                                                                   \
	X(MISSING_RETURN, "calls that never ended",                                                \
	  "they are shown until the call around them, or the track, ends", false)                  \
	X(WENT_BACK, "times that go back", "samples are in order: the time before stays", false)   \
	X(SYNTHETIC, "marks of synthetic events", "a profile has none", false)                     \
	X(CALLS, "numbers of calls", "a profile has the time that was spent, not how often",       \
	  false)                                                                                   \
	X(FOLDED, "contexts",                                                                      \
	  "lines, loops and instructions are part of what is around them: the profile has "        \
	  "functions",                                                                             \
	  false)                                                                                   \
	X(METRICS, "metrics without values", "the profile has a thread for what has values",       \
	  false)                                                                                   \
	X(NO_NUMBER, "values that are no number", "a weight of a sample is one", false)            \
	X(ATTRIBUTES, "attributes", "a profile has no place for them", false)                      \
	X(BAD_TEXT, "names that are not UTF-8", "U+FFFD stands for what is not", false)

enum firefox_loss {
#define X(name, what, reason, elsewhere) FIREFOX_LOSS_##name,
	FIREFOX_LOSS_LIST(X)
#undef X
		FIREFOX_LOSS_COUNT
};

/* A row of a thread's stackTable. */
struct firefox_stack {
	uint32_t prefix; /* another row, or SONDE_NONE */
	uint32_t frame;	 /* a row of its frameTable, which is one of its funcTable too */
};

/* The tables of a thread. */
struct firefox_tables {
	SONDE_VEC(struct firefox_stack) stacks;
	struct sonde_key_map by_step;	 /* prefix and frame: the row */
	struct sonde_key_map by_context; /* context: the row */
	SONDE_VEC(uint32_t) frames;	 /* by row: the number in exchange_stacks */
	struct sonde_key_map by_frame;
	SONDE_VEC(const char *) strings;
	struct sonde_text_map by_string;
	struct sonde_arena texts;
	SONDE_VEC(uint32_t) path; /* on the way from a context to the root */
};

/* A track that is being written. */
struct firefox_lane {
	struct sonde_buffer text[FIREFOX_COLUMNS];
	struct sonde_buffer packed;
	struct sonde_gzip_packer *packer;
	struct firefox_tables tables;
	struct sonde_call_stack open; /* the mark of a call is its stack */
	bool has_sample;	      /* there is one whose weight is not known yet */
	uint32_t stack;		      /* its stack, or SONDE_NONE */
	uint64_t time_ns;	      /* its time */
	uint64_t last_ns;	      /* the last time there was of anything */
	uint64_t samples, markers;
	struct exchange_values values;
	uint64_t losses[FIREFOX_LOSS_COUNT];
};

struct firefox_writer {
	struct sonde_sink base;
	struct sonde_loss *loss; /* may be NULL */
	struct sonde_new_file file;
	struct sonde_parts *parts;
	bool is_packed;
	struct sonde_gzip_sum *sums; /* by part */
	struct sonde_gzip_sum head_sum;
	const struct sonde_definitions *definitions;
	uint32_t track_count, metric_count; /* at begin */
	uint64_t start_ns;		    /* times are told from here */
	char **pids;			    /* by process */
	uint32_t process_count;		    /* of those */
	struct firefox_lane **lanes;	    /* by track; of those that are being written */
	struct exchange_stacks stacks;
	_Atomic bool *is_metric_used; /* by metric */
	uint64_t losses[FIREFOX_LOSS_COUNT];
};

/* firefox_write_tables.c: rows are made when they are first asked for. */
enum sonde_status firefox_string(struct firefox_tables *tables, const char *text, uint32_t *row,
				 struct sonde_error *err);
/* The stack of a frame (numbered as in exchange_stacks) below another one. */
enum sonde_status firefox_step(struct firefox_tables *tables, uint32_t prefix, uint32_t frame,
			       uint32_t *row, struct sonde_error *err);
/* The stack of a context; SONDE_NONE where it has no frames. */
enum sonde_status firefox_context(struct firefox_tables *tables,
				  const struct exchange_stacks *stacks, uint32_t context,
				  uint32_t *row, struct sonde_error *err);
/* "stackTable":{...},...,"stringArray":[...]} and leaves the tables empty. */
enum sonde_status firefox_write_tables(const struct firefox_writer *writer,
				       struct firefox_lane *lane, struct sonde_buffer *out,
				       struct sonde_error *err);
void firefox_tables_release(struct firefox_tables *tables);

/* firefox_write_meta.c */
enum sonde_status firefox_make_pids(struct firefox_writer *writer, struct sonde_error *err);
/* {"meta":{...},"libs":... up to "threads":[ */
void firefox_write_head(struct firefox_writer *writer, struct sonde_buffer *out);
/* What is around the threads, behind them. */
void firefox_write_tail(struct firefox_writer *writer, struct sonde_buffer *out);
/* A thread up to its samples; a metric's, or that of the times. */
void firefox_write_thread_head(const struct firefox_writer *writer, struct sonde_buffer *out,
			       uint32_t number, const struct sonde_metric *metric);

/* Milliseconds with all their digits: from the start on, or a length of time. */
void firefox_put_time(const struct firefox_writer *writer, struct sonde_buffer *out,
		      uint64_t time_ns);
void firefox_put_length(struct sonde_buffer *out, uint64_t length_ns);

/* firefox_write_values.c: a thread for each metric that a track has values of. */
enum sonde_status firefox_take_values(struct firefox_writer *writer, struct firefox_lane *lane,
				      const struct sonde_value *values, size_t count,
				      struct sonde_error *err);
enum sonde_status firefox_write_values(struct firefox_writer *writer, struct firefox_lane *lane,
				       uint32_t track, struct sonde_error *err);

/* firefox_write.c: hands on what there is of a column, if it is much. */
enum sonde_status firefox_flush(struct firefox_writer *writer, struct firefox_lane *lane,
				uint32_t track, enum firefox_column column, bool always,
				struct sonde_error *err);

#endif
