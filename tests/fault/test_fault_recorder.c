/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder of ATF sessions with each allocation and each call to the system failing in turn.
 * Whatever fails, the session is finished and clean, or can be recovered.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <sonde/sonde.h>

#include "../recorder_detail.h"
#include "../unit/scratch.h"
#include "fault.h"

#define THREADS 3
#define ROUNDS 5
#define EVENTS 4
#define EVENTS_MAX 96

struct world {
	char output[80], recovered[80];
	bool replace;
	uint32_t events; /* of a thread in a round */
	struct atf_recorder_limits limits;
};

/* A recording at work. */
struct run {
	struct atf_recorder *recorder;
	struct sonde_definitions *definitions;
	struct atf_recorder_thread *threads[THREADS];
};

static const struct atf_recorder_limits small_files = { .events_per_file = 3 * EVENTS,
							.open_files = 3 };
/* Every file has several pieces; there are enough for two threads. */
static const struct atf_recorder_limits small_stages = { .open_files = 3,
							 .stage_size = 4096,
							 .stage_count = 5,
							 .stage_after = 1000 };

static struct world world = { .events = EVENTS };

static int set_up(void **state)
{
	if (make_scratch_in_memory(state))
		return -1;
	snprintf(world.output, sizeof(world.output), "%s", scratch_path("out"));
	snprintf(world.recovered, sizeof(world.recovered), "%s", scratch_path("recovered"));
	return 0;
}

static void remove_output(void *user)
{
	(void)user;
	remove_tree(world.output);
	remove_tree(world.recovered);
}

static enum sonde_status define(struct run *run, uint32_t process, struct sonde_error *err)
{
	struct sonde_process definition = { .os_id = 7,
					    .arch = SONDE_ARCH_X86_64,
					    .os = SONDE_OS_LINUX };
	struct sonde_clock clock = { .kind = SONDE_CLOCK_BOOTTIME };
	struct sonde_function function = {
		.process = process, .module = SONDE_NONE, .has_key = true, .key = 1
	};
	enum sonde_status status = SONDE_OK;
	uint32_t id;

	if (!process)
		status = sonde_definitions_add_clock(run->definitions, &clock, &id, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_process(run->definitions, &definition, &id, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_function(run->definitions, &function, &id, err);
	return status;
}

/* Two processes of one pid; a thread that cannot be added is left out. */
static enum sonde_status begin(struct run *run, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	uint32_t id;

	for (uint32_t i = 0; i < 2 && status == SONDE_OK; i++) {
		status = atf_recorder_add_process(run->recorder, 7, &id, err);
		if (status == SONDE_OK)
			status = define(run, i, err);
	}
	for (uint32_t i = 0; i < THREADS && status == SONDE_OK; i++) {
		struct sonde_track track = { .process = i % 2, .os_id = UINT64_MAX };

		if (atf_recorder_add_thread(run->recorder, i % 2, &run->threads[i], err) == 0)
			status = sonde_definitions_add_track(run->definitions, &track, &id, err);
	}
	return status;
}

/* A round of events; every second has a detail. */
static enum sonde_status put_events(struct atf_recorder_thread *thread, uint64_t round,
				    struct sonde_error *err)
{
	struct atf_index_event events[EVENTS_MAX];
	enum sonde_status status = SONDE_OK;

	if (!atf_recorder_room(thread))
		status = atf_recorder_next_part(thread, err);
	for (uint32_t i = 0; i < world.events && status == SONDE_OK; i++) {
		static const struct sonde_registers registers;
		struct atf_detail_record header = {
			.event_type = ATF_DETAIL_TYPE_CALL,
			.index_seq = atf_recorder_next_index(thread) + i,
			.timestamp = round * EVENTS_MAX + i,
		};

		events[i] = (struct atf_index_event){
			.timestamp_ns = header.timestamp,
			.function_id = 1,
			.thread_id = atf_recorder_thread_slot(thread),
			.event_kind = i % 2 ? ATF_KIND_RETURN : ATF_KIND_CALL,
			.call_depth = 1,
			.detail_seq = ATF_NO_LINK,
		};
		if (i % 2 == 0)
			status = recorder_add_detail(thread, header, &registers, 1, NULL, 0,
						     &events[i].detail_seq, err);
	}
	return status < 0 ? status : atf_recorder_events(thread, events, world.events, err);
}

static enum sonde_status record(struct run *run, struct sonde_error *err)
{
	struct sonde_error ignored = { 0 };
	enum sonde_status status = begin(run, err);
	uint64_t lost;

	if (status < 0)
		return status;
	for (uint64_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < THREADS; i++) {
			struct atf_recorder_thread *thread = run->threads[i];

			if (!thread)
				continue;
			put_events(thread, round, &ignored);
			if (i == 1 && round == 1)
				atf_recorder_end_thread(thread, &ignored);
		}
		if (round > 1)
			atf_recorder_settle(run->recorder, &ignored);
	}
	return atf_recorder_finish(run->recorder, run->definitions, &lost, err);
}

static enum sonde_status run_record(void *user, struct sonde_error *err)
{
	const struct world *where = user;
	struct run run = { .definitions = sonde_definitions_new() };
	enum sonde_status status;

	if (!run.definitions)
		return sonde_fail_nomem(err);
	status = atf_recorder_create_limited(where->output, where->replace, &where->limits,
					     &run.recorder, err);
	if (status == SONDE_OK)
		status = record(&run, err);
	atf_recorder_free(run.recorder);
	sonde_definitions_free(run.definitions);
	return status;
}

/* Clean where it was finished; else what is there can be recovered. */
static void expect_usable(void *user, enum sonde_status status, const struct sonde_error *err)
{
	const struct world *where = user;
	struct sonde_diagnostics *diagnostics;
	struct sonde_recover_options options = { .replace = true };
	struct sonde_recover_result result;
	struct sonde_error recover_error = { 0 };
	char path[128];

	(void)err;
	snprintf(path, sizeof(path), "%s/pid_7", where->output);
	if (access(path, F_OK) != 0)
		return;
	if (status == SONDE_OK) {
		assert_clean(where->output);
		return;
	}
	diagnostics = sonde_diagnostics_new();
	if (sonde_recover(where->output, where->recovered, &options, diagnostics, &result,
			  &recover_error) < 0)
		fail_msg("%s: %s", recover_error.file, recover_error.message);
	sonde_diagnostics_free(diagnostics);
	assert_clean(where->recovered);
}

static void put_old_session(void *user)
{
	struct world *where = user;
	struct sonde_error err = { 0 };
	bool replace = where->replace;

	remove_output(user);
	where->replace = false;
	assert_int_equal(run_record(user, &err), SONDE_OK);
	where->replace = replace;
}

static const struct fault_case record_case = {
	.run = run_record,
	.before = remove_output,
	.after = expect_usable,
	.user = &world,
};

static void test_record(void **state)
{
	(void)state;
	world.limits = small_files;
	assert_true(fault_run_all(FAULT_ALLOCATION, &record_case) > 100);
	assert_true(fault_run_all(FAULT_INPUT, &record_case) > 5);
	assert_true(fault_run_all(FAULT_OUTPUT, &record_case) > 100);
	fault_short_writes = true; /* no fault: there are no threads that could fail to start */
	assert_int_equal(fault_run_all(FAULT_THREAD, &record_case), 0);
	fault_short_writes = false;
}

static void test_stages(void **state)
{
	(void)state;
	world.limits = small_stages;
	world.events = EVENTS_MAX;
	assert_true(fault_run_all(FAULT_ALLOCATION, &record_case) > 50);
	assert_true(fault_run_all(FAULT_INPUT, &record_case) > 5);
	assert_true(fault_run_all(FAULT_OUTPUT, &record_case) > 50);
	assert_int_equal(fault_run_all(FAULT_THREAD, &record_case), 1);
	fault_short_writes = true;
	assert_int_equal(fault_run_all(FAULT_THREAD, &record_case), 1);
	fault_short_writes = false;
	world.events = EVENTS;
}

static void test_replace(void **state)
{
	struct fault_case replace_case = record_case;

	(void)state;
	replace_case.before = put_old_session;
	world.limits = small_files;
	world.replace = true;
	assert_true(fault_run_all(FAULT_ALLOCATION, &replace_case) > 100);
	assert_true(fault_run_all(FAULT_INPUT, &replace_case) > 20);
	world.replace = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_stages),
		cmocka_unit_test(test_replace),
	};

	return cmocka_run_group_tests(tests, set_up, remove_scratch);
}
