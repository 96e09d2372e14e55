/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for forked children that have not made a call yet, so are not known as processes: they
 * still have our memory mapped. Only where a fork is unaccounted for, since it reads much of /proc.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/mapping.h"
#include "record/process.h"

#define SEARCH_NS (UINT64_C(50) * 1000 * 1000)

static bool is_known(const struct session *session, uint32_t pid)
{
	uint32_t high = shared_memory_processes_high(&session->memory);

	for (uint32_t i = 0; i < high; i++)
		if (session->slots[i] && session->slots[i]->pid == pid)
			return true;
	return false;
}

static bool is_our_memory(const struct record_mapping *mapping, const void *session)
{
	return mapping->inode == ((const struct session *)session)->memory.inode &&
	       strncmp(mapping->path, "/memfd:sonde", 12) == 0;
}

static bool search(const struct session *session)
{
	struct record_mapping mapping;
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
		found = record_mapping_search(pid, is_our_memory, session, &mapping);
	}
	closedir(folder);
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
