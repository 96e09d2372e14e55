/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_jsonl = {
	.info = {
		.name = "jsonl",
		.title = "JSON lines",
		.shape = "file",
		.suffix = ".jsonl .ndjson",
	},
};
