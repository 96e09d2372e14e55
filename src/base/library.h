/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that are loaded when they are needed: few commands need them, and loading takes time. */
#ifndef SONDE_LIBRARY_H
#define SONDE_LIBRARY_H

#include <sonde/status.h>
#include <stddef.h>

/*
 * Loads a library and finds its functions: `functions` are as many pointers as there are names, NULL at
 * first; again, it changes nothing. Failing, SONDE_UNSUPPORTED, and all stay NULL; `need` says who needs
 * which, as in "a server needs libx".
 */
enum sonde_status sonde_library_load(const char *need, const char *file_name,
				     const char *const *names, size_t count, void *functions,
				     struct sonde_error *err);

#endif
