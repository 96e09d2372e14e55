/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde store init`: an empty store with its settings. */
#include "base/file.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/store_write.h"
#include "cli/text.h"

struct init_options {
	struct cli_common common;
	unsigned int codec; /* enum sonde_codec */
	uint64_t part_size;
	uint64_t part_age_ns;
	uint64_t keep_parts;
	uint64_t keep_bytes;
	uint64_t keep_age_ns;
	uint64_t memory;
	uint64_t min_duration_ns;
	bool archive;
};

/* 0 and UINT64_MAX stand for what sonde_store_settings_init() says. */
static const struct init_options init_defaults = { .codec = SONDE_CODEC_LZ4,
						   .keep_parts = UINT64_MAX,
						   .archive = true };

static const struct cli_choice codec_choices[] = {
	[SONDE_CODEC_NONE] = { "none", "not at all" },
	[SONDE_CODEC_DEFLATE] = { "zlib", "smaller, and slower to write" },
	[SONDE_CODEC_LZ4] = { "lz4", "fast; this is what happens if nothing is said" },
	{ 0 },
};

static const struct cli_option init_own_options[] = {
	{ .name = "codec",
	  .argument = "HOW",
	  .kind = CLI_CHOICE,
	  .choices = codec_choices,
	  .help = "how traces are compressed",
	  .offset = offsetof(struct init_options, codec) },
	{ .name = "part-size",
	  .argument = "SIZE",
	  .kind = CLI_SIZE,
	  .help = "a new part begins when one is that large (64M)",
	  .offset = offsetof(struct init_options, part_size) },
	{ .name = "part-age",
	  .argument = "T",
	  .kind = CLI_DURATION,
	  .help = "a new part begins when one is that old (no limit)",
	  .offset = offsetof(struct init_options, part_age_ns) },
	{ .name = "keep-parts",
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "the oldest part is removed when there are more than N (64); 0 means no limit",
	  .offset = offsetof(struct init_options, keep_parts) },
	{ .name = "keep-size",
	  .argument = "SIZE",
	  .kind = CLI_SIZE,
	  .help = "old parts are removed when all together are larger (no limit)",
	  .offset = offsetof(struct init_options, keep_bytes) },
	{ .name = "keep-age",
	  .argument = "T",
	  .kind = CLI_DURATION,
	  .help = "parts are removed when all in them is older, like 720h (no limit)",
	  .offset = offsetof(struct init_options, keep_age_ns) },
	{ .name = "memory",
	  .argument = "SIZE",
	  .kind = CLI_SIZE,
	  .help = "memory for the texts of a part while it is written (256M); a new part begins "
		  "beyond it",
	  .offset = offsetof(struct init_options, memory) },
	{ .name = "min-duration",
	  .argument = "T",
	  .kind = CLI_DURATION,
	  .help = "shorter traces are counted, not kept; whole milliseconds (all are kept)",
	  .offset = offsetof(struct init_options, min_duration_ns) },
	{ .name = "no-archive",
	  .kind = CLI_FLAG_OFF,
	  .help = "do not pack finished parts by themselves; 'sonde store archive' does it",
	  .offset = offsetof(struct init_options, archive) },
	{ 0 },
};

static void put_settings(const struct init_options *options, struct sonde_store_settings *settings)
{
	sonde_store_settings_init(settings);
	settings->codec = (enum sonde_codec)options->codec;
	settings->archive = options->archive;
	if (options->part_size)
		settings->part_size = options->part_size;
	if (options->keep_parts != UINT64_MAX)
		settings->keep_parts = options->keep_parts;
	if (options->memory)
		settings->memory = options->memory;
	settings->keep_bytes = options->keep_bytes;
	/* a part of a second counts as a whole one: 0 would mean no limit */
	settings->part_age_s =
		options->part_age_ns / CLI_NS_PER_S + (options->part_age_ns % CLI_NS_PER_S != 0);
	settings->keep_age_s =
		options->keep_age_ns / CLI_NS_PER_S + (options->keep_age_ns % CLI_NS_PER_S != 0);
	settings->min_duration_ns = options->min_duration_ns;
}

static int run(struct cli *cli, const void *options)
{
	struct sonde_store_settings settings;
	struct sonde_buffer word = { 0 };
	struct sonde_error err = { 0 };

	if (sonde_path_kind(cli->operands[0]) == SONDE_PATH_FILE)
		return cli_store_expect_folder(cli, cli->operands[0]);
	put_settings(options, &settings);
	if (sonde_store_init(cli->operands[0], &settings, &err) != SONDE_OK)
		return cli_store_fail(cli, cli->operands[0], &err);
	if (!cli->common.quiet) {
		sonde_buffer_put_text(&cli->out, "made ");
		cli_put_escaped(&cli->out, cli->operands[0]);
		sonde_buffer_put_char(&cli->out, '\n');
	}
	cli_next(cli, "sonde store serve %s", cli_shell_word(&word, cli->operands[0]));
	sonde_buffer_release(&word);
	return CLI_OK;
}

const struct cli_command cmd_store_init = {
	.name = "store init",
	.summary = "make an empty store",
	.usage = "sonde store init [OPTIONS] DIR",
	.description =
		"Makes a folder for a store and writes its settings into DIR/store.props, where they "
		"can be changed later: they are read when the store is opened for writing. SIZE and T "
		"have units, like 512M, 2G, 90m or 24h.\n"
		"\n"
		"A store does not grow without end: if nothing else is said, it keeps 64 parts of 64 MiB "
		"each, and removes older ones. '--keep-parts 0' keeps everything.",
	.section = CLI_SECTION_STORE,
	.operands = { .name = "DIR", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = 1 },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Settings", .options = init_own_options },
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.examples =
		(const struct cli_example[]){
			{ "sonde store init new-store", "a store with what is usual" },
			{ "sonde store init new-store --keep-age 720h --keep-size 20G",
			  "traces of the last 30 days, but no more than 20 GiB" },
			{ 0 },
		},
	.options_size = sizeof(struct init_options),
	.defaults = &init_defaults,
	.run = run,
};
