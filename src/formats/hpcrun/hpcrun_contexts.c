/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From nodes to contexts: which node of a profile is which node of the union, and what the nodes of the
 * union are as contexts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hpcrun/hpcrun_layout.h"
#include "formats/hpcrun/hpcrun_read.h"
#include "model/recording.h"

void hpcrun_places_release(struct hpcrun_places *places)
{
	sonde_vec_release(&places->items);
	sonde_vec_release(&places->modules);
}

struct placing {
	struct hpcrun_recording *data;
	bool add;
};

static uint32_t enter(const struct placing *placing, uint32_t parent, uint32_t module, uint64_t ip)
{
	if (parent == UINT32_MAX)
		return UINT32_MAX;
	return placing->add ? hpcrun_tree_add(&placing->data->tree, parent, module, ip) :
			      hpcrun_tree_find(&placing->data->tree, parent, module, ip);
}

static uint32_t unknown_entry(const struct placing *placing)
{
	return enter(placing, 0, HPCRUN_TREE_ENTRY, SONDE_ENTRY_UNKNOWN);
}

static bool is_gpu_range(uint16_t module)
{
	return module == HPCRUN_MODULE_GPU_CONTEXT || module == HPCRUN_MODULE_GPU_RANGE ||
	       module == HPCRUN_MODULE_GPU_RANGE_ROOT;
}

/* A placeholder directly below the root: the root itself, or a way into the program. */
static bool place_top(const struct placing *placing, uint64_t ip, uint32_t *where)
{
	switch (ip) {
	case HPCRUN_PRIMARY:
	case HPCRUN_NO_ACTIVITY:
		*where = 0;
		return true;
	case HPCRUN_PARTIAL:
	case HPCRUN_UNNORMALIZED:
		*where = unknown_entry(placing);
		return true;
	case HPCRUN_MAIN:
		*where = enter(placing, 0, HPCRUN_TREE_ENTRY, SONDE_ENTRY_MAIN_THREAD);
		return true;
	case HPCRUN_THREAD:
		*where = enter(placing, 0, HPCRUN_TREE_ENTRY, SONDE_ENTRY_APPLICATION_THREAD);
		return true;
	default:
		return false;
	}
}

/* `parent` is the place of the node's parent; the root for a node that has none. */
static uint32_t place_node(const struct placing *placing, const struct hpcrun_node *node,
			   uint32_t module, uint32_t parent)
{
	uint32_t place;

	if (is_gpu_range(node->module))
		return unknown_entry(placing);
	if (parent == 0 && node->module == HPCRUN_MODULE_PLACEHOLDER &&
	    place_top(placing, node->ip, &place))
		return place;
	if (parent == 0)
		parent = unknown_entry(placing);
	if (node->module == HPCRUN_MODULE_PLACEHOLDER) {
		bool unknown = node->ip == HPCRUN_PARTIAL || node->ip == HPCRUN_UNNORMALIZED;

		return enter(placing, parent,
			     unknown ? HPCRUN_TREE_UNKNOWN_FUNCTION : HPCRUN_TREE_PLACEHOLDER,
			     unknown ? 0 : node->ip);
	}
	if (!node->unwound)
		parent = enter(placing, parent, HPCRUN_TREE_UNKNOWN_FUNCTION, 0);
	return enter(placing, parent, module, node->ip);
}

/* The numbers that modules have in this file -> those of the definitions. */
static enum sonde_status map_modules(struct hpcrun_recording *data,
				     const struct hpcrun_profile *profile,
				     struct hpcrun_places *places, struct sonde_error *err)
{
	size_t count = 1;

	for (size_t i = 0; i < profile->modules.count; i++) {
		if (profile->modules.items[i].id >= count)
			count = (size_t)profile->modules.items[i].id + 1;
	}
	places->modules.count = 0;
	if (!sonde_vec_reserve(&places->modules, count))
		return sonde_fail_nomem(err);
	places->modules.count = count;
	memset(places->modules.items, 0xff, count * sizeof(*places->modules.items));
	for (size_t i = profile->modules.count; i-- > 0;) {
		const struct hpcrun_module *module = &profile->modules.items[i];

		places->modules.items[module->id] =
			sonde_text_map_find(&data->modules, module->path, strlen(module->path));
	}
	return SONDE_OK;
}

static uint32_t module_of(const struct hpcrun_places *places, uint16_t number)
{
	uint32_t module = number < places->modules.count ? places->modules.items[number] :
							   UINT32_MAX;

	return module == UINT32_MAX ? HPCRUN_TREE_UNKNOWN_MODULE : module;
}

enum sonde_status hpcrun_place_nodes(struct hpcrun_recording *data,
				     const struct hpcrun_profile *profile, bool add,
				     struct hpcrun_places *places, struct sonde_error *err)
{
	struct placing placing = { .data = data, .add = add };
	enum sonde_status status = map_modules(data, profile, places, err);

	if (status)
		return status;
	places->items.count = 0;
	if (!sonde_vec_reserve(&places->items, profile->nodes.count))
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < profile->nodes.count; i++) {
		const struct hpcrun_node *node = &profile->nodes.items[i];
		uint32_t parent = node->parent == UINT32_MAX ? 0 :
							       places->items.items[node->parent];
		uint32_t place =
			place_node(&placing, node, module_of(places, node->module), parent);

		if (place == UINT32_MAX && add)
			return sonde_fail_nomem(err);
		if (place == UINT32_MAX)
			return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
					  "the profile has other nodes than when the recording was "
					  "opened; open it again");
		places->items.items[places->items.count++] = place;
	}
	return SONDE_OK;
}

/* The characters of a placeholder that has no name here, or its number. */
static void spell(uint64_t ip, char text[24])
{
	bool printable = true;

	for (int i = 0; i < 8; i++) {
		text[i] = (char)(ip >> (56 - 8 * i));
		printable = printable && text[i] >= ' ' && text[i] <= '~';
	}
	text[8] = '\0';
	for (int i = 7; printable && i > 0 && text[i] == ' '; i--)
		text[i] = '\0';
	if (!printable)
		snprintf(text, 24, "0x%" PRIx64, ip);
}

/* Functions that are defined on the way. */
struct making {
	struct sonde_definitions *definitions;
	struct sonde_key_map placeholders; /* by ip */
	struct sonde_key_map named;	   /* by module and ip */
};

static enum sonde_status define_placeholder(struct making *making, uint64_t ip, uint32_t *function,
					    struct sonde_error *err)
{
	struct sonde_definitions *definitions = making->definitions;
	struct sonde_function definition = {
		.module = SONDE_NONE,
		.has_key = true,
		.key = ip,
	};
	const char *known = hpcrun_placeholder_name(ip);
	char spelled[24], name[32];
	enum sonde_status status;

	*function = sonde_key_map_find(&making->placeholders, ip);
	if (*function != UINT32_MAX)
		return SONDE_OK;
	spell(ip, spelled);
	snprintf(name, sizeof(name), "<%s>", spelled);
	if (known)
		snprintf(name, sizeof(name), "%s", known);
	status = sonde_definitions_add_string(definitions, name, strlen(name), &definition.name,
					      err);
	if (!status)
		status = sonde_definitions_add_function(definitions, &definition, function, err);
	if (!status && !sonde_key_map_add(&making->placeholders, ip, *function))
		status = sonde_fail_nomem(err);
	return status;
}

/* "[main]" -> the function main: see HPCRUN_NAMED_LIMIT. *function stays as it is where it is no such. */
static enum sonde_status define_named(struct making *making, const struct hpcrun_tree_node *node,
				      uint32_t *function, struct sonde_error *err)
{
	struct sonde_definitions *definitions = making->definitions;
	const struct sonde_module *module = sonde_definitions_module(definitions, node->module);
	const char *path = module ? sonde_definitions_string(definitions, module->path) : "";
	struct sonde_function definition = { .module = SONDE_NONE };
	size_t length = strlen(path);
	uint64_t key = (uint64_t)node->module * HPCRUN_NAMED_LIMIT + node->ip;
	enum sonde_status status;

	if (node->ip >= HPCRUN_NAMED_LIMIT || length < 2 || *path != '[' || path[length - 1] != ']')
		return SONDE_OK;
	*function = sonde_key_map_find(&making->named, key);
	if (*function != UINT32_MAX)
		return SONDE_OK;
	definition.process = module->process;
	status = sonde_definitions_add_string(definitions, path + 1, length - 2, &definition.name,
					      err);
	if (!status)
		status = sonde_definitions_add_function(definitions, &definition, function, err);
	if (!status && !sonde_key_map_add(&making->named, key, *function))
		status = sonde_fail_nomem(err);
	return status;
}

static enum sonde_status make_entry(struct sonde_definitions *definitions,
				    struct sonde_context *context, uint8_t entry,
				    struct sonde_error *err)
{
	const char *name = sonde_entry_name(entry);

	context->kind = SONDE_CONTEXT_ENTRY;
	context->entry = entry;
	return sonde_definitions_add_string(definitions, name, strlen(name), &context->name, err);
}

static enum sonde_status make_context(struct making *making, const struct hpcrun_tree_node *node,
				      struct sonde_context *context, struct sonde_error *err)
{
	enum sonde_status status;

	context->relation = SONDE_CONTEXT_CALLED;
	switch (node->module) {
	case HPCRUN_TREE_ENTRY:
		return make_entry(making->definitions, context, (uint8_t)node->ip, err);
	case HPCRUN_TREE_PLACEHOLDER:
		context->kind = SONDE_CONTEXT_FUNCTION;
		return define_placeholder(making, node->ip, &context->function, err);
	case HPCRUN_TREE_UNKNOWN_FUNCTION:
		context->kind = SONDE_CONTEXT_FUNCTION;
		return SONDE_OK;
	default:
		status = define_named(making, node, &context->function, err);
		if (status || context->function != SONDE_NONE) {
			context->kind = SONDE_CONTEXT_FUNCTION;
			return status;
		}
		context->kind = SONDE_CONTEXT_INSTRUCTION;
		if (node->module != HPCRUN_TREE_UNKNOWN_MODULE)
			context->module = node->module;
		context->address = node->ip;
		return SONDE_OK;
	}
}

enum sonde_status hpcrun_make_contexts(struct hpcrun_recording *data,
				       struct sonde_definitions *definitions,
				       struct sonde_error *err)
{
	const struct hpcrun_tree *tree = &data->tree;
	size_t count = tree->nodes.count;
	uint32_t *ends = malloc((count + 1) * sizeof(*ends));
	struct making making = { .definitions = definitions };
	enum sonde_status status = SONDE_OK;

	data->numbers = malloc((count + 1) * sizeof(*data->numbers));
	data->contexts = calloc(count + 1, sizeof(*data->contexts));
	if (!ends || !data->numbers || !data->contexts) {
		free(ends);
		return sonde_fail_nomem(err);
	}
	hpcrun_tree_number(tree, data->numbers, ends);
	for (size_t i = 0; i < count && !status; i++) {
		const struct hpcrun_tree_node *node = &tree->nodes.items[i];
		struct sonde_context *context = &data->contexts[data->numbers[i]];

		*context = (struct sonde_context){
			.parent = i ? data->numbers[node->parent] : SONDE_NONE,
			.function = SONDE_NONE,
			.module = SONDE_NONE,
			.end = ends[i],
		};
		if (i)
			status = make_context(&making, node, context, err);
	}
	data->context_count = (uint32_t)count;
	sonde_key_map_release(&making.placeholders);
	sonde_key_map_release(&making.named);
	free(ends);
	return status;
}
