/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a manifest says of annotations: the event types beside symbols, and the list of resources.
 * Both are ours; other readers pass over them.
 */
#include <string.h>

#include <sonde/arguments.h>

#include "formats/atf/atf_findings.h"
#include "formats/atf/atf_manifest_object.h"

enum { TYPE_ARGUMENTS, TYPE_FLAGS, TYPE_SCOPE, TYPE_FUNCTION };

static const struct manifest_field type_fields[] = {
	[TYPE_ARGUMENTS] = { .name = "arguments", .type = FIELD_TEXT },
	[TYPE_FLAGS] = { .name = "flags", .type = FIELD_NUMBER },
	[TYPE_SCOPE] = { .name = "scope", .type = FIELD_BOOL },
	[TYPE_FUNCTION] = { .name = "function", .type = FIELD_BOOL },
	{ 0 },
};

/* A signature that nobody understands is passed over: whoever reads values relies on it. */
static enum sonde_status check_signature(struct manifest_reader *reader, uint64_t offset,
					 struct sonde_error *err)
{
	struct manifest_event_type *type = &reader->event_type;
	struct sonde_signature *signature;
	struct sonde_error reason;
	enum sonde_status status = sonde_signature_parse(
		sonde_definitions_string(reader->definitions, type->arguments), &signature,
		&reason);

	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status < 0) {
		ATF_FIND(reader->diagnostics, MANIFEST_VALUE, reader->manifest->path, offset,
			 "\"arguments\": types and names\t%s", reason.message);
		type->arguments = 0;
		return SONDE_OK;
	}
	sonde_signature_free(signature);
	return SONDE_OK;
}

enum sonde_status atf_manifest_read_event_type(struct manifest_reader *reader,
					       struct sonde_error *err)
{
	struct manifest_object object = { 0 };
	uint64_t offset = reader->json.offset;
	enum sonde_status status = atf_manifest_object(reader, type_fields, &object, err);

	sonde_vec_release(&object.extras);
	if (status < 0)
		return status;
	reader->event_type = (struct manifest_event_type){
		.present = true,
		.arguments = (uint32_t)object_get(&object, TYPE_ARGUMENTS, 0),
		.flags = (uint32_t)object_get(&object, TYPE_FLAGS, 0),
		.is_scope = object_get(&object, TYPE_SCOPE, 0),
	};
	reader->event_type.is_function =
		object_get(&object, TYPE_FUNCTION, reader->event_type.is_scope);
	return check_signature(reader, offset, err);
}

/* The same event type of a process before this one, or SONDE_NONE. */
static uint32_t find_shared(const struct manifest_reader *reader,
			    const struct sonde_event_type *type, uint32_t known)
{
	const struct sonde_event_type *other;

	if (known >= reader->maps->first_event_type)
		return SONDE_NONE;
	other = sonde_definitions_event_type(reader->definitions, known);
	return other->flags == type->flags && other->is_scope == type->is_scope ? known :
										  SONDE_NONE;
}

enum sonde_status atf_manifest_add_event_type(struct manifest_reader *reader, uint32_t name,
					      uint64_t key, struct sonde_error *err)
{
	const struct atf_symbol_maps *maps = reader->maps;
	struct sonde_event_type type = {
		.name = name,
		.arguments = reader->event_type.arguments,
		.flags = reader->event_type.flags,
		.is_scope = reader->event_type.is_scope,
	};
	uint64_t text = (uint64_t)name << 32 | type.arguments;
	uint32_t known = sonde_key_map_find(maps->known_types, text);
	uint32_t id = find_shared(reader, &type, known);
	enum sonde_status status = SONDE_OK;

	if (id == SONDE_NONE)
		status = sonde_definitions_add_event_type(reader->definitions, &type, &id, err);
	if (status < 0)
		return status;
	reader->manifest->event_type_count++;
	if ((known == SONDE_NONE && !sonde_key_map_add(maps->known_types, text, id)) ||
	    !sonde_key_map_add(maps->event_types, key, id))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

enum { RESOURCE_FILE, RESOURCE_NAME, RESOURCE_TEXT };

static const struct manifest_field resource_fields[] = {
	[RESOURCE_FILE] = { .name = "file", .type = FIELD_TEXT },
	[RESOURCE_NAME] = { .name = "name", .type = FIELD_TEXT },
	[RESOURCE_TEXT] = { .name = "text", .type = FIELD_BOOL },
	{ 0 },
};

/* "resources/N": a manifest must not lead to files elsewhere. */
static bool is_resource_file(const char *file)
{
	static const char prefix[] = ATF_RESOURCES_NAME "/";

	return strncmp(file, prefix, sizeof(prefix) - 1) == 0 && file[sizeof(prefix) - 1] &&
	       file[sizeof(prefix) - 1] != '.' && !strchr(file + sizeof(prefix) - 1, '/');
}

enum sonde_status atf_manifest_read_resource(struct manifest_reader *reader,
					     struct sonde_error *err)
{
	struct manifest_object object = { 0 };
	uint64_t offset = reader->json.offset;
	enum sonde_status status = atf_manifest_object(reader, resource_fields, &object, err);
	struct atf_manifest_resource *resource;
	uint32_t file = (uint32_t)object_get(&object, RESOURCE_FILE, 0);

	sonde_vec_release(&object.extras);
	if (status < 0)
		return status;
	if (!is_resource_file(sonde_definitions_string(reader->definitions, file))) {
		ATF_FIND(reader->diagnostics, MANIFEST_VALUE, reader->manifest->path, offset,
			 "\"file\": " ATF_RESOURCES_NAME "/ and a name\t\"%s\"",
			 sonde_definitions_string(reader->definitions, file));
		return SONDE_OK;
	}
	resource = sonde_vec_push(&reader->manifest->resources);
	if (!resource)
		return sonde_fail_nomem(err);
	*resource = (struct atf_manifest_resource){
		.file = file,
		.name = (uint32_t)object_get(&object, RESOURCE_NAME, 0),
		.is_text = object_get(&object, RESOURCE_TEXT, 0),
	};
	return SONDE_OK;
}
