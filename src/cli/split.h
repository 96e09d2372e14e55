/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces that `sonde split` writes, what they are called, and what they lack together. */
#ifndef SONDE_CLI_SPLIT_H
#define SONDE_CLI_SPLIT_H

#include "base/json.h"
#include "base/vec.h"
#include "cli/transfer.h"

/* Numbers of pieces have as many digits. */
#define SPLIT_DIGITS 4
#define SPLIT_MOST 9999

/* What stands before and behind the number of a piece. */
struct split_names {
	struct sonde_buffer prefix;
	struct sonde_buffer suffix;
	struct sonde_buffer name; /* the last one asked for */
};

/*
 * From -o PREFIX or FOLDER (NULL: the name of the recording, here) and the suffix of a format. False
 * where memory failed.
 */
bool split_names_init(struct split_names *names, const char *output, const char *recording,
		      const struct sonde_format_info *format);
void split_names_release(struct split_names *names);

/* The name of piece `number`, counted from 1; until the next call. NULL where memory failed. */
const char *split_name(struct split_names *names, size_t number);

/* One thing that pieces lack. */
struct split_loss {
	char *what, *reason;
	bool only_elsewhere;
	bool is_same;	/* every piece that has it has as many */
	size_t pieces;	/* that have it */
	uint64_t count; /* of the first */
	uint64_t total;
};

struct split_losses {
	struct split_loss *items;
	size_t count;
	size_t capacity;
};

/* Adds what one piece lacks; false where memory failed. */
bool split_losses_add(struct split_losses *losses, const struct sonde_loss *loss);
void split_losses_release(struct split_losses *losses);

/* `pieces` is how many there are in all. */
void split_put_losses(struct cli *cli, const struct split_losses *losses, size_t pieces,
		      const char *format);
void split_put_losses_json(struct sonde_json_writer *json, const struct split_losses *losses);

#endif
