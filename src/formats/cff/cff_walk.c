/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by their names in a chunk; and events behind a marker, which says what they are. */
#include "formats/cff/cff_walk.h"

enum sonde_status cff_named_keep(struct cff_named *named, const struct cff_strings *strings,
				 uint32_t ordinal, uint32_t function, struct sonde_error *err)
{
	while (named->functions.count < strings->starts.count) {
		uint32_t *place = sonde_vec_push(&named->functions);

		if (!place)
			return sonde_fail_nomem(err);
		*place = SONDE_NONE;
	}
	named->functions.items[ordinal] = function;
	return SONDE_OK;
}

static bool is_known(const struct cff_scan *scan, const struct sonde_event *event,
		     uint32_t function)
{
	return sonde_event_has_function(event) ?
		       function < sonde_definitions_function_count(scan->definitions) :
		       function < sonde_definitions_event_type_count(scan->definitions);
}

static bool is_call(const struct cff_plan *plan)
{
	return plan->step >= CFF_STEP_CALL && plan->step <= CFF_STEP_CALL_NUMBERED;
}

/* Where a marker names nothing that exists: what the event would be without it. */
static uint32_t own_function(const struct cff_scan *scan, const struct cff_plan *plan,
			     uint32_t function, const struct cff_frame *top,
			     const struct sonde_event *event)
{
	if (!sonde_event_has_function(event))
		return plan->event_type;
	if (is_call(plan))
		return function;
	return top->function != SONDE_NONE ? top->function : scan->leave_function;
}

bool cff_walk_marked(const struct cff_scan *scan, struct cff_stack *stack,
		     const struct cff_plan *plan, uint32_t function, const uint8_t *bytes,
		     const struct cff_marker *marker, struct sonde_event *event)
{
	struct cff_frame top;
	bool is_done;

	if (!marker->is_exact) {
		is_done = cff_walk_event(scan, stack, plan, function, bytes, event);
		if (marker->is_exception && plan->step == CFF_STEP_LEAVE)
			event->kind = SONDE_EVENT_EXCEPTION;
		return is_done;
	}
	cff_stack_top(scan, stack, &top);
	event->kind = marker->kind < SONDE_EVENT_KIND_COUNT ? (uint8_t)marker->kind :
							      SONDE_EVENT_OTHER;
	event->depth = marker->depth;
	event->extra = marker->extra;
	event->function = is_known(scan, event, marker->function) ?
				  marker->function :
				  own_function(scan, plan, function, &top, event);
	if (event->function == SONDE_NONE) {
		event->kind = SONDE_EVENT_INSTANT;
		event->function = plan->event_type;
	}
	if (event->kind != SONDE_EVENT_CALL && !sonde_event_leaves(event))
		return true;
	while (cff_stack_top(scan, stack, &top) && top.depth >= marker->depth)
		cff_stack_pop(scan, stack);
	return event->kind != SONDE_EVENT_CALL ||
	       cff_stack_push(stack, event->function, event->depth);
}

bool cff_walk_has_detail(const struct cff_scan *scan, const struct cff_plan *plan,
			 const struct sonde_event *event)
{
	const struct sonde_event_type *type;

	if (event->kind == SONDE_EVENT_COUNTER || !plan->type->field_count ||
	    plan->step == CFF_STEP_CALL_NUMBERED)
		return false;
	if (sonde_event_has_function(event))
		return true;
	type = sonde_definitions_event_type(scan->definitions, event->function);
	return type && *sonde_definitions_string(scan->definitions, type->arguments);
}
