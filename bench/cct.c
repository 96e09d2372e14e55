/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the tree of contexts of a recording and says what it took: CPU time, memory, events a second. What the
 * commands on top of it add is measured by analyse.sh.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "analyse/cct.h"

static double seconds(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static double wall(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void show(struct sonde_recording *recording, const struct cct *cct, double start)
{
	uint64_t events = sonde_recording_event_count(recording);
	struct rusage usage;
	double cpu;

	getrusage(RUSAGE_SELF, &usage);
	cpu = seconds(&usage.ru_utime) + seconds(&usage.ru_stime);
	printf("%u contexts, %u functions, %u metrics, %s\n", cct->context_count,
	       sonde_definitions_function_count(cct->definitions), cct->metric_count,
	       cct->cached ? "from the cache" : "made now");
	for (uint32_t i = 0; i < cct->metric_count; i++)
		printf("%-32s %.9g\n", cct->metrics[i].name, cct->metrics[i].total[0]);
	printf("%.3f s, %.3f s CPU (%.3f of it of the system), %.1f MB, %.1f M events/s CPU\n",
	       wall() - start, cpu, seconds(&usage.ru_stime), (double)usage.ru_maxrss / 1024,
	       (double)events / cpu / 1e6);
}

static void list(const struct cct *cct)
{
	char space[256];

	for (uint32_t i = 0; i < cct->context_count; i++) {
		int depth = 0;

		for (uint32_t k = i; k; k = cct->contexts[k].parent)
			depth++;
		printf("%*s%s", depth, "",
		       sonde_context_label(cct->definitions, &cct->contexts[i], space,
					   sizeof(space)));
		for (uint32_t k = 0; k < cct->metric_count; k++)
			printf(" %.9g/%.9g", cct->metrics[k].self[i], cct->metrics[k].total[i]);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	struct cct_options options = { .spread = true };
	struct sonde_recording *recording = NULL;
	struct sonde_error err = { 0 };
	struct cct *cct = NULL;
	double start = wall();

	if (argc < 2) {
		fprintf(stderr, "usage: %s RECORDING [THREADS] [--list]\n", argv[0]);
		return 2;
	}
	if (argc > 2)
		options.threads = (unsigned int)strtoul(argv[2], NULL, 10);
	if (sonde_recording_open(argv[1], NULL, &recording, &err) ||
	    cct_build(recording, &options, &cct, &err)) {
		fprintf(stderr, "%s: %s\n", argv[1], err.message);
		sonde_recording_close(recording);
		return 1;
	}
	show(recording, cct, start);
	if (argc > 3)
		list(cct);
	cct_free(cct);
	sonde_recording_close(recording);
	return 0;
}
