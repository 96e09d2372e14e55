/* SPDX-License-Identifier: Apache-2.0 */
/* Whole traces for `sonde store get`: as a tree in text, and as JSON. */
#ifndef SONDE_CLI_STORE_TREE_H
#define SONDE_CLI_STORE_TREE_H

#include "base/json.h"
#include "cli/cli.h"
#include "store/join.h"

/* Names of all parts that were met; zeroed is new. */
struct cli_store_names {
	SONDE_VEC(struct sonde_names) parts;
};
void cli_store_names_release(struct cli_store_names *names);
/* NULL where memory failed. */
struct sonde_names *cli_store_names_of(struct cli_store_names *names, const struct zts_part *part);

/* Whether names could not be had for want of memory. */
bool cli_store_names_failed(const struct cli_store_names *names);

void cli_put_tree(struct cli *cli, const struct sonde_joined *joined,
		  struct cli_store_names *names);

/* The traces as items of an array; `first` is false where there are items before. */
void cli_put_tree_json(struct cli *cli, const struct sonde_joined *joined,
		       struct cli_store_names *names, bool first);

/* Class and message of an exception, and its cause; appended. Id 0 ends a chain. */
struct cli_exception {
	uint32_t class_name, message, stack, cause;
};
bool cli_exception_of(struct zts_texts *texts, uint32_t id, struct cli_exception *exception);
#define CLI_MOST_CAUSES 100

#endif
