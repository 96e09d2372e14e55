/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session of a Zorka agent: the strings and methods it has defined under ids of its own. See
 * ingest.h for what is done with it; here is what the parts of it share.
 */
#ifndef SONDE_STORE_AGENT_H
#define SONDE_STORE_AGENT_H

#include "base/arena.h"
#include "base/cbor.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/ingest.h"

/* Limits of one agent: SONDE_LIMIT beyond. */
#define AGENT_MOST_DEFINITIONS ((size_t)1 << 20)
#define AGENT_MOST_TEXT ((size_t)32 << 20)   /* bytes of all texts */
#define AGENT_LONGEST_TEXT ((size_t)1 << 20) /* so that it fits into a file of texts, escaped */
#define AGENT_MOST_ATTRIBUTES 64u
#define AGENT_NESTING 24u /* of arrays and maps in a value */

struct agent_string {
	const char *text;
	uint32_t size;
	enum zts_text_kind kind;
	uint32_t stored; /* its id in the store, where `request` is the present one */
	uint32_t request;
};

/* A method: ids of strings of the agent. */
struct agent_method {
	uint32_t class_id, name, signature;
	uint32_t stored;
	uint32_t request;
};

struct agent_attribute {
	const char *key, *value;
};

struct sonde_agent {
	struct sonde_arena arena;
	SONDE_VEC(struct agent_string) strings;
	SONDE_VEC(struct agent_method) methods;
	struct sonde_key_map string_ids, method_ids; /* the agent's id to a place */
	SONDE_VEC(struct agent_attribute) attributes;
	const char *host, *app, *env; /* "" where not known */
	uint32_t request;	      /* counts calls of sonde_agent_traces() */
};

/* An item that must be there: SONDE_TRUNCATED at the end of the bytes. */
enum sonde_status agent_next(struct sonde_bytes *bytes, struct sonde_cbor_item *item,
			     struct sonde_error *err);
/* An array; agent_more() steps through it, and is SONDE_END behind the last item. */
struct agent_array {
	bool indefinite;
	uint64_t left;
};
enum sonde_status agent_open_array(struct sonde_bytes *bytes, struct agent_array *array,
				   struct sonde_error *err);
enum sonde_status agent_more(struct sonde_bytes *bytes, struct agent_array *array,
			     struct sonde_error *err);

/* NULL where the agent has not defined it. */
struct agent_string *agent_find_string(struct sonde_agent *agent, uint64_t id);
struct agent_method *agent_find_method(struct sonde_agent *agent, uint64_t id);

#endif
