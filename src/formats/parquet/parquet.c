/* SPDX-License-Identifier: Apache-2.0 */
/* Apache Parquet tables as a format of the library: written, not read. */
#include "formats/parquet/parquet.h"

const struct sonde_format sonde_format_parquet = {
	.info = {
		.name = "parquet",
		.title = "Apache Parquet tables",
		.shape = "folder",
		.lanes_written = PARQUET_LANES_WRITTEN,
		.styles = parquet_styles,
		.suffix = ".parquet",
	},
	.create = parquet_create,
};
