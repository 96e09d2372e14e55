/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words and numbers of the processed profiles of the Firefox Profiler, in the version that is
 * written here.
 */
#ifndef SONDE_FIREFOX_H
#define SONDE_FIREFOX_H

#include "formats/format.h"

/*
 * meta.preprocessedProfileVersion: the last one in which every thread has its strings for itself.
 */
#define FIREFOX_VERSION 55
/* meta.version: that of the format which Firefox itself writes, as it was then. */
#define FIREFOX_GECKO_VERSION 31

/* The column "phase" of markers. */
enum {
	FIREFOX_PHASE_INSTANT = 0,
	FIREFOX_PHASE_BEGIN = 2,
	FIREFOX_PHASE_END = 3,
};

#define FIREFOX_RESOURCE_LIBRARY 1 /* the column "type" of resources */

enum sonde_status firefox_create(const char *path, const struct sonde_create_options *options,
				 struct sonde_sink **sink, struct sonde_error *err);

#endif
