/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and lays out the shared memory. All of it is sparse: only what is touched takes room, so
 * the numbers here are limits and cost nothing.
 */
#include "record/shared_memory.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	PROCESS_COUNT = 16384,
	RING_COUNT = 8192,
	MODULE_COUNT = 4096,
	CHUNKS = 16,	   /* a ring */
	DETAIL_CHUNKS = 8, /* likewise: at the end of one a thread waits for its stores */
	CHUNK_MIN = 4096,
	CHUNK_MAX = 256 * 1024,
	PAGE = 4096,
};

#define RING_MIN (64 * UINT64_C(1024))
#define RING_MAX (UINT64_C(1) << 30)
#define RINGS_MEMORY_MAX (UINT64_C(1) << 40)
#define FILTERS_SIZE (UINT64_C(1) << 30)

int futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns)
{
	struct timespec timeout = {
		.tv_sec = (time_t)(timeout_ns / 1000000000),
		.tv_nsec = (long)(timeout_ns % 1000000000),
	};

	return (int)syscall(SYS_futex, word, FUTEX_WAIT, value, timeout_ns ? &timeout : NULL, NULL,
			    0);
}

int futex_wake(_Atomic uint32_t *word)
{
	return (int)syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static uint64_t whole_pages(uint64_t size)
{
	return (size + PAGE - 1) / PAGE * PAGE;
}

/* The largest power of two that is not above. */
static uint64_t power_below(uint64_t number)
{
	return number ? UINT64_C(1) << (63 - __builtin_clzll(number)) : 0;
}

static void choose_ring(struct shared_control *control, uint64_t ring_size, bool detail)
{
	uint64_t size = ring_size < RING_MIN ? RING_MIN : ring_size;
	uint64_t chunk;

	if (size > RING_MAX)
		size = RING_MAX;
	chunk = power_below(size / (detail ? DETAIL_CHUNKS : CHUNKS));
	if (chunk < CHUNK_MIN)
		chunk = CHUNK_MIN;
	if (chunk > CHUNK_MAX)
		chunk = CHUNK_MAX;
	control->chunk_size = chunk;
	control->chunk_count = (uint32_t)(size / chunk);
	control->ring_size = chunk * control->chunk_count;
	control->ring_count = RING_COUNT;
	if (control->ring_size * RING_COUNT > RINGS_MEMORY_MAX)
		control->ring_count = (uint32_t)(RINGS_MEMORY_MAX / control->ring_size);
}

static void lay_out(struct shared_control *control, const struct shared_memory_options *options)
{
	uint64_t offset = whole_pages(sizeof(*control));
	struct stat namespace;

	control->version = SHARED_VERSION;
	control->namespace = stat("/proc/self/ns/pid", &namespace) ? 0 : namespace.st_ino;
	control->clock = options->clock;
	control->on_full = options->on_full;
	control->stack_bytes = options->stack_bytes;
	control->follow = options->follow;
	control->resumes = options->resumes;
	control->process_count = PROCESS_COUNT;
	control->module_count = MODULE_COUNT;
	choose_ring(control, options->ring_size, options->detail);
	control->processes = offset;
	offset += whole_pages(PROCESS_COUNT * sizeof(struct shared_process));
	control->rings = offset;
	offset += whole_pages(control->ring_count * sizeof(struct shared_ring));
	control->events_before = offset;
	offset += whole_pages((uint64_t)control->ring_count * control->chunk_count *
			      sizeof(uint64_t));
	control->modules = offset;
	offset += whole_pages(MODULE_COUNT * sizeof(struct shared_module));
	control->filters = offset;
	control->filters_size = FILTERS_SIZE;
	offset += FILTERS_SIZE;
	control->rings_memory = offset;
	control->size = offset + control->ring_size * control->ring_count;
	atomic_store(&control->mode, options->mode);
	atomic_store(&control->detail, options->detail);
}

/* Programs write it, so it is not trusted. */
static uint32_t high(const _Atomic uint32_t *word, uint32_t count)
{
	uint32_t value = atomic_load(word);

	return value < count ? value : count;
}

uint32_t shared_memory_rings_high(const struct shared_memory *memory)
{
	return high(&memory->control->rings_high, memory->control->ring_count);
}

uint32_t shared_memory_processes_high(const struct shared_memory *memory)
{
	return high(&memory->control->processes_high, memory->control->process_count);
}

static enum sonde_status map(struct shared_memory *memory, const struct shared_control *layout,
			     struct sonde_error *err)
{
	struct stat status;
	void *base;

	memory->size = layout->size;
	if (ftruncate(memory->fd, (off_t)layout->size) || fstat(memory->fd, &status))
		return sonde_fail_errno(err, NULL, "cannot make the memory to record into");
	memory->inode = status.st_ino;
	base = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		    memory->fd, 0);
	if (base == MAP_FAILED)
		return sonde_fail_errno(err, NULL,
					"cannot map %llu MB of address space to record into; a "
					"smaller --ring-size or a higher limit (ulimit -v) helps",
					(unsigned long long)(memory->size >> 20));
	memory->base = base;
	memory->control = base;
	memcpy(memory->control, layout, sizeof(*layout));
	memory->control->inode = memory->inode;
	return SONDE_OK;
}

static void hold(pthread_mutex_t *lives)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(lives, &attributes);
	pthread_mutexattr_destroy(&attributes);
	pthread_mutex_lock(lives);
}

enum sonde_status shared_memory_create(struct shared_memory *memory,
				       const struct shared_memory_options *options,
				       struct sonde_error *err)
{
	struct shared_control layout;
	enum sonde_status status;

	memset(memory, 0, sizeof(*memory));
	memset(&layout, 0, sizeof(layout));
	lay_out(&layout, options);
	memory->fd = memfd_create("sonde", MFD_CLOEXEC);
	if (memory->fd < 0)
		return sonde_fail_errno(err, NULL, "cannot make the memory to record into");
	status = map(memory, &layout, err);
	if (status < 0) {
		shared_memory_release(memory);
		return status;
	}
	hold(&memory->control->lives);
	memory->control->magic = SHARED_MAGIC;
	memory->processes = (struct shared_process *)(memory->base + layout.processes);
	memory->rings = (struct shared_ring *)(memory->base + layout.rings);
	memory->modules = (struct shared_module *)(memory->base + layout.modules);
	return SONDE_OK;
}

void shared_memory_release(struct shared_memory *memory)
{
	if (memory->base) {
		pthread_mutex_unlock(
			&memory->control->lives); /* or we would have died holding it */
		munmap(memory->base, memory->size);
	}
	if (memory->fd >= 0)
		close(memory->fd);
	memory->base = NULL;
	memory->fd = -1;
	sonde_vec_release(&memory->filters_free);
}

uint64_t shared_memory_take_filters(struct shared_memory *memory, uint64_t count)
{
	uint64_t size = whole_pages(count * sizeof(struct shared_filter)), offset;

	for (size_t i = 0; i < memory->filters_free.count; i++) {
		if (memory->filters_free.items[i].size != size)
			continue;
		offset = memory->filters_free.items[i].offset;
		memory->filters_free.items[i] =
			memory->filters_free.items[--memory->filters_free.count];
		return offset;
	}
	if (size > memory->control->filters_size - memory->filters_used)
		return 0;
	offset = memory->control->filters + memory->filters_used;
	memory->filters_used += size;
	return offset;
}

void shared_memory_give_filters(struct shared_memory *memory, uint64_t offset, uint64_t count)
{
	uint64_t size = whole_pages(count * sizeof(struct shared_filter));
	struct shared_memory_range *range = sonde_vec_push(&memory->filters_free);

	memset(memory->base + offset, 0, count * sizeof(struct shared_filter));
	if (range) /* else that space is not used again */
		*range = (struct shared_memory_range){ .offset = offset, .size = size };
}
