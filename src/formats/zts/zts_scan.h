/* SPDX-License-Identifier: Apache-2.0 */
/* The pass over all traces of a store when it is opened: ranges of slots, each on its own. */
#ifndef SONDE_FORMATS_ZTS_SCAN_H
#define SONDE_FORMATS_ZTS_SCAN_H

#include "formats/zts/zts_read.h"

/* Where a trace belongs: numbers of its part. */
struct zts_group_key {
	uint32_t service; /* text id, where there is no app */
	uint16_t app, env, host;
};

/* What one range of slots has; in the order in which it was met. */
struct zts_range {
	uint16_t part;
	size_t first, count; /* of the slots of the part, or of those wanted */
	SONDE_VEC(struct zts_piece) pieces;
	SONDE_VEC(uint32_t) piece_groups; /* of each piece: position in `groups` */
	SONDE_VEC(struct zts_group_key) groups;
	SONDE_VEC(uint64_t) methods; /* group << 32 | text id, each once */
	struct sonde_key_map known;
	struct sonde_diagnostics *findings;
};

struct zts_scan {
	struct zts_recording *data;
	struct sonde_recording *recording;
	const struct zts_slot_ref *refs; /* sorted by position of the part; NULL: all slots */
	struct zts_slot_ref *own_refs;
	SONDE_VEC(struct zts_range) ranges;
};

enum sonde_status zts_scan_run(struct zts_scan *scan, const struct zts_slot_ref *refs, size_t count,
			       struct sonde_error *err);
void zts_scan_release(struct zts_scan *scan);

/*
 * zts_define.c: what the pass found as definitions of the recording (processes, functions, event
 * types and tracks); lays the pieces out.
 */
enum sonde_status zts_define(struct zts_scan *scan, struct sonde_error *err);

#endif
