/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The union of trees of contexts: a hash table of (parent, content) while it grows; in the end the
 * children of each node are sorted by what they say and numbered from top to bottom.
 */
#include "model/context_union.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

/* What makes a context itself. Without padding: it is hashed as bytes. */
struct content {
	uint32_t parent;
	uint32_t function; /* its class, see below */
	uint32_t module;
	uint32_t file, line, name;
	uint64_t address;
	uint8_t kind, relation, entry, unlisted;
	uint32_t zero;
};

/* What makes a function itself, where ids do not. */
struct function_content {
	uint32_t name, raw_name, path, file;
	uint64_t address;
	uint64_t key; /* of one without a name */
	uint32_t line, zero;
};

/* Numbers of items by the hash of what they are. */
struct index_table {
	uint32_t *slots; /* number + 1; 0: free */
	size_t size;	 /* a power of two; 0 while empty */
};

struct node {
	struct content content;
	struct sonde_context context;
	uint64_t hash;
};

struct function_class {
	struct function_content content;
	uint64_t hash;
	uint32_t first; /* the function that stands for all of them */
};

struct sonde_context_union {
	const struct sonde_definitions *definitions;
	bool by_content;
	uint64_t seed; /* nobody outside knows it: keys cannot be made to collide */
	SONDE_VEC(struct node) nodes;
	struct index_table table;
	/* functions that say the same, and the class of each function, SONDE_NONE while not met */
	SONDE_VEC(struct function_class) classes;
	struct index_table class_table;
	SONDE_VEC(uint32_t) class_of;
	/* after finish */
	struct sonde_context *contexts;
	uint32_t *numbers; /* by node */
	uint32_t *node_of; /* by number */
};

static uint64_t hash_words(uint64_t seed, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t hash = seed;

	for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, bytes + i, sizeof(word));
		hash = sonde_hash_fold(hash ^ word, SONDE_HASH_FACTOR_1 ^ i);
	}
	return sonde_hash_mix(hash);
}

static void index_put(struct index_table *table, uint64_t hash, uint32_t number)
{
	size_t i = (size_t)hash & (table->size - 1);

	while (table->slots[i])
		i = (i + 1) & (table->size - 1);
	table->slots[i] = number + 1;
}

/* An empty table of twice the size in place of one that is half full; the caller fills it. */
static bool index_widen(struct index_table *table)
{
	size_t size = table->size ? table->size * 2 : 64;
	uint32_t *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return false;
	free(table->slots);
	table->slots = slots;
	table->size = size;
	return true;
}

struct sonde_context_union *sonde_context_union_new(const struct sonde_definitions *definitions,
						    bool by_content)
{
	struct sonde_context_union *tree = calloc(1, sizeof(*tree));
	struct node *root;

	if (!tree)
		return NULL;
	root = sonde_vec_push(&tree->nodes);
	if (!root) {
		free(tree);
		return NULL;
	}
	tree->definitions = definitions;
	tree->by_content = by_content;
	tree->seed = sonde_hash_mix((uintptr_t)tree);
	*root = (struct node){
		.content.parent = SONDE_NONE,
		.context = { .parent = SONDE_NONE,
			     .function = SONDE_NONE,
			     .module = SONDE_NONE,
			     .kind = SONDE_CONTEXT_ROOT },
	};
	return tree;
}

void sonde_context_union_free(struct sonde_context_union *tree)
{
	if (!tree)
		return;
	sonde_vec_release(&tree->nodes);
	sonde_vec_release(&tree->classes);
	sonde_vec_release(&tree->class_of);
	free(tree->table.slots);
	free(tree->class_table.slots);
	free(tree->contexts);
	free(tree->numbers);
	free(tree->node_of);
	free(tree);
}

static uint32_t module_path(const struct sonde_definitions *definitions, uint32_t id)
{
	const struct sonde_module *module = sonde_definitions_module(definitions, id);

	return module ? module->path : 0;
}

static struct function_content function_content(const struct sonde_definitions *definitions,
						uint32_t id)
{
	const struct sonde_function *function = sonde_definitions_function(definitions, id);

	if (!function)
		return (struct function_content){ .key = id };
	return (struct function_content){
		.name = function->name,
		.raw_name = function->raw_name,
		.path = module_path(definitions, function->module),
		.file = function->file,
		.line = function->line,
		.address = function->address,
		.key = function->name	 ? 0 :
		       function->has_key ? function->key :
					   id,
	};
}

static uint32_t find_class(const struct sonde_context_union *tree,
			   const struct function_content *content, uint64_t hash)
{
	const struct index_table *table = &tree->class_table;

	for (size_t i = (size_t)hash; table->size; i++) {
		uint32_t number = table->slots[i & (table->size - 1)];
		const struct function_class *found;

		if (!number)
			break;
		found = &tree->classes.items[number - 1];
		if (found->hash == hash && !memcmp(&found->content, content, sizeof(*content)))
			return number - 1;
	}
	return SONDE_NONE;
}

static bool add_class(struct sonde_context_union *tree, const struct function_content *content,
		      uint64_t hash, uint32_t *number)
{
	struct function_class *added;

	if (tree->classes.count * 2 >= tree->class_table.size) {
		if (!index_widen(&tree->class_table))
			return false;
		for (size_t i = 0; i < tree->classes.count; i++)
			index_put(&tree->class_table, tree->classes.items[i].hash, (uint32_t)i);
	}
	added = sonde_vec_push(&tree->classes);
	if (!added)
		return false;
	*added = (struct function_class){ .content = *content, .hash = hash, .first = SONDE_NONE };
	*number = (uint32_t)(tree->classes.count - 1);
	index_put(&tree->class_table, hash, *number);
	return true;
}

/* The class of a function is found once; without content each function is its own. */
static bool classify(struct sonde_context_union *tree, uint32_t function)
{
	struct function_content content;
	uint32_t number;
	uint64_t hash;

	if (!tree->by_content || function == SONDE_NONE)
		return true;
	while (tree->class_of.count <= function) {
		uint32_t *none = sonde_vec_push(&tree->class_of);

		if (!none)
			return false;
		*none = SONDE_NONE;
	}
	if (tree->class_of.items[function] != SONDE_NONE)
		return true;
	content = function_content(tree->definitions, function);
	hash = hash_words(tree->seed, &content, sizeof(content));
	number = find_class(tree, &content, hash);
	if (number == SONDE_NONE && !add_class(tree, &content, hash, &number))
		return false;
	tree->class_of.items[function] = number;
	if (function < tree->classes.items[number].first)
		tree->classes.items[number].first = function;
	return true;
}

static uint32_t class_of_function(const struct sonde_context_union *tree, uint32_t function)
{
	if (!tree->by_content || function == SONDE_NONE)
		return function;
	return function < tree->class_of.count ? tree->class_of.items[function] : SONDE_NONE - 1;
}

static struct content content_of(const struct sonde_context_union *tree, uint32_t parent,
				 const struct sonde_context *context)
{
	return (struct content){
		.parent = parent,
		.function = class_of_function(tree, context->function),
		.module = tree->by_content && context->module != SONDE_NONE ?
				  module_path(tree->definitions, context->module) :
				  context->module,
		.file = context->file,
		.line = context->line,
		.name = context->name,
		.address = context->address,
		.kind = context->kind,
		.relation = context->relation,
		.entry = context->entry,
		.unlisted = context->unlisted,
	};
}

static uint32_t find_node(const struct sonde_context_union *tree, const struct content *content,
			  uint64_t hash)
{
	const struct index_table *table = &tree->table;

	for (size_t i = (size_t)hash; table->size; i++) {
		uint32_t number = table->slots[i & (table->size - 1)];
		const struct node *node;

		if (!number)
			break;
		node = &tree->nodes.items[number - 1];
		if (node->hash == hash && !memcmp(&node->content, content, sizeof(*content)))
			return number - 1;
	}
	return SONDE_NONE;
}

static enum sonde_status add_node(struct sonde_context_union *tree, const struct content *content,
				  uint64_t hash, uint32_t *node, struct sonde_error *err)
{
	struct node *added;

	if (tree->nodes.count >= SONDE_NONE - 1)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "there are more calling contexts than can be numbered; take "
				  "fewer tracks or a shorter time");
	if (tree->nodes.count * 2 >= tree->table.size) {
		if (!index_widen(&tree->table))
			return sonde_fail_nomem(err);
		for (size_t i = 1; i < tree->nodes.count; i++)
			index_put(&tree->table, tree->nodes.items[i].hash, (uint32_t)i);
	}
	added = sonde_vec_push(&tree->nodes);
	if (!added)
		return sonde_fail_nomem(err);
	*added = (struct node){ .content = *content, .hash = hash };
	*node = (uint32_t)(tree->nodes.count - 1);
	index_put(&tree->table, hash, *node);
	return SONDE_OK;
}

enum sonde_status sonde_context_union_add(struct sonde_context_union *tree, uint32_t parent,
					  const struct sonde_context *context, uint32_t *node,
					  struct sonde_error *err)
{
	enum sonde_status status;
	struct sonde_context *kept;
	struct content content;
	uint64_t hash;

	if (!classify(tree, context->function))
		return sonde_fail_nomem(err);
	content = content_of(tree, parent, context);
	hash = hash_words(tree->seed, &content, sizeof(content));
	*node = find_node(tree, &content, hash);
	if (*node == SONDE_NONE) {
		status = add_node(tree, &content, hash, node, err);
		if (status)
			return status;
		tree->nodes.items[*node].context = *context;
		return SONDE_OK;
	}
	/* of several modules that say the same the first stands for all */
	kept = &tree->nodes.items[*node].context;
	if (context->module < kept->module)
		kept->module = context->module;
	return SONDE_OK;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_strings(const struct sonde_definitions *definitions, uint32_t a, uint32_t b)
{
	if (a == b)
		return 0;
	return strcmp(sonde_definitions_string(definitions, a),
		      sonde_definitions_string(definitions, b));
}

static int compare_modules(const struct sonde_definitions *definitions, uint32_t a, uint32_t b)
{
	if (a == b)
		return 0;
	return compare_strings(definitions, module_path(definitions, a),
			       module_path(definitions, b));
}

static int compare_functions(const struct sonde_definitions *definitions, uint32_t a, uint32_t b)
{
	struct function_content one, other;
	int order;

	if (a == b)
		return 0;
	one = function_content(definitions, a);
	other = function_content(definitions, b);
	order = compare_strings(definitions, one.name, other.name);
	if (!order)
		order = compare_strings(definitions, one.path, other.path);
	if (!order)
		order = compare_strings(definitions, one.file, other.file);
	if (!order)
		order = compare_numbers(one.line, other.line);
	if (!order)
		order = compare_numbers(one.address, other.address);
	if (!order)
		order = compare_strings(definitions, one.raw_name, other.raw_name);
	if (!order)
		order = compare_numbers(one.key, other.key);
	return order;
}

/* Of children of one node. Equal numbers are left to the end: they may depend on threads. */
static int compare_children(const void *left, const void *right, void *user)
{
	const struct sonde_context_union *tree = user;
	const struct sonde_definitions *definitions = tree->definitions;
	const struct sonde_context *a = &tree->nodes.items[*(const uint32_t *)left].context;
	const struct sonde_context *b = &tree->nodes.items[*(const uint32_t *)right].context;
	int order = compare_numbers(a->kind, b->kind);

	if (!order)
		order = compare_strings(definitions, a->name, b->name);
	if (!order)
		order = compare_functions(definitions, a->function, b->function);
	if (!order)
		order = compare_strings(definitions, a->file, b->file);
	if (!order)
		order = compare_numbers(a->line, b->line);
	if (!order)
		order = compare_modules(definitions, a->module, b->module);
	if (!order)
		order = compare_numbers(a->address, b->address);
	if (!order)
		order = compare_numbers(a->relation, b->relation);
	if (!order)
		order = compare_numbers(a->entry, b->entry);
	if (!order)
		order = compare_numbers(a->unlisted, b->unlisted);
	if (!order)
		order = compare_numbers(a->function, b->function);
	return order ? order : compare_numbers(a->module, b->module);
}

/* The children of each node, in order, one node's after the other's. */
struct families {
	uint32_t *children;
	uint32_t *firsts; /* by node, and one more */
};

static void gather_families(struct sonde_context_union *tree, struct families *families)
{
	size_t count = tree->nodes.count;

	for (size_t i = 1; i < count; i++)
		families->firsts[tree->nodes.items[i].content.parent + 1]++;
	for (size_t i = 0; i < count; i++)
		families->firsts[i + 1] += families->firsts[i];
	/* filled from the end, so that the firsts are right again afterwards */
	for (size_t i = count; i-- > 1;) {
		uint32_t parent = tree->nodes.items[i].content.parent;

		families->children[--families->firsts[parent + 1]] = (uint32_t)i;
	}
}

/* After filling, firsts[i + 1] is where the children of node i begin. */
static void sort_families(struct sonde_context_union *tree, struct families *families)
{
	size_t count = tree->nodes.count;

	for (size_t i = 0; i < count; i++) {
		uint32_t first = families->firsts[i + 1];
		uint32_t end = i + 1 < count ? families->firsts[i + 2] : (uint32_t)(count - 1);

		if (end - first > 1)
			qsort_r(families->children + first, end - first,
				sizeof(*families->children), compare_children, tree);
	}
}

/* Top down and from the left; `next` says which child of a node comes next. */
static void number_nodes(struct sonde_context_union *tree, const struct families *families,
			 uint32_t *next)
{
	uint32_t count = (uint32_t)tree->nodes.count, number = 0, node = SONDE_UNION_ROOT;

	for (uint32_t i = 0; i < count; i++)
		next[i] = families->firsts[i + 1];
	tree->numbers[node] = number++;
	for (;;) {
		uint32_t end = node + 1 < count ? families->firsts[node + 2] : count - 1;

		if (next[node] < end) {
			node = families->children[next[node]++];
			tree->numbers[node] = number++;
			continue;
		}
		tree->contexts[tree->numbers[node]].end = number;
		if (node == SONDE_UNION_ROOT)
			return;
		node = tree->nodes.items[node].content.parent;
	}
}

static void fill_contexts(struct sonde_context_union *tree)
{
	for (size_t i = 0; i < tree->nodes.count; i++) {
		const struct node *node = &tree->nodes.items[i];
		struct sonde_context *context = &tree->contexts[tree->numbers[i]];
		uint32_t end = context->end;

		*context = node->context;
		if (tree->by_content && context->function != SONDE_NONE)
			context->function = tree->classes.items[node->content.function].first;
		context->end = end;
		context->parent = i ? tree->numbers[node->content.parent] : SONDE_NONE;
		tree->node_of[tree->numbers[i]] = (uint32_t)i;
	}
}

enum sonde_status sonde_context_union_finish(struct sonde_context_union *tree,
					     struct sonde_error *err)
{
	size_t count = tree->nodes.count;
	uint32_t *next = calloc(count, sizeof(*next));
	struct families families = {
		.children = calloc(count, sizeof(*families.children)),
		.firsts = calloc(count + 2, sizeof(*families.firsts)),
	};
	bool happened;

	tree->contexts = calloc(count, sizeof(*tree->contexts));
	tree->numbers = calloc(count, sizeof(*tree->numbers));
	tree->node_of = calloc(count, sizeof(*tree->node_of));
	happened = next && families.children && families.firsts && tree->contexts &&
		   tree->numbers && tree->node_of;
	if (happened) {
		gather_families(tree, &families);
		sort_families(tree, &families);
		number_nodes(tree, &families, next);
		fill_contexts(tree);
	}
	free(next);
	free(families.children);
	free(families.firsts);
	return happened ? SONDE_OK : sonde_fail_nomem(err);
}

const struct sonde_context *sonde_context_union_contexts(const struct sonde_context_union *tree,
							 uint32_t *count)
{
	*count = (uint32_t)tree->nodes.count;
	return tree->contexts;
}

uint32_t sonde_context_union_number(const struct sonde_context_union *tree, uint32_t node)
{
	return tree->numbers[node];
}

uint32_t sonde_context_union_find(const struct sonde_context_union *tree, uint32_t parent,
				  const struct sonde_context *context)
{
	struct content content = content_of(tree, tree->node_of[parent], context);
	uint32_t node =
		find_node(tree, &content, hash_words(tree->seed, &content, sizeof(content)));

	return node == SONDE_NONE ? SONDE_NONE : tree->numbers[node];
}

uint32_t sonde_context_union_class(const struct sonde_context_union *tree, uint32_t function)
{
	return function < tree->class_of.count ? tree->class_of.items[function] : SONDE_NONE;
}

uint32_t sonde_context_union_class_function(const struct sonde_context_union *tree, uint32_t number)
{
	return tree->classes.items[number].first;
}

uint32_t sonde_context_union_class_count(const struct sonde_context_union *tree)
{
	return (uint32_t)tree->classes.count;
}
