/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes data of agents: definitions, and traces that use them. The input is a size (2 bytes,
 * little-endian) of the definitions, these, then the traces. What is refused leaves nothing in the
 * store.
 */
#include "base/bytes.h"
#include "fuzz_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonde_agent *agent = sonde_agent_new("host", "app", NULL);
	struct sonde_store *store = fuzz_store();
	struct sonde_bytes bytes = sonde_bytes_of(data, size);
	size_t definitions = sonde_bytes_u16le(&bytes), left = sonde_bytes_left(&bytes);
	struct sonde_ingest_result result;
	struct sonde_store_counters taken;
	struct sonde_error err = { 0 };
	enum sonde_status status;
	uint64_t ticket;

	REQUIRE(agent);
	if (definitions > left)
		definitions = left;
	sonde_agent_define(agent, data + bytes.position, definitions, &err);
	bytes.position += definitions;
	status = sonde_agent_traces(agent, store, NULL, data + bytes.position,
				    sonde_bytes_left(&bytes), &result, &ticket, &err);
	taken = fuzz_store_taken();
	REQUIRE(taken.traces == result.traces && taken.records == result.records);
	REQUIRE(status == SONDE_OK || !result.traces);
	sonde_agent_free(agent);
	return 0;
}
