/* SPDX-License-Identifier: Apache-2.0 */
/* The table that reports are made of: filling, looking up, sorting, cutting short. */
#include "cli/report_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/human.h"
#include "cli/text.h"

/* What is rounded to more than this is no time any more. */
#define LONGEST_NS 9e18

void report_view_release(struct report_view *view)
{
	sonde_vec_release(&view->columns);
	sonde_vec_release(&view->rows);
	sonde_vec_release(&view->cells);
	sonde_arena_release(&view->texts);
}

void report_add_column(struct report_view *view, struct report_column column)
{
	struct report_column *place = sonde_vec_push(&view->columns);

	if (place)
		*place = column;
	else
		view->failed = true;
}

void report_begin_row(struct report_view *view, uint32_t depth, uint32_t context, double weight)
{
	struct report_row *row;

	if (view->failed)
		return;
	row = sonde_vec_push(&view->rows);
	if (row && sonde_vec_reserve(&view->cells, view->columns.count))
		*row = (struct report_row){ .depth = depth, .context = context, .weight = weight };
	else
		view->failed = true;
}

static void put_cell(struct report_view *view, struct report_cell cell)
{
	struct report_cell *place;

	if (view->failed)
		return;
	place = sonde_vec_push(&view->cells);
	if (place)
		*place = cell;
	else
		view->failed = true;
}

void report_put_nothing(struct report_view *view)
{
	put_cell(view, (struct report_cell){ .kind = REPORT_NOTHING });
}

void report_put_borrowed(struct report_view *view, const char *text)
{
	put_cell(view, (struct report_cell){ .kind = REPORT_TEXT, .text = text });
}

void report_put_text(struct report_view *view, const char *text)
{
	char *copy = sonde_arena_copy_text(&view->texts, text, strlen(text));

	if (copy)
		report_put_borrowed(view, copy);
	else
		view->failed = true;
}

void report_put_count(struct report_view *view, uint64_t count)
{
	put_cell(view, (struct report_cell){ .kind = REPORT_COUNT, .count = count });
}

void report_put_id(struct report_view *view, uint64_t id)
{
	put_cell(view, (struct report_cell){ .kind = REPORT_ID, .count = id });
}

void report_put_time(struct report_view *view, uint64_t ns)
{
	put_cell(view, (struct report_cell){ .kind = REPORT_TIME, .count = ns });
}

void report_put_share(struct report_view *view, double part, double whole)
{
	if (whole > 0 && isfinite(part / whole))
		put_cell(view,
			 (struct report_cell){ .kind = REPORT_SHARE, .number = part / whole });
	else
		report_put_nothing(view);
}

void report_put_number(struct report_view *view, double number)
{
	if (isfinite(number))
		put_cell(view, (struct report_cell){ .kind = REPORT_NUMBER, .number = number });
	else
		report_put_nothing(view);
}

struct report_cell report_value_cell(const struct cct_metric *metric, double value)
{
	double ns = value * metric->ns;

	if (!isfinite(value))
		return (struct report_cell){ .kind = REPORT_NOTHING };
	if (metric->ns > 0 && ns >= 0 && ns < LONGEST_NS)
		return (struct report_cell){ .kind = REPORT_TIME, .count = (uint64_t)(ns + 0.5) };
	return (struct report_cell){ .kind = REPORT_NUMBER, .number = value };
}

void report_put_value(struct report_view *view, const struct cct_metric *metric, double value)
{
	put_cell(view, report_value_cell(metric, value));
}

const struct report_cell *report_cell_at(const struct report_view *view, size_t row, size_t column)
{
	return &view->cells.items[row * view->columns.count + column];
}

size_t report_find_column(const struct report_view *view, const char *name)
{
	size_t i;

	for (i = 0; i < view->columns.count; i++)
		if (!strcasecmp(view->columns.items[i].key, name))
			return i;
	for (i = 0; i < view->columns.count; i++)
		if (!strcasecmp(view->columns.items[i].title, name))
			return i;
	return SIZE_MAX;
}

/* A row on its way to another place. */
struct move {
	size_t row, parent; /* parent SIZE_MAX: none */
};

struct order {
	const struct report_view *view;
	size_t column;
};

static int compare_values(double a, double b)
{
	return a < b ? -1 : a > b;
}

static int compare_cells(const struct report_cell *a, const struct report_cell *b)
{
	if (a->kind == REPORT_NOTHING || b->kind == REPORT_NOTHING)
		return (a->kind != REPORT_NOTHING) - (b->kind != REPORT_NOTHING);
	if (a->kind == REPORT_TEXT && b->kind == REPORT_TEXT)
		return strcmp(a->text, b->text);
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->kind == REPORT_COUNT || a->kind == REPORT_ID || a->kind == REPORT_TIME)
		return a->count < b->count ? -1 : a->count > b->count;
	return compare_values(a->number, b->number);
}

static int compare_moves(const void *left, const void *right, void *user)
{
	const struct move *a = left, *b = right;
	const struct order *order = user;
	int result;

	if (a->parent != b->parent)
		return a->parent < b->parent ? -1 : 1;
	result = compare_cells(report_cell_at(order->view, a->row, order->column),
			       report_cell_at(order->view, b->row, order->column));
	if (!order->view->columns.items[order->column].ascending)
		result = -result;
	return result ? result : (a->row < b->row ? -1 : 1);
}

/* The row that each row is below, found by depths; false where memory failed. */
static bool find_parents(const struct report_view *view, struct move *moves)
{
	SONDE_VEC(size_t) path = { 0 };
	bool found = true;

	for (size_t i = 0; i < view->rows.count && found; i++) {
		size_t depth = view->tree ? view->rows.items[i].depth : 0, *place;

		if (path.count > depth)
			path.count = depth;
		moves[i] = (struct move){ .row = i,
					  .parent = path.count ? path.items[path.count - 1] :
								 SIZE_MAX };
		place = sonde_vec_push(&path);
		found = place != NULL;
		if (place)
			*place = i;
	}
	sonde_vec_release(&path);
	return found;
}

/* Puts the rows into the order of `order`, leaving out those that are not there. */
static bool rearrange(struct report_view *view, const size_t *order, size_t count)
{
	size_t width = view->columns.count;
	struct report_row *rows = malloc(count * sizeof(*rows) + 1);
	struct report_cell *cells = malloc(count * width * sizeof(*cells) + 1);

	if (!rows || !cells) {
		free(rows);
		free(cells);
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		rows[i] = view->rows.items[order[i]];
		memcpy(&cells[i * width], report_cell_at(view, order[i], 0),
		       width * sizeof(*cells));
	}
	free(view->rows.items);
	free(view->cells.items);
	view->rows.items = rows;
	view->rows.count = view->rows.capacity = count;
	view->cells.items = cells;
	view->cells.count = view->cells.capacity = count * width;
	return true;
}

/* Where the children of each row begin among the sorted moves; those at the top come last. */
static void find_children(const struct move *moves, size_t count, size_t *first)
{
	for (size_t i = 0; i <= count; i++)
		first[i] = SIZE_MAX;
	for (size_t i = count; i-- > 0;)
		first[moves[i].parent == SIZE_MAX ? count : moves[i].parent] = i;
}

/* Sorted moves as an order of rows in which each is followed by those below it. */
static bool list_preorder(const struct move *moves, size_t count, size_t *first, size_t *order)
{
	SONDE_VEC(size_t) path = { 0 }; /* the next move to take at each depth */
	size_t taken = 0, *place = sonde_vec_push(&path);

	find_children(moves, count, first);
	if (place)
		*place = first[count];
	while (place && path.count) {
		size_t *next = &path.items[path.count - 1], at = *next;

		if (at == SIZE_MAX) {
			path.count--;
			continue;
		}
		*next = at + 1 < count && moves[at + 1].parent == moves[at].parent ? at + 1 :
										     SIZE_MAX;
		order[taken++] = moves[at].row;
		place = sonde_vec_push(&path);
		if (place)
			*place = first[moves[at].row];
	}
	sonde_vec_release(&path);
	return place != NULL;
}

void report_sort(struct report_view *view, size_t column)
{
	struct order by = { .view = view, .column = column };
	size_t count = view->rows.count;
	struct move *moves = calloc(count + 1, sizeof(*moves));
	size_t *first = calloc(count + 1, sizeof(*first));
	size_t *order = calloc(count + 1, sizeof(*order));
	bool done = moves && first && order && !view->failed && find_parents(view, moves);

	if (done) {
		qsort_r(moves, count, sizeof(*moves), compare_moves, &by);
		done = list_preorder(moves, count, first, order) && rearrange(view, order, count);
	}
	if (!done)
		view->failed = true;
	free(moves);
	free(first);
	free(order);
}

static int compare_weights(const void *left, const void *right)
{
	return compare_values(*(const double *)right, *(const double *)left);
}

/* The weight that the last of `limit` rows has, and how many of that weight may stay. */
static double find_least(const struct report_view *view, size_t limit, double *weights,
			 size_t *equals)
{
	size_t count = view->rows.count, above = 0;
	double least;

	for (size_t i = 0; i < count; i++)
		weights[i] = view->rows.items[i].weight;
	qsort(weights, count, sizeof(*weights), compare_weights);
	least = weights[limit - 1];
	while (weights[above] > least)
		above++;
	*equals = limit - above;
	return least;
}

/* A row stays only where the one that it is below stays. */
static size_t choose_heaviest(const struct report_view *view, const struct move *moves,
			      double least, size_t equals, bool *stays, size_t *order)
{
	size_t kept = 0;

	for (size_t i = 0; i < view->rows.count; i++) {
		double weight = view->rows.items[i].weight;

		stays[i] = weight > least || (weight == least && equals);
		if (moves[i].parent != SIZE_MAX && !stays[moves[i].parent])
			stays[i] = false;
		if (!stays[i])
			continue;
		equals -= weight == least;
		order[kept++] = i;
	}
	return kept;
}

void report_limit(struct report_view *view, uint64_t limit)
{
	size_t count = view->rows.count, kept = (size_t)limit, equals;
	struct move *moves = NULL;
	double *weights = NULL, least;
	size_t *order = NULL;
	bool *stays = NULL, done;

	if (view->failed || !limit || limit >= count)
		return;
	moves = calloc(count, sizeof(*moves));
	weights = calloc(count, sizeof(*weights));
	order = calloc(count, sizeof(*order));
	stays = calloc(count, sizeof(*stays));
	done = moves && weights && order && stays && find_parents(view, moves);
	if (done && view->tree) {
		least = find_least(view, kept, weights, &equals);
		kept = choose_heaviest(view, moves, least, equals, stays, order);
	} else if (done) {
		for (size_t i = 0; i < kept; i++)
			order[i] = i;
	}
	if (done && rearrange(view, order, kept))
		view->left_out += count - kept;
	else
		view->failed = true;
	free(moves);
	free(weights);
	free(order);
	free(stays);
}

static void put_share(struct sonde_buffer *out, double share)
{
	if (share < 0 || share > 9.995)
		sonde_buffer_put_format(out, "%.0f%%", 100 * share);
	else
		sonde_buffer_put_format(out, "%.1f%%", 100 * share);
}

static void put_number(struct sonde_buffer *out, double number)
{
	if (fabs(number) < 1e15 && number == floor(number) && number >= 0)
		cli_put_count(out, (uint64_t)number);
	else if (fabs(number) >= 1e5 || (number != 0 && fabs(number) < 1e-3))
		sonde_buffer_put_format(out, "%.3e", number);
	else
		sonde_buffer_put_format(out, "%.*f", fabs(number) < 100 ? 3 : 1, number);
}

void report_put_cell(struct sonde_buffer *out, const struct report_cell *cell)
{
	switch (cell->kind) {
	case REPORT_TEXT:
		cli_put_escaped(out, cell->text);
		break;
	case REPORT_COUNT:
		cli_put_count(out, cell->count);
		break;
	case REPORT_ID:
		sonde_buffer_put_format(out, "%" PRIu64, cell->count);
		break;
	case REPORT_TIME:
		cli_put_duration(out, cell->count, " ");
		break;
	case REPORT_SHARE:
		put_share(out, cell->number);
		break;
	case REPORT_NUMBER:
		put_number(out, cell->number);
		break;
	default:
		break;
	}
}
