/* SPDX-License-Identifier: Apache-2.0 */
/* For every measuring program: the end of it where something fails, and clocks. */
#ifndef SONDE_BENCH_NEED_H
#define SONDE_BENCH_NEED_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <sonde/status.h>

#include "base/now.h"

static inline void need(enum sonde_status status, const struct sonde_error *err)
{
	char text[1500];

	if (status >= 0)
		return;
	sonde_error_format(err, text, sizeof(text));
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, text);
	exit(3);
}

static inline double seconds_of(clockid_t clock)
{
	return (double)sonde_now_ns(clock) * 1e-9;
}

#endif
