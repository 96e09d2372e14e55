/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session at work for tests of the recorder: threads whose events follow a pattern, so that
 * whatever was read back can be compared field by field.
 */
#ifndef SONDE_TESTS_RECORDER_FIXTURE_H
#define SONDE_TESTS_RECORDER_FIXTURE_H

#include <sonde/sonde.h>

#include "formats/atf/atf_recorder.h"
#include "scratch.h"

#define MODULE_KEY UINT64_C(0x75067905)

extern struct sonde_error err;

/* Fails the test with the message in `err`. */
void assert_ok(enum sonde_status status);

/* A recording at work, with its definitions. */
struct session {
	char path[256];
	struct atf_recorder *recorder;
	struct sonde_definitions *definitions;
};

struct session begin_at(const char *path, struct atf_recorder_limits limits);
struct session begin(const char *name);
/* Finishes, which must succeed, and frees; gives the events that were lost. */
uint64_t finish(struct session *session);
void abandon(struct session *session);

uint32_t add_text(struct sonde_definitions *definitions, const char *text);
uint32_t add_process(struct session *session, uint32_t pid, const char *name);
struct atf_recorder_thread *add_thread(struct session *session, uint32_t process);

/* The nth event that a test thread has: calls of depth 1 and 2, all of them left again. */
struct atf_index_event event_number(const struct atf_recorder_thread *thread, uint64_t n);

/* The detail of the nth event, and its link in the event. */
enum sonde_status add_detail(struct atf_recorder_thread *thread, struct atf_index_event *event,
			     uint64_t n, uint32_t index_seq);

/* The events `first` to `first + count - 1` of a thread; each `every`th has a detail. */
enum sonde_status try_events(struct atf_recorder_thread *thread, uint64_t first, size_t count,
			     unsigned int every);
void put_events(struct atf_recorder_thread *thread, uint64_t first, size_t count,
		unsigned int every);

struct sonde_recording *open_path(const char *path);

/* A track has the first events of a test thread; returns how many. */
uint64_t assert_track(struct sonde_recording *recording, uint32_t track, unsigned int every);

#endif
