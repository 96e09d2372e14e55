/* SPDX-License-Identifier: Apache-2.0 */
/* The sketch; statistics and values against counting by hand; trees joined by spans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../random.h"
#include "formats/zts/zts_writer.h"
#include "scratch.h"
#include "search_fixture.h"
#include "store/groups.h"
#include "store/join.h"

#define VALUES 20000

static int compare_values(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Of every size from 0 to 2^63. */
static uint64_t some_value(uint64_t *random)
{
	uint64_t value = (uint64_t)next_random(random, UINT32_MAX) << 32 |
			 next_random(random, UINT32_MAX);

	return value >> next_random(random, 64);
}

static void test_quantiles(void **state)
{
	static const double shares[] = { 0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1 };
	uint64_t *values = malloc(VALUES * sizeof(*values)), random = 5;
	struct sonde_sketch sketch = { 0 };

	(void)state;
	assert_non_null(values);
	assert_int_equal(sonde_sketch_quantile(&sketch, 0.5), 0);
	for (size_t i = 0; i < VALUES; i++) {
		values[i] = some_value(&random);
		assert_true(sonde_sketch_add(&sketch, values[i]));
	}
	qsort(values, VALUES, sizeof(*values), compare_values);
	assert_int_equal(sketch.count, VALUES);
	assert_int_equal(sketch.min, values[0]);
	assert_int_equal(sketch.max, values[VALUES - 1]);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		size_t rank = (size_t)(shares[i] * VALUES);
		double exact = (double)values[rank ? rank - 1 : 0];
		double found = (double)sonde_sketch_quantile(&sketch, shares[i]);

		if (found < exact * (1 - SONDE_SKETCH_ERROR) ||
		    found > exact * (1 + SONDE_SKETCH_ERROR))
			fail_msg("%g: %g, expected %g", shares[i], found, exact);
	}
	sonde_sketch_release(&sketch);
	free(values);
}

/* Small numbers are exact; extremes have a bucket. */
static void test_extremes(void **state)
{
	static const uint64_t values[] = { 0, 1, 63, 64, 127, 128, UINT64_MAX - 1, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct sonde_sketch sketch = { 0 };

		assert_true(sonde_sketch_add(&sketch, values[i]));
		assert_int_equal(sonde_sketch_quantile(&sketch, 0.5), values[i]);
		sonde_sketch_release(&sketch);
	}
	for (uint64_t i = 0; i < 128; i++) {
		struct sonde_sketch sketch = { 0 };

		assert_true(sonde_sketch_add(&sketch, i) && sonde_sketch_add(&sketch, 100000));
		assert_int_equal(sonde_sketch_quantile(&sketch, 0.5), i);
		sonde_sketch_release(&sketch);
	}
}

static void test_merge_is_the_whole(void **state)
{
	struct sonde_sketch whole = { 0 }, merged = { 0 }, pieces[5] = { { 0 } };
	uint64_t random = 6;

	(void)state;
	for (size_t i = 0; i < VALUES; i++) {
		uint64_t value = some_value(&random) >> (i % 3 * 10);

		assert_true(sonde_sketch_add(&whole, value));
		assert_true(sonde_sketch_add(&pieces[i % 4], value)); /* the last stays empty */
	}
	for (size_t i = 0; i < 5; i++)
		assert_true(sonde_sketch_merge(&merged, &pieces[i]));
	assert_int_equal(merged.count, whole.count);
	assert_int_equal(merged.min, whole.min);
	assert_int_equal(merged.max, whole.max);
	for (unsigned int i = 0; i <= 1000; i++)
		assert_int_equal(sonde_sketch_quantile(&merged, i / 1000.0),
				 sonde_sketch_quantile(&whole, i / 1000.0));
	for (size_t i = 0; i < 5; i++)
		sonde_sketch_release(&pieces[i]);
	sonde_sketch_release(&whole);
	sonde_sketch_release(&merged);
	/* the extremes may come from either side */
	assert_true(sonde_sketch_add(&whole, 500) && sonde_sketch_add(&merged, 300));
	assert_true(sonde_sketch_merge(&whole, &merged));
	assert_int_equal(whole.min, 300);
	assert_int_equal(whole.max, 500);
	sonde_sketch_release(&whole);
	sonde_sketch_release(&merged);
}

static struct zts_base *open_store(const char *path)
{
	struct zts_base *base;

	assert_int_equal(zts_base_open(path, NULL, &base, NULL), SONDE_OK);
	return base;
}

static const struct sonde_group *group_named(const struct sonde_groups *groups, const char *name)
{
	for (size_t i = 0; i < groups->list.count; i++)
		if (groups->list.items[i].name_size == strlen(name) &&
		    !memcmp(groups->list.items[i].name, name, strlen(name)))
			return &groups->list.items[i];
	return NULL;
}

/* How many traces a condition is true of. */
static size_t count_traces(struct zts_base *base, const char *condition)
{
	struct sonde_query query = { 0 };
	size_t count = 0;

	assert_int_equal(sonde_query_parse(&query, condition, NULL), SONDE_OK);
	for (size_t i = 0; i < base->parts.count; i++) {
		struct sonde_look look = { .part = base->parts.items[i] };

		for (uint32_t slot = 0; slot < look.part->slots.list.count; slot++) {
			bool matches = false;

			if (zts_part_is_trace(look.part, slot))
				assert_int_equal(search_look(&look, &query, slot, &matches, NULL),
						 SONDE_OK);
			count += matches;
		}
		sonde_look_release(&look);
	}
	sonde_query_release(&query);
	return count;
}

static void test_values(void **state)
{
	static const char *const values[] = { "red", "dark red", "blue", "500", "x.y" };
	struct zts_base *base = open_store(scratch_path("store"));
	struct sonde_query query = { 0 };
	struct sonde_groups groups;

	(void)state;
	assert_int_equal(sonde_values(base, &query, "colour", false, &groups, NULL), SONDE_OK);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char condition[64];
		const struct sonde_group *group = group_named(&groups, values[i]);

		snprintf(condition, sizeof(condition), "colour=\"%s\"", values[i]);
		assert_non_null(group);
		assert_int_equal(group->durations.count, count_traces(base, condition));
	}
	sonde_groups_release(&groups);
	assert_int_equal(sonde_values(base, &query, NULL, false, &groups, NULL), SONDE_OK);
	assert_int_equal(groups.list.count, 5);
	assert_int_equal(group_named(&groups, "STATUS")->durations.count,
			 count_traces(base, "STATUS=*"));
	assert_int_equal(group_named(&groups, "many")->durations.count,
			 count_traces(base, "many=*"));
	assert_null(group_named(&groups, ZTS_NS_ATTRIBUTE));
	for (size_t i = 1; i < groups.list.count; i++)
		assert_true(groups.list.items[i - 1].durations.count >=
			    groups.list.items[i].durations.count);
	sonde_groups_release(&groups);
	assert_int_equal(sonde_query_parse(&query, "STATUS=500", NULL), SONDE_OK);
	assert_int_equal(sonde_values(base, &query, "colour", false, &groups, NULL), SONDE_OK);
	assert_int_equal(group_named(&groups, "red")->durations.count,
			 count_traces(base, "colour=red STATUS=500"));
	sonde_groups_release(&groups);
	sonde_query_release(&query);
	zts_base_free(base);
}

/* Every record of the store once: those of traces in traces belong to the outer one. */
static size_t count_records(struct zts_base *base, uint64_t *sum_ns)
{
	size_t count = 0;

	for (size_t i = 0; i < base->parts.count; i++) {
		struct zts_part *part = base->parts.items[i];
		struct zts_loaded loaded = { 0 };

		for (uint32_t slot = 0; slot < part->slots.list.count; slot++) {
			uint32_t records;

			if (part->slots.list.items[slot].start_offset)
				continue;
			assert_int_equal(zts_part_load(part, slot, &loaded, NULL), SONDE_OK);
			records = loaded.tree.records.items[loaded.root].records;
			count += records;
			for (uint32_t j = 0; j < records; j++) {
				uint64_t start_ns, duration_ns;

				zts_loaded_times(part, &loaded, loaded.root + j, &start_ns,
						 &duration_ns);
				*sum_ns += duration_ns;
			}
		}
		zts_loaded_release(&loaded);
	}
	return count;
}

static void test_stats(void **state)
{
	struct zts_base *base = open_store(scratch_path("store"));
	struct sonde_query query = { 0 };
	struct sonde_stats_request request = { .query = &query };
	struct sonde_groups groups;
	uint64_t sum_ns = 0, found = 0;
	size_t records = count_records(base, &sum_ns);
	double found_ns = 0;

	(void)state;
	assert_int_equal(sonde_stats(base, &request, &groups, NULL), SONDE_OK);
	for (size_t i = 0; i < groups.list.count; i++) {
		found += groups.list.items[i].durations.count;
		found_ns += groups.list.items[i].durations.sum;
	}
	assert_int_equal(found, records);
	assert_true(found_ns == (double)sum_ns);
	sonde_groups_release(&groups);

	request.by = SONDE_STATS_SERVICE;
	request.every_ns = 10000000;
	assert_int_equal(sonde_stats(base, &request, &groups, NULL), SONDE_OK);
	found = 0;
	for (size_t i = 0; i < groups.list.count; i++) {
		assert_int_equal(groups.list.items[i].time_ns % request.every_ns, 0);
		found += groups.list.items[i].durations.count;
		if (i)
			assert_true(groups.list.items[i].time_ns >=
				    groups.list.items[i - 1].time_ns);
	}
	assert_int_equal(found, count_traces(base, "records>0"));
	sonde_groups_release(&groups);

	request.every_ns = 0;
	request.by = SONDE_STATS_TYPE;
	assert_int_equal(sonde_stats(base, &request, &groups, NULL), SONDE_OK);
	assert_int_equal(group_named(&groups, "http")->durations.count,
			 count_traces(base, "type=http"));
	assert_int_equal(group_named(&groups, "http")->errors,
			 count_traces(base, "type=http errors>0"));
	sonde_groups_release(&groups);
	zts_base_free(base);
}

/* A tree of one record with spans, of a distributed trace. */
static void put_tree(struct zts_writer *writer, const char *name, uint64_t number, uint64_t parent,
		     uint64_t span)
{
	static const char uuid[] = "0af76519-16cd-43dd-8448-eb211c80319c";
	struct zts_trace_head head = { .uuid = { 77, number } };
	struct zts_record_head record = { .start = UINT64_C(1700000000000000000) + number * 1000,
					  .begins_trace = true,
					  .span = span,
					  .parent = parent };

	head.dtrace_uuid = zts_writer_text(writer, ZTS_TEXT_UUID, uuid, strlen(uuid));
	record.method = zts_writer_method(
		writer, 0, zts_writer_text(writer, ZTS_TEXT_METHOD_NAME, name, strlen(name)), 0);
	zts_writer_begin_trace(writer, &head);
	zts_writer_begin_record(writer, &record);
	record.begins_trace = false;
	record.parent = span;
	record.span = span + 100;
	zts_writer_begin_record(writer, &record);
	zts_writer_end_record(writer, record.start + 500, 0, 0, 0);
	zts_writer_end_record(writer, record.start + 900, 0, 0, 0);
	assert_int_equal(zts_writer_end_trace(writer, NULL), SONDE_OK);
}

static void make_distributed(const char *base)
{
	struct zts_writer_options options = { .codec = SONDE_CODEC_NONE };
	struct zts_writer *writer;
	char folder[256];

	assert_int_equal(mkdir(base, 0777), 0);
	for (unsigned int i = 0; i < 2; i++) {
		snprintf(folder, sizeof(folder), "%s/%06x", base, i);
		assert_int_equal(zts_writer_create(folder, &options, &writer, NULL), SONDE_OK);
		if (i) {
			put_tree(writer, "root", 1, 0, 10);
			put_tree(writer, "second", 3, 110, 30);
			put_tree(writer, "lost", 9, 999, 90);
		} else {
			put_tree(writer, "first", 2, 110, 20);
			put_tree(writer, "below", 4, 30, 40);
			/* two that hang under each other */
			put_tree(writer, "circle a", 5, 160, 50);
			put_tree(writer, "circle b", 6, 50, 60);
		}
		assert_int_equal(zts_writer_close(writer, NULL), SONDE_OK);
	}
}

static void test_joined(void **state)
{
	static const struct {
		const char *name;
		uint32_t depth;
	} expected[] = { { "root", 0 },	    { "root", 1 },     { "first", 2 },	  { "first", 3 },
			 { "second", 2 },   { "second", 3 },   { "below", 3 },	  { "below", 4 },
			 { "circle b", 0 }, { "circle b", 1 }, { "circle a", 2 }, { "circle a", 3 },
			 { "lost", 0 },	    { "lost", 1 } };
	struct zts_base *base;
	struct sonde_places places = { 0 };
	struct sonde_joined joined;
	struct sonde_buffer name = { 0 };

	(void)state;
	make_distributed(scratch_path("distributed"));
	base = open_store(scratch_path("distributed"));
	assert_int_equal(sonde_places_find(base, "0AF7651916cd43dd8448eb211c80319c", &places, NULL),
			 SONDE_OK);
	assert_int_equal(places.list.count, 7);
	assert_int_equal(sonde_joined_make(&joined, places.list.items, places.list.count, NULL),
			 SONDE_OK);
	assert_int_equal(joined.order.count, sizeof(expected) / sizeof(expected[0]));
	for (size_t i = 0; i < joined.order.count; i++) {
		const struct sonde_joined_record *shown = &joined.order.items[i];

		sonde_buffer_clear(&name);
		zts_texts_put_name(joined.trees.items[shown->tree].place.part->texts,
				   sonde_joined_record(&joined, shown)->method, &name);
		assert_string_equal(sonde_buffer_text(&name), expected[i].name);
		assert_int_equal(shown->depth, expected[i].depth);
	}
	sonde_buffer_release(&name);
	sonde_joined_release(&joined);
	sonde_vec_release(&places.list);
	zts_base_free(base);
}

static int setup(void **state)
{
	int failed = make_scratch(state);

	if (!failed)
		search_make_store(scratch_path("store"), 3, 50, 2);
	return failed;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_merge_is_the_whole),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_stats),
		cmocka_unit_test(test_joined),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, remove_scratch);
}
