/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command as data. Parsing, --help, the man pages and the completions of three shells are all
 * made from these tables, so that none of them can be forgotten.
 */
#ifndef SONDE_CLI_COMMAND_H
#define SONDE_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"

/* What an option's argument is, and the type of the place where its value is put. */
enum cli_value {
	CLI_FLAG,	/* bool; takes no argument */
	CLI_FLAG_OFF,	/* bool, set to false; takes no argument */
	CLI_NUMBER,	/* uint64_t */
	CLI_TIME,	/* struct cli_time */
	CLI_MOMENT,	/* struct cli_time; dates are taken too */
	CLI_DURATION,	/* uint64_t: nanoseconds; needs a unit */
	CLI_SECONDS,	/* the same, but a number without a unit is seconds */
	CLI_SIZE,	/* uint64_t: bytes */
	CLI_PERCENT,	/* double: a share, 0.05 of "5%" */
	CLI_TEXT,	/* const char * */
	CLI_PATH,	/* const char *: a file or folder */
	CLI_FORMAT,	/* const char *: the name of a format */
	CLI_CHOICE,	/* unsigned int: the position in `choices` */
	CLI_CHOICE_SET, /* unsigned int: bits 1 << position; commas and repeats add */
	CLI_LIST,	/* struct cli_list; commas and repeats add */
	CLI_REPEAT,	/* struct cli_list; repeats add, a comma is a character like any other */
};

struct cli_list {
	const char **items; /* borrowed from the arguments, or from `space` */
	size_t count;
	size_t capacity;
	char **space; /* owned copies that were split at commas */
	size_t space_count;
	size_t space_capacity;
};

struct cli_choice {
	const char *name;
	const char *help;
};

/* Tables of options end with one without a name. */
struct cli_option {
	const char *name;
	const char *argument; /* what stands for it in texts ("FILE"); NULL for a flag */
	const char *implied;  /* the argument may be left out, and is then this; else NULL */
	const char *help;     /* a phrase, lower case, no full stop at the end */
	const struct cli_choice *choices; /* end with one without a name */
	size_t offset;			  /* of the value in the struct of its table */
	enum cli_value kind;
	char short_name; /* 0: none */
};

static inline bool cli_takes_argument(const struct cli_option *option)
{
	return option->kind != CLI_FLAG && option->kind != CLI_FLAG_OFF;
}

/* One table and where its struct lies in the command's; ends with one without options. */
struct cli_option_group {
	const char *title;
	const struct cli_option *options;
	size_t base;
	bool hidden; /* parsed, and shown nowhere */
};

enum cli_operand_kind {
	CLI_OPERAND_PATH,
	CLI_OPERAND_COMMAND,	/* of sonde */
	CLI_OPERAND_SUBCOMMAND, /* of the command itself: see cli_command_below() */
	CLI_OPERAND_CHOICE,
	/* a program and its arguments: nothing after it is an option of ours */
	CLI_OPERAND_PROGRAM,
};

struct cli_operands {
	const char *name; /* "RECORDING" */
	enum cli_operand_kind kind;
	const struct cli_choice *choices;
	size_t at_least;
	size_t at_most; /* SIZE_MAX: any number */
	/* "--" parts them: it stays among them, and options may follow it */
	bool keeps_separator;
};

struct cli_example {
	const char *command;
	const char *shows;
};

/* More to know, under a title of its own, in --help and in the man page. */
struct cli_topic {
	const char *title;
	const char *text;
};

enum cli_section {
	CLI_SECTION_RECORD,
	CLI_SECTION_LOOK,
	CLI_SECTION_WRITE,
	CLI_SECTION_STORE,
	CLI_SECTION_HELP,
	CLI_SECTION_COUNT,
};

/*
 * In texts a blank line parts paragraphs; lines that begin with two spaces stay as they are.
 */
struct cli_command {
	const char *name;    /* of two words below a command with subcommands: "store search" */
	const char *summary; /* one line, lower case, no full stop */
	const char *usage;
	const char *description;
	enum cli_section section;
	struct cli_operands operands;
	const struct cli_option_group *options;
	const struct cli_topic *topics;	    /* NULL, or ends with one without a title */
	const struct cli_example *examples; /* end with one without a command */
	const char *exit_status; /* for the man page, where it is not the usual; else NULL */
	size_t options_size;
	const void *defaults; /* of the options; NULL: zeros */
	int (*run)(struct cli *cli, const void *options);
};

/* The program itself: `sonde` (commands.c), or another one with a table of its own (src/mpi). */
struct cli_program {
	const char *name;
	const char *summary;
	const struct cli_example *examples;
};
extern const struct cli_program cli_program;

/* All commands of the program, those of two words too; NULL past the last. */
const struct cli_command *cli_command_at(size_t index);

/* Only the subcommands of a command; for NULL those of one word. NULL past the last. */
const struct cli_command *cli_command_below(const struct cli_command *above, size_t index);

/* Its name without that of the command above it: the last word. */
const char *cli_command_word(const struct cli_command *command);

/* The name in one word, for files and scripts: "store-search". */
void cli_put_command_id(struct sonde_buffer *out, const struct cli_command *command);

/*
 * The command that words (ended by NULL) begin with, and how many of them are its name. Where there
 * is none it is said, with the one that was perhaps meant, and NULL returned: CLI_USAGE.
 */
const struct cli_command *cli_find_command(struct cli *cli, char *const *words, size_t *used);

/* Titles of sections, for the overview. */
const char *cli_section_title(enum cli_section section);

/* The group that every command's tables end with, before the empty one. */
extern const struct cli_option cli_common_options[];
#define CLI_COMMON_GROUP                                                                           \
	{                                                                                          \
		.title = "Common options", .options = cli_common_options                           \
	}

/* The flag of commands that print JSON, for a table of theirs. */
#define CLI_JSON_OPTION(type)                                                                      \
	{                                                                                          \
		.name = "json", .kind = CLI_FLAG, .help = "print JSON, for programs",              \
		.offset = offsetof(type, json)                                                     \
	}

#endif
