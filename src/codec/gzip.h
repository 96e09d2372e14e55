/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip files as streams: read step by step, and written in pieces that are packed apart from each other, by
 * several threads where there are some, and lie one after the other as one member.
 */
#ifndef SONDE_CODEC_GZIP_H
#define SONDE_CODEC_GZIP_H

#include <sonde/status.h>
#include <stdbool.h>

#include "base/buffer.h"

/* Whether bytes begin as a gzip file does. */
static inline bool sonde_gzip_is(const uint8_t *data, size_t size)
{
	return size >= 3 && data[0] == 0x1f && data[1] == 0x8b && data[2] == 8;
}

struct sonde_gzip_reader;

/* Reads what lies in memory (a mapped file), which must stay there; several members follow each other. */
enum sonde_status sonde_gzip_reader_new(const void *data, size_t size,
					struct sonde_gzip_reader **reader, struct sonde_error *err);
void sonde_gzip_reader_free(struct sonde_gzip_reader *reader);

/*
 * Up to `room` bytes more; *got 0 with SONDE_OK: that was all. SONDE_CORRUPT and SONDE_TRUNCATED with the
 * offset in the packed bytes; what came out before is good.
 */
enum sonde_status sonde_gzip_reader_next(struct sonde_gzip_reader *reader, void *out, size_t room,
					 size_t *got, struct sonde_error *err);

/* How many packed bytes were used. */
size_t sonde_gzip_reader_position(const struct sonde_gzip_reader *reader);

/* What the end of a gzip file says of all that is in it. Zeroed: nothing. */
struct sonde_gzip_sum {
	uint32_t crc;
	uint64_t size;
};

/* The working memory of one thread; NULL is fine for free. */
struct sonde_gzip_packer;
enum sonde_status sonde_gzip_packer_new(struct sonde_gzip_packer **packer, struct sonde_error *err);
void sonde_gzip_packer_free(struct sonde_gzip_packer *packer);

/* Appends the start of a file; pieces, in their order; and its end. */
void sonde_gzip_begin(struct sonde_buffer *out);
/* `sum` becomes what it was and this piece. */
enum sonde_status sonde_gzip_piece(struct sonde_gzip_packer *packer, const void *data, size_t size,
				   struct sonde_buffer *out, struct sonde_gzip_sum *sum,
				   struct sonde_error *err);
/* Pieces with one sum, followed by pieces with another. */
void sonde_gzip_join(struct sonde_gzip_sum *sum, struct sonde_gzip_sum next);
void sonde_gzip_end(struct sonde_buffer *out, struct sonde_gzip_sum sum);

#endif
