/* SPDX-License-Identifier: Apache-2.0 */
/* The facts about a recording that both outputs of `sonde info` are made of. */
#include "cli/info.h"

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "model/identity.h"
#include "model/recording.h"

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

uint64_t cli_bytes_on_disk(const char *path)
{
	struct stat status;
	char *real;

	/* A file may be given through a link, which the walk would count instead. */
	if (!stat(path, &status) && S_ISREG(status.st_mode))
		return (uint64_t)status.st_size;
	walked_bytes = 0;
	real = realpath(path, NULL);
	nftw(real ? real : path, add_size, 16, FTW_PHYS);
	free(real);
	return walked_bytes;
}

/* What cannot be read is not counted: the findings tell of it. */
static void gather_profile(struct info *info)
{
	unsigned int lanes = sonde_recording_lanes(info->recording);
	const struct sonde_context *contexts;

	info->has_events = (lanes & SONDE_LANE_EVENTS) || !(lanes & SONDE_LANE_CONTEXTS);
	if (sonde_recording_contexts(info->recording, &contexts, &info->context_count, NULL))
		info->context_count = 0;
	if ((lanes & SONDE_LANE_VALUES) &&
	    sonde_recording_value_count(info->recording, &info->value_count, NULL))
		info->value_count = 0;
}

static void add_word(struct sonde_buffer *words, const char *word)
{
	if (!*word)
		return;
	if (words->size)
		sonde_buffer_put_text(words, ", ");
	sonde_buffer_put_text(words, word);
}

bool info_metrics_next(struct info_metrics *metrics, const struct info *info)
{
	const struct sonde_definitions *definitions = info->definitions;
	const struct sonde_metric *other;
	uint32_t statistic = 0;

	while ((metrics->metric = sonde_definitions_metric(definitions, metrics->place)) &&
	       sonde_key_map_find(&metrics->seen, metrics->metric->name) != SONDE_NONE)
		metrics->place++;
	if (!metrics->metric || !sonde_key_map_add(&metrics->seen, metrics->metric->name, 0))
		return false;
	sonde_buffer_clear(&metrics->scopes);
	sonde_buffer_clear(&metrics->statistics);
	for (uint32_t i = metrics->place; (other = sonde_definitions_metric(definitions, i)); i++) {
		if (other->name != metrics->metric->name)
			continue;
		/* a statistic comes with all its scopes one after the other */
		if (!other->statistic)
			add_word(&metrics->scopes,
				 sonde_definitions_string(definitions, other->scope));
		else if (other->statistic != statistic)
			add_word(&metrics->statistics,
				 sonde_definitions_string(definitions, other->statistic));
		statistic = other->statistic;
	}
	metrics->place++;
	return true;
}

void info_metrics_release(struct info_metrics *metrics)
{
	sonde_buffer_release(&metrics->scopes);
	sonde_buffer_release(&metrics->statistics);
	sonde_key_map_release(&metrics->seen);
}

const char *info_identity(const struct info *info, uint32_t track, char space[INFO_IDENTITY_SIZE])
{
	struct sonde_identity identities[SONDE_IDENTITY_LIMIT];
	size_t count;

	if (!sonde_definitions_find_attribute(info->definitions, SONDE_OWNER_TRACK, track,
					      SONDE_IDENTITY_ATTRIBUTE) ||
	    sonde_identity_of_track(info->definitions, track, identities, &count, NULL))
		return "";
	return sonde_identity_text(identities, count, space, INFO_IDENTITY_SIZE);
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
		.bytes = cli_bytes_on_disk(recording->path),
		.resource_count = sonde_recording_blob_count(recording),
	};
	info->has_time = sonde_recording_time_range(recording, &info->first_ns, &info->last_ns);
	for (i = 0; (track = sonde_definitions_track(info->definitions, i)); i++) {
		info->detail_count += track->detail_count;
		info->dropped_count += track->dropped_events;
		info->unfinished_count += track->unfinished;
		info->sample_count += track->sample_count;
	}
	gather_profile(info);
	for (i = 0; i < info->resource_count; i++)
		info->resource_bytes += info_resource(info, i).size;
}

const char *info_state(const struct info *info)
{
	if (sonde_diagnostics_count(info->diagnostics, SONDE_ERROR))
		return "damaged";
	return info->unfinished_count ? "unfinished" : "finished";
}

/*
 * Files whose times are of the wall clock also hold those of clocks that nobody knew when they were
 * converted. Nothing was recorded before 2000; such clocks begin when a machine or a program does.
 */
static bool is_plausible(uint64_t realtime_ns)
{
	return realtime_ns >= UINT64_C(946684800) * 1000000000u;
}

bool info_realtime(const struct info *info, uint64_t time_ns, uint64_t *realtime_ns)
{
	const struct sonde_process *process = sonde_definitions_process(info->definitions, 0);
	const struct sonde_clock *clock;
	const struct sonde_anchor *anchor;
	uint32_t i;

	if (!process)
		return false;
	clock = sonde_definitions_clock(info->definitions, process->clock);
	for (i = 0; (anchor = sonde_definitions_anchor(info->definitions, i)); i++) {
		if (anchor->clock != process->clock)
			continue;
		*realtime_ns = anchor->realtime_ns + (time_ns - anchor->clock_ns);
		return is_plausible(*realtime_ns);
	}
	if (!clock || clock->kind != SONDE_CLOCK_REALTIME)
		return false;
	*realtime_ns = time_ns;
	return is_plausible(time_ns);
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
