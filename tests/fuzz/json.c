/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target over the JSON reader and writer. A document read from memory and the same in small
 * pieces must give the same tokens or the same error; what is whole must survive a copy.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

struct pieces {
	const char *data;
	size_t size, position;
};

/* Pieces of 1 to 13 bytes, of the same sizes for the same document. */
static enum sonde_status refill(void *user, char *data, size_t size, size_t *got,
				struct sonde_error *err)
{
	struct pieces *pieces = user;
	size_t count = 1 + (pieces->position * 7 + pieces->size) % 13;

	(void)err;
	if (count > pieces->size - pieces->position)
		count = pieces->size - pieces->position;
	CHECK(count <= size);
	if (count)
		memcpy(data, pieces->data + pieces->position, count);
	pieces->position += count;
	*got = count;
	return SONDE_OK;
}

/* Puts every token into `out`, with its offset where that is wanted. */
static enum sonde_status record(struct sonde_json_reader *reader, bool with_offsets,
				struct sonde_buffer *out, struct sonde_error *err)
{
	do {
		enum sonde_status status = sonde_json_next(reader, err);

		if (status < 0)
			return status;
		CHECK(strlen(reader->text) == reader->length);
		CHECK(reader->depth <= SONDE_JSON_DEPTH);
		sonde_buffer_put_u64(out, reader->token);
		sonde_buffer_put_char(out, ' ');
		sonde_buffer_put_u64(out, reader->depth);
		if (with_offsets) {
			sonde_buffer_put_char(out, '@');
			sonde_buffer_put_u64(out, reader->offset);
		}
		sonde_buffer_put_char(out, '=');
		sonde_buffer_put(out, reader->text, reader->length + 1);
	} while (reader->token != SONDE_JSON_END);
	return SONDE_OK;
}

static bool same(const struct sonde_buffer *a, const struct sonde_buffer *b)
{
	return a->size == b->size && (!a->size || !memcmp(a->data, b->data, a->size));
}

static void copy_value(const char *data, size_t size, struct sonde_buffer *out)
{
	struct sonde_json_reader reader;

	sonde_json_reader_init(&reader, data, size, NULL, NULL);
	CHECK(sonde_json_copy(&reader, out, NULL) == SONDE_OK);
	CHECK(sonde_json_next(&reader, NULL) == SONDE_OK);
	CHECK(reader.token == SONDE_JSON_END);
	sonde_json_reader_release(&reader);
}

static void record_value(const char *data, size_t size, struct sonde_buffer *tokens)
{
	struct sonde_json_reader reader;

	sonde_json_reader_init(&reader, data, size, NULL, NULL);
	CHECK(record(&reader, false, tokens, NULL) == SONDE_OK);
	sonde_json_reader_release(&reader);
}

static void check_copy(const char *data, size_t size)
{
	struct sonde_buffer copy = { 0 }, second = { 0 }, tokens = { 0 }, copied = { 0 };

	copy_value(data, size, &copy);
	copy_value(copy.data, copy.size, &second);
	CHECK(same(&copy, &second));
	record_value(data, size, &tokens);
	record_value(copy.data, copy.size, &copied);
	CHECK(same(&tokens, &copied));
	sonde_buffer_release(&copy);
	sonde_buffer_release(&second);
	sonde_buffer_release(&tokens);
	sonde_buffer_release(&copied);
}

/* A value that was stepped over is followed by the end. */
static void check_skip(const char *data, size_t size)
{
	struct sonde_json_reader reader;

	sonde_json_reader_init(&reader, data, size, NULL, NULL);
	CHECK(sonde_json_next(&reader, NULL) == SONDE_OK);
	CHECK(sonde_json_skip(&reader, NULL) == SONDE_OK);
	CHECK(sonde_json_next(&reader, NULL) == SONDE_OK);
	CHECK(reader.token == SONDE_JSON_END);
	sonde_json_reader_release(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pieces pieces = { .data = (const char *)data, .size = size };
	struct sonde_buffer tokens = { 0 }, streamed = { 0 };
	struct sonde_json_reader reader, stream;
	struct sonde_error err = { 0 }, stream_err = { 0 };
	enum sonde_status status;

	sonde_json_reader_init(&reader, (const char *)data, size, NULL, NULL);
	status = record(&reader, true, &tokens, &err);
	sonde_json_reader_init(&stream, NULL, 0, refill, &pieces);
	CHECK(record(&stream, true, &streamed, &stream_err) == status);
	CHECK(same(&tokens, &streamed));
	CHECK(err.offset == stream_err.offset);
	CHECK(!strcmp(err.message, stream_err.message));
	if (status == SONDE_OK) {
		check_copy((const char *)data, size);
		check_skip((const char *)data, size);
	} else {
		CHECK(status == SONDE_CORRUPT || status == SONDE_TRUNCATED ||
		      status == SONDE_LIMIT);
		CHECK(err.offset <= size);
		CHECK(err.message[0]);
	}
	sonde_json_reader_release(&reader);
	sonde_json_reader_release(&stream);
	sonde_buffer_release(&tokens);
	sonde_buffer_release(&streamed);
	return 0;
}
