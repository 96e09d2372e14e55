/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The definitions that files of our own carry, as JSON. They are read twice, first into definitions
 * that are thrown away: so damaged ones leave nothing behind.
 */
#include "formats/cff/cff_ours.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "formats/cff/cff_findings.h"

#define SLOTS 10

enum value_kind { VALUE_ABSENT, VALUE_NULL, VALUE_NUMBER, VALUE_STRING };

/* One value of an item of a list. */
struct value {
	enum value_kind kind;
	uint64_t number; /* or the id of a string */
};

struct document {
	struct sonde_json_reader json;
	struct sonde_definitions *definitions;
	struct cff_ours *ours;
	struct value values[SLOTS]; /* of the item, by position or by key */
};

static enum sonde_status refuse(struct document *document, struct sonde_error *err)
{
	return sonde_fail(err, SONDE_CORRUPT, document->json.offset, "an unexpected value");
}

/* The present token is an object: its members become attributes. */
static enum sonde_status read_attributes(struct document *document, enum sonde_owner owner,
					 uint32_t owner_id, struct sonde_error *err)
{
	struct sonde_json_reader *json = &document->json;
	enum sonde_status status;

	if (json->token != SONDE_JSON_OBJECT_BEGIN)
		return refuse(document, err);
	status = sonde_json_next(json, err);
	while (status == SONDE_OK && json->token == SONDE_JSON_KEY) {
		struct sonde_attribute attribute = { .owner = owner, .owner_id = owner_id };
		struct sonde_buffer value = { 0 };
		uint32_t id;

		status = sonde_definitions_add_string(document->definitions, json->text,
						      json->length, &attribute.name, err);
		if (status == SONDE_OK)
			status = sonde_json_copy(json, &value, err);
		if (status == SONDE_OK)
			status = value.failed || !value.size ?
					 sonde_fail_nomem(err) :
					 sonde_definitions_add_string(document->definitions,
								      value.data, value.size,
								      &attribute.value, err);
		if (status == SONDE_OK)
			status = sonde_definitions_add_attribute(document->definitions, &attribute,
								 &id, err);
		sonde_buffer_release(&value);
		if (status == SONDE_OK)
			status = sonde_json_next(json, err);
	}
	return status;
}

/* The present token is a plain value. */
static enum sonde_status read_value(struct document *document, struct value *value,
				    struct sonde_error *err)
{
	struct sonde_json_reader *json = &document->json;
	enum sonde_status status = SONDE_OK;
	uint32_t id = 0;

	switch (json->token) {
	case SONDE_JSON_NULL:
		value->kind = VALUE_NULL;
		return SONDE_OK;
	case SONDE_JSON_STRING:
		value->kind = VALUE_STRING;
		status = sonde_definitions_add_string(document->definitions, json->text,
						      json->length, &id, err);
		value->number = id;
		return status;
	case SONDE_JSON_NUMBER:
		value->kind = VALUE_NUMBER;
		if (!strcmp(json->text, "-1"))
			value->kind = VALUE_NULL;
		else if (!sonde_json_u64(json, &value->number))
			return refuse(document, err);
		return SONDE_OK;
	default:
		return refuse(document, err);
	}
}

/* A list of what: how its items are read, and what is done with each. */
struct list {
	const char *name;
	enum sonde_owner owner;
	const char *keys[SLOTS]; /* of items that are objects; none: they are arrays */
	enum sonde_status (*add)(struct document *document, struct sonde_error *err);
	uint32_t (*count)(const struct sonde_definitions *definitions);
};

static size_t find_slot(const struct list *list, const char *key)
{
	for (size_t i = 0; i < SLOTS && list->keys[i]; i++) {
		if (!strcmp(list->keys[i], key))
			return i;
	}
	return SLOTS;
}

static uint32_t next_id(const struct document *document, const struct list *list)
{
	return list->count ? list->count(document->definitions) :
			     (uint32_t)document->ours->tracks.count;
}

/* The values of an item, into document->values; the present token is its first. */
static enum sonde_status read_item(struct document *document, const struct list *list,
				   struct sonde_error *err)
{
	struct sonde_json_reader *json = &document->json;
	bool is_object = list->keys[0];
	enum sonde_status status;
	size_t slot = 0;

	memset(document->values, 0, sizeof(document->values));
	if (json->token == SONDE_JSON_STRING && !is_object)
		return read_value(document, &document->values[0], err);
	if (json->token != (is_object ? SONDE_JSON_OBJECT_BEGIN : SONDE_JSON_ARRAY_BEGIN))
		return refuse(document, err);
	status = sonde_json_next(json, err);
	for (; status == SONDE_OK && json->token != SONDE_JSON_ARRAY_END &&
	       json->token != SONDE_JSON_OBJECT_END;
	     slot++) {
		bool is_attributes = json->token == SONDE_JSON_OBJECT_BEGIN;

		if (is_object) {
			is_attributes = !strcmp(json->text, "attributes");
			slot = find_slot(list, json->text);
			status = sonde_json_next(json, err);
		}
		if (status < 0)
			return status;
		if (is_attributes)
			status = read_attributes(document, list->owner, next_id(document, list),
						 err);
		else if (slot < SLOTS)
			status = read_value(document, &document->values[slot], err);
		else
			status = sonde_json_skip(json, err);
		if (status == SONDE_OK)
			status = sonde_json_next(json, err);
	}
	return status;
}

/* A number of an item, or what it is where it is absent or null. */
static uint64_t number(const struct document *document, size_t slot, uint64_t absent)
{
	return document->values[slot].kind == VALUE_NUMBER ? document->values[slot].number : absent;
}

/* Likewise 32 bits; what is too large is the same as absent. */
static uint32_t small(const struct document *document, size_t slot, uint32_t absent)
{
	uint64_t value = number(document, slot, absent);

	return value <= UINT32_MAX ? (uint32_t)value : absent;
}

static uint32_t text(const struct document *document, size_t slot)
{
	return document->values[slot].kind == VALUE_STRING ?
		       (uint32_t)document->values[slot].number :
		       0;
}

static enum sonde_status add_clock(struct document *document, struct sonde_error *err)
{
	struct sonde_clock clock = { .name = text(document, 0) };
	uint32_t id, kind = small(document, 1, 0);

	clock.kind = kind <= SONDE_CLOCK_REALTIME ? (enum sonde_clock_kind)kind :
						    SONDE_CLOCK_UNKNOWN;
	return sonde_definitions_add_clock(document->definitions, &clock, &id, err);
}

static enum sonde_status add_anchor(struct document *document, struct sonde_error *err)
{
	struct sonde_anchor anchor = {
		.clock = small(document, 0, SONDE_NONE),
		.clock_ns = number(document, 1, 0),
		.realtime_ns = number(document, 2, 0),
	};
	uint32_t id;

	if (anchor.clock >= sonde_definitions_clock_count(document->definitions))
		return refuse(document, err);
	return sonde_definitions_add_anchor(document->definitions, &anchor, &id, err);
}

static enum sonde_status add_process(struct document *document, struct sonde_error *err)
{
	uint32_t id, arch = small(document, 3, 0), os = small(document, 4, 0);
	struct sonde_process process = {
		.name = text(document, 0),
		.os_id = small(document, 1, SONDE_NONE),
		.clock = small(document, 2, SONDE_NONE),
		.arch = arch <= SONDE_ARCH_ARM64 ? (enum sonde_arch)arch : SONDE_ARCH_UNKNOWN,
		.os = os <= SONDE_OS_WINDOWS ? (enum sonde_os)os : SONDE_OS_UNKNOWN,
		.start_ns = number(document, 5, 0),
		.end_ns = number(document, 6, 0),
	};

	if (process.clock != SONDE_NONE &&
	    process.clock >= sonde_definitions_clock_count(document->definitions))
		return refuse(document, err);
	return sonde_definitions_add_process(document->definitions, &process, &id, err);
}

static bool has_process(const struct document *document, uint32_t process)
{
	return process < sonde_definitions_process_count(document->definitions);
}

static enum sonde_status add_module(struct document *document, struct sonde_error *err)
{
	struct sonde_module module = {
		.process = small(document, 0, SONDE_NONE),
		.path = text(document, 1),
		.uuid = text(document, 2),
		.has_key = document->values[3].kind == VALUE_NUMBER,
		.key = number(document, 3, 0),
		.base_address = number(document, 4, 0),
		.size = number(document, 5, 0),
	};
	uint32_t id;

	if (!has_process(document, module.process))
		return refuse(document, err);
	return sonde_definitions_add_module(document->definitions, &module, &id, err);
}

static enum sonde_status add_track(struct document *document, struct sonde_error *err)
{
	uint32_t kind = small(document, 4, 0);
	struct cff_ours_track track = {
		.track = {
			.process = small(document, 0, SONDE_NONE),
			.name = text(document, 1),
			.slot = small(document, 2, 0),
			.os_id = number(document, 3, UINT64_MAX),
			.kind = kind <= SONDE_TRACK_ZONE ? (enum sonde_track_kind)kind :
							   SONDE_TRACK_ZONE,
			.dropped_events = number(document, 5, 0),
			.name_made_up = number(document, 8, 0),
		},
		.synthetic_head = number(document, 6, 0),
		.synthetic_tail = number(document, 7, 0),
	};
	struct cff_ours_track *place;

	if (!has_process(document, track.track.process))
		return refuse(document, err);
	place = sonde_vec_push(&document->ours->tracks);
	if (!place)
		return sonde_fail_nomem(err);
	*place = track;
	return SONDE_OK;
}

static enum sonde_status add_function(struct document *document, struct sonde_error *err)
{
	struct sonde_function function = {
		.process = small(document, 0, SONDE_NONE),
		.module = small(document, 1, SONDE_NONE),
		.name = text(document, 2),
		.raw_name = text(document, 3),
		.file = text(document, 4),
		.line = small(document, 5, 0),
		.has_key = document->values[6].kind == VALUE_NUMBER,
		.key = number(document, 6, 0),
	};
	uint32_t id;

	if (!has_process(document, function.process) ||
	    (function.module != SONDE_NONE &&
	     function.module >= sonde_definitions_module_count(document->definitions)))
		return refuse(document, err);
	return sonde_definitions_add_function(document->definitions, &function, &id, err);
}

static enum sonde_status add_event_type(struct document *document, struct sonde_error *err)
{
	struct sonde_event_type type = {
		.name = text(document, 0),
		.arguments = text(document, 1),
		.flags = small(document, 2, 0),
		.is_scope = number(document, 3, 0) != 0,
	};
	const char *name = sonde_definitions_string(document->definitions, type.name);
	struct sonde_text_map *map = &document->ours->event_types_by_name;
	enum sonde_status status;
	uint32_t id;

	status = sonde_definitions_add_event_type(document->definitions, &type, &id, err);
	if (status == SONDE_OK && sonde_text_map_find(map, name, strlen(name)) == SONDE_NONE &&
	    !sonde_text_map_add(map, name, strlen(name), id))
		status = sonde_fail_nomem(err);
	return status;
}

static enum sonde_status add_metric(struct document *document, struct sonde_error *err)
{
	struct sonde_metric metric = { .name = text(document, 0),
				       .unit = text(document, 1),
				       .scope = text(document, 2) };
	uint32_t id;

	return sonde_definitions_add_metric(document->definitions, &metric, &id, err);
}

static enum sonde_status add_type(struct document *document, struct sonde_error *err)
{
	const char *name = sonde_definitions_string(document->definitions, text(document, 0));
	struct cff_ours_type type = { small(document, 1, SONDE_NONE),
				      small(document, 2, SONDE_NONE) };
	struct sonde_text_map *map = &document->ours->types_by_name;
	struct cff_ours_type *place;

	if ((type.function != SONDE_NONE &&
	     type.function >= sonde_definitions_function_count(document->definitions)) ||
	    (type.event_type != SONDE_NONE &&
	     type.event_type >= sonde_definitions_event_type_count(document->definitions)))
		return refuse(document, err);
	if (sonde_text_map_find(map, name, strlen(name)) != SONDE_NONE)
		return SONDE_OK;
	place = sonde_vec_push(&document->ours->types);
	if (!place || !sonde_text_map_add(map, name, strlen(name),
					  (uint32_t)(document->ours->types.count - 1)))
		return sonde_fail_nomem(err);
	*place = type;
	return SONDE_OK;
}

static enum sonde_status add_blob(struct document *document, struct sonde_error *err)
{
	uint32_t *name = sonde_vec_push(&document->ours->blob_names);

	if (!name)
		return sonde_fail_nomem(err);
	*name = text(document, 0);
	return SONDE_OK;
}

static const struct list lists[] = {
	{ "clocks", 0, { 0 }, add_clock, sonde_definitions_clock_count },
	{ "anchors", 0, { 0 }, add_anchor, sonde_definitions_anchor_count },
	{ "processes",
	  SONDE_OWNER_PROCESS,
	  { "name", "os_id", "clock", "arch", "os", "start_ns", "end_ns" },
	  add_process,
	  sonde_definitions_process_count },
	{ "modules",
	  SONDE_OWNER_MODULE,
	  { "process", "path", "uuid", "key", "base", "size" },
	  add_module,
	  sonde_definitions_module_count },
	{ "tracks",
	  SONDE_OWNER_TRACK,
	  { "process", "name", "slot", "os_id", "kind", "dropped", "synthetic_head",
	    "synthetic_tail", "name_made_up" },
	  add_track,
	  NULL },
	{ "functions",
	  SONDE_OWNER_FUNCTION,
	  { 0 },
	  add_function,
	  sonde_definitions_function_count },
	{ "event_types", 0, { 0 }, add_event_type, sonde_definitions_event_type_count },
	{ "metrics", 0, { 0 }, add_metric, sonde_definitions_metric_count },
	{ "types", 0, { 0 }, add_type, sonde_definitions_function_count },
	{ "blobs", 0, { 0 }, add_blob, sonde_definitions_function_count },
};

/* The present token is the key of a list. */
static enum sonde_status read_list(struct document *document, const struct list *list,
				   struct sonde_error *err)
{
	struct sonde_json_reader *json = &document->json;
	enum sonde_status status = sonde_json_next(json, err);

	if (status == SONDE_OK && json->token != SONDE_JSON_ARRAY_BEGIN)
		status = refuse(document, err);
	if (status == SONDE_OK)
		status = sonde_json_next(json, err);
	while (status == SONDE_OK && json->token != SONDE_JSON_ARRAY_END) {
		status = read_item(document, list, err);
		if (status == SONDE_OK)
			status = list->add(document, err);
		if (status == SONDE_OK)
			status = sonde_json_next(json, err);
	}
	return status;
}

static enum sonde_status read_member(struct document *document, struct sonde_error *err)
{
	struct sonde_json_reader *json = &document->json;
	enum sonde_status status;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (!strcmp(lists[i].name, json->text))
			return read_list(document, &lists[i], err);
	}
	if (strcmp(json->text, "attributes") != 0)
		return sonde_json_skip(json, err);
	status = sonde_json_next(json, err);
	return status < 0 ? status : read_attributes(document, SONDE_OWNER_RECORDING, 0, err);
}

static enum sonde_status read_document(const struct cff_part *part,
				       struct sonde_definitions *definitions,
				       struct cff_ours **ours, struct sonde_error *err)
{
	struct document document = { .definitions = definitions };
	enum sonde_status status;

	document.ours = *ours = calloc(1, sizeof(**ours));
	if (!*ours)
		return sonde_fail_nomem(err);
	document.ours->definitions = definitions;
	sonde_json_reader_init(&document.json, (const char *)part->data, part->size, NULL, NULL);
	status = sonde_json_next(&document.json, err);
	if (status == SONDE_OK)
		status = sonde_json_next(&document.json, err);
	while (status == SONDE_OK && document.json.token == SONDE_JSON_KEY) {
		status = read_member(&document, err);
		if (status == SONDE_OK)
			status = sonde_json_next(&document.json, err);
	}
	if (status == SONDE_OK)
		status = sonde_json_next(&document.json, err);
	if (status == SONDE_OK && !sonde_definitions_process_count(definitions))
		status = refuse(&document, err);
	sonde_json_reader_release(&document.json);
	if (status < 0) {
		cff_ours_free(*ours);
		*ours = NULL;
	}
	return status;
}

bool cff_ours_resource(const struct cff_image *image, uint32_t type, const char *head,
		       struct cff_part *found)
{
	const struct cff_chunk *chunk;
	uint32_t parts;

	if (!image->chunks.count)
		return false;
	chunk = &image->chunks.items[image->chunks.count - 1];
	parts = cff_chunk_part_count(image, chunk);
	for (uint32_t i = 0; i < parts; i++) {
		*found = cff_chunk_part(image, chunk, i);
		if (found->type == type && found->data && found->size >= strlen(head) &&
		    !memcmp(found->data, head, strlen(head)))
			return true;
	}
	return false;
}

enum sonde_status cff_ours_read(const struct cff_image *image,
				struct sonde_definitions *definitions,
				struct sonde_diagnostics *findings, struct cff_ours **ours,
				struct sonde_error *err)
{
	struct sonde_definitions *trial;
	struct sonde_error failure;
	enum sonde_status status;
	struct cff_part part;

	*ours = NULL;
	if (!cff_ours_resource(image, CFF_PART_STRING_RESOURCE, CFF_OURS_DEFINITIONS, &part)) {
		const struct cff_chunk *last = &image->chunks.items[image->chunks.count - 1];

		CFF_FIND(findings, DEFINITIONS, image->path, cff_image_offset(image, last->offset),
			 "definitions in chunk %zu, the last\tnone", image->chunks.count - 1);
		return SONDE_OK;
	}
	trial = sonde_definitions_new();
	if (!trial)
		return sonde_fail_nomem(err);
	status = read_document(&part, trial, ours, &failure);
	cff_ours_free(*ours);
	*ours = NULL;
	sonde_definitions_free(trial);
	if (status == SONDE_OK)
		return read_document(&part, definitions, ours, err);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	CFF_FIND(findings, DEFINITIONS, image->path,
		 cff_image_offset(image, part.offset + failure.offset),
		 "definitions as sonde writes them in chunk %zu, the last\t%s",
		 image->chunks.count - 1, failure.message);
	return SONDE_OK;
}

void cff_ours_free(struct cff_ours *ours)
{
	if (!ours)
		return;
	sonde_vec_release(&ours->tracks);
	sonde_vec_release(&ours->types);
	sonde_vec_release(&ours->blob_names);
	sonde_text_map_release(&ours->types_by_name);
	sonde_text_map_release(&ours->event_types_by_name);
	free(ours);
}

void cff_ours_find(const struct cff_ours *ours, const char *name, const char *arguments,
		   uint32_t *function, uint32_t *event_type)
{
	uint32_t place = sonde_text_map_find(&ours->types_by_name, name, strlen(name));
	uint32_t id = sonde_text_map_find(&ours->event_types_by_name, name, strlen(name));
	const struct sonde_event_type *type = sonde_definitions_event_type(ours->definitions, id);

	if (place != SONDE_NONE) {
		*function = ours->types.items[place].function;
		*event_type = ours->types.items[place].event_type;
	}
	if (*event_type == SONDE_NONE && type &&
	    !strcmp(sonde_definitions_string(ours->definitions, type->arguments), arguments))
		*event_type = id;
}
