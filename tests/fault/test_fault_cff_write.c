/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing wtf-trace files with each allocation and each call to the system failing in turn. The
 * file is there whole and the same as ever, or there is nothing at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

#include "../unit/memory_recording.h"
#include "../unit/scratch.h"
#include "base/file.h"
#include "fault.h"
#include "formats/cff/cff.h"
#include "model/recording.h"

struct world {
	struct sonde_recording *source;
	bool is_json;
	struct sonde_mapped_file expected; /* what a run without faults gives */
	unsigned int successes;
};

static void add_attribute(struct sonde_recording *source, enum sonde_owner owner, const char *name,
			  const char *value)
{
	const struct sonde_attribute attribute = {
		.owner = owner,
		.name = memory_add_string(source->definitions, name),
		.value = memory_add_string(source->definitions, value),
	};
	uint32_t id;

	if (sonde_definitions_add_attribute(source->definitions, &attribute, &id, NULL))
		abort();
}

/* Calls, late functions, exceptions, all kinds with and without arguments, a resource. */
static void make_source(void *user)
{
	static const char values[] = "\5\0\0\0\6\0\0\0\3\0\0\0abc";
	struct world *world = user;
	struct sonde_recording *source = world->source = memory_recording_new(7);
	uint32_t process = memory_add_process(source, "p"), type, plain, mark;
	uint64_t random = 3;
	struct sonde_event event;

	for (unsigned int i = 0; i < 4; i++)
		memory_add_function(source, process, i % 2 ? "odd" : "even");
	for (uint32_t track = 0; track < 2; track++) {
		memory_add_track(source, process, "t");
		memory_add_calls(source, track, 50, 0, 4, false, &random);
	}
	type = memory_add_event_type(source, "my.new", "int64 x, utf8 s");
	plain = memory_add_event_type(source, "plain", "");
	mark = memory_add_event_type(source, "wtf.trace#mark", "ascii name, any value");
	event = memory_event(SONDE_EVENT_INSTANT, 5000, type, 0);
	event.detail = memory_add_arguments(source, 1, type, values, sizeof(values));
	memory_add_event(source, 1, event);
	memory_add_event(source, 1, memory_event(SONDE_EVENT_FLOW_END, 6000, plain, 0));
	memory_add_event(source, 1, memory_event(SONDE_EVENT_COUNTER, 7000, plain, 0));
	memory_add_event(source, 1, memory_event(SONDE_EVENT_MARK, 8000, mark, 0));
	memory_add_event(source, 1, memory_event(SONDE_EVENT_CALL, 9000, MEMORY_UNDEFINED, 9));
	add_attribute(source, SONDE_OWNER_RECORDING, "timebase", "5");
	add_attribute(source, SONDE_OWNER_RECORDING, "metadata", "{\"a\":[1]}");
	add_attribute(source, SONDE_OWNER_TRACK, "zone_location", "\"here\"");
	memory_add_blob(source, "b", false, "bytes", 5);
}

static enum sonde_status run(void *user, struct sonde_error *err)
{
	struct world *world = user;
	struct sonde_loss *loss = sonde_loss_new();
	const struct sonde_create_options create_options = { .loss = loss };
	const struct sonde_run_options options = { .loss = loss, .threads = 1 };
	struct sonde_sink *sink = NULL;
	enum sonde_status status = loss ? SONDE_OK : sonde_fail_nomem(err);

	if (status == SONDE_OK)
		status = (world->is_json ? cff_json_create : cff_create)(
			scratch_path("folder/out"), &create_options, &sink, err);
	if (status == SONDE_OK)
		status = sonde_pipeline_run(&world->source, 1, sink, &options, NULL, err);
	sonde_sink_free(sink);
	sonde_loss_free(loss);
	sonde_recording_close(world->source);
	return status;
}

/* There is nothing, or the same file as without faults. */
static void look(void *user, enum sonde_status status, const struct sonde_error *err)
{
	struct world *world = user;
	struct sonde_folder folder;
	struct sonde_mapped_file file;

	(void)err;
	assert_int_equal(sonde_folder_read(&folder, scratch_path("folder"), NULL), SONDE_OK);
	/* a failure after the file got its name leaves it there */
	assert_true(folder.count <= 1);
	assert_true(status < 0 || folder.count == 1);
	if (folder.count) {
		assert_string_equal(folder.names[0], "out");
		assert_int_equal(sonde_mapped_file_open(&file, scratch_path("folder/out"), NULL),
				 SONDE_OK);
		assert_int_equal(file.size, world->expected.size);
		assert_memory_equal(file.data, world->expected.data, file.size);
		sonde_mapped_file_release(&file);
		world->successes += status == SONDE_OK;
	}
	sonde_folder_release(&folder);
	remove_tree(scratch_path("folder/out"));
}

static void test_all(bool is_json)
{
	struct world world = { .is_json = is_json };
	struct fault_case fault_case = {
		.before = make_source,
		.run = run,
		.after = look,
		.user = &world,
	};
	struct sonde_error err = { 0 };

	assert_int_equal(sonde_folder_create(scratch_path("folder"), NULL), SONDE_OK);
	make_source(&world);
	if (run(&world, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(rename(scratch_path("folder/out"), scratch_path("expected")), 0);
	assert_int_equal(sonde_mapped_file_open(&world.expected, scratch_path("expected"), NULL),
			 SONDE_OK);
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 100);
	assert_true(fault_run_all(FAULT_OUTPUT, &fault_case) > 3);
	fault_short_writes = true;
	fault_run_all(FAULT_OUTPUT, &fault_case);
	fault_short_writes = false;
	fault_run_all(FAULT_INPUT, &fault_case);
	assert_true(world.successes > 0);
	sonde_mapped_file_release(&world.expected);
	remove_tree(scratch_path("folder"));
}

static void test_binary(void **state)
{
	(void)state;
	test_all(false);
}

static void test_json(void **state)
{
	(void)state;
	test_all(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_binary),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
