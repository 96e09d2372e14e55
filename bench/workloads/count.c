/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To be preloaded: counts the calls of the hooks exactly, the truth to compare a recording with.
 * At the end of each process it prints "EVENTS n" to stderr, with all of its threads: those that
 * have ended, and those that are still there.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* One for each thread; stays when the thread is gone. */
struct counter {
	uint64_t events;
	struct counter *next;
};

static struct counter *_Atomic counters;
static __thread struct counter *mine __attribute__((tls_model("initial-exec")));

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

static struct counter *new_counter(void)
{
	struct counter *counter = calloc(1, sizeof(*counter));

	if (!counter)
		abort();
	counter->next = atomic_load(&counters);
	while (!atomic_compare_exchange_weak(&counters, &counter->next, counter))
		;
	mine = counter;
	return counter;
}

/* One instruction, so that no signal handler gets in between. */
static inline void count_event(void)
{
	struct counter *counter = mine ? mine : new_counter();

	__asm__ volatile("incq %0" : "+m"(counter->events));
}

void __cyg_profile_func_enter(void *function, void *site)
{
	(void)function;
	(void)site;
	count_event();
}

void __cyg_profile_func_exit(void *function, void *site)
{
	(void)function;
	(void)site;
	count_event();
}

/* What the parent counted is the parent's. */
static void forget(void)
{
	for (struct counter *counter = counters; counter; counter = counter->next)
		counter->events = 0;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(NULL, NULL, forget);
}

__attribute__((destructor)) static void end(void)
{
	uint64_t events = 0;

	for (struct counter *counter = counters; counter; counter = counter->next)
		events += counter->events;
	fprintf(stderr, "EVENTS %llu\n", (unsigned long long)events);
}
