/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde align`: recordings with different clocks in one, on one clock. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/align.h"
#include "cli/commands.h"
#include "cli/human.h"
#include "cli/progress.h"
#include "cli/quantity.h"
#include "cli/table.h"
#include "cli/text.h"
#include "cli/transfer.h"

struct align_command_options {
	struct cli_common common;
	struct cli_input input;
	struct cli_target target;
	struct cli_transfer transfer;
	const char *event;
	struct cli_list offsets;
	bool messages;
	bool drift;
	bool dry_run;
};

static const struct cli_option align_own_options[] = {
	{ .name = "event",
	  .argument = "NAME",
	  .kind = CLI_TEXT,
	  .help = "by events of this name (or shell pattern) that all have: calls of a function, "
		  "instants, marks; matched in their order",
	  .offset = offsetof(struct align_command_options, event) },
	{ .name = "drift",
	  .kind = CLI_FLAG,
	  .help = "with --event: find out too how much faster one clock goes",
	  .offset = offsetof(struct align_command_options, drift) },
	{ .name = "messages",
	  .kind = CLI_FLAG,
	  .help = "by flows that begin in one recording and end in another, matched by their "
		  "numbers; with --event only those of that name",
	  .offset = offsetof(struct align_command_options, messages) },
	{ .name = "offset",
	  .argument = "[N=]TIME",
	  .kind = CLI_LIST,
	  .help = "add TIME (5ms, -20us) to all times of recording N, counted from 0; without N, of "
		  "all but the first; several with commas or by repeating",
	  .offset = offsetof(struct align_command_options, offsets) },
	{ .name = "dry-run",
	  .kind = CLI_FLAG,
	  .help = "only tell how far the clocks are apart; write nothing",
	  .offset = offsetof(struct align_command_options, dry_run) },
	{ 0 },
};

static const char *const method_names[] = {
	[ALIGN_REFERENCE] = "reference", [ALIGN_ANCHORS] = "anchors", [ALIGN_EVENTS] = "events",
	[ALIGN_MESSAGES] = "messages",	 [ALIGN_OFFSET] = "offset",
};

struct align_command {
	const struct align_command_options *options;
	struct align align;
	struct sonde_time_map *maps;
};

/* NULL on success, else what is wrong with it. */
static const char *parse_offset(const char *text, size_t *clock, int64_t *offset_ns)
{
	const char *equals = strchr(text, '=');
	const char *fault;
	uint64_t ns;
	char *end;
	bool is_negative;

	*clock = SIZE_MAX;
	if (equals) {
		if (*text < '0' || *text > '9')
			return "needs the number of a recording before the '='";
		*clock = strtoul(text, &end, 10);
		if (end != equals)
			return "needs the number of a recording before the '='";
		text = equals + 1;
	}
	is_negative = *text == '-';
	text += *text == '-' || *text == '+';
	fault = cli_duration_parse(text, &ns);
	if (fault)
		return fault;
	if (ns > INT64_MAX)
		return "is too large";
	*offset_ns = is_negative ? -(int64_t)ns : (int64_t)ns;
	return NULL;
}

static int set_offsets(struct cli *cli, struct align_command *command)
{
	const struct cli_list *offsets = &command->options->offsets;
	struct align *align = &command->align;

	for (size_t i = 0; i < offsets->count; i++) {
		size_t clock;
		int64_t offset_ns;
		const char *fault = parse_offset(offsets->items[i], &clock, &offset_ns);

		if (fault)
			return cli_usage(cli, "--offset: '%s' %s", offsets->items[i], fault);
		if (!clock)
			return cli_usage(cli,
					 "--offset: recording 0 is the one that the others are "
					 "brought to");
		if (clock != SIZE_MAX && clock >= align->clocks.count)
			return cli_usage(cli,
					 "--offset: there is no recording %zu: the last is %zu",
					 clock, align->clocks.count - 1);
		for (size_t k = 1; k < align->clocks.count; k++) {
			if (k == clock || clock == SIZE_MAX)
				align_set_offset(align, k, offset_ns);
		}
	}
	return CLI_OK;
}

/* Some clock has no offset yet. */
static bool is_open(const struct align *align)
{
	for (size_t i = 1; i < align->clocks.count; i++) {
		if (align->clocks.items[i].method != ALIGN_OFFSET)
			return true;
	}
	return false;
}

static int estimate(struct cli *cli, struct align_command *command)
{
	struct align_options options = { .method = ALIGN_ANCHORS,
					 .event = command->options->event,
					 .drift = command->options->drift };
	struct cli_progress progress;
	struct sonde_error err = { 0 };
	enum sonde_status status = SONDE_OK;

	if (command->options->messages)
		options.method = ALIGN_MESSAGES;
	else if (options.event)
		options.method = ALIGN_EVENTS;
	if (is_open(&command->align)) {
		cli_progress_begin(cli, &progress, "reading", "event");
		options.progress = &progress.progress;
		status = align_estimate(&command->align, &options, &err);
		cli_progress_end(&progress);
	}
	if (status == SONDE_OK)
		status = align_finish(&command->align, &err);
	return status == SONDE_OK ? CLI_OK : cli_fail(cli, &err);
}

/* Whether a recording has clocks of several kinds, so that its name does not say which is meant. */
static bool has_several(const struct align *align, size_t source)
{
	size_t count = 0;

	for (size_t i = 0; i < align->clocks.count; i++)
		count += align->clocks.items[i].source == source;
	return count > 1;
}

static const char *clock_kind(const struct align_clock *clock)
{
	const struct sonde_clock *definition = sonde_definitions_clock(
		sonde_recording_definitions(clock->recording), clock->clock);

	return sonde_clock_kind_name(definition ? definition->kind : SONDE_CLOCK_UNKNOWN);
}

static const char *process_name(const struct align_clock *clock)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(clock->recording);

	return sonde_definitions_string(
		definitions, sonde_definitions_process(definitions, clock->process)->name);
}

static void put_process_number(struct sonde_buffer *out, const struct align_clock *clock)
{
	const struct sonde_process *process = sonde_definitions_process(
		sonde_recording_definitions(clock->recording), clock->process);

	if (process->os_id == SONDE_NONE)
		sonde_buffer_put_format(out, "process %" PRIu32, clock->process);
	else
		sonde_buffer_put_format(out, "pid %" PRIu32, process->os_id);
}

static void put_offset(struct sonde_buffer *out, int64_t offset_ns)
{
	uint64_t size = offset_ns < 0 ? -(uint64_t)offset_ns : (uint64_t)offset_ns;

	sonde_buffer_put_char(out, offset_ns < 0 ? '-' : '+');
	cli_put_count(out, size);
	sonde_buffer_put_text(out, " ns");
}

static void put_error(struct sonde_buffer *out, const struct align_clock *clock)
{
	if (clock->method == ALIGN_OFFSET)
		sonde_buffer_put_text(out, "as given");
	else if (clock->has_error)
		cli_put_duration(out, clock->error_ns, " ");
	else
		sonde_buffer_put_text(out, "unknown");
}

/* "1,000 of 1,003": what it rests on. */
static void put_matched(struct sonde_buffer *out, const struct align_clock *clock)
{
	uint64_t most = clock->found > clock->found_in_reference ? clock->found :
								   clock->found_in_reference;

	if (clock->method == ALIGN_OFFSET)
		return;
	cli_put_count(out, clock->matched - clock->outliers);
	if (clock->method == ALIGN_ANCHORS || most == clock->matched - clock->outliers)
		return;
	sonde_buffer_put_text(out, " of ");
	cli_put_count(out, most);
}

static void put_row(struct cli_table *table, const struct align *align, size_t number)
{
	const struct align_clock *clock = &align->clocks.items[number];
	struct sonde_buffer *text = &table->text;

	sonde_buffer_put_u64(text, number);
	cli_table_end_cell(table);
	cli_put_escaped(text, sonde_recording_path(clock->recording));
	if (has_several(align, clock->source)) {
		sonde_buffer_put_text(text, ": ");
		if (*process_name(clock))
			cli_put_escaped(text, process_name(clock));
		else
			put_process_number(text, clock);
	}
	cli_table_end_cell(table);
	sonde_buffer_put_text(text, clock_kind(clock));
	cli_table_end_cell(table);
	sonde_buffer_put_text(text, method_names[clock->method]);
	cli_table_end_cell(table);
	if (number)
		put_offset(text, align_offset(align, clock));
	cli_table_end_cell(table);
	if (clock->map.drift)
		sonde_buffer_put_format(text, "%+.3f ppm", clock->drift * 1e6);
	cli_table_end_cell(table);
	if (number)
		put_error(text, clock);
	cli_table_end_cell(table);
	if (number)
		put_matched(text, clock);
	cli_table_end_cell(table);
}

static void put_table(struct cli *cli, const struct align *align)
{
	static const struct cli_column columns[] = {
		{ .title = "N", .right = true },
		{ .title = "RECORDING", .shrinks = true },
		{ .title = "CLOCK" },
		{ .title = "BY" },
		{ .title = "OFFSET", .right = true },
		{ .title = "DRIFT", .right = true },
		{ .title = "ERROR", .right = true },
		{ .title = "MATCHED", .right = true },
	};
	struct cli_table table = { .columns = columns,
				   .column_count = sizeof(columns) / sizeof(columns[0]) };

	for (size_t i = 0; i < align->clocks.count; i++)
		put_row(&table, align, i);
	cli_table_put(cli, &table, 0);
	cli_table_release(&table);
}

/* What the table cannot say. */
static void tell_more(struct cli *cli, const struct align *align)
{
	for (size_t i = 1; i < align->clocks.count; i++) {
		const struct align_clock *clock = &align->clocks.items[i];

		if (clock->skipped)
			cli_note(cli,
				 "recording %zu: the first %" PRIu64 " events of %s have nothing "
				 "to be matched with, and were skipped",
				 i, clock->skipped,
				 clock->found > clock->found_in_reference ? "it" : "recording 0");
		if (clock->outliers * 2 > clock->matched)
			cli_warning(cli,
				    "recording %zu: most of its events do not fit together; they "
				    "may not be the same ones",
				    i);
		if (clock->unused_drift != 0)
			cli_note(cli,
				 "recording %zu: its clock seems to drift by %+.3f ppm, which "
				 "--drift takes into account",
				 i, clock->unused_drift * 1e6);
		if (clock->one_way)
			cli_note(cli,
				 "recording %zu: messages went in one direction only, so that "
				 "their delay is taken for 0",
				 i);
	}
	if (align->lift_ns)
		cli_note(cli,
			 "all times, those of recording 0 too, are moved on by %" PRIu64
			 " ns: else some would lie before 0",
			 align->lift_ns);
}

static void put_clock_json(struct sonde_json_writer *json, const struct align *align, size_t number)
{
	const struct align_clock *clock = &align->clocks.items[number];
	struct sonde_buffer offset = { 0 };

	sonde_json_object_begin(json);
	sonde_json_member_u64(json, "number", number);
	sonde_json_member_string(json, "recording", sonde_recording_path(clock->recording));
	sonde_json_member_string(json, "process", process_name(clock));
	sonde_json_member_string(json, "clock", clock_kind(clock));
	sonde_json_member_string(json, "method", method_names[clock->method]);
	sonde_buffer_put_format(&offset, "%" PRId64, align_offset(align, clock));
	sonde_json_key(json, "offset_ns");
	sonde_json_raw(json, sonde_buffer_text(&offset) ? offset.data : "null");
	sonde_buffer_release(&offset);
	sonde_json_member_u64(json, "at_ns", clock->first_ns);
	sonde_json_member_double(json, "drift_ppm", clock->drift * 1e6);
	sonde_json_key(json, "error_ns");
	if (clock->has_error)
		sonde_json_number_u64(json, clock->error_ns);
	else
		sonde_json_null(json);
	sonde_json_member_u64(json, "matched", clock->matched);
	sonde_json_member_u64(json, "outliers", clock->outliers);
	sonde_json_member_u64(json, "skipped", clock->skipped);
	sonde_json_member_u64(json, "found", clock->found);
	sonde_json_member_u64(json, "found_in_reference", clock->found_in_reference);
	sonde_json_member_bool(json, "one_way", clock->one_way);
	sonde_json_object_end(json);
}

static void put_json(void *user, struct sonde_json_writer *json)
{
	const struct align_command *command = user;

	sonde_json_key(json, "alignment");
	sonde_json_array_begin(json);
	for (size_t i = 0; i < command->align.clocks.count; i++)
		put_clock_json(json, &command->align, i);
	sonde_json_array_end(json);
	sonde_json_member_u64(json, "moved_on_ns", command->align.lift_ns);
}

static void tell(struct cli *cli, struct align_command *command)
{
	struct sonde_json_writer json;

	if (!command->options->transfer.json) {
		if (!cli->common.quiet || command->options->dry_run)
			put_table(cli, &command->align);
	} else if (command->options->dry_run) {
		sonde_json_writer_init(&json, &cli->out, true);
		sonde_json_object_begin(&json);
		put_json(command, &json);
		sonde_json_object_end(&json);
		sonde_buffer_put_char(&cli->out, '\n');
	}
	tell_more(cli, &command->align);
}

static int prepare(struct cli *cli, void *user, struct sonde_recording *const *sources,
		   size_t count, struct sonde_run_options *run)
{
	struct align_command *command = user;
	struct sonde_error err = { 0 };
	int code;

	if (align_init(&command->align, sources, count, &err))
		return cli_fail(cli, &err);
	if (command->align.clocks.count < 2) {
		cli_error(cli, "%s counts by one clock: there is nothing to align it with",
			  sonde_recording_path(sources[0]));
		cli_hint(cli, "name the recordings to bring to its clock behind it");
		return CLI_USAGE;
	}
	code = set_offsets(cli, command);
	if (code == CLI_OK)
		code = estimate(cli, command);
	if (code != CLI_OK)
		return code;
	command->maps = align_maps(&command->align);
	if (!command->maps)
		return cli_fail_nomem(cli);
	run->time_maps = command->maps;
	run->clock_of = command->align.clocks.items[0].process;
	tell(cli, command);
	return CLI_OK;
}

static int run(struct cli *cli, const void *options)
{
	struct align_command command = { .options = options };
	const struct align_command_options *given = options;
	int code;

	if (given->drift && (!given->event || given->messages))
		return cli_usage(cli, "--drift needs --event NAME, and no --messages");
	code = cli_transfer_run(cli, &(const struct cli_transfer_request){
					     .input = &given->input,
					     .target = &given->target,
					     .transfer = &given->transfer,
					     .prepare = prepare,
					     .put_json = put_json,
					     .user = &command,
					     .only_prepare = given->dry_run,
				     });
	align_release(&command.align);
	free(command.maps);
	return code;
}

const struct cli_command cmd_align = {
	.name = "align",
	.summary = "put recordings with different clocks into one, on one clock",
	.usage = "sonde align [OPTIONS] REFERENCE RECORDING... -o OUTPUT",
	.description =
		"Writes one recording with the processes of all the given ones, as merge does, with "
		"the times of the others moved to the clock of the first. Of a single recording "
		"whose processes count by different clocks, these are brought to that of its first "
		"process.\n"
		"\n"
		"How far the clocks are apart is found out from the wall clock, where all recordings "
		"know it: the same wall time becomes the same time, and with several anchors a second "
		"and more apart the drift too. Or from what the recordings have in common: events "
		"(--event), messages (--messages). Or it is given (--offset).\n"
		"\n"
		"For each recording it is told what was added to its first time (offset), how much its "
		"times were stretched because its clock went slower, or faster where that is negative "
		"(drift), how far off that may be (error), and how many events it rests on. Times "
		"never lie before 0: where some would, all are moved on, and that is told.\n"
		"\n"
		"All processes have the reference's clock then, and go by its wall clock.",
	.section = CLI_SECTION_WRITE,
	.operands = { .name = "RECORDING",
		      .kind = CLI_OPERAND_PATH,
		      .at_least = 1,
		      .at_most = SIZE_MAX },
	.options =
		(const struct cli_option_group[]){
			{ .title = "How", .options = align_own_options },
			CLI_TARGET_GROUP(struct align_command_options),
			CLI_TRANSFER_GROUP(struct align_command_options),
			CLI_INPUT_GROUP(struct align_command_options),
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.topics =
		(const struct cli_topic[]){
			{ .title = "Errors",
			  .text = "Of events the error is what 95 % of them lie within, with --drift "
				  "that at the farther end of the recording. Events are taken to "
				  "happen at the same time in both: a delay that is always the same "
				  "cannot be seen. Of messages it is half of what is left between the "
				  "two bounds, since none arrives before it was sent. Of anchors it is "
				  "what several of them disagree by; how well the wall clocks agreed "
				  "nobody knows. Events that do not fit are left out of it and not "
				  "counted as matched." },
			CLI_LOSS_TOPIC,
			CLI_PIPE_TOPIC,
			{ 0 } },
	.examples =
		(const struct cli_example[]){
			{ "sonde align rank-0 rank-1 -o both", "by the wall clock" },
			{ "sonde align rank-0 rank-1 --event barrier --drift --dry-run",
			  "how far apart by the calls of a function, and how fast they part" },
			{ "sonde align rank-0 rank-1 --offset 1=-5ms -o both",
			  "the second recording, five milliseconds earlier" },
			{ 0 },
		},
	.options_size = sizeof(struct align_command_options),
	.run = run,
};
