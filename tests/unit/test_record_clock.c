/* SPDX-License-Identifier: Apache-2.0 */
/* From ticks to nanoseconds: anchors made up by hand, and the clocks of this machine. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "record/clock.h"

/* 2.5 ticks a ns. */
static struct record_clock made_up(void)
{
	return (struct record_clock){
		.kind = SHARED_CLOCK_TSC,
		.first = { .ticks = 1000, .boottime_ns = 5000 },
		.last = { .ticks = 2500001000, .boottime_ns = 1000005000 },
		.base_ticks = 2500001000,
		.base_ns = 1000005000,
		.multiplier = (UINT64_C(1) << 32) * 2 / 5,
	};
}

static void test_line(void **state)
{
	struct record_clock clock = made_up();

	(void)state;
	assert_in_range(record_clock_ns(&clock, 2500001000), 1000005000, 1000005000);
	assert_in_range(record_clock_ns(&clock, 2500001000 + 2500), 1000005999, 1000006000);
	/* units that were written before the anchor */
	assert_in_range(record_clock_ns(&clock, 2500001000 - 2500), 1000003999, 1000004001);
	/* a week later: no overflow */
	assert_in_range(record_clock_ns(&clock, 2500001000 + UINT64_C(1512000000000000)),
			UINT64_C(604800999000000), UINT64_C(604801001000000));
}

/* The line goes through the new anchor, with the slope since the one before. */
static void test_new_anchor(void **state)
{
	struct record_clock clock = made_up();
	struct record_anchor anchor = { .ticks = 2500001000 + 250000000,
					.boottime_ns = 1000005000 + 100010000 };

	(void)state;
	record_clock_anchor(&clock, &anchor);
	assert_int_equal(record_clock_ns(&clock, anchor.ticks), anchor.boottime_ns);
	assert_in_range(record_clock_ns(&clock, anchor.ticks + 250000000),
			anchor.boottime_ns + 100009998, anchor.boottime_ns + 100010002);
	assert_int_equal(clock.first.ticks, 1000);
	assert_int_equal(clock.last.ticks, anchor.ticks);
}

/* A suspended machine: the clocks part, and the slope stays what it was. */
static void test_clocks_part(void **state)
{
	static const struct record_anchor anchors[] = {
		/* an hour for boottime, nothing for the TSC */
		{ .ticks = 2500001000 + 250000000, .boottime_ns = UINT64_C(3600100005000) },
		/* the TSC began again */
		{ .ticks = 100, .boottime_ns = 1000005000 + 100000000 },
		/* no time has passed */
		{ .ticks = 2500001000, .boottime_ns = 1000005000 },
		/* more than 1 % slower */
		{ .ticks = 2500001000 + 250000000, .boottime_ns = 1000005000 + 98900000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(anchors) / sizeof(anchors[0]); i++) {
		struct record_clock clock = made_up();
		uint64_t multiplier = clock.multiplier;

		record_clock_anchor(&clock, &anchors[i]);
		assert_int_equal(clock.multiplier, multiplier);
		assert_int_equal(record_clock_ns(&clock, anchors[i].ticks), anchors[i].boottime_ns);
	}
}

static uint64_t boottime(void)
{
	struct timespec time;

	clock_gettime(CLOCK_BOOTTIME, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void test_boottime(void **state)
{
	struct record_clock clock;
	uint64_t before = boottime();

	(void)state;
	record_clock_start(&clock, SHARED_CLOCK_BOOTTIME);
	assert_int_equal(clock.multiplier, UINT64_C(1) << 32);
	assert_int_equal(record_clock_ns(&clock, before), before);
	assert_int_equal(record_clock_ns(&clock, 12345), 12345);
	clock.last.boottime_ns -= 1000000000;
	clock.last.ticks -= 1000000000;
	record_clock_update(&clock);
	assert_true(clock.last.boottime_ns >= before);
	assert_int_equal(clock.multiplier, UINT64_C(1) << 32);
	assert_int_equal(record_clock_ns(&clock, before), before);
}

/* Whatever the machine is, a reading between two of CLOCK_BOOTTIME comes out between them. */
static void test_this_machine(void **state)
{
	struct record_clock clock;
	uint64_t before, ticks, after, ns;

	(void)state;
	if (record_clock_choose() != SHARED_CLOCK_TSC)
		return; /* this machine has no such clock */
	record_clock_start(&clock, SHARED_CLOCK_TSC);
	assert_true(clock.last.boottime_ns - clock.first.boottime_ns >= 5000000);
	assert_true(clock.first.realtime_ns > 0);
	for (int i = 0; i < 2; i++) {
		before = boottime();
		ticks = __builtin_ia32_rdtsc();
		after = boottime();
		ns = record_clock_ns(&clock, ticks);
		/* the slope is from 8 ms only: allow for 1 ms */
		assert_in_range(ns, before - 1000000, after + 1000000);
		/* not old enough: nothing changes */
		ticks = clock.last.ticks;
		clock.last.boottime_ns = boottime();
		record_clock_update(&clock);
		assert_int_equal(clock.last.ticks, ticks);
		clock.last.boottime_ns -= 1000000000;
		record_clock_update(&clock);
		assert_int_not_equal(clock.last.ticks, ticks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line),	     cmocka_unit_test(test_new_anchor),
		cmocka_unit_test(test_clocks_part),  cmocka_unit_test(test_boottime),
		cmocka_unit_test(test_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
