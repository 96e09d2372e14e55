/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a database: what its parts share. Each file of it is checked in a file of its own here. */
#ifndef SONDE_HPCDB_CHECK_H
#define SONDE_HPCDB_CHECK_H

#include "base/pool.h"
#include "base/sort.h"
#include "formats/hpcdb/hpcdb_cct.h"
#include "formats/hpcdb/hpcdb_findings.h"
#include "formats/hpcdb/hpcdb_ids.h"
#include "formats/hpcdb/hpcdb_trace.h"
#include "model/formula.h"

#define HPCDB_IDS_OF_METRICS 65536

/* Runs of bytes that nothing else may lie in. */
struct hpcdb_extents {
	SONDE_VEC(struct sonde_sort_item) items; /* start, end */
};

/* The scopes of a metric that can be checked against each other; HPCDB_NO_RECORD: it has none. */
struct hpcdb_scope_ids {
	uint32_t point, function, lex_aware, execution; /* propMetricIds */
	uint16_t bit;					/* of `propagation`, for function */
};

/* A statistic that can be worked out. */
struct hpcdb_statistic {
	struct sonde_expression formula;
	uint16_t id;
	uint8_t combine;
	bool is_squares;
	bool is_lex_aware;
};

struct hpcdb_check {
	const char *folder;
	struct sonde_diagnostics *found;
	unsigned int threads;
	struct sonde_meter meter;

	struct hpcdb_meta meta;
	struct hpcdb_tree tree; /* file.data NULL in any of the files: it is not there */
	struct hpcdb_ids ids;
	struct hpcdb_profile profile;
	struct hpcdb_cct cct;
	struct hpcdb_trace trace;

	uint32_t *prop_instances;	/* [id]: instance in meta.db */
	uint32_t *stat_summaries;	/* [id]: summary in meta.db */
	struct hpcdb_scope_ids *scopes; /* [metric] */
	SONDE_VEC(struct hpcdb_statistic) statistics;
	uint32_t
		*first_statistics; /* [prop id]: those of its metric and scope, to that of id + 1 */

	bool has_good_planes; /* whole, apart from each other, and in order */
	bool has_good_blocks;
	_Atomic uint64_t unlisted; /* contexts in planes that are not in the tree */
	_Atomic uint64_t plane_values, block_values;
	_Atomic uint64_t loops_not_apart; /* values of the kind that finding LEX_AWARE is about */
	_Atomic bool is_bad;		  /* something of what is being looked at is damaged */
};

/* Some of the items from `first` to before `end`. */
typedef enum sonde_status hpcdb_check_work(struct hpcdb_check *check, uint32_t first, uint32_t end,
					   struct sonde_diagnostics *found,
					   struct sonde_error *err);

/* Does `count` items on several threads; findings come in the order of items. */
enum sonde_status hpcdb_check_run(struct hpcdb_check *check, uint32_t count, hpcdb_check_work *work,
				  struct sonde_error *err);

/* Adds a run; empty ones are passed over. */
enum sonde_status hpcdb_extents_add(struct hpcdb_extents *extents, uint64_t start, uint64_t size,
				    struct sonde_error *err);
/* Adds header, sections and footer of a file. */
enum sonde_status hpcdb_extents_add_sections(struct hpcdb_extents *extents,
					     const struct hpcdb_file *file,
					     struct sonde_error *err);
/* Reports those that lie over each other; false where any do. Releases them. */
bool hpcdb_extents_are_apart(struct hpcdb_extents *extents, const struct hpcdb_file *file,
			     struct sonde_diagnostics *found);

/* Reports an offset that is not a multiple of `alignment`. */
void hpcdb_check_alignment(const struct hpcdb_file *file, uint64_t offset, uint32_t alignment,
			   const char *what, struct sonde_diagnostics *found);

enum sonde_status hpcdb_check_meta(struct hpcdb_check *check, struct sonde_error *err);
enum sonde_status hpcdb_check_profile(struct hpcdb_check *check, struct sonde_error *err);
enum sonde_status hpcdb_check_cct(struct hpcdb_check *check, struct sonde_error *err);
enum sonde_status hpcdb_check_propagation(struct hpcdb_check *check, struct sonde_error *err);
enum sonde_status hpcdb_check_statistics(struct hpcdb_check *check, struct sonde_error *err);
enum sonde_status hpcdb_check_trace(struct hpcdb_check *check, struct sonde_error *err);

/* Statistics of meta.db that can be worked out, by propMetricId; also for the recovery. */
enum sonde_status hpcdb_check_plan_statistics(struct hpcdb_check *check, struct sonde_error *err);
double hpcdb_statistic_apply(const struct hpcdb_statistic *statistic, double value);
double hpcdb_statistic_combine(const struct hpcdb_statistic *statistic, double a, double b);

void hpcdb_check_release(struct hpcdb_check *check);

/* Close enough to be the same sum in another order. */
bool hpcdb_is_close(double a, double b, double scale);

#endif
