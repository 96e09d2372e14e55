/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines as a format of the library: one table, written, not read. */
#include "formats/exchange.h"
#include "formats/rows/rows_sink.h"

static enum sonde_status create(const char *path, const struct sonde_create_options *options,
				struct sonde_sink **sink, struct sonde_error *err)
{
	return rows_create(path, &row_form_json, options, sink, err);
}

static int probe(const char *path)
{
	static const char *const heads[] = { "{\"time_ns\":", "{\"start_ns\":", "{\"track\":",
					     "{\"context\":" };
	int sure = 0;

	for (size_t i = 0; !sure && i < sizeof(heads) / sizeof(heads[0]); i++)
		sure = exchange_begins_with(path, heads[i]);
	return sure;
}

const struct sonde_format sonde_format_jsonl = {
	.info = {
		.name = "jsonl",
		.title = "JSON lines",
		.shape = "file",
		.lanes_written = ROWS_LANES_WRITTEN,
		.kinds = SONDE_KINDS_ALL,
		.facts = ROWS_FACTS,
		.styles = rows_styles,
		.suffix = ".jsonl .ndjson",
	},
	.probe = probe,
	.create = create,
};
