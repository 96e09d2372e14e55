/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines as a format of the library: one table, written, not read. */
#include "formats/rows/rows_sink.h"

static enum sonde_status create(const char *path, const struct sonde_create_options *options,
				struct sonde_sink **sink, struct sonde_error *err)
{
	return rows_create(path, &row_form_json, options, sink, err);
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
	.create = create,
};
