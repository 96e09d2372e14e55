/* SPDX-License-Identifier: Apache-2.0 */
/* Checking a database: its files, what lies where in them, and the order in which parts are checked. */
#include "formats/hpcdb/hpcdb_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_read.h"
#include "formats/hpcdb/hpcdb_taxonomy.h"

#define PIECES 64
#define TOLERANCE 1e-9

bool hpcdb_is_close(double a, double b, double scale)
{
	return fabs(a - b) <= TOLERANCE * fmax(fabs(scale), fmax(fabs(a), fabs(b)));
}

/* Work that is done in pieces, each with findings of its own. */
struct pieces {
	struct hpcdb_check *check;
	hpcdb_check_work *work;
	uint32_t count, pieces;
	struct sonde_diagnostics *found[PIECES];
};

static enum sonde_status run_piece(void *user, size_t number, struct sonde_error *err)
{
	struct pieces *pieces = user;
	uint32_t first = (uint32_t)((uint64_t)pieces->count * number / pieces->pieces);
	uint32_t end = (uint32_t)((uint64_t)pieces->count * (number + 1) / pieces->pieces);
	enum sonde_status status = sonde_meter_add(&pieces->check->meter, 0, err);

	if (status < 0)
		return status;
	return pieces->work(pieces->check, first, end, pieces->found[number], err);
}

enum sonde_status hpcdb_check_run(struct hpcdb_check *check, uint32_t count, hpcdb_check_work *work,
				  struct sonde_error *err)
{
	struct pieces pieces = { .check = check, .work = work, .count = count };
	enum sonde_status status = SONDE_OK;

	pieces.pieces = count < PIECES ? count : PIECES;
	for (uint32_t i = 0; i < pieces.pieces && status == SONDE_OK; i++) {
		pieces.found[i] = sonde_diagnostics_new();
		if (!pieces.found[i])
			status = sonde_fail_nomem(err);
	}
	if (status == SONDE_OK)
		status = sonde_pool_run(pieces.pieces, check->threads, run_piece, &pieces, err);
	for (uint32_t i = 0; i < pieces.pieces; i++) {
		if (pieces.found[i] && status == SONDE_OK)
			sonde_diagnostics_append(check->found, pieces.found[i]);
		sonde_diagnostics_free(pieces.found[i]);
	}
	return status;
}

enum sonde_status hpcdb_extents_add(struct hpcdb_extents *extents, uint64_t start, uint64_t size,
				    struct sonde_error *err)
{
	struct sonde_sort_item *item;

	if (!size)
		return SONDE_OK;
	item = sonde_vec_push(&extents->items);
	if (!item)
		return sonde_fail_nomem(err);
	*item = (struct sonde_sort_item){ start, start + size };
	return SONDE_OK;
}

enum sonde_status hpcdb_extents_add_sections(struct hpcdb_extents *extents,
					     const struct hpcdb_file *file, struct sonde_error *err)
{
	uint32_t count = hpcdb_file_types[file->kind].sections;
	enum sonde_status status = hpcdb_extents_add(
		extents, 0, HPCDB_SECTIONS + (uint64_t)count * HPCDB_SECTION_SIZE, err);

	for (uint32_t i = 0; i < count && status == SONDE_OK; i++)
		status = hpcdb_extents_add(extents, file->sections[i].offset,
					   file->sections[i].size, err);
	if (status == SONDE_OK && file->has_footer)
		status = hpcdb_extents_add(extents, file->size - HPCDB_FOOTER_SIZE,
					   HPCDB_FOOTER_SIZE, err);
	return status;
}

bool hpcdb_extents_are_apart(struct hpcdb_extents *extents, const struct hpcdb_file *file,
			     struct sonde_diagnostics *found)
{
	bool are_apart = sonde_sort(extents->items.items, extents->items.count);
	uint64_t reached = 0;

	for (size_t i = 0; i < extents->items.count; i++) {
		const struct sonde_sort_item *item = &extents->items.items[i];

		if (item->key < reached) {
			hpcdb_found(found, OVERLAP, file->path, item->key,
				    "nothing before %" PRIu64 "\tsomething else here", reached);
			are_apart = false;
		}
		if (item->number > reached)
			reached = item->number;
	}
	sonde_vec_release(&extents->items);
	return are_apart;
}

void hpcdb_check_alignment(const struct hpcdb_file *file, uint64_t offset, uint32_t alignment,
			   const char *what, struct sonde_diagnostics *found)
{
	if (offset % alignment)
		hpcdb_found(found, ALIGNMENT, file->path, offset,
			    "%s at a multiple of %u\toffset %" PRIu64, what, alignment, offset);
}

static void check_file(struct hpcdb_check *check, const struct hpcdb_file *file)
{
	const struct hpcdb_file_type *type = &hpcdb_file_types[file->kind];

	if (file->minor > HPCDB_MINOR_VERSION)
		hpcdb_found(check->found, MINOR, file->path, HPCDB_MINOR,
			    "version %d.%d\tversion %d.%u", HPCDB_MAJOR_VERSION,
			    HPCDB_MINOR_VERSION, HPCDB_MAJOR_VERSION, file->minor);
	if (!file->has_footer)
		hpcdb_found(check->found, FOOTER, file->path, file->size,
			    "\"%s\" at the end\tother bytes", type->footer);
	for (uint32_t i = 0; i < type->sections; i++) {
		const struct hpcdb_section *section = &file->sections[i];
		uint64_t place = HPCDB_SECTIONS + (uint64_t)i * HPCDB_SECTION_SIZE;

		if (section->size < section->stated_size)
			hpcdb_found(check->found, SECTION, file->path, place,
				    "section %u within %zu bytes\t%" PRIu64 " bytes at %" PRIu64, i,
				    file->size, section->stated_size, section->offset);
		if (section->stated_size)
			hpcdb_check_alignment(file, section->offset, 8, "a section", check->found);
	}
}

/* Opens one file; what is wrong with it as a whole is a finding. */
static enum sonde_status look_at(struct hpcdb_check *check, enum hpcdb_file_kind kind,
				 enum sonde_status opened, struct sonde_error *fault,
				 const struct hpcdb_file *file, struct sonde_error *err)
{
	char *path;

	if (opened == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	if (opened == SONDE_OK) {
		check_file(check, file);
		return SONDE_OK;
	}
	path = sonde_path_join(check->folder, hpcdb_file_types[kind].name);
	if (!path)
		return sonde_fail_nomem(err);
	if (sonde_path_kind(path) != SONDE_PATH_ABSENT ||
	    (kind != HPCDB_CCT_FILE && kind != HPCDB_TRACE_FILE))
		hpcdb_found(check->found, REFUSED, path, fault->offset, "a %s\t%s",
			    hpcdb_file_types[kind].name, fault->message);
	else if (kind == HPCDB_CCT_FILE)
		hpcdb_found(check->found, CCT_MISSING, path, SONDE_NO_OFFSET,
			    "values by context\tno such file");
	else
		hpcdb_found(check->found, TRACE_MISSING, path, SONDE_NO_OFFSET,
			    "samples\tno such file");
	free(path);
	return SONDE_OK;
}

static enum sonde_status open_files(struct hpcdb_check *check, struct sonde_error *err)
{
	struct sonde_error fault;
	enum sonde_status opened, status;

	opened = hpcdb_meta_open(&check->meta, check->folder, &fault);
	status = look_at(check, HPCDB_META_FILE, opened, &fault, &check->meta.file, err);
	if (status < 0)
		return status;
	opened = hpcdb_profile_open(&check->profile, check->folder, &fault);
	status = look_at(check, HPCDB_PROFILE_FILE, opened, &fault, &check->profile.file, err);
	if (status < 0)
		return status;
	opened = hpcdb_cct_open(&check->cct, check->folder, &fault);
	status = look_at(check, HPCDB_CCT_FILE, opened, &fault, &check->cct.file, err);
	if (status < 0)
		return status;
	opened = hpcdb_trace_open(&check->trace, check->folder, &fault);
	return look_at(check, HPCDB_TRACE_FILE, opened, &fault, &check->trace.file, err);
}

static enum sonde_status check_yaml(struct hpcdb_check *check, struct sonde_error *err)
{
	struct hpcdb_taxonomy taxonomy;
	struct sonde_error fault;
	uint64_t budget = HPCDB_FIND_BUDGET;
	enum sonde_status status = hpcdb_taxonomy_open(&taxonomy, check->folder, &fault);
	char *path;

	if (status == SONDE_NOMEM)
		return sonde_fail_nomem(err);
	path = sonde_path_join(check->folder, HPCDB_YAML_NAME);
	if (!path) {
		hpcdb_taxonomy_release(&taxonomy);
		return sonde_fail_nomem(err);
	}
	if (status < 0 && sonde_path_kind(path) == SONDE_PATH_ABSENT)
		hpcdb_found(check->found, YAML_MISSING, path, SONDE_NO_OFFSET,
			    "which metrics to show\tno such file");
	else if (status < 0)
		hpcdb_found(check->found, YAML, path, fault.offset, "which metrics to show\t%s%s%s",
			    fault.message, *fault.cause ? ": " : "", fault.cause);
	for (size_t i = 0; i < taxonomy.inputs.count && check->meta.file.data; i++) {
		const struct hpcdb_input *input = &taxonomy.inputs.items[i];

		if (hpcdb_taxonomy_find(&check->meta, input, &budget) == HPCDB_NO_RECORD)
			hpcdb_found(check->found, YAML_INPUT, path, SONDE_NO_OFFSET,
				    "a statistic of meta.db\tmetric \"%.60s\" in scope \"%.30s\"",
				    input->metric, input->scope);
	}
	free(path);
	hpcdb_taxonomy_release(&taxonomy);
	return SONDE_OK;
}

void hpcdb_check_release(struct hpcdb_check *check)
{
	for (size_t i = 0; i < check->statistics.count; i++)
		sonde_expression_release(&check->statistics.items[i].formula);
	sonde_vec_release(&check->statistics);
	free(check->first_statistics);
	free(check->prop_instances);
	free(check->stat_summaries);
	free(check->scopes);
	hpcdb_tree_release(&check->tree);
	hpcdb_ids_release(&check->ids);
	hpcdb_meta_release(&check->meta);
	hpcdb_profile_release(&check->profile);
	hpcdb_cct_release(&check->cct);
	hpcdb_trace_release(&check->trace);
}

static enum sonde_status check_all(struct hpcdb_check *check, struct sonde_error *err)
{
	static enum sonde_status (*const parts[])(struct hpcdb_check *, struct sonde_error *) = {
		open_files,
		hpcdb_check_meta,
		hpcdb_check_cct,
		hpcdb_check_profile,
		hpcdb_check_propagation,
		hpcdb_check_statistics,
		hpcdb_check_trace,
		check_yaml,
	};
	enum sonde_status status = SONDE_OK;

	check->meter.total = sizeof(parts) / sizeof(parts[0]);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && status == SONDE_OK; i++) {
		status = parts[i](check, err);
		if (status == SONDE_OK)
			status = sonde_meter_add(&check->meter, 1, err);
	}
	return status;
}

enum sonde_status hpcdb_check(const char *path, const struct sonde_check_options *options,
			      struct sonde_diagnostics *diagnostics, struct sonde_error *err)
{
	struct hpcdb_check check = {
		.folder = path,
		.found = diagnostics,
		.threads = options->threads,
		.meter = { .progress = options->progress },
	};
	enum sonde_status status;

	if (sonde_path_kind(path) != SONDE_PATH_FOLDER) {
		hpcdb_found(diagnostics, REFUSED, path, SONDE_NO_OFFSET,
			    "the folder of a database\tsomething else");
		return SONDE_OK;
	}
	status = check_all(&check, err);
	hpcdb_check_release(&check);
	return status;
}
