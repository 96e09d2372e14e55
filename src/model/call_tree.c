/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of one track as a tree. Each event costs one lookup at most and no allocation unless a
 * path is met for the first time. What a recording lost shows in its depths: calls that cannot be
 * open any more are closed without a return, and a return without its call closes nothing.
 */
#include "model/call_tree.h"

#include <stdlib.h>

#include "base/map.h"
#include "model/call_stack.h"

/* So far up is looked for a call of the same function and the depth of a return. */
#define SEARCHED 256

struct sonde_call_tree {
	SONDE_VEC(struct sonde_call_node) nodes;
	struct sonde_key_map children; /* (parent, function) -> node */
	struct sonde_call_stack open;  /* marks: the nodes */
	uint32_t current;	       /* the node that the track is in */
	bool has_time;		       /* an event came: the times are set */
	uint64_t first_ns;
	uint64_t last_ns; /* never goes back, whatever the events do */
	bool with_durations;
	SONDE_VEC(struct sonde_sketch) durations; /* by function */
};

/* Who is told of changes; `told` NULL: nobody. */
struct listener {
	sonde_call_tree_change *told;
	void *user;
};

static bool add_root(struct sonde_call_tree *tree)
{
	struct sonde_call_node *root = sonde_vec_push(&tree->nodes);

	if (root)
		*root = (struct sonde_call_node){ .parent = SONDE_NONE, .function = SONDE_NONE };
	return root;
}

struct sonde_call_tree *sonde_call_tree_new(void)
{
	struct sonde_call_tree *tree = calloc(1, sizeof(*tree));

	if (tree && !add_root(tree)) {
		free(tree);
		return NULL;
	}
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
	sonde_vec_release(&tree->nodes);
	sonde_vec_release(&tree->open);
	sonde_key_map_release(&tree->children);
	free(tree);
}

void sonde_call_tree_clear(struct sonde_call_tree *tree)
{
	sonde_key_map_release(&tree->children);
	clear_durations(tree);
	tree->nodes.count = 1;
	tree->nodes.items[0].self_ns = 0;
	tree->open.count = 0;
	tree->current = 0;
	tree->has_time = false;
	tree->first_ns = tree->last_ns = 0;
}

static inline void pass_time(struct sonde_call_tree *tree, uint64_t time_ns)
{
	if (__builtin_expect(!tree->has_time, 0)) {
		tree->has_time = true;
		tree->first_ns = tree->last_ns = time_ns;
	}
	if (time_ns > tree->last_ns)
		tree->last_ns = time_ns;
}

static bool add_duration(struct sonde_call_tree *tree, uint32_t function, uint64_t duration_ns)
{
	while (function >= tree->durations.count) {
		struct sonde_sketch *sketch = sonde_vec_push(&tree->durations);

		if (!sketch)
			return false;
		*sketch = (struct sonde_sketch){ 0 };
	}
	return sonde_sketch_add(&tree->durations.items[function], duration_ns);
}

/* The innermost call ends now. */
static inline bool close_innermost(struct sonde_call_tree *tree, struct sonde_call_node **closed)
{
	const struct sonde_open_call *call = &tree->open.items[--tree->open.count];
	struct sonde_call_node *node = &tree->nodes.items[call->mark];
	uint64_t duration_ns = tree->last_ns - call->time_ns;

	node->sum_ns += duration_ns;
	node->min_ns = duration_ns < node->min_ns ? duration_ns : node->min_ns;
	node->max_ns = duration_ns > node->max_ns ? duration_ns : node->max_ns;
	node->squares += (double)duration_ns * (double)duration_ns;
	*closed = node;
	return !tree->with_durations || add_duration(tree, node->function, duration_ns);
}

/* Calls whose returns are not there, down to a number of open ones. */
static bool close_unfinished(struct sonde_call_tree *tree, size_t count)
{
	while (tree->open.count > count) {
		struct sonde_call_node *node;

		if (!close_innermost(tree, &node))
			return false;
		node->unfinished++;
	}
	return true;
}

static enum sonde_status add_node(struct sonde_call_tree *tree, uint64_t key, uint32_t *node,
				  struct sonde_error *err)
{
	struct sonde_call_node *added;

	if (tree->nodes.count >= SONDE_NONE)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a track has more distinct call paths than can be numbered; "
				  "convert a shorter time of it");
	added = sonde_vec_push(&tree->nodes);
	if (!added)
		return sonde_fail_nomem(err);
	*node = (uint32_t)(tree->nodes.count - 1);
	*added = (struct sonde_call_node){
		.parent = (uint32_t)(key >> 32),
		.function = (uint32_t)key,
		.min_ns = UINT64_MAX,
	};
	if (sonde_key_map_add(&tree->children, key, *node))
		return SONDE_OK;
	tree->nodes.count--;
	return sonde_fail_nomem(err);
}

static inline enum sonde_status tell(const struct sonde_call_tree *tree,
				     const struct listener *listener, struct sonde_error *err)
{
	if (!listener->told)
		return SONDE_OK;
	return listener->told(listener->user, tree->last_ns, tree->current, err);
}

static inline void set_current(struct sonde_call_tree *tree)
{
	tree->current = tree->open.count ? tree->open.items[tree->open.count - 1].mark : 0;
}

/* A call at this depth: those at its depth or deeper are over, though their returns are lost. */
static bool close_lost(struct sonde_call_tree *tree, uint32_t depth)
{
	size_t count = tree->open.count;

	while (count && tree->open.items[count - 1].depth >= depth)
		count--;
	if (!close_unfinished(tree, count))
		return false;
	set_current(tree);
	return true;
}

static inline enum sonde_status add_call(struct sonde_call_tree *tree,
					 const struct sonde_event *event,
					 const struct listener *listener, struct sonde_error *err)
{
	const struct sonde_call_stack *open = &tree->open;
	uint64_t key;
	uint32_t node;

	/* depth 0 is no depth: a source that does not say */
	if (__builtin_expect(event->depth && open->count &&
				     open->items[open->count - 1].depth >= event->depth,
			     0) &&
	    !close_lost(tree, event->depth))
		return sonde_fail_nomem(err);
	key = (uint64_t)tree->current << 32 | event->function;
	node = sonde_key_map_find(&tree->children, key);
	if (__builtin_expect(node == SONDE_NONE, 0)) {
		enum sonde_status status = add_node(tree, key, &node, err);

		if (status)
			return status;
	}
	if (!sonde_call_stack_push(&tree->open, event, node))
		return sonde_fail_nomem(err);
	tree->open.items[tree->open.count - 1].time_ns = tree->last_ns;
	tree->nodes.items[node].calls++;
	tree->current = node;
	return tell(tree, listener, err);
}

/* A return that does not fit the innermost call: by function as everywhere, then by depth. */
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

static inline enum sonde_status leave_call(struct sonde_call_tree *tree,
					   const struct sonde_event *event,
					   const struct listener *listener, struct sonde_error *err)
{
	const struct sonde_call_stack *open = &tree->open;
	struct sonde_call_node *node;
	size_t left;

	if (!open->count)
		return SONDE_OK;
	left = open->count - 1;
	if (__builtin_expect(open->items[left].function != event->function ||
				     open->items[left].depth != event->depth,
			     0))
		left = search_left(open, event);
	if (left == SONDE_NO_CALL)
		return SONDE_OK;
	if (!close_unfinished(tree, left + 1) || !close_innermost(tree, &node))
		return sonde_fail_nomem(err);
	node->exceptions += event->kind == SONDE_EVENT_EXCEPTION;
	set_current(tree);
	return tell(tree, listener, err);
}

enum sonde_status sonde_call_tree_add(struct sonde_call_tree *tree,
				      const struct sonde_event *events, size_t count,
				      sonde_call_tree_change *on_change, void *user,
				      struct sonde_error *err)
{
	const struct listener listener = { .told = on_change, .user = user };

	for (size_t i = 0; i < count; i++) {
		const struct sonde_event *event = &events[i];
		enum sonde_status status = SONDE_OK;

		pass_time(tree, event->time_ns);
		if (event->kind == SONDE_EVENT_CALL)
			status = add_call(tree, event, &listener, err);
		else if (sonde_event_leaves(event))
			status = leave_call(tree, event, &listener, err);
		if (status)
			return status;
	}
	return SONDE_OK;
}

/* What is spent in a node and in none below it. */
static void set_self(struct sonde_call_tree *tree)
{
	struct sonde_call_node *nodes = tree->nodes.items;

	nodes[0].self_ns = tree->last_ns - tree->first_ns;
	for (size_t i = 1; i < tree->nodes.count; i++) {
		nodes[i].self_ns = nodes[i].sum_ns;
		nodes[nodes[i].parent].self_ns -= nodes[i].sum_ns;
	}
}

enum sonde_status sonde_call_tree_end(struct sonde_call_tree *tree,
				      sonde_call_tree_change *on_change, void *user,
				      struct sonde_error *err)
{
	const struct listener listener = { .told = on_change, .user = user };
	bool is_inside = tree->open.count;

	if (!close_unfinished(tree, 0))
		return sonde_fail_nomem(err);
	set_self(tree);
	if (!is_inside)
		return SONDE_OK;
	tree->current = 0;
	return tell(tree, &listener, err);
}

const struct sonde_call_node *sonde_call_tree_nodes(const struct sonde_call_tree *tree,
						    uint32_t *count)
{
	*count = (uint32_t)tree->nodes.count;
	return tree->nodes.items;
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
