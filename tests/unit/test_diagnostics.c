/* SPDX-License-Identifier: Apache-2.0 */
/* The list of findings: what is kept, what is only counted, and joining lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sonde/sonde.h>

static const struct sonde_finding_type note = { "t-note", SONDE_NOTE, "a note", "" };
static const struct sonde_finding_type warning = { "t-warning", SONDE_WARNING, "a warning", "" };
static const struct sonde_finding_type error = { "t-error", SONDE_ERROR, "an error", "" };

static size_t kept(const struct sonde_diagnostics *diagnostics)
{
	size_t count = 0;

	while (sonde_diagnostics_at(diagnostics, count))
		count++;
	return count;
}

static void test_a_finding_keeps_its_texts(void **state)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	const struct sonde_finding *finding;
	char file[] = "index.atf";

	(void)state;
	sonde_diagnostics_add(diagnostics, &error, file, 4, "version %d\tversion %d", 1, 7);
	memset(file, 'x', sizeof(file) - 1);
	finding = sonde_diagnostics_at(diagnostics, 0);
	assert_ptr_equal(finding->type, &error);
	assert_string_equal(finding->file, "index.atf");
	assert_int_equal(finding->offset, 4);
	assert_string_equal(finding->expected, "version 1");
	assert_string_equal(finding->found, "version 7");
	assert_null(sonde_diagnostics_at(diagnostics, 1));
	sonde_diagnostics_free(diagnostics);
	sonde_diagnostics_free(NULL);
}

static void test_without_a_tab_or_file(void **state)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	const struct sonde_finding *finding;

	(void)state;
	sonde_diagnostics_add(diagnostics, &note, NULL, SONDE_NO_OFFSET, "nothing at all");
	finding = sonde_diagnostics_at(diagnostics, 0);
	assert_string_equal(finding->file, "");
	assert_string_equal(finding->expected, "");
	assert_string_equal(finding->found, "nothing at all");
	assert_int_equal(sonde_diagnostics_more(diagnostics, &note, NULL), 0);
	sonde_diagnostics_free(diagnostics);
}

static void test_counts_by_severity(void **state)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();

	(void)state;
	sonde_diagnostics_add(diagnostics, &note, "a", 0, "\t");
	sonde_diagnostics_add(diagnostics, &warning, "a", 0, "\t");
	sonde_diagnostics_add(diagnostics, &warning, "a", 0, "\t");
	sonde_diagnostics_add(diagnostics, &error, "a", 0, "\t");
	assert_int_equal(sonde_diagnostics_count(diagnostics, SONDE_NOTE), 4);
	assert_int_equal(sonde_diagnostics_count(diagnostics, SONDE_WARNING), 3);
	assert_int_equal(sonde_diagnostics_count(diagnostics, SONDE_ERROR), 1);
	assert_string_equal(sonde_severity_name(SONDE_NOTE), "note");
	assert_string_equal(sonde_severity_name(SONDE_WARNING), "warning");
	assert_string_equal(sonde_severity_name(SONDE_ERROR), "error");
	sonde_diagnostics_free(diagnostics);
}

static void test_only_the_first_of_a_type_in_a_file_are_kept(void **state)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();

	(void)state;
	for (unsigned int i = 0; i < 1000; i++) {
		sonde_diagnostics_add(diagnostics, &error, "a", i, "%u\t", i);
		sonde_diagnostics_add(diagnostics, &error, "b", i, "%u\t", i);
	}
	sonde_diagnostics_add(diagnostics, &note, "a", 0, "last\t");
	assert_int_equal(kept(diagnostics), 2 * SONDE_FINDINGS_KEPT + 1);
	assert_int_equal(sonde_diagnostics_count(diagnostics, SONDE_ERROR), 2000);
	assert_int_equal(sonde_diagnostics_more(diagnostics, &error, "a"),
			 1000 - SONDE_FINDINGS_KEPT);
	assert_int_equal(sonde_diagnostics_more(diagnostics, &note, "a"), 0);
	assert_int_equal(sonde_diagnostics_more(diagnostics, &warning, "a"), 0);
	assert_int_equal(sonde_diagnostics_more(diagnostics, &error, "c"), 0);
	assert_string_equal(sonde_diagnostics_at(diagnostics, 4)->expected, "2");
	assert_string_equal(
		sonde_diagnostics_at(diagnostics, 2 * (size_t)SONDE_FINDINGS_KEPT)->expected,
		"last");
	sonde_diagnostics_free(diagnostics);
}

static void test_many_files(void **state)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	char file[32];

	(void)state;
	for (unsigned int i = 0; i < 5000; i++) {
		snprintf(file, sizeof(file), "thread_%u", i / 2);
		sonde_diagnostics_add(diagnostics, i % 2 ? &error : &note, file, i, "\t");
	}
	assert_int_equal(kept(diagnostics), 5000);
	assert_string_equal(sonde_diagnostics_at(diagnostics, 4999)->file, "thread_2499");
	sonde_diagnostics_free(diagnostics);
}

static void test_append_moves_everything(void **state)
{
	struct sonde_diagnostics *target = sonde_diagnostics_new();
	struct sonde_diagnostics *source = sonde_diagnostics_new();

	(void)state;
	for (unsigned int i = 0; i < 15; i++)
		sonde_diagnostics_add(target, &error, "a", i, "target\t");
	for (unsigned int i = 0; i < 30; i++)
		sonde_diagnostics_add(source, &error, "a", i, "source\t");
	sonde_diagnostics_add(source, &warning, "b", 0, "source\t");
	sonde_diagnostics_append(target, source);
	assert_int_equal(kept(source), 0);
	assert_int_equal(sonde_diagnostics_count(source, SONDE_NOTE), 0);
	assert_int_equal(sonde_diagnostics_count(target, SONDE_NOTE), 46);
	assert_int_equal(kept(target), SONDE_FINDINGS_KEPT + 1);
	assert_int_equal(sonde_diagnostics_more(target, &error, "a"), 45 - SONDE_FINDINGS_KEPT);
	assert_string_equal(sonde_diagnostics_at(target, 14)->expected, "target");
	assert_string_equal(sonde_diagnostics_at(target, 15)->expected, "source");
	assert_string_equal(sonde_diagnostics_at(target, 20)->file, "b");
	sonde_diagnostics_add(source, &note, "c", 0, "again\t");
	sonde_diagnostics_append(target, source);
	sonde_diagnostics_free(source);
	assert_string_equal(sonde_diagnostics_at(target, 21)->expected, "again");
	sonde_diagnostics_free(target);
}

static void test_a_long_text_is_cut_between_characters(void **state)
{
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	static char text[4001];
	const char *found;

	(void)state;
	for (size_t i = 0; i < 4000; i += 2) {
		text[i] = '\xc3';
		text[i + 1] = '\xa4';
	}
	for (int shift = 0; shift < 2; shift++) {
		sonde_diagnostics_add(diagnostics, &note, "a", 0, "%.*s\t%s", shift, "x", text);
		found = sonde_diagnostics_at(diagnostics, (size_t)shift)->found;
		assert_true(strlen(found) > 900 && strlen(found) < 1100);
		assert_int_equal(strlen(found) % 2, 0);
	}
	sonde_diagnostics_free(diagnostics);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_finding_keeps_its_texts),
		cmocka_unit_test(test_without_a_tab_or_file),
		cmocka_unit_test(test_counts_by_severity),
		cmocka_unit_test(test_only_the_first_of_a_type_in_a_file_are_kept),
		cmocka_unit_test(test_many_files),
		cmocka_unit_test(test_append_moves_everything),
		cmocka_unit_test(test_a_long_text_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
