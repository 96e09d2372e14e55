/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf wire format: the examples of its documentation, every type, hostile fields; and
 * what is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/protobuf.h"

static void test_fields(void **state)
{
	/* 1: 150; 2: "testing"; 3: { 1: 150 }; 4: fixed32; 5: fixed64; 536870911: 0 */
	static const char message[] = "\x08\x96\x01"
				      "\x12\x07testing"
				      "\x1a\x03\x08\x96\x01"
				      "\x25\x01\x02\x03\x04"
				      "\x29\x01\x02\x03\x04\x05\x06\x07\x08"
				      "\xf8\xff\xff\xff\x0f\x00";
	struct sonde_bytes bytes = sonde_bytes_of(message, sizeof(message) - 1);
	struct sonde_protobuf_field field, inner;

	(void)state;
	assert_int_equal(sonde_protobuf_next(&bytes, &field, NULL), SONDE_OK);
	assert_int_equal(field.number, 1);
	assert_int_equal(field.type, SONDE_PROTOBUF_VARINT);
	assert_int_equal(field.value, 150);
	assert_int_equal(sonde_protobuf_next(&bytes, &field, NULL), SONDE_OK);
	assert_int_equal(field.number, 2);
	assert_int_equal(field.type, SONDE_PROTOBUF_BYTES);
	assert_int_equal(field.bytes.size, 7);
	assert_memory_equal(field.bytes.data, "testing", 7);
	assert_int_equal(sonde_protobuf_next(&bytes, &field, NULL), SONDE_OK);
	assert_int_equal(sonde_protobuf_next(&field.bytes, &inner, NULL), SONDE_OK);
	assert_int_equal(inner.value, 150);
	assert_int_equal(sonde_protobuf_next(&field.bytes, &inner, NULL), SONDE_END);
	assert_int_equal(sonde_protobuf_next(&bytes, &field, NULL), SONDE_OK);
	assert_int_equal(field.type, SONDE_PROTOBUF_FIXED32);
	assert_int_equal(field.value, 0x04030201);
	assert_int_equal(sonde_protobuf_next(&bytes, &field, NULL), SONDE_OK);
	assert_int_equal(field.type, SONDE_PROTOBUF_FIXED64);
	assert_int_equal(field.value, 0x0807060504030201);
	assert_int_equal(sonde_protobuf_next(&bytes, &field, NULL), SONDE_OK);
	assert_int_equal(field.number, 0x1fffffff);
	assert_int_equal(sonde_protobuf_next(&bytes, &field, NULL), SONDE_END);
}

static void test_largest(void **state)
{
	struct sonde_bytes bytes =
		sonde_bytes_of("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x00", 13);
	struct sonde_protobuf_field field;

	(void)state;
	assert_int_equal(sonde_protobuf_next(&bytes, &field, NULL), SONDE_OK);
	assert_int_equal(field.value, UINT64_MAX);
	assert_int_equal(sonde_protobuf_next(&bytes, &field, NULL), SONDE_OK);
	assert_int_equal(field.bytes.size, 0);
	assert_int_equal(sonde_protobuf_next(&field.bytes, &field, NULL), SONDE_END);
}

#define FAULT(text, status)                                                                        \
	{                                                                                          \
		text, sizeof(text) - 1, status                                                     \
	}

/* Behind a good field; in memory of its own, so that a sanitizer sees reads behind it. */
static void test_hostile(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		enum sonde_status status;
	} faults[] = {
		FAULT("\x08", SONDE_TRUNCATED),
		FAULT("\x88", SONDE_TRUNCATED),
		FAULT("\x08\x80", SONDE_TRUNCATED),
		FAULT("\x12\x05zz", SONDE_TRUNCATED),
		FAULT("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01zz", SONDE_TRUNCATED),
		FAULT("\x25\x01\x02\x03", SONDE_TRUNCATED),
		FAULT("\x29\x01\x02\x03\x04\x05\x06\x07", SONDE_TRUNCATED),
		FAULT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", SONDE_CORRUPT),
		FAULT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", SONDE_CORRUPT),
		FAULT("\x0b\x00", SONDE_CORRUPT), /* groups, and types that are none */
		FAULT("\x0c\x00", SONDE_CORRUPT),
		FAULT("\x0e\x00", SONDE_CORRUPT),
		FAULT("\x0f\x00", SONDE_CORRUPT),
		FAULT("\x00\x00", SONDE_CORRUPT), /* number 0, and one too large */
		FAULT("\x80\x80\x80\x80\x10\x00", SONDE_CORRUPT),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		size_t size = faults[i].size + 2;
		uint8_t *copy = malloc(size);
		struct sonde_bytes bytes = sonde_bytes_of(copy, size);
		struct sonde_protobuf_field field;
		struct sonde_error err;

		memcpy(copy, "\x08\x01", 2);
		memcpy(copy + 2, faults[i].bytes, faults[i].size);
		assert_int_equal(sonde_protobuf_next(&bytes, &field, &err), SONDE_OK);
		assert_int_equal(sonde_protobuf_next(&bytes, &field, &err), faults[i].status);
		assert_int_equal(err.offset, 2);
		free(copy);
	}
}

static void test_put(void **state)
{
	static const char expected[] =
		"\x08\x96\x01"
		"\x12\x07testing"
		"\x1a\x03\x08\x96\x01"
		"\x29\x01\x02\x03\x04\x05\x06\x07\x08"
		"\x31\x00\x00\x00\x00\x00\x00\xf8\x3f"
		"\x3a\x04z\xef\xbf\xbd"
		"\xf8\xff\xff\xff\x0f\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
	struct sonde_buffer out = { 0 };
	size_t start;

	(void)state;
	sonde_protobuf_put_uint(&out, 1, 150);
	sonde_protobuf_put_string(&out, 2, "testing", 7);
	start = sonde_protobuf_begin(&out, 3);
	sonde_protobuf_put_uint(&out, 1, 150);
	sonde_protobuf_end(&out, start);
	sonde_protobuf_put_fixed64(&out, 5, 0x0807060504030201);
	sonde_protobuf_put_double(&out, 6, 1.5);
	sonde_protobuf_put_string(&out, 7, "z\xff", 2);
	sonde_protobuf_put_uint(&out, 0x1fffffff, UINT64_MAX);
	assert_int_equal(out.size, sizeof(expected) - 1);
	assert_memory_equal(out.data, expected, out.size);
	sonde_buffer_release(&out);
}

/* Messages within messages, of every length of length. */
static void test_put_nested(void **state)
{
	static const size_t sizes[] = { 0, 1, 127, 128, 16383, 16384, 3000000 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct sonde_buffer out = { 0 };
		struct sonde_protobuf_field outer, inner;
		struct sonde_bytes bytes;
		char *text = malloc(sizes[i] + 1);
		size_t first, second;

		memset(text, 'x', sizes[i] + 1);
		first = sonde_protobuf_begin(&out, 1);
		second = sonde_protobuf_begin(&out, 100000);
		sonde_buffer_put(&out, text, sizes[i]);
		sonde_protobuf_end(&out, second);
		sonde_protobuf_end(&out, first);
		assert_false(out.failed);
		bytes = sonde_bytes_of(out.data, out.size);
		assert_int_equal(sonde_protobuf_next(&bytes, &outer, NULL), SONDE_OK);
		assert_int_equal(sonde_protobuf_next(&outer.bytes, &inner, NULL), SONDE_OK);
		assert_int_equal(inner.number, 100000);
		assert_int_equal(inner.bytes.size, sizes[i]);
		assert_memory_equal(inner.bytes.data, text, sizes[i]);
		assert_int_equal(sonde_protobuf_next(&bytes, &outer, NULL), SONDE_END);
		free(text);
		sonde_buffer_release(&out);
	}
}

static void test_numbers(void **state)
{
	static const int64_t numbers[] = { 0, -1, 1, -2, 63, -64, 64, INT64_MAX, INT64_MIN };
	static const uint64_t edges[] = { 0, 127, 128, 16383, 16384, 1ull << 63, UINT64_MAX };
	char space[SONDE_PROTOBUF_VARINT_SIZE];

	(void)state;
	assert_int_equal(sonde_protobuf_zigzag(-1), 1);
	assert_int_equal(sonde_protobuf_zigzag(1), 2);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		assert_int_equal(sonde_protobuf_unzigzag(sonde_protobuf_zigzag(numbers[i])),
				 numbers[i]);
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		assert_int_equal(sonde_protobuf_varint_at(space, edges[i]) - space,
				 sonde_protobuf_varint_length(edges[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),	   cmocka_unit_test(test_largest),
		cmocka_unit_test(test_hostile),	   cmocka_unit_test(test_put),
		cmocka_unit_test(test_put_nested), cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
