/* SPDX-License-Identifier: Apache-2.0 */
#include "record/proc_file.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

ssize_t proc_file_read(char *text, size_t size, const char *path, ...)
{
	char full[64];
	va_list arguments;
	ssize_t got;
	int fd;

	text[0] = '\0';
	va_start(arguments, path);
	vsnprintf(full, sizeof(full), path, arguments);
	va_end(arguments);
	fd = open(full, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	got = read(fd, text, size - 1);
	close(fd);
	if (got < 0)
		got = 0;
	text[got] = '\0';
	return got;
}
