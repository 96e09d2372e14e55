/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of the wtf-trace family whose bytes are fuzzed, and everything the library does to one
 * done to it: open, walk, seek, take details and resources, merge, check, recover, check again,
 * write anew as binary and as JSON. Beyond "does not crash" it holds that counts agree, that a
 * recovered file is sound and has what was readable, and that what is written can be opened.
 */
#ifndef SONDE_FUZZ_CFF_FILE_H
#define SONDE_FUZZ_CFF_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "base/crc.h"
#include "require.h"

static char fuzz_folder[64], fuzz_input[96], fuzz_output[96];

/* What was read adds up here, so that no reading is left out as useless. */
static volatile unsigned int touched;

static inline void fuzz_remove_folder(void)
{
	remove(fuzz_input);
	remove(fuzz_output);
	rmdir(fuzz_folder);
}

/* A fresh folder in memory for the two files. */
static inline void fuzz_create_folder(const char *name)
{
	snprintf(fuzz_folder, sizeof(fuzz_folder), "%s/sonde-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	REQUIRE(mkdtemp(fuzz_folder));
	snprintf(fuzz_input, sizeof(fuzz_input), "%s/%s", fuzz_folder, name);
	snprintf(fuzz_output, sizeof(fuzz_output), "%s/output", fuzz_folder);
	atexit(fuzz_remove_folder);
}

static inline void fuzz_write_input(const uint8_t *data, size_t size)
{
	FILE *file = fopen(fuzz_input, "wb");

	REQUIRE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static inline unsigned int touch_bytes(const uint8_t *bytes, size_t size)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += bytes[i];
	return sum;
}

/* Every value of an event, by the signature of its type. */
static inline unsigned int touch_detail(const struct sonde_definitions *definitions,
					const struct sonde_detail *detail)
{
	struct sonde_arguments arguments = { .bytes = detail->bytes, .size = detail->size };
	const struct sonde_event_type *type;
	struct sonde_argument argument;
	struct sonde_signature *signature;
	struct sonde_error err;
	unsigned int sum = touch_bytes(detail->bytes, detail->size);

	if (detail->kind != SONDE_DETAIL_ARGUMENTS)
		return sum;
	type = sonde_definitions_event_type(definitions, detail->event_type);
	REQUIRE(type);
	REQUIRE(sonde_signature_parse(sonde_definitions_string(definitions, type->arguments),
				      &signature, &err) == SONDE_OK);
	arguments.signature = signature;
	while (sonde_arguments_next(&arguments, &argument, &err) == SONDE_OK) {
		if (argument.bytes && sonde_argument_type_is_text(argument.spec->type))
			sum += touch_bytes(argument.bytes, argument.count);
		else if (argument.bytes && argument.count)
			sum += (unsigned int)sonde_argument_item(&argument, argument.count - 1).u64;
		else
			sum += (unsigned int)argument.value.u64;
	}
	REQUIRE(arguments.index == sonde_signature_count(signature));
	sonde_signature_free(signature);
	return sum;
}

static inline uint64_t walk_events(const struct sonde_definitions *definitions,
				   struct sonde_cursor *cursor)
{
	struct sonde_batch batch;
	struct sonde_detail detail;
	struct sonde_error err;
	uint64_t events = 0;
	char label[SONDE_LABEL_SIZE];

	while (sonde_cursor_next(cursor, &batch, &err) == SONDE_OK) {
		REQUIRE(batch.count && batch.first_index == events);
		for (size_t i = 0; i < batch.count; i++) {
			const struct sonde_event *event = &batch.events[i];

			if (sonde_event_has_function(event))
				REQUIRE(sonde_definitions_function_label(definitions,
									 event->function, label));
			if (sonde_batch_detail(&batch, event, &detail, &err) == SONDE_OK)
				touched += touch_detail(definitions, &detail);
		}
		events += batch.count;
	}
	return events;
}

static inline void walk_track(struct sonde_recording *recording, uint32_t track)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	const struct sonde_track *definition = sonde_definitions_track(definitions, track);
	struct sonde_cursor *cursor;
	struct sonde_batch batch;
	struct sonde_error err;
	uint64_t events;

	REQUIRE(sonde_cursor_open(recording, track, &cursor, &err) == SONDE_OK);
	events = walk_events(definitions, cursor);
	REQUIRE(events == definition->event_count);
	sonde_cursor_seek_time(cursor, definition->time_first_ns + 1);
	REQUIRE(sonde_cursor_position(cursor) <= events);
	/* from the middle on there is what is left, and the depths are those of the whole walk */
	sonde_cursor_seek_index(cursor, events / 2);
	REQUIRE(sonde_cursor_next(cursor, &batch, &err) == (events ? SONDE_OK : SONDE_END));
	REQUIRE(!events || batch.first_index == events / 2);
	sonde_cursor_seek_index(cursor, events);
	REQUIRE(sonde_cursor_next(cursor, &batch, &err) == SONDE_END);
	sonde_cursor_free(cursor);
}

static inline void walk_resources(struct sonde_recording *recording)
{
	uint32_t count = sonde_recording_blob_count(recording);
	struct sonde_blob blob;
	struct sonde_error err;

	for (uint32_t i = 0; i < count; i++)
		if (sonde_recording_blob(recording, i, &blob, &err) == SONDE_OK)
			touched += touch_bytes(blob.bytes, blob.size);
}

/* The number of events, or UINT64_MAX where the file cannot be opened. */
static inline uint64_t walk_file(const char *path)
{
	struct sonde_recording *recording;
	struct sonde_merged_cursor *merged;
	struct sonde_batch batch;
	struct sonde_error err = { 0 };
	uint64_t events = 0;

	if (sonde_recording_open(path, NULL, &recording, &err) < 0) {
		REQUIRE(err.message[0]);
		return UINT64_MAX;
	}
	for (uint32_t track = 0;
	     track < sonde_definitions_track_count(sonde_recording_definitions(recording)); track++)
		walk_track(recording, track);
	walk_resources(recording);
	REQUIRE(sonde_merged_cursor_open(recording, NULL, 0, &merged, &err) == SONDE_OK);
	while (sonde_merged_cursor_next(merged, &batch, &err) == SONDE_OK)
		events += batch.count;
	REQUIRE(events == sonde_recording_event_count(recording));
	sonde_merged_cursor_free(merged);
	sonde_recording_close(recording);
	return events;
}

/* How many faults the check finds; UINT64_MAX where it cannot be carried through. */
static inline uint64_t check_file(const char *path, bool show)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_check_options options = { .threads = 1 };
	const struct sonde_finding *finding;
	struct sonde_error err = { 0 };
	uint64_t faults;

	REQUIRE(diagnostics);
	if (sonde_check(path, &options, diagnostics, &err) < 0) {
		REQUIRE(err.message[0]);
		sonde_diagnostics_free(diagnostics);
		return UINT64_MAX;
	}
	faults = sonde_diagnostics_count(diagnostics, SONDE_ERROR);
	for (size_t i = 0; show && (finding = sonde_diagnostics_at(diagnostics, i)); i++)
		if (finding->type->severity == SONDE_ERROR)
			fprintf(stderr, "%s: expected %s, found %s\n", finding->type->id,
				finding->expected, finding->found);
	sonde_diagnostics_free(diagnostics);
	return faults;
}

static inline void recover_file(uint64_t readable)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_recover_options options = { .replace = true };
	struct sonde_recover_result result = { 0 };
	struct sonde_error err = { 0 };

	REQUIRE(diagnostics);
	if (sonde_recover(fuzz_input, fuzz_output, &options, diagnostics, &result, &err) ==
	    SONDE_OK) {
		REQUIRE(check_file(fuzz_output, true) == 0);
		REQUIRE(walk_file(fuzz_output) == result.events_kept);
		REQUIRE(readable == UINT64_MAX || result.events_kept >= readable);
	} else {
		REQUIRE(err.message[0]);
	}
	sonde_diagnostics_free(diagnostics);
}

/* Writes it anew; what can be written can be opened, with as many events. */
static inline void write_file(const char *format, const char *style, uint64_t readable)
{
	struct sonde_create_options create = { .format = format, .style = style, .replace = true };
	struct sonde_run_options options = { .threads = 1 };
	struct sonde_run_result result;
	struct sonde_recording *recording;
	struct sonde_sink *sink = NULL;
	struct sonde_error err = { 0 };
	enum sonde_status status;

	if (sonde_recording_open(fuzz_input, NULL, &recording, &err) < 0)
		return;
	status = sonde_sink_create(fuzz_output, &create, &sink, &err);
	if (status == SONDE_OK)
		status = sonde_pipeline_run(&recording, 1, sink, &options, &result, &err);
	sonde_sink_free(sink);
	sonde_recording_close(recording);
	if (status == SONDE_OK)
		REQUIRE(walk_file(fuzz_output) == readable);
	else
		REQUIRE(err.message[0]);
}

/* One round: the input becomes the file `name`. */
static inline int fuzz_cff_file(const char *name, const uint8_t *data, size_t size)
{
	uint32_t choice = sonde_crc32(0, data, size) % 8;
	uint64_t readable;

	if (!fuzz_folder[0])
		fuzz_create_folder(name);
	fuzz_write_input(data, size);
	readable = walk_file(fuzz_input);
	check_file(fuzz_input, false);
	/* writing is the slow half: some inputs take it, always the same ones */
	if (choice < 2)
		recover_file(readable);
	else if (choice == 2)
		write_file("cff", NULL, readable);
	else if (choice == 3)
		write_file("cff-json", "events", readable);
	return 0;
}

#endif
