/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of contexts as bytes, for the cache. What is read is checked: it may have come from anywhere. */
#ifndef SONDE_ANALYSE_CCT_ARCHIVE_H
#define SONDE_ANALYSE_CCT_ARCHIVE_H

#include "analyse/cct_private.h"
#include "base/buffer.h"

/* Changes with the bytes, and where something else is put into a tree. */
#define CCT_ARCHIVE_KIND "cct-1"

/* A finished tree, with the text that says what it is of. False where memory failed. */
bool cct_archive_write(const struct cct_body *body, const char *subject, struct sonde_buffer *out);

/* The finished tree of that subject; NULL where the bytes are not one, or memory failed. */
struct cct_body *cct_archive_read(const void *data, size_t size, const char *subject);

#endif
