/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges many sorted streams: a tree of losers over the streams' current keys. Of equal keys the
 * stream with the lower number wins, which makes a merge stable. An exhausted stream has no key.
 * What runs once an event is here, inline and without branches that depend on the keys.
 */
#ifndef SONDE_BASE_LOSER_TREE_H
#define SONDE_BASE_LOSER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stream as a node holds it. Ordered by key, then place. */
struct sonde_loser {
	uint64_t key;
	uint64_t place; /* number of the stream, or (exhausted, key UINT64_MAX) that plus 2^32 */
};

/*
 * Inner node n, 0 < n < leaves, has the children 2n and 2n + 1 and holds who lost there; node 0
 * holds the winner. Node leaves + s is the leaf of stream s, used only for building.
 */
struct sonde_loser_tree {
	uint32_t streams;
	uint32_t leaves; /* streams rounded up to a power of two */
	struct sonde_loser *nodes;
};

/* Room for `streams` streams, all exhausted. False where memory failed. */
bool sonde_loser_tree_init(struct sonde_loser_tree *tree, uint32_t streams);
void sonde_loser_tree_release(struct sonde_loser_tree *tree);

/* Set the first keys with this (live false: exhausted), then build once. */
void sonde_loser_tree_set(struct sonde_loser_tree *tree, uint32_t stream, uint64_t key, bool live);
void sonde_loser_tree_build(struct sonde_loser_tree *tree);

static inline struct sonde_loser sonde_loser_of(uint32_t stream, uint64_t key, bool live)
{
	return (struct sonde_loser){
		.key = live ? key : UINT64_MAX,
		.place = (uint64_t)!live << 32 | stream,
	};
}

static inline bool sonde_loser_beats(struct sonde_loser a, struct sonde_loser b)
{
	return ((unsigned __int128)a.key << 64 | a.place) <
	       ((unsigned __int128)b.key << 64 | b.place);
}

/* The stream to take from now; UINT32_MAX when all are exhausted. */
static inline uint32_t sonde_loser_tree_winner(const struct sonde_loser_tree *tree)
{
	uint64_t place = tree->nodes[0].place;

	return place <= UINT32_MAX ? (uint32_t)place : UINT32_MAX;
}

/* The best stream apart from the winner, or UINT32_MAX. */
uint32_t sonde_loser_tree_second(const struct sonde_loser_tree *tree);

/*
 * The last key that lets the winner go on winning: everything in its stream up to this one may be
 * taken as a run. There must be a winner.
 */
uint64_t sonde_loser_tree_run_bound(const struct sonde_loser_tree *tree);

/* The winner moved on to `key`, or is exhausted. */
static inline void sonde_loser_tree_replace_winner(struct sonde_loser_tree *tree, uint64_t key,
						   bool live)
{
	uint32_t winner = (uint32_t)tree->nodes[0].place;
	struct sonde_loser rising = sonde_loser_of(winner, key, live);

	for (uint32_t node = (tree->leaves + winner) / 2; node; node /= 2) {
		struct sonde_loser other = tree->nodes[node];
		uint64_t swap = -(uint64_t)sonde_loser_beats(other, rising);
		uint64_t keys = (rising.key ^ other.key) & swap;
		uint64_t places = (rising.place ^ other.place) & swap;

		tree->nodes[node].key = other.key ^ keys;
		tree->nodes[node].place = other.place ^ places;
		rising.key ^= keys;
		rising.place ^= places;
	}
	tree->nodes[0] = rising;
}

#endif
