/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a store as a recording: one pass over its traces, on several threads, finds when each begins and
 * ends and how many calls it has; then groups (processes), functions and lanes (tracks) are defined.
 */
#include "formats/zts/zts_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/zts/zts_define.h"
#include "formats/zts/zts_findings.h"
#include "formats/zts/zts_part.h"
#include "formats/zts/zts_scan.h"

static void zts_close(struct sonde_recording *recording)
{
	struct zts_recording *data = recording->data;

	for (size_t i = 0; data->parts && i < data->base->parts.count; i++) {
		sonde_key_map_release(&data->parts[i].functions);
		sonde_vec_release(&data->parts[i].inner);
	}
	for (size_t i = 0; i < data->codecs.count; i++)
		sonde_codec_state_release(&data->codecs.items[i]);
	sonde_vec_release(&data->codecs);
	sonde_vec_release(&data->pieces);
	sonde_vec_release(&data->lanes);
	free(data->parts);
	zts_base_free(data->base);
	pthread_mutex_destroy(&data->lock);
	free(data);
	recording->data = NULL;
}

static const struct sonde_recording_ops zts_recording_ops = {
	.cursor_open = zts_cursor_open,
	.close = zts_close,
};

bool zts_recording_is_zts(const struct sonde_recording *recording)
{
	return recording->ops == &zts_recording_ops;
}

/* A codec state of the recording's, or a new one. */
static struct sonde_codec_state take_codec(struct zts_recording *data)
{
	struct sonde_codec_state state = { 0 };

	pthread_mutex_lock(&data->lock);
	if (data->codecs.count)
		state = data->codecs.items[--data->codecs.count];
	pthread_mutex_unlock(&data->lock);
	return state;
}

static void give_codec(struct zts_recording *data, struct sonde_codec_state state)
{
	struct sonde_codec_state *place;

	pthread_mutex_lock(&data->lock);
	place = sonde_vec_push(&data->codecs);
	if (place)
		*place = state;
	pthread_mutex_unlock(&data->lock);
	if (!place)
		sonde_codec_state_release(&state);
}

enum sonde_status zts_recording_load(struct zts_recording *data, uint32_t part, uint32_t slot,
				     struct zts_loaded *loaded, struct sonde_error *err)
{
	struct zts_part *of = data->parts[part].part;
	enum sonde_status status;

	loaded->codec = take_codec(data);
	status = zts_part_load(of, slot, loaded, err);
	give_codec(data, loaded->codec);
	loaded->codec = (struct sonde_codec_state){ 0 };
	if (status != SONDE_NOMEM && loaded->root != SONDE_NONE)
		return SONDE_OK; /* what lies before a fault; opening has reported it */
	if (status < 0)
		sonde_error_set_file(err, of->chunks.path);
	return status;
}

static int compare_inner(const void *a, const void *b)
{
	const struct zts_inner_slot *one = a, *other = b;

	if (one->data_offset != other->data_offset)
		return one->data_offset < other->data_offset ? -1 : 1;
	return one->start_offset < other->start_offset ? -1 :
							 one->start_offset > other->start_offset;
}

/* The slots of traces inside others, so that their UUIDs are found by their place. */
static enum sonde_status list_inner(struct zts_reading *reading, struct sonde_error *err)
{
	const struct zts_slots *slots = &reading->part->slots;

	for (size_t i = 0; i < slots->list.count; i++) {
		const struct zts_slot *slot = &slots->list.items[i];
		struct zts_inner_slot *inner;

		if (!slot->start_offset && !slot->chunk_number)
			continue;
		inner = sonde_vec_push(&reading->inner);
		if (!inner)
			return sonde_fail_nomem(err);
		*inner = (struct zts_inner_slot){ slot->data_offset, slot->start_offset,
						  (uint32_t)i };
	}
	if (reading->inner.count)
		qsort(reading->inner.items, reading->inner.count, sizeof(*reading->inner.items),
		      compare_inner);
	return SONDE_OK;
}

/* The id of a string that stores of ours use as an attribute's name; 0: it is not there. */
static enum sonde_status find_key(struct zts_texts *texts, const char *name, uint32_t *key,
				  struct sonde_error *err)
{
	struct zts_set found;
	enum sonde_status status;
	size_t id;

	*key = 0;
	if (!zts_set_init(&found, zts_texts_end(texts)))
		return sonde_fail_nomem(err);
	status = zts_texts_find(texts, 1u << ZTS_TEXT_STRING, ZTS_MATCH_EXACT, name, strlen(name),
				&found, err);
	id = zts_set_next(&found, 0);
	if (status == SONDE_OK && id != SIZE_MAX)
		*key = (uint32_t)id;
	zts_set_release(&found);
	return status;
}

static enum sonde_status prepare_parts(struct zts_recording *data, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	data->parts = calloc(data->base->parts.count + 1, sizeof(*data->parts));
	if (!data->parts)
		return sonde_fail_nomem(err);
	if (data->base->parts.count > UINT16_MAX)
		return sonde_fail(err, SONDE_LIMIT, SONDE_NO_OFFSET,
				  "%zu stores in one folder are more than %u; open some of them",
				  data->base->parts.count, UINT16_MAX);
	for (size_t i = 0; i < data->base->parts.count && status == SONDE_OK; i++) {
		struct zts_reading *reading = &data->parts[i];

		reading->part = data->base->parts.items[i];
		status = find_key(reading->part->texts, ZTS_NS_ATTRIBUTE, &reading->ns_key, err);
		if (status == SONDE_OK)
			status = find_key(reading->part->texts, "service.name",
					  &reading->service_key, err);
		if (status == SONDE_OK)
			status = list_inner(reading, err);
	}
	return status;
}

/* `refs`: the traces that are wanted; NULL: all. */
static enum sonde_status open_store(struct sonde_recording *recording,
				    const struct zts_slot_ref *refs, size_t count,
				    struct sonde_error *err)
{
	struct zts_recording *data = calloc(1, sizeof(*data));
	struct zts_scan scan = { .data = data, .recording = recording };
	enum sonde_status status;

	if (!data)
		return sonde_fail_nomem(err);
	pthread_mutex_init(&data->lock, NULL);
	recording->data = data;
	recording->ops = &zts_recording_ops;
	recording->details_by_event = true;
	status = zts_base_open(recording->path, recording->diagnostics, &data->base, err);
	if (status == SONDE_OK)
		status = prepare_parts(data, err);
	if (status == SONDE_OK)
		status = zts_scan_run(&scan, refs, count, err);
	if (status == SONDE_OK)
		status = zts_define(&scan, err);
	zts_scan_release(&scan);
	return status;
}

enum sonde_status zts_open(struct sonde_recording *recording, struct sonde_error *err)
{
	return open_store(recording, NULL, 0, err);
}

enum sonde_status zts_recording_of_slots(const char *base, const struct zts_slot_ref *slots,
					 size_t count, struct sonde_recording **recording,
					 struct sonde_error *err)
{
	static const struct zts_slot_ref none;
	struct sonde_recording *made = sonde_recording_new(&sonde_format_zts, base);
	enum sonde_status status;

	*recording = NULL;
	if (!made)
		return sonde_fail_nomem(err);
	status = open_store(made, slots ? slots : &none, count, err);
	if (status < 0) {
		sonde_recording_close(made);
		return status;
	}
	*recording = made;
	return SONDE_OK;
}

static bool has_data(const char *folder)
{
	char *path = sonde_path_join(folder, ZTS_DATA_NAME);
	bool is_there = path && sonde_path_kind(path) == SONDE_PATH_FILE;

	free(path);
	return is_there;
}

int zts_probe(const char *path)
{
	struct sonde_folder folder;
	int sure = 0;

	if (sonde_path_kind(path) != SONDE_PATH_FOLDER)
		return 0;
	if (has_data(path))
		return 90;
	if (sonde_folder_read(&folder, path, NULL) < 0)
		return 0;
	for (size_t i = 0; i < folder.count && !sure; i++) {
		uint32_t number;
		char *part = zts_part_number(folder.names[i], &number) ?
				     sonde_path_join(path, folder.names[i]) :
				     NULL;

		if (part && has_data(part))
			sure = 90;
		free(part);
	}
	if (zts_is_empty_store(&folder))
		sure = 50;
	sonde_folder_release(&folder);
	return sure;
}
