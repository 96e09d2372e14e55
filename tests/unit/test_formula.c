/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas over metrics: what is read, evaluated, printed and refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "model/formula.h"

/* #n is 10 n; there is no #9. */
static bool find(void *data, uint32_t reference, double *value)
{
	(void)data;
	*value = reference * 10.0;
	return reference != 9;
}

static bool evaluate(const char *text, double *result)
{
	struct sonde_expression_values values = { .value = 3, .find = find };
	struct sonde_expression formula = { 0 };
	bool has;

	assert_int_equal(sonde_expression_parse(&formula, text, strlen(text), NULL), SONDE_OK);
	has = sonde_expression_evaluate(&formula, &values, result);
	sonde_expression_release(&formula);
	return has;
}

static void test_values(void **state)
{
	static const struct {
		const char *text;
		double result;
	} cases[] = {
		{ "1+2*3", 7 },		 { "(1+2)*3", 9 },	 { "10-3-2", 5 },
		{ "100/10/2", 5 },	 { "2^3^2", 512 },	 { "-2^2", -4 },
		{ "2*-3", -6 },		 { "--3", 3 },		 { "+4", 4 },
		{ "1e2 + .5", 100.5 },	 { "1e-1", 0.1 },	 { "$$", 3 },
		{ "($$^2)", 9 },	 { "#43/#86", 0.5 },	 { "100*(#46/#92)", 50 },
		{ "$2 + @3", 50 },	 { "sqrt(16)", 4 },	 { "min(3, 1, 2)", 1 },
		{ "max(3, 1, 2)", 3 },	 { "sum(1,2,3,4)", 10 }, { "prod(2,3)", 6 },
		{ "pow(2, 10)", 1024 },	 { "log(8, 2)", 3 },	 { "ln(1)", 0 },
		{ "floor(1.5)", 1 },	 { "ceil(1.5)", 2 },	 { "strict floor(2)", 1 },
		{ "strict ceil(2)", 3 }, { "#9 + #1", 10 },	 { "sum()", 0 },
	};
	double result;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!evaluate(cases[i].text, &result) || fabs(result - cases[i].result) > 1e-12)
			fail_msg("%s gives %g", cases[i].text, result);
	}
	assert_false(evaluate("1/0", &result));
	assert_false(evaluate("#9", &result));
	assert_false(evaluate("2*#9", &result));
	assert_false(evaluate("sqrt(0-1)", &result));
}

static void test_refused(void **state)
{
	static const char *const texts[] = { "",      "1 2",	"1+",  "*1",	"(1",
					     "1)",    "()",	"#",   "$",	"foo(1)",
					     "sqrt",  "pow(1)", "1,2", "(1,2)", "sqrt(1,2)",
					     "min()", "\xff",	"1..2" };
	struct sonde_expression formula = { 0 };
	struct sonde_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (sonde_expression_parse(&formula, texts[i], strlen(texts[i]), &err) >= 0)
			fail_msg("\"%s\" is read", texts[i]);
		assert_int_equal(formula.nodes.count, 0);
		assert_true(*err.message);
	}
	sonde_expression_release(&formula);
}

static void test_bounds(void **state)
{
	struct sonde_expression formula = { 0 };
	static char text[100000];
	size_t size = 0;

	(void)state;
	memset(text, '(', sizeof(text));
	assert_int_equal(sonde_expression_parse(&formula, text, sizeof(text), NULL), SONDE_LIMIT);
	memset(text, '-', sizeof(text));
	assert_int_equal(sonde_expression_parse(&formula, text, sizeof(text), NULL), SONDE_LIMIT);
	memset(text, '1', sizeof(text));
	assert_int_equal(sonde_expression_parse(&formula, text, sizeof(text), NULL), SONDE_LIMIT);
	while (size + 2 < sizeof(text)) {
		text[size++] = '1';
		text[size++] = '+';
	}
	assert_int_equal(sonde_expression_parse(&formula, text, size - 1, NULL), SONDE_LIMIT);
	/* as long as allowed, and as deep as that makes it */
	assert_int_equal(sonde_expression_parse(&formula, text, SONDE_EXPRESSION_NODES - 1, NULL),
			 SONDE_OK);
	assert_true(formula.nodes.items[formula.nodes.count - 1].size ==
		    SONDE_EXPRESSION_NODES - 1);
	sonde_expression_release(&formula);
}

static void put_alias(void *data, uint32_t reference, struct sonde_buffer *out)
{
	(void)data;
	sonde_buffer_put_format(out, "*m%u", reference);
}

static void test_printed(void **state)
{
	static const struct {
		const char *text, *yaml, *canonical;
	} cases[] = {
		{ "#43/#61", "{/: [*m43, *m61]}", "#43/#61" },
		{ "100*(#46/#47)", "{\"*\": [100, {/: [*m46, *m47]}]}", "100*(#46/#47)" },
		{ "(( $$ ^ 2 ))", "{^: [$$, 2]}", "$$^2" },
		{ "1-(2-3)", "{\"-\": [1, {\"-\": [2, 3]}]}", "1-(2-3)" },
		{ "(1-2)-3", "{\"-\": [{\"-\": [1, 2]}, 3]}", "1-2-3" },
		{ "(2^3)^2", "{^: [{^: [2, 3]}, 2]}", "(2^3)^2" },
		{ "-(1+2)", "{\"-\": [{+: [1, 2]}]}", "-(1+2)" },
		{ "sqrt(#1)", "{sqrt: [*m1]}", "sqrt(#1)" },
		{ "0.1", "0.1", "0.1" },
	};
	struct sonde_expression formula = { 0 }, again = { 0 };
	struct sonde_buffer out = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(sonde_expression_parse(&formula, cases[i].text,
							strlen(cases[i].text), NULL),
				 SONDE_OK);
		sonde_buffer_clear(&out);
		sonde_expression_put_yaml(&formula, &out, put_alias, NULL);
		assert_string_equal(sonde_buffer_text(&out), cases[i].yaml);
		sonde_buffer_clear(&out);
		sonde_expression_put_text(&formula, &out);
		assert_string_equal(sonde_buffer_text(&out), cases[i].canonical);
		assert_int_equal(sonde_expression_parse(&again, out.data, out.size, NULL),
				 SONDE_OK);
		assert_true(sonde_expression_equal(&formula, &again));
	}
	assert_int_equal(sonde_expression_parse(&again, "1+1", 3, NULL), SONDE_OK);
	assert_false(sonde_expression_equal(&formula, &again));
	sonde_expression_release(&formula);
	sonde_expression_release(&again);
	sonde_buffer_release(&out);
}

static void test_names(void **state)
{
	static const struct {
		const char *text, *name, *formula;
	} taken[] = {
		{ "ipc = a / b", "ipc", " a / b" }, { " \"a b\"=1", "a b", "1" },
		{ "'it' = \"x\"", "it", " \"x\"" }, { "a.b_1 =", "a.b_1", "" },
		{ "a + b", NULL, "+ b" },	    { "= 1", NULL, "= 1" },
		{ "\"\" = 1", NULL, "= 1" },	    { "'open = 1", NULL, "" },
	};
	static const struct {
		const char *name, *wanted;
		unsigned int closeness;
		bool matches;
	} metrics[] = {
		{ "CPUTIME (sec)", "cputime (SEC)", 3, true },
		{ "CPUTIME (sec)", "cputime", 2, true },
		{ "CPUTIME (sec):Mean (I)", "cputime", 2, false },
		{ "CPUTIME (sec):Mean (I)", "cputime:mean", 1, true },
		{ "L2 misses (n)", "l2 misses", 1, true },
		{ "cycles", "cycle", 0, false },
		{ "cycles", "cycles2", 0, false },
		{ "cycles (open", "cycles (", 0, false },
	};
	const char *name, *formula;

	(void)state;
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		size_t length = sonde_formula_take_name(taken[i].text, &name, &formula);

		assert_int_equal(length, taken[i].name ? strlen(taken[i].name) : 0);
		assert_memory_equal(name, taken[i].name ? taken[i].name : "", length);
		assert_string_equal(formula, taken[i].formula);
	}
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		const char *wanted = metrics[i].wanted;
		size_t length = strlen(wanted);

		assert_int_equal(sonde_metric_name_closeness(metrics[i].name, wanted, length),
				 metrics[i].closeness);
		assert_int_equal(sonde_metric_name_matches(metrics[i].name, wanted, length),
				 metrics[i].matches);
	}
	assert_true(sonde_formula_name_is_word("a.b_1"));
	assert_false(sonde_formula_name_is_word("a b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bounds), cmocka_unit_test(test_printed),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
