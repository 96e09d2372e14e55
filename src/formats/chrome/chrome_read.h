/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the reader of Chrome trace JSON: from events as they stand in the text to an intake. */
#ifndef SONDE_CHROME_READ_H
#define SONDE_CHROME_READ_H

#include <sonde/arguments.h>

#include "base/vec.h"
#include "formats/chrome/chrome.h"
#include "formats/chrome/chrome_names.h"
#include "formats/chrome/chrome_scan.h"
#include "formats/chrome/chrome_source.h"
#include "formats/exchange.h"

/* Groups of names beside processes. */
enum {
	CHROME_GROUP_TYPES = UINT32_MAX,       /* event types without arguments */
	CHROME_GROUP_SHAPES = UINT32_MAX - 1,  /* names and what arguments there are */
	CHROME_GROUP_MODULES = UINT32_MAX - 2, /* process and path */
};

/* Distinct shapes of arguments; those of more events are kept as they stand, in one type. */
#define CHROME_MOST_SHAPES 4096
#define CHROME_TRACK_CACHE 256 /* a power of two */

/* An event type that we wrote. */
struct chrome_type {
	struct sonde_signature *signature; /* NULL: it was no signature */
	uint32_t event_type;
};

struct chrome_known_track {
	uint64_t pid, tid;
	uint32_t process, track_plus_one;
};

/* What is not taken, by the letter of its phase or by what it is. */
struct chrome_counts {
	uint64_t phases[256];
	uint64_t metadata, thread_clocks, stacks, categories, negative, samples;
};

struct chrome_reader {
	struct sonde_recording *recording;
	struct sonde_intake *intake;
	struct chrome_source source;
	struct chrome_event event;
	uint64_t event_offset; /* of the event at hand */
	struct chrome_names names;
	struct chrome_known_track tracks[CHROME_TRACK_CACHE];
	uint32_t shape_count;
	struct sonde_buffer text, shape, packed;
	struct chrome_counts counts;
	uint64_t events; /* that were there, of all phases */
	/* of our own files */
	bool is_ours;
	SONDE_VEC(struct chrome_type) types;
	SONDE_VEC(uint64_t) pids; /* by process */
	uint32_t track_count;
	SONDE_VEC(uint32_t) modules;
	SONDE_VEC(uint32_t) unnamed; /* tracks whose name in the file is made up; in order */
};

/* The event at hand becomes what it is. */
enum sonde_status chrome_read_event(struct chrome_reader *reader, struct sonde_error *err);

/*
 * The arguments of the event at hand into reader->packed. *event_type: the type they follow, SONDE_NONE where
 * there are none.
 */
enum sonde_status chrome_read_arguments(struct chrome_reader *reader, uint32_t *event_type,
					struct sonde_error *err);

/* The type of an event without arguments; by its name, or by the number that we wrote. */
enum sonde_status chrome_read_type(struct chrome_reader *reader, uint32_t *event_type,
				   struct sonde_error *err);

/* An id as a number; texts that are none have one with the highest bit set. */
uint64_t chrome_id_of(const struct chrome_value *value, bool *is_text);

/* Process and track of the event at hand. */
enum sonde_status chrome_read_track(struct chrome_reader *reader, uint32_t *process,
				    uint32_t *track, struct sonde_error *err);

/* A metadata event: names of processes and threads. */
enum sonde_status chrome_read_metadata(struct chrome_reader *reader, struct sonde_error *err);

/* The member that we wrote, at the position of the source. */
enum sonde_status chrome_read_ours(struct chrome_reader *reader, struct sonde_error *err);

/* A member of the file that is no list of events: kept as an attribute where it is short. */
enum sonde_status chrome_read_attribute(struct chrome_reader *reader, const char *key,
					struct sonde_error *err);

/* A clock of times that nothing is known of, where there is no other. */
enum sonde_status chrome_define_clock(struct chrome_reader *reader, struct sonde_error *err);

/* Text without its escapes, as UTF-8, behind what is in the buffer. */
void chrome_unescape(struct sonde_buffer *out, const struct chrome_text *text);

/* The same as a string of the recording. */
enum sonde_status chrome_read_string(struct chrome_reader *reader, const struct chrome_text *text,
				     uint32_t *string, struct sonde_error *err);

#endif
