/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as a stream. The reader pulls one token at a time out of a document of any size, with
 * bounded nesting and bounded strings; the writer appends to a buffer and takes care of commas,
 * indentation and escapes. Neither builds a tree.
 */
#ifndef SONDE_BASE_JSON_H
#define SONDE_BASE_JSON_H

#include <sonde/status.h>

#include "base/buffer.h"

enum sonde_json_token {
	SONDE_JSON_END, /* of the document */
	SONDE_JSON_OBJECT_BEGIN,
	SONDE_JSON_OBJECT_END,
	SONDE_JSON_ARRAY_BEGIN,
	SONDE_JSON_ARRAY_END,
	SONDE_JSON_KEY,
	SONDE_JSON_STRING,
	SONDE_JSON_NUMBER,
	SONDE_JSON_TRUE,
	SONDE_JSON_FALSE,
	SONDE_JSON_NULL,
};

#define SONDE_JSON_DEPTH 64
#define SONDE_JSON_MOST_DEPTH 192 /* that a reader can be set to */

/* Puts up to `size` bytes into `data`; 0 at the end. */
typedef enum sonde_status sonde_json_refill(void *user, char *data, size_t size, size_t *got,
					    struct sonde_error *err);

struct sonde_json_reader {
	/* the present token, valid until the next call */
	enum sonde_json_token token;
	const char *text; /* KEY, STRING: unescaped; NUMBER: as written; always NUL-terminated */
	size_t length;
	uint64_t offset;    /* where the token starts in the document */
	unsigned int depth; /* open objects and arrays around the token */
	/* private */
	sonde_json_refill *refill;
	void *user;
	const char *input;
	size_t input_size, input_position;
	uint64_t input_offset; /* of input[0] in the document */
	char *window;	       /* owned input space where there is a refill */
	struct sonde_buffer scratch;
	size_t text_limit;
	bool borrows;
	unsigned int open;	  /* objects and arrays open now */
	unsigned int depth_limit; /* SONDE_JSON_DEPTH; may be set before reading */
	bool keeps_nul;		  /* may be set: an escaped NUL stays one */
	bool is_object[SONDE_JSON_MOST_DEPTH];
	uint8_t state;
	struct sonde_error error; /* the failure that every later call repeats */
};

/* Reads from memory that stays put, or (refill given, data NULL) from a stream. */
void sonde_json_reader_init(struct sonde_json_reader *reader, const char *data, size_t size,
			    sonde_json_refill *refill, void *user);
void sonde_json_reader_release(struct sonde_json_reader *reader);

/*
 * For documents in memory with very long strings: a STRING without escapes is borrowed from the
 * document, then without a NUL behind it and for as long as the document is there, and there is no
 * limit to the length of one. See sonde_json_is_borrowed().
 */
void sonde_json_reader_borrow(struct sonde_json_reader *reader);
bool sonde_json_is_borrowed(const struct sonde_json_reader *reader);

/* The place behind the present token. */
static inline uint64_t sonde_json_position(const struct sonde_json_reader *reader)
{
	return reader->input_offset + reader->input_position;
}

/* Starts anew with the value at `offset` of a document in memory, whatever was before. */
void sonde_json_seek(struct sonde_json_reader *reader, uint64_t offset);

/*
 * The next token into reader->token. Strictly RFC 8259, UTF-8 checked: SONDE_CORRUPT with the
 * offset otherwise, SONDE_TRUNCATED where the document ends inside. A NUL escaped inside a string
 * becomes U+FFFD unless keeps_nul is set, since strings are NUL-terminated here. After an error or
 * END the same again.
 */
enum sonde_status sonde_json_next(struct sonde_json_reader *reader, struct sonde_error *err);

/* Steps over the value that the present token starts (for a KEY: over the key's value). */
enum sonde_status sonde_json_skip(struct sonde_json_reader *reader, struct sonde_error *err);

/*
 * Copies the value that comes next to `out` as compact JSON text, and leaves its last token as the
 * present one. Where no value comes next but an end or a key, that becomes the present token and
 * nothing is copied.
 */
enum sonde_status sonde_json_copy(struct sonde_json_reader *reader, struct sonde_buffer *out,
				  struct sonde_error *err);

/*
 * For telling formats apart, without reading all of it: the value of the first member of that name in a piece of a
 * document, wherever in it; NULL where there is none. `name` has no escapes. A string that says the same is no
 * member: no colon follows it, and quotes inside of it are escaped.
 */
const char *sonde_json_find_member(const void *data, size_t size, const char *name);

/* The NUMBER token as u64: false where it is negative, fractional or too large. */
bool sonde_json_u64(const struct sonde_json_reader *reader, uint64_t *value);

struct sonde_json_writer {
	struct sonde_buffer *out;
	bool pretty; /* two spaces a level, one member a line */
	unsigned int depth;
	bool has_items[SONDE_JSON_DEPTH + 1];
	bool is_inline[SONDE_JSON_DEPTH + 1];
	bool after_key;
};

void sonde_json_writer_init(struct sonde_json_writer *writer, struct sonde_buffer *out,
			    bool pretty);
void sonde_json_object_begin(struct sonde_json_writer *writer);
/* Everything inside stays on one line, however pretty the rest is. */
void sonde_json_object_begin_inline(struct sonde_json_writer *writer);
void sonde_json_object_end(struct sonde_json_writer *writer);
void sonde_json_array_begin(struct sonde_json_writer *writer);
void sonde_json_array_begin_inline(struct sonde_json_writer *writer);
void sonde_json_array_end(struct sonde_json_writer *writer);
void sonde_json_key(struct sonde_json_writer *writer, const char *key);
/* Bytes that are not UTF-8 become U+FFFD. */
void sonde_json_string(struct sonde_json_writer *writer, const char *text);
void sonde_json_string_sized(struct sonde_json_writer *writer, const char *text, size_t length);
void sonde_json_number_u64(struct sonde_json_writer *writer, uint64_t value);
/* What JSON has no number for becomes null. */
void sonde_json_number_double(struct sonde_json_writer *writer, double value);
void sonde_json_bool(struct sonde_json_writer *writer, bool value);
void sonde_json_null(struct sonde_json_writer *writer);
/* "0x" and `digits` hexadecimal digits at least, as a string. */
void sonde_json_hex(struct sonde_json_writer *writer, uint64_t value, unsigned int digits);
/* JSON text made elsewhere, put in as it is. */
void sonde_json_raw(struct sonde_json_writer *writer, const char *json);

/* A key and its value at once. */
static inline void sonde_json_member_u64(struct sonde_json_writer *writer, const char *key,
					 uint64_t value)
{
	sonde_json_key(writer, key);
	sonde_json_number_u64(writer, value);
}

static inline void sonde_json_member_double(struct sonde_json_writer *writer, const char *key,
					    double value)
{
	sonde_json_key(writer, key);
	sonde_json_number_double(writer, value);
}

static inline void sonde_json_member_string(struct sonde_json_writer *writer, const char *key,
					    const char *text)
{
	sonde_json_key(writer, key);
	sonde_json_string(writer, text);
}

static inline void sonde_json_member_bool(struct sonde_json_writer *writer, const char *key,
					  bool value)
{
	sonde_json_key(writer, key);
	sonde_json_bool(writer, value);
}

#endif
