/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde flame`: where the time went, as a picture. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis.h"
#include "cli/commands.h"
#include "cli/flame.h"
#include "cli/report_file.h"
#include "cli/text.h"
#include "formats/folded/folded_line.h"

#define DEFAULT_SHARE 1e-4 /* a tenth of a pixel on most screens */
#define MOST_FRAMES 200000 /* what a browser can still take */
#define MOST_DEPTH 1000	   /* levels: 18,000 pixels */
#define NARROWEST_PICTURE 320
#define WIDEST_PICTURE 100000

struct flame_command {
	struct cli_common common;
	struct cli_input input;
	struct cli_range range;
	struct cli_filter filter;
	struct cli_analysis analysis;
	const char *output;
	const char *title;
	const char *min;
	uint64_t width;
	bool icicle;
	bool difference;
	bool text;
	bool folded;
};

#define AT(member) offsetof(struct flame_command, member)

static const struct cli_option flame_own_options[] = {
	{ .name = "output",
	  .short_name = 'o',
	  .argument = "FILE",
	  .kind = CLI_PATH,
	  .help = "where to write it, '-' for the standard output; without it, the name of the "
		  "recording and '.svg', in the present folder; --text and --folded are printed",
	  .offset = AT(output) },
	{ .name = "diff",
	  .kind = CLI_FLAG,
	  .help = "compare two recordings: widths are of the second, what became slower is red and "
		  "what became faster blue",
	  .offset = AT(difference) },
	{ .name = "text", .kind = CLI_FLAG, .help = "draw it on the terminal", .offset = AT(text) },
	{ .name = "folded",
	  .kind = CLI_FLAG,
	  .help = "print a line for each stack, like 'main;work;sort 1234', for other tools; times "
		  "are in nanoseconds, and with --diff there are two numbers",
	  .offset = AT(folded) },
	{ .name = "icicle",
	  .kind = CLI_FLAG,
	  .help = "the root is on top, and calls hang below their callers",
	  .offset = AT(icicle) },
	{ .name = "flame",
	  .kind = CLI_FLAG_OFF,
	  .help = "the root is at the bottom, and calls stand on their callers (the default)",
	  .offset = AT(icicle) },
	{ .name = "title",
	  .argument = "TEXT",
	  .kind = CLI_TEXT,
	  .help = "what to write over it; without it, the name of the recording",
	  .offset = AT(title) },
	{ .name = "width",
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "so many pixels wide, or columns of text; without it, as wide as the window",
	  .offset = AT(width) },
	{ .name = "min",
	  .argument = "PERCENT",
	  .kind = CLI_TEXT,
	  .help = "leave out frames of less than this share of the whole, like 0.5%; without it "
		  "0.01%, and none with --folded",
	  .offset = AT(min) },
	{ 0 },
};

/* One run of the command. */
struct flame_run {
	struct cli *cli;
	const struct flame_command *options;
	struct cct *cct;
	double *before, *after; /* of a difference */
	struct flame_options wanted;
	struct flame flame;
	struct sonde_buffer title;
	struct sonde_buffer result;
};

static int parse_share(struct cli *cli, const char *text, double *share)
{
	char *end;
	double percent;

	errno = 0;
	percent = strtod(text, &end);
	if (end == text || errno || !(percent >= 0 && percent <= 100) ||
	    (*end && strcmp(end, "%") != 0))
		return cli_usage(cli, "--min takes a share from 0%% to 100%%, like 0.5%%, not '%s'",
				 text);
	*share = percent / 100;
	return CLI_OK;
}

static int check_options(struct flame_run *run)
{
	const struct flame_command *options = run->options;
	struct cli *cli = run->cli;

	if (options->text && options->folded)
		return cli_usage(cli, "--text and --folded exclude each other");
	if (options->difference && cli->operand_count != 2)
		return cli_usage(cli, "--diff compares two recordings, and there %s %zu",
				 cli->operand_count == 1 ? "is" : "are", cli->operand_count);
	if (options->width && !options->folded &&
	    (options->width < (options->text ? 20 : NARROWEST_PICTURE) ||
	     options->width > WIDEST_PICTURE))
		return cli_usage(cli, "--width takes %d to %d",
				 options->text ? 20 : NARROWEST_PICTURE, WIDEST_PICTURE);
	run->wanted = (struct flame_options){
		.min_share = options->folded ? 0 : DEFAULT_SHARE,
		.most_frames = options->folded ? 0 : MOST_FRAMES,
		.most_depth = options->folded ? FOLDED_MOST_DEPTH : MOST_DEPTH,
		.keep_vanished = options->folded,
	};
	return options->min ? parse_share(cli, options->min, &run->wanted.min_share) : CLI_OK;
}

static struct cli_analysis_request request_of(const struct flame_command *options)
{
	return (struct cli_analysis_request){
		.input = &options->input,
		.range = &options->range,
		.filter = &options->filter,
		.analysis = &options->analysis,
	};
}

/* What was spent in each context of a part, by context of the whole. */
static double *spread_out(const struct cct *part, uint32_t metric, const uint32_t *map,
			  const struct cct *whole)
{
	double *values = calloc(whole->context_count, sizeof(*values));
	uint32_t i;

	for (i = 0; values && i < part->context_count; i++)
		values[map[i]] += part->metrics[metric].self[i];
	return values;
}

static int compare(struct flame_run *run, struct cct *parts[2])
{
	uint32_t metrics[2], *maps[2] = { NULL, NULL };
	struct sonde_error err = { 0 };
	const char *name;
	int code = cli_find_metric(run->cli, parts[0], run->options->analysis.metric, &metrics[0]);

	if (code != CLI_OK)
		return code;
	if (!parts[0]->metric_count || !parts[1]->metric_count) {
		cli_error(run->cli, "%s has neither calls nor values to compare",
			  run->cli->operands[parts[0]->metric_count ? 1 : 0]);
		return CLI_FAILED;
	}
	name = parts[0]->metrics[metrics[0]].name;
	code = cli_find_metric(run->cli, parts[1], name, &metrics[1]);
	if (code != CLI_OK)
		return code;
	if (cct_merge((const struct cct *const *)parts, 2, &run->cct, maps, &err) != SONDE_OK)
		return cli_fail(run->cli, &err);
	run->wanted.metric = cct_find_metric(run->cct, name);
	run->wanted.before = run->before = spread_out(parts[0], metrics[0], maps[0], run->cct);
	run->wanted.after = run->after = spread_out(parts[1], metrics[1], maps[1], run->cct);
	free(maps[0]);
	free(maps[1]);
	return run->before && run->after ? CLI_OK : cli_fail_nomem(run->cli);
}

static int read_difference(struct flame_run *run)
{
	struct cli_analysis_request request = request_of(run->options);
	struct cct *parts[2] = { NULL, NULL };
	int code = cli_analyse(run->cli, run->cli->operands[0], &request, &parts[0], NULL);

	if (code == CLI_OK)
		code = cli_analyse(run->cli, run->cli->operands[1], &request, &parts[1], NULL);
	if (code == CLI_OK)
		code = compare(run, parts);
	cct_free(parts[0]);
	cct_free(parts[1]);
	return code;
}

static int read_recordings(struct flame_run *run)
{
	struct cli *cli = run->cli;
	struct cli_analysis_request request = request_of(run->options);
	int code;

	if (run->options->difference)
		return read_difference(run);
	code = cli_analyse_all(cli, cli->operands, cli->operand_count, &request, &run->cct);
	if (code == CLI_OK)
		code = cli_find_metric(cli, run->cct, run->options->analysis.metric,
				       &run->wanted.metric);
	return code;
}

/* The last part of a path, whatever slashes are at its end. */
static void put_name_of(struct sonde_buffer *out, const char *path)
{
	size_t end = strlen(path), start;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/'; start--)
		;
	if (start == end || !strcmp(path, "-") || !strncmp(path + start, ".", end - start) ||
	    !strncmp(path + start, "..", end - start))
		sonde_buffer_put_text(out, "flame");
	else
		sonde_buffer_put(out, path + start, end - start);
}

static void make_title(struct flame_run *run)
{
	const struct cli *cli = run->cli;

	if (run->options->title) {
		sonde_buffer_put_text(&run->title, run->options->title);
	} else if (run->options->difference) {
		put_name_of(&run->title, cli_input_name(cli, cli->operands[0]));
		sonde_buffer_put_text(&run->title, " \xe2\x86\x92 "); /* an arrow */
		put_name_of(&run->title, cli_input_name(cli, cli->operands[1]));
	} else {
		put_name_of(&run->title, cli_input_name(cli, cli->operands[0]));
		if (cli->operand_count > 1)
			sonde_buffer_put_format(&run->title, " and %zu more",
						cli->operand_count - 1);
	}
}

static int draw(struct flame_run *run, bool to_terminal)
{
	const struct flame_command *options = run->options;
	unsigned int width = (unsigned int)options->width;
	const char *title = sonde_buffer_text(&run->title);

	if (options->folded && !flame_put_folded(&run->result, &run->flame)) {
		cli_error(run->cli, "the stacks are more than a gigabyte of text");
		cli_hint(run->cli, "--min 0.1%% leaves the small ones out");
		return CLI_FAILED;
	}
	if (options->folded)
		return CLI_OK;
	if (options->text)
		flame_put_text(&run->result,
			       &(struct flame_screen){
				       .flame = &run->flame,
				       .title = title ? title : "",
				       .width = width ? width : cli_width(run->cli, 100),
				       .icicle = options->icicle,
				       .colours = to_terminal && run->cli->out_colour,
			       });
	else
		flame_put_svg(&run->result, &(struct flame_picture){
						    .flame = &run->flame,
						    .title = title ? title : "",
						    .width = width,
						    .icicle = options->icicle,
					    });
	return CLI_OK;
}

static bool leaves_out(const struct flame_run *run)
{
	return run->flame.narrow_count || run->flame.deep_count;
}

/* What is missing in what goes to the standard output; text says so itself. */
static void note_left_out(struct flame_run *run)
{
	struct sonde_buffer words = { 0 };

	if (run->options->text || !leaves_out(run))
		return;
	flame_put_left_out(&words, &run->flame);
	if (sonde_buffer_text(&words))
		cli_note(run->cli, "%s%s", words.data,
			 run->options->folded ? "; what was spent in them is their callers' own" :
						"");
	sonde_buffer_release(&words);
}

static int write_file(struct flame_run *run, const char *path)
{
	struct sonde_buffer *out = &run->cli->out;
	int code = cli_write_report(run->cli, path, &run->result);

	if (code != CLI_OK || run->cli->common.quiet)
		return code;
	sonde_buffer_put_text(out, "wrote ");
	cli_put_escaped(out, path);
	sonde_buffer_put_text(out, ": ");
	flame_put_about(out, &run->flame);
	sonde_buffer_put_char(out, '\n');
	if (leaves_out(run)) {
		flame_put_left_out(out, &run->flame);
		sonde_buffer_put_char(out, '\n');
	}
	return code;
}

static int put_result(struct flame_run *run)
{
	const struct flame_command *options = run->options;
	bool to_output = options->output ? !strcmp(options->output, "-") :
					   options->text || options->folded;
	struct sonde_buffer name = { 0 };
	int code = draw(run, to_output);

	if (code != CLI_OK)
		return code;
	if (to_output) {
		if (run->result.failed)
			return cli_fail_nomem(run->cli);
		note_left_out(run);
		sonde_buffer_put(&run->cli->out, run->result.data, run->result.size);
		return CLI_OK;
	}
	if (options->output)
		return write_file(run, options->output);
	put_name_of(&name, run->cli->operands[0]);
	if (options->difference) {
		sonde_buffer_put_text(&name, "-");
		put_name_of(&name, run->cli->operands[1]);
	}
	sonde_buffer_put_text(&name, ".svg");
	code = sonde_buffer_text(&name) ? write_file(run, name.data) : cli_fail_nomem(run->cli);
	sonde_buffer_release(&name);
	return code;
}

static int make_flame(struct flame_run *run)
{
	struct sonde_error err = { 0 };

	if (flame_make(&run->flame, run->cct, &run->wanted, &err) != SONDE_OK)
		return cli_fail(run->cli, &err);
	if (!(flame_total(&run->flame) > 0)) {
		cli_error(run->cli, "nothing to draw: no %s was spent in what was asked for",
			  run->cct->metrics[run->wanted.metric].name);
		return CLI_FAILED;
	}
	make_title(run);
	return put_result(run);
}

static int run_flame(struct cli *cli, const void *options)
{
	struct flame_run run = { .cli = cli, .options = options };
	int code = check_options(&run);

	if (code == CLI_OK)
		code = read_recordings(&run);
	if (code == CLI_OK)
		code = make_flame(&run);
	flame_release(&run.flame);
	cct_free(run.cct);
	free(run.before);
	free(run.after);
	sonde_buffer_release(&run.title);
	sonde_buffer_release(&run.result);
	return code;
}

const struct cli_command cmd_flame = {
	.name = "flame",
	.summary = "draw where the time went, as a flame graph",
	.usage = "sonde flame [OPTIONS] RECORDING...\n"
		 "sonde flame --diff [OPTIONS] BEFORE AFTER",
	.description =
		"Writes an SVG for a browser: a frame for each function in each place that it was "
		"called from, as wide as what was spent in it and in what it called. Click a frame "
		"to zoom in; search with '/', move with the arrows, '?' tells the other keys. "
		"Several recordings are drawn as one. Works with calls and with profiles; --metric "
		"says by what.\n"
		"\n"
		"Frames that are too narrow to be seen are left out. The picture and the command "
		"say how many, and how much was spent in them.",
	.section = CLI_SECTION_LOOK,
	.operands = { .name = "RECORDING",
		      .kind = CLI_OPERAND_PATH,
		      .at_least = 1,
		      .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Options", .options = flame_own_options },
			CLI_ANALYSIS_GROUP(struct flame_command),
			CLI_RANGE_GROUP(struct flame_command),
			CLI_FILTER_GROUP(struct flame_command),
			CLI_INPUT_GROUP(struct flame_command),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics = (const struct cli_topic[]){ CLI_STANDARD_INPUT_TOPIC, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde flame trace", "writes trace.svg, for a browser" },
			{ "sonde flame trace -o calls.svg --metric CALLS",
			  "by how often functions were called" },
			{ "sonde flame --diff old new -o change.svg",
			  "what became slower, and what faster" },
			{ "sonde flame trace --text", "on the terminal" },
			{ "sonde flame trace --folded > stacks.txt", "for another tool" },
			{ 0 },
		},
	.options_size = sizeof(struct flame_command),
	.run = run_flame,
};
