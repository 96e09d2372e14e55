/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde merge`: several recordings in one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/align.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/transfer.h"

/* Clocks of one kind that are further apart than this by the wall clock did not start together. */
#define SAME_CLOCK_NS 1000000000

struct merge_options {
	struct cli_common common;
	struct cli_input input;
	struct cli_target target;
	struct cli_transfer transfer;
	struct cli_list labels;
	bool label_files;
};

static const struct cli_option merge_own_options[] = {
	{ .name = "label",
	  .argument = "NAME",
	  .kind = CLI_LIST,
	  .help = "put NAME and a slash before the names of a recording's processes; one for each "
		  "recording, in their order, with commas or by repeating",
	  .offset = offsetof(struct merge_options, labels) },
	{ .name = "label-files",
	  .kind = CLI_FLAG,
	  .help = "the same with the names of the files or folders",
	  .offset = offsetof(struct merge_options, label_files) },
	{ 0 },
};

struct merge {
	const struct merge_options *options;
	char **labels; /* by recording, or NULL */
	size_t label_count;
};

static enum sonde_clock_kind kind_of(const struct align_clock *clock)
{
	const struct sonde_clock *definition = sonde_definitions_clock(
		sonde_recording_definitions(clock->recording), clock->clock);

	return definition ? definition->kind : SONDE_CLOCK_UNKNOWN;
}

static void warn(struct cli *cli, const struct align_clock *a, const struct align_clock *b,
		 const char *how)
{
	cli_warning(cli,
		    "the clocks of %s and %s differ: %s. Times are taken as they are; 'sonde "
		    "align' brings clocks together",
		    sonde_recording_path(a->recording), sonde_recording_path(b->recording), how);
}

/* Whether two clocks of one kind are the same one, as far as anchors tell; true: it was said. */
static bool warn_of_distance(struct cli *cli, struct align *align, size_t number)
{
	const struct align_clock *clock = &align->clocks.items[number];
	struct sonde_buffer text = { 0 };
	int64_t offset = align_offset(align, clock);
	uint64_t distance = offset < 0 ? -(uint64_t)offset : (uint64_t)offset;

	if (distance < SAME_CLOCK_NS)
		return false;
	sonde_buffer_put_text(&text, "by the wall clock they are ");
	cli_put_duration(&text, distance, " ");
	sonde_buffer_put_text(&text, " apart, as after a restart or on another machine");
	if (sonde_buffer_text(&text))
		warn(cli, &align->clocks.items[0], clock, text.data);
	sonde_buffer_release(&text);
	return true;
}

/* One warning, of the first that is found. */
static void look_at_clocks(struct cli *cli, struct align *align)
{
	const struct align_options options = { .method = ALIGN_ANCHORS };
	struct align_clock *first = align->clocks.items;
	struct sonde_buffer text = { 0 };
	bool anchored = align->clocks.count && align_has_anchors(first);

	for (size_t i = 1; i < align->clocks.count; i++) {
		struct align_clock *clock = &first[i];

		anchored = anchored && align_has_anchors(clock);
		if (kind_of(clock) == kind_of(first))
			continue;
		sonde_buffer_put_format(&text, "one is %s, the other %s",
					sonde_clock_kind_name(kind_of(first)),
					sonde_clock_kind_name(kind_of(clock)));
		if (sonde_buffer_text(&text))
			warn(cli, first, clock, text.data);
		sonde_buffer_release(&text);
		return;
	}
	if (!anchored || align_estimate(align, &options, NULL))
		return;
	for (size_t i = 1; i < align->clocks.count; i++) {
		if (warn_of_distance(cli, align, i))
			return;
	}
}

/* The last part of a path; of one that came before already, with its number behind it. */
static char *label_of(char *const *paths, size_t number)
{
	const char *path = paths[number], *end = path + strlen(path), *start;
	char *label;

	while (end > path + 1 && end[-1] == '/')
		end--;
	for (start = end; start > path && start[-1] != '/'; start--)
		;
	label = strndup(start, (size_t)(end - start));
	return label;
}

static bool number_label(struct merge *merge, size_t number)
{
	struct sonde_buffer text = { 0 };

	for (size_t i = 0; i < number; i++) {
		if (strcmp(merge->labels[i], merge->labels[number]) != 0)
			continue;
		sonde_buffer_put_format(&text, "%s-%zu", merge->labels[number], number + 1);
		if (!sonde_buffer_text(&text))
			return false;
		free(merge->labels[number]);
		merge->labels[number] = text.data;
		return true;
	}
	return true;
}

static int make_labels(struct cli *cli, struct merge *merge, size_t count)
{
	const struct cli_list *given = &merge->options->labels;

	if (given->count && merge->options->label_files)
		return cli_usage(cli, "--label and --label-files are one too many");
	if (given->count && given->count != count)
		return cli_usage(cli, "--label: %zu names for %zu recordings; each needs one",
				 given->count, count);
	merge->labels = calloc(count + 1, sizeof(*merge->labels));
	merge->label_count = count;
	for (size_t i = 0; merge->labels && i < count; i++) {
		merge->labels[i] = given->count ? strdup(given->items[i]) :
						  label_of(cli->operands, i);
		if (!merge->labels[i] || (!given->count && !number_label(merge, i)))
			return cli_fail_nomem(cli);
	}
	return merge->labels ? CLI_OK : cli_fail_nomem(cli);
}

static int prepare(struct cli *cli, void *user, struct sonde_recording *const *sources,
		   size_t count, struct sonde_run_options *run)
{
	struct merge *merge = user;
	struct sonde_error err = { 0 };
	struct align align;
	int code = CLI_OK;

	if (align_init(&align, sources, count, &err))
		code = cli_fail(cli, &err);
	else
		look_at_clocks(cli, &align);
	align_release(&align);
	if (code == CLI_OK && (merge->options->labels.count || merge->options->label_files))
		code = make_labels(cli, merge, count);
	run->labels = (const char *const *)merge->labels;
	return code;
}

static int run(struct cli *cli, const void *options)
{
	const struct merge_options *given = options;
	struct merge merge = { .options = options };
	int code = cli_transfer_run(cli, &(const struct cli_transfer_request){
						 .input = &given->input,
						 .target = &given->target,
						 .transfer = &given->transfer,
						 .prepare = prepare,
						 .user = &merge,
					 });

	for (size_t i = 0; merge.labels && i < merge.label_count; i++)
		free(merge.labels[i]);
	free(merge.labels);
	return code;
}

const struct cli_command cmd_merge = {
	.name = "merge",
	.summary = "put several recordings into one",
	.usage = "sonde merge [OPTIONS] RECORDING RECORDING... -o OUTPUT",
	.description =
		"Writes one recording with the processes of all the given ones, which stay apart, "
		"also where numbers of processes and threads are the same, or a recording is given "
		"twice. Formats may differ: the output has what its format holds, and what the "
		"others lack of that is made of what they have.\n"
		"\n"
		"Times are taken as they are: recordings of one machine's boot line up by "
		"themselves. Where clocks differ that is told, and 'sonde align' brings them "
		"together.",
	.section = CLI_SECTION_WRITE,
	.operands = { .name = "RECORDING",
		      .kind = CLI_OPERAND_PATH,
		      .at_least = 2,
		      .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Names", .options = merge_own_options },
			CLI_TARGET_GROUP(struct merge_options),
			CLI_TRANSFER_GROUP(struct merge_options),
			CLI_INPUT_GROUP(struct merge_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics = (const struct cli_topic[]){ CLI_LOSS_TOPIC, CLI_PIPE_TOPIC, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde merge server client -o both", "two processes in one recording" },
			{ "sonde merge old-1 new-1 --label before,after -o runs",
			  "two runs of a program, told apart by the names of their processes" },
			{ 0 },
		},
	.options_size = sizeof(struct merge_options),
	.run = run,
};
