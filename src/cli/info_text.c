/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde info` for people. */
#include <string.h>

#include <sonde/format.h>

#include "base/json.h"
#include "cli/findings.h"
#include "cli/human.h"
#include "cli/info.h"
#include "cli/table.h"
#include "cli/text.h"
#include "model/command_line.h"
#include "model/recording.h"

#define LABEL_WIDTH 11
#define FINDINGS_SHOWN 8
#define PROCESSES_SHOWN 4
#define TRACKS_SHOWN 20
#define ABOUT_SHOWN 6
#define METRICS_SHOWN 8
#define METRICS_MOST 1000 /* with -v too: looking each up takes its time */

static void put_label(struct cli *cli, const char *label)
{
	sonde_buffer_put_text(&cli->out, "  ");
	cli_put_styled(cli, CLI_STYLE_DIM, label);
	cli_put_spaces(&cli->out, LABEL_WIDTH - strlen(label));
}

static void put_string(struct cli *cli, const struct info *info, uint32_t id)
{
	cli_put_escaped(&cli->out, sonde_definitions_string(info->definitions, id));
}

static void put_format(struct cli *cli, const struct info *info)
{
	const struct sonde_format_info *format =
		sonde_format_info(sonde_recording_format(info->recording));

	put_label(cli, "format");
	sonde_buffer_put_format(&cli->out, "%s (%s), ", format->title, format->name);
	cli_put_size(&cli->out, info->bytes);
	sonde_buffer_put_text(&cli->out, " on disk\n");
}

static void put_state(struct cli *cli, const struct info *info)
{
	struct cli_tally tally = cli_tally_of(info->diagnostics);
	const char *state = info_state(info);

	put_label(cli, "state");
	cli_put_styled(cli,
		       tally.errors	      ? CLI_STYLE_RED :
		       info->unfinished_count ? CLI_STYLE_YELLOW :
						CLI_STYLE_GREEN,
		       state);
	if (tally.errors || tally.warnings || tally.notes) {
		sonde_buffer_put_text(&cli->out, ": ");
		cli_put_tally(&cli->out, &tally);
	}
	sonde_buffer_put_char(&cli->out, '\n');
	cli_put_findings_briefly(cli, info->diagnostics, LABEL_WIDTH + 2,
				 cli->common.verbose ? SIZE_MAX : FINDINGS_SHOWN);
}

/* As one would type it. */
static void put_command(struct cli *cli, const char *json)
{
	struct sonde_json_reader reader;
	struct sonde_buffer word = { 0 };
	struct sonde_error err;
	const char *gap = "";

	sonde_json_reader_init(&reader, json, strlen(json), NULL, NULL);
	while (sonde_json_next(&reader, &err) == SONDE_OK && reader.token != SONDE_JSON_END) {
		if (reader.token != SONDE_JSON_STRING)
			continue;
		sonde_buffer_put_text(&cli->out, gap);
		cli_put_escaped(&cli->out, cli_shell_word(&word, reader.text));
		gap = " ";
	}
	sonde_buffer_release(&word);
	sonde_json_reader_release(&reader);
}

static void put_process(struct cli *cli, const struct info *info, uint32_t id)
{
	const struct sonde_process *process = sonde_definitions_process(info->definitions, id);
	const char *command = sonde_command_line(info->definitions, id);

	put_label(cli, "process");
	if (process->os_id != SONDE_NONE)
		sonde_buffer_put_format(&cli->out, "pid %u", process->os_id);
	else if (!process->name)
		sonde_buffer_put_text(&cli->out, "pid unknown");
	if (process->name) {
		sonde_buffer_put_text(&cli->out, process->os_id != SONDE_NONE ? " " : "");
		put_string(cli, info, process->name);
	}
	if (process->arch != SONDE_ARCH_UNKNOWN || process->os != SONDE_OS_UNKNOWN)
		sonde_buffer_put_format(&cli->out, ", %s on %s", sonde_arch_name(process->arch),
					sonde_os_name(process->os));
	if (command) {
		sonde_buffer_put_text(&cli->out, ": ");
		put_command(cli, command);
	}
	sonde_buffer_put_char(&cli->out, '\n');
}

static void put_rest(struct cli *cli, uint64_t count, size_t indent)
{
	cli_put_spaces(&cli->out, indent);
	sonde_buffer_put_text(&cli->out, "... and ");
	cli_put_count(&cli->out, count);
	sonde_buffer_put_text(&cli->out, " more (use -v)\n");
}

static uint32_t how_many(const struct cli *cli, uint32_t count, uint32_t most)
{
	return cli->common.verbose || count <= most ? count : most;
}

static void put_processes(struct cli *cli, const struct info *info)
{
	uint32_t count = sonde_definitions_process_count(info->definitions);
	uint32_t shown = how_many(cli, count, PROCESSES_SHOWN), i;

	for (i = 0; i < shown; i++)
		put_process(cli, info, i);
	if (count > shown)
		put_rest(cli, count - shown, LABEL_WIDTH + 2);
}

static void put_time(struct cli *cli, const struct info *info)
{
	const struct sonde_clock *clock = sonde_definitions_clock(info->definitions, 0);
	uint64_t realtime_ns;
	bool is_dated = info_realtime(info, info->first_ns, &realtime_ns);

	put_label(cli, "time");
	if (!info->has_time) {
		sonde_buffer_put_text(&cli->out, info->has_events ? "no events\n" : "no samples\n");
		return;
	}
	cli_put_duration(&cli->out, info->last_ns - info->first_ns, " ");
	sonde_buffer_put_text(&cli->out, " from @");
	sonde_buffer_put_u64(&cli->out, info->first_ns);
	sonde_buffer_put_text(&cli->out, " ns");
	if (clock && clock->kind != SONDE_CLOCK_UNKNOWN &&
	    (is_dated || clock->kind != SONDE_CLOCK_REALTIME))
		sonde_buffer_put_format(&cli->out, " on the %s clock",
					sonde_clock_kind_name(clock->kind));
	sonde_buffer_put_char(&cli->out, '\n');
	if (!is_dated)
		return;
	put_label(cli, "started");
	cli_put_date(&cli->out, realtime_ns);
	sonde_buffer_put_char(&cli->out, '\n');
}

/* "CPUTIME (sec): point, execution; over all tracks: sum" */
static void put_metrics(struct cli *cli, const struct info *info)
{
	uint32_t most = cli->common.verbose ? METRICS_MOST : METRICS_SHOWN, shown = 0;
	struct info_metrics metrics = { 0 };

	while (shown < most && info_metrics_next(&metrics, info)) {
		put_label(cli, shown++ ? "" : "metrics");
		put_string(cli, info, metrics.metric->name);
		if (metrics.scopes.size && sonde_buffer_text(&metrics.scopes)) {
			sonde_buffer_put_text(&cli->out, ": ");
			cli_put_escaped(&cli->out, metrics.scopes.data);
		}
		if (metrics.statistics.size && sonde_buffer_text(&metrics.statistics)) {
			sonde_buffer_put_text(&cli->out, "; over all tracks: ");
			cli_put_escaped(&cli->out, metrics.statistics.data);
		}
		sonde_buffer_put_char(&cli->out, '\n');
	}
	if (shown == most && info_metrics_next(&metrics, info)) {
		cli_put_spaces(&cli->out, LABEL_WIDTH + 2);
		sonde_buffer_put_text(&cli->out, cli->common.verbose ? "... and more\n" :
								       "... and more (use -v)\n");
	}
	info_metrics_release(&metrics);
}

/* What the recording works out by formulas: "GHZ", "CPUTIME (sec):Mean" */
static void put_formulas(struct cli *cli, const struct info *info)
{
	uint32_t most = cli->common.verbose ? METRICS_MOST : METRICS_SHOWN, i = 0;
	struct sonde_formula formula;

	for (; sonde_recording_formula(info->recording, i, &formula) && i < most; i++) {
		put_label(cli, i ? "" : "formulas");
		cli_put_escaped(&cli->out, formula.name);
		/* of a variant it repeats the metric's name, as a rule */
		if (strncmp(formula.name, formula.description, strlen(formula.description))) {
			sonde_buffer_put_text(&cli->out, ": ");
			cli_put_escaped(&cli->out, formula.description);
		}
		sonde_buffer_put_char(&cli->out, '\n');
	}
	if (i < most || !*formula.name)
		return;
	cli_put_spaces(&cli->out, LABEL_WIDTH + 2);
	sonde_buffer_put_text(&cli->out,
			      cli->common.verbose ? "... and more\n" : "... and more (use -v)\n");
}

/* The lanes of a profile, where there are any. */
static void put_profile(struct cli *cli, const struct info *info)
{
	struct sonde_buffer *out = &cli->out;

	if (!info->context_count && !info->sample_count && !info->value_count)
		return;
	put_label(cli, "profile");
	cli_put_counted(out, info->context_count, "calling context");
	sonde_buffer_put_text(out, ", ");
	cli_put_counted(out, info->value_count, "value");
	sonde_buffer_put_text(out, ", ");
	cli_put_counted(out, info->sample_count, "sample");
	sonde_buffer_put_char(out, '\n');
	put_metrics(cli, info);
	put_formulas(cli, info);
}

static void put_totals(struct cli *cli, const struct info *info)
{
	struct sonde_buffer *out = &cli->out;

	put_label(cli, "holds");
	if (info->has_events) {
		cli_put_counted(out, info->event_count, "event");
		sonde_buffer_put_text(out, ", ");
		cli_put_counted(out, info->detail_count, "detail");
		sonde_buffer_put_text(out, ", ");
	}
	cli_put_counted(out, sonde_definitions_track_count(info->definitions), "track");
	sonde_buffer_put_text(out, ", ");
	cli_put_counted(out, sonde_definitions_function_count(info->definitions), "function");
	sonde_buffer_put_text(out, ", ");
	cli_put_counted(out, sonde_definitions_module_count(info->definitions), "module");
	if (sonde_definitions_event_type_count(info->definitions)) {
		sonde_buffer_put_text(out, ", ");
		cli_put_counted(out, sonde_definitions_event_type_count(info->definitions),
				"event type");
	}
	sonde_buffer_put_char(out, '\n');
	put_profile(cli, info);
	if (info->resource_count) {
		put_label(cli, "embeds");
		cli_put_counted(out, info->resource_count, "resource");
		sonde_buffer_put_text(out, ", ");
		cli_put_size(out, info->resource_bytes);
		sonde_buffer_put_char(out, '\n');
	}
	if (!info->dropped_count)
		return;
	put_label(cli, "dropped");
	cli_put_counted(out, info->dropped_count, "event");
	sonde_buffer_put_text(out, " that the recorder could not keep\n");
}

static void put_count_cell(struct cli_table *table, uint64_t count)
{
	cli_put_count(&table->text, count);
	cli_table_end_cell(table);
}

static void put_time_cell(struct cli_table *table, const struct sonde_track *track,
			  const struct info *info, uint64_t time_ns)
{
	if ((track->event_count || track->sample_count) && time_ns >= info->first_ns)
		cli_put_duration(&table->text, time_ns - info->first_ns, " ");
	cli_table_end_cell(table);
}

static void put_track_row(struct cli_table *table, const struct info *info, uint32_t id)
{
	const struct sonde_track *track = sonde_definitions_track(info->definitions, id);
	const struct sonde_process *process =
		sonde_definitions_process(info->definitions, track->process);
	char space[SONDE_LABEL_SIZE], identity_space[INFO_IDENTITY_SIZE];
	const char *label = sonde_definitions_track_label(info->definitions, id, space);
	const char *identity = info_identity(info, id, identity_space);

	put_count_cell(table, id);
	if (process && process->os_id != SONDE_NONE &&
	    sonde_definitions_process_count(info->definitions) > 1)
		sonde_buffer_put_u64(&table->text, process->os_id);
	cli_table_end_cell(table);
	cli_put_escaped(&table->text, label);
	cli_table_end_cell(table);
	/* many tracks are called what they are */
	if (strcmp(identity, label))
		sonde_buffer_put_text(&table->text, identity);
	cli_table_end_cell(table);
	if (track->os_id != UINT64_MAX)
		sonde_buffer_put_u64(&table->text, track->os_id);
	cli_table_end_cell(table);
	if (info->has_events)
		cli_put_count(&table->text, track->event_count);
	cli_table_end_cell(table);
	if (track->sample_count)
		cli_put_count(&table->text, track->sample_count);
	cli_table_end_cell(table);
	if (track->detail_count)
		cli_put_count(&table->text, track->detail_count);
	cli_table_end_cell(table);
	put_time_cell(table, track, info, track->time_first_ns);
	put_time_cell(table, track, info, track->time_last_ns);
	if (track->dropped_events)
		cli_put_count(&table->text, track->dropped_events);
	cli_table_end_cell(table);
	if (track->unfinished)
		sonde_buffer_put_text(&table->text, "unfinished");
	cli_table_end_cell(table);
}

static void put_tracks(struct cli *cli, const struct info *info)
{
	static const struct cli_column columns[] = {
		{ .title = "ID", .right = true },      { .title = "PID", .right = true },
		{ .title = "TRACK", .shrinks = true }, { .title = "WHERE" },
		{ .title = "OS ID", .right = true },   { .title = "EVENTS", .right = true },
		{ .title = "SAMPLES", .right = true }, { .title = "DETAILS", .right = true },
		{ .title = "FIRST", .right = true },   { .title = "LAST", .right = true },
		{ .title = "DROPPED", .right = true }, { .title = "STATE" },
	};
	struct cli_table table = { .columns = columns,
				   .column_count = sizeof(columns) / sizeof(columns[0]) };
	uint32_t count = sonde_definitions_track_count(info->definitions);
	uint32_t shown = how_many(cli, count, TRACKS_SHOWN), i;

	if (!count)
		return;
	sonde_buffer_put_char(&cli->out, '\n');
	for (i = 0; i < shown; i++)
		put_track_row(&table, info, i);
	cli_table_put(cli, &table, 2);
	cli_table_release(&table);
	if (count > shown)
		put_rest(cli, count - shown, 2);
}

static void put_modules(struct cli *cli, const struct info *info)
{
	static const struct cli_column columns[] = {
		{ .title = "MODULE", .shrinks = true },
		{ .title = "BASE", .right = true },
		{ .title = "SIZE", .right = true },
		{ .title = "UUID" },
	};
	struct cli_table table = { .columns = columns,
				   .column_count = sizeof(columns) / sizeof(columns[0]) };
	const struct sonde_module *module;
	uint32_t i;

	for (i = 0; (module = sonde_definitions_module(info->definitions, i)); i++) {
		cli_put_escaped(&table.text,
				sonde_definitions_string(info->definitions, module->path));
		cli_table_end_cell(&table);
		sonde_buffer_put_text(&table.text, "0x");
		sonde_buffer_put_hex(&table.text, module->base_address, 1);
		cli_table_end_cell(&table);
		cli_put_size(&table.text, module->size);
		cli_table_end_cell(&table);
		cli_put_escaped(&table.text,
				sonde_definitions_string(info->definitions, module->uuid));
		cli_table_end_cell(&table);
	}
	if (i) {
		sonde_buffer_put_char(&cli->out, '\n');
		cli_table_put(cli, &table, 2);
	}
	cli_table_release(&table);
}

static void put_event_types(struct cli *cli, const struct info *info)
{
	static const struct cli_column columns[] = {
		{ .title = "TYPE", .right = true },
		{ .title = "EVENT TYPE", .shrinks = true },
		{ .title = "KIND" },
		{ .title = "ARGUMENTS" },
	};
	struct cli_table table = { .columns = columns,
				   .column_count = sizeof(columns) / sizeof(columns[0]) };
	const struct sonde_event_type *type;
	uint32_t i;

	for (i = 0; (type = sonde_definitions_event_type(info->definitions, i)); i++) {
		put_count_cell(&table, i);
		cli_put_escaped(&table.text,
				sonde_definitions_string(info->definitions, type->name));
		cli_table_end_cell(&table);
		sonde_buffer_put_text(&table.text, type->is_scope ? "scope" : "instance");
		cli_table_end_cell(&table);
		cli_put_escaped(&table.text,
				sonde_definitions_string(info->definitions, type->arguments));
		cli_table_end_cell(&table);
	}
	if (i) {
		sonde_buffer_put_char(&cli->out, '\n');
		cli_table_put(cli, &table, 2);
	}
	cli_table_release(&table);
}

static void put_resources(struct cli *cli, const struct info *info)
{
	static const struct cli_column columns[] = {
		{ .title = "RESOURCE", .right = true },
		{ .title = "NAME", .shrinks = true },
		{ .title = "KIND" },
		{ .title = "SIZE", .right = true },
	};
	struct cli_table table = { .columns = columns,
				   .column_count = sizeof(columns) / sizeof(columns[0]) };
	uint32_t i;

	for (i = 0; i < info->resource_count; i++) {
		struct sonde_blob blob = info_resource(info, i);

		put_count_cell(&table, i);
		cli_put_escaped(&table.text,
				sonde_definitions_string(info->definitions, blob.name));
		cli_table_end_cell(&table);
		sonde_buffer_put_text(&table.text, blob.is_text ? "text" : "bytes");
		cli_table_end_cell(&table);
		cli_put_size(&table.text, blob.size);
		cli_table_end_cell(&table);
	}
	if (i) {
		sonde_buffer_put_char(&cli->out, '\n');
		cli_table_put(cli, &table, 2);
	}
	cli_table_release(&table);
}

/* What the recording says of itself, each on a line that is cut to the screen. */
static void put_about(struct cli *cli, const struct info *info)
{
	size_t room = cli_width(cli, 100) - LABEL_WIDTH - 2, left = ABOUT_SHOWN;
	const struct sonde_attribute *attribute;
	struct sonde_buffer text = { 0 };
	uint32_t i;

	for (i = 0; left && (attribute = sonde_definitions_attribute(info->definitions, i)); i++) {
		const char *value = sonde_definitions_string(info->definitions, attribute->value);

		/* lists of objects are for programs */
		if (attribute->owner != SONDE_OWNER_RECORDING || !strncmp(value, "[{", 2))
			continue;
		sonde_buffer_clear(&text);
		cli_put_escaped(&text,
				sonde_definitions_string(info->definitions, attribute->name));
		sonde_buffer_put_char(&text, ' ');
		cli_put_escaped(&text, value);
		put_label(cli, "about");
		if (text.failed)
			cli->out.failed = true;
		else if (cli_text_width(text.data, text.size) > room)
			cli_put_column(&cli->out, text.data, text.size, room, false);
		else
			sonde_buffer_put(&cli->out, text.data, text.size);
		sonde_buffer_put_char(&cli->out, '\n');
		left--;
	}
	sonde_buffer_release(&text);
}

static void put_attributes(struct cli *cli, const struct info *info)
{
	const struct sonde_attribute *attribute;
	uint32_t i;

	if (sonde_definitions_attribute_count(info->definitions))
		sonde_buffer_put_char(&cli->out, '\n');
	for (i = 0; (attribute = sonde_definitions_attribute(info->definitions, i)); i++) {
		sonde_buffer_put_format(&cli->out, "  %s", info_owner_name(attribute->owner));
		if (attribute->owner != SONDE_OWNER_RECORDING)
			sonde_buffer_put_format(&cli->out, " %u", attribute->owner_id);
		sonde_buffer_put_text(&cli->out, ": ");
		put_string(cli, info, attribute->name);
		sonde_buffer_put_text(&cli->out, " = ");
		put_string(cli, info, attribute->value);
		sonde_buffer_put_char(&cli->out, '\n');
		cli_flush_when_full(cli);
	}
}

static void put_next_steps(struct cli *cli, const struct info *info)
{
	struct sonde_buffer word = { 0 };
	const char *path = cli_shell_word(&word, sonde_recording_path(info->recording));
	bool can_recover = sonde_format_info(info->recording->format)->can_recover;

	sonde_buffer_put_text(&cli->out, "\n  sonde check ");
	cli_put_escaped(&cli->out, path);
	sonde_buffer_put_text(&cli->out, "           tells each fault and its place\n");
	sonde_buffer_put_text(&cli->out, can_recover ? "  sonde recover " : "  sonde convert ");
	cli_put_escaped(&cli->out, path);
	sonde_buffer_put_text(&cli->out,
			      can_recover ? " -o NEW  writes a finished copy of what survives\n" :
					    " -o NEW  writes all of it that can be read\n");
	sonde_buffer_release(&word);
}

void cli_put_info(struct cli *cli, struct sonde_recording *recording)
{
	struct info info;

	info_gather(&info, recording);
	cli_put_escaped(&cli->out, sonde_recording_path(recording));
	sonde_buffer_put_char(&cli->out, '\n');
	put_format(cli, &info);
	put_state(cli, &info);
	put_processes(cli, &info);
	put_time(cli, &info);
	put_totals(cli, &info);
	if (!cli->common.verbose)
		put_about(cli, &info);
	info_put_path(cli, &info);
	put_tracks(cli, &info);
	if (cli->common.verbose) {
		put_modules(cli, &info);
		put_event_types(cli, &info);
		put_resources(cli, &info);
		put_attributes(cli, &info);
	}
	if (sonde_diagnostics_count(info.diagnostics, SONDE_WARNING) && !recording->title)
		put_next_steps(cli, &info);
}
