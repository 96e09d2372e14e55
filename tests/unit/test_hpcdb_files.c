/* SPDX-License-Identifier: Apache-2.0 */
/* The four files of the golden database, as they are and with hostile trees, strides and versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_cct.h"
#include "formats/hpcdb/hpcdb_ids.h"
#include "formats/hpcdb/hpcdb_trace.h"

static char folder[512];
/* A copy of meta.db that tests change. */
static uint8_t bytes[1 << 16];
static size_t size;

static int load(void **state)
{
	char path[600];
	FILE *file;

	(void)state;
	snprintf(folder, sizeof(folder), "%s/hpcdb/small", getenv("GOLDEN"));
	snprintf(path, sizeof(path), "%s/meta.db", folder);
	file = fopen(path, "rb");
	if (!file)
		return -1;
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	return 0;
}

static uint64_t section_offset(enum hpcdb_meta_section section)
{
	return sonde_load_u64le(bytes + HPCDB_SECTIONS + section * HPCDB_SECTION_SIZE + 8);
}

static struct hpcdb_meta open_bytes(void)
{
	struct hpcdb_meta meta;

	assert_int_equal(hpcdb_meta_of(&meta, bytes, size, "meta.db", NULL), SONDE_OK);
	return meta;
}

static void test_meta(void **state)
{
	struct hpcdb_meta meta = open_bytes();
	struct hpcdb_function_info function;

	(void)state;
	assert_string_equal(meta.title.text, "small");
	assert_int_equal(meta.kinds.count, 8);
	assert_string_equal(meta.kinds.items[3].text, "THREAD");
	assert_int_equal(meta.scopes.count, 4);
	assert_string_equal(meta.scopes.items[2].name.text, "lex_aware");
	assert_int_equal(meta.metrics.count, 1);
	assert_int_equal(meta.instances.count, 4);
	assert_int_equal(meta.summaries.count, 20);
	assert_string_equal(meta.summaries.items[9].formula.text, "($$^2)");
	assert_int_equal(meta.summaries.items[19].combine, HPCDB_COMBINE_MAX);
	assert_int_equal(meta.functions.count, 2);
	function = hpcdb_meta_function(&meta, 1);
	assert_string_equal(function.name.text, "work");
	assert_int_equal(function.address, 0x2000);
	assert_int_equal(function.module, 0);
	assert_true(hpcdb_meta_file(&meta, 0).is_copied);
	hpcdb_meta_release(&meta);
}

static void test_tree(void **state)
{
	static const uint32_t ids[] = { 0, 1, 2, 3, 5, 6, 7, 8, 10, 11 };
	static const uint32_t parents[] = { HPCDB_NO_RECORD, 0, 1, 2, 3, 4, 5, 6, 0, 8 };
	static const uint32_t ends[] = { 10, 8, 8, 8, 8, 8, 8, 8, 10, 10 };
	struct hpcdb_meta meta = open_bytes();
	struct hpcdb_tree tree = { 0 };
	struct hpcdb_ids found = { 0 };
	struct hpcdb_place place;

	(void)state;
	assert_int_equal(hpcdb_meta_walk(&meta, &tree, NULL), SONDE_OK);
	assert_int_equal(tree.contexts.count, 10);
	assert_int_equal(tree.faults, 0);
	assert_int_equal(hpcdb_ids_build(&found, &tree, NULL), SONDE_OK);
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(tree.contexts.items[i].id, ids[i]);
		assert_int_equal(tree.contexts.items[i].parent, parents[i]);
		assert_int_equal(tree.contexts.items[i].end, ends[i]);
		assert_int_equal(hpcdb_ids_find(&found, ids[i]), i);
	}
	assert_int_equal(hpcdb_ids_find(&found, 9), HPCDB_NO_RECORD);
	assert_int_equal(hpcdb_ids_find(&found, UINT32_MAX), HPCDB_NO_RECORD);
	place = hpcdb_meta_place(&meta, &tree.contexts.items[5]);
	assert_int_equal(place.line, 10);
	assert_int_equal(place.file, 0);
	assert_int_equal(place.address, 0x2010);
	hpcdb_ids_release(&found);
	hpcdb_tree_release(&tree);
	hpcdb_meta_release(&meta);
}

/* Where the record of a context is. */
static uint64_t place_of(uint32_t number)
{
	struct hpcdb_meta meta = open_bytes();
	struct hpcdb_tree tree = { 0 };
	uint64_t offset;

	assert_int_equal(hpcdb_meta_walk(&meta, &tree, NULL), SONDE_OK);
	offset = tree.contexts.items[number].offset;
	hpcdb_tree_release(&tree);
	hpcdb_meta_release(&meta);
	return offset;
}

static void walk_hostile(size_t most)
{
	struct hpcdb_meta meta = open_bytes();
	struct hpcdb_tree tree = { 0 };

	assert_int_equal(hpcdb_meta_walk(&meta, &tree, NULL), SONDE_OK);
	assert_true(tree.faults > 0);
	assert_true(tree.contexts.count <= most);
	for (uint32_t i = 1; i < tree.contexts.count; i++)
		assert_true(tree.contexts.items[i].parent < i && tree.contexts.items[i].end > i);
	hpcdb_tree_release(&tree);
	hpcdb_meta_release(&meta);
}

/* Children that are their own ancestors, or those of another. */
static void test_loops(void **state)
{
	uint64_t leaf = place_of(7), main_function = place_of(2), other = place_of(9);

	load(state);
	sonde_store_u64le(bytes + leaf, 0x28);
	sonde_store_u64le(bytes + leaf + 8, main_function);
	walk_hostile(10);
	load(state);
	sonde_store_u64le(bytes + leaf, 0x30);
	sonde_store_u64le(bytes + leaf + 8, leaf);
	walk_hostile(10);
	load(state);
	sonde_store_u64le(bytes + other, 0x30);
	sonde_store_u64le(bytes + other + 8, leaf);
	walk_hostile(10);
	/* into the middle of another, outside, beyond the end */
	load(state);
	sonde_store_u64le(bytes + other, 0x40);
	sonde_store_u64le(bytes + other + 8, leaf + 8);
	walk_hostile(11);
	load(state);
	sonde_store_u64le(bytes + other, 0x20);
	sonde_store_u64le(bytes + other + 8, 0x10);
	walk_hostile(10);
	load(state);
	sonde_store_u64le(bytes + other, UINT64_MAX);
	sonde_store_u64le(bytes + other + 8, UINT64_MAX - 64);
	walk_hostile(10);
	load(state);
	bytes[leaf + 0x17] = 255;
	walk_hostile(10);
	load(state);
}

/* A chain of half a million contexts: no recursion, and no more than there is room for. */
static void test_deep(void **state)
{
	enum { DEPTH = 500000 };
	uint64_t start = section_offset(HPCDB_META_CONTEXT), at = start + 0x40;
	size_t whole = start + 0x40 + (size_t)DEPTH * HPCDB_CONTEXT_SIZE;
	uint8_t *data = calloc(1, whole);
	struct hpcdb_tree tree = { 0 };
	struct hpcdb_meta meta;

	(void)state;
	assert_non_null(data);
	memcpy(data, bytes, start);
	sonde_store_u64le(data + HPCDB_SECTIONS + HPCDB_META_CONTEXT * HPCDB_SECTION_SIZE,
			  whole - start);
	sonde_store_u64le(data + start, start + 0x10);
	sonde_store_u16le(data + start + 8, 1);
	data[start + 10] = HPCDB_ENTRY_SIZE;
	sonde_store_u64le(data + start + 0x10, HPCDB_CONTEXT_SIZE);
	sonde_store_u64le(data + start + 0x18, at);
	for (uint32_t i = 0; i < DEPTH; i++, at += HPCDB_CONTEXT_SIZE) {
		sonde_store_u64le(data + at, i + 1 < DEPTH ? HPCDB_CONTEXT_SIZE : 0);
		sonde_store_u64le(data + at + 8, at + HPCDB_CONTEXT_SIZE);
		sonde_store_u32le(data + at + 0x10, i + 1);
	}
	assert_int_equal(hpcdb_meta_of(&meta, data, whole, "deep", NULL), SONDE_OK);
	assert_int_equal(hpcdb_meta_walk(&meta, &tree, NULL), SONDE_OK);
	assert_int_equal(tree.contexts.count, DEPTH + 2);
	assert_int_equal(tree.faults, 0);
	assert_int_equal(tree.contexts.items[DEPTH + 1].parent, DEPTH);
	hpcdb_tree_release(&tree);
	hpcdb_meta_release(&meta);
	free(data);
}

/* A newer minor version is read, a larger stride is used, another major version refused. */
static void test_versions(void **state)
{
	uint64_t functions = section_offset(HPCDB_META_FUNCTIONS);
	struct hpcdb_meta meta;
	struct sonde_error err;

	load(state);
	bytes[HPCDB_MINOR] = 9;
	meta = open_bytes();
	assert_int_equal(meta.file.minor, 9);
	hpcdb_meta_release(&meta);
	/* one function of 80 bytes, as if a version had added 40 */
	sonde_store_u32le(bytes + functions + 8, 1);
	sonde_store_u16le(bytes + functions + 12, 80);
	meta = open_bytes();
	assert_int_equal(meta.functions.count, 1);
	assert_string_equal(hpcdb_meta_function(&meta, 0).name.text, "main");
	hpcdb_meta_release(&meta);
	sonde_store_u16le(bytes + functions + 12, 8);
	meta = open_bytes();
	assert_int_equal(meta.functions.count, 0);
	hpcdb_meta_release(&meta);
	bytes[HPCDB_MAJOR] = 5;
	assert_int_equal(hpcdb_meta_of(&meta, bytes, size, "meta.db", &err), SONDE_UNSUPPORTED);
	bytes[HPCDB_FORMAT] = 'x';
	assert_int_equal(hpcdb_meta_of(&meta, bytes, size, "meta.db", &err), SONDE_FORMAT);
	assert_int_equal(hpcdb_meta_of(&meta, bytes, 20, "meta.db", &err), SONDE_TRUNCATED);
	assert_int_equal(hpcdb_meta_of(&meta, "", 0, "meta.db", &err), SONDE_TRUNCATED);
	load(state);
}

static void test_planes(void **state)
{
	struct hpcdb_profile profile;
	struct hpcdb_cct cct;
	struct sonde_identity identities[SONDE_IDENTITY_LIMIT];
	struct hpcdb_profile_info info;
	struct hpcdb_block block;
	size_t count;
	double value = 0;

	(void)state;
	assert_int_equal(hpcdb_profile_open(&profile, folder, NULL), SONDE_OK);
	assert_int_equal(hpcdb_profile_count(&profile), 3);
	info = hpcdb_profile_at(&profile, 0);
	assert_true(info.is_summary);
	assert_true(hpcdb_plane_find(&info.plane, 0, 11, &value));
	assert_true(value == 36.125);
	info = hpcdb_profile_at(&profile, 2);
	assert_true(hpcdb_profile_identities(&profile, &info, identities, &count));
	assert_int_equal(count, 2);
	assert_int_equal(identities[0].physical, 0x11ac0300);
	assert_int_equal(identities[1].logical, 1);
	assert_true(hpcdb_plane_find(&info.plane, 11, 0, &value));
	assert_true(value == 4.0);
	assert_false(hpcdb_plane_find(&info.plane, 11, 4, &value));
	assert_false(hpcdb_plane_find(&info.plane, 4, 0, &value));
	assert_int_equal(hpcdb_cct_open(&cct, folder, NULL), SONDE_OK);
	block = hpcdb_cct_at(&cct, 9);
	assert_true(hpcdb_block_find(&block, 3, 1, &value));
	assert_true(value == 2.25);
	assert_false(hpcdb_block_find(&block, 3, 3, &value));
	block = hpcdb_cct_at(&cct, 4);
	assert_true(block.is_whole && !block.value_count);
	block = hpcdb_cct_at(&cct, 1000);
	assert_false(hpcdb_block_find(&block, 0, 1, &value));
	hpcdb_profile_release(&profile);
	hpcdb_cct_release(&cct);
}

static void test_lines(void **state)
{
	struct hpcdb_trace trace;
	struct hpcdb_line line;

	(void)state;
	assert_int_equal(hpcdb_trace_open(&trace, folder, NULL), SONDE_OK);
	assert_int_equal(trace.lines.count, 2);
	line = hpcdb_trace_at(&trace, 0);
	assert_int_equal(line.count, 4);
	assert_int_equal(hpcdb_line_seek(&line, 1101), 2);
	assert_int_equal(hpcdb_line_seek(&line, 1100), 1);
	assert_int_equal(hpcdb_line_seek(&line, 9999), 4);
	assert_int_equal(hpcdb_line_context(&line, 3), 6);
	hpcdb_trace_release(&trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_meta),	 cmocka_unit_test(test_tree),
		cmocka_unit_test(test_loops),	 cmocka_unit_test(test_deep),
		cmocka_unit_test(test_versions), cmocka_unit_test(test_planes),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
