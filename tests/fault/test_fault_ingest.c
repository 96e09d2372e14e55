/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of OpenTelemetry and of agents with each allocation and each call to the system failing
 * in turn: a request is in the store whole or not at all, so that a client that sends it again has
 * every trace once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/scratch.h"
#include "base/cbor.h"
#include "base/file.h"
#include "fault.h"
#include "formats/zts/zts_store.h"
#include "store/ingest.h"

/* Every kind of request here has so many trees. */
#define TREES 3

static char base_path[128];

struct world {
	enum sonde_status (*send)(struct sonde_store *store, uint64_t *ticket,
				  struct sonde_error *err);
	bool is_acknowledged;
	bool may_be_twice; /* a sync may fail at its very end, with all on the disk */
	unsigned int successes;
};

static const char json_body[] =
	"{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":"
	"{\"stringValue\":\"shop\"}},{\"key\":\"k\",\"value\":{\"arrayValue\":{\"values\":[{"
	"\"doubleValue\":1.5},{\"bytesValue\":\"AP8=\"}]}}}]},\"scopeSpans\":[{\"scope\":{\"name\":"
	"\"lib\",\"attributes\":[{\"key\":\"s\",\"value\":{\"intValue\":1}}]},\"spans\":["
	"{\"traceId\":\"000102030405060708090a0b0c0d0e0f\",\"spanId\":\"0000000000000001\","
	"\"name\":\"one\",\"kind\":2,\"startTimeUnixNano\":\"1700000000123456789\","
	"\"endTimeUnixNano\":\"1700000000123456799\",\"attributes\":[{\"key\":\"k\",\"value\":"
	"{\"stringValue\":\"text\"}},{\"key\":\"events\",\"value\":{\"boolValue\":true}}]},"
	"{\"traceId\":\"000102030405060708090a0b0c0d0e0f\",\"spanId\":\"0000000000000002\","
	"\"parentSpanId\":\"0000000000000001\",\"name\":\"two\",\"startTimeUnixNano\":"
	"\"1700000000123456790\",\"endTimeUnixNano\":\"1700000000123456791\",\"events\":[{\"name\":"
	"\"exception\",\"timeUnixNano\":\"1700000000123456790\",\"attributes\":[{\"key\":"
	"\"exception.type\",\"value\":{\"stringValue\":\"Bad\"}},{\"key\":\"exception.stacktrace\","
	"\"value\":{\"stringValue\":\"at a\\nat b\"}}]}]},"
	"{\"traceId\":\"100102030405060708090a0b0c0d0e0f\",\"spanId\":\"0000000000000003\","
	"\"name\":\"three\",\"startTimeUnixNano\":\"1700000000123456789\",\"endTimeUnixNano\":"
	"\"1700000000123456799\"}]}]},{\"resource\":{\"attributes\":[{\"key\":\"host.name\","
	"\"value\":{\"stringValue\":\"h\"}}]},\"scopeSpans\":[{\"spans\":[{\"traceId\":"
	"\"200102030405060708090a0b0c0d0e0f\",\"spanId\":\"0000000000000004\",\"kind\":9,"
	"\"name\":\"four\",\"startTimeUnixNano\":\"1700000000123456789\",\"endTimeUnixNano\":"
	"\"1700000000123456799\"}]}]}]}";

static enum sonde_status send_otlp(struct sonde_store *store, uint64_t *ticket,
				   struct sonde_error *err)
{
	struct sonde_ingest_result result;

	return sonde_ingest_otlp_json(store, json_body, sizeof(json_body) - 1, &result, ticket,
				      err);
}

static struct sonde_buffer definitions, traces;

static void put_tag(struct sonde_buffer *out, uint64_t tag, uint64_t items)
{
	sonde_cbor_put_head(out, SONDE_CBOR_TAG, tag);
	sonde_cbor_put_head(out, SONDE_CBOR_ARRAY, items);
}

static void put_number(struct sonde_buffer *out, uint64_t number)
{
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, number);
}

static void put_string(struct sonde_buffer *out, uint64_t id, const char *text, uint64_t type)
{
	put_tag(out, 0x0d, 3);
	put_number(out, id);
	sonde_cbor_put_head(out, SONDE_CBOR_TEXT, strlen(text));
	sonde_buffer_put_text(out, text);
	put_number(out, type);
}

/* A call that begins a trace, with an attribute and an exception. */
static void put_trace(struct sonde_buffer *out)
{
	sonde_buffer_put(out, "\xc8\x9f\xca\x48\0\0\x0a\0\0\0\0\5", 12);
	put_tag(out, 0x21, 2);
	put_number(out, 1700000000000);
	put_number(out, 3);
	sonde_buffer_put(out, "\xc9\xa1\xc6\3\x82\xf9\x3e\0\x41x", 10);
	put_tag(out, 0x22, 5);
	put_number(out, 1);
	put_number(out, 1);
	sonde_cbor_put_head(out, SONDE_CBOR_TEXT, 3);
	sonde_buffer_put_text(out, "why");
	put_number(out, 0);
	sonde_cbor_put_head(out, SONDE_CBOR_ARRAY, 1);
	sonde_cbor_put_head(out, SONDE_CBOR_ARRAY, 4);
	for (unsigned int i = 1; i <= 3; i++)
		put_number(out, i);
	put_number(out, 17);
	sonde_buffer_put(out, "\xcc\x48\0\0\1\0\0\0\0\x09\xff", 11);
}

static int make_agent_bodies(void **state)
{
	(void)state;
	put_string(&definitions, 1, "shop.Cart", 5);
	put_string(&definitions, 2, "buy", 6);
	put_string(&definitions, 3, "STATUS", 0);
	put_tag(&definitions, 0x0e, 4);
	put_number(&definitions, 10);
	put_number(&definitions, 1);
	put_number(&definitions, 2);
	put_number(&definitions, 0);
	for (unsigned int i = 0; i < TREES; i++)
		put_trace(&traces);
	return definitions.failed || traces.failed;
}

static enum sonde_status send_agent(struct sonde_store *store, uint64_t *ticket,
				    struct sonde_error *err)
{
	struct sonde_agent *agent = sonde_agent_new("host", "app", NULL);
	struct sonde_ingest_result result;
	enum sonde_status status;

	if (!agent)
		return sonde_fail_nomem(err);
	status = sonde_agent_define(agent, definitions.data, definitions.size, err);
	if (status >= 0)
		status = sonde_agent_traces(agent, store, "00010203-0405-0607-0809-0a0b0c0d0e0f",
					    traces.data, traces.size, &result, ticket, err);
	sonde_agent_free(agent);
	return status;
}

static void make_store(void *user)
{
	struct sonde_store_settings settings;
	struct world *world = user;

	world->is_acknowledged = false;
	remove_tree(base_path);
	sonde_store_settings_init(&settings);
	if (sonde_store_init(base_path, &settings, NULL) < 0)
		abort();
}

static enum sonde_status send_and_wait(struct world *world, struct sonde_store *store,
				       struct sonde_error *err)
{
	uint64_t ticket;
	enum sonde_status status = world->send(store, &ticket, err);

	return status < 0 ? status : sonde_store_wait(store, ticket, err);
}

/* A client that sends again what was not acknowledged, once. */
static enum sonde_status run(void *user, struct sonde_error *err)
{
	struct world *world = user;
	struct sonde_error closing;
	struct sonde_store *store;
	enum sonde_status status = sonde_store_open(base_path, &store, NULL, err);

	if (status < 0)
		return status;
	status = send_and_wait(world, store, err);
	if (status < 0)
		status = send_and_wait(world, store, err);
	world->is_acknowledged = status >= 0;
	if (sonde_store_close(store, &closing) < 0 && status >= 0) {
		*err = closing;
		status = closing.status;
	}
	return status;
}

static void examine(void *user, enum sonde_status status, const struct sonde_error *err)
{
	struct world *world = user;
	struct sonde_error opening;
	struct zts_base *base;
	size_t slots = 0;

	(void)err;
	world->successes += status >= 0;
	if (zts_base_open(base_path, NULL, &base, &opening) < 0) {
		assert_false(world->is_acknowledged); /* there is no part */
		return;
	}
	for (size_t i = 0; i < base->parts.count; i++)
		slots += base->parts.items[i]->slots.list.count;
	zts_base_free(base);
	assert_int_equal(slots % TREES, 0);
	if (world->is_acknowledged)
		assert_true(slots >= TREES);
	assert_true(slots <= (world->may_be_twice ? 2 * TREES : TREES));
}

static void run_all(struct world *world)
{
	const struct fault_case fault_case = {
		.run = run, .before = make_store, .after = examine, .user = world
	};

	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 50);
	assert_true(fault_run_all(FAULT_INPUT, &fault_case) > 0);
	world->may_be_twice = true;
	assert_true(fault_run_all(FAULT_OUTPUT, &fault_case) > 5);
	assert_true(world->successes > 20);
}

static void test_otlp(void **state)
{
	struct world world = { .send = send_otlp };

	(void)state;
	run_all(&world);
}

static void test_agent(void **state)
{
	struct world world = { .send = send_agent };

	(void)state;
	run_all(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_otlp),
		cmocka_unit_test(test_agent),
	};
	int result;

	if (make_scratch_in_memory(NULL) || make_agent_bodies(NULL))
		return 1;
	snprintf(base_path, sizeof(base_path), "%s/base", scratch);
	result = cmocka_run_group_tests(tests, NULL, NULL);
	sonde_buffer_release(&definitions);
	sonde_buffer_release(&traces);
	remove_scratch(NULL);
	return result;
}
