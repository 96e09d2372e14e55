/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32 by libdeflate, which takes a NULL pointer for a request of the start value. */
#include <libdeflate.h>

#include "base/crc.h"

uint32_t sonde_crc32(uint32_t crc, const void *data, size_t size)
{
	return size ? libdeflate_crc32(crc, data, size) : crc;
}
