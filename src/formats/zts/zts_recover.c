/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recovering a store: a new base folder with all parts of which something is left. Data and texts
 * are salvaged, metadata is made anew; what only the old slots knew (UUIDs, app, env, host) is
 * taken from them.
 */
#include "formats/zts/zts_recover.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/zts/zts_check.h"
#include "formats/zts/zts_findings.h"
#include "formats/zts/zts_part_private.h"
#include "formats/zts/zts_read.h"
#include "formats/zts/zts_wal.h"

/* Whether chunks have checksums, which the header may say wrongly where it is damaged. */
static void find_crc(struct zts_part_recovery *part)
{
	struct zts_chunks *chunks = &part->chunks;
	struct zts_chunk chunk;

	chunks->has_crc = true;
	if (zts_chunks_resync(chunks, &part->codec, 0, &chunk, NULL) == SONDE_OK)
		return;
	chunks->has_crc = false;
}

/* Opens traces.dat, whatever its header looks like. *is_there is false where there is nothing. */
static enum sonde_status open_data(struct zts_part_recovery *part, bool *is_there,
				   struct sonde_error *err)
{
	char *path = sonde_path_join(part->from, ZTS_DATA_NAME);
	enum sonde_status status;

	*is_there = false;
	if (!path)
		return sonde_fail_nomem(err);
	if (sonde_path_kind(path) != SONDE_PATH_FILE) {
		free(path);
		return SONDE_OK;
	}
	status = zts_chunks_open(&part->chunks, path, err);
	if (status == SONDE_FORMAT) {
		part->chunks =
			(struct zts_chunks){ .path = strdup(path), .codec = SONDE_CODEC_LZ4 };
		status = part->chunks.path ? sonde_mapped_file_open(&part->chunks.file, path, err) :
					     sonde_fail_nomem(err);
	}
	free(path);
	if (status < 0)
		return status;
	*is_there = true;
	find_crc(part);
	return SONDE_OK;
}

static int compare_moved(const void *a, const void *b)
{
	const struct zts_moved_chunk *one = a, *other = b;

	return one->from < other->from ? -1 : one->from > other->from;
}

/*
 * Where a chunk is now; UINT64_MAX where it is gone. Several traces may come from one: the first is
 * meant.
 */
static uint64_t new_place(const struct zts_part_recovery *part, uint64_t from)
{
	size_t low = 0, high = part->moved.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (part->moved.items[middle].from < from)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == part->moved.count || part->moved.items[low].from != from)
		return UINT64_MAX;
	return part->moved.items[low].to;
}

static bool is_text(struct zts_part_recovery *part, uint32_t id)
{
	const char *text;
	size_t size;

	return zts_texts_get(part->texts, id, &text, &size, NULL) == SONDE_OK;
}

/* What an old slot says is kept as far as it can be right. */
static void mend_slot(struct zts_part_recovery *part, struct zts_slot *slot)
{
	if (slot->description && !is_text(part, slot->description)) {
		slot->description = 0;
		slot->description_is_method = true;
	}
	if (slot->dtrace_uuid && !is_text(part, slot->dtrace_uuid))
		slot->dtrace_uuid = 0;
	if (slot->dtrace_tid && !is_text(part, slot->dtrace_tid))
		slot->dtrace_tid = 0;
	if (!part->has_names)
		return;
	if (slot->app && !is_text(part, slot->app))
		slot->app = 0;
	if (slot->env && !is_text(part, slot->env))
		slot->env = 0;
	if (slot->host && !is_text(part, slot->host))
		slot->host = 0;
	if (slot->type && !is_text(part, slot->type))
		slot->type = 0;
}

/*
 * Old slots, at the new places of their chunks. Where there are none, those that reading would
 * make.
 */
static enum sonde_status take_slots(struct zts_part_recovery *part, struct zts_slots *slots,
				    struct sonde_error *err)
{
	char *path = sonde_path_join(part->from, ZTS_QMETA_NAME);
	struct sonde_buffer wal = { 0 };
	enum sonde_status status = SONDE_OK;
	size_t kept = 0;

	if (!path)
		return sonde_fail_nomem(err);
	if (sonde_path_kind(path) == SONDE_PATH_FILE)
		status = zts_slots_read(slots, path, NULL, err);
	free(path);
	slots->has_names = part->has_names;
	if (status != SONDE_NOMEM && !slots->list.count)
		status = zts_rebuild(&part->chunks, part->texts, slots, &wal, NULL, err);
	sonde_buffer_release(&wal);
	if (status == SONDE_NOMEM)
		return status;
	for (size_t i = 0; i < slots->list.count; i++) {
		struct zts_slot slot = slots->list.items[i];

		slot.data_offset = new_place(part, slot.data_offset);
		if (slot.data_offset == UINT64_MAX)
			continue;
		mend_slot(part, &slot);
		slots->list.items[kept++] = slot;
	}
	slots->list.count = kept;
	return zts_texts_failed(part->texts) ? sonde_fail_nomem(err) : SONDE_OK;
}

/* Descriptions of slots that had none are the methods; those are in the data. */
static enum sonde_status write_slots(struct zts_part_recovery *part, const struct zts_slots *slots,
				     struct sonde_error *err)
{
	char *path = sonde_path_join(part->to, ZTS_QMETA_NAME);
	struct sonde_output output = { .fd = -1 };
	uint8_t bytes[96];
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	status = sonde_output_open(&output, path, err);
	free(path);
	if (status == SONDE_OK) {
		zts_put_qmeta_header(bytes,
				     (uint32_t)(ZTS_QMETA_HEADER_SIZE + slots->list.count * 96),
				     slots->first_tstart, slots->last_tstop);
		status = sonde_output_write(&output, bytes, ZTS_QMETA_HEADER_SIZE, err);
	}
	for (size_t i = 0; i < slots->list.count && status == SONDE_OK; i++) {
		zts_put_slot(bytes, &slots->list.items[i]);
		status = sonde_output_write(&output, bytes, sizeof(bytes), err);
	}
	if (status == SONDE_OK)
		status = sonde_output_close(&output, err);
	sonde_output_release(&output);
	return status;
}

static enum sonde_status write_lines(struct zts_part_recovery *part, const struct sonde_buffer *wal,
				     struct sonde_error *err)
{
	struct zts_wal_files files = { .folder = part->to, .prefix = "meta", .output.fd = -1 };
	struct sonde_buffer text = { 0 };
	const uint8_t *bytes = (const uint8_t *)wal->data;
	struct zts_wal_entry entry = { .next = 4 };
	enum sonde_status status;

	while ((status = zts_wal_at(bytes, wal->size, entry.next, &entry, err)) == SONDE_OK) {
		sonde_buffer_clear(&text);
		zts_wal_unescape(entry.text, entry.size, &text);
		status = text.failed ?
				 sonde_fail_nomem(err) :
				 zts_wal_files_put(&files, entry.id, text.data, text.size, err);
		if (status < 0)
			break;
	}
	if (status >= 0)
		status = zts_wal_files_end(&files, err);
	zts_wal_files_release(&files);
	sonde_buffer_release(&text);
	return status;
}

/* Metadata out of what was written. */
static enum sonde_status make_metadata(struct zts_part_recovery *part, struct zts_slots *slots,
				       struct sonde_error *err)
{
	char *path = sonde_path_join(part->to, ZTS_DATA_NAME);
	struct zts_chunks chunks = { 0 };
	struct zts_texts *texts = NULL;
	struct sonde_buffer wal = { 0 };
	enum sonde_status status;

	if (!path)
		return sonde_fail_nomem(err);
	status = zts_chunks_open(&chunks, path, err);
	free(path);
	if (status == SONDE_OK)
		status = zts_texts_open(part->to, "text", NULL, &texts, err);
	if (status == SONDE_OK)
		status = zts_rebuild(&chunks, texts, slots, &wal, NULL, err);
	if (status == SONDE_OK)
		status = write_lines(part, &wal, err);
	if (status == SONDE_OK)
		status = write_slots(part, slots, err);
	zts_texts_free(texts);
	zts_chunks_release(&chunks);
	sonde_buffer_release(&wal);
	return status;
}

/* Settings as they were; a recovered part is not packed. */
static enum sonde_status take_props(struct zts_part_recovery *part, struct sonde_error *err)
{
	struct zts_props props = { 0 };
	enum sonde_status status = zts_props_read(&props, part->from, err);
	uint64_t names = 0;

	if (status == SONDE_NOMEM)
		return status;
	part->has_names = zts_props_number(&props, ZTS_PROPS_NAMES, &names) && names;
	zts_props_set(&props, "store.iflags", "0");
	status = zts_props_write(&props, part->to, err);
	zts_props_release(&props);
	return status;
}

static enum sonde_status write_part(struct zts_part_recovery *part, struct sonde_error *err)
{
	struct zts_slots slots = { 0 };
	enum sonde_status status = sonde_folder_create(part->to, err);

	if (status == SONDE_OK)
		status = take_props(part, err);
	if (status == SONDE_OK)
		status = zts_recover_data(part, err);
	if (status == SONDE_OK)
		status = zts_recover_texts(part, err);
	if (status < 0)
		return status;
	if (part->moved.count)
		qsort(part->moved.items, part->moved.count, sizeof(*part->moved.items),
		      compare_moved);
	status = take_slots(part, &slots, err);
	if (status == SONDE_OK)
		status = make_metadata(part, &slots, err);
	zts_slots_release(&slots);
	return status;
}

struct recovery {
	struct sonde_staged staged;
	uint64_t dropped;
	uint32_t parts;
};

static enum sonde_status recover_part(struct recovery *recovery, const char *from, const char *name,
				      struct sonde_error *err)
{
	struct zts_part_recovery part = { .from = from, .data.fd = -1 };
	char *to = sonde_path_join(recovery->staged.work, name);
	bool is_there = false;
	enum sonde_status status;

	if (!to)
		return sonde_fail_nomem(err);
	part.to = to;
	status = open_data(&part, &is_there, err);
	if (status == SONDE_OK && is_there)
		status = zts_texts_open(from, "text", NULL, &part.texts, err);
	if (status == SONDE_OK && is_there) {
		status = zts_texts_all_readable(part.texts, err);
		if (status < 0)
			sonde_error_because(err, "its texts may be whole, and would be lost: mend "
						 "its rights or the disk, or move the file away "
						 "to recover without it");
	}
	if (status == SONDE_OK && is_there) {
		status = write_part(&part, err);
		recovery->parts++;
		recovery->dropped += part.dropped;
	}
	sonde_output_release(&part.data);
	zts_texts_free(part.texts);
	zts_chunks_release(&part.chunks);
	sonde_codec_state_release(&part.codec);
	sonde_vec_release(&part.moved);
	sonde_vec_release(&part.missing);
	free(to);
	return status;
}

/* Settings of the base folder go along. */
static enum sonde_status copy_settings(struct recovery *recovery, const char *path,
				       struct sonde_error *err)
{
	struct zts_props props = { 0 };
	enum sonde_status status = zts_props_read(&props, path, err);

	if (status == SONDE_OK && props.text.size)
		status = zts_props_write(&props, recovery->staged.work, err);
	zts_props_release(&props);
	return status == SONDE_NOMEM || status == SONDE_IO ? status : SONDE_OK;
}

static enum sonde_status recover_all(struct recovery *recovery, const char *path,
				     struct sonde_error *err)
{
	struct sonde_folder folder;
	enum sonde_status status = sonde_folder_read(&folder, path, err);
	bool is_single = false;
	char name[16]; /* a numbered folder alone keeps its number */

	if (status < 0)
		return status;
	snprintf(name, sizeof(name), "%06" PRIx32, zts_part_number_of_path(path));
	for (size_t i = 0; i < folder.count; i++)
		is_single |= !strcmp(folder.names[i], ZTS_DATA_NAME);
	if (is_single)
		status = recover_part(recovery, path, name, err);
	else
		status = copy_settings(recovery, path, err);
	for (size_t i = 0; !is_single && i < folder.count && status == SONDE_OK; i++) {
		uint32_t number;
		char *from;

		if (!zts_part_number(folder.names[i], &number))
			continue;
		from = sonde_path_join(path, folder.names[i]);
		status = from ? recover_part(recovery, from, folder.names[i], err) :
				sonde_fail_nomem(err);
		free(from);
	}
	sonde_folder_release(&folder);
	return status;
}

/* What the output has, as everybody will read it. */
static enum sonde_status count_kept(struct recovery *recovery, struct sonde_recover_result *result,
				    struct sonde_error *err)
{
	struct sonde_recording *recording;
	const struct sonde_definitions *definitions;
	enum sonde_status status =
		sonde_recording_open(recovery->staged.work, "zts", &recording, err);

	if (status < 0)
		return status;
	definitions = sonde_recording_definitions(recording);
	result->events_kept = sonde_recording_event_count(recording);
	result->tracks_kept = sonde_definitions_track_count(definitions);
	for (uint32_t i = 0; i < result->tracks_kept; i++)
		result->details_kept += sonde_definitions_track(definitions, i)->detail_count;
	result->bytes_dropped = recovery->dropped;
	sonde_recording_close(recording);
	return SONDE_OK;
}

enum sonde_status zts_recover(const char *path, const char *output,
			      const struct sonde_recover_options *options,
			      struct sonde_diagnostics *diagnostics,
			      struct sonde_recover_result *result, struct sonde_error *err)
{
	struct sonde_check_options check = { .progress = options->progress };
	struct recovery recovery = { 0 };
	enum sonde_status status = zts_check(path, &check, diagnostics, err);

	if (status < 0)
		return status;
	status = sonde_staged_begin(&recovery.staged, output, true, options->replace, err);
	if (status == SONDE_OK)
		status = recover_all(&recovery, path, err);
	if (status == SONDE_OK && !recovery.parts) {
		status = sonde_fail(err, SONDE_FORMAT, SONDE_NO_OFFSET,
				    "there is no traces.dat in here, of which anything could be "
				    "recovered");
		sonde_error_set_file(err, path);
	}
	if (status == SONDE_OK)
		status = count_kept(&recovery, result, err);
	if (status == SONDE_OK)
		status = sonde_staged_commit(&recovery.staged, err);
	sonde_staged_release(&recovery.staged);
	return status;
}
