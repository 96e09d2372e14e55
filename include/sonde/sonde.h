/* SPDX-License-Identifier: Apache-2.0 */
/* The whole of libsonde in one include. */
#ifndef SONDE_SONDE_H
#define SONDE_SONDE_H

#include <sonde/arguments.h>
#include <sonde/definitions.h>
#include <sonde/diagnostics.h>
#include <sonde/event.h>
#include <sonde/format.h>
#include <sonde/pipeline.h>
#include <sonde/profile.h>
#include <sonde/progress.h>
#include <sonde/recording.h>
#include <sonde/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library, "MAJOR.MINOR.PATCH". */
const char *sonde_version(void);

#ifdef __cplusplus
}
#endif

#endif
