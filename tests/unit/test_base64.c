/* SPDX-License-Identifier: Apache-2.0 */
/* Base64: the examples of RFC 4648, every length, pieces, and texts that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"

static void test_examples(void **state)
{
	static const char *const examples[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		const char *bytes = examples[i][0], *text = examples[i][1];
		size_t size = strlen(bytes), length = strlen(text), used = 99;
		char encoded[16] = { 0 };
		uint8_t decoded[16];

		assert_int_equal(sonde_base64_length(size), length);
		sonde_base64_encode(bytes, size, encoded);
		assert_string_equal(encoded, text);
		assert_int_equal(sonde_base64_size(text, length), size);
		assert_int_equal(sonde_base64_decode(text, length, decoded, &used), size);
		assert_int_equal(used, length);
		assert_memory_equal(decoded, bytes, size);
	}
}

/* Exactly as much memory as is promised to be enough, so that a sanitizer sees more. */
static void test_every_length(void **state)
{
	uint8_t bytes[300];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 167 + i / 7);
	for (size_t size = 0; size < sizeof(bytes); size++) {
		size_t length = sonde_base64_length(size), used;
		char *text = malloc(length ? length : 1);
		uint8_t *again = malloc(size ? size : 1);

		sonde_base64_encode(bytes, size, text);
		assert_int_equal(sonde_base64_size(text, length), size);
		assert_int_equal(sonde_base64_decode(text, length, again, &used), size);
		assert_int_equal(used, length);
		assert_memory_equal(again, bytes, size);
		while (length && text[length - 1] == '=')
			length--;
		memset(again, 0, size);
		assert_int_equal(sonde_base64_size(text, length), size);
		assert_int_equal(sonde_base64_decode(text, length, again, &used), size);
		assert_int_equal(used, length);
		assert_memory_equal(again, bytes, size);
		free(text);
		free(again);
	}
}

/* All 256 bytes at each place of a group: 64 belong there. */
static void test_every_character(void **state)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	(void)state;
	for (size_t place = 0; place < 4; place++) {
		for (unsigned int c = 0; c < 256; c++) {
			char text[] = "AAAAAAAA";
			uint8_t bytes[6];
			size_t used, size;
			bool is_known = c && strchr(alphabet, (int)c);

			text[place] = (char)c;
			size = sonde_base64_decode(text, 8, bytes, &used);
			assert_int_equal(used, is_known ? 8 : place);
			assert_int_equal(size, is_known ? 6 : place ? place - 1 : 0);
		}
	}
}

static void test_faults(void **state)
{
	static const struct {
		const char *text;
		size_t used, size;
	} faults[] = {
		{ "A", 0, 0 },	      { "AAAAA", 4, 3 },    { "AA=A", 2, 1 },  { "====", 0, 0 },
		{ "AAAA====", 4, 3 }, { "AA==AAAA", 2, 1 }, { "AAA A", 3, 2 }, { "=", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		uint8_t bytes[8];
		size_t used;

		assert_int_equal(
			sonde_base64_decode(faults[i].text, strlen(faults[i].text), bytes, &used),
			faults[i].size);
		assert_int_equal(used, faults[i].used);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_every_character),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
