/* SPDX-License-Identifier: Apache-2.0 */
/* A report on a screen: columns that fit, bars, colours by heat, names cut in the middle. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/human.h"
#include "cli/report_view.h"
#include "cli/text.h"

#define GAP 2
#define BAR_WIDTH 10
#define WIDTH_OF_PIPES 112 /* for choosing columns where there is no screen; names stay whole */
#define NAME_ROOM 26	   /* for long names at least, or a third of the screen */
#define NARROWEST_NAME 12
/* Shares of the whole from which on a row is hot, warm, and hardly worth a look. */
#define HOT 0.2
#define WARM 0.05
#define COLD 0.002

struct screen {
	struct cli *cli;
	const struct report_view *view;
	size_t width;	    /* 0: as wide as it gets */
	size_t room;	    /* for the name */
	size_t indent_most; /* deeper rows have their depth as a number */
	size_t *widths;	    /* by column; 0: not shown */
	bool unicode;
	bool bars;		  /* there is room for them */
	struct sonde_buffer cell; /* scratch */
};

static size_t last_column(const struct screen *screen)
{
	return screen->view->columns.count - 1;
}

static bool is_blank(const struct report_cell *cell)
{
	return cell->kind == REPORT_NOTHING || (cell->kind == REPORT_COUNT && !cell->count) ||
	       (cell->kind == REPORT_TEXT && !*cell->text);
}

static const char *format_cell(struct screen *screen, size_t row, size_t column)
{
	sonde_buffer_clear(&screen->cell);
	report_put_cell(&screen->cell, report_cell_at(screen->view, row, column));
	return sonde_buffer_text(&screen->cell);
}

static size_t bar_width(const struct screen *screen, const struct report_column *column)
{
	return column->bar && screen->bars ? 1 + BAR_WIDTH : 0;
}

/* The columns that a column takes; 0 where it has nothing to say. */
static size_t measure_column(struct screen *screen, size_t column)
{
	const struct report_column *about = &screen->view->columns.items[column];
	size_t widest = 0;
	bool blank = true;

	for (size_t row = 0; row < screen->view->rows.count; row++) {
		const char *text = format_cell(screen, row, column);
		size_t width = text ? cli_text_width(text, screen->cell.size) : 0;

		blank &= is_blank(report_cell_at(screen->view, row, column));
		if (width > widest)
			widest = width;
	}
	if (blank && about->rank != REPORT_ALWAYS)
		return 0;
	widest += bar_width(screen, about);
	return strlen(about->title) > widest ? strlen(about->title) : widest;
}

/* What stands before the name of a row that is deeper than there is room for. */
static size_t depth_width(uint32_t depth)
{
	return cli_digits(depth) + 2;
}

static size_t indent_of(const struct screen *screen, size_t row)
{
	uint32_t depth = screen->view->rows.items[row].depth;
	size_t indent = screen->view->tree ? 2 * (size_t)depth : 0;

	if (indent <= screen->indent_most)
		return indent;
	return depth_width(depth) > screen->indent_most ? depth_width(depth) : screen->indent_most;
}

static size_t longest_name(struct screen *screen)
{
	size_t longest = 4;

	for (size_t row = 0; row < screen->view->rows.count; row++) {
		const char *text = format_cell(screen, row, last_column(screen));
		size_t width = text ? cli_text_width(text, screen->cell.size) : 0;

		width += indent_of(screen, row);
		if (width > longest)
			longest = width;
	}
	return longest;
}

/* Takes the columns of one rank; false where there was no room for one. */
static bool choose_rank(struct screen *screen, enum report_rank rank, size_t room, size_t *used)
{
	for (size_t i = 0; i < last_column(screen); i++) {
		size_t width;

		if (screen->view->columns.items[i].rank != rank)
			continue;
		width = measure_column(screen, i);
		if (!width)
			continue;
		if (*used + width + GAP > room)
			return false;
		screen->widths[i] = width;
		*used += width + GAP;
	}
	return true;
}

/*
 * The most important columns first, as long as there is room beside them for names. Behind one that does not
 * fit nothing less important is shown.
 */
static void choose_columns(struct screen *screen)
{
	size_t fits = screen->width ? screen->width : WIDTH_OF_PIPES;
	size_t most = fits / 3 > NAME_ROOM ? fits / 3 : NAME_ROOM;
	size_t name = longest_name(screen), used = 0;
	unsigned int rank = REPORT_ALWAYS;
	bool fit;

	if (name > most)
		name = most;
	fit = choose_rank(screen, rank, fits - NARROWEST_NAME, &used);
	if (!fit && screen->bars) {
		screen->bars = false;
		memset(screen->widths, 0, screen->view->columns.count * sizeof(*screen->widths));
		used = 0;
		fit = choose_rank(screen, rank, fits - NARROWEST_NAME, &used);
	}
	while (fit && ++rank < REPORT_FOR_PROGRAMS)
		fit = choose_rank(screen, rank, fits > name ? fits - name : 0, &used);
	if (!screen->width)
		return;
	screen->room = fits - used;
	if (screen->indent_most + NARROWEST_NAME > screen->room)
		screen->indent_most =
			screen->room > NARROWEST_NAME ? screen->room - NARROWEST_NAME : 0;
}

static enum cli_style heat_of(double share)
{
	if (share >= HOT)
		return CLI_STYLE_RED;
	if (share >= WARM)
		return CLI_STYLE_YELLOW;
	return share < COLD ? CLI_STYLE_DIM : CLI_STYLE_NONE;
}

static void begin_style(struct screen *screen, enum cli_style style)
{
	if (screen->cli->out_colour)
		cli_put_style(&screen->cli->out, style);
}

static void end_style(struct screen *screen, enum cli_style style)
{
	if (screen->cli->out_colour)
		cli_put_style_end(&screen->cli->out, style);
}

static void put_bar(struct screen *screen, double share)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	struct sonde_buffer *out = &screen->cli->out;
	size_t steps = screen->unicode ? 8 : 1, filled, drawn = 0;

	share = share > 1 ? 1 : share > 0 ? share : 0;
	filled = (size_t)(share * BAR_WIDTH * (double)steps + 0.5);
	for (; drawn < filled / steps; drawn++)
		sonde_buffer_put_text(out, screen->unicode ? "█" : "#");
	if (filled % steps) {
		sonde_buffer_put_text(out, eighths[filled % steps]);
		drawn++;
	}
	cli_put_spaces(out, BAR_WIDTH - drawn);
}

static void put_cell(struct screen *screen, size_t row, size_t column)
{
	const struct report_column *about = &screen->view->columns.items[column];
	const struct report_cell *cell = report_cell_at(screen->view, row, column);
	size_t width = screen->widths[column] - bar_width(screen, about);
	enum cli_style style = CLI_STYLE_NONE;
	const char *text = format_cell(screen, row, column);

	if (!text)
		return;
	if (cell->kind == REPORT_SHARE)
		style = heat_of(cell->number);
	begin_style(screen, style);
	cli_put_column(&screen->cli->out, text, screen->cell.size, width,
		       about->kind != REPORT_TEXT);
	if (bar_width(screen, about)) {
		sonde_buffer_put_char(&screen->cli->out, ' ');
		put_bar(screen, cell->kind == REPORT_SHARE ? cell->number : 0);
	}
	end_style(screen, style);
	cli_put_spaces(&screen->cli->out, GAP);
}

static void put_indent(struct screen *screen, size_t row)
{
	struct sonde_buffer *out = &screen->cli->out;
	uint32_t depth = screen->view->rows.items[row].depth;
	size_t indent = indent_of(screen, row);

	if (!screen->view->tree || 2 * (size_t)depth <= screen->indent_most) {
		cli_put_spaces(out, indent);
		return;
	}
	cli_put_spaces(out, indent - depth_width(depth));
	sonde_buffer_put_format(out, "%u: ", depth);
}

/* What is cut out of a long name is its middle: both ends tell names apart. */
static void put_name(struct screen *screen, size_t row)
{
	struct sonde_buffer *out = &screen->cli->out;
	const char *text = format_cell(screen, row, last_column(screen));
	size_t size = screen->cell.size, room = screen->room, indent = indent_of(screen, row);
	const char *dots = screen->unicode ? "…" : "..";
	size_t width, head, tail;

	if (!text)
		return;
	put_indent(screen, row);
	room = room > indent + NARROWEST_NAME / 2 ? room - indent : NARROWEST_NAME / 2;
	width = cli_text_width(text, size);
	if (!screen->room || width <= room) {
		sonde_buffer_put(out, text, size);
		return;
	}
	room -= cli_text_width(dots, strlen(dots));
	head = cli_text_fit(text, size, room - room / 3);
	tail = cli_text_fit(text, size, width - room / 3);
	sonde_buffer_put(out, text, head);
	sonde_buffer_put_text(out, dots);
	sonde_buffer_put(out, text + tail, size - tail);
}

static void put_titles(struct screen *screen)
{
	struct sonde_buffer *out = &screen->cli->out;
	const char *name;

	begin_style(screen, CLI_STYLE_BOLD);
	for (size_t i = 0; i < last_column(screen); i++) {
		const struct report_column *column = &screen->view->columns.items[i];
		/* the title of a share with a bar stands over the number */
		size_t width = screen->widths[i], bar = bar_width(screen, column);

		if (!width)
			continue;
		if (bar && strlen(column->title) > width - bar)
			bar = width - strlen(column->title);
		cli_put_column(out, column->title, strlen(column->title), width - bar,
			       column->kind != REPORT_TEXT);
		cli_put_spaces(out, bar + GAP);
	}
	name = screen->view->columns.items[last_column(screen)].title;
	if (screen->room && strlen(name) > screen->room)
		cli_put_column(out, name, strlen(name), screen->room, false);
	else
		sonde_buffer_put_text(out, name);
	end_style(screen, CLI_STYLE_BOLD);
	sonde_buffer_put_char(out, '\n');
}

static void put_rows(struct screen *screen)
{
	for (size_t row = 0; row < screen->view->rows.count; row++) {
		for (size_t i = 0; i < last_column(screen); i++)
			if (screen->widths[i])
				put_cell(screen, row, i);
		put_name(screen, row);
		sonde_buffer_put_char(&screen->cli->out, '\n');
		if (!cli_flush_when_full(screen->cli))
			return;
	}
}

void report_put_plural(struct sonde_buffer *out, uint64_t count, const char *noun)
{
	size_t length = strlen(noun);

	if (count == 1 || !length || noun[length - 1] != 's') {
		cli_put_counted(out, count, noun);
		return;
	}
	cli_put_count(out, count);
	sonde_buffer_put_format(out, " %ses", noun);
}

static void put_separated(struct sonde_buffer *out, size_t start)
{
	if (out->size > start)
		sonde_buffer_put_text(out, ", ");
}

void report_put_summary(struct sonde_buffer *out, const struct report_summary *summary)
{
	size_t start = out->size;

	if (summary->functions)
		cli_put_counted(out, summary->functions, "function");
	if (summary->calls) {
		put_separated(out, start);
		cli_put_counted(out, summary->calls, "call");
	} else if (summary->contexts > 1) {
		put_separated(out, start);
		cli_put_counted(out, summary->contexts - 1, "context");
	}
	put_separated(out, start);
	if (summary->whole.kind != REPORT_NOTHING) {
		report_put_cell(out, &summary->whole);
		sonde_buffer_put_char(out, ' ');
		if (!summary->calls || summary->whole.kind != REPORT_TIME) {
			cli_put_escaped(out, summary->metric);
			sonde_buffer_put_char(out, ' ');
		}
		sonde_buffer_put_text(out, "in ");
	}
	cli_put_counted(out, summary->tracks, summary->only_threads ? "thread" : "track");
	if (summary->processes > 1) {
		sonde_buffer_put_text(out, " of ");
		report_put_plural(out, summary->processes, "process");
	}
	if (summary->last_ns > summary->first_ns) {
		sonde_buffer_put_text(out, ", over ");
		cli_put_duration(out, summary->last_ns - summary->first_ns, " ");
	}
}

void report_put_losses(struct sonde_buffer *out, const struct report_summary *summary)
{
	size_t start = out->size, unfinished = 0;

	for (size_t i = 0; i < summary->source_count; i++)
		unfinished += summary->sources[i].unfinished;
	if (summary->dropped) {
		cli_put_counted(out, summary->dropped, "event");
		sonde_buffer_put_text(out, summary->dropped == 1 ? " was dropped by the recorder" :
								   " were dropped by the recorder");
	}
	if (!unfinished)
		return;
	put_separated(out, start);
	if (summary->source_count == 1)
		sonde_buffer_put_text(out,
				      "the recording was not finished: its end may be missing");
	else
		sonde_buffer_put_format(
			out, "%zu recordings were not finished: their ends may be missing",
			unfinished);
}

static void put_path(struct screen *screen, const struct report_summary *summary)
{
	struct sonde_buffer *out = &screen->cli->out;

	begin_style(screen, CLI_STYLE_BOLD);
	if (summary->source_count == 1)
		cli_put_escaped(out, summary->sources[0].path);
	else
		sonde_buffer_put_format(out, "%zu recordings", summary->source_count);
	end_style(screen, CLI_STYLE_BOLD);
}

/* What was read, in a line or, where the path is long, in two. */
static void put_head(struct screen *screen, const struct report_summary *summary)
{
	struct sonde_buffer *out = &screen->cli->out;
	size_t before = out->size, path;

	put_path(screen, summary);
	path = cli_text_width(out->data + before, out->size - before);
	sonde_buffer_clear(&screen->cell);
	report_put_summary(&screen->cell, summary);
	if (screen->width && path + 2 + screen->cell.size > screen->width) {
		sonde_buffer_put_char(out, '\n');
		if (sonde_buffer_text(&screen->cell))
			cli_put_wrapped(out, screen->cell.data, 2, screen->width, 0);
	} else {
		sonde_buffer_put_text(out, ": ");
		sonde_buffer_put(out, screen->cell.data, screen->cell.size);
		sonde_buffer_put_char(out, '\n');
	}
	sonde_buffer_clear(&screen->cell);
	report_put_losses(&screen->cell, summary);
	if (screen->cell.size) {
		sonde_buffer_put_text(out, "  ");
		begin_style(screen, CLI_STYLE_YELLOW);
		sonde_buffer_put(out, screen->cell.data, screen->cell.size);
		end_style(screen, CLI_STYLE_YELLOW);
		sonde_buffer_put_char(out, '\n');
	}
	if (screen->view->title && screen->view->rows.count)
		cli_put_wrapped(out, screen->view->title, 2,
				screen->width ? screen->width : WIDTH_OF_PIPES, 0);
	sonde_buffer_put_char(out, '\n');
}

static void put_left_out(struct screen *screen)
{
	struct sonde_buffer *out = &screen->cli->out;
	const char *noun = screen->view->noun;

	if (!screen->view->left_out)
		return;
	begin_style(screen, CLI_STYLE_DIM);
	sonde_buffer_put_text(out, screen->unicode ? "… " : "... ");
	cli_put_count(out, screen->view->left_out);
	sonde_buffer_put_format(out, " more %s%s (--limit 0 --min 0 shows all)", noun,
				screen->view->left_out == 1   ? "" :
				noun[strlen(noun) - 1] == 's' ? "es" :
								"s");
	end_style(screen, CLI_STYLE_DIM);
	sonde_buffer_put_char(out, '\n');
}

void report_put_screen(struct cli *cli, const struct report *report)
{
	struct screen screen = { .cli = cli,
				 .view = &report->view,
				 .width = cli_width(cli, 0),
				 .unicode = cli_locale_is_utf8(),
				 .bars = true };

	screen.indent_most = (screen.width ? screen.width : WIDTH_OF_PIPES) / 3;
	screen.widths = calloc(report->view.columns.count + 1, sizeof(*screen.widths));
	if (!screen.widths) {
		cli->out.failed = true;
		return;
	}
	put_head(&screen, &report->summary);
	if (report->view.rows.count) {
		choose_columns(&screen);
		put_titles(&screen);
		put_rows(&screen);
	}
	put_left_out(&screen);
	if (screen.cell.failed)
		cli->out.failed = true;
	free(screen.widths);
	sonde_buffer_release(&screen.cell);
}
