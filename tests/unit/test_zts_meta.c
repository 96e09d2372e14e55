/* SPDX-License-Identifier: Apache-2.0 */
/* qmeta.idx and store.props, byte by byte: both generations, what writers add, and every damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "formats/zts/zts_meta.h"
#include "scratch.h"

static const struct zts_slot full_slot = {
	.data_offset = 0x8765432112ull,
	.start_offset = 0xfedcba98,
	.chunk_number = 0xfffe,
	.seconds = 0xf1234567,
	.duration_seconds = 0xfffd,
	.app = 0xa1a2,
	.env = 0xb1b2,
	.type = 0xc1c2,
	.host = 0xd1d2,
	.flags = 0x7f,
	.errors = 0xe1e2,
	.records = 0xfffffe,
	.calls = 0x98765432,
	.description = 0x7ffffffe,
	.description_is_method = true,
	.deep_entry = 0x11223344,
	.shallow_entry = UINT32_MAX,
	.uuid = { 0x0123456789abcdef, 0xfedcba9876543210 },
	.dtrace_tid = 0x55667788,
	.dtrace_uuid = 0x99aabbcc,
	.start_ns = 0x159abcdef0123456,
	.duration_ns = 0xabcdef,
};

static void assert_same_slot(const struct zts_slot *a, const struct zts_slot *b)
{
	assert_int_equal(a->data_offset, b->data_offset);
	assert_int_equal(a->start_offset, b->start_offset);
	assert_int_equal(a->chunk_number, b->chunk_number);
	assert_int_equal(a->seconds, b->seconds);
	assert_int_equal(a->duration_seconds, b->duration_seconds);
	assert_int_equal(a->app, b->app);
	assert_int_equal(a->env, b->env);
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->host, b->host);
	assert_int_equal(a->flags, b->flags);
	assert_int_equal(a->errors, b->errors);
	assert_int_equal(a->records, b->records);
	assert_int_equal(a->calls, b->calls);
	assert_int_equal(a->description, b->description);
	assert_int_equal(a->description_is_method, b->description_is_method);
	assert_int_equal(a->deep_entry, b->deep_entry);
	assert_int_equal(a->shallow_entry, b->shallow_entry);
	assert_int_equal(a->uuid[0], b->uuid[0]);
	assert_int_equal(a->uuid[1], b->uuid[1]);
	assert_int_equal(a->dtrace_tid, b->dtrace_tid);
	assert_int_equal(a->dtrace_uuid, b->dtrace_uuid);
	assert_int_equal(a->start_ns, b->start_ns);
	assert_int_equal(a->duration_ns, b->duration_ns);
}

/* A file of `count` slots, of which `used` bytes are said to be used. */
static size_t make_qmeta(uint8_t *bytes, size_t count, uint32_t used)
{
	zts_put_qmeta_header(bytes, used, 0x11111111, 0x22222222);
	for (size_t i = 0; i < count; i++) {
		struct zts_slot slot = full_slot;

		slot.data_offset += i;
		zts_put_slot(bytes + 64 + i * 96, &slot);
	}
	return 64 + count * 96;
}

static enum sonde_status parse(struct zts_slots *slots, const uint8_t *bytes, size_t size)
{
	/* exactly as many bytes as there are, so that a sanitizer sees a read behind them */
	uint8_t *copy = malloc(size + !size);
	struct sonde_error err = { 0 };
	enum sonde_status status;

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	status = zts_slots_parse(slots, copy, size, "qmeta.idx", NULL, &err);
	if (status < 0)
		assert_true(err.message[0]);
	free(copy);
	return status;
}

static void test_slots_come_back(void **state)
{
	uint8_t bytes[64 + 2 * 96];
	struct zts_slots slots = { 0 };
	struct zts_slot second = full_slot;

	(void)state;
	make_qmeta(bytes, 1, sizeof(bytes));
	second.description_is_method = false;
	second.data_offset++;
	zts_put_slot(bytes + 64 + 96, &second);
	assert_int_equal(parse(&slots, bytes, sizeof(bytes)), SONDE_OK);
	assert_int_equal(slots.list.count, 2);
	assert_int_equal(slots.generation, 1);
	assert_int_equal(slots.first_tstart, 0x11111111);
	assert_int_equal(slots.last_tstop, 0x22222222);
	assert_same_slot(&slots.list.items[0], &full_slot);
	assert_same_slot(&slots.list.items[1], &second);
	zts_slots_release(&slots);
}

/* A slot of the corpus (hand-v1-minimal), as its bytes are. */
static void test_bytes_of_a_real_slot(void **state)
{
	static const uint8_t words[72] = {
		0,    0,    0,	  0,	0x5c, 0xc9, 0x8a, 0x41, 0,    1,    0,	  2,	0,
		1,    1,    0x68, 0,	0,    0,    0,	  0,	0,    0,    0x10, 0,	0,
		0,    0,    0,	  0,	0,    4,    0,	  0,	0,    3,    0,	  0,	0,
		2,    0,    0,	  2,	0,    0,    0,	  0,	2,    0x01, 0x23, 0x45, 0x67,
		0x89, 0xab, 0xcd, 0xef, 0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
	};
	uint8_t bytes[64 + 96] = { 0 }, again[96];
	struct zts_slots slots = { 0 };
	const struct zts_slot *slot;

	(void)state;
	zts_put_qmeta_header(bytes, sizeof(bytes), 0, 0);
	memcpy(bytes + 64, words, sizeof(words));
	assert_int_equal(parse(&slots, bytes, sizeof(bytes)), SONDE_OK);
	slot = &slots.list.items[0];
	assert_int_equal(slot->seconds, 1556712001);
	assert_int_equal(slot->app, 1);
	assert_int_equal(slot->env, 2);
	assert_int_equal(slot->type, 1);
	assert_int_equal(slot->errors, 1);
	assert_int_equal(slot->flags, 0x68);
	assert_int_equal(slot->data_offset, 16);
	assert_int_equal(slot->description, 4);
	assert_true(slot->description_is_method);
	assert_int_equal(slot->deep_entry, 2);
	assert_int_equal(slot->shallow_entry, 3);
	assert_int_equal(slot->records, 2);
	assert_int_equal(slot->calls, 2);
	assert_int_equal(slot->uuid[1], 0x0123456789abcdef);
	zts_put_slot(again, slot);
	assert_memory_equal(again, bytes + 64, 96);
	zts_slots_release(&slots);
}

/* Numbers that do not fit stay at the highest that does, and do not spill into others. */
static void test_numbers_too_large(void **state)
{
	struct zts_slot slot = { .records = 0x1000000,
				 .duration_seconds = 0x10000,
				 .chunk_number = 0x10000,
				 .data_offset = 16,
				 .flags = 0x60 };
	uint8_t bytes[64 + 96];
	struct zts_slots slots = { 0 };

	(void)state;
	zts_put_qmeta_header(bytes, sizeof(bytes), 0, 0);
	zts_put_slot(bytes + 64, &slot);
	assert_int_equal(parse(&slots, bytes, sizeof(bytes)), SONDE_OK);
	assert_int_equal(slots.list.items[0].records, 0xffffff);
	assert_int_equal(slots.list.items[0].duration_seconds, 0xffff);
	assert_int_equal(slots.list.items[0].chunk_number, 0xffff);
	assert_int_equal(slots.list.items[0].data_offset, 16);
	assert_int_equal(slots.list.items[0].host, 0);
	assert_int_equal(slots.list.items[0].errors, 0);
	zts_slots_release(&slots);
}

/* Slots of generation 0 are the first 8 words, with ticks in the upper half of the fourth. */
static size_t make_old_qmeta(uint8_t *bytes, size_t count)
{
	zts_put_qmeta_header(bytes, (uint32_t)(64 + count * 64), 0, 0);
	for (size_t i = 0; i < count; i++) {
		struct zts_slot slot = full_slot;
		uint8_t whole[96];

		slot.data_offset = 16 + 100 * i;
		slot.host = 0x0001;
		slot.duration_seconds = 0x0203;
		zts_put_slot(whole, &slot);
		memcpy(bytes + 64 + i * 64, whole, 64);
	}
	return 64 + count * 64;
}

static void test_generation_0(void **state)
{
	uint8_t bytes[64 + 12 * 64];

	(void)state;
	/* 3, 6, 9 and 12 old slots are as long as 2, 4, 6 and 8 new ones */
	for (size_t count = 1; count <= 12; count++) {
		struct zts_slots slots = { 0 };
		size_t size = make_old_qmeta(bytes, count);

		assert_int_equal(parse(&slots, bytes, size), SONDE_OK);
		assert_int_equal(slots.generation, 0);
		assert_int_equal(slots.list.count, count);
		for (size_t i = 0; i < count; i++) {
			const struct zts_slot *slot = &slots.list.items[i];

			assert_int_equal(slot->data_offset, 16 + 100 * i);
			assert_int_equal(slot->duration_ns, 0x00010203ull * 65536);
			assert_int_equal(slot->duration_seconds,
					 0x00010203ull * 65536 / 1000000000);
			assert_int_equal(slot->host, 0);
			assert_int_equal(slot->uuid[1], full_slot.uuid[1]);
		}
		zts_slots_release(&slots);
	}
}

static void test_generation_1_is_not_taken_for_0(void **state)
{
	uint8_t bytes[64 + 12 * 96];

	(void)state;
	for (size_t count = 0; count <= 12; count++) {
		struct zts_slots slots = { 0 };
		size_t size = make_qmeta(bytes, count, (uint32_t)(64 + 96 * count));

		assert_int_equal(parse(&slots, bytes, size), SONDE_OK);
		assert_int_equal(slots.generation, 1);
		assert_int_equal(slots.list.count, count);
		zts_slots_release(&slots);
	}
}

static void test_what_a_writer_adds(void **state)
{
	uint8_t bytes[64 + 8 * 96];
	struct zts_slots slots = { 0 };

	(void)state;
	for (uint32_t used = 0; used <= 8; used += 2) {
		/* the file is longer than what is used */
		size_t size = make_qmeta(bytes, 8, 64 + used * 96);

		assert_int_equal(parse(&slots, bytes, size), SONDE_OK);
		assert_int_equal(slots.list.count, used);
	}
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(slots.list.items[i].data_offset, full_slot.data_offset + i);
	/* fewer than before: another file */
	make_qmeta(bytes, 8, 64 + 3 * 96);
	assert_int_equal(parse(&slots, bytes, sizeof(bytes)), SONDE_CORRUPT);
	assert_int_equal(slots.list.count, 8);
	zts_slots_release(&slots);
}

/* Existing programs make the file with an end of 0, before the first slot. */
static void test_a_new_file(void **state)
{
	uint8_t bytes[64 + 4 * 96];
	struct zts_slots slots = { 0 };

	(void)state;
	make_qmeta(bytes, 4, 0);
	assert_int_equal(parse(&slots, bytes, sizeof(bytes)), SONDE_OK);
	assert_int_equal(slots.list.count, 0);
	assert_int_equal(slots.used, 0);
	make_qmeta(bytes, 4, sizeof(bytes));
	assert_int_equal(parse(&slots, bytes, sizeof(bytes)), SONDE_OK);
	assert_int_equal(slots.list.count, 4);
	assert_int_equal(slots.used, sizeof(bytes));
	zts_slots_release(&slots);
}

static void test_damaged_headers(void **state)
{
	uint8_t bytes[64 + 4 * 96];
	static const uint32_t ends[] = { 1, 63, 65, 64 + 95, 64 + 3 * 96 + 1 };
	struct zts_slots slots = { 0 };

	(void)state;
	make_qmeta(bytes, 4, sizeof(bytes));
	for (size_t size = 0; size < 64; size++)
		assert_int_equal(parse(&slots, bytes, size), SONDE_CORRUPT);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		make_qmeta(bytes, 4, ends[i]);
		assert_int_equal(parse(&slots, bytes, sizeof(bytes)), SONDE_CORRUPT);
		zts_slots_release(&slots);
	}
	make_qmeta(bytes, 4, sizeof(bytes));
	bytes[0] = 'X';
	assert_int_equal(parse(&slots, bytes, sizeof(bytes)), SONDE_CORRUPT);
	assert_int_equal(slots.list.count, 0);
	zts_slots_release(&slots);
}

/* An end beyond the file is not believed; the slots that are there come all the same. */
static void test_end_beyond_the_file(void **state)
{
	uint8_t bytes[64 + 4 * 96];
	struct sonde_diagnostics *found = sonde_diagnostics_new();
	struct zts_slots slots = { 0 };
	struct sonde_error err;

	(void)state;
	make_qmeta(bytes, 4, 64 + 96 * 44000000u);
	assert_int_equal(zts_slots_parse(&slots, bytes, sizeof(bytes), "qmeta.idx", found, &err),
			 SONDE_CORRUPT);
	assert_int_equal(slots.list.count, 4);
	assert_string_equal(sonde_diagnostics_at(found, 0)->type->id, "zts-qmeta");
	assert_int_equal(err.offset, 4);
	zts_slots_release(&slots);
	sonde_diagnostics_free(found);
}

static const char *value_of(struct zts_props *props, const char *key)
{
	static char text[64];
	size_t size;
	const char *value = zts_props_get(props, key, &size);

	if (!value)
		return NULL;
	assert_true(size < sizeof(text));
	memcpy(text, value, size);
	text[size] = 0;
	return text;
}

static void set_text(struct zts_props *props, const char *text)
{
	sonde_buffer_clear(&props->text);
	sonde_buffer_put_text(&props->text, text);
}

static void test_properties(void **state)
{
	struct zts_props props = { 0 };
	uint64_t number;

	(void)state;
	set_text(&props, "\n#store.iflags=9\n  store.iflags = 1 \r\n\nstore.iflags2=5\nempty=\n"
			 "wal: 12\nbig=18446744073709551616\nsame=1\nsame=2\nlast=x");
	assert_string_equal(value_of(&props, "store.iflags"), "1");
	assert_string_equal(value_of(&props, "store.iflags2"), "5");
	assert_string_equal(value_of(&props, "empty"), "");
	assert_string_equal(value_of(&props, "wal"), "12");
	assert_string_equal(value_of(&props, "same"), "2");
	assert_string_equal(value_of(&props, "last"), "x");
	assert_null(value_of(&props, "store"));
	assert_null(value_of(&props, "store.iflags23"));
	assert_true(zts_props_number(&props, "store.iflags", &number));
	assert_int_equal(number, 1);
	assert_false(zts_props_number(&props, "big", &number));
	assert_false(zts_props_number(&props, "last", &number));
	assert_false(zts_props_number(&props, "empty", &number));
	zts_props_release(&props);
}

static void test_properties_set(void **state)
{
	struct zts_props props = { 0 };

	(void)state;
	zts_props_set(&props, "a", "1");
	assert_string_equal(sonde_buffer_text(&props.text), "a=1\n");
	set_text(&props, "# of somebody else\nx.y=3\na = 1\nz=4");
	zts_props_set(&props, "a", "22");
	assert_string_equal(sonde_buffer_text(&props.text), "# of somebody else\nx.y=3\na=22\nz=4");
	zts_props_set(&props, "b", "5");
	assert_string_equal(sonde_buffer_text(&props.text),
			    "# of somebody else\nx.y=3\na=22\nz=4\nb=5\n");
	zts_props_release(&props);
}

static void test_property_files(void **state)
{
	struct zts_props props = { 0 };
	struct sonde_error err;

	(void)state;
	mkdir(scratch_path("props"), 0777);
	assert_int_equal(zts_props_read(&props, scratch_path("props"), &err), SONDE_OK);
	assert_int_equal(props.text.size, 0);
	put_file(scratch_path("props/config.props"), "a=document\n");
	assert_int_equal(zts_props_read(&props, scratch_path("props"), &err), SONDE_OK);
	assert_string_equal(value_of(&props, "a"), "document");
	zts_props_set(&props, "a", "real");
	assert_int_equal(zts_props_write(&props, scratch_path("props"), &err), SONDE_OK);
	zts_props_set(&props, "a", "real again");
	assert_int_equal(zts_props_write(&props, scratch_path("props"), &err), SONDE_OK);
	zts_props_release(&props);
	assert_int_equal(zts_props_read(&props, scratch_path("props"), &err), SONDE_OK);
	assert_string_equal(value_of(&props, "a"), "real again");
	zts_props_release(&props);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots_come_back),
		cmocka_unit_test(test_bytes_of_a_real_slot),
		cmocka_unit_test(test_numbers_too_large),
		cmocka_unit_test(test_generation_0),
		cmocka_unit_test(test_generation_1_is_not_taken_for_0),
		cmocka_unit_test(test_what_a_writer_adds),
		cmocka_unit_test(test_a_new_file),
		cmocka_unit_test(test_damaged_headers),
		cmocka_unit_test(test_end_beyond_the_file),
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_properties_set),
		cmocka_unit_test(test_property_files),
	};

	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
