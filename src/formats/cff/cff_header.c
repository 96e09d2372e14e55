/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the JSON of the file header, member by member, and what the model makes of it. */
#include "formats/cff/cff_header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "formats/cff/cff_findings.h"

/* A timebase from here on is a date: milliseconds since 1970. */
#define FIRST_DATE 1e11
/* Beyond this, nanoseconds since 1970 have no room in 64 bits. */
#define LAST_DATE 1.8e13

/* The part that is read, and where what is wrong with it goes. */
struct source {
	const struct cff_image *image;
	struct cff_part part;
	struct sonde_diagnostics *findings;
};

static char *copy_text(const struct sonde_json_reader *json)
{
	return strdup(json->text);
}

/* The present token is an object: its members are read up to the name that is wanted. */
static enum sonde_status read_string_member(const char *text, const char *name, char **value,
					    struct sonde_error *err)
{
	struct sonde_json_reader json;
	enum sonde_status status;

	sonde_json_reader_init(&json, text, strlen(text), NULL, NULL);
	status = sonde_json_next(&json, err);
	if (status == SONDE_OK && json.token == SONDE_JSON_OBJECT_BEGIN)
		status = sonde_json_next(&json, err);
	while (status == SONDE_OK && json.token == SONDE_JSON_KEY) {
		bool is_it = !strcmp(json.text, name);

		status = sonde_json_next(&json, err);
		if (status == SONDE_OK && is_it && json.token == SONDE_JSON_STRING && *json.text) {
			free(*value);
			*value = copy_text(&json);
			if (!*value)
				status = sonde_fail_nomem(err);
		}
		if (status == SONDE_OK)
			status = sonde_json_skip(&json, err);
		if (status == SONDE_OK)
			status = sonde_json_next(&json, err);
	}
	sonde_json_reader_release(&json);
	return status;
}

/* metadata.sonde: the present token is its first. */
static enum sonde_status read_ours(struct cff_header *header, struct sonde_json_reader *json,
				   struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	uint64_t value;

	if (json->token != SONDE_JSON_OBJECT_BEGIN)
		return sonde_json_skip(json, err);
	status = sonde_json_next(json, err);
	while (status == SONDE_OK && json->token == SONDE_JSON_KEY) {
		bool is_version = !strcmp(json->text, "version");
		bool is_origin = !strcmp(json->text, "origin_ns");

		status = sonde_json_next(json, err);
		if (status < 0)
			return status;
		if (json->token == SONDE_JSON_NUMBER && sonde_json_u64(json, &value)) {
			header->is_ours = header->is_ours || (is_version && value == 1);
			header->origin_ns = is_origin ? value : header->origin_ns;
		}
		status = sonde_json_skip(json, err);
		if (status == SONDE_OK)
			status = sonde_json_next(json, err);
	}
	return status;
}

/* The metadata without what is ours. */
static enum sonde_status read_metadata(struct cff_header *header, struct sonde_json_reader *json,
				       struct sonde_buffer *out, struct sonde_error *err)
{
	struct sonde_json_writer writer;
	enum sonde_status status = sonde_json_next(json, err);

	if (status < 0)
		return status;
	sonde_json_writer_init(&writer, out, false);
	sonde_json_object_begin(&writer);
	while (status == SONDE_OK && json->token == SONDE_JSON_KEY) {
		struct sonde_buffer value = { 0 };
		bool is_ours = !strcmp(json->text, "sonde");

		if (is_ours) {
			status = sonde_json_next(json, err);
			if (status == SONDE_OK)
				status = read_ours(header, json, err);
		} else {
			sonde_json_key(&writer, json->text);
			status = sonde_json_copy(json, &value, err);
			sonde_json_raw(&writer, value.data ? sonde_buffer_text(&value) : "null");
		}
		if (value.failed)
			status = sonde_fail_nomem(err);
		sonde_buffer_release(&value);
		if (status == SONDE_OK)
			status = sonde_json_next(json, err);
	}
	sonde_json_object_end(&writer);
	return status;
}

/* What a member, which is at `offset` of the part, means beyond being an attribute. */
static enum sonde_status interpret(struct cff_header *header, const struct cff_member *member,
				   const struct source *source, uint64_t offset,
				   struct sonde_error *err)
{
	enum sonde_status status;
	char *end;

	if (!strcmp(member->name, "timebase")) {
		header->is_whole = true;
		header->timebase = strtod(member->value, &end);
		if (*end || end == member->value) {
			header->timebase = 0;
			CFF_FIND(source->findings, HEADER_VALUE, source->image->path,
				 cff_image_offset(source->image, source->part.offset + offset),
				 "chunk %" PRIu32 " part %" PRIu32
				 ": timebase to be a number\t%.60s",
				 header->chunk, header->part, member->value);
		}
		return SONDE_OK;
	}
	if (strcmp(member->name, "contextInfo") != 0)
		return SONDE_OK;
	if (member->value[0] != '{')
		return SONDE_OK;
	status = read_string_member(member->value, "uri", &header->title, err);
	if (status == SONDE_OK)
		status = read_string_member(member->value, "title", &header->title, err);
	return status;
}

static enum sonde_status add_member(struct cff_header *header, const char *name, const char *value,
				    const struct source *source, uint64_t offset,
				    struct sonde_error *err)
{
	struct cff_member *member = sonde_vec_push(&header->members);

	if (!member)
		return sonde_fail_nomem(err);
	member->name = strdup(name);
	member->value = value ? strdup(value) : NULL;
	if (!member->name || !member->value)
		return sonde_fail_nomem(err);
	return interpret(header, member, source, offset, err);
}

/* One member of the header; the present token is its key. */
static enum sonde_status read_member(struct cff_header *header, struct sonde_json_reader *json,
				     const struct source *source, struct sonde_error *err)
{
	struct sonde_buffer value = { 0 };
	uint64_t offset = json->offset;
	char *name = copy_text(json);
	enum sonde_status status;

	if (!name)
		return sonde_fail_nomem(err);
	if (!strcmp(name, "metadata")) {
		status = sonde_json_next(json, err);
		if (status == SONDE_OK && json->token == SONDE_JSON_OBJECT_BEGIN)
			status = read_metadata(header, json, &value, err);
		else if (status == SONDE_OK)
			status = sonde_json_skip(json, err);
	} else {
		status = sonde_json_copy(json, &value, err);
	}
	if (status == SONDE_OK && value.failed)
		status = sonde_fail_nomem(err);
	if (status == SONDE_OK && value.size && strcmp(name, "type") != 0)
		status = add_member(header, name, sonde_buffer_text(&value), source, offset, err);
	sonde_buffer_release(&value);
	free(name);
	return status;
}

static enum sonde_status read_json(struct cff_header *header, const struct source *source,
				   struct sonde_error *err)
{
	struct sonde_json_reader json;
	enum sonde_status status;

	sonde_json_reader_init(&json, (const char *)source->part.data, source->part.size, NULL,
			       NULL);
	status = sonde_json_next(&json, err);
	if (status == SONDE_OK && json.token != SONDE_JSON_OBJECT_BEGIN)
		status = sonde_fail(err, SONDE_CORRUPT, 0, "expected an object");
	header->is_there = status == SONDE_OK;
	if (status == SONDE_OK)
		status = sonde_json_next(&json, err);
	while (status == SONDE_OK && json.token == SONDE_JSON_KEY) {
		status = read_member(header, &json, source, err);
		if (status == SONDE_OK)
			status = sonde_json_next(&json, err);
	}
	/* nothing may follow the object, no NUL either */
	if (status == SONDE_OK)
		status = sonde_json_next(&json, err);
	sonde_json_reader_release(&json);
	return status;
}

/* The part of the last header chunk; false where there is none. */
static bool find_header(struct cff_header *header, struct source *source)
{
	const struct cff_image *image = source->image;
	bool is_found = false;

	for (size_t i = 0; i < image->chunks.count; i++) {
		const struct cff_chunk *chunk = &image->chunks.items[i];
		bool is_header = chunk->type == CFF_CHUNK_FILE_HEADER;
		uint32_t parts = is_header ? cff_chunk_part_count(image, chunk) : 0;

		for (uint32_t k = 0; k < parts; k++) {
			struct cff_part part = cff_chunk_part(image, chunk, k);

			if (part.type != CFF_PART_FILE_HEADER || !part.data)
				continue;
			if (is_found)
				CFF_FIND(source->findings, HEADER_SECOND, image->path,
					 cff_image_offset(image, chunk->offset),
					 "one file header\tanother in chunk %zu part %" PRIu32, i,
					 k);
			else if (i)
				CFF_FIND(source->findings, HEADER_LATE, image->path,
					 cff_image_offset(image, chunk->offset),
					 "the file header in chunk 0\tin chunk %zu", i);
			is_found = true;
			header->chunk = (uint32_t)i;
			header->part = k;
			source->part = part;
		}
	}
	return is_found;
}

enum sonde_status cff_header_read(struct cff_header *header, const struct cff_image *image,
				  struct sonde_diagnostics *findings, struct sonde_error *err)
{
	struct source source = { .image = image, .findings = findings };
	struct sonde_error failure = { 0 };
	enum sonde_status status;

	*header = (struct cff_header){ 0 };
	if (!find_header(header, &source)) {
		CFF_FIND(findings, HEADER_MISSING, image->path,
			 cff_image_offset(image, CFF_FILE_SIZE), "a file header in chunk 0\tnone");
		return SONDE_OK;
	}
	status = read_json(header, &source, &failure);
	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (status < 0) {
		CFF_FIND(findings, HEADER_JSON, image->path,
			 cff_image_offset(image, source.part.offset + failure.offset),
			 "chunk %" PRIu32 " part %" PRIu32 ": one JSON object\t%s", header->chunk,
			 header->part, failure.message);
		header->is_whole = false;
		return SONDE_OK;
	}
	if (!header->is_whole)
		CFF_FIND(findings, HEADER_TIMEBASE, image->path,
			 cff_image_offset(image, source.part.offset),
			 "chunk %" PRIu32 " part %" PRIu32 ": a member timebase\tnone",
			 header->chunk, header->part);
	return SONDE_OK;
}

void cff_header_release(struct cff_header *header)
{
	for (size_t i = 0; i < header->members.count; i++) {
		free(header->members.items[i].name);
		free(header->members.items[i].value);
	}
	sonde_vec_release(&header->members);
	free(header->title);
	header->title = NULL;
}

static enum sonde_status add_attribute(struct sonde_definitions *definitions,
				       const struct cff_member *member, struct sonde_error *err)
{
	struct sonde_attribute attribute = { .owner = SONDE_OWNER_RECORDING };
	uint32_t id;
	enum sonde_status status = sonde_definitions_add_string(
		definitions, member->name, strlen(member->name), &attribute.name, err);

	if (status == SONDE_OK)
		status = sonde_definitions_add_string(definitions, member->value,
						      strlen(member->value), &attribute.value, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_attribute(definitions, &attribute, &id, err);
	return status;
}

static enum sonde_status add_process(const struct cff_header *header,
				     struct sonde_definitions *definitions, struct sonde_error *err)
{
	struct sonde_clock clock = { .kind = SONDE_CLOCK_UNKNOWN };
	struct sonde_process process = { .os_id = SONDE_NONE };
	struct sonde_anchor anchor = { .realtime_ns = 0 };
	const char *title = header->title ? header->title : "";
	uint32_t id;
	enum sonde_status status =
		sonde_definitions_add_clock(definitions, &clock, &process.clock, err);

	if (status == SONDE_OK)
		status = sonde_definitions_add_string(definitions, title, strlen(title),
						      &process.name, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_process(definitions, &process, &id, err);
	if (status < 0 || !(header->timebase >= FIRST_DATE && header->timebase <= LAST_DATE))
		return status;
	anchor.clock = process.clock;
	anchor.realtime_ns =
		(uint64_t)header->timebase * 1000000 +
		(uint64_t)((header->timebase - (double)(uint64_t)header->timebase) * 1e6);
	return sonde_definitions_add_anchor(definitions, &anchor, &id, err);
}

enum sonde_status cff_header_define(const struct cff_header *header,
				    struct sonde_definitions *definitions, struct sonde_error *err)
{
	enum sonde_status status = add_process(header, definitions, err);

	for (size_t i = 0; i < header->members.count && status == SONDE_OK; i++) {
		if (header->members.items[i].name && header->members.items[i].value)
			status = add_attribute(definitions, &header->members.items[i], err);
	}
	return status;
}
