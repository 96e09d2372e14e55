/* SPDX-License-Identifier: Apache-2.0 */
/*
 * percentile(), its shorthands and stddev(). A percentile is exact as long as the values of a group fit into
 * a bound; beyond it they are counted in classes, and the answer is within half a percent.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "base/vec.h"
#include "query/query_functions.h"

/* Values of one group that are kept: 8 MB, and twice that while they are sorted. */
#define MOST_VALUES ((size_t)1 << 20)

/*
 * Classes of numbers whose sign, exponent and first seven binary digits agree: in order, 4 MB of counts,
 * the middle of each at most 0.4 % from all in it.
 */
#define CLASS_BITS 19
#define CLASSES ((size_t)1 << CLASS_BITS)

struct percentile {
	SONDE_VEC(double) values;
	uint64_t *classes; /* NULL: all values are kept */
	uint64_t count;
	double share; /* 0 to 1 */
	double least, most;
	bool failed;
};

struct deviation {
	uint64_t count;
	double mean, squares; /* sum of squared distances from the mean */
};

/* A number with the order of the doubles: negative ones upside down, below the others. */
static uint64_t order_of(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double value_of(uint64_t order)
{
	uint64_t bits = order >> 63 ? order & ~(UINT64_C(1) << 63) : ~order;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static size_t class_of(double value)
{
	return (size_t)(order_of(value) >> (64 - CLASS_BITS));
}

static double class_middle(size_t number)
{
	return value_of((uint64_t)number << (64 - CLASS_BITS) | UINT64_C(1)
									<< (64 - CLASS_BITS - 1));
}

static bool begin_classes(struct percentile *percentile)
{
	size_t i;

	percentile->classes = calloc(CLASSES, sizeof(*percentile->classes));
	if (!percentile->classes)
		return false;
	for (i = 0; i < percentile->values.count; i++)
		percentile->classes[class_of(percentile->values.items[i])]++;
	sonde_vec_release(&percentile->values);
	return true;
}

static bool add_value(struct percentile *percentile, double value)
{
	double *place;

	if (!percentile->count || value < percentile->least)
		percentile->least = value;
	if (!percentile->count || value > percentile->most)
		percentile->most = value;
	percentile->count++;
	if (!percentile->classes && percentile->values.count >= MOST_VALUES &&
	    !begin_classes(percentile))
		return false;
	if (percentile->classes) {
		percentile->classes[class_of(value)]++;
		return true;
	}
	place = sonde_vec_push(&percentile->values);
	if (place)
		*place = value;
	return place != NULL;
}

/* Puts the values in order; false where memory failed. */
static bool sort_values(struct percentile *percentile)
{
	size_t count = percentile->values.count, i;
	struct sonde_sort_item *items = malloc(count * sizeof(*items));
	bool sorted;

	if (!items)
		return false;
	for (i = 0; i < count; i++)
		items[i].key = order_of(percentile->values.items[i]);
	sorted = sonde_sort(items, count);
	for (i = 0; i < count && sorted; i++)
		percentile->values.items[i] = value_of(items[i].key);
	free(items);
	return sorted;
}

/* Value `rank` (from 0) of those that were counted in classes. */
static double ranked_class(const struct percentile *percentile, uint64_t rank)
{
	uint64_t below = 0;
	double value;
	size_t i;

	for (i = 0; i < CLASSES; i++) {
		below += percentile->classes[i];
		if (below > rank)
			break;
	}
	if (i == CLASSES)
		return percentile->most;
	value = class_middle(i);
	return fmax(percentile->least, fmin(percentile->most, value));
}

/* Between two neighbours it is the point on the line between them. */
static bool answer(struct percentile *percentile, double *result)
{
	double place = percentile->share * (double)(percentile->count - 1);
	uint64_t rank = (uint64_t)place;
	double part = place - (double)rank, below, above;

	if (percentile->classes) {
		*result = ranked_class(percentile, (uint64_t)llround(place));
		return true;
	}
	if (!sort_values(percentile))
		return false;
	below = percentile->values.items[rank];
	above = rank + 1 < percentile->count ? percentile->values.items[rank + 1] : below;
	*result = part > 0 ? below + part * (above - below) : below;
	return true;
}

/* One value of a group; what is NULL is passed over. */
static void step(sqlite3_context *context, sqlite3_value *given, double share)
{
	struct percentile *percentile = sqlite3_aggregate_context(context, sizeof(*percentile));
	int type = sqlite3_value_numeric_type(given);

	if (!percentile) {
		sqlite3_result_error_nomem(context);
		return;
	}
	if (type == SQLITE_NULL || percentile->failed)
		return;
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) {
		percentile->failed = true;
		sqlite3_result_error(context, "a percentile is of numbers, not of texts", -1);
		return;
	}
	percentile->share = share;
	if (add_value(percentile, sqlite3_value_double(given)))
		return;
	percentile->failed = true;
	sqlite3_result_error_nomem(context);
}

static void percentile_step(sqlite3_context *context, int count, sqlite3_value **values)
{
	int type = sqlite3_value_numeric_type(values[1]);
	double share = sqlite3_value_double(values[1]);

	(void)count;
	if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(share >= 0 && share <= 100)) {
		sqlite3_result_error(context, "percentile(value, p): p is from 0 to 100", -1);
		return;
	}
	step(context, values[0], share / 100);
}

/* median(), p90() and so on: the share is the function's own. */
static void fixed_step(sqlite3_context *context, int count, sqlite3_value **values)
{
	const double *share = sqlite3_user_data(context);

	(void)count;
	step(context, values[0], *share);
}

static void percentile_final(sqlite3_context *context)
{
	struct percentile *percentile = sqlite3_aggregate_context(context, 0);
	double result;

	if (!percentile)
		return;
	if (percentile->count && !percentile->failed) {
		if (answer(percentile, &result))
			sqlite3_result_double(context, result);
		else
			sqlite3_result_error_nomem(context);
	}
	sonde_vec_release(&percentile->values);
	free(percentile->classes);
}

static void deviation_step(sqlite3_context *context, int count, sqlite3_value **values)
{
	struct deviation *deviation = sqlite3_aggregate_context(context, sizeof(*deviation));
	double value = sqlite3_value_double(values[0]), distance;

	(void)count;
	if (!deviation) {
		sqlite3_result_error_nomem(context);
		return;
	}
	if (sqlite3_value_numeric_type(values[0]) == SQLITE_NULL)
		return;
	deviation->count++;
	distance = value - deviation->mean;
	deviation->mean += distance / (double)deviation->count;
	deviation->squares += distance * (value - deviation->mean);
}

/* Of a sample: divided by one less than there are. */
static void deviation_final(sqlite3_context *context)
{
	const struct deviation *deviation = sqlite3_aggregate_context(context, 0);

	if (deviation && deviation->count > 1)
		sqlite3_result_double(context,
				      sqrt(deviation->squares / (double)(deviation->count - 1)));
}

int query_add_aggregates(sqlite3 *connection)
{
	static const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	static const struct {
		const char *name;
		double share;
	} fixed[] = { { "median", 0.5 }, { "p50", 0.5 },  { "p90", 0.9 },
		      { "p95", 0.95 },	 { "p99", 0.99 }, { "p999", 0.999 } };
	int code = sqlite3_create_function_v2(connection, "percentile", 2, flags, NULL, NULL,
					      percentile_step, percentile_final, NULL);
	size_t i;

	for (i = 0; i < sizeof(fixed) / sizeof(fixed[0]) && code == SQLITE_OK; i++)
		code = sqlite3_create_function_v2(connection, fixed[i].name, 1, flags,
						  (void *)(uintptr_t)&fixed[i].share, NULL,
						  fixed_step, percentile_final, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_create_function_v2(connection, "stddev", 1, flags, NULL, NULL,
						  deviation_step, deviation_final, NULL);
	return code;
}
