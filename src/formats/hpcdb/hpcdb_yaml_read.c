/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics/default.yaml through libyaml, which keeps an anchored node once, however often it is named.
 * Following names could still visit a node very often: visits are counted and bounded.
 */
#include <stdlib.h>
#include <yaml.h>

#include "base/file.h"
#include "formats/hpcdb/hpcdb_taxonomy.h"

#define SIZE_LIMIT (64 << 20)	/* bytes of a file */
#define VISIT_LIMIT 1000000	/* nodes looked at, as often as they are */
#define TEXT_OF_VISIT 64	/* bytes of a text that count as one more */
#define NESTING_LIMIT 256	/* lists and maps within each other */
#define SEARCH_LIMIT 2000000000 /* names that libyaml compares to find those of nodes */
#define DEPTH_LIMIT 32		/* metrics within each other, and maps merged into maps */

struct reading {
	struct hpcdb_taxonomy *taxonomy;
	yaml_document_t *document;
	struct sonde_expression_builder builder;
	uint32_t *input_numbers; /* of each node: the input that it is, plus one */
	size_t nodes;
	uint64_t visits;
};

static enum sonde_status fail_at(const yaml_node_t *node, struct sonde_error *err,
				 const char *expected)
{
	return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET, "line %zu: expected %s",
			  node ? node->start_mark.line + 1 : 0, expected);
}

static enum sonde_status fail_visits(struct sonde_error *err)
{
	return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
			  "metrics with more than %d parts in all are not read", VISIT_LIMIT);
}

/* The node of that number, counted; NULL where there have been too many. */
static yaml_node_t *visit(struct reading *reading, int number)
{
	if (reading->visits >= VISIT_LIMIT)
		return NULL;
	reading->visits++;
	return yaml_document_get_node(reading->document, number);
}

/* A text is gone through: an alias may name a long one very often. */
static void count_text(struct reading *reading, const yaml_node_t *node)
{
	reading->visits += node->data.scalar.length / TEXT_OF_VISIT;
}

static bool is_text(const yaml_node_t *node, const char *text)
{
	return node && node->type == YAML_SCALAR_NODE && node->data.scalar.length == strlen(text) &&
	       !memcmp(node->data.scalar.value, text, strlen(text));
}

/* The value of a key, also one that is merged in by "<<". NULL where there is none. */
static yaml_node_t *find_key(struct reading *reading, const yaml_node_t *map, const char *key,
			     unsigned int depth)
{
	yaml_node_t *merged = NULL;

	if (!map || map->type != YAML_MAPPING_NODE || depth > DEPTH_LIMIT)
		return NULL;
	for (const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
	     pair < map->data.mapping.pairs.top; pair++) {
		const yaml_node_t *name = visit(reading, pair->key);

		if (is_text(name, key))
			return visit(reading, pair->value);
		if (is_text(name, "<<"))
			merged = visit(reading, pair->value);
	}
	return find_key(reading, merged, key, depth + 1);
}

/* A copy of a scalar; "" where it is none. NULL where memory failed. */
static const char *copy_text(struct reading *reading, const yaml_node_t *node)
{
	if (!node || node->type != YAML_SCALAR_NODE)
		return "";
	count_text(reading, node);
	return sonde_arena_copy_text(
		&reading->taxonomy->texts, (const char *)node->data.scalar.value,
		strnlen((const char *)node->data.scalar.value, node->data.scalar.length));
}

static enum sonde_status read_input(struct reading *reading, int number, struct sonde_error *err)
{
	yaml_node_t *node = visit(reading, number);
	const yaml_node_t *formula = find_key(reading, node, "formula", 0);
	const yaml_node_t *combine = find_key(reading, node, "combine", 0);
	struct hpcdb_input *input;
	const char *text = "$$";
	size_t length = 2;

	if (!node || node->type != YAML_MAPPING_NODE)
		return fail_at(node, err, "an input to be a map");
	input = sonde_vec_push(&reading->taxonomy->inputs);
	if (!input)
		return sonde_fail_nomem(err);
	*input = (struct hpcdb_input){
		.metric = copy_text(reading, find_key(reading, node, "metric", 0)),
		.scope = copy_text(reading, find_key(reading, node, "scope", 0)),
	};
	reading->input_numbers[number - 1] = (uint32_t)reading->taxonomy->inputs.count;
	if (!input->metric || !input->scope)
		return sonde_fail_nomem(err);
	if (is_text(combine, "min"))
		input->combine = HPCDB_COMBINE_MIN;
	else if (is_text(combine, "max"))
		input->combine = HPCDB_COMBINE_MAX;
	else if (combine && !is_text(combine, "sum"))
		return fail_at(combine, err, "combine to be sum, min or max");
	if (formula && formula->type == YAML_SCALAR_NODE) {
		text = (const char *)formula->data.scalar.value;
		length = formula->data.scalar.length;
	}
	return sonde_expression_parse(&input->formula, text, length, err);
}

static enum sonde_status put_node(struct reading *reading, int number, struct sonde_error *err);

static enum sonde_status put_group(struct reading *reading, const yaml_node_t *node,
				   struct sonde_error *err)
{
	enum sonde_status status = sonde_expression_builder_open(&reading->builder, NULL, 0, err);

	for (const yaml_node_item_t *item = node->data.sequence.items.start;
	     item < node->data.sequence.items.top && status == SONDE_OK; item++)
		status = put_node(reading, *item, err);
	return status < 0 ? status : sonde_expression_builder_close(&reading->builder, err);
}

/* {name: [arguments]} */
static enum sonde_status put_function(struct reading *reading, const yaml_node_t *node,
				      struct sonde_error *err)
{
	const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	const yaml_node_t *name, *arguments;
	const yaml_node_item_t *first;
	enum sonde_status status;

	if (node->data.mapping.pairs.top - pair != 1)
		return fail_at(node, err, "a map with one function, or an input");
	name = visit(reading, pair->key);
	arguments = visit(reading, pair->value);
	if (!name || name->type != YAML_SCALAR_NODE || !arguments ||
	    arguments->type != YAML_SEQUENCE_NODE)
		return fail_at(node, err, "a function and a list of its arguments");
	status = sonde_expression_builder_open(&reading->builder,
					       (const char *)name->data.scalar.value,
					       name->data.scalar.length, err);
	first = arguments->data.sequence.items.start;
	for (const yaml_node_item_t *item = first;
	     item < arguments->data.sequence.items.top && status == SONDE_OK; item++) {
		if (item > first)
			status = sonde_expression_builder_next_argument(&reading->builder, err);
		if (status == SONDE_OK)
			status = put_node(reading, *item, err);
	}
	return status < 0 ? status : sonde_expression_builder_close(&reading->builder, err);
}

/* As deep as groups may be, which the builder bounds. */
static enum sonde_status put_node(struct reading *reading, int number, struct sonde_error *err)
{
	const yaml_node_t *node = visit(reading, number);

	if (!node)
		return fail_visits(err);
	if (reading->input_numbers[number - 1])
		return sonde_expression_builder_reference(
			&reading->builder, reading->input_numbers[number - 1] - 1, err);
	if (node->type == YAML_SEQUENCE_NODE)
		return put_group(reading, node, err);
	if (node->type == YAML_MAPPING_NODE)
		return put_function(reading, node, err);
	if (node->type != YAML_SCALAR_NODE)
		return fail_at(node, err, "a part of a formula");
	count_text(reading, node);
	return sonde_expression_builder_text(&reading->builder,
					     (const char *)node->data.scalar.value,
					     node->data.scalar.length, err);
}

static enum sonde_status read_formula(struct reading *reading, const yaml_node_t *node,
				      struct sonde_expression *formula, struct sonde_error *err)
{
	int number = (int)(node - reading->document->nodes.start) + 1;
	enum sonde_status status;

	sonde_expression_builder_begin(&reading->builder, formula);
	status = put_node(reading, number, err);
	if (status == SONDE_OK)
		status = sonde_expression_builder_finish(&reading->builder, err);
	if (status == SONDE_CORRUPT)
		sonde_error_because(err, "line %zu: a formula cannot be understood",
				    node->start_mark.line + 1);
	return status;
}

/* "inclusive" or "exclusive": a formula, or one for "standard" and one for "custom". */
static enum sonde_status read_cost(struct reading *reading, const yaml_node_t *formulas,
				   const char *key, struct sonde_expression *standard,
				   struct sonde_expression *custom, struct sonde_error *err)
{
	const yaml_node_t *node = find_key(reading, formulas, key, 0);
	const yaml_node_t *plain = find_key(reading, node, "standard", 0);
	const yaml_node_t *other = find_key(reading, node, "custom", 0);
	enum sonde_status status = SONDE_OK;

	if (!node || is_text(node, "") || is_text(node, "null"))
		return SONDE_OK;
	if (!plain && !other)
		return read_formula(reading, node, standard, err);
	if (plain)
		status = read_formula(reading, plain, standard, err);
	if (other && status == SONDE_OK)
		status = read_formula(reading, other, custom, err);
	return status;
}

static unsigned int render_bit(const yaml_node_t *node)
{
	if (is_text(node, "number"))
		return HPCDB_RENDER_NUMBER;
	if (is_text(node, "percent") || is_text(node, "percentage"))
		return HPCDB_RENDER_PERCENT;
	if (is_text(node, "hidden"))
		return HPCDB_RENDER_HIDDEN;
	return is_text(node, "colorbar") ? HPCDB_RENDER_COLORBAR : 0;
}

static unsigned int read_render(struct reading *reading, const yaml_node_t *node)
{
	unsigned int render = 0;

	if (!node || node->type != YAML_SEQUENCE_NODE)
		return render_bit(node);
	for (const yaml_node_item_t *item = node->data.sequence.items.start;
	     item < node->data.sequence.items.top; item++)
		render |= render_bit(visit(reading, *item));
	return render;
}

static enum sonde_status read_variant(struct reading *reading, const yaml_node_t *metric,
				      const yaml_node_t *name, const yaml_node_t *node,
				      struct sonde_error *err)
{
	const yaml_node_t *formula = find_key(reading, node, "formula", 0);
	const yaml_node_t *format = find_key(reading, node, "format", 0);
	const yaml_node_t *child = find_key(reading, node, "child variant", 0);
	struct hpcdb_variant *variant = sonde_vec_push(&reading->taxonomy->variants);
	struct sonde_expression *costs;
	enum sonde_status status;

	if (!variant)
		return sonde_fail_nomem(err);
	*variant = (struct hpcdb_variant){
		.name = copy_text(reading, name),
		.format = copy_text(reading,
				    format ? format : find_key(reading, metric, "format", 0)),
		.render = read_render(reading, find_key(reading, node, "render", 0)),
	};
	if (child && child->type == YAML_SCALAR_NODE) {
		variant->child_variant = copy_text(reading, child);
		if (!variant->child_variant)
			return sonde_fail_nomem(err);
	}
	if (!variant->name || !variant->format)
		return sonde_fail_nomem(err);
	if (is_text(formula, "first"))
		variant->kind = HPCDB_FIRST_CHILD;
	else if (is_text(formula, "sum"))
		variant->kind = HPCDB_SUM_OF_CHILDREN;
	costs = variant->costs;
	status = read_cost(reading, formula, "inclusive", &costs[HPCDB_INCLUSIVE],
			   &costs[HPCDB_INCLUSIVE_CUSTOM], err);
	if (status == SONDE_OK)
		status = read_cost(reading, formula, "exclusive", &costs[HPCDB_EXCLUSIVE],
				   &costs[HPCDB_EXCLUSIVE_CUSTOM], err);
	return status;
}

static enum sonde_status read_variants(struct reading *reading, const yaml_node_t *metric,
				       const yaml_node_t *variants, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (!variants || variants->type != YAML_MAPPING_NODE)
		return SONDE_OK;
	for (const yaml_node_pair_t *pair = variants->data.mapping.pairs.start;
	     pair < variants->data.mapping.pairs.top && status == SONDE_OK; pair++) {
		const yaml_node_t *name = visit(reading, pair->key);

		status = read_variant(reading, metric, name, visit(reading, pair->value), err);
	}
	return status;
}

/* A list of metrics: the roots, or the children of one. Bounded by DEPTH_LIMIT. */
static enum sonde_status read_metrics(struct reading *reading, const yaml_node_t *list,
				      uint32_t parent, unsigned int depth, struct sonde_error *err)
{
	struct hpcdb_taxonomy *taxonomy = reading->taxonomy;
	enum sonde_status status = SONDE_OK;

	if (!list || list->type != YAML_SEQUENCE_NODE)
		return SONDE_OK;
	if (depth > DEPTH_LIMIT)
		return fail_at(list, err, "fewer levels of metrics");
	for (const yaml_node_item_t *item = list->data.sequence.items.start;
	     item < list->data.sequence.items.top && status == SONDE_OK; item++) {
		const yaml_node_t *node = visit(reading, *item);
		const yaml_node_t *visible = find_key(reading, node, "visible by default", 0);
		struct hpcdb_shown_metric *metric = sonde_vec_push(&taxonomy->metrics);
		uint32_t number = (uint32_t)taxonomy->metrics.count - 1;

		if (!node)
			return fail_visits(err);
		if (!metric)
			return sonde_fail_nomem(err);
		*metric = (struct hpcdb_shown_metric){
			.name = copy_text(reading, find_key(reading, node, "name", 0)),
			.description =
				copy_text(reading, find_key(reading, node, "description", 0)),
			.parent = parent,
			.first_variant = (uint32_t)taxonomy->variants.count,
			.is_hidden = is_text(visible, "false"),
		};
		if (!metric->name || !metric->description)
			return sonde_fail_nomem(err);
		status = read_variants(reading, node, find_key(reading, node, "variants", 0), err);
		taxonomy->metrics.items[number].variant_count =
			(uint32_t)taxonomy->variants.count -
			taxonomy->metrics.items[number].first_variant;
		if (status == SONDE_OK)
			status = read_metrics(reading, find_key(reading, node, "children", 0),
					      number, depth + 1, err);
		taxonomy->metrics.items[number].end = (uint32_t)taxonomy->metrics.count;
	}
	return status;
}

static enum sonde_status read_document(struct reading *reading, struct sonde_error *err)
{
	const yaml_node_t *root = yaml_document_get_root_node(reading->document);
	const yaml_node_t *version = find_key(reading, root, "version", 0);
	const yaml_node_t *inputs = find_key(reading, root, "inputs", 0);
	enum sonde_status status = SONDE_OK;

	if (!root || root->type != YAML_MAPPING_NODE)
		return fail_at(root, err, "a map with inputs and roots");
	if (version && !is_text(version, "0"))
		return sonde_fail(err, SONDE_UNSUPPORTED, SONDE_NO_OFFSET,
				  "expected version 0, found another; a newer sonde may read it");
	reading->nodes = (size_t)(reading->document->nodes.top - reading->document->nodes.start);
	reading->input_numbers = calloc(reading->nodes, sizeof(*reading->input_numbers));
	if (!reading->input_numbers)
		return sonde_fail_nomem(err);
	if (inputs && inputs->type == YAML_SEQUENCE_NODE) {
		for (const yaml_node_item_t *item = inputs->data.sequence.items.start;
		     item < inputs->data.sequence.items.top && status == SONDE_OK; item++)
			status = read_input(reading, *item, err);
	}
	if (status == SONDE_OK)
		status = read_metrics(reading, find_key(reading, root, "roots", 0), SONDE_NONE, 0,
				      err);
	if (status == SONDE_OK && reading->visits >= VISIT_LIMIT)
		status = fail_visits(err);
	free(reading->input_numbers);
	return status;
}

static enum sonde_status fail_parse(const yaml_parser_t *parser, struct sonde_error *err)
{
	if (parser->error == YAML_MEMORY_ERROR)
		return sonde_fail_nomem(err);
	return sonde_fail(err, SONDE_CORRUPT, parser->problem_offset,
			  "line %zu: expected YAML, found something else: %s",
			  parser->problem_mark.line + 1,
			  parser->problem ? parser->problem : "unreadable");
}

/* How much work a file is; libyaml looks for names, and at what is open, one after the other. */
struct effort {
	uint64_t depth, names, compared;
};

static void add_effort(struct effort *effort, const yaml_event_t *event)
{
	const yaml_char_t *anchor = NULL;

	switch (event->type) {
	case YAML_SEQUENCE_START_EVENT:
		effort->depth++;
		anchor = event->data.sequence_start.anchor;
		break;
	case YAML_MAPPING_START_EVENT:
		effort->depth++;
		anchor = event->data.mapping_start.anchor;
		break;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		effort->depth--;
		break;
	case YAML_SCALAR_EVENT:
		anchor = event->data.scalar.anchor;
		break;
	case YAML_ALIAS_EVENT:
		effort->compared += effort->names;
		break;
	default:
		break;
	}
	if (!anchor)
		return;
	effort->compared += effort->names;
	effort->names++;
}

/* Refuses what libyaml would take very long for, before it is loaded. */
static enum sonde_status check_effort(const void *data, size_t size, struct sonde_error *err)
{
	struct effort effort = { 0 };
	enum sonde_status status = SONDE_OK;
	yaml_parser_t parser;
	yaml_event_t event;
	bool ended = false;

	if (!yaml_parser_initialize(&parser))
		return sonde_fail_nomem(err);
	yaml_parser_set_input_string(&parser, data, size);
	while (status == SONDE_OK && !ended) {
		if (!yaml_parser_parse(&parser, &event)) {
			status = fail_parse(&parser, err);
			break;
		}
		ended = event.type == YAML_STREAM_END_EVENT ||
			event.type == YAML_DOCUMENT_END_EVENT;
		add_effort(&effort, &event);
		yaml_event_delete(&event);
		if (effort.depth > NESTING_LIMIT)
			status = sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
					    "more than %d lists and maps within each other are not "
					    "read",
					    NESTING_LIMIT);
		else if (effort.compared > SEARCH_LIMIT)
			status = sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
					    "a description of metrics with %llu names is not read",
					    (unsigned long long)effort.names);
	}
	yaml_parser_delete(&parser);
	return status;
}

enum sonde_status hpcdb_taxonomy_read(struct hpcdb_taxonomy *taxonomy, const void *data,
				      size_t size, struct sonde_error *err)
{
	struct reading reading = { .taxonomy = taxonomy };
	yaml_document_t document;
	yaml_parser_t parser;
	enum sonde_status status;

	*taxonomy = (struct hpcdb_taxonomy){ 0 };
	if (size > SIZE_LIMIT)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a description of metrics of more than %d MiB is not read",
				  SIZE_LIMIT >> 20);
	status = check_effort(data, size, err);
	if (status < 0)
		return status;
	if (!yaml_parser_initialize(&parser))
		return sonde_fail_nomem(err);
	yaml_parser_set_input_string(&parser, data, size);
	if (yaml_parser_load(&parser, &document)) {
		reading.document = &document;
		status = read_document(&reading, err);
		yaml_document_delete(&document);
	} else {
		status = fail_parse(&parser, err);
	}
	yaml_parser_delete(&parser);
	if (status < 0)
		hpcdb_taxonomy_release(taxonomy);
	return status;
}

enum sonde_status hpcdb_taxonomy_open(struct hpcdb_taxonomy *taxonomy, const char *folder,
				      struct sonde_error *err)
{
	char *path = sonde_path_join(folder, HPCDB_YAML_NAME);
	struct sonde_mapped_file file;
	enum sonde_status status;

	*taxonomy = (struct hpcdb_taxonomy){ 0 };
	if (!path)
		return sonde_fail_nomem(err);
	status = sonde_mapped_file_open(&file, path, err);
	if (status == SONDE_OK) {
		status = hpcdb_taxonomy_read(taxonomy, file.data ? (const void *)file.data : "",
					     file.size, err);
		sonde_mapped_file_release(&file);
		if (status < 0)
			sonde_error_set_file(err, path);
	}
	free(path);
	return status;
}
