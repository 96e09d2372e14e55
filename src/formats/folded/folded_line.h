/* SPDX-License-Identifier: Apache-2.0 */
/* How lines of folded stacks look, for whoever writes them: the format, and `sonde flame --folded`. */
#ifndef SONDE_FORMATS_FOLDED_LINE_H
#define SONDE_FORMATS_FOLDED_LINE_H

#include "base/buffer.h"

/* A line of `sonde flame --folded` has as many names: what is deeper belongs to the last frame that is not. */
#define FOLDED_MOST_DEPTH 5000

/*
 * A comment that says what is counted, where readers would take it for something else: for times in stacks below
 * entries ("main thread"), or for samples elsewhere.
 */
#define FOLDED_METRIC "# metric: "
#define FOLDED_IN_NS " in ns"
#define FOLDED_SAMPLES "samples"

/*
 * Appends the name of one frame; `is_first` of its line. Names part at ';', so one in a name becomes ':'; what would
 * break the line, or cannot be shown, is escaped as "\n" or "\x1b", and so is a '#' in front, which would
 * make the line a comment. Gives whether the name is as it was.
 */
bool folded_put_name(struct sonde_buffer *out, const char *name, bool is_first);

/* A sum that is given out in whole pieces: what rounding took from one is in the next. */
struct folded_pieces {
	double scale; /* what one is multiplied by */
	double carry; /* what was not given out yet, or too much: half a one at most */
};

/* The piece for a value that is not negative; 0 as well where it has no room in 63 bits. */
uint64_t folded_next_piece(struct folded_pieces *pieces, double value);

/* The rest of a line behind its stack. */
void folded_put_count(struct sonde_buffer *out, uint64_t count);

#endif
