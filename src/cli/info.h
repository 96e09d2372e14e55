/* SPDX-License-Identifier: Apache-2.0 */
/* What `sonde info` shows of one recording, for people and for programs. */
#ifndef SONDE_CLI_INFO_H
#define SONDE_CLI_INFO_H

#include <sonde/recording.h>

#include "base/json.h"
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
	uint32_t unfinished_count;
	uint64_t bytes; /* on disk */
	uint32_t resource_count;
	uint64_t resource_bytes;
};

void info_gather(struct info *info, struct sonde_recording *recording);

/* "damaged", "unfinished" or "finished". */
const char *info_state(const struct info *info);

/* The wall-clock time of a moment, by the anchors of the first process; false without any. */
bool info_realtime(const struct info *info, uint64_t time_ns, uint64_t *realtime_ns);

/* A resource; one that cannot be read is empty and has no name. */
struct sonde_blob info_resource(const struct info *info, uint32_t number);

/* "thread", "zone" and so on. */
const char *info_track_kind_name(enum sonde_track_kind kind);

/* "process", "track" and so on. */
const char *info_owner_name(enum sonde_owner owner);

#endif
