/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of whether two sets of measurements differ, and the functions they need. All of it is in closed form
 * or a series that converges fast: no random numbers, so that the same input gives the same answer.
 */
#include "analyse/statistics.h"

#include <math.h>
#include <stdlib.h>

#define FRACTION_STEPS 10000
#define FRACTION_PRECISION 1e-15
#define TINY 1e-300

/* From here on the t distribution is the normal one, to more digits than anybody reads. */
#define FREEDOM_LIKE_INFINITE 1e8

/* Fewer variances than this say too little about each other. */
#define LEAST_FOR_PRIOR 8

/* A variance that is less than this share of the median is as good as 0, and would rule the logarithms. */
#define LEAST_VARIANCE_SHARE 1e-5

/* More than the prior explains: such a variance, or a larger one, comes by chance in one of twenty. */
#define UNLIKE_PRIOR_P 0.05
/* So far beyond that it is of another kind. */
#define BEYOND_PRIOR_P 0.001

static double away_from_zero(double value)
{
	return fabs(value) < TINY ? TINY : value;
}

/*
 * The continued fraction of the incomplete beta function (DLMF 8.17.22) from its front to its end, as
 * the ratio of two sequences whose quotients are kept in `above` and `below` (Lentz 1976).
 */
static double beta_fraction(double a, double b, double x)
{
	double above = 1, below = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
	double result = below;
	int step;

	for (step = 1; step <= FRACTION_STEPS; step++) {
		double m = step;
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double factor;

		below = 1 / away_from_zero(1 + even * below);
		above = away_from_zero(1 + even / above);
		result *= above * below;
		below = 1 / away_from_zero(1 + odd * below);
		above = away_from_zero(1 + odd / above);
		factor = above * below;
		result *= factor;
		if (fabs(factor - 1) < FRACTION_PRECISION)
			break;
	}
	return result;
}

/* lgamma() keeps a sign in a global variable, which threads would share. */
static double log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

double statistics_incomplete_beta(double a, double b, double x)
{
	double front;

	if (!(x > 0))
		return 0;
	if (x >= 1)
		return 1;
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
	/* the fraction converges fast on one side of the mean only */
	if (x <= (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double statistics_student_p(double t, double freedom)
{
	double square = t * t;

	if (isnan(t) || !(freedom > 0))
		return 1;
	if (isinf(t))
		return 0;
	if (freedom >= FREEDOM_LIKE_INFINITE)
		return erfc(fabs(t) / sqrt(2));
	/* of the two ways to write it, the one that does not take the difference of nearly equal numbers */
	if (square < freedom)
		return 1 -
		       statistics_incomplete_beta(0.5, freedom / 2, square / (freedom + square));
	return statistics_incomplete_beta(freedom / 2, 0.5, freedom / (freedom + square));
}

double statistics_fisher_p(double f, double freedom_above, double freedom_below)
{
	if (isnan(f) || !(freedom_above > 0) || !(freedom_below > 0))
		return 1;
	if (f <= 0)
		return 1;
	if (isinf(f))
		return 0;
	freedom_below = fmin(freedom_below, FREEDOM_LIKE_INFINITE);
	return statistics_incomplete_beta(freedom_below / 2, freedom_above / 2,
					  freedom_below / (freedom_below + freedom_above * f));
}

/* Both series are of 1 / x^2 and good for large x; every x is stepped up by so much. */
#define SERIES_STEPS 12

double statistics_digamma(double x)
{
	double below = 0, r;
	int step;

	for (step = 0; step < SERIES_STEPS; step++)
		below += 1 / (x + step);
	x += SERIES_STEPS;
	r = 1 / (x * x);
	return log(x) - 0.5 / x -
	       r * (1. / 12 - r * (1. / 120 - r * (1. / 252 - r * (1. / 240 - r * (1. / 132))))) -
	       below;
}

double statistics_trigamma(double x)
{
	double below = 0, r;
	int step;

	for (step = 0; step < SERIES_STEPS; step++)
		below += 1 / ((x + step) * (x + step));
	x += SERIES_STEPS;
	r = 1 / (x * x);
	return below + 1 / x + r / 2 +
	       r / x * (1. / 6 - r * (1. / 30 - r * (1. / 42 - r * (1. / 30 - r * (5. / 66)))));
}

double statistics_trigamma_inverse(double value)
{
	/* between 1/x and 1/x + 1/x^2 lies trigamma(x), for every x */
	double low = 1 / value;
	double high = (0.5 + sqrt(0.25 + value)) / value;
	int step;

	for (step = 0; step < 200 && high - low > 1e-14 * high; step++) {
		double middle = (low + high) / 2;

		if (statistics_trigamma(middle) > value)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

static int compare_doubles(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double statistics_median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare_doubles);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

struct statistics_sample statistics_sample(const double *values, size_t count)
{
	struct statistics_sample sample = { .count = count };
	bool varies = false;
	size_t i;

	for (i = 0; i < count; i++) {
		sample.mean += values[i] / (double)count;
		varies |= values[i] != values[0];
	}
	if (!varies) { /* without the roundings that would make it vary after all */
		sample.mean = count ? values[0] : 0;
		return sample;
	}
	for (i = 0; i < count; i++)
		sample.variance +=
			(values[i] - sample.mean) * (values[i] - sample.mean) / (double)(count - 1);
	return sample;
}

static struct statistics_test test_of(double difference, double squared_error, double freedom)
{
	struct statistics_test test = { .difference = difference, .freedom = freedom, .p = 1 };

	if (!(fabs(difference) > 0) || isnan(squared_error))
		return test;
	test.t = squared_error > 0 ? difference / sqrt(squared_error) :
				     copysign(INFINITY, difference);
	test.p = statistics_student_p(test.t, freedom);
	return test;
}

struct statistics_test statistics_welch(const struct statistics_sample *before,
					const struct statistics_sample *after)
{
	double difference = after->mean - before->mean;
	double first, second, freedom;

	if (before->count < 2 || after->count < 2)
		return (struct statistics_test){ .difference = difference, .p = 1 };
	first = before->variance / (double)before->count;
	second = after->variance / (double)after->count;
	freedom = first + second > 0 ? (first + second) * (first + second) /
					       (first * first / (double)(before->count - 1) +
						second * second / (double)(after->count - 1)) :
				       (double)(before->count + after->count - 2);
	return test_of(difference, first + second, freedom);
}

static double pooled_freedom(const struct statistics_sample *before,
			     const struct statistics_sample *after)
{
	return (double)(before->count + after->count) - 2;
}

double statistics_pooled_variance(const struct statistics_sample *before,
				  const struct statistics_sample *after)
{
	double freedom = pooled_freedom(before, after);

	if (freedom < 1)
		return 0;
	return ((double)(before->count - 1) * before->variance +
		(double)(after->count - 1) * after->variance) /
	       freedom;
}

/* From the logarithms of variances: their mean and scatter, less what chance alone makes of both. */
static struct statistics_prior fit_logarithms(const double *logarithms, size_t count,
					      double freedom)
{
	struct statistics_prior prior = { 0 };
	double mean = 0, scatter = 0, centre;
	size_t i;

	for (i = 0; i < count; i++)
		mean += logarithms[i] / (double)count;
	for (i = 0; i < count; i++)
		scatter += (logarithms[i] - mean) * (logarithms[i] - mean) / (double)(count - 1);
	scatter -= statistics_trigamma(freedom / 2);
	centre = mean - statistics_digamma(freedom / 2) + log(freedom / 2);
	if (scatter <= 0) {
		prior.freedom = INFINITY;
		prior.variance = exp(centre);
		return prior;
	}
	prior.freedom = 2 * statistics_trigamma_inverse(scatter);
	prior.variance =
		exp(centre + statistics_digamma(prior.freedom / 2) - log(prior.freedom / 2));
	return prior;
}

struct statistics_prior statistics_prior_fit(double *variances, size_t count, double freedom)
{
	struct statistics_prior prior = { 0 };
	double median = statistics_median(variances, count); /* sorts them too */
	size_t i, kept = count, before = 0;

	if (count < LEAST_FOR_PRIOR || !(median > 0) || !(freedom > 0))
		return prior;
	for (i = 0; i < count; i++)
		variances[i] = log(fmax(variances[i], median * LEAST_VARIANCE_SHARE));
	/* a few wild ones must not spoil it for all: as long as the largest are beyond it, without them */
	while (kept != before && kept >= LEAST_FOR_PRIOR && kept * 2 > count) {
		before = kept;
		prior = fit_logarithms(variances, kept, freedom);
		while (kept && statistics_fisher_p(exp(variances[kept - 1]) / prior.variance,
						   freedom, prior.freedom) < BEYOND_PRIOR_P)
			kept--;
	}
	return prior;
}

struct statistics_test statistics_moderated(const struct statistics_sample *before,
					    const struct statistics_sample *after,
					    const struct statistics_prior *prior)
{
	double freedom = pooled_freedom(before, after);
	double variance = statistics_pooled_variance(before, after);
	double parts;

	if (before->count < 2 || after->count < 2 || !(prior->freedom > 0) ||
	    statistics_fisher_p(variance / prior->variance, freedom, prior->freedom) <
		    UNLIKE_PRIOR_P)
		return statistics_welch(before, after);
	parts = 1 / (double)before->count + 1 / (double)after->count;
	variance = isinf(prior->freedom) ? prior->variance :
					   (freedom * variance + prior->freedom * prior->variance) /
						   (freedom + prior->freedom);
	return test_of(after->mean - before->mean, variance * parts, freedom + prior->freedom);
}

static int compare_by_p(const void *left, const void *right, void *user)
{
	const double *p = user;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;

	if (p[a] != p[b])
		return p[a] < p[b] ? -1 : 1;
	return (a > b) - (a < b);
}

void statistics_adjust(double *p, size_t count, size_t *order)
{
	double least = 1;
	size_t i;

	if (!count)
		return;
	for (i = 0; i < count; i++)
		order[i] = i;
	qsort_r(order, count, sizeof(*order), compare_by_p, p);
	for (i = count; i-- > 0;) {
		least = fmin(least, p[order[i]] * (double)count / (double)(i + 1));
		p[order[i]] = least;
	}
}
