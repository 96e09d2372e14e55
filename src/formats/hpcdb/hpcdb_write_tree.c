/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of contexts at the end of meta.db. The children of a context are one array; arrays come
 * before the records that point to them, so the tree is written from its last context to its first.
 */
#include <stdlib.h>

#include "base/file.h"
#include "formats/hpcdb/hpcdb_write_meta.h"

/* Of each listed context. */
struct branch {
	uint32_t first_child, next; /* 0: none; children are linked in ascending order */
	uint64_t offset, size;	    /* of its children in the file */
};

struct tree {
	struct hpcdb_job *job;
	const struct hpcdb_places *places;
	struct branch *branches;
	struct sonde_output output;
	struct sonde_buffer record;
};

static void link_children(struct tree *tree)
{
	const struct hpcdb_job *job = tree->job;

	for (uint32_t i = job->world->context_count; i-- > 1;) {
		struct branch *parent;

		if (job->listed[i] != i)
			continue;
		parent = &tree->branches[job->listed[job->world->contexts[i].parent]];
		tree->branches[i].next = parent->first_child;
		parent->first_child = i;
	}
}

/* The words behind a {Ctx}; gives its flags. */
static uint8_t put_flex(struct sonde_buffer *flex, const struct tree *tree,
			const struct sonde_context *context)
{
	const struct hpcdb_job *job = tree->job;
	uint64_t function = 0, file = 0, module = 0;
	uint8_t flags = 0;

	if (context->kind == SONDE_CONTEXT_FUNCTION)
		function = hpcdb_function_place(job, tree->places, context->function);
	if (context->kind == SONDE_CONTEXT_LOOP || context->kind == SONDE_CONTEXT_LINE)
		file = hpcdb_file_place(job, tree->places, context->file);
	if (context->kind == SONDE_CONTEXT_LOOP || context->kind == SONDE_CONTEXT_INSTRUCTION)
		module = hpcdb_module_place(job, tree->places, context->module);
	if (function) {
		flags |= HPCDB_HAS_FUNCTION;
		sonde_put_u64le(flex, function);
	}
	if (file) {
		flags |= HPCDB_HAS_SOURCE;
		sonde_put_u64le(flex, file);
		sonde_put_u64le(flex, context->line);
	}
	if (module) {
		flags |= HPCDB_HAS_POINT;
		sonde_put_u64le(flex, module);
		sonde_put_u64le(flex, context->address);
	}
	return flags;
}

static uint8_t lexical_type(const struct sonde_context *context)
{
	switch (context->kind) {
	case SONDE_CONTEXT_LOOP:
		return HPCDB_LOOP;
	case SONDE_CONTEXT_LINE:
		return HPCDB_LINE;
	case SONDE_CONTEXT_INSTRUCTION:
		return HPCDB_INSTRUCTION;
	default:
		return HPCDB_FUNCTION;
	}
}

static uint8_t relation(const struct sonde_context *context)
{
	switch (context->relation) {
	case SONDE_CONTEXT_CALLED:
		return HPCDB_CALL;
	case SONDE_CONTEXT_INLINED:
		return HPCDB_INLINED;
	default:
		return HPCDB_LEXICAL;
	}
}

/* {Ctx} */
static void put_context(struct tree *tree, uint32_t number)
{
	const struct sonde_context *context = &tree->job->world->contexts[number];
	const struct branch *branch = &tree->branches[number];
	struct sonde_buffer *out = &tree->record;
	size_t start;
	uint8_t flags;

	sonde_put_u64le(out, branch->size);
	sonde_put_u64le(out, branch->offset);
	sonde_put_u32le(out, number);
	start = out->size;
	sonde_put_u32le(out, 0);
	sonde_put_u64le(out, tree->job->nodes[number].is_enclosed ? 1u << HPCDB_FUNCTION_BIT : 0);
	flags = put_flex(out, tree, context);
	if (out->failed)
		return;
	out->data[start] = (char)flags;
	out->data[start + 1] = (char)relation(context);
	out->data[start + 2] = (char)lexical_type(context);
	out->data[start + 3] = (char)((out->size - start - 12) / 8);
}

static enum sonde_status flush(struct tree *tree, struct sonde_error *err)
{
	enum sonde_status status = tree->record.failed ?
					   sonde_fail_nomem(err) :
					   sonde_output_write(&tree->output, tree->record.data,
							      tree->record.size, err);

	sonde_buffer_clear(&tree->record);
	return status;
}

/* The children of a context, whose own children are all there. */
static enum sonde_status put_children(struct tree *tree, uint32_t number, struct sonde_error *err)
{
	struct branch *branch = &tree->branches[number];
	uint64_t start = tree->output.written;
	enum sonde_status status = SONDE_OK;

	if (!branch->first_child)
		return SONDE_OK;
	for (uint32_t i = branch->first_child; i && status >= 0; i = tree->branches[i].next) {
		put_context(tree, i);
		status = flush(tree, err);
	}
	branch->offset = start;
	branch->size = tree->output.written - start;
	return status;
}

/* {Entry} */
static void put_entries(struct tree *tree)
{
	const struct hpcdb_world *world = tree->job->world;
	struct sonde_buffer *out = &tree->record;

	for (uint32_t i = 1, n = 0; i < world->context_count; i++) {
		uint8_t entry = world->contexts[i].entry;

		if (world->contexts[i].kind != SONDE_CONTEXT_ENTRY)
			continue;
		sonde_put_u64le(out, tree->branches[i].size);
		sonde_put_u64le(out, tree->branches[i].offset);
		sonde_put_u32le(out, i);
		sonde_put_u32le(out, entry < SONDE_ENTRY_OTHER ? entry : SONDE_ENTRY_UNKNOWN);
		sonde_put_u64le(out, tree->places->entry_names[n++]);
	}
}

static enum sonde_status put_tree(struct tree *tree, struct sonde_buffer *head,
				  struct sonde_error *err)
{
	uint64_t start = head->size, entries;
	uint8_t section[0x10] = { 0 };
	enum sonde_status status = sonde_output_write(&tree->output, head->data, head->size, err);

	if (status >= 0)
		status = sonde_output_write(&tree->output, section, sizeof(section), err);
	for (uint32_t i = tree->job->world->context_count; i-- > 1 && status >= 0;)
		if (tree->job->listed[i] == i)
			status = put_children(tree, i, err);
	if (status < 0)
		return status;
	entries = tree->output.written;
	put_entries(tree);
	status = flush(tree, err);
	if (status < 0)
		return status;
	sonde_store_u64le(section, entries);
	sonde_store_u16le(section + 8, (uint16_t)tree->places->entry_count);
	section[10] = HPCDB_ENTRY_SIZE;
	hpcdb_meta_section(head, HPCDB_META_CONTEXT, tree->output.written - start, start);
	status = sonde_output_write(&tree->output, "_meta.db", HPCDB_FOOTER_SIZE, err);
	if (status >= 0)
		status = sonde_output_patch(&tree->output, start, section, sizeof(section), err);
	if (status >= 0)
		status = sonde_output_patch(&tree->output, 0, head->data, HPCDB_META_HEADER, err);
	tree->job->written->bytes += tree->output.written;
	return status;
}

enum sonde_status hpcdb_write_tree(struct hpcdb_job *job, struct sonde_buffer *head,
				   const struct hpcdb_places *places, struct sonde_error *err)
{
	struct tree tree = { .job = job, .places = places, .output.fd = -1 };
	char *path = sonde_path_join(job->folder, "meta.db");
	enum sonde_status status;

	tree.branches = calloc(job->world->context_count, sizeof(*tree.branches));
	if (path && tree.branches) {
		link_children(&tree);
		status = sonde_output_open(&tree.output, path, err);
		if (status >= 0)
			status = put_tree(&tree, head, err);
		if (status >= 0)
			status = sonde_output_close(&tree.output, err);
	} else {
		status = sonde_fail_nomem(err);
	}
	sonde_output_release(&tree.output);
	sonde_buffer_release(&tree.record);
	free(tree.branches);
	free(path);
	return status;
}
