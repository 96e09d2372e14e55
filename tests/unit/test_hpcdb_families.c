/* SPDX-License-Identifier: Apache-2.0 */
/* Values of contexts and of their children: put together from a plane, and worked out for a context. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include <sonde/sonde.h>

#include "formats/hpcdb/hpcdb_families.h"
#include "hpcdb_world.h"
#include "scratch.h"

enum { LISTED = 5 };

/* Ids are ten times the place: a root with two children, the first of which has two. */
static const uint32_t parents[LISTED] = { HPCDB_NO_RECORD, 0, 1, 1, 0 };

struct fixture {
	struct hpcdb_tree tree;
	struct hpcdb_ids ids;
	struct sonde_buffer values, indices;
	struct hpcdb_plane plane;
	struct hpcdb_families families;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	*state = fixture;
	for (uint32_t i = 0; i < LISTED; i++) {
		struct hpcdb_context *context = sonde_vec_push(&fixture->tree.contexts);

		if (!context)
			return -1;
		*context = (struct hpcdb_context){ .id = i * 10, .parent = parents[i] };
	}
	return hpcdb_ids_build(&fixture->ids, &fixture->tree, NULL) == SONDE_OK ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	hpcdb_families_release(&fixture->families);
	hpcdb_ids_release(&fixture->ids);
	hpcdb_tree_release(&fixture->tree);
	sonde_buffer_release(&fixture->values);
	sonde_buffer_release(&fixture->indices);
	free(fixture);
	return 0;
}

/* One value for a context, whose run begins where `start` says. */
static void add(struct fixture *fixture, uint32_t id, uint64_t start)
{
	sonde_put_u32le(&fixture->indices, id);
	sonde_put_u64le(&fixture->indices, start);
	sonde_put_u16le(&fixture->values, 0);
	sonde_put_u64le(&fixture->values, 0);
	fixture->plane = (struct hpcdb_plane){
		.values = (const uint8_t *)fixture->values.data,
		.indices = (const uint8_t *)fixture->indices.data,
		.value_count = fixture->values.size / HPCDB_PROFILE_VALUE_SIZE,
		.context_count = (uint32_t)(fixture->indices.size / HPCDB_PROFILE_INDEX_SIZE),
	};
}

static void assert_members(struct fixture *fixture, const uint32_t (*expected)[3], size_t count)
{
	const struct hpcdb_families *families = &fixture->families;

	assert_true(hpcdb_families_build(&fixture->families, &fixture->plane, &fixture->tree,
					 &fixture->ids));
	assert_int_equal(families->members.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(hpcdb_family_head(families, i), expected[i][0]);
		assert_int_equal(hpcdb_family_member(families, i), expected[i][1]);
		assert_int_equal(families->members.items[i].number, expected[i][2]);
	}
}

static void test_families(void **state)
{
	/* head, member, number in the plane */
	static const uint32_t expected[][3] = { { 0, 0, 0 }, { 0, 4, 3 }, { 1, 2, 1 }, { 1, 3, 2 },
						{ 2, 2, 1 }, { 3, 3, 2 }, { 4, 4, 3 } };
	struct fixture *fixture = *state;

	assert_members(fixture, NULL, 0);
	add(fixture, 0, 0);
	add(fixture, 20, 1);
	add(fixture, 30, 2);
	add(fixture, 40, 3);
	add(fixture, 55, 4); /* not listed */
	assert_members(fixture, expected, 7);
	assert_int_equal(hpcdb_family_end(&fixture->families, 0), 2);
	assert_int_equal(hpcdb_family_end(&fixture->families, 2), 4);
	assert_int_equal(hpcdb_family_end(&fixture->families, 6), 7);
}

/* A context twice, and a run that begins within the one before. */
static void test_damage(void **state)
{
	static const uint32_t expected[][3] = {
		{ 0, 4, 0 }, { 1, 2, 3 }, { 2, 2, 3 }, { 4, 4, 0 }
	};
	struct fixture *fixture = *state;

	add(fixture, 40, 0);
	add(fixture, 40, 2);
	add(fixture, 30, 1);
	add(fixture, 20, 3);
	assert_members(fixture, expected, 4);
}

/* What is not finite in one context says nothing about the next one. */
static void test_infinite(void **state)
{
	static const struct hpcdb_point points[] = { { WORLD_CALLEE_LINE, 0, INFINITY },
						     { WORLD_UNKNOWN, 0, 2 } };
	struct sonde_recording *recording;
	struct sonde_value_cursor *cursor;
	const struct sonde_value *values;
	struct world world;
	size_t count, finite = 0;

	(void)state;
	world_init(&world);
	world.data[0].points = points;
	world.data[0].point_count = 2;
	world_write(&world, "infinite.d");
	assert_int_equal(sonde_recording_open(scratch_path("infinite.d"), NULL, &recording, NULL),
			 SONDE_OK);
	assert_int_equal(sonde_value_cursor_open(recording, 0, &cursor, NULL), SONDE_OK);
	while (sonde_value_cursor_next(cursor, &values, &count, NULL) == SONDE_OK) {
		for (size_t i = 0; i < count; i++) {
			assert_false(isnan(values[i].value));
			finite += values[i].value == 2;
		}
	}
	/* point, function, lex_aware and execution of it; execution of the entry above */
	assert_int_equal(finite, 5);
	sonde_value_cursor_free(cursor);
	sonde_recording_close(recording);
	world_release(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_families, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
		cmocka_unit_test(test_infinite),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
