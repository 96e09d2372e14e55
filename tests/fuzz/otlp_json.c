/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes requests of OpenTelemetry in JSON, into a store; see otlp_request.h. */
#include "otlp_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_request(otlp_read_json, sonde_ingest_otlp_json, data, size);
	return 0;
}
