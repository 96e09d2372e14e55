/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for a profile of any generation, whatever its bytes are. */
#ifndef SONDE_FUZZ_HPCRUN_DECODING_H
#define SONDE_FUZZ_HPCRUN_DECODING_H

#include <math.h>

#include "formats/hpcrun/hpcrun_recover.h"
#include "formats/hpcrun/hpcrun_write.h"
#include "require.h"

static inline void require_whole(const struct hpcrun_profile *profile)
{
	for (size_t i = 0; i < profile->nodes.count; i++)
		REQUIRE(profile->nodes.items[i].parent == UINT32_MAX ||
			profile->nodes.items[i].parent < i);
	for (size_t i = 0; i < profile->values.count; i++) {
		const struct hpcrun_value *value = &profile->values.items[i];

		REQUIRE(value->node < profile->nodes.count);
		REQUIRE(value->metric < profile->metrics.count);
		REQUIRE(isfinite(value->value) && value->value != 0);
	}
	REQUIRE(profile->identity_count <= SONDE_IDENTITY_LIMIT);
}

/* What is left of it, written, is read without a fault. */
static inline void require_mended(struct hpcrun_profile *profile, bool as_old)
{
	struct hpcrun_profile back = { 0 };
	struct sonde_buffer bytes = { 0 };
	struct sonde_error err = { 0 };
	enum sonde_status status;
	uint32_t unused;

	REQUIRE(hpcrun_profile_mend(profile, &unused, &err) == SONDE_OK);
	status = as_old ? hpcrun_encode_02(profile, &bytes, &err) :
			  hpcrun_encode_04(profile, &bytes, &err);
	if (status == SONDE_LIMIT)
		return;
	REQUIRE(status == SONDE_OK);
	status = hpcrun_profile_decode(&back, bytes.data, bytes.size, 0, NULL, NULL, &err);
	if (status)
		fprintf(stderr, "%s\n", err.message);
	REQUIRE(status == SONDE_OK);
	require_whole(&back);
	REQUIRE(back.nodes.count == profile->nodes.count);
	REQUIRE(back.pairs.count == profile->pairs.count || as_old);
	REQUIRE(as_old || back.values.count == profile->values.count);
	hpcrun_profile_release(&back);
	sonde_buffer_release(&bytes);
}

/* Magic and version are given, so that the bytes are all about the rest. */
static inline void try_profile(const char *magic, const uint8_t *data, size_t size)
{
	struct sonde_diagnostics *found = sonde_diagnostics_new();
	struct hpcrun_profile profile = { 0 };
	struct sonde_buffer bytes = { 0 };
	struct sonde_error err = { 0 };
	uint32_t epochs;

	sonde_buffer_put(&bytes, data, size);
	if (size >= strlen(magic))
		memcpy(bytes.data, magic, strlen(magic));
	/* strict and lenient, with the same memory; twice, since what it leaves must not matter */
	for (int i = 0; i < 2; i++) {
		enum sonde_status status = hpcrun_profile_decode(&profile, bytes.data, bytes.size,
								 0, &epochs, NULL, &err);

		REQUIRE(!status || (err.status == status && !profile.nodes.count));
		require_whole(&profile);
		status = hpcrun_profile_decode(&profile, bytes.data, bytes.size, 0, &epochs, found,
					       &err);
		require_whole(&profile);
	}
	require_mended(&profile, false);
	require_mended(&profile, true);
	if (epochs > 1)
		hpcrun_profile_decode(&profile, bytes.data, bytes.size, epochs - 1, NULL, found,
				      &err);
	require_whole(&profile);
	hpcrun_profile_release(&profile);
	sonde_buffer_release(&bytes);
	sonde_diagnostics_free(found);
}

#endif
