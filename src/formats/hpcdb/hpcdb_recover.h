/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a recovery share: the old database, and the new one in its folder. */
#ifndef SONDE_HPCDB_RECOVER_H
#define SONDE_HPCDB_RECOVER_H

#include <sonde/format.h>

#include "formats/hpcdb/hpcdb_check.h"

struct hpcdb_recovery {
	struct hpcdb_check source; /* its findings go nowhere: they were reported before */
	const char *folder;	   /* of the new database */
	struct sonde_recover_result *result;
	struct sonde_diagnostics *report; /* what the user sees */
	bool has_bad_statistics;
	uint32_t profiles; /* in the new profile.db */
	bool *has_line;	   /* [profile]: in the new trace.db */
};

/* Both from what is whole of either; profile.db is written first. */
enum sonde_status hpcdb_recover_values(struct hpcdb_recovery *recovery, struct sonde_error *err);

/* Writes a buffer and empties it. */
enum sonde_status hpcdb_flush(struct sonde_output *output, struct sonde_buffer *buffer,
			      struct sonde_error *err);

/* Opens "<folder>/<name of the kind>" and puts the start of a header into `buffer`. */
enum sonde_status hpcdb_begin_file(struct hpcdb_recovery *recovery, enum hpcdb_file_kind kind,
				   struct sonde_output *output, struct sonde_buffer *buffer,
				   struct sonde_error *err);

/* One plane, or one block, for itself: whole and in order. */
bool hpcdb_plane_is_good(struct hpcdb_check *check, uint32_t profile);
bool hpcdb_block_is_good(struct hpcdb_check *check, uint32_t context);

#endif
