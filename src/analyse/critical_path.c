/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path as a whole: from a recording to segments and functions, and words for both. */
#include "analyse/critical_path.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/critical_walk.h"
#include "model/selection.h"

#define BUDGET_LEAST 1000000

static const struct {
	const char *word, *text;
	enum critical_certainty certainty;
} reasons[] = {
#define X(name, word, sure, text) { word, text, CRITICAL_##sure },
	CRITICAL_REASON_LIST(X)
#undef X
};

const char *critical_reason_word(enum critical_reason reason)
{
	return reasons[reason].word;
}

const char *critical_reason_text(enum critical_reason reason)
{
	return reasons[reason].text;
}

enum critical_certainty critical_reason_certainty(enum critical_reason reason)
{
	return reasons[reason].certainty;
}

const char *critical_certainty_word(enum critical_certainty certainty)
{
	static const char *const words[] = { "exact", "likely", "guess" };

	return words[certainty];
}

static enum sonde_status check(const struct sonde_selection_spec *selection,
			       struct sonde_error *err)
{
	if (selection->function_count || selection->kinds || selection->min_depth ||
	    selection->max_depth)
		return sonde_fail(
			err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
			"the critical path is made of all that a track does: select tracks "
			"or a time, not functions, kinds or depths");
	return sonde_selection_check(selection, err);
}

/* The track that ends last, or the one that lasts longest. */
static uint32_t choose_track(const struct critical_work *work, bool longest)
{
	uint32_t best = SONDE_NONE;
	uint64_t most = 0;

	for (uint32_t i = 0; i < work->track_count; i++) {
		const struct critical_track *track = &work->tracks[i];
		uint64_t value = longest ? track->last_ns - track->first_ns : track->last_ns;

		if (!track->is_wanted || !track->has_first || (best != SONDE_NONE && value <= most))
			continue;
		best = i;
		most = value;
	}
	return best;
}

/* With one track there is nothing to be tied. */
static bool has_one_track(const struct critical_work *work)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < work->track_count; i++)
		count += work->tracks[i].is_wanted && work->tracks[i].has_first;
	return count == 1;
}

static bool walk_init(struct critical_walk *walk, struct critical_work *work)
{
	*walk = (struct critical_walk){
		.work = work,
		.segment_ns = calloc(work->nodes.count, sizeof(uint64_t)),
		.path_ns = calloc(work->nodes.count, sizeof(uint64_t)),
		.waited_ns = calloc(work->nodes.count, sizeof(uint64_t)),
		.budget = work->event_total + BUDGET_LEAST,
	};
	memset(work->path->counts, 0, sizeof(work->path->counts));
	work->path->segments_cut = 0;
	for (uint32_t i = 0; i < work->track_count; i++)
		work->tracks[i].left = work->tracks[i].event_count;
	return walk->segment_ns && walk->path_ns && walk->waited_ns;
}

static void walk_release(struct critical_walk *walk)
{
	free(walk->segment_ns);
	free(walk->path_ns);
	free(walk->waited_ns);
	sonde_vec_release(&walk->touched);
	sonde_vec_release(&walk->segments);
}

/* Whether anything that was found ties tracks. */
static bool has_ties(const struct critical_walk *walk)
{
	const uint64_t *counts = walk->work->path->counts;
	uint64_t found = walk->passed;

	for (int i = CRITICAL_FLOW; i <= CRITICAL_CREATE; i++)
		found += counts[i];
	return found;
}

static int compare_functions(const void *left, const void *right)
{
	const struct critical_function *a = left, *b = right;

	if (a->path_ns != b->path_ns)
		return a->path_ns < b->path_ns ? 1 : -1;
	if (a->waited_ns != b->waited_ns)
		return a->waited_ns < b->waited_ns ? 1 : -1;
	return a->function < b->function ? -1 : a->function > b->function;
}

/* Nodes added up by function; those that neither are on the path nor waited are left out. */
static bool sum_functions(const struct critical_walk *walk)
{
	struct critical_work *work = walk->work;
	struct critical_path *path = work->path;
	struct sonde_key_map places = { .current = NULL };
	struct critical_function *rows = calloc(work->nodes.count, sizeof(*rows));
	size_t count = 0, kept = 0;
	bool is_good = rows;

	for (uint32_t i = 0; is_good && i < work->nodes.count; i++) {
		uint32_t function = work->nodes.items[i].function;
		uint32_t place = sonde_key_map_find(&places, function);

		if (place == UINT32_MAX) {
			place = (uint32_t)count++;
			rows[place].function = function;
			is_good = sonde_key_map_add(&places, function, place);
		}
		rows[place].path_ns += walk->path_ns[i];
		rows[place].self_ns += work->node_self.items[i];
		rows[place].waited_ns += walk->waited_ns[i];
	}
	sonde_key_map_release(&places);
	for (size_t i = 0; is_good && i < count; i++) {
		if (rows[i].path_ns || rows[i].waited_ns)
			rows[kept++] = rows[i];
	}
	if (kept)
		qsort(rows, kept, sizeof(*rows), compare_functions);
	path->functions = rows;
	path->function_count = is_good ? kept : 0;
	return is_good;
}

static enum sonde_status walk(struct critical_work *work, bool is_alone, bool *is_tied,
			      struct sonde_error *err)
{
	struct critical_path *path = work->path;
	struct critical_walk walk = { 0 };
	uint32_t track = choose_track(work, is_alone);
	enum sonde_status status = SONDE_OK;

	*is_tied = true;
	if (track == SONDE_NONE)
		return SONDE_OK;
	if (!walk_init(&walk, work))
		status = sonde_fail_nomem(err);
	walk.is_alone = is_alone;
	if (status == SONDE_OK)
		status = critical_walk_from(&walk, track, err);
	if (status == SONDE_OK)
		*is_tied = has_ties(&walk);
	if (status == SONDE_OK && (*is_tied || is_alone)) {
		if (!sum_functions(&walk))
			status = sonde_fail_nomem(err);
		path->segments = walk.segments.items;
		path->segment_count = walk.segments.count;
		walk.segments.items = NULL;
		for (size_t i = 0; i < path->segment_count / 2; i++) {
			struct critical_segment *a = &path->segments[i];
			struct critical_segment *b = &path->segments[path->segment_count - 1 - i];
			struct critical_segment kept = *a;

			*a = *b;
			*b = kept;
		}
	}
	walk_release(&walk);
	return status;
}

enum sonde_status critical_path_find(struct critical_path *path, struct sonde_recording *recording,
				     const struct sonde_selection_spec *selection,
				     const struct sonde_progress *progress, struct sonde_error *err)
{
	struct critical_work work = {
		.recording = recording,
		.definitions = sonde_recording_definitions(recording),
		.path = path,
		.meter.progress = progress,
	};
	enum sonde_status status = check(selection, err);
	bool is_tied = true;

	*path = (struct critical_path){ 0 };
	work.names.definitions = work.definitions;
	work.from_ns = selection->from_ns;
	work.to_ns = selection->to_ns ? selection->to_ns - 1 : UINT64_MAX;
	if (status == SONDE_OK && sonde_recording_lanes(recording) & SONDE_LANE_EVENTS)
		status = critical_gather(&work, selection, err);
	if (status == SONDE_OK && has_one_track(&work))
		is_tied = false;
	else if (status == SONDE_OK)
		status = walk(&work, false, &is_tied, err);
	if (status == SONDE_OK && !is_tied) {
		path->is_alone = true;
		status = walk(&work, true, &is_tied, err);
	}
	path->nodes = work.nodes.items;
	path->node_count = (uint32_t)work.nodes.count;
	work.nodes.items = NULL;
	critical_work_release(&work);
	if (status < 0)
		critical_path_release(path);
	return status;
}

void critical_path_release(struct critical_path *path)
{
	free(path->segments);
	free(path->functions);
	free(path->nodes);
	*path = (struct critical_path){ 0 };
}

void critical_path_put_calls(const struct critical_path *path,
			     const struct sonde_definitions *definitions, uint32_t node,
			     unsigned int most, struct sonde_buffer *out)
{
	uint32_t calls[64];
	unsigned int count = 0;
	char space[SONDE_LABEL_SIZE];

	if (most > sizeof(calls) / sizeof(calls[0]))
		most = sizeof(calls) / sizeof(calls[0]);
	for (; node && node < path->node_count && count < most; node = path->nodes[node].parent)
		calls[count++] = path->nodes[node].function;
	if (!count)
		sonde_buffer_put_text(out, "outside of functions");
	else if (node)
		sonde_buffer_put_text(out, "... > ");
	while (count-- > 0) {
		sonde_buffer_put_text(
			out, sonde_definitions_function_label(definitions, calls[count], space));
		if (count)
			sonde_buffer_put_text(out, " > ");
	}
}
