/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions: how a tree of them is put together, and whether a value fulfils one. */
#include "store/query.h"

#include <stdlib.h>
#include <string.h>

#include "store/query_build.h"

void sonde_query_release(struct sonde_query *query)
{
	sonde_vec_release(&query->nodes);
	sonde_arena_release(&query->texts);
}

enum sonde_status sonde_query_push(struct sonde_query *query, const struct sonde_query_node *node,
				   uint32_t *number, struct sonde_error *err)
{
	struct sonde_query_node *place;

	if (query->nodes.count >= SONDE_QUERY_NODES)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "more than %d conditions; search for less at once",
				  SONDE_QUERY_NODES / 2);
	place = sonde_vec_push(&query->nodes);
	if (!place)
		return sonde_fail_nomem(err);
	*place = *node;
	*number = (uint32_t)query->nodes.count - 1;
	return SONDE_OK;
}

enum sonde_status sonde_query_join(struct sonde_query *query, bool had_root, uint32_t number,
				   struct sonde_error *err)
{
	struct sonde_query_node both = { .kind = SONDE_QUERY_AND,
					 .left = query->root,
					 .right = number };

	if (!had_root) {
		query->root = number;
		return SONDE_OK;
	}
	return sonde_query_push(query, &both, &query->root, err);
}

/* A * at either end of a text that was not quoted. */
static void take_wildcards(struct sonde_query_node *test)
{
	bool before = test->size && test->text[0] == '*';
	bool behind = test->size > before && test->text[test->size - 1] == '*';

	test->text += before;
	test->size -= (size_t)before + behind;
	test->match = before && behind ? SONDE_MATCH_SUBSTRING :
		      before	       ? SONDE_MATCH_SUFFIX :
		      behind	       ? SONDE_MATCH_PREFIX :
					 SONDE_MATCH_EXACT;
}

enum sonde_status sonde_query_push_test(struct sonde_query *query,
					const struct sonde_query_test *given, uint32_t *number,
					struct sonde_error *err)
{
	struct sonde_query_node test = { .kind = SONDE_QUERY_TEST,
					 .field = given->field,
					 .operator= given->operator,
					 .match = given->match,
					 .key_size = given->key_size,
					 .size = given->size,
					 .has_number = given->has_number,
					 .number = given->number };

	test.key =
		sonde_arena_copy_text(&query->texts, given->key ? given->key : "", given->key_size);
	test.text = sonde_arena_copy_text(&query->texts, given->text, given->size);
	if (!test.key || !test.text)
		return sonde_fail_nomem(err);
	if (given->has_wildcards)
		take_wildcards(&test);
	if (!test.has_number && test.match == SONDE_MATCH_EXACT)
		test.has_number = sonde_number_parse(test.text, test.size, &test.number);
	return sonde_query_push(query, &test, number, err);
}

static enum sonde_status add_test(struct sonde_query *query, const struct sonde_query_test *test,
				  struct sonde_error *err)
{
	bool had_root = query->nodes.count > 0;
	uint32_t number = 0;
	enum sonde_status status = sonde_query_push_test(query, test, &number, err);

	return status == SONDE_OK ? sonde_query_join(query, had_root, number, err) : status;
}

enum sonde_status sonde_query_add(struct sonde_query *query, enum sonde_query_field field,
				  const char *text, struct sonde_error *err)
{
	struct sonde_query_test test = {
		.field = field, .text = text, .size = strlen(text), .has_wildcards = true
	};

	return add_test(query, &test, err);
}

enum sonde_status sonde_query_add_match(struct sonde_query *query, enum sonde_query_field field,
					enum sonde_query_match match, const char *text,
					struct sonde_error *err)
{
	struct sonde_query_test test = {
		.field = field, .match = match, .text = text, .size = strlen(text)
	};

	return add_test(query, &test, err);
}

enum sonde_status sonde_query_add_number(struct sonde_query *query, enum sonde_query_field field,
					 enum sonde_query_operator operator, uint64_t number,
					 struct sonde_error *err)
{
	struct sonde_query_test test = { .field = field,
					 .operator= operator,
					 .text = "",
					 .has_number = true,
					 .number = { .is_integer = number <= INT64_MAX,
						     .integer = (int64_t)number,
						     .real = (double)number } };

	return add_test(query, &test, err);
}

static bool parse_integer(const char *text, size_t size, int64_t *value)
{
	bool negative = size && text[0] == '-';
	size_t i = negative;

	if (i == size || size > 20)
		return false;
	for (*value = 0; i < size; i++) {
		int digit = text[i] - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(*value, 10, value) ||
		    __builtin_sub_overflow(*value, digit, value))
			return false;
	}
	/* counted downwards, which reaches one further */
	return negative || !__builtin_sub_overflow((int64_t)0, *value, value);
}

bool sonde_number_parse(const char *text, size_t size, struct sonde_number *number)
{
	char copy[64], *end;

	*number = (struct sonde_number){ 0 };
	number->is_integer = parse_integer(text, size, &number->integer);
	if (number->is_integer) {
		number->real = (double)number->integer;
		return true;
	}
	if (!size || size >= sizeof(copy) || !strchr("+-.0123456789", text[0]))
		return false;
	memcpy(copy, text, size);
	copy[size] = '\0';
	if (strspn(copy, "+-.0123456789eE") != size)
		return false;
	number->real = strtod(copy, &end);
	return end == copy + size && __builtin_isfinite(number->real);
}

int sonde_number_compare(const struct sonde_number *a, const struct sonde_number *b)
{
	if (a->is_integer && b->is_integer)
		return (a->integer > b->integer) - (a->integer < b->integer);
	return (a->real > b->real) - (a->real < b->real);
}

bool sonde_query_number_matches(const struct sonde_query_node *node,
				const struct sonde_number *number)
{
	int order = sonde_number_compare(number, &node->number);

	switch (node->operator) {
	case SONDE_OPERATOR_LESS:
		return order < 0;
	case SONDE_OPERATOR_AT_MOST:
		return order <= 0;
	case SONDE_OPERATOR_MORE:
		return order > 0;
	case SONDE_OPERATOR_AT_LEAST:
		return order >= 0;
	default:
		return order == 0;
	}
}

static bool text_matches(const struct sonde_query_node *node, const char *text, size_t size)
{
	if (size < node->size)
		return false;
	switch (node->match) {
	case SONDE_MATCH_PREFIX:
		return !memcmp(text, node->text, node->size);
	case SONDE_MATCH_SUFFIX:
		return !memcmp(text + size - node->size, node->text, node->size);
	case SONDE_MATCH_SUBSTRING:
		return !node->size || memmem(text, size, node->text, node->size);
	default:
		return size == node->size && !memcmp(text, node->text, size);
	}
}

bool sonde_query_matches_number(const struct sonde_query_node *node, const char *text, size_t size)
{
	struct sonde_number number;

	if (node->operator== SONDE_OPERATOR_EQUAL && text_matches(node, text, size))
		return true;
	return node->has_number && node->match == SONDE_MATCH_EXACT &&
	       sonde_number_parse(text, size, &number) && sonde_query_number_matches(node, &number);
}

bool sonde_query_matches(const struct sonde_query_node *node, const char *text, size_t size)
{
	if (node->operator== SONDE_OPERATOR_EQUAL)
		return text_matches(node, text, size);
	return sonde_query_matches_number(node, text, size);
}
