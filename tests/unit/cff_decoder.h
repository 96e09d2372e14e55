/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain decoder of the wtf-trace files that we write, for tests of the writer: no index, no
 * mercy. It follows doc/formats/cff.md and shares no code with the reader; anything that is not as
 * described there fails the test.
 */
#ifndef TESTS_CFF_DECODER_H
#define TESTS_CFF_DECODER_H

#include <sonde/sonde.h>

#include "base/buffer.h"
#include "base/map.h"
#include "base/vec.h"

struct decoded_event {
	struct sonde_event event;
	uint32_t event_type;	/* of its arguments; SONDE_NONE: it has none */
	size_t arguments, size; /* in decoded.arguments, joined */
};

struct decoded_call {
	uint32_t function, depth;
};

struct decoded_track {
	char *name, *type, *location; /* NULL: null */
	SONDE_VEC(struct decoded_event) events;
	SONDE_VEC(struct decoded_call) open;
};

struct decoded_type {
	char *name, *arguments;
	uint32_t class, flags;
	struct sonde_signature *signature; /* as in the file */
};

/* What the definitions say a type stands for. */
struct decoded_meaning {
	char *name;
	uint32_t function, event_type;
};

struct decoded_part {
	uint32_t type;
	const uint8_t *bytes;
	size_t size;
};

/* A chunk with events of the model. */
struct decoded_chunk {
	uint64_t offset, first_index, first_ns, last_ns;
	uint32_t track, events, start, end;
	SONDE_VEC(struct decoded_call) open; /* at its start */
};

struct decoded {
	uint8_t *bytes;
	size_t size;
	char *header, *definitions; /* JSON */
	uint64_t origin_ns;
	SONDE_VEC(struct decoded_track) tracks;
	SONDE_VEC(struct decoded_type) types; /* every definition, in order */
	uint32_t wires[65536];		      /* number of a type + 1 */
	uint32_t zones[65536];		      /* track + 1 */
	SONDE_VEC(struct decoded_meaning) meanings;
	struct sonde_text_map meaning_of;
	SONDE_VEC(char *) signatures;		  /* of event types */
	SONDE_VEC(struct decoded_part) resources; /* of the source */
	SONDE_VEC(struct decoded_chunk) chunks;
	SONDE_VEC(uint64_t) other_chunks; /* offsets of those without events of the model */
	struct sonde_buffer arguments;
	const uint8_t *index;
	size_t index_size;
	size_t redefinitions; /* wire ids that got another meaning */
};

/* Fails the test where the file is not as it should be. */
struct decoded *decode_file(const char *path);
void decoded_free(struct decoded *decoded);

/* The last definition of that name; NULL where there is none. */
const struct decoded_type *decoded_find_type(const struct decoded *decoded, const char *name);

#endif
