/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a file to the bytes of a version 10 file, and the list of its chunks. Everything that is
 * looked at here is the head of the file and of each chunk; what is in the parts comes later.
 */
#include "formats/cff/cff_image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "formats/cff/cff_findings.h"

/* So much of a file tells what it is. */
#define LOOKED_AT ((size_t)4096)
/* The existing reader wants a file to be at least so long. */
#define SMALLEST_FILE 48
/* So many chunks tell how large they are; from this mean size on reading ahead does harm. */
#define CHUNKS_MEASURED 16
#define LARGE_CHUNK ((uint64_t)256 << 10)

static bool has_text(const uint8_t *data, size_t size, const char *text)
{
	return memmem(data, size, text, strlen(text)) != NULL;
}

static size_t skip_spaces(const uint8_t *data, size_t size)
{
	size_t i = size >= 3 && !memcmp(data, "\xEF\xBB\xBF", 3) ? 3 : 0;

	while (i < size && strchr(" \t\r\n", data[i]) && data[i])
		i++;
	return i;
}

/* Any document may be JSON: it must have words of this format near its start. */
static bool looks_like_json(const uint8_t *data, size_t size)
{
	size_t start = skip_spaces(data, size);

	if (start == size || (data[start] != '{' && data[start] != '['))
		return false;
	return sonde_json_find_member(data, size, "wtfVersion") ||
	       sonde_json_find_member(data, size, "wtf_version") ||
	       has_text(data, size, "\"wtf.json#header\"") ||
	       (sonde_json_find_member(data, size, "chunks") &&
		(has_text(data, size, "\"file_header\"") ||
		 has_text(data, size, "\"event_data\"")));
}

static bool looks_like_calls(const uint8_t *data, size_t size)
{
	size_t start;

	if (size < 8 || sonde_load_u32le(data) < 2)
		return false;
	data += 4;
	size -= 4;
	start = skip_spaces(data, size);
	return start < size && data[start] == '{' &&
	       sonde_json_find_member(data, size, "version") &&
	       (sonde_json_find_member(data, size, "modules") ||
		sonde_json_find_member(data, size, "context"));
}

bool cff_image_recognise(const uint8_t *data, size_t size, enum cff_origin *origin)
{
	if (size > LOOKED_AT)
		size = LOOKED_AT;
	if (size < 4)
		return false;
	if (sonde_load_u32le(data) == CFF_MAGIC)
		*origin = CFF_BINARY;
	else if (sonde_load_u32le(data) == __builtin_bswap32(CFF_MAGIC))
		*origin = CFF_LEGACY;
	else if (looks_like_json(data, size))
		*origin = CFF_JSON;
	else if (looks_like_calls(data, size))
		*origin = CFF_CALLS;
	else
		return false;
	return true;
}

uint32_t cff_chunk_field(const struct cff_image *image, const struct cff_chunk *chunk,
			 unsigned int field)
{
	return sonde_load_u32le(image->data + chunk->offset + field);
}

uint32_t cff_chunk_part_count(const struct cff_image *image, const struct cff_chunk *chunk)
{
	return cff_chunk_field(image, chunk, CFF_CHUNK_PARTS);
}

struct cff_part cff_chunk_part(const struct cff_image *image, const struct cff_chunk *chunk,
			       uint32_t number)
{
	uint64_t parts = cff_chunk_part_count(image, chunk);
	const uint8_t *entry =
		image->data + chunk->offset + CFF_CHUNK_SIZE + (uint64_t)number * CFF_PART_SIZE;
	uint64_t start =
		CFF_CHUNK_SIZE + parts * CFF_PART_SIZE + sonde_load_u32le(entry + CFF_PART_OFFSET);
	struct cff_part part = {
		.type = sonde_load_u32le(entry + CFF_PART_TYPE),
		.size = sonde_load_u32le(entry + CFF_PART_LENGTH),
		.offset = chunk->offset + start,
	};

	if (start <= chunk->length && part.size <= chunk->length - start)
		part.data = image->data + part.offset;
	return part;
}

struct cff_part cff_chunk_events(const struct cff_image *image, const struct cff_chunk *chunk,
				 const struct cff_part *part)
{
	uint64_t end = chunk->offset + chunk->length;
	struct cff_part events = *part;

	if (part->data)
		return events;
	if (part->offset >= end)
		events.offset = end;
	events.size = (uint32_t)(end - events.offset) & ~3u;
	events.data = image->data + events.offset;
	return events;
}

static enum sonde_status refuse(struct cff_image *image, struct sonde_error *err,
				enum cff_finding finding, enum sonde_status status, uint64_t offset,
				const char *expected, const char *found)
{
	sonde_diagnostics_add(image->findings, &cff_finding_types[finding], image->path, offset,
			      "%s\t%s", expected, found);
	sonde_fail(err, status, offset, "expected %s, found %s", expected, found);
	sonde_error_set_file(err, image->path);
	return status;
}

static enum sonde_status check_head(struct cff_image *image, struct sonde_error *err)
{
	char found[64];

	if (image->size < CFF_FILE_SIZE ||
	    sonde_load_u32le(image->data + CFF_FILE_MAGIC) != CFF_MAGIC)
		return refuse(image, err, CFF_FINDING_MAGIC, SONDE_FORMAT, 0,
			      "the head of a wtf-trace file", "something else");
	if (sonde_load_u32le(image->data + CFF_FILE_VERSION) != CFF_VERSION) {
		snprintf(found, sizeof(found), "version %" PRIu32,
			 sonde_load_u32le(image->data + CFF_FILE_VERSION));
		return refuse(image, err, CFF_FINDING_VERSION, SONDE_UNSUPPORTED, CFF_FILE_VERSION,
			      "format version 10", found);
	}
	if (image->size % 4)
		CFF_FIND(image->findings, SIZE, image->path, cff_image_offset(image, image->size),
			 "a multiple of 4 bytes\t%zu bytes", image->size);
	else if (image->size < SMALLEST_FILE)
		CFF_FIND(image->findings, SIZE, image->path, cff_image_offset(image, image->size),
			 "at least %d bytes\t%zu bytes", SMALLEST_FILE, image->size);
	return SONDE_OK;
}

/* What a chunk's header says; false where no chunk can be read at this place. */
static bool check_chunk(struct cff_image *image, size_t number, uint64_t offset, uint64_t left,
			uint64_t *length)
{
	const uint8_t *header = image->data + offset;

	if (left < CFF_CHUNK_SIZE) {
		CFF_FIND(image->findings, TRAILING, image->path, cff_image_offset(image, offset),
			 "chunk %zu or the end of the file\t%" PRIu64 " bytes", number, left);
		return false;
	}
	*length = sonde_load_u32le(header + CFF_CHUNK_LENGTH);
	if (*length < CFF_CHUNK_SIZE) {
		CFF_FIND(image->findings, CHUNK_LENGTH, image->path,
			 cff_image_offset(image, offset + CFF_CHUNK_LENGTH),
			 "chunk %zu to be at least %d bytes long\t%" PRIu64, number, CFF_CHUNK_SIZE,
			 *length);
		return false;
	}
	if (*length % 4)
		CFF_FIND(image->findings, CHUNK_LENGTH, image->path,
			 cff_image_offset(image, offset + CFF_CHUNK_LENGTH),
			 "chunk %zu to have a length that is a multiple of 4\t%" PRIu64, number,
			 *length);
	if (*length > left)
		CFF_FIND(image->findings, CHUNK_CUT, image->path, cff_image_offset(image, offset),
			 "chunk %zu with %" PRIu64 " bytes\t%" PRIu64 " bytes", number, *length,
			 left);
	return true;
}

/* Whether the list of parts is there; what else is odd about the header is only said. */
static bool check_parts(struct cff_image *image, size_t number, const struct cff_chunk *chunk)
{
	uint64_t parts = cff_chunk_part_count(image, chunk);
	uint32_t type = chunk->type;
	uint32_t start = cff_chunk_field(image, chunk, CFF_CHUNK_START);
	uint32_t end = cff_chunk_field(image, chunk, CFF_CHUNK_END);

	if (parts > (chunk->length - CFF_CHUNK_SIZE) / CFF_PART_SIZE) {
		CFF_FIND(image->findings, CHUNK_PARTS, image->path,
			 cff_image_offset(image, chunk->offset + CFF_CHUNK_PARTS),
			 "chunk %zu to have at most %" PRIu32 " parts\t%" PRIu64, number,
			 (chunk->length - CFF_CHUNK_SIZE) / CFF_PART_SIZE, parts);
		return false;
	}
	if (type != CFF_CHUNK_FILE_HEADER && type != CFF_CHUNK_EVENT_DATA)
		CFF_FIND(image->findings, CHUNK_TYPE, image->path,
			 cff_image_offset(image, chunk->offset + CFF_CHUNK_TYPE),
			 "chunk %zu to be of type 1 or 2\ttype %#" PRIx32, number, type);
	if (start != CFF_NO_TIME && end != CFF_NO_TIME && start > end)
		CFF_FIND(image->findings, CHUNK_TIMES, image->path,
			 cff_image_offset(image, chunk->offset + CFF_CHUNK_START),
			 "chunk %zu to start before its end %" PRIu32 "\tstart %" PRIu32, number,
			 end, start);
	return true;
}

static enum sonde_status find_chunks(struct cff_image *image, struct sonde_error *err)
{
	uint64_t offset = CFF_FILE_SIZE, length;
	struct sonde_trail trail = { 0 };

	for (size_t number = 0; offset < image->size; number++, offset += length) {
		uint64_t left = image->size - offset;
		struct cff_chunk chunk = { .offset = offset };
		struct cff_chunk *added;

		if (number == CHUNKS_MEASURED && offset / number >= LARGE_CHUNK)
			sonde_mapped_file_read_ahead(&image->file, false);
		if (!check_chunk(image, number, offset, left, &length))
			break;
		if (length > left)
			length = left;
		chunk.length = (uint32_t)length;
		chunk.type = cff_chunk_field(image, &chunk, CFF_CHUNK_TYPE);
		if (!check_parts(image, number, &chunk))
			continue;
		added = sonde_vec_push(&image->chunks);
		if (!added)
			return sonde_fail_nomem(err);
		*added = chunk;
		cff_image_leave(image, &trail, (uint32_t)image->chunks.count - 1);
	}
	image->whole = offset;
	return SONDE_OK;
}

/* Whoever refuses a file says why in the findings too. */
static enum sonde_status note_refusal(struct cff_image *image, uint64_t errors,
				      enum sonde_status status, const struct sonde_error *err)
{
	bool is_input = status != SONDE_NOMEM && status != SONDE_IO && status != SONDE_CANCELLED;

	if (is_input && sonde_diagnostics_count(image->findings, SONDE_ERROR) == errors)
		CFF_FIND(image->findings, REFUSED, image->path, err->offset,
			 "a file that can be read\t%s", err->message);
	return status;
}

static enum sonde_status make(struct cff_image *image, struct sonde_error *err)
{
	static enum sonde_status (*const makers[])(const struct cff_maker *,
						   struct sonde_error *) = {
		[CFF_JSON] = cff_make_from_json,
		[CFF_LEGACY] = cff_make_from_legacy,
		[CFF_CALLS] = cff_make_from_calls,
	};
	uint64_t errors = sonde_diagnostics_count(image->findings, SONDE_ERROR);
	struct sonde_mapped_file *made = calloc(1, sizeof(*made));
	struct sonde_output out;
	struct cff_maker maker = {
		.file = &image->file,
		.input = image->file.data,
		.size = image->file.size,
		.path = image->path,
		.findings = image->findings,
		.out = &out,
	};
	struct sonde_error failure = { 0 };
	enum sonde_status status;

	image->made = made;
	if (!made)
		return sonde_fail_nomem(err);
	status = sonde_output_open_unnamed(&out, err);
	if (status < 0)
		return status;
	status = makers[image->origin](&maker, &failure);
	if (status == SONDE_OK)
		status = sonde_output_map(&out, made, &failure);
	sonde_output_release(&out);
	image->data = made->data;
	image->size = made->size;
	if (status == SONDE_OK)
		return SONDE_OK;
	if (err)
		*err = failure;
	return note_refusal(image, errors, status, &failure);
}

enum sonde_status cff_image_open(struct cff_image *image, const char *path,
				 struct sonde_diagnostics *findings, struct sonde_error *err)
{
	enum sonde_status status;

	*image = (struct cff_image){ .path = path, .findings = findings };
	status = sonde_mapped_file_open(&image->file, path, err);
	if (status < 0)
		return status;
	if (!cff_image_recognise(image->file.data, image->file.size, &image->origin))
		status = refuse(image, err, CFF_FINDING_MAGIC, SONDE_FORMAT, 0,
				"the head of a wtf-trace, wtf-json or wtf-calls file",
				"something else");
	image->data = image->file.data;
	image->size = image->file.size;
	if (status == SONDE_OK && image->origin != CFF_BINARY)
		status = make(image, err);
	if (status == SONDE_OK)
		status = check_head(image, err);
	if (status == SONDE_OK)
		status = find_chunks(image, err);
	if (status < 0)
		cff_image_release(image);
	return status;
}

void cff_image_release(struct cff_image *image)
{
	if (image->made)
		sonde_mapped_file_release(image->made);
	free(image->made);
	sonde_mapped_file_release(&image->file);
	sonde_vec_release(&image->chunks);
	image->made = NULL;
	image->data = NULL;
	image->size = image->whole = 0;
}
