/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the writer of Perfetto traces: perfetto_write.c is the sink and writes who there is,
 * perfetto_write_events.c events, perfetto_write_arguments.c their arguments, perfetto_write_samples.c
 * samples with their stacks.
 */
#ifndef SONDE_PERFETTO_WRITE_H
#define SONDE_PERFETTO_WRITE_H

#include <stdatomic.h>

#include <sonde/pipeline.h>

#include "base/parts.h"
#include "base/protobuf.h"
#include "base/sort.h"
#include "base/vec.h"
#include "formats/perfetto/perfetto_layout.h"

#define PERFETTO_UNCALLED "nothing is recorded of these functions: a name comes with its first use"

/* X(name, what, reason, only elsewhere) */
#define PERFETTO_LOSS_LIST(X)                                                                      \
	X(RETURNS, "returns without calls", "a slice begins before it ends", false)                \
	X(MISSING, "calls that never ended", "they end with the call around them: slices nest",    \
	  false)                                                                                   \
	X(SYNTHETIC, "marks of events that a cut made", "slices do not tell", false)               \
	X(OTHER, "events of kind other", "their meaning is known to the source's format only",     \
	  false)                                                                                   \
	X(REGISTERS, "details: registers and stack bytes", "they are no arguments of a slice",     \
	  false)                                                                                   \
	X(OPAQUE, "details of types that are not known", "annotations are typed", false)           \
	X(SURPLUS, "arguments", "they do not fit their signature", false)                          \
	X(TYPES, "types of arguments",                                                             \
	  "annotations have integers, doubles, text and truth; what they were is kept beside",     \
	  true)                                                                                    \
	X(DEPTH, "outer frames of deep stacks", "stacks are written to a depth of 2048", false)    \
	X(LOOPS, "contexts",                                                                       \
	  "loops and instructions are part of a frame: those of a stack are functions, with a "    \
	  "line and an address each",                                                              \
	  false)                                                                                   \
	X(UNSAMPLED, "contexts", "no sample is in them: stacks are those of samples", false)       \
	X(UNCALLED, "functions", PERFETTO_UNCALLED, false)                                         \
	X(UNCALLED_MODULES, "modules of functions", PERFETTO_UNCALLED, false)                      \
	X(UNCALLED_PLACES, "source places of functions", PERFETTO_UNCALLED, false)                 \
	X(UNCALLED_RAW_NAMES, "names before demangling", PERFETTO_UNCALLED, false)

enum perfetto_loss {
#define X(name, what, reason, elsewhere) PERFETTO_LOSS_##name,
	PERFETTO_LOSS_LIST(X)
#undef X
		PERFETTO_LOSS_COUNT
};

/* A set of numbers. */
struct perfetto_bits {
	SONDE_VEC(uint64_t) words;
};

static inline bool perfetto_bits_has(const struct perfetto_bits *bits, uint64_t number)
{
	return number / 64 < bits->words.count && bits->words.items[number / 64] >> number % 64 & 1;
}

/* False where it is there already, or (see `failed`) memory is not. */
bool perfetto_bits_add(struct perfetto_bits *bits, uint64_t number, bool *failed);

struct perfetto_type;

/* A track while it is written: from its first event or sample to its end. */
struct perfetto_track {
	struct sonde_buffer out;
	struct sonde_buffer interned; /* InternedData that goes before the next event */
	struct sonde_buffer extra;    /* what else an event has */
	bool failed;		      /* memory, beside that of the buffers */
	char prefix[16];	      /* its sequence and flags, which every packet has */
	size_t prefix_size;
	uint32_t pid;
	uint64_t tid;
	SONDE_VEC(uint32_t) open; /* functions of open calls, outermost first */
	/* What is interned: names of functions (even) and event types (odd), and so on. */
	struct perfetto_bits names, categories, locations, counters;
	struct perfetto_bits callstacks, frames, functions, modules, sources;
	SONDE_VEC(struct perfetto_type *) types; /* by event type; NULL: not met yet */
	uint64_t next_annotation;
	SONDE_VEC(uint32_t) path; /* of a stack */
	uint64_t losses[PERFETTO_LOSS_COUNT];
};

/* How the times of a process are told. */
struct perfetto_clock {
	uint32_t number;   /* 0: the trace's own */
	bool in_sequence;  /* tied to the wall clock in each sequence */
	uint64_t clock_ns; /* the anchor for that */
	uint64_t realtime_ns;
};

struct perfetto_writer {
	struct sonde_sink base;
	struct sonde_loss *loss;
	bool has_locations; /* with every call */
	const struct sonde_definitions *definitions;
	uint32_t process_count, track_count;
	uint32_t *pids;			    /* by process */
	uint64_t *tids;			    /* by track */
	struct perfetto_clock *clocks;	    /* by process */
	struct sonde_sort_item *attributes; /* by owner */
	size_t attribute_count;
	struct perfetto_track **tracks; /* NULL: not being written */
	const struct sonde_context *contexts;
	uint32_t context_count;
	_Atomic bool *has_sample; /* by context: something in it has */
	uint32_t function_count;  /* at begin: those that come later come with events */
	_Atomic bool *is_used;	  /* by function */
	uint32_t *called; /* by context: the one that it lies in and that was called, or itself */
	struct sonde_new_file file;
	struct sonde_parts *parts;
};

/* Tells that something of a function is in the file. */
static inline void perfetto_use_function(const struct perfetto_writer *writer, uint32_t function)
{
	if (function < writer->function_count)
		atomic_store_explicit(&writer->is_used[function], true, memory_order_relaxed);
}

/* Uuids: processes, then tracks; those of counters and ranges have more bits. */
static inline uint64_t perfetto_process_uuid(uint32_t process)
{
	return (uint64_t)process + 1;
}

static inline uint64_t perfetto_track_uuid(const struct perfetto_writer *writer, uint32_t track)
{
	return (uint64_t)writer->process_count + track + 1;
}

/* A packet of the track's sequence; what is put between begin and end is in it. */
size_t perfetto_packet_begin(struct perfetto_track *track);
/* What was interned goes out before whatever comes next. */
void perfetto_put_interned(struct perfetto_track *track);
/* An entry of InternedData with a text. */
void perfetto_intern_text(struct perfetto_track *track, uint32_t field, uint64_t iid,
			  const char *text);
/* Hands over what was gathered, where that is enough or `all`. */
enum sonde_status perfetto_flush(struct perfetto_writer *writer, uint32_t number, bool all,
				 struct sonde_error *err);

/* perfetto_write_head.c: who there is. */
enum sonde_status perfetto_number_all(struct perfetto_writer *writer, struct sonde_error *err);
enum sonde_status perfetto_write_head(struct perfetto_writer *writer, struct sonde_error *err);
void perfetto_put_track(const struct perfetto_writer *writer, uint32_t number,
			struct perfetto_track *track);

/* perfetto_write_events.c */
enum sonde_status perfetto_write_events(struct perfetto_writer *writer, uint32_t number,
					const struct sonde_batch *batch, struct sonde_error *err);

/* perfetto_write_arguments.c: annotations go to `extra`, and what they need to `interned`. */
enum sonde_status perfetto_put_arguments(const struct perfetto_writer *writer,
					 struct perfetto_track *track,
					 const struct sonde_detail *detail,
					 struct sonde_error *err);
void perfetto_types_release(struct perfetto_track *track);

/* perfetto_write_samples.c */
enum sonde_status perfetto_take_contexts(struct perfetto_writer *writer,
					 const struct sonde_context *contexts, uint32_t count,
					 struct sonde_error *err);
/* What of the contexts is in no stack. */
void perfetto_count_contexts(const struct perfetto_writer *writer, uint64_t *losses);
enum sonde_status perfetto_write_samples(struct perfetto_writer *writer, uint32_t number,
					 const struct sonde_sample *samples, size_t count,
					 struct sonde_error *err);

#endif
