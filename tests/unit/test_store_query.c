/* SPDX-License-Identifier: Apache-2.0 */
/* The language of searches: trees, numbers, patterns, and the places of faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "store/query.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void put_node(struct sonde_buffer *out, const struct sonde_query *query, uint32_t number)
{
	static const char *const operators[] = { "=", "<", "<=", ">", ">=" };
	static const char *const matches[] = { "", "^", "$", "~" };
	const struct sonde_query_node *node = &query->nodes.items[number];

	if (node->kind == SONDE_QUERY_TEST) {
		sonde_buffer_put_format(out, "[%d:%.*s%s%s%.*s]", (int)node->field,
					node->field ? 0 : (int)node->key_size, node->key,
					operators[node->operator],
					matches[node->match], (int)node->size, node->text);
		return;
	}
	sonde_buffer_put_text(out, node->kind == SONDE_QUERY_AND ? "(and " :
				   node->kind == SONDE_QUERY_OR	 ? "(or " :
								   "(not ");
	put_node(out, query, node->left);
	if (node->kind != SONDE_QUERY_NOT) {
		sonde_buffer_put_char(out, ' ');
		put_node(out, query, node->right);
	}
	sonde_buffer_put_char(out, ')');
}

static void assert_tree(const char *expression, const char *expected)
{
	struct sonde_query query = { 0 };
	struct sonde_buffer shown = { 0 };
	struct sonde_error err = { 0 };

	if (sonde_query_parse(&query, expression, &err) != SONDE_OK)
		fail_msg("%s: %s", expression, err.message);
	put_node(&shown, &query, query.root);
	assert_string_equal(sonde_buffer_text(&shown), expected);
	sonde_buffer_release(&shown);
	sonde_query_release(&query);
}

static void test_trees(void **state)
{
	(void)state;
	assert_tree("a=1", "[0:a=1]");
	assert_tree("a = 1", "[0:a=1]");
	assert_tree("a!=1", "(not [0:a=1])");
	assert_tree("a!~x", "(not [0:a=~x])");
	assert_tree("a=x*", "[0:a=^x]");
	assert_tree("a=*x", "[0:a=$x]");
	assert_tree("a=*x*", "[0:a=~x]");
	assert_tree("a=*", "[0:a=$]");
	assert_tree("a=x*y", "[0:a=x*y]");
	assert_tree("a~*x", "[0:a=~*x]");
	assert_tree("a=\"*x*\"", "[0:a=*x*]");
	assert_tree("a=\"say \\\"hi\\\" \\\\\"", "[0:a=say \"hi\" \\]");
	assert_tree("\"a b\"=c", "[0:a b=c]");
	assert_tree("URI=/a?q=b&c<d", "[0:URI=/a?q=b&c<d]");
	assert_tree("a<1", "[0:a<1]");
	assert_tree("a<=1", "[0:a<=1]");
	assert_tree("a>-1.5", "[0:a>-1.5]");
	assert_tree("a>=1e3", "[0:a>=1e3]");
	assert_tree("word", "[1:=~word]");
	assert_tree("word*", "[1:=^word]");
	assert_tree("*word", "[1:=$word]");
	assert_tree("\"two words\"", "[1:=~two words]");
	assert_tree("\"and\"", "[1:=~and]");
	assert_tree("a=and", "[0:a=and]");
	assert_tree("a=1 b=2", "(and [0:a=1] [0:b=2])");
	assert_tree("a=1 or b=2 and c=3", "(or [0:a=1] (and [0:b=2] [0:c=3]))");
	assert_tree("(a=1 or b=2) and c=3", "(and (or [0:a=1] [0:b=2]) [0:c=3])");
	assert_tree("a=1 and b=2 and c=3", "(and (and [0:a=1] [0:b=2]) [0:c=3])");
	assert_tree("not a=1 and b=2", "(and (not [0:a=1]) [0:b=2])");
	assert_tree("not not a=1", "(not (not [0:a=1]))");
	assert_tree("NOT (a=1 OR b=2)", "(not (or [0:a=1] [0:b=2]))");
	assert_tree("type=x", "[7:=x]");
	assert_tree("@type=x", "[0:type=x]");
	assert_tree("\"type\"=x", "[0:type=x]");
	assert_tree("types=x", "[0:types=x]");
	assert_tree("duration>100ms", "[3:>100ms]");
	assert_tree("exception=A or method=b or trace=1 or span=2 or service=s",
		    "(or (or (or (or [13:=A] [12:=b]) [14:=1]) [15:=2]) [8:=s])");
}

static void test_fields_keep_keys(void **state)
{
	struct sonde_query query = { 0 };

	(void)state;
	assert_int_equal(sonde_query_parse(&query, "duration>=1.5s", NULL), SONDE_OK);
	assert_true(query.nodes.items[0].has_number);
	assert_int_equal(query.nodes.items[0].number.integer, 1500000000);
	sonde_query_release(&query);
}

static void test_faults(void **state)
{
	static const struct {
		const char *expression;
		uint64_t offset;
	} faults[] = {
		{ "", 0 },
		{ "  ", 2 },
		{ "(", 1 },
		{ ")", 0 },
		{ "a=1)", 3 },
		{ "(a=1", 0 },
		{ "a=", 2 },
		{ "a=)", 2 },
		{ "=b", 0 },
		{ "a=1 and", 7 },
		{ "a=1 or )", 7 },
		{ "not", 3 },
		{ "a>x", 2 },
		{ "a<\"\"", 2 },
		{ "duration>5", 9 },
		{ "duration>5x", 9 },
		{ "errors=x", 7 },
		{ "errors~1", 7 },
		{ "\"abc", 0 },
		{ "a=\"b", 2 },
		{ "!a", 0 },
		{ "a!b", 1 },
		{ "*", 0 },
		{ "\"\"", 0 },
		{ "a=1 and and b", 8 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(faults); i++) {
		struct sonde_query query = { 0 };
		struct sonde_error err = { 0 };

		if (sonde_query_parse(&query, faults[i].expression, &err) != SONDE_ARGUMENT)
			fail_msg("%s: no fault", faults[i].expression);
		if (err.offset != faults[i].offset)
			fail_msg("%s: at %d: %s", faults[i].expression, (int)err.offset,
				 err.message);
		sonde_query_release(&query);
	}
}

/* Nothing recurses or grows without bounds. */
static void test_limits(void **state)
{
	struct sonde_buffer text = { 0 };
	struct sonde_query query = { 0 };

	(void)state;
	for (size_t i = 0; i < 100000; i++)
		sonde_buffer_put_char(&text, '(');
	assert_int_equal(sonde_query_parse(&query, sonde_buffer_text(&text), NULL), SONDE_ARGUMENT);
	sonde_buffer_clear(&text);
	sonde_query_release(&query);
	for (size_t i = 0; i < 100000; i++)
		sonde_buffer_put_text(&text, "not ");
	query = (struct sonde_query){ 0 };
	assert_int_equal(sonde_query_parse(&query, sonde_buffer_text(&text), NULL), SONDE_ARGUMENT);
	sonde_buffer_clear(&text);
	sonde_query_release(&query);
	for (size_t i = 0; i < 100000; i++)
		sonde_buffer_put_text(&text, "a ");
	query = (struct sonde_query){ 0 };
	assert_int_equal(sonde_query_parse(&query, sonde_buffer_text(&text), NULL), SONDE_ARGUMENT);
	sonde_query_release(&query);
	sonde_buffer_release(&text);
}

static void assert_number(const char *text, bool is_integer, int64_t integer, double real)
{
	struct sonde_number number;

	assert_true(sonde_number_parse(text, strlen(text), &number));
	assert_int_equal(number.is_integer, is_integer);
	if (is_integer)
		assert_int_equal(number.integer, integer);
	assert_true(number.real == real);
}

static void test_numbers(void **state)
{
	static const char *const none[] = { "",	   "-",	 "+",  "x",  "1x",    "0x10", "nan",
					    "inf", "1e", " 1", "1 ", "1e999", "--1" };
	struct sonde_number number;

	(void)state;
	assert_number("0", true, 0, 0);
	assert_number("-9223372036854775808", true, INT64_MIN, -9223372036854775808.0);
	assert_number("9223372036854775807", true, INT64_MAX, 9223372036854775807.0);
	assert_number("9223372036854775808", false, 0, 9223372036854775808.0);
	assert_number("1.5", false, 0, 1.5);
	assert_number("-2e-3", false, 0, -2e-3);
	for (size_t i = 0; i < COUNT_OF(none); i++)
		if (sonde_number_parse(none[i], strlen(none[i]), &number))
			fail_msg("'%s' is taken for a number", none[i]);
}

/* Large integers that a double cannot tell apart. */
static void test_exact_comparison(void **state)
{
	struct sonde_query query = { 0 };

	(void)state;
	assert_int_equal(sonde_query_parse(&query, "a>9007199254740992", NULL), SONDE_OK);
	assert_true(sonde_query_matches(&query.nodes.items[0], "9007199254740993", 16));
	assert_false(sonde_query_matches(&query.nodes.items[0], "9007199254740992", 16));
	sonde_query_release(&query);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trees),	cmocka_unit_test(test_fields_keep_keys),
		cmocka_unit_test(test_faults),	cmocka_unit_test(test_limits),
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_exact_comparison),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
