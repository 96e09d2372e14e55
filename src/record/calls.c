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

/* How far ahead of the one being converted units are fetched from memory. */
#define UNITS_AHEAD 64

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
static bool fits_inlined(const struct calls *calls, const struct open_call *top,
			 const struct shared_unit *unit)
{
	uint64_t stack = top->stack, place = unit->place;

	if (unit->stack != stack || calls->inlined[inlined_slot(place)] != place)
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

/* The last word of a detail: how long its stack is, no flags, how long its record. */
#define SHAPE_UNIT (UINT64_C(1) << 32)

_Static_assert(offsetof(struct shared_detail, stack_size) == offsetof(struct shared_unit, word) &&
		       offsetof(struct shared_detail, units) == 28,
	       "the shape of a detail is in its last word");

/* How many events a run can make, if all of them are calls. */
static size_t run_room(const struct call_lane *lane, bool details)
{
	size_t room = lane->event_capacity - lane->event_count;

	if (room > lane->capacity - lane->depth)
		room = lane->capacity - lane->depth;
	return details && room > DETAILS_AT_ONCE ? DETAILS_AT_ONCE : room;
}

/*
 * Behind the last unit that a record may begin with: each takes `stride` units, or some more, and
 * makes one event.
 */
static inline const struct shared_unit *run_end(const struct shared_unit *unit,
						const struct shared_unit *end, size_t stride,
						size_t more, size_t room)
{
	end -= stride + more - 1;
	return end - unit > (ptrdiff_t)(room * stride) ? unit + room * stride : end;
}

/* How many ticks after the clock's base the next event can be: earlier it would be before the last. */
static uint64_t earliest(const struct calls *calls)
{
	const struct record_clock *clock = calls->clock;
	uint64_t ns = calls->last_ns - clock->base_ns;

	if (calls->last_ns <= clock->base_ns)
		return 0;
	return ns > UINT32_MAX - 1 ? UINT64_MAX :
				     ((ns << 32) + clock->multiplier - 1) / clock->multiplier;
}

/* What a run did to the current lane: its events end here, and this is the innermost call. */
static void note_run(struct calls *calls, const struct open_call *top,
		     const struct atf_index_event *end)
{
	struct call_lane *lane = calls->current;
	size_t count = (size_t)(end - lane->events) - lane->event_count;
	size_t depth = (size_t)(top - lane->open);
	size_t surplus = depth - lane->depth; /* of calls over returns, modulo 2^64 */

	if (!count)
		return;
	calls->counts.calls += (count + surplus) / 2;
	calls->counts.returns += (count - surplus) / 2;
	calls->last_ns = end[-1].timestamp_ns;
	lane->depth = depth;
	lane->event_count += count;
}

/* Details are fetched while others are encoded. */
static inline void fetch_ahead(const struct shared_unit *unit, bool details)
{
	if (!details)
		__builtin_prefetch(unit + UNITS_AHEAD);
}

/* Whether a unit is a return of the innermost call; `word` is what it differs in from that of no function. */
static inline bool is_return(const struct open_call *top, uint64_t stack, uint64_t word,
			     bool patched)
{
	return patched ? stack == top->stack && word <= UNIT_FUNCTION_MASK : word == top->function;
}

/* Whether it is one of the call around that, too. */
static inline bool is_outer_return(const struct open_call *top, uint64_t stack, bool patched)
{
	return patched ? top[-1].stack == stack : top[-1].stack < stack;
}

/* Looks up a function that begins; false where that has other bits, so that this is another unit, or memory is out. */
static bool keep_id(struct calls *calls, struct load_map_id *kept, uint64_t function,
		    uint64_t ticks)
{
	return function <= UNIT_FUNCTION_MASK && load_map_keep(calls->map, kept, function, ticks);
}

/* What all units of a run have in common. */
struct way {
	uint64_t in, out; /* the words of a call and of a return of no function */
	uint64_t shape;	  /* of the detail of a return */
	size_t registers; /* units of them, behind the detail of a call */
	uint32_t flags;	  /* of calls */
};

static inline __attribute__((always_inline)) struct way way_of(const struct calls *calls,
							       const struct shared_unit *unit,
							       bool patched, bool details,
							       size_t stride)
{
	uint64_t with = (word_of(unit) & UINT64_C(0xff) << UNIT_LAP_SHIFT) |
			(details ? (uint64_t)UNIT_DETAIL << UNIT_KIND_SHIFT : 0);

	return (struct way){
		.in = (uint64_t)(patched ? UNIT_ENTRY : UNIT_CALL) << UNIT_KIND_SHIFT | with,
		.out = (uint64_t)(patched ? UNIT_EXIT : UNIT_RETURN) << UNIT_KIND_SHIFT | with,
		.shape = details ? (unit[1].word & UINT16_MAX) + stride * SHAPE_UNIT : 0,
		.registers = details && patched ? 1 : 0,
		.flags = (calls->gaps & CALL_GAPS) | (patched ? CALL_PATCHED : 0),
	};
}

static inline bool has_shape(const struct shared_unit *unit, uint64_t shape, bool details)
{
	return !details || LIKELY(unit[1].word == shape);
}

/* How many ticks after the clock's base a unit can be to be taken. */
static inline uint64_t latest(const struct calls *calls, const struct lap *lap)
{
	uint64_t ticks = lap->until - calls->clock->base_ticks;

	return ticks < UINT32_MAX ? ticks : UINT32_MAX;
}

/*
 * Converts units of one way to record, up to the first that is not plain, that is not to be taken,
 * or that fills the lane's events or open calls, and returns it. Everything else takes the long
 * way; here is nothing but what nearly all units need, in as few instructions as can be. So kind,
 * lap and function are compared in one go, as what a unit differs in from one of no function.
 * `stride`: units of a record, more than one where all have details; entries then have one more.
 */
static inline __attribute__((always_inline)) const struct shared_unit *
convert_run(struct calls *calls, const struct shared_unit *unit, const struct shared_unit *end,
	    const struct lap *lap, const bool patched, const bool details, const size_t stride)
{
	struct call_lane *lane = calls->current;
	const uint64_t base_ticks = calls->clock->base_ticks, base_ns = calls->clock->base_ns;
	const uint64_t multiplier = calls->clock->multiplier;
	const uint64_t far = latest(calls, lap);
	const uint64_t low = calls->window_low, high = low + calls->window_size;
	const struct way way = way_of(calls, unit, patched, details, stride);
	const struct shared_unit **source = calls->sources;
	const uint64_t call = event_word(lane->thread_id, ATF_KIND_CALL);
	const uint64_t leave = event_word(lane->thread_id, ATF_KIND_RETURN);
	const struct open_call *mark = lane->open + lane->mark;
	struct open_call *top = lane->open + lane->depth;
	uint64_t *event = (uint64_t *)(lane->events + lane->event_count);
	uint64_t least = earliest(calls);

	end = run_end(unit, end, stride, way.registers, run_room(lane, details));
	for (; unit < end; unit += stride) {
		uint64_t word = word_of(unit), ticks = unit->time - base_ticks, stack;

		/* the order keeps compilers from making one condition of them, which takes longer */
		if (UNLIKELY(ticks > far))
			break;
		stack = unit->stack;
		if (UNLIKELY(stack <= low))
			break;
		fetch_ahead(unit, details);
		if (UNLIKELY(ticks < least))
			break;
		event[0] = base_ns + (ticks * multiplier >> 32);
		if (UNLIKELY(stack > high))
			break;
		if (details)
			*source = unit;
		if (is_return(top, stack, word ^ way.out, patched)) {
			if (UNLIKELY(top <= mark) || UNLIKELY(is_outer_return(top, stack, patched)))
				break;
			if (!has_shape(unit, way.shape, details))
				break;
			event[1] = top->function_id;
			event[2] = leave;
			event[3] = top->tail;
			top--;
		} else {
			uint64_t function = word ^ way.in;
			struct load_map_id *kept;

			if (UNLIKELY(stack >= top->stack) &&
			    (patched || !fits_inlined(calls, top, unit)))
				break;
			if (!has_shape(unit, way.shape + way.registers * SHAPE_UNIT, details))
				break;
			kept = load_map_kept(calls->map, function);
			if (UNLIKELY(kept->function != function) &&
			    !keep_id(calls, kept, function, unit->time))
				break;
			top++;
			top->stack = stack;
			top->place = unit->place;
			top->function = function;
			event[1] = top->function_id = kept->id;
			top->flags = way.flags;
			event[2] = call;
			event[3] = top->tail;
			unit += way.registers;
		}
		event += 4;
		least = ticks;
		source++;
	}
	if (event > (uint64_t *)(lane->events + lane->event_count))
		calls->last_ticks = base_ticks + least;
	note_run(calls, top, (struct atf_index_event *)event);
	return unit;
}

/* One function for each way, or there would not be enough registers. */
static __attribute__((noinline)) const struct shared_unit *
convert_hooks(struct calls *calls, const struct shared_unit *unit, const struct shared_unit *end,
	      const struct lap *lap)
{
	return convert_run(calls, unit, end, lap, false, false, 1);
}

static __attribute__((noinline)) const struct shared_unit *
convert_entries(struct calls *calls, const struct shared_unit *unit, const struct shared_unit *end,
		const struct lap *lap)
{
	return convert_run(calls, unit, end, lap, true, false, 1);
}

/* Likewise records with details, all with as much of the stack as the first. */
static enum sonde_status convert_details(struct calls *calls, const struct shared_unit **unit,
					 const struct shared_unit *end, const struct lap *lap,
					 bool patched, struct sonde_error *err)
{
	const struct shared_detail *detail = (const struct shared_detail *)(*unit + 1);
	struct call_lane *lane = calls->current;
	size_t first = lane->event_count, stride;

	if (end - *unit < 2)
		return SONDE_OK;
	stride = shared_detail_units(false, detail->stack_size);
	if (stride + patched > (size_t)(end - *unit))
		return SONDE_OK;
	*unit = patched ? convert_run(calls, *unit, end, lap, true, true, stride) :
			  convert_run(calls, *unit, end, lap, false, true, stride);
	if (lane->event_count == first || !calls->output.details)
		return SONDE_OK;
	return calls->output.details(calls->output.context, lane->number, lane->events + first,
				     calls->sources, lane->event_count - first, first, err);
}

/* The plain units at the start of some, if there are any. */
static enum sonde_status convert_plain(struct calls *calls, const struct shared_unit **unit,
				       const struct shared_unit *end, const struct lap *lap,
				       struct sonde_error *err)
{
	uint64_t word = word_of(*unit);
	uint32_t kind = (uint32_t)(word >> UNIT_KIND_SHIFT), plain = kind & ~UNIT_DETAIL;
	bool hook = plain == UNIT_CALL || plain == UNIT_RETURN;
	enum sonde_status status;

	if (((word ^ lap->bits) & lap->mask) || calls->clock->multiplier > RECORD_CLOCK_NEAR ||
	    (*unit)->time < calls->map->settled ||
	    !(hook || plain == UNIT_ENTRY || plain == UNIT_EXIT))
		return SONDE_OK;
	status = call_lane_place(calls, calls->current, err);
	if (status < 0)
		return status;
	call_lane_make_room(calls->current, (size_t)(end - *unit));
	if (plain != kind)
		return convert_details(calls, unit, end, lap, !hook, err);
	*unit = (hook ? convert_hooks : convert_entries)(calls, *unit, end, lap);
	return SONDE_OK;
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
	while (top->flags & CALL_SCOPE) /* its place is no code */
		top--;
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
	size_t alive = alive_equal(calls, lane, call_lane_alive(lane, unit->unit->stack), unit);
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
		call_lane_leave(calls, lane, call_lane_alive(lane, least), unit->ns, err);

	if (status >= 0)
		status = call_lane_push(calls, lane, unit, CALL_PATCHED, err);
	return status;
}

static bool is_hook_of(const struct call_lane *lane, size_t depth, uint64_t function)
{
	return depth <= lane->depth && lane->open[depth].function == function &&
	       !(lane->open[depth].flags & (CALL_PATCHED | CALL_SCOPE));
}

/*
 * The depth of the call that returns; 0 for none. `alive`: calls deeper than this are below the
 * stack pointer. They are gone, but for the outermost of them: where a function's last act is a
 * jump to its exit hook, this one is called with the stack pointer of the caller. (All void
 * functions end so where gcc or clang optimise.) The slot of the return address, which the patched
 * entry of the same function has noted, lies between the two. Other calls lie there where they were
 * left in silence (cancelled threads, in C) and a smaller frame was put in their place.
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
	if (alive > base && is_hook_of(lane, alive, function))
		return alive;
	for (size_t depth = alive + 2; depth <= lane->depth && depth - alive < SEARCH_MAX; depth++)
		if (is_hook_of(lane, depth, function))
			return depth;
	for (size_t depth = alive; depth > base && alive - depth < SEARCH_MAX; depth--)
		if (is_hook_of(lane, depth, function))
			return depth;
	return 0;
}

static enum sonde_status on_return(struct calls *calls, struct call_lane *lane,
				   const struct call_unit *unit, struct sonde_error *err)
{
	size_t alive = call_lane_alive(lane, unit->unit->stack);
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
		call_lane_leave(calls, lane, call_lane_alive(lane, stack), unit->ns, err);

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
		size_t room = (unit->detail->units - 2) * sizeof(*unit->unit);

		text = (const char *)(unit->detail + 1);
		size = unit->unit->place < room ? unit->unit->place : room;
	}
	status = calls->output.note(calls->output.context, kind, unit->ns, unit->unit, text, size,
				    err);
	return status < 0 || kind != UNIT_MARK ? status : calls_mark(calls, unit, text, size, err);
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
		status = call_lane_leave(calls, lane, call_lane_alive(lane, stack), unit->ns, err);
	if (kind == UNIT_CATCH)
		calls_all_open(calls, call_lane_catch);
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
		calls_all_open(calls, call_lane_throw);
		return SONDE_OK;
	case UNIT_THREAD_EXIT:
		calls_all_open(calls, call_lane_exit);
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
		return unit_is_annotation(kind) ? calls_annotate(calls, kind, unit, err) : SONDE_OK;
	}
}

/* Of a record with a detail. */
static uint64_t least_units(uint32_t kind, uint32_t size)
{
	return unit_is_annotation(kind) ? annotation_units(size) :
					  shared_detail_units(unit_is_entry(kind), size);
}

/* Looks into the first of `count` units, converts it and tells how long its record is. */
static enum sonde_status convert_record(struct calls *calls, const struct shared_unit *units,
					size_t count, size_t *used, struct sonde_error *err)
{
	uint32_t kind = (uint32_t)(units->word >> UNIT_KIND_SHIFT);
	struct call_unit unit = { .unit = units, .function = units->word & UNIT_FUNCTION_MASK };

	*used = 1;
	if (kind & UNIT_DETAIL) {
		struct shared_detail detail = { 0 };

		unit.detail = (const struct shared_detail *)(units + 1);
		if (count >= 2)
			detail = *unit.detail;
		if (detail.units > count || detail.units < least_units(kind, detail.stack_size))
			return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
					  "a record of %u units with %u bytes, where %zu are left; "
					  "the memory of the recorded program may be damaged",
					  detail.units, detail.stack_size, count);
		*used = detail.units;
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
				 const struct lap *lap, size_t *done, struct sonde_error *err)
{
	const struct shared_unit *unit = units, *end = units + count;
	enum sonde_status status = SONDE_OK;

	while (unit < end && status >= 0) {
		const struct shared_unit *first = unit;
		size_t used;

		if (LIKELY(calls->plain)) {
			status = convert_plain(calls, &unit, end, lap, err);
			if (status < 0 || unit > first)
				continue;
		}
		if (lap->mask &&
		    (((word_of(unit) ^ lap->bits) & lap->mask) ||
		     unit->word >> UNIT_KIND_SHIFT == UNIT_SKIP || unit->time > lap->until))
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
	static const struct lap any = { .until = UINT64_MAX };
	size_t done;

	return convert(calls, units, count, &any, &done, err);
}

enum sonde_status calls_convert_lap(struct calls *calls, const struct shared_unit *units,
				    size_t count, uint64_t lap, uint64_t until, size_t *done,
				    struct sonde_error *err)
{
	struct lap wanted = { .bits = lap << UNIT_LAP_SHIFT,
			      .mask = UINT64_C(0xff) << UNIT_LAP_SHIFT,
			      .until = until };

	return convert(calls, units, count, &wanted, done, err);
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
	made->current = made->home = made->lanes.items[0];
	*calls = made;
	return SONDE_OK;
}

void calls_free(struct calls *calls)
{
	if (!calls)
		return;
	for (size_t i = 0; i < calls->lanes.count; i++)
		call_lane_free(calls->lanes.items[i]);
	calls_free_pieces(calls);
	sonde_buffer_release(&calls->bytes);
	sonde_buffer_release(&calls->packed);
	sonde_vec_release(&calls->lanes);
	sonde_vec_release(&calls->waiting);
	stacks_release(&calls->stacks);
	free(calls);
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
