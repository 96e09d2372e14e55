/* SPDX-License-Identifier: Apache-2.0 */
/* comma-separated values as a format of the library: one table, written, not read. */
#include "formats/rows/rows_sink.h"

static enum sonde_status create(const char *path, const struct sonde_create_options *options,
				struct sonde_sink **sink, struct sonde_error *err)
{
	return rows_create(path, &row_form_csv, options, sink, err);
}

const struct sonde_format sonde_format_csv = {
	.info = {
		.name = "csv",
		.title = "comma-separated values",
		.shape = "file",
		.lanes_written = ROWS_LANES_WRITTEN,
		.kinds = SONDE_KINDS_ALL,
		.facts = ROWS_FACTS,
		.styles = rows_styles,
		.suffix = ".csv",
	},
	.create = create,
};
