/* SPDX-License-Identifier: Apache-2.0 */
/* Reading profile.db. */
#include "formats/hpcdb/hpcdb_profile.h"

static void read_infos(struct hpcdb_profile *profile)
{
	const struct hpcdb_section *section = &profile->file.sections[HPCDB_PROFILE_INFOS];
	const uint8_t *p = section->size >= 0x0d ? profile->file.data + section->offset : NULL;

	profile->profiles = (struct hpcdb_table){ .stride = HPCDB_PROFILE_SIZE };
	if (!p)
		return;
	/* the last one may lack what a minor version added behind its flags */
	profile->profiles = hpcdb_table_of(&profile->file, sonde_load_u64le(p),
					   sonde_load_u32le(p + 8), p[0x0c], 0x2c);
}

enum sonde_status hpcdb_profile_open(struct hpcdb_profile *profile, const char *folder,
				     struct sonde_error *err)
{
	enum sonde_status status;

	*profile = (struct hpcdb_profile){ 0 };
	status = hpcdb_file_open(&profile->file, folder, HPCDB_PROFILE_FILE, err);
	if (status == SONDE_OK)
		read_infos(profile);
	return status;
}

enum sonde_status hpcdb_profile_of(struct hpcdb_profile *profile, const void *data, size_t size,
				   const char *path, struct sonde_error *err)
{
	enum sonde_status status;

	*profile = (struct hpcdb_profile){ 0 };
	status = hpcdb_file_of(&profile->file, data, size, path, HPCDB_PROFILE_FILE, err);
	if (status == SONDE_OK)
		read_infos(profile);
	return status;
}

void hpcdb_profile_release(struct hpcdb_profile *profile)
{
	hpcdb_file_release(&profile->file);
}

static struct hpcdb_plane read_plane(const struct hpcdb_file *file, const uint8_t *p)
{
	struct hpcdb_plane plane = {
		.stated_values = sonde_load_u64le(p),
		.values_offset = sonde_load_u64le(p + 8),
		.stated_contexts = sonde_load_u32le(p + 0x10),
		.indices_offset = sonde_load_u64le(p + 0x18),
	};

	plane.is_whole = !plane.stated_values && !plane.stated_contexts;
	if (plane.is_whole || plane.stated_values > file->size)
		return plane;
	plane.values =
		hpcdb_at(file, plane.values_offset, plane.stated_values * HPCDB_PROFILE_VALUE_SIZE);
	plane.indices = hpcdb_at(file, plane.indices_offset,
				 plane.stated_contexts * HPCDB_PROFILE_INDEX_SIZE);
	plane.is_whole = plane.values && plane.indices;
	if (plane.is_whole) {
		plane.value_count = plane.stated_values;
		plane.context_count = (uint32_t)plane.stated_contexts;
	}
	return plane;
}

struct hpcdb_profile_info hpcdb_profile_at(const struct hpcdb_profile *profile, uint32_t number)
{
	const uint8_t *p = hpcdb_table_at(&profile->file, &profile->profiles, number);
	struct hpcdb_profile_info info = {
		.plane = read_plane(&profile->file, p),
		.id_tuple = sonde_load_u64le(p + 0x20),
		.flags = sonde_load_u32le(p + 0x28),
	};

	info.is_summary = info.flags & HPCDB_PROFILE_IS_SUMMARY;
	return info;
}

bool hpcdb_profile_identities(const struct hpcdb_profile *profile,
			      const struct hpcdb_profile_info *info,
			      struct sonde_identity identities[SONDE_IDENTITY_LIMIT], size_t *count)
{
	const uint8_t *p = info->id_tuple ?
				   hpcdb_at(&profile->file, info->id_tuple, HPCDB_ID_TUPLE_SIZE) :
				   NULL;
	const uint8_t *id;
	uint16_t ids;

	*count = 0;
	if (!p)
		return false;
	ids = sonde_load_u16le(p);
	id = hpcdb_at(&profile->file, info->id_tuple + HPCDB_ID_TUPLE_SIZE,
		      (uint64_t)ids * HPCDB_ID_SIZE);
	if (!id)
		return false;
	for (; *count < ids && *count < SONDE_IDENTITY_LIMIT; id += HPCDB_ID_SIZE)
		identities[(*count)++] = (struct sonde_identity){
			.kind = id[0],
			.is_physical = sonde_load_u16le(id + 2) & HPCDB_ID_PHYSICAL,
			.logical = sonde_load_u32le(id + 4),
			.physical = sonde_load_u64le(id + 8),
		};
	return true;
}

uint32_t hpcdb_plane_seek(const struct hpcdb_plane *plane, uint32_t context)
{
	uint32_t low = 0, high = plane->context_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (hpcdb_plane_context(plane, middle) < context)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool hpcdb_plane_find(const struct hpcdb_plane *plane, uint32_t context, uint16_t metric,
		      double *value)
{
	uint32_t number = hpcdb_plane_seek(plane, context);
	uint64_t low, high, end;

	if (number >= plane->context_count || hpcdb_plane_context(plane, number) != context)
		return false;
	hpcdb_plane_range(plane, number, &low, &end);
	for (high = end; low < high;) {
		uint64_t middle = low + (high - low) / 2;

		if (hpcdb_plane_metric(plane, middle) < metric)
			low = middle + 1;
		else
			high = middle;
	}
	if (low >= end || hpcdb_plane_metric(plane, low) != metric)
		return false;
	*value = hpcdb_plane_number(plane, low);
	return true;
}
