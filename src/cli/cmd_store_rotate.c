/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde store rotate`: finishes the current part, removes what is beyond the limits. */
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/store_write.h"

struct rotate_options {
	struct cli_common common;
};

static int run(struct cli *cli, const void *options)
{
	const char *path = cli->operands[0];
	struct sonde_store *store;
	struct sonde_error err = { 0 };
	uint32_t removed = 0, packed = 0;
	int code = cli_store_open_to_write(cli, path, &store);

	(void)options;
	if (code != CLI_OK)
		return code;
	/* A part that is packed is never gone on with: that is what finishes it for later, too. */
	if (sonde_store_rotate(store, &err) != SONDE_OK ||
	    sonde_store_archive(store, &packed, &err) != SONDE_OK ||
	    sonde_store_retain(store, &removed, &err) != SONDE_OK)
		code = cli_store_fail(cli, path, &err);
	code = cli_store_close(cli, path, store, code);
	if (code == CLI_OK && !cli->common.quiet) {
		cli_put_counted(&cli->out, packed, "part");
		sonde_buffer_put_text(&cli->out, " finished and packed, ");
		cli_put_count(&cli->out, removed);
		sonde_buffer_put_text(&cli->out, " removed\n");
	}
	return code;
}

const struct cli_command cmd_store_rotate = {
	.name = "store rotate",
	.summary = "finish the current part now, and remove old ones",
	.usage = "sonde store rotate [OPTIONS] DIR",
	.description =
		"Finishes the part that is being written and packs it, so that the next trace begins a "
		"new one, and removes parts that are beyond the limits of the settings. Both happen by "
		"themselves when traces come in; this is for doing it at a time of your choice. Not "
		"while another process writes into the store.",
	.section = CLI_SECTION_STORE,
	.operands = { .name = "DIR", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = 1 },
	.options = (const struct cli_option_group[]){ CLI_COMMON_GROUP, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde store rotate traces", "begin a new part, remove old ones" },
			{ 0 },
		},
	.options_size = sizeof(struct rotate_options),
	.run = run,
};
