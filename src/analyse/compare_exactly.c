/* SPDX-License-Identifier: Apache-2.0 */
/* Whether two trees of contexts say the same: same contexts, same calls, same values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/compare_private.h"

/* Seconds with a fraction are rounded when they are written; what is equal to so many digits is equal. */
#define PRECISION 1e-9

struct side {
	const struct cct *tree;
	uint32_t *map; /* context of the whole for each of its own; owned */
	bool *has;     /* by context of the whole; owned, as what follows */
	double *self;
	struct cct_calls *calls;
};

struct exact {
	struct compare_exactly *result;
	size_t most;
	struct side sides[2];
	bool failed;
};

static void add_difference(struct exact *exact, const struct compare_difference *difference)
{
	struct compare_exactly *result = exact->result;
	struct compare_difference *place;

	result->count++;
	if (result->first.count >= exact->most)
		return;
	place = sonde_vec_push(&result->first);
	if (place)
		*place = *difference;
	else
		exact->failed = true;
}

static void compare_presence(struct exact *exact)
{
	uint32_t i;

	for (i = 0; i < exact->result->whole->context_count; i++) {
		bool before = exact->sides[0].has[i], after = exact->sides[1].has[i];

		if (before != after)
			add_difference(exact, &(struct compare_difference){
						      .kind = COMPARE_CONTEXT_MISSING,
						      .side = before,
						      .context = i });
	}
}

static bool calls_differ(const struct cct_calls *one, const struct cct_calls *other)
{
	return one->count != other->count || one->exceptions != other->exceptions ||
	       one->unfinished != other->unfinished;
}

static void compare_calls(struct exact *exact)
{
	uint32_t i;

	if (!exact->sides[0].tree->calls || !exact->sides[1].tree->calls)
		return;
	for (i = 0; i < exact->result->whole->context_count; i++) {
		const struct cct_calls *before = &exact->sides[0].calls[i];
		const struct cct_calls *after = &exact->sides[1].calls[i];

		if (exact->sides[0].has[i] && exact->sides[1].has[i] && calls_differ(before, after))
			add_difference(exact, &(struct compare_difference){
						      .kind = COMPARE_CALLS_DIFFER,
						      .context = i,
						      .values = { (double)before->count,
								  (double)after->count } });
	}
}

static bool values_differ(double one, double other)
{
	return one != other && !(fabs(one - other) <= PRECISION * fmax(fabs(one), fabs(other))) &&
	       !(isnan(one) && isnan(other));
}

/* What a side spent in each context of the whole. */
static void lend_self(const struct exact *exact, const struct side *side, uint32_t metric)
{
	uint32_t i;

	memset(side->self, 0, exact->result->whole->context_count * sizeof(*side->self));
	for (i = 0; i < side->tree->context_count; i++)
		side->self[side->map[i]] += side->tree->metrics[metric].self[i];
}

static void compare_metric(struct exact *exact, const char *name)
{
	const struct side *before = &exact->sides[0], *after = &exact->sides[1];
	uint32_t first = cct_find_metric(before->tree, name);
	uint32_t second = cct_find_metric(after->tree, name), i;

	if (first == SONDE_NONE || second == SONDE_NONE) {
		add_difference(exact, &(struct compare_difference){ .kind = COMPARE_METRIC_MISSING,
								    .side = first != SONDE_NONE,
								    .metric = name });
		return;
	}
	lend_self(exact, before, first);
	lend_self(exact, after, second);
	for (i = 0; i < exact->result->whole->context_count; i++)
		if (before->has[i] && after->has[i] &&
		    values_differ(before->self[i], after->self[i]))
			add_difference(exact,
				       &(struct compare_difference){
					       .kind = COMPARE_SELF_DIFFERS,
					       .context = i,
					       .metric = name,
					       .values = { before->self[i], after->self[i] } });
}

static bool side_begin(struct side *side, const struct cct *tree, uint32_t *map, uint32_t count)
{
	uint32_t i;

	side->tree = tree;
	side->map = map;
	side->has = calloc((size_t)count + 1, sizeof(*side->has));
	side->self = calloc((size_t)count + 1, sizeof(*side->self));
	side->calls = calloc((size_t)count + 1, sizeof(*side->calls));
	if (!side->has || !side->self || !side->calls)
		return false;
	for (i = 0; i < tree->context_count; i++) {
		struct cct_calls *calls = &side->calls[map[i]];

		side->has[map[i]] = true;
		if (!tree->calls)
			continue;
		calls->count += tree->calls[i].count;
		calls->exceptions += tree->calls[i].exceptions;
		calls->unfinished += tree->calls[i].unfinished;
	}
	return true;
}

static void side_release(struct side *side)
{
	free(side->map);
	free(side->has);
	free(side->self);
	free(side->calls);
}

enum sonde_status compare_exactly(struct compare_exactly *exactly, const struct cct *const trees[2],
				  size_t most, struct sonde_error *err)
{
	struct exact exact = { .result = exactly, .most = most };
	uint32_t *maps[2] = { 0 }, i;
	enum sonde_status status;

	*exactly = (struct compare_exactly){ 0 };
	status = compare_merge(trees, 2, 1, &exactly->whole, maps, err);
	if (status)
		return status;
	for (i = 0; i < 2; i++)
		exact.failed |= !side_begin(&exact.sides[i], trees[i], maps[i],
					    exactly->whole->context_count);
	if (!exact.failed) {
		compare_presence(&exact);
		compare_calls(&exact);
		for (i = 0; i < exactly->whole->metric_count; i++)
			compare_metric(&exact, exactly->whole->metrics[i].name);
	}
	for (i = 0; i < 2; i++)
		side_release(&exact.sides[i]);
	if (!exact.failed)
		return SONDE_OK;
	compare_exactly_release(exactly);
	return sonde_fail_nomem(err);
}

void compare_exactly_release(struct compare_exactly *exactly)
{
	sonde_vec_release(&exactly->first);
	cct_free(exactly->whole);
	exactly->whole = NULL;
}
