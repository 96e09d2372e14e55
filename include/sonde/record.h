/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program can say to the recorder that watches it. Link with -lsonde-rt; without a recorder
 * every function here does nothing and costs a few nanoseconds. All may be called from any thread
 * and from signal handlers.
 */
#ifndef SONDE_RECORD_H
#define SONDE_RECORD_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* This process is being recorded, paused or not. */
bool sonde_record_active(void);

/* No call and no annotation of this process is recorded until resume; pauses do not nest. */
void sonde_record_pause(void);
void sonde_record_resume(void);

/* Puts a named moment into the recording of this thread, as SONDE_MARK() does; up to 255 bytes of text are kept. */
void sonde_record_mark(const char *text);

/* Returns when all that this thread recorded so far is in the files. False: there is no recorder. */
bool sonde_record_flush(void);

/* What --trigger does: a flight recorder writes what it has kept. */
void sonde_record_dump(void);

/*
 * Announces a stack that the program switches to by its own code, or (size 0) that it is gone.
 * Stacks of threads, makecontext() and sigaltstack() are known without this.
 */
void sonde_record_stack(void *low, size_t size);

#ifdef __cplusplus
}
#endif

#endif
