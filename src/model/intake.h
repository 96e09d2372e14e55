/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For readers of files that are no recordings by themselves: events of all threads mixed, times that go
 * back, spans in place of calls and returns, stacks in place of contexts. An intake takes these as they
 * come, keeps them in files without names, and in the end is the recording: events of each track in
 * the order of time, nested, with depths; contexts as one tree; values added up; samples in order.
 * Memory is bounded by what is defined and by contexts, not by how many events there are. One thread.
 */
#ifndef SONDE_MODEL_INTAKE_H
#define SONDE_MODEL_INTAKE_H

#include "model/recording.h"

struct sonde_intake;

/* For a recording that a format's open is filling; nothing else adds to its definitions meanwhile but
 * strings, modules, metrics, clocks, anchors and attributes. */
enum sonde_status sonde_intake_new(struct sonde_recording *recording, struct sonde_intake **intake,
				   struct sonde_error *err);
/* Of one that was not finished; NULL is fine. */
void sonde_intake_free(struct sonde_intake *intake);

/*
 * Who: processes by a key of the format (a pid), tracks by one within their process (a tid), made when first
 * asked for and numbered in that order. What is known of them may be set until finish through the
 * pointers, which hold until the next one is made: names come late in many formats. New ones
 * have os_id set to the key where that fits a pid or tid, and nothing else.
 */
enum sonde_status sonde_intake_process(struct sonde_intake *intake, uint64_t key, uint32_t *process,
				       struct sonde_error *err);
enum sonde_status sonde_intake_track(struct sonde_intake *intake, uint32_t process, uint64_t key,
				     uint32_t *track, struct sonde_error *err);
struct sonde_process *sonde_intake_process_at(struct sonde_intake *intake, uint32_t process);
struct sonde_track *sonde_intake_track_at(struct sonde_intake *intake, uint32_t track);

/*
 * What: functions by process, module, name, file and line; event types by name and signature ("" where there
 * are no arguments). The same gives the same id. Names may hold any bytes: those that are not UTF-8 or NUL
 * become U+FFFD. Of a function the fields process, module, file, line, raw_name and address are taken
 * from `like` (its `name` is not looked at).
 */
enum sonde_status sonde_intake_function(struct sonde_intake *intake,
					const struct sonde_function *like, const char *name,
					size_t length, uint32_t *function, struct sonde_error *err);
enum sonde_status sonde_intake_event_type(struct sonde_intake *intake, const char *name,
					  size_t length, const char *signature,
					  uint32_t *event_type, struct sonde_error *err);
/* A string of the recording, likewise from any bytes. */
enum sonde_status sonde_intake_string(struct sonde_intake *intake, const char *text, size_t length,
				      uint32_t *string, struct sonde_error *err);

/* Small numbers for flows and ranges, whose ids are long in other formats; from 1 on. */
enum sonde_status sonde_intake_number(struct sonde_intake *intake, const void *id, size_t size,
				      uint32_t *number, struct sonde_error *err);

/* A kind beside those of enum sonde_event_kind: a call with its end. */
#define SONDE_INTAKE_SPAN 64

struct sonde_intake_event {
	uint64_t time_ns;
	uint64_t end_ns; /* of a SPAN; not before time_ns */
	uint32_t track;
	/* As in sonde_event. SONDE_NONE for RETURN and EXCEPTION: whatever call is open. */
	uint32_t function;
	uint8_t kind;
	uint32_t extra; /* as in sonde_event, but not of a COUNTER */
	double value;	/* of a COUNTER */
	/* A detail of kind ARGUMENTS: packed as <sonde/arguments.h> says, after the signature of that event
	 * type. SONDE_NONE: no detail (note that 0 is an event type). Copied. */
	uint32_t event_type;
	const uint8_t *arguments;
	size_t size;
	/* Of a SPAN: it is left by an exception, which may have a detail of its own where the span has one;
	 * end_arguments NULL: none. */
	bool raises;
	uint32_t end_type;
	const uint8_t *end_arguments;
	size_t end_size;
};

/*
 * Adds an event. In the end those of a track are ordered by time, those of one time as they came; spans of
 * one time by their length, the longest outside. A return that fits no open call is left out; one that names a
 * function closes the calls open inside of it too (they were not closed by themselves). A span that overlaps
 * another without being inside of it goes to a further track of the same name, whose slot tells.
 * All that is counted: see below. Calls never returned from stay open.
 */
enum sonde_status sonde_intake_add(struct sonde_intake *intake,
				   const struct sonde_intake_event *event, struct sonde_error *err);

/*
 * Stacks: a node is a context below another node, 0 being the root; what says the same below the same parent
 * is the same node. `parent` and `end` of the context are not looked at.
 */
enum sonde_status sonde_intake_context(struct sonde_intake *intake, uint32_t parent,
				       const struct sonde_context *context, uint32_t *node,
				       struct sonde_error *err);
/* The usual context: a function that is called. */
struct sonde_context sonde_intake_frame(uint32_t function);

/* Adds to the value of a node, of scope "point". */
enum sonde_status sonde_intake_value(struct sonde_intake *intake, uint32_t track, uint32_t node,
				     uint32_t metric, double value, struct sonde_error *err);
/* From that time on the track is in that node; 0: it does not run. Any order of times. */
enum sonde_status sonde_intake_sample(struct sonde_intake *intake, uint32_t track, uint64_t time_ns,
				      uint32_t node, struct sonde_error *err);

/* What did not fit; formats make findings of it. */
struct sonde_intake_counts {
	uint64_t lone_returns;	  /* fitted no open call: left out */
	uint64_t missing_returns; /* of calls that were closed because one around them was */
	uint64_t overlaps;	  /* spans that went to a further track */
	uint64_t
		went_back; /* events and samples earlier than one before them in the file: put in order */
	uint64_t open_calls; /* never returned from */
};

/*
 * No more comes. Orders everything, defines processes, tracks, functions and event types, sets lanes, ops and data
 * of the recording, which from then on owns the intake. Without `counts`, NULL.
 */
enum sonde_status sonde_intake_finish(struct sonde_intake *intake,
				      struct sonde_intake_counts *counts, struct sonde_error *err);

#endif
