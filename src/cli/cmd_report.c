/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde report`: where the time went. Options, what was read, and which view of it is made and printed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/progress.h"
#include "cli/quantity.h"
#include "cli/report.h"
#include "cli/suggest.h"
#include "cli/text.h"

#define DECIMALS_MOST 9
#define PAGE_ROWS 1000 /* of a table in HTML */

static const struct cli_choice group_choices[] = {
	[GROUP_FUNCTION] = { "function", "as without it" },
	[GROUP_MODULE] = { "module", "programs and libraries" },
	[GROUP_FILE] = { "file", "source files" },
	[GROUP_LINE] = { "line", "source lines; of calls, where functions begin" },
	[GROUP_LOOP] = { "loop", "loops, of profiles that know them" },
	[GROUP_TRACK] = { "track", "threads, and what else runs for itself" },
	[GROUP_PROCESS] = { "process", "processes, or ranks" },
	{ 0 },
};

static const struct cli_option view_options[] = {
	{ .name = "tree",
	  .kind = CLI_FLAG,
	  .help = "who calls whom, from the top down",
	  .offset = offsetof(struct report_options, tree) },
	{ .name = "callers",
	  .kind = CLI_FLAG,
	  .help = "each function with its callers below it, from the bottom up",
	  .offset = offsetof(struct report_options, callers) },
	{ .name = "hot-path",
	  .kind = CLI_FLAG,
	  .help = "from the top again and again the call that most was spent in, as long as that "
		  "is a tenth of the whole, or --min",
	  .offset = offsetof(struct report_options, hot_path) },
	{ .name = "threads",
	  .kind = CLI_FLAG,
	  .help = "every track: how much it did, how long it was busy and idle, what it lost",
	  .offset = offsetof(struct report_options, threads) },
	{ .name = "imbalance",
	  .kind = CLI_FLAG,
	  .help = "how unevenly threads and processes share the work, and in which contexts",
	  .offset = offsetof(struct report_options, imbalance) },
	{ .name = "errors",
	  .kind = CLI_FLAG,
	  .help = "exceptions by function, type and message",
	  .offset = offsetof(struct report_options, errors) },
	{ .name = "critical-path",
	  .kind = CLI_FLAG,
	  .help = "what the duration is made of: the chain of work from track to track, over "
		  "flows, spans and waits, as functions",
	  .offset = offsetof(struct report_options, critical_path) },
	{ .name = "parts",
	  .kind = CLI_FLAG,
	  .help = "with --critical-path: its parts in the order of time, and what each waited for",
	  .offset = offsetof(struct report_options, parts) },
	{ .name = "lines",
	  .kind = CLI_FLAG,
	  .help = "source lines: the same as --group-by line",
	  .offset = offsetof(struct report_options, lines) },
	{ .name = "modules",
	  .kind = CLI_FLAG,
	  .help = "programs and libraries: the same as --group-by module",
	  .offset = offsetof(struct report_options, modules) },
	{ .name = "group-by",
	  .argument = "WHAT",
	  .kind = CLI_CHOICE,
	  .choices = group_choices,
	  .help = "a list of these instead of functions",
	  .offset = offsetof(struct report_options, group_by) },
	{ 0 },
};

static const struct cli_option row_options[] = {
	{ .name = "sort",
	  .argument = "COLUMN",
	  .kind = CLI_TEXT,
	  .help = "sort by this column, by its title or its name in JSON; in a tree, what is below "
		  "the same caller",
	  .offset = offsetof(struct report_options, sort) },
	{ .name = "min",
	  .argument = "LEAST",
	  .kind = CLI_TEXT,
	  .help = "only rows with this total or more: a share (2%), a time (10ms), or a number of "
		  "what the metric counts; a tree on a screen has 1% without it",
	  .offset = offsetof(struct report_options, min) },
	{ .name = "limit",
	  .short_name = 'n',
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "at most N rows, of a tree those with the largest totals; 0: all; without it, as "
		  "many on a screen as are good to read, and all in JSON and CSV",
	  .offset = offsetof(struct report_options, limit) },
	{ .name = "max-depth",
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "in trees at most N rows below each other",
	  .offset = offsetof(struct report_options, max_depth) },
	CLI_TRACK_OPTION(offsetof(struct report_options, filter) +
			 offsetof(struct cli_filter, tracks)),
	{ .name = "function",
	  .argument = "PATTERN",
	  .kind = CLI_REPEAT,
	  .help = "only rows of functions whose name fits the shell pattern, and in trees the "
		  "paths through them; times stay those of the whole run; repeat for several",
	  .offset = offsetof(struct report_options, filter) +
		    offsetof(struct cli_filter, functions) },
	{ 0 },
};

static const struct cli_option output_options[] = {
	CLI_JSON_OPTION(struct report_options),
	{ .name = "csv",
	  .kind = CLI_FLAG,
	  .help = "print CSV (RFC 4180) with a header",
	  .offset = offsetof(struct report_options, csv) },
	{ .name = "html",
	  .argument = "FILE",
	  .kind = CLI_PATH,
	  .help = "write a page for a browser, with tables to sort and filter and the flame graph; "
		  "'-' is the standard output; where no other report is chosen, functions, tree and "
		  "threads are all in it",
	  .offset = offsetof(struct report_options, html) },
	{ 0 },
};

/* A view, whether the options ask for it, and what a screen shows of it where nothing else is said. */
struct view_kind {
	report_maker *make;
	report_searcher *find; /* instead of make */
	size_t flag; /* offset of its option; SIZE_MAX: chosen by --group-by, or by nothing */
	const char *option;
	double least;	/* share of the whole */
	uint64_t limit; /* rows; 0: all */
	bool spread;
	bool takes_functions;
};

#define FLAG(member) .flag = offsetof(struct report_options, member)

static const struct view_kind kinds[] = {
	{ .make = report_make_tree,
	  FLAG(tree),
	  .option = "--tree",
	  .least = 0.01,
	  .limit = 100,
	  .takes_functions = true },
	{ .make = report_make_callers,
	  FLAG(callers),
	  .option = "--callers",
	  .least = 0.01,
	  .limit = 60,
	  .takes_functions = true },
	{ .make = report_make_hot_path,
	  FLAG(hot_path),
	  .option = "--hot-path",
	  .takes_functions = true },
	{ .make = report_make_tracks, FLAG(threads), .option = "--threads", .limit = 200 },
	{ .make = report_make_imbalance,
	  FLAG(imbalance),
	  .option = "--imbalance",
	  .limit = 60,
	  .spread = true },
	{ .find = report_find_errors,
	  FLAG(errors),
	  .option = "--errors",
	  .limit = 40,
	  .takes_functions = true },
	{ .find = report_find_critical_path,
	  FLAG(critical_path),
	  .option = "--critical-path",
	  .limit = 40,
	  .takes_functions = true },
	{ .make = report_make_list,
	  FLAG(lines),
	  .option = "--lines",
	  .limit = 40,
	  .takes_functions = true },
	{ .make = report_make_list, FLAG(modules), .option = "--modules", .limit = 40 },
};

static const struct view_kind list_kind = { .make = report_make_list,
					    .option = "--group-by",
					    .limit = 40,
					    .spread = true,
					    .takes_functions = true };
static const struct view_kind tracks_kind = { .make = report_make_tracks,
					      .option = "--group-by",
					      .limit = 200 };
static const struct view_kind processes_kind = { .make = report_make_processes,
						 .option = "--group-by",
						 .limit = 200 };

/* The view that was asked for; NULL where there are two, which is told. */
static const struct view_kind *choose_view(struct cli *cli, const struct report_options *options)
{
	const struct view_kind *chosen = NULL, *grouped = &list_kind;

	if (options->group_by == GROUP_TRACK)
		grouped = &tracks_kind;
	else if (options->group_by == GROUP_PROCESS)
		grouped = &processes_kind;
	if (options->group_by != GROUP_NOT_GIVEN)
		chosen = grouped;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!*(const bool *)((const char *)options + kinds[i].flag))
			continue;
		if (chosen) {
			cli_usage(cli, "%s and %s are two reports: choose one", chosen->option,
				  kinds[i].option);
			return NULL;
		}
		chosen = &kinds[i];
	}
	return chosen ? chosen : &list_kind;
}

static int check_options(struct cli *cli, const struct report_options *options,
			 const struct view_kind *kind)
{
	enum report_group group = report_group_of(options);
	bool takes_functions = kind->takes_functions && group != GROUP_FILE;

	if (options->json + options->csv + (options->html != NULL) > 1)
		return cli_usage(cli, "--json, --csv and --html exclude each other");
	if (options->parts && !options->critical_path)
		return cli_usage(cli, "--parts is for --critical-path");
	if (options->critical_path && cli->operand_count > 1)
		return cli_usage(cli,
				 "a critical path is that of one recording: name one, or merge "
				 "them by 'sonde merge' first");
	if (options->filter.functions.count && !takes_functions)
		return cli_usage(cli,
				 "--function is for functions, lines, loops and trees: it does "
				 "not say what threads, modules or files are meant");
	return CLI_OK;
}

/* "2%" or "2.5 %" as a share; a time or a number as a share of the whole. */
static int parse_least(struct report_build *build)
{
	const struct cct_metric *metric = build->cct->metric_count ? report_metric(build) : NULL;
	const char *text = build->options->min, *end = text;
	struct cli_decimal number;
	uint64_t ns;
	double value;

	if (!cli_decimal_take(&end, &number) || number.decimals > DECIMALS_MOST)
		return cli_usage(build->cli,
				 "--min takes a share (2%%), a time (10ms) or a number, "
				 "not '%s'",
				 text);
	value = (double)number.digits / pow(10, number.decimals);
	if (!strcmp(end, "%")) {
		build->least = value / 100;
		return CLI_OK;
	}
	if (*end) {
		const char *fault = cli_duration_parse(text, &ns);

		if (fault)
			return cli_usage(build->cli, "--min '%s': %s", text, fault);
		if (metric && !(metric->ns > 0))
			return cli_usage(
				build->cli,
				"--min '%s' is a time, but %s is none: give a share or a number",
				text, metric->name);
		value = metric ? (double)ns / metric->ns : 0;
	}
	build->least = build->whole > 0 ? value / build->whole : 0;
	return CLI_OK;
}

static int sort_rows(struct report_build *build)
{
	const struct report_view *view = build->view;
	const char *name = build->options->sort;
	struct cli_suggestion suggestion = cli_suggestion_for(name);
	size_t column = report_find_column(view, name);

	if (column != SIZE_MAX) {
		report_sort(build->view, column);
		return CLI_OK;
	}
	for (size_t i = 0; i < view->columns.count; i++)
		cli_suggestion_consider(&suggestion, view->columns.items[i].key);
	if (suggestion.best)
		cli_error(build->cli, "no column '%s'. Did you mean '%s'?", name, suggestion.best);
	else
		cli_error(build->cli, "no column '%s' in this report", name);
	cli_hint(build->cli, "--json lists the columns; the help tells what they are");
	return CLI_USAGE;
}

static void print(struct report_build *build, const struct report *report)
{
	if (build->options->json)
		report_put_json(build->cli, report);
	else if (build->options->csv)
		report_put_csv(build->cli, report);
	else
		report_put_screen(build->cli, report);
}

/* Why there is nothing to see. */
static void explain_nothing(const struct report_build *build)
{
	const struct report_options *options = build->options;
	const struct report_summary *summary = build->summary;
	bool is_part = options->range.from.base || options->range.to.base ||
		       options->filter.tracks.count;

	if (options->critical_path)
		cli_note(build->cli,
			 "a critical path is made of events: samples and sums have none");
	else if (!build->cct)
		cli_note(build->cli, "no call was left by an exception");
	else if (!summary->calls && summary->contexts < 2 && !is_part)
		cli_note(build->cli, "nothing was recorded that takes time");
	else
		cli_note(build->cli, "nothing fits what was asked for");
}

/* What to look at next, or why there is nothing to see. */
static void advise(const struct report_build *build)
{
	struct cli *cli = build->cli;
	struct sonde_buffer operands = { 0 };
	const char *path;

	if (!build->view->rows.count && !build->view->left_out) {
		explain_nothing(build);
		return;
	}
	if (cli->input_path[0])
		return; /* standard input is gone */
	cli_put_shell_word(&operands, cli->operands[0]);
	if (cli->operand_count > 1)
		sonde_buffer_put_text(&operands, " ...");
	path = sonde_buffer_text(&operands);
	if (!path)
		path = cli->operands[0];
	if (build->cct && !build->summary->functions && !build->cct->calls)
		cli_next(cli, "sonde prof %s -o database   finds out functions, loops and lines",
			 path);
	else if (build->options->tree)
		cli_next(cli, "sonde flame %s -o flame.svg   shows the same as a picture", path);
	else
		cli_next(cli, "sonde report --tree %s   or: sonde flame %s -o flame.svg", path,
			 path);
	sonde_buffer_release(&operands);
}

/* The rows are there: sorts, cuts and prints them. */
static int finish(struct report_build *build, const struct view_kind *kind)
{
	const struct report *report = build->report;
	uint64_t limit = build->options->limit;
	int code = CLI_OK;

	if (build->options->sort && build->view->columns.count)
		code = sort_rows(build);
	if (code != CLI_OK)
		return code;
	if (limit == UINT64_MAX)
		limit = build->for_programs ? 0 : build->options->html ? PAGE_ROWS : kind->limit;
	report_limit(build->view, limit);
	if (build->view->failed)
		return cli_fail_nomem(build->cli);
	if (build->options->html)
		return report_write_html(build, report,
					 kind == &list_kind &&
						 build->options->group_by == GROUP_NOT_GIVEN);
	print(build, report);
	if (!build->for_programs)
		advise(build);
	return CLI_OK;
}

static int make_and_print(struct report_build *build, const struct view_kind *kind,
			  const struct report_sources *sources)
{
	if (!report_summarise(build, sources) || !report_find_shared_names(build))
		return cli_fail_nomem(build->cli);
	if (build->cct->metric_count && !kind->make(build))
		return cli_fail(build->cli, &build->err);
	return finish(build, kind);
}

static int report_tree(struct report_build *build, const struct view_kind *kind,
		       const struct report_sources *sources)
{
	const struct report_options *options = build->options;
	int code =
		cli_find_metric(build->cli, build->cct, options->analysis.metric, &build->metric);

	if (code != CLI_OK)
		return code;
	if (build->cct->metric_count && build->cct->context_count && !report_metric(build)->formula)
		build->whole = report_metric(build)->total[0];
	if (options->min)
		code = parse_least(build);
	else if (!build->for_programs)
		build->least = options->html ? kind->least / 10 : kind->least;
	if (!(build->whole > 0))
		build->least = 0;
	return code == CLI_OK ? make_and_print(build, kind, sources) : code;
}

/* Adds what one recording has to a report about recordings themselves. */
static int search_one(struct report_build *build, const struct view_kind *kind, const char *path,
		      struct report_sources *sources)
{
	const struct report_options *options = build->options;
	const struct cli_filter filter = { .tracks = options->filter.tracks };
	struct sonde_run_options run_options = { .threads =
							 (unsigned int)options->analysis.threads };
	struct cli_selection selection = { 0 };
	struct sonde_recording *recording;
	struct cli_progress progress;
	int code = cli_open(build->cli, path, &options->input, &recording);

	if (code != CLI_OK)
		return code;
	cli_warn_of_faults(build->cli, recording);
	report_add_source(sources, recording);
	report_add_recording(build->summary, recording);
	code = cli_selection_resolve(build->cli, recording, &options->range, &filter, &selection);
	if (code == CLI_OK) {
		bool found;

		cli_progress_begin(build->cli, &progress, "reading", "event");
		run_options.selection = selection.spec;
		run_options.progress = &progress.progress;
		found = kind->find(build, recording, &run_options);
		cli_progress_end(&progress);
		code = found ? CLI_OK : cli_fail(build->cli, &build->err);
	}
	cli_selection_release(&selection);
	sonde_recording_close(recording);
	return code;
}

static int search(struct report_build *build, const struct view_kind *kind,
		  struct report_sources *sources)
{
	struct cli *cli = build->cli;
	int code = CLI_OK;

	*build->summary = (struct report_summary){ .metric = "", .only_threads = true };
	for (size_t i = 0; i < cli->operand_count && code == CLI_OK; i++)
		code = search_one(build, kind, cli->operands[i], sources);
	if (code != CLI_OK)
		return code;
	if (!report_name_sources(cli, sources))
		return CLI_FAILED;
	build->summary->sources = sources->list.items;
	build->summary->source_count = sources->list.count;
	return finish(build, kind);
}

static int analyse(struct report_build *build, const struct view_kind *kind,
		   struct report_sources *sources)
{
	const struct report_options *options = build->options;
	/* functions choose rows, not what is read: times stay true */
	const struct cli_filter filter = { .tracks = options->filter.tracks };
	const struct cli_analysis_request request = { .input = &options->input,
						      .range = &options->range,
						      .filter = &filter,
						      .analysis = &options->analysis,
						      .spread = kind->spread,
						      .opened = report_add_source,
						      .user = sources };
	struct cli *cli = build->cli;
	struct cct *cct = NULL;
	int code = cli_analyse_all(cli, cli->operands, cli->operand_count, &request, &cct);

	if (code == CLI_OK && !report_name_sources(cli, sources))
		code = CLI_FAILED;
	build->cct = cct;
	if (code == CLI_OK)
		code = report_tree(build, kind, sources);
	cct_free(cct);
	return code;
}

static int run(struct cli *cli, const void *parsed)
{
	const struct report_options *options = parsed;
	const struct view_kind *kind = choose_view(cli, options);
	struct report_sources sources = { 0 };
	struct report report = { 0 };
	struct report_build build = { .cli = cli,
				      .options = options,
				      .report = &report,
				      .view = &report.view,
				      .summary = &report.summary,
				      .for_programs = options->json || options->csv };
	int code = kind ? check_options(cli, options, kind) : CLI_USAGE;

	if (code != CLI_OK)
		return code;
	code = kind->find ? search(&build, kind, &sources) : analyse(&build, kind, &sources);
	report_view_release(&report.view);
	sonde_vec_release(&sources.list);
	free(build.shared_names);
	return code;
}

const struct cli_command cmd_report = {
	.name = "report",
	.summary = "show where the time went: functions, call trees, threads",
	.usage = "sonde report [OPTIONS] RECORDING...",
	.description =
		"Adds up what was spent where, and prints it as a table: functions first by their own "
		"time, with what was called from them (TOTAL), calls, and how long single calls took. "
		"Other options show the same as a tree, from the callers' side, by thread, line or "
		"module. Takes recordings of any format; several are one report.\n"
		"\n"
		"A function that calls itself is counted once in TOTAL; MEAN, MIN, MAX and the "
		"percentiles are of single calls, inner ones too. Calls that were open when the "
		"recording ended count until then. A profile has no single calls: its tables have a "
		"column for each metric instead. On a screen there are as many columns as fit; JSON "
		"and CSV have all.",
	.section = CLI_SECTION_LOOK,
	.operands = { .name = "RECORDING",
		      .kind = CLI_OPERAND_PATH,
		      .at_least = 1,
		      .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "What to show", .options = view_options },
			{ .title = "Which rows", .options = row_options },
			{ .title = "Output", .options = output_options },
			CLI_ANALYSIS_GROUP(struct report_options),
			CLI_RANGE_GROUP(struct report_options),
			CLI_INPUT_GROUP(struct report_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics =
		(const struct cli_topic[]){
			{ .title = "Columns",
			  .text = "In JSON, CSV and for --sort columns have these names, which do not "
				  "change. Times are whole nanoseconds, shares are parts of 1. Where the "
				  "metric is no time, names have no _ns. JSON has them in \"rows\", and "
				  "beside those what was read. What has no value is null, or empty.\n"
				  "\n"
				  "Lists: self_share, self_ns, total_ns, total_share; of calls: calls, "
				  "exceptions, unfinished, mean_ns, min_ns, max_ns, deviation_ns, and of "
				  "functions p50_ns, p90_ns, p99_ns; threads (that have it), "
				  "thread_imbalance (most divided by mean), thread_min_ns, thread_max_ns, "
				  "thread_mean_ns, thread_most; of other metrics NAME.total and "
				  "NAME.self; module, file, line, name.\n"
				  "\n"
				  "Trees: depth, total_share, total_ns, self_ns, self_share, calls, "
				  "exceptions, mean_ns, max_ns, other metrics, context, parent, kind, "
				  "file, line, name. --callers has depth, self_share, self_ns, total_ns, "
				  "total_share, calls, name.\n"
				  "\n"
				  "--threads: track, threads, total_share, total_ns, busy_ns (within "
				  "calls), idle_ns (the rest between its first and last event), events, "
				  "samples, dropped, first_ns, last_ns, other metrics, os_id, process, name. "
				  "Processes have process for track.\n"
				  "\n"
				  "--imbalance: depth, lost_share (max minus mean, as a share of all that "
				  "the busiest thread did), thread_imbalance, thread_max_ns, thread_mean_ns, "
				  "threads, thread_most; the same of processes as process_...; context, "
				  "name. The mean is over those that have some of it.\n"
				  "\n"
				  "--errors: count, failed_share, calls, failed_calls, passed_on (it came "
				  "from a call within), first_ns, last_ns, track, function, type, message, "
				  "path (calls that led to the first one), stack, name.\n"
				  "\n"
				  "--critical-path: path_share, path_ns (own time on the path), self_ns (own "
				  "time on all tracks), slack_ns (tracks stood in the function until the "
				  "path came to them), name. With --parts: from_ns, to_ns, at_ns (since "
				  "the path began), duration_ns, share, track, track_name, reason, certainty, by (the "
				  "flow or function that let it go on), waited_ns, name_ns, name (the "
				  "calls that most of it went to).\n"
				  "\n"
				  "Reasons: start; flow, a flow came from the part before (exact); "
				  "span-begin (exact) and span-end (likely), of a store's traces; and "
				  "without these, by names of functions like pthread_join or MPI_Barrier: "
				  "join and barrier (likely), wake (guess), create (guess). present and "
				  "gap (guess): nothing says why." },
			CLI_TIME_TOPIC,
			CLI_STANDARD_INPUT_TOPIC,
			{ 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde report trace", "where the time went" },
			{ "sonde report --tree trace", "the same as a tree of calls" },
			{ "sonde report --callers --function 'parse*' trace",
			  "who calls these, and how much of it" },
			{ "sonde report --hot-path trace",
			  "the one way down that most was spent on" },
			{ "sonde report --imbalance trace", "which threads the others wait for" },
			{ "sonde report --errors trace", "what was thrown, how often, and where" },
			{ "sonde report --critical-path trace",
			  "what must get faster for the whole to get faster" },
			{ "sonde report --critical-path --parts trace",
			  "how the work went from thread to thread" },
			{ "sonde report --lines --min 1% database",
			  "hot source lines of a profile" },
			{ "sonde report --sort p99_ns --limit 10 trace", "the slowest slow calls" },
			{ "sonde report --html report.html trace", "a page for a browser" },
			{ "sonde report --json trace", "everything, for a program" },
			{ 0 },
		},
	.options_size = sizeof(struct report_options),
	.defaults =
		&(const struct report_options){ .limit = UINT64_MAX, .group_by = GROUP_NOT_GIVEN },
	.run = run,
};
