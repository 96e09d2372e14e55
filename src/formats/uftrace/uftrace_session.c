/* SPDX-License-Identifier: Apache-2.0 */
/* Who ran: task.txt with its sessions, tasks and forks, and the memory map of each session. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/uftrace/uftrace.h"

/* Of one session: each address that is met is looked for in all of them. */
#define MAPPINGS_MOST 4096

struct uftrace_text uftrace_take(struct uftrace_text *text, char separator)
{
	const char *end = text->size ? memchr(text->at, separator, text->size) : NULL;
	struct uftrace_text piece = { text->at, end ? (size_t)(end - text->at) : text->size };
	size_t taken = piece.size + (end != NULL);

	text->at += taken;
	text->size -= taken;
	return piece;
}

bool uftrace_next_line(struct uftrace_text *text, struct uftrace_text *line)
{
	if (!text->size)
		return false;
	*line = uftrace_take(text, '\n');
	return true;
}

bool uftrace_starts(struct uftrace_text *text, const char *with)
{
	size_t size = strlen(with);

	if (text->size < size || memcmp(text->at, with, size) != 0)
		return false;
	text->at += size;
	text->size -= size;
	return true;
}

static unsigned int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned int)(c - '0');
	if (c >= 'a' && c <= 'f')
		return (unsigned int)(c - 'a') + 10;
	if (c >= 'A' && c <= 'F')
		return (unsigned int)(c - 'A') + 10;
	return 99;
}

uint64_t uftrace_number(struct uftrace_text text, unsigned int base)
{
	uint64_t number = 0;

	for (size_t i = 0; i < text.size && digit_of(text.at[i]) < base; i++)
		number = number * base + digit_of(text.at[i]);
	return number;
}

/* The value of "key=" in a line: up to a blank, or between quotes. */
static struct uftrace_text value_of(struct uftrace_text line, const char *key)
{
	while (line.size) {
		while (uftrace_starts(&line, " "))
			;
		if (uftrace_starts(&line, key) && uftrace_starts(&line, "="))
			return uftrace_starts(&line, "\"") ? uftrace_take(&line, '"') :
							     uftrace_take(&line, ' ');
		uftrace_take(&line, ' ');
	}
	return line;
}

static uint32_t id_of(struct uftrace_text line, const char *key)
{
	return (uint32_t)uftrace_number(value_of(line, key), 10);
}

/* "86100.780176817" */
static uint64_t time_of(struct uftrace_text line)
{
	struct uftrace_text text = value_of(line, "timestamp");
	uint64_t seconds = uftrace_number(uftrace_take(&text, '.'), 10);

	return seconds * 1000000000 + uftrace_number(text, 10);
}

enum sonde_status uftrace_map_file(struct uftrace *data, const char *name,
				   struct sonde_mapped_file *file, struct sonde_error *err)
{
	char *path = sonde_path_join(data->recording->path, name);
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	status = sonde_mapped_file_open(file, path, err);
	free(path);
	return status;
}

/* "start-end flags offset device inode path [build-id:...]" */
static enum sonde_status add_mapping(struct uftrace *data, struct uftrace_session *session,
				     struct uftrace_text line, struct sonde_error *err)
{
	struct uftrace_mapping mapping = { 0 };
	struct uftrace_text build_id = { 0 };
	struct uftrace_mapping *last = NULL, *added;

	mapping.start = uftrace_number(uftrace_take(&line, '-'), 16);
	mapping.end = uftrace_number(uftrace_take(&line, ' '), 16);
	for (int i = 0; i < 4; i++)
		uftrace_take(&line, ' ');
	while (uftrace_starts(&line, " "))
		;
	mapping.path = uftrace_take(&line, ' ');
	if (uftrace_starts(&line, "build-id:"))
		build_id = line;
	if (!mapping.path.size || mapping.path.at[0] != '/' || mapping.end <= mapping.start ||
	    session->mappings.count >= MAPPINGS_MOST)
		return SONDE_OK;
	if (session->mappings.count)
		last = &session->mappings.items[session->mappings.count - 1];
	/* several pieces of one module count from its first */
	mapping.base = mapping.start;
	if (last && last->path.size == mapping.path.size &&
	    !memcmp(last->path.at, mapping.path.at, mapping.path.size))
		mapping.base = last->base;
	mapping.symbols = uftrace_symbols_of(data, mapping.path, build_id);
	added = sonde_vec_push(&session->mappings);
	if (!added)
		return sonde_fail_nomem(err);
	*added = mapping;
	return SONDE_OK;
}

static enum sonde_status read_map(struct uftrace *data, struct uftrace_session *session,
				  struct sonde_error *err)
{
	struct sonde_mapped_file *file = sonde_vec_push(&data->maps);
	struct uftrace_text text, line;
	enum sonde_status status;
	char name[64];

	if (!file)
		return sonde_fail_nomem(err);
	*file = (struct sonde_mapped_file){ 0 };
	snprintf(name, sizeof(name), "sid-%.*s.map",
		 (int)(session->id.size < 40 ? session->id.size : 40), session->id.at);
	status = strchr(name, '/') ? SONDE_IO : uftrace_map_file(data, name, file, err);
	if (status == SONDE_NOMEM)
		return status;
	if (status) {
		EXCHANGE_FINDING(data->recording, RECORD, SONDE_NO_OFFSET,
				 "the memory map %s of a session\tit cannot be read: its functions "
				 "have no names",
				 name);
		return SONDE_OK;
	}
	text = (struct uftrace_text){ (const char *)file->data, file->size };
	while (!status && uftrace_next_line(&text, &line))
		status = add_mapping(data, session, line, err);
	return status;
}

static enum sonde_status add_session(struct uftrace *data, struct uftrace_text line,
				     struct sonde_error *err)
{
	struct uftrace_session *session = sonde_vec_push(&data->sessions);

	if (!session)
		return sonde_fail_nomem(err);
	*session = (struct uftrace_session){
		.time_ns = time_of(line),
		.pid = id_of(line, "pid"),
		.id = value_of(line, "sid"),
		.program = value_of(line, "exename"),
	};
	return read_map(data, session, err);
}

static enum sonde_status add_task(struct uftrace *data, struct uftrace_text line, bool is_fork,
				  struct sonde_error *err)
{
	struct uftrace_task *task = sonde_vec_push(&data->task_list);

	if (!task)
		return sonde_fail_nomem(err);
	*task = (struct uftrace_task){
		.time_ns = time_of(line),
		.tid = id_of(line, is_fork ? "pid" : "tid"),
		.pid = id_of(line, "pid"),
		.parent = is_fork ? id_of(line, "ppid") : SONDE_NONE,
	};
	return SONDE_OK;
}

/* A library that was loaded later belongs to the session with that id. */
static enum sonde_status add_library(struct uftrace *data, struct uftrace_text line,
				     struct sonde_error *err)
{
	struct uftrace_text id = value_of(line, "sid");
	struct uftrace_mapping mapping = {
		.start = uftrace_number(value_of(line, "base"), 16),
		.base = uftrace_number(value_of(line, "base"), 16),
		.since_ns = time_of(line),
		.path = value_of(line, "libname"),
	};

	mapping.symbols = uftrace_symbols_of(data, mapping.path, (struct uftrace_text){ 0 });
	for (size_t i = data->sessions.count; i > 0; i--) {
		struct uftrace_session *session = &data->sessions.items[i - 1];
		struct uftrace_mapping *added;

		if (session->mappings.count >= MAPPINGS_MOST)
			return SONDE_OK;
		if (session->id.size != id.size || memcmp(session->id.at, id.at, id.size) != 0)
			continue;
		added = sonde_vec_push(&session->mappings);
		if (!added)
			return sonde_fail_nomem(err);
		*added = mapping;
		return SONDE_OK;
	}
	return SONDE_OK;
}

enum sonde_status uftrace_read_tasks(struct uftrace *data, struct sonde_error *err)
{
	enum sonde_status status = uftrace_map_file(data, "task.txt", &data->tasks, err);
	struct uftrace_text text, line;

	if (status == SONDE_NOMEM)
		return status;
	if (status) {
		EXCHANGE_FINDING(data->recording, TRUNCATED, SONDE_NO_OFFSET,
				 "task.txt, which tells processes and programs\tit cannot be read: "
				 "functions have no names");
		return SONDE_OK;
	}
	text = (struct uftrace_text){ (const char *)data->tasks.data, data->tasks.size };
	status = SONDE_OK;
	while (!status && uftrace_next_line(&text, &line)) {
		uint64_t offset = (uint64_t)(line.at - (const char *)data->tasks.data);

		if (uftrace_starts(&line, "SESS "))
			status = add_session(data, line, err);
		else if (uftrace_starts(&line, "TASK "))
			status = add_task(data, line, false, err);
		else if (uftrace_starts(&line, "FORK "))
			status = add_task(data, line, true, err);
		else if (uftrace_starts(&line, "DLOP "))
			status = add_library(data, line, err);
		else if (line.size)
			EXCHANGE_FINDING(data->recording, UNKNOWN, offset,
					 "SESS, TASK, FORK or DLOP in task.txt\t%.*s",
					 (int)(line.size < 20 ? line.size : 20), line.at);
	}
	return status;
}

/* A fork is told of twice at times: its own line comes first. */
const struct uftrace_task *uftrace_find_task(const struct uftrace *data, uint32_t tid)
{
	const struct uftrace_task *found = NULL;

	for (size_t i = 0; i < data->task_list.count; i++) {
		const struct uftrace_task *task = &data->task_list.items[i];

		if (task->tid == tid && (!found || task->parent != SONDE_NONE))
			found = task;
	}
	return found;
}

static const struct uftrace_session *own_session(const struct uftrace *data, uint32_t pid,
						 uint64_t time_ns, uint64_t *until_ns)
{
	const struct uftrace_session *found = NULL;

	for (size_t i = 0; i < data->sessions.count; i++) {
		const struct uftrace_session *session = &data->sessions.items[i];

		if (session->pid != pid)
			continue;
		if (session->time_ns > time_ns) {
			*until_ns = session->time_ns < *until_ns ? session->time_ns : *until_ns;
			continue;
		}
		if (!found || session->time_ns >= found->time_ns)
			found = session;
	}
	return found;
}

const struct uftrace_session *uftrace_find_session(const struct uftrace *data, uint32_t pid,
						   uint64_t time_ns, uint64_t *until_ns)
{
	const struct uftrace_session *session = NULL;
	uint64_t ignored = UINT64_MAX;

	*until_ns = UINT64_MAX;
	session = own_session(data, pid, time_ns, until_ns);
	/* what was forked goes on with what its parent had, for some generations */
	for (int i = 0; !session && i < 64; i++) {
		const struct uftrace_task *task = uftrace_find_task(data, pid);

		if (!task || task->parent == SONDE_NONE)
			break;
		pid = task->parent;
		session = own_session(data, pid, task->time_ns, &ignored);
	}
	if (!session && data->sessions.count == 1)
		session = data->sessions.items;
	return session;
}
