/* SPDX-License-Identifier: Apache-2.0 */
/* The zones of a file that is written: one for each track, told apart by name, type and location. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "formats/cff/cff_write.h"

enum found { ABSENT, PRESENT, FAILED };

/* An attribute of a track that is a JSON string; *text NULL: it is null. FAILED: no memory. */
static enum found find_text(struct cff_writer *writer, uint32_t track, const char *name,
			    const char **text)
{
	const char *json = sonde_definitions_find_attribute(writer->definitions, SONDE_OWNER_TRACK,
							    track, name);
	struct sonde_json_reader reader;
	enum sonde_status status;
	enum found found = ABSENT;

	*text = NULL;
	if (!json)
		return ABSENT;
	sonde_json_reader_init(&reader, json, strlen(json), NULL, NULL);
	status = sonde_json_next(&reader, NULL);
	if (status == SONDE_NOMEM) {
		found = FAILED;
	} else if (status == SONDE_OK && reader.token == SONDE_JSON_STRING) {
		*text = sonde_arena_copy_text(&writer->zone_texts, reader.text, reader.length);
		found = *text ? PRESENT : FAILED;
	} else if (status == SONDE_OK && reader.token == SONDE_JSON_NULL) {
		found = PRESENT;
	}
	sonde_json_reader_release(&reader);
	return found;
}

static const char *make_location(struct cff_writer *writer, const struct sonde_track *track)
{
	const struct sonde_process *process =
		sonde_definitions_process(writer->definitions, track->process);
	struct sonde_buffer text = { 0 };
	const char *copy = NULL;

	if (process && process->os_id != SONDE_NONE)
		sonde_buffer_put_format(&text, "pid %" PRIu32 " ", process->os_id);
	if (track->os_id != UINT64_MAX)
		sonde_buffer_put_format(&text, "tid %" PRIu64, track->os_id);
	else
		sonde_buffer_put_format(&text, "thread %" PRIu32, track->slot);
	if (sonde_buffer_text(&text))
		copy = sonde_arena_copy_text(&writer->zone_texts, text.data, text.size);
	sonde_buffer_release(&text);
	return copy;
}

/* Name, type and location in one text, as a key. */
static void put_key(struct sonde_buffer *key, const struct cff_zone_name *zone)
{
	const char *texts[] = { zone->name, zone->type, zone->location };

	sonde_buffer_clear(key);
	for (size_t i = 0; i < 3; i++) {
		if (texts[i])
			sonde_buffer_put_text(key, texts[i]);
		sonde_buffer_put_char(key, '\0');
	}
}

/* Changes the location until no other zone is the same. */
static bool make_distinct(struct cff_writer *writer, struct sonde_text_map *taken,
			  struct cff_zone_name *zone, uint32_t track)
{
	const char *location = zone->location ? zone->location : "";
	struct sonde_buffer key = { 0 }, text = { 0 };
	const char *copy = NULL;

	put_key(&key, zone);
	for (uint32_t i = track;
	     !key.failed && sonde_text_map_find(taken, key.data, key.size) != UINT32_MAX; i++) {
		sonde_buffer_clear(&text);
		sonde_buffer_put_format(&text, "%s#%" PRIu32, location, i);
		zone->location =
			sonde_buffer_text(&text) ?
				sonde_arena_copy_text(&writer->zone_texts, text.data, text.size) :
				NULL;
		if (!zone->location)
			key.failed = true;
		else
			put_key(&key, zone);
	}
	if (!key.failed)
		copy = sonde_arena_copy_text(&writer->zone_texts, key.data, key.size);
	if (copy && !sonde_text_map_add(taken, copy, key.size, track))
		copy = NULL;
	sonde_buffer_release(&key);
	sonde_buffer_release(&text);
	return copy != NULL;
}

/* Zones that come without a type and a location had none, or empty ones. */
static const char *type_of(enum sonde_track_kind kind)
{
	if (kind == SONDE_TRACK_ZONE)
		return "";
	return kind == SONDE_TRACK_GPU_STREAM ? "native_gpu" : "native_script";
}

static bool name_zone(struct cff_writer *writer, struct sonde_text_map *taken, uint32_t id)
{
	const struct sonde_track *track = sonde_definitions_track(writer->definitions, id);
	struct cff_zone_name *zone = &writer->zones[id];
	enum found type, location;
	char space[SONDE_LABEL_SIZE];

	zone->name = sonde_definitions_string(writer->definitions, track->name);
	if (!*zone->name && track->kind != SONDE_TRACK_ZONE) {
		zone->name = sonde_definitions_track_label(writer->definitions, id, space);
		zone->name =
			sonde_arena_copy_text(&writer->zone_texts, zone->name, strlen(zone->name));
	}
	type = find_text(writer, id, "zone_type", &zone->type);
	location = find_text(writer, id, "zone_location", &zone->location);
	if (type == FAILED || location == FAILED)
		return false;
	if (type == ABSENT)
		zone->type = type_of(track->kind);
	if (location == ABSENT)
		zone->location = track->kind == SONDE_TRACK_ZONE ? "" :
								   make_location(writer, track);
	if (location == ABSENT && !zone->location)
		return false;
	return zone->name && make_distinct(writer, taken, zone, id);
}

static uint32_t put_text(struct cff_chunk_writer *chunk, const char *text)
{
	return text ? cff_chunk_text(chunk, text, strlen(text)) : CFF_STRING_NULL;
}

enum sonde_status cff_write_zone(struct cff_writer *writer, struct cff_chunk_writer *chunk,
				 uint32_t track, uint64_t time, struct sonde_error *err)
{
	const struct cff_zone_name *zone = &writer->zones[track];
	uint8_t slots[16];

	if (!cff_chunk_reserve(chunk, 1, CFF_EVENT_SIZE + sizeof(slots)))
		return sonde_fail_nomem(err);
	sonde_store_u32le(slots, cff_zone_id(track));
	sonde_store_u32le(slots + 4, put_text(chunk, zone->name));
	sonde_store_u32le(slots + 8, put_text(chunk, zone->type));
	sonde_store_u32le(slots + 12, put_text(chunk, zone->location));
	cff_chunk_put(chunk, CFF_WRITE_ZONE_CREATE, time, slots, sizeof(slots));
	return SONDE_OK;
}

enum sonde_status cff_write_zones(struct cff_writer *writer, struct sonde_error *err)
{
	struct sonde_text_map taken = { 0 };
	enum sonde_status status = SONDE_OK;

	writer->zones = calloc((size_t)writer->track_count + 1, sizeof(*writer->zones));
	if (!writer->zones)
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < writer->track_count && status == SONDE_OK; i++) {
		if (!name_zone(writer, &taken, i))
			status = sonde_fail_nomem(err);
		else
			status = cff_write_zone(writer, &writer->defining, i, 0, err);
		if (status == SONDE_OK && cff_chunk_is_full(&writer->defining))
			status = cff_writer_flush_definitions(writer, err);
	}
	sonde_text_map_release(&taken);
	return status;
}
