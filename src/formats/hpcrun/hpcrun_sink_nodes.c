/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts -> nodes. Instructions are nodes; a function, loop or line stands for the address it is
 * known by, where it has values itself or calls something. Contexts that come out the same are one node.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/hpcrun/hpcrun_layout.h"
#include "formats/hpcrun/hpcrun_sink.h"

/* A load map numbers modules with 16 bits; some numbers are taken. */
#define MODULE_LIMIT 60000

static const char held_back[] =
	"hpcrun profiles hold addresses; what lies there is looked up again "
	"from binaries or hpcstruct files";

/* The last module that was made up for functions of one name. */
struct made_module {
	uint32_t module;
	uint32_t number; /* of those of that name, from 1 */
	uint32_t uses;	 /* functions in it */
};

struct making {
	struct hpcrun_sink_nodes *nodes;
	const struct sonde_context *contexts;
	uint32_t *base;		     /* context -> node that its function was called from */
	struct sonde_text_map names; /* of functions without an address -> number in `made_up` */
	SONDE_VEC(struct made_module) made_up;
	uint64_t lines, loops, inlined, named, entries, unnamed_rest;
	struct sonde_error *err;
};

void hpcrun_sink_nodes_release(struct hpcrun_sink_nodes *nodes)
{
	hpcrun_tree_release(&nodes->tree);
	free(nodes->of_context);
	sonde_vec_release(&nodes->modules);
	sonde_key_map_release(&nodes->made);
	sonde_arena_release(&nodes->texts);
	*nodes = (struct hpcrun_sink_nodes){ 0 };
}

static enum sonde_status add_module(struct hpcrun_sink_nodes *nodes, const char *path,
				    uint32_t process, uint32_t *number, struct sonde_error *err)
{
	struct hpcrun_sink_module *module = sonde_vec_push(&nodes->modules);

	if (!module)
		return sonde_fail_nomem(err);
	*module = (struct hpcrun_sink_module){ .path = path, .process = process };
	*number = (uint32_t)nodes->modules.count - 1;
	return SONDE_OK;
}

static enum sonde_status take_modules(struct hpcrun_sink_nodes *nodes, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	nodes->definition_count = sonde_definitions_module_count(nodes->definitions);
	for (uint32_t i = 0; i < nodes->definition_count && !status; i++) {
		const struct sonde_module *module = sonde_definitions_module(nodes->definitions, i);
		uint32_t number;

		status = add_module(nodes,
				    sonde_definitions_string(nodes->definitions, module->path),
				    module->process, &number, err);
	}
	return status;
}

/* The module that functions of a name are put into: made where there is none, or where it is full. */
static enum sonde_status fill_module(struct making *making, struct made_module *made,
				     const char *label)
{
	struct sonde_buffer path = { 0 };
	enum sonde_status status = SONDE_OK;
	const char *copy = NULL;

	if (made->number && made->uses < HPCRUN_NAMED_LIMIT)
		return SONDE_OK;
	made->uses = 0;
	made->number++;
	sonde_buffer_put_format(&path, made->number > 1 ? "[%s #%u]" : "[%s]", label, made->number);
	if (sonde_buffer_text(&path))
		copy = sonde_arena_copy_text(&making->nodes->texts, path.data, path.size);
	sonde_buffer_release(&path);
	status = copy ? add_module(making->nodes, copy, SONDE_NONE, &made->module, making->err) :
			sonde_fail_nomem(making->err);
	return status;
}

/*
 * "[main]": a function that has no address is written as a module of its name, and functions of the same
 * name at addresses in it where no code can be (hpcrun_layout.h). Further ones are in "[main #2]".
 */
static enum sonde_status name_function(struct making *making, uint32_t function, uint32_t *module,
				       uint64_t *ip)
{
	char space[SONDE_LABEL_SIZE];
	const char *copy, *label = "unknown";
	struct made_module *made = NULL;
	enum sonde_status status;
	uint32_t place;

	if (function != SONDE_NONE)
		label = sonde_definitions_function_label(making->nodes->definitions, function,
							 space);
	place = sonde_text_map_find(&making->names, label, strlen(label));
	if (place < making->made_up.count) {
		made = &making->made_up.items[place];
	} else {
		copy = sonde_arena_copy_text(&making->nodes->texts, label, strlen(label));
		made = copy ? sonde_vec_push(&making->made_up) : NULL;
		if (!made || !sonde_text_map_add(&making->names, copy, strlen(label),
						 (uint32_t)making->made_up.count - 1))
			return sonde_fail_nomem(making->err);
		*made = (struct made_module){ 0 };
	}
	status = fill_module(making, made, label);
	if (status)
		return status;
	*module = made->module;
	*ip = made->uses++;
	return SONDE_OK;
}

/* Where a function is that has no address: in a module of its name. */
static enum sonde_status module_of_function(struct making *making, uint32_t function,
					    uint32_t *module, uint64_t *ip)
{
	struct hpcrun_sink_nodes *nodes = making->nodes;
	uint32_t made = sonde_key_map_find(&nodes->made, function);
	enum sonde_status status;

	*module = SONDE_NONE;
	*ip = 0;
	if (made != UINT32_MAX) {
		*module = made / HPCRUN_NAMED_LIMIT;
		*ip = made % HPCRUN_NAMED_LIMIT;
		return SONDE_OK;
	}
	if (nodes->modules.count - nodes->definition_count >= MODULE_LIMIT / 2) {
		making->unnamed_rest++;
		*ip = (uint64_t)function + HPCRUN_NAMED_LIMIT;
		*module = nodes->rest;
		if (*module != SONDE_NONE)
			return SONDE_OK;
		status = add_module(nodes, "[more functions]", SONDE_NONE, &nodes->rest,
				    making->err);
		*module = nodes->rest;
		return status;
	}
	status = name_function(making, function, module, ip);
	if (status)
		return status;
	made = *module * HPCRUN_NAMED_LIMIT + (uint32_t)*ip;
	return sonde_key_map_add(&nodes->made, function, made) ? SONDE_OK :
								 sonde_fail_nomem(making->err);
}

static enum sonde_status enter(struct making *making, uint32_t parent, uint32_t module, uint64_t ip,
			       uint32_t *node)
{
	*node = hpcrun_tree_add(&making->nodes->tree, parent, module, ip);
	if (*node == UINT32_MAX)
		return sonde_fail_nomem(making->err);
	if (*node >= HPCRUN_SINK_NODE_LIMIT)
		return sonde_fail(making->err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "more contexts than a profile can number; select some of them");
	return SONDE_OK;
}

static enum sonde_status place_entry(struct making *making, const struct sonde_context *context,
				     uint32_t *node)
{
	uint64_t ip = HPCRUN_PARTIAL;

	if (context->entry == SONDE_ENTRY_MAIN_THREAD)
		ip = HPCRUN_MAIN;
	else if (context->entry == SONDE_ENTRY_APPLICATION_THREAD)
		ip = HPCRUN_THREAD;
	making->entries += context->entry == SONDE_ENTRY_OTHER;
	return enter(making, 0, HPCRUN_TREE_PLACEHOLDER, ip, node);
}

/* The placeholder that a function is, 0 where it is a real one. */
static uint64_t placeholder_of(const struct hpcrun_sink_nodes *nodes,
			       const struct sonde_function *function)
{
	const char *name = sonde_definitions_string(nodes->definitions, function->name);
	const char *known = function->has_key ? hpcrun_placeholder_name(function->key) : NULL;

	if (function->module != SONDE_NONE || *name != '<')
		return 0;
	if (known && !strcmp(known, name))
		return function->key;
	return hpcrun_placeholder_ip(name);
}

static enum sonde_status place_function(struct making *making, uint32_t number, uint32_t base,
					uint32_t *node)
{
	struct hpcrun_sink_nodes *nodes = making->nodes;
	const struct sonde_function *function =
		sonde_definitions_function(nodes->definitions, number);
	enum sonde_status status;
	uint32_t module;
	uint64_t ip;

	if (!function)
		return enter(making, base, HPCRUN_TREE_PLACEHOLDER, HPCRUN_PARTIAL, node);
	ip = placeholder_of(nodes, function);
	if (ip)
		return enter(making, base, HPCRUN_TREE_PLACEHOLDER, ip, node);
	if (function->module < nodes->definition_count && function->address) {
		making->named++;
		return enter(making, base, function->module, function->address, node);
	}
	status = module_of_function(making, number, &module, &ip);
	return status ? status : enter(making, base, module, ip, node);
}

static enum sonde_status place_address(struct making *making, const struct sonde_context *context,
				       uint32_t base, uint32_t *node)
{
	uint32_t module = context->module;
	enum sonde_status status;
	uint64_t ignored;

	if (module >= making->nodes->definition_count) {
		status = module_of_function(making, SONDE_NONE, &module, &ignored);
		if (status)
			return status;
	}
	return enter(making, base, module, context->address, node);
}

/* Parents come before children, so that the parent's node and base are known. */
static enum sonde_status place_context(struct making *making, uint32_t number)
{
	const struct sonde_context *context = &making->contexts[number];
	uint32_t *node = &making->nodes->of_context[number];
	uint32_t parent_node = making->nodes->of_context[context->parent];
	uint32_t base = context->relation == SONDE_CONTEXT_CALLED ? parent_node :
								    making->base[context->parent];

	making->base[number] = base;
	*node = parent_node;
	switch (context->kind) {
	case SONDE_CONTEXT_ENTRY:
		return place_entry(making, context, node);
	case SONDE_CONTEXT_FUNCTION:
		if (context->relation != SONDE_CONTEXT_INLINED)
			return place_function(making, context->function, base, node);
		making->inlined++;
		return SONDE_OK;
	case SONDE_CONTEXT_LOOP:
		making->loops++;
		if (context->module < making->nodes->definition_count && context->address)
			return enter(making, base, context->module, context->address, node);
		return SONDE_OK;
	case SONDE_CONTEXT_LINE:
		making->lines++;
		return SONDE_OK;
	default:
		return place_address(making, context, base, node);
	}
}

static enum sonde_status report(const struct making *making, struct sonde_loss *loss)
{
	struct sonde_error *err = making->err;
	enum sonde_status status =
		sonde_loss_add(loss, "source lines of contexts", held_back, making->lines, err);

	if (!status)
		status = sonde_loss_add(loss, "loops", held_back, making->loops, err);
	if (!status)
		status = sonde_loss_add(loss, "inlined calls", held_back, making->inlined, err);
	if (!status)
		status = sonde_loss_add(loss, "names of functions in modules", held_back,
					making->named, err);
	if (!status)
		status = sonde_loss_add(loss, "names of entries",
					"hpcrun knows main threads, application threads and "
					"unknown entries",
					making->entries, err);
	if (!status)
		status =
			sonde_loss_add(loss, "names of functions without a module",
				       "they are written as modules, and there is no room for more",
				       making->unnamed_rest, err);
	return status;
}

/* A folder of modules with more than their numbers allow cannot be written. */
static enum sonde_status check_modules(const struct making *making)
{
	if (making->nodes->modules.count < MODULE_LIMIT)
		return SONDE_OK;
	return sonde_fail(making->err, SONDE_LIMIT, SONDE_NO_OFFSET,
			  "%zu modules; hpcrun profiles number fewer than %d",
			  making->nodes->modules.count, MODULE_LIMIT);
}

enum sonde_status hpcrun_sink_nodes_make(struct hpcrun_sink_nodes *nodes,
					 const struct sonde_context *contexts, uint32_t count,
					 struct sonde_loss *loss, struct sonde_error *err)
{
	struct making making = { .nodes = nodes, .contexts = contexts, .err = err };
	enum sonde_status status;
	uint32_t root;

	nodes->rest = SONDE_NONE;
	nodes->of_context = calloc((size_t)count + 1, sizeof(*nodes->of_context));
	nodes->context_count = count;
	making.base = calloc((size_t)count + 1, sizeof(*making.base));
	if (!nodes->of_context || !making.base) {
		free(making.base);
		return sonde_fail_nomem(err);
	}
	status = take_modules(nodes, err);
	if (!status)
		status = enter(&making, UINT32_MAX, HPCRUN_TREE_PLACEHOLDER, HPCRUN_PRIMARY, &root);
	if (!status)
		status = enter(&making, 0, HPCRUN_TREE_PLACEHOLDER, HPCRUN_NO_ACTIVITY,
			       &nodes->no_activity);
	for (uint32_t i = 1; i < count && !status; i++)
		status = place_context(&making, i);
	if (!status)
		status = check_modules(&making);
	free(making.base);
	sonde_text_map_release(&making.names);
	sonde_vec_release(&making.made_up);
	return status ? status : report(&making, loss);
}
