/* SPDX-License-Identifier: Apache-2.0 */
/* The facts about a recording that both outputs of `sonde info` are made of. */
#include "cli/info.h"

#include <ftw.h>
#include <sys/stat.h>

/* nftw() hands nothing through; one walk at a time. */
static uint64_t walked_bytes;

static int add_size(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)path;
	(void)place;
	if (kind == FTW_F)
		walked_bytes += (uint64_t)status->st_size;
	return 0;
}

static uint64_t bytes_on_disk(const char *path)
{
	struct stat status;

	/* A file may be given through a link, which the walk would count instead. */
	if (!stat(path, &status) && S_ISREG(status.st_mode))
		return (uint64_t)status.st_size;
	walked_bytes = 0;
	nftw(path, add_size, 16, FTW_PHYS);
	return walked_bytes;
}

struct sonde_blob info_resource(const struct info *info, uint32_t number)
{
	struct sonde_blob blob = { 0 };

	if (sonde_recording_blob(info->recording, number, &blob, NULL))
		blob = (struct sonde_blob){ 0 };
	return blob;
}

void info_gather(struct info *info, struct sonde_recording *recording)
{
	const struct sonde_track *track;
	uint32_t i;

	*info = (struct info){
		.recording = recording,
		.definitions = sonde_recording_definitions(recording),
		.diagnostics = sonde_recording_diagnostics(recording),
		.event_count = sonde_recording_event_count(recording),
		.bytes = bytes_on_disk(sonde_recording_path(recording)),
		.resource_count = sonde_recording_blob_count(recording),
	};
	info->has_time = sonde_recording_time_range(recording, &info->first_ns, &info->last_ns);
	for (i = 0; (track = sonde_definitions_track(info->definitions, i)); i++) {
		info->detail_count += track->detail_count;
		info->dropped_count += track->dropped_events;
		info->unfinished_count += track->unfinished;
	}
	for (i = 0; i < info->resource_count; i++)
		info->resource_bytes += info_resource(info, i).size;
}

const char *info_state(const struct info *info)
{
	if (sonde_diagnostics_count(info->diagnostics, SONDE_ERROR))
		return "damaged";
	return info->unfinished_count ? "unfinished" : "finished";
}

bool info_realtime(const struct info *info, uint64_t time_ns, uint64_t *realtime_ns)
{
	const struct sonde_process *process = sonde_definitions_process(info->definitions, 0);
	const struct sonde_anchor *anchor;
	uint32_t i;

	if (!process)
		return false;
	for (i = 0; (anchor = sonde_definitions_anchor(info->definitions, i)); i++) {
		if (anchor->clock != process->clock)
			continue;
		*realtime_ns = anchor->realtime_ns + (time_ns - anchor->clock_ns);
		return true;
	}
	return false;
}

const char *info_track_kind_name(enum sonde_track_kind kind)
{
	static const char *const names[] = {
		[SONDE_TRACK_THREAD] = "thread",
		[SONDE_TRACK_GPU_STREAM] = "stream",
		[SONDE_TRACK_ZONE] = "zone",
	};

	return names[kind];
}

const char *info_owner_name(enum sonde_owner owner)
{
	static const char *const names[] = {
		[SONDE_OWNER_RECORDING] = "recording", [SONDE_OWNER_PROCESS] = "process",
		[SONDE_OWNER_TRACK] = "track",	       [SONDE_OWNER_MODULE] = "module",
		[SONDE_OWNER_FUNCTION] = "function",
	};

	return names[owner];
}
