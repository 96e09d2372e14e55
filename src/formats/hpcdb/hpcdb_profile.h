/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile.db: which profiles there are, who they are of, and their planes. A plane is the values of one
 * profile by context and metric: one run of bytes, in which one value is found by binary search. All
 * of it is read from the mapped file when asked for; safe from several threads.
 */
#ifndef SONDE_HPCDB_PROFILE_H
#define SONDE_HPCDB_PROFILE_H

#include "formats/hpcdb/hpcdb_file.h"
#include "formats/hpcdb/hpcdb_put.h"
#include "model/identity.h"

/* Two arrays; NULL and 0 where they are not within the file (`is_whole` false) or empty. */
struct hpcdb_plane {
	const uint8_t *values;
	const uint8_t *indices;
	uint64_t value_count;
	uint32_t context_count;
	bool is_whole;
	uint64_t values_offset, indices_offset; /* as stated, like the counts */
	uint64_t stated_values, stated_contexts;
};

struct hpcdb_profile_info {
	struct hpcdb_plane plane;
	uint64_t id_tuple; /* pointer; 0: none */
	uint32_t flags;
	bool is_summary;
};

struct hpcdb_profile {
	struct hpcdb_file file;
	struct hpcdb_table profiles;
};

enum sonde_status hpcdb_profile_open(struct hpcdb_profile *profile, const char *folder,
				     struct sonde_error *err);
enum sonde_status hpcdb_profile_of(struct hpcdb_profile *profile, const void *data, size_t size,
				   const char *path, struct sonde_error *err);
void hpcdb_profile_release(struct hpcdb_profile *profile);

static inline uint32_t hpcdb_profile_count(const struct hpcdb_profile *profile)
{
	return (uint32_t)profile->profiles.count;
}

/* One that exists. */
struct hpcdb_profile_info hpcdb_profile_at(const struct hpcdb_profile *profile, uint32_t number);

/* Its identities, at most SONDE_IDENTITY_LIMIT; false where the pointer leads to none. */
bool hpcdb_profile_identities(const struct hpcdb_profile *profile,
			      const struct hpcdb_profile_info *info,
			      struct sonde_identity identities[SONDE_IDENTITY_LIMIT],
			      size_t *count);

static inline uint32_t hpcdb_plane_context(const struct hpcdb_plane *plane, uint32_t number)
{
	return sonde_load_u32le(plane->indices + (size_t)number * HPCDB_PROFILE_INDEX_SIZE);
}

static inline uint64_t hpcdb_plane_start(const struct hpcdb_plane *plane, uint32_t number)
{
	return sonde_load_u64le(plane->indices + (size_t)number * HPCDB_PROFILE_INDEX_SIZE + 4);
}

/* The values of the context with this number: from *first to before *end, never beyond the plane. */
static inline void hpcdb_plane_range(const struct hpcdb_plane *plane, uint32_t number,
				     uint64_t *first, uint64_t *end)
{
	*first = hpcdb_plane_start(plane, number);
	*end = number + 1 < plane->context_count ? hpcdb_plane_start(plane, number + 1) :
						   plane->value_count;
	if (*end > plane->value_count)
		*end = plane->value_count;
	if (*first > *end)
		*first = *end;
}

static inline uint16_t hpcdb_plane_metric(const struct hpcdb_plane *plane, uint64_t value)
{
	return sonde_load_u16le(plane->values + value * HPCDB_PROFILE_VALUE_SIZE);
}

static inline double hpcdb_plane_number(const struct hpcdb_plane *plane, uint64_t value)
{
	return hpcdb_load_double(plane->values + value * HPCDB_PROFILE_VALUE_SIZE + 2);
}

/* The first index whose context is not before `context`; context_count where there is none. */
uint32_t hpcdb_plane_seek(const struct hpcdb_plane *plane, uint32_t context);

/* One value by binary search; false where there is none. */
bool hpcdb_plane_find(const struct hpcdb_plane *plane, uint32_t context, uint16_t metric,
		      double *value);

#endif
