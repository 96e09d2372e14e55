/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a file that is put together: little-endian numbers, and parts padded to 4 bytes. */
#ifndef SONDE_CFF_PUT_H
#define SONDE_CFF_PUT_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/put.h"

static inline uint64_t cff_padded(uint64_t size)
{
	return (size + 3) & ~(uint64_t)3;
}

/* Zeros up to a multiple of 4 bytes. */
static inline void cff_put_padding(struct sonde_buffer *out)
{
	sonde_buffer_put(out, "\0\0\0", cff_padded(out->size) - out->size);
}

#endif
