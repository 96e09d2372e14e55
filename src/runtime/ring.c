/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow half of a ring: a thread takes one, goes from chunk to chunk, waits for the launcher or
 * drops, and gives the ring up at its end. Changes of the thread's state happen with all signals
 * blocked. A thread that waits opens them every 100 ms: a handler's hooks then come in here again.
 */
#include <sys/mman.h>
#include <sys/prctl.h>

#include "runtime/runtime.h"
#include "runtime/system.h"

enum {
	STUCK_DROPS = 4096,    /* so many drops in a row, then holes are looked for */
	RING_WAITS = 100,      /* waits of 10 ms for a free ring */
	RINGLESS_HOOKS = 65536 /* then this many hooks without another look */
};

enum outcome { PLACED, FULL, NO_RING, LOST };

/* A place that is wanted; `unit` is what is taken of it so far. */
struct request {
	char *unit;
	size_t size;  /* of what is taken */
	size_t whole; /* of what is wanted */
	bool filler;  /* what is taken has no use: it is filled, and another place taken */
};

__thread struct rt_thread rt_thread;

static void store_at(uint64_t time, void *unit, uint64_t lap, enum unit_kind kind, uint64_t code)
{
	struct rt_place place = {
		.unit = unit,
		.lap = lap,
		.time_low = (uint32_t)time,
		.time_high = (uint32_t)(time >> 32),
	};

	rt_put(&place, kind, 0, 0, code);
}

static void store(char *unit, uint64_t lap, enum unit_kind kind, uint64_t code)
{
	store_at(rt_clock(), unit, lap, kind, code);
}

static uint64_t lap_bits(uint64_t chunk)
{
	return lap_of_chunk(chunk, rt_control->chunk_count) << UNIT_LAP_SHIFT;
}

static char *chunk_start(uint64_t chunk)
{
	return rt_thread.memory + chunk % rt_control->chunk_count * rt_control->chunk_size;
}

/* Chunks that the launcher has not freed yet, and the number of the first of them. */
static uint32_t chunks_waiting(void)
{
	return (uint32_t)(rt_thread.chunk + 1) - rt_thread.ring->chunks_freed;
}

static bool is_full(void)
{
	return rt_control->on_full != ON_FULL_OVERWRITE &&
	       chunks_waiting() >= rt_control->chunk_count;
}

static void clear(void *first, const void *end)
{
	volatile struct shared_unit *unit = first;

	for (; (const void *)unit < end; unit++)
		unit->word = 0;
}

/* Nothing more in this chunk. What earlier laps left behind it would be taken for new after 255
 * laps. */
static void store_skip(char *unit, char *end, uint64_t lap)
{
	clear(unit + UNIT, end);
	store(unit, lap, UNIT_SKIP, 0);
}

static uint64_t kind_of(const char *unit)
{
	return ((const volatile struct shared_unit *)unit)->word >> UNIT_KIND_SHIFT;
}

static bool is_written(const char *unit, uint64_t lap)
{
	uint64_t word = ((const volatile struct shared_unit *)unit)->word;

	return (word & UINT64_C(0xff) << UNIT_LAP_SHIFT) == lap && word >> UNIT_KIND_SHIFT;
}

static size_t record_size(const char *unit)
{
	if (!(kind_of(unit) & UNIT_DETAIL))
		return UNIT;
	return ((const struct shared_detail *)(unit + UNIT))->units * UNIT;
}

/* The chunk where the events before chunk `number` are told. */
static _Atomic uint64_t *events_before(uint64_t number)
{
	uint64_t ring =
		(uint64_t)(rt_thread.ring - (struct shared_ring *)rt_shared(rt_control->rings));
	_Atomic uint64_t *counts = rt_shared(rt_control->events_before);

	return &counts[ring * rt_control->chunk_count + number % rt_control->chunk_count];
}

/* Most of what a chunk holds: units of this lap that are one event each. */
static inline const char *count_plain(const char *unit, const char *end, uint64_t lap,
				      uint64_t *events)
{
	const char *from = unit;

	for (; unit < end; unit += UNIT) {
		uint64_t word = ((const volatile struct shared_unit *)unit)->word ^ lap;

		if (word >> UNIT_LAP_SHIFT & 0xff || word >> UNIT_KIND_SHIFT >= UNIT_KIND_COUNT ||
		    !(UNIT_EVENT_KINDS >> (word >> UNIT_KIND_SHIFT) & 1))
			break;
	}
	*events += (uint64_t)(unit - from) / UNIT;
	return unit;
}

/* The events in the present chunk, which is full. What is missing comes yet, and is one. */
static uint64_t count_events(void)
{
	const char *unit = rt_thread.start, *end = unit + rt_control->chunk_size;
	uint64_t lap = rt_thread.lap, events = 0;
	size_t size;

	for (; unit < end; unit += size) {
		unit = count_plain(unit, end, lap, &events);
		if (unit >= end || (is_written(unit, lap) && kind_of(unit) == UNIT_SKIP))
			break;
		size = UNIT;
		if (is_written(unit, lap)) {
			events += unit_events((uint32_t)kind_of(unit),
					      ((const volatile struct shared_unit *)unit)->place);
			size = record_size(unit);
			if (!size)
				break;
			continue;
		}
		for (events++; unit + size < end && !is_written(unit + size, lap);)
			size += UNIT;
	}
	return events;
}

static void begin_chunk(uint64_t number)
{
	struct rt_thread *thread = &rt_thread;
	char *start = chunk_start(number);

	if (thread->ring->details)
		clear(start, start + rt_control->chunk_size);
	thread->chunk = number;
	thread->lap = lap_bits(number);
	thread->start = start;
	if (start == thread->memory) /* else places there may be taken already */
		thread->next = start;
	if (rt_control->on_full == ON_FULL_OVERWRITE)
		atomic_store_explicit(events_before(number), thread->events, memory_order_relaxed);
	/* all of the chunk before is visible first, and nothing of this one: see rt_store() */
	rt_store_fence();
	atomic_store(&thread->ring->chunks_begun, number + 1);
	if (chunks_waiting() >= rt_control->chunk_count / 2 && rt_control->sleeping)
		rt_wake_launcher();
}

static bool begin_next(void)
{
	if (is_full())
		return false;
	if (rt_control->on_full == ON_FULL_OVERWRITE)
		rt_thread.events += count_events();
	begin_chunk(rt_thread.chunk + 1);
	return true;
}

/* ---- taking a ring and giving it up ---- */

static struct shared_ring *find_free(uint32_t *number)
{
	struct shared_ring *rings = rt_shared(rt_control->rings);
	uint32_t first = rt_control->ring_hint, state;

	for (uint32_t i = 0; i < rt_control->ring_count; i++) {
		*number = (first + i) % rt_control->ring_count;
		state = RING_FREE;
		if (rings[*number].state == RING_FREE &&
		    atomic_compare_exchange_strong(&rings[*number].state, &state, RING_TAKEN)) {
			rt_raise(&rt_control->rings_high, *number);
			rt_control->ring_hint = *number + 1;
			return &rings[*number];
		}
	}
	return NULL;
}

/* Of the ring that the thread takes. */
static void note_stack(struct shared_ring *ring)
{
	struct rt_thread *thread = &rt_thread;
	uint64_t size = rt_control->stack_bytes, units = shared_detail_units(false, size);
	uint64_t whole = (size + UNIT - 1) / UNIT * UNIT, room;

	rt_stack_bounds(&ring->stack_low, &ring->stack_high);
	room = ring->stack_high - ring->stack_low;
	thread->stack_low = ring->stack_low;
	thread->stack_room = room >= whole ? room - whole + 1 : 0;
	thread->detail_size = units * UNIT;
	thread->detail_shape = shared_detail_shape(units, size);
}

static bool take_ring(void)
{
	struct rt_thread *thread = &rt_thread;
	uint32_t number;
	struct shared_ring *ring = find_free(&number);

	if (!ring)
		return false;
	thread->memory = rt_shared(rt_control->rings_memory + number * rt_control->ring_size);
	if (RT_CALL3(SYS_mprotect, thread->memory, rt_control->ring_size, PROT_READ | PROT_WRITE)) {
		ring->state = RING_FREE;
		return false;
	}
	ring->process = rt_process->slot;
	ring->thread = rt_thread_id();
	ring->first_chunk = ring->chunks_begun;
	note_stack(ring);
	RT_CALL2(SYS_prctl, PR_GET_NAME, ring->name);
	ring->dropped = 0;
	ring->waits = 0;
	thread->ring = ring;
	thread->events = 0;
	begin_chunk(ring->first_chunk);
	thread->next = thread->start;
	ring->state = RING_ACTIVE;
	thread->room = rt_control->chunk_size;
	thread->detail_room = thread->room - thread->detail_size + 1;
	thread->ending = 0;
	thread->jumped = 0;
	thread->busy = 1;
	rt_watch_thread_end();
	thread->busy = 0;
	return true;
}

static uint64_t position(uint64_t chunk, const char *unit)
{
	return chunk * rt_control->chunk_size + (uint64_t)(unit - chunk_start(chunk));
}

/*
 * Fills what hooks took and did not write: interrupted, perhaps for ever (a handler that left by
 * longjmp). The launcher reads up to there and no further, so it must be filled before we wait for
 * the launcher: whoever took it is below us on this thread's stack, and cannot go on before.
 */
static void fill_chunk(uint64_t number, const char *end)
{
	uint64_t lap = lap_bits(number), time, lost;
	char *unit = chunk_start(number), *next;

	while (unit < end) {
		if (is_written(unit, lap)) {
			if (kind_of(unit) == UNIT_SKIP)
				return;
			unit += record_size(unit);
			continue;
		}
		for (next = unit; next < end && !is_written(next, lap);)
			next += UNIT;
		time = next < end ? ((struct shared_unit *)next)->time : rt_clock();
		/* However long it is, what is lost is one event. Nothing is lost where the hook was left
		 * by longjmp(): it is as if the signal had come before it. */
		lost = position(number, unit) >= rt_thread.jumped;
		atomic_fetch_add(&rt_thread.ring->dropped, lost);
		for (; unit < next; unit += UNIT, lost = 0)
			store_at(time, unit, lap, UNIT_GAP, lost);
	}
}

/* The thread is about to longjmp(). */
void rt_ring_jumped(void)
{
	if (rt_thread.room)
		rt_thread.jumped = position(rt_thread.chunk, rt_thread.next);
}

/* The one that the launcher frees next. */
static void fill_oldest(void)
{
	uint64_t mask = rt_block_signals(), chunk;

	if (rt_thread.room && is_full()) {
		chunk = rt_thread.chunk + 1 - chunks_waiting();
		fill_chunk(chunk, chunk_start(chunk) + rt_control->chunk_size);
	}
	rt_restore_signals(mask);
}

void rt_fill_holes(void)
{
	struct rt_thread *thread = &rt_thread;
	uint64_t mask = rt_block_signals(), chunk;
	char *end;

	if (thread->room) {
		chunk = thread->chunk + 1 - chunks_waiting();
		if (chunks_waiting() > rt_control->chunk_count)
			chunk = thread->chunk + 1 - rt_control->chunk_count;
		for (; chunk <= thread->chunk; chunk++) {
			end = chunk_start(chunk) + rt_control->chunk_size;
			if (chunk == thread->chunk && thread->next < end)
				end = thread->next;
			fill_chunk(chunk, end);
		}
	}
	rt_restore_signals(mask);
}

/* The rest of the present chunk stays empty. With signals blocked. */
static void skip_rest(void)
{
	struct rt_thread *thread = &rt_thread;

	if (thread->next >= thread->start + thread->room)
		return;
	store_skip(thread->next, thread->start + thread->room, thread->lap);
	thread->next = thread->start + thread->room;
}

void rt_ring_end(void)
{
	struct rt_thread *thread = &rt_thread;
	uint64_t mask;

	rt_fill_holes();
	mask = rt_block_signals();
	if (thread->room) {
		skip_rest();
		RT_CALL2(SYS_prctl, PR_GET_NAME, thread->ring->name);
		thread->room = thread->detail_room = 0;
		thread->next = NULL;
		atomic_store(&thread->ring->state, RING_ENDED);
		thread->ring = NULL;
	}
	rt_restore_signals(mask);
}

/* ---- finding a place ---- */

/* The chunk in which a place lies that was taken: the present one, one before, or one to come. */
static uint64_t chunk_of(const char *unit)
{
	const struct rt_thread *thread = &rt_thread;
	uint64_t size = rt_control->chunk_size, count = rt_control->chunk_count;
	uint64_t mine = (uint64_t)(unit - thread->memory) / size;
	uint64_t present = (uint64_t)(thread->start - thread->memory) / size;

	if (mine == present)
		return thread->chunk;
	if (mine > present && unit < thread->next)
		return thread->chunk + (mine - present);
	return thread->chunk - (present + count - mine) % count;
}

/* Of what is taken only `keep` bytes are used. The rest goes back, or is filled later. */
static void keep_only(struct request *request, size_t keep)
{
	char *end = request->unit + request->size;

	request->unit += keep;
	request->size -= keep;
	request->filler = true;
	if (rt_thread.next != end)
		return;
	rt_thread.next = request->unit;
	request->size = 0;
}

/* Writes into the place what must stand there instead of the record; false if nothing must. */
static bool use_otherwise(struct request *request, uint64_t chunk)
{
	uint64_t lap = lap_bits(chunk);
	size_t left = (size_t)(chunk_start(chunk) + rt_control->chunk_size - request->unit);

	if (request->size > left) {
		store_skip(request->unit, request->unit + left, lap);
		keep_only(request, left);
		return true;
	}
	if (request->filler) {
		for (size_t i = 0; i < request->size; i += UNIT)
			store(request->unit + i, lap, UNIT_GAP, 0);
		request->size = 0;
		return true;
	}
	if (rt_thread.dropped && chunk == rt_thread.chunk) {
		store(request->unit, lap, UNIT_GAP, rt_thread.dropped);
		rt_thread.dropped = 0;
		keep_only(request, UNIT);
		return true;
	}
	return false;
}

/* With signals blocked. */
static enum outcome settle(struct rt_place *place, struct request *request)
{
	struct rt_thread *thread = &rt_thread;
	char *end;
	uint64_t chunk;

	if (!thread->room) {
		if (thread->busy || !take_ring())
			return NO_RING;
		request->size = 0;
	}
	end = thread->memory + rt_control->ring_size;
	for (;;) {
		if (!request->size) {
			request->unit = thread->next;
			request->size = request->whole;
			request->filler = false;
			thread->next += request->size;
		}
		if (request->unit < thread->memory || request->unit >= end) {
			request->size = 0; /* no place at all */
			if (thread->next < end)
				continue;
			thread->next = end;
			if (!begin_next())
				return FULL;
			continue;
		}
		chunk = chunk_of(request->unit);
		if (chunk > thread->chunk) {
			if (!begin_next())
				return FULL;
			continue;
		}
		if (use_otherwise(request, chunk))
			continue;
		place->unit = request->unit;
		place->lap = lap_bits(chunk);
		return PLACED;
	}
}

static void count_drop(void)
{
	__atomic_fetch_add(&rt_thread.dropped, 1, __ATOMIC_RELAXED);
	if (rt_thread.room)
		atomic_fetch_add_explicit(&rt_thread.ring->dropped, 1, memory_order_relaxed);
}

/* With signals blocked. */
static void drop(struct request *request)
{
	count_drop();
	if (request->size && rt_thread.next == request->unit + request->size)
		rt_thread.next = request->unit;
}

/* With signals blocked, so that no handler leaves our place behind by longjmp(). False: nobody
 * will make room any more. */
static bool wait_for_room(uint32_t *waited)
{
	struct shared_ring *ring = rt_thread.ring;
	uint32_t freed = ring->chunks_freed;

	if (!is_full())
		return true;
	if (!*waited)
		atomic_fetch_add_explicit(&ring->waits, 1, memory_order_relaxed);
	else
		fill_oldest(); /* it is not read on: that may be why */
	rt_wake_launcher();
	return rt_wait(&ring->chunks_freed, freed, (*waited)++ ? LONG_WAIT_NS : SHORT_WAIT_NS);
}

/* False: this thread goes without a ring for now. */
static bool wait_for_ring(uint32_t *waited)
{
	struct rt_thread *thread = &rt_thread;
	struct timespec pause = { .tv_nsec = 10000000 };

	rt_wake_launcher();
	if (rt_control->on_full == ON_FULL_WAIT && !thread->busy && !thread->lost &&
	    (*waited)++ < RING_WAITS) {
		RT_CALL2(SYS_nanosleep, &pause, NULL);
		return rt_launcher_lives();
	}
	if (!thread->lost && !thread->busy) {
		thread->lost = 1;
		atomic_fetch_add(&rt_control->lost_threads, 1);
	}
	thread->ringless = RINGLESS_HOOKS;
	return false;
}

/* Drops what does not fit without a system call, if that is all there is to do. */
static bool drop_at_once(char *unit, size_t size)
{
	struct rt_thread *thread = &rt_thread;
	char *end;

	if (rt_control->on_full != ON_FULL_DROP || !unit || !thread->room ||
	    unit < thread->start + thread->room || thread->dropped % STUCK_DROPS == 0 || !is_full())
		return false;
	end = unit + size;
	/* One instruction, as when it was taken. */
	__asm__ volatile("cmpxchgq %2, %1" : "+a"(end), "+m"(thread->next) : "r"(unit) : "memory");
	if (end != unit + size)
		return false;
	count_drop();
	return true;
}

/* One attempt; FULL: again. PLACED leaves signals blocked. */
static enum outcome place_once(struct rt_place *place, struct request *request, uint32_t *waited,
			       uint64_t *mask)
{
	enum outcome outcome;

	*mask = rt_block_signals();
	outcome = rt_is_on() && rt_launcher_lives() ? settle(place, request) : LOST;
	if (outcome == FULL && rt_control->on_full == ON_FULL_DROP) {
		drop(request);
		fill_oldest();
		outcome = LOST;
	}
	if (outcome == FULL && !wait_for_room(waited))
		outcome = LOST;
	if (outcome != PLACED)
		rt_restore_signals(*mask);
	return outcome;
}

bool rt_place_blocked(struct rt_place *place, char *unit, size_t size, uint64_t *mask)
{
	struct request request = { .unit = unit, .size = unit ? size : 0, .whole = size };
	uint32_t waited = 0;
	enum outcome outcome;

	if (rt_thread.ringless && !rt_thread.room) {
		rt_thread.ringless--;
		count_drop();
		return false;
	}
	if (drop_at_once(unit, size))
		return false;
	for (;;) {
		outcome = place_once(place, &request, &waited, mask);
		if (outcome == PLACED)
			return true;
		if (outcome == FULL || (outcome == NO_RING && wait_for_ring(&waited)))
			continue;
		if (outcome == NO_RING)
			count_drop();
		return false;
	}
}

bool rt_place_slow(struct rt_place *place, char *unit, size_t size)
{
	uint64_t mask;

	if (!rt_place_blocked(place, unit, size, &mask))
		return false;
	rt_restore_signals(mask);
	return true;
}

bool rt_flush(void)
{
	struct rt_thread *thread = &rt_thread;
	struct shared_ring *ring;
	uint64_t mask, last;
	uint32_t freed;

	if (!thread->room || rt_control->on_full == ON_FULL_OVERWRITE)
		return false;
	mask = rt_block_signals();
	ring = thread->ring;
	last = thread->chunk;
	skip_rest();
	rt_restore_signals(mask);
	rt_fill_holes();
	for (;;) {
		freed = ring->chunks_freed;
		if ((int32_t)(freed - (uint32_t)(last + 1)) >= 0)
			return true;
		rt_wake_launcher();
		if (!rt_wait(&ring->chunks_freed, freed, LONG_WAIT_NS))
			return false;
	}
}
