/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the writer of Chrome trace JSON. A lane is what one thread needs to write one track after the
 * other: the text so far, and the names of functions ready to be copied. Lanes are kept for the next track.
 */
#ifndef SONDE_CHROME_WRITE_H
#define SONDE_CHROME_WRITE_H

#include <pthread.h>
#include <stdatomic.h>

#include <sonde/arguments.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/map.h"
#include "base/parts.h"
#include "base/vec.h"
#include "codec/gzip.h"
#include "formats/chrome/chrome.h"

/* Text is handed on when there is so much of it: it then goes past the buffer of the output. */
#define CHROME_WRITE_BYTES ((size_t)1 << 20)
/* Room for what an event needs beside its name: prefix, time, and what is copied beyond them. */
#define CHROME_EVENT_ROOM 160
/* A prefix is copied as a whole, whatever its length. */
#define CHROME_PREFIX_SIZE 64

#define CHROME_UNCALLED "nothing is recorded of these functions: a name comes with its first call"

#define CHROME_LOSS_LIST(X)                                                                        \
	X(OTHER, "events of kind other", "their meaning is known to the source's format only",     \
	  false)                                                                                   \
	X(REGISTERS, "details: registers and stack bytes",                                         \
	  "Chrome trace JSON holds typed arguments only", false)                                   \
	X(OPAQUE, "details: bytes of a type not known here",                                       \
	  "Chrome trace JSON holds typed arguments only", false)                                   \
	X(UNREAD, "details", "the source links to details it does not have, or that are damaged",  \
	  false)                                                                                   \
	X(SYNTHETIC, "marks of synthetic events", "an event of Chrome trace JSON has none", false) \
	X(FUNCTION_ATTRIBUTES, "attributes of functions",                                          \
	  "a function of Chrome trace JSON has a name and a category only", false)                 \
	X(BAD_TEXT, "names that are not UTF-8", "U+FFFD stands for what is not", false)            \
	X(UNCALLED, "functions", CHROME_UNCALLED, false)                                           \
	X(UNCALLED_MODULES, "modules of functions", CHROME_UNCALLED, false)                        \
	X(UNCALLED_PLACES, "source places of functions", CHROME_UNCALLED, false)                   \
	X(UNCALLED_RAW_NAMES, "names before demangling", CHROME_UNCALLED, false)                   \
	X(PLACES, "modules, files and lines of functions",                                         \
	  "other readers see the names of functions only", true)                                   \
	X(TYPES, "types of arguments", "other readers see numbers and texts", true)                \
	X(ATTRIBUTES, "attributes", "other readers pass over them", true)                          \
	X(CLOCKS, "clocks and anchors", "other readers see times without a date", true)            \
	X(TRACKS, "what is known of processes and threads beside ids and names",                   \
	  "other readers pass over it", true)                                                      \
	X(IDS, "ids of processes and threads that are unknown, zero or not unique",                \
	  "other readers see ids that are made up", true)

enum chrome_loss {
#define X(name, what, reason, elsewhere) CHROME_LOSS_##name,
	CHROME_LOSS_LIST(X)
#undef X
		CHROME_LOSS_COUNT
};

/* A function as it ends an event: ,"name":"main"} */
struct chrome_name {
	const char *text; /* NULL: not made yet */
	uint32_t length;
	uint32_t shown; /* the turn of the lane in which its place was written last */
};

/* Where events of a kind start in a track: ,\n{"pid":1,"tid":2,"ph":"B","ts": */
struct chrome_prefix {
	char text[CHROME_PREFIX_SIZE];
	size_t length;
};

/* The leading digits of the last time, which most times share. */
struct chrome_time {
	uint64_t high; /* microseconds / 10,000 */
	char digits[24];
	size_t length;
};

struct chrome_lane {
	struct chrome_lane *next; /* in the list of those that are free */
	struct sonde_buffer text;
	struct sonde_buffer packed;
	struct sonde_gzip_packer *packer;
	struct sonde_arena names;
	SONDE_VEC(struct chrome_name) functions; /* by id */
	struct chrome_name unknown;		 /* of an id that nothing is known of */
	struct sonde_key_map
		by_name;	   /* process and name: the function whose place was shown last */
	SONDE_VEC(uint32_t) shown; /* what it leads to */
	SONDE_VEC(struct sonde_signature *) signatures; /* by event type */
	uint32_t turn;					/* counts tracks; from 1 */
	uint32_t track;
	struct chrome_prefix call, leave;
	struct chrome_time time;
	uint64_t losses[CHROME_LOSS_COUNT];
};

struct chrome_writer {
	struct sonde_sink base;
	struct sonde_loss *loss; /* may be NULL */
	struct sonde_new_file file;
	struct sonde_parts *parts;
	bool is_packed;
	const struct sonde_definitions *definitions;
	uint32_t track_count, type_count; /* at begin */
	uint32_t module_count;
	uint32_t *pids;		     /* by process */
	uint32_t *tids;		     /* by track */
	uint32_t function_count;     /* at begin: those that come later come with events */
	uint32_t *categories;	     /* by function: string, or 0 */
	_Atomic bool *is_called;     /* by function */
	struct chrome_lane **lanes;  /* by track; of those that are being written */
	struct sonde_gzip_sum *sums; /* by track */
	struct sonde_gzip_sum head_sum;
	pthread_mutex_t lock; /* of the list of free lanes */
	struct chrome_lane *free_lanes;
	uint64_t losses[CHROME_LOSS_COUNT]; /* of what is written by one thread */
};

/* Gives every process and track an id that is unique. */
enum sonde_status chrome_write_ids(struct chrome_writer *writer, struct sonde_error *err);

/* Everything before the events: ours, and who is who. */
enum sonde_status chrome_write_head(struct chrome_writer *writer, struct sonde_buffer *out,
				    struct sonde_error *err);

/* JSON text as the value that it is; as a string where it is none. */
void chrome_put_json(struct sonde_buffer *out, const char *text);

/* One event of any kind. */
enum sonde_status chrome_write_event(struct chrome_writer *writer, struct chrome_lane *lane,
				     const struct sonde_batch *batch,
				     const struct sonde_event *event, struct sonde_error *err);

/* The text of a function, made when it is first asked for; NULL where memory failed. */
struct chrome_name *chrome_name_of(struct chrome_writer *writer, struct chrome_lane *lane,
				   uint32_t function);

/* A time in microseconds, as a decimal; there must be room for 24 bytes. Gives its end. */
char *chrome_put_time(struct chrome_time *time, uint64_t time_ns, char *place);

#endif
