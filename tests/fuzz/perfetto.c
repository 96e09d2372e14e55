/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of Perfetto traces: opened and read through. */
#include <sonde/sonde.h>

#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_events(struct sonde_recording *recording, uint32_t track)
{
	struct sonde_cursor *cursor;
	struct sonde_batch batch;
	uint64_t last = 0;

	REQUIRE(!sonde_cursor_open(recording, track, &cursor, NULL));
	while (!sonde_cursor_next(cursor, &batch, NULL)) {
		for (size_t i = 0; i < batch.count; i++) {
			struct sonde_detail detail;

			REQUIRE(batch.events[i].time_ns >= last);
			last = batch.events[i].time_ns;
			(void)sonde_batch_detail(&batch, &batch.events[i], &detail, NULL);
		}
	}
	sonde_cursor_free(cursor);
}

static void read_samples(struct sonde_recording *recording, uint32_t track)
{
	struct sonde_sample_cursor *cursor;
	const struct sonde_sample *samples;
	const struct sonde_context *contexts;
	uint32_t context_count;
	size_t count;

	REQUIRE(!sonde_recording_contexts(recording, &contexts, &context_count, NULL));
	REQUIRE(!sonde_sample_cursor_open(recording, track, &cursor, NULL));
	while (!sonde_sample_cursor_next(cursor, &samples, &count, NULL))
		for (size_t i = 0; i < count; i++)
			REQUIRE(!samples[i].context || samples[i].context < context_count);
	sonde_sample_cursor_free(cursor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = memory_file(data, size);
	const struct sonde_definitions *definitions;
	struct sonde_recording *recording;

	if (sonde_recording_open(path, "perfetto", &recording, NULL))
		return 0;
	definitions = sonde_recording_definitions(recording);
	for (uint32_t i = 0; i < sonde_definitions_track_count(definitions); i++) {
		if (sonde_recording_lanes(recording) & SONDE_LANE_EVENTS)
			read_events(recording, i);
		if (sonde_recording_lanes(recording) & SONDE_LANE_SAMPLES)
			read_samples(recording, i);
	}
	for (uint32_t i = 0; i < sonde_definitions_event_type_count(definitions); i++) {
		const struct sonde_event_type *type = sonde_definitions_event_type(definitions, i);
		struct sonde_signature *signature;

		REQUIRE(!sonde_signature_parse(
			sonde_definitions_string(definitions, type->arguments), &signature, NULL));
		sonde_signature_free(signature);
	}
	sonde_recording_close(recording);
	return 0;
}
