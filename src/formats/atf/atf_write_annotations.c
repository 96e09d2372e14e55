/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations in a session that is written: function_ids of event types, details with numbers and
 * arguments, resources. An annotated scope and its function share one function_id.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/atf/atf_annotations.h"
#include "formats/atf/atf_write.h"

static uint64_t pair_key(uint64_t high, uint32_t low)
{
	return high << 32 | low;
}

/* Adds a key to a set; what is there already is no failure. */
static bool set_add(struct sonde_key_map *map, uint64_t key, uint32_t value)
{
	return sonde_key_map_find(map, key) != UINT32_MAX || sonde_key_map_add(map, key, value);
}

/* Whether a function is of no module, as those of annotated scopes. */
static bool may_be_scope(const struct sonde_function *function)
{
	return function->name &&
	       (function->module == SONDE_NONE ||
		(function->has_key && function->key >> 32 == ATF_ANNOTATIONS_MODULE));
}

/* The first scope of a name shares the function_ids of the functions of that name. */
static enum sonde_status index_scopes(struct atf_writer *writer, struct sonde_error *err)
{
	const struct sonde_definitions *definitions = writer->definitions;
	uint32_t types = sonde_definitions_event_type_count(definitions);
	uint32_t functions = sonde_definitions_function_count(definitions);
	bool any = false;

	for (uint32_t i = 0; i < types; i++) {
		const struct sonde_event_type *type = sonde_definitions_event_type(definitions, i);

		if (!type->is_scope)
			continue;
		any = true;
		if (!set_add(&writer->scopes, type->name, i))
			return sonde_fail_nomem(err);
	}
	for (uint32_t i = 0; any && i < functions; i++) {
		const struct sonde_function *function = sonde_definitions_function(definitions, i);
		uint32_t type = may_be_scope(function) ?
					sonde_key_map_find(&writer->scopes, function->name) :
					UINT32_MAX;

		if (type != UINT32_MAX &&
		    !set_add(&writer->scope_functions, pair_key(function->process, type), i))
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

/* Whether a type is, in each process, that of a function. */
static bool has_functions(const struct atf_writer *writer, uint32_t id)
{
	for (uint32_t i = 0; i < writer->process_count; i++)
		if (sonde_key_map_find(&writer->scope_functions, pair_key(i, id)) == UINT32_MAX)
			return false;
	return true;
}

/* Extends the table of function_ids up to and including a type. Under the lock, or alone. */
static enum sonde_status extend_types(struct atf_writer *writer, uint32_t last,
				      struct sonde_error *err)
{
	for (uint32_t id = sonde_table_count(&writer->type_keys); id <= last; id++) {
		uint64_t key = 0;

		if (!has_functions(writer, id)) {
			do
				key = atf_event_type_key(writer->next_type++);
			while (sonde_key_map_find(&writer->used_keys, key) != UINT32_MAX);
			if (!sonde_key_map_add(&writer->used_keys, key, id))
				return sonde_fail_nomem(err);
		}
		if (sonde_table_add(&writer->type_keys, &key) == SONDE_NONE)
			return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

enum sonde_status atf_writer_begin_types(struct atf_writer *writer, struct sonde_error *err)
{
	uint32_t types = sonde_definitions_event_type_count(writer->definitions);
	enum sonde_status status = index_scopes(writer, err);

	return status < 0 || !types ? status : extend_types(writer, types - 1, err);
}

/* Notes that a process has events of a type, which its manifest then lists. */
static enum sonde_status note_use(struct atf_writer *writer, uint32_t process, uint32_t type,
				  struct sonde_error *err)
{
	uint64_t key = pair_key(process, type);
	bool noted = true;

	if (writer->process_count == 1 ||
	    sonde_key_map_find(&writer->used_types, key) != UINT32_MAX)
		return SONDE_OK;
	pthread_mutex_lock(&writer->lock);
	noted = set_add(&writer->used_types, key, 0) &&
		set_add(&writer->used_types, pair_key(writer->process_count, type), 0);
	pthread_mutex_unlock(&writer->lock);
	return noted ? SONDE_OK : sonde_fail_nomem(err);
}

static enum sonde_status type_key(struct atf_writer *writer, uint32_t process, uint32_t type,
				  uint64_t *key, struct sonde_error *err)
{
	uint32_t function = sonde_key_map_find(&writer->scope_functions, pair_key(process, type));
	const uint64_t *known = sonde_table_at(&writer->type_keys, type);
	enum sonde_status status = SONDE_OK;

	if (function != UINT32_MAX)
		return atf_writer_function_key(writer, function, key, err);
	if (type >= sonde_definitions_event_type_count(writer->definitions))
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "an event names event type %u, which is not defined", type);
	if (!known) {
		pthread_mutex_lock(&writer->lock);
		status = extend_types(writer, type, err);
		pthread_mutex_unlock(&writer->lock);
		if (status < 0)
			return status;
		known = sonde_table_at(&writer->type_keys, type);
	}
	*key = *known;
	return SONDE_OK;
}

enum sonde_status atf_writer_type_key(struct atf_writer *writer, uint32_t process, uint32_t type,
				      uint64_t *key, struct sonde_error *err)
{
	enum sonde_status status = type_key(writer, process, type, key, err);

	return status < 0 ? status : note_use(writer, process, type, err);
}

enum sonde_status atf_writer_listed_type(void *context, uint32_t process, uint32_t type,
					 uint64_t *key, struct sonde_error *err)
{
	struct atf_writer *writer = context;
	uint64_t anywhere = pair_key(writer->process_count, type);

	if (writer->process_count > 1 &&
	    sonde_key_map_find(&writer->used_types, pair_key(process, type)) == UINT32_MAX &&
	    sonde_key_map_find(&writer->scope_functions, pair_key(process, type)) == UINT32_MAX &&
	    (process || sonde_key_map_find(&writer->used_types, anywhere) != UINT32_MAX))
		return SONDE_END;
	return type_key(writer, process, type, key, err);
}

/* What goes beside an event; SONDE_END: nothing. Counts what has no room there. */
static enum sonde_status choose_detail(struct atf_writer *writer, const struct sonde_batch *batch,
				       const struct sonde_event *event, struct sonde_detail *detail,
				       struct sonde_error *err)
{
	uint64_t extra = atf_annotation_extra(event);
	enum sonde_status status = sonde_batch_detail(batch, event, detail, err);
	bool needed = atf_kind_has_extra(event->kind) || extra;

	if (status == SONDE_CORRUPT || status == SONDE_TRUNCATED || status == SONDE_ARGUMENT) {
		status = atf_writer_lose_detail(writer, err);
		status = status == SONDE_OK ? SONDE_END : status;
	} else if (status == SONDE_OK && detail->kind != SONDE_DETAIL_ARGUMENTS && needed) {
		status = sonde_loss_add(writer->loss, "details",
					"an ATF event has one detail, and here it has a number", 1,
					err);
		status = status == SONDE_OK ? SONDE_END : status;
	}
	if (status != SONDE_END || !needed)
		return status;
	*detail = (struct sonde_detail){
		.kind = SONDE_DETAIL_ARGUMENTS,
		.event_type = event->function,
		.time_ns = event->time_ns,
	};
	return SONDE_OK;
}

enum sonde_status atf_writer_annotation(struct atf_writer *writer, const struct sonde_batch *batch,
					const struct sonde_event *event,
					struct sonde_detail *detail, struct sonde_error *err)
{
	enum sonde_status status = choose_detail(writer, batch, event, detail, err);

	if (status != SONDE_OK || detail->kind != SONDE_DETAIL_ARGUMENTS ||
	    detail->size <= ATF_ARGUMENTS_SIZE_MAX)
		return status;
	detail->size = 0;
	return sonde_loss_add(writer->loss, "arguments", "an ATF detail has at most 4 GB", 1, err);
}

enum sonde_status atf_writer_blob(struct sonde_sink *sink, const struct sonde_blob *blob,
				  struct sonde_error *err)
{
	struct atf_writer *writer = (struct atf_writer *)sink;

	if (!writer->process_count)
		return sonde_loss_add(writer->loss, "resources",
				      "without a process an ATF session has no place for them", 1,
				      err);
	return atf_resource_write(&writer->resources, 0, writer->folders[0],
				  sonde_definitions_string(writer->definitions, blob->name), blob,
				  err);
}

void atf_writer_release_annotations(struct atf_writer *writer)
{
	sonde_table_release(&writer->type_keys);
	sonde_key_map_release(&writer->scopes);
	sonde_key_map_release(&writer->scope_functions);
	sonde_key_map_release(&writer->used_types);
	atf_written_resources_release(&writer->resources);
}
