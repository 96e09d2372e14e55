/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which module lies where in the memory of one recorded process, and when. Gives each function
 * the id that ATF files carry: the hash of the module's path in the high half, the function's
 * address in the module's file in the low half. So the same function has the same id in every
 * run, and no table is needed while recording. Notes which functions were met.
 */
#ifndef SONDE_RECORD_LOAD_MAP_H
#define SONDE_RECORD_LOAD_MAP_H

#include <sonde/status.h>
#include <stdbool.h>

#include "runtime/shared.h"

struct load_map_module {
	char *path;
	uint8_t build_id[32];
	uint32_t build_id_size;
	uint32_t id; /* FNV-1a-32 of the lower-cased path; unique in the process */
	uint64_t base, low, high;
	uint64_t loaded, unloaded; /* ticks; unloaded 0: still there */
	/* From here on events of this range are its own: the unloading of what was there before. */
	uint64_t since;
	uint64_t *met; /* one bit for each byte of [low, high); NULL: none was met */
	bool found;    /* in /proc/PID/maps, and not in the log yet */
};

/* A function that was met lately. */
struct load_map_id {
	uint64_t function, id;
};

#define LOAD_MAP_IDS 2048 /* kept, each in a place of its own */

struct load_map {
	struct load_map_module **modules;
	size_t count, capacity;
	struct load_map_module *recent; /* where the last address was found */
	struct load_map_module *before; /* the recent one before that */
	uint32_t pid;
	uint64_t settled;	/* ticks when a module came or went last */
	uint64_t unknown_count; /* addresses in no module, numbered in the order they were met */
	struct load_map_module *unknown;
	void *unknown_ids;		      /* struct sonde_key_map: address -> number */
	struct load_map_id ids[LOAD_MAP_IDS]; /* as they are since `settled` */
};

enum sonde_status load_map_init(struct load_map *map, uint32_t pid, struct sonde_error *err);
void load_map_release(struct load_map *map);

/* What a forked child starts with: the same modules as of now, with nothing met. */
enum sonde_status load_map_copy(struct load_map *copy, const struct load_map *map, uint32_t pid,
				struct sonde_error *err);

/* Takes in an entry of the log. */
enum sonde_status load_map_apply(struct load_map *map, const struct shared_module *entry,
				 struct sonde_error *err);

/*
 * The slow half of load_map_function(): looks through all modules, then in /proc/PID/maps for one
 * that is not in the log yet (constructors run before dlopen() returns). What lies nowhere gets a
 * number in the module "[unknown]". 0 only where memory is out.
 */
uint64_t load_map_find(struct load_map *map, uint64_t address, uint64_t ticks);

/* The function_id of an address that was called at a moment. */
static inline uint64_t load_map_function(struct load_map *map, uint64_t address, uint64_t ticks)
{
	struct load_map_module *module = map->recent;
	uint64_t offset = address - module->low;

	if (offset >= module->high - module->low || ticks < module->since ||
	    (module->unloaded && ticks > module->unloaded))
		return load_map_find(map, address, ticks);
	if (!(module->met[offset / 64] >> (offset % 64) & 1))
		module->met[offset / 64] |= UINT64_C(1) << (offset % 64);
	return (uint64_t)module->id << 32 | (uint32_t)(address - module->base);
}

/* Where the id of a function is kept. */
static inline struct load_map_id *load_map_kept(struct load_map *map, uint64_t function)
{
	return &map->ids[function / 16 % LOAD_MAP_IDS];
}

/* Looks it up, for a moment since `settled`, and keeps it there. False: memory is out. */
static inline bool load_map_keep(struct load_map *map, struct load_map_id *kept, uint64_t function,
				 uint64_t ticks)
{
	uint64_t id = load_map_function(map, function, ticks);

	if (id)
		*kept = (struct load_map_id){ function, id };
	return id;
}

/*
 * Of the functions met in the module that was looked up last, the one that starts nearest at or
 * below an address; nothing below `least` is looked at. 0 where there is none.
 */
uint64_t load_map_nearest(const struct load_map *map, uint64_t address, uint64_t least);

#endif
