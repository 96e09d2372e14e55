/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a store for writing, with messages. */
#ifndef SONDE_CLI_STORE_WRITE_H
#define SONDE_CLI_STORE_WRITE_H

#include "cli/cli.h"
#include "store/store.h"

/* A message and CLI_FAILED where there is no such folder, or something else in its place. */
int cli_store_expect_folder(struct cli *cli, const char *path);

/* Takes the lock of a store that is there; what a killed writer left is mended, and said. */
int cli_store_open_to_write(struct cli *cli, const char *path, struct sonde_store **store);

/* Closes it; `code` is returned where that works, else the failure is told. */
int cli_store_close(struct cli *cli, const char *path, struct sonde_store *store, int code);

/* A failure of the library, about this store. */
int cli_store_fail(struct cli *cli, const char *path, struct sonde_error *err);

#endif
