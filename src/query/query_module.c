/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module of SQLite behind every table: connecting a table of a schema with its recording, plans,
 * and the life of cursors. What differs is in struct query_table.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "query/query_wishes.h"

struct table {
	sqlite3_vtab base;
	const struct query_table *table;
	struct query_recording *source;
};

/* What SQLite keeps of a module. */
struct module {
	sqlite3_module methods;
	const struct query_table *table;
	struct query *query;
};

const struct query_table *query_table_at(size_t index)
{
	static const struct query_table *const tables[] = {
		&query_table_events,   &query_table_spans, &query_table_samples,
		&query_table_contexts, &query_table_vals,  &query_table_details,
		&query_table_args,
	};
	size_t count = sizeof(tables) / sizeof(tables[0]);

	return index < count ? tables[index] : query_list_table_at(index - count);
}

const struct query_column *query_column_at(size_t index)
{
	const struct query_table *table;

	for (size_t i = 0; (table = query_table_at(i)); i++) {
		for (const struct query_column *column = table->columns; column->table; column++) {
			if (!index--)
				return column;
		}
	}
	return NULL;
}

/* The schemas of attached databases; "main" is the first recording. */
static struct query_recording *find_source(struct query *query, const char *schema)
{
	for (size_t i = 0; i < query->count; i++) {
		if (!sqlite3_stricmp(query->recordings[i].schema, schema))
			return &query->recordings[i];
	}
	return &query->recordings[0];
}

static int declare(sqlite3 *connection, const struct query_table *table)
{
	struct sonde_buffer text = { 0 };
	int code = SQLITE_NOMEM;

	sonde_buffer_put_text(&text, "CREATE TABLE x(");
	for (const struct query_column *column = table->columns; column->table; column++)
		sonde_buffer_put_format(&text, "%s%s %s", column == table->columns ? "" : ", ",
					column->column, column->type);
	sonde_buffer_put_char(&text, ')');
	if (sonde_buffer_text(&text))
		code = sqlite3_declare_vtab(connection, sonde_buffer_text(&text));
	sonde_buffer_release(&text);
	return code;
}

static int connect_table(sqlite3 *connection, void *data, int count, const char *const *words,
			 sqlite3_vtab **vtab, char **message)
{
	const struct module *module = data;
	struct table *made;
	int code;

	(void)count;
	(void)message;
	code = declare(connection, module->table);
	if (code != SQLITE_OK)
		return code;
	sqlite3_vtab_config(connection, SQLITE_VTAB_INNOCUOUS);
	made = sqlite3_malloc64(sizeof(*made));
	if (!made)
		return SQLITE_NOMEM;
	*made = (struct table){
		.table = module->table,
		.source = find_source(module->query, words[1]),
	};
	*vtab = &made->base;
	return SQLITE_OK;
}

/* Not the same function as connect_table(): a module with one for both is a table of its own as well. */
static int create_table(sqlite3 *connection, void *data, int count, const char *const *words,
			sqlite3_vtab **vtab, char **message)
{
	return connect_table(connection, data, count, words, vtab, message);
}

static int disconnect_table(sqlite3_vtab *vtab)
{
	sqlite3_free(vtab);
	return SQLITE_OK;
}

static int make_plan(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	const struct table *table = (const struct table *)vtab;
	struct query_plan plan = {
		.table = table->table,
		.source = table->source,
		.info = info,
	};
	int code = query_wishes_plan(table->table, &plan, info);

	if (code != SQLITE_OK)
		return code;
	table->table->plan(&plan);
	info->estimatedCost = plan.cost < 1 ? 1 : plan.cost;
	info->estimatedRows = plan.rows < 1 ? 1 : (sqlite3_int64)plan.rows;
	info->orderByConsumed = plan.order_consumed;
	if (plan.unique)
		info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
	/* which columns are looked at, and above these bits the order */
	info->idxNum = (int)(info->colUsed & ((1U << QUERY_COLUMNS_MOST) - 1)) |
		       (int)plan.order << QUERY_COLUMNS_MOST;
	return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
	const struct table *table = (const struct table *)vtab;
	struct query_cursor *made = calloc(1, table->table->cursor_size);

	if (!made)
		return SQLITE_NOMEM;
	made->table = table->table;
	made->source = table->source;
	query_wishes_init(&made->wishes);
	*cursor = &made->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
	struct query_cursor *cursor = (struct query_cursor *)base;

	cursor->table->release(cursor);
	query_wishes_release(&cursor->wishes);
	free(cursor);
	return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *letters, int count,
		  sqlite3_value **values)
{
	struct query_cursor *cursor = (struct query_cursor *)base;
	int code = query_wishes_read(&cursor->wishes, cursor->table, letters, count, values);

	if (code != SQLITE_OK)
		return code;
	cursor->used = (uint32_t)number & ((1U << QUERY_COLUMNS_MOST) - 1);
	cursor->order = (enum query_order)(number >> QUERY_COLUMNS_MOST);
	cursor->at_end = cursor->wishes.nothing;
	cursor->number = 0;
	return cursor->at_end ? SQLITE_OK : cursor->table->start(cursor);
}

static int is_at_end(sqlite3_vtab_cursor *cursor)
{
	return ((const struct query_cursor *)cursor)->at_end;
}

int query_row_number(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
	*id = ((const struct query_cursor *)cursor)->number;
	return SQLITE_OK;
}

static int add_module(struct query *query, const struct query_table *table)
{
	struct module *module = malloc(sizeof(*module));

	if (!module)
		return SQLITE_NOMEM;
	*module = (struct module){
		.methods = {
			.xCreate = create_table,
			.xConnect = connect_table,
			.xBestIndex = make_plan,
			.xDisconnect = disconnect_table,
			.xDestroy = disconnect_table,
			.xOpen = open_cursor,
			.xClose = close_cursor,
			.xFilter = filter,
			.xNext = table->next,
			.xEof = is_at_end,
			.xColumn = table->column,
			.xRowid = table->row_id,
		},
		.table = table,
		.query = query,
	};
	/* frees the module, also where it fails */
	return sqlite3_create_module_v2(query->connection, table->name, &module->methods, module,
					free);
}

int query_add_tables(struct query *query)
{
	const struct query_table *table;
	int code = SQLITE_OK;

	for (size_t i = 0; code == SQLITE_OK && (table = query_table_at(i)); i++)
		code = add_module(query, table);
	return code;
}

int query_fail(sqlite3_vtab *vtab, const struct sonde_error *err)
{
	struct table *table = (struct table *)vtab;
	struct query *query = table->source->query;
	char text[1024];

	if (query->interruption)
		return SQLITE_INTERRUPT;
	query->failed = true;
	query->error = *err;
	sonde_error_set_file(&query->error, sonde_recording_path(table->source->recording));
	sonde_error_format(&query->error, text, sizeof(text));
	sqlite3_free(vtab->zErrMsg);
	vtab->zErrMsg = sqlite3_mprintf("%s", text);
	return err->status == SONDE_NOMEM ? SQLITE_NOMEM : SQLITE_ERROR;
}

int query_outcome(struct query_cursor *cursor, enum sonde_status status,
		  const struct sonde_error *err)
{
	return status ? query_fail(cursor->base.pVtab, err) : SQLITE_OK;
}

void query_result_buffer(sqlite3_context *context, const struct sonde_buffer *text)
{
	if (text->failed)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_text64(context, text->data ? text->data : "", text->size,
				      SQLITE_TRANSIENT, SQLITE_UTF8);
}

void query_result_string(sqlite3_context *context, const struct sonde_definitions *definitions,
			 uint32_t string)
{
	const char *text = sonde_definitions_string(definitions, string);

	if (*text)
		sqlite3_result_text(context, text, -1, SQLITE_STATIC);
	else
		sqlite3_result_null(context);
}
