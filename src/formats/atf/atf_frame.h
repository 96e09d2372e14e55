/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands around the records of one part of a thread: headers and footers of index.atf and
 * detail.atf, kept up while records are added, and the bytes of detail records. Where the bytes
 * go is the caller's business: the sink (atf_write.c) and the recorder (atf_recorder.c).
 */
#ifndef SONDE_ATF_FRAME_H
#define SONDE_ATF_FRAME_H

#include <stdbool.h>
#include <string.h>

#include <sonde/event.h>

#include "base/crc.h"
#include "formats/atf/atf_layout.h"

/* One part: counts, times and checksums of what is in its two files. */
struct atf_frame {
	struct atf_index_header header; /* what the final one will be, apart from the counts */
	struct atf_index_footer footer;
	bool has_detail; /* there is a detail.atf */
	struct atf_detail_footer detail_footer;
	uint32_t linked_first, linked_last; /* index numbers; first > last: none yet */
};

void atf_frame_init(struct atf_frame *frame, enum sonde_arch arch, enum sonde_os os,
		    uint8_t clock_type, uint32_t slot);

/* The headers of files that are not finished: ATF_HEADER_SIZE bytes. */
void atf_frame_index_placeholder(const struct atf_frame *frame, uint8_t *bytes);
void atf_frame_detail_placeholder(const struct atf_frame *frame, uint8_t *bytes);

/* The final headers and the footers, both from what was added so far. */
void atf_frame_index_end(const struct atf_frame *frame, uint8_t header[ATF_HEADER_SIZE],
			 uint8_t footer[ATF_FOOTER_SIZE]);
void atf_frame_detail_end(const struct atf_frame *frame, uint8_t header[ATF_HEADER_SIZE],
			  uint8_t footer[ATF_FOOTER_SIZE]);

/* Counts `count` (not 0) events; their bytes are handed to atf_frame_sum_events(). */
static inline void atf_frame_count_events(struct atf_frame *frame, size_t count, uint64_t first_ns,
					  uint64_t last_ns)
{
	if (frame->footer.event_count == 0)
		frame->footer.time_start_ns = first_ns;
	frame->footer.time_end_ns = last_ns;
	frame->footer.event_count += count;
}

static inline void atf_frame_sum_events(struct atf_frame *frame, const void *bytes, size_t size)
{
	frame->footer.checksum = sonde_crc32(frame->footer.checksum, bytes, size);
	frame->footer.bytes_written += size;
}

static inline void atf_frame_count_details(struct atf_frame *frame, size_t count, uint64_t first_ns,
					   uint64_t last_ns)
{
	if (frame->detail_footer.event_count == 0)
		frame->detail_footer.time_start_ns = first_ns;
	frame->detail_footer.time_end_ns = last_ns;
	frame->detail_footer.event_count += count;
}

static inline void atf_frame_sum_details(struct atf_frame *frame, const void *bytes, size_t size)
{
	frame->detail_footer.checksum = sonde_crc32(frame->detail_footer.checksum, bytes, size);
	frame->detail_footer.bytes_length += size;
}

/* Details that link to the events `first` to `last`, behind those of earlier calls. */
static inline void atf_frame_link(struct atf_frame *frame, uint32_t first, uint32_t last)
{
	if (frame->linked_first > frame->linked_last)
		frame->linked_first = first;
	frame->linked_last = last;
}

/* The fixed bytes of a function payload, ATF_PAYLOAD_SIZE; the stack bytes follow them. */
static inline void atf_payload_encode(uint8_t *bytes, uint64_t function_id,
				      const uint64_t registers[SONDE_REGISTER_COUNT],
				      uint16_t stack_size, uint16_t flags)
{
	sonde_store_u64le(bytes, function_id);
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) /* the same, and several times faster */
		memcpy(bytes + ATF_PAYLOAD_REGISTERS, registers,
		       SONDE_REGISTER_COUNT * sizeof(*registers));
	else
		for (int i = 0; i < SONDE_REGISTER_COUNT; i++)
			sonde_store_u64le(bytes + ATF_PAYLOAD_REGISTERS + 8 * i, registers[i]);
	sonde_store_u16le(bytes + ATF_PAYLOAD_STACK_SIZE, stack_size);
	sonde_store_u16le(bytes + ATF_PAYLOAD_FLAGS, flags);
}

#endif
