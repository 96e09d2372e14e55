/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the reader of speedscope files that no file shows well: decimals as integers without
 * rounding, and the way through JSON that is not read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "formats/speedscope/speedscope_read.h"

static void assert_scaled(const char *text, unsigned int digits, int64_t expected)
{
	int64_t value = 0;

	assert_true(speedscope_scaled(text, strlen(text), digits, &value));
	assert_int_equal(value, expected);
}

static void decimals_stay_exact(void **state)
{
	(void)state;
	assert_scaled("0", 9, 0);
	assert_scaled("12", 0, 12);
	assert_scaled("-12", 3, -12000);
	assert_scaled("9007199254740993", 0, 9007199254740993);
	assert_scaled("9007199254.740993001", 9, 9007199254740993001);
	assert_scaled("0.000000001", 9, 1);
	assert_scaled("1.2500011", 6, 1250001);
	assert_scaled("1.0000005", 6, 1000001);
	assert_scaled("1.5e3", 0, 1500);
	assert_scaled("25e-1", 3, 2500);
	assert_scaled("0.1234567890123e1", 9, 1234567890);
}

static void what_is_too_large_is_refused(void **state)
{
	int64_t value = 0;

	(void)state;
	assert_false(speedscope_scaled("1e300", 5, 0, &value));
	assert_false(speedscope_scaled("99999999999999999999", 20, 0, &value));
	assert_false(speedscope_scaled("9999999999999", 13, 9, &value));
	assert_false(speedscope_scaled("x", 1, 0, &value));
}

static void scan_text(struct speedscope_scan *scan, struct sonde_mapped_file *file,
		      const char *text)
{
	*file = (struct sonde_mapped_file){ .data = (const uint8_t *)text, .size = strlen(text) };
	speedscope_scan_init(scan, file);
}

static void members_are_found(void **state)
{
	static const char text[] = " {\"a\\\"}\" : [1,{\"x\":\"]\"}], \"b\":2,\"c\":\"}\" } ";
	static const char *const keys[] = { "a\\\"}", "b", "c" };
	struct sonde_mapped_file file;
	struct speedscope_scan scan;
	struct speedscope_walk walk;
	struct speedscope_member member;
	size_t count = 0;

	(void)state;
	scan_text(&scan, &file, text);
	assert_true(speedscope_walk_begin(&walk, &scan, 0));
	for (; speedscope_walk_next(&walk, &member); speedscope_walk_skip(&walk, &member))
		assert_true(speedscope_member_is(&member, keys[count++]));
	assert_int_equal(count, 3);
	assert_false(walk.is_broken);
}

/* Every beginning of a document ends, and is seen to be broken. */
static void a_cut_document_is_broken(void **state)
{
	static const char text[] = "{\"a\":[1,{\"x\":\"]\"}],\"b\":\"\\\"\"}";
	struct sonde_mapped_file file;
	struct speedscope_scan scan;
	struct speedscope_walk walk;
	struct speedscope_member member;

	(void)state;
	for (size_t size = 1; size < sizeof(text) - 1; size++) {
		scan_text(&scan, &file, text);
		scan.size = size;
		assert_true(speedscope_walk_begin(&walk, &scan, 0));
		while (speedscope_walk_next(&walk, &member))
			speedscope_walk_skip(&walk, &member);
		assert_true(walk.is_broken);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decimals_stay_exact),
		cmocka_unit_test(what_is_too_large_is_refused),
		cmocka_unit_test(members_are_found),
		cmocka_unit_test(a_cut_document_is_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
