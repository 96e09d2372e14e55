/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32 by ISA-L where it is, by libdeflate elsewhere, which takes a NULL pointer for a request of
 * the start value. Of what recording costs, libdeflate's were an eighth.
 */
#include "base/crc.h"

#ifdef SONDE_HAS_ISAL
#include <isa-l/crc.h>
#else
#include <libdeflate.h>
#endif

uint32_t sonde_crc32(uint32_t crc, const void *data, size_t size)
{
#ifdef SONDE_HAS_ISAL
	return crc32_gzip_refl(crc, data, size);
#else
	return size ? libdeflate_crc32(crc, data, size) : crc;
#endif
}

#define POLYNOMIAL 0xEDB88320u

/*
 * One step forward is crc = table[(crc ^ byte) & 255] ^ crc >> 8. The high byte of the result is
 * that of the table's entry alone, and differs in all of them: so it tells which entry it was.
 */
uint32_t sonde_crc32_undo(uint32_t crc, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint32_t table[256];
	uint8_t entry_of[256];

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t value = i;

		for (int bit = 0; bit < 8; bit++)
			value = value >> 1 ^ (value & 1 ? POLYNOMIAL : 0);
		table[i] = value;
		entry_of[value >> 24] = (uint8_t)i;
	}
	crc = ~crc;
	while (size--) {
		uint8_t entry = entry_of[crc >> 24];

		crc = (crc ^ table[entry]) << 8 | (uint8_t)(entry ^ bytes[size]);
	}
	return ~crc;
}
