/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of OpenTelemetry: both encodings give the same spans, spans become trees, limits hold.
 * What comes out of a store again is tested with the real SDK in tests/interop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "formats/otlp/otlp.h"

#define TRACE_HEX "000102030405060708090a0b0c0d0e0f"
#define START 1700000000123456789u

/* --- protobuf --- */

static void put_varint(struct sonde_buffer *out, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		sonde_buffer_put_char(out, (char)(value | 0x80));
	sonde_buffer_put_char(out, (char)value);
}

static void put_number(struct sonde_buffer *out, unsigned int field, uint64_t value)
{
	put_varint(out, field << 3);
	put_varint(out, value);
}

static void put_fixed64(struct sonde_buffer *out, unsigned int field, uint64_t value)
{
	uint8_t bytes[8];

	sonde_store_u64le(bytes, value);
	put_varint(out, field << 3 | 1);
	sonde_buffer_put(out, bytes, sizeof(bytes));
}

static void put_bytes(struct sonde_buffer *out, unsigned int field, const void *bytes, size_t size)
{
	put_varint(out, field << 3 | 2);
	put_varint(out, size);
	sonde_buffer_put(out, bytes, size);
}

/* A message goes into another, and is empty again. */
static void put_message(struct sonde_buffer *out, unsigned int field, struct sonde_buffer *message)
{
	put_bytes(out, field, message->data, message->size);
	sonde_buffer_clear(message);
}

/* A span with 8 bytes of the number as its id. */
static void put_span(struct sonde_buffer *spans, uint8_t number, uint8_t parent, uint64_t start)
{
	const uint8_t trace[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	uint8_t id[8] = { 0 }, parent_id[8] = { 0 };
	struct sonde_buffer span = { 0 };

	id[7] = number;
	parent_id[7] = parent;
	put_bytes(&span, 1, trace, sizeof(trace));
	put_bytes(&span, 2, id, sizeof(id));
	if (parent)
		put_bytes(&span, 4, parent_id, sizeof(parent_id));
	put_bytes(&span, 5, "work", 4);
	put_fixed64(&span, 7, start);
	put_fixed64(&span, 8, start + 10);
	put_message(spans, 2, &span);
	sonde_buffer_release(&span);
}

/* ScopeSpans in a request. */
static void wrap(struct sonde_buffer *scope_spans)
{
	struct sonde_buffer outer = { 0 };

	put_message(&outer, 2, scope_spans);
	put_message(scope_spans, 1, &outer);
	sonde_buffer_release(&outer);
}

static const struct otlp_value *value_of(const struct otlp_request *request,
					 const struct otlp_list *list, const char *key)
{
	for (uint32_t at = list->first; at != SONDE_NONE; at = request->values.items[at].next)
		if (otlp_text_is(&request->values.items[at].key, key))
			return &request->values.items[at];
	fail_msg("no attribute %s", key);
	return NULL;
}

/* --- the same in both --- */

static void check_request(const struct otlp_request *request)
{
	const struct otlp_span *span = request->spans.items;
	const struct otlp_value *value;

	assert_int_equal(request->spans.count, 1);
	assert_int_equal(span->trace_id[0], 0x0001020304050607u);
	assert_int_equal(span->trace_id[1], 0x08090a0b0c0d0e0fu);
	assert_int_equal(span->span_id, 7);
	assert_int_equal(span->parent_id, 5);
	assert_int_equal(span->start_ns, START);
	assert_int_equal(span->end_ns, START + 10);
	assert_int_equal(span->kind, 3);
	assert_int_equal(span->status_code, 2);
	assert_true(otlp_text_is(&span->name, "work"));
	assert_true(otlp_text_is(&span->status_message, "bad"));
	value = value_of(request, &span->attributes, "int");
	assert_int_equal(value->kind, OTLP_INT);
	assert_int_equal(value->number, -5);
	value = value_of(request, &span->attributes, "list");
	assert_int_equal(value->kind, OTLP_ARRAY);
	value = &request->values.items[value->first];
	assert_true(value->kind == OTLP_DOUBLE && value->real == 1.5);
	value = &request->values.items[value->next];
	assert_int_equal(value->kind, OTLP_BYTES);
	assert_memory_equal(value->text.data, "\x00\xff", 2);
	assert_int_equal(value->next, SONDE_NONE);
	assert_int_equal(request->notes.count, 1);
	assert_true(otlp_text_is(&request->notes.items[0].name, "event"));
	assert_int_equal(request->notes.items[0].time_ns, START + 1);
	value = value_of(request, &request->resources.items[0].attributes, "service.name");
	assert_true(value->kind == OTLP_STRING && otlp_text_is(&value->text, "shop"));
}

static void put_pair(struct sonde_buffer *out, unsigned int field, const char *key,
		     struct sonde_buffer *value)
{
	struct sonde_buffer pair = { 0 };

	put_bytes(&pair, 1, key, strlen(key));
	put_message(&pair, 2, value);
	put_message(out, field, &pair);
	sonde_buffer_release(&pair);
}

static void make_protobuf(struct sonde_buffer *body)
{
	const uint8_t trace[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct sonde_buffer span = { 0 }, value = { 0 }, list = { 0 }, group = { 0 };
	double real = 1.5;
	uint64_t bits;

	memcpy(&bits, &real, sizeof(bits));
	put_bytes(&span, 1, trace, sizeof(trace));
	put_bytes(&span, 2, "\0\0\0\0\0\0\0\7", 8);
	put_bytes(&span, 4, "\0\0\0\0\0\0\0\5", 8);
	put_bytes(&span, 5, "work", 4);
	put_number(&span, 6, 3);
	put_fixed64(&span, 7, START);
	put_fixed64(&span, 8, START + 10);
	put_number(&value, 3, (uint64_t)-5);
	put_pair(&span, 9, "int", &value);
	put_fixed64(&value, 4, bits);
	put_message(&list, 1, &value);
	put_bytes(&value, 7, "\x00\xff", 2);
	put_message(&list, 1, &value);
	put_message(&value, 5, &list);
	put_pair(&span, 9, "list", &value);
	put_fixed64(&value, 1, START + 1);
	put_bytes(&value, 2, "event", 5);
	put_message(&span, 11, &value);
	put_bytes(&value, 2, "bad", 3);
	put_number(&value, 3, 2);
	put_message(&span, 15, &value);
	put_number(&span, 99, 1); /* not known */
	put_message(&group, 2, &span);
	put_message(&span, 2, &group);
	put_bytes(&value, 1, "shop", 4);
	put_pair(&list, 1, "service.name", &value);
	put_message(&span, 1, &list);
	put_message(body, 1, &span);
	sonde_buffer_release(&span);
	sonde_buffer_release(&value);
	sonde_buffer_release(&list);
	sonde_buffer_release(&group);
}

static const char json_body[] =
	"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"traceId\":\"" TRACE_HEX "\","
	"\"spanId\":\"0000000000000007\",\"parentSpanId\":\"0000000000000005\","
	"\"name\":\"wor\\u006b\",\"kind\":\"SPAN_KIND_CLIENT\","
	"\"startTimeUnixNano\":\"1700000000123456789\",\"endTimeUnixNano\":1700000000123456799,"
	"\"attributes\":[{\"key\":\"int\",\"value\":{\"intValue\":\"-5\"}},"
	"{\"value\":{\"arrayValue\":{\"values\":[{\"doubleValue\":1.5},{\"bytesValue\":\"AP8=\"}]}},"
	"\"key\":\"list\"}],\"unknown\":{\"a\":[1,2]},"
	"\"events\":[{\"timeUnixNano\":1700000000123456790,\"name\":\"event\"}],"
	"\"status\":{\"message\":\"bad\",\"code\":2}}]}],\"resource\":{\"attributes\":"
	"[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"shop\"}}]}}]}";

static void test_protobuf(void **state)
{
	struct otlp_request request = { 0 };
	struct sonde_buffer body = { 0 };
	struct sonde_error err = { 0 };

	(void)state;
	make_protobuf(&body);
	assert_int_equal(otlp_read_protobuf(&request, body.data, body.size, &err), SONDE_OK);
	check_request(&request);
	otlp_request_release(&request);
	sonde_buffer_release(&body);
}

static void test_json(void **state)
{
	struct otlp_request request = { 0 };
	struct sonde_error err = { 0 };

	(void)state;
	assert_int_equal(otlp_read_json(&request, json_body, sizeof(json_body) - 1, &err),
			 SONDE_OK);
	check_request(&request);
	otlp_request_release(&request);
}

/* Cut anywhere, a request is refused or means less; in memory of exactly its size. */
static void test_cut(void **state)
{
	struct sonde_buffer body = { 0 };

	(void)state;
	make_protobuf(&body);
	for (size_t size = 0; size < body.size; size++) {
		struct otlp_request request = { 0 };
		struct sonde_error err = { 0 };
		char *copy = malloc(size ? size : 1);

		memcpy(copy, body.data, size);
		assert_int_equal(otlp_read_protobuf(&request, copy, size, &err) < 0, size != 0);
		otlp_request_release(&request);
		free(copy);
	}
	for (size_t size = 0; size < sizeof(json_body) - 1; size++) {
		struct otlp_request request = { 0 };
		struct sonde_error err = { 0 };
		char *copy = malloc(size ? size : 1);

		memcpy(copy, json_body, size);
		assert_true(otlp_read_json(&request, copy, size, &err) < 0);
		otlp_request_release(&request);
		free(copy);
	}
	sonde_buffer_release(&body);
}

/* --- trees --- */

static void test_trees(void **state)
{
	struct otlp_request request = { 0 };
	struct sonde_buffer body = { 0 };
	struct sonde_error err = { 0 };
	const struct otlp_span *spans;

	(void)state;
	put_span(&body, 3, 1, START + 5);  /* 0: a later child */
	put_span(&body, 1, 0, START);	   /* 1: the root */
	put_span(&body, 2, 1, START + 1);  /* 2: an earlier child */
	put_span(&body, 2, 1, START + 2);  /* 3: its copy */
	put_span(&body, 4, 99, START + 3); /* 4: of a parent elsewhere */
	put_span(&body, 5, 6, START + 20); /* 5, 6: a circle */
	put_span(&body, 6, 5, START + 10);
	put_span(&body, 7, 6, START + 4); /* 7: hangs on the circle, and begins first */
	put_span(&body, 8, 8, START + 6); /* 8: its own parent */
	wrap(&body);
	assert_int_equal(otlp_read_protobuf(&request, body.data, body.size, &err), SONDE_OK);
	assert_int_equal(otlp_link(&request, &err), SONDE_OK);
	spans = request.spans.items;
	assert_int_equal(request.roots.count, 5);
	assert_int_equal(request.roots.items[0], 1);
	assert_int_equal(spans[1].first_child, 2);
	assert_int_equal(spans[2].next_sibling, 0);
	assert_int_equal(spans[0].next_sibling, SONDE_NONE);
	assert_int_equal(request.roots.items[1], 3);
	assert_true(spans[3].is_copy);
	assert_int_equal(request.roots.items[2], 4);
	assert_int_equal(request.roots.items[3], 8);
	/* the walk from 7 comes to 6 first, which then has 7 and 5 in it */
	assert_int_equal(request.roots.items[4], 6);
	assert_int_equal(spans[6].first_child, 7);
	assert_int_equal(spans[7].next_sibling, 5);
	otlp_request_release(&request);
	sonde_buffer_release(&body);
}

/* --- limits --- */

static void test_nesting(void **state)
{
	(void)state;
	for (unsigned int levels = OTLP_NESTING; levels <= OTLP_NESTING + 1; levels++) {
		struct sonde_buffer value = { 0 }, list = { 0 }, json = { 0 };
		struct otlp_request request = { 0 };
		struct sonde_error err = { 0 };
		enum sonde_status expected = levels > OTLP_NESTING ? SONDE_LIMIT : SONDE_OK;

		/* as an attribute of a scope: no span is needed */
		for (unsigned int i = 0; i < levels; i++) {
			if (i)
				put_message(&list, 1, &value);
			put_message(&value, 5, &list);
		}
		put_pair(&list, 3, "k", &value);
		put_message(&value, 1, &list);
		wrap(&value);
		assert_int_equal(otlp_read_protobuf(&request, value.data, value.size, &err),
				 expected);
		otlp_request_release(&request);
		request = (struct otlp_request){ 0 };
		sonde_buffer_put_text(&json, "{\"resourceSpans\":[{\"scopeSpans\":[{\"scope\":{"
					     "\"attributes\":[{\"key\":\"k\",\"value\":");
		for (unsigned int i = 0; i < levels; i++)
			sonde_buffer_put_text(&json, "{\"kvlistValue\":{\"values\":[{\"value\":");
		sonde_buffer_put_text(&json, "{}");
		for (unsigned int i = 0; i < levels; i++)
			sonde_buffer_put_text(&json, "}]}}");
		sonde_buffer_put_text(&json, "}]}}]}]}");
		assert_int_equal(otlp_read_json(&request, json.data, json.size, &err), expected);
		otlp_request_release(&request);
		sonde_buffer_release(&value);
		sonde_buffer_release(&list);
		sonde_buffer_release(&json);
	}
}

static void test_numbers_of_json(void **state)
{
	static const struct {
		const char *value;
		enum otlp_value_kind kind;
		double number;
		enum sonde_status status;
	} cases[] = {
		{ "{\"intValue\":5}", OTLP_INT, 5, SONDE_OK },
		{ "{\"intValue\":\"-9223372036854775808\"}", OTLP_INT, -0x1p63, SONDE_OK },
		{ "{\"intValue\":5.0}", OTLP_INT, 5, SONDE_OK },
		{ "{\"intValue\":1e3}", OTLP_INT, 1000, SONDE_OK },
		{ "{\"intValue\":1e300}", OTLP_DOUBLE, 1e300, SONDE_OK },
		{ "{\"intValue\":9223372036854775808}", OTLP_DOUBLE, 0x1p63, SONDE_OK },
		{ "{\"intValue\":\"\"}", OTLP_INT, 0, SONDE_CORRUPT },
		{ "{\"intValue\":\"5x\"}", OTLP_INT, 0, SONDE_CORRUPT },
		{ "{\"intValue\":true}", OTLP_INT, 0, SONDE_CORRUPT },
		{ "{\"doubleValue\":\"1.5\"}", OTLP_DOUBLE, 1.5, SONDE_OK },
		{ "{\"doubleValue\":\"-Infinity\"}", OTLP_DOUBLE, -__builtin_inf(), SONDE_OK },
		{ "{\"doubleValue\":\"x\"}", OTLP_DOUBLE, 0, SONDE_CORRUPT },
		{ "{\"boolValue\":1}", OTLP_BOOL, 0, SONDE_CORRUPT },
		{ "{\"bytesValue\":\"?\"}", OTLP_BYTES, 0, SONDE_CORRUPT },
		{ "null", OTLP_NULL, 0, SONDE_OK },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct otlp_request request = { 0 };
		struct sonde_buffer json = { 0 };
		struct sonde_error err = { 0 };

		sonde_buffer_put_format(&json,
					"{\"resourceSpans\":[{\"resource\":{\"attributes\":"
					"[{\"key\":\"k\",\"value\":%s}]}}]}",
					cases[i].value);
		assert_int_equal(otlp_read_json(&request, json.data, json.size, &err),
				 cases[i].status);
		if (cases[i].status == SONDE_OK) {
			const struct otlp_value *value = request.values.items;

			assert_int_equal(value->kind, cases[i].kind);
			assert_true(value->kind != OTLP_INT ||
				    value->number == (int64_t)cases[i].number);
			assert_true(value->kind != OTLP_DOUBLE || value->real == cases[i].number);
		}
		otlp_request_release(&request);
		sonde_buffer_release(&json);
	}
}

/* A small request may not stand for an endless amount of writing. */
static void test_repeated(void **state)
{
	struct sonde_buffer body = { 0 }, resource = { 0 }, value = { 0 }, spans = { 0 };
	struct otlp_request request = { 0 };
	struct sonde_error err = { 0 };

	(void)state;
	for (unsigned int i = 0; i < 30000; i++) {
		put_pair(&resource, 1, "k", &value);
		/* copies: every one is a tree */
		put_span(&spans, 1, 0, START);
	}
	put_message(&body, 1, &resource);
	put_message(&body, 2, &spans);
	put_message(&spans, 1, &body);
	assert_int_equal(otlp_read_protobuf(&request, spans.data, spans.size, &err), SONDE_OK);
	assert_int_equal(request.spans.count, 30000);
	assert_int_equal(otlp_link(&request, &err), SONDE_LIMIT);
	otlp_request_release(&request);
	sonde_buffer_release(&body);
	sonde_buffer_release(&resource);
	sonde_buffer_release(&value);
	sonde_buffer_release(&spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_protobuf), cmocka_unit_test(test_json),
		cmocka_unit_test(test_cut),	 cmocka_unit_test(test_trees),
		cmocka_unit_test(test_nesting),	 cmocka_unit_test(test_numbers_of_json),
		cmocka_unit_test(test_repeated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
