/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two sets of measurements differ by more than chance: Welch's t-test, the moderated t-test, and what
 * they rest on. Numbers in, numbers out; nothing here knows what was measured.
 */
#ifndef SONDE_ANALYSE_STATISTICS_H
#define SONDE_ANALYSE_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* The regularised incomplete beta function I_x(a, b); a and b above 0, x from 0 to 1. */
double statistics_incomplete_beta(double a, double b, double x);

/* The chance of a |t| at least that large, both sides; `freedom` may be INFINITY. */
double statistics_student_p(double t, double freedom);

/* The chance of an F at least that large; `freedom_below` may be INFINITY. */
double statistics_fisher_p(double f, double freedom_above, double freedom_below);

/* The first and second derivative of the logarithm of the gamma function; x above 0. */
double statistics_digamma(double x);
double statistics_trigamma(double x);
/* The x whose trigamma is `value`, which is above 0. */
double statistics_trigamma_inverse(double value);

/* The middle one, or the mean of the middle two. Changes the order of the values; 0 of none. */
double statistics_median(double *values, size_t count);

struct statistics_sample {
	size_t count;
	double mean;
	double variance; /* divided by count - 1; 0 of fewer than two */
};
struct statistics_sample statistics_sample(const double *values, size_t count);

struct statistics_test {
	double difference; /* of the means: after - before */
	double t;	   /* infinite where the values do not vary, and differ */
	double freedom;
	double p; /* both sides; 1 where there are too few values to tell */
};

/* Two means, each side with a variance of its own (Welch 1947). */
struct statistics_test statistics_welch(const struct statistics_sample *before,
					const struct statistics_sample *after);

/* The variance that both sides share, with count + count - 2 degrees of freedom. */
double statistics_pooled_variance(const struct statistics_sample *before,
				  const struct statistics_sample *after);

/*
 * What many things that were measured alike tell about the variance of each: that the variances are
 * scatter around `variance`, worth `freedom` degrees of freedom (Smyth 2004). Freedom 0: nothing is known.
 */
struct statistics_prior {
	double variance;
	double freedom; /* may be INFINITY */
};

/*
 * From the pooled variances of all, each with `freedom` degrees of freedom. Changes the order of the variances.
 * Too few of them, or most of them 0, tell nothing.
 */
struct statistics_prior statistics_prior_fit(double *variances, size_t count, double freedom);

/*
 * The moderated t-test: the variance of this one and the prior's, weighted by their degrees of freedom. One
 * that varies more than the prior explains (F-test, 5 %) is tested by Welch's instead: a single
 * outlier in it would else count for a difference.
 */
struct statistics_test statistics_moderated(const struct statistics_sample *before,
					    const struct statistics_sample *after,
					    const struct statistics_prior *prior);

/*
 * p-values of many tests, adjusted in place after Benjamini and Hochberg (1995): taking those up to q, a
 * share q of them is wrong. `order` is room for `count` numbers.
 */
void statistics_adjust(double *p, size_t count, size_t *order);

#endif
