/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of one context over all tracks, metric by metric: from its block in cct.db, or, where there
 * is none, from the plane of each track.
 */
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_read.h"

struct context_values {
	struct sonde_value_cursor base;
	const struct hpcdb_recording *database;
	uint32_t context;
	uint32_t next;	 /* metric of the model */
	uint64_t budget; /* values that may still be read of cct.db: as many as it has room for */
	double *row;	 /* of each track; 0 between metrics */
	double *parts;	 /* likewise, of the children */
	SONDE_VEC(struct sonde_value) batch;
};

static bool has_cct(const struct context_values *self)
{
	return self->database->cct.file.data;
}

static bool add_from_cct(struct context_values *self, uint32_t id, uint16_t metric, double *row)
{
	const struct hpcdb_recording *database = self->database;
	struct hpcdb_block block = hpcdb_cct_at(&database->cct, id);
	uint64_t first, end;
	bool has_any = false;

	if (!hpcdb_block_find_metric(&block, metric, &first, &end))
		return false;
	for (; first < end && self->budget; first++, self->budget--) {
		uint32_t profile = hpcdb_block_profile(&block, first);
		uint32_t track = profile < hpcdb_profile_count(&database->profile) ?
					 database->profile_tracks[profile] :
					 SONDE_NONE;

		if (track == SONDE_NONE)
			continue;
		row[track] += hpcdb_block_number(&block, first);
		has_any = true;
	}
	return has_any;
}

static bool add_from_planes(struct context_values *self, uint32_t id, uint16_t metric, double *row)
{
	const struct hpcdb_recording *database = self->database;
	bool has_any = false;
	double value;

	for (uint32_t i = 0; i < database->track_count; i++) {
		struct hpcdb_plane plane =
			hpcdb_profile_at(&database->profile, database->track_profiles[i]).plane;

		if (!hpcdb_plane_find(&plane, id, metric, &value))
			continue;
		row[i] += value;
		has_any = true;
	}
	return has_any;
}

static bool add_row(struct context_values *self, uint32_t context, uint16_t metric, double *row)
{
	uint32_t id = self->database->tree.contexts.items[context].id;

	return has_cct(self) ? add_from_cct(self, id, metric, row) :
			       add_from_planes(self, id, metric, row);
}

static void take_parts(struct context_values *self, const struct hpcdb_model_metric *metric)
{
	const struct hpcdb_context *contexts = self->database->tree.contexts.items;
	const struct hpcdb_base *base = &self->database->bases[metric->of_metric];
	uint32_t tracks = self->database->track_count;

	memset(self->parts, 0, tracks * sizeof(*self->parts));
	for (uint32_t child = self->context + 1; child < contexts[self->context].end;
	     child = contexts[child].end) {
		if (hpcdb_is_part(base, &contexts[child]))
			add_row(self, child, metric->id, self->parts);
	}
	for (uint32_t i = 0; i < tracks; i++)
		self->row[i] = hpcdb_own_value(self->row[i], self->parts[i]);
}

/* The values of a metric into the batch. */
static bool add_metric(struct context_values *self, uint32_t number)
{
	const struct hpcdb_model_metric *metric = &self->database->metrics.items[number];
	uint32_t tracks = self->database->track_count;

	if (metric->is_statistic || !add_row(self, self->context, metric->id, self->row))
		return true;
	if (metric->is_point)
		take_parts(self, metric);
	for (uint32_t i = 0; i < tracks; i++) {
		struct sonde_value *value;

		if (self->row[i] == 0)
			continue;
		value = sonde_vec_push(&self->batch);
		if (!value)
			return false;
		*value = (struct sonde_value){ i, self->context, number, self->row[i] };
	}
	memset(self->row, 0, tracks * sizeof(*self->row));
	return true;
}

static enum sonde_status context_values_next(struct sonde_value_cursor *cursor,
					     const struct sonde_value **values, size_t *count,
					     struct sonde_error *err)
{
	struct context_values *self = (struct context_values *)cursor;

	self->batch.count = 0;
	for (; self->next < self->database->metrics.count && !self->batch.count; self->next++) {
		if (!add_metric(self, self->next))
			return sonde_fail_nomem(err);
	}
	*values = self->batch.items;
	*count = self->batch.count;
	return *count ? SONDE_OK : SONDE_END;
}

static void context_values_free(struct sonde_value_cursor *cursor)
{
	struct context_values *self = (struct context_values *)cursor;

	free(self->row);
	free(self->parts);
	sonde_vec_release(&self->batch);
	free(self);
}

static const struct sonde_value_cursor_ops context_values_ops = {
	.next = context_values_next,
	.free = context_values_free,
};

enum sonde_status hpcdb_context_values_open(struct sonde_recording *recording, uint32_t context,
					    struct sonde_value_cursor **cursor,
					    struct sonde_error *err)
{
	struct hpcdb_recording *database = recording->data;
	struct context_values *self = calloc(1, sizeof(*self));

	*cursor = NULL;
	if (!self)
		return sonde_fail_nomem(err);
	self->base.ops = &context_values_ops;
	self->database = database;
	self->context = context;
	self->row = calloc((size_t)database->track_count + 1, sizeof(*self->row));
	self->parts = calloc((size_t)database->track_count + 1, sizeof(*self->parts));
	/* each value of a good file is read in two scopes at most, by each of its metrics */
	self->budget = (uint64_t)database->cct.file.size / HPCDB_CCT_VALUE_SIZE * 2;
	if (!self->row || !self->parts) {
		context_values_free(&self->base);
		return sonde_fail_nomem(err);
	}
	*cursor = &self->base;
	return SONDE_OK;
}
