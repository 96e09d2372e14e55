/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads back sessions of the recorder for its tests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorder_fixture.h"

#include "../recorder_detail.h"

#define STACK_SIZE 64

struct sonde_error err;

void assert_ok(enum sonde_status status)
{
	char text[1024];

	if (status == SONDE_OK)
		return;
	sonde_error_format(&err, text, sizeof(text));
	fail_msg("status %d: %s", status, text);
}

uint32_t add_text(struct sonde_definitions *definitions, const char *text)
{
	uint32_t id = 0;

	assert_ok(sonde_definitions_add_string(definitions, text, strlen(text), &id, &err));
	return id;
}

struct session begin_at(const char *path, struct atf_recorder_limits limits)
{
	struct session session = { .definitions = sonde_definitions_new() };
	struct sonde_clock clock = { .kind = SONDE_CLOCK_BOOTTIME };
	uint32_t id;

	snprintf(session.path, sizeof(session.path), "%s", path);
	assert_ok(atf_recorder_create_limited(path, false, &limits, &session.recorder, &err));
	assert_ok(sonde_definitions_add_clock(session.definitions, &clock, &id, &err));
	return session;
}

struct session begin(const char *name)
{
	return begin_at(scratch_path(name), (struct atf_recorder_limits){ 0 });
}

uint32_t add_process(struct session *session, uint32_t pid, const char *name)
{
	struct sonde_process process = {
		.name = add_text(session->definitions, name),
		.os_id = pid,
		.arch = SONDE_ARCH_X86_64,
		.os = SONDE_OS_LINUX,
	};
	struct sonde_module module = {
		.path = add_text(session->definitions, "/usr/bin/program"),
		.has_key = true,
		.key = MODULE_KEY,
	};
	uint32_t id, same;

	assert_ok(sonde_definitions_add_process(session->definitions, &process, &same, &err));
	assert_ok(atf_recorder_add_process(session->recorder, pid, &id, &err));
	assert_int_equal(id, same);
	module.process = id;
	assert_ok(sonde_definitions_add_module(session->definitions, &module, &same, &err));
	for (uint32_t i = 0; i < 2; i++) {
		struct sonde_function function = {
			.process = id,
			.module = SONDE_NONE,
			.name = add_text(session->definitions, i ? "inner" : "outer"),
			.has_key = true,
			.key = MODULE_KEY << 32 | (i + 1),
		};

		assert_ok(sonde_definitions_add_function(session->definitions, &function, &same,
							 &err));
	}
	return id;
}

struct atf_recorder_thread *add_thread(struct session *session, uint32_t process)
{
	struct sonde_track track = { .process = process, .os_id = 4711 };
	struct atf_recorder_thread *thread;
	uint32_t id;

	assert_ok(atf_recorder_add_thread(session->recorder, process, &thread, &err));
	assert_ok(sonde_definitions_add_track(session->definitions, &track, &id, &err));
	return thread;
}

struct atf_index_event event_number(const struct atf_recorder_thread *thread, uint64_t n)
{
	return (struct atf_index_event){
		.timestamp_ns = 1000 + n * 3,
		.function_id = MODULE_KEY << 32 | (n % 4 == 1 || n % 4 == 2 ? 2 : 1),
		.thread_id = atf_recorder_thread_slot(thread),
		.event_kind = n % 4 < 2 ? ATF_KIND_CALL : ATF_KIND_RETURN,
		.call_depth = n % 4 == 1 || n % 4 == 2 ? 2 : 1,
		.detail_seq = ATF_NO_LINK,
	};
}

static uint8_t stack_byte(uint64_t n, size_t i)
{
	return (uint8_t)(n * 7 + i);
}

enum sonde_status add_detail(struct atf_recorder_thread *thread, struct atf_index_event *event,
			     uint64_t n, uint32_t index_seq)
{
	struct atf_detail_record header = {
		.event_type = event->event_kind == ATF_KIND_CALL ? ATF_DETAIL_TYPE_CALL :
								   ATF_DETAIL_TYPE_RETURN,
		.index_seq = index_seq,
		.timestamp = event->timestamp_ns,
	};
	struct sonde_registers registers = { .flags = SONDE_REGISTERS_ARGUMENTS };
	uint8_t stack[STACK_SIZE];

	for (size_t i = 0; i < STACK_SIZE; i++)
		stack[i] = stack_byte(n, i);
	for (int i = 0; i < SONDE_REGISTER_COUNT; i++)
		registers.values[i] = n << 32 | (uint64_t)i;
	return recorder_add_detail(thread, header, &registers, event->function_id, stack,
				   n % 3 ? STACK_SIZE : 0, &event->detail_seq, &err);
}

enum sonde_status try_events(struct atf_recorder_thread *thread, uint64_t first, size_t count,
			     unsigned int every)
{
	struct atf_index_event *events = test_calloc(count + 1, sizeof(*events));
	enum sonde_status status = SONDE_OK;

	for (size_t i = 0; i < count && status == SONDE_OK; i++) {
		events[i] = event_number(thread, first + i);
		if (every && (first + i) % every == 0)
			status = add_detail(thread, &events[i], first + i,
					    atf_recorder_next_index(thread) + (uint32_t)i);
	}
	if (status == SONDE_OK)
		status = atf_recorder_events(thread, events, count, &err);
	test_free(events);
	return status;
}

void put_events(struct atf_recorder_thread *thread, uint64_t first, size_t count,
		unsigned int every)
{
	assert_ok(try_events(thread, first, count, every));
}

uint64_t finish(struct session *session)
{
	uint64_t lost;

	assert_ok(atf_recorder_finish(session->recorder, session->definitions, &lost, &err));
	atf_recorder_free(session->recorder);
	sonde_definitions_free(session->definitions);
	return lost;
}

void abandon(struct session *session)
{
	atf_recorder_free(session->recorder);
	sonde_definitions_free(session->definitions);
}

struct sonde_recording *open_path(const char *path)
{
	struct sonde_recording *recording = NULL;

	assert_ok(sonde_recording_open(path, NULL, &recording, &err));
	return recording;
}

static void assert_detail(const struct sonde_batch *batch, const struct sonde_event *event,
			  uint64_t n)
{
	struct sonde_detail detail;

	assert_ok(sonde_batch_detail(batch, event, &detail, &err));
	assert_int_equal(detail.kind, SONDE_DETAIL_REGISTERS);
	assert_int_equal(detail.event, n);
	assert_int_equal(detail.time_ns, event->time_ns);
	assert_int_equal(detail.function, event->function);
	assert_int_equal(detail.registers.flags, SONDE_REGISTERS_ARGUMENTS);
	for (unsigned int i = 0; i < SONDE_REGISTER_COUNT; i++)
		assert_int_equal(detail.registers.values[i], n << 32 | i);
	assert_int_equal(detail.stack_size, n % 3 ? STACK_SIZE : 0);
	for (size_t i = 0; i < detail.stack_size; i++)
		assert_int_equal(detail.stack[i], stack_byte(n, i));
	assert_int_equal(detail.size, 0);
}

uint64_t assert_track(struct sonde_recording *recording, uint32_t track, unsigned int every)
{
	const struct sonde_definitions *definitions = sonde_recording_definitions(recording);
	struct sonde_cursor *cursor;
	struct sonde_batch batch;
	uint64_t n = 0;

	assert_ok(sonde_cursor_open(recording, track, &cursor, &err));
	while (sonde_cursor_next(cursor, &batch, &err) == SONDE_OK) {
		for (size_t i = 0; i < batch.count; i++, n++) {
			const struct sonde_event *event = &batch.events[i];
			bool is_inner = n % 4 == 1 || n % 4 == 2;

			assert_int_equal(event->time_ns, 1000 + n * 3);
			assert_int_equal(event->kind,
					 n % 4 < 2 ? SONDE_EVENT_CALL : SONDE_EVENT_RETURN);
			assert_int_equal(event->depth, is_inner ? 2 : 1);
			assert_int_equal(
				sonde_definitions_function(definitions, event->function)->key,
				MODULE_KEY << 32 | (is_inner ? 2 : 1));
			if (!every || n % every)
				assert_int_equal(event->detail, SONDE_NONE);
			else
				assert_detail(&batch, event, n);
		}
	}
	sonde_cursor_free(cursor);
	return n;
}
