/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that a recording has is read. Whatever the input was, what a reader makes of it holds: times do not go
 * back, calls nest, depths are right, details lead to their events.
 */
#ifndef SONDE_FUZZ_WHOLE_RECORDING_H
#define SONDE_FUZZ_WHOLE_RECORDING_H

#include <sonde/sonde.h>

#include "require.h"

static inline void whole_event(const struct sonde_event *event, uint64_t *last_ns, uint32_t *depth)
{
	REQUIRE(event->time_ns >= *last_ns);
	*last_ns = event->time_ns;
	if (event->kind == SONDE_EVENT_CALL)
		++*depth;
	REQUIRE(event->depth == *depth);
	if (sonde_event_leaves(event))
		REQUIRE((*depth)-- > 0);
}

static inline void whole_events(struct sonde_recording *recording, uint32_t track)
{
	struct sonde_cursor *cursor;
	struct sonde_batch batch;
	uint64_t last_ns = 0, index = 0;
	uint32_t depth = 0;

	if (sonde_cursor_open(recording, track, &cursor, NULL))
		return;
	while (!sonde_cursor_next(cursor, &batch, NULL)) {
		for (size_t i = 0; i < batch.count; i++, index++) {
			struct sonde_detail detail;

			whole_event(&batch.events[i], &last_ns, &depth);
			if (!sonde_batch_detail(&batch, &batch.events[i], &detail, NULL))
				REQUIRE(detail.event == index);
		}
	}
	REQUIRE(index == sonde_definitions_track(sonde_recording_definitions(recording), track)
				 ->event_count);
	sonde_cursor_free(cursor);
}

static inline void whole_samples(struct sonde_recording *recording, uint32_t track)
{
	const struct sonde_context *contexts;
	struct sonde_sample_cursor *cursor;
	const struct sonde_sample *samples;
	uint64_t last_ns = 0;
	uint32_t context_count;
	size_t count;

	if (sonde_recording_contexts(recording, &contexts, &context_count, NULL) ||
	    sonde_sample_cursor_open(recording, track, &cursor, NULL))
		return;
	while (!sonde_sample_cursor_next(cursor, &samples, &count, NULL)) {
		for (size_t i = 0; i < count; i++) {
			REQUIRE(samples[i].time_ns >= last_ns);
			REQUIRE(samples[i].context < context_count || !samples[i].context);
			last_ns = samples[i].time_ns;
		}
	}
	sonde_sample_cursor_free(cursor);
}

static inline void whole_recording(const char *path, const char *format)
{
	const struct sonde_check_options options = { .format = format };
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_recording *recording;
	struct sonde_error err = { 0 };

	if (!diagnostics)
		return;
	if (!sonde_recording_open(path, format, &recording, &err)) {
		uint32_t tracks =
			sonde_definitions_track_count(sonde_recording_definitions(recording));

		for (uint32_t i = 0; i < tracks; i++) {
			whole_events(recording, i);
			whole_samples(recording, i);
		}
		sonde_recording_close(recording);
	} else {
		REQUIRE(err.status < 0 && err.message[0]);
	}
	REQUIRE(!sonde_check(path, &options, diagnostics, &err));
	sonde_diagnostics_free(diagnostics);
}

#endif
