/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flight recorder: keeps the newest events of every lane in memory, in blocks that are dropped
 * oldest first, and writes them to the files when a trigger asks for it. What was open at the start
 * of a lane's first block is known from replaying the dropped ones.
 */
#ifndef SONDE_RECORD_FLIGHT_H
#define SONDE_RECORD_FLIGHT_H

#include <sonde/status.h>
#include <stdbool.h>

#include "base/buffer.h"
#include "base/vec.h"
#include "formats/atf/atf_recorder.h"
#include "runtime/shared.h"

struct session;
struct lane;
struct call_arguments;

/* Events of one lane and their details. */
struct flight_block {
	struct flight_block *next;	/* newer, of all lanes */
	struct flight_block *lane_next; /* newer, of this lane */
	struct lane *lane;
	uint64_t first_ns, last_ns;
	SONDE_VEC(struct atf_index_event) events; /* detail_seq: offset in details */
	struct sonde_buffer details;		  /* records, complete but for thread and event */
	bool awaits_events;			  /* those of details that are here already */
	size_t counted;				  /* bytes of it in the recorder's sum */
};

/* Of one lane; zeroed means empty. */
struct flight_lane {
	struct flight_block *first, *last;
	SONDE_VEC(uint64_t) open; /* function ids, outermost first, before the first block */
	bool reopened;		  /* they are open in the files too */
};

struct flight {
	bool enabled;
	bool writing; /* after a dump: events go straight to the files */
	uint64_t size_limit, window_ns, post_roll_ns;
	uint64_t writing_until_ns;
	struct flight_block *first, *last;
	uint64_t bytes;
	uint64_t newest_ns; /* time of the newest event */
	uint32_t dumps;
	bool wanted; /* a dump, at the end of this round */
	bool cut;    /* memory was short of the window */
};

void flight_init(struct session *session);
void flight_release(struct session *session);

/* How many events to take in at a time, so that a block of them is a small part of the memory. */
size_t flight_batch(const struct session *session);

/* Takes what calls_output was given. */
enum sonde_status flight_events(struct session *session, struct lane *lane,
				const struct atf_index_event *events, size_t count,
				struct sonde_error *err);
enum sonde_status flight_details(struct session *session, struct lane *lane,
				 struct atf_index_event *events,
				 const struct shared_unit *const *units, size_t count,
				 struct sonde_error *err);

enum sonde_status flight_arguments(struct session *session, struct lane *lane,
				   struct atf_index_event *event,
				   const struct call_arguments *arguments, struct sonde_error *err);

/* Events that go straight to the files: only what they open and close is followed. */
enum sonde_status flight_follow(struct lane *lane, const struct atf_index_event *events,
				size_t count, struct sonde_error *err);

/* Once a round, after all rings were read: dumps, ends a post-roll, drops what is too old. */
enum sonde_status flight_round(struct session *session, struct sonde_error *err);

/* The recording ends: dumps where that is due. `crashed`: the program ended by a signal. */
enum sonde_status flight_finish(struct session *session, bool crashed, struct sonde_error *err);

/* The lane is over: frees it where nothing of it is in memory or in the files. */
bool flight_lane_is_empty(const struct lane *lane);

#endif
