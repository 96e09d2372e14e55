/* SPDX-License-Identifier: Apache-2.0 */
/* Reports that commands write on request (--loss-report, --report). */
#include "cli/report_file.h"

#include <string.h>

#include "base/file.h"
#include "base/team.h"

static bool lies_in(const char *path, const char *folder)
{
	size_t length = strlen(folder);

	while (length > 1 && folder[length - 1] == '/')
		length--;
	return !strncmp(path, folder, length) && path[length] == '/';
}

int cli_check_report(struct cli *cli, const char *path, const char *output)
{
	struct sonde_staged staged = { 0 };
	struct sonde_error err = { 0 };
	enum sonde_status status = SONDE_OK;

	if (!sonde_team_rank(cli->team) && !lies_in(path, output)) {
		status = sonde_staged_begin(&staged, path, false, true, &err);
		sonde_staged_release(&staged);
	}
	status = sonde_team_agree(cli->team, status, &err);
	return status == SONDE_OK ? CLI_OK : cli_fail(cli, &err);
}

int cli_write_report(struct cli *cli, const char *path, const struct sonde_buffer *text)
{
	struct sonde_error err = { 0 };
	enum sonde_status status = text->failed ?
					   sonde_fail_nomem(&err) :
					   sonde_file_replace(path, text->data, text->size, &err);

	return status == SONDE_OK ? CLI_OK : cli_fail(cli, &err);
}
