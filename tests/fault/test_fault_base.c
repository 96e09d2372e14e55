/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src/base, the definitions and the diagnostics with each allocation and each system call failing
 * in turn. Formats have fault tests of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sonde/definitions.h>
#include <sonde/diagnostics.h>

#include "../unit/scratch.h"
#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/loser_tree.h"
#include "base/map.h"
#include "base/pool.h"
#include "base/sort.h"
#include "base/table.h"
#include "base/vec.h"
#include "fault.h"

static int enter(void **state)
{
	fault_no_renameat2 = fault_short_writes = false;
	return enter_folder(state);
}

static int leave(void **state)
{
	fault_no_renameat2 = fault_short_writes = false;
	return leave_folder(state);
}

static bool has_text(const char *path, const char *text)
{
	struct sonde_mapped_file file;
	bool same;

	if (sonde_mapped_file_open(&file, path, NULL) < 0)
		return false;
	same = file.size == strlen(text) && (!file.size || !memcmp(file.data, text, file.size));
	sonde_mapped_file_release(&file);
	return same;
}

/* Names in the test's folder that are left over from unfinished work. */
static size_t count_partial(void)
{
	struct sonde_folder folder;
	size_t count = 0;

	assert_int_equal(sonde_folder_read(&folder, ".", NULL), SONDE_OK);
	for (size_t i = 0; i < folder.count; i++)
		count += strstr(folder.names[i], ".partial-") != NULL;
	sonde_folder_release(&folder);
	return count;
}

static enum sonde_status nomem_unless(bool done, struct sonde_error *err)
{
	return done ? SONDE_OK : sonde_fail_nomem(err);
}

/* Buffers, arena, vec, table, maps, sort and tree: all say false or NULL, and stay usable. */
static enum sonde_status use_containers(void *user, struct sonde_error *err)
{
	static char names[100][8];
	struct sonde_buffer buffer = { 0 };
	struct sonde_arena arena = { 0 };
	SONDE_VEC(uint64_t) vec = { 0 };
	struct sonde_table table;
	struct sonde_key_map keys = { NULL };
	struct sonde_text_map texts = { 0 };
	struct sonde_loser_tree tree;
	struct sonde_sort_item items[100];
	bool done = true;

	(void)user;
	sonde_table_init(&table, sizeof(uint64_t));
	for (uint32_t i = 0; i < 100; i++) {
		uint64_t number = i, *item;

		snprintf(names[i], sizeof(names[i]), "%u", i);
		sonde_buffer_put_format(&buffer, "%0100u", i);
		done &= sonde_arena_take(&arena, 200) != NULL;
		done &= sonde_arena_copy_text(&arena, names[i], strlen(names[i])) != NULL;
		item = sonde_vec_push(&vec);
		if (item)
			*item = i;
		done &= item != NULL;
		done &= sonde_table_add(&table, &number) != UINT32_MAX;
		done &= sonde_key_map_add(&keys, i, i);
		done &= sonde_text_map_add(&texts, names[i], strlen(names[i]), i);
		items[i] = (struct sonde_sort_item){ .key = 100 - i };
	}
	done &= sonde_buffer_text(&buffer) != NULL;
	done &= sonde_sort(items, 100);
	done &= sonde_loser_tree_init(&tree, 9);
	for (uint32_t i = 0; done && i < 100; i++)
		done = sonde_key_map_find(&keys, i) == i &&
		       sonde_text_map_find(&texts, names[i], strlen(names[i])) == i &&
		       vec.items[i] == i && items[i].key == i + 1;
	sonde_loser_tree_release(&tree);
	sonde_text_map_release(&texts);
	sonde_key_map_release(&keys);
	sonde_table_release(&table);
	sonde_vec_release(&vec);
	sonde_arena_release(&arena);
	sonde_buffer_release(&buffer);
	return nomem_unless(done, err);
}

static void test_containers(void **state)
{
	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &(struct fault_case){ .run = use_containers }) >
		    20);
}

struct stream {
	const char *data;
	size_t position;
};

static enum sonde_status refill(void *user, char *data, size_t size, size_t *got,
				struct sonde_error *err)
{
	struct stream *stream = user;

	(void)size;
	(void)err;
	*got = stream->data[stream->position] ? 1 : 0;
	if (*got)
		*data = stream->data[stream->position++];
	return SONDE_OK;
}

static enum sonde_status copy_json(void *user, struct sonde_error *err)
{
	struct stream stream = { .data = user };
	struct sonde_json_reader reader;
	struct sonde_buffer out = { 0 };
	enum sonde_status status;

	sonde_json_reader_init(&reader, NULL, 0, refill, &stream);
	status = sonde_json_copy(&reader, &out, err);
	if (status >= 0 && (out.size != strlen(user) || memcmp(out.data, user, out.size)))
		status = sonde_fail(err, SONDE_CORRUPT, 0, "another text");
	/* What failed once does not come back to life. */
	if (status < 0 && reader.error.status < 0 && sonde_json_next(&reader, NULL) >= 0)
		err->status = SONDE_OK;
	sonde_json_reader_release(&reader);
	sonde_buffer_release(&out);
	return status;
}

static void test_json(void **state)
{
	static char document[3000];
	size_t length = 0;

	(void)state;
	document[length++] = '[';
	for (unsigned int i = 0; i < 100; i++)
		length += (size_t)snprintf(document + length, sizeof(document) - length,
					   "{\"k\":\"text %u\"},", i);
	snprintf(document + length, sizeof(document) - length, "\"%0900d\"]", 5);
	assert_true(fault_run_all(FAULT_ALLOCATION, &(struct fault_case){
							    .run = copy_json,
							    .user = document,
						    }) > 4);
}

static enum sonde_status map_file(void *user, struct sonde_error *err)
{
	struct sonde_mapped_file file;
	enum sonde_status status = sonde_mapped_file_open(&file, "file", err);

	(void)user;
	if (status >= 0 && (file.size != 5 || memcmp(file.data, "hello", 5)))
		status = sonde_fail(err, SONDE_CORRUPT, 0, "another text");
	sonde_mapped_file_release(&file);
	return status;
}

static void test_mapped(void **state)
{
	struct fault_case fault_case = { .run = map_file };

	(void)state;
	put_file("file", "hello");
	assert_int_equal(fault_run_all(FAULT_INPUT, &fault_case), 3);
	fault_run_all(FAULT_ALLOCATION, &fault_case);
}

static enum sonde_status read_folder(void *user, struct sonde_error *err)
{
	struct sonde_folder folder;
	enum sonde_status status = sonde_folder_read(&folder, ".", err);

	(void)user;
	if (status >= 0 && folder.count != 12)
		status = sonde_fail(err, SONDE_CORRUPT, 0, "%zu names", folder.count);
	sonde_folder_release(&folder);
	return status;
}

static void test_folder(void **state)
{
	struct fault_case fault_case = { .run = read_folder };
	char name[24];

	(void)state;
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof(name), "file_%d", i);
		put_file(name, "");
	}
	assert_true(fault_run_all(FAULT_INPUT, &fault_case) > 12);
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 12);
}

static enum sonde_status write_file(const char *path, const char *text, struct sonde_error *err)
{
	struct sonde_output output;
	enum sonde_status status = sonde_output_open(&output, path, err);

	if (status >= 0)
		status = sonde_output_write(&output, text, strlen(text), err);
	if (status >= 0)
		status = sonde_output_patch(&output, 0, text, 1, err);
	if (status >= 0)
		status = sonde_output_close(&output, err);
	sonde_output_release(&output);
	return status;
}

static enum sonde_status write_plain(void *user, struct sonde_error *err)
{
	(void)user;
	return write_file("out", "a text of some length", err);
}

/* Success is success: the file is whole. */
static void see_plain(void *user, enum sonde_status status, const struct sonde_error *err)
{
	(void)user;
	if (status >= 0)
		assert_true(has_text("out", "a text of some length"));
	else if (status == SONDE_IO)
		assert_string_equal(err->file, "out");
}

static void test_output(void **state)
{
	struct fault_case fault_case = { .run = write_plain,
					 .after = see_plain,
					 .output_must_fail = true };

	(void)state;
	assert_int_equal(fault_run_all(FAULT_OUTPUT, &fault_case), 4);
	assert_int_equal(fault_run_all(FAULT_ALLOCATION, &fault_case), 2);
	fault_short_writes = true;
	assert_true(fault_run_all(FAULT_OUTPUT, &fault_case) > 5);
}

struct staging {
	bool is_folder, replace;
};

static enum sonde_status stage(void *user, struct sonde_error *err)
{
	const struct staging *how = user;
	struct sonde_staged staged;
	enum sonde_status status =
		sonde_staged_begin(&staged, "out", how->is_folder, how->replace, err);
	char *path = NULL;

	if (status >= 0 && how->is_folder) {
		path = sonde_path_join(staged.work, "file");
		status = nomem_unless(path, err);
	}
	if (status >= 0)
		status = write_file(how->is_folder ? path : staged.work, "new", err);
	if (status >= 0)
		status = sonde_staged_commit(&staged, err);
	sonde_staged_release(&staged);
	free(path);
	return status;
}

static void start_with_nothing(void *user)
{
	(void)user;
	remove_tree("out");
}

static void start_with_file(void *user)
{
	(void)user;
	remove_tree("out");
	put_file("out", "old");
}

static void start_with_folder(void *user)
{
	(void)user;
	remove_tree("out");
	mkdir("out", 0777);
	put_file("out/file", "old");
	put_file("out/more", "old");
}

/* Nothing there, or all of it. */
static void see_nothing_or_new(void *user, enum sonde_status status, const struct sonde_error *err)
{
	bool is_new = has_text("out", "new") || has_text("out/file", "new");

	(void)user;
	(void)err;
	if (status >= 0)
		assert_true(is_new);
	if (!is_new)
		assert_int_equal(sonde_path_kind("out"), SONDE_PATH_ABSENT);
	assert_int_equal(count_partial(), 0);
}

static void see_old_or_new_file(void *user, enum sonde_status status, const struct sonde_error *err)
{
	(void)user;
	(void)err;
	assert_true(has_text("out", "new") || (status < 0 && has_text("out", "old")));
	assert_int_equal(count_partial(), 0);
}

static int remove_partial(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	return strstr(path, ".partial-") ? remove(path) : 0;
}

/* The one or the other, never a mixture. Old data may be left over only where the error says so. */
static void see_old_or_new_folder(void *user, enum sonde_status status,
				  const struct sonde_error *err)
{
	bool is_new = has_text("out/file", "new") &&
		      sonde_path_kind("out/more") == SONDE_PATH_ABSENT;
	bool is_old = has_text("out/file", "old") && has_text("out/more", "old");
	size_t partial = count_partial();

	(void)user;
	if (status >= 0)
		assert_true(is_new);
	if (partial) {
		assert_int_equal(partial, 1);
		assert_true(status < 0);
		/* Without an exchange in one step, a second fault can leave the old one aside. */
		assert_true(strstr(err->message, ".partial-") || strstr(err->file, ".partial-"));
		nftw(".", remove_partial, 8, FTW_DEPTH | FTW_PHYS);
	} else {
		assert_true(is_new || is_old);
	}
}

static void run_new(void)
{
	struct fault_case file = {
		.run = stage,
		.user = &(struct staging){ 0 },
		.before = start_with_nothing,
		.after = see_nothing_or_new,
	};
	struct fault_case folder = {
		.run = stage,
		.user = &(struct staging){ .is_folder = true },
		.output_must_fail = true,
		.before = start_with_nothing,
		.after = see_nothing_or_new,
	};

	for (int class = FAULT_ALLOCATION; class <= FAULT_OUTPUT; class ++) {
		assert_true(fault_run_all((enum fault_class) class, &file) > 2);
		assert_true(fault_run_all((enum fault_class) class, &folder) > 2);
	}
}

static void test_staged_new(void **state)
{
	(void)state;
	run_new();
	fault_no_renameat2 = true;
	run_new();
}

static void test_staged_replace(void **state)
{
	struct fault_case file = {
		.run = stage,
		.user = &(struct staging){ .replace = true },
		.before = start_with_file,
		.after = see_old_or_new_file,
	};
	struct fault_case folder = {
		.run = stage,
		.user = &(struct staging){ .is_folder = true, .replace = true },
		.output_must_fail = true,
		.before = start_with_folder,
		.after = see_old_or_new_folder,
	};

	(void)state;
	for (int class = FAULT_ALLOCATION; class <= FAULT_OUTPUT; class ++) {
		assert_true(fault_run_all((enum fault_class) class, &file) > 2);
		assert_true(fault_run_all((enum fault_class) class, &folder) > 2);
	}
}

static void test_staged_replace_slowly(void **state)
{
	struct fault_case folder = {
		.run = stage,
		.user = &(struct staging){ .is_folder = true, .replace = true },
		.output_must_fail = true,
		.before = start_with_folder,
		.after = see_old_or_new_folder,
	};

	(void)state;
	fault_no_renameat2 = true;
	for (int class = FAULT_ALLOCATION; class <= FAULT_OUTPUT; class ++)
		assert_true(fault_run_all((enum fault_class) class, &folder) > 2);
}

/* Also without renameat2() a new file does not replace what others put there meanwhile. */
static void test_staged_race(void **state)
{
	struct sonde_staged staged;
	struct sonde_error err;

	(void)state;
	fault_no_renameat2 = true;
	assert_int_equal(sonde_staged_begin(&staged, "out", false, false, &err), SONDE_OK);
	put_file("out", "theirs");
	assert_int_equal(sonde_staged_commit(&staged, &err), SONDE_IO);
	assert_string_equal(err.cause, "File exists");
	sonde_staged_release(&staged);
	assert_true(has_text("out", "theirs"));
	assert_int_equal(count_partial(), 0);
}

static enum sonde_status count_piece(void *user, size_t number, struct sonde_error *err)
{
	atomic_uint *count = user;

	(void)number;
	(void)err;
	atomic_fetch_add(count, 1);
	return SONDE_OK;
}

static enum sonde_status run_pool(void *user, struct sonde_error *err)
{
	atomic_uint count = 0;
	enum sonde_status status = sonde_pool_run(50, 5, count_piece, &count, err);

	(void)user;
	if (status >= 0 && count != 50)
		status = sonde_fail(err, SONDE_CORRUPT, 0, "%u pieces", count);
	return status;
}

static void must_succeed(void *user, enum sonde_status status, const struct sonde_error *err)
{
	(void)user;
	(void)err;
	assert_int_equal(status, SONDE_OK);
}

/* Without threads the caller does it all. */
static void test_pool(void **state)
{
	struct fault_case fault_case = { .run = run_pool, .after = must_succeed };

	(void)state;
	assert_int_equal(fault_run_all(FAULT_THREAD, &fault_case), 4);
	fault_run_all(FAULT_ALLOCATION, &fault_case);
}

static enum sonde_status define(void *user, struct sonde_error *err)
{
	struct sonde_definitions *definitions = sonde_definitions_new();
	enum sonde_status status = nomem_unless(definitions, err);

	(void)user;
	for (uint32_t i = 0; status >= 0 && i < 200; i++) {
		struct sonde_function function = { .has_key = true, .key = i };
		char name[24];
		uint32_t id;

		snprintf(name, sizeof(name), "function %u", i);
		status = sonde_definitions_add_string(definitions, name, strlen(name),
						      &function.name, err);
		if (status >= 0)
			status = sonde_definitions_add_function(definitions, &function, &id, err);
		if (status >= 0 &&
		    strcmp(sonde_definitions_string(definitions, function.name), name) != 0)
			status = sonde_fail(err, SONDE_CORRUPT, 0, "another name");
	}
	sonde_definitions_free(definitions);
	return status;
}

static void test_definitions(void **state)
{
	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &(struct fault_case){ .run = define }) > 5);
}

/* A finding that memory is short for is still counted. */
static enum sonde_status find_faults(void *user, struct sonde_error *err)
{
	static const struct sonde_finding_type type = { "test", SONDE_WARNING, "title", "advice" };
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	enum sonde_status status = nomem_unless(diagnostics, err);

	(void)user;
	for (uint32_t i = 0; status >= 0 && i < 50; i++)
		sonde_diagnostics_add(diagnostics, &type, "file", i, "this\tthat %u", i);
	if (status >= 0 && sonde_diagnostics_count(diagnostics, SONDE_NOTE) != 50)
		status = sonde_fail(err, SONDE_CORRUPT, 0, "another count");
	sonde_diagnostics_free(diagnostics);
	return status;
}

static void see_nomem_or_success(void *user, enum sonde_status status,
				 const struct sonde_error *err)
{
	(void)user;
	(void)err;
	assert_true(status == SONDE_OK || status == SONDE_NOMEM);
}

static void test_diagnostics(void **state)
{
	struct fault_case fault_case = { .run = find_faults, .after = see_nomem_or_success };

	(void)state;
	assert_true(fault_run_all(FAULT_ALLOCATION, &fault_case) > 5);
}

#define in_folder(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_containers),
		cmocka_unit_test(test_json),
		in_folder(test_mapped),
		in_folder(test_folder),
		in_folder(test_output),
		in_folder(test_staged_new),
		in_folder(test_staged_replace),
		in_folder(test_staged_replace_slowly),
		in_folder(test_staged_race),
		cmocka_unit_test(test_pool),
		cmocka_unit_test(test_definitions),
		cmocka_unit_test(test_diagnostics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
