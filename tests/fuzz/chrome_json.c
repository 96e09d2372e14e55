/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes Chrome trace JSON, plain and packed: every event and argument of what can be opened is read. Some inputs are
 * written anew, plain or packed, and must come back with as many events and details.
 */
#include <stdlib.h>

#include <sonde/sonde.h>

#include "base/crc.h"
#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64], written[80];
static volatile unsigned int touched;

struct counts {
	uint64_t events, details;
};

static void remove_written(void)
{
	remove(written);
	rmdir(folder);
}

static unsigned int touch_arguments(const struct sonde_definitions *definitions,
				    const struct sonde_detail *detail)
{
	const struct sonde_event_type *type =
		sonde_definitions_event_type(definitions, detail->event_type);
	struct sonde_arguments arguments = { .bytes = detail->bytes, .size = detail->size };
	struct sonde_signature *signature = NULL;
	struct sonde_argument argument;
	struct sonde_error err;
	unsigned int sum = 0;

	REQUIRE(detail->kind == SONDE_DETAIL_ARGUMENTS && type);
	REQUIRE(sonde_signature_parse(sonde_definitions_string(definitions, type->arguments),
				      &signature, &err) == SONDE_OK);
	arguments.signature = signature;
	while (sonde_arguments_next(&arguments, &argument, &err) == SONDE_OK) {
		for (size_t i = 0; argument.bytes && i < argument.count; i++)
			sum += argument.bytes[i];
		sum += (unsigned int)argument.value.u64;
	}
	REQUIRE(arguments.index == sonde_signature_count(signature));
	sonde_signature_free(signature);
	return sum;
}

static void walk_track(struct sonde_recording *recording, uint32_t track, struct counts *counts)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	struct sonde_cursor *cursor;
	struct sonde_batch batch;
	struct sonde_detail detail;
	struct sonde_error err;
	uint64_t last_ns = 0;

	REQUIRE(sonde_cursor_open(recording, track, &cursor, &err) == SONDE_OK);
	while (sonde_cursor_next(cursor, &batch, &err) == SONDE_OK) {
		for (size_t i = 0; i < batch.count; i++) {
			const struct sonde_event *event = &batch.events[i];

			REQUIRE(event->time_ns >= last_ns);
			last_ns = event->time_ns;
			counts->events++;
			if (sonde_batch_detail(&batch, event, &detail, &err) != SONDE_OK)
				continue;
			counts->details++;
			touched += touch_arguments(definitions, &detail);
		}
	}
	sonde_cursor_free(cursor);
}

static struct counts walk(struct sonde_recording *recording)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	struct counts counts = { 0 };

	for (uint32_t i = 0; i < sonde_definitions_track_count(definitions); i++)
		walk_track(recording, i, &counts);
	REQUIRE(counts.events == sonde_recording_event_count(recording));
	return counts;
}

static void write_anew(struct sonde_recording *recording, struct counts counts, const char *style)
{
	struct sonde_create_options create = { .format = "chrome",
					       .style = style,
					       .replace = true };
	struct sonde_run_options options = { .threads = 1 };
	struct sonde_run_result result;
	struct sonde_recording *again;
	struct sonde_sink *sink = NULL;
	struct sonde_error err = { 0 };
	struct counts now;

	REQUIRE(sonde_sink_create(written, &create, &sink, &err) == SONDE_OK);
	REQUIRE(sonde_pipeline_run(&recording, 1, sink, &options, &result, &err) == SONDE_OK);
	sonde_sink_free(sink);
	REQUIRE(sonde_recording_open(written, NULL, &again, &err) == SONDE_OK);
	REQUIRE(sonde_diagnostics_count(sonde_recording_diagnostics(again), SONDE_WARNING) == 0);
	now = walk(again);
	REQUIRE(now.events == counts.events && now.details == counts.details);
	sonde_recording_close(again);
	remove(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonde_recording *recording;
	struct sonde_error err = { 0 };
	uint32_t choice = sonde_crc32(0, data, size) % 16;
	struct counts counts;

	if (!folder[0]) {
		snprintf(folder, sizeof(folder), "%s/sonde-fuzz-XXXXXX",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		REQUIRE(mkdtemp(folder));
		setenv("TMPDIR", folder, 1); /* files without names are made in memory, too */
		snprintf(written, sizeof(written), "%s/output", folder);
		atexit(remove_written);
	}
	if (sonde_recording_open(memory_file(data, size), "chrome", &recording, &err) < 0) {
		REQUIRE(err.message[0]);
		return 0;
	}
	counts = walk(recording);
	if (choice < 2)
		write_anew(recording, counts, choice ? "gzip" : NULL);
	sonde_recording_close(recording);
	return 0;
}
