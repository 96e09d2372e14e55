/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target over meta.db: all tables, records and the tree; contexts stay within their section. */
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_ids.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t lengths; /* so that nothing is left out */

static void use_records(struct hpcdb_meta *meta)
{
	for (uint32_t i = 0; i < meta->modules.count; i++)
		lengths += strlen(hpcdb_meta_module(meta, i).path.text);
	for (uint32_t i = 0; i < meta->files.count; i++)
		lengths += strlen(hpcdb_meta_file(meta, i).path.text);
	for (uint32_t i = 0; i < meta->functions.count; i++) {
		struct hpcdb_function_info info = hpcdb_meta_function(meta, i);

		REQUIRE(info.module == HPCDB_NO_RECORD || info.module < meta->modules.count);
		REQUIRE(info.file == HPCDB_NO_RECORD || info.file < meta->files.count);
		REQUIRE(strlen(info.name.text) == info.name.length);
	}
	for (size_t i = 0; i < meta->summaries.count; i++) {
		REQUIRE(meta->summaries.items[i].metric < meta->metrics.count);
		REQUIRE(meta->summaries.items[i].scope == HPCDB_NO_RECORD ||
			meta->summaries.items[i].scope < meta->scopes.count);
	}
}

static void use_tree(struct hpcdb_meta *meta)
{
	struct hpcdb_tree tree = { 0 };
	struct hpcdb_ids ids = { 0 };
	size_t limit = meta->file.sections[HPCDB_META_CONTEXT].size / HPCDB_CONTEXT_SIZE + 1;

	REQUIRE(hpcdb_meta_walk(meta, &tree, NULL) == SONDE_OK);
	REQUIRE(tree.contexts.count <= limit);
	REQUIRE(hpcdb_ids_build(&ids, &tree, NULL) == SONDE_OK);
	for (uint32_t i = 0; i < tree.contexts.count; i++) {
		const struct hpcdb_context *context = &tree.contexts.items[i];
		struct hpcdb_place place = hpcdb_meta_place(meta, context);

		REQUIRE(context->end > i && context->end <= tree.contexts.count);
		REQUIRE(!i || (context->parent < i &&
			       tree.contexts.items[context->parent].end >= context->end));
		REQUIRE(hpcdb_ids_find(&ids, context->id) <= i);
		REQUIRE(place.function == HPCDB_NO_RECORD ||
			place.function < meta->functions.count);
	}
	hpcdb_ids_release(&ids);
	hpcdb_tree_release(&tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hpcdb_meta meta;

	if (size > 1 << 20 || hpcdb_meta_of(&meta, data, size, "meta.db", NULL) != SONDE_OK)
		return 0;
	use_records(&meta);
	use_tree(&meta);
	hpcdb_meta_release(&meta);
	return 0;
}
