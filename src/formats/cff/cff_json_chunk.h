/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files that read JSON share: documents (cff_json_read.c) are made of chunks. */
#ifndef SONDE_CFF_JSON_CHUNK_H
#define SONDE_CFF_JSON_CHUNK_H

#include <string.h>

#include "formats/cff/cff_json_events.h"
#include "formats/cff/cff_make.h"

/* A part as it stands in the document. Offsets of members are 0 where there is none. */
struct cff_json_part {
	uint32_t type;
	bool is_known, is_bad_mode, is_base64, is_unterminated, has_length;
	uint64_t offset, end; /* of its object; no end where the document breaks off */
	uint64_t array;	      /* "value" or "events" that is an array */
	uint64_t text_offset;
	const char *text; /* "value" that is a string, borrowed or in `owned` */
	size_t length;
	uint64_t byte_length;
	struct sonde_buffer owned; /* what it becomes, where that does not stand in the document */
};

struct cff_json_chunk {
	uint64_t offset;
	uint32_t id, type, start, end;
	bool has_id, has_type, is_known;
	SONDE_VEC(struct cff_json_part) parts;
	size_t last_events; /* the number after the last part with events */
};

struct cff_json_maker {
	const struct cff_maker *maker;
	struct sonde_json_reader json;
	struct cff_json_events events;
	struct sonde_trail trail;
	bool has_json_events; /* somewhere in the document */
	uint32_t wtf_version;
	uint32_t chunk_count;
};

/* A chunk without anything yet, at this place of the document. */
struct cff_json_chunk cff_json_chunk_at(uint64_t offset);

/*
 * A member of a chunk, whose key is the present token: reads its value. *is_member is false where a
 * chunk has no such member; the key then stays the present token.
 */
enum sonde_status cff_json_chunk_member(struct cff_json_maker *state, struct cff_json_chunk *chunk,
					bool *is_member, struct sonde_error *err);

/*
 * Releases a chunk, and first makes what there is of it, unless `status` tells of something worse
 * than a document that is broken off. `status` stays the result if it is a failure.
 */
enum sonde_status cff_json_chunk_finish(struct cff_json_maker *state, struct cff_json_chunk *chunk,
					enum sonde_status status, struct sonde_error *err);

/*
 * Reads the objects of the array that comes next, the value of a key; `chunk` is handed on. What the
 * array and its items should have been is for findings.
 */
enum sonde_status cff_json_each(struct cff_json_maker *state, const char *array, const char *item,
				enum sonde_status (*read)(struct cff_json_maker *state,
							  struct cff_json_chunk *chunk,
							  struct sonde_error *err),
				struct cff_json_chunk *chunk, struct sonde_error *err);

/* The number after a key. *value stays as it is where there is no good one. */
enum sonde_status cff_json_read_number(struct cff_json_maker *state, uint64_t largest,
				       uint64_t *value, bool *has_value, struct sonde_error *err);

/* The present token is not what was expected. */
void cff_json_find_value(struct cff_json_maker *state, const char *expected);

/* Whether the text of the present token is this one; texts that are borrowed have no NUL. */
static inline bool cff_json_is(const struct sonde_json_reader *json, const char *text)
{
	return json->length == strlen(text) && !memcmp(json->text, text, json->length);
}

static inline bool cff_json_is_either(const struct sonde_json_reader *json, const char *text,
				      const char *other)
{
	return cff_json_is(json, text) || cff_json_is(json, other);
}

/* The JSON itself is at fault, not what is done with it. */
static inline bool cff_json_is_broken(enum sonde_status status)
{
	return status == SONDE_CORRUPT || status == SONDE_TRUNCATED || status == SONDE_LIMIT;
}

#endif
