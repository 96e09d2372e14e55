/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target over trace.db: lines are within the file, and a time is looked for in each. */
#include "formats/hpcdb/hpcdb_trace.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hpcdb_trace trace;

	if (size > 1 << 20 || hpcdb_trace_of(&trace, data, size, "trace.db", NULL))
		return 0;
	for (uint32_t i = 0; i < trace.lines.count && i < 500; i++) {
		struct hpcdb_line line = hpcdb_trace_at(&trace, i);

		REQUIRE(line.count <= size / HPCDB_SAMPLE_SIZE);
		if (!line.count)
			continue;
		REQUIRE(hpcdb_line_seek(&line, 0) == 0);
		REQUIRE(hpcdb_line_seek(&line, hpcdb_line_time(&line, line.count - 1)) <=
			line.count);
		hpcdb_line_context(&line, line.count - 1);
	}
	hpcdb_trace_release(&trace);
	return 0;
}
