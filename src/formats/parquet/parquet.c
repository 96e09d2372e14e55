/* SPDX-License-Identifier: Apache-2.0 */
/* Apache Parquet tables as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_parquet = {
	.info = {
		.name = "parquet",
		.title = "Apache Parquet tables",
		.shape = "folder",
		.suffix = ".parquet",
	},
};
