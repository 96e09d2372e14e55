/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes what traces say, behind good checksums: the input is cut into the contents of chunks (a
 * byte with the length before each), and the metadata is made anew from them. Beyond "does not
 * crash": slots point to chunks that are there, their lines ascend, and a trace that was put
 * together loads.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/crc.h"
#include "formats/zts/zts_store.h"
#include "formats/zts/zts_wal.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

static void remove_file(void)
{
	unlink(path);
}

/*
 * Texts of each kind that traces refer to; the last three are an exception, its stack and a frame.
 */
static const char *const texts[] = {
	"\x05"
	"Main"
	"\x05",
	"\x06"
	"run"
	"\x06",
	"\x08"
	"()V"
	"\x08",
	"\x0b"
	"1\x0b"
	"2\x0b"
	"3\x0b",
	"URI",
	"/",
	"\n5\n6\n",
	"\t5\t7\t",
	"\x0c"
	"1\x0c"
	"6\x0c:\x0c"
	"9\x0c",
	"\x0d;\x0d;\x0d",
	"\x0e"
	"1\x0e"
	"2\x0e"
	"6\x0e"
	"7\x0e",
	"sonde.ns",
};

static void write_data(const uint8_t *data, size_t size)
{
	FILE *file = fopen(path, "wb");
	uint8_t header[16];

	REQUIRE(file);
	zts_put_data_header(header, ZTS_FLAG_CRC);
	REQUIRE(fwrite(header, 1, sizeof(header), file) == sizeof(header));
	while (size) {
		uint32_t length = data[0] < size ? data[0] : (uint32_t)size - 1;
		struct zts_chunk chunk = { .stored_size = length,
					   .size = length,
					   .crc = sonde_crc32(0, data + 1, length) };

		zts_put_chunk_header(header, &chunk);
		REQUIRE(fwrite(header, 1, sizeof(header), file) == sizeof(header));
		REQUIRE(fwrite(data + 1, 1, length, file) == length);
		data += length + 1;
		size -= length + 1;
	}
	REQUIRE(fclose(file) == 0);
}

static void check_slots(const struct zts_chunks *chunks, const struct zts_slots *slots,
			struct zts_texts *meta)
{
	struct sonde_error err;
	const char *line;
	size_t size;

	for (size_t i = 0; i < slots->list.count; i++) {
		const struct zts_slot *slot = &slots->list.items[i];
		struct zts_chunk chunk;

		REQUIRE(zts_chunks_at(chunks, slot->data_offset, &chunk, &err) == SONDE_OK);
		REQUIRE(slot->start_offset < chunk.size || !slot->start_offset);
		REQUIRE(slot->flags & (ZTS_RECORD_CHUNKED | ZTS_RECORD_LAST));
		if (slot->deep_entry == UINT32_MAX)
			continue;
		REQUIRE(zts_texts_get(meta, slot->deep_entry, &line, &size, &err) == SONDE_OK);
		REQUIRE(size && line[0] == ZTS_META_DEEP && line[size - 1] == ZTS_META_DEEP);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct zts_texts *names;
	static struct sonde_buffer wal;
	struct zts_slots slots = { .has_names = size % 2 };
	struct sonde_buffer lines = { 0 };
	struct zts_chunks chunks;
	struct zts_texts *meta;
	struct sonde_error err = { 0 };

	if (!names) {
		snprintf(path, sizeof(path), "%s/sonde-fuzz-%d",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", (int)getpid());
		atexit(remove_file);
		sonde_buffer_put(&wal, ZTS_WAL_MAGIC, 4);
		for (uint32_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
			zts_wal_put_entry(&wal, i + 1, texts[i], strlen(texts[i]));
		REQUIRE(zts_texts_of((uint8_t *)wal.data, wal.size, &names, &err) == SONDE_OK);
	}
	write_data(data, size);
	REQUIRE(zts_chunks_open(&chunks, path, &err) == SONDE_OK);
	REQUIRE(zts_rebuild(&chunks, names, &slots, &lines, NULL, &err) == SONDE_OK);
	REQUIRE(zts_texts_of((uint8_t *)lines.data, lines.size, &meta, &err) == SONDE_OK);
	check_slots(&chunks, &slots, meta);
	zts_texts_free(meta);
	sonde_buffer_release(&lines);
	zts_slots_release(&slots);
	zts_chunks_release(&chunks);
	return 0;
}
