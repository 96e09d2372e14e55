/* SPDX-License-Identifier: Apache-2.0 */
/* The schema as data. */
#include "formats/parquet/parquet_tables.h"

#define COLUMN(number, name, kind, is_optional) { name, PARQUET_##kind, is_optional },
#define COLUMNS(table)                                                                             \
	{                                                                                          \
		PARQUET_##table##_LIST(COLUMN)                                                     \
		{                                                                                  \
			NULL, PARQUET_TEXT, false                                                  \
		}                                                                                  \
	}

static const struct parquet_column_spec event_columns[] = COLUMNS(EVENT);
static const struct parquet_column_spec span_columns[] = COLUMNS(SPAN);
static const struct parquet_column_spec sample_columns[] = COLUMNS(SAMPLE);
static const struct parquet_column_spec value_columns[] = COLUMNS(VALUE);
static const struct parquet_column_spec context_columns[] = COLUMNS(CONTEXT);
static const struct parquet_column_spec function_columns[] = COLUMNS(FUNCTION);
static const struct parquet_column_spec track_columns[] = COLUMNS(TRACK);
static const struct parquet_column_spec module_columns[] = COLUMNS(MODULE);
static const struct parquet_column_spec event_type_columns[] = COLUMNS(EVENT_TYPE);
static const struct parquet_column_spec metric_columns[] = COLUMNS(METRIC);
static const struct parquet_column_spec anchor_columns[] = COLUMNS(ANCHOR);
static const struct parquet_column_spec attribute_columns[] = COLUMNS(ATTRIBUTE);

const struct parquet_table parquet_tables[PARQUET_TABLE_COUNT] = {
	[PARQUET_EVENT_TABLE] = { "events", event_columns, true },
	[PARQUET_SPAN_TABLE] = { "spans", span_columns, true },
	[PARQUET_SAMPLE_TABLE] = { "samples", sample_columns, true },
	[PARQUET_VALUE_TABLE] = { "values", value_columns, false },
	[PARQUET_CONTEXT_TABLE] = { "contexts", context_columns, false },
	[PARQUET_FUNCTION_TABLE] = { "functions", function_columns, false },
	[PARQUET_TRACK_TABLE] = { "tracks", track_columns, false },
	[PARQUET_MODULE_TABLE] = { "modules", module_columns, false },
	[PARQUET_EVENT_TYPE_TABLE] = { "event_types", event_type_columns, false },
	[PARQUET_METRIC_TABLE] = { "metrics", metric_columns, false },
	[PARQUET_ANCHOR_TABLE] = { "anchors", anchor_columns, false },
	[PARQUET_ATTRIBUTE_TABLE] = { "attributes", attribute_columns, false },
};
