/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison as a tree of calls: what each call spent with all that it called, and what of the change is its
 * own. Branches in which little changed are left out. No recursion: paths may be very deep.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/diff_screen.h"
#include "cli/text.h"

/* Deeper calls are not indented further. */
#define MOST_INDENT 40

/* Where --min does not say: a change that is a smaller share of the whole is left out. */
#define USUAL_SHARE 0.001

#define NO_ROW UINT32_MAX

/* Rows as a tree: lists of children, each sorted by the size of its change. */
struct tree {
	const struct diff *diff;
	const struct compare_row **rows; /* all of the comparison, sorted by change, least first */
	uint32_t *first_child, *next_sibling;
	uint32_t *parents; /* by row */
	uint32_t *places;  /* in `rows`, by number in the comparison */
	size_t count;
	uint32_t first_root;
};

static double total_change(const struct compare_row *row)
{
	double change = fabs(row->total.after - row->total.before);

	return isnan(change) ? 0 : change;
}

static int compare_rows(const void *left, const void *right)
{
	const struct compare_row *a = *(const struct compare_row *const *)left;
	const struct compare_row *b = *(const struct compare_row *const *)right;
	double first = total_change(a), second = total_change(b);

	if (first != second)
		return first < second ? -1 : 1;
	return (a->place.context < b->place.context) - (a->place.context > b->place.context);
}

static void find_parents(struct tree *tree)
{
	const struct comparison *comparison = &tree->diff->comparison;
	const struct compare_row *first = comparison->rows.items;
	size_t i;

	for (i = 0; i < tree->count; i++)
		tree->places[tree->rows[i] - first] = (uint32_t)i;
	for (i = 0; i < tree->count; i++) {
		uint32_t context = tree->rows[i]->place.context;
		uint32_t parent = comparison->whole->contexts[context].parent;
		uint32_t row = comparison->row_of_context[parent];

		tree->parents[i] = row == SONDE_NONE ? NO_ROW : tree->places[row];
	}
}

static bool tree_make(struct tree *tree, const struct diff *diff)
{
	const struct comparison *comparison = &diff->comparison;
	size_t count = comparison->rows.count, i;

	*tree = (struct tree){ .diff = diff, .count = count, .first_root = NO_ROW };
	tree->rows = calloc(count + 1, sizeof(*tree->rows));
	tree->first_child = calloc(count + 1, sizeof(uint32_t));
	tree->next_sibling = calloc(count + 1, sizeof(uint32_t));
	tree->parents = calloc(count + 1, sizeof(uint32_t));
	tree->places = calloc(count + 1, sizeof(uint32_t));
	if (!tree->rows || !tree->first_child || !tree->next_sibling || !tree->parents ||
	    !tree->places)
		return false;
	for (i = 0; i < count; i++)
		tree->rows[i] = &comparison->rows.items[i];
	if (count)
		qsort(tree->rows, count, sizeof(*tree->rows), compare_rows);
	find_parents(tree);
	memset(tree->first_child, 0xff, count * sizeof(uint32_t));
	/* each goes to the front of its list, so the largest change ends up first */
	for (i = 0; i < count; i++) {
		uint32_t *list = tree->parents[i] == NO_ROW ? &tree->first_root :
							      &tree->first_child[tree->parents[i]];

		tree->next_sibling[i] = *list;
		*list = (uint32_t)i;
	}
	return true;
}

static void tree_release(struct tree *tree)
{
	free(tree->rows);
	free(tree->first_child);
	free(tree->next_sibling);
	free(tree->parents);
	free(tree->places);
}

/* The next row in the order of a walk through the tree; `depth` follows it. */
static uint32_t step(const struct tree *tree, uint32_t row, bool enter, size_t *depth)
{
	if (enter && tree->first_child[row] != NO_ROW) {
		++*depth;
		return tree->first_child[row];
	}
	while (row != NO_ROW && tree->next_sibling[row] == NO_ROW) {
		row = tree->parents[row];
		--*depth;
	}
	return row == NO_ROW ? NO_ROW : tree->next_sibling[row];
}

static const struct cli_column columns[] = {
	{ .title = "TOTAL", .right = true },  { .title = "%", .right = true },
	{ .title = "BEFORE", .right = true }, { .title = "AFTER", .right = true },
	{ .title = "SELF", .right = true },   { .title = "CALLS", .right = true },
	{ .title = "NAME", .shrinks = true },
};

static void put_row(struct cli_table *table, const struct diff *diff, const struct compare_row *row,
		    size_t depth)
{
	char space[DIFF_NAME_SIZE];

	diff_put_value(&table->text, diff, row->total.after - row->total.before, true);
	cli_table_end_cell(table);
	diff_put_relative(&table->text, row, &row->total);
	cli_table_end_cell(table);
	diff_put_value(&table->text, diff, row->total.before, false);
	cli_table_end_cell(table);
	diff_put_value(&table->text, diff, row->total.after, false);
	cli_table_end_cell(table);
	diff_put_value(&table->text, diff, row->self.after - row->self.before, true);
	if (row->significant)
		sonde_buffer_put_text(&table->text, " *");
	else if (diff->comparison.significant_count)
		sonde_buffer_put_text(&table->text, "  ");
	cli_table_end_cell(table);
	if (!diff_is_of_calls(diff))
		diff_put_calls(&table->text, row, " -> ");
	cli_table_end_cell(table);
	cli_put_spaces(&table->text, depth < MOST_INDENT ? depth : MOST_INDENT);
	cli_put_escaped(&table->text, compare_label(&diff->comparison, row, space, sizeof(space)));
	cli_table_end_cell(table);
}

/* Adds rows to the table; how many more there would be. */
static uint64_t walk(const struct tree *tree, struct cli_table *table)
{
	const struct diff *diff = tree->diff;
	const struct compare_means *whole = &diff->comparison.all.self;
	double share = diff->options->least_share >= 0 ? diff->options->least_share : USUAL_SHARE;
	double least = share * fmax(fabs(whole->before), fabs(whole->after));
	uint32_t row = tree->first_root;
	uint64_t shown = 0, left_out = 0;
	size_t depth = 0;

	while (row != NO_ROW) {
		double change = total_change(tree->rows[row]);
		bool enter = change >= least && (change > 0 || share == 0);

		if (enter && shown < diff->row_limit) {
			put_row(table, diff, tree->rows[row], depth);
			shown++;
		} else if (enter) {
			left_out++;
		}
		row = step(tree, row, enter, &depth);
	}
	return left_out;
}

void diff_put_tree(struct cli *cli, const struct diff *diff)
{
	struct cli_table table = { .columns = columns,
				   .column_count = sizeof(columns) / sizeof(columns[0]) };
	struct tree tree;
	uint64_t left_out = 0;

	if (!diff->comparison.metric) {
		sonde_buffer_put_text(&cli->out, "Nothing was recorded on either side.\n");
		return;
	}
	diff_put_head(cli, diff);
	if (tree_make(&tree, diff))
		left_out = walk(&tree, &table);
	else
		cli->out.failed = true;
	sonde_buffer_put_char(&cli->out, '\n');
	if (table.ends.count)
		cli_table_put(cli, &table, 2);
	else
		sonde_buffer_put_text(&cli->out, "No calls changed.\n");
	tree_release(&tree);
	cli_table_release(&table);
	if (diff->comparison.significant_count)
		sonde_buffer_put_text(&cli->out,
				      "\n  * what it spent itself changed by more than chance\n");
	diff_put_foot(cli, diff, left_out);
}
