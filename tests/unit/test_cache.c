/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of what was found out about files: what is stored comes back, and nothing else does,
 * whatever happened to the file, the entry or the folder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache.h"
#include "scratch.h"

#define KIND "test-1"
#define FILE_SIZE 200000 /* more than what is hashed of it */

/* Times of files that are long past. */
static void set_time(const char *path, time_t seconds)
{
	struct timespec times[2] = { { .tv_sec = seconds }, { .tv_sec = seconds } };

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void make_input(const char *name, char fill)
{
	char *bytes = malloc(FILE_SIZE);

	assert_non_null(bytes);
	memset(bytes, fill, FILE_SIZE);
	put_bytes(name, bytes, FILE_SIZE);
	set_time(name, 1000000000);
	free(bytes);
}

static bool make_key(const char *name, struct sonde_cache_key *key)
{
	struct sonde_mapped_file file;
	bool is_made;

	assert_int_equal(sonde_mapped_file_open(&file, name, NULL), SONDE_OK);
	is_made = sonde_cache_key_make(key, KIND, &file);
	sonde_mapped_file_release(&file);
	return is_made;
}

static void store(const char *name, const void *data, size_t size)
{
	struct sonde_cache_key key;

	assert_true(make_key(name, &key));
	sonde_cache_store(&key, name, data, size);
}

/* Whether the file has this entry; any other would be a fault. */
static bool has(const char *name, const void *data, size_t size)
{
	struct sonde_cache_entry entry;
	struct sonde_cache_key key;

	assert_true(make_key(name, &key));
	if (!sonde_cache_load(&key, &entry))
		return false;
	assert_int_equal(entry.size, size);
	assert_memory_equal(entry.data, data, size);
	sonde_cache_entry_release(&entry);
	return true;
}

static unsigned int count_names(const char *folder)
{
	DIR *names = opendir(folder);
	unsigned int count = 0;

	assert_non_null(names);
	for (struct dirent *name = readdir(names); name; name = readdir(names))
		count += name->d_name[0] != '.';
	closedir(names);
	return count;
}

/* The path of the only entry. */
static void entry_path(char path[512])
{
	DIR *names = opendir("cache");
	struct dirent *name;

	assert_non_null(names);
	do {
		name = readdir(names);
		assert_non_null(name);
	} while (name->d_name[0] == '.');
	snprintf(path, 512, "cache/%s", name->d_name);
	closedir(names);
}

static int begin(void **state)
{
	setenv("SONDE_CACHE", "cache", 1);
	setenv("SONDE_CACHE_MINIMUM", "1000", 1);
	unsetenv("SONDE_CACHE_LIMIT");
	return enter_folder(state);
}

static void test_round_trip(void **state)
{
	(void)state;
	make_input("a", 'a');
	make_input("b", 'b');
	assert_false(has("a", "", 0));
	store("a", "of a", 4);
	store("b", "", 0);
	assert_true(has("a", "of a", 4));
	assert_true(has("b", "", 0));
	store("a", "again", 5);
	assert_true(has("a", "again", 5));
	assert_int_equal(count_names("cache"), 2);
}

static void test_kinds_apart(void **state)
{
	struct sonde_mapped_file file;
	struct sonde_cache_entry entry;
	struct sonde_cache_key key;

	(void)state;
	make_input("a", 'a');
	store("a", "one", 3);
	assert_int_equal(sonde_mapped_file_open(&file, "a", NULL), SONDE_OK);
	assert_true(sonde_cache_key_make(&key, "test-2", &file));
	sonde_mapped_file_release(&file);
	assert_false(sonde_cache_load(&key, &entry));
	sonde_cache_drop(&key);
	assert_true(has("a", "one", 3));
	assert_true(make_key("a", &key));
	sonde_cache_drop(&key);
	assert_false(has("a", "one", 3));
}

static void test_off(void **state)
{
	struct sonde_cache_key key;

	(void)state;
	make_input("a", 'a');
	assert_true(make_key("a", &key));
	setenv("SONDE_CACHE_MINIMUM", "200001", 1);
	assert_false(make_key("a", &key));
	setenv("SONDE_CACHE_MINIMUM", "many", 1);
	assert_false(make_key("a", &key));
	setenv("SONDE_CACHE_MINIMUM", "200000", 1);
	setenv("SONDE_CACHE", "off", 1);
	assert_false(make_key("a", &key));
	put_file("empty", "");
	setenv("SONDE_CACHE", "cache", 1);
	setenv("SONDE_CACHE_MINIMUM", "0", 1);
	assert_false(make_key("empty", &key));
}

/* Whatever of the file is another, the entry is not its. */
static void test_changed_file(void **state)
{
	int fd;

	(void)state;
	make_input("a", 'a');
	store("a", "old", 3);
	set_time("a", 1000000001);
	assert_false(has("a", "old", 3));
	set_time("a", 1000000000);
	assert_true(has("a", "old", 3));
	fd = open("a", O_WRONLY);
	assert_int_equal(pwrite(fd, "x", 1, FILE_SIZE - 1), 1);
	set_time("a", 1000000000);
	assert_false(has("a", "old", 3));
	assert_int_equal(pwrite(fd, "a", 1, FILE_SIZE - 1), 1);
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	set_time("a", 1000000000);
	assert_false(has("a", "old", 3));
	assert_int_equal(pwrite(fd, "a", 1, 0), 1);
	set_time("a", 1000000000);
	assert_true(has("a", "old", 3));
	assert_int_equal(ftruncate(fd, FILE_SIZE - 1), 0);
	set_time("a", 1000000000);
	assert_false(has("a", "old", 3));
	close(fd);
	/* another file under the same name */
	make_input("b", 'a');
	assert_int_equal(rename("b", "a"), 0);
	assert_false(has("a", "old", 3));
}

/* A file that is being written, or was changed after it was read, gets no entry. */
static void test_unsettled_file(void **state)
{
	struct sonde_cache_key key;

	(void)state;
	make_input("a", 'a');
	set_time("a", time(NULL));
	store("a", "new", 3);
	set_time("a", 1000000000);
	assert_true(make_key("a", &key));
	set_time("a", 1000000001);
	sonde_cache_store(&key, "a", "late", 4);
	set_time("a", 1000000000);
	assert_false(has("a", "", 0));
	assert_int_not_equal(access("cache", F_OK), 0);
}

static void test_damaged_entry(void **state)
{
	char path[512], bytes[256];
	size_t size;
	FILE *file;

	(void)state;
	make_input("a", 'a');
	store("a", "0123456789", 10);
	entry_path(path);
	file = fopen(path, "rb");
	assert_non_null(file);
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	assert_true(size > 10 && size < sizeof(bytes));
	for (size_t i = 0; i < size; i++) {
		bytes[i] ^= 0x20;
		put_bytes(path, bytes, size);
		assert_false(has("a", "", 0));
		bytes[i] ^= 0x20;
		put_bytes(path, bytes, i);
		assert_false(has("a", "", 0));
	}
	put_bytes(path, bytes, size);
	assert_true(has("a", "0123456789", 10));
	/* what cannot be used is replaced */
	put_bytes(path, bytes, 50);
	store("a", "new", 3);
	assert_true(has("a", "new", 3));
	/* neither links nor folders are followed */
	assert_int_equal(rename(path, "elsewhere"), 0);
	assert_int_equal(symlink("../elsewhere", path), 0);
	assert_false(has("a", "new", 3));
}

/* The oldest go, those of others stay, and so does what was used since. */
static void test_limit(void **state)
{
	char path[512], name[2] = "a", *data = calloc(1, 1000);

	(void)state;
	assert_non_null(data);
	setenv("SONDE_CACHE_LIMIT", "4480", 1);
	assert_int_equal(mkdir("cache", 0700), 0);
	put_file("cache/other.cache", "not ours");
	put_file("cache/sonde-new-abcdef", "of a writer that was killed");
	put_file("cache/sonde-new-ghijkl", "of one at work");
	set_time("cache/sonde-new-abcdef", 1000000000);
	for (; name[0] <= 'd'; name[0]++) {
		make_input(name, name[0]);
		store(name, data, 1000);
	}
	assert_int_equal(access("cache/sonde-new-abcdef", F_OK), -1);
	assert_int_equal(access("cache/sonde-new-ghijkl", F_OK), 0);
	for (name[0] = 'a'; name[0] <= 'd'; name[0]++) {
		struct sonde_cache_key key;

		assert_true(make_key(name, &key));
		snprintf(path, sizeof(path), "cache/sonde-" KIND "-%llx-%llx.cache",
			 (unsigned long long)key.file.device, (unsigned long long)key.file.inode);
		set_time(path, 1000000000 + name[0]);
	}
	assert_true(has("a", data, 1000)); /* used now */
	make_input("e", 'e');
	store("e", data, 1000);
	assert_true(has("a", data, 1000));
	assert_false(has("b", data, 1000));
	assert_true(has("c", data, 1000));
	assert_true(has("d", data, 1000));
	assert_true(has("e", data, 1000));
	assert_int_equal(access("cache/other.cache", F_OK), 0);
	/* one that would take most of the room is not kept */
	make_input("f", 'f');
	store("f", data, 1000);
	setenv("SONDE_CACHE_LIMIT", "3999", 1);
	make_input("g", 'g');
	store("g", data, 1000);
	assert_false(has("g", data, 1000));
	free(data);
}

static void test_folders(void **state)
{
	char here[256], path[300];

	(void)state;
	make_input("a", 'a');
	assert_non_null(getcwd(here, sizeof(here)));
	unsetenv("SONDE_CACHE");
	snprintf(path, sizeof(path), "%s/xdg", here);
	setenv("XDG_CACHE_HOME", path, 1);
	setenv("HOME", here, 1);
	store("a", "xdg", 3);
	assert_int_equal(count_names("xdg/sonde"), 1);
	setenv("XDG_CACHE_HOME", "relative", 1); /* must be ignored, says its specification */
	assert_false(has("a", "xdg", 3));
	store("a", "home", 4);
	assert_int_equal(count_names(".cache/sonde"), 1);
	assert_int_equal(access("relative", F_OK), -1);
	setenv("SONDE_CACHE", "", 1); /* as if it was not set */
	assert_true(has("a", "home", 4));
	/* where nothing can be written, nothing happens */
	put_file("file", "");
	setenv("SONDE_CACHE", "file", 1);
	store("a", "x", 1);
	assert_false(has("a", "x", 1));
	setenv("SONDE_CACHE", "file/cache", 1);
	store("a", "x", 1);
	assert_false(has("a", "x", 1));
	setenv("SONDE_CACHE", "none/none/none", 1);
	store("a", "x", 1);
	assert_false(has("a", "x", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_kinds_apart, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_off, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_changed_file, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_unsettled_file, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_damaged_entry, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_limit, begin, leave_folder),
		cmocka_unit_test_setup_teardown(test_folders, begin, leave_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
