/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the text of `perf script`: stacks become contexts; samples and values go to the intake. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"
#include "formats/perf_script/perf_script.h"

#define PASS_SIZE ((size_t)4 << 20)
#define PROBE_SIZE 16384
#define FRAMES_MOST ((size_t)1 << 20) /* of one stack */
/* The process of threads whose process is not in the text. */
#define NO_PROCESS UINT64_MAX

struct frame {
	uint32_t function;
	uint32_t file, line; /* where in it, or 0 */
	bool is_inlined;
};

/* What is measured for one event: how much, and how often. */
struct event_metrics {
	uint32_t amount, samples;
	double factor; /* of a period */
};

struct perf_script {
	struct sonde_recording *recording;
	struct sonde_intake *intake;
	struct sonde_mapped_file file;
	struct sonde_arena arena;
	struct sonde_text_map functions; /* process, symbol, module -> function */
	struct sonde_text_map modules;	 /* process, path */
	struct sonde_text_map events;	 /* name -> number of metrics */
	SONDE_VEC(struct event_metrics) metrics;
	struct sonde_buffer key;
	/* the sample that is being read */
	bool is_open;
	struct perf_sample sample;
	uint32_t process, track;
	SONDE_VEC(struct frame) frames; /* innermost first */
	struct perf_frame last;		/* waits for the line that may say where its source is */
	bool has_last;
	bool too_deep;
	uint64_t passed_over; /* lines of perf's own records */
};

/* The number that a key has in a map; SONDE_NONE, and a copy of the key to be added, where it has none. */
static uint32_t find_key(const struct perf_script *data, const struct sonde_text_map *map)
{
	return sonde_text_map_find(map, data->key.data, data->key.size);
}

static enum sonde_status add_key(struct perf_script *data, struct sonde_text_map *map,
				 uint32_t value, struct sonde_error *err)
{
	const char *copy = sonde_arena_copy_text(&data->arena, data->key.data, data->key.size);

	if (!copy || !sonde_text_map_add(map, copy, data->key.size, value))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

static enum sonde_status begin_key(struct perf_script *data, uint32_t number, struct perf_text text,
				   struct sonde_error *err)
{
	sonde_buffer_clear(&data->key);
	sonde_buffer_put(&data->key, &number, sizeof(number));
	sonde_buffer_put(&data->key, text.at, text.size);
	return data->key.failed ? sonde_fail_nomem(err) : SONDE_OK;
}

static enum sonde_status find_module(struct perf_script *data, struct perf_text path,
				     uint32_t *module, struct sonde_error *err)
{
	struct sonde_module made = { .process = data->process };
	enum sonde_status status;

	*module = SONDE_NONE;
	if (!path.size || (path.size == 9 && !memcmp(path.at, "[unknown]", 9)))
		return SONDE_OK;
	status = begin_key(data, data->process, path, err);
	if (status)
		return status;
	*module = find_key(data, &data->modules);
	if (*module != SONDE_NONE)
		return SONDE_OK;
	status = sonde_intake_string(data->intake, path.at, path.size, &made.path, err);
	if (!status)
		status = sonde_definitions_add_module(data->recording->definitions, &made, module,
						      err);
	if (!status)
		status = add_key(data, &data->modules, *module, err);
	return status;
}

static enum sonde_status define_function(struct perf_script *data, const struct perf_frame *frame,
					 uint32_t *function, struct sonde_error *err)
{
	struct sonde_function like = { .process = data->process };
	struct perf_text name = frame->symbol;
	enum sonde_status status = find_module(data, frame->module, &like.module, err);

	if (!name.size)
		name = (struct perf_text){ "[unknown]", 9 };
	if (!status)
		status = sonde_intake_function(data->intake, &like, name.at, name.size, function,
					       err);
	return status;
}

static enum sonde_status function_key(struct perf_script *data, struct sonde_error *err)
{
	enum sonde_status status = begin_key(data, data->process, data->last.symbol, err);

	if (status)
		return status;
	sonde_buffer_put_char(&data->key, '\0');
	sonde_buffer_put(&data->key, data->last.module.at, data->last.module.size);
	return data->key.failed ? sonde_fail_nomem(err) : SONDE_OK;
}

/* A function is known by its name and module. */
static enum sonde_status find_function(struct perf_script *data, uint32_t *function,
				       struct sonde_error *err)
{
	enum sonde_status status = function_key(data, err);

	if (status)
		return status;
	*function = find_key(data, &data->functions);
	if (*function != SONDE_NONE)
		return SONDE_OK;
	status = define_function(data, &data->last, function, err);
	if (!status)
		status = function_key(data, err);
	return status ? status : add_key(data, &data->functions, *function, err);
}

/* The frame that waits is whole; its source is empty where it is not known. */
static enum sonde_status push_frame(struct perf_script *data, struct perf_text file, uint32_t line,
				    struct sonde_error *err)
{
	struct frame made = { .line = line, .is_inlined = data->last.is_inlined };
	enum sonde_status status;
	struct frame *frame;

	if (!data->has_last)
		return SONDE_OK;
	data->has_last = false;
	if (data->frames.count >= FRAMES_MOST) {
		data->too_deep = true;
		return SONDE_OK;
	}
	status = find_function(data, &made.function, err);
	if (!status)
		status = sonde_intake_string(data->intake, file.at, file.size, &made.file, err);
	if (status)
		return status;
	frame = sonde_vec_push(&data->frames);
	if (!frame)
		return sonde_fail_nomem(err);
	*frame = made;
	return SONDE_OK;
}

static enum sonde_status add_metric(struct perf_script *data, struct perf_text event,
				    const char *behind, const char *description, uint32_t *metric,
				    struct sonde_error *err)
{
	struct sonde_metric made = { 0 };
	struct sonde_buffer name = { 0 };
	enum sonde_status status;

	sonde_buffer_put(&name, event.at, event.size);
	sonde_buffer_put_text(&name, behind);
	if (name.failed)
		status = sonde_fail_nomem(err);
	else
		status = sonde_intake_string(data->intake, name.data, name.size, &made.name, err);
	sonde_buffer_release(&name);
	if (!status)
		status = sonde_intake_string(data->intake, description, strlen(description),
					     &made.description, err);
	if (!status)
		status = sonde_intake_string(data->intake, "point", 5, &made.scope, err);
	if (!status)
		status = sonde_definitions_add_metric(data->recording->definitions, &made, metric,
						      err);
	return status;
}

static bool is_text(struct perf_text text, const char *other)
{
	return text.size == strlen(other) && !memcmp(text.at, other, text.size);
}

/* Clocks of perf count in ns. */
static bool is_clock(struct perf_text event)
{
	for (size_t i = 0; i < event.size; i++) {
		if (event.at[i] == ':')
			event.size = i;
	}
	return is_text(event, "cpu-clock") || is_text(event, "task-clock");
}

static enum sonde_status find_metrics(struct perf_script *data, struct event_metrics *metrics,
				      struct sonde_error *err)
{
	struct perf_text event = data->sample.event;
	bool clock = is_clock(event);
	enum sonde_status status;
	struct event_metrics *added;
	uint32_t number;

	status = begin_key(data, 0, event, err);
	if (status)
		return status;
	number = find_key(data, &data->events);
	if (number != SONDE_NONE) {
		*metrics = data->metrics.items[number];
		return SONDE_OK;
	}
	added = sonde_vec_push(&data->metrics);
	if (!added)
		return sonde_fail_nomem(err);
	*added = (struct event_metrics){ .amount = SONDE_NONE, .factor = clock ? 1e-9 : 1 };
	status = add_key(data, &data->events, (uint32_t)(data->metrics.count - 1), err);
	if (!status && data->sample.has_period)
		status = add_metric(data, event, clock ? " (sec)" : "", "sum of periods",
				    &added->amount, err);
	if (!status)
		status = add_metric(data, event, event.size ? " samples" : "samples",
				    "number of samples", &added->samples, err);
	*metrics = *added;
	return status;
}

static enum sonde_status add_values(struct perf_script *data, uint32_t node,
				    struct sonde_error *err)
{
	struct event_metrics metrics = { 0 };
	enum sonde_status status = find_metrics(data, &metrics, err);

	if (!status && metrics.amount != SONDE_NONE)
		status = sonde_intake_value(data->intake, data->track, node, metrics.amount,
					    (double)data->sample.period * metrics.factor, err);
	if (!status)
		status = sonde_intake_value(data->intake, data->track, node, metrics.samples, 1,
					    err);
	return status;
}

/* A function, and the line in it, below a node. */
static enum sonde_status add_frame(struct perf_script *data, const struct frame *frame,
				   uint32_t *node, struct sonde_error *err)
{
	struct sonde_context context = sonde_intake_frame(frame->function);
	struct sonde_context line = { .kind = SONDE_CONTEXT_LINE,
				      .relation = SONDE_CONTEXT_ENCLOSED,
				      .function = SONDE_NONE,
				      .module = SONDE_NONE,
				      .file = frame->file,
				      .line = frame->line };
	enum sonde_status status;

	if (frame->is_inlined)
		context.relation = SONDE_CONTEXT_INLINED;
	status = sonde_intake_context(data->intake, *node, &context, node, err);
	if (status || !frame->line)
		return status;
	return sonde_intake_context(data->intake, *node, &line, node, err);
}

/* The sample is whole. */
static enum sonde_status end_sample(struct perf_script *data, struct sonde_error *err)
{
	enum sonde_status status = push_frame(data, (struct perf_text){ 0 }, 0, err);
	uint32_t node = 0;

	if (status || !data->is_open)
		return status;
	data->is_open = false;
	if (!data->frames.count) {
		data->last = (struct perf_frame){ 0 };
		data->has_last = true;
		status = push_frame(data, (struct perf_text){ 0 }, 0, err);
	}
	for (size_t i = data->frames.count; !status && i > 0; i--)
		status = add_frame(data, &data->frames.items[i - 1], &node, err);
	if (!status)
		status = sonde_intake_sample(data->intake, data->track, data->sample.time_ns, node,
					     err);
	return status ? status : add_values(data, node, err);
}

/* Processes and threads have the name they had last. */
static enum sonde_status find_track(struct perf_script *data, struct sonde_error *err)
{
	const struct perf_sample *sample = &data->sample;
	uint64_t key = sample->pid == SONDE_NONE ? NO_PROCESS : sample->pid;
	enum sonde_status status = sonde_intake_process(data->intake, key, &data->process, err);
	struct sonde_process *process;
	uint32_t name;

	if (!status)
		status = sonde_intake_track(data->intake, data->process, sample->tid, &data->track,
					    err);
	if (!status)
		status = sonde_intake_string(data->intake, sample->comm.at, sample->comm.size,
					     &name, err);
	if (status)
		return status;
	sonde_intake_track_at(data->intake, data->track)->name = name;
	process = sonde_intake_process_at(data->intake, data->process);
	process->os = SONDE_OS_LINUX;
	if (!process->name || sample->pid == sample->tid)
		process->name = name;
	return SONDE_OK;
}

static enum sonde_status begin_sample(struct perf_script *data, const struct perf_sample *sample,
				      struct sonde_error *err)
{
	enum sonde_status status = end_sample(data, err);

	if (status)
		return status;
	if (perf_is_record(sample->rest)) {
		data->passed_over++;
		return SONDE_OK;
	}
	data->sample = *sample;
	data->frames.count = 0;
	status = find_track(data, err);
	data->is_open = !status;
	/* without a stack the only frame is in the same line; fields of a tracepoint are not one */
	if (!status && sample->rest.size && perf_parse_frame(sample->rest, &data->last))
		data->has_last = data->last.symbol.size && data->last.module.size;
	return status;
}

static void refuse_line(struct perf_script *data, struct perf_text line)
{
	EXCHANGE_FINDING(data->recording, RECORD,
			 (uint64_t)(line.at - (const char *)data->file.data),
			 "a sample or a frame of a stack\t%.*s",
			 (int)(line.size < 60 ? line.size : 60), line.at);
}

static enum sonde_status read_frame(struct perf_script *data, struct perf_text line,
				    struct sonde_error *err)
{
	enum sonde_status status = push_frame(data, (struct perf_text){ 0 }, 0, err);

	if (status)
		return status;
	if (!perf_parse_frame(line, &data->last)) {
		refuse_line(data, line);
		return SONDE_OK;
	}
	data->has_last = data->is_open;
	return SONDE_OK;
}

static enum sonde_status read_line(struct perf_script *data, struct perf_text line,
				   struct sonde_error *err)
{
	struct perf_sample sample;
	struct perf_text file = { 0 };
	uint32_t number = 0;

	if (!perf_trim(line).size)
		return end_sample(data, err);
	if (line.at[0] == '#')
		return SONDE_OK;
	if (line.at[0] == '\t')
		return read_frame(data, line, err);
	if (perf_parse_sample(line, &sample))
		return begin_sample(data, &sample, err);
	/* where the source of the frame before is, as far as that is known */
	if (data->has_last && line.size > 2 && !memcmp(line.at, "  ", 2)) {
		perf_parse_source(line, &file, &number);
		return push_frame(data, file, number, err);
	}
	refuse_line(data, line);
	return SONDE_OK;
}

static enum sonde_status read_lines(struct perf_script *data, struct sonde_error *err)
{
	const char *text = (const char *)data->file.data;
	enum sonde_status status = SONDE_OK;
	size_t at = 0, passed = 0;

	while (!status && at < data->file.size) {
		const char *end = memchr(text + at, '\n', data->file.size - at);
		size_t next = end ? (size_t)(end - text) : data->file.size;

		status = read_line(data, (struct perf_text){ text + at, next - at }, err);
		at = next + (end != NULL);
		/* the sample that is open has texts in the bytes before */
		if (at - passed >= 2 * PASS_SIZE) {
			sonde_mapped_file_pass(&data->file, passed, at - PASS_SIZE);
			passed = at - PASS_SIZE;
		}
	}
	if (!status)
		status = end_sample(data, err);
	if (data->too_deep)
		EXCHANGE_FINDING(data->recording, RECORD, SONDE_NO_OFFSET,
				 "stacks of at most %zu frames\tdeeper ones: the rest is left out",
				 FRAMES_MOST);
	if (data->passed_over)
		EXCHANGE_FINDING(data->recording, UNKNOWN, SONDE_NO_OFFSET,
				 "samples\t%" PRIu64 " records of perf about itself",
				 data->passed_over);
	return status;
}

static enum sonde_status define_clock(struct perf_script *data, struct sonde_error *err)
{
	struct sonde_clock clock = { .kind = SONDE_CLOCK_MONOTONIC };
	enum sonde_status status = sonde_intake_string(data->intake, "perf", 4, &clock.name, err);
	uint32_t id;

	if (status)
		return status;
	return sonde_definitions_add_clock(data->recording->definitions, &clock, &id, err);
}

static void release(struct perf_script *data)
{
	sonde_mapped_file_release(&data->file);
	sonde_arena_release(&data->arena);
	sonde_text_map_release(&data->functions);
	sonde_text_map_release(&data->modules);
	sonde_text_map_release(&data->events);
	sonde_vec_release(&data->metrics);
	sonde_vec_release(&data->frames);
	sonde_buffer_release(&data->key);
}

enum sonde_status perf_script_open(struct sonde_recording *recording, struct sonde_error *err)
{
	struct perf_script data = { .recording = recording };
	enum sonde_status status = sonde_mapped_file_open(&data.file, recording->path, err);

	if (status)
		return status;
	status = sonde_intake_new(recording, &data.intake, err);
	if (!status)
		status = define_clock(&data, err);
	if (!status)
		status = read_lines(&data, err);
	release(&data);
	if (!status)
		status = exchange_finish(recording, data.intake, err);
	if (status)
		sonde_intake_free(data.intake);
	return status;
}

/* A sample, and what makes it one of perf's: an event, or a stack below. */
static bool looks_right(struct perf_text text)
{
	struct perf_sample sample;
	struct perf_frame frame;

	while (text.size) {
		const char *end = memchr(text.at, '\n', text.size);
		struct perf_text line = { text.at, end ? (size_t)(end - text.at) : text.size };

		text.at += line.size + (end != NULL);
		text.size -= line.size + (end != NULL);
		if (!perf_trim(line).size || line.at[0] == '#')
			continue;
		if (line.at[0] == '\t' || !perf_parse_sample(line, &sample))
			return false;
		if (sample.event.size || perf_is_record(sample.rest))
			return true;
		return text.size && text.at[0] == '\t' && perf_parse_frame(text, &frame);
	}
	return false;
}

int perf_script_probe(const char *path)
{
	FILE *file = sonde_path_kind(path) == SONDE_PATH_FILE ? fopen(path, "rbe") : NULL;
	char *text = file ? malloc(PROBE_SIZE) : NULL;
	size_t got = text ? fread(text, 1, PROBE_SIZE, file) : 0;
	bool right = got && !memchr(text, '\0', got) &&
		     looks_right((struct perf_text){ text, got });

	if (file)
		fclose(file);
	free(text);
	return right ? 70 : 0;
}
