/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks behind calls_output: finds the lane, and hands events and details to the session's
 * files or to the flight recorder. After a failed write everything is counted and dropped.
 */
#include "record/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "formats/atf/atf_arguments.h"
#include "record/process.h"

enum {
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

static uint32_t find_thread_id(void *context, uint32_t number)
{
	const struct lane *lane = find_lane(context, number);

	return lane && lane->writer ? lane->slot : 0;
}

size_t lane_detail_room(const struct session *session)
{
	return ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_SIZE + session->options->stack_bytes;
}

/* Where a field of the payload stands in the record. */
static uint8_t *payload(uint8_t *record, size_t offset)
{
	return record + ATF_DETAIL_RECORD_SIZE + offset;
}

/* Six arguments, two results, call site, frame and stack pointer; tells which of them are real. */
static inline uint16_t encode_registers(uint8_t *to, const struct shared_unit *unit)
{
	const struct shared_detail *detail = (const struct shared_detail *)(unit + 1);
	const uint64_t *values = detail->values, *more = (const uint64_t *)(detail + 1);
	uint32_t kind = (uint32_t)(unit->word >> UNIT_KIND_SHIFT) & ~UNIT_DETAIL;
	bool is_exit = kind == UNIT_EXIT, is_patched = is_exit || unit_is_entry(kind);

	memset(to, 0, 8 * sizeof(*values));
	if (is_exit) {
		sonde_store_u64le(to + 6 * 8, values[1]);
		sonde_store_u64le(to + 7 * 8, values[2]);
	} else if (is_patched) {
		sonde_store_u64le(to, values[1]);
		sonde_store_u64le(to + 8, values[2]);
		for (size_t i = 0; i < 4; i++)
			sonde_store_u64le(to + 16 + i * 8, more[i]);
	}
	sonde_store_u64le(to + 8 * 8, is_patched ? unit->place : values[1]);
	sonde_store_u64le(to + 9 * 8, values[0]);
	sonde_store_u64le(to + 10 * 8, unit->stack + (is_exit ? 8 : 0));
	if (is_exit)
		return SONDE_REGISTERS_RESULT;
	return is_patched ? SONDE_REGISTERS_ARGUMENTS : 0;
}

/* Puts back what a hook kept apart. */
static void restore_tags(uint8_t *stack, size_t size, uint64_t tags)
{
	const size_t unit = sizeof(struct shared_unit);
	size_t end = (size + unit - 1) / unit * unit;

	for (; tags && end; end -= unit, tags >>= SHARED_TAG_BITS)
		if (tags & UINT16_MAX)
			sonde_store_u16le(stack + end - sizeof(uint16_t), (uint16_t)tags);
}

static inline size_t encode_detail(uint8_t *record, const struct shared_unit *unit,
				   const struct atf_index_event *event, uint32_t slot,
				   uint32_t index_seq, uint32_t stack_bytes)
{
	const struct shared_detail *detail = (const struct shared_detail *)(unit + 1);
	bool is_entry = unit_is_entry((uint32_t)(unit->word >> UNIT_KIND_SHIFT));
	const uint8_t *stack = (const uint8_t *)(unit + (is_entry ? 3 : 2));
	uint32_t stack_size = detail->stack_size < stack_bytes ? detail->stack_size : stack_bytes;
	uint16_t flags;
	struct atf_detail_record header = {
		.total_length = ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_SIZE + stack_size,
		.event_type = event->event_kind == ATF_KIND_RETURN ? ATF_DETAIL_TYPE_RETURN :
								     ATF_DETAIL_TYPE_CALL,
		.index_seq = index_seq,
		.thread_id = slot,
		.timestamp = event->timestamp_ns,
	};

	atf_detail_record_encode(&header, record);
	sonde_store_u64le(payload(record, 0), event->function_id);
	flags = encode_registers(payload(record, ATF_PAYLOAD_REGISTERS), unit);
	sonde_store_u32le(payload(record, ATF_PAYLOAD_STACK_SIZE),
			  stack_size | (uint32_t)flags << 16); /* and ATF_PAYLOAD_FLAGS */
	/* whole units are there, and whole units of room */
	for (size_t at = 0; at < stack_size; at += sizeof(*unit))
		memcpy(payload(record, ATF_PAYLOAD_SIZE) + at, stack + at, sizeof(*unit));
	if (!flags && detail->values[2]) /* of a hook */
		restore_tags(payload(record, ATF_PAYLOAD_SIZE), stack_size, detail->values[2]);
	return header.total_length;
}

size_t lane_encode_detail(const struct session *session, uint8_t *record,
			  const struct shared_unit *unit, const struct atf_index_event *event)
{
	return encode_detail(record, unit, event, 0, 0, session->options->stack_bytes);
}

/* Units from memory, two of them a cache line; gives those that come next. */
static inline const struct shared_unit *fetch(const struct shared_unit *unit,
					      const struct shared_unit *end)
{
	for (; unit < end; unit += 2)
		__builtin_prefetch(unit, 0, 2);
	return unit;
}

static enum sonde_status take_details(void *context, uint32_t number,
				      struct atf_index_event *events,
				      const struct shared_unit *const *units, size_t count,
				      size_t ahead, struct sonde_error *err)
{
	struct recorded_thread *thread = context;
	struct session *session = thread->session;
	struct lane *lane = find_lane(thread, number);
	const size_t most = lane_detail_room(session);
	uint8_t *place = NULL, *record, *last = NULL;
	uint32_t detail_seq = 0, index_seq, room;
	size_t size = shared_detail_units(false, session->options->stack_bytes), all;
	const struct shared_unit *next;
	enum sonde_status status;

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
	status = atf_recorder_detail_place(lane->writer, count * most + sizeof(**units), &place,
					   &detail_seq, err);
	if (status < 0)
		return lose(session, 0, err);
	index_seq = atf_recorder_next_index(lane->writer) + (uint32_t)ahead;
	record = place;
	all = (size_t)(units[count - 1] - units[0]) + size;
	next = units[0] + all;
	for (size_t i = 0; i < count; i++) {
		last = record;
		next = fetch(next, units[i] + all + size); /* arrive while these are encoded */
		record += encode_detail(record, units[i], &events[i], lane->slot, index_seq++,
					session->options->stack_bytes);
		events[i].detail_seq = detail_seq++;
	}
	atf_recorder_detail_put(lane->writer, (size_t)(record - place), count, last);
	session_count(&session->details, count);
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
