/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the reader and the writer of speedscope files have in common: words of the file format, and
 * the members of ours that other readers pass over.
 */
#ifndef SONDE_SPEEDSCOPE_H
#define SONDE_SPEEDSCOPE_H

#include "formats/format.h"

#define SPEEDSCOPE_SCHEMA "https://www.speedscope.app/file-format-schema.json"

/*
 * Ours: a member "sonde" of the file (start, processes, tracks, clocks), of a profile (whose it
 * is), and of an event that closes a call, where that is more than a return.
 */
#define SPEEDSCOPE_OURS "sonde"
#define SPEEDSCOPE_OURS_VERSION 1
#define SPEEDSCOPE_END "end"		 /* it was still open when the track ended */
#define SPEEDSCOPE_MADE "made"		 /* no return was recorded */
#define SPEEDSCOPE_EXCEPTION "exception" /* the call was left by one */

int speedscope_probe(const char *path);
enum sonde_status speedscope_open(struct sonde_recording *recording, struct sonde_error *err);
enum sonde_status speedscope_create(const char *path, const struct sonde_create_options *options,
				    struct sonde_sink **sink, struct sonde_error *err);

#endif
