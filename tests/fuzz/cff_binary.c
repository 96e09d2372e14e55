/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes a binary wtf-trace file; see cff_file.h for what is done to it. */
#include "cff_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_cff_file("input.wtf-trace", data, size);
}
