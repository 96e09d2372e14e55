/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of many profiles as one list: names, formulas, what disagrees, and unions merged and carried. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "analyse/prof_metrics.h"

#define METRIC(text, shown, of)                                                                    \
	{                                                                                          \
		.name = (text), .description = "", .formula = (of), .format = "", .show = (shown)  \
	}

static void add_table(struct prof_union *all, const struct hpcrun_metric *metrics, size_t count,
		      uint32_t item)
{
	struct hpcrun_profile profile = { 0 };
	struct sonde_buffer bytes = { 0 };

	profile.metrics.items = (struct hpcrun_metric *)metrics;
	profile.metrics.count = count;
	prof_put_table(&bytes, &profile);
	assert_int_not_equal(prof_union_add(all, PROF_TABLES, bytes.data, bytes.size, item),
			     SONDE_NONE);
	sonde_buffer_release(&bytes);
}

static const char *list_text(const struct prof_metrics *metrics)
{
	static char text[512];
	size_t used = 0, i;

	text[0] = '\0';
	for (i = 0; i < metrics->items.count; i++) {
		const struct hpcdb_metric *metric = &metrics->items.items[i];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s(%s)%u/%x",
					 i ? " " : "", metric->name, metric->formula,
					 (unsigned)metric->visibility, metric->scopes);
	}
	return text;
}

static void tables_become_one_list(void **state)
{
	const struct hpcrun_metric first[] = { METRIC("A", HPCRUN_SHOWN, ""),
					       METRIC("B", HPCRUN_HIDDEN, ""),
					       METRIC("A/B", HPCRUN_EXCLUSIVE_ONLY, "#0/#1") };
	const struct hpcrun_metric second[] = { METRIC("C", HPCRUN_INVISIBLE, ""),
						METRIC("A", HPCRUN_INCLUSIVE_ONLY, ""),
						METRIC("C%", HPCRUN_SHOWN, "100*(#0/#1)") };
	struct prof_union all = { 0 };
	struct prof_metrics metrics = { 0 };
	struct sonde_error err;

	(void)state;
	/* the table of the earlier profile comes first, though it was met last */
	add_table(&all, second, 3, 9);
	add_table(&all, first, 3, 4);
	assert_int_equal(prof_metrics_make(&metrics, &all, &err), SONDE_OK);
	assert_string_equal(list_text(&metrics),
			    "A()0/0 B()1/0 A/B(#0/#1)0/7 C()2/0 C%(100*(#3/#0))0/0");
	assert_int_equal(metrics.derived, 2);
	assert_int_equal(metrics.notes.count, 0);
	assert_int_equal(metrics.maps[0].count, 3);
	assert_int_equal(metrics.maps[0].numbers[0], 3);
	assert_int_equal(metrics.maps[0].numbers[1], 0);
	assert_int_equal(metrics.maps[1].numbers[1], 1);
	prof_metrics_release(&metrics);
	prof_union_release(&all);
}

static void what_disagrees_is_told(void **state)
{
	const struct hpcrun_metric first[] = { METRIC("A", HPCRUN_SHOWN, ""),
					       METRIC("X", HPCRUN_SHOWN, "#0+1"),
					       METRIC("Y", HPCRUN_SHOWN, ""),
					       METRIC("Z", HPCRUN_SHOWN, "#17") };
	const struct hpcrun_metric second[] = { METRIC("X", HPCRUN_SHOWN, ""),
						METRIC("Y", HPCRUN_SHOWN, "#0*2") };
	struct prof_union all = { 0 };
	struct prof_metrics metrics = { 0 };
	struct sonde_error err;

	(void)state;
	add_table(&all, first, 4, 0);
	add_table(&all, second, 2, 1);
	assert_int_equal(prof_metrics_make(&metrics, &all, &err), SONDE_OK);
	assert_string_equal(list_text(&metrics), "A()0/0 X(#0+1)0/0 Y()0/0 Z()2/0");
	assert_int_equal(metrics.notes.count, 3);
	/* measured where there is a formula: no place for the values */
	assert_int_equal(metrics.maps[1].numbers[0], SONDE_NONE);
	assert_int_equal(metrics.derived, 1);
	prof_metrics_release(&metrics);
	prof_union_release(&all);
}

static void fill(struct prof_union *all, const char *module, uint64_t ip, uint32_t item)
{
	const struct sonde_identity identities[] = {
		{ .kind = 3, .physical = ip, .logical = item }
	};
	struct prof_track track = { .item = item, .identities = identities, .identity_count = 1 };
	uint32_t node, function;

	track.table = prof_union_add(all, PROF_TABLES, module, strlen(module), item);
	node = raw_tree_add(&all->tree, 0, RAW_PLACEHOLDER, HPCRUN_MAIN);
	node = raw_tree_add(
		&all->tree, node,
		RAW_MODULES + prof_union_add(all, PROF_MODULES, module, strlen(module), item), ip);
	function = prof_union_add(all, PROF_FUNCTIONS, module, strlen(module), item);
	raw_tree_add(&all->tree, node, RAW_FUNCTIONS, function);
	assert_true(prof_union_add_track(all, &track));
	assert_true(prof_union_refuse(all, item, "path", module));
}

/* Numbers of modules, functions and tables are other ones in each union. */
static void check_merged(const struct prof_union *all)
{
	uint32_t main_thread, node;

	assert_int_equal(all->tree.count, 1 + 1 + 2 + 2 + 1);
	main_thread = raw_tree_find(&all->tree, 0, RAW_PLACEHOLDER, HPCRUN_MAIN);
	node = raw_tree_find(&all->tree, main_thread, RAW_MODULES + 1, 7);
	assert_int_not_equal(node, SONDE_NONE);
	assert_int_not_equal(raw_tree_find(&all->tree, node, RAW_FUNCTIONS, 1), SONDE_NONE);
	assert_int_not_equal(
		raw_tree_find(&all->tree, main_thread, RAW_MODULES | RAW_NOT_UNWOUND, 5),
		SONDE_NONE);
	assert_int_equal(all->tracks.count, 3);
	assert_int_equal(all->tracks.items[1].table, 1);
	assert_int_equal(all->tracks.items[2].table, 0);
	assert_int_equal(all->tracks.items[1].identities[0].physical, 7);
	assert_int_equal(all->refused.count, 3);
	assert_string_equal(all->refused.items[1].reason, "/b");
	assert_int_equal(all->sets[PROF_MODULES].items.items[0].first, 2);
}

static void unions_merge_and_travel(void **state)
{
	struct prof_union all = { 0 }, other = { 0 }, copy = { 0 };
	struct sonde_buffer bytes = { 0 };
	struct sonde_bytes cursor;
	struct sonde_error err;
	size_t cut;

	(void)state;
	fill(&all, "/a", 5, 4);
	fill(&other, "/b", 7, 3);
	fill(&other, "/a", 5, 2);
	raw_tree_add(&other.tree, 1, (RAW_MODULES + 1) | RAW_NOT_UNWOUND, 5);
	assert_int_equal(prof_union_merge(&all, &other, &err), SONDE_OK);
	check_merged(&all);
	prof_union_put(&all, &bytes);
	cursor = sonde_bytes_of(bytes.data, bytes.size);
	assert_int_equal(prof_union_take(&copy, &cursor, &err), SONDE_OK);
	check_merged(&copy);
	for (cut = 0; cut < bytes.size; cut++) {
		prof_union_release(&copy);
		cursor = sonde_bytes_of(bytes.data, cut);
		assert_int_equal(prof_union_take(&copy, &cursor, &err), SONDE_CORRUPT);
	}
	sonde_buffer_release(&bytes);
	prof_union_release(&copy);
	prof_union_release(&other);
	prof_union_release(&all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_become_one_list),
		cmocka_unit_test(what_disagrees_is_told),
		cmocka_unit_test(unions_merge_and_travel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
