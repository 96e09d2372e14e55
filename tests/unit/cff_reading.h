/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and checking wtf-trace files in tests: what all tests of them share. */
#ifndef SONDE_TESTS_CFF_READING_H
#define SONDE_TESTS_CFF_READING_H

#include <sonde/sonde.h>

#include "cff_fixture.h"
#include "formats/cff/cff_findings.h"

extern struct sonde_error err;

/* Every event of a track, with its detail as text. */
struct seen {
	struct sonde_event event;
	uint64_t index;
	size_t detail_size; /* SIZE_MAX: none */
	uint8_t detail[64];
};

struct track_events {
	struct seen *items;
	size_t count;
};

const char *write_fixture(struct fixture *fixture, const char *name);
struct sonde_recording *open_path(const char *path);
/* Writes and opens; the fixture is released. */
struct sonde_recording *open_fixture(struct fixture *fixture);
struct sonde_cursor *open_cursor(struct sonde_recording *recording, uint32_t track);
/* Every event of a track; items are to be freed. */
struct track_events read_track(struct sonde_recording *recording, uint32_t track);

const char *track_name(struct sonde_recording *recording, uint32_t track);
const char *function_name(struct sonde_recording *recording, uint32_t function);
const char *type_name(struct sonde_recording *recording, uint32_t type);

uint64_t count_findings(const struct sonde_diagnostics *diagnostics, enum cff_finding type);
/* Number of errors that a check finds; where `type` is not -1, it must be among the findings. */
uint64_t check_errors(const char *path, int type);
void assert_no_errors(const char *path);

/* Three zones in turn, redefined wire ids, names, arrays. */
void build_long(struct fixture *fixture, uint32_t events, uint32_t per_chunk);
/* Compares every `step`th place of a recording, by index and by time, with a full read. */
void compare_seeks(struct sonde_recording *recording, uint32_t track, uint64_t step);

#endif
