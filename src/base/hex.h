/* SPDX-License-Identifier: Apache-2.0 */
/* Hexadecimal digits in text that is read. They are written by sonde_buffer_put_hex(). */
#ifndef SONDE_BASE_HEX_H
#define SONDE_BASE_HEX_H

/* What a digit stands for; -1: it is none. */
static inline int sonde_hex_digit(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
