/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde diff`, before it is text, markdown, JSON or CSV: the comparison and which rows of it to show. */
#ifndef SONDE_CLI_DIFF_H
#define SONDE_CLI_DIFF_H

#include "analyse/compare.h"
#include "cli/analysis.h"

enum diff_sort {
	DIFF_SORT_CHANGE,
	DIFF_SORT_RELATIVE,
	DIFF_SORT_TOTAL,
	DIFF_SORT_BEFORE,
	DIFF_SORT_AFTER,
	DIFF_SORT_CALLS,
	DIFF_SORT_P,
	DIFF_SORT_NAME,
};

struct diff_options {
	struct cli_common common;
	struct cli_input input;
	struct cli_range range;
	struct cli_filter filter;
	struct cli_analysis analysis;
	double threshold, least_share; /* negative: not given */
	double least_change, level;
	unsigned int by, sort;
	uint64_t limit; /* UINT64_MAX: not given */
	bool contexts, tree, all, both, raw, exact;
	bool json, csv, markdown;
};

/* Why the exit code is 1: this exceeds the threshold. */
struct diff_excess {
	const struct compare_row *row; /* `all` of the comparison: the whole */
};

struct diff {
	const struct diff_options *options;
	const char *const *paths; /* by run */
	struct comparison comparison;
	/* Borrowed from the comparison, sorted; --limit is not applied yet. */
	SONDE_VEC(const struct compare_row *) rows;
	size_t row_limit;
	uint64_t unchanged_count; /* rows that are the same, and not in `rows` */
	bool asks_threshold;
	SONDE_VEC(struct diff_excess) excesses; /* the whole first, then in the order of rows */
};

/* What a row is: "function", "module"; the plural adds an s. */
const char *diff_noun(const struct diff *diff);

/* What is compared are numbers of calls, so that no column needs to tell them again. */
bool diff_is_of_calls(const struct diff *diff);

/* "+5.2 %", "new", "gone", "x 12" */
void diff_put_relative(struct sonde_buffer *out, const struct compare_row *row,
		       const struct compare_means *means);
/* The same of a number: 0.05. */
void diff_put_percent(struct sonde_buffer *out, double change);
/* "1.23 ms" or "12,345", `sign` with a + or - before it: three digits are enough for a table. */
void diff_put_value(struct sonde_buffer *out, const struct diff *diff, double value, bool sign);
/* "4", or "4 -> 5" */
void diff_put_calls(struct sonde_buffer *out, const struct compare_row *row, const char *arrow);
/* "0.003", "2e-05" */
void diff_put_p(struct sonde_buffer *out, double p);

/* The name of a row as it is; of a context with who called it, innermost first. */
#define DIFF_NAME_SIZE 4096
const char *diff_name(const struct diff *diff, const struct compare_row *row, char *space,
		      size_t size);

/* Of rows by context: the function that called this one, however many loops are between; 0: none. */
uint32_t diff_caller(const struct comparison *comparison, uint32_t context);

/* What there is to say in one line about the whole, without an end. */
void diff_put_verdict(struct sonde_buffer *out, const struct diff *diff);
/* How rows were judged; nothing where they were not. */
void diff_put_method(struct sonde_buffer *out, const struct diff *diff);
/* What exceeds the threshold, or that nothing does. */
void diff_put_threshold(struct sonde_buffer *out, const struct diff *diff,
			void (*put_name)(struct sonde_buffer *, const char *));

void diff_put_text(struct cli *cli, const struct diff *diff);
void diff_put_tree(struct cli *cli, const struct diff *diff);
void diff_put_markdown(struct cli *cli, const struct diff *diff);
void diff_put_json(struct cli *cli, const struct diff *diff);
void diff_put_csv(struct cli *cli, const struct diff *diff);

/* --exact: whether two trees are the same, with the first differences. Returns an exit code. */
int diff_exactly(struct cli *cli, const struct diff_options *options, const char *const *paths,
		 const struct cct *const trees[2]);

#endif
