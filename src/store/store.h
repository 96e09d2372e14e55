/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace store that is written: a base folder with numbered parts, one writer at a time. Turns
 * over to a new part by size and age, removes old ones, packs finished ones in the background.
 */
#ifndef SONDE_STORE_STORE_H
#define SONDE_STORE_STORE_H

#include "formats/zts/zts_writer.h"

/*
 * Kept in <base>/store.props with the keys in brackets; 0 or "" in a set call leaves a value as it
 * is.
 */
struct sonde_store_settings {
	enum sonde_codec codec; /* [sonde.codec] none, zlib, lz4 */
	uint64_t part_size;	/* [store.rotate.max-size, MB] */
	uint64_t part_age_s;	/* [sonde.rotate.max-age, s]; 0: no limit */
	uint64_t keep_parts;	/* [store.rotate.max-num] */
	uint64_t keep_bytes;	/* [sonde.retain.max-size]; 0: no limit */
	uint64_t keep_age_s;	/* [sonde.retain.max-age]; 0: no limit */
	/* [sonde.memory]: bytes for texts of the current part; a new part begins beyond */
	uint64_t memory;
	/* [ingest.min.duration, ms]: shorter traces are counted, not kept; 0: all */
	uint64_t min_duration_ns;
	bool archive; /* [sonde.archive]: pack parts when they are finished */
};

void sonde_store_settings_init(struct sonde_store_settings *settings); /* the defaults */

/* Makes an empty store. SONDE_ARGUMENT where there is something already. */
enum sonde_status sonde_store_init(const char *base, const struct sonde_store_settings *settings,
				   struct sonde_error *err);
enum sonde_status sonde_store_settings_read(const char *base, struct sonde_store_settings *settings,
					    struct sonde_error *err);

struct sonde_store;

/*
 * Opens for writing and takes the lock (<base>/sonde.lock); SONDE_LIMIT where another process has
 * it, with its pid in the message. A base folder without parts is fine. What a killed writer left
 * is mended.
 */
enum sonde_status sonde_store_open(const char *base, struct sonde_store **store,
				   struct sonde_diagnostics *diagnostics, struct sonde_error *err);
/* Syncs, waits for the background, unlocks, frees in any case. */
enum sonde_status sonde_store_close(struct sonde_store *store, struct sonde_error *err);

/*
 * Ingest, from any thread: begin gives the writer of the current part (a new one where it is time),
 * which is the caller's until end; ids of texts are valid until then only. A trace not ended is
 * abandoned. Where zts_writer_end_trace() says SONDE_LIMIT, end, begin again (a new part) and put
 * the same trace in anew.
 */
enum sonde_status sonde_store_begin(struct sonde_store *store, struct zts_writer **writer,
				    struct sonde_error *err);
/* *ticket: what to wait for. */
void sonde_store_end(struct sonde_store *store, uint64_t *ticket);
/*
 * Returns when all up to the ticket is on the disk: many waiters share one sync (group commit). A
 * failure says that it is not certain: traces may be there all the same where the disk failed at
 * the very end.
 */
enum sonde_status sonde_store_wait(struct sonde_store *store, uint64_t ticket,
				   struct sonde_error *err);

/* Finishes the current part now. */
enum sonde_status sonde_store_rotate(struct sonde_store *store, struct sonde_error *err);
/* Packs all finished parts now; *packed counts them. */
enum sonde_status sonde_store_archive(struct sonde_store *store, uint32_t *packed,
				      struct sonde_error *err);
/* Removes what is beyond the limits; *removed counts parts. */
enum sonde_status sonde_store_retain(struct sonde_store *store, uint32_t *removed,
				     struct sonde_error *err);

struct sonde_store_counters {
	uint64_t traces, records, data_bytes, short_traces; /* since it was opened */
	uint64_t parts_begun, parts_packed, parts_removed;
	uint64_t syncs;
	uint64_t failures; /* of the background; the last one's message below */
	char last_failure[256];
};
void sonde_store_counters(struct sonde_store *store, struct sonde_store_counters *counters);

#endif
