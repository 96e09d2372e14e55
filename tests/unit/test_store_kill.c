/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store whose writer is killed at random moments: what was acknowledged is there afterwards,
 * whole, and the next writer goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "scratch.h"
#include "store_fixture.h"

#define KILLS 20
#define THREADS 3
#define MOST_TRACES 200000

static const struct script_options large = { .calls = 40, .large = true };

struct sender {
	struct sonde_store *store;
	uint64_t first;
	int pipe;
};

/* Puts traces in for ever; each number goes through the pipe when it is acknowledged. */
static void *send(void *context)
{
	const struct sender *sender = context;
	struct sonde_error err;

	for (uint64_t i = sender->first; i < MOST_TRACES; i += THREADS) {
		if (store_put(sender->store, i, &large, &err) != SONDE_OK)
			_exit(3);
		if (write(sender->pipe, &i, sizeof(i)) != sizeof(i))
			_exit(4);
	}
	return NULL;
}

static void run_child(uint64_t first, int pipe)
{
	struct sender senders[THREADS];
	struct sonde_store *store;
	struct sonde_error err;
	pthread_t thread;

	if (sonde_store_open("base", &store, NULL, &err) != SONDE_OK)
		_exit(2);
	for (uint64_t i = 0; i < THREADS; i++) {
		senders[i] = (struct sender){ .store = store, .first = first + i, .pipe = pipe };
		if (i && pthread_create(&thread, NULL, send, &senders[i]))
			_exit(5);
	}
	send(&senders[0]);
	_exit(6);
}

/* Marks what came through the pipe; one more than the highest number. */
static uint64_t read_acknowledged(int pipe, uint8_t *acknowledged, uint64_t end)
{
	uint64_t number;

	while (read(pipe, &number, sizeof(number)) == sizeof(number)) {
		assert_true(number < MOST_TRACES);
		acknowledged[number] = 1;
		if (number >= end)
			end = number + 1;
	}
	return end;
}

static uint64_t kill_once(unsigned int round, uint64_t first, uint8_t *acknowledged)
{
	/* from before the store is open to some parts later */
	const struct timespec pause = { .tv_nsec = (long)(round * round * 7919 % 250) * 1000000 };
	int ends[2], status;
	uint64_t end;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		close(ends[0]);
		run_child(first, ends[1]);
	}
	close(ends[1]);
	nanosleep(&pause, NULL);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	end = read_acknowledged(ends[0], acknowledged, first);
	close(ends[0]);
	return end;
}

static void test_kill(void **state)
{
	uint8_t *acknowledged = calloc(1, MOST_TRACES), *found = calloc(1, MOST_TRACES);
	struct sonde_store_settings settings;
	struct sonde_error err;
	uint64_t next = 0, total = 0;

	(void)state;
	assert_non_null(acknowledged);
	assert_non_null(found);
	sonde_store_settings_init(&settings);
	settings.part_size = (uint64_t)1 << 20;
	settings.keep_parts = 0;
	assert_int_equal(sonde_store_init("base", &settings, &err), SONDE_OK);
	for (unsigned int round = 0; round < KILLS; round++) {
		uint64_t end = kill_once(round, next, acknowledged);
		const char *difference;

		for (size_t i = 0; i < MOST_TRACES; i++)
			found[i] = 0;
		difference = store_find("base", 0, found, MOST_TRACES, next, &large);
		if (difference)
			fail_msg("round %u: %s", round, difference);
		for (uint64_t i = 0; i < end; i++)
			if (acknowledged[i] && !found[i])
				fail_msg("round %u: trace %llu was acknowledged and is gone", round,
					 (unsigned long long)i);
		/*
		 * Some may be there that were not acknowledged yet: their numbers are not given
		 * again.
		 */
		next = end + 2 * THREADS;
		total = end;
	}
	assert_true(total > KILLS);
	free(acknowledged);
	free(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kill, enter_folder, leave_folder),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
