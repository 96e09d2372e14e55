/* SPDX-License-Identifier: Apache-2.0 */
/* Trees joined by spans, and their records in the order in which they are shown. */
#include "store/join.h"

#include <stdlib.h>
#include <string.h>

/* Trees that hang under each other; what hangs deeper is shown by itself. */
#define DEEPEST 1000

static void release_tree(struct sonde_joined_tree *tree)
{
	zts_loaded_release(&tree->loaded);
	free(tree->self_ns);
	tree->self_ns = NULL;
}

void sonde_joined_release(struct sonde_joined *joined)
{
	size_t i;

	for (i = 0; i < joined->trees.count; i++)
		release_tree(&joined->trees.items[i]);
	sonde_vec_release(&joined->trees);
	sonde_vec_release(&joined->order);
}

/* Times of all records, and what is left of each without its calls. */
static bool measure(struct sonde_joined_tree *tree)
{
	const struct zts_loaded *loaded = &tree->loaded;
	uint32_t i;

	/* one piece of memory for all three */
	tree->self_ns = calloc((size_t)tree->count * 3 + 1, sizeof(*tree->self_ns));
	if (!tree->self_ns)
		return false;
	tree->start_ns = tree->self_ns + tree->count;
	tree->duration_ns = tree->start_ns + tree->count;
	for (i = 0; i < tree->count; i++) {
		zts_loaded_times(tree->place.part, loaded, loaded->root + i, &tree->start_ns[i],
				 &tree->duration_ns[i]);
		tree->self_ns[i] = tree->duration_ns[i];
	}
	for (i = 1; i < tree->count; i++) {
		uint32_t parent = loaded->tree.records.items[loaded->root + i].parent;
		uint64_t *self;

		if (parent < loaded->root || parent - loaded->root >= tree->count)
			continue;
		self = &tree->self_ns[parent - loaded->root];
		*self -= tree->duration_ns[i] < *self ? tree->duration_ns[i] : *self;
	}
	return true;
}

/* Chunks whose outer trace is in the list: what else lies in them is shown with it. */
static uint64_t chunk_of(const struct sonde_place *place)
{
	return (uint64_t)place->part->number << 40 ^
	       place->part->slots.list.items[place->slot].data_offset;
}

static bool note_chunks(const struct sonde_place *places, size_t count,
			struct sonde_key_map *chunks)
{
	size_t i;

	for (i = 0; i < count && count > 1; i++)
		if (!places[i].part->slots.list.items[places[i].slot].start_offset &&
		    sonde_key_map_find(chunks, chunk_of(&places[i])) == SONDE_NONE &&
		    !sonde_key_map_add(chunks, chunk_of(&places[i]), 0))
			return false;
	return true;
}

static bool is_inside_another(const struct sonde_place *place, const struct sonde_key_map *chunks)
{
	return place->part->slots.list.items[place->slot].start_offset &&
	       sonde_key_map_find(chunks, chunk_of(place)) != SONDE_NONE;
}

static enum sonde_status load_tree(struct sonde_joined *joined, const struct sonde_place *place,
				   struct sonde_error *err)
{
	struct sonde_joined_tree *tree = sonde_vec_push(&joined->trees);
	enum sonde_status status;

	if (!tree)
		return sonde_fail_nomem(err);
	*tree = (struct sonde_joined_tree){
		.place = *place, .under = SONDE_NONE, .under_record = SONDE_NONE, .next = SONDE_NONE
	};
	status = zts_part_load(place->part, place->slot, &tree->loaded, err);
	if (status != SONDE_OK)
		return status;
	tree->count = tree->loaded.tree.records.items[tree->loaded.root].records;
	if (!measure(tree) || zts_texts_failed(place->part->texts))
		return sonde_fail_nomem(err);
	return SONDE_OK;
}

static const struct zts_identity *identity_of(const struct sonde_joined_tree *tree, uint32_t record)
{
	uint32_t identity = tree->loaded.tree.records.items[record].identity;

	return identity == SONDE_NONE ? NULL : &tree->loaded.tree.identities.items[identity];
}

/* Where spans are: span -> position in `places`. */
struct spans {
	struct sonde_key_map map;
	SONDE_VEC(struct sonde_joined_record) places;
};

static bool note_spans(const struct sonde_joined *joined, struct spans *spans)
{
	uint32_t i, j;

	for (i = 0; i < joined->trees.count; i++) {
		const struct sonde_joined_tree *tree = &joined->trees.items[i];

		for (j = 0; j < tree->count; j++) {
			const struct zts_identity *identity =
				identity_of(tree, tree->loaded.root + j);
			struct sonde_joined_record *place;

			if (!identity || !identity->span ||
			    sonde_key_map_find(&spans->map, identity->span) != SONDE_NONE)
				continue;
			place = sonde_vec_push(&spans->places);
			if (!place || !sonde_key_map_add(&spans->map, identity->span,
							 (uint32_t)spans->places.count - 1))
				return false;
			*place = (struct sonde_joined_record){ .tree = i,
							       .record = tree->loaded.root + j };
		}
	}
	return true;
}

/* A tree may not hang under itself, over whatever others. */
static bool is_below(const struct sonde_joined *joined, uint32_t tree, uint32_t above)
{
	size_t steps = DEEPEST;

	for (; tree != SONDE_NONE && steps; steps--) {
		if (tree == above)
			return true;
		tree = joined->trees.items[tree].under;
	}
	return tree != SONDE_NONE;
}

static void hang_up(struct sonde_joined *joined, const struct spans *spans)
{
	uint32_t i;

	for (i = 0; i < joined->trees.count; i++) {
		struct sonde_joined_tree *tree = &joined->trees.items[i];
		const struct zts_identity *identity = identity_of(tree, tree->loaded.root);
		uint32_t found;

		if (!identity || !identity->parent)
			continue;
		found = sonde_key_map_find(&spans->map, identity->parent);
		if (found == SONDE_NONE || is_below(joined, spans->places.items[found].tree, i))
			continue;
		tree->under = spans->places.items[found].tree;
		tree->under_record = spans->places.items[found].record;
	}
}

static int by_start(const void *a, const void *b)
{
	const struct sonde_joined_tree *left = a, *right = b;
	uint64_t left_ns = left->start_ns[0], right_ns = right->start_ns[0];

	return (left_ns > right_ns) - (left_ns < right_ns);
}

/* Trees that are being put in order, the innermost last. */
struct open_tree {
	uint32_t tree;
	uint32_t next; /* record, counted from the root */
	uint32_t depth;
};

struct ordering {
	struct sonde_joined *joined;
	SONDE_VEC(struct open_tree) open;
	struct sonde_key_map hanging; /* tree << 32 | record -> position in `last` */
	SONDE_VEC(uint32_t) last;     /* the last tree that hangs there; the others behind it */
};

static bool open_tree(struct ordering *ordering, uint32_t tree, uint32_t depth)
{
	struct open_tree *open = sonde_vec_push(&ordering->open);

	if (open)
		*open = (struct open_tree){ .tree = tree, .depth = depth };
	return open != NULL;
}

/* What hangs under a record; opened in reverse, so that the first comes first. */
static bool open_hanging(struct ordering *ordering, uint32_t tree, uint32_t record, uint32_t depth)
{
	uint32_t found = sonde_key_map_find(&ordering->hanging, (uint64_t)tree << 32 | record);
	uint32_t hanging = found == SONDE_NONE ? SONDE_NONE : ordering->last.items[found];

	for (; hanging != SONDE_NONE; hanging = ordering->joined->trees.items[hanging].next)
		if (!open_tree(ordering, hanging, depth))
			return false;
	return true;
}

/* Behind the last record of a call, those that hang under it and under the calls it ends. */
static bool open_ended(struct ordering *ordering, const struct open_tree *open)
{
	const struct sonde_joined_tree *tree = &ordering->joined->trees.items[open->tree];
	const struct zts_record *records = tree->loaded.tree.records.items;
	uint32_t root = tree->loaded.root, record = root + open->next;
	uint32_t end = record + 1;

	while (record + records[record].records <= end) {
		if (record == root)
			break;
		record = records[record].parent;
		if (record == SONDE_NONE || record < root)
			return true;
	}
	/* from the outermost that ends here inwards: the innermost is opened last */
	for (; record < end; record++)
		if (record + records[record].records == end &&
		    !open_hanging(ordering, open->tree, record,
				  open->depth + records[record].depth - records[root].depth + 1))
			return false;
	return true;
}

static bool order_tree(struct ordering *ordering, uint32_t tree)
{
	bool good = open_tree(ordering, tree, 0);

	while (good && ordering->open.count) {
		struct open_tree *open = &ordering->open.items[ordering->open.count - 1];
		const struct sonde_joined_tree *joined = &ordering->joined->trees.items[open->tree];
		const struct zts_record *records = joined->loaded.tree.records.items;
		struct sonde_joined_record *shown;
		struct open_tree now = *open;

		if (open->next >= joined->count) {
			ordering->open.count--;
			continue;
		}
		open->next++;
		shown = sonde_vec_push(&ordering->joined->order);
		if (!shown)
			return false;
		*shown = (struct sonde_joined_record){
			.tree = now.tree,
			.record = joined->loaded.root + now.next,
			.depth = now.depth + records[joined->loaded.root + now.next].depth -
				 records[joined->loaded.root].depth
		};
		if (ordering->last.count)
			good = open_ended(ordering, &now);
	}
	return good;
}

/* Lists of what hangs where, the last to begin first. */
static bool note_hanging(struct ordering *ordering)
{
	struct sonde_joined *joined = ordering->joined;
	uint32_t i;

	for (i = 0; i < joined->trees.count; i++) {
		struct sonde_joined_tree *tree = &joined->trees.items[i];
		uint64_t key = (uint64_t)tree->under << 32 | tree->under_record;
		uint32_t found, *last;

		if (tree->under == SONDE_NONE)
			continue;
		found = sonde_key_map_find(&ordering->hanging, key);
		if (found != SONDE_NONE) {
			tree->next = ordering->last.items[found];
			ordering->last.items[found] = i;
			continue;
		}
		last = sonde_vec_push(&ordering->last);
		if (!last ||
		    !sonde_key_map_add(&ordering->hanging, key, (uint32_t)ordering->last.count - 1))
			return false;
		*last = i;
	}
	return true;
}

static bool put_in_order(struct sonde_joined *joined)
{
	struct ordering ordering = { .joined = joined };
	bool good = note_hanging(&ordering);
	uint32_t i;

	for (i = 0; i < joined->trees.count && good; i++)
		if (joined->trees.items[i].under == SONDE_NONE)
			good = order_tree(&ordering, i);
	sonde_vec_release(&ordering.open);
	sonde_vec_release(&ordering.last);
	sonde_key_map_release(&ordering.hanging);
	return good;
}

enum sonde_status sonde_joined_make(struct sonde_joined *joined, const struct sonde_place *places,
				    size_t count, struct sonde_error *err)
{
	struct spans spans = { .map = { NULL } };
	struct sonde_key_map chunks = { NULL };
	enum sonde_status status = SONDE_OK;
	bool good;
	size_t i;

	*joined = (struct sonde_joined){ 0 };
	good = note_chunks(places, count, &chunks);
	for (i = 0; i < count && status == SONDE_OK && good; i++)
		if (!is_inside_another(&places[i], &chunks))
			status = load_tree(joined, &places[i], err);
	sonde_key_map_release(&chunks);
	if (status != SONDE_OK)
		return status;
	if (joined->trees.count > 1) {
		qsort(joined->trees.items, joined->trees.count, sizeof(*joined->trees.items),
		      by_start);
		good = good && note_spans(joined, &spans);
		if (good)
			hang_up(joined, &spans);
	}
	good = good && put_in_order(joined);
	sonde_key_map_release(&spans.map);
	sonde_vec_release(&spans.places);
	return good ? SONDE_OK : sonde_fail_nomem(err);
}
