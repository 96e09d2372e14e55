/* SPDX-License-Identifier: Apache-2.0 */
/* OpenTelemetry spans, OTLP JSON as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_otlp_json = {
	.info = {
		.name = "otlp-json",
		.title = "OpenTelemetry spans, OTLP JSON",
		.shape = "file",
	},
};
