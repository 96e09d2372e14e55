/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde split`: a recording in pieces of time, of equal length or of about equal size. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/density.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/info.h"
#include "cli/progress.h"
#include "cli/report_file.h"
#include "cli/split.h"
#include "cli/text.h"
#include "formats/format.h"
#include "model/recording.h"

/* A piece that is larger than asked for by more than this share is written again, shorter. */
#define TOLERANCE 0.05
#define TRIES 12
/* What is aimed at, so that few files are too large; and what is too small to be left at that. */
#define AIM 0.97
#define TOO_SMALL 0.6
#define TRIAL_END ".partial-split"

struct split_options {
	struct cli_common common;
	struct cli_input input;
	struct cli_target target;
	struct cli_transfer transfer;
	uint64_t every_ns;
	uint64_t size;
	uint64_t events;
};

static const struct cli_option split_own_options[] = {
	{ .name = "every",
	  .argument = "TIME",
	  .kind = CLI_DURATION,
	  .help = "pieces of this length",
	  .offset = offsetof(struct split_options, every_ns) },
	{ .name = "size",
	  .argument = "SIZE",
	  .kind = CLI_SIZE,
	  .help = "pieces whose files have about so many bytes (10M, 1G), and at most 5 % more",
	  .offset = offsetof(struct split_options, size) },
	{ .name = "events",
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "pieces of about N events or samples, and at most 5 % more",
	  .offset = offsetof(struct split_options, events) },
	{ 0 },
};

static const struct cli_option split_target_options[] = {
	{ .name = "output",
	  .short_name = 'o',
	  .argument = "PREFIX",
	  .kind = CLI_PATH,
	  .help = "what names of pieces begin with, or a folder for them; else the name of the "
		  "recording",
	  .offset = offsetof(struct split_options, target.output) },
	{ .name = "force",
	  .kind = CLI_FLAG,
	  .help = "replace pieces that exist, each once the new one is whole",
	  .offset = offsetof(struct split_options, target.force) },
	{ 0 },
};

struct piece {
	uint64_t from_ns, to_ns; /* to_ns 0: to the end */
	uint64_t bytes;
	struct sonde_run_result result;
};

struct split {
	struct cli *cli;
	const struct split_options *options;
	struct sonde_recording *recording;
	struct cli_transfer_format format;
	struct split_names names;
	uint64_t first_ns, last_ns;
	struct density density; /* where sizes are asked for */
	struct sonde_resume *resume;
	SONDE_VEC(struct piece) pieces;
	struct split_losses losses;
	double share; /* of what is measured, for each event or sample; the last piece's */
};

/* What a piece is measured by. */
static double measure(const struct split *split, const struct piece *piece)
{
	const struct sonde_run_result *result = &piece->result;
	uint64_t made_up, count;

	if (split->options->size)
		return (double)piece->bytes;
	/* of those that are in the recording */
	made_up = result->calls_opened + result->calls_closed;
	count = result->events_written + result->samples_written;
	return (double)(count > made_up ? count - made_up : 0);
}

/* What to write, where that is what would be right by all that is known. */
static double aim(const struct split *split, double count)
{
	return split->options->size ? count * AIM : count;
}

static double wanted(const struct split *split)
{
	return (double)(split->options->size ? split->options->size : split->options->events);
}

static enum sonde_status write_trial(struct split *split, struct piece *piece, const char *path,
				     struct sonde_loss *loss, struct sonde_error *err)
{
	const struct sonde_buffer *style = &split->format.style;
	struct sonde_create_options create = { .format = split->format.name,
					       .loss = loss,
					       .style = style->size ? style->data : NULL };
	struct sonde_run_options run = {
		.selection = { .from_ns = piece->from_ns, .to_ns = piece->to_ns },
		.loss = loss,
		.strict = split->options->transfer.strict,
		.resume = split->resume,
	};
	struct cli_progress progress;
	struct sonde_sink *sink = NULL;
	enum sonde_status status = sonde_sink_create(path, &create, &sink, err);

	if (status)
		return status;
	cli_progress_begin(split->cli, &progress, "writing", "event");
	run.progress = &progress.progress;
	status = sonde_pipeline_run(&split->recording, 1, sink, &run, &piece->result, err);
	cli_progress_end(&progress);
	sonde_sink_free(sink);
	piece->bytes = status ? 0 : cli_bytes_on_disk(path);
	return status;
}

/* Gives a piece that is as it should be its name. */
static int accept(struct split *split, const char *trial, const char *name)
{
	struct sonde_error err = { 0 };

	if (sonde_path_kind(name) != SONDE_PATH_ABSENT) {
		if (sonde_format_check_replaced(name, &err))
			return cli_fail(split->cli, &err);
		sonde_path_remove(name);
	}
	if (rename(trial, name)) {
		sonde_fail_errno(&err, name, "the piece cannot be put in its place");
		return cli_fail(split->cli, &err);
	}
	return CLI_OK;
}

/* The border that makes a piece as large as is wanted, by what is known so far. */
static uint64_t guess_border(const struct split *split, uint64_t from_ns, double count)
{
	double before = density_before(&split->density, from_ns);
	uint64_t to_ns = density_time(&split->density, before + count);

	return to_ns > from_ns ? to_ns : from_ns + 1;
}

/* Whether a piece is to be written again with another length; then *count is how much to take. */
static bool wants_another(const struct split *split, const struct piece *piece, size_t tries,
			  double *count)
{
	double size = measure(split, piece), most = wanted(split);
	bool is_last = piece->to_ns > split->last_ns;

	if (!split->density.before || size <= 0)
		return false;
	if (size > most * (1 + TOLERANCE) && piece->to_ns - piece->from_ns > 1) {
		*count = aim(split, *count * most / size);
		return true;
	}
	if (tries || is_last || size > most * TOO_SMALL)
		return false;
	*count = aim(split, *count * most / size);
	return true;
}

static int too_large(struct split *split, const struct piece *piece)
{
	struct sonde_buffer text = { 0 };

	if (split->options->size)
		cli_put_size(&text, piece->bytes);
	else
		cli_put_counted(&text, (uint64_t)measure(split, piece), "event");
	if (sonde_buffer_text(&text))
		cli_error(split->cli,
			  "even the shortest piece here, of %" PRIu64
			  " ns, has %s: choose a larger "
			  "--%s",
			  piece->to_ns - piece->from_ns, text.data,
			  split->options->size ? "size" : "events");
	sonde_buffer_release(&text);
	if (split->options->size)
		cli_hint(split->cli, "names of functions, threads and embedded resources are in "
				     "every piece");
	return CLI_FAILED;
}

static int fail_piece(struct split *split, enum sonde_status status, const struct sonde_error *err)
{
	int code = CLI_FINDINGS;

	if (split->options->transfer.strict && status == SONDE_LIMIT)
		cli_error(split->cli, "something would be lost: this piece was not written");
	else
		code = cli_fail(split->cli, err);
	if (split->pieces.count)
		cli_hint(split->cli, "the pieces before it, %zu, are whole", split->pieces.count);
	return code;
}

/* Writes a piece, again and again until it has the right size. */
static int write_sized(struct split *split, struct piece *piece, const char *trial)
{
	double most = wanted(split);
	double count = split->density.before ? aim(split, most / split->share) : 0;

	for (size_t tries = 0;; tries++) {
		struct sonde_loss *loss = sonde_loss_new();
		struct sonde_error err = { 0 };
		enum sonde_status status;
		bool is_good;

		if (!loss)
			return cli_fail_nomem(split->cli);
		if (split->density.before)
			piece->to_ns = guess_border(split, piece->from_ns, count);
		status = write_trial(split, piece, trial, loss, &err);
		is_good = !status &&
			  (tries == TRIES || !wants_another(split, piece, tries, &count));
		if (is_good && !split_losses_add(&split->losses, loss))
			status = sonde_fail_nomem(&err);
		sonde_loss_free(loss);
		if (status)
			return fail_piece(split, status, &err);
		if (is_good)
			break;
		sonde_path_remove(trial);
	}
	if (split->density.before && measure(split, piece) > most * (1 + TOLERANCE)) {
		sonde_path_remove(trial);
		return too_large(split, piece);
	}
	return CLI_OK;
}

static int check_free(struct split *split, const char *name)
{
	struct cli_target target = { .output = name, .force = split->options->target.force };

	return cli_target_check(split->cli, &target);
}

/* What a piece took for each event, for the guess about the next. */
static void learn(struct split *split, const struct piece *piece)
{
	double count;

	if (!split->density.before)
		return;
	count = density_before(&split->density, piece->to_ns) -
		density_before(&split->density, piece->from_ns);
	if (count >= 1 && measure(split, piece) > 0)
		split->share = measure(split, piece) / count;
}

static int write_piece(struct split *split, struct piece *piece)
{
	const char *name = split_name(&split->names, split->pieces.count + 1);
	struct sonde_buffer trial = { 0 };
	struct piece *kept;
	int code;

	if (!name)
		return cli_fail_nomem(split->cli);
	code = check_free(split, name);
	sonde_buffer_put_format(&trial, "%s" TRIAL_END, name);
	if (code == CLI_OK && !sonde_buffer_text(&trial))
		code = cli_fail_nomem(split->cli);
	if (code == CLI_OK)
		code = write_sized(split, piece, trial.data);
	if (code == CLI_OK)
		code = accept(split, trial.data, name);
	if (code != CLI_OK && trial.data)
		sonde_path_remove(trial.data);
	sonde_buffer_release(&trial);
	if (code != CLI_OK)
		return code;
	sonde_resume_accept(split->resume);
	learn(split, piece);
	kept = sonde_vec_push(&split->pieces);
	if (!kept)
		return cli_fail_nomem(split->cli);
	*kept = *piece;
	return CLI_OK;
}

static int too_many(struct split *split, uint64_t count)
{
	struct sonde_buffer text = { 0 };

	cli_put_count(&text, count);
	sonde_buffer_put_text(&text, " pieces, of which 9,999 are the most: the recording spans ");
	cli_put_duration(&text, split->last_ns - split->first_ns, " ");
	if (sonde_buffer_text(&text))
		cli_error(split->cli, "that would be %s%s",
			  split->options->every_ns ? "" : "about ", text.data);
	sonde_buffer_release(&text);
	cli_hint(split->cli, "choose larger pieces");
	return CLI_USAGE;
}

/* The moment behind the last one; 0 where there is none. */
static uint64_t end_of(const struct split *split)
{
	return split->last_ns == UINT64_MAX ? 0 : split->last_ns + 1;
}

static int write_every(struct split *split)
{
	uint64_t every_ns = split->options->every_ns;
	uint64_t count = (split->last_ns - split->first_ns) / every_ns + 1;
	int code = CLI_OK;

	if (count > SPLIT_MOST)
		return too_many(split, count);
	/* known beforehand: nothing is written where some cannot be */
	for (size_t i = 1; code == CLI_OK && i <= count; i++) {
		const char *name = split_name(&split->names, i);

		code = name ? check_free(split, name) : cli_fail_nomem(split->cli);
	}
	for (uint64_t i = 0; code == CLI_OK && i < count; i++) {
		struct piece piece = { .from_ns = split->first_ns + i * every_ns };

		piece.to_ns = i + 1 < count ? piece.from_ns + every_ns : end_of(split);
		code = write_piece(split, &piece);
	}
	return code;
}

static int find_density(struct split *split)
{
	struct sonde_run_options options = { 0 };
	struct cli_progress progress;
	struct sonde_error err = { 0 };
	enum sonde_status status;
	double total, count;

	cli_progress_begin(split->cli, &progress, "counting", "event");
	options.progress = &progress.progress;
	status = density_find(&split->density, split->recording, &options, &err);
	cli_progress_end(&progress);
	if (status)
		return cli_fail(split->cli, &err);
	total = (double)split->density.before[split->density.slice_count];
	split->share = 1;
	if (split->options->size && total > 0)
		split->share = (double)cli_bytes_on_disk(split->recording->path) / total;
	count = total * split->share / wanted(split);
	return count > SPLIT_MOST * 4.0 ? too_many(split, (uint64_t)count) : CLI_OK;
}

static int write_by_size(struct split *split)
{
	uint64_t from_ns = split->first_ns;
	int code = find_density(split);

	while (code == CLI_OK && from_ns <= split->last_ns) {
		struct piece piece = { .from_ns = from_ns };

		if (split->pieces.count == SPLIT_MOST) {
			cli_error(split->cli,
				  "9,999 pieces were written, and the recording goes on: "
				  "choose larger pieces");
			return CLI_FAILED;
		}
		code = write_piece(split, &piece);
		/* an empty range cannot end */
		if (piece.to_ns <= from_ns)
			break;
		from_ns = piece.to_ns;
	}
	return code;
}

static void put_sums(struct split *split)
{
	struct sonde_buffer *out = &split->cli->out;
	struct sonde_run_result sum = { 0 };
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < split->pieces.count; i++) {
		const struct piece *piece = &split->pieces.items[i];

		sum.events_written += piece->result.events_written;
		sum.samples_written += piece->result.samples_written;
		sum.calls_opened += piece->result.calls_opened;
		sum.calls_closed += piece->result.calls_closed;
		least = piece->bytes < least ? piece->bytes : least;
		most = piece->bytes > most ? piece->bytes : most;
	}
	if (sum.events_written || !sum.samples_written)
		cli_put_counted(out, sum.events_written, "event");
	if (sum.samples_written) {
		sonde_buffer_put_text(out, sum.events_written ? ", " : "");
		cli_put_counted(out, sum.samples_written, "sample");
	}
	sonde_buffer_put_text(out, ", ");
	cli_put_size(out, least);
	if (most != least) {
		sonde_buffer_put_text(out, " to ");
		cli_put_size(out, most);
	}
	sonde_buffer_put_text(out, split->pieces.count > 1 ? " each\n" : "\n");
	if (!sum.calls_opened && !sum.calls_closed)
		return;
	cli_put_counted(out, sum.calls_opened, "call");
	sonde_buffer_put_text(out, " opened again at the start of pieces and ");
	cli_put_count(out, sum.calls_closed);
	sonde_buffer_put_text(out, " closed at their end, by events marked synthetic\n");
}

static void put_summary(struct split *split)
{
	struct sonde_buffer *out = &split->cli->out;
	size_t count = split->pieces.count;
	const char *name;

	sonde_buffer_put_text(out, "wrote ");
	cli_put_counted(out, count, "piece");
	sonde_buffer_put_text(out, ", ");
	name = split_name(&split->names, 1);
	cli_put_escaped(out, name ? name : "");
	if (count > 1) {
		name = split_name(&split->names, count);
		sonde_buffer_put_text(out, " to ");
		cli_put_escaped(out, name ? name : "");
	}
	sonde_buffer_put_format(out, " (%s): ", split->format.name);
	put_sums(split);
	split_put_losses(split->cli, &split->losses, count, split->format.name);
}

static void put_json(struct split *split, struct sonde_buffer *out, bool only_losses)
{
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, out, true);
	sonde_json_object_begin(&json);
	for (size_t i = 0; !only_losses && i < split->pieces.count; i++) {
		const struct piece *piece = &split->pieces.items[i];
		const char *name = split_name(&split->names, i + 1);

		if (!i) {
			sonde_json_member_string(&json, "format", split->format.name);
			sonde_json_key(&json, "pieces");
			sonde_json_array_begin(&json);
		}
		sonde_json_object_begin(&json);
		sonde_json_member_string(&json, "path", name ? name : "");
		sonde_json_member_u64(&json, "from_ns", piece->from_ns);
		sonde_json_member_u64(&json, "to_ns", piece->to_ns ? piece->to_ns : UINT64_MAX);
		sonde_json_member_u64(&json, "bytes", piece->bytes);
		sonde_json_member_u64(&json, "events_written", piece->result.events_written);
		sonde_json_member_u64(&json, "samples_written", piece->result.samples_written);
		sonde_json_member_u64(&json, "calls_opened", piece->result.calls_opened);
		sonde_json_member_u64(&json, "calls_closed", piece->result.calls_closed);
		sonde_json_object_end(&json);
	}
	if (!only_losses && split->pieces.count)
		sonde_json_array_end(&json);
	split_put_losses_json(&json, &split->losses);
	sonde_json_object_end(&json);
	sonde_buffer_put_char(out, '\n');
}

static int tell(struct split *split)
{
	const char *report = split->options->transfer.loss_report;
	struct sonde_buffer text = { 0 };
	const char *next = split_name(&split->names, split->pieces.count + 1);
	int code = CLI_OK;

	if (next && sonde_path_kind(next) != SONDE_PATH_ABSENT)
		cli_warning(split->cli, "%s was there before and is not one of these pieces", next);
	if (split->options->transfer.json)
		put_json(split, &split->cli->out, false);
	else if (!split->cli->common.quiet)
		put_summary(split);
	if (report) {
		put_json(split, &text, true);
		code = cli_write_report(split->cli, report, &text);
		sonde_buffer_release(&text);
	}
	return code;
}

static int split_recording(struct split *split)
{
	const struct split_options *options = split->options;
	const char *name, *path = sonde_recording_path(split->recording);
	int code;

	if (!sonde_recording_time_range(split->recording, &split->first_ns, &split->last_ns)) {
		cli_error(split->cli, "%s has no events and no samples: there is nothing to split",
			  path);
		return CLI_FAILED;
	}
	code = cli_transfer_choose_format(split->cli, &options->transfer,
					  options->target.output ? options->target.output : "",
					  split->recording, &split->format);
	if (code != CLI_OK)
		return code;
	if (split->recording->title)
		path = "piece"; /* standard input has no name */
	split->resume = sonde_resume_new();
	if (!split->resume ||
	    !split_names_init(&split->names, options->target.output, path, split->format.info))
		return cli_fail_nomem(split->cli);
	name = split_name(&split->names, 1);
	code = name ? check_free(split, name) : cli_fail_nomem(split->cli);
	if (code == CLI_OK && options->transfer.loss_report)
		code = cli_check_report(split->cli, options->transfer.loss_report, name);
	if (code == CLI_OK)
		code = options->every_ns ? write_every(split) : write_by_size(split);
	return code == CLI_OK ? tell(split) : code;
}

static int run(struct cli *cli, const void *options)
{
	struct split split = { .cli = cli, .options = options };
	const struct split_options *given = options;
	int code;

	if (!!given->every_ns + !!given->size + !!given->events != 1)
		return cli_usage(cli,
				 "'split' needs one of --every TIME, --size SIZE and --events N, "
				 "which are not 0");
	if (cli_target_is_standard_output(&given->target))
		return cli_usage(cli, "pieces are files of their own: they cannot go to standard "
				      "output");
	code = cli_open(cli, cli->operands[0], &given->input, &split.recording);
	if (code != CLI_OK)
		return code;
	cli_warn_of_faults(cli, split.recording);
	code = split_recording(&split);
	sonde_recording_close(split.recording);
	sonde_resume_free(split.resume);
	density_release(&split.density);
	sonde_vec_release(&split.pieces);
	split_losses_release(&split.losses);
	split_names_release(&split.names);
	sonde_buffer_release(&split.format.style);
	return code;
}

const struct cli_command cmd_split = {
	.name = "split",
	.summary = "write a recording in pieces of time",
	.usage = "sonde split [OPTIONS] RECORDING --every TIME [-o PREFIX]",
	.description =
		"Writes a recording as several, one behind the other in time, called PREFIX-0001, "
		"PREFIX-0002 and so on, with the suffix of their format. Each is whole: calls that go "
		"on over a border are closed there in one piece and opened again in the next, by "
		"events that are marked as synthetic, so that times add up to those of the "
		"recording.\n"
		"\n"
		"With --every all pieces are of that length, but for the last, and all are written, "
		"also those in which nothing happened: the number of a piece tells its time. With "
		"--size and --events borders are found from how much happened when, and a piece that "
		"comes out larger by more than 5 % is written again, shorter. There are at most 9,999 "
		"pieces.\n"
		"\n"
		"A piece appears when it is whole. Where one fails, those before it stay. Names of "
		"functions and threads and embedded resources are in every piece.",
	.section = CLI_SECTION_WRITE,
	.operands = { .name = "RECORDING", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = 1 },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Pieces", .options = split_own_options },
			{ .title = "Output", .options = split_target_options },
			CLI_TRANSFER_GROUP(struct split_options),
			CLI_INPUT_GROUP(struct split_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics = (const struct cli_topic[]){ CLI_LOSS_TOPIC, CLI_STANDARD_INPUT_TOPIC, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde split trace --every 50us -o part",
			  "part-0001.atf and so on, fifty microseconds each" },
			{ "sonde split trace --size 100K -t cff -o part",
			  "files of about 100 KB in another format" },
			{ "sonde split trace --events 1000 -o part",
			  "about a thousand events each" },
			{ 0 },
		},
	.options_size = sizeof(struct split_options),
	.run = run,
};
