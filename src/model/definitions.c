/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The definitions of a recording: one table for each kind, and the strings, interned. One lock
 * guards everything that adds; lookups take none, because items of a table never move. What the
 * definitions are called on a screen is here too.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/definitions.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/table.h"

struct sonde_definitions {
	pthread_mutex_t lock;
	struct sonde_arena texts;
	struct sonde_text_map string_ids;
	struct sonde_table strings;	       /* of const char * */
	struct sonde_key_map first_attributes; /* attribute_key() -> the first attribute with it */
#define X(kind) struct sonde_table kind;
	SONDE_DEFINITION_LIST(X)
#undef X
};

/* String 0 is "". */
static bool add_empty_string(struct sonde_definitions *definitions)
{
	uint32_t id;

	return !sonde_definitions_add_string(definitions, "", 0, &id, NULL);
}

struct sonde_definitions *sonde_definitions_new(void)
{
	struct sonde_definitions *definitions = calloc(1, sizeof(*definitions));

	if (!definitions)
		return NULL;
	if (pthread_mutex_init(&definitions->lock, NULL)) {
		free(definitions);
		return NULL;
	}
	sonde_table_init(&definitions->strings, sizeof(const char *));
#define X(kind) sonde_table_init(&definitions->kind, sizeof(struct sonde_##kind));
	SONDE_DEFINITION_LIST(X)
#undef X
	if (add_empty_string(definitions))
		return definitions;
	sonde_definitions_free(definitions);
	return NULL;
}

void sonde_definitions_free(struct sonde_definitions *definitions)
{
	if (!definitions)
		return;
#define X(kind) sonde_table_release(&definitions->kind);
	SONDE_DEFINITION_LIST(X)
#undef X
	sonde_key_map_release(&definitions->first_attributes);
	sonde_table_release(&definitions->strings);
	sonde_text_map_release(&definitions->string_ids);
	sonde_arena_release(&definitions->texts);
	pthread_mutex_destroy(&definitions->lock);
	free(definitions);
}

/* The lock is held. */
static enum sonde_status add_item(struct sonde_table *table, const void *item, const char *kind,
				  uint32_t *id, struct sonde_error *err)
{
	if (sonde_table_count(table) == SONDE_NONE)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a recording holds at most %" PRIu32 " of one kind of definition "
				  "(here: %s); split it",
				  SONDE_NONE, kind);
	*id = sonde_table_add(table, item);
	return *id == SONDE_NONE ? sonde_fail_nomem(err) : SONDE_OK;
}

/* Different attributes may share a key, rarely: who finds one by its key compares it. */
static uint64_t attribute_key(enum sonde_owner owner, uint32_t owner_id, uint32_t name)
{
	return ((uint64_t)owner_id << 32 | name) + (uint64_t)owner * 0x9E3779B97F4A7C15u;
}

/* The lock is held. */
static enum sonde_status index_attribute(struct sonde_definitions *definitions, uint32_t id,
					 struct sonde_error *err)
{
	const struct sonde_attribute *value = sonde_table_at(&definitions->attribute, id);
	uint64_t key = attribute_key(value->owner, value->owner_id, value->name);

	if (sonde_key_map_find(&definitions->first_attributes, key) == SONDE_NONE &&
	    !sonde_key_map_add(&definitions->first_attributes, key, id))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

static enum sonde_status add(struct sonde_definitions *definitions, struct sonde_table *table,
			     const void *item, const char *kind, uint32_t *id,
			     struct sonde_error *err)
{
	enum sonde_status status;

	pthread_mutex_lock(&definitions->lock);
	status = add_item(table, item, kind, id, err);
	if (!status && table == &definitions->attribute)
		status = index_attribute(definitions, *id, err);
	pthread_mutex_unlock(&definitions->lock);
	return status;
}

#define X(kind)                                                                                    \
	enum sonde_status sonde_definitions_add_##kind(struct sonde_definitions *definitions,      \
						       const struct sonde_##kind *value,           \
						       uint32_t *id, struct sonde_error *err)      \
	{                                                                                          \
		return add(definitions, &definitions->kind, value, #kind, id, err);                \
	}                                                                                          \
	const struct sonde_##kind *sonde_definitions_##kind(                                       \
		const struct sonde_definitions *definitions, uint32_t id)                          \
	{                                                                                          \
		return sonde_table_at(&definitions->kind, id);                                     \
	}                                                                                          \
	uint32_t sonde_definitions_##kind##_count(const struct sonde_definitions *definitions)     \
	{                                                                                          \
		return sonde_table_count(&definitions->kind);                                      \
	}
SONDE_DEFINITION_LIST(X)
#undef X

/*
 * The lock is held. The map comes last: where that fails, a string without a way to find it stays
 * behind, which nobody has an id of.
 */
static enum sonde_status intern(struct sonde_definitions *definitions, const char *text,
				size_t length, uint32_t *id, struct sonde_error *err)
{
	enum sonde_status status;
	const char *copy;

	*id = sonde_text_map_find(&definitions->string_ids, text, length);
	if (*id != SONDE_NONE)
		return SONDE_OK;
	copy = sonde_arena_copy_text(&definitions->texts, text, length);
	if (!copy)
		return sonde_fail_nomem(err);
	status = add_item(&definitions->strings, &copy, "string", id, err);
	if (status)
		return status;
	if (!sonde_text_map_add(&definitions->string_ids, copy, length, *id))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

enum sonde_status sonde_definitions_add_string(struct sonde_definitions *definitions,
					       const char *text, size_t length, uint32_t *id,
					       struct sonde_error *err)
{
	enum sonde_status status;

	if (length && memchr(text, '\0', length))
		return sonde_fail(err, SONDE_ARGUMENT, SONDE_NO_OFFSET,
				  "a string of %zu bytes has a NUL byte inside, which no "
				  "definition can hold; replace it",
				  length);
	if (length >= UINT32_MAX)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "a string of %zu bytes is longer than the %" PRIu32
				  " that a definition can hold",
				  length, UINT32_MAX - 1);
	pthread_mutex_lock(&definitions->lock);
	status = intern(definitions, text, length, id, err);
	pthread_mutex_unlock(&definitions->lock);
	return status;
}

const char *sonde_definitions_string(const struct sonde_definitions *definitions, uint32_t id)
{
	const char *const *text = sonde_table_at(&definitions->strings, id);

	return text ? *text : "";
}

const char *sonde_definitions_function_label(const struct sonde_definitions *definitions,
					     uint32_t function, char space[SONDE_LABEL_SIZE])
{
	const struct sonde_function *found = sonde_definitions_function(definitions, function);

	if (found && found->name)
		return sonde_definitions_string(definitions, found->name);
	if (found && found->has_key)
		snprintf(space, SONDE_LABEL_SIZE, "0x%016" PRIx64, found->key);
	else if (function != SONDE_NONE)
		snprintf(space, SONDE_LABEL_SIZE, "function %" PRIu32, function);
	else
		return "(unknown function)";
	return space;
}

const char *sonde_definitions_track_label(const struct sonde_definitions *definitions,
					  uint32_t track, char space[SONDE_LABEL_SIZE])
{
	static const char *const words[] = {
		[SONDE_TRACK_THREAD] = "thread",
		[SONDE_TRACK_GPU_STREAM] = "stream",
		[SONDE_TRACK_ZONE] = "zone",
	};
	const struct sonde_track *found = sonde_definitions_track(definitions, track);

	if (found && found->name)
		return sonde_definitions_string(definitions, found->name);
	if (found)
		snprintf(space, SONDE_LABEL_SIZE, "%s %" PRIu32, words[found->kind], found->slot);
	else if (track != SONDE_NONE)
		snprintf(space, SONDE_LABEL_SIZE, "track %" PRIu32, track);
	else
		return "(unknown track)";
	return space;
}

/* Interning moves the map of string ids, so even looking at it takes the lock. */
static uint32_t find_string(const struct sonde_definitions *definitions, const char *text)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&definitions->lock;
	uint32_t id;

	pthread_mutex_lock(lock);
	id = sonde_text_map_find(&definitions->string_ids, text, strlen(text));
	pthread_mutex_unlock(lock);
	return id;
}

static bool is_attribute(const struct sonde_attribute *attribute, enum sonde_owner owner,
			 uint32_t owner_id, uint32_t name)
{
	return attribute->owner == owner && attribute->owner_id == owner_id &&
	       attribute->name == name;
}

const char *sonde_definitions_find_attribute(const struct sonde_definitions *definitions,
					     enum sonde_owner owner, uint32_t owner_id,
					     const char *name)
{
	uint32_t name_id = find_string(definitions, name), first;
	const struct sonde_attribute *found;

	if (name_id == SONDE_NONE)
		return NULL;
	first = sonde_key_map_find(&definitions->first_attributes,
				   attribute_key(owner, owner_id, name_id));
	/* Past the first there are others only where two attributes share a key. */
	for (; (found = sonde_definitions_attribute(definitions, first)); first++) {
		if (is_attribute(found, owner, owner_id, name_id))
			return sonde_definitions_string(definitions, found->value);
	}
	return NULL;
}
