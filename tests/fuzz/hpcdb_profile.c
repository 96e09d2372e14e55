/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target over profile.db: every run of values is within its plane, and what is in order is found. */
#include <math.h>

#include "formats/hpcdb/hpcdb_profile.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CONTEXTS 100
#define VALUES 50

/* Whether a small plane is in order, as lookups need it. */
static bool is_ordered(const struct hpcdb_plane *plane)
{
	uint64_t first, end, reached = 0;

	for (uint32_t i = 0; i < plane->context_count; i++) {
		hpcdb_plane_range(plane, i, &first, &end);
		REQUIRE(first <= end && end <= plane->value_count);
		if (i >= CONTEXTS || end - first > VALUES || first != reached ||
		    (i && hpcdb_plane_context(plane, i - 1) >= hpcdb_plane_context(plane, i)))
			return false;
		for (uint64_t j = first + 1; j < end; j++) {
			if (hpcdb_plane_metric(plane, j - 1) >= hpcdb_plane_metric(plane, j))
				return false;
		}
		reached = end;
	}
	return true;
}

/* Each value is found by its context and metric, where all of them are in order. */
static void use_plane(const struct hpcdb_plane *plane)
{
	uint64_t first, end;
	double value, number;

	hpcdb_plane_find(plane, 7, 3, &value);
	if (!is_ordered(plane))
		return;
	for (uint32_t i = 0; i < plane->context_count; i++) {
		hpcdb_plane_range(plane, i, &first, &end);
		for (; first < end; first++) {
			REQUIRE(hpcdb_plane_find(plane, hpcdb_plane_context(plane, i),
						 hpcdb_plane_metric(plane, first), &value));
			number = hpcdb_plane_number(plane, first);
			REQUIRE(value == number || (isnan(value) && isnan(number)));
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sonde_identity identities[SONDE_IDENTITY_LIMIT];
	struct hpcdb_profile profile;
	size_t count;

	if (size > 1 << 20 || hpcdb_profile_of(&profile, data, size, "profile.db", NULL))
		return 0;
	for (uint32_t i = 0; i < hpcdb_profile_count(&profile) && i < 200; i++) {
		struct hpcdb_profile_info info = hpcdb_profile_at(&profile, i);

		hpcdb_profile_identities(&profile, &info, identities, &count);
		REQUIRE(count <= SONDE_IDENTITY_LIMIT);
		use_plane(&info.plane);
	}
	hpcdb_profile_release(&profile);
	return 0;
}
