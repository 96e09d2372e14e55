/* SPDX-License-Identifier: Apache-2.0 */
/* What may be written to, decided before anything is. */
#include "cli/target.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

const struct cli_option cli_target_options[] = {
	{ .name = "output",
	  .short_name = 'o',
	  .argument = "FILE",
	  .kind = CLI_PATH,
	  .help = "where to write the new recording; it appears only when it is whole",
	  .offset = offsetof(struct cli_target, output) },
	{ .name = "force",
	  .kind = CLI_FLAG,
	  .help = "replace an output that exists, once the new one is whole",
	  .offset = offsetof(struct cli_target, force) },
	{ 0 },
};

/* The full name of a path whose last part need not exist; false where its folder does not. */
static bool full_path(const char *path, char full[PATH_MAX])
{
	char folder[PATH_MAX], *slash;
	size_t length = strlen(path), used;
	const char *name;

	if (realpath(path, full))
		return true;
	while (length > 1 && path[length - 1] == '/')
		length--;
	if (length >= sizeof(folder))
		return false;
	memcpy(folder, path, length);
	folder[length] = '\0';
	slash = strrchr(folder, '/');
	name = slash ? slash + 1 : folder;
	if (slash)
		*slash = '\0';
	if (!realpath(!slash ? "." : slash == folder ? "/" : folder, full))
		return false;
	used = strlen(full);
	if (used + strlen(name) + 2 > PATH_MAX)
		return false;
	full[used] = '/';
	memcpy(full + used + 1, name, strlen(name) + 1);
	return true;
}

/* Whether `inner` is `outer` or lies in it; both are full paths. */
static bool is_within(const char *inner, const char *outer)
{
	size_t length = strlen(outer);

	return !strncmp(inner, outer, length) && (!inner[length] || inner[length] == '/');
}

static int check_against_input(struct cli *cli, const char *output, const char *input)
{
	char full_output[PATH_MAX], full_input[PATH_MAX];

	if (!strcmp(input, "-"))
		input = "/proc/self/fd/0";
	if (!full_path(output, full_output) || !realpath(input, full_input))
		return CLI_OK; /* a missing one is told when it is opened */
	if (!strcmp(full_output, full_input))
		return cli_usage(cli,
				 "the output '%s' is the input: a recording is never changed "
				 "in place",
				 output);
	if (is_within(full_output, full_input))
		return cli_usage(cli, "the output '%s' lies inside the input '%s'", output, input);
	if (is_within(full_input, full_output))
		return cli_usage(cli, "the output '%s' contains the input '%s'", output, input);
	return CLI_OK;
}

bool cli_target_is_standard_output(const struct cli_target *target)
{
	return target->output && !strcmp(target->output, "-");
}

bool cli_target_is_free(const struct cli_target *target)
{
	struct sonde_folder folder = { 0 };
	enum sonde_path_kind kind = sonde_path_kind(target->output);
	bool is_empty;

	if (target->force || kind == SONDE_PATH_ABSENT)
		return true;
	/* An empty folder is no obstacle: a script may have made it with mktemp -d. */
	is_empty = kind == SONDE_PATH_FOLDER &&
		   sonde_folder_read(&folder, target->output, NULL) == SONDE_OK && !folder.count;
	sonde_folder_release(&folder);
	return is_empty;
}

int cli_target_check(struct cli *cli, const struct cli_target *target)
{
	size_t i;
	int code;

	if (!target->output)
		return cli_usage(cli, "'%s' needs an output: -o FILE", cli->command->name);
	if (cli_target_is_standard_output(target))
		return cli_usage(cli,
				 "'%s' does not write to standard output; a file called '-' is "
				 "./-",
				 cli->command->name);
	for (i = 0; i < cli->operand_count; i++) {
		code = check_against_input(cli, target->output, cli->operands[i]);
		if (code != CLI_OK)
			return code;
	}
	if (cli_target_is_free(target))
		return CLI_OK;
	cli_error(cli, "%s: exists already", target->output);
	cli_hint(cli, "--force replaces it, once the new recording is whole");
	return CLI_FAILED;
}
