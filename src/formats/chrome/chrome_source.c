/* SPDX-License-Identifier: Apache-2.0 */
/* The window over the text of a file, mapped or packed with gzip. */
#include "formats/chrome/chrome_source.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW ((size_t)4 << 20)
/* The longest thing that must be in the window as a whole: one event. */
#define LONGEST ((size_t)64 << 20)
/* What stays in the window before the position, since a reader of JSON takes some in advance. */
#define HISTORY ((size_t)256 << 10)
#define REFILL ((size_t)64 << 10)
#define PASS_STEP ((size_t)16 << 20)

enum sonde_status chrome_source_open(struct chrome_source *source, const char *path,
				     struct sonde_error *err)
{
	enum sonde_status status;

	*source = (struct chrome_source){ 0 };
	status = sonde_mapped_file_open(&source->file, path, err);
	if (status)
		return status;
	if (!sonde_gzip_is(source->file.data, source->file.size)) {
		source->data = (const char *)source->file.data;
		source->size = source->file.size;
		source->is_last = true;
		return SONDE_OK;
	}
	status = sonde_gzip_reader_new(source->file.data, source->file.size, &source->gzip, err);
	if (status)
		chrome_source_release(source);
	return status;
}

void chrome_source_release(struct chrome_source *source)
{
	sonde_gzip_reader_free(source->gzip);
	sonde_mapped_file_release(&source->file);
	free(source->window);
	*source = (struct chrome_source){ 0 };
}

void chrome_source_pass(struct chrome_source *source)
{
	size_t used = source->gzip ? sonde_gzip_reader_position(source->gzip) : source->position;

	if (used < source->passed + PASS_STEP + HISTORY)
		return;
	used -= HISTORY;
	sonde_mapped_file_pass(&source->file, source->passed, used);
	source->passed = used;
}

/* Moves what is left to the front, but for some history, and makes room behind it. */
static enum sonde_status make_room(struct chrome_source *source, struct sonde_error *err)
{
	size_t drop = source->position > HISTORY ? source->position - HISTORY : 0;
	size_t capacity = source->capacity;
	char *grown;

	if (drop && source->window) {
		memmove(source->window, source->window + drop, source->size - drop);
		source->offset += drop;
		source->position -= drop;
		source->size -= drop;
	}
	if (capacity && source->size <= capacity / 2)
		return SONDE_OK;
	if (source->size - source->position > LONGEST)
		return sonde_fail(err, SONDE_LIMIT, chrome_source_at(source),
				  "expected an event of at most %zu MB, found a longer one",
				  LONGEST >> 20);
	capacity = capacity ? capacity * 2 : WINDOW;
	grown = realloc(source->window, capacity);
	if (!grown)
		return sonde_fail_nomem(err);
	source->window = grown;
	source->capacity = capacity;
	return SONDE_OK;
}

enum sonde_status chrome_source_more(struct chrome_source *source, struct sonde_error *err)
{
	enum sonde_status status;
	size_t got;

	if (source->is_last)
		return SONDE_END;
	chrome_source_pass(source);
	status = make_room(source, err);
	source->data = source->window;
	if (status)
		return status;
	status = sonde_gzip_reader_next(source->gzip, source->window + source->size,
					source->capacity - source->size, &got, &source->damage);
	source->size += got;
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	source->is_damaged = status != SONDE_OK;
	source->is_last = status != SONDE_OK || !got;
	return got ? SONDE_OK : SONDE_END;
}

static bool is_space(char byte)
{
	return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

bool chrome_source_peek(struct chrome_source *source, char *byte, enum sonde_status *status,
			struct sonde_error *err)
{
	for (;;) {
		while (source->position < source->size && is_space(source->data[source->position]))
			source->position++;
		if (source->position < source->size) {
			*byte = source->data[source->position];
			return true;
		}
		*status = chrome_source_more(source, err);
		if (*status) {
			if (*status == SONDE_END)
				*status = SONDE_OK;
			return false;
		}
	}
}

/* How far a value was stepped over. */
struct skipping {
	size_t depth;
	bool in_string, escaped, begun, done;
};

/* One byte of it; false where that is behind the value. */
static bool skip_byte(struct skipping *skipping, char byte)
{
	if (skipping->in_string) {
		if (skipping->escaped)
			skipping->escaped = false;
		else if (byte == '\\')
			skipping->escaped = true;
		else if (byte == '"')
			skipping->in_string = false;
		skipping->done = !skipping->in_string && !skipping->depth;
		return true;
	}
	if (byte == '"') {
		skipping->in_string = true;
	} else if (byte == '{' || byte == '[') {
		skipping->depth++;
	} else if (byte == '}' || byte == ']') {
		if (!skipping->depth)
			return false;
		skipping->done = !--skipping->depth;
	} else if (!skipping->depth && (byte == ',' || (is_space(byte) && skipping->begun))) {
		return false;
	}
	skipping->begun |= !is_space(byte);
	return true;
}

enum sonde_status chrome_source_skip(struct chrome_source *source, struct sonde_error *err)
{
	struct skipping skipping = { 0 };
	enum sonde_status status = SONDE_OK;

	while (!skipping.done) {
		if (source->position == source->size) {
			status = chrome_source_more(source, err);
			if (status == SONDE_END)
				return sonde_fail(err, SONDE_TRUNCATED, chrome_source_at(source),
						  "expected more of a value, found the end");
			if (status)
				return status;
		}
		if (!skip_byte(&skipping, source->data[source->position]))
			return SONDE_OK;
		source->position++;
		if (!(source->position & (PASS_STEP - 1)))
			chrome_source_pass(source);
	}
	return SONDE_OK;
}

static enum sonde_status refill(void *user, char *data, size_t size, size_t *got,
				struct sonde_error *err)
{
	struct chrome_source *source = user;
	enum sonde_status status = SONDE_OK;

	*got = 0;
	if (source->position == source->size)
		status = chrome_source_more(source, err);
	if (status)
		return status == SONDE_END ? SONDE_OK : status;
	*got = source->size - source->position;
	if (*got > size)
		*got = size;
	if (*got > REFILL)
		*got = REFILL;
	memcpy(data, source->data + source->position, *got);
	source->position += *got;
	return SONDE_OK;
}

void chrome_source_json(struct chrome_source *source, struct sonde_json_reader *reader)
{
	sonde_json_reader_init(reader, NULL, 0, refill, source);
}

void chrome_source_json_end(struct chrome_source *source, struct sonde_json_reader *reader,
			    uint64_t start, bool failed)
{
	uint64_t end = start + (failed ? 0 : sonde_json_position(reader));

	sonde_json_reader_release(reader);
	/* what is not in the window any more was read and is good */
	source->position = end > source->offset ? (size_t)(end - source->offset) : 0;
}
