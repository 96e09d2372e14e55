/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plane of one track: from what was measured in each context itself to the values of all
 * scopes, in the bytes of profile.db. Metrics are worked on one after the other; only contexts that
 * have a value, and those above them, are looked at.
 */
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_write_private.h"

/* What a context got from below so far. */
struct sums {
	double point;
	double function;  /* of enclosed contexts */
	double loop_free; /* the same, without loops */
	double execution; /* of all contexts below */
};

struct cell {
	double value;
	uint32_t context;
	uint16_t id;
};

/* A set of contexts that is walked in order: a bit for each, and one for each word of these. */
struct marks {
	uint64_t *words, *above;
	size_t above_count;
};

struct hpcdb_encoder {
	struct hpcdb_points points;
	struct hpcdb_points grouped; /* by metric, where they did not come so */
	size_t *group_ends;	     /* of each metric, in the points */
	struct sums *sums;	     /* of each context; 0 but for the present metric */
	uint32_t *places;	     /* of each context: number, then place of its values */
	uint64_t *totals;	     /* of each context: values on all tracks so far */
	uint32_t contexts;	     /* that have values, of the present track */
	struct marks marks;	     /* of the present metric */
	struct marks all;	     /* of all metrics of the track */
	SONDE_VEC(struct cell) cells;
};

static bool marks_init(struct marks *marks, uint32_t count)
{
	size_t words = (size_t)count / 64 + 1;

	marks->above_count = words / 64 + 1;
	marks->words = calloc(marks->above_count * 64, sizeof(*marks->words));
	marks->above = calloc(marks->above_count, sizeof(*marks->above));
	return marks->words && marks->above;
}

static void marks_release(struct marks *marks)
{
	free(marks->words);
	free(marks->above);
}

static inline void marks_add_word(struct marks *marks, size_t word, uint64_t bits)
{
	marks->words[word] |= bits;
	marks->above[word / 64] |= (uint64_t)1 << word % 64;
}

struct hpcdb_encoder *hpcdb_encoder_new(const struct hpcdb_job *job)
{
	struct hpcdb_encoder *encoder = calloc(1, sizeof(*encoder));
	size_t contexts = job->world->context_count;

	if (!encoder)
		return NULL;
	encoder->group_ends =
		calloc((size_t)job->world->metric_count + 1, sizeof(*encoder->group_ends));
	encoder->sums = calloc(contexts, sizeof(*encoder->sums));
	encoder->places = calloc(contexts, sizeof(*encoder->places));
	encoder->totals = calloc(contexts, sizeof(*encoder->totals));
	if (encoder->group_ends && encoder->sums && encoder->places && encoder->totals &&
	    marks_init(&encoder->marks, job->world->context_count) &&
	    marks_init(&encoder->all, job->world->context_count))
		return encoder;
	hpcdb_encoder_free(encoder);
	return NULL;
}

void hpcdb_encoder_free(struct hpcdb_encoder *encoder)
{
	if (!encoder)
		return;
	sonde_vec_release(&encoder->points.items);
	sonde_vec_release(&encoder->grouped.items);
	sonde_vec_release(&encoder->cells);
	free(encoder->group_ends);
	free(encoder->sums);
	free(encoder->places);
	free(encoder->totals);
	marks_release(&encoder->marks);
	marks_release(&encoder->all);
	free(encoder);
}

void hpcdb_encoder_add_totals(const struct hpcdb_encoder *encoder, uint64_t *totals,
			      uint32_t contexts)
{
	for (uint32_t i = 0; i < contexts; i++)
		totals[i] += encoder->totals[i];
}

struct hpcdb_points *hpcdb_encoder_points(struct hpcdb_encoder *encoder)
{
	encoder->points.items.count = 0;
	return &encoder->points;
}

static enum sonde_status check_point(const struct hpcdb_job *job, const struct hpcdb_point *point,
				     struct sonde_error *err)
{
	if (point->context < job->world->context_count &&
	    point->metric < job->world->metric_count &&
	    job->plan.metrics[point->metric].scope_count)
		return SONDE_OK;
	return sonde_fail(
		err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
		"a value of metric %u in context %u, but such a metric with values, or such "
		"a context, does not exist",
		point->metric, point->context);
}

/*
 * Gives the points ordered by metric, otherwise in their order; group_ends says where each metric's
 * end.
 */
static enum sonde_status group_points(struct hpcdb_encoder *encoder, const struct hpcdb_job *job,
				      const struct hpcdb_point **grouped, struct sonde_error *err)
{
	const struct hpcdb_point *points = encoder->points.items.items;
	size_t count = encoder->points.items.count, *ends = encoder->group_ends, start = 0;
	uint32_t metrics = job->world->metric_count, last = 0;
	bool in_order = true;

	memset(ends, 0, ((size_t)metrics + 1) * sizeof(*ends));
	for (size_t i = 0; i < count; i++) {
		enum sonde_status status = check_point(job, &points[i], err);

		if (status < 0)
			return status;
		ends[points[i].metric]++;
		in_order &= points[i].metric >= last;
		last = points[i].metric;
	}
	/* from numbers to starts; putting the points in their places makes these ends */
	for (uint32_t i = 0; i < metrics; i++) {
		size_t number = ends[i];

		ends[i] = in_order ? start + number : start;
		start += number;
	}
	*grouped = points;
	if (in_order)
		return SONDE_OK;
	encoder->grouped.items.count = 0;
	if (!sonde_vec_reserve(&encoder->grouped.items, count))
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		encoder->grouped.items.items[ends[points[i].metric]++] = points[i];
	*grouped = encoder->grouped.items.items;
	return SONDE_OK;
}

/* Puts the points of a metric into their contexts, and marks these and all above them. */
static size_t spread(struct hpcdb_encoder *encoder, const struct hpcdb_node *nodes,
		     const struct hpcdb_point *points, size_t count)
{
	struct marks *marks = &encoder->marks;
	size_t marked = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t context = points[i].context;

		if (points[i].value == 0)
			continue;
		encoder->sums[context].point += points[i].value;
		for (;;) {
			uint64_t bit = (uint64_t)1 << context % 64;

			if (marks->words[context / 64] & bit)
				break;
			marks_add_word(marks, context / 64, bit);
			marked++;
			context = nodes[context].parent; /* the root is its own, and marked */
		}
	}
	return marked;
}

/* Where the values of the scopes go: an id for each, and 1 for those the metric has. */
struct targets {
	uint16_t ids[HPCDB_SCOPE_COUNT];
	size_t steps[HPCDB_SCOPE_COUNT];
};

static struct targets targets_of(const struct hpcdb_numbers *numbers)
{
	struct targets targets = { 0 };

	for (unsigned int i = 0; i < numbers->scope_count; i++) {
		targets.ids[numbers->scopes[i]] = hpcdb_scope_id(numbers, i);
		targets.steps[numbers->scopes[i]] = 1;
	}
	return targets;
}

/*
 * Writes the cell in any case and counts it only where it is one: there is always room for one
 * more.
 */
static inline struct cell *put_cell(struct cell *cell, const struct targets *targets,
				    enum hpcdb_scope scope, uint32_t context, double value)
{
	*cell = (struct cell){ value, context, targets->ids[scope] };
	return cell + (value != 0 ? targets->steps[scope] : 0);
}

/* All below it is done: makes its cells, and hands its values up. */
static inline struct cell *finish_context(struct sums *sums, const struct hpcdb_node *nodes,
					  uint32_t context, const struct targets *targets,
					  struct cell *cell)
{
	const struct hpcdb_node *node = &nodes[context];
	struct sums own = sums[context], *up = &sums[node->parent];
	double function = own.function + own.point, loop_free = own.loop_free + own.point;
	double execution = own.execution + own.point;

	sums[context] = (struct sums){ 0 };
	cell = put_cell(cell, targets, HPCDB_POINT, context, own.point);
	cell = put_cell(cell, targets, HPCDB_FUNCTION_SCOPE, context, function);
	cell = put_cell(cell, targets, HPCDB_LEX_AWARE, context,
			node->is_loop ? loop_free : function);
	cell = put_cell(cell, targets, HPCDB_EXECUTION, context, execution);
	if (!context)
		return cell;
	up->execution += execution;
	if (node->is_enclosed) {
		up->function += function;
		if (!node->is_loop)
			up->loop_free += loop_free;
	}
	return cell;
}

/*
 * Children have higher numbers than their parents: from the highest to the lowest, everything below
 * a context is done before it. Unmarks what was marked.
 */
static enum sonde_status propagate(struct hpcdb_encoder *encoder, const struct hpcdb_job *job,
				   const struct hpcdb_numbers *numbers, size_t marked,
				   struct sonde_error *err)
{
	struct targets targets = targets_of(numbers);
	struct marks *marks = &encoder->marks;
	struct cell *cell;
	uint32_t contexts = 0;

	if (!sonde_vec_reserve(&encoder->cells, marked * HPCDB_SCOPE_COUNT + 1))
		return sonde_fail_nomem(err);
	cell = encoder->cells.items + encoder->cells.count;
	for (size_t i = marks->above_count; i-- > 0;) {
		while (marks->above[i]) {
			unsigned int bit = 63 - (unsigned int)__builtin_clzll(marks->above[i]);
			size_t word = i * 64 + bit;
			uint64_t bits = marks->words[word];

			marks->above[i] ^= (uint64_t)1 << bit;
			marks->words[word] = 0;
			marks_add_word(&encoder->all, word, bits);
			while (bits) {
				struct cell *before = cell;
				uint32_t context;

				bit = 63 - (unsigned int)__builtin_clzll(bits);
				bits ^= (uint64_t)1 << bit;
				context = (uint32_t)(word * 64 + bit);
				cell = finish_context(encoder->sums, job->nodes, context, &targets,
						      cell);
				contexts += !encoder->places[context] && cell > before;
				encoder->places[context] += (uint32_t)(cell - before);
			}
		}
	}
	encoder->cells.count = (size_t)(cell - encoder->cells.items);
	encoder->contexts += contexts;
	return SONDE_OK;
}

/* The index of the plane: contexts that have values, and where these begin. */
static void put_index(struct hpcdb_encoder *encoder, uint8_t *out)
{
	struct marks *all = &encoder->all;
	uint32_t start = 0;

	for (size_t i = 0; i < all->above_count; i++) {
		for (; all->above[i]; all->above[i] &= all->above[i] - 1) {
			size_t word = i * 64 + (unsigned int)__builtin_ctzll(all->above[i]);
			uint64_t bits = all->words[word];

			all->words[word] = 0;
			for (; bits; bits &= bits - 1) {
				uint32_t context =
					(uint32_t)(word * 64 + (unsigned int)__builtin_ctzll(bits));
				uint32_t count = encoder->places[context];

				if (!count)
					continue;
				sonde_store_u32le(out, context);
				sonde_store_u64le(out + 4, start);
				out += HPCDB_PROFILE_INDEX_SIZE;
				encoder->places[context] = start;
				start += count;
				encoder->totals[context] += count;
			}
		}
	}
}

static enum sonde_status put_plane(struct hpcdb_encoder *encoder, struct sonde_buffer *bytes,
				   struct hpcdb_plane *plane, struct sonde_error *err)
{
	uint8_t *pairs, *index;

	if (encoder->cells.count > UINT32_MAX)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "more than %u values on one track", UINT32_MAX);
	*plane = (struct hpcdb_plane){ .values = encoder->cells.count,
				       .contexts = encoder->contexts };
	sonde_buffer_clear(bytes);
	pairs = (uint8_t *)sonde_buffer_reserve(bytes, hpcdb_plane_end(plane));
	if (!pairs)
		return sonde_fail_nomem(err);
	bytes->size = hpcdb_plane_end(plane);
	index = pairs + hpcdb_plane_index_offset(plane);
	if (plane->values % 2)
		memset(index - 2, 0, 2);
	put_index(encoder, index);
	for (size_t i = 0; i < encoder->cells.count; i++) {
		const struct cell *cell = &encoder->cells.items[i];
		uint8_t *pair =
			pairs + (size_t)encoder->places[cell->context]++ * HPCDB_PROFILE_VALUE_SIZE;

		sonde_store_u16le(pair, cell->id);
		hpcdb_store_double(pair + 2, cell->value);
	}
	for (uint32_t i = 0; i < plane->contexts; i++, index += HPCDB_PROFILE_INDEX_SIZE)
		encoder->places[sonde_load_u32le(index)] = 0;
	return SONDE_OK;
}

enum sonde_status hpcdb_encode(struct hpcdb_encoder *encoder, const struct hpcdb_job *job,
			       struct sonde_buffer *bytes, struct hpcdb_plane *plane,
			       struct sonde_error *err)
{
	const struct hpcdb_point *points;
	enum sonde_status status = group_points(encoder, job, &points, err);
	size_t start = 0;

	encoder->cells.count = 0;
	encoder->contexts = 0;
	for (uint32_t i = 0; i < job->world->metric_count && status >= 0; i++) {
		size_t end = encoder->group_ends[i], marked;

		if (start == end)
			continue;
		marked = spread(encoder, job->nodes, points + start, end - start);
		status = propagate(encoder, job, &job->plan.metrics[i], marked, err);
		start = end;
	}
	return status < 0 ? status : put_plane(encoder, bytes, plane, err);
}
