/* SPDX-License-Identifier: Apache-2.0 */
/* What the pass over a store found, as definitions of a recording. */
#ifndef SONDE_FORMATS_ZTS_DEFINE_H
#define SONDE_FORMATS_ZTS_DEFINE_H

#include "formats/zts/zts_scan.h"

/* Processes, functions, event types and tracks; lays the pieces out. */
enum sonde_status zts_define(struct zts_scan *scan, struct sonde_error *err);

#endif
