/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes version 10 chunks whose sizes are known before their bytes are: base64 is decoded on the
 * way to the file, piece by piece. Where that finds a fault, the chunk's head is written again.
 */
#include "formats/cff/cff_make.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/json.h"
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_put.h"

#define PIECE ((size_t)16 << 10) /* characters; a multiple of 4 */

enum sonde_status cff_make_head(const struct cff_maker *maker, uint32_t wtf_version,
				struct sonde_error *err)
{
	uint8_t head[CFF_FILE_SIZE];

	sonde_store_u32le(head + CFF_FILE_MAGIC, CFF_MAGIC);
	sonde_store_u32le(head + CFF_FILE_WTF_VERSION, wtf_version);
	sonde_store_u32le(head + CFF_FILE_VERSION, CFF_VERSION);
	return sonde_output_write(maker->out, head, sizeof(head), err);
}

static size_t part_size(const struct cff_made_part *part)
{
	return part->bytes ? part->size : sonde_base64_size(part->base64, part->base64_length);
}

/* The head of a chunk being written, and what goes into it. */
struct head {
	struct sonde_buffer bytes;
	size_t count; /* parts in it */
	uint64_t end; /* of the last part, from the end of the list */
};

static void head_add(struct head *head, uint32_t type, size_t size)
{
	uint8_t entry[CFF_PART_SIZE];

	sonde_store_u32le(entry + CFF_PART_TYPE, type);
	sonde_store_u32le(entry + CFF_PART_OFFSET, (uint32_t)head->end);
	sonde_store_u32le(entry + CFF_PART_LENGTH, (uint32_t)size);
	sonde_buffer_put(&head->bytes, entry, sizeof(entry));
	head->end += cff_padded(size);
	head->count++;
}

static enum sonde_status head_finish(struct head *head, const struct cff_made_chunk *chunk,
				     struct sonde_error *err)
{
	uint8_t *bytes = (uint8_t *)head->bytes.data;

	if (head->bytes.failed)
		return sonde_fail_nomem(err);
	sonde_store_u32le(bytes + CFF_CHUNK_ID, chunk->id);
	sonde_store_u32le(bytes + CFF_CHUNK_TYPE, chunk->type);
	sonde_store_u32le(bytes + CFF_CHUNK_LENGTH, (uint32_t)(head->bytes.size + head->end));
	sonde_store_u32le(bytes + CFF_CHUNK_START, chunk->start);
	sonde_store_u32le(bytes + CFF_CHUNK_END, chunk->end);
	sonde_store_u32le(bytes + CFF_CHUNK_PARTS, (uint32_t)head->count);
	return SONDE_OK;
}

static void head_begin(struct head *head)
{
	static const uint8_t zeros[CFF_CHUNK_SIZE];

	sonde_buffer_clear(&head->bytes);
	sonde_buffer_put(&head->bytes, zeros, sizeof(zeros));
	head->count = 0;
	head->end = 0;
}

/* Lists the parts as they should become; *fitting are those of them that a chunk has room for. */
static enum sonde_status head_plan(struct head *head, const struct cff_maker *maker,
				   const struct cff_made_chunk *chunk, size_t *fitting,
				   struct sonde_error *err)
{
	uint64_t list = CFF_CHUNK_SIZE;

	head_begin(head);
	for (*fitting = 0; *fitting < chunk->part_count; ++*fitting) {
		const struct cff_made_part *part = &chunk->parts[*fitting];
		uint64_t size = part_size(part);

		list += CFF_PART_SIZE;
		if (size + 3 + list + head->end > UINT32_MAX) {
			CFF_FIND(maker->findings, JSON_CHUNK_SIZE, maker->path, chunk->offset,
				 "less than 4 GB\t%zu parts, of which %zu fit", chunk->part_count,
				 *fitting);
			break;
		}
		head_add(head, part->type, size);
	}
	return head_finish(head, chunk, err);
}

/* How many of these characters, of a text that goes on behind them or not, may be decoded. */
static size_t without_padding(const char *text, size_t length, bool is_last)
{
	const char *padding = is_last ? NULL : memchr(text, '=', length);

	return padding ? (size_t)(padding - text) / 4 * 4 : length;
}

/* Decodes a part to the file; *size becomes what was written of it. */
static enum sonde_status put_base64(const struct cff_maker *maker, const struct cff_made_part *part,
				    size_t *size, struct sonde_error *err)
{
	size_t position = 0;

	*size = 0;
	while (position < part->base64_length) {
		const char *text = part->base64 + position;
		size_t left = part->base64_length - position;
		size_t length = without_padding(text, left < PIECE ? left : PIECE, left <= PIECE);
		uint8_t bytes[PIECE / 4 * 3];
		size_t used = 0, count = sonde_base64_decode(text, length, bytes, &used);
		enum sonde_status status = sonde_output_write(maker->out, bytes, count, err);

		if (status < 0)
			return status;
		*size += count;
		position += used;
		if (used == length && length)
			continue;
		CFF_FIND(maker->findings, JSON_BASE64, maker->path, part->offset + position,
			 "a character of base64\tbyte 0x%02x",
			 (unsigned char)part->base64[position]);
		return SONDE_OK;
	}
	return SONDE_OK;
}

static enum sonde_status put_part(const struct cff_maker *maker, const struct cff_made_part *part,
				  size_t *size, struct sonde_error *err)
{
	static const uint8_t zeros[4];
	enum sonde_status status;

	*size = part->size;
	if (part->bytes)
		status = sonde_output_write(maker->out, part->bytes, part->size, err);
	else
		status = put_base64(maker, part, size, err);
	if (status < 0)
		return status;
	return sonde_output_write(maker->out, zeros, cff_padded(*size) - *size, err);
}

enum sonde_status cff_make_chunk(const struct cff_maker *maker, const struct cff_made_chunk *chunk,
				 struct sonde_error *err)
{
	uint64_t start = maker->out->written;
	struct head planned = { 0 }, real = { 0 };
	enum sonde_status status;
	size_t fitting = 0;

	status = head_plan(&planned, maker, chunk, &fitting, err);
	if (status >= 0)
		status =
			sonde_output_write(maker->out, planned.bytes.data, planned.bytes.size, err);
	head_begin(&real);
	for (size_t i = 0; i < fitting && status >= 0; i++) {
		size_t size;

		status = put_part(maker, &chunk->parts[i], &size, err);
		if (status >= 0)
			head_add(&real, chunk->parts[i].type, size);
	}
	if (status >= 0)
		status = head_finish(&real, chunk, err);
	if (status >= 0 && memcmp(real.bytes.data, planned.bytes.data, real.bytes.size))
		status = sonde_output_patch(maker->out, start, real.bytes.data, real.bytes.size,
					    err);
	sonde_buffer_release(&planned.bytes);
	sonde_buffer_release(&real.bytes);
	return status;
}

enum sonde_status cff_make_header_chunk(const struct cff_maker *maker,
					const struct sonde_buffer *json, struct sonde_error *err)
{
	struct cff_made_part part = {
		.type = CFF_PART_FILE_HEADER,
		.bytes = json->data,
		.size = json->size,
	};
	struct cff_made_chunk chunk = {
		.id = 1,
		.type = CFF_CHUNK_FILE_HEADER,
		.start = CFF_NO_TIME,
		.end = CFF_NO_TIME,
		.parts = &part,
		.part_count = 1,
	};

	if (json->failed)
		return sonde_fail_nomem(err);
	return cff_make_chunk(maker, &chunk, err);
}

enum sonde_status cff_check_json_object(const char *text, size_t length)
{
	struct sonde_json_reader reader;
	enum sonde_status status;
	bool is_object;

	sonde_json_reader_init(&reader, text, length, NULL, NULL);
	status = sonde_json_next(&reader, NULL);
	is_object = status >= 0 && reader.token == SONDE_JSON_OBJECT_BEGIN;
	if (is_object)
		status = sonde_json_skip(&reader, NULL);
	if (status >= 0)
		status = sonde_json_next(&reader, NULL);
	is_object = is_object && status >= 0 && reader.token == SONDE_JSON_END;
	sonde_json_reader_release(&reader);
	return status >= 0 && !is_object ? SONDE_CORRUPT : status;
}
