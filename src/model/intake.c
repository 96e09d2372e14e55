/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is added to an intake: who and what, events, contexts, values and samples. Where records are kept is in
 * intake_spool.c, what becomes of them in intake_finish.c.
 */
#include "model/intake.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "model/intake_private.h"

#define BLOCK_LIMIT 1024 /* records of one stream in memory */

enum sonde_status sonde_intake_new(struct sonde_recording *recording, struct sonde_intake **intake,
				   struct sonde_error *err)
{
	struct sonde_intake *made = calloc(1, sizeof(*made));

	*intake = NULL;
	if (!made)
		return sonde_fail_nomem(err);
	made->recording = recording;
	made->block_limit = BLOCK_LIMIT;
	made->spool.fd = made->detail_out.fd = -1;
	made->tree = sonde_context_union_new(recording->definitions, true);
	if (!made->tree) {
		sonde_intake_free(made);
		return sonde_fail_nomem(err);
	}
	*intake = made;
	return SONDE_OK;
}

void intake_release_keys(struct sonde_intake *intake)
{
	sonde_text_map_release(&intake->strings);
	sonde_text_map_release(&intake->functions);
	sonde_text_map_release(&intake->event_types);
	sonde_text_map_release(&intake->process_keys);
	sonde_text_map_release(&intake->track_keys);
	sonde_text_map_release(&intake->numbers);
	sonde_arena_release(&intake->keys);
}

void sonde_intake_free(struct sonde_intake *intake)
{
	if (!intake)
		return;
	for (size_t i = 0; i < intake->tracks.count; i++) {
		struct intake_track *track = &intake->tracks.items[i];

		intake_stream_release(intake, &track->events);
		intake_stream_release(intake, &track->samples);
		sonde_key_map_release(&track->values.places);
		sonde_vec_release(&track->values.items);
	}
	sonde_vec_release(&intake->tracks);
	sonde_vec_release(&intake->processes);
	intake_release_keys(intake);
	sonde_context_union_free(intake->tree);
	sonde_output_release(&intake->spool);
	sonde_output_release(&intake->detail_out);
	sonde_mapped_file_release(&intake->events);
	sonde_mapped_file_release(&intake->samples);
	sonde_mapped_file_release(&intake->details);
	sonde_mapped_file_release(&intake->detail_bytes);
	free(intake->order);
	free(intake);
}

/* Remembers what a key stands for. */
static enum sonde_status remember(struct sonde_intake *intake, struct sonde_text_map *map,
				  const void *key, size_t size, uint32_t value,
				  struct sonde_error *err)
{
	const char *copy = sonde_arena_copy_text(&intake->keys, key, size);

	if (!copy || !sonde_text_map_add(map, copy, size, value))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

enum sonde_status sonde_intake_process(struct sonde_intake *intake, uint64_t key, uint32_t *process,
				       struct sonde_error *err)
{
	struct intake_process *added;

	*process = sonde_text_map_find(&intake->process_keys, (const char *)&key, sizeof(key));
	if (*process != SONDE_NONE)
		return SONDE_OK;
	if (intake->processes.count >= SONDE_NONE)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "more processes than a recording can hold");
	added = sonde_vec_push(&intake->processes);
	if (!added)
		return sonde_fail_nomem(err);
	*added = (struct intake_process){ .definition.os_id = key < SONDE_NONE ? (uint32_t)key :
										 SONDE_NONE };
	*process = (uint32_t)(intake->processes.count - 1);
	return remember(intake, &intake->process_keys, &key, sizeof(key), *process, err);
}

enum sonde_status intake_add_track(struct sonde_intake *intake, const struct sonde_track *like,
				   uint32_t *track, struct sonde_error *err)
{
	struct intake_track *added;

	if (intake->tracks.count >= SONDE_NONE)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "more tracks than a recording can hold");
	added = sonde_vec_push(&intake->tracks);
	if (!added)
		return sonde_fail_nomem(err);
	*added = (struct intake_track){ .definition = *like };
	added->definition.slot = intake->processes.items[like->process].next_slot++;
	*track = (uint32_t)(intake->tracks.count - 1);
	return SONDE_OK;
}

enum sonde_status sonde_intake_track(struct sonde_intake *intake, uint32_t process, uint64_t key,
				     uint32_t *track, struct sonde_error *err)
{
	struct sonde_track like = { .process = process, .os_id = key };
	uint64_t whole[2] = { process, key };
	enum sonde_status status;

	if (process >= intake->processes.count)
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "there is no process %" PRIu32 " to have this track", process);
	*track = sonde_text_map_find(&intake->track_keys, (const char *)whole, sizeof(whole));
	if (*track != SONDE_NONE)
		return SONDE_OK;
	status = intake_add_track(intake, &like, track, err);
	if (status)
		return status;
	return remember(intake, &intake->track_keys, whole, sizeof(whole), *track, err);
}

struct sonde_process *sonde_intake_process_at(struct sonde_intake *intake, uint32_t process)
{
	return &intake->processes.items[process].definition;
}

struct sonde_track *sonde_intake_track_at(struct sonde_intake *intake, uint32_t track)
{
	return &intake->tracks.items[track].definition;
}

/* Text that a definition cannot hold, made such that it can. */
static enum sonde_status add_mended(struct sonde_intake *intake, const char *text, size_t length,
				    uint32_t *string, struct sonde_error *err)
{
	struct sonde_buffer mended = { 0 };
	enum sonde_status status;

	while (length && !mended.failed) {
		size_t size = *text ? sonde_utf8_length(text, length) : 0;

		if (size)
			sonde_buffer_put(&mended, text, size);
		else
			sonde_buffer_put(&mended, "\xEF\xBF\xBD", 3);
		text += size ? size : 1;
		length -= size ? size : 1;
	}
	if (mended.failed)
		status = sonde_fail_nomem(err);
	else
		status = sonde_definitions_add_string(intake->recording->definitions, mended.data,
						      mended.size, string, err);
	sonde_buffer_release(&mended);
	return status;
}

enum sonde_status sonde_intake_string(struct sonde_intake *intake, const char *text, size_t length,
				      uint32_t *string, struct sonde_error *err)
{
	struct sonde_definitions *definitions = intake->recording->definitions;
	enum sonde_status status;
	const char *kept;

	if (!length) {
		*string = 0;
		return SONDE_OK;
	}
	*string = sonde_text_map_find(&intake->strings, text, length);
	if (*string != SONDE_NONE)
		return SONDE_OK;
	if (memchr(text, '\0', length) || !sonde_utf8_valid(text, length)) {
		status = add_mended(intake, text, length, string, err);
		if (status)
			return status;
		return remember(intake, &intake->strings, text, length, *string, err);
	}
	status = sonde_definitions_add_string(definitions, text, length, string, err);
	if (status)
		return status;
	kept = sonde_definitions_string(definitions, *string);
	if (!sonde_text_map_add(&intake->strings, kept, length, *string))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

enum sonde_status sonde_intake_function(struct sonde_intake *intake,
					const struct sonde_function *like, const char *name,
					size_t length, uint32_t *function, struct sonde_error *err)
{
	struct sonde_function made = {
		.process = like->process,
		.module = like->module,
		.raw_name = like->raw_name,
		.file = like->file,
		.line = like->line,
		.address = like->address,
	};
	enum sonde_status status = sonde_intake_string(intake, name, length, &made.name, err);
	uint64_t key[4];

	if (status)
		return status;
	/* those without a name are told apart by where they are */
	key[0] = (uint64_t)made.process << 32 | made.module;
	key[1] = (uint64_t)made.name << 32 | made.file;
	key[2] = made.line;
	key[3] = made.name ? 0 : made.address;
	*function = sonde_text_map_find(&intake->functions, (const char *)key, sizeof(key));
	if (*function != SONDE_NONE)
		return SONDE_OK;
	status = sonde_definitions_add_function(intake->recording->definitions, &made, function,
						err);
	if (status)
		return status;
	intake->function_count = *function + 1;
	return remember(intake, &intake->functions, key, sizeof(key), *function, err);
}

enum sonde_status sonde_intake_event_type(struct sonde_intake *intake, const char *name,
					  size_t length, const char *signature,
					  uint32_t *event_type, struct sonde_error *err)
{
	struct sonde_event_type made = { 0 };
	enum sonde_status status = sonde_intake_string(intake, name, length, &made.name, err);
	uint64_t key;

	if (!status)
		status = sonde_intake_string(intake, signature, strlen(signature), &made.arguments,
					     err);
	if (status)
		return status;
	key = (uint64_t)made.name << 32 | made.arguments;
	*event_type = sonde_text_map_find(&intake->event_types, (const char *)&key, sizeof(key));
	if (*event_type != SONDE_NONE)
		return SONDE_OK;
	status = sonde_definitions_add_event_type(intake->recording->definitions, &made, event_type,
						  err);
	if (status)
		return status;
	intake->event_type_count = *event_type + 1;
	return remember(intake, &intake->event_types, &key, sizeof(key), *event_type, err);
}

enum sonde_status sonde_intake_number(struct sonde_intake *intake, const void *id, size_t size,
				      uint32_t *number, struct sonde_error *err)
{
	*number = sonde_text_map_find(&intake->numbers, id, size);
	if (*number != SONDE_NONE)
		return SONDE_OK;
	if (intake->number_count >= SONDE_NONE - 1)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "more flows and ranges than can be numbered");
	*number = ++intake->number_count;
	return remember(intake, &intake->numbers, id, size, *number, err);
}

static enum sonde_status write_detail(struct sonde_intake *intake, uint32_t event_type,
				      const uint8_t *arguments, size_t size, uint64_t *place,
				      struct sonde_error *err)
{
	static const uint8_t zeros[INTAKE_DETAIL_UNIT];
	struct intake_detail_header header = { event_type, (uint32_t)size };
	enum sonde_status status;

	if (size > UINT32_MAX)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "arguments of %zu bytes are more than an event can have", size);
	status = intake_open_once(&intake->detail_out, err);
	if (status)
		return status;
	*place = intake->detail_out.written / INTAKE_DETAIL_UNIT;
	if (*place >= INTAKE_NO_DETAIL)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "more bytes of arguments than can be kept");
	status = sonde_output_write(&intake->detail_out, &header, sizeof(header), err);
	if (!status)
		status = sonde_output_write(&intake->detail_out, arguments, size, err);
	if (!status)
		status = sonde_output_write(&intake->detail_out, zeros,
					    (size_t)-size % INTAKE_DETAIL_UNIT, err);
	return status;
}

static enum sonde_status write_details(struct sonde_intake *intake,
				       const struct sonde_intake_event *event,
				       struct intake_record *record, struct sonde_error *err)
{
	uint64_t place, end;
	enum sonde_status status =
		write_detail(intake, event->event_type, event->arguments, event->size, &place, err);

	if (status)
		return status;
	record->detail = (uint32_t)place;
	record->detail_high = (uint8_t)(place >> 32);
	if (event->kind != SONDE_INTAKE_SPAN || !event->raises || !event->end_arguments)
		return SONDE_OK;
	status = write_detail(intake, event->end_type, event->end_arguments, event->end_size, &end,
			      err);
	if (!status)
		record->extra |= (uint32_t)(end - place) << 1;
	return status;
}

/* Whether the id of an event stands for something. */
static bool has_target(const struct sonde_intake *intake, const struct sonde_intake_event *event)
{
	switch (event->kind) {
	case SONDE_EVENT_CALL:
	case SONDE_INTAKE_SPAN:
		return event->function < intake->function_count;
	case SONDE_EVENT_RETURN:
	case SONDE_EVENT_EXCEPTION:
	case SONDE_EVENT_OTHER:
		return event->function == SONDE_NONE || event->function < intake->function_count;
	default:
		return event->kind < SONDE_EVENT_KIND_COUNT &&
		       event->function < intake->event_type_count;
	}
}

enum sonde_status sonde_intake_add(struct sonde_intake *intake,
				   const struct sonde_intake_event *event, struct sonde_error *err)
{
	struct intake_record record = {
		.time_ns = event->time_ns,
		.end_ns = event->end_ns < event->time_ns ? event->time_ns : event->end_ns,
		.function = event->function,
		.extra = event->kind == SONDE_INTAKE_SPAN ? event->raises : event->extra,
		.detail = (uint32_t)INTAKE_NO_DETAIL,
		.kind = event->kind,
		.detail_high = (uint8_t)(INTAKE_NO_DETAIL >> 32),
	};
	enum sonde_status status;

	if (event->track >= intake->tracks.count || !has_target(intake, event))
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "an event of kind %u on track %" PRIu32 " about %" PRIu32
				  ", of which one is not defined",
				  (unsigned int)event->kind, event->track, event->function);
	if (event->kind == SONDE_EVENT_COUNTER) {
		memcpy(&record.end_ns, &event->value, sizeof(event->value));
	} else if (event->event_type != SONDE_NONE) {
		status = write_details(intake, event, &record, err);
		if (status)
			return status;
	}
	return intake_stream_add(intake, &intake->tracks.items[event->track].events, &record, err);
}

enum sonde_status sonde_intake_context(struct sonde_intake *intake, uint32_t parent,
				       const struct sonde_context *context, uint32_t *node,
				       struct sonde_error *err)
{
	return sonde_context_union_add(intake->tree, parent, context, node, err);
}

struct sonde_context sonde_intake_frame(uint32_t function)
{
	return (struct sonde_context){
		.function = function,
		.module = SONDE_NONE,
		.kind = SONDE_CONTEXT_FUNCTION,
		.relation = SONDE_CONTEXT_CALLED,
	};
}

static enum sonde_status check_track(const struct sonde_intake *intake, uint32_t track,
				     struct sonde_error *err)
{
	if (track < intake->tracks.count)
		return SONDE_OK;
	return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET, "there is no track %" PRIu32,
			  track);
}

enum sonde_status sonde_intake_value(struct sonde_intake *intake, uint32_t track, uint32_t node,
				     uint32_t metric, double value, struct sonde_error *err)
{
	enum sonde_status status = check_track(intake, track, err);
	uint64_t key = (uint64_t)node << 32 | metric;
	struct intake_values *values;
	struct sonde_value *added;
	uint32_t place;

	if (status)
		return status;
	values = &intake->tracks.items[track].values;
	place = sonde_key_map_find(&values->places, key);
	if (place != SONDE_NONE) {
		values->items.items[place].value += value;
		return SONDE_OK;
	}
	added = values->items.count < SONDE_NONE ? sonde_vec_push(&values->items) : NULL;
	if (!added)
		return sonde_fail_nomem(err);
	*added = (struct sonde_value){
		.track = track, .context = node, .metric = metric, .value = value
	};
	if (!sonde_key_map_add(&values->places, key, (uint32_t)(values->items.count - 1)))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

enum sonde_status sonde_intake_sample(struct sonde_intake *intake, uint32_t track, uint64_t time_ns,
				      uint32_t node, struct sonde_error *err)
{
	struct intake_record record = { .time_ns = time_ns, .function = node };
	enum sonde_status status = check_track(intake, track, err);

	if (status)
		return status;
	return intake_stream_add(intake, &intake->tracks.items[track].samples, &record, err);
}
