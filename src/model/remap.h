/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbering anew: how the ids of a source's definitions become ids of the target's definitions.
 * The filter that applies it to events is in renumber.c.
 */
#ifndef SONDE_MODEL_REMAP_H
#define SONDE_MODEL_REMAP_H

#include <stdatomic.h>

#include <sonde/pipeline.h>

/* One source's ids in the target. */
struct sonde_remap;

struct sonde_remap_request {
	const bool *wanted; /* by track; NULL: everything */
	/* Processes begin and end within these times; nothing else of it is looked at. */
	const struct sonde_selection_spec *spec;
	struct sonde_loss *loss; /* counts what the sources disagree about */
	/* By process: times move to the clock of process `clock_of` of the first source, whose remap is
	 * the first one into a target; of others it is SONDE_NONE. NULL: they stay. */
	const struct sonde_time_map *time_maps;
	uint32_t clock_of;
	const char *label; /* to put before the names of processes, or NULL */
};

/* Copies to `target` what belongs to the wanted tracks of a source. */
enum sonde_status sonde_remap_new(const struct sonde_definitions *source,
				  struct sonde_definitions *target,
				  const struct sonde_remap_request *request,
				  struct sonde_remap **remap, struct sonde_error *err);
void sonde_remap_free(struct sonde_remap *remap);

/* The target's id of a wanted track, and of that track's process. */
uint32_t sonde_remap_track(const struct sonde_remap *remap, uint32_t track);
uint32_t sonde_remap_process_of(const struct sonde_remap *remap, uint32_t track);

/*
 * A growing map of ids that is read without a lock. The ids below `count` are known; SONDE_NONE
 * among them means that nobody needed that one so far.
 */
struct sonde_id_slots {
	struct sonde_id_slots *retired; /* the smaller ones before this, freed with the map */
	size_t capacity;
	_Atomic uint32_t ids[];
};

struct sonde_id_map {
	struct sonde_id_slots *_Atomic slots; /* published before the count */
	_Atomic uint32_t count;
};

static inline uint32_t sonde_id_map_find(const struct sonde_id_map *map, uint32_t id)
{
	const struct sonde_id_slots *slots;

	if (id >= atomic_load_explicit(&map->count, memory_order_acquire))
		return SONDE_NONE;
	slots = atomic_load_explicit(&map->slots, memory_order_acquire);
	return atomic_load_explicit(&slots->ids[id], memory_order_acquire);
}

/* The map of functions as one track uses it. */
struct sonde_function_map {
	struct sonde_remap *remap;
	uint32_t process; /* in the target: of functions whose own process is not there */
};

/*
 * The target's id of a source's function or event type. One that was defined after
 * sonde_remap_new() is copied to the target now. An id that the source does not have gives
 * SONDE_NONE. Safe from several threads.
 */
enum sonde_status sonde_function_map_get(const struct sonde_function_map *map, uint32_t function,
					 uint32_t *id, struct sonde_error *err);
enum sonde_status sonde_remap_event_type(struct sonde_remap *remap, uint32_t event_type,
					 uint32_t *id, struct sonde_error *err);

/* Makes a string id of the source one of the target. */
enum sonde_status sonde_remap_string(struct sonde_remap *remap, uint32_t *string,
				     struct sonde_error *err);

/* The target's id of a module that a context names, also of one whose process is not wanted. */
enum sonde_status sonde_remap_module(struct sonde_remap *remap, uint32_t module, uint32_t *id,
				     struct sonde_error *err);

/* The target's id of a metric; SONDE_NONE for one that the source does not have. */
uint32_t sonde_remap_metric(const struct sonde_remap *remap, uint32_t metric);

/* The target's metric that says the same as *metric (in the target's strings), or a new one. */
enum sonde_status sonde_unite_metric(struct sonde_definitions *target,
				     const struct sonde_metric *metric, uint32_t *id,
				     struct sonde_error *err);

/* For a first try without a call. */
const struct sonde_id_map *sonde_remap_functions(const struct sonde_remap *remap);

#endif
