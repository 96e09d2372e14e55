/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf wire format: the examples of its documentation, every type, and hostile fields. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_largest),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
