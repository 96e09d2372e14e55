/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who there is: descriptors of processes, threads and other tracks, of the present form and the old ones,
 * and process trees, whose names count where nothing else names a thread.
 */
#include <string.h>

#include "base/json.h"
#include "formats/perfetto/perfetto_read.h"

/* Keys of processes and tracks in the intake that no id of a system is. */
#define NO_PROCESS (1ull << 62)
#define PROCESS_TRACK (1ull << 62)
#define OTHER_TRACK (1ull << 63)
#define MOST_PARENTS 64

static enum sonde_status take_string(struct perfetto_reader *reader,
				     const struct sonde_protobuf_field *field, uint32_t *string,
				     struct sonde_error *err)
{
	return sonde_intake_string(reader->intake, perfetto_text(field), field->bytes.size, string,
				   err);
}

static enum sonde_status find_process(struct perfetto_reader *reader, uint64_t pid,
				      uint32_t *process, struct sonde_error *err)
{
	enum sonde_status status = sonde_intake_process(reader->intake, pid, process, err);

	if (!status && *process >= reader->process_count) {
		reader->process_count = *process + 1;
		/* in what we wrote, descriptors tell which ids are real */
		if (pid == NO_PROCESS || reader->is_ours)
			sonde_intake_process_at(reader->intake, *process)->os_id = SONDE_NONE;
	}
	return status;
}

enum sonde_status perfetto_thread(struct perfetto_reader *reader, uint32_t pid, uint64_t tid,
				  uint32_t *process, uint32_t *track, struct sonde_error *err)
{
	enum sonde_status status = find_process(reader, pid, process, err);

	if (!status)
		status = sonde_intake_track(reader->intake, *process, tid, track, err);
	if (!status && *track >= reader->track_count)
		reader->track_count = *track + 1;
	return status;
}

enum sonde_status perfetto_find_place(struct perfetto_reader *reader, uint64_t uuid,
				      uint32_t *place, struct sonde_error *err)
{
	struct perfetto_place *made;

	*place = sonde_key_map_find(&reader->place_numbers, uuid);
	if (*place != SONDE_NONE)
		return SONDE_OK;
	made = sonde_vec_push(&reader->places);
	if (!made)
		return sonde_fail_nomem(err);
	*made = (struct perfetto_place){ .uuid = uuid,
					 .multiplier = 1,
					 .event_type = SONDE_NONE,
					 .process = SONDE_NONE,
					 .track = SONDE_NONE };
	*place = (uint32_t)(reader->places.count - 1);
	return sonde_key_map_add(&reader->place_numbers, uuid, *place) ? SONDE_OK :
									 sonde_fail_nomem(err);
}

/* The process that a track is below of, as far as descriptors say. */
static enum sonde_status find_owner(struct perfetto_reader *reader, uint32_t number,
				    uint32_t *process, uint32_t *thread, struct sonde_error *err)
{
	const struct perfetto_place *place = &reader->places.items[number];

	*thread = SONDE_NONE;
	for (unsigned int i = 0; i < MOST_PARENTS; i++) {
		if (place->is_thread)
			return perfetto_thread(reader, place->pid, place->tid, process, thread,
					       err);
		if (place->is_process)
			return find_process(reader, place->pid, process, err);
		number = place->parent ? sonde_key_map_find(&reader->place_numbers, place->parent) :
					 SONDE_NONE;
		if (number == SONDE_NONE)
			break;
		place = &reader->places.items[number];
	}
	return find_process(reader, NO_PROCESS, process, err);
}

/* Tracks that are no threads: their names, and that they have no id. */
static enum sonde_status find_other(struct perfetto_reader *reader, uint32_t process, uint64_t key,
				    uint32_t name, uint32_t *track, struct sonde_error *err)
{
	enum sonde_status status = sonde_intake_track(reader->intake, process, key, track, err);
	struct sonde_track *definition;

	if (status)
		return status;
	if (*track >= reader->track_count)
		reader->track_count = *track + 1;
	definition = sonde_intake_track_at(reader->intake, *track);
	definition->os_id = UINT64_MAX;
	definition->kind = SONDE_TRACK_ZONE;
	definition->name = name;
	return SONDE_OK;
}

enum sonde_status perfetto_locate(struct perfetto_reader *reader, uint32_t number,
				  struct sonde_error *err)
{
	struct perfetto_place *place = &reader->places.items[number];
	enum sonde_status status;
	uint32_t process, thread;

	if (place->track != SONDE_NONE)
		return SONDE_OK;
	status = find_owner(reader, number, &process, &thread, err);
	if (status)
		return status;
	place->process = process;
	place->track = thread;
	/* a counter is part of the thread that it is below of, others have tracks of their own */
	if (thread != SONDE_NONE && (place->is_thread || place->is_counter))
		return SONDE_OK;
	if (place->is_process || place->is_counter || !place->uuid)
		return find_other(reader, process, PROCESS_TRACK, 0, &place->track, err);
	return find_other(reader, process, OTHER_TRACK | place->uuid, place->name, &place->track,
			  err);
}

static enum sonde_status add_attribute(struct perfetto_reader *reader, enum sonde_owner owner,
				       uint32_t owner_id, struct sonde_bytes bytes,
				       struct sonde_error *err)
{
	struct sonde_attribute attribute = { .owner = owner, .owner_id = owner_id };
	struct sonde_protobuf_field field;
	enum sonde_status status;
	uint32_t ignored;

	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (field.number == OWN_ATTRIBUTE_NAME)
			status = take_string(reader, &field, &attribute.name, err);
		else if (field.number == OWN_ATTRIBUTE_VALUE)
			status = take_string(reader, &field, &attribute.value, err);
		if (status)
			return status;
	}
	if (status != SONDE_END || !attribute.name || !attribute.value)
		return status;
	return sonde_definitions_add_attribute(reader->recording->definitions, &attribute, &ignored,
					       err);
}

/* Words of a command line become the attribute that recordings have for it. */
static enum sonde_status add_command(struct perfetto_reader *reader, uint32_t process,
				     struct sonde_bytes bytes, uint32_t field_number,
				     struct sonde_error *err)
{
	struct sonde_buffer *out = &reader->text;
	struct sonde_attribute attribute = { .owner = SONDE_OWNER_PROCESS, .owner_id = process };
	struct sonde_protobuf_field field;
	struct sonde_json_writer json;
	enum sonde_status status;
	size_t count = 0;
	uint32_t ignored;

	sonde_buffer_clear(out);
	sonde_json_writer_init(&json, out, false);
	sonde_json_array_begin(&json);
	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (field.number != field_number || !perfetto_is_bytes(&field))
			continue;
		sonde_json_string_sized(&json, perfetto_text(&field), field.bytes.size);
		count++;
	}
	sonde_json_array_end(&json);
	if (out->failed)
		return sonde_fail_nomem(err);
	if (status != SONDE_END || !count)
		return status == SONDE_END ? SONDE_OK : status;
	status = sonde_intake_string(reader->intake, out->data, out->size, &attribute.value, err);
	if (!status)
		status = sonde_intake_string(reader->intake, "command_line", 12, &attribute.name,
					     err);
	return status ? status :
			sonde_definitions_add_attribute(reader->recording->definitions, &attribute,
							&ignored, err);
}

static enum sonde_status read_process(struct perfetto_reader *reader, struct sonde_bytes bytes,
				      uint32_t *pid, uint32_t *name, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (field.number == PROCESS_PID && perfetto_is_number(&field))
			*pid = (uint32_t)field.value;
		else if (field.number == PROCESS_NAME && perfetto_is_bytes(&field))
			status = take_string(reader, &field, name, err);
		if (status)
			return status;
	}
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status define_process(struct perfetto_reader *reader, struct sonde_bytes bytes,
					uint32_t *pid, uint32_t *process, struct sonde_error *err)
{
	uint32_t name = 0, before = reader->process_count;
	enum sonde_status status = read_process(reader, bytes, pid, &name, err);

	if (!status)
		status = find_process(reader, *pid, process, err);
	if (status)
		return status;
	if (name)
		sonde_intake_process_at(reader->intake, *process)->name = name;
	/* descriptors may come again and again */
	if (before == reader->process_count)
		return SONDE_OK;
	return add_command(reader, *process, bytes, PROCESS_COMMAND, err);
}

enum sonde_status perfetto_take_process(struct perfetto_reader *reader, struct sonde_bytes bytes,
					struct sonde_error *err)
{
	uint32_t pid = 0, process;

	return define_process(reader, bytes, &pid, &process, err);
}

struct thread {
	uint32_t pid;
	uint64_t tid;
	uint32_t name;
	uint64_t reference_us;
};

static enum sonde_status read_thread(struct perfetto_reader *reader, struct sonde_bytes bytes,
				     struct thread *thread, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	*thread = (struct thread){ 0 };
	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (field.number == THREAD_NAME && perfetto_is_bytes(&field))
			status = take_string(reader, &field, &thread->name, err);
		else if (field.number == THREAD_PID)
			thread->pid = (uint32_t)field.value;
		else if (field.number == THREAD_TID)
			thread->tid = field.value;
		else if (field.number == THREAD_REFERENCE_US)
			thread->reference_us = field.value;
		if (status)
			return status;
	}
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status define_thread(struct perfetto_reader *reader, const struct thread *thread,
				       uint32_t *process, uint32_t *track, struct sonde_error *err)
{
	enum sonde_status status =
		perfetto_thread(reader, thread->pid, thread->tid, process, track, err);

	if (!status && thread->name)
		sonde_intake_track_at(reader->intake, *track)->name = thread->name;
	return status;
}

enum sonde_status perfetto_take_thread(struct perfetto_reader *reader,
				       struct perfetto_sequence *sequence, struct sonde_bytes bytes,
				       struct sonde_error *err)
{
	struct thread thread;
	enum sonde_status status = read_thread(reader, bytes, &thread, err);
	uint32_t process, track;

	if (status)
		return status;
	if (!sequence)
		return define_thread(reader, &thread, &process, &track, err);
	sequence->has_thread = true;
	sequence->pid = thread.pid;
	sequence->tid = thread.tid;
	sequence->time_us = thread.reference_us;
	return SONDE_OK;
}

static enum sonde_status read_counter(struct perfetto_place *place, struct sonde_bytes bytes,
				      struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	place->is_counter = true;
	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (field.number == COUNTER_MULTIPLIER && field.value)
			place->multiplier = (int64_t)field.value;
		else if (field.number == COUNTER_INCREMENTAL)
			place->is_incremental = field.value;
	}
	return status == SONDE_END ? SONDE_OK : status;
}

/* What descriptors of ours say beyond those of others. */
struct own_facts {
	uint64_t id, kind, unfinished, dropped, start_ns, end_ns, arch, os, name_made_up;
};

static void take_own(struct own_facts *own, const struct sonde_protobuf_field *field)
{
	uint64_t *const places[] = { &own->kind,    &own->id,	    &own->unfinished,
				     &own->dropped, &own->start_ns, &own->end_ns,
				     &own->arch,    &own->os,	    &own->name_made_up };

	if (field->number >= TRACK_OWN_KIND && field->number <= TRACK_OWN_NAME_MADE_UP &&
	    perfetto_is_number(field))
		*places[field->number - TRACK_OWN_KIND] = field->value;
}

static void set_process(struct sonde_process *process, const struct own_facts *own)
{
	process->os_id = own->id && own->id < SONDE_NONE ? (uint32_t)(own->id - 1) : SONDE_NONE;
	process->start_ns = own->start_ns;
	process->end_ns = own->end_ns;
	if (own->arch <= SONDE_ARCH_ARM64)
		process->arch = (enum sonde_arch)own->arch;
	if (own->os <= SONDE_OS_WINDOWS)
		process->os = (enum sonde_os)own->os;
}

static void set_track(struct sonde_track *track, const struct own_facts *own)
{
	track->os_id = own->id - 1;
	if (own->kind <= SONDE_TRACK_ZONE)
		track->kind = (enum sonde_track_kind)own->kind;
	track->name_made_up = own->name_made_up;
	track->unfinished = own->unfinished;
	track->dropped_events = own->dropped;
}

struct descriptor {
	uint64_t uuid, parent;
	uint32_t name;
	struct sonde_bytes process, thread, counter;
	bool is_process, is_thread, is_counter;
	struct own_facts own;
};

static enum sonde_status read_descriptor(struct perfetto_reader *reader, struct sonde_bytes bytes,
					 struct descriptor *descriptor, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;

	*descriptor = (struct descriptor){ 0 };
	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		switch (field.number) {
		case TRACK_UUID:
			descriptor->uuid = field.value;
			break;
		case TRACK_PARENT:
			descriptor->parent = field.value;
			break;
		case TRACK_NAME:
		case TRACK_STATIC_NAME:
		case TRACK_ATRACE_NAME:
			status = take_string(reader, &field, &descriptor->name, err);
			break;
		case TRACK_PROCESS:
			descriptor->process = field.bytes;
			descriptor->is_process = perfetto_is_bytes(&field);
			break;
		case TRACK_THREAD:
			descriptor->thread = field.bytes;
			descriptor->is_thread = perfetto_is_bytes(&field);
			break;
		case TRACK_COUNTER:
			descriptor->counter = field.bytes;
			descriptor->is_counter = perfetto_is_bytes(&field);
			break;
		default:
			take_own(&descriptor->own, &field);
		}
		if (status)
			return status;
	}
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status take_attributes(struct perfetto_reader *reader, uint32_t number,
					 enum sonde_owner owner, uint32_t owner_id,
					 struct sonde_bytes bytes, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status = SONDE_OK;

	while (!status && !(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (field.number != number || !perfetto_is_bytes(&field))
			continue;
		status = add_attribute(reader, owner, owner_id, field.bytes, err);
		if (status == SONDE_END)
			status = SONDE_OK;
	}
	return status == SONDE_END ? SONDE_OK : status;
}

static enum sonde_status take_known(struct perfetto_reader *reader,
				    const struct descriptor *descriptor, struct sonde_bytes bytes,
				    struct perfetto_place *place, struct sonde_error *err)
{
	uint32_t process, track;
	struct thread thread;
	enum sonde_status status;

	if (descriptor->is_thread) {
		status = read_thread(reader, descriptor->thread, &thread, err);
		if (!status)
			status = define_thread(reader, &thread, &process, &track, err);
		if (status)
			return status;
		place->is_thread = true;
		place->pid = thread.pid;
		place->tid = thread.tid;
		if (!thread.name && descriptor->name)
			sonde_intake_track_at(reader->intake, track)->name = descriptor->name;
		if (!reader->is_ours)
			return SONDE_OK;
		set_track(sonde_intake_track_at(reader->intake, track), &descriptor->own);
		return take_attributes(reader, TRACK_OWN_ATTRIBUTE, SONDE_OWNER_TRACK, track, bytes,
				       err);
	}
	status = define_process(reader, descriptor->process, &place->pid, &process, err);
	if (status)
		return status;
	place->is_process = true;
	if (!reader->is_ours)
		return SONDE_OK;
	set_process(sonde_intake_process_at(reader->intake, process), &descriptor->own);
	return take_attributes(reader, TRACK_OWN_ATTRIBUTE, SONDE_OWNER_PROCESS, process, bytes,
			       err);
}

enum sonde_status perfetto_take_track(struct perfetto_reader *reader, struct sonde_bytes bytes,
				      struct sonde_error *err)
{
	struct descriptor descriptor;
	struct perfetto_place *place;
	enum sonde_status status;
	uint32_t number;

	status = read_descriptor(reader, bytes, &descriptor, err);
	if (!status)
		status = perfetto_find_place(reader, descriptor.uuid, &number, err);
	if (status)
		return status;
	place = &reader->places.items[number];
	if (descriptor.name)
		place->name = descriptor.name;
	if (descriptor.parent)
		place->parent = descriptor.parent;
	if (descriptor.is_counter)
		status = read_counter(place, descriptor.counter, err);
	if (status)
		return status;
	if (place->is_known)
		return SONDE_OK;
	place->is_known = true;
	if (!descriptor.is_thread && !descriptor.is_process)
		return SONDE_OK;
	return take_known(reader, &descriptor, bytes, place, err);
}

static enum sonde_status keep_name(struct sonde_key_map *names, uint64_t key, uint32_t name,
				   struct sonde_error *err)
{
	if (!name || sonde_key_map_find(names, key) != SONDE_NONE)
		return SONDE_OK;
	return sonde_key_map_add(names, key, name) ? SONDE_OK : sonde_fail_nomem(err);
}

/* A process or a thread of a tree: an id, and a name (of a process: the first word of its command). */
static enum sonde_status take_listed(struct perfetto_reader *reader, struct sonde_bytes bytes,
				     bool is_thread, struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status;
	uint32_t id = 0, name = 0;

	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (field.number == (is_thread ? TREE_THREAD_TID : TREE_PROCESS_PID))
			id = (uint32_t)field.value;
		else if (field.number == (is_thread ? TREE_THREAD_NAME : TREE_PROCESS_COMMAND) &&
			 perfetto_is_bytes(&field) && !name)
			status = take_string(reader, &field, &name, err);
		if (status)
			return status;
	}
	if (status != SONDE_END)
		return status;
	return keep_name(is_thread ? &reader->thread_names : &reader->process_names, id, name, err);
}

enum sonde_status perfetto_take_tree(struct perfetto_reader *reader, struct sonde_bytes bytes,
				     struct sonde_error *err)
{
	struct sonde_protobuf_field field;
	enum sonde_status status = SONDE_OK;

	while (!status && !(status = sonde_protobuf_next(&bytes, &field, err)))
		if (perfetto_is_bytes(&field) && field.number <= TREE_THREAD)
			status = take_listed(reader, field.bytes, field.number == TREE_THREAD, err);
	return status == SONDE_END ? SONDE_OK : status;
}

enum sonde_status perfetto_take_system(struct perfetto_reader *reader, struct sonde_bytes bytes,
				       struct sonde_error *err)
{
	static const size_t length = sizeof(PERFETTO_OWN_TRACER) - 1;
	struct sonde_protobuf_field field;
	struct sonde_bytes again = bytes;
	enum sonde_status status;

	while (!(status = sonde_protobuf_next(&bytes, &field, err)))
		if (field.number == SYSTEM_TRACER && field.bytes.size >= length &&
		    !memcmp(field.bytes.data, PERFETTO_OWN_TRACER, length))
			reader->is_ours = true;
	if (status != SONDE_END || !reader->is_ours)
		return status;
	return take_attributes(reader, SYSTEM_OWN_ATTRIBUTE, SONDE_OWNER_RECORDING, 0, again, err);
}

/* Threads are told apart by process and tid; trees name them by their ids, which the system gave. */
enum sonde_status perfetto_name_all(struct perfetto_reader *reader, struct sonde_error *err)
{
	(void)err;
	for (uint32_t i = 0; i < reader->process_count; i++) {
		struct sonde_process *process = sonde_intake_process_at(reader->intake, i);
		uint32_t name = sonde_key_map_find(&reader->process_names, process->os_id);

		process->clock = 0;
		if (!process->name && name != SONDE_NONE)
			process->name = name;
	}
	for (uint32_t i = 0; i < reader->track_count; i++) {
		struct sonde_track *track = sonde_intake_track_at(reader->intake, i);
		uint32_t name = sonde_key_map_find(&reader->thread_names, track->os_id);

		if (!track->name && name != SONDE_NONE)
			track->name = name;
	}
	return SONDE_OK;
}
