/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables that a recording becomes, each with its columns: this is the schema that doc/formats/parquet.md
 * describes. Columns are only ever added, behind the others.
 */
#ifndef SONDE_FORMATS_PARQUET_TABLES_H
#define SONDE_FORMATS_PARQUET_TABLES_H

#include "formats/parquet/parquet_file.h"

/* X(number, name, kind, is optional). `time` comes last: it is there only where it is asked for. */
#define PARQUET_EVENT_LIST(X)                                                                      \
	X(TIME_NS, "time_ns", U64, false)                                                          \
	X(TRACK, "track", U32, false)                                                              \
	X(THREAD, "thread", TEXT, false)                                                           \
	X(PROCESS, "process", TEXT, true)                                                          \
	X(KIND, "kind", TEXT, false)                                                               \
	X(FUNCTION, "function", TEXT, true)                                                        \
	X(MODULE, "module", TEXT, true)                                                            \
	X(DEPTH, "depth", U32, false)                                                              \
	X(EVENT_TYPE, "event_type", TEXT, true)                                                    \
	X(VALUE, "value", DOUBLE, true)                                                            \
	X(NUMBER, "number", U32, true)                                                             \
	X(SYNTHETIC, "synthetic", BOOL, false)                                                     \
	X(ARGUMENTS, "arguments", LONG_TEXT, true)                                                 \
	X(DETAIL, "detail", LONG_TEXT, true)                                                       \
	X(TIME, "time", TIMESTAMP, true)

#define PARQUET_SPAN_LIST(X)                                                                       \
	X(START_NS, "start_ns", U64, false)                                                        \
	X(DUR_NS, "dur_ns", U64, false)                                                            \
	X(SELF_NS, "self_ns", U64, false)                                                          \
	X(TRACK, "track", U32, false)                                                              \
	X(THREAD, "thread", TEXT, false)                                                           \
	X(PROCESS, "process", TEXT, true)                                                          \
	X(FUNCTION, "function", TEXT, true)                                                        \
	X(MODULE, "module", TEXT, true)                                                            \
	X(CALLER, "caller", TEXT, true)                                                            \
	X(DEPTH, "depth", U32, false)                                                              \
	X(ENDED_BY, "ended_by", TEXT, false)                                                       \
	X(RECURSIVE, "recursive", BOOL, false)                                                     \
	X(TIME, "time", TIMESTAMP, true)

#define PARQUET_SAMPLE_LIST(X)                                                                     \
	X(TIME_NS, "time_ns", U64, false)                                                          \
	X(TRACK, "track", U32, false)                                                              \
	X(THREAD, "thread", TEXT, false)                                                           \
	X(PROCESS, "process", TEXT, true)                                                          \
	X(CONTEXT, "context", U32, false)                                                          \
	X(NAME, "name", TEXT, false)                                                               \
	X(FUNCTION, "function", TEXT, true)                                                        \
	X(TIME, "time", TIMESTAMP, true)

#define PARQUET_VALUE_LIST(X)                                                                      \
	X(TRACK, "track", U32, false)                                                              \
	X(THREAD, "thread", TEXT, false)                                                           \
	X(PROCESS, "process", TEXT, true)                                                          \
	X(CONTEXT, "context", U32, false)                                                          \
	X(NAME, "name", TEXT, false)                                                               \
	X(FUNCTION, "function", TEXT, true)                                                        \
	X(METRIC, "metric", TEXT, false)                                                           \
	X(VALUE, "value", DOUBLE, false)

#define PARQUET_CONTEXT_LIST(X)                                                                    \
	X(CONTEXT, "context", U32, false)                                                          \
	X(PARENT, "parent", U32, true)                                                             \
	X(SUBTREE_END, "subtree_end", U32, false)                                                  \
	X(DEPTH, "depth", U32, false)                                                              \
	X(KIND, "kind", TEXT, false)                                                               \
	X(RELATION, "relation", TEXT, false)                                                       \
	X(NAME, "name", TEXT, false)                                                               \
	X(FUNCTION, "function", TEXT, true)                                                        \
	X(MODULE, "module", TEXT, true)                                                            \
	X(FILE, "file", TEXT, true)                                                                \
	X(LINE, "line", U32, true)                                                                 \
	X(ADDRESS, "address", U64, true)                                                           \
	X(UNLISTED, "unlisted", BOOL, false)

#define PARQUET_FUNCTION_LIST(X)                                                                   \
	X(FUNCTION_ID, "function_id", U32, false)                                                  \
	X(FUNCTION, "function", TEXT, false)                                                       \
	X(RAW_NAME, "raw_name", TEXT, true)                                                        \
	X(PROCESS, "process", TEXT, true)                                                          \
	X(MODULE, "module", TEXT, true)                                                            \
	X(FILE, "file", TEXT, true)                                                                \
	X(LINE, "line", U32, true)                                                                 \
	X(ADDRESS, "address", U64, true)                                                           \
	X(KEY, "key", U64, true)

#define PARQUET_TRACK_LIST(X)                                                                      \
	X(TRACK, "track", U32, false)                                                              \
	X(THREAD, "thread", TEXT, false)                                                           \
	X(KIND, "kind", TEXT, false)                                                               \
	X(TID, "tid", U64, true)                                                                   \
	X(SLOT, "slot", U32, false)                                                                \
	X(PROCESS_ID, "process_id", U32, false)                                                    \
	X(PROCESS, "process", TEXT, true)                                                          \
	X(PID, "pid", U32, true)                                                                   \
	X(ARCH, "arch", TEXT, false)                                                               \
	X(OS, "os", TEXT, false)                                                                   \
	X(CLOCK, "clock", TEXT, false)                                                             \
	X(FIRST_NS, "first_ns", U64, true)                                                         \
	X(LAST_NS, "last_ns", U64, true)                                                           \
	X(FIRST_TIME, "first_time", TIMESTAMP, true)                                               \
	X(LAST_TIME, "last_time", TIMESTAMP, true)                                                 \
	X(EVENTS, "events", U64, false)                                                            \
	X(SAMPLES, "samples", U64, false)                                                          \
	X(DETAILS, "details", U64, false)                                                          \
	X(DROPPED_EVENTS, "dropped_events", U64, false)                                            \
	X(UNFINISHED, "unfinished", BOOL, false)                                                   \
	X(PROCESS_START_NS, "process_start_ns", U64, true)                                         \
	X(PROCESS_END_NS, "process_end_ns", U64, true)

#define PARQUET_MODULE_LIST(X)                                                                     \
	X(MODULE_ID, "module_id", U32, false)                                                      \
	X(MODULE, "module", TEXT, false)                                                           \
	X(PROCESS, "process", TEXT, true)                                                          \
	X(UUID, "uuid", TEXT, true)                                                                \
	X(BASE_ADDRESS, "base_address", U64, false)                                                \
	X(SIZE, "size", U64, false)                                                                \
	X(KEY, "key", U64, true)

#define PARQUET_EVENT_TYPE_LIST(X)                                                                 \
	X(EVENT_TYPE_ID, "event_type_id", U32, false)                                              \
	X(EVENT_TYPE, "event_type", TEXT, false)                                                   \
	X(ARGUMENTS, "arguments", TEXT, true)                                                      \
	X(FLAGS, "flags", U32, false)                                                              \
	X(IS_SCOPE, "is_scope", BOOL, false)

#define PARQUET_METRIC_LIST(X)                                                                     \
	X(METRIC_ID, "metric_id", U32, false)                                                      \
	X(METRIC, "metric", TEXT, false)                                                           \
	X(UNIT, "unit", TEXT, true)                                                                \
	X(DESCRIPTION, "description", TEXT, true)                                                  \
	X(SCOPE, "scope", TEXT, true)                                                              \
	X(STATISTIC, "statistic", TEXT, true)                                                      \
	X(HIDDEN, "hidden", BOOL, false)

#define PARQUET_ANCHOR_LIST(X)                                                                     \
	X(CLOCK_ID, "clock_id", U32, false)                                                        \
	X(CLOCK, "clock", TEXT, false)                                                             \
	X(CLOCK_NS, "clock_ns", U64, false)                                                        \
	X(TIME, "time", TIMESTAMP, false)

#define PARQUET_ATTRIBUTE_LIST(X)                                                                  \
	X(OWNER, "owner", TEXT, false)                                                             \
	X(OWNER_ID, "owner_id", U32, false)                                                        \
	X(NAME, "name", TEXT, false)                                                               \
	X(VALUE, "value", LONG_TEXT, false)

/* All tables: X(number, name). The first four have a part for each track, the others one. */
#define PARQUET_TABLE_LIST(X)                                                                      \
	X(EVENT, "events")                                                                         \
	X(SPAN, "spans")                                                                           \
	X(SAMPLE, "samples")                                                                       \
	X(VALUE, "values")                                                                         \
	X(CONTEXT, "contexts")                                                                     \
	X(FUNCTION, "functions")                                                                   \
	X(TRACK, "tracks")                                                                         \
	X(MODULE, "modules")                                                                       \
	X(EVENT_TYPE, "event_types")                                                               \
	X(METRIC, "metrics")                                                                       \
	X(ANCHOR, "anchors")                                                                       \
	X(ATTRIBUTE, "attributes")

enum parquet_table_number {
#define X(number, name) PARQUET_##number##_TABLE,
	PARQUET_TABLE_LIST(X)
#undef X
		PARQUET_TABLE_COUNT
};

#define PARQUET_TRACK_TABLES (PARQUET_VALUE_TABLE + 1)

/* PARQUET_EVENT_TIME_NS, PARQUET_SPAN_DUR_NS, ... */
#define COLUMN(number, name, kind, is_optional) PARQUET_COLUMN_NAME(number),
#define PARQUET_COLUMN_NAME(number) PARQUET_EVENT_##number
enum { PARQUET_EVENT_LIST(COLUMN) };
#undef PARQUET_COLUMN_NAME
#define PARQUET_COLUMN_NAME(number) PARQUET_SPAN_##number
enum { PARQUET_SPAN_LIST(COLUMN) };
#undef PARQUET_COLUMN_NAME
#define PARQUET_COLUMN_NAME(number) PARQUET_SAMPLE_##number
enum { PARQUET_SAMPLE_LIST(COLUMN) };
#undef PARQUET_COLUMN_NAME
#define PARQUET_COLUMN_NAME(number) PARQUET_VALUE_##number
enum { PARQUET_VALUE_LIST(COLUMN) };
#undef PARQUET_COLUMN_NAME
#define PARQUET_COLUMN_NAME(number) PARQUET_CONTEXT_##number
enum { PARQUET_CONTEXT_LIST(COLUMN) };
#undef PARQUET_COLUMN_NAME
#define PARQUET_COLUMN_NAME(number) PARQUET_FUNCTION_##number
enum { PARQUET_FUNCTION_LIST(COLUMN) };
#undef PARQUET_COLUMN_NAME
#define PARQUET_COLUMN_NAME(number) PARQUET_TRACK_##number
enum { PARQUET_TRACK_LIST(COLUMN) };
#undef PARQUET_COLUMN_NAME
#define PARQUET_COLUMN_NAME(number) PARQUET_MODULE_##number
enum { PARQUET_MODULE_LIST(COLUMN) };
#undef PARQUET_COLUMN_NAME
#define PARQUET_COLUMN_NAME(number) PARQUET_TYPE_##number
enum { PARQUET_EVENT_TYPE_LIST(COLUMN) };
#undef PARQUET_COLUMN_NAME
#define PARQUET_COLUMN_NAME(number) PARQUET_METRIC_##number
enum { PARQUET_METRIC_LIST(COLUMN) };
#undef PARQUET_COLUMN_NAME
#define PARQUET_COLUMN_NAME(number) PARQUET_ANCHOR_##number
enum { PARQUET_ANCHOR_LIST(COLUMN) };
#undef PARQUET_COLUMN_NAME
#define PARQUET_COLUMN_NAME(number) PARQUET_ATTRIBUTE_##number
enum { PARQUET_ATTRIBUTE_LIST(COLUMN) };
#undef PARQUET_COLUMN_NAME
#undef COLUMN

/* By enum parquet_table_number. */
extern const struct parquet_table parquet_tables[PARQUET_TABLE_COUNT];

#endif
