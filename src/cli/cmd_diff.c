/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde diff`: two recordings, or two sets of them, side by side. What is shown is chosen here, and how in diff_*.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/diff.h"

/* Rows on a screen where --limit does not say how many. */
#define USUAL_LIMIT 20

/* Shares of the whole below which rows are left out, where --min does not say. */
#define USUAL_SHARE_TESTED 0.0001
#define USUAL_SHARE_SINGLE 0.01

/* Runs that have less than this in common are hardly runs of one program. */
#define LEAST_LIKENESS 0.5

static const struct cli_choice by_choices[] = {
	[COMPARE_FUNCTION] = { "function", "wherever it was called" },
	[COMPARE_MODULE] = { "module", "the program and its libraries" },
	[COMPARE_FILE] = { "file", "source files" },
	[COMPARE_LINE] = { "line", "lines of source files" },
	[COMPARE_LOOP] = { "loop", "of a profile" },
	[COMPARE_CONTEXT] = { "context", "functions by who called them" },
	{ 0 },
};

static const struct cli_choice sort_choices[] = {
	[DIFF_SORT_CHANGE] = { "change", "of what it spent itself" },
	[DIFF_SORT_RELATIVE] = { "relative", "the same as a share of what it was before" },
	[DIFF_SORT_TOTAL] = { "total", "change with all that it called" },
	[DIFF_SORT_BEFORE] = { "before", "what it spent itself before" },
	[DIFF_SORT_AFTER] = { "after", "what it spent itself after" },
	[DIFF_SORT_CALLS] = { "calls", "change of how often it was called" },
	[DIFF_SORT_P] = { "p", "the least likely to be chance" },
	[DIFF_SORT_NAME] = { "name", "as in a dictionary" },
	{ 0 },
};

static const struct cli_option diff_own_options[] = {
	{ .name = "threshold",
	  .argument = "PERCENT",
	  .kind = CLI_PERCENT,
	  .help = "exit with 1 where the whole or a row became slower by at least this much",
	  .offset = offsetof(struct diff_options, threshold) },
	{ .name = "both",
	  .kind = CLI_FLAG,
	  .help = "with --threshold: what became faster counts too",
	  .offset = offsetof(struct diff_options, both) },
	{ .name = "exact",
	  .kind = CLI_FLAG,
	  .help = "only tell whether contexts, calls and values of two recordings are the same; "
		  "exit with 1 where not",
	  .offset = offsetof(struct diff_options, exact) },
	{ .name = "level",
	  .argument = "PERCENT",
	  .kind = CLI_PERCENT,
	  .help = "how often chance alone may be taken for a change; 1% where not given",
	  .offset = offsetof(struct diff_options, level) },
	{ .name = "min-change",
	  .argument = "PERCENT",
	  .kind = CLI_PERCENT,
	  .help = "with several runs: a smaller change counts for nothing, however certain; 1% "
		  "where not given",
	  .offset = offsetof(struct diff_options, least_change) },
	{ .name = "raw",
	  .kind = CLI_FLAG,
	  .help = "with several runs: leave in by what all functions of a run were slower alike",
	  .offset = offsetof(struct diff_options, raw) },
	{ 0 },
};

static const struct cli_option diff_show_options[] = {
	{ .name = "by",
	  .argument = "WHAT",
	  .kind = CLI_CHOICE,
	  .choices = by_choices,
	  .help = "what a row is; functions where not given",
	  .offset = offsetof(struct diff_options, by) },
	{ .name = "contexts",
	  .kind = CLI_FLAG,
	  .help = "the same as --by context",
	  .offset = offsetof(struct diff_options, contexts) },
	{ .name = "tree",
	  .kind = CLI_FLAG,
	  .help = "contexts as a tree, from the outermost call inwards",
	  .offset = offsetof(struct diff_options, tree) },
	{ .name = "sort",
	  .argument = "COLUMN",
	  .kind = CLI_CHOICE,
	  .choices = sort_choices,
	  .help = "what the rows are sorted by, the most first; change where not given",
	  .offset = offsetof(struct diff_options, sort) },
	{ .name = "min",
	  .argument = "PERCENT",
	  .kind = CLI_PERCENT,
	  .help = "leave out rows with a smaller share of the whole on both sides; 1% where not "
		  "given, with several runs 0.01%",
	  .offset = offsetof(struct diff_options, least_share) },
	{ .name = "limit",
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "at most N rows, 0: all; 20 where not given, in JSON and CSV all",
	  .offset = offsetof(struct diff_options, limit) },
	{ .name = "all",
	  .kind = CLI_FLAG,
	  .help = "with several runs: rows that may have changed by chance too",
	  .offset = offsetof(struct diff_options, all) },
	{ .name = "markdown",
	  .kind = CLI_FLAG,
	  .help = "print markdown, for a comment on a pull request",
	  .offset = offsetof(struct diff_options, markdown) },
	CLI_JSON_OPTION(struct diff_options),
	{ .name = "csv",
	  .kind = CLI_FLAG,
	  .help = "print CSV, for a spreadsheet",
	  .offset = offsetof(struct diff_options, csv) },
	{ 0 },
};

/* Of the usual ones those that mean the same for both sides. */
static const struct cli_option diff_filter_options[] = {
	CLI_TRACK_OPTION(offsetof(struct cli_filter, tracks)),
	CLI_FUNCTION_OPTION(offsetof(struct cli_filter, functions)),
	{ 0 },
};

/* The recordings of both sides, in one array: those before first. */
struct inputs {
	const char **paths;
	struct cct **trees;
	size_t count, before_count;
};

/* "A B", or "A1 A2 -- B1 B2". */
static int split_operands(struct cli *cli, struct inputs *inputs)
{
	size_t i, separators = 0;

	inputs->paths = calloc(cli->operand_count + 1, sizeof(*inputs->paths));
	inputs->trees = calloc(cli->operand_count + 1, sizeof(struct cct *));
	if (!inputs->paths || !inputs->trees)
		return cli_fail_nomem(cli);
	for (i = 0; i < cli->operand_count; i++) {
		if (strcmp(cli->operands[i], "--") != 0) {
			inputs->paths[inputs->count++] = cli->operands[i];
			continue;
		}
		separators++;
		inputs->before_count = inputs->count;
	}
	if (!separators && inputs->count == 2)
		inputs->before_count = 1;
	else if (!separators)
		return cli_usage(cli,
				 "%zu recordings: which are those before, and which those after? "
				 "Part them with '--'",
				 inputs->count);
	else if (separators > 1)
		return cli_usage(cli, "there is more than one '--': only two sets can be compared");
	if (!inputs->before_count || inputs->before_count == inputs->count)
		return cli_usage(cli, "there is no recording %s '--'",
				 inputs->before_count ? "after" : "before");
	return CLI_OK;
}

static void inputs_release(struct inputs *inputs)
{
	size_t i;

	for (i = 0; inputs->trees && i < inputs->count; i++)
		cct_free(inputs->trees[i]);
	free(inputs->trees);
	free(inputs->paths);
}

static int read_inputs(struct cli *cli, const struct diff_options *options, struct inputs *inputs)
{
	const struct cli_analysis_request request = {
		.input = &options->input,
		.range = &options->range,
		.filter = &options->filter,
		.analysis = &options->analysis,
	};
	int code = CLI_OK;
	size_t i;

	for (i = 0; i < inputs->count && code == CLI_OK; i++)
		code = cli_analyse(cli, inputs->paths[i], &request, &inputs->trees[i], NULL);
	return code;
}

/* Where a set mixes programs, its mean means nothing. */
static void warn_of_strangers(struct cli *cli, const struct diff *diff)
{
	const struct comparison *comparison = &diff->comparison;
	size_t run, before = comparison->before_count;

	for (run = 1; run < comparison->run_count; run++) {
		/* the first of its side, and of the other side for the first */
		size_t other = run > before ? before : 0;
		double there = compare_likeness(comparison, run, other);
		double back = compare_likeness(comparison, other, run);

		if (there >= LEAST_LIKENESS && back >= LEAST_LIKENESS)
			continue;
		cli_warning(
			cli,
			"%s and %s have little in common: only %.0f %% of what one spent is in "
			"functions that the other has too. Are they runs of one program, both with "
			"the names of its functions?",
			diff->paths[other], diff->paths[run], fmin(there, back) * 100);
		return;
	}
}

static bool has_changed(const struct compare_row *row)
{
	return row->self.before != row->self.after || row->total.before != row->total.after ||
	       row->calls.before != row->calls.after;
}

/* Rows that somebody wants to see: for programs all, for people what changed. */
static bool is_wanted(const struct diff *diff, const struct compare_row *row)
{
	const struct diff_options *options = diff->options;

	if (options->tree)
		return true;
	if (row->small && !(options->least_share == 0))
		return false;
	if (options->json || options->csv || options->all)
		return true;
	return diff->comparison.can_test ? row->significant : has_changed(row);
}

/* What a row is sorted by: the most comes first. */
static double sort_value(enum diff_sort sort, const struct compare_row *row)
{
	switch (sort) {
	case DIFF_SORT_RELATIVE:
		return fabs(compare_change(&row->self));
	case DIFF_SORT_TOTAL:
		return fabs(row->total.after - row->total.before);
	case DIFF_SORT_BEFORE:
		return row->self.before;
	case DIFF_SORT_AFTER:
		return row->self.after;
	case DIFF_SORT_CALLS:
		return fabs(row->calls.after - row->calls.before);
	case DIFF_SORT_P:
		return -row->p;
	default:
		return fabs(row->self.after - row->self.before);
	}
}

static int compare_contexts(const struct compare_row *a, const struct compare_row *b)
{
	return (a->place.context > b->place.context) - (a->place.context < b->place.context);
}

static int compare_names(const struct diff *diff, const struct compare_row *a,
			 const struct compare_row *b)
{
	char first[DIFF_NAME_SIZE], second[DIFF_NAME_SIZE];
	int order = strcmp(diff_name(diff, a, first, sizeof(first)),
			   diff_name(diff, b, second, sizeof(second)));

	return order ? order : compare_contexts(a, b);
}

static int compare_rows(const void *left, const void *right, void *user)
{
	const struct diff *diff = user;
	const struct compare_row *a = *(const struct compare_row *const *)left;
	const struct compare_row *b = *(const struct compare_row *const *)right;
	enum diff_sort sort = (enum diff_sort)diff->options->sort;
	double first = sort_value(sort, a), second = sort_value(sort, b);

	/* what is no number comes last */
	first = isnan(first) ? -INFINITY : first;
	second = isnan(second) ? -INFINITY : second;
	if (sort == DIFF_SORT_NAME)
		return compare_names(diff, a, b);
	if (first != second)
		return first < second ? 1 : -1;
	/* the names of contexts are whole paths: too long to put together for each of many equal rows */
	if (diff->comparison.by == COMPARE_CONTEXT)
		return compare_contexts(a, b);
	return compare_names(diff, a, b);
}

static bool choose_rows(struct diff *diff)
{
	const struct comparison *comparison = &diff->comparison;
	size_t i;

	if (!sonde_vec_reserve(&diff->rows, comparison->rows.count + 1))
		return false;
	for (i = 0; i < comparison->rows.count; i++)
		if (is_wanted(diff, &comparison->rows.items[i]))
			diff->rows.items[diff->rows.count++] = &comparison->rows.items[i];
	if (diff->rows.count)
		qsort_r(diff->rows.items, diff->rows.count, sizeof(*diff->rows.items), compare_rows,
			diff);
	return true;
}

/*
 * A slowdown that counts. Of several runs it must be more than chance; of a row that was not there before, its
 * share of the whole counts.
 */
static bool exceeds(const struct diff *diff, const struct compare_row *row)
{
	const struct comparison *comparison = &diff->comparison;
	const struct diff_options *options = diff->options;
	double change = compare_change(&row->self), whole = fabs(comparison->all.self.before);

	if (row->small || (change < 0 && !options->both) || change == 0)
		return false;
	if (comparison->can_test && !row->significant)
		return false;
	if (row->presence != COMPARE_BOTH || isinf(change))
		return fabs(row->self.after - row->self.before) >= options->threshold * whole;
	/* what is shown as 5 % is 5 % */
	return fabs(change) >= options->threshold * (1 - 1e-9);
}

static bool find_excesses(struct diff *diff)
{
	const struct comparison *comparison = &diff->comparison;
	size_t i;

	if (!diff->asks_threshold)
		return true;
	if (!sonde_vec_reserve(&diff->excesses, comparison->rows.count + 1))
		return false;
	if (exceeds(diff, &comparison->all))
		diff->excesses.items[diff->excesses.count++].row = &comparison->all;
	for (i = 0; i < diff->rows.count; i++)
		if (exceeds(diff, diff->rows.items[i]))
			diff->excesses.items[diff->excesses.count++].row = diff->rows.items[i];
	return true;
}

static void put_diff(struct cli *cli, const struct diff *diff)
{
	if (diff->options->json)
		diff_put_json(cli, diff);
	else if (diff->options->csv)
		diff_put_csv(cli, diff);
	else if (diff->options->markdown)
		diff_put_markdown(cli, diff);
	else if (diff->options->tree)
		diff_put_tree(cli, diff);
	else
		diff_put_text(cli, diff);
}

static int compare_inputs(struct cli *cli, const struct diff_options *options,
			  const struct inputs *inputs)
{
	struct diff diff = { .options = options, .paths = inputs->paths };
	bool single = inputs->before_count < 2 || inputs->count - inputs->before_count < 2;
	bool for_programs = options->json || options->csv;
	struct compare_options wanted = {
		.by = options->contexts || options->tree ? COMPARE_CONTEXT :
							   (enum compare_by)options->by,
		.metric = options->analysis.metric,
		.level = options->level,
		.least_change = options->least_change,
		.least_share = single ? USUAL_SHARE_SINGLE : USUAL_SHARE_TESTED,
		.raw = options->raw,
	};
	struct sonde_error err = { 0 };
	int code = CLI_OK;

	if (options->least_share >= 0)
		wanted.least_share = options->least_share;
	if (compare_make(&diff.comparison, (const struct cct *const *)inputs->trees, inputs->count,
			 inputs->before_count, &wanted, &err) != SONDE_OK) {
		if (err.status != SONDE_ARGUMENT)
			return cli_fail(cli, &err);
		return cli_usage(cli, "%s", err.message);
	}
	diff.asks_threshold = options->threshold >= 0;
	if (options->limit == UINT64_MAX)
		diff.row_limit = for_programs ? SIZE_MAX : USUAL_LIMIT;
	else
		diff.row_limit = options->limit ? options->limit : SIZE_MAX;
	if (!choose_rows(&diff) || !find_excesses(&diff)) {
		code = cli_fail_nomem(cli);
	} else {
		warn_of_strangers(cli, &diff);
		put_diff(cli, &diff);
		code = diff.excesses.count ? CLI_FINDINGS : CLI_OK;
	}
	sonde_vec_release(&diff.rows);
	sonde_vec_release(&diff.excesses);
	compare_release(&diff.comparison);
	return code;
}

static int check_options(struct cli *cli, const struct diff_options *options)
{
	if (options->json + options->csv + options->markdown > 1)
		return cli_usage(cli, "only one of --json, --csv and --markdown can be printed");
	if (options->tree && (options->json || options->csv || options->markdown))
		return cli_usage(cli, "--tree is for screens; --by context gives the same rows");
	if (options->exact && (options->csv || options->markdown || options->threshold >= 0))
		return cli_usage(cli, "--exact takes neither --csv nor --markdown nor --threshold");
	if (options->both && !(options->threshold >= 0))
		return cli_usage(cli, "--both is for --threshold");
	if (options->level > 1)
		return cli_usage(cli, "--level is at most 100%%");
	return CLI_OK;
}

static int run(struct cli *cli, const void *user)
{
	const struct diff_options *options = user;
	struct inputs inputs = { 0 };
	int code = check_options(cli, options);

	if (code == CLI_OK)
		code = split_operands(cli, &inputs);
	if (code == CLI_OK && options->exact && inputs.count != 2)
		code = cli_usage(cli, "--exact compares two recordings, not %zu", inputs.count);
	if (code == CLI_OK)
		code = read_inputs(cli, options, &inputs);
	if (code == CLI_OK && options->exact)
		code = diff_exactly(cli, options, inputs.paths,
				    (const struct cct *const *)inputs.trees);
	else if (code == CLI_OK)
		code = compare_inputs(cli, options, &inputs);
	inputs_release(&inputs);
	return code;
}

static const struct diff_options defaults = {
	.threshold = -1,
	.least_share = -1,
	.least_change = 0.01,
	.level = 0.01,
	.limit = UINT64_MAX,
};

const struct cli_command cmd_diff = {
	.name = "diff",
	.summary = "compare two recordings, or two sets of runs",
	.usage = "sonde diff [OPTIONS] BEFORE... [--] AFTER...",
	.description =
		"Shows what changed from one recording to another: the whole first, then the "
		"functions whose own time changed most, by how much and by which share, how often "
		"they were called, and which are new or gone. The recordings may be of any formats. "
		"Functions are the same where they have the same name in the same module, and file "
		"where there are several. The program itself may have another name on each side, and "
		"libraries another version, so that two builds can be compared.\n\n"
		"One run tells little: times differ from run to run. Give several runs of each side, "
		"parted by '--', and only what changed by more than chance is shown. --threshold "
		"makes the exit code 1 where something became slower by that much.",
	.section = CLI_SECTION_LOOK,
	.operands = { .name = "RECORDING",
		      .kind = CLI_OPERAND_PATH,
		      .at_least = 2,
		      .at_most = SIZE_MAX,
		      .keeps_separator = true },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Options", .options = diff_own_options },
			{ .title = "What is shown", .options = diff_show_options },
			CLI_ANALYSIS_GROUP(struct diff_options),
			CLI_RANGE_GROUP(struct diff_options),
			{ .title = "Of what",
			  .options = diff_filter_options,
			  .base = offsetof(struct diff_options, filter) },
			CLI_INPUT_GROUP(struct diff_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics =
		(const struct cli_topic[]){
			{ "Several runs",
			  "With two runs or more on each side every row is tested. What is compared is "
			  "the logarithm of the time that a function spent itself in each run, by the "
			  "moderated t-test (Smyth 2004): the noise of a function is estimated from its "
			  "own runs and from what is usual for all functions, so that few runs are "
			  "enough. A function that is noisier than usual is tested by itself (Welch's "
			  "t-test), and so is the whole.\n\n"
			  "A busy machine slows all functions of a run alike. By how much is estimated "
			  "for each run (the median over all functions that are in every run, if there "
			  "are 20 or more) and taken out of the rows, but not out of the whole. --raw "
			  "leaves it in.\n\n"
			  "Of many tests some are wrong by chance. The p-values are adjusted after "
			  "Benjamini and Hochberg, and doubled since the whole is a second question. A "
			  "row counts where its adjusted p is at most --level and its change at least "
			  "--min-change." },
			{ "The threshold",
			  "With several runs what counts for --threshold is the whole, and each row, that "
			  "became slower by at least that share and by more than chance. With single runs "
			  "nobody can tell chance from change: every such change counts, of rows that "
			  "have at least --min of the whole. A row that is new counts where it "
			  "spends that share of what the whole was before. With --both it is the same for "
			  "what became faster or is gone." },
			{ 0 },
		},
	.examples =
		(const struct cli_example[]){
			{ "sonde diff old new", "what became slower or faster" },
			{ "sonde diff old-1 old-2 old-3 -- new-1 new-2 new-3",
			  "several runs of each: only what is more than chance" },
			{ "sonde diff old-* -- new-* --threshold 5%",
			  "fail where it became 5 % slower" },
			{ "sonde diff old-* -- new-* --markdown",
			  "for a comment on a pull request" },
			{ "sonde diff old new --tree", "from the outermost call inwards" },
			{ "sonde diff old new --metric CALLS", "how often functions were called" },
			{ "sonde diff --exact trace trace.wtf-trace",
			  "is the conversion the same?" },
			{ 0 },
		},
	.exit_status = "  0  compared; with --threshold: nothing exceeds it; with --exact: equal\n"
		       "  1  the threshold is exceeded, or the recordings are not equal\n"
		       "  2  wrong usage\n"
		       "  3  a recording could not be read",
	.options_size = sizeof(struct diff_options),
	.defaults = &defaults,
	.run = run,
};
