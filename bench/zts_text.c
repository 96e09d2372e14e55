/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text index of a trace store: packing, unpacking and searching made-up texts and postings.
 *	sonde-bench-zts-text [TRACES]
 * Prints the CPU time of each step. Texts: one for every 4 traces; postings: 40 deep and 6 shallow
 * ones a trace.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/now.h"
#include "formats/zts/zts_fmi.h"
#include "formats/zts/zts_texts.h"
#include "formats/zts/zts_wal.h"

static uint64_t random_state = 1;

static uint32_t next_random(uint32_t end)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return end ? (uint32_t)((random_state >> 33) % end) : 0;
}

/* Low numbers come more often. */
static uint32_t next_skewed(uint32_t end)
{
	return (uint32_t)((uint64_t)next_random(end) * next_random(end) / (end ? end : 1));
}

static uint64_t started;

static void report(const char *what, size_t count, const char *of)
{
	uint64_t took = sonde_now_ns(CLOCK_PROCESS_CPUTIME_ID) - started;

	printf("%-34s %9.3f ms  %10zu %s, %.1f ns each\n", what, (double)took / 1e6, count, of,
	       count ? (double)took / (double)count : 0.0);
	started = sonde_now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void put_ids(struct sonde_buffer *text, int marker, size_t count, uint32_t below)
{
	sonde_buffer_put_char(text, (char)marker);
	for (size_t i = 0; i < count; i++) {
		zts_id_append(next_skewed(below), text);
		sonde_buffer_put_char(text, (char)marker);
	}
}

static void make_text(struct sonde_buffer *text, uint32_t id)
{
	static const char *const packages[] = { "java.util.concurrent", "org.apache.catalina.core",
						"com.example.shop.orders", "java.lang.reflect" };
	static const char *const words[] = { "Order",	   "Request", "Handler", "find",   "invoke",
					     "Connection", "Service", "load",	 "Filter", "Map" };

	sonde_buffer_clear(text);
	switch (next_random(8)) {
	case 0:
		sonde_buffer_put_format(text, "\5%s.%s%s%u\5", packages[next_random(4)],
					words[next_random(10)], words[next_random(10)], id);
		break;
	case 1:
		sonde_buffer_put_format(text, "\6%s%s%u\6", words[next_random(10)],
					words[next_random(10)], id);
		break;
	case 2:
		put_ids(text, ZTS_TEXT_METHOD, 3, id);
		break;
	case 3:
		put_ids(text, ZTS_TEXT_KEY_LITERAL, 1, id < 50 ? id : 50);
		sonde_buffer_put_format(text, "%u\t", id);
		break;
	case 4:
		put_ids(text, ZTS_TEXT_STACK, 20, id);
		break;
	case 5:
		sonde_buffer_put_format(text, "/api/v1/%s/%u?q=%u", words[next_random(10)],
					next_random(1000000), id);
		break;
	case 6:
		put_ids(text, ZTS_TEXT_KEY_VALUE, 2, id);
		break;
	default:
		sonde_buffer_put_format(text, "select * from %s where id = %u and x = %u",
					words[next_random(10)], next_random(1000000), id);
		break;
	}
}

static void make_texts(struct sonde_buffer *wal, uint32_t count)
{
	struct sonde_buffer text = { 0 };

	sonde_buffer_put(wal, ZTS_WAL_MAGIC, 4);
	for (uint32_t id = 1; id <= count; id++) {
		make_text(&text, id);
		zts_wal_put_entry(wal, id, text.data, text.size);
	}
	sonde_buffer_release(&text);
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static void put_line(struct sonde_buffer *text, int mark, uint32_t slot, uint32_t count,
		     uint32_t texts)
{
	uint32_t ids[64] = { 0 };

	sonde_buffer_clear(text);
	sonde_buffer_put_char(text, (char)mark);
	for (uint32_t i = 0; i < count; i++)
		ids[i] = 1 + next_skewed(texts);
	qsort(ids, count, sizeof(*ids), compare_ids);
	for (uint32_t i = 0; i < count; i++) {
		zts_id_append(slot, text);
		sonde_buffer_put_char(text, ZTS_META_ID_MARK);
		zts_id_append(ids[i], text);
		sonde_buffer_put_char(text, (char)mark);
	}
}

static void make_postings(struct sonde_buffer *wal, uint32_t slots, uint32_t texts)
{
	struct sonde_buffer text = { 0 };

	sonde_buffer_put(wal, ZTS_WAL_MAGIC, 4);
	for (uint32_t slot = 0; slot < slots; slot++) {
		sonde_buffer_clear(&text);
		zts_id_append(slot, &text);
		sonde_buffer_put_format(&text, "\r%08x-%04x-%04x-%04x-%012x\v", next_random(~0u),
					next_random(65536), next_random(65536), next_random(65536),
					next_random(~0u));
		zts_wal_put_entry(wal, 1 + 3 * slot, text.data, text.size);
		put_line(&text, ZTS_META_DEEP, slot, 40, texts);
		zts_wal_put_entry(wal, 2 + 3 * slot, text.data, text.size);
		put_line(&text, ZTS_META_SHALLOW, slot, 6, texts);
		zts_wal_put_entry(wal, 3 + 3 * slot, text.data, text.size);
	}
	sonde_buffer_release(&text);
}

static void fail(const struct sonde_error *err)
{
	fprintf(stderr, "%s\n", err->message);
	exit(1);
}

static void pack(const struct sonde_buffer *wal, struct sonde_buffer *packed, const char *what)
{
	struct zts_wal_bytes bytes = { (const uint8_t *)wal->data, wal->size };
	struct sonde_error err = { 0 };

	started = sonde_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (zts_fmi_pack(&bytes, 1, packed, &err) < 0)
		fail(&err);
	report(what, wal->size, "bytes");
	printf("%-34s %9.1f %%\n", "  its size", 100.0 * (double)packed->size / (double)wal->size);
}

static bool take_number(void *context, uint32_t number)
{
	(void)number;
	++*(size_t *)context;
	return true;
}

static bool take_id(void *context, uint32_t id, uint8_t first)
{
	(void)id;
	(void)first;
	++*(size_t *)context;
	return true;
}

/* One FMI by itself. */
static void search_packed(const struct sonde_buffer *packed, uint32_t texts, bool is_meta)
{
	struct sonde_error err = { 0 };
	struct sonde_buffer out = { 0 };
	struct zts_fmi *fmi;
	size_t found = 0;

	started = sonde_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (zts_fmi_of((const uint8_t *)packed->data, packed->size, "packed", &fmi, &err) < 0)
		fail(&err);
	report("  open", packed->size, "bytes");
	for (uint32_t i = 0; i < 2000; i++)
		found += zts_fmi_count(fmi, (const uint8_t *)"where id = 5", 6 + i % 6);
	report("  count, 6 to 11 bytes", 2000, "searches");
	for (uint32_t i = 0; i < 2000; i++)
		zts_fmi_text(fmi, 1 + next_random(texts), &out, NULL);
	report("  extract texts", out.size, "bytes");
	found = 0;
	if (is_meta) {
		for (uint32_t id = 100; id < 200; id++) {
			uint8_t pattern[ZTS_ID_DIGITS + 2] = { ZTS_META_ID_MARK };
			size_t size = 1 + zts_id_put(id, pattern + 1);

			pattern[size++] = ZTS_META_DEEP;
			zts_fmi_numbers_before(fmi, pattern, size, ZTS_META_DEEP, texts / 3,
					       take_number, &found, NULL);
		}
		report("  slots before 100 ids", found, "postings");
	} else {
		zts_fmi_find_within(fmi, (const uint8_t *)"FilterMap", 9, UINT64_MAX, take_id,
				    &found, NULL);
		report("  find a text", found, "texts");
	}
	sonde_buffer_clear(&out);
	started = sonde_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (zts_fmi_unpack(fmi, &out, &err) < 0)
		fail(&err);
	report("  unpack", out.size, "bytes");
	if (zts_fmi_verify(fmi, &err) < 0)
		fail(&err);
	report("  verify", packed->size, "bytes");
	zts_fmi_free(fmi);
	sonde_buffer_release(&out);
}

/* The index as searches use it, over a WAL. */
static void search_wal(const struct sonde_buffer *wal, const struct sonde_buffer *postings,
		       uint32_t slots)
{
	struct zts_set ids = { 0 }, traces = { 0 };
	struct zts_texts *texts, *meta;
	struct sonde_error err = { 0 };

	puts("WAL");
	started = sonde_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (zts_texts_of((const uint8_t *)wal->data, wal->size, &texts, &err) < 0)
		fail(&err);
	report("  open texts", zts_texts_end(texts) - 1, "texts");
	if (zts_texts_of((const uint8_t *)postings->data, postings->size, &meta, &err) < 0)
		fail(&err);
	report("  open postings", zts_texts_end(meta) - 1, "entries");
	if (!zts_set_init(&ids, zts_texts_end(texts)) || !zts_set_init(&traces, slots))
		return;
	started = sonde_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	zts_texts_find(texts, 0, ZTS_MATCH_SUBSTRING, "FilterMap", 9, &ids, &err);
	report("  find a substring", zts_set_count(&ids), "texts");
	zts_texts_close(texts, 0, &ids, &err);
	report("  what holds them, first", zts_set_count(&ids), "texts");
	zts_texts_close(texts, 0, &ids, &err);
	report("  what holds them, again", zts_set_count(&ids), "texts");
	zts_texts_postings(meta, &ids, true, &traces, &err);
	report("  postings of all of these", zts_set_count(&traces), "slots");
	zts_set_release(&ids);
	if (!zts_set_init(&ids, zts_texts_end(texts)))
		return;
	zts_set_add(&ids, 17);
	started = sonde_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	zts_texts_postings(meta, &ids, true, &traces, &err);
	report("  postings of one id", zts_set_count(&traces), "slots");
	zts_set_release(&ids);
	zts_set_release(&traces);
	zts_texts_free(texts);
	zts_texts_free(meta);
}

int main(int argc, char **argv)
{
	uint32_t traces = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 30000;
	uint32_t texts = traces / 4 + 100;
	struct sonde_buffer wal = { 0 }, postings = { 0 }, packed = { 0 };

	make_texts(&wal, texts);
	make_postings(&postings, traces, texts);
	search_wal(&wal, &postings, traces);
	pack(&wal, &packed, "pack texts");
	search_packed(&packed, texts, false);
	sonde_buffer_clear(&packed);
	pack(&postings, &packed, "pack postings");
	search_packed(&packed, 3 * traces, true);
	sonde_buffer_release(&wal);
	sonde_buffer_release(&postings);
	sonde_buffer_release(&packed);
	return 0;
}
