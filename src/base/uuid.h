/* SPDX-License-Identifier: Apache-2.0 */
/* UUIDs, as two numbers: the first 8 bytes and the last 8, most significant first. */
#ifndef SONDE_BASE_UUID_H
#define SONDE_BASE_UUID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* "01234567-89ab-cdef-0123-456789abcdef" */
#define SONDE_UUID_LENGTH 36
#define SONDE_UUID_SIZE (SONDE_UUID_LENGTH + 1) /* with a NUL */
void sonde_uuid_format(const uint64_t uuid[2], char text[SONDE_UUID_SIZE]);
/* The same, appended. */
void sonde_uuid_put(const uint64_t uuid[2], struct sonde_buffer *out);

/* With dashes where they belong or without any, in either case; false where it is none. */
bool sonde_uuid_parse(const char *text, size_t size, uint64_t uuid[2]);

/* Another UUID for each number. */
void sonde_uuid_derive(const uint64_t from[2], uint64_t number, uint64_t uuid[2]);

#endif
