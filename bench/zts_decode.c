/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast the traces of a store are decoded: every chunk of FOLDER/traces.dat is decompressed and
 * taken apart, again and again. Chunks that continue each other are joined first. Seconds are of
 * processor time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/zts/zts_chunks.h"
#include "formats/zts/zts_tree.h"
#include "need.h"

#define DEFAULT_SECONDS 1.0

struct work {
	struct zts_chunks chunks;
	struct sonde_codec_state state;
	struct sonde_buffer content;
	struct zts_tree tree;
	uint64_t records, bytes;
	bool decode; /* or decompress only */
};

static void decode_store(struct work *work)
{
	uint64_t offset = 16;
	struct zts_chunk chunk;
	struct sonde_error err;
	enum sonde_status status;

	sonde_buffer_clear(&work->content);
	while (!(status = zts_chunks_at(&work->chunks, offset, &chunk, &err))) {
		offset = zts_chunk_next(&chunk);
		need(zts_chunks_read(&work->chunks, &work->state, &chunk, &work->content, &err),
		     &err);
		work->bytes += chunk.size;
		if (work->decode) {
			need(zts_tree_decode(&work->tree, (const uint8_t *)work->content.data,
					     work->content.size, &err),
			     &err);
			if (work->tree.open)
				continue;
			work->records += work->tree.records.count;
		}
		sonde_buffer_clear(&work->content);
	}
	need(status, &err);
}

static void measure(struct work *work, const char *name, double limit)
{
	double start = seconds_of(CLOCK_PROCESS_CPUTIME_ID), used;
	unsigned int rounds = 0;

	work->records = work->bytes = 0;
	do {
		decode_store(work);
		used = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start;
		rounds++;
	} while (used < limit);
	printf("%s: %u rounds, %" PRIu64 " bytes a round, %.1f MB/s", name, rounds,
	       work->bytes / rounds, (double)work->bytes / used * 1e-6);
	if (work->records)
		printf(", %" PRIu64 " records a round, %.2f M records/s, %.1f ns a record",
		       work->records / rounds, (double)work->records / used * 1e-6,
		       used * 1e9 / (double)work->records);
	putchar('\n');
}

int main(int argc, char **argv)
{
	struct work work = { 0 };
	struct sonde_error err;
	double limit = argc > 2 ? strtod(argv[2], NULL) : DEFAULT_SECONDS;
	char *path;

	if (argc < 2) {
		fputs("usage: sonde-bench-zts-decode FOLDER [SECONDS]\n", stderr);
		return 2;
	}
	path = sonde_path_join(argv[1], "traces.dat");
	if (!path)
		return 3;
	need(zts_chunks_open(&work.chunks, path, &err), &err);
	measure(&work, "decompress", limit);
	work.decode = true;
	measure(&work, "decompress and decode", limit);
	zts_tree_release(&work.tree);
	sonde_buffer_release(&work.content);
	sonde_codec_state_release(&work.state);
	zts_chunks_release(&work.chunks);
	free(path);
	return 0;
}
