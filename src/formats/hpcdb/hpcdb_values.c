/* SPDX-License-Identifier: Apache-2.0 */
/* The values of one track, or the statistics over all: a plane in the order of the tree; and one value. */
#include <math.h>
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_families.h"
#include "formats/hpcdb/hpcdb_read.h"

#define BATCH 1024
/* What is left below this part of a value is rounding. */
#define ROUNDING 1e-12

struct values {
	struct sonde_value_cursor base;
	const struct hpcdb_recording *database;
	struct hpcdb_plane plane;
	bool is_statistics;
	uint32_t track;
	size_t next;   /* of the members of families */
	double *parts; /* of each metric: what children have of it */
	struct hpcdb_families families;
	SONDE_VEC(struct sonde_value) batch;
};

double hpcdb_own_value(double whole, double parts)
{
	double own = whole - parts;

	/* infinity without infinity says nothing */
	if (isnan(own) || fabs(own) <= fabs(whole) * ROUNDING || (own < 0) != (whole < 0))
		return 0;
	return own;
}

static const struct hpcdb_use *find_use(const struct values *self, uint16_t id)
{
	const struct hpcdb_recording *database = self->database;
	const struct hpcdb_use *use;

	if (id >= (self->is_statistics ? database->stat_count : database->prop_count))
		return NULL;
	use = self->is_statistics ? &database->stat_uses[id] : &database->prop_uses[id];
	return use->metric == SONDE_NONE ? NULL : use;
}

/* Adds up what the children of a context have, or clears it for the next one. */
static void sum_parts(struct values *self, size_t child, size_t last, bool is_clearing)
{
	const struct hpcdb_context *contexts = self->database->tree.contexts.items;
	const struct hpcdb_families *families = &self->families;
	uint64_t first, end;

	for (; child < last; child++) {
		const struct hpcdb_context *context =
			&contexts[hpcdb_family_member(families, child)];

		hpcdb_plane_range(&self->plane, (uint32_t)families->members.items[child].number,
				  &first, &end);
		for (; first < end; first++) {
			const struct hpcdb_use *use =
				find_use(self, hpcdb_plane_metric(&self->plane, first));
			double *part = use ? &self->parts[use->of_metric] : NULL;

			if (use && use->is_base &&
			    hpcdb_is_part(&self->database->bases[use->of_metric], context))
				*part = is_clearing ?
						0 :
						*part + hpcdb_plane_number(&self->plane, first);
		}
	}
}

static bool add_value(struct values *self, uint32_t context, uint32_t metric, double value)
{
	struct sonde_value *added = sonde_vec_push(&self->batch);

	if (added)
		*added = (struct sonde_value){ self->track, context, metric, value };
	return added;
}

static int compare_metrics(const void *a, const void *b)
{
	const struct sonde_value *x = a, *y = b;

	return (x->metric > y->metric) - (x->metric < y->metric);
}

/* Metrics are numbered in the order of the files, but for what was worked out. */
static void order_values(struct sonde_value *values, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (values[i].metric >= values[i - 1].metric)
			continue;
		qsort(values, count, sizeof(*values), compare_metrics);
		return;
	}
}

/* The metric of the model that is worked out of this one, or SONDE_NONE. */
static uint32_t point_of(const struct values *self, const struct hpcdb_use *use)
{
	const struct hpcdb_base *base = &self->database->bases[use->of_metric];

	if (!use->is_base)
		return SONDE_NONE;
	return self->is_statistics ? base->sum_point : base->point;
}

/* The values of the head of a family, whose children follow up to `last`. */
static bool add_context(struct values *self, size_t head, size_t last)
{
	uint32_t context = hpcdb_family_head(&self->families, head);
	size_t start = self->batch.count;
	uint64_t first, end;
	bool is_good = true;

	hpcdb_plane_range(&self->plane, (uint32_t)self->families.members.items[head].number, &first,
			  &end);
	sum_parts(self, head + 1, last, false);
	for (; first < end && is_good; first++) {
		const struct hpcdb_use *use =
			find_use(self, hpcdb_plane_metric(&self->plane, first));
		double value = hpcdb_plane_number(&self->plane, first), own = 0;
		uint32_t point;

		if (!use || use->is_point)
			continue;
		point = point_of(self, use);
		if (point != SONDE_NONE)
			own = hpcdb_own_value(value, self->parts[use->of_metric]);
		if (own != 0)
			is_good = add_value(self, context, point, own);
		if (is_good && value != 0)
			is_good = add_value(self, context, use->metric, value);
	}
	sum_parts(self, head + 1, last, true);
	if (self->batch.count > start)
		order_values(self->batch.items + start, self->batch.count - start);
	return is_good;
}

static enum sonde_status values_next(struct sonde_value_cursor *cursor,
				     const struct sonde_value **values, size_t *count,
				     struct sonde_error *err)
{
	struct values *self = (struct values *)cursor;
	const struct hpcdb_families *families = &self->families;

	self->batch.count = 0;
	while (self->next < families->members.count && self->batch.count < BATCH) {
		size_t head = self->next;

		self->next = hpcdb_family_end(families, head);
		if (hpcdb_family_head(families, head) == hpcdb_family_member(families, head) &&
		    !add_context(self, head, self->next))
			return sonde_fail_nomem(err);
	}
	*values = self->batch.items;
	*count = self->batch.count;
	return *count ? SONDE_OK : SONDE_END;
}

static void values_free(struct sonde_value_cursor *cursor)
{
	struct values *self = (struct values *)cursor;

	hpcdb_families_release(&self->families);
	free(self->parts);
	sonde_vec_release(&self->batch);
	free(self);
}

static const struct sonde_value_cursor_ops values_ops = {
	.next = values_next,
	.free = values_free,
};

static struct hpcdb_plane plane_of(const struct hpcdb_recording *database, uint32_t track)
{
	uint32_t profile = track == SONDE_NONE ? database->summary :
						 database->track_profiles[track];

	if (profile == SONDE_NONE)
		return (struct hpcdb_plane){ 0 };
	return hpcdb_profile_at(&database->profile, profile).plane;
}

enum sonde_status hpcdb_values_open(struct sonde_recording *recording, uint32_t track,
				    struct sonde_value_cursor **cursor, struct sonde_error *err)
{
	struct hpcdb_recording *database = recording->data;
	const struct sonde_context *contexts;
	struct values *self;
	enum sonde_status status;
	uint32_t count;

	*cursor = NULL;
	status = hpcdb_contexts(recording, &contexts, &count, err);
	if (status < 0)
		return status;
	self = calloc(1, sizeof(*self));
	if (!self)
		return sonde_fail_nomem(err);
	self->base.ops = &values_ops;
	self->database = database;
	self->track = track;
	self->is_statistics = track == SONDE_NONE;
	self->plane = plane_of(database, track);
	if (self->plane.context_count) {
		self->parts = calloc(database->meta.metrics.count + 1, sizeof(*self->parts));
		if (!self->parts || !hpcdb_families_build(&self->families, &self->plane,
							  &database->tree, &database->ids)) {
			values_free(&self->base);
			return sonde_fail_nomem(err);
		}
	}
	*cursor = &self->base;
	return SONDE_OK;
}

enum sonde_status hpcdb_value(struct sonde_recording *recording, uint32_t track, uint32_t context,
			      uint32_t metric, double *value, struct sonde_error *err)
{
	struct hpcdb_recording *database = recording->data;
	const struct hpcdb_model_metric *place = &database->metrics.items[metric];
	struct hpcdb_plane plane = plane_of(database, track);
	const struct hpcdb_context *contexts = database->tree.contexts.items;
	const struct hpcdb_base *base;
	double parts = 0, part;

	(void)err;
	*value = 0;
	/* a query defines metrics of its own behind those of the database */
	if (metric >= database->metrics.count)
		return SONDE_END;
	base = &database->bases[place->of_metric];
	if (place->is_statistic != (track == SONDE_NONE) ||
	    !hpcdb_plane_find(&plane, contexts[context].id, place->id, value))
		return SONDE_END;
	if (!place->is_point)
		return *value == 0 ? SONDE_END : SONDE_OK;
	for (uint32_t child = context + 1; child < contexts[context].end;
	     child = contexts[child].end) {
		if (hpcdb_is_part(base, &contexts[child]) &&
		    hpcdb_plane_find(&plane, contexts[child].id, place->id, &part))
			parts += part;
	}
	*value = hpcdb_own_value(*value, parts);
	return *value == 0 ? SONDE_END : SONDE_OK;
}

uint64_t hpcdb_value_count(struct sonde_recording *recording)
{
	const struct hpcdb_recording *database = recording->data;
	uint64_t count = 0;

	for (uint32_t i = 0; i < database->track_count; i++)
		count += plane_of(database, i).value_count;
	return count;
}
