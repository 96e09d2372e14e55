/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guardian reads paths from a pipe. The end of the pipe without a farewell means that the process
 * at its other end is gone: the last path is removed.
 */
#include "mpi/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define TRIES 50
#define PAUSE_US 20000

static bool read_all(int fd, void *data, size_t size)
{
	char *bytes = data;

	while (size) {
		ssize_t count = read(fd, bytes, size);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return false;
		bytes += count;
		size -= (size_t)count;
	}
	return true;
}

/* Other ranks may go on writing for a moment, so that a folder gets new files while it is emptied. */
static void remove_output(const char *path)
{
	static const char gone[] = "sonde: ended before the output was whole; what there was of "
				   "it has been removed\n";
	static const char stays[] = "sonde: ended before the output was whole; what there is of it "
				    "could not be removed: ";
	bool removed = false;

	for (unsigned int i = 0; i < TRIES && !removed; i++) {
		removed = sonde_path_remove(path) || errno == ENOENT;
		removed = removed && sonde_path_kind(path) == SONDE_PATH_ABSENT;
		if (!removed)
			usleep(PAUSE_US);
	}
	if (removed) {
		sonde_write_all(STDERR_FILENO, gone, sizeof(gone) - 1);
		return;
	}
	sonde_write_all(STDERR_FILENO, stays, sizeof(stays) - 1);
	sonde_write_all(STDERR_FILENO, path, strlen(path));
	sonde_write_all(STDERR_FILENO, "\n", 1);
}

/* Signals that are meant for the whole group (Ctrl-C) must not end the guardian with the rest. */
static void stand_apart(void)
{
	int nothing = open("/dev/null", O_RDWR);

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	if (nothing < 0)
		return;
	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
	close(nothing);
}

static void keep_watch(int fd)
{
	char path[PATH_MAX] = "";
	uint32_t size;

	/* A length and so many bytes; the farewell is the length that no path has. */
	while (read_all(fd, &size, sizeof(size))) {
		if (size >= sizeof(path))
			return;
		if (!read_all(fd, path, size))
			break;
		path[size] = '\0';
	}
	if (path[0])
		remove_output(path);
}

void guardian_start(struct guardian *guardian)
{
	int ends[2];
	pid_t child;

	guardian->fd = -1;
	if (pipe2(ends, O_CLOEXEC))
		return;
	child = fork();
	if (!child) {
		close(ends[1]);
		stand_apart();
		keep_watch(ends[0]);
		_exit(0);
	}
	close(ends[0]);
	if (child > 0)
		guardian->fd = ends[1];
	else
		close(ends[1]);
}

static void tell(struct guardian *guardian, const char *path, uint32_t size)
{
	char message[sizeof(size) + PATH_MAX];
	uint32_t length = path ? size : 0;

	memcpy(message, &size, sizeof(size));
	if (length)
		memcpy(message + sizeof(size), path, length);
	if (guardian->fd < 0 || sonde_write_all(guardian->fd, message, sizeof(size) + length))
		return;
	close(guardian->fd);
	guardian->fd = -1;
}

void guardian_watch(struct guardian *guardian, const char *path)
{
	size_t size = path ? strlen(path) : 0;

	if (size < PATH_MAX)
		tell(guardian, path, (uint32_t)size);
}

void guardian_dismiss(struct guardian *guardian)
{
	tell(guardian, NULL, UINT32_MAX);
	if (guardian->fd >= 0)
		close(guardian->fd);
	guardian->fd = -1;
}
