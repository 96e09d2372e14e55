/* SPDX-License-Identifier: Apache-2.0 */
/* Searches by indexes against looking at every trace; orders, pages and cursors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../random.h"
#include "scratch.h"
#include "search_fixture.h"
#include "store/search.h"

#define PARTS 4
#define TRACES 60

static struct zts_base *open_store(const char *path)
{
	struct zts_base *base;
	struct sonde_error err = { 0 };

	if (zts_base_open(path, NULL, &base, &err) != SONDE_OK)
		fail_msg("%s", err.message);
	return base;
}

/* Every condition must answer the same by index and by looking, in every part. */
static void compare_with_looking(struct zts_base *base, const char *expression, bool shallow)
{
	struct sonde_query query = { 0 };
	struct sonde_error err = { 0 };

	if (*expression && sonde_query_parse(&query, expression, &err) != SONDE_OK)
		fail_msg("%s: %s", expression, err.message);
	for (size_t i = 0; i < base->parts.count; i++) {
		struct sonde_finder finder = { .look = { .part = base->parts.items[i],
							 .shallow = shallow } };
		struct sonde_look look = finder.look;
		struct zts_set found = { 0 };

		assert_int_equal(sonde_find(&finder, &query, &found, &err), SONDE_OK);
		for (uint32_t slot = 0; slot < found.size; slot++) {
			bool matches = false;

			if (zts_part_is_trace(look.part, slot))
				assert_int_equal(search_look(&look, &query, slot, &matches, &err),
						 SONDE_OK);
			if (matches != zts_set_has(&found, slot))
				fail_msg("%s%s: part %zu slot %u: %s by index", expression,
					 shallow ? " (shallow)" : "", i, slot,
					 matches ? "missing" : "wrong");
		}
		zts_set_release(&found);
		sonde_look_release(&look);
		sonde_finder_release(&finder);
	}
	sonde_query_release(&query);
}

static const char *const conditions[] = {
	"STATUS=500",
	"STATUS=5*",
	"STATUS=*",
	"STATUS>=404",
	"STATUS<0",
	"STATUS!=200",
	"STATUS=5e2",
	"colour=red",
	"colour=*red",
	"colour=dark*",
	"colour=*r*",
	"colour~ed",
	"colour=500",
	"colour>499",
	"colour=\"\"",
	"colour=x.y",
	"colour=nothing",
	"absent=1",
	"flag=true",
	"flag=null",
	"flag=*e",
	"many=blue",
	"many=red",
	"many=*lu*",
	"many>2",
	"many=-0.125",
	"many=*",
	"service.name=red",
	"service=red",
	"service=shop",
	"service=s*",
	"app=shop",
	"host=node-1",
	"env=prod",
	"type=http",
	"type=s*",
	"red",
	"dark*",
	"*ed",
	"shop",
	"Main.run",
	"com.example",
	"explode",
	"Main.java",
	"colour",
	"sonde.ns",
	"sonde",
	"\"no such order\"",
	"blue",
	"http",
	"method=run",
	"method=Main.run",
	"method=com.example.Dao.*",
	"method=find*",
	"method=*All",
	"method=\"GET /orders\"",
	"method=\"void com.example.Main.run(int)\"",
	"method=void*",
	"exception=IOException",
	"exception=java.io.IOException",
	"exception=boom",
	"exception~order",
	"exception=IO*",
	"exception=*",
	"exception=Exception",
	"duration>5ms",
	"duration<=4ms",
	"errors>0",
	"errors=1",
	"calls>3",
	"records<4",
	"span=00000000000000a5",
	"trace=00*",
};

static void check_store(struct zts_base *base)
{
	const size_t count = sizeof(conditions) / sizeof(conditions[0]);
	uint64_t random = 7;

	compare_with_looking(base, "", false);
	for (size_t i = 0; i < count; i++) {
		compare_with_looking(base, conditions[i], false);
		compare_with_looking(base, conditions[i], true);
	}
	for (size_t i = 0; i < 300; i++) {
		static const char *const joints[] = { "and", "or", "and not", "or not" };
		char expression[512];

		snprintf(expression, sizeof(expression), "%s(%s %s %s) %s %s",
			 next_random(&random, 2) ? "not " : "",
			 conditions[next_random(&random, (uint32_t)count)],
			 joints[next_random(&random, 4)],
			 conditions[next_random(&random, (uint32_t)count)],
			 joints[next_random(&random, 4)],
			 conditions[next_random(&random, (uint32_t)count)]);
		compare_with_looking(base, expression, i % 2);
	}
}

static void test_indexes_tell_the_truth(void **state)
{
	struct zts_base *base = open_store(scratch_path("store"));

	(void)state;
	assert_int_equal(base->parts.count, PARTS);
	check_store(base);
	zts_base_free(base);
}

/* Each condition is met by some trace and not by all, but for those that say so. */
static void test_conditions_say_something(void **state)
{
	static const char *const empty[] = { "colour=nothing",	   "absent=1", "env=prod",
					     "sonde.ns",	   "sonde",    "method=void*",
					     "exception=Exception" };
	struct zts_base *base = open_store(scratch_path("store"));

	(void)state;
	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
		struct sonde_query query = { 0 };
		struct sonde_search_request request = { .query = &query };
		struct sonde_search_result result;
		bool is_empty = false;

		for (size_t j = 0; j < sizeof(empty) / sizeof(empty[0]); j++)
			is_empty = is_empty || !strcmp(empty[j], conditions[i]);
		assert_int_equal(sonde_query_parse(&query, conditions[i], NULL), SONDE_OK);
		assert_int_equal(sonde_store_search(base, &request, &result, NULL), SONDE_OK);
		if (!result.hits.count != is_empty)
			fail_msg("%s: %zu hits", conditions[i], result.hits.count);
		sonde_search_result_release(&result);
		sonde_query_release(&query);
	}
	zts_base_free(base);
}

static uint64_t key_of(const struct sonde_search_hit *hit, enum sonde_search_sort sort)
{
	struct sonde_trace_totals totals = sonde_trace_totals(hit->part, hit->slot);

	switch (sort) {
	case SONDE_SORT_TIME:
		return hit->start_ns;
	case SONDE_SORT_DURATION:
		return hit->duration_ns;
	case SONDE_SORT_CALLS:
		return totals.calls;
	case SONDE_SORT_ERRORS:
		return totals.errors;
	default:
		return totals.records;
	}
}

static void search(struct zts_base *base, const struct sonde_search_request *request,
		   struct sonde_search_result *result)
{
	struct sonde_error err = { 0 };

	if (sonde_store_search(base, request, result, &err) != SONDE_OK)
		fail_msg("%s", err.message);
}

static void assert_same_hit(const struct sonde_search_hit *a, const struct sonde_search_hit *b)
{
	assert_ptr_equal(a->part, b->part);
	assert_int_equal(a->slot, b->slot);
	assert_int_equal(a->start_ns, b->start_ns);
}

/* Pages by offset and by cursor are pieces of the whole list. */
static void check_pages(struct zts_base *base, const struct sonde_search_request *whole,
			const struct sonde_search_result *all)
{
	struct sonde_search_request request = *whole;
	struct sonde_search_result page, next;
	char cursor[64] = "";

	request.limit = 7;
	for (size_t i = 0; i < all->hits.count; i += 7) {
		size_t left = all->hits.count - i < 7 ? all->hits.count - i : 7;

		request.offset = i;
		request.cursor = NULL;
		search(base, &request, &page);
		request.offset = 0;
		request.cursor = *cursor ? cursor : NULL;
		search(base, &request, &next);
		assert_int_equal(page.hits.count, left);
		assert_int_equal(next.hits.count, left);
		assert_int_equal(page.has_more, i + left < all->hits.count);
		for (size_t j = 0; j < left; j++) {
			assert_same_hit(&page.hits.items[j], &all->hits.items[i + j]);
			assert_same_hit(&next.hits.items[j], &all->hits.items[i + j]);
		}
		assert_int_equal(next.has_more, next.cursor.size > 0);
		snprintf(cursor, sizeof(cursor), "%.*s", (int)next.cursor.size,
			 next.cursor.size ? next.cursor.data : "");
		sonde_search_result_release(&page);
		sonde_search_result_release(&next);
	}
}

static void check_orders(struct zts_base *base)
{
	struct sonde_query query = { 0 };

	for (unsigned int i = 0; i <= SONDE_SORT_RECORDS * 2 + 1; i++) {
		struct sonde_search_request request = { .query = &query,
							.sort = (enum sonde_search_sort)(i / 2),
							.ascending = i % 2 };
		struct sonde_search_result all;
		size_t traces = 0;

		for (size_t part = 0; part < base->parts.count; part++)
			for (uint32_t j = 0; j < base->parts.items[part]->slots.list.count; j++)
				traces += zts_part_is_trace(base->parts.items[part], j);
		search(base, &request, &all);
		assert_int_equal(all.hits.count, traces);
		assert_false(all.has_more);
		for (size_t j = 1; j < all.hits.count; j++) {
			uint64_t before = key_of(&all.hits.items[j - 1], request.sort);
			uint64_t key = key_of(&all.hits.items[j], request.sort);

			assert_true(request.ascending ? before <= key : before >= key);
		}
		check_pages(base, &request, &all);
		sonde_search_result_release(&all);
	}
}

static void test_orders_and_pages(void **state)
{
	struct zts_base *base = open_store(scratch_path("store"));

	(void)state;
	check_orders(base);
	zts_base_free(base);
}

/* Traces that come in meanwhile do not move what a cursor goes on with. */
static void test_cursor_survives_new_traces(void **state)
{
	struct sonde_query query = { 0 };
	struct sonde_search_request request = { .query = &query, .limit = 5 };
	struct sonde_search_result first, before, after;
	struct zts_base *base;
	char cursor[64];
	char folder[200];

	(void)state;
	search_make_store(scratch_path("growing"), 1, 30, 11);
	base = open_store(scratch_path("growing"));
	search(base, &request, &first);
	snprintf(cursor, sizeof(cursor), "%.*s", (int)first.cursor.size, first.cursor.data);
	request.cursor = cursor;
	search(base, &request, &before);
	snprintf(folder, sizeof(folder), "%s/000000", scratch_path("growing"));
	search_add_traces(folder, 10, 3);
	assert_int_equal(zts_base_refresh(base, NULL), SONDE_OK);
	search(base, &request, &after);
	assert_int_equal(after.hits.count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(after.hits.items[i].slot, before.hits.items[i].slot);
	request.cursor = NULL;
	sonde_search_result_release(&first);
	search(base, &request, &first);
	assert_true(first.hits.items[0].slot >= 30);
	sonde_search_result_release(&first);
	sonde_search_result_release(&before);
	sonde_search_result_release(&after);
	zts_base_free(base);
}

/* What searches keep of a part goes with it: new traces are found, by all that is kept. */
static void test_new_traces_are_found(void **state)
{
	struct sonde_query query = { 0 };
	struct sonde_search_request request = { .query = &query };
	struct sonde_search_result before, after;
	struct zts_base *base;
	const struct zts_part *part;
	char folder[200];

	(void)state;
	search_make_store(scratch_path("kept"), 1, 30, 11);
	base = open_store(scratch_path("kept"));
	part = base->parts.items[0];
	search(base, &request, &before);
	snprintf(folder, sizeof(folder), "%s/000000", scratch_path("kept"));
	search_add_traces(folder, 10, 3);
	assert_int_equal(zts_base_refresh(base, NULL), SONDE_OK);
	assert_ptr_equal(base->parts.items[0], part); /* else nothing is shown by this */
	search(base, &request, &after);
	assert_true(after.hits.count >= before.hits.count + 10);
	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
		compare_with_looking(base, conditions[i], false);
	check_orders(base);
	sonde_search_result_release(&before);
	sonde_search_result_release(&after);
	zts_base_free(base);
}

static void test_bad_cursors(void **state)
{
	static const char *const bad[] = {
		"",	     "x", "d0-zz-0-0", "d1-00000000000000ff-0-0", "a0-00000000000000ff-0-0",
		"d0-ff-0-0x"
	};
	struct zts_base *base = open_store(scratch_path("store"));
	struct sonde_query query = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sonde_search_request request = { .query = &query, .cursor = bad[i] };
		struct sonde_search_result result;

		assert_int_equal(sonde_store_search(base, &request, &result, NULL), SONDE_ARGUMENT);
	}
	zts_base_free(base);
}

/* Real stores, of other programs: times in seconds, no names. */
static void test_real_stores(void **state)
{
	static const char *const stores[] = { "hand-v1-minimal", "v1-small-0x11",
					      "v1-small-archived", "v1-small-chunked",
					      "v2-small-0x11" };
	static const char *const more[] = {
		"URI=/login",
		"URI=/api/*",
		"ROWS>500",
		"ROWS=425",
		"SQL~audit",
		"login",
		"Gen.boom",
		"ctl~zero",
		"empty=\"\"",
		"nul=null",
		"neg<0",
		"neg=*",
		"component=http",
		"exception=NullPointerException",
		"duration>50ms",
		"type=5",
		"method=java.util.*",
	};

	(void)state;
	if (!getenv("SONDE_CORPUS"))
		return;
	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		char path[512];
		struct zts_base *base;

		snprintf(path, sizeof(path), "%s/zts/%s", getenv("SONDE_CORPUS"), stores[i]);
		base = open_store(path);
		for (size_t j = 0; j < sizeof(more) / sizeof(more[0]); j++) {
			compare_with_looking(base, more[j], false);
			compare_with_looking(base, more[j], true);
		}
		check_orders(base);
		zts_base_free(base);
	}
}

static int setup(void **state)
{
	int failed = make_scratch(state);

	if (!failed)
		search_make_store(scratch_path("store"), PARTS, TRACES, 1);
	return failed;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_indexes_tell_the_truth),
		cmocka_unit_test(test_conditions_say_something),
		cmocka_unit_test(test_orders_and_pages),
		cmocka_unit_test(test_cursor_survives_new_traces),
		cmocka_unit_test(test_new_traces_are_found),
		cmocka_unit_test(test_bad_cursors),
		cmocka_unit_test(test_real_stores),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, remove_scratch);
}
