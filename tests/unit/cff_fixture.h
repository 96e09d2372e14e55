/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds wtf-trace files for tests, byte by byte and without the code under test. Events and texts
 * are collected, and become a chunk when it is ended.
 */
#ifndef SONDE_TESTS_CFF_FIXTURE_H
#define SONDE_TESTS_CFF_FIXTURE_H

#include <stddef.h>
#include <stdint.h>

#define FIXTURE_NULL 0xFFFFFFFFu
#define FIXTURE_EMPTY 0xFFFFFFFEu
#define FIXTURE_PARTS 16

/* Wire ids that fixture_builtins() defines. */
enum {
	FIXTURE_ZONE_CREATE = 2,
	FIXTURE_ZONE_SET,
	FIXTURE_ENTER,
	FIXTURE_LEAVE,
	FIXTURE_MARK,
	FIXTURE_FLOW_BRANCH,
	FIXTURE_RANGE_BEGIN,
	FIXTURE_FIRST_USER = 20,
};

struct fixture {
	uint8_t *file;
	size_t size, capacity;
	/* of the chunk that is being made */
	uint8_t *events;
	size_t events_size, events_capacity;
	uint8_t *texts;
	size_t texts_size, texts_capacity;
	uint32_t text_count;
	uint32_t chunks;
	struct {
		uint32_t type;
		const void *data; /* must stay until the chunk is ended */
		size_t size;
	} resources[FIXTURE_PARTS];
	uint32_t resource_count;
};

/* The head of the file and a header chunk; header NULL: {"timebase":0}. */
void fixture_begin(struct fixture *fixture, const char *header);
void fixture_release(struct fixture *fixture);

/* Ordinal of a new text. */
uint32_t fixture_text(struct fixture *fixture, const char *text);

/* An event: wire id, time and `count` words of arguments. */
void fixture_event(struct fixture *fixture, uint32_t wire, uint32_t time, unsigned int count, ...);
void fixture_define(struct fixture *fixture, uint32_t wire, uint32_t class, const char *name,
		    const char *arguments);
void fixture_builtins(struct fixture *fixture);
void fixture_zone(struct fixture *fixture, uint32_t id, const char *name);
void fixture_resource(struct fixture *fixture, uint32_t type, const void *data, size_t size);

/* Writes the chunk: string table, events, resources; gives its offset in the file. */
size_t fixture_end_chunk(struct fixture *fixture);
/* A chunk of any type with one part. */
void fixture_chunk(struct fixture *fixture, uint32_t type, uint32_t part_type, const void *data,
		   size_t size);
void fixture_bytes(struct fixture *fixture, const void *data, size_t size);

#endif
