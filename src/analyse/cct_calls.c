/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls become a tree of contexts. Each track has a tree of its own (model/call_tree.c), which is added to
 * the union of all under a lock and forgotten: memory is that of as many tracks as there are threads. Sums
 * are of whole numbers until the end, so that it does not matter which track comes first.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/cct_private.h"
#include "base/pool.h"
#include "base/sort.h"
#include "base/vec.h"
#include "model/call_tree.h"
#include "model/derive.h"
#include "model/filters.h"
#include "model/recording.h"

#define NS_PER_SECOND 1e9

typedef unsigned __int128 wide;

enum { METRIC_TIME, METRIC_CALLS };

/* What a node of the union has of all tracks so far. */
struct sums {
	uint64_t calls, exceptions, unfinished, sum_ns, min_ns, max_ns;
	wide squares;
};

/* As struct cct_spread, in whole numbers. */
struct spread {
	uint32_t count, max_place;
	uint64_t min, max, sum;
	wide squares;
};

/* Totals of the metric whose spread is wanted, by node or by class of function. */
struct totals {
	SONDE_VEC(uint64_t) values;
	SONDE_VEC(uint32_t) touched;
};

/* What nodes and functions have of one place. */
struct place {
	struct totals nodes, functions;
};

struct process {
	uint32_t tracks_left;
	struct place place;
};

struct piece {
	uint32_t track, process;
};

struct work {
	struct sonde_recording *recording;
	const struct sonde_selection_spec *spec;
	struct cct_body *body;
	uint32_t spread_metric;
	SONDE_VEC(struct piece) pieces;
	struct sonde_meter meter;
	struct process *processes; /* by process, one more for tracks without */
	uint32_t process_count;
	/* all below is of the lock */
	pthread_mutex_t lock;
	struct sonde_context_union *tree;
	SONDE_VEC(struct sums) sums;		  /* by node */
	SONDE_VEC(struct sonde_sketch) durations; /* by class of function */
	SONDE_VEC(struct spread) node_tracks, node_processes, function_tracks, function_processes;
	SONDE_VEC(uint32_t) open; /* by class: how many calls of it are above */
	struct place place;	  /* of the track that is being added */
};

/* Grows a vector to `count` items of zeros. */
#define FILL(vec, wanted)                                                                          \
	((vec)->count >= (wanted) || (sonde_vec_reserve(vec, (wanted) - (vec)->count) &&           \
				      (memset((vec)->items + (vec)->count, 0,                      \
					      ((wanted) - (vec)->count) * sizeof(*(vec)->items)),  \
				       (vec)->count = (wanted), true)))

static bool totals_add(struct totals *totals, uint32_t number, uint64_t value)
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

static void place_release(struct place *place)
{
	sonde_vec_release(&place->nodes.values);
	sonde_vec_release(&place->nodes.touched);
	sonde_vec_release(&place->functions.values);
	sonde_vec_release(&place->functions.touched);
}

static void spread_add(struct spread *spread, uint32_t place, uint64_t value)
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
	spread->squares += (wide)value * value;
}

/* Adds what a place has to the spreads, and empties it. `more` (or NULL) gets the totals too. */
#define SPREAD(totals, spreads, number, more)                                                      \
	spread_totals(totals, FILL(spreads, (totals)->values.count) ? (spreads)->items : NULL,     \
		      number, more)

static bool spread_totals(struct totals *totals, struct spread *spreads, uint32_t number,
			  struct totals *more)
{
	bool happened = spreads || !totals->values.count;

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

static enum sonde_status adding_init(struct adding *adding, const struct sonde_call_tree *tree,
				     uint32_t metric, struct sonde_error *err)
{
	*adding = (struct adding){ 0 };
	adding->nodes = sonde_call_tree_nodes(tree, &adding->count);
	adding->places = calloc(adding->count, sizeof(*adding->places));
	adding->totals = calloc(adding->count, sizeof(*adding->totals));
	adding->first = calloc(adding->count, sizeof(*adding->first));
	adding->next = calloc(adding->count, sizeof(*adding->next));
	if (!adding->places || !adding->totals || !adding->first || !adding->next) {
		adding_release(adding);
		return sonde_fail_nomem(err);
	}
	for (uint32_t i = adding->count; i-- > 1;) {
		uint32_t parent = adding->nodes[i].parent;

		adding->next[i] = adding->first[parent];
		adding->first[parent] = i;
		if (metric == METRIC_CALLS) {
			adding->totals[i] += adding->nodes[i].calls;
			adding->totals[parent] += adding->totals[i];
			continue;
		}
		adding->totals[i] = adding->nodes[i].sum_ns;
		if (!parent)
			adding->totals[0] += adding->totals[i];
	}
	return SONDE_OK;
}

static enum sonde_status add_paths(struct work *work, uint32_t track, struct adding *adding,
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

static bool add_sums(struct work *work, const struct sonde_call_tree *tree,
		     const struct adding *adding)
{
	for (uint32_t i = 1; i < adding->count; i++) {
		const struct sonde_call_node *node = &adding->nodes[i];
		struct sonde_call_ends ends = sonde_call_tree_ends(tree, i);
		struct sums *sums;

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
		sums->squares += (wide)node->squares;
	}
	return true;
}

/* Down into a node: its function is open once more. */
static bool enter(struct work *work, const struct adding *adding, uint32_t node)
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

static void leave(struct work *work, const struct adding *adding, uint32_t node)
{
	uint32_t class = sonde_context_union_class(work->tree, adding->nodes[node].function);

	if (class != SONDE_NONE)
		work->open.items[class]--;
}

/* Totals of functions, recursion once: the calls that are not below one of the same function. */
static bool add_function_totals(struct work *work, const struct adding *adding)
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

static bool add_spread(struct work *work, const struct piece *piece, const struct adding *adding)
{
	struct process *process = &work->processes[piece->process];
	uint32_t number = piece->process < work->process_count ? piece->process : SONDE_NONE;
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
	happened = SPREAD(&process->place.nodes, &work->node_processes, number, NULL) &&
		   SPREAD(&process->place.functions, &work->function_processes, number, NULL);
	place_release(&process->place);
	return happened;
}

static bool add_durations(struct work *work, const struct sonde_call_tree *tree)
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

/* Adds a whole track to all tracks. */
static enum sonde_status add_track(struct work *work, const struct piece *piece,
				   const struct sonde_call_tree *tree, struct sonde_error *err)
{
	struct cct_track *track = &work->body->tracks[piece->track];
	struct adding adding;
	enum sonde_status status = adding_init(&adding, tree, work->spread_metric, err);

	if (status)
		return status;
	for (uint32_t i = 1; i < adding.count; i++) {
		track->totals[METRIC_CALLS] += (double)adding.nodes[i].calls;
		if (!adding.nodes[i].parent)
			track->busy_ns += adding.nodes[i].sum_ns;
	}
	track->totals[METRIC_TIME] = (double)track->busy_ns / NS_PER_SECOND;
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

/* The end of the filters of a track, or all there is. */
struct target {
	struct sonde_sink base;
	struct sonde_call_tree *tree;
	uint64_t event_count;
};

static enum sonde_status target_events(struct sonde_sink *sink, uint32_t track,
				       const struct sonde_batch *batch, struct sonde_error *err)
{
	struct target *target = (struct target *)sink;

	(void)track;
	target->event_count += batch->count;
	return sonde_call_tree_add(target->tree, batch->events, batch->count, NULL, NULL, err);
}

static enum sonde_status target_track_end(struct sonde_sink *sink, uint32_t track,
					  struct sonde_error *err)
{
	(void)track;
	return sonde_call_tree_end(((struct target *)sink)->tree, NULL, NULL, err);
}

static enum sonde_status read_track(struct work *work, uint32_t track, struct sonde_sink *sink,
				    struct sonde_error *err)
{
	struct sonde_cursor *cursor = NULL;
	struct sonde_batch batch;
	enum sonde_status status = sonde_cursor_open(work->recording, track, &cursor, err);

	while (!status && !(status = sonde_cursor_next(cursor, &batch, err))) {
		status = sink->ops->events(sink, track, &batch, err);
		if (!status)
			status = sonde_meter_add(&work->meter, batch.count, err);
	}
	sonde_cursor_free(cursor);
	return status == SONDE_END ? sink->ops->track_end(sink, track, err) : status;
}

/* The filters that the selection asks for, and behind them the tree. */
static enum sonde_status filter_track(struct work *work, uint32_t track, struct target *target,
				      struct sonde_error *err)
{
	const struct sonde_selection_spec *spec = work->spec;
	struct sonde_sink *select = NULL, *cut = NULL, *first = &target->base;
	enum sonde_status status = SONDE_OK;

	if (sonde_select_is_needed(spec)) {
		status = sonde_select_new(spec, work->recording->definitions, first, &select, err);
		first = select;
	}
	if (!status && (spec->from_ns || spec->to_ns)) {
		status = sonde_cut_new(spec->from_ns, spec->to_ns, first, &cut, err);
		first = cut;
	}
	if (!status)
		status = read_track(work, track, first, err);
	sonde_sink_free(cut);
	sonde_sink_free(select);
	return status;
}

static enum sonde_status do_piece(void *user, size_t number, struct sonde_error *err)
{
	static const struct sonde_sink_ops ops = {
		.events = target_events,
		.track_end = target_track_end,
	};
	struct work *work = user;
	const struct piece *piece = &work->pieces.items[number];
	struct cct_track *track = &work->body->tracks[piece->track];
	struct target target = {
		.base.ops = &ops,
		.tree = sonde_call_tree_new_with_durations(),
	};
	enum sonde_status status;

	if (!target.tree)
		return sonde_fail_nomem(err);
	status = filter_track(work, piece->track, &target, err);
	if (!status) {
		track->event_count = target.event_count;
		sonde_call_tree_times(target.tree, &track->first_ns, &track->last_ns);
		status = add_track(work, piece, target.tree, err);
	}
	sonde_call_tree_free(target.tree);
	return status;
}

/*
 * Tracks of one process follow each other, so that few processes are begun at a time; the longest of
 * them first, so that no thread is left alone with one at the end.
 */
static int compare_pieces(const void *a, const void *b, void *user)
{
	const struct sonde_definitions *definitions = user;
	const struct piece *one = a, *two = b;
	uint64_t one_size = sonde_definitions_track(definitions, one->track)->event_count;
	uint64_t two_size = sonde_definitions_track(definitions, two->track)->event_count;

	if (one->process != two->process)
		return one->process < two->process ? -1 : 1;
	if (one_size != two_size)
		return one_size > two_size ? -1 : 1;
	return one->track < two->track ? -1 : one->track > two->track;
}

static enum sonde_status take_pieces(struct work *work, const bool *wanted, struct sonde_error *err)
{
	struct sonde_definitions *definitions = work->recording->definitions;
	uint32_t count = sonde_definitions_track_count(definitions);

	work->process_count = sonde_definitions_process_count(definitions);
	work->processes = calloc((size_t)work->process_count + 1, sizeof(*work->processes));
	if (!work->processes)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < count; i++) {
		const struct sonde_track *track = sonde_definitions_track(definitions, i);
		uint32_t process = track->process < work->process_count ? track->process :
									  work->process_count;
		struct piece *piece;

		if (!wanted[i])
			continue;
		piece = sonde_vec_push(&work->pieces);
		if (!piece)
			return sonde_fail_nomem(err);
		*piece = (struct piece){ .track = i, .process = process };
		work->processes[process].tracks_left++;
		work->meter.total += track->event_count;
		work->body->tracks[i].dropped_events = track->dropped_events;
	}
	if (work->pieces.count)
		qsort_r(work->pieces.items, work->pieces.count, sizeof(*work->pieces.items),
			compare_pieces, definitions);
	return SONDE_OK;
}

static enum sonde_status name_metrics(struct work *work, struct sonde_error *err)
{
	struct cct *cct = &work->body->cct;
	struct cct_metric *added;
	enum sonde_status status =
		cct_add_metric(cct, SONDE_METRIC_TIME, SONDE_METRIC_TIME_TEXT, &added, err);

	if (status)
		return status;
	added->ns = NS_PER_SECOND;
	return cct_add_metric(cct, SONDE_METRIC_CALLS, SONDE_METRIC_CALLS_TEXT, &added, err);
}

/* From the nodes of the union to the contexts. */
static enum sonde_status fill_calls(struct work *work, struct sonde_error *err)
{
	struct cct_body *body = work->body;

	body->calls = calloc(body->context_count, sizeof(*body->calls));
	if (!body->calls)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < work->sums.count; i++) {
		const struct sums *sums = &work->sums.items[i];

		body->calls[sonde_context_union_number(work->tree, (uint32_t)i)] =
			(struct cct_calls){
				.count = sums->calls,
				.exceptions = sums->exceptions,
				.unfinished = sums->unfinished,
				.sum_ns = sums->sum_ns,
				.min_ns = sums->min_ns,
				.max_ns = sums->max_ns,
				.squares = (double)sums->squares,
			};
	}
	return SONDE_OK;
}

/* Made anew now that it is known how many contexts there are. */
static enum sonde_status fill_metrics(struct work *work, struct sonde_error *err)
{
	struct cct_body *body = work->body;
	struct cct_metric *time = &body->cct.metrics[METRIC_TIME];
	struct cct_metric *calls = &body->cct.metrics[METRIC_CALLS];
	uint64_t *self_ns = calloc(body->context_count, sizeof(*self_ns));
	uint64_t *total_ns = calloc(body->context_count, sizeof(*total_ns));

	for (uint32_t i = 0; i < 2; i++) {
		struct cct_metric *metric = &body->cct.metrics[i];

		free(metric->self);
		free(metric->total);
		metric->self = calloc(body->context_count, sizeof(*metric->self));
		metric->total = calloc(body->context_count, sizeof(*metric->total));
		if (!metric->self || !metric->total || !self_ns || !total_ns) {
			free(self_ns);
			free(total_ns);
			return sonde_fail_nomem(err);
		}
	}
	for (uint32_t i = body->context_count; i-- > 0;) {
		bool is_function = body->contexts[i].kind == SONDE_CONTEXT_FUNCTION;
		uint32_t parent = body->contexts[i].parent;

		/* entries and the root have what is below them */
		if (is_function)
			total_ns[i] = body->calls[i].sum_ns;
		self_ns[i] += is_function ? total_ns[i] : 0;
		if (i && body->contexts[parent].kind == SONDE_CONTEXT_FUNCTION)
			self_ns[parent] -= total_ns[i];
		else if (i)
			total_ns[parent] += total_ns[i];
		time->self[i] = (double)self_ns[i] / NS_PER_SECOND;
		time->total[i] = (double)total_ns[i] / NS_PER_SECOND;
		calls->self[i] = (double)body->calls[i].count;
	}
	free(self_ns);
	free(total_ns);
	cct_sum_up(&body->cct, calls);
	return SONDE_OK;
}

static enum sonde_status fill_durations(struct work *work, const struct cct_define *define,
					struct sonde_error *err)
{
	struct cct_body *body = work->body;
	uint32_t functions = sonde_definitions_function_count(body->definitions);

	body->durations = calloc((size_t)functions + 1, sizeof(*body->durations));
	if (!body->durations)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < work->durations.count; i++) {
		uint32_t first = sonde_context_union_class_function(work->tree, (uint32_t)i);
		uint32_t function = first < define->function_count ? define->functions[first] :
								     SONDE_NONE;

		if (function == SONDE_NONE)
			continue;
		body->durations[function] = work->durations.items[i];
		work->durations.items[i] = (struct sonde_sketch){ 0 };
	}
	return SONDE_OK;
}

static struct cct_spread spread_of(const struct work *work, const struct spread *spread)
{
	double unit = work->spread_metric == METRIC_TIME ? NS_PER_SECOND : 1;

	return (struct cct_spread){
		.count = spread->count,
		.max_place = spread->max_place,
		.min = (double)spread->min / unit,
		.max = (double)spread->max / unit,
		.sum = (double)spread->sum / unit,
		.squares = (double)spread->squares / unit / unit,
	};
}

static struct cct_spread *node_spread(const struct work *work, const struct spread *spreads,
				      size_t count)
{
	struct cct_spread *made = calloc(work->body->context_count, sizeof(*made));

	for (size_t i = 0; made && i < count; i++)
		made[sonde_context_union_number(work->tree, (uint32_t)i)] =
			spread_of(work, &spreads[i]);
	return made;
}

static struct cct_spread *function_spread(const struct work *work, const struct cct_define *define,
					  const struct spread *spreads, size_t count)
{
	uint32_t functions = sonde_definitions_function_count(work->body->definitions);
	struct cct_spread *made = calloc((size_t)functions + 1, sizeof(*made));

	for (size_t i = 0; made && i < count; i++) {
		uint32_t first = sonde_context_union_class_function(work->tree, (uint32_t)i);

		if (first < define->function_count && define->functions[first] != SONDE_NONE)
			made[define->functions[first]] = spread_of(work, &spreads[i]);
	}
	return made;
}

static enum sonde_status fill_spreads(struct work *work, const struct cct_define *define,
				      struct sonde_error *err)
{
	struct cct_body *body = work->body;

	body->cct.spread_metric = work->spread_metric;
	body->context_spread = node_spread(work, work->node_tracks.items, work->node_tracks.count);
	body->context_process_spread =
		node_spread(work, work->node_processes.items, work->node_processes.count);
	body->function_spread = function_spread(work, define, work->function_tracks.items,
						work->function_tracks.count);
	body->function_process_spread = function_spread(
		work, define, work->function_processes.items, work->function_processes.count);
	if (body->context_spread && body->context_process_spread && body->function_spread &&
	    body->function_process_spread)
		return SONDE_OK;
	return sonde_fail_nomem(err);
}

static enum sonde_status finish(struct work *work, struct sonde_error *err)
{
	struct cct_define define;
	enum sonde_status status = sonde_context_union_finish(work->tree, err);

	if (status)
		return status;
	status = cct_define_init(&define, work->recording->definitions, work->body->definitions,
				 err);
	if (status)
		return status;
	status = cct_define_contexts(&define, work->tree, work->body, err);
	if (!status)
		status = cct_body_add_recursion(work->body, err);
	if (!status)
		status = fill_calls(work, err);
	if (!status)
		status = fill_metrics(work, err);
	if (!status)
		status = fill_durations(work, &define, err);
	if (!status)
		status = fill_spreads(work, &define, err);
	cct_define_release(&define);
	return status;
}

static void work_release(struct work *work)
{
	for (size_t i = 0; i < work->durations.count; i++)
		sonde_sketch_release(&work->durations.items[i]);
	for (uint32_t i = 0; work->processes && i <= work->process_count; i++)
		place_release(&work->processes[i].place);
	free(work->processes);
	place_release(&work->place);
	sonde_vec_release(&work->durations);
	sonde_vec_release(&work->pieces);
	sonde_vec_release(&work->sums);
	sonde_vec_release(&work->node_tracks);
	sonde_vec_release(&work->node_processes);
	sonde_vec_release(&work->function_tracks);
	sonde_vec_release(&work->function_processes);
	sonde_vec_release(&work->open);
	sonde_context_union_free(work->tree);
	pthread_mutex_destroy(&work->lock);
}

static enum sonde_status prepare(struct work *work, const struct cct_options *options,
				 struct sonde_error *err)
{
	enum sonde_status status =
		cct_copy_places(work->recording->definitions, work->body->definitions, err);
	uint32_t metric;
	bool *wanted;

	if (!status)
		status = cct_body_add_tracks(work->body, err);
	if (!status)
		status = name_metrics(work, err);
	if (!status)
		status = cct_wanted_tracks(work->recording->definitions, options->selection,
					   &wanted, err);
	if (status)
		return status;
	metric = options->metric ? cct_find_metric(&work->body->cct, options->metric) : METRIC_TIME;
	work->spread_metric = metric == METRIC_CALLS ? METRIC_CALLS : METRIC_TIME;
	status = take_pieces(work, wanted, err);
	free(wanted);
	return status;
}

enum sonde_status cct_build_calls(struct cct_body *body, struct sonde_recording *recording,
				  const struct cct_options *options, struct sonde_error *err)
{
	struct work work = {
		.recording = recording,
		.spec = options->selection,
		.body = body,
		.meter.progress = options->progress,
		.tree = sonde_context_union_new(recording->definitions, true),
	};
	enum sonde_status status;

	if (!work.tree || pthread_mutex_init(&work.lock, NULL)) {
		sonde_context_union_free(work.tree);
		return sonde_fail_nomem(err);
	}
	status = prepare(&work, options, err);
	if (!status)
		status = sonde_pool_run(work.pieces.count, options->threads, do_piece, &work, err);
	if (!status)
		status = finish(&work, err);
	work_release(&work);
	return status;
}
