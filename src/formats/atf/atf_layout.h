/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of ATF v2, after "ADA Trace Format V2": sizes, offsets and constants, and the decoded
 * structs with the names of the document. Nothing else in the library knows them. Where the
 * document contradicts itself, doc/formats/atf.md says what holds.
 */
#ifndef SONDE_ATF_LAYOUT_H
#define SONDE_ATF_LAYOUT_H

#include <stdint.h>

#include "base/bytes.h"

/* All four of headers and footers, in both files. */
#define ATF_HEADER_SIZE 64
#define ATF_FOOTER_SIZE 64

#define ATF_INDEX_MAGIC "ATI2"
#define ATF_INDEX_FOOTER_MAGIC "2ITA"
#define ATF_DETAIL_MAGIC "ATD2"
#define ATF_DETAIL_FOOTER_MAGIC "2DTA"
#define ATF_MAGIC_SIZE 4

#define ATF_LITTLE_ENDIAN 1
#define ATF_VERSION 1

/* "Index Header", flags. */
#define ATF_FLAG_HAS_DETAIL 1u

/* "Index Event": position is the sequence number, so a file holds at most UINT32_MAX events. */
#define ATF_EVENT_SIZE 32
#define ATF_EVENT_TIME 0
#define ATF_EVENT_FUNCTION 8
#define ATF_EVENT_THREAD 16
#define ATF_EVENT_KIND 20
#define ATF_EVENT_DEPTH 24
#define ATF_EVENT_DETAIL 28
#define ATF_EVENTS_MAX UINT32_MAX

#define ATF_KIND_CALL 1
#define ATF_KIND_RETURN 2
#define ATF_KIND_EXCEPTION 3

/* detail_seq and index_seq: no link. */
#define ATF_NO_LINK UINT32_MAX

/* "Detail Event Header". */
#define ATF_DETAIL_RECORD_SIZE 24
#define ATF_DETAIL_TYPE_CALL 3
#define ATF_DETAIL_TYPE_RETURN 4

/*
 * Ours: kinds of index events from 4 on are those of enum sonde_event_kind (instant .. range-end);
 * function_id is that of an event type, which the manifest lists among its symbols. What such an
 * event has beyond the index, and the arguments of an annotated scope's call, are in a detail of
 * this type: function_id of the event type, then `extra` (a flow's or range's number, the bits of a
 * counter's value, else 0), then packed arguments.
 */
#define ATF_KIND_INSTANT 4u
#define ATF_KIND_FLOW_BEGIN 6u
#define ATF_KIND_COUNTER 9u
#define ATF_KIND_RANGE_END 11u
#define ATF_DETAIL_TYPE_ARGUMENTS 0x5301u
#define ATF_ARGUMENTS_TYPE 0
#define ATF_ARGUMENTS_EXTRA 8
#define ATF_ARGUMENTS_VALUES 16

/* "Detail Function Payload": function_id, 11 registers, stack_size, reserved (x86_64: flags). */
#define ATF_PAYLOAD_SIZE 100
#define ATF_PAYLOAD_REGISTERS 8
#define ATF_PAYLOAD_STACK_SIZE 96
#define ATF_PAYLOAD_FLAGS 98
#define ATF_STACK_MAX 256

/*
 * What both headers start with, behind the magic. arch and os are numbered like enum sonde_arch
 * and enum sonde_os, clock_type below like enum sonde_clock_kind.
 */
struct atf_identity {
	uint8_t endian;
	uint8_t version;
	uint8_t arch;
	uint8_t os;
	uint32_t flags;
	uint32_t thread_id;
};

struct atf_index_header {
	struct atf_identity identity;
	uint8_t clock_type;
	uint32_t event_size;
	uint32_t event_count;
	uint64_t events_offset;
	uint64_t footer_offset;
	uint64_t time_start_ns;
	uint64_t time_end_ns;
};

struct atf_index_footer {
	uint32_t checksum; /* 0: not computed */
	uint64_t event_count;
	uint64_t time_start_ns;
	uint64_t time_end_ns;
	uint64_t bytes_written;
};

struct atf_index_event {
	uint64_t timestamp_ns;
	uint64_t function_id;
	uint32_t thread_id;
	uint32_t event_kind;
	uint32_t call_depth;
	uint32_t detail_seq;
};

struct atf_detail_header {
	struct atf_identity identity;
	uint64_t events_offset;
	uint64_t event_count;
	uint64_t bytes_length;
	uint64_t index_seq_start;
	uint64_t index_seq_end; /* inclusive */
};

struct atf_detail_footer {
	uint32_t checksum; /* 0: not computed */
	uint64_t event_count;
	uint64_t bytes_length;
	uint64_t time_start_ns;
	uint64_t time_end_ns;
};

struct atf_detail_record {
	uint32_t total_length;
	uint16_t event_type;
	uint16_t flags;
	uint32_t index_seq;
	uint32_t thread_id;
	uint64_t timestamp;
};

/* FNV-1a-32 of a module's path in lower case: the high half of the function_ids of the module. */
uint32_t atf_path_hash(const char *path);

/* Decoders take exactly the bytes of the struct; encoders write them, reserved fields as 0. */
void atf_index_header_decode(struct atf_index_header *header, const uint8_t *bytes);
void atf_index_header_encode(const struct atf_index_header *header, uint8_t *bytes);
void atf_index_footer_decode(struct atf_index_footer *footer, const uint8_t *bytes);
void atf_index_footer_encode(const struct atf_index_footer *footer, uint8_t *bytes);
void atf_detail_header_decode(struct atf_detail_header *header, const uint8_t *bytes);
void atf_detail_header_encode(const struct atf_detail_header *header, uint8_t *bytes);
void atf_detail_footer_decode(struct atf_detail_footer *footer, const uint8_t *bytes);
void atf_detail_footer_encode(const struct atf_detail_footer *footer, uint8_t *bytes);

static inline void atf_index_event_decode(struct atf_index_event *event, const uint8_t *bytes)
{
	event->timestamp_ns = sonde_load_u64le(bytes + ATF_EVENT_TIME);
	event->function_id = sonde_load_u64le(bytes + ATF_EVENT_FUNCTION);
	event->thread_id = sonde_load_u32le(bytes + ATF_EVENT_THREAD);
	event->event_kind = sonde_load_u32le(bytes + ATF_EVENT_KIND);
	event->call_depth = sonde_load_u32le(bytes + ATF_EVENT_DEPTH);
	event->detail_seq = sonde_load_u32le(bytes + ATF_EVENT_DETAIL);
}

static inline void atf_index_event_encode(const struct atf_index_event *event, uint8_t *bytes)
{
	sonde_store_u64le(bytes + ATF_EVENT_TIME, event->timestamp_ns);
	sonde_store_u64le(bytes + ATF_EVENT_FUNCTION, event->function_id);
	sonde_store_u32le(bytes + ATF_EVENT_THREAD, event->thread_id);
	sonde_store_u32le(bytes + ATF_EVENT_KIND, event->event_kind);
	sonde_store_u32le(bytes + ATF_EVENT_DEPTH, event->call_depth);
	sonde_store_u32le(bytes + ATF_EVENT_DETAIL, event->detail_seq);
}

static inline void atf_detail_record_decode(struct atf_detail_record *record, const uint8_t *bytes)
{
	record->total_length = sonde_load_u32le(bytes);
	record->event_type = sonde_load_u16le(bytes + 4);
	record->flags = sonde_load_u16le(bytes + 6);
	record->index_seq = sonde_load_u32le(bytes + 8);
	record->thread_id = sonde_load_u32le(bytes + 12);
	record->timestamp = sonde_load_u64le(bytes + 16);
}

static inline void atf_detail_record_encode(const struct atf_detail_record *record, uint8_t *bytes)
{
	/* two fields and more at a time: this is done for every event */
	sonde_store_u64le(bytes, record->total_length | (uint64_t)record->event_type << 32 |
					 (uint64_t)record->flags << 48);
	sonde_store_u64le(bytes + 8, record->index_seq | (uint64_t)record->thread_id << 32);
	sonde_store_u64le(bytes + 16, record->timestamp);
}

#endif
