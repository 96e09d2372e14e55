/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes of a recording as a program sees them: the 32-byte event, its details, and embedded
 * resources. Contexts, values and samples are in <sonde/profile.h>.
 */
#ifndef SONDE_EVENT_H
#define SONDE_EVENT_H

#include <string.h>

#include <sonde/definitions.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lanes, as bits: what a recording has, what a format can hold. */
#define SONDE_LANE_LIST(X)                                                                         \
	X(EVENTS, 0, "events")                                                                     \
	X(SAMPLES, 1, "samples")                                                                   \
	X(CONTEXTS, 2, "contexts")                                                                 \
	X(VALUES, 3, "values")                                                                     \
	X(DETAILS, 4, "details")                                                                   \
	X(BLOBS, 5, "blobs")

enum sonde_lane {
#define X(name, bit, text) SONDE_LANE_##name = 1 << (bit),
	SONDE_LANE_LIST(X)
#undef X
};

/* A call is left by a return or by an exception. OTHER keeps a kind that is not known here. */
#define SONDE_EVENT_KIND_LIST(X)                                                                   \
	X(OTHER, 0, "other")                                                                       \
	X(CALL, 1, "call")                                                                         \
	X(RETURN, 2, "return")                                                                     \
	X(EXCEPTION, 3, "exception")                                                               \
	X(INSTANT, 4, "instant")                                                                   \
	X(MARK, 5, "mark")                                                                         \
	X(FLOW_BEGIN, 6, "flow-begin")                                                             \
	X(FLOW_STEP, 7, "flow-step")                                                               \
	X(FLOW_END, 8, "flow-end")                                                                 \
	X(COUNTER, 9, "counter")                                                                   \
	X(RANGE_BEGIN, 10, "range-begin")                                                          \
	X(RANGE_END, 11, "range-end")

enum sonde_event_kind {
#define X(name, value, text) SONDE_EVENT_##name = (value),
	SONDE_EVENT_KIND_LIST(X)
#undef X
};

#define SONDE_EVENT_KIND_COUNT (SONDE_EVENT_RANGE_END + 1)

/* Event flags. */
enum {
	SONDE_EVENT_SYNTHETIC = 1, /* not recorded: made by cut to open or close a call */
};

struct sonde_event {
	uint64_t time_ns;
	uint32_t track;
	uint32_t function; /* see sonde_event_has_function(); else an event type */
	uint32_t depth;	   /* the outermost call is 1; a return has the depth of its call */
	uint8_t kind;	   /* enum sonde_event_kind */
	uint8_t flags;
	uint16_t reserved; /* 0 */
	uint32_t detail;   /* number of its detail in the track, or SONDE_NONE */
	uint32_t extra;	   /* flow and range kinds: its number; OTHER: the format's kind */
};

/* The value of a COUNTER, which takes the place of `detail` and `extra`. */
static inline double sonde_event_value(const struct sonde_event *event)
{
	uint64_t bits = (uint64_t)event->extra << 32 | event->detail;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline void sonde_event_set_value(struct sonde_event *event, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	event->detail = (uint32_t)bits;
	event->extra = (uint32_t)(bits >> 32);
}

/* The word for a kind ("call"); "other" for what is not known. */
const char *sonde_event_kind_name(unsigned int kind);

/* The kind for a word; SONDE_EVENT_KIND_COUNT where there is none. */
enum sonde_event_kind sonde_event_kind_from_name(const char *name);

/* Its `function` is a function, and not an event type. */
static inline bool sonde_event_has_function(const struct sonde_event *event)
{
	return event->kind <= SONDE_EVENT_EXCEPTION;
}

/* Its `detail` is the number of a detail. */
static inline bool sonde_event_has_detail(const struct sonde_event *event)
{
	return event->kind != SONDE_EVENT_COUNTER && event->detail != SONDE_NONE;
}

static inline bool sonde_event_leaves(const struct sonde_event *event)
{
	return event->kind == SONDE_EVENT_RETURN || event->kind == SONDE_EVENT_EXCEPTION;
}

/* What is known of the registers at a call or a return. */
enum {
	SONDE_REGISTERS_ARGUMENTS = 1, /* the argument registers are real */
	SONDE_REGISTERS_RESULT = 2,    /* the result registers are real */
};

#define SONDE_REGISTER_COUNT 11

struct sonde_registers {
	enum sonde_arch arch;
	uint16_t flags; /* x86_64: SONDE_REGISTERS_*; arm64: as in the file */
	uint64_t values[SONDE_REGISTER_COUNT]; /* in the order of sonde_register_name() */
};

/* "rdi", "x0", ... ; NULL for an architecture without names. */
const char *sonde_register_name(enum sonde_arch arch, unsigned int index);

enum sonde_detail_kind {
	SONDE_DETAIL_OPAQUE,	/* bytes of a type not known here, carried as they are */
	SONDE_DETAIL_REGISTERS, /* registers and stack bytes */
	SONDE_DETAIL_ARGUMENTS, /* typed arguments, packed as <sonde/arguments.h> says */
};

/* One detail. Pointers are borrowed: valid until the next detail is taken from that cursor. */
struct sonde_detail {
	enum sonde_detail_kind kind;
	uint16_t type; /* the format's own type and flags */
	uint16_t flags;
	uint32_t function;   /* REGISTERS: function id, or SONDE_NONE */
	uint32_t event_type; /* ARGUMENTS: whose signature they follow */
	uint64_t event;	     /* index of its event in the track; UINT64_MAX where it has none */
	uint64_t time_ns;
	struct sonde_registers registers;
	const uint8_t *stack; /* REGISTERS: from the stack pointer up */
	size_t stack_size;
	const uint8_t *bytes; /* OPAQUE: the payload; REGISTERS: what follows the stack bytes;
				 ARGUMENTS: their values */
	size_t size;
};

struct sonde_blob {
	uint32_t name;
	bool is_text;
	const uint8_t *bytes;
	size_t size;
};

#ifdef __cplusplus
}
#endif

#endif
