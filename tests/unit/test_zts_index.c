/* SPDX-License-Identifier: Apache-2.0 */
/* What traces mean for the metadata: which texts, in which order, and the numbers of slots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/zts/zts_index.h"

#define MAX_TRACES 64
#define MAX_IDS 8192

/* The traces that ended, in order. */
static struct ended {
	struct zts_index_trace trace;
	uint32_t deep[MAX_IDS], shallow[MAX_IDS];
} * ended;
static size_t ended_count;
static unsigned int texts_asked;

static bool keep(void *context, const struct zts_index_trace *trace)
{
	struct ended *kept = &ended[ended_count];

	assert_null(context);
	assert_true(ended_count < MAX_TRACES);
	kept->trace = *trace;
	assert_true(trace->deep_count <= MAX_IDS && trace->shallow_count <= MAX_IDS);
	if (trace->deep_count)
		memcpy(kept->deep, trace->deep, trace->deep_count * sizeof(uint32_t));
	if (trace->shallow_count)
		memcpy(kept->shallow, trace->shallow, trace->shallow_count * sizeof(uint32_t));
	ended_count++;
	return true;
}

/*
 * 10: exception of class 11, message 12, stack 13, cause 20; 13: frames 14, 15 and 14 again; 14:
 * class 11, method 16, file 17; 15: class 18, method 16, file 0. 20: of class 21, no stack, caused
 * by 10: a circle.
 */
static bool text_of(void *context, uint32_t id, const char **text, size_t *size)
{
	assert_null(context);
	texts_asked++;
	switch (id) {
	case 10:
		*text = "\x0c;\x0c<\x0c=\x0c"
			"D\x0c";
		break;
	case 13:
		*text = "\x0d>\x0d?\x0d>\x0d";
		break;
	case 14:
		*text = "\x0e;\x0e@\x0e"
			"A\x0e"
			"1\x0e";
		break;
	case 15:
		*text = "\x0e"
			"B\x0e@\x0e"
			"0\x0e"
			"2\x0e";
		break;
	case 20:
		*text = "\x0c"
			"E\x0c"
			"F\x0c"
			"0\x0c:\x0c";
		break;
	default:
		return false;
	}
	*size = strlen(*text);
	return true;
}

static struct zts_index make_index(void)
{
	ended_count = 0;
	texts_asked = 0;
	return (struct zts_index){ .ended = keep, .text = text_of, .id_limit = 100000 };
}

static void assert_ids(const uint32_t *ids, size_t count, const char *expected)
{
	char text[1024] = "";
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%u", i ? " " : "",
					 ids[i]);
	assert_string_equal(text, expected);
}

static void assert_deep(size_t number, const char *expected)
{
	assert_true(number < ended_count && ended[number].trace.has_deep);
	assert_ids(ended[number].deep, ended[number].trace.deep_count, expected);
}

static void test_one_trace(void **state)
{
	struct zts_index index = make_index();

	(void)state;
	zts_index_begin_trace(&index, 77, 9, 3);
	zts_index_id(&index, 40);
	zts_index_id(&index, 2);
	zts_index_begin_record(&index, 5);
	zts_index_id(&index, 30);
	zts_index_id(&index, 40);
	zts_index_end_record(&index, 1, 0, ZTS_RECORD_ERROR);
	zts_index_id(&index, 41); /* of the first record again */
	zts_index_begin_record(&index, 5);
	zts_index_end_record(&index, 1, 0, 0);
	assert_int_equal(ended_count, 0);
	zts_index_end_record(&index, 12, 0, 0);
	assert_int_equal(ended_count, 1);
	assert_deep(0, "2 3 5 9 30 40 41");
	assert_ids(ended[0].shallow, ended[0].trace.shallow_count, "2 3 9 40 41");
	assert_int_equal(ended[0].trace.tag, 77);
	assert_int_equal(ended[0].trace.records, 3);
	assert_int_equal(ended[0].trace.calls, 12);
	assert_int_equal(ended[0].trace.errors, 1);
	assert_int_equal(ended[0].trace.flags, 0x60);
	assert_false(ended[0].trace.is_inner);
	/* nothing of it is left for the next */
	zts_index_begin_trace(&index, 1, 9, 0);
	zts_index_end_record(&index, UINT64_MAX, 0, ZTS_RECORD_ERROR);
	assert_deep(1, "9");
	assert_ids(ended[1].shallow, ended[1].trace.shallow_count, "9");
	assert_int_equal(ended[1].trace.flags, 0x68);
	assert_int_equal(ended[1].trace.calls, UINT32_MAX);
	zts_index_release(&index);
}

static void test_ids_that_are_none(void **state)
{
	struct zts_index index = make_index();

	(void)state;
	index.id_limit = 50;
	zts_index_id(&index, 7); /* no record is open */
	zts_index_begin_trace(&index, 1, 0, 49);
	zts_index_id(&index, 50);
	zts_index_id(&index, UINT32_MAX);
	zts_index_end_record(&index, 1, UINT32_MAX, 0);
	zts_index_end_record(&index, 1, 0, 0); /* one too many */
	assert_int_equal(ended_count, 1);
	assert_deep(0, "49");
	assert_int_equal(ended[0].trace.errors, 1);
	zts_index_release(&index);
}

static void test_traces_inside(void **state)
{
	struct zts_index index = make_index();

	(void)state;
	zts_index_begin_trace(&index, 1, 5, 0);
	zts_index_begin_record(&index, 6);
	zts_index_begin_trace(&index, 2, 7, 0);
	zts_index_id(&index, 5); /* the outer one has it already */
	zts_index_begin_trace(&index, 3, 8, 0);
	zts_index_end_record(&index, 1, 4, 0);
	zts_index_begin_record(&index, 6);
	zts_index_end_record(&index, 1, 0, 0);
	zts_index_end_record(&index, 3, 0, 0);
	zts_index_end_record(&index, 4, 0, 0);
	zts_index_id(&index, 9);
	zts_index_end_record(&index, 5, 0, 0);
	assert_int_equal(ended_count, 3);
	assert_int_equal(ended[0].trace.tag, 3);
	assert_deep(0, "4 8");
	assert_int_equal(ended[0].trace.records, 1);
	assert_int_equal(ended[0].trace.flags, 0x68);
	assert_int_equal(ended[1].trace.tag, 2);
	assert_deep(1, "4 5 6 7 8");
	assert_int_equal(ended[1].trace.records, 2 + 1 + 1);
	assert_int_equal(ended[1].trace.errors, 1);
	assert_int_equal(ended[1].trace.flags, 0x60);
	assert_true(ended[1].trace.is_inner);
	assert_int_equal(ended[1].trace.shallow_count, 0);
	assert_deep(2, "4 5 6 7 8 9");
	assert_ids(ended[2].shallow, ended[2].trace.shallow_count, "5 9");
	assert_int_equal(ended[2].trace.records, 2 + 4 + 1);
	assert_int_equal(ended[2].trace.errors, 1);
	zts_index_release(&index);
}

/* Levels beyond the limit have no line, but what they hold is in the lines around them. */
static void test_many_levels(void **state)
{
	struct zts_index index = make_index();

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		zts_index_begin_trace(&index, i, 100 + i, 0);
	for (uint32_t i = 0; i < 20; i++)
		zts_index_end_record(&index, 1, 0, 0);
	assert_int_equal(ended_count, 20);
	for (size_t i = 0; i < 20; i++) {
		uint32_t level = 19 - (uint32_t)i;

		assert_int_equal(ended[i].trace.tag, level);
		assert_int_equal(ended[i].trace.has_deep, level < ZTS_INDEX_LEVELS);
		if (level >= ZTS_INDEX_LEVELS)
			continue;
		assert_int_equal(ended[i].trace.deep_count, 20 - level);
		assert_int_equal(ended[i].deep[0], 100 + level);
		assert_int_equal(ended[i].deep[19 - level], 119);
	}
	assert_int_equal(ended[19].trace.records, 39);
	zts_index_release(&index);
}

static void test_exceptions(void **state)
{
	struct zts_index index = make_index();
	unsigned int asked = 0;

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		zts_index_begin_trace(&index, 1, 5, 0);
		zts_index_begin_record(&index, 6);
		zts_index_end_record(&index, 1, 10, 0);
		zts_index_end_record(&index, 1, 20, 0);
		if (!i)
			asked = texts_asked;
	}
	/* no messages (12, 22); what they are made of is looked up once */
	assert_deep(0, "5 6 10 11 13 14 15 16 17 18 20 21");
	assert_deep(1, "5 6 10 11 13 14 15 16 17 18 20 21");
	assert_int_equal(asked, texts_asked);
	assert_int_equal(ended[0].trace.errors, 2);
	assert_int_equal(ended[0].trace.flags, 0x68);
	zts_index_release(&index);
}

static void test_exception_of_the_first_record(void **state)
{
	struct zts_index index = make_index();

	(void)state;
	zts_index_begin_trace(&index, 1, 5, 0);
	zts_index_begin_record(&index, 6);
	zts_index_end_record(&index, 1, 10, 0);
	zts_index_end_record(&index, 1, 10, 0); /* thrown on */
	assert_ids(ended[0].shallow, ended[0].trace.shallow_count,
		   "5 10 11 13 14 15 16 17 18 20 21");
	zts_index_release(&index);
}

/* Long lists take another way of sorting. */
static void test_many_ids(void **state)
{
	static const uint32_t limits[] = { 200, 40000, 3000000, 30000000 };

	(void)state;
	for (size_t round = 0; round < sizeof(limits) / sizeof(limits[0]); round++) {
		struct zts_index index = make_index();
		uint32_t seed = 1;

		index.id_limit = UINT32_MAX;
		zts_index_begin_trace(&index, 1, limits[round], 0);
		for (size_t i = 0; i < 4000; i++) {
			seed = seed * 1103515245 + 12345;
			zts_index_id(&index, seed % limits[round] + 1);
		}
		zts_index_end_record(&index, 1, 0, 0);
		assert_true(ended[0].trace.deep_count > 100);
		for (size_t i = 1; i < ended[0].trace.deep_count; i++)
			assert_true(ended[0].deep[i] > ended[0].deep[i - 1]);
		assert_int_equal(ended[0].trace.deep_count, ended[0].trace.shallow_count);
		zts_index_release(&index);
	}
}

static void test_values(void **state)
{
	static const char cbor[] = "\x83\xc6\x18\x40\xa1\xc6\x07\x82\x09\xc6\x19\x01\x00\x63"
				   "\xc6\x05\x06";
	struct zts_index index = make_index();

	(void)state;
	zts_index_begin_trace(&index, 1, 1, 0);
	zts_index_value(&index, sonde_bytes_of(cbor, sizeof(cbor) - 1));
	zts_index_value(&index, sonde_bytes_of("\xc6\x11", 2));
	zts_index_value(&index, sonde_bytes_of("\xc6", 1));
	zts_index_end_record(&index, 1, 0, 0);
	assert_deep(0, "1 7 17 64 256");
	zts_index_release(&index);
}

static void test_so_far(void **state)
{
	struct zts_index index = make_index();
	struct zts_index_trace trace;

	(void)state;
	zts_index_so_far(&index, &trace);
	assert_int_equal(trace.records, 0);
	zts_index_begin_trace(&index, 4, 5, 0);
	zts_index_begin_record(&index, 6);
	zts_index_end_record(&index, 14, 0, 0);
	zts_index_begin_trace(&index, 5, 7, 0);
	zts_index_so_far(&index, &trace);
	assert_int_equal(trace.tag, 4);
	assert_int_equal(trace.records, 4);
	assert_int_equal(trace.calls, 14);
	assert_ids(trace.deep, trace.deep_count, "5 6 7");
	assert_ids(trace.shallow, trace.shallow_count, "5");
	zts_index_end_record(&index, 2, 0, 0);
	zts_index_end_record(&index, 20, 0, 0);
	assert_deep(0, "7");
	assert_deep(1, "5 6 7");
	zts_index_release(&index);
}

/* Where lines would grow beyond all measure only numbers are kept. */
static void test_counts_only(void **state)
{
	struct zts_index index = make_index();
	struct zts_index_trace trace;

	(void)state;
	index.counts_only = true;
	zts_index_begin_trace(&index, 4, 5, 0);
	zts_index_begin_trace(&index, 5, 7, 0);
	zts_index_so_far(&index, &trace);
	assert_int_equal(trace.records, 3);
	assert_int_equal(trace.deep_count, 0);
	zts_index_end_record(&index, 2, 10, 0);
	zts_index_end_record(&index, 20, 0, 0);
	assert_int_equal(ended_count, 2);
	assert_false(ended[1].trace.has_deep);
	assert_int_equal(ended[1].trace.deep_count, 0);
	assert_int_equal(ended[1].trace.records, 3);
	assert_int_equal(ended[1].trace.errors, 1);
	assert_int_equal(texts_asked, 0);
	zts_index_release(&index);
}

/* The entries of hand-v1-minimal: what its slot's lines look like, byte by byte. */
static void test_entries(void **state)
{
	static const char expected[] = "1\x01"
				       "2\x0d"
				       "01234567-89ab-cdef-0123-456789abcdef\x0b\x02"
				       "1\x03"
				       "2\x01\x07"
				       "2\x05"
				       "4\x07"
				       "2\x05"
				       "10\x07\x02"
				       "2\x03"
				       "3\x01\x06"
				       "2\x05"
				       "4\x06\x02"
				       "3\x03"
				       "4\x01"
				       "3\x0d"
				       "01234567-89ab-cdef-0123-456789abcdef\x0b\x02"
				       "4\x03";
	static const uint32_t deep[] = { 4, 64 };
	struct zts_index_trace trace = {
		.has_deep = true, .deep = deep, .deep_count = 2, .shallow = deep, .shallow_count = 1
	};
	struct zts_slot slot = { .uuid = { 0x0123456789abcdef, 0x0123456789abcdef } };
	struct sonde_buffer wal = { 0 };
	uint32_t next = 1;

	(void)state;
	zts_index_put_entries(&wal, &slot, 2, &trace, &next);
	assert_int_equal(next, 4);
	assert_int_equal(slot.deep_entry, 2);
	assert_int_equal(slot.shallow_entry, 3);
	trace.has_deep = false;
	trace.is_inner = true;
	zts_index_put_entries(&wal, &slot, 3, &trace, &next);
	assert_int_equal(next, 5);
	assert_int_equal(slot.deep_entry, UINT32_MAX);
	assert_int_equal(slot.shallow_entry, UINT32_MAX);
	assert_int_equal(wal.size, sizeof(expected) - 1);
	assert_memory_equal(wal.data, expected, wal.size);
	sonde_buffer_release(&wal);
}

static void test_times_of_slots(void **state)
{
	struct zts_slot slot = { 0 };

	(void)state;
	zts_slot_set_times(&slot, 1556712001969000000, 64618496);
	assert_int_equal(slot.seconds,
			 1556712002); /* when it ended, as existing programs have it */
	assert_int_equal(slot.duration_seconds, 0);
	assert_int_equal(slot.start_ns, 1556712001969000000);
	assert_int_equal(slot.duration_ns, 64618496);
	zts_slot_set_times(&slot, 5, 70000ull * 1000000000);
	assert_int_equal(slot.duration_seconds, 65535);
	zts_slot_set_times(&slot, UINT64_MAX, UINT64_MAX);
	assert_int_equal(slot.seconds, UINT32_MAX);
}

static void test_literals(void **state)
{
	static const struct {
		int64_t number;
		const char *text;
	} cases[] = { { 0, "0" },
		      { -1, "-1" },
		      { -12345678901, "-12345678901" },
		      { INT64_MAX, "9223372036854775807" },
		      { INT64_MIN, "-9223372036854775808" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char literal[ZTS_INDEX_LITERAL_SIZE];
		size_t size;

		zts_index_literal(cases[i].number, literal, &size);
		assert_int_equal(size, strlen(cases[i].text));
		assert_memory_equal(literal, cases[i].text, size);
	}
}

static int make_ended(void **state)
{
	(void)state;
	ended = calloc(MAX_TRACES, sizeof(*ended));
	return ended ? 0 : -1;
}

static int free_ended(void **state)
{
	(void)state;
	free(ended);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_trace),
		cmocka_unit_test(test_ids_that_are_none),
		cmocka_unit_test(test_traces_inside),
		cmocka_unit_test(test_many_levels),
		cmocka_unit_test(test_exceptions),
		cmocka_unit_test(test_exception_of_the_first_record),
		cmocka_unit_test(test_many_ids),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_so_far),
		cmocka_unit_test(test_counts_only),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_times_of_slots),
		cmocka_unit_test(test_literals),
	};

	return cmocka_run_group_tests(tests, make_ended, free_ended);
}
