/* SPDX-License-Identifier: Apache-2.0 */
/* A finished intake as a recording: cursors over its files. */
#include <inttypes.h>
#include <stdlib.h>

#include "model/intake_private.h"

#define BATCH 4096
#define PASS_SIZE ((size_t)1 << 20)

/* The items of a track in a file, all of one size. */
struct items {
	const struct sonde_mapped_file *file;
	size_t size; /* of an item */
	uint64_t first, count;
	uint64_t next;	 /* index of the next one */
	uint64_t passed; /* all before it were given back */
};

/* Gives back all pages that were read since, and those around that the system mapped along with them. */
static void items_leave(struct items *items)
{
	uint64_t from = (items->first + items->passed) * items->size;
	uint64_t to = (items->first + items->next) * items->size + INTAKE_WINDOW;

	if (items->next == items->passed)
		return;
	sonde_mapped_file_pass(items->file, from > INTAKE_WINDOW ? from - INTAKE_WINDOW : 0,
			       to < items->file->size ? to : items->file->size);
	items->passed = items->next;
}

/* Up to `most` items; 0 after the last. Gives back the pages of those before, every now and then. */
static size_t items_next(struct items *items, size_t most, const void **found)
{
	uint64_t left = items->count > items->next ? items->count - items->next : 0;
	size_t taken = left < most ? (size_t)left : most;

	if ((items->next - items->passed) * items->size >= PASS_SIZE)
		items_leave(items);
	if (taken)
		*found = items->file->data + (items->first + items->next) * items->size;
	items->next += taken;
	return taken;
}

static void items_seek(struct items *items, uint64_t index)
{
	items->next = index < items->count ? index : items->count;
	items->passed = items->next;
}

/* To the first one not before this time; the time is what an item begins with. */
static void items_seek_time(struct items *items, uint64_t time_ns)
{
	uint64_t low = 0, high = items->count;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		const uint64_t *time =
			(const void *)(items->file->data + (items->first + middle) * items->size);

		if (*time < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	items_seek(items, low);
}

struct event_cursor {
	struct sonde_cursor base;
	struct sonde_intake *intake;
	struct items items;
	size_t batch;
	struct intake_pages detail_pages, byte_pages;
};

static enum sonde_status event_next(struct sonde_cursor *base, struct sonde_batch *batch,
				    struct sonde_error *err)
{
	struct event_cursor *cursor = (struct event_cursor *)base;
	const void *found = NULL;

	(void)err;
	batch->first_index = cursor->items.next;
	batch->count = items_next(&cursor->items, cursor->batch, &found);
	batch->events = found;
	return batch->count ? SONDE_OK : SONDE_END;
}

static void event_seek_index(struct sonde_cursor *base, uint64_t index)
{
	items_seek(&((struct event_cursor *)base)->items, index);
}

static void event_seek_time(struct sonde_cursor *base, uint64_t time_ns)
{
	items_seek_time(&((struct event_cursor *)base)->items, time_ns);
}

static uint64_t event_position(const struct sonde_cursor *base)
{
	return ((const struct event_cursor *)base)->items.next;
}

static void event_limit_batch(struct sonde_cursor *base, size_t events)
{
	struct event_cursor *cursor = (struct event_cursor *)base;

	if (events && events < cursor->batch)
		cursor->batch = events;
}

static enum sonde_status event_detail(struct sonde_cursor *base, uint64_t number,
				      struct sonde_detail *detail, struct sonde_error *err)
{
	struct event_cursor *cursor = (struct event_cursor *)base;
	const struct sonde_intake *intake = cursor->intake;
	const struct intake_track *track = &intake->tracks.items[base->track];
	const struct intake_detail_header *header;
	const struct sonde_event *events = (const void *)intake->events.data;
	const struct intake_detail *entry;

	if (number >= track->definition.detail_count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "there is no detail %" PRIu64 ": the track has %" PRIu64
				  ", numbered from 0",
				  number, track->definition.detail_count);
	entry = (const struct intake_detail *)(const void *)intake->details.data +
		track->first_detail + number;
	intake_touch(&cursor->detail_pages, &intake->details,
		     (track->first_detail + number) * sizeof(*entry), 0);
	header = (const void *)(intake->detail_bytes.data + entry->place);
	intake_touch(&cursor->byte_pages, &intake->detail_bytes, entry->place, header->size);
	*detail = (struct sonde_detail){
		.kind = SONDE_DETAIL_ARGUMENTS,
		.function = SONDE_NONE,
		.event_type = header->event_type,
		.event = entry->event,
		.time_ns = events[track->first_event + entry->event].time_ns,
		.bytes = (const uint8_t *)(header + 1),
		.size = header->size,
	};
	return SONDE_OK;
}

static void event_free(struct sonde_cursor *base)
{
	items_leave(&((struct event_cursor *)base)->items);
	free(base);
}

static const struct sonde_cursor_ops event_ops = {
	.next = event_next,
	.seek_index = event_seek_index,
	.seek_time = event_seek_time,
	.position = event_position,
	.limit_batch = event_limit_batch,
	.free = event_free,
};

static const struct sonde_cursor_ops event_detail_ops = {
	.next = event_next,
	.seek_index = event_seek_index,
	.seek_time = event_seek_time,
	.position = event_position,
	.detail = event_detail,
	.limit_batch = event_limit_batch,
	.free = event_free,
};

static enum sonde_status cursor_open(struct sonde_recording *recording, uint32_t track,
				     struct sonde_cursor **cursor, struct sonde_error *err)
{
	struct sonde_intake *intake = recording->data;
	const struct intake_track *read = &intake->tracks.items[track];
	struct event_cursor *made = calloc(1, sizeof(*made));

	if (!made)
		return sonde_fail_nomem(err);
	made->base.ops = intake->details.size ? &event_detail_ops : &event_ops;
	made->intake = intake;
	made->items = (struct items){
		.file = &intake->events,
		.size = sizeof(struct sonde_event),
		.first = read->first_event,
		.count = read->definition.event_count,
	};
	made->batch = BATCH;
	*cursor = &made->base;
	return SONDE_OK;
}

static enum sonde_status contexts(struct sonde_recording *recording,
				  const struct sonde_context **found, uint32_t *count,
				  struct sonde_error *err)
{
	struct sonde_intake *intake = recording->data;

	(void)err;
	if (!(recording->lanes & SONDE_LANE_CONTEXTS)) {
		*found = NULL;
		*count = 0;
		return SONDE_OK;
	}
	*found = sonde_context_union_contexts(intake->tree, count);
	return SONDE_OK;
}

struct value_cursor {
	struct sonde_value_cursor base;
	const struct sonde_value *values;
	size_t count;
};

static enum sonde_status value_next(struct sonde_value_cursor *base,
				    const struct sonde_value **values, size_t *count,
				    struct sonde_error *err)
{
	struct value_cursor *cursor = (struct value_cursor *)base;

	(void)err;
	*values = cursor->values;
	*count = cursor->count;
	cursor->count = 0;
	return *count ? SONDE_OK : SONDE_END;
}

static void value_free(struct sonde_value_cursor *base)
{
	free(base);
}

static enum sonde_status values_open(struct sonde_recording *recording, uint32_t track,
				     struct sonde_value_cursor **cursor, struct sonde_error *err)
{
	static const struct sonde_value_cursor_ops ops = { .next = value_next, .free = value_free };
	const struct sonde_intake *intake = recording->data;
	struct value_cursor *made;

	if (track == SONDE_NONE)
		return SONDE_END;
	made = calloc(1, sizeof(*made));
	if (!made)
		return sonde_fail_nomem(err);
	made->base.ops = &ops;
	made->values = intake->tracks.items[track].values.items.items;
	made->count = intake->tracks.items[track].values.items.count;
	*cursor = &made->base;
	return SONDE_OK;
}

static enum sonde_status value(struct sonde_recording *recording, uint32_t track, uint32_t context,
			       uint32_t metric, double *found, struct sonde_error *err)
{
	const struct sonde_intake *intake = recording->data;
	const struct sonde_value *values;
	size_t low = 0, high;

	(void)err;
	if (track == SONDE_NONE)
		return SONDE_END;
	values = intake->tracks.items[track].values.items.items;
	high = intake->tracks.items[track].values.items.count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (values[middle].context < context ||
		    (values[middle].context == context && values[middle].metric < metric))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == intake->tracks.items[track].values.items.count ||
	    values[low].context != context || values[low].metric != metric)
		return SONDE_END;
	*found = values[low].value;
	return SONDE_OK;
}

static uint64_t value_count(struct sonde_recording *recording)
{
	return ((const struct sonde_intake *)recording->data)->value_count;
}

struct sample_cursor {
	struct sonde_sample_cursor base;
	struct items items;
};

static enum sonde_status sample_next(struct sonde_sample_cursor *base,
				     const struct sonde_sample **samples, size_t *count,
				     struct sonde_error *err)
{
	struct sample_cursor *cursor = (struct sample_cursor *)base;
	const void *found = NULL;

	(void)err;
	*count = items_next(&cursor->items, BATCH, &found);
	*samples = found;
	return *count ? SONDE_OK : SONDE_END;
}

static void sample_seek_time(struct sonde_sample_cursor *base, uint64_t time_ns)
{
	items_seek_time(&((struct sample_cursor *)base)->items, time_ns);
}

static void sample_free(struct sonde_sample_cursor *base)
{
	items_leave(&((struct sample_cursor *)base)->items);
	free(base);
}

static enum sonde_status samples_open(struct sonde_recording *recording, uint32_t track,
				      struct sonde_sample_cursor **cursor, struct sonde_error *err)
{
	static const struct sonde_sample_cursor_ops ops = {
		.next = sample_next,
		.seek_time = sample_seek_time,
		.free = sample_free,
	};
	const struct sonde_intake *intake = recording->data;
	const struct intake_track *read = &intake->tracks.items[track];
	struct sample_cursor *made = calloc(1, sizeof(*made));

	if (!made)
		return sonde_fail_nomem(err);
	made->base.ops = &ops;
	made->items = (struct items){
		.file = &intake->samples,
		.size = sizeof(struct sonde_sample),
		.first = read->first_sample,
		.count = read->definition.sample_count,
	};
	*cursor = &made->base;
	return SONDE_OK;
}

static void close_intake(struct sonde_recording *recording)
{
	sonde_intake_free(recording->data);
}

const struct sonde_recording_ops intake_recording_ops = {
	.cursor_open = cursor_open,
	.contexts = contexts,
	.values_open = values_open,
	.value = value,
	.value_count = value_count,
	.samples_open = samples_open,
	.close = close_intake,
};
