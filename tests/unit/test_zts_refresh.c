/* SPDX-License-Identifier: Apache-2.0 */
/* Stores that change while they are open, and the times of what is in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#include "formats/zts/zts_fmi.h"
#include "scratch.h"
#include "zts_small_store.h"

static void refresh(void)
{
	struct sonde_error err = { 0 };

	if (zts_base_refresh(base, &err) != SONDE_OK)
		fail_msg("%s (%s)", err.message, err.cause);
}

static void test_a_writer_at_work(void **state)
{
	struct zts_part *part;

	(void)state;
	make_part();
	write_part("000001");
	open_store(scratch_path("store"));
	part = only_part();
	refresh();
	assert_ptr_equal(only_part(), part);
	/* a trace with a text that was not there before */
	made_slot(&made, make_trace(TIME_MS + 9), 0, WHOLE, 200, made_text(&made, "new"));
	write_part("000001");
	refresh();
	assert_int_equal(only_part()->slots.list.count, 4);
	assert_int_equal(zts_texts_end(only_part()->texts), OTHER + 2);
	assert_loads(only_part(), 3, 2);
	/* the next part, and the first one removed */
	write_part("000002");
	refresh();
	assert_int_equal(base->parts.count, 2);
	remove_tree(scratch_path("store/000001"));
	refresh();
	assert_int_equal(only_part()->number, 2);
	assert_int_equal(only_part()->slots.list.count, 4);
	close_store();
}

/* A part whose metadata came later, and one that went bad. */
static void test_refresh_of_a_rebuilt_part(void **state)
{
	(void)state;
	make_part();
	write_part("000001");
	unlink(scratch_path("store/000001/qmeta.idx"));
	open_store(scratch_path("store"));
	assert_true(only_part()->is_rebuilt);
	write_part("000001");
	refresh();
	assert_false(only_part()->is_rebuilt);
	assert_int_equal(only_part()->slots.list.items[0].uuid[0], 100);
	patch_qmeta(0, 'X');
	refresh();
	assert_true(only_part()->is_rebuilt);
	make_trace(TIME_MS + 9);
	write_part("000001");
	patch_qmeta(0, 'X');
	refresh();
	assert_int_equal(only_part()->slots.list.count, 4);
	close_store();
}

/* A new part of existing programs has no slot yet; with data in it the slots were lost. */
static void test_no_slot_was_written(void **state)
{
	uint8_t header[64];

	(void)state;
	make_part();
	zts_put_qmeta_header(header, 0, 0, 0);
	write_part("000001");
	put_bytes(scratch_path("store/000001/qmeta.idx"), header, sizeof(header));
	open_store(scratch_path("store"));
	assert_true(has_found("zts-qmeta"));
	assert_true(only_part()->is_rebuilt);
	assert_int_equal(only_part()->slots.list.count, 3);
	refresh();
	assert_true(only_part()->is_rebuilt);
	/* it was a writer at work: by now it has written them */
	write_part("000001");
	refresh();
	assert_false(only_part()->is_rebuilt);
	assert_int_equal(only_part()->slots.list.count, 3);
	close_store();

	make_part();
	made.data.size = ZTS_DATA_HEADER_SIZE;
	write_part("000001");
	put_bytes(scratch_path("store/000001/qmeta.idx"), header, sizeof(header));
	open_store(scratch_path("store"));
	assert_null(sonde_diagnostics_at(found, 0));
	assert_false(only_part()->is_rebuilt);
	close_store();
}

static void pack_wal(const char *wal_name, const struct sonde_buffer *wal, const char *fmi_name)
{
	struct zts_wal_bytes bytes = { .bytes = (const uint8_t *)wal->data, .size = wal->size };
	struct sonde_buffer fmi = { 0 };
	struct sonde_error err;

	assert_int_equal(zts_fmi_pack(&bytes, 1, &fmi, &err), SONDE_OK);
	put_bytes(scratch_path(fmi_name), fmi.data, fmi.size);
	unlink(scratch_path(wal_name));
	sonde_buffer_release(&fmi);
}

/* Archiving replaces the WALs by FMI files under an open store. */
static void test_archived_meanwhile(void **state)
{
	struct zts_set ids = { 0 }, slots = { 0 };

	(void)state;
	make_part();
	write_part("000001");
	open_store(scratch_path("store"));
	pack_wal("store/000001/text-00000001.wal", &made.texts,
		 "store/000001/text-00000001-0000000a.fmi");
	pack_wal("store/000001/meta-00000001.wal", &made.meta,
		 "store/000001/meta-00000001-00000006.fmi");
	put_file(scratch_path("store/000001/store.props"), "store.iflags=1\n");
	refresh();
	assert_false(only_part()->is_rebuilt);
	assert_int_equal(only_part()->slots.list.count, 3);
	assert_true(zts_set_init(&ids, 64) && zts_set_init(&slots, 64));
	zts_set_add(&ids, OTHER);
	assert_int_equal(zts_texts_postings(only_part()->meta, &ids, true, &slots, NULL), SONDE_OK);
	assert_int_equal(zts_set_count(&slots), 3);
	zts_set_release(&ids);
	zts_set_release(&slots);
	close_store();
	assert_int_equal(access(scratch_path("store"), F_OK), -1);
}

/* Ours: ns that ticks cannot say, for the first record counted from its TIMESTAMP. */
static void test_times_in_nanoseconds(void **state)
{
	struct zts_loaded loaded = { 0 };
	struct sonde_error err = { 0 };
	uint64_t start, duration, base_ns = TIME_MS * 1000000 + 999999;
	uint32_t key;

	(void)state;
	made_release(&made);
	make_texts();
	key = made_text(&made, ZTS_NS_ATTRIBUTE);
	made_begin(&made, METHOD, 100);
	made_timestamp(&made, TIME_MS, OTHER);
	made_number_attribute(&made, key, INT64_C(999999) << 16 | 5);
	made_begin(&made, METHOD, 110);
	made_number_attribute(&made, key, INT64_C(65535) << 16 | 1);
	made_end(&made, 150, 1, 0);
	made_begin(&made, METHOD, 160);
	made_end(&made, 170, 1, 0);
	made_end(&made, 200, 3, 0);
	made_chunk(&made);
	made.props = "sonde.names=1";
	write_part("000001");
	unlink(scratch_path("store/000001/qmeta.idx"));
	open_store(scratch_path("store"));
	assert_int_equal(zts_part_load(only_part(), 0, &loaded, &err), SONDE_OK);
	zts_loaded_times(only_part(), &loaded, 0, &start, &duration);
	assert_int_equal(start, base_ns);
	assert_int_equal(duration, 100 * 65536 + 5);
	zts_loaded_times(only_part(), &loaded, 1, &start, &duration);
	assert_int_equal(start, base_ns + 10 * 65536 + 65535);
	assert_int_equal(duration, 40 * 65536 + 1 - 65535);
	zts_loaded_times(only_part(), &loaded, 2, &start, &duration);
	assert_int_equal(start, base_ns + 60 * 65536);
	assert_int_equal(duration, 10 * 65536);
	/* the slot says the same, and the type is a text here */
	assert_int_equal(only_part()->slots.list.items[0].start_ns, base_ns);
	assert_int_equal(only_part()->slots.list.items[0].duration_ns, 100 * 65536 + 5);
	assert_int_equal(only_part()->slots.list.items[0].type, OTHER);
	zts_loaded_release(&loaded);
	close_store();
}

/* In a trace inside another one ns count from the ticks of the outer one. */
static void test_times_of_an_inner_trace(void **state)
{
	struct zts_loaded loaded = { 0 };
	struct sonde_error err = { 0 };
	uint64_t start, duration, outer_ns = TIME_MS * 1000000 + 500;
	uint64_t inner_ns = outer_ns + 10 * 65536 + 4000;
	uint64_t stop_ns = outer_ns + 50 * 65536 + 7;
	const struct zts_slot *slot;
	uint32_t key;

	(void)state;
	made_release(&made);
	make_texts();
	key = made_text(&made, ZTS_NS_ATTRIBUTE);
	made_begin(&made, METHOD, 100);
	made_timestamp(&made, TIME_MS, OTHER);
	made_number_attribute(&made, key, INT64_C(500) << 16);
	made_begin(&made, METHOD, 110);
	made_timestamp(&made, TIME_MS, OTHER);
	made_number_attribute(&made, key, (int64_t)(inner_ns - TIME_MS * 1000000) << 16 | 7);
	made_begin(&made, METHOD, 120);
	made_number_attribute(&made, key, INT64_C(9) << 16);
	made_end(&made, 130, 1, 0);
	made_end(&made, 150, 2, 0);
	made_end(&made, 200, 3, 0);
	made_chunk(&made);
	made.props = "sonde.names=1";
	write_part("000001");
	unlink(scratch_path("store/000001/qmeta.idx"));
	open_store(scratch_path("store"));
	slot = &only_part()->slots.list.items[0];
	assert_int_equal(slot->start_ns, inner_ns);
	assert_int_equal(slot->duration_ns, stop_ns - inner_ns);
	/* the same seen from the inner trace (slot 0) and from the outer one (slot 1) */
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(zts_part_load(only_part(), i, &loaded, &err), SONDE_OK);
		assert_int_equal(loaded.root, 1 - i);
		zts_loaded_times(only_part(), &loaded, 1, &start, &duration);
		assert_int_equal(start, inner_ns);
		assert_int_equal(duration, stop_ns - inner_ns);
		zts_loaded_times(only_part(), &loaded, 2, &start, &duration);
		assert_int_equal(start, outer_ns + 20 * 65536 + 9);
	}
	zts_loaded_release(&loaded);
	close_store();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_writer_at_work),
		cmocka_unit_test(test_refresh_of_a_rebuilt_part),
		cmocka_unit_test(test_no_slot_was_written),
		cmocka_unit_test(test_archived_meanwhile),
		cmocka_unit_test(test_times_in_nanoseconds),
		cmocka_unit_test(test_times_of_an_inner_trace),
	};

	return cmocka_run_group_tests(tests, make_scratch_in_memory, remove_scratch);
}
