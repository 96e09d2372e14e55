/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks: a line for each stack that something was spent in itself, of one metric. Frames are those of
 * a flame graph; what other tools would misread in names is changed, and counted.
 */
#include <math.h>
#include <stdlib.h>

#include "base/escape.h"
#include "formats/deep_stacks.h"
#include "formats/folded/folded.h"
#include "formats/folded/folded_line.h"
#include "formats/profile_labels.h"
#include "model/call_tree.h"
#include "model/context_frame.h"
#include "model/metric.h"

#define FLUSH_SIZE ((size_t)1 << 16)
#define DEEP_ROOM (UINT64_C(64) << 20) /* bytes; also the longest line that is read */
#define WHOLE_ENOUGH 1e-3 /* how far what is meant to be whole may be off, after sums of doubles */

struct frame {
	uint32_t parent; /* SONDE_NONE of [0], which is all */
	uint32_t depth;
	uint32_t label;
	double self; /* of what is being written: all tracks, or one */
	bool is_touched, is_written;
};

struct writing {
	struct profile_sink *sink;
	struct profile_labels labels;
	struct sonde_key_map children; /* frames by parent and label */
	SONDE_VEC(struct frame) frames;
	SONDE_VEC(uint32_t) touched; /* frames, in the order in which they were met */
	uint32_t *frame_of;	     /* by context */
	struct deep_node *nodes;     /* by frame: which of them are written */
	uint32_t *path;		     /* room for the frames of a stack */
	bool *is_changed;	     /* by label: its name is not written as it is */
	struct sonde_buffer out;
	struct folded_pieces pieces;
	uint32_t metric;
	bool has_threads; /* the track is the first frame */
	/* lost */
	uint32_t moved; /* deep ones, written as part of others */
	uint64_t vanished, too_large, negative, fractions;
};

static uint32_t add_frame(struct writing *writing, uint32_t parent, uint32_t label)
{
	uint64_t key = (uint64_t)parent << 32 | label;
	uint32_t number = sonde_key_map_find(&writing->children, key);
	struct frame *frame;

	if (number != SONDE_NONE)
		return number;
	number = (uint32_t)writing->frames.count;
	frame = sonde_vec_push(&writing->frames);
	if (!frame || !sonde_key_map_add(&writing->children, key, number))
		return SONDE_NONE;
	*frame = (struct frame){ .parent = parent, .label = label };
	if (parent != SONDE_NONE)
		frame->depth = writing->frames.items[parent].depth + 1;
	return number;
}

/* What is called from several lines of a function is one frame. */
static enum sonde_status make_frames(struct writing *writing, struct sonde_error *err)
{
	const struct profile_sink *sink = writing->sink;
	const struct profile_labels *labels = &writing->labels;

	writing->frame_of = malloc(sink->context_count * sizeof(*writing->frame_of));
	if (!writing->frame_of)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < sink->context_count; i++) {
		uint32_t parent = i ? writing->frame_of[sink->contexts[i].parent] : SONDE_NONE;
		bool has_frame = !i || sonde_context_has_frame(&sink->contexts[i]);

		writing->frame_of[i] = parent;
		if (!has_frame)
			continue;
		writing->frame_of[i] = add_frame(writing, parent, labels->of[i]);
		if (writing->frame_of[i] == SONDE_NONE)
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

/* Each frame as a node: how long its stack is, and whether there is anything to write of it. */
static enum sonde_status make_nodes(struct writing *writing, struct sonde_error *err)
{
	const struct profile_sink *sink = writing->sink;
	uint32_t labels = (uint32_t)writing->labels.contexts.count;
	size_t *sizes = malloc((labels + (size_t)1) * sizeof(*sizes));

	writing->nodes = calloc(writing->frames.count, sizeof(*writing->nodes));
	if (!sizes || !writing->nodes) {
		free(sizes);
		return sonde_fail_nomem(err);
	}
	for (uint32_t i = 0; i < labels; i++) {
		char space[PROFILE_NAME_SPACE];

		sizes[i] = strlen(profile_label_name(&writing->labels, i, space)) + 1;
	}
	for (size_t i = 1; i < writing->frames.count; i++) {
		const struct frame *frame = &writing->frames.items[i];

		writing->nodes[i] = (struct deep_node){
			.parent = frame->parent,
			.depth = frame->depth,
			.size = writing->nodes[frame->parent].size + sizes[frame->label],
		};
	}
	free(sizes);
	for (uint32_t i = 0; i < sink->track_count; i++) {
		size_t count;
		const struct profile_point *points = profile_sink_points(sink, i, &count);

		for (size_t k = 0; k < count; k++) {
			if (points[k].metric == writing->metric)
				writing->nodes[writing->frame_of[points[k].context]].is_spent =
					true;
		}
	}
	return SONDE_OK;
}

/* Gives room for the longest path. */
static enum sonde_status choose_stacks(struct writing *writing, struct sonde_error *err)
{
	uint64_t room = DEEP_ROOM;
	uint32_t deepest = 0;
	enum sonde_status status = make_nodes(writing, err);

	if (status)
		return status;
	if (writing->has_threads && writing->sink->track_count)
		room /= writing->sink->track_count;
	writing->moved = deep_stacks_choose(writing->nodes, (uint32_t)writing->frames.count, room);
	for (size_t i = 0; i < writing->frames.count; i++) {
		if (writing->frames.items[i].depth > deepest)
			deepest = writing->frames.items[i].depth;
	}
	writing->path = malloc(((size_t)deepest + 1) * sizeof(*writing->path));
	return writing->path ? SONDE_OK : sonde_fail_nomem(err);
}

static bool add_value(struct writing *writing, uint32_t number, double value)
{
	struct frame *frame = &writing->frames.items[number];
	uint32_t *touched;

	frame->self += value;
	if (frame->is_touched)
		return true;
	touched = sonde_vec_push(&writing->touched);
	if (!touched)
		return false;
	*touched = number;
	frame->is_touched = true;
	return true;
}

static bool is_silent(const struct writing *writing, uint32_t label)
{
	return sonde_context_is_silent(
		&writing->sink->contexts[writing->labels.contexts.items[label]]);
}

static void put_frame(struct writing *writing, uint32_t number, bool is_first)
{
	char space[PROFILE_NAME_SPACE];
	uint32_t label = writing->frames.items[number].label;
	const char *name = profile_label_name(&writing->labels, label, space);

	if (!is_first)
		sonde_buffer_put_char(&writing->out, ';');
	if (!folded_put_name(&writing->out, name, is_first))
		writing->is_changed[label] = true;
}

static void put_stack(struct writing *writing, uint32_t number, uint32_t track)
{
	uint32_t depth = 0, at = number;
	bool is_first = true;

	for (; at && writing->frames.items[at].depth; at = writing->frames.items[at].parent)
		writing->path[depth++] = at;
	if (!depth)
		writing->path[depth++] = number; /* all, in itself */
	if (writing->has_threads) {
		char space[SONDE_LABEL_SIZE];

		folded_put_name(
			&writing->out,
			sonde_definitions_track_label(writing->sink->definitions, track, space),
			true);
		is_first = false;
	}
	while (depth--) {
		uint32_t frame = writing->path[depth];

		if (depth && is_silent(writing, writing->frames.items[frame].label))
			continue;
		put_frame(writing, frame, is_first);
		is_first = false;
	}
}

static enum sonde_status write_stack(struct writing *writing, uint32_t number, uint32_t track,
				     struct sonde_error *err)
{
	struct frame *frame = &writing->frames.items[number];
	double value = frame->self, scaled = value * writing->pieces.scale;
	uint64_t piece;

	frame->self = 0;
	frame->is_touched = false;
	if (value <= 0) {
		writing->negative += value < 0;
		return SONDE_OK;
	}
	writing->fractions += fabs(scaled - rint(scaled)) > WHOLE_ENOUGH;
	piece = folded_next_piece(&writing->pieces, value);
	writing->too_large += !piece && scaled > 1;
	writing->vanished += !piece && !(scaled > 1);
	if (!piece)
		return SONDE_OK;
	frame->is_written = true;
	put_stack(writing, number, track);
	folded_put_count(&writing->out, piece);
	sonde_buffer_put_char(&writing->out, '\n');
	return profile_sink_flush(writing->sink, &writing->out, FLUSH_SIZE, err);
}

/* Those of one track, or of all of them (SONDE_NONE). */
static enum sonde_status write_stacks(struct writing *writing, uint32_t track,
				      struct sonde_error *err)
{
	const struct profile_sink *sink = writing->sink;
	uint32_t first = track == SONDE_NONE ? 0 : track;
	uint32_t end = track == SONDE_NONE ? sink->track_count : track + 1;
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = first; i < end; i++) {
		size_t count;
		const struct profile_point *points = profile_sink_points(sink, i, &count);

		for (size_t k = 0; k < count; k++) {
			if (points[k].metric == writing->metric &&
			    !add_value(writing,
				       writing->nodes[writing->frame_of[points[k].context]].written,
				       points[k].value))
				return sonde_fail_nomem(err);
		}
	}
	for (size_t i = 0; i < writing->touched.count && !status; i++)
		status = write_stack(writing, writing->touched.items[i], track, err);
	writing->touched.count = 0;
	return status;
}

/* What a reader takes the numbers for by itself. */
static const char *assumed_metric(const struct writing *writing)
{
	const struct profile_sink *sink = writing->sink;

	if (writing->has_threads)
		return FOLDED_SAMPLES;
	for (uint32_t i = 1; i < sink->context_count; i = sink->contexts[i].end) {
		if (sink->contexts[i].kind != SONDE_CONTEXT_ENTRY ||
		    (sink->contexts[i].entry != SONDE_ENTRY_MAIN_THREAD &&
		     sink->contexts[i].entry != SONDE_ENTRY_APPLICATION_THREAD))
			return FOLDED_SAMPLES;
	}
	return sink->context_count > 1 ? SONDE_METRIC_TIME : "";
}

static void put_metric(struct writing *writing)
{
	const struct profile_sink *sink = writing->sink;
	const char *name = writing->metric == SONDE_NONE ? SONDE_METRIC_TIME :
							   sink->metrics[writing->metric].name;
	bool is_time = writing->metric == SONDE_NONE || sink->metrics[writing->metric].ns > 0;

	if (!strcmp(name, assumed_metric(writing)))
		return;
	sonde_buffer_put_text(&writing->out, FOLDED_METRIC);
	sonde_put_escaped(&writing->out, name, strlen(name));
	if (is_time && !(sonde_metric_ns(name, "") > 0))
		sonde_buffer_put_text(&writing->out, " (sec)");
	if (is_time)
		sonde_buffer_put_text(&writing->out, FOLDED_IN_NS);
	sonde_buffer_put_char(&writing->out, '\n');
}

static enum sonde_status write_all(struct writing *writing, struct sonde_error *err)
{
	const struct profile_sink *sink = writing->sink;
	enum sonde_status status = SONDE_OK;

	writing->pieces.scale =
		sink->metrics[writing->metric].ns > 0 ? sink->metrics[writing->metric].ns : 1;
	if (!writing->has_threads)
		return write_stacks(writing, SONDE_NONE, err);
	for (uint32_t i = 0; i < sink->track_count && !status; i++)
		status = write_stacks(writing, i, err);
	return status;
}

static uint64_t count_changed(const struct writing *writing)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < writing->labels.contexts.count; i++)
		count += writing->is_changed[i];
	return count;
}

/* Frames that are in no line, since what was spent there was nothing, or not of the metric. */
static uint64_t count_unseen(const struct writing *writing)
{
	uint64_t count = 0;

	for (size_t i = writing->frames.count; i-- > 1;) {
		const struct frame *frame = &writing->frames.items[i];

		if (frame->is_written)
			writing->frames.items[frame->parent].is_written = true;
		else
			count++;
	}
	return count;
}

static uint64_t count_other_values(const struct writing *writing)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < writing->sink->metric_count; i++)
		count += i == writing->metric ? 0 : writing->sink->metrics[i].count;
	return count;
}

static enum sonde_status count_lost(const struct writing *writing, struct sonde_error *err)
{
	const struct {
		const char *what, *reason;
		uint64_t count;
	} lost[] = {
		{ "values of other metrics",
		  "folded stacks hold one metric; --style metric=NAME chooses it",
		  count_other_values(writing) },
		{ "names as they are",
		  "';' parts frames and is written as ':', and controls are escaped",
		  count_changed(writing) },
		{ "contexts", "lines, loops and instructions are part of their functions",
		  writing->labels.parts },
		{ "contexts",
		  "no line has them: nothing of what is written was spent there or below",
		  count_unseen(writing) },
		{ "stacks",
		  "they are too deep for all of them to be written: what was spent there is in a "
		  "frame above",
		  writing->moved },
		{ "tracks", "stacks are summed up over all of them; --style threads keeps them",
		  writing->has_threads || writing->sink->track_count < 2 ?
			  0 :
			  writing->sink->track_count },
		{ "stacks", "their value is less than 1 as it is written", writing->vanished },
		{ "stacks", "their value is larger than 64 bits can hold", writing->too_large },
		{ "stacks", "their value is below 0", writing->negative },
		{ "fractions of values",
		  "folded stacks hold whole numbers; the sum of all is the same",
		  writing->fractions },
	};
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]) && !status; i++)
		status = sonde_loss_add(writing->sink->loss, lost[i].what, lost[i].reason,
					lost[i].count, err);
	return status;
}

static enum sonde_status do_write(struct writing *writing, struct sonde_error *err)
{
	enum sonde_status status = profile_sink_choose(writing->sink, &writing->metric, err);

	if (!status)
		status = profile_labels_make(&writing->labels, writing->sink, true, err);
	if (!status)
		status = make_frames(writing, err);
	if (status)
		return status;
	writing->is_changed =
		calloc(writing->labels.contexts.count + 1, sizeof(*writing->is_changed));
	if (!writing->is_changed)
		return sonde_fail_nomem(err);
	status = choose_stacks(writing, err);
	if (status)
		return status;
	put_metric(writing);
	if (writing->metric != SONDE_NONE)
		status = write_all(writing, err);
	if (!status)
		status = profile_sink_flush(writing->sink, &writing->out, 0, err);
	return status ? status : count_lost(writing, err);
}

static enum sonde_status write_folded(struct profile_sink *sink, struct sonde_error *err)
{
	struct writing writing = {
		.sink = sink,
		.has_threads = sonde_format_has_style(sink->style, "threads"),
	};
	enum sonde_status status = do_write(&writing, err);

	profile_labels_release(&writing.labels);
	sonde_key_map_release(&writing.children);
	sonde_vec_release(&writing.frames);
	sonde_vec_release(&writing.touched);
	sonde_buffer_release(&writing.out);
	free(writing.frame_of);
	free(writing.nodes);
	free(writing.path);
	free(writing.is_changed);
	return status;
}

enum sonde_status folded_create(const char *path, const struct sonde_create_options *options,
				struct sonde_sink **sink, struct sonde_error *err)
{
	return profile_sink_create(path, options, write_folded, sink, err);
}
