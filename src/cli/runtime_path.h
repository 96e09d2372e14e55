/* SPDX-License-Identifier: Apache-2.0 */
/* Where the files of the runtime are, which recorded programs load or link. */
#ifndef SONDE_CLI_RUNTIME_PATH_H
#define SONDE_CLI_RUNTIME_PATH_H

#include "cli/cli.h"

#define CLI_RUNTIME_SHARED "libsonde-rt.so"
#define CLI_RUNTIME_STATIC "libsonde-rt.a"

/*
 * The full path of that file: $SONDE_RUNTIME (the file itself; its neighbour for the static one),
 * beside the command, in the library folder that belongs to it, or where it was installed.
 * malloc'd; NULL after the user was told.
 */
char *cli_runtime_find(struct cli *cli, const char *name);

/* The folder with <sonde/record.h> where no compiler looks by itself; malloc'd, or NULL. */
char *cli_runtime_include(void);

#endif
