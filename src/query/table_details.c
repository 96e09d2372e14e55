/* SPDX-License-Identifier: Apache-2.0 */
/* The table of details: what comes with events, as bytes and as JSON. */
#include "model/arguments.h"
#include "query/detail_walk.h"

enum {
	DETAIL_ID,
	DETAIL_TRACK,
	DETAIL_EVENT,
	DETAIL_TIME,
	DETAIL_KIND,
	DETAIL_FUNCTION,
	DETAIL_EVENT_TYPE,
	DETAIL_JSON,
	DETAIL_BYTES,
	DETAIL_STACK,
	DETAIL_TYPE,
	DETAIL_FLAGS,
	DETAIL_FAULT,
	DETAIL_COLUMNS,
};

static const struct query_column columns[] = {
	{ "details", "id", "INTEGER", "number of the detail; events.detail" },
	{ "details", "track", "INTEGER", "tracks.id" },
	{ "details", "event", "INTEGER", "events.id of the event that it is of" },
	{ "details", "time_ns", "INTEGER", "when" },
	{ "details", "kind", "TEXT", "'arguments', 'registers' or 'opaque'" },
	{ "details", "function", "INTEGER", "functions.id, with registers" },
	{ "details", "event_type", "INTEGER", "event_types.id, of arguments" },
	{ "details", "json", "TEXT", "the arguments, or the registers, as a JSON object" },
	{ "details", "bytes", "BLOB", "as they were recorded" },
	{ "details", "stack", "BLOB", "from the stack pointer up, with registers" },
	{ "details", "type", "INTEGER", "the format's own" },
	{ "details", "flags", "INTEGER", "the format's own" },
	{ "details", "fault", "TEXT", "why it could not be read; NULL: it could" },
	{ 0 },
};

static const uint8_t pushes[DETAIL_COLUMNS] = {
	[DETAIL_ID] = QUERY_PUSH_RANGE,
	[DETAIL_TRACK] = QUERY_PUSH_SET,
};

struct cursor {
	struct query_cursor base;
	struct detail_walk walk;
	struct sonde_buffer text;
};

static int finish(struct cursor *cursor, enum sonde_status status, const struct sonde_error *err)
{
	cursor->base.at_end = cursor->walk.is_over;
	return query_outcome(&cursor->base, status, err);
}

static int start(struct query_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	struct sonde_error err = { 0 };
	enum sonde_status status = detail_walk_start(&cursor->walk, base->source,
						     &base->wishes.columns[DETAIL_TRACK],
						     &base->wishes.columns[DETAIL_ID], &err);

	return finish(cursor, status, &err);
}

static int next(sqlite3_vtab_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;
	struct sonde_error err = { 0 };
	enum sonde_status status = detail_walk_next(&cursor->walk, &err);

	return finish(cursor, status, &err);
}

static void release(struct query_cursor *base)
{
	struct cursor *cursor = (struct cursor *)base;

	detail_walk_release(&cursor->walk);
	sonde_buffer_release(&cursor->text);
}

/* --- what is in one --- */

static void put_registers(struct sonde_json_writer *json, const struct sonde_registers *registers)
{
	sonde_json_object_begin(json);
	for (unsigned int i = 0; i < SONDE_REGISTER_COUNT; i++) {
		sonde_json_key(json, sonde_register_name(registers->arch, i));
		sonde_json_hex(json, registers->values[i], 16);
	}
	sonde_json_object_end(json);
}

static void result_json(struct cursor *cursor, sqlite3_context *context)
{
	const struct sonde_detail *detail = &cursor->walk.detail;
	const struct sonde_signature *signature;
	struct sonde_error err = { 0 };
	struct sonde_json_writer json;

	sonde_buffer_clear(&cursor->text);
	sonde_json_writer_init(&json, &cursor->text, false);
	if (detail->kind == SONDE_DETAIL_REGISTERS &&
	    sonde_register_name(detail->registers.arch, 0)) {
		put_registers(&json, &detail->registers);
	} else if (detail->kind == SONDE_DETAIL_ARGUMENTS) {
		signature = detail_walk_signature(&cursor->walk, &err);
		if (!signature ||
		    sonde_arguments_put_json(&json, signature, detail->bytes, detail->size, &err))
			return;
	} else {
		return;
	}
	query_result_buffer(context, &cursor->text);
}

/* Of arguments it is found out only when they are looked at. */
static void result_fault(struct cursor *cursor, sqlite3_context *context)
{
	const struct sonde_detail *detail = &cursor->walk.detail;
	struct sonde_error err = cursor->walk.fault;
	const struct sonde_signature *signature;
	struct sonde_json_writer json;

	if (!err.status && detail->kind == SONDE_DETAIL_ARGUMENTS) {
		signature = detail_walk_signature(&cursor->walk, &err);
		sonde_buffer_clear(&cursor->text);
		sonde_json_writer_init(&json, &cursor->text, false);
		if (signature)
			err.status = sonde_arguments_put_json(&json, signature, detail->bytes,
							      detail->size, &err);
	}
	if (err.status)
		sqlite3_result_text(context, err.message, -1, SQLITE_TRANSIENT);
}

static const char *kind_name(enum sonde_detail_kind kind)
{
	switch (kind) {
	case SONDE_DETAIL_REGISTERS:
		return "registers";
	case SONDE_DETAIL_ARGUMENTS:
		return "arguments";
	default:
		return "opaque";
	}
}

static void result_blob(sqlite3_context *context, const uint8_t *bytes, size_t size)
{
	sqlite3_result_blob64(context, bytes ? (const void *)bytes : "", size, SQLITE_TRANSIENT);
}

/* What only a detail that could be read has. */
static void result_content(struct cursor *cursor, sqlite3_context *context, int number)
{
	const struct sonde_detail *detail = &cursor->walk.detail;

	switch (number) {
	case DETAIL_TIME:
		sqlite3_result_int64(context, query_integer(detail->time_ns));
		break;
	case DETAIL_KIND:
		sqlite3_result_text(context, kind_name(detail->kind), -1, SQLITE_STATIC);
		break;
	case DETAIL_FUNCTION:
		if (detail->kind == SONDE_DETAIL_REGISTERS)
			query_result_id(context, detail->function);
		break;
	case DETAIL_EVENT_TYPE:
		if (detail->kind == SONDE_DETAIL_ARGUMENTS)
			query_result_id(context, detail->event_type);
		break;
	case DETAIL_JSON:
		result_json(cursor, context);
		break;
	case DETAIL_BYTES:
		result_blob(context, detail->bytes, detail->size);
		break;
	case DETAIL_STACK:
		if (detail->kind == SONDE_DETAIL_REGISTERS)
			result_blob(context, detail->stack, detail->stack_size);
		break;
	case DETAIL_TYPE:
		sqlite3_result_int64(context, detail->type);
		break;
	case DETAIL_FLAGS:
		sqlite3_result_int64(context, detail->flags);
		break;
	default:
		break;
	}
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
	struct cursor *cursor = (struct cursor *)base;

	if (number == DETAIL_ID)
		sqlite3_result_int64(context, detail_walk_id(&cursor->walk));
	else if (number == DETAIL_TRACK)
		sqlite3_result_int64(context, cursor->walk.track);
	else if (number == DETAIL_EVENT)
		detail_walk_result_event(&cursor->walk, context);
	else if (number == DETAIL_FAULT)
		result_fault(cursor, context);
	else if (!cursor->walk.fault.status)
		result_content(cursor, context, number);
	return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
	*id = detail_walk_id(&((const struct cursor *)base)->walk);
	return SQLITE_OK;
}

static void plan(struct query_plan *plan)
{
	static const int by_id[] = { DETAIL_ID }, by_row[] = { -1 };
	static const int by_track[] = { DETAIL_TRACK, DETAIL_ID };

	query_plan_details(plan, QUERY_BIT(DETAIL_TRACK), QUERY_BIT(DETAIL_ID));
	plan->unique = plan->equals & QUERY_BIT(DETAIL_ID);
	plan->order_consumed = query_wants_order(plan->info, by_id, 1) ||
			       query_wants_order(plan->info, by_row, 1) ||
			       query_wants_order(plan->info, by_track, 2);
}

const struct query_table query_table_details = {
	.name = "details",
	.id_column = DETAIL_ID,
	.row_id = row_id,
	QUERY_TABLE_PARTS,
};
