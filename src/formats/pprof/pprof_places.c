/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over the contexts, parents first: each says how its location differs from that around it. */
#include "formats/pprof/pprof_places.h"

#include "model/context_frame.h"

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
	if (place->depth > PPROF_MOST_DEPTH) {
		places->too_deep++;
		be_part(places, number, context->parent);
		return true;
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
	/* what is too deep is part of a frame that it does not lie in */
	if (places->labels.of[above->holder] != places->labels.of[context->parent])
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

enum sonde_status pprof_places_make(struct pprof_places *places, const struct profile_sink *sink,
				    struct sonde_error *err)
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
	return SONDE_OK;
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
