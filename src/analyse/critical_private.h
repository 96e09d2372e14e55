/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the search for the critical path works on: the tree of contexts, where each track was every 4096
 * events, and what ties tracks together. Filled by critical_gather.c, walked by critical_walk.c.
 */
#ifndef SONDE_ANALYSE_CRITICAL_PRIVATE_H
#define SONDE_ANALYSE_CRITICAL_PRIVATE_H

#include "analyse/critical_names.h"
#include "analyse/critical_path.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/vec.h"

#define BLOCK_EVENTS 4096
#define BLOCKS_KEPT 4

/* An event on another track that one on this track depends on. */
struct critical_tie {
	uint64_t to_index;   /* of the event on this track */
	uint64_t from_index; /* on the other */
	uint64_t from_ns;
	uint32_t from_track;
	uint32_t by; /* event type of a flow */
};

/* A call on this track that a span on another began; its beginning there has the same time. */
struct critical_span_begin {
	uint64_t index; /* of the call */
	uint32_t from_track;
};

/* A span on another track that ended within a call on this one, which began it. */
struct critical_span_end {
	uint64_t time_ns;
	uint64_t from_index; /* of the event that ended it */
	uint32_t from_track;
	uint32_t depth; /* of the call here */
	bool is_used;
};

struct critical_track {
	bool is_wanted;
	uint32_t process;
	uint64_t event_count;		      /* in the time that is looked at, and before */
	bool has_first;			      /* it has events in the time that is looked at */
	uint64_t first_ns, last_ns;	      /* the first in it, and the last of all */
	uint64_t left;			      /* events from this one on were walked already */
	SONDE_VEC(uint32_t) nodes;	      /* before every BLOCK_EVENTS-th event */
	SONDE_VEC(struct critical_tie) flows; /* by to_index */
	SONDE_VEC(struct critical_span_begin) span_begins; /* by index */
	SONDE_VEC(struct critical_span_end) span_ends;	   /* by time_ns */
	struct sonde_cursor *cursor;			   /* open from the first use on */
};

/* Events of one track, and in which node it is after each. */
struct critical_block {
	uint32_t track; /* SONDE_NONE: nothing is in it */
	uint64_t first; /* index of events[0] */
	size_t count;
	struct sonde_event events[BLOCK_EVENTS];
	uint32_t nodes[BLOCK_EVENTS];
};

struct critical_flow_event {
	uint64_t time_ns, index;
	uint32_t number, track, event_type;
	uint8_t kind;
};

struct critical_work {
	struct sonde_recording *recording;
	const struct sonde_definitions *definitions;
	struct critical_path *path;
	struct critical_names names;
	struct sonde_meter meter;
	uint64_t from_ns, to_ns; /* both within what was recorded */
	struct critical_track *tracks;
	uint32_t track_count;
	struct {
		struct critical_node *items;
		size_t count, capacity;
	} nodes;
	size_t node_count;	       /* once all events were met: then there are no new ones */
	struct sonde_key_map children; /* (parent, function) -> node */
	SONDE_VEC(uint64_t) node_self; /* ns on all tracks */
	SONDE_VEC(struct critical_flow_event) flow_events;
	struct critical_block *blocks; /* BLOCKS_KEPT */
	unsigned int next_block;
	uint64_t event_total;
};

/* The node after an event that was met in the node before it; SONDE_NONE where memory failed. */
uint32_t critical_step(struct critical_work *work, uint32_t node, const struct sonde_event *event);

/* Tracks, nodes and ties of the recording. */
enum sonde_status critical_gather(struct critical_work *work,
				  const struct sonde_selection_spec *selection,
				  struct sonde_error *err);
/* Ties between spans of a store, in critical_spans.c. */
enum sonde_status critical_gather_spans(struct critical_work *work, struct sonde_error *err);

/* Reads a track from its beginning; `take` gets every event up to the end of the time. */
typedef enum sonde_status critical_take(struct critical_work *work, uint32_t track,
					const struct sonde_batch *batch, size_t count, void *user,
					struct sonde_error *err);
enum sonde_status critical_read(struct critical_work *work, uint32_t track, critical_take *take,
				void *user, struct sonde_error *err);

/* An event by its index, and the node after it; NULL where it cannot be read. Valid for three more. */
const struct sonde_event *critical_event(struct critical_work *work, uint32_t track, uint64_t index,
					 uint32_t *node, struct sonde_error *err);
/* How many events of a track are not after this time. */
uint64_t critical_index_after(struct critical_work *work, uint32_t track, uint64_t time_ns);

void critical_work_release(struct critical_work *work);

#endif
