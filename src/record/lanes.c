/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks behind calls_output: finds the lane, and hands events and details to the session's
 * files or to the flight recorder. After a failed write everything is counted and dropped.
 */
#include "record/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "formats/atf/atf_arguments.h"
#include "record/details.h"
#include "record/process.h"

enum {
	/* Of details that are encoded at a time: while the next are, they go to where the disk gets them
	 * from. Much more would not stay in the nearest cache until then. */
	PIECE_SIZE = 4096,
	PART_RESERVE = 1 << 20, /* events that one conversion surely stays under */
};

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
	lane->serial = thread->serial;
	lane->thread = thread->thread;
	lane->low = low;
	lane->high = high;
	memcpy(lane->name, thread->name, sizeof(lane->name));
	thread->lanes.items[thread->lanes.count++] = lane;
	return SONDE_OK;
}

void lane_free(struct lane *lane)
{
	sonde_vec_release(&lane->flight.open);
	free(lane->zone);
	free(lane);
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
	session->changed = true;
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
		session_count(&session->events, part);
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

static enum sonde_status take_events(void *context, uint32_t number, struct atf_index_event *events,
				     size_t count, struct sonde_error *err)
{
	struct recorded_thread *thread = context;
	struct session *session = thread->session;
	struct lane *lane = find_lane(thread, number);
	enum sonde_status status;

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

static uint32_t find_thread_id(void *context, uint32_t number)
{
	const struct lane *lane = find_lane(context, number);

	return lane && lane->writer ? lane->slot : 0;
}

/* Hands on the details of a piece; `events` are theirs, whose detail_seq is set. */
static enum sonde_status put_details(struct lane *lane, const struct details *details,
				     struct atf_index_event *events, struct sonde_error *err)
{
	size_t size = details->count * details->length;
	uint32_t detail_seq = 0;
	uint8_t *place = NULL;
	enum sonde_status status = atf_recorder_detail_place(lane->writer, size + DETAILS_SPARE,
							     &place, &detail_seq, err);

	if (status < 0)
		return status;
	details_encode(place, details);
	for (size_t i = 0; i < details->count; i++)
		events[i].detail_seq = detail_seq++;
	atf_recorder_detail_put(lane->writer, size, details->count, place + size - details->length);
	return SONDE_OK;
}

/* From the first of some records to behind the last. */
static size_t units_of(const struct shared_unit *const *units, size_t count)
{
	const struct shared_unit *last = units[count - 1];

	return (size_t)(last - units[0]) + ((const struct shared_detail *)(last + 1))->units;
}

static enum sonde_status take_details(void *context, uint32_t number,
				      struct atf_index_event *events,
				      const struct shared_unit *const *units, size_t count,
				      size_t ahead, struct sonde_error *err)
{
	struct recorded_thread *thread = context;
	struct session *session = thread->session;
	struct lane *lane = find_lane(thread, number);
	struct details details = { .ahead = units_of(units, count) };
	enum sonde_status status;
	uint32_t room;
	size_t most;

	if (!lane || session->failed)
		return SONDE_OK;
	if (session->flight.enabled && !session->flight.writing)
		return flight_details(session, lane, events, units, count, err);
	status = lane_open(session, lane, err);
	if (status < 0)
		return lose(session, 0, err);
	room = atf_recorder_room(lane->writer);
	if (ahead >= room)
		return SONDE_OK; /* their events open the next part */
	if (count > room - ahead)
		count = room - ahead;
	details.length = details_length(units[0], session->options->stack_bytes);
	details.slot = lane->slot;
	details.index_seq = atf_recorder_next_index(lane->writer) + (uint32_t)ahead;
	most = PIECE_SIZE / details.length;
	for (size_t done = 0; done < count; done += details.count) {
		details.units = units + done;
		details.events = events + done;
		details.count = count - done < most ? count - done : most;
		status = put_details(lane, &details, events + done, err);
		if (status < 0)
			return lose(session, 0, err);
		details.index_seq += (uint32_t)details.count;
		session_count(&session->details, details.count);
	}
	return SONDE_OK;
}

size_t lane_encode_arguments(uint8_t *record, const struct call_arguments *arguments,
			     const struct atf_index_event *event, uint32_t slot, uint32_t index_seq)
{
	struct atf_detail_record header = {
		.index_seq = index_seq,
		.thread_id = slot,
		.timestamp = event->timestamp_ns,
	};

	return atf_arguments_encode(record, &header, event->function_id, arguments->extra,
				    arguments->bytes, arguments->size);
}

static enum sonde_status take_arguments(void *context, uint32_t number,
					struct atf_index_event *event,
					const struct call_arguments *arguments, size_t ahead,
					struct sonde_error *err)
{
	struct recorded_thread *thread = context;
	struct session *session = thread->session;
	struct lane *lane = find_lane(thread, number);
	uint32_t detail_seq = 0, index_seq;
	enum sonde_status status;
	uint8_t *place = NULL;
	size_t size;

	if (!lane || session->failed)
		return SONDE_OK;
	if (session->flight.enabled && !session->flight.writing)
		return flight_arguments(session, lane, event, arguments, err);
	status = lane_open(session, lane, err);
	if (status < 0)
		return lose(session, 0, err);
	if (ahead >= atf_recorder_room(lane->writer))
		return SONDE_OK; /* its event opens the next part */
	status = atf_recorder_detail_place(lane->writer, ATF_ARGUMENTS_HEAD_SIZE + arguments->size,
					   &place, &detail_seq, err);
	if (status < 0)
		return lose(session, 0, err);
	index_seq = atf_recorder_next_index(lane->writer) + (uint32_t)ahead;
	size = lane_encode_arguments(place, arguments, event, lane->slot, index_seq);
	event->detail_seq = detail_seq;
	atf_recorder_detail_put(lane->writer, size, 1, place);
	session_count(&session->details, 1);
	return SONDE_OK;
}

static const struct annotation_site *find_site(void *context, uint64_t address, uint64_t ticks)
{
	struct recorded_thread *thread = context;
	struct sites *sites = &thread->process->sites;
	const struct annotation_site *site;

	if (!address)
		return sites_mark(sites, &thread->session->types);
	site = sites_find(sites, address, ticks);
	if (site && site->since <= ticks)
		return site;
	process_look_ahead(thread->session, thread->process);
	return sites_find(sites, address, ticks);
}

static enum sonde_status take_zone(void *context, uint32_t number, const char *name,
				   struct sonde_error *err)
{
	struct lane *lane = find_lane(context, number);

	lane->zone = strdup(name);
	return lane->zone ? SONDE_OK : sonde_fail_nomem(err);
}

/* In its file at once, also of a flight recorder: there is no telling which events stay. */
static enum sonde_status take_resource(void *context, const char *name, const uint8_t *bytes,
				       size_t size, uint32_t *number, struct sonde_error *err)
{
	struct recorded_thread *thread = context;
	struct session *session = thread->session;
	enum sonde_status status;

	*number = session->resources;
	if (session->failed)
		return SONDE_OK;
	status = lane_open(session, thread->lanes.items[0], err);
	if (status == SONDE_OK)
		status = atf_recorder_add_resource(session->recorder, thread->process->number, name,
						   false, bytes, size, err);
	if (status < 0)
		return lose(session, 0, err);
	session->resources++;
	session->changed = true;
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
		.thread_id = find_thread_id,
		.details = take_details,
		.arguments = take_arguments,
		.site = find_site,
		.lane = take_lane,
		.zone = take_zone,
		.resource = take_resource,
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
			lane_free(lane);
		}
	}
	sonde_vec_release(&thread->lanes);
	return status;
}
