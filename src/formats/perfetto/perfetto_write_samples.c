/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples with their stacks. A frame is what is called, with the line and the address that lie innermost in
 * it; frames and stacks are interned by the number of their context when they are first met in a sequence.
 */
#include <stdlib.h>

#include "formats/perfetto/perfetto_write.h"

/* Each stack is written as a whole: without an end, deep recursion would grow by its square. */
#define DEEPEST 2048
/* Lines, loops and instructions around each other that are looked at; programs have a few. */
#define MOST_ENCLOSED 256

static const char *string(const struct perfetto_writer *writer, uint32_t id)
{
	return sonde_definitions_string(writer->definitions, id);
}

/* What a frame tells, gathered from a context and what it lies in. */
struct frame {
	const struct sonde_context *called; /* a function, an entry, or an instruction */
	uint32_t file, line;
	uint32_t module;
	uint64_t address;
};

static bool lies_in_parent(const struct sonde_context *context)
{
	return context->relation == SONDE_CONTEXT_ENCLOSED && context->parent;
}

enum sonde_status perfetto_take_contexts(struct perfetto_writer *writer,
					 const struct sonde_context *contexts, uint32_t count,
					 struct sonde_error *err)
{
	writer->contexts = contexts;
	writer->context_count = count;
	writer->called = calloc((size_t)count + 1, sizeof(*writer->called));
	writer->has_sample = calloc((size_t)count + 1, sizeof(_Atomic bool));
	if (!writer->called || !writer->has_sample)
		return sonde_fail_nomem(err);
	for (uint32_t i = 1; i < count; i++)
		writer->called[i] =
			lies_in_parent(&contexts[i]) ? writer->called[contexts[i].parent] : i;
	return SONDE_OK;
}

/* What it lies in too: where that is so already, the rest is as well. */
static void take_sampled(const struct perfetto_writer *writer, uint32_t number)
{
	while (number &&
	       !atomic_exchange_explicit(&writer->has_sample[number], true, memory_order_relaxed))
		number = writer->contexts[number].parent;
}

void perfetto_count_contexts(const struct perfetto_writer *writer, uint64_t *losses)
{
	for (uint32_t i = 1; i < writer->context_count; i++) {
		unsigned int kind = writer->contexts[i].kind;

		if (!atomic_load_explicit(&writer->has_sample[i], memory_order_relaxed))
			losses[PERFETTO_LOSS_UNSAMPLED]++;
		else if (kind == SONDE_CONTEXT_LOOP ||
			 (kind == SONDE_CONTEXT_INSTRUCTION && writer->called[i] != i))
			losses[PERFETTO_LOSS_LOOPS]++;
	}
}

static struct frame gather_frame(const struct perfetto_writer *writer, uint32_t number)
{
	const struct sonde_context *context = &writer->contexts[number];
	struct frame frame = { .called = &writer->contexts[writer->called[number]],
			       .module = SONDE_NONE };

	for (unsigned int i = 0; i < MOST_ENCLOSED;
	     i++, context = &writer->contexts[context->parent]) {
		bool has_address = context->module != SONDE_NONE && context->address;

		if (!frame.line && context->kind == SONDE_CONTEXT_LINE) {
			frame.file = context->file;
			frame.line = context->line;
		}
		if (frame.module == SONDE_NONE && has_address) {
			frame.module = context->module;
			frame.address = context->address;
		}
		if (context == frame.called)
			break;
	}
	return frame;
}

static void intern_module(const struct perfetto_writer *writer, struct perfetto_track *track,
			  uint32_t number)
{
	const struct sonde_module *module = sonde_definitions_module(writer->definitions, number);
	size_t start;

	if (!module || !perfetto_bits_add(&track->modules, number, &track->failed))
		return;
	perfetto_intern_text(track, INTERNED_MAPPING_PATH, (uint64_t)number + 1,
			     string(writer, module->path));
	start = sonde_protobuf_begin(&track->interned, INTERNED_MAPPING);
	sonde_protobuf_put_uint(&track->interned, IID, (uint64_t)number + 1);
	sonde_protobuf_put_uint(&track->interned, MAPPING_PATH, (uint64_t)number + 1);
	sonde_protobuf_end(&track->interned, start);
}

static void intern_source(const struct perfetto_writer *writer, struct perfetto_track *track,
			  uint32_t file)
{
	if (file && perfetto_bits_add(&track->sources, file, &track->failed))
		perfetto_intern_text(track, INTERNED_SOURCE_PATH, (uint64_t)file + 1,
				     string(writer, file));
}

/* Entries have even numbers, by their names; functions odd ones. 0: no name. */
static uint64_t intern_called(const struct perfetto_writer *writer, struct perfetto_track *track,
			      const struct sonde_context *context)
{
	char space[SONDE_LABEL_SIZE];
	uint64_t iid;

	if (context->kind == SONDE_CONTEXT_ENTRY) {
		iid = 2 * (uint64_t)context->name + 2;
		if (perfetto_bits_add(&track->functions, iid, &track->failed))
			perfetto_intern_text(track, INTERNED_FUNCTION_NAME, iid,
					     string(writer, context->name));
		return iid;
	}
	if (context->kind != SONDE_CONTEXT_FUNCTION || context->function == SONDE_NONE)
		return 0;
	perfetto_use_function(writer, context->function);
	iid = 2 * (uint64_t)context->function + 1;
	if (perfetto_bits_add(&track->functions, iid, &track->failed))
		perfetto_intern_text(track, INTERNED_FUNCTION_NAME, iid,
				     sonde_definitions_function_label(writer->definitions,
								      context->function, space));
	return iid;
}

/* Where a function begins: the line of a frame is where it is left. */
static void put_place(struct sonde_buffer *out, const struct sonde_function *function,
		      bool is_whole)
{
	if (function->file)
		sonde_protobuf_put_uint(out, FRAME_OWN_FILE, (uint64_t)function->file + 1);
	if (function->line)
		sonde_protobuf_put_uint(out, FRAME_OWN_LINE, function->line);
	if (is_whole)
		sonde_protobuf_put_uint(out, FRAME_OWN_WHOLE, 1);
}

static void intern_frame(const struct perfetto_writer *writer, struct perfetto_track *track,
			 uint32_t number)
{
	struct frame frame;
	const struct sonde_function *function;
	struct sonde_buffer *out = &track->interned;
	uint64_t name;
	bool is_whole;
	size_t start;

	if (!perfetto_bits_add(&track->frames, number, &track->failed))
		return;
	frame = gather_frame(writer, number);
	function = sonde_definitions_function(writer->definitions, frame.called->function);
	if (function && frame.module == SONDE_NONE && function->module != SONDE_NONE) {
		frame.module = function->module;
		frame.address = function->address;
	}
	is_whole = function && !frame.line;
	if (is_whole) {
		frame.file = function->file;
		frame.line = function->line;
	}
	name = intern_called(writer, track, frame.called);
	intern_module(writer, track, frame.module);
	intern_source(writer, track, frame.file);
	if (function)
		intern_source(writer, track, function->file);
	start = sonde_protobuf_begin(out, INTERNED_FRAME);
	sonde_protobuf_put_uint(out, IID, (uint64_t)number + 1);
	if (name)
		sonde_protobuf_put_uint(out, FRAME_FUNCTION, name);
	if (frame.module != SONDE_NONE)
		sonde_protobuf_put_uint(out, FRAME_MAPPING, (uint64_t)frame.module + 1);
	if (frame.module != SONDE_NONE || frame.called->kind == SONDE_CONTEXT_INSTRUCTION)
		sonde_protobuf_put_uint(out, FRAME_ADDRESS, frame.address);
	if (frame.file)
		sonde_protobuf_put_uint(out, FRAME_SOURCE, (uint64_t)frame.file + 1);
	if (frame.line)
		sonde_protobuf_put_uint(out, FRAME_LINE, frame.line);
	if (frame.called->kind == SONDE_CONTEXT_ENTRY)
		sonde_protobuf_put_uint(out, FRAME_OWN_ENTRY, (uint64_t)frame.called->entry + 1);
	if (frame.called->relation == SONDE_CONTEXT_INLINED)
		sonde_protobuf_put_uint(out, FRAME_OWN_INLINED, 1);
	if (function)
		put_place(out, function, is_whole);
	sonde_protobuf_end(out, start);
}

/* The contexts that end a frame, innermost first. */
static void find_path(const struct perfetto_writer *writer, struct perfetto_track *track,
		      uint32_t number)
{
	track->path.count = 0;
	while (number) {
		uint32_t *place;

		if (track->path.count == DEEPEST) {
			track->losses[PERFETTO_LOSS_DEPTH]++;
			return;
		}
		place = sonde_vec_push(&track->path);
		if (!place) {
			track->failed = true;
			return;
		}
		*place = number;
		number = writer->contexts[writer->called[number]].parent;
	}
}

static void intern_callstack(const struct perfetto_writer *writer, struct perfetto_track *track,
			     uint32_t number)
{
	size_t start;

	if (!perfetto_bits_add(&track->callstacks, number, &track->failed))
		return;
	take_sampled(writer, number);
	find_path(writer, track, number);
	for (size_t i = track->path.count; i; i--)
		intern_frame(writer, track, track->path.items[i - 1]);
	start = sonde_protobuf_begin(&track->interned, INTERNED_CALLSTACK);
	sonde_protobuf_put_uint(&track->interned, IID, (uint64_t)number + 1);
	for (size_t i = track->path.count; i; i--)
		sonde_protobuf_put_uint(&track->interned, CALLSTACK_FRAME,
					(uint64_t)track->path.items[i - 1] + 1);
	sonde_protobuf_end(&track->interned, start);
	perfetto_put_interned(track);
}

enum sonde_status perfetto_write_samples(struct perfetto_writer *writer, uint32_t number,
					 const struct sonde_sample *samples, size_t count,
					 struct sonde_error *err)
{
	struct perfetto_track *track = writer->tracks[number];
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < count && !status; i++) {
		uint32_t context = samples[i].context;
		size_t packet, sample;

		if (context >= writer->context_count)
			return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
					  "context %u, but there are %u", context,
					  writer->context_count);
		if (context)
			intern_callstack(writer, track, context);
		packet = perfetto_packet_begin(track);
		sonde_protobuf_put_uint(&track->out, PACKET_TIMESTAMP, samples[i].time_ns);
		sample = sonde_protobuf_begin(&track->out, PACKET_PERF_SAMPLE);
		sonde_protobuf_put_uint(&track->out, SAMPLE_PID, track->pid);
		sonde_protobuf_put_uint(&track->out, SAMPLE_TID, track->tid);
		if (context)
			sonde_protobuf_put_uint(&track->out, SAMPLE_CALLSTACK,
						(uint64_t)context + 1);
		sonde_protobuf_end(&track->out, sample);
		sonde_protobuf_end(&track->out, packet);
		status = perfetto_flush(writer, number, false, err);
	}
	return status;
}
