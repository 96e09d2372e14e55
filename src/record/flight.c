/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of events in memory, and how they come into the files. All blocks are in one list in the
 * order of their making, so those of a lane are in order too, and dropping takes from its front.
 */
#include "record/flight.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/atf/atf_arguments.h"
#include "record/details.h"
#include "record/lanes.h"
#include "record/session.h"

enum {
	BLOCK_EVENTS = 2048,
	BLOCKS_PER_WINDOW = 8, /* a block covers no more than this part of the time kept, */
	BLOCKS_PER_SIZE = 16,  /* and of the memory */
	BATCH_MIN = 8,
};

void flight_init(struct session *session)
{
	const struct record_options *options = session->options;
	struct flight *flight = &session->flight;
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	flight->enabled = options->flight_ns || options->flight_size;
	flight->window_ns = options->flight_ns;
	flight->size_limit = options->flight_size;
	flight->post_roll_ns = options->post_roll_ns;
	if (!flight->size_limit && pages > 0 && page > 0)
		flight->size_limit = (uint64_t)pages * (uint64_t)page / 4;
}

size_t flight_batch(const struct session *session)
{
	uint64_t each = sizeof(struct atf_index_event) + ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_SIZE +
			session->options->stack_bytes;
	uint64_t fit = session->flight.size_limit / BLOCKS_PER_SIZE / each;

	if (fit > BLOCK_EVENTS)
		fit = BLOCK_EVENTS;
	return fit > BATCH_MIN ? (size_t)fit : BATCH_MIN;
}

bool flight_lane_is_empty(const struct lane *lane)
{
	return !lane->flight.first;
}

/* What an event leaves open. */
static bool apply(struct flight_lane *flight, const struct atf_index_event *event)
{
	uint32_t depth = event->call_depth;

	if (event->event_kind > ATF_KIND_EXCEPTION)
		return true; /* an annotation */
	if (event->event_kind != ATF_KIND_CALL) {
		if (depth && flight->open.count >= depth)
			flight->open.count = depth - 1;
		return true;
	}
	while (flight->open.count < depth) {
		uint64_t *function = sonde_vec_push(&flight->open);

		if (!function)
			return false;
		*function = event->function_id;
	}
	if (depth) {
		flight->open.items[depth - 1] = event->function_id;
		flight->open.count = depth;
	}
	return true;
}

enum sonde_status flight_follow(struct lane *lane, const struct atf_index_event *events,
				size_t count, struct sonde_error *err)
{
	lane->flight.reopened = true;
	for (size_t i = 0; i < count; i++)
		if (!apply(&lane->flight, &events[i]))
			return sonde_fail_nomem(err);
	return SONDE_OK;
}

static void free_block(struct flight_block *block)
{
	sonde_vec_release(&block->events);
	sonde_buffer_release(&block->details);
	free(block);
}

/* Takes the oldest block out of the list. */
static struct flight_block *take_first(struct flight *flight)
{
	struct flight_block *block = flight->first;

	flight->first = block->next;
	if (!flight->first)
		flight->last = NULL;
	block->lane->flight.first = block->lane_next;
	if (!block->lane->flight.first)
		block->lane->flight.last = NULL;
	flight->bytes -= block->counted;
	return block;
}

static void free_lane_if_over(struct lane *lane)
{
	if (!lane->ended || lane->writer || !flight_lane_is_empty(lane))
		return;
	lane_free(lane);
}

static enum sonde_status drop_first(struct session *session, struct sonde_error *err)
{
	struct flight_block *block = take_first(&session->flight);
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < block->events.count && status == SONDE_OK; i++)
		if (!apply(&block->lane->flight, &block->events.items[i]))
			status = sonde_fail_nomem(err);
	free_lane_if_over(block->lane);
	free_block(block);
	return status;
}

static bool is_full(const struct flight *flight, const struct flight_block *block)
{
	return block->events.count >= BLOCK_EVENTS ||
	       block->counted > flight->size_limit / BLOCKS_PER_SIZE ||
	       (flight->window_ns && block->events.count &&
		block->last_ns - block->first_ns > flight->window_ns / BLOCKS_PER_WINDOW);
}

/* The block that a lane's next events go to. */
static struct flight_block *present_block(struct flight *flight, struct lane *lane)
{
	struct flight_block *block = lane->flight.last;

	if (block && (block->awaits_events || !is_full(flight, block)))
		return block;
	block = calloc(1, sizeof(*block));
	if (!block)
		return NULL;
	block->lane = lane;
	if (lane->flight.last)
		lane->flight.last->lane_next = block;
	else
		lane->flight.first = block;
	lane->flight.last = block;
	if (flight->last)
		flight->last->next = block;
	else
		flight->first = block;
	flight->last = block;
	return block;
}

static void count_bytes(struct flight *flight, struct flight_block *block)
{
	size_t bytes = sizeof(*block) + block->events.count * sizeof(*block->events.items) +
		       block->details.size;

	flight->bytes += bytes - block->counted;
	block->counted = bytes;
}

enum sonde_status flight_events(struct session *session, struct lane *lane,
				const struct atf_index_event *events, size_t count,
				struct sonde_error *err)
{
	struct flight_block *block;

	if (!count)
		return SONDE_OK;
	block = present_block(&session->flight, lane);
	if (!block || !sonde_vec_reserve(&block->events, count))
		return sonde_fail_nomem(err);
	block->awaits_events = false;
	if (!block->events.count)
		block->first_ns = events[0].timestamp_ns;
	memcpy(block->events.items + block->events.count, events, count * sizeof(*events));
	block->events.count += count;
	block->last_ns = events[count - 1].timestamp_ns;
	if (block->last_ns > session->flight.newest_ns)
		session->flight.newest_ns = block->last_ns;
	count_bytes(&session->flight, block);
	return SONDE_OK;
}

enum sonde_status flight_details(struct session *session, struct lane *lane,
				 struct atf_index_event *events,
				 const struct shared_unit *const *units, size_t count,
				 struct sonde_error *err)
{
	struct flight_block *block = present_block(&session->flight, lane);
	struct details run = {
		/* numbers of thread and event are filled in later */
		.units = units,
		.events = events,
		.count = count,
		.length = details_length(units[0], session->options->stack_bytes),
	};
	char *place;

	if (!block)
		return sonde_fail_nomem(err);
	block->awaits_events = true;
	place = sonde_buffer_reserve(&block->details, count * run.length + DETAILS_SPARE);
	if (!place)
		return sonde_fail_nomem(err);
	details_encode((uint8_t *)place, &run);
	for (size_t i = 0; i < count; i++, block->details.size += run.length)
		events[i].detail_seq = (uint32_t)block->details.size;
	count_bytes(&session->flight, block);
	return SONDE_OK;
}

enum sonde_status flight_arguments(struct session *session, struct lane *lane,
				   struct atf_index_event *event,
				   const struct call_arguments *arguments, struct sonde_error *err)
{
	struct flight_block *block = present_block(&session->flight, lane);
	struct sonde_buffer *details;
	char *record;

	if (!block)
		return sonde_fail_nomem(err);
	block->awaits_events = true;
	details = &block->details;
	record = sonde_buffer_reserve(details, ATF_ARGUMENTS_HEAD_SIZE + arguments->size);
	if (!record)
		return sonde_fail_nomem(err);
	event->detail_seq = (uint32_t)details->size;
	details->size += lane_encode_arguments((uint8_t *)record, arguments, event, 0, 0);
	count_bytes(&session->flight, block);
	return SONDE_OK;
}

/* Opens in the files what is open at the start of what is written of this lane. */
static enum sonde_status reopen(struct session *session, struct lane *lane, uint64_t time_ns,
				struct sonde_error *err)
{
	struct flight_lane *flight = &lane->flight;
	bool is_first = !lane->written;

	if (flight->reopened)
		return SONDE_OK;
	flight->reopened = true;
	if (time_ns < lane->last_ns)
		time_ns = lane->last_ns;
	for (size_t i = 0; i < flight->open.count; i++) {
		struct atf_index_event event = {
			.timestamp_ns = time_ns,
			.function_id = flight->open.items[i],
			.event_kind = ATF_KIND_CALL,
			.call_depth = (uint32_t)i + 1,
			.detail_seq = ATF_NO_LINK,
		};
		enum sonde_status status = lane_write(session, lane, &event, 1, err);

		if (status < 0)
			return status;
	}
	if (is_first)
		lane->synthetic_head = flight->open.count;
	lane->synthetic_tail = 0;
	if (lane->writer)
		atf_recorder_set_synthetic(lane->writer, lane->synthetic_head, 0);
	return SONDE_OK;
}

/* Hands on the detail of an event that will be the one with `index_seq`. */
static enum sonde_status write_detail(struct session *session, struct flight_block *block,
				      struct atf_index_event *event, uint32_t index_seq,
				      struct sonde_error *err)
{
	struct lane *lane = block->lane;
	uint8_t *record = (uint8_t *)block->details.data + event->detail_seq, *place;
	struct atf_detail_record header;
	enum sonde_status status;

	atf_detail_record_decode(&header, record);
	header.index_seq = index_seq;
	header.thread_id = lane->slot;
	atf_detail_record_encode(&header, record);
	event->detail_seq = ATF_NO_LINK;
	status = atf_recorder_detail_place(lane->writer, header.total_length, &place,
					   &event->detail_seq, err);
	if (status < 0)
		return status;
	memcpy(place, record, header.total_length);
	atf_recorder_detail_put(lane->writer, header.total_length, 1, place);
	session_count(&session->details, 1);
	return SONDE_OK;
}

static enum sonde_status write_details(struct session *session, struct flight_block *block,
				       size_t first, struct sonde_error *err)
{
	uint32_t index_seq = atf_recorder_next_index(block->lane->writer);
	enum sonde_status status = SONDE_OK;

	for (size_t i = first; i < block->events.count && status == SONDE_OK; i++, index_seq++)
		if (block->events.items[i].detail_seq != ATF_NO_LINK)
			status = write_detail(session, block, &block->events.items[i], index_seq,
					      err);
	return status;
}

/* Writes the events of a block from a time on. */
static enum sonde_status write_block(struct session *session, struct flight_block *block,
				     uint64_t from_ns, struct sonde_error *err)
{
	struct lane *lane = block->lane;
	enum sonde_status status;
	size_t first = 0, count = block->events.count;

	while (first < count && !lane->flight.reopened &&
	       block->events.items[first].timestamp_ns < from_ns)
		if (!apply(&lane->flight, &block->events.items[first++]))
			return sonde_fail_nomem(err);
	if (first == count)
		return SONDE_OK;
	status = reopen(session, lane, from_ns ? from_ns : block->events.items[first].timestamp_ns,
			err);
	if (status == SONDE_OK)
		status = lane_open(session, lane, err);
	if (status == SONDE_OK && atf_recorder_room(lane->writer) < count)
		status = atf_recorder_next_part(lane->writer, err);
	if (status == SONDE_OK)
		status = write_details(session, block, first, err);
	if (status == SONDE_OK)
		status = flight_follow(lane, block->events.items + first, count - first, err);
	if (status == SONDE_OK)
		status = lane_write(session, lane, block->events.items + first, count - first, err);
	return status;
}

/* Lanes of threads that run but had no event in the window: only what they have open. */
static enum sonde_status reopen_quiet(struct session *session, uint64_t from_ns,
				      struct sonde_error *err)
{
	for (size_t i = 0; i < session->threads.count; i++) {
		const struct recorded_thread *thread = session->threads.items[i];

		for (size_t j = 0; j < thread->lanes.count; j++) {
			enum sonde_status status =
				reopen(session, thread->lanes.items[j], from_ns, err);

			if (status < 0)
				return status;
		}
	}
	return SONDE_OK;
}

/* Writes what is in memory, now. */
static enum sonde_status dump(struct session *session, struct sonde_error *err)
{
	struct flight *flight = &session->flight;
	uint64_t from_ns = 0;
	enum sonde_status status = SONDE_OK;

	if (flight->window_ns && flight->newest_ns > flight->window_ns)
		from_ns = flight->newest_ns - flight->window_ns;
	while (flight->first && status == SONDE_OK) {
		struct flight_block *block = take_first(flight);
		struct lane *lane = block->lane;

		status = write_block(session, block, from_ns, err);
		free_block(block);
		if (status == SONDE_OK && lane->ended && lane->writer && !lane->flight.first)
			status = atf_recorder_end_thread(lane->writer, err);
		free_lane_if_over(lane);
	}
	if (status == SONDE_OK)
		status = reopen_quiet(session, from_ns ? from_ns : session->now_ns, err);
	flight->dumps++;
	flight->writing = true;
	flight->writing_until_ns = session->now_ns + flight->post_roll_ns;
	return status;
}

/* Ends a dump in one lane: what is open is closed in the files, and opened again by the next. */
static enum sonde_status close_lane(struct session *session, struct lane *lane,
				    struct sonde_error *err)
{
	struct flight_lane *flight = &lane->flight;
	uint64_t time_ns = session->now_ns > lane->last_ns ? session->now_ns : lane->last_ns;

	if (!flight->reopened)
		return SONDE_OK;
	flight->reopened = false;
	for (size_t i = flight->open.count; i--;) {
		struct atf_index_event event = {
			.timestamp_ns = time_ns,
			.function_id = flight->open.items[i],
			.event_kind = ATF_KIND_RETURN,
			.call_depth = (uint32_t)i + 1,
			.detail_seq = ATF_NO_LINK,
		};
		enum sonde_status status = lane_write(session, lane, &event, 1, err);

		if (status < 0)
			return status;
	}
	lane->synthetic_tail = flight->open.count;
	if (lane->writer)
		atf_recorder_set_synthetic(lane->writer, lane->synthetic_head,
					   lane->synthetic_tail);
	return SONDE_OK;
}

static enum sonde_status end_post_roll(struct session *session, struct sonde_error *err)
{
	session->flight.writing = false;
	for (size_t i = 0; i < session->threads.count; i++) {
		const struct recorded_thread *thread = session->threads.items[i];

		for (size_t j = 0; j < thread->lanes.count; j++) {
			enum sonde_status status = close_lane(session, thread->lanes.items[j], err);

			if (status < 0)
				return status;
		}
	}
	return SONDE_OK;
}

enum sonde_status flight_round(struct session *session, struct sonde_error *err)
{
	struct flight *flight = &session->flight;
	enum sonde_status status = SONDE_OK;

	if (flight->wanted && flight->writing)
		flight->writing_until_ns = session->now_ns + flight->post_roll_ns;
	else if (flight->wanted)
		status = dump(session, err);
	flight->wanted = false;
	if (status == SONDE_OK && flight->writing && session->now_ns >= flight->writing_until_ns)
		status = end_post_roll(session, err);
	while (status == SONDE_OK && flight->first) {
		bool old = flight->window_ns &&
			   flight->first->last_ns + flight->window_ns < flight->newest_ns;
		bool large = flight->size_limit && flight->bytes > flight->size_limit &&
			     flight->first->next; /* however little is asked for, some stays */

		if (!old && !large)
			break;
		flight->cut |= !old && flight->window_ns;
		status = drop_first(session, err);
	}
	return status;
}

enum sonde_status flight_finish(struct session *session, bool crashed, struct sonde_error *err)
{
	struct flight *flight = &session->flight;
	const struct record_options *options = session->options;
	bool has_trigger = false;

	if (!flight->enabled || flight->writing)
		return SONDE_OK;
	for (size_t i = 0; i < options->trigger_count; i++)
		has_trigger |= options->triggers[i].action == TRIGGER_DUMP;
	if (flight->cut)
		session_problem(session, "memory did not hold the whole time of --flight; "
					 "--flight-size sets how much may be used");
	if (!crashed && has_trigger && !flight->dumps && !flight->wanted) {
		session_problem(session, "no trigger fired: nothing of the flight recorder was "
					 "written");
		return SONDE_OK;
	}
	return dump(session, err);
}

void flight_release(struct session *session)
{
	struct sonde_error ignored;

	while (session->flight.first)
		drop_first(session, &ignored);
}
