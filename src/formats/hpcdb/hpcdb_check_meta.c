/* SPDX-License-Identifier: Apache-2.0 */
/* The check of meta.db: tables, strings, pointers, ids, and the tree. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "formats/hpcdb/hpcdb_check.h"
#include "formats/hpcdb/hpcdb_read.h"

static void check_text(struct hpcdb_check *check, struct hpcdb_text text, uint64_t offset,
		       const char *what)
{
	const char *path = check->meta.file.path;

	if (!text.is_good)
		hpcdb_found(check->found, STRING, path, offset,
			    "%s that ends within its section\tone that does not", what);
	else if (!sonde_utf8_valid(text.text, text.length))
		hpcdb_found(check->found, UTF8, path, offset, "%s in UTF-8\t\"%.60s\"", what,
			    text.text);
}

static void check_table(struct hpcdb_check *check, const struct hpcdb_table *table,
			enum hpcdb_meta_section section, uint32_t least, const char *what)
{
	const struct hpcdb_section *bounds = &check->meta.file.sections[section];

	if (!table->stated_count)
		return;
	if (table->count < table->stated_count ||
	    !hpcdb_is_within(bounds, table->offset, (table->count - 1) * table->stride + least))
		hpcdb_found(check->found, TABLE, check->meta.file.path, bounds->offset,
			    "%" PRIu64 " %s within their section\tthose at %" PRIu64
			    " with %u bytes each are not",
			    table->stated_count, what, table->offset, table->stride);
	else
		hpcdb_check_alignment(&check->meta.file, table->offset, 8, what, check->found);
}

static void check_unknown(struct hpcdb_check *check, uint64_t offset, const char *what,
			  unsigned int value)
{
	hpcdb_found(check->found, UNKNOWN, check->meta.file.path, offset, "a known %s\tnumber %u",
		    what, value);
}

static void check_names(struct hpcdb_check *check)
{
	struct hpcdb_meta *meta = &check->meta;
	uint64_t general = meta->file.sections[HPCDB_META_GENERAL].offset;

	check_text(check, meta->title, general, "a title");
	check_text(check, meta->description, general + 8, "a description");
	check_table(check, &meta->kind_table, HPCDB_META_ID_NAMES, 8, "names of identities");
	for (size_t i = 0; i < meta->kinds.count; i++)
		check_text(check, meta->kinds.items[i], meta->kind_table.offset + i * 8,
			   "the name of an identity");
}

static void check_scopes(struct hpcdb_check *check)
{
	struct hpcdb_meta *meta = &check->meta;

	check_table(check, &meta->scope_table, HPCDB_META_METRICS, HPCDB_SCOPE_SIZE, "scopes");
	for (size_t i = 0; i < meta->scopes.count; i++) {
		const struct hpcdb_scope_info *scope = &meta->scopes.items[i];

		check_text(check, scope->name, scope->offset, "the name of a scope");
		if (scope->type > HPCDB_SCOPE_TRANSITIVE)
			check_unknown(check, scope->offset + 8, "type of scope", scope->type);
		if (scope->type == HPCDB_SCOPE_TRANSITIVE && scope->index >= 16)
			check_unknown(check, scope->offset + 9, "bit of a scope", scope->index);
	}
}

static void check_instance(struct hpcdb_check *check, uint32_t number, uint64_t offset)
{
	const struct hpcdb_instance *instance = &check->meta.instances.items[number];
	uint32_t *known = &check->prop_instances[instance->id];

	if (instance->scope == HPCDB_NO_RECORD)
		hpcdb_found(check->found, POINTER, check->meta.file.path, offset,
			    "a pointer to a scope\tone to something else");
	if (*known != HPCDB_NO_RECORD)
		hpcdb_found(check->found, METRIC_ID, check->meta.file.path, offset + 8,
			    "an id of its own\t%u, which another metric has", instance->id);
	else
		*known = number;
}

static void check_summary(struct hpcdb_check *check, uint32_t number, uint64_t offset)
{
	const struct hpcdb_summary *summary = &check->meta.summaries.items[number];
	uint32_t *known = &check->stat_summaries[summary->id];

	if (summary->scope == HPCDB_NO_RECORD)
		hpcdb_found(check->found, POINTER, check->meta.file.path, offset,
			    "a pointer to a scope\tone to something else");
	check_text(check, summary->formula, offset + 8, "a formula");
	if (summary->combine > HPCDB_COMBINE_MAX)
		check_unknown(check, offset + 16, "way to combine", summary->combine);
	if (*known != HPCDB_NO_RECORD)
		hpcdb_found(check->found, METRIC_ID, check->meta.file.path, offset + 18,
			    "an id of its own\t%u, which another statistic has", summary->id);
	else
		*known = number;
}

/* Which scopes of a metric can be held against each other. */
static struct hpcdb_scope_ids find_scopes(const struct hpcdb_meta *meta,
					  const struct hpcdb_metric_info *metric)
{
	struct hpcdb_scope_ids ids = { HPCDB_NO_RECORD, HPCDB_NO_RECORD, HPCDB_NO_RECORD,
				       HPCDB_NO_RECORD, 0 };

	for (uint32_t i = 0; i < metric->instance_count; i++) {
		const struct hpcdb_instance *instance =
			&meta->instances.items[metric->first_instance + i];
		const struct hpcdb_scope_info *scope;

		if (instance->scope == HPCDB_NO_RECORD)
			continue;
		scope = &meta->scopes.items[instance->scope];
		if (scope->type == HPCDB_SCOPE_POINT)
			ids.point = instance->id;
		if (scope->type == HPCDB_SCOPE_EXECUTION)
			ids.execution = instance->id;
		if (scope->type == HPCDB_SCOPE_CUSTOM && !strcmp(scope->name.text, "lex_aware"))
			ids.lex_aware = instance->id;
		if (scope->type == HPCDB_SCOPE_TRANSITIVE && scope->index < 16) {
			ids.function = instance->id;
			ids.bit = (uint16_t)(1u << scope->index);
		}
	}
	return ids;
}

static void check_metrics(struct hpcdb_check *check)
{
	struct hpcdb_meta *meta = &check->meta;

	check_table(check, &meta->metric_table, HPCDB_META_METRICS, HPCDB_METRIC_SIZE, "metrics");
	for (uint32_t i = 0; i < meta->metrics.count; i++) {
		const struct hpcdb_metric_info *metric = &meta->metrics.items[i];
		const uint8_t *p = hpcdb_table_at(&meta->file, &meta->metric_table, i);
		const uint8_t *strides =
			meta->file.data + meta->file.sections[HPCDB_META_METRICS].offset + 0x0d;
		struct hpcdb_table table;

		check_text(check, metric->name, (uint64_t)(p - meta->file.data),
			   "the name of a metric");
		table = (struct hpcdb_table){ sonde_load_u64le(p + 8), metric->instance_count,
					      sonde_load_u16le(p + 0x18), strides[0] };
		check_table(check, &table, HPCDB_META_METRICS, HPCDB_INSTANCE_SIZE,
			    "scopes of a metric");
		for (uint32_t j = 0; j < metric->instance_count; j++)
			check_instance(check, metric->first_instance + j,
				       table.offset + (uint64_t)j * table.stride);
		table = (struct hpcdb_table){ sonde_load_u64le(p + 16), metric->summary_count,
					      sonde_load_u16le(p + 0x1a), strides[1] };
		check_table(check, &table, HPCDB_META_METRICS, HPCDB_SUMMARY_SIZE,
			    "statistics of a metric");
		for (uint32_t j = 0; j < metric->summary_count; j++)
			check_summary(check, metric->first_summary + j,
				      table.offset + (uint64_t)j * table.stride);
		check->scopes[i] = find_scopes(meta, metric);
	}
}

static void check_pointer(struct hpcdb_check *check, uint64_t pointer, uint32_t number,
			  uint64_t offset, const char *what)
{
	if (pointer && number == HPCDB_NO_RECORD)
		hpcdb_found(check->found, POINTER, check->meta.file.path, offset,
			    "a pointer to %s\t%" PRIu64, what, pointer);
}

static void check_source(struct hpcdb_check *check, const struct hpcdb_source_info *info)
{
	char *path;

	if (!info->is_copied || !info->path.length)
		return;
	path = sonde_path_join(check->folder, info->path.text);
	if (path && sonde_path_kind(path) != SONDE_PATH_FILE)
		hpcdb_found(check->found, SOURCE_MISSING, path, SONDE_NO_OFFSET,
			    "a copy of a source file\tnothing that can be read");
	free(path);
}

static void check_records(struct hpcdb_check *check)
{
	struct hpcdb_meta *meta = &check->meta;

	check_table(check, &meta->modules, HPCDB_META_MODULES, HPCDB_MODULE_SIZE, "modules");
	check_table(check, &meta->files, HPCDB_META_FILES, HPCDB_FILE_SIZE, "source files");
	check_table(check, &meta->functions, HPCDB_META_FUNCTIONS, HPCDB_FUNCTION_SIZE,
		    "functions");
	check_table(check, &meta->entries, HPCDB_META_CONTEXT, HPCDB_ENTRY_SIZE, "entry points");
	for (uint32_t i = 0; i < meta->modules.count; i++)
		check_text(check, hpcdb_meta_module(meta, i).path,
			   meta->modules.offset + (uint64_t)i * meta->modules.stride + 8,
			   "the path of a module");
	for (uint32_t i = 0; i < meta->files.count; i++) {
		struct hpcdb_source_info info = hpcdb_meta_file(meta, i);

		check_text(check, info.path,
			   meta->files.offset + (uint64_t)i * meta->files.stride + 8,
			   "the path of a source file");
		check_source(check, &info);
	}
	for (uint32_t i = 0; i < meta->functions.count; i++) {
		struct hpcdb_function_info info = hpcdb_meta_function(meta, i);
		uint64_t offset = meta->functions.offset + (uint64_t)i * meta->functions.stride;

		check_text(check, info.name, offset, "the name of a function");
		check_pointer(check, info.module_pointer, info.module, offset + 8, "a module");
		check_pointer(check, info.file_pointer, info.file, offset + 0x18, "a source file");
		if (info.name.is_good && !info.name.length && !info.module_pointer &&
		    !info.file_pointer)
			hpcdb_found(check->found, ANONYMOUS, meta->file.path, offset,
				    "a name, a module or a file\tnone of them");
	}
}

static void report_fault(void *data, enum hpcdb_tree_fault fault, uint64_t offset)
{
	static const char *const texts[] = {
		[HPCDB_TREE_OUTSIDE] = "contexts within their section\tsome outside of it",
		[HPCDB_TREE_SHARED] = "contexts with one parent\tsome that belong to another",
		[HPCDB_TREE_CUT] = "whole contexts\tone that goes beyond those of its parent",
	};
	struct hpcdb_check *check = data;

	hpcdb_found(check->found, TREE, check->meta.file.path, offset, "%s", texts[fault]);
}

/* Only functions may be unknown. */
static void check_place(struct hpcdb_check *check, const struct hpcdb_context *context,
			const struct hpcdb_place *place)
{
	const char *path = check->meta.file.path;

	if ((context->lexical_type == HPCDB_LOOP || context->lexical_type == HPCDB_LINE) &&
	    !place->file_pointer)
		hpcdb_found(check->found, PLACELESS, path, context->offset,
			    "a source file and a line\tneither, of context %" PRIu32, context->id);
	if (context->lexical_type == HPCDB_INSTRUCTION && !place->module_pointer)
		hpcdb_found(check->found, PLACELESS, path, context->offset,
			    "a module and an offset\tneither, of context %" PRIu32, context->id);
}

static void check_context(struct hpcdb_check *check, uint32_t number)
{
	struct hpcdb_meta *meta = &check->meta;
	const struct hpcdb_context *context = &check->tree.contexts.items[number];
	struct hpcdb_place place = hpcdb_meta_place(meta, context);
	uint64_t offset = context->offset;

	if (hpcdb_ids_find(&check->ids, context->id) != number)
		hpcdb_found(check->found, CONTEXT_ID, meta->file.path, offset + 0x10,
			    "an id of its own\t%" PRIu32, context->id);
	hpcdb_check_alignment(&meta->file, offset, 8, "a context", check->found);
	if (context->is_entry) {
		check_text(check, place.name, offset + 0x18, "the name of an entry point");
		if (place.entry > 2)
			check_unknown(check, offset + 0x14, "entry point", place.entry);
		return;
	}
	if (place.is_cut)
		hpcdb_found(check->found, TREE, meta->file.path, offset + 0x14,
			    "as many words as flags %#x need\tonly %u",
			    meta->file.data[offset + 0x14], meta->file.data[offset + 0x17]);
	check_pointer(check, place.function_pointer, place.function, offset, "a function");
	check_pointer(check, place.file_pointer, place.file, offset, "a source file");
	check_pointer(check, place.module_pointer, place.module, offset, "a module");
	check_place(check, context, &place);
	if (context->relation > HPCDB_INLINED)
		check_unknown(check, offset + 0x15, "relation", context->relation);
	if (context->lexical_type > HPCDB_INSTRUCTION)
		check_unknown(check, offset + 0x16, "type of context", context->lexical_type);
}

static enum sonde_status new_numbers(uint32_t **numbers, size_t count, struct sonde_error *err)
{
	*numbers = malloc(count * sizeof(**numbers));
	if (!*numbers)
		return sonde_fail_nomem(err);
	memset(*numbers, 0xff, count * sizeof(**numbers));
	return SONDE_OK;
}

enum sonde_status hpcdb_check_meta(struct hpcdb_check *check, struct sonde_error *err)
{
	struct hpcdb_extents extents = { 0 };
	enum sonde_status status;

	if (!check->meta.file.data)
		return SONDE_OK;
	check->tree.fault = report_fault;
	check->tree.data = check;
	status = hpcdb_extents_add_sections(&extents, &check->meta.file, err);
	hpcdb_extents_are_apart(&extents, &check->meta.file, check->found);
	if (status == SONDE_OK)
		status = new_numbers(&check->prop_instances, HPCDB_IDS_OF_METRICS, err);
	if (status == SONDE_OK)
		status = new_numbers(&check->stat_summaries, HPCDB_IDS_OF_METRICS, err);
	if (status == SONDE_OK) {
		check->scopes = calloc(check->meta.metrics.count + 1, sizeof(*check->scopes));
		if (!check->scopes)
			status = sonde_fail_nomem(err);
	}
	if (status == SONDE_OK)
		status = hpcdb_meta_walk(&check->meta, &check->tree, err);
	if (status == SONDE_OK)
		status = hpcdb_ids_build(&check->ids, &check->tree, err);
	if (status < 0)
		return status;
	check_names(check);
	check_scopes(check);
	check_metrics(check);
	check_records(check);
	for (uint32_t i = 1; i < check->tree.contexts.count; i++)
		check_context(check, i);
	return hpcdb_check_plan_statistics(check, err);
}
