/* SPDX-License-Identifier: Apache-2.0 */
/* Small LZ4 blocks by liblz4, with its slow compressor, whose memory is prepared once. */
#include <lz4.h>
#include <lz4hc.h>
#include <stdlib.h>

#include "codec/lz4_block.h"

#define LEVEL 9 /* what existing programs use; higher ones gain 1% and take twice the time */

struct sonde_lz4_packer {
	LZ4_streamHC_t stream;
};

bool sonde_lz4_block_unpack(const void *data, size_t size, void *out, size_t out_size)
{
	if (size > LZ4_MAX_INPUT_SIZE || out_size > LZ4_MAX_INPUT_SIZE)
		return false;
	return LZ4_decompress_safe(data, out, (int)size, (int)out_size) == (int)out_size;
}

struct sonde_lz4_packer *sonde_lz4_packer_new(void)
{
	struct sonde_lz4_packer *packer = malloc(sizeof(*packer));

	if (packer)
		LZ4_initStreamHC(&packer->stream, sizeof(packer->stream));
	return packer;
}

void sonde_lz4_packer_free(struct sonde_lz4_packer *packer)
{
	free(packer);
}

size_t sonde_lz4_block_pack(struct sonde_lz4_packer *packer, const void *data, size_t size,
			    void *out, size_t out_size)
{
	int packed;

	if (size > LZ4_MAX_INPUT_SIZE || out_size > LZ4_MAX_INPUT_SIZE)
		return 0;
	LZ4_resetStreamHC_fast(&packer->stream, LEVEL);
	packed = LZ4_compress_HC_continue(&packer->stream, data, out, (int)size, (int)out_size);
	return packed > 0 ? (size_t)packed : 0;
}
