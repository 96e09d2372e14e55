/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a trace from its slot alone. */
#include "store/trace.h"

#include <string.h>

#include "store/names.h"

#define NS_PER_S UINT64_C(1000000000)
#define LONGEST_SECONDS 65535 /* what a slot can hold: it may have been more */

static const struct zts_slot *slot_at(const struct zts_part *part, uint32_t slot)
{
	return &part->slots.list.items[slot];
}

/* Of a trace in chunks the last slot has the totals. */
static const struct zts_slot *last_chunk(const struct zts_part *part, uint32_t slot)
{
	size_t steps = part->slots.list.count;

	while (part->next_chunk && part->next_chunk[slot] != SONDE_NONE && steps--)
		slot = part->next_chunk[slot];
	return slot_at(part, slot);
}

struct sonde_trace_totals sonde_trace_totals(const struct zts_part *part, uint32_t slot)
{
	const struct zts_slot *last = last_chunk(part, slot);

	return (struct sonde_trace_totals){
		.records = last->records,
		.calls = last->calls,
		.errors = last->errors,
		.has_error = last->errors || (last->flags & ZTS_RECORD_ERROR) ||
			     (slot_at(part, slot)->flags & ZTS_RECORD_ERROR)
	};
}

static uint64_t seconds_before(uint64_t seconds, uint64_t less)
{
	return seconds > less ? (seconds - less) * NS_PER_S : 0;
}

/* Slots of other programs count in seconds, from the end or the start of the trace. */
struct sonde_bounds sonde_trace_start(const struct zts_part *part, uint32_t slot)
{
	const struct zts_slot *first = slot_at(part, slot), *last = last_chunk(part, slot);

	if (first->start_ns)
		return (struct sonde_bounds){ first->start_ns, first->start_ns };
	if (last->duration_seconds >= LONGEST_SECONDS)
		return (struct sonde_bounds){ 0, (first->seconds + UINT64_C(2)) * NS_PER_S };
	return (struct sonde_bounds){ .low = seconds_before(first->seconds,
							    UINT64_C(2) + last->duration_seconds),
				      .high = (first->seconds + UINT64_C(2)) * NS_PER_S };
}

struct sonde_bounds sonde_trace_duration(const struct zts_part *part, uint32_t slot)
{
	const struct zts_slot *first = slot_at(part, slot), *last = last_chunk(part, slot);

	if (first->start_ns && first == last)
		return (struct sonde_bounds){ first->duration_ns, first->duration_ns };
	if (last->duration_seconds >= LONGEST_SECONDS)
		return (struct sonde_bounds){ (LONGEST_SECONDS - 1) * NS_PER_S, UINT64_MAX };
	return (struct sonde_bounds){ .low = seconds_before(last->duration_seconds, 1),
				      .high = (last->duration_seconds + UINT64_C(2)) * NS_PER_S };
}

void sonde_slot_put_name(const struct zts_part *part, uint32_t name, struct sonde_buffer *out)
{
	if (!name)
		return;
	if (part->has_names)
		zts_texts_put_name(part->texts, name, out);
	else
		sonde_buffer_put_u64(out, name);
}

struct sonde_hex_id sonde_hex_id_of(const uint64_t uuid[2])
{
	struct sonde_hex_id id = { .count = 32 };
	size_t i;

	/* Searches do this for every slot: printf() would take longer than all the rest. */
	for (i = 0; i < id.count; i++)
		id.digits[i] = "0123456789abcdef"[uuid[i / 16] >> (60 - i % 16 * 4) & 15];
	return id;
}

bool sonde_hex_id_parse(const char *text, size_t size, struct sonde_hex_id *id)
{
	size_t i;

	*id = (struct sonde_hex_id){ 0 };
	for (i = 0; i < size; i++) {
		char digit = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] + 32) : text[i];

		if (digit == '-' && id->count)
			continue;
		if (id->count == 32 || !digit || !strchr("0123456789abcdef", digit))
			return false;
		id->digits[id->count++] = digit;
	}
	return id->count > 0;
}

bool sonde_hex_id_is_prefix(const struct sonde_hex_id *id, const struct sonde_hex_id *of)
{
	return id->count <= of->count && !memcmp(id->digits, of->digits, id->count);
}

bool sonde_trace_distributed_id(const struct zts_part *part, uint32_t slot, struct sonde_hex_id *id)
{
	struct zts_typed_text typed;
	uint32_t text = slot_at(part, slot)->dtrace_uuid;

	return text && zts_texts_typed(part->texts, text, &typed, NULL) == SONDE_OK && typed.text &&
	       sonde_hex_id_parse(typed.text, typed.size, id);
}

void sonde_place_put(const struct zts_part *part, uint32_t slot, struct sonde_buffer *out)
{
	sonde_buffer_put_hex(out, part->number, 6);
	sonde_buffer_put_char(out, ':');
	sonde_buffer_put_u64(out, slot);
}
