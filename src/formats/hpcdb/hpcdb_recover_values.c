/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.db and cct.db from what is whole of either. A plane that is damaged is put together from
 * cct.db where that has it; cct.db and, where a plane is lost, the summary are made from the new
 * planes: contexts in groups, of each plane the part that belongs to the group.
 */
#include <math.h>
#include <stdlib.h>

#include "formats/hpcdb/hpcdb_put.h"
#include "formats/hpcdb/hpcdb_recover.h"

#define GROUP_VALUES 1000000
/* Ids of contexts are about as many as contexts; one far off would make cct.db gigantic. */
#define ID_FACTOR 64
#define ID_EXTRA 65536

struct value {
	double value;
	uint32_t profile;
};

struct rewriting {
	struct hpcdb_recovery *recovery;
	struct sonde_output profile, cct;
	struct sonde_buffer infos, values, indices, blocks;
	uint32_t profiles; /* as many as there were, the summary included */
	uint64_t id_limit;
	uint32_t contexts;    /* the largest id, plus one */
	uint8_t *good_blocks; /* [ctxId] of cct.db; NULL: not looked at yet */
	bool is_changed;      /* some plane is not as it was, so the summary is made anew */
	struct hpcdb_profile written;
	SONDE_VEC(struct sonde_sort_item) order;
	SONDE_VEC(struct value) group;
};

/* Adds a value to the plane that is being made; those that nobody could read are left out. */
static void put_value(struct rewriting *self, uint32_t context, uint16_t metric, double value,
		      bool is_summary)
{
	struct hpcdb_check *source = &self->recovery->source;
	const uint32_t *known = is_summary ? source->stat_summaries : source->prop_instances;
	size_t count = self->indices.size / HPCDB_PROFILE_INDEX_SIZE;
	const uint8_t *last = NULL; /* index; there is none yet without a count */

	if (count)
		last = (const uint8_t *)self->indices.data + self->indices.size -
		       HPCDB_PROFILE_INDEX_SIZE;
	if (known[metric] == HPCDB_NO_RECORD || value == 0 || !isfinite(value) ||
	    context >= self->id_limit) {
		self->recovery->result->bytes_dropped += HPCDB_PROFILE_VALUE_SIZE;
		self->is_changed = true;
		return;
	}
	if (!last || self->indices.failed || sonde_load_u32le(last) != context) {
		sonde_put_u32le(&self->indices, context);
		sonde_put_u64le(&self->indices, self->values.size / HPCDB_PROFILE_VALUE_SIZE);
	}
	sonde_put_u16le(&self->values, metric);
	sonde_put_u64le(&self->values, 0);
	if (!self->values.failed)
		hpcdb_store_double((uint8_t *)self->values.data + self->values.size - 8, value);
	if (context >= self->contexts && !is_summary)
		self->contexts = context + 1;
}

static void take_plane(struct rewriting *self, const struct hpcdb_plane *plane, bool is_summary)
{
	uint64_t first, end;

	for (uint32_t i = 0; i < plane->context_count; i++) {
		hpcdb_plane_range(plane, i, &first, &end);
		for (; first < end; first++)
			put_value(self, hpcdb_plane_context(plane, i),
				  hpcdb_plane_metric(plane, first),
				  hpcdb_plane_number(plane, first), is_summary);
	}
}

/* Which blocks of cct.db can be trusted. Blocks in the same bytes are not looked at forever. */
static enum sonde_status look_at_blocks(struct rewriting *self, struct sonde_error *err)
{
	struct hpcdb_check *source = &self->recovery->source;
	uint64_t budget = source->cct.file.size / HPCDB_CCT_VALUE_SIZE;

	self->good_blocks = calloc(source->cct.contexts.count + 1, 1);
	if (!self->good_blocks)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < source->cct.contexts.count; i++) {
		uint64_t count = hpcdb_cct_at(&source->cct, i).value_count;

		if (!count || count > budget)
			continue;
		budget -= count;
		self->good_blocks[i] = hpcdb_block_is_good(source, i);
	}
	return SONDE_OK;
}

/* The same plane, put together from cct.db: false where that has nothing of it. */
static bool take_from_cct(struct rewriting *self, uint32_t profile)
{
	struct hpcdb_check *source = &self->recovery->source;
	double value;

	for (uint32_t context = 0; context < source->cct.contexts.count; context++) {
		struct hpcdb_block block = hpcdb_cct_at(&source->cct, context);

		if (!self->good_blocks[context])
			continue;
		for (uint32_t i = 0; i < block.metric_count; i++) {
			uint16_t metric = hpcdb_block_metric(&block, i);

			if (hpcdb_block_find(&block, metric, profile, &value))
				put_value(self, context, metric, value, false);
		}
	}
	return self->values.size > 0;
}

/* Writes the plane that was made, and its record into `infos`. */
static enum sonde_status write_plane(struct rewriting *self, uint32_t profile,
				     struct sonde_error *err)
{
	size_t record = (size_t)profile * HPCDB_PROFILE_SIZE;
	uint64_t count = self->values.size / HPCDB_PROFILE_VALUE_SIZE;
	uint64_t contexts = self->indices.size / HPCDB_PROFILE_INDEX_SIZE;
	uint64_t start = self->profile.written, indices;
	enum sonde_status status;

	indices = hpcdb_aligned(start + self->values.size, 4);
	hpcdb_put_zeros(&self->values, indices - start - self->values.size);
	hpcdb_patch_u64(&self->infos, record, count);
	hpcdb_patch_u64(&self->infos, record + 8, start);
	hpcdb_patch_u64(&self->infos, record + 0x10, contexts);
	hpcdb_patch_u64(&self->infos, record + 0x18, indices);
	self->recovery->result->values_kept += count;
	status = hpcdb_flush(&self->profile, &self->values, err);
	if (status == SONDE_OK)
		status = hpcdb_flush(&self->profile, &self->indices, err);
	return status;
}

/*
 * The values of a profile: as they are where nothing is wrong with them; else from cct.db; else those of
 * them that can be read, where they are in order.
 */
static enum sonde_status take_profile(struct rewriting *self, uint32_t profile,
				      const struct hpcdb_profile_info *info, uint64_t *budget,
				      bool *is_kept, struct sonde_error *err)
{
	struct hpcdb_check *source = &self->recovery->source;
	uint64_t faults = sonde_diagnostics_count(source->found, SONDE_WARNING);
	enum sonde_status status = SONDE_OK;
	bool is_good = profile < hpcdb_profile_count(&source->profile) &&
		       info->plane.value_count <= *budget && hpcdb_plane_is_good(source, profile);

	*is_kept = is_good;
	if (is_good)
		*budget -= info->plane.value_count;
	if (is_good && sonde_diagnostics_count(source->found, SONDE_WARNING) == faults) {
		take_plane(self, &info->plane, info->is_summary);
		return SONDE_OK;
	}
	self->is_changed = true;
	if (!self->good_blocks)
		status = look_at_blocks(self, err);
	if (status < 0)
		return status;
	if (!info->is_summary && take_from_cct(self, profile))
		*is_kept = true;
	else if (is_good)
		take_plane(self, &info->plane, info->is_summary);
	return SONDE_OK;
}

/* Every plane but the first. */
static enum sonde_status write_planes(struct rewriting *self, struct sonde_error *err)
{
	struct hpcdb_check *source = &self->recovery->source;
	struct sonde_recover_result *result = self->recovery->result;
	enum sonde_status status = SONDE_OK;
	/* planes in the same bytes would make a small file gigantic */
	uint64_t budget = source->profile.file.size / HPCDB_PROFILE_VALUE_SIZE;

	for (uint32_t i = 1; i < self->profiles && status == SONDE_OK; i++) {
		struct hpcdb_profile_info info = { 0 };
		bool is_kept = false;

		if (i < hpcdb_profile_count(&source->profile))
			info = hpcdb_profile_at(&source->profile, i);
		status = take_profile(self, i, &info, &budget, &is_kept, err);
		if (status < 0)
			return status;
		result->tracks_kept += is_kept && !info.is_summary;
		result->tracks_lost += !is_kept;
		status = write_plane(self, i, err);
		if (status == SONDE_OK)
			status = sonde_meter_add(&source->meter, 0, err);
	}
	return status;
}

/* How many profiles there are, by profile.db or, where it does not say, by cct.db. */
static uint32_t count_profiles(const struct hpcdb_check *source)
{
	uint32_t count = hpcdb_profile_count(&source->profile);
	/* a profile has a record of 48 bytes: no file names more than it has values */
	uint64_t limit = source->cct.file.size / HPCDB_CCT_VALUE_SIZE + 1;

	if (count && count == source->profile.profiles.stated_count)
		return count;
	for (uint32_t i = 0; i < source->cct.contexts.count; i++) {
		struct hpcdb_block block = hpcdb_cct_at(&source->cct, i);

		for (uint64_t j = 0; j < block.value_count; j++) {
			uint32_t profile = hpcdb_block_profile(&block, j);

			if (profile >= count && profile < limit)
				count = profile + 1;
		}
		/* the first is the root, which has a value of each profile that has any */
		if (block.value_count)
			break;
	}
	return count ? count : 1;
}

/* Identities that can be read as they are, others as a thread of that number. */
static void put_identities(struct rewriting *self, uint32_t profile, struct sonde_buffer *tuples)
{
	struct hpcdb_check *source = &self->recovery->source;
	struct sonde_identity identities[SONDE_IDENTITY_LIMIT];
	size_t count = 0;

	if (profile < hpcdb_profile_count(&source->profile)) {
		struct hpcdb_profile_info info = hpcdb_profile_at(&source->profile, profile);

		hpcdb_profile_identities(&source->profile, &info, identities, &count);
	}
	if (!count) {
		hpcdb_found(self->recovery->report, IDENTITY, self->recovery->source.folder,
			    SONDE_NO_OFFSET,
			    "who profile %u is of\tnothing; it is called thread %u", profile,
			    profile - 1);
		identities[count++] = (struct sonde_identity){ .kind = SONDE_IDENTITY_THREAD,
							       .physical = profile - 1,
							       .logical = profile - 1 };
	}
	sonde_put_u64le(tuples, count);
	for (size_t i = 0; i < count; i++) {
		sonde_put_u16le(tuples, identities[i].kind);
		sonde_put_u16le(tuples, identities[i].is_physical ? HPCDB_ID_PHYSICAL : 0);
		sonde_put_u32le(tuples, (uint32_t)identities[i].logical);
		sonde_put_u64le(tuples, identities[i].physical);
	}
}

static bool is_summary(const struct rewriting *self, uint32_t profile)
{
	const struct hpcdb_profile *old = &self->recovery->source.profile;

	return !profile ||
	       (profile < hpcdb_profile_count(old) && hpcdb_profile_at(old, profile).is_summary);
}

static enum sonde_status begin_profile(struct rewriting *self, struct sonde_error *err)
{
	struct sonde_buffer head = { 0 }, tuples = { 0 };
	uint64_t infos_size = 0x10 + (uint64_t)self->profiles * HPCDB_PROFILE_SIZE;
	uint64_t tuples_at = HPCDB_PROFILE_HEADER + infos_size;
	enum sonde_status status =
		hpcdb_begin_file(self->recovery, HPCDB_PROFILE_FILE, &self->profile, &head, err);

	for (uint32_t i = 0; i < self->profiles; i++) {
		hpcdb_put_zeros(&self->infos, 0x20);
		sonde_put_u64le(&self->infos, i ? tuples_at + tuples.size : 0);
		sonde_put_u64le(&self->infos, is_summary(self, i) ? HPCDB_PROFILE_IS_SUMMARY : 0);
		if (i)
			put_identities(self, i, &tuples);
	}
	sonde_put_u64le(&head, infos_size);
	sonde_put_u64le(&head, HPCDB_PROFILE_HEADER);
	sonde_put_u64le(&head, tuples.size);
	sonde_put_u64le(&head, tuples_at);
	sonde_put_u64le(&head, HPCDB_PROFILE_HEADER + 0x10);
	sonde_put_u32le(&head, self->profiles);
	sonde_put_u32le(&head, HPCDB_PROFILE_SIZE);
	if (status == SONDE_OK)
		status = hpcdb_flush(&self->profile, &head, err);
	if (status == SONDE_OK && self->infos.failed)
		status = sonde_fail_nomem(err);
	if (status == SONDE_OK)
		status =
			sonde_output_write(&self->profile, self->infos.data, self->infos.size, err);
	if (status == SONDE_OK)
		status = hpcdb_flush(&self->profile, &tuples, err);
	sonde_buffer_release(&head);
	sonde_buffer_release(&tuples);
	return status;
}

/* The planes that were written so far, to be read again; a patch brings all of them to the file. */
static enum sonde_status read_again(struct rewriting *self, struct sonde_mapped_file *mapped,
				    struct sonde_error *err)
{
	char *path = sonde_path_join(self->recovery->folder, "profile.db");
	enum sonde_status status = path ? SONDE_OK : sonde_fail_nomem(err);

	if (status == SONDE_OK)
		status = sonde_output_patch(&self->profile, HPCDB_PROFILE_HEADER + 0x10,
					    self->infos.data, self->infos.size, err);
	if (status == SONDE_OK)
		status = sonde_mapped_file_open(mapped, path, err);
	if (status == SONDE_OK)
		status = hpcdb_profile_of(&self->written, mapped->data, mapped->size, path, err);
	free(path);
	return status;
}

static enum sonde_status gather(struct rewriting *self, uint32_t from, uint32_t to,
				struct sonde_error *err)
{
	uint64_t first, end;

	self->order.count = self->group.count = 0;
	for (uint32_t i = 1; i < self->profiles; i++) {
		struct hpcdb_profile_info info = hpcdb_profile_at(&self->written, i);
		uint32_t number = hpcdb_plane_seek(&info.plane, from);

		if (info.is_summary)
			continue;
		for (; number < info.plane.context_count; number++) {
			uint64_t context = hpcdb_plane_context(&info.plane, number);

			if (context >= to)
				break;
			hpcdb_plane_range(&info.plane, number, &first, &end);
			for (; first < end; first++) {
				struct sonde_sort_item *item = sonde_vec_push(&self->order);
				struct value *value = sonde_vec_push(&self->group);

				if (!item || !value)
					return sonde_fail_nomem(err);
				item->key = context << 16 | hpcdb_plane_metric(&info.plane, first);
				item->number = self->group.count - 1;
				*value =
					(struct value){ hpcdb_plane_number(&info.plane, first), i };
			}
		}
	}
	if (!sonde_sort(self->order.items, self->order.count))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

/* The statistics of one context and metric, from order[from] to before order[to]. */
static void put_statistics(struct rewriting *self, size_t from, size_t to)
{
	struct hpcdb_check *source = &self->recovery->source;
	uint64_t key = self->order.items[from].key;
	uint16_t metric = (uint16_t)key;

	for (uint32_t i = source->first_statistics[metric];
	     i < source->first_statistics[metric + 1]; i++) {
		const struct hpcdb_statistic *statistic = &source->statistics.items[i];
		double result = 0;

		for (size_t j = from; j < to; j++) {
			double value = hpcdb_statistic_apply(
				statistic, self->group.items[self->order.items[j].number].value);

			result = j == from ? value :
					     hpcdb_statistic_combine(statistic, result, value);
		}
		put_value(self, (uint32_t)(key >> 16), statistic->id, result, true);
	}
}

static int compare_ids(const void *a, const void *b)
{
	return (int)sonde_load_u16le(a) - (int)sonde_load_u16le(b);
}

/* Statistics of a context may come in the order of metrics, which is not that of their ids. */
static void order_statistics(struct rewriting *self, size_t from)
{
	if (!self->values.failed && self->values.size > from)
		qsort(self->values.data + from,
		      (self->values.size - from) / HPCDB_PROFILE_VALUE_SIZE,
		      HPCDB_PROFILE_VALUE_SIZE, compare_ids);
}

/* The block of one context, from order[from] to before order[to]. */
static void put_block(struct rewriting *self, struct sonde_buffer *records, uint64_t start,
		      size_t from, size_t to)
{
	uint64_t at = start + self->blocks.size;
	uint32_t context = (uint32_t)(self->order.items[from].key >> 16);
	size_t record = (size_t)context * HPCDB_CCT_CONTEXT_SIZE, metrics = 0, values_from;
	struct sonde_buffer indices = { 0 };

	values_from = self->values.size;
	for (size_t i = from, end; i < to; i = end, metrics++) {
		for (end = i; end < to && self->order.items[end].key == self->order.items[i].key;
		     end++) {
			const struct value *value =
				&self->group.items[self->order.items[end].number];

			sonde_put_u32le(&self->blocks, value->profile);
			sonde_put_u64le(&self->blocks, 0);
			if (!self->blocks.failed)
				hpcdb_store_double((uint8_t *)self->blocks.data +
							   self->blocks.size - 8,
						   value->value);
		}
		sonde_put_u16le(&indices, (uint16_t)self->order.items[i].key);
		sonde_put_u64le(&indices, i - from);
		if (self->is_changed)
			put_statistics(self, i, end);
	}
	if (self->is_changed)
		order_statistics(self, values_from);
	hpcdb_patch_u64(records, record, to - from);
	hpcdb_patch_u64(records, record + 8, at);
	hpcdb_patch_u64(records, record + 0x10, metrics);
	hpcdb_patch_u64(records, record + 0x18, start + self->blocks.size);
	sonde_buffer_put(&self->blocks, indices.data, indices.size);
	hpcdb_put_zeros(&self->blocks,
			hpcdb_aligned(start + self->blocks.size, 4) - start - self->blocks.size);
	self->blocks.failed |= indices.failed;
	sonde_buffer_release(&indices);
}

static enum sonde_status write_group(struct rewriting *self, struct sonde_buffer *records,
				     uint32_t from, uint32_t to, struct sonde_error *err)
{
	enum sonde_status status = gather(self, from, to, err);

	for (size_t i = 0, end; i < self->order.count && status == SONDE_OK; i = end) {
		uint64_t context = self->order.items[i].key >> 16;

		for (end = i;
		     end < self->order.count && self->order.items[end].key >> 16 == context;)
			end++;
		put_block(self, records, self->cct.written, i, end);
	}
	return status == SONDE_OK ? hpcdb_flush(&self->cct, &self->blocks, err) : status;
}

/* How many values each context has, so that groups stay small. */
static uint32_t *count_values(struct rewriting *self)
{
	uint32_t *counts = calloc((size_t)self->contexts + 1, sizeof(*counts));
	uint64_t first, end;

	for (uint32_t i = 1; counts && i < self->profiles; i++) {
		struct hpcdb_profile_info info = hpcdb_profile_at(&self->written, i);

		for (uint32_t j = 0; !info.is_summary && j < info.plane.context_count; j++) {
			hpcdb_plane_range(&info.plane, j, &first, &end);
			counts[hpcdb_plane_context(&info.plane, j)] += (uint32_t)(end - first);
		}
	}
	return counts;
}

static enum sonde_status write_cct(struct rewriting *self, struct sonde_error *err)
{
	struct sonde_buffer head = { 0 }, records = { 0 };
	uint64_t size = 0x10 + (uint64_t)self->contexts * HPCDB_CCT_CONTEXT_SIZE;
	uint32_t *counts = count_values(self);
	enum sonde_status status;

	if (!counts)
		return sonde_fail_nomem(err);
	status = hpcdb_begin_file(self->recovery, HPCDB_CCT_FILE, &self->cct, &head, err);
	sonde_put_u64le(&head, size);
	sonde_put_u64le(&head, 0x30);
	hpcdb_put_zeros(&head, 0x10);
	sonde_put_u64le(&head, 0x40);
	sonde_put_u32le(&head, self->contexts);
	sonde_put_u32le(&head, HPCDB_CCT_CONTEXT_SIZE);
	hpcdb_put_zeros(&records, (size_t)self->contexts * HPCDB_CCT_CONTEXT_SIZE);
	hpcdb_put_zeros(&head, records.size);
	if (status == SONDE_OK)
		status = hpcdb_flush(&self->cct, &head, err);
	for (uint32_t from = 0, to; from < self->contexts && status == SONDE_OK; from = to) {
		uint64_t values = counts[from];

		for (to = from + 1; to < self->contexts && values + counts[to] <= GROUP_VALUES;)
			values += counts[to++];
		status = write_group(self, &records, from, to, err);
	}
	hpcdb_put_zeros(&head, hpcdb_aligned(self->cct.written, 8) - self->cct.written);
	sonde_buffer_put(&head, hpcdb_file_types[HPCDB_CCT_FILE].footer, HPCDB_FOOTER_SIZE);
	if (status == SONDE_OK)
		status = hpcdb_flush(&self->cct, &head, err);
	if (status == SONDE_OK && records.failed)
		status = sonde_fail_nomem(err);
	if (status == SONDE_OK && records.size)
		status = sonde_output_patch(&self->cct, 0x40, records.data, records.size, err);
	if (status == SONDE_OK)
		status = sonde_output_close(&self->cct, err);
	sonde_buffer_release(&head);
	sonde_buffer_release(&records);
	free(counts);
	return status;
}

/* The summary and the end. */
static enum sonde_status finish_profile(struct rewriting *self, struct sonde_error *err)
{
	struct hpcdb_check *source = &self->recovery->source;
	struct sonde_buffer end = { 0 };
	enum sonde_status status;

	if (!self->is_changed) {
		struct hpcdb_profile_info summary = hpcdb_profile_at(&source->profile, 0);

		take_plane(self, &summary.plane, true);
	}
	status = write_plane(self, 0, err);
	hpcdb_put_zeros(&end, hpcdb_aligned(self->profile.written, 8) - self->profile.written);
	sonde_buffer_put(&end, hpcdb_file_types[HPCDB_PROFILE_FILE].footer, HPCDB_FOOTER_SIZE);
	if (status == SONDE_OK)
		status = hpcdb_flush(&self->profile, &end, err);
	if (status == SONDE_OK)
		status = sonde_output_patch(&self->profile, HPCDB_PROFILE_HEADER + 0x10,
					    self->infos.data, self->infos.size, err);
	if (status == SONDE_OK)
		status = sonde_output_close(&self->profile, err);
	sonde_buffer_release(&end);
	return status;
}

static void release(struct rewriting *self)
{
	free(self->good_blocks);
	hpcdb_profile_release(&self->written);
	sonde_output_release(&self->profile);
	sonde_output_release(&self->cct);
	sonde_buffer_release(&self->infos);
	sonde_buffer_release(&self->values);
	sonde_buffer_release(&self->indices);
	sonde_buffer_release(&self->blocks);
	sonde_vec_release(&self->order);
	sonde_vec_release(&self->group);
}

enum sonde_status hpcdb_recover_values(struct hpcdb_recovery *recovery, struct sonde_error *err)
{
	struct hpcdb_check *source = &recovery->source;
	struct rewriting self = { .recovery = recovery };
	struct sonde_mapped_file mapped = { 0 };
	enum sonde_status status;

	self.profile.fd = self.cct.fd = -1;
	self.profiles = count_profiles(source);
	recovery->profiles = self.profiles;
	self.id_limit = (uint64_t)source->tree.contexts.count * ID_FACTOR + ID_EXTRA;
	self.is_changed = recovery->has_bad_statistics || !hpcdb_profile_count(&source->profile) ||
			  !hpcdb_profile_at(&source->profile, 0).is_summary ||
			  !hpcdb_plane_is_good(source, 0);
	status = begin_profile(&self, err);
	if (status == SONDE_OK)
		status = write_planes(&self, err);
	if (status == SONDE_OK)
		status = read_again(&self, &mapped, err);
	if (status == SONDE_OK)
		status = write_cct(&self, err);
	if (status == SONDE_OK)
		status = finish_profile(&self, err);
	release(&self);
	sonde_mapped_file_release(&mapped);
	return status;
}
