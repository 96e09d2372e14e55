/* SPDX-License-Identifier: Apache-2.0 */
/* Units to events where a thread has several stacks: coroutines, signal handlers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "call_script.h"
#include "record/mapping.h"

static struct script_result result;

/* Stacks elsewhere. */
#define X UINT64_C(0x600000000000)
#define Y UINT64_C(0x600000100000)
#define SIZE UINT64_C(0x10000)

/* What the process has mapped, for stacks that nobody announced. */
static uint64_t mapped_low, mapped_high;
static unsigned int lookups;

static bool find_made_up(uint32_t pid, uint64_t address, struct record_mapping *mapping)
{
	(void)pid;
	lookups++;
	if (address < mapped_low || address >= mapped_high)
		return false;
	*mapping = (struct record_mapping){ .low = mapped_low, .high = mapped_high };
	return true;
}

static int setup(void **state)
{
	(void)state;
	record_mapping_find = find_made_up;
	mapped_low = mapped_high = 0;
	lookups = 0;
	return 0;
}

static void announce(struct script *script, uint64_t time, uint64_t low, uint64_t high,
		     enum stack_use use)
{
	script_add(script, UNIT_STACK, time, low, high, use);
}

static void expect(const struct script *script, const char *first, const char *second,
		   const char *third)
{
	script_run(script, &result);
	assert_string_equal(result.lanes[0], first);
	assert_string_equal(result.lanes[1], second);
	assert_string_equal(result.lanes[2], third);
}

static void test_coroutines(void **state)
{
	struct script script = { 0 };

	(void)state;
	announce(&script, 1, X, X + SIZE, STACK_COROUTINE);
	announce(&script, 1, Y, Y + SIZE, STACK_COROUTINE);
	script_call(&script, 2, S(100), 'A');
	script_call(&script, 3, Y + 1000, 'B');
	script_call(&script, 4, X + 1000, 'C');
	script_call(&script, 5, Y + 900, 'D');
	script_call(&script, 6, S(80), 'E');
	script_return(&script, 7, S(80), 'E');
	script_return(&script, 8, X + 1000, 'C');
	script_return(&script, 9, Y + 900, 'D');
	script_return(&script, 10, S(100), 'A');
	/* by a jump to the exit hook, from the very end of the stack */
	script_add(&script, UNIT_RETURN, 11, Y + SIZE, 0, FUNCTION('B'));
	expect(&script, "1+A@2 2+E@6 2-E@7 1-A@10", "1+B@3 2+D@5 2-D@9 1-B@11", "1+C@4 1-C@8");
	assert_int_equal(result.lane_count, 3);
	assert_int_equal(result.lane_low[1], Y);
	assert_int_equal(result.lane_high[2], X + SIZE);
	assert_int_equal(lookups, 0);
}

/* What is open on a stack when it is announced again was left by the coroutine before. */
static void test_recycled_stack(void **state)
{
	struct script script = { 0 };

	(void)state;
	announce(&script, 1, X, X + SIZE, STACK_COROUTINE);
	script_call(&script, 2, X + 1000, 'A');
	script_call(&script, 3, S(100), 'B');
	announce(&script, 4, X, X + SIZE, STACK_COROUTINE);
	script_call(&script, 5, X + 900, 'C');
	announce(&script, 6, X, X + SIZE, STACK_GONE);
	announce(&script, 7, X + 64, X + SIZE, STACK_COROUTINE); /* the same end */
	script_call(&script, 8, X + 900, 'D');
	/* another one, which lies across */
	announce(&script, 9, X - 64, X + SIZE - 64, STACK_COROUTINE);
	script_call(&script, 10, X + 900, 'E');
	expect(&script, "1+B@3", "1+A@2 1!A@4 1+C@5 1!C@6 1+D@8 1!D@9", "1+E@10");
}

/* Stacks in local arrays of a function are gone when the stack pointer is above them again. */
static void test_stack_on_the_stack(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(2000), 'A');
	script_call(&script, 2, S(100), 'B'); /* with an array of 1000 bytes above */
	announce(&script, 3, S(500), S(900), STACK_COROUTINE);
	announce(&script, 3, S(900), S(1300), STACK_COROUTINE);
	script_call(&script, 4, S(700), 'C');
	script_call(&script, 5, S(80), 'D');
	script_call(&script, 6, S(1000), 'E');
	script_return(&script, 7, S(700), 'C');
	script_return(&script, 8, S(80), 'D');
	script_return(&script, 9, S(100), 'B');
	script_call(&script, 10, S(1900), 'F');
	script_call(&script, 11, S(700), 'G'); /* now a plain call */
	script_return(&script, 12, S(700), 'G');
	script_call(&script, 13, S(1000), 'H');
	expect(&script, "1+A@1 2+B@2 3+D@5 3-D@8 2-B@9 2+F@10 3+G@11 3-G@12 3+H@13", "1+C@4 1-C@7",
	       "1+E@6 1!E@10");
}

/* The next function has its array a little off, and nothing above was called in between. */
static void test_stack_across_a_stale_one(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	announce(&script, 2, S(500), S(900), STACK_COROUTINE);
	script_call(&script, 3, S(700), 'B');
	announce(&script, 4, S(400), S(800), STACK_COROUTINE);
	script_call(&script, 5, S(600), 'C');
	announce(&script, 6, S(600), S(1000), STACK_SIGNAL);
	announce(&script, 6, S(600), S(1000), STACK_COROUTINE);
	script_call(&script, 7, S(80), 'D');
	script_call(&script, 8, S(1100), 'E');
	script_call(&script, 9, S(900), 'F');
	expect(&script, "1+A@1 2+D@7 2!D@8 1!A@8 1+E@8 2+F@9", "1+B@3 1!B@4", "1+C@5 1!C@6");
}

/* With unknown bounds, the thread's stack is all that no other is. */
static void test_unknown_own_stack(void **state)
{
	struct script script = { .stack_unknown = true };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	announce(&script, 2, X, X + SIZE, STACK_COROUTINE);
	announce(&script, 2, Y, Y + SIZE, STACK_COROUTINE);
	script_call(&script, 3, X + 100, 'B');
	script_call(&script, 4, S(80), 'C');
	script_call(&script, 5, X + 80, 'D');
	script_return(&script, 6, S(80), 'C');
	script_return(&script, 7, X + 80, 'D');
	script_return(&script, 8, S(100), 'A');
	script_call(&script, 9, Y + 80, 'D');
	script_return(&script, 10, X + 100, 'B');
	expect(&script, "1+A@1 2+C@4 2-C@6 1-A@8", "1+B@3 2+D@5 2-D@7 1-B@10", "1+D@9");
	assert_int_equal(lookups, 0);
}

/* A handler on a stack of its own is inside what it interrupted, wherever that stack lies. */
static void test_signal_stack(void **state)
{
	struct script script = { 0 };

	(void)state;
	announce(&script, 1, Y, Y + SIZE, STACK_SIGNAL);
	announce(&script, 1, X, X + SIZE, STACK_COROUTINE);
	script_call(&script, 2, S(100), 'A');
	script_call(&script, 3, Y + 1000, 'B');
	script_call(&script, 4, Y + 900, 'C');
	script_return(&script, 5, Y + 900, 'C');
	script_add(&script, UNIT_RETURN, 6, Y + 1100, 0, FUNCTION('B')); /* by a jump */
	script_call(&script, 7, S(80), 'D');
	script_call(&script, 8, Y + 1000, 'B'); /* left by siglongjmp() */
	script_call(&script, 9, Y + 1050, 'E'); /* B was left before that */
	script_call(&script, 10, S(60), 'F');
	script_call(&script, 11, X + 500, 'A'); /* interrupts a coroutine next */
	script_call(&script, 12, Y + 1000, 'B');
	script_return(&script, 13, Y + 1000, 'B');
	script_return(&script, 14, X + 500, 'A');
	expect(&script, "1+A@2 2+B@3 3+C@4 3-C@5 2-B@6 2+D@7 3+B@8 3!B@9 3+E@9 3!E@10 3+F@10",
	       "1+A@11 2+B@12 2-B@13 1-A@14", "");
	assert_int_equal(result.lane_count, 2);
}

/* The same addresses must not be compared across: a signal stack above and below the thread's. */
static void test_unwind_from_signal_stack(void **state)
{
	static const uint64_t places[] = { X, UINT64_C(0x7fff00000000) };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct script script = { 0 };

		announce(&script, 1, places[i], places[i] + SIZE, STACK_SIGNAL);
		script_call(&script, 2, S(100), 'A');
		script_call(&script, 3, S(80), 'B');
		script_call(&script, 4, places[i] + 500, 'C');
		script_call(&script, 5, places[i] + 400, 'D');
		script_add(&script, UNIT_UNWIND, 6, places[i] + 450, 0, 0);
		script_call(&script, 7, places[i] + 400, 'E');
		script_add(&script, UNIT_UNWIND, 8, S(100), 0, 0);
		script_return(&script, 9, S(100), 'A');
		expect(&script, "1+A@2 2+B@3 3+C@4 4+D@5 4!D@6 4+E@7 4!E@8 3!C@8 2!B@8 1-A@9", "",
		       "");
	}
}

/* Returns on a signal stack whose calls were not seen do not reach into what was interrupted. */
static void test_signal_stack_is_a_floor(void **state)
{
	struct script script = { 0 };

	(void)state;
	announce(&script, 1, Y, Y + SIZE, STACK_SIGNAL);
	script_call(&script, 2, S(100), 'A');
	script_return(&script, 3, Y + 500, 'A');
	script_add(&script, UNIT_EXIT, 4, Y + 500, 0, 0);
	script_add(&script, UNIT_ENTRY, 5, Y + 600, 0, FUNCTION('B'));
	script_add(&script, UNIT_EXIT, 6, Y + 600, 0, 0);
	announce(&script, 7, Y, Y + SIZE, STACK_GONE);
	announce(&script, 7, Y + SIZE, Y + 2 * SIZE, STACK_SIGNAL);
	script_call(&script, 8, Y + SIZE + 8, 'C');
	script_return(&script, 9, S(100), 'A');
	script_call(&script, 10, Y + 500, 'D'); /* no longer a signal stack */
	expect(&script, "1+A@2 2+B@5 2-B@6 2+C@8 2!C@9 1-A@9", "1+D@10", "");
	assert_int_equal(result.counts.returns_without_call, 2);
}

/* Switching written by hand: two stacks from one mapping, told apart by their outermost calls. */
static void test_unannounced_stacks(void **state)
{
	struct script script = { 0 };

	(void)state;
	mapped_low = X;
	mapped_high = X + 8 * SIZE;
	script_call(&script, 1, S(100), 'A');
	script_call(&script, 2, X + SIZE - 100, 'B');
	script_call(&script, 3, X + SIZE - 300, 'C');
	script_call(&script, 4, X + 2 * SIZE - 100, 'D');
	script_call(&script, 5, X + 2 * SIZE - 300, 'E');
	script_call(&script, 6, S(80), 'F');
	script_return(&script, 7, X + SIZE - 300, 'C');
	script_return(&script, 8, X + 2 * SIZE - 300, 'E');
	/* by a jump, a little above; then a call with a smaller frame than the first */
	script_add(&script, UNIT_RETURN, 9, X + SIZE - 20, 0, FUNCTION('B'));
	script_call(&script, 10, X + SIZE - 10, 'G');
	script_return(&script, 11, X + 2 * SIZE - 20, 'D');
	script_return(&script, 12, X + SIZE - 10, 'G');
	expect(&script, "1+A@1 2+F@6", "1+B@2 2+C@3 2-C@7 1-B@9 1+G@10 1-G@12",
	       "1+D@4 2+E@5 2-E@8 1-D@11");
	assert_int_equal(result.lane_count, 3);
	assert_int_equal(lookups, 2); /* one in each run */
}

/* Where the mapping is not to be found (the process is gone), a guess that grows. */
static void test_unmapped_stack(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_return(&script, 1, Y, 'A'); /* no lane for a return alone */
	script_add(&script, UNIT_UNWIND, 1, Y, 0, 0);
	assert_int_equal(script_try(&script, &result), SONDE_OK);
	assert_int_equal(lookups, 0);
	script_call(&script, 2, X, 'A');
	for (uint64_t i = 1; i < 20; i++)
		script_call(&script, 2 + i, X - i * 0x4000, 'B');
	for (uint64_t i = 19; i > 0; i--)
		script_return(&script, 50, X - i * 0x4000, 'B');
	script_return(&script, 51, X, 'A');
	script_call(&script, 52, 0, 'A');
	script_call(&script, 53, UINT64_MAX, 'A');
	script_call(&script, 54, UINT64_MAX - 1, 'A');
	script_call(&script, 55, 1, 'A');
	script_run(&script, &result);
	assert_string_equal(result.lanes[0], "");
	assert_int_equal(result.counts.returns_without_call, 1);
	assert_int_equal(result.counts.exceptions, 0);
	assert_int_equal(result.counts.returns, 20);
	assert_int_equal(result.lane_count, 4);
}

/* The process ended after the first stack was found: the one below it is another all the same. */
static void test_unmapped_below_mapped(void **state)
{
	struct script script = { 0 };

	(void)state;
	mapped_low = X;
	mapped_high = X + SIZE;
	script_call(&script, 1, X + SIZE - 100, 'A');
	script_call(&script, 2, X - 0x1000 - 100, 'B');
	script_return(&script, 3, X + SIZE - 100, 'A');
	script_return(&script, 4, X - 0x1000 - 100, 'B');
	expect(&script, "", "1+A@1 1-A@3", "1+B@2 1-B@4");
}

/* Garbage does not make files without end. */
static void test_too_many_guesses(void **state)
{
	static struct script script;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		script_call(&script, i, X + i * 0x1000000, 'A');
	assert_int_equal(script_try(&script, &result), SONDE_OK);
	assert_int_equal(result.lane_count, 65);
}

/* The stack of the first thread grows below what was its limit at first. */
static void test_growing_own_stack(void **state)
{
	struct script script = { 0 };

	(void)state;
	mapped_low = STACK_LOW - 0x40000;
	mapped_high = STACK_HIGH;
	script_call(&script, 1, S(100), 'A');
	script_call(&script, 2, STACK_LOW - 0x20000, 'B');
	script_call(&script, 3, STACK_LOW - 0x30000, 'C');
	script_return(&script, 4, STACK_LOW - 0x30000, 'C');
	script_return(&script, 5, STACK_LOW - 0x20000, 'B');
	script_return(&script, 6, S(100), 'A');
	expect(&script, "1+A@1 2+B@2 3+C@3 3-C@4 2-B@5 1-A@6", "", "");
}

/* Announcements that make no sense change nothing. */
static void test_nonsense(void **state)
{
	struct script script = { 0 };

	(void)state;
	script_call(&script, 1, S(100), 'A');
	announce(&script, 2, S(50), S(40), STACK_COROUTINE);
	announce(&script, 2, STACK_LOW - 1000, S(200), STACK_COROUTINE);
	announce(&script, 2, 0, UINT64_MAX, STACK_COROUTINE);
	announce(&script, 2, 0, UINT64_MAX - 1, STACK_COROUTINE);
	announce(&script, 2, STACK_LOW, STACK_HIGH, STACK_COROUTINE);
	announce(&script, 2, STACK_LOW, STACK_HIGH, STACK_GONE);
	announce(&script, 2, S(0), S(200), 9);
	script_call(&script, 3, S(80), 'B');
	expect(&script, "1+A@1 2+B@3", "", "");
}

static void test_ends_of_lanes(void **state)
{
	struct script script = { .end = SCRIPT_IS_LEFT };

	(void)state;
	announce(&script, 1, X, X + SIZE, STACK_COROUTINE);
	script_call(&script, 2, S(100), 'A');
	script_call(&script, 3, X + 100, 'B');
	script_call(&script, 4, S(80), 'C');
	expect(&script, "1+A@2 2+C@4 2!C@4 1!A@4", "1+B@3 1!B@4", "");
	script.options.min_time_ns = 100;
	script.end = SCRIPT_STAYS_OPEN;
	expect(&script, "1+A@2 2+C@4", "1+B@3", "");
}

/* A throw on one stack is nothing to another. */
static void test_throw_on_coroutine(void **state)
{
	struct script script = { 0 };

	(void)state;
	announce(&script, 1, X, X + SIZE, STACK_COROUTINE);
	script_call(&script, 2, S(100), 'A');
	script_call(&script, 3, X + 100, 'B');
	script_call(&script, 4, X + 80, 'C');
	script_add(&script, UNIT_THROW, 5, 0, 0, 0);
	script_return(&script, 6, S(100), 'A');
	script_return(&script, 7, X + 80, 'C');
	script_add(&script, UNIT_CATCH, 8, X + 100, 0, 0);
	script_return(&script, 9, X + 100, 'B');
	expect(&script, "1+A@2 1-A@6", "1+B@3 2+C@4 2!C@7 1-B@9", "");
}

static void test_random_stacks(void **state)
{
	static struct script script;
	uint64_t random = 7;

	(void)state;
	for (int round = 0; round < 300; round++) {
		memset(&script, 0, sizeof(script));
		script.options.min_time_ns = round % 5 == 1 ? 20 : 0;
		script.stack_unknown = round % 7 == 1;
		script.end = SCRIPT_IS_LEFT;
		mapped_low = X + (round % 3) * 0x800;
		mapped_high = mapped_low + 0x4000;
		for (uint64_t i = 0; i < 500; i++) {
			uint64_t stack;

			random = random * 6364136223846793005u + 1442695040888963407u;
			stack = X + (random >> 40) % 0x6000 * 8;
			if (random >> 61 == 0)
				announce(&script, i, stack, stack + (random >> 20) % 4096,
					 1 + (random >> 50) % 3);
			else if (random >> 61 == 1)
				script_call(&script, i, S((random >> 30) % 4096), 'A');
			else if (random >> 61 < 5)
				script_call(&script, i, stack, 'A' + (random >> 20) % 4);
			else
				script_return(&script, i, stack, 'A' + (random >> 20) % 4);
		}
		assert_int_equal(script_try(&script, &result), SONDE_OK);
		assert_int_equal(result.counts.calls,
				 result.counts.returns + result.counts.exceptions);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_coroutines, setup),
		cmocka_unit_test_setup(test_recycled_stack, setup),
		cmocka_unit_test_setup(test_stack_on_the_stack, setup),
		cmocka_unit_test_setup(test_stack_across_a_stale_one, setup),
		cmocka_unit_test_setup(test_unknown_own_stack, setup),
		cmocka_unit_test_setup(test_signal_stack, setup),
		cmocka_unit_test_setup(test_unwind_from_signal_stack, setup),
		cmocka_unit_test_setup(test_signal_stack_is_a_floor, setup),
		cmocka_unit_test_setup(test_unannounced_stacks, setup),
		cmocka_unit_test_setup(test_unmapped_stack, setup),
		cmocka_unit_test_setup(test_unmapped_below_mapped, setup),
		cmocka_unit_test_setup(test_too_many_guesses, setup),
		cmocka_unit_test_setup(test_growing_own_stack, setup),
		cmocka_unit_test_setup(test_nonsense, setup),
		cmocka_unit_test_setup(test_ends_of_lanes, setup),
		cmocka_unit_test_setup(test_throw_on_coroutine, setup),
		cmocka_unit_test_setup(test_random_stacks, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
