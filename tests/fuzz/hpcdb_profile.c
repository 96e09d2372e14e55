/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target over profile.db: every run of values is within its plane, and what is in order is found. */
#include "formats/hpcdb/hpcdb_profile.h"
#include "require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each value is found by its context and metric, where all of them are in order. */
static void use_plane(const struct hpcdb_plane *plane)
{
	uint64_t first, end, reached = 0;
	bool is_ordered = true;
	double value;

	for (uint32_t i = 0; i < plane->context_count && i < 100; i++) {
		uint32_t context = hpcdb_plane_context(plane, i);

		is_ordered &= !i || hpcdb_plane_context(plane, i - 1) < context;
		hpcdb_plane_range(plane, i, &first, &end);
		REQUIRE(first <= end && end <= plane->value_count);
		is_ordered &= first == reached;
		reached = end;
		for (uint64_t j = first; j < end && j < first + 50; j++) {
			uint16_t metric = hpcdb_plane_metric(plane, j);

			is_ordered &= j == first || hpcdb_plane_metric(plane, j - 1) < metric;
			if (is_ordered && plane->context_count <= 100 && end - first <= 50 &&
			    hpcdb_plane_find(plane, context, metric, &value))
				REQUIRE(value == value || value != hpcdb_plane_number(plane, j));
		}
	}
	hpcdb_plane_find(plane, 7, 3, &value);
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
