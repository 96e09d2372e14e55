/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing to a trace store with each allocation and each call to the system failing in turn: what
 * was acknowledged is there afterwards, a part is whole at any moment, and the next run goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/scratch.h"
#include "../unit/store_fixture.h"
#include "base/file.h"
#include "fault.h"

#define TRACES 4

static const struct script_options options = { .calls = 12 };
static char part_path[128], base_path[128], good_path[128];

struct world {
	uint64_t acknowledged; /* a bit for each trace */
	unsigned int successes;
};

static void remove_all(void *user)
{
	struct world *world = user;

	world->acknowledged = 0;
	remove_tree(base_path);
	if (sonde_folder_create(base_path, NULL) < 0)
		abort();
}

/* Traces `from` .. to-1, each acknowledged. */
static enum sonde_status put(struct zts_writer *writer, struct world *world, uint64_t from,
			     uint64_t to, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	for (uint64_t i = from; i < to && status >= 0; i++) {
		status = script_write(writer, i, &options, err);
		if (status >= 0)
			status = zts_writer_sync(writer, err);
		if (status >= 0)
			world->acknowledged |= 1ull << i;
	}
	return status;
}

static enum sonde_status run_writer(void *user, struct sonde_error *err)
{
	const struct zts_writer_options part_options = { .codec = SONDE_CODEC_LZ4,
							 .chunk_size = 300 };
	struct zts_writer *writer;
	enum sonde_status status = zts_writer_create(part_path, &part_options, &writer, err);

	if (status < 0)
		return status;
	status = put(writer, user, 0, TRACES, err);
	if (status >= 0)
		return zts_writer_close(writer, err);
	zts_writer_free(writer);
	return status;
}

/* What was acknowledged is there. Some may be there whose sync failed at its end. */
static void examine(void *user, enum sonde_status status, const struct sonde_error *err)
{
	struct world *world = user;
	uint8_t found[64] = { 0 };
	const char *difference = store_find(base_path, 0, found, sizeof(found), 0, &options);

	(void)err;
	if (difference)
		fail_msg("%s", difference);
	for (uint64_t i = 0; i < sizeof(found); i++)
		assert_true(found[i] || !(world->acknowledged >> i & 1));
	world->successes += status >= 0;
}

static void run_all(const struct fault_case *fault_case)
{
	struct world *world = fault_case->user;

	assert_true(fault_run_all(FAULT_ALLOCATION, fault_case) > 10);
	assert_true(fault_run_all(FAULT_INPUT, fault_case) > 0);
	assert_true(fault_run_all(FAULT_OUTPUT, fault_case) > 5);
	assert_true(world->successes > 0);
}

static void test_writer(void **state)
{
	struct world world = { 0 };
	const struct fault_case fault_case = {
		.run = run_writer, .before = remove_all, .after = examine, .user = &world
	};

	(void)state;
	run_all(&fault_case);
}

/* A part as a killed writer leaves it, made once. */
static void make_good(void)
{
	struct world world = { 0 };
	struct sonde_error err;
	char command[800];

	remove_all(&world);
	assert_int_equal(run_writer(&world, &err), SONDE_OK);
	remove_tree(good_path);
	snprintf(
		command, sizeof(command),
		"cp -r %s %s && printf ZCH0 >> %s/traces.dat && printf '2\\001' >> %s/text-00000001.wal",
		part_path, good_path, good_path, good_path);
	assert_int_equal(system(command), 0);
}

static void restore_good(void *user)
{
	struct world *world = user;
	char command[300];

	remove_all(world);
	world->acknowledged = (1u << TRACES) - 1;
	snprintf(command, sizeof(command), "cp -r %s %s", good_path, part_path);
	if (system(command))
		abort();
}

static enum sonde_status run_going_on(void *user, struct sonde_error *err)
{
	struct zts_writer *writer;
	enum sonde_status status = zts_writer_open(part_path, &writer, NULL, err);

	if (status < 0)
		return status;
	status = put(writer, user, TRACES, TRACES + 2, err);
	if (status >= 0)
		return zts_writer_close(writer, err);
	zts_writer_free(writer);
	return status;
}

static void test_going_on(void **state)
{
	struct world world = { 0 };
	const struct fault_case fault_case = {
		.run = run_going_on, .before = restore_good, .after = examine, .user = &world
	};

	(void)state;
	make_good();
	run_all(&fault_case);
}

static enum sonde_status run_archive(void *user, struct sonde_error *err)
{
	(void)user;
	return zts_archive(part_path, err);
}

/* Whatever happened, the part is whole, and archiving it again ends well. */
static void examine_archive(void *user, enum sonde_status status, const struct sonde_error *err)
{
	struct sonde_error again;

	examine(user, status, err);
	/* it may have failed at the very end */
	assert_true(zts_archive(part_path, &again) >= (status < 0 ? SONDE_OK : SONDE_END));
	examine(user, SONDE_IO, err);
}

static void test_archive(void **state)
{
	struct world world = { 0 };
	const struct fault_case fault_case = {
		.run = run_archive, .before = restore_good, .after = examine_archive, .user = &world
	};

	(void)state;
	make_good();
	run_all(&fault_case);
}

static void make_store(void *user)
{
	struct sonde_store_settings settings;

	remove_all(user);
	sonde_store_settings_init(&settings);
	if (sonde_store_init(base_path, &settings, NULL) < 0)
		abort();
}

/* Traces, a new part, more traces; after a failure one more is tried. */
static enum sonde_status use_store(struct sonde_store *store, struct world *world,
				   struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	uint32_t count;

	for (uint64_t i = 0; i < TRACES; i++) {
		uint64_t number = i;

		status = store_put(store, number, &options, err);
		if (status < 0) {
			number += 32;
			status = store_put(store, number, &options, err);
		}
		if (status < 0)
			return status;
		world->acknowledged |= 1ull << number;
		if (i == 1)
			status = sonde_store_rotate(store, err);
		if (status < 0)
			return status;
	}
	status = sonde_store_archive(store, &count, err);
	return status < 0 ? status : sonde_store_retain(store, &count, err);
}

static enum sonde_status run_store(void *user, struct sonde_error *err)
{
	struct sonde_store *store;
	enum sonde_status status = sonde_store_open(base_path, &store, NULL, err), closed;
	struct sonde_error closing;

	if (status < 0)
		return status;
	status = use_store(store, user, err);
	closed = sonde_store_close(store, &closing);
	if (status >= 0 && closed < 0) {
		*err = closing;
		status = closed;
	}
	return status;
}

static void test_store(void **state)
{
	struct world world = { 0 };
	const struct fault_case fault_case = {
		.run = run_store, .before = make_store, .after = examine, .user = &world
	};

	(void)state;
	run_all(&fault_case);
	assert_int_equal(fault_run_all(FAULT_THREAD, &fault_case), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writer),
		cmocka_unit_test(test_going_on),
		cmocka_unit_test(test_archive),
		cmocka_unit_test(test_store),
	};
	int result;

	if (make_scratch_in_memory(NULL))
		return 1;
	snprintf(base_path, sizeof(base_path), "%s/base", scratch);
	snprintf(part_path, sizeof(part_path), "%s/base/000000", scratch);
	snprintf(good_path, sizeof(good_path), "%s/good", scratch);
	result = cmocka_run_group_tests(tests, NULL, NULL);
	remove_scratch(NULL);
	return result;
}
