/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes qmeta.idx: as bytes in memory, and as a file of a part whose data and texts are good.
 * Beyond "does not crash": a slot that loads gives a record that is there, links between chunks go
 * forward, and a part whose metadata was made anew has all its traces, whatever the damage was.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crc.h"
#include "formats/zts/zts_store.h"
#include "formats/zts/zts_wal.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* At most so many slots of an input are loaded. */
#define LOADED_SLOTS 64

/* A record with a trace inside of it; one in two chunks. Slots: inner, outer, first, last. */
static const char whole_trace[] =
	"\xc8\x9f\xce\xa1\x0c\x00\xce\xa1\x0e\x01\xce\xa1\x05\x1a\x5c\xc9\x8a\x41\xce\xa1\x07\x05"
	"\xc9\xa1\xc6\x02\xc6\x03\xc8\x9f\xce\xa1\x0c\x01\xce\xa1\x0e\x01\xce\xa1\x05\x02\xce\xa1"
	"\x0d\x02\xce\xa1\x09\x01\xff\xce\xa1\x0d\x05\xce\xa1\x09\x02\xff";
static const char first_chunk[] = "\xc8\x9f\xce\xa1\x0c\x00\xce\xa1\x0e\x01\xce\xa1\x05\x07"
				  "\xc8\x9f\xce\xa1\x0c\x01";
static const char last_chunk[] = "\xce\xa1\x0d\x02\xff\xce\xa1\x0d\x05\xce\xa1\x09\x02\xff";
#define REBUILT_SLOTS 4

static char folder[64];

static void remove_folder(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	REQUIRE(system(command) == 0);
}

static void write_file(const char *name, const void *data, size_t size)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "wb");
	REQUIRE(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

static void put_chunk(struct sonde_buffer *file, const char *content, size_t size)
{
	struct zts_chunk chunk = { .stored_size = (uint32_t)size,
				   .size = (uint32_t)size,
				   .crc = sonde_crc32(0, content, size) };
	uint8_t header[16];

	zts_put_chunk_header(header, &chunk);
	sonde_buffer_put(file, header, sizeof(header));
	sonde_buffer_put(file, content, size);
}

static void create_part(void)
{
	static const char *const texts[] = { "run", "URI", "/", "\n2\n3\n" };
	struct sonde_buffer file = { 0 };
	uint8_t header[16];

	snprintf(folder, sizeof(folder), "%s/sonde-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	REQUIRE(mkdtemp(folder));
	atexit(remove_folder);
	zts_put_data_header(header, ZTS_FLAG_CRC);
	sonde_buffer_put(&file, header, sizeof(header));
	put_chunk(&file, whole_trace, sizeof(whole_trace) - 1);
	put_chunk(&file, first_chunk, sizeof(first_chunk) - 1);
	put_chunk(&file, last_chunk, sizeof(last_chunk) - 1);
	write_file(ZTS_DATA_NAME, file.data, file.size);
	sonde_buffer_clear(&file);
	sonde_buffer_put(&file, ZTS_WAL_MAGIC, 4);
	write_file("meta-00000001.wal", file.data, file.size);
	for (uint32_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		zts_wal_put_entry(&file, i + 1, texts[i], strlen(texts[i]));
	write_file("text-00000001.wal", file.data, file.size);
	sonde_buffer_release(&file);
}

static void check_links(const struct zts_part *part)
{
	const struct zts_slot *slots = part->slots.list.items;

	for (size_t i = 0; part->next_chunk && i < part->slots.list.count; i++) {
		uint32_t next = part->next_chunk[i];

		REQUIRE(part->first_chunk[i] < part->slots.list.count);
		if (next == SONDE_NONE)
			continue;
		REQUIRE(next < part->slots.list.count);
		REQUIRE(slots[next].data_offset > slots[i].data_offset);
		REQUIRE(part->first_chunk[next] == part->first_chunk[i]);
	}
}

static void load_slots(struct zts_part *part)
{
	struct zts_loaded loaded = { 0 };
	struct sonde_error err = { 0 };

	for (uint32_t i = 0; i < part->slots.list.count && i < LOADED_SLOTS; i++) {
		enum sonde_status status = zts_part_load(part, i, &loaded, &err);
		uint64_t start, duration;

		REQUIRE(status == SONDE_OK || (!part->is_rebuilt && err.message[0]));
		zts_part_is_trace(part, i);
		if (status < 0)
			continue;
		REQUIRE(loaded.root < loaded.tree.records.count);
		REQUIRE(loaded.tree.records.items[loaded.root].records <=
			loaded.tree.records.count - loaded.root);
		zts_loaded_times(part, &loaded, loaded.root, &start, &duration);
	}
	zts_loaded_release(&loaded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct zts_slots slots = { 0 };
	struct zts_base *base;
	struct sonde_error err = { 0 };

	if (!folder[0])
		create_part();
	if (zts_slots_parse(&slots, data, size, ZTS_QMETA_NAME, NULL, &err) < 0)
		REQUIRE(err.message[0]);
	REQUIRE(slots.list.count <= size / 64);
	zts_slots_release(&slots);
	write_file(ZTS_QMETA_NAME, data, size);
	REQUIRE(zts_base_open(folder, NULL, &base, &err) == SONDE_OK);
	REQUIRE(base->parts.count == 1);
	if (base->parts.items[0]->is_rebuilt)
		REQUIRE(base->parts.items[0]->slots.list.count == REBUILT_SLOTS);
	check_links(base->parts.items[0]);
	load_slots(base->parts.items[0]);
	REQUIRE(zts_base_refresh(base, &err) == SONDE_OK);
	zts_base_free(base);
	return 0;
}
