/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the reader of speedscope files: whatever it makes of the bytes is a recording that can be
 * walked through, with its events in order and its contexts a tree.
 */
#include <sonde/sonde.h>

#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void walk_events(struct sonde_recording *recording, uint32_t track)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	struct sonde_cursor *cursor = NULL;
	struct sonde_batch batch;
	uint64_t last_ns = 0;

	REQUIRE(!sonde_cursor_open(recording, track, &cursor, NULL));
	while (!sonde_cursor_next(cursor, &batch, NULL)) {
		for (size_t i = 0; i < batch.count; i++) {
			const struct sonde_event *event = &batch.events[i];

			REQUIRE(event->time_ns >= last_ns);
			REQUIRE(sonde_definitions_function(definitions, event->function));
			last_ns = event->time_ns;
		}
	}
	sonde_cursor_free(cursor);
}

static void walk_profile(struct sonde_recording *recording, uint32_t track, uint32_t contexts)
{
	struct sonde_value_cursor *values = NULL;
	struct sonde_sample_cursor *samples = NULL;
	const struct sonde_value *value;
	const struct sonde_sample *sample;
	size_t count;

	REQUIRE(!sonde_value_cursor_open(recording, track, &values, NULL));
	while (!sonde_value_cursor_next(values, &value, &count, NULL)) {
		for (size_t i = 0; i < count; i++)
			REQUIRE(value[i].context < contexts);
	}
	sonde_value_cursor_free(values);
	REQUIRE(!sonde_sample_cursor_open(recording, track, &samples, NULL));
	while (!sonde_sample_cursor_next(samples, &sample, &count, NULL)) {
		for (size_t i = 0; i < count; i++)
			REQUIRE(sample[i].context < contexts);
	}
	sonde_sample_cursor_free(samples);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = memory_file(data, size);
	const struct sonde_context *contexts = NULL;
	struct sonde_recording *recording = NULL;
	const struct sonde_format *format = NULL;
	uint32_t tracks, count = 0;

	sonde_format_detect(path, &format, NULL);
	if (sonde_recording_open(path, "speedscope", &recording, NULL))
		return 0;
	tracks = sonde_definitions_track_count(sonde_recording_definitions(recording));
	REQUIRE(!sonde_recording_contexts(recording, &contexts, &count, NULL));
	for (uint32_t i = 1; i < count; i++)
		REQUIRE(contexts[i].parent < i);
	for (uint32_t i = 0; i < tracks; i++) {
		walk_events(recording, i);
		walk_profile(recording, i, count);
	}
	sonde_recording_close(recording);
	return 0;
}
