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

void cli_put_count(struct sonde_buffer *out, uint64_t count)
{
	if (count < 1000) {
		sonde_buffer_put_u64(out, count);
		return;
	}
	cli_put_count(out, count / 1000);
	sonde_buffer_put_char(out, ',');
	sonde_buffer_put_u64_wide(out, count % 1000, 3, '0');
}

void cli_put_counted(struct sonde_buffer *out, uint64_t count, const char *noun)
{
	cli_put_count(out, count);
	sonde_buffer_put_char(out, ' ');
	sonde_buffer_put_text(out, noun);
	if (count != 1)
		sonde_buffer_put_char(out, 's');
}

void cli_put_size(struct sonde_buffer *out, uint64_t bytes)
{
	static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
	double value = (double)bytes / 1000;
	size_t unit = 0;

	if (bytes < 1000) {
		cli_put_counted(out, bytes, "byte");
		return;
	}
	for (; value >= 999.95 && unit < sizeof(units) / sizeof(units[0]) - 1; unit++)
		value /= 1000;
	sonde_buffer_put_format(out, "%.1f %s", value, units[unit]);
}

/* A number of units with three decimals. */
static void put_decimal(struct sonde_buffer *out, uint64_t ns, uint64_t unit, const char *gap,
			const char *name)
{
	sonde_buffer_put_u64(out, ns / unit);
	sonde_buffer_put_char(out, '.');
	sonde_buffer_put_u64_wide(out, ns % unit / (unit / 1000), 3, '0');
	sonde_buffer_put_text(out, gap);
	sonde_buffer_put_text(out, name);
}

void cli_put_duration(struct sonde_buffer *out, uint64_t ns, const char *gap)
{
	uint64_t seconds = ns / CLI_NS_PER_S;

	if (ns < 1000) {
		sonde_buffer_put_u64(out, ns);
		sonde_buffer_put_text(out, gap);
		sonde_buffer_put_text(out, "ns");
	} else if (ns < 1000 * 1000) {
		put_decimal(out, ns, 1000, gap, "us");
	} else if (seconds < 1) {
		put_decimal(out, ns, 1000 * 1000, gap, "ms");
	} else if (seconds < 60) {
		put_decimal(out, ns, CLI_NS_PER_S, gap, "s");
	} else if (seconds < 3600) {
		sonde_buffer_put_format(out, "%u%sm%s%02u.%03u%ss", (unsigned int)(seconds / 60),
					gap, gap, (unsigned int)(seconds % 60),
					(unsigned int)(ns % CLI_NS_PER_S / 1000000), gap);
	} else {
		sonde_buffer_put_u64(out, seconds / 3600);
		sonde_buffer_put_format(out, "%sh%s%02u%sm%s%02u%ss", gap, gap,
					(unsigned int)(seconds / 60 % 60), gap, gap,
					(unsigned int)(seconds % 60), gap);
	}
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

const char *cli_context_kind_name(unsigned int kind)
{
	static const char *const names[] = {
		[SONDE_CONTEXT_ROOT] = "root",	       [SONDE_CONTEXT_ENTRY] = "entry",
		[SONDE_CONTEXT_FUNCTION] = "function", [SONDE_CONTEXT_LOOP] = "loop",
		[SONDE_CONTEXT_LINE] = "line",	       [SONDE_CONTEXT_INSTRUCTION] = "instruction",
	};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "other";
}
