/* SPDX-License-Identifier: Apache-2.0 */
/* Where the folders of a session that is written lie. All paths are malloc'd; NULL: no memory. */
#ifndef SONDE_ATF_PATHS_H
#define SONDE_ATF_PATHS_H

#include <stdint.h>

/*
 * "SESSION/pid_12", or "pid_unknown" for SONDE_NONE; with "_2" behind it for the second process
 * of that name, and so on. `number` counts from 1.
 */
char *atf_process_folder(const char *session, uint32_t pid, uint32_t number);

/* The folder of a part of a process; part 0 is the pid folder itself. */
char *atf_part_folder(const char *process_folder, uint32_t part);

/* The folder of a thread in the folder of a part. */
char *atf_thread_folder(const char *part_folder, uint32_t slot);

#endif
