/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an event of a file is to the model: the part that the pass over a file and the cursors do
 * alike for each event, inline. It gives the time, and keeps the stack of open scopes.
 */
#ifndef SONDE_CFF_WALK_H
#define SONDE_CFF_WALK_H

#include "base/bytes.h"
#include "formats/cff/cff_scan.h"

/* Time of an event by what its chunk and its zone say; updates *last_us. */
static inline uint64_t cff_time_ns(const struct cff_buffer *buffer, uint32_t ordinal, uint32_t time,
				   uint64_t *last_us)
{
	uint64_t us, last = *last_us, ns = 0;

	if (__builtin_expect(buffer->is_exact, 0)) {
		if (ordinal < buffer->nanosecond_count)
			ns = sonde_load_u16le(buffer->nanoseconds + 2 * (size_t)ordinal);
		ns += buffer->base_ns + (uint64_t)time * 1000;
		*last_us = ns / 1000;
		return ns;
	}
	us = (last & ~(uint64_t)UINT32_MAX) | time;
	if (__builtin_expect(us < last, 0) && last - us > (uint64_t)1 << 31)
		us += (uint64_t)1 << 32;
	*last_us = us;
	return us * 1000;
}

static inline uint32_t cff_named_find(const struct cff_named *named, uint32_t ordinal)
{
	return ordinal < named->functions.count ? named->functions.items[ordinal] : SONDE_NONE;
}

/* For a text that `strings` have. */
enum sonde_status cff_named_keep(struct cff_named *named, const struct cff_strings *strings,
				 uint32_t ordinal, uint32_t function, struct sonde_error *err);

/* What the markers before an event say of it; only in files of our own. */
struct cff_marker {
	bool is_exception, is_exact;
	uint32_t kind, function, depth, extra;
};

static inline void cff_marker_take(struct cff_marker *marker, const struct cff_plan *plan,
				   const uint8_t *event)
{
	const uint8_t *slots = event + CFF_EVENT_SIZE;

	if (plan->step == CFF_STEP_EXCEPTION) {
		marker->is_exception = true;
		return;
	}
	marker->is_exact = true;
	marker->kind = sonde_load_u32le(slots);
	marker->function = sonde_load_u32le(slots + 4);
	marker->depth = sonde_load_u32le(slots + 8);
	marker->extra = sonde_load_u32le(slots + 12);
}

static inline bool cff_stack_top(const struct cff_scan *scan, const struct cff_stack *stack,
				 struct cff_frame *top)
{
	if (stack->frames.count) {
		*top = stack->frames.items[stack->frames.count - 1];
		return true;
	}
	if (stack->node == SONDE_NONE) {
		*top = (struct cff_frame){ SONDE_NONE, 0 };
		return false;
	}
	*top = (struct cff_frame){ scan->nodes.items[stack->node].function,
				   scan->nodes.items[stack->node].depth };
	return true;
}

/* There must be a top. */
static inline void cff_stack_pop(const struct cff_scan *scan, struct cff_stack *stack)
{
	if (stack->frames.count)
		stack->frames.count--;
	else
		stack->node = scan->nodes.items[stack->node].parent;
}

static inline bool cff_stack_push(struct cff_stack *stack, uint32_t function, uint32_t depth)
{
	struct cff_frame *frame = sonde_vec_push(&stack->frames);

	if (__builtin_expect(!frame, 0))
		return false;
	*frame = (struct cff_frame){ function, depth };
	return true;
}

/*
 * A leave of nothing where no function stands for it: only where an index is wrong. Then it has no
 * event type either.
 */
static inline void cff_walk_orphan(const struct cff_plan *plan, struct sonde_event *event)
{
	event->kind = SONDE_EVENT_INSTANT;
	event->function = plan->event_type;
}

/* The function of a CALL_NUMBERED; the one of its type where there is none of that number. */
static inline uint32_t cff_walk_numbered(const struct cff_scan *scan, const struct cff_plan *plan,
					 const uint8_t *bytes)
{
	uint32_t number = sonde_load_u32le(bytes + CFF_EVENT_SIZE);

	return sonde_definitions_function(scan->definitions, number) ? number : plan->function;
}

/*
 * Sets kind, function, depth and extra of an event whose function (for CALL_NAMED it was looked
 * up) is given, and enters or leaves scopes. False where memory failed.
 */
static inline bool cff_walk_event(const struct cff_scan *scan, struct cff_stack *stack,
				  const struct cff_plan *plan, uint32_t function,
				  const uint8_t *bytes, struct sonde_event *event)
{
	struct cff_frame top;
	bool is_open = cff_stack_top(scan, stack, &top);

	event->kind = plan->kind;
	event->function = function;
	event->depth = top.depth;
	event->extra = 0;
	switch (plan->step) {
	case CFF_STEP_CALL:
	case CFF_STEP_CALL_NAMED:
	case CFF_STEP_CALL_NUMBERED:
		event->depth++;
		return cff_stack_push(stack, function, event->depth);
	case CFF_STEP_LEAVE:
		event->function = is_open ? top.function : scan->leave_function;
		if (is_open)
			cff_stack_pop(scan, stack);
		else if (event->function == SONDE_NONE)
			cff_walk_orphan(plan, event);
		break;
	case CFF_STEP_EXTRA:
		event->extra = sonde_load_u32le(bytes + CFF_EVENT_SIZE);
		break;
	default:
		break;
	}
	return true;
}

/* The same for an event behind a marker. */
bool cff_walk_marked(const struct cff_scan *scan, struct cff_stack *stack,
		     const struct cff_plan *plan, uint32_t function, const uint8_t *bytes,
		     const struct cff_marker *marker, struct sonde_event *event);

/* Whether an event behind a marker has a detail. */
bool cff_walk_has_detail(const struct cff_scan *scan, const struct cff_plan *plan,
			 const struct sonde_event *event);

#endif
