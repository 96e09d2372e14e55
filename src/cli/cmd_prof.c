/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde prof`: the measurements of many threads as one database. */
#include <string.h>

#include "cli/commands.h"
#include "cli/prof.h"
#include "cli/progress.h"
#include "cli/report_file.h"
#include "formats/hpcdb/hpcdb_write.h"

enum { STATS_NONE, STATS_SUM, STATS_MEAN, STATS_DEVIATION, STATS_EXTREMA, STATS_COUNT, STATS_ALL };

static const struct cli_choice statistic_choices[] = {
	[STATS_NONE] = { "none", "no statistics; alone" },
	[STATS_SUM] = { "sum", "over all threads, as usual" },
	[STATS_MEAN] = { "mean", "the mean over the threads" },
	[STATS_DEVIATION] = { "deviation", "standard deviation and variation" },
	[STATS_EXTREMA] = { "extrema", "least and largest" },
	[STATS_COUNT] = { "count", "on how many threads there is a value" },
	[STATS_ALL] = { "all", "all of these" },
	{ 0 },
};

static const struct cli_option output_options[] = {
	{ .name = "output",
	  .short_name = 'o',
	  .argument = "DIR",
	  .kind = CLI_PATH,
	  .help = "where to write the database; without it, the name of the first input with "
		  "'.d' in place of '-measurements', '.m' or '.hpcrun'",
	  .offset = offsetof(struct cli_target, output) },
	{ .name = "force",
	  .kind = CLI_FLAG,
	  .help = "replace a database that exists, once the new one is whole",
	  .offset = offsetof(struct cli_target, force) },
	{ 0 },
};

static const struct cli_option content_options[] = {
	{ .name = "stats",
	  .argument = "LIST",
	  .kind = CLI_CHOICE_SET,
	  .choices = statistic_choices,
	  .help = "statistics over the threads, several with commas; sum where nothing is said",
	  .offset = offsetof(struct cli_prof_options, statistics) },
	{ .name = "title",
	  .argument = "TEXT",
	  .kind = CLI_TEXT,
	  .help = "the title of the database; without it, the name of the program",
	  .offset = offsetof(struct cli_prof_options, title) },
	{ .name = "no-thread-values",
	  .kind = CLI_FLAG,
	  .help = "leave out the values of single threads: only statistics stay",
	  .offset = offsetof(struct cli_prof_options, no_thread_values) },
	{ .name = "no-traces",
	  .kind = CLI_FLAG,
	  .help = "leave out the samples over time",
	  .offset = offsetof(struct cli_prof_options, no_traces) },
	{ .name = "sources",
	  .kind = CLI_FLAG,
	  .help = "copy the source files that can be found into the database",
	  .offset = offsetof(struct cli_prof_options, sources) },
	{ 0 },
};

static const struct cli_option name_options[] = {
	{ .name = "struct",
	  .argument = "PATH",
	  .kind = CLI_REPEAT,
	  .help = "take names from this .hpcstruct file, or the ones in this folder; may be "
		  "repeated",
	  .offset = offsetof(struct cli_prof_options, structs) },
	{ .name = "ignore-structs",
	  .kind = CLI_FLAG,
	  .help = "do not use the .hpcstruct files beside the measurements",
	  .offset = offsetof(struct cli_prof_options, ignore_structs) },
	{ .name = "ignore-binaries",
	  .kind = CLI_FLAG,
	  .help = "take no names from programs and libraries, but for those that lie with "
		  "the profiles (vdso)",
	  .offset = offsetof(struct cli_prof_options, ignore_binaries) },
	{ .name = "dwarf-limit",
	  .argument = "SIZE",
	  .kind = CLI_SIZE,
	  .help = "of binaries larger than SIZE take only the symbols, not DWARF",
	  .offset = offsetof(struct cli_prof_options, dwarf_limit) },
	{ .name = "replace-path",
	  .short_name = 'R',
	  .argument = "OLD=NEW",
	  .kind = CLI_REPEAT,
	  .help = "where the path of a binary or a source file begins with OLD, take NEW "
		  "instead; may be repeated",
	  .offset = offsetof(struct cli_prof_options, replacements) },
	{ 0 },
};

static const struct cli_option run_options[] = {
	{ .name = "only",
	  .argument = "PATTERN",
	  .kind = CLI_REPEAT,
	  .help = "merge only profiles whose file names fit this shell pattern; may be "
		  "repeated",
	  .offset = offsetof(struct cli_prof_options, only) },
	{ .name = "threads",
	  .short_name = 'j',
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "work with so many threads; without it, one a processor",
	  .offset = offsetof(struct cli_prof_options, threads) },
	{ .name = "dry-run",
	  .kind = CLI_FLAG,
	  .help = "read and work out everything, but write nothing",
	  .offset = offsetof(struct cli_prof_options, dry_run) },
	{ .name = "report",
	  .argument = "FILE",
	  .kind = CLI_PATH,
	  .help = "write what was merged and what was refused to FILE, as JSON",
	  .offset = offsetof(struct cli_prof_options, report) },
	{ 0 },
};

/* What the options are in the library's words. */
struct request {
	struct sonde_prof_options options;
	struct sonde_prof_replacement *replacements;
	char **space; /* what the texts of the replacements were copied to */
	size_t count;
};

static void release_request(struct request *request)
{
	size_t i;

	for (i = 0; request->space && i < request->count; i++)
		free(request->space[i]);
	free(request->space);
	free(request->replacements);
}

static int split_replacements(struct cli *cli, const struct cli_list *list, struct request *request)
{
	size_t i;

	request->count = list->count;
	request->space = calloc(list->count + 1, sizeof(*request->space));
	request->replacements = calloc(list->count + 1, sizeof(*request->replacements));
	if (!request->space || !request->replacements)
		return cli_fail_nomem(cli);
	for (i = 0; i < list->count; i++) {
		char *equals;

		request->space[i] = strdup(list->items[i]);
		if (!request->space[i])
			return cli_fail_nomem(cli);
		equals = strchr(request->space[i], '=');
		if (!equals || equals == request->space[i])
			return cli_usage(cli, "--replace-path takes OLD=NEW, not '%s'",
					 list->items[i]);
		*equals = '\0';
		request->replacements[i] =
			(struct sonde_prof_replacement){ .from = request->space[i],
							 .to = equals + 1 };
	}
	return CLI_OK;
}

static int choose_statistics(struct cli *cli, unsigned int chosen, unsigned int *statistics)
{
	static const unsigned int bits[] = {
		[STATS_NONE] = 0,
		[STATS_SUM] = HPCDB_STATISTIC_SUM,
		[STATS_MEAN] = HPCDB_STATISTIC_MEAN,
		[STATS_DEVIATION] = HPCDB_STATISTIC_DEVIATION,
		[STATS_EXTREMA] = HPCDB_STATISTIC_EXTREMA,
		[STATS_COUNT] = HPCDB_STATISTIC_COUNT,
		[STATS_ALL] = HPCDB_STATISTIC_SUM | HPCDB_STATISTIC_MEAN |
			      HPCDB_STATISTIC_DEVIATION | HPCDB_STATISTIC_EXTREMA |
			      HPCDB_STATISTIC_COUNT,
	};
	unsigned int i;

	if (!chosen)
		chosen = 1 << STATS_SUM;
	if (chosen & 1 << STATS_NONE && chosen != 1 << STATS_NONE)
		return cli_usage(cli, "--stats none stands alone");
	for (i = 0; i <= STATS_ALL; i++)
		if (chosen & 1u << i)
			*statistics |= bits[i];
	return CLI_OK;
}

static int make_request(struct cli *cli, const struct cli_prof_options *options,
			struct request *request)
{
	int code = split_replacements(cli, &options->replacements, request);

	request->options = (struct sonde_prof_options){
		.title = options->title,
		.replace = options->target.force,
		.dry_run = options->dry_run,
		.threads = options->threads > 512 ? 512 : (unsigned int)options->threads,
		.no_thread_values = options->no_thread_values,
		.no_traces = options->no_traces,
		.copy_sources = options->sources,
		.ignore_structs = options->ignore_structs,
		.ignore_binaries = options->ignore_binaries,
		.dwarf_limit = options->dwarf_limit,
		.structs = options->structs.items,
		.struct_count = options->structs.count,
		.replacements = request->replacements,
		.replacement_count = request->count,
		.only = options->only.items,
		.only_count = options->only.count,
		.team = cli->team,
	};
	if (code == CLI_OK)
		code = choose_statistics(cli, options->statistics, &request->options.statistics);
	if (code == CLI_OK && options->no_thread_values && !request->options.statistics)
		return cli_usage(cli, "--no-thread-values and --stats none leave no values at all");
	return code;
}

/* Without what such names end in, if there is something before it. */
static size_t cut_suffix(const char *path, size_t length, const char *suffix)
{
	size_t cut = strlen(suffix);

	if (length > cut && !memcmp(path + length - cut, suffix, cut) &&
	    path[length - cut - 1] != '/')
		return length - cut;
	return length;
}

/* The output's name where none was given; malloc'd. */
static char *default_output(const char *input)
{
	static const char *const suffixes[] = { "-measurements", ".m", ".hpcrun" };
	size_t length = strlen(input), whole, i;
	char *name;

	while (length > 1 && input[length - 1] == '/')
		length--;
	whole = length;
	for (i = 0; i < 3 && length == whole; i++)
		length = cut_suffix(input, length, suffixes[i]);
	name = malloc(length + 3);
	if (name) {
		memcpy(name, input, length);
		memcpy(name + length, ".d", 3);
	}
	return name;
}

static int write_report(struct cli *cli, const struct cli_prof_options *options,
			const struct sonde_prof_report *report, bool written)
{
	struct sonde_buffer text = { 0 };
	int code;

	if (!options->report || cli_is_silent(cli))
		return CLI_OK;
	cli_prof_put_json(&text, cli, options, report, written);
	code = cli_write_report(cli, options->report, &text);
	sonde_buffer_release(&text);
	return code;
}

/* Tells what came of it. Returns the exit code. */
static int tell(struct cli *cli, const struct cli_prof_options *options,
		const struct sonde_prof_report *report, enum sonde_status status,
		const struct sonde_error *err)
{
	int code;

	if (status != SONDE_OK) {
		code = CLI_FAILED;
		if (status == SONDE_FORMAT) {
			cli_prof_put_refusals(cli, report);
			cli_error(cli, "%s", err->message);
		} else {
			code = cli_fail(cli, err);
		}
		write_report(cli, options, report, false);
		return code;
	}
	if (!cli->common.quiet)
		cli_prof_put_summary(cli, options, report);
	code = write_report(cli, options, report, !options->dry_run);
	if (code == CLI_OK && report->refusals.count)
		return CLI_FINDINGS;
	return code;
}

static int merge(struct cli *cli, const struct cli_prof_options *options)
{
	struct sonde_prof_report report = { 0 };
	struct sonde_error err = { .offset = SONDE_NO_OFFSET };
	struct request request = { 0 };
	struct cli_progress progress;
	enum sonde_status status;
	int code = make_request(cli, options, &request);

	if (code == CLI_OK) {
		cli_progress_begin(cli, &progress, "merging", "profile");
		request.options.progress = &progress.progress;
		status = sonde_prof_run((const char *const *)cli->operands, cli->operand_count,
					options->target.output, &request.options, &report, &err);
		cli_progress_end(&progress);
		code = tell(cli, options, &report, status, &err);
	}
	sonde_prof_report_release(&report);
	release_request(&request);
	return code;
}

static int run(struct cli *cli, const void *given)
{
	struct cli_prof_options options = *(const struct cli_prof_options *)given;
	char *name = NULL;
	int code;

	if (!options.target.output) {
		name = default_output(cli->operands[0]);
		if (!name)
			return cli_fail_nomem(cli);
		options.target.output = name;
	}
	code = options.dry_run ? CLI_OK : cli_target_check(cli, &options.target);
	if (code == CLI_OK && options.report)
		code = cli_check_report(cli, options.report, options.target.output);
	if (code == CLI_OK)
		code = merge(cli, &options);
	free(name);
	return code;
}

const struct cli_command cmd_prof = {
	.name = "prof",
	.summary = "merge measurements into an HPCToolkit database",
	.usage = "sonde prof [OPTIONS] MEASUREMENTS... [-o DIR]",
	.description =
		"Merges the profiles of any number of threads into one database that HPCToolkit's "
		"viewers open: one tree of calling contexts for all threads, with functions, loops, "
		"lines and inlined calls; what each thread spent in each of them, also added up along "
		"calls; statistics over the threads; samples over time.\n"
		"\n"
		"MEASUREMENTS are folders of .hpcrun files, as HPCToolkit's hpcrun leaves them, single "
		".hpcrun files, and recordings with calls, as 'sonde record' makes them.",
	.section = CLI_SECTION_WRITE,
	.operands = { .name = "MEASUREMENTS",
		      .kind = CLI_OPERAND_PATH,
		      .at_least = 1,
		      .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Output",
			  .options = output_options,
			  .base = offsetof(struct cli_prof_options, target) },
			{ .title = "What is written", .options = content_options },
			{ .title = "Names", .options = name_options },
			{ .title = "Running", .options = run_options },
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics =
		(const struct cli_topic[]){
			{ .title = "Where names come from",
			  .text = "For each program or library: an .hpcstruct file (structs/ beside the "
				  "measurements, or --struct), else DWARF in the binary or its debug file, "
				  "else its symbols, else addresses. Only .hpcstruct files know of loops." },
			{ .title = "Damaged inputs",
			  .text = "What cannot be read is refused, with the reason, and the rest is "
				  "merged; the exit code is then 1. 'sonde recover' makes a folder of "
				  "measurements whole again, with what is left. Where nothing can be "
				  "merged no database is written, and the exit code is 3." },
			{ .title = "The same bytes",
			  .text = "The database depends on the measurements alone, not on -j, the order "
				  "of the inputs, or the number of processes of sonde-mpi." },
			{ 0 },
		},
	.examples =
		(const struct cli_example[]){
			{ "sonde prof hpctoolkit-app-measurements -o app.d", "merge one run" },
			{ "sonde prof trace -o app.d", "a recording as a profile of its calls" },
			{ "sonde prof run.m -R /build=/srv/app --sources",
			  "binaries and sources moved; copy the sources" },
			{ "sonde prof run.m --only '*-000-*' --stats all -o main.d",
			  "the first thread of each process, all statistics" },
			{ 0 },
		},
	.options_size = sizeof(struct cli_prof_options),
	.run = run,
};
