/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a file of this family as a recording: header, then the pass over its events, then the
 * definitions of the model that both lead to.
 */
#include "formats/cff/cff_read.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "formats/cff/cff_cache.h"
#include "formats/cff/cff_index.h"
#include "formats/cff/cff_ours.h"

void cff_recording_release(struct cff_recording *data)
{
	cff_scan_release(&data->scan);
	cff_header_release(&data->header);
	cff_image_release(&data->image);
}

static void cff_close(struct sonde_recording *recording)
{
	cff_recording_release(recording->data);
	free(recording->data);
	recording->data = NULL;
}

static enum sonde_status cff_blob(struct sonde_recording *recording, uint32_t number,
				  struct sonde_blob *blob, struct sonde_error *err)
{
	const struct cff_recording *data = recording->data;
	const struct cff_blob *place = &data->scan.blobs.items[number];
	struct cff_part part =
		cff_chunk_part(&data->image, &data->image.chunks.items[place->chunk], place->part);

	(void)err;
	*blob = (struct sonde_blob){
		.name = data->scan.ours && number < data->scan.ours->blob_names.count ?
				data->scan.ours->blob_names.items[number] :
				0,
		.is_text = part.type == CFF_PART_STRING_RESOURCE,
		.bytes = part.data,
		.size = part.size,
	};
	return SONDE_OK;
}

static const struct sonde_recording_ops cff_recording_ops = {
	.cursor_open = cff_cursor_open,
	.blob = cff_blob,
	.close = cff_close,
};

bool cff_recording_is_cff(const struct sonde_recording *recording)
{
	return recording->ops == &cff_recording_ops;
}

const struct cff_image *cff_recording_image(const struct sonde_recording *recording)
{
	return &((const struct cff_recording *)recording->data)->image;
}

static enum sonde_status add_text_attribute(struct sonde_definitions *definitions, uint32_t track,
					    const char *name, const char *text,
					    struct sonde_error *err)
{
	struct sonde_attribute attribute = { .owner = SONDE_OWNER_TRACK, .owner_id = track };
	struct sonde_buffer value = { 0 };
	struct sonde_json_writer json;
	enum sonde_status status;
	uint32_t id;

	if (!*text)
		return SONDE_OK;
	sonde_json_writer_init(&json, &value, false);
	sonde_json_string(&json, text);
	status = value.failed ? sonde_fail_nomem(err) : SONDE_OK;
	if (status == SONDE_OK)
		status = sonde_definitions_add_string(definitions, name, strlen(name),
						      &attribute.name, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_string(definitions, value.data, value.size,
						      &attribute.value, err);
	if (status == SONDE_OK)
		status = sonde_definitions_add_attribute(definitions, &attribute, &id, err);
	sonde_buffer_release(&value);
	return status;
}

static enum sonde_status add_track(struct sonde_definitions *definitions, uint32_t number,
				   const struct cff_zone *zone, struct sonde_error *err)
{
	struct sonde_track track = {
		.slot = number,
		.os_id = UINT64_MAX,
		.kind = SONDE_TRACK_ZONE,
		.event_count = zone->count,
		.time_first_ns = zone->first_ns,
		.time_last_ns = zone->last_ns,
		.detail_count = zone->details,
	};
	uint32_t id;
	enum sonde_status status = sonde_definitions_add_string(
		definitions, zone->name, strlen(zone->name), &track.name, err);

	if (status == SONDE_OK)
		status = sonde_definitions_add_track(definitions, &track, &id, err);
	if (status == SONDE_OK)
		status = add_text_attribute(definitions, id, "zone_type", zone->type, err);
	if (status == SONDE_OK)
		status = add_text_attribute(definitions, id, "zone_location", zone->location, err);
	return status;
}

/* A track that our definitions have; it may have no zone. */
static enum sonde_status add_our_track(struct sonde_definitions *definitions,
				       const struct cff_ours_track *ours, struct cff_zone *zone,
				       struct sonde_error *err)
{
	struct sonde_track track = ours->track;
	uint32_t id;

	if (zone) {
		track.event_count = zone->count;
		track.detail_count = zone->details;
		track.time_first_ns = zone->first_ns;
		track.time_last_ns = zone->last_ns;
		zone->synthetic_head = ours->synthetic_head;
		zone->synthetic_tail = ours->synthetic_tail < zone->count ? ours->synthetic_tail :
									    zone->count;
	}
	return sonde_definitions_add_track(definitions, &track, &id, err);
}

static enum sonde_status add_tracks(struct sonde_recording *recording, struct sonde_error *err)
{
	struct cff_recording *data = recording->data;
	const struct cff_ours *ours = data->scan.ours;
	size_t count = data->scan.zones.count, known = ours ? ours->tracks.count : 0;
	enum sonde_status status = SONDE_OK;
	uint64_t details = 0;

	for (size_t i = 0; (i < count || i < known) && status == SONDE_OK; i++) {
		struct cff_zone *zone = i < count ? data->scan.zones.items[i] : NULL;

		if (i < known)
			status = add_our_track(recording->definitions, &ours->tracks.items[i], zone,
					       err);
		else
			status = add_track(recording->definitions, (uint32_t)i, zone, err);
		details += zone ? zone->details : 0;
	}
	recording->blob_count = (uint32_t)data->scan.blobs.count;
	recording->lanes = SONDE_LANE_EVENTS;
	recording->details_by_event = true;
	if (details)
		recording->lanes |= SONDE_LANE_DETAILS;
	if (recording->blob_count)
		recording->lanes |= SONDE_LANE_BLOBS;
	return status;
}

/* The pass over all events, or what the cache has of an earlier one. */
static enum sonde_status scan_events(struct cff_recording *data, struct sonde_error *err)
{
	struct cff_cache cache = { .is_on = false };
	enum cff_cached cached = CFF_CACHED_NOT;
	enum sonde_status status = SONDE_OK;

	if (data->uses_cache) {
		cff_cache_begin(&cache, &data->image);
		status = cff_cache_use(&cache, &data->scan, &cached, err);
	}
	sonde_mapped_file_read_ahead(&data->image.file, true);
	data->is_cache_wrong = cached == CFF_CACHED_WRONG;
	if (data->is_cache_wrong && status == SONDE_OK)
		status = sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
				    "the entry of this file in the cache is wrong");
	if (status < 0 || cached == CFF_CACHED_USED)
		return status;
	data->scan.keeps_actions = cache.is_on;
	status = cff_scan_run(&data->scan, err);
	if (status == SONDE_OK)
		cff_cache_keep(&cache, &data->scan);
	sonde_vec_release(&data->scan.actions);
	return status;
}

enum sonde_status cff_recording_scan(struct cff_recording *data,
				     struct sonde_definitions *definitions,
				     struct sonde_diagnostics *findings, struct sonde_error *err)
{
	enum sonde_status status = cff_header_read(&data->header, &data->image, findings, err);
	bool is_indexed = false;

	if (status == SONDE_OK && data->header.is_ours)
		status = cff_ours_read(&data->image, definitions, findings, &data->scan.ours, err);
	if (status == SONDE_OK && !data->scan.ours)
		status = cff_header_define(&data->header, definitions, err);
	if (status < 0)
		return status;
	data->scan.image = &data->image;
	data->scan.findings = findings;
	data->scan.definitions = definitions;
	data->scan.is_ours = data->header.is_ours;
	data->scan.origin_ns = data->header.origin_ns;
	if (!data->scan.is_check && data->scan.ours)
		status = cff_index_use(&data->scan, &is_indexed, err);
	if (status < 0)
		return status;
	if (!is_indexed)
		return scan_events(data, err);
	sonde_mapped_file_read_ahead(&data->image.file, true);
	return SONDE_OK;
}

static enum sonde_status read_file(struct sonde_recording *recording, bool uses_cache,
				   struct sonde_error *err)
{
	struct cff_recording *data = recording->data;
	enum sonde_status status =
		cff_image_open(&data->image, recording->path, recording->diagnostics, err);

	data->uses_cache = uses_cache;
	if (status == SONDE_OK)
		status = cff_recording_scan(data, recording->definitions, recording->diagnostics,
					    err);
	return status == SONDE_OK ? add_tracks(recording, err) : status;
}

/* As if nothing had been read yet. */
static enum sonde_status forget(struct sonde_recording *recording, struct sonde_error *err)
{
	struct sonde_definitions *definitions = sonde_definitions_new();
	struct sonde_diagnostics *diagnostics = sonde_diagnostics_new();
	struct cff_recording *data = recording->data;

	if (!definitions || !diagnostics) {
		sonde_definitions_free(definitions);
		sonde_diagnostics_free(diagnostics);
		return sonde_fail_nomem(err);
	}
	cff_recording_release(data);
	*data = (struct cff_recording){ 0 };
	sonde_definitions_free(recording->definitions);
	sonde_diagnostics_free(recording->diagnostics);
	recording->definitions = definitions;
	recording->diagnostics = diagnostics;
	return SONDE_OK;
}

enum sonde_status cff_open(struct sonde_recording *recording, struct sonde_error *err)
{
	struct cff_recording *data = calloc(1, sizeof(*data));
	enum sonde_status status;

	if (!data)
		return sonde_fail_nomem(err);
	recording->data = data;
	recording->ops = &cff_recording_ops;
	status = read_file(recording, true, err);
	if (status != SONDE_CORRUPT || !data->is_cache_wrong)
		return status;
	status = forget(recording, err);
	return status == SONDE_OK ? read_file(recording, false, err) : status;
}

/* What the first bytes of a file say. */
static bool recognise(const char *path, enum cff_origin *origin)
{
	uint8_t head[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	ssize_t got = -1;

	if (fd < 0)
		return false;
	if (!fstat(fd, &status) && S_ISREG(status.st_mode))
		got = pread(fd, head, sizeof(head), 0);
	close(fd);
	return got > 0 && cff_image_recognise(head, (size_t)got, origin);
}

int cff_probe(const char *path)
{
	enum cff_origin origin;

	return recognise(path, &origin) && (origin == CFF_BINARY || origin == CFF_LEGACY) ? 100 : 0;
}

int cff_json_probe(const char *path)
{
	enum cff_origin origin;

	return recognise(path, &origin) && origin == CFF_JSON ? 90 : 0;
}

int cff_calls_probe(const char *path)
{
	enum cff_origin origin;

	return recognise(path, &origin) && origin == CFF_CALLS ? 80 : 0;
}
