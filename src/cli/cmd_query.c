/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde query`: SQL over recordings, given on the command line, in a file, or typed into a shell. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/query_shell.h"

struct query_command_options {
	struct cli_common common;
	struct cli_input input;
	struct cli_list derive;
	const char *file;
	unsigned int mode; /* enum query_mode */
	bool csv, json, no_header;
	uint64_t max_rows; /* BY_DEFAULT: as many as a screen bears */
	uint64_t timeout_ns;
	uint64_t threads;
	bool no_cache;
};

#define ROWS_ON_SCREEN 1000
#define MOST_RECORDINGS 26
#define BY_DEFAULT UINT64_MAX

static const struct query_command_options query_defaults = { .max_rows = BY_DEFAULT };

static const struct cli_option output_options[] = {
	{ .name = "mode",
	  .argument = "HOW",
	  .kind = CLI_CHOICE,
	  .choices = query_modes,
	  .help = "how rows are printed",
	  .offset = offsetof(struct query_command_options, mode) },
	{ .name = "csv",
	  .kind = CLI_FLAG,
	  .help = "the same as --mode csv",
	  .offset = offsetof(struct query_command_options, csv) },
	{ .name = "json",
	  .kind = CLI_FLAG,
	  .help = "the same as --mode json",
	  .offset = offsetof(struct query_command_options, json) },
	{ .name = "no-header",
	  .kind = CLI_FLAG,
	  .help = "leave the names of columns away",
	  .offset = offsetof(struct query_command_options, no_header) },
	{ .name = "max-rows",
	  .short_name = 'n',
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "print at most N rows of a result, 0 for all; a box on a terminal has 1000 where "
		  "nothing is said, everything else has all",
	  .offset = offsetof(struct query_command_options, max_rows) },
	{ 0 },
};

static const struct cli_option running_options[] = {
	{ .name = "file",
	  .argument = "FILE",
	  .kind = CLI_PATH,
	  .help = "take the SQL from a file; - is standard input",
	  .offset = offsetof(struct query_command_options, file) },
	{ .name = "timeout",
	  .argument = "TIME",
	  .kind = CLI_SECONDS,
	  .help = "end a statement that takes longer, like 30s or 5m",
	  .offset = offsetof(struct query_command_options, timeout_ns) },
	{ .name = "derive",
	  .argument = "FORMULA",
	  .kind = CLI_REPEAT,
	  .help = "add a metric to vals, worked out of others: \"ipc = instructions / cycles\"",
	  .offset = offsetof(struct query_command_options, derive) },
	{ .name = "threads",
	  .short_name = 'j',
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "threads for what is made of a whole recording; one for each processor where "
		  "nothing is said",
	  .offset = offsetof(struct query_command_options, threads) },
	{ .name = "no-cache",
	  .kind = CLI_FLAG,
	  .help = "neither use nor keep trees of contexts in the cache",
	  .offset = offsetof(struct query_command_options, no_cache) },
	{ 0 },
};

/* One run of the command. */
struct query_command {
	struct cli *cli;
	const struct query_command_options *options;
	const char *sql; /* NULL: from a file, or standard input */
	struct query_source sources[MOST_RECORDINGS];
	char names[MOST_RECORDINGS][2]; /* where no name was given */
	char *given_names[MOST_RECORDINGS];
	size_t count;
};

static bool exists(const char *path)
{
	return sonde_path_kind(path) != SONDE_PATH_ABSENT;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The length of NAME in NAME=PATH; 0 where it is not of that form. */
static size_t name_length(const char *operand)
{
	size_t length = 0;

	while (is_letter(operand[length]) ||
	       (length && operand[length] >= '0' && operand[length] <= '9'))
		length++;
	return operand[length] == '=' ? length : 0;
}

/* Whether an operand can be nothing but SQL, or a command of the shell. */
static bool is_sql(const char *operand)
{
	return !strcmp(operand, "-") || query_is_command(operand) || strpbrk(operand, " \t\n;(");
}

/* Decides whether the last operand is SQL. A mistyped path is not to be read as SQL. */
static int split_operands(struct query_command *command)
{
	struct cli *cli = command->cli;
	const char *last = cli->operands[cli->operand_count - 1];

	command->count = cli->operand_count;
	if (exists(last) || name_length(last))
		return CLI_OK;
	if (command->options->file && !is_sql(last))
		return CLI_OK; /* opening it tells that it is not there */
	if (command->options->file)
		return cli_usage(cli, "there is SQL on the command line, and --file");
	if (!is_sql(last)) {
		cli_error(cli, "%s: there is no such file or folder, and it is no SQL either",
			  last);
		cli_hint(cli, "SQL is one argument, in quotes: sonde query RECORDING 'SELECT ...'");
		return CLI_USAGE;
	}
	command->count--;
	if (!command->count)
		return cli_usage(cli, "'query' needs a RECORDING before the SQL");
	if (strcmp(last, "-") != 0)
		command->sql = last;
	return CLI_OK;
}

/* Finds name and path of a recording, and opens it. */
static int open_source(struct query_command *command, size_t number)
{
	const char *operand = command->cli->operands[number];
	size_t length = exists(operand) ? 0 : name_length(operand), i;
	struct query_source *source = &command->sources[number];
	int code;

	command->names[number][0] = (char)('a' + number);
	source->schema = command->names[number];
	if (length) {
		command->given_names[number] = strndup(operand, length);
		if (!command->given_names[number])
			return cli_fail_nomem(command->cli);
		source->schema = command->given_names[number];
		operand += length + 1;
	}
	if (!strcasecmp(source->schema, "main") || !strcasecmp(source->schema, "temp"))
		return cli_usage(command->cli,
				 "'%s' is SQLite's own: give the recording another name",
				 source->schema);
	for (i = 0; i < number; i++)
		if (!strcasecmp(command->sources[i].schema, source->schema))
			return cli_usage(command->cli, "two recordings are called '%s'",
					 source->schema);
	code = cli_open(command->cli, operand, &command->options->input, &source->recording);
	if (code == CLI_OK)
		cli_warn_of_faults(command->cli, source->recording);
	return code;
}

/* SQL from where the options and operands say. */
static int run_sql(struct query_command *command, struct query_session *session)
{
	const char *path = command->options->file;
	FILE *file;
	int code;

	if (command->sql) {
		query_catch_signals(session, false);
		return query_is_command(command->sql) ? query_run_command(session, command->sql) :
							query_run(session, command->sql);
	}
	if ((!path || !strcmp(path, "-")) && command->cli->input_path[0])
		return cli_usage(command->cli, "standard input is a recording: the SQL must be an "
					       "argument, or in a file (--file FILE)");
	if (!path || !strcmp(path, "-"))
		return query_shell(session, stdin);
	file = fopen(path, "re");
	if (!file) {
		cli_error(command->cli, "%s: %s", path, strerror(errno));
		return CLI_FAILED;
	}
	code = query_shell(session, file);
	fclose(file);
	return code;
}

static enum query_mode wanted_mode(const struct query_command_options *options)
{
	if (options->csv)
		return QUERY_CSV;
	return options->json ? QUERY_JSON : (enum query_mode)options->mode;
}

static int run_query(struct query_command *command)
{
	const struct query_command_options *options = command->options;
	struct query_options query_options = { .timeout_ns = options->timeout_ns,
					       .no_cache = options->no_cache,
					       .threads = (unsigned int)options->threads,
					       .derive = options->derive.items,
					       .derive_count = options->derive.count };
	struct query_session session = { .cli = command->cli,
					 .sources = command->sources,
					 .source_count = command->count,
					 .timeout_ns = options->timeout_ns,
					 .output = { .cli = command->cli,
						     .mode = wanted_mode(options),
						     .no_header = options->no_header,
						     .max_rows = options->max_rows } };
	struct sonde_error err = { 0 };
	int code;

	if (options->max_rows == BY_DEFAULT)
		session.output.max_rows = session.output.mode == QUERY_BOX &&
							  command->cli->out_is_terminal ?
						  ROWS_ON_SCREEN :
						  0;
	if (query_open(command->sources, command->count, &query_options, &session.query, &err))
		return err.status == SONDE_ARGUMENT ? cli_usage(command->cli, "%s", err.message) :
						      cli_fail(command->cli, &err);
	code = run_sql(command, &session);
	query_close(session.query);
	return code;
}

static int run(struct cli *cli, const void *given)
{
	struct query_command command = { .cli = cli, .options = given };
	size_t i;
	int code;

	if (command.options->csv + command.options->json + (command.options->mode != QUERY_BOX) > 1)
		return cli_usage(cli, "--csv, --json and --mode exclude each other");
	code = split_operands(&command);
	if (code == CLI_OK && command.count > MOST_RECORDINGS)
		return cli_usage(cli, "at most %d recordings can be queried at once",
				 MOST_RECORDINGS);
	for (i = 0; i < command.count && code == CLI_OK; i++)
		code = open_source(&command, i);
	if (code == CLI_OK)
		code = run_query(&command);
	for (i = 0; i < command.count && i < MOST_RECORDINGS; i++) {
		sonde_recording_close(command.sources[i].recording);
		free(command.given_names[i]);
	}
	return code;
}

const struct cli_command cmd_query = {
	.name = "query",
	.summary = "ask a recording by SQL",
	.usage = "sonde query [OPTIONS] [NAME=]RECORDING... [SQL]",
	.description =
		"Runs SQL over recordings, in the dialect of SQLite. Their tables are read where "
		"they are: nothing is copied, and what a condition says of time, track and function is "
		"looked up. '.tables' in place of SQL lists the tables, '.schema' all columns.\n"
		"\n"
		"Without SQL it is read from standard input: a shell with history where somebody types, "
		"else statements that end with ';', up to the first that fails.\n"
		"\n"
		"The last argument is SQL unless it is there as a file. Nothing can be changed by it: "
		"recordings are only read, and no other file can be reached.",
	.section = CLI_SECTION_LOOK,
	.operands = { .name = "RECORDING",
		      .kind = CLI_OPERAND_PATH,
		      .at_least = 1,
		      .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Output", .options = output_options },
			{ .title = "Running", .options = running_options },
			CLI_INPUT_GROUP(struct query_command_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics =
		(const struct cli_topic[]){
			{ .title = "Several recordings",
			  .text = "They are called a, b, c and so on, or as NAME says: a.spans are the "
				  "spans of the first, b.spans those of the second. A table without a "
				  "name before it is that of the first." },
			{ .title = "Functions",
			  .text = "Beside those of SQLite there are stack(context), the path of a "
				  "context; percentile(value, p), p50, p90, p95, p99, p999, median and "
				  "stddev; demangle, human_time, human_size, human_count; and REGEXP. "
				  "'.functions' says more." },
			{ 0 },
		},
	.examples =
		(const struct cli_example[]){
			{ "sonde query trace .tables", "what there is to ask for" },
			{ "sonde query trace 'SELECT track, p99(dur_ns) FROM spans GROUP BY track'",
			  "how long 99 % of the calls of each thread took at most, in nanoseconds" },
			{ "sonde query --csv trace 'SELECT * FROM spans' > spans.csv",
			  "every call, for a spreadsheet" },
			{ "sonde query trace", "a shell" },
			{ 0 },
		},
	.options_size = sizeof(struct query_command_options),
	.defaults = &query_defaults,
	.run = run,
};
