/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the lane that a stack address belongs to, makes lanes for stacks that are new, and closes
 * the calls on stacks that are gone.
 */
#include <stdlib.h>

#include "record/call_lane.h"

/* A call this far above the outermost one of a found stack may belong to it. */
#define FOUND_SLACK 4096

void calls_let_wait(struct calls *calls, struct call_lane *lane)
{
	if (!lane->event_count || lane->waiting)
		return;
	lane->waiting = true;
	calls->waiting.items[calls->waiting.count++] = lane; /* there is room for every lane */
}

enum sonde_status calls_flush(struct calls *calls, struct sonde_error *err)
{
	enum sonde_status status = call_lane_flush(calls, calls->current, err);

	for (size_t i = 0; i < calls->waiting.count; i++) {
		calls->waiting.items[i]->waiting = false;
		if (status >= 0)
			status = call_lane_flush(calls, calls->waiting.items[i], err);
	}
	calls->waiting.count = 0;
	return status;
}

enum sonde_status calls_add_lane(struct calls *calls, struct stack_piece *piece,
				 struct sonde_error *err)
{
	uint32_t number = (uint32_t)calls->lanes.count;
	struct call_lane *lane;

	if (!sonde_vec_reserve(&calls->lanes, 1) ||
	    !sonde_vec_reserve(&calls->waiting, calls->lanes.count + 1))
		return sonde_fail_nomem(err);
	lane = call_lane_new(number, &calls->options);
	if (!lane)
		return sonde_fail_nomem(err);
	calls->lanes.items[calls->lanes.count++] = lane;
	if (!piece)
		return SONDE_OK;
	piece->lane = number;
	return calls->output.lane ? calls->output.lane(calls->output.context, number, piece->low,
						       piece->high, err) :
				    SONDE_OK;
}

/* The stack of a piece is used for something else now: what is open there was left. */
static enum sonde_status abandon(struct calls *calls, size_t piece, uint64_t ns,
				 struct sonde_error *err)
{
	uint32_t number = calls->stacks.pieces.items[piece].lane;
	struct call_lane *lane;
	enum sonde_status status;

	if (number == STACKS_NONE)
		return SONDE_OK;
	lane = calls->lanes.items[number];
	status = calls_leave_zones(calls, lane, 0, ns, err);
	if (status >= 0)
		status = call_lane_leave(calls, lane, 0, ns, err);
	lane->signal_count = 0;
	if (lane != calls->current)
		calls_let_wait(calls, lane);
	return status;
}

/*
 * A stack that lay in a local array, in a function further in than the stack pointer is now, is
 * gone with that function. Gives the number of the piece, which may change.
 */
static enum sonde_status drop_stale(struct calls *calls, uint64_t stack, uint64_t ns,
				    size_t *number, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (status >= 0 && *number > 0) {
		const struct stack_piece *piece = calls->stacks.pieces.items + *number;

		if (piece[-1].outer != piece->region || piece[-1].high != piece->low)
			break;
		status = abandon(calls, *number - 1, ns, err);
		stacks_remove(&calls->stacks, *number - 1);
		*number = stacks_find(&calls->stacks, stack);
	}
	return status;
}

/* The handler of a signal runs on a stack of its own, inside the calls of the current lane. */
static enum sonde_status enter_signal(struct calls *calls, const struct stack_piece *piece,
				      uint64_t ns, struct sonde_error *err)
{
	struct call_lane *lane = calls->current;
	uint32_t count = lane->signal_count;

	calls->window_size = 0;
	while (count > 0 && (lane->signals[count - 1].low != piece->low ||
			     lane->signals[count - 1].high != piece->high))
		count--;
	if (count > 0) {
		uint32_t above = lane->signal_count;

		lane->signal_count = count;
		return count < above ?
			       call_lane_leave(calls, lane, lane->signals[count].base, ns, err) :
			       SONDE_OK;
	}
	if (lane->signal_count < LANE_SIGNALS) {
		lane->signals[lane->signal_count].low = piece->low;
		lane->signals[lane->signal_count].high = piece->high;
		lane->signals[lane->signal_count].base = lane->depth;
		lane->signal_count++;
	}
	return SONDE_OK;
}

static bool same_found(const struct stack_piece *below, const struct stack_piece *piece)
{
	return below->kind == STACKS_FOUND && below->region == piece->region &&
	       below->high == piece->low && below->lane != STACKS_NONE;
}

/*
 * Stacks that share a mapping: an address a little above the outermost one of a stack, which has
 * nothing open but that, is rather of this stack than far down in the next.
 */
static bool belongs_below(const struct calls *calls, size_t number, uint64_t stack)
{
	const struct stack_piece *piece = calls->stacks.pieces.items + number;
	const struct call_lane *lower, *upper;
	uint64_t distance;

	if (!number || !same_found(piece - 1, piece))
		return false;
	distance = stack - piece->low;
	if (distance > FOUND_SLACK)
		return false;
	if (piece->kind == STACKS_UNUSED)
		return true;
	lower = calls->lanes.items[piece[-1].lane];
	upper = piece->lane == STACKS_NONE ? NULL : calls->lanes.items[piece->lane];
	if (lower->depth > 1)
		return false;
	return !upper || !upper->depth ||
	       (upper->open[upper->depth].stack > stack &&
		upper->open[upper->depth].stack - stack > distance);
}

/* The piece of an address; SIZE_MAX: none that is to be followed. */
static enum sonde_status find_piece(struct calls *calls, uint64_t stack, bool create,
				    size_t *number, struct sonde_error *err)
{
	struct stacks *stacks = &calls->stacks;
	bool given_up = false;

	*number = stacks_find(stacks, stack);
	if (*number == SIZE_MAX) {
		if (!create || !stack || stack > STACKS_TOP)
			return SONDE_OK;
		*number = stacks_discover(stacks, stack, &given_up);
		return *number == SIZE_MAX && !given_up ? sonde_fail_nomem(err) : SONDE_OK;
	}
	if (belongs_below(calls, *number, stack)) {
		--*number;
		stacks_raise(stacks, *number, stack);
	} else if (stacks->pieces.items[*number].kind == STACKS_UNUSED) {
		if (!create)
			*number = SIZE_MAX;
		else if (!stacks_split(stacks, *number, stack))
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

enum sonde_status calls_locate(struct calls *calls, uint64_t stack, bool create, uint64_t ns,
			       struct call_lane **lane, struct sonde_error *err)
{
	struct stack_piece *piece;
	enum sonde_status status;
	uint64_t high;
	size_t number;

	*lane = calls->current;
	if (stack - calls->window_low - 1 < calls->window_size)
		return SONDE_OK;
	*lane = NULL;
	status = find_piece(calls, stack, create, &number, err);
	if (status == SONDE_OK && number != SIZE_MAX)
		status = drop_stale(calls, stack, ns, &number, err);
	if (status < 0 || number == SIZE_MAX)
		return status;
	piece = calls->stacks.pieces.items + number;
	if (piece->kind == STACKS_SIGNAL) {
		*lane = calls->current;
		return enter_signal(calls, piece, ns, err);
	}
	if (piece->lane == STACKS_NONE) {
		if (!create)
			return SONDE_OK;
		status = calls_add_lane(calls, piece, err);
		if (status < 0)
			return status;
	}
	high = piece->high;
	status = calls_enter_home(calls, calls->lanes.items[piece->lane], stack, ns, &high, err);
	if (status < 0)
		return status;
	*lane = calls->current;
	calls->window_low = piece->low;
	if (number > 0 && same_found(piece - 1, piece)) /* here belongs_below() is to be asked */
		calls->window_low += stack - piece->low > FOUND_SLACK ? FOUND_SLACK :
									stack - piece->low - 1;
	calls->window_size = high > calls->window_low ? high - calls->window_low : 0;
	if (!(*lane)->signal_count)
		return SONDE_OK;
	/* the handlers that interrupted it are over */
	(*lane)->signal_count = 0;
	return call_lane_leave(calls, *lane, (*lane)->signals[0].base, ns, err);
}

/*
 * Whatever overlaps a new stack gives way, with what is open there. False: the new one is partly
 * outside of the thread's own stack and partly inside, which is nonsense.
 */
static enum sonde_status make_way(struct calls *calls, uint64_t low, uint64_t high, uint64_t ns,
				  bool *sensible, struct sonde_error *err)
{
	struct stacks *stacks = &calls->stacks;
	enum sonde_status status = SONDE_OK;
	size_t number = 0;

	*sensible = true;
	while (status >= 0 &&
	       (number = stacks_overlapping(stacks, number, low, high)) != SIZE_MAX) {
		const struct stack_piece *piece = &stacks->pieces.items[number];
		bool same = piece->low == low && piece->high == high;
		bool again = piece->kind != STACKS_THREAD && piece->high == high;

		if (piece->low <= low && piece->high >= high && !same && !again) {
			number++; /* the new one is a local array there */
		} else if (piece->kind == STACKS_THREAD) {
			*sensible = false;
			number++;
		} else {
			bool nested = piece->outer != STACKS_NONE && !same;

			status = abandon(calls, number, ns, err);
			if (nested) {
				stacks_remove(stacks, number);
				*sensible = true;
				number = 0;
			} else {
				number++;
			}
		}
	}
	return status;
}

static enum sonde_status on_stack_gone(struct calls *calls, uint64_t low, uint64_t high,
				       uint64_t ns, struct sonde_error *err)
{
	struct stacks *stacks = &calls->stacks;
	enum sonde_status status = SONDE_OK;
	size_t number = 0;

	while (status >= 0 &&
	       (number = stacks_overlapping(stacks, number, low, high)) != SIZE_MAX) {
		const struct stack_piece *piece = &stacks->pieces.items[number];
		bool whole = piece->low >= low && piece->high <= high &&
			     piece->kind != STACKS_THREAD;
		/* a coroutine's stays, for the lane of the next one there */
		bool remove = piece->kind == STACKS_SIGNAL || piece->outer != STACKS_NONE;

		if (whole)
			status = abandon(calls, number, ns, err);
		if (whole && remove)
			stacks_remove(stacks, number);
		else
			number++;
	}
	return status;
}

enum sonde_status calls_announce(struct calls *calls, const struct call_unit *unit,
				 struct sonde_error *err)
{
	uint64_t low = unit->unit->stack, high = unit->unit->place;
	bool coroutine = unit->function == STACK_COROUTINE;
	enum sonde_status status;
	bool sensible;

	if (low >= high || high > STACKS_TOP)
		return SONDE_OK;
	calls->window_size = 0; /* look again where the next unit belongs */
	if (unit->function == STACK_GONE)
		return on_stack_gone(calls, low, high, unit->ns, err);
	if (!coroutine && unit->function != STACK_SIGNAL)
		return SONDE_OK;
	status = make_way(calls, low, high, unit->ns, &sensible, err);
	if (status < 0 || !sensible)
		return status;
	return stacks_announce(&calls->stacks, low, high,
			       coroutine ? STACKS_COROUTINE : STACKS_SIGNAL) ?
		       SONDE_OK :
		       sonde_fail_nomem(err);
}
