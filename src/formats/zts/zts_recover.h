/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery of one part: its data, its texts, then its metadata made anew. */
#ifndef SONDE_FORMATS_ZTS_RECOVER_H
#define SONDE_FORMATS_ZTS_RECOVER_H

#include "formats/zts/zts_rebuild.h"

/* Where a chunk was, and where it is now. */
struct zts_moved_chunk {
	uint64_t from, to;
};

struct zts_part_recovery {
	const char *from, *to; /* folders */
	bool has_names;
	struct zts_chunks chunks;
	struct zts_texts *texts;
	struct sonde_codec_state codec;
	struct sonde_output data;
	SONDE_VEC(struct zts_moved_chunk) moved; /* ascending */
	SONDE_VEC(uint32_t) missing;		 /* text ids that traces need, in any order */
	uint64_t dropped;			 /* bytes that are not in the output */
	uint64_t traces;
};

/* Every good chunk into a new traces.dat. */
enum sonde_status zts_recover_data(struct zts_part_recovery *part, struct sonde_error *err);
/* Every text under its id, and "#id" in place of those that are lost. */
enum sonde_status zts_recover_texts(struct zts_part_recovery *part, struct sonde_error *err);

/* Entries of a WAL into files of less than 4 MiB: begin with a zeroed one whose fd is -1. */
struct zts_wal_files {
	const char *folder, *prefix;
	struct sonde_output output;
	struct sonde_buffer entry;
	uint32_t next_id; /* that belongs into the open file; 0: none is open */
};
enum sonde_status zts_wal_files_put(struct zts_wal_files *files, uint32_t id, const void *text,
				    size_t size, struct sonde_error *err);
enum sonde_status zts_wal_files_end(struct zts_wal_files *files, struct sonde_error *err);
void zts_wal_files_release(struct zts_wal_files *files);

#endif
