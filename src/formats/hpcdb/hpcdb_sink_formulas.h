/* SPDX-License-Identifier: Apache-2.0 */
/* Formulas over metrics on their way into a database: by names until its metrics have numbers. */
#ifndef SONDE_HPCDB_SINK_FORMULAS_H
#define SONDE_HPCDB_SINK_FORMULAS_H

#include <sonde/pipeline.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

struct hpcdb_sink_formula {
	const char *name, *description;
	const char *text; /* #n is metric n of the definitions */
};

/* Zeroed means none. */
struct hpcdb_sink_formulas {
	SONDE_VEC(struct hpcdb_sink_formula) items;
	struct sonde_arena texts;
	struct sonde_text_map metrics; /* of scope "point": name -> number of the definition */
};

void hpcdb_sink_formulas_release(struct hpcdb_sink_formulas *formulas);

/* A metric of scope "point", before the formulas that name it. */
enum sonde_status hpcdb_sink_formulas_metric(struct hpcdb_sink_formulas *formulas, const char *name,
					     uint32_t number, struct sonde_error *err);

/* SONDE_END: it is of something that is not there. */
enum sonde_status hpcdb_sink_formulas_add(struct hpcdb_sink_formulas *formulas,
					  const struct sonde_formula *formula,
					  struct sonde_error *err);

/* Those of measurements, which have them as an attribute; *lost counts those that cannot be held. */
enum sonde_status hpcdb_sink_formulas_take(struct hpcdb_sink_formulas *formulas,
					   const struct sonde_definitions *definitions,
					   uint64_t *lost, struct sonde_error *err);

/* The text of a formula with other numbers for the metrics; NULL where memory failed. */
const char *hpcdb_sink_formulas_text(struct hpcdb_sink_formulas *formulas, size_t number,
				     const uint32_t *metric_numbers);

#endif
