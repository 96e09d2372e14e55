/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a packet sequence has said so far: defaults, and what is interned. An iid leads to a number in tables
 * that all sequences share, so that what many of them say is kept once.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/perfetto/perfetto_read.h"

enum sonde_status perfetto_find_sequence(struct perfetto_reader *reader, uint32_t id,
					 struct perfetto_sequence **sequence,
					 struct sonde_error *err)
{
	uint32_t number = sonde_key_map_find(&reader->sequence_numbers, id);
	struct perfetto_sequence **place;

	if (number != SONDE_NONE) {
		*sequence = reader->sequences.items[number];
		return SONDE_OK;
	}
	place = sonde_vec_push(&reader->sequences);
	if (!place)
		return sonde_fail_nomem(err);
	*sequence = *place = calloc(1, sizeof(**place));
	if (!*place || !sonde_key_map_add(&reader->sequence_numbers, id,
					  (uint32_t)(reader->sequences.count - 1)))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

static void forget(struct perfetto_sequence *sequence)
{
	for (unsigned int i = 0; i < PERFETTO_INTERNED_COUNT; i++) {
		sonde_key_map_release(&sequence->interned[i]);
		memset(&sequence->interned[i], 0, sizeof(sequence->interned[i]));
	}
	sonde_vec_release(&sequence->counters);
	sonde_vec_release(&sequence->doubles);
}

void perfetto_clear_sequence(struct perfetto_sequence *sequence)
{
	forget(sequence);
	sequence->is_valid = true;
	sequence->generation++;
	sequence->clock = 0;
	sequence->track = 0;
}

void perfetto_release_state(struct perfetto_reader *reader)
{
	for (size_t i = 0; i < reader->sequences.count; i++) {
		if (!reader->sequences.items[i])
			continue;
		forget(reader->sequences.items[i]);
		free(reader->sequences.items[i]->clocks);
		free(reader->sequences.items[i]);
	}
	sonde_vec_release(&reader->sequences);
	sonde_key_map_release(&reader->sequence_numbers);
	sonde_arena_release(&reader->keys);
	sonde_text_map_release(&reader->name_numbers);
	sonde_text_map_release(&reader->frame_numbers);
	sonde_key_map_release(&reader->annotation_numbers);
	sonde_key_map_release(&reader->location_numbers);
	sonde_vec_release(&reader->names);
	sonde_vec_release(&reader->annotation_names);
	sonde_vec_release(&reader->locations);
	sonde_vec_release(&reader->frames);
	sonde_key_map_release(&reader->stack_numbers);
	sonde_vec_release(&reader->stacks);
	sonde_key_map_release(&reader->modules);
	sonde_vec_release(&reader->path);
	sonde_buffer_release(&reader->signature);
	sonde_buffer_release(&reader->arguments);
	sonde_buffer_release(&reader->text);
}

static enum sonde_status take_event_defaults(struct perfetto_sequence *sequence,
					     struct sonde_bytes bytes, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		uint64_t uuid, *place;
		size_t position = 0;

		if (field.number == EVENT_TRACK && perfetto_is_number(&field))
			sequence->track = field.value;
		if (field.number != EVENT_EXTRA_TRACKS && field.number != EVENT_EXTRA_DOUBLE_TRACKS)
			continue;
		while (perfetto_next_number(&field, &position, false, &uuid)) {
			if (field.number == EVENT_EXTRA_TRACKS)
				place = sonde_vec_push(&sequence->counters);
			else
				place = sonde_vec_push(&sequence->doubles);
			if (!place)
				return sonde_fail_nomem(err);
			*place = uuid;
		}
	}
	return status == SONDE_END ? SONDE_OK : status;
}

enum sonde_status perfetto_take_defaults(struct perfetto_sequence *sequence,
					 struct sonde_bytes bytes, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	if (!bytes.size)
		return SONDE_OK;
	sequence->counters.count = sequence->doubles.count = 0;
	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (field.number == PACKET_CLOCK && perfetto_is_number(&field))
			sequence->clock = (uint32_t)field.value;
		else if (field.number == PACKET_TRACK_EVENT && perfetto_is_bytes(&field))
			status = take_event_defaults(sequence, field.bytes, err);
		if (status)
			return status;
	}
	return status == SONDE_END ? SONDE_OK : status;
}

/* The number of a key that stands for itself; SONDE_NONE where it is new, and *kept a copy. */
static enum sonde_status find_key(struct perfetto_reader *reader, struct sonde_text_map *map,
				  const void *key, size_t size, size_t next, uint32_t *number,
				  bool *is_new, struct sonde_error *err)
{
	const char *copy;

	*number = sonde_text_map_find(map, key, size);
	*is_new = *number == SONDE_NONE;
	if (!*is_new)
		return SONDE_OK;
	*number = (uint32_t)next;
	copy = sonde_arena_copy_text(&reader->keys, key, size);
	if (!copy || !sonde_text_map_add(map, copy, size, *number))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

enum sonde_status perfetto_add_name(struct perfetto_reader *reader,
				    const struct perfetto_name *name, uint32_t *number,
				    struct sonde_error *err)
{
	struct perfetto_name *made;
	bool is_new;
	enum sonde_status status = find_key(reader, &reader->name_numbers, &name->key,
					    sizeof(name->key), reader->names.count, number, &is_new,
					    err);

	if (status || !is_new)
		return status;
	made = sonde_vec_push(&reader->names);
	if (!made)
		return sonde_fail_nomem(err);
	*made = *name;
	made->process = SONDE_NONE;
	return SONDE_OK;
}

enum sonde_status perfetto_add_frame(struct perfetto_reader *reader,
				     const struct perfetto_frame *frame, uint32_t *number,
				     struct sonde_error *err)
{
	struct perfetto_frame *made;
	bool is_new;
	enum sonde_status status = find_key(reader, &reader->frame_numbers, frame, sizeof(*frame),
					    reader->frames.count, number, &is_new, err);

	if (status || !is_new)
		return status;
	made = sonde_vec_push(&reader->frames);
	if (!made)
		return sonde_fail_nomem(err);
	*made = *frame;
	return SONDE_OK;
}

enum sonde_status perfetto_add_module(struct perfetto_reader *reader, uint32_t process,
				      uint32_t path, uint32_t *module, struct sonde_error *err)
{
	uint64_t key = (uint64_t)process << 32 | path;
	struct sonde_module made = { .process = process, .path = path };
	enum sonde_status status;

	*module = SONDE_NONE;
	if (!path)
		return SONDE_OK;
	*module = sonde_key_map_find(&reader->modules, key);
	if (*module != SONDE_NONE)
		return SONDE_OK;
	status = sonde_definitions_add_module(reader->recording->definitions, &made, module, err);
	if (status)
		return status;
	return sonde_key_map_add(&reader->modules, key, *module) ? SONDE_OK : sonde_fail_nomem(err);
}

/* An entry of interned data, whatever it is: its fields as far as several kinds have them. */
struct entry {
	uint64_t iid;
	uint32_t text; /* string */
	struct perfetto_name name;
	struct perfetto_frame frame;
	struct perfetto_location location;
	struct perfetto_annotation_name annotation;
	uint32_t stack;
};

static enum sonde_status text_of(struct perfetto_reader *reader,
				 const struct sonde_protobuf_field *field, uint32_t *string,
				 struct sonde_error *err)
{
	return sonde_intake_string(reader->intake, perfetto_text(field), field->bytes.size, string,
				   err);
}

static enum sonde_status take_name_field(struct perfetto_reader *reader, struct entry *entry,
					 const struct sonde_protobuf_field *field,
					 struct sonde_error *err)
{
	switch (field->number) {
	case INTERNED_TEXT:
		return text_of(reader, field, &entry->name.key.name, err);
	case NAME_OWN_FILE:
		return text_of(reader, field, &entry->name.key.file, err);
	case NAME_OWN_MODULE:
		return text_of(reader, field, &entry->name.key.module, err);
	case NAME_OWN_RAW:
		return text_of(reader, field, &entry->name.key.raw, err);
	case NAME_OWN_LINE:
		entry->name.key.line = (uint32_t)field->value;
		return SONDE_OK;
	case NAME_OWN_ADDRESS:
		entry->name.key.address = field->value;
		return SONDE_OK;
	default:
		return SONDE_OK;
	}
}

enum sonde_status perfetto_argument_name(struct perfetto_reader *reader, const char *text,
					 size_t length, uint32_t *string, struct sonde_error *err)
{
	struct sonde_buffer *out = &reader->text;

	sonde_buffer_clear(out);
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i];

		sonde_buffer_put_char(out, byte <= ' ' || byte == 0x7f || strchr(",[]<>", byte) ?
						   '_' :
						   (char)byte);
	}
	if (!length)
		sonde_buffer_put_char(out, '_');
	if (out->failed)
		return sonde_fail_nomem(err);
	return sonde_intake_string(reader->intake, out->data, out->size, string, err);
}

/* The word of a type that sonde put beside a name. */
static void take_type(struct perfetto_annotation_name *name, struct sonde_bytes word)
{
	size_t length = word.size;

	name->is_array = length > 2 && !memcmp(word.data + length - 2, "[]", 2);
	length -= name->is_array ? 2 : 0;
	for (unsigned int i = 0; i <= SONDE_ARGUMENT_ANY; i++) {
		const char *known = sonde_argument_type_name((enum sonde_argument_type)i);

		if (strlen(known) != length || memcmp(known, word.data, length) != 0)
			continue;
		name->type = (enum sonde_argument_type)i;
		name->has_type = !(name->is_array && sonde_argument_type_is_text(name->type));
	}
}

static enum sonde_status take_frame_field(struct perfetto_reader *reader,
					  const struct perfetto_sequence *sequence,
					  struct perfetto_frame *frame,
					  const struct sonde_protobuf_field *field)
{
	uint32_t number;

	switch (field->number) {
	case FRAME_FUNCTION:
		number = perfetto_resolve(reader, sequence, PERFETTO_FUNCTION_NAMES, field->value);
		if (number != SONDE_NONE) {
			frame->function = number;
			frame->flags |= PERFETTO_FRAME_HAS_NAME;
		}
		break;
	case FRAME_MAPPING:
		number = perfetto_resolve(reader, sequence, PERFETTO_MAPPINGS, field->value);
		frame->module = number != SONDE_NONE ? number : 0;
		break;
	case FRAME_ADDRESS:
		frame->address = field->value;
		frame->flags |= PERFETTO_FRAME_HAS_ADDRESS;
		break;
	case FRAME_SOURCE:
		number = perfetto_resolve(reader, sequence, PERFETTO_SOURCE_PATHS, field->value);
		frame->file = number != SONDE_NONE ? number : 0;
		break;
	case FRAME_LINE:
		frame->line = (uint32_t)field->value;
		break;
	case FRAME_OWN_ENTRY:
		frame->entry = (uint32_t)field->value;
		break;
	case FRAME_OWN_INLINED:
		frame->flags |= PERFETTO_FRAME_INLINED;
		break;
	case FRAME_OWN_FILE:
		number = perfetto_resolve(reader, sequence, PERFETTO_SOURCE_PATHS, field->value);
		frame->function_file = number != SONDE_NONE ? number : 0;
		break;
	case FRAME_OWN_LINE:
		frame->function_line = (uint32_t)field->value;
		break;
	case FRAME_OWN_WHOLE:
		frame->flags |= PERFETTO_FRAME_WHOLE;
		break;
	default:
		break;
	}
	return SONDE_OK;
}

static enum sonde_status take_frames(struct perfetto_reader *reader,
				     const struct perfetto_sequence *sequence, struct entry *entry,
				     const struct sonde_protobuf_field *field,
				     struct sonde_error *err)
{
	size_t position = 0;
	uint64_t iid;

	if (field->number != CALLSTACK_FRAME)
		return SONDE_OK;
	while (perfetto_next_number(field, &position, false, &iid)) {
		uint32_t frame = perfetto_resolve(reader, sequence, PERFETTO_FRAMES, iid);
		enum sonde_status status = SONDE_OK;

		if (frame != SONDE_NONE)
			status =
				perfetto_add_stack(reader, entry->stack, frame, &entry->stack, err);
		if (status)
			return status;
	}
	return SONDE_OK;
}

/* A path comes in parts. */
static enum sonde_status take_mapping(struct perfetto_reader *reader,
				      const struct perfetto_sequence *sequence, struct entry *entry,
				      const struct sonde_protobuf_field *field,
				      struct sonde_error *err)
{
	const struct sonde_definitions *definitions = reader->recording->definitions;
	size_t position = 0;
	uint64_t iid;

	if (field->number != MAPPING_PATH)
		return SONDE_OK;
	while (perfetto_next_number(field, &position, false, &iid)) {
		uint32_t part = perfetto_resolve(reader, sequence, PERFETTO_MAPPING_PATHS, iid);
		enum sonde_status status;

		if (part == SONDE_NONE)
			continue;
		if (!entry->text) {
			entry->text = part;
			continue;
		}
		sonde_buffer_clear(&reader->text);
		sonde_buffer_put_text(&reader->text,
				      sonde_definitions_string(definitions, entry->text));
		sonde_buffer_put_char(&reader->text, '/');
		sonde_buffer_put_text(&reader->text, sonde_definitions_string(definitions, part));
		if (reader->text.failed)
			return sonde_fail_nomem(err);
		status = sonde_intake_string(reader->intake, reader->text.data, reader->text.size,
					     &entry->text, err);
		if (status)
			return status;
	}
	return SONDE_OK;
}

static enum sonde_status take_entry_field(struct perfetto_reader *reader,
					  const struct perfetto_sequence *sequence,
					  enum perfetto_interned kind, struct entry *entry,
					  const struct sonde_protobuf_field *field,
					  struct sonde_error *err)
{
	switch (kind) {
	case PERFETTO_NAMES:
		return take_name_field(reader, entry, field, err);
	case PERFETTO_FRAMES:
		return take_frame_field(reader, sequence, &entry->frame, field);
	case PERFETTO_CALLSTACKS:
		return take_frames(reader, sequence, entry, field, err);
	case PERFETTO_MAPPINGS:
		return take_mapping(reader, sequence, entry, field, err);
	case PERFETTO_LOCATIONS:
		if (field->number == LOCATION_LINE)
			entry->location.line = (uint32_t)field->value;
		return field->number == LOCATION_FILE ?
			       text_of(reader, field, &entry->location.file, err) :
			       SONDE_OK;
	case PERFETTO_ANNOTATION_NAMES:
		if (field->number == ANNOTATION_NAME_OWN_TYPE && reader->is_ours)
			take_type(&entry->annotation, field->bytes);
		return field->number == INTERNED_TEXT ?
			       perfetto_argument_name(reader, perfetto_text(field),
						      field->bytes.size, &entry->annotation.name,
						      err) :
			       SONDE_OK;
	default:
		return field->number == INTERNED_TEXT ? text_of(reader, field, &entry->text, err) :
							SONDE_OK;
	}
}

static enum sonde_status keep_location(struct perfetto_reader *reader,
				       const struct perfetto_location *location, uint32_t *number,
				       struct sonde_error *err)
{
	uint64_t key = (uint64_t)location->file << 32 | location->line;
	struct perfetto_location *made;

	*number = sonde_key_map_find(&reader->location_numbers, key);
	if (*number != SONDE_NONE)
		return SONDE_OK;
	*number = (uint32_t)reader->locations.count;
	made = sonde_vec_push(&reader->locations);
	if (!made || !sonde_key_map_add(&reader->location_numbers, key, *number))
		return sonde_fail_nomem(err);
	*made = *location;
	return SONDE_OK;
}

static enum sonde_status keep_annotation(struct perfetto_reader *reader,
					 const struct perfetto_annotation_name *name,
					 uint32_t *number, struct sonde_error *err)
{
	uint64_t key = (uint64_t)name->name << 32 | (uint64_t)name->type << 2 |
		       (uint64_t)name->is_array << 1 | name->has_type;
	struct perfetto_annotation_name *made;

	*number = sonde_key_map_find(&reader->annotation_numbers, key);
	if (*number != SONDE_NONE)
		return SONDE_OK;
	*number = (uint32_t)reader->annotation_names.count;
	made = sonde_vec_push(&reader->annotation_names);
	if (!made || !sonde_key_map_add(&reader->annotation_numbers, key, *number))
		return sonde_fail_nomem(err);
	*made = *name;
	return SONDE_OK;
}

/* What an entry is kept as. */
static enum sonde_status keep_entry(struct perfetto_reader *reader, enum perfetto_interned kind,
				    const struct entry *entry, uint32_t *number,
				    struct sonde_error *err)
{
	switch (kind) {
	case PERFETTO_NAMES:
		return perfetto_add_name(reader, &entry->name, number, err);
	case PERFETTO_FRAMES:
		return perfetto_add_frame(reader, &entry->frame, number, err);
	case PERFETTO_CALLSTACKS:
		*number = entry->stack;
		return SONDE_OK;
	case PERFETTO_LOCATIONS:
		return keep_location(reader, &entry->location, number, err);
	case PERFETTO_ANNOTATION_NAMES:
		return keep_annotation(reader, &entry->annotation, number, err);
	default:
		*number = entry->text;
		return SONDE_OK;
	}
}

static enum sonde_status take_entry(struct perfetto_reader *reader,
				    struct perfetto_sequence *sequence, enum perfetto_interned kind,
				    struct sonde_bytes bytes, struct sonde_error *err)
{
	struct entry entry = { 0 };
	struct sonde_protobuf_field field;
	enum sonde_status status;
	uint32_t number = 0;

	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (field.number == IID)
			entry.iid = field.value;
		else
			status = take_entry_field(reader, sequence, kind, &entry, &field, err);
		if (status)
			return status;
	}
	if (status != SONDE_END)
		return status;
	/* the same may be said again, another thing not */
	if (sonde_key_map_find(&sequence->interned[kind], entry.iid) != SONDE_NONE)
		return SONDE_OK;
	status = keep_entry(reader, kind, &entry, &number, err);
	if (!status && !sonde_key_map_add(&sequence->interned[kind], entry.iid, number))
		status = sonde_fail_nomem(err);
	return status;
}

enum sonde_status perfetto_take_interned(struct perfetto_reader *reader,
					 struct perfetto_sequence *sequence,
					 struct sonde_bytes bytes, struct sonde_error *err)
{
	/* what refers to others comes behind them */
	static const struct {
		uint32_t field;
		enum perfetto_interned kind;
	} order[] = {
		{ INTERNED_CATEGORY, PERFETTO_CATEGORIES },
		{ INTERNED_NAME, PERFETTO_NAMES },
		{ INTERNED_ANNOTATION_NAME, PERFETTO_ANNOTATION_NAMES },
		{ INTERNED_LOCATION, PERFETTO_LOCATIONS },
		{ INTERNED_FUNCTION_NAME, PERFETTO_FUNCTION_NAMES },
		{ INTERNED_MAPPING_PATH, PERFETTO_MAPPING_PATHS },
		{ INTERNED_SOURCE_PATH, PERFETTO_SOURCE_PATHS },
		{ INTERNED_MAPPING, PERFETTO_MAPPINGS },
		{ INTERNED_FRAME, PERFETTO_FRAMES },
		{ INTERNED_CALLSTACK, PERFETTO_CALLSTACKS },
		{ INTERNED_ANNOTATION_STRING, PERFETTO_ANNOTATION_STRINGS },
	};
	struct sonde_protobuf_field field;
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; bytes.size && !status && i < sizeof(order) / sizeof(order[0]); i++) {
		struct sonde_bytes all = bytes;

		while (!status && !(status = sonde_protobuf_next(&all, &field, err)))
			if (field.number == order[i].field && perfetto_is_bytes(&field))
				status = take_entry(reader, sequence, order[i].kind, field.bytes,
						    err);
		if (status == SONDE_END)
			status = SONDE_OK;
	}
	return status;
}

enum sonde_status perfetto_read_location(struct perfetto_reader *reader, struct sonde_bytes bytes,
					 struct perfetto_location *location,
					 struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status = SONDE_OK;

	while (!status && !(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (field.number == LOCATION_LINE)
			location->line = (uint32_t)field.value;
		else if (field.number == LOCATION_FILE)
			status = sonde_intake_string(reader->intake, perfetto_text(&field),
						     field.bytes.size, &location->file, err);
	}
	return status == SONDE_END ? SONDE_OK : status;
}

uint32_t perfetto_resolve(struct perfetto_reader *reader, const struct perfetto_sequence *sequence,
			  enum perfetto_interned kind, uint64_t iid)
{
	uint32_t number = iid ? sonde_key_map_find(&sequence->interned[kind], iid) : SONDE_NONE;

	reader->unresolved += iid && number == SONDE_NONE;
	return number;
}
