/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the bottom up: each function, and below it who called it, and who called those. A frame is a context
 * that is a function (or an instruction of an unknown one); all frames of a function are followed
 * upwards together, level by level, and parted where their callers differ.
 */
#include <stdlib.h>

#include "cli/report.h"

#define DEEPEST 64	   /* callers of callers, where nobody says how many */
#define NODES_MOST 1000000 /* what is beyond is left out */

/* A frame whose time is being told, and how far up its callers were followed. */
struct item {
	uint32_t leaf, at;
	uint32_t key; /* the row of `at` in the list of functions; SONDE_NONE: nobody called */
};

struct node {
	size_t first, count; /* of its items */
	size_t first_child, child_count;
	uint32_t depth, context;
	double self, total;
	uint64_t calls;
};

struct callers {
	struct report_build *build;
	struct flat flat;
	uint32_t *frames; /* by context: itself, or the frame that it is in; SONDE_NONE: none */
	double *selfs;	  /* by frame: in it and in its lines and loops */
	SONDE_VEC(struct item) items;
	SONDE_VEC(struct node) nodes;
};

static bool is_frame(const struct callers *callers, uint32_t number)
{
	const struct sonde_context *context = &callers->build->cct->contexts[number];
	const uint32_t *places = callers->flat.places;

	if (places[number] == SONDE_NONE)
		return false;
	if (context->kind == SONDE_CONTEXT_FUNCTION || !number)
		return true;
	return places[number] != places[context->parent] ||
	       (context->kind == SONDE_CONTEXT_INSTRUCTION &&
		context->relation != SONDE_CONTEXT_ENCLOSED);
}

static bool find_frames(struct callers *callers)
{
	const struct cct *cct = callers->build->cct;
	const double *self = report_metric(callers->build)->self;

	callers->frames = calloc((size_t)cct->context_count + 1, sizeof(*callers->frames));
	callers->selfs = calloc((size_t)cct->context_count + 1, sizeof(*callers->selfs));
	if (!callers->frames || !callers->selfs)
		return false;
	for (uint32_t i = 0; i < cct->context_count; i++) {
		uint32_t frame = i ? callers->frames[cct->contexts[i].parent] : SONDE_NONE;

		if (is_frame(callers, i))
			frame = i;
		callers->frames[i] = frame;
		if (frame != SONDE_NONE)
			callers->selfs[frame] += self[i];
	}
	return true;
}

/* Every frame of a function that is wanted. */
static bool list_items(struct callers *callers)
{
	const struct cct *cct = callers->build->cct;
	char space[REPORT_LABEL_SIZE];

	for (uint32_t i = 0; i < cct->context_count; i++) {
		struct item *item;

		if (callers->frames[i] != i ||
		    !report_wants(callers->build,
				  report_context_label(cct, i, space, sizeof(space))))
			continue;
		item = sonde_vec_push(&callers->items);
		if (!item)
			return false;
		*item = (struct item){ .leaf = i, .at = i, .key = callers->flat.places[i] };
	}
	return true;
}

static int compare_items(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->leaf < b->leaf ? -1 : a->leaf > b->leaf;
}

static double weight_of(const struct callers *callers, const struct node *node)
{
	bool by_total = callers->build->options->filter.functions.count;

	return report_weight(callers->build, by_total ? node->total : node->self);
}

static struct node sum_node(const struct callers *callers, size_t first, size_t count,
			    uint32_t depth)
{
	const struct cct *cct = callers->build->cct;
	const double *total = report_metric(callers->build)->total;
	struct node node = { .first = first,
			     .count = count,
			     .depth = depth,
			     .context = callers->items.items[first].at };

	for (size_t i = first; i < first + count; i++) {
		uint32_t leaf = callers->items.items[i].leaf;

		node.self += callers->selfs[leaf];
		if (!cct->recursive[leaf])
			node.total += total[leaf];
		if (cct->calls)
			node.calls += cct->calls[leaf].count;
	}
	return node;
}

static bool is_worth_a_row(const struct callers *callers, const struct node *node)
{
	if (node->self == 0 && node->total == 0 && !node->calls)
		return false;
	return weight_of(callers, node) >= callers->build->least &&
	       callers->nodes.count < NODES_MOST;
}

/* Makes nodes of items that lie together, a node for each key. */
static bool part_items(struct callers *callers, size_t first, size_t count, uint32_t depth)
{
	struct item *items = callers->items.items;
	size_t end = first + count;

	if (count)
		qsort(items + first, count, sizeof(*items), compare_items);
	while (first < end && items[first].key != SONDE_NONE) {
		size_t next = first + 1;
		struct node node, *place;

		while (next < end && items[next].key == items[first].key)
			next++;
		node = sum_node(callers, first, next - first, depth);
		first = next;
		if (!is_worth_a_row(callers, &node)) {
			callers->build->view->left_out++;
			continue;
		}
		place = sonde_vec_push(&callers->nodes);
		if (!place)
			return false;
		*place = node;
	}
	return true;
}

/* The callers of a node's frames become nodes. */
static bool expand(struct callers *callers, size_t number)
{
	struct node node = callers->nodes.items[number];
	uint64_t deepest = callers->build->options->max_depth;
	const struct sonde_context *contexts = callers->build->cct->contexts;
	size_t first_child = callers->nodes.count;

	if (node.depth + 1 >= (deepest ? deepest : DEEPEST))
		return true;
	for (size_t i = node.first; i < node.first + node.count; i++) {
		struct item *item = &callers->items.items[i];

		item->at = item->at ? callers->frames[contexts[item->at].parent] : SONDE_NONE;
		item->key = item->at == SONDE_NONE ? SONDE_NONE : callers->flat.places[item->at];
	}
	if (!part_items(callers, node.first, node.count, node.depth + 1))
		return false;
	callers->nodes.items[number].first_child = first_child;
	callers->nodes.items[number].child_count = callers->nodes.count - first_child;
	return true;
}

static void put_node(struct callers *callers, const struct node *node)
{
	struct report_build *build = callers->build;
	const struct cct_metric *metric = report_metric(build);
	struct report_view *view = build->view;
	char space[REPORT_LABEL_SIZE];

	report_begin_row(view, node->depth, node->context, weight_of(callers, node));
	report_put_share(view, node->self, build->whole);
	report_put_value(view, metric, node->self);
	report_put_value(view, metric, node->total);
	report_put_share(view, node->total, build->whole);
	if (build->cct->calls)
		report_put_count(view, node->calls);
	report_put_label(
		view, report_context_label(build->cct, node->context, space, sizeof(space)), space);
}

/* From each node to those below it, without recursion. */
static bool put_nodes(struct callers *callers, size_t top_count)
{
	SONDE_VEC(size_t) waiting = { 0 };
	bool done = true;

	for (size_t top = 0; top < top_count && done; top++) {
		size_t *place = sonde_vec_push(&waiting);

		done = place != NULL;
		if (place)
			*place = top;
		while (done && waiting.count) {
			const struct node *node =
				&callers->nodes.items[waiting.items[--waiting.count]];

			put_node(callers, node);
			done = sonde_vec_reserve(&waiting, node->child_count);
			for (size_t i = node->child_count; done && i-- > 0;)
				waiting.items[waiting.count++] = node->first_child + i;
		}
	}
	sonde_vec_release(&waiting);
	return done;
}

static void add_columns(struct report_build *build)
{
	struct report_view *view = build->view;

	report_add_self_columns(build);
	if (build->cct->calls)
		report_add_column(view, (struct report_column){ "calls", "CALLS", REPORT_COUNT,
								REPORT_ALWAYS, false, false });
	report_add_column(view, (struct report_column){ "name", "FUNCTION, AND ITS CALLERS BELOW",
							REPORT_TEXT, REPORT_ALWAYS, false, true });
}

static bool make(struct callers *callers)
{
	struct report_build *build = callers->build;
	size_t top_count;

	if (flat_make(&callers->flat, build->cct, FLAT_FUNCTION, build->metric, &build->err))
		return false;
	add_columns(build);
	if (!callers->flat.places)
		return true; /* an empty tree */
	if (!find_frames(callers) || !list_items(callers) ||
	    !part_items(callers, 0, callers->items.count, 0))
		goto fail;
	top_count = callers->nodes.count;
	for (size_t i = 0; i < callers->nodes.count; i++)
		if (!expand(callers, i))
			goto fail;
	if (put_nodes(callers, top_count))
		return true;
fail:
	sonde_fail_nomem(&build->err);
	return false;
}

bool report_make_callers(struct report_build *build)
{
	struct callers callers = { .build = build };
	bool by_total = build->options->filter.functions.count;
	bool made;

	build->view->name = "callers";
	build->view->noun = "caller";
	build->view->tree = true;
	made = make(&callers);
	flat_release(&callers.flat);
	free(callers.frames);
	free(callers.selfs);
	sonde_vec_release(&callers.items);
	sonde_vec_release(&callers.nodes);
	if (made)
		report_sort(build->view,
			    report_find_column(build->view, by_total ? "TOTAL" : "SELF"));
	return made;
}
