/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of one track is added to that of all: its paths to the union, and to each node what it has, how it is
 * spread over tracks and processes, and how durations are distributed. Sums are of whole numbers, so that it does
 * not matter which track comes first.
 */
#include "analyse/cct_calls.h"

#include <stdlib.h>
#include <string.h>

#include "model/derive.h"
#include "model/recording.h"

/* Grows a vector to `count` items of zeros. */
#define FILL(vec, wanted)                                                                          \
	((vec)->count >= (wanted) || (sonde_vec_reserve(vec, (wanted) - (vec)->count) &&           \
				      (memset((vec)->items + (vec)->count, 0,                      \
					      ((wanted) - (vec)->count) * sizeof(*(vec)->items)),  \
				       (vec)->count = (wanted), true)))

static bool totals_add(struct cct_totals *totals, uint32_t number, uint64_t value)
{
	uint32_t *touched;

	if (!value)
		return true;
	if (!FILL(&totals->values, (size_t)number + 1))
		return false;
	if (!totals->values.items[number]) {
		touched = sonde_vec_push(&totals->touched);
		if (!touched)
			return false;
		*touched = number;
	}
	totals->values.items[number] += value;
	return true;
}

void cct_place_release(struct cct_place *place)
{
	sonde_vec_release(&place->nodes.values);
	sonde_vec_release(&place->nodes.touched);
	sonde_vec_release(&place->functions.values);
	sonde_vec_release(&place->functions.touched);
}

static void spread_add(struct cct_whole_spread *spread, uint32_t place, uint64_t value)
{
	if (!spread->count || value < spread->min)
		spread->min = value;
	if (!spread->count || value > spread->max ||
	    (value == spread->max && place < spread->max_place)) {
		spread->max = value;
		spread->max_place = place;
	}
	spread->count++;
	spread->sum += value;
	spread->squares += (cct_wide)value * value;
}

/* Adds what a place has to the spreads, and empties it. `more` (or NULL) gets the totals too. */
#define SPREAD(totals, spreads, number, more)                                                      \
	spread_totals(totals, FILL(spreads, (totals)->values.count) ? (spreads)->items : NULL,     \
		      number, more)

static bool spread_totals(struct cct_totals *totals, struct cct_whole_spread *spreads,
			  uint32_t number, struct cct_totals *more)
{
	bool happened = true;

	if (!totals->touched.count)
		return true;
	if (!spreads)
		return false;
	for (size_t i = 0; happened && i < totals->touched.count; i++) {
		uint32_t item = totals->touched.items[i];
		uint64_t value = totals->values.items[item];

		spread_add(&spreads[item], number, value);
		totals->values.items[item] = 0;
		happened = !more || totals_add(more, item, value);
	}
	totals->touched.count = 0;
	return happened;
}

static struct sonde_context entry_of(const struct sonde_definitions *definitions, uint32_t track)
{
	return (struct sonde_context){
		.function = SONDE_NONE,
		.module = SONDE_NONE,
		.kind = SONDE_CONTEXT_ENTRY,
		.relation = SONDE_CONTEXT_CALLED,
		.entry = sonde_track_is_main(definitions, track) ? SONDE_ENTRY_MAIN_THREAD :
								   SONDE_ENTRY_APPLICATION_THREAD,
	};
}

/* One track that is being added: its nodes, and where they are in the union. */
struct adding {
	const struct sonde_call_node *nodes;
	uint32_t count;
	uint32_t *places;
	uint64_t *totals; /* of the metric whose spread is wanted, by node */
	/* the tree from above: the first child and the next of the same parent, 0: none */
	uint32_t *first, *next;
};

static void adding_release(struct adding *adding)
{
	free(adding->places);
	free(adding->totals);
	free(adding->first);
	free(adding->next);
}

/* False where memory failed; to be released in any case. */
static bool adding_init(struct adding *adding, const struct sonde_call_tree *tree, uint32_t metric)
{
	*adding = (struct adding){ 0 };
	adding->nodes = sonde_call_tree_nodes(tree, &adding->count);
	adding->places = calloc(adding->count, sizeof(*adding->places));
	adding->totals = calloc(adding->count, sizeof(*adding->totals));
	adding->first = calloc(adding->count, sizeof(*adding->first));
	adding->next = calloc(adding->count, sizeof(*adding->next));
	if (!adding->places || !adding->totals || !adding->first || !adding->next)
		return false;
	for (uint32_t i = adding->count; i-- > 1;) {
		uint32_t parent = adding->nodes[i].parent;

		adding->next[i] = adding->first[parent];
		adding->first[parent] = i;
		if (metric == CCT_METRIC_CALLS) {
			adding->totals[i] += adding->nodes[i].calls;
			adding->totals[parent] += adding->totals[i];
			continue;
		}
		adding->totals[i] = adding->nodes[i].sum_ns;
		if (!parent)
			adding->totals[0] += adding->totals[i];
	}
	return true;
}

static enum sonde_status add_paths(struct cct_work *work, uint32_t track, struct adding *adding,
				   struct sonde_error *err)
{
	struct sonde_context entry = entry_of(work->recording->definitions, track);
	enum sonde_status status = sonde_context_union_add(work->tree, SONDE_UNION_ROOT, &entry,
							   &adding->places[0], err);

	for (uint32_t i = 1; !status && i < adding->count; i++) {
		const struct sonde_context context = {
			.function = adding->nodes[i].function,
			.module = SONDE_NONE,
			.kind = SONDE_CONTEXT_FUNCTION,
			.relation = SONDE_CONTEXT_CALLED,
		};

		status = sonde_context_union_add(work->tree,
						 adding->places[adding->nodes[i].parent], &context,
						 &adding->places[i], err);
	}
	return status;
}

static bool add_sums(struct cct_work *work, const struct sonde_call_tree *tree,
		     const struct adding *adding)
{
	for (uint32_t i = 1; i < adding->count; i++) {
		const struct sonde_call_node *node = &adding->nodes[i];
		struct sonde_call_ends ends = sonde_call_tree_ends(tree, i);
		struct cct_sums *sums;

		if (!FILL(&work->sums, (size_t)adding->places[i] + 1))
			return false;
		sums = &work->sums.items[adding->places[i]];
		if (!sums->calls || node->min_ns < sums->min_ns)
			sums->min_ns = node->min_ns;
		if (node->max_ns > sums->max_ns)
			sums->max_ns = node->max_ns;
		sums->calls += node->calls;
		sums->exceptions += ends.exceptions;
		sums->unfinished += ends.unfinished;
		sums->sum_ns += node->sum_ns;
		sums->squares += (cct_wide)node->squares;
	}
	return true;
}

/* Down into a node: its function is open once more. */
static bool enter(struct cct_work *work, const struct adding *adding, uint32_t node)
{
	uint32_t class = sonde_context_union_class(work->tree, adding->nodes[node].function);

	if (class == SONDE_NONE)
		return true;
	if (!FILL(&work->open, (size_t) class + 1))
		return false;
	if (work->open.items[class]++)
		return true;
	return totals_add(&work->place.functions, class, adding->totals[node]);
}

static void leave(struct cct_work *work, const struct adding *adding, uint32_t node)
{
	uint32_t class = sonde_context_union_class(work->tree, adding->nodes[node].function);

	if (class != SONDE_NONE)
		work->open.items[class]--;
}

/* Totals of functions, recursion once: the calls that are not below one of the same function. */
static bool add_function_totals(struct cct_work *work, const struct adding *adding)
{
	uint32_t node = 0;

	for (;;) {
		if (adding->first[node]) {
			node = adding->first[node];
		} else {
			while (node && !adding->next[node]) {
				leave(work, adding, node);
				node = adding->nodes[node].parent;
			}
			if (!node)
				return true;
			leave(work, adding, node);
			node = adding->next[node];
		}
		if (!enter(work, adding, node))
			return false;
	}
}

static bool add_spread(struct cct_work *work, const struct cct_piece *piece,
		       const struct adding *adding)
{
	struct cct_process *process = &work->processes[piece->process];
	bool happened = totals_add(&work->place.nodes, SONDE_UNION_ROOT, adding->totals[0]);

	for (uint32_t i = 0; happened && i < adding->count; i++)
		happened = totals_add(&work->place.nodes, adding->places[i], adding->totals[i]);
	happened = happened && add_function_totals(work, adding) &&
		   SPREAD(&work->place.nodes, &work->node_tracks, piece->track,
			  &process->place.nodes) &&
		   SPREAD(&work->place.functions, &work->function_tracks, piece->track,
			  &process->place.functions);
	if (!happened || --process->tracks_left)
		return happened;
	happened =
		SPREAD(&process->place.nodes, &work->node_processes, piece->process, NULL) &&
		SPREAD(&process->place.functions, &work->function_processes, piece->process, NULL);
	cct_place_release(&process->place);
	return happened;
}

static bool add_durations(struct cct_work *work, const struct sonde_call_tree *tree)
{
	uint32_t count;
	const struct sonde_sketch *durations = sonde_call_tree_durations(tree, &count);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t class = durations[i].count ? sonde_context_union_class(work->tree, i) :
						      SONDE_NONE;

		if (class == SONDE_NONE)
			continue;
		if (!FILL(&work->durations, (size_t) class + 1) ||
		    !sonde_sketch_merge(&work->durations.items[class], &durations[i]))
			return false;
	}
	return true;
}

enum sonde_status cct_work_add_track(struct cct_work *work, const struct cct_piece *piece,
				     const struct sonde_call_tree *tree, struct sonde_error *err)
{
	struct cct_track *track = &work->body->tracks[piece->track];
	struct adding adding;
	enum sonde_status status = SONDE_OK;

	if (!adding_init(&adding, tree, work->spread_metric)) {
		adding_release(&adding);
		return sonde_fail_nomem(err);
	}
	for (uint32_t i = 1; i < adding.count; i++) {
		track->totals[CCT_METRIC_CALLS] += (double)adding.nodes[i].calls;
		if (!adding.nodes[i].parent)
			track->busy_ns += adding.nodes[i].sum_ns;
	}
	track->totals[CCT_METRIC_TIME] = (double)track->busy_ns / NS_PER_SECOND;
	pthread_mutex_lock(&work->lock);
	if (adding.count > 1)
		status = add_paths(work, piece->track, &adding, err);
	if (!status && !(add_sums(work, tree, &adding) && add_spread(work, piece, &adding) &&
			 add_durations(work, tree)))
		status = sonde_fail_nomem(err);
	pthread_mutex_unlock(&work->lock);
	adding_release(&adding);
	return status;
}
