/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces from events: which calls begin and end them, names and UUIDs of traces, methods of
 * functions. What details say is taken apart in zts_builder_detail.c.
 */
#include "formats/zts/zts_builder.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/uuid.h"
#include "formats/zts/zts_json.h"
#include "formats/zts/zts_read.h"
#include "model/loss.h"
#include "model/wall_clock.h"

static struct zts_builder *zts_builder_of(struct sonde_sink *sink)
{
	return (struct zts_builder *)sink;
}

void zts_builder_release(struct zts_builder *builder)
{
	if (builder->writer) {
		zts_writer_abandon_trace(builder->writer);
		builder->target.end(builder->target.context, false, NULL);
		builder->writer = NULL;
	}
	for (size_t i = 0; i < builder->types.count; i++)
		sonde_signature_free(builder->types.items[i].signature);
	sonde_vec_release(&builder->types);
	sonde_vec_release(&builder->methods);
	sonde_vec_release(&builder->matches);
	sonde_vec_release(&builder->open);
	sonde_buffer_release(&builder->cbor);
	sonde_buffer_release(&builder->text);
}

static const char *string_of(const struct zts_builder *builder, uint32_t id)
{
	return sonde_definitions_string(builder->definitions, id);
}

enum sonde_status zts_builder_begin(struct sonde_sink *sink,
				    const struct sonde_definitions *definitions,
				    struct sonde_error *err)
{
	struct zts_builder *builder = zts_builder_of(sink);

	(void)err;
	builder->definitions = definitions;
	builder->track = SONDE_NONE;
	for (uint32_t i = 0; i < sonde_definitions_attribute_count(definitions); i++) {
		const char *name =
			string_of(builder, sonde_definitions_attribute(definitions, i)->name);

		builder->lost[ZTS_LOSS_ATTRIBUTES] += strcmp(name, ZTS_ATTRIBUTE_HOST) != 0 &&
						      strcmp(name, ZTS_ATTRIBUTE_ENV) != 0 &&
						      strcmp(name, ZTS_ATTRIBUTE_PARTS) != 0 &&
						      strcmp(name, ZTS_ATTRIBUTE_GENERATION) != 0;
	}
	return SONDE_OK;
}

static const struct sonde_process *process_of(const struct zts_builder *builder)
{
	const struct sonde_track *track =
		sonde_definitions_track(builder->definitions, builder->track);

	return track ? sonde_definitions_process(builder->definitions, track->process) : NULL;
}

static void begin_track(struct zts_builder *builder, uint32_t track)
{
	builder->track = track;
	builder->index = 0;
	builder->lost[ZTS_LOSS_CLOCKS] +=
		!sonde_wall_clock_shift(builder->definitions, track, &builder->shift_ns);
}

/* Text of a store's: 0 for an empty one. */
static uint32_t intern(struct zts_builder *builder, enum zts_text_kind kind, const char *text)
{
	return text && *text ? zts_writer_text(builder->writer, kind, text, strlen(text)) : 0;
}

/* A process's attribute that is a JSON string. */
static uint32_t intern_attribute(struct zts_builder *builder, const char *name)
{
	const struct sonde_track *track =
		sonde_definitions_track(builder->definitions, builder->track);
	const char *value = !track ? NULL :
				     sonde_definitions_find_attribute(builder->definitions,
								      SONDE_OWNER_PROCESS,
								      track->process, name);
	struct sonde_json_reader json;
	uint32_t id = 0;

	if (!value)
		return 0;
	sonde_json_reader_init(&json, value, strlen(value), NULL, NULL);
	if (sonde_json_next(&json, NULL) == SONDE_OK && json.token == SONDE_JSON_STRING)
		id = intern(builder, ZTS_TEXT_STRING, json.text);
	sonde_json_reader_release(&json);
	return id;
}

/* For a trace that brought none: the same for the same trace of the same recording. */
static void make_uuid(const struct zts_builder *builder, const struct sonde_event *event,
		      uint64_t uuid[2])
{
	const struct sonde_process *process = process_of(builder);
	const struct sonde_function *function =
		sonde_definitions_function(builder->definitions, event->function);
	const char *name = process ? string_of(builder, process->name) : "";
	const char *call = function ? string_of(builder, function->name) : "";
	uint64_t hash = SONDE_HASH_START;

	hash = sonde_hash_bytes(hash, name, strlen(name) + 1);
	hash = sonde_hash_bytes(hash, call, strlen(call) + 1);
	hash = sonde_hash_bytes(hash, &builder->track, sizeof(builder->track));
	hash = sonde_hash_bytes(hash, &builder->index, sizeof(builder->index));
	hash = sonde_hash_bytes(hash, &builder->time_ns, sizeof(builder->time_ns));
	uuid[0] = (sonde_hash_mix(hash) & ~(uint64_t)0xf000) | 0x8000;
	uuid[1] = (sonde_hash_mix(hash + SONDE_HASH_FACTOR_1) & ~(UINT64_C(3) << 62)) |
		  UINT64_C(2) << 62;
}

/* The wall-clock time of an event, not before the one before it. */
static uint64_t time_of(struct zts_builder *builder, const struct sonde_event *event)
{
	uint64_t time = event->time_ns + builder->shift_ns;

	if (builder->records_open && time < builder->time_ns) {
		builder->lost[ZTS_LOSS_BACKWARDS]++;
		time = builder->time_ns;
	}
	builder->time_ns = time;
	return time;
}

/* Bytes of a descriptor of Java: "(I[Ljava/lang/String;)V". */
static bool is_descriptor(const char *text)
{
	const char *end = strchr(text, ')');

	return end && end[1] &&
	       strspn(text + 1, "BCDFIJSZVL[;/$_.-"
				"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") ==
		       (size_t)(end - text - 1);
}

/* "com.example.Main.run(I)V": class, method and signature again. */
static uint32_t intern_java(struct zts_builder *builder, const char *raw)
{
	const char *open = strchr(raw, '('), *dot = open;

	if (!open || !is_descriptor(open))
		return 0;
	while (dot > raw && *dot != '.')
		dot--;
	if (dot == raw || dot + 1 == open)
		return 0;
	return zts_writer_method(
		builder->writer,
		zts_writer_text(builder->writer, ZTS_TEXT_CLASS, raw, (size_t)(dot - raw)),
		zts_writer_text(builder->writer, ZTS_TEXT_METHOD_NAME, dot + 1,
				(size_t)(open - dot - 1)),
		zts_writer_text(builder->writer, ZTS_TEXT_SIGNATURE, open, strlen(open)));
}

static uint32_t intern_method(struct zts_builder *builder, uint32_t number)
{
	const struct sonde_function *function =
		sonde_definitions_function(builder->definitions, number);
	const char *raw = function ? string_of(builder, function->raw_name) : "";
	char space[SONDE_LABEL_SIZE];
	uint32_t id = 0;

	if (*raw)
		id = intern_java(builder, raw);
	builder->lost[ZTS_LOSS_RAW_NAMES] += *raw && !id;
	if (id)
		return id;
	return zts_writer_method(
		builder->writer, 0,
		intern(builder, ZTS_TEXT_METHOD_NAME,
		       sonde_definitions_function_label(builder->definitions, number, space)),
		0);
}

/* Room for a function in a table by function, zeroed. */
#define RESERVE_FOR(table, number)                                                                 \
	((number) < (table)->count ||                                                              \
	 (sonde_vec_reserve((table), (number) + 1 - (table)->count) &&                             \
	  (memset((table)->items + (table)->count, 0,                                              \
		  ((number) + 1 - (table)->count) * sizeof(*(table)->items)),                      \
	   (table)->count = (size_t)(number) + 1, true)))

static enum sonde_status method_of(struct zts_builder *builder, uint32_t function, uint32_t *id,
				   struct sonde_error *err)
{
	struct zts_cached_id *cached;

	if (function >= sonde_definitions_function_count(builder->definitions)) {
		*id = 0;
		return SONDE_OK;
	}
	if (!RESERVE_FOR(&builder->methods, function))
		return sonde_fail_nomem(err);
	cached = &builder->methods.items[function];
	if (cached->epoch != builder->epoch)
		*cached =
			(struct zts_cached_id){ builder->epoch, intern_method(builder, function) };
	*id = cached->id;
	return SONDE_OK;
}

/* Whether a function's calls are made traces of. */
static enum sonde_status is_wanted(struct zts_builder *builder, uint32_t function, bool *is,
				   struct sonde_error *err)
{
	char space[SONDE_LABEL_SIZE];
	const char *name;

	*is = !builder->split_by;
	if (*is || function >= sonde_definitions_function_count(builder->definitions))
		return SONDE_OK;
	if (!RESERVE_FOR(&builder->matches, function))
		return sonde_fail_nomem(err);
	if (!builder->matches.items[function]) {
		name = sonde_definitions_function_label(builder->definitions, function, space);
		builder->matches.items[function] = fnmatch(builder->split_by, name, 0) == 0 ? 2 : 1;
	}
	*is = builder->matches.items[function] == 2;
	return SONDE_OK;
}

static const char *service_of(const struct zts_builder *builder)
{
	const struct sonde_process *process = process_of(builder);

	if (builder->service)
		return builder->service;
	return process ? string_of(builder, process->name) : "";
}

static enum sonde_status begin_trace(struct zts_builder *builder, const struct sonde_event *event,
				     const struct zts_call_detail *call, struct sonde_error *err)
{
	struct zts_trace_head head = { 0 };
	bool has_uuid = false;
	enum sonde_status status = builder->target.begin(builder->target.context, &builder->writer,
							 &builder->epoch, err);

	if (status < 0) {
		builder->writer = NULL;
		return status;
	}
	head.app = intern(builder, ZTS_TEXT_STRING, service_of(builder));
	head.host = builder->host ? intern(builder, ZTS_TEXT_STRING, builder->host) :
				    intern_attribute(builder, ZTS_ATTRIBUTE_HOST);
	head.env = builder->env ? intern(builder, ZTS_TEXT_STRING, builder->env) :
				  intern_attribute(builder, ZTS_ATTRIBUTE_ENV);
	if (call->type && call->type->kind == ZTS_TYPE_CALL) {
		has_uuid = sonde_uuid_parse((const char *)call->values[3].bytes,
					    call->values[3].count, head.uuid);
		if (zts_builder_find_string(builder, &call->values[0], "DTRACE_UUID"))
			head.dtrace_uuid = zts_writer_text(builder->writer, ZTS_TEXT_UUID,
							   builder->text.data, builder->text.size);
	}
	if (!has_uuid)
		make_uuid(builder, event, head.uuid);
	builder->index++;
	builder->traces++;
	zts_writer_begin_trace(builder->writer, &head);
	return SONDE_OK;
}

static enum sonde_status end_trace(struct zts_builder *builder, struct sonde_error *err)
{
	enum sonde_status status = zts_writer_end_trace(builder->writer, err);
	enum sonde_status ended;

	if (status < 0)
		zts_writer_abandon_trace(builder->writer);
	builder->writer = NULL;
	ended = builder->target.end(builder->target.context, status >= 0, status < 0 ? NULL : err);
	return status < 0 ? status : ended;
}

/* What a call of ours says of a record. */
static void take_call(struct zts_builder *builder, const struct zts_call_detail *call,
		      struct zts_record_head *head, struct zts_open_call *open)
{
	const struct sonde_argument *values = call->values;

	head->span = values[1].value.u64;
	head->parent = values[2].value.u64;
	if (values[3].count &&
	    sonde_uuid_parse((const char *)values[3].bytes, values[3].count, head->uuid))
		head->begins_trace = true;
	if (values[4].count)
		head->type = zts_writer_text(builder->writer, ZTS_TEXT_STRING,
					     (const char *)values[4].bytes, values[4].count);
	open->flags = (uint32_t)values[5].value.u64;
	open->calls = values[6].value.u64;
}

static enum sonde_status begin_record(struct zts_builder *builder, const struct sonde_event *event,
				      const struct zts_call_detail *call, bool begins_trace,
				      struct zts_open_call *open, struct sonde_error *err)
{
	struct zts_record_head head = { .begins_trace = begins_trace };
	enum sonde_status status = method_of(builder, event->function, &head.method, err);

	if (status < 0)
		return status;
	head.start = time_of(builder, event);
	if (call->type && call->type->kind == ZTS_TYPE_CALL)
		take_call(builder, call, &head, open);
	zts_writer_begin_record(builder->writer, &head);
	builder->records++;
	builder->records_open++;
	open->is_record = true;
	return call->detail ? zts_builder_put_attributes(builder, call, err) : SONDE_OK;
}

static enum sonde_status take_enter(struct zts_builder *builder, const struct sonde_batch *batch,
				    const struct sonde_event *event, struct sonde_error *err)
{
	struct zts_open_call open = { .function = event->function }, *made;
	struct zts_call_detail call = { 0 };
	struct sonde_detail detail;
	bool begins = false;
	enum sonde_status status =
		zts_builder_take_detail(builder, batch, event, &detail, &call, err);

	if (status == SONDE_OK && (builder->split_by || !builder->records_open))
		status = is_wanted(builder, event->function, &begins, err);
	if (status < 0)
		return status;
	if (!builder->records_open && begins) {
		builder->time_ns = event->time_ns + builder->shift_ns;
		status = begin_trace(builder, event, &call, err);
	}
	if (status == SONDE_OK && builder->writer)
		status = begin_record(builder, event, &call, begins, &open, err);
	else if (status == SONDE_OK)
		builder->lost[ZTS_LOSS_OUTSIDE]++;
	if (status < 0)
		return status;
	made = sonde_vec_push(&builder->open);
	if (!made)
		return sonde_fail_nomem(err);
	*made = open;
	return SONDE_OK;
}

/* The innermost open call is over. */
static enum sonde_status leave(struct zts_builder *builder, uint64_t time, uint32_t exception,
			       uint32_t flags, struct sonde_error *err)
{
	const struct zts_open_call *open = &builder->open.items[--builder->open.count];

	if (!open->is_record)
		return SONDE_OK;
	zts_writer_end_record(builder->writer, time, open->calls, exception, open->flags | flags);
	return --builder->records_open ? SONDE_OK : end_trace(builder, err);
}

/* The innermost open call is over, though nothing said so. */
static enum sonde_status close_call(struct zts_builder *builder, uint64_t time,
				    struct sonde_error *err)
{
	builder->lost[ZTS_LOSS_OPEN] += builder->open.items[builder->open.count - 1].is_record;
	return leave(builder, time, 0, 0, err);
}

/* The call that an event leaves; those above it are over too. SIZE_MAX: it is not there. */
static size_t find_left(const struct zts_builder *builder, const struct sonde_event *event)
{
	size_t i = builder->open.count;

	if (i && event->function == SONDE_NONE)
		return i - 1;
	while (i--) {
		if (builder->open.items[i].function == event->function)
			return i;
	}
	return SIZE_MAX;
}

static enum sonde_status take_leave(struct zts_builder *builder, const struct sonde_batch *batch,
				    const struct sonde_event *event, struct sonde_error *err)
{
	size_t left = find_left(builder, event);
	struct zts_call_detail call = { 0 };
	struct sonde_detail detail;
	uint32_t exception = 0, flags = 0;
	bool is_ours, throws = event->kind == SONDE_EVENT_EXCEPTION;
	uint64_t time;
	enum sonde_status status =
		zts_builder_take_detail(builder, batch, event, &detail, &call, err);

	if (status < 0)
		return status;
	if (left == SIZE_MAX) {
		builder->lost[ZTS_LOSS_ORPHANS]++;
		return SONDE_OK;
	}
	time = builder->writer ? time_of(builder, event) : 0;
	while (status == SONDE_OK && builder->open.count > left + 1)
		status = close_call(builder, time, err);
	if (status < 0 || !builder->open.items[left].is_record)
		return status < 0 ? status : leave(builder, time, 0, 0, err);
	is_ours = call.type && call.type->kind == ZTS_TYPE_EXCEPTION;
	if (call.detail && !is_ours)
		status = zts_builder_put_attributes(builder, &call, err);
	if (throws && is_ours)
		status = zts_builder_exception(builder, call.detail, &exception, err);
	else if (throws) {
		exception = zts_writer_exception(builder->writer, 0, 0, 0, 0);
		flags = ZTS_RECORD_ERROR;
	}
	return status < 0 ? status : leave(builder, time, exception, flags, err);
}

enum sonde_status zts_builder_events(struct sonde_sink *sink, uint32_t track,
				     const struct sonde_batch *batch, struct sonde_error *err)
{
	struct zts_builder *builder = zts_builder_of(sink);
	enum sonde_status status = SONDE_OK;

	if (builder->track != track) {
		if (builder->open.count)
			return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
					  "events of track %" PRIu32
					  " come before the end of track %" PRIu32,
					  track, builder->track);
		begin_track(builder, track);
	}
	for (size_t i = 0; i < batch->count && status == SONDE_OK; i++) {
		const struct sonde_event *event = &batch->events[i];

		builder->lost[ZTS_LOSS_SYNTHETIC] += event->flags & SONDE_EVENT_SYNTHETIC;
		if (event->kind == SONDE_EVENT_CALL)
			status = take_enter(builder, batch, event, err);
		else if (sonde_event_leaves(event))
			status = take_leave(builder, batch, event, err);
		else
			builder->lost_kinds[event->kind < SONDE_EVENT_KIND_COUNT ? event->kind :
										   0]++;
	}
	return status;
}

static enum sonde_status report_losses(struct zts_builder *builder, struct sonde_error *err)
{
	static const struct sonde_loss_kind kinds[] = {
#define X(name, what, reason) { what, reason, false },
		ZTS_LOSS_LIST(X)
#undef X
	};
	enum sonde_status status =
		sonde_loss_add_kinds(builder->loss, kinds, builder->lost, ZTS_LOSS_COUNT, err);
	char what[64];

	for (unsigned int i = 0; i < SONDE_EVENT_KIND_COUNT && status == SONDE_OK; i++) {
		snprintf(what, sizeof(what), "events of kind %s", sonde_event_kind_name(i));
		status = sonde_loss_add(builder->loss, what, "a trace store holds calls only",
					builder->lost_kinds[i], err);
		builder->lost_kinds[i] = 0;
	}
	return status;
}

enum sonde_status zts_builder_track_end(struct sonde_sink *sink, uint32_t track,
					struct sonde_error *err)
{
	struct zts_builder *builder = zts_builder_of(sink);
	enum sonde_status status = SONDE_OK;

	if (builder->track == track) {
		/* calls that never ended last as long as anything in their track */
		while (builder->open.count && status == SONDE_OK)
			status = close_call(builder, builder->time_ns, err);
		builder->track = SONDE_NONE;
	}
	return status < 0 ? status : report_losses(builder, err);
}
