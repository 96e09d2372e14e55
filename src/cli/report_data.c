/* SPDX-License-Identifier: Apache-2.0 */
/* A report for programs: JSON with what was read and the rows as objects, or CSV of the rows alone. */

#include "base/json.h"
#include "cli/report_view.h"
#include "cli/text.h"

static const char *const kind_names[] = {
	[REPORT_NOTHING] = "none",  [REPORT_TEXT] = "text", [REPORT_COUNT] = "count",
	[REPORT_ID] = "id",	    [REPORT_TIME] = "time", [REPORT_SHARE] = "share",
	[REPORT_NUMBER] = "number",
};

static void put_json_cell(struct sonde_json_writer *json, const struct report_cell *cell)
{
	switch (cell->kind) {
	case REPORT_TEXT:
		sonde_json_string(json, cell->text);
		break;
	case REPORT_COUNT:
	case REPORT_ID:
	case REPORT_TIME:
		sonde_json_number_u64(json, cell->count);
		break;
	case REPORT_SHARE:
	case REPORT_NUMBER:
		sonde_json_number_double(json, cell->number);
		break;
	default:
		sonde_json_null(json);
		break;
	}
}

static void put_json_summary(struct sonde_json_writer *json, const struct report_summary *summary)
{
	sonde_json_key(json, "recordings");
	sonde_json_array_begin(json);
	for (size_t i = 0; i < summary->source_count; i++) {
		const struct report_source *source = &summary->sources[i];

		sonde_json_object_begin_inline(json);
		sonde_json_member_string(json, "path", source->path);
		sonde_json_member_string(json, "format", source->format);
		sonde_json_member_u64(json, "faults", source->faults);
		sonde_json_member_bool(json, "unfinished", source->unfinished);
		sonde_json_object_end(json);
	}
	sonde_json_array_end(json);
	sonde_json_member_string(json, "metric", summary->metric);
	sonde_json_key(json, summary->whole.kind == REPORT_TIME ? "whole_ns" : "whole");
	put_json_cell(json, &summary->whole);
	sonde_json_member_u64(json, "processes", summary->processes);
	sonde_json_member_u64(json, "tracks", summary->tracks);
	sonde_json_member_u64(json, "functions", summary->functions);
	sonde_json_member_u64(json, "contexts", summary->contexts);
	sonde_json_member_u64(json, "events", summary->events);
	sonde_json_member_u64(json, "samples", summary->samples);
	sonde_json_member_u64(json, "calls", summary->calls);
	sonde_json_member_u64(json, "exceptions", summary->exceptions);
	sonde_json_member_u64(json, "dropped_events", summary->dropped);
	sonde_json_member_u64(json, "first_ns", summary->first_ns);
	sonde_json_member_u64(json, "last_ns", summary->last_ns);
	sonde_json_member_u64(json, "busy_ns", summary->busy_ns);
}

static void put_json_row(struct sonde_json_writer *json, const struct report_view *view, size_t row)
{
	sonde_json_object_begin_inline(json);
	if (view->tree)
		sonde_json_member_u64(json, "depth", view->rows.items[row].depth);
	for (size_t column = 0; column < view->columns.count; column++) {
		sonde_json_key(json, view->columns.items[column].key);
		put_json_cell(json, report_cell_at(view, row, column));
	}
	sonde_json_object_end(json);
}

void report_put_json(struct cli *cli, const struct report *report)
{
	const struct report_view *view = &report->view;
	struct sonde_json_writer json;

	sonde_json_writer_init(&json, &cli->out, true);
	sonde_json_object_begin(&json);
	/* without any metric there is no view */
	sonde_json_member_string(&json, "report", view->name ? view->name : "report");
	put_json_summary(&json, &report->summary);
	sonde_json_key(&json, "columns");
	sonde_json_array_begin(&json);
	for (size_t i = 0; i < view->columns.count; i++) {
		sonde_json_object_begin_inline(&json);
		sonde_json_member_string(&json, "key", view->columns.items[i].key);
		sonde_json_member_string(&json, "kind", kind_names[view->columns.items[i].kind]);
		sonde_json_object_end(&json);
	}
	sonde_json_array_end(&json);
	sonde_json_member_u64(&json, "left_out", view->left_out);
	sonde_json_key(&json, "rows");
	sonde_json_array_begin(&json);
	for (size_t row = 0; row < view->rows.count && cli_flush_when_full(cli); row++)
		put_json_row(&json, view, row);
	sonde_json_array_end(&json);
	sonde_json_object_end(&json);
	sonde_buffer_put_char(&cli->out, '\n');
}

static void put_csv_cell(struct cli *cli, struct sonde_buffer *space,
			 const struct report_cell *cell)
{
	switch (cell->kind) {
	case REPORT_TEXT:
		cli_put_csv_text(cli, space, cell->text);
		break;
	case REPORT_COUNT:
	case REPORT_ID:
	case REPORT_TIME:
		sonde_buffer_put_u64(&cli->out, cell->count);
		break;
	case REPORT_SHARE:
	case REPORT_NUMBER:
		sonde_buffer_put_double(&cli->out, cell->number);
		break;
	default:
		break;
	}
}

void report_put_csv(struct cli *cli, const struct report *report)
{
	const struct report_view *view = &report->view;
	struct sonde_buffer space = { 0 };
	size_t column;

	if (view->tree)
		sonde_buffer_put_text(&cli->out, "depth,");
	for (column = 0; column < view->columns.count; column++) {
		if (column)
			sonde_buffer_put_char(&cli->out, ',');
		cli_put_csv_text(cli, &space, view->columns.items[column].key);
	}
	sonde_buffer_put_text(&cli->out, "\r\n");
	for (size_t row = 0; row < view->rows.count && cli_flush_when_full(cli); row++) {
		if (view->tree)
			sonde_buffer_put_format(&cli->out, "%u,", view->rows.items[row].depth);
		for (column = 0; column < view->columns.count; column++) {
			if (column)
				sonde_buffer_put_char(&cli->out, ',');
			put_csv_cell(cli, &space, report_cell_at(view, row, column));
		}
		sonde_buffer_put_text(&cli->out, "\r\n");
	}
	sonde_buffer_release(&space);
}
