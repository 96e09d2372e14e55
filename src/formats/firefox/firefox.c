/* SPDX-License-Identifier: Apache-2.0 */
/* Firefox Profiler, processed profile as a format of the library. */
#include "formats/format.h"

const struct sonde_format sonde_format_firefox = {
	.info = {
		.name = "firefox",
		.title = "Firefox Profiler, processed profile",
		.shape = "file",
		.suffix = ".firefox.json",
	},
};
