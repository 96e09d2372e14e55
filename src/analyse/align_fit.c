/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Offset and drift from moments that both clocks know. Medians decide what is believed, so that some
 * events that do not belong together do no harm; a line is then fitted through those that are. The error
 * is what the moments themselves disagree by, not how well their mean is known: delays that are always
 * the same cannot be seen.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyse/align_private.h"
#include "base/sort.h"
#include "model/time_map.h"

#define SHIFTS_TRIED 10000 /* starts of the longer side that are looked at */
#define GAPS_COMPARED 512
#define SPREADS 4.4478	 /* medians of residuals that a normal one is away: three deviations */
#define ERROR_SHARE 0.95 /* of the residuals that lie within the error */
#define NS_IN_DOUBLE 9007199254740992.0

static int compare_doubles(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

/* Orders them; of none it is 0. */
static double quantile(double *values, size_t count, double share)
{
	size_t place;

	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare_doubles);
	place = (size_t)ceil(share * (double)count);
	return values[place ? place - 1 : 0];
}

static double median(double *values, size_t count)
{
	double upper;

	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare_doubles);
	upper = values[count / 2];
	return count % 2 ? upper : (values[count / 2 - 1] + upper) / 2;
}

void align_set_map(struct align_clock *clock, uint64_t at_ns, int64_t offset_ns, double drift)
{
	__int128 target = (__int128)at_ns + offset_ns;

	/* a moment that both clocks have: further on by what lies before 0 */
	if (target < 0)
		at_ns += (uint64_t)-target;
	clock->map = (struct sonde_time_map){
		.source_ns = at_ns,
		.target_ns = target < 0 ? 0 : (uint64_t)target,
		.drift = (int64_t)llround(drift * (double)SONDE_DRIFT_LIMIT),
	};
	clock->drift = drift;
}

/* Events of both sides in pairs. */
struct pairs {
	size_t count;
	uint64_t at_ns;	   /* of the other side: x counts from here */
	int64_t offset_ns; /* y counts from here */
	double *x;	   /* time of the other side */
	double *y;	   /* how much later the reference has it */
	double *space;
	/* the line y = level + slope * (x - middle) */
	double middle, level, slope;
	double slope_error; /* its standard deviation */
	size_t inliers;
	double error;
};

static void pairs_release(struct pairs *pairs)
{
	free(pairs->x);
	free(pairs->y);
	free(pairs->space);
}

/*
 * How much gaps between events differ, where the longer side begins `shift` events later. Neither an
 * offset nor a slow drift matters to it.
 */
static double compare_gaps(const struct align_moments *longer, const struct align_moments *shorter,
			   size_t shift)
{
	double differences[GAPS_COMPARED] = { 0 };
	size_t gaps = shorter->count - 1;
	size_t compared = gaps < GAPS_COMPARED ? gaps : GAPS_COMPARED;

	for (size_t i = 0; i < compared; i++) {
		size_t place = i * gaps / compared;
		const struct align_moment *a = &longer->items[place + shift];
		const struct align_moment *b = &shorter->items[place];

		differences[i] = fabs((double)(a[1].time_ns - a[0].time_ns) -
				      (double)(b[1].time_ns - b[0].time_ns));
	}
	return median(differences, compared);
}

/*
 * Events are matched in order, the first with the first, unless one side lacks some at its start, which
 * shows by gaps that fit clearly better.
 */
static size_t find_shift(const struct align_moments *longer, const struct align_moments *shorter)
{
	size_t tries = longer->count - shorter->count, best = 0;
	double plain, least;

	if (shorter->count < 3 || !tries)
		return 0;
	if (tries > SHIFTS_TRIED)
		tries = SHIFTS_TRIED;
	plain = least = compare_gaps(longer, shorter, 0);
	for (size_t shift = 1; shift <= tries; shift++) {
		double score = compare_gaps(longer, shorter, shift);

		if (score < least) {
			least = score;
			best = shift;
		}
	}
	return least * 2 + 1 < plain ? best : 0;
}

/* A number in the middle of the offsets, from which all others can be told exactly. */
static bool find_base(const struct align_moment *reference, const struct align_moment *other,
		      size_t count, int64_t *base)
{
	struct sonde_sort_item *order = calloc(count + 1, sizeof(*order));
	bool happened;

	for (size_t i = 0; order && i < count; i++)
		/* the sign turned, so that they sort as numbers with one */
		order[i].key = (reference[i].time_ns - other[i].time_ns) ^ UINT64_C(1) << 63;
	happened = order && sonde_sort(order, count);
	if (happened)
		*base = (int64_t)(order[count / 2].key ^ UINT64_C(1) << 63);
	free(order);
	return happened;
}

static bool pair(struct pairs *pairs, const struct align_moment *reference,
		 const struct align_moment *other, size_t count)
{
	pairs->count = count;
	pairs->at_ns = other[0].time_ns;
	pairs->x = calloc(count + 1, sizeof(double));
	pairs->y = calloc(count + 1, sizeof(double));
	pairs->space = calloc(count + 1, sizeof(double));
	if (!pairs->x || !pairs->y || !pairs->space ||
	    !find_base(reference, other, count, &pairs->offset_ns))
		return false;
	for (size_t i = 0; i < count; i++) {
		uint64_t later = reference[i].time_ns - other[i].time_ns;

		pairs->x[i] = (double)(other[i].time_ns - pairs->at_ns);
		pairs->y[i] = (double)(int64_t)(later - (uint64_t)pairs->offset_ns);
	}
	return true;
}

static double residual(const struct pairs *pairs, size_t i)
{
	return pairs->y[i] - pairs->level - pairs->slope * (pairs->x[i] - pairs->middle);
}

/* The middle one of the slopes between events that are far from each other. */
static double middle_slope(struct pairs *pairs)
{
	size_t half = pairs->count / 2, count = 0;

	for (size_t i = 0; i + half < pairs->count; i++) {
		double run = pairs->x[i + half] - pairs->x[i];

		if (run > 0)
			pairs->space[count++] = (pairs->y[i + half] - pairs->y[i]) / run;
	}
	return median(pairs->space, count);
}

/* How far from the line what is believed may be. */
static double find_tolerance(struct pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++)
		pairs->space[i] = residual(pairs, i);
	pairs->level += median(pairs->space, pairs->count);
	for (size_t i = 0; i < pairs->count; i++)
		pairs->space[i] = fabs(residual(pairs, i));
	return fmax(SPREADS * median(pairs->space, pairs->count), 1);
}

/* Least squares through what is within the tolerance of the line so far. */
static void refine(struct pairs *pairs, double tolerance)
{
	double sum_x = 0, sum_y = 0, xx = 0, xy = 0, squares = 0, count = 0;

	for (size_t i = 0; i < pairs->count; i++) {
		pairs->space[i] = fabs(residual(pairs, i)) <= tolerance;
		sum_x += pairs->space[i] * pairs->x[i];
		sum_y += pairs->space[i] * pairs->y[i];
		count += pairs->space[i];
	}
	if (count < 3)
		return;
	pairs->middle = sum_x / count;
	pairs->level = sum_y / count;
	for (size_t i = 0; i < pairs->count; i++) {
		double x = pairs->x[i] - pairs->middle;

		xx += pairs->space[i] * x * x;
		xy += pairs->space[i] * x * (pairs->y[i] - pairs->level);
	}
	if (xx > 0)
		pairs->slope = xy / xx;
	for (size_t i = 0; i < pairs->count; i++)
		squares += pairs->space[i] * residual(pairs, i) * residual(pairs, i);
	pairs->slope_error = xx > 0 ? sqrt(squares / (count - 2) / xx) : 0;
}

static void find_error(struct pairs *pairs, double tolerance)
{
	size_t count = 0;

	for (size_t i = 0; i < pairs->count; i++) {
		double distance = fabs(residual(pairs, i));

		if (distance <= tolerance)
			pairs->space[count++] = distance;
	}
	pairs->inliers = count;
	pairs->error = quantile(pairs->space, count, ERROR_SHARE);
}

static void fit_line(struct pairs *pairs)
{
	double tolerance;

	pairs->slope = middle_slope(pairs);
	tolerance = find_tolerance(pairs);
	refine(pairs, tolerance);
	find_error(pairs, tolerance);
}

static void fit_level(struct pairs *pairs)
{
	find_error(pairs, find_tolerance(pairs));
}

/* With the slope's own error, at the end of the recording that is farthest from what was matched. */
static double error_at_ends(const struct pairs *pairs, const struct align_clock *clock)
{
	double middle_ns = pairs->middle + (double)pairs->at_ns;
	double before = middle_ns - (double)clock->first_ns;
	double after = (double)clock->last_ns - middle_ns;

	return pairs->error + 2 * pairs->slope_error * fmax(fmax(before, after), 0) + 1;
}

/* A drift that would explain much of the residuals, and was not asked for. */
static double notice_drift(const struct pairs *level)
{
	struct pairs line = *level;

	if (level->count < 10)
		return 0;
	line.level = 0;
	fit_line(&line);
	return line.error * 2 < level->error && line.inliers * 2 >= level->count ? line.slope : 0;
}

static enum sonde_status set_fit(struct align_clock *clock, struct pairs *pairs, bool drift,
				 struct sonde_error *err)
{
	double error, later;

	if (drift)
		fit_line(pairs);
	else
		fit_level(pairs);
	if (fabs(pairs->slope) > 0.5)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "the clocks would go at different speeds by half and more: these "
				  "events do not belong together; name another one");
	error = drift ? error_at_ends(pairs, clock) : pairs->error;
	later = pairs->level - pairs->slope * pairs->middle;
	align_set_map(clock, pairs->at_ns, pairs->offset_ns + (int64_t)llround(later),
		      pairs->slope);
	clock->has_error = pairs->count > 1;
	clock->error_ns = error < NS_IN_DOUBLE ? (uint64_t)ceil(error) : UINT64_MAX;
	clock->matched = pairs->count;
	clock->outliers = pairs->count - pairs->inliers;
	if (!drift)
		clock->unused_drift = notice_drift(pairs);
	return SONDE_OK;
}

enum sonde_status align_fit_events(struct align_clock *clock, const struct align_moments *reference,
				   const struct align_moments *other, bool drift,
				   struct sonde_error *err)
{
	bool is_longer = reference->count > other->count;
	const struct align_moments *longer = is_longer ? reference : other;
	const struct align_moments *shorter = is_longer ? other : reference;
	struct pairs pairs = { 0 };
	enum sonde_status status;
	size_t shift;

	clock->method = ALIGN_EVENTS;
	clock->found = other->found;
	clock->found_in_reference = reference->found;
	if (drift && shorter->count < 3)
		return sonde_fail(
			err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			"a drift needs at least 3 events that both have, and there are %zu; "
			"leave out --drift",
			shorter->count);
	shift = find_shift(longer, shorter);
	clock->skipped = shift;
	status = pair(&pairs, reference->items + (is_longer ? shift : 0),
		      other->items + (is_longer ? 0 : shift), shorter->count) ?
			 SONDE_OK :
			 sonde_fail_nomem(err);
	if (!status)
		status = set_fit(clock, &pairs, drift, err);
	pairs_release(&pairs);
	return status;
}

/* Those sent or received, by number and time. */
static struct sonde_sort_item *by_number(const struct align_moments *moments, bool is_start,
					 size_t *count)
{
	struct sonde_sort_item *items = calloc(moments->count + 1, sizeof(*items));

	*count = 0;
	for (size_t i = 0; items && i < moments->count; i++) {
		if (moments->items[i].is_start == is_start)
			items[(*count)++] = (struct sonde_sort_item){
				.key = moments->items[i].number,
				.number = moments->items[i].time_ns,
			};
	}
	if (items && !sonde_sort(items, *count)) {
		free(items);
		return NULL;
	}
	return items;
}

/* The least that messages took, by the two clocks: received minus sent. */
struct delay {
	uint64_t messages;
	int64_t least_ns;
};

static bool find_delay(const struct align_moments *from, const struct align_moments *to,
		       struct delay *delay)
{
	size_t sent_count, received_count, k = 0;
	struct sonde_sort_item *sent = by_number(from, true, &sent_count);
	struct sonde_sort_item *received = by_number(to, false, &received_count);
	bool happened = sent && received;

	*delay = (struct delay){ .least_ns = INT64_MAX };
	for (size_t i = 0; happened && i < sent_count; i++) {
		int64_t took;

		while (k < received_count && received[k].key < sent[i].key)
			k++;
		if (k == received_count)
			break;
		if (received[k].key != sent[i].key)
			continue;
		took = (int64_t)(received[k++].number - sent[i].number);
		if (took < delay->least_ns)
			delay->least_ns = took;
		delay->messages++;
	}
	free(sent);
	free(received);
	return happened;
}

enum sonde_status align_fit_messages(struct align_clock *clock,
				     const struct align_moments *reference,
				     const struct align_moments *other, struct sonde_error *err)
{
	struct delay there, back;
	/* the offset lies between these: no message arrives before it was sent */
	__int128 least, most, offset;

	clock->method = ALIGN_MESSAGES;
	clock->found = other->found;
	clock->found_in_reference = reference->found;
	if (!find_delay(reference, other, &there) || !find_delay(other, reference, &back))
		return sonde_fail_nomem(err);
	clock->matched = there.messages + back.messages;
	if (!clock->matched)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "no flow begins in one of the recordings and ends in the other: "
				  "name an event that both have (--event NAME), or give --offset");
	least = -(__int128)there.least_ns;
	most = back.least_ns;
	clock->one_way = !there.messages || !back.messages;
	if (!clock->one_way && least > most)
		return sonde_fail(
			err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			"messages contradict each other: by them the clocks are at least "
			"%" PRId64 " ns and at most %" PRId64 " ns apart. Clocks that drift, "
			"or flows whose numbers are used again, do that; cut a shorter piece, "
			"or use --event NAME --drift",
			(int64_t)least, (int64_t)most);
	offset = !back.messages ? least : !there.messages ? most : least + (most - least) / 2;
	clock->has_error = !clock->one_way;
	if (clock->has_error)
		clock->error_ns = (uint64_t)((most - least + 1) / 2);
	align_set_map(clock, clock->first_ns, (int64_t)offset, 0);
	return SONDE_OK;
}
