/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of known size: raw deflate by libdeflate (by zlib where that is too strict), LZ4 blocks, and
 * Zstandard frames. Bodies of unknown size are in unpack.c.
 */
#include <libdeflate.h>
#include <limits.h>
#include <lz4.h>
#include <lz4hc.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "codec/codec.h"

/* The fastest level whose output is not longer than that of zlib's default for traces. */
#define DEFLATE_LEVEL 5
/* The slow compressor, as existing programs use it: small traces become a tenth smaller by it. */
#define LZ4_LEVEL 3
/* What is written by this is encoded tightly already: higher levels cost more than they save. */
#define ZSTD_LEVEL 1

/* An empty stored block with the mark of the last one: it ends a stream that stops at a flush. */
static const uint8_t final_block[] = { 0x01, 0x00, 0x00, 0xff, 0xff };
static const uint8_t flush_mark[] = { 0x00, 0x00, 0xff, 0xff };

void sonde_codec_state_release(struct sonde_codec_state *state)
{
	libdeflate_free_compressor(state->deflate);
	libdeflate_free_decompressor(state->inflate);
	free(state->lz4);
	ZSTD_freeCCtx(state->zstd);
	sonde_buffer_release(&state->scratch);
	*state = (struct sonde_codec_state){ 0 };
}

static enum sonde_status too_long(struct sonde_error *err, size_t size)
{
	return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
			  "expected at most %d bytes in a compressed block, found %zu", INT_MAX,
			  size);
}

static enum sonde_status compress_deflate(struct sonde_codec_state *state, const void *data,
					  size_t size, struct sonde_buffer *out,
					  struct sonde_error *err)
{
	size_t bound;
	char *place;

	if (!state->deflate)
		state->deflate = libdeflate_alloc_compressor(DEFLATE_LEVEL);
	if (!state->deflate)
		return sonde_fail_nomem(err);
	bound = libdeflate_deflate_compress_bound(state->deflate, size);
	place = sonde_buffer_reserve(out, bound);
	if (!place)
		return sonde_fail_nomem(err);
	out->size += libdeflate_deflate_compress(state->deflate, data, size, place, bound);
	return SONDE_OK;
}

/* A stream that is reset does not clear its table, as the functions for single blocks do. */
static enum sonde_status compress_lz4(struct sonde_codec_state *state, const void *data,
				      size_t size, struct sonde_buffer *out,
				      struct sonde_error *err)
{
	int bound;
	char *place;

	if (size > LZ4_MAX_INPUT_SIZE)
		return too_long(err, size);
	if (!state->lz4) {
		state->lz4 = malloc(sizeof(LZ4_streamHC_t));
		if (!state->lz4)
			return sonde_fail_nomem(err);
		LZ4_initStreamHC(state->lz4, sizeof(LZ4_streamHC_t));
	}
	LZ4_resetStreamHC_fast(state->lz4, LZ4_LEVEL);
	bound = LZ4_compressBound((int)size);
	place = sonde_buffer_reserve(out, (size_t)bound);
	if (!place)
		return sonde_fail_nomem(err);
	out->size += (size_t)LZ4_compress_HC_continue(state->lz4, data, place, (int)size, bound);
	return SONDE_OK;
}

static enum sonde_status compress_zstd(struct sonde_codec_state *state, const void *data,
				       size_t size, struct sonde_buffer *out,
				       struct sonde_error *err)
{
	size_t bound = ZSTD_compressBound(size), used;
	char *place;

	if (!state->zstd)
		state->zstd = ZSTD_createCCtx();
	place = state->zstd ? sonde_buffer_reserve(out, bound) : NULL;
	if (!place)
		return sonde_fail_nomem(err);
	used = ZSTD_compressCCtx(state->zstd, place, bound, data, size, ZSTD_LEVEL);
	if (ZSTD_isError(used))
		return sonde_fail_nomem(err); /* nothing else can go wrong with enough room */
	out->size += used;
	return SONDE_OK;
}

enum sonde_status sonde_codec_compress(struct sonde_codec_state *state, enum sonde_codec codec,
				       const void *data, size_t size, struct sonde_buffer *out,
				       struct sonde_error *err)
{
	if (!data)
		data = "";
	switch (codec) {
	case SONDE_CODEC_DEFLATE:
		return compress_deflate(state, data, size, out, err);
	case SONDE_CODEC_LZ4:
		return compress_lz4(state, data, size, out, err);
	case SONDE_CODEC_ZSTD:
		return compress_zstd(state, data, size, out, err);
	case SONDE_CODEC_NONE:
		break;
	}
	sonde_buffer_put(out, data, size);
	return out->failed ? sonde_fail_nomem(err) : SONDE_OK;
}

enum outcome {
	GOOD,
	BAD,	 /* more or less comes out of it than there should */
	UNCLEAR, /* no stream with an end */
};

static enum outcome inflate_whole(struct sonde_codec_state *state, const void *data, size_t size,
				  void *out, size_t out_size)
{
	size_t used, produced;
	enum libdeflate_result result = libdeflate_deflate_decompress_ex(
		state->inflate, data, size, out, out_size, &used, &produced);

	if (result == LIBDEFLATE_BAD_DATA)
		return UNCLEAR;
	if (result != LIBDEFLATE_SUCCESS)
		return BAD;
	return used == size && produced == out_size ? GOOD : BAD;
}

static bool ends_at_flush(const uint8_t *data, size_t size)
{
	return size >= sizeof(flush_mark) &&
	       !memcmp(data + size - sizeof(flush_mark), flush_mark, sizeof(flush_mark));
}

/* The same with a final block behind it. */
static enum outcome inflate_flushed(struct sonde_codec_state *state, const void *data, size_t size,
				    void *out, size_t out_size)
{
	sonde_buffer_clear(&state->scratch);
	sonde_buffer_put(&state->scratch, data, size);
	sonde_buffer_put(&state->scratch, final_block, sizeof(final_block));
	if (state->scratch.failed)
		return UNCLEAR; /* zlib has its turn */
	return inflate_whole(state, state->scratch.data, state->scratch.size, out, out_size);
}

/* zlib has come to the end of a block, and all input is used. */
static bool ended(const z_stream *stream, int result)
{
	if (stream->avail_in)
		return false;
	return result == Z_STREAM_END || (result == Z_OK && stream->data_type & 128);
}

/*
 * All of `size` bytes in, exactly `out_size` out; the stream need not have a final block, but it
 * ends with a block.
 */
static bool inflate_by_zlib(const uint8_t *data, size_t size, uint8_t *out, size_t out_size,
			    bool *failed)
{
	z_stream stream = { .next_in = (Bytef *)data, .avail_in = (uInt)size };
	uint8_t beyond;
	int result;

	*failed = inflateInit2(&stream, -MAX_WBITS) != Z_OK;
	if (*failed)
		return false;
	stream.next_out = out;
	stream.avail_out = (uInt)out_size;
	do {
		if (!stream.avail_out) {
			/* There may be input left that only says that this was all. */
			stream.next_out = &beyond;
			stream.avail_out = 1;
		}
		result = inflate(&stream, Z_BLOCK);
	} while (result == Z_OK && stream.total_out <= out_size && !ended(&stream, result));
	inflateEnd(&stream);
	return ended(&stream, result) && stream.total_out == out_size;
}

static enum sonde_status not_that_block(struct sonde_error *err, const char *name, size_t size,
					size_t out_size)
{
	return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
			  "expected %s of %zu bytes that gives %zu, found something else", name,
			  size, out_size);
}

static enum sonde_status decompress_deflate(struct sonde_codec_state *state, const uint8_t *data,
					    size_t size, void *out, size_t out_size,
					    struct sonde_error *err)
{
	enum outcome outcome;
	bool failed = false;

	if (size > INT_MAX || out_size > INT_MAX)
		return too_long(err, size > out_size ? size : out_size);
	if (!state->inflate)
		state->inflate = libdeflate_alloc_decompressor();
	if (!state->inflate)
		return sonde_fail_nomem(err);
	outcome = ends_at_flush(data, size) ? inflate_flushed(state, data, size, out, out_size) :
					      UNCLEAR;
	/* one that has an end may still look like one that stops at a flush */
	if (outcome != GOOD)
		outcome = inflate_whole(state, data, size, out, out_size);
	if (outcome == UNCLEAR && inflate_by_zlib(data, size, out, out_size, &failed))
		outcome = GOOD;
	if (outcome == GOOD)
		return SONDE_OK;
	return failed ? sonde_fail_nomem(err) : not_that_block(err, "raw deflate", size, out_size);
}

static enum sonde_status decompress_lz4(const void *data, size_t size, void *out, size_t out_size,
					struct sonde_error *err)
{
	if (size > INT_MAX || out_size > INT_MAX)
		return too_long(err, size > out_size ? size : out_size);
	if (LZ4_decompress_safe(data, out, (int)size, (int)out_size) != (int)out_size)
		return not_that_block(err, "an LZ4 block", size, out_size);
	return SONDE_OK;
}

static enum sonde_status decompress_zstd(const void *data, size_t size, void *out, size_t out_size,
					 struct sonde_error *err)
{
	if (ZSTD_decompress(out, out_size, data, size) != out_size)
		return not_that_block(err, "a Zstandard frame", size, out_size);
	return SONDE_OK;
}

enum sonde_status sonde_codec_decompress(struct sonde_codec_state *state, enum sonde_codec codec,
					 const void *data, size_t size, void *out, size_t out_size,
					 struct sonde_error *err)
{
	uint8_t nothing = 0;

	if (!data)
		data = &nothing;
	if (!out)
		out = &nothing;
	switch (codec) {
	case SONDE_CODEC_DEFLATE:
		return decompress_deflate(state, data, size, out, out_size, err);
	case SONDE_CODEC_LZ4:
		return decompress_lz4(data, size, out, out_size, err);
	case SONDE_CODEC_ZSTD:
		return decompress_zstd(data, size, out, out_size, err);
	case SONDE_CODEC_NONE:
		break;
	}
	if (size != out_size)
		return not_that_block(err, "a plain block", size, out_size);
	memcpy(out, data, size);
	return SONDE_OK;
}
