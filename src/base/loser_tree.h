/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges many sorted streams: a tree of losers over the streams' current keys. Of equal keys the
 * stream with the lower number wins, which makes a merge stable. An exhausted stream has no key.
 */
#ifndef SONDE_BASE_LOSER_TREE_H
#define SONDE_BASE_LOSER_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_loser_tree {
	uint32_t streams;
	uint32_t leaves;   /* streams rounded up to a power of two */
	uint64_t *keys;	   /* per leaf */
	bool *live;	   /* per leaf: false once exhausted */
	uint32_t *losers;  /* per inner node; [0] is the winner */
};

/* Room for `streams` streams, all exhausted. False where memory failed. */
bool sonde_loser_tree_init(struct sonde_loser_tree *tree, uint32_t streams);
void sonde_loser_tree_release(struct sonde_loser_tree *tree);

/* Set the first keys with this (live false: exhausted), then build once. */
void sonde_loser_tree_set(struct sonde_loser_tree *tree, uint32_t stream, uint64_t key, bool live);
void sonde_loser_tree_build(struct sonde_loser_tree *tree);

/* The stream to take from now; UINT32_MAX when all are exhausted. */
uint32_t sonde_loser_tree_winner(const struct sonde_loser_tree *tree);

/*
 * The best stream apart from the winner, or UINT32_MAX: everything in the winner's stream that
 * comes before this one's key may be taken as a run.
 */
uint32_t sonde_loser_tree_second(const struct sonde_loser_tree *tree);

/* The winner moved on to `key`, or is exhausted. */
void sonde_loser_tree_replace_winner(struct sonde_loser_tree *tree, uint64_t key, bool live);

#endif
