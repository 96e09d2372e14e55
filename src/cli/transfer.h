/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of convert, cut and merge: sources through the pipeline into a new recording. */
#ifndef SONDE_CLI_TRANSFER_H
#define SONDE_CLI_TRANSFER_H

#include <sonde/format.h>

#include "base/json.h"
#include "cli/input.h"
#include "cli/select.h"
#include "cli/target.h"

struct cli_transfer {
	const char *format; /* NULL: by the name of the output, or as the first source */
	struct cli_list styles;
	const char *loss_report;
	bool strict;
	bool json;
};

extern const struct cli_option cli_transfer_options[];

#define CLI_TRANSFER_GROUP(type)                                                                   \
	{                                                                                          \
		.title = "Writing", .options = cli_transfer_options,                               \
		.base = offsetof(type, transfer)                                                   \
	}

/* What the losses are about, for the topics of a command. */
#define CLI_LOSS_TOPIC                                                                             \
	{                                                                                          \
		.title = "Losses",                                                                 \
		.text = "What the target format cannot hold is counted and named, never dropped "  \
			"in silence. --loss-report writes the same as JSON; with --strict any "    \
			"loss is a failure, and no output appears. What a format can only hold "   \
			"in a way that other programs pass over is listed apart, and is no loss.", \
	}

/* For the topics of commands that also write to standard output. */
#define CLI_PIPE_TOPIC                                                                             \
	{                                                                                          \
		.title = "Pipes",                                                                  \
		.text = "A RECORDING called - is standard input, and -o - is standard output, "    \
			"both for formats whose recordings are one file. What comes through a "    \
			"pipe is copied to a file without a name first, and what goes to "         \
			"standard output is written to a temporary one, both in TMPDIR or /tmp; "  \
			"what the command tells is then on standard error. A file called - is "    \
			"./-",                                                                     \
	}

struct cli_transfer_request {
	const struct cli_input *input;
	const struct cli_target *target;
	const struct cli_transfer *transfer;
	const struct cli_range *range;	 /* or NULL; both only with one operand */
	const struct cli_filter *filter; /* or NULL */
	struct sonde_recording *given;	 /* instead of the operands; stays the caller's. Or NULL */
	/*
	 * Called with the open sources before anything is written, to look at them and to fill in more
	 * of the options; an exit code other than CLI_OK ends it. And with --json, for members of its
	 * own. Both may be NULL.
	 */
	int (*prepare)(struct cli *cli, void *user, struct sonde_recording *const *sources,
		       size_t count, struct sonde_run_options *run);
	void (*put_json)(void *user, struct sonde_json_writer *json);
	void *user;
	bool only_prepare; /* nothing is written, and no output needed */
};

/* The format to write and its style, words with commas: the caller's to release. */
struct cli_transfer_format {
	const char *name;
	const struct sonde_format_info *info;
	struct sonde_buffer style;
};

/* What the options ask for; else what the name of the output says; else what the source is. */
int cli_transfer_choose_format(struct cli *cli, const struct cli_transfer *options,
			       const char *output, const struct sonde_recording *source,
			       struct cli_transfer_format *chosen);

/* The member "losses". */
void cli_put_losses_json(struct sonde_json_writer *json, const struct sonde_loss *loss);

/* Writes the member alone to --loss-report FILE. Returns an exit code. */
int cli_write_loss_report(struct cli *cli, const char *path, const struct sonde_loss *loss);

/* Carries the operands over and tells what was done. Returns the exit code. */
int cli_transfer_run(struct cli *cli, const struct cli_transfer_request *request);

#endif
