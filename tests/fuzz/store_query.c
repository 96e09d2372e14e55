/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes conditions of searches: up to the first newline an expression, behind it texts that are
 * held against it. A fault has a place in the expression; what is understood is a tree whose
 * conditions can all be asked.
 */
#include <string.h>

#include "base/bytes.h"
#include "require.h"
#include "store/query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every node is in the tree once: counted from the root, without recursion. */
static void require_tree(const struct sonde_query *query)
{
	size_t count = query->nodes.count, reached = 0, open = 0;
	uint32_t *stack = malloc((count + 1) * sizeof(*stack));

	REQUIRE(stack);
	if (count)
		stack[open++] = query->root;
	while (open) {
		const struct sonde_query_node *node;
		uint32_t at = stack[--open];

		REQUIRE(at < count && ++reached <= count);
		node = &query->nodes.items[at];
		if (node->kind == SONDE_QUERY_TEST)
			continue;
		REQUIRE(open + 2 <= count + 1);
		stack[open++] = node->left;
		if (node->kind != SONDE_QUERY_NOT)
			stack[open++] = node->right;
	}
	REQUIRE(reached == count);
	free(stack);
}

static void ask(const struct sonde_query *query, const char *text, size_t size)
{
	for (size_t i = 0; i < query->nodes.count; i++) {
		const struct sonde_query_node *node = &query->nodes.items[i];
		struct sonde_number number;

		if (node->kind != SONDE_QUERY_TEST)
			continue;
		REQUIRE(node->text || !node->size);
		REQUIRE(node->field != SONDE_FIELD_ATTRIBUTE || node->key);
		sonde_query_matches(node, text, size);
		sonde_query_matches_number(node, text, size);
		if (sonde_number_parse(text, size, &number)) {
			REQUIRE(sonde_number_compare(&number, &number) == 0);
			sonde_query_number_matches(node, &number);
		}
		/* its own text fulfils an equality, whatever is in it */
		if (node->operator== SONDE_OPERATOR_EQUAL)
			REQUIRE(sonde_query_matches(node, node->text, node->size));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = size ? memchr(data, '\n', size) : NULL;
	size_t length = end ? (size_t)(end - data) : size;
	char *expression = malloc(length + 1);
	struct sonde_query query = { 0 };
	struct sonde_error err = { 0 };
	enum sonde_status status;

	REQUIRE(expression);
	if (length)
		memcpy(expression, data, length);
	expression[length] = '\0';
	status = sonde_query_parse(&query, expression, &err);
	if (status < 0) {
		REQUIRE(status == SONDE_ARGUMENT || status == SONDE_LIMIT);
		REQUIRE(err.message[0]);
		REQUIRE(err.offset == SONDE_NO_OFFSET || err.offset <= strlen(expression));
	} else {
		REQUIRE(query.nodes.count <= SONDE_QUERY_NODES);
		require_tree(&query);
		ask(&query, end ? (const char *)end + 1 : "", end ? size - length - 1 : 0);
	}
	sonde_query_release(&query);
	free(expression);
	return 0;
}
