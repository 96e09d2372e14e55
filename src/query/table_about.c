/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of what is said about a recording: metrics, attributes, findings, clocks, resources, itself. */
#include <sonde/format.h>

#include "query/table_lists.h"

static void result_text(sqlite3_context *context, const char *text)
{
	if (text && *text)
		sqlite3_result_text(context, text, -1, SQLITE_STATIC);
}

/* --- metrics --- */

enum {
	METRIC_ID,
	METRIC_NAME,
	METRIC_SCOPE,
	METRIC_STATISTIC,
	METRIC_UNIT,
	METRIC_DESCRIPTION,
	METRIC_HIDDEN,
};

static const struct query_column metric_columns[] = {
	{ "metrics", "id", "INTEGER", "number of the metric" },
	{ "metrics", "name", "TEXT", "what it counts: 'CPUTIME (sec)'" },
	{ "metrics", "scope", "TEXT", "'point', 'function', 'lex_aware', 'execution'" },
	{ "metrics", "statistic", "TEXT",
	  "over the tracks: 'sum', 'mean' ...; NULL: of one track" },
	{ "metrics", "unit", "TEXT", "where not only the name says it" },
	{ "metrics", "description", "TEXT", "what it is, in words" },
	{ "metrics", "hidden", "INTEGER", "1: not meant to be shown unless it is asked for" },
	{ 0 },
};

static uint64_t count_metrics(struct query_recording *source)
{
	return sonde_definitions_metric_count(source->definitions);
}

static const char *metric_name(struct query_recording *source, uint64_t row,
			       char space[SONDE_LABEL_SIZE])
{
	*space = '\0'; /* every metric has a name of its own */
	return sonde_definitions_string(
		source->definitions,
		sonde_definitions_metric(source->definitions, (uint32_t)row)->name);
}

static void metric_column(struct query_recording *source, sqlite3_context *context, uint64_t row,
			  int column)
{
	const struct sonde_definitions *definitions = source->definitions;
	const struct sonde_metric *metric = sonde_definitions_metric(definitions, (uint32_t)row);

	switch (column) {
	case METRIC_NAME:
		query_result_string(context, definitions, metric->name);
		break;
	case METRIC_SCOPE:
		query_result_string(context, definitions, metric->scope);
		break;
	case METRIC_STATISTIC:
		query_result_string(context, definitions, metric->statistic);
		break;
	case METRIC_UNIT:
		query_result_string(context, definitions, metric->unit);
		break;
	case METRIC_DESCRIPTION:
		query_result_string(context, definitions, metric->description);
		break;
	case METRIC_HIDDEN:
		sqlite3_result_int(context, metric->hidden);
		break;
	default:
		break;
	}
}

const struct query_list query_list_metrics = {
	.base = QUERY_LIST_TABLE("metrics", metric_columns, query_list_pushes_id_name),
	.count = count_metrics,
	.column = metric_column,
	.text = metric_name,
	.text_column = METRIC_NAME,
};

/* --- attributes --- */

enum { ATTRIBUTE_ID, ATTRIBUTE_OWNER, ATTRIBUTE_OWNER_ID, ATTRIBUTE_NAME, ATTRIBUTE_VALUE };

static const struct query_column attribute_columns[] = {
	{ "attributes", "id", "INTEGER", "number of the attribute" },
	{ "attributes", "owner", "TEXT",
	  "'recording', 'process', 'track', 'module' or 'function'" },
	{ "attributes", "owner_id", "INTEGER", "the id in the table of the owner's kind" },
	{ "attributes", "name", "TEXT", "what is said" },
	{ "attributes", "value", "TEXT", "as JSON text: value->>'$' is the bare value" },
	{ 0 },
};

static const char *owner_name(enum sonde_owner owner)
{
	static const char *const names[] = {
		[SONDE_OWNER_RECORDING] = "recording", [SONDE_OWNER_PROCESS] = "process",
		[SONDE_OWNER_TRACK] = "track",	       [SONDE_OWNER_MODULE] = "module",
		[SONDE_OWNER_FUNCTION] = "function",
	};

	return (size_t)owner < sizeof(names) / sizeof(names[0]) ? names[owner] : NULL;
}

static uint64_t count_attributes(struct query_recording *source)
{
	return sonde_definitions_attribute_count(source->definitions);
}

static void attribute_column(struct query_recording *source, sqlite3_context *context, uint64_t row,
			     int column)
{
	const struct sonde_attribute *attribute =
		sonde_definitions_attribute(source->definitions, (uint32_t)row);

	switch (column) {
	case ATTRIBUTE_OWNER:
		result_text(context, owner_name(attribute->owner));
		break;
	case ATTRIBUTE_OWNER_ID:
		if (attribute->owner != SONDE_OWNER_RECORDING)
			query_result_id(context, attribute->owner_id);
		break;
	case ATTRIBUTE_NAME:
		query_result_string(context, source->definitions, attribute->name);
		break;
	case ATTRIBUTE_VALUE:
		query_result_string(context, source->definitions, attribute->value);
		break;
	default:
		break;
	}
}

const struct query_list query_list_attributes = {
	.base = QUERY_LIST_TABLE("attributes", attribute_columns, query_list_pushes_id),
	.count = count_attributes,
	.column = attribute_column,
};

/* --- diagnostics --- */

enum {
	FINDING_ID,
	FINDING_SEVERITY,
	FINDING_TYPE,
	FINDING_TITLE,
	FINDING_FILE,
	FINDING_OFFSET,
	FINDING_EXPECTED,
	FINDING_FOUND,
	FINDING_ADVICE,
};

static const struct query_column finding_columns[] = {
	{ "diagnostics", "id", "INTEGER", "number of the finding" },
	{ "diagnostics", "severity", "TEXT", "'error', 'warning' or 'note'" },
	{ "diagnostics", "type", "TEXT", "stable id of its type: 'atf-index-magic'" },
	{ "diagnostics", "title", "TEXT", "what is wrong" },
	{ "diagnostics", "file", "TEXT", "where" },
	{ "diagnostics", "offset", "INTEGER", "byte in the file" },
	{ "diagnostics", "expected", "TEXT", "what should be there" },
	{ "diagnostics", "found", "TEXT", "what is there" },
	{ "diagnostics", "advice", "TEXT", "what can be done" },
	{ 0 },
};

/* There is no count of those kept; they are few of each type and file. */
static uint64_t count_findings(struct query_recording *source)
{
	const struct sonde_diagnostics *findings = sonde_recording_diagnostics(source->recording);
	size_t count = 0;

	while (sonde_diagnostics_at(findings, count))
		count++;
	return count;
}

static void finding_column(struct query_recording *source, sqlite3_context *context, uint64_t row,
			   int column)
{
	const struct sonde_finding *finding =
		sonde_diagnostics_at(sonde_recording_diagnostics(source->recording), row);

	switch (column) {
	case FINDING_SEVERITY:
		result_text(context, sonde_severity_name(finding->type->severity));
		break;
	case FINDING_TYPE:
		result_text(context, finding->type->id);
		break;
	case FINDING_TITLE:
		result_text(context, finding->type->title);
		break;
	case FINDING_FILE:
		result_text(context, finding->file);
		break;
	case FINDING_OFFSET:
		if (finding->offset != SONDE_NO_OFFSET)
			sqlite3_result_int64(context, query_integer(finding->offset));
		break;
	case FINDING_EXPECTED:
		result_text(context, finding->expected);
		break;
	case FINDING_FOUND:
		result_text(context, finding->found);
		break;
	case FINDING_ADVICE:
		result_text(context, finding->type->advice);
		break;
	default:
		break;
	}
}

const struct query_list query_list_diagnostics = {
	.base = QUERY_LIST_TABLE("diagnostics", finding_columns, query_list_pushes_id),
	.count = count_findings,
	.column = finding_column,
};

/* --- clocks and anchors --- */

static const struct query_column clock_columns[] = {
	{ "clocks", "id", "INTEGER", "number of the clock" },
	{ "clocks", "name", "TEXT", "as the recorder calls it" },
	{ "clocks", "kind", "TEXT", "'monotonic', 'boottime', 'realtime' ..." },
	{ 0 },
};

static uint64_t count_clocks(struct query_recording *source)
{
	return sonde_definitions_clock_count(source->definitions);
}

static void clock_column(struct query_recording *source, sqlite3_context *context, uint64_t row,
			 int column)
{
	const struct sonde_clock *clock =
		sonde_definitions_clock(source->definitions, (uint32_t)row);

	if (column == 1)
		query_result_string(context, source->definitions, clock->name);
	else
		result_text(context, sonde_clock_kind_name(clock->kind));
}

const struct query_list query_list_clocks = {
	.base = QUERY_LIST_TABLE("clocks", clock_columns, query_list_pushes_id),
	.count = count_clocks,
	.column = clock_column,
};

static const struct query_column anchor_columns[] = {
	{ "anchors", "id", "INTEGER", "number of the anchor" },
	{ "anchors", "clock", "INTEGER", "clocks.id" },
	{ "anchors", "clock_ns", "INTEGER", "a moment on that clock" },
	{ "anchors", "realtime_ns", "INTEGER", "the same moment since 1970-01-01 UTC" },
	{ 0 },
};

static uint64_t count_anchors(struct query_recording *source)
{
	return sonde_definitions_anchor_count(source->definitions);
}

static void anchor_column(struct query_recording *source, sqlite3_context *context, uint64_t row,
			  int column)
{
	const struct sonde_anchor *anchor =
		sonde_definitions_anchor(source->definitions, (uint32_t)row);

	if (column == 1)
		query_result_id(context, anchor->clock);
	else
		sqlite3_result_int64(context, query_integer(column == 2 ? anchor->clock_ns :
									  anchor->realtime_ns));
}

const struct query_list query_list_anchors = {
	.base = QUERY_LIST_TABLE("anchors", anchor_columns, query_list_pushes_id),
	.count = count_anchors,
	.column = anchor_column,
};

/* --- the recording itself --- */

enum {
	RECORDING_ID,
	RECORDING_SCHEMA,
	RECORDING_PATH,
	RECORDING_FORMAT,
	RECORDING_FIRST_NS,
	RECORDING_LAST_NS,
	RECORDING_EVENTS,
};

static const struct query_column recording_columns[] = {
	{ "recording", "id", "INTEGER", "0: there is one row" },
	{ "recording", "schema", "TEXT", "what stands before its tables: 'a'" },
	{ "recording", "path", "TEXT", "where it was opened" },
	{ "recording", "format", "TEXT", "'atf', 'cff', 'hpcdb' ..." },
	{ "recording", "first_ns", "INTEGER", "time of the first event or sample" },
	{ "recording", "last_ns", "INTEGER", "time of the last one" },
	{ "recording", "events", "INTEGER", "how many were recorded" },
	{ 0 },
};

static uint64_t count_recordings(struct query_recording *source)
{
	(void)source;
	return 1;
}

static void recording_column(struct query_recording *source, sqlite3_context *context, uint64_t row,
			     int column)
{
	uint64_t first_ns, last_ns;
	bool has_times = sonde_recording_time_range(source->recording, &first_ns, &last_ns);

	(void)row;
	switch (column) {
	case RECORDING_SCHEMA:
		result_text(context, source->schema);
		break;
	case RECORDING_PATH:
		result_text(context, sonde_recording_path(source->recording));
		break;
	case RECORDING_FORMAT:
		result_text(context,
			    sonde_format_info(sonde_recording_format(source->recording))->name);
		break;
	case RECORDING_FIRST_NS:
	case RECORDING_LAST_NS:
		if (has_times)
			sqlite3_result_int64(
				context,
				query_integer(column == RECORDING_FIRST_NS ? first_ns : last_ns));
		break;
	case RECORDING_EVENTS:
		sqlite3_result_int64(context,
				     query_integer(sonde_recording_event_count(source->recording)));
		break;
	default:
		break;
	}
}

const struct query_list query_list_recording = {
	.base = QUERY_LIST_TABLE("recording", recording_columns, query_list_pushes_id),
	.count = count_recordings,
	.column = recording_column,
};
