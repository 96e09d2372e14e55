/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peers: what a plain C program does that knows the format by heart and trusts every byte.
 * They map or load whole files, walk over packed structs, and merge as the format's document
 * says: load all, merge by timestamp.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc.h"
#include "bench.h"

#define FILES_MAX 64
#define HEADER_SIZE 64
#define FOOTER_SIZE 64

struct __attribute__((packed)) record {
	uint64_t time_ns;
	uint64_t function;
	uint32_t thread;
	uint32_t kind;
	uint32_t depth;
	uint32_t detail;
};

struct file {
	unsigned char *bytes;
	size_t size;
	const struct record *records;
	size_t count;
};

static unsigned char *load(int fd, size_t size)
{
	unsigned char *bytes = malloc(size);

	for (size_t got = 0; bytes && got < size;) {
		ssize_t more = read(fd, bytes + got, size - got);

		if (more <= 0) {
			free(bytes);
			return NULL;
		}
		got += (size_t)more;
	}
	return bytes;
}

/* The index files of a session, mapped, or (loaded) read into memory. */
static size_t open_files(const char *path, const char *pattern, bool loaded,
			 struct file files[FILES_MAX])
{
	char full[4096];
	glob_t found;
	size_t count;

	snprintf(full, sizeof(full), "%s%s", path, pattern);
	if (glob(full, 0, NULL, &found) || !found.gl_pathc || found.gl_pathc > FILES_MAX)
		bench_fail(full, "is not there, or too often");
	count = found.gl_pathc;
	for (size_t i = 0; i < count; i++) {
		struct file *file = &files[i];
		int fd = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);
		struct stat status;

		if (fd < 0 || fstat(fd, &status))
			bench_fail(found.gl_pathv[i], "cannot be opened");
		file->size = (size_t)status.st_size;
		file->bytes = loaded ? load(fd, file->size) :
				       mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (!file->bytes || file->bytes == MAP_FAILED)
			bench_fail(found.gl_pathv[i], "cannot be read");
		close(fd);
		file->records = (const struct record *)(file->bytes + HEADER_SIZE);
		file->count = (file->size - HEADER_SIZE - FOOTER_SIZE) / sizeof(struct record);
	}
	globfree(&found);
	return count;
}

static void close_files(struct file *files, size_t count, bool loaded)
{
	for (size_t i = 0; i < count; i++) {
		if (loaded)
			free(files[i].bytes);
		else
			munmap(files[i].bytes, files[i].size);
	}
}

void peer_scan(const char *path, struct bench_outcome *outcome)
{
	struct file files[FILES_MAX];
	size_t count = open_files(path, "/thread_0/index.atf", false, files);
	uint64_t sum = 0;

	for (size_t i = 0; i < files[0].count; i++) {
		const struct record *record = &files[0].records[i];

		sum = bench_sum_event(sum, record->time_ns, record->depth, record->kind,
				      record->detail);
	}
	outcome->units = files[0].count;
	outcome->sum = sum;
	close_files(files, count, false);
}

struct heap_item {
	uint64_t time_ns;
	size_t file;
	size_t next;
};

static bool before(const struct heap_item *a, const struct heap_item *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->file < b->file);
}

static void sift_down(struct heap_item *heap, size_t count, size_t place)
{
	for (;;) {
		size_t child = 2 * place + 1;
		struct heap_item moved = heap[place];

		if (child >= count)
			return;
		if (child + 1 < count && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &moved))
			return;
		heap[place] = heap[child];
		heap[child] = moved;
		place = child;
	}
}

void peer_merge(const char *path, struct bench_outcome *outcome)
{
	struct file files[FILES_MAX];
	struct heap_item heap[FILES_MAX];
	size_t count = open_files(path, "/thread_*/index.atf", true, files), live = 0;

	outcome->units = outcome->sum = 0;
	for (size_t i = 0; i < count; i++) {
		if (files[i].count)
			heap[live++] = (struct heap_item){ files[i].records[0].time_ns, i, 1 };
	}
	for (size_t i = live; i--;)
		sift_down(heap, live, i);
	while (live) {
		const struct file *file = &files[heap[0].file];

		outcome->sum = bench_sum_order(outcome->sum, heap[0].time_ns);
		outcome->units++;
		if (heap[0].next < file->count)
			heap[0].time_ns = file->records[heap[0].next++].time_ns;
		else
			heap[0] = heap[--live];
		sift_down(heap, live, 0);
	}
	close_files(files, count, true);
}

/* The checksums of a check, and nothing else of it. */
void peer_crc(const char *path, struct bench_outcome *outcome)
{
	struct file files[FILES_MAX];
	size_t count = open_files(path, "/thread_*/index.atf", false, files);

	outcome->units = 0;
	outcome->sum = 0;
	for (size_t i = 0; i < count; i++) {
		volatile uint32_t crc =
			sonde_crc32(0, files[i].records, files[i].count * sizeof(struct record));

		(void)crc;
		outcome->units += files[i].size;
	}
	close_files(files, count, false);
}

static size_t find_time(const struct file *file, uint64_t time_ns)
{
	size_t low = 0, high = file->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (file->records[middle].time_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void seek(const char *path, struct bench_outcome *outcome, size_t read)
{
	static double us[BENCH_SEEKS];
	struct file files[FILES_MAX];
	size_t count = open_files(path, "/thread_0/index.atf", false, files);
	const struct file *file = &files[0];

	outcome->sum = 0;
	for (unsigned int i = 0; i < BENCH_SEEKS; i++) {
		uint64_t time_ns = bench_seek_time(i, file->records[0].time_ns,
						   file->records[file->count - 1].time_ns);
		double start = bench_now();
		size_t place = find_time(file, time_ns);

		for (size_t k = 0; k < read && place + k < file->count; k++)
			outcome->sum += file->records[place + k].time_ns;
		us[i] = (bench_now() - start) * 1e6;
		outcome->sum += place;
	}
	outcome->units = BENCH_SEEKS;
	bench_quantiles(us, BENCH_SEEKS, outcome);
	close_files(files, count, false);
}

void peer_seek(const char *path, struct bench_outcome *outcome)
{
	seek(path, outcome, 0);
}

void peer_seek_read(const char *path, struct bench_outcome *outcome)
{
	seek(path, outcome, 1);
}
