/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers and footers of ATF v2 to and from bytes. No judgement about the values happens here:
 * atf_lane.c decides what can be read, atf_check.c what is wrong.
 */
#include "formats/atf/atf_layout.h"

/* Index Header: 16 bytes identity, 8 timing, 8 event layout, 16 offsets, 16 time range. */
void atf_index_header_decode(struct atf_index_header *header, const uint8_t *bytes)
{
	header->endian = bytes[4];
	header->version = bytes[5];
	header->arch = bytes[6];
	header->os = bytes[7];
	header->flags = sonde_load_u32le(bytes + 8);
	header->thread_id = sonde_load_u32le(bytes + 12);
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
	memcpy(bytes, ATF_INDEX_MAGIC, ATF_MAGIC_SIZE);
	bytes[4] = header->endian;
	bytes[5] = header->version;
	bytes[6] = header->arch;
	bytes[7] = header->os;
	sonde_store_u32le(bytes + 8, header->flags);
	sonde_store_u32le(bytes + 12, header->thread_id);
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
	header->endian = bytes[4];
	header->version = bytes[5];
	header->arch = bytes[6];
	header->os = bytes[7];
	header->flags = sonde_load_u32le(bytes + 8);
	header->thread_id = sonde_load_u32le(bytes + 12);
	header->events_offset = sonde_load_u64le(bytes + 20);
	header->event_count = sonde_load_u64le(bytes + 28);
	header->bytes_length = sonde_load_u64le(bytes + 36);
	header->index_seq_start = sonde_load_u64le(bytes + 44);
	header->index_seq_end = sonde_load_u64le(bytes + 52);
}

void atf_detail_header_encode(const struct atf_detail_header *header, uint8_t *bytes)
{
	memset(bytes, 0, ATF_HEADER_SIZE);
	memcpy(bytes, ATF_DETAIL_MAGIC, ATF_MAGIC_SIZE);
	bytes[4] = header->endian;
	bytes[5] = header->version;
	bytes[6] = header->arch;
	bytes[7] = header->os;
	sonde_store_u32le(bytes + 8, header->flags);
	sonde_store_u32le(bytes + 12, header->thread_id);
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
