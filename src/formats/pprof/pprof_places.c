/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the contexts, parents first: each says how its location differs from that around it. */
#include "formats/pprof/pprof_places.h"

#include "formats/deep_stacks.h"
#include "model/context_frame.h"

#define DEEP_ROOM (UINT64_C(64) << 20) /* bytes before gzip */
#define LOCATION_SIZE 3		       /* bytes, mostly */
#define MOST_INLINING 200 /* lines of one location; more of them are locations of their own */

static uint32_t find_location(struct pprof_places *places, const struct pprof_location *like)
{
	/* What does not fit into a key is as good as never mistaken. */
	uint64_t key = sonde_hash_also((uint64_t)like->label << 32 | like->line, like->outer);
	struct pprof_location *location;
	uint32_t number;

	key = sonde_hash_also(sonde_hash_also(key, like->module), like->address);
	number = sonde_key_map_find(&places->keys, key);
	if (number != SONDE_NONE)
		return number;
	number = (uint32_t)places->locations.count;
	location = sonde_vec_push(&places->locations);
	if (!location || !sonde_key_map_add(&places->keys, key, number))
		return SONDE_NONE;
	*location = *like;
	return number;
}

static uint32_t module_of(const struct pprof_places *places, uint32_t label)
{
	const struct sonde_function *function = profile_label_function(&places->labels, label);

	return function ? function->module : SONDE_NONE;
}

/* A frame that is called, or inlined: its line comes to be known further below. */
static struct pprof_location begin_frame(struct pprof_places *places, uint32_t number)
{
	const struct sonde_context *context = &places->labels.sink->contexts[number];
	uint32_t around = places->of[context->parent].location;
	struct pprof_location location = {
		.label = places->labels.of[number],
		.outer = SONDE_NONE,
		.module = module_of(places, places->labels.of[number]),
	};

	if (context->kind != SONDE_CONTEXT_FUNCTION) {
		location.label = context->kind == SONDE_CONTEXT_INSTRUCTION ? SONDE_NONE :
									      location.label;
		location.module = context->module;
		location.address = context->address;
		return location;
	}
	if (context->relation != SONDE_CONTEXT_INLINED || around == SONDE_NONE)
		return location;
	if (places->locations.items[around].inlining >= MOST_INLINING) {
		places->inlining_cut++;
		return location;
	}
	location.outer = around;
	location.inlining = places->locations.items[around].inlining + 1;
	return location;
}

/* A line or an instruction of the frame around it. False: it does not differ from that. */
static bool refine_frame(struct pprof_places *places, const struct sonde_context *context,
			 struct pprof_location *location)
{
	const struct sonde_function *function;

	switch (context->kind) {
	case SONDE_CONTEXT_LINE:
		function = location->label == SONDE_NONE ?
				   NULL :
				   profile_label_function(&places->labels, location->label);
		if (function && function->file != context->file) {
			places->other_files++;
			return false;
		}
		location->line = context->line;
		return true;
	case SONDE_CONTEXT_INSTRUCTION:
		location->module = context->module;
		location->address = context->address;
		return true;
	default:
		places->loops++;
		return false;
	}
}

/* What its stack is the same as that of: itself, or the context around it. */
static void be_part(struct pprof_places *places, uint32_t number, uint32_t parent)
{
	places->of[number] = places->of[parent];
}

static bool place_frame(struct pprof_places *places, uint32_t number)
{
	const struct sonde_context *context = &places->labels.sink->contexts[number];
	const struct pprof_place *above = &places->of[context->parent];
	struct pprof_location location = begin_frame(places, number);
	struct pprof_place *place = &places->of[number];

	*place = (struct pprof_place){ .holder = number, .entry = above->entry };
	if (location.outer != SONDE_NONE) {
		place->caller = above->caller;
		place->depth = above->depth;
	} else if (above->location != SONDE_NONE) {
		place->caller = context->parent;
		place->depth = above->depth + 1;
	} else {
		place->caller = SONDE_NONE;
		place->depth = 1;
	}
	place->location = find_location(places, &location);
	return place->location != SONDE_NONE;
}

static bool place_part(struct pprof_places *places, uint32_t number)
{
	const struct sonde_context *context = &places->labels.sink->contexts[number];
	const struct pprof_place *above = &places->of[context->parent];
	struct pprof_location location;

	be_part(places, number, context->parent);
	if (above->location == SONDE_NONE)
		return true;
	location = places->locations.items[above->location];
	location.is_used = false;
	if (!refine_frame(places, context, &location))
		return true;
	places->of[number].holder = number;
	places->of[number].location = find_location(places, &location);
	return places->of[number].location != SONDE_NONE;
}

static bool place_context(struct pprof_places *places, uint32_t number)
{
	const struct sonde_context *context = &places->labels.sink->contexts[number];

	if (!number || context->kind == SONDE_CONTEXT_ENTRY) {
		places->of[number] = (struct pprof_place){
			.location = SONDE_NONE,
			.caller = SONDE_NONE,
			.holder = number,
			.entry = number ? number : SONDE_NONE,
		};
		return true;
	}
	return sonde_context_has_frame(context) ? place_frame(places, number) :
						  place_part(places, number);
}

/* Nodes are contexts: what is written for another one was spent in that. */
static struct deep_node *make_nodes(const struct pprof_places *places)
{
	const struct profile_sink *sink = places->labels.sink;
	struct deep_node *nodes = calloc(sink->context_count, sizeof(*nodes));

	for (uint32_t i = 1; nodes && i < sink->context_count; i++)
		nodes[i] = (struct deep_node){
			.parent = sink->contexts[i].parent,
			.depth = places->of[i].depth,
			.size = (uint64_t)places->of[i].depth * LOCATION_SIZE,
		};
	for (uint32_t i = 0; nodes && i < sink->track_count; i++) {
		size_t count;
		const struct profile_point *points = profile_sink_points(sink, i, &count);

		for (size_t k = 0; k < count; k++)
			nodes[places->of[points[k].context].holder].is_spent = true;
	}
	return nodes;
}

static enum sonde_status choose_stacks(struct pprof_places *places, bool is_summed,
				       struct sonde_error *err)
{
	const struct profile_sink *sink = places->labels.sink;
	uint64_t room = is_summed || !sink->track_count ? DEEP_ROOM : DEEP_ROOM / sink->track_count;
	struct deep_node *nodes = make_nodes(places);

	if (!nodes)
		return sonde_fail_nomem(err);
	places->moved = deep_stacks_choose(nodes, sink->context_count, room);
	for (uint32_t i = 0; i < sink->context_count; i++) {
		uint32_t holder = places->of[i].holder;

		if (holder == i)
			holder = nodes[i].written;
		if (holder != i) /* one before, of which this is settled */
			places->of[i].holder = places->of[holder].holder;
		places->unmeasured += i && !nodes[i].is_inside &&
				      sonde_context_has_frame(&sink->contexts[i]);
	}
	free(nodes);
	return SONDE_OK;
}

enum sonde_status pprof_places_make(struct pprof_places *places, const struct profile_sink *sink,
				    bool is_summed, struct sonde_error *err)
{
	enum sonde_status status;

	*places = (struct pprof_places){ 0 };
	status = profile_labels_make(&places->labels, sink, false, err);
	if (status)
		return status;
	places->of = malloc(sink->context_count * sizeof(*places->of));
	if (!places->of)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < sink->context_count; i++) {
		if (!place_context(places, i))
			return sonde_fail_nomem(err);
	}
	return choose_stacks(places, is_summed, err);
}

void pprof_places_release(struct pprof_places *places)
{
	profile_labels_release(&places->labels);
	free(places->of);
	sonde_vec_release(&places->locations);
	sonde_key_map_release(&places->keys);
}

uint32_t pprof_place_anyhow(struct pprof_places *places, uint32_t context)
{
	const struct pprof_location location = {
		.label = places->labels.of[context],
		.outer = SONDE_NONE,
		.module = SONDE_NONE,
	};

	return find_location(places, &location);
}
