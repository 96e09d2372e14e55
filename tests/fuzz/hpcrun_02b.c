/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target over profiles of version 02.00b in either layout of metrics; decoded, mended, written and read again. */
#include <string.h>

#include "hpcrun_decoding.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_profile("HPCRUN-profile____02.00b", data, size);
	return 0;
}
