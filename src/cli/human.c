/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people. No locale: what is printed is the same everywhere. */
#include "cli/human.h"

#include <time.h>

#include <sonde/profile.h>

unsigned int cli_digits(uint64_t value)
{
	unsigned int digits = 1;

	for (; value >= 10; value /= 10)
		digits++;
	return digits;
}

void cli_put_seconds(struct sonde_buffer *out, uint64_t ns, unsigned int width)
{
	sonde_buffer_put_u64_wide(out, ns / CLI_NS_PER_S, width, ' ');
	sonde_buffer_put_char(out, '.');
	sonde_buffer_put_u64_wide(out, ns % CLI_NS_PER_S, 9, '0');
}

void cli_put_date(struct sonde_buffer *out, uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / CLI_NS_PER_S);
	struct tm date = { 0 };

	gmtime_r(&seconds, &date);
	sonde_buffer_put_format(out, "%04d-%02d-%02d %02d:%02d:%02d.%03u UTC", date.tm_year + 1900,
				date.tm_mon + 1, date.tm_mday, date.tm_hour, date.tm_min,
				date.tm_sec, (unsigned int)(realtime_ns % CLI_NS_PER_S / 1000000));
}
