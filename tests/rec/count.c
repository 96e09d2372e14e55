/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth: compiler hooks that only count. Preloaded into a program built with
 * -finstrument-functions; how often each function was entered is kept in the file that
 * COUNT_FILE names, shared by all processes, as (path, address in that file, entries, exits).
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define QUIET __attribute__((no_instrument_function))

enum { ROWS = 4096, PATH = 232, CACHE = 16384 };

struct row {
	uint64_t address; /* in its file; 0: the row is free */
	uint64_t entries, exits;
	char path[PATH];
};

struct table {
	int lock;
	int padding[63];
	struct row rows[ROWS];
};

static struct table *table;

/*
 * Which row an address in memory has. A place is taken once, and never by another function until
 * all are emptied because a library goes.
 */
static struct place {
	void *_Atomic function;
	struct row *_Atomic row;
} cache[CACHE];

void __cyg_profile_func_enter(void *function, void *site) QUIET;
void __cyg_profile_func_exit(void *function, void *site) QUIET;

__attribute__((constructor)) QUIET static void start(void)
{
	const char *path = getenv("COUNT_FILE");
	int fd = path ? open(path, O_RDWR | O_CREAT, 0666) : -1;

	if (fd < 0 || ftruncate(fd, sizeof(*table)) != 0)
		abort();
	table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (table == MAP_FAILED)
		abort();
	close(fd);
}

QUIET static struct row *find_in_table(uint64_t address, const char *path)
{
	struct row *row = table->rows;

	while (__atomic_exchange_n(&table->lock, 1, __ATOMIC_ACQUIRE))
		usleep(10);
	while (row->address && (row->address != address || strncmp(row->path, path, PATH - 1)))
		if (++row == table->rows + ROWS)
			abort();
	if (!row->address) {
		memccpy(row->path, path, 0, PATH - 1);
		row->address = address;
	}
	__atomic_store_n(&table->lock, 0, __ATOMIC_RELEASE);
	return row;
}

QUIET static struct row *look_up(void *function)
{
	struct link_map *map;
	Dl_info info;
	char self[PATH];
	const char *path;
	ssize_t size;

	if (!table)
		start();
	if (!dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP))
		abort();
	path = map->l_name;
	if (!path[0]) {
		size = readlink("/proc/self/exe", self, sizeof(self) - 1);
		self[size > 0 ? size : 0] = 0;
		path = self;
	}
	return find_in_table((uintptr_t)function - map->l_addr, path);
}

QUIET static struct row *find(void *function)
{
	size_t number = ((uintptr_t)function >> 4) % CACHE;

	for (size_t tries = 0; tries < CACHE; tries++, number = (number + 1) % CACHE) {
		struct place *place = &cache[number];
		void *owner = place->function;
		struct row *row = place->row;

		if (owner == function && row)
			return row;
		if (owner && owner != function)
			continue;
		row = look_up(function);
		if (!owner && !atomic_compare_exchange_strong(&place->function, &owner, function) &&
		    owner != function)
			continue;
		place->row = row;
		return row;
	}
	abort();
}

QUIET int dlclose(void *handle)
{
	static int (*real)(void *);
	int result;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "dlclose");
	result = real(handle);
	memset(cache, 0, sizeof(cache));
	return result;
}

void __cyg_profile_func_enter(void *function, void *site)
{
	(void)site;
	__atomic_add_fetch(&find(function)->entries, 1, __ATOMIC_RELAXED);
}

void __cyg_profile_func_exit(void *function, void *site)
{
	(void)site;
	__atomic_add_fetch(&find(function)->exits, 1, __ATOMIC_RELAXED);
}
