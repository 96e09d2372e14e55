/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for any request: every span that is kept is in exactly one tree, and all are stored.
 */
#ifndef SONDE_FUZZ_OTLP_REQUEST_H
#define SONDE_FUZZ_OTLP_REQUEST_H

#include "formats/otlp/otlp.h"
#include "fuzz_store.h"

typedef enum sonde_status fuzz_reader(struct otlp_request *request, const void *body, size_t size,
				      struct sonde_error *err);
typedef enum sonde_status fuzz_ingest(struct sonde_store *store, const void *body, size_t size,
				      struct sonde_ingest_result *result, uint64_t *ticket,
				      struct sonde_error *err);

/* How many spans are in a tree; children begin in order. */
static size_t count_tree(const struct otlp_request *request, uint32_t root)
{
	const struct otlp_span *spans = request->spans.items;
	size_t count = 0;
	uint32_t at = root;

	REQUIRE(spans[root].parent == SONDE_NONE);
	for (;;) {
		REQUIRE(++count <= request->spans.count);
		if (spans[at].first_child != SONDE_NONE) {
			REQUIRE(spans[spans[at].first_child].parent == at);
			at = spans[at].first_child;
			continue;
		}
		while (at != root && spans[at].next_sibling == SONDE_NONE)
			at = spans[at].parent;
		if (at == root)
			return count;
		REQUIRE(spans[at].start_ns <= spans[spans[at].next_sibling].start_ns);
		REQUIRE(spans[at].parent == spans[spans[at].next_sibling].parent);
		at = spans[at].next_sibling;
	}
}

static void fuzz_request(fuzz_reader *read_body, fuzz_ingest *ingest, const uint8_t *data,
			 size_t size)
{
	struct otlp_request request = { 0 };
	struct sonde_ingest_result result;
	struct sonde_error err = { 0 };
	enum sonde_status status;
	size_t count = 0;
	uint64_t ticket;

	status = read_body(&request, data, size, &err);
	if (status == SONDE_OK)
		status = otlp_link(&request, &err);
	for (size_t i = 0; status == SONDE_OK && i < request.roots.count; i++)
		count += count_tree(&request, request.roots.items[i]);
	REQUIRE(status < 0 || count == request.spans.count);
	REQUIRE(ingest(fuzz_store(), data, size, &result, &ticket, &err) == status);
	if (status == SONDE_OK) {
		struct sonde_store_counters taken = fuzz_store_taken();

		REQUIRE(result.records == count && taken.records == count);
		REQUIRE(result.traces == request.roots.count && taken.traces == result.traces);
		REQUIRE(result.rejected == request.rejected);
	}
	otlp_request_release(&request);
}

#endif
