/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as bytes at the end of a buffer, in either order. Failures are kept by the buffer. */
#ifndef SONDE_BASE_PUT_H
#define SONDE_BASE_PUT_H

#include <endian.h>

#include "base/buffer.h"

static inline void sonde_put_u16le(struct sonde_buffer *out, uint16_t value)
{
	value = htole16(value);
	sonde_buffer_put(out, &value, sizeof(value));
}

static inline void sonde_put_u32le(struct sonde_buffer *out, uint32_t value)
{
	value = htole32(value);
	sonde_buffer_put(out, &value, sizeof(value));
}

static inline void sonde_put_u64le(struct sonde_buffer *out, uint64_t value)
{
	value = htole64(value);
	sonde_buffer_put(out, &value, sizeof(value));
}

static inline void sonde_put_u16be(struct sonde_buffer *out, uint16_t value)
{
	value = htobe16(value);
	sonde_buffer_put(out, &value, sizeof(value));
}

static inline void sonde_put_u32be(struct sonde_buffer *out, uint32_t value)
{
	value = htobe32(value);
	sonde_buffer_put(out, &value, sizeof(value));
}

static inline void sonde_put_u64be(struct sonde_buffer *out, uint64_t value)
{
	value = htobe64(value);
	sonde_buffer_put(out, &value, sizeof(value));
}

#endif
