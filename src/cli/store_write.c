/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a store for writing, with messages. */
#include "cli/store_write.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/text.h"
#include "formats/zts/zts_read.h"

int cli_store_fail(struct cli *cli, const char *path, struct sonde_error *err)
{
	sonde_error_set_file(err, path);
	return cli_fail(cli, err);
}

int cli_store_expect_folder(struct cli *cli, const char *path)
{
	enum sonde_path_kind kind = sonde_path_kind(path);
	struct sonde_buffer word = { 0 };

	if (kind == SONDE_PATH_FOLDER)
		return CLI_OK;
	if (kind == SONDE_PATH_ABSENT) {
		cli_error(cli, "%s: there is no such folder", path);
		cli_hint(cli, "sonde store init %s   makes a store", cli_shell_word(&word, path));
		sonde_buffer_release(&word);
	} else {
		cli_error(cli, "%s: this is no folder, and a trace store is one", path);
	}
	return CLI_FAILED;
}

/* Nothing is written into folders of other things, nor into one part of a store. */
static int expect_store(struct cli *cli, const char *path)
{
	char *data = sonde_path_join(path, ZTS_DATA_NAME);
	bool is_part;

	if (!data)
		return cli_fail_nomem(cli);
	is_part = sonde_path_kind(data) == SONDE_PATH_FILE;
	free(data);
	if (is_part) {
		cli_error(cli, "%s: this is one part of a store; give the folder that it is in",
			  path);
		return CLI_FAILED;
	}
	/* One that cannot be read says why when it is opened. */
	if (zts_probe(path) || access(path, R_OK | X_OK))
		return CLI_OK;
	cli_error(cli, "%s: this folder is no trace store", path);
	cli_hint(cli, "'sonde store init DIR' makes a store, in a new or an empty folder");
	return CLI_FAILED;
}

int cli_store_open_to_write(struct cli *cli, const char *path, struct sonde_store **store)
{
	struct sonde_diagnostics *diagnostics;
	struct sonde_error err = { 0 };
	enum sonde_status status;
	int code = cli_store_expect_folder(cli, path);

	if (code == CLI_OK)
		code = expect_store(cli, path);
	if (code != CLI_OK)
		return code;
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
