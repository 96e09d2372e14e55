/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data of agents: definitions that come, change and are missing; damage leaves nothing in the
 * store. What comes out of a store again is tested in tests/interop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cbor.h"
#include "scratch.h"
#include "store/agent.h"

static struct sonde_store *store;

static int open_store(void **state)
{
	struct sonde_store_settings settings;

	make_scratch(state);
	sonde_store_settings_init(&settings);
	if (sonde_store_init(scratch_path("store"), &settings, NULL) < 0)
		return -1;
	return sonde_store_open(scratch_path("store"), &store, NULL, NULL);
}

static int close_store(void **state)
{
	sonde_store_close(store, NULL);
	return remove_scratch(state);
}

static void put_tag(struct sonde_buffer *out, uint64_t tag, uint64_t items)
{
	sonde_cbor_put_head(out, SONDE_CBOR_TAG, tag);
	sonde_cbor_put_head(out, SONDE_CBOR_ARRAY, items);
}

static void put_string(struct sonde_buffer *out, uint64_t id, const char *text, uint64_t type)
{
	put_tag(out, 0x0d, 3);
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, id);
	sonde_cbor_put_head(out, SONDE_CBOR_TEXT, strlen(text));
	sonde_buffer_put(out, text, strlen(text));
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, type);
}

static void put_method(struct sonde_buffer *out, uint64_t id, uint64_t class_id, uint64_t name)
{
	put_tag(out, 0x0e, 4);
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, id);
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, class_id);
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, name);
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, 0);
}

static void put_word(struct sonde_buffer *out, uint64_t tag, uint64_t above, uint64_t ticks)
{
	uint64_t word = htobe64(above << 40 | ticks);

	sonde_cbor_put_head(out, SONDE_CBOR_TAG, tag);
	sonde_cbor_put_head(out, SONDE_CBOR_BYTES, sizeof(word));
	sonde_buffer_put(out, &word, sizeof(word));
}

/* A call of a method that begins a trace, with one attribute by the id of its key. */
static void put_trace(struct sonde_buffer *out, uint64_t method, uint64_t key)
{
	sonde_buffer_put(out, "\xc8\x9f", 2);
	put_word(out, 0x0a, method, 5);
	put_tag(out, 0x21, 2);
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, 1700000000000);
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, 1);
	sonde_buffer_put(out, "\xc9\xa1\xc6", 3);
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, key);
	sonde_cbor_put_head(out, SONDE_CBOR_UINT, 7);
	put_word(out, 0x0c, 1, 9);
	sonde_buffer_put_char(out, (char)0xff);
}

static void put_definitions(struct sonde_buffer *out)
{
	put_string(out, 1, "shop.Cart", 5);
	put_string(out, 2, "buy", 6);
	put_string(out, 3, "STATUS", 0);
	put_method(out, 10, 1, 2);
}

static enum sonde_status send(struct sonde_agent *agent, const struct sonde_buffer *body,
			      struct sonde_ingest_result *result)
{
	struct sonde_error err = { 0 };
	uint64_t ticket;

	return sonde_agent_traces(agent, store, NULL, body->data, body->size, result, &ticket,
				  &err);
}

static uint64_t stored(void)
{
	struct sonde_store_counters counters;

	sonde_store_counters(store, &counters);
	return counters.traces;
}

static void test_definitions(void **state)
{
	struct sonde_agent *agent = sonde_agent_new("host", NULL, NULL);
	struct sonde_buffer definitions = { 0 }, body = { 0 };
	struct sonde_ingest_result result;
	uint64_t before = stored();

	(void)state;
	put_definitions(&definitions);
	put_trace(&body, 10, 3);
	assert_int_equal(send(agent, &body, &result), SONDE_ARGUMENT);
	assert_int_equal(sonde_agent_define(agent, definitions.data, definitions.size, NULL), 0);
	assert_int_equal(send(agent, &body, &result), SONDE_OK);
	assert_int_equal(result.traces, 1);
	assert_int_equal(stored(), before + 1);
	/* the second of two uses what is not defined: neither is stored */
	put_trace(&body, 10, 4);
	assert_int_equal(send(agent, &body, &result), SONDE_ARGUMENT);
	assert_int_equal(stored(), before + 1);
	/* a method of a class that is not defined */
	sonde_buffer_clear(&definitions);
	put_method(&definitions, 11, 99, 2);
	assert_int_equal(sonde_agent_define(agent, definitions.data, definitions.size, NULL), 0);
	sonde_buffer_clear(&body);
	put_trace(&body, 11, 3);
	assert_int_equal(send(agent, &body, &result), SONDE_ARGUMENT);
	/* what is defined again counts as it is now, and takes no second place */
	sonde_buffer_clear(&definitions);
	put_method(&definitions, 11, 1, 2);
	assert_int_equal(sonde_agent_define(agent, definitions.data, definitions.size, NULL), 0);
	assert_int_equal(agent->methods.count, 2);
	assert_int_equal(send(agent, &body, &result), SONDE_OK);
	sonde_buffer_release(&definitions);
	sonde_buffer_release(&body);
	sonde_agent_free(agent);
}

/* Cut or with any byte changed: refused, or stored whole; in memory of exactly its size. */
static void test_damage(void **state)
{
	struct sonde_agent *agent = sonde_agent_new("host", NULL, NULL);
	struct sonde_buffer definitions = { 0 }, body = { 0 };

	(void)state;
	put_definitions(&definitions);
	assert_int_equal(sonde_agent_define(agent, definitions.data, definitions.size, NULL), 0);
	put_trace(&body, 10, 3);
	for (size_t size = 1; size <= body.size; size++) {
		uint64_t before = stored();
		struct sonde_ingest_result result;
		struct sonde_buffer copy = { .data = malloc(size), .size = size };

		memcpy(copy.data, body.data, size);
		assert_int_equal(send(agent, &copy, &result) < 0, size < body.size);
		assert_int_equal(stored() - before, size == body.size);
		for (unsigned int bit = 0; size == body.size && bit < 8 * size; bit++) {
			before = stored();
			copy.data[bit / 8] ^= (char)(1u << bit % 8);
			if (send(agent, &copy, &result) < 0)
				assert_int_equal(stored(), before);
			copy.data[bit / 8] ^= (char)(1u << bit % 8);
		}
		free(copy.data);
	}
	for (size_t size = 0; size <= definitions.size; size++) {
		struct sonde_agent *other = sonde_agent_new(NULL, NULL, NULL);
		char *copy = malloc(size ? size : 1);

		memcpy(copy, definitions.data, size);
		sonde_agent_define(other, copy, size, NULL);
		free(copy);
		sonde_agent_free(other);
	}
	sonde_buffer_release(&definitions);
	sonde_buffer_release(&body);
	sonde_agent_free(agent);
}

static void test_limits(void **state)
{
	struct sonde_agent *agent = sonde_agent_new(NULL, NULL, NULL);
	struct sonde_buffer definitions = { 0 };
	char *text = malloc(AGENT_LONGEST_TEXT);
	enum sonde_status status = SONDE_OK;
	unsigned int rounds = 0;

	(void)state;
	memset(text, 'x', AGENT_LONGEST_TEXT);
	text[AGENT_LONGEST_TEXT - 1] = '\0';
	put_string(&definitions, 1, text, 0);
	assert_int_equal(sonde_agent_define(agent, definitions.data, definitions.size, NULL),
			 SONDE_LIMIT);
	/* the same id again and again: texts are not forgotten, so that comes to an end */
	text[AGENT_LONGEST_TEXT / 4] = '\0';
	sonde_buffer_clear(&definitions);
	put_string(&definitions, 1, text, 0);
	while (status >= 0 && rounds++ < 1000)
		status = sonde_agent_define(agent, definitions.data, definitions.size, NULL);
	assert_int_equal(status, SONDE_LIMIT);
	assert_true(sonde_agent_memory(agent) <= AGENT_MOST_TEXT + 65536);
	sonde_buffer_release(&definitions);
	free(text);
	sonde_agent_free(agent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_definitions),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, open_store, close_store);
}
