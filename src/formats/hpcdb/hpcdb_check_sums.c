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

/* Values of one metric in a context, and what children have of them. */
struct sums {
	double point, function, lex_aware, execution;
	double function_parts, execution_parts, loop_parts;
	double all_points; /* of all contexts, listed or not */
};

struct closing {
	struct hpcdb_check *check;
	const struct hpcdb_plane *plane;
	uint32_t *slots;
	struct sums *sums;
	struct sonde_diagnostics *found;
	uint32_t profile;
};

static struct sums *sums_of(const struct closing *closing, uint16_t id,
			    const struct hpcdb_scope_ids **ids)
{
	const struct hpcdb_check *check = closing->check;
	uint32_t instance = check->prop_instances[id], metric;

	if (instance == HPCDB_NO_RECORD)
		return NULL;
	metric = check->meta.instances.items[instance].metric;
	*ids = &check->scopes[metric];
	return &closing->sums[metric];
}

/* The values of a context, its own (child NULL) or as parts of its parent's. */
static void take_values(struct closing *closing, uint32_t number, const struct hpcdb_context *child)
{
	const struct hpcdb_scope_ids *ids;
	uint64_t first, end;

	hpcdb_plane_range(closing->plane, number, &first, &end);
	for (; first < end; first++) {
		uint16_t id = hpcdb_plane_metric(closing->plane, first);
		double value = hpcdb_plane_number(closing->plane, first);
		struct sums *sums = sums_of(closing, id, &ids);

		if (!sums)
			continue;
		if (!child && id == ids->point)
			sums->point = value;
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
	sums->point = sums->function = sums->lex_aware = sums->execution = 0;
	sums->function_parts = sums->execution_parts = sums->loop_parts = 0;
}

/* Which metrics a context has values of; they are looked at once, and cleared. */
static void check_context(struct closing *closing, uint32_t context)
{
	const struct hpcdb_check *check = closing->check;
	const struct hpcdb_context *contexts = check->tree.contexts.items;
	bool has_any = closing->slots[context];

	if (has_any)
		take_values(closing, closing->slots[context] - 1, NULL);
	for (uint32_t child = context + 1; child < contexts[context].end;
	     child = contexts[child].end) {
		if (!closing->slots[child])
			continue;
		take_values(closing, closing->slots[child] - 1, &contexts[child]);
		has_any = true;
	}
	for (uint32_t i = 0; has_any && i < check->meta.metrics.count; i++) {
		const struct sums *sums = &closing->sums[i];

		if (sums->point != 0 || sums->function != 0 || sums->lex_aware != 0 ||
		    sums->execution != 0 || sums->function_parts != 0 || sums->execution_parts != 0)
			check_sums(closing, context, i);
	}
}

/* All points against the root. */
static void check_root(struct closing *closing)
{
	struct hpcdb_check *check = closing->check;

	for (uint32_t i = 0; i < check->meta.metrics.count; i++) {
		const struct hpcdb_scope_ids *ids = &check->scopes[i];
		double all = closing->sums[i].all_points, root = 0;

		if (ids->point == HPCDB_NO_RECORD || ids->execution == HPCDB_NO_RECORD)
			continue;
		hpcdb_plane_find(closing->plane, 0, (uint16_t)ids->execution, &root);
		if (!hpcdb_is_close(all, root, fabs(all)))
			report(closing, 0, i, "all that was measured,", all, root);
	}
}

static void close_plane(struct closing *closing)
{
	struct hpcdb_check *check = closing->check;
	const struct hpcdb_scope_ids *ids;
	uint64_t first, end;

	for (uint32_t i = 0; i < closing->plane->context_count; i++) {
		uint32_t place =
			hpcdb_ids_find(&check->ids, hpcdb_plane_context(closing->plane, i));

		if (place != HPCDB_NO_RECORD)
			closing->slots[place] = i + 1;
		hpcdb_plane_range(closing->plane, i, &first, &end);
		for (; first < end; first++) {
			uint16_t id = hpcdb_plane_metric(closing->plane, first);
			struct sums *sums = sums_of(closing, id, &ids);

			if (sums && id == ids->point)
				sums->all_points += hpcdb_plane_number(closing->plane, first);
		}
	}
	for (uint32_t i = 0; i < check->tree.contexts.count; i++)
		check_context(closing, i);
	check_root(closing);
}

static enum sonde_status close_planes(struct hpcdb_check *check, uint32_t first, uint32_t end,
				      struct sonde_diagnostics *found, struct sonde_error *err)
{
	size_t contexts = check->tree.contexts.count, metrics = check->meta.metrics.count + 1;
	uint32_t *slots = malloc(contexts * sizeof(*slots));
	struct sums *sums = malloc(metrics * sizeof(*sums));
	struct closing closing = { .check = check, .found = found, .slots = slots, .sums = sums };
	enum sonde_status status = SONDE_OK;

	if (!slots || !sums) {
		free(slots);
		free(sums);
		return sonde_fail_nomem(err);
	}
	for (; first < end && status == SONDE_OK; first++) {
		struct hpcdb_profile_info info = hpcdb_profile_at(&check->profile, first);

		if (info.is_summary)
			continue;
		memset(slots, 0, contexts * sizeof(*slots));
		memset(sums, 0, metrics * sizeof(*sums));
		closing.plane = &info.plane;
		closing.profile = first;
		close_plane(&closing);
		status = sonde_meter_add(&check->meter, 0, err);
	}
	free(slots);
	free(sums);
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
