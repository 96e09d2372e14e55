/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording in memory and a sink that collects, for tests of the model. The recording's cursors
 * hand out tiny batches, so that every boundary is met.
 */
#ifndef TESTS_MEMORY_RECORDING_H
#define TESTS_MEMORY_RECORDING_H

#include <sonde/sonde.h>

/* An event with this function or more is one of a function that nobody defined: the key. */
#define MEMORY_UNDEFINED 0x80000000u

/* Aborts the test where memory fails. Close it with sonde_recording_close(). */
struct sonde_recording *memory_recording_new(size_t batch_size);

uint32_t memory_add_string(struct sonde_definitions *definitions, const char *text);
uint32_t memory_add_process(struct sonde_recording *recording, const char *name);
uint32_t memory_add_function(struct sonde_recording *recording, uint32_t process, const char *name);
uint32_t memory_add_track(struct sonde_recording *recording, uint32_t process, const char *name);

/* The events of a track are those given, in that order; `track` is filled in. */
void memory_add_event(struct sonde_recording *recording, uint32_t track, struct sonde_event event);

/* Adds a detail about `function` to a track; gives its number. */
uint32_t memory_add_detail(struct sonde_recording *recording, uint32_t track, uint32_t function);

uint32_t memory_add_event_type(struct sonde_recording *recording, const char *name,
			       const char *arguments);

/* Adds typed arguments to a track; the packed bytes are copied. Gives the number of the detail. */
uint32_t memory_add_arguments(struct sonde_recording *recording, uint32_t track,
			      uint32_t event_type, const void *bytes, size_t size);

/* The details of the only track are numbered by their events, as some formats do. */
void memory_number_by_event(struct sonde_recording *recording);

/* Adds a resource; its bytes are borrowed. NULL bytes: reading it fails with SONDE_CORRUPT. */
void memory_add_blob(struct sonde_recording *recording, const char *name, bool is_text,
		     const char *bytes, size_t size);

/*
 * Contexts: the root is made with the first; a parent must have been added before, and all below it
 * before its next sibling. Gives its number. `function` may be SONDE_NONE.
 */
uint32_t memory_add_context(struct sonde_recording *recording, uint32_t parent,
			    enum sonde_context_kind kind, enum sonde_context_relation relation,
			    uint32_t function);

/* The one just added or any other, to be filled further. */
struct sonde_context *memory_context(struct sonde_recording *recording, uint32_t context);

uint32_t memory_add_metric(struct sonde_recording *recording, const char *name, const char *scope,
			   const char *statistic);

/* In the order of contexts and metrics; track SONDE_NONE: a statistic. */
void memory_add_value(struct sonde_recording *recording, uint32_t track, uint32_t context,
		      uint32_t metric, double value);
void memory_add_sample(struct sonde_recording *recording, uint32_t track, uint64_t time_ns,
		       uint32_t context);

/* Reading the event of this index fails with SONDE_CORRUPT. */
void memory_fail_at(struct sonde_recording *recording, uint32_t track, uint64_t index);

/* Short for events without detail. */
struct sonde_event memory_event(enum sonde_event_kind kind, uint64_t time_ns, uint32_t function,
				uint32_t depth);

/* The same sequence in every run. */
uint64_t memory_random(uint64_t *state);

/*
 * Random nested calls with siblings, exceptions and equal times. Closes all calls at the end if
 * asked to. Of the functions, `functions` are used from `first_function` on.
 */
void memory_add_calls(struct sonde_recording *recording, uint32_t track, size_t count,
		      uint32_t first_function, uint32_t functions, bool closed, uint64_t *random);

const struct sonde_event *memory_events(const struct sonde_recording *recording, uint32_t track,
					size_t *count);

/* What the sink got for one track. */
struct collected_track {
	struct sonde_event *events;
	size_t count;
	size_t capacity;
	/* By event; of arguments the event type, else the function; SONDE_NONE without a detail. */
	uint32_t *detail_functions;
	struct sonde_sample *samples;
	size_t sample_count, sample_capacity;
	struct sonde_value *values;
	size_t value_count, value_capacity;
	unsigned int ends;
};

#define COLLECTED_BLOBS 8

struct collector {
	struct sonde_sink base;
	struct sonde_sink_ops ops; /* base.ops; change before use */
	struct collected_track *tracks;
	uint32_t track_count;
	const struct sonde_definitions *definitions; /* while the run lasts */
	/* Called by finish, while the definitions are there. */
	void (*at_finish)(struct collector *collector);
	void *user;
	unsigned int begun, finished;
	/* Taken only where ops.blob is set to collect_blob() and the lanes have blobs. */
	struct sonde_blob blobs[COLLECTED_BLOBS];
	char blob_names[COLLECTED_BLOBS][32];
	size_t blob_count;
	/* Those that came, copied; the collector must hold the lane. */
	struct sonde_context *contexts;
	uint32_t context_count;
	_Atomic uint64_t argument_bytes; /* the sum of all bytes of arguments that came */
	_Atomic int calls_until_failure; /* of events and track_end; negative: never */
	_Atomic unsigned int calls_after_failure;
};

enum sonde_status collect_blob(struct sonde_sink *sink, const struct sonde_blob *blob,
			       struct sonde_error *err);

/* By default it holds events and details and takes tracks in parallel. */
void collector_init(struct collector *collector);

/* One that holds contexts, values and samples, and no events. */
void collector_init_profile(struct collector *collector);
void collector_release(struct collector *collector);

#endif
