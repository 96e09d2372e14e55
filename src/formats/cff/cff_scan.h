/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one pass over all events of a file finds: definitions, zones with the number of their
 * events, and an index to start reading from. Memory grows with definitions, zones and pieces
 * (runs of up to 64 Ki events), never with events. After the pass nothing of it changes, so cursors
 * of many threads share it.
 */
#ifndef SONDE_CFF_SCAN_H
#define SONDE_CFF_SCAN_H

#include <sonde/event.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "formats/cff/cff_types.h"

/* A segment of a chunk has at most so many events, of all zones. */
#define CFF_SEGMENT_EVENTS 65536u

/*
 * A piece of a segment ends before a gap, bytes of other zones, where it has so many events already:
 * so readers of zones that take turns pass over little, and there are few pieces for many events.
 */
#define CFF_PIECE_GAP 4096u
#define CFF_PIECE_EVENTS 64u

/*
 * What an id (of a wire or of a zone) meant at which time. Time is counted in definitions: events
 * that define an event type or create a zone, from the start of the file.
 */
struct cff_meaning {
	uint32_t since;
	uint32_t value; /* SONDE_NONE: nothing */
};

struct cff_meaning_list {
	SONDE_VEC(struct cff_meaning) items;
};

struct cff_meanings {
	SONDE_VEC(uint32_t) ids; /* the meaning, or a number of a list with this bit */
#define CFF_MEANINGS_MANY 0x80000000u
	SONDE_VEC(struct cff_meaning_list) lists;
};

uint32_t cff_meanings_find_many(const struct cff_meanings *meanings, uint32_t list,
				uint32_t sequence);

static inline uint32_t cff_meanings_find(const struct cff_meanings *meanings, uint32_t id,
					 uint32_t sequence)
{
	uint32_t value = id < meanings->ids.count ? meanings->ids.items[id] : SONDE_NONE;

	if (__builtin_expect(!(value & CFF_MEANINGS_MANY), 1) || value == SONDE_NONE)
		return value;
	return cff_meanings_find_many(meanings, value & ~CFF_MEANINGS_MANY, sequence);
}

/* The function of leaves without an open scope. */
#define CFF_LEAVE_FUNCTION "wtf.scope#leave"

/* What to do with an event of a type. */
enum cff_step {
	CFF_STEP_EVENT, /* hand it out */
	CFF_STEP_EXTRA, /* the same, with its first argument as `extra` */
	CFF_STEP_COUNTER,
	CFF_STEP_CALL,
	CFF_STEP_CALL_NAMED,	/* the function is named by the first argument */
	CFF_STEP_CALL_NUMBERED, /* ours: the first argument is the function's number */
	CFF_STEP_LEAVE,
	/* from here on: structure, not handed out */
	CFF_STEP_DEFINE,
	CFF_STEP_ZONE_CREATE,
	CFF_STEP_ZONE_SET,
	CFF_STEP_EXCEPTION, /* ours: about the next event, see cff_walk.h */
	CFF_STEP_EXACT,
	CFF_STEP_SKIP,
};

struct cff_plan {
	const struct cff_type *type;
	uint32_t size;	     /* fixed_size of the type */
	uint32_t function;   /* CALL: its function; else the event type */
	uint32_t event_type; /* whose arguments it has; SONDE_NONE: no event is of one */
	uint8_t step;	     /* enum cff_step */
	uint8_t kind;	     /* enum sonde_event_kind */
	bool has_detail;
};

/* An open scope, with those around it. */
struct cff_node {
	uint32_t parent; /* SONDE_NONE: outermost */
	uint32_t function;
	uint32_t depth;
};

/* Events of one zone within a segment of a chunk, and what is known before the first of them. */
struct cff_piece {
	uint64_t first;	  /* index in the zone */
	uint64_t time_ns; /* of the first event */
	uint64_t last_us; /* time of the zone before it, to unwrap from */
	uint32_t count;
	uint32_t chunk;	     /* in cff_image.chunks, and in cff_scan.buffers */
	uint32_t begin, end; /* bytes of the event buffer, first event to last */
	uint32_t ordinal;    /* of the first event, among all of the chunk */
	uint32_t sequence;   /* definitions before it */
	uint32_t stack;	     /* node, or SONDE_NONE */
};

/* The open scopes of a zone: a node, and what was entered since. */
struct cff_frame {
	uint32_t function, depth;
};

struct cff_stack {
	uint32_t node; /* or SONDE_NONE */
	SONDE_VEC(struct cff_frame) frames;
};

struct cff_zone {
	const char *name, *type, *location;
	uint64_t count, details;
	uint64_t first_ns, last_ns;
	SONDE_VEC(struct cff_piece) pieces;
	uint64_t synthetic_head, synthetic_tail; /* so many events at its ends are synthetic */
	/* while the pass goes on */
	uint64_t last_us;
	uint64_t segment; /* of the last piece */
	struct cff_stack stack;
};

/* The events of a chunk, as far as they can be read. */
struct cff_buffer {
	const uint8_t *data;
	uint32_t size;
	uint32_t events;      /* all, with structure */
	uint32_t definitions; /* of those, so many define types or zones */
	uint32_t part;	      /* number in the chunk; SONDE_NONE: has none */
	bool is_faulty;	      /* there is more that cannot be read */
	uint32_t times_part;  /* exact times; SONDE_NONE: none */
	bool is_times_bad;
	bool is_exact; /* times count from base_ns, and are not unwrapped */
	uint64_t base_ns;
	const uint8_t *nanoseconds; /* of each event */
	uint32_t nanosecond_count;
};

/* Functions that texts of a chunk name, by ordinal; SONDE_NONE: not looked up. */
struct cff_named {
	SONDE_VEC(uint32_t) functions;
};

/* A resource. */
struct cff_blob {
	uint32_t chunk, part;
};

/*
 * What the pass did besides counting events and keeping stacks. Done again in the same order, in
 * the same chunks, it leads to the same definitions: cff_cache.h.
 */
enum cff_action_kind {
	CFF_ACTION_STRUCTURE,  /* an event that defines a type or creates a zone; its offset */
	CFF_ACTION_FUNCTION,   /* a function that an event names; the ordinal of its text */
	CFF_ACTION_LEAVE,      /* a leave without a scope got its function */
	CFF_ACTION_EVENT_TYPE, /* ... of a type that had none; the number of that */
	CFF_ACTION_ZONE,       /* a zone for events before any */
	CFF_ACTION_KINDS,
};

struct cff_action {
	uint32_t kind; /* enum cff_action_kind */
	uint32_t chunk;
	uint32_t value;
};

struct cff_scan;

/* Sees each event before it is carried out; a failure ends the pass. */
struct cff_visitor {
	enum sonde_status (*chunk)(struct cff_visitor *visitor, struct cff_scan *scan,
				   uint32_t chunk, struct sonde_error *err);
	enum sonde_status (*event)(struct cff_visitor *visitor, struct cff_scan *scan,
				   const struct cff_type *type, const uint8_t *event, size_t size,
				   struct sonde_error *err);
	/* A definition that is at fault; type NULL: not understood, else it keeps this one. */
	enum sonde_status (*misdefined)(struct cff_visitor *visitor, struct cff_scan *scan,
					const uint8_t *event, const struct cff_type *type,
					struct sonde_error *err);
};

struct cff_scan {
	/* set before the pass */
	const struct cff_image *image;
	struct sonde_diagnostics *findings;
	struct sonde_definitions *definitions; /* gets functions and event types */
	struct cff_visitor *visitor;	       /* NULL: none */
	bool is_check;			       /* also say what existing readers think nothing of */
	bool is_indexed;		       /* found by an index, not by the pass */
	bool keeps_actions;		       /* in `actions` */
	bool is_ours;			       /* written by this library: see cff_ours.h */
	uint64_t origin_ns;		       /* added to every time */
	struct cff_ours *ours; /* what its definitions say of types; NULL: nothing */
	/* found */
	struct cff_types types;
	SONDE_VEC(struct cff_plan) plans; /* by type */
	struct cff_meanings wires, zone_ids;
	/*
	 * By wire id: the size of events that say nothing to readers of other zones, 0 where one has
	 * to look; with this bit they make another zone current, maybe the reader's.
	 */
	SONDE_VEC(uint32_t) passes;
#define CFF_PASS_ZONE 0x80000000u
	SONDE_VEC(struct cff_zone *) zones;
	SONDE_VEC(struct cff_node) nodes;
	SONDE_VEC(struct cff_buffer) buffers; /* by chunk */
	SONDE_VEC(struct cff_blob) blobs;
	struct sonde_text_map functions; /* by name; texts of the image and of types */
	bool has_unnamed;    /* events of functions or event types that no definition told of */
	bool has_bad_events; /* the pass left a buffer before its end */
	struct sonde_trail trail;
	SONDE_VEC(struct cff_action) actions;
	/* private */
	uint32_t chunk;		    /* that is read */
	struct cff_strings strings; /* of the chunk */
	struct cff_named named;	    /* by those */
	struct sonde_arena texts;
	struct sonde_text_map zones_by_key;
	struct sonde_buffer key;
	uint32_t sequence;
	uint32_t zone; /* current; SONDE_NONE: one that was not created */
	uint64_t segment;
	uint32_t leave_function; /* SONDE_NONE: not met yet */
};

enum sonde_status cff_scan_run(struct cff_scan *scan, struct sonde_error *err);
void cff_scan_release(struct cff_scan *scan);

/* Finds the events of a chunk, its exact times and its resources, and says what is wrong. */
enum sonde_status cff_scan_chunk_parts(struct cff_scan *scan, uint32_t number,
				       struct cff_buffer *buffer, struct sonde_error *err);

/* The next of the chunks gets its place in `buffers`, with what its parts say. */
enum sonde_status cff_scan_add_buffer(struct cff_scan *scan, struct sonde_error *err);
/* Reads the events of a chunk that has its place; with an index, only those of structure. */
enum sonde_status cff_scan_read_chunk(struct cff_scan *scan, uint32_t number,
				      struct sonde_error *err);

/* What is left to do when all chunks were read. */
enum sonde_status cff_scan_finish(struct cff_scan *scan, struct sonde_error *err);

/* Carry out what an event of structure says: cff_define.c. */
enum sonde_status cff_scan_init(struct cff_scan *scan, struct sonde_error *err);
enum sonde_status cff_scan_define(struct cff_scan *scan, const uint8_t *event,
				  struct sonde_error *err);
enum sonde_status cff_scan_create_zone(struct cff_scan *scan, const uint8_t *event,
				       struct sonde_error *err);
enum sonde_status cff_scan_add_zone(struct cff_scan *scan, struct sonde_error *err);
/* The function of a name, which is added where it is new and must stay. */
enum sonde_status cff_scan_add_function(struct cff_scan *scan, const char *name, size_t length,
					uint32_t *function, struct sonde_error *err);

/* The event type of a type that has a plan. */
enum sonde_status cff_scan_add_event_type(struct cff_scan *scan, const struct cff_type *type,
					  struct sonde_error *err);

/* Where in the file, for findings. */
static inline uint64_t cff_scan_offset(const struct cff_scan *scan, const uint8_t *at)
{
	return cff_image_offset(scan->image, (uint64_t)(at - scan->image->data));
}

#endif
