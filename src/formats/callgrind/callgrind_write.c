/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callgrind's profile format, version 1: one part, with the call graph of all tracks and each metric as
 * an event. Names of objects, files and functions are written once and meant by their number from then on.
 */
#include <math.h>
#include <stdlib.h>

#include <sonde/sonde.h>

#include "base/escape.h"
#include "formats/callgrind/callgrind.h"
#include "formats/profile_graph.h"

#define FLUSH_SIZE ((size_t)1 << 16)
#define WHOLE_ENOUGH 1e-3 /* how far what is meant to be whole may be off, after sums of doubles */
#define LARGEST_COST 9.2e18 /* what readers with 64 bits take */
#define UNKNOWN "???"	    /* as callgrind calls it itself */

/* Names of one kind: each gets the next number when it is first written. */
struct names {
	struct sonde_key_map numbers; /* by string, or label */
	uint32_t count;
};

struct writing {
	struct profile_sink *sink;
	struct profile_graph graph;
	struct sonde_buffer out;
	struct names objects, files, functions;
	double *scales;	       /* by metric */
	uint64_t *totals;      /* by metric: of all costs that were written */
	uint32_t object, file; /* strings: where the reader is now; SONDE_NONE: nowhere yet */
	/* lost */
	uint64_t negative, fractions, too_large, changed_names;
};

/* "(3) name" when it is met first, "(3)" from then on. */
static void put_name(struct writing *writing, struct names *names, uint64_t key, const char *name)
{
	struct sonde_buffer *out = &writing->out;
	uint32_t number = sonde_key_map_find(&names->numbers, key);
	bool is_new = number == SONDE_NONE;

	if (is_new) {
		number = ++names->count;
		out->failed |= !sonde_key_map_add(&names->numbers, key, number);
	}
	sonde_buffer_put_char(out, '(');
	sonde_buffer_put_u64(out, number);
	sonde_buffer_put_char(out, ')');
	if (is_new) {
		sonde_buffer_put_char(out, ' ');
		writing->changed_names += !sonde_put_escaped(out, name, strlen(name));
	}
	sonde_buffer_put_char(out, '\n');
}

static void put_string(struct writing *writing, const char *what, struct names *names, uint32_t id)
{
	const char *text = sonde_definitions_string(writing->sink->definitions, id);

	sonde_buffer_put_text(&writing->out, what);
	put_name(writing, names, id, *text ? text : UNKNOWN);
}

static void put_function(struct writing *writing, const char *what, uint32_t label)
{
	char space[PROFILE_NAME_SPACE];

	sonde_buffer_put_text(&writing->out, what);
	put_name(writing, &writing->functions, label,
		 profile_label_name(&writing->graph.labels, label, space));
}

/* Strings: the path of its module, and its file; 0 where unknown. */
static void find_place(const struct writing *writing, uint32_t label, uint32_t *object,
		       uint32_t *file)
{
	const struct profile_labels *labels = &writing->graph.labels;
	const struct sonde_function *function = profile_label_function(labels, label);
	const struct sonde_context *context =
		&writing->sink->contexts[labels->contexts.items[label]];
	const struct sonde_module *module = sonde_definitions_module(
		writing->sink->definitions, function ? function->module : context->module);

	*object = module ? module->path : 0;
	*file = function ? function->file : context->file;
}

static uint64_t cost_of(struct writing *writing, uint32_t metric, double value)
{
	double scaled = value * writing->scales[metric];

	if (scaled < 0) {
		writing->negative++;
		return 0;
	}
	if (scaled > LARGEST_COST) {
		writing->too_large++;
		return (uint64_t)LARGEST_COST;
	}
	writing->fractions += fabs(scaled - rint(scaled)) > WHOLE_ENOUGH;
	return (uint64_t)(scaled + .5);
}

/* A line and its costs; trailing zeros may be left out, but a line has one cost at least. */
static void put_costs(struct writing *writing, uint32_t line, const double *values, bool is_self)
{
	struct sonde_buffer *out = &writing->out;

	sonde_buffer_put_u64(out, line);
	for (uint32_t i = 0; i < writing->graph.metric_count; i++) {
		uint64_t cost = cost_of(writing, i, values[i]);

		if (is_self)
			writing->totals[i] += cost;
		sonde_buffer_put_char(out, ' ');
		sonde_buffer_put_u64(out, cost);
	}
	sonde_buffer_put_char(out, '\n');
}

static void put_position(struct writing *writing, uint32_t label)
{
	uint32_t object, file;

	find_place(writing, label, &object, &file);
	if (object != writing->object)
		put_string(writing, "ob=", &writing->objects, object);
	if (file != writing->file || object != writing->object)
		put_string(writing, "fl=", &writing->files, file);
	writing->object = object;
	writing->file = file;
	put_function(writing, "fn=", label);
}

static void put_edge(struct writing *writing, const struct profile_edge *edge)
{
	const struct sonde_function *callee =
		profile_label_function(&writing->graph.labels, edge->callee);
	struct sonde_buffer *out = &writing->out;
	uint32_t object, file;

	find_place(writing, edge->callee, &object, &file);
	if (object != writing->object)
		put_string(writing, "cob=", &writing->objects, object);
	if (file != writing->file)
		put_string(writing, "cfi=", &writing->files, file);
	put_function(writing, "cfn=", edge->callee);
	sonde_buffer_put_text(out, "calls=");
	/* readers take a cost behind 0 calls for the caller's own: so it is 1 where nobody counted */
	sonde_buffer_put_u64(out, edge->calls >= 1 && edge->calls < LARGEST_COST ?
					  (uint64_t)(edge->calls + .5) :
					  1);
	sonde_buffer_put_char(out, ' ');
	sonde_buffer_put_u64(out, callee ? callee->line : 0);
	sonde_buffer_put_char(out, '\n');
	put_costs(writing, edge->line, edge->total, false);
}

static bool has_cost(const struct writing *writing, const struct profile_cell *cell)
{
	for (uint32_t i = 0; i < writing->graph.metric_count; i++) {
		if (cell->self[i] != 0)
			return true;
	}
	return false;
}

/* Cells and edges of a label follow each other; `cell` and `edge` are where those of it begin. */
static void put_label(struct writing *writing, uint32_t label, size_t *cell, size_t *edge)
{
	const struct profile_graph *graph = &writing->graph;
	bool is_begun = false;

	for (; *cell < graph->cells.count && graph->cells.items[*cell].label == label; ++*cell) {
		const struct profile_cell *found = &graph->cells.items[*cell];

		if (!has_cost(writing, found))
			continue;
		if (!is_begun)
			put_position(writing, label);
		is_begun = true;
		put_costs(writing, found->line, found->self, true);
	}
	for (; *edge < graph->edges.count && graph->edges.items[*edge].caller == label; ++*edge) {
		if (!is_begun)
			put_position(writing, label);
		is_begun = true;
		put_edge(writing, &graph->edges.items[*edge]);
	}
	if (is_begun)
		sonde_buffer_put_char(&writing->out, '\n');
}

/* The name of an event is one word: "REALTIME_ns" of "REALTIME (sec)". */
static void put_event_name(struct sonde_buffer *out, const struct profile_metric *metric,
			   uint32_t number)
{
	size_t start = out->size, length = strcspn(metric->name, metric->ns > 0 ? " (" : "");

	for (size_t i = 0; i < length; i++) {
		char c = metric->name[i];
		bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9' && out->size > start);

		sonde_buffer_put_char(out, fits ? c : '_');
	}
	if (!length)
		sonde_buffer_put_format(out, "metric_%u", number);
	if (metric->ns > 0)
		sonde_buffer_put_text(out, "_ns");
}

static void put_header(struct writing *writing)
{
	const struct profile_sink *sink = writing->sink;
	const struct sonde_process *process = sonde_definitions_process(sink->definitions, 0);
	const char *name = process ? sonde_definitions_string(sink->definitions, process->name) :
				     "";
	struct sonde_buffer *out = &writing->out;

	sonde_buffer_put_text(out, "# callgrind format\nversion: 1\ncreator: sonde ");
	sonde_buffer_put_text(out, sonde_version());
	sonde_buffer_put_text(out, "\ncmd: ");
	sonde_put_escaped(out, name, strlen(name));
	sonde_buffer_put_text(out, "\npart: 1\n\npositions: line\n");
	for (uint32_t i = 0; i < sink->metric_count; i++) {
		sonde_buffer_put_text(out, "event: ");
		put_event_name(out, &sink->metrics[i], i);
		sonde_buffer_put_text(out, " : ");
		sonde_put_escaped(out, sink->metrics[i].name, strlen(sink->metrics[i].name));
		sonde_buffer_put_char(out, '\n');
	}
	sonde_buffer_put_text(out, "events:");
	for (uint32_t i = 0; i < sink->metric_count; i++) {
		sonde_buffer_put_char(out, ' ');
		put_event_name(out, &sink->metrics[i], i);
	}
	if (!sink->metric_count)
		sonde_buffer_put_text(out, " ns");
	sonde_buffer_put_text(out, "\n\n");
}

static enum sonde_status put_graph(struct writing *writing, struct sonde_error *err)
{
	size_t cell = 0, edge = 0;
	enum sonde_status status = SONDE_OK;

	put_header(writing);
	for (uint32_t i = 0; i < writing->graph.labels.contexts.count && !status; i++) {
		put_label(writing, i, &cell, &edge);
		status = profile_sink_flush(writing->sink, &writing->out, FLUSH_SIZE, err);
	}
	sonde_buffer_put_text(&writing->out, "totals:");
	for (uint32_t i = 0; i < writing->graph.metric_count; i++) {
		sonde_buffer_put_char(&writing->out, ' ');
		sonde_buffer_put_u64(&writing->out, writing->totals[i]);
	}
	if (!writing->graph.metric_count)
		sonde_buffer_put_text(&writing->out, " 0");
	sonde_buffer_put_char(&writing->out, '\n');
	return status ? status : profile_sink_flush(writing->sink, &writing->out, 0, err);
}

static enum sonde_status count_lost(const struct writing *writing, struct sonde_error *err)
{
	const struct {
		const char *what, *reason;
		uint64_t count;
	} lost[] = {
		{ "values", "callgrind has no costs below 0: 0 stands for them",
		  writing->negative },
		{ "values", "they are larger than 64 bits can hold", writing->too_large },
		{ "fractions of values", "callgrind's costs are whole numbers",
		  writing->fractions },
		{ "names as they are", "what would break a line is escaped",
		  writing->changed_names },
	};
	enum sonde_status status = profile_graph_count_lost(&writing->graph, err);

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]) && !status; i++)
		status = sonde_loss_add(writing->sink->loss, lost[i].what, lost[i].reason,
					lost[i].count, err);
	return status;
}

static enum sonde_status do_write(struct writing *writing, struct sonde_error *err)
{
	size_t metrics = writing->sink->metric_count;
	enum sonde_status status = profile_graph_make(&writing->graph, writing->sink, true, err);

	if (status)
		return status;
	writing->scales = malloc((metrics + 1) * sizeof(*writing->scales));
	writing->totals = calloc(metrics + 1, sizeof(*writing->totals));
	if (!writing->scales || !writing->totals)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < metrics; i++) {
		double ns = writing->sink->metrics[i].ns;

		writing->scales[i] = ns > 0 ? ns : 1;
	}
	status = put_graph(writing, err);
	return status ? status : count_lost(writing, err);
}

static enum sonde_status write_callgrind(struct profile_sink *sink, struct sonde_error *err)
{
	struct writing writing = { .sink = sink, .object = SONDE_NONE, .file = SONDE_NONE };
	enum sonde_status status = do_write(&writing, err);

	profile_graph_release(&writing.graph);
	sonde_key_map_release(&writing.objects.numbers);
	sonde_key_map_release(&writing.files.numbers);
	sonde_key_map_release(&writing.functions.numbers);
	sonde_buffer_release(&writing.out);
	free(writing.scales);
	free(writing.totals);
	return status;
}

enum sonde_status callgrind_create(const char *path, const struct sonde_create_options *options,
				   struct sonde_sink **sink, struct sonde_error *err)
{
	return profile_sink_create(path, options, write_callgrind, sink, err);
}
