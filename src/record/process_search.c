/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for processes of the recording in /proc, where they have our memory mapped: forked children
 * that have not made a call yet, and processes in another namespace that cannot see the id that
 * they have here. Only when there are such, since it reads much of /proc.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/mapping.h"
#include "record/proc_file.h"
#include "record/process.h"

#define SEARCH_NS (UINT64_C(50) * 1000 * 1000)

static bool is_known(const struct session *session, uint32_t pid)
{
	uint32_t high = shared_memory_processes_high(&session->memory);

	for (uint32_t i = 0; i < high; i++)
		if (session->slots[i] && session->slots[i]->alive && session->slots[i]->pid == pid)
			return true;
	return false;
}

static bool is_our_memory(const struct record_mapping *mapping, const void *session)
{
	return mapping->inode == ((const struct session *)session)->memory.inode &&
	       strncmp(mapping->path, "/memfd:sonde", 12) == 0;
}

/* The id that a process has in the innermost of its namespaces; 0: it is in no other than we. */
static uint32_t id_inside(uint32_t pid)
{
	static const char key[] = "NSpid:\t";
	char text[4096], *line;

	proc_file_read(text, sizeof(text), "/proc/%u/status", pid);
	line = strstr(text, key);
	if (!line)
		return 0;
	line += strlen(key);
	line[strcspn(line, "\n")] = '\0';
	line = strrchr(line, '\t');
	return line ? (uint32_t)strtoul(line + 1, NULL, 10) : 0;
}

/*
 * Counts the unknown processes with our memory, up to `most`; only those with the id `inside`, if
 * it is not 0. Gives the id of the last one.
 */
static size_t search(const struct session *session, uint32_t inside, size_t most, uint32_t *found)
{
	struct record_mapping mapping;
	struct dirent *entry;
	DIR *folder = opendir("/proc");
	size_t count = 0;

	if (!folder)
		return 0;
	while (count < most && (entry = readdir(folder))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);

		if (!isdigit((unsigned char)entry->d_name[0]) || pid == (uint32_t)getpid() ||
		    is_known(session, pid) || (inside && id_inside(pid) != inside) ||
		    !record_mapping_search(pid, is_our_memory, session, &mapping))
			continue;
		*found = pid;
		count++;
	}
	closedir(folder);
	return count;
}

void process_identify(struct session *session, struct shared_process *slot)
{
	uint32_t asks = PROCESS_ASKING, inside = slot->pid_inside, pid = 0;
	bool only = inside && search(session, inside, 2, &pid) == 1;

	slot->pid = only ? pid : 0;
	atomic_compare_exchange_strong(&slot->state, &asks, PROCESS_TAKEN);
	futex_wake(&slot->state);
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
	uint32_t pid;

	if (!session->options->follow || !is_fork_open(session))
		return false;
	if (session->silent && session->now_ns - session->searched_ns < SEARCH_NS)
		return true;
	session->searched_ns = session->now_ns;
	session->silent = search(session, 0, 1, &pid);
	return session->silent;
}
