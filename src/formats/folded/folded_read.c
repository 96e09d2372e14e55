/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks as all the stackcollapse programs write them: a stack, a blank, a number. Lines are read as a
 * stream, plain or packed; what a line has in common with the one before is not looked up again.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/vec.h"
#include "codec/packed_file.h"
#include "formats/exchange.h"
#include "formats/folded/folded.h"
#include "formats/folded/folded_line.h"
#include "model/call_tree.h"
#include "model/metric.h"

#define LONGEST_LINE ((size_t)64 << 20)
#define PROBE_SIZE 4096

/* A frame of the line before: where its name ends there, and its context. */
struct level {
	size_t end;
	uint32_t node;
};

struct reading {
	struct sonde_recording *recording;
	struct sonde_intake *intake;
	struct sonde_packed_file file;
	struct sonde_buffer line; /* the start of a line that goes on in the next piece */
	struct sonde_buffer last; /* the stack before */
	SONDE_VEC(struct level) levels;
	uint32_t track, metric;
	bool has_metric;
	double scale; /* numbers are multiplied by it */
	/* `skips`: the line is too long, and goes on */
	bool skips;
	uint64_t line_number, bad_lines, first_bad, long_lines;
};

/* The last blank, and a number behind it: with a sign and a fraction, but no exponent. */
static bool split_line(const char *line, size_t size, size_t *stack_size, double *count)
{
	size_t start = size, digits = 0;
	bool has_point = false;
	char text[64];

	while (start && line[start - 1] != ' ' && line[start - 1] != '\t')
		start--;
	if (!start || size - start >= sizeof(text))
		return false;
	for (size_t i = start; i < size; i++) {
		if (isdigit((unsigned char)line[i]))
			digits++;
		else if (line[i] == '.' && !has_point)
			has_point = true;
		else if (line[i] != '-' || i != start)
			return false;
	}
	if (!digits)
		return false;
	memcpy(text, line + start, size - start);
	text[size - start] = '\0';
	*count = strtod(text, NULL);
	*stack_size = start - 1; /* a name may end in blanks of its own */
	return *stack_size > 0;
}

static unsigned int entry_of(const char *name, size_t size)
{
	static const unsigned int entries[] = { SONDE_ENTRY_MAIN_THREAD,
						SONDE_ENTRY_APPLICATION_THREAD };

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		const char *known = sonde_entry_name(entries[i]);

		if (strlen(known) == size && !memcmp(known, name, size))
			return entries[i];
	}
	return SONDE_ENTRY_UNKNOWN;
}

static enum sonde_status define_metric(struct reading *reading, const char *name, size_t size,
				       struct sonde_error *err)
{
	struct sonde_definitions *definitions = reading->recording->definitions;
	struct sonde_metric metric = { 0 };
	enum sonde_status status;
	double ns;

	status = sonde_intake_string(reading->intake, name, size, &metric.name, err);
	if (!status)
		status = sonde_definitions_add_string(definitions, "point", 5, &metric.scope, err);
	if (!status)
		status = sonde_definitions_add_metric(definitions, &metric, &reading->metric, err);
	if (status)
		return status;
	ns = sonde_metric_ns(sonde_definitions_string(definitions, metric.name), "");
	reading->scale = ns > 0 ? ns : 1;
	reading->has_metric = true;
	return SONDE_OK;
}

/* Stacks below an entry are of sonde, which writes times in nanoseconds where it says nothing else. */
static enum sonde_status need_metric(struct reading *reading, const char *stack, size_t size,
				     struct sonde_error *err)
{
	const char *end = memchr(stack, ';', size);
	const char *name = FOLDED_SAMPLES;

	if (reading->has_metric)
		return SONDE_OK;
	if (entry_of(stack, end ? (size_t)(end - stack) : size) != SONDE_ENTRY_UNKNOWN)
		name = SONDE_METRIC_TIME;
	return define_metric(reading, name, strlen(name), err);
}

/* "# metric: CPUTIME (sec) in ns" */
static enum sonde_status take_comment(struct reading *reading, const char *line, size_t size,
				      struct sonde_error *err)
{
	size_t start = strlen(FOLDED_METRIC), end = strlen(FOLDED_IN_NS);

	if (reading->has_metric || size <= start || memcmp(line, FOLDED_METRIC, start) != 0)
		return SONDE_OK;
	if (size - start > end && !memcmp(line + size - end, FOLDED_IN_NS, end))
		size -= end;
	return define_metric(reading, line + start, size - start, err);
}

/* How many frames of the last stack this one begins with. */
static size_t common_levels(const struct reading *reading, const char *stack, size_t size)
{
	size_t shorter = size < reading->last.size ? size : reading->last.size, same = 0, count;

	while (same < shorter && stack[same] == reading->last.data[same])
		same++;
	for (count = reading->levels.count; count; count--) {
		size_t end = reading->levels.items[count - 1].end;

		if (end <= same && (end == size || stack[end] == ';'))
			break;
	}
	return count;
}

static enum sonde_status add_frame(struct reading *reading, uint32_t parent, const char *name,
				   size_t size, uint32_t *node, struct sonde_error *err)
{
	const struct sonde_function like = { .module = SONDE_NONE };
	unsigned int entry = parent ? SONDE_ENTRY_UNKNOWN : entry_of(name, size);
	struct sonde_context context;
	enum sonde_status status;
	uint32_t function = SONDE_NONE;

	if (entry == SONDE_ENTRY_UNKNOWN) {
		status = sonde_intake_function(reading->intake, &like, name, size, &function, err);
		context = sonde_intake_frame(function);
	} else {
		context = (struct sonde_context){
			.function = SONDE_NONE,
			.module = SONDE_NONE,
			.kind = SONDE_CONTEXT_ENTRY,
			.relation = SONDE_CONTEXT_CALLED,
			.entry = (uint8_t)entry,
		};
		status = sonde_intake_string(reading->intake, name, size, &context.name, err);
	}
	return status ? status : sonde_intake_context(reading->intake, parent, &context, node, err);
}

static enum sonde_status find_stack(struct reading *reading, const char *stack, size_t size,
				    uint32_t *node, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	size_t at = 0;

	reading->levels.count = common_levels(reading, stack, size);
	*node = 0;
	if (reading->levels.count) {
		const struct level *level = &reading->levels.items[reading->levels.count - 1];

		*node = level->node;
		at = level->end + 1;
	}
	sonde_buffer_clear(&reading->last);
	sonde_buffer_put(&reading->last, stack, size);
	if (reading->last.failed)
		return sonde_fail_nomem(err);
	/* a stack that ends in ';' has a last frame without a name */
	while (!status && at <= size && (at < size || stack[size - 1] == ';')) {
		const char *end = memchr(stack + at, ';', size - at);
		size_t length = end ? (size_t)(end - (stack + at)) : size - at;
		struct level *level;

		status = add_frame(reading, *node, stack + at, length, node, err);
		level = sonde_vec_push(&reading->levels);
		if (!level)
			return sonde_fail_nomem(err);
		*level = (struct level){ .end = at + length, .node = *node };
		at += length + 1;
	}
	return status;
}

static enum sonde_status take_line(struct reading *reading, const char *line, size_t size,
				   struct sonde_error *err)
{
	size_t stack_size;
	uint32_t node;
	double count;
	enum sonde_status status;

	reading->line_number++;
	while (size && (line[size - 1] == '\r' || line[size - 1] == ' '))
		size--;
	if (!size)
		return SONDE_OK;
	if (*line == '#')
		return take_comment(reading, line, size, err);
	if (!split_line(line, size, &stack_size, &count)) {
		if (!reading->bad_lines++)
			reading->first_bad = reading->line_number;
		return SONDE_OK;
	}
	status = need_metric(reading, line, stack_size, err);
	if (!status)
		status = find_stack(reading, line, stack_size, &node, err);
	if (!status && count != 0)
		status = sonde_intake_value(reading->intake, reading->track, node, reading->metric,
					    count / reading->scale, err);
	return status;
}

/* Adds a piece to the line that is not over; too long a one is left out. */
static enum sonde_status keep(struct reading *reading, const char *data, size_t size,
			      struct sonde_error *err)
{
	if (reading->skips)
		return SONDE_OK;
	if (reading->line.size + size > LONGEST_LINE) {
		reading->skips = true;
		reading->long_lines++;
		sonde_buffer_clear(&reading->line);
		return SONDE_OK;
	}
	sonde_buffer_put(&reading->line, data, size);
	return reading->line.failed ? sonde_fail_nomem(err) : SONDE_OK;
}

static enum sonde_status end_line(struct reading *reading, const char *data, size_t size,
				  struct sonde_error *err)
{
	enum sonde_status status;

	if (!reading->line.size && !reading->skips)
		return take_line(reading, data, size, err);
	status = keep(reading, data, size, err);
	if (!status && !reading->skips)
		status = take_line(reading, reading->line.data, reading->line.size, err);
	reading->skips = false;
	sonde_buffer_clear(&reading->line);
	return status;
}

static enum sonde_status take_piece(struct reading *reading, const char *data, size_t size,
				    struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (size && !status) {
		const char *end = memchr(data, '\n', size);

		if (!end)
			return keep(reading, data, size, err);
		status = end_line(reading, data, (size_t)(end - data), err);
		size -= (size_t)(end - data) + 1;
		data = end + 1;
	}
	return status;
}

static enum sonde_status take_lines(struct reading *reading, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (!status) {
		struct sonde_error trouble = { 0 };
		const uint8_t *data;
		size_t size;

		if (sonde_packed_file_next(&reading->file, &data, &size, &trouble) < 0) {
			if (trouble.status == SONDE_NOMEM)
				return sonde_fail_nomem(err);
			EXCHANGE_FINDING(reading->recording, TRUNCATED,
					 sonde_packed_file_position(&reading->file),
					 "a whole gzip file\t%s", trouble.message);
			break;
		}
		if (!size)
			break;
		status = take_piece(reading, (const char *)data, size, err);
	}
	if (!status && (reading->line.size || reading->skips))
		status = end_line(reading, "", 0, err);
	return status;
}

static enum sonde_status read_all(struct reading *reading, struct sonde_error *err)
{
	uint32_t process;
	enum sonde_status status = sonde_intake_process(reading->intake, 0, &process, err);

	if (!status)
		status = sonde_intake_track(reading->intake, process, 0, &reading->track, err);
	if (status)
		return status;
	sonde_intake_process_at(reading->intake, process)->os_id = SONDE_NONE;
	sonde_intake_track_at(reading->intake, reading->track)->os_id = UINT64_MAX;
	status = take_lines(reading, err);
	if (!status && !reading->has_metric)
		status = define_metric(reading, FOLDED_SAMPLES, strlen(FOLDED_SAMPLES), err);
	if (status)
		return status;
	if (reading->bad_lines)
		EXCHANGE_FINDING(reading->recording, RECORD, SONDE_NO_OFFSET,
				 "a stack, a blank and a number\t%" PRIu64
				 " lines without, the first of them line %" PRIu64,
				 reading->bad_lines, reading->first_bad);
	if (reading->long_lines)
		EXCHANGE_FINDING(reading->recording, RECORD, SONDE_NO_OFFSET,
				 "lines of at most 64 MB\t%" PRIu64 " that are longer",
				 reading->long_lines);
	return SONDE_OK;
}

enum sonde_status folded_open(struct sonde_recording *recording, struct sonde_error *err)
{
	struct reading reading = { .recording = recording };
	enum sonde_status status = sonde_packed_file_open(&reading.file, recording->path, err);

	if (!status)
		status = sonde_intake_new(recording, &reading.intake, err);
	if (!status)
		status = read_all(&reading, err);
	if (!status) {
		status = exchange_finish(recording, reading.intake, err);
		/* it is the recording's now, unless that failed */
		if (!status)
			reading.intake = NULL;
	}
	sonde_intake_free(reading.intake);
	sonde_packed_file_release(&reading.file);
	sonde_buffer_release(&reading.line);
	sonde_buffer_release(&reading.last);
	sonde_vec_release(&reading.levels);
	return status;
}

/* Of whole lines: how many are stacks; -1 where one is something else. */
static int count_stacks(const char *text, size_t size, bool *has_frames)
{
	int count = 0;

	while (size) {
		const char *end = memchr(text, '\n', size);
		size_t length = end ? (size_t)(end - text) : size, stack_size;
		double number;

		if (length && text[length - 1] == '\r')
			length--;
		if (length && *text != '#') {
			if (!split_line(text, length, &stack_size, &number))
				return -1;
			*has_frames = *has_frames || memchr(text, ';', stack_size);
			count++;
		}
		if (!end)
			break;
		size -= (size_t)(end - text) + 1;
		text = end + 1;
	}
	return count;
}

int folded_probe(const char *path)
{
	char text[PROBE_SIZE];
	size_t size = sonde_packed_file_peek(path, text, sizeof(text));
	bool has_frames = false;
	int count;

	if (!size || memchr(text, 0, size))
		return 0;
	if (size >= strlen(FOLDED_METRIC) && !memcmp(text, FOLDED_METRIC, strlen(FOLDED_METRIC)))
		return 90;
	if (size == sizeof(text)) { /* the last line may go on behind what was looked at */
		const char *end = memrchr(text, '\n', size);

		if (!end) /* one line longer than that: frames are all there is to see */
			return memchr(text, ';', size) && *text != '{' && *text != '[' ? 20 : 0;
		size = (size_t)(end - text);
	}
	count = count_stacks(text, size, &has_frames);
	/* lines of a word and a number may be anything */
	return count > 0 && has_frames ? 60 : 0;
}
