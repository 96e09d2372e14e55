/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks a line, as flamegraph.pl and many other tools read them. */
#include <stdlib.h>

#include "cli/flame.h"
#include "formats/folded/folded_line.h"
#include "model/context_frame.h"

/* Every line has all names above it: of a deep tree that is more than anybody wants. */
#define MOST_BYTES ((size_t)1 << 30)

/* The stack that those of its calls begin with ends there; nobody knows who called what is in a silent one. */
static size_t end_of_path(const struct sonde_buffer *path, const struct flame *flame,
			  const struct flame_frame *frame)
{
	uint32_t context = flame->labels.items[frame->label].context;

	return sonde_context_is_silent(&flame->cct->contexts[context]) ? 0 : path->size;
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
	folded_put_name(path, flame_label_name(flame, frame->label, space), !path->size);
	ends[frame->depth] = end_of_path(path, flame, frame);
	return !path->failed;
}

static void put_line(struct sonde_buffer *out, const struct sonde_buffer *path, uint64_t before,
		     uint64_t now, bool both)
{
	sonde_buffer_put(out, path->data, path->size);
	if (both)
		folded_put_count(out, before);
	folded_put_count(out, now);
	sonde_buffer_put_char(out, '\n');
}

bool flame_put_folded(struct sonde_buffer *out, const struct flame *flame)
{
	double ns = flame->cct->metrics[flame->metric].ns;
	struct folded_pieces now = { .scale = ns > 0 ? ns : 1 }, before = now;
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
		was = folded_next_piece(&before, frame->before_self + frame->before_left_out);
		is = folded_next_piece(&now, frame->self + frame->left_out);
		if (was || is)
			put_line(out, &path, was, is, flame->is_difference);
		if (!frame->depth)
			path.size = 0;
	}
	free(ends);
	sonde_buffer_release(&path);
	return out->failed || i == flame->count;
}
