/* SPDX-License-Identifier: Apache-2.0 */
/* Names of threads from /proc; a name that was read last before a thread ended is its name. */
#include "record/names.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

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
