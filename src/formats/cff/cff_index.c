/* SPDX-License-Identifier: Apache-2.0 */
/* Using and verifying the index of our own files. */
#include "formats/cff/cff_index.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_ours.h"

/* An index whose parts lie within it. */
struct index {
	const uint8_t *definitions, *tracks, *chunks, *stacks;
	uint32_t definition_count, track_count, chunk_count, stack_count;
};

/* One of its chunks. */
struct entry {
	uint32_t chunk; /* in cff_image.chunks; SONDE_NONE: there is none */
	uint64_t first, first_ns, last_ns;
	uint32_t track, events, stack, depth;
};

static bool find_index(const struct cff_image *image, struct index *index, struct cff_part *part)
{
	uint64_t size;

	if (!cff_ours_resource(image, CFF_PART_BINARY_RESOURCE, CFF_OURS_INDEX, part) ||
	    part->size < CFF_INDEX_SIZE)
		return false;
	index->track_count = sonde_load_u32le(part->data + CFF_INDEX_TRACKS);
	index->chunk_count = sonde_load_u32le(part->data + CFF_INDEX_CHUNKS);
	index->definition_count = sonde_load_u32le(part->data + CFF_INDEX_DEFINITIONS);
	index->stack_count = sonde_load_u32le(part->data + CFF_INDEX_STACKS);
	size = CFF_INDEX_SIZE + 8 * (uint64_t)index->definition_count +
	       CFF_INDEX_TRACK_SIZE * (uint64_t)index->track_count +
	       CFF_INDEX_CHUNK_SIZE * (uint64_t)index->chunk_count +
	       CFF_INDEX_FRAME_SIZE * (uint64_t)index->stack_count;
	if (size != part->size || sonde_load_u64le(part->data + CFF_INDEX_FILE_SIZE) != image->size)
		return false;
	index->definitions = part->data + CFF_INDEX_SIZE;
	index->tracks = index->definitions + 8 * (size_t)index->definition_count;
	index->chunks = index->tracks + CFF_INDEX_TRACK_SIZE * (size_t)index->track_count;
	index->stacks = index->chunks + CFF_INDEX_CHUNK_SIZE * (size_t)index->chunk_count;
	return true;
}

/* The event chunk at an offset; SONDE_NONE where there is none. */
static uint32_t find_chunk(const struct cff_image *image, uint64_t offset)
{
	size_t low = 0, high = image->chunks.count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (image->chunks.items[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	if (!image->chunks.count || image->chunks.items[low].offset != offset ||
	    image->chunks.items[low].type != CFF_CHUNK_EVENT_DATA)
		return SONDE_NONE;
	return (uint32_t)low;
}

static struct entry entry_at(const struct cff_image *image, const struct index *index, uint32_t i)
{
	const uint8_t *at = index->chunks + CFF_INDEX_CHUNK_SIZE * (size_t)i;

	return (struct entry){
		.chunk = find_chunk(image, sonde_load_u64le(at + CFF_INDEX_CHUNK_OFFSET)),
		.first = sonde_load_u64le(at + CFF_INDEX_CHUNK_INDEX),
		.first_ns = sonde_load_u64le(at + CFF_INDEX_CHUNK_FIRST),
		.last_ns = sonde_load_u64le(at + CFF_INDEX_CHUNK_LAST),
		.track = sonde_load_u32le(at + CFF_INDEX_CHUNK_TRACK),
		.events = sonde_load_u32le(at + CFF_INDEX_CHUNK_EVENTS),
		.stack = sonde_load_u32le(at + CFF_INDEX_CHUNK_STACK),
		.depth = sonde_load_u32le(at + CFF_INDEX_CHUNK_DEPTH),
	};
}

static uint64_t track_field(const struct index *index, uint32_t track, unsigned int field)
{
	return sonde_load_u64le(index->tracks + CFF_INDEX_TRACK_SIZE * (size_t)track + field);
}

/* Events of tracks add up, chunks and stacks are there, in the order that readers rely on. */
static bool has_sane_chunks(const struct cff_scan *scan, const struct index *index)
{
	uint64_t counted = 0, stacks = 0;
	uint32_t track = 0;

	for (uint32_t i = 0; i < index->chunk_count; i++) {
		struct entry entry = entry_at(scan->image, index, i);

		for (; track < entry.track && track < index->track_count; track++, counted = 0) {
			if (track_field(index, track, CFF_INDEX_TRACK_EVENTS) != counted)
				return false;
		}
		if (entry.chunk == SONDE_NONE || entry.track != track ||
		    track >= index->track_count || entry.first != counted || !entry.events ||
		    entry.events > scan->image->chunks.items[entry.chunk].length / CFF_EVENT_SIZE ||
		    entry.stack != stacks || entry.depth > index->stack_count - stacks)
			return false;
		counted += entry.events;
		stacks += entry.depth;
	}
	for (; track < index->track_count; track++, counted = 0) {
		if (track_field(index, track, CFF_INDEX_TRACK_EVENTS) != counted)
			return false;
	}
	return true;
}

static bool is_sane(const struct cff_scan *scan, const struct index *index)
{
	uint32_t functions = sonde_definitions_function_count(scan->definitions);
	uint32_t last = 0;

	if (!scan->ours || index->track_count != scan->ours->tracks.count)
		return false;
	for (uint32_t i = 0; i < index->definition_count; i++) {
		uint32_t chunk = find_chunk(scan->image,
					    sonde_load_u64le(index->definitions + 8 * (size_t)i));

		if (chunk == SONDE_NONE || (i && chunk <= last))
			return false;
		last = chunk;
	}
	for (uint32_t i = 0; i < index->stack_count; i++) {
		if (sonde_load_u32le(index->stacks + CFF_INDEX_FRAME_SIZE * (size_t)i) >= functions)
			return false;
	}
	return has_sane_chunks(scan, index);
}

/* The open scopes of a chunk as nodes; the last of them. */
static enum sonde_status add_stack(struct cff_scan *scan, const struct index *index,
				   const struct entry *entry, uint32_t *node,
				   struct sonde_error *err)
{
	*node = SONDE_NONE;
	for (uint32_t i = 0; i < entry->depth; i++) {
		const uint8_t *frame =
			index->stacks + CFF_INDEX_FRAME_SIZE * ((size_t)entry->stack + i);
		struct cff_node *added = sonde_vec_push(&scan->nodes);

		if (!added)
			return sonde_fail_nomem(err);
		*added = (struct cff_node){
			.parent = *node,
			.function = sonde_load_u32le(frame),
			.depth = sonde_load_u32le(frame + 4),
		};
		*node = (uint32_t)(scan->nodes.count - 1);
	}
	return SONDE_OK;
}

static enum sonde_status add_piece(struct cff_scan *scan, const struct index *index, uint32_t i,
				   struct sonde_error *err)
{
	struct entry entry = entry_at(scan->image, index, i);
	struct cff_zone *zone = scan->zones.items[entry.track];
	struct cff_piece *piece = sonde_vec_push(&zone->pieces);

	if (!piece)
		return sonde_fail_nomem(err);
	*piece = (struct cff_piece){
		.first = entry.first,
		.time_ns = entry.first_ns,
		.count = entry.events,
		.chunk = entry.chunk,
		.end = scan->buffers.items[entry.chunk].size,
		.sequence = scan->sequence,
	};
	return add_stack(scan, index, &entry, &piece->stack, err);
}

static enum sonde_status add_zones(struct cff_scan *scan, const struct index *index,
				   struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;

	while (scan->zones.count < index->track_count && status == SONDE_OK)
		status = cff_scan_add_zone(scan, err);
	for (uint32_t i = 0; i < index->track_count && status == SONDE_OK; i++) {
		struct cff_zone *zone = scan->zones.items[i];

		zone->count = track_field(index, i, CFF_INDEX_TRACK_EVENTS);
		zone->details = track_field(index, i, CFF_INDEX_TRACK_DETAILS);
		if (zone->details > zone->count)
			zone->details = zone->count;
		zone->first_ns = track_field(index, i, CFF_INDEX_TRACK_FIRST);
		zone->last_ns = track_field(index, i, CFF_INDEX_TRACK_LAST);
	}
	for (uint32_t i = 0; i < index->chunk_count && status == SONDE_OK; i++)
		status = add_piece(scan, index, i, err);
	return status;
}

enum sonde_status cff_index_use(struct cff_scan *scan, bool *is_used, struct sonde_error *err)
{
	enum sonde_status status;
	struct index index;
	struct cff_part part;

	*is_used = false;
	if (!find_index(scan->image, &index, &part) || !is_sane(scan, &index))
		return SONDE_OK;
	*is_used = scan->is_indexed = true;
	status = cff_scan_init(scan, err);
	for (size_t i = 0; i < scan->image->chunks.count && status == SONDE_OK; i++)
		status = cff_scan_add_buffer(scan, err);
	for (uint32_t i = 0; i < index.definition_count && status == SONDE_OK; i++)
		status = cff_scan_read_chunk(
			scan,
			find_chunk(scan->image,
				   sonde_load_u64le(index.definitions + 8 * (size_t)i)),
			err);
	if (status == SONDE_OK)
		status = add_zones(scan, &index, err);
	scan->leave_function = sonde_text_map_find(&scan->functions, "wtf.scope#leave",
						   sizeof("wtf.scope#leave") - 1);
	return status;
}

/* The piece that the pass found where the index has a chunk. */
static bool is_same_stack(const struct cff_scan *scan, const struct index *index,
			  const struct entry *entry, uint32_t node)
{
	for (uint32_t i = entry->depth; i > 0; i--) {
		const uint8_t *frame =
			index->stacks + CFF_INDEX_FRAME_SIZE * ((size_t)entry->stack + i - 1);

		if (node == SONDE_NONE ||
		    scan->nodes.items[node].function != sonde_load_u32le(frame) ||
		    scan->nodes.items[node].depth != sonde_load_u32le(frame + 4))
			return false;
		node = scan->nodes.items[node].parent;
	}
	return node == SONDE_NONE;
}

/* All definitions are in chunks that the index lists, and mean the same everywhere. */
static bool has_all_definitions(const struct cff_scan *scan, const struct index *index)
{
	uint64_t listed = 0, all = 0;

	for (uint32_t i = 0; i < index->definition_count; i++) {
		uint32_t chunk = find_chunk(scan->image,
					    sonde_load_u64le(index->definitions + 8 * (size_t)i));

		listed += scan->buffers.items[chunk].definitions;
	}
	for (size_t i = 0; i < scan->buffers.count; i++)
		all += scan->buffers.items[i].definitions;
	return listed == all && !scan->wires.lists.count && !scan->zone_ids.lists.count;
}

static bool is_same(const struct cff_scan *scan, const struct index *index)
{
	uint32_t place = 0, track = 0;

	for (uint32_t i = 0; i < index->track_count; i++) {
		const struct cff_zone *zone = i < scan->zones.count ? scan->zones.items[i] : NULL;

		if (track_field(index, i, CFF_INDEX_TRACK_EVENTS) != (zone ? zone->count : 0) ||
		    track_field(index, i, CFF_INDEX_TRACK_DETAILS) != (zone ? zone->details : 0))
			return false;
		if (zone && zone->count &&
		    (track_field(index, i, CFF_INDEX_TRACK_FIRST) != zone->first_ns ||
		     track_field(index, i, CFF_INDEX_TRACK_LAST) != zone->last_ns))
			return false;
	}
	for (uint32_t i = 0; i < index->chunk_count; i++, place++) {
		struct entry entry = entry_at(scan->image, index, i);
		const struct cff_piece *piece;
		const struct cff_zone *zone;

		place = entry.track == track ? place : 0;
		track = entry.track;
		zone = track < scan->zones.count ? scan->zones.items[track] : NULL;
		if (!zone || !zone->pieces.items || place >= zone->pieces.count)
			return false;
		piece = &zone->pieces.items[place];
		if (piece->chunk != entry.chunk || piece->first != entry.first ||
		    piece->count != entry.events || piece->time_ns != entry.first_ns ||
		    !is_same_stack(scan, index, &entry, piece->stack))
			return false;
	}
	return scan->zones.count <= index->track_count && has_all_definitions(scan, index) &&
	       !scan->has_unnamed;
}

bool cff_index_verify(const struct cff_scan *scan)
{
	struct index index;
	struct cff_part part;
	bool is_used;

	if (!scan->is_ours ||
	    !cff_ours_resource(scan->image, CFF_PART_BINARY_RESOURCE, CFF_OURS_INDEX, &part))
		return true;
	is_used = find_index(scan->image, &index, &part) && is_sane(scan, &index);
	if (!is_used) {
		CFF_FIND(scan->findings, INDEX, scan->image->path, cff_scan_offset(scan, part.data),
			 "an index of this file\tone of another, or a damaged one");
		return false;
	}
	if (is_same(scan, &index))
		return true;
	CFF_FIND(scan->findings, INDEX_WRONG, scan->image->path, cff_scan_offset(scan, part.data),
		 "the index to say what is in the file\tsomething else");
	return false;
}
