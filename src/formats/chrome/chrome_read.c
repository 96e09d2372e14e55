/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads Chrome trace JSON: the object form, the array form with or without its end, and events one after the
 * other. Here is the document around the events; what they mean is in chrome_read_events.c.
 */
#include "formats/chrome/chrome_read.h"

#include <inttypes.h>
#include <stdlib.h>

/* Of the file, or of its text where it is packed. */
#define PROBE_BYTES ((size_t)64 << 10)
#define LONGEST_KEY 128
/* Events that run on to the end of the file: after so many the rest is given up. */
#define MOST_RUNAWAYS 16
#define RESYNC_CONTEXT 64
#define CHROME_BEGINNING "beginningOfTime"

/* Reads the string at the position into `key`, cut where it is too long, and the colon behind it. */
static enum sonde_status read_key(struct chrome_source *source, char key[LONGEST_KEY],
				  struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	uint64_t start = chrome_source_at(source);
	size_t length;
	char byte;

	key[0] = '\0';
	if (!chrome_source_peek(source, &byte, &status, err))
		return status ? status :
				sonde_fail(err, SONDE_TRUNCATED, start, "expected a member");
	start = chrome_source_at(source);
	if (byte != '"')
		return sonde_fail(err, SONDE_CORRUPT, start, "expected the name of a member");
	status = chrome_source_skip(source, err);
	if (status)
		return status;
	length = (size_t)(chrome_source_at(source) - start) - 2;
	if (length < LONGEST_KEY) {
		memcpy(key, source->data + source->position - length - 1, length);
		key[length] = '\0';
	}
	if (!chrome_source_peek(source, &byte, &status, err))
		return status ? status :
				sonde_fail(err, SONDE_TRUNCATED, start, "expected a value");
	if (byte != ':')
		return sonde_fail(err, SONDE_CORRUPT, chrome_source_at(source), "expected a colon");
	source->position++;
	return chrome_source_peek(source, &byte, &status, err) || status ?
		       status :
		       sonde_fail(err, SONDE_TRUNCATED, start, "expected a value");
}

/* After an event that was none: to where the next one may begin. SONDE_END: nowhere. */
static enum sonde_status resync(struct chrome_source *source, size_t start, size_t bad,
				struct sonde_error *err)
{
	for (;;) {
		const char *end = source->data + source->size;
		const char *next =
			chrome_scan_resync(source->data + start, source->data + bad, end);
		enum sonde_status status;

		source->position = (size_t)(next - source->data);
		if (next < end)
			return SONDE_OK;
		status = chrome_source_more(source, err);
		if (status)
			return status;
		bad = source->position;
		start = bad > RESYNC_CONTEXT ? bad - RESYNC_CONTEXT : 0;
	}
}

/* The event at the position, which is a brace. SONDE_END: there is nothing more to be had. */
static enum sonde_status read_one(struct chrome_reader *reader, unsigned int *runaways,
				  struct sonde_error *err)
{
	struct chrome_source *source = &reader->source;
	enum sonde_status status;

	for (;;) {
		const char *place = source->data + source->position;
		enum chrome_scan result =
			chrome_scan_event(&place, source->data + source->size, &reader->event);
		size_t start = source->position, end = (size_t)(place - source->data);

		reader->event_offset = chrome_source_at(source);
		if (result == CHROME_SCAN_OK) {
			source->position = end;
			return chrome_read_event(reader, err);
		}
		if (result == CHROME_SCAN_BAD) {
			EXCHANGE_FINDING(reader->recording, RECORD, source->offset + end,
					 "an event as JSON\tsomething else in it");
			return resync(source, start, end, err);
		}
		status = chrome_source_more(source, err);
		if (status == SONDE_OK)
			continue;
		if (status != SONDE_END && status != SONDE_LIMIT)
			return status;
		EXCHANGE_FINDING(reader->recording, TRUNCATED, reader->event_offset,
				 "the end of an event\tthe end of the file");
		reader->is_cut = true;
		start = source->position;
		if (++*runaways > MOST_RUNAWAYS)
			return SONDE_END;
		return resync(source, start, start + 1, err);
	}
}

/* Events up to the end of their list, or of the file; *closed tells. In lines no bracket is the end. */
static enum sonde_status read_events(struct chrome_reader *reader, bool in_lines, bool *closed,
				     struct sonde_error *err)
{
	struct chrome_source *source = &reader->source;
	enum sonde_status status = SONDE_OK;
	unsigned int runaways = 0;
	char byte;

	*closed = false;
	while (chrome_source_peek(source, &byte, &status, err)) {
		if (byte == '{') {
			status = read_one(reader, &runaways, err);
			chrome_source_pass(source);
		} else if (byte == ',' || (in_lines && (byte == ']' || byte == '['))) {
			source->position++;
		} else if (byte == ']') {
			source->position++;
			*closed = true;
			return SONDE_OK;
		} else {
			EXCHANGE_FINDING(reader->recording, RECORD, chrome_source_at(source),
					 "an event\tsomething else");
			status = resync(source, source->position, source->position, err);
		}
		if (status)
			return status == SONDE_END ? SONDE_OK : status;
	}
	return status;
}

static enum sonde_status read_list(struct chrome_reader *reader, struct sonde_error *err)
{
	struct chrome_source *source = &reader->source;
	uint64_t start = chrome_source_at(source);
	bool closed;
	enum sonde_status status;

	if (source->data[source->position] != '[') {
		EXCHANGE_FINDING(reader->recording, RECORD, start,
				 "a list of events\tsomething else");
		return chrome_source_skip(source, err);
	}
	source->position++;
	status = read_events(reader, false, &closed, err);
	if (!status && !closed)
		return sonde_fail(err, SONDE_TRUNCATED, chrome_source_at(source),
				  "expected the end of the list of events, found that of the file");
	return status;
}

/* clang's: when its times begin, in microseconds since 1970. */
static enum sonde_status read_beginning(struct chrome_reader *reader, struct sonde_error *err)
{
	struct chrome_source *source = &reader->source;
	struct sonde_anchor anchor = { 0 };
	uint64_t start = chrome_source_at(source);
	struct chrome_moment moment = { 0 };
	size_t length;
	enum sonde_status status = chrome_read_attribute(reader, CHROME_BEGINNING, err);

	if (status)
		return status;
	length = (size_t)(chrome_source_at(source) - start);
	if (length > LONGEST_KEY ||
	    !chrome_moment_parse(source->data + source->position - length, length, &moment) ||
	    moment.is_bad || moment.is_negative)
		return SONDE_OK;
	anchor.realtime_ns = chrome_moment_ns(&moment);
	status = chrome_define_clock(reader, err);
	return status ? status :
			sonde_definitions_add_anchor(reader->recording->definitions, &anchor,
						     &(uint32_t){ 0 }, err);
}

static bool is_one_of(const char *key, const char *const *words)
{
	while (*words && strcmp(key, *words) != 0)
		words++;
	return *words;
}

/* What events have, and files do not. */
static const char *const event_keys[] = { "ph",	 "ts",	 "pid", "tid", "name",
					  "cat", "args", "dur", "id",  NULL };

/* A member of the object form. SONDE_END: the object is an event itself. */
static enum sonde_status read_member(struct chrome_reader *reader, bool may_be_event,
				     struct sonde_error *err)
{
	static const char *const passed_over[] = { "displayTimeUnit", "stackFrames", "samples",
						   "systemTraceEvents", NULL };
	uint64_t start = chrome_source_at(&reader->source);
	char key[LONGEST_KEY];
	enum sonde_status status = read_key(&reader->source, key, err);

	if (status)
		return status;
	if (may_be_event && is_one_of(key, event_keys))
		return SONDE_END;
	if (!strcmp(key, "traceEvents"))
		return read_list(reader, err);
	if (!strcmp(key, CHROME_OURS))
		return chrome_read_ours(reader, err);
	if (!strcmp(key, CHROME_BEGINNING))
		return read_beginning(reader, err);
	if (!is_one_of(key, passed_over))
		return chrome_read_attribute(reader, key, err);
	if (strcmp(key, "displayTimeUnit") != 0)
		EXCHANGE_FINDING(reader->recording, UNKNOWN, start, "events\t\"%s\"", key);
	return chrome_source_skip(&reader->source, err);
}

/* The object form, or an event that is the first of many lines. */
static enum sonde_status read_object(struct chrome_reader *reader, struct sonde_error *err)
{
	struct chrome_source *source = &reader->source;
	uint64_t start = chrome_source_at(source);
	enum sonde_status status = SONDE_OK;
	bool closed;
	char byte;

	source->position++;
	while (!status && chrome_source_peek(source, &byte, &status, err)) {
		if (byte == '}')
			return SONDE_OK;
		if (byte == ',') {
			source->position++;
			continue;
		}
		status = read_member(reader, !reader->events && start >= source->offset, err);
		if (status == SONDE_END && start >= source->offset) {
			source->position = (size_t)(start - source->offset);
			return read_events(reader, true, &closed, err);
		}
	}
	return status ? status :
			sonde_fail(err, SONDE_TRUNCATED, chrome_source_at(source),
				   "expected the end of the object, found that of the file");
}

static void skip_mark(struct chrome_source *source)
{
	static const char mark[] = "\xEF\xBB\xBF";

	if (source->size - source->position >= 3 &&
	    !memcmp(source->data + source->position, mark, 3))
		source->position += 3;
}

static enum sonde_status read_document(struct chrome_reader *reader, struct sonde_error *err)
{
	struct chrome_source *source = &reader->source;
	enum sonde_status status = SONDE_OK;
	bool closed;
	char byte;

	if (source->gzip)
		status = chrome_source_more(source, err);
	if (status && status != SONDE_END)
		return status;
	skip_mark(source);
	if (!chrome_source_peek(source, &byte, &status, err) || (byte != '{' && byte != '['))
		return status ? status :
				sonde_fail(err, SONDE_FORMAT, 0,
					   "expected an object or a list of events, found neither");
	if (byte == '{')
		return read_object(reader, err);
	source->position++;
	return read_events(reader, false, &closed, err);
}

/* What reading survives is a finding. */
static enum sonde_status survive(struct chrome_reader *reader, enum sonde_status status,
				 struct sonde_error *err)
{
	const struct chrome_source *source = &reader->source;

	if (status == SONDE_TRUNCATED && reader->is_cut)
		status = SONDE_OK; /* it was told already */
	if (status == SONDE_TRUNCATED)
		EXCHANGE_FINDING(reader->recording, TRUNCATED, chrome_source_at(source),
				 "a whole file\t%s", err->message);
	else if (status == SONDE_CORRUPT || status == SONDE_LIMIT)
		EXCHANGE_FINDING(reader->recording, RECORD, chrome_source_at(source),
				 "Chrome trace JSON\t%s", err->message);
	else if (status)
		return status;
	if (source->is_damaged)
		EXCHANGE_FINDING(reader->recording, TRUNCATED, source->damage.offset,
				 "gzip data up to its end\t%s", source->damage.message);
	return SONDE_OK;
}

static void report_count(struct chrome_reader *reader, uint64_t count, const char *what)
{
	if (count)
		EXCHANGE_FINDING(reader->recording, UNKNOWN, SONDE_NO_OFFSET,
				 "events that are known here\t%" PRIu64 " %s", count, what);
}

static void report_counts(struct chrome_reader *reader)
{
	const struct chrome_counts *counts = &reader->counts;
	char what[] = "of phase \"x\"";

	for (unsigned int phase = 1; phase < 256; phase++) {
		what[10] = phase >= ' ' && phase < 0x7F ? (char)phase : '?';
		report_count(reader, counts->phases[phase], what);
	}
	report_count(reader, counts->phases[0], "without a phase");
	report_count(reader, counts->metadata, "with other metadata than names");
	report_count(reader, counts->thread_clocks, "with times of a thread's clock (tts, tdur)");
	report_count(reader, counts->stacks, "with a stack (sf, stack)");
	report_count(reader, counts->categories,
		     "with a category that are no calls: it is not kept");
	if (counts->negative)
		EXCHANGE_FINDING(reader->recording, TIME, SONDE_NO_OFFSET,
				 "times from 0 on\t%" PRIu64 " below 0, which became 0",
				 counts->negative);
}

enum sonde_status chrome_define_clock(struct chrome_reader *reader, struct sonde_error *err)
{
	struct sonde_clock clock = { .kind = SONDE_CLOCK_UNKNOWN };

	if (sonde_definitions_clock_count(reader->recording->definitions))
		return SONDE_OK;
	return sonde_definitions_add_clock(reader->recording->definitions, &clock, &(uint32_t){ 0 },
					   err);
}

static void reader_free(struct chrome_reader *reader)
{
	for (size_t i = 0; i < reader->types.count; i++)
		sonde_signature_free(reader->types.items[i].signature);
	sonde_vec_release(&reader->types);
	sonde_vec_release(&reader->pids);
	sonde_vec_release(&reader->modules);
	sonde_vec_release(&reader->unnamed);
	sonde_buffer_release(&reader->text);
	sonde_buffer_release(&reader->shape);
	sonde_buffer_release(&reader->packed);
	chrome_names_release(&reader->names);
	chrome_source_release(&reader->source);
	sonde_intake_free(reader->intake);
	free(reader);
}

enum sonde_status chrome_open(struct sonde_recording *recording, struct sonde_error *err)
{
	struct chrome_reader *reader = calloc(1, sizeof(*reader));
	struct sonde_error fault = { 0 };
	enum sonde_status status;

	if (!reader)
		return sonde_fail_nomem(err);
	reader->recording = recording;
	status = chrome_source_open(&reader->source, recording->path, &fault);
	if (!status)
		status = sonde_intake_new(recording, &reader->intake, &fault);
	if (!status) {
		status = read_document(reader, &fault);
		status = survive(reader, status, &fault);
	}
	if (!status)
		status = chrome_define_clock(reader, &fault);
	if (!status) {
		report_counts(reader);
		status = exchange_finish(recording, reader->intake, &fault);
		reader->intake = status ? reader->intake : NULL;
	}
	if (status && err)
		*err = fault;
	reader_free(reader);
	return status;
}

/* How sure it is by the keys of the first event, or of the object around all of them. */
static int look(const char *data, size_t size)
{
	static const char *const others[] = { "displayTimeUnit",   "otherData",	      "stackFrames",
					      "systemTraceEvents", "beginningOfTime", NULL };
	struct sonde_json_reader json;
	int sure = 0;
	unsigned int level = 1;

	sonde_json_reader_init(&json, data, size, NULL, NULL);
	while (sure < 80 && !sonde_json_next(&json, NULL) && json.token != SONDE_JSON_END) {
		if (json.token == SONDE_JSON_ARRAY_BEGIN && !json.depth)
			level = 2;
		if (json.token == SONDE_JSON_OBJECT_END && json.depth < level)
			break; /* of the first event: it had none of the keys */
		if (json.token != SONDE_JSON_KEY || json.depth != level)
			continue;
		if (level == 1 && (!strcmp(json.text, "traceEvents") ||
				   (sure && !strcmp(json.text, CHROME_OURS))))
			sure = 95;
		else if (!strcmp(json.text, "ph"))
			sure = level == 2 ? 90 : 85;
		else if (level == 1 && is_one_of(json.text, others))
			sure = 40;
	}
	sonde_json_reader_release(&json);
	return sure;
}

int chrome_probe(const char *path)
{
	struct chrome_source source;
	int sure = 0;
	size_t size;

	if (sonde_path_kind(path) != SONDE_PATH_FILE || chrome_source_open(&source, path, NULL))
		return 0;
	if (source.gzip)
		(void)chrome_source_more(&source, NULL);
	skip_mark(&source);
	size = source.size - source.position;
	if (size)
		sure = look(source.data + source.position, size < PROBE_BYTES ? size : PROBE_BYTES);
	chrome_source_release(&source);
	return sure;
}
