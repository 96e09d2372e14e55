/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the reader of Perfetto traces. perfetto_read.c goes over the packets twice: first for who
 * there is and in which time (perfetto_read_tracks.c, perfetto_read_clocks.c), as that may come late in a
 * file; then for what happened (perfetto_read_events.c, perfetto_read_arguments.c,
 * perfetto_read_samples.c), with what sequences have interned (perfetto_read_state.c).
 */
#ifndef SONDE_PERFETTO_READ_H
#define SONDE_PERFETTO_READ_H

#include <sonde/arguments.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"
#include "base/protobuf.h"
#include "base/vec.h"
#include "formats/exchange.h"
#include "formats/perfetto/perfetto_layout.h"

/* Kinds of packets and of events that are counted rather than read. */
#define PERFETTO_KINDS 256

/* What can be interned, and what the number stands for that an iid leads to. */
enum perfetto_interned {
	PERFETTO_CATEGORIES,	     /* string */
	PERFETTO_NAMES,		     /* struct perfetto_name */
	PERFETTO_ANNOTATION_NAMES,   /* struct perfetto_annotation_name */
	PERFETTO_LOCATIONS,	     /* struct perfetto_location */
	PERFETTO_FUNCTION_NAMES,     /* string */
	PERFETTO_FRAMES,	     /* struct perfetto_frame */
	PERFETTO_CALLSTACKS,	     /* struct perfetto_stack */
	PERFETTO_MAPPING_PATHS,	     /* string */
	PERFETTO_SOURCE_PATHS,	     /* string */
	PERFETTO_MAPPINGS,	     /* string: a path */
	PERFETTO_ANNOTATION_STRINGS, /* string */
	PERFETTO_INTERNED_COUNT
};

/* A name of events; all but what is found out is what tells two of them apart. */
struct perfetto_name {
	struct {
		uint64_t address;
		uint32_t name, file, line, module, raw, padding; /* strings but for the line */
	} key;
	uint32_t process, function; /* the function that this was last in a process */
};

struct perfetto_annotation_name {
	uint32_t name; /* such that it can be in a signature */
	bool has_type; /* sonde wrote it */
	bool is_array;
	enum sonde_argument_type type;
};

struct perfetto_location {
	uint32_t file, line;
};

struct perfetto_frame {
	uint64_t address;
	uint32_t function, module, file, line; /* strings but for the line */
	uint32_t function_file, function_line;
	uint32_t entry; /* its kind plus one */
	uint32_t flags;
};

enum {
	PERFETTO_FRAME_HAS_NAME = 1,
	PERFETTO_FRAME_HAS_ADDRESS = 2,
	PERFETTO_FRAME_INLINED = 4,
	PERFETTO_FRAME_WHOLE = 8
};

/* A stack is one more frame in another; 0 has none. */
struct perfetto_stack {
	uint32_t parent, frame;
	uint32_t process, node; /* what this was last in a process */
};

struct perfetto_sequence_clock {
	uint64_t last_ns;    /* of one that counts from packet to packet */
	uint64_t multiplier; /* 0: not known yet */
	uint64_t shift_ns;   /* to the clock of the trace, modulo 2^64 */
	bool is_incremental;
};

/* A packet sequence: what one writer of the trace has said so far. */
struct perfetto_sequence {
	struct sonde_key_map interned[PERFETTO_INTERNED_COUNT];
	bool is_valid;			       /* nothing was dropped since the state was cleared */
	uint32_t generation;		       /* how often that was */
	uint32_t clock;			       /* by default; 0: that of the trace */
	uint64_t track;			       /* by default */
	SONDE_VEC(uint64_t) counters, doubles; /* tracks of extra values by default */
	bool has_thread;		       /* pid, tid and time of the old descriptors */
	uint32_t pid;
	uint64_t tid;
	uint64_t time_us;			/* modulo 2^64 */
	struct perfetto_sequence_clock *clocks; /* NULL, or all from 64 to 127 */
};

/* A track of Perfetto, by its uuid. */
struct perfetto_place {
	uint64_t uuid, parent;
	uint32_t name; /* string */
	bool is_known; /* there is a descriptor */
	bool is_process, is_thread, is_counter;
	uint32_t pid;
	uint64_t tid;
	/* counters */
	int64_t multiplier;
	bool is_incremental;
	double value;
	uint32_t sequence, generation; /* of that value */
	uint32_t event_type;
	/* where it is in the recording; SONDE_NONE: not asked yet */
	uint32_t process, track;
};

struct perfetto_moment {
	uint32_t snapshot, clock;
	uint64_t time_ns;
};

/* The same moment on a clock and on that of the trace. */
struct perfetto_pair {
	uint32_t clock;
	uint64_t clock_ns, trace_ns;
};

struct perfetto_packet {
	uint64_t offset;
	uint64_t timestamp;
	bool has_timestamp, is_cleared, is_dropped, needs_state;
	uint32_t clock, sequence;
	uint32_t kind; /* the field that it is about; 0: none */
	struct sonde_bytes content, interned, defaults;
};

struct perfetto_reader {
	struct sonde_recording *recording;
	struct sonde_intake *intake;
	bool is_ours;
	uint32_t process_count, track_count;
	struct sonde_mapped_file file;
	struct sonde_buffer unpacked; /* of packets that are packed */
	/* by uuid */
	struct sonde_key_map place_numbers;
	SONDE_VEC(struct perfetto_place) places;
	/* names that process trees have */
	struct sonde_key_map process_names, thread_names;
	/* clocks */
	SONDE_VEC(struct perfetto_moment) moments;
	SONDE_VEC(struct perfetto_pair) pairs;
	uint32_t snapshot_count;
	uint32_t trace_clock; /* 0: nothing says */
	uint64_t loose;	      /* times on clocks that nothing ties to that of the trace */
	/* sequences */
	struct sonde_key_map sequence_numbers;
	SONDE_VEC(struct perfetto_sequence *) sequences;
	/* what is interned, once for all sequences */
	struct sonde_arena keys;
	struct sonde_text_map name_numbers, frame_numbers;
	struct sonde_key_map annotation_numbers, location_numbers;
	SONDE_VEC(struct perfetto_name) names;
	SONDE_VEC(struct perfetto_annotation_name) annotation_names;
	SONDE_VEC(struct perfetto_location) locations;
	SONDE_VEC(struct perfetto_frame) frames;
	struct sonde_key_map stack_numbers;
	SONDE_VEC(struct perfetto_stack) stacks;
	struct sonde_key_map modules; /* process and path -> module */
	SONDE_VEC(uint32_t) path;
	uint32_t metric;      /* samples; SONDE_NONE: not defined yet */
	uint32_t last_number; /* of flows and ranges */
	/* arguments of an event */
	struct sonde_buffer signature, arguments, text;
	/* counts for findings */
	uint64_t stateless, unresolved, timeless;
	uint64_t unknown_packets[PERFETTO_KINDS], unknown_phases[PERFETTO_KINDS];
	uint64_t damaged;
	uint64_t first_damaged;
};

/* Where a field is not of the type that it should be, it is as if it were not there. */
static inline bool perfetto_is_bytes(const struct sonde_protobuf_field *field)
{
	return field->type == SONDE_PROTOBUF_BYTES;
}

static inline bool perfetto_is_number(const struct sonde_protobuf_field *field)
{
	return field->type != SONDE_PROTOBUF_BYTES;
}

static inline const char *perfetto_text(const struct sonde_protobuf_field *field)
{
	return (const char *)field->bytes.data;
}

static inline double perfetto_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Numbers of a repeated field, packed or one by one: false after the last. Start with *position 0. */
bool perfetto_next_number(const struct sonde_protobuf_field *field, size_t *position,
			  bool is_fixed64, uint64_t *number);

/* perfetto_read_tracks.c */
enum sonde_status perfetto_take_track(struct perfetto_reader *reader, struct sonde_bytes bytes,
				      struct sonde_error *err);
enum sonde_status perfetto_take_process(struct perfetto_reader *reader, struct sonde_bytes bytes,
					struct sonde_error *err);
enum sonde_status perfetto_take_thread(struct perfetto_reader *reader,
				       struct perfetto_sequence *sequence, struct sonde_bytes bytes,
				       struct sonde_error *err);
enum sonde_status perfetto_take_tree(struct perfetto_reader *reader, struct sonde_bytes bytes,
				     struct sonde_error *err);
enum sonde_status perfetto_take_system(struct perfetto_reader *reader, struct sonde_bytes bytes,
				       struct sonde_error *err);
/* The track of a uuid, made where there is none. The number holds, pointers until the next one is made. */
enum sonde_status perfetto_find_place(struct perfetto_reader *reader, uint64_t uuid,
				      uint32_t *place, struct sonde_error *err);
/* Its process and track in the recording. */
enum sonde_status perfetto_locate(struct perfetto_reader *reader, uint32_t number,
				  struct sonde_error *err);
enum sonde_status perfetto_thread(struct perfetto_reader *reader, uint32_t pid, uint64_t tid,
				  uint32_t *process, uint32_t *track, struct sonde_error *err);
/* What is known in the end only: names from process trees, clocks. */
enum sonde_status perfetto_name_all(struct perfetto_reader *reader, struct sonde_error *err);

/* perfetto_read_clocks.c */
enum sonde_status perfetto_take_snapshot(struct perfetto_reader *reader, struct sonde_bytes bytes,
					 struct sonde_error *err);
/* After all snapshots were taken. */
enum sonde_status perfetto_tie_clocks(struct perfetto_reader *reader, struct sonde_error *err);
/* The clocks that only a sequence knows, from a snapshot in it. */
enum sonde_status perfetto_set_clocks(struct perfetto_reader *reader,
				      struct perfetto_sequence *sequence, struct sonde_bytes bytes,
				      struct sonde_error *err);
uint64_t perfetto_time(struct perfetto_reader *reader, struct perfetto_sequence *sequence,
		       uint32_t clock, uint64_t timestamp);

/* perfetto_read_state.c */
enum sonde_status perfetto_find_sequence(struct perfetto_reader *reader, uint32_t id,
					 struct perfetto_sequence **sequence,
					 struct sonde_error *err);
void perfetto_clear_sequence(struct perfetto_sequence *sequence);
enum sonde_status perfetto_take_defaults(struct perfetto_sequence *sequence,
					 struct sonde_bytes bytes, struct sonde_error *err);
enum sonde_status perfetto_take_interned(struct perfetto_reader *reader,
					 struct perfetto_sequence *sequence,
					 struct sonde_bytes bytes, struct sonde_error *err);
/* The number that an iid stands for; SONDE_NONE where nothing does, which is counted. */
uint32_t perfetto_resolve(struct perfetto_reader *reader, const struct perfetto_sequence *sequence,
			  enum perfetto_interned kind, uint64_t iid);
enum sonde_status perfetto_add_name(struct perfetto_reader *reader,
				    const struct perfetto_name *name, uint32_t *number,
				    struct sonde_error *err);
enum sonde_status perfetto_add_module(struct perfetto_reader *reader, uint32_t process,
				      uint32_t path, uint32_t *module, struct sonde_error *err);
enum sonde_status perfetto_read_location(struct perfetto_reader *reader, struct sonde_bytes bytes,
					 struct perfetto_location *location,
					 struct sonde_error *err);
/* A name such that it can be in a signature. */
enum sonde_status perfetto_argument_name(struct perfetto_reader *reader, const char *text,
					 size_t length, uint32_t *string, struct sonde_error *err);
void perfetto_release_state(struct perfetto_reader *reader);

/* perfetto_read_events.c */
enum sonde_status perfetto_take_event(struct perfetto_reader *reader,
				      struct perfetto_sequence *sequence,
				      const struct perfetto_packet *packet,
				      struct sonde_error *err);

/* perfetto_read_arguments.c: adds one to reader->signature and ->arguments. */
enum sonde_status perfetto_take_annotation(struct perfetto_reader *reader,
					   const struct perfetto_sequence *sequence,
					   struct sonde_bytes bytes, struct sonde_error *err);
/* The first number in an annotation; false where there is none. */
bool perfetto_annotation_number(struct sonde_bytes bytes, double *value);

/* perfetto_read_samples.c */
enum sonde_status perfetto_take_sample(struct perfetto_reader *reader,
				       struct perfetto_sequence *sequence,
				       const struct perfetto_packet *packet, uint64_t time_ns,
				       struct sonde_error *err);
enum sonde_status perfetto_take_streaming(struct perfetto_reader *reader,
					  struct perfetto_sequence *sequence,
					  const struct perfetto_packet *packet,
					  struct sonde_error *err);
/* A stack with one more frame. */
enum sonde_status perfetto_add_stack(struct perfetto_reader *reader, uint32_t parent,
				     uint32_t frame, uint32_t *stack, struct sonde_error *err);
enum sonde_status perfetto_add_frame(struct perfetto_reader *reader,
				     const struct perfetto_frame *frame, uint32_t *number,
				     struct sonde_error *err);

#endif
