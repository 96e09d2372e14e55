/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples: stacks become contexts when a process is first seen in them. A frame is a function, with its line
 * below where that is known, or an instruction where it has no name.
 */
#include <string.h>

#include "formats/perfetto/perfetto_read.h"

enum sonde_status perfetto_add_stack(struct perfetto_reader *reader, uint32_t parent,
				     uint32_t frame, uint32_t *stack, struct sonde_error *err)
{
	uint64_t key = (uint64_t)parent << 32 | frame;
	struct perfetto_stack *made;

	if (!reader->stacks.count) {
		made = sonde_vec_push(&reader->stacks);
		if (!made)
			return sonde_fail_nomem(err);
		*made = (struct perfetto_stack){ .process = SONDE_NONE };
	}
	*stack = sonde_key_map_find(&reader->stack_numbers, key);
	if (*stack != SONDE_NONE)
		return SONDE_OK;
	made = sonde_vec_push(&reader->stacks);
	if (!made)
		return sonde_fail_nomem(err);
	*made = (struct perfetto_stack){ .parent = parent, .frame = frame, .process = SONDE_NONE };
	*stack = (uint32_t)(reader->stacks.count - 1);
	return sonde_key_map_add(&reader->stack_numbers, key, *stack) ? SONDE_OK :
									sonde_fail_nomem(err);
}

static enum sonde_status add_function(struct perfetto_reader *reader, uint32_t process,
				      const struct perfetto_frame *frame, uint32_t module,
				      uint32_t *function, struct sonde_error *err)
{
	const char *name =
		sonde_definitions_string(reader->recording->definitions, frame->function);
	struct sonde_function like = { .process = process,
				       .module = module,
				       .file = frame->function_file,
				       .line = frame->function_line };

	*function = SONDE_NONE;
	if (!(frame->flags & PERFETTO_FRAME_HAS_NAME))
		return SONDE_OK;
	return sonde_intake_function(reader->intake, &like, name, strlen(name), function, err);
}

static enum sonde_status add_line(struct perfetto_reader *reader,
				  const struct perfetto_frame *frame, uint32_t *node,
				  struct sonde_error *err)
{
	struct sonde_context line = {
		.function = SONDE_NONE,
		.module = SONDE_NONE,
		.file = frame->file,
		.line = frame->line,
		.kind = SONDE_CONTEXT_LINE,
		.relation = SONDE_CONTEXT_ENCLOSED,
	};

	if (!frame->file || !frame->line || frame->flags & PERFETTO_FRAME_WHOLE)
		return SONDE_OK;
	return sonde_intake_context(reader->intake, *node, &line, node, err);
}

static enum sonde_status add_context(struct perfetto_reader *reader, uint32_t process,
				     uint32_t number, uint32_t parent, uint32_t *node,
				     struct sonde_error *err)
{
	const struct perfetto_frame *frame = &reader->frames.items[number];
	struct sonde_context context = { .function = SONDE_NONE,
					 .kind = SONDE_CONTEXT_FUNCTION,
					 .relation = frame->flags & PERFETTO_FRAME_INLINED ?
							     SONDE_CONTEXT_INLINED :
							     SONDE_CONTEXT_CALLED };
	enum sonde_status status;

	status = perfetto_add_module(reader, process, frame->module, &context.module, err);
	if (status)
		return status;
	if (frame->entry && frame->entry <= SONDE_ENTRY_OTHER + 1) {
		context.kind = SONDE_CONTEXT_ENTRY;
		context.entry = (uint8_t)(frame->entry - 1);
		context.name = frame->function;
		context.module = SONDE_NONE;
		return sonde_intake_context(reader->intake, parent, &context, node, err);
	}
	if (frame->flags & PERFETTO_FRAME_HAS_ADDRESS &&
	    !(frame->flags & PERFETTO_FRAME_HAS_NAME)) {
		context.kind = SONDE_CONTEXT_INSTRUCTION;
		context.address = frame->address;
		return sonde_intake_context(reader->intake, parent, &context, node, err);
	}
	status = add_function(reader, process, frame, context.module, &context.function, err);
	context.module = SONDE_NONE;
	if (!status)
		status = sonde_intake_context(reader->intake, parent, &context, node, err);
	return status ? status : add_line(reader, frame, node, err);
}

/* The context of a stack in a process; those that it is part of are found out on the way. */
static enum sonde_status find_node(struct perfetto_reader *reader, uint32_t process, uint32_t stack,
				   uint32_t *node, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	reader->path.count = 0;
	while (stack && reader->stacks.items[stack].process != process) {
		uint32_t *place = sonde_vec_push(&reader->path);

		if (!place)
			return sonde_fail_nomem(err);
		*place = stack;
		stack = reader->stacks.items[stack].parent;
	}
	*node = stack ? reader->stacks.items[stack].node : 0;
	for (size_t i = reader->path.count; i && !status; i--) {
		struct perfetto_stack *inner = &reader->stacks.items[reader->path.items[i - 1]];

		status = add_context(reader, process, inner->frame, *node, node, err);
		inner->process = process;
		inner->node = *node;
	}
	return status;
}

static enum sonde_status need_metric(struct perfetto_reader *reader, struct sonde_error *err)
{
	struct sonde_definitions *definitions = reader->recording->definitions;
	struct sonde_metric metric = { 0 };
	enum sonde_status status = SONDE_OK;

	if (reader->metric != SONDE_NONE)
		return SONDE_OK;
	status = sonde_definitions_add_string(definitions, "SAMPLES", 7, &metric.name, err);
	if (!status)
		status = sonde_definitions_add_string(definitions, "point", 5, &metric.scope, err);
	if (!status)
		status = sonde_definitions_add_metric(definitions, &metric, &reader->metric, err);
	return status;
}

/* `iid` 0: nothing runs there. */
static enum sonde_status add_sample(struct perfetto_reader *reader,
				    const struct perfetto_sequence *sequence, uint32_t process,
				    uint32_t track, uint64_t time_ns, uint64_t iid,
				    struct sonde_error *err)
{
	uint32_t stack = perfetto_resolve(reader, sequence, PERFETTO_CALLSTACKS, iid), node = 0;
	enum sonde_status status;

	if (iid && stack == SONDE_NONE)
		return SONDE_OK;
	status = find_node(reader, process, iid ? stack : 0, &node, err);
	if (!status)
		status = sonde_intake_sample(reader->intake, track, time_ns, node, err);
	/* what we wrote says from when on a track is somewhere, not how often it was looked at */
	if (status || reader->is_ours || !node)
		return status;
	status = need_metric(reader, err);
	return status ? status :
			sonde_intake_value(reader->intake, track, node, reader->metric, 1, err);
}

enum sonde_status perfetto_take_sample(struct perfetto_reader *reader,
				       struct perfetto_sequence *sequence,
				       const struct perfetto_packet *packet, uint64_t time_ns,
				       struct sonde_error *err)
{
	struct sonde_bytes bytes = packet->content;
	struct sonde_protobuf_field field;
	uint64_t tid = 0, iid = 0;
	uint32_t pid = 0, process, track;
	enum sonde_status status;

	while (!(status = sonde_protobuf_next(&bytes, &field, err))) {
		if (field.number == SAMPLE_PID)
			pid = (uint32_t)field.value;
		else if (field.number == SAMPLE_TID)
			tid = field.value;
		else if (field.number == SAMPLE_CALLSTACK)
			iid = field.value;
	}
	if (status != SONDE_END)
		return status;
	if (!packet->has_timestamp) {
		reader->timeless++;
		return SONDE_OK;
	}
	/* without a stack it tells of losses and counters, where others wrote it */
	if (!iid && !reader->is_ours)
		return SONDE_OK;
	status = perfetto_thread(reader, pid, tid, &process, &track, err);
	return status ? status : add_sample(reader, sequence, process, track, time_ns, iid, err);
}

static enum sonde_status find_thread(struct perfetto_reader *reader,
				     const struct perfetto_sequence *sequence, uint32_t *process,
				     uint32_t *track, struct sonde_error *err)
{
	enum sonde_status status;
	uint32_t place;

	if (sequence->has_thread)
		return perfetto_thread(reader, sequence->pid, sequence->tid, process, track, err);
	status = perfetto_find_place(reader, sequence->track, &place, err);
	if (!status)
		status = perfetto_locate(reader, place, err);
	if (status)
		return status;
	*process = reader->places.items[place].process;
	*track = reader->places.items[place].track;
	return SONDE_OK;
}

/* Lists of stacks and of the times between them, from the packet's time or the thread's on. */
enum sonde_status perfetto_take_streaming(struct perfetto_reader *reader,
					  struct perfetto_sequence *sequence,
					  const struct perfetto_packet *packet,
					  struct sonde_error *err)
{
	struct sonde_bytes stacks = packet->content, deltas = packet->content;
	struct sonde_protobuf_field stack = { 0 }, delta = { 0 };
	size_t at_stack = 0, at_delta = 0;
	uint32_t process, track;
	uint64_t iid, step, time_ns;
	enum sonde_status status;

	time_ns = packet->has_timestamp ?
			  perfetto_time(reader, sequence, packet->clock, packet->timestamp) :
			  sequence->time_us * 1000;
	status = find_thread(reader, sequence, &process, &track, err);
	stack.bytes = delta.bytes = sonde_bytes_of(NULL, 0);
	while (!status) {
		while (stack.number != STREAMING_CALLSTACK ||
		       !perfetto_next_number(&stack, &at_stack, false, &iid)) {
			at_stack = 0;
			status = sonde_protobuf_next(&stacks, &stack, err);
			if (status)
				return status == SONDE_END ? SONDE_OK : status;
		}
		while (delta.number != STREAMING_DELTA_US ||
		       !perfetto_next_number(&delta, &at_delta, false, &step)) {
			at_delta = 0;
			status = sonde_protobuf_next(&deltas, &delta, err);
			if (status)
				return status == SONDE_END ? SONDE_OK : status;
		}
		time_ns += step * 1000;
		if (!packet->has_timestamp)
			sequence->time_us += step;
		status = add_sample(reader, sequence, process, track, time_ns, iid, err);
	}
	return status;
}
