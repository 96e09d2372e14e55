/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign text within SVG and HTML, and within the scripts in them. */
#ifndef SONDE_CLI_MARKUP_H
#define SONDE_CLI_MARKUP_H

#include "base/buffer.h"

/*
 * Text between tags, or in a quoted attribute. Controls, what turns the direction of writing and what is
 * not UTF-8 become U+FFFD. Of a longer text the first `most` characters, then dots.
 */
void cli_put_markup(struct sonde_buffer *out, const char *text, size_t most);

/* The same as a string of a script, with quotes: nothing in it can end the script, or its CDATA section. */
void cli_put_script_text(struct sonde_buffer *out, const char *text, size_t most);

#define CLI_MARKUP_ALL SIZE_MAX

/* Texts of files in src/cli/assets, put into the command when it is built. */
extern const char cli_flame_script[];
extern const char cli_flame_style[];
extern const char cli_report_script[];
extern const char cli_report_style[];

#endif
