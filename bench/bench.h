/* SPDX-License-Identifier: Apache-2.0 */
/* What the measurements share: one piece of work, done by sonde or by a plain peer of it. */
#ifndef SONDE_BENCH_H
#define SONDE_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a piece of work went over. */
struct bench_outcome {
	uint64_t units; /* events, bytes, or seeks */
	uint64_t sum;	/* over what was read: sonde and the peer must agree */
	/* of work that is timed call by call */
	double median_us;
	double p99_us;
};

/* Ends the program with a message where something fails. */
typedef void bench_work(const char *path, struct bench_outcome *outcome);

/* By sonde. All of them open the recording, and close it. */
bench_work bench_open, bench_scan, bench_merge, bench_check, bench_seek, bench_seek_read;

/* By the plainest program that does the same. */
bench_work peer_scan, peer_merge, peer_crc, peer_seek, peer_seek_read;

/* Sums that do not depend on how an event is represented. */
static inline uint64_t bench_sum_event(uint64_t sum, uint64_t time_ns, uint32_t depth,
				       uint32_t kind, uint32_t detail)
{
	return sum + (time_ns ^ ((uint64_t)detail << 32 | depth)) + kind;
}

/* Tells one order of times from another. */
static inline uint64_t bench_sum_order(uint64_t sum, uint64_t time_ns)
{
	return (sum << 1 | sum >> 63) ^ time_ns;
}

/* Times to seek: the same for both. */
#define BENCH_SEEKS 20000
uint64_t bench_seek_time(unsigned int number, uint64_t first_ns, uint64_t last_ns);

/* Sorts the times of single calls and puts their quantiles into the outcome. */
void bench_quantiles(double *us, size_t count, struct bench_outcome *outcome);

double bench_now(void);
void bench_fail(const char *what, const char *why) __attribute__((noreturn));

#endif
