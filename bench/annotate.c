/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an annotation costs, by the kind of its arguments: ns for one, in bursts that the ring has
 * room for, with rests in which it is read. Beside each the least that a recorder with a clock and
 * a buffer of its own pays for the same: clock_gettime() and the bytes stored. To be run by
 * `sonde record`; prints a line for each kind, for bench/annotate.sh.
 * usage: sonde-bench-annotate [BURSTS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sonde/annotate.h>

enum { BURST = 4096, BURSTS = 101, BUFFER = 1 << 16, LONGEST = 512, REST_US = 1000 };

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- the peer ---- */

static char buffer[BUFFER + LONGEST];
static size_t filled;

static inline char *peer_begin(uint32_t type)
{
	uint32_t now = (uint32_t)(clock_ns() / 1000);
	char *to = buffer + filled;

	memcpy(to, &type, sizeof(type));
	memcpy(to + 4, &now, sizeof(now));
	return to + 8;
}

static inline char *peer_put(char *to, const void *from, uint32_t size)
{
	memcpy(to, from, size);
	return to + size;
}

static inline char *peer_put_sized(char *to, const void *from, uint32_t size)
{
	to = peer_put(to, &size, sizeof(size));
	memcpy(to, from, size);
	return to + ((size + 3) & ~3u);
}

static inline void peer_end(const char *to)
{
	filled = (size_t)(to - buffer) & (BUFFER - 1);
	__asm__ volatile("" : : : "memory");
}

/* ---- the kinds ---- */

/* Not known to the compiler. */
static const char *volatile text11 = "hello world",
			    *volatile text40 = "a text of the length that a path often has";
static int *volatile numbers;

#define KIND(name, sonde, peer)                                                                    \
	static void name##_sonde(int count)                                                        \
	{                                                                                          \
		const char *text = text11, *longer = text40;                                       \
		const int *array = numbers;                                                        \
                                                                                                   \
		(void)text, (void)longer, (void)array;                                             \
		for (int i = 0; i < count; i++)                                                    \
			sonde;                                                                     \
	}                                                                                          \
	static void name##_peer(int count)                                                         \
	{                                                                                          \
		const char *text = text11, *longer = text40;                                       \
		const int *array = numbers;                                                        \
		char *to;                                                                          \
                                                                                                   \
		(void)text, (void)longer, (void)array;                                             \
		for (int i = 0; i < count; i++) {                                                  \
			to = peer_begin(1);                                                        \
			peer;                                                                      \
			peer_end(to);                                                              \
		}                                                                                  \
	}

#define PEER_I32 to = peer_put(to, &i, sizeof(i))
#define PEER_TEXT(text) to = peer_put_sized(to, text, (uint32_t)strlen(text))

KIND(none, SONDE_EVENT("none"), (void)to)
KIND(counter, SONDE_COUNTER("counter", i), {
	double value = i;

	to = peer_put(to, &value, sizeof(value));
})
KIND(one, SONDE_EVENT("one", SONDE_ARG(i)), PEER_I32)
KIND(four,
     SONDE_EVENT("four", SONDE_ARG(i), SONDE_U64_AS("b", i), SONDE_F64_AS("c", i), SONDE_I8(i)), {
	     uint64_t wide = (uint64_t)i;
	     double real = i;

	     PEER_I32;
	     to = peer_put(to, &wide, sizeof(wide));
	     to = peer_put(to, &real, sizeof(real));
	     PEER_I32;
     })
KIND(text, SONDE_EVENT("text", SONDE_ARG(text)), PEER_TEXT(text))
KIND(number_text, SONDE_EVENT("number_text", SONDE_ARG(i), SONDE_ARG(text)), {
	PEER_I32;
	PEER_TEXT(text);
})
KIND(long_text, SONDE_EVENT("long_text", SONDE_ARG(i), SONDE_ARG(longer)), {
	PEER_I32;
	PEER_TEXT(longer);
})
KIND(mixture,
     SONDE_EVENT("mixture", SONDE_ARG(text), SONDE_F64_AS("b", i), SONDE_ARG(longer), SONDE_ARG(i)),
     {
	     double real = i;

	     PEER_TEXT(text);
	     to = peer_put(to, &real, sizeof(real));
	     PEER_TEXT(longer);
	     PEER_I32;
     })
KIND(array, SONDE_EVENT("array", SONDE_ARG(i), SONDE_ARRAY(array, 4)), {
	PEER_I32;
	to = peer_put_sized(to, array, 4 * sizeof(*array));
})
KIND(
	scope, { SONDE_SCOPE("scope"); },
	{
		peer_end(to);
		to = peer_begin(2);
	})
KIND(
	scope_text, { SONDE_SCOPE("scope_text", SONDE_ARG(i), SONDE_ARG(text)); },
	{
		PEER_I32;
		PEER_TEXT(text);
		peer_end(to);
		to = peer_begin(2);
	})

static const struct kind {
	const char *title;
	void (*sonde)(int), (*peer)(int);
	int events;
} kinds[] = {
	{ "event", none_sonde, none_peer, 1 },
	{ "counter", counter_sonde, counter_peer, 1 },
	{ "event(int)", one_sonde, one_peer, 1 },
	{ "event(4 numbers)", four_sonde, four_peer, 1 },
	{ "event(11 chars)", text_sonde, text_peer, 1 },
	{ "event(int, 11 chars)", number_text_sonde, number_text_peer, 1 },
	{ "event(int, 42 chars)", long_text_sonde, long_text_peer, 1 },
	{ "event(text, f64, text, int)", mixture_sonde, mixture_peer, 1 },
	{ "event(int, int[4])", array_sonde, array_peer, 1 },
	{ "scope", scope_sonde, scope_peer, 2 },
	{ "scope(int, 11 chars)", scope_text_sonde, scope_text_peer, 2 },
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double burst(void (*run)(int), int events)
{
	uint64_t begin = clock_ns();

	run(BURST);
	return (double)(clock_ns() - begin) / (BURST * events);
}

static void measure(const struct kind *kind, double *times, int bursts)
{
	double *peer = times + bursts;

	kind->sonde(1); /* its site is told */
	for (int i = 0; i < bursts; i++) {
		usleep(REST_US);
		times[i] = burst(kind->sonde, kind->events);
		peer[i] = burst(kind->peer, kind->events);
	}
	qsort(times, (size_t)bursts, sizeof(*times), compare);
	qsort(peer, (size_t)bursts, sizeof(*peer), compare);
	printf("%s\t%.1f\t%.1f\n", kind->title, times[bursts / 2], peer[bursts / 2]);
}

int main(int argc, char **argv)
{
	int bursts = argc > 1 ? (int)strtol(argv[1], NULL, 10) : BURSTS;
	double *times = bursts > 0 ? malloc(2 * (size_t)bursts * sizeof(*times)) : NULL;
	static int four[] = { 1, 2, 3, 4 };

	if (!times) {
		fprintf(stderr, "usage: sonde-bench-annotate [BURSTS]\n");
		return 2;
	}
	numbers = four;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		measure(&kinds[i], times, bursts);
	free(times);
	return 0;
}
