/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast traces come into a store: COUNT traces like those of a web service (about 16 calls,
 * attributes, one of them with a value that no other trace has, SQL texts, some exceptions) are put
 * into a new part FOLDER through the writer, or, with --store, into a new store of parts, every text
 * looked up anew each time. Prints one line of JSON; seconds are of processor time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "need.h"
#include "store/store.h"

#define START_NS 1556712001000000000u
#define METHODS 300
#define FRAMES 12
#define BATCH 100 /* traces that come together into a store */

struct work {
	struct zts_writer *writer;
	uint64_t random;
	uint64_t now_ns;
	uint64_t trace_ns; /* when the present trace began: ticks count from there */
	uint64_t records;
	bool use_ticks;
	char methods[METHODS][48];
};

static uint32_t next_random(struct work *work, uint32_t below)
{
	work->random = work->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((work->random >> 33) % below);
}

static uint32_t text(struct work *work, enum zts_text_kind kind, const char *bytes)
{
	return zts_writer_text(work->writer, kind, bytes, strlen(bytes));
}

static uint32_t method(struct work *work, uint32_t number)
{
	const char *name = work->methods[number % METHODS];
	const char *dot = strrchr(name, '.');
	uint32_t class_id =
		zts_writer_text(work->writer, ZTS_TEXT_CLASS, name, (size_t)(dot - name));

	return zts_writer_method(work->writer, class_id, text(work, ZTS_TEXT_METHOD_NAME, dot + 1),
				 text(work, ZTS_TEXT_SIGNATURE, "(Ljava/lang/Object;)V"));
}

static void put_string(struct work *work, const char *key, const char *value)
{
	struct zts_value attribute = { .kind = ZTS_VALUE_STRING,
				       .string = text(work, ZTS_TEXT_STRING, value) };

	zts_writer_attribute(work->writer, text(work, ZTS_TEXT_STRING, key), &attribute);
}

static void put_number(struct work *work, const char *key, int64_t number)
{
	struct zts_value attribute = { .kind = ZTS_VALUE_INT, .number = number };

	zts_writer_attribute(work->writer, text(work, ZTS_TEXT_STRING, key), &attribute);
}

static uint32_t exception(struct work *work)
{
	uint32_t frames[FRAMES], line = next_random(work, 40);
	uint32_t file = text(work, ZTS_TEXT_STRING, "Gen.java");

	for (uint32_t i = 0; i < FRAMES; i++)
		frames[i] = zts_writer_frame(
			work->writer, text(work, ZTS_TEXT_CLASS, "com.example.shop.Gen"),
			text(work, ZTS_TEXT_METHOD_NAME, "call"), file, line + i);
	return zts_writer_exception(work->writer,
				    text(work, ZTS_TEXT_CLASS, "java.lang.NullPointerException"),
				    text(work, ZTS_TEXT_STRING, "Cannot invoke hashCode()"),
				    zts_writer_stack(work->writer, frames, FRAMES), 0);
}

static uint64_t time_of(const struct work *work)
{
	return work->use_ticks ? (work->now_ns - work->trace_ns) / ZTS_TICK_NS : work->now_ns;
}

static void begin(struct work *work, uint32_t id, uint32_t type)
{
	struct zts_record_head head = { .method = id,
					.has_ticks = work->use_ticks,
					.start = time_of(work),
					.begins_trace = type != 0,
					.timestamp_ms = work->now_ns / 1000000,
					.type = type };

	work->now_ns += 20000 + next_random(work, 100000);
	work->records++;
	zts_writer_begin_record(work->writer, &head);
}

static void end(struct work *work, uint32_t exception_id)
{
	work->now_ns += 10000 + next_random(work, 300000);
	zts_writer_end_record(work->writer, time_of(work), 0, exception_id,
			      exception_id ? ZTS_RECORD_ERROR : 0);
}

/* A call of the database, or a few calls within each other. */
static void put_calls(struct work *work, uint32_t *left, unsigned int depth)
{
	static const char *const statements[] = {
		"select * from orders where id = ?",
		"select u.name, r.role from users u join roles r on r.uid = u.id where u.login = ?",
		"insert into audit(ts,usr) values(?,?)",
		"update sessions set seen = ? where id = ?",
	};

	while (*left) {
		--*left;
		begin(work, method(work, next_random(work, METHODS)), 0);
		if (!next_random(work, 8)) {
			put_string(work, "db.statement", statements[next_random(work, 4)]);
			put_number(work, "db.rows", next_random(work, 1000));
		} else if (depth < 6 && next_random(work, 3)) {
			put_calls(work, left, depth + 1);
		}
		end(work, 0);
		if (depth && !next_random(work, 3))
			return;
	}
}

static void put_trace(struct work *work, uint64_t number)
{
	struct zts_trace_head head = { .uuid = { number * 0x9e3779b97f4a7c15u, ~number },
				       .app = text(work, ZTS_TEXT_STRING, "shop"),
				       .host = text(work, ZTS_TEXT_STRING, "host-1") };
	uint32_t calls = 8 + next_random(work, 15);
	char uri[64], session[32];
	struct sonde_error err;

	snprintf(uri, sizeof(uri), "/api/v1/items/%u", next_random(work, 2000));
	snprintf(session, sizeof(session), "%08x%08x", next_random(work, UINT32_MAX),
		 next_random(work, UINT32_MAX));
	work->trace_ns = work->now_ns;
	zts_writer_begin_trace(work->writer, &head);
	begin(work, method(work, next_random(work, 4)), text(work, ZTS_TEXT_STRING, "HTTP"));
	put_string(work, "http.uri", uri);
	put_number(work, "http.status", next_random(work, 20) ? 200 : 500);
	put_string(work, "session", session);
	put_calls(work, &calls, 0);
	end(work, next_random(work, 25) ? 0 : exception(work));
	need(zts_writer_end_trace(work->writer, &err), &err);
	work->now_ns += next_random(work, 1000000);
}

static void make_methods(struct work *work)
{
	for (uint32_t i = 0; i < METHODS; i++)
		snprintf(work->methods[i], sizeof(work->methods[i]),
			 "com.example.shop.part%u.Class%u.m%u", i % 7, i % 60, i);
}

/* Into one part, by its writer. */
static double fill_part(struct work *work, const char *folder, uint64_t count,
			enum sonde_codec codec, struct zts_writer_size *size)
{
	struct zts_writer_options options = { .codec = codec };
	struct sonde_error err;
	double start;

	need(zts_writer_create(folder, &options, &work->writer, &err), &err);
	start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	for (uint64_t i = 0; i < count; i++)
		put_trace(work, i);
	need(zts_writer_sync(work->writer, &err), &err);
	start = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start;
	*size = zts_writer_size(work->writer);
	need(zts_writer_close(work->writer, &err), &err);
	return start;
}

/* Into a store, as servers do: parts turn over, finished ones are packed where `archive` says so. */
static double fill_store(struct work *work, const char *folder, uint64_t count,
			 enum sonde_codec codec, bool archive)
{
	struct sonde_store_settings settings;
	struct sonde_store *store;
	struct sonde_error err;
	uint64_t ticket = 0, done = 0;
	double start;

	sonde_store_settings_init(&settings);
	settings.codec = codec;
	settings.archive = archive;
	settings.keep_parts = 10000;
	need(sonde_store_init(folder, &settings, &err), &err);
	need(sonde_store_open(folder, &store, NULL, &err), &err);
	start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	while (done < count) {
		need(sonde_store_begin(store, &work->writer, &err), &err);
		for (unsigned int i = 0; i < BATCH && done < count; i++)
			put_trace(work, done++);
		sonde_store_end(store, &ticket);
	}
	need(sonde_store_wait(store, ticket, &err), &err);
	start = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start;
	need(sonde_store_close(store, &err), &err);
	return start;
}

static enum sonde_codec codec_of(const char *name)
{
	if (!strcmp(name, "zlib"))
		return SONDE_CODEC_DEFLATE;
	return strcmp(name, "none") ? SONDE_CODEC_LZ4 : SONDE_CODEC_NONE;
}

static int usage(void)
{
	fputs("usage: sonde-bench-zts-ingest [--store|--packed-store] FOLDER COUNT "
	      "[lz4|zlib|none [ns]]\n",
	      stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct work work = { .random = 42, .now_ns = START_NS };
	struct zts_writer_size size = { 0 };
	const char *how = argc > 1 && !strncmp(argv[1], "--", 2) ? argv[1] : NULL;
	enum sonde_codec codec;
	uint64_t count;
	double used;

	if (how) {
		argc--;
		argv++;
	}
	if (argc < 3 || argc > 5)
		return usage();
	count = strtoull(argv[2], NULL, 10);
	codec = codec_of(argc > 3 ? argv[3] : "lz4");
	work.use_ticks = argc < 5;
	make_methods(&work);
	if (how)
		used = fill_store(&work, argv[1], count, codec, !strcmp(how, "--packed-store"));
	else
		used = fill_part(&work, argv[1], count, codec, &size);
	printf("{\"traces\":%" PRIu64 ",\"records\":%" PRIu64 ",\"cpu_seconds\":%.6f,"
	       "\"traces_per_second\":%.0f,\"records_per_second\":%.0f",
	       count, work.records, used, (double)count / used, (double)work.records / used);
	if (!how)
		printf(",\"data_bytes\":%" PRIu64 ",\"total_bytes\":%" PRIu64
		       ",\"texts\":%u,\"memory_bytes\":%" PRIu64,
		       size.data_bytes, size.total_bytes, size.texts, size.memory_bytes);
	puts("}");
	return 0;
}
