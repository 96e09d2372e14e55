/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the events of a json_event_buffer. An event is found out as a whole or left out as a whole;
 * an argument that is wrong only loses its value. Definitions take effect as they come.
 */
#include "formats/cff/cff_json_events.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_put.h"

enum sonde_status cff_json_events_init(struct cff_json_events *events,
				       const struct cff_maker *maker, struct sonde_error *err)
{
	*events = (struct cff_json_events){ .maker = maker };
	sonde_json_reader_init(&events->json, maker->input ? (const char *)maker->input : "",
			       maker->size, NULL, NULL);
	sonde_json_reader_borrow(&events->json);
	return cff_types_init(&events->types, err);
}

void cff_json_events_release(struct cff_json_events *events)
{
	cff_types_release(&events->types);
	cff_texts_release(&events->texts);
	cff_strings_release(&events->strings);
	sonde_json_reader_release(&events->json);
	sonde_buffer_release(&events->values);
	sonde_vec_release(&events->wires);
	sonde_vec_release(&events->spans);
}

enum sonde_status cff_json_events_set_table(struct cff_json_events *events, const uint8_t *table,
					    size_t size, struct sonde_error *err)
{
	cff_texts_release(&events->texts);
	cff_strings_release(&events->strings);
	events->strings.data = table;
	events->strings.size = size;
	return cff_texts_init(&events->texts, table, size, err);
}

/* Remembers the wire id of a type by its number, for events that are given by name. */
static enum sonde_status note_wire(struct cff_json_events *events, uint32_t wire,
				   struct sonde_error *err)
{
	const struct cff_type *type = cff_types_find(&events->types, wire);
	size_t more = type && type->number >= events->wires.count ?
			      type->number + 1 - events->wires.count :
			      0;

	if (!sonde_vec_reserve(&events->wires, more))
		return sonde_fail_nomem(err);
	for (; more; more--)
		events->wires.items[events->wires.count++] = UINT32_MAX;
	if (type && events->wires.items[type->number] == UINT32_MAX)
		events->wires.items[type->number] = wire;
	return SONDE_OK;
}

enum sonde_status cff_json_events_scan(struct cff_json_events *events, const uint8_t *bytes,
				       size_t size, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	size_t position = 0, length;

	for (; size - position >= CFF_EVENT_SIZE; position += length) {
		const uint8_t *event = bytes + position;
		uint32_t wire = sonde_load_u32le(event + CFF_EVENT_WIRE);
		const struct cff_type *type = cff_types_find(&events->types, wire);
		enum cff_defined defined;

		length = type ? cff_type_size(type, event, size - position) : 0;
		if (!length)
			return SONDE_OK;
		if (type->builtin != CFF_DEFINE)
			continue;
		status = cff_types_define_event(&events->types, event, &events->strings, &defined,
						err);
		if (status >= 0)
			status = note_wire(events, sonde_load_u16le(event + CFF_EVENT_SIZE), err);
		if (status == SONDE_NOMEM)
			return status;
	}
	return SONDE_OK;
}

static void find_event(struct cff_json_events *events, const char *expected)
{
	CFF_FIND(events->maker->findings, JSON_EVENT, events->maker->path, events->json.offset,
		 "%s\tanother value", expected);
}

/* A NUL-terminated copy of a text by its ordinal, at the end of `copies`; its place there. */
static size_t copy_text(const struct cff_json_events *events, uint32_t ordinal,
			struct sonde_buffer *copies)
{
	const struct cff_text *text = cff_texts_at(&events->texts, ordinal);
	size_t place = copies->size;

	if (text)
		sonde_buffer_put(copies, text->text, text->length);
	sonde_buffer_put_char(copies, '\0');
	return place;
}

/* Carries out a definition that was just read into slots. */
static enum sonde_status define(struct cff_json_events *events, const uint8_t *event,
				uint64_t offset, struct sonde_error *err)
{
	const uint8_t *slots = event + CFF_EVENT_SIZE;
	struct sonde_buffer copies = { 0 };
	size_t name = copy_text(events, sonde_load_u32le(slots + 12), &copies);
	size_t arguments = copy_text(events, sonde_load_u32le(slots + 16), &copies);
	struct sonde_error failure;
	enum cff_defined defined;
	enum sonde_status status;

	if (copies.failed) {
		sonde_buffer_release(&copies);
		return sonde_fail_nomem(err);
	}
	if (arguments - name > CFF_NAME_LIMIT || copies.size - arguments > CFF_NAME_LIMIT)
		status = sonde_fail(&failure, SONDE_CORRUPT, offset, "a text of more than %d bytes",
				    CFF_NAME_LIMIT);
	else
		status = cff_types_define(&events->types, sonde_load_u16le(slots),
					  sonde_load_u16le(slots + 4), sonde_load_u32le(slots + 8),
					  copies.data + name, copies.data + arguments, &defined,
					  &failure);
	if (status >= 0)
		status = note_wire(events, sonde_load_u16le(slots), err);
	sonde_buffer_release(&copies);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status < 0)
		CFF_FIND(events->maker->findings, JSON_DEFINITION, events->maker->path, offset,
			 "name, class, flags and arguments of a type\t%s", failure.message);
	return SONDE_OK;
}

/* The wire id that a name has now; UINT32_MAX where it has none. */
static uint32_t find_wire(const struct cff_json_events *events, const char *name, size_t length)
{
	const struct cff_types *types = &events->types;
	uint32_t number = sonde_text_map_find(&types->names, name, length);
	uint32_t wire = number < events->wires.count ? events->wires.items[number] : UINT32_MAX;

	if (number == 0)
		return CFF_WIRE_DEFINE;
	if (wire == UINT32_MAX || cff_types_find(types, wire) == types->all.items[number])
		return wire;
	/* that id has got another meaning since */
	for (wire = 0; wire < types->wires.count; wire++) {
		if (types->wires.items[wire] == types->all.items[number])
			return wire;
	}
	return UINT32_MAX;
}

/* The wire id, or the name of a type, with which an event begins; NULL and a finding otherwise. */
static const struct cff_type *read_type(struct cff_json_events *events, uint32_t *wire)
{
	const struct sonde_json_reader *json = &events->json;
	const struct cff_type *type;
	uint64_t number = UINT32_MAX;

	if (json->token == SONDE_JSON_STRING)
		number = find_wire(events, json->text, json->length);
	else if (!sonde_json_u64(json, &number)) {
		find_event(events, "a wire id or the name of an event type");
		return NULL;
	}
	type = number < UINT32_MAX ? cff_types_find(&events->types, (uint32_t)number) : NULL;
	if (!type)
		CFF_FIND(events->maker->findings, JSON_EVENT_TYPE, events->maker->path,
			 json->offset, "an event type that is defined\t%.*s",
			 json->length < 60 ? (int)json->length : 60, json->text);
	*wire = (uint32_t)number;
	return type;
}

/* The first argument of a name that has no value yet, looked for from `from` on and around. */
static size_t find_argument(const struct cff_json_events *events, const struct cff_type *type,
			    size_t count, const char *name, size_t from)
{
	for (size_t i = 0; i < count; i++) {
		size_t index = (from + i) % count;

		if (!strcmp(sonde_signature_at(type->signature, index)->name, name) &&
		    !events->spans.items[index].size)
			return index;
	}
	return count;
}

/* {"name": value, ...} from its first key, the present token, if there is one. */
static enum sonde_status read_named(struct cff_json_events *events, const struct cff_type *type,
				    size_t count, struct sonde_error *err)
{
	struct sonde_json_reader *json = &events->json;
	enum sonde_status status = SONDE_OK;
	size_t index = 0;

	while (status >= 0 && json->token == SONDE_JSON_KEY) {
		struct cff_span *span;

		index = count ? find_argument(events, type, count, json->text, index % count) : 0;
		if (index == count) {
			CFF_FIND(events->maker->findings, JSON_ARGUMENT_NAME, events->maker->path,
				 json->offset, "an argument of \"%s\"\t%.60s", type->arguments,
				 json->text);
			status = sonde_json_skip(json, err);
			index = 0;
		} else {
			span = &events->spans.items[index];
			span->start = events->values.size;
			status = sonde_json_next(json, err);
			if (status >= 0)
				status = cff_json_value_read(
					events, sonde_signature_at(type->signature, index),
					&events->values, err);
			span->size = events->values.size - span->start;
			index++;
		}
		if (status >= 0)
			status = sonde_json_next(json, err);
	}
	return status;
}

static enum sonde_status put_named(struct cff_json_events *events, const struct cff_type *type,
				   struct sonde_buffer *out, struct sonde_error *err)
{
	size_t count = sonde_signature_count(type->signature);
	enum sonde_status status;

	events->spans.count = 0;
	sonde_buffer_clear(&events->values);
	if (!sonde_vec_reserve(&events->spans, count + 1))
		return sonde_fail_nomem(err);
	memset(events->spans.items, 0, count * sizeof(events->spans.items[0]));
	status = read_named(events, type, count, err);
	if (status < 0 || events->values.failed)
		return status < 0 ? status : sonde_fail_nomem(err);
	for (size_t i = 0; i < count; i++) {
		const struct cff_span *span = &events->spans.items[i];

		if (span->size)
			sonde_buffer_put(out, events->values.data + span->start, span->size);
		else
			cff_json_value_missing(sonde_signature_at(type->signature, i), out);
	}
	return SONDE_OK;
}

static bool has_argument(const struct cff_type *type, const char *name)
{
	size_t count = sonde_signature_count(type->signature);

	for (size_t i = 0; i < count && i < CFF_JSON_NAMED_LIMIT; i++) {
		if (!strcmp(sonde_signature_at(type->signature, i)->name, name))
			return true;
	}
	return false;
}

/*
 * Whether the object that the present token opens holds the arguments by name. It does not where it
 * is a value itself: of a form of its own, or of an `any` that has no argument's name in it.
 */
static enum sonde_status is_named(struct cff_json_events *events, const struct cff_type *type,
				  bool *named, struct sonde_error *err)
{
	const struct sonde_argument_spec *first = sonde_signature_at(type->signature, 0);
	struct sonde_json_reader *json = &events->json;
	enum sonde_status status = sonde_json_next(json, err);

	*named = false;
	if (status < 0 || sonde_signature_count(type->signature) > CFF_JSON_NAMED_LIMIT)
		return status;
	if (json->token != SONDE_JSON_KEY)
		*named = !first || first->type != SONDE_ARGUMENT_ANY;
	else if (has_argument(type, json->text))
		*named = true;
	else
		*named = strcmp(json->text, CFF_JSON_RAW) && strcmp(json->text, CFF_JSON_ORDINAL) &&
			 (!first || first->type != SONDE_ARGUMENT_ANY);
	return SONDE_OK;
}

/* Goes back to an object that was looked into, as if it had not been. */
static void step_back(struct sonde_json_reader *json, const struct sonde_json_reader *before)
{
	struct sonde_buffer scratch = json->scratch;

	*json = *before;
	json->scratch = scratch;
}

/* Values in the order of the signature, to the end of the event's array. */
static enum sonde_status put_ordered(struct cff_json_events *events, const struct cff_type *type,
				     struct sonde_buffer *out, struct sonde_error *err)
{
	size_t count = sonde_signature_count(type->signature), index = 0;
	struct sonde_json_reader *json = &events->json;
	enum sonde_status status = SONDE_OK;

	for (; status >= 0 && json->token != SONDE_JSON_ARRAY_END; index++) {
		if (index < count) {
			status = cff_json_value_read(
				events, sonde_signature_at(type->signature, index), out, err);
		} else {
			if (index == count)
				CFF_FIND(events->maker->findings, JSON_ARGUMENT_NAME,
					 events->maker->path, json->offset,
					 "%zu arguments (%s)\tmore", count, type->arguments);
			status = sonde_json_skip(json, err);
		}
		if (status >= 0)
			status = sonde_json_next(json, err);
	}
	for (; index < count; index++)
		cff_json_value_missing(sonde_signature_at(type->signature, index), out);
	return status;
}

/* What comes after the time, to the end of the event's array. */
static enum sonde_status put_arguments(struct cff_json_events *events, const struct cff_type *type,
				       struct sonde_buffer *out, struct sonde_error *err)
{
	struct sonde_json_reader *json = &events->json, before;
	enum sonde_status status = sonde_json_next(json, err);
	bool named = false;

	if (status < 0)
		return status;
	if (json->token != SONDE_JSON_OBJECT_BEGIN)
		return put_ordered(events, type, out, err);
	before = *json;
	status = is_named(events, type, &named, err);
	if (status < 0)
		return status;
	if (named) {
		status = put_named(events, type, out, err);
		return status < 0 ? status : sonde_json_next(json, err);
	}
	step_back(json, &before);
	return put_ordered(events, type, out, err);
}

/* The head of an event; NULL and a finding where it is none. */
static enum sonde_status read_head(struct cff_json_events *events, const struct cff_type **type,
				   uint32_t *wire, uint32_t *time, struct sonde_error *err)
{
	struct sonde_json_reader *json = &events->json;
	enum sonde_status status = sonde_json_next(json, err);
	uint64_t number = 0;

	*type = NULL;
	*time = 0;
	if (status < 0)
		return status;
	*type = read_type(events, wire);
	if (!*type)
		return sonde_json_skip(json, err);
	status = sonde_json_next(json, err);
	if (status < 0)
		return status;
	if (!sonde_json_u64(json, &number) || number > UINT32_MAX) {
		find_event(events, "a time in microseconds of at most 32 bits");
		*type = NULL;
		return sonde_json_skip(json, err);
	}
	*time = (uint32_t)number;
	return SONDE_OK;
}

/* Steps to the end of an event that cannot be used; its opening bracket had this depth. */
static enum sonde_status skip_event(struct cff_json_events *events, unsigned int depth,
				    struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (status >= 0 && events->json.depth > depth)
		status = sonde_json_next(&events->json, err);
	return status;
}

/* An event from its opening bracket, the present token, to its closing one. */
static enum sonde_status read_event(struct cff_json_events *events, struct sonde_buffer *out,
				    struct sonde_error *err)
{
	unsigned int depth = events->json.depth;
	uint64_t offset = events->json.offset;
	size_t start = out->size;
	const struct cff_type *type;
	uint32_t wire, time;
	enum sonde_status status = read_head(events, &type, &wire, &time, err);

	if (status < 0)
		return status;
	if (!type)
		return skip_event(events, depth, err);
	sonde_put_u32le(out, wire);
	sonde_put_u32le(out, time);
	status = put_arguments(events, type, out, err);
	if (status < 0 || out->failed) {
		out->size = start;
		return status < 0 ? status : sonde_fail_nomem(err);
	}
	status = skip_event(events, depth, err);
	if (status >= 0 && type->builtin == CFF_DEFINE && out->size - start == CFF_EVENT_SIZE + 20)
		status = define(events, (const uint8_t *)out->data + start, offset, err);
	return status;
}

/* {"raw": [...]} in place of an event: words that are no events, as they are. */
static enum sonde_status read_raw_words(struct cff_json_events *events, struct sonde_buffer *out,
					struct sonde_error *err)
{
	struct sonde_json_reader *json = &events->json;
	unsigned int depth = json->depth;
	enum sonde_status status = sonde_json_next(json, err);

	if (status >= 0 && (json->token != SONDE_JSON_KEY || strcmp(json->text, CFF_JSON_RAW))) {
		find_event(events, "an event");
		return skip_event(events, depth, err);
	}
	while (status >= 0 && json->depth > depth) {
		uint64_t word;

		status = sonde_json_next(json, err);
		if (status < 0 || json->depth != depth + 2)
			continue;
		if (sonde_json_u64(json, &word) && word <= UINT32_MAX)
			sonde_put_u32le(out, (uint32_t)word);
		else
			find_event(events, "words of 32 bits");
	}
	return status;
}

enum sonde_status cff_json_events_read(struct cff_json_events *events, uint64_t offset,
				       struct sonde_buffer *out, struct sonde_error *err)
{
	struct sonde_json_reader *json = &events->json;
	enum sonde_status status;

	sonde_json_seek(json, offset);
	status = sonde_json_next(json, err);
	while (status >= 0) {
		status = sonde_json_next(json, err);
		if (status < 0 || json->token == SONDE_JSON_ARRAY_END)
			break;
		if (json->token == SONDE_JSON_ARRAY_BEGIN) {
			status = read_event(events, out, err);
		} else if (json->token == SONDE_JSON_OBJECT_BEGIN) {
			status = read_raw_words(events, out, err);
		} else {
			find_event(events, "an event");
		}
	}
	if (out->failed)
		return sonde_fail_nomem(err);
	/* where the JSON is broken, it was said when the part was read */
	return status == SONDE_NOMEM ? status : SONDE_OK;
}
