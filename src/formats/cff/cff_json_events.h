/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events as JSON (json_event_buffer, see doc/formats/cff.md): reading them into the bytes of a
 * version 10 event buffer, and writing those as JSON.
 */
#ifndef SONDE_CFF_JSON_EVENTS_H
#define SONDE_CFF_JSON_EVENTS_H

#include "base/buffer.h"
#include "base/json.h"
#include "formats/cff/cff_image.h"
#include "formats/cff/cff_texts.h"
#include "formats/cff/cff_types.h"

/* What our writer puts at the end of a file_header part whose header has no type of its own. */
#define CFF_JSON_HEADER_SUFFIX ",\"type\":\"file_header\"}"

/* Members of an object that stands for a value that JSON has no other form for. */
#define CFF_JSON_ORDINAL "ordinal"
#define CFF_JSON_RAW "raw"

/* Arguments can be named where a type does not have more than this. */
#define CFF_JSON_NAMED_LIMIT 256

/* What holds from one chunk of a document to the next. */
struct cff_json_events {
	const struct cff_maker *maker;
	struct cff_types types;
	SONDE_VEC(uint32_t) wires;	  /* of each type the first wire id, by its number */
	struct cff_texts texts;		  /* of the present chunk */
	struct cff_strings strings;	  /* the same for definitions in bytes */
	struct sonde_json_reader json;	  /* goes through the events */
	struct sonde_buffer values;	  /* of an event with named arguments */
	SONDE_VEC(struct cff_span) spans; /* of each argument in them */
};

struct cff_span {
	size_t start, size; /* size 0: not given */
};

enum sonde_status cff_json_events_init(struct cff_json_events *events,
				       const struct cff_maker *maker, struct sonde_error *err);
void cff_json_events_release(struct cff_json_events *events);

/* The string table of the chunk that follows, which must stay until the next. */
enum sonde_status cff_json_events_set_table(struct cff_json_events *events, const uint8_t *table,
					    size_t size, struct sonde_error *err);

/* Takes the definitions out of a binary event buffer, as far as it can be understood. */
enum sonde_status cff_json_events_scan(struct cff_json_events *events, const uint8_t *bytes,
				       size_t size, struct sonde_error *err);

/*
 * Reads the array of events at `offset` of the input. What is broken off there was found before;
 * the events before it are read.
 */
enum sonde_status cff_json_events_read(struct cff_json_events *events, uint64_t offset,
				       struct sonde_buffer *out, struct sonde_error *err);

/*
 * Appends the slots of one argument, whose value starts with the present token; that is the last of
 * the value afterwards. A wrong value is a finding, and becomes 0 or null.
 */
enum sonde_status cff_json_value_read(struct cff_json_events *events,
				      const struct sonde_argument_spec *spec,
				      struct sonde_buffer *out, struct sonde_error *err);

/* The slots of an argument that is not given: 0, or null. */
void cff_json_value_missing(const struct sonde_argument_spec *spec, struct sonde_buffer *out);

/*
 * Appends one event, whole, as JSON. The texts are those of its chunk; which one was used last is
 * kept in them.
 */
void cff_json_event_write(struct sonde_buffer *out, const struct cff_type *type,
			  const uint8_t *event, struct cff_texts *texts);

#endif
