/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader and the writer of Chrome trace JSON share: doc/formats/chrome.md describes the file. */
#ifndef SONDE_CHROME_H
#define SONDE_CHROME_H

#include "formats/format.h"

/* Members that only sonde knows; other readers pass over them. */
#define CHROME_OURS "sonde"		   /* of the file: what the format has no place for */
#define CHROME_AT "at"			   /* of a B: where its function is, from here on */
#define CHROME_TYPE "type"		   /* the number of its event type in CHROME_OURS */
#define CHROME_EXCEPTION "sonde.exception" /* an argument of an E: it was left by one */
#define CHROME_CATEGORY "category"	   /* an attribute of functions: their "cat" */
#define CHROME_FLOW "flow"		   /* name and category of the flows we write */
#define CHROME_RANGE "range"		   /* category of the ranges we write */
#define CHROME_VALUE "value"		   /* the argument of a counter that has only one */
#define CHROME_ARGUMENTS "args"
#define CHROME_ANY_SIGNATURE "any args" /* all arguments as they stand */
#define CHROME_OWNER_NAMES                                                                         \
	{                                                                                          \
		"recording", "process", "track", "module", "function"                              \
	}
#define CHROME_TRACK_NAMES                                                                         \
	{                                                                                          \
		"thread", "gpu-stream", "zone"                                                     \
	}

int chrome_probe(const char *path);
enum sonde_status chrome_open(struct sonde_recording *recording, struct sonde_error *err);
enum sonde_status chrome_create(const char *path, const struct sonde_create_options *options,
				struct sonde_sink **sink, struct sonde_error *err);

#endif
