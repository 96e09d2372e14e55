/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event as it stands in the text: its members found and told apart, texts not yet unescaped. Made for speed:
 * an event is looked at once, byte by byte only where it must be, and nothing is copied.
 */
#ifndef SONDE_CHROME_SCAN_H
#define SONDE_CHROME_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A run of the text: what is between the quotes of a string, or a whole value. */
struct chrome_text {
	const char *text; /* NULL: it is not there */
	uint32_t length;
	bool has_escapes;
};

/* A time: nanoseconds, and millionths of one. */
struct chrome_moment {
	uint64_t ns;
	uint32_t part;
	bool is_there, is_negative, is_bad;
};

enum chrome_kind {
	CHROME_KIND_NONE,
	CHROME_KIND_TEXT,
	CHROME_KIND_INT64,
	CHROME_KIND_FLOAT64,
	CHROME_KIND_BOOL,
	CHROME_KIND_ANY, /* null, arrays, objects */
};

/* A value: `text` is inside of the quotes, or all of it. */
struct chrome_value {
	enum chrome_kind kind;
	struct chrome_text text;
	int64_t integer; /* INT64, BOOL */
};

struct chrome_member {
	struct chrome_text key;
	struct chrome_value value;
};

/* Members are mostly in the same order, with the same spaces: what stood before each of the last ones. */
#define CHROME_LAYOUT_MEMBERS 16
#define CHROME_LAYOUT_BYTES 16

struct chrome_layout {
	struct {
		char text[CHROME_LAYOUT_BYTES]; /* ,"tid": */
		uint8_t length, field;		/* length 0: nothing */
	} members[CHROME_LAYOUT_MEMBERS];
};

/* An id that mostly is what it was in the event before: its digits, and the byte behind them. */
struct chrome_known_id {
	char text[CHROME_LAYOUT_BYTES];
	uint8_t length; /* 0: none is known */
	int64_t integer;
};

/* Of more arguments none is looked at alone. */
#define CHROME_MOST_ARGUMENTS 64

struct chrome_event {
	char phase; /* 0: none */
	bool has_thread_clock, has_stack, flow_in, flow_out;
	struct chrome_value pid, tid, id, bind_id, type;
	struct chrome_text name, category, scope;
	struct chrome_text id2, at, arguments; /* whole objects */
	struct chrome_moment start, duration;
	size_t argument_count; /* CHROME_MOST_ARGUMENTS + 1: too many */
	struct chrome_member argument_list[CHROME_MOST_ARGUMENTS];
	/* of the events before; zeroed at first */
	struct chrome_layout layout;
	struct chrome_known_id known_pid, known_tid;
};

enum chrome_scan {
	CHROME_SCAN_OK,
	CHROME_SCAN_ENDED, /* the text ends inside */
	CHROME_SCAN_BAD,
};

/*
 * Scans the event at *place, where a '{' stands; *place is behind it then, or where it is not JSON. Within the
 * members that are looked at it is strict, within others only about quotes and brackets.
 */
enum chrome_scan chrome_scan_event(const char **place, const char *end, struct chrome_event *event);

/* The members of an object, for what is seldom: as many as there is room for, *count of all. */
enum chrome_scan chrome_scan_members(const char **place, const char *end,
				     struct chrome_member *members, size_t room, size_t *count);

/* A number, true, false or null that is all there is up to `end`, but for spaces; false where it is not. */
bool chrome_scan_item(const char *place, const char *end, struct chrome_value *value);

/* Where the next event may begin from `place` on, after a bad one at `start`; `end` where there is none. */
const char *chrome_scan_resync(const char *start, const char *place, const char *end);

/* A decimal number of microseconds as a time; false where it is none. */
bool chrome_moment_parse(const char *text, size_t length, struct chrome_moment *moment);
/* Rounded to nanoseconds, half up. */
uint64_t chrome_moment_ns(const struct chrome_moment *moment);
/* The sum of two; false where it is too large. */
bool chrome_moment_add(struct chrome_moment *moment, const struct chrome_moment *more);

static inline bool chrome_value_is_number(const struct chrome_value *value)
{
	return value->kind == CHROME_KIND_INT64 || value->kind == CHROME_KIND_FLOAT64 ||
	       (value->kind == CHROME_KIND_ANY &&
		(*value->text.text == '-' ||
		 (*value->text.text >= '0' && *value->text.text <= '9')));
}

/* Any number as JSON has them; NAN where it is none. */
double chrome_double(const char *text, size_t length);

#endif
