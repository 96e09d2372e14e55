/* SPDX-License-Identifier: Apache-2.0 */
/*
 * That propagated values close. A listed context measured as much itself by its execution values as by
 * its function values: each without those of the children that are part of it. Unlisted contexts
 * count as part of the listed one above, in both alike. And all that was measured is in the root.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_check.h"
#include "formats/hpcdb/hpcdb_families.h"

/* Values of one metric in a context, and what children have of them. */
struct sums {
	double function, lex_aware, execution;
	double function_parts, execution_parts, loop_parts;
	double all_points;	  /* of all contexts, listed or not */
	bool is_used, is_touched; /* on one of the lists below */
};

struct closing {
	struct hpcdb_check *check;
	const struct hpcdb_plane *plane;
	struct hpcdb_families families;
	struct sums *sums; /* of each metric */
	/* metrics that the plane has, and those that the present family has */
	SONDE_VEC(uint32_t) used, touched;
	struct sonde_diagnostics *found;
	uint32_t profile;
};

/* The metric of an id; HPCDB_NO_RECORD for an id that nothing defines. */
static uint32_t metric_of(const struct closing *closing, uint16_t id)
{
	uint32_t instance = closing->check->prop_instances[id];

	return instance == HPCDB_NO_RECORD ? HPCDB_NO_RECORD :
					     closing->check->meta.instances.items[instance].metric;
}

/* The values of a context, its own (child NULL) or as parts of its parent's. */
static void take_values(struct closing *closing, uint32_t number, const struct hpcdb_context *child)
{
	uint64_t first, end;

	hpcdb_plane_range(closing->plane, number, &first, &end);
	for (; first < end; first++) {
		uint16_t id = hpcdb_plane_metric(closing->plane, first);
		double value = hpcdb_plane_number(closing->plane, first);
		uint32_t metric = metric_of(closing, id);
		const struct hpcdb_scope_ids *ids;
		struct sums *sums;

		if (metric == HPCDB_NO_RECORD)
			continue;
		ids = &closing->check->scopes[metric];
		sums = &closing->sums[metric];
		if (!sums->is_touched) /* there is room for all metrics */
			closing->touched.items[closing->touched.count++] = metric;
		sums->is_touched = true;
		if (!child && id == ids->function)
			sums->function = value;
		if (!child && id == ids->lex_aware)
			sums->lex_aware = value;
		if (!child && id == ids->execution)
			sums->execution = value;
		if (child && id == ids->execution)
			sums->execution_parts += value;
		if (child && id == ids->function && (child->propagation & ids->bit)) {
			sums->function_parts += value;
			if (child->lexical_type == HPCDB_LOOP)
				sums->loop_parts += value;
		}
	}
}

static void report(struct closing *closing, uint32_t context, uint32_t metric, const char *what,
		   double expected, double is)
{
	struct hpcdb_check *check = closing->check;

	hpcdb_found(closing->found, PROPAGATION, check->profile.file.path,
		    closing->plane->values_offset,
		    "%s %.17g in profile %" PRIu32 ", context %" PRIu32 ", \"%.40s\"\t%.17g", what,
		    expected, closing->profile, check->tree.contexts.items[context].id,
		    check->meta.metrics.items[metric].name.text, is);
}

static void check_lex_aware(struct closing *closing, uint32_t context, uint32_t metric,
			    const struct sums *sums)
{
	bool is_loop = closing->check->tree.contexts.items[context].lexical_type == HPCDB_LOOP &&
		       !closing->check->tree.contexts.items[context].is_entry;
	double least = sums->function - sums->function_parts;

	if (hpcdb_is_close(sums->lex_aware, sums->function, sums->function)) {
		if (is_loop && sums->loop_parts != 0)
			closing->check->loops_not_apart++;
		return;
	}
	if (!is_loop || sums->lex_aware > sums->function ||
	    (sums->lex_aware < least && !hpcdb_is_close(sums->lex_aware, least, sums->function)))
		report(closing, context, metric, "lex_aware to be",
		       sums->function - sums->loop_parts, sums->lex_aware);
}

static void check_sums(struct closing *closing, uint32_t context, uint32_t metric)
{
	const struct hpcdb_scope_ids *ids = &closing->check->scopes[metric];
	struct sums *sums = &closing->sums[metric];
	double by_function = sums->function - sums->function_parts;
	double by_execution = sums->execution - sums->execution_parts;
	double scale = fmax(fabs(sums->execution), fabs(sums->function));

	if (ids->function != HPCDB_NO_RECORD && ids->execution != HPCDB_NO_RECORD &&
	    !hpcdb_is_close(by_function, by_execution, scale))
		report(closing, context, metric, "execution to be",
		       sums->execution_parts + by_function, sums->execution);
	else if (ids->execution != HPCDB_NO_RECORD && by_execution < 0 && sums->execution >= 0 &&
		 !hpcdb_is_close(by_execution, 0, scale))
		report(closing, context, metric, "execution to be at least", sums->execution_parts,
		       sums->execution);
	if (ids->function != HPCDB_NO_RECORD && ids->lex_aware != HPCDB_NO_RECORD)
		check_lex_aware(closing, context, metric, sums);
	sums->function = sums->lex_aware = sums->execution = 0;
	sums->function_parts = sums->execution_parts = sums->loop_parts = 0;
	sums->is_touched = false;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The values of a context and its children, which are the members from `first` to before `end`. */
static void check_family(struct closing *closing, size_t first, size_t end)
{
	const struct hpcdb_context *contexts = closing->check->tree.contexts.items;
	const struct hpcdb_families *families = &closing->families;
	uint32_t head = hpcdb_family_head(families, first);

	closing->touched.count = 0;
	for (size_t i = first; i < end; i++) {
		uint32_t member = hpcdb_family_member(families, i);

		take_values(closing, (uint32_t)families->members.items[i].number,
			    member == head ? NULL : &contexts[member]);
	}
	if (closing->touched.count > 1)
		qsort(closing->touched.items, closing->touched.count, sizeof(uint32_t),
		      compare_numbers);
	for (size_t i = 0; i < closing->touched.count; i++)
		check_sums(closing, head, closing->touched.items[i]);
}

/* All points against the root. */
static void check_root(struct closing *closing)
{
	struct hpcdb_check *check = closing->check;

	for (size_t i = 0; i < closing->used.count; i++) {
		uint32_t metric = closing->used.items[i];
		const struct hpcdb_scope_ids *ids = &check->scopes[metric];
		double all = closing->sums[metric].all_points, root = 0;

		if (ids->point == HPCDB_NO_RECORD || ids->execution == HPCDB_NO_RECORD)
			continue;
		hpcdb_plane_find(closing->plane, 0, (uint16_t)ids->execution, &root);
		if (!hpcdb_is_close(all, root, fabs(all)))
			report(closing, 0, metric, "all that was measured,", all, root);
	}
}

/* Which metrics the plane has, and all that was measured of them. */
static void add_points(struct closing *closing)
{
	const struct hpcdb_plane *plane = closing->plane;

	closing->used.count = 0;
	for (uint64_t i = 0; i < plane->value_count; i++) {
		uint16_t id = hpcdb_plane_metric(plane, i);
		uint32_t metric = metric_of(closing, id);
		struct sums *sums;

		if (metric == HPCDB_NO_RECORD)
			continue;
		sums = &closing->sums[metric];
		if (!sums->is_used) /* there is room for all metrics */
			closing->used.items[closing->used.count++] = metric;
		sums->is_used = true;
		if (id == closing->check->scopes[metric].point)
			sums->all_points += hpcdb_plane_number(plane, i);
	}
	if (closing->used.count > 1)
		qsort(closing->used.items, closing->used.count, sizeof(uint32_t), compare_numbers);
}

static enum sonde_status close_plane(struct closing *closing, struct sonde_error *err)
{
	const struct hpcdb_families *families = &closing->families;

	if (!hpcdb_families_build(&closing->families, closing->plane, &closing->check->tree,
				  &closing->check->ids))
		return sonde_fail_nomem(err);
	add_points(closing);
	for (size_t i = 0, end; i < families->members.count; i = end) {
		end = hpcdb_family_end(families, i);
		check_family(closing, i, end);
	}
	check_root(closing);
	for (size_t i = 0; i < closing->used.count; i++)
		closing->sums[closing->used.items[i]] = (struct sums){ 0 };
	return sonde_meter_add(&closing->check->meter, 0, err);
}

static enum sonde_status close_planes(struct hpcdb_check *check, uint32_t first, uint32_t end,
				      struct sonde_diagnostics *found, struct sonde_error *err)
{
	size_t metrics = check->meta.metrics.count + 1;
	struct sums *sums = calloc(metrics, sizeof(*sums));
	struct closing closing = { .check = check, .found = found, .sums = sums };
	enum sonde_status status = SONDE_OK;

	if (!sums || !sonde_vec_reserve(&closing.used, metrics) ||
	    !sonde_vec_reserve(&closing.touched, metrics))
		status = sonde_fail_nomem(err);
	for (; first < end && status == SONDE_OK; first++) {
		struct hpcdb_profile_info info = hpcdb_profile_at(&check->profile, first);

		if (info.is_summary)
			continue;
		closing.plane = &info.plane;
		closing.profile = first;
		status = close_plane(&closing, err);
	}
	free(sums);
	sonde_vec_release(&closing.used);
	sonde_vec_release(&closing.touched);
	hpcdb_families_release(&closing.families);
	return status;
}

enum sonde_status hpcdb_check_propagation(struct hpcdb_check *check, struct sonde_error *err)
{
	enum sonde_status status;

	if (!check->has_good_planes || !check->meta.file.data || check->tree.faults)
		return SONDE_OK;
	status = hpcdb_check_run(check, hpcdb_profile_count(&check->profile), close_planes, err);
	if (check->loops_not_apart)
		hpcdb_found(check->found, LEX_AWARE, check->profile.file.path, SONDE_NO_OFFSET,
			    "loops without those within them\t%" PRIu64 " values with them",
			    (uint64_t)check->loops_not_apart);
	return status;
}
