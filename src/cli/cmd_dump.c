/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde dump`: the events of a recording, ordered by time over all tracks, or a profile. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/dump.h"
#include "cli/dump_profile.h"
#include "cli/human.h"
#include "cli/input.h"
#include "cli/select.h"
#include "cli/text.h"
#include "model/filters.h"

struct dump_options {
	struct cli_common common;
	struct cli_input input;
	struct cli_range range;
	struct cli_filter filter;
	uint64_t limit;
	uint64_t offset;
	uint64_t resource; /* UINT64_MAX: events */
	const char *metric;
	unsigned int time; /* enum dump_time */
	bool contexts;
	bool values;
	bool samples;
	bool json;
	bool csv;
	bool detail;
};

#define WIDEST_TRACK 32 /* columns for the name of a track in text */

static const struct cli_choice time_choices[] = {
	[DUMP_TIME_RELATIVE] = { "relative", "seconds since the start of the recording" },
	[DUMP_TIME_ABSOLUTE] = { "absolute", "nanoseconds on the recording's clock" },
	[DUMP_TIME_HUMAN] = { "human", "since the start, like 12.345us" },
	{ 0 },
};

static const struct cli_option dump_own_options[] = {
	{ .name = "json",
	  .kind = CLI_FLAG,
	  .help = "print JSON lines: one object for each event, with both times in nanoseconds",
	  .offset = offsetof(struct dump_options, json) },
	{ .name = "csv",
	  .kind = CLI_FLAG,
	  .help = "print CSV (RFC 4180) with a header, with both times in nanoseconds",
	  .offset = offsetof(struct dump_options, csv) },
	{ .name = "detail",
	  .kind = CLI_FLAG,
	  .help = "show what was captured with an event: registers, stack bytes",
	  .offset = offsetof(struct dump_options, detail) },
	{ .name = "contexts",
	  .kind = CLI_FLAG,
	  .help = "of a profile: the tree of calling contexts, with the values of a metric; this is "
		  "what is shown of a recording without events",
	  .offset = offsetof(struct dump_options, contexts) },
	{ .name = "values",
	  .kind = CLI_FLAG,
	  .help = "of a profile: every value, track by track, then what is over all tracks",
	  .offset = offsetof(struct dump_options, values) },
	{ .name = "samples",
	  .kind = CLI_FLAG,
	  .help = "of a profile: in which context each track was, and since when",
	  .offset = offsetof(struct dump_options, samples) },
	{ .name = "metric",
	  .argument = "NAME",
	  .kind = CLI_TEXT,
	  .help = "the metric or formula to show with --contexts, or the only metric with "
		  "--values; 'sonde info' lists them",
	  .offset = offsetof(struct dump_options, metric) },
	{ .name = "time",
	  .argument = "HOW",
	  .kind = CLI_CHOICE,
	  .choices = time_choices,
	  .help = "how times are written in text",
	  .offset = offsetof(struct dump_options, time) },
	{ .name = "limit",
	  .short_name = 'n',
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "print at most N events, or lines of a profile",
	  .offset = offsetof(struct dump_options, limit) },
	{ .name = "offset",
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "pass over the first N that would be printed",
	  .offset = offsetof(struct dump_options, offset) },
	{ .name = "resource",
	  .argument = "N",
	  .kind = CLI_NUMBER,
	  .help = "write the bytes of an embedded resource instead of events; 'sonde info -v' "
		  "numbers them",
	  .offset = offsetof(struct dump_options, resource) },
	{ 0 },
};

/* Threads often have the name of their program: such tracks are told apart by their ids. */
static const char *track_label(const struct sonde_definitions *definitions, uint32_t id,
			       char space[SONDE_LABEL_SIZE])
{
	const struct sonde_track *track = sonde_definitions_track(definitions, id);
	uint32_t count = sonde_definitions_track_count(definitions), i;

	for (i = 0; track && track->name && i < count; i++) {
		if (i == id || sonde_definitions_track(definitions, i)->name != track->name)
			continue;
		snprintf(space, SONDE_LABEL_SIZE, "%.*s#%u", SONDE_LABEL_SIZE - 12,
			 sonde_definitions_string(definitions, track->name), id);
		return space;
	}
	return sonde_definitions_track_label(definitions, id, space);
}

/* One run of the command. */
struct dump_run {
	struct dump dump;
	const struct dump_options *options;
	const struct row_form *form; /* NULL: text */
	struct sonde_recording *recording;
	struct cli_selection selected;
	struct sonde_selection *selection; /* NULL: every event fits */
	struct sonde_merged_cursor *cursor;
	uint64_t to_skip;
	uint64_t left;	  /* still to print */
	uint64_t printed; /* so far */
};

static uint32_t shown_track(const struct sonde_selection_spec *spec, size_t number)
{
	return spec->track_count ? spec->tracks[number] : (uint32_t)number;
}

/* Makes a name fill a column of a screen. */
static void pad_name(struct names *names, uint32_t id, size_t width)
{
	const struct name *name = names_get(names, id);

	sonde_buffer_clear(&names->scratch);
	cli_put_column(&names->scratch, name->text, name->length, width, false);
	names_keep(names, id);
}

/* Text shows tracks in a column: all names get the same width. */
static void pad_track_names(struct dump_run *run)
{
	const struct sonde_selection_spec *spec = &run->selected.spec;
	struct names *tracks = &run->dump.rows.tracks;
	size_t count = spec->track_count, width = 0, i;

	if (!count)
		count = sonde_definitions_track_count(run->dump.rows.definitions);
	run->dump.with_tracks = count > 1;
	for (i = 0; i < count; i++) {
		const struct name *name = names_get(tracks, shown_track(spec, i));
		size_t columns = cli_text_width(name->text, name->length);

		if (columns > width)
			width = columns;
	}
	if (width > WIDEST_TRACK)
		width = WIDEST_TRACK;
	for (i = 0; i < count; i++)
		pad_name(tracks, shown_track(spec, i), width);
}

static void init_dump(struct dump_run *run, struct cli *cli)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(run->recording);
	struct row_writer *rows = &run->dump.rows;
	name_encoder *encode = NULL;

	/* CSV has no escapes of its own: what goes to a terminal is made harmless as text is. */
	if (!run->form || (cli->out_is_terminal && run->form == &row_form_csv))
		encode = cli_put_escaped;
	row_writer_init(rows, run->form, definitions, encode);
	rows->out = &cli->out;
	rows->with_details = run->options->detail;
	if (!run->form)
		rows->tracks.lookup = track_label;
	run->dump.cli = cli;
	run->dump.time = run->options->time;
	sonde_recording_time_range(run->recording, &rows->start_ns, &run->dump.end_ns);
	if (!run->form)
		pad_track_names(run);
	run->to_skip = run->options->offset;
	run->left = run->options->limit;
}

static enum sonde_status open_cursor(struct dump_run *run, struct sonde_error *err)
{
	const struct sonde_selection_spec *spec = &run->selected.spec;
	enum sonde_status status = sonde_merged_cursor_open(run->recording,
							    spec->track_count ? spec->tracks : NULL,
							    spec->track_count, &run->cursor, err);

	if (status == SONDE_OK && !sonde_passes_every_event(spec))
		status =
			sonde_selection_new(spec, run->dump.rows.definitions, &run->selection, err);
	if (status == SONDE_OK && spec->from_ns)
		sonde_merged_cursor_seek_time(run->cursor, spec->from_ns);
	return status;
}

static inline void put_event(struct dump_run *run, const struct sonde_event *event,
			     const struct row_extras *extras)
{
	if (run->form)
		run->form->event(&run->dump.rows, event, extras);
	else
		dump_text_event(&run->dump, event, extras);
}

static void put_event_with_detail(struct dump_run *run, const struct sonde_event *event)
{
	struct row_extras extras = { 0 };
	struct sonde_detail detail;
	struct sonde_error err = { 0 };
	enum sonde_status status = sonde_merged_cursor_detail(run->cursor, event, &detail, &err);

	if (status == SONDE_OK)
		row_take_detail(&run->dump.rows, &detail, &extras, &err);
	else if (status < 0)
		extras.fault = err.message;
	put_event(run, event, &extras);
}

/* Without event types there are no arguments, and details are left alone unless wanted. */
static bool looks_at_details(const struct dump_run *run)
{
	return run->dump.rows.with_details ||
	       sonde_definitions_event_type_count(run->dump.rows.definitions);
}

/* False when nothing more is to be printed. */
static bool put_batch(struct dump_run *run, const struct sonde_batch *batch)
{
	static const struct row_extras none;
	uint64_t to_ns = run->selected.spec.to_ns;
	bool with_details = looks_at_details(run);
	size_t i = 0;

	if (!run->selection) {
		i = run->to_skip < batch->count ? (size_t)run->to_skip : batch->count;
		run->to_skip -= i;
	}
	for (; i < batch->count; i++) {
		const struct sonde_event *event = &batch->events[i];

		if (to_ns && event->time_ns >= to_ns)
			return false; /* in the order of time nothing fits after this */
		if (run->selection && !sonde_selection_has(run->selection, event))
			continue;
		if (run->to_skip) {
			run->to_skip--;
			continue;
		}
		if (with_details && sonde_event_has_detail(event))
			put_event_with_detail(run, event);
		else
			put_event(run, event, &none);
		run->printed++;
		if (!--run->left || !cli_flush_when_full(run->dump.cli))
			return false;
	}
	return true;
}

static enum sonde_status put_events(struct dump_run *run, struct sonde_error *err)
{
	struct sonde_batch batch;
	enum sonde_status status = SONDE_OK;

	if (run->form)
		run->form->head(&run->dump.rows, ROW_EVENTS);
	else
		dump_text_begin(&run->dump);
	while (run->left &&
	       (status = sonde_merged_cursor_next(run->cursor, &batch, err)) == SONDE_OK)
		if (!put_batch(run, &batch))
			break;
	if (row_writer_failed(&run->dump.rows))
		status = sonde_fail_nomem(err);
	return status == SONDE_END ? SONDE_OK : status;
}

/* An empty result is worth a word where somebody looks for something. */
static void tell_nothing_found(struct dump_run *run)
{
	if (run->printed || !run->options->limit)
		return;
	if (!sonde_recording_event_count(run->recording))
		cli_note(run->dump.cli, "the recording has no events");
	else
		cli_note(run->dump.cli, "no event fits what was asked for");
}

static int dump_recording(struct cli *cli, struct dump_run *run)
{
	struct sonde_error err = { 0 };
	enum sonde_status status;
	int code = cli_selection_resolve(cli, run->recording, &run->options->range,
					 &run->options->filter, &run->selected);

	if (code != CLI_OK)
		return code;
	init_dump(run, cli);
	status = open_cursor(run, &err);
	if (status == SONDE_OK)
		status = put_events(run, &err);
	if (status == SONDE_OK)
		tell_nothing_found(run);
	else
		code = cli_fail(cli, &err);
	return code;
}

/* Lines of a text that came from outside, made harmless; a NUL ends a line. */
static void put_text_resource(struct cli *cli, struct sonde_buffer *line,
			      const struct sonde_blob *blob)
{
	const char *text = (const char *)blob->bytes, *end = text + blob->size;

	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t length = (size_t)((stop ? stop : end) - text);

		sonde_buffer_clear(line);
		sonde_buffer_put(line, text, length);
		if (!sonde_buffer_text(line))
			return;
		cli_put_escaped(&cli->out, line->data);
		sonde_buffer_put_char(&cli->out, '\n');
		text += length + 1;
	}
}

/* The bytes as they are, for a file or a pipe; on a terminal only what is text. */
static int put_resource(struct cli *cli, struct dump_run *run)
{
	uint64_t number = run->options->resource;
	struct sonde_error err = { 0 };
	struct sonde_blob blob;
	size_t at;

	if (number >= sonde_recording_blob_count(run->recording)) {
		cli_error(cli, "%s: there is no resource %" PRIu64, cli->operands[0], number);
		cli_hint(cli, "'sonde info -v' lists what is embedded");
		return CLI_FAILED;
	}
	if (sonde_recording_blob(run->recording, (uint32_t)number, &blob, &err))
		return cli_fail(cli, &err);
	if (cli->out_is_terminal && blob.is_text) {
		put_text_resource(cli, &run->dump.rows.scratch, &blob);
		return run->dump.rows.scratch.failed ? cli_fail_nomem(cli) : CLI_OK;
	}
	if (cli->out_is_terminal) {
		cli_error(cli, "resource %" PRIu64 " is not text, and this is a terminal", number);
		cli_hint(cli, "write it to a file: sonde dump ... > FILE");
		return CLI_FAILED;
	}
	for (at = 0; at < blob.size && !cli->out_failed; at += CLI_FLUSH_SIZE) {
		sonde_buffer_put(&cli->out, blob.bytes + at,
				 blob.size - at < CLI_FLUSH_SIZE ? blob.size - at : CLI_FLUSH_SIZE);
		cli_flush_when_full(cli);
	}
	return CLI_OK;
}

/* Whether something else than events is meant. */
static bool shows_profile(const struct dump_run *run)
{
	const struct dump_options *options = run->options;
	unsigned int lanes = sonde_recording_lanes(run->recording);

	return options->contexts || options->values || options->samples ||
	       (!(lanes & SONDE_LANE_EVENTS) && (lanes & SONDE_LANE_CONTEXTS));
}

/* Options that mean nothing for what is to be shown. */
static int check_profile_options(struct cli *cli, const struct dump_run *run)
{
	const struct dump_options *options = run->options;
	const struct sonde_selection_spec *spec = &run->selected.spec;

	if (options->contexts + options->values + options->samples > 1)
		return cli_usage(cli, "--contexts, --values and --samples exclude each other");
	if (spec->function_count || spec->kinds || spec->min_depth || spec->max_depth)
		return cli_usage(cli, "--function, --kind and depths are for events: a profile is "
				      "selected by --track, and samples by time");
	if ((spec->from_ns || spec->to_ns) && !options->samples)
		return cli_usage(cli, "--from and --to are for events and samples: values are sums "
				      "over the whole time");
	return CLI_OK;
}

static void tell_no_profile(struct cli *cli, const struct dump_profile *dump)
{
	if (dump->printed || !dump->left)
		return;
	if (!dump->context_count)
		cli_note(cli, "the recording has no calling contexts, values and samples; without "
			      "these options its events are shown");
	else
		cli_note(cli, "nothing fits what was asked for");
}

static int dump_a_profile(struct cli *cli, struct dump_run *run)
{
	const struct dump_options *options = run->options;
	struct dump_profile dump = {
		.cli = cli,
		.recording = run->recording,
		.definitions = sonde_recording_definitions(run->recording),
		.spec = &run->selected.spec,
		.metric = options->metric,
		.time = options->time,
		.to_skip = options->offset,
		.left = options->limit,
	};
	struct sonde_error err = { 0 };
	enum sonde_status status;
	uint64_t start_ns, last_ns;
	int code = cli_selection_resolve(cli, run->recording, &options->range, &options->filter,
					 &run->selected);

	if (code == CLI_OK)
		code = check_profile_options(cli, run);
	if (code != CLI_OK)
		return code;
	sonde_recording_time_range(run->recording, &start_ns, &last_ns);
	status =
		sonde_recording_contexts(run->recording, &dump.contexts, &dump.context_count, &err);
	dump_profile_init(&dump, run->form, start_ns);
	if (status == SONDE_OK && options->values)
		status = dump_values(&dump, &err);
	else if (status == SONDE_OK && options->samples)
		status = dump_samples(&dump, &err);
	else if (status == SONDE_OK)
		status = dump_contexts(&dump, &err);
	dump_profile_release(&dump);
	if (status != SONDE_OK)
		return cli_fail(cli, &err);
	tell_no_profile(cli, &dump);
	return CLI_OK;
}

static void release_run(struct dump_run *run)
{
	sonde_merged_cursor_free(run->cursor);
	sonde_selection_free(run->selection);
	cli_selection_release(&run->selected);
	row_writer_release(&run->dump.rows);
	sonde_recording_close(run->recording);
}

static int run(struct cli *cli, const void *options)
{
	struct dump_run run = { .options = options };
	int code;

	if (run.options->json && run.options->csv)
		return cli_usage(cli, "--json and --csv exclude each other");
	run.form = run.options->json ? &row_form_json : run.options->csv ? &row_form_csv : NULL;
	code = cli_open(cli, cli->operands[0], &run.options->input, &run.recording);
	if (code != CLI_OK)
		return code;
	cli_warn_of_faults(cli, run.recording);
	if (run.options->resource != UINT64_MAX)
		code = put_resource(cli, &run);
	else if (shows_profile(&run))
		code = dump_a_profile(cli, &run);
	else
		code = dump_recording(cli, &run);
	release_run(&run);
	return code;
}

const struct cli_command cmd_dump = {
	.name = "dump",
	.summary = "print the events of a recording, or the tree of a profile",
	.usage = "sonde dump [OPTIONS] RECORDING",
	.description =
		"Prints the events of all tracks in the order of time, one a line: the time, the "
		"track where there are several, and what happened, indented by the depth of calls.\n"
		"\n"
		"  -> name   the function was called\n"
		"  <- name   it returned\n"
		"  !! name   it was left by an exception\n"
		"\n"
		"Tracks of the same name have their id behind it, as --track takes it. Other kinds "
		"are written out. Arguments follow the name, (n=7, s=\"outer\"), with values as in "
		"JSON; on a terminal they are cut to its width. Flows and ranges end with their "
		"number. Events that 'sonde cut' made to open or close a call "
		"are marked (synthetic). Control characters in names are shown escaped.\n"
		"\n"
		"A profile has calling contexts in place of events: paths of calls, down to loops "
		"and lines, and how much of a metric was spent in each. They are shown as a tree; "
		"--values and --samples show what the tree is made of.",
	.section = CLI_SECTION_LOOK,
	.operands = { .name = "RECORDING", .kind = CLI_OPERAND_PATH, .at_least = 1, .at_most = 1 },
	.options =
		(const struct cli_option_group[]){
			{ .title = "Options", .options = dump_own_options },
			CLI_RANGE_GROUP(struct dump_options),
			CLI_FILTER_GROUP(struct dump_options),
			CLI_INPUT_GROUP(struct dump_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics = (const struct cli_topic[]){ CLI_TIME_TOPIC, CLI_STANDARD_INPUT_TOPIC, { 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde dump trace --limit 20", "the first twenty events" },
			{ "sonde dump trace --from 100us --to 150us", "a piece of it" },
			{ "sonde dump trace --track 0,2 --kind exception",
			  "what was thrown in two of the threads" },
			{ "sonde dump trace --function 'handle_*' --detail --limit 3",
			  "calls of some functions, with registers and stack" },
			{ "sonde dump trace --csv > trace.csv", "for a spreadsheet or a database" },
			{ "sonde dump trace --json --limit 5", "for a program: an object a line" },
			{ "sonde dump database --metric 'REALTIME (sec)'",
			  "where the time went, as a profile tells it" },
			{ 0 },
		},
	.options_size = sizeof(struct dump_options),
	.defaults = &(const struct dump_options){ .limit = UINT64_MAX, .resource = UINT64_MAX },
	.run = run,
};
