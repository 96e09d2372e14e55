/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of losers, apart from what runs once an event. */
#include <stdlib.h>

#include "base/loser_tree.h"

#define STREAMS_MAX ((uint32_t)1 << 30)

bool sonde_loser_tree_init(struct sonde_loser_tree *tree, uint32_t streams)
{
	uint32_t leaves = 1;

	*tree = (struct sonde_loser_tree){ 0 };
	if (streams > STREAMS_MAX)
		return false;
	while (leaves < streams)
		leaves *= 2;
	tree->streams = streams;
	tree->leaves = leaves;
	tree->nodes = calloc(2 * (size_t)leaves, sizeof(*tree->nodes));
	if (!tree->nodes)
		return false;
	for (uint32_t stream = 0; stream < leaves; stream++)
		sonde_loser_tree_set(tree, stream, 0, false);
	return true;
}

void sonde_loser_tree_release(struct sonde_loser_tree *tree)
{
	free(tree->nodes);
	*tree = (struct sonde_loser_tree){ 0 };
}

void sonde_loser_tree_set(struct sonde_loser_tree *tree, uint32_t stream, uint64_t key, bool live)
{
	tree->nodes[tree->leaves + stream] = sonde_loser_of(stream, key, live);
}

void sonde_loser_tree_build(struct sonde_loser_tree *tree)
{
	struct sonde_loser *nodes = tree->nodes;

	/* First the winners of all nodes ... */
	for (uint32_t node = tree->leaves - 1; node; node--) {
		bool left_wins = sonde_loser_beats(nodes[2 * node], nodes[2 * node + 1]);

		nodes[node] = nodes[2 * node + !left_wins];
	}
	nodes[0] = nodes[1];
	/* ... then, from the top down, who lost there: the child that is not the winner. */
	for (uint32_t node = 1; node < tree->leaves; node++) {
		bool left_wins = nodes[node].place == nodes[2 * node].place;

		nodes[node] = nodes[2 * node + left_wins];
	}
}

/* The best of those who lost against the winner; exhausted where there is none. */
static struct sonde_loser second_best(const struct sonde_loser_tree *tree)
{
	uint32_t winner = (uint32_t)tree->nodes[0].place;
	struct sonde_loser best = sonde_loser_of(UINT32_MAX, 0, false);

	for (uint32_t node = (tree->leaves + winner) / 2; node; node /= 2) {
		if (sonde_loser_beats(tree->nodes[node], best))
			best = tree->nodes[node];
	}
	return best;
}

uint32_t sonde_loser_tree_second(const struct sonde_loser_tree *tree)
{
	uint64_t place = second_best(tree).place;

	return place <= UINT32_MAX ? (uint32_t)place : UINT32_MAX;
}

uint64_t sonde_loser_tree_run_bound(const struct sonde_loser_tree *tree)
{
	struct sonde_loser second = second_best(tree);

	/* At equal keys the lower stream goes first; a lower one of key 0 would be the winner. */
	return second.key - (second.place < tree->nodes[0].place);
}
