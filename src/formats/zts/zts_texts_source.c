/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of one file of a text index: where each id is. */
#include "formats/zts/zts_findings.h"
#include "formats/zts/zts_texts_private.h"

/* Whether an id can be in this file: they increase, and leave no large gaps. */
static bool id_is_possible(const struct texts_source *source, const struct zts_wal_entry *entry)
{
	if (!source->end_id)
		return entry->id < UINT32_MAX;
	return entry->id >= source->end_id && entry->id < UINT32_MAX &&
	       entry->id - source->first_id <= source->size;
}

static bool take_entry(struct texts_source *source, const struct zts_wal_entry *entry,
		       struct sonde_diagnostics *diagnostics)
{
	size_t index;

	if (!id_is_possible(source, entry)) {
		zts_found(diagnostics, TEXT_IDS, source->path, entry->offset, "id %u\tid %u",
			  source->end_id, entry->id);
		return true;
	}
	if (!source->end_id)
		source->first_id = source->end_id = entry->id;
	if (entry->id != source->end_id)
		zts_found(diagnostics, TEXT_IDS, source->path, entry->offset, "id %u\tid %u",
			  source->end_id, entry->id);
	index = entry->id - source->first_id;
	if (!sonde_vec_reserve(&source->places, index + 1 - source->places.count))
		return false;
	while (source->places.count < index)
		source->places.items[source->places.count++] = 0;
	source->places.items[source->places.count++] = (uint32_t)entry->offset;
	source->end_id = entry->id + 1;
	return true;
}

/*
 * What stands in the way of the next entry. True: an entry behind it was found. An entry cut short
 * at the end is what a writer is writing just now, or was when it died.
 */
static bool pass_fault(struct texts_source *source, enum sonde_status fault,
		       struct zts_wal_entry *entry, struct sonde_diagnostics *diagnostics)
{
	size_t at = source->parsed;

	if (zts_wal_resync(source->bytes, source->size, at, entry) == SONDE_OK) {
		zts_found(diagnostics, WAL_ENTRY, source->path, at, "an entry\tdamaged bytes");
		return true;
	}
	if (fault == SONDE_TRUNCATED)
		zts_found(diagnostics, WAL_CUT, source->path, at, "a whole entry\tpart of one");
	else
		zts_found(diagnostics, WAL_ENTRY, source->path, at, "an entry\tdamaged bytes");
	return false;
}

bool texts_index_entries(struct texts_source *source, struct sonde_diagnostics *diagnostics)
{
	struct zts_wal_entry entry;

	for (;;) {
		enum sonde_status status =
			zts_wal_at(source->bytes, source->size, source->parsed, &entry, NULL);

		if (status == SONDE_END)
			return true;
		if (status != SONDE_OK && !pass_fault(source, status, &entry, diagnostics))
			return true;
		if (!take_entry(source, &entry, diagnostics))
			return false;
		source->parsed = entry.next;
	}
}

enum sonde_status texts_unpack(struct texts_source *source, struct sonde_error *err)
{
	uint32_t first_id = source->first_id, end_id = source->end_id;
	enum sonde_status status;

	if (texts_has_entries(source))
		return SONDE_OK;
	if (source->not_unpackable)
		return SONDE_CORRUPT;
	status = zts_fmi_unpack(source->fmi, &source->unpacked, err);
	if (status < 0) {
		source->not_unpackable = status != SONDE_NOMEM;
		sonde_buffer_release(&source->unpacked);
		return status;
	}
	source->bytes = (const uint8_t *)source->unpacked.data;
	source->size = source->unpacked.size;
	source->parsed = 4;
	source->end_id = 0;
	if (!texts_index_entries(source, NULL)) {
		source->bytes = NULL;
		source->first_id = first_id;
		source->end_id = end_id;
		sonde_vec_release(&source->places);
		sonde_buffer_release(&source->unpacked);
		return sonde_fail_nomem(err);
	}
	return SONDE_OK;
}

bool texts_plain(const struct zts_wal_entry *entry, struct sonde_buffer *scratch, const char **text,
		 size_t *size)
{
	*text = (const char *)entry->text;
	*size = entry->size;
	if (!zts_wal_is_escaped(entry->text, entry->size))
		return true;
	sonde_buffer_clear(scratch);
	zts_wal_unescape(entry->text, entry->size, scratch);
	*text = scratch->data;
	*size = scratch->size;
	return !scratch->failed;
}
