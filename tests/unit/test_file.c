/* SPDX-License-Identifier: Apache-2.0 */
/* Files: mapped input, names, output, staged outputs. Each test has a folder of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "scratch.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void assert_file(const char *path, const char *text)
{
	struct sonde_mapped_file file;
	struct sonde_error err;

	assert_int_equal(sonde_mapped_file_open(&file, path, &err), SONDE_OK);
	assert_int_equal(file.size, strlen(text));
	if (file.size)
		assert_memory_equal(file.data, text, file.size);
	sonde_mapped_file_release(&file);
}

/* The names in the test's folder, with spaces between. */
static void assert_names(const char *path, const char *expected)
{
	struct sonde_folder folder;
	struct sonde_error err;
	char text[400] = "";
	size_t length = 0;

	assert_int_equal(sonde_folder_read(&folder, path, &err), SONDE_OK);
	for (size_t i = 0; i < folder.count; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s",
					   i ? " " : "", folder.names[i]);
	assert_string_equal(text, expected);
	sonde_folder_release(&folder);
}

static void test_mapped(void **state)
{
	struct sonde_mapped_file file;
	struct sonde_error err;

	(void)state;
	put_file("a", "hello");
	assert_int_equal(sonde_mapped_file_open(&file, "a", &err), SONDE_OK);
	assert_int_equal(file.size, 5);
	assert_memory_equal(file.data, "hello", 5);
	sonde_mapped_file_release(&file);
	sonde_mapped_file_release(&file);

	put_file("empty", "");
	assert_int_equal(sonde_mapped_file_open(&file, "empty", &err), SONDE_OK);
	assert_int_equal(file.size, 0);
	assert_null(file.data);
	sonde_mapped_file_release(&file);
}

static void test_mapped_refused(void **state)
{
	struct sonde_mapped_file file;
	struct sonde_error err;

	(void)state;
	assert_int_equal(sonde_mapped_file_open(&file, "missing", &err), SONDE_IO);
	assert_string_equal(err.file, "missing");
	assert_string_equal(err.cause, "No such file or directory");
	assert_int_equal(sonde_mapped_file_open(&file, ".", &err), SONDE_UNSUPPORTED);
	assert_non_null(strstr(err.message, "this is a folder"));
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(sonde_mapped_file_open(&file, "fifo", &err), SONDE_UNSUPPORTED);
	assert_non_null(strstr(err.message, "this is a fifo"));
	assert_string_equal(err.file, "fifo");
	assert_int_equal(sonde_mapped_file_open(&file, "/dev/null", &err), SONDE_UNSUPPORTED);
	assert_non_null(strstr(err.message, "this is a device"));
	assert_null(file.data);
	sonde_mapped_file_release(&file);
}

/* A system lets a process map some 65,000 files: a session of more threads than that is read all the same. */
static void test_many_small_files(void **state)
{
	const size_t count = 70000;
	struct sonde_mapped_file *files = calloc(count, sizeof(*files));

	(void)state;
	assert_non_null(files);
	put_file("small", "a few bytes");
	for (size_t i = 0; i < count; i++)
		assert_int_equal(sonde_mapped_file_open(&files[i], "small", NULL), SONDE_OK);
	assert_memory_equal(files[count - 1].data, "a few bytes", files[count - 1].size);
	for (size_t i = 0; i < count; i++)
		sonde_mapped_file_release(&files[i]);
	free(files);
}

/* A new file is there whole, or not at all; what it replaces stays until then. */
static void test_new_file(void **state)
{
	struct sonde_new_file file = { 0 };

	(void)state;
	sonde_new_file_release(&file); /* of one that was never begun */
	put_file("a", "old");
	assert_int_equal(sonde_new_file_begin(&file, "a", true, NULL), SONDE_OK);
	assert_int_equal(sonde_output_write(&file.output, "new", 3, NULL), SONDE_OK);
	assert_file("a", "old");
	sonde_new_file_release(&file);
	assert_file("a", "old");
	assert_int_equal(sonde_new_file_begin(&file, "a", false, NULL), SONDE_ARGUMENT);
	sonde_new_file_release(&file);
	assert_int_equal(sonde_file_replace("a", "newer", 5, NULL), SONDE_OK);
	assert_file("a", "newer");
	assert_names(".", "a");
}

static void test_path_kind(void **state)
{
	(void)state;
	put_file("file", "");
	mkdir("folder", 0777);
	mkfifo("fifo", 0600);
	assert_int_equal(symlink("folder", "link"), 0);
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	assert_int_equal(sonde_path_kind("file"), SONDE_PATH_FILE);
	assert_int_equal(sonde_path_kind("folder"), SONDE_PATH_FOLDER);
	assert_int_equal(sonde_path_kind("link"), SONDE_PATH_FOLDER);
	assert_int_equal(sonde_path_kind("fifo"), SONDE_PATH_OTHER);
	assert_int_equal(sonde_path_kind("dangling"), SONDE_PATH_ABSENT);
	assert_int_equal(sonde_path_kind("missing"), SONDE_PATH_ABSENT);
	assert_int_equal(sonde_path_kind("file/below"), SONDE_PATH_ABSENT);
}

static void test_path_join(void **state)
{
	static const char *const cases[][3] = {
		{ "a", "b", "a/b" }, { "a/", "b", "a/b" }, { "/", "b", "/b" },
		{ "", "b", "b" },    { "a", "", "a/" },	   { "x/y", "z.w", "x/y/z.w" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char *path = sonde_path_join(cases[i][0], cases[i][1]);

		assert_string_equal(path, cases[i][2]);
		free(path);
	}
}

static void test_name_compare(void **state)
{
	static const char *const ordered[] = {
		"",
		"0",
		"00",
		"01",
		"1",
		"2",
		"10",
		"A",
		"a",
		"a.b",
		"a0",
		"a1",
		"a1b",
		"a01b1",
		"a1b2",
		"a2",
		"a10",
		"a10b",
		"a100000000000000000000000000000",
		"a100000000000000000000000000001",
		"b",
		"thread_2",
		"thread_10",
		"thread_10x",
		"\xC3\xA4",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ordered); i++) {
		for (size_t j = 0; j < COUNT_OF(ordered); j++) {
			int order = sonde_name_compare(ordered[i], ordered[j]);

			if ((order > 0) - (order < 0) != (i > j) - (i < j))
				fail_msg("%s and %s: %d", ordered[i], ordered[j], order);
		}
	}
}

static void test_folder(void **state)
{
	struct sonde_folder folder;
	struct sonde_error err;

	(void)state;
	assert_names(".", "");
	put_file("thread_10", "");
	put_file("thread_2", "");
	put_file(".hidden", "");
	mkdir("sub", 0777);
	assert_names(".", ".hidden sub thread_2 thread_10");
	assert_int_equal(sonde_folder_read(&folder, "missing", &err), SONDE_IO);
	assert_string_equal(err.file, "missing");
	assert_int_equal(folder.count, 0);
	assert_int_equal(sonde_folder_read(&folder, "thread_2", &err), SONDE_IO);
	sonde_folder_release(&folder);
	assert_int_equal(sonde_folder_create("new", &err), SONDE_OK);
	assert_int_equal(sonde_path_kind("new"), SONDE_PATH_FOLDER);
	assert_int_equal(sonde_folder_create("new", &err), SONDE_IO);
	assert_string_equal(err.cause, "File exists");
}

static void test_folder_many(void **state)
{
	struct sonde_folder folder;
	struct sonde_error err;
	char name[32];

	(void)state;
	for (int i = 299; i >= 0; i--) {
		snprintf(name, sizeof(name), "thread_%d", i);
		put_file(name, "");
	}
	assert_int_equal(sonde_folder_read(&folder, ".", &err), SONDE_OK);
	assert_int_equal(folder.count, 300);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "thread_%d", i);
		assert_string_equal(folder.names[i], name);
	}
	sonde_folder_release(&folder);
}

static void test_output(void **state)
{
	struct sonde_output output;
	struct sonde_error err;

	(void)state;
	assert_int_equal(sonde_output_open(&output, "out", &err), SONDE_OK);
	assert_int_equal(sonde_output_write(&output, "hello ", 6, &err), SONDE_OK);
	assert_int_equal(sonde_output_write(&output, NULL, 0, &err), SONDE_OK);
	assert_int_equal(sonde_output_write(&output, "world", 5, &err), SONDE_OK);
	assert_int_equal(output.written, 11);
	assert_int_equal(sonde_output_close(&output, &err), SONDE_OK);
	assert_file("out", "hello world");
	sonde_output_release(&output);
	sonde_output_release(&output);

	/* An older, longer file leaves nothing. */
	assert_int_equal(sonde_output_open(&output, "out", &err), SONDE_OK);
	assert_int_equal(sonde_output_write(&output, "x", 1, &err), SONDE_OK);
	assert_int_equal(sonde_output_close(&output, &err), SONDE_OK);
	assert_file("out", "x");

	assert_int_equal(sonde_output_open(&output, "missing/out", &err), SONDE_IO);
	assert_string_equal(err.file, "missing/out");
	sonde_output_release(&output);
}

/* Pieces around the size of the buffer, so that each way through it is taken. */
static void test_output_large(void **state)
{
	static const size_t sizes[] = { 1, 1 << 20, 5, (1 << 20) - 1, 3, (3 << 20) + 7, 100 };
	struct sonde_mapped_file file;
	struct sonde_output output;
	struct sonde_error err;
	uint8_t *data = malloc(4 << 20);
	size_t total = 0;

	(void)state;
	assert_non_null(data);
	assert_int_equal(sonde_output_open(&output, "out", &err), SONDE_OK);
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		for (size_t j = 0; j < sizes[i]; j++)
			data[j] = (uint8_t)((total + j) % 251);
		assert_int_equal(sonde_output_write(&output, data, sizes[i], &err), SONDE_OK);
		total += sizes[i];
		assert_int_equal(output.written, total);
	}
	assert_int_equal(sonde_output_close(&output, &err), SONDE_OK);
	assert_int_equal(sonde_mapped_file_open(&file, "out", &err), SONDE_OK);
	assert_int_equal(file.size, total);
	for (size_t i = 0; i < total; i++) {
		if (file.data[i] != i % 251)
			fail_msg("byte %zu", i);
	}
	sonde_mapped_file_release(&file);
	free(data);
}

static void test_output_patch(void **state)
{
	struct sonde_output output;
	struct sonde_error err;

	(void)state;
	assert_int_equal(sonde_output_open(&output, "out", &err), SONDE_OK);
	assert_int_equal(sonde_output_patch(&output, 0, "x", 1, &err), SONDE_ARGUMENT);
	assert_int_equal(sonde_output_write(&output, "0123456789", 10, &err), SONDE_OK);
	assert_int_equal(sonde_output_patch(&output, 2, "ab", 2, &err), SONDE_OK);
	assert_int_equal(sonde_output_write(&output, "more", 4, &err), SONDE_OK);
	/* Partly written out already, partly in the buffer. */
	assert_int_equal(sonde_output_patch(&output, 8, "CDEF", 4, &err), SONDE_OK);
	assert_int_equal(sonde_output_patch(&output, 14, NULL, 0, &err), SONDE_OK);
	assert_int_equal(sonde_output_patch(&output, 13, "xx", 2, &err), SONDE_ARGUMENT);
	assert_int_equal(sonde_output_patch(&output, UINT64_MAX, "xx", 2, &err), SONDE_ARGUMENT);
	assert_int_equal(sonde_output_write(&output, "!", 1, &err), SONDE_OK);
	assert_int_equal(sonde_output_close(&output, &err), SONDE_OK);
	assert_file("out", "01ab4567CDEFre!");
}

static void test_output_disk_full(void **state)
{
	struct sonde_output output;
	struct sonde_error err;
	char *data = calloc(1, 2 << 20);

	(void)state;
	assert_non_null(data);
	assert_int_equal(sonde_output_open(&output, "/dev/full", &err), SONDE_OK);
	assert_int_equal(sonde_output_write(&output, "abc", 3, &err), SONDE_OK);
	assert_int_equal(sonde_output_close(&output, &err), SONDE_IO);
	assert_string_equal(err.cause, "No space left on device");
	assert_string_equal(err.file, "/dev/full");
	assert_int_equal(err.offset, 0);

	assert_int_equal(sonde_output_open(&output, "/dev/full", &err), SONDE_OK);
	assert_int_equal(sonde_output_write(&output, data, 2 << 20, &err), SONDE_IO);
	/* Whoever goes on after a failure does not get a whole file. */
	assert_int_equal(sonde_output_write(&output, "abc", 3, &err), SONDE_IO);
	assert_int_equal(sonde_output_patch(&output, 0, "a", 1, &err), SONDE_IO);
	assert_int_equal(sonde_output_close(&output, &err), SONDE_IO);
	free(data);
}

/* Writes a folder of one file below `work`. */
static void fill_folder(const struct sonde_staged *staged, const char *text)
{
	char *sub = sonde_path_join(staged->work, "sub"), *path = sonde_path_join(sub, "file");
	struct sonde_error err;

	assert_int_equal(sonde_folder_create(sub, &err), SONDE_OK);
	put_file(path, text);
	free(path);
	free(sub);
}

static void test_staged_folder(void **state)
{
	struct sonde_staged staged;
	struct sonde_error err;
	struct stat status;

	(void)state;
	umask(022);
	assert_int_equal(sonde_staged_begin(&staged, "out", true, false, &err), SONDE_OK);
	assert_int_equal(sonde_path_kind("out"), SONDE_PATH_ABSENT);
	assert_int_equal(sonde_path_kind(staged.work), SONDE_PATH_FOLDER);
	assert_memory_equal(staged.work, "out.partial-", 12);
	fill_folder(&staged, "one");
	assert_int_equal(sonde_path_kind("out"), SONDE_PATH_ABSENT);
	assert_int_equal(sonde_staged_commit(&staged, &err), SONDE_OK);
	sonde_staged_release(&staged);
	sonde_staged_release(&staged);
	assert_names(".", "out");
	assert_file("out/sub/file", "one");
	assert_int_equal(stat("out", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0755);
}

static void test_staged_abort(void **state)
{
	struct sonde_staged staged;
	struct sonde_error err;

	(void)state;
	assert_int_equal(sonde_staged_begin(&staged, "out", true, false, &err), SONDE_OK);
	fill_folder(&staged, "one");
	sonde_staged_release(&staged);
	assert_int_equal(sonde_staged_begin(&staged, "file", false, false, &err), SONDE_OK);
	put_file(staged.work, "x");
	sonde_staged_release(&staged);
	assert_names(".", "");
}

static void test_staged_file(void **state)
{
	struct sonde_output output;
	struct sonde_staged staged;
	struct sonde_error err;
	struct stat status;

	(void)state;
	umask(027);
	assert_int_equal(sonde_staged_begin(&staged, "out", false, false, &err), SONDE_OK);
	assert_int_equal(sonde_output_open(&output, staged.work, &err), SONDE_OK);
	assert_int_equal(sonde_output_write(&output, "new", 3, &err), SONDE_OK);
	assert_int_equal(sonde_output_close(&output, &err), SONDE_OK);
	assert_int_equal(sonde_staged_commit(&staged, &err), SONDE_OK);
	sonde_staged_release(&staged);
	assert_names(".", "out");
	assert_file("out", "new");
	assert_int_equal(stat("out", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0640);

	assert_int_equal(sonde_staged_begin(&staged, "out", false, false, &err), SONDE_ARGUMENT);
	assert_string_equal(err.file, "out");
	assert_int_equal(sonde_staged_begin(&staged, "out", false, true, &err), SONDE_OK);
	put_file(staged.work, "newer");
	assert_file("out", "new");
	assert_int_equal(sonde_staged_commit(&staged, &err), SONDE_OK);
	sonde_staged_release(&staged);
	assert_names(".", "out");
	assert_file("out", "newer");
}

static void test_staged_replace_folder(void **state)
{
	struct sonde_staged staged;
	struct sonde_error err;

	(void)state;
	mkdir("out", 0777);
	put_file("out/old", "old");
	mkdir("out/deep", 0777);
	put_file("out/deep/old", "old");
	assert_int_equal(sonde_staged_begin(&staged, "out", true, false, &err), SONDE_ARGUMENT);
	assert_names(".", "out");
	assert_int_equal(sonde_staged_begin(&staged, "out", true, true, &err), SONDE_OK);
	fill_folder(&staged, "new");
	assert_file("out/old", "old");
	assert_int_equal(sonde_staged_commit(&staged, &err), SONDE_OK);
	sonde_staged_release(&staged);
	assert_names(".", "out");
	assert_names("out", "sub");
	assert_file("out/sub/file", "new");
}

static void test_staged_empty_folder(void **state)
{
	struct sonde_staged staged;
	struct sonde_error err;

	(void)state;
	mkdir("out", 0777);
	assert_int_equal(sonde_staged_begin(&staged, "out", true, false, &err), SONDE_OK);
	fill_folder(&staged, "new");
	assert_int_equal(sonde_staged_commit(&staged, &err), SONDE_OK);
	sonde_staged_release(&staged);
	assert_names(".", "out");
	assert_file("out/sub/file", "new");
}

/* What replace would destroy without being the same kind of thing stays. */
static void test_staged_wrong_kind(void **state)
{
	struct sonde_staged staged;
	struct sonde_error err;

	(void)state;
	put_file("file", "precious");
	mkdir("folder", 0777);
	mkfifo("fifo", 0600);
	assert_int_equal(sonde_staged_begin(&staged, "file", true, true, &err), SONDE_ARGUMENT);
	assert_non_null(strstr(err.message, "not a folder"));
	assert_int_equal(sonde_staged_begin(&staged, "folder", false, true, &err), SONDE_ARGUMENT);
	assert_non_null(strstr(err.message, "not a regular file"));
	assert_int_equal(sonde_staged_begin(&staged, "fifo", false, true, &err), SONDE_ARGUMENT);
	assert_int_equal(sonde_staged_begin(&staged, "", false, true, &err), SONDE_ARGUMENT);
	sonde_staged_release(&staged);
	assert_names(".", "fifo file folder");
	assert_file("file", "precious");
}

static void test_staged_missing_parent(void **state)
{
	struct sonde_staged staged;
	struct sonde_error err;

	(void)state;
	mkdir("there", 0777);
	put_file("file", "");
	assert_int_equal(sonde_staged_begin(&staged, "there/gone/far/out", true, false, &err),
			 SONDE_ARGUMENT);
	assert_string_equal(err.file, "there/gone");
	assert_non_null(strstr(err.message, "does not exist"));
	assert_int_equal(sonde_staged_begin(&staged, "gone/out", false, false, &err),
			 SONDE_ARGUMENT);
	assert_string_equal(err.file, "gone");
	assert_int_equal(sonde_staged_begin(&staged, "file/out", false, false, &err),
			 SONDE_ARGUMENT);
	assert_string_equal(err.file, "file");
	assert_names(".", "file there");
	assert_names("there", "");
}

static void test_staged_odd_names(void **state)
{
	static const char *const names[] = { "a///", "./b/", "sub/../c", "sub/." };
	struct sonde_staged staged;
	struct sonde_error err;
	char absolute[200];

	mkdir("sub", 0777);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		assert_int_equal(sonde_staged_begin(&staged, names[i], true, false, &err),
				 SONDE_OK);
		fill_folder(&staged, "x");
		assert_int_equal(sonde_staged_commit(&staged, &err), SONDE_OK);
		sonde_staged_release(&staged);
	}
	assert_names(".", "a b c sub");
	assert_file("sub/sub/file", "x");
	snprintf(absolute, sizeof(absolute), "%s/d", (char *)*state);
	assert_int_equal(sonde_staged_begin(&staged, absolute, true, false, &err), SONDE_OK);
	assert_int_equal(sonde_staged_commit(&staged, &err), SONDE_OK);
	sonde_staged_release(&staged);
	assert_names(".", "a b c d sub");
}

static void test_staged_dot(void **state)
{
	struct sonde_staged staged;
	struct sonde_error err;

	mkdir("here", 0777);
	assert_int_equal(chdir("here"), 0);
	assert_int_equal(sonde_staged_begin(&staged, ".", true, false, &err), SONDE_OK);
	fill_folder(&staged, "x");
	assert_int_equal(sonde_staged_commit(&staged, &err), SONDE_OK);
	sonde_staged_release(&staged);
	assert_int_equal(chdir(*state), 0);
	assert_names(".", "here");
	assert_file("here/sub/file", "x");
}

/* A link is followed: the thing it leads to is replaced, not the link. */
static void test_staged_link(void **state)
{
	struct sonde_staged staged;
	struct sonde_error err;
	struct stat status;

	(void)state;
	mkdir("real", 0777);
	put_file("real/file", "old");
	assert_int_equal(symlink("real/file", "link"), 0);
	assert_int_equal(symlink("nowhere", "dangling"), 0);
	assert_int_equal(sonde_staged_begin(&staged, "link", false, true, &err), SONDE_OK);
	put_file(staged.work, "new");
	assert_int_equal(sonde_staged_commit(&staged, &err), SONDE_OK);
	sonde_staged_release(&staged);
	assert_file("real/file", "new");
	assert_names("real", "file");
	assert_int_equal(lstat("link", &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	assert_int_equal(sonde_staged_begin(&staged, "dangling", false, true, &err), SONDE_IO);
	assert_string_equal(err.file, "dangling");
}

/* Somebody else takes the name while the work goes on. */
static void test_staged_race(void **state)
{
	struct sonde_staged staged;
	struct sonde_error err;

	(void)state;
	assert_int_equal(sonde_staged_begin(&staged, "out", false, false, &err), SONDE_OK);
	put_file("out", "theirs");
	assert_int_equal(sonde_staged_commit(&staged, &err), SONDE_IO);
	assert_string_equal(err.cause, "File exists");
	sonde_staged_release(&staged);
	assert_file("out", "theirs");

	assert_int_equal(sonde_staged_begin(&staged, "dir", true, false, &err), SONDE_OK);
	mkdir("dir", 0777);
	put_file("dir/theirs", "theirs");
	assert_int_equal(sonde_staged_commit(&staged, &err), SONDE_IO);
	sonde_staged_release(&staged);
	assert_names(".", "dir out");
	assert_file("dir/theirs", "theirs");
}

/* Two at once for the same target have different work names; the later commit wins. */
static void test_staged_twice(void **state)
{
	struct sonde_staged first, second;
	struct sonde_error err;

	(void)state;
	assert_int_equal(sonde_staged_begin(&first, "out", true, true, &err), SONDE_OK);
	assert_int_equal(sonde_staged_begin(&second, "out", true, true, &err), SONDE_OK);
	assert_string_not_equal(first.work, second.work);
	fill_folder(&first, "first");
	fill_folder(&second, "second");
	assert_int_equal(sonde_staged_commit(&second, &err), SONDE_OK);
	assert_int_equal(sonde_staged_commit(&first, &err), SONDE_OK);
	sonde_staged_release(&first);
	sonde_staged_release(&second);
	assert_names(".", "out");
	assert_file("out/sub/file", "first");
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		in_folder(test_mapped),
		in_folder(test_mapped_refused),
		in_folder(test_path_kind),
		in_folder(test_many_small_files),
		in_folder(test_new_file),
		cmocka_unit_test(test_path_join),
		cmocka_unit_test(test_name_compare),
		in_folder(test_folder),
		in_folder(test_folder_many),
		in_folder(test_output),
		in_folder(test_output_large),
		in_folder(test_output_patch),
		cmocka_unit_test(test_output_disk_full),
		in_folder(test_staged_folder),
		in_folder(test_staged_abort),
		in_folder(test_staged_file),
		in_folder(test_staged_replace_folder),
		in_folder(test_staged_empty_folder),
		in_folder(test_staged_wrong_kind),
		in_folder(test_staged_missing_parent),
		in_folder(test_staged_odd_names),
		in_folder(test_staged_dot),
		in_folder(test_staged_link),
		in_folder(test_staged_race),
		in_folder(test_staged_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
