/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the writer of wtf-trace files. Events of one track at a time fill a chunk; the
 * types they need go to a chunk of definitions that is written before it, so that with the index at
 * the end of the file any chunk of events can be read alone. What the file carries for our
 * own reader (definitions, index, markers) is described in doc/formats/cff.md.
 */
#ifndef SONDE_CFF_WRITE_H
#define SONDE_CFF_WRITE_H

#include <sonde/arguments.h>
#include <sonde/pipeline.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"
#include "formats/cff/cff_layout.h"

/* Limits of a chunk; one event may go beyond. */
#define CFF_WRITE_BYTES ((size_t)1 << 20)
#define CFF_WRITE_EVENTS ((size_t)1 << 16)
/* Raw events that one event of the model may need beside definitions: markers and itself. */
#define CFF_WRITE_RAW 4

/*
 * Functions that get a type of their own: existing readers have room for 65,536 names, also those
 * of marks. Calls of the others name them in an argument.
 */
#define CFF_WRITE_FUNCTION_TYPES 60000u

/* Wire ids of types that every event may need; the last three are defined when they are used. */
enum {
	CFF_WRITE_ZONE_CREATE = 2,
	CFF_WRITE_ZONE_SET,
	CFF_WRITE_LEAVE,
	CFF_WRITE_EXCEPTION,
	CFF_WRITE_EXACT,
	CFF_WRITE_CALL,
};

/* Wire ids from 1 to this are given out before they are used a second time. */
#define CFF_WRITE_WIRES 65000u
#define CFF_WRITE_ZONES 65535u

/* A stack deeper than this at the start of a chunk: the file gets no index. */
#define CFF_WRITE_STACK 4096u

/* A chunk while it is filled. */
struct cff_chunk_writer {
	uint8_t *bytes; /* of the events */
	size_t used, capacity;
	uint16_t *times; /* nanoseconds beyond the microseconds, of each event */
	size_t count, times_capacity;
	uint32_t any_ns;     /* some of them is not 0 */
	uint64_t epoch;	     /* all times are this many times 2^32 us and something */
	uint32_t start, end; /* times of the first and the last event */
	struct sonde_arena texts;
	struct sonde_text_map ordinals; /* into `table` */
	struct sonde_buffer table;
	uint32_t text_count;
};

/* A resource that goes into a chunk. */
struct cff_resource {
	uint32_t type; /* CFF_PART_* */
	const void *bytes;
	size_t size;
};

/* A type of event as it was, or will be, defined in the file. */
struct cff_written_type {
	const char *name;      /* each once */
	const char *arguments; /* split; "" for none */
	uint32_t flags;
	enum cff_event_class class;
	enum cff_builtin builtin;
	uint32_t wire;	     /* 0: none at present */
	uint32_t function;   /* what it stands for; SONDE_NONE */
	uint32_t event_type; /* likewise */
	uint32_t namesakes;  /* types that wanted the same name */
	bool is_ours;	     /* a marker */
};

/* What is known of an event type of the source. */
struct cff_event_plan {
	bool is_known;
	bool is_wide;	  /* has arguments of 64 bits */
	uint32_t type;	  /* number of its written type; SONDE_NONE: not yet */
	uint32_t counter; /* likewise, as a counter */
	struct sonde_signature *signature;
};

struct cff_type_writer {
	SONDE_VEC(struct cff_written_type) all; /* builtins first, by enum cff_builtin */
	struct sonde_text_map names;		/* written name -> number in `all` */
	struct sonde_arena texts;
	SONDE_VEC(uint32_t) function_wires; /* by function; 0: see function_types */
	SONDE_VEC(uint32_t) function_types; /* by function; number in `all`, or SONDE_NONE */
	SONDE_VEC(struct cff_event_plan) plans;
	SONDE_VEC(uint32_t) owners; /* by wire id: number in `all` */
	uint32_t next_wire;
	bool is_recycling; /* wire ids are given out again: definitions stand among the events */
	struct sonde_key_map first_functions; /* name (string id) -> first function of it */
	uint32_t first_functions_count;	      /* functions looked at for that */
	struct sonde_buffer scratch;
};

struct cff_open_call {
	uint32_t function;
	uint32_t depth;
};

struct cff_track_writer {
	SONDE_VEC(struct cff_open_call) open;
	uint64_t events, details;
	uint64_t first_ns, last_ns;
	uint64_t synthetic_head, synthetic_tail;
};

/* What a zone is identified by; NULL stands for null. */
struct cff_zone_name {
	const char *name, *type, *location;
};

/* One chunk of events in the index. */
struct cff_index_entry {
	uint64_t offset;
	uint64_t first_index;
	uint64_t first_ns, last_ns;
	uint32_t track;
	uint32_t events;
	uint32_t stack_first, stack_count;
};

/* What is counted while events are written. X(name, what, reason, only elsewhere) */
#define CFF_LOSS_LIST(X)                                                                           \
	X(OTHER, "events of kind other", "their meaning is known to the source's format only",     \
	  false)                                                                                   \
	X(REGISTERS, "details: registers and stack bytes",                                         \
	  "a wtf-trace file holds typed arguments only", false)                                    \
	X(ARGUMENTS, "details: arguments",                                                         \
	  "they are not those of the call's scope or of the event's type", false)                  \
	X(UNREAD, "details", "the source links to details it does not have, or that are damaged",  \
	  false)                                                                                   \
	X(MADE_UP, "arguments that are missing",                                                   \
	  "an event has all arguments of its type: zeros and nulls stand for them", false)         \
	X(NULS, "texts with a NUL inside", "U+FFFD stands for it", false)                          \
	X(EMPTY_ANY, "empty values of type any", "they are no JSON, and null stands for them",     \
	  false)                                                                                   \
	X(BAD_TEXT, "names that are not UTF-8", "U+FFFD stands for what is not", false)            \
	X(SYNTHETIC, "marks of synthetic events",                                                  \
	  "there is room for those at the start and the end of a track", false)                    \
	X(NANOSECONDS, "nanoseconds of times", "other readers see microseconds", true)             \
	X(LATE, "events past 71 min 35 s", "other readers have times of 32 bits, which wrap",      \
	  true)                                                                                    \
	X(WIDE, "arguments of 64 bits", "other readers see them split in words of 32 bits", true)  \
	X(NAMES, "names that are changed",                                                         \
	  "other readers need them distinct, and refuse words of JavaScript", true)                \
	X(FUNCTIONS, "functions beyond the first 60,000",                                          \
	  "other readers have no room for their names, and see them as an argument", true)         \
	X(KINDS, "flows, marks and ranges with arguments of their own",                            \
	  "other readers see events with these arguments", true)

enum cff_loss {
#define X(name, what, reason, elsewhere) CFF_LOSS_##name,
	CFF_LOSS_LIST(X)
#undef X
		CFF_LOSS_COUNT
};

struct cff_writer {
	struct sonde_sink base;
	struct sonde_loss *loss; /* may be NULL */
	struct sonde_staged staged;
	struct sonde_staged bytes; /* cff-json: where the binary form is made */
	bool is_json;
	unsigned int style; /* enum cff_json_style */
	struct sonde_output output;
	const struct sonde_definitions *definitions;
	uint64_t origin_ns;
	uint32_t next_chunk; /* id */
	struct cff_chunk_writer defining, filling;
	uint32_t filled_track; /* whose events are in `filling`; SONDE_NONE: it is empty */
	struct cff_index_entry entry;
	struct cff_type_writer types;
	struct cff_track_writer *tracks;
	struct cff_zone_name *zones; /* by track */
	struct sonde_arena zone_texts;
	uint32_t track_count;
	bool has_no_index;
	SONDE_VEC(struct cff_index_entry) index;
	SONDE_VEC(uint64_t) definition_chunks;
	SONDE_VEC(struct cff_open_call) stacks;
	SONDE_VEC(uint32_t) blob_names;
	bool has_blob_names;
	struct sonde_buffer values; /* encoded arguments of an event */
	uint64_t losses[CFF_LOSS_COUNT];
	bool is_whole; /* the output has all it needs */
};

/* cff_write_chunk.c */

void cff_chunk_writer_release(struct cff_chunk_writer *chunk);

/* Room for so many events of so many bytes together; false where memory failed. */
bool cff_chunk_reserve(struct cff_chunk_writer *chunk, size_t events, size_t bytes);

/* The ordinal of a text of the chunk; sets table.failed where memory failed. */
uint32_t cff_chunk_text(struct cff_chunk_writer *chunk, const char *text, size_t length);

/* An event of `size` bytes of arguments, where there is room for it. */
void cff_chunk_put(struct cff_chunk_writer *chunk, uint32_t wire, uint64_t time, const void *values,
		   size_t size);

/* Full, as far as chunks are: the next event belongs into another one. */
bool cff_chunk_is_full(const struct cff_chunk_writer *chunk);

/* Writes the chunk with these resources besides (and the times, where needed), and empties it. */
enum sonde_status cff_chunk_write(struct cff_writer *writer, struct cff_chunk_writer *chunk,
				  const struct cff_resource *resources, size_t count,
				  struct sonde_error *err);

/* The head of the file, and a chunk with one part: the header. */
enum sonde_status cff_chunk_write_header(struct cff_writer *writer, const char *json, size_t size,
					 struct sonde_error *err);

/* cff_write_types.c */

enum sonde_status cff_type_writer_init(struct cff_writer *writer, struct sonde_error *err);
void cff_type_writer_release(struct cff_type_writer *types);

/* One of the types above is going to be used. */
enum sonde_status cff_write_permanent(struct cff_writer *writer, uint32_t wire,
				      struct sonde_error *err);

/* The wire id of a type by its number; builtins have those of enum cff_builtin. */
enum sonde_status cff_write_type(struct cff_writer *writer, uint32_t number, uint32_t *wire,
				 struct sonde_error *err);

/* The wire id of a scope that stands for a function, or CFF_WRITE_CALL. */
enum sonde_status cff_write_function(struct cff_writer *writer, uint32_t function, uint32_t *wire,
				     struct sonde_error *err);

/* What there is to know of an event type; `type` may still be missing. Borrowed until the next. */
enum sonde_status cff_write_plan(struct cff_writer *writer, uint32_t event_type,
				 struct cff_event_plan **plan, struct sonde_error *err);

/* The written type of an event type, or of the counter that it is; it has a wire id. */
enum sonde_status cff_write_event_type(struct cff_writer *writer, uint32_t event_type,
				       bool is_counter, struct cff_written_type **type,
				       struct sonde_error *err);

/* The first function of a name; SONDE_NONE: there is none, or memory failed. */
uint32_t cff_write_first_function(struct cff_writer *writer, uint32_t name);

/* cff_write_events.c */

/* One event that is more than a plain call or return. */
enum sonde_status cff_write_event(struct cff_writer *writer, struct cff_track_writer *track,
				  const struct sonde_batch *batch, const struct sonde_event *event,
				  struct sonde_error *err);

/* cff_write.c */

/* What is in the chunk of definitions goes to the file. */
enum sonde_status cff_writer_flush_definitions(struct cff_writer *writer, struct sonde_error *err);

/* The same and the chunk of events behind it. */
enum sonde_status cff_writer_flush(struct cff_writer *writer, struct sonde_error *err);

/* Room for one event of this time in a chunk of this track; a new chunk where it needs one. */
enum sonde_status cff_writer_prepare(struct cff_writer *writer, uint32_t track, uint64_t time_ns,
				     struct sonde_error *err);

static inline uint64_t cff_writer_time(const struct cff_writer *writer, uint64_t time_ns)
{
	return time_ns - writer->origin_ns;
}

/* cff_write_header.c */

/* Chooses origin_ns, and writes the head of the file. */
enum sonde_status cff_write_header(struct cff_writer *writer, struct sonde_error *err);

/* cff_write_zones.c */

static inline uint32_t cff_zone_id(uint32_t track)
{
	return track % CFF_WRITE_ZONES + 1;
}

/* wtf.zone#create of a track. */
enum sonde_status cff_write_zone(struct cff_writer *writer, struct cff_chunk_writer *chunk,
				 uint32_t track, uint64_t time, struct sonde_error *err);

/* Defines the zones of all tracks. */
enum sonde_status cff_write_zones(struct cff_writer *writer, struct sonde_error *err);

/* cff_write_definitions.c */

/* Writes the last chunk: definitions and index. */
enum sonde_status cff_write_last_chunk(struct cff_writer *writer, struct sonde_error *err);

/* cff_write_whole.c */

enum sonde_status cff_writer_whole(struct sonde_sink *sink, struct sonde_recording *source,
				   struct sonde_run_result *result, struct sonde_error *err);
/* The binary form that is complete in writer->bytes.work becomes JSON in writer->staged.work. */
enum sonde_status cff_writer_make_json(struct cff_writer *writer, struct sonde_error *err);

#endif
