/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a trace as existing programs write them, for tests of trees and of chunks. */
#ifndef SONDE_TESTS_ZTS_BYTES_H
#define SONDE_TESTS_ZTS_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes written as hexadecimal digits; anything else between them is passed over. */
static inline size_t from_hex(const char *text, uint8_t *out)
{
	size_t digits = 0;

	for (; *text; text++) {
		static const char all[] = "0123456789abcdef";
		const char *digit = strchr(all, *text);
		uint8_t value;

		if (!digit)
			continue;
		value = (uint8_t)(digit - all);
		out[digits / 2] = (uint8_t)(digits % 2 ? out[digits / 2] << 4 | value : value);
		digits++;
	}
	return digits / 2;
}

/*
 * As existing programs write it: a trace, an attribute of each kind, two calls, one with a fault.
 */
#define WHOLE                                                                                      \
	"c89f cea10c05 cea10e19012c cea1051b0000016a73440df6 cea10705 cea10b08"                    \
	" c9a3 c607c610 c6081901a9 c609f5"                                                         \
	"  c89f cea10c06 cea10e02 cea10d07 cea10901 ff"                                            \
	"  c89f cea10c07 cea10e03"                                                                 \
	"    c89f cea10c07 cea10e04 cea1051903e8 cea1121b0123456789abcdef cea11118ff"              \
	"    c9a1c6181ac618ff d823187b cea10d1a00010000 cea109187f ff"                             \
	"  cea10d1a00010001 cea1091880 ff"                                                         \
	" cea10d1a7ffffffe cea1091b0000000100000000 ff"

#endif
