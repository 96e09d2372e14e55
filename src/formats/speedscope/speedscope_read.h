/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the reader of speedscope files. The members of the file and of profiles are found
 * first, as they may come in any order; frames are read before the profiles, of which one event or
 * sample at a time is looked at.
 */
#ifndef SONDE_SPEEDSCOPE_READ_H
#define SONDE_SPEEDSCOPE_READ_H

#include "base/json.h"
#include "base/map.h"
#include "base/vec.h"
#include "formats/exchange.h"
#include "formats/speedscope/speedscope.h"
#include "formats/speedscope/speedscope_scan.h"

struct speedscope_frame {
	uint32_t name, file, raw_name, module; /* strings */
	uint32_t line, process;
	uint32_t function; /* SONDE_NONE: not defined yet */
	uint64_t address;
};

/* Members of a profile that count. */
#define SPEEDSCOPE_MEMBER_LIST(X)                                                                  \
	X(TYPE, "type")                                                                            \
	X(NAME, "name")                                                                            \
	X(UNIT, "unit")                                                                            \
	X(START, "startValue")                                                                     \
	X(OURS, SPEEDSCOPE_OURS)                                                                   \
	X(EVENTS, "events")                                                                        \
	X(SAMPLES, "samples")                                                                      \
	X(WEIGHTS, "weights")

enum {
#define X(name, key) SPEEDSCOPE_MEMBER_##name,
	SPEEDSCOPE_MEMBER_LIST(X)
#undef X
		SPEEDSCOPE_MEMBERS
};

/* Where a profile is in the file, and what is in it. */
struct speedscope_place {
	size_t position;
	size_t members[SPEEDSCOPE_MEMBERS]; /* where their values are; 0: absent */
};

struct speedscope_reader {
	struct sonde_recording *recording;
	struct sonde_intake *intake;
	struct sonde_mapped_file file;
	struct speedscope_scan scan, weights_scan;
	struct sonde_json_reader json, weights;
	SONDE_VEC(struct speedscope_place) profiles;
	SONDE_VEC(struct speedscope_frame) frames;
	struct sonde_key_map missing; /* frames that are not there: their functions */
	struct sonde_key_map modules; /* by process and path */
	struct sonde_key_map metrics; /* by name and unit */
	/* ours */
	bool is_ours;
	uint64_t start_ns;
	SONDE_VEC(uint32_t) processes; /* what the numbers of the file mean */
	SONDE_VEC(uint32_t) tracks;
	/* of what was left out or put right */
	uint64_t columns, bad_times, bad_weights, bad_frames;
};

/* What there is to know of a profile. */
struct speedscope_profile {
	const struct speedscope_place *place;
	bool is_sampled;
	uint32_t name; /* string */
	unsigned int unit;
	int64_t start_ns; /* where its unit is a time */
	/* ours */
	uint32_t track; /* SONDE_NONE: not said */
	uint32_t metric_name, metric_unit, metric_description;
	bool has_metric, is_hidden;
};

/* A fault of the file becomes a finding, and SONDE_OK; anything else stays. */
enum sonde_status speedscope_take_fault(struct speedscope_reader *reader, enum sonde_status status,
					const struct sonde_error *fault, struct sonde_error *err);

/* speedscope_read_head.c: frames, and the member of ours; each at a place of the file. */
enum sonde_status speedscope_read_frames(struct speedscope_reader *reader, size_t position,
					 struct sonde_error *err);
enum sonde_status speedscope_read_ours(struct speedscope_reader *reader, size_t position,
				       struct sonde_error *err);
/* The function of a frame, by the number that the file gives. */
enum sonde_status speedscope_function(struct speedscope_reader *reader, uint64_t number,
				      uint32_t *function, struct sonde_error *err);
/* Functions of ours that nothing called: others' frames are defined when they are met. */
enum sonde_status speedscope_define_rest(struct speedscope_reader *reader, struct sonde_error *err);

/* speedscope_read_profile.c: the profile of that number. */
enum sonde_status speedscope_read_profile(struct speedscope_reader *reader, size_t number,
					  struct sonde_error *err);

/*
 * A decimal number times 10^digits, rounded, as an integer; false where it is none, or too large.
 * No double is between, unless there is an exponent.
 */
bool speedscope_scaled(const char *text, size_t length, unsigned int digits, int64_t *value);

#endif
