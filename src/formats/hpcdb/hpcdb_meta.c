/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of meta.db, and its records. The tree is in hpcdb_tree.c. */
#include "formats/hpcdb/hpcdb_meta.h"

/* Strings may be shared by records, but not so that each of many reads all of a large file. */
#define TEXT_FACTOR 16
#define TEXT_EXTRA (1 << 20)

struct hpcdb_text hpcdb_meta_text(struct hpcdb_meta *meta, enum hpcdb_meta_section section,
				  uint64_t pointer)
{
	struct hpcdb_text none = { "", 0, false };
	const struct hpcdb_section *bounds = &meta->file.sections[section];
	uint64_t left;
	const uint8_t *text, *end;

	none.is_good = pointer == 0;
	if (!pointer || !hpcdb_is_within(bounds, pointer, 1))
		return none;
	left = bounds->size - (pointer - bounds->offset);
	if (left > meta->text_budget)
		left = meta->text_budget;
	text = meta->file.data + pointer;
	end = memchr(text, '\0', left);
	meta->text_budget -= end ? (uint64_t)(end - text) : left;
	if (!end)
		return none;
	return (struct hpcdb_text){ (const char *)text, (size_t)(end - text), true };
}

/* The header of a section, as many bytes as needed; NULL where there are fewer. */
static const uint8_t *section_header(const struct hpcdb_meta *meta, enum hpcdb_meta_section section,
				     uint64_t size)
{
	const struct hpcdb_section *bounds = &meta->file.sections[section];

	return bounds->size >= size ? meta->file.data + bounds->offset : NULL;
}

static enum sonde_status read_kinds(struct hpcdb_meta *meta, struct sonde_error *err)
{
	const uint8_t *p = section_header(meta, HPCDB_META_ID_NAMES, 9);

	if (!p)
		return SONDE_OK;
	meta->kind_table = hpcdb_table_of(&meta->file, sonde_load_u64le(p), p[8], 8, 8);
	for (uint64_t i = 0; i < meta->kind_table.count; i++) {
		struct hpcdb_text *kind = sonde_vec_push(&meta->kinds);

		if (!kind)
			return sonde_fail_nomem(err);
		*kind = hpcdb_meta_text(
			meta, HPCDB_META_ID_NAMES,
			sonde_load_u64le(hpcdb_table_at(&meta->file, &meta->kind_table, i)));
	}
	return SONDE_OK;
}

static uint32_t find_scope(const struct hpcdb_meta *meta, uint64_t pointer)
{
	return hpcdb_table_number(&meta->scope_table, pointer);
}

static enum sonde_status read_scopes(struct hpcdb_meta *meta, struct sonde_error *err)
{
	for (uint64_t i = 0; i < meta->scope_table.count; i++) {
		const uint8_t *p = hpcdb_table_at(&meta->file, &meta->scope_table, i);
		struct hpcdb_scope_info *scope = sonde_vec_push(&meta->scopes);

		if (!scope)
			return sonde_fail_nomem(err);
		*scope = (struct hpcdb_scope_info){
			.name = hpcdb_meta_text(meta, HPCDB_META_METRICS, sonde_load_u64le(p)),
			.offset = (uint64_t)(p - meta->file.data),
			.type = p[8],
			.index = p[9],
		};
	}
	return SONDE_OK;
}

static enum sonde_status read_instances(struct hpcdb_meta *meta, uint32_t metric,
					const struct hpcdb_table *table, struct sonde_error *err)
{
	for (uint64_t i = 0; i < table->count; i++) {
		const uint8_t *p = hpcdb_table_at(&meta->file, table, i);
		struct hpcdb_instance *instance = sonde_vec_push(&meta->instances);

		if (!instance)
			return sonde_fail_nomem(err);
		instance->metric = metric;
		instance->scope = find_scope(meta, sonde_load_u64le(p));
		instance->id = sonde_load_u16le(p + 8);
	}
	return SONDE_OK;
}

static enum sonde_status read_summaries(struct hpcdb_meta *meta, uint32_t metric,
					const struct hpcdb_table *table, struct sonde_error *err)
{
	for (uint64_t i = 0; i < table->count; i++) {
		const uint8_t *p = hpcdb_table_at(&meta->file, table, i);
		struct hpcdb_summary *summary = sonde_vec_push(&meta->summaries);

		if (!summary)
			return sonde_fail_nomem(err);
		*summary = (struct hpcdb_summary){
			.metric = metric,
			.scope = find_scope(meta, sonde_load_u64le(p)),
			.formula =
				hpcdb_meta_text(meta, HPCDB_META_METRICS, sonde_load_u64le(p + 8)),
			.combine = p[16],
			.id = sonde_load_u16le(p + 18),
		};
	}
	return SONDE_OK;
}

static enum sonde_status read_metric(struct hpcdb_meta *meta, const uint8_t *p,
				     const uint8_t *strides, struct sonde_error *err)
{
	struct hpcdb_table instances = hpcdb_table_of(&meta->file, sonde_load_u64le(p + 8),
						      sonde_load_u16le(p + 0x18), strides[1],
						      HPCDB_INSTANCE_SIZE);
	struct hpcdb_table summaries = hpcdb_table_of(&meta->file, sonde_load_u64le(p + 16),
						      sonde_load_u16le(p + 0x1a), strides[2],
						      HPCDB_SUMMARY_SIZE);
	struct hpcdb_metric_info *metric = sonde_vec_push(&meta->metrics);
	uint32_t number = (uint32_t)meta->metrics.count - 1;
	enum sonde_status status;

	if (!metric)
		return sonde_fail_nomem(err);
	/* ids have 16 bits: what is beyond that many can only repeat some */
	if (meta->instances.count + instances.count > UINT16_MAX + 1)
		instances.count = 0;
	if (meta->summaries.count + summaries.count > UINT16_MAX + 1)
		summaries.count = 0;
	*metric = (struct hpcdb_metric_info){
		.name = hpcdb_meta_text(meta, HPCDB_META_METRICS, sonde_load_u64le(p)),
		.first_instance = (uint32_t)meta->instances.count,
		.instance_count = (uint32_t)instances.count,
		.first_summary = (uint32_t)meta->summaries.count,
		.summary_count = (uint32_t)summaries.count,
	};
	status = read_instances(meta, number, &instances, err);
	if (status == SONDE_OK)
		status = read_summaries(meta, number, &summaries, err);
	return status;
}

static enum sonde_status read_metrics(struct hpcdb_meta *meta, struct sonde_error *err)
{
	const uint8_t *p = section_header(meta, HPCDB_META_METRICS, 0x1b);
	enum sonde_status status;

	if (!p)
		return SONDE_OK;
	meta->scope_table = hpcdb_table_of(&meta->file, sonde_load_u64le(p + 0x10),
					   sonde_load_u16le(p + 0x18), p[0x1a], HPCDB_SCOPE_SIZE);
	meta->metric_table = hpcdb_table_of(&meta->file, sonde_load_u64le(p),
					    sonde_load_u32le(p + 8), p[0x0c], HPCDB_METRIC_SIZE);
	if (meta->metric_table.count > UINT16_MAX + 1)
		meta->metric_table.count = UINT16_MAX + 1;
	status = read_scopes(meta, err);
	for (uint64_t i = 0; i < meta->metric_table.count && status == SONDE_OK; i++)
		status = read_metric(meta, hpcdb_table_at(&meta->file, &meta->metric_table, i),
				     p + 0x0c, err);
	return status;
}

/* A section that starts with {pointer, u32 count, u16 stride}. */
static struct hpcdb_table read_table(const struct hpcdb_meta *meta, enum hpcdb_meta_section section,
				     uint32_t least)
{
	const uint8_t *p = section_header(meta, section, 0x0e);

	if (!p)
		return (struct hpcdb_table){ .stride = least };
	return hpcdb_table_of(&meta->file, sonde_load_u64le(p), sonde_load_u32le(p + 8),
			      sonde_load_u16le(p + 0x0c), least);
}

static enum sonde_status read_all(struct hpcdb_meta *meta, struct sonde_error *err)
{
	const uint8_t *general = section_header(meta, HPCDB_META_GENERAL, 16);
	const uint8_t *tree = section_header(meta, HPCDB_META_CONTEXT, 0x0b);
	enum sonde_status status;

	meta->text_budget = (uint64_t)meta->file.size * TEXT_FACTOR + TEXT_EXTRA;
	meta->title =
		hpcdb_meta_text(meta, HPCDB_META_GENERAL, general ? sonde_load_u64le(general) : 0);
	meta->description = hpcdb_meta_text(meta, HPCDB_META_GENERAL,
					    general ? sonde_load_u64le(general + 8) : 0);
	meta->modules = read_table(meta, HPCDB_META_MODULES, HPCDB_MODULE_SIZE);
	meta->files = read_table(meta, HPCDB_META_FILES, HPCDB_FILE_SIZE);
	meta->functions = read_table(meta, HPCDB_META_FUNCTIONS, HPCDB_FUNCTION_SIZE);
	if (tree)
		meta->entries = hpcdb_table_of(&meta->file, sonde_load_u64le(tree),
					       sonde_load_u16le(tree + 8), tree[0x0a],
					       HPCDB_ENTRY_SIZE);
	status = read_kinds(meta, err);
	if (status == SONDE_OK)
		status = read_metrics(meta, err);
	if (status < 0)
		hpcdb_meta_release(meta);
	return status;
}

enum sonde_status hpcdb_meta_open(struct hpcdb_meta *meta, const char *folder,
				  struct sonde_error *err)
{
	enum sonde_status status;

	*meta = (struct hpcdb_meta){ 0 };
	status = hpcdb_file_open(&meta->file, folder, HPCDB_META_FILE, err);
	return status < 0 ? status : read_all(meta, err);
}

enum sonde_status hpcdb_meta_of(struct hpcdb_meta *meta, const void *data, size_t size,
				const char *path, struct sonde_error *err)
{
	enum sonde_status status;

	*meta = (struct hpcdb_meta){ 0 };
	status = hpcdb_file_of(&meta->file, data, size, path, HPCDB_META_FILE, err);
	return status < 0 ? status : read_all(meta, err);
}

void hpcdb_meta_release(struct hpcdb_meta *meta)
{
	sonde_vec_release(&meta->kinds);
	sonde_vec_release(&meta->scopes);
	sonde_vec_release(&meta->metrics);
	sonde_vec_release(&meta->instances);
	sonde_vec_release(&meta->summaries);
	hpcdb_file_release(&meta->file);
}

struct hpcdb_module_info hpcdb_meta_module(struct hpcdb_meta *meta, uint32_t number)
{
	const uint8_t *p = hpcdb_table_at(&meta->file, &meta->modules, number);

	return (struct hpcdb_module_info){
		.path = hpcdb_meta_text(meta, HPCDB_META_STRINGS, sonde_load_u64le(p + 8)),
	};
}

struct hpcdb_source_info hpcdb_meta_file(struct hpcdb_meta *meta, uint32_t number)
{
	const uint8_t *p = hpcdb_table_at(&meta->file, &meta->files, number);

	return (struct hpcdb_source_info){
		.path = hpcdb_meta_text(meta, HPCDB_META_STRINGS, sonde_load_u64le(p + 8)),
		.is_copied = sonde_load_u32le(p) & HPCDB_FILE_COPIED,
	};
}

struct hpcdb_function_info hpcdb_meta_function(struct hpcdb_meta *meta, uint32_t number)
{
	const uint8_t *p = hpcdb_table_at(&meta->file, &meta->functions, number);
	struct hpcdb_function_info info = {
		.name = hpcdb_meta_text(meta, HPCDB_META_STRINGS, sonde_load_u64le(p)),
		.module_pointer = sonde_load_u64le(p + 8),
		.address = sonde_load_u64le(p + 0x10),
		.file_pointer = sonde_load_u64le(p + 0x18),
		.line = sonde_load_u32le(p + 0x20),
	};

	info.module = hpcdb_table_number(&meta->modules, info.module_pointer);
	info.file = hpcdb_table_number(&meta->files, info.file_pointer);
	return info;
}
