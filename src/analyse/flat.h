/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of contexts as a list: what was spent in each function, module, file or line, wherever it was called. */
#ifndef SONDE_ANALYSE_FLAT_H
#define SONDE_ANALYSE_FLAT_H

#include "analyse/cct.h"
#include "base/vec.h"

enum flat_key { FLAT_FUNCTION, FLAT_MODULE, FLAT_FILE, FLAT_LINE, FLAT_LOOP };

struct flat_row {
	uint32_t key;	    /* function, module, or file (string); SONDE_NONE, or file 0: unknown */
	uint32_t line;	    /* of a line or a loop */
	uint32_t context;   /* one that is in it, for its label */
	double self, total; /* of the metric asked for; recursion is counted once in total */
	struct cct_calls calls; /* zeros of a profile */
	uint32_t number;	/* for flat_self() and flat_total() */
};

struct flat {
	SONDE_VEC(struct flat_row) rows; /* by total, the most first; then by key and line */
	SONDE_VEC(double) sums;		 /* of all metrics, where they were asked for */
	uint32_t metric_count;
	uint32_t *places; /* by context: the number of the row it is in; SONDE_NONE: in none */
};

enum sonde_status flat_make(struct flat *flat, const struct cct *cct, enum flat_key key,
			    uint32_t metric, struct sonde_error *err);

/*
 * The same with the sums of all metrics, derived ones worked out of sums (NAN where that cannot be). A row
 * is there where any metric has something.
 */
enum sonde_status flat_make_all(struct flat *flat, const struct cct *cct, enum flat_key key,
				uint32_t metric, struct sonde_error *err);
double flat_self(const struct flat *flat, const struct flat_row *row, uint32_t metric);
double flat_total(const struct flat *flat, const struct flat_row *row, uint32_t metric);

void flat_release(struct flat *flat);

/* What to call a row on a screen, as far as `size` allows. */
const char *flat_label(const struct cct *cct, enum flat_key key, const struct flat_row *row,
		       char *space, size_t size);

#endif
