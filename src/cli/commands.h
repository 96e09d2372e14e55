/* SPDX-License-Identifier: Apache-2.0 */
/* All commands, each defined in cmd_<name>.c. */
#ifndef SONDE_CLI_COMMANDS_H
#define SONDE_CLI_COMMANDS_H

#include "cli/command.h"

extern const struct cli_command cmd_record;
extern const struct cli_command cmd_cflags;
extern const struct cli_command cmd_info;
extern const struct cli_command cmd_dump;
extern const struct cli_command cmd_report;
extern const struct cli_command cmd_flame;
extern const struct cli_command cmd_diff;
extern const struct cli_command cmd_query;
extern const struct cli_command cmd_check;
extern const struct cli_command cmd_formats;
extern const struct cli_command cmd_recover;
extern const struct cli_command cmd_convert;
extern const struct cli_command cmd_cut;
extern const struct cli_command cmd_split;
extern const struct cli_command cmd_merge;
extern const struct cli_command cmd_align;
extern const struct cli_command cmd_prof;
extern const struct cli_command cmd_store;
extern const struct cli_command cmd_store_init;
extern const struct cli_command cmd_store_ingest;
extern const struct cli_command cmd_store_search;
extern const struct cli_command cmd_store_get;
extern const struct cli_command cmd_store_stats;
extern const struct cli_command cmd_store_values;
extern const struct cli_command cmd_store_serve;
extern const struct cli_command cmd_store_rotate;
extern const struct cli_command cmd_store_archive;
extern const struct cli_command cmd_store_check;
extern const struct cli_command cmd_store_recover;
extern const struct cli_command cmd_completion;
extern const struct cli_command cmd_help;

#endif
