/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small ATF session on disk one of whose files is fuzzed, and everything the library does to a
 * session done to it: open, walk, seek, look up details, merge, check, recover, check again.
 * Beyond "does not crash" it holds that a recovered session is sound and has what was readable.
 */
#ifndef SONDE_FUZZ_ATF_SESSION_H
#define SONDE_FUZZ_ATF_SESSION_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "base/crc.h"
#include "formats/atf/atf_layout.h"
#include "require.h"

static char session_folder[64], recovered_folder[80];

/* What was read adds up here, so that no reading is left out as useless. */
static volatile unsigned int touched;

static inline void session_remove(void)
{
	char command[192];

	snprintf(command, sizeof(command), "rm -rf %s %s", session_folder, recovered_folder);
	REQUIRE(system(command) == 0);
}

static inline void session_write(const char *name, const void *data, size_t size)
{
	char path[192];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", session_folder, name);
	file = fopen(path, "wb");
	REQUIRE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

/* Two calls and their returns; the inner ones have details. */
static inline void session_write_index(const char *name, uint32_t thread)
{
	uint8_t bytes[ATF_HEADER_SIZE + 4 * ATF_EVENT_SIZE + ATF_FOOTER_SIZE];
	struct atf_index_header header = {
		.identity = { .endian = 1,
			      .version = 1,
			      .arch = 1,
			      .os = 4,
			      .flags = 1,
			      .thread_id = thread },
		.clock_type = 3,
		.event_size = ATF_EVENT_SIZE,
		.event_count = 4,
		.events_offset = 64,
		.footer_offset = 64 + 4 * ATF_EVENT_SIZE,
		.time_start_ns = 100,
		.time_end_ns = 103,
	};
	struct atf_index_footer footer = {
		.event_count = 4,
		.time_start_ns = 100,
		.time_end_ns = 103,
		.bytes_written = (uint64_t)4 * ATF_EVENT_SIZE,
	};

	atf_index_header_encode(&header, bytes);
	for (uint32_t i = 0; i < 4; i++) {
		bool inner = i == 1 || i == 2;
		struct atf_index_event event = {
			.timestamp_ns = 100 + i,
			.function_id = inner ? 0x700000002 : 0x700000001,
			.thread_id = thread,
			.event_kind = i < 2 ? 1 : 2,
			.call_depth = inner ? 2 : 1,
			.detail_seq = inner ? i - 1 : ATF_NO_LINK,
		};

		atf_index_event_encode(&event,
				       bytes + ATF_HEADER_SIZE + (size_t)i * ATF_EVENT_SIZE);
	}
	atf_index_footer_encode(&footer, bytes + ATF_HEADER_SIZE + (size_t)4 * ATF_EVENT_SIZE);
	session_write(name, bytes, sizeof(bytes));
}

static inline void session_write_detail(const char *name, uint32_t thread)
{
	enum { RECORD = ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_SIZE };
	uint8_t bytes[ATF_HEADER_SIZE + 2 * RECORD + ATF_FOOTER_SIZE] = { 0 };
	struct atf_detail_header header = {
		.identity = { .endian = 1, .version = 1, .arch = 1, .os = 4, .thread_id = thread },
		.events_offset = 64,
		.event_count = 2,
		.bytes_length = (uint64_t)2 * RECORD,
		.index_seq_start = 1,
		.index_seq_end = 2,
	};
	struct atf_detail_footer footer = {
		.event_count = 2,
		.bytes_length = (uint64_t)2 * RECORD,
		.time_start_ns = 101,
		.time_end_ns = 102,
	};

	atf_detail_header_encode(&header, bytes);
	for (uint32_t i = 0; i < 2; i++) {
		uint8_t *at = bytes + ATF_HEADER_SIZE + (size_t)i * RECORD;
		struct atf_detail_record record = {
			.total_length = RECORD,
			.event_type = i ? ATF_DETAIL_TYPE_RETURN : ATF_DETAIL_TYPE_CALL,
			.index_seq = i + 1,
			.thread_id = thread,
			.timestamp = 101 + i,
		};

		atf_detail_record_encode(&record, at);
		sonde_store_u64le(at + ATF_DETAIL_RECORD_SIZE, 0x700000002);
	}
	atf_detail_footer_encode(&footer, bytes + ATF_HEADER_SIZE + (size_t)2 * RECORD);
	session_write(name, bytes, sizeof(bytes));
}

static const char session_manifest[] =
	"{\"threads\":[{\"id\":0,\"has_detail\":true},{\"id\":1,\"has_detail\":true}],"
	"\"time_start_ns\":100,\"time_end_ns\":103,\"clock_type\":3,"
	"\"modules\":[{\"module_id\":7,\"path\":\"/a\",\"base_address\":\"0x1\",\"size\":1,"
	"\"uuid\":\"\"}],\"symbols\":[{\"function_id\":\"0x0000000700000001\",\"module_id\":7,"
	"\"symbol_index\":1,\"name\":\"main\"}],\"format_version\":\"2.1\"}";

/* A whole session in a fresh folder in memory, two threads with details. */
static inline void session_create(void)
{
	char path[96];

	snprintf(session_folder, sizeof(session_folder), "%s/sonde-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	REQUIRE(mkdtemp(session_folder));
	snprintf(recovered_folder, sizeof(recovered_folder), "%s.recovered", session_folder);
	atexit(session_remove);
	for (uint32_t thread = 0; thread < 2; thread++) {
		snprintf(path, sizeof(path), "%s/thread_%u", session_folder, thread);
		REQUIRE(mkdir(path, 0777) == 0);
		snprintf(path, sizeof(path), "thread_%u/index.atf", thread);
		session_write_index(path, thread);
		snprintf(path, sizeof(path), "thread_%u/detail.atf", thread);
		session_write_detail(path, thread);
	}
	session_write("manifest.json", session_manifest, sizeof(session_manifest) - 1);
}

/* Reads a detail and folds its bytes, so that a sanitizer sees each of them touched. */
static inline unsigned int touch_detail(const struct sonde_detail *detail)
{
	unsigned int sum = (unsigned int)detail->registers.values[0];

	for (size_t i = 0; i < detail->stack_size; i++)
		sum += detail->stack[i];
	for (size_t i = 0; i < detail->size; i++)
		sum += detail->bytes[i];
	return sum;
}

static inline void walk_track(struct sonde_recording *recording, uint32_t track)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	const struct sonde_track *definition = sonde_definitions_track(definitions, track);
	struct sonde_cursor *cursor;
	struct sonde_batch batch;
	struct sonde_detail detail;
	struct sonde_error err;
	uint64_t events = 0;
	char label[SONDE_LABEL_SIZE];
	unsigned int sum = 0;

	REQUIRE(sonde_cursor_open(recording, track, &cursor, &err) == SONDE_OK);
	while (sonde_cursor_next(cursor, &batch, &err) == SONDE_OK) {
		REQUIRE(batch.first_index == events);
		for (size_t i = 0; i < batch.count; i++) {
			REQUIRE(sonde_definitions_function_label(
				definitions, batch.events[i].function, label)[0]);
			if (sonde_batch_detail(&batch, &batch.events[i], &detail, &err) == SONDE_OK)
				sum += touch_detail(&detail);
		}
		events += batch.count;
	}
	REQUIRE(events == definition->event_count);
	/* details backwards, so that the table of offsets is used */
	for (uint64_t number = definition->detail_count; number-- > 0;)
		if (sonde_cursor_detail(cursor, number, &detail, &err) == SONDE_OK)
			sum += touch_detail(&detail);
	sonde_cursor_seek_time(cursor, definition->time_first_ns + 1);
	REQUIRE(sonde_cursor_position(cursor) <= events);
	sonde_cursor_seek_index(cursor, events);
	REQUIRE(sonde_cursor_next(cursor, &batch, &err) == SONDE_END);
	sonde_cursor_free(cursor);
	touched += sum;
}

static inline void walk_session(void)
{
	struct sonde_recording *recording;
	struct sonde_merged_cursor *merged;
	struct sonde_batch batch;
	struct sonde_error err = { 0 };
	uint64_t events = 0;

	if (sonde_recording_open(session_folder, NULL, &recording, &err) < 0) {
		REQUIRE(err.message[0]);
		return;
	}
	for (uint32_t track = 0;
	     track < sonde_definitions_track_count(sonde_recording_definitions(recording)); track++)
		walk_track(recording, track);
	REQUIRE(sonde_merged_cursor_open(recording, NULL, 0, &merged, &err) == SONDE_OK);
	while (sonde_merged_cursor_next(merged, &batch, &err) == SONDE_OK)
		events += batch.count;
	REQUIRE(events == sonde_recording_event_count(recording));
	sonde_merged_cursor_free(merged);
	sonde_recording_close(recording);
}

/* What no recovered session may have: faults of files and links. Events stay as they were. */
static inline void require_sound(const struct sonde_diagnostics *diagnostics)
{
	const struct sonde_finding *finding;

	for (size_t i = 0; (finding = sonde_diagnostics_at(diagnostics, i)); i++) {
		const char *id = finding->type->id;

		if (finding->type->severity != SONDE_ERROR || strncmp(id, "atf-event-", 10) == 0 ||
		    strcmp(id, "atf-detail-payload") == 0 ||
		    strcmp(id, "atf-detail-arguments") == 0)
			continue;
		fprintf(stderr, "%s: %s: expected %s, found %s\n", finding->file, id,
			finding->expected, finding->found);
		abort();
	}
}

static inline void recover_session(void)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_check_options check = { .threads = 1 };
	struct sonde_recover_options options = { .replace = true };
	struct sonde_recover_result result;
	struct sonde_recording *recording;
	struct sonde_error err = { 0 };

	REQUIRE(diagnostics);
	if (sonde_check(session_folder, &check, diagnostics, &err) < 0)
		REQUIRE(err.message[0]);
	if (sonde_recover(session_folder, recovered_folder, &options, diagnostics, &result, &err) ==
	    SONDE_OK) {
		sonde_diagnostics_free(diagnostics);
		diagnostics = sonde_diagnostics_new();
		REQUIRE(sonde_check(recovered_folder, &check, diagnostics, &err) == SONDE_OK);
		require_sound(diagnostics);
		REQUIRE(sonde_recording_open(recovered_folder, NULL, &recording, &err) == SONDE_OK);
		REQUIRE(sonde_recording_event_count(recording) == result.events_kept);
		sonde_recording_close(recording);
	} else {
		REQUIRE(err.message[0]);
	}
	sonde_diagnostics_free(diagnostics);
}

/* One round: the input becomes the file `name` of the session. */
static inline int fuzz_session_file(const char *name, const uint8_t *data, size_t size)
{
	if (!session_folder[0])
		session_create();
	session_write(name, data, size);
	walk_session();
	/* writing is the slow half: every fourth input takes it, always the same ones */
	if (sonde_crc32(0, data, size) % 4 == 0)
		recover_session();
	return 0;
}

#endif
