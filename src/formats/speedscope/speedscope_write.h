/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the writer of speedscope files. A track has three parts in the file, so that its
 * lanes may come in any order: its calls; the stacks of its samples; their weights, and its values.
 */
#ifndef SONDE_SPEEDSCOPE_WRITE_H
#define SONDE_SPEEDSCOPE_WRITE_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "base/json.h"
#include "base/parts.h"
#include "base/vec.h"
#include "formats/exchange_stacks.h"
#include "formats/exchange_values.h"
#include "formats/speedscope/speedscope.h"
#include "model/call_stack.h"

/* Text is handed on when there is so much of it. */
#define SPEEDSCOPE_WRITE_BYTES ((size_t)1 << 18)
/*
 * Frames of a stack of samples and values: all of them stand there each time, so there is an end to
 * it.
 */
#define SPEEDSCOPE_STACK_DEPTH 512

enum { SPEEDSCOPE_PART_EVENTS, SPEEDSCOPE_PART_STACKS, SPEEDSCOPE_PART_WEIGHTS, SPEEDSCOPE_PARTS };

#define SPEEDSCOPE_LOSS_LIST(X)                                                                    \
	X(INSTANT, "events of kind instant", "speedscope holds calls only", false)                 \
	X(MARK, "events of kind mark", "speedscope holds calls only", false)                       \
	X(FLOW_BEGIN, "events of kind flow-begin", "speedscope holds calls only", false)           \
	X(FLOW_STEP, "events of kind flow-step", "speedscope holds calls only", false)             \
	X(FLOW_END, "events of kind flow-end", "speedscope holds calls only", false)               \
	X(COUNTER, "events of kind counter", "speedscope holds calls only", false)                 \
	X(RANGE_BEGIN, "events of kind range-begin", "speedscope holds calls only", false)         \
	X(RANGE_END, "events of kind range-end", "speedscope holds calls only", false)             \
	X(OTHER, "events of kind other", "their meaning is known to the source's format only",     \
	  false)                                                                                   \
	X(LONE_RETURN, "returns without a call", "speedscope opens what it closes", false)         \
	X(WENT_BACK, "times that go back", "speedscope has times in order: the time before stays", \
	  false)                                                                                   \
	X(SYNTHETIC, "marks of synthetic events", "an event of speedscope has none", false)        \
	X(FOLDED, "contexts",                                                                      \
	  "lines, loops and instructions are part of what is around them: speedscope "             \
	  "holds functions",                                                                       \
	  false)                                                                                   \
	X(DEEP, "contexts",                                                                        \
	  "they lie deeper than stacks are written: what they have belongs to the last one that "  \
	  "is",                                                                                    \
	  false)                                                                                   \
	X(NEGATIVE, "values that are negative or no number", "a weight of speedscope is neither",  \
	  false)                                                                                   \
	X(METRICS, "metrics without values", "speedscope has a profile for what has values",       \
	  false)                                                                                   \
	X(ATTRIBUTES, "attributes", "speedscope has no place for them", false)                     \
	X(BAD_TEXT, "names that are not UTF-8", "U+FFFD stands for what is not", false)            \
	X(EXCEPTION, "exceptions", "other readers see that the call ended", true)                  \
	X(CLOSED, "calls that never ended",                                                        \
	  "they end with the last event of their track, which is no call and not held", false)     \
	X(OPEN, "calls that never ended",                                                          \
	  "other readers see one where the call around it, or "                                    \
	  "the track, ends",                                                                       \
	  true)                                                                                    \
	X(LONG, "times more than 2^53 ns after the start", "other readers round them", true)

enum speedscope_loss {
#define X(name, what, reason, elsewhere) SPEEDSCOPE_LOSS_##name,
	SPEEDSCOPE_LOSS_LIST(X)
#undef X
		SPEEDSCOPE_LOSS_COUNT
};

/* A track that is being written. */
struct speedscope_lane {
	struct sonde_buffer text[SPEEDSCOPE_PARTS];
	/* calls */
	bool has_events;
	uint64_t first_ns, last_ns;
	uint64_t told_ns; /* of the last event that was written */
	struct sonde_call_stack open;
	/* samples */
	bool has_samples, has_before;
	bool has_end; /* what was written last had frames, and a weight: they end with it */
	struct sonde_sample before; /* the last one, whose weight the next one tells */
	uint64_t first_sample_ns;
	struct exchange_values values;
	uint64_t losses[SPEEDSCOPE_LOSS_COUNT];
};

struct speedscope_writer {
	struct sonde_sink base;
	struct sonde_loss *loss; /* may be NULL */
	struct sonde_new_file file;
	struct sonde_parts *parts;
	char *name; /* of the file */
	const struct sonde_definitions *definitions;
	uint32_t track_count, metric_count; /* at begin */
	_Atomic bool *is_metric_used;	    /* by metric */
	uint64_t start_ns;		    /* all times are told from here */
	struct speedscope_lane **lanes;	    /* by track; of those that are being written */
	struct exchange_stacks stacks;
	uint64_t losses[SPEEDSCOPE_LOSS_COUNT]; /* of what is written by one thread */
};

/* Everything before the first profile, and everything behind the last one. */
void speedscope_write_head(struct speedscope_writer *writer, struct sonde_buffer *out);
void speedscope_write_frames(struct speedscope_writer *writer, struct sonde_buffer *out);

/*
 * ,{"type":"evented","name":...,"unit":...,"sonde":{...} of a track, by the number of a metric;
 * SONDE_NONE: of its times.
 */
void speedscope_write_profile_head(const struct speedscope_writer *writer, struct sonde_buffer *out,
				   const char *type, uint32_t track, uint32_t number);

/* Hands on what there is of a part, if it is much. */
enum sonde_status speedscope_flush(struct speedscope_writer *writer, struct speedscope_lane *lane,
				   uint32_t track, unsigned int part, bool always,
				   struct sonde_error *err);

/* A time as it is written: from the start on, with a sign where it is before that. */
void speedscope_put_time(const struct speedscope_writer *writer, struct sonde_buffer *out,
			 uint64_t time_ns);

/* speedscope_write_stacks.c: samples and values of a track. */
enum sonde_status speedscope_write_samples(struct speedscope_writer *writer,
					   struct speedscope_lane *lane, uint32_t track,
					   const struct sonde_sample *samples, size_t count,
					   struct sonde_error *err);
enum sonde_status speedscope_write_values(struct speedscope_writer *writer,
					  struct speedscope_lane *lane,
					  const struct sonde_value *values, size_t count,
					  struct sonde_error *err);
enum sonde_status speedscope_write_stacks_end(struct speedscope_writer *writer,
					      struct speedscope_lane *lane, uint32_t track,
					      struct sonde_error *err);

#endif
