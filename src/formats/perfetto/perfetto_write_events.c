/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events as packets. Plain calls and returns, which most are, are encoded in one loop; all else one by
 * one. A name is interned in the track's sequence when it is first met there.
 */
#include <math.h>
#include <string.h>

#include "formats/perfetto/perfetto_write.h"

#define PLAIN_SIZE 64 /* of a plain event at most: 2 + 11 + 9 + 2 + 2 + 11 bytes */
#define ROUND 1024    /* events between looking whether there is enough to hand over */
#define SEARCHED 256  /* open calls that are looked at for a return, as everywhere */
#define EXACT_INTEGERS 9007199254740992.0 /* 2^53: up to there doubles hold every integer */

/* Names of functions and event types share one index. */
static uint64_t function_number(uint32_t function)
{
	return 2 * (uint64_t)function;
}

static uint64_t type_number(uint32_t event_type)
{
	return 2 * (uint64_t)event_type + 1;
}

static const char *string(const struct perfetto_writer *writer, uint32_t id)
{
	return sonde_definitions_string(writer->definitions, id);
}

static void put_own_text(struct sonde_buffer *out, uint32_t field, const char *text)
{
	if (*text)
		sonde_protobuf_put_string(out, field, text, strlen(text));
}

static void intern_location(const struct perfetto_writer *writer, struct perfetto_track *track,
			    uint32_t number, const struct sonde_function *function)
{
	struct sonde_buffer *out = &track->interned;
	size_t start;

	if (!writer->has_locations || !function->file ||
	    !perfetto_bits_add(&track->locations, number, &track->failed))
		return;
	start = sonde_protobuf_begin(out, INTERNED_LOCATION);
	sonde_protobuf_put_uint(out, IID, (uint64_t)number + 1);
	put_own_text(out, LOCATION_FILE, string(writer, function->file));
	put_own_text(out, LOCATION_FUNCTION, string(writer, function->name));
	if (function->line)
		sonde_protobuf_put_uint(out, LOCATION_LINE, function->line);
	sonde_protobuf_end(out, start);
}

/* The name of a function; what else is known of it lies beside, once in each sequence. */
static void intern_function(const struct perfetto_writer *writer, struct perfetto_track *track,
			    uint32_t number)
{
	const struct sonde_function *function =
		sonde_definitions_function(writer->definitions, number);
	const struct sonde_module *module;
	struct sonde_buffer *out = &track->interned;
	char space[SONDE_LABEL_SIZE];
	const char *label;
	size_t start;

	if (!perfetto_bits_add(&track->names, function_number(number), &track->failed))
		return;
	perfetto_use_function(writer, number);
	label = sonde_definitions_function_label(writer->definitions, number, space);
	start = sonde_protobuf_begin(out, INTERNED_NAME);
	sonde_protobuf_put_uint(out, IID, function_number(number) + 1);
	sonde_protobuf_put_string(out, INTERNED_TEXT, label, strlen(label));
	if (function) {
		module = sonde_definitions_module(writer->definitions, function->module);
		put_own_text(out, NAME_OWN_FILE, string(writer, function->file));
		if (function->line)
			sonde_protobuf_put_uint(out, NAME_OWN_LINE, function->line);
		if (module)
			put_own_text(out, NAME_OWN_MODULE, string(writer, module->path));
		put_own_text(out, NAME_OWN_RAW, string(writer, function->raw_name));
		if (function->address)
			sonde_protobuf_put_uint(out, NAME_OWN_ADDRESS, function->address);
	}
	sonde_protobuf_end(out, start);
	if (function)
		intern_location(writer, track, number, function);
	perfetto_put_interned(track);
}

static const char *type_name(const struct perfetto_writer *writer, uint32_t event_type)
{
	const struct sonde_event_type *type =
		sonde_definitions_event_type(writer->definitions, event_type);

	return type ? string(writer, type->name) : "";
}

static void intern_type(const struct perfetto_writer *writer, struct perfetto_track *track,
			uint32_t event_type)
{
	if (perfetto_bits_add(&track->names, type_number(event_type), &track->failed))
		perfetto_intern_text(track, INTERNED_NAME, type_number(event_type) + 1,
				     type_name(writer, event_type));
}

/* A packet with nothing but a time, a type and a name (0: none), where PLAIN_SIZE bytes were reserved. */
static inline char *put_plain(const struct perfetto_track *track, char *place, uint64_t time_ns,
			      unsigned int type, uint64_t iid)
{
	char *packet = place + 2, *event;

	place = sonde_protobuf_uint_at(packet, PACKET_TIMESTAMP, time_ns);
	memcpy(place, track->prefix, sizeof(track->prefix));
	place += track->prefix_size;
	event = place + 2;
	place = sonde_protobuf_uint_at(event, EVENT_TYPE, type);
	if (iid)
		place = sonde_protobuf_uint_at(place, EVENT_NAME_IID, iid);
	event[-2] = (char)sonde_protobuf_tag(PACKET_TRACK_EVENT, SONDE_PROTOBUF_BYTES);
	event[-1] = (char)(place - event);
	packet[-2] = (char)sonde_protobuf_tag(TRACE_PACKET, SONDE_PROTOBUF_BYTES);
	packet[-1] = (char)(place - packet);
	return place;
}

/* Calls and returns that follow from what is open, up to the first event that is more than that. */
static size_t write_plain(const struct perfetto_writer *writer, struct perfetto_track *track,
			  const struct sonde_event *events, size_t count)
{
	char *place = sonde_buffer_reserve(&track->out, count * PLAIN_SIZE);
	size_t depth = track->open.count, i;

	if (!place || !sonde_vec_reserve(&track->open, count) || writer->has_locations) {
		track->failed |= !writer->has_locations;
		return 0;
	}
	for (i = 0; i < count; i++) {
		const struct sonde_event *event = &events[i];

		if (event->detail != SONDE_NONE || event->flags)
			break;
		if (event->kind == SONDE_EVENT_CALL) {
			if (!perfetto_bits_has(&track->names, function_number(event->function)))
				break;
			track->open.items[depth++] = event->function;
			place = put_plain(track, place, event->time_ns, TYPE_BEGIN,
					  function_number(event->function) + 1);
		} else if (event->kind == SONDE_EVENT_RETURN) {
			if (!depth || track->open.items[depth - 1] != event->function)
				break;
			depth--;
			place = put_plain(track, place, event->time_ns, TYPE_END, 0);
		} else {
			break;
		}
	}
	track->open.count = depth;
	track->out.size = (size_t)(place - track->out.data);
	return i;
}

/* Whatever was gathered in `extra` goes with it. */
static void put_event(struct perfetto_track *track, uint64_t time_ns, unsigned int type,
		      uint64_t iid)
{
	struct sonde_buffer *out = &track->out;
	size_t packet, event;

	perfetto_put_interned(track);
	packet = perfetto_packet_begin(track);
	sonde_protobuf_put_uint(out, PACKET_TIMESTAMP, time_ns);
	event = sonde_protobuf_begin(out, PACKET_TRACK_EVENT);
	sonde_protobuf_put_uint(out, EVENT_TYPE, type);
	if (iid)
		sonde_protobuf_put_uint(out, EVENT_NAME_IID, iid);
	sonde_buffer_put(out, track->extra.data, track->extra.size);
	sonde_protobuf_end(out, event);
	sonde_protobuf_end(out, packet);
	track->extra.size = 0;
}

static void put_category(struct perfetto_track *track, const char *category)
{
	sonde_protobuf_put_string(&track->extra, EVENT_CATEGORY, category, strlen(category));
}

/* Arguments go to `extra`. `function`: of a call, whose type's name is a category where it is another. */
static enum sonde_status take_detail(const struct perfetto_writer *writer,
				     struct perfetto_track *track, const struct sonde_batch *batch,
				     const struct sonde_event *event, struct sonde_error *err)
{
	struct sonde_detail detail;
	enum sonde_status status;
	const char *name;

	if (!sonde_event_has_detail(event))
		return SONDE_OK;
	status = sonde_batch_detail(batch, event, &detail, err);
	if (status)
		return status == SONDE_END ? SONDE_OK : status;
	if (detail.kind != SONDE_DETAIL_ARGUMENTS) {
		track->losses[detail.kind == SONDE_DETAIL_REGISTERS ? PERFETTO_LOSS_REGISTERS :
								      PERFETTO_LOSS_OPAQUE]++;
		return SONDE_OK;
	}
	if (sonde_event_has_function(event)) {
		char space[SONDE_LABEL_SIZE];

		name = type_name(writer, detail.event_type);
		/* the end of a slice has no name of its own */
		if (sonde_event_leaves(event) ||
		    strcmp(name, sonde_definitions_function_label(writer->definitions,
								  event->function, space)) != 0) {
			uint64_t number = detail.event_type;

			if (perfetto_bits_add(&track->categories, number, &track->failed))
				perfetto_intern_text(track, INTERNED_CATEGORY, number + 1, name);
			sonde_protobuf_put_uint(&track->extra, EVENT_CATEGORY_IID, number + 1);
		}
	}
	return perfetto_put_arguments(writer, track, &detail, err);
}

static void write_call(const struct perfetto_writer *writer, struct perfetto_track *track,
		       const struct sonde_event *event)
{
	uint32_t *open = sonde_vec_push(&track->open);

	if (!open) {
		track->failed = true;
		return;
	}
	*open = event->function;
	intern_function(writer, track, event->function);
	if (perfetto_bits_has(&track->locations, event->function))
		sonde_protobuf_put_uint(&track->extra, EVENT_LOCATION_IID,
					(uint64_t)event->function + 1);
	put_event(track, event->time_ns, TYPE_BEGIN, function_number(event->function) + 1);
}

/* How many calls are open up to the one that a return leaves; 0: none does. */
static size_t find_left(const struct perfetto_track *track, uint32_t function)
{
	size_t count = track->open.count, end = count > SEARCHED ? count - SEARCHED : 0;

	if (function == SONDE_NONE)
		return count;
	for (size_t i = count; i > end; i--)
		if (track->open.items[i - 1] == function)
			return i;
	return 0;
}

/* Slices end from the innermost on: calls whose returns are missing are ended with the one around. */
static void write_return(struct perfetto_track *track, const struct sonde_event *event)
{
	size_t place = find_left(track, event->function);

	if (!place) {
		track->losses[PERFETTO_LOSS_RETURNS]++;
		track->extra.size = 0;
		return;
	}
	if (place < track->open.count) {
		track->losses[PERFETTO_LOSS_MISSING] += track->open.count - place;
		for (size_t i = place; i < track->open.count; i++) {
			char *end = sonde_buffer_reserve(&track->out, PLAIN_SIZE);

			if (end)
				track->out.size += (size_t)(put_plain(track, end, event->time_ns,
								      TYPE_END, 0) -
							    end);
		}
	}
	track->open.count = place - 1;
	if (event->kind == SONDE_EVENT_EXCEPTION)
		put_category(track, PERFETTO_EXCEPTION);
	put_event(track, event->time_ns, TYPE_END, 0);
}

static void put_instant(const struct perfetto_writer *writer, struct perfetto_track *track,
			const struct sonde_event *event, const char *category)
{
	intern_type(writer, track, event->function);
	if (category)
		put_category(track, category);
	put_event(track, event->time_ns, TYPE_INSTANT, type_number(event->function) + 1);
}

static void write_flow(const struct perfetto_writer *writer, struct perfetto_track *track,
		       const struct sonde_event *event)
{
	static const char *const categories[] = { PERFETTO_FLOW_BEGIN, PERFETTO_FLOW_STEP,
						  PERFETTO_FLOW_END };
	/* 0 is no id */
	uint64_t id = event->extra ? event->extra : 1ull << 32;

	sonde_protobuf_put_fixed64(
		&track->extra, event->kind == SONDE_EVENT_FLOW_END ? EVENT_FLOW_END : EVENT_FLOW,
		id);
	put_instant(writer, track, event, categories[event->kind - SONDE_EVENT_FLOW_BEGIN]);
}

static void put_child(struct perfetto_track *track, uint64_t uuid, uint64_t parent,
		      const char *name, bool is_counter)
{
	size_t packet = perfetto_packet_begin(track);
	size_t child = sonde_protobuf_begin(&track->out, PACKET_TRACK);

	sonde_protobuf_put_uint(&track->out, TRACK_UUID, uuid);
	sonde_protobuf_put_string(&track->out, TRACK_NAME, name, strlen(name));
	sonde_protobuf_put_uint(&track->out, TRACK_PARENT, parent);
	if (is_counter)
		sonde_protobuf_put_bytes(&track->out, TRACK_COUNTER, NULL, 0);
	sonde_protobuf_end(&track->out, child);
	sonde_protobuf_end(&track->out, packet);
}

/* A counter has a track of its own below the thread's. */
static void write_counter(const struct perfetto_writer *writer, uint32_t number,
			  struct perfetto_track *track, const struct sonde_event *event)
{
	uint64_t parent = perfetto_track_uuid(writer, number);
	uint64_t uuid = parent << 32 | event->function;
	double value = sonde_event_value(event);

	if (perfetto_bits_add(&track->counters, event->function, &track->failed))
		put_child(track, uuid, parent, type_name(writer, event->function), true);
	sonde_protobuf_put_uint(&track->extra, EVENT_TRACK, uuid);
	if (fabs(value) <= EXACT_INTEGERS && value == trunc(value) &&
	    !(value == 0 && signbit(value)))
		sonde_protobuf_put_uint(&track->extra, EVENT_COUNTER, (uint64_t)(int64_t)value);
	else
		sonde_protobuf_put_double(&track->extra, EVENT_COUNTER_DOUBLE, value);
	put_event(track, event->time_ns, TYPE_COUNTER, 0);
}

/*
 * A range is a slice on a track that only its number says, since others overlap it and its end may be on
 * another thread. Viewers put those of one name together.
 */
static void write_range(const struct perfetto_writer *writer, uint32_t number,
			struct perfetto_track *track, const struct sonde_event *event)
{
	const struct sonde_track *definition = sonde_definitions_track(writer->definitions, number);
	uint64_t uuid = 1ull << 63 | event->extra;
	bool begins = event->kind == SONDE_EVENT_RANGE_BEGIN;

	if (begins)
		put_child(track, uuid, perfetto_process_uuid(definition->process),
			  type_name(writer, event->function), false);
	intern_type(writer, track, event->function);
	sonde_protobuf_put_uint(&track->extra, EVENT_TRACK, uuid);
	put_category(track, PERFETTO_RANGE);
	put_event(track, event->time_ns, begins ? TYPE_BEGIN : TYPE_END,
		  type_number(event->function) + 1);
}

static void write_one(const struct perfetto_writer *writer, uint32_t number,
		      struct perfetto_track *track, const struct sonde_event *event)
{
	track->losses[PERFETTO_LOSS_SYNTHETIC] += event->flags & SONDE_EVENT_SYNTHETIC;
	switch (event->kind) {
	case SONDE_EVENT_CALL:
		write_call(writer, track, event);
		break;
	case SONDE_EVENT_RETURN:
	case SONDE_EVENT_EXCEPTION:
		write_return(track, event);
		break;
	case SONDE_EVENT_INSTANT:
		put_instant(writer, track, event, NULL);
		break;
	case SONDE_EVENT_MARK:
		put_instant(writer, track, event, PERFETTO_MARK);
		break;
	case SONDE_EVENT_FLOW_BEGIN:
	case SONDE_EVENT_FLOW_STEP:
	case SONDE_EVENT_FLOW_END:
		write_flow(writer, track, event);
		break;
	case SONDE_EVENT_COUNTER:
		write_counter(writer, number, track, event);
		break;
	case SONDE_EVENT_RANGE_BEGIN:
	case SONDE_EVENT_RANGE_END:
		write_range(writer, number, track, event);
		break;
	default:
		track->losses[PERFETTO_LOSS_OTHER]++;
		track->extra.size = 0;
	}
}

enum sonde_status perfetto_write_events(struct perfetto_writer *writer, uint32_t number,
					const struct sonde_batch *batch, struct sonde_error *err)
{
	struct perfetto_track *track = writer->tracks[number];
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < batch->count && !status;) {
		size_t left = batch->count - i;

		i += write_plain(writer, track, batch->events + i, left < ROUND ? left : ROUND);
		if (i < batch->count) {
			const struct sonde_event *event = &batch->events[i++];

			status = take_detail(writer, track, batch, event, err);
			if (!status)
				write_one(writer, number, track, event);
		}
		if (!status)
			status = perfetto_flush(writer, number, false, err);
	}
	return status;
}
