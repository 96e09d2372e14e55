/* SPDX-License-Identifier: Apache-2.0 */
/* traces.dat for reading: its chunks, checked and decompressed. What is in them is zts_tree's. */
#ifndef SONDE_FORMATS_ZTS_CHUNKS_H
#define SONDE_FORMATS_ZTS_CHUNKS_H

#include "base/file.h"
#include "codec/codec.h"

struct zts_chunks {
	struct sonde_mapped_file file;
	char *path;
	uint32_t flags; /* of the header */
	/* what real stores mean by the flags; each chunk is tried both ways */
	enum sonde_codec codec;
	bool has_crc;
};

/* A chunk as its header has it. */
struct zts_chunk {
	uint64_t offset; /* of its header in the file */
	uint32_t stored_size;
	uint32_t size; /* after decompression */
	uint32_t crc;
};

/* SONDE_FORMAT where the header is no traces.dat. An absent file is SONDE_IO. */
enum sonde_status zts_chunks_open(struct zts_chunks *chunks, const char *path,
				  struct sonde_error *err);
void zts_chunks_release(struct zts_chunks *chunks);

/* Maps anew what a writer has appended; what was borrowed before is gone. */
enum sonde_status zts_chunks_refresh(struct zts_chunks *chunks, struct sonde_error *err);

/*
 * The header at `offset`; SONDE_END exactly at the end, SONDE_TRUNCATED, SONDE_CORRUPT (no magic).
 */
enum sonde_status zts_chunks_at(const struct zts_chunks *chunks, uint64_t offset,
				struct zts_chunk *chunk, struct sonde_error *err);
static inline uint64_t zts_chunk_next(const struct zts_chunk *chunk)
{
	return chunk->offset + 16 + chunk->stored_size;
}

/*
 * The next place from `offset` on where a whole chunk with a right CRC (or, without CRCs, one that
 * decompresses) begins: after damage. SONDE_END where there is none. A chunk found here that cannot
 * be read all the same is passed over whole: go on at zts_chunk_next(), so that time stays linear.
 */
enum sonde_status zts_chunks_resync(const struct zts_chunks *chunks,
				    struct sonde_codec_state *state, uint64_t offset,
				    struct zts_chunk *chunk, struct sonde_error *err);

/*
 * Appends the content of a chunk to `out`. The CRC is compared first where the file has them. The
 * codec is the header's; where that fails, the others are tried (the document's numbers are
 * swapped).
 */
enum sonde_status zts_chunks_read(const struct zts_chunks *chunks, struct sonde_codec_state *state,
				  const struct zts_chunk *chunk, struct sonde_buffer *out,
				  struct sonde_error *err);

/* The same, and says how the chunk was packed. */
enum sonde_status zts_chunks_read_any(const struct zts_chunks *chunks,
				      struct sonde_codec_state *state,
				      const struct zts_chunk *chunk, struct sonde_buffer *out,
				      enum sonde_codec *codec, struct sonde_error *err);

/* For writing: the 16 bytes of the file's header and of a chunk's. */
void zts_put_data_header(uint8_t header[16], uint32_t flags);
void zts_put_chunk_header(uint8_t header[16], const struct zts_chunk *chunk);

#endif
