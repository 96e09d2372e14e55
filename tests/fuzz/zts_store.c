/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes one file of a trace store, the others of which are good: the first byte of the input says
 * which one. Opened, walked with details, checked, and now and then recovered; a recovered store
 * has no errors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "base/crc.h"
#include "formats/zts/zts_writer.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More tracks than this are not walked: a few bytes may overlap in many ways. */
#define WALKED_TRACKS 16

static const char *const names[] = { "traces.dat", "text-00000001.wal", "qmeta.idx",
				     "meta-00000001.wal", "store.props" };
#define NAMES (sizeof(names) / sizeof(names[0]))

static char folder[64], recovered[80];
static volatile unsigned int touched;

static void remove_folders(void)
{
	char command[192];

	snprintf(command, sizeof(command), "rm -rf %s %s", folder, recovered);
	REQUIRE(system(command) == 0);
}

/* A call with attributes, in it one that fails, and a trace of its own. */
static void write_trace(struct zts_writer *writer, uint64_t number)
{
	struct zts_trace_head head = { .uuid = { 1, number } };
	struct zts_record_head record = { .has_ticks = true,
					  .begins_trace = true,
					  .timestamp_ms = 1556712001000 + number };
	struct zts_value value = { .kind = ZTS_VALUE_INT, .number = (int64_t)number };
	uint32_t frame, exception;
	struct sonde_error err;

	record.method = zts_writer_method(writer, zts_writer_text(writer, ZTS_TEXT_CLASS, "a.B", 3),
					  zts_writer_text(writer, ZTS_TEXT_METHOD_NAME, "c", 1),
					  zts_writer_text(writer, ZTS_TEXT_SIGNATURE, "(I)V", 4));
	head.app = zts_writer_text(writer, ZTS_TEXT_STRING, "shop", 4);
	frame = zts_writer_frame(writer, 0, zts_writer_text(writer, ZTS_TEXT_METHOD_NAME, "d", 1),
				 0, 3);
	exception = zts_writer_exception(writer, zts_writer_text(writer, ZTS_TEXT_CLASS, "x.Y", 3),
					 0, zts_writer_stack(writer, &frame, 1), 0);
	zts_writer_begin_trace(writer, &head);
	zts_writer_begin_record(writer, &record);
	zts_writer_attribute(writer, zts_writer_text(writer, ZTS_TEXT_STRING, "key", 3), &value);
	record.start = 2;
	record.uuid[1] = 100 + number;
	zts_writer_begin_record(writer, &record);
	zts_writer_end_record(writer, 5, 0, exception, ZTS_RECORD_ERROR);
	zts_writer_end_record(writer, 9, 0, 0, 0);
	REQUIRE(zts_writer_end_trace(writer, &err) == SONDE_OK);
}

static void create_store(void)
{
	struct zts_writer_options options = { .codec = SONDE_CODEC_NONE };
	struct zts_writer *writer;
	struct sonde_error err;
	char path[96];

	snprintf(folder, sizeof(folder), "%s/sonde-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	REQUIRE(mkdtemp(folder));
	snprintf(recovered, sizeof(recovered), "%s.recovered", folder);
	atexit(remove_folders);
	snprintf(path, sizeof(path), "%s/000000", folder);
	REQUIRE(zts_writer_create(path, &options, &writer, &err) == SONDE_OK);
	for (uint64_t i = 0; i < 3; i++)
		write_trace(writer, i);
	REQUIRE(zts_writer_close(writer, &err) == SONDE_OK);
}

static void write_file(const char *name, const void *data, size_t size)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/000000/%s", folder, name);
	file = fopen(path, "wb");
	REQUIRE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static size_t read_file(const char *name, uint8_t *data, size_t size)
{
	char path[128];
	size_t got;
	FILE *file;

	snprintf(path, sizeof(path), "%s/000000/%s", folder, name);
	file = fopen(path, "rb");
	REQUIRE(file);
	got = fread(data, 1, size, file);
	REQUIRE(got < size && fclose(file) == 0);
	return got;
}

static void walk_track(struct sonde_recording *recording, uint32_t track)
{
	const struct sonde_track *definition =
		sonde_definitions_track(sonde_recording_definitions(recording), track);
	struct sonde_cursor *cursor;
	struct sonde_detail detail;
	struct sonde_batch batch;
	struct sonde_error err;
	uint64_t events = 0, last = 0;

	REQUIRE(sonde_cursor_open(recording, track, &cursor, &err) == SONDE_OK);
	while (sonde_cursor_next(cursor, &batch, &err) == SONDE_OK) {
		REQUIRE(batch.first_index == events);
		for (size_t i = 0; i < batch.count; i++) {
			REQUIRE(batch.events[i].time_ns >= last);
			last = batch.events[i].time_ns;
			if (sonde_batch_detail(&batch, &batch.events[i], &detail, &err) == SONDE_OK)
				touched += detail.size ? detail.bytes[detail.size - 1] : 0;
		}
		events += batch.count;
	}
	if (events != definition->event_count)
		fprintf(stderr, "%s\n", err.message);
	REQUIRE(events == definition->event_count);
	sonde_cursor_seek_time(cursor, definition->time_first_ns + 1);
	REQUIRE(sonde_cursor_position(cursor) <= events);
	sonde_cursor_free(cursor);
}

static void walk_store(const char *path)
{
	struct sonde_recording *recording;
	struct sonde_error err = { 0 };
	uint32_t tracks;

	if (sonde_recording_open(path, "zts", &recording, &err) < 0) {
		REQUIRE(err.message[0]);
		return;
	}
	tracks = sonde_definitions_track_count(sonde_recording_definitions(recording));
	for (uint32_t track = 0; track < tracks && track < WALKED_TRACKS; track++)
		walk_track(recording, track);
	sonde_recording_close(recording);
}

static uint64_t check_store(const char *path, bool show)
{
	struct sonde_diagnostics *found = sonde_diagnostics_new();
	struct sonde_check_options options = { .threads = 1 };
	const struct sonde_finding *finding;
	struct sonde_error err = { 0 };
	uint64_t errors;

	REQUIRE(found);
	REQUIRE(sonde_check(path, &options, found, &err) == SONDE_OK);
	errors = sonde_diagnostics_count(found, SONDE_ERROR);
	for (size_t i = 0; show && (finding = sonde_diagnostics_at(found, i)); i++) {
		if (finding->type->severity == SONDE_ERROR)
			fprintf(stderr, "%s: expected %s, found %s\n", finding->type->id,
				finding->expected, finding->found);
	}
	sonde_diagnostics_free(found);
	return errors;
}

static void recover_store(void)
{
	struct sonde_diagnostics *found = sonde_diagnostics_new();
	struct sonde_recover_options options = { .format = "zts", .replace = true };
	struct sonde_recover_result result;
	struct sonde_error err = { 0 };

	REQUIRE(found);
	if (sonde_recover(folder, recovered, &options, found, &result, &err) == SONDE_OK) {
		REQUIRE(check_store(recovered, true) == 0);
		walk_store(recovered);
	} else {
		REQUIRE(err.message[0]);
	}
	sonde_diagnostics_free(found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t good[65536];
	const char *name;
	size_t good_size;

	if (!folder[0])
		create_store();
	if (!size)
		return 0;
	name = names[data[0] % NAMES];
	good_size = read_file(name, good, sizeof(good));
	write_file(name, data + 1, size - 1);
	walk_store(folder);
	check_store(folder, false);
	/* writing is the slow half: some inputs take it, always the same ones */
	if (sonde_crc32(0, data, size) % 4 == 0)
		recover_store();
	write_file(name, good, good_size);
	return 0;
}
