/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the chunks of a damaged file. */
#ifndef SONDE_CFF_RESYNC_H
#define SONDE_CFF_RESYNC_H

#include "formats/cff/cff_image.h"

/*
 * Fills the list of chunks of a binary image whose bytes are set, whatever is wrong with them: where
 * a header is damaged, the next place that looks like one is searched for. Bytes without a chunk
 * are findings, and counted. Takes time in proportion to the size.
 */
enum sonde_status cff_resync(struct cff_image *image, uint64_t *dropped, struct sonde_error *err);

/* The same, or the chunks that a reader comes to, where those have more events: cff_choose.c. */
enum sonde_status cff_choose_chunks(struct cff_image *image, uint64_t *dropped,
				    struct sonde_error *err);

#endif
