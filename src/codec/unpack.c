/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of unknown size, unpacked in steps, with a limit on what comes out of them: gzip and zlib
 * by zlib, LZ4 frames and blocks by LZ4. Blocks of known size are in codec.c.
 */
#include <limits.h>
#include <lz4.h>
#include <lz4frame.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/bytes.h"
#include "codec/codec.h"

#define FIRST_STEP 4096
#define GZIP_WINDOW (MAX_WBITS + 16)
#define STEP_OVER_LIMIT 1000 /* beside zlib's own results */

/* Where the bytes go. */
struct target {
	struct sonde_buffer *out;
	size_t end; /* out->size where the limit is reached */
};

static enum sonde_status over_limit(struct sonde_error *err, size_t limit)
{
	return sonde_fail(
		err, SONDE_LIMIT, SONDE_NO_OFFSET,
		"expected at most %zu bytes in a packed body, found more; send it in parts", limit);
}

static enum sonde_status damaged(struct sonde_error *err, const char *name, size_t offset)
{
	return sonde_fail(err, SONDE_CORRUPT, offset, "expected %s data, found something else",
			  name);
}

static enum sonde_status too_early(struct sonde_error *err, const char *name, size_t size)
{
	return sonde_fail(err, SONDE_TRUNCATED, size, "expected more %s data, found the end", name);
}

/* Room for some more, never beyond the limit: so the buffer's own growth is not used. */
static bool make_room(struct target *target)
{
	struct sonde_buffer *out = target->out;
	size_t capacity = out->capacity;
	char *data;

	if (out->size < capacity || capacity >= target->end)
		return true;
	capacity = capacity < FIRST_STEP / 2 ? FIRST_STEP : capacity * 2;
	if (capacity < out->capacity || capacity > target->end)
		capacity = target->end;
	data = realloc(out->data, capacity);
	if (!data)
		return false;
	out->data = data;
	out->capacity = capacity;
	return true;
}

/* What may be written now; 0 at the limit. */
static size_t room_of(const struct target *target)
{
	size_t end = target->out->capacity < target->end ? target->out->capacity : target->end;

	return end - target->out->size;
}

/* One step of zlib. At the limit one byte more is asked for, to see whether there is one. */
static int inflate_step(z_stream *stream, struct target *target)
{
	size_t room = room_of(target);
	uint8_t beyond = 0;
	int result;

	if (room > INT_MAX)
		room = INT_MAX;
	stream->next_out = room ? (Bytef *)target->out->data + target->out->size : &beyond;
	stream->avail_out = room ? (uInt)room : 1;
	result = inflate(stream, Z_NO_FLUSH);
	if (room)
		target->out->size += room - stream->avail_out;
	else if (!stream->avail_out)
		return STEP_OVER_LIMIT;
	return result;
}

/* A member of gzip after the first; anything else behind the end is not the format's. */
static bool another_member(z_stream *stream, enum sonde_packing packing)
{
	return packing == SONDE_PACKING_GZIP && stream->avail_in >= 2 &&
	       stream->next_in[0] == 0x1f && stream->next_in[1] == 0x8b &&
	       inflateReset(stream) == Z_OK;
}

static enum sonde_status inflate_all(z_stream *stream, enum sonde_packing packing, size_t size,
				     size_t limit, struct target *target, struct sonde_error *err)
{
	const char *name = packing == SONDE_PACKING_GZIP ? "gzip" : "zlib";

	for (;;) {
		int result;

		if (!make_room(target))
			return sonde_fail_nomem(err);
		result = inflate_step(stream, target);
		if (result == STEP_OVER_LIMIT)
			return over_limit(err, limit);
		if (result == Z_MEM_ERROR)
			return sonde_fail_nomem(err);
		if (result == Z_STREAM_END) {
			if (!stream->avail_in)
				return SONDE_OK;
			if (!another_member(stream, packing))
				return damaged(err, name, size - stream->avail_in);
		} else if (result != Z_OK && result != Z_BUF_ERROR) {
			return damaged(err, name, size - stream->avail_in);
		} else if (!stream->avail_in && stream->avail_out) {
			return too_early(err, name, size);
		}
	}
}

static bool has_zlib_header(const uint8_t *data, size_t size)
{
	return size >= 2 && (data[0] & 15) == Z_DEFLATED &&
	       ((unsigned int)data[0] << 8 | data[1]) % 31 == 0;
}

static enum sonde_status unpack_zlib(enum sonde_packing packing, const uint8_t *data, size_t size,
				     size_t limit, struct target *target, struct sonde_error *err)
{
	int window = GZIP_WINDOW;
	z_stream stream = { .next_in = (Bytef *)data, .avail_in = (uInt)size };
	enum sonde_status status;

	if (packing == SONDE_PACKING_ZLIB)
		window = has_zlib_header(data, size) ? MAX_WBITS : -MAX_WBITS;
	if (inflateInit2(&stream, window) != Z_OK)
		return sonde_fail_nomem(err);
	status = inflate_all(&stream, packing, size, limit, target, err);
	inflateEnd(&stream);
	return status;
}

static enum sonde_status unpack_frames(LZ4F_dctx *context, const uint8_t *data, size_t size,
				       size_t limit, struct target *target, struct sonde_error *err)
{
	size_t position = 0, hint = 1;

	while (position < size || hint) {
		size_t in = size - position, room, written;
		uint8_t beyond;

		if (!make_room(target))
			return sonde_fail_nomem(err);
		written = room = room_of(target);
		if (room) {
			hint = LZ4F_decompress(context, target->out->data + target->out->size,
					       &written, data + position, &in, NULL);
			target->out->size += LZ4F_isError(hint) ? 0 : written;
		} else {
			written = 1;
			hint = LZ4F_decompress(context, &beyond, &written, data + position, &in,
					       NULL);
		}
		if (LZ4F_isError(hint))
			return damaged(err, "LZ4 frame", position);
		if (!room && written)
			return over_limit(err, limit);
		position += in;
		if (hint && position == size && written < (room ? room : 1))
			return too_early(err, "LZ4 frame", size);
	}
	return SONDE_OK;
}

static enum sonde_status unpack_lz4_frame(const uint8_t *data, size_t size, size_t limit,
					  struct target *target, struct sonde_error *err)
{
	LZ4F_dctx *context;
	enum sonde_status status;

	if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
		return sonde_fail_nomem(err);
	status = unpack_frames(context, data, size, limit, target, err);
	LZ4F_freeDecompressionContext(context);
	return status;
}

/* The rest of a length whose first four bits are all ones. */
static bool add_length(struct sonde_bytes *bytes, uint64_t *length)
{
	uint8_t more;

	do {
		more = sonde_bytes_u8(bytes);
		*length += more;
	} while (more == 255 && !bytes->overrun);
	return !bytes->overrun;
}

/* How long a block is when unpacked, from its lengths alone. False where it is none. */
static bool measure_lz4_block(const uint8_t *data, size_t size, uint64_t *unpacked)
{
	struct sonde_bytes bytes = sonde_bytes_of(data, size);

	*unpacked = 0;
	while (!bytes.overrun) {
		uint8_t token = sonde_bytes_u8(&bytes);
		uint64_t literals = token >> 4, match = (token & 15) + 4u;

		if (literals == 15 && !add_length(&bytes, &literals))
			return false;
		if (!sonde_bytes_take(&bytes, literals))
			return false;
		*unpacked += literals;
		if (!sonde_bytes_left(&bytes))
			return !bytes.overrun;
		sonde_bytes_u16le(&bytes);
		if ((token & 15) == 15 && !add_length(&bytes, &match))
			return false;
		*unpacked += match;
	}
	return false;
}

static enum sonde_status unpack_lz4_block(const uint8_t *data, size_t size, size_t limit,
					  struct sonde_buffer *out, struct sonde_error *err)
{
	uint64_t unpacked;
	size_t needed;
	char *grown;

	if (!measure_lz4_block(data, size, &unpacked))
		return damaged(err, "LZ4 block", 0);
	if (unpacked > limit || unpacked > INT_MAX)
		return over_limit(err, limit);
	needed = out->size + (size_t)unpacked;
	if (needed > out->capacity || !out->data) {
		grown = realloc(out->data, needed ? needed : 1);
		if (!grown)
			return sonde_fail_nomem(err);
		out->data = grown;
		out->capacity = needed ? needed : 1;
	}
	if (LZ4_decompress_safe((const char *)data, out->data + out->size, (int)size,
				(int)unpacked) != (int)unpacked)
		return damaged(err, "LZ4 block", 0);
	out->size = needed;
	return SONDE_OK;
}

enum sonde_status sonde_unpack(enum sonde_packing packing, const void *data, size_t size,
			       size_t limit, struct sonde_buffer *out, struct sonde_error *err)
{
	struct target target = { .out = out };
	size_t before = out->size;
	enum sonde_status status;

	if (size > INT_MAX)
		return over_limit(err, limit);
	if (__builtin_add_overflow(before, limit, &target.end))
		target.end = SIZE_MAX;
	if (!data)
		data = "";
	switch (packing) {
	case SONDE_PACKING_LZ4_FRAME:
		status = unpack_lz4_frame(data, size, limit, &target, err);
		break;
	case SONDE_PACKING_LZ4_BLOCK:
		status = unpack_lz4_block(data, size, limit, out, err);
		break;
	default:
		status = unpack_zlib(packing, data, size, limit, &target, err);
		break;
	}
	if (status < 0)
		out->size = before;
	return status;
}
