/* SPDX-License-Identifier: Apache-2.0 */
/* Apache Parquet tables as a format of the library: written, not read. */
#include <stdlib.h>

#include "base/file.h"
#include "formats/exchange.h"
#include "formats/parquet/parquet.h"

static int probe(const char *path)
{
	char *file = sonde_path_join(path, "tracks.parquet");
	int sure = file ? exchange_begins_with(file, "PAR1") : 0;

	free(file);
	return sure;
}

const struct sonde_format sonde_format_parquet = {
	.info = {
		.name = "parquet",
		.title = "Apache Parquet tables",
		.shape = "folder",
		.lanes_written = PARQUET_LANES_WRITTEN,
		.kinds = SONDE_KINDS_ALL,
		.facts = SONDE_FACTS_ALL,
		.styles = parquet_styles,
		.suffix = ".parquet",
	},
	.probe = probe,
	.create = parquet_create,
};
