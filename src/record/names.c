/* SPDX-License-Identifier: Apache-2.0 */
/* From /proc; the name of a thread that was read last before it ended is its name. */
#include "record/names.h"

#include <stdlib.h>
#include <string.h>

#include "record/proc_file.h"

#define SECOND UINT64_C(1000000000)
#define COMMAND_LINE_MOST ((size_t)64 << 10) /* what is longer is cut */

bool names_read(uint32_t process, uint32_t thread, char name[SESSION_NAME_SIZE])
{
	char text[SESSION_NAME_SIZE];

	if (proc_file_read(text, sizeof(text), "/proc/%u/task/%u/comm", process, thread) <= 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	session_copy_name(name, text);
	return true;
}

char *names_command_line(uint32_t process, size_t *size)
{
	static const char cut[] = "...";
	char text[COMMAND_LINE_MOST], *copy;
	ssize_t got = proc_file_read(text, sizeof(text), "/proc/%u/cmdline", process);

	if (got <= 0)
		return NULL;
	if (got == sizeof(text) - 1)
		memcpy(text + got - sizeof(cut), cut, sizeof(cut));
	text[got - 1] = '\0';
	copy = malloc((size_t)got);
	if (!copy)
		return NULL;
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
