/* SPDX-License-Identifier: Apache-2.0 */
/* The definitions of a recorded session: processes, tracks, modules, and functions with names. */
#ifndef SONDE_RECORD_DEFINE_H
#define SONDE_RECORD_DEFINE_H

#include "record/session.h"

/*
 * All of it; the caller frees the definitions. Without `functions` it is quick, and recording can
 * go on; with them the lists of functions met are closed.
 */
enum sonde_status define_session(struct session *session, bool functions,
				 struct sonde_definitions **definitions, struct sonde_error *err);

#endif
