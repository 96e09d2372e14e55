/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a store for writing, with messages. */
#include "cli/store_write.h"

#include "base/file.h"

int cli_store_fail(struct cli *cli, const char *path, struct sonde_error *err)
{
	sonde_error_set_file(err, path);
	return cli_fail(cli, err);
}

int cli_store_open_to_write(struct cli *cli, const char *path, struct sonde_store **store)
{
	struct sonde_diagnostics *diagnostics;
	struct sonde_error err = { 0 };
	enum sonde_status status;

	if (sonde_path_kind(path) != SONDE_PATH_FOLDER) {
		cli_error(cli, "%s: there is no such folder", path);
		cli_hint(cli, "'sonde store init %s' makes a store", path);
		return CLI_FAILED;
	}
	diagnostics = sonde_diagnostics_new();
	if (!diagnostics)
		return cli_fail_nomem(cli);
	status = sonde_store_open(path, store, diagnostics, &err);
	if (status == SONDE_OK && sonde_diagnostics_count(diagnostics, SONDE_WARNING))
		cli_warning(cli, "%s was not closed properly the last time, and was mended", path);
	sonde_diagnostics_free(diagnostics);
	return status == SONDE_OK ? CLI_OK : cli_store_fail(cli, path, &err);
}

int cli_store_close(struct cli *cli, const char *path, struct sonde_store *store, int code)
{
	struct sonde_error err = { 0 };

	if (sonde_store_close(store, &err) != SONDE_OK && code == CLI_OK)
		return cli_store_fail(cli, path, &err);
	return code;
}
