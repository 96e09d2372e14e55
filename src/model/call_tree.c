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

#include "base/bytes.h"
#include "base/map.h"
#include "model/call_stack.h"
#include "model/recording.h"

#define NODES_FIRST 16

/* Bytes of raw events that are fetched ahead. */
#define FETCH_AHEAD 2048
#define CACHE_LINE 64

_Static_assert(sizeof(struct sonde_call_node) == CACHE_LINE, "a node is one cache line");

struct sonde_call_tree {
	struct sonde_call_node *nodes; /* aligned to cache lines */
	void *node_memory;	       /* what they lie in */
	size_t node_count, node_capacity;
	struct sonde_key_map children; /* (parent, function) -> node */
	struct sonde_call_stack open;  /* marks: the nodes; [0] is the track itself */
	uint32_t last; /* the call in the innermost one that was over last; 0: none so far */
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
	void *memory;

	if (tree->node_count < tree->node_capacity)
		return true;
	memory = malloc((capacity + 1) * sizeof(*nodes));
	if (!memory)
		return false;
	nodes = (void *)(((uintptr_t)memory + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
	for (size_t i = 0; i < tree->node_count; i++)
		nodes[i] = tree->nodes[i];
	free(tree->node_memory);
	tree->node_memory = memory;
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
	tree->last = 0;
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
	free(tree->node_memory);
	free(tree);
}

void sonde_call_tree_clear(struct sonde_call_tree *tree)
{
	sonde_key_map_release(&tree->children);
	clear_durations(tree);
	reset(tree);
}

static enum sonde_status add_node(struct sonde_call_tree *tree, uint32_t parent, uint32_t function,
				  uint64_t key, uint32_t *node, struct sonde_error *err)
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
		.key = key,
	};
	return SONDE_OK;
}

/* The node of a call in the innermost one that was not foreseen; next time it is. */
static enum sonde_status find_child(struct sonde_call_tree *tree, uint32_t function, uint64_t key,
				    uint32_t *node, struct sonde_error *err)
{
	uint32_t parent = tree->open.items[tree->open.count - 1].mark;

	*node = sonde_key_map_find(&tree->children, (uint64_t)parent << 32 | function);
	if (__builtin_expect(*node == SONDE_NONE, 0)) {
		enum sonde_status status = add_node(tree, parent, function, key, node, err);

		if (status)
			return status;
	}
	if (tree->last)
		tree->nodes[tree->last].next = *node;
	else
		tree->nodes[parent].first = *node;
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

/* A call is over; false where memory failed. */
static inline __attribute__((always_inline)) bool
close_call(struct sonde_call_tree *tree, uint32_t number, uint32_t function, uint64_t duration_ns)
{
	struct sonde_call_node *node = &tree->nodes[number];

	/* what may fail comes first: the caller may try again */
	if (function < tree->durations.count &&
	    !sonde_sketch_count(&tree->durations.items[function], duration_ns))
		return false;
	node->calls++;
	node->sum_ns += duration_ns;
	if (__builtin_expect(duration_ns < node->min_ns, 0))
		node->min_ns = duration_ns;
	if (__builtin_expect(duration_ns > node->max_ns, 0))
		node->max_ns = duration_ns;
	node->squares += (double)(int64_t)duration_ns * (double)(int64_t)duration_ns;
	return true;
}

static bool close_innermost(struct sonde_call_tree *tree)
{
	const struct sonde_open_call *call = &tree->open.items[--tree->open.count];

	tree->last = call->mark;
	return close_call(tree, call->mark, call->function, tree->last_ns - call->time_ns);
}

/* Calls whose returns are not there, down to a number of open ones. */
static bool close_unfinished(struct sonde_call_tree *tree, size_t count)
{
	while (tree->open.count > count) {
		struct sonde_call_ends *ends =
			ends_of(tree, tree->open.items[tree->open.count - 1].mark);

		if (!ends || !close_innermost(tree))
			return false;
		ends->unfinished++;
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

/* What leaves no call gives SONDE_END; else the call that is left is the innermost one then. */
__attribute__((noinline)) static enum sonde_status
close_above(struct sonde_call_tree *tree, const struct sonde_event *event, struct sonde_error *err)
{
	const struct sonde_call_stack open = {
		.items = tree->open.items + 1,
		.count = tree->open.count - 1,
	};
	size_t left = sonde_call_stack_find_by_depth(&open, event);

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

/* Where a run over a batch is, in registers. */
struct run {
	struct sonde_open_call *top;
	uint32_t current, last; /* nodes */
	uint64_t now_ns;
};

static inline void run_save(struct sonde_call_tree *tree, const struct run *run)
{
	tree->open.count = (size_t)(run->top - tree->open.items) + 1;
	tree->last = run->last;
	tree->last_ns = run->now_ns;
}

static inline void run_load(const struct sonde_call_tree *tree, struct run *run)
{
	run->top = &tree->open.items[tree->open.count - 1];
	run->current = run->top->mark;
	run->last = tree->last;
	run->now_ns = tree->last_ns;
}

static enum sonde_status add_unusual_call(struct sonde_call_tree *tree,
					  const struct sonde_event *event, uint64_t key,
					  struct sonde_error *err)
{
	enum sonde_status status;
	uint32_t node;

	if (event->depth && !close_lost(tree, event->depth))
		return sonde_fail_nomem(err);
	status = find_child(tree, event->function, key, &node, err);
	if (status)
		return status;
	tree->open.items[tree->open.count++] = (struct sonde_open_call){
		.function = event->function,
		.depth = event->depth,
		.mark = node,
		.time_ns = tree->last_ns,
	};
	tree->last = 0;
	return SONDE_OK;
}

/* An event that is not the usual one; SONDE_END: it changes nothing. */
__attribute__((noinline)) static enum sonde_status add_unusual(struct sonde_call_tree *tree,
							       const struct sonde_event *event,
							       uint64_t key,
							       struct sonde_error *err)
{
	enum sonde_status status;

	if (event->kind == SONDE_EVENT_CALL)
		return add_unusual_call(tree, event, key, err);
	if (!sonde_event_leaves(event))
		return SONDE_END;
	status = close_above(tree, event, err);
	if (status)
		return status;
	if (event->kind == SONDE_EVENT_EXCEPTION &&
	    !note_exception(tree, tree->open.items[tree->open.count - 1].mark))
		return sonde_fail_nomem(err);
	return close_innermost(tree) ? SONDE_OK : sonde_fail_nomem(err);
}

/* The call that fits what is open and was foreseen: by far most of them. */
static inline bool add_usual_call(const struct sonde_call_node *nodes, struct run *run,
				  uint64_t key, uint32_t depth)
{
	struct sonde_open_call *top = run->top;
	uint32_t node = run->last ? nodes[run->last].next : nodes[run->current].first;

	/* depth 0 is no depth: a source that does not say */
	if (__builtin_expect(depth - 1 < top->depth || !node || nodes[node].key != key, 0))
		return false;
	run->top = ++top;
	run->current = node;
	run->last = 0;
	top->function = nodes[node].function;
	top->depth = depth;
	top->mark = node;
	top->time_ns = run->now_ns;
	return true;
}

/* The return from the innermost call. */
static inline bool add_usual_return(struct sonde_call_tree *tree, struct run *run, uint64_t key,
				    uint32_t depth)
{
	const struct sonde_open_call *top = run->top;

	/* the track itself is node 0 */
	if (__builtin_expect(tree->nodes[run->current].key != key || top->depth != depth ||
				     !run->current,
			     0))
		return false;
	if (__builtin_expect(
		    !close_call(tree, run->current, top->function, run->now_ns - top->time_ns), 0))
		return false;
	run->last = run->current;
	run->current = top[-1].mark;
	run->top--;
	return true;
}

/* False: it is not a usual one, and all is as before but the time. */
static inline __attribute__((always_inline)) bool add_usual(struct sonde_call_tree *tree,
							    struct run *run, uint64_t time_ns,
							    uint64_t key, uint32_t kind,
							    uint32_t depth)
{
	run->now_ns = time_ns > run->now_ns ? time_ns : run->now_ns;
	if (kind == SONDE_EVENT_CALL)
		return add_usual_call(tree->nodes, run, key, depth);
	return kind == SONDE_EVENT_RETURN && add_usual_return(tree, run, key, depth);
}

static inline __attribute__((always_inline)) enum sonde_status
add_events(struct sonde_call_tree *tree, const struct sonde_event *events, size_t count,
	   const struct listener *listener, struct sonde_error *err)
{
	enum sonde_status status;
	struct run run;

	run_load(tree, &run);
	for (const struct sonde_event *event = events, *end = events + count; event < end;
	     event++) {
		if (__builtin_expect(!add_usual(tree, &run, event->time_ns, event->function,
						event->kind, event->depth),
				     0)) {
			run_save(tree, &run);
			status = add_unusual(tree, event, event->function, err);
			if (status < 0)
				return status;
			run_load(tree, &run);
			if (status == SONDE_END)
				continue;
		}
		if (!listener->told)
			continue;
		status = listener->told(listener->user, run.now_ns, run.current, err);
		if (status)
			return status;
	}
	run_save(tree, &run);
	return SONDE_OK;
}

/* Makes room for so many events, which may all be calls, of which the first is at this time. */
static bool prepare(struct sonde_call_tree *tree, size_t count, uint64_t first_ns)
{
	if (!sonde_vec_reserve(&tree->open, count))
		return false;
	if (!tree->has_time) {
		tree->has_time = true;
		tree->first_ns = tree->last_ns = first_ns;
	}
	return true;
}

/* Who knows the functions of raw events. */
struct knower {
	sonde_call_tree_function *function;
	void *user;
};

static enum sonde_status add_unusual_raw(struct sonde_call_tree *tree, const uint8_t *bytes,
					 const struct knower *knower, struct sonde_error *err)
{
	uint64_t key = sonde_load_u64le(bytes + SONDE_RAW_EVENT_KEY);
	uint32_t kind = sonde_load_u32le(bytes + SONDE_RAW_EVENT_KIND);
	struct sonde_event event = {
		.time_ns = tree->last_ns,
		.depth = sonde_load_u32le(bytes + SONDE_RAW_EVENT_DEPTH),
	};
	enum sonde_status status;

	if (kind < SONDE_EVENT_CALL || kind > SONDE_EVENT_EXCEPTION)
		return SONDE_OK;
	event.kind = (uint8_t)kind;
	status = knower->function(knower->user, key, &event.function, err);
	if (status < 0)
		return status;
	status = add_unusual(tree, &event, key, err);
	return status < 0 ? status : SONDE_OK;
}

enum sonde_status sonde_call_tree_add_raw(struct sonde_call_tree *tree, const uint8_t *bytes,
					  size_t count, sonde_call_tree_function *function,
					  void *user, struct sonde_error *err)
{
	const struct knower knower = { .function = function, .user = user };
	const uint8_t *end = bytes + count * SONDE_RAW_EVENT_SIZE;
	enum sonde_status status;
	struct run run;

	if (!count)
		return SONDE_OK;
	if (!prepare(tree, count, sonde_load_u64le(bytes + SONDE_RAW_EVENT_TIME)))
		return sonde_fail_nomem(err);
	run_load(tree, &run);
	for (; bytes < end; bytes += SONDE_RAW_EVENT_SIZE) {
		/* the hardware stops fetching at every page */
		__builtin_prefetch(bytes + FETCH_AHEAD);
		if (__builtin_expect(add_usual(tree, &run,
					       sonde_load_u64le(bytes + SONDE_RAW_EVENT_TIME),
					       sonde_load_u64le(bytes + SONDE_RAW_EVENT_KEY),
					       sonde_load_u32le(bytes + SONDE_RAW_EVENT_KIND),
					       sonde_load_u32le(bytes + SONDE_RAW_EVENT_DEPTH)),
				     1))
			continue;
		run_save(tree, &run);
		status = add_unusual_raw(tree, bytes, &knower, err);
		if (status)
			return status;
		run_load(tree, &run);
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

	if (!count)
		return SONDE_OK;
	if (!prepare(tree, count, events[0].time_ns))
		return sonde_fail_nomem(err);
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
