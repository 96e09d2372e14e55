/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip as a stream, by zlib. Pieces are raw deflate that ends at a flush, so that they can be put one
 * after the other; a last empty block ends them. Whole bodies are in unpack.c.
 */
#include "codec/gzip.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/crc.h"
#include "base/put.h"

#define GZIP_WINDOW (MAX_WBITS + 16)
/* Traces as text: a third of the time of zlib's default, a tenth longer. */
#define PIECE_LEVEL 3
#define MEMORY_LEVEL 8
/* What a flush may add to deflateBound(), which counts on none. */
#define FLUSH_ROOM 64
#define UNKNOWN_SYSTEM '\xff'

struct sonde_gzip_reader {
	z_stream stream;
	const uint8_t *data;
	size_t size;
	bool ended;
};

struct sonde_gzip_packer {
	z_stream stream;
};

enum sonde_status sonde_gzip_reader_new(const void *data, size_t size,
					struct sonde_gzip_reader **reader, struct sonde_error *err)
{
	struct sonde_gzip_reader *made = calloc(1, sizeof(*made));

	*reader = NULL;
	if (!made)
		return sonde_fail_nomem(err);
	made->data = data;
	made->size = size;
	made->stream.next_in = (Bytef *)data;
	if (inflateInit2(&made->stream, GZIP_WINDOW) != Z_OK) {
		free(made);
		return sonde_fail_nomem(err);
	}
	*reader = made;
	return SONDE_OK;
}

void sonde_gzip_reader_free(struct sonde_gzip_reader *reader)
{
	if (!reader)
		return;
	inflateEnd(&reader->stream);
	free(reader);
}

size_t sonde_gzip_reader_position(const struct sonde_gzip_reader *reader)
{
	return (size_t)(reader->stream.next_in - reader->data);
}

/* zlib counts in 32 bits. */
static void give_input(struct sonde_gzip_reader *reader)
{
	size_t left = reader->size - sonde_gzip_reader_position(reader);

	reader->stream.avail_in = left < INT_MAX ? (uInt)left : INT_MAX;
}

/* At the end of a member: false where nothing more is to come. Zeros may fill up a block of a tape. */
static bool begin_member(struct sonde_gzip_reader *reader)
{
	const uint8_t *next = reader->stream.next_in;
	size_t left = reader->size - sonde_gzip_reader_position(reader);

	return sonde_gzip_is(next, left) && inflateReset(&reader->stream) == Z_OK;
}

enum sonde_status sonde_gzip_reader_next(struct sonde_gzip_reader *reader, void *out, size_t room,
					 size_t *got, struct sonde_error *err)
{
	z_stream *stream = &reader->stream;

	*got = 0;
	if (room > INT_MAX)
		room = INT_MAX;
	while (!reader->ended && *got < room) {
		int result;

		give_input(reader);
		stream->next_out = (Bytef *)out + *got;
		stream->avail_out = (uInt)(room - *got);
		result = inflate(stream, Z_NO_FLUSH);
		*got = room - stream->avail_out;
		if (result == Z_STREAM_END) {
			reader->ended = !begin_member(reader);
			continue;
		}
		if (result == Z_MEM_ERROR)
			return sonde_fail_nomem(err);
		if (result != Z_OK && result != Z_BUF_ERROR)
			return sonde_fail(err, SONDE_CORRUPT, sonde_gzip_reader_position(reader),
					  "expected gzip data, found something else");
		if (stream->avail_out && sonde_gzip_reader_position(reader) == reader->size)
			return sonde_fail(err, SONDE_TRUNCATED, reader->size,
					  "expected more gzip data, found the end");
	}
	return SONDE_OK;
}

enum sonde_status sonde_gzip_packer_new(struct sonde_gzip_packer **packer, struct sonde_error *err)
{
	struct sonde_gzip_packer *made = calloc(1, sizeof(*made));

	*packer = NULL;
	if (!made)
		return sonde_fail_nomem(err);
	if (deflateInit2(&made->stream, PIECE_LEVEL, Z_DEFLATED, -MAX_WBITS, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(made);
		return sonde_fail_nomem(err);
	}
	*packer = made;
	return SONDE_OK;
}

void sonde_gzip_packer_free(struct sonde_gzip_packer *packer)
{
	if (!packer)
		return;
	deflateEnd(&packer->stream);
	free(packer);
}

void sonde_gzip_begin(struct sonde_buffer *out)
{
	/* no name, no time: the same input gives the same bytes */
	static const char header[] = { '\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, UNKNOWN_SYSTEM };

	sonde_buffer_put(out, header, sizeof(header));
}

enum sonde_status sonde_gzip_piece(struct sonde_gzip_packer *packer, const void *data, size_t size,
				   struct sonde_buffer *out, struct sonde_gzip_sum *sum,
				   struct sonde_error *err)
{
	z_stream *stream = &packer->stream;
	size_t bound;
	char *place;

	if (!size)
		return SONDE_OK;
	if (size > INT_MAX / 2)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "expected at most %d bytes to pack at once, found %zu",
				  INT_MAX / 2, size);
	deflateReset(stream);
	bound = deflateBound(stream, (uLong)size) + FLUSH_ROOM;
	place = sonde_buffer_reserve(out, bound);
	if (!place)
		return sonde_fail_nomem(err);
	stream->next_in = (Bytef *)data;
	stream->avail_in = (uInt)size;
	stream->next_out = (Bytef *)place;
	stream->avail_out = (uInt)bound;
	if (deflate(stream, Z_FULL_FLUSH) != Z_OK || stream->avail_in || !stream->avail_out)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "%zu bytes could not be packed", size);
	out->size += bound - stream->avail_out;
	sum->crc = sonde_crc32(sum->crc, data, size);
	sum->size += size;
	return SONDE_OK;
}

void sonde_gzip_join(struct sonde_gzip_sum *sum, struct sonde_gzip_sum next)
{
	sum->crc = (uint32_t)crc32_combine(sum->crc, next.crc, (z_off_t)next.size);
	sum->size += next.size;
}

void sonde_gzip_end(struct sonde_buffer *out, struct sonde_gzip_sum sum)
{
	static const char last_block[] = { 3, 0 };

	sonde_buffer_put(out, last_block, sizeof(last_block));
	sonde_put_u32le(out, sum.crc);
	sonde_put_u32le(out, (uint32_t)sum.size);
}
