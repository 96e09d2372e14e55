/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses to function ids, while modules come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <elf.h>
#include <stdlib.h>

#include "formats/atf/atf_layout.h"
#include "record/load_map.h"
#include "record/mapping.h"

/* How load_map.c reads the maps of a real process. */
static bool (*find_real)(uint32_t pid, uint64_t address, struct record_mapping *mapping);
static unsigned int lookups;

static bool find_nothing(uint32_t pid, uint64_t address, struct record_mapping *mapping)
{
	(void)pid, (void)address, (void)mapping;
	lookups++;
	return false;
}

static int setup(void **state)
{
	struct load_map *map;

	if (!find_real)
		find_real = record_mapping_find;
	record_mapping_find = find_nothing;
	lookups = 0;
	map = test_calloc(1, sizeof(*map));
	if (load_map_init(map, (uint32_t)getpid(), NULL) != SONDE_OK)
		return 1;
	*state = map;
	return 0;
}

static int teardown(void **state)
{
	load_map_release(*state);
	test_free(*state);
	return 0;
}

static void load(struct load_map *map, const char *path, uint64_t base, uint64_t size,
		 uint64_t time)
{
	struct shared_module entry = {
		.news = MODULE_LOADED,
		.time = time,
		.base = base,
		.low = base + 0x1000,
		.high = base + 0x1000 + size,
		.build_id = { 1, 2, 3 },
		.build_id_size = 3,
	};

	snprintf(entry.path, sizeof(entry.path), "%s", path);
	entry.path_size = (uint32_t)strlen(path);
	assert_int_equal(load_map_apply(map, &entry, NULL), SONDE_OK);
}

static void unload(struct load_map *map, uint64_t base, uint64_t time)
{
	struct shared_module entry = { .base = base, .time = time };

	assert_int_equal(load_map_apply(map, &entry, NULL), SONDE_OK);
}

static uint64_t id_of(const char *path, uint64_t address)
{
	return (uint64_t)atf_path_hash(path) << 32 | address;
}

static bool is_met(const struct load_map_module *module, uint64_t address)
{
	uint64_t bit = address - module->low;

	return module->met && module->met[bit / 64] >> (bit % 64) & 1;
}

static void test_hash(void **state)
{
	(void)state;
	/* FNV-1a of "", "a", "foobar" */
	assert_int_equal(atf_path_hash(""), 0x811c9dc5);
	assert_int_equal(atf_path_hash("a"), 0xe40c292c);
	assert_int_equal(atf_path_hash("FooBar"), 0xbf9cf968);
}

static void test_functions(void **state)
{
	struct load_map *map = *state;

	load(map, "/bin/A", 0x400000, 0x1000, 5);
	load(map, "/lib/b.so", 0x7f0000000000, 0x2000, 6);
	for (int i = 0; i < 3; i++) { /* to and fro, by the inline half too */
		assert_int_equal(load_map_function(map, 0x401010, 1), id_of("/bin/a", 0x1010));
		assert_int_equal(load_map_function(map, 0x401fff, 9), id_of("/bin/a", 0x1fff));
		assert_int_equal(load_map_function(map, 0x7f0000002abc, 9),
				 id_of("/lib/b.so", 0x2abc));
	}
	assert_true(is_met(map->modules[0], 0x401010));
	assert_true(is_met(map->modules[0], 0x401fff));
	assert_false(is_met(map->modules[0], 0x401011));
	assert_true(is_met(map->modules[1], 0x7f0000002abc));
	assert_string_equal(map->modules[0]->path, "/bin/A");
	assert_int_equal(map->modules[0]->build_id_size, 3);
	assert_int_equal(map->unknown_count, 0);
	assert_int_equal(lookups, 0);
}

static void test_unknown(void **state)
{
	struct load_map *map = *state;
	uint64_t unknown = id_of("[unknown]", 0);

	load(map, "/bin/a", 0x400000, 0x1000, 5);
	assert_int_equal(load_map_function(map, 0x400fff, 9), unknown + 1);
	assert_int_equal(load_map_function(map, 0x402000, 9), unknown + 2);
	assert_int_equal(load_map_function(map, 0x400fff, 9), unknown + 1);
	assert_int_equal(map->unknown_count, 2);
	assert_int_equal(lookups, 2); /* once an address */
	/* loaded there later */
	load(map, "/lib/b.so", 0x3ff000, 0x1000, 10);
	assert_int_equal(load_map_function(map, 0x400fff, 11), id_of("/lib/b.so", 0x1fff));
}

/* Another module takes the range; events of both are still to come. */
static void test_reused_range(void **state)
{
	struct load_map *map = *state;

	load(map, "/lib/a.so", 0x10000, 0x1000, 100);
	unload(map, 0x10000, 200);
	load(map, "/lib/b.so", 0x10800, 0x1000, 300);
	/* constructors of b run before its load is logged */
	assert_int_equal(load_map_function(map, 0x11900, 250), id_of("/lib/b.so", 0x1100));
	assert_int_equal(load_map_function(map, 0x11900, 150), id_of("/lib/a.so", 0x1900));
	assert_int_equal(load_map_function(map, 0x11900, 350), id_of("/lib/b.so", 0x1100));
	assert_int_equal(map->modules[1]->since, 200);
	/* only a was ever here */
	assert_int_equal(load_map_function(map, 0x11100, 350), id_of("/lib/a.so", 0x1100));
	/* again */
	unload(map, 0x10800, 400);
	load(map, "/lib/a.so", 0x10000, 0x1000, 500);
	assert_int_equal(load_map_function(map, 0x11900, 450), id_of("/lib/a.so", 0x1900));
	assert_int_equal(load_map_function(map, 0x11900, 399), id_of("/lib/b.so", 0x1100));
	assert_int_equal(load_map_function(map, 0x11900, 50), id_of("/lib/a.so", 0x1900));
	assert_int_equal(map->unknown_count, 0);
}

/* Nobody said that the first one is gone. */
static void test_replaced_in_silence(void **state)
{
	struct load_map *map = *state;

	load(map, "/lib/a.so", 0x10000, 0x1000, 100);
	load(map, "/lib/b.so", 0x10000, 0x1000, 300);
	assert_int_equal(load_map_function(map, 0x11900, 250), id_of("/lib/a.so", 0x1900));
	assert_int_equal(load_map_function(map, 0x11900, 301), id_of("/lib/b.so", 0x1900));
	/* the same one told twice */
	load(map, "/lib/b.so", 0x10000, 0x1000, 400);
	assert_int_equal(map->count, 2);
}

static void test_ids(void **state)
{
	struct load_map *map = *state;
	struct load_map copy;

	load(map, "/lib/a.so", 0x10000, 0x1000, 100);
	/* the same path elsewhere: the same id */
	load(map, "/lib/a.so", 0x90000, 0x1000, 100);
	assert_int_equal(map->modules[0]->id, map->modules[1]->id);
	/* two paths, one hash */
	assert_int_equal(atf_path_hash("/LIB/A.so"), atf_path_hash("/lib/a.so"));
	load(map, "/LIB/A.so", 0xa0000, 0x1000, 100);
	load(map, "/lib/A.so", 0xb0000, 0x1000, 100);
	assert_int_equal(map->modules[2]->id, map->modules[0]->id + 1);
	assert_int_equal(map->modules[3]->id, map->modules[0]->id + 2);

	/* a forked child */
	unload(map, 0x10000, 200);
	load_map_function(map, 0x91100, 300);
	load_map_function(map, 0x123456789, 300);
	assert_int_equal(load_map_copy(&copy, map, 2, NULL), SONDE_OK);
	assert_int_equal(copy.count, 3);
	assert_int_equal(copy.pid, 2);
	assert_int_equal(copy.unknown_count, 0);
	assert_int_equal(copy.modules[2]->id, map->modules[3]->id);
	assert_int_equal(copy.modules[2]->build_id_size, 3);
	assert_false(is_met(copy.modules[0], 0x91100));
	assert_int_equal(load_map_function(&copy, 0xb1100, 300),
			 (uint64_t)map->modules[3]->id << 32 | 0x1100);
	load_map_release(&copy);
}

static void test_nearest(void **state)
{
	struct load_map *map = *state;

	load(map, "/bin/a", 0x400000, 0x1000, 5);
	load_map_function(map, 0x401100, 9);
	load_map_function(map, 0x401400, 9);
	assert_int_equal(load_map_nearest(map, 0x401400, 0x401000), 0x401400);
	assert_int_equal(load_map_nearest(map, 0x4013ff, 0x401000), 0x401100);
	assert_int_equal(load_map_nearest(map, 0x401fff, 0x401400), 0x401400);
	assert_int_equal(load_map_nearest(map, 0x401fff, 0x401401), 0);
	assert_int_equal(load_map_nearest(map, 0x4010ff, 0x401000), 0);
	assert_int_equal(load_map_nearest(map, 0x402000, 0x401000), 0);
	assert_int_equal(load_map_nearest(map, 0x401100, 0x401200), 0);
}

/* A module that is mapped but not in the log yet: this program itself. */
static void test_found_in_proc(void **state)
{
	struct load_map *map = *state;
	uint64_t address = (uint64_t)(uintptr_t)test_found_in_proc;
	struct shared_module entry = { .news = MODULE_LOADED, .time = 50, .path = "relative/name" };
	uint64_t id;

	record_mapping_find = find_real;
	id = load_map_function(map, address, 10);
	assert_int_equal(map->count, 1);
	assert_true(map->modules[0]->found);
	assert_int_equal(map->modules[0]->path[0], '/');
	assert_int_equal(id >> 32, atf_path_hash(map->modules[0]->path));
	assert_int_equal((uint32_t)id, (uint32_t)(address - map->modules[0]->base));
	assert_int_equal(map->modules[0]->base % 4096, 0);

	/* then the log tells of it, with another range and name: it stays what it was */
	entry.base = map->modules[0]->base;
	entry.low = map->modules[0]->low - 4096;
	entry.high = map->modules[0]->high + 4096;
	assert_int_equal(load_map_apply(map, &entry, NULL), SONDE_OK);
	assert_int_equal(map->count, 1);
	assert_false(map->modules[0]->found);
	assert_int_equal(map->modules[0]->low, entry.low);
	assert_true(is_met(map->modules[0], address));
	assert_int_equal(load_map_function(map, address, 60), id);
	assert_int_equal(load_map_function(map, entry.low, 60),
			 (id & ~UINT64_C(0xffffffff)) | (uint32_t)(entry.low - entry.base));

	/* this variable is in no module: its pages are not executable */
	load_map_function(map, (uint64_t)(uintptr_t)&lookups, 60);
	assert_int_equal(map->unknown_count, 1);
}

/* The base that /proc gives is the one that the loader used. */
extern char __executable_start;

static void test_found_base(void **state)
{
	struct load_map *map = *state;
	struct record_mapping mapping;
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0); /* variables can be elsewhere */

	record_mapping_find = find_real;
	load_map_function(map, (uint64_t)(uintptr_t)test_found_base, 10);
	assert_int_equal(map->modules[0]->base, (uintptr_t)&__executable_start);
	assert_true(find_real((uint32_t)getpid(), frame, &mapping));
	assert_string_equal(mapping.path, "[stack]");
	assert_true(mapping.low <= frame && mapping.high > frame);
	assert_false(mapping.executable);
	assert_false(find_real((uint32_t)getpid(), 1, &mapping));
}

/* A file whose code is to lie elsewhere than at its offset, mapped from its second page on. */
static const char elf_path[] = "test_record_load_map.elf";

static bool find_elf(uint32_t pid, uint64_t address, struct record_mapping *mapping)
{
	(void)pid, (void)address;
	*mapping = (struct record_mapping){
		.low = 0x7f0000012000, .high = 0x7f0000014000, .offset = 0x2000, .executable = true
	};
	return realpath(elf_path, mapping->path) != NULL;
}

static void test_found_base_of_elf(void **state)
{
	struct {
		Elf64_Ehdr header;
		Elf64_Phdr programs[2];
	} elf = {
		.header = { .e_ident = ELFMAG,
			    .e_phoff = sizeof(Elf64_Ehdr),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 2 },
		.programs = { { .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x2000 },
			      { .p_type = PT_LOAD,
				.p_flags = PF_R | PF_X,
				.p_offset = 0x2010,
				.p_vaddr = 0x5010,
				.p_filesz = 0x1800 } },
	};
	FILE *file = fopen(elf_path, "wb");
	uint64_t id;

	assert_non_null(file);
	assert_int_equal(fwrite(&elf, sizeof(elf), 1, file), 1);
	fclose(file);
	record_mapping_find = find_elf;
	id = load_map_function(*state, 0x7f0000012100, 1);
	unlink(elf_path);
	assert_int_equal((uint32_t)id, 0x5100);
}

static void test_nonsense(void **state)
{
	struct load_map *map = *state;
	struct shared_module entry = { .news = MODULE_LOADED, .low = 0, .high = UINT64_MAX };
	struct sonde_error err;

	assert_int_equal(load_map_apply(map, &entry, &err), SONDE_CORRUPT);
	entry.low = 5;
	entry.high = 4;
	assert_int_equal(load_map_apply(map, &entry, &err), SONDE_CORRUPT);
	entry.high = 5;
	memset(entry.path, 'x', sizeof(entry.path)); /* cut: no end */
	entry.build_id_size = 1000;
	assert_int_equal(load_map_apply(map, &entry, &err), SONDE_OK);
	assert_int_equal(strlen(map->modules[0]->path), sizeof(entry.path));
	assert_int_equal(load_map_function(map, 5, 1), id_of("[unknown]", 1));
	unload(map, 0x12345, 7);
	assert_int_equal(map->modules[0]->unloaded, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash),
		cmocka_unit_test_setup_teardown(test_functions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reused_range, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replaced_in_silence, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ids, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nearest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_found_in_proc, setup, teardown),
		cmocka_unit_test_setup_teardown(test_found_base, setup, teardown),
		cmocka_unit_test_setup_teardown(test_found_base_of_elf, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nonsense, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
