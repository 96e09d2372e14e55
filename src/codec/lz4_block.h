/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small LZ4 blocks of known size, packed as tightly as is affordable: for indexes, not for traces.
 */
#ifndef SONDE_CODEC_LZ4_BLOCK_H
#define SONDE_CODEC_LZ4_BLOCK_H

#include <stdbool.h>
#include <stddef.h>

/* Exactly `out_size` bytes out of all of the input; false otherwise. Any number of threads. */
bool sonde_lz4_block_unpack(const void *data, size_t size, void *out, size_t out_size);

struct sonde_lz4_packer;			     /* working memory; one thread at a time */
struct sonde_lz4_packer *sonde_lz4_packer_new(void); /* NULL where memory failed */
void sonde_lz4_packer_free(struct sonde_lz4_packer *packer);
/* Bytes put into `out`; 0 where they would be more than `out_size`. */
size_t sonde_lz4_block_pack(struct sonde_lz4_packer *packer, const void *data, size_t size,
			    void *out, size_t out_size);

#endif
