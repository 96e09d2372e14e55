/* SPDX-License-Identifier: Apache-2.0 */
/* The pool and the meter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/pool.h"

static const unsigned int thread_counts[] = { 0, 1, 2, 3, 8, 100 };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct job {
	_Atomic unsigned int calls[1000];
	_Atomic size_t total;
	size_t fail_from; /* pieces from here on fail */
};

static enum sonde_status count_call(void *user, size_t number, struct sonde_error *err)
{
	struct job *job = user;

	atomic_fetch_add(&job->calls[number], 1);
	atomic_fetch_add(&job->total, 1);
	if (number >= job->fail_from)
		return sonde_fail(err, SONDE_CORRUPT, number, "piece %zu", number);
	return SONDE_OK;
}

static void test_pool_runs_each_once(void **state)
{
	struct sonde_error err;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(thread_counts); i++) {
		struct job job = { .fail_from = SIZE_MAX };

		assert_int_equal(sonde_pool_run(COUNT_OF(job.calls), thread_counts[i], count_call,
						&job, &err),
				 SONDE_OK);
		for (size_t j = 0; j < COUNT_OF(job.calls); j++)
			assert_int_equal(job.calls[j], 1);
		assert_int_equal(sonde_pool_run(0, thread_counts[i], count_call, &job, &err),
				 SONDE_OK);
	}
}

/* However the threads run, the failure with the lowest number is the one reported. */
static void test_pool_failure_order(void **state)
{
	struct sonde_error err;

	(void)state;
	for (size_t round = 0; round < 200; round++) {
		struct job job = { .fail_from = round };

		assert_int_equal(sonde_pool_run(COUNT_OF(job.calls),
						thread_counts[round % COUNT_OF(thread_counts)],
						count_call, &job, &err),
				 SONDE_CORRUPT);
		assert_int_equal(err.offset, round);
		assert_int_equal(sonde_pool_run(COUNT_OF(job.calls), 2, count_call, &job, NULL),
				 SONDE_CORRUPT);
	}
}

static void test_pool_stops_after_failure(void **state)
{
	struct job job = { .fail_from = 0 };

	(void)state;
	assert_int_equal(sonde_pool_run(COUNT_OF(job.calls), 1, count_call, &job, NULL),
			 SONDE_CORRUPT);
	assert_int_equal(job.total, 1);
}

static enum sonde_status fail_slowly(void *user, size_t number, struct sonde_error *err)
{
	(void)user;
	if (number == 0)
		usleep(20000);
	return sonde_fail(err, SONDE_IO, number, "piece %zu", number);
}

/* Piece 1 fails at once while piece 0 is still at work: piece 0 counts. */
static void test_pool_slow_failure(void **state)
{
	struct sonde_error err;

	(void)state;
	assert_int_equal(sonde_pool_run(2, 2, fail_slowly, NULL, &err), SONDE_IO);
	assert_int_equal(err.offset, 0);
}

static enum sonde_status say_end(void *user, size_t number, struct sonde_error *err)
{
	(void)user;
	(void)number;
	(void)err;
	return SONDE_END;
}

static void test_pool_end_is_no_failure(void **state)
{
	(void)state;
	assert_int_equal(sonde_pool_run(10, 2, say_end, NULL, NULL), SONDE_OK);
}

static enum sonde_status see_mask(void *user, size_t number, struct sonde_error *err)
{
	pthread_t *caller = user;
	sigset_t mask;

	(void)number;
	(void)err;
	usleep(1000);
	if (pthread_equal(*caller, pthread_self()))
		return SONDE_OK;
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	return sigismember(&mask, SIGINT) ? SONDE_OK : SONDE_ARGUMENT;
}

/* The program's signal handlers do not run on threads of the pool. */
static void test_pool_blocks_signals(void **state)
{
	pthread_t self = pthread_self();
	sigset_t mask;

	(void)state;
	assert_int_equal(sonde_pool_run(16, 4, see_mask, &self, NULL), SONDE_OK);
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	assert_false(sigismember(&mask, SIGINT));
}

struct reports {
	unsigned int count;
	uint64_t last, total;
	uint64_t stop_at; /* refuse from here on */
	bool went_back;
};

static bool take_report(void *user, uint64_t done, uint64_t total)
{
	struct reports *reports = user;

	reports->count++;
	reports->went_back |= done < reports->last;
	reports->last = done;
	reports->total = total;
	return done < reports->stop_at;
}

static void test_meter(void **state)
{
	struct reports reports = { .stop_at = UINT64_MAX };
	struct sonde_progress progress = { .report = take_report, .user = &reports };
	struct sonde_meter meter = { .progress = &progress, .total = 1000000 };

	(void)state;
	for (int i = 0; i < 1000000; i++)
		assert_int_equal(sonde_meter_add(&meter, 1, NULL), SONDE_OK);
	assert_int_equal(reports.last, 1000000);
	assert_int_equal(reports.total, 1000000);
	assert_false(reports.went_back);
	/* At most one in 50 ms, and a million additions take far less than ten minutes. */
	assert_in_range(reports.count, 1, 12000);
}

static void test_meter_without_progress(void **state)
{
	struct sonde_progress progress = { 0 };
	struct sonde_meter meter = { 0 };

	(void)state;
	assert_int_equal(sonde_meter_add(&meter, 5, NULL), SONDE_OK);
	meter.progress = &progress;
	assert_int_equal(sonde_meter_add(&meter, 5, NULL), SONDE_OK);
	assert_int_equal(meter.done, 10);
}

static void test_meter_cancel(void **state)
{
	struct reports reports = { .stop_at = 0 };
	struct sonde_progress progress = { .report = take_report, .user = &reports };
	struct sonde_meter meter = { .progress = &progress, .total = 10 };
	struct sonde_error err;

	(void)state;
	assert_int_equal(sonde_meter_add(&meter, 1, &err), SONDE_CANCELLED);
	assert_int_equal(err.status, SONDE_CANCELLED);
	assert_true(err.message[0]);
	assert_int_equal(sonde_meter_add(&meter, 1, NULL), SONDE_CANCELLED);
	assert_int_equal(sonde_meter_add(&meter, 8, NULL), SONDE_CANCELLED);
	/* Whoever asked for the stop is not asked again. */
	assert_int_equal(reports.count, 1);
}

static enum sonde_status add_units(void *user, size_t number, struct sonde_error *err)
{
	(void)number;
	for (int i = 0; i < 1000; i++) {
		enum sonde_status status = sonde_meter_add(user, 1, err);

		if (status < 0)
			return status;
	}
	return SONDE_OK;
}

static void test_meter_from_threads(void **state)
{
	struct reports reports = { .stop_at = UINT64_MAX };
	struct sonde_progress progress = { .report = take_report, .user = &reports };
	struct sonde_meter meter = { .progress = &progress, .total = 100000 };

	(void)state;
	assert_int_equal(sonde_pool_run(100, 4, add_units, &meter, NULL), SONDE_OK);
	assert_int_equal(reports.last, 100000);
	assert_false(reports.went_back);

	reports = (struct reports){ .stop_at = 0 };
	meter = (struct sonde_meter){ .progress = &progress, .total = 100000 };
	assert_int_equal(sonde_pool_run(100, 4, add_units, &meter, NULL), SONDE_CANCELLED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pool_runs_each_once),
		cmocka_unit_test(test_pool_failure_order),
		cmocka_unit_test(test_pool_stops_after_failure),
		cmocka_unit_test(test_pool_slow_failure),
		cmocka_unit_test(test_pool_end_is_no_failure),
		cmocka_unit_test(test_pool_blocks_signals),
		cmocka_unit_test(test_meter),
		cmocka_unit_test(test_meter_without_progress),
		cmocka_unit_test(test_meter_cancel),
		cmocka_unit_test(test_meter_from_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
