/* SPDX-License-Identifier: Apache-2.0 */
/* What `sonde prof` did, for people and for programs. */
#include <string.h>

#include "analyse/structure.h"
#include "base/json.h"
#include "cli/human.h"
#include "cli/prof.h"
#include "cli/table.h"
#include "cli/text.h"

/* Without --verbose. */
#define MODULES_SHOWN 8
#define REFUSALS_SHOWN 10

static const char *origin_text(const struct sonde_prof_module *module)
{
	if (module->recorded)
		return "the recording";
	switch (module->origin) {
	case SONDE_STRUCTURE_FILE:
		return "its .hpcstruct file: functions, loops, lines";
	case SONDE_STRUCTURE_DWARF:
		return "the binary's DWARF: functions, inlined calls, lines";
	case SONDE_STRUCTURE_SYMBOLS:
		return "the binary's symbols: functions only";
	default:
		return "nothing: addresses only";
	}
}

static const char *origin_word(const struct sonde_prof_module *module)
{
	static const char *const words[] = {
		[SONDE_STRUCTURE_NONE] = "none",
		[SONDE_STRUCTURE_SYMBOLS] = "symbols",
		[SONDE_STRUCTURE_DWARF] = "dwarf",
		[SONDE_STRUCTURE_FILE] = "hpcstruct",
	};

	return module->recorded ? "recording" : words[module->origin];
}

static void put_line(struct sonde_buffer *out, const char *title, uint64_t count)
{
	sonde_buffer_put_text(out, title);
	cli_put_count(out, count);
}

static void put_merged(struct sonde_buffer *out, const struct sonde_prof_report *report,
		       bool written)
{
	sonde_buffer_put_text(out, "merged   ");
	cli_put_counted(out, report->profiles, "profile");
	put_line(out, "\ncontexts ", report->contexts);
	if (report->contexts > report->contexts_listed) {
		put_line(out, ", ", report->contexts - report->contexts_listed);
		sonde_buffer_put_text(out, " of them single instructions within lines");
	}
	if (report->entries_demoted) {
		put_line(out, "\n         ", report->entries_demoted);
		sonde_buffer_put_text(out,
				      " paths with no known beginning: below \"unknown entry\"");
	}
	if (report->contexts_unwound) {
		put_line(out, "\n         ", report->contexts_unwound);
		sonde_buffer_put_text(out, " paths of GPU samples without their callers");
	}
	put_line(out, "\nmetrics  ", report->metrics);
	if (report->derived_metrics) {
		sonde_buffer_put_text(out, ", and ");
		cli_put_counted(out, report->derived_metrics, "formula");
	}
	if (written) {
		put_line(out, "\nvalues   ", report->values);
		put_line(out, "\nsamples  ", report->samples);
	}
	sonde_buffer_put_char(out, '\n');
}

static void put_oddities(struct sonde_buffer *out, const struct sonde_prof_report *report)
{
	size_t i;

	if (report->samples_out_of_order) {
		put_line(out, "         ", report->samples_out_of_order);
		sonde_buffer_put_text(out, " of them out of order, put in their place\n");
	}
	if (report->samples_unknown) {
		put_line(out, "         ", report->samples_unknown);
		sonde_buffer_put_text(out,
				      " left out: they name contexts that their profile lacks\n");
	}
	if (report->names_mended) {
		put_line(out, "names    ", report->names_mended);
		sonde_buffer_put_text(out, " were not UTF-8: U+FFFD stands for each bad byte\n");
	}
	if (report->sources_copied || report->sources_missing) {
		put_line(out, "sources  ", report->sources_copied);
		sonde_buffer_put_text(out, " copied, ");
		cli_put_count(out, report->sources_missing);
		sonde_buffer_put_text(out, " not found\n");
	}
	for (i = 0; i < report->notes.count; i++) {
		sonde_buffer_put_text(out, "note     ");
		cli_put_escaped(out, report->notes.items[i]);
		sonde_buffer_put_char(out, '\n');
	}
}

/* The number of the module with the most contexts below `most`; ties by their order. */
static size_t next_module(const struct sonde_prof_report *report, const bool *shown)
{
	size_t best = SIZE_MAX, i;

	for (i = 0; i < report->modules.count; i++)
		if (!shown[i] && (best == SIZE_MAX || report->modules.items[i].contexts >
							      report->modules.items[best].contexts))
			best = i;
	return best;
}

static void put_module(struct cli_table *table, const struct sonde_prof_module *module)
{
	const char *slash = strrchr(module->path, '/');

	cli_put_escaped(&table->text, slash && slash[1] ? slash + 1 : module->path);
	cli_table_end_cell(table);
	cli_put_count(&table->text, module->contexts);
	cli_table_end_cell(table);
	sonde_buffer_put_text(&table->text, origin_text(module));
	cli_table_end_cell(table);
}

static void put_modules(struct cli *cli, const struct sonde_prof_report *report)
{
	static const struct cli_column columns[] = {
		{ .title = "module", .shrinks = true },
		{ .title = "contexts", .right = true },
		{ .title = "names from" },
	};
	struct cli_table table = { .columns = columns, .column_count = 3 };
	size_t most = cli->common.verbose ? SIZE_MAX : MODULES_SHOWN, count;
	bool *shown = calloc(report->modules.count + 1, sizeof(*shown));

	for (count = 0; shown && count < report->modules.count && count < most; count++) {
		size_t module = next_module(report, shown);

		shown[module] = true;
		put_module(&table, &report->modules.items[module]);
	}
	free(shown);
	if (count) {
		sonde_buffer_put_char(&cli->out, '\n');
		cli_table_put(cli, &table, 0);
	}
	if (count < report->modules.count)
		sonde_buffer_put_format(&cli->out, "and %zu more; -v lists them\n",
					report->modules.count - count);
	cli_table_release(&table);
}

void cli_prof_put_refusals(struct cli *cli, const struct sonde_prof_report *report)
{
	struct sonde_buffer *out = &cli->out;
	size_t most = cli->common.verbose ? SIZE_MAX : REFUSALS_SHOWN, i;

	if (!report->refusals.count)
		return;
	sonde_buffer_put_char(out, '\n');
	cli_put_styled(cli, CLI_STYLE_YELLOW, "refused");
	sonde_buffer_put_char(out, '\n');
	for (i = 0; i < report->refusals.count && i < most; i++) {
		sonde_buffer_put_text(out, "  ");
		cli_put_escaped(out, report->refusals.items[i].path);
		sonde_buffer_put_text(out, "\n    ");
		cli_put_escaped(out, report->refusals.items[i].reason);
		sonde_buffer_put_char(out, '\n');
	}
	if (i < report->refusals.count)
		sonde_buffer_put_format(out, "  and %zu more; -v lists them\n",
					report->refusals.count - i);
}

/* Modules that have contexts and no names: something can be done about them. */
static uint64_t nameless(const struct sonde_prof_report *report)
{
	uint64_t count = 0;
	size_t i;

	for (i = 0; i < report->modules.count; i++)
		count += report->modules.items[i].origin == SONDE_STRUCTURE_NONE &&
			 !report->modules.items[i].recorded;
	return count;
}

void cli_prof_put_summary(struct cli *cli, const struct cli_prof_options *options,
			  const struct sonde_prof_report *report)
{
	struct sonde_buffer *out = &cli->out, word = { 0 };

	put_merged(out, report, !options->dry_run);
	put_oddities(out, report);
	if (options->dry_run) {
		sonde_buffer_put_text(out, "wrote    nothing: a dry run\n");
	} else {
		sonde_buffer_put_text(out, "wrote    ");
		cli_put_escaped(out, options->target.output);
		sonde_buffer_put_text(out, ", ");
		cli_put_size(out, report->bytes);
		sonde_buffer_put_char(out, '\n');
	}
	put_modules(cli, report);
	cli_prof_put_refusals(cli, report);
	if (!options->dry_run)
		cli_next(cli, "sonde info %s", cli_shell_word(&word, options->target.output));
	if (nameless(report) && !options->ignore_binaries && !cli->common.quiet)
		cli_hint(cli, "where binaries are elsewhere by now, -R OLD=NEW says where");
	sonde_buffer_release(&word);
}

static void put_refusals_json(struct sonde_json_writer *json,
			      const struct sonde_prof_report *report)
{
	size_t i;

	sonde_json_key(json, "refused");
	sonde_json_array_begin(json);
	for (i = 0; i < report->refusals.count; i++) {
		sonde_json_object_begin_inline(json);
		sonde_json_member_string(json, "path", report->refusals.items[i].path);
		sonde_json_member_string(json, "reason", report->refusals.items[i].reason);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
}

static void put_modules_json(struct sonde_json_writer *json, const struct sonde_prof_report *report)
{
	size_t i;

	sonde_json_key(json, "modules");
	sonde_json_array_begin(json);
	for (i = 0; i < report->modules.count; i++) {
		sonde_json_object_begin_inline(json);
		sonde_json_member_string(json, "path", report->modules.items[i].path);
		sonde_json_member_u64(json, "contexts", report->modules.items[i].contexts);
		sonde_json_member_string(json, "names_from",
					 origin_word(&report->modules.items[i]));
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
}

void cli_prof_put_json(struct sonde_buffer *out, struct cli *cli,
		       const struct cli_prof_options *options,
		       const struct sonde_prof_report *report, bool written)
{
	struct sonde_json_writer json;
	size_t i;

	sonde_json_writer_init(&json, out, true);
	sonde_json_object_begin(&json);
	sonde_json_member_string(&json, "output", options->target.output);
	sonde_json_member_bool(&json, "written", written);
	sonde_json_key(&json, "inputs");
	sonde_json_array_begin(&json);
	for (i = 0; i < cli->operand_count; i++)
		sonde_json_string(&json, cli->operands[i]);
	sonde_json_array_end(&json);
	sonde_json_member_u64(&json, "profiles", report->profiles);
	sonde_json_member_u64(&json, "contexts", report->contexts);
	sonde_json_member_u64(&json, "contexts_listed", report->contexts_listed);
	sonde_json_member_u64(&json, "contexts_not_unwound", report->contexts_unwound);
	sonde_json_member_u64(&json, "entries_demoted", report->entries_demoted);
	sonde_json_member_u64(&json, "metrics", report->metrics);
	sonde_json_member_u64(&json, "derived_metrics", report->derived_metrics);
	sonde_json_member_u64(&json, "values", report->values);
	sonde_json_member_u64(&json, "samples", report->samples);
	sonde_json_member_u64(&json, "samples_out_of_order", report->samples_out_of_order);
	sonde_json_member_u64(&json, "samples_unknown", report->samples_unknown);
	sonde_json_member_u64(&json, "names_not_utf8", report->names_mended);
	sonde_json_member_u64(&json, "sources_copied", report->sources_copied);
	sonde_json_member_u64(&json, "sources_missing", report->sources_missing);
	sonde_json_member_u64(&json, "bytes", report->bytes);
	put_modules_json(&json, report);
	put_refusals_json(&json, report);
	sonde_json_key(&json, "notes");
	sonde_json_array_begin(&json);
	for (i = 0; i < report->notes.count; i++)
		sonde_json_string(&json, report->notes.items[i]);
	sonde_json_array_end(&json);
	sonde_json_object_end(&json);
	sonde_buffer_put_char(out, '\n');
}
