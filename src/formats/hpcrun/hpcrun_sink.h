/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any recording as measurements. A profile holds addresses and nothing else, so that contexts become
 * the nodes that stand for them; which, is worked out once for all tracks.
 */
#ifndef SONDE_HPCRUN_SINK_H
#define SONDE_HPCRUN_SINK_H

#include "formats/hpcrun/hpcrun_read.h"

/* A module as the nodes name it. */
struct hpcrun_sink_module {
	const char *path; /* of the definitions, or of texts below */
	uint32_t process; /* SONDE_NONE: made up for a function */
};

/* The nodes that stand for contexts. Zeroed means empty. */
struct hpcrun_sink_nodes {
	const struct sonde_definitions *definitions;
	struct hpcrun_tree tree; /* module: index in modules, or HPCRUN_TREE_PLACEHOLDER */
	uint32_t *of_context;	 /* context -> node */
	uint32_t context_count;
	uint32_t no_activity; /* node of samples without a context */
	SONDE_VEC(struct hpcrun_sink_module) modules;
	uint32_t definition_count; /* modules of the definitions are first */
	struct sonde_key_map made; /* function -> module made up for it */
	uint32_t rest;		   /* module of functions beyond those; SONDE_NONE: none yet */
	struct sonde_arena texts;
};

/* Makes the nodes for contexts, and counts what they do not hold. */
enum sonde_status hpcrun_sink_nodes_make(struct hpcrun_sink_nodes *nodes,
					 const struct sonde_context *contexts, uint32_t count,
					 struct sonde_loss *loss, struct sonde_error *err);
void hpcrun_sink_nodes_release(struct hpcrun_sink_nodes *nodes);

/* Ids in files: as existing programs number them, the same in every file. */
static inline uint32_t hpcrun_sink_id(uint32_t node)
{
	return 12 + 2 * node;
}
#define HPCRUN_SINK_NODE_LIMIT ((UINT32_C(1) << 30) - 16)

/* The metrics of the table, and which is which. Zeroed means empty. */
struct hpcrun_sink_metrics {
	SONDE_VEC(struct hpcrun_metric) items;
	SONDE_VEC(uint32_t) of_definition; /* metric -> index, SONDE_NONE */
	struct sonde_text_map names;	   /* -> index; the first of each name */
	struct sonde_arena texts;
};

enum sonde_status hpcrun_sink_metrics_make(struct hpcrun_sink_metrics *metrics,
					   const struct sonde_definitions *definitions,
					   struct sonde_loss *loss, struct sonde_error *err);
/*
 * Fills in what files have for the values of a profile: whole numbers and periods as they were measured,
 * else, for a metric whose values do not allow that, real numbers. Gives how many such metrics there are.
 */
size_t hpcrun_sink_encode_values(struct hpcrun_profile *profile);
void hpcrun_sink_metrics_release(struct hpcrun_sink_metrics *metrics);

/* Counts tracks that are more than 02.00l can say. */
enum sonde_status hpcrun_sink_count_identities(const struct sonde_definitions *definitions,
					       struct sonde_loss *loss, struct sonde_error *err);

#endif
