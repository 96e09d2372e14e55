/* SPDX-License-Identifier: Apache-2.0 */
/* The table of arguments: a row for each typed argument of a detail. */
#include "model/arguments.h"
#include "query/detail_walk.h"

enum {
	ARGUMENT_DETAIL,
	ARGUMENT_POSITION,
	ARGUMENT_NAME,
	ARGUMENT_TYPE,
	ARGUMENT_VALUE,
	ARGUMENT_TRACK,
	ARGUMENT_EVENT,
	ARGUMENT_EVENT_TYPE,
	ARGUMENT_FAULT,
	ARGUMENT_COLUMNS,
};

static const struct query_column columns[] = {
	{ "args", "detail", "INTEGER", "details.id" },
	{ "args", "position", "INTEGER", "which argument, from 0" },
	{ "args", "name", "TEXT", "its name" },
	{ "args", "type", "TEXT", "'uint32', 'utf8', 'float64[]' ..." },
	{ "args", "value", "", "a number or text; arrays as JSON text" },
	{ "args", "track", "INTEGER", "tracks.id" },
	{ "args", "event", "INTEGER", "events.id of the event that it is of" },
	{ "args", "event_type", "INTEGER", "event_types.id" },
	{ "args", "fault", "TEXT", "why this one and those behind it could not be read" },
	{ 0 },
};

static const uint8_t pushes[ARGUMENT_COLUMNS] = {
	[ARGUMENT_DETAIL] = QUERY_PUSH_RANGE,
	[ARGUMENT_NAME] = QUERY_PUSH_TEXT,
	[ARGUMENT_TRACK] = QUERY_PUSH_SET,
	[ARGUMENT_EVENT_TYPE] = QUERY_PUSH_SET,
};

struct cursor {
	struct query_cursor base;
	struct detail_walk walk;
	bool in_detail;			  /* `arguments` goes through one */
	struct sonde_arguments arguments; /* behind the present one */
	struct sonde_argument argument;
	struct sonde_error fault; /* status SONDE_OK: it could be read */
	struct sonde_buffer text;
};

/* Begins with the present detail, where it is one with arguments that are wanted. */
static void begin_detail(struct cursor *cursor)
{
	const struct sonde_detail *detail = &cursor->walk.detail;
	const struct query_wish *types = &cursor->base.wishes.columns[ARGUMENT_EVENT_TYPE];

	cursor->in_detail = false;
	cursor->fault.status = SONDE_OK;
	if (cursor->walk.fault.status || detail->kind != SONDE_DETAIL_ARGUMENTS ||
	    !query_wish_fits(types, detail->event_type))
		return;
	cursor->in_detail = true;
	cursor->arguments = (struct sonde_arguments){
		.signature = detail_walk_signature(&cursor->walk, &cursor->fault),
		.bytes = detail->bytes,
		.size = detail->size,
	};
}

/* The next argument of the detail; false where it has no more. One that cannot be read is the last. */
static bool take_argument(struct cursor *cursor)
{
	enum sonde_status status;

	if (!cursor->in_detail)
		return false;
	cursor->argument.spec = NULL;
	if (!cursor->arguments.signature) {
		cursor->in_detail = false;
		return true;
	}
	status = sonde_arguments_next(&cursor->arguments, &cursor->argument, &cursor->fault);
	if (!status)
		return true;
	cursor->in_detail = false;
	cursor->argument.spec = NULL;
	return status != SONDE_END;
}

static bool is_wanted(const struct cursor *cursor)
{
	return query_wish_fits_text(&cursor->base.wishes.columns[ARGUMENT_NAME],
				    cursor->argument.spec ? cursor->argument.spec->name : NULL);
}

/* From the present detail on: the next argument that is wanted. */
static int settle(struct cursor *cursor, enum sonde_status status, struct sonde_error *err)
{
	while (!status && !cursor->walk.is_over) {
		while (take_argument(cursor)) {
			if (is_wanted(cursor))
				return SQLITE_OK;
		}
		status = detail_walk_next(&cursor->walk, err);
		if (!status && !cursor->walk.is_over)
			begin_detail(cursor);
	}
	cursor->base.at_end = true;
	return query_outcome(&cursor->base, status, err);
}

static int start(struct query_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	struct sonde_error err = { 0 };
	enum sonde_status status = detail_walk_start(&cursor->walk, base->source,
						     &base->wishes.columns[ARGUMENT_TRACK],
						     &base->wishes.columns[ARGUMENT_DETAIL], &err);

	cursor->in_detail = false;
	if (!status && !cursor->walk.is_over)
		begin_detail(cursor);
	return settle(cursor, status, &err);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct sonde_error err = { 0 };

	((struct query_cursor *)base)->number++;
	return settle((struct cursor *)base, SONDE_OK, &err);
}

static void release(struct query_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	detail_walk_release(&cursor->walk);
	sonde_buffer_release(&cursor->text);
}

/* --- values --- */

static void result_as_json(struct cursor *cursor, sqlite3_context *context)
{
	struct sonde_json_writer json;

	sonde_buffer_clear(&cursor->text);
	sonde_json_writer_init(&json, &cursor->text, false);
	sonde_argument_put_json(&json, &cursor->argument);
	query_result_buffer(context, &cursor->text);
}

/* A character as text. */
static void result_character(sqlite3_context *context, uint64_t code)
{
	unsigned char text[3];
	int size = 0;

	if (code < 0x80) {
		text[size++] = (unsigned char)code;
	} else if (code < 0x800) {
		text[size++] = (unsigned char)(0xc0 | code >> 6);
		text[size++] = (unsigned char)(0x80 | (code & 0x3f));
	} else {
		text[size++] = (unsigned char)(0xe0 | code >> 12);
		text[size++] = (unsigned char)(0x80 | (code >> 6 & 0x3f));
		text[size++] = (unsigned char)(0x80 | (code & 0x3f));
	}
	sqlite3_result_text(context, (const char *)text, size, SQLITE_TRANSIENT);
}

static void result_value(struct cursor *cursor, sqlite3_context *context)
{
	const struct sonde_argument *argument = &cursor->argument;
	enum sonde_argument_type type = argument->spec->type;

	if (argument->is_null)
		return;
	/* those beyond SQLite's integers with all their digits */
	if (argument->spec->is_array ||
	    (type == SONDE_ARGUMENT_UINT64 && argument->value.u64 > INT64_MAX))
		result_as_json(cursor, context);
	else if (sonde_argument_type_is_text(type))
		sqlite3_result_text64(context, argument->bytes ? (const char *)argument->bytes : "",
				      argument->count, SQLITE_TRANSIENT, SQLITE_UTF8);
	else if (sonde_argument_type_is_float(type))
		sqlite3_result_double(context, argument->value.f64);
	else if (sonde_argument_type_is_signed(type))
		sqlite3_result_int64(context, argument->value.i64);
	else if (type == SONDE_ARGUMENT_CHAR || type == SONDE_ARGUMENT_WCHAR)
		result_character(context, argument->value.u64);
	else
		sqlite3_result_int64(context, (sqlite3_int64)argument->value.u64);
}

static void result_type(sqlite3_context *context, const struct sonde_argument_spec *spec)
{
	const char *word = sonde_argument_type_name(spec->type);
	char *text;

	if (!spec->is_array) {
		sqlite3_result_text(context, word, -1, SQLITE_STATIC);
		return;
	}
	text = sqlite3_mprintf("%s[]", word);
	if (text)
		sqlite3_result_text(context, text, -1, sqlite3_free);
	else
		sqlite3_result_error_nomem(context);
}

/* What only an argument that could be read has. */
static void result_argument(struct cursor *cursor, sqlite3_context *context, int number)
{
	const struct sonde_argument_spec *spec = cursor->argument.spec;

	if (number == ARGUMENT_POSITION)
		sqlite3_result_int64(context, (sqlite3_int64)cursor->arguments.index - 1);
	else if (number == ARGUMENT_NAME)
		sqlite3_result_text(context, spec->name, -1, SQLITE_TRANSIENT);
	else if (number == ARGUMENT_TYPE)
		result_type(context, spec);
	else if (number == ARGUMENT_VALUE)
		result_value(cursor, context);
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
	struct cursor *cursor = (struct cursor *)base;

	if (number == ARGUMENT_DETAIL)
		sqlite3_result_int64(context, detail_walk_id(&cursor->walk));
	else if (number == ARGUMENT_TRACK)
		sqlite3_result_int64(context, cursor->walk.track);
	else if (number == ARGUMENT_EVENT)
		detail_walk_result_event(&cursor->walk, context);
	else if (number == ARGUMENT_EVENT_TYPE)
		query_result_id(context, cursor->walk.detail.event_type);
	else if (cursor->argument.spec)
		result_argument(cursor, context, number);
	else if (number == ARGUMENT_FAULT)
		sqlite3_result_text(context, cursor->fault.message, -1, SQLITE_TRANSIENT);
	return SQLITE_OK;
}

static void plan(struct query_plan *plan)
{
	static const int by_detail[] = { ARGUMENT_DETAIL, ARGUMENT_POSITION };

	query_plan_details(plan, QUERY_BIT(ARGUMENT_TRACK), QUERY_BIT(ARGUMENT_DETAIL));
	plan->rows *= 3;
	if (plan->equals & QUERY_BIT(ARGUMENT_NAME))
		plan->rows /= 3;
	plan->order_consumed = query_wants_order(plan->info, by_detail, 2);
}

const struct query_table query_table_args = {
	.name = "args",
	.id_column = -1,
	.row_id = query_row_number,
	QUERY_TABLE_PARTS,
};
