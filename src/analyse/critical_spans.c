/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans of a store: a call on a track of its own may be the child of one on another, as its detail says. Only
 * those are kept; their parents are looked for in a second pass.
 */
#include <stdlib.h>
#include <string.h>

#include <sonde/arguments.h>

#include "analyse/critical_private.h"

/* A call at the top of a track whose parent is a span elsewhere. */
struct orphan {
	uint64_t parent; /* span */
	uint64_t begin_index, end_index;
	uint64_t end_ns;
	uint32_t track;
	uint32_t next; /* of the same parent; SONDE_NONE: the last */
	bool is_found; /* of the first of a parent: that was met; a second of its number counts for nothing */
};

/* An event type that says which span a call is. */
struct span_type {
	struct sonde_signature *signature; /* NULL: it does not */
};

struct spans {
	struct critical_work *work;
	struct span_type *types; /* by event type */
	uint32_t type_count;	 /* 0: there are no spans */
	uint32_t allocated;
	SONDE_VEC(struct orphan) orphans;
	struct sonde_key_map first; /* parent -> first orphan of it */
	/* of the track that is read */
	uint32_t node, open_orphan;
	uint64_t index;
};

static bool is_span_type(const struct sonde_signature *signature)
{
	unsigned int found = 0;

	for (size_t i = 0; i < sonde_signature_count(signature); i++) {
		const struct sonde_argument_spec *spec = sonde_signature_at(signature, i);

		if (spec->type != SONDE_ARGUMENT_UINT64 || spec->is_array)
			continue;
		found |= !strcmp(spec->name, "span") ? 1 : !strcmp(spec->name, "parent") ? 2 : 0;
	}
	return found == 3;
}

/* False where memory failed; no types where the recording has no spans. */
static bool find_types(struct spans *spans)
{
	const struct sonde_definitions *definitions = spans->work->definitions;
	uint32_t count = sonde_definitions_event_type_count(definitions);
	bool has_any = false;

	spans->types = calloc((size_t)count + 1, sizeof(*spans->types));
	if (!spans->types)
		return false;
	spans->type_count = spans->allocated = count;
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_event_type *type = sonde_definitions_event_type(definitions, i);
		struct sonde_signature *signature = NULL;

		if (sonde_signature_parse(sonde_definitions_string(definitions, type->arguments),
					  &signature, NULL) < 0)
			continue;
		if (is_span_type(signature)) {
			spans->types[i].signature = signature;
			has_any = true;
		} else {
			sonde_signature_free(signature);
		}
	}
	if (!has_any)
		spans->type_count = 0;
	return true;
}

/* Which span a call is, and that of its parent; false where its detail does not say. */
static bool read_span(const struct spans *spans, const struct sonde_batch *batch,
		      const struct sonde_event *event, uint64_t *span, uint64_t *parent)
{
	struct sonde_arguments arguments = { 0 };
	struct sonde_argument argument = { 0 };
	struct sonde_detail detail;

	*span = *parent = 0;
	if (!sonde_event_has_detail(event) ||
	    sonde_batch_detail(batch, event, &detail, NULL) != SONDE_OK ||
	    detail.kind != SONDE_DETAIL_ARGUMENTS || detail.event_type >= spans->type_count ||
	    !spans->types[detail.event_type].signature)
		return false;
	arguments.signature = spans->types[detail.event_type].signature;
	arguments.bytes = detail.bytes;
	arguments.size = detail.size;
	while (sonde_arguments_next(&arguments, &argument, NULL) == SONDE_OK) {
		if (argument.spec->type != SONDE_ARGUMENT_UINT64 || argument.spec->is_array)
			continue;
		if (!strcmp(argument.spec->name, "span"))
			*span = argument.value.u64;
		else if (!strcmp(argument.spec->name, "parent"))
			*parent = argument.value.u64;
	}
	return true;
}

static bool add_orphan(struct spans *spans, uint32_t track, uint64_t parent)
{
	uint32_t number = (uint32_t)spans->orphans.count, first;
	struct orphan *orphan = sonde_vec_push(&spans->orphans);

	if (!orphan)
		return false;
	*orphan = (struct orphan){
		.parent = parent,
		.begin_index = spans->index,
		.end_index = UINT64_MAX,
		.track = track,
		.next = SONDE_NONE,
	};
	spans->open_orphan = number;
	first = sonde_key_map_find(&spans->first, parent);
	if (first == UINT32_MAX)
		return sonde_key_map_add(&spans->first, parent, number);
	orphan->next = spans->orphans.items[first].next;
	spans->orphans.items[first].next = number;
	return true;
}

/* The first pass: calls at the top of a track that have a parent. */
static enum sonde_status take_orphans(struct critical_work *work, uint32_t track,
				      const struct sonde_batch *batch, size_t count, void *user,
				      struct sonde_error *err)
{
	struct spans *spans = user;
	uint64_t span, parent;

	for (size_t i = 0; i < count; i++, spans->index++) {
		const struct sonde_event *event = &batch->events[i];
		uint32_t before = spans->node;

		spans->node = critical_step(work, before, event);
		if (spans->node == SONDE_NONE)
			return sonde_fail_nomem(err);
		if (!before && spans->node) {
			spans->open_orphan = SONDE_NONE;
			if (read_span(spans, batch, event, &span, &parent) && parent &&
			    !add_orphan(spans, track, parent))
				return sonde_fail_nomem(err);
		} else if (before && !spans->node && spans->open_orphan != SONDE_NONE) {
			struct orphan *orphan = &spans->orphans.items[spans->open_orphan];

			orphan->end_index = spans->index;
			orphan->end_ns = event->time_ns;
			spans->open_orphan = SONDE_NONE;
		}
	}
	return SONDE_OK;
}

static bool tie(struct critical_work *work, const struct orphan *orphan, uint32_t track,
		uint32_t depth)
{
	struct critical_span_begin *begin =
		sonde_vec_push(&work->tracks[orphan->track].span_begins);
	struct critical_span_end *end;

	if (!begin)
		return false;
	*begin = (struct critical_span_begin){ orphan->begin_index, track };
	work->path->spans++;
	if (orphan->end_index == UINT64_MAX)
		return true;
	end = sonde_vec_push(&work->tracks[track].span_ends);
	if (end)
		*end = (struct critical_span_end){
			.time_ns = orphan->end_ns,
			.from_index = orphan->end_index,
			.from_track = orphan->track,
			.depth = depth,
		};
	return end;
}

/* The second pass: who the parents are. */
static enum sonde_status take_parents(struct critical_work *work, uint32_t track,
				      const struct sonde_batch *batch, size_t count, void *user,
				      struct sonde_error *err)
{
	struct spans *spans = user;
	uint64_t span, parent;

	for (size_t i = 0; i < count; i++) {
		const struct sonde_event *event = &batch->events[i];
		uint32_t orphan;

		spans->node = critical_step(work, spans->node, event);
		if (spans->node == SONDE_NONE)
			return sonde_fail_nomem(err);
		if (event->kind != SONDE_EVENT_CALL ||
		    !read_span(spans, batch, event, &span, &parent) || !span)
			continue;
		orphan = sonde_key_map_find(&spans->first, span);
		if (orphan == UINT32_MAX || spans->orphans.items[orphan].is_found)
			continue;
		spans->orphans.items[orphan].is_found = true;
		while (orphan != UINT32_MAX) {
			const struct orphan *found = &spans->orphans.items[orphan];

			if (found->track != track &&
			    !tie(work, found, track, work->nodes.items[spans->node].depth))
				return sonde_fail_nomem(err);
			orphan = found->next;
		}
	}
	return SONDE_OK;
}

static int compare_begins(const void *left, const void *right)
{
	const struct critical_span_begin *a = left, *b = right;

	return a->index < b->index ? -1 : a->index > b->index;
}

static int compare_ends(const void *left, const void *right)
{
	const struct critical_span_end *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->from_track != b->from_track)
		return a->from_track < b->from_track ? -1 : 1;
	return a->from_index < b->from_index ? -1 : a->from_index > b->from_index;
}

static void sort_ties(struct critical_track *track)
{
	if (track->span_begins.count)
		qsort(track->span_begins.items, track->span_begins.count,
		      sizeof(struct critical_span_begin), compare_begins);
	if (track->span_ends.count)
		qsort(track->span_ends.items, track->span_ends.count,
		      sizeof(struct critical_span_end), compare_ends);
}

static enum sonde_status read_tracks(struct spans *spans, critical_take *take,
				     struct sonde_error *err)
{
	struct critical_work *work = spans->work;
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; i < work->track_count && status == SONDE_OK; i++) {
		spans->node = 0;
		spans->index = 0;
		spans->open_orphan = SONDE_NONE;
		if (work->tracks[i].is_wanted)
			status = critical_read(work, i, take, spans, err);
	}
	return status;
}

enum sonde_status critical_gather_spans(struct critical_work *work, struct sonde_error *err)
{
	struct spans spans = { .work = work };
	enum sonde_status status = find_types(&spans) ? SONDE_OK : sonde_fail_nomem(err);

	if (status == SONDE_OK && spans.type_count)
		status = read_tracks(&spans, take_orphans, err);
	if (status == SONDE_OK && spans.orphans.count)
		status = read_tracks(&spans, take_parents, err);
	for (uint32_t i = 0; i < work->track_count; i++)
		sort_ties(&work->tracks[i]);
	for (uint32_t i = 0; i < spans.allocated; i++)
		sonde_signature_free(spans.types[i].signature);
	free(spans.types);
	sonde_vec_release(&spans.orphans);
	sonde_key_map_release(&spans.first);
	return status;
}
