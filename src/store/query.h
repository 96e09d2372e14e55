/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is searched for: an expression like `STATUS>=500 and (URI~items or not service=shop)`, as a
 * tree of conditions. Which traces fulfil it is found out elsewhere (find.h, look.h).
 */
#ifndef SONDE_STORE_QUERY_H
#define SONDE_STORE_QUERY_H

#include <sonde/definitions.h>
#include <sonde/status.h>

#include "base/arena.h"
#include "base/vec.h"

enum sonde_query_kind { SONDE_QUERY_AND, SONDE_QUERY_OR, SONDE_QUERY_NOT, SONDE_QUERY_TEST };

/* What a condition looks at. The names are those of expressions. */
enum sonde_query_field {
	SONDE_FIELD_ATTRIBUTE, /* of any record, `key` */
	SONDE_FIELD_ANY_TEXT,  /* every string of a trace */
	SONDE_FIELD_TIME,      /* when it began, ns since 1970 */
	SONDE_FIELD_DURATION,  /* ns */
	SONDE_FIELD_ERRORS,    /* records that ended with an exception */
	SONDE_FIELD_CALLS,
	SONDE_FIELD_RECORDS,
	SONDE_FIELD_TYPE,
	SONDE_FIELD_SERVICE, /* attribute service.name, or the app */
	SONDE_FIELD_APP,
	SONDE_FIELD_HOST, /* attribute host.name, or the host */
	SONDE_FIELD_ENV,  /* attribute deployment.environment(.name), or the env */
	SONDE_FIELD_METHOD,
	SONDE_FIELD_EXCEPTION, /* class or message */
	SONDE_FIELD_TRACE,     /* UUID, or id of the distributed trace */
	SONDE_FIELD_SPAN,
};

enum sonde_query_operator {
	SONDE_OPERATOR_EQUAL, /* `match` says how */
	SONDE_OPERATOR_LESS,
	SONDE_OPERATOR_AT_MOST,
	SONDE_OPERATOR_MORE,
	SONDE_OPERATOR_AT_LEAST,
};

enum sonde_query_match {
	SONDE_MATCH_EXACT,
	SONDE_MATCH_PREFIX,
	SONDE_MATCH_SUFFIX,
	SONDE_MATCH_SUBSTRING,
};

struct sonde_number {
	bool is_integer;
	int64_t integer;
	double real; /* always set */
};

/* Texts are not NUL-terminated in meaning: they may hold any byte. Owned by the query. */
struct sonde_query_node {
	enum sonde_query_kind kind;
	uint32_t left, right; /* AND, OR; NOT has left only */
	/* TEST */
	enum sonde_query_field field;
	enum sonde_query_operator operator;
	enum sonde_query_match match;
	const char *key; /* ATTRIBUTE */
	size_t key_size;
	const char *text;
	size_t size;
	bool has_number; /* `text` is a number (of DURATION and TIME: ns) */
	struct sonde_number number;
};

/* Zeroed: every trace is meant. */
struct sonde_query {
	SONDE_VEC(struct sonde_query_node) nodes;
	uint32_t root; /* where there are nodes */
	struct sonde_arena texts;
};

#define SONDE_QUERY_NODES 1000 /* more are refused */

void sonde_query_release(struct sonde_query *query);

/*
 * Adds an expression with AND. SONDE_ARGUMENT where it cannot be understood: offset in err is the
 * place in the text.
 */
enum sonde_status sonde_query_parse(struct sonde_query *query, const char *expression,
				    struct sonde_error *err);

/*
 * Adds one condition with AND, as `name=text` is read: a * at either end of the text stands for
 * anything.
 */
enum sonde_status sonde_query_add(struct sonde_query *query, enum sonde_query_field field,
				  const char *text, struct sonde_error *err);
/* The same with the match said, the text as it is. */
enum sonde_status sonde_query_add_match(struct sonde_query *query, enum sonde_query_field field,
					enum sonde_query_match match, const char *text,
					struct sonde_error *err);
enum sonde_status sonde_query_add_number(struct sonde_query *query, enum sonde_query_field field,
					 enum sonde_query_operator operator, uint64_t number,
					 struct sonde_error *err);

/* A number as attributes and expressions have it; false where the text is none. */
bool sonde_number_parse(const char *text, size_t size, struct sonde_number *number);
/* -1, 0, 1 */
int sonde_number_compare(const struct sonde_number *a, const struct sonde_number *b);

/* Whether a number stands where an ordering or equality condition wants it. */
bool sonde_query_number_matches(const struct sonde_query_node *node,
				const struct sonde_number *number);
/* Whether a text fulfils a condition; for orders (< and the like) the text must be a number. */
bool sonde_query_matches(const struct sonde_query_node *node, const char *text, size_t size);
/* The same for a number in the form of text: 500 is also 5e2. */
bool sonde_query_matches_number(const struct sonde_query_node *node, const char *text, size_t size);

#endif
