/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts are sorted first; then modules, functions and elements are compared by numbers alone. Records
 * that are equal in all that is shown keep the order in which their file has them.
 */
#include "analyse/prof_elements.h"

#include "analyse/prof_read.h"
#include "base/map.h"
#include "base/sort.h"
#include "model/recording.h"

/* Kinds of entries that prof makes. */
enum { ENTRIES = SONDE_ENTRY_APPLICATION_THREAD + 1 };

struct texts {
	const char **items;
	size_t count, capacity;
};

/* A function before functions are sorted; `number` is its place in `functions` of `making`. */
struct draft {
	struct sonde_function function;
	uint32_t number;
};

struct element_draft {
	struct sonde_context context;
	uint32_t number;
};

struct making {
	struct prof_elements *elements;
	const struct prof_union *all;
	const struct prof_names *names;
	const char *const *modules;
	size_t module_count;
	struct texts texts;
	uint32_t *text_ids; /* ids of prof_names.texts -> definitions */
	uint32_t text_count;
	SONDE_VEC(struct draft) functions;
	uint32_t *function_ids; /* by place in `functions` */
	SONDE_VEC(struct element_draft) drafts;
};

/* Whether it becomes a function with a name; some have a meaning of their own below the root. */
static bool is_named(uint64_t placeholder, bool below_root)
{
	switch (placeholder) {
	case HPCRUN_PRIMARY:
	case HPCRUN_PARTIAL:
	case HPCRUN_UNNORMALIZED:
		return false;
	case HPCRUN_MAIN:
	case HPCRUN_THREAD:
	case HPCRUN_NO_ACTIVITY:
		return !below_root;
	default:
		return true;
	}
}

static int compare_ips(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

/* The distinct ones that become functions. */
static bool list_placeholders(struct making *making)
{
	const struct raw_tree *tree = &making->all->tree;
	struct prof_elements *elements = making->elements;
	struct sonde_key_map known = { NULL };
	SONDE_VEC(uint64_t) ips = { 0 };
	bool fine = true;
	uint32_t i;

	for (i = 1; fine && i < tree->count; i++) {
		const struct raw_node *node = &tree->nodes[i];
		uint64_t *place;

		/* Whether what is above turns out to be the root is not known yet: one too many. */
		if (node->module != RAW_PLACEHOLDER || !is_named(node->ip, !node->parent) ||
		    sonde_key_map_find(&known, node->ip) != SONDE_NONE)
			continue;
		place = sonde_vec_push(&ips);
		fine = place && sonde_key_map_add(&known, node->ip, 0);
		if (fine)
			*place = node->ip;
	}
	sonde_key_map_release(&known);
	if (ips.items)
		qsort(ips.items, ips.count, sizeof(*ips.items), compare_ips);
	elements->placeholders = ips.items;
	elements->placeholder_count = ips.count;
	elements->placeholder_elements =
		calloc(ips.count + 1, sizeof(*elements->placeholder_elements));
	return fine && elements->placeholder_elements;
}

/* A placeholder nobody knows is called by its own characters. */
static const char *placeholder_name(uint64_t ip, char space[16])
{
	const char *name = hpcrun_placeholder_name(ip);
	size_t length = 0;
	unsigned int i;

	if (name)
		return name;
	space[length++] = '<';
	for (i = 0; i < 8; i++) {
		char letter = (char)(ip >> (56 - 8 * i));

		space[length++] = letter > ' ' && letter < 127 ? letter : ' ';
	}
	while (length > 1 && space[length - 1] == ' ')
		length--;
	space[length++] = '>';
	space[length] = '\0';
	return space;
}

static bool add_text(struct making *making, const char *text)
{
	const char **place = sonde_vec_push(&making->texts);

	if (place)
		*place = text;
	return place;
}

/* All texts that are borrowed from others; ids of names are counted on the way. */
static bool list_texts(struct making *making)
{
	const struct prof_blobs *functions = &making->all->sets[PROF_FUNCTIONS];
	uint32_t id, last = 0;
	size_t i, j;
	bool fine = true;

	for (i = 0; fine && i < making->module_count; i++) {
		const struct prof_module_names *module = &making->names->modules[i];

		fine = add_text(making, making->modules[i]);
		for (j = 0; j < module->nodes.count; j++)
			if (module->nodes.items[j].file > last)
				last = module->nodes.items[j].file;
		for (j = 0; j < module->functions.count; j++) {
			if (module->functions.items[j].name > last)
				last = module->functions.items[j].name;
			if (module->functions.items[j].file > last)
				last = module->functions.items[j].file;
		}
	}
	for (id = 1; fine && id <= last; id++)
		fine = add_text(making, sonde_definitions_string(making->names->texts, id));
	making->text_count = last + 1;
	for (i = 0; fine && i < functions->items.count; i++) {
		struct prof_function function = prof_function_of(&functions->items.items[i]);

		fine = add_text(making, function.name) && add_text(making, function.file);
	}
	return fine;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum sonde_status define_text(struct making *making, const char *text, uint32_t *id,
				     struct sonde_error *err)
{
	return sonde_definitions_add_string(making->elements->definitions, text, strlen(text), id,
					    err);
}

/* Defines all texts in their order: an id is a rank from here on. */
static enum sonde_status define_texts(struct making *making, struct sonde_error *err)
{
	const struct prof_elements *elements = making->elements;
	char(*spaces)[16] = calloc(elements->placeholder_count + 1, sizeof(*spaces));
	enum sonde_status status = SONDE_OK;
	uint32_t id;
	size_t i;
	bool fine = spaces && list_texts(making);

	for (i = 0; fine && i < ENTRIES; i++)
		fine = add_text(making, sonde_entry_name((unsigned int)i));
	for (i = 0; fine && i < elements->placeholder_count; i++)
		fine = add_text(making, placeholder_name(elements->placeholders[i], spaces[i]));
	if (!fine)
		status = sonde_fail_nomem(err);
	if (fine && making->texts.count)
		qsort(making->texts.items, making->texts.count, sizeof(const char *),
		      compare_texts);
	for (i = 0; status == SONDE_OK && i < making->texts.count; i++)
		status = define_text(making, making->texts.items[i], &id, err);
	free(spaces);
	making->text_ids = calloc(making->text_count + 1, sizeof(uint32_t));
	if (status == SONDE_OK && !making->text_ids)
		status = sonde_fail_nomem(err);
	for (id = 1; status == SONDE_OK && id < making->text_count; id++)
		status = define_text(making, sonde_definitions_string(making->names->texts, id),
				     &making->text_ids[id], err);
	return status;
}

static enum sonde_status define_modules(struct making *making, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	size_t i;

	for (i = 0; status == SONDE_OK && i < making->module_count; i++) {
		struct sonde_module module = { .process = SONDE_NONE };
		uint32_t id;

		status = define_text(making, making->modules[i], &module.path, err);
		if (status == SONDE_OK)
			status = sonde_definitions_add_module(making->elements->definitions,
							      &module, &id, err);
	}
	return status;
}

/* The number of a module by its path; SONDE_NONE for "". */
static uint32_t module_number(const struct making *making, const char *path)
{
	const char *const *found = path[0] ? bsearch(&path, making->modules, making->module_count,
						     sizeof(const char *), compare_texts) :
					     NULL;

	return found ? (uint32_t)(found - making->modules) : SONDE_NONE;
}

static bool draft_function(struct making *making, const struct sonde_function *function)
{
	struct draft *draft = sonde_vec_push(&making->functions);

	if (draft)
		*draft = (struct draft){ .function = *function,
					 .number = (uint32_t)making->functions.count - 1 };
	return draft;
}

/* Functions of structures, module by module; then placeholders; then those of recordings. */
static enum sonde_status draft_functions(struct making *making, struct sonde_error *err)
{
	const struct prof_elements *elements = making->elements;
	const struct prof_blobs *recorded = &making->all->sets[PROF_FUNCTIONS];
	enum sonde_status status = SONDE_OK;
	struct sonde_function function;
	char space[16];
	bool fine = true;
	size_t i, j;

	for (i = 0; fine && i < making->module_count; i++) {
		const struct prof_module_names *module = &making->names->modules[i];

		for (j = 0; fine && j < module->functions.count; j++) {
			const struct prof_name_function *found = &module->functions.items[j];

			function = (struct sonde_function){
				.process = SONDE_NONE,
				.module = (uint32_t)i,
				.name = making->text_ids[found->name],
				.file = making->text_ids[found->file],
				.line = found->line,
				.address = found->address,
			};
			fine = draft_function(making, &function);
		}
	}
	for (i = 0; fine && status == SONDE_OK && i < elements->placeholder_count; i++) {
		function = (struct sonde_function){ .process = SONDE_NONE, .module = SONDE_NONE };
		status = define_text(making, placeholder_name(elements->placeholders[i], space),
				     &function.name, err);
		fine = draft_function(making, &function);
	}
	for (i = 0; fine && status == SONDE_OK && i < recorded->items.count; i++) {
		struct prof_function from = prof_function_of(&recorded->items.items[i]);

		function = (struct sonde_function){ .process = SONDE_NONE,
						    .module = module_number(making, from.module),
						    .line = from.line,
						    .address = from.address };
		status = define_text(making, from.name, &function.name, err);
		if (status == SONDE_OK)
			status = define_text(making, from.file, &function.file, err);
		fine = draft_function(making, &function);
	}
	return fine ? status : sonde_fail_nomem(err);
}

#define COMPARE(a, b)                                                                              \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			return (a) < (b) ? -1 : 1;                                                 \
	} while (0)

static int compare_functions(const void *a, const void *b)
{
	const struct draft *one = a, *other = b;

	COMPARE(one->function.name, other->function.name);
	COMPARE(one->function.file, other->function.file);
	COMPARE(one->function.line, other->function.line);
	COMPARE(one->function.module, other->function.module);
	COMPARE(one->function.address, other->function.address);
	COMPARE(one->number, other->number);
	return 0;
}

static enum sonde_status define_functions(struct making *making, struct sonde_error *err)
{
	size_t count = making->functions.count, i;
	enum sonde_status status = SONDE_OK;

	making->function_ids = calloc(count + 1, sizeof(uint32_t));
	if (!making->function_ids)
		return sonde_fail_nomem(err);
	if (count)
		qsort(making->functions.items, count, sizeof(*making->functions.items),
		      compare_functions);
	for (i = 0; status == SONDE_OK && i < count; i++) {
		const struct draft *draft = &making->functions.items[i];

		status = sonde_definitions_add_function(making->elements->definitions,
							&draft->function,
							&making->function_ids[draft->number], err);
	}
	return status;
}

/* An element with what is not known of it. */
static struct sonde_context blank(enum sonde_context_kind kind,
				  enum sonde_context_relation relation)
{
	return (struct sonde_context){ .parent = SONDE_NONE,
				       .function = SONDE_NONE,
				       .module = SONDE_NONE,
				       .kind = (uint8_t)kind,
				       .relation = (uint8_t)relation };
}

/* Its number is that of the drafts until they are sorted. */
static bool draft_element(struct making *making, const struct sonde_context *context)
{
	struct element_draft *draft = sonde_vec_push(&making->drafts);

	if (draft)
		*draft = (struct element_draft){ .context = *context,
						 .number = (uint32_t)making->drafts.count - 1 };
	return draft;
}

/* The first drafts: entries by their kind, then a function that nobody could find out. */
enum { UNKNOWN_FUNCTION = ENTRIES, FIRST_OTHER };

static enum sonde_status draft_entries(struct making *making, struct sonde_error *err)
{
	struct sonde_context context;
	enum sonde_status status;
	size_t i;

	for (i = 0; i < ENTRIES; i++) {
		context = blank(SONDE_CONTEXT_ENTRY, SONDE_CONTEXT_CALLED);
		context.entry = (uint8_t)i;
		status = define_text(making, sonde_entry_name((unsigned int)i), &context.name, err);
		if (status != SONDE_OK)
			return status;
		if (!draft_element(making, &context))
			return sonde_fail_nomem(err);
	}
	context = blank(SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED);
	return draft_element(making, &context) ? SONDE_OK : sonde_fail_nomem(err);
}

/* In the order of draft_functions(): placeholders and recorded functions; then nodes. */
static bool draft_others(struct making *making)
{
	size_t called =
		making->elements->placeholder_count + making->all->sets[PROF_FUNCTIONS].items.count;
	size_t first = making->functions.count - called, i, j, base = 0;
	struct sonde_context context;
	bool fine = true;

	for (i = 0; fine && i < called; i++) {
		context = blank(SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED);
		context.function = making->function_ids[first + i];
		fine = draft_element(making, &context);
	}
	for (i = 0; fine && i < making->module_count; i++) {
		const struct prof_module_names *module = &making->names->modules[i];

		for (j = 0; fine && j < module->nodes.count; j++) {
			const struct prof_name_node *node = &module->nodes.items[j];

			context = blank((enum sonde_context_kind)node->kind,
					(enum sonde_context_relation)node->relation);
			context.line = node->line;
			context.file = making->text_ids[node->file];
			if (node->kind == SONDE_CONTEXT_FUNCTION) {
				context.function = making->function_ids[base + node->function];
				context.file = context.line = 0;
			} else if (node->kind == SONDE_CONTEXT_LOOP) {
				context.module = (uint32_t)i;
				context.address = node->address;
			}
			fine = draft_element(making, &context);
		}
		base += module->functions.count;
	}
	return fine;
}

static int compare_elements(const void *a, const void *b)
{
	const struct element_draft *one = a, *other = b;

	COMPARE(one->context.kind, other->context.kind);
	COMPARE(one->context.entry, other->context.entry);
	COMPARE(one->context.function, other->context.function);
	COMPARE(one->context.file, other->context.file);
	COMPARE(one->context.line, other->context.line);
	COMPARE(one->context.module, other->context.module);
	COMPARE(one->context.address, other->context.address);
	COMPARE(one->context.relation, other->context.relation);
	COMPARE(one->number, other->number);
	return 0;
}

/* Puts the drafts in order; *ranks (malloc'd) says where each went. */
static bool sort_elements(struct making *making, uint32_t **ranks)
{
	struct prof_elements *elements = making->elements;
	size_t count = making->drafts.count, i;

	elements->items = calloc(count + 1, sizeof(*elements->items));
	*ranks = calloc(count + 1, sizeof(**ranks));
	if (!elements->items || !*ranks)
		return false;
	if (count)
		qsort(making->drafts.items, count, sizeof(*making->drafts.items), compare_elements);
	for (i = 0; i < count; i++) {
		(*ranks)[making->drafts.items[i].number] = (uint32_t)i;
		elements->items[i] = making->drafts.items[i].context;
	}
	elements->count = (uint32_t)count;
	return true;
}

/* The numbers by which elements are asked for. */
static bool index_elements(struct making *making, const uint32_t *ranks)
{
	struct prof_elements *elements = making->elements;
	size_t recorded = making->all->sets[PROF_FUNCTIONS].items.count, i;
	const uint32_t *next = ranks + FIRST_OTHER;
	size_t node_count;

	elements->unknown_entry = ranks[SONDE_ENTRY_UNKNOWN];
	elements->main_thread = ranks[SONDE_ENTRY_MAIN_THREAD];
	elements->application_thread = ranks[SONDE_ENTRY_APPLICATION_THREAD];
	elements->unknown_function = ranks[UNKNOWN_FUNCTION];
	memcpy(elements->placeholder_elements, next, elements->placeholder_count * sizeof(*next));
	next += elements->placeholder_count;
	node_count = elements->count - FIRST_OTHER - elements->placeholder_count - recorded;
	elements->functions = calloc(recorded + 1, sizeof(*next));
	elements->nodes = calloc(node_count + 1, sizeof(*next));
	elements->node_starts = calloc(making->module_count + 1, sizeof(*elements->node_starts));
	if (!elements->functions || !elements->nodes || !elements->node_starts)
		return false;
	memcpy(elements->functions, next, recorded * sizeof(*next));
	memcpy(elements->nodes, next + recorded, node_count * sizeof(*next));
	for (i = 0; i < making->module_count; i++)
		elements->node_starts[i + 1] =
			elements->node_starts[i] + making->names->modules[i].nodes.count;
	return true;
}

enum sonde_status prof_elements_make(struct prof_elements *elements, const struct prof_union *all,
				     const struct prof_names *names, const char *const *modules,
				     size_t module_count, struct sonde_error *err)
{
	struct making making = { .elements = elements,
				 .all = all,
				 .names = names,
				 .modules = modules,
				 .module_count = module_count };
	enum sonde_status status = SONDE_OK;
	uint32_t *ranks = NULL;

	elements->definitions = sonde_definitions_new();
	if (!elements->definitions || !list_placeholders(&making))
		status = sonde_fail_nomem(err);
	if (status == SONDE_OK)
		status = define_texts(&making, err);
	if (status == SONDE_OK)
		status = define_modules(&making, err);
	if (status == SONDE_OK)
		status = draft_functions(&making, err);
	if (status == SONDE_OK)
		status = define_functions(&making, err);
	if (status == SONDE_OK)
		status = draft_entries(&making, err);
	if (status == SONDE_OK && (!draft_others(&making) || !sort_elements(&making, &ranks) ||
				   !index_elements(&making, ranks)))
		status = sonde_fail_nomem(err);
	free(ranks);
	free(making.text_ids);
	free(making.function_ids);
	sonde_vec_release(&making.texts);
	sonde_vec_release(&making.functions);
	sonde_vec_release(&making.drafts);
	return status;
}

void prof_elements_release(struct prof_elements *elements)
{
	sonde_definitions_free(elements->definitions);
	free(elements->items);
	free(elements->placeholders);
	free(elements->placeholder_elements);
	free(elements->functions);
	free(elements->nodes);
	free(elements->node_starts);
	*elements = (struct prof_elements){ 0 };
}

uint32_t prof_placeholder_element(const struct prof_elements *elements, uint64_t placeholder)
{
	const uint64_t *found = elements->placeholder_count ?
					bsearch(&placeholder, elements->placeholders,
						elements->placeholder_count, sizeof(placeholder),
						compare_ips) :
					NULL;

	return found ? elements->placeholder_elements[found - elements->placeholders] :
		       elements->unknown_function;
}

struct sonde_context prof_element(const struct prof_elements *elements,
				  const struct prof_places *places, uint32_t number)
{
	struct sonde_context context;
	const struct prof_place *place;
	bool called;

	if (number < elements->count)
		return elements->items[number];
	place = &places->items[(number - elements->count) / 2];
	called = (number - elements->count) % 2;
	context = blank(SONDE_CONTEXT_INSTRUCTION,
			called ? SONDE_CONTEXT_CALLED : SONDE_CONTEXT_ENCLOSED);
	context.module = place->module;
	context.address = place->ip;
	context.unlisted = !called;
	return context;
}
