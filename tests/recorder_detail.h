/* SPDX-License-Identifier: Apache-2.0 */
/* Adds one detail with registers to a recorder, for tests. */
#ifndef SONDE_TESTS_RECORDER_DETAIL_H
#define SONDE_TESTS_RECORDER_DETAIL_H

#include <string.h>

#include "formats/atf/atf_frame.h"
#include "formats/atf/atf_recorder.h"

/* total_length and thread_id are filled in here. */
static inline enum sonde_status recorder_add_detail(struct atf_recorder_thread *thread,
						    struct atf_detail_record header,
						    const struct sonde_registers *registers,
						    uint64_t function_id, const uint8_t *stack,
						    uint16_t stack_size, uint32_t *detail_seq,
						    struct sonde_error *error)
{
	uint8_t *place;
	enum sonde_status status;

	header.total_length = ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_SIZE + stack_size;
	header.thread_id = atf_recorder_thread_slot(thread);
	status = atf_recorder_detail_place(thread, header.total_length, &place, detail_seq, error);
	if (status < 0)
		return status;
	atf_detail_record_encode(&header, place);
	atf_payload_encode(place + ATF_DETAIL_RECORD_SIZE, function_id, registers->values,
			   stack_size, registers->flags);
	if (stack_size)
		memcpy(place + ATF_DETAIL_RECORD_SIZE + ATF_PAYLOAD_SIZE, stack, stack_size);
	atf_recorder_detail_put(thread, header.total_length, 1, place);
	return SONDE_OK;
}

#endif
