/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes events that are more than a plain call or return: with arguments, of other kinds, or with
 * a depth that does not follow from the events before. Where our own reader would not read an
 * event as it is, a marker before it says so (doc/formats/cff.md).
 */
#include <string.h>

#include "base/bytes.h"
#include "formats/cff/cff_names.h"
#include "formats/cff/cff_put.h"
#include "formats/cff/cff_write.h"
#include "model/arguments.h"

/* Bytes of the markers before an event, and of its own head. */
#define OVERHEAD (3 * CFF_EVENT_SIZE + 4 + 16)

/* One event on its way. */
struct written {
	struct cff_writer *writer;
	struct cff_track_writer *track;
	const struct sonde_event *event;
	uint32_t event_type;		   /* of `arguments` */
	const struct sonde_detail *detail; /* its arguments; NULL: none */
};

/* A text of a chunk cannot hold a NUL: something else stands for it. */
static uint32_t put_text_with_nuls(struct cff_writer *writer, const char *text, size_t length)
{
	struct sonde_buffer changed = { 0 };
	uint32_t ordinal;

	writer->losses[CFF_LOSS_NULS]++;
	for (size_t i = 0; i < length; i++) {
		if (text[i])
			sonde_buffer_put_char(&changed, text[i]);
		else
			sonde_buffer_put_text(&changed, "\xEF\xBF\xBD");
	}
	writer->filling.table.failed |= changed.failed;
	ordinal = cff_chunk_text(&writer->filling, changed.data, changed.size);
	sonde_buffer_release(&changed);
	return ordinal;
}

static uint32_t text_ordinal(struct cff_writer *writer, const struct sonde_argument *argument)
{
	const char *text = (const char *)argument->bytes;

	if (argument->is_null)
		return CFF_STRING_NULL;
	if (!argument->count && argument->spec->type == SONDE_ARGUMENT_ANY) {
		writer->losses[CFF_LOSS_EMPTY_ANY]++;
		return CFF_STRING_NULL;
	}
	if (argument->count && memchr(text, '\0', argument->count))
		return put_text_with_nuls(writer, text, argument->count);
	return cff_chunk_text(&writer->filling, text, argument->count);
}

/* A number of 64 bits in words of 32. */
static void put_wide(struct sonde_buffer *out, const struct sonde_argument *argument)
{
	if (argument->spec->type == SONDE_ARGUMENT_FLOAT64)
		sonde_arguments_put_number(out, SONDE_ARGUMENT_FLOAT32, argument->value);
	sonde_put_u32le(out, (uint32_t)argument->value.u64);
	sonde_put_u32le(out, (uint32_t)(argument->value.u64 >> 32));
}

static void put_value(struct cff_writer *writer, const struct sonde_argument *argument)
{
	struct sonde_buffer *out = &writer->values;
	size_t size = sonde_argument_type_size(argument->spec->type);

	if (sonde_argument_type_is_text(argument->spec->type))
		sonde_put_u32le(out, text_ordinal(writer, argument));
	else if (argument->spec->is_array && size == 8)
		sonde_arguments_put_array(out, SONDE_ARGUMENT_UINT32,
					  argument->is_null ? NULL : argument->bytes,
					  argument->count * 2);
	else if (!argument->spec->is_array && size == 8)
		put_wide(out, argument);
	else
		sonde_arguments_put(out, argument);
}

/* Values for arguments that an event should have and has not. */
static void put_nothing(struct cff_writer *writer, const struct sonde_signature *signature)
{
	sonde_buffer_clear(&writer->values);
	for (size_t i = 0; i < sonde_signature_count(signature); i++) {
		const struct sonde_argument none = {
			.spec = sonde_signature_at(signature, i),
			.is_null = true,
		};

		put_value(writer, &none);
	}
	writer->losses[CFF_LOSS_MADE_UP]++;
}

/* Puts the arguments into writer->values as they stand in a file. */
static enum sonde_status encode(const struct written *written, const struct cff_event_plan *plan,
				struct sonde_error *err)
{
	struct cff_writer *writer = written->writer;
	struct sonde_arguments values = { .signature = plan->signature };
	struct sonde_argument argument;
	enum sonde_status status = SONDE_END;

	sonde_buffer_clear(&writer->values);
	if (!sonde_signature_count(plan->signature))
		return SONDE_OK;
	if (written->detail) {
		values.bytes = written->detail->bytes;
		values.size = written->detail->size;
		while (!(status = sonde_arguments_next(&values, &argument, err)))
			put_value(writer, &argument);
		writer->losses[CFF_LOSS_UNREAD] += status < 0;
		writer->losses[CFF_LOSS_WIDE] += plan->is_wide;
	}
	if (status < 0 || !written->detail)
		put_nothing(writer, plan->signature);
	else
		written->track->details++;
	return writer->values.failed ? sonde_fail_nomem(err) : SONDE_OK;
}

/* Markers have whole microseconds: only the times of events of the model count. */
static void put_marker(const struct written *written, uint32_t wire, const void *values,
		       size_t size)
{
	uint64_t time = cff_writer_time(written->writer, written->event->time_ns);

	cff_chunk_put(&written->writer->filling, wire, time - time % 1000, values, size);
}

static void put_exact(const struct written *written)
{
	const struct sonde_event *event = written->event;
	uint8_t values[16];

	sonde_store_u32le(values, event->kind);
	sonde_store_u32le(values + 4, event->function);
	sonde_store_u32le(values + 8, event->depth);
	sonde_store_u32le(values + 12, event->kind >= SONDE_EVENT_FLOW_BEGIN ? event->extra : 0);
	put_marker(written, CFF_WRITE_EXACT, values, sizeof(values));
}

/* The event with what is in writer->values, and before it what `is_exact` asks for. */
static enum sonde_status put_event(const struct written *written, uint32_t wire, bool is_exact,
				   struct sonde_error *err)
{
	struct cff_writer *writer = written->writer;
	bool is_exception = written->event->kind == SONDE_EVENT_EXCEPTION;
	enum sonde_status status = SONDE_OK;

	if (is_exception)
		status = cff_write_permanent(writer, CFF_WRITE_EXCEPTION, err);
	if (is_exact && status == SONDE_OK)
		status = cff_write_permanent(writer, CFF_WRITE_EXACT, err);
	if (status < 0)
		return status;
	if (!cff_chunk_reserve(&writer->filling, CFF_WRITE_RAW, OVERHEAD + writer->values.size))
		return sonde_fail_nomem(err);
	if (is_exception)
		put_marker(written, CFF_WRITE_EXCEPTION, "\1\0\0", 4);
	if (is_exact)
		put_exact(written);
	cff_chunk_put(&writer->filling, wire, cff_writer_time(writer, written->event->time_ns),
		      writer->values.data, writer->values.size);
	return SONDE_OK;
}

static uint32_t top_depth(const struct cff_track_writer *track)
{
	return track->open.count ? track->open.items[track->open.count - 1].depth : 0;
}

/* Calls of this depth and deeper are over. */
static void close_calls(struct cff_track_writer *track, uint32_t depth)
{
	while (track->open.count && top_depth(track) >= depth)
		track->open.count--;
}

/* wtf.scope#enter names the function that is called: the first one of that name, or itself. */
static bool enters_function(const struct written *written, const struct cff_event_plan *plan)
{
	const struct sonde_definitions *definitions = written->writer->definitions;
	const struct sonde_function *function =
		sonde_definitions_function(definitions, written->event->function);
	struct sonde_arguments values = {
		.signature = plan->signature,
		.bytes = written->detail->bytes,
		.size = written->detail->size,
	};
	struct sonde_argument argument;
	const char *name, *wanted = "wtf.scope#enter";
	size_t length = strlen(wanted);

	if (!function || sonde_arguments_next(&values, &argument, NULL))
		return false;
	if (!argument.is_null && argument.count) {
		wanted = (const char *)argument.bytes;
		length = argument.count;
	}
	name = sonde_definitions_string(definitions, function->name);
	return strlen(name) == length && !memcmp(name, wanted, length) &&
	       cff_write_first_function(written->writer, function->name) ==
		       written->event->function;
}

/* A call with the arguments of a scope. `is_exact`: another function would be read. */
static enum sonde_status find_scope(const struct written *written, uint32_t *wire, bool *is_exact,
				    struct sonde_error *err)
{
	struct cff_writer *writer = written->writer;
	struct cff_written_type *type = NULL;
	struct cff_event_plan *plan = NULL;
	enum sonde_status status =
		cff_write_event_type(writer, written->event_type, false, &type, err);

	if (status == SONDE_OK)
		status = cff_write_plan(writer, written->event_type, &plan, err);
	if (status < 0 || !plan)
		return status;
	*wire = type->wire;
	if (type->builtin == CFF_SCOPE_ENTER) {
		*is_exact = !enters_function(written, plan);
	} else {
		if (type->function == SONDE_NONE)
			type->function = written->event->function;
		*is_exact = type->function != written->event->function;
	}
	return encode(written, plan, err);
}

/* The arguments are those of a scope; others cannot belong to a call. */
static bool is_scope(const struct written *written)
{
	const struct sonde_event_type *type =
		sonde_definitions_event_type(written->writer->definitions, written->event_type);

	return type && type->is_scope;
}

/* The arguments of a call that says which function it is of. */
static enum sonde_status name_function(const struct written *written, struct sonde_error *err)
{
	struct cff_writer *writer = written->writer;
	char space[SONDE_LABEL_SIZE];
	const char *name = sonde_definitions_function_label(writer->definitions,
							    written->event->function, space);

	sonde_put_u32le(&writer->values, written->event->function);
	sonde_put_u32le(&writer->values, cff_chunk_text(&writer->filling, name, strlen(name)));
	return writer->values.failed ? sonde_fail_nomem(err) : SONDE_OK;
}

static enum sonde_status write_call(struct written *written, struct sonde_error *err)
{
	struct cff_track_writer *track = written->track;
	const struct sonde_event *event = written->event;
	struct cff_open_call *open = sonde_vec_reserve(&track->open, 1) ? track->open.items : NULL;
	bool is_exact = false;
	enum sonde_status status;
	uint32_t wire = 0;

	if (!open)
		return sonde_fail_nomem(err);
	sonde_buffer_clear(&written->writer->values);
	if (written->detail && !is_scope(written)) {
		written->writer->losses[CFF_LOSS_ARGUMENTS]++;
		written->detail = NULL;
	}
	if (written->detail)
		status = find_scope(written, &wire, &is_exact, err);
	else
		status = cff_write_function(written->writer, event->function, &wire, err);
	if (status == SONDE_OK && wire == CFF_WRITE_CALL)
		status = name_function(written, err);
	if (status < 0)
		return status;
	is_exact |= event->depth != top_depth(track) + 1;
	if (is_exact)
		close_calls(track, event->depth);
	track->open.items[track->open.count++] = (struct cff_open_call){
		.function = event->function,
		.depth = event->depth,
	};
	return put_event(written, wire, is_exact, err);
}

/* What a reader takes for the function of a leave without an open call. */
static bool is_leave_function(const struct cff_writer *writer, uint32_t id)
{
	const struct sonde_function *function = sonde_definitions_function(writer->definitions, id);

	return function && !strcmp(sonde_definitions_string(writer->definitions, function->name),
				   "wtf.scope#leave");
}

static enum sonde_status write_leave(const struct written *written, struct sonde_error *err)
{
	struct cff_track_writer *track = written->track;
	const struct sonde_event *event = written->event;
	bool is_exact;

	written->writer->losses[CFF_LOSS_ARGUMENTS] += written->detail != NULL;
	sonde_buffer_clear(&written->writer->values);
	if (track->open.count)
		is_exact = track->open.items[track->open.count - 1].function != event->function ||
			   top_depth(track) != event->depth;
	else
		is_exact = event->depth || !is_leave_function(written->writer, event->function);
	if (is_exact)
		close_calls(track, event->depth);
	else if (track->open.count)
		track->open.count--;
	return put_event(written, CFF_WRITE_LEAVE, is_exact, err);
}

static enum sonde_status write_counter(const struct written *written, struct sonde_error *err)
{
	static const struct sonde_argument_spec spec = { .type = SONDE_ARGUMENT_FLOAT64 };
	struct cff_writer *writer = written->writer;
	struct sonde_argument argument = {
		.spec = &spec,
		.value.f64 = sonde_event_value(written->event),
	};
	struct cff_written_type *type = NULL;
	enum sonde_status status =
		cff_write_event_type(writer, written->event->function, true, &type, err);

	if (status < 0)
		return status;
	sonde_buffer_clear(&writer->values);
	put_wide(&writer->values, &argument);
	if (writer->values.failed)
		return sonde_fail_nomem(err);
	return put_event(written, type->wire, type->event_type != written->event->function, err);
}

/* The builtin that stands for a kind. */
static enum cff_builtin builtin_of(unsigned int kind)
{
	switch (kind) {
	case SONDE_EVENT_FLOW_BEGIN:
		return CFF_FLOW_BRANCH;
	case SONDE_EVENT_FLOW_STEP:
		return CFF_FLOW_EXTEND;
	case SONDE_EVENT_FLOW_END:
		return CFF_FLOW_TERMINATE;
	case SONDE_EVENT_RANGE_BEGIN:
		return CFF_RANGE_BEGIN;
	case SONDE_EVENT_RANGE_END:
		return CFF_RANGE_END;
	default:
		return CFF_MARK;
	}
}

/* The kind that a builtin is read as. */
static unsigned int kind_of(enum cff_builtin builtin)
{
	if (builtin == CFF_FRAME_START)
		return SONDE_EVENT_RANGE_BEGIN;
	if (builtin == CFF_FRAME_END)
		return SONDE_EVENT_RANGE_END;
	for (unsigned int kind = SONDE_EVENT_MARK; kind <= SONDE_EVENT_RANGE_END; kind++) {
		if (kind != SONDE_EVENT_COUNTER && builtin_of(kind) == builtin)
			return kind;
	}
	return SONDE_EVENT_INSTANT;
}

/* A flow, range or mark whose type says no more than its name: others see it as what it is. */
static enum sonde_status write_standing_in(const struct written *written, struct sonde_error *err)
{
	struct cff_writer *writer = written->writer;
	const struct sonde_event_type *type =
		sonde_definitions_event_type(writer->definitions, written->event->function);
	const char *name = sonde_definitions_string(writer->definitions, type->name);
	enum cff_builtin builtin = builtin_of(written->event->kind);
	struct sonde_buffer *values = &writer->values;
	uint32_t wire = 0;
	enum sonde_status status = cff_write_type(writer, builtin, &wire, err);

	if (status < 0)
		return status;
	sonde_buffer_clear(values);
	if (builtin != CFF_MARK)
		sonde_put_u32le(values, written->event->extra);
	if (builtin == CFF_FLOW_BRANCH)
		sonde_put_u32le(values, 0);
	if (builtin != CFF_FLOW_TERMINATE && builtin != CFF_RANGE_END)
		sonde_put_u32le(values, cff_chunk_text(&writer->filling, name, strlen(name)));
	if (builtin != CFF_RANGE_END)
		sonde_put_u32le(values, CFF_STRING_NULL);
	if (values->failed)
		return sonde_fail_nomem(err);
	return put_event(written, wire, true, err);
}

/* What is encoded would be read as another event than it is. */
static bool differs(const struct written *written, const struct cff_written_type *type)
{
	const struct sonde_event *event = written->event;
	const struct sonde_buffer *values = &written->writer->values;

	if (type->event_type != event->function || type->class == CFF_CLASS_SCOPE ||
	    kind_of(type->builtin) != event->kind)
		return true;
	return event->kind >= SONDE_EVENT_FLOW_BEGIN &&
	       sonde_load_u32le((const uint8_t *)values->data) != event->extra;
}

static enum sonde_status write_typed(struct written *written, struct sonde_error *err)
{
	struct cff_writer *writer = written->writer;
	const struct sonde_event *event = written->event;
	struct cff_written_type *type = NULL;
	struct cff_event_plan *plan = NULL;
	enum sonde_status status = cff_write_plan(writer, event->function, &plan, err);
	bool is_plain = event->kind == SONDE_EVENT_INSTANT;

	if (status < 0 || !plan)
		return status;
	if (written->detail && written->event_type != event->function) {
		writer->losses[CFF_LOSS_ARGUMENTS]++;
		written->detail = NULL;
	}
	if (!is_plain && !sonde_signature_count(plan->signature))
		return write_standing_in(written, err);
	status = cff_write_event_type(writer, event->function, false, &type, err);
	if (status == SONDE_OK)
		status = encode(written, plan, err);
	if (status < 0)
		return status;
	writer->losses[CFF_LOSS_KINDS] += !is_plain && type->builtin == CFF_USER;
	return put_event(written, type->wire, differs(written, type), err);
}

/* The arguments of an event, where it has some that can be had. */
static enum sonde_status take_arguments(struct written *written, const struct sonde_batch *batch,
					struct sonde_detail *detail, struct sonde_error *err)
{
	enum sonde_status status = sonde_batch_detail(batch, written->event, detail, err);
	uint64_t *losses = written->writer->losses;

	if (status == SONDE_END)
		return SONDE_OK;
	if (status == SONDE_CORRUPT || status == SONDE_TRUNCATED || status == SONDE_ARGUMENT) {
		losses[CFF_LOSS_UNREAD]++;
		return SONDE_OK;
	}
	if (status < 0)
		return status;
	if (detail->kind != SONDE_DETAIL_ARGUMENTS) {
		losses[CFF_LOSS_REGISTERS]++;
		return SONDE_OK;
	}
	written->detail = detail;
	written->event_type = detail->event_type;
	return SONDE_OK;
}

enum sonde_status cff_write_event(struct cff_writer *writer, struct cff_track_writer *track,
				  const struct sonde_batch *batch, const struct sonde_event *event,
				  struct sonde_error *err)
{
	struct written written = { .writer = writer, .track = track, .event = event };
	struct sonde_detail detail;
	enum sonde_status status = take_arguments(&written, batch, &detail, err);

	if (status < 0)
		return status;
	switch (event->kind) {
	case SONDE_EVENT_CALL:
		return write_call(&written, err);
	case SONDE_EVENT_RETURN:
	case SONDE_EVENT_EXCEPTION:
		return write_leave(&written, err);
	case SONDE_EVENT_COUNTER:
		return write_counter(&written, err);
	default:
		return write_typed(&written, err);
	}
}
