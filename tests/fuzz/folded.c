/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target over folded stacks, plain or packed. */
#include "profile_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_profile_file("folded", data, size);
}
