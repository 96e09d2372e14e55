/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of contexts with each allocation failing in turn: of calls, of values, several as one, as bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "../unit/memory_recording.h"
#include "analyse/cct_archive.h"
#include "fault.h"

struct world {
	struct sonde_recording *recording;
	struct cct *parts[2];
	struct sonde_buffer bytes;
	unsigned int threads;
};

/* Two processes with recursion, exceptions and calls that do not end. */
static struct sonde_recording *new_calls(void)
{
	struct sonde_recording *recording = memory_recording_new(16);
	uint64_t random = 3;

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t process = memory_add_process(recording, "p");
		uint32_t first = memory_add_function(recording, process, "a");

		memory_add_function(recording, process, "b");
		memory_add_calls(recording, memory_add_track(recording, process, "t"), 40, first, 2,
				 i, &random);
	}
	return recording;
}

static struct sonde_recording *new_profile(void)
{
	struct sonde_recording *recording = memory_recording_new(16);
	uint32_t process = memory_add_process(recording, "p");
	uint32_t function = memory_add_function(recording, process, "a");
	uint32_t metric = memory_add_metric(recording, "cycles", "point", "");
	uint32_t context;

	memory_add_track(recording, process, "t");
	context = memory_add_context(recording, 0, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED,
				     function);
	memory_add_context(recording, context, SONDE_CONTEXT_FUNCTION, SONDE_CONTEXT_CALLED,
			   function);
	memory_add_value(recording, 0, 1, metric, 2);
	memory_add_value(recording, 0, 2, metric, 3);
	memory_add_sample(recording, 0, 10, 2);
	memory_add_sample(recording, 0, 20, 0);
	return recording;
}

static enum sonde_status run_build(void *user, struct sonde_error *err)
{
	struct world *world = user;
	const struct cct_options options = { .spread = true,
					     .no_cache = true,
					     .threads = world->threads };
	struct cct *cct = NULL;
	enum sonde_status status = cct_build(world->recording, &options, &cct, err);

	cct_free(cct);
	return status;
}

static enum sonde_status run_merge(void *user, struct sonde_error *err)
{
	struct world *world = user;
	const struct cct *parts[] = { world->parts[0], world->parts[1] };
	uint32_t *maps[2] = { NULL, NULL };
	struct cct *whole = NULL;
	enum sonde_status status = cct_merge(parts, 2, &whole, maps, err);

	free(maps[0]);
	free(maps[1]);
	cct_free(whole);
	return status;
}

/* What fails here is no error but no entry. */
static enum sonde_status run_archive(void *user, struct sonde_error *err)
{
	struct world *world = user;
	struct sonde_buffer bytes = { 0 };
	struct cct_body *body;

	(void)err;
	cct_archive_write((struct cct_body *)world->parts[0], "s", &bytes);
	sonde_buffer_release(&bytes);
	body = cct_archive_read(world->bytes.data, world->bytes.size, "s");
	if (body)
		cct_free(&body->cct);
	return SONDE_OK;
}

static void build_part(struct world *world, struct cct **part)
{
	const struct cct_options options = { .spread = true, .no_cache = true };

	assert_int_equal(cct_build(world->recording, &options, part, NULL), SONDE_OK);
}

static void of_calls(void **state)
{
	struct world world = { .recording = new_calls(), .threads = 1 };
	const struct fault_case fault_case = { .run = run_build, .user = &world };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 50);
	world.threads = 2;
	fault_run_all(FAULT_THREAD, &fault_case);
	sonde_recording_close(world.recording);
}

static void of_values(void **state)
{
	struct world world = { .recording = new_profile(), .threads = 1 };
	const struct fault_case fault_case = { .run = run_build, .user = &world };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 30);
	sonde_recording_close(world.recording);
}

static void merged_and_as_bytes(void **state)
{
	struct world world = { .recording = new_calls() };
	struct fault_case fault_case = { .run = run_merge, .user = &world };

	(void)state;
	build_part(&world, &world.parts[0]);
	build_part(&world, &world.parts[1]);
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 50);
	assert_true(cct_archive_write((struct cct_body *)world.parts[0], "s", &world.bytes));
	fault_case.run = run_archive;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 30);
	sonde_buffer_release(&world.bytes);
	cct_free(world.parts[0]);
	cct_free(world.parts[1]);
	sonde_recording_close(world.recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_calls),
		cmocka_unit_test(of_values),
		cmocka_unit_test(merged_and_as_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
