/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people. */
#include "base/human.h"

#define NS_PER_S UINT64_C(1000000000)

void sonde_put_count(struct sonde_buffer *out, uint64_t count)
{
	if (count < 1000) {
		sonde_buffer_put_u64(out, count);
		return;
	}
	sonde_put_count(out, count / 1000);
	sonde_buffer_put_char(out, ',');
	sonde_buffer_put_u64_wide(out, count % 1000, 3, '0');
}

void sonde_put_counted(struct sonde_buffer *out, uint64_t count, const char *noun)
{
	sonde_put_count(out, count);
	sonde_buffer_put_char(out, ' ');
	sonde_buffer_put_text(out, noun);
	if (count != 1)
		sonde_buffer_put_char(out, 's');
}

void sonde_put_size(struct sonde_buffer *out, uint64_t bytes)
{
	static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
	double value = (double)bytes / 1000;
	size_t unit = 0;

	if (bytes < 1000) {
		sonde_put_counted(out, bytes, "byte");
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

void sonde_put_duration(struct sonde_buffer *out, uint64_t ns, const char *gap)
{
	uint64_t seconds = ns / NS_PER_S;

	if (ns < 1000) {
		sonde_buffer_put_u64(out, ns);
		sonde_buffer_put_text(out, gap);
		sonde_buffer_put_text(out, "ns");
	} else if (ns < 1000 * 1000) {
		put_decimal(out, ns, 1000, gap, "us");
	} else if (seconds < 1) {
		put_decimal(out, ns, 1000 * 1000, gap, "ms");
	} else if (seconds < 60) {
		put_decimal(out, ns, NS_PER_S, gap, "s");
	} else if (seconds < 3600) {
		sonde_buffer_put_format(out, "%u%sm%s%02u.%03u%ss", (unsigned int)(seconds / 60),
					gap, gap, (unsigned int)(seconds % 60),
					(unsigned int)(ns % NS_PER_S / 1000000), gap);
	} else {
		sonde_buffer_put_u64(out, seconds / 3600);
		sonde_buffer_put_format(out, "%sh%s%02u%sm%s%02u%ss", gap, gap,
					(unsigned int)(seconds / 60 % 60), gap, gap,
					(unsigned int)(seconds % 60), gap);
	}
}
