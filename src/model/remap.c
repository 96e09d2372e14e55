/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the definitions of one source into a target and remembers what became of the ids.
 * Functions and event types may still be defined while events are read, so their maps grow: one
 * thread at a time adds, under a lock, and the others look up without it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "model/remap_private.h"
#include "model/time_map.h"

/* Where a definition of this process goes, if anywhere. */
static uint32_t mapped(const uint32_t *ids, uint32_t count, uint32_t id)
{
	return id < count ? ids[id] : SONDE_NONE;
}

static uint32_t *new_ids(uint32_t count)
{
	uint32_t *ids = malloc(((size_t)count + 1) * sizeof(*ids));

	if (ids)
		memset(ids, 0xFF, ((size_t)count + 1) * sizeof(*ids));
	return ids;
}

/* Replaces a string id of the source by one of the target. */
static enum sonde_status copy_string(struct sonde_remap *remap, uint32_t *string,
				     struct sonde_error *err)
{
	const char *text;

	if (!*string)
		return SONDE_OK;
	text = sonde_definitions_string(remap->source, *string);
	return sonde_definitions_add_string(remap->target, text, strlen(text), string, err);
}

static enum sonde_status copy_clocks(struct sonde_remap *remap, struct sonde_error *err)
{
	uint32_t anchors = sonde_definitions_anchor_count(remap->source), id;
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; !status && i < remap->clock_count; i++) {
		struct sonde_clock clock = *sonde_definitions_clock(remap->source, i);

		status = copy_string(remap, &clock.name, err);
		if (!status)
			status = sonde_definitions_add_clock(remap->target, &clock,
							     &remap->clocks[i], err);
	}
	for (uint32_t i = 0; !status && i < anchors; i++) {
		struct sonde_anchor anchor = *sonde_definitions_anchor(remap->source, i);

		anchor.clock = mapped(remap->clocks, remap->clock_count, anchor.clock);
		status = sonde_definitions_add_anchor(remap->target, &anchor, &id, err);
	}
	return status;
}

static uint64_t clamp(uint64_t time_ns, const struct sonde_selection_spec *spec)
{
	if (time_ns < spec->from_ns)
		return spec->from_ns;
	return spec->to_ns && time_ns > spec->to_ns ? spec->to_ns : time_ns;
}

/* The name of a process with the label of its source before it. */
static enum sonde_status copy_process_name(struct sonde_remap *remap, uint32_t *name,
					   struct sonde_error *err)
{
	const char *own = sonde_definitions_string(remap->source, *name);
	struct sonde_buffer text = { 0 };
	enum sonde_status status;

	if (!remap->request->label)
		return copy_string(remap, name, err);
	sonde_buffer_put_text(&text, remap->request->label);
	sonde_buffer_put_text(&text, *own ? "/" : "");
	sonde_buffer_put_text(&text, own);
	status = sonde_buffer_text(&text) ? sonde_definitions_add_string(remap->target, text.data,
									 text.size, name, err) :
					    sonde_fail_nomem(err);
	sonde_buffer_release(&text);
	return status;
}

static enum sonde_status copy_process(struct sonde_remap *remap, uint32_t id,
				      struct sonde_error *err)
{
	const struct sonde_remap_request *request = remap->request;
	struct sonde_process process = *sonde_definitions_process(remap->source, id);
	enum sonde_status status = copy_process_name(remap, &process.name, err);

	if (status)
		return status;
	process.clock = mapped(remap->clocks, remap->clock_count, process.clock);
	if (request->time_maps && sonde_definitions_clock_count(remap->target))
		process.clock = 0;
	if (process.start_ns || process.end_ns) {
		process.start_ns = clamp(process.start_ns, request->spec);
		process.end_ns = clamp(process.end_ns, request->spec);
		if (request->time_maps) {
			const struct sonde_time_map *map = &request->time_maps[id];

			process.start_ns = sonde_time_map_apply(map, process.start_ns);
			process.end_ns = sonde_time_map_apply(map, process.end_ns);
		}
	}
	return sonde_definitions_add_process(remap->target, &process, &remap->processes[id], err);
}

/* A process is wanted for its tracks; where everything is wanted, also without any. */
static enum sonde_status copy_processes(struct sonde_remap *remap, struct sonde_error *err)
{
	const bool *wanted = remap->request->wanted;
	enum sonde_status status = SONDE_OK;
	bool *has_tracks = calloc((size_t)remap->process_count + 1, sizeof(*has_tracks));

	if (!has_tracks)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; wanted && i < remap->track_count; i++) {
		uint32_t process = sonde_definitions_track(remap->source, i)->process;

		if (wanted[i] && process < remap->process_count)
			has_tracks[process] = true;
	}
	for (uint32_t i = 0; !status && i < remap->process_count; i++) {
		if (!wanted || has_tracks[i])
			status = copy_process(remap, i, err);
	}
	free(has_tracks);
	return status;
}

/* What a track says of its times is the source's, but by the target's clock. */
static void move_track(const struct sonde_remap *remap, struct sonde_track *track)
{
	const struct sonde_time_map *map = remap->request->time_maps;

	if (!map || !(track->event_count + track->sample_count))
		return;
	map += track->process < remap->process_count ? track->process : 0;
	track->time_first_ns = sonde_time_map_apply(map, track->time_first_ns);
	track->time_last_ns = sonde_time_map_apply(map, track->time_last_ns);
}

static enum sonde_status copy_tracks(struct sonde_remap *remap, struct sonde_error *err)
{
	const bool *wanted = remap->request->wanted;
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; !status && i < remap->track_count; i++) {
		struct sonde_track track = *sonde_definitions_track(remap->source, i);

		if (wanted && !wanted[i])
			continue;
		move_track(remap, &track);
		track.process = mapped(remap->processes, remap->process_count, track.process);
		track.unfinished = false;
		status = copy_string(remap, &track.name, err);
		if (!status)
			status = sonde_definitions_add_track(remap->target, &track,
							     &remap->tracks[i], err);
	}
	return status;
}

static enum sonde_status copy_module(struct sonde_remap *remap, uint32_t module_id,
				     uint32_t process, uint32_t *target, struct sonde_error *err)
{
	struct sonde_module module = *sonde_definitions_module(remap->source, module_id);
	enum sonde_status status = copy_string(remap, &module.path, err);

	module.process = process;
	if (!status)
		status = copy_string(remap, &module.uuid, err);
	if (!status)
		status = sonde_definitions_add_module(remap->target, &module, target, err);
	return status;
}

/* A module that was defined after the start; the lock is held. */
static enum sonde_status late_module(struct sonde_remap *remap, uint32_t id, uint32_t *target,
				     struct sonde_error *err)
{
	const struct sonde_module *module = sonde_definitions_module(remap->source, id);
	enum sonde_status status;

	*target = sonde_key_map_find(&remap->late_modules, id);
	if (*target != SONDE_NONE || !module)
		return SONDE_OK;
	status = copy_module(remap, id,
			     mapped(remap->processes, remap->process_count, module->process),
			     target, err);
	if (!status && !sonde_key_map_add(&remap->late_modules, id, *target))
		status = sonde_fail_nomem(err);
	return status;
}

static enum sonde_status copy_modules(struct sonde_remap *remap, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; !status && i < remap->module_count; i++) {
		uint32_t own = sonde_definitions_module(remap->source, i)->process;
		uint32_t process = mapped(remap->processes, remap->process_count, own);

		if (process != SONDE_NONE || own == SONDE_NONE)
			status = copy_module(remap, i, process, &remap->modules[i], err);
	}
	return status;
}

enum sonde_status sonde_remap_module(struct sonde_remap *remap, uint32_t module, uint32_t *id,
				     struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	*id = SONDE_NONE;
	if (module >= remap->module_count)
		return SONDE_OK;
	pthread_mutex_lock(&remap->lock);
	if (remap->modules[module] == SONDE_NONE)
		status = copy_module(remap, module, SONDE_NONE, &remap->modules[module], err);
	*id = remap->modules[module];
	pthread_mutex_unlock(&remap->lock);
	return status;
}

uint32_t sonde_remap_metric(const struct sonde_remap *remap, uint32_t metric)
{
	return mapped(remap->metrics, remap->metric_count, metric);
}

static bool is_metric(const struct sonde_metric *a, const struct sonde_metric *b)
{
	return a->name == b->name && a->unit == b->unit && a->scope == b->scope &&
	       a->statistic == b->statistic;
}

enum sonde_status sonde_unite_metric(struct sonde_definitions *target,
				     const struct sonde_metric *metric, uint32_t *id,
				     struct sonde_error *err)
{
	uint32_t count = sonde_definitions_metric_count(target);

	for (*id = 0; *id < count; ++*id) {
		if (is_metric(sonde_definitions_metric(target, *id), metric))
			return SONDE_OK;
	}
	return sonde_definitions_add_metric(target, metric, id, err);
}

static uint64_t metric_key(const struct sonde_metric *metric)
{
	uint64_t hash = sonde_hash_mix((uint64_t)metric->name << 32 | metric->scope);

	return sonde_hash_mix(hash ^ ((uint64_t)metric->statistic << 32 | metric->unit));
}

/* The same metric of an earlier source; of several with one key only the first is found. */
static uint32_t find_metric(const struct sonde_remap *remap, const struct sonde_key_map *earlier,
			    const struct sonde_metric *metric)
{
	uint32_t id = sonde_key_map_find(earlier, metric_key(metric));

	if (id == SONDE_NONE || !is_metric(sonde_definitions_metric(remap->target, id), metric))
		return SONDE_NONE;
	return id;
}

static enum sonde_status copy_metric(struct sonde_remap *remap, uint32_t number,
				     const struct sonde_key_map *earlier, struct sonde_error *err)
{
	struct sonde_metric metric = *sonde_definitions_metric(remap->source, number);
	enum sonde_status status = copy_string(remap, &metric.name, err);

	if (!status)
		status = copy_string(remap, &metric.unit, err);
	if (!status)
		status = copy_string(remap, &metric.description, err);
	if (!status)
		status = copy_string(remap, &metric.scope, err);
	if (!status)
		status = copy_string(remap, &metric.statistic, err);
	if (status)
		return status;
	remap->metrics[number] = find_metric(remap, earlier, &metric);
	if (remap->metrics[number] != SONDE_NONE)
		return SONDE_OK;
	return sonde_definitions_add_metric(remap->target, &metric, &remap->metrics[number], err);
}

/* What sources measured by the same name and scope is one metric. */
static enum sonde_status copy_metrics(struct sonde_remap *remap, struct sonde_error *err)
{
	uint32_t before = sonde_definitions_metric_count(remap->target);
	enum sonde_status status = SONDE_OK;
	struct sonde_key_map earlier = { .current = NULL };

	for (uint32_t i = 0; !status && i < before; i++) {
		uint64_t key = metric_key(sonde_definitions_metric(remap->target, i));

		if (sonde_key_map_find(&earlier, key) == SONDE_NONE &&
		    !sonde_key_map_add(&earlier, key, i))
			status = sonde_fail_nomem(err);
	}
	for (uint32_t i = 0; !status && i < remap->metric_count; i++)
		status = copy_metric(remap, i, &earlier, err);
	sonde_key_map_release(&earlier);
	return status;
}

/* Room for one more id; the lock is held. */
static struct sonde_id_slots *id_map_reserve(struct sonde_id_map *map)
{
	struct sonde_id_slots *old = atomic_load_explicit(&map->slots, memory_order_relaxed);
	uint32_t count = atomic_load_explicit(&map->count, memory_order_relaxed);
	size_t capacity = old ? old->capacity * 2 : 256;
	struct sonde_id_slots *grown;

	if (old && count < old->capacity)
		return old;
	grown = malloc(sizeof(*grown) + capacity * sizeof(grown->ids[0]));
	if (!grown)
		return NULL;
	grown->retired = old;
	grown->capacity = capacity;
	for (uint32_t i = 0; i < count; i++)
		atomic_init(&grown->ids[i],
			    atomic_load_explicit(&old->ids[i], memory_order_relaxed));
	atomic_store_explicit(&map->slots, grown, memory_order_release);
	return grown;
}

static void id_map_release(struct sonde_id_map *map)
{
	struct sonde_id_slots *slots = atomic_load_explicit(&map->slots, memory_order_relaxed);

	while (slots) {
		struct sonde_id_slots *retired = slots->retired;

		free(slots);
		slots = retired;
	}
}

static void id_map_set(struct sonde_id_map *map, uint32_t source, uint32_t target)
{
	struct sonde_id_slots *slots = atomic_load_explicit(&map->slots, memory_order_relaxed);

	atomic_store_explicit(&slots->ids[source], target, memory_order_release);
}

/* Copies a function into a process of the target. */
static enum sonde_status copy_function(struct sonde_remap *remap, uint32_t id, uint32_t process,
				       uint32_t *target, struct sonde_error *err)
{
	struct sonde_function function = *sonde_definitions_function(remap->source, id);
	enum sonde_status status;

	function.process = process;
	if (function.module < remap->module_count || function.module == SONDE_NONE)
		function.module = mapped(remap->modules, remap->module_count, function.module);
	else if ((status = late_module(remap, function.module, &function.module, err)))
		return status;
	status = copy_string(remap, &function.name, err);
	if (!status)
		status = copy_string(remap, &function.raw_name, err);
	if (!status)
		status = copy_string(remap, &function.file, err);
	if (!status)
		status = sonde_definitions_add_function(remap->target, &function, target, err);
	return status;
}

/* Takes in the functions up to `end` that are not known yet; the lock is held. */
static enum sonde_status extend_functions(struct sonde_remap *remap, uint32_t end,
					  struct sonde_error *err)
{
	struct sonde_id_map *map = &remap->functions;
	uint32_t i = atomic_load_explicit(&map->count, memory_order_relaxed);

	for (; i < end; i++) {
		uint32_t own = sonde_definitions_function(remap->source, i)->process;
		uint32_t process = mapped(remap->processes, remap->process_count, own);
		uint32_t target = SONDE_NONE;

		if (!id_map_reserve(map))
			return sonde_fail_nomem(err);
		if (process != SONDE_NONE || own == SONDE_NONE) {
			enum sonde_status status = copy_function(remap, i, process, &target, err);

			if (status)
				return status;
		}
		id_map_set(map, i, target);
		atomic_store_explicit(&map->count, i + 1, memory_order_release);
	}
	return SONDE_OK;
}

enum sonde_status sonde_function_map_get(const struct sonde_function_map *map, uint32_t function,
					 uint32_t *id, struct sonde_error *err)
{
	struct sonde_remap *remap = map->remap;
	enum sonde_status status;

	*id = sonde_id_map_find(&remap->functions, function);
	if (*id != SONDE_NONE || function >= sonde_definitions_function_count(remap->source))
		return SONDE_OK;
	pthread_mutex_lock(&remap->lock);
	status = extend_functions(remap, function + 1, err);
	if (!status) {
		*id = sonde_id_map_find(&remap->functions, function);
		/* It belongs to a process that was not wanted, and is met in one that was. */
		if (*id == SONDE_NONE) {
			status = copy_function(remap, function, map->process, id, err);
			if (!status)
				id_map_set(&remap->functions, function, *id);
		}
	}
	pthread_mutex_unlock(&remap->lock);
	return status;
}

/* Takes in the event types up to `end` that are not known yet; the lock is held. */
static enum sonde_status extend_event_types(struct sonde_remap *remap, uint32_t end,
					    struct sonde_error *err)
{
	struct sonde_id_map *map = &remap->event_types;
	uint32_t i = atomic_load_explicit(&map->count, memory_order_relaxed);

	for (; i < end; i++) {
		struct sonde_event_type type = *sonde_definitions_event_type(remap->source, i);
		enum sonde_status status = copy_string(remap, &type.name, err);
		uint32_t target;

		if (!status)
			status = copy_string(remap, &type.arguments, err);
		if (!status)
			status = sonde_definitions_add_event_type(remap->target, &type, &target,
								  err);
		if (status)
			return status;
		if (!id_map_reserve(map))
			return sonde_fail_nomem(err);
		id_map_set(map, i, target);
		atomic_store_explicit(&map->count, i + 1, memory_order_release);
	}
	return SONDE_OK;
}

enum sonde_status sonde_remap_event_type(struct sonde_remap *remap, uint32_t event_type,
					 uint32_t *id, struct sonde_error *err)
{
	enum sonde_status status;

	*id = sonde_id_map_find(&remap->event_types, event_type);
	if (*id != SONDE_NONE || event_type >= sonde_definitions_event_type_count(remap->source))
		return SONDE_OK;
	pthread_mutex_lock(&remap->lock);
	status = extend_event_types(remap, event_type + 1, err);
	pthread_mutex_unlock(&remap->lock);
	*id = sonde_id_map_find(&remap->event_types, event_type);
	return status;
}

static uint32_t map_owner(const struct sonde_remap *remap, const struct sonde_attribute *attribute)
{
	uint32_t id = attribute->owner_id;

	switch (attribute->owner) {
	case SONDE_OWNER_PROCESS:
		return mapped(remap->processes, remap->process_count, id);
	case SONDE_OWNER_TRACK:
		return mapped(remap->tracks, remap->track_count, id);
	case SONDE_OWNER_MODULE:
		return mapped(remap->modules, remap->module_count, id);
	case SONDE_OWNER_FUNCTION:
		return sonde_id_map_find(&remap->functions, id);
	case SONDE_OWNER_RECORDING:
		break;
	}
	return id;
}

/* The recording's own attributes meet those of the sources before: the first one stays. */
static enum sonde_status copy_attribute(struct sonde_remap *remap, struct sonde_attribute attribute,
					struct sonde_loss *loss, struct sonde_error *err)
{
	const char *name = sonde_definitions_string(remap->source, attribute.name);
	const char *value = sonde_definitions_string(remap->source, attribute.value);
	const char *before = NULL;
	enum sonde_status status;
	uint32_t id;

	if (attribute.owner == SONDE_OWNER_RECORDING)
		before = sonde_definitions_find_attribute(remap->target, attribute.owner,
							  attribute.owner_id, name);
	if (before)
		return sonde_loss_add(loss, "attributes of a recording",
				      "another source says otherwise, and came first",
				      strcmp(before, value) ? 1 : 0, err);
	status = copy_string(remap, &attribute.name, err);
	if (!status)
		status = copy_string(remap, &attribute.value, err);
	if (!status)
		status = sonde_definitions_add_attribute(remap->target, &attribute, &id, err);
	return status;
}

static enum sonde_status copy_attributes(struct sonde_remap *remap, struct sonde_loss *loss,
					 struct sonde_error *err)
{
	uint32_t count = sonde_definitions_attribute_count(remap->source);
	enum sonde_status status = SONDE_OK;

	for (uint32_t i = 0; !status && i < count; i++) {
		struct sonde_attribute attribute = *sonde_definitions_attribute(remap->source, i);

		attribute.owner_id = map_owner(remap, &attribute);
		if (attribute.owner_id != SONDE_NONE || attribute.owner == SONDE_OWNER_RECORDING)
			status = copy_attribute(remap, attribute, loss, err);
	}
	return status;
}

static enum sonde_status copy_all(struct sonde_remap *remap, struct sonde_error *err)
{
	uint32_t functions = sonde_definitions_function_count(remap->source);
	uint32_t event_types = sonde_definitions_event_type_count(remap->source);
	enum sonde_status status = remap->request->time_maps ?
					   sonde_remap_unite_clocks(remap, err) :
					   copy_clocks(remap, err);

	if (!status)
		status = copy_processes(remap, err);
	if (!status)
		status = copy_tracks(remap, err);
	if (!status)
		status = copy_modules(remap, err);
	if (!status)
		status = copy_metrics(remap, err);
	if (!status)
		status = extend_functions(remap, functions, err);
	if (!status)
		status = extend_event_types(remap, event_types, err);
	if (!status)
		status = copy_attributes(remap, remap->request->loss, err);
	return status;
}

static struct sonde_remap *remap_alloc(const struct sonde_definitions *source,
				       struct sonde_definitions *target)
{
	struct sonde_remap *remap = calloc(1, sizeof(*remap));

	if (!remap || pthread_mutex_init(&remap->lock, NULL)) {
		free(remap);
		return NULL;
	}
	remap->source = source;
	remap->target = target;
	remap->clock_count = sonde_definitions_clock_count(source);
	remap->process_count = sonde_definitions_process_count(source);
	remap->track_count = sonde_definitions_track_count(source);
	remap->module_count = sonde_definitions_module_count(source);
	remap->metric_count = sonde_definitions_metric_count(source);
	remap->clocks = new_ids(remap->clock_count);
	remap->processes = new_ids(remap->process_count);
	remap->tracks = new_ids(remap->track_count);
	remap->modules = new_ids(remap->module_count);
	remap->metrics = new_ids(remap->metric_count);
	if (remap->clocks && remap->processes && remap->tracks && remap->modules && remap->metrics)
		return remap;
	sonde_remap_free(remap);
	return NULL;
}

enum sonde_status sonde_remap_new(const struct sonde_definitions *source,
				  struct sonde_definitions *target,
				  const struct sonde_remap_request *request,
				  struct sonde_remap **remap, struct sonde_error *err)
{
	struct sonde_remap *made = remap_alloc(source, target);
	enum sonde_status status;

	*remap = NULL;
	if (!made)
		return sonde_fail_nomem(err);
	made->request = request;
	status = copy_all(made, err);
	made->request = NULL;
	if (status) {
		sonde_remap_free(made);
		return status;
	}
	*remap = made;
	return SONDE_OK;
}

void sonde_remap_free(struct sonde_remap *remap)
{
	if (!remap)
		return;
	id_map_release(&remap->functions);
	id_map_release(&remap->event_types);
	sonde_key_map_release(&remap->late_modules);
	free(remap->clocks);
	free(remap->processes);
	free(remap->tracks);
	free(remap->modules);
	free(remap->metrics);
	pthread_mutex_destroy(&remap->lock);
	free(remap);
}

uint32_t sonde_remap_track(const struct sonde_remap *remap, uint32_t track)
{
	return mapped(remap->tracks, remap->track_count, track);
}

uint32_t sonde_remap_process_of(const struct sonde_remap *remap, uint32_t track)
{
	return mapped(remap->processes, remap->process_count,
		      sonde_definitions_track(remap->source, track)->process);
}

enum sonde_status sonde_remap_string(struct sonde_remap *remap, uint32_t *string,
				     struct sonde_error *err)
{
	return copy_string(remap, string, err);
}

const struct sonde_id_map *sonde_remap_functions(const struct sonde_remap *remap)
{
	return &remap->functions;
}
