/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of trace stores as a whole: real stores against the dumps of the existing program, metadata
 * made anew against the metadata that program wrote, and parts made here with every kind of damage.
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

#include "formats/zts/zts_store.h"
#include "formats/zts/zts_wal.h"
#include "scratch.h"
#include "zts_expected.h"

static struct zts_base *base;

static void open_base(const char *store)
{
	struct sonde_error err = { 0 };

	if (zts_base_open(corpus_store(store), NULL, &base, &err) != SONDE_OK)
		fail_msg("%s: %s", store, err.message);
}

static struct zts_part *part_named(const char *name)
{
	uint32_t number = (uint32_t)strtoul(name, NULL, 16);

	for (size_t i = 0; i < base->parts.count; i++)
		if (base->parts.items[i]->number == number)
			return base->parts.items[i];
	fail_msg("there is no part %s", name);
	return NULL;
}

/* The ids of a line, which must ascend; their number. */
#define MAX_IDS 4096
static size_t read_ids(struct zts_texts *meta, uint32_t entry, uint32_t slot, char mark,
		       uint32_t ids[MAX_IDS])
{
	const char *line;
	size_t size, count = 0;
	struct sonde_error err;

	if (entry == UINT32_MAX)
		return 0;
	assert_int_equal(zts_texts_get(meta, entry, &line, &size, &err), SONDE_OK);
	assert_true(size && line[0] == mark);
	for (size_t at = 1; at < size;) {
		const char *end = memchr(line + at, mark, size - at);
		const char *middle = memchr(line + at, ZTS_META_ID_MARK, size - at);
		uint32_t number;

		assert_non_null(end);
		assert_non_null(middle);
		assert_true(zts_id_parse((const uint8_t *)line + at, (size_t)(middle - line) - at,
					 &number));
		assert_int_equal(number, slot);
		assert_true(count < MAX_IDS);
		assert_true(zts_id_parse((const uint8_t *)middle + 1, (size_t)(end - middle) - 1,
					 &ids[count]));
		assert_true(!count || ids[count] > ids[count - 1]);
		count++;
		at = (size_t)(end - line) + 1;
	}
	return count;
}

static void compare_slot(const struct expected_slot *expected)
{
	struct zts_part *part = part_named(expected->part);
	uint32_t ids[MAX_IDS];
	const struct zts_slot *slot;

	assert_false(part->is_rebuilt);
	assert_true(expected->number < part->slots.list.count);
	slot = &part->slots.list.items[expected->number];
	assert_int_equal(slot->uuid[0], expected->uuid[0]);
	assert_int_equal(slot->uuid[1], expected->uuid[1]);
	assert_int_equal(slot->chunk_number, expected->chunk);
	assert_int_equal(slot->data_offset, expected->data_offset);
	assert_int_equal(slot->start_offset, expected->start_offset);
	assert_int_equal(slot->flags, expected->flags);
	assert_int_equal(slot->seconds, expected->tstamp);
	assert_int_equal(slot->duration_seconds, expected->duration);
	assert_int_equal(slot->calls, expected->calls);
	assert_int_equal(slot->errors, expected->errors);
	assert_int_equal(slot->records, expected->records);
	assert_int_equal(slot->type, expected->type);
	assert_int_equal(slot->app, expected->app);
	assert_int_equal(slot->env, expected->env);
	assert_int_equal(slot->host, expected->host);
	assert_int_equal(
		read_ids(part->meta, slot->deep_entry, expected->number, ZTS_META_DEEP, ids),
		expected->deep_count);
	assert_int_equal(
		read_ids(part->meta, slot->shallow_entry, expected->number, ZTS_META_SHALLOW, ids),
		expected->shallow_count);
}

static const char *const generation_1[] = { "hand-v1-minimal", "v1-small-0x11", "v1-small-archived",
					    "v1-small-chunked" };
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void test_slots_equal_the_dumps(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(generation_1) && getenv("SONDE_CORPUS"); i++) {
		size_t slots = 0;

		open_base(generation_1[i]);
		for (size_t part = 0; part < base->parts.count; part++)
			slots += base->parts.items[part]->slots.list.count;
		assert_int_equal(expected_slots(generation_1[i], compare_slot), slots);
		zts_base_free(base);
	}
}

/* Inner traces count once more. */
static uint32_t count_as_existing(const struct zts_loaded *loaded)
{
	const struct zts_record *root = &loaded->tree.records.items[loaded->root];
	uint32_t count = root->records;

	for (size_t i = 0; i < loaded->tree.traces.count; i++) {
		uint32_t record = loaded->tree.traces.items[i].record;

		count += record > loaded->root && record < loaded->root + root->records;
	}
	return count;
}

static void load_all(struct zts_part *part)
{
	struct zts_loaded loaded = { 0 };
	struct sonde_error err;

	for (uint32_t i = 0; i < part->slots.list.count; i++) {
		const struct zts_slot *slot = &part->slots.list.items[i];
		const struct zts_record *root;
		uint64_t start_ns, duration_ns;

		if (zts_part_load(part, i, &loaded, &err) != SONDE_OK)
			fail_msg("slot %u: %s (%s)", i, err.message, err.cause);
		root = &loaded.tree.records.items[loaded.root];
		assert_int_not_equal(root->trace, SONDE_NONE);
		assert_int_equal(root->records > 0, true);
		if (slot->flags & ZTS_RECORD_LAST)
			assert_int_equal(count_as_existing(&loaded), slot->records);
		if (slot->flags & ZTS_RECORD_LAST)
			assert_int_equal(root->calls, slot->calls);
		zts_loaded_times(part, &loaded, loaded.root, &start_ns, &duration_ns);
		assert_int_equal((start_ns + duration_ns) / 1000000000, slot->seconds);
		assert_int_equal(duration_ns, (root->stop - root->start) * 65536);
	}
	zts_loaded_release(&loaded);
}

static void test_every_trace_loads(void **state)
{
	static const char *const more[] = { "v1-small-0x00", "v1-small-0x12", "v2-small-0x11" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(generation_1) + COUNT_OF(more); i++) {
		if (!getenv("SONDE_CORPUS"))
			return;
		open_base(i < COUNT_OF(more) ? more[i] : generation_1[i - COUNT_OF(more)]);
		for (size_t part = 0; part < base->parts.count; part++)
			load_all(base->parts.items[part]);
		zts_base_free(base);
	}
}

static const struct zts_slot *slot_at(const struct zts_slots *slots, uint64_t data_offset,
				      uint32_t start_offset)
{
	for (size_t i = 0; i < slots->list.count; i++) {
		const struct zts_slot *slot = &slots->list.items[i];

		if (slot->data_offset == data_offset && slot->start_offset == start_offset)
			return slot;
	}
	return NULL;
}

static bool has_id(const uint32_t *ids, size_t count, uint32_t id)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

/* Names of types come from a registry outside of the store: nothing in the data says them. */
static bool is_type_name(struct zts_texts *texts, uint32_t id)
{
	static const char *const types[] = { "HTTP", "SQL_TRACE", "EJB" };
	const char *text;
	size_t size;

	if (zts_texts_get(texts, id, &text, &size, NULL) != SONDE_OK)
		return false;
	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (size == strlen(types[i]) && memcmp(text, types[i], size) == 0)
			return true;
	return false;
}

/*
 * Ours must be the same ids as theirs, but for 0, names of types, and for what existing programs
 * leave in the line of an inner trace (`may_miss`): texts of records before it.
 */
static void compare_ids(struct zts_texts *texts, const uint32_t *ours, size_t our_count,
			const uint32_t *theirs, size_t their_count, bool may_miss)
{
	for (size_t i = 0; i < our_count; i++)
		if (!has_id(theirs, their_count, ours[i]))
			fail_msg("text %u is not in the store's own line", ours[i]);
	for (size_t i = 0; i < their_count && !may_miss; i++)
		if (theirs[i] && !has_id(ours, our_count, theirs[i]) &&
		    !is_type_name(texts, theirs[i]))
			fail_msg("text %u is missing", theirs[i]);
}

static void compare_lines(struct zts_part *part, uint32_t theirs, struct zts_texts *our_meta,
			  const struct zts_slot *our_slot, uint32_t ours)
{
	const struct zts_slot *slot = &part->slots.list.items[theirs];
	bool is_last = slot->flags & ZTS_RECORD_LAST;
	uint32_t our_ids[MAX_IDS], their_ids[MAX_IDS];
	size_t our_count, their_count;

	our_count = read_ids(our_meta, our_slot->deep_entry, ours, ZTS_META_DEEP, our_ids);
	their_count = read_ids(part->meta, slot->deep_entry, theirs, ZTS_META_DEEP, their_ids);
	assert_true(our_count > 0);
	compare_ids(part->texts, our_ids, our_count, their_ids, their_count,
		    !is_last || slot->start_offset);
	our_count = read_ids(our_meta, our_slot->shallow_entry, ours, ZTS_META_SHALLOW, our_ids);
	their_count =
		read_ids(part->meta, slot->shallow_entry, theirs, ZTS_META_SHALLOW, their_ids);
	compare_ids(part->texts, our_ids, our_count, their_ids, their_count, !is_last);
}

static void compare_rebuilt(struct zts_part *part)
{
	struct zts_slots slots = { 0 };
	struct sonde_buffer wal = { 0 };
	struct sonde_error err = { 0 };
	struct zts_texts *meta;

	assert_int_equal(zts_rebuild(&part->chunks, part->texts, &slots, &wal, NULL, &err),
			 SONDE_OK);
	assert_int_equal(zts_texts_of((uint8_t *)wal.data, wal.size, &meta, &err), SONDE_OK);
	assert_int_equal(slots.list.count, part->slots.list.count);
	for (uint32_t i = 0; i < slots.list.count; i++) {
		const struct zts_slot *ours = &slots.list.items[i];
		const struct zts_slot *theirs =
			slot_at(&part->slots, ours->data_offset, ours->start_offset);

		assert_non_null(theirs);
		/* the same order too */
		assert_ptr_equal(theirs, &part->slots.list.items[i]);
		assert_int_equal(ours->flags, theirs->flags);
		assert_int_equal(ours->chunk_number, theirs->chunk_number);
		assert_int_equal(ours->records, theirs->records);
		if (ours->flags & ZTS_RECORD_LAST) {
			assert_int_equal(ours->seconds, theirs->seconds);
			assert_int_equal(ours->calls, theirs->calls);
			assert_int_equal(ours->errors, theirs->errors);
		}
		assert_int_equal(ours->duration_seconds, theirs->duration_seconds);
		assert_int_equal(ours->type, theirs->type);
		assert_true(ours->description_is_method);
		compare_lines(part, i, meta, ours, i);
	}
	zts_texts_free(meta);
	sonde_buffer_release(&wal);
	zts_slots_release(&slots);
}

static void test_rebuilt_metadata_equals_the_original(void **state)
{
	(void)state;
	for (size_t i = 1; i < COUNT_OF(generation_1) && getenv("SONDE_CORPUS"); i++) {
		open_base(generation_1[i]);
		for (size_t part = 0; part < base->parts.count; part++)
			compare_rebuilt(base->parts.items[part]);
		zts_base_free(base);
	}
}

static void compare_generation_2(const struct expected_slot *expected)
{
	struct zts_part *part = part_named(expected->part);
	const struct zts_slot *slot =
		slot_at(&part->slots, expected->data_offset, (uint32_t)expected->start_offset);
	struct zts_loaded loaded = { 0 };
	struct sonde_error err;

	assert_non_null(slot);
	assert_int_equal(slot->flags, expected->flags);
	assert_int_equal(slot->records, expected->records);
	assert_int_equal(slot->calls, expected->calls);
	assert_int_equal(slot->errors, expected->errors);
	assert_int_equal(slot->duration_ns, expected->duration);
	/* the existing program makes times unique by adding single ns */
	assert_int_equal(slot->start_ns / 1000000, expected->tstamp / 1000000);
	assert_int_equal(
		zts_part_load(part, (uint32_t)(slot - part->slots.list.items), &loaded, &err),
		SONDE_OK);
	assert_int_equal(loaded.tree.records.items[loaded.root].start, expected->tstart);
	assert_int_equal(loaded.tree.records.items[loaded.root].stop, expected->tstop);
	zts_loaded_release(&loaded);
}

static void test_generation_2_is_rebuilt(void **state)
{
	(void)state;
	if (!getenv("SONDE_CORPUS"))
		return;
	open_base("v2-small-0x11");
	assert_int_equal(base->parts.count, 1);
	assert_int_equal(base->parts.items[0]->generation, 2);
	assert_true(base->parts.items[0]->is_rebuilt);
	assert_int_equal(expected_slots("v2-small-0x11", compare_generation_2),
			 base->parts.items[0]->slots.list.count);
	zts_base_free(base);
}

static void copy_file(const char *store, const char *name)
{
	char from[600], to[80];
	struct sonde_mapped_file file;
	struct sonde_error err;

	snprintf(from, sizeof(from), "%s/000000/%s", corpus_store(store), name);
	snprintf(to, sizeof(to), "copy/%s", name);
	assert_int_equal(sonde_mapped_file_open(&file, from, &err), SONDE_OK);
	put_bytes(scratch_path(to), file.data, file.size);
	sonde_mapped_file_release(&file);
}

/* Without the list of slots their UUIDs are known from the metadata index. */
static void test_uuids_are_recalled(void **state)
{
	static const char *const stores[] = { "v1-small-0x11", "v1-small-chunked" };
	struct sonde_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(stores) && getenv("SONDE_CORPUS"); i++) {
		struct zts_part *whole, *copy;

		mkdir(scratch_path("copy"), 0777);
		copy_file(stores[i], "traces.dat");
		copy_file(stores[i], "text-00000001.wal");
		copy_file(stores[i], "meta-00000001.wal");
		open_base(stores[i]);
		whole = base->parts.items[0];
		assert_int_equal(zts_part_open(scratch_path("copy"), NULL, &copy, &err), SONDE_OK);
		assert_true(copy->is_rebuilt);
		assert_int_equal(copy->slots.list.count, whole->slots.list.count);
		for (size_t slot = 0; slot < whole->slots.list.count; slot++)
			assert_memory_equal(copy->slots.list.items[slot].uuid,
					    whole->slots.list.items[slot].uuid, 16);
		load_all(copy);
		zts_part_free(copy);
		zts_base_free(base);
		remove_tree(scratch_path("copy"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots_equal_the_dumps),
		cmocka_unit_test(test_every_trace_loads),
		cmocka_unit_test(test_rebuilt_metadata_equals_the_original),
		cmocka_unit_test(test_generation_2_is_rebuilt),
		cmocka_unit_test(test_uuids_are_recalled),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
