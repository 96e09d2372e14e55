/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands in for hooks that a format does not have: the values of one context, and one value, are
 * found by reading the values of the tracks. Memory grows with what is found.
 */
#include "model/profile_scan.h"

#include <stdlib.h>

#include "base/sort.h"
#include "base/vec.h"

struct scan_cursor {
	struct sonde_value_cursor base;
	SONDE_VEC(struct sonde_value) values;
	bool is_done;
};

static enum sonde_status scan_next(struct sonde_value_cursor *base,
				   const struct sonde_value **values, size_t *count,
				   struct sonde_error *err)
{
	struct scan_cursor *cursor = (struct scan_cursor *)base;

	(void)err;
	*values = cursor->values.items;
	*count = cursor->is_done ? 0 : cursor->values.count;
	cursor->is_done = true;
	return *count ? SONDE_OK : SONDE_END;
}

static void scan_free(struct sonde_value_cursor *base)
{
	struct scan_cursor *cursor = (struct scan_cursor *)base;

	sonde_vec_release(&cursor->values);
	free(cursor);
}

/* The first value that is not before this context; SONDE_END where all are. */
static enum sonde_status next_from(struct sonde_value_cursor *cursor, uint32_t context,
				   const struct sonde_value **values, size_t *count,
				   struct sonde_error *err)
{
	enum sonde_status status;

	while (!(status = sonde_value_cursor_next(cursor, values, count, err))) {
		while (*count && (*values)->context < context) {
			++*values;
			--*count;
		}
		if (*count)
			break;
	}
	return status;
}

/* Adds the values that a track has in a context. */
static enum sonde_status scan_track(struct scan_cursor *scan, struct sonde_recording *recording,
				    uint32_t track, uint32_t context, struct sonde_error *err)
{
	struct sonde_value_cursor *cursor = NULL;
	const struct sonde_value *values;
	enum sonde_status status;
	bool is_behind = false;
	size_t count;

	status = sonde_value_cursor_open(recording, track, &cursor, err);
	if (status)
		return status;
	while (!is_behind && !(status = next_from(cursor, context, &values, &count, err))) {
		for (size_t i = 0; i < count && !is_behind; i++) {
			struct sonde_value *added;

			is_behind = values[i].context != context;
			if (is_behind)
				break;
			added = sonde_vec_push(&scan->values);
			if (!added) {
				sonde_value_cursor_free(cursor);
				return sonde_fail_nomem(err);
			}
			*added = values[i];
		}
	}
	sonde_value_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

/* They came ordered by track, and are wanted by metric first. */
static bool order_by_metric(struct scan_cursor *scan)
{
	size_t count = scan->values.count;
	struct sonde_sort_item *items = calloc(count + 1, sizeof(*items));
	struct sonde_value *sorted = calloc(count + 1, sizeof(*sorted));
	bool happened = items && sorted;

	for (size_t i = 0; happened && i < count; i++)
		items[i] = (struct sonde_sort_item){ .key = scan->values.items[i].metric,
						     .number = i };
	happened = happened && sonde_sort(items, count);
	for (size_t i = 0; happened && i < count; i++)
		sorted[i] = scan->values.items[items[i].number];
	free(items);
	if (!happened) {
		free(sorted);
		return false;
	}
	free(scan->values.items);
	scan->values.items = sorted;
	scan->values.capacity = count + 1;
	return true;
}

enum sonde_status sonde_scan_context(struct sonde_recording *recording, uint32_t context,
				     struct sonde_value_cursor **cursor, struct sonde_error *err)
{
	static const struct sonde_value_cursor_ops ops = { .next = scan_next, .free = scan_free };
	uint32_t tracks = sonde_definitions_track_count(recording->definitions);
	struct scan_cursor *scan = calloc(1, sizeof(*scan));
	enum sonde_status status = SONDE_OK;

	if (!scan)
		return sonde_fail_nomem(err);
	scan->base.ops = &ops;
	for (uint32_t i = 0; !status && i < tracks; i++)
		status = scan_track(scan, recording, i, context, err);
	if (!status && !order_by_metric(scan))
		status = sonde_fail_nomem(err);
	if (status) {
		scan_free(&scan->base);
		return status;
	}
	*cursor = &scan->base;
	return SONDE_OK;
}

enum sonde_status sonde_scan_value(struct sonde_recording *recording, uint32_t track,
				   uint32_t context, uint32_t metric, double *value,
				   struct sonde_error *err)
{
	struct sonde_value_cursor *cursor = NULL;
	const struct sonde_value *values;
	enum sonde_status status;
	bool is_over = false, is_found = false;
	size_t count;

	status = sonde_value_cursor_open(recording, track, &cursor, err);
	if (status)
		return status;
	while (!is_over && !(status = next_from(cursor, context, &values, &count, err))) {
		for (size_t i = 0; i < count && !is_over; i++) {
			is_found = values[i].context == context && values[i].metric == metric;
			is_over = is_found || values[i].context != context;
			if (is_found)
				*value = values[i].value;
		}
	}
	sonde_value_cursor_free(cursor);
	if (status)
		return status;
	return is_found ? SONDE_OK : SONDE_END;
}

enum sonde_status sonde_scan_value_count(struct sonde_recording *recording, uint64_t *count,
					 struct sonde_error *err)
{
	uint32_t tracks = sonde_definitions_track_count(recording->definitions);

	*count = 0;
	for (uint32_t i = 0; i < tracks; i++) {
		struct sonde_value_cursor *cursor = NULL;
		const struct sonde_value *values;
		enum sonde_status status = sonde_value_cursor_open(recording, i, &cursor, err);
		size_t batch;

		if (status)
			return status;
		while (!(status = sonde_value_cursor_next(cursor, &values, &batch, err)))
			*count += batch;
		sonde_value_cursor_free(cursor);
		if (status != SONDE_END)
			return status;
	}
	return SONDE_OK;
}
