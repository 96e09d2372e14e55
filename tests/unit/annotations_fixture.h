/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session with annotations of every kind, written through the sink of ATF: what is in it, so that
 * whatever was read back can be compared, and the writing.
 */
#ifndef SONDE_TESTS_ANNOTATIONS_FIXTURE_H
#define SONDE_TESTS_ANNOTATIONS_FIXTURE_H

#include <sonde/sonde.h>

#include "base/buffer.h"

/* Event types of a test session, in the order of their ids. */
enum {
	TYPE_LOAD,	 /* a scope: function LOAD */
	TYPE_LOAD_AGAIN, /* another scope of that name */
	TYPE_ENTER,	 /* a scope without a function of its name */
	TYPE_NOTE,	 /* has arguments */
	TYPE_TICK,	 /* has none */
	TYPE_LEVEL,	 /* a counter */
	TYPE_COUNT,
};

struct annotation_type {
	const char *name, *arguments;
	uint32_t flags;
	bool is_scope;
};

extern const struct annotation_type types[TYPE_COUNT];

/* Functions of each process: one of a module, and that of the scope. */
enum { MAIN, LOAD, FUNCTION_COUNT };

/* What is written to each track; `arguments`: the event type of its detail. */
struct step {
	enum sonde_event_kind kind;
	uint32_t function, depth, extra;
	double value;
	uint32_t arguments;
};

#define STEP_COUNT 18
extern const struct step steps[STEP_COUNT];

#define TEXT_RESOURCE "int main(void) {}\n"
#define BINARY_RESOURCE "\0\377\1"

/* The packed arguments of a step, into `out`. */
void pack_step(struct sonde_buffer *out, uint32_t type, uint32_t step);

/* Two tracks a process, a thread and a zone; three resources. */
void write_annotated(const char *path, uint32_t processes, uint64_t events_per_file);

#endif
