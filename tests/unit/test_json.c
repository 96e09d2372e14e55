/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON reader and writer. Every document is read from memory and, byte by byte, as a stream. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct stream {
	const char *data;
	size_t size, position, step;
	enum sonde_status failure; /* at the end, instead of the end */
};

static enum sonde_status refill(void *user, char *data, size_t size, size_t *got,
				struct sonde_error *err)
{
	struct stream *stream = user;
	size_t left = stream->size - stream->position;

	*got = left < stream->step ? left : stream->step;
	if (*got > size)
		*got = size;
	if (!*got && stream->failure < 0)
		return sonde_fail(err, stream->failure, SONDE_NO_OFFSET, "the stream broke");
	memcpy(data, stream->data + stream->position, *got);
	stream->position += *got;
	return SONDE_OK;
}

/* All tokens as text: "{k:a n:1 }" and so on, each with its offset and depth. */
static enum sonde_status describe(struct sonde_json_reader *reader, struct sonde_buffer *out,
				  struct sonde_error *err)
{
	static const char names[] = {
		[SONDE_JSON_END] = '$',	       [SONDE_JSON_OBJECT_BEGIN] = '{',
		[SONDE_JSON_OBJECT_END] = '}', [SONDE_JSON_ARRAY_BEGIN] = '[',
		[SONDE_JSON_ARRAY_END] = ']',  [SONDE_JSON_KEY] = 'k',
		[SONDE_JSON_STRING] = 's',     [SONDE_JSON_NUMBER] = 'n',
		[SONDE_JSON_TRUE] = 'T',       [SONDE_JSON_FALSE] = 'F',
		[SONDE_JSON_NULL] = 'N',
	};
	enum sonde_status status;

	do {
		status = sonde_json_next(reader, err);
		if (status < 0)
			return status;
		assert_int_equal(strlen(reader->text), reader->length);
		sonde_buffer_put_format(out, "%s%c%u@%u", out->size ? " " : "",
					names[reader->token], reader->depth,
					(unsigned int)reader->offset);
		if (reader->length)
			sonde_buffer_put_format(out, "=%s", reader->text);
	} while (reader->token != SONDE_JSON_END);
	return status;
}

struct outcome {
	struct sonde_buffer tokens;
	enum sonde_status status;
	struct sonde_error err;
};

static struct outcome read_document(const char *data, size_t size, size_t step)
{
	struct outcome outcome = { .err.offset = SONDE_NO_OFFSET };
	struct stream stream = { .data = data, .size = size, .step = step };
	struct sonde_error again = { 0 };
	struct sonde_json_reader reader;
	char *copy = malloc(size ? size : 1);

	/* A block of the exact size, so that a sanitizer sees a read past its end. */
	assert_non_null(copy);
	memcpy(copy, data, size);
	sonde_json_reader_init(&reader, step ? NULL : copy, size, step ? refill : NULL, &stream);
	outcome.status = describe(&reader, &outcome.tokens, &outcome.err);
	/* The end and an error stay. */
	assert_int_equal(sonde_json_next(&reader, &again), outcome.status);
	if (outcome.status < 0) {
		assert_int_equal(again.offset, outcome.err.offset);
		assert_string_equal(again.message, outcome.err.message);
	} else {
		assert_int_equal(reader.token, SONDE_JSON_END);
	}
	sonde_json_reader_release(&reader);
	free(copy);
	assert_non_null(sonde_buffer_text(&outcome.tokens));
	return outcome;
}

/* Reads in all ways and compares; the outcome is the caller's to release. */
static struct outcome read_all_ways(const char *data, size_t size)
{
	static const size_t steps[] = { 1, 2, 3, 7, 1 << 20 };
	struct outcome outcome = read_document(data, size, 0);

	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		struct outcome other = read_document(data, size, steps[i]);

		assert_int_equal(other.status, outcome.status);
		assert_string_equal(other.tokens.data, outcome.tokens.data);
		assert_int_equal(other.err.offset, outcome.err.offset);
		assert_string_equal(other.err.message, outcome.err.message);
		sonde_buffer_release(&other.tokens);
	}
	return outcome;
}

static void test_valid(void **state)
{
	static const struct {
		const char *document, *tokens;
	} cases[] = {
		{ "null", "N0@0 $0@4" },
		{ " true ", "T0@1 $0@6" },
		{ "false", "F0@0 $0@5" },
		{ "\"\"", "s0@0 $0@2" },
		{ "\"abc\"", "s0@0=abc $0@5" },
		{ "{}", "{0@0 }0@1 $0@2" },
		{ "[]", "[0@0 ]0@1 $0@2" },
		{ "[ ]", "[0@0 ]0@2 $0@3" },
		{ "\t\r\n[1 , 2]", "[0@3 n1@4=1 n1@8=2 ]0@9 $0@10" },
		{ "{\"a\":1,\"b\":[true]}",
		  "{0@0 k1@1=a n1@5=1 k1@7=b [1@11 T2@12 ]1@16 }0@17 $0@18" },
		{ "{\"a\" : {\"b\" : {}}}",
		  "{0@0 k1@1=a {1@7 k2@8=b {2@14 }2@15 }1@16 }0@17 $0@18" },
		{ "[[],[[]]]", "[0@0 [1@1 ]1@2 [1@4 [2@5 ]2@6 ]1@7 ]0@8 $0@9" },
		{ "{\"\":\"\"}", "{0@0 k1@1 s1@4 }0@6 $0@7" },
		{ "{\"a\":1,\"a\":2}", "{0@0 k1@1=a n1@5=1 k1@7=a n1@11=2 }0@12 $0@13" },
		{ "0", "n0@0=0 $0@1" },
		{ "-0", "n0@0=-0 $0@2" },
		{ "1234567890", "n0@0=1234567890 $0@10" },
		{ "-1.5e+10", "n0@0=-1.5e+10 $0@8" },
		{ "1E400", "n0@0=1E400 $0@5" },
		{ "0.00e-0", "n0@0=0.00e-0 $0@7" },
		{ "[0,-1]", "[0@0 n1@1=0 n1@3=-1 ]0@5 $0@6" },
		{ "\xEF\xBB\xBF[]", "[0@3 ]0@4 $0@5" },
		{ "\"\x7F\"", "s0@0=\x7F $0@3" },
		{ "\"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\"",
		  "s0@0=\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80 $0@11" },
		{ "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "s0@0=\"\\/\b\f\n\r\t $0@18" },
		{ "\"\\u0041\\u00e4\\u20AC\"", "s0@0=A\xC3\xA4\xE2\x82\xAC $0@20" },
		{ "\"\\ud83d\\ude00\"", "s0@0=\xF0\x9F\x98\x80 $0@14" },
		{ "\"\\uDBFF\\uDFFF\"", "s0@0=\xF4\x8F\xBF\xBF $0@14" },
		{ "\"\\ud83d\"", "s0@0=\xEF\xBF\xBD $0@8" },
		{ "\"\\ude00x\"", "s0@0=\xEF\xBF\xBDx $0@9" },
		{ "\"\\ud83dx\"", "s0@0=\xEF\xBF\xBDx $0@9" },
		{ "\"\\ud83d\\n\"", "s0@0=\xEF\xBF\xBD\n $0@10" },
		{ "\"\\ud83d\\u0041\"", "s0@0=\xEF\xBF\xBD"
					"A $0@14" },
		{ "\"\\ud83d\\ue000\"", "s0@0=\xEF\xBF\xBD\xEE\x80\x80 $0@14" },
		{ "\"\\ud83d\\ud83d\\ude00\"", "s0@0=\xEF\xBF\xBD\xF0\x9F\x98\x80 $0@20" },
		{ "\"a\\u0000b\"", "s0@0=a\xEF\xBF\xBD"
				   "b $0@10" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct outcome outcome =
			read_all_ways(cases[i].document, strlen(cases[i].document));

		assert_int_equal(outcome.status, SONDE_OK);
		assert_string_equal(outcome.tokens.data, cases[i].tokens);
		sonde_buffer_release(&outcome.tokens);
	}
}

static void test_invalid(void **state)
{
	static const struct {
		const char *document;
		enum sonde_status status;
		uint64_t offset;
	} cases[] = {
		{ "", SONDE_TRUNCATED, 0 },
		{ "  ", SONDE_TRUNCATED, 2 },
		{ "\xEF\xBB\xBF", SONDE_TRUNCATED, 3 },
		{ "\xEF\xBB", SONDE_TRUNCATED, 2 },
		{ "\xEF\xBBx", SONDE_CORRUPT, 2 },
		{ "[\xEF\xBB\xBF]", SONDE_CORRUPT, 1 },
		{ "[", SONDE_TRUNCATED, 1 },
		{ "{", SONDE_TRUNCATED, 1 },
		{ "[1", SONDE_TRUNCATED, 2 },
		{ "[1,", SONDE_TRUNCATED, 3 },
		{ "{\"a\"", SONDE_TRUNCATED, 4 },
		{ "{\"a\":", SONDE_TRUNCATED, 5 },
		{ "{\"a\":1", SONDE_TRUNCATED, 6 },
		{ "{\"a\":1,", SONDE_TRUNCATED, 7 },
		{ "\"abc", SONDE_TRUNCATED, 4 },
		{ "\"abc\\", SONDE_TRUNCATED, 5 },
		{ "\"\\u12", SONDE_TRUNCATED, 5 },
		{ "\"\\ud83d", SONDE_TRUNCATED, 7 },
		{ "\"\\ud83d\\", SONDE_TRUNCATED, 8 },
		{ "tru", SONDE_TRUNCATED, 3 },
		{ "-", SONDE_TRUNCATED, 1 },
		{ "1.", SONDE_TRUNCATED, 2 },
		{ "1e", SONDE_TRUNCATED, 2 },
		{ "1e+", SONDE_TRUNCATED, 3 },
		{ "\"\xE2\x82", SONDE_TRUNCATED, 3 },
		{ "]", SONDE_CORRUPT, 0 },
		{ "}", SONDE_CORRUPT, 0 },
		{ ",", SONDE_CORRUPT, 0 },
		{ "[1,]", SONDE_CORRUPT, 3 },
		{ "[,1]", SONDE_CORRUPT, 1 },
		{ "[1 2]", SONDE_CORRUPT, 3 },
		{ "[1}", SONDE_CORRUPT, 2 },
		{ "[}", SONDE_CORRUPT, 1 },
		{ "{]", SONDE_CORRUPT, 1 },
		{ "{\"a\":1]", SONDE_CORRUPT, 6 },
		{ "{\"a\":1,}", SONDE_CORRUPT, 7 },
		{ "{,}", SONDE_CORRUPT, 1 },
		{ "{1:2}", SONDE_CORRUPT, 1 },
		{ "{\"a\" 1}", SONDE_CORRUPT, 5 },
		{ "{\"a\",1}", SONDE_CORRUPT, 4 },
		{ "{\"a\":}", SONDE_CORRUPT, 5 },
		{ "{a:1}", SONDE_CORRUPT, 1 },
		{ "{'a':1}", SONDE_CORRUPT, 1 },
		{ "1 2", SONDE_CORRUPT, 2 },
		{ "[] []", SONDE_CORRUPT, 3 },
		{ "[],", SONDE_CORRUPT, 2 },
		{ "01", SONDE_CORRUPT, 1 },
		{ "-01", SONDE_CORRUPT, 2 },
		{ "+1", SONDE_CORRUPT, 0 },
		{ ".5", SONDE_CORRUPT, 0 },
		{ "1.x", SONDE_CORRUPT, 2 },
		{ "1.e5", SONDE_CORRUPT, 2 },
		{ "1e5.5", SONDE_CORRUPT, 3 },
		{ "1ex", SONDE_CORRUPT, 2 },
		{ "-x", SONDE_CORRUPT, 1 },
		{ "0x10", SONDE_CORRUPT, 1 },
		{ "NaN", SONDE_CORRUPT, 0 },
		{ "Infinity", SONDE_CORRUPT, 0 },
		{ "trux", SONDE_CORRUPT, 3 },
		{ "truex", SONDE_CORRUPT, 4 },
		{ "nul]", SONDE_CORRUPT, 3 },
		{ "True", SONDE_CORRUPT, 0 },
		{ "// c\n1", SONDE_CORRUPT, 0 },
		{ "[1]/**/", SONDE_CORRUPT, 3 },
		{ "\v1", SONDE_CORRUPT, 0 },
		{ "\"a\nb\"", SONDE_CORRUPT, 2 },
		{ "\"a\tb\"", SONDE_CORRUPT, 2 },
		{ "\"\x1F\"", SONDE_CORRUPT, 1 },
		{ "\"\\x\"", SONDE_CORRUPT, 2 },
		{ "\"\\'\"", SONDE_CORRUPT, 2 },
		{ "\"\\u12g4\"", SONDE_CORRUPT, 5 },
		{ "\"\\u 123\"", SONDE_CORRUPT, 3 },
		{ "\"\\U0041\"", SONDE_CORRUPT, 2 },
		{ "\"\\ud83d\\x\"", SONDE_CORRUPT, 8 },
		{ "\"ab\xFF\"", SONDE_CORRUPT, 3 },
		{ "\"\x80\"", SONDE_CORRUPT, 1 },
		{ "\"\xC0\xAF\"", SONDE_CORRUPT, 1 },
		{ "\"\xC3\"", SONDE_CORRUPT, 1 },
		{ "\"\xE2\x82\"", SONDE_CORRUPT, 1 },
		{ "\"\xE0\x80\x80\"", SONDE_CORRUPT, 1 },
		{ "\"\xE0\x80", SONDE_CORRUPT, 1 },
		{ "\"\xED\xA0\x80\"", SONDE_CORRUPT, 1 },
		{ "\"\xF4\x90\x80\x80\"", SONDE_CORRUPT, 1 },
		{ "{\"\xFF\":1}", SONDE_CORRUPT, 2 },
		{ "\xFF", SONDE_CORRUPT, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct outcome outcome =
			read_all_ways(cases[i].document, strlen(cases[i].document));

		if (outcome.status != cases[i].status || outcome.err.offset != cases[i].offset)
			fail_msg("%s: status %d, offset %llu: %s", cases[i].document,
				 outcome.status, (unsigned long long)outcome.err.offset,
				 outcome.err.message);
		assert_true(outcome.err.message[0]);
		sonde_buffer_release(&outcome.tokens);
	}
}

static void test_nul_bytes(void **state)
{
	struct outcome outcome;

	(void)state;
	outcome = read_all_ways("\"a\0b\"", 5);
	assert_int_equal(outcome.status, SONDE_CORRUPT);
	assert_int_equal(outcome.err.offset, 2);
	sonde_buffer_release(&outcome.tokens);
	outcome = read_all_ways("[]\0", 3);
	assert_int_equal(outcome.status, SONDE_CORRUPT);
	assert_int_equal(outcome.err.offset, 2);
	sonde_buffer_release(&outcome.tokens);
	outcome = read_all_ways("\"\\\0\"", 4);
	assert_int_equal(outcome.status, SONDE_CORRUPT);
	assert_int_equal(outcome.err.offset, 2);
	sonde_buffer_release(&outcome.tokens);
}

static void test_depth(void **state)
{
	char document[2 * SONDE_JSON_DEPTH + 2];
	struct outcome outcome;

	(void)state;
	memset(document, '[', SONDE_JSON_DEPTH);
	memset(document + SONDE_JSON_DEPTH, ']', SONDE_JSON_DEPTH);
	outcome = read_all_ways(document, 2 * SONDE_JSON_DEPTH);
	assert_int_equal(outcome.status, SONDE_OK);
	sonde_buffer_release(&outcome.tokens);
	memset(document, '[', sizeof(document));
	outcome = read_all_ways(document, sizeof(document));
	assert_int_equal(outcome.status, SONDE_LIMIT);
	assert_int_equal(outcome.err.offset, SONDE_JSON_DEPTH);
	sonde_buffer_release(&outcome.tokens);
}

static void test_text_limit(void **state)
{
	const size_t limit = 16 << 20;
	struct sonde_json_reader reader;
	struct stream stream;
	struct sonde_error err;
	char *document = malloc(limit + 4);

	(void)state;
	assert_non_null(document);
	for (int over = 0; over < 2; over++) {
		memset(document, 'x', limit + 4);
		document[0] = ' ';
		document[1] = document[limit + 2 + (size_t)over] = '"';
		stream = (struct stream){
			.data = document,
			.size = limit + 3 + (size_t)over,
			.step = SIZE_MAX,
		};
		for (int streamed = 0; streamed < 2; streamed++) {
			sonde_json_reader_init(&reader, streamed ? NULL : document, stream.size,
					       streamed ? refill : NULL, &stream);
			assert_int_equal(sonde_json_next(&reader, &err),
					 over ? SONDE_LIMIT : SONDE_OK);
			if (over)
				assert_int_equal(err.offset, 1);
			else
				assert_int_equal(reader.length, limit);
			sonde_json_reader_release(&reader);
		}
	}
	free(document);
}

/* Larger than the window of a stream, so that every kind of token is cut somewhere. */
static void test_long_stream(void **state)
{
	struct sonde_buffer document = { 0 };
	struct outcome outcome, streamed;

	(void)state;
	sonde_buffer_put_char(&document, '[');
	for (unsigned int i = 0; i < 12000; i++)
		sonde_buffer_put_format(
			&document,
			"{\"k%u\":\"\xE2\x82\xAC\\u20ac\\n%u\",\"n\":-%u.5e3},[true,null],", i, i,
			i);
	sonde_buffer_put_text(&document, "false]");
	outcome = read_document(document.data, document.size, 0);
	assert_int_equal(outcome.status, SONDE_OK);
	for (size_t step = 65521; step < 65550; step += 5) {
		streamed = read_document(document.data, document.size, step);
		assert_int_equal(streamed.status, SONDE_OK);
		assert_string_equal(streamed.tokens.data, outcome.tokens.data);
		sonde_buffer_release(&streamed.tokens);
	}
	sonde_buffer_release(&outcome.tokens);
	sonde_buffer_release(&document);
}

static void test_stream_failure(void **state)
{
	static const char *const documents[] = { "",   "[",    "[1",	 "\"abc", "{\"a\"",
						 "tr", "\"\\", "\"\xE2", "1",	  "[1] " };
	struct sonde_json_reader reader;
	struct sonde_buffer tokens = { 0 };
	struct sonde_error err;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(documents); i++) {
		struct stream stream = {
			.data = documents[i],
			.size = strlen(documents[i]),
			.step = 1,
			.failure = SONDE_IO,
		};

		sonde_json_reader_init(&reader, NULL, 0, refill, &stream);
		assert_int_equal(describe(&reader, &tokens, &err), SONDE_IO);
		assert_string_equal(err.message, "the stream broke");
		assert_int_equal(sonde_json_next(&reader, NULL), SONDE_IO);
		sonde_json_reader_release(&reader);
	}
	sonde_buffer_release(&tokens);
}

/* A refill may say the end with a status, and may fail without saying why. */
static enum sonde_status answer(void *user, char *data, size_t size, size_t *got,
				struct sonde_error *err)
{
	enum sonde_status *status = user;

	(void)size;
	(void)err;
	data[0] = '1';
	*got = 1;
	return *status;
}

static void test_stream_answers(void **state)
{
	enum sonde_status status = SONDE_END;
	struct sonde_json_reader reader;
	struct sonde_error err;

	(void)state;
	sonde_json_reader_init(&reader, NULL, 0, answer, &status);
	assert_int_equal(sonde_json_next(&reader, &err), SONDE_TRUNCATED);
	assert_int_equal(err.offset, 0);
	sonde_json_reader_release(&reader);
	status = SONDE_CANCELLED;
	sonde_json_reader_init(&reader, NULL, 0, answer, &status);
	assert_int_equal(sonde_json_next(&reader, &err), SONDE_CANCELLED);
	assert_int_equal(err.status, SONDE_CANCELLED);
	assert_true(err.message[0]);
	sonde_json_reader_release(&reader);
}

static void test_skip(void **state)
{
	const char *document = "{\"a\":{\"x\":[1,2,{}]},\"b\":\"s\",\"c\":[[],[3]],\"d\":4}";
	struct sonde_json_reader reader;
	struct sonde_error err;
	char keys[5] = "";
	size_t count = 0;

	(void)state;
	sonde_json_reader_init(&reader, document, strlen(document), NULL, NULL);
	assert_int_equal(sonde_json_next(&reader, &err), SONDE_OK);
	while (sonde_json_next(&reader, &err) == SONDE_OK && reader.token == SONDE_JSON_KEY) {
		assert_int_equal(reader.depth, 1);
		keys[count++] = reader.text[0];
		assert_int_equal(sonde_json_skip(&reader, &err), SONDE_OK);
	}
	assert_string_equal(keys, "abcd");
	assert_int_equal(reader.token, SONDE_JSON_OBJECT_END);
	assert_int_equal(sonde_json_next(&reader, &err), SONDE_OK);
	assert_int_equal(reader.token, SONDE_JSON_END);
	sonde_json_reader_release(&reader);

	sonde_json_reader_init(&reader, "[[1,[2]],3]", 11, NULL, NULL);
	sonde_json_next(&reader, &err);
	sonde_json_next(&reader, &err);
	assert_int_equal(sonde_json_skip(&reader, &err), SONDE_OK);
	assert_int_equal(sonde_json_next(&reader, &err), SONDE_OK);
	assert_string_equal(reader.text, "3");
	/* A scalar was stepped over already. */
	assert_int_equal(sonde_json_skip(&reader, &err), SONDE_OK);
	assert_int_equal(sonde_json_next(&reader, &err), SONDE_OK);
	assert_int_equal(reader.token, SONDE_JSON_ARRAY_END);
	sonde_json_reader_release(&reader);

	sonde_json_reader_init(&reader, "[[1,", 4, NULL, NULL);
	sonde_json_next(&reader, &err);
	assert_int_equal(sonde_json_skip(&reader, &err), SONDE_TRUNCATED);
	sonde_json_reader_release(&reader);
}

static void test_copy(void **state)
{
	const char *document =
		"{ \"v\" : [ 1.50 , -2e5 , \"\\u0041\\n\" , { \"a\" : null } , [ ] , "
		"true ] , \"w\" : \"x\" }";
	struct sonde_buffer out = { 0 };
	struct sonde_json_reader reader;
	struct sonde_error err;

	(void)state;
	sonde_json_reader_init(&reader, document, strlen(document), NULL, NULL);
	sonde_json_next(&reader, &err);
	sonde_json_next(&reader, &err);
	assert_int_equal(sonde_json_copy(&reader, &out, &err), SONDE_OK);
	assert_string_equal(sonde_buffer_text(&out), "[1.50,-2e5,\"A\\n\",{\"a\":null},[],true]");
	sonde_json_next(&reader, &err);
	assert_string_equal(reader.text, "w");
	sonde_buffer_clear(&out);
	assert_int_equal(sonde_json_copy(&reader, &out, &err), SONDE_OK);
	assert_string_equal(sonde_buffer_text(&out), "\"x\"");
	/* No value is left in the object. */
	assert_int_equal(sonde_json_copy(&reader, &out, &err), SONDE_OK);
	assert_int_equal(reader.token, SONDE_JSON_OBJECT_END);
	assert_string_equal(sonde_buffer_text(&out), "\"x\"");
	sonde_json_reader_release(&reader);

	sonde_json_reader_init(&reader, "[1,", 3, NULL, NULL);
	assert_int_equal(sonde_json_copy(&reader, &out, &err), SONDE_TRUNCATED);
	sonde_json_reader_release(&reader);
	sonde_buffer_release(&out);
}

static void test_u64(void **state)
{
	static const struct {
		const char *document;
		bool fits;
		uint64_t value;
	} cases[] = {
		{ "0", true, 0 },
		{ "42", true, 42 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, 0 },
		{ "99999999999999999999", false, 0 },
		{ "-1", false, 0 },
		{ "-0", false, 0 },
		{ "1.0", false, 0 },
		{ "1e3", false, 0 },
		{ "\"1\"", false, 0 },
		{ "true", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct sonde_json_reader reader;
		uint64_t value = 0;

		sonde_json_reader_init(&reader, cases[i].document, strlen(cases[i].document), NULL,
				       NULL);
		assert_int_equal(sonde_json_next(&reader, NULL), SONDE_OK);
		assert_int_equal(sonde_json_u64(&reader, &value), cases[i].fits);
		assert_true(value == cases[i].value);
		sonde_json_reader_release(&reader);
	}
}

static void write_sample(struct sonde_json_writer *writer)
{
	sonde_json_object_begin(writer);
	sonde_json_member_string(writer, "name", "x");
	sonde_json_member_u64(writer, "count", UINT64_MAX);
	sonde_json_key(writer, "empty");
	sonde_json_object_begin(writer);
	sonde_json_object_end(writer);
	sonde_json_key(writer, "list");
	sonde_json_array_begin(writer);
	sonde_json_hex(writer, 0xAB, 4);
	sonde_json_object_begin_inline(writer);
	sonde_json_member_bool(writer, "yes", true);
	sonde_json_key(writer, "deep");
	sonde_json_array_begin(writer);
	sonde_json_number_u64(writer, 1);
	sonde_json_null(writer);
	sonde_json_array_end(writer);
	sonde_json_object_end(writer);
	sonde_json_array_begin_inline(writer);
	sonde_json_array_end(writer);
	sonde_json_raw(writer, "{\"raw\":1}");
	sonde_json_array_end(writer);
	sonde_json_member_bool(writer, "last", false);
	sonde_json_object_end(writer);
}

static void test_writer_layout(void **state)
{
	static const double numbers[] = { 0.1, 3,	0.7999999999999999, 0.1 + 0.2, -1e300,
					  NAN, INFINITY };
	struct sonde_buffer out = { 0 };
	struct sonde_json_writer writer;

	(void)state;
	sonde_json_writer_init(&writer, &out, false);
	write_sample(&writer);
	assert_string_equal(sonde_buffer_text(&out),
			    "{\"name\":\"x\",\"count\":18446744073709551615,\"empty\":{},"
			    "\"list\":[\"0x00ab\",{\"yes\":true,\"deep\":[1,null]},[],"
			    "{\"raw\":1}],\"last\":false}");
	sonde_buffer_clear(&out);
	sonde_json_writer_init(&writer, &out, true);
	write_sample(&writer);
	assert_string_equal(sonde_buffer_text(&out), "{\n"
						     "  \"name\": \"x\",\n"
						     "  \"count\": 18446744073709551615,\n"
						     "  \"empty\": {},\n"
						     "  \"list\": [\n"
						     "    \"0x00ab\",\n"
						     "    {\"yes\": true, \"deep\": [1, null]},\n"
						     "    [],\n"
						     "    {\"raw\":1}\n"
						     "  ],\n"
						     "  \"last\": false\n"
						     "}");
	sonde_buffer_clear(&out);
	sonde_json_writer_init(&writer, &out, false);
	sonde_json_null(&writer);
	sonde_json_number_u64(&writer, 0);
	assert_string_equal(sonde_buffer_text(&out), "null\n0");
	sonde_buffer_clear(&out);
	sonde_json_writer_init(&writer, &out, false);
	sonde_json_array_begin(&writer);
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		sonde_json_number_double(&writer, numbers[i]);
	sonde_json_array_end(&writer);
	assert_string_equal(sonde_buffer_text(&out),
			    "[0.1,3,0.7999999999999999,0.30000000000000004,-1e+300,null,null]");
	sonde_buffer_release(&out);
}

static void test_writer_strings(void **state)
{
	static const struct {
		const char *text;
		size_t length;
		const char *json;
	} cases[] = {
		{ "", 0, "\"\"" },
		{ NULL, 0, "\"\"" },
		{ "plain / text", 12, "\"plain / text\"" },
		{ "\"\\\b\f\n\r\t", 7, "\"\\\"\\\\\\b\\f\\n\\r\\t\"" },
		{ "\x01\x1F\x7F", 3, "\"\\u0001\\u001f\x7F\"" },
		{ "a\0b", 3, "\"a\\u0000b\"" },
		{ "\xC3\xA4\xF0\x9F\x98\x80", 6, "\"\xC3\xA4\xF0\x9F\x98\x80\"" },
		{ "a\xFFz", 3, "\"a\xEF\xBF\xBDz\"" },
		{ "\xE2\x82", 2, "\"\xEF\xBF\xBD\xEF\xBF\xBD\"" },
		{ "\xED\xA0\x80", 3, "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"" },
	};
	struct sonde_buffer out = { 0 };
	struct sonde_json_writer writer;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		sonde_buffer_clear(&out);
		sonde_json_writer_init(&writer, &out, false);
		sonde_json_string_sized(&writer, cases[i].text, cases[i].length);
		assert_string_equal(sonde_buffer_text(&out), cases[i].json);
	}
	sonde_buffer_clear(&out);
	sonde_json_writer_init(&writer, &out, false);
	sonde_json_object_begin(&writer);
	sonde_json_member_string(&writer, "k\"\xFF", "v");
	sonde_json_object_end(&writer);
	assert_string_equal(sonde_buffer_text(&out), "{\"k\\\"\xEF\xBF\xBD\":\"v\"}");
	sonde_buffer_release(&out);
}

/* All bytes as a string come back as they are, or as U+FFFD. */
static void test_write_then_read(void **state)
{
	struct sonde_buffer out = { 0 };
	struct sonde_json_writer writer;
	struct sonde_json_reader reader;
	struct sonde_error err;

	(void)state;
	for (int byte = 1; byte < 256; byte++) {
		char text[2] = { (char)byte, '\0' };

		sonde_buffer_clear(&out);
		sonde_json_writer_init(&writer, &out, false);
		sonde_json_string(&writer, text);
		sonde_json_reader_init(&reader, out.data, out.size, NULL, NULL);
		assert_int_equal(sonde_json_next(&reader, &err), SONDE_OK);
		assert_string_equal(reader.text, byte < 0x80 ? text : "\xEF\xBF\xBD");
		sonde_json_reader_release(&reader);
	}
	sonde_buffer_release(&out);
}

static void test_writer_misuse(void **state)
{
	struct sonde_buffer out = { 0 };
	struct sonde_json_writer writer;

	(void)state;
	sonde_json_writer_init(&writer, &out, true);
	for (int i = 0; i < 200; i++)
		sonde_json_array_begin(&writer);
	assert_true(out.failed);
	sonde_buffer_clear(&out);
	sonde_json_writer_init(&writer, &out, true);
	sonde_json_array_end(&writer);
	assert_true(out.failed);
	sonde_buffer_release(&out);
}

/* Strings of a document in memory that are not copied, whatever their length. */
static void test_borrowed(void **state)
{
	size_t length = (size_t)20 << 20;
	char *document = malloc(length + 64);
	struct sonde_json_reader reader;
	size_t size;

	(void)state;
	memcpy(document, "[\"", 2);
	memset(document + 2, 'x', length);
	memcpy(document + 2 + length, "\",\"a\\nb\",\"\",\"\xC3\xA9\"]", 18);
	size = 2 + length + 17;
	sonde_json_reader_init(&reader, document, size, NULL, NULL);
	sonde_json_reader_borrow(&reader);
	assert_int_equal(sonde_json_next(&reader, NULL), SONDE_OK);
	assert_int_equal(sonde_json_next(&reader, NULL), SONDE_OK);
	assert_ptr_equal(reader.text, document + 2);
	assert_int_equal(reader.length, length);
	assert_true(sonde_json_is_borrowed(&reader));
	assert_int_equal(sonde_json_position(&reader), length + 3);
	assert_int_equal(sonde_json_next(&reader, NULL), SONDE_OK);
	assert_string_equal(reader.text, "a\nb");
	assert_false(sonde_json_is_borrowed(&reader));
	assert_int_equal(sonde_json_next(&reader, NULL), SONDE_OK);
	assert_int_equal(reader.length, 0);
	assert_int_equal(sonde_json_next(&reader, NULL), SONDE_OK);
	assert_int_equal(reader.length, 2);
	assert_int_equal(sonde_json_next(&reader, NULL), SONDE_OK);
	assert_int_equal(reader.token, SONDE_JSON_ARRAY_END);
	/* from the start of a value in it, as if nothing stood around */
	sonde_json_seek(&reader, length + 4);
	assert_int_equal(sonde_json_next(&reader, NULL), SONDE_OK);
	assert_string_equal(reader.text, "a\nb");
	assert_int_equal(reader.offset, length + 4);
	assert_int_equal(reader.depth, 0);
	assert_int_equal(sonde_json_next(&reader, NULL), SONDE_CORRUPT);
	sonde_json_seek(&reader, 0);
	assert_int_equal(sonde_json_next(&reader, NULL), SONDE_OK);
	assert_int_equal(reader.token, SONDE_JSON_ARRAY_BEGIN);
	sonde_json_reader_release(&reader);
	/* a control character, a byte that is not UTF-8 and the end are found all the same */
	for (unsigned int i = 0; i < 40; i++) {
		char text[48];

		memset(text, 'y', sizeof(text));
		text[0] = '"';
		text[1 + i] = i % 2 ? '\x1F' : '\xFF';
		sonde_json_reader_init(&reader, text, sizeof(text), NULL, NULL);
		sonde_json_reader_borrow(&reader);
		assert_int_equal(sonde_json_next(&reader, NULL), SONDE_CORRUPT);
		assert_int_equal(reader.error.offset, 1 + i);
		sonde_json_reader_release(&reader);
		text[1 + i] = '"';
		sonde_json_reader_init(&reader, text, 1 + i, NULL, NULL);
		sonde_json_reader_borrow(&reader);
		assert_int_equal(sonde_json_next(&reader, NULL), SONDE_TRUNCATED);
		sonde_json_reader_release(&reader);
	}
	free(document);
}

/* Where a piece of a document has a member, told from strings that say the same. */
static void test_find_member(void **state)
{
	static const struct {
		const char *text, *value;
	} cases[] = {
		{ "{\"a\":1}", "1}" },
		{ "{ \"a\" \n:\t[2] }", "[2] }" },
		{ "{\"b\": {\"a\": null", "null" },
		{ "[\"a\", {\"a\": 3}]", "3}]" },
		{ "{\"b\": \"a\"}", NULL },
		{ "[\"\\\"a\\\": 1\"]", NULL },
		{ "{\"ba\": 1, \"ab\": 2, a: 3}", NULL },
		{ "{\"a\"", NULL },
		{ "\"a", NULL },
		{ "a\":", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *text = cases[i].text;
		const char *value = sonde_json_find_member(text, strlen(text), "a");

		if (cases[i].value)
			assert_string_equal(value, cases[i].value);
		else
			assert_null(value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_nul_bytes),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_text_limit),
		cmocka_unit_test(test_long_stream),
		cmocka_unit_test(test_stream_failure),
		cmocka_unit_test(test_stream_answers),
		cmocka_unit_test(test_skip),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_u64),
		cmocka_unit_test(test_writer_layout),
		cmocka_unit_test(test_writer_strings),
		cmocka_unit_test(test_write_then_read),
		cmocka_unit_test(test_writer_misuse),
		cmocka_unit_test(test_borrowed),
		cmocka_unit_test(test_find_member),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
