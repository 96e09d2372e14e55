/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers and footers of the files of a part, from what was counted while they were written.
 * Their bytes are in atf_layout.c.
 */
#include "formats/atf/atf_frame.h"

void atf_frame_init(struct atf_frame *frame, enum sonde_arch arch, enum sonde_os os,
		    uint8_t clock_type, uint32_t slot)
{
	*frame = (struct atf_frame){
		.header = {
			.identity = { .endian = ATF_LITTLE_ENDIAN,
				      .version = ATF_VERSION,
				      .arch = (uint8_t)arch,
				      .os = (uint8_t)os,
				      .thread_id = slot },
			.clock_type = clock_type,
			.event_size = ATF_EVENT_SIZE,
			.events_offset = ATF_HEADER_SIZE,
			.footer_offset = ATF_HEADER_SIZE,
		},
		.linked_first = UINT32_MAX,
	};
}

void atf_frame_index_placeholder(const struct atf_frame *frame, uint8_t *bytes)
{
	atf_index_header_encode(&frame->header, bytes);
}

void atf_frame_detail_placeholder(const struct atf_frame *frame, uint8_t *bytes)
{
	struct atf_detail_header header = {
		.identity = frame->header.identity,
		.events_offset = ATF_HEADER_SIZE,
	};

	atf_detail_header_encode(&header, bytes);
}

void atf_frame_index_end(const struct atf_frame *frame, uint8_t header[ATF_HEADER_SIZE],
			 uint8_t footer[ATF_FOOTER_SIZE])
{
	struct atf_index_header final = frame->header;

	final.identity.flags = frame->has_detail ? ATF_FLAG_HAS_DETAIL : 0;
	final.event_count = (uint32_t)frame->footer.event_count;
	final.footer_offset = ATF_HEADER_SIZE + frame->footer.bytes_written;
	final.time_start_ns = frame->footer.time_start_ns;
	final.time_end_ns = frame->footer.time_end_ns;
	atf_index_header_encode(&final, header);
	atf_index_footer_encode(&frame->footer, footer);
}

void atf_frame_detail_end(const struct atf_frame *frame, uint8_t header[ATF_HEADER_SIZE],
			  uint8_t footer[ATF_FOOTER_SIZE])
{
	struct atf_detail_header final = {
		.identity = frame->header.identity,
		.events_offset = ATF_HEADER_SIZE,
		.event_count = frame->detail_footer.event_count,
		.bytes_length = frame->detail_footer.bytes_length,
	};

	if (frame->linked_first <= frame->linked_last) {
		final.index_seq_start = frame->linked_first;
		final.index_seq_end = frame->linked_last;
	}
	atf_detail_header_encode(&final, header);
	atf_detail_footer_encode(&frame->detail_footer, footer);
}
