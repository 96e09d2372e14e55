/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a speedscope file, and what sonde writes beside the profiles: processes, tracks,
 * clocks.
 */
#include <inttypes.h>
#include <stdio.h>

#include "formats/speedscope/speedscope_read.h"

static enum sonde_status take_string(struct speedscope_reader *reader, uint32_t *string,
				     struct sonde_error *err)
{
	if (reader->json.token != SONDE_JSON_STRING)
		return sonde_json_skip(&reader->json, err);
	return sonde_intake_string(reader->intake, reader->json.text, reader->json.length, string,
				   err);
}

/* A number that fits; else it is as if it were not there. */
static enum sonde_status take_u64(struct speedscope_reader *reader, uint64_t *value,
				  struct sonde_error *err)
{
	uint64_t number;

	if (reader->json.token == SONDE_JSON_NUMBER && sonde_json_u64(&reader->json, &number))
		*value = number;
	return sonde_json_skip(&reader->json, err);
}

static enum sonde_status take_u32(struct speedscope_reader *reader, uint32_t *value,
				  struct sonde_error *err)
{
	uint64_t number = UINT64_MAX;
	enum sonde_status status = take_u64(reader, &number, err);

	if (number < SONDE_NONE)
		*value = (uint32_t)number;
	return status;
}

/* A member of an object that is read: its value is the present token. */
typedef enum sonde_status take_member(struct speedscope_reader *reader, const char *key, void *user,
				      struct sonde_error *err);

/* Reads the object that the present token opens. */
static enum sonde_status read_object(struct speedscope_reader *reader, take_member *take,
				     void *user, struct sonde_error *err)
{
	struct sonde_json_reader *json = &reader->json;
	enum sonde_status status;
	char key[32];

	if (json->token != SONDE_JSON_OBJECT_BEGIN)
		return sonde_json_skip(json, err);
	while (!(status = sonde_json_next(json, err)) && json->token == SONDE_JSON_KEY) {
		snprintf(key, sizeof(key), "%s", json->text);
		status = sonde_json_next(json, err);
		if (!status)
			status = take(reader, key, user, err);
		if (status)
			break;
	}
	return status;
}

/* Reads the array that the present token opens; `take` gets its elements as present tokens. */
static enum sonde_status read_array(struct speedscope_reader *reader, take_member *take,
				    struct sonde_error *err)
{
	struct sonde_json_reader *json = &reader->json;
	enum sonde_status status;

	if (json->token != SONDE_JSON_ARRAY_BEGIN)
		return sonde_json_skip(json, err);
	while (!(status = sonde_json_next(json, err)) && json->token != SONDE_JSON_ARRAY_END) {
		status = take(reader, "", NULL, err);
		if (status)
			break;
	}
	return status;
}

/* Frames */

static enum sonde_status take_frame_member(struct speedscope_reader *reader, const char *key,
					   void *user, struct sonde_error *err)
{
	struct speedscope_frame *frame = user;

	if (!strcmp(key, "name"))
		return take_string(reader, &frame->name, err);
	if (!strcmp(key, "file"))
		return take_string(reader, &frame->file, err);
	if (!strcmp(key, "line"))
		return take_u32(reader, &frame->line, err);
	if (!strcmp(key, "raw_name"))
		return take_string(reader, &frame->raw_name, err);
	if (!strcmp(key, "module"))
		return take_string(reader, &frame->module, err);
	if (!strcmp(key, "address"))
		return take_u64(reader, &frame->address, err);
	if (!strcmp(key, "process"))
		return take_u32(reader, &frame->process, err);
	if (!strcmp(key, "col"))
		reader->columns += reader->json.token == SONDE_JSON_NUMBER;
	return sonde_json_skip(&reader->json, err);
}

static enum sonde_status take_frame(struct speedscope_reader *reader, const char *key, void *user,
				    struct sonde_error *err)
{
	struct speedscope_frame made = { .function = SONDE_NONE }, *frame;
	enum sonde_status status = read_object(reader, take_frame_member, &made, err);

	(void)key;
	(void)user;
	if (status)
		return status;
	frame = sonde_vec_push(&reader->frames);
	if (!frame)
		return sonde_fail_nomem(err);
	*frame = made;
	return SONDE_OK;
}

enum sonde_status speedscope_read_frames(struct speedscope_reader *reader, size_t position,
					 struct sonde_error *err)
{
	struct sonde_error fault = { 0 };
	enum sonde_status status;

	sonde_json_seek(&reader->json, position);
	status = sonde_json_next(&reader->json, &fault);
	if (!status)
		status = read_array(reader, take_frame, &fault);
	return speedscope_take_fault(reader, status, &fault, err);
}

static enum sonde_status find_module(struct speedscope_reader *reader, uint32_t process,
				     uint32_t path, uint32_t *module, struct sonde_error *err)
{
	const struct sonde_module made = { .process = process, .path = path };
	uint64_t key = (uint64_t)process << 32 | path;
	enum sonde_status status;

	*module = SONDE_NONE;
	if (!path)
		return SONDE_OK;
	*module = sonde_key_map_find(&reader->modules, key);
	if (*module != SONDE_NONE)
		return SONDE_OK;
	status = sonde_definitions_add_module(reader->recording->definitions, &made, module, err);
	if (!status && !sonde_key_map_add(&reader->modules, key, *module))
		status = sonde_fail_nomem(err);
	return status;
}

static enum sonde_status define_frame(struct speedscope_reader *reader,
				      struct speedscope_frame *frame, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = reader->recording->definitions;
	const char *name = sonde_definitions_string(definitions, frame->name);
	uint32_t process = frame->process < reader->processes.count ? frame->process : 0;
	struct sonde_function like = {
		.process = reader->processes.items[process],
		.raw_name = frame->raw_name,
		.file = frame->file,
		.line = frame->line,
		.address = frame->address,
	};
	enum sonde_status status =
		find_module(reader, like.process, frame->module, &like.module, err);

	if (status)
		return status;
	return sonde_intake_function(reader->intake, &like, name, strlen(name), &frame->function,
				     err);
}

/* A frame that the file does not have is one that is called by its number. */
static enum sonde_status find_missing(struct speedscope_reader *reader, uint64_t frame,
				      uint32_t *function, struct sonde_error *err)
{
	const struct sonde_function like = { .process = reader->processes.items[0],
					     .module = SONDE_NONE };
	enum sonde_status status;
	char name[32];
	int length;

	reader->bad_frames++;
	*function = sonde_key_map_find(&reader->missing, frame);
	if (*function != SONDE_NONE)
		return SONDE_OK;
	length = snprintf(name, sizeof(name), "frame %" PRIu64, frame);
	status = sonde_intake_function(reader->intake, &like, name, (size_t)length, function, err);
	if (!status && !sonde_key_map_add(&reader->missing, frame, *function))
		status = sonde_fail_nomem(err);
	return status;
}

enum sonde_status speedscope_function(struct speedscope_reader *reader, uint64_t number,
				      uint32_t *function, struct sonde_error *err)
{
	struct speedscope_frame *frame;
	enum sonde_status status = SONDE_OK;

	if (number >= reader->frames.count)
		return find_missing(reader, number, function, err);
	frame = &reader->frames.items[number];
	if (frame->function == SONDE_NONE)
		status = define_frame(reader, frame, err);
	*function = frame->function;
	return status;
}

enum sonde_status speedscope_define_rest(struct speedscope_reader *reader, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	uint32_t function;

	/* the first one stands for all that nothing is known of */
	for (size_t i = 1; reader->is_ours && !status && i < reader->frames.count; i++)
		status = speedscope_function(reader, i, &function, err);
	return status;
}

/* Ours */

static enum sonde_status take_process_member(struct speedscope_reader *reader, const char *key,
					     void *user, struct sonde_error *err)
{
	struct sonde_process *process = user;
	uint32_t number = 0;
	enum sonde_status status;

	if (!strcmp(key, "name"))
		return take_string(reader, &process->name, err);
	if (!strcmp(key, "pid"))
		return take_u32(reader, &process->os_id, err);
	if (!strcmp(key, "clock"))
		return take_u32(reader, &process->clock, err);
	if (!strcmp(key, "start_ns"))
		return take_u64(reader, &process->start_ns, err);
	if (!strcmp(key, "end_ns"))
		return take_u64(reader, &process->end_ns, err);
	status = take_u32(reader, &number, err);
	if (!strcmp(key, "arch") && number <= SONDE_ARCH_ARM64)
		process->arch = (enum sonde_arch)number;
	if (!strcmp(key, "os") && number <= SONDE_OS_WINDOWS)
		process->os = (enum sonde_os)number;
	return status;
}

static enum sonde_status take_process(struct speedscope_reader *reader, const char *key, void *user,
				      struct sonde_error *err)
{
	struct sonde_process made = { .os_id = SONDE_NONE };
	enum sonde_status status = read_object(reader, take_process_member, &made, err);
	uint32_t *number;

	(void)key;
	(void)user;
	if (status)
		return status;
	number = sonde_vec_push(&reader->processes);
	if (!number)
		return sonde_fail_nomem(err);
	status = sonde_intake_process(reader->intake, reader->processes.count, number, err);
	if (!status)
		*sonde_intake_process_at(reader->intake, *number) = made;
	return status;
}

static enum sonde_status take_track_member(struct speedscope_reader *reader, const char *key,
					   void *user, struct sonde_error *err)
{
	struct sonde_track *track = user;
	uint32_t number = 0;

	if (!strcmp(key, "name"))
		return take_string(reader, &track->name, err);
	if (!strcmp(key, "process"))
		return take_u32(reader, &track->process, err);
	if (!strcmp(key, "tid"))
		return take_u64(reader, &track->os_id, err);
	if (!strcmp(key, "slot"))
		return take_u32(reader, &track->slot, err);
	if (!strcmp(key, "dropped"))
		return take_u64(reader, &track->dropped_events, err);
	if (!strcmp(key, "kind")) {
		enum sonde_status status = take_u32(reader, &number, err);

		if (number <= SONDE_TRACK_ZONE)
			track->kind = (enum sonde_track_kind)number;
		return status;
	}
	if (!strcmp(key, "name_made_up"))
		track->name_made_up = reader->json.token == SONDE_JSON_TRUE;
	if (!strcmp(key, "unfinished"))
		track->unfinished = reader->json.token == SONDE_JSON_TRUE;
	return sonde_json_skip(&reader->json, err);
}

static enum sonde_status take_track(struct speedscope_reader *reader, const char *key, void *user,
				    struct sonde_error *err)
{
	struct sonde_track made = { .os_id = UINT64_MAX };
	enum sonde_status status = read_object(reader, take_track_member, &made, err);
	struct sonde_track *track;
	uint32_t *number;

	(void)key;
	(void)user;
	if (status)
		return status;
	if (made.process >= reader->processes.count)
		return sonde_fail(err, SONDE_CORRUPT, reader->json.offset,
				  "expected a process of the %zu there are, found %" PRIu32,
				  reader->processes.count, made.process);
	made.process = reader->processes.items[made.process];
	number = sonde_vec_push(&reader->tracks);
	if (!number)
		return sonde_fail_nomem(err);
	status =
		sonde_intake_track(reader->intake, made.process, reader->tracks.count, number, err);
	if (status)
		return status;
	track = sonde_intake_track_at(reader->intake, *number);
	*track = made;
	return SONDE_OK;
}

static enum sonde_status take_clock_member(struct speedscope_reader *reader, const char *key,
					   void *user, struct sonde_error *err)
{
	struct sonde_clock *clock = user;
	uint32_t number = 0;
	enum sonde_status status;

	if (!strcmp(key, "name"))
		return take_string(reader, &clock->name, err);
	status = take_u32(reader, &number, err);
	if (!strcmp(key, "kind") && number <= SONDE_CLOCK_REALTIME)
		clock->kind = (enum sonde_clock_kind)number;
	return status;
}

static enum sonde_status take_clock(struct speedscope_reader *reader, const char *key, void *user,
				    struct sonde_error *err)
{
	struct sonde_clock clock = { 0 };
	enum sonde_status status = read_object(reader, take_clock_member, &clock, err);
	uint32_t id;

	(void)key;
	(void)user;
	if (status)
		return status;
	return sonde_definitions_add_clock(reader->recording->definitions, &clock, &id, err);
}

static enum sonde_status take_anchor_member(struct speedscope_reader *reader, const char *key,
					    void *user, struct sonde_error *err)
{
	struct sonde_anchor *anchor = user;

	if (!strcmp(key, "clock"))
		return take_u32(reader, &anchor->clock, err);
	if (!strcmp(key, "clock_ns"))
		return take_u64(reader, &anchor->clock_ns, err);
	if (!strcmp(key, "realtime_ns"))
		return take_u64(reader, &anchor->realtime_ns, err);
	return sonde_json_skip(&reader->json, err);
}

static enum sonde_status take_anchor(struct speedscope_reader *reader, const char *key, void *user,
				     struct sonde_error *err)
{
	struct sonde_anchor anchor = { 0 };
	enum sonde_status status = read_object(reader, take_anchor_member, &anchor, err);
	uint32_t id;

	(void)key;
	(void)user;
	if (status)
		return status;
	if (anchor.clock >= sonde_definitions_clock_count(reader->recording->definitions))
		return SONDE_OK;
	return sonde_definitions_add_anchor(reader->recording->definitions, &anchor, &id, err);
}

static enum sonde_status take_ours(struct speedscope_reader *reader, const char *key, void *user,
				   struct sonde_error *err)
{
	(void)user;
	if (!strcmp(key, "start_ns"))
		return take_u64(reader, &reader->start_ns, err);
	if (!strcmp(key, "processes"))
		return read_array(reader, take_process, err);
	if (!strcmp(key, "tracks"))
		return read_array(reader, take_track, err);
	if (!strcmp(key, "clocks"))
		return read_array(reader, take_clock, err);
	if (!strcmp(key, "anchors"))
		return read_array(reader, take_anchor, err);
	return sonde_json_skip(&reader->json, err);
}

/* A process may name a clock that is not there. */
static void mend_clocks(struct speedscope_reader *reader)
{
	uint32_t clocks = sonde_definitions_clock_count(reader->recording->definitions);

	for (size_t i = 0; i < reader->processes.count; i++) {
		struct sonde_process *process =
			sonde_intake_process_at(reader->intake, reader->processes.items[i]);

		if (process->clock >= clocks)
			process->clock = 0;
	}
}

enum sonde_status speedscope_read_ours(struct speedscope_reader *reader, size_t position,
				       struct sonde_error *err)
{
	struct sonde_error fault = { 0 };
	enum sonde_status status;

	sonde_json_seek(&reader->json, position);
	status = sonde_json_next(&reader->json, &fault);
	reader->is_ours = !status && reader->json.token == SONDE_JSON_OBJECT_BEGIN;
	if (!status)
		status = read_object(reader, take_ours, NULL, &fault);
	mend_clocks(reader);
	return speedscope_take_fault(reader, status, &fault, err);
}
