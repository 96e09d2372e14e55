/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures and packed arguments: every type and every other name of it, text that is no
 * signature, bytes that end too early at every length, and all of it as JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#include "model/arguments.h"

static struct sonde_signature *parsed(const char *text)
{
	struct sonde_signature *signature = NULL;
	struct sonde_error err = { 0 };

	if (sonde_signature_parse(text, &signature, &err))
		fail_msg("\"%s\": %s", text, err.message);
	return signature;
}

static void check_spec(const char *text, enum sonde_argument_type type, bool is_array,
		       const char *name)
{
	struct sonde_signature *signature = parsed(text);
	const struct sonde_argument_spec *spec = sonde_signature_at(signature, 0);

	assert_int_equal(sonde_signature_count(signature), 1);
	assert_null(sonde_signature_at(signature, 1));
	assert_int_equal(spec->type, type);
	assert_int_equal(spec->is_array, is_array);
	assert_string_equal(spec->name, name);
	sonde_signature_free(signature);
}

static void test_every_type_has_a_word(void **state)
{
	static const struct {
		enum sonde_argument_type type;
		const char *word;
		size_t size;
	} types[] = {
#define X(name, word, size) { SONDE_ARGUMENT_##name, word, size },
		SONDE_ARGUMENT_TYPE_LIST(X)
#undef X
	};
	struct sonde_signature *signature;
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		bool is_text = !types[i].size;

		assert_string_equal(sonde_argument_type_name(types[i].type), types[i].word);
		assert_int_equal(sonde_argument_type_size(types[i].type), types[i].size);
		assert_int_equal(sonde_argument_type_is_text(types[i].type), is_text);
		snprintf(text, sizeof(text), "%s value", types[i].word);
		check_spec(text, types[i].type, false, "value");
		snprintf(text, sizeof(text), "%s[] value", types[i].word);
		if (is_text)
			assert_int_equal(sonde_signature_parse(text, &signature, NULL),
					 SONDE_CORRUPT);
		else
			check_spec(text, types[i].type, true, "value");
		snprintf(text, sizeof(text), " sequence< %s >  value ", types[i].word);
		if (!is_text)
			check_spec(text, types[i].type, true, "value");
	}
	assert_string_equal(sonde_argument_type_name((enum sonde_argument_type)999), "unknown");
	assert_int_equal(sonde_argument_type_size((enum sonde_argument_type)999), 0);
}

static void test_other_names_of_types(void **state)
{
	(void)state;
	check_spec("byte a", SONDE_ARGUMENT_INT8, false, "a");
	check_spec("octet a", SONDE_ARGUMENT_UINT8, false, "a");
	check_spec("short a", SONDE_ARGUMENT_INT16, false, "a");
	check_spec("unsigned short a", SONDE_ARGUMENT_UINT16, false, "a");
	check_spec("long a", SONDE_ARGUMENT_INT32, false, "a");
	check_spec("unsigned long a", SONDE_ARGUMENT_UINT32, false, "a");
	check_spec("float a", SONDE_ARGUMENT_FLOAT32, false, "a");
	check_spec("DOMString a", SONDE_ARGUMENT_UTF8, false, "a");
	check_spec("unsigned long[] a", SONDE_ARGUMENT_UINT32, true, "a");
	check_spec("sequence<unsigned short> a", SONDE_ARGUMENT_UINT16, true, "a");
	check_spec("\tuint32\tlong_name\n", SONDE_ARGUMENT_UINT32, false, "long_name");
}

static void test_several_arguments(void **state)
{
	static const char *const empty[] = { NULL, "", "  ", "\n\t" };
	struct sonde_signature *signature;

	(void)state;
	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		signature = parsed(empty[i]);
		assert_int_equal(sonde_signature_count(signature), 0);
		assert_null(sonde_signature_at(signature, 0));
		sonde_signature_free(signature);
	}
	signature = parsed("uint32 size,utf8 name ,  float32[] weights,any any");
	assert_int_equal(sonde_signature_count(signature), 4);
	assert_string_equal(sonde_signature_at(signature, 1)->name, "name");
	assert_string_equal(sonde_signature_at(signature, 2)->name, "weights");
	assert_true(sonde_signature_at(signature, 2)->is_array);
	assert_int_equal(sonde_signature_at(signature, 3)->type, SONDE_ARGUMENT_ANY);
	assert_string_equal(sonde_signature_at(signature, 3)->name, "any");
	sonde_signature_free(signature);
	sonde_signature_free(NULL);
}

static void test_text_that_is_no_signature(void **state)
{
	static const char *const bad[] = {
		"uint32",
		"uint32 ",
		"uint33 a",
		"uint32 a,,uint8 b",
		",",
		"uint32 a,",
		",uint32 a",
		"utf8[] a",
		"sequence<ascii> a",
		"any[] a",
		"uint32 a[]",
		"uint32[][] a",
		"sequence<uint8[]> a",
		"sequence<> a",
		"sequence< a",
		"sequence<uint8 a",
		"[] a",
		"unsigned long",
		"unsigned a",
		"UINT32 a",
		"uint32 a b",
		"sequence<uint8>[] a",
		"uint32 sequence<",
		"uint32[ a",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sonde_signature *signature = (struct sonde_signature *)state;
		struct sonde_error err = { 0 };

		if (sonde_signature_parse(bad[i], &signature, &err) != SONDE_CORRUPT)
			fail_msg("\"%s\" is taken for a signature", bad[i]);
		assert_null(signature);
		assert_true(err.message[0]);
	}
}

/* One argument of every kind there is, in this order. */
static const char everything[] =
	"bool b, int8 i8, uint8 u8, char c, int16 i16, uint16 u16, wchar w, int32 i32, uint32 u32, "
	"int64 i64, uint64 u64, float32 f32, float64 f64, flowId flow, time32 time, ascii a, "
	"utf8 t, any v, uint8[] bytes, int16[] shorts, float64[] doubles, bool[] bools, "
	"char[] chars, wchar[] wchars, utf8 nothing, uint32[] none, utf8 empty, int64[] zero";

static void put_signed(struct sonde_buffer *out, enum sonde_argument_type type, int64_t value)
{
	sonde_arguments_put_number(out, type, (union sonde_argument_value){ .i64 = value });
}

static void put_unsigned(struct sonde_buffer *out, enum sonde_argument_type type, uint64_t value)
{
	sonde_arguments_put_number(out, type, (union sonde_argument_value){ .u64 = value });
}

static void put_float(struct sonde_buffer *out, enum sonde_argument_type type, double value)
{
	sonde_arguments_put_number(out, type, (union sonde_argument_value){ .f64 = value });
}

static void put_text(struct sonde_buffer *out, const char *text)
{
	sonde_arguments_put_text(out, text, text ? strlen(text) : 0);
}

static void pack_everything(struct sonde_buffer *out)
{
	static const uint8_t shorts[] = { 0xFF, 0xFF, 0x00, 0x80, 0x01, 0x00 };
	static const uint8_t wchars[] = { 'h', 0, 0x3D, 0xD8, 0x00, 0xDE, 0x3D, 0xD8, 'i', 0 };
	static const uint8_t doubles[] = { 0, 0, 0, 0, 0, 0, 0xE0, 0x3F };

	put_unsigned(out, SONDE_ARGUMENT_BOOL, 256); /* true, though its low byte is 0 */
	put_signed(out, SONDE_ARGUMENT_INT8, -128);
	put_unsigned(out, SONDE_ARGUMENT_UINT8, 255);
	put_unsigned(out, SONDE_ARGUMENT_CHAR, 0xE9);
	put_signed(out, SONDE_ARGUMENT_INT16, -32768);
	put_unsigned(out, SONDE_ARGUMENT_UINT16, 65535);
	put_unsigned(out, SONDE_ARGUMENT_WCHAR, 0xD83D); /* half a pair */
	put_signed(out, SONDE_ARGUMENT_INT32, INT32_MIN);
	put_unsigned(out, SONDE_ARGUMENT_UINT32, UINT32_MAX);
	put_signed(out, SONDE_ARGUMENT_INT64, INT64_MIN);
	put_unsigned(out, SONDE_ARGUMENT_UINT64, UINT64_MAX);
	put_float(out, SONDE_ARGUMENT_FLOAT32, (double)0.1f);
	put_float(out, SONDE_ARGUMENT_FLOAT64, 0.1);
	put_unsigned(out, SONDE_ARGUMENT_FLOW, 7);
	put_unsigned(out, SONDE_ARGUMENT_TIME32, 1000000);
	put_text(out, "outer");
	put_text(out, "\xC3\xA9\"\n");
	put_text(out, " {\"k\" : [1, null]} ");
	sonde_arguments_put_array(out, SONDE_ARGUMENT_UINT8, "\x00\x01\xFF", 3);
	sonde_arguments_put_array(out, SONDE_ARGUMENT_INT16, shorts, 3);
	sonde_arguments_put_array(out, SONDE_ARGUMENT_FLOAT64, doubles, 1);
	sonde_arguments_put_array(out, SONDE_ARGUMENT_BOOL, "\x00\x02", 2);
	sonde_arguments_put_array(out, SONDE_ARGUMENT_CHAR, "a\x00\xE9", 3);
	sonde_arguments_put_array(out, SONDE_ARGUMENT_WCHAR, wchars, 5);
	put_text(out, NULL);
	sonde_arguments_put_array(out, SONDE_ARGUMENT_UINT32, NULL, 0);
	put_text(out, "");
	sonde_arguments_put_array(out, SONDE_ARGUMENT_INT64, "", 0);
	assert_false(out->failed);
	assert_int_equal(out->size % 4, 0);
}

static void check_numbers(struct sonde_arguments *arguments)
{
	static const union sonde_argument_value expected[] = {
		{ .u64 = 1 },	      { .i64 = -128 },	     { .u64 = 255 },
		{ .u64 = 0xE9 },      { .i64 = -32768 },     { .u64 = 65535 },
		{ .u64 = 0xD83D },    { .i64 = INT32_MIN },  { .u64 = UINT32_MAX },
		{ .i64 = INT64_MIN }, { .u64 = UINT64_MAX }, { .f64 = (double)0.1f },
		{ .f64 = 0.1 },	      { .u64 = 7 },	     { .u64 = 1000000 },
	};
	struct sonde_argument argument;

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		assert_int_equal(sonde_arguments_next(arguments, &argument, NULL), SONDE_OK);
		assert_ptr_equal(argument.spec, sonde_signature_at(arguments->signature, i));
		assert_false(argument.is_null);
		assert_null(argument.bytes);
		assert_memory_equal(&argument.value, &expected[i], sizeof(argument.value));
	}
}

static void check_text(struct sonde_arguments *arguments, const char *text)
{
	struct sonde_argument argument;

	assert_int_equal(sonde_arguments_next(arguments, &argument, NULL), SONDE_OK);
	assert_int_equal(argument.is_null, !text);
	assert_int_equal(argument.count, text ? strlen(text) : 0);
	if (text)
		assert_memory_equal(argument.bytes, text, strlen(text));
}

static void check_array(struct sonde_arguments *arguments, const int64_t *items, size_t count)
{
	struct sonde_argument argument;

	assert_int_equal(sonde_arguments_next(arguments, &argument, NULL), SONDE_OK);
	assert_int_equal(argument.is_null, !items);
	assert_int_equal(argument.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(sonde_argument_item(&argument, i).i64, items[i]);
}

static void test_what_is_packed_is_unpacked(void **state)
{
	struct sonde_signature *signature = parsed(everything);
	struct sonde_buffer packed = { 0 };
	struct sonde_arguments arguments = { .signature = signature };
	struct sonde_argument argument;

	(void)state;
	pack_everything(&packed);
	arguments.bytes = (const uint8_t *)packed.data;
	arguments.size = packed.size;
	check_numbers(&arguments);
	check_text(&arguments, "outer");
	check_text(&arguments, "\xC3\xA9\"\n");
	check_text(&arguments, " {\"k\" : [1, null]} ");
	check_array(&arguments, (const int64_t[]){ 0, 1, 255 }, 3);
	check_array(&arguments, (const int64_t[]){ -1, -32768, 1 }, 3);
	assert_int_equal(sonde_arguments_next(&arguments, &argument, NULL), SONDE_OK);
	assert_true(sonde_argument_item(&argument, 0).f64 == 0.5);
	check_array(&arguments, (const int64_t[]){ 0, 1 }, 2);
	check_array(&arguments, (const int64_t[]){ 'a', 0, 0xE9 }, 3);
	check_array(&arguments, (const int64_t[]){ 'h', 0xD83D, 0xDE00, 0xD83D, 'i' }, 5);
	check_text(&arguments, NULL);
	check_array(&arguments, NULL, 0);
	check_text(&arguments, "");
	check_array(&arguments, (const int64_t[]){ 0 }, 0);
	assert_int_equal(sonde_arguments_next(&arguments, &argument, NULL), SONDE_END);
	assert_int_equal(sonde_arguments_next(&arguments, &argument, NULL), SONDE_END);
	assert_int_equal(arguments.position, packed.size);
	sonde_buffer_release(&packed);
	sonde_signature_free(signature);
}

/* Unpacked and packed again: the same bytes. */
static void check_repacked(const struct sonde_signature *signature, const void *bytes, size_t size)
{
	struct sonde_arguments arguments = { signature, bytes, size, 0, 0 };
	struct sonde_buffer again = { 0 };
	struct sonde_argument argument;

	while (!sonde_arguments_next(&arguments, &argument, NULL))
		sonde_arguments_put(&again, &argument);
	assert_int_equal(arguments.position, size);
	assert_int_equal(again.size, size);
	assert_memory_equal(again.data, bytes, size);
	sonde_buffer_release(&again);
}

static void test_packing_again_changes_nothing(void **state)
{
	/* NaNs that signal, with both signs, and one without the upper bits of its fraction */
	static const uint32_t singles[] = { 0x7F800001, 0xFFA00000, 0x7FC00000, 0x7F800000,
					    0xFF800000, 0x80000000, 1 };
	struct sonde_signature *signature = parsed(everything);
	struct sonde_buffer packed = { 0 };
	uint8_t bytes[4];

	(void)state;
	pack_everything(&packed);
	check_repacked(signature, packed.data, packed.size);
	sonde_signature_free(signature);
	signature = parsed("float32 f");
	for (size_t i = 0; i < sizeof(singles) / sizeof(singles[0]); i++) {
		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)(singles[i] >> 8 * k);
		check_repacked(signature, bytes, sizeof(bytes));
	}
	sonde_buffer_clear(&packed);
	put_float(&packed, SONDE_ARGUMENT_FLOAT32, (double)NAN);
	put_float(&packed, SONDE_ARGUMENT_FLOAT32, 1e300);
	check_repacked(signature, packed.data, 4);
	assert_memory_equal(packed.data + 4, "\x00\x00\x80\x7F", 4); /* too large: infinite */
	sonde_buffer_release(&packed);
	sonde_signature_free(signature);
}

/* Bytes that are there and no more: a sanitizer sees every step outside. */
static enum sonde_status walk(const struct sonde_signature *signature, const void *bytes,
			      size_t size, size_t *count)
{
	uint8_t *exact = size ? malloc(size) : NULL;
	struct sonde_arguments arguments = { signature, exact, size, 0, 0 };
	struct sonde_buffer text = { 0 };
	struct sonde_json_writer json;
	struct sonde_argument argument;
	struct sonde_error err = { 0 };
	enum sonde_status status;

	if (size)
		memcpy(exact, bytes, size);
	sonde_json_writer_init(&json, &text, false);
	sonde_json_array_begin(&json);
	for (*count = 0; !(status = sonde_arguments_next(&arguments, &argument, &err)); ++*count)
		sonde_argument_put_json(&json, &argument);
	if (status == SONDE_CORRUPT)
		assert_true(err.message[0]);
	assert_true(arguments.position <= size);
	free(exact);
	sonde_buffer_release(&text);
	return status;
}

static void test_bytes_that_end_too_early(void **state)
{
	struct sonde_signature *signature = parsed(everything), *none = parsed(NULL);
	struct sonde_buffer packed = { 0 };
	size_t before = 0, count;

	(void)state;
	pack_everything(&packed);
	for (size_t size = 0; size < packed.size; size++) {
		assert_int_equal(walk(signature, packed.data, size, &count), SONDE_CORRUPT);
		assert_true(count >= before && count < sonde_signature_count(signature));
		before = count;
	}
	assert_int_equal(walk(signature, packed.data, packed.size, &count), SONDE_END);
	assert_int_equal(count, sonde_signature_count(signature));
	assert_int_equal(walk(none, NULL, 0, &count), SONDE_END);
	sonde_buffer_release(&packed);
	sonde_signature_free(signature);
	sonde_signature_free(none);
}

static void test_counts_that_are_lies(void **state)
{
	static const char *const signatures[] = { "utf8 a",    "uint8[] a",   "uint16[] a",
						  "int32[] a", "float64[] a", "any a" };
	static const uint32_t counts[] = { 5,	       0x10000000, 0x20000000, 0x40000000,
					   0x7FFFFFFF, 0x80000000, 0xFFFFFFFE };
	size_t count;

	(void)state;
	for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++) {
		struct sonde_signature *signature = parsed(signatures[i]);

		for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
			uint8_t bytes[8] = { (uint8_t)counts[k], (uint8_t)(counts[k] >> 8),
					     (uint8_t)(counts[k] >> 16),
					     (uint8_t)(counts[k] >> 24) };

			assert_int_equal(walk(signature, bytes, sizeof(bytes), &count),
					 SONDE_CORRUPT);
		}
		/* null needs no bytes behind it */
		assert_int_equal(walk(signature, "\xFF\xFF\xFF\xFF", 4, &count), SONDE_END);
		sonde_signature_free(signature);
	}
}

/* Padding belongs to the value: without it the bytes have ended too early. */
static void test_padding_is_part_of_a_value(void **state)
{
	struct sonde_signature *signature = parsed("utf8 a");
	size_t count;

	(void)state;
	assert_int_equal(walk(signature, "\x01\x00\x00\x00x", 5, &count), SONDE_CORRUPT);
	assert_int_equal(walk(signature, "\x01\x00\x00\x00x\x00\x00\x00", 8, &count), SONDE_END);
	sonde_signature_free(signature);
}

static void test_text_too_long_to_count(void **state)
{
	struct sonde_buffer packed = { 0 };

	(void)state;
	sonde_arguments_put_text(&packed, "x", UINT32_MAX);
	assert_true(packed.failed);
	assert_int_equal(packed.size, 0);
	sonde_buffer_release(&packed);
}

static void check_json(const char *text, const struct sonde_buffer *packed, const char *expected,
		       enum sonde_status status)
{
	struct sonde_signature *signature = parsed(text);
	struct sonde_buffer out = { 0 };
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, &out, false);
	assert_int_equal(sonde_arguments_put_json(&json, signature, (const uint8_t *)packed->data,
						  packed->size, NULL),
			 status);
	assert_string_equal(sonde_buffer_text(&out), expected);
	sonde_buffer_release(&out);
	sonde_signature_free(signature);
}

static void test_json_of_everything(void **state)
{
	struct sonde_buffer packed = { 0 };

	(void)state;
	check_json("", &packed, "{}", SONDE_OK);
	pack_everything(&packed);
	check_json(everything, &packed,
		   "{\"b\":true,\"i8\":-128,\"u8\":255,\"c\":\"\xC3\xA9\",\"i16\":-32768,"
		   "\"u16\":65535,\"w\":\"\xEF\xBF\xBD\",\"i32\":-2147483648,\"u32\":4294967295,"
		   "\"i64\":-9223372036854775808,\"u64\":18446744073709551615,\"f32\":0.1,"
		   "\"f64\":0.1,\"flow\":7,\"time\":1000000,\"a\":\"outer\","
		   "\"t\":\"\xC3\xA9\\\"\\n\",\"v\":{\"k\":[1,null]},\"bytes\":[0,1,255],"
		   "\"shorts\":[-1,-32768,1],\"doubles\":[0.5],\"bools\":[false,true],"
		   "\"chars\":\"a\\u0000\xC3\xA9\","
		   "\"wchars\":\"h\xF0\x9F\x98\x80\xEF\xBF\xBDi\",\"nothing\":null,\"none\":null,"
		   "\"empty\":\"\",\"zero\":[]}",
		   SONDE_OK);
	/* what could be decoded is there */
	packed.size = 8;
	check_json(everything, &packed, "{\"b\":true,\"i8\":-128}", SONDE_CORRUPT);
	sonde_buffer_release(&packed);
}

static void check_float(enum sonde_argument_type type, double value, const char *expected)
{
	struct sonde_buffer packed = { 0 };
	char text[64];

	put_float(&packed, type, value);
	snprintf(text, sizeof(text), "{\"f\":%s}", expected);
	check_json(type == SONDE_ARGUMENT_FLOAT32 ? "float32 f" : "float64 f", &packed, text,
		   SONDE_OK);
	sonde_buffer_release(&packed);
}

static void check_floats(void)
{
	check_float(SONDE_ARGUMENT_FLOAT32, (double)0.3f, "0.3");
	check_float(SONDE_ARGUMENT_FLOAT32, (double)16777217.0f, "16777216");
	check_float(SONDE_ARGUMENT_FLOAT32, (double)3.4028235e38f, "3.4028235e+38");
	check_float(SONDE_ARGUMENT_FLOAT32, (double)1e-45f, "1e-45");
	check_float(SONDE_ARGUMENT_FLOAT32, -0.0, "-0");
	check_float(SONDE_ARGUMENT_FLOAT32, (double)NAN, "null");
	check_float(SONDE_ARGUMENT_FLOAT32, (double)INFINITY, "null");
	check_float(SONDE_ARGUMENT_FLOAT64, 0.3, "0.3");
	check_float(SONDE_ARGUMENT_FLOAT64, 0.1 + 0.2, "0.30000000000000004");
	check_float(SONDE_ARGUMENT_FLOAT64, 1.7976931348623157e308, "1.7976931348623157e+308");
	check_float(SONDE_ARGUMENT_FLOAT64, 5e-324, "5e-324");
	check_float(SONDE_ARGUMENT_FLOAT64, (double)-INFINITY, "null");
	check_float(SONDE_ARGUMENT_FLOAT64, 100, "100");
}

static void test_json_of_floats(void **state)
{
	static const char *const locales[] = { "de_DE.UTF-8", "de_DE", "fr_FR.UTF-8" };

	(void)state;
	check_floats();
	/* Where there is such a locale, it changes nothing. */
	for (size_t i = 0; i < sizeof(locales) / sizeof(locales[0]); i++) {
		if (setlocale(LC_NUMERIC, locales[i]))
			check_floats();
	}
	setlocale(LC_NUMERIC, "C");
}

static void check_any(const char *value, const char *expected)
{
	struct sonde_buffer packed = { 0 };
	char text[256];

	put_text(&packed, value);
	snprintf(text, sizeof(text), "{\"v\":%s}", expected);
	check_json("any v", &packed, text, SONDE_OK);
	sonde_buffer_release(&packed);
}

static void test_json_of_any(void **state)
{
	char deep[201] = { 0 }, quoted[204];

	(void)state;
	check_any("1.50", "1.50");
	check_any("\"text\"", "\"text\"");
	check_any(" null ", "null");
	check_any("[1,\n2]", "[1,2]");
	check_any("", "\"\"");
	check_any("  ", "\"  \"");
	check_any("hello", "\"hello\"");
	check_any("1 2", "\"1 2\"");
	check_any("{\"a\":1", "\"{\\\"a\\\":1\"");
	check_any("}", "\"}\"");
	check_any("]", "\"]\"");
	check_any("{\"a\":1}}", "\"{\\\"a\\\":1}}\"");
	check_any(",", "\",\"");
	check_any("\xFF", "\"\xEF\xBF\xBD\"");
	check_any(NULL, "null");
	/* nested deeper than is read */
	for (size_t i = 0; i < 200; i++)
		deep[i] = i < 100 ? '[' : ']';
	snprintf(quoted, sizeof(quoted), "\"%s\"", deep);
	check_any(deep, quoted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_type_has_a_word),
		cmocka_unit_test(test_other_names_of_types),
		cmocka_unit_test(test_several_arguments),
		cmocka_unit_test(test_text_that_is_no_signature),
		cmocka_unit_test(test_what_is_packed_is_unpacked),
		cmocka_unit_test(test_packing_again_changes_nothing),
		cmocka_unit_test(test_bytes_that_end_too_early),
		cmocka_unit_test(test_counts_that_are_lies),
		cmocka_unit_test(test_padding_is_part_of_a_value),
		cmocka_unit_test(test_text_too_long_to_count),
		cmocka_unit_test(test_json_of_everything),
		cmocka_unit_test(test_json_of_floats),
		cmocka_unit_test(test_json_of_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
