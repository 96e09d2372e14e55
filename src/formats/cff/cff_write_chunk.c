/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk while it is filled: its events, their exact times, its string table; and its bytes. */
#include <stdlib.h>

#include "base/bytes.h"
#include "formats/cff/cff_put.h"
#include "formats/cff/cff_write.h"

/* The date of the existing program's last release, as it writes it: readers of JSON refuse later ones. */
#define WTF_VERSION 0x90BA3800u

#define NS_IN_US 1000u

/* Parts of a chunk besides resources: string table, events, times. */
#define OWN_PARTS 3

void cff_chunk_writer_release(struct cff_chunk_writer *chunk)
{
	free(chunk->bytes);
	free(chunk->times);
	sonde_arena_release(&chunk->texts);
	sonde_text_map_release(&chunk->ordinals);
	sonde_buffer_release(&chunk->table);
	*chunk = (struct cff_chunk_writer){ 0 };
}

/* The next chunk starts; the room for events is kept. */
static void clear(struct cff_chunk_writer *chunk)
{
	chunk->used = chunk->count = 0;
	chunk->any_ns = 0;
	chunk->epoch = 0;
	chunk->text_count = 0;
	if (!chunk->table.size)
		return;
	sonde_buffer_clear(&chunk->table);
	sonde_text_map_release(&chunk->ordinals);
	sonde_arena_release(&chunk->texts);
}

bool cff_chunk_reserve(struct cff_chunk_writer *chunk, size_t events, size_t bytes)
{
	return (bytes <= chunk->capacity - chunk->used ||
		sonde_vec_grow(&chunk->bytes, &chunk->capacity, chunk->used, bytes, 1)) &&
	       (events <= chunk->times_capacity - chunk->count ||
		sonde_vec_grow(&chunk->times, &chunk->times_capacity, chunk->count, events,
			       sizeof(*chunk->times)));
}

uint32_t cff_chunk_text(struct cff_chunk_writer *chunk, const char *text, size_t length)
{
	uint32_t ordinal;
	const char *copy;

	if (!length)
		return CFF_STRING_EMPTY;
	ordinal = sonde_text_map_find(&chunk->ordinals, text, length);
	if (ordinal != UINT32_MAX)
		return ordinal;
	copy = sonde_arena_copy_text(&chunk->texts, text, length);
	if (!copy || !sonde_text_map_add(&chunk->ordinals, copy, length, chunk->text_count)) {
		chunk->table.failed = true;
		return CFF_STRING_NULL;
	}
	sonde_buffer_put(&chunk->table, text, length);
	sonde_buffer_put_char(&chunk->table, '\0');
	return chunk->text_count++;
}

void cff_chunk_put(struct cff_chunk_writer *chunk, uint32_t wire, uint64_t time, const void *values,
		   size_t size)
{
	uint8_t *place = chunk->bytes + chunk->used;
	uint32_t us = (uint32_t)(time / NS_IN_US), ns = (uint32_t)(time % NS_IN_US);

	sonde_store_u32le(place + CFF_EVENT_WIRE, wire);
	sonde_store_u32le(place + CFF_EVENT_TIME, us);
	if (size)
		memcpy(place + CFF_EVENT_SIZE, values, size);
	if (!chunk->count)
		chunk->start = us;
	chunk->end = us;
	chunk->any_ns |= ns;
	chunk->times[chunk->count++] = (uint16_t)ns;
	chunk->used += CFF_EVENT_SIZE + size;
}

bool cff_chunk_is_full(const struct cff_chunk_writer *chunk)
{
	return chunk->used >= CFF_WRITE_BYTES || chunk->table.size >= CFF_WRITE_BYTES ||
	       chunk->count + CFF_WRITE_RAW > CFF_WRITE_EVENTS;
}

/* Part after part of a chunk, with what fills it up to 4 bytes. */
static enum sonde_status write_part(struct sonde_output *output, const void *bytes, size_t size,
				    struct sonde_error *err)
{
	static const uint8_t zeros[4];
	enum sonde_status status = sonde_output_write(output, bytes, size, err);

	if (status == SONDE_OK)
		status = sonde_output_write(output, zeros, cff_padded(size) - size, err);
	return status;
}

static enum sonde_status too_long(uint64_t length, struct sonde_error *err)
{
	return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
			  "a chunk of a wtf-trace file is at most 4 GiB long, this one would have "
			  "%llu bytes; leave out large resources",
			  (unsigned long long)length);
}

/* The header of a chunk and the list of its parts, then the parts. */
static enum sonde_status write_chunk(struct cff_writer *writer, uint8_t fixed[CFF_CHUNK_SIZE],
				     const struct cff_resource *parts, size_t count,
				     struct sonde_error *err)
{
	uint64_t length = CFF_CHUNK_SIZE + CFF_PART_SIZE * (uint64_t)count, offset = 0;
	enum sonde_status status;

	for (size_t i = 0; i < count; i++)
		length += cff_padded(parts[i].size);
	if (length > UINT32_MAX)
		return too_long(length, err);
	sonde_store_u32le(fixed + CFF_CHUNK_ID, writer->next_chunk++);
	sonde_store_u32le(fixed + CFF_CHUNK_LENGTH, (uint32_t)length);
	sonde_store_u32le(fixed + CFF_CHUNK_PARTS, (uint32_t)count);
	status = sonde_output_write(&writer->output, fixed, CFF_CHUNK_SIZE, err);
	for (size_t i = 0; i < count && status == SONDE_OK; i++) {
		uint8_t part[CFF_PART_SIZE];

		sonde_store_u32le(part + CFF_PART_TYPE, parts[i].type);
		sonde_store_u32le(part + CFF_PART_OFFSET, (uint32_t)offset);
		sonde_store_u32le(part + CFF_PART_LENGTH, (uint32_t)parts[i].size);
		offset += cff_padded(parts[i].size);
		status = sonde_output_write(&writer->output, part, sizeof(part), err);
	}
	for (size_t i = 0; i < count && status == SONDE_OK; i++)
		status = write_part(&writer->output, parts[i].bytes, parts[i].size, err);
	return status;
}

/* The resource with the times of the chunk's events; malloc'd. */
static bool make_times(const struct cff_chunk_writer *chunk, struct cff_resource *resource)
{
	static const char magic[] = CFF_TIMES_MAGIC;
	size_t items = chunk->any_ns ? chunk->count : 0;
	uint8_t *bytes = malloc(CFF_TIMES_ITEMS + items * sizeof(uint16_t));

	if (!bytes)
		return false;
	memcpy(bytes, magic, CFF_TIMES_BASE);
	sonde_store_u64le(bytes + CFF_TIMES_BASE, (chunk->epoch << 32) * NS_IN_US);
	for (size_t i = 0; i < items; i++)
		sonde_store_u16le(bytes + CFF_TIMES_ITEMS + i * sizeof(uint16_t), chunk->times[i]);
	*resource = (struct cff_resource){
		.type = CFF_PART_BINARY_RESOURCE,
		.bytes = bytes,
		.size = CFF_TIMES_ITEMS + items * sizeof(uint16_t),
	};
	return true;
}

/* Start and end where they are of use: in order, and not what means "not known". */
static void put_range(const struct cff_chunk_writer *chunk, uint8_t fixed[CFF_CHUNK_SIZE])
{
	bool is_known = chunk->count && chunk->start <= chunk->end && chunk->end != CFF_NO_TIME;

	sonde_store_u32le(fixed + CFF_CHUNK_START, is_known ? chunk->start : CFF_NO_TIME);
	sonde_store_u32le(fixed + CFF_CHUNK_END, is_known ? chunk->end : CFF_NO_TIME);
}

/* The parts of a chunk in their order; gives how many there are. */
static size_t list_parts(const struct cff_chunk_writer *chunk, const struct cff_resource *times,
			 const struct cff_resource *resources, size_t count,
			 struct cff_resource *parts)
{
	size_t used = 0;

	if (chunk->table.size)
		parts[used++] = (struct cff_resource){ CFF_PART_STRINGS, chunk->table.data,
						       chunk->table.size };
	parts[used++] = (struct cff_resource){ CFF_PART_EVENTS, chunk->bytes, chunk->used };
	if (times->bytes)
		parts[used++] = *times;
	for (size_t i = 0; i < count; i++)
		parts[used++] = resources[i];
	return used;
}

enum sonde_status cff_chunk_write(struct cff_writer *writer, struct cff_chunk_writer *chunk,
				  const struct cff_resource *resources, size_t count,
				  struct sonde_error *err)
{
	struct cff_resource *parts = calloc(count + OWN_PARTS, sizeof(*parts));
	struct cff_resource times = { 0 };
	uint8_t fixed[CFF_CHUNK_SIZE];
	enum sonde_status status;

	if (!parts || chunk->table.failed ||
	    ((chunk->any_ns || chunk->epoch) && !make_times(chunk, &times))) {
		free(parts);
		return sonde_fail_nomem(err);
	}
	count = list_parts(chunk, &times, resources, count, parts);
	sonde_store_u32le(fixed + CFF_CHUNK_TYPE, CFF_CHUNK_EVENT_DATA);
	put_range(chunk, fixed);
	status = write_chunk(writer, fixed, parts, count, err);
	free((void *)times.bytes);
	free(parts);
	clear(chunk);
	return status;
}

enum sonde_status cff_chunk_write_header(struct cff_writer *writer, const char *json, size_t size,
					 struct sonde_error *err)
{
	const struct cff_resource part = { CFF_PART_FILE_HEADER, json, size };
	uint8_t head[CFF_FILE_SIZE], fixed[CFF_CHUNK_SIZE];
	enum sonde_status status;

	sonde_store_u32le(head + CFF_FILE_MAGIC, CFF_MAGIC);
	sonde_store_u32le(head + CFF_FILE_WTF_VERSION, WTF_VERSION);
	sonde_store_u32le(head + CFF_FILE_VERSION, CFF_VERSION);
	sonde_store_u32le(fixed + CFF_CHUNK_TYPE, CFF_CHUNK_FILE_HEADER);
	sonde_store_u32le(fixed + CFF_CHUNK_START, CFF_NO_TIME);
	sonde_store_u32le(fixed + CFF_CHUNK_END, CFF_NO_TIME);
	status = sonde_output_write(&writer->output, head, sizeof(head), err);
	return status < 0 ? status : write_chunk(writer, fixed, &part, 1, err);
}
