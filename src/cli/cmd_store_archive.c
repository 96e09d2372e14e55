/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde store archive`: packs finished parts. */
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/store_write.h"

struct archive_options {
	struct cli_common common;
	bool rotate;
};

static const struct cli_option archive_own_options[] = {
	{ .name = "rotate",
	  .kind = CLI_FLAG,
	  .help = "finish the current part first, so that it is packed too",
	  .offset = offsetof(struct archive_options, rotate) },
	{ 0 },
};

static int run(struct cli *cli, const void *options)
{
	const struct archive_options *archive = options;
	const char *path = cli->operands[0];
	struct sonde_store *store;
	struct sonde_error err = { 0 };
	uint32_t packed = 0;
	int code = cli_store_open_to_write(cli, path, &store);

	if (code != CLI_OK)
		return code;
	if ((archive->rotate && sonde_store_rotate(store, &err) != SONDE_OK) ||
	    sonde_store_archive(store, &packed, &err) != SONDE_OK)
		code = cli_store_fail(cli, path, &err);
	code = cli_store_close(cli, path, store, code);
	if (code == CLI_OK && !cli->common.quiet) {
		cli_put_counted(&cli->out, packed, "part");
		sonde_buffer_put_text(&cli->out, " packed\n");
	}
	return code;
}

const struct cli_command cmd_store_archive = {
	.name = "store archive",
	.summary = "pack finished parts: smaller, and fast to search",
	.usage = "sonde store archive [OPTIONS] DIR",
	.description =
		"Packs the text indexes of all finished parts into a form that is smaller and is "
		"searched without being unpacked. A store does this by itself in the background, "
		"unless it was made with --no-archive. Readers see the one form or the other, never "
		"half of one. Not while another process writes into the store.",
	.section = CLI_SECTION_STORE,
	.operands = { .name = "DIR", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = 1 },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Options", .options = archive_own_options },
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.examples =
		(const struct cli_example[]){
			{ "sonde store archive traces", "pack what is finished" },
			{ "sonde store archive --rotate traces", "pack everything" },
			{ 0 },
		},
	.options_size = sizeof(struct archive_options),
	.run = run,
};
