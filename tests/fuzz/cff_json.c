/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes wtf-trace files as JSON; see cff_made.h for what is done to them. */
#include "cff_made.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_maker(cff_make_from_json, data, size);
	return 0;
}
