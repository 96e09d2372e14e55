/* SPDX-License-Identifier: Apache-2.0 */
/* The table of calling contexts: a recording's own, or those that its calls make. */
#include "query/query_tables.h"

#define LABEL_LONGEST 512

enum {
	CONTEXT_ID,
	CONTEXT_PARENT,
	CONTEXT_FUNCTION,
	CONTEXT_KIND,
	CONTEXT_RELATION,
	CONTEXT_FILE,
	CONTEXT_LINE,
	CONTEXT_NAME,
	CONTEXT_MODULE,
	CONTEXT_ADDRESS,
	CONTEXT_END,
	CONTEXT_COLUMNS,
};

static const struct query_column columns[] = {
	{ "contexts", "id", "INTEGER", "number of the context; 0 is the root" },
	{ "contexts", "parent", "INTEGER", "contexts.id of the one around it" },
	{ "contexts", "function", "INTEGER", "functions.id" },
	{ "contexts", "kind", "TEXT",
	  "'root', 'entry', 'function', 'loop', 'line' or 'instruction'" },
	{ "contexts", "relation", "TEXT", "to its parent: 'called', 'inlined' or 'enclosed'" },
	{ "contexts", "file", "TEXT", "source file" },
	{ "contexts", "line", "INTEGER", "line in the source file" },
	{ "contexts", "name", "TEXT", "what to call it: 'main', 'loop at a.c:12'" },
	{ "contexts", "module", "TEXT", "path of the program or library" },
	{ "contexts", "address", "INTEGER", "of a loop's head or an instruction" },
	{ "contexts", "subtree_end", "INTEGER",
	  "the first id after it and all below it: those are id .. subtree_end - 1" },
	{ 0 },
};

static const uint8_t pushes[CONTEXT_COLUMNS] = {
	[CONTEXT_ID] = QUERY_PUSH_RANGE,
	[CONTEXT_PARENT] = QUERY_PUSH_RANGE,
	[CONTEXT_FUNCTION] = QUERY_PUSH_SET,
};

struct cursor {
	struct query_cursor base;
	const struct sonde_context *contexts;
	uint64_t row, end;
	bool goes_by_children; /* of one context: from each to the one after its subtree */
};

static int64_t or_null(uint32_t id)
{
	return id == SONDE_NONE ? QUERY_NULL : id;
}

static void settle(struct cursor *cursor)
{
	const struct query_wish *wishes = cursor->base.wishes.columns;

	for (; cursor->row < cursor->end; cursor->row++) {
		const struct sonde_context *context = &cursor->contexts[cursor->row];

		if (query_wish_fits(&wishes[CONTEXT_PARENT], or_null(context->parent)) &&
		    query_wish_fits(&wishes[CONTEXT_FUNCTION], or_null(context->function)))
			return;
		if (cursor->goes_by_children && context->end > cursor->row)
			cursor->row = context->end - 1;
	}
	cursor->base.at_end = true;
}

/* Children of one context: the first is next to it. */
static void limit_to_children(struct cursor *cursor)
{
	const struct query_wish *parent = &cursor->base.wishes.columns[CONTEXT_PARENT];
	uint64_t number = (uint64_t)parent->low;

	cursor->goes_by_children = parent->low == parent->high && parent->low >= 0;
	if (!cursor->goes_by_children)
		return;
	if (number >= cursor->end) {
		cursor->end = 0;
		return;
	}
	if (cursor->contexts[number].end < cursor->end)
		cursor->end = cursor->contexts[number].end;
	if (cursor->row <= number)
		cursor->row = number + 1;
	else
		cursor->goes_by_children = false; /* somewhere in the middle */
}

static int start(struct query_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	const struct query_wish *id = &base->wishes.columns[CONTEXT_ID];
	const struct query_profile *profile;
	struct sonde_error err = { 0 };

	if (query_profile_get(base->source, &profile, &err))
		return query_fail(base->base.pVtab, &err);
	cursor->contexts = profile->contexts;
	cursor->row = id->low > 0 ? (uint64_t)id->low : 0;
	cursor->end = profile->context_count;
	limit_to_children(cursor);
	if (id->high < (int64_t)cursor->end)
		cursor->end = id->high < 0 ? 0 : (uint64_t)id->high + 1;
	settle(cursor);
	return SQLITE_OK;
}

static void release(struct query_cursor *base)
{
	(void)base;
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	uint64_t after = cursor->contexts[cursor->row].end;

	cursor->row = cursor->goes_by_children && after > cursor->row ? after : cursor->row + 1;
	settle(cursor);
	return SQLITE_OK;
}

/* What a context says itself, or else its function. */
static void result_place(sqlite3_context *result, const struct query_recording *source,
			 const struct sonde_context *context, int number)
{
	const struct sonde_function *function =
		sonde_definitions_function(source->definitions, context->function);
	uint32_t file = context->file, line = context->line, id = context->module;
	const struct sonde_module *module;

	if (function && !file) {
		file = function->file;
		line = function->line;
	}
	if (function && id == SONDE_NONE)
		id = function->module;
	module = sonde_definitions_module(source->definitions, id);
	if (number == CONTEXT_FILE)
		query_result_string(result, source->definitions, file);
	else if (number == CONTEXT_LINE && line)
		sqlite3_result_int64(result, line);
	else if (number == CONTEXT_MODULE && module)
		query_result_string(result, source->definitions, module->path);
}

static void result_name(sqlite3_context *result, const struct query_recording *source,
			const struct sonde_context *context)
{
	const struct sonde_function *function =
		context->kind == SONDE_CONTEXT_FUNCTION ?
			sonde_definitions_function(source->definitions, context->function) :
			NULL;
	char space[LABEL_LONGEST];
	const char *label;

	/* names may be longer than a label */
	if (function && function->name) {
		query_result_string(result, source->definitions, function->name);
		return;
	}
	label = sonde_context_label(source->definitions, context, space, sizeof(space));
	sqlite3_result_text(result, label, -1, SQLITE_TRANSIENT);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *result, int number)
{
	const struct cursor *cursor = (const struct cursor *)base;
	const struct sonde_context *context = &cursor->contexts[cursor->row];

	switch (number) {
	case CONTEXT_ID:
		sqlite3_result_int64(result, (sqlite3_int64)cursor->row);
		break;
	case CONTEXT_PARENT:
		query_result_id(result, context->parent);
		break;
	case CONTEXT_FUNCTION:
		query_result_id(result, context->function);
		break;
	case CONTEXT_KIND:
		sqlite3_result_text(result, sonde_context_kind_name(context->kind), -1,
				    SQLITE_STATIC);
		break;
	case CONTEXT_RELATION:
		if (cursor->row)
			sqlite3_result_text(result, sonde_context_relation_name(context->relation),
					    -1, SQLITE_STATIC);
		break;
	case CONTEXT_NAME:
		result_name(result, cursor->base.source, context);
		break;
	case CONTEXT_ADDRESS:
		if (context->address)
			sqlite3_result_int64(result, (sqlite3_int64)context->address);
		break;
	case CONTEXT_END:
		sqlite3_result_int64(result, context->end);
		break;
	default:
		result_place(result, cursor->base.source, context, number);
	}
	return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
	*id = (sqlite3_int64)((const struct cursor *)base)->row;
	return SQLITE_OK;
}

/* How many there are is not asked: it may take a pass over all events. */
#define USUAL_CONTEXTS 100000

static void plan(struct query_plan *plan)
{
	static const int by_id[] = { CONTEXT_ID }, by_row[] = { -1 };
	double count = plan->source->profile ? plan->source->profile->context_count :
					       USUAL_CONTEXTS;

	plan->rows = plan->cost = count;
	if (plan->equals & QUERY_BIT(CONTEXT_ID)) {
		plan->unique = true;
		plan->rows = 1;
		plan->cost = 3;
	} else if (plan->equals & QUERY_BIT(CONTEXT_PARENT)) {
		plan->rows = 4;
		plan->cost = 8;
	} else if (plan->ranges & QUERY_BIT(CONTEXT_ID)) {
		plan->rows = plan->cost = count / 4;
	}
	if (plan->equals & QUERY_BIT(CONTEXT_FUNCTION))
		plan->rows /= 20;
	plan->order_consumed = query_wants_order(plan->info, by_id, 1) ||
			       query_wants_order(plan->info, by_row, 1);
}

const struct query_table query_table_contexts = {
	.name = "contexts",
	.id_column = CONTEXT_ID,
	.row_id = row_id,
	QUERY_TABLE_PARTS,
};
