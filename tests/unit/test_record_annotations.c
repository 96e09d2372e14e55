/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations among calls: scopes, events, zones, pieces; how each of them ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "call_script.h"

static struct script_result result;

/* Letters of the sites, in the order of enum sonde_annotate_kind. */
enum { SCOPE = 'a', EVENT, MARK, FLOW_BEGIN, FLOW_STEP, FLOW_END, RANGE_BEGIN, RANGE_END };
enum { FRAME_BEGIN = RANGE_END + 1, FRAME_END, COUNTER, ZONE, RESOURCE };

static void scope(struct script *script, uint64_t time, uint64_t stack, uint64_t object)
{
	script_add(script, UNIT_SCOPE, time, stack, object, SITE(SCOPE));
}

static void scope_end(struct script *script, uint64_t time, uint64_t stack, uint64_t object)
{
	script_add(script, UNIT_SCOPE_END, time, stack, object, SITE(SCOPE));
}

static void event(struct script *script, uint64_t time, uint64_t stack)
{
	script_add(script, UNIT_EVENT, time, stack, 0, SITE(EVENT));
}

static void expect(const struct script *script, const char *text)
{
	script_run(script, &result);
	assert_string_equal(result.lanes[0], text);
}

/* A scope has the stack pointer of its function, which is the same as that of the hook. */
static void test_scopes_among_calls(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	scope(&script, 2, S(100), S(120));
	scope(&script, 3, S(100), S(128));
	event(&script, 4, S(100));
	script_call(&script, 5, S(80), 'B');
	scope(&script, 6, S(80), S(90));
	scope_end(&script, 7, S(80), S(90));
	script_return(&script, 8, S(80), 'B');
	scope_end(&script, 9, S(100), S(128));
	scope_end(&script, 10, S(100), S(120));
	script_return(&script, 11, S(100), 'A');
	expect(&script,
	       "1+A@1 2+a@2#0 3+a@3#1 3*b@4 4+B@5 5+a@6#2 5-a@7 4-B@8 3-a@9 2-a@10 1-A@11");
	assert_int_equal(result.counts.annotations, 4);
	assert_int_equal(result.counts.exceptions, 0);
}

/* A function that is inlined into the one that has the scope. */
static void test_inlined_in_scope(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	scope(&script, 2, S(100), S(120));
	script_call_inlined(&script, 3, S(100), 'B', FUNCTION('A') + 0x40);
	scope(&script, 4, S(100), S(128));
	scope_end(&script, 5, S(100), S(128));
	script_return(&script, 6, S(100), 'B');
	scope_end(&script, 7, S(100), S(120));
	script_return(&script, 8, S(100), 'A');
	expect(&script, "1+A@1 2+a@2#0 3+B@3 4+a@4#1 4-a@5 3-B@6 2-a@7 1-A@8");
}

static void test_scopes_left(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	scope(&script, 2, S(100), S(120));
	script_call(&script, 3, S(80), 'B');
	scope(&script, 4, S(80), S(90));
	script_add(&script, UNIT_UNWIND, 5, S(100), 0, 0); /* longjmp() into A */
	scope_end(&script, 6, S(100), S(120));
	script_return(&script, 7, S(100), 'A');
	expect(&script, "1+A@1 2+a@2#0 3+B@3 4+a@4#1 4!a@5 3!B@5 2-a@6 1-A@7");
}

/* A jump within the function: the same object again, or a return, ends the scope. */
static void test_scope_left_in_silence(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	scope(&script, 2, S(100), S(120));
	scope(&script, 3, S(100), S(120));
	scope(&script, 4, S(100), S(128));
	script_return(&script, 5, S(100), 'A');
	scope_end(&script, 6, S(100), S(120)); /* of nothing that is open */
	expect(&script, "1+A@1 2+a@2#0 2!a@3 2+a@3#1 3+a@4#2 3!a@5 2!a@5 1-A@5");
	assert_int_equal(result.counts.returns_without_call, 1);
}

/* alloca() in between: found by its object. */
static void test_scope_below_alloca(void **state)
{
	struct script script = { 0 };

	(void)state;
	scope(&script, 1, S(100), S(120));
	event(&script, 2, S(40));
	scope(&script, 3, S(40), S(112));
	scope_end(&script, 4, S(40), S(112));
	scope_end(&script, 5, S(40), S(120));
	expect(&script, "1+a@1#0 1*b@2 2+a@3#1 2-a@4 1-a@5");
}

static void test_exception(void **state)
{
	struct script script = { 0 };

	(void)state;
	scope(&script, 1, S(100), S(120));
	scope(&script, 2, S(60), S(70));
	script_add(&script, UNIT_THROW, 3, S(50), 0, 0);
	scope_end(&script, 4, S(60), S(70)); /* its destructor */
	script_add(&script, UNIT_CATCH, 5, S(100), 0, 0);
	event(&script, 6, S(100));
	scope_end(&script, 7, S(100), S(120));
	expect(&script, "1+a@1#0 2+a@2#1 2!a@4 1*b@6 1-a@7");
}

static void test_filters(void **state)
{
	struct script script = { .options = { .min_time_ns = 10 } };

	(void)state;
	scope(&script, 1, S(100), S(120));
	script_add_arguments(&script, "12345678901234567890123456789012345678901234", 44);
	scope(&script, 2, S(100), S(128)); /* short, and nothing in it */
	scope_end(&script, 3, S(100), S(128));
	event(&script, 4, S(100));
	scope_end(&script, 5, S(100), S(120));
	expect(&script, "1+a@1#0 1*b@4 1-a@5");
	assert_int_equal(result.counts.short_calls, 1);
	assert_non_null(strstr(result.notes, "(44);"));
	script.options = (struct calls_options){ .max_depth = 1 };
	scope(&script, 6, S(100), S(120));
	scope(&script, 7, S(100), S(128));
	event(&script, 8, S(100));
	expect(&script, "1+a@1#0 1*b@4 1-a@5 1+a@6#1 1*b@8");
	assert_int_equal(result.counts.deep_calls, 2);
}

static void test_builtins(void **state)
{
	struct script script = { 0 };

	(void)state;
	for (int letter = MARK; letter <= COUNTER; letter++)
		script_add(&script, UNIT_EVENT, 1, S(100), 5, SITE(letter));
	script_add(&script, UNIT_EVENT, 2, S(100), 0, SITE(RESOURCE));
	script_add_arguments(&script, "bytes", 5);
	expect(&script, "0*c@1#0 0*d@1#1 0*e@1#2 0*f@1#3 0*g@1#4 0*h@1#5 0*i@1#6 0*j@1#7 0*k@1#8 "
			"0*m@2#9");
	assert_string_equal(
		result.notes,
		"kind 5 of 0 extra 0: 04 00 00 00 6e 61 6d 65 ff ff ff ff (12);"
		"kind 6 of 1 extra 5: 05 00 00 00 00 00 00 00 04 00 00 00 6e 61 6d 65 ff ff ff ff (20);"
		"kind 7 of 2 extra 5: 05 00 00 00 04 00 00 00 6e 61 6d 65 ff ff ff ff (16);"
		"kind 8 of 3 extra 5: 05 00 00 00 ff ff ff ff (8);"
		"kind 10 of 4 extra 5: 05 00 00 00 04 00 00 00 6e 61 6d 65 ff ff ff ff (16);"
		"kind 11 of 5 extra 5: 05 00 00 00 (4);"
		"kind 10 of 6 extra 5: 05 00 00 00 (4);"
		"kind 11 of 7 extra 5: 05 00 00 00 (4);"
		"kind 9 of 8 extra 5: 05 00 00 00 00 00 00 00 (8);"
		"resource name bytes;"
		"kind 4 of 9 extra 0: 00 00 00 00 04 00 00 00 6e 61 6d 65 (12);");
}

/* Long ones come in pieces, also with those of a signal handler in between. */
static void test_pieces(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_add_piece(&script, 1, 0, "first ", 6);
	script_add_piece(&script, 2, 0, "handler", 7);
	script_add(&script, UNIT_EVENT, 1, S(50), 0, SITE(RESOURCE));
	script_add_pieces(&script, 2, 7);
	script_add_piece(&script, 1, 6, "second", 6);
	script_add(&script, UNIT_EVENT, 2, S(100), 0, SITE(RESOURCE));
	script_add_pieces(&script, 1, 12);
	/* one whose middle was dropped, one that never began, one that never ended */
	script_add_piece(&script, 3, 0, "a", 1);
	script_add_piece(&script, 3, 2, "c", 1);
	script_add(&script, UNIT_EVENT, 3, S(100), 0, SITE(RESOURCE));
	script_add_pieces(&script, 3, 3);
	script_add(&script, UNIT_EVENT, 4, S(100), 0, SITE(RESOURCE));
	script_add_pieces(&script, 4, 3);
	script_add_piece(&script, 5, 0, "a", 1);
	expect(&script, "0*m@1#0 0*m@2#1");
	assert_non_null(strstr(result.notes, "resource name handler;"));
	assert_non_null(strstr(result.notes, "resource name first second;"));
	assert_int_equal(result.counts.annotations_lost, 2);
}

static void test_unknown_site(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_add(&script, UNIT_EVENT, 1, S(100), 0, 0x1234);
	event(&script, 2, S(100));
	expect(&script, "0*b@2");
	assert_int_equal(result.counts.annotations_lost, 1);
}

static void zone(struct script *script, uint64_t time, uint64_t stack, uint64_t object)
{
	script_add(script, UNIT_ZONE, time, stack, object, SITE(ZONE));
}

static void test_zone(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	zone(&script, 2, S(100), S(120));
	script_call(&script, 3, S(80), 'B');
	event(&script, 4, S(80));
	script_return(&script, 5, S(80), 'B');
	script_add(&script, UNIT_ZONE_END, 6, S(100), S(120), SITE(ZONE));
	script_call(&script, 7, S(80), 'C');
	script_return(&script, 8, S(80), 'C');
	script_return(&script, 9, S(100), 'A');
	expect(&script, "1+A@1 2+C@7 2-C@8 1-A@9");
	assert_string_equal(result.lanes[1], "1+B@3 1*b@4 1-B@5");
	assert_string_equal(result.zones[1], "name");
	assert_int_equal(result.lane_count, 2);
}

/* By a jump out of it: what is open in it is left, and the thread's own calls go on. */
static void test_zone_left(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	for (uint64_t i = 0; i < 2; i++) {
		script_call(&script, 2, S(80), 'B');
		zone(&script, 3, S(80), S(90));
		zone(&script, 4, S(80), S(92)); /* the same one, inside itself */
		script_call(&script, 5, S(60), 'C');
		script_add(&script, UNIT_UNWIND, 6, S(100), 0, 0);
	}
	script_return(&script, 9, S(100), 'A');
	expect(&script, "1+A@1 2+B@2 2!B@6 2+B@6 2!B@6 1-A@9");
	assert_string_equal(result.lanes[1], "1+C@5 1!C@6 1+C@6 1!C@6");
	assert_int_equal(result.lane_count, 2);
}

/* An exception goes through a zone into what is around it. */
static void test_zone_and_exception(void **state)
{
	struct script script = { 0 };

	(void)state;
	scope(&script, 1, S(100), S(120));
	scope(&script, 2, S(80), S(90));
	zone(&script, 3, S(80), S(92));
	scope(&script, 4, S(60), S(70));
	script_add(&script, UNIT_THROW, 5, S(50), 0, 0);
	scope_end(&script, 6, S(60), S(70));
	script_add(&script, UNIT_ZONE_END, 7, S(80), S(92), SITE(ZONE));
	scope_end(&script, 8, S(80), S(90));
	script_add(&script, UNIT_CATCH, 9, S(100), 0, 0);
	scope_end(&script, 10, S(100), S(120));
	expect(&script, "1+a@1#0 2+a@2#1 2!a@8 1-a@10");
	assert_string_equal(result.lanes[1], "1+a@4#2 1!a@6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scopes_among_calls),
		cmocka_unit_test(test_inlined_in_scope),
		cmocka_unit_test(test_scopes_left),
		cmocka_unit_test(test_scope_left_in_silence),
		cmocka_unit_test(test_scope_below_alloca),
		cmocka_unit_test(test_exception),
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_builtins),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_unknown_site),
		cmocka_unit_test(test_zone),
		cmocka_unit_test(test_zone_left),
		cmocka_unit_test(test_zone_and_exception),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
