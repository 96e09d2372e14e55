/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of manifest.json, each kind a table of fields that one function reads. Only for those
 * who read manifests: atf_manifest.c and what it is made of.
 */
#ifndef SONDE_ATF_MANIFEST_OBJECT_H
#define SONDE_ATF_MANIFEST_OBJECT_H

#include "base/json.h"
#include "formats/atf/atf_manifest.h"

/* The "event_type" of the symbol that is being read. */
struct manifest_event_type {
	bool present;
	uint32_t arguments; /* string id */
	uint32_t flags;
	bool is_scope;
	bool is_function; /* a function of the same symbol: usual for scopes */
};

struct manifest_reader {
	struct atf_manifest *manifest;
	struct sonde_json_reader json;
	struct sonde_definitions *definitions;
	struct sonde_diagnostics *diagnostics;
	const struct atf_symbol_maps *maps;
	struct sonde_key_map modules; /* module_id -> module id */
	uint32_t process;
	struct manifest_event_type event_type;
	bool threads_only;
	bool modules_seen;
	bool symbols_late; /* they stand before the modules: passed over, for a second round */
	struct sonde_buffer text;
};

enum manifest_field_type {
	FIELD_NUMBER,
	FIELD_TEXT, /* value: string id */
	FIELD_BOOL,
	FIELD_HEX,     /* "0x1f" or a number */
	FIELD_OBJECTS, /* an array of objects, each read by `each` */
	FIELD_OBJECT,  /* an object, read by `each` */
};

struct manifest_field {
	const char *name;
	enum manifest_field_type type;
	bool needs_modules;
	bool of_every_part; /* FIELD_OBJECTS: read with `threads_only` too */
	enum sonde_status (*each)(struct manifest_reader *reader, struct sonde_error *err);
};

#define FIELDS_MAX 12

/* One object as read: values by the number of their field, and the keys nobody knows. */
struct manifest_object {
	uint64_t value[FIELDS_MAX];
	uint32_t present; /* bit per field */
	struct atf_extras extras;
};

static inline bool object_has(const struct manifest_object *object, unsigned int field)
{
	return object->present >> field & 1;
}

static inline uint64_t object_get(const struct manifest_object *object, unsigned int field,
				  uint64_t otherwise)
{
	return object_has(object, field) ? object->value[field] : otherwise;
}

/* A value of the wrong type or out of range: a finding, and the value is passed over. */
enum sonde_status atf_manifest_reject(struct manifest_reader *reader, const char *name,
				      const char *expected, struct sonde_error *err);

/*
 * Reads an object, from behind its opening brace, by a table of fields that ends in a NULL name.
 * Release its extras in either case.
 */
enum sonde_status atf_manifest_object(struct manifest_reader *reader,
				      const struct manifest_field *table,
				      struct manifest_object *object, struct sonde_error *err);

/* Objects of the annotations, in atf_manifest_annotations.c: `each` of their fields. */
enum sonde_status atf_manifest_read_event_type(struct manifest_reader *reader,
					       struct sonde_error *err);
enum sonde_status atf_manifest_read_resource(struct manifest_reader *reader,
					     struct sonde_error *err);

/* Adds the event type of a symbol, reader->event_type, under a function_id that is new. */
enum sonde_status atf_manifest_add_event_type(struct manifest_reader *reader, uint32_t name,
					      uint64_t key, struct sonde_error *err);

#endif
