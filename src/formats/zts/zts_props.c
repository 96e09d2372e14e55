/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.props: lines of key=value. The text is kept as it is, so that comments, order and keys that
 * are not known here survive a change of one value.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "formats/zts/zts_meta.h"

/* Real files have 300 bytes. */
#define PROPS_MAX_SIZE (1u << 20)

void zts_props_release(struct zts_props *props)
{
	sonde_buffer_release(&props->text);
}

static enum sonde_status read_file(struct zts_props *props, const char *path,
				   struct sonde_error *err)
{
	struct sonde_mapped_file file;
	enum sonde_status status = sonde_mapped_file_open(&file, path, err);

	if (status < 0)
		return status;
	if (file.size > PROPS_MAX_SIZE) {
		status = sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				    "expected at most %u bytes of settings, found %zu",
				    PROPS_MAX_SIZE, file.size);
		sonde_error_set_file(err, path);
	} else {
		sonde_buffer_put(&props->text, file.data, file.size);
		if (props->text.failed)
			status = sonde_fail_nomem(err);
	}
	sonde_mapped_file_release(&file);
	return status;
}

/*
 * Surely not there: what merely cannot be looked at must not be taken for empty and written anew.
 */
static bool is_absent(const char *path)
{
	struct stat status;

	return stat(path, &status) && (errno == ENOENT || errno == ENOTDIR);
}

enum sonde_status zts_props_read(struct zts_props *props, const char *folder,
				 struct sonde_error *err)
{
	static const char *const names[] = { ZTS_PROPS_NAME, ZTS_PROPS_NAME_DOCUMENT };

	sonde_buffer_clear(&props->text);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = sonde_path_join(folder, names[i]);
		enum sonde_status status = SONDE_END;

		if (!path)
			return sonde_fail_nomem(err);
		if (!is_absent(path))
			status = read_file(props, path, err);
		free(path);
		if (status != SONDE_END)
			return status;
	}
	return SONDE_OK;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

/* A line of the text: where it begins and ends, and of `key=value` the value; NULL for others. */
struct line {
	size_t start, end; /* without the line feed */
	const char *value;
	size_t value_size;
};

static bool next_line(const struct zts_props *props, struct line *line, const char *key)
{
	const char *text = props->text.data;
	size_t key_size = strlen(key), at = line->end, end;
	const char *feed;

	if (at < props->text.size && text[at] == '\n')
		at++;
	if (at >= props->text.size)
		return false;
	feed = memchr(text + at, '\n', props->text.size - at);
	end = feed ? (size_t)(feed - text) : props->text.size;
	*line = (struct line){ .start = at, .end = end };
	while (at < end && is_space(text[at]))
		at++;
	if (end - at < key_size || memcmp(text + at, key, key_size) != 0)
		return true;
	at += key_size;
	while (at < end && is_space(text[at]))
		at++;
	if (at == end || (text[at] != '=' && text[at] != ':'))
		return true;
	at++;
	while (at < end && is_space(text[at]))
		at++;
	while (end > at && is_space(text[end - 1]))
		end--;
	line->value = text + at;
	line->value_size = end - at;
	return true;
}

/* The last line with the key: it is the one that counts where there are several. */
static bool find_line(const struct zts_props *props, const char *key, struct line *found)
{
	struct line line = { 0 };
	bool any = false;

	while (next_line(props, &line, key)) {
		if (!line.value)
			continue;
		*found = line;
		any = true;
	}
	return any;
}

const char *zts_props_get(const struct zts_props *props, const char *key, size_t *size)
{
	struct line line;

	if (!find_line(props, key, &line))
		return NULL;
	*size = line.value_size;
	return line.value;
}

bool zts_props_number(const struct zts_props *props, const char *key, uint64_t *value)
{
	size_t size;
	const char *text = zts_props_get(props, key, &size);
	uint64_t number = 0;

	if (!text || !size)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, text[i] - '0', &number))
			return false;
	}
	*value = number;
	return true;
}

void zts_props_set(struct zts_props *props, const char *key, const char *value)
{
	struct sonde_buffer text = { 0 };
	struct line line = { 0 };
	bool is_there = find_line(props, key, &line);
	size_t head = is_there ? line.start : props->text.size;

	sonde_buffer_put(&text, props->text.data, head);
	if (!is_there && head && props->text.data[head - 1] != '\n')
		sonde_buffer_put_char(&text, '\n');
	sonde_buffer_put_text(&text, key);
	sonde_buffer_put_char(&text, '=');
	sonde_buffer_put_text(&text, value);
	if (is_there)
		sonde_buffer_put(&text, props->text.data + line.end, props->text.size - line.end);
	else
		sonde_buffer_put_char(&text, '\n');
	text.failed |= props->text.failed;
	sonde_buffer_release(&props->text);
	props->text = text;
}

enum sonde_status zts_props_write(const struct zts_props *props, const char *folder,
				  struct sonde_error *err)
{
	char *path = sonde_path_join(folder, ZTS_PROPS_NAME);
	enum sonde_status status;

	if (!path || props->text.failed) {
		free(path);
		return sonde_fail_nomem(err);
	}
	status = sonde_file_replace(path, props->text.data, props->text.size, err);
	free(path);
	return status;
}
