/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans events: strings by sixteen bytes at a time where the processor can, members by the length and the letters
 * of their keys. What the members mean is the business of chrome_read_events.c.
 */
#include "formats/chrome/chrome_scan.h"

#include <endian.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* More in an event is nonsense, and would not fit the lengths here. */
#define LONGEST_TEXT ((size_t)1 << 30)
/* So many digits always fit a number of 64 bits. */
#define SAFE_DIGITS 18
/* A time of fewer bytes fits when it is counted in nanoseconds. */
#define MOMENT_LONGEST 16

/* Where an event is being scanned. */
struct scan {
	const char *at, *end;
};

/* The next quote or backslash; `end` where there is none. */
static inline const char *find_quote(const char *at, const char *end)
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

/* Whether these `length` bytes, of which there is room for CHROME_LAYOUT_BYTES in both places, are the same. */
static inline bool is_same(const char *at, const char *text, size_t length)
{
#ifdef __SSE2__
	const __m128i here = _mm_loadu_si128((const __m128i *)at);
	const __m128i before = _mm_loadu_si128((const __m128i *)text);
	const unsigned int same = (unsigned int)_mm_movemask_epi8(_mm_cmpeq_epi8(here, before));
	const unsigned int wanted = (1U << length) - 1;

	return (same & wanted) == wanted;
#else
	return !memcmp(at, text, length);
#endif
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

static inline bool is_number_byte(char byte)
{
	static const bool number_bytes[256] = {
		['0' ... '9'] = true, ['-'] = true, ['+'] = true,
		['.'] = true,	      ['e'] = true, ['E'] = true,
	};

	return number_bytes[(unsigned char)byte];
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
	for (size_t i = 0; at < end; at++, i++) {
		int digit = *at - '0';

		if (digit < 0 || digit > 9)
			return;
		if (i < SAFE_DIGITS)
			number = number * 10 + digit;
		else
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

/* A whole number of a few digits, and something behind it; false where it is more than that. */
static inline bool scan_plain_integer(struct scan *scan, struct chrome_value *value)
{
	const char *start = scan->at, *at = start, *end = scan->end;
	int64_t number = 0;

	if (end - at > SAFE_DIGITS)
		end = at + SAFE_DIGITS;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (*at - '0');
	if (at == start || at == end || is_number_byte(*at))
		return false;
	value->kind = CHROME_KIND_INT64;
	value->integer = number;
	value->text = (struct chrome_text){ .text = start, .length = (uint32_t)(at - start) };
	scan->at = at;
	return true;
}

/* Any value. */
static enum chrome_scan scan_value(struct scan *scan, struct chrome_value *value)
{
	const char *start = scan->at;
	enum chrome_scan result;

	if (scan->at == scan->end)
		return CHROME_SCAN_ENDED;
	if (scan_plain_integer(scan, value))
		return CHROME_SCAN_OK;
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
	struct chrome_member ignored = { 0 };
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

/* Eight digits at once, where all are digits: pairs are added up, then pairs of these, then both halves. */
static inline bool take_eight(const char *at, uint64_t *number)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	word = le64toh(word);
	if (((word & UINT64_C(0xF0F0F0F0F0F0F0F0)) |
	     ((word + UINT64_C(0x0606060606060606)) & UINT64_C(0xF0F0F0F0F0F0F0F0)) >> 4) !=
	    UINT64_C(0x3333333333333333))
		return false;
	word &= UINT64_C(0x0F0F0F0F0F0F0F0F);
	word = (word * 10 + (word >> 8)) & UINT64_C(0x00FF00FF00FF00FF);
	word = (word * 100 + (word >> 16)) & UINT64_C(0x0000FFFF0000FFFF);
	*number = (word & UINT32_MAX) * 10000 + (word >> 32);
	return true;
}

/* Digits with up to three places, and something behind them; false where it is more than that. */
static inline bool scan_plain_moment(struct scan *scan, struct chrome_moment *moment)
{
	const char *at = scan->at, *end = scan->end, *start = at;
	uint64_t us = 0;
	uint32_t ns = 0;

	if (end - at > MOMENT_LONGEST)
		end = at + MOMENT_LONGEST;
	if (end - at > 8 && take_eight(at, &us))
		at += 8;
	for (; at < end && *at >= '0' && *at <= '9'; at++)
		us = us * 10 + (uint64_t)(*at - '0');
	if (at == start || at == end)
		return false;
	if (*at == '.') {
		static const uint32_t units[] = { 100, 10, 1 };

		at++;
		for (size_t i = 0; i < 3 && at < end && *at >= '0' && *at <= '9'; at++, i++)
			ns += (uint32_t)(*at - '0') * units[i];
	}
	if (at == end || is_number_byte(*at))
		return false;
	*moment = (struct chrome_moment){ .ns = us * 1000 + ns, .is_there = true };
	scan->at = at;
	return true;
}

/* Times may stand in quotes. */
static enum chrome_scan scan_moment(struct scan *scan, struct chrome_moment *moment)
{
	struct chrome_value other;
	enum chrome_scan result;

	if (scan_plain_moment(scan, moment))
		return CHROME_SCAN_OK;
	result = scan_value(scan, &other);
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
	if (scan->end - scan->at > 3 && scan->at[2] == '"' && scan->at[1] != '\\') {
		*phase = scan->at[1];
		scan->at += 3;
		return CHROME_SCAN_OK;
	}
	result = scan_text(scan, &text);
	if (!result)
		*phase = text.length == 1 ? *text.text : '?';
	return result;
}

static inline enum chrome_scan scan_id(struct scan *scan, struct chrome_known_id *known,
				       struct chrome_value *value)
{
	const char *start = scan->at;
	bool has_room = scan->end - start > CHROME_LAYOUT_BYTES;
	enum chrome_scan result;

	if (has_room && known->length && is_same(start, known->text, known->length + (size_t)1)) {
		value->kind = CHROME_KIND_INT64;
		value->integer = known->integer;
		value->text = (struct chrome_text){ .text = start, .length = known->length };
		scan->at += known->length;
		return CHROME_SCAN_OK;
	}
	result = scan_value(scan, value);
	known->length = 0;
	if (!result && has_room && value->kind == CHROME_KIND_INT64 &&
	    value->text.length < CHROME_LAYOUT_BYTES) {
		known->length = (uint8_t)value->text.length;
		known->integer = value->integer;
		memcpy(known->text, start, CHROME_LAYOUT_BYTES);
	}
	return result;
}

static enum chrome_scan scan_flag(struct scan *scan, bool *flag)
{
	struct chrome_value other;
	enum chrome_scan result = scan_value(scan, &other);

	*flag = !result && other.kind == CHROME_KIND_BOOL && other.integer;
	return result;
}

/* X(name, key) */
#define FIELD_LIST(X)                                                                              \
	X(PHASE, "ph")                                                                             \
	X(START, "ts")                                                                             \
	X(ID, "id")                                                                                \
	X(AT, "at")                                                                                \
	X(FRAME, "sf")                                                                             \
	X(PID, "pid")                                                                              \
	X(TID, "tid")                                                                              \
	X(DURATION, "dur")                                                                         \
	X(CATEGORY, "cat")                                                                         \
	X(ID2, "id2")                                                                              \
	X(THREAD_START, "tts")                                                                     \
	X(NAME, "name")                                                                            \
	X(ARGUMENTS, "args")                                                                       \
	X(TYPE, "type")                                                                            \
	X(THREAD_DURATION, "tdur")                                                                 \
	X(SCOPE, "scope")                                                                          \
	X(STACK, "stack")                                                                          \
	X(BIND_ID, "bind_id")                                                                      \
	X(FLOW_IN, "flow_in")                                                                      \
	X(FLOW_OUT, "flow_out")

enum field {
	FIELD_OTHER,
#define X(name, key) FIELD_##name,
	FIELD_LIST(X)
#undef X
};

static enum field find_field(struct chrome_text key)
{
	static const struct {
		const char *key;
		size_t length;
	} fields[] = {
#define X(name, key) { key, sizeof(key) - 1 },
		FIELD_LIST(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].length == key.length && !memcmp(fields[i].key, key.text, key.length))
			return (enum field)(i + 1);
	}
	return FIELD_OTHER;
}

/* The value of a member. */
static enum chrome_scan scan_field(struct scan *scan, enum field field, struct chrome_event *event)
{
	struct chrome_value other;

	switch (field) {
	case FIELD_PHASE:
		return scan_phase(scan, &event->phase);
	case FIELD_START:
		return scan_moment(scan, &event->start);
	case FIELD_DURATION:
		return scan_moment(scan, &event->duration);
	case FIELD_PID:
		return scan_id(scan, &event->known_pid, &event->pid);
	case FIELD_TID:
		return scan_id(scan, &event->known_tid, &event->tid);
	case FIELD_ID:
		return scan_value(scan, &event->id);
	case FIELD_BIND_ID:
		return scan_value(scan, &event->bind_id);
	case FIELD_TYPE:
		return scan_value(scan, &event->type);
	case FIELD_NAME:
		return scan_text_member(scan, &event->name);
	case FIELD_CATEGORY:
		return scan_text_member(scan, &event->category);
	case FIELD_SCOPE:
		return scan_text_member(scan, &event->scope);
	case FIELD_ARGUMENTS:
		return scan_arguments(scan, event);
	case FIELD_AT:
		return scan_object_member(scan, &event->at);
	case FIELD_ID2:
		return scan_object_member(scan, &event->id2);
	case FIELD_FLOW_IN:
		return scan_flag(scan, &event->flow_in);
	case FIELD_FLOW_OUT:
		return scan_flag(scan, &event->flow_out);
	case FIELD_THREAD_START:
	case FIELD_THREAD_DURATION:
		event->has_thread_clock = true;
		break;
	case FIELD_FRAME:
	case FIELD_STACK:
		event->has_stack = true;
		break;
	case FIELD_OTHER:
		break;
	}
	return scan_value(scan, &other);
}

/* Whether what stood before a member of the last event stands here too: then its value is next. */
static inline bool scan_expected(struct scan *scan, const struct chrome_layout *layout,
				 size_t number, enum field *field)
{
	size_t length;

	if (number >= CHROME_LAYOUT_MEMBERS || scan->end - scan->at <= CHROME_LAYOUT_BYTES)
		return false;
	length = layout->members[number].length;
	if (!length || !is_same(scan->at, layout->members[number].text, length))
		return false;
	*field = (enum field)layout->members[number].field;
	scan->at += length;
	if ((unsigned char)*scan->at <= ' ')
		skip_spaces(scan);
	return scan->at < scan->end;
}

static void expect(struct chrome_layout *layout, size_t number, const char *from, const char *to,
		   enum field field)
{
	size_t length = (size_t)(to - from);

	if (number >= CHROME_LAYOUT_MEMBERS)
		return;
	if (length > CHROME_LAYOUT_BYTES)
		length = 0;
	memcpy(layout->members[number].text, from, length);
	layout->members[number].length = (uint8_t)length;
	layout->members[number].field = (uint8_t)field;
}

/* What is next in an event: another member, whose value is next then, or its end. */
static enum chrome_scan scan_next(struct scan *scan, struct chrome_layout *layout, size_t number,
				  enum field *field, bool *more)
{
	const char *start = scan->at;
	struct chrome_text key;
	enum chrome_scan result;

	*more = true;
	if (scan_expected(scan, layout, number, field))
		return CHROME_SCAN_OK;
	scan->at = start;
	result = number ? scan_separator(scan, more) : scan_first(scan, more);
	if (result || !*more)
		return result;
	result = scan_key(scan, &key);
	if (result)
		return result;
	*field = find_field(key);
	expect(layout, number, start, scan->at, *field);
	return CHROME_SCAN_OK;
}

/* What tells whether members were there: clearing all of an event takes longer than scanning a call. */
static inline void forget(struct chrome_event *event)
{
	static const struct chrome_text none;

	event->phase = '\0';
	event->has_thread_clock = event->has_stack = event->flow_in = event->flow_out = false;
	event->pid.kind = event->tid.kind = event->type.kind = CHROME_KIND_NONE;
	event->id.kind = event->bind_id.kind = CHROME_KIND_NONE;
	event->id.text = event->name = event->category = event->scope = none;
	event->id2.text = event->at.text = event->arguments.text = NULL;
	event->start.is_there = event->duration.is_there = false;
	event->argument_count = 0;
}

enum chrome_scan chrome_scan_event(const char **place, const char *end, struct chrome_event *event)
{
	struct scan scan = { *place + 1, end };
	enum field field = FIELD_OTHER;
	enum chrome_scan result;
	bool more;

	forget(event);
	for (size_t number = 0;; number++) {
		result = scan_next(&scan, &event->layout, number, &field, &more);
		if (result || !more)
			break;
		result = scan_field(&scan, field, event);
		if (result)
			break;
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
