/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of what a recording defines: tracks, processes, modules, functions, event types. */
#include "query/table_lists.h"

static void result_label(sqlite3_context *context, const char *label, const char *space)
{
	sqlite3_result_text(context, label, -1, label == space ? SQLITE_TRANSIENT : SQLITE_STATIC);
}

/* --- functions --- */

enum {
	FUNCTION_ID,
	FUNCTION_NAME,
	FUNCTION_RAW_NAME,
	FUNCTION_MODULE,
	FUNCTION_FILE,
	FUNCTION_LINE,
	FUNCTION_MODULE_ID,
	FUNCTION_PROCESS,
	FUNCTION_ADDRESS,
};

static const struct query_column function_columns[] = {
	{ "functions", "id", "INTEGER", "number of the function" },
	{ "functions", "name", "TEXT", "its name as shown, or its address" },
	{ "functions", "raw_name", "TEXT", "its name as the linker knows it" },
	{ "functions", "module", "TEXT", "path of the program or library that it is in" },
	{ "functions", "file", "TEXT", "source file" },
	{ "functions", "line", "INTEGER", "line in the source file" },
	{ "functions", "module_id", "INTEGER", "modules.id" },
	{ "functions", "process", "INTEGER", "processes.id" },
	{ "functions", "address", "INTEGER", "of its first instruction, in the module's file" },
	{ 0 },
};

static uint64_t count_functions(struct query_recording *source)
{
	return sonde_definitions_function_count(source->definitions);
}

static const char *function_name(struct query_recording *source, uint64_t row,
				 char space[SONDE_LABEL_SIZE])
{
	return sonde_definitions_function_label(source->definitions, (uint32_t)row, space);
}

static void result_module(sqlite3_context *context, const struct sonde_definitions *definitions,
			  uint32_t id)
{
	const struct sonde_module *module = sonde_definitions_module(definitions, id);

	if (module)
		query_result_string(context, definitions, module->path);
}

static void result_address(sqlite3_context *context, uint64_t address)
{
	if (address)
		sqlite3_result_int64(context, (sqlite3_int64)address);
}

static void function_column(struct query_recording *source, sqlite3_context *context, uint64_t row,
			    int column)
{
	const struct sonde_definitions *definitions = source->definitions;
	const struct sonde_function *function =
		sonde_definitions_function(definitions, (uint32_t)row);
	char space[SONDE_LABEL_SIZE];

	switch (column) {
	case FUNCTION_NAME:
		result_label(context, function_name(source, row, space), space);
		break;
	case FUNCTION_RAW_NAME:
		query_result_string(context, definitions,
				    function->raw_name ? function->raw_name : function->name);
		break;
	case FUNCTION_MODULE:
		result_module(context, definitions, function->module);
		break;
	case FUNCTION_FILE:
		query_result_string(context, definitions, function->file);
		break;
	case FUNCTION_LINE:
		if (function->line)
			sqlite3_result_int64(context, function->line);
		break;
	case FUNCTION_MODULE_ID:
		query_result_id(context, function->module);
		break;
	case FUNCTION_PROCESS:
		query_result_id(context, function->process);
		break;
	case FUNCTION_ADDRESS:
		result_address(context, function->address);
		break;
	default:
		break;
	}
}

static enum sonde_status read_track(struct query_recording *source, uint32_t track,
				    struct sonde_error *err)
{
	struct sonde_cursor *cursor = NULL;
	struct sonde_batch batch;
	enum sonde_status status = query_events_open(source, track, &cursor, err);

	while (status == SONDE_OK && !query_is_over(source->query))
		status = sonde_cursor_next(cursor, &batch, err);
	sonde_cursor_free(cursor);
	return status == SONDE_END ? SONDE_OK : status;
}

/*
 * Functions that no table of the recording names are defined when they are met. Where there may be
 * many, all events are read before the list: a join that begins with it would find nothing else.
 */
static enum sonde_status meet_functions(struct query_recording *source, struct sonde_error *err)
{
	uint32_t tracks = sonde_definitions_track_count(source->definitions), i;
	enum sonde_status status = SONDE_OK;

	if (source->functions_met ||
	    (!source->derives_events && sonde_definitions_function_count(source->definitions)))
		return SONDE_OK;
	for (i = 0; i < tracks && status == SONDE_OK; i++)
		status = read_track(source, i, err);
	source->functions_met = status == SONDE_OK && !query_is_over(source->query);
	return status;
}

static int function_start(struct query_cursor *cursor)
{
	struct sonde_error err = { 0 };

	if (meet_functions(cursor->source, &err) != SONDE_OK)
		return query_fail(cursor->base.pVtab, &err);
	return query_list_start(cursor);
}

static const struct query_list functions = {
	.base = { .name = "functions",
		  .columns = function_columns,
		  .pushes = query_list_pushes_id_name,
		  .cursor_size = sizeof(struct query_list_cursor),
		  .plan = query_list_plan,
		  .start = function_start,
		  .release = query_list_release,
		  .next = query_list_next,
		  .column = query_list_column,
		  .row_id = query_list_row_id },
	.count = count_functions,
	.column = function_column,
	.text = function_name,
	.text_column = FUNCTION_NAME,
};

/* --- tracks --- */

enum {
	TRACK_ID,
	TRACK_PROCESS,
	TRACK_NAME,
	TRACK_KIND,
	TRACK_OS_ID,
	TRACK_SLOT,
	TRACK_FIRST_NS,
	TRACK_LAST_NS,
	TRACK_EVENTS,
	TRACK_SAMPLES,
	TRACK_DETAILS,
	TRACK_DROPPED,
	TRACK_UNFINISHED,
};

static const struct query_column track_columns[] = {
	{ "tracks", "id", "INTEGER", "number of the track" },
	{ "tracks", "process", "INTEGER", "processes.id" },
	{ "tracks", "name", "TEXT", "its name, or 'thread N'" },
	{ "tracks", "kind", "TEXT", "'thread', 'gpu-stream' or 'zone'" },
	{ "tracks", "os_id", "INTEGER", "the system's number of the thread" },
	{ "tracks", "slot", "INTEGER", "its number within the process" },
	{ "tracks", "first_ns", "INTEGER", "time of its first event or sample" },
	{ "tracks", "last_ns", "INTEGER", "time of its last event or sample" },
	{ "tracks", "events", "INTEGER", "how many were recorded" },
	{ "tracks", "samples", "INTEGER", "how many were recorded" },
	{ "tracks", "details", "INTEGER", "how many were recorded" },
	{ "tracks", "dropped_events", "INTEGER", "how many the recorder said it lost" },
	{ "tracks", "unfinished", "INTEGER", "1: the recorder did not close it" },
	{ 0 },
};

static const char *track_kind(enum sonde_track_kind kind)
{
	switch (kind) {
	case SONDE_TRACK_GPU_STREAM:
		return "gpu-stream";
	case SONDE_TRACK_ZONE:
		return "zone";
	default:
		return "thread";
	}
}

static uint64_t count_tracks(struct query_recording *source)
{
	return sonde_definitions_track_count(source->definitions);
}

static void track_times(sqlite3_context *context, const struct sonde_track *track, int column)
{
	if (track->event_count || track->sample_count)
		sqlite3_result_int64(context,
				     query_integer(column == TRACK_FIRST_NS ? track->time_first_ns :
									      track->time_last_ns));
}

static void track_column(struct query_recording *source, sqlite3_context *context, uint64_t row,
			 int column)
{
	const struct sonde_track *track =
		sonde_definitions_track(source->definitions, (uint32_t)row);
	char space[SONDE_LABEL_SIZE];

	switch (column) {
	case TRACK_PROCESS:
		query_result_id(context, track->process);
		break;
	case TRACK_NAME:
		result_label(
			context,
			sonde_definitions_track_label(source->definitions, (uint32_t)row, space),
			space);
		break;
	case TRACK_KIND:
		sqlite3_result_text(context, track_kind(track->kind), -1, SQLITE_STATIC);
		break;
	case TRACK_OS_ID:
		if (track->os_id != UINT64_MAX)
			sqlite3_result_int64(context, query_integer(track->os_id));
		break;
	case TRACK_SLOT:
		query_result_id(context, track->slot);
		break;
	case TRACK_FIRST_NS:
	case TRACK_LAST_NS:
		track_times(context, track, column);
		break;
	case TRACK_EVENTS:
		sqlite3_result_int64(context, query_integer(track->event_count));
		break;
	case TRACK_SAMPLES:
		sqlite3_result_int64(context, query_integer(track->sample_count));
		break;
	case TRACK_DETAILS:
		sqlite3_result_int64(context, query_integer(track->detail_count));
		break;
	case TRACK_DROPPED:
		sqlite3_result_int64(context, query_integer(track->dropped_events));
		break;
	case TRACK_UNFINISHED:
		sqlite3_result_int(context, track->unfinished);
		break;
	default:
		break;
	}
}

static const struct query_list tracks = {
	.base = QUERY_LIST_TABLE("tracks", track_columns, query_list_pushes_id),
	.count = count_tracks,
	.column = track_column,
};

/* --- processes --- */

enum {
	PROCESS_ID,
	PROCESS_NAME,
	PROCESS_OS_ID,
	PROCESS_CLOCK,
	PROCESS_ARCH,
	PROCESS_OS,
	PROCESS_START_NS,
	PROCESS_END_NS,
};

static const struct query_column process_columns[] = {
	{ "processes", "id", "INTEGER", "number of the process" },
	{ "processes", "name", "TEXT", "its name" },
	{ "processes", "os_id", "INTEGER", "the system's number of it, its pid" },
	{ "processes", "clock", "INTEGER", "clocks.id of every time in it" },
	{ "processes", "arch", "TEXT", "'x86_64', 'arm64', 'unknown'" },
	{ "processes", "os", "TEXT", "'linux', 'macos' ..." },
	{ "processes", "start_ns", "INTEGER", "when its recording began, as the recorder said" },
	{ "processes", "end_ns", "INTEGER", "when it ended" },
	{ 0 },
};

static uint64_t count_processes(struct query_recording *source)
{
	return sonde_definitions_process_count(source->definitions);
}

static void process_column(struct query_recording *source, sqlite3_context *context, uint64_t row,
			   int column)
{
	const struct sonde_process *process =
		sonde_definitions_process(source->definitions, (uint32_t)row);

	switch (column) {
	case PROCESS_NAME:
		query_result_string(context, source->definitions, process->name);
		break;
	case PROCESS_OS_ID:
		query_result_id(context, process->os_id);
		break;
	case PROCESS_CLOCK:
		query_result_id(context, process->clock);
		break;
	case PROCESS_ARCH:
		sqlite3_result_text(context, sonde_arch_name(process->arch), -1, SQLITE_STATIC);
		break;
	case PROCESS_OS:
		sqlite3_result_text(context, sonde_os_name(process->os), -1, SQLITE_STATIC);
		break;
	case PROCESS_START_NS:
	case PROCESS_END_NS:
		if (process->start_ns || process->end_ns)
			sqlite3_result_int64(context, query_integer(column == PROCESS_START_NS ?
									    process->start_ns :
									    process->end_ns));
		break;
	default:
		break;
	}
}

static const struct query_list processes = {
	.base = QUERY_LIST_TABLE("processes", process_columns, query_list_pushes_id),
	.count = count_processes,
	.column = process_column,
};

/* --- modules --- */

enum { MODULE_ID, MODULE_PATH, MODULE_PROCESS, MODULE_BUILD_ID, MODULE_BASE, MODULE_SIZE };

static const struct query_column module_columns[] = {
	{ "modules", "id", "INTEGER", "number of the module" },
	{ "modules", "path", "TEXT", "the file of the program or library" },
	{ "modules", "process", "INTEGER", "processes.id" },
	{ "modules", "build_id", "TEXT", "its build id or UUID" },
	{ "modules", "base_address", "INTEGER", "where it was loaded" },
	{ "modules", "size", "INTEGER", "bytes that it took there" },
	{ 0 },
};

static uint64_t count_modules(struct query_recording *source)
{
	return sonde_definitions_module_count(source->definitions);
}

static void module_column(struct query_recording *source, sqlite3_context *context, uint64_t row,
			  int column)
{
	const struct sonde_module *module =
		sonde_definitions_module(source->definitions, (uint32_t)row);

	switch (column) {
	case MODULE_PATH:
		query_result_string(context, source->definitions, module->path);
		break;
	case MODULE_PROCESS:
		query_result_id(context, module->process);
		break;
	case MODULE_BUILD_ID:
		query_result_string(context, source->definitions, module->uuid);
		break;
	case MODULE_BASE:
		result_address(context, module->base_address);
		break;
	case MODULE_SIZE:
		if (module->size)
			sqlite3_result_int64(context, query_integer(module->size));
		break;
	default:
		break;
	}
}

static const struct query_list modules = {
	.base = QUERY_LIST_TABLE("modules", module_columns, query_list_pushes_id),
	.count = count_modules,
	.column = module_column,
};

/* --- event types --- */

enum { TYPE_ID, TYPE_NAME, TYPE_ARGUMENTS, TYPE_IS_SCOPE, TYPE_FLAGS };

static const struct query_column type_columns[] = {
	{ "event_types", "id", "INTEGER", "number of the event type" },
	{ "event_types", "name", "TEXT", "its name" },
	{ "event_types", "arguments", "TEXT", "what its events take: 'uint32 size, utf8 name'" },
	{ "event_types", "is_scope", "INTEGER", "1: its events are calls" },
	{ "event_types", "flags", "INTEGER", "the format's own" },
	{ 0 },
};

static uint64_t count_types(struct query_recording *source)
{
	return sonde_definitions_event_type_count(source->definitions);
}

static void type_column(struct query_recording *source, sqlite3_context *context, uint64_t row,
			int column)
{
	const struct sonde_event_type *type =
		sonde_definitions_event_type(source->definitions, (uint32_t)row);

	switch (column) {
	case TYPE_NAME:
		query_result_string(context, source->definitions, type->name);
		break;
	case TYPE_ARGUMENTS:
		query_result_string(context, source->definitions, type->arguments);
		break;
	case TYPE_IS_SCOPE:
		sqlite3_result_int(context, type->is_scope);
		break;
	case TYPE_FLAGS:
		sqlite3_result_int64(context, type->flags);
		break;
	default:
		break;
	}
}

static const struct query_list event_types = {
	.base = QUERY_LIST_TABLE("event_types", type_columns, query_list_pushes_id),
	.count = count_types,
	.column = type_column,
};

/* --- all of them --- */

const struct query_table *query_list_table_at(size_t index)
{
	static const struct query_list *const lists[] = {
		&tracks,
		&processes,
		&modules,
		&functions,
		&event_types,
		&query_list_metrics,
		&query_list_attributes,
		&query_list_diagnostics,
		&query_list_clocks,
		&query_list_anchors,
		&query_list_recording,
	};

	return index < sizeof(lists) / sizeof(lists[0]) ? &lists[index]->base : NULL;
}
