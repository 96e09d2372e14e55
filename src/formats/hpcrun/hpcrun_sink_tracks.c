/* SPDX-License-Identifier: Apache-2.0 */
/* Identities of tracks, as far as measurements can hold them. */
#include "formats/hpcrun/hpcrun_sink.h"

enum sonde_status hpcrun_sink_count_identities(const struct sonde_definitions *definitions,
					       struct sonde_loss *loss, struct sonde_error *err)
{
	struct sonde_identity identities[SONDE_IDENTITY_LIMIT];
	enum sonde_status status = SONDE_OK;
	uint64_t lost = 0;
	size_t count;

	for (uint32_t i = 0; i < sonde_definitions_track_count(definitions) && !status; i++) {
		bool more = false;

		status = sonde_identity_of_track(definitions, i, identities, &count, err);
		for (size_t k = 0; k < count && !status; k++)
			more = more || (identities[k].kind != SONDE_IDENTITY_NODE &&
					identities[k].kind != SONDE_IDENTITY_RANK &&
					identities[k].kind != SONDE_IDENTITY_THREAD);
		lost += more;
	}
	if (status)
		return status;
	return sonde_loss_add(loss, "identities of tracks",
			      "hpcrun 02.00l holds node, rank and thread only", lost, err);
}
