/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call graph in the language of Graphviz: functions are boxes, the redder and larger the more was spent in them, and calls
 * are arrows, the thicker the more was spent behind them. What is too small to matter is left out and
 * counted, for a picture of thousands of boxes tells nothing.
 */
#include <math.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/human.h"
#include "base/utf8.h"
#include "formats/dot/dot.h"
#include "formats/profile_graph.h"

#define FLUSH_SIZE ((size_t)1 << 16)
#define MIN_NODE_SHARE 0.005 /* of the whole, in a function and below */
#define MIN_EDGE_SHARE 0.001
#define LONGEST_LABEL 60 /* bytes of a name in a box; the tooltip has all of it */
#define SMALLEST_FONT 9
#define LARGEST_FONT 28
#define LARGEST_NUMBER 9.2e18

struct writing {
	struct profile_sink *sink;
	struct profile_graph graph;
	struct sonde_buffer out, text; /* `text` is a name before it is quoted */
	uint32_t metric;	       /* SONDE_NONE: there is none, and nothing to draw */
	double whole;
	bool has_all;
	bool *is_drawn; /* by label */
	uint64_t nodes_left_out, edges_left_out;
};

static double share_of(const struct writing *writing, double value)
{
	double share = writing->whole > 0 ? value / writing->whole : 0;

	return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* Inside of double quotes. */
static void put_quoted(struct sonde_buffer *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '"' || text[i] == '\\')
			sonde_buffer_put_char(out, '\\');
		sonde_buffer_put_char(out, text[i]);
		if (text[i] == '&') /* else "&lt;" would be shown as '<' */
			sonde_buffer_put_text(out, "amp;");
	}
}

/* A name, in full or as much as a box has room for. */
static void put_name(struct writing *writing, const char *name, size_t limit)
{
	struct sonde_buffer *text = &writing->text;
	size_t size;

	sonde_buffer_clear(text);
	sonde_put_escaped(text, name, strlen(name));
	size = text->size;
	if (size > limit) {
		for (size = 0; size < limit;) {
			size_t length = sonde_utf8_length(text->data + size, text->size - size);

			size += length ? length : 1;
		}
	}
	put_quoted(&writing->out, text->data, size);
	if (size < text->size)
		sonde_buffer_put_text(&writing->out, "...");
	writing->out.failed |= text->failed;
}

static void put_percent(struct sonde_buffer *out, double share)
{
	sonde_buffer_put_format(out, "%.1f%%", share * 100);
}

/* A value of the metric as people read it. */
static void put_value(const struct writing *writing, struct sonde_buffer *out, double value)
{
	double ns = writing->sink->metrics[writing->metric].ns;
	double scaled = ns > 0 ? value * ns : value;

	if (ns > 0 && scaled >= 0 && scaled < LARGEST_NUMBER)
		sonde_put_duration(out, (uint64_t)(scaled + .5), " ");
	else if (scaled >= 0 && scaled < LARGEST_NUMBER && scaled == rint(scaled))
		sonde_put_count(out, (uint64_t)scaled);
	else
		sonde_buffer_put_double(out, value);
}

/* Yellow to red, and paler the less it is. */
static void put_colour(struct sonde_buffer *out, double share, double saturation, double value)
{
	sonde_buffer_put_format(out, "%.3f %.3f %.3f", .14 * (1 - sqrt(share)),
				saturation * (.06 + .94 * sqrt(share)), value);
}

static void put_node(struct writing *writing, uint32_t label)
{
	struct sonde_buffer *out = &writing->out;
	double self = writing->graph.selves[writing->metric][label];
	double total = writing->graph.totals[writing->metric][label];
	const char *module = profile_label_module(&writing->graph.labels, label);
	char space[PROFILE_NAME_SPACE];
	const char *name = profile_label_name(&writing->graph.labels, label, space);

	sonde_buffer_put_format(out, "\tn%u [label=\"", label);
	put_name(writing, name, LONGEST_LABEL);
	sonde_buffer_put_text(out, "\\nself ");
	put_value(writing, out, self);
	sonde_buffer_put_text(out, " (");
	put_percent(out, share_of(writing, self));
	sonde_buffer_put_text(out, ")\\ntotal ");
	put_value(writing, out, total);
	sonde_buffer_put_text(out, " (");
	put_percent(out, share_of(writing, total));
	sonde_buffer_put_text(out, ")\", tooltip=\"");
	put_name(writing, name, SIZE_MAX);
	if (*module) {
		sonde_buffer_put_text(out, "\\n");
		put_name(writing, module, SIZE_MAX);
	}
	sonde_buffer_put_format(out, "\", fontsize=%.1f, fillcolor=\"",
				SMALLEST_FONT + (LARGEST_FONT - SMALLEST_FONT) *
							sqrt(share_of(writing, self)));
	put_colour(out, share_of(writing, self), .75, 1);
	sonde_buffer_put_text(out, "\"];\n");
}

static void put_edge(struct writing *writing, const struct profile_edge *edge)
{
	struct sonde_buffer *out = &writing->out;
	double total = edge->total[writing->metric], share = share_of(writing, total);

	sonde_buffer_put_format(out, "\tn%u -> n%u [label=\"", edge->caller, edge->callee);
	if (edge->calls > 0 && edge->calls < LARGEST_NUMBER) {
		sonde_put_counted(out, (uint64_t)(edge->calls + .5), "call");
		sonde_buffer_put_text(out, "\\n");
	}
	put_value(writing, out, total);
	sonde_buffer_put_format(out, "\", penwidth=%.2f, weight=%u, color=\"", .5 + 5 * share,
				1 + (unsigned int)(share * 100));
	put_colour(out, share, 1, .4 + .4 * share);
	sonde_buffer_put_text(out, edge->is_inlined ? "\", style=dashed];\n" : "\"];\n");
}

/* Something happened in it, as far as is known: values of any metric. */
static bool is_there(const struct writing *writing, uint32_t label)
{
	for (uint32_t i = 0; i < writing->graph.metric_count; i++) {
		if (writing->graph.totals[i][label] != 0)
			return true;
	}
	return false;
}

static void choose_nodes(struct writing *writing)
{
	const struct profile_graph *graph = &writing->graph;

	for (uint32_t i = 1; i < graph->labels.contexts.count; i++) {
		double share = share_of(writing, graph->totals[writing->metric][i]);

		if (!is_there(writing, i))
			continue;
		writing->is_drawn[i] = writing->has_all || share >= MIN_NODE_SHARE;
		writing->nodes_left_out += !writing->is_drawn[i];
	}
	writing->is_drawn[0] = graph->selves[writing->metric][0] != 0;
}

static bool draws_edge(struct writing *writing, const struct profile_edge *edge)
{
	bool is_there = edge->calls != 0 || edge->total[writing->metric] != 0;

	if (!is_there)
		return false;
	if (writing->is_drawn[edge->caller] && writing->is_drawn[edge->callee] &&
	    (writing->has_all || share_of(writing, edge->total[writing->metric]) >= MIN_EDGE_SHARE))
		return true;
	writing->edges_left_out++;
	return false;
}

static void put_title(struct writing *writing)
{
	struct sonde_buffer *out = &writing->out;
	const struct profile_metric *metric = &writing->sink->metrics[writing->metric];

	sonde_buffer_put_text(out, "\tlabel=\"");
	put_name(writing, metric->name, SIZE_MAX);
	sonde_buffer_put_text(out, ": ");
	put_value(writing, out, writing->whole);
	if (writing->nodes_left_out) {
		sonde_buffer_put_text(out, "; not shown: ");
		sonde_put_counted(out, writing->nodes_left_out, "function");
		sonde_buffer_put_format(out, " of less than %.1f%% each", MIN_NODE_SHARE * 100);
	}
	sonde_buffer_put_text(out, "\";\n");
}

static enum sonde_status put_content(struct writing *writing, struct sonde_error *err)
{
	const struct profile_graph *graph = &writing->graph;
	enum sonde_status status = SONDE_OK;

	choose_nodes(writing);
	put_title(writing);
	for (uint32_t i = 0; i < graph->labels.contexts.count && !status; i++) {
		if (!writing->is_drawn[i])
			continue;
		put_node(writing, i);
		status = profile_sink_flush(writing->sink, &writing->out, FLUSH_SIZE, err);
	}
	for (size_t i = 0; i < graph->edges.count && !status; i++) {
		if (!draws_edge(writing, &graph->edges.items[i]))
			continue;
		put_edge(writing, &graph->edges.items[i]);
		status = profile_sink_flush(writing->sink, &writing->out, FLUSH_SIZE, err);
	}
	return status;
}

static enum sonde_status put_graph(struct writing *writing, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	sonde_buffer_put_text(
		&writing->out,
		"digraph calls {\n"
		"\tlabelloc=t;\n\tfontname=\"Helvetica\";\n"
		"\tnode [shape=box, style=\"filled,rounded\", fontname=\"Helvetica\"];\n"
		"\tedge [fontname=\"Helvetica\", fontsize=9];\n");
	if (writing->metric != SONDE_NONE)
		status = put_content(writing, err);
	sonde_buffer_put_text(&writing->out, "}\n");
	return status ? status : profile_sink_flush(writing->sink, &writing->out, 0, err);
}

static enum sonde_status count_lost(const struct writing *writing, struct sonde_error *err)
{
	static const char *const too_small = "too small to be drawn; --style all draws everything";
	const struct profile_sink *sink = writing->sink;
	enum sonde_status status = profile_graph_count_lost(&writing->graph, err);
	uint64_t others = 0;

	for (uint32_t i = 0; i < sink->metric_count; i++) {
		bool is_drawn = i == writing->metric || i == profile_sink_calls(sink);

		others += is_drawn ? 0 : sink->metrics[i].count;
	}
	if (!status)
		status = sonde_loss_add(sink->loss, "values of other metrics",
					"a graph shows one metric; --style metric=NAME chooses it",
					others, err);
	if (!status)
		status = sonde_loss_add(sink->loss, "functions", too_small, writing->nodes_left_out,
					err);
	if (!status)
		status = sonde_loss_add(sink->loss, "calls between functions", too_small,
					writing->edges_left_out, err);
	return status;
}

static enum sonde_status do_write(struct writing *writing, struct sonde_error *err)
{
	enum sonde_status status = profile_sink_choose(writing->sink, &writing->metric, err);

	if (!status)
		status = profile_graph_make(&writing->graph, writing->sink, false, err);
	if (status)
		return status;
	writing->is_drawn =
		calloc(writing->graph.labels.contexts.count + 1, sizeof(*writing->is_drawn));
	if (!writing->is_drawn)
		return sonde_fail_nomem(err);
	if (writing->metric != SONDE_NONE)
		writing->whole = writing->graph.totals[writing->metric][0];
	status = put_graph(writing, err);
	return status ? status : count_lost(writing, err);
}

static enum sonde_status write_dot(struct profile_sink *sink, struct sonde_error *err)
{
	struct writing writing = {
		.sink = sink,
		.has_all = sonde_format_has_style(sink->style, "all"),
	};
	enum sonde_status status = do_write(&writing, err);

	profile_graph_release(&writing.graph);
	sonde_buffer_release(&writing.out);
	sonde_buffer_release(&writing.text);
	free(writing.is_drawn);
	return status;
}

enum sonde_status dot_create(const char *path, const struct sonde_create_options *options,
			     struct sonde_sink **sink, struct sonde_error *err)
{
	return profile_sink_create(path, options, write_dot, sink, err);
}
