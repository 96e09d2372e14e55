/* SPDX-License-Identifier: Apache-2.0 */
/* How the parser of expressions puts a query together. Not for others: see query.h. */
#ifndef SONDE_STORE_QUERY_BUILD_H
#define SONDE_STORE_QUERY_BUILD_H

#include "store/query.h"

/* A condition whose texts are still the caller's. */
struct sonde_query_test {
	enum sonde_query_field field;
	enum sonde_query_operator operator;
	enum sonde_query_match match;
	const char *key;
	size_t key_size;
	const char *text;
	size_t size;
	bool has_wildcards; /* a * at either end means something */
	bool has_number;
	struct sonde_number number;
};

enum sonde_status sonde_query_push(struct sonde_query *query, const struct sonde_query_node *node,
				   uint32_t *number, struct sonde_error *err);
enum sonde_status sonde_query_push_test(struct sonde_query *query,
					const struct sonde_query_test *given, uint32_t *number,
					struct sonde_error *err);
/* Makes a node the root, beside the one that was there (had_root). */
enum sonde_status sonde_query_join(struct sonde_query *query, bool had_root, uint32_t number,
				   struct sonde_error *err);

#endif
