/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks and identities of tracks, as far as measurements can hold them. */
#include "formats/hpcrun/hpcrun_sink.h"

bool hpcrun_sink_shift(const struct sonde_definitions *definitions, uint32_t process,
		       uint64_t *shift_ns)
{
	const struct sonde_process *definition = sonde_definitions_process(definitions, process);
	uint32_t clock = definition ? definition->clock : SONDE_NONE;
	const struct sonde_clock *kind = sonde_definitions_clock(definitions, clock);

	*shift_ns = 0;
	if (!kind || kind->kind == SONDE_CLOCK_REALTIME)
		return true;
	for (uint32_t i = 0; i < sonde_definitions_anchor_count(definitions); i++) {
		const struct sonde_anchor *anchor = sonde_definitions_anchor(definitions, i);

		if (anchor->clock != clock)
			continue;
		*shift_ns = anchor->realtime_ns - anchor->clock_ns;
		return true;
	}
	return false;
}

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
