/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP JSON as a recording. A span does not say on which thread it ran: the traces of a service are laid on
 * lanes by their start, each on the lowest that is free, and spans of one trace that do not nest go to further
 * tracks. Where a trace begins and ends is known only when all spans were seen, so these are kept in a file without
 * a name until then.
 */
#include "formats/otlp/otlp_read.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "base/lanes.h"
#include "base/sort.h"
#include "formats/otlp/otlp_batches.h"
#include "model/span_details.h"

#define PROBE_SIZE 4096
#define ALIGNMENT 8

/* A trace, as far as one process took part. */
struct trace {
	uint64_t start_ns, end_ns;
	uint32_t process;
	uint32_t track; /* in the end */
};

/* A span, or an event of one, until its track is known; the bytes of its details follow. */
struct kept {
	uint64_t time_ns, end_ns;
	uint32_t trace;
	uint32_t target;   /* function or event type */
	uint32_t size;	   /* of the detail, */
	uint32_t end_size; /* and of that of the exception */
	uint8_t kind;
	uint8_t raises;
	uint8_t zero[6];
};

struct reading {
	struct sonde_recording *recording;
	struct sonde_intake *intake;
	struct sonde_mapped_file file;
	struct sonde_output kept;
	SONDE_VEC(struct trace) traces;
	struct sonde_buffer key, scratch, details;
	uint32_t clock, call_type, exception_type;
	uint64_t earliest_ns;
	bool any_text_fault;
};

int otlp_probe(const char *path)
{
	char head[PROBE_SIZE];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t size = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);
	size_t at = 0;

	if (fd >= 0)
		close(fd);
	while (size > 0 && at < (size_t)size && memchr(" \t\r\n\xEF\xBB\xBF", head[at], 7))
		at++;
	if (size <= 0 || at == (size_t)size || head[at] != '{')
		return 0;
	return sonde_json_find_member(head + at, (size_t)size - at, "resourceSpans") ? 90 : 0;
}

/* --- who --- */

static uint32_t find_pid(const struct otlp_request *request, const struct otlp_list *list)
{
	for (uint32_t at = list->first; at != SONDE_NONE; at = request->values.items[at].next) {
		const struct otlp_value *value = &request->values.items[at];

		if (value->kind == OTLP_INT && otlp_text_is(&value->key, "process.pid") &&
		    value->number >= 0 && value->number < SONDE_NONE)
			return (uint32_t)value->number;
	}
	return SONDE_NONE;
}

/* What was sent with it, as attributes of the process. */
static enum sonde_status describe_process(struct reading *reading,
					  const struct otlp_request *request,
					  const struct otlp_list *attributes, uint32_t process,
					  struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (uint32_t at = attributes->first; !status && at != SONDE_NONE;
	     at = request->values.items[at].next) {
		const struct otlp_value *value = &request->values.items[at];
		struct sonde_attribute attribute = { .owner = SONDE_OWNER_PROCESS,
						     .owner_id = process };
		struct sonde_json_writer json;
		uint32_t id;

		sonde_buffer_clear(&reading->scratch);
		sonde_json_writer_init(&json, &reading->scratch, false);
		otlp_put_value(&json, request, value);
		if (reading->scratch.failed)
			return sonde_fail_nomem(err);
		status = sonde_intake_string(reading->intake, value->key.data, value->key.size,
					     &attribute.name, err);
		if (!status)
			status = sonde_intake_string(reading->intake, reading->scratch.data,
						     reading->scratch.size, &attribute.value, err);
		if (!status)
			status = sonde_definitions_add_attribute(reading->recording->definitions,
								 &attribute, &id, err);
	}
	return status;
}

/* Services are told apart by name, instance, environment, host and process id. */
static enum sonde_status find_process(struct reading *reading, const struct otlp_request *request,
				      uint32_t *process, struct sonde_error *err)
{
	static const char *const names[] = {
		"service.namespace",	       "service.name",
		"service.instance.id",	       "deployment.environment",
		"deployment.environment.name", "host.name"
	};
	const struct otlp_list *attributes = &request->resources.items[0].attributes;
	struct otlp_text service = otlp_find_text(request, attributes, "service.name");
	uint32_t pid = find_pid(request, attributes), number;
	struct sonde_process *made;
	enum sonde_status status;

	sonde_buffer_clear(&reading->key);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct otlp_text text = otlp_find_text(request, attributes, names[i]);

		sonde_buffer_put(&reading->key, text.data, text.size);
		sonde_buffer_put_char(&reading->key, '\0');
	}
	sonde_buffer_put_u64(&reading->key, pid);
	if (reading->key.failed)
		return sonde_fail_nomem(err);
	status = sonde_intake_number(reading->intake, reading->key.data, reading->key.size, &number,
				     err);
	if (!status)
		status = sonde_intake_process(reading->intake, number, process, err);
	if (status)
		return status;
	made = sonde_intake_process_at(reading->intake, *process);
	if (made->name)
		return SONDE_OK;
	made->os_id = pid;
	made->clock = reading->clock;
	if (!service.size)
		service = (struct otlp_text){ "unknown_service", 15 };
	status = sonde_intake_string(reading->intake, service.data, service.size, &made->name, err);
	return status ? status : describe_process(reading, request, attributes, *process, err);
}

/* --- what --- */

/* The trace of a span in a process; it lasts at least that long. */
static enum sonde_status find_trace(struct reading *reading, const struct otlp_span *span,
				    uint32_t process, uint32_t *number, struct sonde_error *err)
{
	uint64_t end = span->end_ns < span->start_ns ? span->start_ns : span->end_ns;
	const uint64_t id[3] = { span->trace_id[0], span->trace_id[1], process };
	struct trace *trace;
	enum sonde_status status =
		sonde_intake_number(reading->intake, id, sizeof(id), number, err);

	if (status)
		return status;
	/* processes have numbers too: their places stay empty */
	while (reading->traces.count <= *number) {
		trace = sonde_vec_push(&reading->traces);
		if (!trace)
			return sonde_fail_nomem(err);
		*trace = (struct trace){ .process = SONDE_NONE, .start_ns = UINT64_MAX };
	}
	trace = &reading->traces.items[*number];
	trace->process = process;
	trace->start_ns = span->start_ns < trace->start_ns ? span->start_ns : trace->start_ns;
	trace->end_ns = end > trace->end_ns ? end : trace->end_ns;
	if (span->start_ns < reading->earliest_ns)
		reading->earliest_ns = span->start_ns;
	return SONDE_OK;
}

static enum sonde_status keep(struct reading *reading, const struct kept *kept,
			      struct sonde_error *err)
{
	static const uint8_t zeros[ALIGNMENT];
	size_t size = (size_t)kept->size + kept->end_size;
	enum sonde_status status;

	if (reading->details.failed)
		return sonde_fail_nomem(err);
	status = sonde_output_write(&reading->kept, kept, sizeof(*kept), err);
	if (!status)
		status = sonde_output_write(&reading->kept, reading->details.data, size, err);
	return status ? status : sonde_output_write(&reading->kept, zeros, -size % ALIGNMENT, err);
}

static enum sonde_status keep_notes(struct reading *reading, const struct otlp_request *request,
				    const struct otlp_span *span, uint32_t trace,
				    struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (uint32_t at = span->events.first; !status && at != SONDE_NONE;
	     at = request->notes.items[at].next) {
		const struct otlp_note *note = &request->notes.items[at];
		struct kept kept = { .time_ns = note->time_ns ? note->time_ns : span->start_ns,
				     .trace = trace,
				     .kind = SONDE_EVENT_INSTANT };

		sonde_buffer_clear(&reading->details);
		otlp_pack_note(request, note, &reading->scratch, &reading->details);
		kept.size = (uint32_t)reading->details.size;
		status = sonde_intake_event_type(reading->intake, note->name.data, note->name.size,
						 OTLP_NOTE_SIGNATURE, &kept.target, err);
		if (!status)
			status = keep(reading, &kept, err);
	}
	return status;
}

static enum sonde_status keep_span(struct reading *reading, const struct otlp_request *request,
				   const struct otlp_span *span, uint32_t process,
				   struct sonde_error *err)
{
	const struct sonde_function like = { .process = process, .module = SONDE_NONE };
	struct kept kept = { .time_ns = span->start_ns,
			     .end_ns = span->end_ns,
			     .kind = SONDE_INTAKE_SPAN,
			     .raises = span->status_code == 2 };
	enum sonde_status status = sonde_intake_function(reading->intake, &like,
							 span->name.size ? span->name.data : "",
							 span->name.size, &kept.target, err);

	if (!status)
		status = find_trace(reading, span, process, &kept.trace, err);
	if (status)
		return status;
	sonde_buffer_clear(&reading->details);
	otlp_pack_call(request, span, &reading->scratch, &reading->details);
	kept.size = (uint32_t)reading->details.size;
	if (otlp_pack_exception(request, span, &reading->scratch, &reading->details)) {
		kept.raises = true;
		kept.end_size = (uint32_t)reading->details.size - kept.size;
	}
	status = keep(reading, &kept, err);
	return status ? status : keep_notes(reading, request, span, kept.trace, err);
}

/* --- the file --- */

static void tell_rejected(struct reading *reading, const struct otlp_request *request,
			  uint64_t offset)
{
	for (uint64_t i = 0; i < request->rejected; i++)
		EXCHANGE_FINDING(reading->recording, RECORD, offset, "spans with ids and times\t%s",
				 request->reason);
	for (uint64_t i = 0; i < request->mended; i++)
		EXCHANGE_FINDING(reading->recording, TIME, offset, "spans as they should be\t%s",
				 request->reason);
}

static enum sonde_status take_batch(void *user, const struct sonde_buffer *batch, uint64_t offset,
				    struct sonde_error *err)
{
	struct reading *reading = user;
	struct otlp_request request = { 0 };
	enum sonde_status status = otlp_read_json(&request, batch->data, batch->size, err);
	uint32_t process = 0;

	if (!status)
		tell_rejected(reading, &request, offset);
	if (!status && request.spans.count)
		status = find_process(reading, &request, &process, err);
	for (size_t i = 0; !status && i < request.spans.count; i++)
		status = keep_span(reading, &request, &request.spans.items[i], process, err);
	otlp_request_release(&request);
	return status;
}

static void take_fault(void *user, bool is_text, const struct sonde_error *why)
{
	struct reading *reading = user;

	reading->any_text_fault |= is_text;
	if (is_text && why->status == SONDE_TRUNCATED)
		EXCHANGE_FINDING(reading->recording, TRUNCATED, why->offset, "whole JSON\t%s",
				 why->message);
	else
		EXCHANGE_FINDING(reading->recording, RECORD, why->offset, "%s\t%s",
				 is_text ? "a request of OpenTelemetry" : "a span", why->message);
}

static enum sonde_status define_fixed(struct reading *reading, struct sonde_error *err)
{
	struct sonde_definitions *definitions = reading->recording->definitions;
	struct sonde_clock clock = { .kind = SONDE_CLOCK_REALTIME };
	enum sonde_status status =
		sonde_definitions_add_string(definitions, "realtime", 8, &clock.name, err);

	if (!status)
		status = sonde_definitions_add_clock(definitions, &clock, &reading->clock, err);
	if (!status)
		status = sonde_intake_event_type(
			reading->intake, SONDE_SPAN_CALL_TYPE, strlen(SONDE_SPAN_CALL_TYPE),
			SONDE_SPAN_CALL_SIGNATURE, &reading->call_type, err);
	if (!status)
		status = sonde_intake_event_type(reading->intake, SONDE_SPAN_EXCEPTION_TYPE,
						 strlen(SONDE_SPAN_EXCEPTION_TYPE),
						 SONDE_SPAN_EXCEPTION_SIGNATURE,
						 &reading->exception_type, err);
	return status;
}

/* Times are those of the wall clock already. */
static enum sonde_status add_anchor(struct reading *reading, struct sonde_error *err)
{
	struct sonde_anchor anchor = { .clock = reading->clock,
				       .clock_ns = reading->earliest_ns,
				       .realtime_ns = reading->earliest_ns };
	uint32_t id;

	if (reading->earliest_ns == UINT64_MAX)
		return SONDE_OK;
	return sonde_definitions_add_anchor(reading->recording->definitions, &anchor, &id, err);
}

static enum sonde_status make_track(struct reading *reading, struct trace *trace, uint32_t lane,
				    struct sonde_error *err)
{
	const struct sonde_process *process =
		sonde_intake_process_at(reading->intake, trace->process);
	enum sonde_status status =
		sonde_intake_track(reading->intake, trace->process, lane, &trace->track, err);
	struct sonde_track *track;

	if (status)
		return status;
	track = sonde_intake_track_at(reading->intake, trace->track);
	if (track->name)
		return SONDE_OK;
	track->os_id = UINT64_MAX;
	sonde_buffer_clear(&reading->scratch);
	sonde_buffer_put_format(
		&reading->scratch, "%s lane %" PRIu32,
		sonde_definitions_string(reading->recording->definitions, process->name), lane + 1);
	if (reading->scratch.failed)
		return sonde_fail_nomem(err);
	return sonde_intake_string(reading->intake, reading->scratch.data, reading->scratch.size,
				   &track->name, err);
}

/* By process, then by start: `order` is sorted so. */
static enum sonde_status assign_lanes(struct reading *reading, const struct sonde_sort_item *order,
				      struct sonde_error *err)
{
	struct sonde_lanes lanes = { 0 };
	enum sonde_status status = SONDE_OK;
	uint32_t process = SONDE_NONE, lane;

	for (size_t i = 0; !status && i < reading->traces.count; i++) {
		struct trace *trace = &reading->traces.items[order[i].number];

		if (trace->process == SONDE_NONE)
			continue;
		if (trace->process != process)
			sonde_lanes_clear(&lanes);
		process = trace->process;
		if (!sonde_lanes_take(&lanes, trace->start_ns, trace->end_ns, &lane))
			status = sonde_fail_nomem(err);
		else
			status = make_track(reading, trace, lane, err);
	}
	sonde_lanes_release(&lanes);
	return status;
}

static enum sonde_status lay_out(struct reading *reading, struct sonde_error *err)
{
	size_t count = reading->traces.count;
	struct sonde_sort_item *order = malloc((count + 1) * sizeof(*order));
	enum sonde_status status;
	bool sorted;

	if (!order)
		return sonde_fail_nomem(err);
	for (size_t i = 0; i < count; i++)
		order[i] = (struct sonde_sort_item){ reading->traces.items[i].start_ns, i };
	sorted = sonde_sort(order, count);
	for (size_t i = 0; i < count; i++)
		order[i].key = reading->traces.items[order[i].number].process;
	sorted = sorted && sonde_sort(order, count);
	status = sorted ? assign_lanes(reading, order, err) : sonde_fail_nomem(err);
	free(order);
	return status;
}

/* What was kept, on the tracks that are known now. */
static enum sonde_status replay(struct reading *reading, struct sonde_error *err)
{
	struct sonde_mapped_file file = { 0 };
	enum sonde_status status = sonde_output_map(&reading->kept, &file, err);
	struct sonde_trail trail = { 0 };
	size_t at = 0;

	while (!status && at < file.size) {
		const struct kept *kept = (const struct kept *)(file.data + at);
		const uint8_t *bytes = file.data + at + sizeof(*kept);
		size_t size = (size_t)kept->size + kept->end_size;
		struct sonde_intake_event event = {
			.time_ns = kept->time_ns,
			.end_ns = kept->end_ns,
			.track = reading->traces.items[kept->trace].track,
			.function = kept->target,
			.kind = kept->kind,
			.event_type = kept->kind == SONDE_INTAKE_SPAN ? reading->call_type :
									kept->target,
			.arguments = bytes,
			.size = kept->size,
			.raises = kept->raises,
			.end_type = reading->exception_type,
			.end_arguments = kept->end_size ? bytes + kept->size : NULL,
			.end_size = kept->end_size,
		};

		status = sonde_intake_add(reading->intake, &event, err);
		size = sizeof(*kept) + size + -size % ALIGNMENT;
		sonde_mapped_file_leave(&file, &trail, at, at + size);
		at += size;
	}
	sonde_mapped_file_release(&file);
	return status;
}

static enum sonde_status read_all(struct reading *reading, struct sonde_error *err)
{
	const struct otlp_batches batches = {
		.file = &reading->file,
		.user = reading,
		.take = take_batch,
		.fault = take_fault,
	};
	enum sonde_status status =
		sonde_mapped_file_open(&reading->file, reading->recording->path, err);

	if (!status)
		status = sonde_output_open_unnamed(&reading->kept, err);
	if (!status)
		status = sonde_intake_new(reading->recording, &reading->intake, err);
	if (!status)
		status = define_fixed(reading, err);
	if (!status)
		status = otlp_batches_read(&batches, err);
	if (!status && reading->any_text_fault && !reading->traces.count)
		status = sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				    "there is no span of OpenTelemetry in it that can be read");
	if (!status)
		status = add_anchor(reading, err);
	if (!status)
		status = lay_out(reading, err);
	return status ? status : replay(reading, err);
}

enum sonde_status otlp_open(struct sonde_recording *recording, struct sonde_error *err)
{
	struct reading reading = { .recording = recording,
				   .kept = { .fd = -1 },
				   .earliest_ns = UINT64_MAX };
	enum sonde_status status = read_all(&reading, err);

	if (!status)
		status = exchange_finish(recording, reading.intake, err);
	if (status)
		sonde_intake_free(reading.intake);
	sonde_mapped_file_release(&reading.file);
	sonde_output_release(&reading.kept);
	sonde_vec_release(&reading.traces);
	sonde_buffer_release(&reading.key);
	sonde_buffer_release(&reading.scratch);
	sonde_buffer_release(&reading.details);
	return status;
}
