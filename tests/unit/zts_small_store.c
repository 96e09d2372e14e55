/* SPDX-License-Identifier: Apache-2.0 */
/* The part of three traces that tests damage, grow and remove. */
#include "zts_small_store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "scratch.h"

struct made_part made;
struct zts_base *base;
struct sonde_diagnostics *found;

void make_texts(void)
{
	static const uint32_t method[] = { CLASS, NAME, SIGNATURE }, pair[] = { KEY, VALUE };

	assert_int_equal(made_text(&made, "\x05"
					  "com.example.Main"
					  "\x05"),
			 CLASS);
	assert_int_equal(made_text(&made, "\x06"
					  "run"
					  "\x06"),
			 NAME);
	assert_int_equal(made_text(&made, "\x08"
					  "()V"
					  "\x08"),
			 SIGNATURE);
	assert_int_equal(made_typed(&made, ZTS_TEXT_METHOD, method, 3), METHOD);
	assert_int_equal(made_text(&made, "URI"), KEY);
	assert_int_equal(made_text(&made, "/index"), VALUE);
	assert_int_equal(made_typed(&made, ZTS_TEXT_KEY_VALUE, pair, 2), PAIR);
	assert_int_equal(made_text(&made, "STATUS"), NUMBER_KEY);
	assert_int_equal(made_text(&made, "\t8\t200\t"), NUMBER_PAIR);
	assert_int_equal(made_text(&made, "other"), OTHER);
}

uint64_t make_trace(uint64_t ms)
{
	made_begin(&made, METHOD, 100);
	made_timestamp(&made, ms, 5);
	made_string_attribute(&made, KEY, VALUE);
	made_begin(&made, METHOD, 110);
	made_number_attribute(&made, NUMBER_KEY, 200);
	made_end(&made, 150, 1, 0);
	made_end(&made, 200, 2, 0);
	return made_chunk(&made);
}

void make_part(void)
{
	made_release(&made);
	make_texts();
	for (uint64_t i = 0; i < 3; i++)
		made_slot(&made, make_trace(TIME_MS + i), 0, WHOLE, 100 + i, OTHER);
}

void open_store(const char *path)
{
	struct sonde_error err = { 0 };

	found = sonde_diagnostics_new();
	if (zts_base_open(path, found, &base, &err) != SONDE_OK)
		fail_msg("%s: %s (%s)", path, err.message, err.cause);
}

void close_store(void)
{
	zts_base_free(base);
	sonde_diagnostics_free(found);
	remove_tree(scratch_path("store"));
	made_release(&made);
}

bool has_found(const char *id)
{
	const struct sonde_finding *finding;

	for (size_t i = 0; (finding = sonde_diagnostics_at(found, i)); i++)
		if (strcmp(finding->type->id, id) == 0)
			return true;
	return false;
}

const char *write_part(const char *name)
{
	char path[80];

	mkdir(scratch_path("store"), 0777);
	snprintf(path, sizeof(path), "store/%s", name);
	made_write(&made, scratch_path(path));
	return scratch_path(path);
}

struct zts_part *only_part(void)
{
	assert_int_equal(base->parts.count, 1);
	return base->parts.items[0];
}

void assert_loads(struct zts_part *part, uint32_t slot, uint32_t records)
{
	struct zts_loaded loaded = { 0 };
	struct sonde_error err = { 0 };

	if (zts_part_load(part, slot, &loaded, &err) != SONDE_OK)
		fail_msg("slot %u: %s (%s)", slot, err.message, err.cause);
	assert_int_equal(loaded.tree.records.items[loaded.root].records, records);
	zts_loaded_release(&loaded);
}

void patch_qmeta(long offset, uint8_t byte)
{
	FILE *file = fopen(scratch_path("store/000001/qmeta.idx"), "r+b");

	assert_non_null(file);
	assert_int_equal(fseek(file, offset, SEEK_SET), 0);
	assert_int_equal(fputc(byte, file), byte);
	assert_int_equal(fclose(file), 0);
}
