/* SPDX-License-Identifier: Apache-2.0 */
/* The way through a large JSON document: strings and brackets are all that counts. */
#include "formats/speedscope/speedscope_scan.h"

#include <string.h>

#define PASS_BYTES ((size_t)8 << 20)

enum { PLAIN, QUOTE, OPENING, CLOSING, ENDING };

static const uint8_t kinds[256] = {
	['"'] = QUOTE,	['{'] = OPENING, ['['] = OPENING, ['}'] = CLOSING, [']'] = CLOSING,
	[','] = ENDING, [' '] = ENDING,	 ['\t'] = ENDING, ['\n'] = ENDING, ['\r'] = ENDING,
};

void speedscope_scan_init(struct speedscope_scan *scan, const struct sonde_mapped_file *file)
{
	*scan = (struct speedscope_scan){
		.file = file,
		.data = (const char *)file->data,
		.size = file->size,
	};
}

void speedscope_scan_pass(struct speedscope_scan *scan, size_t position)
{
	if (position < scan->passed || position - scan->passed < PASS_BYTES)
		return;
	sonde_mapped_file_pass(scan->file, scan->passed, position);
	scan->passed = position;
}

size_t speedscope_scan_blank(const struct speedscope_scan *scan, size_t position)
{
	while (position < scan->size &&
	       (scan->data[position] == ' ' || scan->data[position] == '\n' ||
		scan->data[position] == '\t' || scan->data[position] == '\r'))
		position++;
	return position;
}

/* Behind the string whose quote is here. */
static size_t scan_string(const struct speedscope_scan *scan, size_t position)
{
	for (position++; position < scan->size; position++) {
		if (scan->data[position] == '"')
			return position + 1;
		if (scan->data[position] == '\\')
			position++;
	}
	return scan->size;
}

size_t speedscope_scan_value(struct speedscope_scan *scan, size_t position)
{
	size_t depth = 0;

	while (position < scan->size) {
		switch (kinds[(uint8_t)scan->data[position]]) {
		case QUOTE:
			position = scan_string(scan, position);
			if (!depth)
				return position;
			continue;
		case OPENING:
			depth++;
			break;
		case CLOSING:
			if (!depth)
				return position;
			if (!--depth)
				return position + 1;
			speedscope_scan_pass(scan, position);
			break;
		case ENDING:
			if (!depth)
				return position;
			break;
		default:
			break;
		}
		position++;
	}
	return scan->size;
}

bool speedscope_walk_begin(struct speedscope_walk *walk, struct speedscope_scan *scan,
			   size_t position)
{
	position = speedscope_scan_blank(scan, position);
	if (position >= scan->size || kinds[(uint8_t)scan->data[position]] != OPENING)
		return false;
	*walk = (struct speedscope_walk){
		.scan = scan,
		.position = position + 1,
		.is_object = scan->data[position] == '{',
	};
	return true;
}

/* At a value: behind a comma, or at the first one. */
static bool find_next(struct speedscope_walk *walk, struct speedscope_member *member)
{
	struct speedscope_scan *scan = walk->scan;
	size_t end;

	*member = (struct speedscope_member){ .value = walk->position };
	if (!walk->is_object)
		return true;
	if (scan->data[walk->position] != '"')
		return false;
	end = scan_string(scan, walk->position);
	member->key = scan->data + walk->position + 1;
	member->length = end - walk->position - 2;
	end = speedscope_scan_blank(scan, end);
	if (end >= scan->size || scan->data[end] != ':')
		return false;
	member->value = speedscope_scan_blank(scan, end + 1);
	return member->value < scan->size;
}

bool speedscope_walk_next(struct speedscope_walk *walk, struct speedscope_member *member)
{
	struct speedscope_scan *scan = walk->scan;
	char closing = walk->is_object ? '}' : ']';

	walk->position = speedscope_scan_blank(scan, walk->position);
	if (walk->position < scan->size && scan->data[walk->position] == closing)
		return false;
	if (walk->position < scan->size && scan->data[walk->position] == ',')
		walk->position = speedscope_scan_blank(scan, walk->position + 1);
	if (walk->position >= scan->size || !find_next(walk, member)) {
		walk->is_broken = true;
		return false;
	}
	return true;
}

void speedscope_walk_skip(struct speedscope_walk *walk, const struct speedscope_member *member)
{
	size_t end = speedscope_scan_value(walk->scan, member->value);

	/* never stays in its place, whatever stands there */
	walk->position = end > member->value ? end : member->value + 1;
}

bool speedscope_member_is(const struct speedscope_member *member, const char *key)
{
	return strlen(key) == member->length && !memcmp(member->key, key, member->length);
}
