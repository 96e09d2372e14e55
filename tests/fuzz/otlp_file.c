/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target over files of OTLP JSON. */
#include "memory_file.h"
#include "whole_recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	whole_recording(memory_file(data, size), "otlp-json");
	return 0;
}
