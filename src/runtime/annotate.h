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

/* A site's shape: bytes in all, and a bit for each argument that takes eight of them. */
#define RT_SHAPE_SIZE 0xffffu
#define RT_SHAPE_WIDE 16

/*
 * Tells the launcher of a site, before the first event of it in this process; sets its `shape` too.
 * Where the launcher is gone, nothing is told.
 */
RT_HIDDEN void rt_announce(struct sonde_annotate_site *site);

#endif
