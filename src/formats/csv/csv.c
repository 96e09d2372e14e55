/* SPDX-License-Identifier: Apache-2.0 */
/* comma-separated values as a format of the library: one table, written, not read. */
#include "formats/exchange.h"
#include "formats/rows/rows_sink.h"

static enum sonde_status create(const char *path, const struct sonde_create_options *options,
				struct sonde_sink **sink, struct sonde_error *err)
{
	return rows_create(path, &row_form_csv, options, sink, err);
}

static int probe(const char *path)
{
	static const char *const heads[] = { "time_ns,relative_ns,track,",
					     "start_ns,relative_ns,track,",
					     "track,context,name,metric,",
					     "context,parent,kind,relation," };
	int sure = 0;

	for (size_t i = 0; !sure && i < sizeof(heads) / sizeof(heads[0]); i++)
		sure = exchange_begins_with(path, heads[i]);
	return sure;
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
	.probe = probe,
	.create = create,
};
