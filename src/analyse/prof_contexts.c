/* SPDX-License-Identifier: Apache-2.0 */
/* Expands raw nodes with what is known of their addresses, then gives contexts their numbers. */
#include "analyse/prof_contexts.h"

#include "analyse/prof_read.h"
#include "base/sort.h"

struct building {
	struct prof_contexts *contexts;
	const struct prof_union *all;
	const char **modules; /* paths of those that occur, sorted */
	size_t module_count;
	uint32_t *module_numbers; /* of PROF_MODULES -> modules; SONDE_NONE: not used */
	struct prof_places places;
	uint32_t *place_of; /* by raw node; only where it has one */
	struct prof_names names;
	struct prof_elements elements;
	struct raw_tree tree; /* of contexts before they are numbered: ip is the element */
	SONDE_VEC(uint32_t) chain;
};

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_address(const struct raw_node *node)
{
	return (node->module & ~RAW_NOT_UNWOUND) >= RAW_MODULES;
}

static uint32_t module_of(const struct building *building, const struct raw_node *node)
{
	return building->module_numbers[(node->module & ~RAW_NOT_UNWOUND) - RAW_MODULES];
}

/* Lists the paths of modules that nodes or functions lie in. */
static bool list_modules(struct building *building)
{
	const struct prof_blobs *modules = &building->all->sets[PROF_MODULES];
	const struct prof_blobs *functions = &building->all->sets[PROF_FUNCTIONS];
	const struct raw_tree *tree = &building->all->tree;
	size_t count = modules->items.count, most = count + functions->items.count, i, kept = 0;
	uint32_t node;

	building->module_numbers = malloc((count + 1) * sizeof(uint32_t));
	building->modules = calloc(most + 1, sizeof(*building->modules));
	if (!building->module_numbers || !building->modules)
		return false;
	memset(building->module_numbers, 0xff, (count + 1) * sizeof(uint32_t));
	for (node = 1; node < tree->count; node++)
		if (has_address(&tree->nodes[node]))
			building->module_numbers[(tree->nodes[node].module & ~RAW_NOT_UNWOUND) -
						 RAW_MODULES] = 0;
	for (i = 0; i < count; i++)
		if (building->module_numbers[i] != SONDE_NONE)
			building->modules[kept++] = modules->items.items[i].data;
	for (i = 0; i < functions->items.count; i++) {
		const char *path = prof_function_of(&functions->items.items[i]).module;

		if (path[0])
			building->modules[kept++] = path;
	}
	building->module_count = kept;
	return true;
}

static void sort_modules(struct building *building)
{
	const struct prof_blobs *modules = &building->all->sets[PROF_MODULES];
	size_t i, kept = 0;

	if (building->module_count)
		qsort(building->modules, building->module_count, sizeof(const char *),
		      compare_texts);
	for (i = 0; i < building->module_count; i++)
		if (!kept || strcmp(building->modules[kept - 1], building->modules[i]))
			building->modules[kept++] = building->modules[i];
	building->module_count = kept;
	for (i = 0; i < modules->items.count; i++) {
		const char *path = modules->items.items[i].data, *const * found;

		if (building->module_numbers[i] == SONDE_NONE)
			continue;
		found = bsearch(&path, building->modules, kept, sizeof(path), compare_texts);
		building->module_numbers[i] = (uint32_t)(found - building->modules);
	}
}

/* Orders nodes with addresses by module, then address; NULL where memory failed. */
static struct sonde_sort_item *sort_nodes(const struct building *building, size_t *count)
{
	const struct raw_tree *tree = &building->all->tree;
	struct sonde_sort_item *items = malloc(((size_t)tree->count + 1) * sizeof(*items));
	uint32_t node;
	size_t i;

	*count = 0;
	for (node = 1; items && node < tree->count; node++)
		if (has_address(&tree->nodes[node]))
			items[(*count)++] = (struct sonde_sort_item){ .key = tree->nodes[node].ip,
								      .number = node };
	if (!items || !sonde_sort(items, *count)) {
		free(items);
		return NULL;
	}
	for (i = 0; i < *count; i++)
		items[i].key = module_of(building, &tree->nodes[items[i].number]);
	if (!sonde_sort(items, *count)) {
		free(items);
		return NULL;
	}
	return items;
}

static bool list_places(struct building *building)
{
	const struct raw_tree *tree = &building->all->tree;
	struct prof_places *places = &building->places;
	size_t count, i, module = 0;
	struct sonde_sort_item *items = sort_nodes(building, &count);

	building->place_of = malloc(((size_t)tree->count + 1) * sizeof(uint32_t));
	places->items = items ? calloc(count + 1, sizeof(*places->items)) : NULL;
	places->starts = calloc(building->module_count + 1, sizeof(uint32_t));
	if (!building->place_of || !places->items || !places->starts) {
		free(items);
		return false;
	}
	for (i = 0; i < count; i++) {
		uint64_t ip = tree->nodes[items[i].number].ip;
		const struct prof_place *last = places->count ? &places->items[places->count - 1] :
								NULL;

		if (!last || last->module != items[i].key || last->ip != ip) {
			while (module < items[i].key)
				places->starts[++module] = places->count;
			places->items[places->count++] = (struct prof_place){
				.ip = ip, .module = (uint32_t)items[i].key, .node = SONDE_NONE
			};
		}
		building->place_of[items[i].number] = places->count - 1;
	}
	while (module < building->module_count)
		places->starts[++module] = places->count;
	free(items);
	return true;
}

/* The context of an element below another one; SONDE_NONE where memory failed, or above is. */
static uint32_t below(struct building *building, uint32_t parent, uint32_t element)
{
	return parent == SONDE_NONE ? SONDE_NONE :
				      raw_tree_add(&building->tree, parent, 0, element);
}

/* Whatever is no entry cannot be below the root. */
static uint32_t below_entry(struct building *building, uint32_t parent)
{
	if (parent)
		return parent;
	building->contexts->demoted++;
	return below(building, 0, building->elements.unknown_entry);
}

static void set(struct building *building, uint32_t raw, uint32_t relation, uint32_t innermost)
{
	building->contexts->relation[raw] = relation;
	building->contexts->innermost[raw] = innermost;
}

static void expand_placeholder(struct building *building, uint32_t raw, uint32_t parent)
{
	const struct prof_elements *elements = &building->elements;
	uint64_t ip = building->all->tree.nodes[raw].ip;
	bool unknown = ip == HPCRUN_PARTIAL || ip == HPCRUN_UNNORMALIZED;
	uint32_t context;

	if (ip == HPCRUN_PRIMARY || (!parent && ip == HPCRUN_NO_ACTIVITY))
		context = parent;
	else if (!parent && unknown)
		context = below(building, 0, elements->unknown_entry);
	else if (!parent && ip == HPCRUN_MAIN)
		context = below(building, 0, elements->main_thread);
	else if (!parent && ip == HPCRUN_THREAD)
		context = below(building, 0, elements->application_thread);
	else
		context = below(building, below_entry(building, parent),
				unknown ? elements->unknown_function :
					  prof_placeholder_element(elements, ip));
	set(building, raw, context, context);
}

static bool is_gpu(uint32_t module)
{
	return module == RAW_GPU_CONTEXT || module == RAW_GPU_RANGE || module == RAW_GPU_RANGE_ROOT;
}

/* An address: all that it lies in, from the function to the instruction. */
static void expand_address(struct building *building, uint32_t raw, uint32_t parent)
{
	const struct prof_elements *elements = &building->elements;
	const struct raw_node *node = &building->all->tree.nodes[raw];
	uint32_t number = building->place_of[raw];
	const struct prof_place *place = &building->places.items[number];
	const struct prof_name_node *pieces = building->names.modules[place->module].nodes.items;
	const uint32_t *ranks = elements->nodes + elements->node_starts[place->module];
	uint32_t above = below_entry(building, parent), piece, relation = SONDE_NONE;

	if (node->module & RAW_NOT_UNWOUND)
		above = below(building, above, elements->unknown_function);
	if (node->module & RAW_NOT_UNWOUND ||
	    is_gpu(building->all->tree.nodes[node->parent].module))
		building->contexts->unwound++;
	building->chain.count = 0;
	for (piece = place->node; piece != SONDE_NONE; piece = pieces[piece].parent) {
		uint32_t *link = sonde_vec_push(&building->chain);

		if (!link) {
			set(building, raw, SONDE_NONE, SONDE_NONE);
			return;
		}
		*link = ranks[piece];
	}
	while (building->chain.count) {
		above = below(building, above, building->chain.items[--building->chain.count]);
		if (relation == SONDE_NONE)
			relation = above;
	}
	above = below(building, above,
		      prof_instruction(elements, number, place->node == SONDE_NONE));
	set(building, raw, relation == SONDE_NONE ? above : relation, above);
}

static bool expand(struct building *building)
{
	const struct raw_tree *raw = &building->all->tree;
	struct prof_contexts *contexts = building->contexts;
	uint32_t i, context;

	contexts->relation = calloc((size_t)raw->count + 1, sizeof(uint32_t));
	contexts->innermost = calloc((size_t)raw->count + 1, sizeof(uint32_t));
	if (!contexts->relation || !contexts->innermost || !raw_tree_begin(&building->tree))
		return false;
	set(building, 0, 0, 0);
	for (i = 1; i < raw->count; i++) {
		uint32_t parent = contexts->innermost[raw->nodes[i].parent];

		switch (raw->nodes[i].module) {
		case RAW_PLACEHOLDER:
			expand_placeholder(building, i, parent);
			break;
		case RAW_GPU_CONTEXT:
		case RAW_GPU_RANGE:
		case RAW_GPU_RANGE_ROOT:
			context = parent ? parent :
					   below(building, 0, building->elements.unknown_entry);
			set(building, i, context, context);
			break;
		case RAW_FUNCTIONS:
			context = below(building, below_entry(building, parent),
					building->elements.functions[raw->nodes[i].ip]);
			set(building, i, context, context);
			break;
		default:
			expand_address(building, i, parent);
		}
		if (contexts->innermost[i] == SONDE_NONE)
			return false;
	}
	return true;
}

/* Links siblings by the order of their elements: first[parent], then next[child]; 0 ends. */
static bool link_siblings(const struct raw_tree *tree, uint32_t *first, uint32_t *next)
{
	struct sonde_sort_item *items = malloc((size_t)tree->count * sizeof(*items));
	uint32_t i;

	if (!items)
		return false;
	for (i = 1; i < tree->count; i++)
		items[i - 1] = (struct sonde_sort_item){
			.key = (uint64_t)tree->nodes[i].parent << 32 | tree->nodes[i].ip,
			.number = i,
		};
	if (!sonde_sort(items, tree->count - 1)) {
		free(items);
		return false;
	}
	for (i = tree->count - 1; i > 0; i--) {
		uint32_t child = (uint32_t)items[i - 1].number, parent = tree->nodes[child].parent;

		next[child] = first[parent];
		first[parent] = child;
	}
	free(items);
	return true;
}

/* Numbers in preorder; numbers[node]. */
static void number_nodes(const struct raw_tree *tree, const uint32_t *first, const uint32_t *next,
			 uint32_t *numbers)
{
	uint32_t node = 0, number = 0;

	for (;;) {
		numbers[node] = number++;
		if (first[node]) {
			node = first[node];
			continue;
		}
		while (node && !next[node])
			node = tree->nodes[node].parent;
		if (!node)
			return;
		node = next[node];
	}
}

static void fill_contexts(struct building *building, const uint32_t *numbers)
{
	struct prof_contexts *contexts = building->contexts;
	const struct raw_tree *tree = &building->tree;
	uint32_t i;

	for (i = 1; i < tree->count; i++) {
		struct sonde_context *context = &contexts->contexts[numbers[i]];

		*context = prof_element(&building->elements, &building->places,
					(uint32_t)tree->nodes[i].ip);
		context->parent = numbers[tree->nodes[i].parent];
	}
	contexts->contexts[0] = (struct sonde_context){ .parent = SONDE_NONE,
							.function = SONDE_NONE,
							.module = SONDE_NONE,
							.kind = SONDE_CONTEXT_ROOT };
	contexts->count = tree->count;
	for (i = contexts->count; i-- > 0;) {
		struct sonde_context *context = &contexts->contexts[i], *parent;

		if (!context->end)
			context->end = i + 1;
		contexts->listed += !context->unlisted;
		parent = i ? &contexts->contexts[context->parent] : NULL;
		if (parent && parent->end < context->end)
			parent->end = context->end;
	}
	for (i = 0; i < building->all->tree.count; i++)
		set(building, i, numbers[contexts->relation[i]], numbers[contexts->innermost[i]]);
}

static bool number_contexts(struct building *building)
{
	size_t count = building->tree.count;
	uint32_t *links = calloc(count, 3 * sizeof(*links));
	bool fine = links && link_siblings(&building->tree, links, links + count);

	building->contexts->contexts = calloc(count, sizeof(struct sonde_context));
	fine = fine && building->contexts->contexts;
	if (fine) {
		number_nodes(&building->tree, links, links + count, links + 2 * count);
		fill_contexts(building, links + 2 * count);
	}
	free(links);
	return fine;
}

/* How many contexts lie in each module, and where its names came from. */
static bool count_modules(struct building *building)
{
	struct prof_contexts *contexts = building->contexts;
	const struct sonde_definitions *definitions = building->elements.definitions;
	uint32_t i, module;

	if (!sonde_vec_reserve(&contexts->modules, building->module_count + 1))
		return false;
	for (i = 0; i < building->module_count; i++)
		contexts->modules.items[i] = (struct sonde_prof_module){
			.path = sonde_definitions_string(
				definitions, sonde_definitions_module(definitions, i)->path),
			.origin = building->names.modules[i].origin,
			.recorded = building->places.starts[i] == building->places.starts[i + 1],
		};
	contexts->modules.count = building->module_count;
	for (i = 0; i < contexts->count; i++) {
		const struct sonde_context *context = &contexts->contexts[i];
		const struct sonde_function *function =
			sonde_definitions_function(definitions, context->function);

		module = function ? function->module : context->module;
		if (module != SONDE_NONE)
			contexts->modules.items[module].contexts++;
	}
	return true;
}

static void release_building(struct building *building)
{
	free(building->modules);
	free(building->module_numbers);
	free(building->places.items);
	free(building->places.starts);
	free(building->place_of);
	prof_names_release(&building->names);
	prof_elements_release(&building->elements);
	raw_tree_release(&building->tree);
	sonde_vec_release(&building->chain);
}

static enum sonde_status begin(struct building *building, struct sonde_error *err)
{
	if (!list_modules(building))
		return sonde_fail_nomem(err);
	sort_modules(building);
	if (!list_places(building))
		return sonde_fail_nomem(err);
	if (building->places.count > UINT32_MAX / 4)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "%u distinct addresses, expected at most %u: merge fewer "
				  "measurements at once",
				  building->places.count, UINT32_MAX / 4);
	return SONDE_OK;
}

enum sonde_status prof_contexts_make(struct prof_contexts *contexts, const struct prof_union *all,
				     const struct prof_inputs *inputs,
				     const struct sonde_prof_options *options,
				     struct prof_union *refused, struct sonde_error *err)
{
	struct building building = { .contexts = contexts, .all = all };
	enum sonde_status status = sonde_team_agree(options->team, begin(&building, err), err);

	if (status == SONDE_OK)
		status = prof_names_find(&building.names, building.modules, building.module_count,
					 &building.places, inputs, options, refused, err);
	if (status == SONDE_OK)
		status = prof_elements_make(&building.elements, all, &building.names,
					    building.modules, building.module_count, err);
	if (status == SONDE_OK &&
	    (!expand(&building) || !number_contexts(&building) || !count_modules(&building)))
		status = sonde_fail_nomem(err);
	contexts->definitions = building.elements.definitions;
	building.elements.definitions = NULL;
	release_building(&building);
	return sonde_team_agree(options->team, status, err);
}

void prof_contexts_release(struct prof_contexts *contexts)
{
	sonde_definitions_free(contexts->definitions);
	free(contexts->contexts);
	free(contexts->relation);
	free(contexts->innermost);
	sonde_vec_release(&contexts->modules);
	*contexts = (struct prof_contexts){ 0 };
}
