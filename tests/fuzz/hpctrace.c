/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target over traces: every record is within the bytes, and written again it is the same. */
#include <string.h>

#include "formats/hpcrun/hpcrun_write.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonde_mapped_file file = { .data = data, .size = size };
	struct hpctrace_record records[16];
	uint8_t header[HPCTRACE_HEADER_SIZE], bytes[HPCTRACE_RECORD_SIZE];
	struct sonde_error err = { 0 };
	struct hpctrace trace;
	uint64_t at = 0;
	size_t count;

	if (hpctrace_of(&trace, &file, &err)) {
		REQUIRE(err.status < 0 && !trace.count);
		return 0;
	}
	hpctrace_encode_header(trace.flags, header);
	REQUIRE(!memcmp(header, data, sizeof(header)));
	for (; (count = hpctrace_read(&trace, at, records, 16)); at += count) {
		const uint8_t *place = data + HPCTRACE_HEADER_SIZE + at * trace.record_size;

		hpctrace_encode(records, 1, bytes);
		REQUIRE(!memcmp(bytes, place, sizeof(bytes)));
	}
	REQUIRE(at == trace.count);
	REQUIRE(HPCTRACE_HEADER_SIZE + at * trace.record_size + trace.left_over == size);
	return 0;
}
