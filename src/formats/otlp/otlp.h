/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace request of OpenTelemetry (OTLP) as plain structs: what both decoders fill, and what is read
 * out of files or put into a store. Texts and bytes are borrowed from the request's body, or live in the arena here.
 */
#ifndef SONDE_FORMATS_OTLP_H
#define SONDE_FORMATS_OTLP_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/vec.h"

#include <sonde/definitions.h>

/* Limits of one request: SONDE_LIMIT beyond. They bound the memory that a hostile body can take. */
#define OTLP_NESTING 24u		   /* of arrays and maps in a value */
#define OTLP_MOST_VALUES ((size_t)1 << 20) /* attributes, items of arrays, members of maps */
#define OTLP_MOST_SPANS ((size_t)1 << 18)
#define OTLP_MOST_NOTES ((size_t)1 << 19)  /* events and links together */
#define OTLP_MOST_GROUPS ((size_t)1 << 18) /* resources and scopes, each */
/*
 * Values of resources are repeated in every tree, those of scopes in every span: so many in all,
 * where 64 bytes of text count like a value.
 */
#define OTLP_MOST_REPEATED ((uint64_t)1 << 22)
#define OTLP_LONGEST_TEXT ((size_t)1 << 20) /* so that it fits into a file of texts, escaped */

struct otlp_text {
	const char *data;
	size_t size;
};

enum otlp_value_kind {
	OTLP_NULL,
	OTLP_STRING,
	OTLP_BOOL,
	OTLP_INT,
	OTLP_DOUBLE,
	OTLP_ARRAY,
	OTLP_MAP,
	OTLP_BYTES,
};

/* An attribute, a member of a map (both with a key) or an item of an array. */
struct otlp_value {
	enum otlp_value_kind kind;
	uint32_t next; /* of the same list, in request->values; SONDE_NONE */
	struct otlp_text key;
	union {
		struct otlp_text text; /* STRING, BYTES */
		int64_t number;	       /* INT, BOOL */
		double real;
		uint32_t first; /* ARRAY, MAP: the list of what is in it */
	};
};

/* A list of values while it is built: in the order of the request. Both SONDE_NONE: empty. */
struct otlp_list {
	uint32_t first, last;
};

enum otlp_note_kind { OTLP_EVENT, OTLP_LINK };

/* An event or a link of a span. */
struct otlp_note {
	uint32_t next; /* of the same span and kind; SONDE_NONE */
	struct otlp_text name, trace_id, span_id, trace_state;
	uint64_t time_ns;
	uint32_t flags;
	uint32_t dropped;
	struct otlp_list attributes;
};

struct otlp_resource {
	struct otlp_list attributes;
	struct otlp_text schema_url;
	uint32_t dropped;
	uint64_t weight; /* what repeating it costs, by otlp_link() */
};

struct otlp_scope {
	uint32_t resource;
	struct otlp_text name, version, schema_url;
	struct otlp_list attributes;
	uint32_t dropped;
	uint64_t weight; /* what repeating it costs, by otlp_link() */
};

struct otlp_span {
	uint64_t trace_id[2];
	uint64_t span_id, parent_id; /* parent 0: none */
	uint64_t start_ns, end_ns;
	struct otlp_text name, trace_state, status_message;
	struct otlp_list attributes, events, links;
	uint32_t scope;
	uint32_t kind, status_code, flags;
	uint32_t dropped_attributes, dropped_events, dropped_links;
	/* The tree, by otlp_link(): positions in request->spans, or SONDE_NONE. */
	uint32_t parent, first_child, next_sibling;
	uint32_t walk; /* of otlp_link(): which walk to the root came here first; 0: none yet */
	bool is_copy;  /* an earlier span has the same ids */
};

struct otlp_request {
	SONDE_VEC(struct otlp_resource) resources;
	SONDE_VEC(struct otlp_scope) scopes;
	SONDE_VEC(struct otlp_span) spans;
	SONDE_VEC(struct otlp_value) values;
	SONDE_VEC(struct otlp_note) notes;
	SONDE_VEC(uint32_t) roots; /* of the trees, by start; by otlp_link() */
	struct sonde_arena arena;
	bool has_long_text; /* in the span that is being read */
	uint64_t rejected;  /* spans left out, and why the first was */
	uint64_t mended;    /* texts that were not UTF-8, spans that end before they start */
	char reason[160];   /* of the first rejected one; where none was, of what was mended */
};

/* Zeroed is new. */
void otlp_request_release(struct otlp_request *request);

/* A whole body. Spans without ids or time are counted in `rejected` and left out. */
enum sonde_status otlp_read_protobuf(struct otlp_request *request, const void *body, size_t size,
				     struct sonde_error *err);
enum sonde_status otlp_read_json(struct otlp_request *request, const void *body, size_t size,
				 struct sonde_error *err);

/* Makes trees of the spans: every span is in exactly one. */
enum sonde_status otlp_link(struct otlp_request *request, struct sonde_error *err);

/* A span's kind as a type: "server", "kind-9", or "" where it has none. */
#define OTLP_KIND_NAME 16
const char *otlp_kind_name(uint32_t kind, char space[OTLP_KIND_NAME]);
/* Whether a resource's attribute of this name is the env of its traces. */
bool otlp_is_environment(const struct otlp_text *name);

/* For the decoders. */

#define OTLP_EMPTY_LIST ((struct otlp_list){ SONDE_NONE, SONDE_NONE })

/* Appends a value to a list; *value is valid until the next one is added. */
enum sonde_status otlp_add_value(struct otlp_request *request, struct otlp_list *list,
				 uint32_t *position, struct sonde_error *err);
enum sonde_status otlp_add_note(struct otlp_request *request, struct otlp_list *list,
				uint32_t *position, struct sonde_error *err);
enum sonde_status otlp_add_resource(struct otlp_request *request, uint32_t *position,
				    struct sonde_error *err);
enum sonde_status otlp_add_scope(struct otlp_request *request, uint32_t resource,
				 uint32_t *position, struct sonde_error *err);

/* Ids as the wire has them: bytes, whose size may be wrong. */
struct otlp_span_ids {
	struct otlp_text trace, span, parent;
};
/* Keeps a span that is as it must be, or counts it as rejected. */
enum sonde_status otlp_add_span(struct otlp_request *request, struct otlp_span *span,
				const struct otlp_span_ids *ids, struct sonde_error *err);

/* Counts something that is kept otherwise than sent. */
void otlp_say_mended(struct otlp_request *request, const char *reason);

/*
 * Puts U+FFFD for what is not UTF-8. A text that is too long is empty then, and its span rejected.
 */
enum sonde_status otlp_clean_text(struct otlp_request *request, struct otlp_text *text,
				  struct sonde_error *err);
/* The same without a look at the bytes. */
void otlp_limit_text(struct otlp_request *request, struct otlp_text *text);
/* SONDE_LIMIT where a text outside of a span was too long. */
enum sonde_status otlp_check_texts(struct otlp_request *request, struct sonde_error *err);

static inline bool otlp_text_is(const struct otlp_text *text, const char *other)
{
	return text->size == strlen(other) && !memcmp(text->data, other, text->size);
}

#endif
