/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations in ATF: every kind of event, typed arguments, event types, zones and resources come
 * back as they were, through the sink, over parts and processes, out of a recorder and out of a
 * damaged session.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "annotations_fixture.h"
#include "formats/atf/atf_arguments.h"
#include "formats/atf/atf_write.h"
#include "recorder_fixture.h"

static struct sonde_buffer packed;

static const char *type_name(const struct sonde_definitions *definitions, uint32_t type)
{
	assert_true(type < sonde_definitions_event_type_count(definitions));
	return sonde_definitions_string(definitions,
					sonde_definitions_event_type(definitions, type)->name);
}

static void assert_types(const struct sonde_definitions *definitions)
{
	bool found[TYPE_COUNT] = { false };

	assert_int_equal(sonde_definitions_event_type_count(definitions), TYPE_COUNT);
	for (uint32_t i = 0; i < TYPE_COUNT; i++) {
		const struct sonde_event_type *type = sonde_definitions_event_type(definitions, i);
		const char *arguments = sonde_definitions_string(definitions, type->arguments);

		for (uint32_t k = 0; k < TYPE_COUNT; k++) {
			if (strcmp(type_name(definitions, i), types[k].name) != 0 ||
			    strcmp(arguments, types[k].arguments) != 0)
				continue;
			assert_false(found[k]);
			found[k] = true;
			assert_int_equal(type->flags, types[k].flags);
			assert_int_equal(type->is_scope, types[k].is_scope);
		}
	}
	for (uint32_t k = 0; k < TYPE_COUNT; k++)
		assert_true(found[k]);
}

static void assert_step_detail(const struct sonde_definitions *definitions,
			       const struct sonde_batch *batch, const struct sonde_event *event,
			       uint32_t number)
{
	const struct step *step = &steps[number];
	const struct sonde_event_type *type;
	struct sonde_detail detail;

	if (step->arguments == SONDE_NONE) {
		assert_int_equal(sonde_batch_detail(batch, event, &detail, &err), SONDE_END);
		return;
	}
	assert_ok(sonde_batch_detail(batch, event, &detail, &err));
	assert_int_equal(detail.kind, SONDE_DETAIL_ARGUMENTS);
	assert_int_equal(detail.event, number);
	assert_int_equal(detail.time_ns, event->time_ns);
	assert_int_equal(detail.flags, 0);
	type = sonde_definitions_event_type(definitions, detail.event_type);
	assert_string_equal(sonde_definitions_string(definitions, type->name),
			    types[step->arguments].name);
	assert_string_equal(sonde_definitions_string(definitions, type->arguments),
			    types[step->arguments].arguments);
	pack_step(&packed, step->arguments, number);
	assert_int_equal(detail.size, packed.size);
	assert_memory_equal(detail.bytes, packed.data, packed.size);
}

static void assert_step(const struct sonde_definitions *definitions,
			const struct sonde_batch *batch, const struct sonde_event *event,
			uint32_t number)
{
	const struct step *step = &steps[number];
	char space[SONDE_LABEL_SIZE];

	assert_int_equal(event->kind, step->kind);
	assert_int_equal(event->time_ns, 100 + number);
	assert_int_equal(event->depth, step->depth);
	if (sonde_event_has_function(event))
		assert_string_equal(
			sonde_definitions_function_label(definitions, event->function, space),
			step->function == LOAD ? "load" : "main");
	else
		assert_string_equal(type_name(definitions, event->function),
				    types[step->function].name);
	if (step->kind == SONDE_EVENT_COUNTER)
		assert_true(sonde_event_value(event) == step->value);
	else
		assert_int_equal(event->extra, step->extra);
	assert_step_detail(definitions, batch, event, number);
}

static void assert_steps(struct sonde_recording *recording, uint32_t track)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	struct sonde_cursor *cursor;
	struct sonde_batch batch;
	uint32_t number = 0;

	assert_ok(sonde_cursor_open(recording, track, &cursor, &err));
	while (sonde_cursor_next(cursor, &batch, &err) == SONDE_OK) {
		assert_true(number + batch.count <= STEP_COUNT);
		for (size_t i = 0; i < batch.count; i++)
			assert_step(definitions, &batch, &batch.events[i], number++);
	}
	assert_int_equal(number, STEP_COUNT);
	/* from anywhere, and backwards: what came before does not matter */
	for (uint32_t i = STEP_COUNT; i-- > 0;) {
		sonde_cursor_seek_index(cursor, i);
		assert_ok(sonde_cursor_next(cursor, &batch, &err));
		assert_step(definitions, &batch, batch.events, i);
	}
	sonde_cursor_free(cursor);
	sonde_buffer_release(&packed);
}

static void assert_blobs(struct sonde_recording *recording)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	struct sonde_blob blob;

	assert_int_equal(sonde_recording_blob_count(recording), 3);
	assert_true(sonde_recording_lanes(recording) & SONDE_LANE_BLOBS);
	assert_ok(sonde_recording_blob(recording, 1, &blob, &err));
	assert_string_equal(sonde_definitions_string(definitions, blob.name), "../bits");
	assert_false(blob.is_text);
	assert_int_equal(blob.size, sizeof(BINARY_RESOURCE));
	assert_memory_equal(blob.bytes, BINARY_RESOURCE, blob.size);
	assert_ok(sonde_recording_blob(recording, 0, &blob, &err));
	assert_string_equal(sonde_definitions_string(definitions, blob.name), "main.c");
	assert_true(blob.is_text);
	assert_int_equal(blob.size, sizeof(TEXT_RESOURCE) - 1);
	assert_memory_equal(blob.bytes, TEXT_RESOURCE, blob.size);
	assert_ok(sonde_recording_blob(recording, 2, &blob, &err));
	assert_int_equal(blob.size, 0);
	assert_int_equal(sonde_recording_blob(recording, 3, &blob, &err), SONDE_ARGUMENT);
}

static void assert_session(const char *path, uint32_t processes, bool blobs)
{
	struct sonde_recording *recording = open_path(path);
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);

	assert_types(definitions);
	/* nothing is made up: no function for a scope without one, no module for annotations */
	assert_int_equal(sonde_definitions_function_count(definitions), processes * FUNCTION_COUNT);
	assert_int_equal(sonde_definitions_module_count(definitions), processes);
	assert_int_equal(sonde_definitions_track_count(definitions), 2 * processes);
	for (uint32_t i = 0; i < 2 * processes; i++) {
		assert_int_equal(sonde_definitions_track(definitions, i)->kind,
				 i % 2 ? SONDE_TRACK_ZONE : SONDE_TRACK_THREAD);
		assert_steps(recording, i);
	}
	if (blobs)
		assert_blobs(recording);
	sonde_recording_close(recording);
	assert_clean(path);
}

/* Copies a session through a pipeline. */
static void convert(const char *from, const char *to, uint64_t events_per_file)
{
	struct sonde_recording *source = open_path(from);
	struct sonde_create_options create = { .format = "atf" };
	struct sonde_run_options run = { 0 };
	struct sonde_run_result result;
	struct sonde_sink *sink;

	assert_ok(atf_create_limited(to, &create, events_per_file, &sink, &err));
	assert_ok(sonde_pipeline_run(&source, 1, sink, &run, &result, &err));
	sonde_sink_free(sink);
	sonde_recording_close(source);
}

static void test_round_trip(void **state)
{
	(void)state;
	for (uint32_t processes = 1; processes <= 3; processes++) {
		char path[256], copy[256];

		snprintf(path, sizeof(path), "%s/made-%u", scratch, processes);
		snprintf(copy, sizeof(copy), "%s/copy-%u", scratch, processes);
		write_annotated(path, processes, ATF_EVENTS_MAX);
		assert_session(path, processes, true);
		convert(path, copy, ATF_EVENTS_MAX);
		assert_session(copy, processes, false);
	}
}

/* Links and numbers count anew in every part. */
static void test_parts(void **state)
{
	(void)state;
	write_annotated(scratch_path("parts"), 1, 3);
	assert_session(scratch_path("parts"), 1, true);
	convert(scratch_path("parts"), scratch_path("whole"), ATF_EVENTS_MAX);
	assert_session(scratch_path("whole"), 1, false);
	convert(scratch_path("whole"), scratch_path("parts-again"), 5);
	assert_session(scratch_path("parts-again"), 1, false);
}

/* The same events give the same bytes, also after a round trip. */
static void test_same_bytes(void **state)
{
	char command[512];

	(void)state;
	write_annotated(scratch_path("bytes-a"), 1, ATF_EVENTS_MAX);
	convert(scratch_path("bytes-a"), scratch_path("bytes-b"), ATF_EVENTS_MAX);
	convert(scratch_path("bytes-b"), scratch_path("bytes-c"), ATF_EVENTS_MAX);
	snprintf(command, sizeof(command),
		 "cd %s && diff -r bytes-b bytes-c && "
		 "diff -r bytes-a/thread_0 bytes-b/thread_0",
		 scratch);
	assert_int_equal(system(command), 0);
}

static void recover(const char *from, const char *to, struct sonde_recover_result *result)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct sonde_recover_options options = { 0 };

	assert_ok(sonde_recover(from, to, &options, diagnostics, result, &err));
	sonde_diagnostics_free(diagnostics);
}

static void patch_u32(const char *path, long offset, uint32_t value)
{
	FILE *file = fopen(path, "r+b");
	uint8_t bytes[4];

	assert_non_null(file);
	sonde_store_u32le(bytes, value);
	assert_int_equal(fseek(file, offset, SEEK_SET), 0);
	assert_int_equal(fwrite(bytes, 1, 4, file), 4);
	assert_int_equal(fclose(file), 0);
}

/* Numbers and values follow the links, which are mended from the details. */
static void test_recover(void **state)
{
	static const uint32_t damaged[] = { 5, 6, 7, 12, 13 };
	struct sonde_recover_result result;
	char index[256];

	(void)state;
	write_annotated(scratch_path("whole-links"), 1, ATF_EVENTS_MAX);
	recover(scratch_path("whole-links"), scratch_path("recovered"), &result);
	assert_session(scratch_path("recovered"), 1, true);
	assert_int_equal(result.details_kept, 2 * 11);
	assert_int_equal(result.details_unlinked, 0);
	assert_int_equal(result.links_mended, 0);

	snprintf(index, sizeof(index), "%s/whole-links/thread_0/index.atf", scratch);
	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++)
		patch_u32(index, ATF_HEADER_SIZE + damaged[i] * ATF_EVENT_SIZE + ATF_EVENT_DETAIL,
			  i % 2 ? ATF_NO_LINK : 0);
	recover(scratch_path("whole-links"), scratch_path("mended"), &result);
	assert_int_equal(result.links_mended, 5);
	assert_int_equal(result.details_kept, 2 * 11);
	assert_int_equal(result.details_unlinked, 0);
	assert_session(scratch_path("mended"), 1, true);
}

/* A detail without its event keeps all of its bytes. */
static void test_recover_unlinked(void **state)
{
	struct sonde_recover_result result;
	struct sonde_recording *recording;
	struct sonde_cursor *cursor;
	struct sonde_detail detail;
	char path[256], command[512];

	(void)state;
	write_annotated(scratch_path("cut"), 1, ATF_EVENTS_MAX);
	snprintf(path, sizeof(path), "%s/cut/thread_0/index.atf", scratch);
	/* the first two events stay; 10 of 11 details lose theirs */
	assert_int_equal(truncate(path, ATF_HEADER_SIZE + 2 * ATF_EVENT_SIZE), 0);
	recover(scratch_path("cut"), scratch_path("uncut"), &result);
	assert_int_equal(result.details_kept, 2 * 11);
	assert_int_equal(result.details_unlinked, 10);
	recording = open_path(scratch_path("uncut"));
	assert_ok(sonde_cursor_open(recording, 0, &cursor, &err));
	assert_ok(sonde_cursor_detail(cursor, 2, &detail, &err));
	assert_int_equal(detail.kind, SONDE_DETAIL_ARGUMENTS);
	assert_true(detail.event == UINT64_MAX);
	assert_int_equal(
		sonde_load_u64le(detail.bytes - ATF_ARGUMENTS_VALUES + ATF_ARGUMENTS_EXTRA), 7);
	sonde_cursor_free(cursor);
	sonde_recording_close(recording);
	snprintf(command, sizeof(command), "cmp -s %s/cut/resources/0 %s/uncut/resources/0",
		 scratch, scratch);
	assert_int_equal(system(command), 0);
}

/* Without a manifest nothing is known but numbers, and the numbers are kept. */
static void test_unknown_types(void **state)
{
	struct sonde_recording *recording;
	struct sonde_cursor *cursor;
	struct sonde_detail detail;
	struct sonde_batch batch;
	const char *name;

	(void)state;
	write_annotated(scratch_path("nameless"), 1, ATF_EVENTS_MAX);
	unlink(scratch_path("nameless/manifest.json"));
	recording = open_path(scratch_path("nameless"));
	assert_ok(sonde_cursor_open(recording, 0, &cursor, &err));
	assert_ok(sonde_cursor_next(cursor, &batch, &err));
	assert_int_equal(batch.count, STEP_COUNT);
	assert_int_equal(batch.events[5].kind, SONDE_EVENT_FLOW_BEGIN);
	assert_int_equal(batch.events[5].extra, 7);
	assert_true(sonde_event_value(&batch.events[7]) == -1.5e300);
	name = type_name(sonde_recording_definitions(recording), batch.events[5].function);
	assert_memory_equal(name, "[unknown]+0xc65348f7", 20);
	assert_ok(sonde_batch_detail(&batch, &batch.events[5], &detail, &err));
	assert_int_equal(detail.event_type, batch.events[5].function);
	sonde_cursor_free(cursor);
	sonde_recording_close(recording);
}

/* Adds one event to a recorder, with a record of arguments where `size` is not SIZE_MAX. */
static void record(struct atf_recorder_thread *thread, struct atf_index_event event, uint64_t type,
		   uint64_t extra, const void *values, size_t size)
{
	struct atf_detail_record header = {
		.index_seq = atf_recorder_next_index(thread),
		.thread_id = atf_recorder_thread_slot(thread),
		.timestamp = event.timestamp_ns,
	};
	uint8_t *place;

	event.thread_id = header.thread_id;
	event.detail_seq = ATF_NO_LINK;
	if (size != SIZE_MAX) {
		assert_ok(atf_recorder_detail_place(thread, ATF_ARGUMENTS_HEAD_SIZE + size, &place,
						    &event.detail_seq, &err));
		assert_int_equal(atf_arguments_encode(place, &header, type, extra, values, size),
				 ATF_ARGUMENTS_HEAD_SIZE + size);
		atf_recorder_detail_put(thread, ATF_ARGUMENTS_HEAD_SIZE + size, 1, place);
	}
	assert_ok(atf_recorder_events(thread, &event, 1, &err));
}

/* A scope with its function, and a flow. */
static void define_recorded(struct session *session, bool functions)
{
	struct sonde_event_type types_there[] = {
		{ .name = add_text(session->definitions, "scope"),
		  .arguments = add_text(session->definitions, "uint32 n"),
		  .is_scope = true },
		{ .name = add_text(session->definitions, "job") },
	};
	struct sonde_function function = {
		.module = SONDE_NONE,
		.name = types_there[0].name,
		.has_key = true,
		.key = atf_event_type_key(0),
	};
	uint32_t id;

	for (size_t i = 0; !functions && i < 2; i++)
		assert_ok(sonde_definitions_add_event_type(session->definitions, &types_there[i],
							   &id, &err));
	if (functions)
		assert_ok(
			sonde_definitions_add_function(session->definitions, &function, &id, &err));
}

static void assert_recorded(const char *path)
{
	struct sonde_recording *recording = open_path(path);
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	struct sonde_cursor *cursor;
	struct sonde_detail detail;
	struct sonde_batch batch;
	struct sonde_blob blob;
	char space[SONDE_LABEL_SIZE];

	assert_int_equal(sonde_definitions_event_type_count(definitions), 2);
	assert_ok(sonde_cursor_open(recording, 0, &cursor, &err));
	assert_ok(sonde_cursor_next(cursor, &batch, &err));
	assert_int_equal(batch.count, 3);
	assert_string_equal(
		sonde_definitions_function_label(definitions, batch.events[0].function, space),
		"scope");
	assert_ok(sonde_batch_detail(&batch, &batch.events[0], &detail, &err));
	assert_int_equal(detail.kind, SONDE_DETAIL_ARGUMENTS);
	assert_string_equal(type_name(definitions, detail.event_type), "scope");
	assert_int_equal(detail.size, 4);
	assert_int_equal(sonde_load_u32le(detail.bytes), 0x1234);
	assert_int_equal(batch.events[1].kind, SONDE_EVENT_FLOW_BEGIN);
	assert_int_equal(batch.events[1].extra, 77);
	assert_string_equal(type_name(definitions, batch.events[1].function), "job");
	sonde_cursor_free(cursor);
	assert_int_equal(sonde_recording_blob_count(recording), 1);
	assert_ok(sonde_recording_blob(recording, 0, &blob, &err));
	assert_string_equal(sonde_definitions_string(definitions, blob.name), "bits");
	assert_int_equal(blob.size, sizeof(BINARY_RESOURCE));
	sonde_recording_close(recording);
}

/* Records and function_ids as src/record makes them; before the end, recovered, and finished. */
static void test_recorder(void **state)
{
	struct session session = begin("recorded");
	uint32_t process = add_process(&session, 7, "p");
	uint64_t scope = atf_event_type_key(0), flow = atf_event_type_key(1);
	struct atf_recorder_thread *thread;
	struct sonde_recover_result result;
	uint8_t values[4];

	(void)state;
	sonde_store_u32le(values, 0x1234);
	assert_int_equal(atf_recorder_add_resource(session.recorder, process, "bits", false,
						   BINARY_RESOURCE, sizeof(BINARY_RESOURCE), &err),
			 SONDE_ARGUMENT);
	thread = add_thread(&session, process);
	assert_ok(atf_recorder_add_resource(session.recorder, process, "bits", false,
					    BINARY_RESOURCE, sizeof(BINARY_RESOURCE), &err));
	record(thread, (struct atf_index_event){ 10, scope, 0, ATF_KIND_CALL, 1, 0 }, scope, 0,
	       values, 4);
	record(thread, (struct atf_index_event){ 11, flow, 0, ATF_KIND_FLOW_BEGIN, 1, 0 }, flow, 77,
	       NULL, 0);
	record(thread, (struct atf_index_event){ 12, scope, 0, ATF_KIND_RETURN, 1, 0 }, 0, 0, NULL,
	       SIZE_MAX);
	define_recorded(&session, false);
	assert_ok(atf_recorder_define(session.recorder, session.definitions, &err));
	assert_recorded(session.path);
	recover(session.path, scratch_path("recorded-recovered"), &result);
	assert_recorded(scratch_path("recorded-recovered"));
	assert_clean(scratch_path("recorded-recovered"));
	define_recorded(&session, true);
	finish(&session);
	assert_recorded(scratch_path("recorded"));
	assert_clean(scratch_path("recorded"));
}

static void test_module_hash(void **state)
{
	(void)state;
	assert_int_equal(atf_path_hash(ATF_ANNOTATIONS_PATH), ATF_ANNOTATIONS_MODULE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_module_hash),   cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_parts),	      cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_recover),	      cmocka_unit_test(test_recover_unlinked),
		cmocka_unit_test(test_unknown_types), cmocka_unit_test(test_recorder),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
