/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distance with transpositions (optimal string alignment) over short words. */
#include "cli/suggest.h"

#include <stdint.h>
#include <string.h>

#define LONGEST_WORD 63

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t cli_edit_distance(const char *a, const char *b)
{
	size_t rows[3][LONGEST_WORD + 1]; /* row i of the matrix is rows[i % 3] */
	size_t a_length = strlen(a), b_length = strlen(b), i, j;

	if (a_length > LONGEST_WORD || b_length > LONGEST_WORD)
		return SIZE_MAX;
	for (j = 0; j <= b_length; j++)
		rows[0][j] = j;
	for (i = 1; i <= a_length; i++) {
		size_t *row = rows[i % 3];
		const size_t *above = rows[(i + 2) % 3];
		const size_t *two_above = rows[(i + 1) % 3];

		row[0] = i;
		for (j = 1; j <= b_length; j++) {
			row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = smaller(row[j], smaller(above[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = smaller(row[j], two_above[j - 2] + 1);
		}
	}
	return rows[a_length % 3][b_length];
}

struct cli_suggestion cli_suggestion_for(const char *typed)
{
	/* One slip in three letters is still a slip; more is another word. */
	return (struct cli_suggestion){ .typed = typed, .distance = strlen(typed) / 3 + 2 };
}

void cli_suggestion_consider(struct cli_suggestion *suggestion, const char *candidate)
{
	size_t distance = cli_edit_distance(suggestion->typed, candidate);

	if (distance >= suggestion->distance || distance >= strlen(candidate))
		return;
	suggestion->distance = distance;
	suggestion->best = candidate;
}
