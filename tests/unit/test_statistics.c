/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tests of `sonde diff`: against published examples, and against values worked out with 30 digits by a
 * program that shares no code with ours (mpmath).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "analyse/statistics.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Equal to a share of the expected value: tails are small numbers, and all of their digits count. */
static bool close_to(double got, double expected, double precision)
{
	return fabs(got - expected) <= precision * fabs(expected);
}
#define assert_close(got, expected, precision) assert_true(close_to(got, expected, precision))

static void incomplete_beta(void **state)
{
	static const struct {
		double a, b, x, value;
	} cases[] = {
		{ 0.5, 0.5, 0.25, 0.33333333333333333 },  { 2, 3, 0.4, 0.5248 },
		{ 9, 0.5, 0.02, 9.5827421211264687e-17 }, { 50, 0.5, 0.9, 0.001204149832559813 },
		{ 0.5, 9, 1e-12, 3.3384704589754724e-6 }, { 1000, 2000, 0.34, 0.78121509116064273 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(cases); i++)
		assert_close(statistics_incomplete_beta(cases[i].a, cases[i].b, cases[i].x),
			     cases[i].value, 1e-11);
	assert_true(statistics_incomplete_beta(2, 3, 0) == 0);
	assert_true(statistics_incomplete_beta(2, 3, 1) == 1);
}

static void student(void **state)
{
	static const struct {
		double t, freedom, p;
	} cases[] = {
		{ 2.228138852, 10, 0.049999999998836525 }, /* of every printed table */
		{ 12.706204736, 1, 0.050000000000684654 }, { 3.64, 18, 0.0018728613152720202 },
		{ 10.9, 18, 2.3337990657873341e-9 },	   { 0.001, 3, 0.99926489496946094 },
		{ 40, 2, 0.00062441467218474064 },	   { 4.5, 7.3, 0.0025193737332427974 },
		{ 1e-9, 5, 0.99999999924078662 },	   { 5.5, 1e6, 3.7988381138180486e-8 },
		{ 4.26, INFINITY, 2.0442690367968128e-5 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(cases); i++) {
		assert_close(statistics_student_p(cases[i].t, cases[i].freedom), cases[i].p, 1e-9);
		assert_close(statistics_student_p(-cases[i].t, cases[i].freedom), cases[i].p, 1e-9);
	}
	assert_true(statistics_student_p(0, 4) == 1);
	assert_true(statistics_student_p(INFINITY, 4) == 0);
	assert_true(statistics_student_p(3, 0) == 1);
	assert_true(statistics_student_p(NAN, 4) == 1);
}

static void fisher(void **state)
{
	(void)state;
	assert_close(statistics_fisher_p(4.964602744, 1, 10), 0.049999999994877497, 1e-9);
	assert_close(statistics_fisher_p(2.5, 18, 40), 0.0079510571167230163, 1e-11);
	assert_close(statistics_fisher_p(1.6, 18, 5.5), 0.30376072966326084, 1e-11);
	assert_close(statistics_fisher_p(0.3, 4, 7), 0.86916552011835991, 1e-11);
	/* a chi-square */
	assert_close(statistics_fisher_p(1.6, 18, INFINITY), 0.05087881094846839, 1e-6);
	assert_true(statistics_fisher_p(0, 4, 7) == 1);
	assert_true(statistics_fisher_p(INFINITY, 4, 7) == 0);
}

static void gamma_derivatives(void **state)
{
	static const struct {
		double x, digamma, trigamma;
	} cases[] = {
		{ 0.01, -100.56088545786867, 10001.621213528313 },
		{ 0.5, -1.9635100260214235, 4.9348022005446793 },
		{ 1, -0.57721566490153286, 1.6449340668482264 },
		{ 3.7, 1.1671535393615114, 0.3100378576700383 },
		{ 9, 2.14064147795561, 0.11751201469403143 },
		{ 20, 2.9705239922421491, 0.05127082293520312 },
		{ 1e5, 11.512920464961895, 1.0000050000166667e-5 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(cases); i++) {
		assert_close(statistics_digamma(cases[i].x), cases[i].digamma, 1e-13);
		assert_close(statistics_trigamma(cases[i].x), cases[i].trigamma, 1e-13);
		assert_close(statistics_trigamma_inverse(cases[i].trigamma), cases[i].x, 1e-10);
	}
}

static void median(void **state)
{
	double odd[] = { 3, 1, 2 }, even[] = { 4, 1, 3, 2 };

	(void)state;
	assert_true(statistics_median(odd, 3) == 2);
	assert_true(statistics_median(even, 4) == 2.5);
	assert_true(statistics_median(NULL, 0) == 0);
}

/* An example with unequal variances that is often printed: t = -2.46 of 25.0 degrees, p = 0.021. */
static const double first[] = { 27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1,
				21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4 };
static const double second[] = { 27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0,
				 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4 };

static void welch(void **state)
{
	struct statistics_sample before = statistics_sample(first, COUNT(first));
	struct statistics_sample after = statistics_sample(second, COUNT(second));
	struct statistics_test test = statistics_welch(&before, &after);

	(void)state;
	assert_close(test.difference, 2.16666666666667, 1e-11);
	assert_close(test.t, 2.45535639828601, 1e-11);
	assert_close(test.freedom, 24.9885292902314, 1e-11);
	assert_close(test.p, 0.021378001462867, 1e-11);
	after = statistics_sample(second, 4);
	test = statistics_welch(&before, &after);
	assert_close(test.t, 1.62030904210905, 1e-11);
	assert_close(test.freedom, 4.84192598606222, 1e-11);
	assert_close(test.p, 0.167992079447877, 1e-11);
}

/* Numbers that do not vary: equal ones are no change, others are one beyond doubt. */
static void welch_without_variance(void **state)
{
	static const double hundred[] = { 100.1, 100.1, 100.1 }, more[] = { 101, 101, 101 };
	struct statistics_sample before = statistics_sample(hundred, 3);
	struct statistics_sample after = statistics_sample(more, 3);
	struct statistics_test test = statistics_welch(&before, &before);

	(void)state;
	assert_true(before.variance == 0);
	assert_true(test.p == 1);
	assert_true(test.t == 0);
	test = statistics_welch(&before, &after);
	assert_true(test.p == 0);
	assert_true(isinf(test.t) && test.t > 0);
	/* but of one measurement nobody knows whether it varies */
	after.count = 1;
	assert_true(statistics_welch(&before, &after).p == 1);
	assert_true(statistics_sample(NULL, 0).mean == 0);
	/* and of what is no number nobody knows anything */
	after = (struct statistics_sample){ .count = 3, .mean = NAN, .variance = NAN };
	assert_true(statistics_welch(&before, &after).p == 1);
	assert_true(statistics_welch(&after, &after).p == 1);
}

static void prior(void **state)
{
	double variances[] = { 1.0, 2.5, 0.4, 0.9, 1.7, 3.2, 0.2, 1.1, 0.05, 6.0 };
	double alike[] = { 1, 1.1, 0.9, 1, 1.05, 0.95, 1, 1, 1.02, 0.98 };
	double none[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };
	double few[] = { 1, 2, 3 };
	struct statistics_prior fit = statistics_prior_fit(variances, COUNT(variances), 4);

	(void)state;
	assert_close(fit.freedom, 2.29105865656997, 1e-9);
	assert_close(fit.variance, 0.712602870719938, 1e-9);
	fit = statistics_prior_fit(alike, COUNT(alike), 4);
	assert_true(isinf(fit.freedom));
	/* the logarithm of such an estimate lies below that of what it estimates */
	assert_true(fit.variance > 1.2 && fit.variance < 1.4);
	assert_true(statistics_prior_fit(none, COUNT(none), 4).freedom == 0);
	assert_true(statistics_prior_fit(few, COUNT(few), 4).freedom == 0);
}

static void moderated(void **state)
{
	struct statistics_sample before = statistics_sample(first, 3);
	struct statistics_sample after = statistics_sample(second, 3);
	struct statistics_prior prior = { .variance = 12, .freedom = 8 };
	struct statistics_test test = statistics_moderated(&before, &after, &prior);

	(void)state;
	assert_close(test.t, 0.270123694324696, 1e-11);
	assert_close(test.freedom, 12, 1e-15);
	assert_close(test.p, 0.791654552809649, 1e-11);
	prior.freedom = INFINITY;
	test = statistics_moderated(&before, &after, &prior);
	assert_close(test.t, 0.282842712474619, 1e-11);
	assert_close(test.p, 0.777297410789522, 1e-11);
	prior.freedom = 0;
	test = statistics_moderated(&before, &after, &prior);
	assert_true(test.p == statistics_welch(&before, &after).p);
}

/* Nine quiet values and one outlier: the others' quietness must not make a change of it. */
static void outliers_are_not_moderated(void **state)
{
	static const double quiet[] = { 1.00, 1.01, 0.99, 1.00, 1.01, 0.99, 1.00, 1.01, 0.99, 1.0 };
	static const double outlier[] = {
		1.00, 1.01, 0.99, 1.00, 1.01, 0.99, 1.00, 1.01, 0.99, 1.3
	};
	struct statistics_sample before = statistics_sample(quiet, 10);
	struct statistics_sample after = statistics_sample(outlier, 10);
	struct statistics_prior prior = { .variance = 1e-4, .freedom = INFINITY };

	(void)state;
	assert_true(statistics_moderated(&before, &after, &prior).p > 0.2);
}

/* The example of the paper of 1995: at 5 % the first four are taken, after Bonferroni three. */
static void adjusting(void **state)
{
	double p[] = { 0.0344, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0001,
		       0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.000 };
	size_t order[COUNT(p)], i, taken = 0;

	(void)state;
	statistics_adjust(p, COUNT(p), order);
	for (i = 0; i < COUNT(p); i++)
		taken += p[i] <= 0.05;
	assert_int_equal(taken, 4);
	assert_close(p[7], 0.0001 * 15, 1e-12);
	assert_close(p[1], 0.0004 * 15 / 2, 1e-12);
	assert_close(p[3], 0.0095 * 15 / 4, 1e-12);
	/* never less than that of a smaller p, nor more than that of a larger one */
	assert_close(p[4], 0.0201 * 15 / 5, 1e-12);
	assert_close(p[5], 0.0298 * 15 / 7, 1e-12);
	assert_close(p[14], 1, 1e-12);
	statistics_adjust(NULL, 0, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(incomplete_beta),
		cmocka_unit_test(student),
		cmocka_unit_test(fisher),
		cmocka_unit_test(gamma_derivatives),
		cmocka_unit_test(median),
		cmocka_unit_test(welch),
		cmocka_unit_test(welch_without_variance),
		cmocka_unit_test(prior),
		cmocka_unit_test(moderated),
		cmocka_unit_test(outliers_are_not_moderated),
		cmocka_unit_test(adjusting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
