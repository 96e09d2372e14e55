/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes legacy wtf-trace files, and wtf-calls files; see cff_made.h for what is done to them. */
#include "cff_made.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool is_legacy = size && data[0] == 0xDE;

	fuzz_maker(is_legacy ? cff_make_from_legacy : cff_make_from_calls, data, size);
	return 0;
}
