/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target over profiles of version 02.00l in either layout; decoded, mended, written and read again. */
#include <string.h>

#include "hpcrun_decoding.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	try_profile("HPCRUN____02.00l", data, size);
	return 0;
}
