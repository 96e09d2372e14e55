/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A union as bytes and back, for processes of a team. The bytes come from this program, yet nothing in
 * them is trusted: another process may be of another build.
 */
#include "analyse/prof_union.h"

void prof_put_text(struct sonde_buffer *bytes, const char *text)
{
	sonde_buffer_put(bytes, text, strlen(text) + 1);
}

const char *prof_take_text(struct sonde_bytes *bytes)
{
	const char *text = (const char *)bytes->data + bytes->position;
	const char *end = memchr(text, '\0', sonde_bytes_left(bytes));

	if (bytes->overrun || !end) {
		bytes->overrun = true;
		return "";
	}
	bytes->position += (size_t)(end - text) + 1;
	return text;
}

static void put_track(struct sonde_buffer *bytes, const struct prof_track *track)
{
	uint32_t i;

	sonde_put_u32le(bytes, track->item);
	sonde_put_u32le(bytes, track->epoch);
	sonde_put_u32le(bytes, track->table);
	sonde_put_u64le(bytes, track->sample_limit);
	sonde_put_u32le(bytes, track->identity_count);
	for (i = 0; i < track->identity_count; i++) {
		const struct sonde_identity *identity = &track->identities[i];
		uint8_t head[3] = { 0, 0, identity->is_physical };

		sonde_store_u16le(head, identity->kind);
		sonde_buffer_put(bytes, head, sizeof(head));
		sonde_put_u64le(bytes, identity->physical);
		sonde_put_u64le(bytes, identity->logical);
	}
}

void prof_union_put(const struct prof_union *all, struct sonde_buffer *bytes)
{
	size_t set, i;

	for (set = 0; set < PROF_SET_COUNT; set++) {
		const struct prof_blobs *blobs = &all->sets[set];

		sonde_put_u32le(bytes, (uint32_t)blobs->items.count);
		for (i = 0; i < blobs->items.count; i++) {
			sonde_put_u32le(bytes, blobs->items.items[i].first);
			sonde_put_u32le(bytes, blobs->items.items[i].size);
			sonde_buffer_put(bytes, blobs->items.items[i].data,
					 blobs->items.items[i].size);
		}
	}
	sonde_put_u32le(bytes, (uint32_t)all->tracks.count);
	for (i = 0; i < all->tracks.count; i++)
		put_track(bytes, &all->tracks.items[i]);
	sonde_put_u32le(bytes, (uint32_t)all->refused.count);
	for (i = 0; i < all->refused.count; i++) {
		sonde_put_u32le(bytes, all->refused.items[i].item);
		prof_put_text(bytes, all->refused.items[i].path);
		prof_put_text(bytes, all->refused.items[i].reason);
	}
	raw_tree_put(&all->tree, bytes);
}

static bool take_set(struct prof_union *all, enum prof_set set, struct sonde_bytes *bytes)
{
	uint32_t count = sonde_bytes_u32le(bytes), i;

	for (i = 0; i < count && !bytes->overrun; i++) {
		uint32_t first = sonde_bytes_u32le(bytes), size = sonde_bytes_u32le(bytes);
		const uint8_t *data = sonde_bytes_take(bytes, size);

		if (data && prof_union_add(all, set, data, size, first) == SONDE_NONE)
			return false;
	}
	/* Numbers mean something only where each string was there once. */
	bytes->overrun |= all->sets[set].items.count != count;
	return true;
}

static bool take_track(struct prof_union *all, struct sonde_bytes *bytes)
{
	struct sonde_identity identities[SONDE_IDENTITY_LIMIT];
	struct prof_track track = { .identities = identities };
	uint32_t i;

	track.item = sonde_bytes_u32le(bytes);
	track.epoch = sonde_bytes_u32le(bytes);
	track.table = sonde_bytes_u32le(bytes);
	track.sample_limit = sonde_bytes_u64le(bytes);
	track.identity_count = sonde_bytes_u32le(bytes);
	if (track.identity_count > SONDE_IDENTITY_LIMIT ||
	    track.table >= all->sets[PROF_TABLES].items.count)
		bytes->overrun = true;
	for (i = 0; i < track.identity_count && !bytes->overrun; i++) {
		identities[i].kind = sonde_bytes_u16le(bytes);
		identities[i].is_physical = sonde_bytes_u8(bytes);
		identities[i].physical = sonde_bytes_u64le(bytes);
		identities[i].logical = sonde_bytes_u64le(bytes);
	}
	return bytes->overrun || prof_union_add_track(all, &track);
}

static bool take_lists(struct prof_union *all, struct sonde_bytes *bytes)
{
	uint32_t count = sonde_bytes_u32le(bytes), i;

	for (i = 0; i < count && !bytes->overrun; i++)
		if (!take_track(all, bytes))
			return false;
	count = sonde_bytes_u32le(bytes);
	for (i = 0; i < count && !bytes->overrun; i++) {
		uint32_t item = sonde_bytes_u32le(bytes);
		const char *path = prof_take_text(bytes), *reason = prof_take_text(bytes);

		if (!bytes->overrun && !prof_union_refuse(all, item, path, reason))
			return false;
	}
	return true;
}

/* Modules and functions of all nodes exist. */
static bool tree_fits(const struct prof_union *all)
{
	uint32_t i;

	for (i = 1; i < all->tree.count; i++) {
		const struct raw_node *node = &all->tree.nodes[i];
		uint32_t module = node->module & ~RAW_NOT_UNWOUND;

		if (module >= RAW_MODULES &&
		    module - RAW_MODULES >= all->sets[PROF_MODULES].items.count)
			return false;
		if (module == RAW_FUNCTIONS && node->ip >= all->sets[PROF_FUNCTIONS].items.count)
			return false;
	}
	return true;
}

enum sonde_status prof_union_take(struct prof_union *all, struct sonde_bytes *bytes,
				  struct sonde_error *err)
{
	enum sonde_status status;
	size_t set;

	for (set = 0; set < PROF_SET_COUNT; set++)
		if (!take_set(all, (enum prof_set)set, bytes))
			return sonde_fail_nomem(err);
	if (!take_lists(all, bytes))
		return sonde_fail_nomem(err);
	if (!bytes->overrun) {
		status = raw_tree_take(&all->tree, bytes, err);
		if (status != SONDE_OK)
			return status;
	}
	if (bytes->overrun || !tree_fits(all))
		return sonde_fail(err, SONDE_CORRUPT, bytes->position,
				  "what another process of the team sent does not fit together; do "
				  "all of them run the same version of sonde?");
	return SONDE_OK;
}
