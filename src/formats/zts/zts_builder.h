/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces from the events of any recording: a sink, whose traces go to whatever writer its owner
 * gives it. The writer of the format and the ingest of recordings are both made of it.
 */
#ifndef SONDE_FORMATS_ZTS_BUILDER_H
#define SONDE_FORMATS_ZTS_BUILDER_H

#include <sonde/arguments.h>
#include <sonde/pipeline.h>

#include "base/vec.h"
#include "formats/zts/zts_writer.h"

/* What a trace store cannot hold: X(name, what, reason). */
#define ZTS_LOSS_LIST(X)                                                                           \
	X(ORPHANS, "returns", "their calls are not there")                                         \
	X(OPEN, "calls that never ended", "they end with the call or the track around them")       \
	X(OUTSIDE, "calls", "they are outside of the calls that are made traces of")               \
	X(DETAILS, "details", "a trace store holds typed arguments, not registers or bytes")       \
	X(SYNTHETIC, "marks of calls that a cut opened or closed", "a trace store has none")       \
	X(NULS, "texts with a NUL", "it becomes U+FFFD where they come as JSON")                   \
	X(BACKWARDS, "times that go back", "in a trace each follows the one before")               \
	X(CLOCKS, "clocks of tracks",                                                              \
	  "a trace store has the time of the wall clock, and nothing tells how that was; times "   \
	  "stay as they are")                                                                      \
	X(RAW_NAMES, "names before demangling", "a trace store keeps those of Java only")          \
	X(ATTRIBUTES, "attributes", "a trace store keeps the host and the name of a process only")

enum zts_loss {
#define X(name, what, reason) ZTS_LOSS_##name,
	ZTS_LOSS_LIST(X)
#undef X
		ZTS_LOSS_COUNT
};

/* Where traces go. `epoch` changes whenever ids of texts are no longer valid. */
struct zts_builder_target {
	enum sonde_status (*begin)(void *context, struct zts_writer **writer, uint64_t *epoch,
				   struct sonde_error *err);
	/* After the trace was ended or abandoned. */
	enum sonde_status (*end)(void *context, bool is_kept, struct sonde_error *err);
	void *context;
};

/* A call that is open; not all are records of a trace. */
struct zts_open_call {
	uint32_t function;
	bool is_record;
	uint32_t flags;
	uint64_t calls; /* 0: not known */
};

/* How the arguments of an event type are taken. */
struct zts_builder_type {
	enum { ZTS_TYPE_UNKNOWN, ZTS_TYPE_CALL, ZTS_TYPE_EXCEPTION, ZTS_TYPE_OTHER } kind;
	struct sonde_signature *signature;
};

/* An id of the writer's, with the epoch in which it is valid. */
struct zts_cached_id {
	uint64_t epoch; /* 0: never */
	uint32_t id;
};

/* What the detail of a call says beside attributes. */
struct zts_call_detail {
	const struct sonde_detail *detail; /* NULL: there is none */
	const struct zts_builder_type *type;
	struct sonde_argument values[7]; /* of ZTS_TYPE_CALL */
};

struct zts_builder {
	struct sonde_sink base;
	/* The owner sets these. */
	struct zts_builder_target target;
	/* a shell pattern over names; NULL: every top-level call is a trace */
	const char *split_by;
	const char *service, *host, *env; /* NULL: of the process */
	struct sonde_loss *loss;
	/* What came of it. */
	uint64_t traces, records;

	const struct sonde_definitions *definitions;
	uint32_t track;	   /* at hand; SONDE_NONE: none */
	uint64_t index;	   /* of the next trace in the track */
	uint64_t time_ns;  /* of the last event in the trace */
	uint64_t shift_ns; /* from the track's clock to the wall clock, modulo 2^64 */
	SONDE_VEC(struct zts_open_call) open;
	size_t records_open;
	struct zts_writer *writer; /* while a trace is open */
	uint64_t epoch;
	SONDE_VEC(struct zts_builder_type) types;
	SONDE_VEC(struct zts_cached_id) methods; /* by function */
	SONDE_VEC(uint8_t) matches;		 /* by function: 0 not known, 1 no, 2 yes */
	struct sonde_buffer cbor, text;
	uint64_t lost[ZTS_LOSS_COUNT];
	uint64_t lost_kinds[SONDE_EVENT_KIND_COUNT];
};

void zts_builder_release(struct zts_builder *builder);

/* Operations for an owner's table. */
enum sonde_status zts_builder_begin(struct sonde_sink *sink,
				    const struct sonde_definitions *definitions,
				    struct sonde_error *err);
enum sonde_status zts_builder_events(struct sonde_sink *sink, uint32_t track,
				     const struct sonde_batch *batch, struct sonde_error *err);
enum sonde_status zts_builder_track_end(struct sonde_sink *sink, uint32_t track,
					struct sonde_error *err);

/* zts_builder_detail.c */
enum sonde_status zts_builder_take_detail(struct zts_builder *builder,
					  const struct sonde_batch *batch,
					  const struct sonde_event *event,
					  struct sonde_detail *detail, struct zts_call_detail *call,
					  struct sonde_error *err);
/* The attributes of a detail, to the record that is open; those of ZTS_TYPE_CALL too. */
enum sonde_status zts_builder_put_attributes(struct zts_builder *builder,
					     const struct zts_call_detail *call,
					     struct sonde_error *err);
/* The exception that a detail of ZTS_TYPE_EXCEPTION tells of. */
enum sonde_status zts_builder_exception(struct zts_builder *builder,
					const struct sonde_detail *detail, uint32_t *id,
					struct sonde_error *err);
/*
 * The text of an attribute of the object in `json`, which is a string, in builder->text; false:
 * none.
 */
bool zts_builder_find_string(struct zts_builder *builder, const struct sonde_argument *json,
			     const char *name);

#endif
