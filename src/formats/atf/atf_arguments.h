/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detail records of type ATF_DETAIL_TYPE_ARGUMENTS, and the function_ids of event types: what the
 * writer, the recorder's callers and the reader agree on. See atf_layout.h for the bytes.
 */
#ifndef SONDE_ATF_ARGUMENTS_H
#define SONDE_ATF_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "formats/atf/atf_layout.h"

/* What stands for a module in the manifest, for event types and scopes that are of none. */
#define ATF_ANNOTATIONS_PATH "[annotations]"
#define ATF_ANNOTATIONS_MODULE 0xc65348f7u /* atf_path_hash() of it */

/* Bytes of a record before the values. */
#define ATF_ARGUMENTS_HEAD_SIZE (ATF_DETAIL_RECORD_SIZE + ATF_ARGUMENTS_VALUES)
#define ATF_ARGUMENTS_SIZE_MAX (UINT32_MAX - (size_t)ATF_ARGUMENTS_HEAD_SIZE)

/*
 * The function_id of an event type of the definitions. The recorder takes this one for all of them:
 * a function of the same function_id is that of an annotated scope, and both are one symbol. The
 * sink takes it where it is free, and for a scope the function_id of the function of its name.
 */
static inline uint64_t atf_event_type_key(uint32_t event_type)
{
	return (uint64_t)ATF_ANNOTATIONS_MODULE << 32 | (event_type + 1);
}

/*
 * Writes everything of a record before its values, of which `size` bytes will follow: at most
 * ATF_ARGUMENTS_SIZE_MAX. Of `record` flags, index_seq, thread_id and timestamp count.
 */
static inline void atf_arguments_encode_head(uint8_t *place, const struct atf_detail_record *record,
					     uint64_t type_key, uint64_t extra, size_t size)
{
	struct atf_detail_record head = *record;

	head.total_length = (uint32_t)(ATF_ARGUMENTS_HEAD_SIZE + size);
	head.event_type = ATF_DETAIL_TYPE_ARGUMENTS;
	atf_detail_record_encode(&head, place);
	sonde_store_u64le(place + ATF_DETAIL_RECORD_SIZE + ATF_ARGUMENTS_TYPE, type_key);
	sonde_store_u64le(place + ATF_DETAIL_RECORD_SIZE + ATF_ARGUMENTS_EXTRA, extra);
}

/* The whole record; gives its size, ATF_ARGUMENTS_HEAD_SIZE + size. */
static inline size_t atf_arguments_encode(uint8_t *place, const struct atf_detail_record *record,
					  uint64_t type_key, uint64_t extra, const void *values,
					  size_t size)
{
	atf_arguments_encode_head(place, record, type_key, extra, size);
	if (size)
		memcpy(place + ATF_ARGUMENTS_HEAD_SIZE, values, size);
	return ATF_ARGUMENTS_HEAD_SIZE + size;
}

/* What a payload of that type starts with. */
struct atf_arguments {
	uint64_t type_key;
	uint64_t extra;
	const uint8_t *values;
	size_t size;
};

/* False where the payload is too short. */
static inline bool atf_arguments_decode(struct atf_arguments *arguments, const uint8_t *payload,
					size_t size)
{
	if (size < ATF_ARGUMENTS_VALUES)
		return false;
	arguments->type_key = sonde_load_u64le(payload + ATF_ARGUMENTS_TYPE);
	arguments->extra = sonde_load_u64le(payload + ATF_ARGUMENTS_EXTRA);
	arguments->values = payload + ATF_ARGUMENTS_VALUES;
	arguments->size = size - ATF_ARGUMENTS_VALUES;
	return true;
}

/* Kinds whose events need such a detail, for their number or value. */
static inline bool atf_kind_has_extra(uint32_t kind)
{
	return kind - ATF_KIND_FLOW_BEGIN <= ATF_KIND_RANGE_END - ATF_KIND_FLOW_BEGIN;
}

static inline bool atf_kind_is_annotation(uint32_t kind)
{
	return kind - ATF_KIND_INSTANT <= ATF_KIND_RANGE_END - ATF_KIND_INSTANT;
}

#endif
