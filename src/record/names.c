/* SPDX-License-Identifier: Apache-2.0 */
/* From /proc; the name of a thread that was read last before it ended is its name. */
#include "record/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define COMMAND_LINE_MOST ((size_t)64 << 10) /* what is longer is cut */

bool names_read(uint32_t process, uint32_t thread, char name[SESSION_NAME_SIZE])
{
	char path[64];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/task/%u/comm", process, thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read(fd, name, SESSION_NAME_SIZE - 1);
	close(fd);
	if (size <= 0)
		return false;
	name[size] = '\0';
	name[strcspn(name, "\n")] = '\0';
	return true;
}

char *names_command_line(uint32_t process, size_t *size)
{
	static const char cut[] = "...";
	char path[64], text[COMMAND_LINE_MOST], *copy;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", process);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	got = read(fd, text, sizeof(text));
	close(fd);
	copy = got > 0 ? malloc((size_t)got) : NULL;
	if (!copy)
		return NULL;
	if (got == sizeof(text))
		memcpy(text + got - sizeof(cut), cut, sizeof(cut));
	text[got - 1] = '\0';
	memcpy(copy, text, (size_t)got);
	*size = (size_t)got;
	return copy;
}

void names_poll(struct session *session)
{
	if (session->now_ns - session->named_ns < SECOND)
		return;
	session->named_ns = session->now_ns;
	for (size_t i = 0; i < session->threads.count; i++) {
		struct recorded_thread *thread = session->threads.items[i];
		char name[SESSION_NAME_SIZE];

		if (!names_read(thread->process->pid, thread->thread, name))
			continue;
		memcpy(thread->name, name, sizeof(name));
		if (thread->thread == thread->process->pid)
			memcpy(thread->process->name, name, sizeof(name));
	}
}
