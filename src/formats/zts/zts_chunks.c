/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traces.dat: its header, the chunks behind it, and the search for chunks after damage. Nothing in
 * a chunk's header is believed before it was compared with the file.
 */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/crc.h"
#include "formats/zts/zts_chunks.h"
#include "formats/zts/zts_layout.h"

/* The most that a byte can become. */
#define DEFLATE_RATIO 1032u
#define LZ4_RATIO 255u
#define RATIO_SLACK 64u
/*
 * A chunk with a checksum that is looked for after damage has at most so many headers of others
 * inside, which only look like ones; without checksums it has none. Files made to have more of them
 * would take time that is not linear.
 */
#define HEADERS_INSIDE 8

void zts_put_data_header(uint8_t header[16], uint32_t flags)
{
	memset(header, 0, ZTS_DATA_HEADER_SIZE);
	memcpy(header, ZTS_DATA_MAGIC, 4);
	sonde_store_u32be(header + 4, flags);
}

void zts_put_chunk_header(uint8_t header[16], const struct zts_chunk *chunk)
{
	memcpy(header, ZTS_CHUNK_MAGIC, 4);
	sonde_store_u32be(header + 4, chunk->stored_size);
	sonde_store_u32be(header + 8, chunk->size);
	sonde_store_u32be(header + 12, chunk->crc);
}

static enum sonde_codec codec_of(uint32_t flags)
{
	switch (flags & ZTS_FLAG_CODEC_MASK) {
	case ZTS_FLAG_CODEC_ZLIB:
		return SONDE_CODEC_DEFLATE;
	case ZTS_FLAG_CODEC_LZ4:
		return SONDE_CODEC_LZ4;
	default:
		return SONDE_CODEC_NONE;
	}
}

static enum sonde_status read_header(struct zts_chunks *chunks, struct sonde_error *err)
{
	const struct sonde_mapped_file *file = &chunks->file;

	if (file->size < ZTS_DATA_HEADER_SIZE || memcmp(file->data, ZTS_DATA_MAGIC, 4) != 0)
		return sonde_fail(err, SONDE_FORMAT, 0,
				  "expected " ZTS_DATA_MAGIC
				  " and a header of %d bytes, found something else; "
				  "this is no traces.dat, or its start is damaged",
				  ZTS_DATA_HEADER_SIZE);
	chunks->flags = sonde_load_u32be(file->data + 4);
	chunks->codec = codec_of(chunks->flags);
	chunks->has_crc = chunks->flags & ZTS_FLAG_CRC;
	return SONDE_OK;
}

enum sonde_status zts_chunks_refresh(struct zts_chunks *chunks, struct sonde_error *err)
{
	enum sonde_status status;

	sonde_mapped_file_release(&chunks->file);
	chunks->file = (struct sonde_mapped_file){ 0 };
	status = sonde_mapped_file_open(&chunks->file, chunks->path, err);
	if (status < 0)
		return status;
	status = read_header(chunks, err);
	if (status < 0)
		sonde_error_set_file(err, chunks->path);
	return status;
}

enum sonde_status zts_chunks_open(struct zts_chunks *chunks, const char *path,
				  struct sonde_error *err)
{
	enum sonde_status status;

	*chunks = (struct zts_chunks){ .path = strdup(path) };
	if (!chunks->path)
		return sonde_fail_nomem(err);
	status = zts_chunks_refresh(chunks, err);
	if (status < 0)
		zts_chunks_release(chunks);
	return status;
}

void zts_chunks_release(struct zts_chunks *chunks)
{
	sonde_mapped_file_release(&chunks->file);
	free(chunks->path);
	*chunks = (struct zts_chunks){ 0 };
}

static enum sonde_status fail_in(const struct zts_chunks *chunks, struct sonde_error *err,
				 enum sonde_status status)
{
	if (err)
		sonde_error_set_file(err, chunks->path);
	return status;
}

/* `offset` has a whole header behind it. */
static struct zts_chunk header_at(const struct zts_chunks *chunks, uint64_t offset)
{
	const uint8_t *header = chunks->file.data + offset;

	return (struct zts_chunk){
		.offset = offset,
		.stored_size = sonde_load_u32be(header + 4),
		.size = sonde_load_u32be(header + 8),
		.crc = sonde_load_u32be(header + 12),
	};
}

enum sonde_status zts_chunks_at(const struct zts_chunks *chunks, uint64_t offset,
				struct zts_chunk *chunk, struct sonde_error *err)
{
	size_t size = chunks->file.size, start;

	if (offset == size)
		return SONDE_END;
	if (offset > size)
		return fail_in(chunks, err,
			       sonde_fail(err, SONDE_TRUNCATED, offset,
					  "expected a chunk, found the end of the file at %zu",
					  size));
	start = size - offset < 4 ? size - offset : 4;
	if (memcmp(chunks->file.data + offset, ZTS_CHUNK_MAGIC, start) != 0)
		return fail_in(chunks, err,
			       sonde_fail(err, SONDE_CORRUPT, offset,
					  "expected a chunk (" ZTS_CHUNK_MAGIC
					  "), found something else"));
	if (size - offset < ZTS_CHUNK_HEADER_SIZE)
		return fail_in(chunks, err,
			       sonde_fail(err, SONDE_TRUNCATED, offset,
					  "expected a chunk, found the end of the file in "
					  "its header"));
	*chunk = header_at(chunks, offset);
	if (chunk->stored_size > size - offset - ZTS_CHUNK_HEADER_SIZE)
		return fail_in(chunks, err,
			       sonde_fail(err, SONDE_TRUNCATED, offset,
					  "expected a chunk of %u bytes, found %zu before the "
					  "end of the file",
					  chunk->stored_size,
					  (size_t)(size - offset - ZTS_CHUNK_HEADER_SIZE)));
	return SONDE_OK;
}

/* Whether the sizes can be those of a codec, so that no memory is taken in vain. */
static bool sizes_fit(enum sonde_codec codec, const struct zts_chunk *chunk)
{
	uint64_t stored = chunk->stored_size;

	switch (codec) {
	case SONDE_CODEC_DEFLATE:
		return chunk->size <= stored * DEFLATE_RATIO + RATIO_SLACK;
	case SONDE_CODEC_LZ4:
		return chunk->size <= stored * LZ4_RATIO + RATIO_SLACK;
	case SONDE_CODEC_ZSTD: /* stores do not have it */
	case SONDE_CODEC_NONE:
		break;
	}
	return chunk->size == stored;
}

static bool crc_is_right(const struct zts_chunks *chunks, const struct zts_chunk *chunk,
			 uint32_t *found)
{
	*found = sonde_crc32(0, chunks->file.data + chunk->offset + ZTS_CHUNK_HEADER_SIZE,
			     chunk->stored_size);
	return *found == chunk->crc;
}

static enum sonde_status unpack(const struct zts_chunks *chunks, struct sonde_codec_state *state,
				const struct zts_chunk *chunk, enum sonde_codec codec,
				struct sonde_buffer *out, struct sonde_error *err)
{
	const uint8_t *data = chunks->file.data + chunk->offset + ZTS_CHUNK_HEADER_SIZE;
	enum sonde_status status;
	char *place;

	if (!sizes_fit(codec, chunk))
		return sonde_fail(err, SONDE_CORRUPT, chunk->offset,
				  "expected a chunk of %u bytes, found %u, which cannot be that",
				  chunk->size, chunk->stored_size);
	place = sonde_buffer_reserve(out, chunk->size);
	if (!place) {
		/* the buffer keeps what it had */
		out->failed = false;
		return sonde_fail_nomem(err);
	}
	status = sonde_codec_decompress(state, codec, data, chunk->stored_size, place, chunk->size,
					err);
	if (status >= 0)
		out->size += chunk->size;
	return status;
}

/* The first byte of every item that can begin a chunk. */
static bool begins_item(uint8_t byte)
{
	return byte == 0xff || byte == 0xd8 || (byte & 0xf0) == 0xc0;
}

/* Plain bytes where the header says otherwise must look like a trace. */
static bool may_be_plain(const struct zts_chunks *chunks, const struct zts_chunk *chunk)
{
	return chunk->stored_size &&
	       begins_item(chunks->file.data[chunk->offset + ZTS_CHUNK_HEADER_SIZE]);
}

/* The header's codec first, then the others. */
static enum sonde_status unpack_any(const struct zts_chunks *chunks,
				    struct sonde_codec_state *state, const struct zts_chunk *chunk,
				    struct sonde_buffer *out, enum sonde_codec *used,
				    struct sonde_error *err)
{
	enum sonde_status status = unpack(chunks, state, chunk, chunks->codec, out, err);

	*used = chunks->codec;
	if (status == SONDE_OK || status == SONDE_NOMEM)
		return status;
	for (int codec = SONDE_CODEC_NONE; codec <= SONDE_CODEC_LZ4; codec++) {
		if (codec == (int)chunks->codec)
			continue;
		if (codec == SONDE_CODEC_NONE && !may_be_plain(chunks, chunk))
			continue;
		*used = (enum sonde_codec)codec;
		status = unpack(chunks, state, chunk, *used, out, err);
		if (status == SONDE_OK || status == SONDE_NOMEM)
			return status;
	}
	*used = chunks->codec;
	return sonde_fail(err, SONDE_CORRUPT, chunk->offset,
			  "expected a chunk of %u bytes packed into %u, found one that no codec "
			  "reads",
			  chunk->size, chunk->stored_size);
}

enum sonde_status zts_chunks_read_any(const struct zts_chunks *chunks,
				      struct sonde_codec_state *state,
				      const struct zts_chunk *chunk, struct sonde_buffer *out,
				      enum sonde_codec *codec, struct sonde_error *err)
{
	size_t behind = chunks->file.size - ZTS_CHUNK_HEADER_SIZE;
	enum sonde_status status;
	uint32_t crc;

	*codec = chunks->codec;
	if (chunk->offset > behind || chunk->stored_size > behind - chunk->offset)
		return fail_in(chunks, err,
			       sonde_fail(err, SONDE_TRUNCATED, chunk->offset,
					  "expected a chunk, found the end of the file in it"));
	if (chunk->size > ZTS_CHUNK_MAX_SIZE)
		return fail_in(chunks, err,
			       sonde_fail(err, SONDE_LIMIT, chunk->offset,
					  "expected a chunk of at most %u bytes, found %u",
					  ZTS_CHUNK_MAX_SIZE, chunk->size));
	if (chunks->has_crc && !crc_is_right(chunks, chunk, &crc))
		return fail_in(chunks, err,
			       sonde_fail(err, SONDE_CORRUPT, chunk->offset,
					  "expected the checksum %08x, found %08x: the chunk is "
					  "damaged",
					  chunk->crc, crc));
	status = unpack_any(chunks, state, chunk, out, codec, err);
	return status < 0 ? fail_in(chunks, err, status) : status;
}

enum sonde_status zts_chunks_read(const struct zts_chunks *chunks, struct sonde_codec_state *state,
				  const struct zts_chunk *chunk, struct sonde_buffer *out,
				  struct sonde_error *err)
{
	enum sonde_codec codec;

	return zts_chunks_read_any(chunks, state, chunk, out, &codec, err);
}

/* Headers that may be ones, in the order of the file: found ahead, and looked at one by one. */
struct search {
	const struct zts_chunks *chunks;
	size_t next; /* where the search for more goes on */
	struct zts_chunk found[HEADERS_INSIDE + 2];
	size_t count;
};

static bool plausible(const struct zts_chunks *chunks, const struct zts_chunk *chunk)
{
	if (chunk->stored_size > chunks->file.size - ZTS_CHUNK_HEADER_SIZE - chunk->offset)
		return false;
	return chunk->stored_size && chunk->size && chunk->size <= ZTS_CHUNK_MAX_SIZE &&
	       sizes_fit(SONDE_CODEC_DEFLATE, chunk);
}

/* The next one before `end`; false where there is none. */
static bool search_more(struct search *search, size_t end)
{
	const struct sonde_mapped_file *file = &search->chunks->file;

	while (search->next < end && file->size - search->next >= ZTS_CHUNK_HEADER_SIZE) {
		/* a header that begins before the end, and is whole in the file */
		size_t last = end + 3 < file->size - 12 ? end + 3 : file->size - 12;
		const uint8_t *start = file->data + search->next, *magic;

		magic = memmem(start, last - search->next, ZTS_CHUNK_MAGIC, 4);
		if (!magic) {
			search->next = end;
			return false;
		}
		search->next = (size_t)(magic - file->data) + 4;
		search->found[search->count] = header_at(search->chunks, search->next - 4);
		if (plausible(search->chunks, &search->found[search->count])) {
			search->count++;
			return true;
		}
	}
	return false;
}

/* Whether no more headers are inside of the first one found than can be there by chance. */
static bool stands_alone(struct search *search)
{
	size_t allowed = search->chunks->has_crc ? HEADERS_INSIDE : 0;
	size_t end = zts_chunk_next(&search->found[0]);

	while (search->count <= allowed + 1)
		if (!search_more(search, end))
			break;
	return search->count <= allowed + 1 || search->found[allowed + 1].offset >= end;
}

/* SONDE_END: it is none. */
static enum sonde_status prove(const struct zts_chunks *chunks, struct sonde_codec_state *state,
			       const struct zts_chunk *chunk, struct sonde_buffer *content,
			       struct sonde_error *err)
{
	enum sonde_status status;
	enum sonde_codec codec;
	uint32_t crc;

	if (chunks->has_crc)
		return crc_is_right(chunks, chunk, &crc) ? SONDE_OK : SONDE_END;
	sonde_buffer_clear(content);
	status = unpack_any(chunks, state, chunk, content, &codec, NULL);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	return status == SONDE_OK && begins_item((uint8_t)content->data[0]) ? SONDE_OK : SONDE_END;
}

enum sonde_status zts_chunks_resync(const struct zts_chunks *chunks,
				    struct sonde_codec_state *state, uint64_t offset,
				    struct zts_chunk *chunk, struct sonde_error *err)
{
	struct search search = { .chunks = chunks };
	struct sonde_buffer content = { 0 };
	enum sonde_status status = SONDE_END;

	search.next = offset < ZTS_DATA_HEADER_SIZE ? ZTS_DATA_HEADER_SIZE : offset;
	while (search.next < chunks->file.size || search.count) {
		if (!search.count && !search_more(&search, chunks->file.size))
			break;
		if (stands_alone(&search)) {
			status = prove(chunks, state, &search.found[0], &content, err);
			*chunk = search.found[0];
			if (status != SONDE_END)
				break;
		}
		memmove(search.found, search.found + 1, --search.count * sizeof(search.found[0]));
	}
	sonde_buffer_release(&content);
	return status;
}
