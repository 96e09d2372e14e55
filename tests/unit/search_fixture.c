/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store of random traces: strings, numbers, doubles, arrays, exceptions with causes, traces in
 * traces.
 */
#include "search_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "../random.h"
#include "base/cbor.h"
#include "formats/zts/zts_put_value.h"
#include "formats/zts/zts_writer.h"

struct maker {
	struct zts_writer *writer;
	uint64_t random;
	uint64_t now_ns;
};

static uint32_t pick(struct maker *maker, uint32_t limit)
{
	return next_random(&maker->random, limit);
}

static uint32_t text(struct maker *maker, enum zts_text_kind kind, const char *bytes)
{
	return zts_writer_text(maker->writer, kind, bytes, strlen(bytes));
}

static uint32_t method(struct maker *maker)
{
	static const char *const classes[] = { "com.example.Main", "com.example.Dao", "Main" };
	static const char *const names[] = { "run", "find", "findAll", "GET /orders" };
	static const char *const signatures[] = { "(I)V", "()Ljava/lang/String;" };
	uint32_t class_id = pick(maker, 4) ? text(maker, ZTS_TEXT_CLASS, classes[pick(maker, 3)]) :
					     0;

	return zts_writer_method(maker->writer, class_id,
				 text(maker, ZTS_TEXT_METHOD_NAME, names[pick(maker, 4)]),
				 text(maker, ZTS_TEXT_SIGNATURE, signatures[pick(maker, 2)]));
}

static uint32_t exception(struct maker *maker, unsigned int causes)
{
	static const char *const classes[] = { "java.io.IOException", "java.lang.Error" };
	static const char *const messages[] = { "boom", "no such order 42", "" };
	uint32_t class_id = text(maker, ZTS_TEXT_CLASS, classes[pick(maker, 2)]);
	uint32_t frame = zts_writer_frame(
		maker->writer, class_id, text(maker, ZTS_TEXT_METHOD_NAME, "explode"),
		text(maker, ZTS_TEXT_STRING, "Main.java"), pick(maker, 50) + 1);
	uint32_t stack = zts_writer_stack(maker->writer, &frame, 1);

	return zts_writer_exception(maker->writer, class_id,
				    text(maker, ZTS_TEXT_STRING, messages[pick(maker, 3)]), stack,
				    causes ? exception(maker, causes - 1) : 0);
}

/* {"double": "2.5"}, [5, "blue"] or {"inner": "red"} */
static void composed(struct maker *maker, uint32_t key)
{
	static const char *const doubles[] = { "2.5", "-0.125", "1e+300" };
	struct sonde_buffer cbor = { 0 };
	struct zts_value value = { .kind = ZTS_VALUE_CBOR };

	switch (pick(maker, 3)) {
	case 0:
		sonde_cbor_put_head(&cbor, SONDE_CBOR_MAP, 1);
		zts_put_text_id(&cbor, text(maker, ZTS_TEXT_STRING, "double"));
		zts_put_text_id(&cbor, text(maker, ZTS_TEXT_STRING, doubles[pick(maker, 3)]));
		break;
	case 1:
		sonde_cbor_put_head(&cbor, SONDE_CBOR_ARRAY, 2);
		sonde_cbor_put_int(&cbor, (int64_t)pick(maker, 9));
		zts_put_text_id(&cbor, text(maker, ZTS_TEXT_STRING, "blue"));
		break;
	default:
		sonde_cbor_put_head(&cbor, SONDE_CBOR_MAP, 1);
		zts_put_text_id(&cbor, text(maker, ZTS_TEXT_STRING, "inner"));
		zts_put_text_id(&cbor, text(maker, ZTS_TEXT_STRING, "red"));
		break;
	}
	value.cbor = (const uint8_t *)cbor.data;
	value.size = cbor.size;
	zts_writer_attribute(maker->writer, key, &value);
	sonde_buffer_release(&cbor);
}

static void attribute(struct maker *maker)
{
	static const char *const colours[] = { "red", "dark red", "blue", "500", "", "x.y" };
	struct zts_value value = { 0 };

	switch (pick(maker, 5)) {
	case 0:
		value.kind = ZTS_VALUE_INT;
		value.number = (int64_t[]){ 200, 404, 500, -7 }[pick(maker, 4)];
		zts_writer_attribute(maker->writer, text(maker, ZTS_TEXT_STRING, "STATUS"), &value);
		break;
	case 1:
		value.kind = pick(maker, 2) ? ZTS_VALUE_BOOL : ZTS_VALUE_NULL;
		value.number = pick(maker, 2);
		zts_writer_attribute(maker->writer, text(maker, ZTS_TEXT_STRING, "flag"), &value);
		break;
	case 2:
		composed(maker, text(maker, ZTS_TEXT_STRING, "many"));
		break;
	default:
		value.kind = ZTS_VALUE_STRING;
		value.string = text(maker, ZTS_TEXT_STRING, colours[pick(maker, 6)]);
		zts_writer_attribute(
			maker->writer,
			text(maker, ZTS_TEXT_STRING, pick(maker, 4) ? "colour" : "service.name"),
			&value);
		break;
	}
}

static void record(struct maker *maker, unsigned int depth)
{
	static const char *const types[] = { "http", "sql", "server" };
	struct zts_record_head head = { .method = method(maker), .start = maker->now_ns };
	bool failed = !pick(maker, 6);
	uint32_t i;

	head.begins_trace = !depth || !pick(maker, 8);
	if (head.begins_trace)
		head.type = text(maker, ZTS_TEXT_STRING, types[pick(maker, 3)]);
	if (pick(maker, 2))
		head.span = 1 + pick(maker, 1000);
	zts_writer_begin_record(maker->writer, &head);
	for (i = pick(maker, 3); i; i--)
		attribute(maker);
	maker->now_ns += 1 + pick(maker, 3000000);
	for (i = depth < 4 ? pick(maker, 3) : 0; i; i--)
		record(maker, depth + 1);
	maker->now_ns += 1 + pick(maker, 3000000);
	zts_writer_end_record(maker->writer, maker->now_ns, 0,
			      failed ? exception(maker, pick(maker, 3)) : 0, 0);
}

static void make_traces(struct maker *maker, unsigned int traces)
{
	static const char *const apps[] = { "shop", "stock" };
	struct sonde_error err = { 0 };

	for (; traces; traces--) {
		struct zts_trace_head head = { .uuid = { maker->random, maker->now_ns } };

		head.app = pick(maker, 3) ? text(maker, ZTS_TEXT_STRING, apps[pick(maker, 2)]) : 0;
		head.host = pick(maker, 3) ? text(maker, ZTS_TEXT_STRING, "node-1") : 0;
		zts_writer_begin_trace(maker->writer, &head);
		record(maker, 0);
		assert_int_equal(zts_writer_end_trace(maker->writer, &err), SONDE_OK);
		/* the next may begin before this one has ended */
		maker->now_ns -= pick(maker, 2000000);
	}
}

void search_add_traces(const char *folder, unsigned int traces, uint64_t seed)
{
	struct maker maker = { .random = seed, .now_ns = UINT64_C(1700000000000000000) + seed };
	struct sonde_error err = { 0 };

	assert_int_equal(zts_writer_open(folder, &maker.writer, NULL, &err), SONDE_OK);
	make_traces(&maker, traces);
	assert_int_equal(zts_writer_close(maker.writer, &err), SONDE_OK);
}

void search_make_store(const char *base, unsigned int parts, unsigned int traces, uint64_t seed)
{
	struct maker maker = { .random = seed, .now_ns = UINT64_C(1600000000000000000) };
	struct zts_writer_options options = { .codec = SONDE_CODEC_LZ4 };
	struct sonde_error err = { 0 };
	unsigned int i;

	assert_int_equal(mkdir(base, 0777), 0);
	for (i = 0; i < parts; i++) {
		char folder[4096];

		snprintf(folder, sizeof(folder), "%s/%06x", base, i);
		assert_int_equal(zts_writer_create(folder, &options, &maker.writer, &err),
				 SONDE_OK);
		make_traces(&maker, traces);
		assert_int_equal(zts_writer_close(maker.writer, &err), SONDE_OK);
		if (i % 2)
			assert_int_equal(zts_archive(folder, &err), SONDE_OK);
	}
}

static enum sonde_status look_node(struct sonde_look *look, const struct sonde_query *query,
				   uint32_t number, uint32_t slot, bool *matches,
				   struct sonde_error *err)
{
	const struct sonde_query_node *node = &query->nodes.items[number];
	enum sonde_status status;

	if (node->kind == SONDE_QUERY_TEST)
		return sonde_look_test(look, node, slot, matches, err);
	status = look_node(look, query, node->left, slot, matches, err);
	if (status != SONDE_OK)
		return status;
	if (node->kind == SONDE_QUERY_NOT) {
		*matches = !*matches;
		return SONDE_OK;
	}
	if (*matches == (node->kind == SONDE_QUERY_OR))
		return SONDE_OK;
	return look_node(look, query, node->right, slot, matches, err);
}

enum sonde_status search_look(struct sonde_look *look, const struct sonde_query *query,
			      uint32_t slot, bool *matches, struct sonde_error *err)
{
	*matches = true;
	if (!query->nodes.count)
		return SONDE_OK;
	return look_node(look, query, query->root, slot, matches, err);
}
