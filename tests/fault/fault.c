/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrapped calls, what they count, and the loop over N. Calls outside of a run, and calls made
 * inside of libc and cmocka, are not touched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault.h"

#define FAULTS_MAX 100000u
#define DESCRIPTORS_MAX 1024
#define LIVE_BITS 16
#define LIVE_SLOTS ((size_t)1 << LIVE_BITS)

bool fault_no_renameat2, fault_short_writes;

static atomic_bool armed;
static enum fault_class armed_class;
static unsigned int armed_number; /* this call fails, counted from 1 */
static bool armed_for_good;	  /* and all after it */
static atomic_uint calls, fired, interruptions;
static atomic_int mappings;

/* Memory that was taken in this run and not given back: open addressing over the pointers. */
static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static const void *live[LIVE_SLOTS];
static size_t live_count;

static bool fails(enum fault_class class)
{
	unsigned int number;

	if (!atomic_load(&armed) || class != armed_class)
		return false;
	number = atomic_fetch_add(&calls, 1) + 1;
	if (number != armed_number && !(armed_for_good && number > armed_number))
		return false;
	atomic_fetch_add(&fired, 1);
	return true;
}

/* For calls that answer -1 and set errno. */
static bool fails_with(enum fault_class class, int number)
{
	if (!fails(class))
		return false;
	errno = number;
	return true;
}

static size_t live_slot(const void *pointer)
{
	return (size_t)((uint64_t)(uintptr_t)pointer * 0x9E3779B97F4A7C15u >> (64 - LIVE_BITS));
}

static void *live_add(void *pointer)
{
	if (!pointer || !atomic_load(&armed))
		return pointer;
	pthread_mutex_lock(&live_lock);
	if (live_count < LIVE_SLOTS / 2) {
		size_t i = live_slot(pointer);

		while (live[i])
			i = (i + 1) % LIVE_SLOTS;
		live[i] = pointer;
		live_count++;
	}
	pthread_mutex_unlock(&live_lock);
	return pointer;
}

/* Takes a pointer out and puts those behind it that it was in the way of in its place. */
static void live_remove(const void *pointer)
{
	size_t i, hole;

	if (!pointer)
		return;
	pthread_mutex_lock(&live_lock);
	for (i = live_slot(pointer); live[i] && live[i] != pointer;)
		i = (i + 1) % LIVE_SLOTS;
	if (live[i]) {
		live_count--;
		live[i] = NULL;
		hole = i;
		for (i = (i + 1) % LIVE_SLOTS; live[i]; i = (i + 1) % LIVE_SLOTS) {
			size_t home = live_slot(live[i]);

			if ((i - home) % LIVE_SLOTS < (i - hole) % LIVE_SLOTS)
				continue;
			live[hole] = live[i];
			live[i] = NULL;
			hole = i;
		}
	}
	pthread_mutex_unlock(&live_lock);
}

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker wants these names */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);
void __real_free(void *pointer);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *pointer, size_t size);
void __wrap_free(void *pointer);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

void *__wrap_malloc(size_t size)
{
	return fails_with(FAULT_ALLOCATION, ENOMEM) ? NULL : live_add(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails_with(FAULT_ALLOCATION, ENOMEM) ? NULL : live_add(__real_calloc(count, size));
}

void *__wrap_realloc(void *pointer, size_t size)
{
	void *grown;

	if (fails_with(FAULT_ALLOCATION, ENOMEM))
		return NULL;
	/* Taken out first: once it is given back, another thread may get the same address. */
	live_remove(pointer);
	grown = __real_realloc(pointer, size);
	live_add(grown ? grown : pointer);
	return grown;
}

void __wrap_free(void *pointer)
{
	live_remove(pointer);
	__real_free(pointer);
}

char *__wrap_strndup(const char *text, size_t size)
{
	size_t length = strnlen(text, size);
	char *copy = __wrap_malloc(length + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

char *__wrap_strdup(const char *text)
{
	return __wrap_strndup(text, SIZE_MAX - 1);
}

static enum fault_class class_of_open(int flags)
{
	return flags & (O_WRONLY | O_RDWR | O_CREAT) ? FAULT_OUTPUT : FAULT_INPUT;
}

static bool open_fails(int flags)
{
	enum fault_class class = class_of_open(flags);

	return fails_with(class, class == FAULT_OUTPUT ? ENOSPC : EIO);
}

static mode_t mode_of_open(int flags, va_list arguments)
{
	return flags & O_CREAT ? (mode_t)va_arg(arguments, int) : 0;
}

#define WRAP_OPEN(name)                                                                            \
	int __real_##name(const char *path, int flags, ...);                                       \
	int __wrap_##name(const char *path, int flags, ...);                                       \
	int __wrap_##name(const char *path, int flags, ...)                                        \
	{                                                                                          \
		va_list arguments;                                                                 \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(arguments, flags);                                                        \
		mode = mode_of_open(flags, arguments);                                             \
		va_end(arguments);                                                                 \
		return open_fails(flags) ? -1 : __real_##name(path, flags, mode);                  \
	}
WRAP_OPEN(open)
WRAP_OPEN(open64)

#define WRAP_OPENAT(name)                                                                          \
	int __real_##name(int folder, const char *path, int flags, ...);                           \
	int __wrap_##name(int folder, const char *path, int flags, ...);                           \
	int __wrap_##name(int folder, const char *path, int flags, ...)                            \
	{                                                                                          \
		va_list arguments;                                                                 \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(arguments, flags);                                                        \
		mode = mode_of_open(flags, arguments);                                             \
		va_end(arguments);                                                                 \
		return open_fails(flags) ? -1 : __real_##name(folder, path, flags, mode);          \
	}
WRAP_OPENAT(openat)
WRAP_OPENAT(openat64)

#define WRAP_FOPEN(name)                                                                           \
	FILE *__real_##name(const char *path, const char *mode);                                   \
	FILE *__wrap_##name(const char *path, const char *mode);                                   \
	FILE *__wrap_##name(const char *path, const char *mode)                                    \
	{                                                                                          \
		if (open_fails(mode[0] == 'r' ? O_RDONLY : O_WRONLY))                              \
			return NULL;                                                               \
		return __real_##name(path, mode);                                                  \
	}
WRAP_FOPEN(fopen)
WRAP_FOPEN(fopen64)

/* A call that returns -1 where it fails; the rest are its parameters and their names. */
#define WRAP_CALL(type, name, class, number, parameters, names)                                    \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		return fails_with(class, number) ? -1 : __real_##name names;                       \
	}
WRAP_CALL(int, stat, FAULT_INPUT, EIO, (const char *path, struct stat *status), (path, status))
WRAP_CALL(int, stat64, FAULT_INPUT, EIO, (const char *path, struct stat *status), (path, status))
WRAP_CALL(int, lstat, FAULT_INPUT, EIO, (const char *path, struct stat *status), (path, status))
WRAP_CALL(int, lstat64, FAULT_INPUT, EIO, (const char *path, struct stat *status), (path, status))
WRAP_CALL(int, fstat, FAULT_INPUT, EIO, (int fd, struct stat *status), (fd, status))
WRAP_CALL(int, fstat64, FAULT_INPUT, EIO, (int fd, struct stat *status), (fd, status))
WRAP_CALL(ssize_t, read, FAULT_INPUT, EIO, (int fd, void *data, size_t size), (fd, data, size))
WRAP_CALL(ssize_t, pread, FAULT_INPUT, EIO, (int fd, void *data, size_t size, off_t offset),
	  (fd, data, size, offset))
WRAP_CALL(ssize_t, pread64, FAULT_INPUT, EIO, (int fd, void *data, size_t size, off_t offset),
	  (fd, data, size, offset))
WRAP_CALL(int, fsync, FAULT_OUTPUT, EIO, (int fd), (fd))
WRAP_CALL(int, fdatasync, FAULT_OUTPUT, EIO, (int fd), (fd))
WRAP_CALL(int, rename, FAULT_OUTPUT, EIO, (const char *from, const char *to), (from, to))
WRAP_CALL(int, mkdir, FAULT_OUTPUT, ENOSPC, (const char *path, mode_t mode), (path, mode))
WRAP_CALL(int, ftruncate, FAULT_OUTPUT, ENOSPC, (int fd, off_t size), (fd, size))
WRAP_CALL(int, ftruncate64, FAULT_OUTPUT, ENOSPC, (int fd, off_t size), (fd, size))
WRAP_CALL(int, fallocate, FAULT_OUTPUT, ENOSPC, (int fd, int mode, off_t offset, off_t size),
	  (fd, mode, offset, size))
WRAP_CALL(int, fallocate64, FAULT_OUTPUT, ENOSPC, (int fd, int mode, off_t offset, off_t size),
	  (fd, mode, offset, size))

/* This one returns the number of the error. */
#define WRAP_POSIX_FALLOCATE(name)                                                                 \
	int __real_##name(int fd, off_t offset, off_t size);                                       \
	int __wrap_##name(int fd, off_t offset, off_t size);                                       \
	int __wrap_##name(int fd, off_t offset, off_t size)                                        \
	{                                                                                          \
		return fails(FAULT_OUTPUT) ? ENOSPC : __real_##name(fd, offset, size);             \
	}
WRAP_POSIX_FALLOCATE(posix_fallocate)
WRAP_POSIX_FALLOCATE(posix_fallocate64)

/* How much a write may take now; 0 where it is interrupted instead. */
static size_t short_size(size_t size)
{
	if (!fault_short_writes || !atomic_load(&armed))
		return size;
	if (atomic_fetch_add(&interruptions, 1) % 3 == 1)
		return 0;
	return size > 7 ? 7 : size;
}

ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
	size_t taken = short_size(size);

	if (size && !taken) {
		errno = EINTR;
		return -1;
	}
	return fails_with(FAULT_OUTPUT, ENOSPC) ? -1 : __real_write(fd, data, taken);
}

#define WRAP_PWRITE(name)                                                                          \
	ssize_t __real_##name(int fd, const void *data, size_t size, off_t offset);                \
	ssize_t __wrap_##name(int fd, const void *data, size_t size, off_t offset);                \
	ssize_t __wrap_##name(int fd, const void *data, size_t size, off_t offset)                 \
	{                                                                                          \
		size_t taken = short_size(size);                                                   \
                                                                                                   \
		if (size && !taken) {                                                              \
			errno = EINTR;                                                             \
			return -1;                                                                 \
		}                                                                                  \
		if (fails_with(FAULT_OUTPUT, ENOSPC))                                              \
			return -1;                                                                 \
		return __real_##name(fd, data, taken, offset);                                     \
	}
WRAP_PWRITE(pwrite)
WRAP_PWRITE(pwrite64)

/* As in Linux, a close that fails closes all the same. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	int result = __real_close(fd);

	if (flags != -1 && (flags & O_ACCMODE) != O_RDONLY && fails_with(FAULT_OUTPUT, EIO))
		return -1;
	return result;
}

int __real_renameat2(int from_folder, const char *from, int to_folder, const char *to,
		     unsigned int flags);
int __wrap_renameat2(int from_folder, const char *from, int to_folder, const char *to,
		     unsigned int flags);
int __wrap_renameat2(int from_folder, const char *from, int to_folder, const char *to,
		     unsigned int flags)
{
	if (fault_no_renameat2) {
		errno = ENOSYS;
		return -1;
	}
	if (fails_with(FAULT_OUTPUT, EIO))
		return -1;
	return __real_renameat2(from_folder, from, to_folder, to, flags);
}

#define WRAP_MMAP(name)                                                                            \
	void *__real_##name(void *address, size_t size, int protection, int flags, int fd,         \
			    off_t offset);                                                         \
	void *__wrap_##name(void *address, size_t size, int protection, int flags, int fd,         \
			    off_t offset);                                                         \
	void *__wrap_##name(void *address, size_t size, int protection, int flags, int fd,         \
			    off_t offset)                                                          \
	{                                                                                          \
		void *data;                                                                        \
                                                                                                   \
		if (fails_with(FAULT_INPUT, ENOMEM))                                               \
			return MAP_FAILED;                                                         \
		data = __real_##name(address, size, protection, flags, fd, offset);                \
		if (data != MAP_FAILED && atomic_load(&armed))                                     \
			atomic_fetch_add(&mappings, 1);                                            \
		return data;                                                                       \
	}
WRAP_MMAP(mmap)
WRAP_MMAP(mmap64)

int __real_munmap(void *address, size_t size);
int __wrap_munmap(void *address, size_t size);
int __wrap_munmap(void *address, size_t size)
{
	if (atomic_load(&armed))
		atomic_fetch_sub(&mappings, 1);
	return __real_munmap(address, size);
}

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path)
{
	return fails_with(FAULT_INPUT, EIO) ? NULL : __real_opendir(path);
}

#define WRAP_READDIR(name)                                                                         \
	struct dirent *__real_##name(DIR *folder);                                                 \
	struct dirent *__wrap_##name(DIR *folder);                                                 \
	struct dirent *__wrap_##name(DIR *folder)                                                  \
	{                                                                                          \
		return fails_with(FAULT_INPUT, EIO) ? NULL : __real_##name(folder);                \
	}
WRAP_READDIR(readdir)
WRAP_READDIR(readdir64)

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*start)(void *), void *argument)
{
	if (fails(FAULT_THREAD))
		return EAGAIN;
	return __real_pthread_create(thread, attributes, start, argument);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static int open_descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
		count += fcntl(fd, F_GETFD) != -1;
	return count;
}

static void arm(enum fault_class class, unsigned int number, bool for_good)
{
	memset(live, 0, sizeof(live));
	live_count = 0;
	atomic_store(&calls, 0);
	atomic_store(&fired, 0);
	atomic_store(&mappings, 0);
	armed_class = class;
	armed_number = number;
	armed_for_good = for_good;
	atomic_store(&armed, true);
}

/* One run with the Nth call failing; whether the fault was met. */
static bool run_once(enum fault_class class, const struct fault_case *fault_case,
		     unsigned int number, bool for_good)
{
	static const char *const class_names[] = { "allocation", "input", "output", "thread" };
	struct sonde_error err = { .offset = SONDE_NO_OFFSET };
	const char *wrong = NULL;
	enum sonde_status status;
	int descriptors;

	if (fault_case->before)
		fault_case->before(fault_case->user);
	descriptors = open_descriptors();
	arm(class, number, for_good);
	status = fault_case->run(fault_case->user, &err);
	atomic_store(&armed, false);

	if (status < 0 && err.status != status)
		wrong = "the error has another status";
	else if (status < 0 && !err.message[0])
		wrong = "the error has no message";
	else if (status < 0 && !atomic_load(&fired))
		wrong = "it failed without a fault";
	else if (status >= 0 && fault_case->output_must_fail && class == FAULT_OUTPUT &&
		 atomic_load(&fired))
		wrong = "it succeeded in spite of the fault";
	else if (live_count)
		wrong = "memory was not given back";
	else if (atomic_load(&mappings))
		wrong = "a mapping was not given back";
	else if (open_descriptors() != descriptors)
		wrong = "a file descriptor was not closed";
	if (wrong)
		fail_msg("%s %u%s: %s (status %d, \"%s\", %zu live)", class_names[class], number,
			 for_good ? " and all after" : "", wrong, status, err.message, live_count);
	if (fault_case->after)
		fault_case->after(fault_case->user, status, &err);
	return atomic_load(&fired) > 0;
}

unsigned int fault_run_all(enum fault_class class, const struct fault_case *fault_case)
{
	unsigned int number = 1;

	for (int for_good = 1; for_good >= 0; for_good--) {
		for (number = 1; run_once(class, fault_case, number, for_good); number++) {
			if (number == FAULTS_MAX)
				fail_msg("no end of faults");
		}
	}
	return number - 1;
}
