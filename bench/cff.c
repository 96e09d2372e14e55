/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One measurement of sonde on a wtf-trace file, for bench/cff.sh, which runs it beside the npm
 * reader and makes a table: the figures are printed as JSON, like those of cff_load.js. Seconds
 * are of processor time, and begin after the program has started; memory is the peak of all its
 * resident pages, with those of mapped files, as it is for the npm reader.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "need.h"

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "sonde-bench-cff: %s: %s\n", what, why);
	exit(3);
}

static uint64_t size_of(const char *path)
{
	struct stat status;

	if (stat(path, &status))
		fail(path, strerror(errno));
	return (uint64_t)status.st_size;
}

/* What a walk saw; both readers must agree on it. */
struct seen {
	uint64_t events;
	double ms; /* sum of all times */
	uint64_t functions;
};

static void walk_track(struct sonde_recording *recording, uint32_t track, struct seen *seen)
{
	struct sonde_cursor *cursor;
	struct sonde_batch batch;
	struct sonde_error err;
	enum sonde_status status;
	uint64_t times = 0;

	need(sonde_cursor_open(recording, track, &cursor, &err), &err);
	while (!(status = sonde_cursor_next(cursor, &batch, &err))) {
		for (size_t i = 0; i < batch.count; i++) {
			times += batch.events[i].time_ns;
			seen->functions += batch.events[i].function;
		}
		seen->events += batch.count;
	}
	need(status, &err);
	seen->ms += (double)times * 1e-6;
	sonde_cursor_free(cursor);
}

static struct sonde_recording *open_recording(const char *path)
{
	struct sonde_recording *recording;
	struct sonde_error err;

	need(sonde_recording_open(path, NULL, &recording, &err), &err);
	return recording;
}

static void print_figures(const struct seen *seen, double cpu, double wall)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("{\"events\":%" PRIu64 ",\"ms\":%.3f,\"functions\":%" PRIu64
	       ",\"cpu_seconds\":%.6f,\"wall_seconds\":%.6f,\"peak_kb\":%ld}\n",
	       seen->events, seen->ms, seen->functions, cpu, wall, usage.ru_maxrss);
}

/* Opens and walks every event. */
static int measure_walk(const char *path)
{
	double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID), wall = seconds_of(CLOCK_MONOTONIC);
	struct sonde_recording *recording = open_recording(path);
	uint32_t tracks = sonde_definitions_track_count(sonde_recording_definitions(recording));
	struct seen seen = { 0 };

	for (uint32_t track = 0; track < tracks; track++)
		walk_track(recording, track, &seen);
	sonde_recording_close(recording);
	print_figures(&seen, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu,
		      seconds_of(CLOCK_MONOTONIC) - wall);
	return 0;
}

/* How much of a file is in the page cache. */
static uint64_t cached_bytes(int fd, uint64_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page;
	void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	unsigned char *flags = malloc(pages);
	uint64_t count = 0;

	if (data == MAP_FAILED || !flags || mincore(data, size, flags))
		fail("mincore", strerror(errno));
	for (size_t i = 0; i < pages; i++)
		count += flags[i] & 1;
	munmap(data, size);
	free(flags);
	return count * page;
}

/* Opens a file of which nothing is in the page cache, and tells how much of it is there then. */
static int measure_open(const char *path)
{
	uint64_t size = size_of(path), before, after;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct sonde_recording *recording;
	double wall;

	if (fd < 0 || fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		fail(path, strerror(errno));
	before = cached_bytes(fd, size);
	wall = seconds_of(CLOCK_MONOTONIC);
	recording = open_recording(path);
	wall = seconds_of(CLOCK_MONOTONIC) - wall;
	after = cached_bytes(fd, size);
	printf("{\"bytes\":%" PRIu64 ",\"cached_before\":%" PRIu64 ",\"bytes_read\":%" PRIu64
	       ",\"wall_seconds\":%.6f}\n",
	       size, before, after > before ? after - before : 0, wall);
	sonde_recording_close(recording);
	close(fd);
	return 0;
}

/* Writes a recording as a wtf-trace file, from its events, on one thread. */
static int measure_write(const char *source, const char *target)
{
	struct sonde_create_options create = { .format = "cff" };
	struct sonde_run_options options = { .threads = 1 };
	struct sonde_recording *recording = open_recording(source);
	struct sonde_run_result result;
	struct sonde_sink *sink;
	struct sonde_error err;
	double cpu, wall;

	/* or else giving back what an earlier run wrote would be measured too */
	unlink(target);
	cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	wall = seconds_of(CLOCK_MONOTONIC);
	need(sonde_sink_create(target, &create, &sink, &err), &err);
	need(sonde_pipeline_run(&recording, 1, sink, &options, &result, &err), &err);
	sonde_sink_free(sink);
	cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	wall = seconds_of(CLOCK_MONOTONIC) - wall;
	printf("{\"events\":%" PRIu64 ",\"bytes\":%" PRIu64
	       ",\"cpu_seconds\":%.6f,\"wall_seconds\":%.6f}\n",
	       result.events_written, size_of(target), cpu, wall);
	sonde_recording_close(recording);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "walk"))
		return measure_walk(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "open"))
		return measure_open(argv[2]);
	if (argc == 4 && !strcmp(argv[1], "write"))
		return measure_write(argv[2], argv[3]);
	fputs("usage: sonde-bench-cff walk|open FILE\n"
	      "       sonde-bench-cff write RECORDING FILE\n",
	      stderr);
	return 2;
}
