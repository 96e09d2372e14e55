/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, sizes and durations as people read them. No locale: what is printed is the same everywhere. */
#ifndef SONDE_BASE_HUMAN_H
#define SONDE_BASE_HUMAN_H

#include "base/buffer.h"

/* "12,345" */
void sonde_put_count(struct sonde_buffer *out, uint64_t count);

/* "1 event", "12,345 events": the plural adds an s. */
void sonde_put_counted(struct sonde_buffer *out, uint64_t count, const char *noun);

/* "512 bytes", "1.5 MB" */
void sonde_put_size(struct sonde_buffer *out, uint64_t bytes);

/* "340 ns", "12.345 us", "1.234 ms", "1.500 s", "2 m 05.000 s"; `gap` parts number and unit. */
void sonde_put_duration(struct sonde_buffer *out, uint64_t ns, const char *gap);

#endif
