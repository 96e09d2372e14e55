/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads rings. A unit is there when its word carries the lap of its chunk; runs of such units are
 * converted where they lie, without a copy. What this file knows about a ring: which unit comes
 * next. What the units mean is the business of calls.c.
 */
#include "record/drain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "record/finish.h"
#include "record/lanes.h"
#include "record/names.h"
#include "record/process.h"

enum {
	DETAIL_UNITS_MIN = 2, /* a unit and a struct shared_detail */
	LAST_ROUNDS = 64,     /* at most, after recording was switched off */
	NEXT_TRIES = 8,	      /* to find a chunk that is not overwritten at once */
	BUSY_UNITS = 1024,    /* a round that read so many is soon followed by the next */
};

/* So much memory of rings is kept for the next threads. */
#define RINGS_KEPT (UINT64_C(128) << 20)
#define MILLISECOND UINT64_C(1000000)
#define NAP_NS (UINT64_C(100) * 1000)
#define SETTLE_NS (250 * MILLISECOND)
/* Chunks that are being written are read so often, or when somebody has news. */
#define BEGUN_NS (10 * MILLISECOND)
/* Within this time processors write out what they have gathered by themselves. */
#define GATHERED_NS MILLISECOND
/* A unit that is missing for so long while its ring is full never comes. The runtime fills such
 * holes itself, much sooner. */
#define HOLE_NS (3000 * MILLISECOND)

void drain_wake(struct session *session)
{
	atomic_fetch_add(&session->memory.control->wake, 1);
	futex_wake(&session->memory.control->wake);
}

static uint64_t word_of(const struct shared_unit *unit)
{
	return __atomic_load_n(&unit->word, __ATOMIC_ACQUIRE);
}

static struct chunk_look look_at(const struct shared_unit *units, size_t from, size_t count,
				 uint64_t lap)
{
	struct chunk_look look = { .end = from, .last = from };
	size_t i = from;

	while (i < count) {
		unsigned int tag = (unsigned int)(word_of(&units[i]) >> UNIT_LAP_SHIFT);
		const struct shared_detail *detail;

		if ((tag & 0xff) != lap)
			break;
		if (tag >> 8 == UNIT_SKIP) {
			look.finished = true;
			break;
		}
		look.last = i;
		look.events += unit_events(tag >> 8, units[i].place);
		if (!(tag & UNIT_DETAIL << 8)) {
			i++;
			continue;
		}
		detail = (const struct shared_detail *)&units[i + 1];
		if (count - i < DETAIL_UNITS_MIN || detail->units < DETAIL_UNITS_MIN ||
		    detail->units > count - i) {
			look.finished = true; /* damaged: the rest of the chunk cannot be told */
			break;
		}
		i += detail->units;
	}
	look.end = i;
	if (i == count)
		look.finished = true;
	return look;
}

static const struct shared_unit *chunk_units(const struct session *session,
					     const struct recorded_thread *thread)
{
	const struct shared_control *control = session->memory.control;
	uint64_t place = thread->chunk % control->chunk_count * control->chunk_size;

	return (const struct shared_unit *)(shared_memory_ring(&session->memory, thread->ring) +
					    place);
}

static size_t units_per_chunk(const struct session *session)
{
	return session->memory.control->chunk_size / sizeof(struct shared_unit);
}

static uint64_t chunks_begun(const struct session *session, const struct recorded_thread *thread)
{
	return atomic_load(&session->memory.rings[thread->ring].chunks_begun);
}

static void wake_writer(struct session *session, struct recorded_thread *thread)
{
	if (thread->freed_full)
		futex_wake(&session->memory.rings[thread->ring].chunks_freed);
	thread->freed_full = 0;
}

/*
 * The thread's present chunk is read: lets the ring have it again. Whoever waits for room is woken
 * when there is a good deal of it, so that he does not wait again at once.
 */
static void free_chunk(struct session *session, struct recorded_thread *thread)
{
	struct shared_ring *ring = &session->memory.rings[thread->ring];
	uint32_t chunk_count = session->memory.control->chunk_count;
	uint32_t freed = (uint32_t)thread->chunk;

	thread->chunk++;
	thread->unit = 0;
	atomic_store(&ring->chunks_freed, freed + 1);
	if (thread->freed_full || (uint32_t)atomic_load(&ring->chunks_begun) - freed >= chunk_count)
		thread->freed_full++;
	if (thread->freed_full >= chunk_count / 2)
		wake_writer(session, thread);
}

/* What must be done before units are converted. */
static enum sonde_status make_ready(struct session *session, struct recorded_thread *thread,
				    struct sonde_error *err)
{
	/* What was loaded or unloaded before these units were written is in the log by now. */
	enum sonde_status status = process_read_log(session, err);

	return status < 0 ? status : lanes_make_room(thread, err);
}

/*
 * Converts what there is of the thread's present chunk, in one go with looking at it. What is
 * written meanwhile is left for the next look: the log may have something to say before it.
 */
static enum sonde_status convert_chunk(struct session *session, struct recorded_thread *thread,
				       struct chunk_look *look, struct sonde_error *err)
{
	const struct shared_unit *units = chunk_units(session, thread);
	size_t count = units_per_chunk(session), done = 0;
	uint64_t lap = lap_of_chunk(thread->chunk, session->memory.control->chunk_count);
	uint64_t until = record_clock_ticks(&session->clock), tag = 0;
	enum sonde_status status = make_ready(session, thread, err);

	if (status < 0)
		return status;
	status = calls_convert_lap(thread->calls, units + thread->unit, count - thread->unit, lap,
				   until, &done, err);
	look->end = thread->unit + done;
	if (look->end < count)
		tag = word_of(&units[look->end]) >> UNIT_LAP_SHIFT;
	/* a damaged record: the rest of the chunk cannot be told */
	look->finished = look->end == count || status == SONDE_CORRUPT ||
			 tag == ((uint64_t)UNIT_SKIP << 8 | lap);
	look->more = !look->finished && (tag & 0xff) == lap;
	if (done)
		thread->last_ticks = calls_last_ticks(thread->calls);
	thread->unit = look->end;
	return status == SONDE_CORRUPT ? SONDE_OK : status;
}

static enum sonde_status convert(struct session *session, struct recorded_thread *thread,
				 const struct shared_unit *units, const struct chunk_look *look,
				 struct sonde_error *err)
{
	size_t count = look->end - thread->unit;
	enum sonde_status status;

	thread->last_ticks = units[look->last - thread->unit].time;
	thread->unit = look->end;
	thread->events += look->events;
	if (session->failed) {
		session->lost += look->events;
		return SONDE_OK;
	}
	status = make_ready(session, thread, err);
	return status < 0 ? status : calls_convert(thread->calls, units, count, err);
}

static bool is_overwritten(const struct session *session, const struct recorded_thread *thread)
{
	return chunks_begun(session, thread) > thread->chunk + session->memory.control->chunk_count;
}

/*
 * Goes on at a chunk that is still there: the oldest one, or, while the ring is being written, one
 * that will be there for some time. `events`: how many the thread wrote before it.
 */
static void find_next(const struct session *session, struct recorded_thread *thread, bool ended,
		      uint64_t *events)
{
	uint32_t chunk_count = session->memory.control->chunk_count;
	uint64_t begun;

	for (int i = 0; i < NEXT_TRIES; i++) {
		begun = chunks_begun(session, thread);
		thread->chunk = begun - chunk_count + (ended ? 0 : (chunk_count + 3) / 4);
		if (thread->chunk >= begun)
			thread->chunk = begun - 1;
		*events =
			shared_memory_events_before(&session->memory, thread->ring, thread->chunk);
		if (ended || !is_overwritten(session, thread))
			break;
	}
	thread->unit = 0;
}

/* The thread's present chunk was overwritten: goes on at another, and tells its calls what is
 * missing. */
static enum sonde_status pass_overwritten(struct session *session, struct recorded_thread *thread,
					  bool ended, struct sonde_error *err)
{
	struct shared_unit gap = {
		.time = thread->last_ticks,
		.word = (uint64_t)UNIT_GAP << UNIT_KIND_SHIFT,
	};
	uint64_t events;

	find_next(session, thread, ended, &events);
	atomic_store(&session->memory.rings[thread->ring].chunks_freed, (uint32_t)thread->chunk);
	if (events > thread->events) {
		gap.place = events - thread->events;
		thread->events = events;
	}
	return session->failed ? SONDE_OK : calls_convert(thread->calls, &gap, 1, err);
}

/* --on-full overwrite: the chunk is copied first, and counts only if it was not begun anew. */
static enum sonde_status convert_copy(struct session *session, struct recorded_thread *thread,
				      const struct shared_unit *units,
				      const struct chunk_look *look, struct sonde_error *err)
{
	memcpy(session->copy, units + thread->unit,
	       (look->end - thread->unit) * sizeof(*session->copy));
	atomic_thread_fence(memory_order_acquire);
	if (is_overwritten(session, thread))
		return pass_overwritten(session, thread, false, err);
	return convert(session, thread, session->copy, look, err);
}

/* A word that can be true: of this lap, and written between the last unit and now. */
static bool is_plausible(const struct session *session, const struct recorded_thread *thread,
			 const struct shared_unit *unit, uint64_t lap)
{
	unsigned int tag = (unsigned int)(word_of(unit) >> UNIT_LAP_SHIFT);

	return (tag & 0xff) == lap && (tag >> 8 & 0x7f) && (tag >> 8 & 0x7f) < UNIT_KIND_COUNT &&
	       ((tag >> 8) == UNIT_SKIP ||
		(unit->time >= thread->last_ticks && record_clock_ns(&session->clock, unit->time) <=
							     session->now_ns + 1000 * MILLISECOND));
}

/*
 * The unit that comes next was taken and will never be written: its thread is gone, or a signal
 * handler left the hook by longjmp. Goes on behind it; false where nothing is there.
 */
static bool pass_hole(struct session *session, struct recorded_thread *thread)
{
	const struct shared_unit *units = chunk_units(session, thread);
	size_t count = units_per_chunk(session);
	uint64_t lap = lap_of_chunk(thread->chunk, session->memory.control->chunk_count);

	for (size_t i = thread->unit + 1; i < count; i++) {
		if (!is_plausible(session, thread, &units[i], lap))
			continue;
		thread->unit = i;
		return true;
	}
	if (chunks_begun(session, thread) <= thread->chunk + 1)
		return false;
	free_chunk(session, thread);
	return true;
}

/* The thread waits for room, and nothing more comes to where it is read. */
static bool is_stuck(const struct session *session, const struct recorded_thread *thread)
{
	return session->now_ns > thread->progress_ns + HOLE_NS &&
	       chunks_begun(session, thread) >=
		       thread->chunk + session->memory.control->chunk_count;
}

static void note_progress(const struct session *session, struct recorded_thread *thread,
			  size_t units, size_t *total)
{
	*total += units;
	if (units)
		thread->progress_ns = session->now_ns;
}

static struct chunk_look look_at_present(const struct session *session,
					 const struct recorded_thread *thread)
{
	return look_at(chunk_units(session, thread), thread->unit, units_per_chunk(session),
		       lap_of_chunk(thread->chunk, session->memory.control->chunk_count));
}

/* Converts what a look at the thread's present chunk saw. */
static enum sonde_status convert_seen(struct session *session, struct recorded_thread *thread,
				      const struct chunk_look *look, bool overwrite,
				      struct sonde_error *err)
{
	const struct shared_unit *units = chunk_units(session, thread);
	enum sonde_status status;

	if (look->end == thread->unit)
		return SONDE_OK;
	if (overwrite)
		return convert_copy(session, thread, units, look, err);
	status = convert(session, thread, units + thread->unit, look, err);
	return status == SONDE_CORRUPT ? SONDE_OK : status; /* as in convert_chunk() */
}

/* One look at the thread's present chunk; `look` says how far it came and why. */
static enum sonde_status read_chunk(struct session *session, struct recorded_thread *thread,
				    bool ended, struct chunk_look *look, struct sonde_error *err)
{
	const struct shared_control *control = session->memory.control;
	bool overwrite = control->on_full == ON_FULL_OVERWRITE;

	*look = (struct chunk_look){ .end = thread->unit };
	if (overwrite && is_overwritten(session, thread))
		return pass_overwritten(session, thread, ended, err);
	overwrite = overwrite && !ended;
	if (!overwrite && !session->failed)
		return convert_chunk(session, thread, look, err);
	*look = look_at_present(session, thread);
	return convert_seen(session, thread, look, overwrite, err);
}

/* The thread did not go on to another chunk yet. */
static bool is_being_written(const struct session *session, const struct recorded_thread *thread)
{
	return chunks_begun(session, thread) <= thread->chunk + 1;
}

/*
 * Reads chunks up to the one that is being written; with `ended` that one too, and behind holes:
 * nothing more comes.
 */
static enum sonde_status read_chunks(struct session *session, struct recorded_thread *thread,
				     bool ended, size_t *total, struct sonde_error *err)
{
	const struct shared_control *control = session->memory.control;

	for (uint32_t chunks = 0; chunks <= control->chunk_count || ended;) {
		uint64_t chunk = thread->chunk;
		size_t unit = thread->unit;
		struct chunk_look look;
		enum sonde_status status;

		if (!ended && is_being_written(session, thread))
			break;
		thread->busy = true;
		status = read_chunk(session, thread, ended, &look, err);
		if (status < 0)
			return status;
		note_progress(session, thread, look.end - unit, total);
		if (thread->chunk != chunk || look.more)
			continue;
		if (look.finished) {
			free_chunk(session, thread);
			chunks++;
		} else if (!(ended || is_stuck(session, thread)) || !pass_hole(session, thread)) {
			break;
		}
	}
	wake_writer(session, thread);
	return SONDE_OK;
}

/* Looks how far the chunk goes that a thread is writing, or was until now, for read_begun(). */
static bool look_at_begun(const struct session *session, struct recorded_thread *thread)
{
	thread->look = look_at_present(session, thread);
	thread->seen = thread->look.end > thread->unit || thread->look.finished;
	return thread->seen;
}

/* Reads what was seen in the chunk that a thread is writing, now that all of it is visible. */
static enum sonde_status read_begun(struct session *session, struct recorded_thread *thread,
				    size_t *total, struct sonde_error *err)
{
	const struct chunk_look *look = &thread->look;
	uint64_t chunk = thread->chunk;
	size_t unit = thread->unit;
	bool overwrite = session->memory.control->on_full == ON_FULL_OVERWRITE;
	enum sonde_status status = convert_seen(session, thread, look, overwrite, err);

	thread->seen = false;
	if (status < 0)
		return status;
	note_progress(session, thread, look->end - unit, total);
	if (look->finished && thread->chunk == chunk) {
		free_chunk(session, thread);
		futex_wake(&session->memory.rings[thread->ring].chunks_freed); /* it may flush */
	}
	return session->failed ? SONDE_OK : calls_flush(thread->calls, err);
}

/* Makes visible what threads had stored when their chunks were looked at. */
static void wait_for_stores(const struct session *session)
{
	struct timespec pause = { .tv_nsec = GATHERED_NS };

	if (session->no_barrier || syscall(SYS_membarrier, SHARED_BARRIER, 0, 0))
		nanosleep(&pause, NULL);
}

/* Likewise of all threads that are not busy. */
static enum sonde_status read_all_begun(struct session *session, size_t *total,
					struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	size_t seen = 0;

	session->begun_ns = session->now_ns;
	session->asked = false;
	for (size_t i = 0; i < session->threads.count; i++) {
		struct recorded_thread *thread = session->threads.items[i];

		seen += !thread->busy && look_at_begun(session, thread);
	}
	if (seen)
		wait_for_stores(session);
	for (size_t i = 0; seen && i < session->threads.count && status == SONDE_OK; i++)
		if (session->threads.items[i]->seen)
			status = read_begun(session, session->threads.items[i], total, err);
	return status;
}

/* Reads what there is of one thread, and writes it out. */
static enum sonde_status read_units(struct session *session, struct recorded_thread *thread,
				    bool ended, size_t *total, struct sonde_error *err)
{
	enum sonde_status status;

	thread->busy = false;
	status = read_chunks(session, thread, ended, total, err);
	return status < 0 || session->failed ? status : calls_flush(thread->calls, err);
}

/* The first thread of a forked process goes on inside the calls of its parent. */
static enum sonde_status reopen(struct session *session, struct recorded_thread *thread,
				struct sonde_error *err)
{
	struct recorded_process *process = thread->process;
	enum sonde_status status;

	for (size_t i = 0; i < process->inherited_count; i++) {
		status = sites_note_scope(&process->sites, process->inherited[i].function_id, err);
		if (status < 0)
			return status;
	}
	status = calls_reopen(thread->calls, process->inherited, process->inherited_count,
			      process->start_ns, err);
	free(process->inherited);
	process->inherited = NULL;
	if (status < 0 || session->flight.enabled)
		return status;
	for (size_t i = 0; i < thread->lanes.count; i++) {
		struct lane *lane = thread->lanes.items[i];

		lane->synthetic_head = lane->written;
		if (lane->writer)
			atf_recorder_set_synthetic(lane->writer, lane->written, 0);
	}
	return SONDE_OK;
}

static enum sonde_status begin_thread(struct session *session, uint32_t number,
				      struct recorded_process *process, struct sonde_error *err)
{
	const struct shared_ring *ring = &session->memory.rings[number];
	struct recorded_thread *thread = calloc(1, sizeof(*thread));
	struct calls_output output;
	enum sonde_status status;

	if (!thread || !sonde_vec_reserve(&session->threads, 1)) {
		free(thread);
		return sonde_fail_nomem(err);
	}
	thread->session = session;
	thread->process = process;
	thread->ring = number;
	thread->serial = session->serials++;
	thread->thread = ring->thread;
	thread->chunk = ring->first_chunk;
	thread->progress_ns = session->now_ns;
	session_copy_name(thread->name, ring->name);
	session_copy_name(thread->first_name, ring->name);
	lanes_output(thread, &output);
	status = lanes_add(thread, 0, ring->stack_low, ring->stack_high, err);
	if (status == SONDE_OK)
		status = calls_new(&thread->calls, &session->calls_options, &session->clock,
				   &process->map, ring->stack_low, ring->stack_high, &output, err);
	if (status < 0) {
		drain_free_thread(thread);
		return status;
	}
	session->threads.items[session->threads.count++] = thread;
	session->rings[number] = thread;
	session->news = true;
	process->threads++;
	if (process->inherited && thread->thread == process->pid)
		status = reopen(session, thread, err);
	return status;
}

/* Begins to read a ring, where one of a known process is there that is not being read yet. */
static enum sonde_status meet_ring(struct session *session, uint32_t number,
				   struct sonde_error *err)
{
	const struct shared_ring *ring = &session->memory.rings[number];
	uint32_t state = atomic_load_explicit(&ring->state, memory_order_acquire);
	struct recorded_process *process;

	if (state < RING_ACTIVE || session->rings[number] ||
	    ring->process >= session->memory.control->process_count)
		return SONDE_OK;
	process = session->slots[ring->process];
	if (!process || process->closed)
		return SONDE_OK; /* its process is not known yet */
	return begin_thread(session, number, process, err);
}

enum sonde_status drain_ring(struct session *session, uint32_t number, struct sonde_error *err)
{
	enum sonde_status status = meet_ring(session, number, err);
	struct recorded_thread *thread = session->rings[number];
	size_t total = 0;

	if (status < 0 || !thread)
		return status;
	status = read_units(session, thread, false, &total, err);
	if (status < 0 || !look_at_begun(session, thread))
		return status;
	wait_for_stores(session);
	return read_begun(session, thread, &total, err);
}

/* Looks for rings that were taken since the last time. */
static enum sonde_status find_threads(struct session *session, struct sonde_error *err)
{
	uint32_t high = shared_memory_rings_high(&session->memory);
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; i < high && status == SONDE_OK; i++)
		status = meet_ring(session, i, err);
	return status;
}

void drain_free_thread(struct recorded_thread *thread)
{
	struct sonde_error ignored;

	lanes_end(thread, &ignored);
	calls_free(thread->calls);
	free(thread);
}

static void give_ring_back(struct session *session, uint32_t number)
{
	struct shared_ring *ring = &session->memory.rings[number];
	uint64_t ring_size = session->memory.control->ring_size;

	session->result->waits += atomic_load(&ring->waits);
	atomic_store(&ring->waits, 0);
	atomic_store(&ring->dropped, 0);
	memset(ring->name, 0, sizeof(ring->name));
	ring->process = SHARED_NONE;
	atomic_store(&ring->chunks_freed, (uint32_t)atomic_load(&ring->chunks_begun));
	if ((number + 1) * ring_size > RINGS_KEPT)
		madvise(shared_memory_ring(&session->memory, number), ring_size, MADV_REMOVE);
	atomic_store_explicit(&ring->state, RING_FREE, memory_order_release);
	atomic_store(&session->memory.control->ring_hint, number); /* its memory is there */
}

static void count_thread(struct session *session, const struct recorded_thread *thread)
{
	const struct shared_ring *ring = &session->memory.rings[thread->ring];
	const struct calls_counts *counts = calls_counts(thread->calls);
	uint64_t dropped = atomic_load(&ring->dropped);

	if (counts->dropped > dropped)
		dropped = counts->dropped;
	if (session->memory.control->on_full == ON_FULL_OVERWRITE)
		dropped += counts->annotations_lost; /* their pieces were overwritten */
	thread->lanes.items[0]->dropped = dropped;
	thread->lanes.items[0]->returns_left_out = counts->returns_without_call;
	thread->lanes.items[0]->returns_made_up = counts->returns_unseen;
	session->dropped_before += dropped;
	session->result->short_calls += counts->short_calls;
	session->result->deep_calls += counts->deep_calls;
	session->result->annotations += counts->annotations;
	if (session->memory.control->on_full != ON_FULL_OVERWRITE)
		session->annotations_lost += counts->annotations_lost;
}

/* Everything that this thread wrote was read. */
static enum sonde_status end_thread(struct session *session, size_t number, struct sonde_error *err)
{
	struct recorded_thread *thread = session->threads.items[number];
	struct recorded_process *process = thread->process;
	struct shared_ring *ring = &session->memory.rings[thread->ring];
	bool left = atomic_load(&ring->state) == RING_ENDED; /* it ended by itself */
	enum sonde_status status = SONDE_OK;

	if (strncmp(ring->name, thread->first_name, sizeof(ring->name)))
		session_copy_name(thread->name, ring->name);
	if (!session->failed)
		status = calls_end(thread->calls, left, err);
	count_thread(session, thread);
	session->rings[thread->ring] = NULL;
	session->threads.items[number] = session->threads.items[--session->threads.count];
	give_ring_back(session, thread->ring);
	if (status == SONDE_OK)
		status = lanes_end(thread, err);
	drain_free_thread(thread);
	process->threads--;
	return status;
}

/* Reads all rings once, and ends the threads that are over. */
static enum sonde_status read_all(struct session *session, size_t *total, struct sonde_error *err)
{
	size_t i = 0;

	while (i < session->threads.count) {
		struct recorded_thread *thread = session->threads.items[i];
		const struct shared_ring *ring = &session->memory.rings[thread->ring];
		bool ended = atomic_load_explicit(&ring->state, memory_order_acquire) ==
				     RING_ENDED ||
			     !thread->process->alive;
		enum sonde_status status = read_units(session, thread, ended, total, err);

		if (status == SONDE_OK && ended)
			status = end_thread(session, i, err);
		else
			i++;
		if (status < 0)
			return status;
	}
	if ((session->asked && *total < BUSY_UNITS) ||
	    session->now_ns - session->begun_ns >= BEGUN_NS)
		return read_all_begun(session, total, err);
	return SONDE_OK;
}

static void update_status(struct session *session)
{
	uint64_t dropped = session->dropped_before;

	for (size_t i = 0; i < session->threads.count; i++)
		dropped += atomic_load_explicit(
			&session->memory.rings[session->threads.items[i]->ring].dropped,
			memory_order_relaxed);
	atomic_store(&session->dropped, dropped);
	atomic_store(&session->bytes, atf_recorder_bytes(session->recorder));
	atomic_store(&session->writing,
		     !session->failed && (!session->flight.enabled || session->flight.writing) &&
			     atomic_load(&session->memory.control->mode) != MODE_PAUSED);
}

/* One round. Errors stop the recording but not the rounds: somebody must free the rings. */
static size_t round_once(struct session *session, bool last)
{
	struct sonde_error err;
	size_t total = 0;
	enum sonde_status status;
	uint32_t wake;

	wake = atomic_load(&session->memory.control->wake);
	session->asked |= wake != session->wake;
	session->wake = wake;
	session->now_ns = sonde_now_ns(CLOCK_BOOTTIME);
	session->news = false;
	record_clock_update(&session->clock);
	process_poll(session, last);
	status = process_round(session, &err);
	if (status == SONDE_OK)
		status = find_threads(session, &err);
	if (status == SONDE_OK)
		status = read_all(session, &total, &err);
	if (status == SONDE_OK && atomic_exchange(&session->dump, 0))
		session->flight.wanted = true;
	if (status == SONDE_OK && session->flight.enabled && !session->failed)
		status = flight_round(session, &err);
	if (status == SONDE_OK && session->now_ns - session->settled_ns >= SETTLE_NS) {
		session->settled_ns = session->now_ns;
		status = atf_recorder_settle(session->recorder, &err);
	}
	if (status < 0)
		session_fail(session, &err);
	else if (session->changed && session->now_ns >= session->define_after_ns)
		finish_define(session);
	process_close_dead(session);
	names_poll(session);
	update_status(session);
	session->idle_rounds = total || session->news ? 0 : session->idle_rounds + 1;
	return total;
}

/*
 * Waits for news. While much is being written a nap lets it gather, so that few and large pieces
 * are written; else until somebody wakes us.
 */
static void rest(struct session *session, size_t total)
{
	struct shared_control *control = session->memory.control;
	uint64_t units_per_ring = control->ring_size / sizeof(struct shared_unit);
	bool flows;

	if (total)
		session->flowed_ns = session->now_ns;
	if (total >= units_per_ring / 2)
		return;
	if (atomic_load(&session->child_ended) && !process_any_alive(session)) {
		futex_wait(&control->wake, session->wake, NAP_NS);
		return;
	}
	if (total >= BUSY_UNITS) {
		futex_wait(&control->wake, session->wake, NAP_NS);
		return;
	}
	flows = session->now_ns - session->flowed_ns < 1000 * MILLISECOND;
	atomic_store(&control->sleeping, 1);
	futex_wait(&control->wake, session->wake, flows ? 10 * MILLISECOND : 50 * MILLISECOND);
	atomic_store(&control->sleeping, 0);
}

/* Nothing that could still write events is there. */
static bool is_over(struct session *session)
{
	if (atomic_load(&session->stop))
		return true;
	return session->idle_rounds && atomic_load(&session->child_ended) &&
	       !process_any_alive(session) && !session->threads.count &&
	       !process_any_silent(session);
}

/* The last look at everything, and the end of threads that still run. */
static void read_rest(struct session *session)
{
	struct sonde_error err;

	atomic_store(&session->memory.control->mode, MODE_OFF);
	session->idle_rounds = 0;
	for (int i = 0; i < LAST_ROUNDS && session->idle_rounds < 2; i++)
		round_once(session, true);
	while (session->threads.count) {
		struct recorded_thread *thread = session->threads.items[0];
		size_t total = 0;

		if (read_units(session, thread, true, &total, &err) < 0)
			session_fail(session, &err);
		if (end_thread(session, 0, &err) < 0)
			session_fail(session, &err);
	}
	update_status(session);
}

void *drain_main(void *context)
{
	struct session *session = context;
	size_t total = 0;

	prctl(PR_SET_NAME, "sonde-drain");
	while (!is_over(session)) {
		rest(session, total);
		total = round_once(session, false);
	}
	read_rest(session);
	finish_session(session);
	atomic_store(&session->done, 1);
	while (!atomic_load(&session->leave)) {
		uint32_t wake = atomic_load(&session->memory.control->wake);

		process_wave_through(session);
		if (!atomic_load(&session->leave))
			futex_wait(&session->memory.control->wake, wake, 20 * MILLISECOND);
	}
	return NULL;
}
