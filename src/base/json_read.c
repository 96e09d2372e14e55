/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON reader. Memory and stream run through the same code: `input` is the whole document or
 * a window of it, and the text of a token is collected in `scratch` piece by piece, so that no
 * token has to lie in one window. Numbers are checked here, and converted by who wants them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/json.h"
#include "base/utf8.h"

#define WINDOW ((size_t)64 << 10)
#define TEXT_LIMIT ((size_t)16 << 20)

/* What may come next. */
enum state {
	STATE_START,	  /* of the document: a byte order mark may stand here */
	STATE_VALUE,	  /* a value */
	STATE_FIRST_ITEM, /* a value, or the end of the array */
	STATE_FIRST_KEY,  /* a key, or the end of the object */
	STATE_KEY,	  /* a key, after a comma */
	STATE_COLON,	  /* a colon and a value */
	STATE_AFTER,	  /* a comma or an end, or nothing more outside of everything */
};

/* Bytes that end a run of plain characters in a string. */
static const bool ends_run[256] = {
	[0 ... 0x1F] = true,
	['"'] = true,
	['\\'] = true,
	[0x80 ... 0xFF] = true,
};

void sonde_json_reader_init(struct sonde_json_reader *reader, const char *data, size_t size,
			    sonde_json_refill *refill, void *user)
{
	*reader = (struct sonde_json_reader){
		.input = data,
		.input_size = data ? size : 0,
		.refill = data ? NULL : refill,
		.user = user,
		.text_limit = TEXT_LIMIT,
		.depth_limit = SONDE_JSON_DEPTH,
		.state = STATE_START,
	};
}

void sonde_json_reader_release(struct sonde_json_reader *reader)
{
	free(reader->window);
	reader->window = NULL;
	sonde_buffer_release(&reader->scratch);
}

void sonde_json_reader_borrow(struct sonde_json_reader *reader)
{
	if (reader->refill || reader->window)
		return;
	reader->borrows = true;
	reader->text_limit = SIZE_MAX / 2; /* the document is longer than any text in it */
}

bool sonde_json_is_borrowed(const struct sonde_json_reader *reader)
{
	return reader->borrows && reader->text >= reader->input &&
	       reader->text < reader->input + reader->input_size;
}

void sonde_json_seek(struct sonde_json_reader *reader, uint64_t offset)
{
	if (reader->refill || reader->window)
		return;
	reader->input_position = offset < reader->input_size ? offset : reader->input_size;
	reader->open = 0;
	reader->state = STATE_VALUE;
	reader->error.status = SONDE_OK;
}

static uint64_t here(const struct sonde_json_reader *reader)
{
	return reader->input_offset + reader->input_position;
}

static bool refill_window(struct sonde_json_reader *reader)
{
	struct sonde_error *err = &reader->error;
	enum sonde_status status;
	size_t got = 0;

	if (!reader->window)
		reader->window = malloc(WINDOW);
	if (!reader->window) {
		sonde_fail_nomem(err);
		return false;
	}
	reader->input_offset += reader->input_size;
	reader->input = reader->window;
	reader->input_size = reader->input_position = 0;
	status = reader->refill(reader->user, reader->window, WINDOW, &got, err);
	if (status < 0) {
		if (err->status != status)
			sonde_fail(err, status, here(reader), "the input could not be read");
		return false;
	}
	err->status = SONDE_OK;
	if (status == SONDE_END || !got)
		reader->refill = NULL;
	reader->input_size = status == SONDE_END ? 0 : got;
	return reader->input_size > 0;
}

/* Whether there is a byte at input[input_position]; false at the end and after a failure. */
static inline bool fill(struct sonde_json_reader *reader)
{
	if (reader->input_position < reader->input_size)
		return true;
	return reader->refill && reader->error.status >= 0 && refill_window(reader);
}

/* The byte that comes next; only after fill(). */
static inline unsigned char peek(const struct sonde_json_reader *reader)
{
	return (unsigned char)reader->input[reader->input_position];
}

/* What to return where fill() was false and the document must go on. */
static enum sonde_status ended(struct sonde_json_reader *reader, const char *expected)
{
	if (reader->error.status < 0)
		return reader->error.status;
	return sonde_fail(&reader->error, SONDE_TRUNCATED, here(reader),
			  "the JSON document ends where %s was expected", expected);
}

static enum sonde_status unexpected(struct sonde_json_reader *reader, const char *expected)
{
	unsigned char found = peek(reader);

	if (found > ' ' && found < 0x7F)
		return sonde_fail(&reader->error, SONDE_CORRUPT, here(reader),
				  "JSON: %s was expected, '%c' was found", expected, found);
	return sonde_fail(&reader->error, SONDE_CORRUPT, here(reader),
			  "JSON: %s was expected, byte 0x%02x was found", expected, found);
}

/* Takes one byte that must be there. */
static enum sonde_status take(struct sonde_json_reader *reader, unsigned char *byte,
			      const char *expected)
{
	if (!fill(reader))
		return ended(reader, expected);
	*byte = peek(reader);
	reader->input_position++;
	return SONDE_OK;
}

/* Adds to the token's text, with a NUL after it that is not counted. */
static enum sonde_status put(struct sonde_json_reader *reader, const char *text, size_t length)
{
	char *place;

	if (length > reader->text_limit - reader->scratch.size)
		return sonde_fail(&reader->error, SONDE_LIMIT, reader->offset,
				  "JSON: a text is longer than %zu bytes", reader->text_limit);
	place = sonde_buffer_reserve(&reader->scratch, length + 1);
	if (!place)
		return sonde_fail_nomem(&reader->error);
	memcpy(place, text, length);
	place[length] = '\0';
	reader->scratch.size += length;
	return SONDE_OK;
}

static enum sonde_status put_code_point(struct sonde_json_reader *reader, uint32_t code_point)
{
	char space[4];

	if (!code_point && !reader->keeps_nul)
		code_point = 0xFFFD;
	return put(reader, space, sonde_utf8_encode(code_point, space));
}

static enum sonde_status read_hex4(struct sonde_json_reader *reader, uint32_t *code)
{
	*code = 0;
	for (unsigned int i = 0; i < 4; i++) {
		int digit;

		if (!fill(reader))
			return ended(reader, "a hexadecimal digit");
		digit = sonde_hex_digit(peek(reader));
		if (digit < 0)
			return unexpected(reader, "a hexadecimal digit");
		*code = *code << 4 | (unsigned int)digit;
		reader->input_position++;
	}
	return SONDE_OK;
}

/* An escape of one letter, which was taken already. */
static enum sonde_status read_short_escape(struct sonde_json_reader *reader, unsigned char letter)
{
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	const char *found = letter ? strchr(letters, letter) : NULL;

	if (found)
		return put(reader, &meanings[found - letters], 1);
	return sonde_fail(&reader->error, SONDE_CORRUPT, here(reader) - 1,
			  "JSON: after a backslash one of \"\\/bfnrtu was expected, "
			  "byte 0x%02x was found",
			  letter);
}

/* An escape after its backslash. Half of a surrogate pair without the other is U+FFFD. */
static enum sonde_status read_escape(struct sonde_json_reader *reader)
{
	enum sonde_status status;
	unsigned char letter = 0;
	uint32_t code, low;

	status = take(reader, &letter, "an escape");
	if (status < 0)
		return status;
	if (letter != 'u')
		return read_short_escape(reader, letter);
	status = read_hex4(reader, &code);
	while (status >= 0 && code >= 0xD800 && code <= 0xDBFF) {
		if (!fill(reader) || peek(reader) != '\\')
			break;
		reader->input_position++;
		status = take(reader, &letter, "an escape");
		if (status >= 0 && letter != 'u') {
			status = put_code_point(reader, code);
			return status < 0 ? status : read_short_escape(reader, letter);
		}
		if (status >= 0)
			status = read_hex4(reader, &low);
		if (status < 0)
			return status;
		if (low >= 0xDC00 && low <= 0xDFFF)
			return put_code_point(reader,
					      0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00));
		status = put_code_point(reader, code);
		code = low;
	}
	return status < 0 ? status : put_code_point(reader, code);
}

static enum sonde_status not_utf8(struct sonde_json_reader *reader, uint64_t offset)
{
	return sonde_fail(&reader->error, SONDE_CORRUPT, offset,
			  "JSON: a string that is not UTF-8");
}

/*
 * A character of several bytes that may lie across the end of the window. The bytes not read yet
 * count as continuations, so that a wrong one shows as soon as it is there.
 */
static enum sonde_status read_cut_character(struct sonde_json_reader *reader)
{
	uint64_t start = here(reader);
	char space[4] = { (char)peek(reader), (char)0x80, (char)0x80, (char)0x80 };
	size_t have = 0, length = 1;

	while (have < length) {
		if (!fill(reader))
			return ended(reader, "the rest of a character");
		space[have++] = (char)peek(reader);
		if (have == 1 && (peek(reader) < 0xC2 || peek(reader) > 0xF4))
			return not_utf8(reader, start);
		reader->input_position++;
		length = have == 1 ? 2 : sonde_utf8_length(space, sizeof(space));
		if (!length)
			return not_utf8(reader, start);
	}
	return put(reader, space, length);
}

/* Whether one of 8 bytes ends a run of plain characters. */
static inline bool any_ends_run(const char *p)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	uint64_t bytes, quotes, backslashes;

	memcpy(&bytes, p, sizeof(bytes));
	quotes = bytes ^ (ones * '"');
	backslashes = bytes ^ (ones * '\\');
	/* a byte below n leaves its top bit set where n is taken from it */
	return (((bytes - ones * 0x20) | (quotes - ones) | (backslashes - ones) | bytes) & tops) !=
	       0;
}

/*
 * The end of the plain characters from `p` on. What comes next then is a special byte, or a
 * character that is cut or not UTF-8.
 */
static const char *find_run_end(const char *p, const char *end)
{
	for (;;) {
		size_t length;

		while (end - p >= 8 && !any_ends_run(p))
			p += 8;
		while (p < end && !ends_run[(unsigned char)*p])
			p++;
		if (p == end || (unsigned char)*p < 0x80)
			return p;
		length = sonde_utf8_length(p, (size_t)(end - p));
		if (!length)
			return p;
		p += length;
	}
}

/* Takes as many plain characters as there are in the window. */
static enum sonde_status read_run(struct sonde_json_reader *reader)
{
	const char *start = reader->input + reader->input_position;
	const char *end = find_run_end(start, reader->input + reader->input_size);

	reader->input_position += (size_t)(end - start);
	return put(reader, start, (size_t)(end - start));
}

/* A string without escapes as it stands in the document; its opening quote was taken. */
static bool borrow_string(struct sonde_json_reader *reader)
{
	const char *start = reader->input + reader->input_position;
	const char *end = reader->input + reader->input_size, *quote = find_run_end(start, end);

	if (quote == end || *quote != '"')
		return false;
	reader->input_position += (size_t)(quote - start) + 1;
	reader->token = SONDE_JSON_STRING;
	reader->text = start;
	reader->length = (size_t)(quote - start);
	return true;
}

/* A string from its opening quote, which comes next, to its closing one. */
static enum sonde_status read_string(struct sonde_json_reader *reader, enum sonde_json_token token)
{
	enum sonde_status status = SONDE_OK;

	reader->input_position++;
	if (reader->borrows && token == SONDE_JSON_STRING && borrow_string(reader))
		return SONDE_OK;
	sonde_buffer_clear(&reader->scratch);
	while (status >= 0) {
		if (!fill(reader))
			return ended(reader, "the end of a string");
		status = read_run(reader);
		if (status < 0 || reader->input_position == reader->input_size)
			continue;
		if (peek(reader) == '"')
			break;
		if (peek(reader) >= 0x80) {
			status = read_cut_character(reader);
		} else if (peek(reader) == '\\') {
			reader->input_position++;
			status = read_escape(reader);
		} else {
			return unexpected(reader, "a character of a string");
		}
	}
	if (status < 0)
		return status;
	reader->input_position++;
	reader->token = token;
	reader->text = reader->scratch.data;
	reader->length = reader->scratch.size;
	return SONDE_OK;
}

static bool next_is(struct sonde_json_reader *reader, unsigned char a, unsigned char b)
{
	return fill(reader) && (peek(reader) == a || peek(reader) == b);
}

static enum sonde_status put_next(struct sonde_json_reader *reader)
{
	return put(reader, reader->input + reader->input_position++, 1);
}

static enum sonde_status read_digits(struct sonde_json_reader *reader)
{
	enum sonde_status status = SONDE_OK;

	if (!fill(reader))
		return ended(reader, "a digit");
	if (peek(reader) < '0' || peek(reader) > '9')
		return unexpected(reader, "a digit");
	do {
		const char *start = reader->input + reader->input_position, *p = start;
		const char *end = reader->input + reader->input_size;

		while (p < end && *p >= '0' && *p <= '9')
			p++;
		reader->input_position += (size_t)(p - start);
		status = put(reader, start, (size_t)(p - start));
	} while (status >= 0 && reader->input_position == reader->input_size && fill(reader) &&
		 peek(reader) >= '0' && peek(reader) <= '9');
	return status;
}

/* The length of a number that is nothing but digits, and whole in the window; else 0. */
static size_t plain_number_length(const struct sonde_json_reader *reader)
{
	const char *start = reader->input + reader->input_position, *p = start;
	const char *end = reader->input + reader->input_size;

	while (p < end && *p >= '0' && *p <= '9')
		p++;
	if (p == end || *p == '.' || (*p | 0x20) == 'e' || (*start == '0' && p - start > 1))
		return 0;
	return (size_t)(p - start);
}

/* A number of any form, piece by piece. */
static enum sonde_status read_any_number(struct sonde_json_reader *reader)
{
	enum sonde_status status = SONDE_OK;

	if (next_is(reader, '-', '-'))
		status = put_next(reader);
	if (status >= 0)
		status = next_is(reader, '0', '0') ? put_next(reader) : read_digits(reader);
	if (status >= 0 && next_is(reader, '.', '.')) {
		status = put_next(reader);
		if (status >= 0)
			status = read_digits(reader);
	}
	if (status >= 0 && next_is(reader, 'e', 'E')) {
		status = put_next(reader);
		if (status >= 0 && next_is(reader, '+', '-'))
			status = put_next(reader);
		if (status >= 0)
			status = read_digits(reader);
	}
	return status < 0 ? status : reader->error.status;
}

static enum sonde_status read_number(struct sonde_json_reader *reader)
{
	size_t plain = plain_number_length(reader);
	enum sonde_status status;

	sonde_buffer_clear(&reader->scratch);
	if (plain) {
		status = put(reader, reader->input + reader->input_position, plain);
		reader->input_position += plain;
	} else {
		status = read_any_number(reader);
	}
	if (status < 0)
		return status;
	reader->token = SONDE_JSON_NUMBER;
	reader->text = reader->scratch.data;
	reader->length = reader->scratch.size;
	return SONDE_OK;
}

static enum sonde_status read_word(struct sonde_json_reader *reader, const char *word,
				   enum sonde_json_token token)
{
	for (const char *p = word; *p; p++) {
		if (!fill(reader))
			return ended(reader, word);
		if (peek(reader) != (unsigned char)*p)
			return unexpected(reader, word);
		reader->input_position++;
	}
	reader->token = token;
	return SONDE_OK;
}

static enum sonde_status open_container(struct sonde_json_reader *reader, bool is_object)
{
	if (reader->open == reader->depth_limit)
		return sonde_fail(&reader->error, SONDE_LIMIT, here(reader),
				  "JSON: more than %u objects and arrays inside each other",
				  reader->depth_limit);
	reader->input_position++;
	reader->is_object[reader->open++] = is_object;
	reader->token = is_object ? SONDE_JSON_OBJECT_BEGIN : SONDE_JSON_ARRAY_BEGIN;
	reader->state = is_object ? STATE_FIRST_KEY : STATE_FIRST_ITEM;
	return SONDE_OK;
}

static enum sonde_status close_container(struct sonde_json_reader *reader)
{
	bool is_object = reader->is_object[--reader->open];

	reader->input_position++;
	reader->depth = reader->open;
	reader->token = is_object ? SONDE_JSON_OBJECT_END : SONDE_JSON_ARRAY_END;
	reader->state = STATE_AFTER;
	return SONDE_OK;
}

static enum sonde_status read_value(struct sonde_json_reader *reader)
{
	reader->state = STATE_AFTER;
	switch (peek(reader)) {
	case '{':
		return open_container(reader, true);
	case '[':
		return open_container(reader, false);
	case '"':
		return read_string(reader, SONDE_JSON_STRING);
	case 't':
		return read_word(reader, "true", SONDE_JSON_TRUE);
	case 'f':
		return read_word(reader, "false", SONDE_JSON_FALSE);
	case 'n':
		return read_word(reader, "null", SONDE_JSON_NULL);
	case '-':
	case '0' ... '9':
		return read_number(reader);
	default:
		return unexpected(reader, "a value");
	}
}

static bool skip_space(struct sonde_json_reader *reader)
{
	while (fill(reader)) {
		unsigned char byte = peek(reader);

		if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t')
			return true;
		reader->input_position++;
	}
	return false;
}

static enum sonde_status skip_byte_order_mark(struct sonde_json_reader *reader)
{
	if (!next_is(reader, 0xEF, 0xEF))
		return reader->error.status;
	for (const char *p = "\xEF\xBB\xBF"; *p; p++) {
		if (!fill(reader))
			return ended(reader, "a byte order mark");
		if (peek(reader) != (unsigned char)*p)
			return unexpected(reader, "a byte order mark");
		reader->input_position++;
	}
	return SONDE_OK;
}

/* What the state needs before the token proper: the mark, a comma, a colon, and space. */
static enum sonde_status approach(struct sonde_json_reader *reader)
{
	static const char *const expected[] = {
		[STATE_START] = "a value",
		[STATE_VALUE] = "a value",
		[STATE_FIRST_ITEM] = "a value or ']'",
		[STATE_FIRST_KEY] = "a key or '}'",
		[STATE_KEY] = "a key",
		[STATE_COLON] = "':'",
		[STATE_AFTER] = "a comma or an end",
	};

	if (reader->state == STATE_START && skip_byte_order_mark(reader) < 0)
		return reader->error.status;
	if (!skip_space(reader)) {
		if (reader->state == STATE_AFTER && !reader->open && reader->error.status >= 0)
			return SONDE_END;
		return ended(reader, expected[reader->state]);
	}
	if (reader->state == STATE_COLON) {
		if (peek(reader) != ':')
			return unexpected(reader, "':'");
		reader->input_position++;
		reader->state = STATE_VALUE;
		return approach(reader);
	}
	if (reader->state == STATE_AFTER && reader->open && peek(reader) == ',') {
		reader->input_position++;
		reader->state = reader->is_object[reader->open - 1] ? STATE_KEY : STATE_VALUE;
		return approach(reader);
	}
	return SONDE_OK;
}

static enum sonde_status read_token(struct sonde_json_reader *reader)
{
	bool in_object = reader->open && reader->is_object[reader->open - 1];
	enum sonde_status status;

	reader->offset = here(reader);
	reader->depth = reader->open;
	switch ((enum state)reader->state) {
	case STATE_FIRST_KEY:
	case STATE_KEY:
		if (reader->state == STATE_FIRST_KEY && peek(reader) == '}')
			return close_container(reader);
		if (peek(reader) != '"')
			return unexpected(reader,
					  reader->state == STATE_KEY ? "a key" : "a key or '}'");
		status = read_string(reader, SONDE_JSON_KEY);
		reader->state = STATE_COLON;
		return status;
	case STATE_FIRST_ITEM:
		if (peek(reader) == ']')
			return close_container(reader);
		return read_value(reader);
	case STATE_AFTER:
		if (!reader->open)
			return unexpected(reader, "the end of the document");
		if (peek(reader) != (in_object ? '}' : ']'))
			return unexpected(reader, in_object ? "',' or '}'" : "',' or ']'");
		return close_container(reader);
	default:
		return read_value(reader);
	}
}

enum sonde_status sonde_json_next(struct sonde_json_reader *reader, struct sonde_error *err)
{
	enum sonde_status status = reader->error.status;

	reader->text = "";
	reader->length = 0;
	if (status >= 0)
		status = approach(reader);
	if (status == SONDE_END) {
		reader->token = SONDE_JSON_END;
		reader->offset = here(reader);
		reader->depth = 0;
		return SONDE_OK;
	}
	if (status >= 0)
		status = read_token(reader);
	if (status < 0 && err)
		*err = reader->error;
	return status;
}

static const char *after_space(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
		at++;
	return at;
}

const char *sonde_json_find_member(const void *data, size_t size, const char *name)
{
	const char *first = data, *end = first + size, *found = first;
	size_t length = strlen(name);

	while ((found = memmem(found, (size_t)(end - found), name, length))) {
		bool is_opened = found > first && found[-1] == '"';
		const char *colon;

		found += length;
		if (!is_opened || found == end || *found != '"')
			continue;
		colon = after_space(found + 1, end);
		if (colon < end && *colon == ':')
			return after_space(colon + 1, end);
	}
	return NULL;
}
