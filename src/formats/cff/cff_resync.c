/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of a damaged file. A chunk is believed where its parts lie within it and something sane
 * follows; else the next place is searched for that looks like a chunk, and what is before it
 * belongs to the damaged one. No byte is searched more than a few times.
 */
#include "formats/cff/cff_resync.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_put.h"

/* So many parts are looked at to believe a chunk. */
#define PARTS_LOOKED_AT 64

static uint32_t field(const struct cff_image *image, uint64_t offset, unsigned int which)
{
	return sonde_load_u32le(image->data + offset + which);
}

/* A header of a known type whose list of parts is there. */
static bool is_sane(const struct cff_image *image, uint64_t offset)
{
	uint64_t left = image->size - offset;
	uint32_t type;

	if (left < CFF_CHUNK_SIZE)
		return false;
	type = field(image, offset, CFF_CHUNK_TYPE);
	return (type == CFF_CHUNK_FILE_HEADER || type == CFF_CHUNK_EVENT_DATA) &&
	       field(image, offset, CFF_CHUNK_PARTS) <= (left - CFF_CHUNK_SIZE) / CFF_PART_SIZE;
}

static bool has_sane_length(const struct cff_image *image, uint64_t offset)
{
	uint64_t left = image->size - offset, length;

	if (left < CFF_CHUNK_SIZE)
		return false;
	length = field(image, offset, CFF_CHUNK_LENGTH);
	return length <= left && !(length % 4) && length >= CFF_CHUNK_SIZE &&
	       field(image, offset, CFF_CHUNK_PARTS) <= (length - CFF_CHUNK_SIZE) / CFF_PART_SIZE;
}

static bool is_part_type(uint32_t type)
{
	return type == CFF_PART_FILE_HEADER || type == CFF_PART_STRINGS ||
	       (type >= CFF_PART_JSON_EVENTS && type <= CFF_PART_EVENTS) ||
	       (type >> 16) == (CFF_PART_BINARY_RESOURCE >> 16);
}

/* The last chunk of a file that was cut: all is well with it, as far as it is there. */
static bool is_cut(const struct cff_image *image, uint64_t offset)
{
	uint64_t length, list;
	uint32_t parts;

	if (!is_sane(image, offset))
		return false;
	length = field(image, offset, CFF_CHUNK_LENGTH);
	parts = field(image, offset, CFF_CHUNK_PARTS);
	list = CFF_CHUNK_SIZE + (uint64_t)parts * CFF_PART_SIZE;
	if (length <= image->size - offset || length % 4)
		return false;
	for (uint32_t i = 0; i < parts && i < PARTS_LOOKED_AT; i++) {
		uint64_t entry = offset + CFF_CHUNK_SIZE + (uint64_t)i * CFF_PART_SIZE;

		if (!is_part_type(field(image, entry, CFF_PART_TYPE)) ||
		    list + field(image, entry, CFF_PART_OFFSET) +
				    field(image, entry, CFF_PART_LENGTH) >
			    length)
			return false;
	}
	return parts > 0;
}

/* Sane in every respect, with parts that lie within it. *parts_end: where the last of them ends. */
static bool is_plausible(const struct cff_image *image, uint64_t offset, uint64_t *parts_end)
{
	struct cff_chunk chunk = { .offset = offset };
	uint32_t parts;

	if (!is_sane(image, offset) || !has_sane_length(image, offset))
		return false;
	chunk.length = field(image, offset, CFF_CHUNK_LENGTH);
	parts = cff_chunk_part_count(image, &chunk);
	*parts_end = offset + CFF_CHUNK_SIZE + (uint64_t)parts * CFF_PART_SIZE;
	for (uint32_t i = 0; i < parts && i < PARTS_LOOKED_AT; i++) {
		struct cff_part part = cff_chunk_part(image, &chunk, i);

		if (!part.data || !is_part_type(part.type))
			return false;
		if (part.offset + part.size > *parts_end)
			*parts_end = part.offset + part.size;
	}
	return parts > 0;
}

/* The last search: from where, and what was the first place from there on. */
struct found {
	uint64_t from, place;
};

/* The next plausible chunk, or one that the end of the file cuts, or that end. */
static uint64_t search(const struct cff_image *image, uint64_t offset, struct found *found)
{
	uint64_t ignored;

	if (offset >= found->from && offset <= found->place)
		return found->place;
	found->from = offset;
	found->place = image->size;
	for (offset = cff_padded(offset); offset + CFF_CHUNK_SIZE <= image->size; offset += 4) {
		if (!is_plausible(image, offset, &ignored) && !is_cut(image, offset))
			continue;
		found->place = offset;
		break;
	}
	return found->place;
}

static void drop(struct cff_image *image, uint64_t from, uint64_t to, uint64_t *dropped)
{
	if (from == to)
		return;
	CFF_FIND(image->findings, RECOVER_GAP, image->path, from,
		 "a chunk\t%" PRIu64 " bytes that are none", to - from);
	*dropped += to - from;
}

static enum sonde_status add(struct cff_image *image, uint64_t offset, uint64_t length,
			     struct sonde_error *err)
{
	struct cff_chunk *chunk = sonde_vec_push(&image->chunks);

	if (!chunk)
		return sonde_fail_nomem(err);
	*chunk = (struct cff_chunk){
		.offset = offset,
		.length = length < UINT32_MAX ? (uint32_t)length : UINT32_MAX,
		.type = field(image, offset, CFF_CHUNK_TYPE),
	};
	return SONDE_OK;
}

/*
 * A chunk whose parts, length or successor is damaged; gives where to go on. What it says of its
 * length is believed where the header of another chunk is there, and no whole one before it.
 */
static uint64_t measure_damaged(struct cff_image *image, uint64_t offset, uint64_t *length,
				uint64_t *dropped, struct found *searched)
{
	uint64_t first = offset + CFF_CHUNK_SIZE, parts_end;
	uint64_t list = (uint64_t)field(image, offset, CFF_CHUNK_PARTS) * CFF_PART_SIZE;
	uint64_t next = offset + field(image, offset, CFF_CHUNK_LENGTH), found;

	/* a list of parts that goes past the chunk may have others in it */
	if (first + list <= next)
		first += list;
	found = search(image, first, searched);
	if (!is_plausible(image, offset, &parts_end)) {
		if (has_sane_length(image, offset) && next < found && is_sane(image, next))
			found = next;
		*length = found - offset;
		return found;
	}
	*length = next - offset;
	if (found < next) {
		if (parts_end <= found) {
			*length = found - offset;
			return found;
		}
		found = search(image, next, searched);
	}
	if (is_sane(image, next))
		return next;
	drop(image, next, found, dropped);
	return found;
}

enum sonde_status cff_resync(struct cff_image *image, uint64_t *dropped, struct sonde_error *err)
{
	uint64_t offset = CFF_FILE_SIZE, next, parts_end;
	struct found found = { .from = UINT64_MAX };
	enum sonde_status status = SONDE_OK;

	*dropped = 0;
	for (; offset < image->size && status == SONDE_OK; offset = next) {
		uint64_t length = 0;

		if (is_plausible(image, offset, &parts_end)) {
			length = field(image, offset, CFF_CHUNK_LENGTH);
			next = offset + length;
			if (next != image->size && !has_sane_length(image, next) &&
			    !is_cut(image, next))
				next = measure_damaged(image, offset, &length, dropped, &found);
		} else if (is_sane(image, offset)) {
			next = measure_damaged(image, offset, &length, dropped, &found);
		} else {
			next = search(image, offset + 4, &found);
			drop(image, offset, next, dropped);
			continue;
		}
		status = add(image, offset, length, err);
	}
	image->whole = image->size;
	return status;
}
