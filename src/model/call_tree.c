/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of one track as a tree. Programs do the same again and again: each node remembers which
 * call came first in it, and which came after it, so that most calls are found by one comparison, and
 * the others by one lookup. Nothing is allocated unless a path is met for the first time. What a
 * recording lost shows in its depths: calls that cannot be open any more are closed without a return,
 * and a return without its call closes nothing.
 */
#include "model/call_tree.h"

#include <stdlib.h>

#include "base/map.h"
#include "model/call_stack.h"

/* So far up is looked for a call of the same function and the depth of a return. */
#define SEARCHED 256

#define NODES_FIRST 16
#define CACHE_LINE 64

_Static_assert(sizeof(struct sonde_call_node) == CACHE_LINE, "a node is one cache line");

struct sonde_call_tree {
	struct sonde_call_node *nodes; /* aligned to cache lines */
	size_t node_count, node_capacity;
	struct sonde_key_map children; /* (parent, function) -> node */
	/* marks: the nodes; last: the node that was called last in it. [0] is the track itself. */
	struct sonde_call_stack open;
	bool has_time; /* an event came: the times are set */
	uint64_t first_ns;
	uint64_t last_ns; /* never goes back, whatever the events do */
	bool with_durations;
	SONDE_VEC(struct sonde_sketch) durations; /* by function; only buckets before the end */
	SONDE_VEC(struct sonde_call_ends) ends;	  /* by node, up to the last that has any */
};

/* Who is told of changes; `told` NULL: nobody. */
struct listener {
	sonde_call_tree_change *told;
	void *user;
};

static bool grow_nodes(struct sonde_call_tree *tree)
{
	size_t capacity = tree->node_capacity ? tree->node_capacity * 2 : NODES_FIRST;
	struct sonde_call_node *nodes;

	if (tree->node_count < tree->node_capacity)
		return true;
	nodes = aligned_alloc(CACHE_LINE, capacity * sizeof(*nodes));
	if (!nodes)
		return false;
	for (size_t i = 0; i < tree->node_count; i++)
		nodes[i] = tree->nodes[i];
	free(tree->nodes);
	tree->nodes = nodes;
	tree->node_capacity = capacity;
	return true;
}

static void reset(struct sonde_call_tree *tree)
{
	tree->nodes[0] = (struct sonde_call_node){ .parent = SONDE_NONE, .function = SONDE_NONE };
	tree->node_count = 1;
	tree->open.items[0] = (struct sonde_open_call){ .function = SONDE_NONE };
	tree->open.count = 1;
	tree->ends.count = 0;
	tree->has_time = false;
	tree->first_ns = tree->last_ns = 0;
}

struct sonde_call_tree *sonde_call_tree_new(void)
{
	struct sonde_call_tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	if (!grow_nodes(tree) || !sonde_vec_reserve(&tree->open, 1)) {
		sonde_call_tree_free(tree);
		return NULL;
	}
	reset(tree);
	return tree;
}

struct sonde_call_tree *sonde_call_tree_new_with_durations(void)
{
	struct sonde_call_tree *tree = sonde_call_tree_new();

	if (tree)
		tree->with_durations = true;
	return tree;
}

static void clear_durations(struct sonde_call_tree *tree)
{
	for (size_t i = 0; i < tree->durations.count; i++)
		sonde_sketch_release(&tree->durations.items[i]);
	tree->durations.count = 0;
}

void sonde_call_tree_free(struct sonde_call_tree *tree)
{
	if (!tree)
		return;
	clear_durations(tree);
	sonde_vec_release(&tree->durations);
	sonde_vec_release(&tree->ends);
	sonde_vec_release(&tree->open);
	sonde_key_map_release(&tree->children);
	free(tree->nodes);
	free(tree);
}

void sonde_call_tree_clear(struct sonde_call_tree *tree)
{
	sonde_key_map_release(&tree->children);
	clear_durations(tree);
	reset(tree);
}

static enum sonde_status add_node(struct sonde_call_tree *tree, uint32_t parent, uint32_t function,
				  uint32_t *node, struct sonde_error *err)
{
	if (tree->node_count >= SONDE_NONE)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a track has more distinct call paths than can be numbered; "
				  "convert a shorter time of it");
	if (tree->with_durations && function != SONDE_NONE) {
		while (tree->durations.count <= function) {
			struct sonde_sketch *sketch = sonde_vec_push(&tree->durations);

			if (!sketch)
				return sonde_fail_nomem(err);
			*sketch = (struct sonde_sketch){ 0 };
		}
	}
	*node = (uint32_t)tree->node_count;
	if (!grow_nodes(tree) ||
	    !sonde_key_map_add(&tree->children, (uint64_t)parent << 32 | function, *node))
		return sonde_fail_nomem(err);
	tree->nodes[tree->node_count++] = (struct sonde_call_node){
		.parent = parent,
		.function = function,
		.min_ns = UINT64_MAX,
	};
	return SONDE_OK;
}

/* The node of a call that was not foreseen; next time it is. */
__attribute__((noinline)) static enum sonde_status find_child(struct sonde_call_tree *tree,
							      const struct sonde_open_call *caller,
							      uint32_t function, uint32_t *node,
							      struct sonde_error *err)
{
	enum sonde_status status;

	*node = sonde_key_map_find(&tree->children, (uint64_t)caller->mark << 32 | function);
	if (__builtin_expect(*node == SONDE_NONE, 0)) {
		status = add_node(tree, caller->mark, function, node, err);
		if (status)
			return status;
	}
	if (caller->last)
		tree->nodes[caller->last].next = *node;
	else
		tree->nodes[caller->mark].first = *node;
	return SONDE_OK;
}

static struct sonde_call_ends *ends_of(struct sonde_call_tree *tree, uint32_t node)
{
	while (tree->ends.count <= node) {
		struct sonde_call_ends *ends = sonde_vec_push(&tree->ends);

		if (!ends)
			return NULL;
		*ends = (struct sonde_call_ends){ 0 };
	}
	return &tree->ends.items[node];
}

/* A call is over; gives the one around it. NULL where memory failed. */
static inline struct sonde_open_call *close_call(struct sonde_call_tree *tree,
						 struct sonde_open_call *call, uint64_t now_ns)
{
	struct sonde_call_node *node = &tree->nodes[call->mark];
	uint64_t duration_ns = now_ns - call->time_ns;

	node->calls++;
	node->sum_ns += duration_ns;
	node->min_ns = duration_ns < node->min_ns ? duration_ns : node->min_ns;
	node->max_ns = duration_ns > node->max_ns ? duration_ns : node->max_ns;
	node->squares += (double)(int64_t)duration_ns * (double)(int64_t)duration_ns;
	if (call->function < tree->durations.count) {
		uint64_t *bucket = sonde_sketch_bucket(&tree->durations.items[call->function],
						       sonde_sketch_bucket_of(duration_ns));

		if (__builtin_expect(!bucket, 0))
			return NULL;
		++*bucket;
	}
	call[-1].last = call->mark;
	return call - 1;
}

/* Calls whose returns are not there, down to a number of open ones. */
static bool close_unfinished(struct sonde_call_tree *tree, size_t count)
{
	while (tree->open.count > count) {
		struct sonde_open_call *call = &tree->open.items[tree->open.count - 1];
		struct sonde_call_ends *ends = ends_of(tree, call->mark);

		if (!ends || !close_call(tree, call, tree->last_ns))
			return false;
		ends->unfinished++;
		tree->open.count--;
	}
	return true;
}

/* A call at this depth: those at its depth or deeper are over, though their returns are lost. */
static bool close_lost(struct sonde_call_tree *tree, uint32_t depth)
{
	size_t count = tree->open.count;

	while (count > 1 && tree->open.items[count - 1].depth >= depth)
		count--;
	return close_unfinished(tree, count);
}

/*
 * A return that does not fit the innermost call: by function as everywhere, then by depth. `open` is
 * without the track itself.
 */
static size_t search_left(const struct sonde_call_stack *open, const struct sonde_event *event)
{
	size_t left = sonde_call_stack_find_left(open, event);
	size_t end = open->count > SEARCHED ? open->count - SEARCHED : 0;

	if (left == SONDE_NO_CALL || event->function == SONDE_NONE || !event->depth)
		return left;
	for (size_t i = left + 1; i > end; i--) {
		const struct sonde_open_call *call = &open->items[i - 1];

		if (call->depth == event->depth && call->function == event->function)
			return i - 1;
	}
	/* deeper than all that is open, and only a caller has that function: its call is lost */
	if (left + 1 < open->count && event->depth > open->items[open->count - 1].depth)
		return SONDE_NO_CALL;
	return left;
}

/* What leaves no call gives SONDE_END; else the call that is left is the innermost one then. */
__attribute__((noinline)) static enum sonde_status close_above(struct sonde_call_tree *tree,
							       const struct sonde_event *event,
							       struct sonde_error *err)
{
	const struct sonde_call_stack open = {
		.items = tree->open.items + 1,
		.count = tree->open.count - 1,
	};
	size_t left = search_left(&open, event);

	if (left == SONDE_NO_CALL)
		return SONDE_END;
	return close_unfinished(tree, left + 2) ? SONDE_OK : sonde_fail_nomem(err);
}

static bool note_exception(struct sonde_call_tree *tree, uint32_t node)
{
	struct sonde_call_ends *ends = ends_of(tree, node);

	if (ends)
		ends->exceptions++;
	return ends;
}

static inline enum sonde_status tell(const struct sonde_call_tree *tree,
				     const struct listener *listener,
				     const struct sonde_open_call *top, uint64_t now_ns,
				     struct sonde_error *err)
{
	(void)tree;
	if (!listener->told)
		return SONDE_OK;
	return listener->told(listener->user, now_ns, top->mark, err);
}

/* Where a run over a batch is; what does not change from event to event stays in registers. */
struct run {
	struct sonde_open_call *top;
	uint64_t now_ns;
};

static void run_save(struct sonde_call_tree *tree, const struct run *run)
{
	tree->open.count = (size_t)(run->top - tree->open.items) + 1;
	tree->last_ns = run->now_ns;
}

static void run_load(const struct sonde_call_tree *tree, struct run *run)
{
	run->top = &tree->open.items[tree->open.count - 1];
	run->now_ns = tree->last_ns;
}

static inline enum sonde_status add_call(struct sonde_call_tree *tree, struct run *run,
					 const struct sonde_event *event, struct sonde_error *err)
{
	struct sonde_open_call *top = run->top;
	uint32_t node;

	/* depth 0 is no depth: a source that does not say */
	if (__builtin_expect(top->depth >= event->depth && event->depth, 0)) {
		run_save(tree, run);
		if (!close_lost(tree, event->depth))
			return sonde_fail_nomem(err);
		run_load(tree, run);
		top = run->top;
	}
	node = top->last ? tree->nodes[top->last].next : tree->nodes[top->mark].first;
	if (__builtin_expect(!node || tree->nodes[node].function != event->function, 0)) {
		enum sonde_status status = find_child(tree, top, event->function, &node, err);

		if (status)
			return status;
	}
	*++run->top = (struct sonde_open_call){
		.function = event->function,
		.depth = event->depth,
		.mark = node,
		.time_ns = run->now_ns,
	};
	return SONDE_OK;
}

/* SONDE_END: nothing was left. */
static inline enum sonde_status leave_call(struct sonde_call_tree *tree, struct run *run,
					   const struct sonde_event *event, struct sonde_error *err)
{
	const struct sonde_open_call *top = run->top;

	/* the mark of the track itself is 0 */
	if (__builtin_expect(top->function != event->function || top->depth != event->depth ||
				     !top->mark,
			     0)) {
		enum sonde_status status;

		run_save(tree, run);
		status = close_above(tree, event, err);
		if (status)
			return status;
		run_load(tree, run);
	}
	if (__builtin_expect(event->kind == SONDE_EVENT_EXCEPTION, 0) &&
	    !note_exception(tree, run->top->mark))
		return sonde_fail_nomem(err);
	run->top = close_call(tree, run->top, run->now_ns);
	return run->top ? SONDE_OK : sonde_fail_nomem(err);
}

static inline __attribute__((always_inline)) enum sonde_status
add_events(struct sonde_call_tree *tree, const struct sonde_event *events, size_t count,
	   const struct listener *listener, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	struct run run;

	run_load(tree, &run);
	for (size_t i = 0; i < count; i++) {
		const struct sonde_event *event = &events[i];

		run.now_ns = event->time_ns > run.now_ns ? event->time_ns : run.now_ns;
		if (event->kind == SONDE_EVENT_CALL)
			status = add_call(tree, &run, event, err);
		else if (sonde_event_leaves(event))
			status = leave_call(tree, &run, event, err);
		else
			continue;
		if (!status)
			status = tell(tree, listener, run.top, run.now_ns, err);
		if (__builtin_expect(status < 0, 0))
			return status;
	}
	run_save(tree, &run);
	return SONDE_OK;
}

enum sonde_status sonde_call_tree_add(struct sonde_call_tree *tree,
				      const struct sonde_event *events, size_t count,
				      sonde_call_tree_change *on_change, void *user,
				      struct sonde_error *err)
{
	static const struct listener nobody;
	const struct listener listener = { .told = on_change, .user = user };

	/* room for all of them: they may all be calls */
	if (!sonde_vec_reserve(&tree->open, count))
		return sonde_fail_nomem(err);
	if (!tree->has_time && count) {
		tree->has_time = true;
		tree->first_ns = tree->last_ns = events[0].time_ns;
	}
	if (!on_change)
		return add_events(tree, events, count, &nobody, err);
	return add_events(tree, events, count, &listener, err);
}

/* What is spent in a node and in none below it. */
static void set_self(struct sonde_call_tree *tree)
{
	struct sonde_call_node *nodes = tree->nodes;

	nodes[0].self_ns = tree->last_ns - tree->first_ns;
	for (size_t i = 1; i < tree->node_count; i++) {
		nodes[i].self_ns = nodes[i].sum_ns;
		nodes[nodes[i].parent].self_ns -= nodes[i].sum_ns;
	}
}

/* While calls are added only their buckets are counted; the rest is in the nodes. */
static void set_durations(struct sonde_call_tree *tree)
{
	for (size_t i = 1; i < tree->node_count; i++) {
		const struct sonde_call_node *node = &tree->nodes[i];
		struct sonde_sketch *sketch;

		if (node->function >= tree->durations.count)
			continue;
		sketch = &tree->durations.items[node->function];
		if (!sketch->count || node->min_ns < sketch->min)
			sketch->min = node->min_ns;
		if (node->max_ns > sketch->max)
			sketch->max = node->max_ns;
		sketch->count += node->calls;
		sketch->sum += (double)node->sum_ns;
	}
}

enum sonde_status sonde_call_tree_end(struct sonde_call_tree *tree,
				      sonde_call_tree_change *on_change, void *user,
				      struct sonde_error *err)
{
	bool is_inside = tree->open.count > 1;

	if (!close_unfinished(tree, 1))
		return sonde_fail_nomem(err);
	set_self(tree);
	set_durations(tree);
	return is_inside && on_change ? on_change(user, tree->last_ns, 0, err) : SONDE_OK;
}

const struct sonde_call_node *sonde_call_tree_nodes(const struct sonde_call_tree *tree,
						    uint32_t *count)
{
	*count = (uint32_t)tree->node_count;
	return tree->nodes;
}

struct sonde_call_ends sonde_call_tree_ends(const struct sonde_call_tree *tree, uint32_t node)
{
	static const struct sonde_call_ends none;

	return node < tree->ends.count ? tree->ends.items[node] : none;
}

const struct sonde_sketch *sonde_call_tree_durations(const struct sonde_call_tree *tree,
						     uint32_t *count)
{
	*count = (uint32_t)tree->durations.count;
	return tree->durations.items;
}

bool sonde_call_tree_times(const struct sonde_call_tree *tree, uint64_t *first_ns,
			   uint64_t *last_ns)
{
	*first_ns = tree->first_ns;
	*last_ns = tree->last_ns;
	return tree->has_time;
}
