/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, sizes, durations and dates as people read them. */
#ifndef SONDE_CLI_HUMAN_H
#define SONDE_CLI_HUMAN_H

#include "base/human.h"

#define CLI_NS_PER_S UINT64_C(1000000000)

/* "12,345" */
static inline void cli_put_count(struct sonde_buffer *out, uint64_t count)
{
	sonde_put_count(out, count);
}

/* "1 event", "12,345 events": the plural adds an s. */
static inline void cli_put_counted(struct sonde_buffer *out, uint64_t count, const char *noun)
{
	sonde_put_counted(out, count, noun);
}

/* "512 bytes", "1.5 MB" */
static inline void cli_put_size(struct sonde_buffer *out, uint64_t bytes)
{
	sonde_put_size(out, bytes);
}

/* "340 ns", "12.345 us", "1.234 ms", "1.500 s", "2 m 05.000 s"; `gap` parts number and unit. */
static inline void cli_put_duration(struct sonde_buffer *out, uint64_t ns, const char *gap)
{
	sonde_put_duration(out, ns, gap);
}

/* Seconds with nine decimals, filled with spaces to `width` characters before the point. */
void cli_put_seconds(struct sonde_buffer *out, uint64_t ns, unsigned int width);

/* "2026-01-02 03:04:05.123 UTC" of nanoseconds since 1970. */
void cli_put_date(struct sonde_buffer *out, uint64_t realtime_ns);

/* Characters of a decimal number. */
unsigned int cli_digits(uint64_t value);

#endif
