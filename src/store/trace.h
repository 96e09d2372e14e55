/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a trace from its slot alone: totals over the chunks it came in, when it began
 * and how long it took (exactly, or between two bounds), the names in the slot, its ids.
 */
#ifndef SONDE_STORE_TRACE_H
#define SONDE_STORE_TRACE_H

#include "formats/zts/zts_store.h"

struct sonde_trace_totals {
	uint32_t records, calls, errors;
	bool has_error; /* records with an exception, or the flag */
};
struct sonde_trace_totals sonde_trace_totals(const struct zts_part *part, uint32_t slot);

/* Both included; exact where they are the same. */
struct sonde_bounds {
	uint64_t low, high;
};
static inline bool sonde_bounds_are_exact(struct sonde_bounds bounds)
{
	return bounds.low == bounds.high;
}
/* ns since 1970; ns */
struct sonde_bounds sonde_trace_start(const struct zts_part *part, uint32_t slot);
struct sonde_bounds sonde_trace_duration(const struct zts_part *part, uint32_t slot);

/* A name in a slot, appended: the text of our parts, the number of others; nothing for 0. */
void sonde_slot_put_name(const struct zts_part *part, uint32_t name, struct sonde_buffer *out);

/* Hexadecimal digits of an id, dashes left out, in lower case. */
struct sonde_hex_id {
	char digits[33];
	size_t count;
};
/* False where it is something else, or longer than 32 digits. */
bool sonde_hex_id_parse(const char *text, size_t size, struct sonde_hex_id *id);
bool sonde_hex_id_is_prefix(const struct sonde_hex_id *id, const struct sonde_hex_id *of);
struct sonde_hex_id sonde_hex_id_of(const uint64_t uuid[2]);

/* The id of the distributed trace that a slot is of; false where there is none. */
bool sonde_trace_distributed_id(const struct zts_part *part, uint32_t slot,
				struct sonde_hex_id *id);

/* "00001a:17": surely one trace of a store. */
void sonde_place_put(const struct zts_part *part, uint32_t slot, struct sonde_buffer *out);

#endif
