/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans events: strings by sixteen bytes at a time where the processor can, members by the length and the letters
 * of their keys. What the members mean is the business of chrome_read_events.c.
 */
#include "formats/chrome/chrome_scan.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* More in an event is nonsense, and would not fit the lengths here. */
#define LONGEST_TEXT ((size_t)1 << 30)

/* Where an event is being scanned. */
struct scan {
	const char *at, *end;
};

/* The next quote or backslash; `end` where there is none. */
static const char *find_quote(const char *at, const char *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');

	while (end - at >= 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)at);
		int found = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote),
							   _mm_cmpeq_epi8(bytes, backslash)));

		if (found)
			return at + __builtin_ctz((unsigned int)found);
		at += 16;
	}
#endif
	while (at < end && *at != '"' && *at != '\\')
		at++;
	return at;
}

static inline void skip_spaces(struct scan *scan)
{
	while (scan->at < scan->end &&
	       (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\r' || *scan->at == '\t'))
		scan->at++;
}

/* A string whose first quote is next. */
static enum chrome_scan scan_text(struct scan *scan, struct chrome_text *text)
{
	const char *start = ++scan->at, *at = find_quote(start, scan->end);

	text->has_escapes = false;
	while (at < scan->end && *at == '\\') {
		text->has_escapes = true;
		if (scan->end - at < 2)
			return CHROME_SCAN_ENDED;
		at = find_quote(at + 2, scan->end);
	}
	if (at >= scan->end)
		return CHROME_SCAN_ENDED;
	if ((size_t)(at - start) > LONGEST_TEXT)
		return CHROME_SCAN_BAD;
	text->text = start;
	text->length = (uint32_t)(at - start);
	scan->at = at + 1;
	return CHROME_SCAN_OK;
}

/* An object or array whose first bracket is next: only quotes and brackets are looked at. */
static enum chrome_scan scan_nested(struct scan *scan, struct chrome_text *text)
{
	const char *start = scan->at;
	struct chrome_text ignored;
	size_t depth = 0;

	for (; scan->at < scan->end; scan->at++) {
		char byte = *scan->at;

		if (byte == '"') {
			enum chrome_scan result = scan_text(scan, &ignored);

			if (result)
				return result;
			scan->at--;
		} else if (byte == '{' || byte == '[') {
			depth++;
		} else if ((byte == '}' || byte == ']') && !--depth) {
			scan->at++;
			if ((size_t)(scan->at - start) > LONGEST_TEXT)
				return CHROME_SCAN_BAD;
			*text = (struct chrome_text){ .text = start,
						      .length = (uint32_t)(scan->at - start) };
			return CHROME_SCAN_OK;
		}
	}
	return CHROME_SCAN_ENDED;
}

static bool is_number_byte(char byte)
{
	return (byte >= '0' && byte <= '9') || byte == '-' || byte == '+' || byte == '.' ||
	       byte == 'e' || byte == 'E';
}

/* The bytes of a number; what they are worth is looked at later. */
static enum chrome_scan scan_number(struct scan *scan, struct chrome_text *text)
{
	const char *start = scan->at;

	while (scan->at < scan->end && is_number_byte(*scan->at))
		scan->at++;
	if (scan->at == scan->end)
		return CHROME_SCAN_ENDED;
	if (scan->at == start || scan->at - start > UINT16_MAX)
		return CHROME_SCAN_BAD;
	*text = (struct chrome_text){ .text = start, .length = (uint32_t)(scan->at - start) };
	return CHROME_SCAN_OK;
}

/* Whole numbers are INT64 where they fit, else ANY, as they stand; others FLOAT64. */
static void take_number(struct chrome_value *value)
{
	const char *at = value->text.text, *end = at + value->text.length;
	bool is_negative = *at == '-', fits = true;
	int64_t number = 0;

	value->kind = CHROME_KIND_FLOAT64;
	at += is_negative;
	if (at == end)
		return;
	for (; at < end; at++) {
		int digit = *at - '0';

		if (digit < 0 || digit > 9)
			return;
		fits = fits && !__builtin_mul_overflow(number, 10, &number) &&
		       !__builtin_add_overflow(number, digit, &number);
	}
	value->kind = fits ? CHROME_KIND_INT64 : CHROME_KIND_ANY;
	value->integer = is_negative ? -number : number;
}

static enum chrome_scan scan_word(struct scan *scan, const char *word, size_t length)
{
	size_t left = (size_t)(scan->end - scan->at);

	if (memcmp(scan->at, word, left < length ? left : length) != 0)
		return CHROME_SCAN_BAD;
	scan->at += left < length ? left : length;
	return left < length ? CHROME_SCAN_ENDED : CHROME_SCAN_OK;
}

/* Any value. */
static enum chrome_scan scan_value(struct scan *scan, struct chrome_value *value)
{
	const char *start = scan->at;
	enum chrome_scan result;

	if (scan->at == scan->end)
		return CHROME_SCAN_ENDED;
	switch (*start) {
	case '"':
		value->kind = CHROME_KIND_TEXT;
		return scan_text(scan, &value->text);
	case '{':
	case '[':
		value->kind = CHROME_KIND_ANY;
		return scan_nested(scan, &value->text);
	case 't':
	case 'f':
		value->kind = CHROME_KIND_BOOL;
		value->integer = *start == 't';
		result = *start == 't' ? scan_word(scan, "true", 4) : scan_word(scan, "false", 5);
		break;
	case 'n':
		value->kind = CHROME_KIND_ANY;
		result = scan_word(scan, "null", 4);
		break;
	default:
		result = scan_number(scan, &value->text);
		if (!result)
			take_number(value);
		return result;
	}
	value->text = (struct chrome_text){ .text = start, .length = (uint32_t)(scan->at - start) };
	return result;
}

/* A key and its colon; the value is next. */
static enum chrome_scan scan_key(struct scan *scan, struct chrome_text *key)
{
	enum chrome_scan result;

	skip_spaces(scan);
	if (scan->at == scan->end)
		return CHROME_SCAN_ENDED;
	if (*scan->at != '"')
		return CHROME_SCAN_BAD;
	result = scan_text(scan, key);
	if (result)
		return result;
	skip_spaces(scan);
	if (scan->at == scan->end)
		return CHROME_SCAN_ENDED;
	if (*scan->at != ':')
		return CHROME_SCAN_BAD;
	scan->at++;
	skip_spaces(scan);
	return scan->at == scan->end ? CHROME_SCAN_ENDED : CHROME_SCAN_OK;
}

/* Behind a value: true where another member follows, after its comma. */
static enum chrome_scan scan_separator(struct scan *scan, bool *more)
{
	skip_spaces(scan);
	if (scan->at == scan->end)
		return CHROME_SCAN_ENDED;
	if (*scan->at != ',' && *scan->at != '}')
		return CHROME_SCAN_BAD;
	*more = *scan->at++ == ',';
	return CHROME_SCAN_OK;
}

/* Behind the '{' of an object: whether it has members at all. */
static enum chrome_scan scan_first(struct scan *scan, bool *more)
{
	skip_spaces(scan);
	if (scan->at == scan->end)
		return CHROME_SCAN_ENDED;
	*more = *scan->at != '}';
	scan->at += !*more;
	return CHROME_SCAN_OK;
}

static enum chrome_scan scan_members(struct scan *scan, struct chrome_member *members, size_t room,
				     size_t *count)
{
	struct chrome_member ignored;
	enum chrome_scan result;
	bool more = false;

	*count = 0;
	scan->at++;
	result = scan_first(scan, &more);
	while (!result && more) {
		struct chrome_member *member = *count < room ? &members[*count] : &ignored;

		result = scan_key(scan, &member->key);
		if (!result)
			result = scan_value(scan, &member->value);
		if (!result)
			result = scan_separator(scan, &more);
		++*count;
	}
	return result;
}

enum chrome_scan chrome_scan_members(const char **place, const char *end,
				     struct chrome_member *members, size_t room, size_t *count)
{
	struct scan scan = { *place, end };
	enum chrome_scan result = scan_members(&scan, members, room, count);

	*place = scan.at;
	return result;
}

bool chrome_scan_item(const char *place, const char *end, struct chrome_value *value)
{
	struct scan scan = { place, end };
	const char *start;

	skip_spaces(&scan);
	while (end > scan.at && (unsigned char)end[-1] <= ' ')
		end--;
	start = scan.at;
	if (start == end || end - start > UINT16_MAX)
		return false;
	if (is_number_byte(*start)) {
		for (const char *at = start; at < end; at++) {
			if (!is_number_byte(*at))
				return false;
		}
		value->text =
			(struct chrome_text){ .text = start, .length = (uint32_t)(end - start) };
		take_number(value);
		return true;
	}
	scan.end = end;
	return *start >= 'a' && scan_value(&scan, value) == CHROME_SCAN_OK && scan.at == end;
}

static enum chrome_scan scan_arguments(struct scan *scan, struct chrome_event *event)
{
	struct chrome_value other;
	const char *start = scan->at;
	enum chrome_scan result;
	size_t count;

	if (*start != '{') /* null, or what has no meaning here */
		return scan_value(scan, &other);
	result = scan_members(scan, event->argument_list, CHROME_MOST_ARGUMENTS, &count);
	if (result)
		return result;
	if ((size_t)(scan->at - start) > LONGEST_TEXT)
		return CHROME_SCAN_BAD;
	event->argument_count = count > CHROME_MOST_ARGUMENTS ? CHROME_MOST_ARGUMENTS + 1 : count;
	event->arguments =
		(struct chrome_text){ .text = start, .length = (uint32_t)(scan->at - start) };
	return CHROME_SCAN_OK;
}

/* Times may stand in quotes. */
static enum chrome_scan scan_moment(struct scan *scan, struct chrome_moment *moment)
{
	struct chrome_value other;
	enum chrome_scan result = scan_value(scan, &other);

	if (result || (other.kind == CHROME_KIND_ANY && *other.text.text == 'n'))
		return result;
	if (!chrome_moment_parse(other.text.text, other.text.length, moment))
		moment->is_there = moment->is_bad = true;
	return CHROME_SCAN_OK;
}

/* A member that must be a string to be looked at. */
static enum chrome_scan scan_text_member(struct scan *scan, struct chrome_text *text)
{
	struct chrome_value other;
	enum chrome_scan result;

	if (*scan->at == '"')
		return scan_text(scan, text);
	result = scan_value(scan, &other);
	if (!result && other.kind != CHROME_KIND_ANY)
		*text = other.text; /* a number for a name */
	return result;
}

static enum chrome_scan scan_object_member(struct scan *scan, struct chrome_text *text)
{
	struct chrome_value other;
	enum chrome_scan result = scan_value(scan, &other);

	if (!result && other.kind == CHROME_KIND_ANY && *other.text.text == '{')
		*text = other.text;
	return result;
}

static enum chrome_scan scan_phase(struct scan *scan, char *phase)
{
	struct chrome_text text;
	enum chrome_scan result;

	if (*scan->at != '"')
		return CHROME_SCAN_BAD;
	result = scan_text(scan, &text);
	if (!result)
		*phase = text.length == 1 ? *text.text : '?';
	return result;
}

static enum chrome_scan scan_flag(struct scan *scan, bool *flag)
{
	struct chrome_value other;
	enum chrome_scan result = scan_value(scan, &other);

	*flag = !result && other.kind == CHROME_KIND_BOOL && other.integer;
	return result;
}

#define IS(word) (!memcmp(key.text, word, sizeof(word) - 1))

/* Members whose keys are longer, and seldom. */
static enum chrome_scan scan_long_member(struct scan *scan, struct chrome_text key,
					 struct chrome_event *event)
{
	struct chrome_value other;

	if (key.length == 4 && IS("tdur"))
		event->has_thread_clock = true;
	else if (key.length == 5 && IS("scope"))
		return scan_text_member(scan, &event->scope);
	else if (key.length == 5 && IS("stack"))
		event->has_stack = true;
	else if (key.length == 7 && IS("bind_id"))
		return scan_value(scan, &event->bind_id);
	else if (key.length == 7 && IS("flow_in"))
		return scan_flag(scan, &event->flow_in);
	else if (key.length == 8 && IS("flow_out"))
		return scan_flag(scan, &event->flow_out);
	return scan_value(scan, &other);
}

static enum chrome_scan scan_member(struct scan *scan, struct chrome_text key,
				    struct chrome_event *event)
{
	struct chrome_value other;

	switch (key.length) {
	case 2:
		if (IS("ph"))
			return scan_phase(scan, &event->phase);
		if (IS("ts"))
			return scan_moment(scan, &event->start);
		if (IS("id"))
			return scan_value(scan, &event->id);
		if (IS("at"))
			return scan_object_member(scan, &event->at);
		event->has_stack |= IS("sf");
		break;
	case 3:
		if (IS("pid"))
			return scan_value(scan, &event->pid);
		if (IS("tid"))
			return scan_value(scan, &event->tid);
		if (IS("dur"))
			return scan_moment(scan, &event->duration);
		if (IS("cat"))
			return scan_text_member(scan, &event->category);
		if (IS("id2"))
			return scan_object_member(scan, &event->id2);
		event->has_thread_clock |= IS("tts");
		break;
	case 4:
		if (IS("name"))
			return scan_text_member(scan, &event->name);
		if (IS("args"))
			return scan_arguments(scan, event);
		if (IS("type"))
			return scan_value(scan, &event->type);
		return scan_long_member(scan, key, event);
	case 5:
	case 7:
	case 8:
		return scan_long_member(scan, key, event);
	default:
		break;
	}
	return scan_value(scan, &other);
}

#undef IS

enum chrome_scan chrome_scan_event(const char **place, const char *end, struct chrome_event *event)
{
	struct scan scan = { *place + 1, end };
	enum chrome_scan result;
	struct chrome_text key;
	bool more = false;

	/* all but the list, which is long and has a count */
	memset(event, 0, offsetof(struct chrome_event, argument_list));
	result = scan_first(&scan, &more);
	while (!result && more) {
		result = scan_key(&scan, &key);
		if (!result)
			result = scan_member(&scan, key, event);
		if (!result)
			result = scan_separator(&scan, &more);
	}
	*place = scan.at;
	return result;
}

/* A line that begins with '{', or a '{' behind a '}' and a comma. */
const char *chrome_scan_resync(const char *start, const char *place, const char *end)
{
	const char *brace = place;

	while (brace < end && (brace = memchr(brace, '{', (size_t)(end - brace)))) {
		const char *before = brace;

		while (before > start && (before[-1] == ' ' || before[-1] == '\t'))
			before--;
		if (before > start && before[-1] == '\n')
			return brace;
		while (before > start && (before[-1] == ',' || before[-1] == ' '))
			before--;
		if (before > start && before < brace && before[-1] == '}')
			return brace;
		brace++;
	}
	return end;
}
