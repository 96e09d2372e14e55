/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores made by hand: opened whole and with every kind of damage, and chunked traces joined. What
 * writers do meanwhile is in test_zts_refresh.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/zts/zts_store.h"
#include "scratch.h"
#include "zts_small_store.h"

static void test_a_whole_store(void **state)
{
	(void)state;
	make_part();
	made.props = "store.iflags=1\nsonde.names=1\n";
	write_part("000003");
	open_store(scratch_path("store"));
	assert_int_equal(only_part()->number, 3);
	assert_int_equal(only_part()->generation, 1);
	assert_true(only_part()->has_names);
	assert_false(only_part()->is_rebuilt);
	assert_int_equal(only_part()->slots.list.count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_true(zts_part_is_trace(only_part(), i));
		assert_loads(only_part(), i, 2);
	}
	assert_false(zts_part_is_trace(only_part(), 3));
	assert_null(only_part()->next_chunk);
	assert_null(sonde_diagnostics_at(found, 0));
	close_store();
}

static void test_a_single_part(void **state)
{
	(void)state;
	make_part();
	open_store(write_part("00000a"));
	assert_int_equal(only_part()->number, 10);
	assert_int_equal(only_part()->slots.list.count, 3);
	close_store();
}

static void test_folders_that_are_no_store(void **state)
{
	struct sonde_error err = { 0 };

	(void)state;
	assert_int_equal(zts_base_open(scratch_path("nothing"), NULL, &base, &err), SONDE_IO);
	mkdir(scratch_path("store"), 0777);
	assert_int_equal(zts_base_open(scratch_path("store"), NULL, &base, &err), SONDE_FORMAT);
	assert_true(strstr(err.message, "trace store"));
	put_file(scratch_path("store/sonde.lock"), "");
	open_store(scratch_path("store"));
	assert_int_equal(base->parts.count, 0);
	close_store();
}

static void test_numbers_and_foreign_files(void **state)
{
	(void)state;
	make_part();
	write_part("000001");
	write_part("000002");
	write_part("00000f");
	mkdir(scratch_path("store/00000G"), 0777);
	open_store(scratch_path("store"));
	assert_int_equal(base->parts.count, 3);
	assert_int_equal(base->parts.items[2]->number, 15);
	assert_true(has_found("zts-numbering"));
	assert_true(has_found("zts-foreign"));
	close_store();
}

/* A part that cannot be opened does not keep the others from being read. */
static void test_a_part_without_data(void **state)
{
	(void)state;
	make_part();
	write_part("000001");
	write_part("000002");
	unlink(scratch_path("store/000001/traces.dat"));
	open_store(scratch_path("store"));
	assert_int_equal(only_part()->number, 2);
	assert_true(has_found("zts-data-missing"));
	assert_true(has_found("zts-refused"));
	close_store();
}

/* What was made anew must be as good as what was lost; UUIDs are kept where the slots are left. */
static void assert_rebuilt(bool keeps_uuid)
{
	struct zts_part *part = only_part();
	struct zts_set ids = { 0 }, slots = { 0 };

	assert_true(part->is_rebuilt);
	assert_int_equal(part->slots.list.count, 3);
	assert_true(zts_set_init(&ids, 64) && zts_set_init(&slots, 64));
	zts_set_add(&ids, PAIR);
	assert_int_equal(zts_texts_postings(part->meta, &ids, true, &slots, NULL), SONDE_OK);
	assert_int_equal(zts_set_count(&slots), 3);
	zts_set_release(&slots);
	assert_true(zts_set_init(&slots, 64));
	zts_set_release(&ids);
	assert_true(zts_set_init(&ids, 64));
	zts_set_add(&ids, NUMBER_PAIR); /* of the inner record: not in the shallow lines */
	assert_int_equal(zts_texts_postings(part->meta, &ids, false, &slots, NULL), SONDE_OK);
	assert_int_equal(zts_set_count(&slots), 0);
	assert_int_equal(zts_texts_postings(part->meta, &ids, true, &slots, NULL), SONDE_OK);
	assert_int_equal(zts_set_count(&slots), 3);
	zts_set_release(&ids);
	zts_set_release(&slots);
	for (uint32_t i = 0; i < 3; i++) {
		const struct zts_slot *slot = &part->slots.list.items[i];

		assert_loads(part, i, 2);
		assert_int_equal(slot->records, 2);
		assert_int_equal(slot->calls, 2);
		assert_int_equal(slot->start_ns, (TIME_MS + i) * 1000000);
		assert_int_equal(slot->duration_ns, 100 * 65536);
		assert_int_equal(slot->uuid[0] == 100 + i, keeps_uuid);
		assert_int_equal(slot->app == 7, keeps_uuid);
		assert_true(slot->uuid[0] && slot->uuid[1]);
		assert_int_equal(slot->description, keeps_uuid ? OTHER : METHOD);
	}
}

static void test_missing_metadata(void **state)
{
	(void)state;
	make_part();
	write_part("000001");
	unlink(scratch_path("store/000001/qmeta.idx"));
	open_store(scratch_path("store"));
	assert_true(has_found("zts-meta-missing"));
	assert_rebuilt(false);
	close_store();

	make_part();
	write_part("000001");
	unlink(scratch_path("store/000001/meta-00000001.wal"));
	open_store(scratch_path("store"));
	assert_true(has_found("zts-meta-missing"));
	assert_rebuilt(true);
	close_store();
}

static void test_damaged_metadata(void **state)
{
	static const struct {
		long offset;
		uint8_t byte;
		const char *finding;
		bool keeps_uuid;
	} damages[] = {
		{ 0, 'X', "zts-qmeta", false },		    /* magic */
		{ 4, 0x7f, "zts-qmeta", true },		    /* an end far beyond the file */
		{ 7, 0x61, "zts-qmeta", true },		    /* an end within a slot */
		{ 64 + 17, 0x01, "zts-slot-place", true },  /* another chunk number: still good */
		{ 64 + 18, 0x7f, "zts-slot-place", false }, /* an offset beyond the data */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		make_part();
		write_part("000001");
		patch_qmeta(damages[i].offset, damages[i].byte);
		open_store(scratch_path("store"));
		if (damages[i].offset == 64 + 17) {
			assert_false(only_part()->is_rebuilt);
		} else if (damages[i].offset == 64 + 18) {
			/* only the slot that points nowhere loses what it knew */
			assert_true(only_part()->is_rebuilt);
			assert_true(has_found(damages[i].finding));
			assert_int_not_equal(only_part()->slots.list.items[0].uuid[0], 100);
			assert_int_equal(only_part()->slots.list.items[1].uuid[0], 101);
		} else {
			assert_true(has_found(damages[i].finding));
			assert_rebuilt(damages[i].keeps_uuid);
		}
		close_store();
	}
}

/* With the list of traces lost too, damage in the data costs only what is damaged. */
static void test_damaged_data(void **state)
{
	(void)state;
	for (size_t at = 0; at < 4; at++) {
		static const char *const findings[] = { "zts-chunk-magic", "zts-chunk-crc",
							"zts-chunk-cut", "zts-chunk-magic" };
		uint64_t second;

		make_part();
		second = made.slots.items[1].data_offset;
		if (at == 0)
			made.data.data[second] = 'X';
		else if (at == 1)
			made.data.data[second + 20] ^= 1;
		else if (at == 2)
			made.data.data[second + 5] = 0x7f; /* a size beyond the file */
		else
			memset(made.data.data + second, 0, 40);
		write_part("000001");
		unlink(scratch_path("store/000001/qmeta.idx"));
		open_store(scratch_path("store"));
		if (!has_found(findings[at]))
			fail_msg("%s was not found", findings[at]);
		assert_int_equal(only_part()->slots.list.count, 2);
		assert_loads(only_part(), 0, 2);
		assert_loads(only_part(), 1, 2);
		close_store();
	}
}

static void test_data_that_is_cut(void **state)
{
	(void)state;
	make_part();
	made.data.size -= 5;
	write_part("000001");
	unlink(scratch_path("store/000001/qmeta.idx"));
	open_store(scratch_path("store"));
	assert_true(has_found("zts-chunk-cut"));
	assert_int_equal(only_part()->slots.list.count, 2);
	close_store();
}

static void test_a_slot_that_points_to_garbage(void **state)
{
	struct zts_loaded loaded = { 0 };
	struct sonde_error err = { 0 };

	(void)state;
	make_part();
	made.slots.items[1].data_offset += 3;
	made.slots.items[2].start_offset = 7;
	write_part("000001");
	open_store(scratch_path("store"));
	assert_int_equal(zts_part_load(only_part(), 1, &loaded, &err), SONDE_CORRUPT);
	assert_true(strstr(err.message, "slot 1"));
	assert_int_equal(loaded.root, SONDE_NONE);
	assert_int_equal(zts_part_load(only_part(), 2, &loaded, &err), SONDE_CORRUPT);
	assert_true(strstr(err.message, "slot 2"));
	assert_int_equal(zts_part_load(only_part(), 99, &loaded, &err), SONDE_ARGUMENT);
	/* the memory is good for the next one all the same */
	assert_int_equal(zts_part_load(only_part(), 0, &loaded, &err), SONDE_OK);
	assert_int_equal(loaded.tree.records.items[loaded.root].records, 2);
	zts_loaded_release(&loaded);
	close_store();
}

/* A chunk is decoded once for all its traces, but never taken for that of another part. */
static void test_loaded_memory_and_other_parts(void **state)
{
	struct zts_loaded loaded = { 0 };
	struct sonde_error err = { 0 };

	(void)state;
	make_part();
	write_part("000001");
	made_release(&made);
	make_texts();
	/* as many slots, the first one at the same offset */
	for (uint64_t i = 0; i < 3; i++) {
		made_begin(&made, METHOD, 1);
		made_timestamp(&made, TIME_MS, 5);
		made_end(&made, 2, 1, 0);
		made_slot(&made, made_chunk(&made), 0, WHOLE, i, OTHER);
	}
	write_part("000002");
	open_store(scratch_path("store"));
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(zts_part_load(base->parts.items[i % 2], 0, &loaded, &err),
				 SONDE_OK);
		assert_int_equal(loaded.tree.records.items[loaded.root].records, i % 2 ? 1 : 2);
	}
	zts_loaded_release(&loaded);
	close_store();
}

static void make_chunked_part(void)
{
	uint64_t first, second, third, between;
	uint32_t inner;

	made_release(&made);
	make_texts();
	made_begin(&made, METHOD, 100);
	made_timestamp(&made, TIME_MS, 5);
	made_string_attribute(&made, KEY, VALUE);
	made_begin(&made, METHOD, 110);
	first = made_chunk(&made);
	made_end(&made, 120, 1, 0);
	inner = (uint32_t)made.content.size;
	made_begin(&made, METHOD, 120);
	made_timestamp(&made, TIME_MS + 1, 5);
	second = made_chunk(&made);
	between = make_trace(TIME_MS + 7);
	made_number_attribute(&made, NUMBER_KEY, 200);
	made_end(&made, 150, 1, 0);
	made_end(&made, 200, 4, 0);
	third = made_chunk(&made);
	made_slot(&made, first, 0, 0x30, 55, OTHER);
	made_slot(&made, second, 0, 0x10, 55, OTHER);
	made_slot(&made, second, inner, 0x70, 66, OTHER)->chunk_number = 1;
	made_slot(&made, between, 0, WHOLE, 77, OTHER);
	made_slot(&made, third, 0, 0x50, 55, OTHER);
}

static void assert_chunked(struct zts_part *part)
{
	struct zts_loaded loaded = { 0 };
	struct sonde_error err = { 0 };
	uint32_t traces = 0, first = SONDE_NONE, inner = SONDE_NONE;

	for (uint32_t i = 0; i < part->slots.list.count; i++) {
		const struct zts_slot *slot = &part->slots.list.items[i];

		traces += zts_part_is_trace(part, i);
		if (slot->flags == 0x30)
			first = i;
		if (slot->flags == 0x70)
			inner = i;
	}
	assert_int_equal(traces, 3);
	assert_int_not_equal(first, SONDE_NONE);
	assert_int_not_equal(inner, SONDE_NONE);
	assert_int_equal(zts_part_load(part, first, &loaded, &err), SONDE_OK);
	assert_int_equal(loaded.chunks, 3);
	assert_int_equal(loaded.root, 0);
	assert_int_equal(loaded.tree.records.items[0].records, 3);
	assert_int_equal(loaded.tree.open, 0);
	assert_int_equal(zts_part_load(part, inner, &loaded, &err), SONDE_OK);
	assert_int_equal(loaded.root, 2);
	assert_int_equal(loaded.tree.records.items[2].records, 1);
	/* a later chunk's slot gives the same trace */
	assert_int_equal(part->first_chunk[part->next_chunk[first]], first);
	assert_int_equal(zts_part_load(part, part->next_chunk[first], &loaded, &err), SONDE_OK);
	assert_int_equal(loaded.root, 0);
	zts_loaded_release(&loaded);
}

static void test_chunked_traces(void **state)
{
	(void)state;
	make_chunked_part();
	write_part("000001");
	open_store(scratch_path("store"));
	assert_false(only_part()->is_rebuilt);
	assert_chunked(only_part());
	close_store();
}

static void test_chunked_traces_rebuilt(void **state)
{
	const struct zts_slot *last;

	(void)state;
	make_chunked_part();
	write_part("000001");
	unlink(scratch_path("store/000001/qmeta.idx"));
	open_store(scratch_path("store"));
	assert_int_equal(only_part()->slots.list.count, 5);
	assert_chunked(only_part());
	for (size_t i = 0; i < 5; i++) {
		last = &only_part()->slots.list.items[i];
		if (last->flags != 0x50)
			continue;
		assert_int_equal(last->records, 4); /* the inner trace counts twice */
		assert_int_equal(last->calls, 4);
	}
	assert_false(has_found("zts-trace-open"));
	close_store();
}

/* A trace that never ends does not take those behind it along. */
static void test_open_trace_rebuilt(void **state)
{
	(void)state;
	made_release(&made);
	make_texts();
	made_begin(&made, METHOD, 100);
	made_timestamp(&made, TIME_MS, 5);
	made_begin(&made, METHOD, 110);
	made_chunk(&made);
	make_trace(TIME_MS + 1);
	made_begin(&made, METHOD, 100);
	made_timestamp(&made, TIME_MS + 2, 5);
	made_chunk(&made);
	write_part("000001");
	unlink(scratch_path("store/000001/qmeta.idx"));
	open_store(scratch_path("store"));
	assert_true(has_found("zts-trace-open"));
	assert_int_equal(only_part()->slots.list.count, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(zts_part_is_trace(only_part(), i));
	close_store();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_whole_store),
		cmocka_unit_test(test_a_single_part),
		cmocka_unit_test(test_folders_that_are_no_store),
		cmocka_unit_test(test_numbers_and_foreign_files),
		cmocka_unit_test(test_a_part_without_data),
		cmocka_unit_test(test_missing_metadata),
		cmocka_unit_test(test_damaged_metadata),
		cmocka_unit_test(test_damaged_data),
		cmocka_unit_test(test_data_that_is_cut),
		cmocka_unit_test(test_a_slot_that_points_to_garbage),
		cmocka_unit_test(test_loaded_memory_and_other_parts),
		cmocka_unit_test(test_chunked_traces),
		cmocka_unit_test(test_chunked_traces_rebuilt),
		cmocka_unit_test(test_open_trace_rebuilt),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
