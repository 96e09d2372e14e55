/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the system for the names of threads, which programs give late, and for what processes run. */
#ifndef SONDE_RECORD_NAMES_H
#define SONDE_RECORD_NAMES_H

#include "record/session.h"

/* Once a second; of all threads that are being read. */
void names_poll(struct session *session);

/* The name of a thread, or of a process (thread equal to it), into `name`; false: it is gone. */
bool names_read(uint32_t process, uint32_t thread, char name[SESSION_NAME_SIZE]);

/* Program and arguments, each with its NUL, `size` bytes in all; the caller's. NULL: it is gone. */
char *names_command_line(uint32_t process, size_t *size);

#endif
