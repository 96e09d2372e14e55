/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs of `sonde flame`: an SVG, a picture of letters for a terminal, and stacks for other tools. */
#ifndef SONDE_CLI_FLAME_H
#define SONDE_CLI_FLAME_H

#include "analyse/flame.h"
#include "cli/cli.h"

struct flame_picture {
	const struct flame *flame;
	const char *title;
	unsigned int width; /* in pixels; 0: of the window that it is shown in */
	bool icicle;	    /* the root is on top */
	bool within_page;   /* a part of an HTML page, without a title of its own */
};

/* An SVG that needs nothing else. */
void flame_put_svg(struct sonde_buffer *out, const struct flame_picture *picture);

/* For a terminal of so many columns. */
struct flame_screen {
	const struct flame *flame;
	const char *title;
	unsigned int width;
	bool icicle;
	bool colours;
};
void flame_put_text(struct sonde_buffer *out, const struct flame_screen *screen);

/*
 * "main;work;sort 12345" a line, of a difference with both numbers. They are whole: times in nanoseconds,
 * others rounded such that their sum is the rounded whole. False where it would be more than a gigabyte.
 */
bool flame_put_folded(struct sonde_buffer *out, const struct flame *flame);

/* "REALTIME" */
void flame_put_metric_name(struct sonde_buffer *out, const struct cct_metric *metric);

/* "REALTIME: 1.234 s in 56 frames" and what is left out, as the outputs and the command say it. */
void flame_put_about(struct sonde_buffer *out, const struct flame *flame);
void flame_put_left_out(struct sonde_buffer *out, const struct flame *flame);

/* Which of the classes of colours (0 to FLAME_COLOURS - 1) a label has; FLAME_COLOURS: that of no function. */
#define FLAME_HUES 12
#define FLAME_TONES 4
#define FLAME_COLOURS (FLAME_HUES * FLAME_TONES)
struct flame_colours {
	enum { FLAME_BY_MODULE, FLAME_BY_FILE, FLAME_BY_NAME } by;
};
struct flame_colours flame_choose_colours(const struct flame *flame);
unsigned int flame_colour(const struct flame *flame, const struct flame_colours *colours,
			  uint32_t label);

/* By how much a frame changed, -4 to 4: from 0.1, 1, 5 and 20 percent of the whole on. */
int flame_change(const struct flame *flame, const struct flame_frame *frame);

/* The last part of a path. */
const char *flame_base_name(const char *path);

/* The module and the source file of a label; "" where unknown. */
const char *flame_module_name(const struct flame *flame, uint32_t label);
const char *flame_file_name(const struct flame *flame, uint32_t label, uint32_t *line);

#define FLAME_NAME_SPACE 256
const char *flame_label_name(const struct flame *flame, uint32_t label,
			     char space[FLAME_NAME_SPACE]);

#endif
