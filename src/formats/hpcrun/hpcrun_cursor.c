/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values and samples of one track. A cursor reads its profile again and looks its nodes up in the union;
 * values are those of one thread and are kept, samples come from the mapped trace in pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "formats/hpcrun/hpcrun_layout.h"
#include "formats/hpcrun/hpcrun_read.h"

#define BATCH 4096

/* One epoch of a profile with the places of its nodes. */
struct read_back {
	struct hpcrun_profile profile;
	struct hpcrun_places places;
	struct sonde_diagnostics *ignored; /* what is wrong was said when it was opened */
};

static enum sonde_status read_epoch(struct read_back *back, struct hpcrun_recording *data,
				    const struct hpcrun_input *input, uint32_t epoch,
				    struct sonde_error *err)
{
	enum sonde_status status;

	if (!back->ignored)
		back->ignored = sonde_diagnostics_new();
	if (!back->ignored)
		return sonde_fail_nomem(err);
	status = hpcrun_profile_read(&back->profile, input->files.path, epoch, NULL, back->ignored,
				     err);
	if (!status)
		status = hpcrun_place_nodes(data, &back->profile, false, &back->places, err);
	if (status)
		sonde_error_set_file(err, input->files.path);
	return status;
}

static void read_back_release(struct read_back *back)
{
	hpcrun_profile_release(&back->profile);
	hpcrun_places_release(&back->places);
	sonde_diagnostics_free(back->ignored);
}

struct values {
	struct sonde_value_cursor base;
	SONDE_VEC(struct sonde_value) items;
	size_t position;
};

static enum sonde_status values_next(struct sonde_value_cursor *cursor,
				     const struct sonde_value **values, size_t *count,
				     struct sonde_error *err)
{
	struct values *own = (struct values *)cursor;

	(void)err;
	*values = own->items.items ? own->items.items + own->position : NULL;
	*count = own->items.count - own->position;
	own->position = own->items.count;
	return *count ? SONDE_OK : SONDE_END;
}

static void values_free(struct sonde_value_cursor *cursor)
{
	struct values *own = (struct values *)cursor;

	sonde_vec_release(&own->items);
	free(own);
}

static const struct sonde_value_cursor_ops values_ops = {
	.next = values_next,
	.free = values_free,
};

static enum sonde_status add_values(struct values *own, struct hpcrun_recording *data,
				    const struct read_back *back, uint32_t track,
				    struct sonde_error *err)
{
	const struct hpcrun_profile *profile = &back->profile;

	if (!sonde_vec_reserve(&own->items, profile->values.count))
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < profile->values.count; i++) {
		const struct hpcrun_value *value = &profile->values.items[i];
		const struct hpcrun_metric *metric = &profile->metrics.items[value->metric];
		struct sonde_value made = {
			.track = track,
			.context = data->numbers[back->places.items.items[value->node]],
			.metric = hpcrun_metric_number(data, metric),
			.value = value->value,
		};

		if (made.metric != SONDE_NONE)
			own->items.items[own->items.count++] = made;
	}
	return SONDE_OK;
}

/* By context, then metric; values of nodes that are one context are one. */
static enum sonde_status order_values(struct values *own, struct sonde_error *err)
{
	size_t count = own->items.count, kept = 0;
	struct sonde_sort_item *items = malloc((count + 1) * sizeof(*items));
	struct sonde_value *ordered = malloc((count + 1) * sizeof(*ordered));

	for (size_t i = 0; items && i < count; i++) {
		const struct sonde_value *value = &own->items.items[i];

		items[i].key = (uint64_t)value->context << 32 | value->metric;
		items[i].number = i;
	}
	if (!items || !ordered || !sonde_sort(items, count)) {
		free(items);
		free(ordered);
		return sonde_fail_nomem(err);
	}
	for (size_t i = 0; i < count; i++) {
		const struct sonde_value *value = &own->items.items[items[i].number];

		if (kept && items[i].key == items[i - 1].key)
			ordered[kept - 1].value += value->value;
		else
			ordered[kept++] = *value;
	}
	free(items);
	free(own->items.items);
	own->items.items = ordered;
	own->items.capacity = count + 1;
	own->items.count = 0;
	for (size_t i = 0; i < kept; i++) {
		if (ordered[i].value != 0)
			ordered[own->items.count++] = ordered[i];
	}
	return SONDE_OK;
}

enum sonde_status hpcrun_values_open(struct sonde_recording *recording, uint32_t track,
				     struct sonde_value_cursor **cursor, struct sonde_error *err)
{
	struct hpcrun_recording *data = recording->data;
	struct values *own = calloc(1, sizeof(*own));
	struct read_back back = { 0 };
	enum sonde_status status = SONDE_OK;

	if (!own)
		return sonde_fail_nomem(err);
	own->base.ops = &values_ops;
	/* there are no statistics: SONDE_NONE has no values */
	if (track != SONDE_NONE) {
		const struct hpcrun_input *input = &data->inputs.items[track];

		for (uint32_t epoch = 0; epoch < input->epochs && !status; epoch++) {
			status = read_epoch(&back, data, input, epoch, err);
			if (!status)
				status = add_values(own, data, &back, track, err);
		}
		if (!status)
			status = order_values(own, err);
	}
	read_back_release(&back);
	if (status) {
		values_free(&own->base);
		return status;
	}
	*cursor = &own->base;
	return SONDE_OK;
}

struct samples {
	struct sonde_sample_cursor base;
	uint32_t track;
	struct hpctrace trace;
	struct sonde_key_map contexts;	/* node id -> context */
	struct sonde_sort_item *sorted; /* time and node id; NULL: the trace is in order */
	uint64_t position;
	struct sonde_trail trail;
	struct hpctrace_record records[BATCH];
	struct sonde_sample batch[BATCH];
};

/* Records that were read. */
static void leave(struct samples *own, uint64_t first, size_t count)
{
	size_t start = HPCTRACE_HEADER_SIZE + first * own->trace.record_size;

	sonde_mapped_file_leave(&own->trace.file, &own->trail, start,
				start + count * own->trace.record_size);
}

static void take_records(struct samples *own, size_t count)
{
	if (!own->sorted) {
		hpctrace_read(&own->trace, own->position, own->records, count);
		leave(own, own->position, count);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		own->records[i].time_ns = own->sorted[own->position + i].key;
		own->records[i].node = (uint32_t)own->sorted[own->position + i].number;
	}
}

/* Those of nodes that are not there are left out; that was said when the recording was opened. */
static enum sonde_status samples_next(struct sonde_sample_cursor *cursor,
				      const struct sonde_sample **samples, size_t *count,
				      struct sonde_error *err)
{
	struct samples *own = (struct samples *)cursor;
	struct sonde_key_view view = sonde_key_map_view(&own->contexts);

	(void)err;
	*count = 0;
	*samples = own->batch;
	while (!*count && own->position < own->trace.count) {
		uint64_t left = own->trace.count - own->position;
		size_t records = left < BATCH ? (size_t)left : BATCH;

		take_records(own, records);
		for (size_t i = 0; i < records; i++) {
			uint32_t context = sonde_key_view_find(view, own->records[i].node);

			if (context == UINT32_MAX)
				continue;
			own->batch[(*count)++] = (struct sonde_sample){
				.time_ns = own->records[i].time_ns,
				.track = own->track,
				.context = context,
			};
		}
		own->position += records;
	}
	return *count ? SONDE_OK : SONDE_END;
}

static uint64_t time_at(const struct samples *own, uint64_t index)
{
	struct hpctrace_record record;

	if (own->sorted)
		return own->sorted[index].key;
	hpctrace_read(&own->trace, index, &record, 1);
	return record.time_ns;
}

static void samples_seek(struct sonde_sample_cursor *cursor, uint64_t time_ns)
{
	struct samples *own = (struct samples *)cursor;
	uint64_t low = 0, high = own->trace.count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (time_at(own, middle) < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	own->position = low;
}

static void samples_free(struct sonde_sample_cursor *cursor)
{
	struct samples *own = (struct samples *)cursor;

	hpctrace_release(&own->trace);
	sonde_key_map_release(&own->contexts);
	free(own->sorted);
	free(own);
}

static const struct sonde_sample_cursor_ops samples_ops = {
	.next = samples_next,
	.seek_time = samples_seek,
	.free = samples_free,
};

static enum sonde_status map_contexts(struct samples *own, struct hpcrun_recording *data,
				      const struct hpcrun_input *input, struct sonde_error *err)
{
	struct read_back back = { 0 };
	enum sonde_status status = SONDE_OK;

	for (uint32_t epoch = 0; epoch < input->epochs && !status; epoch++) {
		status = read_epoch(&back, data, input, epoch, err);
		for (size_t i = 0; i < back.profile.nodes.count && !status; i++) {
			uint32_t id = back.profile.nodes.items[i].id;

			if (sonde_key_map_find(&own->contexts, id) == UINT32_MAX &&
			    !sonde_key_map_add(&own->contexts, id,
					       data->numbers[back.places.items.items[i]]))
				status = sonde_fail_nomem(err);
		}
	}
	read_back_release(&back);
	return status;
}

static bool is_ordered(struct samples *own)
{
	uint64_t last = 0;

	for (uint64_t at = 0; at < own->trace.count; at += BATCH) {
		size_t count = hpctrace_read(&own->trace, at, own->records, BATCH);

		leave(own, at, count);
		for (size_t i = 0; i < count; i++) {
			if (own->records[i].time_ns < last)
				return false;
			last = own->records[i].time_ns;
		}
	}
	return true;
}

static enum sonde_status order_samples(struct samples *own, struct sonde_error *err)
{
	if (is_ordered(own))
		return SONDE_OK;
	own->sorted = malloc((size_t)own->trace.count * sizeof(*own->sorted));
	if (!own->sorted)
		return sonde_fail_nomem(err);
	for (uint64_t at = 0; at < own->trace.count; at += BATCH) {
		size_t count = hpctrace_read(&own->trace, at, own->records, BATCH);

		for (size_t i = 0; i < count; i++) {
			own->sorted[at + i].key = own->records[i].time_ns;
			own->sorted[at + i].number = own->records[i].node;
		}
	}
	return sonde_sort(own->sorted, (size_t)own->trace.count) ? SONDE_OK : sonde_fail_nomem(err);
}

enum sonde_status hpcrun_samples_open(struct sonde_recording *recording, uint32_t track,
				      struct sonde_sample_cursor **cursor, struct sonde_error *err)
{
	struct hpcrun_recording *data = recording->data;
	const struct hpcrun_input *input = &data->inputs.items[track];
	struct samples *own = calloc(1, sizeof(*own));
	enum sonde_status status = SONDE_OK;

	if (!own)
		return sonde_fail_nomem(err);
	own->base.ops = &samples_ops;
	own->track = track;
	if (input->files.trace) {
		status = hpctrace_open(&own->trace, input->files.trace, err);
		if (!status)
			status = map_contexts(own, data, input, err);
		if (!status)
			status = order_samples(own, err);
	}
	if (status) {
		samples_free(&own->base);
		return status;
	}
	*cursor = &own->base;
	return SONDE_OK;
}
