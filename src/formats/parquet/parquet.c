/* SPDX-License-Identifier: Apache-2.0 */
/* Apache Parquet tables as a format of the library: written, not read. */
#include "formats/parquet/parquet.h"

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
	.create = parquet_create,
};
