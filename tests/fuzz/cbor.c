/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes CBOR, and the call trees of trace stores in it. An item that can be stepped over consists
 * of heads that can be read one by one; both ways to decode a tree see the same one; its attributes
 * lie within the bytes.
 */
#include "base/cbor.h"
#include "../zts_tree_same.h"
#include "formats/zts/zts_tree_private.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every head up to `end`; that of a string with its content. */
static void walk_heads(const uint8_t *data, size_t end)
{
	struct sonde_bytes bytes = sonde_bytes_of(data, end);
	struct sonde_cbor_item item;

	while (sonde_bytes_left(&bytes)) {
		size_t before = bytes.position;

		REQUIRE(sonde_cbor_next(&bytes, &item, NULL) == SONDE_OK);
		REQUIRE(bytes.position > before && bytes.position <= end);
		if (item.bytes)
			REQUIRE(item.bytes + item.value <= data + end);
	}
}

static void step_over(const uint8_t *data, size_t size)
{
	struct sonde_bytes bytes = sonde_bytes_of(data, size);

	while (sonde_bytes_left(&bytes)) {
		size_t before = bytes.position;
		struct sonde_error err = { 0 };
		enum sonde_status status = sonde_cbor_skip(&bytes, 64, &err);

		if (status < 0) {
			REQUIRE(err.status == status && err.message[0] && err.offset <= size);
			return;
		}
		REQUIRE(bytes.position > before);
		walk_heads(data + before, bytes.position - before);
	}
}

static void read_attributes(const struct zts_tree *tree)
{
	for (uint32_t i = 0; i < tree->records.count; i++) {
		struct zts_attribute_cursor cursor = { .tree = tree, .record = i };
		enum sonde_status status;

		while (!(status = zts_attribute_next(&cursor, NULL)))
			REQUIRE(cursor.value.size > 0 && cursor.value.data >= tree->bytes &&
				cursor.value.data + cursor.value.size <= tree->bytes + tree->size);
		REQUIRE(status == SONDE_END);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct zts_tree tree, again;
	struct sonde_error err = { 0 }, again_err = { 0 };
	enum sonde_status status;

	step_over(data, size);
	status = zts_tree_decode(&tree, data, size, &err);
	REQUIRE(zts_tree_decode_slowly(&again, data, size, &again_err) == status);
	REQUIRE(zts_same_tree(&tree, &again));
	REQUIRE(zts_tree_is_sound(&tree));
	if (status < 0) {
		REQUIRE(status == SONDE_CORRUPT || status == SONDE_TRUNCATED);
		REQUIRE(err.offset == again_err.offset && err.offset <= size && err.message[0]);
	}
	read_attributes(&tree);
	return 0;
}
