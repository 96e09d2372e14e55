/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CBOR: the examples of RFC 8949, appendix A; heads as trace stores have them; counts, nesting and
 * ends that are not what they say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cbor.h"

struct example {
	const char *bytes;
	size_t size;
	enum sonde_cbor_type type;
	uint64_t value;
	double number;
};

#define EXAMPLE(text, ...)                                                                         \
	{                                                                                          \
		text, sizeof(text) - 1, __VA_ARGS__                                                \
	}

static const struct example examples[] = {
	EXAMPLE("\x00", SONDE_CBOR_UINT, 0, 0),
	EXAMPLE("\x0a", SONDE_CBOR_UINT, 10, 0),
	EXAMPLE("\x17", SONDE_CBOR_UINT, 23, 0),
	EXAMPLE("\x18\x18", SONDE_CBOR_UINT, 24, 0),
	EXAMPLE("\x18\x64", SONDE_CBOR_UINT, 100, 0),
	EXAMPLE("\x19\x03\xe8", SONDE_CBOR_UINT, 1000, 0),
	EXAMPLE("\x1a\x00\x0f\x42\x40", SONDE_CBOR_UINT, 1000000, 0),
	EXAMPLE("\x1b\x00\x00\x00\xe8\xd4\xa5\x10\x00", SONDE_CBOR_UINT, 1000000000000, 0),
	EXAMPLE("\x1b\xff\xff\xff\xff\xff\xff\xff\xff", SONDE_CBOR_UINT, UINT64_MAX, 0),
	EXAMPLE("\x20", SONDE_CBOR_NEGATIVE, 0, 0),
	EXAMPLE("\x29", SONDE_CBOR_NEGATIVE, 9, 0),
	EXAMPLE("\x38\x63", SONDE_CBOR_NEGATIVE, 99, 0),
	EXAMPLE("\x39\x03\xe7", SONDE_CBOR_NEGATIVE, 999, 0),
	EXAMPLE("\x3b\xff\xff\xff\xff\xff\xff\xff\xff", SONDE_CBOR_NEGATIVE, UINT64_MAX, 0),
	EXAMPLE("\xf9\x00\x00", SONDE_CBOR_FLOAT, 0, 0.0),
	EXAMPLE("\xf9\x80\x00", SONDE_CBOR_FLOAT, 0x8000, -0.0),
	EXAMPLE("\xf9\x3c\x00", SONDE_CBOR_FLOAT, 0x3c00, 1.0),
	EXAMPLE("\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a", SONDE_CBOR_FLOAT, 0x3ff199999999999a, 1.1),
	EXAMPLE("\xf9\x3e\x00", SONDE_CBOR_FLOAT, 0x3e00, 1.5),
	EXAMPLE("\xf9\x7b\xff", SONDE_CBOR_FLOAT, 0x7bff, 65504.0),
	EXAMPLE("\xfa\x47\xc3\x50\x00", SONDE_CBOR_FLOAT, 0x47c35000, 100000.0),
	EXAMPLE("\xfa\x7f\x7f\xff\xff", SONDE_CBOR_FLOAT, 0x7f7fffff, 3.4028234663852886e+38),
	EXAMPLE("\xfb\x7e\x37\xe4\x3c\x88\x00\x75\x9c", SONDE_CBOR_FLOAT, 0x7e37e43c8800759c,
		1.0e+300),
	EXAMPLE("\xf9\x00\x01", SONDE_CBOR_FLOAT, 1, 5.960464477539063e-8),
	EXAMPLE("\xf9\x04\x00", SONDE_CBOR_FLOAT, 0x400, 0.00006103515625),
	EXAMPLE("\xf9\xc4\x00", SONDE_CBOR_FLOAT, 0xc400, -4.0),
	EXAMPLE("\xfb\xc0\x10\x66\x66\x66\x66\x66\x66", SONDE_CBOR_FLOAT, 0xc010666666666666, -4.1),
	EXAMPLE("\xf9\x7c\x00", SONDE_CBOR_FLOAT, 0x7c00, INFINITY),
	EXAMPLE("\xf9\xfc\x00", SONDE_CBOR_FLOAT, 0xfc00, -INFINITY),
	EXAMPLE("\xfa\x7f\x80\x00\x00", SONDE_CBOR_FLOAT, 0x7f800000, INFINITY),
	EXAMPLE("\xf4", SONDE_CBOR_SIMPLE, 20, 0),
	EXAMPLE("\xf5", SONDE_CBOR_SIMPLE, 21, 0),
	EXAMPLE("\xf6", SONDE_CBOR_SIMPLE, 22, 0),
	EXAMPLE("\xf7", SONDE_CBOR_SIMPLE, 23, 0),
	EXAMPLE("\xf0", SONDE_CBOR_SIMPLE, 16, 0),
	EXAMPLE("\xf8\xff", SONDE_CBOR_SIMPLE, 255, 0),
	EXAMPLE("\xc1", SONDE_CBOR_TAG, 1, 0),
	EXAMPLE("\xd8\x20", SONDE_CBOR_TAG, 32, 0),
	EXAMPLE("\x80", SONDE_CBOR_ARRAY, 0, 0),
	EXAMPLE("\xa0", SONDE_CBOR_MAP, 0, 0),
	EXAMPLE("\xff", SONDE_CBOR_BREAK, 0, 0),
};

static void test_examples(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		const struct example *example = &examples[i];
		struct sonde_bytes bytes = sonde_bytes_of(example->bytes, example->size);
		struct sonde_cbor_item item;

		assert_int_equal(sonde_cbor_next(&bytes, &item, NULL), SONDE_OK);
		assert_int_equal(item.type, example->type);
		assert_int_equal(item.value, example->value);
		assert_memory_equal(&item.number, &example->number, sizeof(double));
		assert_false(item.indefinite);
		assert_int_equal(sonde_bytes_left(&bytes), 0);
		assert_int_equal(sonde_cbor_next(&bytes, &item, NULL), SONDE_END);
	}
}

static void test_not_a_number(void **state)
{
	struct sonde_bytes bytes = sonde_bytes_of("\xf9\x7e\x00\xfa\x7f\xc0\x00\x00", 8);
	struct sonde_cbor_item item;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(sonde_cbor_next(&bytes, &item, NULL), SONDE_OK);
		assert_int_equal(item.type, SONDE_CBOR_FLOAT);
		assert_true(isnan(item.number));
	}
}

/* Every start of an example that is not the whole is cut; nothing behind it is read. */
static void test_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		for (size_t size = 1; size < examples[i].size; size++) {
			uint8_t *copy = malloc(size);
			struct sonde_bytes bytes = sonde_bytes_of(copy, size);
			struct sonde_cbor_item item;
			struct sonde_error err;

			memcpy(copy, examples[i].bytes, size);
			assert_int_equal(sonde_cbor_next(&bytes, &item, &err), SONDE_TRUNCATED);
			assert_int_equal(err.offset, 0);
			free(copy);
		}
}

static void test_strings(void **state)
{
	struct sonde_bytes bytes = sonde_bytes_of("\x44\x01\x02\x03\x04\x64IETF\x60", 11);
	struct sonde_cbor_item item;

	(void)state;
	assert_int_equal(sonde_cbor_next(&bytes, &item, NULL), SONDE_OK);
	assert_int_equal(item.type, SONDE_CBOR_BYTES);
	assert_int_equal(item.value, 4);
	assert_memory_equal(item.bytes, "\x01\x02\x03\x04", 4);
	assert_int_equal(sonde_cbor_next(&bytes, &item, NULL), SONDE_OK);
	assert_int_equal(item.type, SONDE_CBOR_TEXT);
	assert_memory_equal(item.bytes, "IETF", 4);
	assert_int_equal(sonde_cbor_next(&bytes, &item, NULL), SONDE_OK);
	assert_int_equal(item.value, 0);
	assert_non_null(item.bytes);
}

struct fault {
	const char *bytes;
	size_t size;
	enum sonde_status status;
	uint64_t offset;
};

/* Of the item at the start. */
static void check_faults(const struct fault *faults, size_t count, bool skip)
{
	for (size_t i = 0; i < count; i++) {
		struct sonde_bytes bytes = sonde_bytes_of(faults[i].bytes, faults[i].size);
		struct sonde_error err = { 0 };
		struct sonde_cbor_item item;
		enum sonde_status status = skip ? sonde_cbor_skip(&bytes, 8, &err) :
						  sonde_cbor_next(&bytes, &item, &err);

		if (status != faults[i].status)
			print_error("number %zu\n", i);
		assert_int_equal(status, faults[i].status);
		if (status < 0) {
			assert_int_equal(err.offset, faults[i].offset);
			assert_true(err.message[0]);
		} else {
			assert_int_equal(bytes.position, faults[i].size);
		}
	}
}

#define FAULT(text, ...)                                                                           \
	{                                                                                          \
		text, sizeof(text) - 1, __VA_ARGS__                                                \
	}

/* Counts beyond the bytes left, and bytes that CBOR does not have. */
static void test_hostile_heads(void **state)
{
	static const struct fault faults[] = {
		FAULT("\x5b\xff\xff\xff\xff\xff\xff\xff\xffxx", SONDE_TRUNCATED, 0),
		FAULT("\x7a\xff\xff\xff\xffxx", SONDE_TRUNCATED, 0),
		FAULT("\x9b\xff\xff\xff\xff\xff\xff\xff\xff\x01", SONDE_TRUNCATED, 0),
		FAULT("\xbb\x80\x00\x00\x00\x00\x00\x00\x00\x01\x01", SONDE_TRUNCATED, 0),
		FAULT("\x82\x01", SONDE_TRUNCATED, 0),
		FAULT("\xa1\x01", SONDE_TRUNCATED, 0),
		FAULT("\x1c", SONDE_CORRUPT, 0),
		FAULT("\x1d", SONDE_CORRUPT, 0),
		FAULT("\x1e", SONDE_CORRUPT, 0),
		FAULT("\x1f", SONDE_CORRUPT, 0),
		FAULT("\x3f", SONDE_CORRUPT, 0),
		FAULT("\xdf", SONDE_CORRUPT, 0),
		FAULT("\xfc", SONDE_CORRUPT, 0),
		FAULT("\xf8\x00", SONDE_CORRUPT, 0),
		FAULT("\xf8\x1f", SONDE_CORRUPT, 0),
		FAULT("", SONDE_END, 0),
	};

	(void)state;
	check_faults(faults, sizeof(faults) / sizeof(faults[0]), false);
}

static void test_skip(void **state)
{
	static const struct fault faults[] = {
		FAULT("", SONDE_END, 0),
		FAULT("\x1b\x00\x00\x00\x00\x00\x00\x00\x01", SONDE_OK, 0),
		/* [1, [2, 3], [4, 5]], also with indefinite lengths */
		FAULT("\x83\x01\x82\x02\x03\x82\x04\x05", SONDE_OK, 0),
		FAULT("\x9f\x01\x82\x02\x03\x9f\x04\x05\xff\xff", SONDE_OK, 0),
		/* {"a": 1, "b": [2, 3]} */
		FAULT("\xa2\x61\x61\x01\x61\x62\x82\x02\x03", SONDE_OK, 0),
		FAULT("\xbf\x61\x61\x01\x61\x62\x9f\x02\x03\xff\xff", SONDE_OK, 0),
		/* strings in pieces */
		FAULT("\x7f\x65strea\x64ming\xff", SONDE_OK, 0),
		FAULT("\x5f\x42\x01\x02\xff", SONDE_OK, 0),
		FAULT("\xc1\xc2\x80", SONDE_OK, 0),
		FAULT("\x80", SONDE_OK, 0),
		FAULT("\x9f\xff", SONDE_OK, 0),
		/* pieces of another kind, or in pieces themselves */
		FAULT("\x7f\x41\x61\xff", SONDE_CORRUPT, 1),
		FAULT("\x5f\x5f\x41\x61\xff\xff", SONDE_CORRUPT, 1),
		/* a key without a value, an end that ends nothing */
		FAULT("\xbf\x01\xff", SONDE_CORRUPT, 2),
		FAULT("\xff", SONDE_CORRUPT, 0),
		FAULT("\x82\x01\xff", SONDE_CORRUPT, 2),
		FAULT("\xc1\xff", SONDE_CORRUPT, 1),
		FAULT("\x9f\xc1\xff", SONDE_CORRUPT, 2),
		/* ends too early */
		FAULT("\xc1", SONDE_TRUNCATED, 0),
		FAULT("\x9f\x01", SONDE_TRUNCATED, 0),
		FAULT("\x82\x81\x01", SONDE_TRUNCATED, 0),
		/* eight levels are allowed here */
		FAULT("\x81\x81\x81\x81\x81\x81\x81\x81\x01", SONDE_OK, 0),
		FAULT("\x81\x81\x81\x81\x81\x81\x81\x81\x81\x01", SONDE_LIMIT, 8),
		FAULT("\x9f\x9f\x9f\x9f\x9f\x9f\x9f\x9f\x9f", SONDE_LIMIT, 8),
	};

	(void)state;
	check_faults(faults, sizeof(faults) / sizeof(faults[0]), true);
}

/* A megabyte of openings: refused at the limit, whatever the caller allows. */
static void test_deep(void **state)
{
	static uint8_t deep[1 << 20];
	static const uint8_t kinds[] = { 0x81, 0x9f, 0xa1, 0xbf };

	(void)state;
	for (size_t i = 0; i < sizeof(kinds); i++) {
		struct sonde_bytes bytes = sonde_bytes_of(deep, sizeof(deep));
		struct sonde_error err;

		memset(deep, kinds[i], sizeof(deep));
		assert_int_equal(sonde_cbor_skip(&bytes, 1u << 30, &err), SONDE_LIMIT);
		assert_int_equal(err.offset, SONDE_CBOR_MAX_DEPTH);
	}
}

static void check_put(struct sonde_buffer *buffer, const char *expected, size_t size)
{
	assert_int_equal(buffer->size, size);
	assert_memory_equal(buffer->data, expected, size);
	sonde_buffer_clear(buffer);
}

/* The shortest form, and 9 bytes from 0x7fffffff on. */
static void test_put(void **state)
{
	struct sonde_buffer buffer = { 0 };

	(void)state;
	sonde_cbor_put_int(&buffer, 0);
	sonde_cbor_put_int(&buffer, 23);
	sonde_cbor_put_int(&buffer, 24);
	sonde_cbor_put_int(&buffer, 255);
	sonde_cbor_put_int(&buffer, 256);
	sonde_cbor_put_int(&buffer, 65535);
	check_put(&buffer, "\x00\x17\x18\x18\x18\xff\x19\x01\x00\x19\xff\xff", 12);
	sonde_cbor_put_int(&buffer, 65536);
	sonde_cbor_put_int(&buffer, 0x7ffffffe);
	check_put(&buffer, "\x1a\x00\x01\x00\x00\x1a\x7f\xff\xff\xfe", 10);
	sonde_cbor_put_int(&buffer, 0x7fffffff);
	check_put(&buffer, "\x1b\x00\x00\x00\x00\x7f\xff\xff\xff", 9);
	sonde_cbor_put_int(&buffer, -1);
	sonde_cbor_put_int(&buffer, -500);
	check_put(&buffer, "\x20\x39\x01\xf3", 4);
	sonde_cbor_put_int(&buffer, INT64_MIN);
	check_put(&buffer, "\x3b\x7f\xff\xff\xff\xff\xff\xff\xff", 9);
	sonde_cbor_put_head(&buffer, SONDE_CBOR_TEXT, 2);
	sonde_buffer_put(&buffer, "\xc3\xbc", 2);
	sonde_cbor_put_head(&buffer, SONDE_CBOR_TAG, 0x23);
	sonde_cbor_put_head(&buffer, SONDE_CBOR_MAP, 2);
	sonde_cbor_put_simple(&buffer, 22);
	sonde_cbor_put_simple(&buffer, 255);
	check_put(&buffer, "\x62\xc3\xbc\xd8\x23\xa2\xf6\xf8\xff", 9);
	sonde_buffer_release(&buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),      cmocka_unit_test(test_not_a_number),
		cmocka_unit_test(test_cut),	      cmocka_unit_test(test_strings),
		cmocka_unit_test(test_hostile_heads), cmocka_unit_test(test_skip),
		cmocka_unit_test(test_deep),	      cmocka_unit_test(test_put),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
