/* SPDX-License-Identifier: Apache-2.0 */
/* The check of profile.db and cct.db: where values lie, their order, and that both say the same. */
#include <inttypes.h>
#include <math.h>

#include "formats/hpcdb/hpcdb_check.h"
#include "formats/hpcdb/hpcdb_recover.h"

static uint64_t offset_of(const struct hpcdb_file *file, const uint8_t *p)
{
	return (uint64_t)(p - file->data);
}

/* A value that should be there at all; `offset` is its own. */
static void check_number(const struct hpcdb_file *file, double value, uint64_t offset,
			 struct sonde_diagnostics *found)
{
	if (value == 0 || !isfinite(value))
		hpcdb_found(found, ZERO, file->path, offset, "a value other than 0\t%g", value);
}

static bool is_defined(const struct hpcdb_check *check, uint16_t metric, bool is_summary)
{
	const uint32_t *known = is_summary ? check->stat_summaries : check->prop_instances;

	return !known || known[metric] != HPCDB_NO_RECORD;
}

/* That cct.db has the same value. */
static void compare_value(struct hpcdb_check *check, const struct hpcdb_block *block,
			  uint32_t profile, uint32_t context, uint16_t metric, double value,
			  uint64_t offset, struct sonde_diagnostics *found)
{
	double other;

	if (!hpcdb_block_find(block, metric, profile, &other))
		hpcdb_found(found, TRANSPOSED, check->profile.file.path, offset,
			    "the value of profile %" PRIu32 ", context %" PRIu32
			    ", metric %u in cct.db\tnone there",
			    profile, context, metric);
	else if (other != value)
		hpcdb_found(found, TRANSPOSED, check->profile.file.path, offset,
			    "%.17g for profile %" PRIu32 ", context %" PRIu32
			    ", metric %u in cct.db\t%.17g there",
			    value, profile, context, metric, other);
}

/* The values of one context of a plane; false where they are out of order. */
static bool check_run(struct hpcdb_check *check, uint32_t profile,
		      const struct hpcdb_profile_info *info, uint32_t number,
		      struct sonde_diagnostics *found)
{
	const struct hpcdb_plane *plane = &info->plane;
	const struct hpcdb_file *file = &check->profile.file;
	uint32_t context = hpcdb_plane_context(plane, number);
	struct hpcdb_block block = hpcdb_cct_at(&check->cct, context);
	uint64_t first, end;
	int32_t before = -1;

	hpcdb_plane_range(plane, number, &first, &end);
	for (; first < end; first++) {
		uint16_t metric = hpcdb_plane_metric(plane, first);
		double value = hpcdb_plane_number(plane, first);
		uint64_t offset = offset_of(file, plane->values + first * HPCDB_PROFILE_VALUE_SIZE);

		if (metric <= before) {
			hpcdb_found(found, PLANE_ORDER, file->path, offset,
				    "a metric above %d\tmetric %u", before, metric);
			return false;
		}
		before = metric;
		if (!is_defined(check, metric, info->is_summary))
			hpcdb_found(found, METRIC, file->path, offset,
				    "a metric of meta.db\tmetric %u", metric);
		check_number(file, value, offset, found);
		if (!info->is_summary && check->has_good_blocks)
			compare_value(check, &block, profile, context, metric, value, offset,
				      found);
	}
	return true;
}

/* The index of a plane: ascending contexts, each with values. Stops at the first that is not. */
static bool check_plane(struct hpcdb_check *check, uint32_t profile,
			const struct hpcdb_profile_info *info, struct sonde_diagnostics *found)
{
	const struct hpcdb_plane *plane = &info->plane;
	const struct hpcdb_file *file = &check->profile.file;
	int64_t before = -1;
	uint64_t reached = 0;

	for (uint32_t i = 0; i < plane->context_count; i++) {
		uint32_t context = hpcdb_plane_context(plane, i);
		uint64_t start = hpcdb_plane_start(plane, i), first, end;
		uint64_t offset =
			offset_of(file, plane->indices + (uint64_t)i * HPCDB_PROFILE_INDEX_SIZE);

		if (context <= before) {
			hpcdb_found(found, PLANE_ORDER, file->path, offset,
				    "a context above %" PRId64 "\tcontext %" PRIu32, before,
				    context);
			return false;
		}
		hpcdb_plane_range(plane, i, &first, &end);
		if (start != reached || first >= end) {
			hpcdb_found(found, PLANE_ORDER, file->path, offset + 4,
				    "values of context %" PRIu32 " from %" PRIu64
				    " on\tthose from %" PRIu64 " to %" PRIu64,
				    context, reached, start, end);
			return false;
		}
		before = context;
		reached = end;
		if (hpcdb_ids_find(&check->ids, context) == HPCDB_NO_RECORD)
			check->unlisted++;
		if (!check_run(check, profile, info, i, found))
			return false;
	}
	if (reached == plane->value_count)
		return true;
	hpcdb_found(found, PLANE_ORDER, file->path, plane->indices_offset,
		    "an index of %" PRIu64 " values\tone of %" PRIu64, plane->value_count, reached);
	return false;
}

static enum sonde_status check_planes(struct hpcdb_check *check, uint32_t first, uint32_t end,
				      struct sonde_diagnostics *found, struct sonde_error *err)
{
	(void)err;
	for (; first < end; first++) {
		struct hpcdb_profile_info info = hpcdb_profile_at(&check->profile, first);

		if (!info.is_summary)
			check->plane_values += info.plane.value_count;
		if (!check_plane(check, first, &info, found))
			check->is_bad = true;
	}
	return SONDE_OK;
}

bool hpcdb_plane_is_good(struct hpcdb_check *check, uint32_t profile)
{
	struct hpcdb_profile_info info = hpcdb_profile_at(&check->profile, profile);

	return info.plane.is_whole && check_plane(check, profile, &info, check->found);
}

static void check_identities(struct hpcdb_check *check, uint32_t profile,
			     const struct hpcdb_profile_info *info)
{
	const struct hpcdb_file *file = &check->profile.file;
	const struct hpcdb_section *tuples = &file->sections[HPCDB_PROFILE_ID_TUPLES];
	struct sonde_identity identities[SONDE_IDENTITY_LIMIT];
	uint64_t offset = check->profile.profiles.offset +
			  (uint64_t)profile * check->profile.profiles.stride + 0x20;
	size_t count;

	if (info->is_summary && !info->id_tuple)
		return;
	if (!hpcdb_profile_identities(&check->profile, info, identities, &count) ||
	    !hpcdb_is_within(tuples, info->id_tuple, HPCDB_ID_TUPLE_SIZE + count * HPCDB_ID_SIZE)) {
		hpcdb_found(check->found, IDENTITY, file->path, offset,
			    "the identities of profile %" PRIu32 "\ta pointer to %" PRIu64, profile,
			    info->id_tuple);
		return;
	}
	hpcdb_check_alignment(file, info->id_tuple, 8, "identities", check->found);
	for (size_t i = 0; i < count && check->meta.file.data; i++) {
		if (identities[i].kind >= check->meta.kinds.count ||
		    !check->meta.kinds.items[identities[i].kind].length)
			hpcdb_found(check->found, IDENTITY_KIND, file->path, info->id_tuple,
				    "a kind of identity that meta.db names\tkind %u",
				    identities[i].kind);
	}
	for (size_t i = 0; i < count; i++) {
		if (!identities[i].is_physical && identities[i].physical != identities[i].logical)
			hpcdb_found(check->found, IDENTITY_LOGICAL, file->path,
				    info->id_tuple + HPCDB_ID_TUPLE_SIZE + i * HPCDB_ID_SIZE + 8,
				    "the logical id, %" PRIu64 "\t%" PRIu64, identities[i].logical,
				    identities[i].physical);
	}
}

static enum sonde_status check_extent(struct hpcdb_check *check, struct hpcdb_extents *extents,
				      uint32_t profile, const struct hpcdb_profile_info *info,
				      struct sonde_error *err)
{
	const struct hpcdb_plane *plane = &info->plane;
	const struct hpcdb_file *file = &check->profile.file;
	uint64_t values_size = plane->value_count * HPCDB_PROFILE_VALUE_SIZE;
	uint64_t behind = plane->values_offset + values_size;
	enum sonde_status status;

	if (!plane->is_whole) {
		hpcdb_found(check->found, PLANE, file->path, plane->values_offset,
			    "%" PRIu64 " values of profile %" PRIu32 " within the file\tthey are "
			    "not",
			    plane->stated_values, profile);
		check->is_bad = true;
		return SONDE_OK;
	}
	if (!plane->value_count)
		return SONDE_OK;
	hpcdb_check_alignment(file, plane->values_offset, 2, "values", check->found);
	hpcdb_check_alignment(file, plane->indices_offset, 4, "an index of values", check->found);
	if (plane->indices_offset < behind || plane->indices_offset - behind >= 8)
		hpcdb_found(check->found, ALIGNMENT, file->path, plane->indices_offset,
			    "an index right behind its values\tone elsewhere");
	status = hpcdb_extents_add(extents, plane->values_offset, values_size, err);
	if (status == SONDE_OK)
		status = hpcdb_extents_add(
			extents, plane->indices_offset,
			(uint64_t)plane->context_count * HPCDB_PROFILE_INDEX_SIZE, err);
	return status;
}

static void check_infos(struct hpcdb_check *check)
{
	const struct hpcdb_table *table = &check->profile.profiles;
	const struct hpcdb_file *file = &check->profile.file;
	const struct hpcdb_section *section = &file->sections[HPCDB_PROFILE_INFOS];

	if (table->count < table->stated_count ||
	    (table->count &&
	     !hpcdb_is_within(section, table->offset, (table->count - 1) * table->stride + 0x2c)))
		hpcdb_found(check->found, TABLE, file->path, section->offset,
			    "%" PRIu64 " profiles within their section\tthey are not",
			    table->stated_count);
	if (!table->count || !hpcdb_profile_at(&check->profile, 0).is_summary)
		hpcdb_found(check->found, PROFILE, file->path, table->offset,
			    "a summary as the first profile\tnone");
	hpcdb_check_alignment(file, table->offset, 8, "profiles", check->found);
}

static void check_totals(struct hpcdb_check *check)
{
	if (check->unlisted)
		hpcdb_found(check->found, UNLISTED, check->profile.file.path, SONDE_NO_OFFSET,
			    "values of listed contexts\tother contexts %" PRIu64 " times",
			    (uint64_t)check->unlisted);
	if (check->has_good_planes && check->has_good_blocks &&
	    check->plane_values != check->block_values)
		hpcdb_found(check->found, TRANSPOSED, check->cct.file.path, SONDE_NO_OFFSET,
			    "%" PRIu64 " values, as in profile.db\t%" PRIu64,
			    (uint64_t)check->plane_values, (uint64_t)check->block_values);
}

enum sonde_status hpcdb_check_profile(struct hpcdb_check *check, struct sonde_error *err)
{
	struct hpcdb_extents extents = { 0 };
	uint32_t count = hpcdb_profile_count(&check->profile);
	enum sonde_status status;
	bool are_apart;

	if (!check->profile.file.data)
		return SONDE_OK;
	check->is_bad = false;
	check_infos(check);
	status = hpcdb_extents_add_sections(&extents, &check->profile.file, err);
	for (uint32_t i = 0; i < count && status == SONDE_OK; i++) {
		struct hpcdb_profile_info info = hpcdb_profile_at(&check->profile, i);

		check_identities(check, i, &info);
		status = check_extent(check, &extents, i, &info, err);
	}
	are_apart = hpcdb_extents_are_apart(&extents, &check->profile.file, check->found);
	/* many planes in the same bytes would take very long, and tell nothing new */
	if (status < 0 || !are_apart)
		return status;
	status = hpcdb_check_run(check, count, check_planes, err);
	check->has_good_planes = !check->is_bad;
	check_totals(check);
	return status;
}

/* One metric of a block: profiles in order that exist. */
static bool check_block_run(struct hpcdb_check *check, const struct hpcdb_block *block,
			    uint64_t first, uint64_t end, struct sonde_diagnostics *found)
{
	const struct hpcdb_file *file = &check->cct.file;
	uint32_t profiles = hpcdb_profile_count(&check->profile);
	int64_t before = -1;

	for (; first < end; first++) {
		uint32_t profile = hpcdb_block_profile(block, first);
		uint64_t offset = offset_of(file, block->values + first * HPCDB_CCT_VALUE_SIZE);

		if (profile <= before) {
			hpcdb_found(found, PLANE_ORDER, file->path, offset,
				    "a profile above %" PRId64 "\tprofile %" PRIu32, before,
				    profile);
			return false;
		}
		before = profile;
		if (check->profile.file.data &&
		    (profile >= profiles ||
		     hpcdb_profile_at(&check->profile, profile).is_summary)) {
			hpcdb_found(found, PROFILE, file->path, offset,
				    "a profile of a thread\tprofile %" PRIu32 " of %" PRIu32,
				    profile, profiles);
			return false;
		}
		check_number(file, hpcdb_block_number(block, first), offset, found);
	}
	return true;
}

static bool check_block(struct hpcdb_check *check, uint32_t context,
			const struct hpcdb_block *block, struct sonde_diagnostics *found)
{
	const struct hpcdb_file *file = &check->cct.file;
	int32_t before = -1;
	uint64_t reached = 0;

	for (uint32_t i = 0; i < block->metric_count; i++) {
		uint16_t metric = hpcdb_block_metric(block, i);
		uint64_t offset =
			offset_of(file, block->indices + (uint64_t)i * HPCDB_CCT_INDEX_SIZE);
		uint64_t start = hpcdb_block_start(block, i), first, end;

		hpcdb_block_range(block, i, &first, &end);
		if (metric <= before || start != reached || first >= end) {
			hpcdb_found(found, PLANE_ORDER, file->path, offset,
				    "a metric above %d with values from %" PRIu64
				    " on in context %" PRIu32
				    "\tmetric %u with those from %" PRIu64,
				    before, reached, context, metric, start);
			return false;
		}
		before = metric;
		reached = end;
		if (!is_defined(check, metric, false))
			hpcdb_found(found, METRIC, file->path, offset,
				    "a metric of meta.db\tmetric %u", metric);
		if (!check_block_run(check, block, first, end, found))
			return false;
	}
	if (reached == block->value_count)
		return true;
	hpcdb_found(found, PLANE_ORDER, file->path, block->indices_offset,
		    "an index of %" PRIu64 " values\tone of %" PRIu64, block->value_count, reached);
	return false;
}

bool hpcdb_block_is_good(struct hpcdb_check *check, uint32_t context)
{
	struct hpcdb_block block = hpcdb_cct_at(&check->cct, context);

	return block.is_whole && check_block(check, context, &block, check->found);
}

static enum sonde_status check_blocks(struct hpcdb_check *check, uint32_t first, uint32_t end,
				      struct sonde_diagnostics *found, struct sonde_error *err)
{
	(void)err;
	for (; first < end; first++) {
		struct hpcdb_block block = hpcdb_cct_at(&check->cct, first);

		check->block_values += block.value_count;
		if (!check_block(check, first, &block, found))
			check->is_bad = true;
	}
	return SONDE_OK;
}

static enum sonde_status check_block_extent(struct hpcdb_check *check,
					    struct hpcdb_extents *extents, uint32_t context,
					    struct sonde_error *err)
{
	struct hpcdb_block block = hpcdb_cct_at(&check->cct, context);
	const struct hpcdb_file *file = &check->cct.file;
	uint64_t values_size = block.value_count * HPCDB_CCT_VALUE_SIZE;
	uint64_t behind = block.values_offset + values_size;
	enum sonde_status status;

	if (!block.is_whole) {
		hpcdb_found(check->found, PLANE, file->path, block.values_offset,
			    "%" PRIu64 " values of context %" PRIu32 " within the file\tthey are "
			    "not",
			    block.stated_values, context);
		check->is_bad = true;
		return SONDE_OK;
	}
	if (!block.value_count)
		return SONDE_OK;
	hpcdb_check_alignment(file, block.values_offset, 4, "values", check->found);
	hpcdb_check_alignment(file, block.indices_offset, 2, "an index of values", check->found);
	if (block.indices_offset < behind || block.indices_offset - behind >= 8)
		hpcdb_found(check->found, ALIGNMENT, file->path, block.indices_offset,
			    "an index right behind its values\tone elsewhere");
	status = hpcdb_extents_add(extents, block.values_offset, values_size, err);
	if (status == SONDE_OK)
		status = hpcdb_extents_add(extents, block.indices_offset,
					   (uint64_t)block.metric_count * HPCDB_CCT_INDEX_SIZE,
					   err);
	return status;
}

/* Contexts are looked up by their id: there must be a place for each that meta.db lists. */
static void check_listed(struct hpcdb_check *check)
{
	const struct hpcdb_table *table = &check->cct.contexts;
	uint32_t beyond = 0, last = 0;

	for (size_t i = 1; i < check->tree.contexts.count; i++) {
		uint32_t id = check->tree.contexts.items[i].id;

		beyond += id >= table->stated_count;
		last = id > last ? id : last;
	}
	if (beyond)
		hpcdb_found(check->found, CCT_CONTEXTS, check->cct.file.path, table->offset,
			    "%" PRIu64 " contexts\t%" PRIu64 ": %" PRIu32 " that meta.db lists are "
			    "not there",
			    (uint64_t)last + 1, table->stated_count, beyond);
}

enum sonde_status hpcdb_check_cct(struct hpcdb_check *check, struct sonde_error *err)
{
	const struct hpcdb_table *table = &check->cct.contexts;
	const struct hpcdb_file *file = &check->cct.file;
	const struct hpcdb_section *section = &file->sections[HPCDB_CCT_CONTEXTS];
	struct hpcdb_extents extents = { 0 };
	enum sonde_status status;
	bool are_apart;

	if (!file->data)
		return SONDE_OK;
	check->is_bad = false;
	if (table->count < table->stated_count ||
	    (table->count &&
	     !hpcdb_is_within(section, table->offset,
			      (table->count - 1) * table->stride + HPCDB_CCT_CONTEXT_SIZE)))
		hpcdb_found(check->found, TABLE, file->path, section->offset,
			    "%" PRIu64 " contexts within their section\tthey are not",
			    table->stated_count);
	hpcdb_check_alignment(file, table->offset, 8, "contexts", check->found);
	check_listed(check);
	status = hpcdb_extents_add_sections(&extents, file, err);
	for (uint32_t i = 0; i < table->count && status == SONDE_OK; i++)
		status = check_block_extent(check, &extents, i, err);
	are_apart = hpcdb_extents_are_apart(&extents, file, check->found);
	if (status < 0 || !are_apart)
		return status;
	status = hpcdb_check_run(check, (uint32_t)table->count, check_blocks, err);
	check->has_good_blocks = !check->is_bad;
	return status;
}
