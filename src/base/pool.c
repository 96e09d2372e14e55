/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that share a counter of pieces, and the meter that adds up their progress. Threads live
 * for one run; nothing is kept between runs.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/pool.h"

#define REPORT_INTERVAL_NS 50000000u
#define THREADS_MAX 512

struct run {
	sonde_pool_work *work;
	void *user;
	size_t count;
	bool is_elsewhere; /* threads begin away from the caller, and then go to all of `allowed` */
	cpu_set_t allowed;
	_Atomic size_t next;
	_Atomic bool stop;
	pthread_mutex_t lock; /* over what follows */
	size_t failed_number;
	struct sonde_error failure;
};

static void note_failure(struct run *run, size_t number, enum sonde_status status,
			 const struct sonde_error *err)
{
	atomic_store(&run->stop, true);
	pthread_mutex_lock(&run->lock);
	if (number < run->failed_number) {
		run->failed_number = number;
		run->failure = *err;
		run->failure.status = status;
	}
	pthread_mutex_unlock(&run->lock);
}

/*
 * A number that was taken is always worked on: so all numbers below a failed one were tried, and
 * the lowest failure does not depend on how fast threads are.
 */
static void work_on(struct run *run)
{
	while (!atomic_load(&run->stop)) {
		size_t number = atomic_fetch_add(&run->next, 1);
		struct sonde_error err = { .offset = SONDE_NO_OFFSET };
		enum sonde_status status;

		if (number >= run->count)
			break;
		status = run->work(run->user, number, &err);
		if (status < 0)
			note_failure(run, number, status, &err);
	}
}

/* Once it runs, a thread may go wherever the caller may. */
static void *start_work(void *argument)
{
	struct run *run = argument;

	if (run->is_elsewhere)
		sched_setaffinity(0, sizeof(run->allowed), &run->allowed);
	work_on(run);
	return NULL;
}

/*
 * Lets threads begin on another processor than the caller's. Left to itself the kernel often makes them wait behind
 * it, though another is idle, for milliseconds: longer than many a run takes.
 */
static void begin_elsewhere(struct run *run, pthread_attr_t *attributes)
{
	int processor = sched_getcpu();
	cpu_set_t others;

	if (processor < 0 || sched_getaffinity(0, sizeof(run->allowed), &run->allowed))
		return;
	others = run->allowed;
	CPU_CLR(processor, &others);
	run->is_elsewhere = CPU_COUNT(&others) &&
			    !pthread_attr_setaffinity_np(attributes, sizeof(others), &others);
}

static unsigned int processors(void)
{
	cpu_set_t set;
	long count;

	if (!sched_getaffinity(0, sizeof(set), &set))
		return (unsigned int)CPU_COUNT(&set);
	count = sysconf(_SC_NPROCESSORS_ONLN);
	return count > 0 ? (unsigned int)count : 1;
}

/* Signals are for the threads of the program, not for these. */
static size_t start_threads(struct run *run, pthread_t *threads, size_t wanted)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	size_t started = 0;

	sigfillset(&all);
	if (pthread_attr_init(&attributes))
		return 0;
	begin_elsewhere(run, &attributes);
	if (!pthread_sigmask(SIG_SETMASK, &all, &before)) {
		while (started < wanted &&
		       !pthread_create(&threads[started], &attributes, start_work, run))
			started++;
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_attr_destroy(&attributes);
	return started;
}

enum sonde_status sonde_pool_run(size_t count, unsigned int threads, sonde_pool_work *work,
				 void *user, struct sonde_error *err)
{
	struct run run = {
		.work = work,
		.user = user,
		.count = count,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.failed_number = SIZE_MAX,
	};
	pthread_t others[THREADS_MAX - 1];
	size_t wanted = threads ? threads : processors(), started = 0;

	if (wanted > THREADS_MAX)
		wanted = THREADS_MAX;
	if (wanted > count)
		wanted = count;
	if (wanted > 1)
		started = start_threads(&run, others, wanted - 1);
	work_on(&run);
	while (started)
		pthread_join(others[--started], NULL);
	pthread_mutex_destroy(&run.lock);
	if (run.failed_number == SIZE_MAX)
		return SONDE_OK;
	if (err)
		*err = run.failure;
	return run.failure.status;
}

static uint64_t coarse_now_ns(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The report of the end must not be skipped: it waits for one that is under way. */
static void report(struct sonde_meter *meter, bool at_end)
{
	while (atomic_exchange_explicit(&meter->busy, true, memory_order_acquire)) {
		if (!at_end)
			return;
		sched_yield();
	}
	if (!meter->progress->report(meter->progress->user, atomic_load(&meter->done),
				     meter->total))
		atomic_store(&meter->cancelled, true);
	atomic_store_explicit(&meter->busy, false, memory_order_release);
}

enum sonde_status sonde_meter_add(struct sonde_meter *meter, uint64_t units,
				  struct sonde_error *err)
{
	uint64_t before = atomic_fetch_add_explicit(&meter->done, units, memory_order_relaxed);
	bool at_end = before < meter->total && units >= meter->total - before;
	uint64_t now, reported;

	if (!meter->progress || !meter->progress->report)
		return SONDE_OK;
	now = coarse_now_ns();
	reported = atomic_load_explicit(&meter->reported_ns, memory_order_relaxed);
	if (!atomic_load(&meter->cancelled) &&
	    (at_end || !reported || now - reported >= REPORT_INTERVAL_NS)) {
		atomic_store_explicit(&meter->reported_ns, now, memory_order_relaxed);
		report(meter, at_end);
	}
	if (atomic_load(&meter->cancelled))
		return sonde_fail(err, SONDE_CANCELLED, SONDE_NO_OFFSET, "stopped on request");
	return SONDE_OK;
}
