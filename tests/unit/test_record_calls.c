/* SPDX-License-Identifier: Apache-2.0 */
/* Units to events on one stack: nesting, exceptions, gaps, --min-time, --depth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "call_script.h"
#include "record/call_lane.h"

static struct script_result result;

static void expect(const struct script *script, const char *text)
{
	script_run(script, &result);
	assert_string_equal(result.lanes[0], text);
}

static void test_nesting_and_time(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 10, S(100), 'A');
	script_call(&script, 12, S(80), 'B');
	script_return(&script, 11, S(80), 'B'); /* a signal came between its place and its time */
	script_call(&script, 14, S(80), 'C');
	script_return(&script, 15, S(80), 'C');
	script_return(&script, 16, S(100), 'A');
	expect(&script, "1+A@10 2+B@12 2-B@12 2+C@14 2-C@15 1-A@16");
	assert_int_equal(result.counts.calls, 3);
	assert_int_equal(result.counts.returns, 3);
	assert_int_equal(result.counts.exceptions, 0);
}

/* More events than are handed out at a time, and more open calls than there is room at first. */
static void test_many(void **state)
{
	static struct script script;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		script_call(&script, i, S(60000 - i * 32), 'A');
	for (uint64_t i = 0; i < 1000; i++)
		script_return(&script, 1000 + i, S(60000 - (999 - i) * 32), 'A');
	script_run(&script, &result);
	assert_int_equal(result.counts.calls, 1000);
	assert_int_equal(result.counts.returns, 1000);
	assert_int_equal(result.counts.exceptions, 0);
}

static void test_call_above_dead_ones(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	script_call(&script, 2, S(80), 'B');
	script_call(&script, 3, S(60), 'C');
	script_call(&script, 4, S(70), 'D'); /* the frame of C lies below it */
	script_return(&script, 5, S(70), 'D');
	script_call(&script, 6, S(90), 'E');
	script_return(&script, 7, S(90), 'E');
	script_return(&script, 8, S(100), 'A');
	expect(&script, "1+A@1 2+B@2 3+C@3 3!C@4 3+D@4 3-D@5 2!B@6 2+E@6 2-E@7 1-A@8");
	assert_int_equal(result.counts.exceptions, 2);
}

/* B is inlined into A: it has A's stack pointer, and calls its hook from the code of A. */
static void test_inlined(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	for (uint64_t i = 0; i < 3; i++) { /* found out the first time, remembered afterwards */
		script_call_inlined(&script, 2, S(100), 'B', FUNCTION('A') + 0x40);
		script_call_inlined(&script, 3, S(100), 'C', FUNCTION('A') + 0x50);
		script_return(&script, 4, S(100), 'C');
		script_return(&script, 5, S(100), 'B');
	}
	script_return(&script, 6, S(100), 'A');
	expect(&script, "1+A@1 2+B@2 3+C@3 3-C@4 2-B@5 2+B@5 3+C@5 3-C@5 2-B@5 2+B@5 3+C@5 3-C@5 "
			"2-B@5 1-A@6");
}

/* The function of its own that is nearest below the place can be the inlined one itself. */
static void test_inlined_into_later_function(void **state)
{
	struct script script = { 0 };

	(void)state;
	/* D's own code lies behind the place, A's far before it */
	script_call(&script, 1, S(100), 'C');
	script_call_inlined(&script, 2, S(100), 'D', FUNCTION('C') + 0x40);
	script_return(&script, 3, S(100), 'D');
	script_call_inlined(&script, 4, S(100), 'A', FUNCTION('C') + 0x60);
	script_return(&script, 5, S(100), 'A');
	script_return(&script, 6, S(100), 'C');
	expect(&script, "1+C@1 2+D@2 2-D@3 2+A@4 2-A@5 1-C@6");
}

/* Two functions inlined into one that is not instrumented, which lies behind both of them. */
static void test_inlined_into_unseen_function(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call_inlined(&script, 1, S(100), 'A', FUNCTION('F') + 0x40);
	script_call_inlined(&script, 2, S(100), 'C', FUNCTION('F') + 0x60);
	script_return(&script, 3, S(100), 'C');
	script_return(&script, 4, S(100), 'A');
	expect(&script, "1+A@1 2+C@2 2-C@3 1-A@4");
}

/* The seldom part of a function can lie elsewhere, with others in between. */
static void test_inlined_far_from_its_host(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'E');
	script_return(&script, 2, S(100), 'E');
	script_call(&script, 3, S(100), 'C');
	script_call_inlined(&script, 4, S(100), 'D', FUNCTION('E') + 0x80);
	script_return(&script, 5, S(100), 'D');
	script_return(&script, 6, S(100), 'C');
	expect(&script, "1+E@1 1-E@2 1+C@3 2+D@4 2-D@5 1-C@6");
}

/* After a jump out of B, C is called from the same depth and has the stack pointer that B had. */
static void test_equal_stack_of_dead_call(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	script_call(&script, 2, S(80), 'B');
	script_call(&script, 3, S(80), 'C');
	script_return(&script, 4, S(80), 'C');
	script_call(&script, 5, S(80), 'B');
	script_call(&script, 6, S(80), 'A'); /* before B in memory */
	script_return(&script, 7, S(80), 'A');
	script_return(&script, 8, S(100), 'A');
	expect(&script, "1+A@1 2+B@2 2!B@3 2+C@3 2-C@4 2+B@5 2!B@6 2+A@6 2-A@7 1-A@8");
}

/* A hook that is called again from the same place, with no return in between. */
static void test_same_place_again(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	script_call_inlined(&script, 2, S(100), 'B', FUNCTION('A') + 0x40);
	script_call_inlined(&script, 3, S(100), 'C', FUNCTION('A') + 0x50);
	script_call_inlined(&script, 4, S(100), 'B', FUNCTION('A') + 0x40);
	script_call_inlined(&script, 5, S(100), 'B', FUNCTION('A') + 0x40);
	script_return(&script, 6, S(100), 'B');
	script_call(&script, 7, S(100), 'A');
	expect(&script, "1+A@1 2+B@2 3+C@3 3!C@4 2!B@4 2+B@4 2!B@5 2+B@5 2-B@6 1!A@7 1+A@7");
}

static void test_return_finds_its_call(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	script_call(&script, 2, S(80), 'B');
	script_call(&script, 3, S(60), 'C');
	script_return(&script, 4, S(80), 'B'); /* C was left */
	script_return(&script, 5, S(40), 'D'); /* never called */
	script_call(&script, 6, S(80), 'B');
	script_return(&script, 7, S(90), 'D'); /* never called, but B lies below */
	script_return(&script, 8, S(30), 'A'); /* alloca() */
	script_return(&script, 9, S(100), 'A');
	expect(&script, "1+A@1 2+B@2 3+C@3 3!C@4 2-B@4 2+B@6 2!B@7 1-A@8");
	assert_int_equal(result.counts.returns_without_call, 3);
}

/* A function that ends with a jump to its exit hook: this one sees the caller's stack pointer. */
static void test_exit_hook_by_jump(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	script_call(&script, 2, S(80), 'B');
	script_add(&script, UNIT_RETURN, 3, S(100), FUNCTION('A') + 0x60, FUNCTION('B'));
	script_call(&script, 4, S(80), 'A'); /* recursion: no return is the outer one's */
	script_call(&script, 5, S(60), 'A');
	script_add(&script, UNIT_RETURN, 6, S(80), FUNCTION('A') + 0x70, FUNCTION('A'));
	script_add(&script, UNIT_RETURN, 7, S(100), FUNCTION('A') + 0x70, FUNCTION('A'));
	script_call(&script, 8, S(80), 'B');
	script_call(&script, 9, S(60), 'C'); /* left */
	script_add(&script, UNIT_RETURN, 10, S(96), FUNCTION('A') + 0x60, FUNCTION('B'));
	script_call(&script, 11, S(90), 'D'); /* left in silence, and in its place */
	script_call(&script, 12, S(80), 'E');
	script_add(&script, UNIT_RETURN, 13, S(100), FUNCTION('A') + 0x60, FUNCTION('E'));
	script_add(&script, UNIT_RETURN, 14, S(200), 1, FUNCTION('A'));
	expect(&script, "1+A@1 2+B@2 2-B@3 2+A@4 3+A@5 3-A@6 2-A@7 2+B@8 3+C@9 3!C@10 2-B@10 "
			"2+D@11 3+E@12 3-E@13 2!D@14 1-A@14");
	assert_int_equal(result.counts.returns_without_call, 0);
}

static void test_patched_entries(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_add(&script, UNIT_ENTRY, 1, S(108), 0, FUNCTION('A'));
	script_add(&script, UNIT_ENTRY, 2, S(88), 0, FUNCTION('B'));
	script_add(&script, UNIT_ENTRY_TAIL, 3, S(88), 0, FUNCTION('C'));
	script_add(&script, UNIT_ENTRY, 4, S(68), 0, FUNCTION('D')); /* left */
	script_add(&script, UNIT_EXIT, 5, S(88), 0, 0);
	script_add(&script, UNIT_EXIT, 6, S(88), 0, 0); /* nothing there */
	script_add(&script, UNIT_ENTRY, 7, S(88), 0, FUNCTION('B'));
	script_add(&script, UNIT_ENTRY, 8, S(88), 0, FUNCTION('C')); /* B is gone */
	script_add(&script, UNIT_EXIT, 9, S(88), 0, 0);
	script_add(&script, UNIT_ENTRY, 10, S(88), 0, FUNCTION('B'));
	script_add(&script, UNIT_ENTRY, 11, S(60), 0, FUNCTION('D'));
	script_add(&script, UNIT_ENTRY_TAIL, 12, S(88), 0, FUNCTION('E')); /* D is gone */
	script_add(&script, UNIT_EXIT, 13, S(108), 0, 0);
	script_add(&script, UNIT_ENTRY, 14, S(108), 0, FUNCTION('A'));
	script_add(&script, UNIT_ENTRY_TAIL, 15, S(108), 0, FUNCTION('B'));
	script_add(&script, UNIT_EXIT, 16, S(108), 0, 0);
	expect(&script, "1+A@1 2+B@2 3+C@3 4+D@4 4!D@5 3-C@5 2-B@5 2+B@7 2!B@8 2+C@8 2-C@9 2+B@10 "
			"3+D@11 3!D@12 3+E@12 3!E@13 2!B@13 1-A@13 1+A@14 2+B@15 2-B@16 1-A@16");
	assert_int_equal(result.counts.returns_without_call, 1);
}

static void test_both_kinds(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	script_add(&script, UNIT_ENTRY, 2, S(92), 0, FUNCTION('B'));
	script_call(&script, 3, S(60), 'C');
	script_return(&script, 4, S(60), 'C');
	script_call(&script, 5, S(60), 'C'); /* left with B */
	script_add(&script, UNIT_EXIT, 6, S(92), 0, 0);
	/* one function with both, whose exit hook is reached by a jump */
	script_add(&script, UNIT_ENTRY, 7, S(92), 0, FUNCTION('D'));
	script_call(&script, 8, S(60), 'D');
	script_add(&script, UNIT_RETURN, 9, S(100), FUNCTION('A') + 0x60, FUNCTION('D'));
	script_add(&script, UNIT_EXIT, 10, S(92), 0, 0);
	script_return(&script, 11, S(100), 'A');
	expect(&script,
	       "1+A@1 2+B@2 3+C@3 3-C@4 3+C@5 3!C@6 2-B@6 2+D@7 3+D@8 3-D@9 2-D@10 1-A@11");
}

static void test_unwind(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	script_call(&script, 2, S(80), 'B');
	script_call(&script, 3, S(60), 'C');
	script_add(&script, UNIT_UNWIND, 4, S(80), 0, 0);
	script_call(&script, 5, S(60), 'C');
	script_return(&script, 6, S(60), 'C');
	script_return(&script, 7, S(80), 'B');
	expect(&script, "1+A@1 2+B@2 3+C@3 3!C@4 3+C@5 3-C@6 2-B@7");
}

/* gcc runs exit hooks while an exception unwinds: those of calls that it passes are exceptions. */
static void test_throw_and_catch(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	script_call(&script, 2, S(80), 'B');
	script_call(&script, 3, S(60), 'C');
	script_add(&script, UNIT_THROW, 4, 0, 0, 0);
	script_call(&script, 5, S(40), 'D'); /* a destructor */
	script_return(&script, 6, S(40), 'D');
	script_return(&script, 7, S(60), 'C');
	script_call(&script, 8, S(60), 'D'); /* as deep as C was */
	script_return(&script, 9, S(60), 'D');
	script_add(&script, UNIT_CATCH, 10, S(100), 0, 0); /* B has no hook for it */
	script_call(&script, 11, S(80), 'B');
	script_return(&script, 12, S(80), 'B');
	script_return(&script, 13, S(100), 'A');
	expect(&script, "1+A@1 2+B@2 3+C@3 4+D@5 4-D@6 3!C@7 3+D@8 3-D@9 2!B@10 2+B@11 2-B@12 "
			"1-A@13");
}

/* A destructor that throws and catches, while another exception is under way. */
static void test_throw_inside_throw(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	script_call(&script, 2, S(80), 'B');
	script_add(&script, UNIT_THROW, 3, 0, 0, 0);
	script_call(&script, 4, S(60), 'C');
	script_call(&script, 5, S(40), 'D');
	script_add(&script, UNIT_THROW, 6, 0, 0, 0);
	script_return(&script, 7, S(40), 'D');
	script_add(&script, UNIT_CATCH, 8, S(60), 0, 0);
	script_return(&script, 9, S(60), 'C');
	script_return(&script, 10, S(80), 'B');
	script_add(&script, UNIT_CATCH, 11, S(100), 0, 0);
	script_return(&script, 12, S(100), 'A');
	expect(&script, "1+A@1 2+B@2 3+C@4 4+D@5 4!D@7 3-C@9 2!B@10 1-A@12");
}

static void test_thread_exit(void **state)
{
	struct script script = { .end = SCRIPT_IS_LEFT };

	(void)state;
	script_add(&script, UNIT_ENTRY, 1, S(108), 0, FUNCTION('A'));
	script_call(&script, 2, S(80), 'B');
	script_call(&script, 3, S(60), 'C');
	script_add(&script, UNIT_THREAD_EXIT, 4, 0, 0, 0);
	script_call(&script, 5, S(40), 'D');
	script_return(&script, 6, S(40), 'D');
	script_return(&script, 7, S(60), 'C');
	script_call(&script, 8, S(60), 'D'); /* as deep as C was */
	script_return(&script, 9, S(60), 'D');
	script_add(&script, UNIT_CATCH, 10, S(80), 0, 0); /* a handler, which throws again */
	script_return(&script, 11, S(80), 'B');
	script_call(&script, 12, S(60), 'E');
	expect(&script, "1+A@1 2+B@2 3+C@3 4+D@5 4-D@6 3!C@7 3+D@8 3-D@9 2!B@11 2+E@12 2!E@12 "
			"1!A@12");
}

static void test_gaps(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	script_call(&script, 2, S(80), 'B');
	script_call(&script, 3, S(60), 'C');
	script_add(&script, UNIT_GAP, 10, 0, 5, 0);
	script_call(&script, 20, S(80), 'D'); /* B and C returned unseen */
	script_call(&script, 21, S(60), 'C');
	script_add(&script, UNIT_PAUSE, 30, 0, 0, 0);
	script_add(&script, UNIT_RESUME, 40, 0, 0, 0);
	script_call(&script, 50, S(40), 'E');
	script_call(&script, 51, S(90), 'F'); /* E was left now, C and D in the pause */
	script_return(&script, 52, S(60), 'X');
	script_return(&script, 53, S(90), 'F');
	script_return(&script, 54, S(100), 'A');
	expect(&script, "1+A@1 2+B@2 3+C@3 3-C@10 2-B@10 2+D@20 3+C@21 4+E@50 4!E@51 3-C@51 2-D@51 "
			"2+F@51 2-F@53 1-A@54");
	assert_int_equal(result.counts.dropped, 5);
	assert_int_equal(result.counts.returns_without_call, 1);
}

static void test_min_time(void **state)
{
	struct script script = { .options = { .min_time_ns = 10 } };

	(void)state;
	script_call(&script, 100, S(100), 'A');
	script_call(&script, 101, S(80), 'B'); /* 9 ns, with C inside */
	script_call(&script, 102, S(60), 'C');
	script_return(&script, 103, S(60), 'C');
	script_return(&script, 110, S(80), 'B');
	script_call(&script, 111, S(80), 'D'); /* 20 ns */
	script_call(&script, 112, S(60), 'E'); /* left after 10 ns */
	script_call(&script, 122, S(60), 'F'); /* left after 9 ns */
	script_return(&script, 131, S(80), 'D');
	script_return(&script, 132, S(100), 'A');
	expect(&script, "1+A@100 2+D@111 3+E@112 3!E@122 2-D@131 1-A@132");
	assert_int_equal(result.counts.short_calls, 3);
	assert_int_equal(result.counts.calls, 3);
}

/* A call that ended in a gap lasted until the gap, not until it was missed. */
static void test_min_time_and_gap(void **state)
{
	struct script script = { .options = { .min_time_ns = 10 } };

	(void)state;
	script_call(&script, 100, S(100), 'A');
	script_call(&script, 108, S(80), 'B');
	script_add(&script, UNIT_GAP, 112, 0, 1, 0);
	script_call(&script, 200, S(90), 'C');
	script_return(&script, 230, S(90), 'C');
	expect(&script, "1+A@100 2+C@200 2-C@230");
	assert_int_equal(result.counts.short_calls, 1);
}

/* A call is written as soon as it has lasted long enough, not only when it ends. */
static void test_min_time_while_open(void **state)
{
	struct script script = { .options = { .min_time_ns = 10 } };

	(void)state;
	script_call(&script, 100, S(100), 'A');
	script_call(&script, 105, S(80), 'B');
	script_call(&script, 112, S(60), 'C');
	expect(&script, "1+A@100");
	script_return(&script, 115, S(40), 'D'); /* unknown, but it tells the time */
	expect(&script, "1+A@100 2+B@105");
}

/* What is still open at the end is written, however short it was. */
static void test_min_time_at_the_end(void **state)
{
	struct script script = { .options = { .min_time_ns = 10 }, .end = SCRIPT_STAYS_OPEN };

	(void)state;
	script_call(&script, 100, S(100), 'A');
	script_call(&script, 115, S(80), 'B');
	expect(&script, "1+A@100 2+B@115");
	script.end = SCRIPT_IS_LEFT;
	expect(&script, "1+A@100 1!A@115");
}

static void test_max_depth(void **state)
{
	struct script script = { .options = { .max_depth = 2 } };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	script_call(&script, 2, S(80), 'B');
	script_call(&script, 3, S(60), 'C');
	script_call(&script, 4, S(40), 'D');
	script_return(&script, 5, S(40), 'D');
	script_return(&script, 6, S(80), 'B'); /* C was left */
	script_add(&script, UNIT_THROW, 7, 0, 0, 0);
	script_call(&script, 8, S(80), 'B');
	script_call(&script, 9, S(60), 'C');
	script_return(&script, 10, S(60), 'C');
	script_return(&script, 11, S(80), 'B');
	script_return(&script, 12, S(100), 'A');
	expect(&script, "1+A@1 2+B@2 2-B@6 2+B@8 2-B@11 1!A@12");
	assert_int_equal(result.counts.deep_calls, 3);
	script.options.min_time_ns = 4;
	expect(&script, "1+A@1 2+B@2 2-B@6 1!A@12");
	assert_int_equal(result.counts.short_calls, 1);
	assert_int_equal(result.counts.deep_calls, 3);
}

static void test_details(void **state)
{
	static const char large[LANE_DETAIL_UNITS * 32];
	struct script script = { 0 };

	(void)state;
	script_call(&script, 100, S(100), 'A');
	script_add_detail(&script, "one", 3);
	script_call(&script, 101, S(80), 'B');
	script_add_detail(&script, "two", 3);
	script_call(&script, 102, S(60), 'C');
	script_return(&script, 103, S(60), 'C');
	script_add_detail(&script, "three, which is longer than one unit of 32", 42);
	script_return(&script, 105, S(80), 'B');
	script_return(&script, 120, S(100), 'A');
	expect(&script, "1+A@100#0 2+B@101#1 3+C@102 3-C@103#2 2-B@105 1-A@120");
	assert_string_equal(result.notes, "detail 0 of 0: one;detail 1 of 1: two;detail 2 of 3: "
					  "three, which is longer than one unit of 32;");
	/* held back: only the details of what is written; B is too short */
	script.options.min_time_ns = 10;
	expect(&script, "1+A@100#0 1-A@120");
	assert_string_equal(result.notes, "detail 0 of 0: one;");
	/* a call without a detail does not take that of an earlier one as deep as it */
	script_call(&script, 200, S(80), 'D');
	script_return(&script, 220, S(80), 'D');
	expect(&script, "1+A@100#0 1-A@120 1+D@200 1-D@220");
	/* nor is one kept that is larger than any should be */
	script_call(&script, 300, S(80), 'E');
	script_add_detail(&script, large, sizeof(large));
	script_return(&script, 320, S(80), 'E');
	expect(&script, "1+A@100#0 1-A@120 1+D@200 1-D@220 1+E@300 1-E@320");
	script.count -= 2 + sizeof(large) / 32 + 1;
	script.options.max_depth = 1;
	script.options.min_time_ns = 0;
	expect(&script, "1+A@100#0 1-A@120 1+D@200 1-D@220");
	assert_string_equal(result.notes, "detail 0 of 0: one;");
}

/* More than are given out at a time, of patched entries; some are longer, shorter or bare. */
static void test_many_details(void **state)
{
	enum { PAIRS = 80, LONGER = 75, SHORTER = 77, BARE = 78 };
	struct script script = { 0 };
	char events[PAIRS * 32] = "", notes[PAIRS * 64] = "", text[64];
	uint32_t detail = 0;

	(void)state;
	for (uint32_t i = 0; i < PAIRS; i++) {
		int size = snprintf(text, sizeof(text), i == LONGER ? "%040u" : "%02u", i);

		script_add(&script, UNIT_ENTRY, 2 * i, S(80), 0x1234, FUNCTION('A'));
		script_add_detail(&script, text, (size_t)size);
		snprintf(events + strlen(events), sizeof(events) - strlen(events), "%s1+A@%u#%u",
			 i ? " " : "", 2 * i, detail);
		snprintf(notes + strlen(notes), sizeof(notes) - strlen(notes),
			 "detail %u of %u: %s;", detail++, 2 * i, text);
		script_add(&script, UNIT_EXIT, 2 * i + 1, S(80), 0x1234, FUNCTION('A'));
		snprintf(events + strlen(events), sizeof(events) - strlen(events), " 1-A@%u",
			 2 * i + 1);
		if (i == BARE)
			continue;
		if (i == SHORTER)
			size = 1;
		script_add_detail(&script, text, (size_t)size);
		snprintf(events + strlen(events), sizeof(events) - strlen(events), "#%u", detail);
		snprintf(notes + strlen(notes), sizeof(notes) - strlen(notes),
			 "detail %u of %u: %.*s;", detail++, 2 * i + 1, size, text);
	}
	expect(&script, events);
	assert_string_equal(result.notes, notes);
}

static void test_notes(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	script_add(&script, UNIT_MARK, 2, 0, 5, 0);
	script_add_detail(&script, "hello, world", 5);
	script_call(&script, 3, S(80), 'B');
	script_add(&script, UNIT_REQUEST, 4, 0, REQUEST_FLUSH, 0);
	script_add(&script, UNIT_FORK, 5, 0, 77, 0);
	script_add(&script, UNIT_MARK, 6, 0, 1000000, 0); /* more than there is */
	script_add_detail(&script, "", 0);
	/* a mark is an event, too */
	expect(&script, "1+A@1 1*c@2#0 2+B@3 2*c@6#1");
	assert_string_equal(
		result.notes,
		"note 15@2 5 5 hello after 1;"
		"kind 5 of 1 extra 0: 05 00 00 00 68 65 6c 6c 6f 00 00 00 ff ff ff ff (16);"
		"note 16@4 1 0  after 3;note 10@5 77 0  after 3;"
		"note 15@6 1000000 0  after 3;"
		"kind 5 of 3 extra 0: 00 00 00 00 ff ff ff ff (8);");
	assert_int_equal(UNIT_MARK, 15);
}

static void test_garbage(void **state)
{
	struct script script = { 0 };
	struct shared_detail *detail;

	(void)state;
	script_call(&script, 1, S(100), 'A');
	script_add(&script, UNIT_EMPTY, 2, 0, 0, 0);
	script_add(&script, UNIT_SKIP, 900, 0, 0, 0);
	script_add(&script, UNIT_KIND_COUNT, 901, 3, 3, 3);
	script_add(&script, 0x7f, 902, 3, 3, 3);
	script_return(&script, 3, S(100), 'A');
	expect(&script, "1+A@1 1-A@3");
	script_call(&script, 4, S(100), 'B');
	script_add_detail(&script, "text", 4);
	detail = (struct shared_detail *)&script.units[script.count - 2];
	detail->units = 4;
	assert_int_equal(script_try(&script, &result), SONDE_CORRUPT);
	detail->units = 1;
	assert_int_equal(script_try(&script, &result), SONDE_CORRUPT);
	detail->units = 3;
	detail->stack_size = 33;
	assert_int_equal(script_try(&script, &result), SONDE_CORRUPT);
	detail->stack_size = 32;
	assert_int_equal(script_try(&script, &result), SONDE_OK);
	script.count--;
	assert_int_equal(script_try(&script, &result), SONDE_CORRUPT);
	script.count--;
	assert_int_equal(script_try(&script, &result), SONDE_CORRUPT);
}

/* Addresses in no module have numbers, address 0 too: that is not what an empty place of a cache means. */
static void test_functions_of_no_module(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	for (uint64_t function = 0; function < 3; function++) {
		script_add(&script, UNIT_CALL, 2, S(80), 0x20, function * 0x8000);
		script_add(&script, UNIT_RETURN, 3, S(80), 0x30, function * 0x8000);
	}
	script_return(&script, 4, S(100), 'A');
	assert_int_equal(script_try(&script, &result), SONDE_OK);
	assert_int_equal(result.counts.calls, 4);
	assert_int_equal(result.counts.returns, 4);
	assert_int_equal(result.unknown_functions, 3);
}

/* Whatever the units say, the output is nested; see call_script.c. */
static void test_random(void **state)
{
	static struct script script;
	uint64_t random = 1;

	(void)state;
	for (int round = 0; round < 400; round++) {
		memset(&script, 0, sizeof(script));
		script.options.max_depth = round % 3 == 1 ? 4 : 0;
		script.options.min_time_ns = round % 5 == 1 ? 20 : 0;
		script.stack_unknown = round % 7 == 1;
		script.end = (enum script_end)(round % 3);
		for (uint64_t i = 0; i < 500; i++) {
			uint64_t kind, stack;

			random = random * 6364136223846793005u + 1442695040888963407u;
			/* mostly calls and returns */
			kind = random >> 60 > 2 ? 1 + (random >> 50) % 5 :
						  (random >> 50) % UNIT_KIND_COUNT;
			stack = S((random >> 32) % 64 * 8 - (round % 4) * 0x4000);
			if (kind == UNIT_STACK)
				script_add(&script, kind, i, stack, stack + (random >> 20) % 512,
					   1 + (random >> 40) % 3);
			else
				script_add(&script, kind, i * 5 + (random >> 44) % 16, stack,
					   HOOK('A' + (random >> 25) % 8),
					   FUNCTION('A' + (random >> 20) % 8));
		}
		assert_int_equal(script_try(&script, &result), SONDE_OK);
		if (script.end == SCRIPT_IS_LEFT)
			assert_int_equal(result.counts.calls,
					 result.counts.returns + result.counts.exceptions);
	}
}

static void test_end(void **state)
{
	struct script script = { .end = SCRIPT_STAYS_OPEN };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	script_add(&script, UNIT_GAP, 2, 0, 1, 0);
	script_call(&script, 3, S(80), 'B');
	script_return(&script, 9, S(20), 'X');
	expect(&script, "1+A@1 2+B@3");
	script.end = SCRIPT_IS_LEFT;
	expect(&script, "1+A@1 2+B@3 2!B@9 1!A@9");
}

/* What a forked child is inside of. */
struct fork_sink {
	struct calls *calls;
	struct open_call *open;
	size_t count;
};

static enum sonde_status ignore_events(void *context, uint32_t lane, struct atf_index_event *events,
				       size_t count, struct sonde_error *err)
{
	(void)context, (void)lane, (void)events, (void)count, (void)err;
	return SONDE_OK;
}

static enum sonde_status copy_at_fork(void *context, enum unit_kind kind, uint64_t time_ns,
				      const struct shared_unit *unit, const char *text, size_t size,
				      struct sonde_error *err)
{
	struct fork_sink *sink = context;

	(void)time_ns, (void)unit, (void)text, (void)size;
	assert_int_equal(kind, UNIT_FORK);
	return calls_copy_open(sink->calls, &sink->open, &sink->count, err);
}

static void test_fork(void **state)
{
	struct script parent = { 0 }, child = { 0 };
	struct fork_sink sink = { 0 };
	struct calls_output output = { .context = &sink,
				       .events = ignore_events,
				       .note = copy_at_fork };
	struct record_clock clock = { .multiplier = UINT64_C(1) << 32 };
	struct calls_options options = { 0 };
	const struct open_call *open;
	struct load_map map;
	size_t count;

	(void)state;
	script_call(&parent, 1, S(100), 'A');
	script_call(&parent, 2, S(80), 'B');
	script_add(&parent, UNIT_FORK, 3, 0, 1, 0);
	script_return(&parent, 4, S(80), 'B');
	load_map_init(&map, 1, NULL);
	assert_int_equal(calls_new(&sink.calls, &options, &clock, &map, STACK_LOW, STACK_HIGH,
				   &output, NULL),
			 SONDE_OK);
	assert_int_equal(calls_convert(sink.calls, parent.units, parent.count, NULL), SONDE_OK);
	assert_int_equal(calls_flush(sink.calls, NULL), SONDE_OK);
	open = calls_open(sink.calls, 0, &count);
	assert_int_equal(count, 1);
	assert_int_equal(open[0].function, FUNCTION('A'));
	assert_null(calls_open(sink.calls, 1, &count));
	assert_int_equal(sink.count, 2);

	child.reopen = sink.open;
	child.reopen_count = sink.count;
	script_return(&child, 10, S(80), 'B');
	script_return(&child, 11, S(100), 'A');
	expect(&child, "1+A@1 2+B@1 2-B@10 1-A@11");
	assert_int_equal(result.unknown_functions, 0);
	/* opened long ago, so not short */
	child.options.min_time_ns = 1000;
	expect(&child, "1+A@1 2+B@1 2-B@10 1-A@11");
	child.options.max_depth = 1;
	expect(&child, "1+A@1 1-A@11");
	free(sink.open);
	calls_free(sink.calls);
	load_map_release(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nesting_and_time),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_call_above_dead_ones),
		cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_inlined_into_later_function),
		cmocka_unit_test(test_inlined_into_unseen_function),
		cmocka_unit_test(test_inlined_far_from_its_host),
		cmocka_unit_test(test_equal_stack_of_dead_call),
		cmocka_unit_test(test_same_place_again),
		cmocka_unit_test(test_return_finds_its_call),
		cmocka_unit_test(test_exit_hook_by_jump),
		cmocka_unit_test(test_patched_entries),
		cmocka_unit_test(test_both_kinds),
		cmocka_unit_test(test_unwind),
		cmocka_unit_test(test_throw_and_catch),
		cmocka_unit_test(test_throw_inside_throw),
		cmocka_unit_test(test_thread_exit),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_min_time),
		cmocka_unit_test(test_min_time_and_gap),
		cmocka_unit_test(test_min_time_while_open),
		cmocka_unit_test(test_min_time_at_the_end),
		cmocka_unit_test(test_max_depth),
		cmocka_unit_test(test_details),
		cmocka_unit_test(test_many_details),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_functions_of_no_module),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
