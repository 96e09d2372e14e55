/* SPDX-License-Identifier: Apache-2.0 */
/* The program `sonde`: the table of all its commands, in the order in which they are shown. */
#include "cli/commands.h"

#include <stddef.h>

static const struct cli_example examples[] = {
	{ "cc $(sonde cflags) app.c -o app", "build a program for recording" },
	{ "sonde record ./app", "run it and record its calls" },
	{ "sonde info trace", "what is this recording?" },
	{ "sonde report trace", "where did the time go?" },
	{ "sonde dump trace --limit 20", "its first twenty events" },
	{ "sonde check trace", "is anything wrong with it?" },
	{ "sonde recover crashed -o repaired", "save what a crashed program recorded" },
	{ 0 },
};

const struct cli_program cli_program = {
	.name = "sonde",
	.summary = "record programs; look at, check, repair and convert recordings",
	.examples = examples,
};

static const struct cli_command *const commands[] = {
	&cmd_record,	    &cmd_cflags,       &cmd_info,	   &cmd_dump,
	&cmd_report,	    &cmd_flame,	       &cmd_diff,	   &cmd_query,
	&cmd_check,	    &cmd_formats,      &cmd_recover,	   &cmd_convert,
	&cmd_cut,	    &cmd_split,	       &cmd_merge,	   &cmd_align,
	&cmd_prof,	    &cmd_store,	       &cmd_store_init,	   &cmd_store_ingest,
	&cmd_store_search,  &cmd_store_get,    &cmd_store_stats,   &cmd_store_values,
	&cmd_store_serve,   &cmd_store_rotate, &cmd_store_archive, &cmd_store_check,
	&cmd_store_recover, &cmd_completion,   &cmd_help,
};

const struct cli_command *cli_command_at(size_t index)
{
	return index < sizeof(commands) / sizeof(commands[0]) ? commands[index] : NULL;
}
