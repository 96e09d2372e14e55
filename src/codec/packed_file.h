/* SPDX-License-Identifier: Apache-2.0 */
/* A file that may be packed with gzip, as a stream of bytes: however large, only a piece of it counts as memory. */
#ifndef SONDE_CODEC_PACKED_FILE_H
#define SONDE_CODEC_PACKED_FILE_H

#include "base/file.h"
#include "codec/gzip.h"

struct sonde_packed_file {
	struct sonde_mapped_file file;
	struct sonde_gzip_reader *gzip; /* NULL: it is not packed */
	uint8_t *room;			/* what is unpacked */
	size_t position;		/* in the file: what is before was given out */
	enum sonde_status failed; /* what ended the unpacking, once its bytes were given out */
	struct sonde_error error;
};

enum sonde_status sonde_packed_file_open(struct sonde_packed_file *packed, const char *path,
					 struct sonde_error *err);
/* Fine on a zeroed struct, and after a failed open. */
void sonde_packed_file_release(struct sonde_packed_file *packed);

/*
 * The next bytes, borrowed until the next call; *size 0 with SONDE_OK: that was all. A failure comes
 * when all that is good was given out.
 */
enum sonde_status sonde_packed_file_next(struct sonde_packed_file *packed, const uint8_t **data,
					 size_t *size, struct sonde_error *err);

/* How many bytes of the file itself were used; for findings. */
uint64_t sonde_packed_file_position(const struct sonde_packed_file *packed);

/* The first bytes of a file, unpacked, for who looks what it is; how many, 0 where there are none. */
size_t sonde_packed_file_peek(const char *path, void *out, size_t room);

#endif
