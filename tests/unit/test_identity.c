/* SPDX-License-Identifier: Apache-2.0 */
/* Identities of tracks: there and back, what is made up where none are told, order, and text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "memory_recording.h"
#include "model/identity.h"
#include "model/recording.h"

static const struct sonde_identity stream[] = {
	{ SONDE_IDENTITY_NODE, true, UINT64_C(0xfedcba9876543210), 0 },
	{ SONDE_IDENTITY_RANK, false, 3, 3 },
	{ SONDE_IDENTITY_GPU_CONTEXT, false, 1, 1 },
	{ SONDE_IDENTITY_GPU_STREAM, false, UINT64_MAX, UINT64_MAX },
	{ 77, true, 5, 6 },
};
#define STREAM (sizeof(stream) / sizeof(stream[0]))

static void assert_same(const struct sonde_identity *a, const struct sonde_identity *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->is_physical, b->is_physical);
	assert_int_equal(a->physical, b->physical);
	assert_int_equal(a->logical, b->logical);
}

static void test_there_and_back(void **state)
{
	struct sonde_recording *recording = memory_recording_new(4);
	struct sonde_definitions *definitions = recording->definitions;
	struct sonde_identity found[SONDE_IDENTITY_LIMIT];
	struct sonde_identity many[SONDE_IDENTITY_LIMIT + 3] = { 0 };
	uint32_t first = memory_add_track(recording, 0, "t");
	uint32_t second = memory_add_track(recording, 0, "u");
	size_t count;

	(void)state;
	assert_int_equal(sonde_identity_define(definitions, second, stream, STREAM, NULL),
			 SONDE_OK);
	assert_int_equal(sonde_identity_of_track(definitions, second, found, &count, NULL),
			 SONDE_OK);
	assert_int_equal(count, STREAM);
	for (size_t i = 0; i < count; i++)
		assert_same(&found[i], &stream[i]);
	assert_int_equal(
		sonde_identity_define(definitions, first, many, SONDE_IDENTITY_LIMIT + 3, NULL),
		SONDE_OK);
	assert_int_equal(sonde_identity_of_track(definitions, first, found, &count, NULL),
			 SONDE_OK);
	assert_int_equal(count, SONDE_IDENTITY_LIMIT);
	sonde_recording_close(recording);
}

static void put_attribute(struct sonde_recording *recording, uint32_t track, const char *json)
{
	struct sonde_attribute attribute = {
		.owner = SONDE_OWNER_TRACK,
		.owner_id = track,
		.name = memory_add_string(recording->definitions, SONDE_IDENTITY_ATTRIBUTE),
		.value = memory_add_string(recording->definitions, json),
	};
	uint32_t id;

	assert_int_equal(
		sonde_definitions_add_attribute(recording->definitions, &attribute, &id, NULL),
		SONDE_OK);
}

/* What somebody else wrote: members of their own are no harm, anything else is made up anew. */
static void test_foreign_text(void **state)
{
	static const char *const broken[] = {
		"",
		"[",
		"{}",
		"[]",
		"[{}]",
		"[3]",
		"[{\"kind\":\"NODE\"}]",
		"[{\"kind\":\"NOUN\",\"logical\":1}]",
		"[{\"kind\":70000,\"logical\":1}]",
		"[{\"kind\":\"RANK\",\"logical\":-1}]",
		"[{\"kind\":\"RANK\",\"logical\":\"1\"}]",
		"[{\"kind\":\"RANK\",\"logical\":1},",
		"[{\"kind\":\"RANK\",\"logical\":1},4]",
	};
	struct sonde_recording *recording = memory_recording_new(4);
	struct sonde_identity found[SONDE_IDENTITY_LIMIT];
	struct sonde_identity rank = { SONDE_IDENTITY_RANK, true, 9, 4 };
	uint32_t process, track;
	size_t count;

	(void)state;
	memory_add_process(recording, "p");
	process = memory_add_process(recording, "q");
	track = memory_add_track(recording, process, "t");
	put_attribute(recording, track,
		      "[{\"x\":[1,{}],\"logical\":4,\"kind\":\"RANK\",\"physical\":9}]");
	assert_int_equal(
		sonde_identity_of_track(recording->definitions, track, found, &count, NULL),
		SONDE_OK);
	assert_int_equal(count, 1);
	assert_same(&found[0], &rank);
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		track = memory_add_track(recording, process, "t");
		put_attribute(recording, track, broken[i]);
		assert_int_equal(
			sonde_identity_of_track(recording->definitions, track, found, &count, NULL),
			SONDE_OK);
		assert_int_equal(count, 2);
		assert_int_equal(found[0].kind, SONDE_IDENTITY_RANK);
		assert_int_equal(found[0].logical, 1);
		assert_int_equal(found[1].kind, SONDE_IDENTITY_THREAD);
		assert_int_equal(found[1].logical, track);
		assert_int_equal(found[1].physical, track);
		assert_false(found[1].is_physical);
	}
	sonde_recording_close(recording);
}

static void test_order(void **state)
{
	const struct sonde_identity node = { SONDE_IDENTITY_NODE, true, 10, 0 };
	const struct sonde_identity thread_2[] = { node, { SONDE_IDENTITY_THREAD, false, 2, 2 } };
	const struct sonde_identity thread_10[] = { node,
						    { SONDE_IDENTITY_THREAD, false, 10, 10 } };
	const struct sonde_identity rank[] = { node, { SONDE_IDENTITY_RANK, false, 99, 99 } };

	(void)state;
	assert_int_equal(sonde_identity_compare(thread_2, 2, thread_2, 2), 0);
	assert_true(sonde_identity_compare(thread_2, 2, thread_10, 2) < 0);
	assert_true(sonde_identity_compare(thread_10, 2, thread_2, 2) > 0);
	assert_true(sonde_identity_compare(rank, 2, thread_2, 2) < 0);
	assert_true(sonde_identity_compare(rank, 1, thread_2, 2) < 0);
	assert_true(sonde_identity_compare(thread_2, 2, NULL, 0) > 0);
}

static void test_text(void **state)
{
	char space[128], cut[20], small[5], tiny[1];

	(void)state;
	assert_string_equal(sonde_identity_text(stream, STREAM, space, sizeof(space)),
			    "NODE 0xfedcba9876543210 RANK 3 GPUCONTEXT 1 GPUSTREAM "
			    "18446744073709551615 KIND77 6");
	assert_string_equal(sonde_identity_text(stream, STREAM, cut, sizeof(cut)),
			    "NODE 0xfedcba987654");
	assert_string_equal(sonde_identity_text(stream, STREAM, small, sizeof(small)), "NODE");
	assert_string_equal(sonde_identity_text(stream, STREAM, tiny, sizeof(tiny)), "");
	assert_string_equal(sonde_identity_text(stream, 0, space, sizeof(space)), "");
	assert_string_equal(sonde_identity_text(stream, 2, NULL, 0), "");
	assert_null(sonde_identity_kind_name(SONDE_IDENTITY_KNOWN));
	assert_string_equal(sonde_identity_kind_name(SONDE_IDENTITY_CORE), "CORE");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_foreign_text),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
