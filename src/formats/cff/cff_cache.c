/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry has the actions of the pass, which are carried out again, and its zones, pieces and open
 * scopes as they are. Everything is looked at before it is used: a wrong entry costs a pass over
 * the file, not more.
 */
#include "formats/cff/cff_cache.h"

#include <string.h>

#include "base/bytes.h"
#include "formats/cff/cff_put.h"

#define KIND "cff-scan-1" /* goes up with every change of what follows, or of what the pass finds */

/* Layout: head, actions, zones, nodes, pieces of each zone. */
#define HEAD_CHUNKS 0
#define HEAD_ACTIONS 4
#define HEAD_ZONES 8
#define HEAD_NODES 12
#define HEAD_PIECES 16
#define HEAD_SIZE 24

#define ACTION_SIZE 12
#define ZONE_SIZE 40
#define NODE_SIZE 12
#define PIECE_SIZE 52

void cff_cache_begin(struct cff_cache *cache, const struct cff_image *image)
{
	cache->is_on = image->origin == CFF_BINARY &&
		       sonde_cache_key_make(&cache->key, KIND, &image->file);
}

/* Keeping */

static void put_zone(struct sonde_buffer *out, const struct cff_zone *zone)
{
	sonde_put_u64le(out, zone->count);
	sonde_put_u64le(out, zone->details);
	sonde_put_u64le(out, zone->first_ns);
	sonde_put_u64le(out, zone->last_ns);
	sonde_put_u64le(out, zone->pieces.count);
}

static void put_piece(struct sonde_buffer *out, const struct cff_piece *piece)
{
	sonde_put_u64le(out, piece->first);
	sonde_put_u64le(out, piece->time_ns);
	sonde_put_u64le(out, piece->last_us);
	sonde_put_u32le(out, piece->count);
	sonde_put_u32le(out, piece->chunk);
	sonde_put_u32le(out, piece->begin);
	sonde_put_u32le(out, piece->end);
	sonde_put_u32le(out, piece->ordinal);
	sonde_put_u32le(out, piece->sequence);
	sonde_put_u32le(out, piece->stack);
}

static void put_scan(struct sonde_buffer *out, const struct cff_scan *scan, uint64_t pieces)
{
	sonde_put_u32le(out, (uint32_t)scan->buffers.count);
	sonde_put_u32le(out, (uint32_t)scan->actions.count);
	sonde_put_u32le(out, (uint32_t)scan->zones.count);
	sonde_put_u32le(out, (uint32_t)scan->nodes.count);
	sonde_put_u64le(out, pieces);
	for (size_t i = 0; i < scan->actions.count; i++) {
		sonde_put_u32le(out, scan->actions.items[i].kind);
		sonde_put_u32le(out, scan->actions.items[i].chunk);
		sonde_put_u32le(out, scan->actions.items[i].value);
	}
	for (size_t i = 0; i < scan->zones.count; i++)
		put_zone(out, scan->zones.items[i]);
	for (size_t i = 0; i < scan->nodes.count; i++) {
		sonde_put_u32le(out, scan->nodes.items[i].parent);
		sonde_put_u32le(out, scan->nodes.items[i].function);
		sonde_put_u32le(out, scan->nodes.items[i].depth);
	}
	for (size_t i = 0; i < scan->zones.count; i++) {
		const struct cff_zone *zone = scan->zones.items[i];

		for (size_t k = 0; k < zone->pieces.count; k++)
			put_piece(out, &zone->pieces.items[k]);
	}
}

void cff_cache_keep(const struct cff_cache *cache, const struct cff_scan *scan)
{
	struct sonde_buffer out = { 0 };
	uint64_t pieces = 0;

	if (!cache->is_on || !scan->keeps_actions || scan->has_bad_events)
		return;
	if (scan->actions.count > UINT32_MAX || scan->nodes.count > UINT32_MAX)
		return;
	for (size_t i = 0; i < scan->zones.count; i++)
		pieces += scan->zones.items[i]->pieces.count;
	sonde_buffer_reserve(&out, HEAD_SIZE + ACTION_SIZE * scan->actions.count +
					   ZONE_SIZE * scan->zones.count +
					   NODE_SIZE * scan->nodes.count + PIECE_SIZE * pieces);
	put_scan(&out, scan, pieces);
	if (!out.failed)
		sonde_cache_store(&cache->key, scan->image->path, out.data, out.size);
	sonde_buffer_release(&out);
}

/* Using */

/* An entry whose parts lie within it. */
struct entry {
	const uint8_t *actions, *zones, *nodes, *pieces;
	uint32_t action_count, zone_count, node_count;
	uint64_t piece_count;
};

static bool find_parts(struct entry *entry, const struct sonde_cache_entry *cached,
		       const struct cff_image *image)
{
	uint64_t size = HEAD_SIZE;

	if (cached->size < HEAD_SIZE ||
	    sonde_load_u32le(cached->data + HEAD_CHUNKS) != image->chunks.count)
		return false;
	entry->action_count = sonde_load_u32le(cached->data + HEAD_ACTIONS);
	entry->zone_count = sonde_load_u32le(cached->data + HEAD_ZONES);
	entry->node_count = sonde_load_u32le(cached->data + HEAD_NODES);
	entry->piece_count = sonde_load_u64le(cached->data + HEAD_PIECES);
	if (entry->piece_count > cached->size / PIECE_SIZE)
		return false;
	size += ACTION_SIZE * (uint64_t)entry->action_count;
	size += ZONE_SIZE * (uint64_t)entry->zone_count;
	size += NODE_SIZE * (uint64_t)entry->node_count;
	size += PIECE_SIZE * entry->piece_count;
	if (size != cached->size)
		return false;
	entry->actions = cached->data + HEAD_SIZE;
	entry->zones = entry->actions + ACTION_SIZE * (size_t)entry->action_count;
	entry->nodes = entry->zones + ZONE_SIZE * (size_t)entry->zone_count;
	entry->pieces = entry->nodes + NODE_SIZE * (size_t)entry->node_count;
	return true;
}

/* An event that defines a type or creates a zone; *is_right is false where it is none. */
static enum sonde_status do_structure(struct cff_scan *scan, uint32_t offset, bool *is_right,
				      struct sonde_error *err)
{
	const struct cff_buffer *buffer = &scan->buffers.items[scan->chunk];
	const struct cff_type *type = NULL;
	const uint8_t *event;
	uint8_t step;

	*is_right = false;
	if (!buffer->data || offset > buffer->size || buffer->size - offset < CFF_EVENT_SIZE)
		return SONDE_OK;
	event = buffer->data + offset;
	type = cff_types_find(&scan->types, sonde_load_u32le(event + CFF_EVENT_WIRE));
	if (!type || !cff_type_size(type, event, buffer->size - offset))
		return SONDE_OK;
	step = scan->plans.items[type->number].step;
	*is_right = step == CFF_STEP_DEFINE || step == CFF_STEP_ZONE_CREATE;
	if (!*is_right)
		return SONDE_OK;
	return step == CFF_STEP_DEFINE ? cff_scan_define(scan, event, err) :
					 cff_scan_create_zone(scan, event, err);
}

static enum sonde_status do_function(struct cff_scan *scan, uint32_t ordinal, bool *is_right,
				     struct sonde_error *err)
{
	const char *text = NULL;
	size_t length = 0;
	uint32_t function;
	enum sonde_status status = cff_strings_get(&scan->strings, ordinal, &text, &length, err);

	*is_right = length;
	if (status < 0 || !length)
		return status;
	return cff_scan_add_function(scan, text, length, &function, err);
}

static enum sonde_status do_action(struct cff_scan *scan, uint32_t kind, uint32_t value,
				   bool *is_right, struct sonde_error *err)
{
	*is_right = true;
	switch (kind) {
	case CFF_ACTION_STRUCTURE:
		return do_structure(scan, value, is_right, err);
	case CFF_ACTION_FUNCTION:
		return do_function(scan, value, is_right, err);
	case CFF_ACTION_LEAVE:
		return cff_scan_add_function(scan, CFF_LEAVE_FUNCTION, strlen(CFF_LEAVE_FUNCTION),
					     &scan->leave_function, err);
	case CFF_ACTION_EVENT_TYPE:
		*is_right = value < scan->types.all.count && value < scan->plans.count;
		return *is_right ?
			       cff_scan_add_event_type(scan, scan->types.all.items[value], err) :
			       SONDE_OK;
	case CFF_ACTION_ZONE:
		*is_right = !scan->zones.count;
		return *is_right ? cff_scan_add_zone(scan, err) : SONDE_OK;
	default:
		*is_right = false;
		return SONDE_OK;
	}
}

/* Goes through the chunks as the pass does, without their events. */
static enum sonde_status do_actions(struct cff_scan *scan, const struct entry *entry,
				    bool *is_right, struct sonde_error *err)
{
	const uint8_t *action = entry->actions, *end = entry->zones;
	enum sonde_status status = cff_scan_init(scan, err);

	*is_right = true;
	for (uint32_t i = 0; i < scan->image->chunks.count && status == SONDE_OK; i++) {
		status = cff_scan_add_buffer(scan, err);
		scan->chunk = i;
		cff_strings_set(&scan->strings, scan->image, &scan->image->chunks.items[i]);
		while (status == SONDE_OK && *is_right && action < end &&
		       sonde_load_u32le(action + 4) == i) {
			status = do_action(scan, sonde_load_u32le(action),
					   sonde_load_u32le(action + 8), is_right, err);
			action += ACTION_SIZE;
		}
	}
	*is_right = *is_right && action == end && scan->zones.count == entry->zone_count;
	return status;
}

static enum sonde_status take_nodes(struct cff_scan *scan, const struct entry *entry,
				    bool *is_right, struct sonde_error *err)
{
	uint32_t functions = sonde_definitions_function_count(scan->definitions);

	if (!sonde_vec_reserve(&scan->nodes, entry->node_count))
		return sonde_fail_nomem(err);
	for (uint32_t i = 0; i < entry->node_count && *is_right; i++) {
		const uint8_t *at = entry->nodes + NODE_SIZE * (size_t)i;
		struct cff_node *node = &scan->nodes.items[scan->nodes.count++];

		node->parent = sonde_load_u32le(at);
		node->function = sonde_load_u32le(at + 4);
		node->depth = sonde_load_u32le(at + 8);
		*is_right = (node->parent < i || node->parent == SONDE_NONE) &&
			    node->function < functions;
	}
	return SONDE_OK;
}

static struct cff_piece piece_at(const uint8_t *at)
{
	return (struct cff_piece){
		.first = sonde_load_u64le(at),
		.time_ns = sonde_load_u64le(at + 8),
		.last_us = sonde_load_u64le(at + 16),
		.count = sonde_load_u32le(at + 24),
		.chunk = sonde_load_u32le(at + 28),
		.begin = sonde_load_u32le(at + 32),
		.end = sonde_load_u32le(at + 36),
		.ordinal = sonde_load_u32le(at + 40),
		.sequence = sonde_load_u32le(at + 44),
		.stack = sonde_load_u32le(at + 48),
	};
}

/* Lies within its chunk, with room for its events, and refers to what is there. */
static bool is_piece(const struct cff_scan *scan, const struct cff_piece *piece)
{
	return piece->chunk < scan->buffers.count && piece->begin <= piece->end &&
	       piece->end <= scan->buffers.items[piece->chunk].size && piece->count &&
	       piece->count <= (piece->end - piece->begin) / CFF_EVENT_SIZE &&
	       piece->sequence <= scan->sequence &&
	       (piece->stack < scan->nodes.count || piece->stack == SONDE_NONE);
}

/* *next: the first of the pieces that are left. */
static enum sonde_status take_zone(struct cff_scan *scan, struct cff_zone *zone, const uint8_t *at,
				   const uint8_t **next, uint64_t left, bool *is_right,
				   struct sonde_error *err)
{
	uint64_t count = sonde_load_u64le(at + 32), events = 0;

	zone->count = sonde_load_u64le(at);
	zone->details = sonde_load_u64le(at + 8);
	zone->first_ns = sonde_load_u64le(at + 16);
	zone->last_ns = sonde_load_u64le(at + 24);
	*is_right = count <= left && zone->details <= zone->count;
	if (!*is_right)
		return SONDE_OK;
	if (!sonde_vec_reserve(&zone->pieces, (size_t)count))
		return sonde_fail_nomem(err);
	for (; zone->pieces.count < count && *is_right; *next += PIECE_SIZE) {
		struct cff_piece piece = piece_at(*next);

		*is_right = is_piece(scan, &piece) && piece.first == events;
		events += piece.count;
		zone->pieces.items[zone->pieces.count++] = piece;
	}
	*is_right = *is_right && events == zone->count;
	return SONDE_OK;
}

static enum sonde_status take_entry(struct cff_scan *scan, const struct entry *entry,
				    bool *is_right, struct sonde_error *err)
{
	const uint8_t *next = entry->pieces, *end = next + PIECE_SIZE * (size_t)entry->piece_count;
	enum sonde_status status = do_actions(scan, entry, is_right, err);

	if (status == SONDE_OK && *is_right)
		status = take_nodes(scan, entry, is_right, err);
	for (size_t i = 0; i < scan->zones.count && status == SONDE_OK && *is_right; i++)
		status = take_zone(scan, scan->zones.items[i], entry->zones + ZONE_SIZE * i, &next,
				   (uint64_t)(end - next) / PIECE_SIZE, is_right, err);
	*is_right = *is_right && next == end;
	if (status == SONDE_OK && *is_right)
		status = cff_scan_finish(scan, err);
	return status;
}

enum sonde_status cff_cache_use(const struct cff_cache *cache, struct cff_scan *scan,
				enum cff_cached *outcome, struct sonde_error *err)
{
	enum sonde_status status = SONDE_OK;
	struct sonde_cache_entry cached;
	struct entry entry;
	bool is_right;

	*outcome = CFF_CACHED_NOT;
	if (!cache->is_on || !sonde_cache_load(&cache->key, &cached))
		return SONDE_OK;
	if (find_parts(&entry, &cached, scan->image)) {
		status = take_entry(scan, &entry, &is_right, err);
		*outcome = is_right ? CFF_CACHED_USED : CFF_CACHED_WRONG;
	}
	sonde_cache_entry_release(&cached);
	if (status == SONDE_OK && *outcome != CFF_CACHED_USED)
		sonde_cache_drop(&cache->key);
	return status;
}
