/* SPDX-License-Identifier: Apache-2.0 */
/* The union of measured paths: against a list that is searched from end to end, and as bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "analyse/raw_tree.h"

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

/* The slow way: what every number is was said when it was added. */
static uint32_t search(const struct raw_tree *tree, uint32_t parent, uint32_t module, uint64_t ip)
{
	uint32_t i;

	for (i = 1; i < tree->count; i++)
		if (tree->nodes[i].parent == parent && tree->nodes[i].module == module &&
		    tree->nodes[i].ip == ip)
			return i;
	return SONDE_NONE;
}

static void equal_paths_are_one_node(void **state)
{
	struct raw_tree tree = { 0 };
	uint64_t random = 1;
	unsigned int i;

	(void)state;
	assert_true(raw_tree_begin(&tree));
	assert_int_equal(tree.count, 1);
	assert_int_equal(tree.nodes[0].parent, SONDE_NONE);
	for (i = 0; i < 4000; i++) {
		uint32_t parent = (uint32_t)(next_random(&random) % tree.count);
		uint32_t module = (uint32_t)(next_random(&random) % 3);
		uint64_t ip = next_random(&random) % 3;
		uint32_t before = tree.count, known = search(&tree, parent, module, ip), number;

		assert_int_equal(raw_tree_find(&tree, parent, module, ip), known);
		number = raw_tree_add(&tree, parent, module, ip);
		assert_int_equal(number, known == SONDE_NONE ? before : known);
		assert_int_equal(tree.count, before + (known == SONDE_NONE));
		assert_int_equal(raw_tree_find(&tree, parent, module, ip), number);
	}
	assert_true(tree.count > 1500);
	raw_tree_release(&tree);
}

/* So many that the table grows often; each is still found under its number. */
static void many_nodes_stay_found(void **state)
{
	enum { COUNT = 300000 };
	struct raw_tree tree = { 0 };
	uint32_t i;

	(void)state;
	for (i = 1; i < COUNT; i++)
		assert_int_equal(raw_tree_add(&tree, i / 2, i % 7, (uint64_t)i << 20), i);
	for (i = 1; i < COUNT; i++)
		assert_int_equal(raw_tree_find(&tree, i / 2, i % 7, (uint64_t)i << 20), i);
	assert_int_equal(raw_tree_find(&tree, 5, 0, 1), SONDE_NONE);
	raw_tree_release(&tree);
}

static enum sonde_status take(struct raw_tree *tree, const struct sonde_buffer *buffer, size_t size)
{
	struct sonde_bytes bytes = sonde_bytes_of(buffer->data, size);
	struct sonde_error err;

	return raw_tree_take(tree, &bytes, &err);
}

static void bytes_make_the_same_tree(void **state)
{
	struct raw_tree tree = { 0 }, copy = { 0 };
	struct sonde_buffer bytes = { 0 };
	uint32_t i;
	size_t cut;

	(void)state;
	for (i = 1; i < 40; i++)
		raw_tree_add(&tree, i / 3, i % 5, UINT64_MAX - i);
	raw_tree_put(&tree, &bytes);
	assert_int_equal(take(&copy, &bytes, bytes.size), SONDE_OK);
	assert_int_equal(copy.count, tree.count);
	for (i = 1; i < 40; i++)
		assert_int_equal(raw_tree_find(&copy, i / 3, i % 5, UINT64_MAX - i), i);
	for (cut = 0; cut < bytes.size; cut++)
		assert_int_equal(take(&copy, &bytes, cut), SONDE_CORRUPT);
	/* a parent that comes later, and a node that is there twice */
	sonde_store_u32le((uint8_t *)bytes.data + 4 + 16 * 5 + 8, 5);
	assert_int_equal(take(&copy, &bytes, bytes.size), SONDE_CORRUPT);
	memcpy(bytes.data + 4 + 16 * 5, bytes.data + 4 + 16 * 4, 16);
	assert_int_equal(take(&copy, &bytes, bytes.size), SONDE_CORRUPT);
	assert_int_equal(copy.count, 0);
	sonde_buffer_release(&bytes);
	raw_tree_release(&tree);
	raw_tree_release(&copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_paths_are_one_node),
		cmocka_unit_test(many_nodes_stay_found),
		cmocka_unit_test(bytes_make_the_same_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
