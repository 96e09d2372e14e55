/* SPDX-License-Identifier: Apache-2.0 */
/* A builder of wtf-trace files for tests; see cff_fixture.h. */
#include "cff_fixture.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void append(uint8_t **bytes, size_t *size, size_t *capacity, const void *data, size_t count)
{
	if (*size + count > *capacity) {
		*capacity = (*size + count) * 2;
		*bytes = realloc(*bytes, *capacity);
		if (!*bytes)
			abort();
	}
	if (count)
		memcpy(*bytes + *size, data, count);
	*size += count;
}

void fixture_bytes(struct fixture *fixture, const void *data, size_t size)
{
	append(&fixture->file, &fixture->size, &fixture->capacity, data, size);
}

static void put_word(struct fixture *fixture, uint32_t value)
{
	uint8_t bytes[4] = { (uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
			     (uint8_t)(value >> 24) };

	fixture_bytes(fixture, bytes, sizeof(bytes));
}

static void event_word(struct fixture *fixture, uint32_t value)
{
	uint8_t bytes[4] = { (uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
			     (uint8_t)(value >> 24) };

	append(&fixture->events, &fixture->events_size, &fixture->events_capacity, bytes,
	       sizeof(bytes));
}

static size_t padded(size_t size)
{
	return (size + 3) & ~(size_t)3;
}

static void put_padded(struct fixture *fixture, const void *data, size_t size)
{
	fixture_bytes(fixture, data, size);
	fixture_bytes(fixture, "\0\0\0", padded(size) - size);
}

static void put_head(struct fixture *fixture, uint32_t type, size_t data_size, uint32_t parts)
{
	put_word(fixture, ++fixture->chunks);
	put_word(fixture, type);
	put_word(fixture, (uint32_t)(24 + 12 * (size_t)parts + data_size));
	put_word(fixture, FIXTURE_NULL);
	put_word(fixture, FIXTURE_NULL);
	put_word(fixture, parts);
}

static void put_part(struct fixture *fixture, uint32_t type, size_t *offset, size_t size)
{
	put_word(fixture, type);
	put_word(fixture, (uint32_t)*offset);
	put_word(fixture, (uint32_t)size);
	*offset += padded(size);
}

void fixture_chunk(struct fixture *fixture, uint32_t type, uint32_t part_type, const void *data,
		   size_t size)
{
	size_t offset = 0;

	put_head(fixture, type, padded(size), 1);
	put_part(fixture, part_type, &offset, size);
	put_padded(fixture, data, size);
}

void fixture_begin(struct fixture *fixture, const char *header)
{
	*fixture = (struct fixture){ 0 };
	if (!header)
		header = "{\"timebase\":0}";
	put_word(fixture, 0xDEADBEEF);
	put_word(fixture, 7);
	put_word(fixture, 10);
	fixture_chunk(fixture, 1, 0x10000, header, strlen(header));
}

void fixture_release(struct fixture *fixture)
{
	free(fixture->file);
	free(fixture->events);
	free(fixture->texts);
	*fixture = (struct fixture){ 0 };
}

uint32_t fixture_text(struct fixture *fixture, const char *text)
{
	append(&fixture->texts, &fixture->texts_size, &fixture->texts_capacity, text,
	       strlen(text) + 1);
	return fixture->text_count++;
}

void fixture_event(struct fixture *fixture, uint32_t wire, uint32_t time, unsigned int count, ...)
{
	va_list words;

	event_word(fixture, wire);
	event_word(fixture, time);
	va_start(words, count);
	for (unsigned int i = 0; i < count; i++)
		event_word(fixture, va_arg(words, uint32_t));
	va_end(words);
}

void fixture_define(struct fixture *fixture, uint32_t wire, uint32_t class, const char *name,
		    const char *arguments)
{
	uint32_t name_text = fixture_text(fixture, name);
	uint32_t arguments_text = *arguments ? fixture_text(fixture, arguments) : FIXTURE_NULL;

	fixture_event(fixture, 1, 0, 5, wire, class, 0u, name_text, arguments_text);
}

void fixture_builtins(struct fixture *fixture)
{
	fixture_define(fixture, FIXTURE_ZONE_CREATE, 0, "wtf.zone#create",
		       "uint16 zoneId, ascii name, ascii type, ascii location");
	fixture_define(fixture, FIXTURE_ZONE_SET, 0, "wtf.zone#set", "uint16 zoneId");
	fixture_define(fixture, FIXTURE_ENTER, 1, "wtf.scope#enter", "ascii name");
	fixture_define(fixture, FIXTURE_LEAVE, 0, "wtf.scope#leave", "");
	fixture_define(fixture, FIXTURE_MARK, 0, "wtf.trace#mark", "ascii name, any value");
	fixture_define(fixture, FIXTURE_FLOW_BRANCH, 0, "wtf.flow#branch",
		       "flowId id, flowId parentId, ascii name, any value");
	fixture_define(fixture, FIXTURE_RANGE_BEGIN, 0, "wtf.timeRange#begin",
		       "uint32 id, ascii name, any value");
}

void fixture_zone(struct fixture *fixture, uint32_t id, const char *name)
{
	uint32_t name_text = fixture_text(fixture, name), type = fixture_text(fixture, "type");

	fixture_event(fixture, FIXTURE_ZONE_CREATE, 0, 4, id, name_text, type, FIXTURE_NULL);
}

void fixture_resource(struct fixture *fixture, uint32_t type, const void *data, size_t size)
{
	if (fixture->resource_count == FIXTURE_PARTS)
		abort();
	fixture->resources[fixture->resource_count].type = type;
	fixture->resources[fixture->resource_count].data = data;
	fixture->resources[fixture->resource_count++].size = size;
}

size_t fixture_end_chunk(struct fixture *fixture)
{
	size_t start = fixture->size, offset = 0;
	size_t size = padded(fixture->texts_size) + fixture->events_size;

	for (uint32_t i = 0; i < fixture->resource_count; i++)
		size += padded(fixture->resources[i].size);
	put_head(fixture, 2, size, 2 + fixture->resource_count);
	put_part(fixture, 0x30000, &offset, fixture->texts_size);
	put_part(fixture, 0x20002, &offset, fixture->events_size);
	for (uint32_t i = 0; i < fixture->resource_count; i++)
		put_part(fixture, fixture->resources[i].type, &offset, fixture->resources[i].size);
	put_padded(fixture, fixture->texts, fixture->texts_size);
	put_padded(fixture, fixture->events, fixture->events_size);
	for (uint32_t i = 0; i < fixture->resource_count; i++)
		put_padded(fixture, fixture->resources[i].data, fixture->resources[i].size);
	fixture->texts_size = fixture->events_size = 0;
	fixture->text_count = fixture->resource_count = 0;
	return start;
}
