/* SPDX-License-Identifier: Apache-2.0 */
/* What `sonde info` shows of one recording, for people and for programs. */
#ifndef SONDE_CLI_INFO_H
#define SONDE_CLI_INFO_H

#include <sonde/profile.h>

#include "base/json.h"
#include "base/map.h"
#include "cli/cli.h"

void cli_put_info(struct cli *cli, struct sonde_recording *recording);
void cli_put_info_json(struct cli *cli, struct sonde_recording *recording,
		       struct sonde_json_writer *json);

/* What both are made of. */
struct info {
	struct sonde_recording *recording;
	const struct sonde_definitions *definitions;
	const struct sonde_diagnostics *diagnostics;
	bool has_time;
	uint64_t first_ns, last_ns;
	uint64_t event_count, detail_count, dropped_count;
	uint64_t sample_count;
	uint64_t value_count; /* of the tracks */
	uint32_t context_count;
	bool has_events; /* or may have: it is no mere profile */
	uint32_t unfinished_count;
	uint64_t bytes; /* on disk */
	uint32_t resource_count;
	uint64_t resource_bytes;
};

void info_gather(struct info *info, struct sonde_recording *recording);

/* Metrics by name: each name comes once, with words with commas for its scopes and statistics. */
struct info_metrics {
	const struct sonde_metric *metric;
	struct sonde_buffer scopes, statistics;
	uint32_t place;		   /* where the search goes on */
	struct sonde_key_map seen; /* names */
};
/* From a zeroed struct on; false past the last. */
bool info_metrics_next(struct info_metrics *metrics, const struct info *info);
void info_metrics_release(struct info_metrics *metrics);

/* Who a track is, "NODE 0x1 RANK 3": the last part of `space`. "" where the recording does not say. */
#define INFO_IDENTITY_SIZE 256
const char *info_identity(const struct info *info, uint32_t track, char space[INFO_IDENTITY_SIZE]);

/* "damaged", "unfinished" or "finished". */
const char *info_state(const struct info *info);

/*
 * The wall-clock time of a moment, by clock and anchors of the first process; false without any, and
 * where that cannot be.
 */
bool info_realtime(const struct info *info, uint64_t time_ns, uint64_t *realtime_ns);

/* The hottest path, where there is one: see info_path.c. */
void info_put_path(struct cli *cli, const struct info *info);
void info_put_path_json(const struct info *info, struct sonde_json_writer *json);

/* A resource; one that cannot be read is empty and has no name. */
struct sonde_blob info_resource(const struct info *info, uint32_t number);

/* "thread", "zone" and so on. */
const char *info_track_kind_name(enum sonde_track_kind kind);

/* "process", "track" and so on. */
const char *info_owner_name(enum sonde_owner owner);

/* Of a file, or of all files in a folder; not from several threads. */
uint64_t cli_bytes_on_disk(const char *path);

#endif
