/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions: ids, strings, labels, attributes, and adding from several threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

static uint32_t add_text(struct sonde_definitions *definitions, const char *text)
{
	uint32_t id = SONDE_NONE;

	assert_int_equal(sonde_definitions_add_string(definitions, text, strlen(text), &id, NULL),
			 SONDE_OK);
	return id;
}

static void test_equal_texts_have_one_id(void **state)
{
	struct sonde_definitions *definitions = sonde_definitions_new();
	uint32_t first, part = 0;

	(void)state;
	assert_non_null(definitions);
	assert_int_equal(add_text(definitions, ""), 0);
	assert_string_equal(sonde_definitions_string(definitions, 0), "");
	first = add_text(definitions, "main");
	assert_int_not_equal(first, 0);
	assert_int_equal(add_text(definitions, "main"), first);
	assert_int_not_equal(add_text(definitions, "main2"), first);
	assert_int_equal(sonde_definitions_add_string(definitions, "main2", 4, &part, NULL), 0);
	assert_int_equal(part, first);
	assert_string_equal(sonde_definitions_string(definitions, first), "main");
	assert_string_equal(sonde_definitions_string(definitions, 4000), "");
	assert_string_equal(sonde_definitions_string(definitions, SONDE_NONE), "");
	sonde_definitions_free(definitions);
}

static void test_string_with_nul_is_refused(void **state)
{
	struct sonde_definitions *definitions = sonde_definitions_new();
	struct sonde_error err = { 0 };
	uint32_t id;

	(void)state;
	assert_int_equal(sonde_definitions_add_string(definitions, "a\0b", 3, &id, &err),
			 SONDE_ARGUMENT);
	assert_non_null(strstr(err.message, "NUL"));
	sonde_definitions_free(definitions);
}

static void test_ids_are_dense_and_pointers_stay(void **state)
{
	struct sonde_definitions *definitions = sonde_definitions_new();
	const struct sonde_function *first;
	uint32_t id;

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		struct sonde_function function = { .has_key = true,
						   .key = i,
						   .module = SONDE_NONE };

		assert_int_equal(sonde_definitions_add_function(definitions, &function, &id, NULL),
				 0);
		assert_int_equal(id, i);
		if (!i)
			first = sonde_definitions_function(definitions, 0);
	}
	assert_int_equal(sonde_definitions_function_count(definitions), 10000);
	assert_ptr_equal(sonde_definitions_function(definitions, 0), first);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(sonde_definitions_function(definitions, i)->key, i);
	assert_null(sonde_definitions_function(definitions, 10000));
	assert_null(sonde_definitions_function(definitions, SONDE_NONE));
	assert_int_equal(sonde_definitions_track_count(definitions), 0);
	assert_null(sonde_definitions_track(definitions, 0));
	sonde_definitions_free(definitions);
	sonde_definitions_free(NULL);
}

static void test_labels(void **state)
{
	struct sonde_definitions *definitions = sonde_definitions_new();
	struct sonde_function named = { .name = add_text(definitions, "main"),
					.has_key = true,
					.key = 7 };
	struct sonde_function keyed = { .has_key = true, .key = 0x7506790500000002 };
	struct sonde_function bare = { .name = 0 };
	struct sonde_track tracks[] = {
		{ .name = add_text(definitions, "ui"), .slot = 1 },
		{ .slot = 3 },
		{ .slot = 4, .kind = SONDE_TRACK_GPU_STREAM },
		{ .slot = 5, .kind = SONDE_TRACK_ZONE },
	};
	const char *expected[] = { "ui", "thread 3", "stream 4", "zone 5", "track 4" };
	char space[SONDE_LABEL_SIZE];
	uint32_t id;

	(void)state;
	sonde_definitions_add_function(definitions, &named, &id, NULL);
	sonde_definitions_add_function(definitions, &keyed, &id, NULL);
	sonde_definitions_add_function(definitions, &bare, &id, NULL);
	for (size_t i = 0; i < 4; i++)
		sonde_definitions_add_track(definitions, &tracks[i], &id, NULL);
	assert_string_equal(sonde_definitions_function_label(definitions, 0, space), "main");
	assert_string_equal(sonde_definitions_function_label(definitions, 1, space),
			    "0x7506790500000002");
	assert_string_equal(sonde_definitions_function_label(definitions, 2, space), "function 2");
	assert_non_null(sonde_definitions_function_label(definitions, SONDE_NONE, space));
	for (uint32_t i = 0; i < 5; i++)
		assert_string_equal(sonde_definitions_track_label(definitions, i, space),
				    expected[i]);
	assert_non_null(sonde_definitions_track_label(definitions, SONDE_NONE, space));
	sonde_definitions_free(definitions);
}

static void add_attribute(struct sonde_definitions *definitions, enum sonde_owner owner,
			  uint32_t owner_id, const char *name, const char *value)
{
	struct sonde_attribute attribute = {
		.owner = owner,
		.owner_id = owner_id,
		.name = add_text(definitions, name),
		.value = add_text(definitions, value),
	};
	uint32_t id;

	assert_int_equal(sonde_definitions_add_attribute(definitions, &attribute, &id, NULL), 0);
}

static void assert_attribute(const struct sonde_definitions *definitions, enum sonde_owner owner,
			     uint32_t owner_id, const char *name, const char *value)
{
	assert_string_equal(sonde_definitions_find_attribute(definitions, owner, owner_id, name),
			    value);
}

static void test_attributes_are_found_by_owner_and_name(void **state)
{
	struct sonde_definitions *definitions = sonde_definitions_new();

	(void)state;
	add_attribute(definitions, SONDE_OWNER_TRACK, 0, "priority", "1");
	add_attribute(definitions, SONDE_OWNER_TRACK, 0, "priority", "2");
	add_attribute(definitions, SONDE_OWNER_TRACK, 1, "priority", "3");
	add_attribute(definitions, SONDE_OWNER_PROCESS, 0, "priority", "4");
	add_attribute(definitions, SONDE_OWNER_PROCESS, 0, "command", "\"ls\"");
	assert_attribute(definitions, SONDE_OWNER_TRACK, 0, "priority", "1");
	assert_attribute(definitions, SONDE_OWNER_TRACK, 1, "priority", "3");
	assert_attribute(definitions, SONDE_OWNER_PROCESS, 0, "priority", "4");
	assert_attribute(definitions, SONDE_OWNER_PROCESS, 0, "command", "\"ls\"");
	assert_null(
		sonde_definitions_find_attribute(definitions, SONDE_OWNER_PROCESS, 1, "command"));
	assert_null(
		sonde_definitions_find_attribute(definitions, SONDE_OWNER_RECORDING, 0, "command"));
	assert_null(sonde_definitions_find_attribute(definitions, SONDE_OWNER_TRACK, 0, "absent"));
	sonde_definitions_free(definitions);
}

#define THREADS 4
#define PER_THREAD 2000

struct adder {
	struct sonde_definitions *definitions;
	unsigned int number;
	uint32_t strings[PER_THREAD];
	uint32_t functions[PER_THREAD];
};

/* Half of the texts are the same in all threads. */
static void adder_text(unsigned int number, unsigned int i, char text[32])
{
	snprintf(text, 32, "f%u-%u", i % 2 ? number : THREADS, i);
}

static void *add_many(void *argument)
{
	struct adder *adder = argument;

	for (unsigned int i = 0; i < PER_THREAD; i++) {
		struct sonde_function function = { .line = i };
		char text[32];

		adder_text(adder->number, i, text);
		if (sonde_definitions_add_string(adder->definitions, text, strlen(text),
						 &adder->strings[i], NULL))
			return NULL;
		function.name = adder->strings[i];
		if (sonde_definitions_add_function(adder->definitions, &function,
						   &adder->functions[i], NULL))
			return NULL;
		if (sonde_definitions_function(adder->definitions, adder->functions[i])->line != i)
			return NULL;
	}
	return adder;
}

static void test_adding_from_threads(void **state)
{
	struct sonde_definitions *definitions = sonde_definitions_new();
	static struct adder adders[THREADS];
	pthread_t threads[THREADS];

	(void)state;
	for (unsigned int i = 0; i < THREADS; i++) {
		adders[i].definitions = definitions;
		adders[i].number = i;
		assert_int_equal(pthread_create(&threads[i], NULL, add_many, &adders[i]), 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		void *result;

		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_non_null(result);
	}
	assert_int_equal(sonde_definitions_function_count(definitions), THREADS * PER_THREAD);
	for (unsigned int i = 0; i < THREADS * PER_THREAD; i++) {
		const struct adder *adder = &adders[i / PER_THREAD];
		unsigned int k = i % PER_THREAD;
		char text[32];

		adder_text(adder->number, k, text);
		assert_string_equal(sonde_definitions_string(definitions, adder->strings[k]), text);
		if (k % 2 == 0)
			assert_int_equal(adder->strings[k], adders[0].strings[k]);
	}
	sonde_definitions_free(definitions);
}

static void test_words(void **state)
{
	(void)state;
	assert_string_equal(sonde_arch_name(SONDE_ARCH_X86_64), "x86_64");
	assert_string_equal(sonde_arch_name((enum sonde_arch)77), "unknown");
	assert_string_equal(sonde_os_name(SONDE_OS_LINUX), "linux");
	assert_string_equal(sonde_os_name((enum sonde_os)77), "unknown");
	assert_string_equal(sonde_clock_kind_name(SONDE_CLOCK_BOOTTIME), "boottime");
	assert_string_equal(sonde_clock_kind_name((enum sonde_clock_kind)77), "unknown");
	for (unsigned int kind = 0; kind < SONDE_EVENT_KIND_COUNT; kind++)
		assert_int_equal(sonde_event_kind_from_name(sonde_event_kind_name(kind)), kind);
	assert_string_equal(sonde_event_kind_name(SONDE_EVENT_FLOW_BEGIN), "flow-begin");
	assert_string_equal(sonde_event_kind_name(200), "other");
	assert_int_equal(sonde_event_kind_from_name("calls"), SONDE_EVENT_KIND_COUNT);
	assert_string_equal(sonde_register_name(SONDE_ARCH_X86_64, 0), "rdi");
	assert_string_equal(sonde_register_name(SONDE_ARCH_X86_64, 10), "rsp");
	assert_string_equal(sonde_register_name(SONDE_ARCH_ARM64, 8), "lr");
	assert_null(sonde_register_name(SONDE_ARCH_ARM64, SONDE_REGISTER_COUNT));
	assert_null(sonde_register_name(SONDE_ARCH_UNKNOWN, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_texts_have_one_id),
		cmocka_unit_test(test_string_with_nul_is_refused),
		cmocka_unit_test(test_ids_are_dense_and_pointers_stay),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_attributes_are_found_by_owner_and_name),
		cmocka_unit_test(test_adding_from_threads),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
