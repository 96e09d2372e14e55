/* SPDX-License-Identifier: Apache-2.0 */
/* What stands above and below the table of a comparison on a screen, be it a list or a tree. */
#ifndef SONDE_CLI_DIFF_SCREEN_H
#define SONDE_CLI_DIFF_SCREEN_H

#include "cli/diff.h"
#include "cli/table.h"

void diff_put_head(struct cli *cli, const struct diff *diff);
void diff_put_foot(struct cli *cli, const struct diff *diff, uint64_t left_out);

#endif
