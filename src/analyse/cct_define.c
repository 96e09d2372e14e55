/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The definitions of a tree of contexts. They are its own, so that it can outlive the recording and lie in
 * the cache, and they have only what the tree needs: one function for all that say the same, in the order of
 * the recording.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/cct_private.h"
#include "base/map.h"
#include "model/recording.h"

enum sonde_status cct_copy_string(const struct sonde_definitions *source,
				  struct sonde_definitions *target, uint32_t string, uint32_t *id,
				  struct sonde_error *err)
{
	const char *text = sonde_definitions_string(source, string);

	return sonde_definitions_add_string(target, text, strlen(text), id, err);
}

struct places {
	const struct sonde_definitions *source;
	struct sonde_definitions *target;
	uint32_t first_clock, first_process, first_track;
};

static enum sonde_status copy_clocks(const struct places *places, struct sonde_error *err)
{
	uint32_t count = sonde_definitions_clock_count(places->source), id;
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; !status && i < count; i++) {
		struct sonde_clock clock = *sonde_definitions_clock(places->source, i);

		status = cct_copy_string(places->source, places->target, clock.name, &clock.name,
					 err);
		if (!status)
			status = sonde_definitions_add_clock(places->target, &clock, &id, err);
	}
	count = sonde_definitions_anchor_count(places->source);
	for (uint32_t i = 0; !status && i < count; i++) {
		struct sonde_anchor anchor = *sonde_definitions_anchor(places->source, i);

		anchor.clock += places->first_clock;
		status = sonde_definitions_add_anchor(places->target, &anchor, &id, err);
	}
	return status;
}

static enum sonde_status copy_processes(const struct places *places, struct sonde_error *err)
{
	uint32_t count = sonde_definitions_process_count(places->source), id;
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; !status && i < count; i++) {
		struct sonde_process process = *sonde_definitions_process(places->source, i);

		if (process.clock != SONDE_NONE)
			process.clock += places->first_clock;
		status = cct_copy_string(places->source, places->target, process.name,
					 &process.name, err);
		if (!status)
			status = sonde_definitions_add_process(places->target, &process, &id, err);
	}
	return status;
}

static enum sonde_status copy_tracks(const struct places *places, struct sonde_error *err)
{
	uint32_t count = sonde_definitions_track_count(places->source), id;
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; !status && i < count; i++) {
		struct sonde_track track = *sonde_definitions_track(places->source, i);

		if (track.process != SONDE_NONE)
			track.process += places->first_process;
		status = cct_copy_string(places->source, places->target, track.name, &track.name,
					 err);
		if (!status)
			status = sonde_definitions_add_track(places->target, &track, &id, err);
	}
	return status;
}

static bool move_owner(const struct places *places, struct sonde_attribute *attribute)
{
	switch (attribute->owner) {
	case SONDE_OWNER_RECORDING:
		return !places->first_track && !places->first_process;
	case SONDE_OWNER_PROCESS:
		attribute->owner_id += places->first_process;
		return true;
	case SONDE_OWNER_TRACK:
		attribute->owner_id += places->first_track;
		return true;
	case SONDE_OWNER_MODULE:
	case SONDE_OWNER_FUNCTION:
		break;
	}
	return false;
}

static enum sonde_status copy_attributes(const struct places *places, struct sonde_error *err)
{
	uint32_t count = sonde_definitions_attribute_count(places->source), id;
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; !status && i < count; i++) {
		struct sonde_attribute attribute = *sonde_definitions_attribute(places->source, i);

		if (!move_owner(places, &attribute))
			continue;
		status = cct_copy_string(places->source, places->target, attribute.name,
					 &attribute.name, err);
		if (!status)
			status = cct_copy_string(places->source, places->target, attribute.value,
						 &attribute.value, err);
		if (!status)
			status = sonde_definitions_add_attribute(places->target, &attribute, &id,
								 err);
	}
	return status;
}

enum sonde_status cct_copy_places(const struct sonde_definitions *source,
				  struct sonde_definitions *target, struct sonde_error *err)
{
	const struct places places = {
		.source = source,
		.target = target,
		.first_clock = sonde_definitions_clock_count(target),
		.first_process = sonde_definitions_process_count(target),
		.first_track = sonde_definitions_track_count(target),
	};
	enum sonde_status status = copy_clocks(&places, err);

	if (!status)
		status = copy_processes(&places, err);
	if (!status)
		status = copy_tracks(&places, err);
	if (!status)
		status = copy_attributes(&places, err);
	return status;
}

static uint32_t *nothing_yet(uint32_t count)
{
	uint32_t *ids = malloc(((size_t)count + 1) * sizeof(*ids));

	if (ids)
		memset(ids, 0xff, ((size_t)count + 1) * sizeof(*ids));
	return ids;
}

enum sonde_status cct_define_init(struct cct_define *define, const struct sonde_definitions *source,
				  struct sonde_definitions *target, struct sonde_error *err)
{
	*define = (struct cct_define){
		.source = source,
		.target = target,
		.function_count = sonde_definitions_function_count(source),
		.module_count = sonde_definitions_module_count(source),
	};
	define->functions = nothing_yet(define->function_count);
	define->modules = nothing_yet(define->module_count);
	if (define->functions && define->modules)
		return SONDE_OK;
	cct_define_release(define);
	return sonde_fail_nomem(err);
}

void cct_define_release(struct cct_define *define)
{
	free(define->functions);
	free(define->modules);
	*define = (struct cct_define){ 0 };
}

static enum sonde_status add_module(struct cct_define *define, uint32_t module,
				    struct sonde_key_map *paths, struct sonde_error *err)
{
	struct sonde_module copy = *sonde_definitions_module(define->source, module);
	uint32_t path = copy.path, id = sonde_key_map_find(paths, path);
	enum sonde_status status = SONDE_OK;

	if (id == SONDE_NONE) {
		status = cct_copy_string(define->source, define->target, path, &copy.path, err);
		if (!status)
			status = cct_copy_string(define->source, define->target, copy.uuid,
						 &copy.uuid, err);
		if (!status)
			status = sonde_definitions_add_module(define->target, &copy, &id, err);
		if (!status && !sonde_key_map_add(paths, path, id))
			status = sonde_fail_nomem(err);
	}
	define->modules[module] = id;
	return status;
}

static enum sonde_status add_function(struct cct_define *define, uint32_t function,
				      struct sonde_error *err)
{
	struct sonde_function copy = *sonde_definitions_function(define->source, function);
	enum sonde_status status;

	copy.module = copy.module < define->module_count ? define->modules[copy.module] :
							   SONDE_NONE;
	status = cct_copy_string(define->source, define->target, copy.name, &copy.name, err);
	if (!status)
		status = cct_copy_string(define->source, define->target, copy.raw_name,
					 &copy.raw_name, err);
	if (!status)
		status =
			cct_copy_string(define->source, define->target, copy.file, &copy.file, err);
	if (!status)
		status = sonde_definitions_add_function(define->target, &copy,
							&define->functions[function], err);
	return status;
}

/* Marks what the contexts have: 0 in the maps until it is defined. */
static void mark(struct cct_define *define, const struct sonde_context *contexts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_context *context = &contexts[i];

		if (context->module < define->module_count)
			define->modules[context->module] = 0;
		if (context->function < define->function_count) {
			uint32_t module =
				sonde_definitions_function(define->source, context->function)
					->module;

			define->functions[context->function] = 0;
			if (module < define->module_count)
				define->modules[module] = 0;
		}
	}
}

static enum sonde_status define_marked(struct cct_define *define, struct sonde_error *err)
{
	struct sonde_key_map paths = { NULL };
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; !status && i < define->module_count; i++) {
		if (define->modules[i] != SONDE_NONE)
			status = add_module(define, i, &paths, err);
	}
	for (uint32_t i = 0; !status && i < define->function_count; i++) {
		if (define->functions[i] != SONDE_NONE)
			status = add_function(define, i, err);
	}
	sonde_key_map_release(&paths);
	return status;
}

static enum sonde_status translate(const struct cct_define *define, struct sonde_context *context,
				   struct sonde_error *err)
{
	enum sonde_status status;

	context->function = context->function < define->function_count ?
				    define->functions[context->function] :
				    SONDE_NONE;
	context->module = context->module < define->module_count ?
				  define->modules[context->module] :
				  SONDE_NONE;
	status =
		cct_copy_string(define->source, define->target, context->file, &context->file, err);
	if (!status && context->kind == SONDE_CONTEXT_ENTRY && !context->name) {
		const char *name = sonde_entry_name(context->entry);

		return sonde_definitions_add_string(define->target, name, strlen(name),
						    &context->name, err);
	}
	if (!status)
		status = cct_copy_string(define->source, define->target, context->name,
					 &context->name, err);
	return status;
}

enum sonde_status cct_define_contexts(struct cct_define *define,
				      const struct sonde_context_union *tree, struct cct_body *body,
				      struct sonde_error *err)
{
	uint32_t count;
	const struct sonde_context *contexts = sonde_context_union_contexts(tree, &count);
	enum sonde_status status;

	mark(define, contexts, count);
	status = define_marked(define, err);
	if (status)
		return status;
	body->contexts = malloc((size_t)count * sizeof(*body->contexts));
	if (!body->contexts)
		return sonde_fail_nomem(err);
	body->context_count = count;
	for (uint32_t i = 0; !status && i < count; i++) {
		body->contexts[i] = contexts[i];
		status = translate(define, &body->contexts[i], err);
	}
	return status;
}
