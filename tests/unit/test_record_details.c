/* SPDX-License-Identifier: Apache-2.0 */
/* Detail records out of records in a ring: each field of each, with stacks of several sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sonde/event.h>

#include "base/bytes.h"
#include "record/details.h"

enum {
	COUNT = 7,
	UNITS = 11,	      /* of a record with the largest stack */
	SPARE = UNITS * COUNT /* what is fetched ahead lies behind the records */
};

static struct shared_unit ring[UNITS * COUNT + SPARE];
static const struct shared_unit *units[COUNT];
static struct atf_index_event events[COUNT];
static uint8_t bytes[COUNT * 512];

/* All bytes of all records differ from one to the next. */
static void make_ring(uint32_t call, uint32_t leave, uint32_t stack_size)
{
	struct shared_unit *unit = ring;

	for (size_t i = 0; i < sizeof(ring); i++)
		((uint8_t *)ring)[i] = (uint8_t)(i * 7 + i / 251 + 1);
	for (size_t i = 0; i < COUNT; i++) {
		uint32_t kind = i % 3 == 2 ? leave : call;
		struct shared_detail *detail = (struct shared_detail *)(unit + 1);

		units[i] = unit;
		unit->word = (uint64_t)(kind | UNIT_DETAIL) << UNIT_KIND_SHIFT;
		detail->stack_size = (uint16_t)stack_size;
		detail->units = (uint32_t)shared_detail_units(unit_is_entry(kind), stack_size);
		if (kind == UNIT_CALL || kind == UNIT_RETURN)
			detail->values[2] = 0; /* nothing was kept apart */
		events[i] = (struct atf_index_event){
			.timestamp_ns = 1000 + i,
			.function_id = 70 + i,
			.event_kind = kind == leave ? ATF_KIND_RETURN : ATF_KIND_CALL,
		};
		unit += detail->units;
	}
}

static uint64_t field(const uint8_t *record, size_t number)
{
	return sonde_load_u64le(record + ATF_DETAIL_RECORD_SIZE + number * 8);
}

/* The registers of a record: those of `values` that are not said to be real are 0. */
static void check_registers(const uint8_t *record, const struct shared_unit *unit, bool patched,
			    bool leave)
{
	const struct shared_detail *detail = (const struct shared_detail *)(unit + 1);
	const uint64_t *more = (const uint64_t *)(unit + 2);
	bool entry = patched && !leave, exit = patched && leave;

	for (size_t i = 0; i < 6; i++)
		assert_int_equal(field(record, 1 + i), !entry ? 0 :
						       i < 2  ? detail->values[1 + i] :
								more[i - 2]);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(field(record, 7 + i), exit ? detail->values[1 + i] : 0);
	assert_int_equal(field(record, 9), patched ? unit->place : detail->values[1]);
	assert_int_equal(field(record, 10), detail->values[0]);
	assert_int_equal(field(record, 11), unit->stack + (exit ? 8 : 0));
	assert_int_equal(sonde_load_u16le(record + ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_FLAGS),
			 entry ? SONDE_REGISTERS_ARGUMENTS :
			 exit  ? SONDE_REGISTERS_RESULT :
				 0);
}

static void check_record(const uint8_t *record, size_t i, const struct details *details,
			 bool patched)
{
	size_t stack_size = details->length - ATF_DETAIL_RECORD_SIZE - ATF_PAYLOAD_SIZE;
	bool leave = events[i].event_kind == ATF_KIND_RETURN;
	struct atf_detail_record header;

	atf_detail_record_decode(&header, record);
	assert_int_equal(header.total_length, details->length);
	assert_int_equal(header.event_type, leave ? ATF_DETAIL_TYPE_RETURN : ATF_DETAIL_TYPE_CALL);
	assert_int_equal(header.flags, 0);
	assert_int_equal(header.index_seq, 40 + i);
	assert_int_equal(header.thread_id, 3);
	assert_int_equal(header.timestamp, 1000 + i);
	assert_int_equal(field(record, 0), 70 + i);
	check_registers(record, units[i], patched, leave);
	assert_int_equal(sonde_load_u16le(record + ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_STACK_SIZE),
			 stack_size);
	assert_memory_equal(record + ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_SIZE,
			    units[i] + (patched && !leave ? 3 : 2), stack_size);
}

/* Of a ring with `stack_size` bytes, of which at most `wanted` are. */
static void check_run(bool patched, uint32_t stack_size, uint32_t wanted)
{
	struct details details = {
		.units = units, .events = events, .count = COUNT, .slot = 3, .index_seq = 40
	};
	size_t end;

	make_ring(patched ? UNIT_ENTRY : UNIT_CALL, patched ? UNIT_EXIT : UNIT_RETURN, stack_size);
	details.length = details_length(units[0], wanted);
	assert_int_equal(details.length, ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_SIZE +
						 (stack_size < wanted ? stack_size : wanted));
	end = COUNT * details.length + DETAILS_SPARE;
	assert_true(end < sizeof(bytes));
	memset(bytes, 0xa5, sizeof(bytes));
	details_encode(bytes, &details);
	for (size_t i = 0; i < COUNT; i++)
		check_record(bytes + i * details.length, i, &details, patched);
	for (; end < sizeof(bytes); end++)
		assert_int_equal(bytes[end], 0xa5);
}

static void test_fields(void **state)
{
	static const uint32_t sizes[] = { 0, 8, 32, 63, 64, 65, 100, 224, 256 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		check_run(false, sizes[i], 256);
		check_run(true, sizes[i], 256);
	}
	check_run(false, 256, 64);
	check_run(true, 256, 40);
}

/* What a hook kept apart of the last units of its stack is there again. */
static void test_tags(void **state)
{
	struct details details = { .units = units, .events = events, .count = 1 };
	const uint8_t *stack = bytes + ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_SIZE;

	(void)state;
	make_ring(UNIT_CALL, UNIT_RETURN, 64);
	((struct shared_detail *)(ring + 1))->values[2] = UINT64_C(0x1234) << SHARED_TAG_BITS;
	details.length = details_length(units[0], 64);
	details_encode(bytes, &details);
	assert_memory_equal(stack, ring + 2, 30);
	assert_int_equal(sonde_load_u16le(stack + 30), 0x1234);
	assert_memory_equal(stack + 32, ring + 3, 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_tags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
