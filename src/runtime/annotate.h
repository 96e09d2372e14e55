/* SPDX-License-Identifier: Apache-2.0 */
/* Between annotate.c, which writes annotations, and annotate_log.c, which tells of their sites. */
#ifndef SONDE_RUNTIME_ANNOTATE_H
#define SONDE_RUNTIME_ANNOTATE_H

#include <sonde/annotate.h>

#include "runtime/runtime.h"

/* Bytes of a number's type; 0 for text. */
static inline size_t rt_number_size(unsigned int type)
{
	static const uint8_t sizes[] = { 1, 1, 1, 1, 2, 2, 2, 4, 4, 8, 8, 4, 8, 4, 4 };

	return type < sizeof(sizes) ? sizes[type] : 0;
}

/* A site's shape: what each of its arguments is packed as, the first in the lowest bits. */
enum {
	RT_SHAPE_HALF = 1, /* four bytes */
	RT_SHAPE_WORD,	   /* eight */
	RT_SHAPE_TEXT,
	RT_SHAPE_ARRAY, /* of bytes; then of two, four and eight of them */
	RT_SHAPE_BITS = 3,
	RT_SHAPE_MASK = 7,
};

/*
 * Tells the launcher of a site, before the first event of it in this process; sets its `shape` too.
 * Where the launcher is gone, nothing is told.
 */
RT_HIDDEN void rt_announce(struct sonde_annotate_site *site);

#endif
