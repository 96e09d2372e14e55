/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for forked children that have not made a call yet, so are not known as processes: they
 * still have our memory mapped. Only where a fork is unaccounted for, since it reads much of /proc.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "record/process.h"

#define SEARCH_NS (UINT64_C(50) * 1000 * 1000)

static bool is_known(const struct session *session, uint32_t pid)
{
	for (uint32_t i = 0; i < session->slots_high; i++)
		if (session->slots[i] && session->slots[i]->pid == pid)
			return true;
	return false;
}

/* The inode in a line of /proc/PID/maps: address permissions offset device inode path. */
static uint64_t inode_of(const char *line)
{
	for (int field = 0; field < 4; field++) {
		line += strcspn(line, " \n");
		line += strspn(line, " ");
	}
	return strtoull(line, NULL, 10);
}

/* One of the lines is our memory. */
static bool has_mapping(const struct session *session, const char *text)
{
	const char *at = text, *found;

	while ((found = strstr(at, "/memfd:sonde"))) {
		const char *line = found;

		while (line > text && line[-1] != '\n')
			line--;
		if (inode_of(line) == session->memory.inode)
			return true;
		at = found + 1;
	}
	return false;
}

static bool maps_our_memory(const struct session *session, const char *pid,
			    struct sonde_buffer *buffer)
{
	char path[64];
	ssize_t size;
	int fd;

	if (snprintf(path, sizeof(path), "/proc/%s/maps", pid) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	sonde_buffer_clear(buffer);
	do {
		char *place = sonde_buffer_reserve(buffer, 16384);

		size = place ? read(fd, place, 16384) : 0;
		if (size > 0)
			buffer->size += (size_t)size;
	} while (size > 0);
	close(fd);
	return sonde_buffer_text(buffer) && has_mapping(session, buffer->data);
}

static bool search(const struct session *session)
{
	struct sonde_buffer buffer = { 0 };
	struct dirent *entry;
	DIR *folder = opendir("/proc");
	bool found = false;

	if (!folder)
		return false;
	while (!found && (entry = readdir(folder))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)entry->d_name[0]) || pid == (uint32_t)getpid() ||
		    is_known(session, pid))
			continue;
		found = maps_our_memory(session, entry->d_name, &buffer);
	}
	closedir(folder);
	sonde_buffer_release(&buffer);
	return found;
}

/* A fork was noted whose child never came. */
static bool is_fork_open(const struct session *session)
{
	if (session->fork_count > SESSION_FORK_NOTES)
		return true;
	for (uint64_t i = 0; i < session->fork_count; i++)
		if (!session->forks[i].met)
			return true;
	return false;
}

bool process_any_silent(struct session *session)
{
	if (!session->options->follow || !is_fork_open(session))
		return false;
	if (session->silent && session->now_ns - session->searched_ns < SEARCH_NS)
		return true;
	session->searched_ns = session->now_ns;
	session->silent = search(session);
	return session->silent;
}
