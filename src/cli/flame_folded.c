/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks a line, as flamegraph.pl and many other tools read them. */
#include <math.h>
#include <string.h>

#include "cli/flame.h"
#include "cli/text.h"

/* Every line has all names above it: of a deep tree that is more than anybody wants. */
#define MOST_BYTES ((size_t)1 << 30)

/* A sum that is given out in whole pieces: what rounding took from one is in the next. */
struct pieces {
	double scale, sum;
	uint64_t given;
};

static uint64_t next_piece(struct pieces *pieces, double value)
{
	uint64_t until, piece;

	pieces->sum += value * pieces->scale;
	until = pieces->sum < (double)UINT64_MAX / 2 ? (uint64_t)(pieces->sum + .5) : pieces->given;
	piece = until - pieces->given;
	pieces->given = until;
	return piece;
}

/* Names part at ';', so none may have one; a line feed would end the line. */
static void put_name(struct sonde_buffer *out, const char *name)
{
	size_t at = out->size;

	cli_put_escaped(out, name);
	for (; at < out->size; at++)
		if (out->data[at] == ';')
			out->data[at] = ':';
}

/* The stack of each frame begins with that of its parent, which is in `path` already. */
static bool put_path(struct sonde_buffer *path, const struct flame *flame, uint32_t number,
		     size_t *ends)
{
	const struct flame_frame *frame = &flame->frames[number];
	char space[FLAME_NAME_SPACE];

	path->size = frame->depth > 1 ? ends[frame->depth - 1] : 0;
	if (path->size)
		sonde_buffer_put_char(path, ';');
	put_name(path, flame_label_name(flame, frame->label, space));
	ends[frame->depth] = path->size;
	return !path->failed;
}

static void put_line(struct sonde_buffer *out, const struct sonde_buffer *path, uint64_t before,
		     uint64_t now, bool both)
{
	sonde_buffer_put(out, path->data, path->size);
	if (both) {
		sonde_buffer_put_char(out, ' ');
		sonde_buffer_put_u64(out, before);
	}
	sonde_buffer_put_char(out, ' ');
	sonde_buffer_put_u64(out, now);
	sonde_buffer_put_char(out, '\n');
}

bool flame_put_folded(struct sonde_buffer *out, const struct flame *flame)
{
	double ns = flame->cct->metrics[flame->metric].ns;
	struct pieces now = { .scale = ns > 0 ? ns : 1 }, before = now;
	size_t *ends = calloc((size_t)flame->most_depth + 2, sizeof(*ends));
	struct sonde_buffer path = { 0 };
	uint32_t i;

	out->failed |= !ends;
	for (i = 0; i < flame->count && ends && !out->failed && out->size < MOST_BYTES; i++) {
		const struct flame_frame *frame = &flame->frames[i];
		uint64_t was, is;

		if (!put_path(&path, flame, i, ends)) {
			out->failed = true;
			break;
		}
		was = next_piece(&before, frame->before_self + frame->before_left_out);
		is = next_piece(&now, frame->self + frame->left_out);
		if (was || is)
			put_line(out, &path, was, is, flame->is_difference);
		if (!frame->depth)
			path.size = 0;
	}
	free(ends);
	sonde_buffer_release(&path);
	return out->failed || i == flame->count;
}
