/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes manifest.json of an ATF session; see atf_session.h for what is done to it. */
#include "atf_session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_session_file("manifest.json", data, size);
}
