/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call graph of a profile: functions, what was spent in them, and who called whom. From which stack a call came is
 * not in it any more. Linear in contexts, however deep they lie.
 */
#ifndef SONDE_FORMATS_PROFILE_GRAPH_H
#define SONDE_FORMATS_PROFILE_GRAPH_H

#include "formats/profile_labels.h"

/* What was spent in a line of a function itself. */
struct profile_cell {
	uint32_t label;
	uint32_t line; /* that of the function where no line of its own file is known */
	double *self;  /* by metric; borrowed from the graph */
};

/* Calls from a line of a function to another one, or itself. */
struct profile_edge {
	uint32_t caller, callee; /* labels */
	uint32_t line;
	double calls;
	double *total; /* by metric: in the callee and below; in recursion only the outermost counts */
	bool is_inlined;
};

struct profile_graph {
	struct profile_labels labels;
	uint32_t metric_count;
	SONDE_VEC(struct profile_cell) cells; /* ordered by label, then line */
	SONDE_VEC(struct profile_edge) edges; /* ordered by caller, callee, line */
	double **totals; /* by metric and label: in it and below, recursion counted once */
	double **selves; /* likewise in it alone */
	double *cell_values, *edge_values; /* what cells and edges point into */
	uint64_t paths; /* contexts that are frames: how many ways lead to the functions */
};

/* With `by_line` there is a cell and an edge for each line, else one for a function and for a pair of them. */
enum sonde_status profile_graph_make(struct profile_graph *graph, const struct profile_sink *sink,
				     bool by_line, struct sonde_error *err);
void profile_graph_release(struct profile_graph *graph);

/* What every call graph loses, counted. */
enum sonde_status profile_graph_count_lost(const struct profile_graph *graph,
					   struct sonde_error *err);

#endif
