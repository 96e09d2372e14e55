/* SPDX-License-Identifier: Apache-2.0 */
/* Opening recordings for a command, with messages. */
#ifndef SONDE_CLI_INPUT_H
#define SONDE_CLI_INPUT_H

#include <sonde/recording.h>

#include "cli/command.h"

struct cli_input {
	const char *format; /* NULL: detect */
};

extern const struct cli_option cli_input_options[];

#define CLI_INPUT_GROUP(type)                                                                      \
	{                                                                                          \
		.title = "Input", .options = cli_input_options, .base = offsetof(type, input)      \
	}

/*
 * The path of an operand: itself or, for `-`, where standard input can be opened, as long as the
 * invocation lives. What fails is told. Returns an exit code.
 */
int cli_input_path(struct cli *cli, const char *operand, const char **path);

/* Whether a path is `-`, or what cli_input_path() made of it. */
bool cli_is_standard_input(const struct cli *cli, const char *path);
#define CLI_STANDARD_INPUT "standard input"

/* What to call a recording on a screen: its path, or CLI_STANDARD_INPUT. */
const char *cli_input_name(const struct cli *cli, const char *path);

/* Opens a recording, `-` being standard input, or says why not. Returns an exit code. */
int cli_open(struct cli *cli, const char *path, const struct cli_input *input,
	     struct sonde_recording **recording);

/* For the topics of commands that read recordings. */
#define CLI_STANDARD_INPUT_TOPIC                                                                   \
	{                                                                                          \
		.title = "Standard input",                                                         \
		.text = "A RECORDING called - is standard input, for formats whose recordings "    \
			"are one file. What comes through a pipe is copied to a file without a "   \
			"name in TMPDIR, or /tmp, first. A file called - is ./-",                  \
	}

/* One warning where the recording is damaged; with --verbose, a line on what it is. */
void cli_warn_of_faults(struct cli *cli, const struct sonde_recording *recording);

#endif
