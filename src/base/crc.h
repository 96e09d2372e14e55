/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32 with the zlib polynomial. */
#ifndef SONDE_BASE_CRC_H
#define SONDE_BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 to start) over `size` bytes. */
uint32_t sonde_crc32(uint32_t crc, const void *data, size_t size);

/* The other way: what the checksum was before it was continued over these bytes. */
uint32_t sonde_crc32_undo(uint32_t crc, const void *data, size_t size);

#endif
