/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks behind calls_output: finds the lane, and hands events and details to the session's
 * files or to the flight recorder. After a failed write everything is counted and dropped.
 */
#include "record/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "record/process.h"

enum { PART_RESERVE = 1 << 20 }; /* events that one conversion surely stays under */

static struct lane *find_lane(struct recorded_thread *thread, uint32_t number)
{
	return number < thread->lanes.count ? thread->lanes.items[number] : NULL;
}

enum sonde_status lanes_add(struct recorded_thread *thread, uint32_t number, uint64_t low,
			    uint64_t high, struct sonde_error *err)
{
	struct lane *lane;

	if (number != thread->lanes.count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "lane %u of a thread comes after %zu", number,
				  thread->lanes.count);
	lane = calloc(1, sizeof(*lane));
	if (!lane || !sonde_vec_reserve(&thread->lanes, 1)) {
		free(lane);
		return sonde_fail_nomem(err);
	}
	lane->process = thread->process;
	lane->number = number;
	lane->thread = thread->thread;
	lane->low = low;
	lane->high = high;
	memcpy(lane->name, thread->name, sizeof(lane->name));
	thread->lanes.items[thread->lanes.count++] = lane;
	return SONDE_OK;
}

enum sonde_status lane_open(struct session *session, struct lane *lane, struct sonde_error *err)
{
	enum sonde_status status;

	if (lane->writer)
		return SONDE_OK;
	status = process_open(session, lane->process, err);
	if (status < 0)
		return status;
	if (!sonde_vec_reserve(&session->tracks, 1))
		return sonde_fail_nomem(err);
	status = atf_recorder_add_thread(session->recorder, lane->process->number, &lane->writer,
					 err);
	if (status < 0)
		return status;
	lane->slot = atf_recorder_thread_slot(lane->writer);
	session->tracks.items[session->tracks.count++] = lane;
	return SONDE_OK;
}

enum sonde_status lane_write(struct session *session, struct lane *lane,
			     struct atf_index_event *events, size_t count, struct sonde_error *err)
{
	enum sonde_status status = lane_open(session, lane, err);

	if (status < 0 || !count)
		return status;
	if (events[0].thread_id != lane->slot) /* it was not known when they were made */
		for (size_t i = 0; i < count; i++)
			events[i].thread_id = lane->slot;
	lane->last_ns = events[count - 1].timestamp_ns;
	while (count) {
		size_t room = atf_recorder_room(lane->writer);
		size_t part = count < room ? count : room;

		status = part ? atf_recorder_events(lane->writer, events, part, err) :
				atf_recorder_next_part(lane->writer, err);
		if (status < 0)
			return status;
		events += part;
		count -= part;
		lane->written += part;
		lane->process->events += part;
		atomic_fetch_add_explicit(&session->events, part, memory_order_relaxed);
	}
	return SONDE_OK;
}

/* From here on the disk is full, or gone: the program must not notice. */
static enum sonde_status lose(struct session *session, size_t count, const struct sonde_error *err)
{
	session_fail(session, err);
	session->lost += count;
	return SONDE_OK;
}

/* Those without an event, such as a shell that only forks, do not count. */
static void count_thread(struct recorded_thread *thread)
{
	thread->counted = true;
	atomic_fetch_add(&thread->session->thread_total, 1);
	if (thread->process->counted)
		return;
	thread->process->counted = true;
	atomic_fetch_add(&thread->session->process_total, 1);
}

static enum sonde_status take_events(void *context, uint32_t number, struct atf_index_event *events,
				     size_t count, struct sonde_error *err)
{
	struct recorded_thread *thread = context;
	struct session *session = thread->session;
	struct lane *lane = find_lane(thread, number);
	enum sonde_status status;

	if (!thread->counted)
		count_thread(thread);
	if (!lane || session->failed) {
		session->lost += count;
		return SONDE_OK;
	}
	if (session->flight.enabled) {
		if (!session->flight.writing)
			return flight_events(session, lane, events, count, err);
		status = flight_follow(lane, events, count, err);
		if (status < 0)
			return status;
	}
	status = lane_write(session, lane, events, count, err);
	return status < 0 ? lose(session, count, err) : status;
}

/* Straight where the recorder keeps them, unless a detail can come in between. */
static void find_place(void *context, uint32_t number, struct calls_place *place)
{
	struct recorded_thread *thread = context;
	struct session *session = thread->session;
	struct lane *lane = find_lane(thread, number);

	if (!lane || !lane->writer)
		return;
	place->thread_id = lane->slot;
	if (!session->failed && !session->flight.enabled && !atomic_load(&session->details))
		place->events = atf_recorder_place(lane->writer, &place->capacity);
}

static void fill_detail(struct atf_recorder_detail *filled, const struct shared_detail *detail,
			const struct atf_index_event *event)
{
	memset(filled, 0, sizeof(*filled));
	filled->type = event->event_kind == ATF_KIND_RETURN ? ATF_DETAIL_TYPE_RETURN :
							      ATF_DETAIL_TYPE_CALL;
	if (detail->flags & SHARED_DETAIL_ARGUMENTS) {
		filled->flags |= SONDE_REGISTERS_ARGUMENTS;
		memcpy(filled->registers, detail->registers, 6 * sizeof(uint64_t));
	}
	if (detail->flags & SHARED_DETAIL_RESULT) {
		filled->flags |= SONDE_REGISTERS_RESULT;
		memcpy(filled->registers + 6, detail->registers + 6, 2 * sizeof(uint64_t));
	}
	filled->registers[8] = detail->return_address;
	filled->registers[9] = detail->frame_pointer;
	filled->registers[10] = detail->stack_pointer;
	filled->time_ns = event->timestamp_ns;
	filled->function_id = event->function_id;
	filled->stack = (const uint8_t *)(detail + 1);
	filled->stack_size = detail->stack_size < ATF_STACK_MAX ? detail->stack_size :
								  ATF_STACK_MAX;
	if (detail->units * sizeof(struct shared_unit) <
	    sizeof(struct shared_unit) + sizeof(*detail) + filled->stack_size)
		filled->stack_size = 0;
}

static enum sonde_status take_detail(void *context, uint32_t number, const struct shared_unit *unit,
				     const struct shared_detail *detail,
				     const struct atf_index_event *event, size_t ahead,
				     uint32_t *detail_seq, struct sonde_error *err)
{
	struct recorded_thread *thread = context;
	struct session *session = thread->session;
	struct lane *lane = find_lane(thread, number);
	struct atf_recorder_detail filled;
	enum sonde_status status;

	(void)unit;
	*detail_seq = ATF_NO_LINK;
	if (!lane || session->failed)
		return SONDE_OK;
	fill_detail(&filled, detail, event);
	if (session->flight.enabled && !session->flight.writing)
		return flight_detail(session, lane, &filled, detail_seq, err);
	status = lane_open(session, lane, err);
	if (status < 0)
		return lose(session, 0, err);
	if (ahead >= atf_recorder_room(lane->writer))
		return SONDE_OK; /* its event opens the next part */
	filled.index_seq = atf_recorder_next_index(lane->writer) + (uint32_t)ahead;
	status = atf_recorder_detail(lane->writer, &filled, detail_seq, err);
	if (status < 0) {
		*detail_seq = ATF_NO_LINK;
		return lose(session, 0, err);
	}
	session_count_detail(session);
	return SONDE_OK;
}

static enum sonde_status take_lane(void *context, uint32_t number, uint64_t low, uint64_t high,
				   struct sonde_error *err)
{
	return lanes_add(context, number, low, high, err);
}

static enum sonde_status take_mark(struct recorded_thread *thread, uint64_t time_ns,
				   const char *text, size_t size, struct sonde_error *err)
{
	struct session_mark *mark = sonde_vec_push(&thread->process->marks);

	if (!mark)
		return sonde_fail_nomem(err);
	mark->time_ns = time_ns;
	mark->thread = thread->thread;
	mark->text = strndup(text ? text : "", text ? size : 0);
	return mark->text ? SONDE_OK : sonde_fail_nomem(err);
}

static enum sonde_status take_note(void *context, enum unit_kind kind, uint64_t time_ns,
				   const struct shared_unit *unit, const char *text, size_t size,
				   struct sonde_error *err)
{
	struct recorded_thread *thread = context;

	switch (kind) {
	case UNIT_MARK:
		return take_mark(thread, time_ns, text, size, err);
	case UNIT_FORK:
		return process_note_fork(thread, unit->place, err);
	case UNIT_REQUEST:
		if (unit->place == REQUEST_DUMP || unit->place == REQUEST_TRIGGER)
			thread->session->flight.wanted = true;
		return SONDE_OK;
	default:
		return SONDE_OK;
	}
}

void lanes_output(struct recorded_thread *thread, struct calls_output *output)
{
	*output = (struct calls_output){
		.context = thread,
		.events = take_events,
		.place = find_place,
		.detail = take_detail,
		.lane = take_lane,
		.note = take_note,
	};
}

enum sonde_status lanes_make_room(struct recorded_thread *thread, struct sonde_error *err)
{
	for (size_t i = 0; i < thread->lanes.count; i++) {
		struct atf_recorder_thread *writer = thread->lanes.items[i]->writer;
		enum sonde_status status;

		if (!writer || atf_recorder_room(writer) >= PART_RESERVE)
			continue;
		status = calls_flush(thread->calls, err);
		if (status == SONDE_OK)
			status = atf_recorder_next_part(writer, err);
		if (status < 0)
			return status;
	}
	return SONDE_OK;
}

enum sonde_status lanes_end(struct recorded_thread *thread, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < thread->lanes.count; i++) {
		struct lane *lane = thread->lanes.items[i];

		lane->ended = true;
		memcpy(lane->name, thread->name, sizeof(lane->name));
		if (lane->writer && status == SONDE_OK && !thread->session->failed)
			status = atf_recorder_end_thread(lane->writer, err);
		if (!lane->writer && flight_lane_is_empty(lane)) {
			sonde_vec_release(&lane->flight.open);
			free(lane);
		}
	}
	sonde_vec_release(&thread->lanes);
	return status;
}
