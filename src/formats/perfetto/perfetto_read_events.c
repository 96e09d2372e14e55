/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Track events: slices are calls, with flows and counters that are attached to them as events of their own.
 * Events of the old form, with a phase, are read too. In files that sonde wrote, categories tell what
 * Perfetto has no type for.
 */
#include <inttypes.h>
#include <string.h>

#include "formats/perfetto/perfetto_read.h"

#define NS_IN_US 1000u

/* What our categories say. */
enum own {
	OWN_NONE,
	OWN_MARK,
	OWN_RANGE,
	OWN_FLOW_BEGIN,
	OWN_FLOW_STEP,
	OWN_FLOW_END,
	OWN_EXCEPTION
};

struct legacy {
	uint32_t phase;
	uint64_t duration_us;
	uint64_t id, bind_id;
	bool has_id, is_local, has_bind, has_pid, has_tid;
	uint32_t direction, pid;
	uint64_t tid;
};

struct event {
	uint64_t time_ns;
	uint32_t type;
	uint64_t uuid;
	uint32_t name;	   /* number of a struct perfetto_name; SONDE_NONE: none */
	uint32_t category; /* string, where it was interned */
	enum own own;
	bool has_value, has_annotations, has_flows, has_extras;
	double value;
	uint64_t delta_us, absolute_us;
	bool has_delta, has_absolute;
	struct perfetto_location location; /* file 0: none */
	struct legacy legacy;
	struct sonde_bytes all;
	uint32_t process, track;
};

static enum own own_category(struct sonde_bytes text)
{
	static const struct {
		const char *word;
		enum own own;
	} words[] = {
		{ PERFETTO_MARK, OWN_MARK },
		{ PERFETTO_RANGE, OWN_RANGE },
		{ PERFETTO_FLOW_BEGIN, OWN_FLOW_BEGIN },
		{ PERFETTO_FLOW_STEP, OWN_FLOW_STEP },
		{ PERFETTO_FLOW_END, OWN_FLOW_END },
		{ PERFETTO_EXCEPTION, OWN_EXCEPTION },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (text.size == strlen(words[i].word) &&
		    !memcmp(text.data, words[i].word, text.size))
			return words[i].own;
	return OWN_NONE;
}

static enum sonde_status read_legacy(struct perfetto_reader *reader,
				     const struct perfetto_sequence *sequence, struct event *event,
				     struct sonde_bytes bytes, struct sonde_error *err)
{
	struct legacy *legacy = &event->legacy;
	struct sonde_protobuf_field field;
	enum sonde_status status;

	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		switch (field.number) {
		case LEGACY_NAME_IID:
			event->name =
				perfetto_resolve(reader, sequence, PERFETTO_NAMES, field.value);
			break;
		case LEGACY_PHASE:
			legacy->phase = (uint32_t)field.value;
			break;
		case LEGACY_DURATION_US:
			legacy->duration_us = field.value;
			break;
		case LEGACY_ID:
		case LEGACY_LOCAL_ID:
		case LEGACY_GLOBAL_ID:
			legacy->id = field.value;
			legacy->has_id = true;
			legacy->is_local = field.number == LEGACY_LOCAL_ID;
			break;
		case LEGACY_BIND_ID:
			legacy->bind_id = field.value;
			legacy->has_bind = true;
			break;
		case LEGACY_DIRECTION:
			legacy->direction = (uint32_t)field.value;
			break;
		case LEGACY_PID:
			legacy->pid = (uint32_t)field.value;
			legacy->has_pid = true;
			break;
		case LEGACY_TID:
			legacy->tid = field.value;
			legacy->has_tid = true;
			break;
		default:
			break;
		}
	}
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status take_name(struct perfetto_reader *reader, struct event *event,
				   const struct sonde_protobuf_field *field,
				   struct sonde_error *err)
{
	struct perfetto_name name = { 0 };
	enum sonde_status status = sonde_intake_string(reader->intake, perfetto_text(field),
						       field->bytes.size, &name.key.name, err);

	return status ? status : perfetto_add_name(reader, &name, &event->name, err);
}

static void find_location(struct perfetto_reader *reader, const struct perfetto_sequence *sequence,
			  struct event *event, uint64_t iid)
{
	uint32_t number = perfetto_resolve(reader, sequence, PERFETTO_LOCATIONS, iid);

	if (number != SONDE_NONE)
		event->location = reader->locations.items[number];
}

static enum sonde_status take_event_field(struct perfetto_reader *reader,
					  const struct perfetto_sequence *sequence,
					  struct event *event,
					  const struct sonde_protobuf_field *field,
					  struct sonde_error *err)
{
	switch (field->number) {
	case EVENT_TYPE:
		event->type = (uint32_t)field->value;
		return SONDE_OK;
	case EVENT_NAME_IID:
		event->name = perfetto_resolve(reader, sequence, PERFETTO_NAMES, field->value);
		return SONDE_OK;
	case EVENT_NAME:
		return take_name(reader, event, field, err);
	case EVENT_TRACK:
		event->uuid = field->value;
		return SONDE_OK;
	case EVENT_CATEGORY:
		if (reader->is_ours)
			event->own = own_category(field->bytes);
		return SONDE_OK;
	case EVENT_CATEGORY_IID:
		if (reader->is_ours && perfetto_is_number(field))
			event->category = perfetto_resolve(reader, sequence, PERFETTO_CATEGORIES,
							   field->value);
		return SONDE_OK;
	case EVENT_ANNOTATION:
		event->has_annotations = true;
		return SONDE_OK;
	case EVENT_COUNTER:
		event->value = (double)(int64_t)field->value;
		event->has_value = true;
		return SONDE_OK;
	case EVENT_COUNTER_DOUBLE:
		event->value = perfetto_double(field->value);
		event->has_value = true;
		return SONDE_OK;
	case EVENT_FLOW:
	case EVENT_FLOW_END:
	case EVENT_FLOW_OLD:
	case EVENT_FLOW_END_OLD:
		event->has_flows = true;
		return SONDE_OK;
	case EVENT_EXTRA_VALUES:
	case EVENT_EXTRA_DOUBLES:
		event->has_extras = true;
		return SONDE_OK;
	case EVENT_DELTA_US:
		event->delta_us = field->value;
		event->has_delta = true;
		return SONDE_OK;
	case EVENT_ABSOLUTE_US:
		event->absolute_us = field->value;
		event->has_absolute = true;
		return SONDE_OK;
	case EVENT_LOCATION_IID:
		find_location(reader, sequence, event, field->value);
		return SONDE_OK;
	case EVENT_LOCATION:
		return perfetto_is_bytes(field) ?
			       perfetto_read_location(reader, field->bytes, &event->location, err) :
			       SONDE_OK;
	case EVENT_LEGACY:
		return read_legacy(reader, sequence, event, field->bytes, err);
	default:
		return SONDE_OK;
	}
}

/* The time of the packet, or of the old form; false where there is none. */
static bool find_time(struct perfetto_reader *reader, struct perfetto_sequence *sequence,
		      const struct perfetto_packet *packet, struct event *event)
{
	if (event->has_delta)
		sequence->time_us += event->delta_us;
	if (packet->has_timestamp)
		event->time_ns = perfetto_time(reader, sequence, packet->clock, packet->timestamp);
	else if (event->has_absolute)
		event->time_ns = event->absolute_us * NS_IN_US;
	else if (event->has_delta)
		event->time_ns = sequence->time_us * NS_IN_US;
	return packet->has_timestamp || event->has_absolute || event->has_delta;
}

/* Where it is: the track that it names, or in the old form a thread. Ranges of ours: on the sequence's. */
static enum sonde_status find_track(struct perfetto_reader *reader,
				    const struct perfetto_sequence *sequence, struct event *event,
				    struct sonde_error *err)
{
	const struct legacy *legacy = &event->legacy;
	uint64_t uuid = event->own == OWN_RANGE ? sequence->track : event->uuid;
	enum sonde_status status;
	uint32_t place;

	if (legacy->has_pid || legacy->has_tid || (!uuid && sequence->has_thread))
		return perfetto_thread(reader, legacy->has_pid ? legacy->pid : sequence->pid,
				       legacy->has_tid ? legacy->tid : sequence->tid,
				       &event->process, &event->track, err);
	status = perfetto_find_place(reader, uuid, &place, err);
	if (!status)
		status = perfetto_locate(reader, place, err);
	if (status)
		return status;
	event->process = reader->places.items[place].process;
	event->track = reader->places.items[place].track;
	return SONDE_OK;
}

static const char *name_text(const struct perfetto_reader *reader, const struct event *event)
{
	uint32_t string = event->name == SONDE_NONE ? 0 : reader->names.items[event->name].key.name;

	return sonde_definitions_string(reader->recording->definitions, string);
}

static enum sonde_status find_function(struct perfetto_reader *reader, struct event *event,
				       uint32_t *function, struct sonde_error *err)
{
	struct perfetto_name none = { 0 }, *name;
	struct sonde_function like = { 0 };
	enum sonde_status status = SONDE_OK;
	const char *text;

	if (event->name == SONDE_NONE)
		status = perfetto_add_name(reader, &none, &event->name, err);
	if (status)
		return status;
	name = &reader->names.items[event->name];
	if (event->location.file && !name->key.file) {
		none = *name;
		none.key.file = event->location.file;
		none.key.line = event->location.line;
		status = perfetto_add_name(reader, &none, &event->name, err);
		if (status)
			return status;
		name = &reader->names.items[event->name];
	}
	if (name->process != event->process) {
		text = name_text(reader, event);
		like.process = event->process;
		like.file = name->key.file;
		like.line = name->key.line;
		like.raw_name = name->key.raw;
		like.address = name->key.address;
		status = perfetto_add_module(reader, event->process, name->key.module, &like.module,
					     err);
		if (!status)
			status = sonde_intake_function(reader->intake, &like, text, strlen(text),
						       &name->function, err);
		name->process = status ? SONDE_NONE : event->process;
	}
	*function = name->function;
	return status;
}

/* Annotations go to reader->signature and ->arguments. */
static enum sonde_status take_annotations(struct perfetto_reader *reader,
					  const struct perfetto_sequence *sequence,
					  const struct event *event, struct sonde_error *err)
{
	struct sonde_bytes bytes = event->all;
	struct sonde_protobuf_field field;
	enum sonde_status status = SONDE_OK;

	sonde_buffer_clear(&reader->signature);
	sonde_buffer_clear(&reader->arguments);
	while (event->has_annotations && !status &&
	       !(status = sonde_protobuf_next(&bytes, &field, err)))
		if (field.number == EVENT_ANNOTATION && perfetto_is_bytes(&field))
			status = perfetto_take_annotation(reader, sequence, field.bytes, err);
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status find_type(struct perfetto_reader *reader, const char *name,
				   const char *signature, uint32_t *type, struct sonde_error *err)
{
	return sonde_intake_event_type(reader->intake, name, strlen(name), signature, type, err);
}

/* Adds an event with its arguments; `kind` of the intake. */
static enum sonde_status add(struct perfetto_reader *reader,
			     const struct perfetto_sequence *sequence, struct event *event,
			     unsigned int kind, uint32_t number, struct sonde_error *err)
{
	struct sonde_intake_event made = {
		.time_ns = event->time_ns,
		.track = event->track,
		.function = SONDE_NONE,
		.kind = (uint8_t)kind,
		.extra = number,
		.event_type = SONDE_NONE,
	};
	bool is_call = kind == SONDE_EVENT_CALL || kind == SONDE_INTAKE_SPAN;
	bool leaves = kind == SONDE_EVENT_RETURN || kind == SONDE_EVENT_EXCEPTION;
	const char *type_name = name_text(reader, event);
	enum sonde_status status = take_annotations(reader, sequence, event, err);
	uint32_t type = SONDE_NONE;

	made.end_ns = event->time_ns + event->legacy.duration_us * NS_IN_US;
	if (made.end_ns < made.time_ns)
		made.end_ns = made.time_ns;
	if (!status && is_call)
		status = find_function(reader, event, &made.function, err);
	if ((is_call || leaves) && event->category != SONDE_NONE)
		type_name =
			sonde_definitions_string(reader->recording->definitions, event->category);
	if (!status && (reader->signature.size || (!is_call && !leaves)))
		status = find_type(reader, type_name,
				   reader->signature.size ? sonde_buffer_text(&reader->signature) :
							    "",
				   &type, err);
	if (status)
		return status;
	if (!is_call && !leaves)
		made.function = type;
	if (reader->signature.size) {
		made.event_type = type;
		made.arguments = (const uint8_t *)reader->arguments.data;
		made.size = reader->arguments.size;
	}
	return sonde_intake_add(reader->intake, &made, err);
}

static enum sonde_status number_of(struct perfetto_reader *reader, char family, uint64_t id,
				   uint32_t scope, uint32_t *number, bool *is_new,
				   struct sonde_error *err)
{
	uint64_t key[3] = { (uint64_t)family, id, scope };
	enum sonde_status status = SONDE_OK;

	/* ours are small already */
	if (reader->is_ours)
		*number = (uint32_t)id;
	else
		status = sonde_intake_number(reader->intake, key, sizeof(key), number, err);
	*is_new = !status && *number > reader->last_number;
	if (*is_new)
		reader->last_number = *number;
	return status;
}

/* A flow beside the event that it goes through. */
static enum sonde_status add_flow(struct perfetto_reader *reader, const struct event *event,
				  uint64_t id, unsigned int kind, struct sonde_error *err)
{
	struct sonde_intake_event made = { .time_ns = event->time_ns,
					   .track = event->track,
					   .event_type = SONDE_NONE };
	bool is_new;
	enum sonde_status status = number_of(reader, 'f', id, 0, &made.extra, &is_new, err);

	/* where nothing says which, the first in the file is the beginning */
	made.kind = (uint8_t)(kind   ? kind :
			      is_new ? SONDE_EVENT_FLOW_BEGIN :
				       SONDE_EVENT_FLOW_STEP);
	if (!status)
		status = find_type(reader, "flow", "", &made.function, err);
	return status ? status : sonde_intake_add(reader->intake, &made, err);
}

static bool is_flow(uint32_t field)
{
	return field == EVENT_FLOW || field == EVENT_FLOW_END || field == EVENT_FLOW_OLD ||
	       field == EVENT_FLOW_END_OLD;
}

static enum sonde_status add_flows(struct perfetto_reader *reader, const struct event *event,
				   struct sonde_error *err)
{
	struct sonde_bytes bytes = event->all;
	struct sonde_protobuf_field field;
	enum sonde_status status = SONDE_OK;

	while (!status && !(status = sonde_protobuf_next(&bytes, &field, err))) {
		bool is_fixed = field.number == EVENT_FLOW || field.number == EVENT_FLOW_END;
		bool ends = field.number == EVENT_FLOW_END || field.number == EVENT_FLOW_END_OLD;
		size_t position = 0;
		uint64_t id;

		while (!status && is_flow(field.number) &&
		       perfetto_next_number(&field, &position, is_fixed, &id))
			status = add_flow(reader, event, id, ends ? SONDE_EVENT_FLOW_END : 0, err);
	}
	return status == SONDE_END ? SONDE_OK : status;
}

/* The number of the first flow, of an instant that we wrote in place of one. */
static uint64_t first_flow(const struct event *event)
{
	struct sonde_bytes bytes = event->all;
	struct sonde_protobuf_field field;

	while (!sonde_protobuf_next(&bytes, &field, NULL))
		if (is_flow(field.number))
			return field.value;
	return 0;
}

static enum sonde_status add_value(struct perfetto_reader *reader,
				   const struct perfetto_sequence *sequence,
				   const struct event *event, uint64_t uuid, double value,
				   struct sonde_error *err)
{
	struct sonde_intake_event made = { .time_ns = event->time_ns,
					   .kind = SONDE_EVENT_COUNTER,
					   .event_type = SONDE_NONE };
	struct perfetto_place *place;
	enum sonde_status status;
	uint32_t number;

	status = perfetto_find_place(reader, uuid, &number, err);
	if (!status)
		status = perfetto_locate(reader, number, err);
	if (status)
		return status;
	place = &reader->places.items[number];
	if (place->event_type == SONDE_NONE)
		status = find_type(
			reader,
			sonde_definitions_string(reader->recording->definitions, place->name), "",
			&place->event_type, err);
	if (status)
		return status;
	if (place->is_incremental) {
		if (place->generation != sequence->generation)
			place->value = 0;
		place->generation = sequence->generation;
		value = place->value += value;
	}
	made.track = place->track;
	made.function = place->event_type;
	made.value = value * (double)place->multiplier;
	return sonde_intake_add(reader->intake, &made, err);
}

/* Values for counters beside the event: the tracks are named in it, or by default. */
static enum sonde_status add_extras(struct perfetto_reader *reader,
				    const struct perfetto_sequence *sequence,
				    const struct event *event, bool is_double,
				    struct sonde_error *err)
{
	uint32_t values_field = is_double ? EVENT_EXTRA_DOUBLES : EVENT_EXTRA_VALUES;
	uint32_t tracks_field = is_double ? EVENT_EXTRA_DOUBLE_TRACKS : EVENT_EXTRA_TRACKS;
	struct sonde_bytes values = event->all, tracks = event->all;
	struct sonde_protobuf_field value = { 0 }, track = { 0 };
	size_t at_value = 0, at_track = 0, index = 0;
	size_t count = is_double ? sequence->doubles.count : sequence->counters.count;
	enum sonde_status status = SONDE_OK;
	bool has_own = true;

	while (!status) {
		uint64_t bits, uuid = 0;

		while (value.number != values_field ||
		       !perfetto_next_number(&value, &at_value, is_double, &bits)) {
			at_value = 0;
			status = sonde_protobuf_next(&values, &value, err);
			if (status)
				return status == SONDE_END ? SONDE_OK : status;
		}
		while (has_own && (track.number != tracks_field ||
				   !perfetto_next_number(&track, &at_track, false, &uuid))) {
			at_track = 0;
			has_own = !sonde_protobuf_next(&tracks, &track, NULL);
		}
		if (!has_own && index >= count)
			return SONDE_OK;
		if (!has_own)
			uuid = is_double ? sequence->doubles.items[index] :
					   sequence->counters.items[index];
		index++;
		status = add_value(reader, sequence, event, uuid,
				   is_double ? perfetto_double(bits) : (double)(int64_t)bits, err);
	}
	return status;
}

static enum sonde_status add_instant(struct perfetto_reader *reader,
				     const struct perfetto_sequence *sequence, struct event *event,
				     struct sonde_error *err)
{
	uint32_t number;
	bool is_new;
	enum sonde_status status;

	if (event->own == OWN_MARK)
		return add(reader, sequence, event, SONDE_EVENT_MARK, 0, err);
	if (event->own < OWN_FLOW_BEGIN || event->own > OWN_FLOW_END)
		return add(reader, sequence, event, SONDE_EVENT_INSTANT, 0, err);
	event->has_flows = false;
	status = number_of(reader, 'f', first_flow(event), 0, &number, &is_new, err);
	return status ? status :
			add(reader, sequence, event,
			    SONDE_EVENT_FLOW_BEGIN + (event->own - OWN_FLOW_BEGIN), number, err);
}

static enum sonde_status add_range(struct perfetto_reader *reader,
				   const struct perfetto_sequence *sequence, struct event *event,
				   unsigned int kind, uint64_t id, uint32_t scope,
				   struct sonde_error *err)
{
	uint32_t number;
	bool is_new;
	enum sonde_status status = number_of(reader, 'r', id, scope, &number, &is_new, err);

	return status ? status : add(reader, sequence, event, kind, number, err);
}

static enum sonde_status add_typed(struct perfetto_reader *reader,
				   const struct perfetto_sequence *sequence, struct event *event,
				   struct sonde_error *err)
{
	bool begins = event->type == TYPE_BEGIN;

	switch (event->type) {
	case TYPE_BEGIN:
	case TYPE_END:
		if (event->own == OWN_RANGE)
			return add_range(reader, sequence, event,
					 begins ? SONDE_EVENT_RANGE_BEGIN : SONDE_EVENT_RANGE_END,
					 event->uuid, 0, err);
		if (begins)
			return add(reader, sequence, event, SONDE_EVENT_CALL, 0, err);
		return add(reader, sequence, event,
			   event->own == OWN_EXCEPTION ? SONDE_EVENT_EXCEPTION : SONDE_EVENT_RETURN,
			   0, err);
	case TYPE_INSTANT:
		return add_instant(reader, sequence, event, err);
	case TYPE_COUNTER:
		if (!event->has_value)
			return SONDE_OK;
		return add_value(reader, sequence, event, event->uuid, event->value, err);
	default:
		reader->unknown_phases[0]++;
		return SONDE_OK;
	}
}

/* A counter of the old form has a number for each series. */
static enum sonde_status add_series(struct perfetto_reader *reader, const struct event *event,
				    struct sonde_error *err)
{
	struct sonde_intake_event made = { .time_ns = event->time_ns,
					   .track = event->track,
					   .kind = SONDE_EVENT_COUNTER,
					   .event_type = SONDE_NONE };
	struct sonde_bytes bytes = event->all;
	struct sonde_protobuf_field field;
	enum sonde_status status = SONDE_OK;

	while (!status && !(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (field.number != EVENT_ANNOTATION || !perfetto_is_bytes(&field) ||
		    !perfetto_annotation_number(field.bytes, &made.value))
			continue;
		status = find_type(reader, name_text(reader, event), "", &made.function, err);
		if (!status)
			status = sonde_intake_add(reader->intake, &made, err);
	}
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status add_phase(struct perfetto_reader *reader,
				   const struct perfetto_sequence *sequence, struct event *event,
				   struct sonde_error *err)
{
	const struct legacy *legacy = &event->legacy;
	uint64_t id = legacy->has_id ? legacy->id : legacy->bind_id;
	uint32_t scope = legacy->is_local ? event->process + 1 : 0;

	switch (legacy->phase) {
	case 'B':
		return add(reader, sequence, event, SONDE_EVENT_CALL, 0, err);
	case 'E':
		return add(reader, sequence, event, SONDE_EVENT_RETURN, 0, err);
	case 'X':
		return add(reader, sequence, event, SONDE_INTAKE_SPAN, 0, err);
	case 'i':
	case 'I':
	case 'R':
	case 'n':
	case 'T':
	case 'p':
		return add(reader, sequence, event, SONDE_EVENT_INSTANT, 0, err);
	case 'b':
	case 'S':
		return add_range(reader, sequence, event, SONDE_EVENT_RANGE_BEGIN, id, scope, err);
	case 'e':
	case 'F':
		return add_range(reader, sequence, event, SONDE_EVENT_RANGE_END, id, scope, err);
	case 's':
		return add_flow(reader, event, id, SONDE_EVENT_FLOW_BEGIN, err);
	case 't':
		return add_flow(reader, event, id, SONDE_EVENT_FLOW_STEP, err);
	case 'f':
		return add_flow(reader, event, id, SONDE_EVENT_FLOW_END, err);
	case 'C':
		return add_series(reader, event, err);
	case 'M':
		return SONDE_OK;
	default:
		reader->unknown_phases[legacy->phase < PERFETTO_KINDS ? legacy->phase : 0]++;
		return SONDE_OK;
	}
}

static enum sonde_status add_beside(struct perfetto_reader *reader,
				    const struct perfetto_sequence *sequence,
				    const struct event *event, struct sonde_error *err)
{
	static const unsigned int directions[] = { 0, SONDE_EVENT_FLOW_END, SONDE_EVENT_FLOW_BEGIN,
						   SONDE_EVENT_FLOW_STEP };
	const struct legacy *legacy = &event->legacy;
	enum sonde_status status = SONDE_OK;

	if (event->has_flows)
		status = add_flows(reader, event, err);
	if (!status && legacy->has_bind && legacy->direction && legacy->direction <= 3)
		status = add_flow(reader, event, legacy->bind_id, directions[legacy->direction],
				  err);
	if (!status && event->has_extras)
		status = add_extras(reader, sequence, event, false, err);
	if (!status && event->has_extras)
		status = add_extras(reader, sequence, event, true, err);
	return status;
}

enum sonde_status perfetto_take_event(struct perfetto_reader *reader,
				      struct perfetto_sequence *sequence,
				      const struct perfetto_packet *packet, struct sonde_error *err)
{
	struct event event = { .uuid = sequence->track,
			       .name = SONDE_NONE,
			       .category = SONDE_NONE,
			       .all = packet->content };
	struct sonde_bytes bytes = packet->content;
	struct sonde_protobuf_field field;
	enum sonde_status status;
	bool is_old;

	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		status = take_event_field(reader, sequence, &event, &field, err);
		if (status)
			return status;
	}
	if (status != SONDE_END)
		return status;
	if (!find_time(reader, sequence, packet, &event)) {
		reader->timeless++;
		return SONDE_OK;
	}
	is_old = !event.type && event.legacy.phase;
	status = event.type == TYPE_COUNTER ? SONDE_OK : find_track(reader, sequence, &event, err);
	if (!status)
		status = is_old ? add_phase(reader, sequence, &event, err) :
				  add_typed(reader, sequence, &event, err);
	return status ? status : add_beside(reader, sequence, &event, err);
}
