/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes files of OTLP JSON: opened as recordings, every event and detail is read. */
#include "exchange_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_exchange_file("otlp-json", data, size);
	return 0;
}
