/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts to a call graph: which cell and edge each belongs to, then sums of one metric after the other. */
#include "formats/profile_graph.h"

#include "model/context_frame.h"

struct making {
	struct profile_graph *graph;
	const struct profile_sink *sink;
	bool by_line;
	uint32_t calls; /* metric, or SONDE_NONE */
	uint32_t *line; /* by context: where it is in its function */
	uint32_t *cell; /* by context */
	uint32_t *edge; /* by context: how it was called; SONDE_NONE: it was not */
	/* By context: no other of the same label, or edge, is on the path above it. */
	bool *is_outer_label, *is_outer_edge;
	struct sonde_key_map cells, edges;
};

static uint32_t first_line(const struct profile_labels *labels, uint32_t label)
{
	const struct sonde_function *function = profile_label_function(labels, label);

	return function ? function->line : 0;
}

/* Lines of other files (what was included) are not lines of the function. */
static uint32_t line_of(const struct making *making, uint32_t number)
{
	const struct profile_labels *labels = &making->graph->labels;
	const struct sonde_context *context = &making->sink->contexts[number];
	const struct sonde_function *function = profile_label_function(labels, labels->of[number]);

	if (!making->by_line)
		return 0;
	if (!number || sonde_context_has_frame(context))
		return first_line(labels, labels->of[number]);
	if (context->kind == SONDE_CONTEXT_LINE && context->line &&
	    (!function || function->file == context->file))
		return context->line;
	return making->line[context->parent];
}

static uint32_t find_cell(struct making *making, uint32_t label, uint32_t line)
{
	uint64_t key = (uint64_t)label << 32 | line;
	uint32_t number = sonde_key_map_find(&making->cells, key);
	struct profile_cell *cell;

	if (number != SONDE_NONE)
		return number;
	number = (uint32_t)making->graph->cells.count;
	cell = sonde_vec_push(&making->graph->cells);
	if (!cell || !sonde_key_map_add(&making->cells, key, number))
		return SONDE_NONE;
	*cell = (struct profile_cell){ .label = label, .line = line };
	return number;
}

static uint32_t find_edge(struct making *making, const struct profile_edge *like)
{
	/* Three numbers do not fit into a key, but are as good as never mistaken. */
	uint64_t key = sonde_hash_also((uint64_t)like->caller << 32 | like->callee, like->line);
	uint32_t number = sonde_key_map_find(&making->edges, key);
	struct profile_edge *edge;

	if (number != SONDE_NONE)
		return number;
	number = (uint32_t)making->graph->edges.count;
	edge = sonde_vec_push(&making->graph->edges);
	if (!edge || !sonde_key_map_add(&making->edges, key, number))
		return SONDE_NONE;
	*edge = *like;
	return number;
}

static bool place_context(struct making *making, uint32_t number)
{
	const struct sonde_context *context = &making->sink->contexts[number];
	const uint32_t *labels = making->graph->labels.of;
	struct profile_edge edge = { .callee = labels[number] };

	making->line[number] = line_of(making, number);
	making->cell[number] = find_cell(making, labels[number], making->line[number]);
	making->edge[number] = SONDE_NONE;
	if (making->cell[number] == SONDE_NONE)
		return false;
	if (!number || !sonde_context_has_frame(context))
		return true;
	making->graph->paths++;
	if (!labels[context->parent])
		return true; /* the root calls nobody */
	edge.caller = labels[context->parent];
	edge.line = making->line[context->parent];
	edge.is_inlined = context->relation == SONDE_CONTEXT_INLINED;
	making->edge[number] = find_edge(making, &edge);
	return making->edge[number] != SONDE_NONE;
}

static bool place_contexts(struct making *making)
{
	size_t count = making->sink->context_count;

	making->line = malloc(count * sizeof(*making->line));
	making->cell = malloc(count * sizeof(*making->cell));
	making->edge = malloc(count * sizeof(*making->edge));
	if (!making->line || !making->cell || !making->edge)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		if (!place_context(making, i))
			return false;
	}
	return true;
}

/* Contexts come in preorder: those whose subtree is not over are the path to the present one. */
static void walk(struct making *making, uint32_t *path, uint32_t *open_labels, uint32_t *open_edges)
{
	const struct sonde_context *contexts = making->sink->contexts;
	const uint32_t *labels = making->graph->labels.of;
	size_t depth = 0;

	for (uint32_t i = 1; i < making->sink->context_count; i++) {
		uint32_t edge = making->edge[i];

		for (; depth && contexts[path[depth - 1]].end <= i; depth--) {
			uint32_t left = path[depth - 1];

			open_labels[labels[left]]--;
			if (making->edge[left] != SONDE_NONE)
				open_edges[making->edge[left]]--;
		}
		if (!sonde_context_has_frame(&contexts[i]))
			continue;
		making->is_outer_label[i] = !open_labels[labels[i]]++;
		if (edge != SONDE_NONE)
			making->is_outer_edge[i] = !open_edges[edge]++;
		path[depth++] = i;
	}
}

static bool find_recursion(struct making *making)
{
	size_t count = (size_t)making->sink->context_count + 1;
	uint32_t *path = malloc(count * sizeof(*path));
	uint32_t *open_labels =
		calloc(making->graph->labels.contexts.count + 1, sizeof(*open_labels));
	uint32_t *open_edges = calloc(making->graph->edges.count + 1, sizeof(*open_edges));
	bool happened;

	making->is_outer_label = calloc(count, sizeof(*making->is_outer_label));
	making->is_outer_edge = calloc(count, sizeof(*making->is_outer_edge));
	happened = path && open_labels && open_edges && making->is_outer_label &&
		   making->is_outer_edge;
	if (happened) {
		making->is_outer_label[0] = true;
		walk(making, path, open_labels, open_edges);
	}
	free(path);
	free(open_labels);
	free(open_edges);
	return happened;
}

static bool make_room(struct profile_graph *graph)
{
	uint32_t metrics = graph->metric_count;

	graph->totals = calloc((size_t)metrics + 1, sizeof(*graph->totals));
	graph->selves = calloc((size_t)metrics + 1, sizeof(*graph->selves));
	if (!graph->totals || !graph->selves)
		return false;
	for (uint32_t i = 0; i < metrics; i++) {
		graph->totals[i] = calloc(graph->labels.contexts.count + 1, sizeof(double));
		graph->selves[i] = calloc(graph->labels.contexts.count + 1, sizeof(double));
		if (!graph->totals[i] || !graph->selves[i])
			return false;
	}
	graph->cell_values = calloc(graph->cells.count * metrics + 1, sizeof(double));
	graph->edge_values = calloc(graph->edges.count * metrics + 1, sizeof(double));
	if (!graph->cell_values || !graph->edge_values)
		return false;
	for (size_t i = 0; i < graph->cells.count; i++)
		graph->cells.items[i].self = graph->cell_values + i * metrics;
	for (size_t i = 0; i < graph->edges.count; i++)
		graph->edges.items[i].total = graph->edge_values + i * metrics;
	return true;
}

/* `sums` are what was spent in each context itself, and in the end with all below it. */
static void add_metric(struct making *making, uint32_t metric, double *sums)
{
	const struct sonde_context *contexts = making->sink->contexts;
	struct profile_graph *graph = making->graph;

	for (uint32_t i = making->sink->context_count; i--;) {
		uint32_t label = graph->labels.of[i], edge = making->edge[i];

		/* children come later, so that here their sums are in that of their parent */
		if (making->is_outer_label[i])
			graph->totals[metric][label] += sums[i];
		if (making->is_outer_edge[i])
			graph->edges.items[edge].total[metric] += sums[i];
		if (i)
			sums[contexts[i].parent] += sums[i];
	}
}

static void add_selves(struct making *making, uint32_t metric, const double *sums)
{
	struct profile_graph *graph = making->graph;

	for (uint32_t i = 0; i < making->sink->context_count; i++) {
		graph->cells.items[making->cell[i]].self[metric] += sums[i];
		graph->selves[metric][graph->labels.of[i]] += sums[i];
		if (metric == making->calls && making->edge[i] != SONDE_NONE)
			graph->edges.items[making->edge[i]].calls += sums[i];
	}
}

static int compare_cells(const void *a, const void *b)
{
	const struct profile_cell *first = a, *second = b;

	if (first->label != second->label)
		return first->label < second->label ? -1 : 1;
	return first->line < second->line ? -1 : first->line > second->line;
}

static int compare_edges(const void *a, const void *b)
{
	const struct profile_edge *first = a, *second = b;

	if (first->caller != second->caller)
		return first->caller < second->caller ? -1 : 1;
	if (first->callee != second->callee)
		return first->callee < second->callee ? -1 : 1;
	return first->line < second->line ? -1 : first->line > second->line;
}

static enum sonde_status make(struct making *making, struct sonde_error *err)
{
	struct profile_graph *graph = making->graph;

	if (!place_contexts(making) || !find_recursion(making) || !make_room(graph))
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < graph->metric_count; i++) {
		double *sums = profile_sink_sums(making->sink, SONDE_NONE, i, err);

		if (!sums)
			return SONDE_NOMEM;
		add_selves(making, i, sums);
		add_metric(making, i, sums);
		free(sums);
	}
	if (graph->cells.count)
		qsort(graph->cells.items, graph->cells.count, sizeof(*graph->cells.items),
		      compare_cells);
	if (graph->edges.count)
		qsort(graph->edges.items, graph->edges.count, sizeof(*graph->edges.items),
		      compare_edges);
	return SONDE_OK;
}

enum sonde_status profile_graph_make(struct profile_graph *graph, const struct profile_sink *sink,
				     bool by_line, struct sonde_error *err)
{
	struct making making = { .graph = graph, .sink = sink, .by_line = by_line };
	enum sonde_status status;

	*graph = (struct profile_graph){ .metric_count = sink->metric_count };
	making.calls = profile_sink_calls(sink);
	status = profile_labels_make(&graph->labels, sink, false, err);
	if (!status)
		status = make(&making, err);
	free(making.line);
	free(making.cell);
	free(making.edge);
	free(making.is_outer_label);
	free(making.is_outer_edge);
	sonde_key_map_release(&making.cells);
	sonde_key_map_release(&making.edges);
	return status;
}

void profile_graph_release(struct profile_graph *graph)
{
	for (uint32_t i = 0; i < graph->metric_count; i++) {
		if (graph->totals)
			free(graph->totals[i]);
		if (graph->selves)
			free(graph->selves[i]);
	}
	free(graph->totals);
	free(graph->selves);
	free(graph->cell_values);
	free(graph->edge_values);
	sonde_vec_release(&graph->cells);
	sonde_vec_release(&graph->edges);
	profile_labels_release(&graph->labels);
}

enum sonde_status profile_graph_count_lost(const struct profile_graph *graph,
					   struct sonde_error *err)
{
	const struct profile_sink *sink = graph->labels.sink;
	enum sonde_status status;

	status = sonde_loss_add(sink->loss, "calling contexts",
				"a call graph knows who called whom, and not from which stack",
				graph->paths, err);
	if (!status && sink->track_count > 1)
		status = sonde_loss_add(sink->loss, "tracks",
					"the call graph is summed up over all of them",
					sink->track_count, err);
	return status;
}
