/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of a format that holds contexts and values, fuzzed: it is opened, its values are read, and it is written in
 * every format of profiles. What opens has sound contexts and values, and what is written can be read again where
 * that format is read, with the same sum.
 */
#ifndef SONDE_FUZZ_PROFILE_FILE_H
#define SONDE_FUZZ_PROFILE_FILE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "base/crc.h"
#include "memory_file.h"

static inline void check_contexts(const struct sonde_context *contexts, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		REQUIRE(contexts[i].parent < i && contexts[i].end > i);
		REQUIRE(contexts[i].end <= contexts[contexts[i].parent].end);
	}
}

/* The number of values of all tracks, each of which is of a context and a metric that are there. */
static inline uint64_t walk_values(struct sonde_recording *recording)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	const struct sonde_context *contexts = NULL;
	uint32_t context_count = 0;
	struct sonde_error err = { 0 };
	uint64_t sum = 0;

	REQUIRE(sonde_recording_contexts(recording, &contexts, &context_count, &err) == SONDE_OK);
	check_contexts(contexts, context_count);
	for (uint32_t i = 0; i < sonde_definitions_track_count(definitions); i++) {
		struct sonde_value_cursor *cursor = NULL;
		const struct sonde_value *values;
		size_t count;

		REQUIRE(sonde_value_cursor_open(recording, i, &cursor, &err) == SONDE_OK);
		while (sonde_value_cursor_next(cursor, &values, &count, &err) == SONDE_OK) {
			for (size_t k = 0; k < count; k++) {
				REQUIRE(values[k].context < context_count);
				REQUIRE(sonde_definitions_metric(definitions, values[k].metric));
			}
			sum += count;
		}
		sonde_value_cursor_free(cursor);
	}
	return sum;
}

static inline void write_profile(struct sonde_recording *recording, const char *format)
{
	const struct sonde_create_options create = { .format = format };
	const struct sonde_run_options options = { .threads = 1 };
	struct sonde_run_result result;
	struct sonde_recording *again;
	struct sonde_sink *sink = NULL;
	struct sonde_error err = { 0 };
	enum sonde_status status;
	char path[96];

	snprintf(path, sizeof(path), "%s/sonde-fuzz-%d",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
	status = sonde_sink_create(path, &create, &sink, &err);
	if (status == SONDE_OK)
		status = sonde_pipeline_run(&recording, 1, sink, &options, &result, &err);
	sonde_sink_free(sink);
	REQUIRE(status == SONDE_OK || err.message[0]);
	if (status == SONDE_OK && sonde_format_info(sonde_format_by_name(format))->lanes_read) {
		REQUIRE(sonde_recording_open(path, format, &again, &err) == SONDE_OK);
		walk_values(again);
		sonde_recording_close(again);
	}
	remove(path);
}

/* One round: the input is a file of that format. */
static inline int fuzz_profile_file(const char *format, const uint8_t *data, size_t size)
{
	static const char *const written[] = { "folded", "pprof", "callgrind", "dot" };
	const char *path = memory_file(data, size);
	const struct sonde_format *found;
	struct sonde_recording *recording;
	struct sonde_error err = { 0 };
	uint32_t choice = sonde_crc32(0, data, size) % 16;

	sonde_format_detect(path, &found, &err);
	if (sonde_recording_open(path, format, &recording, &err) != SONDE_OK) {
		REQUIRE(err.message[0]);
		return 0;
	}
	walk_values(recording);
	/* writing is the slow half: some inputs take it, always the same ones */
	if (choice < 4)
		write_profile(recording, written[choice]);
	sonde_recording_close(recording);
	return 0;
}

#endif
