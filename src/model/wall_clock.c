/* SPDX-License-Identifier: Apache-2.0 */
/* The first anchor of a track's clock says how far it is from the wall clock. */
#include "model/wall_clock.h"

bool sonde_wall_clock_shift(const struct sonde_definitions *definitions, uint32_t track,
			    uint64_t *shift_ns)
{
	const struct sonde_track *definition = sonde_definitions_track(definitions, track);
	const struct sonde_process *process =
		definition ? sonde_definitions_process(definitions, definition->process) : NULL;
	uint32_t anchors = sonde_definitions_anchor_count(definitions);
	const struct sonde_clock *clock;

	*shift_ns = 0;
	if (!process)
		return true;
	for (uint32_t i = 0; i < anchors; i++) {
		const struct sonde_anchor *anchor = sonde_definitions_anchor(definitions, i);

		if (anchor->clock != process->clock)
			continue;
		*shift_ns = anchor->realtime_ns - anchor->clock_ns;
		return true;
	}
	clock = sonde_definitions_clock(definitions, process->clock);
	return !clock || clock->kind == SONDE_CLOCK_REALTIME;
}
