/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goes round the rings of all threads, reads what is new, and frees what is read. Runs in a thread of
 * its own until nothing is left to record, then finishes the session.
 */
#ifndef SONDE_RECORD_DRAIN_H
#define SONDE_RECORD_DRAIN_H

#include "record/session.h"

/* The thread's main function; the context is the session. */
void *drain_main(void *context);

/* Reads what was written to one ring so far. */
enum sonde_status drain_ring(struct session *session, uint32_t number, struct sonde_error *err);

/* Wakes the thread, where it sleeps. */
void drain_wake(struct session *session);

/* Frees a thread whose ring was not read to its end. */
void drain_free_thread(struct recorded_thread *thread);

#endif
