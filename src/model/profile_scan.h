/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a context, and single values, of formats that have no shorter way to them. */
#ifndef SONDE_MODEL_PROFILE_SCAN_H
#define SONDE_MODEL_PROFILE_SCAN_H

#include "model/recording.h"

/* As sonde_value_cursor_open_context(), for a context that exists: reads every track up to it. */
enum sonde_status sonde_scan_context(struct sonde_recording *recording, uint32_t context,
				     struct sonde_value_cursor **cursor, struct sonde_error *err);

/* As sonde_recording_value(): reads the track up to it. */
enum sonde_status sonde_scan_value(struct sonde_recording *recording, uint32_t track,
				   uint32_t context, uint32_t metric, double *value,
				   struct sonde_error *err);

/* As sonde_recording_value_count(): reads all tracks. */
enum sonde_status sonde_scan_value_count(struct sonde_recording *recording, uint64_t *count,
					 struct sonde_error *err);

#endif
