/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the modules of one process in the order in which they were loaded, those that are gone
 * included: their events may still be in the rings. Code that is in no module, such as that of a
 * just-in-time compiler, gets numbers in a module of its own.
 */
#include "record/load_map.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/vec.h"
#include "formats/atf/atf_layout.h"
#include "record/mapping.h"

#define UNKNOWN_PATH "[unknown]"
#define MODULE_SIZE_MAX (UINT64_C(1) << 34)
#define PROGRAM_HEADERS_MAX 64

static void module_free(struct load_map_module *module)
{
	if (!module)
		return;
	free(module->path);
	free(module->met);
	free(module);
}

/* `path` need not end with a 0. */
static struct load_map_module *module_new(const char *path, size_t path_size, uint64_t low,
					  uint64_t high)
{
	struct load_map_module *module = calloc(1, sizeof(*module));

	if (!module)
		return NULL;
	module->path = strndup(path, path_size);
	module->low = low;
	module->high = high;
	if (module->path)
		return module;
	module_free(module);
	return NULL;
}

/* Makes room for the functions that are met in a module: most have none. */
static bool prepare_met(struct load_map_module *module)
{
	if (!module->met)
		module->met = calloc((module->high - module->low + 63) / 64, sizeof(*module->met));
	return module->met;
}

/* What is 0 stands for none, but in the place of the function 0. */
static void forget_ids(struct load_map *map)
{
	memset(map->ids, 0, sizeof(map->ids));
	map->ids[0].function = UINT64_MAX;
}

enum sonde_status load_map_init(struct load_map *map, uint32_t pid, struct sonde_error *err)
{
	memset(map, 0, sizeof(*map));
	map->pid = pid;
	forget_ids(map);
	map->unknown_ids = calloc(1, sizeof(struct sonde_key_map));
	map->unknown = module_new(UNKNOWN_PATH, sizeof(UNKNOWN_PATH), 0, 0);
	if (!map->unknown_ids || !map->unknown) {
		load_map_release(map);
		return sonde_fail_nomem(err);
	}
	map->unknown->id = atf_path_hash(UNKNOWN_PATH);
	/* holds no address, so the first lookup is a slow one */
	map->recent = map->before = map->unknown;
	return SONDE_OK;
}

void load_map_release(struct load_map *map)
{
	for (size_t i = 0; i < map->count; i++)
		module_free(map->modules[i]);
	free(map->modules);
	module_free(map->unknown);
	if (map->unknown_ids)
		sonde_key_map_release(map->unknown_ids);
	free(map->unknown_ids);
	memset(map, 0, sizeof(*map));
}

/* The hash of the path; another path with the same hash moves on to the next number. */
static uint32_t choose_id(const struct load_map *map, const char *path)
{
	uint32_t id = atf_path_hash(path);
	bool taken;

	for (size_t i = 0; i < map->count; i++)
		if (!strcmp(map->modules[i]->path, path))
			return map->modules[i]->id;
	do {
		taken = id == map->unknown->id;
		for (size_t i = 0; i < map->count && !taken; i++)
			taken = map->modules[i]->id == id;
		id += taken;
	} while (taken);
	return id;
}

static bool overlap(const struct load_map_module *a, uint64_t low, uint64_t high)
{
	return a->low < high && low < a->high;
}

/*
 * Puts a module at the end. What still lies in its range has gone without a word; it counts until
 * `loaded`.
 */
static bool add_module(struct load_map *map, struct load_map_module *module)
{
	if (map->count == map->capacity &&
	    !sonde_vec_grow(&map->modules, &map->capacity, map->count, 1, sizeof(*map->modules)))
		return false;
	for (size_t i = 0; i < map->count; i++) {
		struct load_map_module *other = map->modules[i];

		if (!overlap(other, module->low, module->high))
			continue;
		if (!other->unloaded)
			other->unloaded = module->loaded ? module->loaded : 1;
		if (other->unloaded > module->since)
			module->since = other->unloaded;
	}
	map->modules[map->count++] = module;
	return true;
}

static bool copy_module(struct load_map *copy, const struct load_map_module *from)
{
	struct load_map_module *to =
		module_new(from->path, strlen(from->path), from->low, from->high);

	if (!to)
		return false;
	memcpy(to->build_id, from->build_id, sizeof(to->build_id));
	to->build_id_size = from->build_id_size;
	to->id = from->id;
	to->base = from->base;
	to->loaded = from->loaded;
	to->since = from->since;
	to->found = from->found;
	if (add_module(copy, to))
		return true;
	module_free(to);
	return false;
}

enum sonde_status load_map_copy(struct load_map *copy, const struct load_map *map, uint32_t pid,
				struct sonde_error *err)
{
	enum sonde_status status = load_map_init(copy, pid, err);

	if (status < 0)
		return status;
	for (size_t i = 0; i < map->count; i++)
		if (!map->modules[i]->unloaded && !copy_module(copy, map->modules[i])) {
			load_map_release(copy);
			return sonde_fail_nomem(err);
		}
	return SONDE_OK;
}

/* A module that was found in /proc before is now in the log, which knows its true range. */
static enum sonde_status confirm_module(struct load_map_module *module,
					const struct shared_module *entry, struct sonde_error *err)
{
	uint64_t low = entry->low < module->low ? entry->low : module->low;
	uint64_t high = entry->high > module->high ? entry->high : module->high;
	uint64_t *met = module->met ? calloc((high - low + 63) / 64, sizeof(*met)) : NULL;

	if (module->met && !met)
		return sonde_fail_nomem(err);
	for (uint64_t i = 0; met && i < module->high - module->low; i++)
		if (module->met[i / 64] >> (i % 64) & 1) {
			uint64_t bit = module->low + i - low;

			met[bit / 64] |= UINT64_C(1) << (bit % 64);
		}
	free(module->met);
	module->met = met;
	module->low = low;
	module->high = high;
	module->found = false;
	return SONDE_OK;
}

static void set_build_id(struct load_map_module *module, const struct shared_module *entry)
{
	if (entry->build_id_size > sizeof(module->build_id))
		return;
	memcpy(module->build_id, entry->build_id, entry->build_id_size);
	module->build_id_size = entry->build_id_size;
}

static enum sonde_status apply_load(struct load_map *map, const struct shared_module *entry,
				    struct sonde_error *err)
{
	size_t path_size = strnlen(entry->path, sizeof(entry->path));
	struct load_map_module *module;

	if (entry->high < entry->low || entry->high - entry->low > MODULE_SIZE_MAX)
		return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				  "a module of process %u at %#llx-%#llx; expected at most 16 GB",
				  map->pid, (unsigned long long)entry->low,
				  (unsigned long long)entry->high);
	for (size_t i = 0; i < map->count; i++) {
		module = map->modules[i];
		if (module->unloaded || module->base != entry->base ||
		    !overlap(module, entry->low, entry->high))
			continue;
		if (!module->found && (strlen(module->path) != path_size ||
				       memcmp(module->path, entry->path, path_size)))
			continue;
		set_build_id(module, entry);
		return confirm_module(module, entry, err);
	}
	module = module_new(entry->path, path_size, entry->low, entry->high);
	if (!module)
		return sonde_fail_nomem(err);
	set_build_id(module, entry);
	module->id = choose_id(map, module->path);
	module->base = entry->base;
	module->loaded = entry->time;
	if (add_module(map, module))
		return SONDE_OK;
	module_free(module);
	return sonde_fail_nomem(err);
}

enum sonde_status load_map_apply(struct load_map *map, const struct shared_module *entry,
				 struct sonde_error *err)
{
	forget_ids(map);
	if (entry->time > map->settled)
		map->settled = entry->time;
	if (entry->news == MODULE_LOADED)
		return apply_load(map, entry, err);
	for (size_t i = map->count; i-- > 0;)
		if (map->modules[i]->base == entry->base && !map->modules[i]->unloaded) {
			map->modules[i]->unloaded = entry->time ? entry->time : 1;
			break;
		}
	return SONDE_OK;
}

/* What to add to addresses in an ELF file, of which the part at `offset` was mapped at `start`. */
static bool elf_base(const char *path, uint64_t start, uint64_t offset, uint64_t *base)
{
	Elf64_Phdr headers[PROGRAM_HEADERS_MAX];
	Elf64_Ehdr header;
	bool found = false;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
	    !memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_phentsize == sizeof(headers[0]) &&
	    header.e_phnum <= PROGRAM_HEADERS_MAX &&
	    pread(fd, headers, header.e_phnum * sizeof(headers[0]), (off_t)header.e_phoff) ==
		    (ssize_t)(header.e_phnum * sizeof(headers[0])))
		for (size_t i = 0; i < header.e_phnum && !found; i++) {
			found = headers[i].p_type == PT_LOAD && headers[i].p_flags & PF_X &&
				offset < headers[i].p_offset + headers[i].p_filesz &&
				headers[i].p_offset < offset + 4096;
			*base = start - offset - headers[i].p_vaddr + headers[i].p_offset;
		}
	close(fd);
	return found;
}

/* A module that is mapped but not in the log yet. NULL also where there is none. */
static struct load_map_module *find_in_proc(struct load_map *map, uint64_t address, uint64_t ticks)
{
	struct record_mapping *mapping = malloc(sizeof(*mapping));
	struct load_map_module *module = NULL;
	uint64_t base;

	if (mapping && record_mapping_find(map->pid, address, mapping) && mapping->executable &&
	    mapping->path[0] == '/' &&
	    elf_base(mapping->path, mapping->low, mapping->offset, &base))
		module = module_new(mapping->path, strlen(mapping->path), mapping->low,
				    mapping->high);
	free(mapping);
	if (!module)
		return NULL;
	module->id = choose_id(map, module->path);
	module->base = base;
	module->loaded = ticks;
	module->found = true;
	forget_ids(map);
	if (add_module(map, module))
		return module;
	module_free(module);
	return NULL;
}

static uint64_t number_unknown(struct load_map *map, uint64_t address)
{
	uint32_t number = sonde_key_map_find(map->unknown_ids, address);

	if (number == UINT32_MAX) {
		number = (uint32_t)map->unknown_count + 1;
		if (!sonde_key_map_add(map->unknown_ids, address, number))
			return 0;
		map->unknown_count++;
	}
	return (uint64_t)map->unknown->id << 32 | number;
}

static bool holds(const struct load_map_module *module, uint64_t address)
{
	return address - module->low < module->high - module->low;
}

/* Whether a module was at an address at a moment. */
static bool was_at(const struct load_map_module *module, uint64_t address, uint64_t ticks)
{
	return holds(module, address) && ticks >= module->since &&
	       (!module->unloaded || ticks <= module->unloaded);
}

/* The module in question, where it can be told; `close` is the next best. */
static struct load_map_module *find_module(struct load_map *map, uint64_t address, uint64_t ticks,
					   struct load_map_module **close)
{
	/* calls go to and fro between two modules */
	if (was_at(map->before, address, ticks))
		return map->before;
	for (size_t i = map->count; i-- > 0;) {
		struct load_map_module *module = map->modules[i];

		if (was_at(module, address, ticks))
			return module;
		if (holds(module, address) && (!*close || ticks < (*close)->since))
			*close = module;
	}
	if ((*close && ticks < (*close)->since) ||
	    sonde_key_map_find(map->unknown_ids, address) != UINT32_MAX)
		return NULL;
	return find_in_proc(map, address, ticks);
}

uint64_t load_map_find(struct load_map *map, uint64_t address, uint64_t ticks)
{
	/* The one before or after, where none was there at that moment. */
	struct load_map_module *close = NULL;
	struct load_map_module *module = find_module(map, address, ticks, &close);
	uint64_t offset;

	if (!module && !close)
		return number_unknown(map, address);
	if (!prepare_met(module ? module : close))
		return 0;
	if (module) {
		map->before = map->recent;
		map->recent = module;
	} else {
		module = close;
	}
	offset = address - module->low;
	module->met[offset / 64] |= UINT64_C(1) << (offset % 64);
	return (uint64_t)module->id << 32 | (uint32_t)(address - module->base);
}

uint64_t load_map_nearest(const struct load_map *map, uint64_t address, uint64_t least)
{
	const struct load_map_module *module = map->recent;

	if (!holds(module, address) || !holds(module, least) || least > address)
		return 0;
	for (uint64_t bit = address - module->low;; bit = bit / 64 * 64 - 1) {
		uint64_t word = module->met[bit / 64] << (63 - bit % 64);
		uint64_t start = module->low + bit - (word ? (uint64_t)__builtin_clzll(word) : 0);

		if (word)
			return start >= least ? start : 0;
		if (bit / 64 <= (least - module->low) / 64)
			return 0;
	}
}
