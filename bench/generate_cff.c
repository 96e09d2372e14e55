/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a wtf-trace file of any size for measurements, with nothing of the library: scopes with
 * an argument, instances with one and with two, and leaves, 12 bytes an event on average, in
 * four zones. A chunk holds 64 Ki events and its own small string table, as recorders write them.
 * The same options give the same bytes.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONES 4
#define CHUNK_EVENTS 65536 /* a multiple of the four kinds of events */
#define TEXTS 16
#define NO_TIME UINT32_MAX

enum {
	WIRE_DEFINE = 1,
	WIRE_ZONE_CREATE,
	WIRE_ZONE_SET,
	WIRE_LEAVE,
	WIRE_SCOPE,
	WIRE_ONE,
	WIRE_TWO
};

static const char header_json[] =
	"{\"flags\":[\"has_high_resolution_times\"],\"timebase\":1400000000000,"
	"\"contextInfo\":{\"contextType\":\"script\",\"uri\":\"bench\",\"title\":\"bench\"},"
	"\"metadata\":{}}";

/* The strings of the first chunk, by their ordinals; the texts of events follow in all chunks. */
static const char *const definition_strings[] = {
	"wtf.zone#create",
	"uint16 zoneId, ascii name, ascii type, ascii location",
	"wtf.zone#set",
	"uint16 zoneId",
	"wtf.scope#leave",
	"app.Renderer#drawFrame",
	"uint32 number",
	"app#tick",
	"uint32 value",
	"app#note",
	"uint32 value, utf8 text",
	"script",
	"zone 1",
	"zone 2",
	"zone 3",
	"zone 4",
};

#define DEFINITION_STRINGS (sizeof(definition_strings) / sizeof(definition_strings[0]))

struct words {
	uint32_t *items;
	size_t count;
	size_t capacity;
};

static void fail(const char *what)
{
	fprintf(stderr, "sonde-generate-cff: %s: %s\n", what, strerror(errno));
	exit(3);
}

static void put(struct words *words, uint32_t value)
{
	if (words->count == words->capacity) {
		words->capacity = words->capacity ? words->capacity * 2 : 1024;
		words->items = realloc(words->items, words->capacity * sizeof(*words->items));
		if (!words->items)
			fail("memory");
	}
	words->items[words->count++] = value;
}

static void define(struct words *events, uint32_t wire, uint32_t class, uint32_t flags,
		   uint32_t name, uint32_t arguments)
{
	put(events, WIRE_DEFINE);
	put(events, 0);
	put(events, wire);
	put(events, class);
	put(events, flags);
	put(events, name);
	put(events, arguments);
}

static void put_definitions(struct words *events)
{
	define(events, WIRE_ZONE_CREATE, 0, 40, 0, 1);
	define(events, WIRE_ZONE_SET, 0, 40, 2, 3);
	define(events, WIRE_LEAVE, 0, 40, 4, UINT32_MAX);
	define(events, WIRE_SCOPE, 1, 0, 5, 6);
	define(events, WIRE_ONE, 0, 0, 7, 8);
	define(events, WIRE_TWO, 0, 0, 9, 10);
	for (uint32_t zone = 0; zone < ZONES; zone++) {
		put(events, WIRE_ZONE_CREATE);
		put(events, 0);
		put(events, zone + 1);
		put(events, 12 + zone);
		put(events, 11);
		put(events, UINT32_MAX - 1);
	}
}

/* Event `number` of the file, at its time in microseconds. */
static void put_event(struct words *events, uint64_t number, uint32_t time, uint32_t first_text)
{
	static const uint32_t wires[] = { WIRE_SCOPE, WIRE_ONE, WIRE_TWO, WIRE_LEAVE };
	uint32_t wire = wires[number % 4];

	put(events, wire);
	put(events, time);
	if (wire != WIRE_LEAVE)
		put(events, (uint32_t)number);
	if (wire == WIRE_TWO)
		put(events, first_text + (uint32_t)(number / 4 % TEXTS));
}

static size_t put_string(char *out, size_t size, size_t at, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(out + at, size - at, format, arguments);
	va_end(arguments);
	return at + (size_t)length + 1;
}

static size_t make_strings(char *out, size_t size, bool is_first)
{
	size_t at = 0;

	for (size_t i = 0; is_first && i < DEFINITION_STRINGS; i++)
		at = put_string(out, size, at, "%s", definition_strings[i]);
	for (int i = 0; i < TEXTS; i++)
		at = put_string(out, size, at, "text of an event, number %d", i);
	return at;
}

static void write_all(FILE *file, const void *data, size_t size)
{
	if (fwrite(data, 1, size, file) != size)
		fail("writing");
}

struct part {
	uint32_t type;
	const void *data;
	size_t size;
};

static void write_chunk(FILE *file, uint32_t id, uint32_t type, uint32_t start, uint32_t end,
			const struct part *parts, uint32_t count)
{
	static const char padding[4];
	uint32_t length = 24 + 12 * count, offset = 0;
	uint32_t head[6];

	for (uint32_t i = 0; i < count; i++)
		length += (uint32_t)(parts[i].size + 3) & ~3u;
	memcpy(head, (uint32_t[]){ id, type, length, start, end, count }, sizeof(head));
	write_all(file, head, sizeof(head));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t entry[3] = { parts[i].type, offset, (uint32_t)parts[i].size };

		write_all(file, entry, sizeof(entry));
		offset += (uint32_t)(parts[i].size + 3) & ~3u;
	}
	for (uint32_t i = 0; i < count; i++) {
		write_all(file, parts[i].data, parts[i].size);
		write_all(file, padding, -parts[i].size & 3);
	}
}

static void write_events(FILE *file, uint64_t total)
{
	struct words events = { 0 };
	char strings[4096];
	uint64_t number = 0;

	for (uint32_t chunk = 0; number < total; chunk++) {
		uint32_t time = (uint32_t)(number / 2), start = time;
		uint32_t first_text = chunk ? 0 : DEFINITION_STRINGS;
		size_t strings_size = make_strings(strings, sizeof(strings), !chunk);

		events.count = 0;
		if (!chunk)
			put_definitions(&events);
		put(&events, WIRE_ZONE_SET);
		put(&events, time);
		put(&events, chunk % ZONES + 1);
		for (uint32_t i = 0; i < CHUNK_EVENTS && number < total; i++, number++) {
			time = (uint32_t)(number / 2);
			put_event(&events, number, time, first_text);
		}
		write_chunk(file, chunk + 2, 2, start, time,
			    (const struct part[]){
				    { 0x30000, strings, strings_size },
				    { 0x20002, events.items, events.count * sizeof(uint32_t) },
			    },
			    2);
	}
	free(events.items);
}

int main(int argc, char **argv)
{
	const uint32_t head[3] = { 0xDEADBEEF, 20150715, 10 };
	char *end = NULL;
	uint64_t total = argc == 3 ? strtoull(argv[1], &end, 10) : 0;
	FILE *file;

	if (argc != 3 || !total || *end || total % 4) {
		fputs("usage: sonde-generate-cff EVENTS FILE\n"
		      "Writes a wtf-trace file of so many events, a multiple of 4.\n",
		      stderr);
		return 2;
	}
	file = fopen(argv[2], "wb");
	if (!file)
		fail(argv[2]);
	write_all(file, head, sizeof(head));
	write_chunk(file, 1, 1, NO_TIME, NO_TIME,
		    &(const struct part){ 0x10000, header_json, sizeof(header_json) - 1 }, 1);
	write_events(file, total);
	if (fclose(file))
		fail(argv[2]);
	return 0;
}
