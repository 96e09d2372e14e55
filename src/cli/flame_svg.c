/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flame graph as one SVG. What a viewer without scripts shows is drawn here, the widest frames of it;
 * the script (assets/flame.js) draws from the numbers of all frames, which are at the end of the file.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "cli/analysis.h"
#include "cli/flame.h"
#include "cli/markup.h"
#include "cli/text.h"

#define STATIC_WIDTH 1200 /* pixels, where the width is that of the window */
#define STATIC_FRAMES 3000
#define STATIC_NARROWEST .5 /* pixels */
#define STATIC_TOP 60	/* pixels above the first level; the script has its controls there too */
#define TITLE_HEIGHT 30 /* of these for the title, which a page does without */
#define MARGIN 10
#define ROW 18
#define LETTER 7.25 /* pixels, of the font in assets/flame.css */
#define FOOT_ROW 17
#define MOST_VANISHED 12
#define MOST_NAME 2000 /* characters */
#define MOST_TOOLTIP 300

struct svg {
	struct sonde_buffer *out;
	const struct flame_picture *picture;
	const struct flame *flame;
	const struct cct_metric *metric;
	struct flame_colours colours;
	struct sonde_buffer scratch;
	unsigned int width, height, top, foot_rows;
};

/* Tones of one hue differ in lightness; letters on each have a contrast of 4.5 at least. */
static void put_palette(struct sonde_buffer *out, bool dark)
{
	unsigned int i;

	for (i = 0; i < FLAME_COLOURS; i++) {
		unsigned int hue = i / FLAME_TONES * (360 / FLAME_HUES) + 15;
		unsigned int tone = i % FLAME_TONES;

		if (dark)
			sonde_buffer_put_format(out,
						".sonde-flame .c%u rect{fill:hsl(%u,30%%,%u%%)}\n",
						i, hue, 24 + 2 * tone);
		else
			sonde_buffer_put_format(out,
						".sonde-flame .c%u rect{fill:hsl(%u,58%%,%u%%)}\n",
						i, hue, 77 + 3 * tone);
	}
}

static void put_change_palette(struct sonde_buffer *out, bool dark)
{
	static const unsigned int light_tones[] = { 91, 84, 76, 68 };
	static const unsigned int dark_tones[] = { 21, 26, 32, 38 };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		unsigned int tone = dark ? dark_tones[i] : light_tones[i];
		unsigned int strength = dark ? 30 + 10 * i : 80;

		sonde_buffer_put_format(out,
					".sonde-flame .slower%u rect{fill:hsl(6,%u%%,%u%%)}\n"
					".sonde-flame .faster%u rect{fill:hsl(214,%u%%,%u%%)}\n",
					i + 1, strength, tone, i + 1, strength, tone);
	}
}

static void put_style(struct svg *svg)
{
	struct sonde_buffer *out = svg->out;
	void (*palette)(struct sonde_buffer *, bool) =
		svg->flame->is_difference ? put_change_palette : put_palette;

	sonde_buffer_put_text(out, "<style><![CDATA[\n");
	sonde_buffer_put_text(out, cli_flame_style);
	palette(out, false);
	sonde_buffer_put_text(out, "@media (prefers-color-scheme: dark) {\n");
	palette(out, true);
	sonde_buffer_put_text(out, "}\n]]></style>\n");
}

static void put_value(struct svg *svg, double value)
{
	cli_put_metric_value(svg->out, svg->metric, value);
}

static void put_share(struct svg *svg, double value)
{
	sonde_buffer_put_format(svg->out, " (%.2f %%)", 100 * flame_share(svg->flame, value));
}

/* What the pointer shows without a script. */
static void put_tooltip(struct svg *svg, const struct flame_frame *frame)
{
	struct sonde_buffer *out = svg->out;
	const char *module = flame_module_name(svg->flame, frame->label), *file;
	char space[FLAME_NAME_SPACE];
	uint32_t line;

	sonde_buffer_put_text(out, "<title>");
	cli_put_markup(out, flame_label_name(svg->flame, frame->label, space), MOST_TOOLTIP);
	if (*module) {
		sonde_buffer_put_text(out, "\n");
		cli_put_markup(out, module, MOST_TOOLTIP);
	}
	file = flame_file_name(svg->flame, frame->label, &line);
	if (*file) {
		sonde_buffer_put_text(out, "\n");
		cli_put_markup(out, file, MOST_TOOLTIP);
		if (line)
			sonde_buffer_put_format(out, ":%u", line);
	}
	sonde_buffer_put_text(out, "\ntotal ");
	put_value(svg, frame->total);
	put_share(svg, frame->total);
	if (svg->flame->is_difference) {
		sonde_buffer_put_text(out, "\nbefore ");
		put_value(svg, frame->before_total);
	}
	sonde_buffer_put_text(out, "\nself ");
	put_value(svg, frame->self);
	put_share(svg, frame->self);
	if (frame->calls)
		sonde_buffer_put_format(out, "\ncalls %llu", (unsigned long long)frame->calls);
	sonde_buffer_put_text(out, "</title>");
}

/* As many letters as fit; those of many scripts take the place of two. */
static size_t letters_that_fit(const char *name, double room)
{
	size_t size = strlen(name), at = 0, letters = 0;
	double used = 0;
	uint32_t character;

	while (at < size) {
		at += cli_next_character(name + at, size - at, &character);
		used += character >= 0x1100 ? 2 * LETTER : LETTER;
		if (used > room)
			return letters ? letters - 1 : 0; /* dots need a place too */
		letters++;
	}
	return letters;
}

static void put_class(struct svg *svg, const struct flame_frame *frame)
{
	unsigned int colour;
	int change;

	if (svg->flame->is_difference) {
		change = flame_change(svg->flame, frame);
		if (change)
			sonde_buffer_put_format(svg->out, "%s%d", change > 0 ? "slower" : "faster",
						abs(change));
		else
			sonde_buffer_put_text(svg->out, "plain");
		if (!(frame->before_total > 0))
			sonde_buffer_put_text(svg->out, " new");
		return;
	}
	colour = flame_colour(svg->flame, &svg->colours, frame->label);
	if (colour < FLAME_COLOURS)
		sonde_buffer_put_format(svg->out, "c%u", colour);
	else
		sonde_buffer_put_text(svg->out, "plain");
}

static void put_frame(struct svg *svg, const struct flame_frame *frame)
{
	struct sonde_buffer *out = svg->out;
	double whole = flame_total(svg->flame), room = svg->width - 2 * MARGIN;
	double x = MARGIN + (whole > 0 ? frame->start / whole * room : 0);
	double width = whole > 0 ? frame->total / whole * room : room;
	uint32_t level = svg->picture->icicle ? frame->depth :
						svg->flame->most_depth - frame->depth;
	unsigned int y = svg->top + level * ROW;
	char space[FLAME_NAME_SPACE];
	const char *name = flame_label_name(svg->flame, frame->label, space);
	size_t letters = letters_that_fit(name, width - 7);

	sonde_buffer_put_text(out, "<g class=\"frame ");
	put_class(svg, frame);
	sonde_buffer_put_text(out, "\">");
	put_tooltip(svg, frame);
	sonde_buffer_put_format(out,
				"<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" rx=\"2\"/>",
				x, y, fmax(width - (width > 3 ? 1 : 0), .3), ROW - 1);
	if (letters >= 3) {
		sonde_buffer_put_format(out, "<text x=\"%.2f\" y=\"%u\">", x + 3, y + 13);
		cli_put_markup(out, name, letters);
		sonde_buffer_put_text(out, "</text>");
	}
	sonde_buffer_put_text(out, "</g>\n");
}

/* How much the narrowest frame must have that is drawn without a script. */
static double static_narrowest(const struct svg *svg)
{
	const struct flame *flame = svg->flame;
	double narrowest = flame_total(flame) * STATIC_NARROWEST / svg->width, found;
	struct sonde_sort_item *items;
	uint64_t bits;
	uint32_t i;

	if (flame->count <= STATIC_FRAMES)
		return narrowest;
	items = malloc(flame->count * sizeof(*items));
	for (i = 0; items && i < flame->count; i++) {
		memcpy(&bits, &flame->frames[i].total, sizeof(bits));
		items[i] = (struct sonde_sort_item){ .key = ~bits };
	}
	if (!items || !sonde_sort(items, flame->count)) {
		free(items);
		svg->out->failed = true;
		return narrowest;
	}
	bits = ~items[STATIC_FRAMES].key;
	memcpy(&found, &bits, sizeof(found));
	free(items);
	return found > narrowest ? found : narrowest;
}

static void put_static_frames(struct svg *svg)
{
	const struct flame *flame = svg->flame;
	double narrowest = static_narrowest(svg);
	uint32_t i = 0, put = 0;

	sonde_buffer_put_text(svg->out, "<g class=\"frames\">\n");
	while (i < flame->count && put < 2 * STATIC_FRAMES) {
		if (flame->frames[i].total < narrowest) {
			i = flame->frames[i].end;
			continue;
		}
		put_frame(svg, &flame->frames[i++]);
		put++;
	}
	sonde_buffer_put_text(svg->out, "</g>\n");
}

static void put_label_data(struct svg *svg, uint32_t label)
{
	struct sonde_buffer *out = svg->out;
	char space[FLAME_NAME_SPACE];
	const char *file;
	uint32_t line;
	unsigned int colour;

	sonde_buffer_put_char(out, '[');
	cli_put_script_text(out, flame_label_name(svg->flame, label, space), MOST_NAME);
	sonde_buffer_put_char(out, ',');
	cli_put_script_text(out, flame_module_name(svg->flame, label), MOST_NAME);
	sonde_buffer_put_char(out, ',');
	file = flame_file_name(svg->flame, label, &line);
	cli_put_script_text(out, file, MOST_NAME);
	sonde_buffer_put_format(out, ",%u,", line);
	colour = flame_colour(svg->flame, &svg->colours, label);
	if (colour < FLAME_COLOURS)
		sonde_buffer_put_format(out, "\"c%u\"]", colour);
	else
		sonde_buffer_put_text(out, "\"plain\"]");
}

/* Times are whole nanoseconds. */
static void put_number(struct svg *svg, double value)
{
	if (svg->metric->ns > 0)
		value = round(value * svg->metric->ns);
	if (value < 1e15 && value == floor(value))
		sonde_buffer_put_u64(svg->out, (uint64_t)value);
	else
		sonde_buffer_put_format(svg->out, "%.9g", value);
}

/* Depth, label and whether it is inlined, total, self, and calls or what it was before. */
static void put_frame_data(struct svg *svg, const struct flame_frame *frame)
{
	struct sonde_buffer *out = svg->out;

	sonde_buffer_put_u64(out, frame->depth);
	sonde_buffer_put_char(out, ',');
	sonde_buffer_put_u64(out, (uint64_t)frame->label * 2 + frame->inlined);
	sonde_buffer_put_char(out, ',');
	put_number(svg, frame->total);
	sonde_buffer_put_char(out, ',');
	put_number(svg, frame->self);
	if (svg->flame->is_difference) {
		sonde_buffer_put_char(out, ',');
		put_number(svg, frame->before_total);
	} else if (svg->flame->cct->calls) {
		sonde_buffer_put_char(out, ',');
		sonde_buffer_put_u64(out, frame->calls);
	}
}

static const char *boolean(bool value)
{
	return value ? "true" : "false";
}

/* Labels that no frame has any more are empty. */
static void put_labels(struct svg *svg)
{
	const struct flame *flame = svg->flame;
	bool *used = calloc(flame->labels.count, 1);
	uint32_t i;

	svg->out->failed |= !used;
	for (i = 0; used && i < flame->count; i++)
		used[flame->frames[i].label] = true;
	for (i = 0; used && i < flame->labels.count; i++) {
		if (i)
			sonde_buffer_put_text(svg->out, ",\n");
		if (used[i])
			put_label_data(svg, i);
		else
			sonde_buffer_put_text(svg->out, "[\"\"]");
	}
	free(used);
}

static void put_script(struct svg *svg)
{
	const struct flame *flame = svg->flame;
	struct sonde_buffer *out = svg->out;
	uint32_t i;

	sonde_buffer_put_text(out, "<script><![CDATA[\n(function () {\n'use strict';\n");
	sonde_buffer_put_format(
		out,
		"const data = { icicle: %s, page: %s, width: %u, time: %s, difference: %s, "
		"calls: %s, most: ",
		boolean(svg->picture->icicle), boolean(svg->picture->within_page),
		svg->picture->width, boolean(svg->metric->ns > 0), boolean(flame->is_difference),
		boolean(flame->cct->calls && !flame->is_difference));
	put_number(svg, fmax(flame_total(flame), flame->frames[0].before_total));
	sonde_buffer_put_text(out, ",\nlabels: [");
	put_labels(svg);
	sonde_buffer_put_text(out, "],\nframes: [");
	for (i = 0; i < flame->count; i++) {
		if (i)
			sonde_buffer_put_text(out, i % 16 ? "," : ",\n");
		put_frame_data(svg, &flame->frames[i]);
	}
	sonde_buffer_put_text(out, "] };\n");
	sonde_buffer_put_text(out, cli_flame_script);
	sonde_buffer_put_text(out, "}());\n]]></script>\n");
}

static void put_line(struct svg *svg, const char *class_name, unsigned int y, const char *text)
{
	sonde_buffer_put_format(svg->out, "<text class=\"%s\" x=\"%d\" y=\"%u\">", class_name,
				MARGIN, y);
	cli_put_markup(svg->out, text, MOST_TOOLTIP);
	sonde_buffer_put_text(svg->out, "</text>\n");
}

static void put_head(struct svg *svg)
{
	struct sonde_buffer *about = &svg->scratch;

	sonde_buffer_put_format(svg->out,
				"<g class=\"head\" transform=\"translate(0,%d)\"><rect "
				"class=\"background\" width=\"%u\" height=\"%d\"/>\n",
				svg->picture->within_page ? -TITLE_HEIGHT : 0, svg->width,
				STATIC_TOP - 4);
	if (!svg->picture->within_page)
		put_line(svg, "title", 24, svg->picture->title);
	sonde_buffer_clear(about);
	flame_put_about(about, svg->flame);
	if (svg->flame->narrow_count || svg->flame->deep_count)
		sonde_buffer_put_text(about, "; ");
	flame_put_left_out(about, svg->flame);
	if (!sonde_buffer_text(about))
		svg->out->failed = true;
	else
		put_line(svg, "about", 45, about->data);
	sonde_buffer_put_text(svg->out, "</g>\n");
}

/* Of a difference: what the colours are, and what is gone. */
static void put_foot(struct svg *svg)
{
	static const char *const classes[] = { "faster4", "faster3", "faster2", "faster1", "plain",
					       "slower1", "slower2", "slower3", "slower4" };
	const struct flame *flame = svg->flame;
	unsigned int y = svg->top + (flame->most_depth + 1) * ROW + 14;
	char space[FLAME_NAME_SPACE];
	size_t i;

	sonde_buffer_put_format(
		svg->out, "<g class=\"foot\" transform=\"translate(0,%u)\" data-height=\"%u\">\n",
		y, svg->foot_rows * FOOT_ROW);
	if (flame->is_difference) {
		put_line(svg, "about", 13, "faster");
		for (i = 0; i < sizeof(classes) / sizeof(*classes); i++)
			sonde_buffer_put_format(svg->out,
						"<g class=\"%s\"><rect x=\"%zu\" y=\"2\" "
						"width=\"22\" height=\"13\"/></g>\n",
						classes[i], 58 + i * 23);
		sonde_buffer_put_text(svg->out,
				      "<text class=\"about\" x=\"272\" y=\"13\">slower, by "
				      "more than 0.1, 1, 5 and 20 % of the whole; dashed: "
				      "new</text>\n");
	}
	for (i = 0; i < flame->vanished.count && i < MOST_VANISHED; i++) {
		const struct flame_vanished *vanished = &flame->vanished.items[i];
		struct sonde_buffer *text = &svg->scratch;

		sonde_buffer_clear(text);
		sonde_buffer_put_text(text, "vanished: ");
		cli_put_metric_value(text, svg->metric, vanished->total);
		sonde_buffer_put_text(text, "  ");
		sonde_buffer_put_text(text, flame_context_name(flame->cct, vanished->context, space,
							       sizeof(space)));
		if (sonde_buffer_text(text))
			put_line(svg, "about", 13 + (unsigned int)(i + 1) * FOOT_ROW, text->data);
	}
	if (i < flame->vanished.count)
		sonde_buffer_put_format(svg->out,
					"<text class=\"about\" x=\"%d\" y=\"%u\">and %zu more that "
					"vanished</text>\n",
					MARGIN, 13 + (unsigned int)(i + 1) * FOOT_ROW,
					flame->vanished.count - i);
	sonde_buffer_put_text(svg->out, "</g>\n");
}

static unsigned int count_foot_rows(const struct flame *flame)
{
	if (!flame->is_difference)
		return 0;
	return 1 + (unsigned int)(flame->vanished.count > MOST_VANISHED ? MOST_VANISHED + 1 :
									  flame->vanished.count);
}

void flame_put_svg(struct sonde_buffer *out, const struct flame_picture *picture)
{
	const struct flame *flame = picture->flame;
	struct svg svg = {
		.out = out,
		.picture = picture,
		.flame = flame,
		.metric = &flame->cct->metrics[flame->metric],
		.colours = flame_choose_colours(flame),
		.width = picture->width ? picture->width : STATIC_WIDTH,
		.top = picture->within_page ? STATIC_TOP - TITLE_HEIGHT : STATIC_TOP,
		.foot_rows = count_foot_rows(flame),
	};

	svg.height = svg.top + (flame->most_depth + 1) * ROW + 14 + svg.foot_rows * FOOT_ROW;
	if (!picture->within_page)
		sonde_buffer_put_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	sonde_buffer_put_format(out,
				"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sonde-flame\" "
				"width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n",
				svg.width, svg.height, svg.width, svg.height);
	if (!picture->within_page) {
		sonde_buffer_put_text(out, "<title>");
		cli_put_markup(out, picture->title, MOST_TOOLTIP);
		sonde_buffer_put_text(out, "</title>\n");
	}
	put_style(&svg);
	sonde_buffer_put_format(out, "<rect class=\"background\" width=\"%u\" height=\"%u\"/>\n",
				svg.width, svg.height);
	put_head(&svg);
	put_static_frames(&svg);
	put_foot(&svg);
	put_script(&svg);
	sonde_buffer_put_text(out, "</svg>\n");
	out->failed |= svg.scratch.failed;
	sonde_buffer_release(&svg.scratch);
}
