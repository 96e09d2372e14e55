/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pieces of Parquet files: what the encodings write is read again by decoders of a few lines that share
 * nothing with them. Whole files are read by DuckDB, in tests/interop/test_parquet.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "formats/parquet/parquet_encode.h"
#include "formats/parquet/parquet_thrift.h"
#include "memory_recording.h"
#include "scratch.h"

#define MOST 3000

struct input {
	const uint8_t *data;
	size_t size, position;
};

static unsigned int take_byte(struct input *input)
{
	assert_true(input->position < input->size);
	return input->data[input->position++];
}

static uint64_t take_varint(struct input *input)
{
	uint64_t value = 0;

	for (unsigned int shift = 0;; shift += 7) {
		unsigned int byte = take_byte(input);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static int64_t take_zigzag(struct input *input)
{
	uint64_t value = take_varint(input);

	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* Bit by bit, as the document has it. */
static void take_packed(struct input *input, uint64_t *values, size_t count, unsigned int width)
{
	size_t bit = 0;

	for (size_t i = 0; i < count; i++) {
		values[i] = 0;
		for (unsigned int k = 0; k < width; k++, bit++) {
			size_t byte = input->position + bit / 8;

			assert_true(byte < input->size);
			values[i] |= (uint64_t)(input->data[byte] >> bit % 8 & 1) << k;
		}
	}
	input->position += (bit + 7) / 8;
}

static void check_hybrid(const uint32_t *values, size_t count, unsigned int width)
{
	struct sonde_buffer out = { 0 };
	struct input input;
	size_t done = 0;

	parquet_put_hybrid(&out, values, count, width);
	assert_false(out.failed);
	input = (struct input){ (const uint8_t *)out.data, out.size, 0 };
	while (done < count) {
		uint64_t head = take_varint(&input), packed[8], value = 0;

		assert_true(head > 1);
		if (!(head & 1)) {
			for (unsigned int i = 0; i < width; i += 8)
				value |= (uint64_t)take_byte(&input) << i;
			for (uint64_t i = 0; i < head >> 1; i++)
				assert_int_equal(values[done++], value);
			assert_true(done <= count);
			continue;
		}
		for (uint64_t group = 0; group < head >> 1; group++) {
			take_packed(&input, packed, 8, width);
			for (size_t i = 0; i < 8 && done < count; i++)
				assert_int_equal(values[done++], packed[i]);
		}
	}
	assert_int_equal(input.position, input.size);
	sonde_buffer_release(&out);
}

static void test_hybrid(void **state)
{
	static const size_t counts[] = { 0, 1, 7, 8, 9, 16, 17, 24, 100, 1000, MOST };
	static const unsigned int widths[] = { 0, 1, 2, 3, 7, 8, 9, 13, 24, 31, 32 };
	static uint32_t values[MOST];
	uint64_t random = 1;

	(void)state;
	for (size_t w = 0; w < sizeof(widths) / sizeof(*widths); w++) {
		uint32_t mask = widths[w] == 32 ? UINT32_MAX : (1U << widths[w]) - 1;

		for (unsigned int sameness = 0; sameness < 4; sameness++) {
			for (size_t i = 0; i < MOST; i++) {
				bool same = i && memory_random(&random) % 64 < sameness * 21;

				values[i] = same ? values[i - 1] :
						   (uint32_t)memory_random(&random) & mask;
			}
			for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++)
				check_hybrid(values, counts[c], widths[w]);
		}
	}
}

/* Runs are runs: a million equal values are some bytes. */
static void test_run(void **state)
{
	struct sonde_buffer out = { 0 }, same = { 0 };
	uint32_t *values = calloc(1000000, sizeof(*values));

	(void)state;
	parquet_put_hybrid(&out, values, 1000000, 9);
	parquet_put_run(&same, 0, 1000000, 9);
	assert_int_equal(out.size, 5);
	assert_int_equal(same.size, 5);
	assert_memory_equal(out.data, same.data, 5);
	sonde_buffer_release(&out);
	sonde_buffer_release(&same);
	free(values);
}

/* Reads deltas; values modulo 2^64. */
static void take_delta(struct input *input, uint64_t *values, size_t count)
{
	uint64_t block = take_varint(input), parts = take_varint(input), last;
	size_t done = 0;

	assert_int_equal(block % 128, 0);
	assert_int_equal(block / parts % 32, 0);
	assert_int_equal(take_varint(input), count);
	last = (uint64_t)take_zigzag(input);
	if (count)
		values[done++] = last;
	while (done < count) {
		uint64_t smallest = (uint64_t)take_zigzag(input), packed[128];
		unsigned int widths[8];

		assert_true(parts <= 8 && block <= 128);
		for (size_t i = 0; i < parts; i++)
			widths[i] = take_byte(input);
		for (size_t i = 0; i < parts && done < count; i++) {
			take_packed(input, packed, block / parts, widths[i]);
			for (size_t k = 0; k < block / parts && done < count; k++) {
				last += smallest + packed[k];
				values[done++] = last;
			}
		}
	}
}

static void check_delta(const uint64_t *values, size_t count)
{
	static uint64_t again[MOST];
	struct sonde_buffer out = { 0 };
	struct input input;

	parquet_put_delta(&out, values, count);
	input = (struct input){ (const uint8_t *)out.data, out.size, 0 };
	take_delta(&input, again, count);
	assert_memory_equal(again, values, count * sizeof(*again));
	assert_true(input.position <= input.size);
	sonde_buffer_release(&out);
}

static void check_delta32(const uint64_t *values, size_t count)
{
	static uint64_t again[MOST];
	static uint32_t narrow[MOST];
	struct sonde_buffer out = { 0 };
	struct input input;

	for (size_t i = 0; i < count; i++)
		narrow[i] = (uint32_t)values[i];
	parquet_put_delta32(&out, narrow, count);
	input = (struct input){ (const uint8_t *)out.data, out.size, 0 };
	take_delta(&input, again, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal((uint32_t)again[i], narrow[i]);
	sonde_buffer_release(&out);
}

static void test_delta(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 32, 33, 128, 129, 130, 257, 1000, MOST };
	static uint64_t values[MOST];
	uint64_t random = 7;

	(void)state;
	for (unsigned int bits = 0; bits <= 64; bits++) {
		uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;

		for (unsigned int way = 0; way < 3; way++) {
			values[0] = way == 2 ? UINT64_MAX - 5 : 0;
			for (size_t i = 1; i < MOST; i++) {
				uint64_t draw = memory_random(&random) & mask;

				/* anything; growing; growing over the end of numbers */
				values[i] = way ? values[i - 1] + draw : draw;
			}
			for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
				check_delta(values, counts[c]);
				check_delta32(values, counts[c]);
			}
		}
	}
}

static void test_delta_run(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 128, 129, 130, 257, MOST };
	uint32_t values[MOST];

	(void)state;
	for (size_t i = 0; i < MOST; i++)
		values[i] = UINT32_MAX - 3;
	for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		struct sonde_buffer out = { 0 }, same = { 0 };

		parquet_put_delta32(&out, values, counts[c]);
		parquet_put_delta_run(&same, -4, counts[c]);
		assert_int_equal(out.size, same.size);
		assert_memory_equal(out.data, same.data, out.size);
		sonde_buffer_release(&out);
		sonde_buffer_release(&same);
	}
}

static void test_bits(void **state)
{
	static const uint8_t values[] = { 1, 0, 0, 2, 0, 0, 0, 255, 1, 0 };
	struct sonde_buffer out = { 0 };

	(void)state;
	parquet_put_bits(&out, values, sizeof(values));
	assert_int_equal(out.size, 2);
	assert_int_equal((uint8_t)out.data[0], 0x89);
	assert_int_equal((uint8_t)out.data[1], 0x01);
	sonde_buffer_release(&out);
}

/* Bytes worked out by hand after the document of the compact protocol. */
static void test_thrift(void **state)
{
	static const uint8_t expected[] = {
		0x15, 0x03,		      /* field 1: i32 -2 */
		0x26, 0xd8, 0x04,	      /* field 3: i64 300 */
		0x11,			      /* field 4: true */
		0x18, 0x02, 'a',  'b',	      /* field 5: binary */
		0x05, 0x80, 0x01, 0x02,	      /* field 64: i32 1, far away */
		0x1c, 0x13, 0x40, 0x12, 0x00, /* field 65: struct of i8 64 and false */
		0x19, 0x25, 0x00, 0x02,	      /* field 66: list of i32 0, 1 */
		0x19, 0x1c, 0x15, 0x0a, 0x00, /* field 67: list of one struct */
		0x19, 0x18, 0x01, 'x',	      /* field 68: list of one text */
		0x00,
	};
	static const int32_t numbers[] = { 0, 1 };
	static const char *const texts[] = { "x" };
	struct sonde_buffer out = { 0 };
	struct thrift_writer writer;

	(void)state;
	thrift_begin(&writer, &out);
	thrift_put_i32(&writer, 1, -2);
	thrift_put_i64(&writer, 3, 300);
	thrift_put_bool(&writer, 4, true);
	thrift_put_text(&writer, 5, "ab");
	thrift_put_i32(&writer, 64, 1);
	thrift_put_struct(&writer, 65);
	thrift_put_i8(&writer, 1, 64);
	thrift_put_bool(&writer, 2, false);
	thrift_end(&writer);
	thrift_put_i32s(&writer, 66, numbers, 2);
	thrift_put_structs(&writer, 67, 1);
	thrift_item_begin(&writer);
	thrift_put_i32(&writer, 1, 5);
	thrift_end(&writer);
	thrift_put_texts(&writer, 68, texts, 1);
	thrift_end(&writer);
	assert_int_equal(out.size, sizeof(expected));
	assert_memory_equal(out.data, expected, sizeof(expected));
	sonde_buffer_clear(&out);
	thrift_begin(&writer, &out);
	thrift_put_structs(&writer, 1, 15);
	assert_memory_equal(out.data, "\x19\xfc\x0f", 3);
	sonde_buffer_release(&out);
}

static struct sonde_recording *make_recording(void)
{
	struct sonde_recording *recording = memory_recording_new(7);
	uint32_t process = memory_add_process(recording, "program");
	uint64_t random = 11;

	for (int i = 0; i < 20; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", i);
		memory_add_function(recording, process, name);
	}
	for (size_t i = 0; i < 9; i++) {
		uint32_t track = memory_add_track(recording, process, i % 2 ? "worker" : "main");

		memory_add_calls(recording, track, i * 1000, 0, 20, i % 3, &random);
	}
	return recording;
}

static void convert(const char *format, const char *style, unsigned int threads, const char *path)
{
	struct sonde_recording *recording = make_recording();
	const struct sonde_create_options create = { .format = format, .style = style };
	const struct sonde_run_options run = { .threads = threads };
	struct sonde_sink *sink = NULL;
	struct sonde_error err = { 0 };

	if (sonde_sink_create(path, &create, &sink, &err) ||
	    sonde_pipeline_run(&recording, 1, sink, &run, NULL, &err))
		fail_msg("%s", err.message);
	sonde_sink_free(sink);
	sonde_recording_close(recording);
}

static void assert_same_file(const char *a, const char *b)
{
	struct sonde_mapped_file left, right;

	assert_int_equal(sonde_mapped_file_open(&left, a, NULL), SONDE_OK);
	assert_int_equal(sonde_mapped_file_open(&right, b, NULL), SONDE_OK);
	assert_true(left.size > 100);
	assert_int_equal(left.size, right.size);
	assert_memory_equal(left.data, right.data, left.size);
	sonde_mapped_file_release(&left);
	sonde_mapped_file_release(&right);
}

/* The same bytes, however many threads there are. */
static void test_threads(void **state)
{
	static const struct {
		const char *format, *style, *files[5];
	} cases[] = {
		{ "parquet",
		  NULL,
		  { "/events.parquet", "/spans.parquet", "/functions.parquet",
		    "/tracks.parquet" } },
		{ "csv", NULL, { "" } },
		{ "jsonl", "spans", { "" } },
		{ "csv", "values", { "" } },
		{ "jsonl", "contexts", { "" } },
		{ "csv", "samples", { "" } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char one[128], many[128];

		snprintf(one, sizeof(one), "%s", scratch_path("one"));
		snprintf(many, sizeof(many), "%s", scratch_path("many"));
		convert(cases[i].format, cases[i].style, 1, one);
		convert(cases[i].format, cases[i].style, 5, many);
		for (size_t k = 0; k < 5 && cases[i].files[k]; k++) {
			char left[192], right[192];

			snprintf(left, sizeof(left), "%s%s", one, cases[i].files[k]);
			snprintf(right, sizeof(right), "%s%s", many, cases[i].files[k]);
			assert_same_file(left, right);
		}
		remove_tree(one);
		remove_tree(many);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hybrid),	cmocka_unit_test(test_run),
		cmocka_unit_test(test_delta),	cmocka_unit_test(test_delta_run),
		cmocka_unit_test(test_bits),	cmocka_unit_test(test_thrift),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
