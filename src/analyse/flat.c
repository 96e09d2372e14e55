/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over the tree in the order of its numbers, with the open contexts on a stack. A row's total
 * grows where none of the contexts above is in the same row, so recursion counts once, whatever the rows are.
 */
#include "analyse/flat.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyse/derive.h"
#include "base/map.h"

#define NO_ROW UINT32_MAX

/* What a context is filed under: two numbers that are the same for all that are in one row. */
struct place {
	uint32_t key, line;
	uint32_t tag;	     /* tells places apart that have neither */
	bool is_instruction; /* of no known function: told apart by module and address */
};

enum belongs {
	BELONGS_NOWHERE, /* to what is not known, if it has a value of its own */
	BELONGS_ABOVE,	 /* to the row of its parent */
	BELONGS_ITSELF,
};

struct open_context {
	uint32_t end, row;
};

struct maker {
	const struct cct *cct;
	uint32_t metric;
	bool all; /* sums of all metrics are made */
	enum flat_key key;
	bool has_lines;
	struct flat *flat;
	struct sonde_key_map rows;	   /* of (key, line or tag) */
	struct sonde_key_map addresses;	   /* each gets a number, */
	struct sonde_key_map instructions; /* rows of (module, number of the address) */
	uint32_t address_count;
	SONDE_VEC(struct open_context) path;
	SONDE_VEC(uint32_t) open_counts; /* by row: how many contexts on the path are in it */
};

static bool has_own_value(const struct maker *maker, uint32_t context)
{
	const struct cct *cct = maker->cct;

	for (uint32_t i = 0; maker->all && i < cct->metric_count; i++) {
		if (!cct->metrics[i].formula && cct->metrics[i].self[context] != 0)
			return true;
	}
	return cct->metrics[maker->metric].self[context] != 0;
}

static const struct sonde_function *function_of(const struct maker *maker,
						const struct sonde_context *context)
{
	return sonde_definitions_function(maker->cct->definitions, context->function);
}

static enum belongs function_place(const struct maker *maker, uint32_t number, struct place *place)
{
	const struct sonde_context *context = &maker->cct->contexts[number];

	*place = (struct place){ .key = SONDE_NONE };
	switch (context->kind) {
	case SONDE_CONTEXT_FUNCTION:
		place->key = context->function;
		return BELONGS_ITSELF;
	case SONDE_CONTEXT_ROOT:
	case SONDE_CONTEXT_ENTRY:
		/* what is below is told by functions */
		place->tag = context->name + 1;
		return has_own_value(maker, number) ? BELONGS_ITSELF : BELONGS_NOWHERE;
	case SONDE_CONTEXT_INSTRUCTION:
		place->is_instruction = true;
		return context->relation == SONDE_CONTEXT_ENCLOSED ? BELONGS_ABOVE : BELONGS_ITSELF;
	default:
		return BELONGS_ABOVE;
	}
}

static enum belongs module_place(const struct maker *maker, uint32_t number, struct place *place)
{
	const struct sonde_context *context = &maker->cct->contexts[number];
	const struct sonde_function *function = function_of(maker, context);

	*place = (struct place){ .key = context->module };
	switch (context->kind) {
	case SONDE_CONTEXT_FUNCTION:
		if (function && function->module != SONDE_NONE)
			place->key = function->module;
		return BELONGS_ITSELF;
	case SONDE_CONTEXT_ROOT:
	case SONDE_CONTEXT_ENTRY:
		return BELONGS_NOWHERE;
	case SONDE_CONTEXT_INSTRUCTION:
		return context->module == SONDE_NONE ? BELONGS_ABOVE : BELONGS_ITSELF;
	default:
		return BELONGS_ABOVE;
	}
}

static enum belongs file_place(const struct maker *maker, uint32_t number, struct place *place)
{
	const struct sonde_context *context = &maker->cct->contexts[number];
	const struct sonde_function *function = function_of(maker, context);

	*place = (struct place){ .key = context->file };
	switch (context->kind) {
	case SONDE_CONTEXT_FUNCTION:
		if (function && function->file)
			place->key = function->file;
		return BELONGS_ITSELF;
	case SONDE_CONTEXT_LOOP:
	case SONDE_CONTEXT_LINE:
		return context->file ? BELONGS_ITSELF : BELONGS_ABOVE;
	case SONDE_CONTEXT_INSTRUCTION:
		return BELONGS_ABOVE;
	default:
		return BELONGS_NOWHERE;
	}
}

static enum belongs line_place(const struct maker *maker, uint32_t number, struct place *place)
{
	const struct sonde_context *context = &maker->cct->contexts[number];
	const struct sonde_function *function = function_of(maker, context);

	*place = (struct place){ .key = context->file, .line = context->line };
	switch (context->kind) {
	case SONDE_CONTEXT_FUNCTION:
		/* Where there are lines, that of a function's beginning is not where its time went. */
		if (maker->has_lines && !has_own_value(maker, number))
			return BELONGS_NOWHERE;
		*place = (struct place){ .key = function ? function->file : 0,
					 .line = function && function->file ? function->line : 0 };
		return BELONGS_ITSELF;
	case SONDE_CONTEXT_LINE:
		place->line = context->file ? context->line : 0;
		return BELONGS_ITSELF;
	case SONDE_CONTEXT_LOOP:
		return has_own_value(maker, number) ? BELONGS_ITSELF : BELONGS_NOWHERE;
	case SONDE_CONTEXT_INSTRUCTION:
		return BELONGS_ABOVE;
	default:
		return BELONGS_NOWHERE;
	}
}

static enum belongs loop_place(const struct maker *maker, uint32_t number, struct place *place)
{
	const struct sonde_context *context = &maker->cct->contexts[number];

	*place = (struct place){ .key = context->file, .line = context->file ? context->line : 0 };
	switch (context->kind) {
	case SONDE_CONTEXT_LOOP:
		return BELONGS_ITSELF;
	case SONDE_CONTEXT_LINE:
	case SONDE_CONTEXT_INSTRUCTION:
		return BELONGS_ABOVE;
	default:
		return BELONGS_NOWHERE;
	}
}

typedef enum belongs place_of(const struct maker *maker, uint32_t number, struct place *place);

static place_of *const places[] = {
	[FLAT_FUNCTION] = function_place, [FLAT_MODULE] = module_place, [FLAT_FILE] = file_place,
	[FLAT_LINE] = line_place,	  [FLAT_LOOP] = loop_place,
};

static struct place unknown_place(const struct maker *maker)
{
	bool is_text = maker->key != FLAT_FUNCTION && maker->key != FLAT_MODULE;

	return (struct place){ .key = is_text ? 0 : SONDE_NONE };
}

/* The number of an address; NO_ROW where memory failed. */
static uint32_t address_number(struct maker *maker, uint64_t address)
{
	uint32_t number = sonde_key_map_find(&maker->addresses, address);

	if (number != UINT32_MAX)
		return number;
	if (!sonde_key_map_add(&maker->addresses, address, maker->address_count))
		return NO_ROW;
	return maker->address_count++;
}

static uint32_t add_row(struct maker *maker, struct sonde_key_map *map, uint64_t identity,
			const struct place *place, uint32_t context)
{
	uint32_t number = (uint32_t)maker->flat->rows.count;
	size_t sum_count = maker->all ? (size_t)maker->flat->metric_count * 2 : 0;
	uint32_t *open_count = sonde_vec_push(&maker->open_counts);
	struct flat_row *row = sonde_vec_push(&maker->flat->rows);

	if (!open_count || !row || !sonde_key_map_add(map, identity, number) ||
	    !sonde_vec_reserve(&maker->flat->sums, sum_count))
		return NO_ROW;
	*open_count = 0;
	for (size_t i = 0; i < sum_count; i++)
		maker->flat->sums.items[maker->flat->sums.count++] = 0;
	*row = (struct flat_row){
		.key = place->key, .line = place->line, .context = context, .number = number
	};
	return number;
}

/* The row of a place, made where it is new; NO_ROW where memory failed. */
static uint32_t row_of(struct maker *maker, const struct place *place, uint32_t context)
{
	const struct sonde_context *instruction = &maker->cct->contexts[context];
	struct sonde_key_map *map = &maker->rows;
	uint64_t identity = (uint64_t)place->key << 32 | (place->tag ? place->tag : place->line);
	uint32_t row;

	if (place->is_instruction) {
		uint32_t address = address_number(maker, instruction->address);

		if (address == NO_ROW)
			return NO_ROW;
		map = &maker->instructions;
		identity = (uint64_t)instruction->module << 32 | address;
	}
	row = sonde_key_map_find(map, identity);
	return row == UINT32_MAX ? add_row(maker, map, identity, place, context) : row;
}

/* False where memory failed; the row may be NO_ROW all the same: nothing to be filed. */
static bool find_row(struct maker *maker, uint32_t context, uint32_t row_above, uint32_t *row)
{
	struct place place = { 0 };
	enum belongs belongs = places[maker->key](maker, context, &place);

	*row = row_above;
	if (belongs == BELONGS_ABOVE && row_above != NO_ROW)
		return true;
	*row = NO_ROW;
	if (belongs != BELONGS_ITSELF && !place.is_instruction) {
		if (maker->key == FLAT_LOOP || !has_own_value(maker, context))
			return true;
		place = unknown_place(maker);
	}
	*row = row_of(maker, &place, context);
	return *row != NO_ROW;
}

static void add_calls(struct cct_calls *sum, const struct cct_calls *calls)
{
	if (!calls->count)
		return;
	if (!sum->count || calls->min_ns < sum->min_ns)
		sum->min_ns = calls->min_ns;
	if (calls->max_ns > sum->max_ns)
		sum->max_ns = calls->max_ns;
	sum->count += calls->count;
	sum->exceptions += calls->exceptions;
	sum->unfinished += calls->unfinished;
	sum->sum_ns += calls->sum_ns;
	sum->squares += calls->squares;
}

/*
 * Times of calls are whole nanoseconds: added up as such nothing is rounded. They are divided by this again
 * when all are added.
 */
static double unit_of(const struct cct *cct, const struct cct_metric *metric)
{
	return cct->calls && !metric->formula && metric->ns > 0 ? metric->ns : 0;
}

static void add_value(double *sum, double value, double unit)
{
	*sum += unit > 0 ? rint(value * unit) : value;
}

/* Self of all metrics, then total of all. */
static double *sums_of(const struct flat *flat, uint32_t number)
{
	return flat->sums.items + (size_t)number * 2 * flat->metric_count;
}

static void add_all(struct maker *maker, uint32_t context, uint32_t number, bool outermost)
{
	const struct cct *cct = maker->cct;
	double *self = sums_of(maker->flat, number), *total = self + cct->metric_count;

	for (uint32_t i = 0; i < cct->metric_count; i++) {
		const struct cct_metric *metric = &cct->metrics[i];
		double unit = unit_of(cct, metric);

		if (metric->formula)
			continue;
		add_value(&self[i], metric->self[context], unit);
		if (outermost)
			add_value(&total[i], metric->total[context], unit);
	}
}

static void add_context(struct maker *maker, uint32_t context, uint32_t number)
{
	const struct cct_metric *metric = &maker->cct->metrics[maker->metric];
	struct flat_row *row = &maker->flat->rows.items[number];
	bool outermost = !maker->open_counts.items[number];
	double unit = unit_of(maker->cct, metric);

	if (maker->cct->calls)
		add_calls(&row->calls, &maker->cct->calls[context]);
	if (maker->all) {
		add_all(maker, context, number, outermost);
		return;
	}
	add_value(&row->self, metric->self[context], unit);
	if (outermost)
		add_value(&row->total, metric->total[context], unit);
}

static void finish_sums(const struct maker *maker, struct flat_row *row)
{
	const struct cct *cct = maker->cct;
	double *self = sums_of(maker->flat, row->number), *total = self + cct->metric_count;

	for (uint32_t i = 0; i < cct->metric_count; i++) {
		double unit = unit_of(cct, &cct->metrics[i]);

		self[i] /= unit > 0 ? unit : 1;
		total[i] /= unit > 0 ? unit : 1;
	}
	cct_derive_sums(cct, self, total);
	row->self = self[maker->metric];
	row->total = total[maker->metric];
}

static void finish_rows(const struct maker *maker)
{
	double unit = unit_of(maker->cct, &maker->cct->metrics[maker->metric]);

	for (size_t i = 0; i < maker->flat->rows.count; i++) {
		struct flat_row *row = &maker->flat->rows.items[i];

		if (maker->all) {
			finish_sums(maker, row);
		} else if (unit > 0) {
			row->self /= unit;
			row->total /= unit;
		}
	}
}

static bool open_context(struct maker *maker, uint32_t context, uint32_t row)
{
	struct open_context *open = sonde_vec_push(&maker->path);

	if (!open)
		return false;
	*open = (struct open_context){ .end = maker->cct->contexts[context].end, .row = row };
	if (row != NO_ROW)
		maker->open_counts.items[row]++;
	return true;
}

/* Takes contexts off the path that end before this one; the row of the one it is in. */
static uint32_t close_ended(struct maker *maker, uint32_t context)
{
	while (maker->path.count) {
		struct open_context *last = &maker->path.items[maker->path.count - 1];

		if (context < last->end)
			return last->row;
		if (last->row != NO_ROW)
			maker->open_counts.items[last->row]--;
		maker->path.count--;
	}
	return NO_ROW;
}

static bool walk(struct maker *maker)
{
	uint32_t row;

	for (uint32_t context = 0; context < maker->cct->context_count; context++) {
		if (!find_row(maker, context, close_ended(maker, context), &row))
			return false;
		maker->flat->places[context] = row;
		if (row != NO_ROW)
			add_context(maker, context, row);
		if (!open_context(maker, context, row))
			return false;
	}
	return true;
}

static int compare_rows(const void *left, const void *right)
{
	const struct flat_row *a = left, *b = right;

	/* what is no number (of a derived metric) is less than any */
	if (isnan(a->total) || isnan(b->total)) {
		if (!isnan(a->total) || !isnan(b->total))
			return isnan(a->total) ? 1 : -1;
	} else if (a->total != b->total) {
		return a->total < b->total ? 1 : -1;
	}
	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->context < b->context ? -1 : a->context > b->context;
}

static bool tree_has_lines(const struct cct *cct)
{
	for (uint32_t i = 0; i < cct->context_count; i++)
		if (cct->contexts[i].kind == SONDE_CONTEXT_LINE)
			return true;
	return false;
}

static enum sonde_status make(struct flat *flat, const struct cct *cct, enum flat_key key,
			      uint32_t metric, bool all, struct sonde_error *err)
{
	struct maker maker = { .cct = cct, .key = key, .flat = flat, .metric = metric, .all = all };
	bool made;

	*flat = (struct flat){ .metric_count = cct->metric_count };
	if (metric >= cct->metric_count)
		return cct->metric_count ? sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
						      "there is no metric %" PRIu32, metric) :
					   SONDE_OK;
	if (cct->metrics[metric].formula)
		maker.all = true;
	maker.has_lines = key == FLAT_LINE && tree_has_lines(cct);
	flat->places = calloc((size_t)cct->context_count + 1, sizeof(*flat->places));
	made = flat->places && walk(&maker);
	sonde_key_map_release(&maker.rows);
	sonde_key_map_release(&maker.addresses);
	sonde_key_map_release(&maker.instructions);
	sonde_vec_release(&maker.path);
	sonde_vec_release(&maker.open_counts);
	if (!made) {
		flat_release(flat);
		return sonde_fail_nomem(err);
	}
	finish_rows(&maker);
	if (flat->rows.count)
		qsort(flat->rows.items, flat->rows.count, sizeof(*flat->rows.items), compare_rows);
	return SONDE_OK;
}

enum sonde_status flat_make(struct flat *flat, const struct cct *cct, enum flat_key key,
			    uint32_t metric, struct sonde_error *err)
{
	return make(flat, cct, key, metric, false, err);
}

enum sonde_status flat_make_all(struct flat *flat, const struct cct *cct, enum flat_key key,
				uint32_t metric, struct sonde_error *err)
{
	return make(flat, cct, key, metric, true, err);
}

double flat_self(const struct flat *flat, const struct flat_row *row, uint32_t metric)
{
	return sums_of(flat, row->number)[metric];
}

double flat_total(const struct flat *flat, const struct flat_row *row, uint32_t metric)
{
	return sums_of(flat, row->number)[flat->metric_count + metric];
}

void flat_release(struct flat *flat)
{
	sonde_vec_release(&flat->rows);
	sonde_vec_release(&flat->sums);
	free(flat->places);
	flat->places = NULL;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static const char *function_label(const struct cct *cct, const struct flat_row *row, char *space,
				  size_t size)
{
	char label[SONDE_LABEL_SIZE];

	if (row->key != SONDE_NONE)
		snprintf(space, size, "%s",
			 sonde_definitions_function_label(cct->definitions, row->key, label));
	else if (cct->contexts[row->context].kind == SONDE_CONTEXT_ROOT)
		snprintf(space, size, "<outside of functions>");
	else
		return sonde_context_label(cct->definitions, &cct->contexts[row->context], space,
					   size);
	return space;
}

static const char *file_label(const struct cct *cct, enum flat_key key, const struct flat_row *row,
			      char *space, size_t size)
{
	const char *file = sonde_definitions_string(cct->definitions, row->key);

	if (!*file)
		snprintf(space, size, "<unknown %s>",
			 key == FLAT_LOOP ? "loop" :
			 key == FLAT_LINE ? "line" :
					    "file");
	else if (key == FLAT_FILE)
		snprintf(space, size, "%s", file);
	else
		snprintf(space, size, "%s%s:%" PRIu32, key == FLAT_LOOP ? "loop at " : "",
			 base_name(file), row->line);
	return space;
}

const char *flat_label(const struct cct *cct, enum flat_key key, const struct flat_row *row,
		       char *space, size_t size)
{
	const struct sonde_module *module;
	const char *path;

	if (!size)
		return "";
	if (key == FLAT_FUNCTION)
		return function_label(cct, row, space, size);
	if (key != FLAT_MODULE)
		return file_label(cct, key, row, space, size);
	module = sonde_definitions_module(cct->definitions, row->key);
	path = module ? sonde_definitions_string(cct->definitions, module->path) : "";
	snprintf(space, size, "%s", *path ? base_name(path) : "<unknown module>");
	return space;
}
