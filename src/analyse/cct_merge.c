/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several trees of contexts as one. Functions are matched by what stays from one build of a program to the
 * next: their names, and the base names of module and file. So contexts match although addresses moved.
 */
#include <stdlib.h>
#include <string.h>

#include "analyse/cct_private.h"
#include "analyse/derive.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/map.h"

/* One part: its ids in the whole. */
struct part {
	const struct cct *cct;
	const struct cct_names *names; /* or NULL */
	uint32_t *functions, *modules, *contexts, *metrics;
	uint32_t first_track, first_process;
};

struct merge {
	struct part *parts;
	size_t count;
	struct cct_body *body;
	struct sonde_context_union *tree;
	struct sonde_arena texts; /* what the maps borrow */
	struct sonde_text_map functions, modules;
};

static const char *base_name(const struct sonde_definitions *definitions, uint32_t string)
{
	const char *path = sonde_definitions_string(definitions, string);
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The number that a text has in a map, or SONDE_NONE, and then the text is kept for it. */
static enum sonde_status find_or_keep(struct merge *merge, struct sonde_text_map *map,
				      struct sonde_buffer *text, uint32_t next, uint32_t *found,
				      struct sonde_error *err)
{
	char *kept;

	if (text->failed)
		return sonde_fail_nomem(err);
	*found = sonde_text_map_find(map, (const char *)text->data, text->size);
	if (*found != SONDE_NONE)
		return SONDE_OK;
	kept = sonde_arena_take(&merge->texts, text->size + 1);
	if (!kept)
		return sonde_fail_nomem(err);
	memcpy(kept, text->data, text->size);
	return sonde_text_map_add(map, kept, text->size, next) ? SONDE_OK : sonde_fail_nomem(err);
}

static enum sonde_status unite_module(struct merge *merge, const struct part *part, uint32_t number,
				      struct sonde_buffer *text, struct sonde_error *err)
{
	const struct sonde_definitions *source = part->cct->definitions;
	struct sonde_definitions *target = merge->body->definitions;
	struct sonde_module module = *sonde_definitions_module(source, number);
	enum sonde_status status;

	sonde_buffer_clear(text);
	sonde_buffer_put_text(text, part->names ? part->names->modules[number] :
						  base_name(source, module.path));
	sonde_buffer_put(text, "", 1);
	status = find_or_keep(merge, &merge->modules, text, sonde_definitions_module_count(target),
			      &part->modules[number], err);
	if (status || part->modules[number] != SONDE_NONE)
		return status;
	if (module.process != SONDE_NONE)
		module.process += part->first_process;
	status = cct_copy_string(source, target, module.path, &module.path, err);
	if (!status)
		status = cct_copy_string(source, target, module.uuid, &module.uuid, err);
	if (!status)
		status = sonde_definitions_add_module(target, &module, &part->modules[number], err);
	return status;
}

/* A function without a name is known by its key and address, in its module. */
static void put_function(struct sonde_buffer *text, const struct part *part,
			 const struct sonde_function *function)
{
	const struct sonde_definitions *source = part->cct->definitions;
	uint32_t module = function->module < sonde_definitions_module_count(source) ?
				  part->modules[function->module] :
				  SONDE_NONE;
	uint64_t key = function->has_key ? function->key : 0;

	sonde_buffer_clear(text);
	sonde_buffer_put(text, &module, sizeof(module));
	if (!function->name) {
		sonde_buffer_put(text, &key, sizeof(key));
		sonde_buffer_put(text, &function->address, sizeof(function->address));
		return;
	}
	sonde_buffer_put_text(text, sonde_definitions_string(source, function->name));
	sonde_buffer_put(text, "", 1);
	sonde_buffer_put_text(text, base_name(source, function->file));
	sonde_buffer_put(text, "", 1);
}

static enum sonde_status unite_function(struct merge *merge, const struct part *part,
					uint32_t number, struct sonde_buffer *text,
					struct sonde_error *err)
{
	const struct sonde_definitions *source = part->cct->definitions;
	struct sonde_definitions *target = merge->body->definitions;
	struct sonde_function function = *sonde_definitions_function(source, number);
	enum sonde_status status;

	if (part->names) {
		sonde_buffer_clear(text);
		sonde_buffer_put_text(text, part->names->functions[number]);
		sonde_buffer_put(text, "", 1);
	} else {
		put_function(text, part, &function);
	}
	status = find_or_keep(merge, &merge->functions, text,
			      sonde_definitions_function_count(target), &part->functions[number],
			      err);
	if (status || part->functions[number] != SONDE_NONE)
		return status;
	if (function.process != SONDE_NONE)
		function.process += part->first_process;
	function.module = function.module < sonde_definitions_module_count(source) ?
				  part->modules[function.module] :
				  SONDE_NONE;
	status = cct_copy_string(source, target, function.name, &function.name, err);
	if (!status)
		status =
			cct_copy_string(source, target, function.raw_name, &function.raw_name, err);
	if (!status)
		status = cct_copy_string(source, target, function.file, &function.file, err);
	if (!status)
		status = sonde_definitions_add_function(target, &function, &part->functions[number],
							err);
	return status;
}

static enum sonde_status unite_definitions(struct merge *merge, struct part *part,
					   struct sonde_error *err)
{
	const struct sonde_definitions *source = part->cct->definitions;
	uint32_t functions = sonde_definitions_function_count(source);
	uint32_t modules = sonde_definitions_module_count(source);
	struct sonde_buffer text = { 0 };
	enum sonde_status status;

	part->first_process = sonde_definitions_process_count(merge->body->definitions);
	part->first_track = sonde_definitions_track_count(merge->body->definitions);
	part->functions = calloc((size_t)functions + 1, sizeof(*part->functions));
	part->modules = calloc((size_t)modules + 1, sizeof(*part->modules));
	if (!part->functions || !part->modules)
		return sonde_fail_nomem(err);
	status = cct_copy_places(source, merge->body->definitions, err);
	for (uint32_t i = 0; !status && i < modules; i++)
		status = unite_module(merge, part, i, &text, err);
	for (uint32_t i = 0; !status && i < functions; i++)
		status = unite_function(merge, part, i, &text, err);
	sonde_buffer_release(&text);
	return status;
}

/* A context in ids of the whole; files by their base names. */
static enum sonde_status translate(struct merge *merge, const struct part *part,
				   struct sonde_context *context, struct sonde_error *err)
{
	const struct sonde_definitions *source = part->cct->definitions;
	struct sonde_definitions *target = merge->body->definitions;
	const char *file = base_name(source, context->file);
	enum sonde_status status;

	if (context->function != SONDE_NONE)
		context->function = part->functions[context->function];
	if (context->module != SONDE_NONE)
		context->module = part->modules[context->module];
	if (part->names && context->kind == SONDE_CONTEXT_FUNCTION &&
	    context->function != SONDE_NONE) {
		context->file = context->line = 0;
		context->address = 0;
		context->module = SONDE_NONE;
		return SONDE_OK;
	}
	/* a loop is where it stands in the source, as far as that is known */
	if (context->kind == SONDE_CONTEXT_LOOP && *file && context->line)
		context->address = 0;
	status = sonde_definitions_add_string(target, file, strlen(file), &context->file, err);
	if (!status)
		status = cct_copy_string(source, target, context->name, &context->name, err);
	return status;
}

static enum sonde_status unite_contexts(struct merge *merge, struct part *part,
					struct sonde_error *err)
{
	uint32_t count = part->cct->context_count;
	enum sonde_status status = SONDE_OK;

	part->contexts = calloc((size_t)count + 1, sizeof(*part->contexts));
	if (!part->contexts)
		return sonde_fail_nomem(err);
	for (uint32_t i = 1; !status && i < count; i++) {
		struct sonde_context context = part->cct->contexts[i];
		uint32_t parent = part->contexts[context.parent];

		status = translate(merge, part, &context, err);
		if (!status)
			status = sonde_context_union_add(merge->tree, parent, &context,
							 &part->contexts[i], err);
	}
	return status;
}

static enum sonde_status finish_contexts(struct merge *merge, struct sonde_error *err)
{
	struct cct_body *body = merge->body;
	const struct sonde_context *contexts;
	enum sonde_status status = sonde_context_union_finish(merge->tree, err);

	if (status)
		return status;
	contexts = sonde_context_union_contexts(merge->tree, &body->context_count);
	body->contexts = malloc(body->context_count * sizeof(*contexts));
	if (!body->contexts)
		return sonde_fail_nomem(err);
	memcpy(body->contexts, contexts, body->context_count * sizeof(*contexts));
	for (size_t i = 0; i < merge->count; i++) {
		struct part *part = &merge->parts[i];

		for (uint32_t k = 0; k < part->cct->context_count; k++)
			part->contexts[k] =
				sonde_context_union_number(merge->tree, part->contexts[k]);
	}
	return cct_body_add_recursion(body, err);
}

static uint32_t same_metric(const struct cct *whole, const char *name)
{
	for (uint32_t i = 0; i < whole->metric_count; i++) {
		if (!strcmp(whole->metrics[i].name, name))
			return i;
	}
	return SONDE_NONE;
}

static enum sonde_status add_metrics(struct merge *merge, struct part *part,
				     struct sonde_error *err)
{
	struct cct *whole = &merge->body->cct;
	const struct cct *cct = part->cct;

	part->metrics = calloc((size_t)cct->metric_count + 1, sizeof(*part->metrics));
	if (!part->metrics)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < cct->metric_count; i++) {
		const struct cct_metric *metric = &cct->metrics[i];
		uint32_t number = same_metric(whole, metric->name);
		struct cct_metric *added;

		/* derived ones do not add up: they are worked out anew */
		part->metrics[i] = SONDE_NONE;
		if (metric->formula)
			continue;
		if (number == SONDE_NONE) {
			enum sonde_status status = cct_add_metric(whole, metric->name,
								  metric->description, &added, err);

			if (status)
				return status;
			number = whole->metric_count - 1;
			added->ns = metric->ns;
			added->hidden = metric->hidden;
		}
		part->metrics[i] = number;
		added = &whole->metrics[number];
		for (uint32_t k = 0; k < cct->context_count; k++) {
			added->self[part->contexts[k]] += metric->self[k];
			added->total[part->contexts[k]] += metric->total[k];
		}
	}
	return SONDE_OK;
}

static void add_tracks(const struct merge *merge, const struct part *part)
{
	uint32_t count = sonde_definitions_track_count(part->cct->definitions);

	for (uint32_t i = 0; i < count; i++) {
		struct cct_track *track = &merge->body->tracks[part->first_track + i];
		double *totals = track->totals;

		*track = part->cct->tracks[i];
		track->totals = totals;
		for (uint32_t k = 0; k < part->cct->metric_count; k++) {
			if (part->metrics[k] != SONDE_NONE)
				totals[part->metrics[k]] += part->cct->tracks[i].totals[k];
		}
	}
}

static bool add_calls(const struct merge *merge, const struct part *part)
{
	const struct cct_body *body = merge->body;
	const struct cct_body *own = (const struct cct_body *)part->cct;
	uint32_t functions = sonde_definitions_function_count(part->cct->definitions);

	if (!part->cct->calls)
		return true;
	for (uint32_t i = 0; i < part->cct->context_count; i++)
		cct_calls_add(&body->calls[part->contexts[i]], &part->cct->calls[i]);
	for (uint32_t i = 0; i < functions; i++) {
		if (!sonde_sketch_merge(&body->durations[part->functions[i]], &own->durations[i]))
			return false;
	}
	return true;
}

static enum sonde_status unite_calls(struct merge *merge, struct sonde_error *err)
{
	struct cct_body *body = merge->body;
	uint32_t functions = sonde_definitions_function_count(body->definitions);
	bool has_calls = false;

	for (size_t i = 0; i < merge->count; i++)
		has_calls = has_calls || merge->parts[i].cct->calls;
	if (!has_calls)
		return SONDE_OK;
	body->calls = calloc((size_t)body->context_count + 1, sizeof(*body->calls));
	body->durations = calloc((size_t)functions + 1, sizeof(*body->durations));
	if (!body->calls || !body->durations)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < merge->count; i++) {
		if (!add_calls(merge, &merge->parts[i]))
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

static void spread_add(struct cct_spread *spread, const struct cct_spread *more, uint32_t first)
{
	if (!more->count)
		return;
	if (!spread->count || more->min < spread->min)
		spread->min = more->min;
	if (!spread->count || more->max > spread->max) {
		spread->max = more->max;
		spread->max_place = first + more->max_place;
	}
	spread->count += more->count;
	spread->sum += more->sum;
	spread->squares += more->squares;
}

static void spread_all(struct cct_spread *spreads, const struct cct_spread *more, uint32_t count,
		       const uint32_t *map, uint32_t first)
{
	for (uint32_t i = 0; i < count; i++)
		spread_add(&spreads[map[i]], &more[i], first);
}

/* Only where all parts have it, of the same metric. */
static bool has_spreads(const struct merge *merge)
{
	uint32_t metric = SONDE_NONE;

	for (size_t i = 0; i < merge->count; i++) {
		const struct part *part = &merge->parts[i];
		uint32_t own;

		if (!part->cct->context_spread)
			return false;
		own = part->metrics[part->cct->spread_metric];
		if (metric != SONDE_NONE && own != metric)
			return false;
		metric = own;
	}
	merge->body->cct.spread_metric = metric == SONDE_NONE ? 0 : metric;
	return merge->count;
}

static enum sonde_status unite_spreads(struct merge *merge, struct sonde_error *err)
{
	struct cct_body *body = merge->body;
	size_t contexts = (size_t)body->context_count + 1;
	size_t functions = (size_t)sonde_definitions_function_count(body->definitions) + 1;

	if (!has_spreads(merge))
		return SONDE_OK;
	body->context_spread = calloc(contexts, sizeof(struct cct_spread));
	body->context_process_spread = calloc(contexts, sizeof(struct cct_spread));
	body->function_spread = calloc(functions, sizeof(struct cct_spread));
	body->function_process_spread = calloc(functions, sizeof(struct cct_spread));
	if (!body->context_spread || !body->context_process_spread || !body->function_spread ||
	    !body->function_process_spread)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < merge->count; i++) {
		const struct part *part = &merge->parts[i];
		const struct cct *cct = part->cct;
		uint32_t count = sonde_definitions_function_count(cct->definitions);

		spread_all(body->context_spread, cct->context_spread, cct->context_count,
			   part->contexts, part->first_track);
		spread_all(body->context_process_spread, cct->context_process_spread,
			   cct->context_count, part->contexts, part->first_process);
		spread_all(body->function_spread, cct->function_spread, count, part->functions,
			   part->first_track);
		spread_all(body->function_process_spread, cct->function_process_spread, count,
			   part->functions, part->first_process);
	}
	return SONDE_OK;
}

static enum sonde_status unite(struct merge *merge, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; !status && i < merge->count; i++)
		status = unite_definitions(merge, &merge->parts[i], err);
	for (size_t i = 0; !status && i < merge->count; i++)
		status = unite_contexts(merge, &merge->parts[i], err);
	if (!status)
		status = finish_contexts(merge, err);
	if (!status)
		status = cct_body_add_tracks(merge->body, err);
	for (size_t i = 0; !status && i < merge->count; i++)
		status = add_metrics(merge, &merge->parts[i], err);
	for (size_t i = 0; !status && i < merge->count; i++)
		add_tracks(merge, &merge->parts[i]);
	if (!status)
		status = unite_calls(merge, err);
	if (!status)
		status = unite_spreads(merge, err);
	if (!status)
		status = cct_body_finish(merge->body, err);
	for (size_t i = 0; !status && i < merge->count; i++)
		status = cct_derive_again(&merge->body->cct, merge->parts[i].cct,
					  merge->parts[i].metrics, err);
	return status;
}

static void merge_release(struct merge *merge)
{
	for (size_t i = 0; merge->parts && i < merge->count; i++) {
		free(merge->parts[i].functions);
		free(merge->parts[i].modules);
		free(merge->parts[i].contexts);
		free(merge->parts[i].metrics);
	}
	free(merge->parts);
	sonde_text_map_release(&merge->functions);
	sonde_text_map_release(&merge->modules);
	sonde_arena_release(&merge->texts);
	sonde_context_union_free(merge->tree);
}

/* What the caller gets of a merge, and all else away. */
static void merge_end(struct merge *merge, enum sonde_status status, struct cct **whole,
		      uint32_t **maps)
{
	for (size_t i = 0; maps && i < merge->count; i++) {
		maps[i] = status ? NULL : merge->parts[i].contexts;
		if (!status)
			merge->parts[i].contexts = NULL;
	}
	if (status)
		cct_free(&merge->body->cct);
	else
		*whole = &merge->body->cct;
	merge_release(merge);
}

enum sonde_status cct_merge(const struct cct *const *parts, size_t count, struct cct **whole,
			    uint32_t **maps, struct sonde_error *err)
{
	return cct_merge_as(parts, count, NULL, whole, maps, err);
}

enum sonde_status cct_merge_as(const struct cct *const *parts, size_t count,
			       const struct cct_names *names, struct cct **whole, uint32_t **maps,
			       struct sonde_error *err)
{
	struct merge merge = { .count = count, .body = cct_body_new() };
	enum sonde_status status;

	*whole = NULL;
	if (!merge.body)
		return sonde_fail_nomem(err);
	merge.parts = calloc(count + 1, sizeof(*merge.parts));
	merge.tree = sonde_context_union_new(merge.body->definitions, false);
	if (!merge.parts || !merge.tree) {
		cct_free(&merge.body->cct);
		merge_release(&merge);
		return sonde_fail_nomem(err);
	}
	for (size_t i = 0; i < count; i++) {
		merge.parts[i].cct = parts[i];
		merge.parts[i].names = names ? &names[i] : NULL;
	}
	status = unite(&merge, err);
	merge_end(&merge, status, whole, maps);
	return status;
}
