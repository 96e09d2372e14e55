/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a recording: names for what was met, and the definitions of the session. */
#ifndef SONDE_RECORD_FINISH_H
#define SONDE_RECORD_FINISH_H

#include "record/session.h"

/* Dumps a flight recorder where that is due, and finishes the files. Trouble becomes a problem. */
void finish_session(struct session *session);

/* Writes down what is known already, for `sonde recover` if we are killed. */
void finish_define(struct session *session);

/* Keeps only which functions a process that is gone has called. */
void finish_collect(struct recorded_process *process);

#endif
