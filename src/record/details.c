/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop that makes detail records. With details it runs for every event, so what a run of them
 * has in common is not looked at again for each.
 */
#include "record/details.h"

#include <sonde/event.h>
#include <string.h>

#include "base/bytes.h"

enum {
	HEAD_SIZE = ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_SIZE, /* then comes the stack */
	UNIT_SIZE = sizeof(struct shared_unit),
	LINE_UNITS = 2,	  /* of a cache line */
	USUAL_STACK = 64, /* the size that the help shows has loops of its own */
};

/* A unit, for copying: one register where there are such large ones. */
typedef uint64_t words4 __attribute__((vector_size(32), aligned(1), may_alias));

/* Where a field of the payload stands in the record. */
static inline uint8_t *payload(uint8_t *record, size_t offset)
{
	return record + ATF_DETAIL_RECORD_SIZE + offset;
}

static inline const struct shared_detail *detail_of(const struct shared_unit *unit)
{
	return (const struct shared_detail *)(unit + 1);
}

static inline uint32_t kind_of(const struct shared_unit *unit)
{
	return (uint32_t)(unit->word >> UNIT_KIND_SHIFT) & ~UNIT_DETAIL;
}

size_t details_length(const struct shared_unit *unit, uint32_t stack_bytes)
{
	uint32_t size = detail_of(unit)->stack_size;

	return HEAD_SIZE + (size < stack_bytes ? size : stack_bytes);
}

/* Arguments or results of a patched function, where there are zeros; tells which of them. */
static inline uint32_t encode_values(uint8_t *to, const struct shared_unit *unit)
{
	const struct shared_detail *detail = detail_of(unit);
	const uint64_t *values = detail->values, *more = (const uint64_t *)(detail + 1);

	if (kind_of(unit) == UNIT_EXIT) {
		sonde_store_u64le(to + 6 * 8, values[1]);
		sonde_store_u64le(to + 7 * 8, values[2]);
		return SONDE_REGISTERS_RESULT;
	}
	sonde_store_u64le(to, values[1]);
	sonde_store_u64le(to + 8, values[2]);
	for (size_t i = 0; i < 4; i++)
		sonde_store_u64le(to + 16 + i * 8, more[i]);
	return SONDE_REGISTERS_ARGUMENTS;
}

/* Six arguments, two results, call site, frame and stack pointer; tells which of them are real. */
static inline uint32_t encode_registers(uint8_t *to, const struct shared_unit *unit, bool patched)
{
	const uint64_t *values = detail_of(unit)->values;
	const words4 none = { 0 };
	uint32_t flags = 0;

	((words4 *)to)[0] = ((words4 *)to)[1] = none;
	if (patched)
		flags = encode_values(to, unit);
	sonde_store_u64le(to + 8 * 8, patched ? unit->place : values[1]);
	sonde_store_u64le(to + 9 * 8, values[0]);
	sonde_store_u64le(to + 10 * 8, unit->stack + (flags == SONDE_REGISTERS_RESULT ? 8 : 0));
	return flags;
}

/* Puts back what a hook kept apart. */
static __attribute__((noinline)) void restore_tags(uint8_t *stack, size_t size, uint64_t tags)
{
	size_t end = (size + UNIT_SIZE - 1) / UNIT_SIZE * UNIT_SIZE;

	for (; tags && end; end -= UNIT_SIZE, tags >>= SHARED_TAG_BITS)
		if (tags & UINT16_MAX)
			sonde_store_u16le(stack + end - sizeof(uint16_t), (uint16_t)tags);
}

/* Whole units are there, and whole units of room. */
static inline void encode_stack(uint8_t *to, const struct shared_unit *unit, size_t size,
				bool patched)
{
	const uint8_t *stack = (const uint8_t *)(unit + 2);

	if (patched && kind_of(unit) != UNIT_EXIT)
		stack += UNIT_SIZE; /* of registers */
	for (size_t at = 0; at < size; at += UNIT_SIZE)
		*(words4 *)(to + at) = *(const words4 *)(stack + at);
	if (!patched && __builtin_expect(detail_of(unit)->values[2] != 0, 0))
		restore_tags(to, size, detail_of(unit)->values[2]);
}

/* Units from memory, whole lines of them; gives those that come next. */
static inline const struct shared_unit *fetch(const struct shared_unit *unit,
					      const struct shared_unit *end)
{
	for (; unit < end; unit += LINE_UNITS) {
		__builtin_prefetch(unit, 0, 2);
		__asm__("" : "+r"(unit)); /* or where it ends is worked out once more */
	}
	return unit;
}

static inline uint16_t type_of(const struct atf_index_event *event)
{
	return event->event_kind == ATF_KIND_RETURN ? ATF_DETAIL_TYPE_RETURN : ATF_DETAIL_TYPE_CALL;
}

static inline __attribute__((always_inline)) void
encode_run(uint8_t *to, const struct details *details, const bool patched, const size_t stack_size)
{
	const struct shared_unit *const *units = details->units;
	const struct shared_unit *const *const end = units + details->count;
	const struct shared_unit *next = *units + details->ahead;
	const struct atf_index_event *event = details->events;
	const size_t ahead = details->ahead + shared_detail_units(patched, stack_size);
	struct atf_detail_record header = {
		.total_length = (uint32_t)(HEAD_SIZE + stack_size),
		.index_seq = details->index_seq,
		.thread_id = details->slot,
	};

	for (; units < end; units++, event++, to += HEAD_SIZE + stack_size, header.index_seq++) {
		const struct shared_unit *unit = *units;
		uint32_t flags;

		next = fetch(next, unit + ahead); /* arrive while these are encoded */
		header.event_type = type_of(event);
		header.timestamp = event->timestamp_ns;
		atf_detail_record_encode(&header, to);
		sonde_store_u64le(payload(to, 0), event->function_id);
		flags = encode_registers(payload(to, ATF_PAYLOAD_REGISTERS), unit, patched);
		sonde_store_u32le(payload(to, ATF_PAYLOAD_STACK_SIZE),
				  (uint32_t)stack_size | flags << 16); /* and ATF_PAYLOAD_FLAGS */
		encode_stack(to + HEAD_SIZE, unit, stack_size, patched);
	}
}

static inline __attribute__((always_inline)) void encode(uint8_t *to, const struct details *details)
{
	uint32_t kind = kind_of(details->units[0]);
	bool patched = unit_is_entry(kind) || kind == UNIT_EXIT;
	size_t stack_size = details->length - HEAD_SIZE;

	if (patched && stack_size == USUAL_STACK)
		encode_run(to, details, true, USUAL_STACK);
	else if (patched)
		encode_run(to, details, true, stack_size);
	else if (stack_size == USUAL_STACK)
		encode_run(to, details, false, USUAL_STACK);
	else
		encode_run(to, details, false, stack_size);
}

#ifdef __x86_64__
static __attribute__((noinline, target("avx2"))) void encode_wide(uint8_t *to,
								  const struct details *details)
{
	encode(to, details);
}
#endif

void details_encode(uint8_t *to, const struct details *details)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		encode_wide(to, details);
		return;
	}
#endif
	encode(to, details);
}
