/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the known words a mistyped one was perhaps meant to be. */
#ifndef SONDE_CLI_SUGGEST_H
#define SONDE_CLI_SUGGEST_H

#include <stddef.h>

struct cli_suggestion {
	const char *typed;
	const char *best; /* the nearest so far; NULL while none is near enough */
	size_t distance;  /* of the best, or one more than what is still near enough */
};

struct cli_suggestion cli_suggestion_for(const char *typed);
void cli_suggestion_consider(struct cli_suggestion *suggestion, const char *candidate);

/*
 * How many letters must be put in, taken out, replaced, or swapped with their neighbour to make
 * one word of the other. Words longer than 63 letters are far from everything.
 */
size_t cli_edit_distance(const char *a, const char *b);

#endif
