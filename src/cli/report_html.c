/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sonde report --html`: one page that needs nothing else, with tables that its script sorts and filters, and
 * the flame graph. The page forbids itself to load anything.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/flame.h"
#include "cli/human.h"
#include "cli/markup.h"
#include "cli/report.h"
#include "cli/report_file.h"

#define MOST_ROWS 1000
#define LEAST_SHARE .001
#define FLAME_SHARE 1e-4
#define FLAME_FRAMES 50000
#define FLAME_DEPTH 500
#define MOST_DEPTH_SHOWN 60 /* levels of a tree that are indented */
#define MOST_VIEWS 3

struct page {
	struct sonde_buffer out;
	struct sonde_buffer scratch;
	const struct report *report;
	const struct report_view *views[MOST_VIEWS];
	size_t view_count;
	const struct flame *flame; /* NULL: none */
};

/* What was put into `scratch`, between tags. */
static void put_scratch(struct page *page)
{
	const char *text = sonde_buffer_text(&page->scratch);

	cli_put_markup(&page->out, text ? text : "", CLI_MARKUP_ALL);
	page->out.failed |= page->scratch.failed;
	sonde_buffer_clear(&page->scratch);
}

/* What a script sorts by; texts by themselves. */
static void put_sort_value(struct sonde_buffer *out, const struct report_cell *cell)
{
	switch (cell->kind) {
	case REPORT_TEXT:
		break;
	case REPORT_COUNT:
	case REPORT_ID:
	case REPORT_TIME:
		sonde_buffer_put_format(out, " data-v=\"%" PRIu64 "\"", cell->count);
		break;
	case REPORT_SHARE:
	case REPORT_NUMBER:
		sonde_buffer_put_format(out, " data-v=\"%.9g\"",
					isfinite(cell->number) ? cell->number : 0);
		break;
	default:
		sonde_buffer_put_text(out, " data-v=\"\"");
		break;
	}
}

static bool says_nothing(const struct report_cell *cell)
{
	return cell->kind == REPORT_NOTHING || (cell->kind == REPORT_COUNT && !cell->count) ||
	       (cell->kind == REPORT_TEXT && !*cell->text);
}

/* The name, which is the last, comes first on the page; columns in which nothing stands are left out. */
static bool is_shown(const struct report_view *view, size_t column)
{
	size_t i;

	if (view->columns.items[column].rank == REPORT_FOR_PROGRAMS ||
	    column + 1 == view->columns.count)
		return false;
	for (i = 0; i < view->rows.count; i++)
		if (!says_nothing(report_cell_at(view, i, column)))
			return true;
	return false;
}

static void put_name(struct page *page, const struct report_row *row,
		     const struct report_cell *cell)
{
	uint32_t depth = row->depth < MOST_DEPTH_SHOWN ? row->depth : MOST_DEPTH_SHOWN;

	if (depth)
		sonde_buffer_put_format(&page->out,
					"<td class=\"text name\" style=\"padding-left:%upx\">",
					10 + 14 * depth);
	else
		sonde_buffer_put_text(&page->out, "<td class=\"text name\">");
	sonde_buffer_put_text(&page->out, "<span>");
	report_put_cell(&page->scratch, cell);
	put_scratch(page);
	sonde_buffer_put_text(&page->out, "</span></td>");
}

static void put_cell(struct page *page, const struct report_column *column,
		     const struct report_cell *cell)
{
	struct sonde_buffer *out = &page->out;

	sonde_buffer_put_text(out, "<td");
	if (column->kind == REPORT_TEXT)
		sonde_buffer_put_text(out, " class=\"text\"");
	put_sort_value(out, cell);
	if (column->bar && cell->kind == REPORT_SHARE && cell->number > 0)
		sonde_buffer_put_format(
			out, " class=\"bar\" style=\"background-size:%.1f%% calc(100%% - 6px)\"",
			100 * fmin(cell->number, 1));
	sonde_buffer_put_char(out, '>');
	report_put_cell(&page->scratch, cell);
	put_scratch(page);
	sonde_buffer_put_text(out, "</td>");
}

static void put_rows(struct page *page, const struct report_view *view, const bool *shown)
{
	size_t last = view->columns.count - 1, i, column;

	for (i = 0; i < view->rows.count; i++) {
		const struct report_row *row = &view->rows.items[i];

		if (view->tree)
			sonde_buffer_put_format(&page->out, "<tr data-depth=\"%u\">", row->depth);
		else
			sonde_buffer_put_text(&page->out, "<tr>");
		put_name(page, row, report_cell_at(view, i, last));
		for (column = 0; column < last; column++)
			if (shown[column])
				put_cell(page, &view->columns.items[column],
					 report_cell_at(view, i, column));
		sonde_buffer_put_text(&page->out, "</tr>\n");
	}
}

static void put_heads(struct page *page, const struct report_view *view, const bool *shown)
{
	size_t last = view->columns.count - 1, i;

	sonde_buffer_put_text(&page->out, "<thead><tr><th scope=\"col\" class=\"text name\">");
	cli_put_markup(&page->out, view->columns.items[last].title, CLI_MARKUP_ALL);
	sonde_buffer_put_text(&page->out, "</th>");
	for (i = 0; i < last; i++) {
		const struct report_column *column = &view->columns.items[i];

		if (!shown[i])
			continue;
		sonde_buffer_put_text(&page->out, column->kind == REPORT_TEXT ?
							  "<th scope=\"col\" class=\"text\">" :
							  "<th scope=\"col\">");
		cli_put_markup(&page->out, column->title ? column->title : column->key,
			       CLI_MARKUP_ALL);
		sonde_buffer_put_text(&page->out, "</th>");
	}
	sonde_buffer_put_text(&page->out, "</tr></thead>\n");
}

static void put_table(struct page *page, const struct report_view *view)
{
	bool *shown = calloc(view->columns.count, sizeof(*shown));
	size_t i;

	page->out.failed |= !shown;
	if (!shown)
		return;
	for (i = 0; i < view->columns.count; i++)
		shown[i] = is_shown(view, i);
	sonde_buffer_put_format(&page->out, "<div class=\"scroll\"><table class=\"report%s\">\n",
				view->tree ? " tree" : "");
	put_heads(page, view, shown);
	sonde_buffer_put_text(&page->out, "<tbody>\n");
	put_rows(page, view, shown);
	sonde_buffer_put_text(&page->out, "</tbody></table></div>\n");
	free(shown);
}

/* "hot_path" of JSON is "Hot path" here. */
static void put_heading(struct page *page, const struct report_view *view)
{
	const char *name = view->name ? view->name : "report";
	size_t at = page->out.size;

	cli_put_markup(&page->out, name, CLI_MARKUP_ALL);
	if (page->out.failed || at == page->out.size)
		return;
	page->out.data[at] = (char)toupper((unsigned char)page->out.data[at]);
	for (; at < page->out.size; at++)
		if (page->out.data[at] == '_')
			page->out.data[at] = ' ';
}

static void put_view(struct page *page, const struct report_view *view, size_t number)
{
	struct sonde_buffer *out = &page->out;

	sonde_buffer_put_format(out, "<section><h2 id=\"view%zu\">", number);
	put_heading(page, view);
	sonde_buffer_put_text(out, "</h2>\n");
	if (view->title && view->rows.count) {
		sonde_buffer_put_text(out, "<p>");
		cli_put_markup(out, view->title, CLI_MARKUP_ALL);
		sonde_buffer_put_text(out, "</p>\n");
	}
	if (view->columns.count && view->rows.count) {
		put_table(page, view);
	} else {
		sonde_buffer_put_text(out, "<p>Nothing fits what was asked for.</p>\n");
	}
	if (view->left_out) {
		sonde_buffer_put_text(out, "<p>");
		report_put_plural(out, view->left_out, view->noun ? view->noun : "row");
		sonde_buffer_put_text(out, " left out; --limit 0 --min 0 shows all.</p>\n");
	}
	sonde_buffer_put_text(out, "</section>\n");
}

static void put_title(struct page *page)
{
	const struct report_summary *summary = &page->report->summary;
	size_t i;

	for (i = 0; i < summary->source_count && i < 3; i++) {
		if (i)
			sonde_buffer_put_text(&page->out, ", ");
		cli_put_markup(&page->out, summary->sources[i].path, 300);
	}
	if (i < summary->source_count)
		sonde_buffer_put_format(&page->out, " and %zu more", summary->source_count - i);
}

static void put_links(struct page *page)
{
	struct sonde_buffer *out = &page->out;
	size_t i;

	sonde_buffer_put_text(out, "<nav aria-label=\"Sections\">");
	for (i = 0; i < page->view_count; i++) {
		sonde_buffer_put_format(out, "<a href=\"#view%zu\">", i);
		put_heading(page, page->views[i]);
		sonde_buffer_put_text(out, "</a>");
	}
	if (page->flame)
		sonde_buffer_put_text(out, "<a href=\"#flame\">Flame graph</a>");
	sonde_buffer_put_text(out, "</nav>\n");
}

static void put_head(struct page *page)
{
	struct sonde_buffer *out = &page->out;

	sonde_buffer_put_text(
		out,
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		"style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
	put_title(page);
	sonde_buffer_put_text(out, "</title>\n<style>\n");
	sonde_buffer_put_text(out, cli_report_style);
	sonde_buffer_put_text(out, "</style></head>\n<body><main>\n<h1>");
	put_title(page);
	sonde_buffer_put_text(out, "</h1>\n<p>");
	report_put_summary(&page->scratch, &page->report->summary);
	put_scratch(page);
	sonde_buffer_put_text(out, "</p>\n");
	report_put_losses(&page->scratch, &page->report->summary);
	if (page->scratch.size) {
		sonde_buffer_put_text(out, "<p class=\"loss\">");
		put_scratch(page);
		sonde_buffer_put_text(out, "</p>\n");
	}
}

static void put_flame(struct page *page)
{
	struct flame_picture picture = {
		.flame = page->flame, .title = "", .icicle = true, .within_page = true
	};

	sonde_buffer_put_text(&page->out, "<section><h2 id=\"flame\">Flame graph</h2>\n<div>");
	flame_put_svg(&page->out, &picture);
	sonde_buffer_put_text(&page->out, "</div></section>\n");
}

static void put_page(struct page *page)
{
	size_t i;

	put_head(page);
	if (page->view_count + (page->flame != NULL) > 1)
		put_links(page);
	for (i = 0; i < page->view_count; i++)
		put_view(page, page->views[i], i);
	if (page->flame)
		put_flame(page);
	sonde_buffer_put_text(&page->out, "<script>\n");
	sonde_buffer_put_text(&page->out, cli_report_script);
	sonde_buffer_put_text(&page->out, "</script>\n</main></body></html>\n");
}

/* A view beside the one that was asked for; false where it failed. */
static bool add_view(struct page *page, const struct report_build *build, report_maker *make,
		     struct report_view *view)
{
	struct report_build more = *build;

	more.view = view;
	if (build->whole > 0 && !build->options->min)
		more.least = LEAST_SHARE;
	if (!make(&more))
		return false;
	report_limit(view, build->options->limit == UINT64_MAX ? MOST_ROWS : build->options->limit);
	if (view->rows.count)
		page->views[page->view_count++] = view;
	return !view->failed;
}

/* A metric that cannot be drawn leaves the picture out. */
static void add_flame(struct page *page, const struct report_build *build, struct flame *flame)
{
	struct flame_options options = { .metric = build->metric,
					 .min_share = FLAME_SHARE,
					 .most_frames = FLAME_FRAMES,
					 .most_depth = FLAME_DEPTH };

	if (!build->cct || !build->cct->metric_count)
		return;
	if (flame_make(flame, build->cct, &options, NULL) == SONDE_OK && flame_total(flame) > 0)
		page->flame = flame;
}

static int write_page(struct report_build *build, struct page *page)
{
	const char *path = build->options->html;
	int code;

	put_page(page);
	if (!strcmp(path, "-")) {
		if (page->out.failed)
			return cli_fail_nomem(build->cli);
		sonde_buffer_put(&build->cli->out, page->out.data, page->out.size);
		return CLI_OK;
	}
	code = cli_write_report(build->cli, path, &page->out);
	if (code == CLI_OK && !build->cli->common.quiet) {
		sonde_buffer_put_format(&build->cli->out, "wrote %s: ", path);
		report_put_summary(&build->cli->out, &page->report->summary);
		sonde_buffer_put_char(&build->cli->out, '\n');
	}
	return code;
}

int report_write_html(struct report_build *build, const struct report *report, bool whole)
{
	struct page page = { .report = report };
	struct report_view tree = { 0 }, tracks = { 0 };
	struct flame flame = { 0 };
	int code;

	page.views[page.view_count++] = &report->view;
	whole = whole && build->cct && build->cct->metric_count;
	if (whole && (!add_view(&page, build, report_make_tree, &tree) ||
		      !add_view(&page, build, report_make_tracks, &tracks))) {
		code = cli_fail_nomem(build->cli);
	} else {
		add_flame(&page, build, &flame);
		code = write_page(build, &page);
	}
	flame_release(&flame);
	report_view_release(&tree);
	report_view_release(&tracks);
	sonde_buffer_release(&page.out);
	sonde_buffer_release(&page.scratch);
	return code;
}
