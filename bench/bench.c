/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what sonde does with two sessions of sonde-generate, a small and a large one, beside
 * peers that do the same in the plainest way. Every measurement runs in a process of its own, on
 * one processor; rates are medians over several runs with the files in the page cache, and of
 * processor time, which other programs on the machine disturb least.
 *
 * Memory is the peak of RssAnon in /proc/self/status, read every millisecond by a thread of the
 * measured process. RssAnon is what a process allocated, without the pages of mapped files:
 * those are the page cache's, and the kernel takes them back when it needs them, so that ru_maxrss
 * or VmHWM, which count them, would say nothing about what the library needs.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "bench.h"
#include "need.h"

#define RUNS 7

double bench_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void bench_fail(const char *what, const char *why)
{
	fprintf(stderr, "sonde-bench: %s: %s\n", what, why);
	exit(3);
}

uint64_t bench_seek_time(unsigned int number, uint64_t first_ns, uint64_t last_ns)
{
	uint64_t random = (number + 1) * 0x9E3779B97F4A7C15u;

	random ^= random >> 29;
	return first_ns + random % (last_ns - first_ns + 1);
}

static int compare_doubles(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

void bench_quantiles(double *us, size_t count, struct bench_outcome *outcome)
{
	qsort(us, count, sizeof(*us), compare_doubles);
	outcome->median_us = us[count / 2];
	outcome->p99_us = us[count / 100 * 99];
}

static double processor_time(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static struct sonde_recording *open_recording(const char *path)
{
	struct sonde_recording *recording;
	struct sonde_error err;

	need(sonde_recording_open(path, NULL, &recording, &err), &err);
	return recording;
}

void bench_open(const char *path, struct bench_outcome *outcome)
{
	struct sonde_recording *recording = open_recording(path);

	outcome->units = sonde_recording_event_count(recording);
	sonde_recording_close(recording);
}

void bench_scan(const char *path, struct bench_outcome *outcome)
{
	struct sonde_recording *recording = open_recording(path);
	struct sonde_cursor *cursor;
	struct sonde_batch batch;
	struct sonde_error err;
	enum sonde_status status;
	uint64_t sum = 0;

	need(sonde_cursor_open(recording, 0, &cursor, &err), &err);
	outcome->units = 0;
	while (!(status = sonde_cursor_next(cursor, &batch, &err))) {
		for (size_t i = 0; i < batch.count; i++) {
			const struct sonde_event *event = &batch.events[i];

			sum = bench_sum_event(sum, event->time_ns, event->depth, event->kind,
					      event->detail);
		}
		outcome->units += batch.count;
	}
	need(status, &err);
	outcome->sum = sum;
	sonde_cursor_free(cursor);
	sonde_recording_close(recording);
}

void bench_merge(const char *path, struct bench_outcome *outcome)
{
	struct sonde_recording *recording = open_recording(path);
	struct sonde_merged_cursor *cursor;
	struct sonde_batch batch;
	struct sonde_error err;
	enum sonde_status status;
	uint64_t sum = 0;

	need(sonde_merged_cursor_open(recording, NULL, 0, &cursor, &err), &err);
	outcome->units = 0;
	while (!(status = sonde_merged_cursor_next(cursor, &batch, &err))) {
		for (size_t i = 0; i < batch.count; i++)
			sum = bench_sum_order(sum, batch.events[i].time_ns);
		outcome->units += batch.count;
	}
	need(status, &err);
	outcome->sum = sum;
	sonde_merged_cursor_free(cursor);
	sonde_recording_close(recording);
}

/* In bytes of the index files, as the peer counts. */
void bench_check(const char *path, struct bench_outcome *outcome)
{
	const struct sonde_check_options options = { .threads = 1 };
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_recording *recording = open_recording(path);
	struct sonde_error err;
	uint32_t tracks = sonde_definitions_track_count(sonde_recording_definitions(recording));

	if (!diagnostics)
		bench_fail("sonde", "out of memory");
	outcome->units = sonde_recording_event_count(recording) * 32 + (uint64_t)tracks * 128;
	sonde_recording_close(recording);
	need(sonde_check(path, &options, diagnostics, &err), &err);
	if (sonde_diagnostics_count(diagnostics, SONDE_NOTE))
		bench_fail(path, "the check found something");
	sonde_diagnostics_free(diagnostics);
}

static void seek(const char *path, struct bench_outcome *outcome, bool read)
{
	static double us[BENCH_SEEKS];
	struct sonde_recording *recording = open_recording(path);
	const struct sonde_track *track =
		sonde_definitions_track(sonde_recording_definitions(recording), 0);
	struct sonde_cursor *cursor;
	struct sonde_batch batch;
	struct sonde_error err;

	need(sonde_cursor_open(recording, 0, &cursor, &err), &err);
	outcome->sum = 0;
	for (unsigned int i = 0; i < BENCH_SEEKS; i++) {
		uint64_t time_ns = bench_seek_time(i, track->time_first_ns, track->time_last_ns);
		double start = bench_now();

		sonde_cursor_seek_time(cursor, time_ns);
		if (read) {
			need(sonde_cursor_next(cursor, &batch, &err), &err);
			outcome->sum += batch.events[0].time_ns;
		}
		us[i] = (bench_now() - start) * 1e6;
		outcome->sum += read ? batch.first_index : sonde_cursor_position(cursor);
	}
	outcome->units = BENCH_SEEKS;
	bench_quantiles(us, BENCH_SEEKS, outcome);
	sonde_cursor_free(cursor);
	sonde_recording_close(recording);
}

void bench_seek(const char *path, struct bench_outcome *outcome)
{
	seek(path, outcome, false);
}

void bench_seek_read(const char *path, struct bench_outcome *outcome)
{
	seek(path, outcome, true);
}

/* What a measuring process reports. */
struct report {
	double seconds;	  /* of processor time a run, median */
	uint64_t peak_kb; /* of RssAnon; only where asked for */
	struct bench_outcome outcome;
};

static uint64_t anonymous_kb(void)
{
	static const char key[] = "RssAnon:";
	FILE *file = fopen("/proc/self/status", "re");
	uint64_t kb = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, key, sizeof(key) - 1))
			kb = strtoull(line + sizeof(key) - 1, NULL, 10);
	}
	if (file)
		fclose(file);
	return kb;
}

struct watch {
	_Atomic bool stop;
	uint64_t peak_kb;
};

static void *watch_memory(void *argument)
{
	struct watch *watch = argument;
	const struct timespec pause = { .tv_nsec = 1000000 };

	do {
		uint64_t now = anonymous_kb();

		if (now > watch->peak_kb)
			watch->peak_kb = now;
		nanosleep(&pause, NULL);
	} while (!watch->stop);
	return NULL;
}

static void run_watched(bench_work *work, const char *path, struct report *report)
{
	struct watch watch = { .stop = false };
	pthread_t thread;

	if (pthread_create(&thread, NULL, watch_memory, &watch))
		bench_fail("sonde-bench", "no thread can be started");
	work(path, &report->outcome);
	watch.stop = true;
	pthread_join(thread, NULL);
	report->peak_kb = watch.peak_kb;
}

static void stay_on_one_processor(void)
{
	int here = sched_getcpu();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(here < 0 ? 0 : (unsigned int)here, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* The first run brings the files into the page cache and does not count. */
static void run_timed(bench_work *work, const char *path, struct report *report)
{
	double seconds[RUNS];

	stay_on_one_processor();
	work(path, &report->outcome);
	for (size_t i = 0; i < RUNS; i++) {
		double start = processor_time();

		work(path, &report->outcome);
		seconds[i] = processor_time() - start;
	}
	qsort(seconds, RUNS, sizeof(*seconds), compare_doubles);
	report->seconds = seconds[RUNS / 2];
}

static struct report measure(bench_work *work, const char *path, bool memory)
{
	struct report report = { 0 };
	int ends[2], status;
	pid_t child;

	fflush(NULL);
	if (pipe(ends) || (child = fork()) < 0)
		bench_fail("sonde-bench", strerror(errno));
	if (!child) {
		if (memory)
			run_watched(work, path, &report);
		else
			run_timed(work, path, &report);
		_exit(write(ends[1], &report, sizeof(report)) == sizeof(report) ? 0 : 3);
	}
	close(ends[1]);
	if (read(ends[0], &report, sizeof(report)) != sizeof(report) ||
	    waitpid(child, &status, 0) != child || status)
		bench_fail("sonde-bench", "a measurement failed");
	close(ends[0]);
	return report;
}

/* The command as a user starts it, in milliseconds. */
static double time_info(const char *command, const char *path)
{
	double ms[RUNS];

	fflush(NULL);
	for (size_t i = 0; i < RUNS; i++) {
		double start = bench_now();
		pid_t child = fork();
		int status;

		if (!child) {
			dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
			execl(command, command, "info", path, (char *)NULL);
			_exit(3);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status)
			bench_fail(command, "info failed");
		ms[i] = (bench_now() - start) * 1e3;
	}
	qsort(ms, RUNS, sizeof(*ms), compare_doubles);
	return ms[RUNS / 2];
}

static void check_agreement(const char *what, const struct report *ours, const struct report *peer)
{
	if (ours->outcome.units != peer->outcome.units || ours->outcome.sum != peer->outcome.sum)
		bench_fail(what, "sonde and its peer do not agree on the data");
}

static void print_rate(const char *what, const char *path, bench_work *work, bench_work *peer,
		       double scale, const char *unit)
{
	struct report ours = measure(work, path, false), theirs = measure(peer, path, false);
	double our_rate = (double)ours.outcome.units / ours.seconds / scale;
	double peer_rate = (double)theirs.outcome.units / theirs.seconds / scale;

	check_agreement(what, &ours, &theirs);
	printf("%-34s %8.2f %-10s %8.2f  %6.2f\n", what, our_rate, unit, peer_rate,
	       our_rate / peer_rate);
}

static void print_seek(const char *what, const char *path, bench_work *work, bench_work *peer)
{
	struct report ours = measure(work, path, false), theirs = measure(peer, path, false);

	check_agreement(what, &ours, &theirs);
	printf("%-27s median %8.2f %-10s %8.2f  %6.2f\n", what, ours.outcome.median_us, "us",
	       theirs.outcome.median_us, theirs.outcome.median_us / ours.outcome.median_us);
	printf("%-27s    p99 %8.2f %-10s %8.2f  %6.2f\n", "", ours.outcome.p99_us, "us",
	       theirs.outcome.p99_us, theirs.outcome.p99_us / ours.outcome.p99_us);
}

static void print_memory(const char *what, const char *small, const char *large, bench_work *work,
			 bench_work *peer)
{
	double few = (double)measure(work, small, true).peak_kb / 1024;
	double many = (double)measure(work, large, true).peak_kb / 1024;

	printf("%-34s %8.2f %-10s %8.2f", what, few, "MiB", many);
	if (peer)
		printf("  %6.0f", (double)measure(peer, large, true).peak_kb / 1024);
	putchar('\n');
}

static void print_all(const char *command, const char *small, const char *large)
{
	uint64_t few = measure(bench_open, small, true).outcome.units;
	uint64_t many = measure(bench_open, large, true).outcome.units;

	printf("%-34s %8s %-10s %8s  %6s\n", "one processor, files cached", "sonde", "", "peer",
	       "ratio");
	print_rate("scan of one thread", large, bench_scan, peer_scan, 1e6, "M events/s");
	print_rate("merge of all threads", large, bench_merge, peer_merge, 1e6, "M events/s");
	print_rate("check (peer: its CRC alone)", large, bench_check, peer_crc, 1e9, "GB/s");
	print_seek("seek to a time", large, bench_seek, peer_seek);
	print_seek("seek and read", large, bench_seek_read, peer_seek_read);
	if (command)
		printf("%-34s %8.2f ms\n", "sonde info", time_info(command, large));
	printf("\n%-34s %7.1fM %-10s %7.1fM  %6s\n", "peak memory beyond mapped files",
	       (double)few / 1e6, "events", (double)many / 1e6, "peer");
	print_memory("open", small, large, bench_open, NULL);
	print_memory("scan of one thread", small, large, bench_scan, peer_scan);
	print_memory("merge of all threads", small, large, bench_merge, peer_merge);
	print_memory("check", small, large, bench_check, peer_crc);
}

static void do_nothing(const char *path, struct bench_outcome *outcome)
{
	(void)path;
	(void)outcome;
}

/* One piece of work, once, for tools that look at the program while it runs. */
static int run_only(const char *name, const char *path)
{
	static const struct {
		const char *name;
		bench_work *work;
	} all[] = {
		{ "nothing", do_nothing },  { "open", bench_open },
		{ "scan", bench_scan },	    { "merge", bench_merge },
		{ "check", bench_check },   { "seek", bench_seek },
		{ "peer-scan", peer_scan }, { "peer-merge", peer_merge },
		{ "peer-seek", peer_seek },
	};
	struct bench_outcome outcome = { 0 };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(all[i].name, name))
			continue;
		all[i].work(path, &outcome);
		printf("%" PRIu64 "\n", outcome.units);
		return 0;
	}
	bench_fail(name, "no such work");
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "--only"))
		return run_only(argv[2], argv[3]);
	if (argc != 3 && argc != 4) {
		fputs("usage: sonde-bench SMALL-SESSION LARGE-SESSION [SONDE-COMMAND]\n"
		      "       sonde-bench --only WORK SESSION\n",
		      stderr);
		return 2;
	}
	print_all(argc == 4 ? argv[3] : NULL, argv[1], argv[2]);
	return 0;
}
