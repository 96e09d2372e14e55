/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each unit does to the open calls of a thread. Units that fit what is open, which is nearly
 * all of them, are converted in one loop; the others take the long way, one function for each
 * kind. call_stacks.c finds the lane of a stack address, call_lane.c opens and closes calls.
 *
 * Limits: a coroutine that moves to another thread starts there with no open calls. A handler on a
 * signal stack that switches to a coroutine and back is taken for a second handler, inside the
 * coroutine. In a function that calls itself, a jump out of the inner call that nobody announced
 * shows only at the return of the next other function.
 */
#include "record/calls.h"

#include <stdlib.h>
#include <string.h>

#include "record/call_lane.h"

/* The own hook of a function is called this near to its start; code farther on is inlined. */
#define PROLOGUE_MAX 4096
/* How far down the call of a return is looked for. */
#define SEARCH_MAX 1024

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static size_t inlined_slot(uint64_t place)
{
	return place * UINT64_C(0x9e3779b97f4a7c15) >> 56;
}

_Static_assert(INLINED_PLACES == 1 << 8, "inlined_slot() gives 8 bits");

/*
 * A call with the stack pointer of the innermost one, from a place known to be in an inlined
 * function: it is inside, unless that very place is among the calls that are open there.
 */
static bool fits_inlined(const struct calls *calls, const struct open_call *top, uint64_t place)
{
	uint64_t stack = top->stack;

	if (calls->inlined[inlined_slot(place)] != place)
		return false;
	for (; top->stack == stack; top--)
		if (top->place == place)
			return false;
	return true;
}

/* Before the rest of a unit is looked at: it is only there once its word is. */
static uint64_t word_of(const struct shared_unit *unit)
{
	return __atomic_load_n(&unit->word, __ATOMIC_ACQUIRE);
}

/* Which units to take: what they must have in their word, and their time at most. */
struct lap {
	uint64_t bits, mask;
	uint64_t until;
};

/*
 * Converts units up to the first that is not plain, is not of the lap, or that fills the lane's
 * events or open calls, and returns it.
 */
static const struct shared_unit *convert_plain(struct calls *calls, const struct shared_unit *unit,
					       const struct shared_unit *end, struct lap lap)
{
	struct call_lane *lane = calls->current;
	const struct record_clock clock = *calls->clock;
	const uint64_t low = calls->window_low + 1, size = calls->window_size;
	const uint32_t flags = calls->gaps & CALL_GAPS;
	struct open_call *top = lane->open + lane->depth;
	const struct open_call *limit = lane->open + lane->capacity,
			       *mark = lane->open + lane->mark;
	struct atf_index_event *event = lane->events + lane->event_count;
	struct atf_index_event *first = event;
	size_t room = lane->event_capacity - lane->event_count;
	uint32_t depth = (uint32_t)lane->depth, thread_id = lane->thread_id;
	uint64_t last_ns = calls->last_ns, call_count = 0;

	if ((size_t)(end - unit) > room)
		end = unit + room; /* each makes one event */
	for (; unit < end; unit++) {
		uint64_t word = word_of(unit), function = word & UNIT_FUNCTION_MASK;
		uint32_t kind = (uint32_t)(word >> UNIT_KIND_SHIFT);
		uint64_t stack = unit->stack, ns = record_clock_ns(&clock, unit->time);

		if (UNLIKELY(((word ^ lap.bits) & lap.mask) || unit->time > lap.until ||
			     stack - low >= size))
			break;
		if (ns < last_ns)
			ns = last_ns;
		if (kind == UNIT_CALL || kind == UNIT_ENTRY) {
			uint64_t id;

			if (UNLIKELY(stack >= top->stack) &&
			    (kind != UNIT_CALL || stack > top->stack ||
			     !fits_inlined(calls, top, unit->place)))
				break;
			if (UNLIKELY(top == limit))
				break;
			id = load_map_function(calls->map, function, unit->time);
			if (UNLIKELY(!id))
				break;
			top++;
			top->stack = stack;
			top->place = unit->place;
			top->function = function;
			top->function_id = id;
			top->time_ns = ns;
			top->flags = flags | (kind == UNIT_ENTRY ? CALL_PATCHED : 0);
			event->function_id = id;
			event->event_kind = ATF_KIND_CALL;
			event->call_depth = ++depth;
			call_count++;
		} else {
			bool fits = kind == UNIT_RETURN ?
					    top->function == function && top[-1].stack >= stack :
					    kind == UNIT_EXIT && top->stack == stack &&
						    top[-1].stack != stack;

			if (UNLIKELY(!fits || top <= mark))
				break;
			event->function_id = top->function_id;
			event->event_kind = ATF_KIND_RETURN;
			event->call_depth = depth--;
			top--;
		}
		event->timestamp_ns = last_ns = ns;
		event->thread_id = thread_id;
		event->detail_seq = ATF_NO_LINK;
		event++;
	}
	lane->depth = depth;
	lane->event_count = (size_t)(event - lane->events);
	calls->last_ns = last_ns;
	if (event > first)
		calls->last_ticks = unit[-1].time;
	calls->counts.calls += call_count;
	calls->counts.returns += (uint64_t)(event - first) - call_count;
	return unit;
}

/* The depth down to which calls of the innermost stack are above a stack address. */
static size_t alive_depth(const struct call_lane *lane, uint64_t stack)
{
	size_t depth = lane->depth, base = call_lane_base(lane);

	while (depth > base && lane->open[depth].stack < stack)
		depth--;
	return depth;
}

/*
 * Whether the hook that was called from `place` is in code that was inlined somewhere, so that it
 * has no frame of its own. A function's own hook is the first that it calls: near its start, with
 * no other function's start and no other hook in between. Whoever a function is inlined into was
 * met before it, for its hook comes first. Once inlined is always inlined, so that is remembered.
 */
static bool is_inlined(struct calls *calls, const struct open_call *top,
		       const struct call_unit *unit)
{
	uint64_t function = unit->function, place = unit->unit->place;

	if (calls->inlined[inlined_slot(place)] == place)
		return true;
	load_map_function(calls->map, function, unit->unit->time);
	if (place - function < PROLOGUE_MAX &&
	    load_map_nearest(calls->map, place, function) == function &&
	    !(top->place >= function && top->place < place))
		return false;
	calls->inlined[inlined_slot(place)] = place;
	return true;
}

/* Calls open with the very stack pointer of a new one: are they around it, or gone? */
static size_t alive_equal(struct calls *calls, const struct call_lane *lane, size_t depth,
			  const struct call_unit *unit)
{
	size_t base = call_lane_base(lane), bottom = depth;
	uint64_t stack = unit->unit->stack;

	while (bottom > base && lane->open[bottom].stack == stack)
		bottom--;
	if (bottom == depth)
		return depth;
	/* the same hook again without a return: gone, with all that it had called */
	for (size_t i = bottom + 1; i <= depth; i++)
		if (lane->open[i].place == unit->unit->place)
			return i - 1;
	return is_inlined(calls, &lane->open[depth], unit) ? depth : bottom;
}

static enum sonde_status on_call(struct calls *calls, struct call_lane *lane,
				 const struct call_unit *unit, struct sonde_error *err)
{
	size_t alive = alive_equal(calls, lane, alive_depth(lane, unit->unit->stack), unit);
	enum sonde_status status = call_lane_leave(calls, lane, alive, unit->ns, err);

	if (status >= 0)
		status = call_lane_push(calls, lane, unit, 0, err);
	return status;
}

static enum sonde_status on_entry(struct calls *calls, struct call_lane *lane,
				  const struct call_unit *unit, bool tail, struct sonde_error *err)
{
	uint64_t least = unit->unit->stack + !tail;
	enum sonde_status status =
		call_lane_leave(calls, lane, alive_depth(lane, least), unit->ns, err);

	if (status >= 0)
		status = call_lane_push(calls, lane, unit, CALL_PATCHED, err);
	return status;
}

static bool is_hook_of(const struct call_lane *lane, size_t depth, uint64_t function)
{
	return depth <= lane->depth && lane->open[depth].function == function &&
	       !(lane->open[depth].flags & CALL_PATCHED);
}

/*
 * The depth of the call that returns; 0 for none. `alive`: calls deeper than this are below the
 * stack pointer. They are gone, but for the outermost of them: where a function's last act is a
 * jump to its exit hook, this one is called with the stack pointer of the caller. (All void
 * functions end so where gcc or clang optimise.) The slot of the return address, which the patched
 * entry of the same function has noted, lies between the two.
 */
static size_t find_return(const struct call_lane *lane, size_t alive, uint64_t stack,
			  uint64_t function)
{
	size_t base = call_lane_base(lane);

	if (is_hook_of(lane, alive + 1, function))
		return alive + 1;
	if (alive < lane->depth && lane->open[alive + 1].stack + sizeof(uint64_t) == stack &&
	    is_hook_of(lane, alive + 2, function))
		return alive + 2;
	for (size_t depth = alive; depth > base && alive - depth < SEARCH_MAX; depth--)
		if (is_hook_of(lane, depth, function))
			return depth;
	return 0;
}

static enum sonde_status on_return(struct calls *calls, struct call_lane *lane,
				   const struct call_unit *unit, struct sonde_error *err)
{
	size_t alive = alive_depth(lane, unit->unit->stack);
	size_t depth = find_return(lane, alive, unit->unit->stack, unit->function);
	enum sonde_status status =
		call_lane_leave(calls, lane, depth ? depth : alive, unit->ns, err);

	if (!depth)
		calls->counts.returns_without_call++;
	else if (status >= 0)
		status = call_lane_return(calls, lane, unit, err);
	return status;
}

static enum sonde_status on_slot_exit(struct calls *calls, struct call_lane *lane,
				      const struct call_unit *unit, struct sonde_error *err)
{
	uint64_t stack = unit->unit->stack;
	size_t base = call_lane_base(lane);
	enum sonde_status status =
		call_lane_leave(calls, lane, alive_depth(lane, stack), unit->ns, err);

	if (lane->depth == base || lane->open[lane->depth].stack != stack)
		calls->counts.returns_without_call++;
	while (status >= 0 && lane->depth > base && lane->open[lane->depth].stack == stack)
		status = call_lane_return(calls, lane, unit, err);
	return status;
}

static enum sonde_status on_note(struct calls *calls, enum unit_kind kind,
				 const struct call_unit *unit, struct sonde_error *err)
{
	const char *text = "";
	size_t size = 0;
	enum sonde_status status = calls_flush(calls, err);

	if (status < 0 || !calls->output.note)
		return status;
	if (unit->detail && kind == UNIT_MARK) {
		size_t room =
			(unit->detail->units - 1) * sizeof(*unit->unit) - sizeof(*unit->detail);

		text = (const char *)(unit->detail + 1);
		size = unit->unit->place < room ? unit->unit->place : room;
	}
	return calls->output.note(calls->output.context, kind, unit->ns, unit->unit, text, size,
				  err);
}

/* Units that say something of a stack address. */
static enum sonde_status on_stack_unit(struct calls *calls, enum unit_kind kind,
				       const struct call_unit *unit, struct sonde_error *err)
{
	bool create = kind == UNIT_CALL || kind == UNIT_ENTRY || kind == UNIT_ENTRY_TAIL;
	uint64_t stack = unit->unit->stack;
	struct call_lane *lane;
	enum sonde_status status = calls_locate(calls, stack, create, unit->ns, &lane, err);

	if (status < 0)
		return status;
	if (!lane) {
		calls->counts.returns_without_call += kind == UNIT_RETURN || kind == UNIT_EXIT;
		return SONDE_OK;
	}
	if (kind == UNIT_CALL)
		status = on_call(calls, lane, unit, err);
	else if (kind == UNIT_RETURN)
		status = on_return(calls, lane, unit, err);
	else if (kind == UNIT_EXIT)
		status = on_slot_exit(calls, lane, unit, err);
	else if (create)
		status = on_entry(calls, lane, unit, kind == UNIT_ENTRY_TAIL, err);
	else /* longjmp() or a handler of exceptions */
		status = call_lane_leave(calls, lane, alive_depth(lane, stack), unit->ns, err);
	if (kind == UNIT_CATCH)
		call_lane_catch(lane);
	if (status >= 0)
		status = call_lane_write_held(calls, lane, unit->ns, false, err);
	return status;
}

static enum sonde_status convert_unit(struct calls *calls, enum unit_kind kind,
				      const struct call_unit *unit, struct sonde_error *err)
{
	switch (kind) {
	case UNIT_CALL:
	case UNIT_RETURN:
	case UNIT_ENTRY:
	case UNIT_ENTRY_TAIL:
	case UNIT_EXIT:
	case UNIT_UNWIND:
	case UNIT_CATCH:
		return on_stack_unit(calls, kind, unit, err);
	case UNIT_THROW:
		call_lane_throw(calls->current);
		return SONDE_OK;
	case UNIT_THREAD_EXIT:
		call_lane_exit(calls->current);
		return SONDE_OK;
	case UNIT_GAP:
	case UNIT_RESUME:
		calls->counts.dropped += kind == UNIT_GAP ? unit->unit->place : 0;
		calls->gap_ns = unit->ns;
		calls->gaps++;
		return SONDE_OK;
	case UNIT_STACK:
		return calls_announce(calls, unit, err);
	case UNIT_MARK:
	case UNIT_REQUEST:
	case UNIT_FORK:
		return on_note(calls, kind, unit, err);
	default:
		return SONDE_OK;
	}
}

/* Looks into the first of `count` units, converts it and tells how long its record is. */
static enum sonde_status convert_record(struct calls *calls, const struct shared_unit *units,
					size_t count, size_t *used, struct sonde_error *err)
{
	uint32_t kind = (uint32_t)(units->word >> UNIT_KIND_SHIFT);
	struct call_unit unit = { .unit = units, .function = units->word & UNIT_FUNCTION_MASK };
	const size_t fixed = 1 + sizeof(struct shared_detail) / sizeof(*units);

	*used = 1;
	if (kind & UNIT_DETAIL) {
		unit.detail = (const struct shared_detail *)(units + 1);
		if (count < fixed || unit.detail->units < fixed || unit.detail->units > count ||
		    unit.detail->stack_size > (unit.detail->units - fixed) * sizeof(*units))
			return sonde_fail(
				err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				"a record of %u units with %u bytes of stack, where %zu are left; "
				"the memory of the recorded program may be damaged",
				count < fixed ? 0 : unit.detail->units,
				count < fixed ? 0 : unit.detail->stack_size, count);
		*used = unit.detail->units;
		kind &= ~UNIT_DETAIL;
	}
	if (kind == UNIT_EMPTY || kind >= UNIT_SKIP)
		return SONDE_OK;
	calls->last_ticks = units->time;
	unit.ns = record_clock_ns(calls->clock, units->time);
	if (unit.ns < calls->last_ns)
		unit.ns = calls->last_ns;
	calls->last_ns = unit.ns;
	return convert_unit(calls, kind, &unit, err);
}

static enum sonde_status convert(struct calls *calls, const struct shared_unit *units, size_t count,
				 struct lap lap, size_t *done, struct sonde_error *err)
{
	const struct shared_unit *unit = units, *end = units + count;
	enum sonde_status status = SONDE_OK;

	while (unit < end && status >= 0) {
		struct call_lane *lane = calls->current;
		size_t used;

		if (LIKELY(calls->plain)) {
			if (!lane->event_count)
				call_lane_place(calls, lane);
			unit = convert_plain(calls, unit, end, lap);
			if (unit == end)
				break;
			if (lane->event_count == lane->event_capacity) {
				status = call_lane_flush(calls, lane, err);
				continue;
			}
		}
		if (lap.mask &&
		    (((word_of(unit) ^ lap.bits) & lap.mask) ||
		     unit->word >> UNIT_KIND_SHIFT == UNIT_SKIP || unit->time > lap.until))
			break;
		status = convert_record(calls, unit, (size_t)(end - unit), &used, err);
		unit += used;
	}
	*done = (size_t)(unit - units);
	return status < 0 ? status : SONDE_OK;
}

enum sonde_status calls_convert(struct calls *calls, const struct shared_unit *units, size_t count,
				struct sonde_error *err)
{
	size_t done;

	return convert(calls, units, count, (struct lap){ .until = UINT64_MAX }, &done, err);
}

enum sonde_status calls_convert_lap(struct calls *calls, const struct shared_unit *units,
				    size_t count, uint64_t lap, uint64_t until, size_t *done,
				    struct sonde_error *err)
{
	struct lap wanted = { .bits = lap << UNIT_LAP_SHIFT,
			      .mask = UINT64_C(0xff) << UNIT_LAP_SHIFT,
			      .until = until };

	return convert(calls, units, count, wanted, done, err);
}

uint64_t calls_last_ticks(const struct calls *calls)
{
	return calls->last_ticks;
}

enum sonde_status calls_new(struct calls **calls, const struct calls_options *options,
			    const struct record_clock *clock, struct load_map *map,
			    uint64_t stack_low, uint64_t stack_high,
			    const struct calls_output *output, struct sonde_error *err)
{
	struct calls *made = calloc(1, sizeof(*made));
	enum sonde_status status;

	*calls = NULL;
	if (!made)
		return sonde_fail_nomem(err);
	made->options = *options;
	made->output = *output;
	made->clock = clock;
	made->map = map;
	made->plain = !options->max_depth && !options->min_time_ns;
	status = calls_add_lane(made, NULL, err);
	if (status < 0 || !stacks_init(&made->stacks, map->pid, stack_low, stack_high)) {
		calls_free(made);
		return sonde_fail_nomem(err);
	}
	made->current = made->lanes.items[0];
	*calls = made;
	return SONDE_OK;
}

void calls_free(struct calls *calls)
{
	if (!calls)
		return;
	for (size_t i = 0; i < calls->lanes.count; i++)
		call_lane_free(calls->lanes.items[i]);
	sonde_vec_release(&calls->lanes);
	sonde_vec_release(&calls->waiting);
	stacks_release(&calls->stacks);
	free(calls);
}

enum sonde_status calls_copy_open(const struct calls *calls, struct open_call **open, size_t *count,
				  struct sonde_error *err)
{
	const struct call_lane *lane = calls->current;

	*count = 0;
	*open = calloc(lane->depth + 1, sizeof(**open));
	if (!*open)
		return sonde_fail_nomem(err);
	memcpy(*open, lane->open + 1, lane->depth * sizeof(**open));
	*count = lane->depth;
	return SONDE_OK;
}

enum sonde_status calls_reopen(struct calls *calls, const struct open_call *open, size_t count,
			       uint64_t time_ns, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	if (time_ns < calls->last_ns)
		time_ns = calls->last_ns;
	calls->last_ns = time_ns;
	for (size_t i = 0; i < count && status >= 0; i++)
		status = call_lane_reopen(calls, calls->lanes.items[0], &open[i], time_ns, err);
	if (calls->current != calls->lanes.items[0])
		calls_let_wait(calls, calls->lanes.items[0]);
	return status < 0 ? status : calls_flush(calls, err);
}

const struct open_call *calls_open(const struct calls *calls, uint32_t lane, size_t *count)
{
	*count = 0;
	if (lane >= calls->lanes.count)
		return NULL;
	*count = calls->lanes.items[lane]->depth;
	return calls->lanes.items[lane]->open + 1;
}

enum sonde_status calls_end(struct calls *calls, bool left, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	calls->gaps = 0; /* what is open now did not end unseen */
	for (size_t i = 0; i < calls->lanes.count && status >= 0; i++) {
		struct call_lane *lane = calls->lanes.items[i];

		for (size_t depth = 1; depth <= lane->depth; depth++)
			lane->open[depth].flags &= ~CALL_GAPS;
		status = left ? call_lane_leave(calls, lane, 0, calls->last_ns, err) :
				call_lane_write_held(calls, lane, calls->last_ns, true, err);
		if (lane != calls->current)
			calls_let_wait(calls, lane);
	}
	return status < 0 ? status : calls_flush(calls, err);
}

const struct calls_counts *calls_counts(const struct calls *calls)
{
	return &calls->counts;
}
