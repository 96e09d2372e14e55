/* SPDX-License-Identifier: Apache-2.0 */
/* A flame graph of letters: a line a level, a cell a frame, as wide as the terminal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis.h"
#include "cli/flame.h"
#include "cli/text.h"

/* Numbers of the palette of 256 colours, light enough for black letters. */
static const unsigned char hue_colours[FLAME_HUES] = { 217, 216, 222, 186, 150, 115,
						       116, 117, 111, 147, 183, 218 };
static const unsigned char slower_colours[] = { 252, 224, 217, 210, 203 };
static const unsigned char faster_colours[] = { 252, 189, 153, 111, 75 };
#define PLAIN_COLOUR 252
#define MOST_VANISHED 10

/* What stands in a line so far. */
struct line {
	struct sonde_buffer text;
	unsigned int column;
};

struct drawing {
	const struct flame_screen *screen;
	struct flame_colours colours;
	struct line *lines; /* by depth */
	struct sonde_buffer name;
	uint64_t unseen; /* frames of less than a column */
};

static unsigned int colour_of(const struct drawing *drawing, const struct flame_frame *frame)
{
	const struct flame *flame = drawing->screen->flame;
	unsigned int colour;
	int change;

	if (flame->is_difference) {
		change = flame_change(flame, frame);
		return change < 0 ? faster_colours[-change] : slower_colours[change];
	}
	colour = flame_colour(flame, &drawing->colours, frame->label);
	return colour < FLAME_COLOURS ? hue_colours[colour / FLAME_TONES] : PLAIN_COLOUR;
}

/* The name, and where there is room the share after it. */
static void put_content(struct drawing *drawing, struct line *line, const struct flame_frame *frame,
			unsigned int room)
{
	char share[32], space[FLAME_NAME_SPACE];
	struct sonde_buffer *name = &drawing->name;
	size_t width, share_width;

	sonde_buffer_clear(name);
	cli_put_escaped(name, flame_label_name(drawing->screen->flame, frame->label, space));
	width = cli_text_width(name->data, name->size);
	share_width = (size_t)snprintf(share, sizeof(share), " %.1f%%",
				       100 * flame_share(drawing->screen->flame, frame->total));
	if (width + share_width <= room) {
		sonde_buffer_put(name, share, share_width);
		width += share_width;
	}
	if (width > room && room < 4) {
		sonde_buffer_put(&line->text, name->data,
				 cli_text_fit(name->data, name->size, room));
		return;
	}
	cli_put_column(&line->text, name->data, name->size, room, false);
}

static void put_cell(struct drawing *drawing, const struct flame_frame *frame, unsigned int from,
		     unsigned int to)
{
	struct line *line = &drawing->lines[frame->depth];
	bool colours = drawing->screen->colours;

	cli_put_spaces(&line->text, from - line->column);
	if (colours)
		sonde_buffer_put_format(&line->text, "\033[30;48;5;%um", colour_of(drawing, frame));
	sonde_buffer_put_char(&line->text, '|');
	if (to - from > 1)
		put_content(drawing, line, frame, to - from - 1);
	if (colours)
		sonde_buffer_put_text(&line->text, "\033[0m");
	line->column = to;
}

static void draw_frames(struct drawing *drawing)
{
	const struct flame *flame = drawing->screen->flame;
	double scale = flame_total(flame) > 0 ? drawing->screen->width / flame_total(flame) : 0;
	uint32_t i = 0;

	while (i < flame->count) {
		const struct flame_frame *frame = &flame->frames[i];
		unsigned int from = (unsigned int)lround(frame->start * scale);
		unsigned int to = (unsigned int)lround((frame->start + frame->total) * scale);

		if (to > drawing->screen->width)
			to = drawing->screen->width;
		if (to <= from) { /* those on it are not wider */
			drawing->unseen += frame->end - i;
			i = frame->end;
			continue;
		}
		put_cell(drawing, frame, from, to);
		i++;
	}
}

static void put_lines(struct sonde_buffer *out, const struct drawing *drawing)
{
	uint32_t levels = drawing->screen->flame->most_depth + 1, i;

	for (i = 0; i < levels; i++) {
		const struct line *line =
			&drawing->lines[drawing->screen->icicle ? i : levels - 1 - i];
		size_t size = line->text.size;

		if (!line->column)
			continue;
		while (size && line->text.data[size - 1] == ' ')
			size--;
		out->failed |= line->text.failed;
		sonde_buffer_put(out, line->text.data, size);
		sonde_buffer_put_char(out, '\n');
	}
}

static void put_vanished(struct sonde_buffer *out, const struct flame *flame)
{
	char space[FLAME_NAME_SPACE];
	size_t i;

	if (!flame->vanished.count)
		return;
	sonde_buffer_put_text(out, "\nnot there any more, with all that they called:\n");
	for (i = 0; i < flame->vanished.count && i < MOST_VANISHED; i++) {
		const struct flame_vanished *vanished = &flame->vanished.items[i];

		sonde_buffer_put_text(out, "  ");
		cli_put_escaped(out, flame_context_name(flame->cct, vanished->context, space,
							sizeof(space)));
		sonde_buffer_put_text(out, "  ");
		cli_put_metric_value(out, &flame->cct->metrics[flame->metric], vanished->total);
		sonde_buffer_put_char(out, '\n');
	}
	if (i < flame->vanished.count)
		sonde_buffer_put_format(out, "  and %zu more\n", flame->vanished.count - i);
}

static void put_words(struct sonde_buffer *out, const struct drawing *drawing)
{
	const struct flame *flame = drawing->screen->flame;

	flame_put_about(out, flame);
	if (drawing->unseen)
		sonde_buffer_put_format(out, ", %zu of them too narrow for %u columns",
					(size_t)drawing->unseen, drawing->screen->width);
	sonde_buffer_put_char(out, '\n');
	if (flame->narrow_count || flame->deep_count) {
		flame_put_left_out(out, flame);
		sonde_buffer_put_char(out, '\n');
	}
	put_vanished(out, flame);
}

void flame_put_text(struct sonde_buffer *out, const struct flame_screen *screen)
{
	uint32_t levels = screen->flame->most_depth + 1, i;
	struct drawing drawing = { .screen = screen,
				   .colours = flame_choose_colours(screen->flame),
				   .lines = calloc(levels, sizeof(*drawing.lines)) };

	if (!drawing.lines) {
		out->failed = true;
		return;
	}
	cli_put_escaped(out, screen->title);
	sonde_buffer_put_char(out, '\n');
	draw_frames(&drawing);
	put_lines(out, &drawing);
	put_words(out, &drawing);
	out->failed |= drawing.name.failed;
	for (i = 0; i < levels; i++)
		sonde_buffer_release(&drawing.lines[i].text);
	free(drawing.lines);
	sonde_buffer_release(&drawing.name);
}
