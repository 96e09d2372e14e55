/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of an output: whoever writes first, they lie in it in their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/parts.h"

static void open_output(struct sonde_output *output)
{
	assert_int_equal(sonde_output_open_unnamed(output, NULL), SONDE_OK);
	assert_int_equal(sonde_output_write(output, "head:", 5, NULL), SONDE_OK);
}

static void write_part(struct sonde_parts *parts, size_t number, const char *text)
{
	assert_int_equal(sonde_parts_write(parts, number, text, strlen(text), NULL), SONDE_OK);
}

static void end_part(struct sonde_parts *parts, size_t number)
{
	assert_int_equal(sonde_parts_end(parts, number, NULL), SONDE_OK);
}

static void expect(struct sonde_output *output, const char *text)
{
	struct sonde_mapped_file file;

	assert_int_equal(sonde_output_write(output, ":tail", 5, NULL), SONDE_OK);
	assert_int_equal(sonde_output_map(output, &file, NULL), SONDE_OK);
	assert_int_equal(file.size, strlen(text));
	assert_memory_equal(file.data, text, file.size);
	sonde_mapped_file_release(&file);
}

static void test_none(void **state)
{
	struct sonde_output output;
	struct sonde_parts *parts = NULL;

	(void)state;
	open_output(&output);
	assert_int_equal(sonde_parts_new(&output, 0, &parts, NULL), SONDE_OK);
	sonde_parts_free(parts);
	sonde_parts_free(NULL);
	expect(&output, "head::tail");
}

static void test_backwards(void **state)
{
	struct sonde_output output;
	struct sonde_parts *parts = NULL;

	(void)state;
	open_output(&output);
	assert_int_equal(sonde_parts_new(&output, 4, &parts, NULL), SONDE_OK);
	write_part(parts, 3, "ddd");
	write_part(parts, 1, "b");
	write_part(parts, 3, "DD");
	end_part(parts, 3);
	write_part(parts, 1, "B");
	end_part(parts, 2); /* an empty one */
	write_part(parts, 0, "a");
	write_part(parts, 1, "bb");
	write_part(parts, 0, "A");
	end_part(parts, 0);
	write_part(parts, 1, "BB");
	end_part(parts, 1);
	assert_int_equal(sonde_parts_offset(parts, 0), 5);
	assert_int_equal(sonde_parts_offset(parts, 1), 7);
	assert_int_equal(sonde_parts_offset(parts, 2), 13);
	assert_int_equal(sonde_parts_offset(parts, 3), 13);
	sonde_parts_free(parts);
	expect(&output, "head:aAbBbbBBdddDD:tail");
}

/* A part that waited and becomes the current one without being written to again. */
static void test_given_up(void **state)
{
	struct sonde_output output;
	struct sonde_parts *parts = NULL;

	(void)state;
	open_output(&output);
	assert_int_equal(sonde_parts_new(&output, 3, &parts, NULL), SONDE_OK);
	write_part(parts, 2, "c");
	write_part(parts, 1, "b");
	end_part(parts, 0);
	end_part(parts, 1);
	sonde_parts_free(parts); /* part 2 never ended: what it has is not in the output */
	expect(&output, "head:b:tail");
}

#define THREADS 4
#define PARTS 97
#define LINES 3000

struct writer {
	pthread_t thread;
	struct sonde_parts *parts;
	size_t first;
	bool failed;
};

static void *write_lines(void *user)
{
	struct writer *writer = user;

	/* from the last to the first, so that nearly all of them wait */
	for (size_t i = PARTS; i-- > 0;) {
		if (i % THREADS != writer->first)
			continue;
		for (unsigned int line = 0; line < LINES; line++) {
			char text[32];
			int size = snprintf(text, sizeof(text), "%02zu %04u\n", i, line);

			writer->failed |= sonde_parts_write(writer->parts, i, text, (size_t)size,
							    NULL) != SONDE_OK;
		}
		writer->failed |= sonde_parts_end(writer->parts, i, NULL) != SONDE_OK;
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct writer writers[THREADS];
	struct sonde_mapped_file file;
	struct sonde_output output;
	struct sonde_parts *parts = NULL;

	(void)state;
	open_output(&output);
	assert_int_equal(sonde_parts_new(&output, PARTS, &parts, NULL), SONDE_OK);
	for (size_t i = 0; i < THREADS; i++) {
		writers[i] = (struct writer){ .parts = parts, .first = i };
		assert_int_equal(pthread_create(&writers[i].thread, NULL, write_lines, &writers[i]),
				 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(writers[i].thread, NULL);
		assert_false(writers[i].failed);
	}
	for (size_t i = 0; i < PARTS; i++)
		assert_int_equal(sonde_parts_offset(parts, i), 5 + i * LINES * 8);
	sonde_parts_free(parts);
	assert_int_equal(sonde_output_map(&output, &file, NULL), SONDE_OK);
	assert_int_equal(file.size, 5 + (size_t)PARTS * LINES * 8);
	for (size_t i = 0; i < (size_t)PARTS * LINES; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%02zu %04zu\n", i / LINES, i % LINES);
		if (memcmp(file.data + 5 + i * 8, text, 8))
			fail_msg("line %zu", i);
	}
	sonde_mapped_file_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_backwards),
		cmocka_unit_test(test_given_up),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
