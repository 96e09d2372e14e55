/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers and footers of ATF v2 to and from bytes. No judgement about the values happens here:
 * atf_lane.c decides what can be read, atf_check.c what is wrong.
 */
#include "formats/atf/atf_layout.h"

#include <ctype.h>

uint32_t atf_path_hash(const char *path)
{
	uint32_t hash = 2166136261u;

	for (const char *c = path; *c; c++)
		hash = (hash ^ (uint8_t)tolower((unsigned char)*c)) * 16777619u;
	return hash;
}

static void decode_identity(struct atf_identity *identity, const uint8_t *bytes)
{
	identity->endian = bytes[4];
	identity->version = bytes[5];
	identity->arch = bytes[6];
	identity->os = bytes[7];
	identity->flags = sonde_load_u32le(bytes + 8);
	identity->thread_id = sonde_load_u32le(bytes + 12);
}

static void encode_identity(const struct atf_identity *identity, const char *magic, uint8_t *bytes)
{
	memcpy(bytes, magic, ATF_MAGIC_SIZE);
	bytes[4] = identity->endian;
	bytes[5] = identity->version;
	bytes[6] = identity->arch;
	bytes[7] = identity->os;
	sonde_store_u32le(bytes + 8, identity->flags);
	sonde_store_u32le(bytes + 12, identity->thread_id);
}

/* Index Header: 16 bytes identity, 8 timing, 8 event layout, 16 offsets, 16 time range. */
void atf_index_header_decode(struct atf_index_header *header, const uint8_t *bytes)
{
	decode_identity(&header->identity, bytes);
	header->clock_type = bytes[16];
	header->event_size = sonde_load_u32le(bytes + 24);
	header->event_count = sonde_load_u32le(bytes + 28);
	header->events_offset = sonde_load_u64le(bytes + 32);
	header->footer_offset = sonde_load_u64le(bytes + 40);
	header->time_start_ns = sonde_load_u64le(bytes + 48);
	header->time_end_ns = sonde_load_u64le(bytes + 56);
}

void atf_index_header_encode(const struct atf_index_header *header, uint8_t *bytes)
{
	memset(bytes, 0, ATF_HEADER_SIZE);
	encode_identity(&header->identity, ATF_INDEX_MAGIC, bytes);
	bytes[16] = header->clock_type;
	sonde_store_u32le(bytes + 24, header->event_size);
	sonde_store_u32le(bytes + 28, header->event_count);
	sonde_store_u64le(bytes + 32, header->events_offset);
	sonde_store_u64le(bytes + 40, header->footer_offset);
	sonde_store_u64le(bytes + 48, header->time_start_ns);
	sonde_store_u64le(bytes + 56, header->time_end_ns);
}

/* Index Footer: 40 bytes of fields and 24 reserved. */
void atf_index_footer_decode(struct atf_index_footer *footer, const uint8_t *bytes)
{
	footer->checksum = sonde_load_u32le(bytes + 4);
	footer->event_count = sonde_load_u64le(bytes + 8);
	footer->time_start_ns = sonde_load_u64le(bytes + 16);
	footer->time_end_ns = sonde_load_u64le(bytes + 24);
	footer->bytes_written = sonde_load_u64le(bytes + 32);
}

void atf_index_footer_encode(const struct atf_index_footer *footer, uint8_t *bytes)
{
	memset(bytes, 0, ATF_FOOTER_SIZE);
	memcpy(bytes, ATF_INDEX_FOOTER_MAGIC, ATF_MAGIC_SIZE);
	sonde_store_u32le(bytes + 4, footer->checksum);
	sonde_store_u64le(bytes + 8, footer->event_count);
	sonde_store_u64le(bytes + 16, footer->time_start_ns);
	sonde_store_u64le(bytes + 24, footer->time_end_ns);
	sonde_store_u64le(bytes + 32, footer->bytes_written);
}

/* Detail Header: packed, so the u64 fields stand at 20, 28, 36, 44 and 52; 4 reserved at the end. */
void atf_detail_header_decode(struct atf_detail_header *header, const uint8_t *bytes)
{
	decode_identity(&header->identity, bytes);
	header->events_offset = sonde_load_u64le(bytes + 20);
	header->event_count = sonde_load_u64le(bytes + 28);
	header->bytes_length = sonde_load_u64le(bytes + 36);
	header->index_seq_start = sonde_load_u64le(bytes + 44);
	header->index_seq_end = sonde_load_u64le(bytes + 52);
}

void atf_detail_header_encode(const struct atf_detail_header *header, uint8_t *bytes)
{
	memset(bytes, 0, ATF_HEADER_SIZE);
	encode_identity(&header->identity, ATF_DETAIL_MAGIC, bytes);
	sonde_store_u64le(bytes + 20, header->events_offset);
	sonde_store_u64le(bytes + 28, header->event_count);
	sonde_store_u64le(bytes + 36, header->bytes_length);
	sonde_store_u64le(bytes + 44, header->index_seq_start);
	sonde_store_u64le(bytes + 52, header->index_seq_end);
}

/* Detail Footer: 40 bytes of fields and 24 reserved. */
void atf_detail_footer_decode(struct atf_detail_footer *footer, const uint8_t *bytes)
{
	footer->checksum = sonde_load_u32le(bytes + 4);
	footer->event_count = sonde_load_u64le(bytes + 8);
	footer->bytes_length = sonde_load_u64le(bytes + 16);
	footer->time_start_ns = sonde_load_u64le(bytes + 24);
	footer->time_end_ns = sonde_load_u64le(bytes + 32);
}

void atf_detail_footer_encode(const struct atf_detail_footer *footer, uint8_t *bytes)
{
	memset(bytes, 0, ATF_FOOTER_SIZE);
	memcpy(bytes, ATF_DETAIL_FOOTER_MAGIC, ATF_MAGIC_SIZE);
	sonde_store_u32le(bytes + 4, footer->checksum);
	sonde_store_u64le(bytes + 8, footer->event_count);
	sonde_store_u64le(bytes + 16, footer->bytes_length);
	sonde_store_u64le(bytes + 24, footer->time_start_ns);
	sonde_store_u64le(bytes + 32, footer->time_end_ns);
}
